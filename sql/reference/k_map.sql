-- k-map of a release against a population, measured by hand-written SQL
-- (Sweeney 2001; the voter list of Samarati 2001, section 1).
--
-- Answers linkage with an outside table: whoever joins the release with a list of the population on the
-- quasi-identifier finds at least k people for every row. A class may be small in the release when many people
-- outside look the same. Does not answer someone who knows who is in the release (see k_anonymity.sql), nor what the
-- sensitive values say.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3, a relation
-- `population` with the same columns, generalized as the release is, and a relation `asked` of one row. For another
-- table, create views of these names first (a quasi-identifier of fewer columns repeats one of them):
--
--     create view release as select zip as q1, birth_year as q2, sex as q3 from published.patients;
--     create view population as
--         select substr(zip_code, 1, 3) || '**' as q1, extract(year from born) as q2, sex as q3 from reference.voters;
--     create view asked as select 5 as k;
--
-- One row:
--
--     total_rows       rows of the release
--     total_classes    distinct combinations of the quasi-identifier in the release
--     k                population rows that match the class with the fewest
--     failing_classes  classes of the release that fewer than asked.k rows of the population match
--     failing_rows     rows of those classes
--
-- NULL is a value like any other and matches itself.
-- An empty release yields one row whose k is NULL. That is not "safe": nothing was measured.

with matched as (
    -- both tables counted side by side: GROUP BY matches NULL with NULL, a join on = would not
    select
        cast(sum(released) as bigint) as class_size,
        cast(sum(known) as bigint) as population_rows
    from (
        select q1, q2, q3, 1 as released, 0 as known from release
        union all
        select q1, q2, q3, 0 as released, 1 as known from population
    ) as every_row
    group by q1, q2, q3
),

verdict as (
    -- what only the population has is no class of the release
    select
        matched.class_size,
        matched.population_rows,
        matched.population_rows < asked.k as fails
    from matched
    cross join asked
    where matched.class_size > 0
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    min(population_rows) as k,
    count(*) filter (where fails) as failing_classes,
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows
from verdict;
