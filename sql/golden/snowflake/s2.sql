-- Release of source_table as release_table, made by sqlanon for snowflake.
-- Generalization: race at level 1, zip at level 0.
-- Every class of the quasi-identifier has at least 2 rows.
-- At most 1 rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error:
-- cat *.sql | snowsql -o exit_on_error=true
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value.

-- The session.
ALTER SESSION
SET timezone = 'UTC';

-- Stop if a value of zip, which is released as it is, lies outside its hierarchy.
SELECT
  CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS "AUDIT"
FROM "SOURCE_TABLE" AS "SOURCE"
WHERE
  NOT COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
  AND NOT CAST(COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') AS VARCHAR) IN ('94138', '94139', '94141', '94142');

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_38D0283E_CLASSES" AS
SELECT
  "ZIP_VALUE",
  COUNT(*) AS "N",
  COUNT(*) >= 2 AS "KEPT"
FROM (
  SELECT
    COALESCE('=' || COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8'), '') AS "ZIP_VALUE"
  FROM "SOURCE_TABLE" AS "SOURCE"
) AS "CODED"
GROUP BY
  "ZIP_VALUE";

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Stop if more than 1 rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT "KEPT" THEN "N" ELSE 0 END), 0) <= 1
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_38D0283E_CLASSES";

-- The release, in no order that tells of the source.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_38D0283E_STAGED" AS
SELECT
  'person' AS "RACE",
  "SOURCE"."ZIP"
FROM "SOURCE_TABLE" AS "SOURCE"
INNER JOIN "SQLANON_SCRIPT_38D0283E_CLASSES" AS "CLASS"
  ON COALESCE('=' || COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8'), '') = "CLASS"."ZIP_VALUE"
WHERE
  "CLASS"."KEPT"
ORDER BY
  RANDOM();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: the classes in the staged table.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_38D0283E_AUDIT_0" AS
SELECT
  COALESCE(SUM("SIZE"), 0) AS "ROWS",
  COUNT(*) AS "CLASSES",
  COALESCE(MIN("SIZE"), 0) AS "SMALLEST_CLASS",
  COALESCE(SUM(CASE WHEN "SIZE" < 2 THEN 1 ELSE 0 END), 0) AS "CLASSES_FAILING_K"
FROM (
  SELECT
    COUNT(*) AS "SIZE"
  FROM "SQLANON_SCRIPT_38D0283E_STAGED" AS "AUDITED"
  GROUP BY
    COLLATE(CAST("AUDITED"."RACE" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8')
) AS "CLASSES";

-- Audit: stop unless there are classes and every one has at least 2 rows.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_K") = 0 AND MIN("ROWS") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_38D0283E_AUDIT_0";

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN "KEPT" THEN "N" ELSE 0 END), 0) = (
      SELECT
        COUNT(*)
      FROM "SQLANON_SCRIPT_38D0283E_STAGED"
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_38D0283E_CLASSES";

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: one statement puts the release in the place of the old one.
CREATE OR REPLACE TABLE "RELEASE_TABLE"
COPY GRANTS AS
SELECT
  "RACE",
  "ZIP"
FROM "SQLANON_SCRIPT_38D0283E_STAGED"
ORDER BY
  RANDOM();

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS "SQLANON_SCRIPT_38D0283E_AUDIT_0";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_38D0283E_STAGED";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_38D0283E_CLASSES";
