"""The evaluator of searches over schemes that asks a database: candidates in, costs and bounds out.

Loads the mappings of a batch of candidates and asks one statement about all of them. Never touches the source.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import inf, prod

from sqlanon.engines.base import Row, Statement
from sqlanon.errors import StatementTimeout, UsageError
from sqlanon.privacy.base import Requirement
from sqlanon.privacy.k_anonymity import KAnonymity
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.schemes import statements as schemes_sql
from sqlanon.recoding.schemes.statements import BLOCK_COLUMNS, MAP_COLUMNS, Candidates, Judging, Price
from sqlanon.search.base import BudgetSpent
from sqlanon.search.schemes.domain import Block, Partition, identity
from sqlanon.search.schemes.problem import BlockCost, CostInterval, CostSide, Generalization, Measured
from sqlanon.source.combinations import Combinations
from sqlanon.source.scratch import Recipe, Scratch
from sqlanon.sql.relations import Table

BATCH = 400
"""Candidates for each statement."""
MOST_CELLS = 4_000_000
"""Combinations times candidates of one statement."""
MOST_COSTS = 90_000
"""Groups whose costs one statement may return; an engine returns at most 100,000 rows."""
LARGEST_CODE = 2**62
DIGITS = 9
"""Engines add in different orders: figures are rounded to what they agree on."""


@dataclass(frozen=True)
class Leaves:
    """The leaves of a column that a search partitions: the leaf of each ordinal, and the rows of each leaf."""

    leaf_of: tuple[int, ...]
    rows: tuple[int, ...]
    share: float
    """The column's part of the mean over columns."""

    def penalty(self, leaf: int, group: int, total: int) -> float:
        """Li and Li 2007, section 4.1: of one row with this leaf in a group of so many rows."""
        own = self.rows[leaf]
        return self.share * (group - own) / (total - own) if total > own else 0.0

    @property
    def varies(self) -> bool:
        return sum(count > 0 for count in self.rows) > 1


class SchemeCosts:
    """Implements `schemes.problem.CostEvaluator` for one requirement, limit and measure."""

    def __init__(
        self,
        scratch: Scratch,
        combinations: Combinations,
        columns: Sequence[Leaves],
        requirement: Requirement,
        *,
        limit: int,
        least: int,
        metric: str,
    ) -> None:
        """`least`: rows that a class which satisfies the requirement has at least."""
        self._engine = scratch.engine
        self._scratch = scratch
        self._combinations = combinations
        self._columns = tuple(columns)
        self._judging = _judging(requirement, combinations, limit)
        self._strides = _strides(self._columns)
        gone = sum(column.share for column in self._columns if column.varies)
        self._price = Price(
            metric == "dm", combinations.rows, repr(float(combinations.rows if metric == "dm" else gone)), least
        )
        self._blocks: tuple[Table, list[float], float] | None = None
        self._extras: list[float] | None = None
        self._joined = 0.0
        """Combinations that a group is joined to, on average."""
        self._made = 0
        self._recipes: dict[tuple[str, ...], Recipe] = {}
        self._asked: dict[object, Statement] = {}
        """Statements by what they ask: tables of candidates always have the same names."""
        self.rows = combinations.rows
        self.limit = limit
        self.checks = 0
        self.pause: Callable[[], None] = lambda: None
        self.left: Callable[[], float | None] = lambda: None

    @property
    def separable(self) -> bool:
        """Whether rows alone decide over a class."""
        return self._judging.plain

    def measure(self, intervals: Sequence[CostInterval], own: CostSide) -> list[Measured]:
        found: list[Measured] = []
        size = max(1, min(BATCH, MOST_CELLS // max(1, self._combinations.count)))
        for start in range(0, len(intervals), size):
            if start:
                self.pause()
            found += self._measure(intervals[start : start + size], own)
        return found

    def _measure(self, intervals: Sequence[CostInterval], own: CostSide) -> list[Measured]:
        distinct = list(dict.fromkeys(intervals))
        places = tuple(range(len(self._columns)))
        given = self._load(distinct, places, [0.0] * len(distinct))
        if own not in self._asked:
            query = schemes_sql.measured(given, self._price, self._judging, upper=own is CostSide.UPPER)
            self._asked[own] = Statement("cost candidates", query, texts={})
        # Verdicts of models are joined to the classes by groups of two keys.
        joined = nullcontext() if self._judging.plain else self._engine.by_hashes()
        with self._within_budget(given), joined:
            rows = self._engine.query(self._asked[own])
        answers = {
            int(row[0]): Measured(_figure(row[1]), int(row[2]), _figure(row[3]), int(row[4]), _figure(row[5]))
            for row in rows
        }
        self._scratch.drop(given.maps, given.candidates)
        self.checks += len(distinct)
        position = {interval: index for index, interval in enumerate(distinct)}
        return [answers[position[interval]] for interval in intervals]

    def assignment(self, chosen: Generalization, covered: Sequence[Sequence[int]]) -> Assignment:
        """The classes of a generalization as tables; `covered`: for each column and leaf, the leaves of its group."""
        places = tuple(range(len(self._columns)))
        rows = []
        for place, partition in enumerate(chosen):
            column, stride = self._columns[place], self._strides[place]
            totals = _totals(column, partition)
            for ordinal, leaf in enumerate(column.leaf_of):
                code = str(partition[leaf] * stride)
                figures = [repr(float(covered[place][leaf])), repr(float(totals[partition[leaf]]))]
                rows.append([str(place), "0", str(ordinal), code, code, *figures])
        maps = self._refilled("maps", MAP_COLUMNS, rows)
        names = ("candidate", *(f"m_{place}" for place in places), "slack")
        candidates = self._refilled("candidates", names, [["0", *("0" for _ in places), "0"]])
        given = Candidates(self._combinations.table, maps, candidates, places, self._types)
        numbered = self._scratch.create("assign classes", "numbered", schemes_sql.numbered(given))
        self._engine.analyze("assign classes", numbered)
        table = self._scratch.create(
            "assign classes", "assignment", schemes_sql.assignment(numbered, places, self._judging)
        )
        labels = self._scratch.create("assign classes", "labels", schemes_sql.class_figures(numbered, places))
        self._scratch.drop(maps, candidates, numbered)
        return Assignment(self._combinations, table, labels, whole=True)

    # -- groups of the pivot -------------------------------------------------------------------------------------

    def block_costs(
        self,
        intervals: Sequence[CostInterval],
        own: CostSide,
        pivot: int,
        blocks: Sequence[Block],
        slacks: Sequence[float],
    ) -> list[list[BlockCost]]:
        table, extras = self._stored(pivot, blocks, max(slacks))
        found: list[list[BlockCost]] = []
        for batch in self._batches(list(zip(intervals, slacks, strict=True)), extras):
            if found:
                self.pause()
            found += self._block_costs(batch, own, pivot, table)
        return found

    def _batches(
        self, asked: Sequence[tuple[CostInterval, float]], extras: Sequence[float]
    ) -> Iterator[list[tuple[CostInterval, float]]]:
        batch: list[tuple[CostInterval, float]] = []
        expected = 0
        most = min(MOST_COSTS, MOST_CELLS / max(1.0, self._joined))
        for interval, slack in asked:
            admitted = bisect_right(extras, slack)
            if batch and expected + admitted > most:
                yield batch
                batch, expected = [], 0
            batch.append((interval, slack))
            expected += admitted
        if batch:
            yield batch

    def _block_costs(
        self, batch: Sequence[tuple[CostInterval, float]], own: CostSide, pivot: int, table: Table
    ) -> list[list[BlockCost]]:
        rows = self._block_figures(batch, own, pivot, table)
        found: list[list[BlockCost]] = [[] for _ in batch]
        for candidate, block, cost, suppressed, bound, _, _ in rows:
            found[candidate].append(BlockCost(block, float(cost), int(suppressed), float(bound)))
        self.checks += len(rows)
        return [sorted(costs, key=lambda item: item.block) for costs in found]

    def _block_figures(
        self, batch: Sequence[tuple[CostInterval, float]], own: CostSide, pivot: int, table: Table
    ) -> list[Row]:
        places = tuple(place for place in range(len(self._columns)) if place != pivot)
        given = self._load([interval for interval, _ in batch], places, [slack for _, slack in batch])
        stored: Table | None = None
        if self._engine.traits.plans_by_statistics:
            with self._within_budget(given):
                stored = self._stored_cells(given, pivot)
        asked = (own, pivot, table)
        if asked not in self._asked:
            cells = schemes_sql.block_cells(given, pivot) if stored is None else stored
            query = schemes_sql.block_costs(cells, table, self._price, self._judging, upper=own is CostSide.UPPER)
            self._asked[asked] = Statement("cost groups", query, texts={})
        with self._within_budget(given, *([] if stored is None else [stored])):
            rows = self._engine.query(self._asked[asked])
        self._scratch.drop(given.maps, given.candidates, *([] if stored is None else [stored]))
        return rows

    def _stored_cells(self, given: Candidates, pivot: int) -> Table:
        """The cells of candidates as a table, analyzed: how many come of several joins no planner guesses."""
        key = ("cells", str(pivot))
        if key not in self._recipes:
            query = schemes_sql.block_cells(given, pivot)
            self._recipes[key] = self._scratch.recipe("load candidates", f"cells_{pivot}", query)
        table = self._scratch.make(self._recipes[key])
        self._engine.analyze("load candidates", table)
        return table

    def _stored(self, pivot: int, blocks: Sequence[Block], slack: float) -> tuple[Table, list[float]]:
        """The groups that any slack so far admits, as a table; and what each adds at least, in ascending order."""
        if self._blocks is None or self._blocks[2] < slack:
            if self._extras is None:
                self._extras = (self._size_extras if self._price.by_size else self._penalty_extras)(pivot, blocks)
            if self._blocks is not None:
                self._scratch.drop(self._blocks[0])
            table = self._store(pivot, blocks, self._extras, slack)
            self._blocks = table, sorted(extra for extra in self._extras if extra <= slack), slack
        return self._blocks[:2]

    def _store(self, pivot: int, blocks: Sequence[Block], extras: Sequence[float], slack: float) -> Table:
        leaves = self._columns[pivot]
        members: dict[int, list[int]] = {}
        for ordinal, leaf in enumerate(leaves.leaf_of):
            members.setdefault(leaf, []).append(ordinal)
        rows = [
            [str(index), str(ordinal), repr(leaves.penalty(leaf, total, self.rows)), repr(extras[index])]
            for index, block in enumerate(blocks)
            if extras[index] <= slack
            for total in [sum(leaves.rows[leaf] for leaf in block)]
            for leaf in block
            for ordinal in members[leaf]
        ]
        self._joined = self._combinations.count * len(rows) / (len(blocks) * len(leaves.leaf_of))
        loaded = self._loaded("groups", BLOCK_COLUMNS, rows)
        self._made += 1
        table = self._scratch.create("store groups", f"b{self._made}", schemes_sql.typed(loaded, BLOCK_COLUMNS))
        self._engine.analyze("store groups", table)
        self._scratch.drop(loaded)
        return table

    def _penalty_extras(self, pivot: int, blocks: Sequence[Block]) -> list[float]:
        leaves = self._columns[pivot]
        return [
            sum(leaves.rows[leaf] * leaves.penalty(leaf, total, self.rows) for leaf in block)
            for block in blocks
            for total in [sum(leaves.rows[leaf] for leaf in block)]
        ]

    def _size_extras(self, pivot: int, blocks: Sequence[Block]) -> list[float]:
        """Squares of classes grow by at least what they grow by with no other column generalized."""
        table = self._store(pivot, blocks, [0.0] * len(blocks), 0.0)
        bottom = tuple(identity(len(column.rows)) for column in self._columns)
        rows = self._block_figures([(CostInterval.point(bottom), inf)], CostSide.LOWER, pivot, table)
        self._scratch.drop(table)
        static = {int(str(row[1])): float(str(row[6])) for row in rows}
        alone = {block[0]: static.get(index, 0.0) for index, block in enumerate(blocks) if len(block) == 1}
        return [
            _figure(static.get(index, 0.0) - sum(alone[leaf] for leaf in block)) for index, block in enumerate(blocks)
        ]

    @contextmanager
    def _within_budget(self, given: Candidates, *more: Table) -> Iterator[None]:
        """Statements of the block end when the budget does, by BudgetSpent; what they read is dropped then."""
        left, limit = self.left(), self._engine.session.statement_seconds
        try:
            with self._engine.within(left):
                yield
        except StatementTimeout:
            if left is None or (limit is not None and limit <= left):
                raise
            self._scratch.drop(given.maps, given.candidates, *more)
            raise BudgetSpent from None

    # -- loading -------------------------------------------------------------------------------------------------

    def _load(self, intervals: Sequence[CostInterval], places: Sequence[int], slacks: Sequence[float]) -> Candidates:
        pairs: dict[tuple[int, Partition, Partition], int] = {}
        listed = []
        for index, (interval, slack) in enumerate(zip(intervals, slacks, strict=True)):
            named = [
                pairs.setdefault((place, interval.lower[place], interval.upper[place]), len(pairs)) for place in places
            ]
            listed.append([str(index), *map(str, named), repr(min(slack, 1e300))])
        rows = [row for (place, lower, upper), pair in pairs.items() for row in self._map(place, pair, lower, upper)]
        maps = self._refilled("maps", MAP_COLUMNS, rows)
        names = ("candidate", *(f"m_{place}" for place in places), "slack")
        candidates = self._refilled("candidates", names, listed)
        return Candidates(self._combinations.table, maps, candidates, tuple(places), self._types)

    def _refilled(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
        """A table that is made for one statement and dropped after it, under the same name every time."""
        key = (name, *columns)
        if key not in self._recipes:
            self._recipes[key] = self._scratch.text_recipe("load candidates", name, list(columns))
        table = self._scratch.make(self._recipes[key])
        self._engine.load("load candidates", table, columns, rows)
        return self._typed(table, name, columns) if self._types else table

    @property
    def _types(self) -> bool:
        """Whether what is loaded is written as numbers before it is joined."""
        traits = self._engine.traits
        return traits.plans_by_statistics or traits.looks_up_columns

    def _typed(self, loaded: Table, name: str, columns: Sequence[str]) -> Table:
        """The same rows as numbers, analyzed: of texts that are cast in a join no planner knows anything."""
        key = (f"{name} typed", *columns)
        if key not in self._recipes:
            query = schemes_sql.typed(loaded, columns)
            self._recipes[key] = self._scratch.recipe("load candidates", f"{name}_typed", query)
        table = self._scratch.make(self._recipes[key])
        self._scratch.drop(loaded)
        self._engine.analyze("load candidates", table)
        return table

    def _map(self, place: int, pair: int, lower: Partition, upper: Partition) -> Iterator[list[str]]:
        leaves, stride = self._columns[place], self._strides[place]
        below, above = self._penalties(leaves, lower), self._penalties(leaves, upper)
        for ordinal, leaf in enumerate(leaves.leaf_of):
            codes = [lower[leaf] * stride, upper[leaf] * stride]
            yield [str(place), str(pair), str(ordinal), *map(str, codes), repr(below[leaf]), repr(above[leaf])]

    def _penalties(self, leaves: Leaves, partition: Partition) -> list[float]:
        totals = _totals(leaves, partition)
        return [leaves.penalty(leaf, totals[code], self.rows) for leaf, code in enumerate(partition)]

    def _loaded(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
        self._made += 1
        table = self._scratch.create_text("load candidates", f"{name}{self._made}", list(columns))
        self._engine.load("load candidates", table, columns, rows)
        return table


def _judging(requirement: Requirement, combinations: Combinations, limit: int) -> Judging:
    whole = requirement.whole
    if whole is None:
        raise UsageError("schemes take one quasi-identifier and no known sensitive columns")
    plain = not combinations.persons and all(isinstance(model, KAnonymity) for model in whole.models)
    # Where merging classes can make one fail, only the monotone part tells what is lost for good.
    certain = whole if requirement.monotone(limit) else whole.relaxed()
    return Judging(
        whole.measures(),
        whole.satisfied(),
        certain.measures(),
        certain.satisfied(),
        combinations.value_tables,
        combinations.persons,
        plain,
    )


def _totals(leaves: Leaves, partition: Partition) -> dict[int, int]:
    """The rows of each group."""
    found: dict[int, int] = {}
    for leaf, code in enumerate(partition):
        found[code] = found.get(code, 0) + leaves.rows[leaf]
    return found


def _strides(columns: Sequence[Leaves]) -> tuple[int, ...]:
    """What the groups of each column are multiplied with, so that sums name classes."""
    sizes = [len(column.rows) for column in columns]
    if prod(sizes) >= LARGEST_CODE:
        raise UsageError("search.algorithm: these columns have too many values together for schemes; raise levels.min")
    return tuple(prod(sizes[:place]) for place in range(len(sizes)))


def _figure(value: object) -> float:
    return round(float(str(value)), DIGITS)
