-- Recursive (c,l)-diversity of a release, measured by hand-written SQL
-- (Machanavajjhala, Gehrke and Kifer 2006; Theory of privacy and anonymity, section 5).
--
-- Answers the homogeneity attack, and background knowledge that rules out values: the most frequent sensitive value
-- of a class must not dominate, not even after the next l - 2 values have been ruled out. Does not answer skewness
-- against the whole table nor similarity.
--
-- With the values of a class ranked by how many rows hold them, r1 >= r2 >= ..., the class passes when
-- r1 < c * (r_l + r_(l+1) + ... + r_last). The inequality is strict. A class of fewer than l values has nothing on the
-- right side and fails.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3 and the
-- sensitive column s, and a relation `asked` of one row, c an exact decimal. For another table, create views of these
-- names first (a quasi-identifier of fewer columns repeats one of them):
--
--     create view release as select zip as q1, birth_date as q2, sex as q3, disease as s from published.patients;
--     create view asked as select cast(2.5 as decimal(12, 9)) as c, 3 as l;
--
-- One row:
--
--     total_rows       rows of the release
--     total_classes    distinct combinations of the quasi-identifier
--     c                the greatest r1 / (r_l + ... + r_last): the release is (c,l)-diverse for every greater c.
--                      NULL when a class has fewer than asked.l values: no c is great enough
--     failing_classes  classes that are not (asked.c, asked.l)-diverse
--     failing_rows     rows of those classes
--
-- NULL is a value like any other, in the quasi-identifier and in s.
-- An empty release yields one row whose c is NULL. That is not "safe": nothing was measured.

with value_count as (
    select q1, q2, q3, s, count(*) as held
    from release
    group by q1, q2, q3, s
),

ranked as (
    -- values that are equally frequent may stand in any order: only the frequencies are used
    select q1, q2, q3, held, row_number() over (partition by q1, q2, q3 order by held desc) as place
    from value_count
),

equivalence_class as (
    select
        cast(sum(ranked.held) as bigint) as class_size,
        max(ranked.held) as most_frequent,
        cast(coalesce(sum(ranked.held) filter (where ranked.place >= asked.l), 0) as bigint) as tail,
        asked.c
    from ranked
    cross join asked
    group by ranked.q1, ranked.q2, ranked.q3, asked.c
),

verdict as (
    select
        class_size,
        tail,
        cast(most_frequent as double precision) / nullif(tail, 0) as ratio,
        most_frequent >= c * tail as fails
    from equivalence_class
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    case when min(tail) > 0 then max(ratio) end as c,
    count(*) filter (where fails) as failing_classes,
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows
from verdict;
