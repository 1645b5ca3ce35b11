-- (alpha,k)-anonymity of a release, measured by hand-written SQL
-- (Wong, Li, Fu and Wang 2006; Theory of privacy and anonymity, section 5, Definition 5.2).
--
-- Answers the homogeneity attack for the values that are sensitive, and those only (HIV is, obesity is not): in every
-- class the share of such a value is at most alpha. Does not answer background knowledge that rules out the other
-- values, nor skewness where the value is rare in the whole table, nor similarity.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3 and the
-- sensitive column s, and a relation `asked` with one row per sensitive value, alpha an exact decimal. For another
-- table, create views of these names first (a quasi-identifier of fewer columns repeats one of them):
--
--     create view release as select zip as q1, birth_date as q2, sex as q3, disease as s from published.patients;
--     create view asked as select 'HIV' as value, cast(0.4 as decimal(12, 9)) as alpha;
--
-- One row per asked value; the totals stand beside every row, and alone when nothing is asked:
--
--     total_rows       rows of the release
--     total_classes    distinct combinations of the quasi-identifier
--     k                rows of the smallest class
--     largest_share    the greatest share that any value has of a class, asked or not
--     value            an asked value
--     share            the greatest share that this value has of a class
--     failing_classes  classes where its share is above its alpha
--     failing_rows     rows of those classes
--
-- NULL is a value like any other, in the quasi-identifier, in s and in asked.value.
-- An empty release yields one row whose k and shares are NULL. That is not "safe": nothing was measured.

with value_count as (
    select q1, q2, q3, s, count(*) as held
    from release
    group by q1, q2, q3, s
),

equivalence_class as (
    select
        cast(sum(held) as bigint) as class_size,
        max(held) as most_frequent
    from value_count
    group by q1, q2, q3
),

total as (
    select
        cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
        count(*) as total_classes,
        min(class_size) as k,
        max(cast(most_frequent as double precision) / class_size) as largest_share
    from equivalence_class
),

asked_share as (
    -- every class with every asked value, also where the value does not occur
    select
        asked.value,
        asked.alpha,
        cast(sum(value_count.held) as bigint) as class_size,
        cast(sum(case when value_count.s is not distinct from asked.value then value_count.held else 0 end) as bigint)
            as held
    from value_count
    cross join asked
    group by value_count.q1, value_count.q2, value_count.q3, asked.value, asked.alpha
),

asked_value as (
    select
        value,
        max(cast(held as double precision) / class_size) as share,
        count(*) filter (where held > alpha * class_size) as failing_classes,
        cast(coalesce(sum(class_size) filter (where held > alpha * class_size), 0) as bigint) as failing_rows
    from asked_share
    group by value, alpha
)

select
    total.total_rows,
    total.total_classes,
    total.k,
    total.largest_share,
    asked_value.value,
    asked_value.share,
    asked_value.failing_classes,
    asked_value.failing_rows
from total
left join asked_value on true
order by asked_value.value nulls first;
