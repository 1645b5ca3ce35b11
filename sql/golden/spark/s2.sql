-- Release of source_table as release_table, made by sqlanon for spark.
-- Generalization: race at level 1, zip at level 0.
-- Every class of the quasi-identifier has at least 2 rows.
-- At most 1 rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error:
-- cat *.sql > release.sql; spark-sql -f release.sql
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- Grants, comments and indexes of an existing target are not kept by this script. `sqlanon apply` keeps them.

-- 01_hierarchies.sql: a label for every value.

-- The session.
SET spark.sql.ansi.enabled = TRUE;
SET spark.sql.session.timeZone = UTC;
SET spark.sql.parser.escapedStringLiterals = FALSE;
SET spark.sql.preserveCharVarcharTypeInfo = TRUE;

-- Stop if a value of zip, which is released as it is, lies outside its hierarchy.
SELECT
  CASE
    WHEN (
      SELECT COUNT(*) = 0
      FROM `source_table` AS `source`
      WHERE
        NOT (
          CASE
            WHEN TYPEOF(`source`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`zip` AS STRING))
            ELSE CAST(`source`.`zip` AS STRING)
          END
        ) COLLATE UTF8_BINARY IS NULL
        AND NOT CAST((
          CASE
            WHEN TYPEOF(`source`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`zip` AS STRING))
            ELSE CAST(`source`.`zip` AS STRING)
          END
        ) COLLATE UTF8_BINARY AS STRING) IN ('94138', '94139', '94141', '94142')
    )
    THEN 1
    ELSE RAISE_ERROR('sqlanon: a value lies outside its hierarchy')
  END AS `audit`;

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The classes of the generalized quasi-identifier, each with its verdict.
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_classes`;
CREATE TABLE `sqlanon_script_38d0283e_classes` AS
SELECT `zip_value`, COUNT(*) AS `n`, COUNT(*) >= 2 AS `kept`
FROM (
  SELECT
    COALESCE(
      '=' || (
        CASE
          WHEN TYPEOF(`source`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`zip` AS STRING))
          ELSE CAST(`source`.`zip` AS STRING)
        END
      ) COLLATE UTF8_BINARY,
      ''
    ) AS `zip_value`
  FROM `source_table` AS `source`
) AS `coded`
GROUP BY `zip_value`;

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Stop if more than 1 rows would be suppressed.
SELECT
  CASE
    WHEN (
      SELECT COALESCE(SUM(CASE WHEN NOT `kept` THEN `n` ELSE 0 END), 0) <= 1
      FROM `sqlanon_script_38d0283e_classes`
    )
    THEN 1
    ELSE RAISE_ERROR('sqlanon: more rows than allowed would be suppressed')
  END AS `audit`;

-- The release, in no order that tells of the source.
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_staging`;
CREATE TABLE `sqlanon_script_38d0283e_staging` AS
SELECT 'person' AS `race`, `source`.`zip`
FROM `source_table` AS `source`
INNER JOIN `sqlanon_script_38d0283e_classes` AS `class`
  ON COALESCE(
    '=' || (
      CASE
        WHEN TYPEOF(`source`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`zip` AS STRING))
        ELSE CAST(`source`.`zip` AS STRING)
      END
    ) COLLATE UTF8_BINARY,
    ''
  ) = `class`.`zip_value`
WHERE `class`.`kept`
ORDER BY RAND();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: stop unless there are classes in the staged table and every one has at least 2 rows.
SELECT
  CASE
    WHEN (
      SELECT COALESCE(SUM(CASE WHEN `size` < 2 THEN 1 ELSE 0 END), 0) = 0 AND COALESCE(SUM(`size`), 0) > 0
      FROM (
        SELECT COUNT(*) AS `size`
        FROM `sqlanon_script_38d0283e_staging` AS `audited`
        GROUP BY
          (
            CASE
              WHEN TYPEOF(`audited`.`race`) LIKE 'char(%' THEN RTRIM(CAST(`audited`.`race` AS STRING))
              ELSE CAST(`audited`.`race` AS STRING)
            END
          ) COLLATE UTF8_BINARY,
          (
            CASE
              WHEN TYPEOF(`audited`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`audited`.`zip` AS STRING))
              ELSE CAST(`audited`.`zip` AS STRING)
            END
          ) COLLATE UTF8_BINARY
      ) AS `classes`
    )
    THEN 1
    ELSE RAISE_ERROR('sqlanon: the release fails its audit: k')
  END AS `audit`;

-- Audit: stop unless columns show labels of their levels alone: race of level 1.
SELECT
  CASE
    WHEN `wrong` IS NULL THEN 1
    ELSE RAISE_ERROR('sqlanon: the release fails its audit: ' || `wrong` || ' shows labels of another level')
  END AS `audit`
FROM (
  SELECT
    MIN(
      CASE
        WHEN `published`.`race` IS NULL
        OR (
          CASE
            WHEN TYPEOF(`published`.`race`) LIKE 'char(%' THEN RTRIM(CAST(`published`.`race` AS STRING))
            ELSE CAST(`published`.`race` AS STRING)
          END
        ) COLLATE UTF8_BINARY <> 'person'
        THEN 'race'
      END
    ) AS `wrong`
  FROM `sqlanon_script_38d0283e_staging` AS `published`
) AS `found`;

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CASE
    WHEN (
      SELECT
        COALESCE(SUM(CASE WHEN `kept` THEN `n` ELSE 0 END), 0) = (
          SELECT COUNT(*)
          FROM `sqlanon_script_38d0283e_staging`
        )
      FROM `sqlanon_script_38d0283e_classes`
    )
    THEN 1
    ELSE RAISE_ERROR('sqlanon: the release fails its audit: it has other rows than expected')
  END AS `audit`;

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: the old release goes, the new one takes its name.
DROP TABLE IF EXISTS `release_table`;

-- From here on it is published.
ALTER TABLE `sqlanon_script_38d0283e_staging` RENAME TO `release_table`;

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_staging`;
DROP TABLE IF EXISTS `sqlanon_script_38d0283e_classes`;
