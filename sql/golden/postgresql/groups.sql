-- Release of source_table as release_table, made by sqlanon for postgres.
-- Generalization: zip at level 1, age at level 2, sex at level 1.
-- Every class of the quasi-identifier patient (zip, age) has at least 3 rows.
-- Every class of the quasi-identifier doctor (sex, age) has at least 4 rows.
-- Every class is l-diverse in disease (entropy, l = 2), the other sensitive values being known.
-- Every class is t-close to the whole source in disease (ordered, t = 0.9), the other sensitive values being known.
-- At most 30% of the rows are left out. Where this does not hold, the script stops and publishes nothing.
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
) AS domain
INNER JOIN sqlanon_script_definition_zip AS listed ON CAST(domain.value AS TEXT) = listed.label_0;

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- Values of disease, numbered in their declared order; NULL is 0.
CREATE UNLOGGED TABLE sqlanon_script_values_disease AS
SELECT
  value,
  CASE
    WHEN value IS NULL THEN 0
    WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'ulcer' THEN 1
    WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'flu' THEN 2
    WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'gastritis' THEN 3
    WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'cough' THEN 4
    WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'asthma' THEN 5
  END AS code
FROM (SELECT DISTINCT CAST(source.disease AS TEXT) COLLATE "C" AS value FROM source_table AS source) AS domain;

-- Stop if a value of disease is not in its declared order.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN code IS NULL THEN 1 ELSE 0 END), 0) = 0 THEN '1'
    ELSE 'sqlanon: a value of disease is not in its declared order'
  END AS INT) AS audit
FROM sqlanon_script_values_disease AS codes;

-- Values of stage, numbered in their order; NULL is 0.
CREATE UNLOGGED TABLE sqlanon_script_values_stage AS
SELECT
  value,
  CASE
    WHEN value IS NULL THEN 0
    ELSE CAST(ROW_NUMBER() OVER (PARTITION BY value IS NULL ORDER BY value) AS INT)
  END AS code
FROM (SELECT DISTINCT source.stage AS value FROM source_table AS source) AS domain;

-- The frequency set: every row of the source, counted by the generalized quasi-identifier, the codes of sensitive
-- values.
CREATE UNLOGGED TABLE sqlanon_script_counted AS
SELECT zip_code, disease_code, stage_code, COUNT(*) AS n
FROM (
  SELECT
    COALESCE(CASE WHEN source.zip IS NULL THEN 0 ELSE hierarchy_zip.code_1 END, -1) AS zip_code,
    CASE WHEN CAST(source.disease AS TEXT) COLLATE "C" IS NULL THEN 0 ELSE values_disease.code END AS disease_code,
    CASE WHEN source.stage IS NULL THEN 0 ELSE values_stage.code END AS stage_code
  FROM source_table AS source
  LEFT JOIN sqlanon_script_hierarchy_zip AS hierarchy_zip
    ON CAST(source.zip AS TEXT) COLLATE "C" = hierarchy_zip.value
  LEFT JOIN sqlanon_script_values_disease AS values_disease
    ON CAST(source.disease AS TEXT) COLLATE "C" = values_disease.value
  LEFT JOIN sqlanon_script_values_stage AS values_stage ON source.stage = values_stage.value
) AS coded
GROUP BY zip_code, disease_code, stage_code;

-- How the whole source distributes disease.
CREATE UNLOGGED TABLE sqlanon_script_distribution_disease AS
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
      SELECT disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
      FROM sqlanon_script_counted
      GROUP BY disease_code
    ) AS held
    LEFT JOIN (
      SELECT disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
      FROM sqlanon_script_counted
      GROUP BY disease_code
    ) AS assigned ON held.code_held = assigned.code_held
  ) AS "both"
) AS running
JOIN sqlanon_script_values_disease AS codes ON running.code = codes.code;

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Before the first round of suppression every row is kept.
CREATE UNLOGGED TABLE sqlanon_script_round_0 AS
SELECT zip_code, disease_code, stage_code, n, TRUE AS kept
FROM sqlanon_script_counted;

-- Round 1 of 8: rows stay whose classes satisfy in every grouping.
CREATE UNLOGGED TABLE sqlanon_script_round_1 AS
SELECT
  rows.zip_code,
  rows.disease_code,
  rows.stage_code,
  rows.n,
  rows.kept
  AND COALESCE(classes_0.satisfied, FALSE)
  AND COALESCE(classes_1.satisfied, FALSE)
  AND COALESCE(classes_2.satisfied, FALSE)
  AND COALESCE(classes_3.satisfied, FALSE) AS kept
FROM (
  SELECT
    zip_code,
    disease_code,
    stage_code,
    n,
    kept,
    zip_code AS grouping_0_zip_code,
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    stage_code AS grouping_3_stage_code
  FROM sqlanon_script_round_0
) AS rows
LEFT JOIN (
  SELECT zip_code AS grouping_0_zip_code, n >= 3 AS satisfied
  FROM (SELECT zip_code AS zip_code, SUM(n) AS n FROM sqlanon_script_round_0 WHERE kept GROUP BY zip_code) AS found
) AS classes_0 ON rows.grouping_0_zip_code = classes_0.grouping_0_zip_code
LEFT JOIN (
  SELECT
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.zip_code,
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        zip_code,
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            stage_code,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, stage_code) AS BIGINT) AS size
          FROM (
            SELECT
              zip_code AS zip_code,
              stage_code AS stage_code,
              disease_code AS code_held,
              CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_0
            WHERE kept
            GROUP BY zip_code, stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_0
    JOIN (
      SELECT
        zip_code,
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT
          zip_code AS zip_code,
          stage_code AS stage_code,
          disease_code AS code_held,
          CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_0
        WHERE kept
        GROUP BY zip_code, stage_code, disease_code
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_1 ON part_0.zip_code = part_1.zip_code AND part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_1
  ON rows.grouping_1_zip_code = classes_1.grouping_1_zip_code
  AND rows.grouping_1_stage_code = classes_1.grouping_1_stage_code
LEFT JOIN (
  SELECT n >= 4 AS satisfied
  FROM (SELECT SUM(n) AS n FROM sqlanon_script_round_0 WHERE kept) AS found
) AS classes_2 ON TRUE
LEFT JOIN (
  SELECT
    stage_code AS grouping_3_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT stage_code, code_held, members, CAST(SUM(members) OVER (PARTITION BY stage_code) AS BIGINT) AS size
          FROM (
            SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_0
            WHERE kept
            GROUP BY stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY stage_code
    ) AS part_0
    JOIN (
      SELECT
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_0
        WHERE kept
        GROUP BY stage_code, disease_code
      ) AS held
      GROUP BY stage_code
    ) AS part_1 ON part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_3 ON rows.grouping_3_stage_code = classes_3.grouping_3_stage_code;

-- Round 2 of 8: rows stay whose classes satisfy in every grouping.
CREATE UNLOGGED TABLE sqlanon_script_round_2 AS
SELECT
  rows.zip_code,
  rows.disease_code,
  rows.stage_code,
  rows.n,
  rows.kept
  AND COALESCE(classes_0.satisfied, FALSE)
  AND COALESCE(classes_1.satisfied, FALSE)
  AND COALESCE(classes_2.satisfied, FALSE)
  AND COALESCE(classes_3.satisfied, FALSE) AS kept
FROM (
  SELECT
    zip_code,
    disease_code,
    stage_code,
    n,
    kept,
    zip_code AS grouping_0_zip_code,
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    stage_code AS grouping_3_stage_code
  FROM sqlanon_script_round_1
) AS rows
LEFT JOIN (
  SELECT zip_code AS grouping_0_zip_code, n >= 3 AS satisfied
  FROM (SELECT zip_code AS zip_code, SUM(n) AS n FROM sqlanon_script_round_1 WHERE kept GROUP BY zip_code) AS found
) AS classes_0 ON rows.grouping_0_zip_code = classes_0.grouping_0_zip_code
LEFT JOIN (
  SELECT
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.zip_code,
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        zip_code,
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            stage_code,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, stage_code) AS BIGINT) AS size
          FROM (
            SELECT
              zip_code AS zip_code,
              stage_code AS stage_code,
              disease_code AS code_held,
              CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_1
            WHERE kept
            GROUP BY zip_code, stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_0
    JOIN (
      SELECT
        zip_code,
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT
          zip_code AS zip_code,
          stage_code AS stage_code,
          disease_code AS code_held,
          CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_1
        WHERE kept
        GROUP BY zip_code, stage_code, disease_code
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_1 ON part_0.zip_code = part_1.zip_code AND part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_1
  ON rows.grouping_1_zip_code = classes_1.grouping_1_zip_code
  AND rows.grouping_1_stage_code = classes_1.grouping_1_stage_code
LEFT JOIN (
  SELECT n >= 4 AS satisfied
  FROM (SELECT SUM(n) AS n FROM sqlanon_script_round_1 WHERE kept) AS found
) AS classes_2 ON TRUE
LEFT JOIN (
  SELECT
    stage_code AS grouping_3_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT stage_code, code_held, members, CAST(SUM(members) OVER (PARTITION BY stage_code) AS BIGINT) AS size
          FROM (
            SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_1
            WHERE kept
            GROUP BY stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY stage_code
    ) AS part_0
    JOIN (
      SELECT
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_1
        WHERE kept
        GROUP BY stage_code, disease_code
      ) AS held
      GROUP BY stage_code
    ) AS part_1 ON part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_3 ON rows.grouping_3_stage_code = classes_3.grouping_3_stage_code;

-- Round 3 of 8: rows stay whose classes satisfy in every grouping.
CREATE UNLOGGED TABLE sqlanon_script_round_3 AS
SELECT
  rows.zip_code,
  rows.disease_code,
  rows.stage_code,
  rows.n,
  rows.kept
  AND COALESCE(classes_0.satisfied, FALSE)
  AND COALESCE(classes_1.satisfied, FALSE)
  AND COALESCE(classes_2.satisfied, FALSE)
  AND COALESCE(classes_3.satisfied, FALSE) AS kept
FROM (
  SELECT
    zip_code,
    disease_code,
    stage_code,
    n,
    kept,
    zip_code AS grouping_0_zip_code,
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    stage_code AS grouping_3_stage_code
  FROM sqlanon_script_round_2
) AS rows
LEFT JOIN (
  SELECT zip_code AS grouping_0_zip_code, n >= 3 AS satisfied
  FROM (SELECT zip_code AS zip_code, SUM(n) AS n FROM sqlanon_script_round_2 WHERE kept GROUP BY zip_code) AS found
) AS classes_0 ON rows.grouping_0_zip_code = classes_0.grouping_0_zip_code
LEFT JOIN (
  SELECT
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.zip_code,
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        zip_code,
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            stage_code,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, stage_code) AS BIGINT) AS size
          FROM (
            SELECT
              zip_code AS zip_code,
              stage_code AS stage_code,
              disease_code AS code_held,
              CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_2
            WHERE kept
            GROUP BY zip_code, stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_0
    JOIN (
      SELECT
        zip_code,
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT
          zip_code AS zip_code,
          stage_code AS stage_code,
          disease_code AS code_held,
          CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_2
        WHERE kept
        GROUP BY zip_code, stage_code, disease_code
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_1 ON part_0.zip_code = part_1.zip_code AND part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_1
  ON rows.grouping_1_zip_code = classes_1.grouping_1_zip_code
  AND rows.grouping_1_stage_code = classes_1.grouping_1_stage_code
LEFT JOIN (
  SELECT n >= 4 AS satisfied
  FROM (SELECT SUM(n) AS n FROM sqlanon_script_round_2 WHERE kept) AS found
) AS classes_2 ON TRUE
LEFT JOIN (
  SELECT
    stage_code AS grouping_3_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT stage_code, code_held, members, CAST(SUM(members) OVER (PARTITION BY stage_code) AS BIGINT) AS size
          FROM (
            SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_2
            WHERE kept
            GROUP BY stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY stage_code
    ) AS part_0
    JOIN (
      SELECT
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_2
        WHERE kept
        GROUP BY stage_code, disease_code
      ) AS held
      GROUP BY stage_code
    ) AS part_1 ON part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_3 ON rows.grouping_3_stage_code = classes_3.grouping_3_stage_code;

-- Round 4 of 8: rows stay whose classes satisfy in every grouping.
CREATE UNLOGGED TABLE sqlanon_script_round_4 AS
SELECT
  rows.zip_code,
  rows.disease_code,
  rows.stage_code,
  rows.n,
  rows.kept
  AND COALESCE(classes_0.satisfied, FALSE)
  AND COALESCE(classes_1.satisfied, FALSE)
  AND COALESCE(classes_2.satisfied, FALSE)
  AND COALESCE(classes_3.satisfied, FALSE) AS kept
FROM (
  SELECT
    zip_code,
    disease_code,
    stage_code,
    n,
    kept,
    zip_code AS grouping_0_zip_code,
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    stage_code AS grouping_3_stage_code
  FROM sqlanon_script_round_3
) AS rows
LEFT JOIN (
  SELECT zip_code AS grouping_0_zip_code, n >= 3 AS satisfied
  FROM (SELECT zip_code AS zip_code, SUM(n) AS n FROM sqlanon_script_round_3 WHERE kept GROUP BY zip_code) AS found
) AS classes_0 ON rows.grouping_0_zip_code = classes_0.grouping_0_zip_code
LEFT JOIN (
  SELECT
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.zip_code,
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        zip_code,
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            stage_code,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, stage_code) AS BIGINT) AS size
          FROM (
            SELECT
              zip_code AS zip_code,
              stage_code AS stage_code,
              disease_code AS code_held,
              CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_3
            WHERE kept
            GROUP BY zip_code, stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_0
    JOIN (
      SELECT
        zip_code,
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT
          zip_code AS zip_code,
          stage_code AS stage_code,
          disease_code AS code_held,
          CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_3
        WHERE kept
        GROUP BY zip_code, stage_code, disease_code
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_1 ON part_0.zip_code = part_1.zip_code AND part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_1
  ON rows.grouping_1_zip_code = classes_1.grouping_1_zip_code
  AND rows.grouping_1_stage_code = classes_1.grouping_1_stage_code
LEFT JOIN (
  SELECT n >= 4 AS satisfied
  FROM (SELECT SUM(n) AS n FROM sqlanon_script_round_3 WHERE kept) AS found
) AS classes_2 ON TRUE
LEFT JOIN (
  SELECT
    stage_code AS grouping_3_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT stage_code, code_held, members, CAST(SUM(members) OVER (PARTITION BY stage_code) AS BIGINT) AS size
          FROM (
            SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_3
            WHERE kept
            GROUP BY stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY stage_code
    ) AS part_0
    JOIN (
      SELECT
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_3
        WHERE kept
        GROUP BY stage_code, disease_code
      ) AS held
      GROUP BY stage_code
    ) AS part_1 ON part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_3 ON rows.grouping_3_stage_code = classes_3.grouping_3_stage_code;

-- Round 5 of 8: rows stay whose classes satisfy in every grouping.
CREATE UNLOGGED TABLE sqlanon_script_round_5 AS
SELECT
  rows.zip_code,
  rows.disease_code,
  rows.stage_code,
  rows.n,
  rows.kept
  AND COALESCE(classes_0.satisfied, FALSE)
  AND COALESCE(classes_1.satisfied, FALSE)
  AND COALESCE(classes_2.satisfied, FALSE)
  AND COALESCE(classes_3.satisfied, FALSE) AS kept
FROM (
  SELECT
    zip_code,
    disease_code,
    stage_code,
    n,
    kept,
    zip_code AS grouping_0_zip_code,
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    stage_code AS grouping_3_stage_code
  FROM sqlanon_script_round_4
) AS rows
LEFT JOIN (
  SELECT zip_code AS grouping_0_zip_code, n >= 3 AS satisfied
  FROM (SELECT zip_code AS zip_code, SUM(n) AS n FROM sqlanon_script_round_4 WHERE kept GROUP BY zip_code) AS found
) AS classes_0 ON rows.grouping_0_zip_code = classes_0.grouping_0_zip_code
LEFT JOIN (
  SELECT
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.zip_code,
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        zip_code,
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            stage_code,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, stage_code) AS BIGINT) AS size
          FROM (
            SELECT
              zip_code AS zip_code,
              stage_code AS stage_code,
              disease_code AS code_held,
              CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_4
            WHERE kept
            GROUP BY zip_code, stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_0
    JOIN (
      SELECT
        zip_code,
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT
          zip_code AS zip_code,
          stage_code AS stage_code,
          disease_code AS code_held,
          CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_4
        WHERE kept
        GROUP BY zip_code, stage_code, disease_code
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_1 ON part_0.zip_code = part_1.zip_code AND part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_1
  ON rows.grouping_1_zip_code = classes_1.grouping_1_zip_code
  AND rows.grouping_1_stage_code = classes_1.grouping_1_stage_code
LEFT JOIN (
  SELECT n >= 4 AS satisfied
  FROM (SELECT SUM(n) AS n FROM sqlanon_script_round_4 WHERE kept) AS found
) AS classes_2 ON TRUE
LEFT JOIN (
  SELECT
    stage_code AS grouping_3_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT stage_code, code_held, members, CAST(SUM(members) OVER (PARTITION BY stage_code) AS BIGINT) AS size
          FROM (
            SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_4
            WHERE kept
            GROUP BY stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY stage_code
    ) AS part_0
    JOIN (
      SELECT
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_4
        WHERE kept
        GROUP BY stage_code, disease_code
      ) AS held
      GROUP BY stage_code
    ) AS part_1 ON part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_3 ON rows.grouping_3_stage_code = classes_3.grouping_3_stage_code;

-- Round 6 of 8: rows stay whose classes satisfy in every grouping.
CREATE UNLOGGED TABLE sqlanon_script_round_6 AS
SELECT
  rows.zip_code,
  rows.disease_code,
  rows.stage_code,
  rows.n,
  rows.kept
  AND COALESCE(classes_0.satisfied, FALSE)
  AND COALESCE(classes_1.satisfied, FALSE)
  AND COALESCE(classes_2.satisfied, FALSE)
  AND COALESCE(classes_3.satisfied, FALSE) AS kept
FROM (
  SELECT
    zip_code,
    disease_code,
    stage_code,
    n,
    kept,
    zip_code AS grouping_0_zip_code,
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    stage_code AS grouping_3_stage_code
  FROM sqlanon_script_round_5
) AS rows
LEFT JOIN (
  SELECT zip_code AS grouping_0_zip_code, n >= 3 AS satisfied
  FROM (SELECT zip_code AS zip_code, SUM(n) AS n FROM sqlanon_script_round_5 WHERE kept GROUP BY zip_code) AS found
) AS classes_0 ON rows.grouping_0_zip_code = classes_0.grouping_0_zip_code
LEFT JOIN (
  SELECT
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.zip_code,
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        zip_code,
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            stage_code,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, stage_code) AS BIGINT) AS size
          FROM (
            SELECT
              zip_code AS zip_code,
              stage_code AS stage_code,
              disease_code AS code_held,
              CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_5
            WHERE kept
            GROUP BY zip_code, stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_0
    JOIN (
      SELECT
        zip_code,
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT
          zip_code AS zip_code,
          stage_code AS stage_code,
          disease_code AS code_held,
          CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_5
        WHERE kept
        GROUP BY zip_code, stage_code, disease_code
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_1 ON part_0.zip_code = part_1.zip_code AND part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_1
  ON rows.grouping_1_zip_code = classes_1.grouping_1_zip_code
  AND rows.grouping_1_stage_code = classes_1.grouping_1_stage_code
LEFT JOIN (
  SELECT n >= 4 AS satisfied
  FROM (SELECT SUM(n) AS n FROM sqlanon_script_round_5 WHERE kept) AS found
) AS classes_2 ON TRUE
LEFT JOIN (
  SELECT
    stage_code AS grouping_3_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT stage_code, code_held, members, CAST(SUM(members) OVER (PARTITION BY stage_code) AS BIGINT) AS size
          FROM (
            SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_5
            WHERE kept
            GROUP BY stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY stage_code
    ) AS part_0
    JOIN (
      SELECT
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_5
        WHERE kept
        GROUP BY stage_code, disease_code
      ) AS held
      GROUP BY stage_code
    ) AS part_1 ON part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_3 ON rows.grouping_3_stage_code = classes_3.grouping_3_stage_code;

-- Round 7 of 8: rows stay whose classes satisfy in every grouping.
CREATE UNLOGGED TABLE sqlanon_script_round_7 AS
SELECT
  rows.zip_code,
  rows.disease_code,
  rows.stage_code,
  rows.n,
  rows.kept
  AND COALESCE(classes_0.satisfied, FALSE)
  AND COALESCE(classes_1.satisfied, FALSE)
  AND COALESCE(classes_2.satisfied, FALSE)
  AND COALESCE(classes_3.satisfied, FALSE) AS kept
FROM (
  SELECT
    zip_code,
    disease_code,
    stage_code,
    n,
    kept,
    zip_code AS grouping_0_zip_code,
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    stage_code AS grouping_3_stage_code
  FROM sqlanon_script_round_6
) AS rows
LEFT JOIN (
  SELECT zip_code AS grouping_0_zip_code, n >= 3 AS satisfied
  FROM (SELECT zip_code AS zip_code, SUM(n) AS n FROM sqlanon_script_round_6 WHERE kept GROUP BY zip_code) AS found
) AS classes_0 ON rows.grouping_0_zip_code = classes_0.grouping_0_zip_code
LEFT JOIN (
  SELECT
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.zip_code,
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        zip_code,
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            stage_code,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, stage_code) AS BIGINT) AS size
          FROM (
            SELECT
              zip_code AS zip_code,
              stage_code AS stage_code,
              disease_code AS code_held,
              CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_6
            WHERE kept
            GROUP BY zip_code, stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_0
    JOIN (
      SELECT
        zip_code,
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT
          zip_code AS zip_code,
          stage_code AS stage_code,
          disease_code AS code_held,
          CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_6
        WHERE kept
        GROUP BY zip_code, stage_code, disease_code
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_1 ON part_0.zip_code = part_1.zip_code AND part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_1
  ON rows.grouping_1_zip_code = classes_1.grouping_1_zip_code
  AND rows.grouping_1_stage_code = classes_1.grouping_1_stage_code
LEFT JOIN (
  SELECT n >= 4 AS satisfied
  FROM (SELECT SUM(n) AS n FROM sqlanon_script_round_6 WHERE kept) AS found
) AS classes_2 ON TRUE
LEFT JOIN (
  SELECT
    stage_code AS grouping_3_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT stage_code, code_held, members, CAST(SUM(members) OVER (PARTITION BY stage_code) AS BIGINT) AS size
          FROM (
            SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_6
            WHERE kept
            GROUP BY stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY stage_code
    ) AS part_0
    JOIN (
      SELECT
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_6
        WHERE kept
        GROUP BY stage_code, disease_code
      ) AS held
      GROUP BY stage_code
    ) AS part_1 ON part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_3 ON rows.grouping_3_stage_code = classes_3.grouping_3_stage_code;

-- Round 8 of 8: rows stay whose classes satisfy in every grouping.
CREATE UNLOGGED TABLE sqlanon_script_round_8 AS
SELECT
  rows.zip_code,
  rows.disease_code,
  rows.stage_code,
  rows.n,
  rows.kept
  AND COALESCE(classes_0.satisfied, FALSE)
  AND COALESCE(classes_1.satisfied, FALSE)
  AND COALESCE(classes_2.satisfied, FALSE)
  AND COALESCE(classes_3.satisfied, FALSE) AS kept
FROM (
  SELECT
    zip_code,
    disease_code,
    stage_code,
    n,
    kept,
    zip_code AS grouping_0_zip_code,
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    stage_code AS grouping_3_stage_code
  FROM sqlanon_script_round_7
) AS rows
LEFT JOIN (
  SELECT zip_code AS grouping_0_zip_code, n >= 3 AS satisfied
  FROM (SELECT zip_code AS zip_code, SUM(n) AS n FROM sqlanon_script_round_7 WHERE kept GROUP BY zip_code) AS found
) AS classes_0 ON rows.grouping_0_zip_code = classes_0.grouping_0_zip_code
LEFT JOIN (
  SELECT
    zip_code AS grouping_1_zip_code,
    stage_code AS grouping_1_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.zip_code,
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        zip_code,
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT
            zip_code,
            stage_code,
            code_held,
            members,
            CAST(SUM(members) OVER (PARTITION BY zip_code, stage_code) AS BIGINT) AS size
          FROM (
            SELECT
              zip_code AS zip_code,
              stage_code AS stage_code,
              disease_code AS code_held,
              CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_7
            WHERE kept
            GROUP BY zip_code, stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.zip_code,
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_0
    JOIN (
      SELECT
        zip_code,
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT
          zip_code AS zip_code,
          stage_code AS stage_code,
          disease_code AS code_held,
          CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_7
        WHERE kept
        GROUP BY zip_code, stage_code, disease_code
      ) AS held
      GROUP BY zip_code, stage_code
    ) AS part_1 ON part_0.zip_code = part_1.zip_code AND part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_1
  ON rows.grouping_1_zip_code = classes_1.grouping_1_zip_code
  AND rows.grouping_1_stage_code = classes_1.grouping_1_stage_code
LEFT JOIN (
  SELECT n >= 4 AS satisfied
  FROM (SELECT SUM(n) AS n FROM sqlanon_script_round_7 WHERE kept) AS found
) AS classes_2 ON TRUE
LEFT JOIN (
  SELECT
    stage_code AS grouping_3_stage_code,
    (
      (values_0 = 2 AND least_0 = most_0)
      OR (
        values_0 > 2
        AND CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - surprise_0 - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= CAST(-1E-13 AS DOUBLE PRECISION) * (
          CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        )
      )
    )
    AND (
      CAST((
        gaps_0 + (CAST(size AS DECIMAL(38, 0)) * CAST(before_0 AS DECIMAL(38, 0)))
      ) AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0))
    ) <= (
      CAST(size AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0)) * CAST(ordered_steps_0 AS DECIMAL(38, 0)) * CAST(ordered_total_0 AS DECIMAL(38, 0))
    ) AS satisfied
  FROM (
    SELECT
      part_0.stage_code,
      part_0.n,
      part_0.size,
      part_0.gaps_0,
      part_0.before_0,
      part_0.ordered_steps_0,
      part_0.ordered_total_0,
      part_1.values_0,
      part_1.least_0,
      part_1.most_0,
      part_1.surprise_0
    FROM (
      SELECT
        stage_code,
        MAX(size) AS n,
        MAX(size) AS size,
        SUM(
          ABS(
            (
              CAST(members AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0))
            ) - (CAST(size AS DECIMAL(38, 0)) * CAST(reference_members AS DECIMAL(38, 0)))
          )
        ) AS gaps_0,
        MAX(reference_everywhere) - SUM(reference_members) AS before_0,
        MAX(steps) AS ordered_steps_0,
        MAX(total) AS ordered_total_0
      FROM (
        SELECT
          cells.stage_code,
          cells.size,
          reference.reference_below AS reference_members,
          reference.total,
          reference.reference_everywhere,
          reference.steps,
          CAST(SUM(cells.members) AS BIGINT) AS members
        FROM (
          SELECT stage_code, code_held, members, CAST(SUM(members) OVER (PARTITION BY stage_code) AS BIGINT) AS size
          FROM (
            SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
            FROM sqlanon_script_round_7
            WHERE kept
            GROUP BY stage_code, disease_code
          ) AS cells
        ) AS cells
        JOIN sqlanon_script_distribution_disease AS reference ON cells.code_held <= reference.code
        GROUP BY
          cells.stage_code,
          cells.size,
          reference.code,
          reference.reference_below,
          reference.total,
          reference.reference_everywhere,
          reference.steps
      ) AS held
      GROUP BY stage_code
    ) AS part_0
    JOIN (
      SELECT
        stage_code,
        COUNT(*) AS values_0,
        MIN(members) AS least_0,
        MAX(members) AS most_0,
        SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(members AS DOUBLE PRECISION))) AS surprise_0
      FROM (
        SELECT stage_code AS stage_code, disease_code AS code_held, CAST(SUM(n) AS BIGINT) AS members
        FROM sqlanon_script_round_7
        WHERE kept
        GROUP BY stage_code, disease_code
      ) AS held
      GROUP BY stage_code
    ) AS part_1 ON part_0.stage_code = part_1.stage_code
  ) AS found
) AS classes_3 ON rows.grouping_3_stage_code = classes_3.grouping_3_stage_code;

-- What is kept after 8 rounds. Were more of them needed, the audit stops the script.
CREATE UNLOGGED TABLE sqlanon_script_classes AS
SELECT NULLIF(zip_code, -1) AS zip_code, stage_code, n, kept AS kept
FROM (
  SELECT zip_code, stage_code, SUM(n) AS n, kept
  FROM sqlanon_script_round_8
  GROUP BY zip_code, stage_code, kept
) AS classes;

-- Stop if a value lies outside its hierarchy.
SELECT CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS audit
FROM sqlanon_script_classes
WHERE zip_code IS NULL;

-- Stop if more than 30% of the rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT kept THEN n ELSE 0 END), 0) * 10 <= COALESCE(SUM(n), 0) * 3 THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS audit
FROM sqlanon_script_classes;

-- The release, in no order that tells of the source.
CREATE TABLE sqlanon_script_staging AS
SELECT hierarchy_zip.label_1 AS zip, '*' AS age, '*' AS sex, source.disease, source.stage
FROM source_table AS source
LEFT JOIN sqlanon_script_hierarchy_zip AS hierarchy_zip ON CAST(source.zip AS TEXT) COLLATE "C" = hierarchy_zip.value
LEFT JOIN sqlanon_script_values_stage AS values_stage ON source.stage = values_stage.value
INNER JOIN sqlanon_script_classes AS class
  ON CASE WHEN source.zip IS NULL THEN 0 ELSE hierarchy_zip.code_1 END = class.zip_code
  AND CASE WHEN source.stage IS NULL THEN 0 ELSE values_stage.code END = class.stage_code
WHERE class.kept
ORDER BY RANDOM();

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: stop unless there are classes of patient in the staged table and every one has at least 3 rows.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN size < 3 THEN 1 ELSE 0 END), 0) = 0 AND COALESCE(SUM(size), 0) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: k of patient'
  END AS INT) AS audit
FROM (
  SELECT COUNT(*) AS size
  FROM sqlanon_script_staging AS audited
  GROUP BY CAST(audited.zip AS TEXT) COLLATE "C", CAST(audited.age AS TEXT) COLLATE "C"
) AS classes;

-- Audit: stop unless every value of disease has a place in its order and in its hierarchy.
SELECT
  CAST(CASE
    WHEN COALESCE(
      SUM(
        CASE
          WHEN CASE
            WHEN value IS NULL THEN 0
            WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'ulcer' THEN 1
            WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'flu' THEN 2
            WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'gastritis' THEN 3
            WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'cough' THEN 4
            WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'asthma' THEN 5
            ELSE 6
          END > 5
          THEN 1
          ELSE 0
        END
      ),
      0
    ) = 0
    AND 0 = 0
    AND (SELECT COUNT(*) FROM source_table AS source) > 0
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: a value of disease has no place in its order or hierarchy'
  END AS INT) AS audit
FROM (
  SELECT DISTINCT CAST(audited.disease AS TEXT) COLLATE "C" AS value
  FROM sqlanon_script_staging AS audited
  UNION
  SELECT DISTINCT CAST(source.disease AS TEXT) COLLATE "C" AS value
  FROM source_table AS source
) AS domain;

-- Audit: disease in the classes of patient of the staged table, and how many of them fail.
CREATE UNLOGGED TABLE sqlanon_script_audit_0_0 AS
WITH sqlanon_audit_domain AS (
  SELECT value, reference, ROW_NUMBER() OVER (ORDER BY value NULLS FIRST) AS code
  FROM (
    SELECT value, CAST(SUM(reference) AS BIGINT) AS reference
    FROM (
      SELECT CAST(source.disease AS TEXT) COLLATE "C" AS value, COUNT(*) AS reference
      FROM source_table AS source
      GROUP BY CAST(source.disease AS TEXT) COLLATE "C"
      UNION ALL
      SELECT DISTINCT CAST(audited.disease AS TEXT) COLLATE "C" AS value, CAST(0 AS BIGINT) AS reference
      FROM sqlanon_script_staging AS audited
    ) AS "both"
    GROUP BY value
  ) AS found
), sqlanon_audit_counted AS (SELECT * FROM sqlanon_audit_domain AS domain), sqlanon_audit_ranked AS (
  SELECT
    *,
    CASE
      WHEN value IS NULL THEN 0
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'ulcer' THEN 1
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'flu' THEN 2
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'gastritis' THEN 3
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'cough' THEN 4
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'asthma' THEN 5
      ELSE 6
    END AS rank
  FROM sqlanon_audit_counted AS counted
), sqlanon_audit_placed AS (
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
    COUNT(CASE WHEN reference > 0 THEN 1 END) OVER () AS reference_values,
    CASE WHEN reference > 0 THEN CAST(reference AS DOUBLE PRECISION) END AS divisor
  FROM sqlanon_audit_placed AS placed
), sqlanon_audit_grouped AS (
  SELECT
    CAST(audited.zip AS TEXT) COLLATE "C" AS key_0,
    CAST(audited.age AS TEXT) COLLATE "C" AS key_1,
    audited.stage AS key_2,
    CAST(audited.disease AS TEXT) COLLATE "C" AS value,
    COUNT(*) AS members
  FROM sqlanon_script_staging AS audited
  GROUP BY
    CAST(audited.zip AS TEXT) COLLATE "C",
    CAST(audited.age AS TEXT) COLLATE "C",
    audited.stage,
    CAST(audited.disease AS TEXT) COLLATE "C"
), sqlanon_audit_numbered AS (
  SELECT
    grouped.key_0,
    grouped.key_1,
    grouped.key_2,
    grouped.members,
    CASE WHEN grouped.value IS NULL THEN 1 ELSE domain.code END AS code,
    ROW_NUMBER() OVER () AS number
  FROM sqlanon_audit_grouped AS grouped
  LEFT JOIN sqlanon_audit_domain AS domain ON grouped.value = domain.value
), sqlanon_audit_sizes AS (
  SELECT
    MIN(number) OVER (PARTITION BY key_0, key_1, key_2) AS class,
    CAST(SUM(members) OVER (PARTITION BY key_0, key_1, key_2) AS BIGINT) AS size,
    code,
    members
  FROM sqlanon_audit_numbered AS numbered
), sqlanon_audit_weighed AS (
  SELECT sizes.class, sizes.size, sizes.members, reference.*
  FROM sqlanon_audit_sizes AS sizes
  JOIN sqlanon_audit_reference AS reference ON sizes.code = reference.code
), sqlanon_audit_spread AS (
  SELECT
    *,
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
    MAX(total) AS total,
    SUM(members) AS counted,
    COUNT(*) AS different,
    SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(GREATEST(members, 1) AS DOUBLE PRECISION))) AS weight,
    MAX(members) AS most,
    SUM(stretch) AS stretches,
    GREATEST(MAX(places) - 1, 1) AS steps
  FROM sqlanon_audit_sorted AS sorted
  GROUP BY class, size
)
SELECT
  COUNT(*) AS classes,
  COALESCE(SUM(CASE WHEN counted <> size THEN 1 ELSE 0 END), 0) AS uncounted,
  COALESCE(
    SUM(
      CASE
        WHEN CASE
          WHEN different < 2 THEN FALSE
          WHEN different = 2 THEN most * different = size
          ELSE CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - weight - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= -CAST(1e-13 AS DOUBLE PRECISION) * CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        END
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS classes_failing_0,
  COALESCE(
    SUM(
      CASE
        WHEN CAST(stretches AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0)) <= CAST(size AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0)) * CAST(steps AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS classes_failing_1
FROM sqlanon_audit_measured AS measured;

-- Audit: stop unless l_diversity of disease holds of patient: l = 2 (entropy).
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_0) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: l_diversity disease of patient'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_0;

-- Audit: stop unless t_closeness of disease holds of patient: t = 0.9 (ordered).
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_1) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: t_closeness disease of patient'
  END AS INT) AS audit
FROM sqlanon_script_audit_0_0;

-- Audit: stop unless there are classes of doctor in the staged table and every one has at least 4 rows.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN size < 4 THEN 1 ELSE 0 END), 0) = 0 AND COALESCE(SUM(size), 0) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: k of doctor'
  END AS INT) AS audit
FROM (
  SELECT COUNT(*) AS size
  FROM sqlanon_script_staging AS audited
  GROUP BY CAST(audited.sex AS TEXT) COLLATE "C", CAST(audited.age AS TEXT) COLLATE "C"
) AS classes;

-- Audit: disease in the classes of doctor of the staged table, and how many of them fail.
CREATE UNLOGGED TABLE sqlanon_script_audit_1_0 AS
WITH sqlanon_audit_domain AS (
  SELECT value, reference, ROW_NUMBER() OVER (ORDER BY value NULLS FIRST) AS code
  FROM (
    SELECT value, CAST(SUM(reference) AS BIGINT) AS reference
    FROM (
      SELECT CAST(source.disease AS TEXT) COLLATE "C" AS value, COUNT(*) AS reference
      FROM source_table AS source
      GROUP BY CAST(source.disease AS TEXT) COLLATE "C"
      UNION ALL
      SELECT DISTINCT CAST(audited.disease AS TEXT) COLLATE "C" AS value, CAST(0 AS BIGINT) AS reference
      FROM sqlanon_script_staging AS audited
    ) AS "both"
    GROUP BY value
  ) AS found
), sqlanon_audit_counted AS (SELECT * FROM sqlanon_audit_domain AS domain), sqlanon_audit_ranked AS (
  SELECT
    *,
    CASE
      WHEN value IS NULL THEN 0
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'ulcer' THEN 1
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'flu' THEN 2
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'gastritis' THEN 3
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'cough' THEN 4
      WHEN CAST(CAST(value AS TEXT) AS TEXT) COLLATE "C" = 'asthma' THEN 5
      ELSE 6
    END AS rank
  FROM sqlanon_audit_counted AS counted
), sqlanon_audit_placed AS (
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
    COUNT(CASE WHEN reference > 0 THEN 1 END) OVER () AS reference_values,
    CASE WHEN reference > 0 THEN CAST(reference AS DOUBLE PRECISION) END AS divisor
  FROM sqlanon_audit_placed AS placed
), sqlanon_audit_grouped AS (
  SELECT
    CAST(audited.sex AS TEXT) COLLATE "C" AS key_0,
    CAST(audited.age AS TEXT) COLLATE "C" AS key_1,
    audited.stage AS key_2,
    CAST(audited.disease AS TEXT) COLLATE "C" AS value,
    COUNT(*) AS members
  FROM sqlanon_script_staging AS audited
  GROUP BY
    CAST(audited.sex AS TEXT) COLLATE "C",
    CAST(audited.age AS TEXT) COLLATE "C",
    audited.stage,
    CAST(audited.disease AS TEXT) COLLATE "C"
), sqlanon_audit_numbered AS (
  SELECT
    grouped.key_0,
    grouped.key_1,
    grouped.key_2,
    grouped.members,
    CASE WHEN grouped.value IS NULL THEN 1 ELSE domain.code END AS code,
    ROW_NUMBER() OVER () AS number
  FROM sqlanon_audit_grouped AS grouped
  LEFT JOIN sqlanon_audit_domain AS domain ON grouped.value = domain.value
), sqlanon_audit_sizes AS (
  SELECT
    MIN(number) OVER (PARTITION BY key_0, key_1, key_2) AS class,
    CAST(SUM(members) OVER (PARTITION BY key_0, key_1, key_2) AS BIGINT) AS size,
    code,
    members
  FROM sqlanon_audit_numbered AS numbered
), sqlanon_audit_weighed AS (
  SELECT sizes.class, sizes.size, sizes.members, reference.*
  FROM sqlanon_audit_sizes AS sizes
  JOIN sqlanon_audit_reference AS reference ON sizes.code = reference.code
), sqlanon_audit_spread AS (
  SELECT
    *,
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
    MAX(total) AS total,
    SUM(members) AS counted,
    COUNT(*) AS different,
    SUM(CAST(members AS DOUBLE PRECISION) * LN(CAST(GREATEST(members, 1) AS DOUBLE PRECISION))) AS weight,
    MAX(members) AS most,
    SUM(stretch) AS stretches,
    GREATEST(MAX(places) - 1, 1) AS steps
  FROM sqlanon_audit_sorted AS sorted
  GROUP BY class, size
)
SELECT
  COUNT(*) AS classes,
  COALESCE(SUM(CASE WHEN counted <> size THEN 1 ELSE 0 END), 0) AS uncounted,
  COALESCE(
    SUM(
      CASE
        WHEN CASE
          WHEN different < 2 THEN FALSE
          WHEN different = 2 THEN most * different = size
          ELSE CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION)) - weight - CAST(size AS DOUBLE PRECISION) * LN(CAST(2 AS DOUBLE PRECISION)) >= -CAST(1e-13 AS DOUBLE PRECISION) * CAST(size AS DOUBLE PRECISION) * LN(CAST(size AS DOUBLE PRECISION))
        END
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS classes_failing_0,
  COALESCE(
    SUM(
      CASE
        WHEN CAST(stretches AS DECIMAL(38, 0)) * CAST(10 AS DECIMAL(38, 0)) <= CAST(size AS DECIMAL(38, 0)) * CAST(total AS DECIMAL(38, 0)) * CAST(steps AS DECIMAL(38, 0)) * CAST(9 AS DECIMAL(38, 0))
        THEN 0
        ELSE 1
      END
    ),
    0
  ) AS classes_failing_1
FROM sqlanon_audit_measured AS measured;

-- Audit: stop unless l_diversity of disease holds of doctor: l = 2 (entropy).
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_0) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: l_diversity disease of doctor'
  END AS INT) AS audit
FROM sqlanon_script_audit_1_0;

-- Audit: stop unless t_closeness of disease holds of doctor: t = 0.9 (ordered).
SELECT
  CAST(CASE
    WHEN MAX(classes_failing_1) = 0 AND MAX(uncounted) = 0 AND MIN(classes) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: t_closeness disease of doctor'
  END AS INT) AS audit
FROM sqlanon_script_audit_1_0;

-- Audit: stop unless columns show labels of their levels alone: zip of level 1, age of level 2, sex of level 1.
SELECT
  CAST(CASE
    WHEN wrong IS NULL THEN '1'
    ELSE 'sqlanon: the release fails its audit: ' || wrong || ' shows labels of another level'
  END AS INT) AS audit
FROM (
  SELECT
    MIN(
      CASE
        WHEN NOT published.zip IS NULL AND labels_of_zip.allowed_label IS NULL THEN 'zip'
        WHEN published.age IS NULL OR CAST(published.age AS TEXT) COLLATE "C" <> '*' THEN 'age'
        WHEN published.sex IS NULL OR CAST(published.sex AS TEXT) COLLATE "C" <> '*' THEN 'sex'
      END
    ) AS wrong
  FROM sqlanon_script_staging AS published
  LEFT JOIN (
    SELECT DISTINCT CAST(hierarchy.label_1 AS TEXT) COLLATE "C" AS allowed_label
    FROM sqlanon_script_hierarchy_zip AS hierarchy
  ) AS labels_of_zip ON CAST(published.zip AS TEXT) COLLATE "C" = labels_of_zip.allowed_label
) AS found;

-- Audit: stop unless the table has exactly the rows of the classes that are released.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN kept THEN n ELSE 0 END), 0) = (SELECT COUNT(*) FROM sqlanon_script_staging)
    THEN '1'
    ELSE 'sqlanon: the release fails its audit: it has other rows than expected'
  END AS INT) AS audit
FROM sqlanon_script_classes;

-- 05_swap.sql: what was audited becomes visible under the name of the target.

-- Swap: the old release goes, the new one takes its name.
DROP TABLE IF EXISTS release_table;

-- Until COMMIT nobody sees a difference.
ALTER TABLE sqlanon_script_staging RENAME TO release_table;

-- 06_clean_up.sql: nothing is left of the script but the release.

-- Drop the scratch tables.
DROP TABLE IF EXISTS sqlanon_script_audit_1_0;
DROP TABLE IF EXISTS sqlanon_script_audit_0_0;
DROP TABLE IF EXISTS sqlanon_script_classes;
DROP TABLE IF EXISTS sqlanon_script_round_8;
DROP TABLE IF EXISTS sqlanon_script_round_7;
DROP TABLE IF EXISTS sqlanon_script_round_6;
DROP TABLE IF EXISTS sqlanon_script_round_5;
DROP TABLE IF EXISTS sqlanon_script_round_4;
DROP TABLE IF EXISTS sqlanon_script_round_3;
DROP TABLE IF EXISTS sqlanon_script_round_2;
DROP TABLE IF EXISTS sqlanon_script_round_1;
DROP TABLE IF EXISTS sqlanon_script_round_0;
DROP TABLE IF EXISTS sqlanon_script_distribution_disease;
DROP TABLE IF EXISTS sqlanon_script_counted;
DROP TABLE IF EXISTS sqlanon_script_values_stage;
DROP TABLE IF EXISTS sqlanon_script_values_disease;
DROP TABLE IF EXISTS sqlanon_script_hierarchy_zip;
DROP TABLE IF EXISTS sqlanon_script_definition_zip;

-- The end of the transaction.
COMMIT;
