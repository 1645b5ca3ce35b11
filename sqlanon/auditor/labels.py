"""Labels of a release that no hierarchy has, read by their form: ranges and sets, as class-wise recoding writes them.

`[20-29]` or `[20, 29]` is everything from one value to another, `[20, 40)`, `<40` and `>=20` everything between bounds
of labels, `{a, "b, c", NULL}` what its members cover. Reads labels, loads what they say, and leaves a scratch table of
the values that each covers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor import label_statements as reading_sql
from sqlanon.auditor.label_statements import LISTING
from sqlanon.engines.base import Statement
from sqlanon.source.binding import ORDERED, BoundColumn
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table

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
    `value` is the text of what a pair is to hold."""
    engine, step, ordered = scratch.engine, f"labels of {item.name}", item.family in ORDERED
    known = {label: parts_of(label, ordered=ordered) for label in labels}
    listing = scratch.create_text(step, f"{place}t", list(LISTING))
    lines = [
        (label, str(number), *way)
        for label, parts in known.items()
        for number, ways in enumerate(parts or ())
        for way in ways
    ]
    engine.load(step, listing, list(LISTING), lines)
    members = scratch.create(step, f"{place}m", reading_sql.members(listing, labelled, texts))
    ranges = scratch.create(step, f"{place}r", reading_sql.ranges(listing, labelled, texts)) if ordered else None
    made = [members, *([] if ranges is None else [ranges])]
    ways_of = {
        (str(label), str(part)): int(ways)
        for label, part, ways in engine.query(Statement(step, reading_sql.parts_read(made)))
    }
    # A part that can be read in two ways is not read: a wrong guess would match the wrong people.
    unread = frozenset(
        label
        for label, parts in known.items()
        if not parts or any(ways_of.get((label, str(number))) != 1 for number in range(len(parts)))
    )
    table = scratch.create(step, f"{place}q", reading_sql.pairs(ranges, members, labelled, texts, value))
    scratch.drop(listing, *made)
    if unread:
        # Parts of them may have been found: without them.
        scratch.drop(table)
        rest = [label for label in labels if label not in unread]
        table = read_labels(item, labelled, texts, value, rest, scratch, place).table
    return ReadLabels(table, unread)
