-- One row per respondent and class: what the distributions of a release look like when people are counted, by
-- hand-written SQL. Not a measure of its own but the relation that the measures of distributions read.
--
-- Entropy and recursive l-diversity and t-closeness compare shares that add up to 1. Where a person has several rows,
-- each respondent counts once per class: for the value of theirs that most respondents of the class hold, which gathers
-- people on few values. Between values held by equally many, the first in order stands (NULL first).
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3, the
-- sensitive column s and the respondent r, which a published table does not have any more: measure the staging table,
-- or join the key back. Text is compared as the database compares it; where that is not byte by byte, add a collation
-- to the last ORDER BY. To measure, keep the result under the name `release` in another schema and run another file
-- there:
--
--     create table counted.release as <this query>;
--
-- The source to compare with is made the same way, the whole source as one class (q1, q2, q3 constant). For the ordered
-- distance, add to it the values of the source that nobody counts for: they keep their places.
--
--     q1, q2, q3  the class
--     s           the value that a respondent of the class counts for
--
-- NULL is a value like any other; rows whose r is NULL count as one respondent together.

with holding as (
    select q1, q2, q3, r, s
    from release
    group by q1, q2, q3, r, s
),

held as (
    select q1, q2, q3, r, s, count(*) over (partition by q1, q2, q3, s) as holders
    from holding
),

ranked as (
    select
        q1, q2, q3, s,
        row_number() over (partition by q1, q2, q3, r order by holders desc, s nulls first) as place
    from held
)

select q1, q2, q3, s
from ranked
where place = 1;
