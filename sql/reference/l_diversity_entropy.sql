-- Entropy l-diversity of a release, measured by hand-written SQL
-- (Machanavajjhala, Gehrke and Kifer 2006; Theory of privacy and anonymity, section 5).
--
-- Answers the homogeneity attack, and background knowledge better than distinct l-diversity does: the sensitive
-- values of a class must be about as hard to guess as l equally frequent ones, so that a rare value does not count
-- like a frequent one. Does not answer skewness against the whole table nor similarity.
--
-- A class of n rows whose values are held by m1, m2, ... rows has the entropy -sum (m/n) ln(m/n). It passes when that
-- is at least ln l, which is the same as n ln n - sum m ln m >= n ln l.
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
--     l                e to the power of the least entropy: as many equally frequent values would have it
--     failing_classes  classes whose entropy is below ln(asked.l)
--     failing_rows     rows of those classes
--
-- Logarithms are rounded, so that a class exactly on the threshold could fall on either side. Three rules keep it on
-- the right one: fewer than l values never reach ln l; exactly l values reach it only when all are equally frequent,
-- which whole numbers decide; with more values than l, what rounding can add is allowed for (1e-13 of n ln n).
--
-- NULL is a value like any other, in the quasi-identifier and in s.
-- An empty release yields one row whose l is NULL. That is not "safe": nothing was measured.

with value_count as (
    select q1, q2, q3, count(*) as held
    from release
    group by q1, q2, q3, s
),

equivalence_class as (
    select
        cast(sum(held) as bigint) as class_size,
        count(*) as distinct_values,
        min(held) as rarest,
        max(held) as most_frequent,
        sum(held * ln(cast(held as double precision))) as sum_of_m_ln_m
    from value_count
    group by q1, q2, q3
),

measured as (
    select
        class_size,
        distinct_values,
        rarest,
        most_frequent,
        sum_of_m_ln_m,
        class_size * ln(cast(class_size as double precision)) as n_ln_n
    from equivalence_class
),

verdict as (
    select
        measured.class_size,
        (measured.n_ln_n - measured.sum_of_m_ln_m) / measured.class_size as entropy,
        case
            when measured.distinct_values < asked.l then true
            when measured.distinct_values = asked.l then measured.rarest < measured.most_frequent
            else
                measured.n_ln_n - measured.sum_of_m_ln_m - measured.class_size * ln(cast(asked.l as double precision))
                < -cast(1e-13 as double precision) * measured.n_ln_n
        end as fails
    from measured
    cross join asked
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    exp(min(entropy)) as l,
    count(*) filter (where fails) as failing_classes,
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows
from verdict;
