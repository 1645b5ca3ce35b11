-- Release of source_table as release_table, made by sqlanon for snowflake.
-- Generalization: zip at level 1, age at level 1, sex at level 0.
-- Every class of the quasi-identifier has at least 2 persons.
-- Every class of the quasi-identifier matches at least 3 rows of the population.
-- Every class of the quasi-identifier is a share from 0 to 0.9 of the rows of the population that it matches.
-- Every class is l-diverse in disease (distinct, l = 2).
-- Every class is l-diverse in stage (recursive, l = 2, c = 4).
-- Every class is t-close to the whole source in disease (hierarchical, t = 0.6).
-- Every class is t-close to the whole source in stage (ordered, t = 0.5).
-- No class has the value of disease that the spec names in a share above 0.8.
-- Every class is p-sensitive in stage (p = 2).
-- Every class is beta-like the whole source in disease (enhanced, beta = 5).
-- Every class is delta-disclosure private in disease (occurring, delta = 3).
-- Persons are told apart by person, which is not released.
-- At most 25% of the rows are blanked. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error:
-- cat *.sql | snowsql -o exit_on_error=true
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value.

-- The session.
ALTER SESSION
SET timezone = 'UTC';

-- Definition of the hierarchy of zip, level 0 first.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_DEFINITION_ZIP" (
  "LABEL_0" VARCHAR,
  "LABEL_1" VARCHAR
);
INSERT INTO "SQLANON_SCRIPT_ED687537_DEFINITION_ZIP"
VALUES
  ('n1', 'north'),
  ('n2', 'north'),
  ('n3', 'north'),
  ('s1', 'south'),
  ('s2', 'south');

-- Hierarchy of zip: the label of each value at level 1.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_HIERARCHY_ZIP" AS
SELECT
  "DOMAIN"."VALUE",
  "LISTED"."LABEL_1",
  CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LISTED"."LABEL_1" AS VARCHAR), 'utf8')) AS INT) AS "CODE_1"
FROM (
  SELECT DISTINCT
    COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') AS "VALUE"
  FROM "SOURCE_TABLE" AS "SOURCE"
  WHERE
    NOT COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
  UNION
  SELECT DISTINCT
    COLLATE(CAST("POPULATION"."ZIP" AS VARCHAR), 'utf8') AS "VALUE"
  FROM "PEOPLE" AS "POPULATION"
  WHERE
    NOT COLLATE(CAST("POPULATION"."ZIP" AS VARCHAR), 'utf8') IS NULL
) AS "DOMAIN"
INNER JOIN "SQLANON_SCRIPT_ED687537_DEFINITION_ZIP" AS "LISTED"
  ON CAST("DOMAIN"."VALUE" AS VARCHAR) = "LISTED"."LABEL_0";

-- Hierarchy of age: the label of each value at level 1.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_HIERARCHY_AGE" AS
SELECT
  "VALUE",
  "LABEL_1",
  CAST(DENSE_RANK() OVER (ORDER BY COLLATE(CAST("LABEL_1" AS VARCHAR), 'utf8')) AS INT) AS "CODE_1"
FROM (
  SELECT
    "VALUE",
    CASE
      WHEN "VALUE" < -4000000000000000000
      THEN '<0'
      WHEN "VALUE" >= 4000000000000000000
      THEN '>=4'
      WHEN CAST("VALUE" AS BIGINT) < 0
      THEN '<0'
      WHEN CAST("VALUE" AS BIGINT) >= 4
      THEN '>=4'
      ELSE '[' || CAST(CAST("VALUE" AS BIGINT) - (
        (
          CAST("VALUE" AS BIGINT) - 0
        ) % 2 + 2
      ) % 2 AS VARCHAR) || ', ' || CAST(CASE
        WHEN CAST("VALUE" AS BIGINT) - (
          (
            CAST("VALUE" AS BIGINT) - 0
          ) % 2 + 2
        ) % 2 + 2 > 4
        THEN 4
        ELSE CAST("VALUE" AS BIGINT) - (
          (
            CAST("VALUE" AS BIGINT) - 0
          ) % 2 + 2
        ) % 2 + 2
      END AS VARCHAR) || ')'
    END AS "LABEL_1"
  FROM (
    SELECT DISTINCT
      "SOURCE"."AGE" AS "VALUE"
    FROM "SOURCE_TABLE" AS "SOURCE"
    WHERE
      NOT "SOURCE"."AGE" IS NULL
    UNION
    SELECT DISTINCT
      "POPULATION"."AGE" AS "VALUE"
    FROM "PEOPLE" AS "POPULATION"
    WHERE
      NOT "POPULATION"."AGE" IS NULL
  ) AS "DOMAIN"
) AS "LABELLED"
WHERE
  NOT "LABEL_1" IS NULL;

-- Definition of the hierarchy of disease, level 0 first.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_DEFINITION_DISEASE" (
  "LABEL_0" VARCHAR,
  "LABEL_1" VARCHAR
);
INSERT INTO "SQLANON_SCRIPT_ED687537_DEFINITION_DISEASE"
VALUES
  ('flu', 'lung'),
  ('asthma', 'lung'),
  ('cough', 'lung'),
  ('ulcer', 'stomach'),
  ('gastritis', 'stomach');

-- Hierarchy of disease: the labels of each value.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_HIERARCHY_DISEASE" AS
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
        FROM "SQLANON_SCRIPT_ED687537_DEFINITION_DISEASE"
      ) AS "LISTED"
      FULL OUTER JOIN (
        SELECT DISTINCT
          COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE"
        FROM "SOURCE_TABLE" AS "SOURCE"
        WHERE
          NOT COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') IS NULL
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
  NOT "VALUE" IS NULL AND "OCCURRENCES" = 1 AND NOT "LABEL_1" IS NULL AND NOT "LABEL_2" IS NULL;

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- Values of disease, numbered in their order; NULL is 0.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_VALUES_DISEASE" AS
SELECT
  "VALUE",
  CASE
    WHEN "VALUE" IS NULL
    THEN 0
    ELSE CAST(ROW_NUMBER() OVER (PARTITION BY "VALUE" IS NULL ORDER BY "VALUE") AS INT)
  END AS "CODE",
  COALESCE(COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'flu', FALSE) AS "IS_0"
FROM (
  SELECT DISTINCT
    COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE"
  FROM "SOURCE_TABLE" AS "SOURCE"
) AS "DOMAIN";

-- Values of stage, numbered in their order; NULL is 0.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_VALUES_STAGE" AS
SELECT
  "VALUE",
  CASE
    WHEN "VALUE" IS NULL
    THEN 0
    ELSE CAST(ROW_NUMBER() OVER (PARTITION BY "VALUE" IS NULL ORDER BY "VALUE") AS INT)
  END AS "CODE"
FROM (
  SELECT DISTINCT
    "SOURCE"."STAGE" AS "VALUE"
  FROM "SOURCE_TABLE" AS "SOURCE"
) AS "DOMAIN";

-- The frequency set: every person of the source, counted by the generalized quasi-identifier, the codes of sensitive
-- values.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_COUNTED" AS
SELECT
  "ZIP_CODE",
  "AGE_CODE",
  "SEX_VALUE",
  "DISEASE_CODE",
  "STAGE_CODE",
  "R",
  CAST(COALESCE(SUM("N"), 0) AS BIGINT) AS "N",
  CAST(COALESCE(SUM("U"), 0) AS BIGINT) AS "U"
FROM (
  SELECT
    "ZIP_CODE",
    "AGE_CODE",
    "SEX_VALUE",
    "DISEASE_CODE",
    "STAGE_CODE",
    "N",
    CASE
      WHEN COUNT(*) OVER (PARTITION BY "WHO") > 1
      THEN CAST(DENSE_RANK() OVER (ORDER BY "WHO") AS BIGINT)
    END AS "R",
    CASE WHEN COUNT(*) OVER (PARTITION BY "WHO") > 1 THEN 0 ELSE 1 END AS "U"
  FROM (
    SELECT
      "ZIP_CODE",
      "AGE_CODE",
      "SEX_VALUE",
      "DISEASE_CODE",
      "STAGE_CODE",
      "WHO",
      COUNT(*) AS "N"
    FROM (
      SELECT
        COALESCE(
          CASE
            WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
            THEN 0
            ELSE "HIERARCHY_ZIP"."CODE_1"
          END,
          -1
        ) AS "ZIP_CODE",
        COALESCE(CASE WHEN "SOURCE"."AGE" IS NULL THEN 0 ELSE "HIERARCHY_AGE"."CODE_1" END, -1) AS "AGE_CODE",
        COALESCE('=' || COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8'), '') AS "SEX_VALUE",
        CASE
          WHEN COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') IS NULL
          THEN 0
          ELSE "VALUES_DISEASE"."CODE"
        END AS "DISEASE_CODE",
        CASE WHEN "SOURCE"."STAGE" IS NULL THEN 0 ELSE "VALUES_STAGE"."CODE" END AS "STAGE_CODE",
        COLLATE(CAST("SOURCE"."PERSON" AS VARCHAR), 'utf8') AS "WHO"
      FROM "SOURCE_TABLE" AS "SOURCE"
      LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_ZIP" AS "HIERARCHY_ZIP"
        ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "HIERARCHY_ZIP"."VALUE"
      LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_AGE" AS "HIERARCHY_AGE"
        ON "SOURCE"."AGE" = "HIERARCHY_AGE"."VALUE"
      LEFT JOIN "SQLANON_SCRIPT_ED687537_VALUES_DISEASE" AS "VALUES_DISEASE"
        ON COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') = "VALUES_DISEASE"."VALUE"
      LEFT JOIN "SQLANON_SCRIPT_ED687537_VALUES_STAGE" AS "VALUES_STAGE"
        ON "SOURCE"."STAGE" = "VALUES_STAGE"."VALUE"
    ) AS "CODED"
    GROUP BY
      "ZIP_CODE",
      "AGE_CODE",
      "SEX_VALUE",
      "DISEASE_CODE",
      "STAGE_CODE",
      "WHO"
  ) AS "ROWS"
) AS "NUMBERED"
GROUP BY
  "ZIP_CODE",
  "AGE_CODE",
  "SEX_VALUE",
  "DISEASE_CODE",
  "STAGE_CODE",
  "R";

-- How the whole source distributes disease.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_DISTRIBUTION_DISEASE" AS
SELECT
  "RUNNING"."CODE",
  "RUNNING"."Q_HELD",
  "RUNNING"."Q_ASSIGNED",
  "RUNNING"."Q_BELOW",
  "CODES"."IS_0",
  CAST(SUM("RUNNING"."Q_ASSIGNED") OVER () AS BIGINT) AS "TOTAL",
  CAST(SUM("RUNNING"."Q_BELOW") OVER () AS DECIMAL(38, 0)) AS "Q_EVERYWHERE",
  CAST(COUNT(*) OVER () - 1 AS BIGINT) AS "STEPS"
FROM (
  SELECT
    *,
    CAST(SUM("Q_ASSIGNED") OVER (ORDER BY "CODE") AS BIGINT) AS "Q_BELOW"
  FROM (
    SELECT
      "HELD"."S" AS "CODE",
      "HELD"."M" AS "Q_HELD",
      COALESCE("ASSIGNED"."M", 0) AS "Q_ASSIGNED"
    FROM (
      SELECT
        "DISEASE_CODE" AS "S",
        CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M"
      FROM "SQLANON_SCRIPT_ED687537_COUNTED"
      GROUP BY
        "DISEASE_CODE"
    ) AS "HELD"
    LEFT JOIN (
      SELECT
        "S",
        CAST(SUM("M") AS BIGINT) AS "M"
      FROM (
        SELECT
          "DISEASE_CODE" AS "S",
          CAST(SUM("U") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_ED687537_COUNTED"
        WHERE
          "R" IS NULL
        GROUP BY
          "DISEASE_CODE"
        UNION ALL
        SELECT
          "S",
          COUNT(*) AS "M"
        FROM (
          SELECT
            "OWN"."S",
            ROW_NUMBER() OVER (PARTITION BY "OWN"."WHO" ORDER BY "HELD"."M" DESC NULLS LAST, "OWN"."S") AS "CHOICE"
          FROM (
            SELECT
              "DISEASE_CODE" AS "S",
              "R" AS "WHO"
            FROM "SQLANON_SCRIPT_ED687537_COUNTED"
            WHERE
              NOT "R" IS NULL
            GROUP BY
              "DISEASE_CODE",
              "R"
          ) AS "OWN"
          JOIN (
            SELECT
              "DISEASE_CODE" AS "S",
              CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
              COALESCE(SUM("U"), 0) AS "ALONE",
              CASE
                WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                THEN MAX("R")
                ELSE NULL
              END AS "HOLDER"
            FROM "SQLANON_SCRIPT_ED687537_COUNTED"
            GROUP BY
              "DISEASE_CODE"
          ) AS "HELD"
            ON "OWN"."S" = "HELD"."S"
        ) AS "CHOICES"
        WHERE
          "CHOICE" = 1
        GROUP BY
          "S"
      ) AS "ASSIGNED"
      GROUP BY
        "S"
    ) AS "ASSIGNED"
      ON "HELD"."S" = "ASSIGNED"."S"
  ) AS "BOTH"
) AS "RUNNING"
JOIN "SQLANON_SCRIPT_ED687537_VALUES_DISEASE" AS "CODES"
  ON "RUNNING"."CODE" = "CODES"."CODE";

-- The same by the labels of disease.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_LABELS_DISEASE" AS
SELECT
  "LEVEL",
  "CODE",
  "LABEL",
  "TOTAL",
  2 AS "LEVELS",
  CAST(SUM("Q_OF_VALUE") OVER (PARTITION BY "LEVEL", "LABEL") AS BIGINT) AS "Q"
FROM (
  SELECT
    0 AS "LEVEL",
    "CODES"."CODE" AS "CODE",
    CAST("CODES"."CODE" AS BIGINT) AS "LABEL",
    "REFERENCE"."Q_ASSIGNED" AS "Q_OF_VALUE",
    "REFERENCE"."TOTAL" AS "TOTAL"
  FROM "SQLANON_SCRIPT_ED687537_VALUES_DISEASE" AS "CODES"
  JOIN "SQLANON_SCRIPT_ED687537_DISTRIBUTION_DISEASE" AS "REFERENCE"
    ON "CODES"."CODE" = "REFERENCE"."CODE"
  LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_DISEASE" AS "HIERARCHY"
    ON "CODES"."VALUE" = "HIERARCHY"."VALUE"
  UNION ALL
  SELECT
    1 AS "LEVEL",
    "CODES"."CODE" AS "CODE",
    CAST(CASE WHEN "CODES"."VALUE" IS NULL THEN 0 ELSE "HIERARCHY"."CODE_1" END AS BIGINT) AS "LABEL",
    "REFERENCE"."Q_ASSIGNED" AS "Q_OF_VALUE",
    "REFERENCE"."TOTAL" AS "TOTAL"
  FROM "SQLANON_SCRIPT_ED687537_VALUES_DISEASE" AS "CODES"
  JOIN "SQLANON_SCRIPT_ED687537_DISTRIBUTION_DISEASE" AS "REFERENCE"
    ON "CODES"."CODE" = "REFERENCE"."CODE"
  LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_DISEASE" AS "HIERARCHY"
    ON "CODES"."VALUE" = "HIERARCHY"."VALUE"
) AS "LABELLED";

-- How the whole source distributes stage.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_DISTRIBUTION_STAGE" AS
SELECT
  "RUNNING"."CODE",
  "RUNNING"."Q_HELD",
  "RUNNING"."Q_ASSIGNED",
  "RUNNING"."Q_BELOW",
  CAST(SUM("RUNNING"."Q_ASSIGNED") OVER () AS BIGINT) AS "TOTAL",
  CAST(SUM("RUNNING"."Q_BELOW") OVER () AS DECIMAL(38, 0)) AS "Q_EVERYWHERE",
  CAST(COUNT(*) OVER () - 1 AS BIGINT) AS "STEPS"
FROM (
  SELECT
    *,
    CAST(SUM("Q_ASSIGNED") OVER (ORDER BY "CODE") AS BIGINT) AS "Q_BELOW"
  FROM (
    SELECT
      "HELD"."S" AS "CODE",
      "HELD"."M" AS "Q_HELD",
      COALESCE("ASSIGNED"."M", 0) AS "Q_ASSIGNED"
    FROM (
      SELECT
        "STAGE_CODE" AS "S",
        CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M"
      FROM "SQLANON_SCRIPT_ED687537_COUNTED"
      GROUP BY
        "STAGE_CODE"
    ) AS "HELD"
    LEFT JOIN (
      SELECT
        "S",
        CAST(SUM("M") AS BIGINT) AS "M"
      FROM (
        SELECT
          "STAGE_CODE" AS "S",
          CAST(SUM("U") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_ED687537_COUNTED"
        WHERE
          "R" IS NULL
        GROUP BY
          "STAGE_CODE"
        UNION ALL
        SELECT
          "S",
          COUNT(*) AS "M"
        FROM (
          SELECT
            "OWN"."S",
            ROW_NUMBER() OVER (PARTITION BY "OWN"."WHO" ORDER BY "HELD"."M" DESC NULLS LAST, "OWN"."S") AS "CHOICE"
          FROM (
            SELECT
              "STAGE_CODE" AS "S",
              "R" AS "WHO"
            FROM "SQLANON_SCRIPT_ED687537_COUNTED"
            WHERE
              NOT "R" IS NULL
            GROUP BY
              "STAGE_CODE",
              "R"
          ) AS "OWN"
          JOIN (
            SELECT
              "STAGE_CODE" AS "S",
              CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
              COALESCE(SUM("U"), 0) AS "ALONE",
              CASE
                WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                THEN MAX("R")
                ELSE NULL
              END AS "HOLDER"
            FROM "SQLANON_SCRIPT_ED687537_COUNTED"
            GROUP BY
              "STAGE_CODE"
          ) AS "HELD"
            ON "OWN"."S" = "HELD"."S"
        ) AS "CHOICES"
        WHERE
          "CHOICE" = 1
        GROUP BY
          "S"
      ) AS "ASSIGNED"
      GROUP BY
        "S"
    ) AS "ASSIGNED"
      ON "HELD"."S" = "ASSIGNED"."S"
  ) AS "BOTH"
) AS "RUNNING"
JOIN "SQLANON_SCRIPT_ED687537_VALUES_STAGE" AS "CODES"
  ON "RUNNING"."CODE" = "CODES"."CODE";

-- The population, counted by the same generalization.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_EVERYBODY" AS
SELECT
  "ZIP_CODE",
  "AGE_CODE",
  "SEX_VALUE",
  COUNT(*) AS "W"
FROM (
  SELECT
    COALESCE(
      CASE
        WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
        THEN 0
        ELSE "HIERARCHY_ZIP"."CODE_1"
      END,
      -1
    ) AS "ZIP_CODE",
    COALESCE(CASE WHEN "SOURCE"."AGE" IS NULL THEN 0 ELSE "HIERARCHY_AGE"."CODE_1" END, -1) AS "AGE_CODE",
    COALESCE('=' || COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8'), '') AS "SEX_VALUE"
  FROM "PEOPLE" AS "SOURCE"
  LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_ZIP" AS "HIERARCHY_ZIP"
    ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "HIERARCHY_ZIP"."VALUE"
  LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_AGE" AS "HIERARCHY_AGE"
    ON "SOURCE"."AGE" = "HIERARCHY_AGE"."VALUE"
) AS "CODED"
GROUP BY
  "ZIP_CODE",
  "AGE_CODE",
  "SEX_VALUE";

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_CLASSES" AS
SELECT
  NULLIF("ZIP_CODE", -1) AS "ZIP_CODE",
  NULLIF("AGE_CODE", -1) AS "AGE_CODE",
  "SEX_VALUE" AS "SEX_VALUE",
  "N",
  "SIZE" >= 2
  AND "W" >= 3
  AND (
    (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("W" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0))
    )
    AND (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
    ) >= (
      CAST("W" AS DECIMAL(38, 0)) * CAST(0 AS DECIMAL(38, 0))
    )
  )
  AND (
    "DISTINCT_0" >= 2 AND "SIZE" >= 2
  )
  AND (
    CAST("CLIMBED_0" AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0))
  ) <= (
    CAST("SIZE" AS DECIMAL(38, 0)) * CAST(3 AS DECIMAL(38, 0)) * CAST("CLIMBED_LEVELS_0" AS DECIMAL(38, 0)) * CAST("CLIMBED_TOTAL_0" AS DECIMAL(38, 0))
  )
  AND (
    CAST("SHARE_0_0" AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0))
  ) <= (
    CAST("SIZE" AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0))
  )
  AND "ENHANCED_GAINS_5_1_0" = 0
  AND "FAR_3_1_0" = 0
  AND (
    CAST("FIRST_1" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
  ) < (
    CAST("TAIL_2_1" AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0))
  )
  AND (
    CAST((
      "GAPS_1" + (
        CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_1" AS DECIMAL(38, 0))
      )
    ) AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0))
  ) <= (
    CAST("SIZE" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_1" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_1" AS DECIMAL(38, 0))
  )
  AND (
    "DISTINCT_1" >= 2 AND "SIZE" >= 2
  ) AS "KEPT"
FROM (
  SELECT
    COALESCE("FOUND"."ZIP_CODE", "EVERYBODY"."ZIP_CODE") AS "ZIP_CODE",
    COALESCE("FOUND"."AGE_CODE", "EVERYBODY"."AGE_CODE") AS "AGE_CODE",
    COALESCE("FOUND"."SEX_VALUE", "EVERYBODY"."SEX_VALUE") AS "SEX_VALUE",
    "FOUND"."N" AS "N",
    COALESCE("FOUND"."SIZE", 0) AS "SIZE",
    COALESCE("EVERYBODY"."W", 0) AS "W",
    "FOUND"."SHARE_0_0",
    "FOUND"."ENHANCED_GAINS_5_1_0",
    "FOUND"."FAR_3_1_0",
    "FOUND"."CLIMBED_0",
    "FOUND"."CLIMBED_LEVELS_0",
    "FOUND"."CLIMBED_TOTAL_0",
    "FOUND"."DISTINCT_0",
    "FOUND"."GAPS_1",
    "FOUND"."BEFORE_1",
    "FOUND"."ORDERED_STEPS_1",
    "FOUND"."ORDERED_TOTAL_1",
    "FOUND"."DISTINCT_1",
    "FOUND"."FIRST_1",
    "FOUND"."TAIL_2_1"
  FROM (
    SELECT
      "PART_0"."ZIP_CODE",
      "PART_0"."AGE_CODE",
      "PART_0"."SEX_VALUE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_1"."SHARE_0_0",
      "PART_1"."ENHANCED_GAINS_5_1_0",
      "PART_1"."FAR_3_1_0",
      "PART_2"."CLIMBED_0",
      "PART_2"."CLIMBED_LEVELS_0",
      "PART_2"."CLIMBED_TOTAL_0",
      "PART_3"."DISTINCT_0",
      "PART_4"."GAPS_1",
      "PART_4"."BEFORE_1",
      "PART_4"."ORDERED_STEPS_1",
      "PART_4"."ORDERED_TOTAL_1",
      "PART_5"."DISTINCT_1",
      "PART_6"."FIRST_1",
      "PART_6"."TAIL_2_1"
    FROM (
      SELECT
        "ZIP_CODE" AS "ZIP_CODE",
        "AGE_CODE" AS "AGE_CODE",
        "SEX_VALUE" AS "SEX_VALUE",
        SUM("N") AS "N",
        CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "SIZE"
      FROM "SQLANON_SCRIPT_ED687537_COUNTED"
      GROUP BY
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE",
        COALESCE(SUM(CASE WHEN "IS_0" THEN "M" ELSE 0 END), 0) AS "SHARE_0_0",
        COALESCE(
          SUM(
            CASE
              WHEN (
                CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
              ) > (
                CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0)) * CAST(6 AS DECIMAL(38, 0))
              )
              OR (
                CAST("M" AS DOUBLE) * CAST("TOTAL" AS DOUBLE)
              ) / (
                CAST("SIZE" AS DOUBLE) * CAST("Q" AS DOUBLE)
              ) - 1 > LN(CAST("TOTAL" AS DOUBLE) / CAST("Q" AS DOUBLE))
              THEN 1
              ELSE 0
            END
          ),
          0
        ) AS "ENHANCED_GAINS_5_1_0",
        COALESCE(
          SUM(
            CASE
              WHEN ABS(
                LN(
                  (
                    CAST("M" AS DOUBLE) * CAST("TOTAL" AS DOUBLE)
                  ) / (
                    CAST("SIZE" AS DOUBLE) * CAST("Q" AS DOUBLE)
                  )
                )
              ) > CAST(3 AS DOUBLE)
              THEN 1
              ELSE 0
            END
          ),
          0
        ) AS "FAR_3_1_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."AGE_CODE",
          "CELLS"."SEX_VALUE",
          "CELLS"."S",
          "CELLS"."M",
          "CELLS"."SIZE",
          "REFERENCE"."Q_HELD" AS "Q",
          "REFERENCE".*
        FROM (
          SELECT
            "HELD"."ZIP_CODE",
            "HELD"."AGE_CODE",
            "HELD"."SEX_VALUE",
            "HELD"."S",
            "HELD"."M",
            "SIZES"."SIZE"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "AGE_CODE" AS "AGE_CODE",
              "SEX_VALUE" AS "SEX_VALUE",
              "DISEASE_CODE" AS "S",
              CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
              COALESCE(SUM("U"), 0) AS "ALONE",
              CASE
                WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                THEN MAX("R")
                ELSE NULL
              END AS "HOLDER"
            FROM "SQLANON_SCRIPT_ED687537_COUNTED"
            GROUP BY
              "ZIP_CODE",
              "AGE_CODE",
              "SEX_VALUE",
              "DISEASE_CODE"
          ) AS "HELD"
          JOIN (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "AGE_CODE" AS "AGE_CODE",
              "SEX_VALUE" AS "SEX_VALUE",
              CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "SIZE"
            FROM "SQLANON_SCRIPT_ED687537_COUNTED"
            GROUP BY
              "ZIP_CODE",
              "AGE_CODE",
              "SEX_VALUE"
          ) AS "SIZES"
            ON "HELD"."ZIP_CODE" = "SIZES"."ZIP_CODE"
            AND "HELD"."AGE_CODE" = "SIZES"."AGE_CODE"
            AND "HELD"."SEX_VALUE" = "SIZES"."SEX_VALUE"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_ED687537_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" = "REFERENCE"."CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE"
    ) AS "PART_1"
      ON "PART_0"."ZIP_CODE" = "PART_1"."ZIP_CODE"
      AND "PART_0"."AGE_CODE" = "PART_1"."AGE_CODE"
      AND "PART_0"."SEX_VALUE" = "PART_1"."SEX_VALUE"
    JOIN (
      SELECT
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE",
        SUM(
          GREATEST(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            ),
            0
          )
        ) AS "CLIMBED_0",
        MAX("LEVELS") AS "CLIMBED_LEVELS_0",
        MAX("TOTAL") AS "CLIMBED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."AGE_CODE",
          "CELLS"."SEX_VALUE",
          "CELLS"."SIZE",
          "REFERENCE"."Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."LEVELS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "AGE_CODE",
            "SEX_VALUE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "AGE_CODE", "SEX_VALUE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE",
              "AGE_CODE",
              "SEX_VALUE",
              "S",
              CAST(SUM("M") AS BIGINT) AS "M"
            FROM (
              SELECT
                "ZIP_CODE" AS "ZIP_CODE",
                "AGE_CODE" AS "AGE_CODE",
                "SEX_VALUE" AS "SEX_VALUE",
                "DISEASE_CODE" AS "S",
                CAST(SUM("U") AS BIGINT) AS "M"
              FROM "SQLANON_SCRIPT_ED687537_COUNTED"
              WHERE
                "R" IS NULL
              GROUP BY
                "ZIP_CODE",
                "AGE_CODE",
                "SEX_VALUE",
                "DISEASE_CODE"
              UNION ALL
              SELECT
                "ZIP_CODE",
                "AGE_CODE",
                "SEX_VALUE",
                "S",
                COUNT(*) AS "M"
              FROM (
                SELECT
                  "OWN"."ZIP_CODE",
                  "OWN"."AGE_CODE",
                  "OWN"."SEX_VALUE",
                  "OWN"."S",
                  ROW_NUMBER() OVER (
                    PARTITION BY "OWN"."ZIP_CODE", "OWN"."AGE_CODE", "OWN"."SEX_VALUE", "OWN"."WHO"
                    ORDER BY "HELD"."M" DESC NULLS LAST, "OWN"."S"
                  ) AS "CHOICE"
                FROM (
                  SELECT
                    "ZIP_CODE" AS "ZIP_CODE",
                    "AGE_CODE" AS "AGE_CODE",
                    "SEX_VALUE" AS "SEX_VALUE",
                    "DISEASE_CODE" AS "S",
                    "R" AS "WHO"
                  FROM "SQLANON_SCRIPT_ED687537_COUNTED"
                  WHERE
                    NOT "R" IS NULL
                  GROUP BY
                    "ZIP_CODE",
                    "AGE_CODE",
                    "SEX_VALUE",
                    "DISEASE_CODE",
                    "R"
                ) AS "OWN"
                JOIN (
                  SELECT
                    "ZIP_CODE" AS "ZIP_CODE",
                    "AGE_CODE" AS "AGE_CODE",
                    "SEX_VALUE" AS "SEX_VALUE",
                    "DISEASE_CODE" AS "S",
                    CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
                    COALESCE(SUM("U"), 0) AS "ALONE",
                    CASE
                      WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                      THEN MAX("R")
                      ELSE NULL
                    END AS "HOLDER"
                  FROM "SQLANON_SCRIPT_ED687537_COUNTED"
                  GROUP BY
                    "ZIP_CODE",
                    "AGE_CODE",
                    "SEX_VALUE",
                    "DISEASE_CODE"
                ) AS "HELD"
                  ON "OWN"."ZIP_CODE" = "HELD"."ZIP_CODE"
                  AND "OWN"."AGE_CODE" = "HELD"."AGE_CODE"
                  AND "OWN"."SEX_VALUE" = "HELD"."SEX_VALUE"
                  AND "OWN"."S" = "HELD"."S"
              ) AS "CHOICES"
              WHERE
                "CHOICE" = 1
              GROUP BY
                "ZIP_CODE",
                "AGE_CODE",
                "SEX_VALUE",
                "S"
            ) AS "ASSIGNED"
            GROUP BY
              "ZIP_CODE",
              "AGE_CODE",
              "SEX_VALUE",
              "S"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_ED687537_LABELS_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" = "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."AGE_CODE",
          "CELLS"."SEX_VALUE",
          "CELLS"."SIZE",
          "REFERENCE"."LEVEL",
          "REFERENCE"."LABEL",
          "REFERENCE"."Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."LEVELS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE"
    ) AS "PART_2"
      ON "PART_0"."ZIP_CODE" = "PART_2"."ZIP_CODE"
      AND "PART_0"."AGE_CODE" = "PART_2"."AGE_CODE"
      AND "PART_0"."SEX_VALUE" = "PART_2"."SEX_VALUE"
    JOIN (
      SELECT
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE",
        COALESCE(SUM(CASE WHEN "M" >= 2 OR "ALONE" >= 1 THEN 1 ELSE 0 END), 0) + COUNT(DISTINCT "HOLDER") AS "DISTINCT_0"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "AGE_CODE" AS "AGE_CODE",
          "SEX_VALUE" AS "SEX_VALUE",
          "DISEASE_CODE" AS "S",
          CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
          COALESCE(SUM("U"), 0) AS "ALONE",
          CASE
            WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
            THEN MAX("R")
            ELSE NULL
          END AS "HOLDER"
        FROM "SQLANON_SCRIPT_ED687537_COUNTED"
        GROUP BY
          "ZIP_CODE",
          "AGE_CODE",
          "SEX_VALUE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE"
    ) AS "PART_3"
      ON "PART_0"."ZIP_CODE" = "PART_3"."ZIP_CODE"
      AND "PART_0"."AGE_CODE" = "PART_3"."AGE_CODE"
      AND "PART_0"."SEX_VALUE" = "PART_3"."SEX_VALUE"
    JOIN (
      SELECT
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_1",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_1",
        MAX("STEPS") AS "ORDERED_STEPS_1",
        MAX("TOTAL") AS "ORDERED_TOTAL_1"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."AGE_CODE",
          "CELLS"."SEX_VALUE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "AGE_CODE",
            "SEX_VALUE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "AGE_CODE", "SEX_VALUE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE",
              "AGE_CODE",
              "SEX_VALUE",
              "S",
              CAST(SUM("M") AS BIGINT) AS "M"
            FROM (
              SELECT
                "ZIP_CODE" AS "ZIP_CODE",
                "AGE_CODE" AS "AGE_CODE",
                "SEX_VALUE" AS "SEX_VALUE",
                "STAGE_CODE" AS "S",
                CAST(SUM("U") AS BIGINT) AS "M"
              FROM "SQLANON_SCRIPT_ED687537_COUNTED"
              WHERE
                "R" IS NULL
              GROUP BY
                "ZIP_CODE",
                "AGE_CODE",
                "SEX_VALUE",
                "STAGE_CODE"
              UNION ALL
              SELECT
                "ZIP_CODE",
                "AGE_CODE",
                "SEX_VALUE",
                "S",
                COUNT(*) AS "M"
              FROM (
                SELECT
                  "OWN"."ZIP_CODE",
                  "OWN"."AGE_CODE",
                  "OWN"."SEX_VALUE",
                  "OWN"."S",
                  ROW_NUMBER() OVER (
                    PARTITION BY "OWN"."ZIP_CODE", "OWN"."AGE_CODE", "OWN"."SEX_VALUE", "OWN"."WHO"
                    ORDER BY "HELD"."M" DESC NULLS LAST, "OWN"."S"
                  ) AS "CHOICE"
                FROM (
                  SELECT
                    "ZIP_CODE" AS "ZIP_CODE",
                    "AGE_CODE" AS "AGE_CODE",
                    "SEX_VALUE" AS "SEX_VALUE",
                    "STAGE_CODE" AS "S",
                    "R" AS "WHO"
                  FROM "SQLANON_SCRIPT_ED687537_COUNTED"
                  WHERE
                    NOT "R" IS NULL
                  GROUP BY
                    "ZIP_CODE",
                    "AGE_CODE",
                    "SEX_VALUE",
                    "STAGE_CODE",
                    "R"
                ) AS "OWN"
                JOIN (
                  SELECT
                    "ZIP_CODE" AS "ZIP_CODE",
                    "AGE_CODE" AS "AGE_CODE",
                    "SEX_VALUE" AS "SEX_VALUE",
                    "STAGE_CODE" AS "S",
                    CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
                    COALESCE(SUM("U"), 0) AS "ALONE",
                    CASE
                      WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                      THEN MAX("R")
                      ELSE NULL
                    END AS "HOLDER"
                  FROM "SQLANON_SCRIPT_ED687537_COUNTED"
                  GROUP BY
                    "ZIP_CODE",
                    "AGE_CODE",
                    "SEX_VALUE",
                    "STAGE_CODE"
                ) AS "HELD"
                  ON "OWN"."ZIP_CODE" = "HELD"."ZIP_CODE"
                  AND "OWN"."AGE_CODE" = "HELD"."AGE_CODE"
                  AND "OWN"."SEX_VALUE" = "HELD"."SEX_VALUE"
                  AND "OWN"."S" = "HELD"."S"
              ) AS "CHOICES"
              WHERE
                "CHOICE" = 1
              GROUP BY
                "ZIP_CODE",
                "AGE_CODE",
                "SEX_VALUE",
                "S"
            ) AS "ASSIGNED"
            GROUP BY
              "ZIP_CODE",
              "AGE_CODE",
              "SEX_VALUE",
              "S"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_ED687537_DISTRIBUTION_STAGE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."AGE_CODE",
          "CELLS"."SEX_VALUE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE"
    ) AS "PART_4"
      ON "PART_0"."ZIP_CODE" = "PART_4"."ZIP_CODE"
      AND "PART_0"."AGE_CODE" = "PART_4"."AGE_CODE"
      AND "PART_0"."SEX_VALUE" = "PART_4"."SEX_VALUE"
    JOIN (
      SELECT
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE",
        COALESCE(SUM(CASE WHEN "M" >= 2 OR "ALONE" >= 1 THEN 1 ELSE 0 END), 0) + COUNT(DISTINCT "HOLDER") AS "DISTINCT_1"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "AGE_CODE" AS "AGE_CODE",
          "SEX_VALUE" AS "SEX_VALUE",
          "STAGE_CODE" AS "S",
          CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
          COALESCE(SUM("U"), 0) AS "ALONE",
          CASE
            WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
            THEN MAX("R")
            ELSE NULL
          END AS "HOLDER"
        FROM "SQLANON_SCRIPT_ED687537_COUNTED"
        GROUP BY
          "ZIP_CODE",
          "AGE_CODE",
          "SEX_VALUE",
          "STAGE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE"
    ) AS "PART_5"
      ON "PART_0"."ZIP_CODE" = "PART_5"."ZIP_CODE"
      AND "PART_0"."AGE_CODE" = "PART_5"."AGE_CODE"
      AND "PART_0"."SEX_VALUE" = "PART_5"."SEX_VALUE"
    JOIN (
      SELECT
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE",
        MAX("M") AS "FIRST_1",
        COALESCE(SUM(CASE WHEN "PLACE" >= 2 THEN "M" ELSE 0 END), 0) AS "TAIL_2_1"
      FROM (
        SELECT
          "ZIP_CODE",
          "AGE_CODE",
          "SEX_VALUE",
          "M",
          ROW_NUMBER() OVER (PARTITION BY "ZIP_CODE", "AGE_CODE", "SEX_VALUE" ORDER BY "M" DESC NULLS LAST, "S") AS "PLACE"
        FROM (
          SELECT
            "ZIP_CODE",
            "AGE_CODE",
            "SEX_VALUE",
            "S",
            CAST(SUM("M") AS BIGINT) AS "M"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "AGE_CODE" AS "AGE_CODE",
              "SEX_VALUE" AS "SEX_VALUE",
              "STAGE_CODE" AS "S",
              CAST(SUM("U") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_ED687537_COUNTED"
            WHERE
              "R" IS NULL
            GROUP BY
              "ZIP_CODE",
              "AGE_CODE",
              "SEX_VALUE",
              "STAGE_CODE"
            UNION ALL
            SELECT
              "ZIP_CODE",
              "AGE_CODE",
              "SEX_VALUE",
              "S",
              COUNT(*) AS "M"
            FROM (
              SELECT
                "OWN"."ZIP_CODE",
                "OWN"."AGE_CODE",
                "OWN"."SEX_VALUE",
                "OWN"."S",
                ROW_NUMBER() OVER (
                  PARTITION BY "OWN"."ZIP_CODE", "OWN"."AGE_CODE", "OWN"."SEX_VALUE", "OWN"."WHO"
                  ORDER BY "HELD"."M" DESC NULLS LAST, "OWN"."S"
                ) AS "CHOICE"
              FROM (
                SELECT
                  "ZIP_CODE" AS "ZIP_CODE",
                  "AGE_CODE" AS "AGE_CODE",
                  "SEX_VALUE" AS "SEX_VALUE",
                  "STAGE_CODE" AS "S",
                  "R" AS "WHO"
                FROM "SQLANON_SCRIPT_ED687537_COUNTED"
                WHERE
                  NOT "R" IS NULL
                GROUP BY
                  "ZIP_CODE",
                  "AGE_CODE",
                  "SEX_VALUE",
                  "STAGE_CODE",
                  "R"
              ) AS "OWN"
              JOIN (
                SELECT
                  "ZIP_CODE" AS "ZIP_CODE",
                  "AGE_CODE" AS "AGE_CODE",
                  "SEX_VALUE" AS "SEX_VALUE",
                  "STAGE_CODE" AS "S",
                  CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
                  COALESCE(SUM("U"), 0) AS "ALONE",
                  CASE
                    WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                    THEN MAX("R")
                    ELSE NULL
                  END AS "HOLDER"
                FROM "SQLANON_SCRIPT_ED687537_COUNTED"
                GROUP BY
                  "ZIP_CODE",
                  "AGE_CODE",
                  "SEX_VALUE",
                  "STAGE_CODE"
              ) AS "HELD"
                ON "OWN"."ZIP_CODE" = "HELD"."ZIP_CODE"
                AND "OWN"."AGE_CODE" = "HELD"."AGE_CODE"
                AND "OWN"."SEX_VALUE" = "HELD"."SEX_VALUE"
                AND "OWN"."S" = "HELD"."S"
            ) AS "CHOICES"
            WHERE
              "CHOICE" = 1
            GROUP BY
              "ZIP_CODE",
              "AGE_CODE",
              "SEX_VALUE",
              "S"
          ) AS "ASSIGNED"
          GROUP BY
            "ZIP_CODE",
            "AGE_CODE",
            "SEX_VALUE",
            "S"
        ) AS "CELLS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "AGE_CODE",
        "SEX_VALUE"
    ) AS "PART_6"
      ON "PART_0"."ZIP_CODE" = "PART_6"."ZIP_CODE"
      AND "PART_0"."AGE_CODE" = "PART_6"."AGE_CODE"
      AND "PART_0"."SEX_VALUE" = "PART_6"."SEX_VALUE"
  ) AS "FOUND"
  LEFT JOIN (
    SELECT
      "ZIP_CODE" AS "ZIP_CODE",
      "AGE_CODE" AS "AGE_CODE",
      "SEX_VALUE" AS "SEX_VALUE",
      CAST(SUM("W") AS BIGINT) AS "W"
    FROM "SQLANON_SCRIPT_ED687537_EVERYBODY"
    GROUP BY
      "ZIP_CODE",
      "AGE_CODE",
      "SEX_VALUE"
  ) AS "EVERYBODY"
    ON "FOUND"."ZIP_CODE" = "EVERYBODY"."ZIP_CODE"
    AND "FOUND"."AGE_CODE" = "EVERYBODY"."AGE_CODE"
    AND "FOUND"."SEX_VALUE" = "EVERYBODY"."SEX_VALUE"
) AS "CLASSES";

-- Stop if a value lies outside its hierarchy.
SELECT
  CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_CLASSES"
WHERE
  "ZIP_CODE" IS NULL OR "AGE_CODE" IS NULL;

-- Stop if more than 25% of the rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT "KEPT" THEN "N" ELSE 0 END), 0) * 4 <= COALESCE(SUM("N"), 0) * 1
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_CLASSES";

-- Whether suppressed rows, blanked, satisfy the requirement as one class: then they stay, else they go.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_BLANKED" AS
SELECT
  "SIZE" >= 2
  AND "W" >= 3
  AND (
    (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("W" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0))
    )
    AND (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
    ) >= (
      CAST("W" AS DECIMAL(38, 0)) * CAST(0 AS DECIMAL(38, 0))
    )
  )
  AND (
    "DISTINCT_0" >= 2 AND "SIZE" >= 2
  )
  AND (
    CAST("CLIMBED_0" AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0))
  ) <= (
    CAST("SIZE" AS DECIMAL(38, 0)) * CAST(3 AS DECIMAL(38, 0)) * CAST("CLIMBED_LEVELS_0" AS DECIMAL(38, 0)) * CAST("CLIMBED_TOTAL_0" AS DECIMAL(38, 0))
  )
  AND (
    CAST("SHARE_0_0" AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0))
  ) <= (
    CAST("SIZE" AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0))
  )
  AND "ENHANCED_GAINS_5_1_0" = 0
  AND "FAR_3_1_0" = 0
  AND (
    CAST("FIRST_1" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
  ) < (
    CAST("TAIL_2_1" AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0))
  )
  AND (
    CAST((
      "GAPS_1" + (
        CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_1" AS DECIMAL(38, 0))
      )
    ) AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0))
  ) <= (
    CAST("SIZE" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_1" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_1" AS DECIMAL(38, 0))
  )
  AND (
    "DISTINCT_1" >= 2 AND "SIZE" >= 2
  ) AS "SATISFIED"
FROM (
  SELECT
    "FOUND"."N" AS "N",
    COALESCE("FOUND"."SIZE", 0) AS "SIZE",
    COALESCE("EVERYBODY"."W", 0) AS "W",
    "FOUND"."SHARE_0_0",
    "FOUND"."ENHANCED_GAINS_5_1_0",
    "FOUND"."FAR_3_1_0",
    "FOUND"."CLIMBED_0",
    "FOUND"."CLIMBED_LEVELS_0",
    "FOUND"."CLIMBED_TOTAL_0",
    "FOUND"."DISTINCT_0",
    "FOUND"."GAPS_1",
    "FOUND"."BEFORE_1",
    "FOUND"."ORDERED_STEPS_1",
    "FOUND"."ORDERED_TOTAL_1",
    "FOUND"."DISTINCT_1",
    "FOUND"."FIRST_1",
    "FOUND"."TAIL_2_1"
  FROM (
    SELECT
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_1"."SHARE_0_0",
      "PART_1"."ENHANCED_GAINS_5_1_0",
      "PART_1"."FAR_3_1_0",
      "PART_2"."CLIMBED_0",
      "PART_2"."CLIMBED_LEVELS_0",
      "PART_2"."CLIMBED_TOTAL_0",
      "PART_3"."DISTINCT_0",
      "PART_4"."GAPS_1",
      "PART_4"."BEFORE_1",
      "PART_4"."ORDERED_STEPS_1",
      "PART_4"."ORDERED_TOTAL_1",
      "PART_5"."DISTINCT_1",
      "PART_6"."FIRST_1",
      "PART_6"."TAIL_2_1"
    FROM (
      SELECT
        SUM("N") AS "N",
        CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "SIZE"
      FROM (
        SELECT
          "COUNTED".*
        FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
        INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
          ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
          AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
          AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
          AND NOT "VERDICT"."KEPT"
      ) AS "COUNTED"
    ) AS "PART_0"
    CROSS JOIN (
      SELECT
        COALESCE(SUM(CASE WHEN "IS_0" THEN "M" ELSE 0 END), 0) AS "SHARE_0_0",
        COALESCE(
          SUM(
            CASE
              WHEN (
                CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
              ) > (
                CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0)) * CAST(6 AS DECIMAL(38, 0))
              )
              OR (
                CAST("M" AS DOUBLE) * CAST("TOTAL" AS DOUBLE)
              ) / (
                CAST("SIZE" AS DOUBLE) * CAST("Q" AS DOUBLE)
              ) - 1 > LN(CAST("TOTAL" AS DOUBLE) / CAST("Q" AS DOUBLE))
              THEN 1
              ELSE 0
            END
          ),
          0
        ) AS "ENHANCED_GAINS_5_1_0",
        COALESCE(
          SUM(
            CASE
              WHEN ABS(
                LN(
                  (
                    CAST("M" AS DOUBLE) * CAST("TOTAL" AS DOUBLE)
                  ) / (
                    CAST("SIZE" AS DOUBLE) * CAST("Q" AS DOUBLE)
                  )
                )
              ) > CAST(3 AS DOUBLE)
              THEN 1
              ELSE 0
            END
          ),
          0
        ) AS "FAR_3_1_0"
      FROM (
        SELECT
          "CELLS"."S",
          "CELLS"."M",
          "CELLS"."SIZE",
          "REFERENCE"."Q_HELD" AS "Q",
          "REFERENCE".*
        FROM (
          SELECT
            "HELD"."S",
            "HELD"."M",
            "SIZES"."SIZE"
          FROM (
            SELECT
              "DISEASE_CODE" AS "S",
              CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
              COALESCE(SUM("U"), 0) AS "ALONE",
              CASE
                WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                THEN MAX("R")
                ELSE NULL
              END AS "HOLDER"
            FROM (
              SELECT
                "COUNTED".*
              FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
              INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                AND NOT "VERDICT"."KEPT"
            ) AS "COUNTED"
            GROUP BY
              "DISEASE_CODE"
          ) AS "HELD"
          CROSS JOIN (
            SELECT
              CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "SIZE"
            FROM (
              SELECT
                "COUNTED".*
              FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
              INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                AND NOT "VERDICT"."KEPT"
            ) AS "COUNTED"
          ) AS "SIZES"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_ED687537_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" = "REFERENCE"."CODE"
      ) AS "HELD"
    ) AS "PART_1"
    CROSS JOIN (
      SELECT
        SUM(
          GREATEST(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            ),
            0
          )
        ) AS "CLIMBED_0",
        MAX("LEVELS") AS "CLIMBED_LEVELS_0",
        MAX("TOTAL") AS "CLIMBED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."SIZE",
          "REFERENCE"."Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."LEVELS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "S",
            "M",
            CAST(SUM("M") OVER () AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "S",
              CAST(SUM("M") AS BIGINT) AS "M"
            FROM (
              SELECT
                "DISEASE_CODE" AS "S",
                CAST(SUM("U") AS BIGINT) AS "M"
              FROM (
                SELECT
                  "COUNTED".*
                FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
                INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                  ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                  AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                  AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                  AND NOT "VERDICT"."KEPT"
              ) AS "COUNTED"
              WHERE
                "R" IS NULL
              GROUP BY
                "DISEASE_CODE"
              UNION ALL
              SELECT
                "S",
                COUNT(*) AS "M"
              FROM (
                SELECT
                  "OWN"."S",
                  ROW_NUMBER() OVER (PARTITION BY "OWN"."WHO" ORDER BY "HELD"."M" DESC NULLS LAST, "OWN"."S") AS "CHOICE"
                FROM (
                  SELECT
                    "DISEASE_CODE" AS "S",
                    "R" AS "WHO"
                  FROM (
                    SELECT
                      "COUNTED".*
                    FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
                    INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                      ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                      AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                      AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                      AND NOT "VERDICT"."KEPT"
                  ) AS "COUNTED"
                  WHERE
                    NOT "R" IS NULL
                  GROUP BY
                    "DISEASE_CODE",
                    "R"
                ) AS "OWN"
                JOIN (
                  SELECT
                    "DISEASE_CODE" AS "S",
                    CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
                    COALESCE(SUM("U"), 0) AS "ALONE",
                    CASE
                      WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                      THEN MAX("R")
                      ELSE NULL
                    END AS "HOLDER"
                  FROM (
                    SELECT
                      "COUNTED".*
                    FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
                    INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                      ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                      AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                      AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                      AND NOT "VERDICT"."KEPT"
                  ) AS "COUNTED"
                  GROUP BY
                    "DISEASE_CODE"
                ) AS "HELD"
                  ON "OWN"."S" = "HELD"."S"
              ) AS "CHOICES"
              WHERE
                "CHOICE" = 1
              GROUP BY
                "S"
            ) AS "ASSIGNED"
            GROUP BY
              "S"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_ED687537_LABELS_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" = "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."SIZE",
          "REFERENCE"."LEVEL",
          "REFERENCE"."LABEL",
          "REFERENCE"."Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."LEVELS"
      ) AS "HELD"
    ) AS "PART_2"
    CROSS JOIN (
      SELECT
        COALESCE(SUM(CASE WHEN "M" >= 2 OR "ALONE" >= 1 THEN 1 ELSE 0 END), 0) + COUNT(DISTINCT "HOLDER") AS "DISTINCT_0"
      FROM (
        SELECT
          "DISEASE_CODE" AS "S",
          CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
          COALESCE(SUM("U"), 0) AS "ALONE",
          CASE
            WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
            THEN MAX("R")
            ELSE NULL
          END AS "HOLDER"
        FROM (
          SELECT
            "COUNTED".*
          FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
          INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
            ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
            AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
            AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
            AND NOT "VERDICT"."KEPT"
        ) AS "COUNTED"
        GROUP BY
          "DISEASE_CODE"
      ) AS "HELD"
    ) AS "PART_3"
    CROSS JOIN (
      SELECT
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_1",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_1",
        MAX("STEPS") AS "ORDERED_STEPS_1",
        MAX("TOTAL") AS "ORDERED_TOTAL_1"
      FROM (
        SELECT
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "S",
            "M",
            CAST(SUM("M") OVER () AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "S",
              CAST(SUM("M") AS BIGINT) AS "M"
            FROM (
              SELECT
                "STAGE_CODE" AS "S",
                CAST(SUM("U") AS BIGINT) AS "M"
              FROM (
                SELECT
                  "COUNTED".*
                FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
                INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                  ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                  AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                  AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                  AND NOT "VERDICT"."KEPT"
              ) AS "COUNTED"
              WHERE
                "R" IS NULL
              GROUP BY
                "STAGE_CODE"
              UNION ALL
              SELECT
                "S",
                COUNT(*) AS "M"
              FROM (
                SELECT
                  "OWN"."S",
                  ROW_NUMBER() OVER (PARTITION BY "OWN"."WHO" ORDER BY "HELD"."M" DESC NULLS LAST, "OWN"."S") AS "CHOICE"
                FROM (
                  SELECT
                    "STAGE_CODE" AS "S",
                    "R" AS "WHO"
                  FROM (
                    SELECT
                      "COUNTED".*
                    FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
                    INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                      ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                      AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                      AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                      AND NOT "VERDICT"."KEPT"
                  ) AS "COUNTED"
                  WHERE
                    NOT "R" IS NULL
                  GROUP BY
                    "STAGE_CODE",
                    "R"
                ) AS "OWN"
                JOIN (
                  SELECT
                    "STAGE_CODE" AS "S",
                    CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
                    COALESCE(SUM("U"), 0) AS "ALONE",
                    CASE
                      WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                      THEN MAX("R")
                      ELSE NULL
                    END AS "HOLDER"
                  FROM (
                    SELECT
                      "COUNTED".*
                    FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
                    INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                      ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                      AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                      AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                      AND NOT "VERDICT"."KEPT"
                  ) AS "COUNTED"
                  GROUP BY
                    "STAGE_CODE"
                ) AS "HELD"
                  ON "OWN"."S" = "HELD"."S"
              ) AS "CHOICES"
              WHERE
                "CHOICE" = 1
              GROUP BY
                "S"
            ) AS "ASSIGNED"
            GROUP BY
              "S"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_ED687537_DISTRIBUTION_STAGE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
    ) AS "PART_4"
    CROSS JOIN (
      SELECT
        COALESCE(SUM(CASE WHEN "M" >= 2 OR "ALONE" >= 1 THEN 1 ELSE 0 END), 0) + COUNT(DISTINCT "HOLDER") AS "DISTINCT_1"
      FROM (
        SELECT
          "STAGE_CODE" AS "S",
          CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
          COALESCE(SUM("U"), 0) AS "ALONE",
          CASE
            WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
            THEN MAX("R")
            ELSE NULL
          END AS "HOLDER"
        FROM (
          SELECT
            "COUNTED".*
          FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
          INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
            ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
            AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
            AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
            AND NOT "VERDICT"."KEPT"
        ) AS "COUNTED"
        GROUP BY
          "STAGE_CODE"
      ) AS "HELD"
    ) AS "PART_5"
    CROSS JOIN (
      SELECT
        MAX("M") AS "FIRST_1",
        COALESCE(SUM(CASE WHEN "PLACE" >= 2 THEN "M" ELSE 0 END), 0) AS "TAIL_2_1"
      FROM (
        SELECT
          "M",
          ROW_NUMBER() OVER (ORDER BY "M" DESC NULLS LAST, "S") AS "PLACE"
        FROM (
          SELECT
            "S",
            CAST(SUM("M") AS BIGINT) AS "M"
          FROM (
            SELECT
              "STAGE_CODE" AS "S",
              CAST(SUM("U") AS BIGINT) AS "M"
            FROM (
              SELECT
                "COUNTED".*
              FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
              INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                AND NOT "VERDICT"."KEPT"
            ) AS "COUNTED"
            WHERE
              "R" IS NULL
            GROUP BY
              "STAGE_CODE"
            UNION ALL
            SELECT
              "S",
              COUNT(*) AS "M"
            FROM (
              SELECT
                "OWN"."S",
                ROW_NUMBER() OVER (PARTITION BY "OWN"."WHO" ORDER BY "HELD"."M" DESC NULLS LAST, "OWN"."S") AS "CHOICE"
              FROM (
                SELECT
                  "STAGE_CODE" AS "S",
                  "R" AS "WHO"
                FROM (
                  SELECT
                    "COUNTED".*
                  FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
                  INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                    ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                    AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                    AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                    AND NOT "VERDICT"."KEPT"
                ) AS "COUNTED"
                WHERE
                  NOT "R" IS NULL
                GROUP BY
                  "STAGE_CODE",
                  "R"
              ) AS "OWN"
              JOIN (
                SELECT
                  "STAGE_CODE" AS "S",
                  CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) AS "M",
                  COALESCE(SUM("U"), 0) AS "ALONE",
                  CASE
                    WHEN CAST(COALESCE(SUM("U"), 0) + COUNT(DISTINCT "R") AS BIGINT) = 1
                    THEN MAX("R")
                    ELSE NULL
                  END AS "HOLDER"
                FROM (
                  SELECT
                    "COUNTED".*
                  FROM "SQLANON_SCRIPT_ED687537_COUNTED" AS "COUNTED"
                  INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "VERDICT"
                    ON "COUNTED"."ZIP_CODE" = "VERDICT"."ZIP_CODE"
                    AND "COUNTED"."AGE_CODE" = "VERDICT"."AGE_CODE"
                    AND "COUNTED"."SEX_VALUE" = "VERDICT"."SEX_VALUE"
                    AND NOT "VERDICT"."KEPT"
                ) AS "COUNTED"
                GROUP BY
                  "STAGE_CODE"
              ) AS "HELD"
                ON "OWN"."S" = "HELD"."S"
            ) AS "CHOICES"
            WHERE
              "CHOICE" = 1
            GROUP BY
              "S"
          ) AS "ASSIGNED"
          GROUP BY
            "S"
        ) AS "CELLS"
      ) AS "HELD"
    ) AS "PART_6"
  ) AS "FOUND"
  LEFT JOIN (
    SELECT
      CAST(SUM("W") AS BIGINT) AS "W"
    FROM "SQLANON_SCRIPT_ED687537_EVERYBODY"
  ) AS "EVERYBODY"
    ON TRUE
) AS "BLANKED";

-- The release, with person for the audit, in no order that tells of the source.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_STAGED" AS
SELECT
  CASE WHEN "CLASS"."KEPT" THEN "HIERARCHY_ZIP"."LABEL_1" ELSE CAST('*' AS VARCHAR) END AS "ZIP",
  CASE WHEN "CLASS"."KEPT" THEN "HIERARCHY_AGE"."LABEL_1" ELSE CAST('*' AS VARCHAR) END AS "AGE",
  CASE WHEN "CLASS"."KEPT" THEN "SOURCE"."SEX" ELSE CAST('*' AS VARCHAR) END AS "SEX",
  "SOURCE"."DISEASE",
  "SOURCE"."STAGE",
  "SOURCE"."PERSON"
FROM "SOURCE_TABLE" AS "SOURCE"
LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_ZIP" AS "HIERARCHY_ZIP"
  ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "HIERARCHY_ZIP"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_AGE" AS "HIERARCHY_AGE"
  ON "SOURCE"."AGE" = "HIERARCHY_AGE"."VALUE"
INNER JOIN "SQLANON_SCRIPT_ED687537_CLASSES" AS "CLASS"
  ON CASE
    WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
    THEN 0
    ELSE "HIERARCHY_ZIP"."CODE_1"
  END = "CLASS"."ZIP_CODE"
  AND CASE WHEN "SOURCE"."AGE" IS NULL THEN 0 ELSE "HIERARCHY_AGE"."CODE_1" END = "CLASS"."AGE_CODE"
  AND COALESCE('=' || COLLATE(CAST("SOURCE"."SEX" AS VARCHAR), 'utf8'), '') = "CLASS"."SEX_VALUE"
WHERE
  "CLASS"."KEPT"
  OR COALESCE((
    SELECT
      "SATISFIED"
    FROM "SQLANON_SCRIPT_ED687537_BLANKED"
  ), FALSE)
ORDER BY
  RANDOM();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: the classes in the staged table.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_AUDIT_0" AS
SELECT
  COALESCE(SUM("ROWS"), 0) AS "ROWS",
  COUNT(*) AS "CLASSES",
  COALESCE(MIN("SIZE"), 0) AS "SMALLEST_CLASS",
  COALESCE(SUM(CASE WHEN "SIZE" < 2 THEN 1 ELSE 0 END), 0) AS "CLASSES_FAILING_K"
FROM (
  SELECT
    COUNT(DISTINCT COLLATE(CAST("AUDITED"."PERSON" AS VARCHAR), 'utf8')) + MAX(CASE WHEN COLLATE(CAST("AUDITED"."PERSON" AS VARCHAR), 'utf8') IS NULL THEN 1 ELSE 0 END) AS "SIZE",
    COUNT(*) AS "ROWS"
  FROM "SQLANON_SCRIPT_ED687537_STAGED" AS "AUDITED"
  GROUP BY
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8')
) AS "CLASSES";

-- Audit: stop unless there are classes and every one has at least 2 persons.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_K") = 0 AND MIN("ROWS") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0";

-- Audit: the values of disease.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_AUDIT_0_0_VALUES" AS
SELECT
  (
    SELECT
      COUNT(*)
    FROM "SQLANON_SCRIPT_ED687537_STAGED" AS "AUDITED"
  ) AS "ROWS",
  (
    SELECT
      COUNT(*)
    FROM "SOURCE_TABLE" AS "SOURCE"
  ) AS "REFERENCE_ROWS",
  COUNT(*) AS "DISTINCT_VALUES",
  COALESCE(SUM(CASE WHEN "VALUE" IS NULL THEN 1 ELSE 0 END), 0) AS "NULLS",
  0 AS "OUTSIDE_ORDER",
  COALESCE(SUM(CASE WHEN "COVERED" IS NULL AND NOT "VALUE" IS NULL THEN 1 ELSE 0 END), 0) AS "OUTSIDE_HIERARCHY"
FROM (
  SELECT
    "DOMAIN"."VALUE",
    COLLATE(CAST("TAXONOMY"."VALUE" AS VARCHAR), 'utf8') AS "COVERED"
  FROM (
    SELECT DISTINCT
      COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE"
    FROM "SQLANON_SCRIPT_ED687537_STAGED" AS "AUDITED"
    UNION
    SELECT DISTINCT
      COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE"
    FROM "SOURCE_TABLE" AS "SOURCE"
  ) AS "DOMAIN"
  LEFT JOIN (
    SELECT
      "VALUE",
      "LABEL_1",
      "LABEL_2"
    FROM "SQLANON_SCRIPT_ED687537_HIERARCHY_DISEASE"
    WHERE
      NOT "VALUE" IS NULL
  ) AS "TAXONOMY"
    ON "DOMAIN"."VALUE" = COLLATE(CAST("TAXONOMY"."VALUE" AS VARCHAR), 'utf8')
) AS "KNOWN";

-- Audit: stop unless every value of disease has a place in its order and in its hierarchy.
SELECT
  CAST(CASE
    WHEN MAX("OUTSIDE_ORDER") = 0 AND MAX("OUTSIDE_HIERARCHY") = 0 AND MIN("REFERENCE_ROWS") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: a value of disease has no place in its order or hierarchy'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_0_VALUES";

-- Audit: disease in the classes of the staged table, and how many of them fail.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_AUDIT_0_0" AS
WITH "SQLANON_AUDIT_DOMAIN" AS (
  SELECT
    "VALUE",
    ROW_NUMBER() OVER (ORDER BY "VALUE" NULLS FIRST) AS "CODE"
  FROM (
    SELECT DISTINCT
      COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE"
    FROM "SQLANON_SCRIPT_ED687537_STAGED" AS "AUDITED"
    UNION
    SELECT DISTINCT
      COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE"
    FROM "SOURCE_TABLE" AS "SOURCE"
  ) AS "FOUND"
), "SQLANON_AUDIT_SOURCE_HOLDINGS" AS (
  SELECT
    COLLATE(CAST("SOURCE"."PERSON" AS VARCHAR), 'utf8') AS "PERSON",
    CASE
      WHEN COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') IS NULL
      THEN 1
      ELSE "DOMAIN"."CODE"
    END AS "CODE",
    COUNT(*) AS "ROWS",
    ROW_NUMBER() OVER (ORDER BY 1) AS "NUMBER"
  FROM "SOURCE_TABLE" AS "SOURCE"
  LEFT JOIN "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
    ON COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') = "DOMAIN"."VALUE"
  GROUP BY
    COLLATE(CAST("SOURCE"."PERSON" AS VARCHAR), 'utf8'),
    CASE
      WHEN COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') IS NULL
      THEN 1
      ELSE "DOMAIN"."CODE"
    END
), "SQLANON_AUDIT_SOURCE_PLACED" AS (
  SELECT
    1 AS "CLASS",
    "PERSON",
    "CODE",
    "ROWS",
    COUNT(*) OVER (PARTITION BY "CODE") AS "HELD"
  FROM "SQLANON_AUDIT_SOURCE_HOLDINGS" AS "SOURCE_HOLDINGS"
), "SQLANON_AUDIT_SOURCE_CHOSEN" AS (
  SELECT
    "CLASS",
    "CODE",
    "ROWS",
    "HELD",
    ROW_NUMBER() OVER (PARTITION BY "CLASS", "PERSON" ORDER BY "HELD" DESC NULLS LAST, "CODE") AS "PLACE",
    MIN("HELD") OVER (PARTITION BY "CLASS", "PERSON") AS "LEAST"
  FROM "SQLANON_AUDIT_SOURCE_PLACED" AS "SOURCE_PLACED"
), "SQLANON_AUDIT_SOURCE_CELLS" AS (
  SELECT
    "CLASS",
    "CODE",
    COUNT(*) AS "HELD",
    COUNT(CASE WHEN "PLACE" = 1 THEN 1 END) AS "MEMBERS",
    CAST(SUM("ROWS") AS BIGINT) AS "ROWS",
    COUNT(CASE WHEN "PLACE" = 1 AND "LEAST" = 1 THEN 1 END) AS "SOLE"
  FROM "SQLANON_AUDIT_SOURCE_CHOSEN" AS "SOURCE_CHOSEN"
  GROUP BY
    "CLASS",
    "CODE"
), "SQLANON_AUDIT_COUNTED" AS (
  SELECT
    "DOMAIN"."VALUE",
    "DOMAIN"."CODE",
    COALESCE("SOURCE_CELLS"."MEMBERS", 0) AS "REFERENCE",
    COALESCE("SOURCE_CELLS"."HELD", 0) AS "HELD_REFERENCE"
  FROM "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
  LEFT JOIN "SQLANON_AUDIT_SOURCE_CELLS" AS "SOURCE_CELLS"
    ON "DOMAIN"."CODE" = "SOURCE_CELLS"."CODE"
), "SQLANON_AUDIT_LABELLED" AS (
  SELECT
    "COUNTED".*,
    MIN("COUNTED"."CODE") OVER (PARTITION BY "TAXONOMY"."LABEL_1") AS "NODE_1",
    CAST(SUM("COUNTED"."REFERENCE") OVER (PARTITION BY "TAXONOMY"."LABEL_1") AS BIGINT) AS "REFERENCE_1"
  FROM "SQLANON_AUDIT_COUNTED" AS "COUNTED"
  LEFT JOIN (
    SELECT
      "VALUE",
      "LABEL_1",
      "LABEL_2"
    FROM "SQLANON_SCRIPT_ED687537_HIERARCHY_DISEASE"
    WHERE
      NOT "VALUE" IS NULL
  ) AS "TAXONOMY"
    ON "COUNTED"."VALUE" = COLLATE(CAST("TAXONOMY"."VALUE" AS VARCHAR), 'utf8')
), "SQLANON_AUDIT_REFERENCE" AS (
  SELECT
    *,
    CAST(SUM("REFERENCE") OVER () AS BIGINT) AS "TOTAL",
    COUNT(CASE WHEN "HELD_REFERENCE" > 0 THEN 1 END) OVER () AS "REFERENCE_VALUES",
    CASE WHEN "HELD_REFERENCE" > 0 THEN CAST("HELD_REFERENCE" AS DOUBLE) END AS "DIVISOR",
    CASE WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'flu' THEN 1 ELSE 0 END AS "FLAG_0"
  FROM "SQLANON_AUDIT_LABELLED" AS "LABELLED"
), "SQLANON_AUDIT_AUDITED_HOLDINGS" AS (
  SELECT
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8') AS "K_0",
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8') AS "K_1",
    COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8') AS "K_2",
    COLLATE(CAST("AUDITED"."PERSON" AS VARCHAR), 'utf8') AS "PERSON",
    CASE
      WHEN COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') IS NULL
      THEN 1
      ELSE "DOMAIN"."CODE"
    END AS "CODE",
    COUNT(*) AS "ROWS",
    ROW_NUMBER() OVER (ORDER BY 1) AS "NUMBER"
  FROM "SQLANON_SCRIPT_ED687537_STAGED" AS "AUDITED"
  LEFT JOIN "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
    ON COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') = "DOMAIN"."VALUE"
  GROUP BY
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."PERSON" AS VARCHAR), 'utf8'),
    CASE
      WHEN COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') IS NULL
      THEN 1
      ELSE "DOMAIN"."CODE"
    END
), "SQLANON_AUDIT_AUDITED_PLACED" AS (
  SELECT
    MIN("NUMBER") OVER (PARTITION BY "K_0", "K_1", "K_2") AS "CLASS",
    "PERSON",
    "CODE",
    "ROWS",
    COUNT(*) OVER (PARTITION BY "K_0", "K_1", "K_2", "CODE") AS "HELD"
  FROM "SQLANON_AUDIT_AUDITED_HOLDINGS" AS "AUDITED_HOLDINGS"
), "SQLANON_AUDIT_AUDITED_CHOSEN" AS (
  SELECT
    "CLASS",
    "CODE",
    "ROWS",
    "HELD",
    ROW_NUMBER() OVER (PARTITION BY "CLASS", "PERSON" ORDER BY "HELD" DESC NULLS LAST, "CODE") AS "PLACE",
    MIN("HELD") OVER (PARTITION BY "CLASS", "PERSON") AS "LEAST"
  FROM "SQLANON_AUDIT_AUDITED_PLACED" AS "AUDITED_PLACED"
), "SQLANON_AUDIT_AUDITED_CELLS" AS (
  SELECT
    "CLASS",
    "CODE",
    COUNT(*) AS "HELD",
    COUNT(CASE WHEN "PLACE" = 1 THEN 1 END) AS "MEMBERS",
    CAST(SUM("ROWS") AS BIGINT) AS "ROWS",
    COUNT(CASE WHEN "PLACE" = 1 AND "LEAST" = 1 THEN 1 END) AS "SOLE"
  FROM "SQLANON_AUDIT_AUDITED_CHOSEN" AS "AUDITED_CHOSEN"
  GROUP BY
    "CLASS",
    "CODE"
), "SQLANON_AUDIT_SIZES" AS (
  SELECT
    "CLASS",
    "CODE",
    "HELD",
    "MEMBERS",
    CAST(SUM("MEMBERS") OVER (PARTITION BY "CLASS") AS BIGINT) AS "SIZE",
    CAST(SUM("ROWS") OVER (PARTITION BY "CLASS") AS BIGINT) AS "ROWS",
    CAST(SUM("SOLE") OVER (PARTITION BY "CLASS") AS BIGINT) AS "SOLE"
  FROM "SQLANON_AUDIT_AUDITED_CELLS" AS "AUDITED_CELLS"
), "SQLANON_AUDIT_WEIGHED" AS (
  SELECT
    "SIZES"."CLASS",
    "SIZES"."SIZE",
    "SIZES"."MEMBERS",
    "SIZES"."HELD",
    "SIZES"."ROWS",
    "SIZES"."SOLE",
    "REFERENCE".*
  FROM "SQLANON_AUDIT_SIZES" AS "SIZES"
  JOIN "SQLANON_AUDIT_REFERENCE" AS "REFERENCE"
    ON "SIZES"."CODE" = "REFERENCE"."CODE"
), "SQLANON_AUDIT_SORTED" AS (
  SELECT
    *,
    CAST(SUM("MEMBERS") OVER (PARTITION BY "CLASS", "NODE_1") AS BIGINT) AS "MEMBERS_1",
    "CODE" = MIN("CODE") OVER (PARTITION BY "CLASS", "NODE_1") AS "FIRST_1"
  FROM "SQLANON_AUDIT_WEIGHED" AS "WEIGHED"
), "SQLANON_AUDIT_MEASURED" AS (
  SELECT
    "CLASS",
    "SIZE",
    "ROWS",
    MAX("TOTAL") AS "TOTAL",
    SUM("MEMBERS") AS "COUNTED",
    LEAST_IGNORE_NULLS(MIN("SIZE"), COALESCE(SUM(CASE WHEN "HELD" >= 2 THEN 1 ELSE 0 END), 0) + MIN("SOLE")) AS "DISTINCT",
    MAX(CASE WHEN "HELD" >= 1 THEN CAST("HELD" AS DOUBLE) / "DIVISOR" END) AS "LIFT_GREATEST",
    MIN(CASE WHEN "HELD" >= 1 THEN CAST("HELD" AS DOUBLE) / "DIVISOR" END) AS "LIFT_LEAST",
    COALESCE(SUM(CASE WHEN "HELD" >= 1 AND "HELD_REFERENCE" < 1 THEN 1 ELSE 0 END), 0) AS "OUTSIDE",
    SUM(
      GREATEST_IGNORE_NULLS(
        CAST(0 AS DECIMAL(38, 0)),
        CAST("MEMBERS" AS DECIMAL(38, 0)) * "TOTAL" - CAST("SIZE" AS DECIMAL(38, 0)) * "REFERENCE"
      ) + CASE
        WHEN "FIRST_1"
        THEN GREATEST_IGNORE_NULLS(
          CAST(0 AS DECIMAL(38, 0)),
          CAST("MEMBERS_1" AS DECIMAL(38, 0)) * "TOTAL" - CAST("SIZE" AS DECIMAL(38, 0)) * "REFERENCE_1"
        )
        ELSE CAST(0 AS DECIMAL(38, 0))
      END
    ) AS "NODES",
    COALESCE(SUM(CASE WHEN "FLAG_0" = 1 THEN "HELD" ELSE 0 END), 0) AS "FLAGGED_0",
    COALESCE(
      SUM(
        CASE
          WHEN CAST("HELD" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) > CAST("SIZE" AS DECIMAL(38, 0)) * CAST("HELD_REFERENCE" AS DECIMAL(38, 0)) * CAST(6 AS DECIMAL(38, 0))
          THEN 1
          ELSE 0
        END
      ),
      0
    ) AS "BEYOND_3",
    COALESCE(
      SUM(
        CASE
          WHEN CASE
            WHEN "HELD_REFERENCE" >= 1
            THEN (
              CAST("HELD" AS DOUBLE) * CAST("TOTAL" AS DOUBLE)
            ) / (
              CAST("SIZE" AS DOUBLE) * CAST("HELD_REFERENCE" AS DOUBLE)
            ) - CAST(1 AS DOUBLE) > LN(CAST("TOTAL" AS DOUBLE) / CAST("HELD_REFERENCE" AS DOUBLE))
            ELSE FALSE
          END
          THEN 1
          ELSE 0
        END
      ),
      0
    ) AS "BEYOND_LOGARITHM"
  FROM "SQLANON_AUDIT_SORTED" AS "SORTED"
  GROUP BY
    "CLASS",
    "SIZE",
    "ROWS"
)
SELECT
  COUNT(*) AS "CLASSES",
  COALESCE(SUM(CASE WHEN "COUNTED" <> "SIZE" THEN 1 ELSE 0 END), 0) AS "UNCOUNTED",
  COALESCE(SUM(CASE WHEN "DISTINCT" >= 2 THEN 0 ELSE 1 END), 0) AS "CLASSES_FAILING_0",
  COALESCE(
    SUM(
      CASE
        WHEN CAST("NODES" AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0)) <= CAST("SIZE" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0)) * CAST(3 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS "CLASSES_FAILING_1",
  COALESCE(
    SUM(
      CASE
        WHEN CAST("FLAGGED_0" AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0)) <= CAST("SIZE" AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS "CLASSES_FAILING_2",
  COALESCE(
    SUM(CASE WHEN "BEYOND_3" = 0 AND "BEYOND_LOGARITHM" = 0 AND "OUTSIDE" = 0 THEN 0 ELSE 1 END),
    0
  ) AS "CLASSES_FAILING_3",
  COALESCE(
    SUM(
      CASE
        WHEN "OUTSIDE" = 0
        AND LN((
          "LIFT_GREATEST" * CAST("TOTAL" AS DOUBLE)
        ) / CAST("SIZE" AS DOUBLE)) <= CAST(3 AS DOUBLE)
        AND LN((
          "LIFT_LEAST" * CAST("TOTAL" AS DOUBLE)
        ) / CAST("SIZE" AS DOUBLE)) >= -CAST(3 AS DOUBLE)
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS "CLASSES_FAILING_4"
FROM "SQLANON_AUDIT_MEASURED" AS "MEASURED";

-- Audit: stop unless l_diversity of disease holds: l = 2.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_0") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: l_diversity disease'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_0";

-- Audit: stop unless t_closeness of disease holds: t = 0.6 (hierarchical).
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_1") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: t_closeness disease'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_0";

-- Audit: stop unless alpha of disease holds: alpha = 0.8.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_2") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: alpha disease'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_0";

-- Audit: stop unless beta_likeness of disease holds: beta = 5 (enhanced).
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_3") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: beta_likeness disease'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_0";

-- Audit: stop unless delta_disclosure of disease holds: delta = 3.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_4") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: delta_disclosure disease'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_0";

-- Audit: stage in the classes of the staged table, and how many of them fail.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_AUDIT_0_1" AS
WITH "SQLANON_AUDIT_DOMAIN" AS (
  SELECT
    "VALUE",
    ROW_NUMBER() OVER (ORDER BY "VALUE" NULLS FIRST) AS "CODE"
  FROM (
    SELECT DISTINCT
      "AUDITED"."STAGE" AS "VALUE"
    FROM "SQLANON_SCRIPT_ED687537_STAGED" AS "AUDITED"
    UNION
    SELECT DISTINCT
      "SOURCE"."STAGE" AS "VALUE"
    FROM "SOURCE_TABLE" AS "SOURCE"
  ) AS "FOUND"
), "SQLANON_AUDIT_SOURCE_HOLDINGS" AS (
  SELECT
    COLLATE(CAST("SOURCE"."PERSON" AS VARCHAR), 'utf8') AS "PERSON",
    CASE WHEN "SOURCE"."STAGE" IS NULL THEN 1 ELSE "DOMAIN"."CODE" END AS "CODE",
    COUNT(*) AS "ROWS",
    ROW_NUMBER() OVER (ORDER BY 1) AS "NUMBER"
  FROM "SOURCE_TABLE" AS "SOURCE"
  LEFT JOIN "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
    ON "SOURCE"."STAGE" = "DOMAIN"."VALUE"
  GROUP BY
    COLLATE(CAST("SOURCE"."PERSON" AS VARCHAR), 'utf8'),
    CASE WHEN "SOURCE"."STAGE" IS NULL THEN 1 ELSE "DOMAIN"."CODE" END
), "SQLANON_AUDIT_SOURCE_PLACED" AS (
  SELECT
    1 AS "CLASS",
    "PERSON",
    "CODE",
    "ROWS",
    COUNT(*) OVER (PARTITION BY "CODE") AS "HELD"
  FROM "SQLANON_AUDIT_SOURCE_HOLDINGS" AS "SOURCE_HOLDINGS"
), "SQLANON_AUDIT_SOURCE_CHOSEN" AS (
  SELECT
    "CLASS",
    "CODE",
    "ROWS",
    "HELD",
    ROW_NUMBER() OVER (PARTITION BY "CLASS", "PERSON" ORDER BY "HELD" DESC NULLS LAST, "CODE") AS "PLACE",
    MIN("HELD") OVER (PARTITION BY "CLASS", "PERSON") AS "LEAST"
  FROM "SQLANON_AUDIT_SOURCE_PLACED" AS "SOURCE_PLACED"
), "SQLANON_AUDIT_SOURCE_CELLS" AS (
  SELECT
    "CLASS",
    "CODE",
    COUNT(*) AS "HELD",
    COUNT(CASE WHEN "PLACE" = 1 THEN 1 END) AS "MEMBERS",
    CAST(SUM("ROWS") AS BIGINT) AS "ROWS",
    COUNT(CASE WHEN "PLACE" = 1 AND "LEAST" = 1 THEN 1 END) AS "SOLE"
  FROM "SQLANON_AUDIT_SOURCE_CHOSEN" AS "SOURCE_CHOSEN"
  GROUP BY
    "CLASS",
    "CODE"
), "SQLANON_AUDIT_COUNTED" AS (
  SELECT
    "DOMAIN"."VALUE",
    "DOMAIN"."CODE",
    COALESCE("SOURCE_CELLS"."MEMBERS", 0) AS "REFERENCE",
    COALESCE("SOURCE_CELLS"."HELD", 0) AS "HELD_REFERENCE"
  FROM "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
  LEFT JOIN "SQLANON_AUDIT_SOURCE_CELLS" AS "SOURCE_CELLS"
    ON "DOMAIN"."CODE" = "SOURCE_CELLS"."CODE"
), "SQLANON_AUDIT_RANKED" AS (
  SELECT
    *,
    "CODE" AS "RANK"
  FROM "SQLANON_AUDIT_COUNTED" AS "COUNTED"
), "SQLANON_AUDIT_PLACED" AS (
  SELECT
    *,
    SUM(CAST("BELOW" AS DECIMAL(38, 0))) OVER (ORDER BY "PLACE") - CAST("BELOW" AS DECIMAL(38, 0)) AS "BEFORE",
    COUNT(*) OVER () AS "PLACES",
    SUM(CAST("BELOW" AS DECIMAL(38, 0))) OVER () AS "WORK"
  FROM (
    SELECT
      *,
      ROW_NUMBER() OVER (ORDER BY "RANK", "CODE") AS "PLACE",
      CAST(SUM("REFERENCE") OVER (ORDER BY "RANK", "CODE") AS BIGINT) AS "BELOW"
    FROM "SQLANON_AUDIT_RANKED" AS "RANKED"
  ) AS "FIRST"
), "SQLANON_AUDIT_REFERENCE" AS (
  SELECT
    *,
    CAST(SUM("REFERENCE") OVER () AS BIGINT) AS "TOTAL",
    COUNT(CASE WHEN "HELD_REFERENCE" > 0 THEN 1 END) OVER () AS "REFERENCE_VALUES",
    CASE WHEN "HELD_REFERENCE" > 0 THEN CAST("HELD_REFERENCE" AS DOUBLE) END AS "DIVISOR"
  FROM "SQLANON_AUDIT_PLACED" AS "PLACED"
), "SQLANON_AUDIT_AUDITED_HOLDINGS" AS (
  SELECT
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8') AS "K_0",
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8') AS "K_1",
    COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8') AS "K_2",
    COLLATE(CAST("AUDITED"."PERSON" AS VARCHAR), 'utf8') AS "PERSON",
    CASE WHEN "AUDITED"."STAGE" IS NULL THEN 1 ELSE "DOMAIN"."CODE" END AS "CODE",
    COUNT(*) AS "ROWS",
    ROW_NUMBER() OVER (ORDER BY 1) AS "NUMBER"
  FROM "SQLANON_SCRIPT_ED687537_STAGED" AS "AUDITED"
  LEFT JOIN "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
    ON "AUDITED"."STAGE" = "DOMAIN"."VALUE"
  GROUP BY
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."PERSON" AS VARCHAR), 'utf8'),
    CASE WHEN "AUDITED"."STAGE" IS NULL THEN 1 ELSE "DOMAIN"."CODE" END
), "SQLANON_AUDIT_AUDITED_PLACED" AS (
  SELECT
    MIN("NUMBER") OVER (PARTITION BY "K_0", "K_1", "K_2") AS "CLASS",
    "PERSON",
    "CODE",
    "ROWS",
    COUNT(*) OVER (PARTITION BY "K_0", "K_1", "K_2", "CODE") AS "HELD"
  FROM "SQLANON_AUDIT_AUDITED_HOLDINGS" AS "AUDITED_HOLDINGS"
), "SQLANON_AUDIT_AUDITED_CHOSEN" AS (
  SELECT
    "CLASS",
    "CODE",
    "ROWS",
    "HELD",
    ROW_NUMBER() OVER (PARTITION BY "CLASS", "PERSON" ORDER BY "HELD" DESC NULLS LAST, "CODE") AS "PLACE",
    MIN("HELD") OVER (PARTITION BY "CLASS", "PERSON") AS "LEAST"
  FROM "SQLANON_AUDIT_AUDITED_PLACED" AS "AUDITED_PLACED"
), "SQLANON_AUDIT_AUDITED_CELLS" AS (
  SELECT
    "CLASS",
    "CODE",
    COUNT(*) AS "HELD",
    COUNT(CASE WHEN "PLACE" = 1 THEN 1 END) AS "MEMBERS",
    CAST(SUM("ROWS") AS BIGINT) AS "ROWS",
    COUNT(CASE WHEN "PLACE" = 1 AND "LEAST" = 1 THEN 1 END) AS "SOLE"
  FROM "SQLANON_AUDIT_AUDITED_CHOSEN" AS "AUDITED_CHOSEN"
  GROUP BY
    "CLASS",
    "CODE"
), "SQLANON_AUDIT_SIZES" AS (
  SELECT
    "CLASS",
    "CODE",
    "HELD",
    "MEMBERS",
    CAST(SUM("MEMBERS") OVER (PARTITION BY "CLASS") AS BIGINT) AS "SIZE",
    CAST(SUM("ROWS") OVER (PARTITION BY "CLASS") AS BIGINT) AS "ROWS",
    CAST(SUM("SOLE") OVER (PARTITION BY "CLASS") AS BIGINT) AS "SOLE"
  FROM "SQLANON_AUDIT_AUDITED_CELLS" AS "AUDITED_CELLS"
), "SQLANON_AUDIT_WEIGHED" AS (
  SELECT
    "SIZES"."CLASS",
    "SIZES"."SIZE",
    "SIZES"."MEMBERS",
    "SIZES"."HELD",
    "SIZES"."ROWS",
    "SIZES"."SOLE",
    "REFERENCE".*
  FROM "SQLANON_AUDIT_SIZES" AS "SIZES"
  JOIN "SQLANON_AUDIT_REFERENCE" AS "REFERENCE"
    ON "SIZES"."CODE" = "REFERENCE"."CODE"
), "SQLANON_AUDIT_SPREAD" AS (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY "CLASS" ORDER BY "MEMBERS" DESC NULLS LAST, "CODE") AS "RANK_BY_MEMBERS",
    CAST(SUM("MEMBERS") OVER (PARTITION BY "CLASS" ORDER BY "PLACE") AS BIGINT) AS "REACHED",
    LAG("PLACE") OVER (PARTITION BY "CLASS" ORDER BY "PLACE") AS "LAST_PLACE",
    LEAD("PLACE") OVER (PARTITION BY "CLASS" ORDER BY "PLACE") AS "NEXT_PLACE",
    LEAD("BEFORE") OVER (PARTITION BY "CLASS" ORDER BY "PLACE") AS "NEXT_BEFORE"
  FROM "SQLANON_AUDIT_WEIGHED" AS "WEIGHED"
), "SQLANON_AUDIT_WALKED" AS (
  SELECT
    *,
    "REACHED" * CAST(CAST((
      (
        "TOTAL"
      ) - (
        "TOTAL"
      ) % (
        "SIZE"
      )
    ) / (
      "SIZE"
    ) AS BIGINT) AS BIGINT) + CAST(CAST((
      (
        "REACHED" * (
          "TOTAL" % "SIZE"
        )
      ) - (
        "REACHED" * (
          "TOTAL" % "SIZE"
        )
      ) % (
        "SIZE"
      )
    ) / (
      "SIZE"
    ) AS BIGINT) AS BIGINT) AS "MARK"
  FROM "SQLANON_AUDIT_SPREAD" AS "SPREAD"
), "SQLANON_AUDIT_MARKS" AS (
  SELECT
    "MARK",
    MAX("PLACE") AS "PLACE",
    MAX("UPTO") AS "UPTO"
  FROM (
    SELECT
      "BELOW" AS "MARK",
      "PLACE",
      "BEFORE" + CAST("BELOW" AS DECIMAL(38, 0)) AS "UPTO"
    FROM "SQLANON_AUDIT_REFERENCE" AS "REFERENCE"
    UNION ALL
    SELECT DISTINCT
      "MARK",
      0 AS "PLACE",
      CAST(0 AS DECIMAL(38, 0)) AS "UPTO"
    FROM "SQLANON_AUDIT_WALKED" AS "WALKED"
  ) AS "BOTH"
  GROUP BY
    "MARK"
), "SQLANON_AUDIT_CROSSINGS" AS (
  SELECT
    "MARK",
    MAX("PLACE") OVER (ORDER BY "MARK") AS "CROSSING",
    MAX("UPTO") OVER (ORDER BY "MARK") AS "CROSSING_UPTO"
  FROM "SQLANON_AUDIT_MARKS" AS "MARKS"
), "SQLANON_AUDIT_SORTED" AS (
  SELECT
    "WALKED".*,
    CAST("REACHED" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0)) * (
      2 * CAST(LEAST_IGNORE_NULLS(GREATEST_IGNORE_NULLS("CROSSING", (
        "PLACE" - 1
      )), COALESCE("NEXT_PLACE" - 1, "PLACES")) AS DECIMAL(38, 0)) - CAST((
        "PLACE" - 1
      ) AS DECIMAL(38, 0)) - CAST(COALESCE("NEXT_PLACE" - 1, "PLACES") AS DECIMAL(38, 0))
    ) + CAST("SIZE" AS DECIMAL(38, 0)) * (
      CAST("BEFORE" AS DECIMAL(38, 0)) + CAST(COALESCE("NEXT_BEFORE", "WORK") AS DECIMAL(38, 0)) - 2 * CAST(LEAST_IGNORE_NULLS(GREATEST_IGNORE_NULLS("CROSSING_UPTO", "BEFORE"), COALESCE("NEXT_BEFORE", "WORK")) AS DECIMAL(38, 0))
    ) + CASE
      WHEN "LAST_PLACE" IS NULL
      THEN CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE" AS DECIMAL(38, 0))
      ELSE CAST(0 AS DECIMAL(38, 0))
    END AS "STRETCH"
  FROM "SQLANON_AUDIT_WALKED" AS "WALKED"
  JOIN "SQLANON_AUDIT_CROSSINGS" AS "CROSSINGS"
    ON "WALKED"."MARK" = "CROSSINGS"."MARK"
), "SQLANON_AUDIT_MEASURED" AS (
  SELECT
    "CLASS",
    "SIZE",
    "ROWS",
    MAX("TOTAL") AS "TOTAL",
    SUM("MEMBERS") AS "COUNTED",
    LEAST_IGNORE_NULLS(MIN("SIZE"), COALESCE(SUM(CASE WHEN "HELD" >= 2 THEN 1 ELSE 0 END), 0) + MIN("SOLE")) AS "DISTINCT",
    MAX("MEMBERS") AS "MOST",
    COALESCE(SUM(CASE WHEN "RANK_BY_MEMBERS" >= 2 THEN "MEMBERS" ELSE 0 END), 0) AS "TAIL_2",
    SUM("STRETCH") AS "STRETCHES",
    GREATEST_IGNORE_NULLS(MAX("PLACES") - 1, 1) AS "STEPS"
  FROM "SQLANON_AUDIT_SORTED" AS "SORTED"
  GROUP BY
    "CLASS",
    "SIZE",
    "ROWS"
)
SELECT
  COUNT(*) AS "CLASSES",
  COALESCE(SUM(CASE WHEN "COUNTED" <> "SIZE" THEN 1 ELSE 0 END), 0) AS "UNCOUNTED",
  COALESCE(
    SUM(
      CASE
        WHEN CAST("MOST" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) < CAST("TAIL_2" AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS "CLASSES_FAILING_0",
  COALESCE(
    SUM(
      CASE
        WHEN CAST("STRETCHES" AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0)) <= CAST("SIZE" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0)) * CAST("STEPS" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS "CLASSES_FAILING_1",
  COALESCE(SUM(CASE WHEN "DISTINCT" >= 2 THEN 0 ELSE 1 END), 0) AS "CLASSES_FAILING_2"
FROM "SQLANON_AUDIT_MEASURED" AS "MEASURED";

-- Audit: stop unless l_diversity of stage holds: l = 2, c = 4 (recursive).
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_0") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: l_diversity stage'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_1";

-- Audit: stop unless t_closeness of stage holds: t = 0.5 (ordered).
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_1") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: t_closeness stage'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_1";

-- Audit: stop unless p_sensitive of stage holds: p = 2.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_2") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: p_sensitive stage'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_1";

-- Audit: the classes of the staged table, matched with the population.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_ED687537_AUDIT_0_POPULATION" AS
SELECT
  COALESCE(SUM("POPULATION"), 0) AS "POPULATION_ROWS",
  COALESCE(SUM(CASE WHEN "SIZE" >= 1 THEN 1 ELSE 0 END), 0) AS "CLASSES",
  COALESCE(SUM(CASE WHEN "SIZE" >= 1 AND "POPULATION" < 3 THEN 1 ELSE 0 END), 0) AS "CLASSES_FAILING_K_MAP",
  COALESCE(
    SUM(
      CASE
        WHEN NOT (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) >= CAST("POPULATION" AS DECIMAL(38, 0)) * CAST(0 AS DECIMAL(38, 0))
          AND CAST("SIZE" AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0)) <= CAST("POPULATION" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0))
        )
        THEN 1
        ELSE 0
      END
    ),
    0
  ) AS "CLASSES_FAILING_DELTA_PRESENCE"
FROM (
  SELECT
    CAST(SUM("SIZE") AS BIGINT) AS "SIZE",
    CAST(SUM("ROWS") AS BIGINT) AS "ROWS",
    CAST(SUM("POPULATION") AS BIGINT) AS "POPULATION"
  FROM (
    SELECT
      COUNT(DISTINCT COLLATE(CAST("AUDITED"."PERSON" AS VARCHAR), 'utf8')) + MAX(CASE WHEN COLLATE(CAST("AUDITED"."PERSON" AS VARCHAR), 'utf8') IS NULL THEN 1 ELSE 0 END) AS "SIZE",
      COUNT(*) AS "ROWS",
      CAST(0 AS BIGINT) AS "POPULATION",
      COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8') AS "K_0",
      COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8') AS "K_1",
      COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8') AS "K_2"
    FROM "SQLANON_SCRIPT_ED687537_STAGED" AS "AUDITED"
    GROUP BY
      COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8'),
      COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8'),
      COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8')
    UNION ALL
    SELECT
      CAST(0 AS BIGINT) AS "SIZE",
      CAST(0 AS BIGINT) AS "ROWS",
      COUNT(*) AS "POPULATION",
      COLLATE(CAST("POPULATION"."ZIP" AS VARCHAR), 'utf8') AS "K_0",
      COLLATE(CAST("POPULATION"."AGE" AS VARCHAR), 'utf8') AS "K_1",
      COLLATE(CAST("POPULATION"."SEX" AS VARCHAR), 'utf8') AS "K_2"
    FROM (
      SELECT
        "HIERARCHY_ZIP"."LABEL_1" AS "ZIP",
        "HIERARCHY_AGE"."LABEL_1" AS "AGE",
        "SOURCE"."SEX" AS "SEX"
      FROM "PEOPLE" AS "SOURCE"
      LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_ZIP" AS "HIERARCHY_ZIP"
        ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "HIERARCHY_ZIP"."VALUE"
      LEFT JOIN "SQLANON_SCRIPT_ED687537_HIERARCHY_AGE" AS "HIERARCHY_AGE"
        ON "SOURCE"."AGE" = "HIERARCHY_AGE"."VALUE"
    ) AS "POPULATION"
    GROUP BY
      COLLATE(CAST("POPULATION"."ZIP" AS VARCHAR), 'utf8'),
      COLLATE(CAST("POPULATION"."AGE" AS VARCHAR), 'utf8'),
      COLLATE(CAST("POPULATION"."SEX" AS VARCHAR), 'utf8')
  ) AS "BOTH"
  GROUP BY
    "K_0",
    "K_1",
    "K_2"
) AS "MATCHED";

-- Audit: stop unless k_map holds.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_K_MAP") = 0 AND MIN("POPULATION_ROWS") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k_map'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_POPULATION";

-- Audit: stop unless delta_presence holds.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_DELTA_PRESENCE") = 0 AND MIN("POPULATION_ROWS") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: delta_presence'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_AUDIT_0_POPULATION";

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN COALESCE(
      SUM(
        CASE
          WHEN "KEPT"
          OR COALESCE((
            SELECT
              "SATISFIED"
            FROM "SQLANON_SCRIPT_ED687537_BLANKED"
          ), FALSE)
          THEN "N"
          ELSE 0
        END
      ),
      0
    ) = (
      SELECT
        COUNT(*)
      FROM "SQLANON_SCRIPT_ED687537_STAGED"
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_ED687537_CLASSES";

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: one statement puts the release in the place of the old one.
CREATE OR REPLACE TABLE "RELEASE_TABLE"
COPY GRANTS AS
SELECT
  "ZIP",
  "AGE",
  "SEX",
  "DISEASE",
  "STAGE"
FROM "SQLANON_SCRIPT_ED687537_STAGED"
ORDER BY
  RANDOM();

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_AUDIT_0_POPULATION";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_AUDIT_0_1";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_AUDIT_0_0";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_AUDIT_0_0_VALUES";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_AUDIT_0";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_STAGED";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_BLANKED";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_CLASSES";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_EVERYBODY";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_DISTRIBUTION_STAGE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_LABELS_DISEASE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_DISTRIBUTION_DISEASE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_COUNTED";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_VALUES_STAGE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_VALUES_DISEASE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_HIERARCHY_DISEASE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_DEFINITION_DISEASE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_HIERARCHY_AGE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_HIERARCHY_ZIP";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_ED687537_DEFINITION_ZIP";
