-- t-closeness of a release with the hierarchical ground distance, measured by hand-written SQL
-- (Li, Li and Venkatasubramanian 2007; Theory of privacy and anonymity, section 5, Definition 5.3).
--
-- Answers skewness and, for values that have a taxonomy, similarity: a class whose diseases are all diseases of the
-- stomach is far from a table with diseases of every kind, however many distinct values the class has.
--
-- Two values whose lowest common ancestor stands at level i of a taxonomy of height H have the distance i / H. The
-- Earth Mover's Distance on a tree is what has to be carried along each edge. An edge above a label carries |p - q|
-- of that label, so that the distance is the mean, over the levels 0 to H - 1, of sum max(0, p - q) over the labels
-- of the level. Multiplied by n rows of the class and N rows of the source these are whole numbers: nothing is
-- rounded.
--
-- Runs unchanged on DuckDB and PostgreSQL. Reads a relation `release` with the quasi-identifier q1, q2, q3 and the
-- sensitive column s, a relation `source` with column s (all rows, before suppression), a relation `taxonomy` with
-- every value once and its label_1, and a relation `asked` of one row, t an exact decimal. The taxonomy has height 2:
-- value, label_1, one root. For a greater height, add a branch for each further label to the two UNION ALL below and
-- say the height in `taxonomy_height`. For another table, create views of these names first (a quasi-identifier of
-- fewer columns repeats one of them; without its source, a release is compared with itself):
--
--     create view release as select zip as q1, birth_date as q2, sex as q3, disease as s from published.patients;
--     create view source as select disease as s from raw.patients;
--     create view taxonomy as select disease as value, kind as label_1 from reference.diseases;
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
-- NULL is a value like any other, in the quasi-identifier and in s; below the root it is its own label, and so is
-- together with it every value that the taxonomy lacks. An empty release yields one row whose t is NULL. That is not
-- "safe": nothing was measured.

with taxonomy_height as (
    select 2 as height
),

source_label as (
    select 0 as level, cast(s as text) as label
    from source
    union all
    select 1 as level, cast(taxonomy.label_1 as text) as label
    from source
    left join taxonomy on taxonomy.value = source.s
),

release_label as (
    select q1, q2, q3, 0 as level, cast(s as text) as label
    from release
    union all
    select release.q1, release.q2, release.q3, 1 as level, cast(taxonomy.label_1 as text) as label
    from release
    left join taxonomy on taxonomy.value = release.s
),

source_total as (
    select count(*) as source_rows
    from source
),

source_count as (
    select level, label, count(*) as source_held
    from source_label
    group by level, label
),

label_count as (
    select q1, q2, q3, level, label, count(*) as held
    from release_label
    group by q1, q2, q3, level, label
),

class_label as (
    -- every level holds every row of a class once: one level counts the class
    select
        q1, q2, q3, level, label, held,
        cast(sum(held) over (partition by q1, q2, q3, level) as bigint) as class_size
    from label_count
),

equivalence_class as (
    select
        class_label.class_size,
        class_label.class_size * source_total.source_rows * taxonomy_height.height as scale,
        cast(sum(greatest(
            0,
            class_label.held * source_total.source_rows
            - class_label.class_size * coalesce(source_count.source_held, 0)
        )) as bigint) as work
    from class_label
    cross join source_total
    cross join taxonomy_height
    left join source_count
        on source_count.level = class_label.level and source_count.label is not distinct from class_label.label
    group by
        class_label.q1, class_label.q2, class_label.q3,
        class_label.class_size, source_total.source_rows, taxonomy_height.height
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
    cast(coalesce(sum(class_size) filter (where fails), 0) as bigint) as failing_rows
from verdict;
