-- What two releases of one source say together, measured by hand-written SQL
-- (k-anonymity, Samarati 2001, Definition 2.2, asked of the intersection of their classes).
--
-- Answers linkage of two releases: someone who knows a person's quasi-identifier finds the person's class in each of
-- them, and the person is in the intersection of both. Two k-anonymous releases can leave an intersection of one.
-- Does not answer what the sensitive values of the two releases say together.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads two relations `release_1` and `release_2` with their
-- quasi-identifiers q1, q2, q3, the respondent r and row_key, which names the row of the source; published tables
-- have neither, so measure staging tables, or join the keys back. Where every row is a person, r is row_key again.
-- Reads a relation `asked` of one row. For other tables, create views of these names first (a quasi-identifier of
-- fewer columns repeats one of them):
--
--     create view release_1 as
--         select row_key, patient_id as r, zip as q1, birth_date as q2, sex as q3 from staging.for_research;
--     create view release_2 as
--         select row_key, patient_id as r, zip as q1, job as q2, job as q3 from staging.for_insurers;
--     create view asked as select 5 as k;
--
-- One row:
--
--     shared_rows     rows of the source that both releases hold
--     intersections   distinct combinations of a class of the one and a class of the other that a row has
--     k               people of the smallest intersection
--     exposed_people  people in an intersection of fewer than asked.k people
--     exposed_rows    rows of those intersections
--     left_out_k      people of the smallest group that shares a class of one release and was suppressed in the other;
--                     NULL when both releases hold the same rows
--     left_out_people people in such a group of fewer than asked.k people: their absence is what tells them apart
--
-- NULL is a value like any other; rows whose r is NULL count as one respondent together.
-- Releases that share no row yield one row whose k is NULL. That is not "safe": nothing was measured.

with row_of_source as (
    select
        release_1.row_key is not null and release_2.row_key is not null as in_both,
        release_1.row_key is not null as in_first,
        coalesce(release_1.r, release_2.r) as r,
        release_1.q1 as first_q1,
        release_1.q2 as first_q2,
        release_1.q3 as first_q3,
        release_2.q1 as second_q1,
        release_2.q2 as second_q2,
        release_2.q3 as second_q3
    from release_1
    full join release_2 on release_1.row_key = release_2.row_key
),

person as (
    -- a person is in an intersection once, with however many rows
    select
        in_both, in_first, first_q1, first_q2, first_q3, second_q1, second_q2, second_q3, r,
        count(*) as person_rows
    from row_of_source
    group by in_both, in_first, first_q1, first_q2, first_q3, second_q1, second_q2, second_q3, r
),

counted as (
    select
        in_both,
        r,
        person_rows,
        count(*) over same_classes as people,
        row_number() over same_classes_ordered as place
    from person
    window
        same_classes as (
            partition by in_both, in_first, first_q1, first_q2, first_q3, second_q1, second_q2, second_q3
        ),
        same_classes_ordered as (
            partition by in_both, in_first, first_q1, first_q2, first_q3, second_q1, second_q2, second_q3
            order by r
        )
),

exposed as (
    -- a person may stand in several intersections, and is counted once
    select counted.in_both, counted.r
    from counted
    cross join asked
    where counted.people < asked.k
    group by counted.in_both, counted.r
)

select
    cast(coalesce(sum(counted.person_rows) filter (where counted.in_both), 0) as bigint) as shared_rows,
    count(*) filter (where counted.in_both and counted.place = 1) as intersections,
    min(counted.people) filter (where counted.in_both) as k,
    (select count(*) from exposed where in_both) as exposed_people,
    cast(coalesce(sum(counted.person_rows) filter (where counted.in_both and counted.people < asked.k), 0) as bigint)
        as exposed_rows,
    min(counted.people) filter (where not counted.in_both) as left_out_k,
    (select count(*) from exposed where not in_both) as left_out_people
from counted
cross join asked;
