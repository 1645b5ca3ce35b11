-- t-closeness of a release with the ordered ground distance, measured by hand-written SQL
-- (Li, Li and Venkatasubramanian 2007; Theory of privacy and anonymity, section 5, Definition 5.3).
--
-- Answers skewness and, for values that have an order, similarity: a class whose cholesterol lies between 250 and 260
-- is far from a table where it lies between 190 and 285, however many distinct values the class has.
--
-- Values that are i places apart in the order of the D values of the source have the distance i / (D - 1). The Earth
-- Mover's Distance is then the sum over the places of |cumulative p - cumulative q|, divided by D - 1: what has to be
-- carried over each gap. Multiplied by n rows of the class and N rows of the source these are whole numbers: nothing is
-- rounded. With one value in the source every distance is 0.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3 and the
-- sensitive column s, a relation `source` with column s (all rows, before suppression), a relation `value_order` with
-- every value and its position, and a relation `asked` of one row, t an exact decimal. For another table, create
-- views of these names first (a quasi-identifier of fewer columns repeats one of them; without its source, a release
-- is compared with itself). Numbers and dates are their own position; positions of text are declared, and may leave
-- gaps:
--
--     create view release as select zip as q1, birth_date as q2, sex as q3, cholesterol as s from published.patients;
--     create view source as select cholesterol as s from raw.patients;
--     create view value_order as select distinct cholesterol as value, cholesterol as position from raw.patients;
--     create view asked as select cast(0.2 as decimal(12, 9)) as t;
--
-- One row:
--
--     total_rows       rows of the release
--     total_classes    distinct combinations of the quasi-identifier
--     t                the greatest distance of a class from the source
--     failing_classes  classes farther away than asked.t
--     failing_rows     rows of those classes
--     without_place    values of s, other than NULL, that value_order does not place: unless this is 0, the figures
--                      before it mean nothing
--
-- NULL is a value like any other, in the quasi-identifier and in s; it comes before all others.
-- An empty release yields one row whose t is NULL. That is not "safe": nothing was measured.

with domain as (
    -- every value of the source; one that only the release has would count as held by no row of the source
    select s, cast(sum(counted) as bigint) as source_held
    from (
        select s, 1 as counted from source
        union all
        select s, 0 as counted from release
    ) as every_row
    group by s
),

placed as (
    select
        domain.s,
        domain.source_held,
        domain.s is not null and value_order.position is null as without_place,
        row_number() over (order by value_order.position nulls first) as place
    from domain
    left join value_order on value_order.value = domain.s
),

domain_total as (
    select
        cast(coalesce(sum(source_held), 0) as bigint) as source_rows,
        count(*) as domain_values,
        count(*) filter (where without_place) as without_place
    from placed
),

numbered as (
    -- classes by number, so that no join below meets a NULL of the quasi-identifier
    select s, dense_rank() over (order by q1, q2, q3) as class_number
    from release
),

numbered_class as (
    select class_number, count(*) as class_size
    from numbered
    group by class_number
),

value_count as (
    select class_number, s, count(*) as held
    from numbered
    group by class_number, s
),

carried as (
    -- every class with every value of the source: what has gone over the gap behind that value
    select
        numbered_class.class_number,
        numbered_class.class_size,
        domain_total.source_rows,
        domain_total.domain_values,
        abs(sum(
            coalesce(value_count.held, 0) * domain_total.source_rows
            - numbered_class.class_size * placed.source_held
        ) over (partition by numbered_class.class_number order by placed.place)) as work
    from numbered_class
    cross join placed
    cross join domain_total
    left join value_count
        on value_count.class_number = numbered_class.class_number and value_count.s is not distinct from placed.s
),

equivalence_class as (
    select
        class_size,
        class_size * source_rows * greatest(1, domain_values - 1) as scale,
        cast(sum(work) as bigint) as work
    from carried
    group by class_number, class_size, source_rows, domain_values
),

verdict as (
    select
        equivalence_class.class_size,
        cast(equivalence_class.work as double precision) / equivalence_class.scale as distance,
        equivalence_class.work > asked.t * equivalence_class.scale as fails
    from equivalence_class
    cross join asked
)

select
    cast(coalesce(sum(class_size), 0) as bigint) as total_rows,
    count(*) as total_classes,
    max(distance) as t,
    count(*) filter (where fails) as failing_classes,
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows,
    (select without_place from domain_total) as without_place
from verdict;
