-- Release of source_table as release_table, made by sqlanon for redshift.
-- Generalization: zip at level 3, birth_date at level 3, sex at level 0, marital at level 1.
-- Every class of the quasi-identifier has at least 5 rows.
-- At most 2% of the rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error:
-- cat *.sql | psql -v ON_ERROR_STOP=1 -h cluster -d warehouse
-- Grants, comments and indexes of an existing target are not kept by this script.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value.

-- One transaction, from here to the end.
BEGIN;
SET timezone = 'UTC';

-- Hierarchy of zip: the label of each value at level 3.
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_zip";
CREATE TEMPORARY TABLE "sqlanon_script_hierarchy_zip" AS
SELECT
  "value",
  "label_3",
  CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("label_3" AS VARCHAR(MAX)), 'case_sensitive')) AS INTEGER) AS "code_3"
FROM (
  SELECT
    "value",
    CASE
      WHEN LENGTH(CAST("value" AS VARCHAR(MAX))) <= 5
      THEN SUBSTRING(CAST("value" AS VARCHAR(MAX)) FROM 1 FOR 2) || '***'
    END AS "label_3"
  FROM (
    SELECT DISTINCT
      COLLATE(CAST("source"."zip" AS VARCHAR(MAX)), 'case_sensitive') AS "value"
    FROM "source_table" AS "source"
    WHERE
      NOT COLLATE(CAST("source"."zip" AS VARCHAR(MAX)), 'case_sensitive') IS NULL
  ) AS "domain"
) AS "labelled"
WHERE
  NOT "label_3" IS NULL;

-- Hierarchy of birth_date: the label of each value at level 3.
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_birth_date";
CREATE TEMPORARY TABLE "sqlanon_script_hierarchy_birth_date" AS
SELECT
  "value",
  "label_3",
  CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("label_3" AS VARCHAR(MAX)), 'case_sensitive')) AS INTEGER) AS "code_3"
FROM (
  SELECT
    "value",
    CASE
      WHEN CAST(EXTRACT(YEAR FROM "value") AS INTEGER) >= 1
      THEN '[' || CASE
        WHEN CAST(EXTRACT(YEAR FROM "value") AS INTEGER) - CAST(EXTRACT(YEAR FROM "value") AS INTEGER) % 5 > 9999
        THEN CAST(CAST(EXTRACT(YEAR FROM "value") AS INTEGER) - CAST(EXTRACT(YEAR FROM "value") AS INTEGER) % 5 AS VARCHAR(MAX))
        ELSE LPAD(
          CAST(CAST(EXTRACT(YEAR FROM "value") AS INTEGER) - CAST(EXTRACT(YEAR FROM "value") AS INTEGER) % 5 AS VARCHAR(MAX)),
          4,
          '0'
        )
      END || '-' || CASE
        WHEN CAST(EXTRACT(YEAR FROM "value") AS INTEGER) - CAST(EXTRACT(YEAR FROM "value") AS INTEGER) % 5 + 4 > 9999
        THEN CAST(CAST(EXTRACT(YEAR FROM "value") AS INTEGER) - CAST(EXTRACT(YEAR FROM "value") AS INTEGER) % 5 + 4 AS VARCHAR(MAX))
        ELSE LPAD(
          CAST(CAST(EXTRACT(YEAR FROM "value") AS INTEGER) - CAST(EXTRACT(YEAR FROM "value") AS INTEGER) % 5 + 4 AS VARCHAR(MAX)),
          4,
          '0'
        )
      END || ']'
    END AS "label_3"
  FROM (
    SELECT DISTINCT
      "source"."birth_date" AS "value"
    FROM "source_table" AS "source"
    WHERE
      NOT "source"."birth_date" IS NULL
  ) AS "domain"
) AS "labelled"
WHERE
  NOT "label_3" IS NULL;

-- Stop if a value of sex, which is released as it is, lies outside its hierarchy.
SELECT
  CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INTEGER) AS "audit"
FROM "source_table" AS "source"
WHERE
  NOT COLLATE(CAST("source"."sex" AS VARCHAR(MAX)), 'case_sensitive') IS NULL
  AND NOT CAST(COLLATE(CAST("source"."sex" AS VARCHAR(MAX)), 'case_sensitive') AS VARCHAR(MAX)) IN ('female', 'male');

-- Definition of the hierarchy of marital, level 0 first.
DROP TABLE IF EXISTS "sqlanon_script_definition_marital";
CREATE TEMPORARY TABLE "sqlanon_script_definition_marital" (
  "label_0" VARCHAR(MAX),
  "label_1" VARCHAR(MAX)
);
INSERT INTO "sqlanon_script_definition_marital"
VALUES
  ('married', 'been_married'),
  ('divorced', 'been_married'),
  ('widowed', 'been_married'),
  ('single', 'never_married');

-- Hierarchy of marital: the label of each value at level 1.
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_marital";
CREATE TEMPORARY TABLE "sqlanon_script_hierarchy_marital" AS
SELECT
  "domain"."value",
  "listed"."label_1",
  CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("listed"."label_1" AS VARCHAR(MAX)), 'case_sensitive')) AS INTEGER) AS "code_1"
FROM (
  SELECT DISTINCT
    COLLATE(CAST("source"."marital" AS VARCHAR(MAX)), 'case_sensitive') AS "value"
  FROM "source_table" AS "source"
  WHERE
    NOT COLLATE(CAST("source"."marital" AS VARCHAR(MAX)), 'case_sensitive') IS NULL
) AS "domain"
INNER JOIN "sqlanon_script_definition_marital" AS "listed"
  ON CAST("domain"."value" AS VARCHAR(MAX)) = "listed"."label_0";

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The classes of the generalized quasi-identifier, each with its verdict.
DROP TABLE IF EXISTS "sqlanon_script_classes";
CREATE TEMPORARY TABLE "sqlanon_script_classes" AS
SELECT
  "zip_code",
  "birth_date_code",
  "sex_value",
  "marital_code",
  COUNT(*) AS "n",
  COUNT(*) >= 5 AS "kept"
FROM (
  SELECT
    CASE
      WHEN COLLATE(CAST("source"."zip" AS VARCHAR(MAX)), 'case_sensitive') IS NULL
      THEN 0
      ELSE "hierarchy_zip"."code_3"
    END AS "zip_code",
    CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "hierarchy_birth_date"."code_3" END AS "birth_date_code",
    COALESCE('=' || COLLATE(CAST("source"."sex" AS VARCHAR(MAX)), 'case_sensitive'), '') AS "sex_value",
    CASE
      WHEN COLLATE(CAST("source"."marital" AS VARCHAR(MAX)), 'case_sensitive') IS NULL
      THEN 0
      ELSE "hierarchy_marital"."code_1"
    END AS "marital_code"
  FROM "source_table" AS "source"
  LEFT JOIN "sqlanon_script_hierarchy_zip" AS "hierarchy_zip"
    ON COLLATE(CAST("source"."zip" AS VARCHAR(MAX)), 'case_sensitive') = "hierarchy_zip"."value"
  LEFT JOIN "sqlanon_script_hierarchy_birth_date" AS "hierarchy_birth_date"
    ON "source"."birth_date" = "hierarchy_birth_date"."value"
  LEFT JOIN "sqlanon_script_hierarchy_marital" AS "hierarchy_marital"
    ON COLLATE(CAST("source"."marital" AS VARCHAR(MAX)), 'case_sensitive') = "hierarchy_marital"."value"
) AS "coded"
GROUP BY
  "zip_code",
  "birth_date_code",
  "sex_value",
  "marital_code";

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Stop if a value lies outside its hierarchy.
SELECT
  CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INTEGER) AS "audit"
FROM "sqlanon_script_classes"
WHERE
  "zip_code" IS NULL OR "birth_date_code" IS NULL OR "marital_code" IS NULL;

-- Stop if more than 2% of the rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT "kept" THEN "n" ELSE 0 END), 0) * 50 <= COALESCE(SUM("n"), 0) * 1
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INTEGER) AS "audit"
FROM "sqlanon_script_classes";

-- The release, in no order that tells of the source.
DROP TABLE IF EXISTS "sqlanon_script_staging";
CREATE TABLE "sqlanon_script_staging" AS
SELECT
  "hierarchy_zip"."label_3" AS "zip",
  "hierarchy_birth_date"."label_3" AS "birth_date",
  "source"."sex",
  "hierarchy_marital"."label_1" AS "marital",
  "source"."diagnosis",
  "source"."cost"
FROM "source_table" AS "source"
LEFT JOIN "sqlanon_script_hierarchy_zip" AS "hierarchy_zip"
  ON COLLATE(CAST("source"."zip" AS VARCHAR(MAX)), 'case_sensitive') = "hierarchy_zip"."value"
LEFT JOIN "sqlanon_script_hierarchy_birth_date" AS "hierarchy_birth_date"
  ON "source"."birth_date" = "hierarchy_birth_date"."value"
LEFT JOIN "sqlanon_script_hierarchy_marital" AS "hierarchy_marital"
  ON COLLATE(CAST("source"."marital" AS VARCHAR(MAX)), 'case_sensitive') = "hierarchy_marital"."value"
INNER JOIN "sqlanon_script_classes" AS "class"
  ON CASE
    WHEN COLLATE(CAST("source"."zip" AS VARCHAR(MAX)), 'case_sensitive') IS NULL
    THEN 0
    ELSE "hierarchy_zip"."code_3"
  END = "class"."zip_code"
  AND CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "hierarchy_birth_date"."code_3" END = "class"."birth_date_code"
  AND COALESCE('=' || COLLATE(CAST("source"."sex" AS VARCHAR(MAX)), 'case_sensitive'), '') = "class"."sex_value"
  AND CASE
    WHEN COLLATE(CAST("source"."marital" AS VARCHAR(MAX)), 'case_sensitive') IS NULL
    THEN 0
    ELSE "hierarchy_marital"."code_1"
  END = "class"."marital_code"
WHERE
  "class"."kept"
ORDER BY
  RANDOM();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: the classes in the staged table.
DROP TABLE IF EXISTS "sqlanon_script_audit_0";
CREATE TEMPORARY TABLE "sqlanon_script_audit_0" AS
SELECT
  COALESCE(SUM("size"), 0) AS "rows",
  COUNT(*) AS "classes",
  COALESCE(MIN("size"), 0) AS "smallest_class",
  COALESCE(SUM(CASE WHEN "size" < 5 THEN 1 ELSE 0 END), 0) AS "classes_failing_k"
FROM (
  SELECT
    COUNT(*) AS "size"
  FROM "sqlanon_script_staging" AS "audited"
  GROUP BY
    COLLATE(CAST("audited"."zip" AS VARCHAR(MAX)), 'case_sensitive'),
    COLLATE(CAST("audited"."birth_date" AS VARCHAR(MAX)), 'case_sensitive'),
    COLLATE(CAST("audited"."sex" AS VARCHAR(MAX)), 'case_sensitive'),
    COLLATE(CAST("audited"."marital" AS VARCHAR(MAX)), 'case_sensitive')
) AS "classes";

-- Audit: stop unless there are classes and every one has at least 5 rows.
SELECT
  CAST(CASE
    WHEN MAX("classes_failing_k") = 0 AND MIN("rows") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INTEGER) AS "audit"
FROM "sqlanon_script_audit_0";

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN "kept" THEN "n" ELSE 0 END), 0) = (
      SELECT
        COUNT(*)
      FROM "sqlanon_script_staging"
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INTEGER) AS "audit"
FROM "sqlanon_script_classes";

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: the old release goes, the new one takes its name.
DROP TABLE IF EXISTS "release_table";

-- Until COMMIT nobody sees a difference.
ALTER TABLE "sqlanon_script_staging"
RENAME TO "release_table";

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS "sqlanon_script_audit_0";
DROP TABLE IF EXISTS "sqlanon_script_classes";
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_marital";
DROP TABLE IF EXISTS "sqlanon_script_definition_marital";
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_birth_date";
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_zip";

-- The end of the transaction.
COMMIT;
