-- Release of source_table as release_table, made by sqlanon for postgres.
-- Generalization: race at level 0, dob at level 1, sex at level 0, zip at level 0, marital at level 0.
-- Every class of the quasi-identifier has at least 2 rows.
-- At most 1 rows are left out. Where this does not hold, the script stops and publishes nothing.
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

-- Stop if a value of race, which is released as it is, lies outside its hierarchy.
SELECT CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS audit
FROM source_table AS source
WHERE
  NOT CAST(source.race AS TEXT) COLLATE "C" IS NULL
  AND NOT CAST(CAST(source.race AS TEXT) COLLATE "C" AS TEXT) IN ('asian', 'black', 'white');

-- Hierarchy of dob: the label of each value at level 1.
CREATE UNLOGGED TABLE sqlanon_script_hierarchy_dob AS
SELECT value, label_1, CAST(DENSE_RANK() OVER (ORDER BY CAST(label_1 AS TEXT) COLLATE "C") AS INT) AS code_1
FROM (
  SELECT
    value,
    CASE
      WHEN value = CAST('infinity' AS DATE) THEN 'infinity'
      WHEN value = CAST('-infinity' AS DATE) THEN '-infinity'
      WHEN CAST(EXTRACT(YEAR FROM value) AS INT) >= 1
      THEN CASE
        WHEN CAST(EXTRACT(YEAR FROM value) AS INT) > 9999 THEN CAST(CAST(EXTRACT(YEAR FROM value) AS INT) AS TEXT)
        ELSE LPAD(CAST(CAST(EXTRACT(YEAR FROM value) AS INT) AS TEXT), 4, '0')
      END || '-' || LPAD(CAST(CAST(EXTRACT(MONTH FROM value) AS INT) AS TEXT), 2, '0')
    END AS label_1
  FROM (SELECT DISTINCT source.dob AS value FROM source_table AS source WHERE NOT source.dob IS NULL) AS domain
) AS labelled
WHERE NOT label_1 IS NULL;

-- Stop if a value of sex, which is released as it is, lies outside its hierarchy.
SELECT CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS audit
FROM source_table AS source
WHERE
  NOT CAST(source.sex AS TEXT) COLLATE "C" IS NULL
  AND NOT CAST(CAST(source.sex AS TEXT) COLLATE "C" AS TEXT) IN ('female', 'male');

-- Stop if a value of zip, which is released as it is, lies outside its hierarchy.
SELECT CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS audit
FROM source_table AS source
WHERE
  NOT CAST(source.zip AS TEXT) COLLATE "C" IS NULL
  AND NOT CAST(CAST(source.zip AS TEXT) COLLATE "C" AS TEXT) IN ('94138', '94139', '94141', '94142');

-- Stop if a value of marital, which is released as it is, lies outside its hierarchy.
SELECT CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS audit
FROM source_table AS source
WHERE
  NOT CAST(source.marital AS TEXT) COLLATE "C" IS NULL
  AND NOT CAST(CAST(source.marital AS TEXT) COLLATE "C" AS TEXT) IN ('married', 'divorced', 'widow', 'single');

-- 02_frequency_set.sql: how often each combination occurs, and what models compare.

-- Rows of the source that look the same when they are published, counted.
CREATE UNLOGGED TABLE sqlanon_script_alike AS
SELECT
  COALESCE('=' || CAST(source.race AS TEXT) COLLATE "C", '') AS race_value,
  CASE WHEN source.dob IS NULL THEN 0 ELSE hierarchy_dob.code_1 END AS dob_code,
  COALESCE('=' || CAST(source.sex AS TEXT) COLLATE "C", '') AS sex_value,
  COALESCE('=' || CAST(source.zip AS TEXT) COLLATE "C", '') AS zip_value,
  COALESCE('=' || CAST(source.marital AS TEXT) COLLATE "C", '') AS marital_value,
  source.race,
  hierarchy_dob.label_1 AS dob,
  source.sex,
  source.zip,
  source.marital,
  COUNT(*) AS n
FROM source_table AS source
LEFT JOIN sqlanon_script_hierarchy_dob AS hierarchy_dob ON source.dob = hierarchy_dob.value
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
ANALYZE sqlanon_script_alike;

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE UNLOGGED TABLE sqlanon_script_classes AS
SELECT race_value, dob_code, sex_value, zip_value, marital_value, SUM(n) AS n, SUM(n) >= 2 AS kept
FROM sqlanon_script_alike
GROUP BY race_value, dob_code, sex_value, zip_value, marital_value;
ANALYZE sqlanon_script_classes;

-- 03_release.sql: classes are judged, the rows of those that pass are staged.

-- Stop if a value lies outside its hierarchy.
SELECT CAST(CASE WHEN COUNT(*) = 0 THEN '1' ELSE 'sqlanon: a value lies outside its hierarchy' END AS INT) AS audit
FROM sqlanon_script_classes
WHERE dob_code IS NULL;

-- Stop if more than 1 rows would be suppressed.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN NOT kept THEN n ELSE 0 END), 0) <= 1 THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS audit
FROM sqlanon_script_classes;

-- The release, in no order that tells of the source.
CREATE TABLE sqlanon_script_staging AS
SELECT race, dob, sex, zip, marital
FROM (
  SELECT race, dob, sex, zip, marital, GENERATE_SERIES(1, copies) AS copies
  FROM (
    SELECT alike.race, alike.dob, alike.sex, alike.zip, alike.marital, alike.n AS copies
    FROM sqlanon_script_alike AS alike
    INNER JOIN sqlanon_script_classes AS class
      USING (race_value, dob_code, sex_value, zip_value, marital_value)
    WHERE class.kept
    ORDER BY RANDOM()
  ) AS distinct_rows
) AS all_rows;

-- 04_audit.sql: the staged table is measured from scratch, and the script stops where a requirement does not hold.

-- Audit: stop unless there are classes in the staged table and every one has at least 2 rows.
SELECT
  CAST(CASE
    WHEN COALESCE(SUM(CASE WHEN size < 2 THEN 1 ELSE 0 END), 0) = 0 AND COALESCE(SUM(size), 0) > 0 THEN '1'
    ELSE 'sqlanon: the release fails its audit: k'
  END AS INT) AS audit
FROM (
  SELECT COUNT(*) AS size
  FROM sqlanon_script_staging AS audited
  GROUP BY
    CAST(audited.race AS TEXT) COLLATE "C",
    CAST(audited.dob AS TEXT) COLLATE "C",
    CAST(audited.sex AS TEXT) COLLATE "C",
    CAST(audited.zip AS TEXT) COLLATE "C",
    CAST(audited.marital AS TEXT) COLLATE "C"
) AS classes;

-- Audit: stop unless columns show labels of their levels alone: dob of level 1.
SELECT
  CAST(CASE
    WHEN wrong IS NULL THEN '1'
    ELSE 'sqlanon: the release fails its audit: ' || wrong || ' shows labels of another level'
  END AS INT) AS audit
FROM (
  SELECT MIN(CASE WHEN NOT published.dob IS NULL AND labels_of_dob.allowed_label IS NULL THEN 'dob' END) AS wrong
  FROM sqlanon_script_staging AS published
  LEFT JOIN (
    SELECT DISTINCT CAST(hierarchy.label_1 AS TEXT) COLLATE "C" AS allowed_label
    FROM sqlanon_script_hierarchy_dob AS hierarchy
  ) AS labels_of_dob ON CAST(published.dob AS TEXT) COLLATE "C" = labels_of_dob.allowed_label
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
DROP TABLE IF EXISTS sqlanon_script_hierarchy_dob;

-- The end of the transaction.
COMMIT;
