-- p-sensitive k-anonymity of a release, measured by hand-written SQL
-- (Truta and Vinay 2006; Theory of privacy and anonymity, section 5, after Definition 5.1).
--
-- Answers the homogeneity attack, in the words of another paper than l-diversity: every class has at least k rows and,
-- for each sensitive column, at least p distinct values. With several sensitive columns, measure each by itself.
-- Does not answer skewness nor similarity.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3 and the
-- sensitive column s, and a relation `asked` of one row. For another table, create views of these names first (a
-- quasi-identifier of fewer columns repeats one of them):
--
--     create view release as select zip as q1, birth_date as q2, sex as q3, disease as s from published.patients;
--     create view asked as select 2 as p;
--
-- One row:
--
--     total_rows       rows of the release
--     total_classes    distinct combinations of the quasi-identifier
--     k                rows of the smallest class
--     p                distinct sensitive values of the poorest class
--     failing_classes  classes with fewer than asked.p distinct values
--     failing_rows     rows of those classes
--
-- NULL is a value like any other, in the quasi-identifier and in s.
-- An empty release yields one row whose k and p are NULL. That is not "safe": nothing was measured.

with value_count as (
    select q1, q2, q3, count(*) as held
    from release
    group by q1, q2, q3, s
),

equivalence_class as (
    select
        cast(sum(held) as bigint) as class_size,
        count(*) as distinct_values
    from value_count
    group by q1, q2, q3
),

verdict as (
    select
        equivalence_class.class_size,
        equivalence_class.distinct_values,
        equivalence_class.distinct_values < asked.p as fails
    from equivalence_class
    cross join asked
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    min(class_size) as k,
    min(distinct_values) as p,
    count(*) filter (where fails) as failing_classes,
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows
from verdict;
