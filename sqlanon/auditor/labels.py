"""Labels of a release that no hierarchy has, read by their form: ranges and sets, as class-wise recoding writes them.

`[20-29]` or `[20, 29]` is everything from one value to another, `[20, 40)`, `<40` and `>=20` everything between bounds
of labels, `{a, "b, c", NULL}` what its members cover, `*` everything. Reads labels, loads what they say, and leaves a
scratch table of the values that each covers. What was loaded is a listing: each `label` with the number of its `part`,
a `kind` (range, interval, label or null), and the labels `low` and `high` that the part runs from and to; of an
interval, the bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.hierarchies.base import TOP
from sqlanon.source.binding import ORDERED, BoundColumn
from sqlanon.source.combination_statements import label_ends
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import query, union_all
from sqlanon.sql.relations import Table, column

NULL = "NULL"
SHORTENED = ".. "
"""What stands before the last member of a set that was too long to list: who is between is not told."""

RANGES = re.compile(r" - |, |-")
"""What may stand between the two values of a range."""
NUMBERED = re.compile(r" \(\d+\)$")
"""What tells apart labels of groups that would be written alike."""
INTERVAL = re.compile(r"\[([^\[,]+), ([^,)]+)\)|<(?!=)(.+)|>=(.+)")
"""A range whose end is the first value beyond it: both bounds, or only the upper or the lower one."""

Part = tuple[str, str, str]
"""One way to read a part of a label: the kind (range, interval, label or null), the first label and the last, or the
bounds."""


@dataclass(frozen=True)
class ReadLabels:
    """What could be read of some labels."""

    table: Table
    """Pairs of `value` and `label`, as texts."""
    unread: frozenset[str]


def ends_of(label: str) -> list[str]:
    """Texts that a range may begin or end with where this label begins or ends, in every reading.

    >>> ends_of("[20-29]"), ends_of("<40")
    (['[20-29]', '20', '29'], ['40'])
    """
    found = [label.removeprefix(">=").removeprefix("<")]
    if label.startswith("[") and label[-1] in "])":
        inner = label[1:-1]
        found += [part for cut in RANGES.finditer(inner) for part in (inner[: cut.start()], inner[cut.end() :])]
    return found


def parts_of(label: str, *, ordered: bool) -> list[list[Part]] | None:
    """The parts of a label, each with every way to read it; None where its form is none of ours.

    >>> parts_of("[-5-7]", ordered=True)
    [[('range', '', '5-7'), ('range', '-5', '7')]]
    >>> parts_of('{a, "b, c", NULL}', ordered=False)
    [[('label', 'a', 'a')], [('label', 'b, c', 'b, c')], [('null', '', '')]]
    >>> parts_of("{a, b, .. z}", ordered=False), parts_of("flu", ordered=False)
    (None, None)
    >>> parts_of("[20, 40)", ordered=True), parts_of("<40", ordered=True)
    ([[('interval', '20', '40')]], [[('interval', '', '40')]])
    """
    if ordered and (ways := list(_range(label))):
        return [ways]
    if not (label.startswith("{") and label.endswith("}")):
        return None
    members = members_in(label[1:-1])
    if not members or any(not quoted and text.startswith(SHORTENED) for text, quoted in members):
        return None
    return [_ways(text, ordered=ordered, quoted=quoted) for text, quoted in members]


def _ways(text: str, *, ordered: bool, quoted: bool) -> list[Part]:
    if not quoted and text == NULL:
        return [("null", "", "")]
    ranges = list(_range(text)) if ordered and not quoted else []
    if ordered and quoted and INTERVAL.fullmatch(text):
        return [("label", text, text), *_range(text)]
    return ranges or [("label", text, text)]


def _range(text: str) -> Iterator[Part]:
    """Each dash may be the one between the two values: only one reading names two labels that there are."""
    if found := INTERVAL.fullmatch(text):
        low, high, below, above = found.groups()
        yield "interval", low or above or "", high or below or ""
    if not (text.startswith("[") and text.endswith("]")):
        return
    inner = text[1:-1]
    for between in RANGES.finditer(inner):
        yield "range", inner[: between.start()], inner[between.end() :]


def members_in(text: str) -> list[tuple[str, bool]] | None:
    """The members of a set, and whether each stands in quotes; None where quotes do not fit.

    >>> members_in('a, "b ""c"", d"')
    [('a', False), ('b "c", d', True)]
    """
    found: list[tuple[str, bool]] = []
    place = 0
    while True:
        if text.startswith('"', place):
            end = place + 1
            while end < len(text) and (text[end] != '"' or text.startswith('""', end)):
                end += 2 if text[end] == '"' else 1
            if end >= len(text):
                return None
            found.append((text[place + 1 : end].replace('""', '"'), True))
            place = end + 1
        else:
            end = text.find(", ", place)
            end = len(text) if end < 0 else end
            found.append((text[place:end], False))
            place = end
        if place == len(text):
            return found
        if not text.startswith(", ", place):
            return None
        place += 2


def read_labels(
    item: BoundColumn,
    labelled: Table,
    texts: Sequence[exp.Expression],
    value: exp.Expression,
    labels: Sequence[str],
    scratch: Scratch,
    place: str,
) -> ReadLabels:
    """Read labels of a column whose values and labels stand in `labelled`: `texts` are those of each level,
    `value` is the text of what a pair is to hold.

    `*` stands for a suppressed cell: recodings that blank cells write it whatever the top of a hierarchy is called.
    """
    engine, step, ordered = scratch.engine, f"labels of {item.name}", item.family in ORDERED
    known = {label: parts_of(label, ordered=ordered) for label in labels if label != TOP}
    listing = scratch.create_text(step, f"{place}t", list(LISTING))
    lines = [
        (label, str(number), *way)
        for label, parts in known.items()
        for number, ways in enumerate(parts or ())
        for way in ways
    ]
    engine.load(step, listing, list(LISTING), lines)
    members = scratch.create(step, f"{place}m", members_found(listing, labelled, texts))
    ranges = scratch.create(step, f"{place}r", ranges_found(listing, labelled, texts)) if ordered else None
    made = [members, *([] if ranges is None else [ranges])]
    ways_of = {
        (str(label), str(part)): int(ways) for label, part, ways in engine.query(Statement(step, parts_read(made)))
    }
    # A part that can be read in two ways is not read: a wrong guess would match the wrong people.
    unread = frozenset(
        label
        for label, parts in known.items()
        if not parts or any(ways_of.get((label, str(number))) != 1 for number in range(len(parts)))
    )
    covered = pairs(ranges, members, labelled, texts, value, suppressed=TOP in labels)
    table = scratch.create(step, f"{place}q", covered)
    scratch.drop(listing, *made)
    if unread:
        # Parts of them may have been found: without them.
        scratch.drop(table)
        rest = [label for label in labels if label not in unread]
        table = read_labels(item, labelled, texts, value, rest, scratch, place).table
    return ReadLabels(table, unread)


LISTING = ("label", "part", "kind", "low", "high")

Texts = Sequence[exp.Expression]


def _nodes(labelled: Table, texts: Texts, value: exp.Expression) -> exp.Query:
    """Every value, as `x` and as its text, with each of its labels."""
    return union_all(
        [
            query(
                "select value as x, :value as value, :label as label from d where :label is not null",
                {"d": labelled},
                value=value,
                label=text,
            )
            for text in texts
        ]
    )


def ranges_found(listing: Table, labelled: Table, texts: Texts) -> exp.Select:
    """The ranges whose ends are labels that there are, with the values `lo` and `hi`, the least and the greatest.

    A range may also end where labels end: [1960-1969] where [1960-1964] begins, [20, 40) where [35, 40) ends. What is a
    label itself is not read as an interval.
    """
    nodes = query(
        "select label, min(x) as lo, max(x) as hi from n where x is not null group by label",
        {"n": _nodes(labelled, texts, texts[0])},
    )
    low, high, half_open = label_ends(column("label", "n"))
    ends = query(
        "select n.label, :low as low, :high as high, :half_open as half_open, n.lo, n.hi from n",
        {"n": nodes},
        low=low,
        high=high,
        half_open=half_open,
    )
    whole = query("select n.label as low, n.label as high, 0 as half_open, n.lo, n.hi from n", {"n": nodes})
    inner = "select low, high, half_open, lo, hi from e where low <> label or high <> label"
    every = union_all([whole, query(inner, {"e": ends})])
    starts = query("select half_open, low, min(lo) as lo from e group by half_open, low", {"e": every})
    stops = query("select half_open, high, max(hi) as hi from e group by half_open, high", {"e": every.copy()})
    return query(
        "select t.label, t.part, a.lo, b.hi from t join a on t.low = a.low join b on t.high = b.high"
        " and a.half_open = b.half_open left join w on t.kind = 'interval' and w.label = case when t.low = '' then"
        " '<' || t.high when t.high = '' then '>=' || t.low else '[' || t.low || ', ' || t.high || ')' end"
        " where ((t.kind = 'range' and a.half_open = 0)"
        " or (t.kind = 'interval' and a.half_open = 1 and w.label is null)) and a.lo <= b.hi",
        {"t": listing, "a": starts, "b": stops, "w": nodes.copy()},
    )


def members_found(listing: Table, labelled: Table, texts: Texts) -> exp.Query:
    """The members that are labels which there are, as `node`; NULL is one."""
    known = query("select distinct label from n", {"n": _nodes(labelled, texts, texts[0])})
    named = query(
        "select t.label, t.part, t.low as node from t join n on t.low = n.label where t.kind = 'label'",
        {"t": listing, "n": known},
    )
    absent = query("select t.label, t.part, cast(null as text) as node from t where t.kind = 'null'", {"t": listing})
    return union_all([named, absent])


def parts_read(tables: Sequence[Table]) -> exp.Select:
    """Each part of each label that was found, and in how many ways."""
    found = union_all([query("select label, part from f", {"f": table}) for table in tables])
    return query("select label, part, count(*) as ways from f group by label, part", {"f": found})


def pairs(
    range_table: Table | None,
    member_table: Table,
    labelled: Table,
    texts: Texts,
    value: exp.Expression,
    *,
    suppressed: bool,
) -> exp.Select:
    """Each value with the labels that cover it; `suppressed`: and with `*`, NULL too."""
    nodes = _nodes(labelled, texts, value)
    found: list[exp.Query] = [
        query(
            "select n.value, m.label from m join n on m.node = n.label where n.value is not null",
            {"m": member_table, "n": nodes},
        ),
        query("select cast(null as text) as value, m.label from m where m.node is null", {"m": member_table}),
    ]
    if range_table is not None:
        values = query(
            "select value as x, :value as value from d where value is not null", {"d": labelled}, value=value
        )
        found.append(
            query(
                "select v.value, r.label from r join v on v.x >= r.lo and v.x <= r.hi where v.value is not null",
                {"r": range_table, "v": values},
            )
        )
    if suppressed:
        everything = query("select :value as value, :top as label from d", {"d": labelled}, value=value, top=TOP)
        found += [everything, query("select cast(null as text) as value, :top as label", top=TOP)]
    return query("select distinct value, label from f", {"f": union_all(found)})
