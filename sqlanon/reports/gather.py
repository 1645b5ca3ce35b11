"""A report gathered from the lock file, the evidence, and the database that holds the source.

Risk, attacks and utility are measured of the source and of the release. Reads counts; writes scratch tables only, which
are dropped. In the script that a report shows, text literals that are not known to be harmless are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from sqlanon.engines.base import Engine
from sqlanon.errors import UsageError
from sqlanon.evaluation.problem import problem_of
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.insight.adversary import Attack, CountedValues, background, homogeneity, levels_of, skewness
from sqlanon.insight.adversary.values import shown
from sqlanon.insight.exposure import GENERALIZED, of_known_algorithm
from sqlanon.insight.reidentification import RiskRequest, TableRisk, measure_classes, measure_risk
from sqlanon.insight.use import count_queries
from sqlanon.insight.usefulness import associations, count_tables
from sqlanon.insight.workload import RandomQueries
from sqlanon.metrics.base import LevelFigures
from sqlanon.planning.decision import release_of
from sqlanon.planning.frontier import grid_on
from sqlanon.release.lock import Lock
from sqlanon.release.script import ScriptWriter
from sqlanon.release.series.ledger import RELEASES, read_events
from sqlanon.reports.lattice_view import Searched, searched
from sqlanon.reports.model import ColumnView, Grid, Report
from sqlanon.reports.offline import (
    accepted_notes,
    column_view,
    costed,
    evidence_lines,
    identity_of,
    rare_below,
    recoding_grid,
    released_grid,
    with_columns,
)
from sqlanon.reports.rehearsal import rehearsed, requirement_lines
from sqlanon.reports.values import Branch, harmless_labels, sensitive_shares, some_columns, trees
from sqlanon.reports.words import decision, percent
from sqlanon.source.binding import Binding
from sqlanon.source.frequency import FrequencySet, pack, scan, store_hierarchies
from sqlanon.source.hierarchies import StoredHierarchy, describe_hierarchies
from sqlanon.source.run import DEFAULT, Options, Run, running
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Limit, Spec
from sqlanon.sql.relations import File, Relation, Table

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
        (before.classes.alone, *(f"{side.uniques:,} of {side.rows:,}" for side in sides)),
        ("highest prosecutor risk", *(_share(side.prosecutor.highest) for side in sides)),
        ("average prosecutor risk", *(_share(side.prosecutor.average) for side in sides)),
        ("marketer risk", *(_share(side.marketer) for side in sides)),
    ]
    for here, there in zip(before.classes.prosecutor.at_risk, after.classes.prosecutor.at_risk, strict=True):
        rows.append((f"rows with a risk above {here.threshold:.0%}", f"{here.rows:,}", f"{there.rows:,}"))
    text = "A prosecutor looks for one person known to be in the table, a marketer for as many as possible."
    if before.classes.persons:
        text += " The size of a class is its persons; risks are means over rows."
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
    before, after = (CountedValues.of(engine, table, columns, sensitive) for table in (source, released))
    yield Attack(
        "homogeneity",
        sensitive,
        "rows in classes of one value",
        "certain",
        homogeneity(before),
        homogeneity(after),
    )
    yield Attack(
        "background",
        sensitive,
        f"rows whose value is certain for somebody who can rule out {EXCLUDED} value of their class",
        "certain",
        background(before, EXCLUDED),
        background(after, EXCLUDED),
    )
    yield Attack(
        "skewness",
        sensitive,
        "the most that a value's share in a class exceeds its share in the source",
        "gain",
        skewness(before, before),
        skewness(after, before),
    )


def _attack_grid(attacks: Sequence[Attack]) -> Iterator[Grid]:
    if attacks:
        rows = tuple(
            (f"{item.name} of {item.column}: {item.explained}", shown(item, item.before), shown(item, item.after))
            for item in attacks
        )
        text = "What somebody learns of a sensitive value once a person's class is found."
        yield Grid("Attacks", "On sensitive values", text, ("attack", "source", "release"), rows)


def _known_grid(attacks: Sequence[Attack]) -> Iterator[Grid]:
    if attacks:
        rows = tuple(
            (f"{item.name}{f' of {item.column}' if item.column else ''}: {item.explained}", shown(item, item.after))
            for item in attacks
        )
        text = "What somebody learns who knows the algorithm, or guesses from all that the release says together."
        yield Grid("Attacks", "By whoever knows the algorithm", text, ("attack", "release"), rows)


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


TIMELINE = ("release", "target", "published", "rows", "joined", "gone", "deferred", "covered", "staying", "smallest")
LATEST = 60
"""Releases of a series that are listed."""


def series_grid(run: Run) -> Iterator[Grid]:
    """The releases of a ledger: counts only."""
    history = run.binding.history
    if history is None or run.engine.relation_kind(history.releases) != "table":
        return
    events = [event for event in read_events(run.engine, history.releases) if event["event"] in RELEASES][-LATEST:]
    rows = tuple(
        tuple(f"{value:,}" if isinstance(value, int) else str(value) for value in (event[name] for name in TIMELINE))
        for event in events
    )
    text = (
        "Releases that share a ledger: groups of people who are alike in all of them satisfy the requirement. Rows are "
        "those of the source; newcomers wait, others leave with people who would be alone."
    )
    heading = (
        "release",
        "target",
        "time",
        "rows",
        "new",
        "gone",
        "wait",
        "leave with others",
        "have left and stay",
        "smallest track",
    )
    yield Grid("Series", "Timeline", text, heading, rows)


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)


HIDDEN = "…"

_TEXTS = frozenset(
    {
        TokenType.STRING,
        TokenType.NATIONAL_STRING,
        TokenType.RAW_STRING,
        TokenType.BYTE_STRING,
        TokenType.UNICODE_STRING,
        TokenType.HEREDOC_STRING,
        TokenType.HEX_STRING,
        TokenType.BIT_STRING,
    }
)


def redacted(sql: str, dialect: str, harmless: Collection[str]) -> str:
    """The script with its text literals replaced by an ellipsis, except those in `harmless` and words of our own.

    Literals of a script are labels of definitions and values that models name; few rows may stand behind them.

    >>> redacted("SELECT 'rare', '*', 'flu' -- a remark", "duckdb", ["flu"])
    "SELECT '…', '*', 'flu' -- a remark"
    """
    return _collapsed(_without_texts(sql, dialect, frozenset(harmless)))


def _without_texts(sql: str, dialect: str, harmless: frozenset[str]) -> str:
    parts: list[str] = []
    end = 0
    for token in Dialect.get_or_raise(dialect).tokenize(sql):
        if token.token_type not in _TEXTS or _is_harmless(token, harmless):
            continue
        parts += [sql[end : token.start], _hidden(sql[token.start : token.end + 1], token, dialect, harmless)]
        end = token.end + 1
    return "".join((*parts, sql[end:]))


def _hidden(written: str, token: Token, dialect: str, harmless: frozenset[str]) -> str:
    """What stands in place of a literal. The body of a dollar-quoted block is a script of its own."""
    if token.token_type is TokenType.HEREDOC_STRING:
        before, _, after = written.partition(token.text)
        return f"{before}{_without_texts(token.text, dialect, harmless)}{after}"
    return f"'{HIDDEN}'"


def _is_harmless(token: Token, harmless: frozenset[str]) -> bool:
    text = token.text
    return text in harmless or not any(letter.isalnum() for letter in text) or text.startswith("sqlanon: ")


def _collapsed(sql: str) -> str:
    """Equal lines in a row, as the rows of a definition become, are shown once and counted."""
    return "\n".join(_once(sql.split("\n")))


def _once(lines: list[str]) -> Iterator[str]:
    for line, same in groupby(lines, key=lambda text: text.rstrip(",;")):
        found = list(same)
        if HIDDEN not in line or len(found) < 3:
            yield from found
            continue
        indent = line[: len(line) - len(line.lstrip())]
        yield found[0]
        yield f"{indent}-- and {len(found) - 1:,} more like this"


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
    persons = () if binding.spec.respondent is None else (binding.spec.respondent, *binding.witnesses)
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
        self._notes: list[str] = [*accepted_notes(self._spec)]
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
            unmeasured: list[str] = []
            # With a population the hierarchies have values that the source lacks.
            own = None if binding.population is not None else stored
            levels_known = None if own is None else levels_of(engine, own, base.nulls)
            known = list(of_known_algorithm(run, rehearsal.table, unmeasured, levels_known))
            insights = (*insights, *_known_grid(known))
            self._notes += [f"Attacks: {note}." for note in unmeasured]
            queries = count_queries(run, rehearsal.table, QUERIES, self._notes, own)
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
        leaving = released_grid(self._spec, self._lock)
        grid = recoding_grid(self._lock)
        if binding.history is not None:
            self._notes.append(
                "The spec keeps a ledger: what a run holds back beside the suppressed rows is in the timeline, "
                "not in the other figures, nor in the SQL."
            )
        return Report(
            identity=identity,
            figures=figures,
            decision=with_columns(decision(identity, figures, columns, lines, after, satisfied, published), leaving),
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
            explanation=None if found is None else found.explanation,
            frontier=None if found is None else self._frontier(frequency, what_if),
            sql=self._script(grown),
            dialect=engine.dialect,
            evidence=evidence_lines(self._spec, self._lock),
            more=(leaving, *(() if grid is None else (grid,)), *insights, *query_grid(queries), *series_grid(run)),
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
        own = None if self._spec.each_own_k else self._spec.privacy.k or 1
        around = (own,) if own is None else tuple(sorted({2, own, 2 * own, 5 * own, 10 * own}))
        try:
            found = grid_on(
                self._run,
                frequency,
                what_if.ks or around,
                what_if.limits or (self._spec.privacy.most_suppressed,),
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
        harmless = {*harmless_labels(grown), *OWN_WORDS, *(path for place in places for path in place.patterns)}
        text = redacted(script.text, engine.dialect, harmless)
        return text if len(text) <= MOST_SQL else f"{text[:MOST_SQL]}\n-- the rest is left out here\n"

    def _is_published(self) -> bool:
        target = self._run.binding.target
        if isinstance(target, Table):
            return self._run.engine.relation_kind(target) is not None
        return Path(target.path).exists()
