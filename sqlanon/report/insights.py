"""Risk, attacks and utility in a report: attackers before and after, what classes give away, what columns keep.

Reads counts; writes scratch tables only, which are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlanon.attack import Attack, background, homogeneity, skewness
from sqlanon.attack.result import shown
from sqlanon.engines.base import Engine
from sqlanon.report.model import Grid
from sqlanon.report.words import percent
from sqlanon.risk import RiskRequest, TableRisk, measure_classes, measure_risk
from sqlanon.scratch import Scratch
from sqlanon.spec import Spec
from sqlanon.sqlgen.relations import Relation, Table
from sqlanon.utility import associations, count_tables

SUBSETS = 2
"""Columns of the subsets that are looked at; `sqlanon risk` looks further."""

MOST_PAIRED = 8
"""Columns of which all pairs are looked at; `sqlanon utility` looks at more."""

LISTED = 8
EXCLUDED = 1
"""Values that somebody with background knowledge can exclude."""


def insight_grids(
    engine: Engine, source: Relation, released: Table, names: Sequence[str], spec: Spec, k: int, scratch: Scratch
) -> tuple[Grid, ...]:
    """The tables about risk and attacks, of the source and of its release."""
    columns, respondent = tuple(names), spec.respondent
    request = RiskRequest(columns, k=k, subset_size=min(SUBSETS, len(columns)))
    before = measure_risk(engine, source, request, scratch, respondent=respondent)
    after = TableRisk(measure_classes(engine, released, RiskRequest(columns, k=k), respondent=respondent))
    attacks = [item for name in spec.sensitive for item in _attacks(engine, source, released, columns, name)]
    kept = _associations(engine, source, released, columns, spec.sensitive, scratch)
    return (*_risk(before, after), *_subsets(before, k), *_attack_grid(attacks), *kept)


def _risk(before: TableRisk, after: TableRisk) -> Iterator[Grid]:
    sides = (before.classes, after.classes)
    rows = [
        ("rows alone in their class", *(f"{side.uniques:,} of {side.rows:,}" for side in sides)),
        ("highest prosecutor risk", *(_share(side.prosecutor.highest) for side in sides)),
        ("average prosecutor risk", *(_share(side.prosecutor.average) for side in sides)),
        ("marketer risk", *(_share(side.marketer) for side in sides)),
    ]
    for here, there in zip(before.classes.prosecutor.at_risk, after.classes.prosecutor.at_risk, strict=True):
        rows.append((f"rows with a risk above {here.threshold:.0%}", f"{here.rows:,}", f"{there.rows:,}"))
    text = "A prosecutor looks for one person known to be in the table, a marketer for as many as possible."
    yield Grid("Risk", "Attackers", text, ("figure", "source", "release"), tuple(rows))


def _subsets(before: TableRisk, k: int) -> Iterator[Grid]:
    if before.subsets is None:
        return
    worst = sorted(before.subsets.found, key=lambda item: (-item.at_risk, len(item.columns), item.columns))[:LISTED]
    rows = tuple(
        (", ".join(item.columns), f"{item.classes:,}", f"{item.uniques:,}", f"{item.at_risk:,}") for item in worst
    )
    text = f"Columns of the source that make people stand out: subsets of up to {before.subsets.size}."
    heading = ("columns", "classes", "rows alone", f"rows in classes below {k}")
    yield Grid("Risk", "Columns that make people stand out", text, heading, rows)


def _attacks(
    engine: Engine, source: Relation, released: Table, columns: Sequence[str], sensitive: str
) -> Iterator[Attack]:
    yield Attack(
        "homogeneity",
        sensitive,
        "rows in classes of one value",
        "certain",
        homogeneity(engine, source, columns, sensitive),
        homogeneity(engine, released, columns, sensitive),
    )
    yield Attack(
        "background",
        sensitive,
        f"rows whose value is certain for somebody who can rule out {EXCLUDED} value of their class",
        "certain",
        background(engine, source, columns, sensitive, EXCLUDED),
        background(engine, released, columns, sensitive, EXCLUDED),
    )
    yield Attack(
        "skewness",
        sensitive,
        "the most that a value's share in a class exceeds its share in the source",
        "gain",
        skewness(engine, source, columns, sensitive, source),
        skewness(engine, released, columns, sensitive, source),
    )


def _attack_grid(attacks: Sequence[Attack]) -> Iterator[Grid]:
    if attacks:
        rows = tuple(
            (f"{item.name} of {item.column}: {item.explained}", shown(item, item.before), shown(item, item.after))
            for item in attacks
        )
        text = "What somebody learns of a sensitive value once a person's class is found."
        yield Grid("Attacks", "On sensitive values", text, ("attack", "source", "release"), rows)


def _associations(
    engine: Engine,
    source: Relation,
    released: Table,
    columns: Sequence[str],
    sensitive: Sequence[str],
    scratch: Scratch,
) -> Iterator[Grid]:
    """How much of what columns say of each other is left."""
    if len(columns) + len(sensitive) > MOST_PAIRED:
        return
    here, there = count_tables(engine, [source, released], columns, sensitive, scratch)
    found = sorted(associations(engine, here, there), key=lambda item: -item.before)
    scratch.drop(here.table, there.table)
    if found:
        rows = tuple((", ".join(item.columns), f"{item.before:.3f}", f"{item.after:.3f}") for item in found[:LISTED])
        text = (
            "Cramer's V of the most strongly associated pairs: 0 where independent, 1 where one determines the other."
        )
        yield Grid("Utility", "Associations kept", text, ("columns", "source", "release"), rows)


def query_grid(figures: Mapping[str, Mapping[str, float]] | None) -> Iterator[Grid]:
    """How far the answers to random count queries are off, of each type."""
    if figures is None:
        return
    rows = tuple(
        (kind, f"{int(found['queries']):,}", *(percent(found[name]) for name in ("average", "median", "largest")))
        for kind, found in figures.items()
    )
    text = "Relative errors of random count queries: type 1 on sensitive values alone, type 2 on another column too."
    yield Grid("Utility", "Count queries", text, ("queries", "number", "average", "median", "largest"), rows)


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)
