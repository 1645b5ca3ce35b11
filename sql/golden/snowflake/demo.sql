-- Release of source_table as release_table, made by sqlanon for snowflake.
-- Generalization: zip at level 3, birth_date at level 3, sex at level 0, marital at level 1.
-- Every class of the quasi-identifier has at least 5 rows.
-- At most 2% of the rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error:
-- cat *.sql | snowsql -o exit_on_error=true
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value.

-- The session.
ALTER SESSION
SET timezone = 'UTC';

-- Hierarchy of zip: the label of each value at level 3.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_HIERARCHY_ZIP" AS
SELECT
  "VALUE",
  "LABEL_3",
  CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_3" AS VARCHAR), 'utf8')) AS INT) AS "CODE_3"
FROM (
  SELECT
    "VALUE",
    CASE
      WHEN LENGTH(CAST("VALUE" AS VARCHAR)) <= 5
      THEN SUBSTRING(CAST("VALUE" AS VARCHAR), 1, 2) || '***'
    END AS "LABEL_3"
  FROM (
    SELECT DISTINCT
      COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') AS "VALUE"
    FROM "SOURCE_TABLE" AS "SOURCE"
    WHERE
      NOT COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
  ) AS "DOMAIN"
) AS "LABELLED"
WHERE
  NOT "LABEL_3" IS NULL;

-- Hierarchy of birth_date: the label of each value at level 3.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_HIERARCHY_BIRTH_DATE" AS
SELECT
  "VALUE",
  "LABEL_3",
  CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_3" AS VARCHAR), 'utf8')) AS INT) AS "CODE_3"
FROM (
  SELECT
    "VALUE",
    CASE
      WHEN CAST(DATE_PART(YEAR, "VALUE") AS INT) >= 1
      THEN '[' || CASE
        WHEN CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5 > 9999
        THEN CAST(CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5 AS VARCHAR)
        ELSE LPAD(
          CAST(CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5 AS VARCHAR),
          4,
          '0'
        )
      END || '-' || CASE
        WHEN CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5 + 4 > 9999
        THEN CAST(CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5 + 4 AS VARCHAR)
        ELSE LPAD(
          CAST(CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5 + 4 AS VARCHAR),
          4,
          '0'
        )
      END || ']'
    END AS "LABEL_3"
  FROM (
    SELECT DISTINCT
      "SOURCE"."BIRTH_DATE" AS "VALUE"
    FROM "SOURCE_TABLE" AS "SOURCE"
    WHERE
      NOT "SOURCE"."BIRTH_DATE" IS NULL
  ) AS "DOMAIN"
) AS "LABELLED"
WHERE
  NOT "LABEL_3" IS NULL;

-- Stop if a value of sex, which is released as it is, lies outside its hierarchy.
SELECT
  CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS "AUDIT"
FROM "SOURCE_TABLE" AS "SOURCE"
WHERE
  NOT COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8') IS NULL
  AND NOT CAST(COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8') AS VARCHAR) IN ('female', 'male');

-- Definition of the hierarchy of marital, level 0 first.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_DEFINITION_MARITAL" (
  "LABEL_0" VARCHAR,
  "LABEL_1" VARCHAR
);
INSERT INTO "SQLANON_SCRIPT_D4D024D0_DEFINITION_MARITAL"
VALUES
  ('married', 'been_married'),
  ('divorced', 'been_married'),
  ('widowed', 'been_married'),
  ('single', 'never_married');

-- Hierarchy of marital: the label of each value at level 1.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_HIERARCHY_MARITAL" AS
SELECT
  "DOMAIN"."VALUE",
  "LISTED"."LABEL_1",
  CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LISTED"."LABEL_1" AS VARCHAR), 'utf8')) AS INT) AS "CODE_1"
FROM (
  SELECT DISTINCT
    COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') AS "VALUE"
  FROM "SOURCE_TABLE" AS "SOURCE"
  WHERE
    NOT COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') IS NULL
) AS "DOMAIN"
INNER JOIN "SQLANON_SCRIPT_D4D024D0_DEFINITION_MARITAL" AS "LISTED"
  ON CAST("DOMAIN"."VALUE" AS VARCHAR) = "LISTED"."LABEL_0";

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_CLASSES" AS
SELECT
  "ZIP_CODE",
  "BIRTH_DATE_CODE",
  "SEX_VALUE",
  "MARITAL_CODE",
  COUNT(*) AS "N",
  COUNT(*) >= 5 AS "KEPT"
FROM (
  SELECT
    CASE
      WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "HIERARCHY_ZIP"."CODE_3"
    END AS "ZIP_CODE",
    CASE WHEN "SOURCE"."BIRTH_DATE" IS NULL THEN 0 ELSE "HIERARCHY_BIRTH_DATE"."CODE_3" END AS "BIRTH_DATE_CODE",
    COALESCE('=' || COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8'), '') AS "SEX_VALUE",
    CASE
      WHEN COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "HIERARCHY_MARITAL"."CODE_1"
    END AS "MARITAL_CODE"
  FROM "SOURCE_TABLE" AS "SOURCE"
  LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_ZIP" AS "HIERARCHY_ZIP"
    ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "HIERARCHY_ZIP"."VALUE"
  LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_BIRTH_DATE" AS "HIERARCHY_BIRTH_DATE"
    ON "SOURCE"."BIRTH_DATE" = "HIERARCHY_BIRTH_DATE"."VALUE"
  LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_MARITAL" AS "HIERARCHY_MARITAL"
    ON COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') = "HIERARCHY_MARITAL"."VALUE"
) AS "CODED"
GROUP BY
  "ZIP_CODE",
  "BIRTH_DATE_CODE",
  "SEX_VALUE",
  "MARITAL_CODE";

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Stop if a value lies outside its hierarchy.
SELECT
  CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_D4D024D0_CLASSES"
WHERE
  "ZIP_CODE" IS NULL OR "BIRTH_DATE_CODE" IS NULL OR "MARITAL_CODE" IS NULL;

-- Stop if more than 2% of the rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT "KEPT" THEN "N" ELSE 0 END), 0) * 50 <= COALESCE(SUM("N"), 0) * 1
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_D4D024D0_CLASSES";

-- The release, in no order that tells of the source.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_STAGED" AS
SELECT
  "HIERARCHY_ZIP"."LABEL_3" AS "ZIP",
  "HIERARCHY_BIRTH_DATE"."LABEL_3" AS "BIRTH_DATE",
  "SOURCE"."SEX",
  "HIERARCHY_MARITAL"."LABEL_1" AS "MARITAL",
  "SOURCE"."DIAGNOSIS",
  "SOURCE"."COST"
FROM "SOURCE_TABLE" AS "SOURCE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_ZIP" AS "HIERARCHY_ZIP"
  ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "HIERARCHY_ZIP"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_BIRTH_DATE" AS "HIERARCHY_BIRTH_DATE"
  ON "SOURCE"."BIRTH_DATE" = "HIERARCHY_BIRTH_DATE"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_MARITAL" AS "HIERARCHY_MARITAL"
  ON COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') = "HIERARCHY_MARITAL"."VALUE"
INNER JOIN "SQLANON_SCRIPT_D4D024D0_CLASSES" AS "CLASS"
  ON CASE
    WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
    THEN 0
    ELSE "HIERARCHY_ZIP"."CODE_3"
  END = "CLASS"."ZIP_CODE"
  AND CASE WHEN "SOURCE"."BIRTH_DATE" IS NULL THEN 0 ELSE "HIERARCHY_BIRTH_DATE"."CODE_3" END = "CLASS"."BIRTH_DATE_CODE"
  AND COALESCE('=' || COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8'), '') = "CLASS"."SEX_VALUE"
  AND CASE
    WHEN COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') IS NULL
    THEN 0
    ELSE "HIERARCHY_MARITAL"."CODE_1"
  END = "CLASS"."MARITAL_CODE"
WHERE
  "CLASS"."KEPT"
ORDER BY
  RANDOM();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: the classes in the staged table.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_AUDIT_0" AS
SELECT
  COALESCE(SUM("SIZE"), 0) AS "ROWS",
  COUNT(*) AS "CLASSES",
  COALESCE(MIN("SIZE"), 0) AS "SMALLEST_CLASS",
  COALESCE(SUM(CASE WHEN "SIZE" < 5 THEN 1 ELSE 0 END), 0) AS "CLASSES_FAILING_K"
FROM (
  SELECT
    COUNT(*) AS "SIZE"
  FROM "SQLANON_SCRIPT_D4D024D0_STAGED" AS "AUDITED"
  GROUP BY
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."BIRTH_DATE" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."MARITAL" AS VARCHAR), 'utf8')
) AS "CLASSES";

-- Audit: stop unless there are classes and every one has at least 5 rows.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_K") = 0 AND MIN("ROWS") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_D4D024D0_AUDIT_0";

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN "KEPT" THEN "N" ELSE 0 END), 0) = (
      SELECT
        COUNT(*)
      FROM "SQLANON_SCRIPT_D4D024D0_STAGED"
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_D4D024D0_CLASSES";

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: one statement puts the release in the place of the old one.
CREATE OR REPLACE TABLE "RELEASE_TABLE"
COPY GRANTS AS
SELECT
  "ZIP",
  "BIRTH_DATE",
  "SEX",
  "MARITAL",
  "DIAGNOSIS",
  "COST"
FROM "SQLANON_SCRIPT_D4D024D0_STAGED"
ORDER BY
  RANDOM();

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_AUDIT_0";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_STAGED";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_CLASSES";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_HIERARCHY_MARITAL";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_DEFINITION_MARITAL";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_HIERARCHY_BIRTH_DATE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_HIERARCHY_ZIP";
