"""A first good answer on a large lattice, before any bound is sharpened, and what no answer costs less than.

The answer is looked for along guessed paths, then from node to node.

A path leads from the bottom to the top by the steps that are guessed to spare most suppressed rows for what they cost;
where acceptable nodes begin on it is found by a few questions, which teach the next path. From the best node found, one
column is made finer, alone or with another made coarser, as long as that scores better; then the same from other
starts. Nothing is proven by it; every verdict serves the bounds afterwards. Asks through the functions it is given.

What none costs less than comes from blocks of columns (`Blocks`): an acceptable node stays acceptable when all columns
outside a block rise to their tops, so its levels in the block cost at least what the best such node's do. Blocks do not
overlap, and what columns cost adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp, inf
from random import Random

from sqlanon.errors import InfeasibleError
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import Context, Costs, LevelFigures, Metric, Verdict
from sqlanon.search.base import Budget, Evaluator, Objective, SearchResult
from sqlanon.search.bounds import OpenNodes
from sqlanon.search.questions import Forecast
from sqlanon.search.session import SearchSession

PATHS = 12
"""Paths at the most, each by what those before it taught."""
PLACES = 4
"""Nodes of a path that are asked together."""
RESTARTS = 6
"""Other starts."""
SPREAD = 0.5
"""How far the guesses behind their paths are drawn apart, as a standard deviation of logarithms."""
MOVES = 16
"""Neighbours that are asked together."""
HOPE = 2.0
"""How many times the forecast's error above the limit a neighbour may be guessed to lie, and still be asked."""


class Descent:
    """Looks for a good answer, within the budget of the session."""

    def __init__(
        self,
        session: SearchSession,
        open_nodes: OpenNodes,
        forecast: Forecast,
        ask: Callable[[list[Node]], None],
        best: Callable[[], Node | None],
    ) -> None:
        self._session = session
        self._open = open_nodes
        self._forecast = forecast
        self._ask = ask
        self._best = best

    def search(self) -> None:
        """Paths until one teaches nothing new, then moves until none helps."""
        for _ in range(PATHS):
            if not self._walk(self._path()):
                break
        while self._moved():
            pass

    def restart(self) -> None:
        """From other starts, where paths lead by guesses that are drawn anew: moves as long as they seem to help."""
        for number in range(RESTARTS):
            drawn = Random(number)
            factors = [exp(drawn.gauss(0, SPREAD)) for _ in self._session.evaluator.heights]
            path = self._path(factors)
            self._walk(path)
            start = next((node for node in path if self._seems(node) is not None), None)
            while start is not None:
                start = self._better(start)
            while self._moved():
                pass

    def _seems(self, node: Node) -> float | None:
        """What an acceptable node that was asked for costs, as far as its suppression tells."""
        verdict = self._session.verdicts.get(node)
        if verdict is None or not self._session.accepts(verdict):
            return None
        return self._open.estimate(node, verdict.suppressed)

    def _better(self, start: Node) -> Node | None:
        """A neighbour that seems to cost less; None where there is none."""
        cost = self._seems(start)
        nodes = [node for node in set(self._neighbours(start)) if self._open.may_win(node)]
        guesses = sorted((self._forecast.guess(node), node) for node in nodes if node not in self._session.verdicts)
        likely = [node for guess, node in guesses if guess <= HOPE * self._forecast.error]
        waiting = iter(likely)
        while True:
            found = [(seems, node) for node in nodes if (seems := self._seems(node)) is not None]
            least = min(found, default=None)
            if least is not None and cost is not None and least[0] < cost:
                return least[1]
            if not (batch := list(islice(waiting, MOVES))):
                return None
            self._ask(batch)

    # -- paths -------------------------------------------------------------------------------------------------

    def _path(self, factors: Sequence[float] = ()) -> list[Node]:
        """From the bottom to the top: the steps that lower the guess most for what they cost come first.

        `factors` are what a column's part of the guess is multiplied by.
        """
        lattice, steps = self._session.evaluator.lattice, self._forecast.steps()
        if factors:
            steps = [[factor * step for step in column] for factor, column in zip(factors, steps, strict=True)]
        pieces = [
            piece
            for column, (low, high) in enumerate(zip(lattice.bottom, lattice.top, strict=True))
            for piece in _pieces(
                column, [(self._cost(column, level), steps[column][level]) for level in range(low, high + 1)], low
            )
        ]
        node, path = lattice.bottom, [lattice.bottom]
        for _, column, level in sorted(pieces, key=lambda piece: piece[0]):
            node = (*node[:column], level, *node[column + 1 :])
            path.append(node)
        return path if node == lattice.top else [*path, lattice.top]

    def _cost(self, column: int, level: int) -> float:
        return self._open.costs[column][level]

    def _walk(self, path: Sequence[Node]) -> bool:
        """Find where acceptable nodes begin on a path; whether anything was asked."""
        low, high, asked = -1, len(path) - 1, False
        while high - low > 1:
            places = sorted({low + (high - low) * part // (PLACES + 1) for part in range(1, PLACES + 1)} - {low, high})
            nodes = [path[place] for place in places]
            unknown = [node for node in nodes if self._accepted(node) is None]
            if unknown:
                asked = True
                self._ask(unknown)
            good = [place for place, node in zip(places, nodes, strict=True) if self._accepted(node)]
            high = min(good, default=high)
            low = max((place for place in places if place < high), default=low)
            if not places:
                break
        return asked

    def _accepted(self, node: Node) -> bool | None:
        if node in self._session.verdicts:
            return self._session.accepts(self._session.verdicts[node])
        return self._open.decided(node)

    # -- moves -------------------------------------------------------------------------------------------------

    def _moved(self) -> bool:
        """Ask for neighbours of the best node, the likeliest first, until one is better; whether there was one."""
        start = self._best()
        if start is None:
            return False
        best = self._open.best
        worth = sorted(
            (guess, node) for node in set(self._neighbours(start)) if (guess := self._promise(node)) is not None
        )
        nodes = (node for _, node in worth)
        while batch := list(islice(nodes, MOVES)):
            self._ask(batch)
            if self._open.best < best:
                return True
        return False

    def _promise(self, node: Node) -> float | None:
        """How near the limit a node is guessed, below it first; None where it cannot win or is not worth a question."""
        if node in self._session.verdicts or not self._open.may_win(node):
            return None
        guess = self._forecast.guess(node)
        return guess if guess <= HOPE * self._forecast.error else None

    def _neighbours(self, node: Node) -> Iterator[Node]:
        """One column one level finer or at any finer level, and another one or two levels coarser."""
        lattice = self._session.evaluator.lattice
        columns = range(len(node))
        for column in columns:
            for level in range(lattice.bottom[column], node[column]):
                finer = (*node[:column], level, *node[column + 1 :])
                yield finer
                for other in columns:
                    if other != column:
                        for coarser in range(node[other] + 1, min(node[other] + 2, lattice.top[other]) + 1):
                            yield (*finer[:other], coarser, *finer[other + 1 :])


def _pieces(column: int, points: Sequence[tuple[float, float]], bottom: int) -> Iterator[tuple[float, int, int]]:
    """The steps of one column on the lower hull of (cost, guess): slope, column, and the level that is reached."""
    here = 0
    while here < len(points) - 1:
        slopes = []
        for there in range(here + 1, len(points)):
            cost, guess = points[there][0] - points[here][0], points[there][1] - points[here][1]
            slopes.append((guess / cost if cost > 0 else float("-inf") if guess <= 0 else float("inf"), -there))
        slope, there = min(slopes)
        here = -there
        yield slope, column, bottom + here


MOST_IN_BLOCK = 1 << 17
"""Nodes of the lattice of a block of columns."""
PART = 2
"""Blocks take one part in so many of what a budget has left, together."""
SLACK = 1e-10
"""What rounding may have added to a total of costs."""


class PartialCosts(Metric):
    """What some columns add to the bound of another metric."""

    name = "partial costs"
    static = True

    def __init__(self, costs: Costs) -> None:
        self._costs = costs

    def score(self, verdict: Verdict, context: Context) -> float:
        return self.bound(verdict.node, context)

    def level_costs(self, context: Context, suppressed: int) -> Costs:
        return self._costs


@dataclass(frozen=True)
class Narrowed:
    """An evaluator of part of the lattice. Implements `search.base.Evaluator`; verdicts are those of the whole one."""

    whole: Evaluator
    lattice: Lattice

    @property
    def heights(self) -> Node:
        return self.whole.heights

    @property
    def leaves(self) -> Sequence[int]:
        return self.whole.leaves

    @property
    def rows(self) -> int:
        return self.whole.rows

    @property
    def limit(self) -> int:
        return self.whole.limit

    @property
    def monotone(self) -> bool:
        return self.whole.monotone

    @property
    def relaxed(self) -> bool:
        return self.whole.relaxed

    @property
    def lowest_height(self) -> int:
        return self.whole.lowest_height

    @property
    def least_class(self) -> int:
        return self.whole.least_class

    @property
    def checks(self) -> int:
        return self.whole.checks

    def known(self) -> Sequence[Verdict]:
        return self.whole.known()

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        return self.whole.check(nodes)

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        return self.whole.measure(nodes)

    def level_figures(self) -> Sequence[Sequence[LevelFigures]]:
        return self.whole.level_figures()


class Blocks:
    """The least that the columns of each block cost at any acceptable node. Only where the requirement is monotone."""

    def __init__(
        self, session: SearchSession, costs: Costs, search: Callable[[Evaluator, Objective, Budget], SearchResult]
    ) -> None:
        self._session = session
        self._costs = costs
        self._search = search

    def least(self) -> float:
        """No acceptable node scores less; minus infinity where one block holds all columns that can rise."""
        objective, blocks = self._session.objective, self.columns()
        if len(blocks) < 2:
            return -inf
        lattice = self._session.evaluator.lattice
        fixed = [column for column, high in enumerate(lattice.top) if high == lattice.bottom[column]]
        total = sum(self._costs[column][lattice.top[column]] for column in fixed)
        total += sum(self._least_of(block, len(blocks) - done) for done, block in enumerate(blocks))
        return objective.metric.bound_of(total - SLACK * max(1.0, abs(total)), objective.context)

    def _least_of(self, block: Sequence[int], blocks_left: int) -> float:
        evaluator, context = self._session.evaluator, self._session.objective.context
        bottom, top = evaluator.lattice.bottom, evaluator.lattice.top
        low = tuple(level if column in block else top[column] for column, level in enumerate(bottom))
        costs = tuple(levels if column in block else (0.0,) * len(levels) for column, levels in enumerate(self._costs))
        known = sum(costs[column][bottom[column]] for column in block)
        try:
            part = Objective(PartialCosts(costs), context)
            budget = self._session.meter.part(PART * blocks_left)
            found = self._search(Narrowed(evaluator, Lattice(low, top)), part, budget)
        except InfeasibleError:
            return known
        return known if found.bound is None else max(known, found.bound)

    def columns(self) -> list[list[int]]:
        """The columns of each block: those that tell most together, as many as its lattice has room for."""
        lattice, levels = self._session.evaluator.lattice, self._session.objective.context.levels
        blocks: list[list[int]] = []
        size = MOST_IN_BLOCK
        for column in sorted(
            range(len(lattice.top)), key=lambda place: levels[place][0].entropy - levels[place][-1].entropy
        ):
            radix = lattice.top[column] - lattice.bottom[column] + 1
            if radix == 1:
                continue
            if not blocks or size * radix > MOST_IN_BLOCK:
                blocks.append([])
                size = 1
            blocks[-1].append(column)
            size *= radix
        return blocks
