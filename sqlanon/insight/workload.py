"""How well a release answers count queries (Xiao and Tao 2006, section 5.2): estimates under the uniform assumption.

Any release, any list of count queries, or random ones as in the paper. Answers come from the database; Python sees
labels, conditions and one number for each query.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from statistics import median
from typing import Any

from sqlglot import exp

from sqlanon.auditor.covering import Released, interval_of, members_of, read_release, spans_of
from sqlanon.engines.base import Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.insight import workload_statements as workload_sql
from sqlanon.source.binding import BoundSensitive
from sqlanon.source.combinations import Combinations
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.sql.build import query
from sqlanon.sql.relations import Relation, Table, column

LEAST_SELECTIVITY = 0.01
Interval = tuple[int | None, int | None, int | None, int | None]
"""A condition on a quasi-identifier: its first and last ordinal, and its first and last place in the column's domain;
either may be unknown."""


@dataclass(frozen=True)
class CountQuery:
    """How many rows satisfy all conditions."""

    intervals: Mapping[int, Interval]
    """Intervals by the position of their quasi-identifier."""
    leaves: frozenset[str] | None = None
    """Leaves of the sensitive column that are asked for; None: any."""
    kind: str = "given"

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(sorted(self.intervals.items())), self.leaves


@dataclass(frozen=True)
class Answer:
    """A query with what it says of the microdata and of the release."""

    kind: str
    actual: float
    estimate: float

    @property
    def error(self) -> float:
        """The relative error."""
        return abs(self.actual - self.estimate) / self.actual


@dataclass(frozen=True)
class WorkloadResult:
    """The relative errors of a workload."""

    table: str
    rows: int
    answers: tuple[Answer, ...]
    empty: int
    """Queries that no row of the microdata satisfies, or too few: they have no error."""

    @property
    def error(self) -> float:
        return _mean([answer.error for answer in self.answers])

    def figures(self) -> dict[str, dict[str, float]]:
        """By type of query, and of all."""
        kinds = {"all": list(self.answers)}
        for answer in self.answers:
            kinds.setdefault(answer.kind, []).append(answer)
        found = {}
        for kind, answers in kinds.items():
            errors = [answer.error for answer in answers]
            average = _mean(errors)
            spread = sqrt(_mean([(error - average) ** 2 for error in errors]))
            found[kind] = {
                "queries": len(errors),
                "average": average,
                "deviation": spread,
                "median": median(errors) if errors else 0.0,
                "largest": max(errors, default=0.0),
            }
        return found

    def to_dict(self) -> dict[str, Any]:
        return {"table": self.table, "rows": self.rows, "empty": self.empty, "errors": self.figures()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


@dataclass(frozen=True)
class RandomQueries:
    """The workload of section 5.2: a share of queries on the sensitive column alone (type 1), the others with a
    quasi-identifier too (type 2)."""

    count: int = 10_000
    type_1: float = 0.1
    seed: int = 1


Given = Sequence[Mapping[str, Any]]
"""Count queries of the user: conditions by column, in the words of labels: a value, a node, or an interval."""


def measure_workload(
    run: Run,
    release: Relation,
    asked: Given | RandomQueries,
    sensitive: str | None,
    stored: Sequence[StoredHierarchy] | None = None,
) -> WorkloadResult:
    """Answer a workload from a release and from the microdata, and compare.

    `stored`: the hierarchies of the source, where they stand.
    """
    bound = _sensitive(run, sensitive)
    run = replace(run, binding=replace(run.binding, sensitive=(bound,), personalized=None, population=None))
    released = read_release(run, release, bound.name, laid_out=True, stored=stored)
    return _Workload(run, released, bound).measured(str(release), asked)


def _sensitive(run: Run, name: str | None) -> BoundSensitive:
    spec, known = run.binding.spec, {item.name: item for item in run.binding.sensitive}
    personalized = run.binding.personalized
    if name is None:
        if not spec.sensitive:
            raise UsageError("workload: the spec has no column of role sensitive")
        name = personalized.asked.column if personalized is not None else spec.sensitive[0]
    if name not in spec.sensitive:
        raise UsageError(f"workload: '{name}' is not a column of role sensitive")
    if name in known:
        return replace(known[name], flagged=(), order=(), only_number=False)
    info = next(info for info in run.binding.columns if info.name == name)
    return BoundSensitive(name, info.family)


@dataclass
class _Workload:
    """A workload under way."""

    run: Run
    released: Released
    sensitive: BoundSensitive
    tables: list[Table] = field(default_factory=list)

    @property
    def made(self) -> Combinations:
        return self.released.made

    def measured(self, table: str, asked: Given | RandomQueries) -> WorkloadResult:
        self.leaves = self._leaves()
        self.paths = self._paths()
        least = 0.0
        if isinstance(asked, RandomQueries):
            queries = list(self._random(asked))
            least = LEAST_SELECTIVITY * self.made.rows
        else:
            queries = self._given(asked)
        distinct: dict[tuple[Any, ...], int] = {}
        for item in queries:
            distinct.setdefault(item.key, len(distinct))
        answers = self._answers({number: key for key, number in distinct.items()})
        found = [Answer(item.kind, *answers[distinct[item.key]]) for item in queries]
        kept = [answer for answer in found if answer.actual >= least and answer.actual > 0]
        if isinstance(asked, RandomQueries):
            kept = _of_each_kind(kept, asked)
        return WorkloadResult(table, self.made.rows, tuple(kept), len(found) - len(kept))

    # -- the words of conditions -----------------------------------------------------------------------------------

    def _leaves(self) -> Table:
        hierarchy = self.made.sensitive[0].hierarchy
        if hierarchy is not None:
            found = workload_sql.node_leaves(hierarchy.table.table, hierarchy.height)
        else:
            found = query(
                "select :text as node, :text as leaf, 1 as size from a", {"a": self.made.codes[0]}, text=self._text()
            )
        return self.run.scratch.create("taxonomy", "node_leaves", found)

    def _text(self) -> exp.Expression:
        traits = self.run.engine.traits
        return traits.key(traits.text(column("value", "a"), self.sensitive.family), Family.TEXT)

    def _paths(self) -> dict[str, set[str]]:
        """Every label of the sensitive column with its leaves."""
        found: dict[str, set[str]] = {}
        statement = Statement("taxonomy", query("select node, leaf from v where node is not null", {"v": self.leaves}))
        for node, leaf in self.run.engine.query(statement):
            found.setdefault(str(node), set()).add(str(leaf))
        return found

    def _ordered(self) -> list[str]:
        """The leaves in their order: numbers by size, texts as texts."""
        leaves = sorted({leaf for below in self.paths.values() for leaf in below})
        numbers = [interval_of(leaf)[5] == "1" for leaf in leaves]
        return sorted(leaves, key=float) if leaves and all(numbers) else leaves

    def _given(self, asked: Given) -> list[CountQuery]:
        names = self.run.binding.names
        texts: list[set[str]] = [set() for _ in names]
        for item in asked:
            for name, words in item.items():
                if name in names:
                    texts[names.index(name)].add(_words(words))
                elif name != self.sensitive.name:
                    raise UsageError(f"workload: '{name}' is neither a quasi-identifier nor the sensitive column")
        spans = [self._spans(position, sorted(words)) for position, words in enumerate(texts)]
        queries = []
        for item in asked:
            intervals = {
                names.index(name): spans[names.index(name)][_words(words)]
                for name, words in item.items()
                if name in names
            }
            leaves = self._chosen(item[self.sensitive.name]) if self.sensitive.name in item else None
            queries.append(CountQuery(intervals, leaves))
        return queries

    def _spans(self, position: int, texts: list[str]) -> dict[str, Interval]:
        """What the words of conditions on a quasi-identifier mean."""
        item, domain = self.run.binding.quasi_identifiers[position], self.made.domains[position]
        step = f"conditions on {item.name}"
        spans = spans_of(self.run.scratch, f"asked{position}", texts, domain, item, null=None)
        found = self.run.engine.query(Statement(step, query("select label, lo, hi, first, last from s", {"s": spans})))
        unread = sum(row[1] is None for row in found)
        if unread:
            raise SourceError(
                f"workload: {unread} conditions on column '{item.name}' name no value, node or interval of it"
            )
        return {str(label): _interval(ends) for label, *ends in found}

    def _chosen(self, words: Any) -> frozenset[str]:
        text = _words(words)
        if text in self.paths:
            return frozenset(self.paths[text])
        members = members_of(text)
        if members and all(member in self.paths for member in members):
            return frozenset().union(*(self.paths[member] for member in members))
        _, low, high, low_open, high_open, number = interval_of(text)
        numeric = number == "1"
        ends = _place(low, numeric), _place(high, numeric)
        chosen = []
        for leaf in self._ordered():
            place = _place(leaf, numeric)
            inside = ends[0] < place < ends[1]
            if inside or (place == ends[0] and low_open == "0") or (place == ends[1] and high_open == "0"):
                chosen.append(leaf)
        if not chosen:
            raise SourceError(
                f"workload: a condition on column '{self.sensitive.name}' names no value, node or interval of it"
            )
        return frozenset(chosen)

    def _random(self, asked: RandomQueries) -> Iterable[CountQuery]:
        """Twice as many as are wanted: some are satisfied by too few rows."""
        chance = random.Random(asked.seed)
        leaves = self._ordered()
        nodes = [self._nodes(position) for position in range(len(self.made.domains))]
        for _ in range(2 * asked.count):
            first = chance.random() < asked.type_1
            width = max(1, round(len(leaves) * (0.1 if first else 0.2)))
            start = chance.randint(0, len(leaves) - width)
            chosen = frozenset(leaves[start : start + width])
            if first:
                yield CountQuery({}, chosen, "type 1")
                continue
            position = chance.randrange(len(nodes))
            yield CountQuery({position: self._any(chance, position, nodes[position])}, chosen, "type 2")

    def _any(self, chance: random.Random, position: int, nodes: list[Interval]) -> Interval:
        domain = self.made.domains[position]
        if not domain.natural:
            return chance.choice(nodes)
        size = domain.leaves - domain.has_null if domain.hierarchy.table.placed else domain.values
        width = max(1, round(size / 5))
        start = chance.randint(0, size - width)
        ends = start, start + width - 1
        return (None, None, *ends) if domain.hierarchy.table.placed else (*ends, None, None)

    def _nodes(self, position: int) -> list[Interval]:
        """The values of a categorical column; of a high hierarchy, the nodes above them."""
        domain = self.made.domains[position]
        if domain.natural:
            return []
        level = 1 if domain.height > 2 else 0
        start, leaves = column(f"start_{level}"), column(f"leaves_{level}")
        found = query(
            "select min(o), max(o), min(:start), min(:start) + max(:leaves) - 1 from d group by :code order by 1",
            {"d": domain.table},
            code=column(f"code_{level}"),
            start=start,
            leaves=leaves,
        )
        return [_interval(row) for row in self.run.engine.query(Statement("nodes", found))]

    # -- answers ---------------------------------------------------------------------------------------------------

    def _answers(self, queries: Mapping[int, tuple[Any, ...]]) -> dict[int, tuple[float, float]]:
        """The actual and the estimated answer of each distinct query."""
        scratch, engine = self.run.scratch, self.run.engine
        width = len(self.made.domains)
        intervals: list[dict[Interval, int]] = [{} for _ in range(width)]
        sets: dict[frozenset[str], int] = {}
        lines, shapes = [], set()
        for number, (bounds, leaves) in queries.items():
            line: list[str | None] = [str(number), *([None] * (width + 1))]
            for position, interval in bounds:
                line[1 + position] = str(intervals[position].setdefault(interval, len(intervals[position])))
            if leaves is not None:
                line[1 + width] = str(sets.setdefault(leaves, len(sets)))
            lines.append(line)
            shapes.add(tuple(item is not None for item in line[1:]))
        names = [*(f"c_{position}" for position in range(width)), "c_s"]
        loaded = self._load("queries", ["query", *names], lines)
        asked = scratch.create("workload", "queries", workload_sql.queries(loaded, names))
        shares = self._shares(intervals, sets)
        actual_rows = scratch.create(
            "workload",
            "microdata",
            workload_sql.leaf_rows(self.made.table, self.made.codes[0], "s_0", self._text(), self.made.ordinals),
        )
        found: dict[int, tuple[float, float]] = {}
        for place, shape in enumerate(sorted(shapes)):
            parts = []
            for which, rows, measure in ((0, actual_rows, "actual"), (1, self.released.rows, "estimate")):
                chosen = {
                    names[index]: ("label" if index == width else f"s_{index}", shares[which][index])
                    for index, present in enumerate(shape)
                    if present
                }
                absent = [names[index] for index, present in enumerate(shape) if not present]
                parts.append(workload_sql.answers(rows, asked, chosen, absent, measure))
            tables = [scratch.create("workload", f"answer{place}_{side}", part) for side, part in enumerate(parts)]
            both = workload_sql.compared(asked, *(query("select x.* from x", {"x": table}) for table in tables))
            for number, actual, estimate in engine.query(Statement("workload", both)):
                if actual or estimate:
                    found[int(number)] = (float(actual), float(estimate))
        return {number: found.get(number, (0.0, 0.0)) for number in queries}

    def _shares(
        self, intervals: list[dict[Interval, int]], sets: dict[frozenset[str], int]
    ) -> tuple[list[Table], list[Table]]:
        """The shares of microdata and of the release that satisfy each condition, by column, the sensitive one last."""
        scratch = self.run.scratch
        exact, spread = [], []
        for position, bounds in enumerate(intervals):
            lines = [
                [str(number), *(None if end is None else str(end) for end in interval)]
                for interval, number in bounds.items()
            ]
            loaded = self._load(f"bounds{position}", ["cond", *workload_sql.ENDS], lines)
            conditions = scratch.create("workload", f"cond{position}", workload_sql.interval_conditions(loaded))
            domain, spans = self.made.domains[position].table, self.released.columns[position].spans
            exact.append(scratch.create("workload", f"own{position}", workload_sql.ordinal_shares(conditions, domain)))
            spread.append(scratch.create("workload", f"met{position}", workload_sql.span_shares(conditions, spans)))
        lines = [[str(number), leaf] for leaves, number in sets.items() for leaf in sorted(leaves)]
        loaded = self._load("sets", ["cond", "label"], lines)
        conditions = scratch.create("workload", "conds", workload_sql.leaf_conditions(loaded))
        shares = scratch.create("workload", "labelled", workload_sql.label_shares(conditions, self.leaves))
        return [*exact, shares], [*spread, shares]

    def _load(self, name: str, columns: list[str], lines: Sequence[Sequence[str | None]]) -> Table:
        table = self.run.scratch.create_text("workload", f"given_{name}", columns)
        self.run.engine.load("workload", table, columns, lines)
        return table


def _interval(ends: Sequence[Any]) -> Interval:
    low, high, first, last = (None if end is None else int(end) for end in ends)
    return low, high, first, last


def _of_each_kind(answers: Sequence[Answer], asked: RandomQueries) -> list[Answer]:
    """As many of each type as were asked for, in their order."""
    wanted = {"type 1": round(asked.count * asked.type_1)}
    wanted["type 2"] = asked.count - wanted["type 1"]
    kept = []
    for answer in answers:
        if wanted[answer.kind] > 0:
            wanted[answer.kind] -= 1
            kept.append(answer)
    return kept


def _place(text: str, numeric: bool) -> tuple[float, str]:
    """Where a value stands in its order; texts that are no numbers lie beyond all numbers."""
    if not numeric:
        return 0.0, text
    return (float(text), "") if interval_of(text)[5] == "1" else (float("inf"), text)


def _words(value: Any) -> str:
    """A condition in the words of labels; a list of two is an interval.

    >>> _words([20, 35]), _words("male")
    ('[20, 35]', 'male')
    """
    if isinstance(value, list | tuple) and len(value) == 2:
        return f"[{value[0]}, {value[1]}]"
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise UsageError("workload: a condition is a value, a node of the hierarchy, or a list of two bounds")
