-- Release of source_table as release_table, made by sqlanon for clickhouse.
-- Generalization: zip at level 3, birth_date at level 3, sex at level 0, marital at level 1.
-- Every class of the quasi-identifier has at least 5 rows.
-- At most 2% of the rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error:
-- cat *.sql | clickhouse-client --multiquery
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- Grants, comments and indexes of an existing target are not kept by this script.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value.

-- The session.
SET join_use_nulls = 1;
SET aggregate_functions_null_for_empty = 1;
SET prefer_column_name_to_alias = 1;

-- Hierarchy of zip: the label of each value at level 3.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_hierarchy_zip"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "value",
  "label_3",
  CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_3" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_3"
FROM (
  SELECT
    "value",
    CASE
      WHEN CHAR_LENGTH(CAST("value" AS Nullable(String))) <= 5
      THEN SUBSTRING(CAST("value" AS Nullable(String)), 1, 2) || '***'
    END AS "label_3"
  FROM (
    SELECT DISTINCT
      CAST("source"."zip" AS Nullable(String)) AS "value"
    FROM "source_table" AS "source"
    WHERE
      NOT (
        CAST("source"."zip" AS Nullable(String)) IS NULL
      )
  ) AS "domain"
) AS "labelled"
WHERE
  NOT (
    "label_3" IS NULL
  );

-- Hierarchy of birth_date: the label of each value at level 3.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_hierarchy_birth_date"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "value",
  "label_3",
  CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_3" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_3"
FROM (
  SELECT
    "value",
    CASE
      WHEN CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) >= 1
      THEN '[' || CASE
        WHEN CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5 > 9999
        THEN CAST(CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5 AS Nullable(String))
        ELSE LPAD(
          CAST(CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5 AS Nullable(String)),
          4,
          '0'
        )
      END || '-' || CASE
        WHEN CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5 + 4 > 9999
        THEN CAST(CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5 + 4 AS Nullable(String))
        ELSE LPAD(
          CAST(CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5 + 4 AS Nullable(String)),
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
      NOT (
        "source"."birth_date" IS NULL
      )
  ) AS "domain"
) AS "labelled"
WHERE
  NOT (
    "label_3" IS NULL
  );

-- Stop if a value of sex, which is released as it is, lies outside its hierarchy.
SELECT
  throwIf(
    NOT COALESCE(
      (
        SELECT
          CAST(COUNT(*) AS Nullable(Int64)) = 0
        FROM "source_table" AS "source"
        WHERE
          NOT (
            CAST("source"."sex" AS Nullable(String)) IS NULL
          )
          AND NOT (
            CAST(CAST("source"."sex" AS Nullable(String)) AS Nullable(String)) IN ('female', 'male')
          )
      ),
      FALSE
    ),
    'sqlanon: a value lies outside its hierarchy'
  ) AS "audit";

-- Definition of the hierarchy of marital, level 0 first.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_definition_marital" (
  "label_0" Nullable(String),
  "label_1" Nullable(String)
)
ENGINE=MergeTree
ORDER BY tuple();
INSERT INTO "sqlanon_script_d4d024d0_definition_marital"
VALUES
  ('married', 'been_married'),
  ('divorced', 'been_married'),
  ('widowed', 'been_married'),
  ('single', 'never_married');

-- Hierarchy of marital: the label of each value at level 1.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_hierarchy_marital"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "domain"."value" AS "value",
  "listed"."label_1" AS "label_1",
  CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("listed"."label_1" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_1"
FROM (
  SELECT DISTINCT
    CAST("source"."marital" AS Nullable(String)) AS "value"
  FROM "source_table" AS "source"
  WHERE
    NOT (
      CAST("source"."marital" AS Nullable(String)) IS NULL
    )
) AS "domain"
INNER JOIN "sqlanon_script_d4d024d0_definition_marital" AS "listed"
  ON CAST("domain"."value" AS Nullable(String)) = "listed"."label_0";

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_classes"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "zip_code",
  "birth_date_code",
  "sex_value",
  "marital_code",
  CAST(COUNT(*) AS Nullable(Int64)) AS "n",
  CAST(COUNT(*) AS Nullable(Int64)) >= 5 AS "kept"
FROM (
  SELECT
    CASE
      WHEN CAST("source"."zip" AS Nullable(String)) IS NULL
      THEN 0
      ELSE "hierarchy_zip"."code_3"
    END AS "zip_code",
    CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "hierarchy_birth_date"."code_3" END AS "birth_date_code",
    COALESCE('=' || CAST("source"."sex" AS Nullable(String)), '') AS "sex_value",
    CASE
      WHEN CAST("source"."marital" AS Nullable(String)) IS NULL
      THEN 0
      ELSE "hierarchy_marital"."code_1"
    END AS "marital_code"
  FROM "source_table" AS "source"
  LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_zip" AS "hierarchy_zip"
    ON CAST("source"."zip" AS Nullable(String)) = "hierarchy_zip"."value"
  LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_birth_date" AS "hierarchy_birth_date"
    ON "source"."birth_date" = "hierarchy_birth_date"."value"
  LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_marital" AS "hierarchy_marital"
    ON CAST("source"."marital" AS Nullable(String)) = "hierarchy_marital"."value"
) AS "coded"
GROUP BY
  "zip_code",
  "birth_date_code",
  "sex_value",
  "marital_code";

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Stop if a value lies outside its hierarchy.
SELECT
  throwIf(
    NOT COALESCE(
      (
        SELECT
          CAST(COUNT(*) AS Nullable(Int64)) = 0
        FROM "sqlanon_script_d4d024d0_classes"
        WHERE
          "zip_code" IS NULL OR "birth_date_code" IS NULL OR "marital_code" IS NULL
      ),
      FALSE
    ),
    'sqlanon: a value lies outside its hierarchy'
  ) AS "audit";

-- Stop if more than 2% of the rows would be suppressed.
SELECT
  throwIf(
    NOT COALESCE(
      (
        SELECT
          COALESCE(SUM(CASE WHEN NOT "kept" THEN "n" ELSE 0 END), 0) * 50 <= COALESCE(SUM("n"), 0) * 1
        FROM "sqlanon_script_d4d024d0_classes"
      ),
      FALSE
    ),
    'sqlanon: more rows than allowed would be suppressed'
  ) AS "audit";

-- The release, in no order that tells of the source.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_staged"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "hierarchy_zip"."label_3" AS "zip",
  "hierarchy_birth_date"."label_3" AS "birth_date",
  "source"."sex" AS "sex",
  "hierarchy_marital"."label_1" AS "marital",
  "source"."diagnosis" AS "diagnosis",
  "source"."cost" AS "cost"
FROM "source_table" AS "source"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_zip" AS "hierarchy_zip"
  ON CAST("source"."zip" AS Nullable(String)) = "hierarchy_zip"."value"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_birth_date" AS "hierarchy_birth_date"
  ON "source"."birth_date" = "hierarchy_birth_date"."value"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_marital" AS "hierarchy_marital"
  ON CAST("source"."marital" AS Nullable(String)) = "hierarchy_marital"."value"
INNER JOIN "sqlanon_script_d4d024d0_classes" AS "class"
  ON CASE
    WHEN CAST("source"."zip" AS Nullable(String)) IS NULL
    THEN 0
    ELSE "hierarchy_zip"."code_3"
  END = "class"."zip_code"
  AND CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "hierarchy_birth_date"."code_3" END = "class"."birth_date_code"
  AND COALESCE('=' || CAST("source"."sex" AS Nullable(String)), '') = "class"."sex_value"
  AND CASE
    WHEN CAST("source"."marital" AS Nullable(String)) IS NULL
    THEN 0
    ELSE "hierarchy_marital"."code_1"
  END = "class"."marital_code"
WHERE
  "class"."kept"
ORDER BY
  randCanonical();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: the classes in the staged table.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_audit_0"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  COALESCE(SUM("size"), 0) AS "rows",
  CAST(COUNT(*) AS Nullable(Int64)) AS "classes",
  COALESCE(MIN("size"), 0) AS "smallest_class",
  COALESCE(SUM(CASE WHEN "size" < 5 THEN 1 ELSE 0 END), 0) AS "classes_failing_k"
FROM (
  SELECT
    CAST(COUNT(*) AS Nullable(Int64)) AS "size"
  FROM "sqlanon_script_d4d024d0_staged" AS "audited"
  GROUP BY
    CAST("audited"."zip" AS Nullable(String)),
    CAST("audited"."birth_date" AS Nullable(String)),
    CAST("audited"."sex" AS Nullable(String)),
    CAST("audited"."marital" AS Nullable(String))
) AS "classes";

-- Audit: stop unless there are classes and every one has at least 5 rows.
SELECT
  throwIf(
    NOT COALESCE(
      (
        SELECT
          MAX("classes_failing_k") = 0 AND MIN("rows") > 0
        FROM "sqlanon_script_d4d024d0_audit_0"
      ),
      FALSE
    ),
    'sqlanon: the release fails its audit: k'
  ) AS "audit";

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  throwIf(
    NOT COALESCE(
      (
        SELECT
          COALESCE(SUM(CASE WHEN "kept" THEN "n" ELSE 0 END), 0) = (
            SELECT
              CAST(COUNT(*) AS Nullable(Int64))
            FROM "sqlanon_script_d4d024d0_staged"
          )
        FROM "sqlanon_script_d4d024d0_classes"
      ),
      FALSE
    ),
    'sqlanon: the release fails its audit: it has other rows than expected'
  ) AS "audit";

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: one statement puts the release in the place of the old one.
CREATE OR REPLACE TABLE "release_table"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "zip",
  "birth_date",
  "sex",
  "marital",
  "diagnosis",
  "cost"
FROM "sqlanon_script_d4d024d0_staged"
ORDER BY
  randCanonical();

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_audit_0";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_staged";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_classes";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_hierarchy_marital";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_definition_marital";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_hierarchy_birth_date";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_hierarchy_zip";
