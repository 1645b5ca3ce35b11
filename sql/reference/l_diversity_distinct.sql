-- Distinct l-diversity of a release, measured by hand-written SQL
-- (Machanavajjhala, Gehrke and Kifer 2006; Theory of privacy and anonymity, section 5, Definition 5.1).
--
-- Answers the homogeneity attack: when all rows of a class share one sensitive value, whoever finds a person's class
-- has found the value. Background knowledge has to rule out l - 1 values before it gives the last one away. Does not
-- answer skewness (one value far more frequent than the others) nor similarity (values that mean much the same).
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3 and the
-- sensitive column s, and a relation `asked` of one row. For another table, create views of these names first (a
-- quasi-identifier of fewer columns repeats one of them):
--
--     create view release as select zip as q1, birth_date as q2, sex as q3, disease as s from published.patients;
--     create view asked as select 3 as l;
--
-- One row:
--
--     total_rows       rows of the release
--     total_classes    distinct combinations of the quasi-identifier
--     l                distinct sensitive values of the poorest class
--     failing_classes  classes with fewer than asked.l distinct values
--     failing_rows     rows of those classes
--
-- NULL is a value like any other, in the quasi-identifier and in s.
-- An empty release yields one row whose l is NULL. That is not "safe": nothing was measured.

with value_count as (
    -- every value that occurs in a class; GROUP BY makes NULL one of them, count(distinct s) would not
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
        equivalence_class.distinct_values < asked.l as fails
    from equivalence_class
    cross join asked
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    min(distinct_values) as l,
    count(*) filter (where fails) as failing_classes,
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows
from verdict;
