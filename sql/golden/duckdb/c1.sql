-- Release of source_table as release_table, made by sqlanon for duckdb.
-- Generalization: zip at level 1, marital at level 1, sex at level 0.
-- Every class of the quasi-identifier has at least 3 rows.
-- At most 2 rows are left out. Where this does not hold, the script stops and publishes nothing.
-- Run everything in its order, in one session that stops at the first error:
-- cat *.sql | duckdb -bail warehouse.duckdb
-- Grants, comments and indexes of an existing target are not kept by this script. `sqlanon apply` keeps them.

-- 01_hierarchies.sql: a label for every value.

-- One transaction, from here to the end.
BEGIN;
SET timezone = 'UTC';
SET default_collation = '';
SET default_null_order = 'nulls_last';

-- Definition of the hierarchy of zip, level 0 first.
CREATE TEMPORARY TABLE sqlanon_script_definition_zip (label_0 TEXT, label_1 TEXT);
INSERT INTO sqlanon_script_definition_zip
VALUES
  ('22030', '2203*'),
  ('22032', '2203*'),
  ('22045', '2204*'),
  ('22047', '2204*');

-- Hierarchy of zip: the label of each value at level 1.
CREATE TEMPORARY TABLE sqlanon_script_hierarchy_zip AS
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

-- Definition of the hierarchy of marital, level 0 first.
CREATE TEMPORARY TABLE sqlanon_script_definition_marital (label_0 TEXT, label_1 TEXT);
INSERT INTO sqlanon_script_definition_marital
VALUES
  ('married', 'been_married'),
  ('divorced', 'been_married'),
  ('widow', 'been_married'),
  ('single', 'never_married');

-- Hierarchy of marital: the label of each value at level 1.
CREATE TEMPORARY TABLE sqlanon_script_hierarchy_marital AS
SELECT
  domain.value,
  listed.label_1,
  CAST(DENSE_RANK() OVER (ORDER BY CAST(listed.label_1 AS TEXT) COLLATE "C") AS INT) AS code_1
FROM (
  SELECT DISTINCT CAST(source.marital AS TEXT) COLLATE "C" AS value
  FROM source_table AS source
  WHERE NOT CAST(source.marital AS TEXT) COLLATE "C" IS NULL
) AS domain
INNER JOIN sqlanon_script_definition_marital AS listed ON CAST(domain.value AS TEXT) = listed.label_0;

-- Stop if a value of sex, which is released as it is, lies outside its hierarchy.
SELECT CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS audit
FROM source_table AS source
WHERE
  NOT CAST(source.sex AS TEXT) COLLATE "C" IS NULL
  AND NOT CAST(CAST(source.sex AS TEXT) COLLATE "C" AS TEXT) IN ('F', 'M');

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- Rows of the source that look the same when they are published, counted.
CREATE TEMPORARY TABLE sqlanon_script_alike AS
SELECT
  CASE WHEN source.zip IS NULL THEN 0 ELSE hierarchy_zip.code_1 END AS zip_code,
  CASE WHEN source.marital IS NULL THEN 0 ELSE hierarchy_marital.code_1 END AS marital_code,
  COALESCE('=' || CAST(source.sex AS TEXT) COLLATE "C", '') AS sex_value,
  hierarchy_zip.label_1 AS zip,
  hierarchy_marital.label_1 AS marital,
  source.sex,
  source.disease,
  CAST(source.disease AS TEXT) COLLATE "C" AS disease_text,
  COUNT(*) AS n
FROM source_table AS source
LEFT JOIN sqlanon_script_hierarchy_zip AS hierarchy_zip ON CAST(source.zip AS TEXT) COLLATE "C" = hierarchy_zip.value
LEFT JOIN sqlanon_script_hierarchy_marital AS hierarchy_marital
  ON CAST(source.marital AS TEXT) COLLATE "C" = hierarchy_marital.value
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE TEMPORARY TABLE sqlanon_script_classes AS
SELECT zip_code, marital_code, sex_value, SUM(n) AS n, SUM(n) >= 3 AS kept
FROM sqlanon_script_alike
GROUP BY zip_code, marital_code, sex_value;

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Stop if a value lies outside its hierarchy.
SELECT CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS audit
FROM sqlanon_script_classes
WHERE zip_code IS NULL OR marital_code IS NULL;

-- Stop if more than 2 rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT kept THEN n ELSE 0 END), 0) <= 2 THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS audit
FROM sqlanon_script_classes;

-- The release, in no order that tells of the source.
CREATE TABLE sqlanon_script_staging AS
SELECT zip, marital, sex, disease
FROM (
  SELECT zip, marital, sex, disease, UNNEST(RANGE(copies)) AS copies
  FROM (
    SELECT alike.zip, alike.marital, alike.sex, alike.disease, alike.n AS copies
    FROM sqlanon_script_alike AS alike
    INNER JOIN sqlanon_script_classes AS class
      USING (zip_code, marital_code, sex_value)
    WHERE class.kept
    ORDER BY RANDOM()
  ) AS distinct_rows
) AS all_rows;

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: stop unless there are classes in the staged table and every one has at least 3 rows.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN size < 3 THEN 1 ELSE 0 END), 0) = 0 AND COALESCE(SUM(size), 0) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INT) AS audit
FROM (
  SELECT COUNT(*) AS size
  FROM sqlanon_script_staging AS audited
  GROUP BY
    CAST(audited.zip AS TEXT) COLLATE "C",
    CAST(audited.marital AS TEXT) COLLATE "C",
    CAST(audited.sex AS TEXT) COLLATE "C"
) AS classes;

-- Audit: stop unless columns show labels of their levels alone: zip of level 1, marital of level 1.
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
        WHEN NOT published.marital IS NULL AND labels_of_marital.allowed_label IS NULL THEN 'marital'
      END
    ) AS wrong
  FROM sqlanon_script_staging AS published
  LEFT JOIN (
    SELECT DISTINCT CAST(hierarchy.label_1 AS TEXT) COLLATE "C" AS allowed_label
    FROM sqlanon_script_hierarchy_zip AS hierarchy
  ) AS labels_of_zip ON CAST(published.zip AS TEXT) COLLATE "C" = labels_of_zip.allowed_label
  LEFT JOIN (
    SELECT DISTINCT CAST(hierarchy.label_1 AS TEXT) COLLATE "C" AS allowed_label
    FROM sqlanon_script_hierarchy_marital AS hierarchy
  ) AS labels_of_marital ON CAST(published.marital AS TEXT) COLLATE "C" = labels_of_marital.allowed_label
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
DROP TABLE IF EXISTS sqlanon_script_classes;
DROP TABLE IF EXISTS sqlanon_script_alike;
DROP TABLE IF EXISTS sqlanon_script_hierarchy_marital;
DROP TABLE IF EXISTS sqlanon_script_definition_marital;
DROP TABLE IF EXISTS sqlanon_script_hierarchy_zip;
DROP TABLE IF EXISTS sqlanon_script_definition_zip;

-- The end of the transaction.
COMMIT;
