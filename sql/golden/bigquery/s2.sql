-- Release of source_table as release_table, made by sqlanon for bigquery.
-- Generalization: race at level 1, zip at level 0.
-- Every class of the quasi-identifier has at least 2 rows.
-- At most 1 rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error: cat *.sql | bq query --use_legacy_sql=false
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- Grants, comments and indexes of an existing target are not kept by this script.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value and level.

-- Definition of the hierarchy of zip, level 0 first.
CREATE OR REPLACE TEMPORARY TABLE `sqlanon_script_38d0283e_definition_1` (
  `label_0` STRING,
  `label_1` STRING,
  `label_2` STRING
);
INSERT INTO `sqlanon_script_38d0283e_definition_1`
VALUES
  ('94138', '9413*', '941**'),
  ('94139', '9413*', '941**'),
  ('94141', '9414*', '941**'),
  ('94142', '9414*', '941**');

-- Hierarchy of zip: one row per value.
CREATE OR REPLACE TEMPORARY TABLE `sqlanon_script_38d0283e_hierarchy_1` AS
SELECT
  *
FROM (
  SELECT
    *,
    COUNT(*) OVER (PARTITION BY `value`) AS `occurrences`
  FROM (
    WITH `labelled` AS (
      SELECT
        `domain`.`value`,
        COALESCE(`listed`.`label_0`, CAST(`value` AS STRING)) AS `label_0`,
        `listed`.`label_1` AS `label_1`,
        `listed`.`label_2` AS `label_2`
      FROM (
        SELECT DISTINCT
          `label_0`,
          `label_1`,
          `label_2`
        FROM `sqlanon_script_38d0283e_definition_1`
      ) AS `listed`
      FULL OUTER JOIN (
        SELECT DISTINCT
          COLLATE(CAST(`source`.`zip` AS STRING), '') AS `value`
        FROM `source_table` AS `source`
        WHERE
          NOT COLLATE(CAST(`source`.`zip` AS STRING), '') IS NULL
      ) AS `domain`
        ON CAST(`value` AS STRING) = `listed`.`label_0`
    )
    SELECT
      `value`,
      `label_0`,
      `label_1`,
      `label_2`,
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST(`label_0` AS STRING), '')) AS INT64) AS `code_0`,
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST(`label_1` AS STRING), '')) AS INT64) AS `code_1`
    FROM labelled
  ) AS `coded`
) AS `counted`
WHERE
  NOT `value` IS NULL
  AND `occurrences` = 1
  AND NOT `label_1` IS NULL
  AND NOT `label_2` IS NULL;

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The frequency set: every row of the source, counted by the generalized quasi-identifier.
CREATE OR REPLACE TEMPORARY TABLE `sqlanon_script_38d0283e_counted` AS
SELECT
  COALESCE(
    CASE
      WHEN COLLATE(CAST(`source`.`zip` AS STRING), '') IS NULL
      THEN 0
      ELSE `h_1`.`code_0`
    END,
    -1
  ) AS `k_1`,
  COUNT(*) AS `n`
FROM `source_table` AS `source`
LEFT JOIN `sqlanon_script_38d0283e_hierarchy_1` AS `h_1`
  ON COLLATE(CAST(`source`.`zip` AS STRING), '') = `h_1`.`value`
GROUP BY
  COALESCE(
    CASE
      WHEN COLLATE(CAST(`source`.`zip` AS STRING), '') IS NULL
      THEN 0
      ELSE `h_1`.`code_0`
    END,
    -1
  );

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE OR REPLACE TEMPORARY TABLE `sqlanon_script_38d0283e_classes` AS
SELECT
  NULLIF(`k_1`, -1) AS `k_1`,
  `n`,
  `n` >= 2 AS `kept`
FROM (
  SELECT
    `k_1` AS `k_1`,
    SUM(`n`) AS `n`
  FROM `sqlanon_script_38d0283e_counted` AS `counted`
  GROUP BY
    `k_1`
) AS `classes`;

-- Stop if a value lies outside its hierarchy.
SELECT
  CASE
    WHEN (
      SELECT
        (
          SELECT
            COUNT(*)
          FROM `sqlanon_script_38d0283e_classes`
          WHERE
            `k_1` IS NULL
        ) = 0
    )
    THEN 1
    ELSE ERROR('sqlanon: a value lies outside its hierarchy')
  END AS `audit`;

-- Stop if more than 1 rows would be suppressed.
SELECT
  CASE
    WHEN (
      SELECT
        COALESCE(SUM(CASE WHEN NOT `kept` THEN `n` ELSE 0 END), 0) <= 1
      FROM `sqlanon_script_38d0283e_classes`
    )
    THEN 1
    ELSE ERROR('sqlanon: more rows than allowed would be suppressed')
  END AS `audit`;

-- The release, in no order that tells of the source.
CREATE OR REPLACE TEMPORARY TABLE `sqlanon_script_38d0283e_staged` AS
SELECT
  'person' AS `race`,
  `source`.`zip` AS `zip`
FROM `source_table` AS `source`
LEFT JOIN `sqlanon_script_38d0283e_hierarchy_1` AS `h_1`
  ON COLLATE(CAST(`source`.`zip` AS STRING), '') = `h_1`.`value`
JOIN `sqlanon_script_38d0283e_classes` AS `class`
  ON CASE
    WHEN COLLATE(CAST(`source`.`zip` AS STRING), '') IS NULL
    THEN 0
    ELSE `h_1`.`code_0`
  END = `class`.`k_1`
WHERE
  `class`.`kept`
ORDER BY
  RAND();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: the classes in the staged table.
CREATE OR REPLACE TEMPORARY TABLE `sqlanon_script_38d0283e_audit_0` AS
SELECT
  COALESCE(SUM(`size`), 0) AS `rows`,
  COUNT(*) AS `classes`,
  COALESCE(MIN(`size`), 0) AS `smallest_class`,
  COALESCE(SUM(CASE WHEN `size` < 2 THEN 1 ELSE 0 END), 0) AS `classes_failing_k`
FROM (
  SELECT
    COUNT(*) AS `size`
  FROM `sqlanon_script_38d0283e_staged` AS `audited`
  GROUP BY
    COLLATE(CAST(`audited`.`race` AS STRING), ''),
    COLLATE(CAST(`audited`.`zip` AS STRING), '')
) AS `classes`;

-- Audit: stop unless there are classes and every one has at least 2 rows.
SELECT
  CASE
    WHEN (
      SELECT
        `classes_failing_k` = 0 AND `rows` > 0
      FROM `sqlanon_script_38d0283e_audit_0`
    )
    THEN 1
    ELSE ERROR('sqlanon: the release fails its audit: k')
  END AS `audit`;

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CASE
    WHEN (
      SELECT
        (
          SELECT
            COUNT(*)
          FROM `sqlanon_script_38d0283e_staged` AS `audited`
        ) = (
          SELECT
            COALESCE(SUM(CASE WHEN `kept` THEN `n` ELSE 0 END), 0)
          FROM `sqlanon_script_38d0283e_classes`
        )
    )
    THEN 1
    ELSE ERROR('sqlanon: the release fails its audit: it has other rows than expected')
  END AS `audit`;

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: one statement puts the release in the place of the old one.
CREATE OR REPLACE TABLE `release_table` AS
SELECT
  `race`,
  `zip`
FROM `sqlanon_script_38d0283e_staged`
ORDER BY
  RAND();

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_audit_0`;
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_staged`;
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_classes`;
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_counted`;
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_hierarchy_1`;
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_definition_1`;
