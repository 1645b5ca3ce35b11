-- delta-disclosure privacy of a release, measured by hand-written SQL (Brickell and Shmatikov 2008).
--
-- Answers skewness, value by value and in both directions: no sensitive value may be much more frequent nor much
-- rarer in a class than in the source. Does not answer similarity.
--
-- With p the share of a value in a class and q its share in the source, |ln(p / q)| is at most delta. A value that the
-- class lacks has the logarithm of 0: the paper's definition asks that every value of the source occurs in every class
-- (`all`). Tools commonly look only at the values that occur in the class (`occurring`). Both are measured.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3 and the
-- sensitive column s, a relation `source` with column s (all rows, before suppression), and a relation `asked` of one
-- row, delta a decimal. For another table, create views of these names first (a quasi-identifier of fewer columns
-- repeats one of them; without its source, a release is compared with itself):
--
--     create view release as select zip as q1, birth_date as q2, sex as q3, disease as s from published.patients;
--     create view source as select disease as s from raw.patients;
--     create view asked as select cast(1.5 as decimal(12, 9)) as delta;
--
-- One row:
--
--     total_rows                 rows of the release
--     total_classes              distinct combinations of the quasi-identifier
--     delta                      the greatest |ln(p / q)| of a value that occurs in a class; NULL when the source lacks
--                                a value of the release
--     lacking_classes            classes that lack a value of the source
--     failing_classes_occurring  classes where a value that occurs is beyond asked.delta
--     failing_rows_occurring     rows of those classes
--     failing_classes_all        classes that fail so or lack a value
--     failing_rows_all           rows of those classes
--
-- NULL is a value like any other, in the quasi-identifier and in s.
-- An empty release yields one row whose delta is NULL. That is not "safe": nothing was measured.

with source_value as (
    select s, count(*) as source_held
    from source
    group by s
),

source_total as (
    select
        cast(coalesce(sum(source_held), 0) as bigint) as source_rows,
        count(*) as source_values
    from source_value
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
    -- p / q as a quotient of whole numbers: equal shares give exactly 1, whose logarithm is exactly 0
    select
        class_value.q1,
        class_value.q2,
        class_value.q3,
        class_value.class_size,
        source_total.source_values,
        abs(ln(
            cast(class_value.held * source_total.source_rows as double precision)
            / (class_value.class_size * source_value.source_held)
        )) as deviation
    from class_value
    cross join source_total
    left join source_value on source_value.s is not distinct from class_value.s
),

equivalence_class as (
    select
        class_size,
        max(deviation) as deviation,
        count(*) > count(deviation) as unknown_value,
        count(deviation) < source_values as lacks_value
    from compared
    group by q1, q2, q3, class_size, source_values
),

verdict as (
    select
        equivalence_class.class_size,
        equivalence_class.deviation,
        equivalence_class.unknown_value,
        equivalence_class.lacks_value,
        equivalence_class.unknown_value
        or equivalence_class.deviation > cast(asked.delta as double precision) as fails
    from equivalence_class
    cross join asked
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    case when not bool_or(unknown_value) then max(deviation) end as delta,
    count(*) filter (where lacks_value) as lacking_classes,
    count(*) filter (where fails) as failing_classes_occurring,
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows_occurring,
    count(*) filter (where fails or lacks_value) as failing_classes_all,
    cast(coalesce(sum(class_size) filter (where fails or lacks_value), 0) as bigint) as failing_rows_all
from verdict;
