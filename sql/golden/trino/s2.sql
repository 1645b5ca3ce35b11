-- Release of source_table as release_table, made by sqlanon for trino.
-- Generalization: race at level 1, zip at level 0.
-- Every class of the quasi-identifier has at least 2 rows.
-- At most 1 rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error:
-- cat *.sql > release.sql; trino -f release.sql
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- Grants, comments and indexes of an existing target are not kept by this script.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value.

-- Stop if a value of zip, which is released as it is, lies outside its hierarchy.
SELECT
  CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INTEGER) AS "audit"
FROM "source_table" AS "source"
WHERE
  NOT CAST("source"."zip" AS VARCHAR) IS NULL
  AND NOT CAST(CAST("source"."zip" AS VARCHAR) AS VARCHAR) IN ('94138', '94139', '94141', '94142');

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE OR REPLACE TABLE "sqlanon_script_38d0283e_classes" AS
SELECT
  "zip_value",
  COUNT(*) AS "n",
  COUNT(*) >= 2 AS "kept"
FROM (
  SELECT
    COALESCE(CONCAT(CAST('=' AS VARCHAR), CAST("source"."zip" AS VARCHAR)), '') AS "zip_value"
  FROM "source_table" AS "source"
) AS "coded"
GROUP BY
  "zip_value";

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Stop if more than 1 rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT "kept" THEN "n" ELSE 0 END), 0) <= 1
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INTEGER) AS "audit"
FROM "sqlanon_script_38d0283e_classes";

-- The release, in no order that tells of the source.
CREATE OR REPLACE TABLE "sqlanon_script_38d0283e_staged" AS
SELECT
  'person' AS "race",
  "source"."zip"
FROM "source_table" AS "source"
INNER JOIN "sqlanon_script_38d0283e_classes" AS "class"
  ON COALESCE(CONCAT(CAST('=' AS VARCHAR), CAST("source"."zip" AS VARCHAR)), '') = "class"."zip_value"
WHERE
  "class"."kept"
ORDER BY
  RAND();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: the classes in the staged table.
CREATE OR REPLACE TABLE "sqlanon_script_38d0283e_audit_0" AS
SELECT
  COALESCE(SUM("size"), 0) AS "rows",
  COUNT(*) AS "classes",
  COALESCE(MIN("size"), 0) AS "smallest_class",
  COALESCE(SUM(CASE WHEN "size" < 2 THEN 1 ELSE 0 END), 0) AS "classes_failing_k"
FROM (
  SELECT
    COUNT(*) AS "size"
  FROM "sqlanon_script_38d0283e_staged" AS "audited"
  GROUP BY
    CAST("audited"."race" AS VARCHAR),
    CAST("audited"."zip" AS VARCHAR)
) AS "classes";

-- Audit: stop unless there are classes and every one has at least 2 rows.
SELECT
  CAST(CASE
    WHEN MAX("classes_failing_k") = 0 AND MIN("rows") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INTEGER) AS "audit"
FROM "sqlanon_script_38d0283e_audit_0";

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN "kept" THEN "n" ELSE 0 END), 0) = (
      SELECT
        COUNT(*)
      FROM "sqlanon_script_38d0283e_staged"
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INTEGER) AS "audit"
FROM "sqlanon_script_38d0283e_classes";

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: one statement puts the release in the place of the old one.
CREATE OR REPLACE TABLE "release_table" AS
SELECT
  "race",
  "zip"
FROM "sqlanon_script_38d0283e_staged"
ORDER BY
  RAND();

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS "sqlanon_script_38d0283e_audit_0";
DROP TABLE IF EXISTS "sqlanon_script_38d0283e_staged";
DROP TABLE IF EXISTS "sqlanon_script_38d0283e_classes";
