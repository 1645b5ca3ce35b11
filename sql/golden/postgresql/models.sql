-- Release of source_table as release_table, made by sqlanon for postgres.
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
-- cat *.sql | psql -v ON_ERROR_STOP=1 -d warehouse
-- Grants, comments and indexes of an existing target are not kept by this script. `sqlanon apply` keeps them.

-- 01_hierarchies.sql: a label for every value.

-- One transaction, from here to the end.
BEGIN;
SET LOCAL transaction_isolation = 'repeatable read';
SET LOCAL timezone = 'UTC';
SET LOCAL datestyle = 'ISO, YMD';
SET LOCAL extra_float_digits = 1;

-- Definition of the hierarchy of zip, level 0 first.
CREATE UNLOGGED TABLE sqlanon_script_definition_zip (label_0 TEXT, label_1 TEXT);
INSERT INTO sqlanon_script_definition_zip
VALUES
  ('n1', 'north'),
  ('n2', 'north'),
  ('n3', 'north'),
  ('s1', 'south'),
  ('s2', 'south');

-- Hierarchy of zip: the label of each value at level 1.
CREATE UNLOGGED TABLE sqlanon_script_hierarchy_zip AS
SELECT
  domain.value,
  listed.label_1,
  CAST(DENSE_RANK() OVER (ORDER BY CAST(listed.label_1 AS TEXT) COLLATE "C") AS INT) AS code_1
FROM (
  SELECT DISTINCT CAST(source.zip AS TEXT) COLLATE "C" AS value
  FROM source_table AS source
  WHERE NOT CAST(source.zip AS TEXT) COLLATE "C" IS NULL
  UNION
  SELECT DISTINCT CAST(population.zip AS TEXT) COLLATE "C" AS value
  FROM people AS population
  WHERE NOT CAST(population.zip AS TEXT) COLLATE "C" IS NULL
) AS domain
INNER JOIN sqlanon_script_definition_zip AS listed ON CAST(domain.value AS TEXT) = listed.label_0;

-- Hierarchy of age: the label of each value at level 1.
CREATE UNLOGGED TABLE sqlanon_script_hierarchy_age AS
SELECT value, label_1, CAST(DENSE_RANK() OVER (ORDER BY CAST(label_1 AS TEXT) COLLATE "C") AS INT) AS code_1
FROM (
  SELECT
    value,
    CASE
      WHEN value < -4000000000000000000 THEN '<0'
      WHEN value >= 4000000000000000000 THEN '>=4'
      WHEN CAST(value AS BIGINT) < 0 THEN '<0'
      WHEN CAST(value AS BIGINT) >= 4 THEN '>=4'
      ELSE '[' || CAST(CAST(value AS BIGINT) - (
        (CAST(value AS BIGINT) - 0) % 2 + 2
      ) % 2 AS TEXT) || ', ' || CAST(CASE
        WHEN CAST(value AS BIGINT) - ((CAST(value AS BIGINT) - 0) % 2 + 2) % 2 + 2 > 4
        THEN 4
        ELSE CAST(value AS BIGINT) - ((CAST(value AS BIGINT) - 0) % 2 + 2) % 2 + 2
      END AS TEXT) || ')'
    END AS label_1
  FROM (
    SELECT DISTINCT source.age AS value
    FROM source_table AS source
    WHERE NOT source.age IS NULL
    UNION
    SELECT DISTINCT population.age AS value
    FROM people AS population
    WHERE NOT population.age IS NULL
  ) AS domain
) AS labelled
WHERE NOT label_1 IS NULL;

-- Definition of the hierarchy of disease, level 0 first.
CREATE UNLOGGED TABLE sqlanon_script_definition_disease (label_0 TEXT, label_1 TEXT);
INSERT INTO sqlanon_script_definition_disease
VALUES
  ('flu', 'lung'),
  ('asthma', 'lung'),
  ('cough', 'lung'),
  ('ulcer', 'stomach'),
  ('gastritis', 'stomach');

-- Hierarchy of disease: the labels of each value.
CREATE UNLOGGED TABLE sqlanon_script_hierarchy_disease AS
SELECT *
FROM (
  SELECT *, COUNT(*) OVER (PARTITION BY value) AS occurrences
  FROM (
    WITH labelled AS (
      SELECT
        domain.value,
        COALESCE(listed.label_0, CAST(value AS TEXT)) AS label_0,
        listed.label_1 AS label_1,
        CASE WHEN NOT listed.label_0 IS NULL THEN '*' END AS label_2
      FROM (SELECT DISTINCT label_0, label_1 FROM sqlanon_script_definition_disease) AS listed
      FULL OUTER JOIN (
        SELECT DISTINCT CAST(source.disease AS TEXT) COLLATE "C" AS value
        FROM source_table AS source
        WHERE NOT CAST(source.disease AS TEXT) COLLATE "C" IS NULL
      ) AS domain ON CAST(value AS TEXT) = listed.label_0
    )
    SELECT
      value,
      label_0,
      label_1,
      label_2,
      CAST(DENSE_RANK() OVER (ORDER BY CAST(label_0 AS TEXT) COLLATE "C") AS INT) AS code_0,
      CAST(DENSE_RANK() OVER (ORDER BY CAST(label_1 AS TEXT) COLLATE "C") AS INT) AS code_1
    FROM labelled
  ) AS coded
) AS counted
WHERE NOT value IS NULL AND occurrences = 1 AND NOT label_1 IS NULL AND NOT label_2 IS NULL;

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- Values of disease, numbered in their order; NULL is 0.
CREATE UNLOGGED TABLE sqlanon_script_values_disease AS
SELECT
  value,
  CASE
    WHEN value IS NULL THEN 0
    ELSE CAST(ROW_NUMBER() OVER (PARTITION BY value IS NULL ORDER BY value) AS INT)
  END AS code,
  COALESCE(CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'flu', FALSE) AS is_0
FROM (SELECT DISTINCT CAST(source.disease AS TEXT) COLLATE "C" AS value FROM source_table AS source) AS domain;

-- Values of stage, numbered in their order; NULL is 0.
CREATE UNLOGGED TABLE sqlanon_script_values_stage AS
SELECT
  value,
  CASE
    WHEN value IS NULL THEN 0
    ELSE CAST(ROW_NUMBER() OVER (PARTITION BY value IS NULL ORDER BY value) AS INT)
  END AS code
FROM (SELECT DISTINCT source.stage AS value FROM source_table AS source) AS domain;

-- The frequency set: every person of the source, counted by the generalized quasi-identifier, the codes of sensitive
-- values.
CREATE UNLOGGED TABLE sqlanon_script_counted AS
SELECT
  zip_code,
  age_code,
  sex_value,
  disease_code,
  stage_code,
  respondent,
  CAST(COALESCE(SUM(n), 0) AS BIGINT) AS n,
  CAST(COALESCE(SUM(lone_respondents), 0) AS BIGINT) AS lone_respondents
FROM (
  SELECT
    zip_code,
    age_code,
    sex_value,
    disease_code,
    stage_code,
    n,
    CASE
      WHEN COUNT(*) OVER (PARTITION BY who) > 1 THEN CAST(DENSE_RANK() OVER (ORDER BY who) AS BIGINT)
    END AS respondent,
    CASE WHEN COUNT(*) OVER (PARTITION BY who) > 1 THEN 0 ELSE 1 END AS lone_respondents
  FROM (
    SELECT zip_code, age_code, sex_value, disease_code, stage_code, who, COUNT(*) AS n
    FROM (
      SELECT
        COALESCE(CASE WHEN source.zip IS NULL THEN 0 ELSE hierarchy_zip.code_1 END, -1) AS zip_code,
        COALESCE(CASE WHEN source.age IS NULL THEN 0 ELSE hierarchy_age.code_1 END, -1) AS age_code,
        COALESCE('=' || CAST(source.sex AS TEXT) COLLATE "C", '') AS sex_value,
        CASE WHEN CAST(source.disease AS TEXT) COLLATE "C" IS NULL THEN 0 ELSE values_disease.code END AS disease_code,
        CASE WHEN source.stage IS NULL THEN 0 ELSE values_stage.code END AS stage_code,
        CAST(source.person AS TEXT) COLLATE "C" AS who
      FROM source_table AS source
      LEFT JOIN sqlanon_script_hierarchy_zip AS hierarchy_zip
        ON CAST(source.zip AS TEXT) COLLATE "C" = hierarchy_zip.value
      LEFT JOIN sqlanon_script_hierarchy_age AS hierarchy_age ON source.age = hierarchy_age.value
      LEFT JOIN sqlanon_script_values_disease AS values_disease
        ON CAST(source.disease AS TEXT) COLLATE "C" = values_disease.value
      LEFT JOIN sqlanon_script_values_stage AS values_stage ON source.stage = values_stage.value
    ) AS coded
    GROUP BY zip_code, age_code, sex_value, disease_code, stage_code, who
  ) AS rows
) AS numbered
GROUP BY zip_code, age_code, sex_value, disease_code, stage_code, respondent;

-- How the whole source distributes disease.
CREATE UNLOGGED TABLE sqlanon_script_distribution_disease AS
SELECT
  running.code,
  running.reference_held,
  running.reference_assigned,
  running.reference_below,
  codes.is_0,
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
      SELECT
        disease_code AS code_held,
        CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
      FROM sqlanon_script_counted
      GROUP BY disease_code
    ) AS held
    LEFT JOIN (
      SELECT code_held, CAST(SUM(members) AS BIGINT) AS members
      FROM (
        SELECT disease_code AS code_held, CAST(SUM(lone_respondents) AS BIGINT) AS members
        FROM sqlanon_script_counted
        WHERE respondent IS NULL
        GROUP BY disease_code
        UNION ALL
        SELECT code_held, COUNT(*) AS members
        FROM (
          SELECT
            own.code_held,
            ROW_NUMBER() OVER (PARTITION BY own.who ORDER BY held.members DESC NULLS LAST, own.code_held) AS choice
          FROM (
            SELECT disease_code AS code_held, respondent AS who
            FROM sqlanon_script_counted
            WHERE NOT respondent IS NULL
            GROUP BY disease_code, respondent
          ) AS own
          JOIN (
            SELECT
              disease_code AS code_held,
              CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
            FROM sqlanon_script_counted
            GROUP BY disease_code
          ) AS held ON own.code_held = held.code_held
        ) AS choices
        WHERE choice = 1
        GROUP BY code_held
      ) AS assigned
      GROUP BY code_held
    ) AS assigned ON held.code_held = assigned.code_held
  ) AS "both"
) AS running
JOIN sqlanon_script_values_disease AS codes ON running.code = codes.code;

-- The same by the labels of disease.
CREATE UNLOGGED TABLE sqlanon_script_labels_disease AS
SELECT
  level,
  code,
  label,
  total,
  2 AS levels,
  CAST(SUM(reference_of_value) OVER (PARTITION BY level, label) AS BIGINT) AS reference_members
FROM (
  SELECT
    0 AS level,
    codes.code AS code,
    CAST(codes.code AS BIGINT) AS label,
    reference.reference_assigned AS reference_of_value,
    reference.total AS total
  FROM sqlanon_script_values_disease AS codes
  JOIN sqlanon_script_distribution_disease AS reference ON codes.code = reference.code
  LEFT JOIN sqlanon_script_hierarchy_disease AS hierarchy ON codes.value = hierarchy.value
  UNION ALL
  SELECT
    1 AS level,
    codes.code AS code,
    CAST(CASE WHEN codes.value IS NULL THEN 0 ELSE hierarchy.code_1 END AS BIGINT) AS label,
    reference.reference_assigned AS reference_of_value,
    reference.total AS total
  FROM sqlanon_script_values_disease AS codes
  JOIN sqlanon_script_distribution_disease AS reference ON codes.code = reference.code
  LEFT JOIN sqlanon_script_hierarchy_disease AS hierarchy ON codes.value = hierarchy.value
) AS labelled;

-- How the whole source distributes stage.
CREATE UNLOGGED TABLE sqlanon_script_distribution_stage AS
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
      SELECT
        stage_code AS code_held,
        CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
      FROM sqlanon_script_counted
      GROUP BY stage_code
    ) AS held
    LEFT JOIN (
      SELECT code_held, CAST(SUM(members) AS BIGINT) AS members
      FROM (
        SELECT stage_code AS code_held, CAST(SUM(lone_respondents) AS BIGINT) AS members
        FROM sqlanon_script_counted
        WHERE respondent IS NULL
        GROUP BY stage_code
        UNION ALL
        SELECT code_held, COUNT(*) AS members
        FROM (
          SELECT
            own.code_held,
            ROW_NUMBER() OVER (PARTITION BY own.who ORDER BY held.members DESC NULLS LAST, own.code_held) AS choice
          FROM (
            SELECT stage_code AS code_held, respondent AS who
            FROM sqlanon_script_counted
            WHERE NOT respondent IS NULL
            GROUP BY stage_code, respondent
          ) AS own
          JOIN (
            SELECT
              stage_code AS code_held,
              CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
            FROM sqlanon_script_counted
            GROUP BY stage_code
          ) AS held ON own.code_held = held.code_held
        ) AS choices
        WHERE choice = 1
        GROUP BY code_held
      ) AS assigned
      GROUP BY code_held
    ) AS assigned ON held.code_held = assigned.code_held
  ) AS "both"
) AS running
JOIN sqlanon_script_values_stage AS codes ON running.code = codes.code;

-- The population, counted by the same generalization.
CREATE UNLOGGED TABLE sqlanon_script_everybody AS
SELECT zip_code, age_code, sex_value, COUNT(*) AS population_rows
FROM (
  SELECT
    COALESCE(CASE WHEN source.zip IS NULL THEN 0 ELSE hierarchy_zip.code_1 END, -1) AS zip_code,
    COALESCE(CASE WHEN source.age IS NULL THEN 0 ELSE hierarchy_age.code_1 END, -1) AS age_code,
    COALESCE('=' || CAST(source.sex AS TEXT) COLLATE "C", '') AS sex_value
  FROM people AS source
  LEFT JOIN sqlanon_script_hierarchy_zip AS hierarchy_zip
    ON CAST(source.zip AS TEXT) COLLATE "C" = hierarchy_zip.value
  LEFT JOIN sqlanon_script_hierarchy_age AS hierarchy_age ON source.age = hierarchy_age.value
) AS coded
GROUP BY zip_code, age_code, sex_value;

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE UNLOGGED TABLE sqlanon_script_classes AS
SELECT
  NULLIF(zip_code, -1) AS zip_code,
  NULLIF(age_code, -1) AS age_code,
  sex_value AS sex_value,
  n,
  size >= 2
  AND population_rows >= 3
  AND (
    (
      CAST(size AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (CAST(population_rows AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)))
    AND (
      CAST(size AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
    ) >= (CAST(population_rows AS DECIMAL(38, 0)) * CAST(0 AS DECIMAL(38, 0)))
  )
  AND (distinct_0 >= 2 AND size >= 2)
  AND (CAST(climbed_0 AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0))) <= (
    CAST(size AS DECIMAL(38, 0)) * CAST(3 AS DECIMAL(38, 0)) * CAST(climbed_levels_0 AS DECIMAL(38, 0)) * CAST(climbed_total_0 AS DECIMAL(38, 0))
  )
  AND (
    CAST(share_0_0 AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0))
  ) <= (CAST(size AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0)))
  AND enhanced_gains_5_1_0 = 0
  AND far_3_1_0 = 0
  AND (
    CAST(first_1 AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
  ) < (CAST(tail_2_1 AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0)))
  AND (
    CAST((
      gaps_1 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_1 AS DECIMAL(38, 0)))
    ) AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0))
  ) <= (
    CAST(size AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) * CAST(ordered_steps_1 AS DECIMAL(38, 0)) * CAST(ordered_total_1 AS DECIMAL(38, 0))
  )
  AND (distinct_1 >= 2 AND size >= 2) AS kept
FROM (
  SELECT
    COALESCE(found.zip_code, everybody.zip_code) AS zip_code,
    COALESCE(found.age_code, everybody.age_code) AS age_code,
    COALESCE(found.sex_value, everybody.sex_value) AS sex_value,
    found.n AS n,
    COALESCE(found.size, 0) AS size,
    COALESCE(everybody.population_rows, 0) AS population_rows,
    found.share_0_0,
    found.enhanced_gains_5_1_0,
    found.far_3_1_0,
    found.distinct_0,
    found.climbed_0,
    found.climbed_levels_0,
    found.climbed_total_0,
    found.gaps_1,
    found.before_1,
    found.ordered_steps_1,
    found.ordered_total_1,
    found.distinct_1,
    found.first_1,
    found.tail_2_1
  FROM (
    SELECT
      part_0.zip_code,
      part_0.age_code,
      part_0.sex_value,
      part_0.n,
      part_0.size,
      part_1.share_0_0,
      part_1.enhanced_gains_5_1_0,
      part_1.far_3_1_0,
      part_2.distinct_0,
      part_3.climbed_0,
      part_3.climbed_levels_0,
      part_3.climbed_total_0,
      part_4.gaps_1,
      part_4.before_1,
      part_4.ordered_steps_1,
      part_4.ordered_total_1,
      part_5.distinct_1,
      part_6.first_1,
      part_6.tail_2_1
    FROM (
      SELECT
        zip_code AS zip_code,
        age_code AS age_code,
        sex_value AS sex_value,
        SUM(n) AS n,
        CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS size
      FROM sqlanon_script_counted
      GROUP BY zip_code, age_code, sex_value
    ) AS part_0
    JOIN (
      SELECT
        zip_code,
        age_code,
        sex_value,
        COALESCE(SUM(CASE WHEN is_0 THEN members ELSE 0 END), 0) AS share_0_0,
        COALESCE(
          SUM(
            CASE
              WHEN (CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))) > (
                CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)) * CAST(6 AS DECIMAL(38, 0))
              )
              OR CAST((CAST(members AS DOUBLE PRECISION) * CAST(total AS DOUBLE PRECISION)) AS DOUBLE PRECISION) / (
                CAST(size AS DOUBLE PRECISION) * CAST(reference_members AS DOUBLE PRECISION)
              ) - 1 > LN(CAST(total AS DOUBLE PRECISION) / CAST(reference_members AS DOUBLE PRECISION))
              THEN 1
              ELSE 0
            END
          ),
          0
        ) AS enhanced_gains_5_1_0,
        COALESCE(
          SUM(
            CASE
              WHEN ABS(
                LN(
                  CAST((CAST(members AS DOUBLE PRECISION) * CAST(total AS DOUBLE PRECISION)) AS DOUBLE PRECISION) / (
                    CAST(size AS DOUBLE PRECISION) * CAST(reference_members AS DOUBLE PRECISION)
                  )
                )
              ) > CAST(3 AS DOUBLE PRECISION)
              THEN 1
              ELSE 0
            END
          ),
          0
        ) AS far_3_1_0
      FROM (
        SELECT
          cells.zip_code,
          cells.age_code,
          cells.sex_value,
          cells.code_held,
          cells.members,
          cells.size,
          reference.reference_held AS reference_members,
          reference.*
        FROM (
          SELECT held.zip_code, held.age_code, held.sex_value, held.code_held, held.members, sizes.size
          FROM (
            SELECT
              zip_code AS zip_code,
              age_code AS age_code,
              sex_value AS sex_value,
              disease_code AS code_held,
              CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
            FROM sqlanon_script_counted
            GROUP BY zip_code, age_code, sex_value, disease_code
          ) AS held
          JOIN (
            SELECT
              zip_code AS zip_code,
              age_code AS age_code,
              sex_value AS sex_value,
              CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS size
            FROM sqlanon_script_counted
            GROUP BY zip_code, age_code, sex_value
          ) AS sizes
            ON held.zip_code = sizes.zip_code
            AND held.age_code = sizes.age_code
            AND held.sex_value = sizes.sex_value
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held = reference.code
      ) AS held
      GROUP BY zip_code, age_code, sex_value
    ) AS part_1
      ON part_0.zip_code = part_1.zip_code
      AND part_0.age_code = part_1.age_code
      AND part_0.sex_value = part_1.sex_value
    JOIN (
      SELECT
        zip_code,
        age_code,
        sex_value,
        COALESCE(SUM(CASE WHEN first <> last OR alone >= 1 THEN 1 ELSE 0 END), 0) + COUNT(DISTINCT CASE WHEN first = last AND alone = 0 THEN first END) AS distinct_0
      FROM (
        SELECT
          zip_code AS zip_code,
          age_code AS age_code,
          sex_value AS sex_value,
          disease_code AS code_held,
          COALESCE(SUM(lone_respondents), 0) AS alone,
          MIN(respondent) AS first,
          MAX(respondent) AS last
        FROM sqlanon_script_counted
        GROUP BY zip_code, age_code, sex_value, disease_code
      ) AS held
      GROUP BY zip_code, age_code, sex_value
    ) AS part_2
      ON part_0.zip_code = part_2.zip_code
      AND part_0.age_code = part_2.age_code
      AND part_0.sex_value = part_2.sex_value
    JOIN (
      SELECT
        zip_code,
        age_code,
        sex_value,
        SUM(
          GREATEST(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0))),
            0
          )
        ) AS climbed_0,
        MAX(levels) AS climbed_levels_0,
        MAX(total) AS climbed_total_0
      FROM (
        SELECT
          cells.zip_code,
          cells.age_code,
          cells.sex_value,
          cells.size,
          reference.reference_members,
          reference.total,
          reference.levels,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            age_code,
            sex_value,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, age_code, sex_value) AS BIGINT) AS size
          FROM (
            SELECT zip_code, age_code, sex_value, code_held, CAST(SUM(members) AS BIGINT) AS members
            FROM (
              SELECT
                zip_code AS zip_code,
                age_code AS age_code,
                sex_value AS sex_value,
                disease_code AS code_held,
                CAST(SUM(lone_respondents) AS BIGINT) AS members
              FROM sqlanon_script_counted
              WHERE respondent IS NULL
              GROUP BY zip_code, age_code, sex_value, disease_code
              UNION ALL
              SELECT zip_code, age_code, sex_value, code_held, COUNT(*) AS members
              FROM (
                SELECT
                  own.zip_code,
                  own.age_code,
                  own.sex_value,
                  own.code_held,
                  ROW_NUMBER() OVER (
                    PARTITION BY own.zip_code, own.age_code, own.sex_value, own.who
                    ORDER BY held.members DESC NULLS LAST, own.code_held
                  ) AS choice
                FROM (
                  SELECT
                    zip_code AS zip_code,
                    age_code AS age_code,
                    sex_value AS sex_value,
                    disease_code AS code_held,
                    respondent AS who
                  FROM sqlanon_script_counted
                  WHERE NOT respondent IS NULL
                  GROUP BY zip_code, age_code, sex_value, disease_code, respondent
                ) AS own
                JOIN (
                  SELECT
                    zip_code AS zip_code,
                    age_code AS age_code,
                    sex_value AS sex_value,
                    disease_code AS code_held,
                    CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
                  FROM sqlanon_script_counted
                  GROUP BY zip_code, age_code, sex_value, disease_code
                ) AS held
                  ON own.zip_code = held.zip_code
                  AND own.age_code = held.age_code
                  AND own.sex_value = held.sex_value
                  AND own.code_held = held.code_held
              ) AS choices
              WHERE choice = 1
              GROUP BY zip_code, age_code, sex_value, code_held
            ) AS assigned
            GROUP BY zip_code, age_code, sex_value, code_held
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_labels_disease AS reference ON cells.code_held = reference.code
        GROUP BY
          cells.zip_code,
          cells.age_code,
          cells.sex_value,
          cells.size,
          reference.level,
          reference.label,
          reference.reference_members,
          reference.total,
          reference.levels
      ) AS held
      GROUP BY zip_code, age_code, sex_value
    ) AS part_3
      ON part_0.zip_code = part_3.zip_code
      AND part_0.age_code = part_3.age_code
      AND part_0.sex_value = part_3.sex_value
    JOIN (
      SELECT
        zip_code,
        age_code,
        sex_value,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_1,
        MAX(reference_everywhere) - SUM(reference_members) AS before_1,
        MAX(steps) AS ordered_steps_1,
        MAX(total) AS ordered_total_1
      FROM (
        SELECT
          cells.zip_code,
          cells.age_code,
          cells.sex_value,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            age_code,
            sex_value,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, age_code, sex_value) AS BIGINT) AS size
          FROM (
            SELECT zip_code, age_code, sex_value, code_held, CAST(SUM(members) AS BIGINT) AS members
            FROM (
              SELECT
                zip_code AS zip_code,
                age_code AS age_code,
                sex_value AS sex_value,
                stage_code AS code_held,
                CAST(SUM(lone_respondents) AS BIGINT) AS members
              FROM sqlanon_script_counted
              WHERE respondent IS NULL
              GROUP BY zip_code, age_code, sex_value, stage_code
              UNION ALL
              SELECT zip_code, age_code, sex_value, code_held, COUNT(*) AS members
              FROM (
                SELECT
                  own.zip_code,
                  own.age_code,
                  own.sex_value,
                  own.code_held,
                  ROW_NUMBER() OVER (
                    PARTITION BY own.zip_code, own.age_code, own.sex_value, own.who
                    ORDER BY held.members DESC NULLS LAST, own.code_held
                  ) AS choice
                FROM (
                  SELECT
                    zip_code AS zip_code,
                    age_code AS age_code,
                    sex_value AS sex_value,
                    stage_code AS code_held,
                    respondent AS who
                  FROM sqlanon_script_counted
                  WHERE NOT respondent IS NULL
                  GROUP BY zip_code, age_code, sex_value, stage_code, respondent
                ) AS own
                JOIN (
                  SELECT
                    zip_code AS zip_code,
                    age_code AS age_code,
                    sex_value AS sex_value,
                    stage_code AS code_held,
                    CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
                  FROM sqlanon_script_counted
                  GROUP BY zip_code, age_code, sex_value, stage_code
                ) AS held
                  ON own.zip_code = held.zip_code
                  AND own.age_code = held.age_code
                  AND own.sex_value = held.sex_value
                  AND own.code_held = held.code_held
              ) AS choices
              WHERE choice = 1
              GROUP BY zip_code, age_code, sex_value, code_held
            ) AS assigned
            GROUP BY zip_code, age_code, sex_value, code_held
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_stage AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.zip_code,
          cells.age_code,
          cells.sex_value,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY zip_code, age_code, sex_value
    ) AS part_4
      ON part_0.zip_code = part_4.zip_code
      AND part_0.age_code = part_4.age_code
      AND part_0.sex_value = part_4.sex_value
    JOIN (
      SELECT
        zip_code,
        age_code,
        sex_value,
        COALESCE(SUM(CASE WHEN first <> last OR alone >= 1 THEN 1 ELSE 0 END), 0) + COUNT(DISTINCT CASE WHEN first = last AND alone = 0 THEN first END) AS distinct_1
      FROM (
        SELECT
          zip_code AS zip_code,
          age_code AS age_code,
          sex_value AS sex_value,
          stage_code AS code_held,
          COALESCE(SUM(lone_respondents), 0) AS alone,
          MIN(respondent) AS first,
          MAX(respondent) AS last
        FROM sqlanon_script_counted
        GROUP BY zip_code, age_code, sex_value, stage_code
      ) AS held
      GROUP BY zip_code, age_code, sex_value
    ) AS part_5
      ON part_0.zip_code = part_5.zip_code
      AND part_0.age_code = part_5.age_code
      AND part_0.sex_value = part_5.sex_value
    JOIN (
      SELECT
        zip_code,
        age_code,
        sex_value,
        MAX(members) AS first_1,
        COALESCE(SUM(CASE WHEN place >= 2 THEN members ELSE 0 END), 0) AS tail_2_1
      FROM (
        SELECT
          zip_code,
          age_code,
          sex_value,
          members,
          ROW_NUMBER() OVER (PARTITION BY zip_code, age_code, sex_value ORDER BY members DESC NULLS LAST, code_held) AS place
        FROM (
          SELECT zip_code, age_code, sex_value, code_held, CAST(SUM(members) AS BIGINT) AS members
          FROM (
            SELECT
              zip_code AS zip_code,
              age_code AS age_code,
              sex_value AS sex_value,
              stage_code AS code_held,
              CAST(SUM(lone_respondents) AS BIGINT) AS members
            FROM sqlanon_script_counted
            WHERE respondent IS NULL
            GROUP BY zip_code, age_code, sex_value, stage_code
            UNION ALL
            SELECT zip_code, age_code, sex_value, code_held, COUNT(*) AS members
            FROM (
              SELECT
                own.zip_code,
                own.age_code,
                own.sex_value,
                own.code_held,
                ROW_NUMBER() OVER (
                  PARTITION BY own.zip_code, own.age_code, own.sex_value, own.who
                  ORDER BY held.members DESC NULLS LAST, own.code_held
                ) AS choice
              FROM (
                SELECT
                  zip_code AS zip_code,
                  age_code AS age_code,
                  sex_value AS sex_value,
                  stage_code AS code_held,
                  respondent AS who
                FROM sqlanon_script_counted
                WHERE NOT respondent IS NULL
                GROUP BY zip_code, age_code, sex_value, stage_code, respondent
              ) AS own
              JOIN (
                SELECT
                  zip_code AS zip_code,
                  age_code AS age_code,
                  sex_value AS sex_value,
                  stage_code AS code_held,
                  CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
                FROM sqlanon_script_counted
                GROUP BY zip_code, age_code, sex_value, stage_code
              ) AS held
                ON own.zip_code = held.zip_code
                AND own.age_code = held.age_code
                AND own.sex_value = held.sex_value
                AND own.code_held = held.code_held
            ) AS choices
            WHERE choice = 1
            GROUP BY zip_code, age_code, sex_value, code_held
          ) AS assigned
          GROUP BY zip_code, age_code, sex_value, code_held
        ) AS cells
      ) AS held
      GROUP BY zip_code, age_code, sex_value
    ) AS part_6
      ON part_0.zip_code = part_6.zip_code
      AND part_0.age_code = part_6.age_code
      AND part_0.sex_value = part_6.sex_value
  ) AS found
  LEFT JOIN (
    SELECT
      zip_code AS zip_code,
      age_code AS age_code,
      sex_value AS sex_value,
      CAST(SUM(population_rows) AS BIGINT) AS population_rows
    FROM sqlanon_script_everybody
    GROUP BY zip_code, age_code, sex_value
  ) AS everybody
    ON found.zip_code = everybody.zip_code
    AND found.age_code = everybody.age_code
    AND found.sex_value = everybody.sex_value
) AS classes;

-- Stop if a value lies outside its hierarchy.
SELECT CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS audit
FROM sqlanon_script_classes
WHERE zip_code IS NULL OR age_code IS NULL;

-- Stop if more than 25% of the rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT kept THEN n ELSE 0 END), 0) * 4 <= COALESCE(SUM(n), 0) * 1 THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS audit
FROM sqlanon_script_classes;

-- Whether suppressed rows, blanked, satisfy the requirement as one class: then they stay, else they go.
CREATE UNLOGGED TABLE sqlanon_script_blanked AS
SELECT
  size >= 2
  AND population_rows >= 3
  AND (
    (
      CAST(size AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (CAST(population_rows AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)))
    AND (
      CAST(size AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
    ) >= (CAST(population_rows AS DECIMAL(38, 0)) * CAST(0 AS DECIMAL(38, 0)))
  )
  AND (distinct_0 >= 2 AND size >= 2)
  AND (CAST(climbed_0 AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0))) <= (
    CAST(size AS DECIMAL(38, 0)) * CAST(3 AS DECIMAL(38, 0)) * CAST(climbed_levels_0 AS DECIMAL(38, 0)) * CAST(climbed_total_0 AS DECIMAL(38, 0))
  )
  AND (
    CAST(share_0_0 AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0))
  ) <= (CAST(size AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0)))
  AND enhanced_gains_5_1_0 = 0
  AND far_3_1_0 = 0
  AND (
    CAST(first_1 AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
  ) < (CAST(tail_2_1 AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0)))
  AND (
    CAST((
      gaps_1 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_1 AS DECIMAL(38, 0)))
    ) AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0))
  ) <= (
    CAST(size AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) * CAST(ordered_steps_1 AS DECIMAL(38, 0)) * CAST(ordered_total_1 AS DECIMAL(38, 0))
  )
  AND (distinct_1 >= 2 AND size >= 2) AS satisfied
FROM (
  SELECT
    found.n AS n,
    COALESCE(found.size, 0) AS size,
    COALESCE(everybody.population_rows, 0) AS population_rows,
    found.share_0_0,
    found.enhanced_gains_5_1_0,
    found.far_3_1_0,
    found.distinct_0,
    found.climbed_0,
    found.climbed_levels_0,
    found.climbed_total_0,
    found.gaps_1,
    found.before_1,
    found.ordered_steps_1,
    found.ordered_total_1,
    found.distinct_1,
    found.first_1,
    found.tail_2_1
  FROM (
    SELECT
      part_0.n,
      part_0.size,
      part_1.share_0_0,
      part_1.enhanced_gains_5_1_0,
      part_1.far_3_1_0,
      part_2.distinct_0,
      part_3.climbed_0,
      part_3.climbed_levels_0,
      part_3.climbed_total_0,
      part_4.gaps_1,
      part_4.before_1,
      part_4.ordered_steps_1,
      part_4.ordered_total_1,
      part_5.distinct_1,
      part_6.first_1,
      part_6.tail_2_1
    FROM (
      SELECT SUM(n) AS n, CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS size
      FROM (
        SELECT counted.*
        FROM sqlanon_script_counted AS counted
        INNER JOIN sqlanon_script_classes AS verdict
          ON counted.zip_code = verdict.zip_code
          AND counted.age_code = verdict.age_code
          AND counted.sex_value = verdict.sex_value
          AND NOT verdict.kept
      ) AS counted
    ) AS part_0
    CROSS JOIN (
      SELECT
        COALESCE(SUM(CASE WHEN is_0 THEN members ELSE 0 END), 0) AS share_0_0,
        COALESCE(
          SUM(
            CASE
              WHEN (CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))) > (
                CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)) * CAST(6 AS DECIMAL(38, 0))
              )
              OR CAST((CAST(members AS DOUBLE PRECISION) * CAST(total AS DOUBLE PRECISION)) AS DOUBLE PRECISION) / (
                CAST(size AS DOUBLE PRECISION) * CAST(reference_members AS DOUBLE PRECISION)
              ) - 1 > LN(CAST(total AS DOUBLE PRECISION) / CAST(reference_members AS DOUBLE PRECISION))
              THEN 1
              ELSE 0
            END
          ),
          0
        ) AS enhanced_gains_5_1_0,
        COALESCE(
          SUM(
            CASE
              WHEN ABS(
                LN(
                  CAST((CAST(members AS DOUBLE PRECISION) * CAST(total AS DOUBLE PRECISION)) AS DOUBLE PRECISION) / (
                    CAST(size AS DOUBLE PRECISION) * CAST(reference_members AS DOUBLE PRECISION)
                  )
                )
              ) > CAST(3 AS DOUBLE PRECISION)
              THEN 1
              ELSE 0
            END
          ),
          0
        ) AS far_3_1_0
      FROM (
        SELECT cells.code_held, cells.members, cells.size, reference.reference_held AS reference_members, reference.*
        FROM (
          SELECT held.code_held, held.members, sizes.size
          FROM (
            SELECT
              disease_code AS code_held,
              CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
            FROM (
              SELECT counted.*
              FROM sqlanon_script_counted AS counted
              INNER JOIN sqlanon_script_classes AS verdict
                ON counted.zip_code = verdict.zip_code
                AND counted.age_code = verdict.age_code
                AND counted.sex_value = verdict.sex_value
                AND NOT verdict.kept
            ) AS counted
            GROUP BY disease_code
          ) AS held
          CROSS JOIN (
            SELECT CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS size
            FROM (
              SELECT counted.*
              FROM sqlanon_script_counted AS counted
              INNER JOIN sqlanon_script_classes AS verdict
                ON counted.zip_code = verdict.zip_code
                AND counted.age_code = verdict.age_code
                AND counted.sex_value = verdict.sex_value
                AND NOT verdict.kept
            ) AS counted
          ) AS sizes
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held = reference.code
      ) AS held
    ) AS part_1
    CROSS JOIN (
      SELECT
        COALESCE(SUM(CASE WHEN first <> last OR alone >= 1 THEN 1 ELSE 0 END), 0) + COUNT(DISTINCT CASE WHEN first = last AND alone = 0 THEN first END) AS distinct_0
      FROM (
        SELECT
          disease_code AS code_held,
          COALESCE(SUM(lone_respondents), 0) AS alone,
          MIN(respondent) AS first,
          MAX(respondent) AS last
        FROM (
          SELECT counted.*
          FROM sqlanon_script_counted AS counted
          INNER JOIN sqlanon_script_classes AS verdict
            ON counted.zip_code = verdict.zip_code
            AND counted.age_code = verdict.age_code
            AND counted.sex_value = verdict.sex_value
            AND NOT verdict.kept
        ) AS counted
        GROUP BY disease_code
      ) AS held
    ) AS part_2
    CROSS JOIN (
      SELECT
        SUM(
          GREATEST(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0))),
            0
          )
        ) AS climbed_0,
        MAX(levels) AS climbed_levels_0,
        MAX(total) AS climbed_total_0
      FROM (
        SELECT
          cells.size,
          reference.reference_members,
          reference.total,
          reference.levels,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT code_held, members, CAST(SUM(members) OVER () AS BIGINT) AS size
          FROM (
            SELECT code_held, CAST(SUM(members) AS BIGINT) AS members
            FROM (
              SELECT disease_code AS code_held, CAST(SUM(lone_respondents) AS BIGINT) AS members
              FROM (
                SELECT counted.*
                FROM sqlanon_script_counted AS counted
                INNER JOIN sqlanon_script_classes AS verdict
                  ON counted.zip_code = verdict.zip_code
                  AND counted.age_code = verdict.age_code
                  AND counted.sex_value = verdict.sex_value
                  AND NOT verdict.kept
              ) AS counted
              WHERE respondent IS NULL
              GROUP BY disease_code
              UNION ALL
              SELECT code_held, COUNT(*) AS members
              FROM (
                SELECT
                  own.code_held,
                  ROW_NUMBER() OVER (PARTITION BY own.who ORDER BY held.members DESC NULLS LAST, own.code_held) AS choice
                FROM (
                  SELECT disease_code AS code_held, respondent AS who
                  FROM (
                    SELECT counted.*
                    FROM sqlanon_script_counted AS counted
                    INNER JOIN sqlanon_script_classes AS verdict
                      ON counted.zip_code = verdict.zip_code
                      AND counted.age_code = verdict.age_code
                      AND counted.sex_value = verdict.sex_value
                      AND NOT verdict.kept
                  ) AS counted
                  WHERE NOT respondent IS NULL
                  GROUP BY disease_code, respondent
                ) AS own
                JOIN (
                  SELECT
                    disease_code AS code_held,
                    CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
                  FROM (
                    SELECT counted.*
                    FROM sqlanon_script_counted AS counted
                    INNER JOIN sqlanon_script_classes AS verdict
                      ON counted.zip_code = verdict.zip_code
                      AND counted.age_code = verdict.age_code
                      AND counted.sex_value = verdict.sex_value
                      AND NOT verdict.kept
                  ) AS counted
                  GROUP BY disease_code
                ) AS held ON own.code_held = held.code_held
              ) AS choices
              WHERE choice = 1
              GROUP BY code_held
            ) AS assigned
            GROUP BY code_held
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_labels_disease AS reference ON cells.code_held = reference.code
        GROUP BY
          cells.size,
          reference.level,
          reference.label,
          reference.reference_members,
          reference.total,
          reference.levels
      ) AS held
    ) AS part_3
    CROSS JOIN (
      SELECT
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_1,
        MAX(reference_everywhere) - SUM(reference_members) AS before_1,
        MAX(steps) AS ordered_steps_1,
        MAX(total) AS ordered_total_1
      FROM (
        SELECT
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT code_held, members, CAST(SUM(members) OVER () AS BIGINT) AS size
          FROM (
            SELECT code_held, CAST(SUM(members) AS BIGINT) AS members
            FROM (
              SELECT stage_code AS code_held, CAST(SUM(lone_respondents) AS BIGINT) AS members
              FROM (
                SELECT counted.*
                FROM sqlanon_script_counted AS counted
                INNER JOIN sqlanon_script_classes AS verdict
                  ON counted.zip_code = verdict.zip_code
                  AND counted.age_code = verdict.age_code
                  AND counted.sex_value = verdict.sex_value
                  AND NOT verdict.kept
              ) AS counted
              WHERE respondent IS NULL
              GROUP BY stage_code
              UNION ALL
              SELECT code_held, COUNT(*) AS members
              FROM (
                SELECT
                  own.code_held,
                  ROW_NUMBER() OVER (PARTITION BY own.who ORDER BY held.members DESC NULLS LAST, own.code_held) AS choice
                FROM (
                  SELECT stage_code AS code_held, respondent AS who
                  FROM (
                    SELECT counted.*
                    FROM sqlanon_script_counted AS counted
                    INNER JOIN sqlanon_script_classes AS verdict
                      ON counted.zip_code = verdict.zip_code
                      AND counted.age_code = verdict.age_code
                      AND counted.sex_value = verdict.sex_value
                      AND NOT verdict.kept
                  ) AS counted
                  WHERE NOT respondent IS NULL
                  GROUP BY stage_code, respondent
                ) AS own
                JOIN (
                  SELECT
                    stage_code AS code_held,
                    CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
                  FROM (
                    SELECT counted.*
                    FROM sqlanon_script_counted AS counted
                    INNER JOIN sqlanon_script_classes AS verdict
                      ON counted.zip_code = verdict.zip_code
                      AND counted.age_code = verdict.age_code
                      AND counted.sex_value = verdict.sex_value
                      AND NOT verdict.kept
                  ) AS counted
                  GROUP BY stage_code
                ) AS held ON own.code_held = held.code_held
              ) AS choices
              WHERE choice = 1
              GROUP BY code_held
            ) AS assigned
            GROUP BY code_held
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_stage AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
    ) AS part_4
    CROSS JOIN (
      SELECT
        COALESCE(SUM(CASE WHEN first <> last OR alone >= 1 THEN 1 ELSE 0 END), 0) + COUNT(DISTINCT CASE WHEN first = last AND alone = 0 THEN first END) AS distinct_1
      FROM (
        SELECT
          stage_code AS code_held,
          COALESCE(SUM(lone_respondents), 0) AS alone,
          MIN(respondent) AS first,
          MAX(respondent) AS last
        FROM (
          SELECT counted.*
          FROM sqlanon_script_counted AS counted
          INNER JOIN sqlanon_script_classes AS verdict
            ON counted.zip_code = verdict.zip_code
            AND counted.age_code = verdict.age_code
            AND counted.sex_value = verdict.sex_value
            AND NOT verdict.kept
        ) AS counted
        GROUP BY stage_code
      ) AS held
    ) AS part_5
    CROSS JOIN (
      SELECT MAX(members) AS first_1, COALESCE(SUM(CASE WHEN place >= 2 THEN members ELSE 0 END), 0) AS tail_2_1
      FROM (
        SELECT members, ROW_NUMBER() OVER (ORDER BY members DESC NULLS LAST, code_held) AS place
        FROM (
          SELECT code_held, CAST(SUM(members) AS BIGINT) AS members
          FROM (
            SELECT stage_code AS code_held, CAST(SUM(lone_respondents) AS BIGINT) AS members
            FROM (
              SELECT counted.*
              FROM sqlanon_script_counted AS counted
              INNER JOIN sqlanon_script_classes AS verdict
                ON counted.zip_code = verdict.zip_code
                AND counted.age_code = verdict.age_code
                AND counted.sex_value = verdict.sex_value
                AND NOT verdict.kept
            ) AS counted
            WHERE respondent IS NULL
            GROUP BY stage_code
            UNION ALL
            SELECT code_held, COUNT(*) AS members
            FROM (
              SELECT
                own.code_held,
                ROW_NUMBER() OVER (PARTITION BY own.who ORDER BY held.members DESC NULLS LAST, own.code_held) AS choice
              FROM (
                SELECT stage_code AS code_held, respondent AS who
                FROM (
                  SELECT counted.*
                  FROM sqlanon_script_counted AS counted
                  INNER JOIN sqlanon_script_classes AS verdict
                    ON counted.zip_code = verdict.zip_code
                    AND counted.age_code = verdict.age_code
                    AND counted.sex_value = verdict.sex_value
                    AND NOT verdict.kept
                ) AS counted
                WHERE NOT respondent IS NULL
                GROUP BY stage_code, respondent
              ) AS own
              JOIN (
                SELECT
                  stage_code AS code_held,
                  CAST(COALESCE(SUM(lone_respondents), 0) + COUNT(DISTINCT respondent) AS BIGINT) AS members
                FROM (
                  SELECT counted.*
                  FROM sqlanon_script_counted AS counted
                  INNER JOIN sqlanon_script_classes AS verdict
                    ON counted.zip_code = verdict.zip_code
                    AND counted.age_code = verdict.age_code
                    AND counted.sex_value = verdict.sex_value
                    AND NOT verdict.kept
                ) AS counted
                GROUP BY stage_code
              ) AS held ON own.code_held = held.code_held
            ) AS choices
            WHERE choice = 1
            GROUP BY code_held
          ) AS assigned
          GROUP BY code_held
        ) AS cells
      ) AS held
    ) AS part_6
  ) AS found
  LEFT JOIN (
    SELECT CAST(SUM(population_rows) AS BIGINT) AS population_rows
    FROM sqlanon_script_everybody
  ) AS everybody ON TRUE
) AS blanked;

-- The release, with person for the audit, in no order that tells of the source.
CREATE UNLOGGED TABLE sqlanon_script_staged AS
SELECT
  CASE WHEN class.kept THEN hierarchy_zip.label_1 ELSE CAST('*' AS TEXT) END AS zip,
  CASE WHEN class.kept THEN hierarchy_age.label_1 ELSE CAST('*' AS TEXT) END AS age,
  CASE WHEN class.kept THEN source.sex ELSE CAST('*' AS TEXT) END AS sex,
  source.disease,
  source.stage,
  source.person
FROM source_table AS source
LEFT JOIN sqlanon_script_hierarchy_zip AS hierarchy_zip ON CAST(source.zip AS TEXT) COLLATE "C" = hierarchy_zip.value
LEFT JOIN sqlanon_script_hierarchy_age AS hierarchy_age ON source.age = hierarchy_age.value
INNER JOIN sqlanon_script_classes AS class
  ON CASE WHEN source.zip IS NULL THEN 0 ELSE hierarchy_zip.code_1 END = class.zip_code
  AND CASE WHEN source.age IS NULL THEN 0 ELSE hierarchy_age.code_1 END = class.age_code
  AND COALESCE('=' || CAST(source.sex AS TEXT) COLLATE "C", '') = class.sex_value
WHERE class.kept OR COALESCE((SELECT satisfied FROM sqlanon_script_blanked), FALSE)
ORDER BY RANDOM();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: stop unless there are classes in the staged table and every one has at least 2 persons.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN size < 2 THEN 1 ELSE 0 END), 0) = 0 AND COALESCE(SUM(rows), 0) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INT) AS audit
FROM (
  SELECT
    COUNT(DISTINCT CAST(audited.person AS TEXT) COLLATE "C") + MAX(CASE WHEN CAST(audited.person AS TEXT) COLLATE "C" IS NULL THEN 1 ELSE 0 END) AS size,
    COUNT(*) AS rows
  FROM sqlanon_script_staged AS audited
  GROUP BY
    CAST(audited.zip AS TEXT) COLLATE "C",
    CAST(audited.age AS TEXT) COLLATE "C",
    CAST(audited.sex AS TEXT) COLLATE "C"
) AS classes;

-- Audit: stop unless every value of disease has a place in its order and in its hierarchy.
SELECT
  CAST(CASE
    WHEN 0 = 0
    AND COALESCE(SUM(CASE WHEN covered IS NULL AND NOT value IS NULL THEN 1 ELSE 0 END), 0) = 0
    AND (SELECT COUNT(*) FROM source_table AS source) > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: a value of disease has no place in its order or hierarchy'
  END AS INT) AS audit
FROM (
  SELECT domain.value, CAST(taxonomy.value AS TEXT) COLLATE "C" AS covered
  FROM (
    SELECT DISTINCT CAST(audited.disease AS TEXT) COLLATE "C" AS value
    FROM sqlanon_script_staged AS audited
    UNION
    SELECT DISTINCT CAST(source.disease AS TEXT) COLLATE "C" AS value
    FROM source_table AS source
  ) AS domain
  LEFT JOIN (
    SELECT value, label_1, label_2
    FROM sqlanon_script_hierarchy_disease
    WHERE NOT value IS NULL
  ) AS taxonomy ON domain.value = CAST(taxonomy.value AS TEXT) COLLATE "C"
) AS known;

-- Audit: disease in the classes of the staged table, and how many of them fail.
CREATE UNLOGGED TABLE sqlanon_script_audit_0_0 AS
WITH sqlanon_audit_domain AS (
  SELECT value, ROW_NUMBER() OVER (ORDER BY value NULLS FIRST) AS code
  FROM (
    SELECT DISTINCT CAST(audited.disease AS TEXT) COLLATE "C" AS value
    FROM sqlanon_script_staged AS audited
    UNION
    SELECT DISTINCT CAST(source.disease AS TEXT) COLLATE "C" AS value
    FROM source_table AS source
  ) AS found
), sqlanon_audit_source_holdings AS (
  SELECT
    CAST(source.person AS TEXT) COLLATE "C" AS person,
    CASE WHEN CAST(source.disease AS TEXT) COLLATE "C" IS NULL THEN 1 ELSE domain.code END AS code,
    COUNT(*) AS rows,
    ROW_NUMBER() OVER () AS number
  FROM source_table AS source
  LEFT JOIN sqlanon_audit_domain AS domain ON CAST(source.disease AS TEXT) COLLATE "C" = domain.value
  GROUP BY
    CAST(source.person AS TEXT) COLLATE "C",
    CASE WHEN CAST(source.disease AS TEXT) COLLATE "C" IS NULL THEN 1 ELSE domain.code END
), sqlanon_audit_source_placed AS (
  SELECT 1 AS class, person, code, rows, COUNT(*) OVER (PARTITION BY code) AS held
  FROM sqlanon_audit_source_holdings AS source_holdings
), sqlanon_audit_source_chosen AS (
  SELECT
    class,
    code,
    rows,
    held,
    ROW_NUMBER() OVER (PARTITION BY class, person ORDER BY held DESC NULLS LAST, code) AS place,
    MIN(held) OVER (PARTITION BY class, person) AS "least"
  FROM sqlanon_audit_source_placed AS source_placed
), sqlanon_audit_source_cells AS (
  SELECT
    class,
    code,
    COUNT(*) AS held,
    COUNT(CASE WHEN place = 1 THEN 1 END) AS members,
    CAST(SUM(rows) AS BIGINT) AS rows,
    COUNT(CASE WHEN place = 1 AND "least" = 1 THEN 1 END) AS sole
  FROM sqlanon_audit_source_chosen AS source_chosen
  GROUP BY class, code
), sqlanon_audit_counted AS (
  SELECT
    domain.value,
    domain.code,
    COALESCE(source_cells.members, 0) AS reference,
    COALESCE(source_cells.held, 0) AS held_reference
  FROM sqlanon_audit_domain AS domain
  LEFT JOIN sqlanon_audit_source_cells AS source_cells ON domain.code = source_cells.code
), sqlanon_audit_labelled AS (
  SELECT
    counted.*,
    MIN(counted.code) OVER (PARTITION BY taxonomy.label_1) AS node_1,
    CAST(SUM(counted.reference) OVER (PARTITION BY taxonomy.label_1) AS BIGINT) AS reference_1
  FROM sqlanon_audit_counted AS counted
  LEFT JOIN (
    SELECT value, label_1, label_2
    FROM sqlanon_script_hierarchy_disease
    WHERE NOT value IS NULL
  ) AS taxonomy ON counted.value = CAST(taxonomy.value AS TEXT) COLLATE "C"
), sqlanon_audit_reference AS (
  SELECT
    *,
    CAST(SUM(reference) OVER () AS BIGINT) AS total,
    COUNT(CASE WHEN held_reference > 0 THEN 1 END) OVER () AS reference_values,
    CASE WHEN held_reference > 0 THEN CAST(held_reference AS DOUBLE PRECISION) END AS divisor,
    CASE WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'flu' THEN 1 ELSE 0 END AS flag_0
  FROM sqlanon_audit_labelled AS labelled
), sqlanon_audit_audited_holdings AS (
  SELECT
    CAST(audited.zip AS TEXT) COLLATE "C" AS key_0,
    CAST(audited.age AS TEXT) COLLATE "C" AS key_1,
    CAST(audited.sex AS TEXT) COLLATE "C" AS key_2,
    CAST(audited.person AS TEXT) COLLATE "C" AS person,
    CASE WHEN CAST(audited.disease AS TEXT) COLLATE "C" IS NULL THEN 1 ELSE domain.code END AS code,
    COUNT(*) AS rows,
    ROW_NUMBER() OVER () AS number
  FROM sqlanon_script_staged AS audited
  LEFT JOIN sqlanon_audit_domain AS domain ON CAST(audited.disease AS TEXT) COLLATE "C" = domain.value
  GROUP BY
    CAST(audited.zip AS TEXT) COLLATE "C",
    CAST(audited.age AS TEXT) COLLATE "C",
    CAST(audited.sex AS TEXT) COLLATE "C",
    CAST(audited.person AS TEXT) COLLATE "C",
    CASE WHEN CAST(audited.disease AS TEXT) COLLATE "C" IS NULL THEN 1 ELSE domain.code END
), sqlanon_audit_audited_placed AS (
  SELECT
    MIN(number) OVER (PARTITION BY key_0, key_1, key_2) AS class,
    person,
    code,
    rows,
    COUNT(*) OVER (PARTITION BY key_0, key_1, key_2, code) AS held
  FROM sqlanon_audit_audited_holdings AS audited_holdings
), sqlanon_audit_audited_chosen AS (
  SELECT
    class,
    code,
    rows,
    held,
    ROW_NUMBER() OVER (PARTITION BY class, person ORDER BY held DESC NULLS LAST, code) AS place,
    MIN(held) OVER (PARTITION BY class, person) AS "least"
  FROM sqlanon_audit_audited_placed AS audited_placed
), sqlanon_audit_audited_cells AS (
  SELECT
    class,
    code,
    COUNT(*) AS held,
    COUNT(CASE WHEN place = 1 THEN 1 END) AS members,
    CAST(SUM(rows) AS BIGINT) AS rows,
    COUNT(CASE WHEN place = 1 AND "least" = 1 THEN 1 END) AS sole
  FROM sqlanon_audit_audited_chosen AS audited_chosen
  GROUP BY class, code
), sqlanon_audit_sizes AS (
  SELECT
    class,
    code,
    held,
    members,
    CAST(SUM(members) OVER (PARTITION BY class) AS BIGINT) AS size,
    CAST(SUM(rows) OVER (PARTITION BY class) AS BIGINT) AS rows,
    CAST(SUM(sole) OVER (PARTITION BY class) AS BIGINT) AS sole
  FROM sqlanon_audit_audited_cells AS audited_cells
), sqlanon_audit_weighed AS (
  SELECT sizes.class, sizes.size, sizes.members, sizes.held, sizes.rows, sizes.sole, reference.*
  FROM sqlanon_audit_sizes AS sizes
  JOIN sqlanon_audit_reference AS reference ON sizes.code = reference.code
), sqlanon_audit_sorted AS (
  SELECT
    *,
    CAST(SUM(members) OVER (PARTITION BY class, node_1) AS BIGINT) AS members_1,
    code = MIN(code) OVER (PARTITION BY class, node_1) AS first_1
  FROM sqlanon_audit_weighed AS weighed
), sqlanon_audit_measured AS (
  SELECT
    class,
    size,
    rows,
    MAX(total) AS total,
    SUM(members) AS counted,
    LEAST(MIN(size), COALESCE(SUM(CASE WHEN held >= 2 THEN 1 ELSE 0 END), 0) + MIN(sole)) AS "distinct",
    MAX(CASE WHEN held >= 1 THEN CAST(held AS DOUBLE PRECISION) / divisor END) AS lift_greatest,
    MIN(CASE WHEN held >= 1 THEN CAST(held AS DOUBLE PRECISION) / divisor END) AS lift_least,
    COALESCE(SUM(CASE WHEN held >= 1 AND held_reference < 1 THEN 1 ELSE 0 END), 0) AS outside,
    SUM(
      GREATEST(
        CAST(0 AS DECIMAL(38, 0)),
        CAST(members AS DECIMAL(38, 0)) * total - CAST(size AS DECIMAL(38, 0)) * reference
      ) + CASE
        WHEN first_1
        THEN GREATEST(
          CAST(0 AS DECIMAL(38, 0)),
          CAST(members_1 AS DECIMAL(38, 0)) * total - CAST(size AS DECIMAL(38, 0)) * reference_1
        )
        ELSE CAST(0 AS DECIMAL(38, 0))
      END
    ) AS nodes,
    COALESCE(SUM(CASE WHEN flag_0 = 1 THEN held ELSE 0 END), 0) AS flagged_0,
    COALESCE(
      SUM(
        CASE
          WHEN CAST(held AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) > CAST(size AS DECIMAL(38, 0)) * CAST(held_reference AS DECIMAL(38, 0)) * CAST(6 AS DECIMAL(38, 0))
          THEN 1
          ELSE 0
        END
      ),
      0
    ) AS beyond_3,
    COALESCE(
      SUM(
        CASE
          WHEN CASE
            WHEN held_reference >= 1
            THEN CAST((CAST(held AS DOUBLE PRECISION) * CAST(total AS DOUBLE PRECISION)) AS DOUBLE PRECISION) / (
              CAST(size AS DOUBLE PRECISION) * CAST(held_reference AS DOUBLE PRECISION)
            ) - CAST(1 AS DOUBLE PRECISION) > LN(CAST(total AS DOUBLE PRECISION) / CAST(held_reference AS DOUBLE PRECISION))
            ELSE FALSE
          END
          THEN 1
          ELSE 0
        END
      ),
      0
    ) AS beyond_logarithm
  FROM sqlanon_audit_sorted AS sorted
  GROUP BY class, size, rows
)
SELECT
  COUNT(*) AS classes,
  COALESCE(SUM(CASE WHEN counted <> size THEN 1 ELSE 0 END), 0) AS uncounted,
  COALESCE(SUM(CASE WHEN "distinct" >= 2 THEN 0 ELSE 1 END), 0) AS classes_failing_0,
  COALESCE(
    SUM(
      CASE
        WHEN CAST(nodes AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0)) <= CAST(size AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0)) * CAST(3 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS classes_failing_1,
  COALESCE(
    SUM(
      CASE
        WHEN CAST(flagged_0 AS DECIMAL(38, 0)) * CAST(5 AS DECIMAL(38, 0)) <= CAST(size AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS classes_failing_2,
  COALESCE(SUM(CASE WHEN beyond_3 = 0 AND beyond_logarithm = 0 AND outside = 0 THEN 0 ELSE 1 END), 0) AS classes_failing_3,
  COALESCE(
    SUM(
      CASE
        WHEN outside = 0
        AND LN((
          lift_greatest * CAST(total AS DOUBLE PRECISION)
        ) / CAST(size AS DOUBLE PRECISION)) <= CAST(3 AS DOUBLE PRECISION)
        AND LN((
          lift_least * CAST(total AS DOUBLE PRECISION)
        ) / CAST(size AS DOUBLE PRECISION)) >= -CAST(3 AS DOUBLE PRECISION)
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS classes_failing_4
FROM sqlanon_audit_measured AS measured;

-- Audit: stop unless l_diversity of disease holds: l = 2.
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_0) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: l_diversity disease'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_0;

-- Audit: stop unless t_closeness of disease holds: t = 0.6 (hierarchical).
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_1) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: t_closeness disease'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_0;

-- Audit: stop unless alpha of disease holds: alpha = 0.8.
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_2) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: alpha disease'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_0;

-- Audit: stop unless beta_likeness of disease holds: beta = 5 (enhanced).
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_3) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: beta_likeness disease'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_0;

-- Audit: stop unless delta_disclosure of disease holds: delta = 3.
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_4) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: delta_disclosure disease'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_0;

-- Audit: stage in the classes of the staged table, and how many of them fail.
CREATE UNLOGGED TABLE sqlanon_script_audit_0_1 AS
WITH sqlanon_audit_domain AS (
  SELECT value, ROW_NUMBER() OVER (ORDER BY value NULLS FIRST) AS code
  FROM (
    SELECT DISTINCT audited.stage AS value
    FROM sqlanon_script_staged AS audited
    UNION
    SELECT DISTINCT source.stage AS value
    FROM source_table AS source
  ) AS found
), sqlanon_audit_source_holdings AS (
  SELECT
    CAST(source.person AS TEXT) COLLATE "C" AS person,
    CASE WHEN source.stage IS NULL THEN 1 ELSE domain.code END AS code,
    COUNT(*) AS rows,
    ROW_NUMBER() OVER () AS number
  FROM source_table AS source
  LEFT JOIN sqlanon_audit_domain AS domain ON source.stage = domain.value
  GROUP BY CAST(source.person AS TEXT) COLLATE "C", CASE WHEN source.stage IS NULL THEN 1 ELSE domain.code END
), sqlanon_audit_source_placed AS (
  SELECT 1 AS class, person, code, rows, COUNT(*) OVER (PARTITION BY code) AS held
  FROM sqlanon_audit_source_holdings AS source_holdings
), sqlanon_audit_source_chosen AS (
  SELECT
    class,
    code,
    rows,
    held,
    ROW_NUMBER() OVER (PARTITION BY class, person ORDER BY held DESC NULLS LAST, code) AS place,
    MIN(held) OVER (PARTITION BY class, person) AS "least"
  FROM sqlanon_audit_source_placed AS source_placed
), sqlanon_audit_source_cells AS (
  SELECT
    class,
    code,
    COUNT(*) AS held,
    COUNT(CASE WHEN place = 1 THEN 1 END) AS members,
    CAST(SUM(rows) AS BIGINT) AS rows,
    COUNT(CASE WHEN place = 1 AND "least" = 1 THEN 1 END) AS sole
  FROM sqlanon_audit_source_chosen AS source_chosen
  GROUP BY class, code
), sqlanon_audit_counted AS (
  SELECT
    domain.value,
    domain.code,
    COALESCE(source_cells.members, 0) AS reference,
    COALESCE(source_cells.held, 0) AS held_reference
  FROM sqlanon_audit_domain AS domain
  LEFT JOIN sqlanon_audit_source_cells AS source_cells ON domain.code = source_cells.code
), sqlanon_audit_ranked AS (SELECT *, code AS rank FROM sqlanon_audit_counted AS counted), sqlanon_audit_placed AS (
  SELECT
    *,
    SUM(CAST(below AS DECIMAL(38, 0))) OVER (ORDER BY place) - CAST(below AS DECIMAL(38, 0)) AS before,
    COUNT(*) OVER () AS places,
    SUM(CAST(below AS DECIMAL(38, 0))) OVER () AS work
  FROM (
    SELECT
      *,
      ROW_NUMBER() OVER (ORDER BY rank, code) AS place,
      CAST(SUM(reference) OVER (ORDER BY rank, code) AS BIGINT) AS below
    FROM sqlanon_audit_ranked AS ranked
  ) AS first
), sqlanon_audit_reference AS (
  SELECT
    *,
    CAST(SUM(reference) OVER () AS BIGINT) AS total,
    COUNT(CASE WHEN held_reference > 0 THEN 1 END) OVER () AS reference_values,
    CASE WHEN held_reference > 0 THEN CAST(held_reference AS DOUBLE PRECISION) END AS divisor
  FROM sqlanon_audit_placed AS placed
), sqlanon_audit_audited_holdings AS (
  SELECT
    CAST(audited.zip AS TEXT) COLLATE "C" AS key_0,
    CAST(audited.age AS TEXT) COLLATE "C" AS key_1,
    CAST(audited.sex AS TEXT) COLLATE "C" AS key_2,
    CAST(audited.person AS TEXT) COLLATE "C" AS person,
    CASE WHEN audited.stage IS NULL THEN 1 ELSE domain.code END AS code,
    COUNT(*) AS rows,
    ROW_NUMBER() OVER () AS number
  FROM sqlanon_script_staged AS audited
  LEFT JOIN sqlanon_audit_domain AS domain ON audited.stage = domain.value
  GROUP BY
    CAST(audited.zip AS TEXT) COLLATE "C",
    CAST(audited.age AS TEXT) COLLATE "C",
    CAST(audited.sex AS TEXT) COLLATE "C",
    CAST(audited.person AS TEXT) COLLATE "C",
    CASE WHEN audited.stage IS NULL THEN 1 ELSE domain.code END
), sqlanon_audit_audited_placed AS (
  SELECT
    MIN(number) OVER (PARTITION BY key_0, key_1, key_2) AS class,
    person,
    code,
    rows,
    COUNT(*) OVER (PARTITION BY key_0, key_1, key_2, code) AS held
  FROM sqlanon_audit_audited_holdings AS audited_holdings
), sqlanon_audit_audited_chosen AS (
  SELECT
    class,
    code,
    rows,
    held,
    ROW_NUMBER() OVER (PARTITION BY class, person ORDER BY held DESC NULLS LAST, code) AS place,
    MIN(held) OVER (PARTITION BY class, person) AS "least"
  FROM sqlanon_audit_audited_placed AS audited_placed
), sqlanon_audit_audited_cells AS (
  SELECT
    class,
    code,
    COUNT(*) AS held,
    COUNT(CASE WHEN place = 1 THEN 1 END) AS members,
    CAST(SUM(rows) AS BIGINT) AS rows,
    COUNT(CASE WHEN place = 1 AND "least" = 1 THEN 1 END) AS sole
  FROM sqlanon_audit_audited_chosen AS audited_chosen
  GROUP BY class, code
), sqlanon_audit_sizes AS (
  SELECT
    class,
    code,
    held,
    members,
    CAST(SUM(members) OVER (PARTITION BY class) AS BIGINT) AS size,
    CAST(SUM(rows) OVER (PARTITION BY class) AS BIGINT) AS rows,
    CAST(SUM(sole) OVER (PARTITION BY class) AS BIGINT) AS sole
  FROM sqlanon_audit_audited_cells AS audited_cells
), sqlanon_audit_weighed AS (
  SELECT sizes.class, sizes.size, sizes.members, sizes.held, sizes.rows, sizes.sole, reference.*
  FROM sqlanon_audit_sizes AS sizes
  JOIN sqlanon_audit_reference AS reference ON sizes.code = reference.code
), sqlanon_audit_spread AS (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY class ORDER BY members DESC NULLS LAST, code) AS rank_by_members,
    CAST(SUM(members) OVER (PARTITION BY class ORDER BY place) AS BIGINT) AS reached,
    LAG(place) OVER (PARTITION BY class ORDER BY place) AS last_place,
    LEAD(place) OVER (PARTITION BY class ORDER BY place) AS next_place,
    LEAD(before) OVER (PARTITION BY class ORDER BY place) AS next_before
  FROM sqlanon_audit_weighed AS weighed
), sqlanon_audit_walked AS (
  SELECT *, reached * CAST(DIV(total, size) AS BIGINT) + CAST(DIV(reached * (total % size), size) AS BIGINT) AS mark
  FROM sqlanon_audit_spread AS spread
), sqlanon_audit_marks AS (
  SELECT mark, MAX(place) AS place, MAX(upto) AS upto
  FROM (
    SELECT below AS mark, place, before + CAST(below AS DECIMAL(38, 0)) AS upto
    FROM sqlanon_audit_reference AS reference
    UNION ALL
    SELECT DISTINCT mark, 0 AS place, CAST(0 AS DECIMAL(38, 0)) AS upto
    FROM sqlanon_audit_walked AS walked
  ) AS "both"
  GROUP BY mark
), sqlanon_audit_crossings AS (
  SELECT mark, MAX(place) OVER (ORDER BY mark) AS crossing, MAX(upto) OVER (ORDER BY mark) AS crossing_upto
  FROM sqlanon_audit_marks AS marks
), sqlanon_audit_sorted AS (
  SELECT
    walked.*,
    CAST(reached AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0)) * (
      2 * CAST(LEAST(GREATEST(crossing, (place - 1)), COALESCE(next_place - 1, places)) AS DECIMAL(38, 0)) - CAST((
        place - 1
      ) AS DECIMAL(38, 0)) - CAST(COALESCE(next_place - 1, places) AS DECIMAL(38, 0))
    ) + CAST(size AS DECIMAL(38, 0)) * (
      CAST(before AS DECIMAL(38, 0)) + CAST(COALESCE(next_before, work) AS DECIMAL(38, 0)) - 2 * CAST(LEAST(GREATEST(crossing_upto, before), COALESCE(next_before, work)) AS DECIMAL(38, 0))
    ) + CASE
      WHEN last_place IS NULL THEN CAST(size AS DECIMAL(38, 0)) * CAST(before AS DECIMAL(38, 0))
      ELSE CAST(0 AS DECIMAL(38, 0))
    END AS stretch
  FROM sqlanon_audit_walked AS walked
  JOIN sqlanon_audit_crossings AS crossings ON walked.mark = crossings.mark
), sqlanon_audit_measured AS (
  SELECT
    class,
    size,
    rows,
    MAX(total) AS total,
    SUM(members) AS counted,
    LEAST(MIN(size), COALESCE(SUM(CASE WHEN held >= 2 THEN 1 ELSE 0 END), 0) + MIN(sole)) AS "distinct",
    MAX(members) AS most,
    COALESCE(SUM(CASE WHEN rank_by_members >= 2 THEN members ELSE 0 END), 0) AS tail_2,
    SUM(stretch) AS stretches,
    GREATEST(MAX(places) - 1, 1) AS steps
  FROM sqlanon_audit_sorted AS sorted
  GROUP BY class, size, rows
)
SELECT
  COUNT(*) AS classes,
  COALESCE(SUM(CASE WHEN counted <> size THEN 1 ELSE 0 END), 0) AS uncounted,
  COALESCE(
    SUM(
      CASE
        WHEN CAST(most AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) < CAST(tail_2 AS DECIMAL(38, 0)) * CAST(4 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS classes_failing_0,
  COALESCE(
    SUM(
      CASE
        WHEN CAST(stretches AS DECIMAL(38, 0)) * CAST(2 AS DECIMAL(38, 0)) <= CAST(size AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0)) * CAST(steps AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS classes_failing_1,
  COALESCE(SUM(CASE WHEN "distinct" >= 2 THEN 0 ELSE 1 END), 0) AS classes_failing_2
FROM sqlanon_audit_measured AS measured;

-- Audit: stop unless l_diversity of stage holds: l = 2, c = 4 (recursive).
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_0) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: l_diversity stage'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_1;

-- Audit: stop unless t_closeness of stage holds: t = 0.5 (ordered).
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_1) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: t_closeness stage'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_1;

-- Audit: stop unless p_sensitive of stage holds: p = 2.
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_2) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: p_sensitive stage'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_1;

-- Audit: the classes of the staged table, matched with the population.
CREATE UNLOGGED TABLE sqlanon_script_audit_0_population AS
SELECT
  COALESCE(SUM(population), 0) AS population_rows,
  COALESCE(SUM(CASE WHEN size >= 1 THEN 1 ELSE 0 END), 0) AS classes,
  COALESCE(SUM(CASE WHEN size >= 1 AND population < 3 THEN 1 ELSE 0 END), 0) AS classes_failing_k_map,
  COALESCE(
    SUM(
      CASE
        WHEN NOT (
          CAST(size AS DECIMAL(38, 0)) * CAST(1 AS DECIMAL(38, 0)) >= CAST(population AS DECIMAL(38, 0)) * CAST(0 AS DECIMAL(38, 0))
          AND CAST(size AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0)) <= CAST(population AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0))
        )
        THEN 1
        ELSE 0
      END
    ),
    0
  ) AS classes_failing_delta_presence
FROM (
  SELECT
    size,
    rows,
    CASE
      WHEN size >= 1
      AND CAST(key_0 AS TEXT) = '*'
      AND (CAST(key_1 AS TEXT) = '*' OR key_1 IS NULL)
      AND CAST(key_2 AS TEXT) = '*'
      THEN CAST(SUM(population) OVER () AS BIGINT)
      ELSE population
    END AS population
  FROM (
    SELECT
      CAST(SUM(size) AS BIGINT) AS size,
      CAST(SUM(rows) AS BIGINT) AS rows,
      CAST(SUM(population) AS BIGINT) AS population,
      key_0,
      key_1,
      key_2
    FROM (
      SELECT
        COUNT(DISTINCT CAST(audited.person AS TEXT) COLLATE "C") + MAX(CASE WHEN CAST(audited.person AS TEXT) COLLATE "C" IS NULL THEN 1 ELSE 0 END) AS size,
        COUNT(*) AS rows,
        CAST(0 AS BIGINT) AS population,
        CAST(audited.zip AS TEXT) COLLATE "C" AS key_0,
        CAST(audited.age AS TEXT) COLLATE "C" AS key_1,
        CAST(audited.sex AS TEXT) COLLATE "C" AS key_2
      FROM sqlanon_script_staged AS audited
      GROUP BY
        CAST(audited.zip AS TEXT) COLLATE "C",
        CAST(audited.age AS TEXT) COLLATE "C",
        CAST(audited.sex AS TEXT) COLLATE "C"
      UNION ALL
      SELECT
        CAST(0 AS BIGINT) AS size,
        CAST(0 AS BIGINT) AS rows,
        COUNT(*) AS population,
        CAST(population.zip AS TEXT) COLLATE "C" AS key_0,
        CAST(population.age AS TEXT) COLLATE "C" AS key_1,
        CAST(population.sex AS TEXT) COLLATE "C" AS key_2
      FROM (
        SELECT hierarchy_zip.label_1 AS zip, hierarchy_age.label_1 AS age, source.sex AS sex
        FROM people AS source
        LEFT JOIN sqlanon_script_hierarchy_zip AS hierarchy_zip
          ON CAST(source.zip AS TEXT) COLLATE "C" = hierarchy_zip.value
        LEFT JOIN sqlanon_script_hierarchy_age AS hierarchy_age ON source.age = hierarchy_age.value
      ) AS population
      GROUP BY
        CAST(population.zip AS TEXT) COLLATE "C",
        CAST(population.age AS TEXT) COLLATE "C",
        CAST(population.sex AS TEXT) COLLATE "C"
    ) AS "both"
    GROUP BY key_0, key_1, key_2
  ) AS labelled
) AS matched;

-- Audit: stop unless k_map holds.
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_k_map) = 0 AND MIN(population_rows) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: k_map'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_population;

-- Audit: stop unless delta_presence holds.
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_delta_presence) = 0 AND MIN(population_rows) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: delta_presence'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_population;

-- Audit: stop unless columns show labels of their levels alone: zip of level 1, age of level 1.
SELECT
  CAST(CASE
    WHEN wrong IS NULL THEN '1'
    ELSE 'sqlanon: the release fails its audit: ' || wrong || ' shows labels of another level'
  END AS INT) AS audit
FROM (
  SELECT
    MIN(
      CASE
        WHEN NOT published.zip IS NULL
        AND labels_of_zip.allowed_label IS NULL
        AND CAST(published.zip AS TEXT) COLLATE "C" <> '*'
        THEN 'zip'
        WHEN NOT published.age IS NULL
        AND labels_of_age.allowed_label IS NULL
        AND CAST(published.age AS TEXT) COLLATE "C" <> '*'
        THEN 'age'
      END
    ) AS wrong
  FROM sqlanon_script_staged AS published
  LEFT JOIN (
    SELECT DISTINCT CAST(hierarchy.label_1 AS TEXT) COLLATE "C" AS allowed_label
    FROM sqlanon_script_hierarchy_zip AS hierarchy
  ) AS labels_of_zip ON CAST(published.zip AS TEXT) COLLATE "C" = labels_of_zip.allowed_label
  LEFT JOIN (
    SELECT DISTINCT CAST(hierarchy.label_1 AS TEXT) COLLATE "C" AS allowed_label
    FROM sqlanon_script_hierarchy_age AS hierarchy
  ) AS labels_of_age ON CAST(published.age AS TEXT) COLLATE "C" = labels_of_age.allowed_label
) AS found;

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN COALESCE(
      SUM(CASE WHEN kept OR COALESCE((SELECT satisfied FROM sqlanon_script_blanked), FALSE) THEN n ELSE 0 END),
      0
    ) = (SELECT COUNT(*) FROM sqlanon_script_staged)
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INT) AS audit
FROM sqlanon_script_classes;

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- The audited rows without the key of the person, in an order of their own.
CREATE TABLE sqlanon_script_staging AS
SELECT zip, age, sex, disease, stage
FROM sqlanon_script_staged
ORDER BY RANDOM();

-- Stop unless no row was lost.
SELECT
  CAST(CASE
    WHEN (SELECT (SELECT COUNT(*) FROM sqlanon_script_staging) = (SELECT COUNT(*) FROM sqlanon_script_staged))
    THEN '1'
    ELSE 'sqlanon: rows were lost after the audit'
  END AS INT) AS audit;

-- Swap: the old release goes, the new one takes its name.
DROP TABLE IF EXISTS release_table;

-- Until COMMIT nobody sees a difference.
ALTER TABLE sqlanon_script_staging RENAME TO release_table;

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS sqlanon_script_audit_0_population;
DROP TABLE IF EXISTS sqlanon_script_audit_0_1;
DROP TABLE IF EXISTS sqlanon_script_audit_0_0;
DROP TABLE IF EXISTS sqlanon_script_staged;
DROP TABLE IF EXISTS sqlanon_script_blanked;
DROP TABLE IF EXISTS sqlanon_script_classes;
DROP TABLE IF EXISTS sqlanon_script_everybody;
DROP TABLE IF EXISTS sqlanon_script_distribution_stage;
DROP TABLE IF EXISTS sqlanon_script_labels_disease;
DROP TABLE IF EXISTS sqlanon_script_distribution_disease;
DROP TABLE IF EXISTS sqlanon_script_counted;
DROP TABLE IF EXISTS sqlanon_script_values_stage;
DROP TABLE IF EXISTS sqlanon_script_values_disease;
DROP TABLE IF EXISTS sqlanon_script_hierarchy_disease;
DROP TABLE IF EXISTS sqlanon_script_definition_disease;
DROP TABLE IF EXISTS sqlanon_script_hierarchy_age;
DROP TABLE IF EXISTS sqlanon_script_hierarchy_zip;
DROP TABLE IF EXISTS sqlanon_script_definition_zip;

-- The end of the transaction.
COMMIT;
