-- Written by `sqlanon dbt`. To change it, change the model's meta.sqlanon and run the command again.
-- Generalization: zip at level 3, birth_date at level 3, sex at level 0, marital at level 1.
-- Levels: [["zip", 3], ["birth_date", 3], ["sex", 0], ["marital", 1]]
-- Signature: dd2854b6dba8b059dc1a82957a216411
{{ config(materialized='sqlanon_release') }}

WITH "hierarchy_of_zip" AS (
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
            THEN SUBSTRING(CAST("value" AS TEXT), 1, 4) || '*'
          END AS "label_1",
          CASE
            WHEN LENGTH(CAST("value" AS TEXT)) <= 5
            THEN SUBSTRING(CAST("value" AS TEXT), 1, 3) || '**'
          END AS "label_2",
          CASE
            WHEN LENGTH(CAST("value" AS TEXT)) <= 5
            THEN SUBSTRING(CAST("value" AS TEXT), 1, 2) || '***'
          END AS "label_3",
          CASE WHEN LENGTH(CAST("value" AS TEXT)) <= 5 THEN CAST('*****' AS TEXT) END AS "label_4"
        FROM (
          SELECT DISTINCT
            CAST("source"."zip" AS TEXT) COLLATE "C" AS "value"
          FROM {{ ref('stg_patients') }} AS "source"
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
    AND NOT "label_4" IS NULL
), "hierarchy_of_birth_date" AS (
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
              CAST(CASE
                WHEN 4 IS NULL
                OR LENGTH(CAST(CAST(EXTRACT(YEAR FROM "value") AS INT) AS TEXT)) IS NULL
                THEN NULL
                ELSE GREATEST(4, LENGTH(CAST(CAST(EXTRACT(YEAR FROM "value") AS INT) AS TEXT)))
              END AS INT),
              '0'
            )
          END AS "label_1",
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
              CAST(CASE
                WHEN 4 IS NULL
                OR LENGTH(
                  CAST((
                    CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 10
                  ) AS TEXT)
                ) IS NULL
                THEN NULL
                ELSE GREATEST(
                  4,
                  LENGTH(
                    CAST((
                      CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 10
                    ) AS TEXT)
                  )
                )
              END AS INT),
              '0'
            ) || '-' || LPAD(
              CAST((
                (
                  CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 10
                ) + 9
              ) AS TEXT),
              CAST(CASE
                WHEN 4 IS NULL
                OR LENGTH(
                  CAST((
                    (
                      CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 10
                    ) + 9
                  ) AS TEXT)
                ) IS NULL
                THEN NULL
                ELSE GREATEST(
                  4,
                  LENGTH(
                    CAST((
                      (
                        CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 10
                      ) + 9
                    ) AS TEXT)
                  )
                )
              END AS INT),
              '0'
            ) || ']'
          END AS "label_2",
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
              CAST(CASE
                WHEN 4 IS NULL
                OR LENGTH(
                  CAST((
                    CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 20
                  ) AS TEXT)
                ) IS NULL
                THEN NULL
                ELSE GREATEST(
                  4,
                  LENGTH(
                    CAST((
                      CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 20
                    ) AS TEXT)
                  )
                )
              END AS INT),
              '0'
            ) || '-' || LPAD(
              CAST((
                (
                  CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 20
                ) + 19
              ) AS TEXT),
              CAST(CASE
                WHEN 4 IS NULL
                OR LENGTH(
                  CAST((
                    (
                      CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 20
                    ) + 19
                  ) AS TEXT)
                ) IS NULL
                THEN NULL
                ELSE GREATEST(
                  4,
                  LENGTH(
                    CAST((
                      (
                        CAST(EXTRACT(YEAR FROM "value") AS INT) - CAST(EXTRACT(YEAR FROM "value") AS INT) % 20
                      ) + 19
                    ) AS TEXT)
                  )
                )
              END AS INT),
              '0'
            ) || ']'
          END AS "label_3",
          CAST('*' AS TEXT) AS "label_4"
        FROM (
          SELECT DISTINCT
            "source"."birth_date" AS "value"
          FROM {{ ref('stg_patients') }} AS "source"
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
    AND NOT "label_4" IS NULL
), "hierarchy_of_sex" AS (
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
          CAST('*' AS TEXT) AS "label_1"
        FROM (
          SELECT DISTINCT
            CAST("source"."sex" AS TEXT) COLLATE "C" AS "value"
          FROM {{ ref('stg_patients') }} AS "source"
          WHERE
            NOT CAST("source"."sex" AS TEXT) COLLATE "C" IS NULL
        ) AS "domain"
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
    NOT "value" IS NULL AND "occurrences" = 1 AND NOT "label_1" IS NULL
), "hierarchy_of_marital" AS (
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
          FROM {{ ref('release_patients_marital_hierarchy') }}
        ) AS "listed"
        FULL OUTER JOIN (
          SELECT DISTINCT
            CAST("source"."marital" AS TEXT) COLLATE "C" AS "value"
          FROM {{ ref('stg_patients') }} AS "source"
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
        CAST(DENSE_RANK() OVER (ORDER BY CAST("label_1" AS TEXT) COLLATE "C") AS INT) AS "code_1"
      FROM labelled
    ) AS "coded"
  ) AS "counted"
  WHERE
    NOT "value" IS NULL
    AND "occurrences" = 1
    AND NOT "label_1" IS NULL
    AND NOT "label_2" IS NULL
), "values_of_diagnosis" AS (
  SELECT
    "value",
    CASE
      WHEN "value" IS NULL
      THEN 0
      ELSE CAST(ROW_NUMBER() OVER (PARTITION BY "value" IS NULL ORDER BY "value") AS INT)
    END AS "code"
  FROM (
    SELECT DISTINCT
      CAST("source"."diagnosis" AS TEXT) COLLATE "C" AS "value"
    FROM {{ ref('stg_patients') }} AS "source"
  ) AS "domain"
), "counted_rows" AS (
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
    CASE
      WHEN CAST("source"."diagnosis" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "c_0"."code"
    END AS "s_0",
    COUNT(*) AS "n"
  FROM {{ ref('stg_patients') }} AS "source"
  LEFT JOIN "hierarchy_of_zip" AS "h_0"
    ON CAST("source"."zip" AS TEXT) COLLATE "C" = "h_0"."value"
  LEFT JOIN "hierarchy_of_birth_date" AS "h_1"
    ON "source"."birth_date" = "h_1"."value"
  LEFT JOIN "hierarchy_of_sex" AS "h_2"
    ON CAST("source"."sex" AS TEXT) COLLATE "C" = "h_2"."value"
  LEFT JOIN "hierarchy_of_marital" AS "h_3"
    ON CAST("source"."marital" AS TEXT) COLLATE "C" = "h_3"."value"
  LEFT JOIN "values_of_diagnosis" AS "c_0"
    ON CAST("source"."diagnosis" AS TEXT) COLLATE "C" = "c_0"."value"
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
    ),
    CASE
      WHEN CAST("source"."diagnosis" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "c_0"."code"
    END
), "distribution_of_diagnosis" AS (
  SELECT
    "running"."code",
    "running"."q_held",
    "running"."q_assigned",
    "running"."q_below",
    CAST(SUM("running"."q_assigned") OVER () AS BIGINT) AS "total",
    CAST(SUM("running"."q_below") OVER () AS DECIMAL(38, 0)) AS "q_everywhere",
    CAST(COUNT(*) OVER () - 1 AS BIGINT) AS "steps"
  FROM (
    SELECT
      *,
      CAST(SUM("q_assigned") OVER (ORDER BY "code") AS BIGINT) AS "q_below"
    FROM (
      SELECT
        "held"."s" AS "code",
        "held"."m" AS "q_held",
        COALESCE("assigned"."m", 0) AS "q_assigned"
      FROM (
        SELECT
          "s_0" AS "s",
          CAST(SUM("n") AS BIGINT) AS "m"
        FROM "counted_rows"
        GROUP BY
          "s_0"
      ) AS "held"
      LEFT JOIN (
        SELECT
          "s_0" AS "s",
          CAST(SUM("n") AS BIGINT) AS "m"
        FROM "counted_rows"
        GROUP BY
          "s_0"
      ) AS "assigned"
        ON "held"."s" = "assigned"."s"
    ) AS "both"
  ) AS "running"
  JOIN "values_of_diagnosis" AS "codes"
    ON "running"."code" = "codes"."code"
), "classes" AS (
  SELECT
    NULLIF("k_0", -1) AS "k_0",
    NULLIF("k_1", -1) AS "k_1",
    NULLIF("k_2", -1) AS "k_2",
    NULLIF("k_3", -1) AS "k_3",
    "n",
    "n" >= 5
    AND "distinct_0" >= 2
    AND (
      CAST("excess_0" AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0))
    ) <= (
      CAST("size" AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) * CAST("equal_total_0" AS DECIMAL(38, 0))
    ) AS "kept"
  FROM (
    SELECT
      "k_0",
      "k_1",
      "k_2",
      "k_3",
      CAST(SUM("m") AS BIGINT) AS "n",
      CAST(SUM("m") AS BIGINT) AS "size",
      SUM(
        CASE
          WHEN (
            (
              CAST("m" AS DECIMAL(38, 0)) * CAST("total" AS DECIMAL(38, 0))
            ) - (
              CAST("size" AS DECIMAL(38, 0)) * CAST("q" AS DECIMAL(38, 0))
            )
          ) IS NULL
          OR 0 IS NULL
          THEN NULL
          ELSE GREATEST(
            (
              CAST("m" AS DECIMAL(38, 0)) * CAST("total" AS DECIMAL(38, 0))
            ) - (
              CAST("size" AS DECIMAL(38, 0)) * CAST("q" AS DECIMAL(38, 0))
            ),
            0
          )
        END
      ) AS "excess_0",
      MAX("total") AS "equal_total_0",
      COUNT(*) AS "distinct_0"
    FROM (
      SELECT
        "cells"."k_0",
        "cells"."k_1",
        "cells"."k_2",
        "cells"."k_3",
        "cells"."s",
        "cells"."m",
        "cells"."size",
        "reference"."q_assigned" AS "q",
        "reference".*
      FROM (
        SELECT
          "k_0",
          "k_1",
          "k_2",
          "k_3",
          "s",
          "m",
          CAST(SUM("m") OVER (PARTITION BY "k_0", "k_1", "k_2", "k_3") AS BIGINT) AS "size"
        FROM (
          SELECT
            "k_0" AS "k_0",
            "k_1" AS "k_1",
            "k_2" AS "k_2",
            "k_3" AS "k_3",
            "s_0" AS "s",
            CAST(SUM("n") AS BIGINT) AS "m"
          FROM "counted_rows"
          GROUP BY
            "k_0",
            "k_1",
            "k_2",
            "k_3",
            "s_0"
        ) AS "cells"
      ) AS "cells"
      JOIN "distribution_of_diagnosis" AS "reference"
        ON "cells"."s" = "reference"."code"
    ) AS "held"
    GROUP BY
      "k_0",
      "k_1",
      "k_2",
      "k_3"
  ) AS "classes"
)
SELECT
  "h_0"."label_3" AS "zip",
  "h_1"."label_3" AS "birth_date",
  "source"."sex" AS "sex",
  "h_3"."label_1" AS "marital",
  "source"."diagnosis",
  "source"."cost"
FROM {{ ref('stg_patients') }} AS "source"
LEFT JOIN "hierarchy_of_zip" AS "h_0"
  ON CAST("source"."zip" AS TEXT) COLLATE "C" = "h_0"."value"
LEFT JOIN "hierarchy_of_birth_date" AS "h_1"
  ON "source"."birth_date" = "h_1"."value"
LEFT JOIN "hierarchy_of_sex" AS "h_2"
  ON CAST("source"."sex" AS TEXT) COLLATE "C" = "h_2"."value"
LEFT JOIN "hierarchy_of_marital" AS "h_3"
  ON CAST("source"."marital" AS TEXT) COLLATE "C" = "h_3"."value"
JOIN "classes" AS "class"
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
  AND (
    SELECT
      CAST(CASE
        WHEN (
          SELECT
            (
              SELECT
                COUNT(*)
              FROM "classes"
              WHERE
                "k_0" IS NULL OR "k_1" IS NULL OR "k_2" IS NULL OR "k_3" IS NULL
            ) = 0
        )
        THEN '1'
        ELSE 'sqlanon: a value lies outside its hierarchy, run `sqlanon dbt` again'
      END AS INT) AS "audit"
  ) = 1
ORDER BY
  RANDOM()
