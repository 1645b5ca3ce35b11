-- Release of source_table as release_table, made by sqlanon.
-- Generalization: race at level 1, zip at level 0.
-- Every class of the quasi-identifier has at least 2 rows, or nothing is published.
-- Grants, comments and indexes of an existing target are kept by `sqlanon apply`, not by this script.

BEGIN;

-- Clear the way for sqlanon_script_l1.
DROP TABLE IF EXISTS "sqlanon_script_l1";

-- Definition of the hierarchy of zip, level 0 first.
CREATE TEMPORARY TABLE "sqlanon_script_l1" (
  "label_0" TEXT,
  "label_1" TEXT,
  "label_2" TEXT
);

-- Its rows from 1 on.
INSERT INTO "sqlanon_script_l1"
VALUES
  ('94138', '9413*', '941**'),
  ('94139', '9413*', '941**'),
  ('94141', '9414*', '941**'),
  ('94142', '9414*', '941**');

-- Clear the way for sqlanon_script_h1.
DROP TABLE IF EXISTS "sqlanon_script_h1";

-- Hierarchy of zip: one row per value.
CREATE TEMPORARY TABLE "sqlanon_script_h1" AS
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
        "listed"."label_2" AS "label_2"
      FROM (
        SELECT DISTINCT
          "label_0",
          "label_1",
          "label_2"
        FROM "sqlanon_script_l1"
      ) AS "listed"
      FULL OUTER JOIN (
        SELECT DISTINCT
          CAST("source"."zip" AS TEXT) COLLATE "C" AS "value"
        FROM "source_table" AS "source"
        WHERE
          NOT CAST("source"."zip" AS TEXT) COLLATE "C" IS NULL
      ) AS "domain"
        ON CAST("value" AS TEXT) = "listed"."label_0"
    )
    SELECT
      "value",
      "label_0",
      "label_1",
      "label_2",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_0" AS TEXT) COLLATE "C") AS INT) AS "code_0",
      CAST(COUNT(*) OVER (PARTITION BY CAST("label_0" AS TEXT) COLLATE "C") AS INT) AS "leaves_0",
      CAST(DENSE_RANK() OVER (
        PARTITION BY CAST("label_1" AS TEXT) COLLATE "C"
        ORDER BY CAST("label_0" AS TEXT) COLLATE "C"
      ) - 1 AS INT) AS "index_0",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_1" AS TEXT) COLLATE "C") AS INT) AS "code_1",
      CAST(COUNT(*) OVER (PARTITION BY CAST("label_1" AS TEXT) COLLATE "C") AS INT) AS "leaves_1",
      CAST(DENSE_RANK() OVER (ORDER BY CAST("label_1" AS TEXT) COLLATE "C") AS INT) AS "index_1"
    FROM labelled
  ) AS "coded"
) AS "counted"
WHERE
  NOT "value" IS NULL
  AND "occurrences" = 1
  AND NOT "label_1" IS NULL
  AND NOT "label_2" IS NULL;

-- Clear the way for sqlanon_script_classes.
DROP TABLE IF EXISTS "sqlanon_script_classes";

-- The classes of the generalized quasi-identifier, each with its verdict.
CREATE TEMPORARY TABLE "sqlanon_script_classes" AS
SELECT
  *,
  "n" >= 2 AS "kept"
FROM (
  SELECT
    CASE
      WHEN CAST("source"."zip" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "h_1"."code_0"
    END AS "k_1",
    COUNT(*) AS "n"
  FROM "source_table" AS "source"
  LEFT JOIN "sqlanon_script_h1" AS "h_1"
    ON CAST("source"."zip" AS TEXT) COLLATE "C" = "h_1"."value"
  GROUP BY
    CASE
      WHEN CAST("source"."zip" AS TEXT) COLLATE "C" IS NULL
      THEN 0
      ELSE "h_1"."code_0"
    END
) AS "classes";

-- Stop if a value lies outside its hierarchy.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        (
          SELECT
            COUNT(*)
          FROM "sqlanon_script_classes"
          WHERE
            "k_1" IS NULL
        ) = 0
    )
    THEN '1'
    ELSE 'sqlanon: a value lies outside its hierarchy'
  END AS INT) AS "audit";

-- Stop if more than 1 rows would be suppressed.
SELECT
  CAST(CASE
    WHEN (
      SELECT
        COALESCE(SUM(CASE WHEN NOT "kept" THEN "n" ELSE 0 END), 0) <= 1
      FROM "sqlanon_script_classes"
    )
    THEN '1'
    ELSE 'sqlanon: more rows than allowed would be suppressed'
  END AS INT) AS "audit";

-- Clear the way for the staging table.
DROP TABLE IF EXISTS "sqlanon_script_staging";

-- The release, in no order that tells of the source.
CREATE TABLE "sqlanon_script_staging" AS
SELECT
  'person' AS "race",
  "source"."zip" AS "zip"
FROM "source_table" AS "source"
LEFT JOIN "sqlanon_script_h1" AS "h_1"
  ON CAST("source"."zip" AS TEXT) COLLATE "C" = "h_1"."value"
JOIN "sqlanon_script_classes" AS "class"
  ON CASE
    WHEN CAST("source"."zip" AS TEXT) COLLATE "C" IS NULL
    THEN 0
    ELSE "h_1"."code_0"
  END = "class"."k_1"
WHERE
  "class"."kept"
ORDER BY
  RANDOM();

-- Audit: stop unless every class of the staging table has at least 2 rows.
SELECT
  CAST(CASE
    WHEN (
      WITH "classes" AS (
        SELECT
          COUNT(*) AS "size"
        FROM "sqlanon_script_staging"
        GROUP BY
          "race",
          CAST("zip" AS TEXT) COLLATE "C"
      )
      SELECT
        COALESCE(MIN("size"), 0) >= 2
      FROM classes
    )
    THEN '1'
    ELSE 'sqlanon: the release fails its audit'
  END AS INT) AS "audit";

-- Swap: the old release goes, the new one takes its name.
DROP TABLE IF EXISTS "release_table";

-- Until COMMIT nobody sees a difference.
ALTER TABLE "sqlanon_script_staging"
RENAME TO "release_table";

-- Clean up sqlanon_script_l1.
DROP TABLE IF EXISTS "sqlanon_script_l1";

-- Clean up sqlanon_script_h1.
DROP TABLE IF EXISTS "sqlanon_script_h1";

-- Clean up sqlanon_script_classes.
DROP TABLE IF EXISTS "sqlanon_script_classes";

COMMIT;
