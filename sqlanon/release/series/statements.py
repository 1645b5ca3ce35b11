"""Statements of a series: people by track and class, the groups that fail, who leaves with whom, the ledger.

Scratch tables of people have the columns `person` (the keyed hash), `track` (0: in no release so far), `class`, a code
`value_0`... for each sensitive column that models read, `same`: whether these values are those that were published of
the person last, `leaving`: whether the source says that the person has left, and `kept`: whether the person is in the
release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.engines.base import ColumnInfo
from sqlanon.hierarchies.base import Family
from sqlanon.privacy.base import Grouping
from sqlanon.sql.build import any_of, count, equal, named, query, subquery, union_all
from sqlanon.sql.relations import Table, cast, column, identifier, literal, table_expression
from sqlanon.sql.values import Counted, ValueTables, classes

PERSON, CLASS, TOLD, LEFT = "sqlanon person", "sqlanon class", "sqlanon told", "sqlanon left"
"""What is added to the rows of a release while it is decided."""


def value_name(place: int) -> str:
    """What the code of a sensitive column is called, by its place among those that models read."""
    return f"value_{place}"


def rank(keys: Sequence[exp.Expression]) -> exp.Expression:
    """A number from 1 for each combination of keys; 1 for all where there are none."""
    if not keys:
        return literal(1)
    order = exp.Order(expressions=[exp.Ordered(this=key) for key in keys])
    return exp.Window(this=exp.DenseRank(), order=order)


def told_apart(
    rows: exp.Query,
    person: exp.Expression,
    told: exp.Expression,
    keys: Sequence[exp.Expression],
    values: Sequence[exp.Expression],
    left: ColumnInfo | None = None,
) -> exp.Select:
    """The rows of a release, each with the hash of its person, a digest of person and sensitive values, the number of
    its class and of its sensitive values.

    Keys and values are read from alias `source`.
    """
    items = [named(person, PERSON), named(told, TOLD), named(rank(keys), CLASS), named(has_left(left), LEFT)]
    items += [named(rank([value]), f"sqlanon {value_name(place)}") for place, value in enumerate(values)]
    everything = exp.Column(this=exp.Star(), table=identifier("source"))
    return exp.select(everything, *items).from_(subquery(rows, "source"))


def has_left(left: ColumnInfo | None) -> exp.Expression:
    """Whether a row of alias `source` says that its person has left: it is true, or a value of another type."""
    if left is None:
        return exp.false()
    value = column(left.name, "source")
    if left.family is Family.BOOLEAN:
        return exp.Coalesce(this=value, expressions=[exp.false()])
    return exp.Not(this=exp.Is(this=value, expression=exp.Null()))


COUNTS_OF_SOURCE = ("rows_read", "known", "persons")


def persons_of(source: exp.Expression, key: exp.Expression) -> exp.Select:
    """One row: rows of the source, rows with a person, persons. The key is read from alias `source`."""
    persons = exp.Count(this=exp.Distinct(expressions=[key.copy()]))
    counts = zip((count(), exp.Count(this=key), persons), COUNTS_OF_SOURCE, strict=True)
    return exp.select(*(named(value, name) for value, name in counts)).from_(source)


def people(seen: Table, ledger: Table, values: int) -> exp.Select:
    """Everybody of the release, with the track of the ledger."""
    track = exp.Coalesce(this=column("track", "l"), expressions=[literal(0)])
    items = [named(column(PERSON, "s"), "person"), named(track, "track"), named(column(CLASS, "s"), "class")]
    alike = exp.Coalesce(this=equal(column(TOLD, "s"), column("told", "l")), expressions=[exp.false()])
    items += [named(column(TOLD, "s"), "told"), named(alike, "same"), named(column(LEFT, "s"), "leaving")]
    items += [named(column(f"sqlanon {value_name(place)}", "s"), value_name(place)) for place in range(values)]
    select = exp.select(*items, named(exp.true(), "kept")).from_(table_expression(seen, "s"))
    on = equal(column(PERSON, "s"), column("person", "l"))
    return select.join(table_expression(ledger, "l"), on=on, join_type="left", copy=False)


def in_round(everybody: Table, values: int, kept: exp.Expression | None = None) -> exp.Select:
    """What a round looks at of people of alias `p`; `kept` says who is in the release, where that is not known yet."""
    select = query(
        "select p.person, p.track, p.class, p.same, p.leaving, :kept as kept from everybody as p",
        {"everybody": everybody},
        kept=column("kept", "p") if kept is None else kept,
    )
    return _with_values(select, values, "p")


def gone(everybody: Table, ledger: Table, tracks: Table) -> exp.Select:
    """How many people of each track are not in the release at all, forgotten ones among them: `track`, `n`."""
    return query(
        "select u.track as track, cast(sum(u.n) as bigint) as n from ("
        "select track, count(*) as n from ledger group by track"
        " union all select track, forgotten as n from tracks where forgotten > 0"
        " union all select track, -count(*) as n from everybody where track > 0 group by track"
        ") as u group by u.track having sum(u.n) > 0",
        {"everybody": everybody, "ledger": ledger, "tracks": tracks},
    )


def _judged(rows: exp.Query, keys: Sequence[str], requirement: Grouping, values: int) -> exp.Select:
    """Groups by their keys with `n`, and whether they satisfy the requirement as `satisfied`."""
    nowhere = exp.select(literal(1))
    tables = {place: ValueTables(nowhere, code=value_name(place)) for place in range(values)}
    counted = Counted(exp.select().from_(subquery(rows, "people")), [(name, column(name)) for name in keys])
    found = classes(counted, requirement.measures(), tables)
    items = [column(name) for name in (*keys, "n")]
    return exp.select(*items, named(requirement.satisfied(), "satisfied")).from_(subquery(found, "groups"))


def _with_values(select: exp.Select, values: int, table: str) -> exp.Select:
    return select.select(*(column(value_name(place), table) for place in range(values)), copy=False)


def failing_groups(everybody: Table, requirement: Grouping, values: int) -> exp.Select:
    """The groups of one track and class that do not satisfy the requirement: `track`, `class`."""
    rows = _with_values(
        query("select p.track, p.class, 1 as n from everybody as p where p.kept", {"everybody": everybody}), values, "p"
    )
    judged = _judged(rows, ("track", "class"), requirement, values)
    return exp.select(column("track"), column("class")).from_(subquery(judged, "judged")).where(_fails())


def _fails() -> exp.Expression:
    return exp.Not(this=column("satisfied"))


def without_groups(everybody: Table, failing: Table, values: int) -> exp.Select:
    """The people once groups that fail are out of the release."""
    select = query(
        "select p.person, p.track, p.class, p.same, p.leaving, p.kept and f.track is null as kept"
        " from everybody as p"
        " left join failing as f on p.track = f.track and p.class = f.class",
        {"everybody": everybody, "failing": failing},
    )
    return _with_values(select, values, "p")


def failing_absent(everybody: Table, gone_people: Table, requirement: Grouping, values: int, k: int) -> exp.Select:
    """The tracks whose absent people do not satisfy the requirement while others are present: `track`, `missing`.

    What counts are the sensitive values that were published last, for these are what the difference shows. Of people
    who are gone nobody knows them, nor of those whose values have changed since. They count as the value that most of
    the others have: whatever theirs are, the group is at least as diverse.
    """
    absent = query(
        "select p.track, 1 as n from everybody as p where not p.kept and p.track > 0 and p.same",
        {"everybody": everybody},
    )
    unknown = query(
        "select g.track, g.n from (select a.track, cast(sum(a.n) as bigint) as n from (select u.track, u.n from"
        " gone_people as u union all select p.track, count(*) as n from everybody as p"
        " where not p.kept and p.track > 0 and not p.same group by p.track) as a group by a.track) as g",
        {"gone_people": gone_people, "everybody": everybody},
    )
    absent = _with_values(absent, values, "p")
    for place in range(values):
        commonest = _commonest(everybody, place)
        alias = f"common_{place}"
        on = equal(column("track", "g"), column("track", alias))
        unknown = unknown.join(subquery(commonest, alias), on=on, join_type="left", copy=False)
        code = exp.Coalesce(this=column("value", alias), expressions=[literal(-1)])
        unknown = unknown.select(named(code, value_name(place)), copy=False)
    judged = _judged(union_all([absent, unknown]), ("track",), requirement, values)
    return query(
        "select j.track, cast(case when j.n < :k then :k - j.n else 1 end as bigint) as missing from judged as j"
        " where not j.satisfied and j.track in (select p.track from everybody as p where p.kept)",
        {"judged": judged, "everybody": everybody},
        k=k,
    )


def _commonest(everybody: Table, place: int) -> exp.Select:
    """Of the absent people of each track, the value that most have: `track`, `value`."""
    return query(
        "select c.track, c.value from (select p.track as track, :value as value, row_number() over"
        " (partition by p.track order by count(*) desc, :value) as place"
        " from everybody as p where not p.kept and p.track > 0 and p.same group by p.track, :value) as c"
        " where c.place = 1",
        {"everybody": everybody},
        value=column(value_name(place), "p"),
    )


def covers(everybody: Table, short: Table, values: int) -> exp.Select:
    """Who leaves with the people of a track that are too few: `person`.

    From the largest group of the track, those first who have left anyway, one of each sensitive value in turn, in the
    order of the keyed hashes. That group is always enough: it satisfies, so it has at least k people, and fewer are
    missing. Whoever is behind so many of the same value cannot be chosen, which leaves little to be put in order.
    """
    by: list[exp.Expression] = [column("track", "p"), *([column(value_name(0), "p")] if values else [])]
    first = exp.Case().when(column("leaving", "p"), literal(0)).else_(literal(1))
    order = exp.Order(expressions=[exp.Ordered(this=first), exp.Ordered(this=column("person", "p"))])
    turn = exp.Window(this=exp.RowNumber(), partition_by=by, order=order)
    largest = query(
        "select r.track, r.class from (select p.track, p.class, row_number() over"
        " (partition by p.track order by count(*) desc, p.class) as place from everybody as p"
        " join short as s on p.track = s.track where p.kept group by p.track, p.class) as r where r.place = 1",
        {"everybody": everybody, "short": short},
    )
    turns = query(
        "select p.person, p.track, p.leaving, s.missing, :turn as turn from everybody as p"
        " join short as s on p.track = s.track"
        " join largest as g on p.track = g.track and p.class = g.class where p.kept",
        {"everybody": everybody, "short": short, "largest": largest},
        turn=turn,
    )
    return query(
        "select o.person from (select t.person, t.missing, row_number() over"
        " (partition by t.track order by case when t.leaving then 0 else 1 end, t.turn, t.person) as place"
        " from turns as t"
        " where t.turn <= t.missing) as o where o.place <= o.missing",
        {"turns": turns},
    )


def touched(everybody: Table, short: Table, chosen: Table, values: int) -> exp.Select:
    """The people of tracks that others left with, once these are out: what a further round has to look at."""
    select = query(
        "select p.person, p.track, p.class, p.same, p.leaving, p.kept and c.person is null as kept"
        " from everybody as p"
        " join short as s on p.track = s.track left join chosen as c on p.person = c.person",
        {"everybody": everybody, "short": short, "chosen": chosen},
    )
    return _with_values(select, values, "p")


def settled(everybody: Table, short: Table) -> exp.Select:
    """The people out of the release whose tracks need no further round: `person`, `track`, `leaving`."""
    return query(
        "select p.person, p.track, p.leaving from everybody as p"
        " where not p.kept and p.track not in (select track from short)",
        {"everybody": everybody, "short": short},
    )


def rows_of(table: Table) -> exp.Select:
    """How many rows a table has."""
    return query("select count(*) as n from t", {"t": table})


def held_figures(held: Table) -> exp.Select:
    """One row: newcomers who wait, people of some track who are out, and those among both who have left."""
    return query(
        "select coalesce(sum(case when track = 0 and not leaving then 1 else 0 end), 0) as deferred,"
        " coalesce(sum(case when track > 0 and not leaving then 1 else 0 end), 0) as covered,"
        " coalesce(sum(case when leaving then 1 else 0 end), 0) as left_now from held",
        {"held": held},
    )


def staying(published: Table) -> exp.Select:
    """How many people of a release have left."""
    return query("select count(*) as n from published where leaving", {"published": published})


# -- those who have left, and whose rows the source keeps --------------------------------------------------------------


def bound_tracks(failing_rest: Table, failing_whole: Table, short: Table) -> exp.Select:
    """The tracks whose people who have left cannot leave yet: the rest of a group would fail that satisfies with them,
    or those who are absent then would."""
    return query(
        "select r.track from failing_rest as r left join failing_whole as w on r.track = w.track and r.class = w.class"
        " where w.track is null union select s.track from short as s",
        {"failing_rest": failing_rest, "failing_whole": failing_whole, "short": short},
    )


def together(tables: Sequence[Table], names: Sequence[str]) -> exp.Query:
    """All rows of several tables."""
    return union_all([exp.select(*(column(name) for name in names)).from_(table_expression(table)) for table in tables])


def without_people(seen: Table, held: Table, names: Sequence[str]) -> exp.Select:
    """The rows of the release without the people who are held back."""
    select = exp.select(*(column(name, "s") for name in names)).from_(table_expression(seen, "s"))
    on = equal(column(PERSON, "s"), column("person", "h"))
    select = select.join(table_expression(held, "h"), on=on, join_type="left", copy=False)
    return select.where(exp.Is(this=column("person", "h"), expression=exp.Null()), copy=False)


# -- the ledger --------------------------------------------------------------------------------------------------------


def present(everybody: Table, held: Table) -> exp.Select:
    """The people of the release as it is published: `person`, `track`, `class`, `told`, `leaving`."""
    return query(
        "select p.person, p.track, p.class, p.told, p.leaving from everybody as p"
        " left join held as h on p.person = h.person"
        " where h.person is null",
        {"everybody": everybody, "held": held},
    )


def joined(published: Table) -> exp.Select:
    """How many people are in a release for the first time."""
    return query("select count(*) as n from published where track = 0", {"published": published})


def new_tracks(published: Table, tracks: Table) -> exp.Select:
    """A track for each group of one track and class: `id`, `parent`, `class`, `n`."""
    return query(
        "select cast((select coalesce(max(track), 0) from tracks) + row_number() over (order by g.track, g.class)"
        " as bigint) as id, g.track as parent, cast(g.class as bigint) as class, g.n from"
        " (select track, class, count(*) as n from published group by track, class) as g",
        {"published": published, "tracks": tracks},
    )


def people_now(ledger: Table, published: Table, groups: Table) -> exp.Select:
    """The people of the ledger once a release stands: those in it have a new track, the others keep theirs."""
    absent = query(
        "select l.person, l.track, l.told from ledger as l left join published as p on l.person = p.person"
        " where p.person is null",
        {"ledger": ledger, "published": published},
    )
    there = query(
        "select p.person, g.id as track, p.told from published as p"
        " join groups as g on p.track = g.parent and p.class = g.class",
        {"published": published, "groups": groups},
    )
    both = union_all([absent, there])
    return exp.select(*(column(name, "u") for name in PEOPLE)).from_(subquery(both, "u"))


def tracks_of(groups: Table, release: int | exp.Expression) -> exp.Select:
    """The rows of new tracks for the ledger."""
    return query(
        "select g.id as track, g.parent, cast(:release as bigint) as release, g.class, cast(0 as bigint) as forgotten"
        " from groups as g",
        {"groups": groups},
        release=release,
    )


PEOPLE = ("person", "track", "told")
"""The columns of the people of a ledger; `told` is a keyed digest of the person and the values published last."""


def _nothing(columns: Mapping[str, str]) -> exp.Select:
    """No row of these columns, by their types."""
    items = [named(cast(literal("" if kind == "text" else 0), kind), name) for name, kind in columns.items()]
    return exp.select(*items).where(equal(literal(1), literal(0)))


def nobody() -> exp.Select:
    """The people of a ledger that begins."""
    return _nothing({"person": "text", "track": "bigint", "told": "text"})


def no_tracks() -> exp.Select:
    """The tracks of a ledger that begins."""
    return _nothing(dict.fromkeys(TRACKS, "bigint"))


TRACKS = ("track", "parent", "release", "class", "forgotten")
TEXTS = ("event", "run", "target", "published", "secret_mark", "contract", "state", "digest")
NUMBERS = ("release", "rows", "joined", "gone", "deferred", "covered", "staying", "smallest")


def no_releases() -> exp.Select:
    """The releases of a ledger that begins."""
    return _nothing({**dict.fromkeys(NUMBERS, "bigint"), **dict.fromkeys(TEXTS, "text")})


def release_row(values: Mapping[str, str | int | exp.Expression]) -> exp.Select:
    """One row of the releases."""
    found = {name: value if isinstance(value, exp.Expression) else literal(value) for name, value in values.items()}
    items = [named(cast(found[name], "bigint"), name) for name in NUMBERS]
    items += [named(cast(found[name], "text"), name) for name in TEXTS]
    return exp.select(*items)


def releases(table: Table) -> exp.Select:
    """All releases of a ledger in their order: metadata and counts."""
    names = [column(name) for name in (*NUMBERS, *TEXTS)]
    return exp.select(*names).from_(table_expression(table)).order_by(column("release"))


def insert(table: Table, names: Sequence[str], rows: exp.Query) -> exp.Insert:
    """INSERT INTO a table of the ledger."""
    into = exp.Schema(this=table_expression(table), expressions=[identifier(name) for name in names])
    return exp.Insert(this=into, expression=rows)


def smallest_track(ledger: Table, tracks: Table) -> exp.Select:
    """The fewest people that have one track."""
    return query(
        "select min(s.n) as n from (select u.track, sum(u.n) as n from ("
        "select track, count(*) as n from ledger group by track"
        " union all select track, forgotten as n from tracks where forgotten > 0) as u group by u.track) as s",
        {"ledger": ledger, "tracks": tracks},
    )


def gone_since(ledger: Table, before: Table, everybody: Table, held: Table) -> exp.Select:
    """How many people of the tracks of the release before are not among those of this one, held back or not.

    Those whose rows the source keeps are gone once they have left the release.
    """
    return query(
        "select (select count(*) from ledger as l join before as t on l.track = t.track"
        " left join everybody as p on l.person = p.person where p.person is null)"
        " + (select count(*) from held as h join before as t on h.track = t.track where h.leaving) as n",
        {"ledger": ledger, "before": before, "everybody": everybody, "held": held},
    )


def present_tracks(tracks: Table, releases: Sequence[int | exp.Expression]) -> exp.Select:
    """The tracks of people who stand in one of these releases: those that it made, and all that went on from them."""
    numbers = [literal(number) if isinstance(number, int) else number for number in releases]
    stand = any_of([equal(column("release"), number) for number in numbers])
    return query(
        "with recursive present as (select first.track from tracks as first where :stand"
        " union all select after.track from tracks as after join present as p on after.parent = p.track)"
        " select distinct p.track from present as p",
        {"tracks": tracks},
        stand=stand,
    )


def outlived(ledger: Table, tracks: Table, present_now: Table, releases: Sequence[int]) -> exp.Select:
    """The people of a ledger who stand in no table, and stood in one of these releases last: `person`, `track`."""
    last = any_of([equal(column("release", "t"), literal(number)) for number in releases])
    return query(
        "select l.person, l.track from ledger as l join tracks as t on l.track = t.track"
        " left join present_now as p on l.track = p.track where p.track is null and :last",
        {"ledger": ledger, "tracks": tracks, "present_now": present_now},
        last=last,
    )


def persons(source: exp.Expression, person: exp.Expression) -> exp.Select:
    """Everybody in the source by keyed hash."""
    return exp.select(named(person, "person")).from_(source)


def known(ledger: Table, people_named: Table) -> exp.Select:
    """Those among people who are in the ledger: `person`, `track`."""
    return query(
        "select l.person, l.track from ledger as l join people_named as p on l.person = p.person",
        {"ledger": ledger, "people_named": people_named},
    )


def not_among(named_people: Table, others_known: Table) -> exp.Select:
    """People who are not among others: `person`, `track`."""
    return query(
        "select n.person, n.track from named_people as n left join others_known as o on n.person = o.person"
        " where o.person is null",
        {"named_people": named_people, "others_known": others_known},
    )


def remaining(ledger: Table, forgotten: Table) -> exp.Select:
    """The people of a ledger but those who are forgotten."""
    return query(
        "select l.person, l.track, l.told from ledger as l left join forgotten as f on l.person = f.person"
        " where f.person is null",
        {"ledger": ledger, "forgotten": forgotten},
    )


def on_tracks(named_people: Table, present_now: Table) -> exp.Select:
    """How many people have one of these tracks."""
    return query(
        "select count(*) as n from named_people as n join present_now as p on n.track = p.track",
        {"named_people": named_people, "present_now": present_now},
    )


def tracks_forgetting(tracks: Table, named_people: Table) -> exp.Select:
    """The tracks, where these people are counted among the forgotten ones."""
    return query(
        "select t.track, t.parent, t.release, t.class, cast(t.forgotten + coalesce(f.n, 0) as bigint) as forgotten"
        " from tracks as t left join (select n.track, count(*) as n from named_people as n group by n.track) as f"
        " on t.track = f.track",
        {"tracks": tracks, "named_people": named_people},
    )
