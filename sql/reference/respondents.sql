-- k-anonymity and distinct l-diversity of a release counted by people instead of rows, measured by hand-written SQL
-- (Samarati 2001, Definition 2.1 asks for k respondents; Xiao and Tao 2006, section 3.3, show what counting rows
-- misses).
--
-- Answers linkage and homogeneity where a person has several rows: ten visits of one patient make a class of ten rows
-- and of one person, and that person's three diseases make nobody else's harder to guess. Does not answer skewness
-- nor similarity.
--
-- A class counts its distinct respondents. Its distinct sensitive values are those that two or more respondents hold,
-- plus one for each respondent who is the only holder of a value, however many values that are; and never more than
-- there are respondents. When everybody has one row, both counts are those of rows.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3, the
-- sensitive column s and the respondent r, which a published table does not have any more: measure the staging table,
-- or join the key back. Reads a relation `asked` of one row. For another table, create views of these names first (a
-- quasi-identifier of fewer columns repeats one of them):
--
--     create view release as
--         select zip as q1, birth_date as q2, sex as q3, disease as s, patient_id as r from staging.patients;
--     create view asked as select 5 as k, 3 as l;
--
-- One row:
--
--     total_rows         rows of the release
--     total_classes      distinct combinations of the quasi-identifier
--     total_respondents  distinct respondents of the release
--     k                  respondents of the smallest class
--     l                  distinct sensitive values of the poorest class, counted as above
--     failing_classes_k  classes with fewer than asked.k respondents
--     failing_rows_k     rows of those classes
--     failing_classes_l  classes with fewer than asked.l values
--     failing_rows_l     rows of those classes
--
-- NULL is a value like any other; rows whose r is NULL count as one respondent together.
-- An empty release yields one row whose k and l are NULL. That is not "safe": nothing was measured.

with holding as (
    -- a respondent holds a value in a class once, in however many rows
    select q1, q2, q3, r, s, count(*) as held_in_rows
    from release
    group by q1, q2, q3, r, s
),

held as (
    select
        q1, q2, q3, r, s, held_in_rows,
        count(*) over (partition by q1, q2, q3, s) as holders
    from holding
),

placed as (
    -- the first holding of each respondent stands for the respondent, with the value fewest hold; the first holding of
    -- each value stands for the value
    select
        q1, q2, q3, held_in_rows, holders,
        row_number() over (partition by q1, q2, q3, r order by holders) as place_of_respondent,
        row_number() over (partition by q1, q2, q3, s order by r) as place_of_value
    from held
),

equivalence_class as (
    select
        cast(sum(held_in_rows) as bigint) as class_size,
        count(*) filter (where place_of_respondent = 1) as respondents,
        count(*) filter (where place_of_value = 1 and holders > 1) as shared_values,
        count(*) filter (where place_of_respondent = 1 and holders = 1) as sole_holders
    from placed
    group by q1, q2, q3
),

verdict as (
    select
        equivalence_class.class_size,
        equivalence_class.respondents,
        least(equivalence_class.respondents, equivalence_class.shared_values + equivalence_class.sole_holders)
            as distinct_values,
        equivalence_class.respondents < asked.k as fails_k,
        least(equivalence_class.respondents, equivalence_class.shared_values + equivalence_class.sole_holders)
        < asked.l as fails_l
    from equivalence_class
    cross join asked
),

respondent as (
    select r
    from release
    group by r
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    (select count(*) from respondent) as total_respondents,
    min(respondents) as k,
    min(distinct_values) as l,
    count(*) filter (where fails_k) as failing_classes_k,
    cast(coalesce(sum(class_size) filter (where fails_k), 0) as bigint) as failing_rows_k,
    count(*) filter (where fails_l) as failing_classes_l,
    cast(coalesce(sum(class_size) filter (where fails_l), 0) as bigint) as failing_rows_l
from verdict;
