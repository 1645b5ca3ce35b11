-- Release of source_table as release_table, made by sqlanon for snowflake.
-- Generalization: race at level 1, zip at level 0.
-- Every class of the quasi-identifier has at least 2 rows.
-- At most 1 rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error: cat *.sql | snowsql -o exit_on_error=true
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value and level.

-- The session.
ALTER SESSION
SET timezone = 'UTC';

-- Definition of the hierarchy of zip, level 0 first.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_38D0283E_DEFINITION_1" (
  "LABEL_0" VARCHAR,
  "LABEL_1" VARCHAR,
  "LABEL_2" VARCHAR
);
INSERT INTO "SQLANON_SCRIPT_38D0283E_DEFINITION_1"
VALUES
  ('94138', '9413*', '941**'),
  ('94139', '9413*', '941**'),
  ('94141', '9414*', '941**'),
  ('94142', '9414*', '941**');

-- Hierarchy of zip: one row per value.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_38D0283E_HIERARCHY_1" AS
SELECT
  *
FROM (
  SELECT
    *,
    COUNT(*) OVER (PARTITION BY "VALUE") AS "OCCURRENCES"
  FROM (
    WITH "LABELLED" AS (
      SELECT
        "DOMAIN"."VALUE",
        COALESCE("LISTED"."LABEL_0", CAST("VALUE" AS VARCHAR)) AS "LABEL_0",
        "LISTED"."LABEL_1" AS "LABEL_1",
        "LISTED"."LABEL_2" AS "LABEL_2"
      FROM (
        SELECT DISTINCT
          "LABEL_0",
          "LABEL_1",
          "LABEL_2"
        FROM "SQLANON_SCRIPT_38D0283E_DEFINITION_1"
      ) AS "LISTED"
      FULL OUTER JOIN (
        SELECT DISTINCT
          COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') AS "VALUE"
        FROM "SOURCE_TABLE" AS "SOURCE"
        WHERE
          NOT COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
      ) AS "DOMAIN"
        ON CAST("VALUE" AS VARCHAR) = "LISTED"."LABEL_0"
    )
    SELECT
      "VALUE",
      "LABEL_0",
      "LABEL_1",
      "LABEL_2",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_0" AS VARCHAR), 'utf8')) AS INT) AS "CODE_0",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_1" AS VARCHAR), 'utf8')) AS INT) AS "CODE_1"
    FROM labelled
  ) AS "CODED"
) AS "COUNTED"
WHERE
  NOT "VALUE" IS NULL
  AND "OCCURRENCES" = 1
  AND NOT "LABEL_1" IS NULL
  AND NOT "LABEL_2" IS NULL;

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The frequency set: every row of the source, counted by the generalized quasi-identifier.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_38D0283E_COUNTED" AS
SELECT
  COALESCE(
    CASE
      WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "H_1"."CODE_0"
    END,
    -1
  ) AS "K_1",
  COUNT(*) AS "N"
FROM "SOURCE_TABLE" AS "SOURCE"
LEFT JOIN "SQLANON_SCRIPT_38D0283E_HIERARCHY_1" AS "H_1"
  ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "H_1"."VALUE"
GROUP BY
  COALESCE(
    CASE
      WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "H_1"."CODE_0"
    END,
    -1
  );

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_38D0283E_CLASSES" AS
SELECT
  NULLIF("K_1", -1) AS "K_1",
  "N",
  "N" >= 2 AS "KEPT"
FROM (
  SELECT
    "K_1" AS "K_1",
    SUM("N") AS "N"
  FROM "SQLANON_SCRIPT_38D0283E_COUNTED" AS "COUNTED"
  GROUP BY
    "K_1"
) AS "CLASSES";

-- Stop if a value lies outside its hierarchy.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        (
          SELECT
            COUNT(*)
          FROM "SQLANON_SCRIPT_38D0283E_CLASSES"
          WHERE
            "K_1" IS NULL
        ) = 0
    )
    THEN '1'
    ELSE 'sqlanon: a value lies outside its hierarchy'
  END AS INT) AS "AUDIT";

-- Stop if more than 1 rows would be suppressed.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        COALESCE(SUM(CASE WHEN NOT "KEPT" THEN "N" ELSE 0 END), 0) <= 1
      FROM "SQLANON_SCRIPT_38D0283E_CLASSES"
    )
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS "AUDIT";

-- The release, in no order that tells of the source.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_38D0283E_STAGED" AS
SELECT
  'person' AS "RACE",
  "SOURCE"."ZIP" AS "ZIP"
FROM "SOURCE_TABLE" AS "SOURCE"
LEFT JOIN "SQLANON_SCRIPT_38D0283E_HIERARCHY_1" AS "H_1"
  ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "H_1"."VALUE"
JOIN "SQLANON_SCRIPT_38D0283E_CLASSES" AS "CLASS"
  ON CASE
    WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
    THEN 0
    ELSE "H_1"."CODE_0"
  END = "CLASS"."K_1"
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
    WHEN (
      SELECT
        "CLASSES_FAILING_K" = 0 AND "ROWS" > 0
      FROM "SQLANON_SCRIPT_38D0283E_AUDIT_0"
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INT) AS "AUDIT";

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        (
          SELECT
            COUNT(*)
          FROM "SQLANON_SCRIPT_38D0283E_STAGED" AS "AUDITED"
        ) = (
          SELECT
            COALESCE(SUM(CASE WHEN "KEPT" THEN "N" ELSE 0 END), 0)
          FROM "SQLANON_SCRIPT_38D0283E_CLASSES"
        )
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INT) AS "AUDIT";

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
DROP TABLE IF EXISTS "SQLANON_SCRIPT_38D0283E_COUNTED";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_38D0283E_HIERARCHY_1";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_38D0283E_DEFINITION_1";
