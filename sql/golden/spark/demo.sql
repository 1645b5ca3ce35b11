-- Release of source_table as release_table, made by sqlanon for spark.
-- Generalization: zip at level 3, birth_date at level 3, sex at level 0, marital at level 1.
-- Every class of the quasi-identifier has at least 5 rows.
-- At most 2% of the rows are left out. Where this does not hold, the script stops and publishes nothing.
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

-- Hierarchy of zip: the label of each value at level 3.
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_hierarchy_zip`;
CREATE TABLE `sqlanon_script_d4d024d0_hierarchy_zip` AS
SELECT
  `value`,
  `label_3`,
  CAST(DENSE_RANK() OVER (
    ORDER BY (
      CASE
        WHEN TYPEOF(`label_3`) LIKE 'char(%' THEN RTRIM(CAST(`label_3` AS STRING))
        ELSE CAST(`label_3` AS STRING)
      END
    ) COLLATE UTF8_BINARY NULLS LAST
  ) AS INT) AS `code_3`
FROM (
  SELECT
    `value`,
    CASE
      WHEN LENGTH(CAST(`value` AS STRING)) <= 5 THEN SUBSTRING(CAST(`value` AS STRING), 1, 2) || '***'
    END AS `label_3`
  FROM (
    SELECT DISTINCT
      (
        CASE
          WHEN TYPEOF(`source`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`zip` AS STRING))
          ELSE CAST(`source`.`zip` AS STRING)
        END
      ) COLLATE UTF8_BINARY AS `value`
    FROM `source_table` AS `source`
    WHERE
      NOT (
        CASE
          WHEN TYPEOF(`source`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`zip` AS STRING))
          ELSE CAST(`source`.`zip` AS STRING)
        END
      ) COLLATE UTF8_BINARY IS NULL
  ) AS `domain`
) AS `labelled`
WHERE NOT `label_3` IS NULL;

-- Hierarchy of birth_date: the label of each value at level 3.
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_hierarchy_birth_date`;
CREATE TABLE `sqlanon_script_d4d024d0_hierarchy_birth_date` AS
SELECT
  `value`,
  `label_3`,
  CAST(DENSE_RANK() OVER (
    ORDER BY (
      CASE
        WHEN TYPEOF(`label_3`) LIKE 'char(%' THEN RTRIM(CAST(`label_3` AS STRING))
        ELSE CAST(`label_3` AS STRING)
      END
    ) COLLATE UTF8_BINARY NULLS LAST
  ) AS INT) AS `code_3`
FROM (
  SELECT
    `value`,
    CASE
      WHEN CAST(EXTRACT(YEAR FROM `value`) AS INT) >= 1
      THEN '[' || CASE
        WHEN CAST(EXTRACT(YEAR FROM `value`) AS INT) - CAST(EXTRACT(YEAR FROM `value`) AS INT) % 5 > 9999
        THEN CAST(CAST(EXTRACT(YEAR FROM `value`) AS INT) - CAST(EXTRACT(YEAR FROM `value`) AS INT) % 5 AS STRING)
        ELSE LPAD(
          CAST(CAST(EXTRACT(YEAR FROM `value`) AS INT) - CAST(EXTRACT(YEAR FROM `value`) AS INT) % 5 AS STRING),
          4,
          '0'
        )
      END || '-' || CASE
        WHEN CAST(EXTRACT(YEAR FROM `value`) AS INT) - CAST(EXTRACT(YEAR FROM `value`) AS INT) % 5 + 4 > 9999
        THEN CAST(CAST(EXTRACT(YEAR FROM `value`) AS INT) - CAST(EXTRACT(YEAR FROM `value`) AS INT) % 5 + 4 AS STRING)
        ELSE LPAD(
          CAST(CAST(EXTRACT(YEAR FROM `value`) AS INT) - CAST(EXTRACT(YEAR FROM `value`) AS INT) % 5 + 4 AS STRING),
          4,
          '0'
        )
      END || ']'
    END AS `label_3`
  FROM (
    SELECT DISTINCT `source`.`birth_date` AS `value`
    FROM `source_table` AS `source`
    WHERE NOT `source`.`birth_date` IS NULL
  ) AS `domain`
) AS `labelled`
WHERE NOT `label_3` IS NULL;

-- Stop if a value of sex, which is released as it is, lies outside its hierarchy.
SELECT
  CASE
    WHEN (
      SELECT COUNT(*) = 0
      FROM `source_table` AS `source`
      WHERE
        NOT (
          CASE
            WHEN TYPEOF(`source`.`sex`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`sex` AS STRING))
            ELSE CAST(`source`.`sex` AS STRING)
          END
        ) COLLATE UTF8_BINARY IS NULL
        AND NOT CAST((
          CASE
            WHEN TYPEOF(`source`.`sex`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`sex` AS STRING))
            ELSE CAST(`source`.`sex` AS STRING)
          END
        ) COLLATE UTF8_BINARY AS STRING) IN ('female', 'male')
    )
    THEN 1
    ELSE RAISE_ERROR('sqlanon: a value lies outside its hierarchy')
  END AS `audit`;

-- Definition of the hierarchy of marital, level 0 first.
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_definition_marital`;
CREATE TABLE `sqlanon_script_d4d024d0_definition_marital` (`label_0` STRING, `label_1` STRING);
INSERT INTO `sqlanon_script_d4d024d0_definition_marital`
VALUES
  ('married', 'been_married'),
  ('divorced', 'been_married'),
  ('widowed', 'been_married'),
  ('single', 'never_married');

-- Hierarchy of marital: the label of each value at level 1.
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_hierarchy_marital`;
CREATE TABLE `sqlanon_script_d4d024d0_hierarchy_marital` AS
SELECT
  `domain`.`value`,
  `listed`.`label_1`,
  CAST(DENSE_RANK() OVER (
    ORDER BY (
      CASE
        WHEN TYPEOF(`listed`.`label_1`) LIKE 'char(%' THEN RTRIM(CAST(`listed`.`label_1` AS STRING))
        ELSE CAST(`listed`.`label_1` AS STRING)
      END
    ) COLLATE UTF8_BINARY NULLS LAST
  ) AS INT) AS `code_1`
FROM (
  SELECT DISTINCT
    (
      CASE
        WHEN TYPEOF(`source`.`marital`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`marital` AS STRING))
        ELSE CAST(`source`.`marital` AS STRING)
      END
    ) COLLATE UTF8_BINARY AS `value`
  FROM `source_table` AS `source`
  WHERE
    NOT (
      CASE
        WHEN TYPEOF(`source`.`marital`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`marital` AS STRING))
        ELSE CAST(`source`.`marital` AS STRING)
      END
    ) COLLATE UTF8_BINARY IS NULL
) AS `domain`
INNER JOIN `sqlanon_script_d4d024d0_definition_marital` AS `listed`
  ON CAST(`domain`.`value` AS STRING) = `listed`.`label_0`;

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The classes of the generalized quasi-identifier, each with its verdict.
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_classes`;
CREATE TABLE `sqlanon_script_d4d024d0_classes` AS
SELECT `zip_code`, `birth_date_code`, `sex_value`, `marital_code`, COUNT(*) AS `n`, COUNT(*) >= 5 AS `kept`
FROM (
  SELECT
    CASE WHEN `source`.`zip` IS NULL THEN 0 ELSE `hierarchy_zip`.`code_3` END AS `zip_code`,
    CASE WHEN `source`.`birth_date` IS NULL THEN 0 ELSE `hierarchy_birth_date`.`code_3` END AS `birth_date_code`,
    COALESCE(
      '=' || (
        CASE
          WHEN TYPEOF(`source`.`sex`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`sex` AS STRING))
          ELSE CAST(`source`.`sex` AS STRING)
        END
      ) COLLATE UTF8_BINARY,
      ''
    ) AS `sex_value`,
    CASE WHEN `source`.`marital` IS NULL THEN 0 ELSE `hierarchy_marital`.`code_1` END AS `marital_code`
  FROM `source_table` AS `source`
  LEFT JOIN `sqlanon_script_d4d024d0_hierarchy_zip` AS `hierarchy_zip`
    ON (
      CASE
        WHEN TYPEOF(`source`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`zip` AS STRING))
        ELSE CAST(`source`.`zip` AS STRING)
      END
    ) COLLATE UTF8_BINARY = `hierarchy_zip`.`value`
  LEFT JOIN `sqlanon_script_d4d024d0_hierarchy_birth_date` AS `hierarchy_birth_date`
    ON `source`.`birth_date` = `hierarchy_birth_date`.`value`
  LEFT JOIN `sqlanon_script_d4d024d0_hierarchy_marital` AS `hierarchy_marital`
    ON (
      CASE
        WHEN TYPEOF(`source`.`marital`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`marital` AS STRING))
        ELSE CAST(`source`.`marital` AS STRING)
      END
    ) COLLATE UTF8_BINARY = `hierarchy_marital`.`value`
) AS `coded`
GROUP BY `zip_code`, `birth_date_code`, `sex_value`, `marital_code`;

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Stop if a value lies outside its hierarchy.
SELECT
  CASE
    WHEN (
      SELECT COUNT(*) = 0
      FROM `sqlanon_script_d4d024d0_classes`
      WHERE `zip_code` IS NULL OR `birth_date_code` IS NULL OR `marital_code` IS NULL
    )
    THEN 1
    ELSE RAISE_ERROR('sqlanon: a value lies outside its hierarchy')
  END AS `audit`;

-- Stop if more than 2% of the rows would be suppressed.
SELECT
  CASE
    WHEN (
      SELECT COALESCE(SUM(CASE WHEN NOT `kept` THEN `n` ELSE 0 END), 0) * 50 <= COALESCE(SUM(`n`), 0) * 1
      FROM `sqlanon_script_d4d024d0_classes`
    )
    THEN 1
    ELSE RAISE_ERROR('sqlanon: more rows than allowed would be suppressed')
  END AS `audit`;

-- The release, in no order that tells of the source.
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_staging`;
CREATE TABLE `sqlanon_script_d4d024d0_staging` AS
SELECT
  `hierarchy_zip`.`label_3` AS `zip`,
  `hierarchy_birth_date`.`label_3` AS `birth_date`,
  `source`.`sex`,
  `hierarchy_marital`.`label_1` AS `marital`,
  `source`.`diagnosis`,
  `source`.`cost`
FROM `source_table` AS `source`
LEFT JOIN `sqlanon_script_d4d024d0_hierarchy_zip` AS `hierarchy_zip`
  ON (
    CASE
      WHEN TYPEOF(`source`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`zip` AS STRING))
      ELSE CAST(`source`.`zip` AS STRING)
    END
  ) COLLATE UTF8_BINARY = `hierarchy_zip`.`value`
LEFT JOIN `sqlanon_script_d4d024d0_hierarchy_birth_date` AS `hierarchy_birth_date`
  ON `source`.`birth_date` = `hierarchy_birth_date`.`value`
LEFT JOIN `sqlanon_script_d4d024d0_hierarchy_marital` AS `hierarchy_marital`
  ON (
    CASE
      WHEN TYPEOF(`source`.`marital`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`marital` AS STRING))
      ELSE CAST(`source`.`marital` AS STRING)
    END
  ) COLLATE UTF8_BINARY = `hierarchy_marital`.`value`
INNER JOIN `sqlanon_script_d4d024d0_classes` AS `class`
  ON CASE WHEN `source`.`zip` IS NULL THEN 0 ELSE `hierarchy_zip`.`code_3` END = `class`.`zip_code`
  AND CASE WHEN `source`.`birth_date` IS NULL THEN 0 ELSE `hierarchy_birth_date`.`code_3` END = `class`.`birth_date_code`
  AND COALESCE(
    '=' || (
      CASE
        WHEN TYPEOF(`source`.`sex`) LIKE 'char(%' THEN RTRIM(CAST(`source`.`sex` AS STRING))
        ELSE CAST(`source`.`sex` AS STRING)
      END
    ) COLLATE UTF8_BINARY,
    ''
  ) = `class`.`sex_value`
  AND CASE WHEN `source`.`marital` IS NULL THEN 0 ELSE `hierarchy_marital`.`code_1` END = `class`.`marital_code`
WHERE `class`.`kept`
ORDER BY RAND();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: stop unless there are classes in the staged table and every one has at least 5 rows.
SELECT
  CASE
    WHEN (
      SELECT COALESCE(SUM(CASE WHEN `size` < 5 THEN 1 ELSE 0 END), 0) = 0 AND COALESCE(SUM(`size`), 0) > 0
      FROM (
        SELECT COUNT(*) AS `size`
        FROM `sqlanon_script_d4d024d0_staging` AS `audited`
        GROUP BY
          (
            CASE
              WHEN TYPEOF(`audited`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`audited`.`zip` AS STRING))
              ELSE CAST(`audited`.`zip` AS STRING)
            END
          ) COLLATE UTF8_BINARY,
          (
            CASE
              WHEN TYPEOF(`audited`.`birth_date`) LIKE 'char(%' THEN RTRIM(CAST(`audited`.`birth_date` AS STRING))
              ELSE CAST(`audited`.`birth_date` AS STRING)
            END
          ) COLLATE UTF8_BINARY,
          (
            CASE
              WHEN TYPEOF(`audited`.`sex`) LIKE 'char(%' THEN RTRIM(CAST(`audited`.`sex` AS STRING))
              ELSE CAST(`audited`.`sex` AS STRING)
            END
          ) COLLATE UTF8_BINARY,
          (
            CASE
              WHEN TYPEOF(`audited`.`marital`) LIKE 'char(%' THEN RTRIM(CAST(`audited`.`marital` AS STRING))
              ELSE CAST(`audited`.`marital` AS STRING)
            END
          ) COLLATE UTF8_BINARY
      ) AS `classes`
    )
    THEN 1
    ELSE RAISE_ERROR('sqlanon: the release fails its audit: k')
  END AS `audit`;

-- Audit: stop unless columns show labels of their levels alone: zip of level 3, birth_date of level 3, marital of level
-- 1.
SELECT
  CASE
    WHEN `wrong` IS NULL THEN 1
    ELSE RAISE_ERROR('sqlanon: the release fails its audit: ' || `wrong` || ' shows labels of another level')
  END AS `audit`
FROM (
  SELECT
    MIN(
      CASE
        WHEN NOT `published`.`zip` IS NULL AND `labels_of_zip`.`allowed_label` IS NULL THEN 'zip'
        WHEN NOT `published`.`birth_date` IS NULL AND `labels_of_birth_date`.`allowed_label` IS NULL
        THEN 'birth_date'
        WHEN NOT `published`.`marital` IS NULL AND `labels_of_marital`.`allowed_label` IS NULL THEN 'marital'
      END
    ) AS `wrong`
  FROM `sqlanon_script_d4d024d0_staging` AS `published`
  LEFT JOIN (
    SELECT DISTINCT
      (
        CASE
          WHEN TYPEOF(`hierarchy`.`label_3`) LIKE 'char(%' THEN RTRIM(CAST(`hierarchy`.`label_3` AS STRING))
          ELSE CAST(`hierarchy`.`label_3` AS STRING)
        END
      ) COLLATE UTF8_BINARY AS `allowed_label`
    FROM `sqlanon_script_d4d024d0_hierarchy_zip` AS `hierarchy`
  ) AS `labels_of_zip`
    ON (
      CASE
        WHEN TYPEOF(`published`.`zip`) LIKE 'char(%' THEN RTRIM(CAST(`published`.`zip` AS STRING))
        ELSE CAST(`published`.`zip` AS STRING)
      END
    ) COLLATE UTF8_BINARY = `labels_of_zip`.`allowed_label`
  LEFT JOIN (
    SELECT DISTINCT
      (
        CASE
          WHEN TYPEOF(`hierarchy`.`label_3`) LIKE 'char(%' THEN RTRIM(CAST(`hierarchy`.`label_3` AS STRING))
          ELSE CAST(`hierarchy`.`label_3` AS STRING)
        END
      ) COLLATE UTF8_BINARY AS `allowed_label`
    FROM `sqlanon_script_d4d024d0_hierarchy_birth_date` AS `hierarchy`
  ) AS `labels_of_birth_date`
    ON (
      CASE
        WHEN TYPEOF(`published`.`birth_date`) LIKE 'char(%' THEN RTRIM(CAST(`published`.`birth_date` AS STRING))
        ELSE CAST(`published`.`birth_date` AS STRING)
      END
    ) COLLATE UTF8_BINARY = `labels_of_birth_date`.`allowed_label`
  LEFT JOIN (
    SELECT DISTINCT
      (
        CASE
          WHEN TYPEOF(`hierarchy`.`label_1`) LIKE 'char(%' THEN RTRIM(CAST(`hierarchy`.`label_1` AS STRING))
          ELSE CAST(`hierarchy`.`label_1` AS STRING)
        END
      ) COLLATE UTF8_BINARY AS `allowed_label`
    FROM `sqlanon_script_d4d024d0_hierarchy_marital` AS `hierarchy`
  ) AS `labels_of_marital`
    ON (
      CASE
        WHEN TYPEOF(`published`.`marital`) LIKE 'char(%' THEN RTRIM(CAST(`published`.`marital` AS STRING))
        ELSE CAST(`published`.`marital` AS STRING)
      END
    ) COLLATE UTF8_BINARY = `labels_of_marital`.`allowed_label`
) AS `found`;

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CASE
    WHEN (
      SELECT
        COALESCE(SUM(CASE WHEN `kept` THEN `n` ELSE 0 END), 0) = (
          SELECT COUNT(*)
          FROM `sqlanon_script_d4d024d0_staging`
        )
      FROM `sqlanon_script_d4d024d0_classes`
    )
    THEN 1
    ELSE RAISE_ERROR('sqlanon: the release fails its audit: it has other rows than expected')
  END AS `audit`;

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: the old release goes, the new one takes its name.
DROP TABLE IF EXISTS `release_table`;

-- From here on it is published.
ALTER TABLE `sqlanon_script_d4d024d0_staging` RENAME TO `release_table`;

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_staging`;
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_classes`;
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_hierarchy_marital`;
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_definition_marital`;
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_hierarchy_birth_date`;
DROP TABLE IF EXISTS `sqlanon_script_d4d024d0_hierarchy_zip`;
