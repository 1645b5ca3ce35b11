-- Basic and enhanced beta-likeness of a release, measured by hand-written SQL (Cao and Karras 2012).
--
-- Answers skewness, value by value: no sensitive value may gain more than beta times its share in the source. A sum
-- over values, as in t-closeness, lets a rare value become many times likelier; this does not. Enhanced: the gain is
-- also at most -ln of the share in the source, so that frequent values gain less and none becomes certain. Does not
-- answer similarity, nor what the absence of a value from a class says.
--
-- With m of n rows in the class and Q of N in the source, p = m/n and q = Q/N, the gain is (p - q) / q. It is at most
-- beta when m * N - n * Q <= beta * n * Q. These are whole numbers: nothing is rounded.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3 and the
-- sensitive column s, a relation `source` with column s (all rows, before suppression), and a relation `asked` of one
-- row, beta an exact decimal. For another table, create views of these names first (a quasi-identifier of fewer
-- columns repeats one of them; without its source, a release is compared with itself):
--
--     create view release as select zip as q1, birth_date as q2, sex as q3, disease as s from published.patients;
--     create view source as select disease as s from raw.patients;
--     create view asked as select cast(1.5 as decimal(12, 9)) as beta;
--
-- One row:
--
--     total_rows                rows of the release
--     total_classes             distinct combinations of the quasi-identifier
--     beta                      the greatest gain of a value in a class; NULL when the source lacks a value of the
--                               release
--     failing_classes_basic     classes where a gain is above asked.beta
--     failing_rows_basic        rows of those classes
--     failing_classes_enhanced  classes where a gain is above asked.beta or above -ln of the value's share there
--     failing_rows_enhanced     rows of those classes
--
-- NULL is a value like any other, in the quasi-identifier and in s.
-- An empty release yields one row whose beta is NULL. That is not "safe": nothing was measured.

with source_value as (
    select s, count(*) as source_held
    from source
    group by s
),

source_total as (
    select count(*) as source_rows
    from source
),

value_count as (
    select q1, q2, q3, s, count(*) as held
    from release
    group by q1, q2, q3, s
),

class_value as (
    select q1, q2, q3, s, held, cast(sum(held) over (partition by q1, q2, q3) as bigint) as class_size
    from value_count
),

compared as (
    -- a value that the class lacks has gained nothing
    select
        class_value.q1,
        class_value.q2,
        class_value.q3,
        class_value.class_size,
        class_value.held * source_total.source_rows as observed,
        class_value.class_size * coalesce(source_value.source_held, 0) as expected,
        -ln(cast(source_value.source_held as double precision) / source_total.source_rows) as surprise
    from class_value
    cross join source_total
    left join source_value on source_value.s is not distinct from class_value.s
),

gained as (
    select
        compared.q1,
        compared.q2,
        compared.q3,
        compared.class_size,
        compared.expected,
        cast(compared.observed - compared.expected as double precision) / nullif(compared.expected, 0) as gain,
        compared.expected = 0
        or compared.observed - compared.expected > asked.beta * compared.expected as fails_basic,
        compared.expected = 0
        or cast(compared.observed - compared.expected as double precision) / nullif(compared.expected, 0)
        > compared.surprise as fails_surprise
    from compared
    cross join asked
),

verdict as (
    select
        class_size,
        min(expected) as least_expected,
        max(gain) as gain,
        bool_or(fails_basic) as fails_basic,
        bool_or(fails_basic or fails_surprise) as fails_enhanced
    from gained
    group by q1, q2, q3, class_size
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    case when min(least_expected) > 0 then max(gain) end as beta,
    count(*) filter (where fails_basic) as failing_classes_basic,
    cast(coalesce(sum(class_size) filter (where fails_basic), 0) as bigint) as failing_rows_basic,
    count(*) filter (where fails_enhanced) as failing_classes_enhanced,
    cast(coalesce(sum(class_size) filter (where fails_enhanced), 0) as bigint) as failing_rows_enhanced
from verdict;
