-- Release of source_table as release_table, made by sqlanon for postgres.
-- Generalization: zip at level 3, birth_date at level 3, sex at level 0, marital at level 1.
-- Every class of the quasi-identifier has at least 5 rows.
-- At most 2% of the rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error: cat *.sql | psql -v ON_ERROR_STOP=1 -d warehouse
-- Grants, comments and indexes of an existing target are not kept by this script. `sqlanon apply` keeps them.

-- 01_hierarchies.sql: a label for every value and level.

-- One transaction, from here to the end.
BEGIN   ISOLATION LEVEL REPEATABLE READ;
SET LOCAL timezone = 'UTC';
SET LOCAL datestyle = 'ISO, YMD';
SET LOCAL extra_float_digits = 1;

-- Hierarchy of zip: one row per value.
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_0";
CREATE UNLOGGED TABLE "sqlanon_script_hierarchy_0" AS
SELECT
  *
FROM (
  SELECT
    *,
    COUNT(*) OVER (PARTITION BY "value") AS "occurrences"
  FROM (
    WITH "labelled" AS (
      SELECT
        "value",
        CAST("value" AS TEXT) AS "label_0",
        CASE
          WHEN LENGTH(CAST("value" AS TEXT)) <= 5
          THEN SUBSTRING(CAST("value" AS TEXT) FROM 1 FOR 4) || '*'
        END AS "label_1",
        CASE
          WHEN LENGTH(CAST("value" AS TEXT)) <= 5
          THEN SUBSTRING(CAST("value" AS TEXT) FROM 1 FOR 3) || '**'
        END AS "label_2",
        CASE
          WHEN LENGTH(CAST("value" AS TEXT)) <= 5
          THEN SUBSTRING(CAST("value" AS TEXT) FROM 1 FOR 2) || '***'
        END AS "label_3",
        CASE WHEN LENGTH(CAST("value" AS TEXT)) <= 5 THEN CAST('*****' AS TEXT) END AS "label_4"
      FROM (
        SELECT DISTINCT
          CAST("source"."zip" AS TEXT) COLLATE "C" AS "value"
        FROM "source_table" AS "source"
        WHERE
          NOT CAST("source"."zip" AS TEXT) COLLATE "C" IS NULL
      ) AS "domain"
    )
    SELECT
      "value",
      "label_0",
      "label_1",
      "label_2",
      "label_3",
      "label_4",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_0" AS TEXT) COLLATE "C") AS INT) AS "code_0",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_1" AS TEXT) COLLATE "C") AS INT) AS "code_1",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_2" AS TEXT) COLLATE "C") AS INT) AS "code_2",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_3" AS TEXT) COLLATE "C") AS INT) AS "code_3"
    FROM labelled
  ) AS "coded"
) AS "counted"
WHERE
  NOT "value" IS NULL
  AND "occurrences" = 1
  AND NOT "label_1" IS NULL
  AND NOT "label_2" IS NULL
  AND NOT "label_3" IS NULL
  AND NOT "label_4" IS NULL;

-- Hierarchy of birth_date: one row per value.
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_1";
CREATE UNLOGGED TABLE "sqlanon_script_hierarchy_1" AS
SELECT
  *
FROM (
  SELECT
    *,
    COUNT(*) OVER (PARTITION BY "value") AS "occurrences"
  FROM (
    WITH "labelled" AS (
      SELECT
        "value",
        CAST("value" AS TEXT) AS "label_0",
        CASE
          WHEN "value" = CAST('infinity' AS DATE)
          THEN 'infinity'
          WHEN "value" = CAST('-infinity' AS DATE)
          THEN '-infinity'
          WHEN CAST(EXTRACT(YEAR FROM "value") AS INT) >= 1
          THEN LPAD(
            CAST(CAST(EXTRACT(YEAR FROM "value") AS INT) AS TEXT),
            CAST(GREATEST(4, LENGTH(CAST(CAST(EXTRACT(YEAR FROM "value") AS INT) AS TEXT))) AS INT),
            '0'
          ) || '-' || LPAD(
            CAST(CAST(EXTRACT(MONTH FROM "value") AS INT) AS TEXT),
            CAST(GREATEST(2, LENGTH(CAST(CAST(EXTRACT(MONTH FROM "value") AS INT) AS TEXT))) AS INT),
            '0'
          )
        END AS "label_1",
        CASE
          WHEN "value" = CAST('infinity' AS DATE)
          THEN 'infinity'
          WHEN "value" = CAST('-infinity' AS DATE)
          THEN '-infinity'
          WHEN CAST(EXTRACT(YEAR FROM "value") AS INT) >= 1
          THEN LPAD(
            CAST(CAST(EXTRACT(YEAR FROM "value") AS INT) AS TEXT),
            CAST(GREATEST(4, LENGTH(CAST(CAST(EXTRACT(YEAR FROM "value") AS INT) AS TEXT))) AS INT),
            '0'
          )
        END AS "label_2",
        CASE
          WHEN "value" = CAST('infinity' AS DATE)
          THEN 'infinity'
          WHEN "value" = CAST('-infinity' AS DATE)
          THEN '-infinity'
          WHEN CAST(EXTRACT(YEAR FROM "value") AS INT) >= 1
          THEN '[' || LPAD(
            CAST((
              CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 5
            ) AS TEXT),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 5
                ) AS TEXT)
              )
            ) AS INT),
            '0'
          ) || '-' || LPAD(
            CAST((
              (
                CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 5
              ) + 4
            ) AS TEXT),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  (
                    CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 5
                  ) + 4
                ) AS TEXT)
              )
            ) AS INT),
            '0'
          ) || ']'
        END AS "label_3",
        CASE
          WHEN "value" = CAST('infinity' AS DATE)
          THEN 'infinity'
          WHEN "value" = CAST('-infinity' AS DATE)
          THEN '-infinity'
          WHEN CAST(EXTRACT(YEAR FROM "value") AS INT) >= 1
          THEN '[' || LPAD(
            CAST((
              CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 10
            ) AS TEXT),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 10
                ) AS TEXT)
              )
            ) AS INT),
            '0'
          ) || '-' || LPAD(
            CAST((
              (
                CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 10
              ) + 9
            ) AS TEXT),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  (
                    CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 10
                  ) + 9
                ) AS TEXT)
              )
            ) AS INT),
            '0'
          ) || ']'
        END AS "label_4",
        CASE
          WHEN "value" = CAST('infinity' AS DATE)
          THEN 'infinity'
          WHEN "value" = CAST('-infinity' AS DATE)
          THEN '-infinity'
          WHEN CAST(EXTRACT(YEAR FROM "value") AS INT) >= 1
          THEN '[' || LPAD(
            CAST((
              CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 20
            ) AS TEXT),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 20
                ) AS TEXT)
              )
            ) AS INT),
            '0'
          ) || '-' || LPAD(
            CAST((
              (
                CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 20
              ) + 19
            ) AS TEXT),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  (
                    CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 20
                  ) + 19
                ) AS TEXT)
              )
            ) AS INT),
            '0'
          ) || ']'
        END AS "label_5",
        CAST('*' AS TEXT) AS "label_6"
      FROM (
        SELECT DISTINCT
          "source"."birth_date" AS "value"
        FROM "source_table" AS "source"
        WHERE
          NOT "source"."birth_date" IS NULL
      ) AS "domain"
    )
    SELECT
      "value",
      "label_0",
      "label_1",
      "label_2",
      "label_3",
      "label_4",
      "label_5",
      "label_6",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_0" AS TEXT) COLLATE "C") AS INT) AS "code_0",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_1" AS TEXT) COLLATE "C") AS INT) AS "code_1",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_2" AS TEXT) COLLATE "C") AS INT) AS "code_2",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_3" AS TEXT) COLLATE "C") AS INT) AS "code_3",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_4" AS TEXT) COLLATE "C") AS INT) AS "code_4",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_5" AS TEXT) COLLATE "C") AS INT) AS "code_5"
    FROM labelled
  ) AS "coded"
) AS "counted"
WHERE
  NOT "value" IS NULL
  AND "occurrences" = 1
  AND NOT "label_1" IS NULL
  AND NOT "label_2" IS NULL
  AND NOT "label_3" IS NULL
  AND NOT "label_4" IS NULL
  AND NOT "label_5" IS NULL
  AND NOT "label_6" IS NULL;

-- Definition of the hierarchy of sex, level 0 first.
DROP TABLE IF EXISTS "sqlanon_script_definition_2";
CREATE UNLOGGED TABLE "sqlanon_script_definition_2" (
  "label_0" TEXT,
  "label_1" TEXT
);
INSERT INTO "sqlanon_script_definition_2"
VALUES
  ('female', 'person'),
  ('male', 'person');

-- Hierarchy of sex: one row per value.
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_2";
CREATE UNLOGGED TABLE "sqlanon_script_hierarchy_2" AS
SELECT
  *
FROM (
  SELECT
    *,
    COUNT(*) OVER (PARTITION BY "value") AS "occurrences"
  FROM (
    WITH "labelled" AS (
      SELECT
        "domain"."value",
        COALESCE("listed"."label_0", CAST("value" AS TEXT)) AS "label_0",
        "listed"."label_1" AS "label_1"
      FROM (
        SELECT DISTINCT
          "label_0",
          "label_1"
        FROM "sqlanon_script_definition_2"
      ) AS "listed"
      FULL OUTER JOIN (
        SELECT DISTINCT
          CAST("source"."sex" AS TEXT) COLLATE "C" AS "value"
        FROM "source_table" AS "source"
        WHERE
          NOT CAST("source"."sex" AS TEXT) COLLATE "C" IS NULL
      ) AS "domain"
        ON CAST("value" AS TEXT) = "listed"."label_0"
    )
    SELECT
      "value",
      "label_0",
      "label_1",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_0" AS TEXT) COLLATE "C") AS INT) AS "code_0"
    FROM labelled
  ) AS "coded"
) AS "counted"
WHERE
  NOT "value" IS NULL AND "occurrences" = 1 AND NOT "label_1" IS NULL;

-- Definition of the hierarchy of marital, level 0 first.
DROP TABLE IF EXISTS "sqlanon_script_definition_3";
CREATE UNLOGGED TABLE "sqlanon_script_definition_3" (
  "label_0" TEXT,
  "label_1" TEXT
);
INSERT INTO "sqlanon_script_definition_3"
VALUES
  ('married', 'been_married'),
  ('divorced', 'been_married'),
  ('widowed', 'been_married'),
  ('single', 'never_married');

-- Hierarchy of marital: one row per value.
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_3";
CREATE UNLOGGED TABLE "sqlanon_script_hierarchy_3" AS
SELECT
  *
FROM (
  SELECT
    *,
    COUNT(*) OVER (PARTITION BY "value") AS "occurrences"
  FROM (
    WITH "labelled" AS (
      SELECT
        "domain"."value",
        COALESCE("listed"."label_0", CAST("value" AS TEXT)) AS "label_0",
        "listed"."label_1" AS "label_1",
        CASE WHEN NOT "listed"."label_0" IS NULL THEN '*' END AS "label_2"
      FROM (
        SELECT DISTINCT
          "label_0",
          "label_1"
        FROM "sqlanon_script_definition_3"
      ) AS "listed"
      FULL OUTER JOIN (
        SELECT DISTINCT
          CAST("source"."marital" AS TEXT) COLLATE "C" AS "value"
        FROM "source_table" AS "source"
        WHERE
          NOT CAST("source"."marital" AS TEXT) COLLATE "C" IS NULL
      ) AS "domain"
        ON CAST("value" AS TEXT) = "listed"."label_0"
    )
    SELECT
      "value",
      "label_0",
      "label_1",
      "label_2",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_0" AS TEXT) COLLATE "C") AS INT) AS "code_0",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_1" AS TEXT) COLLATE "C") AS INT) AS "code_1"
    FROM labelled
  ) AS "coded"
) AS "counted"
WHERE
  NOT "value" IS NULL
  AND "occurrences" = 1
  AND NOT "label_1" IS NULL
  AND NOT "label_2" IS NULL;

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The frequency set: every row of the source, counted by the generalized quasi-identifier.
DROP TABLE IF EXISTS "sqlanon_script_counted";
CREATE UNLOGGED TABLE "sqlanon_script_counted" AS
SELECT
  COALESCE(
    CASE
      WHEN CAST("source"."zip" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "h_0"."code_3"
    END,
    -1
  ) AS "k_0",
  COALESCE(CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "h_1"."code_3" END, -1) AS "k_1",
  COALESCE(
    CASE
      WHEN CAST("source"."sex" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "h_2"."code_0"
    END,
    -1
  ) AS "k_2",
  COALESCE(
    CASE
      WHEN CAST("source"."marital" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "h_3"."code_1"
    END,
    -1
  ) AS "k_3",
  COUNT(*) AS "n"
FROM "source_table" AS "source"
LEFT JOIN "sqlanon_script_hierarchy_0" AS "h_0"
  ON CAST("source"."zip" AS TEXT) COLLATE "C" = "h_0"."value"
LEFT JOIN "sqlanon_script_hierarchy_1" AS "h_1"
  ON "source"."birth_date" = "h_1"."value"
LEFT JOIN "sqlanon_script_hierarchy_2" AS "h_2"
  ON CAST("source"."sex" AS TEXT) COLLATE "C" = "h_2"."value"
LEFT JOIN "sqlanon_script_hierarchy_3" AS "h_3"
  ON CAST("source"."marital" AS TEXT) COLLATE "C" = "h_3"."value"
GROUP BY
  COALESCE(
    CASE
      WHEN CAST("source"."zip" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "h_0"."code_3"
    END,
    -1
  ),
  COALESCE(CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "h_1"."code_3" END, -1),
  COALESCE(
    CASE
      WHEN CAST("source"."sex" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "h_2"."code_0"
    END,
    -1
  ),
  COALESCE(
    CASE
      WHEN CAST("source"."marital" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "h_3"."code_1"
    END,
    -1
  );

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- The classes of the generalized quasi-identifier, each with its verdict.
DROP TABLE IF EXISTS "sqlanon_script_classes";
CREATE UNLOGGED TABLE "sqlanon_script_classes" AS
SELECT
  NULLIF("k_0", -1) AS "k_0",
  NULLIF("k_1", -1) AS "k_1",
  NULLIF("k_2", -1) AS "k_2",
  NULLIF("k_3", -1) AS "k_3",
  "n",
  "n" >= 5 AS "kept"
FROM (
  SELECT
    "k_0" AS "k_0",
    "k_1" AS "k_1",
    "k_2" AS "k_2",
    "k_3" AS "k_3",
    SUM("n") AS "n"
  FROM "sqlanon_script_counted" AS "counted"
  GROUP BY
    "k_0",
    "k_1",
    "k_2",
    "k_3"
) AS "classes";

-- Stop if a value lies outside its hierarchy.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        (
          SELECT
            COUNT(*)
          FROM "sqlanon_script_classes"
          WHERE
            "k_0" IS NULL OR "k_1" IS NULL OR "k_2" IS NULL OR "k_3" IS NULL
        ) = 0
    )
    THEN '1'
    ELSE 'sqlanon: a value lies outside its hierarchy'
  END AS INT) AS "audit";

-- Stop if more than 2% of the rows would be suppressed.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        COALESCE(SUM(CASE WHEN NOT "kept" THEN "n" ELSE 0 END), 0) * 50 <= COALESCE(SUM("n"), 0) * 1
      FROM "sqlanon_script_classes"
    )
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS "audit";

-- The release, in no order that tells of the source.
DROP TABLE IF EXISTS "sqlanon_script_staging";
CREATE TABLE "sqlanon_script_staging" AS
SELECT
  "h_0"."label_3" AS "zip",
  "h_1"."label_3" AS "birth_date",
  "source"."sex" AS "sex",
  "h_3"."label_1" AS "marital",
  "source"."diagnosis",
  "source"."cost"
FROM "source_table" AS "source"
LEFT JOIN "sqlanon_script_hierarchy_0" AS "h_0"
  ON CAST("source"."zip" AS TEXT) COLLATE "C" = "h_0"."value"
LEFT JOIN "sqlanon_script_hierarchy_1" AS "h_1"
  ON "source"."birth_date" = "h_1"."value"
LEFT JOIN "sqlanon_script_hierarchy_2" AS "h_2"
  ON CAST("source"."sex" AS TEXT) COLLATE "C" = "h_2"."value"
LEFT JOIN "sqlanon_script_hierarchy_3" AS "h_3"
  ON CAST("source"."marital" AS TEXT) COLLATE "C" = "h_3"."value"
JOIN "sqlanon_script_classes" AS "class"
  ON CASE
    WHEN CAST("source"."zip" AS TEXT) COLLATE "C" IS NULL
    THEN 0
    ELSE "h_0"."code_3"
  END = "class"."k_0"
  AND CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "h_1"."code_3" END = "class"."k_1"
  AND CASE
    WHEN CAST("source"."sex" AS TEXT) COLLATE "C" IS NULL
    THEN 0
    ELSE "h_2"."code_0"
  END = "class"."k_2"
  AND CASE
    WHEN CAST("source"."marital" AS TEXT) COLLATE "C" IS NULL
    THEN 0
    ELSE "h_3"."code_1"
  END = "class"."k_3"
WHERE
  "class"."kept"
ORDER BY
  RANDOM();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: the classes in the staged table.
DROP TABLE IF EXISTS "sqlanon_script_audit_0";
CREATE UNLOGGED TABLE "sqlanon_script_audit_0" AS
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
    CAST("audited"."zip" AS TEXT) COLLATE "C",
    CAST("audited"."birth_date" AS TEXT) COLLATE "C",
    CAST("audited"."sex" AS TEXT) COLLATE "C",
    CAST("audited"."marital" AS TEXT) COLLATE "C"
) AS "classes";

-- Audit: stop unless there are classes and every one has at least 5 rows.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        "classes_failing_k" = 0 AND "rows" > 0
      FROM "sqlanon_script_audit_0"
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INT) AS "audit";

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        (
          SELECT
            COUNT(*)
          FROM "sqlanon_script_staging" AS "audited"
        ) = (
          SELECT
            COALESCE(SUM(CASE WHEN "kept" THEN "n" ELSE 0 END), 0)
          FROM "sqlanon_script_classes"
        )
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INT) AS "audit";

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
DROP TABLE IF EXISTS "sqlanon_script_counted";
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_3";
DROP TABLE IF EXISTS "sqlanon_script_definition_3";
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_2";
DROP TABLE IF EXISTS "sqlanon_script_definition_2";
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_1";
DROP TABLE IF EXISTS "sqlanon_script_hierarchy_0";

-- The end of the transaction.
COMMIT;
