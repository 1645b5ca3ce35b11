-- t-closeness of a release with the equal ground distance, measured by hand-written SQL
-- (Li, Li and Venkatasubramanian 2007; Theory of privacy and anonymity, section 5, Definition 5.3).
--
-- Answers skewness: whoever finds a person's class should learn little more about the sensitive value than the whole
-- table tells. Every class's distribution lies within distance t of the source's. Values are as far from each other
-- as can be, so that similarity is not answered; see the ordered and the hierarchical distance.
--
-- The Earth Mover's Distance is then sum |p - q| / 2 = sum max(0, p - q), with p the share of a value in the class
-- and q its share in the source. With m of n rows in the class and Q of N in the source, a class passes when sum
-- max(0, m * N - n * Q) <= t * n * N. These are whole numbers: nothing is rounded.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3 and the
-- sensitive column s, a relation `source` with column s (all rows, before suppression), and a relation `asked` of one
-- row, t an exact decimal. For another table, create views of these names first (a quasi-identifier of fewer columns
-- repeats one of them; without its source, a release is compared with itself):
--
--     create view release as select zip as q1, birth_date as q2, sex as q3, disease as s from published.patients;
--     create view source as select disease as s from raw.patients;
--     create view asked as select cast(0.2 as decimal(12, 9)) as t;
--
-- One row:
--
--     total_rows       rows of the release
--     total_classes    distinct combinations of the quasi-identifier
--     t                the greatest distance of a class from the source
--     failing_classes  classes farther away than asked.t
--     failing_rows     rows of those classes
--
-- NULL is a value like any other, in the quasi-identifier and in s.
-- An empty release yields one row whose t is NULL. That is not "safe": nothing was measured.

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
    -- a window counts the class without a join on columns that may be NULL
    select q1, q2, q3, s, held, cast(sum(held) over (partition by q1, q2, q3) as bigint) as class_size
    from value_count
),

equivalence_class as (
    -- values that the class lacks add nothing: there p - q is not positive
    select
        class_value.class_size,
        source_total.source_rows,
        cast(sum(greatest(
            0,
            class_value.held * source_total.source_rows
            - class_value.class_size * coalesce(source_value.source_held, 0)
        )) as bigint) as work
    from class_value
    cross join source_total
    left join source_value on source_value.s is not distinct from class_value.s
    group by class_value.q1, class_value.q2, class_value.q3, class_value.class_size, source_total.source_rows
),

verdict as (
    select
        equivalence_class.class_size,
        cast(equivalence_class.work as double precision)
        / (equivalence_class.class_size * equivalence_class.source_rows) as distance,
        equivalence_class.work > asked.t * (equivalence_class.class_size * equivalence_class.source_rows) as fails
    from equivalence_class
    cross join asked
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    max(distance) as t,
    count(*) filter (where fails) as failing_classes,
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows
from verdict;
