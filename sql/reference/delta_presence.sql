-- delta-presence of a release within a population, measured by hand-written SQL (Nergiz, Atzori and Clifton 2007).
--
-- Answers membership: someone who knows a person's quasi-identifier, and that the release was drawn from this
-- population, should not learn whether the person is in it. In every class the share of the population that the
-- release holds lies between two bounds. Does not answer what the sensitive values say about those who are in it.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3, a
-- relation `population` with the same columns, generalized as the release is, and a relation `asked` of one row, both
-- bounds exact decimals. For another table, create views of these names first (a quasi-identifier of fewer columns
-- repeats one of them):
--
--     create view release as select zip as q1, birth_year as q2, sex as q3 from published.patients;
--     create view population as
--         select substr(zip_code, 1, 3) || '**' as q1, extract(year from born) as q2, sex as q3 from reference.voters;
--     create view asked as
--         select cast(0 as decimal(12, 9)) as min_presence, cast(0.5 as decimal(12, 9)) as max_presence;
--
-- One row:
--
--     total_rows         rows of the release
--     total_classes      distinct combinations of the quasi-identifier in the release or in the population
--     least_presence     the smallest share of a class's population that the release holds. A class of the population
--                        without a row in the release has the presence 0
--     greatest_presence  the greatest such share; NULL when no row of the population matches a class of the release
--     unmatched_classes  classes of the release that no row of the population matches: it was not drawn from this one
--     failing_classes    classes whose presence is outside the bounds, and unmatched classes
--     failing_rows       rows of the release in those classes
--
-- Classes that fail without having a row are failures that no suppression mends. NULL is a value like any other and
-- matches itself. Two empty tables yield one row whose shares are NULL. That is not "safe": nothing was measured.

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
    select
        matched.class_size,
        matched.population_rows,
        cast(matched.class_size as double precision) / nullif(matched.population_rows, 0) as presence,
        matched.population_rows = 0
        or matched.class_size < asked.min_presence * matched.population_rows
        or matched.class_size > asked.max_presence * matched.population_rows as fails
    from matched
    cross join asked
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    min(presence) as least_presence,
    case when min(population_rows) > 0 then max(presence) end as greatest_presence,
    count(*) filter (where population_rows = 0) as unmatched_classes,
    count(*) filter (where fails) as failing_classes,
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows
from verdict;
