{{ config(materialized='sqlanon_release') }}

-- Written by `sqlanon dbt`. To change it, change the model's meta.sqlanon and run the command again.
-- Generalization: zip at level 3, birth_date at level 3, sex at level 0, marital at level 1.
-- Levels: [["zip", 3], ["birth_date", 3], ["sex", 0], ["marital", 1]]
-- Spec: 8589ef2a1c820dd979b1de283680d837e261f51c7d4b8c1a6eba7e2d365bca56
-- Signature: 738a6a11713483d559500846d9af7782

WITH hierarchy_zip AS (
  SELECT value, label_3, CAST(DENSE_RANK() OVER (ORDER BY CAST(label_3 AS TEXT) COLLATE "C") AS INT) AS code_3
  FROM (
    SELECT
      value,
      CASE WHEN LENGTH(CAST(value AS TEXT)) <= 5 THEN SUBSTRING(CAST(value AS TEXT), 1, 2) || '***' END AS label_3
    FROM (
      SELECT DISTINCT CAST(source.zip AS TEXT) COLLATE "C" AS value
      FROM {{ ref('stg_patients') }} AS source
      WHERE NOT CAST(source.zip AS TEXT) COLLATE "C" IS NULL
    ) AS domain
  ) AS labelled
  WHERE NOT label_3 IS NULL
), hierarchy_birth_date AS (
  SELECT value, label_3, CAST(DENSE_RANK() OVER (ORDER BY CAST(label_3 AS TEXT) COLLATE "C") AS INT) AS code_3
  FROM (
    SELECT
      value,
      CASE
        WHEN value = CAST('infinity' AS DATE) THEN 'infinity'
        WHEN value = CAST('-infinity' AS DATE) THEN '-infinity'
        WHEN CAST(EXTRACT(YEAR FROM value) AS INT) >= 1
        THEN '[' || CASE
          WHEN CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 > 9999
          THEN CAST(CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 AS TEXT)
          ELSE LPAD(
            CAST(CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 AS TEXT),
            4,
            '0'
          )
        END || '-' || CASE
          WHEN CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 + 19 > 9999
          THEN CAST(CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 + 19 AS TEXT)
          ELSE LPAD(
            CAST(CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 + 19 AS TEXT),
            4,
            '0'
          )
        END || ']'
      END AS label_3
    FROM (
      SELECT DISTINCT source.birth_date AS value
      FROM {{ ref('stg_patients') }} AS source
      WHERE NOT source.birth_date IS NULL
    ) AS domain
  ) AS labelled
  WHERE NOT label_3 IS NULL
), hierarchy_marital AS (
  SELECT value, label_1, CAST(DENSE_RANK() OVER (ORDER BY CAST(label_1 AS TEXT) COLLATE "C") AS INT) AS code_1
  FROM (
    SELECT domain.value, listed.label_1, COUNT(*) OVER (PARTITION BY domain.value) AS occurrences
    FROM (
      SELECT DISTINCT CAST(source.marital AS TEXT) COLLATE "C" AS value
      FROM {{ ref('stg_patients') }} AS source
      WHERE NOT CAST(source.marital AS TEXT) COLLATE "C" IS NULL
    ) AS domain
    INNER JOIN (
      SELECT DISTINCT label_0, label_1
      FROM {{ ref('release_patients_marital_hierarchy') }}
    ) AS listed ON CAST(domain.value AS TEXT) = listed.label_0
  ) AS labelled
  WHERE NOT label_1 IS NULL AND occurrences = 1
), values_diagnosis AS (
  SELECT
    value,
    CASE
      WHEN value IS NULL THEN 0
      ELSE CAST(ROW_NUMBER() OVER (PARTITION BY value IS NULL ORDER BY value) AS INT)
    END AS code
  FROM (
    SELECT DISTINCT CAST(source.diagnosis AS TEXT) COLLATE "C" AS value
    FROM {{ ref('stg_patients') }} AS source
  ) AS domain
), counted AS (
  SELECT zip_code, birth_date_code, sex_value, marital_code, diagnosis_code, COUNT(*) AS n
  FROM (
    SELECT
      COALESCE(CASE WHEN source.zip IS NULL THEN 0 ELSE hierarchy_zip.code_3 END, -1) AS zip_code,
      COALESCE(CASE WHEN source.birth_date IS NULL THEN 0 ELSE hierarchy_birth_date.code_3 END, -1) AS birth_date_code,
      COALESCE('=' || CAST(source.sex AS TEXT) COLLATE "C", '') AS sex_value,
      COALESCE(CASE WHEN source.marital IS NULL THEN 0 ELSE hierarchy_marital.code_1 END, -1) AS marital_code,
      CASE
        WHEN CAST(source.diagnosis AS TEXT) COLLATE "C" IS NULL THEN 0
        ELSE values_diagnosis.code
      END AS diagnosis_code
    FROM {{ ref('stg_patients') }} AS source
    LEFT JOIN hierarchy_zip AS hierarchy_zip ON CAST(source.zip AS TEXT) COLLATE "C" = hierarchy_zip.value
    LEFT JOIN hierarchy_birth_date AS hierarchy_birth_date ON source.birth_date = hierarchy_birth_date.value
    LEFT JOIN hierarchy_marital AS hierarchy_marital
      ON CAST(source.marital AS TEXT) COLLATE "C" = hierarchy_marital.value
    LEFT JOIN values_diagnosis AS values_diagnosis
      ON CAST(source.diagnosis AS TEXT) COLLATE "C" = values_diagnosis.value
  ) AS coded
  GROUP BY zip_code, birth_date_code, sex_value, marital_code, diagnosis_code
), distribution_diagnosis AS (
  SELECT
    running.code,
    running.reference_held,
    running.reference_assigned,
    running.reference_below,
    CAST(SUM(running.reference_assigned) OVER () AS BIGINT) AS total,
    CAST(SUM(running.reference_below) OVER () AS DECIMAL(38, 0)) AS reference_everywhere,
    CAST(COUNT(*) OVER () - 1 AS BIGINT) AS steps
  FROM (
    SELECT *, CAST(SUM(reference_assigned) OVER (ORDER BY code) AS BIGINT) AS reference_below
    FROM (
      SELECT
        held.code_held AS code,
        held.members AS reference_held,
        COALESCE(assigned.members, 0) AS reference_assigned
      FROM (
        SELECT diagnosis_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM counted
        GROUP BY diagnosis_code
      ) AS held
      LEFT JOIN (
        SELECT diagnosis_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM counted
        GROUP BY diagnosis_code
      ) AS assigned ON held.code_held = assigned.code_held
    ) AS "both"
  ) AS running
  JOIN values_diagnosis AS codes ON running.code = codes.code
), classes AS (
  SELECT
    NULLIF(zip_code, -1) AS zip_code,
    NULLIF(birth_date_code, -1) AS birth_date_code,
    sex_value AS sex_value,
    NULLIF(marital_code, -1) AS marital_code,
    n,
    n >= 5
    AND distinct_0 >= 2
    AND (
      CAST(excess_0 AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0))
    ) <= (CAST(size AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) * CAST(equal_total_0 AS DECIMAL(38, 0))) AS kept
  FROM (
    SELECT
      zip_code,
      birth_date_code,
      sex_value,
      marital_code,
      CAST(SUM(members) AS BIGINT) AS n,
      CAST(SUM(members) AS BIGINT) AS size,
      SUM(
        CASE
          WHEN (
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          ) IS NULL
          OR 0 IS NULL
          THEN NULL
          ELSE GREATEST(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0))),
            0
          )
        END
      ) AS excess_0,
      MAX(total) AS equal_total_0,
      COUNT(*) AS distinct_0
    FROM (
      SELECT
        cells.zip_code,
        cells.birth_date_code,
        cells.sex_value,
        cells.marital_code,
        cells.code_held,
        cells.members,
        cells.size,
        reference.reference_assigned AS reference_members,
        reference.*
      FROM (
        SELECT
          zip_code,
          birth_date_code,
          sex_value,
          marital_code,
          code_held,
          members,
          CAST(SUM(members) OVER (PARTITION BY zip_code, birth_date_code, sex_value, marital_code) AS BIGINT) AS size
        FROM (
          SELECT
            zip_code AS zip_code,
            birth_date_code AS birth_date_code,
            sex_value AS sex_value,
            marital_code AS marital_code,
            diagnosis_code AS code_held,
            CAST(SUM(n) AS BIGINT) AS members
          FROM counted
          GROUP BY zip_code, birth_date_code, sex_value, marital_code, diagnosis_code
        ) AS cells
      ) AS cells
      JOIN distribution_diagnosis AS reference ON cells.code_held = reference.code
    ) AS held
    GROUP BY zip_code, birth_date_code, sex_value, marital_code
  ) AS classes
)
SELECT
  hierarchy_zip.label_3 AS zip,
  hierarchy_birth_date.label_3 AS birth_date,
  source.sex,
  hierarchy_marital.label_1 AS marital,
  source.diagnosis,
  source.cost
FROM {{ ref('stg_patients') }} AS source
LEFT JOIN hierarchy_zip AS hierarchy_zip ON CAST(source.zip AS TEXT) COLLATE "C" = hierarchy_zip.value
LEFT JOIN hierarchy_birth_date AS hierarchy_birth_date ON source.birth_date = hierarchy_birth_date.value
LEFT JOIN hierarchy_marital AS hierarchy_marital
  ON CAST(source.marital AS TEXT) COLLATE "C" = hierarchy_marital.value
INNER JOIN classes AS class
  ON CASE WHEN source.zip IS NULL THEN 0 ELSE hierarchy_zip.code_3 END = class.zip_code
  AND CASE WHEN source.birth_date IS NULL THEN 0 ELSE hierarchy_birth_date.code_3 END = class.birth_date_code
  AND COALESCE('=' || CAST(source.sex AS TEXT) COLLATE "C", '') = class.sex_value
  AND CASE WHEN source.marital IS NULL THEN 0 ELSE hierarchy_marital.code_1 END = class.marital_code
WHERE
  class.kept
  AND (
    SELECT
      CAST(CASE
        WHEN COUNT(*) = 0 THEN '1'
        ELSE 'sqlanon: a value lies outside its hierarchy, run `sqlanon dbt` again'
      END AS INT) AS audit
    FROM classes
    WHERE zip_code IS NULL OR birth_date_code IS NULL OR marital_code IS NULL
  ) = 1
ORDER BY RANDOM()

{% set labels_0 -%}
-- Asked before the table is published: zip shows labels of level 3 alone.
WITH hierarchy_zip AS (
  SELECT value, label_3, CAST(DENSE_RANK() OVER (ORDER BY CAST(label_3 AS TEXT) COLLATE "C") AS INT) AS code_3
  FROM (
    SELECT
      value,
      CASE WHEN LENGTH(CAST(value AS TEXT)) <= 5 THEN SUBSTRING(CAST(value AS TEXT), 1, 2) || '***' END AS label_3
    FROM (
      SELECT DISTINCT CAST(source.zip AS TEXT) COLLATE "C" AS value
      FROM {{ ref('stg_patients') }} AS source
      WHERE NOT CAST(source.zip AS TEXT) COLLATE "C" IS NULL
    ) AS domain
  ) AS labelled
  WHERE NOT label_3 IS NULL
)
SELECT COUNT(*) = 0
FROM {{ this }} AS published
LEFT JOIN (
  SELECT DISTINCT CAST(hierarchy.label_3 AS TEXT) COLLATE "C" AS allowed_label
  FROM hierarchy_zip AS hierarchy
) AS labels_of_zip ON CAST(published.zip AS TEXT) COLLATE "C" = labels_of_zip.allowed_label
WHERE (NOT published.zip IS NULL AND labels_of_zip.allowed_label IS NULL)
{%- endset %}

{% set labels_1 -%}
-- Asked before the table is published: birth_date shows labels of level 3 alone.
WITH hierarchy_birth_date AS (
  SELECT value, label_3, CAST(DENSE_RANK() OVER (ORDER BY CAST(label_3 AS TEXT) COLLATE "C") AS INT) AS code_3
  FROM (
    SELECT
      value,
      CASE
        WHEN value = CAST('infinity' AS DATE) THEN 'infinity'
        WHEN value = CAST('-infinity' AS DATE) THEN '-infinity'
        WHEN CAST(EXTRACT(YEAR FROM value) AS INT) >= 1
        THEN '[' || CASE
          WHEN CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 > 9999
          THEN CAST(CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 AS TEXT)
          ELSE LPAD(
            CAST(CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 AS TEXT),
            4,
            '0'
          )
        END || '-' || CASE
          WHEN CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 + 19 > 9999
          THEN CAST(CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 + 19 AS TEXT)
          ELSE LPAD(
            CAST(CAST(EXTRACT(YEAR FROM value) AS INT) - CAST(EXTRACT(YEAR FROM value) AS INT) % 20 + 19 AS TEXT),
            4,
            '0'
          )
        END || ']'
      END AS label_3
    FROM (
      SELECT DISTINCT source.birth_date AS value
      FROM {{ ref('stg_patients') }} AS source
      WHERE NOT source.birth_date IS NULL
    ) AS domain
  ) AS labelled
  WHERE NOT label_3 IS NULL
)
SELECT COUNT(*) = 0
FROM {{ this }} AS published
LEFT JOIN (
  SELECT DISTINCT CAST(hierarchy.label_3 AS TEXT) COLLATE "C" AS allowed_label
  FROM hierarchy_birth_date AS hierarchy
) AS labels_of_birth_date ON CAST(published.birth_date AS TEXT) COLLATE "C" = labels_of_birth_date.allowed_label
WHERE (NOT published.birth_date IS NULL AND labels_of_birth_date.allowed_label IS NULL)
{%- endset %}

{% set labels_3 -%}
-- Asked before the table is published: marital shows labels of level 1 alone.
WITH hierarchy_marital AS (
  SELECT value, label_1, CAST(DENSE_RANK() OVER (ORDER BY CAST(label_1 AS TEXT) COLLATE "C") AS INT) AS code_1
  FROM (
    SELECT domain.value, listed.label_1, COUNT(*) OVER (PARTITION BY domain.value) AS occurrences
    FROM (
      SELECT DISTINCT CAST(source.marital AS TEXT) COLLATE "C" AS value
      FROM {{ ref('stg_patients') }} AS source
      WHERE NOT CAST(source.marital AS TEXT) COLLATE "C" IS NULL
    ) AS domain
    INNER JOIN (
      SELECT DISTINCT label_0, label_1
      FROM {{ ref('release_patients_marital_hierarchy') }}
    ) AS listed ON CAST(domain.value AS TEXT) = listed.label_0
  ) AS labelled
  WHERE NOT label_1 IS NULL AND occurrences = 1
)
SELECT COUNT(*) = 0
FROM {{ this }} AS published
LEFT JOIN (
  SELECT DISTINCT CAST(hierarchy.label_1 AS TEXT) COLLATE "C" AS allowed_label
  FROM hierarchy_marital AS hierarchy
) AS labels_of_marital ON CAST(published.marital AS TEXT) COLLATE "C" = labels_of_marital.allowed_label
WHERE (NOT published.marital IS NULL AND labels_of_marital.allowed_label IS NULL)
{%- endset %}
-- End of what `sqlanon dbt` wrote.
