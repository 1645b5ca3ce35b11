"""The cheapest generalization of a space, exact: branch and bound over the enumeration trees of all columns.

Bottom-up as Li and Li 2007 (sections 3.2, 4.3, 4.4), top-down as k-Optimize; both ask for intervals only. Stops when
the budget is spent, with what it has proven by then. Pure.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from sqlanon.errors import InfeasibleError
from sqlanon.search.base import Budget, BudgetSpent, Progress
from sqlanon.search.schemes.domain import Partition, identity, whole
from sqlanon.search.schemes.pivot import Completion
from sqlanon.search.schemes.problem import (
    Clock,
    CostEvaluator,
    CostInterval,
    CostSide,
    Direction,
    Generalization,
    Measured,
    Solution,
    Space,
    Techniques,
    measured,
    replaced,
    sow,
)

EXPANDED_AT_ONCE = 64
GROUPS_AT_ONCE = 20_000
"""With a pivot each node is a question about many groups: nodes are expanded for about so many at once."""
FEWEST_AT_ONCE = 12
CHILDREN_AT_ONCE = 50_000
TOLERANCE = 1e-9


@dataclass(frozen=True)
class OpenNode:
    """A generalization and the columns that may still change below it in the tree: its applicators."""

    generalization: Generalization
    applicators: tuple[int, ...]
    bound: float
    static: float = 0.0
    prices: tuple[float, ...] | None = None
    """Of the pivot's leaves, from the node above."""


Family = tuple[OpenNode, tuple[int, ...], list[list[OpenNode]]]
"""A node, the order of its applicators, and the children by each of them."""


def search(
    space: Space,
    evaluator: CostEvaluator,
    direction: Direction,
    techniques: Techniques,
    budget: Budget,
    seed: int = 0,
    progress: Progress | None = None,
) -> Solution:
    """The cheapest valid generalization within the limit of suppression."""
    clock = Clock(budget, evaluator)
    clock.watch(evaluator)
    run = _Search(space, evaluator, direction, techniques, clock, progress)
    try:
        if techniques.seeding:
            sow(space, evaluator, seed, run.take)
        run.explore()
    except BudgetSpent:
        run.fall_back()
    return run.solution()


def children(
    space: Space, node: OpenNode, order: Sequence[int], *, upwards: bool, pause: Callable[[], None] = lambda: None
) -> list[list[OpenNode]]:
    """For each applicator its children (section 3.2): columns before it in the order are fixed in them.

    `pause` is called before each: of large columns there are tens of thousands.
    """
    groups = []
    for place, column in enumerate(order):
        tree, partition = space.trees[column], node.generalization[column]
        below: list[OpenNode] = []
        for child in tree.following(partition, upwards=upwards, pause=pause):
            changed = replaced(node.generalization, column, child)
            below.append(OpenNode(changed, tuple(order[place:]), node.bound, 0, node.prices))
        groups.append(below)
    return groups


class _Search:
    """The state of one run."""

    def __init__(
        self,
        space: Space,
        evaluator: CostEvaluator,
        direction: Direction,
        techniques: Techniques,
        clock: Clock,
        progress: Progress | None,
    ) -> None:
        self._space = space
        self._evaluator = evaluator
        self._direction = direction
        self._side = CostSide.LOWER if direction == "bottom_up" else CostSide.UPPER
        self._techniques = techniques
        self._clock = clock
        self._progress = progress
        self._completion = Completion.of(space, evaluator, self._side) if techniques.pivot else None
        self._queue: list[tuple[float, int, OpenNode]] = []
        self._line: deque[OpenNode] = deque()
        self._working: list[OpenNode] = []
        """Nodes taken from the queue whose children are not in it yet."""
        self._pushed = self._expanded = self._pruned = 0
        self._at_once = FEWEST_AT_ONCE
        self.best = inf
        self._chosen: tuple[Generalization, float, int] | None = None

    # -- what is known -------------------------------------------------------------------------------------------

    def take(self, generalizations: Sequence[Generalization], answers: Sequence[Measured]) -> None:
        """Keep the best generalization, while the budget lasts; those given must be valid."""
        for generalization, found in zip(generalizations, answers, strict=True):
            self._offer(generalization, found.cost, found.suppressed)
        self._clock.check()

    def fall_back(self) -> None:
        """One statement beyond the budget, where nothing was found within it: all rows may make one class."""
        if self._chosen is None:
            self._evaluator.left = lambda: None
            [found] = measured(self._evaluator, [self._space.top])
            self._offer(self._space.top, found.cost, found.suppressed)

    def _offer(self, generalization: Generalization, cost: float, suppressed: int) -> None:
        if suppressed <= self._evaluator.limit and cost < self.best:
            self.best = cost
            self._chosen = (generalization, cost, suppressed)

    def _hopeless(self, bound: float) -> bool:
        return bound >= self.best - TOLERANCE * max(1.0, abs(self.best))

    @property
    def _pivot(self) -> int | None:
        return None if self._completion is None else self._completion.column

    # -- the search ----------------------------------------------------------------------------------------------

    def explore(self) -> None:
        """Expand nodes until none can hold anything better."""
        upwards = self._direction == "bottom_up"
        start = self._space.bottom if upwards else self._space.top
        columns = tuple(column for column in self._space.columns if column != self._pivot)
        self._working = [OpenNode(start, columns, -inf)]
        root = self._measured(self._working)[0]
        self._working = []
        self._push([root])
        while nodes := self._next():
            # Before the budget is looked at: what was taken from the queue still counts as open.
            self._working = nodes
            self._clock.check()
            if self._completion is not None:
                self._working = self._completed(self._completion, nodes)
            for families in self._families(self._working):
                self._expand(families)
            self._working = []
            self._report()

    def _measured(self, nodes: Sequence[OpenNode]) -> list[OpenNode]:
        """Ask for these nodes; what they are themselves may be the best so far."""
        found = self._evaluator.measure([self._interval(node) for node in nodes], self._side)
        answered = []
        for node, answer in zip(nodes, found, strict=True):
            if self._pivot is None and self._is_valid(node.generalization):
                self._offer(node.generalization, answer.cost, answer.suppressed)
            bound = inf if answer.dead > self._evaluator.limit else max(node.bound, answer.bound)
            answered.append(OpenNode(node.generalization, node.applicators, bound, answer.static, node.prices))
        return answered

    def _is_valid(self, generalization: Generalization) -> bool:
        return self._direction == "bottom_up" or self._space.allows(generalization)

    def _interval(self, node: OpenNode) -> CostInterval:
        ends = [self._ends(node, column) for column in self._space.columns]
        return CostInterval(tuple(lower for lower, _ in ends), tuple(upper for _, upper in ends))

    def _ends(self, node: OpenNode, column: int) -> tuple[Partition, Partition]:
        tree, partition = self._space.trees[column], node.generalization[column]
        if column == self._pivot:
            return identity(tree.domain.size), whole(tree.domain.size)
        if column not in node.applicators:
            return partition, partition
        if self._direction == "bottom_up":
            return partition, tree.ceiling(partition)
        return tree.floor(partition), partition

    def _completed(self, completion: Completion, nodes: Sequence[OpenNode]) -> list[OpenNode]:
        """Solve the pivot for each node, for itself and as a bound of all that is below it."""
        intervals = [self._interval(node) for node in nodes]
        slacks = [self.best - node.static for node in nodes]
        left = []
        asked = completion.ask(intervals, slacks)
        groups = sum(map(len, asked)) // len(asked)
        self._at_once = max(FEWEST_AT_ONCE, min(EXPANDED_AT_ONCE, GROUPS_AT_ONCE // max(1, groups)))
        for node, costs in zip(nodes, asked, strict=True):
            self._clock.check_seconds()
            bound, prices = completion.bound(costs, node.prices, self.best)
            bound = max(bound, node.bound)
            if self._hopeless(bound):
                self._pruned += 1
                continue
            self._solve_own(completion, replace(node, prices=prices), costs)
            left.append(OpenNode(node.generalization, node.applicators, bound, node.static, prices))
        return left

    def _solve_own(self, completion: Completion, node: OpenNode, costs: Completion.Costs) -> None:
        """The node with the best partition of the pivot; its costs are no less than those behind the bound."""
        if not self._is_valid(replaced(node.generalization, completion.column, identity(completion.size))):
            return
        found = completion.own(costs, node.prices, self.best)
        if found is not None:
            partition, cost, suppressed = found
            self._offer(replaced(node.generalization, completion.column, partition), cost, suppressed)

    def _families(self, nodes: Sequence[OpenNode]) -> Iterator[list[Family]]:
        """These nodes with their children, so many at once as memory holds."""
        families: list[Family] = []
        number = 0
        for node in nodes:
            order, upwards = self._order(node), self._direction == "bottom_up"
            below = children(self._space, node, order, upwards=upwards, pause=self._clock.check_seconds)
            families.append((node, order, below))
            number += sum(map(len, below))
            if number >= CHILDREN_AT_ONCE:
                yield families
                families, number = [], 0
        if families:
            yield families

    def _expand(self, families: Sequence[Family]) -> None:
        """Measure the children of these nodes and queue those that may hold something better."""
        answers = iter(self._measured([child for _, _, groups in families for group in groups for child in group]))
        answered = [
            (node, order, [[next(answers) for _ in group] for group in groups]) for node, order, groups in families
        ]
        for (_, _, groups), useless in zip(answered, self._useless(answered), strict=True):
            for child in (child for group in groups for child in group):
                if self._hopeless(child.bound):
                    self._pruned += 1
                else:
                    left = tuple(column for column in child.applicators if column not in useless)
                    self._push([replace(child, applicators=left)])
        self._expanded += len(families)

    def _useless(self, families: Sequence[Family]) -> list[set[int]]:
        """For each node its applicators none of whose children can win, all other columns left open (section 4.3).

        They are of no use further down either: merging more only costs more.
        """
        doubtful = [
            [column for column, group in zip(order[1:], groups[1:], strict=True) if all(map(self._lost, group))]
            for _, order, groups in families
        ]
        asked = [
            replace(child, applicators=order, bound=-inf)
            for (_, order, groups), columns in zip(families, doubtful, strict=True)
            for column in columns
            for child in groups[order.index(column)]
        ]
        answers = iter(self._measured(asked))
        found: list[set[int]] = []
        for (_, order, groups), columns in zip(families, doubtful, strict=True):
            lost = {column: [self._lost(next(answers)) for _ in groups[order.index(column)]] for column in columns}
            found.append({column for column, verdicts in lost.items() if all(verdicts)})
        return found

    def _lost(self, node: OpenNode) -> bool:
        return self._hopeless(node.bound)

    def _order(self, node: OpenNode) -> tuple[int, ...]:
        if not self._techniques.order_applicators:
            return node.applicators
        return tuple(sorted(node.applicators, key=lambda column: (-max(node.generalization[column]), column)))

    # -- the queue -----------------------------------------------------------------------------------------------

    def _push(self, nodes: Iterable[OpenNode]) -> None:
        for node in nodes:
            self._pushed += 1
            if self._techniques.order_nodes:
                heapq.heappush(self._queue, (node.bound, self._pushed, node))
            else:
                self._line.append(node)

    def _next(self) -> list[OpenNode]:
        most = EXPANDED_AT_ONCE if self._completion is None else self._at_once
        found: list[OpenNode] = []
        while len(found) < most and (self._queue or self._line):
            node = heapq.heappop(self._queue)[2] if self._queue else self._line.popleft()
            if self._techniques.reconsider and self._hopeless(node.bound):
                self._pruned += 1
            else:
                found.append(node)
        return found

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._evaluator.checks, len(self._queue) + len(self._line))

    # -- the answer ----------------------------------------------------------------------------------------------

    def solution(self) -> Solution:
        waiting = [node.bound for node in (*self._line, *self._working, *(entry[2] for entry in self._queue))]
        left = [bound for bound in waiting if not self._hopeless(bound)]
        ended = not left and self._pushed > 0
        if self._chosen is None:
            raise InfeasibleError(
                "no generalization of these schemes satisfies the requirement within the limit of suppression"
                if ended
                else "no generalization that satisfies the requirement was found within search.budget, "
                "which allows more (seconds: none lifts it)"
            )
        generalization, cost, suppressed = self._chosen
        return Solution(
            generalization,
            cost,
            suppressed,
            bound=min([cost, *left]) if self._pushed else -inf,
            proven=ended,
            checks=self._clock.checks,
            expanded=self._expanded,
            direction=self._direction,
            pruned=self._pruned,
        )
