-- (1,k)-, (k,1)- and (k,k)-anonymity of a release against its source, measured by hand-written SQL
-- (Gionis, Mazza and Tassa 2008, "k-anonymization revisited"; Samarati 2008, slide of that name).
--
-- Answers linkage where rows of a release need not be equal: whoever knows the values of somebody in the source finds
-- at least k released rows that fit them, (1,k); whoever looks at a released row finds at least k original rows that
-- it fits, (k,1); both, (k,k). Does not answer someone who knows every row of the source and assigns all of them at
-- once: that is global (1,k)-anonymity, a question of matchings, which SQL does not answer.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` and a relation `source`, both with the
-- quasi-identifier q1, q2, q3, a relation `ancestor` with a row for every label of every value of each of these
-- columns, the value itself and the top among them, and a relation `asked` of one row. For another table, create views
-- of these names first (a quasi-identifier of fewer columns repeats one of them):
--
--     create view release as select zip as q1, birth_year as q2, sex as q3 from published.patients;
--     create view source as select zip as q1, birth_year as q2, sex as q3 from raw.patients;
--     create view ancestor as select 'q1' as attribute, zip as value, zip as label from raw.patients
--         union select 'q1', zip, substr(zip, 1, 4) || '*' from raw.patients union ...;
--     create view asked as select 5 as k;
--
-- One row:
--
--     total_rows        rows of the release
--     one_k             released rows that the original row with the fewest fits, of the rows that fit one at all
--     failing_originals original rows that fit at least one released row, but fewer than asked.k
--     unmatched         original rows that fit none: those that were suppressed
--     k_one             original rows that the released row with the fewest fits
--     failing_released  released rows that fewer than asked.k original rows fit
--
-- NULL is a value like any other: it fits itself, and has ancestors where `ancestor` says so.
-- An empty release yields one row whose figures are NULL. That is not "safe": nothing was measured.

with original as (
    select q1, q2, q3, row_number() over () as o from source
),

released as (
    select q1, q2, q3, row_number() over () as r from release
),

pair as (
    -- a released row fits an original one when each of its labels is among the labels of the original's value
    select original.o, released.r
    from original
    cross join released
    where
        exists (
            select 1 from ancestor
            where
                ancestor.attribute = 'q1'
                and ancestor.value is not distinct from original.q1
                and ancestor.label is not distinct from released.q1
        )
        and exists (
            select 1 from ancestor
            where
                ancestor.attribute = 'q2'
                and ancestor.value is not distinct from original.q2
                and ancestor.label is not distinct from released.q2
        )
        and exists (
            select 1 from ancestor
            where
                ancestor.attribute = 'q3'
                and ancestor.value is not distinct from original.q3
                and ancestor.label is not distinct from released.q3
        )
),

of_originals as (
    select original.o, count(pair.r) as fitting
    from original
    left join pair on original.o = pair.o
    group by original.o
),

of_released as (
    select released.r, count(pair.o) as fitting
    from released
    left join pair on released.r = pair.r
    group by released.r
)

select
    (select count(*) from released) as total_rows,
    (select min(fitting) from of_originals where fitting > 0) as one_k,
    (select count(*) from of_originals cross join asked where fitting > 0 and fitting < asked.k) as failing_originals,
    (select count(*) from of_originals where fitting = 0) as unmatched,
    (select min(fitting) from of_released) as k_one,
    (select count(*) from of_released cross join asked where fitting < asked.k) as failing_released;
