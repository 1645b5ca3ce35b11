"""A series of published tables of one source: what each two of them say together of those who are in one alone.

Reads the published tables, and the source of a spec only for its hierarchies; returns counts. Leaves nothing but
scratch tables, which are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sqlanon.auditor.differences import Difference, Stored, compared, comparison_of, shared_columns
from sqlanon.auditor.place import open_place, relation_named
from sqlanon.auditor.statements.differences import ComparedBy
from sqlanon.engines.base import Engine
from sqlanon.errors import HierarchyError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.insight.options import published
from sqlanon.notebook import html_table
from sqlanon.source.binding import live_domain
from sqlanon.source.hierarchies import store_hierarchy
from sqlanon.source.run import DEFAULT, Options, Run, running
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec
from sqlanon.sql.relations import Relation, Table

ALL_PAIRS = 12
"""Tables of which each two are compared; of more, each two in a row, and the first with the last."""

FLAG = "--series"

ROWS = "rows were counted: the tables do not tell persons apart, and several rows of one person count as several"

NETTED = (
    "the spec keeps a ledger, which asks of groups of people: where some came as others left, fewer rows differ than "
    "people changed; `sqlanon ledger verify` counts the groups"
)


@dataclass(frozen=True)
class SeriesRequest:
    """What is known of published tables that no spec describes."""

    quasi_identifier: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    k: int = 5
    respondent: str | None = None


@dataclass(frozen=True)
class SeriesResult:
    """The differences of the tables of a series, in order of publication."""

    tables: tuple[str, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()

    @property
    def worst(self) -> Difference | None:
        """The two tables that expose most."""
        found = sorted(self.differences, key=lambda item: (item.below_k, item.alone, sum(item.few_values.values())))
        return found[-1] if found else None

    @property
    def exposing(self) -> bool:
        """Whether somebody stands out of the difference of two of the tables."""
        return any(item.exposing for item in self.differences)

    def to_dict(self, *, statements: bool = False) -> dict[str, Any]:
        """Plain data; with the SQL of each pair where statements are asked for."""
        return {
            "tables": list(self.tables),
            "exposing": self.exposing,
            "pairs": [item.to_dict(statements=statements) for item in self.differences],
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        rows = [
            (f"{item.older} → {item.newer}", f"{item.alone} alone, {item.below_k} below {item.comparison.k}")
            for item in self.differences
        ]
        return html_table("sqlanon series", rows)


def series_of_spec(spec: Spec, earlier: Sequence[str], options: Options = DEFAULT) -> SeriesResult:
    """Compare earlier releases of a spec, in order of publication, with each other and with its target."""
    with running(spec, options) as run:
        target = published(run)
        tables = [relation_named(run.engine, name, FLAG) for name in earlier]
        tables += [target] if target is not None else []
        if len(tables) < 2:
            raise UsageError(f"{FLAG}: name two tables, or one beside a target that is published")
        names = run.binding.names
        respondent = run.binding.spec.respondent
        others = shared_columns(run.engine, tables, names)
        person = respondent if respondent in others else None
        comparison = comparison_of(
            spec, run.binding.k, names, tuple(name for name in others if name != respondent), person
        )
        notes = _notes(run.engine, tables, comparison)
        if spec.ledger is not None and person is None:
            notes.append(NETTED)
        stored = _Hierarchies(run)
        found = _pairs(run.engine, tables, comparison, run.scratch, stored)
        return SeriesResult(tuple(map(str, tables)), found, (*notes, *stored.notes))


def series_of_tables(
    names: Sequence[str], connection: str | None, asked: SeriesRequest, options: Options = DEFAULT
) -> SeriesResult:
    """Compare published tables that no spec describes, in order of publication."""
    if len(names) < 2:
        raise UsageError(f"{FLAG}: name two tables, or one and a spec whose target is published")
    with open_place(names[0], connection, options) as (engine, first), Scratch(engine, ()) as scratch:
        tables = [first, *(relation_named(engine, name, FLAG) for name in names[1:])]
        apart = [asked.respondent] if asked.respondent is not None else []
        others = shared_columns(engine, tables, asked.quasi_identifier, apart)
        for name in asked.sensitive:
            if name not in others:
                raise UsageError(f"--sensitive: not every table has a column '{name}' beside the quasi-identifier")
        least = dict.fromkeys(asked.sensitive, 2)
        comparison = ComparedBy(asked.quasi_identifier, others, asked.k, least, asked.respondent)
        found = _pairs(engine, tables, comparison, scratch, None)
        return SeriesResult(tuple(map(str, tables)), found, (*_notes(engine, tables, comparison), *_exactly(found)))


def _pairs(
    engine: Engine,
    tables: Sequence[Relation],
    comparison: ComparedBy,
    scratch: Scratch,
    hierarchies: _Hierarchies | None,
) -> tuple[Difference, ...]:
    places = list(combinations(range(len(tables)), 2))
    if len(tables) > ALL_PAIRS:
        places = [(place, place + 1) for place in range(len(tables) - 1)]
        places.append((0, len(tables) - 1))
    return tuple(
        compared(
            engine,
            (tables[older], tables[newer]),
            comparison,
            scratch,
            None if hierarchies is None else hierarchies.stored,
        )
        for older, newer in places
    )


class _Hierarchies:
    """The hierarchies of a spec, stored when they are first needed."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._found: Stored | None = None
        self.notes: list[str] = []

    def stored(self) -> Stored:
        """Those that can be made of the source's values; of the others a note says that labels are compared as such."""
        if self._found is not None:
            return self._found
        run = self._run
        found: dict[str, tuple[Table, Sequence[Family]]] = {}
        for position, item in enumerate(run.binding.quasi_identifiers):
            values = live_domain(run.engine, run.binding, item)
            try:
                kept = store_hierarchy(run.engine, item, values, run.scratch, f"s__{position}", has_null=False)
            except HierarchyError as error:
                self.notes.append(f"labels of '{item.name}' were compared as they stand: {error}")
                continue
            found[item.name] = (kept.table.table, kept.families)
        self._found = found
        return found


def _notes(engine: Engine, tables: Sequence[Relation], comparison: ComparedBy) -> list[str]:
    """What the figures do not say."""
    notes = [ROWS] if comparison.respondent is None else []
    known = {*comparison.quasi_identifier, *comparison.others, comparison.respondent}
    apart = {info.name for table in tables for info in engine.columns(table)} - known
    return notes + [f"column '{name}' is not in every table and was not compared" for name in sorted(apart)]


def _exactly(found: Sequence[Difference]) -> list[str]:
    """Where classes of one table are none of the other, and nobody knows what their labels have in common."""
    apart = sum(bool(item.only_older or item.only_newer) for item in found)
    if not apart:
        return []
    text = (
        f"in {apart} of {len(found)} pairs a table has classes that the other does not have: labels were compared as "
    )
    return [text + "they stand; with SPEC, those of different levels are compared by what they have in common"]
