-- Release of source_table as release_table, made by sqlanon for snowflake.
-- Generalization: zip at level 1, age at level 2, sex at level 1.
-- Every class of the quasi-identifier patient (zip, age) has at least 3 rows.
-- Every class of the quasi-identifier doctor (sex, age) has at least 4 rows.
-- Every class is l-diverse in disease (entropy, l = 2), the other sensitive values being known.
-- Every class is t-close to the whole source in disease (ordered, t = 0.9), the other sensitive values being known.
-- At most 30% of the rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error:
-- cat *.sql | snowsql -o exit_on_error=true
-- Without a transaction: after a stop the target is as it was, and the last file drops what is left over.
-- This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care.

-- 01_hierarchies.sql: a label for every value.

-- The session.
ALTER SESSION
SET timezone = 'UTC';

-- Definition of the hierarchy of zip, level 0 first.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_DEFINITION_ZIP" (
  "LABEL_0" VARCHAR,
  "LABEL_1" VARCHAR
);
INSERT INTO "SQLANON_SCRIPT_AD7C68BD_DEFINITION_ZIP"
VALUES
  ('n1', 'north'),
  ('n2', 'north'),
  ('n3', 'north'),
  ('s1', 'south'),
  ('s2', 'south');

-- Hierarchy of zip: the label of each value at level 1.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_HIERARCHY_ZIP" AS
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
) AS "DOMAIN"
INNER JOIN "SQLANON_SCRIPT_AD7C68BD_DEFINITION_ZIP" AS "LISTED"
  ON CAST("DOMAIN"."VALUE" AS VARCHAR) = "LISTED"."LABEL_0";

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- Values of disease, numbered in their declared order; NULL is 0.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_VALUES_DISEASE" AS
SELECT
  "VALUE",
  CASE
    WHEN "VALUE" IS NULL
    THEN 0
    WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'ulcer'
    THEN 1
    WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'flu'
    THEN 2
    WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'gastritis'
    THEN 3
    WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'cough'
    THEN 4
    WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'asthma'
    THEN 5
  END AS "CODE"
FROM (
  SELECT DISTINCT
    COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE"
  FROM "SOURCE_TABLE" AS "SOURCE"
) AS "DOMAIN";

-- Stop if a value of disease is not in its declared order.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN "CODE" IS NULL THEN 1 ELSE 0 END), 0) = 0
    THEN '1'
    ELSE 'sqlanon: a value of disease is not in its declared order'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_VALUES_DISEASE" AS "CODES";

-- Values of stage, numbered in their order; NULL is 0.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_VALUES_STAGE" AS
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

-- The frequency set: every row of the source, counted by the generalized quasi-identifier, the codes of sensitive
-- values.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_COUNTED" AS
SELECT
  "ZIP_CODE",
  "DISEASE_CODE",
  "STAGE_CODE",
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
    CASE
      WHEN COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') IS NULL
      THEN 0
      ELSE "VALUES_DISEASE"."CODE"
    END AS "DISEASE_CODE",
    CASE WHEN "SOURCE"."STAGE" IS NULL THEN 0 ELSE "VALUES_STAGE"."CODE" END AS "STAGE_CODE"
  FROM "SOURCE_TABLE" AS "SOURCE"
  LEFT JOIN "SQLANON_SCRIPT_AD7C68BD_HIERARCHY_ZIP" AS "HIERARCHY_ZIP"
    ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "HIERARCHY_ZIP"."VALUE"
  LEFT JOIN "SQLANON_SCRIPT_AD7C68BD_VALUES_DISEASE" AS "VALUES_DISEASE"
    ON COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') = "VALUES_DISEASE"."VALUE"
  LEFT JOIN "SQLANON_SCRIPT_AD7C68BD_VALUES_STAGE" AS "VALUES_STAGE"
    ON "SOURCE"."STAGE" = "VALUES_STAGE"."VALUE"
) AS "CODED"
GROUP BY
  "ZIP_CODE",
  "DISEASE_CODE",
  "STAGE_CODE";

-- How the whole source distributes disease.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS
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
        "DISEASE_CODE" AS "S",
        CAST(SUM("N") AS BIGINT) AS "M"
      FROM "SQLANON_SCRIPT_AD7C68BD_COUNTED"
      GROUP BY
        "DISEASE_CODE"
    ) AS "HELD"
    LEFT JOIN (
      SELECT
        "DISEASE_CODE" AS "S",
        CAST(SUM("N") AS BIGINT) AS "M"
      FROM "SQLANON_SCRIPT_AD7C68BD_COUNTED"
      GROUP BY
        "DISEASE_CODE"
    ) AS "ASSIGNED"
      ON "HELD"."S" = "ASSIGNED"."S"
  ) AS "BOTH"
) AS "RUNNING"
JOIN "SQLANON_SCRIPT_AD7C68BD_VALUES_DISEASE" AS "CODES"
  ON "RUNNING"."CODE" = "CODES"."CODE";

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Before the first round of suppression every row is kept.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_ROUND_0" AS
SELECT
  "ZIP_CODE",
  "DISEASE_CODE",
  "STAGE_CODE",
  "N",
  TRUE AS "KEPT"
FROM "SQLANON_SCRIPT_AD7C68BD_COUNTED";

-- Round 1 of 8: rows stay whose classes satisfy in every grouping.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_ROUND_1" AS
SELECT
  "ROWS"."ZIP_CODE",
  "ROWS"."DISEASE_CODE",
  "ROWS"."STAGE_CODE",
  "ROWS"."N",
  "ROWS"."KEPT"
  AND COALESCE("CLASSES_0"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_1"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_2"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_3"."SATISFIED", FALSE) AS "KEPT"
FROM (
  SELECT
    "ZIP_CODE",
    "DISEASE_CODE",
    "STAGE_CODE",
    "N",
    "KEPT",
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    "STAGE_CODE" AS "G_3_STAGE_CODE"
  FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_0"
) AS "ROWS"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "N" >= 3 AS "SATISFIED"
  FROM (
    SELECT
      "ZIP_CODE" AS "ZIP_CODE",
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_0"
    WHERE
      "KEPT"
    GROUP BY
      "ZIP_CODE"
  ) AS "FOUND"
) AS "CLASSES_0"
  ON "ROWS"."G_0_ZIP_CODE" = "CLASSES_0"."G_0_ZIP_CODE"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."ZIP_CODE",
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_0"
            WHERE
              "KEPT"
            GROUP BY
              "ZIP_CODE",
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_0"
        WHERE
          "KEPT"
        GROUP BY
          "ZIP_CODE",
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."ZIP_CODE" = "PART_1"."ZIP_CODE" AND "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_1"
  ON "ROWS"."G_1_ZIP_CODE" = "CLASSES_1"."G_1_ZIP_CODE"
  AND "ROWS"."G_1_STAGE_CODE" = "CLASSES_1"."G_1_STAGE_CODE"
LEFT JOIN (
  SELECT
    "N" >= 4 AS "SATISFIED"
  FROM (
    SELECT
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_0"
    WHERE
      "KEPT"
  ) AS "FOUND"
) AS "CLASSES_2"
  ON TRUE
LEFT JOIN (
  SELECT
    "STAGE_CODE" AS "G_3_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_0"
            WHERE
              "KEPT"
            GROUP BY
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_0"
        WHERE
          "KEPT"
        GROUP BY
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_3"
  ON "ROWS"."G_3_STAGE_CODE" = "CLASSES_3"."G_3_STAGE_CODE";

-- Round 2 of 8: rows stay whose classes satisfy in every grouping.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_ROUND_2" AS
SELECT
  "ROWS"."ZIP_CODE",
  "ROWS"."DISEASE_CODE",
  "ROWS"."STAGE_CODE",
  "ROWS"."N",
  "ROWS"."KEPT"
  AND COALESCE("CLASSES_0"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_1"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_2"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_3"."SATISFIED", FALSE) AS "KEPT"
FROM (
  SELECT
    "ZIP_CODE",
    "DISEASE_CODE",
    "STAGE_CODE",
    "N",
    "KEPT",
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    "STAGE_CODE" AS "G_3_STAGE_CODE"
  FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_1"
) AS "ROWS"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "N" >= 3 AS "SATISFIED"
  FROM (
    SELECT
      "ZIP_CODE" AS "ZIP_CODE",
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_1"
    WHERE
      "KEPT"
    GROUP BY
      "ZIP_CODE"
  ) AS "FOUND"
) AS "CLASSES_0"
  ON "ROWS"."G_0_ZIP_CODE" = "CLASSES_0"."G_0_ZIP_CODE"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."ZIP_CODE",
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_1"
            WHERE
              "KEPT"
            GROUP BY
              "ZIP_CODE",
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_1"
        WHERE
          "KEPT"
        GROUP BY
          "ZIP_CODE",
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."ZIP_CODE" = "PART_1"."ZIP_CODE" AND "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_1"
  ON "ROWS"."G_1_ZIP_CODE" = "CLASSES_1"."G_1_ZIP_CODE"
  AND "ROWS"."G_1_STAGE_CODE" = "CLASSES_1"."G_1_STAGE_CODE"
LEFT JOIN (
  SELECT
    "N" >= 4 AS "SATISFIED"
  FROM (
    SELECT
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_1"
    WHERE
      "KEPT"
  ) AS "FOUND"
) AS "CLASSES_2"
  ON TRUE
LEFT JOIN (
  SELECT
    "STAGE_CODE" AS "G_3_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_1"
            WHERE
              "KEPT"
            GROUP BY
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_1"
        WHERE
          "KEPT"
        GROUP BY
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_3"
  ON "ROWS"."G_3_STAGE_CODE" = "CLASSES_3"."G_3_STAGE_CODE";

-- Round 3 of 8: rows stay whose classes satisfy in every grouping.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_ROUND_3" AS
SELECT
  "ROWS"."ZIP_CODE",
  "ROWS"."DISEASE_CODE",
  "ROWS"."STAGE_CODE",
  "ROWS"."N",
  "ROWS"."KEPT"
  AND COALESCE("CLASSES_0"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_1"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_2"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_3"."SATISFIED", FALSE) AS "KEPT"
FROM (
  SELECT
    "ZIP_CODE",
    "DISEASE_CODE",
    "STAGE_CODE",
    "N",
    "KEPT",
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    "STAGE_CODE" AS "G_3_STAGE_CODE"
  FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_2"
) AS "ROWS"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "N" >= 3 AS "SATISFIED"
  FROM (
    SELECT
      "ZIP_CODE" AS "ZIP_CODE",
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_2"
    WHERE
      "KEPT"
    GROUP BY
      "ZIP_CODE"
  ) AS "FOUND"
) AS "CLASSES_0"
  ON "ROWS"."G_0_ZIP_CODE" = "CLASSES_0"."G_0_ZIP_CODE"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."ZIP_CODE",
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_2"
            WHERE
              "KEPT"
            GROUP BY
              "ZIP_CODE",
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_2"
        WHERE
          "KEPT"
        GROUP BY
          "ZIP_CODE",
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."ZIP_CODE" = "PART_1"."ZIP_CODE" AND "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_1"
  ON "ROWS"."G_1_ZIP_CODE" = "CLASSES_1"."G_1_ZIP_CODE"
  AND "ROWS"."G_1_STAGE_CODE" = "CLASSES_1"."G_1_STAGE_CODE"
LEFT JOIN (
  SELECT
    "N" >= 4 AS "SATISFIED"
  FROM (
    SELECT
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_2"
    WHERE
      "KEPT"
  ) AS "FOUND"
) AS "CLASSES_2"
  ON TRUE
LEFT JOIN (
  SELECT
    "STAGE_CODE" AS "G_3_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_2"
            WHERE
              "KEPT"
            GROUP BY
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_2"
        WHERE
          "KEPT"
        GROUP BY
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_3"
  ON "ROWS"."G_3_STAGE_CODE" = "CLASSES_3"."G_3_STAGE_CODE";

-- Round 4 of 8: rows stay whose classes satisfy in every grouping.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_ROUND_4" AS
SELECT
  "ROWS"."ZIP_CODE",
  "ROWS"."DISEASE_CODE",
  "ROWS"."STAGE_CODE",
  "ROWS"."N",
  "ROWS"."KEPT"
  AND COALESCE("CLASSES_0"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_1"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_2"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_3"."SATISFIED", FALSE) AS "KEPT"
FROM (
  SELECT
    "ZIP_CODE",
    "DISEASE_CODE",
    "STAGE_CODE",
    "N",
    "KEPT",
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    "STAGE_CODE" AS "G_3_STAGE_CODE"
  FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_3"
) AS "ROWS"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "N" >= 3 AS "SATISFIED"
  FROM (
    SELECT
      "ZIP_CODE" AS "ZIP_CODE",
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_3"
    WHERE
      "KEPT"
    GROUP BY
      "ZIP_CODE"
  ) AS "FOUND"
) AS "CLASSES_0"
  ON "ROWS"."G_0_ZIP_CODE" = "CLASSES_0"."G_0_ZIP_CODE"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."ZIP_CODE",
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_3"
            WHERE
              "KEPT"
            GROUP BY
              "ZIP_CODE",
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_3"
        WHERE
          "KEPT"
        GROUP BY
          "ZIP_CODE",
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."ZIP_CODE" = "PART_1"."ZIP_CODE" AND "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_1"
  ON "ROWS"."G_1_ZIP_CODE" = "CLASSES_1"."G_1_ZIP_CODE"
  AND "ROWS"."G_1_STAGE_CODE" = "CLASSES_1"."G_1_STAGE_CODE"
LEFT JOIN (
  SELECT
    "N" >= 4 AS "SATISFIED"
  FROM (
    SELECT
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_3"
    WHERE
      "KEPT"
  ) AS "FOUND"
) AS "CLASSES_2"
  ON TRUE
LEFT JOIN (
  SELECT
    "STAGE_CODE" AS "G_3_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_3"
            WHERE
              "KEPT"
            GROUP BY
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_3"
        WHERE
          "KEPT"
        GROUP BY
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_3"
  ON "ROWS"."G_3_STAGE_CODE" = "CLASSES_3"."G_3_STAGE_CODE";

-- Round 5 of 8: rows stay whose classes satisfy in every grouping.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_ROUND_5" AS
SELECT
  "ROWS"."ZIP_CODE",
  "ROWS"."DISEASE_CODE",
  "ROWS"."STAGE_CODE",
  "ROWS"."N",
  "ROWS"."KEPT"
  AND COALESCE("CLASSES_0"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_1"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_2"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_3"."SATISFIED", FALSE) AS "KEPT"
FROM (
  SELECT
    "ZIP_CODE",
    "DISEASE_CODE",
    "STAGE_CODE",
    "N",
    "KEPT",
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    "STAGE_CODE" AS "G_3_STAGE_CODE"
  FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_4"
) AS "ROWS"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "N" >= 3 AS "SATISFIED"
  FROM (
    SELECT
      "ZIP_CODE" AS "ZIP_CODE",
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_4"
    WHERE
      "KEPT"
    GROUP BY
      "ZIP_CODE"
  ) AS "FOUND"
) AS "CLASSES_0"
  ON "ROWS"."G_0_ZIP_CODE" = "CLASSES_0"."G_0_ZIP_CODE"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."ZIP_CODE",
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_4"
            WHERE
              "KEPT"
            GROUP BY
              "ZIP_CODE",
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_4"
        WHERE
          "KEPT"
        GROUP BY
          "ZIP_CODE",
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."ZIP_CODE" = "PART_1"."ZIP_CODE" AND "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_1"
  ON "ROWS"."G_1_ZIP_CODE" = "CLASSES_1"."G_1_ZIP_CODE"
  AND "ROWS"."G_1_STAGE_CODE" = "CLASSES_1"."G_1_STAGE_CODE"
LEFT JOIN (
  SELECT
    "N" >= 4 AS "SATISFIED"
  FROM (
    SELECT
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_4"
    WHERE
      "KEPT"
  ) AS "FOUND"
) AS "CLASSES_2"
  ON TRUE
LEFT JOIN (
  SELECT
    "STAGE_CODE" AS "G_3_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_4"
            WHERE
              "KEPT"
            GROUP BY
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_4"
        WHERE
          "KEPT"
        GROUP BY
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_3"
  ON "ROWS"."G_3_STAGE_CODE" = "CLASSES_3"."G_3_STAGE_CODE";

-- Round 6 of 8: rows stay whose classes satisfy in every grouping.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_ROUND_6" AS
SELECT
  "ROWS"."ZIP_CODE",
  "ROWS"."DISEASE_CODE",
  "ROWS"."STAGE_CODE",
  "ROWS"."N",
  "ROWS"."KEPT"
  AND COALESCE("CLASSES_0"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_1"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_2"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_3"."SATISFIED", FALSE) AS "KEPT"
FROM (
  SELECT
    "ZIP_CODE",
    "DISEASE_CODE",
    "STAGE_CODE",
    "N",
    "KEPT",
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    "STAGE_CODE" AS "G_3_STAGE_CODE"
  FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_5"
) AS "ROWS"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "N" >= 3 AS "SATISFIED"
  FROM (
    SELECT
      "ZIP_CODE" AS "ZIP_CODE",
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_5"
    WHERE
      "KEPT"
    GROUP BY
      "ZIP_CODE"
  ) AS "FOUND"
) AS "CLASSES_0"
  ON "ROWS"."G_0_ZIP_CODE" = "CLASSES_0"."G_0_ZIP_CODE"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."ZIP_CODE",
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_5"
            WHERE
              "KEPT"
            GROUP BY
              "ZIP_CODE",
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_5"
        WHERE
          "KEPT"
        GROUP BY
          "ZIP_CODE",
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."ZIP_CODE" = "PART_1"."ZIP_CODE" AND "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_1"
  ON "ROWS"."G_1_ZIP_CODE" = "CLASSES_1"."G_1_ZIP_CODE"
  AND "ROWS"."G_1_STAGE_CODE" = "CLASSES_1"."G_1_STAGE_CODE"
LEFT JOIN (
  SELECT
    "N" >= 4 AS "SATISFIED"
  FROM (
    SELECT
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_5"
    WHERE
      "KEPT"
  ) AS "FOUND"
) AS "CLASSES_2"
  ON TRUE
LEFT JOIN (
  SELECT
    "STAGE_CODE" AS "G_3_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_5"
            WHERE
              "KEPT"
            GROUP BY
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_5"
        WHERE
          "KEPT"
        GROUP BY
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_3"
  ON "ROWS"."G_3_STAGE_CODE" = "CLASSES_3"."G_3_STAGE_CODE";

-- Round 7 of 8: rows stay whose classes satisfy in every grouping.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_ROUND_7" AS
SELECT
  "ROWS"."ZIP_CODE",
  "ROWS"."DISEASE_CODE",
  "ROWS"."STAGE_CODE",
  "ROWS"."N",
  "ROWS"."KEPT"
  AND COALESCE("CLASSES_0"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_1"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_2"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_3"."SATISFIED", FALSE) AS "KEPT"
FROM (
  SELECT
    "ZIP_CODE",
    "DISEASE_CODE",
    "STAGE_CODE",
    "N",
    "KEPT",
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    "STAGE_CODE" AS "G_3_STAGE_CODE"
  FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_6"
) AS "ROWS"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "N" >= 3 AS "SATISFIED"
  FROM (
    SELECT
      "ZIP_CODE" AS "ZIP_CODE",
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_6"
    WHERE
      "KEPT"
    GROUP BY
      "ZIP_CODE"
  ) AS "FOUND"
) AS "CLASSES_0"
  ON "ROWS"."G_0_ZIP_CODE" = "CLASSES_0"."G_0_ZIP_CODE"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."ZIP_CODE",
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_6"
            WHERE
              "KEPT"
            GROUP BY
              "ZIP_CODE",
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_6"
        WHERE
          "KEPT"
        GROUP BY
          "ZIP_CODE",
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."ZIP_CODE" = "PART_1"."ZIP_CODE" AND "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_1"
  ON "ROWS"."G_1_ZIP_CODE" = "CLASSES_1"."G_1_ZIP_CODE"
  AND "ROWS"."G_1_STAGE_CODE" = "CLASSES_1"."G_1_STAGE_CODE"
LEFT JOIN (
  SELECT
    "N" >= 4 AS "SATISFIED"
  FROM (
    SELECT
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_6"
    WHERE
      "KEPT"
  ) AS "FOUND"
) AS "CLASSES_2"
  ON TRUE
LEFT JOIN (
  SELECT
    "STAGE_CODE" AS "G_3_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_6"
            WHERE
              "KEPT"
            GROUP BY
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_6"
        WHERE
          "KEPT"
        GROUP BY
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_3"
  ON "ROWS"."G_3_STAGE_CODE" = "CLASSES_3"."G_3_STAGE_CODE";

-- Round 8 of 8: rows stay whose classes satisfy in every grouping.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_ROUND_8" AS
SELECT
  "ROWS"."ZIP_CODE",
  "ROWS"."DISEASE_CODE",
  "ROWS"."STAGE_CODE",
  "ROWS"."N",
  "ROWS"."KEPT"
  AND COALESCE("CLASSES_0"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_1"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_2"."SATISFIED", FALSE)
  AND COALESCE("CLASSES_3"."SATISFIED", FALSE) AS "KEPT"
FROM (
  SELECT
    "ZIP_CODE",
    "DISEASE_CODE",
    "STAGE_CODE",
    "N",
    "KEPT",
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    "STAGE_CODE" AS "G_3_STAGE_CODE"
  FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_7"
) AS "ROWS"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_0_ZIP_CODE",
    "N" >= 3 AS "SATISFIED"
  FROM (
    SELECT
      "ZIP_CODE" AS "ZIP_CODE",
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_7"
    WHERE
      "KEPT"
    GROUP BY
      "ZIP_CODE"
  ) AS "FOUND"
) AS "CLASSES_0"
  ON "ROWS"."G_0_ZIP_CODE" = "CLASSES_0"."G_0_ZIP_CODE"
LEFT JOIN (
  SELECT
    "ZIP_CODE" AS "G_1_ZIP_CODE",
    "STAGE_CODE" AS "G_1_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."ZIP_CODE",
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "ZIP_CODE",
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "ZIP_CODE", "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "ZIP_CODE" AS "ZIP_CODE",
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_7"
            WHERE
              "KEPT"
            GROUP BY
              "ZIP_CODE",
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."ZIP_CODE",
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "ZIP_CODE",
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "ZIP_CODE" AS "ZIP_CODE",
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_7"
        WHERE
          "KEPT"
        GROUP BY
          "ZIP_CODE",
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "ZIP_CODE",
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."ZIP_CODE" = "PART_1"."ZIP_CODE" AND "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_1"
  ON "ROWS"."G_1_ZIP_CODE" = "CLASSES_1"."G_1_ZIP_CODE"
  AND "ROWS"."G_1_STAGE_CODE" = "CLASSES_1"."G_1_STAGE_CODE"
LEFT JOIN (
  SELECT
    "N" >= 4 AS "SATISFIED"
  FROM (
    SELECT
      SUM("N") AS "N"
    FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_7"
    WHERE
      "KEPT"
  ) AS "FOUND"
) AS "CLASSES_2"
  ON TRUE
LEFT JOIN (
  SELECT
    "STAGE_CODE" AS "G_3_STAGE_CODE",
    (
      (
        "VALUES_0" = 2 AND "LEAST_0" = "MOST_0"
      )
      OR (
        "VALUES_0" > 2
        AND CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "SURPRISE_0" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= CAST(-1E-13 AS DOUBLE) * (
          CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        )
      )
    )
    AND (
      CAST((
        "GAPS_0" + (
          CAST("SIZE" AS DECIMAL(38, 0)) * CAST("BEFORE_0" AS DECIMAL(38, 0))
        )
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST("SIZE" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST("ORDERED_STEPS_0" AS DECIMAL(38, 0)) * CAST("ORDERED_TOTAL_0" AS DECIMAL(38, 0))
    ) AS "SATISFIED"
  FROM (
    SELECT
      "PART_0"."STAGE_CODE",
      "PART_0"."N",
      "PART_0"."SIZE",
      "PART_0"."GAPS_0",
      "PART_0"."BEFORE_0",
      "PART_0"."ORDERED_STEPS_0",
      "PART_0"."ORDERED_TOTAL_0",
      "PART_1"."VALUES_0",
      "PART_1"."LEAST_0",
      "PART_1"."MOST_0",
      "PART_1"."SURPRISE_0"
    FROM (
      SELECT
        "STAGE_CODE",
        MAX("SIZE") AS "N",
        MAX("SIZE") AS "SIZE",
        SUM(
          ABS(
            (
              CAST("M" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0))
            ) - (
              CAST("SIZE" AS DECIMAL(38, 0)) * CAST("Q" AS DECIMAL(38, 0))
            )
          )
        ) AS "GAPS_0",
        MAX("Q_EVERYWHERE") - SUM("Q") AS "BEFORE_0",
        MAX("STEPS") AS "ORDERED_STEPS_0",
        MAX("TOTAL") AS "ORDERED_TOTAL_0"
      FROM (
        SELECT
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."Q_BELOW" AS "Q",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS",
          CAST(SUM("CELLS"."M") AS BIGINT) AS "M"
        FROM (
          SELECT
            "STAGE_CODE",
            "S",
            "M",
            CAST(SUM("M") OVER (PARTITION BY "STAGE_CODE") AS BIGINT) AS "SIZE"
          FROM (
            SELECT
              "STAGE_CODE" AS "STAGE_CODE",
              "DISEASE_CODE" AS "S",
              CAST(SUM("N") AS BIGINT) AS "M"
            FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_7"
            WHERE
              "KEPT"
            GROUP BY
              "STAGE_CODE",
              "DISEASE_CODE"
          ) AS "CELLS"
        ) AS "CELLS"
        JOIN "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE" AS "REFERENCE"
          ON "CELLS"."S" <= "REFERENCE"."CODE"
        GROUP BY
          "CELLS"."STAGE_CODE",
          "CELLS"."SIZE",
          "REFERENCE"."CODE",
          "REFERENCE"."Q_BELOW",
          "REFERENCE"."TOTAL",
          "REFERENCE"."Q_EVERYWHERE",
          "REFERENCE"."STEPS"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_0"
    JOIN (
      SELECT
        "STAGE_CODE",
        COUNT(*) AS "VALUES_0",
        MIN("M") AS "LEAST_0",
        MAX("M") AS "MOST_0",
        SUM(CAST("M" AS DOUBLE) * LN(CAST("M" AS DOUBLE))) AS "SURPRISE_0"
      FROM (
        SELECT
          "STAGE_CODE" AS "STAGE_CODE",
          "DISEASE_CODE" AS "S",
          CAST(SUM("N") AS BIGINT) AS "M"
        FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_7"
        WHERE
          "KEPT"
        GROUP BY
          "STAGE_CODE",
          "DISEASE_CODE"
      ) AS "HELD"
      GROUP BY
        "STAGE_CODE"
    ) AS "PART_1"
      ON "PART_0"."STAGE_CODE" = "PART_1"."STAGE_CODE"
  ) AS "FOUND"
) AS "CLASSES_3"
  ON "ROWS"."G_3_STAGE_CODE" = "CLASSES_3"."G_3_STAGE_CODE";

-- What is kept after 8 rounds. Were more of them needed, the audit stops the script.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_CLASSES" AS
SELECT
  NULLIF("ZIP_CODE", -1) AS "ZIP_CODE",
  "STAGE_CODE",
  "N",
  "KEPT" AS "KEPT"
FROM (
  SELECT
    "ZIP_CODE",
    "STAGE_CODE",
    SUM("N") AS "N",
    "KEPT"
  FROM "SQLANON_SCRIPT_AD7C68BD_ROUND_8"
  GROUP BY
    "ZIP_CODE",
    "STAGE_CODE",
    "KEPT"
) AS "CLASSES";

-- Stop if a value lies outside its hierarchy.
SELECT
  CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_CLASSES"
WHERE
  "ZIP_CODE" IS NULL;

-- Stop if more than 30% of the rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT "KEPT" THEN "N" ELSE 0 END), 0) * 10 <= COALESCE(SUM("N"), 0) * 3
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_CLASSES";

-- The release, in no order that tells of the source.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_STAGED" AS
SELECT
  "HIERARCHY_ZIP"."LABEL_1" AS "ZIP",
  '*' AS "AGE",
  '*' AS "SEX",
  "SOURCE"."DISEASE",
  "SOURCE"."STAGE"
FROM "SOURCE_TABLE" AS "SOURCE"
LEFT JOIN "SQLANON_SCRIPT_AD7C68BD_HIERARCHY_ZIP" AS "HIERARCHY_ZIP"
  ON COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') = "HIERARCHY_ZIP"."VALUE"
LEFT JOIN "SQLANON_SCRIPT_AD7C68BD_VALUES_STAGE" AS "VALUES_STAGE"
  ON "SOURCE"."STAGE" = "VALUES_STAGE"."VALUE"
INNER JOIN "SQLANON_SCRIPT_AD7C68BD_CLASSES" AS "CLASS"
  ON CASE
    WHEN COLLATE(CAST("SOURCE"."ZIP" AS VARCHAR), 'utf8') IS NULL
    THEN 0
    ELSE "HIERARCHY_ZIP"."CODE_1"
  END = "CLASS"."ZIP_CODE"
  AND CASE WHEN "SOURCE"."STAGE" IS NULL THEN 0 ELSE "VALUES_STAGE"."CODE" END = "CLASS"."STAGE_CODE"
WHERE
  "CLASS"."KEPT"
ORDER BY
  RANDOM();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: the classes of patient in the staged table.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_AUDIT_0" AS
SELECT
  COALESCE(SUM("SIZE"), 0) AS "ROWS",
  COUNT(*) AS "CLASSES",
  COALESCE(MIN("SIZE"), 0) AS "SMALLEST_CLASS",
  COALESCE(SUM(CASE WHEN "SIZE" < 3 THEN 1 ELSE 0 END), 0) AS "CLASSES_FAILING_K"
FROM (
  SELECT
    COUNT(*) AS "SIZE"
  FROM "SQLANON_SCRIPT_AD7C68BD_STAGED" AS "AUDITED"
  GROUP BY
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8')
) AS "CLASSES";

-- Audit: stop unless there are classes of patient and every one has at least 3 rows.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_K") = 0 AND MIN("ROWS") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k of patient'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_AUDIT_0";

-- Audit: the values of disease.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_AUDIT_0_0_VALUES" AS
SELECT
  (
    SELECT
      COUNT(*)
    FROM "SQLANON_SCRIPT_AD7C68BD_STAGED" AS "AUDITED"
  ) AS "ROWS",
  (
    SELECT
      COUNT(*)
    FROM "SOURCE_TABLE" AS "SOURCE"
  ) AS "REFERENCE_ROWS",
  COUNT(*) AS "DISTINCT_VALUES",
  COALESCE(SUM(CASE WHEN "VALUE" IS NULL THEN 1 ELSE 0 END), 0) AS "NULLS",
  COALESCE(
    SUM(
      CASE
        WHEN CASE
          WHEN "VALUE" IS NULL
          THEN 0
          WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'ulcer'
          THEN 1
          WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'flu'
          THEN 2
          WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'gastritis'
          THEN 3
          WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'cough'
          THEN 4
          WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'asthma'
          THEN 5
          ELSE 6
        END > 5
        THEN 1
        ELSE 0
      END
    ),
    0
  ) AS "OUTSIDE_ORDER",
  0 AS "OUTSIDE_HIERARCHY"
FROM (
  SELECT DISTINCT
    COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE"
  FROM "SQLANON_SCRIPT_AD7C68BD_STAGED" AS "AUDITED"
  UNION
  SELECT DISTINCT
    COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE"
  FROM "SOURCE_TABLE" AS "SOURCE"
) AS "DOMAIN";

-- Audit: stop unless every value of disease has a place in its order and in its hierarchy.
SELECT
  CAST(CASE
    WHEN MAX("OUTSIDE_ORDER") = 0 AND MAX("OUTSIDE_HIERARCHY") = 0 AND MIN("REFERENCE_ROWS") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: a value of disease has no place in its order or hierarchy'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_AUDIT_0_0_VALUES";

-- Audit: disease in the classes of patient of the staged table, and how many of them fail.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_AUDIT_0_0" AS
WITH "SQLANON_AUDIT_DOMAIN" AS (
  SELECT
    "VALUE",
    "REFERENCE",
    ROW_NUMBER() OVER (ORDER BY "VALUE" NULLS FIRST) AS "CODE"
  FROM (
    SELECT
      "VALUE",
      CAST(SUM("REFERENCE") AS BIGINT) AS "REFERENCE"
    FROM (
      SELECT
        COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE",
        COUNT(*) AS "REFERENCE"
      FROM "SOURCE_TABLE" AS "SOURCE"
      GROUP BY
        COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8')
      UNION ALL
      SELECT DISTINCT
        COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE",
        CAST(0 AS BIGINT) AS "REFERENCE"
      FROM "SQLANON_SCRIPT_AD7C68BD_STAGED" AS "AUDITED"
    ) AS "BOTH"
    GROUP BY
      "VALUE"
  ) AS "FOUND"
), "SQLANON_AUDIT_COUNTED" AS (
  SELECT
    *
  FROM "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
), "SQLANON_AUDIT_RANKED" AS (
  SELECT
    *,
    CASE
      WHEN "VALUE" IS NULL
      THEN 0
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'ulcer'
      THEN 1
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'flu'
      THEN 2
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'gastritis'
      THEN 3
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'cough'
      THEN 4
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'asthma'
      THEN 5
      ELSE 6
    END AS "RANK"
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
    COUNT(CASE WHEN "REFERENCE" > 0 THEN 1 END) OVER () AS "REFERENCE_VALUES",
    CASE WHEN "REFERENCE" > 0 THEN CAST("REFERENCE" AS DOUBLE) END AS "DIVISOR"
  FROM "SQLANON_AUDIT_PLACED" AS "PLACED"
), "SQLANON_AUDIT_GROUPED" AS (
  SELECT
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8') AS "K_0",
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8') AS "K_1",
    "AUDITED"."STAGE" AS "K_2",
    COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE",
    COUNT(*) AS "MEMBERS"
  FROM "SQLANON_SCRIPT_AD7C68BD_STAGED" AS "AUDITED"
  GROUP BY
    COLLATE(CAST("AUDITED"."ZIP" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8'),
    "AUDITED"."STAGE",
    COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8')
), "SQLANON_AUDIT_NUMBERED" AS (
  SELECT
    "GROUPED"."K_0",
    "GROUPED"."K_1",
    "GROUPED"."K_2",
    "GROUPED"."MEMBERS",
    CASE WHEN "GROUPED"."VALUE" IS NULL THEN 1 ELSE "DOMAIN"."CODE" END AS "CODE",
    ROW_NUMBER() OVER (ORDER BY 1) AS "NUMBER"
  FROM "SQLANON_AUDIT_GROUPED" AS "GROUPED"
  LEFT JOIN "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
    ON "GROUPED"."VALUE" = "DOMAIN"."VALUE"
), "SQLANON_AUDIT_SIZES" AS (
  SELECT
    MIN("NUMBER") OVER (PARTITION BY "K_0", "K_1", "K_2") AS "CLASS",
    CAST(SUM("MEMBERS") OVER (PARTITION BY "K_0", "K_1", "K_2") AS BIGINT) AS "SIZE",
    "CODE",
    "MEMBERS"
  FROM "SQLANON_AUDIT_NUMBERED" AS "NUMBERED"
), "SQLANON_AUDIT_WEIGHED" AS (
  SELECT
    "SIZES"."CLASS",
    "SIZES"."SIZE",
    "SIZES"."MEMBERS",
    "REFERENCE".*
  FROM "SQLANON_AUDIT_SIZES" AS "SIZES"
  JOIN "SQLANON_AUDIT_REFERENCE" AS "REFERENCE"
    ON "SIZES"."CODE" = "REFERENCE"."CODE"
), "SQLANON_AUDIT_SPREAD" AS (
  SELECT
    *,
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
    MAX("TOTAL") AS "TOTAL",
    SUM("MEMBERS") AS "COUNTED",
    COUNT(*) AS "DIFFERENT",
    SUM(CAST("MEMBERS" AS DOUBLE) * LN(CAST(GREATEST_IGNORE_NULLS("MEMBERS", 1) AS DOUBLE))) AS "WEIGHT",
    MAX("MEMBERS") AS "MOST",
    SUM("STRETCH") AS "STRETCHES",
    GREATEST_IGNORE_NULLS(MAX("PLACES") - 1, 1) AS "STEPS"
  FROM "SQLANON_AUDIT_SORTED" AS "SORTED"
  GROUP BY
    "CLASS",
    "SIZE"
)
SELECT
  COUNT(*) AS "CLASSES",
  COALESCE(SUM(CASE WHEN "COUNTED" <> "SIZE" THEN 1 ELSE 0 END), 0) AS "UNCOUNTED",
  COALESCE(
    SUM(
      CASE
        WHEN CASE
          WHEN "DIFFERENT" < 2
          THEN FALSE
          WHEN "DIFFERENT" = 2
          THEN "MOST" * "DIFFERENT" = "SIZE"
          ELSE CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "WEIGHT" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= -CAST(1e-13 AS DOUBLE) * CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        END
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS "CLASSES_FAILING_0",
  COALESCE(
    SUM(
      CASE
        WHEN CAST("STRETCHES" AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0)) <= CAST("SIZE" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0)) * CAST("STEPS" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS "CLASSES_FAILING_1"
FROM "SQLANON_AUDIT_MEASURED" AS "MEASURED";

-- Audit: stop unless l_diversity of disease holds of patient: l = 2 (entropy).
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_0") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: l_diversity disease of patient'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_AUDIT_0_0";

-- Audit: stop unless t_closeness of disease holds of patient: t = 0.9 (ordered).
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_1") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: t_closeness disease of patient'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_AUDIT_0_0";

-- Audit: the classes of doctor in the staged table.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_AUDIT_1" AS
SELECT
  COALESCE(SUM("SIZE"), 0) AS "ROWS",
  COUNT(*) AS "CLASSES",
  COALESCE(MIN("SIZE"), 0) AS "SMALLEST_CLASS",
  COALESCE(SUM(CASE WHEN "SIZE" < 4 THEN 1 ELSE 0 END), 0) AS "CLASSES_FAILING_K"
FROM (
  SELECT
    COUNT(*) AS "SIZE"
  FROM "SQLANON_SCRIPT_AD7C68BD_STAGED" AS "AUDITED"
  GROUP BY
    COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8')
) AS "CLASSES";

-- Audit: stop unless there are classes of doctor and every one has at least 4 rows.
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_K") = 0 AND MIN("ROWS") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: k of doctor'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_AUDIT_1";

-- Audit: disease in the classes of doctor of the staged table, and how many of them fail.
CREATE OR REPLACE TEMPORARY TABLE "SQLANON_SCRIPT_AD7C68BD_AUDIT_1_0" AS
WITH "SQLANON_AUDIT_DOMAIN" AS (
  SELECT
    "VALUE",
    "REFERENCE",
    ROW_NUMBER() OVER (ORDER BY "VALUE" NULLS FIRST) AS "CODE"
  FROM (
    SELECT
      "VALUE",
      CAST(SUM("REFERENCE") AS BIGINT) AS "REFERENCE"
    FROM (
      SELECT
        COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE",
        COUNT(*) AS "REFERENCE"
      FROM "SOURCE_TABLE" AS "SOURCE"
      GROUP BY
        COLLATE(CAST("SOURCE"."DISEASE" AS VARCHAR), 'utf8')
      UNION ALL
      SELECT DISTINCT
        COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE",
        CAST(0 AS BIGINT) AS "REFERENCE"
      FROM "SQLANON_SCRIPT_AD7C68BD_STAGED" AS "AUDITED"
    ) AS "BOTH"
    GROUP BY
      "VALUE"
  ) AS "FOUND"
), "SQLANON_AUDIT_COUNTED" AS (
  SELECT
    *
  FROM "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
), "SQLANON_AUDIT_RANKED" AS (
  SELECT
    *,
    CASE
      WHEN "VALUE" IS NULL
      THEN 0
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'ulcer'
      THEN 1
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'flu'
      THEN 2
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'gastritis'
      THEN 3
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'cough'
      THEN 4
      WHEN COLLATE(CAST(CAST("VALUE" AS VARCHAR) AS VARCHAR), 'utf8') = 'asthma'
      THEN 5
      ELSE 6
    END AS "RANK"
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
    COUNT(CASE WHEN "REFERENCE" > 0 THEN 1 END) OVER () AS "REFERENCE_VALUES",
    CASE WHEN "REFERENCE" > 0 THEN CAST("REFERENCE" AS DOUBLE) END AS "DIVISOR"
  FROM "SQLANON_AUDIT_PLACED" AS "PLACED"
), "SQLANON_AUDIT_GROUPED" AS (
  SELECT
    COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8') AS "K_0",
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8') AS "K_1",
    "AUDITED"."STAGE" AS "K_2",
    COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8') AS "VALUE",
    COUNT(*) AS "MEMBERS"
  FROM "SQLANON_SCRIPT_AD7C68BD_STAGED" AS "AUDITED"
  GROUP BY
    COLLATE(CAST("AUDITED"."SEX" AS VARCHAR), 'utf8'),
    COLLATE(CAST("AUDITED"."AGE" AS VARCHAR), 'utf8'),
    "AUDITED"."STAGE",
    COLLATE(CAST("AUDITED"."DISEASE" AS VARCHAR), 'utf8')
), "SQLANON_AUDIT_NUMBERED" AS (
  SELECT
    "GROUPED"."K_0",
    "GROUPED"."K_1",
    "GROUPED"."K_2",
    "GROUPED"."MEMBERS",
    CASE WHEN "GROUPED"."VALUE" IS NULL THEN 1 ELSE "DOMAIN"."CODE" END AS "CODE",
    ROW_NUMBER() OVER (ORDER BY 1) AS "NUMBER"
  FROM "SQLANON_AUDIT_GROUPED" AS "GROUPED"
  LEFT JOIN "SQLANON_AUDIT_DOMAIN" AS "DOMAIN"
    ON "GROUPED"."VALUE" = "DOMAIN"."VALUE"
), "SQLANON_AUDIT_SIZES" AS (
  SELECT
    MIN("NUMBER") OVER (PARTITION BY "K_0", "K_1", "K_2") AS "CLASS",
    CAST(SUM("MEMBERS") OVER (PARTITION BY "K_0", "K_1", "K_2") AS BIGINT) AS "SIZE",
    "CODE",
    "MEMBERS"
  FROM "SQLANON_AUDIT_NUMBERED" AS "NUMBERED"
), "SQLANON_AUDIT_WEIGHED" AS (
  SELECT
    "SIZES"."CLASS",
    "SIZES"."SIZE",
    "SIZES"."MEMBERS",
    "REFERENCE".*
  FROM "SQLANON_AUDIT_SIZES" AS "SIZES"
  JOIN "SQLANON_AUDIT_REFERENCE" AS "REFERENCE"
    ON "SIZES"."CODE" = "REFERENCE"."CODE"
), "SQLANON_AUDIT_SPREAD" AS (
  SELECT
    *,
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
    MAX("TOTAL") AS "TOTAL",
    SUM("MEMBERS") AS "COUNTED",
    COUNT(*) AS "DIFFERENT",
    SUM(CAST("MEMBERS" AS DOUBLE) * LN(CAST(GREATEST_IGNORE_NULLS("MEMBERS", 1) AS DOUBLE))) AS "WEIGHT",
    MAX("MEMBERS") AS "MOST",
    SUM("STRETCH") AS "STRETCHES",
    GREATEST_IGNORE_NULLS(MAX("PLACES") - 1, 1) AS "STEPS"
  FROM "SQLANON_AUDIT_SORTED" AS "SORTED"
  GROUP BY
    "CLASS",
    "SIZE"
)
SELECT
  COUNT(*) AS "CLASSES",
  COALESCE(SUM(CASE WHEN "COUNTED" <> "SIZE" THEN 1 ELSE 0 END), 0) AS "UNCOUNTED",
  COALESCE(
    SUM(
      CASE
        WHEN CASE
          WHEN "DIFFERENT" < 2
          THEN FALSE
          WHEN "DIFFERENT" = 2
          THEN "MOST" * "DIFFERENT" = "SIZE"
          ELSE CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE)) - "WEIGHT" - CAST("SIZE" AS DOUBLE) * LN(CAST(2 AS DOUBLE)) >= -CAST(1e-13 AS DOUBLE) * CAST("SIZE" AS DOUBLE) * LN(CAST("SIZE" AS DOUBLE))
        END
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS "CLASSES_FAILING_0",
  COALESCE(
    SUM(
      CASE
        WHEN CAST("STRETCHES" AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0)) <= CAST("SIZE" AS DECIMAL(38, 0)) * CAST("TOTAL" AS DECIMAL(38, 0)) * CAST("STEPS" AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS "CLASSES_FAILING_1"
FROM "SQLANON_AUDIT_MEASURED" AS "MEASURED";

-- Audit: stop unless l_diversity of disease holds of doctor: l = 2 (entropy).
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_0") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: l_diversity disease of doctor'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_AUDIT_1_0";

-- Audit: stop unless t_closeness of disease holds of doctor: t = 0.9 (ordered).
SELECT
  CAST(CASE
    WHEN MAX("CLASSES_FAILING_1") = 0 AND MAX("UNCOUNTED") = 0 AND MIN("CLASSES") > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: t_closeness disease of doctor'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_AUDIT_1_0";

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN "KEPT" THEN "N" ELSE 0 END), 0) = (
      SELECT
        COUNT(*)
      FROM "SQLANON_SCRIPT_AD7C68BD_STAGED"
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INT) AS "AUDIT"
FROM "SQLANON_SCRIPT_AD7C68BD_CLASSES";

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
FROM "SQLANON_SCRIPT_AD7C68BD_STAGED"
ORDER BY
  RANDOM();

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_AUDIT_1_0";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_AUDIT_1";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_AUDIT_0_0";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_AUDIT_0_0_VALUES";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_AUDIT_0";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_STAGED";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_CLASSES";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_ROUND_8";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_ROUND_7";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_ROUND_6";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_ROUND_5";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_ROUND_4";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_ROUND_3";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_ROUND_2";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_ROUND_1";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_ROUND_0";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_DISTRIBUTION_DISEASE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_COUNTED";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_VALUES_STAGE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_VALUES_DISEASE";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_HIERARCHY_ZIP";
DROP TABLE IF EXISTS "SQLANON_SCRIPT_AD7C68BD_DEFINITION_ZIP";
