-- Release of source_table as release_table, made by sqlanon for snowflake.
-- Generalization: zip at level 3, birth_date at level 3, sex at level 0, marital at level 1.
-- Every class of the quasi-identifier has at least 5 rows.
-- At most 2% of the rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error: cat *.sql | snowsql -o exit_on_error=true
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value and level.

-- The session.
ALTER SESSION
SET timezone = 'UTC';

-- Hierarchy of zip: one row per value.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_HIERARCHY_0" AS
SELECT
  *
FROM (
  SELECT
    *,
    COUNT(*) OVER (PARTITION BY "VALUE") AS "OCCURRENCES"
  FROM (
    WITH "LABELLED" AS (
      SELECT
        "VALUE",
        CAST("VALUE" AS VARCHAR) AS "LABEL_0",
        CASE
          WHEN LENGTH(CAST("VALUE" AS VARCHAR)) <= 5
          THEN SUBSTRING(CAST("VALUE" AS VARCHAR), 1, 4) || '*'
        END AS "LABEL_1",
        CASE
          WHEN LENGTH(CAST("VALUE" AS VARCHAR)) <= 5
          THEN SUBSTRING(CAST("VALUE" AS VARCHAR), 1, 3) || '**'
        END AS "LABEL_2",
        CASE
          WHEN LENGTH(CAST("VALUE" AS VARCHAR)) <= 5
          THEN SUBSTRING(CAST("VALUE" AS VARCHAR), 1, 2) || '***'
        END AS "LABEL_3",
        CASE WHEN LENGTH(CAST("VALUE" AS VARCHAR)) <= 5 THEN CAST('*****' AS VARCHAR) END AS "LABEL_4"
      FROM (
        SELECT DISTINCT
          COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') AS "VALUE"
        FROM "SOURCE_TABLE" AS "SOURCE"
        WHERE
          NOT COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
      ) AS "DOMAIN"
    )
    SELECT
      "VALUE",
      "LABEL_0",
      "LABEL_1",
      "LABEL_2",
      "LABEL_3",
      "LABEL_4",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_0" AS VARCHAR), 'utf8')) AS INT) AS "CODE_0",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_1" AS VARCHAR), 'utf8')) AS INT) AS "CODE_1",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_2" AS VARCHAR), 'utf8')) AS INT) AS "CODE_2",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_3" AS VARCHAR), 'utf8')) AS INT) AS "CODE_3"
    FROM labelled
  ) AS "CODED"
) AS "COUNTED"
WHERE
  NOT "VALUE" IS NULL
  AND "OCCURRENCES" = 1
  AND NOT "LABEL_1" IS NULL
  AND NOT "LABEL_2" IS NULL
  AND NOT "LABEL_3" IS NULL
  AND NOT "LABEL_4" IS NULL;

-- Hierarchy of birth_date: one row per value.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_HIERARCHY_1" AS
SELECT
  *
FROM (
  SELECT
    *,
    COUNT(*) OVER (PARTITION BY "VALUE") AS "OCCURRENCES"
  FROM (
    WITH "LABELLED" AS (
      SELECT
        "VALUE",
        CAST("VALUE" AS VARCHAR) AS "LABEL_0",
        CASE
          WHEN CAST(DATE_PART(YEAR, "VALUE") AS INT) >= 1
          THEN LPAD(
            CAST(CAST(DATE_PART(YEAR, "VALUE") AS INT) AS VARCHAR),
            CAST(GREATEST(4, LENGTH(CAST(CAST(DATE_PART(YEAR, "VALUE") AS INT) AS VARCHAR))) AS INT),
            '0'
          ) || '-' || LPAD(
            CAST(CAST(DATE_PART(MONTH, "VALUE") AS INT) AS VARCHAR),
            CAST(GREATEST(2, LENGTH(CAST(CAST(DATE_PART(MONTH, "VALUE") AS INT) AS VARCHAR))) AS INT),
            '0'
          )
        END AS "LABEL_1",
        CASE
          WHEN CAST(DATE_PART(YEAR, "VALUE") AS INT) >= 1
          THEN LPAD(
            CAST(CAST(DATE_PART(YEAR, "VALUE") AS INT) AS VARCHAR),
            CAST(GREATEST(4, LENGTH(CAST(CAST(DATE_PART(YEAR, "VALUE") AS INT) AS VARCHAR))) AS INT),
            '0'
          )
        END AS "LABEL_2",
        CASE
          WHEN CAST(DATE_PART(YEAR, "VALUE") AS INT) >= 1
          THEN '[' || LPAD(
            CAST((
              CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5
            ) AS VARCHAR),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5
                ) AS VARCHAR)
              )
            ) AS INT),
            '0'
          ) || '-' || LPAD(
            CAST((
              (
                CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5
              ) + 4
            ) AS VARCHAR),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  (
                    CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 5
                  ) + 4
                ) AS VARCHAR)
              )
            ) AS INT),
            '0'
          ) || ']'
        END AS "LABEL_3",
        CASE
          WHEN CAST(DATE_PART(YEAR, "VALUE") AS INT) >= 1
          THEN '[' || LPAD(
            CAST((
              CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 10
            ) AS VARCHAR),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 10
                ) AS VARCHAR)
              )
            ) AS INT),
            '0'
          ) || '-' || LPAD(
            CAST((
              (
                CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 10
              ) + 9
            ) AS VARCHAR),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  (
                    CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 10
                  ) + 9
                ) AS VARCHAR)
              )
            ) AS INT),
            '0'
          ) || ']'
        END AS "LABEL_4",
        CASE
          WHEN CAST(DATE_PART(YEAR, "VALUE") AS INT) >= 1
          THEN '[' || LPAD(
            CAST((
              CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 20
            ) AS VARCHAR),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 20
                ) AS VARCHAR)
              )
            ) AS INT),
            '0'
          ) || '-' || LPAD(
            CAST((
              (
                CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 20
              ) + 19
            ) AS VARCHAR),
            CAST(GREATEST(
              4,
              LENGTH(
                CAST((
                  (
                    CAST(DATE_PART(YEAR, "VALUE") AS INT) - CAST(DATE_PART(YEAR, "VALUE") AS INT) % 20
                  ) + 19
                ) AS VARCHAR)
              )
            ) AS INT),
            '0'
          ) || ']'
        END AS "LABEL_5",
        CAST('*' AS VARCHAR) AS "LABEL_6"
      FROM (
        SELECT DISTINCT
          "SOURCE"."BIRTH_DATE" AS "VALUE"
        FROM "SOURCE_TABLE" AS "SOURCE"
        WHERE
          NOT "SOURCE"."BIRTH_DATE" IS NULL
      ) AS "DOMAIN"
    )
    SELECT
      "VALUE",
      "LABEL_0",
      "LABEL_1",
      "LABEL_2",
      "LABEL_3",
      "LABEL_4",
      "LABEL_5",
      "LABEL_6",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_0" AS VARCHAR), 'utf8')) AS INT) AS "CODE_0",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_1" AS VARCHAR), 'utf8')) AS INT) AS "CODE_1",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_2" AS VARCHAR), 'utf8')) AS INT) AS "CODE_2",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_3" AS VARCHAR), 'utf8')) AS INT) AS "CODE_3",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_4" AS VARCHAR), 'utf8')) AS INT) AS "CODE_4",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_5" AS VARCHAR), 'utf8')) AS INT) AS "CODE_5"
    FROM labelled
  ) AS "CODED"
) AS "COUNTED"
WHERE
  NOT "VALUE" IS NULL
  AND "OCCURRENCES" = 1
  AND NOT "LABEL_1" IS NULL
  AND NOT "LABEL_2" IS NULL
  AND NOT "LABEL_3" IS NULL
  AND NOT "LABEL_4" IS NULL
  AND NOT "LABEL_5" IS NULL
  AND NOT "LABEL_6" IS NULL;

-- Definition of the hierarchy of sex, level 0 first.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_DEFINITION_2" (
  "LABEL_0" VARCHAR,
  "LABEL_1" VARCHAR
);
INSERT INTO "SQLANON_SCRIPT_D4D024D0_DEFINITION_2"
VALUES
  ('female', 'person'),
  ('male', 'person');

-- Hierarchy of sex: one row per value.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_HIERARCHY_2" AS
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
        "LISTED"."LABEL_1" AS "LABEL_1"
      FROM (
        SELECT DISTINCT
          "LABEL_0",
          "LABEL_1"
        FROM "SQLANON_SCRIPT_D4D024D0_DEFINITION_2"
      ) AS "LISTED"
      FULL OUTER JOIN (
        SELECT DISTINCT
          COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8') AS "VALUE"
        FROM "SOURCE_TABLE" AS "SOURCE"
        WHERE
          NOT COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8') IS NULL
      ) AS "DOMAIN"
        ON CAST("VALUE" AS VARCHAR) = "LISTED"."LABEL_0"
    )
    SELECT
      "VALUE",
      "LABEL_0",
      "LABEL_1",
      CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_0" AS VARCHAR), 'utf8')) AS INT) AS "CODE_0"
    FROM labelled
  ) AS "CODED"
) AS "COUNTED"
WHERE
  NOT "VALUE" IS NULL AND "OCCURRENCES" = 1 AND NOT "LABEL_1" IS NULL;

-- Definition of the hierarchy of marital, level 0 first.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_DEFINITION_3" (
  "LABEL_0" VARCHAR,
  "LABEL_1" VARCHAR
);
INSERT INTO "SQLANON_SCRIPT_D4D024D0_DEFINITION_3"
VALUES
  ('married', 'been_married'),
  ('divorced', 'been_married'),
  ('widowed', 'been_married'),
  ('single', 'never_married');

-- Hierarchy of marital: one row per value.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_HIERARCHY_3" AS
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
        CASE WHEN NOT "LISTED"."LABEL_0" IS NULL THEN '*' END AS "LABEL_2"
      FROM (
        SELECT DISTINCT
          "LABEL_0",
          "LABEL_1"
        FROM "SQLANON_SCRIPT_D4D024D0_DEFINITION_3"
      ) AS "LISTED"
      FULL OUTER JOIN (
        SELECT DISTINCT
          COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') AS "VALUE"
        FROM "SOURCE_TABLE" AS "SOURCE"
        WHERE
          NOT COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') IS NULL
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
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_COUNTED" AS
SELECT
  COALESCE(
    CASE
      WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "H_0"."CODE_3"
    END,
    -1
  ) AS "K_0",
  COALESCE(CASE WHEN "SOURCE"."BIRTH_DATE" IS NULL THEN 0 ELSE "H_1"."CODE_3" END, -1) AS "K_1",
  COALESCE(
    CASE
      WHEN COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "H_2"."CODE_0"
    END,
    -1
  ) AS "K_2",
  COALESCE(
    CASE
      WHEN COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "H_3"."CODE_1"
    END,
    -1
  ) AS "K_3",
  COUNT(*) AS "N"
FROM "SOURCE_TABLE" AS "SOURCE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_0" AS "H_0"
  ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "H_0"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_1" AS "H_1"
  ON "SOURCE"."BIRTH_DATE" = "H_1"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_2" AS "H_2"
  ON COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8') = "H_2"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_3" AS "H_3"
  ON COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') = "H_3"."VALUE"
GROUP BY
  COALESCE(
    CASE
      WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "H_0"."CODE_3"
    END,
    -1
  ),
  COALESCE(CASE WHEN "SOURCE"."BIRTH_DATE" IS NULL THEN 0 ELSE "H_1"."CODE_3" END, -1),
  COALESCE(
    CASE
      WHEN COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "H_2"."CODE_0"
    END,
    -1
  ),
  COALESCE(
    CASE
      WHEN COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "H_3"."CODE_1"
    END,
    -1
  );

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_CLASSES" AS
SELECT
  NULLIF("K_0", -1) AS "K_0",
  NULLIF("K_1", -1) AS "K_1",
  NULLIF("K_2", -1) AS "K_2",
  NULLIF("K_3", -1) AS "K_3",
  "N",
  "N" >= 5 AS "KEPT"
FROM (
  SELECT
    "K_0" AS "K_0",
    "K_1" AS "K_1",
    "K_2" AS "K_2",
    "K_3" AS "K_3",
    SUM("N") AS "N"
  FROM "SQLANON_SCRIPT_D4D024D0_COUNTED" AS "COUNTED"
  GROUP BY
    "K_0",
    "K_1",
    "K_2",
    "K_3"
) AS "CLASSES";

-- Stop if a value lies outside its hierarchy.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        (
          SELECT
            COUNT(*)
          FROM "SQLANON_SCRIPT_D4D024D0_CLASSES"
          WHERE
            "K_0" IS NULL OR "K_1" IS NULL OR "K_2" IS NULL OR "K_3" IS NULL
        ) = 0
    )
    THEN '1'
    ELSE 'sqlanon: a value lies outside its hierarchy'
  END AS INT) AS "AUDIT";

-- Stop if more than 2% of the rows would be suppressed.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        COALESCE(SUM(CASE WHEN NOT "KEPT" THEN "N" ELSE 0 END), 0) * 50 <= COALESCE(SUM("N"), 0) * 1
      FROM "SQLANON_SCRIPT_D4D024D0_CLASSES"
    )
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS "AUDIT";

-- The release, in no order that tells of the source.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_D4D024D0_STAGED" AS
SELECT
  "H_0"."LABEL_3" AS "ZIP",
  "H_1"."LABEL_3" AS "BIRTH_DATE",
  "SOURCE"."SEX" AS "SEX",
  "H_3"."LABEL_1" AS "MARITAL",
  "SOURCE"."DIAGNOSIS",
  "SOURCE"."COST"
FROM "SOURCE_TABLE" AS "SOURCE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_0" AS "H_0"
  ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "H_0"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_1" AS "H_1"
  ON "SOURCE"."BIRTH_DATE" = "H_1"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_2" AS "H_2"
  ON COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8') = "H_2"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_D4D024D0_HIERARCHY_3" AS "H_3"
  ON COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') = "H_3"."VALUE"
JOIN "SQLANON_SCRIPT_D4D024D0_CLASSES" AS "CLASS"
  ON CASE
    WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
    THEN 0
    ELSE "H_0"."CODE_3"
  END = "CLASS"."K_0"
  AND CASE WHEN "SOURCE"."BIRTH_DATE" IS NULL THEN 0 ELSE "H_1"."CODE_3" END = "CLASS"."K_1"
  AND CASE
    WHEN COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8') IS NULL
    THEN 0
    ELSE "H_2"."CODE_0"
  END = "CLASS"."K_2"
  AND CASE
    WHEN COLLATE(CAST("SOURCE"."MARITAL" AS VARCHAR), 'utf8') IS NULL
    THEN 0
    ELSE "H_3"."CODE_1"
  END = "CLASS"."K_3"
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
    WHEN (
      SELECT
        "CLASSES_FAILING_K" = 0 AND "ROWS" > 0
      FROM "SQLANON_SCRIPT_D4D024D0_AUDIT_0"
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
          FROM "SQLANON_SCRIPT_D4D024D0_STAGED" AS "AUDITED"
        ) = (
          SELECT
            COALESCE(SUM(CASE WHEN "KEPT" THEN "N" ELSE 0 END), 0)
          FROM "SQLANON_SCRIPT_D4D024D0_CLASSES"
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
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_COUNTED";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_HIERARCHY_3";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_DEFINITION_3";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_HIERARCHY_2";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_DEFINITION_2";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_HIERARCHY_1";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_D4D024D0_HIERARCHY_0";
