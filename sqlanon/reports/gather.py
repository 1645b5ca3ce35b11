"""Gathers a report: from the lock file, the evidence, and the database that holds the source.

Reads; writes scratch tables only, which are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.errors import UsageError
from sqlanon.evaluation.problem import problem_of
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.insight.exposure import GENERALIZED
from sqlanon.insight.use import count_queries
from sqlanon.insight.workload import RandomQueries
from sqlanon.metrics.base import LevelFigures
from sqlanon.planning.decision import release_of
from sqlanon.planning.frontier import grid_on
from sqlanon.release.lock import Lock
from sqlanon.release.script import ScriptWriter
from sqlanon.reports.insights import insight_grids, query_grid
from sqlanon.reports.model import ColumnView, Report
from sqlanon.reports.parts import column_view, costed, evidence_lines, identity_of, rare_below, recoding_grid
from sqlanon.reports.redaction import redacted
from sqlanon.reports.rehearsal import rehearsed, requirement_lines
from sqlanon.reports.searching import Searched, searched
from sqlanon.reports.shares import sensitive_shares
from sqlanon.reports.statements import some_columns
from sqlanon.reports.trees import Branch, harmless_labels, trees
from sqlanon.reports.words import decision
from sqlanon.source.binding import Binding
from sqlanon.source.frequency import FrequencySet, pack, scan, store_hierarchies
from sqlanon.source.hierarchies import StoredHierarchy, describe_hierarchies
from sqlanon.source.run import DEFAULT, Options, Run, running
from sqlanon.spec import Limit, Spec
from sqlanon.sql.relations import File, Table

MOST_SQL = 400_000
"""Characters of the script that a report holds."""

WHAT_IF_SECONDS = 0.5
"""How long the grid of a report may take where nobody asked for one."""

QUERIES = RandomQueries(100)
"""Count queries that a report answers; `sqlanon utility` asks more, and those of a file."""

OWN_WORDS = ("UTC", "0", "1", "nulls_last", "nulls_first", "NaN", "Infinity", "-Infinity")
"""Text literals of scripts that are no values."""


@dataclass(frozen=True)
class WhatIf:
    """The grid of the frontier; empty: around the k of the spec, as far as a moment reaches."""

    ks: tuple[int | None, ...] = ()
    limits: tuple[Limit, ...] = ()

    @property
    def asked(self) -> bool:
        return bool(self.ks or self.limits)


def gather(spec: Spec, lock: Lock, options: Options = DEFAULT, what_if: WhatIf | None = None) -> Report:
    """The report of what a lock file decided, measured on the source as it is now.

    `what_if` None leaves the frontier out.
    """
    lock.recoding_for(spec)
    with running(spec, options) as run:
        return _Gathering(_read_once(run), run.binding, lock).report(what_if)


def _read_once(run: Run) -> Run:
    """The run on a copy of its source, where that is a file or a query: each of many statements would read it anew."""
    binding = run.binding
    if isinstance(binding.source, Table):
        return run
    persons = () if binding.spec.respondent is None else (binding.spec.respondent,)
    needed = (*binding.names, *binding.released, *(item.name for item in binding.sensitive), *persons)
    source = run.engine.traits.relation(binding.source, "source")
    copied = run.scratch.create("copy source", "copied", some_columns(source, "source", [*dict.fromkeys(needed)]))
    return replace(run, binding=replace(binding, source=copied))


class _Gathering:
    """One report under way."""

    def __init__(self, run: Run, bound: Binding, lock: Lock) -> None:
        self._run = run
        self._bound = bound
        """As the spec has it, where the run reads a copy."""
        self._lock = lock
        self._spec = run.binding.spec
        self._names = run.binding.names
        self._notes: list[str] = []
        self._rare = rare_below(self._spec, run.binding.k)
        if self._spec.privacy.personalized is not None:
            self._notes.append(f"Attacks: {GENERALIZED.format(self._spec.privacy.personalized.column)}.")

    def report(self, what_if: WhatIf | None) -> Report:
        run, binding, engine = self._run, self._run.binding, self._run.engine
        base = scan(engine, binding, run.scratch)
        stored = store_hierarchies(engine, binding, base, run.scratch)
        self._lock.require_hierarchies(describe_hierarchies(stored))
        grown = trees(engine, base, stored, self._rare, persons=binding.persons)
        release = release_of(run, base, stored, self._lock.recoding_for(self._spec))
        with rehearsed(engine, release, stored, run.scratch) as rehearsal:
            sensitive = sensitive_shares(
                engine, rehearsal.table, self._names, self._spec.sensitive, self._spec.respondent, self._rare
            )
            insights = insight_grids(
                engine, binding.source, rehearsal.table, self._names, self._spec, binding.k, run.scratch
            )
            queries = count_queries(run, rehearsal.table, QUERIES, self._notes)
        frequency = pack(engine, binding, base, stored, run.scratch)
        found = self._searched(frequency)
        levels = problem_of(run, frequency).evaluator().level_figures() if found is None else found.levels
        after = rehearsal.after
        columns = self._columns(stored, grown, levels, frequency.rows)
        lines = requirement_lines(rehearsal.before, after)
        identity = identity_of(self._spec, self._lock, f"{engine.name} {engine.version()}".strip())
        published = self._is_published()
        figures = self._figures(after.suppressed, after.classes, frequency.rows)
        satisfied = after.satisfied and int(figures["suppressed"]) <= int(figures["limit"])
        grid = recoding_grid(self._lock)
        return Report(
            identity=identity,
            figures=figures,
            decision=decision(identity, figures, columns, lines, after, satisfied, published),
            satisfied=satisfied,
            published=published,
            requirements=lines,
            rare_below=self._rare,
            before=rehearsal.before.sizes,
            after=after.sizes,
            audit=after,
            sensitive=sensitive,
            columns=columns,
            lattice=None if found is None else found.lattice,
            search=None if found is None else found.picture,
            frontier=None if found is None else self._frontier(frequency, what_if),
            sql=self._script(grown),
            dialect=engine.dialect,
            evidence=evidence_lines(self._spec, self._lock),
            more=(*(() if grid is None else (grid,)), *insights, *query_grid(queries)),
            notes=tuple(self._notes),
        )

    def _figures(self, suppressed: int | None, classes: int, rows: int) -> dict[str, Any]:
        figures = dict(self._lock.result)
        if figures["rows"] != rows:
            planned = int(figures["rows"])
            self._notes.append(f"The source has {rows:,} rows now; the plan was made on {planned:,}.")
        return figures | {
            "rows": rows,
            "suppressed": figures["suppressed"] if suppressed is None else suppressed,
            "classes": classes,
            "limit": self._run.binding.limit_rows(rows),
        }

    def _searched(self, frequency: FrequencySet) -> Searched | None:
        if self._lock.flexible is not None:
            return None
        found = searched(self._run, frequency, self._lock)
        self._notes += found.notes
        return found

    def _columns(
        self,
        stored: Sequence[StoredHierarchy],
        grown: Mapping[str, Branch | None],
        levels: Sequence[Sequence[LevelFigures]],
        rows: int,
    ) -> tuple[ColumnView, ...]:
        return tuple(
            costed(
                column_view(self._spec, self._lock, item.column, grown[item.column]),
                levels[position],
                rows,
                item.table.leaves,
            )
            for position, item in enumerate(stored)
        )

    def _frontier(self, frequency: FrequencySet, what_if: WhatIf | None) -> Mapping[str, Any] | None:
        if what_if is None:
            return None
        own = None if self._spec.privacy.quasi_identifiers else self._spec.privacy.k or 1
        around = (own,) if own is None else tuple(sorted({2, own, 2 * own, 5 * own, 10 * own}))
        try:
            found = grid_on(
                self._run,
                frequency,
                what_if.ks or around,
                what_if.limits or (self._spec.privacy.suppression.limit,),
                seconds=None if what_if.asked else WHAT_IF_SECONDS,
            )
        except UsageError as error:
            self._notes.append(f"There is no frontier: {error}.")
            return None
        return found.to_dict() if len(found.cells) > 1 else None

    def _script(self, grown: Mapping[str, Branch | None]) -> str | None:
        engine, binding = self._run.engine, self._bound
        if self._lock.flexible is not None:
            return None
        try:
            script = ScriptWriter(engine, binding, requirement_of(binding), self._lock.levels).script()
        except UsageError as error:
            self._notes.append(f"There is no script: {error}.")
            return None
        places = [place for place in (binding.source, binding.target) if isinstance(place, File)]
        harmless = {*harmless_labels(grown), *OWN_WORDS, *(place.path for place in places)}
        text = redacted(script.text, engine.dialect, harmless)
        return text if len(text) <= MOST_SQL else f"{text[:MOST_SQL]}\n-- the rest is left out here\n"

    def _is_published(self) -> bool:
        target = self._run.binding.target
        if isinstance(target, Table):
            return self._run.engine.relation_kind(target) is not None
        return Path(target.path).exists()
