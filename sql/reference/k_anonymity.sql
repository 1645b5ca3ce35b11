-- k-anonymity of a release, measured by hand-written SQL (Samarati 2001, Definition 2.2).
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation named `release` whose quasi-identifier columns are q1, q2, q3;
-- for another table, create a view of that name first (a quasi-identifier of fewer columns repeats one of them):
--
--     create view release as select zip as q1, birth_date as q2, sex as q3 from published.patients;
--
-- One row per class size, smallest first; the totals stand beside every row:
--
--     total_rows     rows of the release
--     total_classes  distinct combinations of the quasi-identifier
--     k              rows of the smallest class: the release is k-anonymous for this k and every smaller one
--     class_size     a size that classes have
--     classes        how many classes have that size
--     class_rows     how many rows those classes hold together
--
-- NULL is a value like any other: GROUP BY puts the rows that are NULL in a column into one group.
-- An empty release yields one row whose k is NULL. That is not "safe": nothing was measured.

with equivalence_class as (
    -- every combination of values that occurs, with the rows that share it
    select count(*) as class_size
    from release
    group by q1, q2, q3
),

total as (
    -- count(*) and coalesce give 0 for an empty release, min() gives NULL
    select
        cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
        count(*) as total_classes,
        min(class_size) as k
    from equivalence_class
),

distribution as (
    select
        class_size,
        count(*) as classes,
        cast(sum(class_size) as bigint) as class_rows
    from equivalence_class
    group by class_size
)

select
    total.total_rows,
    total.total_classes,
    total.k,
    distribution.class_size,
    distribution.classes,
    distribution.class_rows
from total
left join distribution on true
order by distribution.class_size;
