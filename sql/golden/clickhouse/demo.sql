-- Release of source_table as release_table, made by sqlanon for clickhouse.
-- Generalization: zip at level 3, birth_date at level 3, sex at level 0, marital at level 1.
-- Every class of the quasi-identifier has at least 5 rows.
-- At most 2% of the rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error: cat *.sql | clickhouse-client --multiquery
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- Grants, comments and indexes of an existing target are not kept by this script.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value and level.

-- The session.
SET join_use_nulls = 1;
SET aggregate_functions_null_for_empty = 1;
SET prefer_column_name_to_alias = 1;

-- Hierarchy of zip: one row per value.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_hierarchy_0"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  *
FROM (
  SELECT
    *,
    CAST(COUNT(*) OVER (PARTITION BY "value") AS Nullable(Int64)) AS "occurrences"
  FROM (
    WITH "labelled" AS (
      SELECT
        "value",
        CAST("value" AS Nullable(String)) AS "label_0",
        CASE
          WHEN CHAR_LENGTH(CAST("value" AS Nullable(String))) <= 5
          THEN SUBSTRING(CAST("value" AS Nullable(String)), 1, 4) || '*'
        END AS "label_1",
        CASE
          WHEN CHAR_LENGTH(CAST("value" AS Nullable(String))) <= 5
          THEN SUBSTRING(CAST("value" AS Nullable(String)), 1, 3) || '**'
        END AS "label_2",
        CASE
          WHEN CHAR_LENGTH(CAST("value" AS Nullable(String))) <= 5
          THEN SUBSTRING(CAST("value" AS Nullable(String)), 1, 2) || '***'
        END AS "label_3",
        CASE
          WHEN CHAR_LENGTH(CAST("value" AS Nullable(String))) <= 5
          THEN CAST('*****' AS Nullable(String))
        END AS "label_4"
      FROM (
        SELECT DISTINCT
          CAST("source"."zip" AS Nullable(String)) AS "value"
        FROM "source_table" AS "source"
        WHERE
          NOT (
            CAST("source"."zip" AS Nullable(String)) IS NULL
          )
      ) AS "domain"
    )
    SELECT
      "value",
      "label_0",
      "label_1",
      "label_2",
      "label_3",
      "label_4",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_0" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_0",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_1" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_1",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_2" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_2",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_3" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_3"
    FROM labelled
  ) AS "coded"
) AS "counted"
WHERE
  NOT (
    "value" IS NULL
  )
  AND "occurrences" = 1
  AND NOT (
    "label_1" IS NULL
  )
  AND NOT (
    "label_2" IS NULL
  )
  AND NOT (
    "label_3" IS NULL
  )
  AND NOT (
    "label_4" IS NULL
  );

-- Hierarchy of birth_date: one row per value.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_hierarchy_1"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  *
FROM (
  SELECT
    *,
    CAST(COUNT(*) OVER (PARTITION BY "value") AS Nullable(Int64)) AS "occurrences"
  FROM (
    WITH "labelled" AS (
      SELECT
        "value",
        CAST("value" AS Nullable(String)) AS "label_0",
        CASE
          WHEN CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) >= 1
          THEN LPAD(
            CAST(CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) AS Nullable(String)),
            CAST(GREATEST(
              4,
              CHAR_LENGTH(CAST(CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) AS Nullable(String)))
            ) AS Nullable(Int32)),
            '0'
          ) || '-' || LPAD(
            CAST(CAST(EXTRACT(MONTH FROM "value") AS Nullable(Int32)) AS Nullable(String)),
            CAST(GREATEST(
              2,
              CHAR_LENGTH(CAST(CAST(EXTRACT(MONTH FROM "value") AS Nullable(Int32)) AS Nullable(String)))
            ) AS Nullable(Int32)),
            '0'
          )
        END AS "label_1",
        CASE
          WHEN CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) >= 1
          THEN LPAD(
            CAST(CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) AS Nullable(String)),
            CAST(GREATEST(
              4,
              CHAR_LENGTH(CAST(CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) AS Nullable(String)))
            ) AS Nullable(Int32)),
            '0'
          )
        END AS "label_2",
        CASE
          WHEN CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) >= 1
          THEN '[' || LPAD(
            CAST((
              CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5
            ) AS Nullable(String)),
            CAST(GREATEST(
              4,
              CHAR_LENGTH(
                CAST((
                  CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5
                ) AS Nullable(String))
              )
            ) AS Nullable(Int32)),
            '0'
          ) || '-' || LPAD(
            CAST((
              (
                CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5
              ) + 4
            ) AS Nullable(String)),
            CAST(GREATEST(
              4,
              CHAR_LENGTH(
                CAST((
                  (
                    CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 5
                  ) + 4
                ) AS Nullable(String))
              )
            ) AS Nullable(Int32)),
            '0'
          ) || ']'
        END AS "label_3",
        CASE
          WHEN CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) >= 1
          THEN '[' || LPAD(
            CAST((
              CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 10
            ) AS Nullable(String)),
            CAST(GREATEST(
              4,
              CHAR_LENGTH(
                CAST((
                  CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 10
                ) AS Nullable(String))
              )
            ) AS Nullable(Int32)),
            '0'
          ) || '-' || LPAD(
            CAST((
              (
                CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 10
              ) + 9
            ) AS Nullable(String)),
            CAST(GREATEST(
              4,
              CHAR_LENGTH(
                CAST((
                  (
                    CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 10
                  ) + 9
                ) AS Nullable(String))
              )
            ) AS Nullable(Int32)),
            '0'
          ) || ']'
        END AS "label_4",
        CASE
          WHEN CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) >= 1
          THEN '[' || LPAD(
            CAST((
              CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 20
            ) AS Nullable(String)),
            CAST(GREATEST(
              4,
              CHAR_LENGTH(
                CAST((
                  CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 20
                ) AS Nullable(String))
              )
            ) AS Nullable(Int32)),
            '0'
          ) || '-' || LPAD(
            CAST((
              (
                CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 20
              ) + 19
            ) AS Nullable(String)),
            CAST(GREATEST(
              4,
              CHAR_LENGTH(
                CAST((
                  (
                    CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) - CAST(EXTRACT(YEAR FROM "value") AS Nullable(Int32)) % 20
                  ) + 19
                ) AS Nullable(String))
              )
            ) AS Nullable(Int32)),
            '0'
          ) || ']'
        END AS "label_5",
        CAST('*' AS Nullable(String)) AS "label_6"
      FROM (
        SELECT DISTINCT
          "source"."birth_date" AS "value"
        FROM "source_table" AS "source"
        WHERE
          NOT (
            "source"."birth_date" IS NULL
          )
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
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_0" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_0",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_1" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_1",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_2" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_2",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_3" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_3",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_4" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_4",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_5" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_5"
    FROM labelled
  ) AS "coded"
) AS "counted"
WHERE
  NOT (
    "value" IS NULL
  )
  AND "occurrences" = 1
  AND NOT (
    "label_1" IS NULL
  )
  AND NOT (
    "label_2" IS NULL
  )
  AND NOT (
    "label_3" IS NULL
  )
  AND NOT (
    "label_4" IS NULL
  )
  AND NOT (
    "label_5" IS NULL
  )
  AND NOT (
    "label_6" IS NULL
  );

-- Definition of the hierarchy of sex, level 0 first.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_definition_2" (
  "label_0" Nullable(String),
  "label_1" Nullable(String)
)
ENGINE=MergeTree
ORDER BY tuple();
INSERT INTO "sqlanon_script_d4d024d0_definition_2"
VALUES
  ('female', 'person'),
  ('male', 'person');

-- Hierarchy of sex: one row per value.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_hierarchy_2"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  *
FROM (
  SELECT
    *,
    CAST(COUNT(*) OVER (PARTITION BY "value") AS Nullable(Int64)) AS "occurrences"
  FROM (
    WITH "labelled" AS (
      SELECT
        "domain"."value" AS "value",
        COALESCE("listed"."label_0", CAST("value" AS Nullable(String))) AS "label_0",
        "listed"."label_1" AS "label_1"
      FROM (
        SELECT DISTINCT
          "label_0",
          "label_1"
        FROM "sqlanon_script_d4d024d0_definition_2"
      ) AS "listed"
      FULL OUTER JOIN (
        SELECT DISTINCT
          CAST("source"."sex" AS Nullable(String)) AS "value"
        FROM "source_table" AS "source"
        WHERE
          NOT (
            CAST("source"."sex" AS Nullable(String)) IS NULL
          )
      ) AS "domain"
        ON CAST("value" AS Nullable(String)) = "listed"."label_0"
    )
    SELECT
      "value",
      "label_0",
      "label_1",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_0" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_0"
    FROM labelled
  ) AS "coded"
) AS "counted"
WHERE
  NOT (
    "value" IS NULL
  ) AND "occurrences" = 1 AND NOT (
    "label_1" IS NULL
  );

-- Definition of the hierarchy of marital, level 0 first.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_definition_3" (
  "label_0" Nullable(String),
  "label_1" Nullable(String)
)
ENGINE=MergeTree
ORDER BY tuple();
INSERT INTO "sqlanon_script_d4d024d0_definition_3"
VALUES
  ('married', 'been_married'),
  ('divorced', 'been_married'),
  ('widowed', 'been_married'),
  ('single', 'never_married');

-- Hierarchy of marital: one row per value.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_hierarchy_3"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  *
FROM (
  SELECT
    *,
    CAST(COUNT(*) OVER (PARTITION BY "value") AS Nullable(Int64)) AS "occurrences"
  FROM (
    WITH "labelled" AS (
      SELECT
        "domain"."value" AS "value",
        COALESCE("listed"."label_0", CAST("value" AS Nullable(String))) AS "label_0",
        "listed"."label_1" AS "label_1",
        CASE WHEN NOT (
          "listed"."label_0" IS NULL
        ) THEN '*' END AS "label_2"
      FROM (
        SELECT DISTINCT
          "label_0",
          "label_1"
        FROM "sqlanon_script_d4d024d0_definition_3"
      ) AS "listed"
      FULL OUTER JOIN (
        SELECT DISTINCT
          CAST("source"."marital" AS Nullable(String)) AS "value"
        FROM "source_table" AS "source"
        WHERE
          NOT (
            CAST("source"."marital" AS Nullable(String)) IS NULL
          )
      ) AS "domain"
        ON CAST("value" AS Nullable(String)) = "listed"."label_0"
    )
    SELECT
      "value",
      "label_0",
      "label_1",
      "label_2",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_0" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_0",
      CAST(CAST(DENSE_RANK() OVER (ORDER BY CAST("label_1" AS Nullable(String))) AS Nullable(Int64)) AS Nullable(Int32)) AS "code_1"
    FROM labelled
  ) AS "coded"
) AS "counted"
WHERE
  NOT (
    "value" IS NULL
  )
  AND "occurrences" = 1
  AND NOT (
    "label_1" IS NULL
  )
  AND NOT (
    "label_2" IS NULL
  );

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- The frequency set: every row of the source, counted by the generalized quasi-identifier.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_counted"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  COALESCE(
    CASE
      WHEN CAST("source"."zip" AS Nullable(String)) IS NULL
      THEN 0
      ELSE "h_0"."code_3"
    END,
    -1
  ) AS "k_0",
  COALESCE(CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "h_1"."code_3" END, -1) AS "k_1",
  COALESCE(
    CASE
      WHEN CAST("source"."sex" AS Nullable(String)) IS NULL
      THEN 0
      ELSE "h_2"."code_0"
    END,
    -1
  ) AS "k_2",
  COALESCE(
    CASE
      WHEN CAST("source"."marital" AS Nullable(String)) IS NULL
      THEN 0
      ELSE "h_3"."code_1"
    END,
    -1
  ) AS "k_3",
  CAST(COUNT(*) AS Nullable(Int64)) AS "n"
FROM "source_table" AS "source"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_0" AS "h_0"
  ON CAST("source"."zip" AS Nullable(String)) = "h_0"."value"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_1" AS "h_1"
  ON "source"."birth_date" = "h_1"."value"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_2" AS "h_2"
  ON CAST("source"."sex" AS Nullable(String)) = "h_2"."value"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_3" AS "h_3"
  ON CAST("source"."marital" AS Nullable(String)) = "h_3"."value"
GROUP BY
  COALESCE(
    CASE
      WHEN CAST("source"."zip" AS Nullable(String)) IS NULL
      THEN 0
      ELSE "h_0"."code_3"
    END,
    -1
  ),
  COALESCE(CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "h_1"."code_3" END, -1),
  COALESCE(
    CASE
      WHEN CAST("source"."sex" AS Nullable(String)) IS NULL
      THEN 0
      ELSE "h_2"."code_0"
    END,
    -1
  ),
  COALESCE(
    CASE
      WHEN CAST("source"."marital" AS Nullable(String)) IS NULL
      THEN 0
      ELSE "h_3"."code_1"
    END,
    -1
  );

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE OR REPLACE TABLE "sqlanon_script_d4d024d0_classes"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  nullIf("k_0", -1) AS "k_0",
  nullIf("k_1", -1) AS "k_1",
  nullIf("k_2", -1) AS "k_2",
  nullIf("k_3", -1) AS "k_3",
  "n",
  "n" >= 5 AS "kept"
FROM (
  SELECT
    "k_0" AS "k_0",
    "k_1" AS "k_1",
    "k_2" AS "k_2",
    "k_3" AS "k_3",
    SUM("n") AS "n"
  FROM "sqlanon_script_d4d024d0_counted" AS "counted"
  GROUP BY
    "k_0",
    "k_1",
    "k_2",
    "k_3"
) AS "classes";

-- Stop if a value lies outside its hierarchy.
SELECT
  throwIf(
    NOT COALESCE(
      (
        SELECT
          (
            SELECT
              CAST(COUNT(*) AS Nullable(Int64))
            FROM "sqlanon_script_d4d024d0_classes"
            WHERE
              "k_0" IS NULL OR "k_1" IS NULL OR "k_2" IS NULL OR "k_3" IS NULL
          ) = 0
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
  "h_0"."label_3" AS "zip",
  "h_1"."label_3" AS "birth_date",
  "source"."sex" AS "sex",
  "h_3"."label_1" AS "marital",
  "source"."diagnosis" AS "diagnosis",
  "source"."cost" AS "cost"
FROM "source_table" AS "source"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_0" AS "h_0"
  ON CAST("source"."zip" AS Nullable(String)) = "h_0"."value"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_1" AS "h_1"
  ON "source"."birth_date" = "h_1"."value"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_2" AS "h_2"
  ON CAST("source"."sex" AS Nullable(String)) = "h_2"."value"
LEFT JOIN "sqlanon_script_d4d024d0_hierarchy_3" AS "h_3"
  ON CAST("source"."marital" AS Nullable(String)) = "h_3"."value"
JOIN "sqlanon_script_d4d024d0_classes" AS "class"
  ON CASE
    WHEN CAST("source"."zip" AS Nullable(String)) IS NULL
    THEN 0
    ELSE "h_0"."code_3"
  END = "class"."k_0"
  AND CASE WHEN "source"."birth_date" IS NULL THEN 0 ELSE "h_1"."code_3" END = "class"."k_1"
  AND CASE
    WHEN CAST("source"."sex" AS Nullable(String)) IS NULL
    THEN 0
    ELSE "h_2"."code_0"
  END = "class"."k_2"
  AND CASE
    WHEN CAST("source"."marital" AS Nullable(String)) IS NULL
    THEN 0
    ELSE "h_3"."code_1"
  END = "class"."k_3"
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
          "classes_failing_k" = 0 AND "rows" > 0
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
          (
            SELECT
              CAST(COUNT(*) AS Nullable(Int64))
            FROM "sqlanon_script_d4d024d0_staged" AS "audited"
          ) = (
            SELECT
              COALESCE(SUM(CASE WHEN "kept" THEN "n" ELSE 0 END), 0)
            FROM "sqlanon_script_d4d024d0_classes"
          )
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
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_counted";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_hierarchy_3";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_definition_3";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_hierarchy_2";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_definition_2";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_hierarchy_1";
DROP TABLE IF EXISTS "sqlanon_script_d4d024d0_hierarchy_0";
