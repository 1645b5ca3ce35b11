"""Why a node was chosen: what bounds the search, the heights it tried, a strategy to the node, the steps down from it.

Samarati 2001, sections 3 and 5. A strategy is a path of single-column steps from the bottom of the lattice; a node is
locally minimal on it when it is the first acceptable one. Asks the evaluator for the nodes of one path and those right
below the chosen one, and the distance-vector matrix where it describes the requirement; its sentences are here, for the
terminal and for reports alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import factorial, prod
from typing import Any

from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.matrix import Combination, DistanceMatrix, MatrixBounds, MatrixEvaluator, MatrixView, entries_of
from sqlanon.evaluation.problem import Problem, preferences_of
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import Verdict, relative_level
from sqlanon.search.base import SearchResult, Step
from sqlanon.spec.algorithms import ALGORITHMS

MOST_EXPLAINED = 500_000
"""Entries of a matrix that is made for an explanation alone."""

MOST_RIVALS = 12
"""Nodes to choose from that are listed; plain data has all."""

LISTED = 4
"""Nearest vectors of an outlier that are named."""


@dataclass(frozen=True)
class Sheet:
    """A table of an explanation, with a sentence about it."""

    title: str
    text: str
    heading: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class NodeStep:
    """A node one step up or down in one column, and what it suppresses."""

    column: str
    """Empty where a path begins."""
    node: Node
    suppressed: int
    allowed: bool
    """Whether the constraints let it be chosen."""

    def to_dict(self, limit: int) -> dict[str, Any]:
        return {
            "column": self.column or None,
            "vector": list(self.node),
            "suppressed": self.suppressed,
            "acceptable": self.suppressed <= limit,
            "allowed": self.allowed,
        }


@dataclass(frozen=True)
class Rival:
    """A node among those that the preferences choose from, with what they look at (Samarati 2001, section 6)."""

    node: Node
    relative: float
    """The sum of its levels, each divided by the height of its hierarchy."""
    verdict: Verdict | None
    """None where the budget left it out."""
    ties: bool
    """No preference tells it apart from the chosen one."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "vector": list(self.node),
            "distance": sum(self.node),
            "relative_distance": self.relative,
            "classes": None if self.verdict is None else self.verdict.classes,
            "suppressed": None if self.verdict is None else self.verdict.suppressed,
            "ties": self.ties,
        }


@dataclass(frozen=True)
class MatrixPart:
    """What the distance-vector matrix tells; without a matrix, why there is none."""

    view: MatrixView | None = None
    bounds: MatrixBounds | None = None
    searched: bool = False
    """Whether the search itself went by the matrix."""
    reason: str | None = None


@dataclass(frozen=True)
class Explanation:
    """The explanation of one node."""

    algorithm: str
    columns: tuple[str, ...]
    k: int
    limit: int
    node: Node
    suppressed: int
    monotone: bool
    heights: tuple[Step, ...] | None
    """The heights that samarati tried; None where it was not what chose the node."""
    strategy: tuple[NodeStep, ...]
    """From the bottom to the node."""
    own: bool
    """Whether the algorithm itself took this path."""
    down: tuple[NodeStep, ...]
    """Every single step down."""
    rivals: tuple[Rival, ...]
    """The minimal nodes that the search lists, and those that tie with the chosen one."""
    preferences: tuple[str, ...]
    matrix: MatrixPart

    @property
    def strategies(self) -> int:
        """Paths that lead from the bottom to the node."""
        steps = [high - low for high, low in zip(self.node, self.strategy[0].node, strict=True)]
        return factorial(sum(steps)) // prod(map(factorial, steps))

    @property
    def locally_minimal(self) -> bool:
        """Whether the node is the first one on the path that could be chosen."""
        return self.suppressed <= self.limit and not any(map(self._may_be_chosen, self.strategy[:-1]))

    @property
    def minimal(self) -> bool | None:
        """Whether no node below is acceptable; None where the steps down do not tell."""
        if self.suppressed > self.limit:
            return None
        if any(map(self._may_be_chosen, self.down)):
            return False
        return True if self.monotone and all(step.suppressed > self.limit for step in self.down) else None

    def _may_be_chosen(self, step: NodeStep) -> bool:
        return step.allowed and step.suppressed <= self.limit

    def to_dict(self) -> dict[str, Any]:
        bounds, view = self.matrix.bounds, self.matrix.view
        return {
            "algorithm": self.algorithm,
            "vector": list(self.node),
            "limit": self.limit,
            "bounds": None
            if bounds is None
            else {
                "lowest_height": bounds.lowest_height,
                "least_upper_bound": list(bounds.least_upper_bound),
                "suppressed_at_least": [list(floor) for floor in bounds.floors],
                "searched": self.matrix.searched,
            },
            "heights": None if self.heights is None else [dict(step) for step in self.heights],
            "strategy": {
                "steps": [step.to_dict(self.limit) for step in self.strategy],
                "own": self.own,
                "strategies": self.strategies,
                "locally_minimal": self.locally_minimal,
            },
            "steps_down": [step.to_dict(self.limit) for step in self.down],
            "minimal": self.minimal,
            "preferences": list(self.preferences),
            "rivals": [rival.to_dict() for rival in self.rivals],
            "matrix": None if view is None else view.to_dict(self.columns),
            "no_matrix": self.matrix.reason,
        }

    # -- in words ------------------------------------------------------------------------------------------------

    def sheets(self) -> Iterator[Sheet]:
        """The explanation as tables with sentences."""
        yield self._strategy_sheet()
        yield self._down_sheet()
        if len(self.rivals) > 1:
            yield self._rival_sheet()
        if self.heights is not None:
            yield self._heights_sheet(self.heights)
        bounds, view = self.matrix.bounds, self.matrix.view
        if bounds is None or view is None:
            yield Sheet("Distance vectors", f"There is no matrix of distance vectors: {self.matrix.reason}.")
            return
        yield self._bounds_sheet(bounds)
        if view.rows:
            yield self._outlier_sheet(view)
            yield from _value_sheet(view, self.columns)
            yield _matrix_sheet(view)

    def _strategy_sheet(self) -> Sheet:
        chosen, start = _vector(self.node), _vector(self.strategy[0].node)
        if self.own:
            path = f"The path that {self.algorithm} took from {start} to {chosen}."
        else:
            others = f"One of {_counted(self.strategies, 'path')}" if self.strategies > 1 else "The only path"
            path = f"{others} of single steps (strategies) from {start} to {chosen}."
        if self.suppressed > self.limit:
            verdict = f"The node itself suppresses more than the limit of {_rows(self.limit)}."
        elif self.locally_minimal:
            verdict = f"The node is locally minimal on it: the first that suppresses at most {_rows(self.limit)}."
        else:
            earlier = next(step for step in self.strategy[:-1] if self._may_be_chosen(step))
            verdict = f"The node is not locally minimal on it: {_vector(earlier.node)} suffices already."
        rows = [(step.column or "-", _vector(step.node), f"{step.suppressed:,}") for step in self.strategy]
        return Sheet("Strategy", f"{path} {verdict}", ("step up in", "levels", "suppressed"), tuple(rows))

    def _down_sheet(self) -> Sheet:
        heading = ("step down in", "levels", "suppressed", "verdict")
        rows = tuple(
            (step.column, _vector(step.node), f"{step.suppressed:,}", self._verdict(step)) for step in self.down
        )
        if not self.down:
            return Sheet("Steps down", "The node is the lowest that the spec allows: there is no step down.")
        if self.minimal:
            text = "Every single step down suppresses more than the limit, and so does all below: the node is minimal."
        elif self.minimal is None:
            text = "No single step down may be chosen; that does not tell of the nodes further down."
            if self.suppressed > self.limit:
                text = "What each single step down would suppress."
        else:
            text = "A single step down is acceptable too: the node is not minimal."
        return Sheet("Steps down", text, heading, rows)

    def _verdict(self, step: NodeStep) -> str:
        if step.suppressed > self.limit:
            return f"more than the limit of {self.limit:,}"
        return "acceptable" if step.allowed else "acceptable, not allowed by the constraints"

    def _rival_sheet(self) -> Sheet:
        told = ", ".join(self.preferences) or "vector order"
        ties = sum(rival.ties for rival in self.rivals)
        text = f"The minimal vectors that the search lists, and those that tie. The choice is by {told}."
        if ties > 1:
            text += f" {ties:,} tie: the first in vector order was taken."
        rows = tuple(
            (
                _vector(rival.node),
                str(sum(rival.node)),
                f"{rival.relative:.3f}",
                *("-" if value is None else f"{value:,}" for value in _counts(rival.verdict)),
                "chosen" if rival.node == self.node else "ties" if rival.ties else "-",
            )
            for rival in self.rivals[:MOST_RIVALS]
        )
        if len(self.rivals) > len(rows):
            text += f" {len(self.rivals) - len(rows):,} are left out."
        heading = ("levels", "distance", "relative distance", "classes", "suppressed", "verdict")
        return Sheet("Minimal vectors", text, heading, rows)

    def _heights_sheet(self, heights: Sequence[Step]) -> Sheet:
        heading = ("low", "high", "tried", "vectors", "asked", "found")
        if not heights:
            text = f"No height had to be tried: the bounds and what was known met at height {sum(self.node)}."
            return Sheet("Heights tried", text)
        if not self.monotone:
            text = "The requirement is not monotone: heights are tried one by one from the lowest."
        else:
            text = "Binary search: each try is the middle of the heights left."
            bounds = self.matrix.bounds
            if self.matrix.searched and bounds is not None and heights[0]["low"] == bounds.lowest_height:
                text += f" It began at {bounds.lowest_height}, the lower bound of the distance vectors."
        rows = tuple(tuple(_cell(step, name) for name in heading) for step in heights)
        return Sheet("Heights tried", text, heading, rows)

    def _bounds_sheet(self, bounds: MatrixBounds) -> Sheet:
        upper = bounds.least_upper_bound
        lowest = f"Below height {bounds.lowest_height} every vector suppresses more than {_rows(self.limit)}."
        if not bounds.lowest_height:
            lowest = "No height is ruled out."
        elif not self.matrix.searched:
            lowest += " (The search went by counts, and did not know it.)"
        text = f"{lowest} No minimal vector lies above {_vector(upper)}, of height {sum(upper)}."
        ends = [*(height for height, _ in bounds.floors[1:]), None]
        rows = tuple(
            (
                _range(height, end),
                f"{least:,}",
                "possible" if least <= self.limit else f"more than the limit of {self.limit:,}",
            )
            for (height, least), end in zip(bounds.floors, ends, strict=True)
        )
        return Sheet("Bounds", text, ("height", "suppressed at least", "verdict"), rows)

    def _outlier_sheet(self, view: MatrixView) -> Sheet:
        left, _ = view.left_out
        text = (
            f"{_counted(view.outliers, 'combination')} of the source's {view.combinations:,} "
            f"{'has' if view.outliers == 1 else 'have'} fewer than {self.k} rows. A node that keeps one dominates one "
            f"of its nearest distance vectors. Below the height given its class has fewer than {self.k} rows."
        )
        if left:
            text += f" {left:,} are left out: those shown stay alone longest."
        rows = tuple(
            (
                str(row.combination.number),
                f"{row.combination.rows:,}",
                _vectors(row.nearest),
                str(row.alone_below),
            )
            for row in view.rows
        )
        return Sheet("Outliers", text, ("combination", "rows", "nearest", "alone below height"), rows)


def explain(
    problem: Problem,
    evaluator: SqlEvaluator,
    matrix: MatrixEvaluator | None,
    node: Node,
    found: SearchResult | None,
    *,
    values: bool = False,
) -> Explanation:
    """The explanation of a node.

    `found` is of the search that chose it, None where it was chosen otherwise; `values` lets the matrix name values.
    """
    binding = problem.run.binding
    preferences, lattice = preferences_of(binding), evaluator.lattice

    def step(column: str, at: Node) -> NodeStep:
        [verdict] = evaluator.check([at])
        return NodeStep(column, at, verdict.suppressed, preferences.allows(at, lattice))

    algorithm = binding.spec.search.algorithm
    trace = () if found is None else found.trace
    walked = [at for item in trace if isinstance(at := item.get("node"), tuple)]
    own = bool(walked) and walked[0] == lattice.bottom and walked[-1] == node
    path = walked if own else _strategy(evaluator, node)
    below = list(_below(lattice, node))
    evaluator.check([*path, *(at for _, at in below)])
    return Explanation(
        algorithm=algorithm,
        columns=binding.names,
        k=binding.k,
        limit=evaluator.limit,
        node=node,
        suppressed=step("", node).suppressed,
        monotone=evaluator.monotone,
        heights=None if found is None or algorithm != "samarati" else tuple(item for item in trace if "try" in item),
        strategy=(
            step("", path[0]),
            *(step(binding.names[_changed(low, high)], high) for low, high in pairwise(path)),
        ),
        own=own,
        down=tuple(step(binding.names[column], at) for column, at in below),
        rivals=() if found is None else _rivals(found, evaluator.heights),
        preferences=preferences.policies,
        matrix=_matrix_part(problem, evaluator, matrix, values=values),
    )


def refusal(algorithm: str) -> str | None:
    """Why the answer of an algorithm is not explained; None where it is."""
    if ALGORITHMS[algorithm].kind == "lattice":
        return None
    return f"explain: {algorithm} does not choose a node of a lattice, which is what is explained; leave --explain out"


def _rivals(found: SearchResult, heights: Node) -> tuple[Rival, ...]:
    known = {**found.verdicts, found.chosen.node: found.chosen}
    return tuple(
        Rival(node, sum(map(relative_level, node, heights)), known.get(node), node in found.ties)
        for node in sorted({*found.ties, *found.minimal})
    )


def _matrix_part(
    problem: Problem, evaluator: SqlEvaluator, matrix: MatrixEvaluator | None, *, values: bool
) -> MatrixPart:
    run, frequency = problem.run, problem.frequency
    binding = run.binding
    if matrix is not None:
        return MatrixPart(matrix.matrix.view(evaluator.lattice, values=values), matrix.bounds, searched=True)
    spec = binding.spec
    if not spec.privacy.only_k or spec.profiled or spec.respondent is not None:
        return MatrixPart(reason="it describes k-anonymity of rows alone, and the spec asks for more")
    outliers, combinations = entries_of(run.engine, frequency, binding.k)
    if outliers * combinations > MOST_EXPLAINED:
        return MatrixPart(reason=f"it would have {outliers:,} x {combinations:,} entries, more than {MOST_EXPLAINED:,}")
    made = DistanceMatrix(run.engine, frequency, binding.k, run.scratch)
    bounds = made.bounds(evaluator.lattice, evaluator.limit)
    view = made.view(evaluator.lattice, values=values)
    run.scratch.drop(made.table)
    return MatrixPart(view, bounds)


def _strategy(evaluator: SqlEvaluator, node: Node) -> list[Node]:
    """A path from the bottom on which the node is locally minimal, if there is one.

    Found backwards: of the single steps down, one that is not acceptable, and of those the one that suppresses least.
    """
    path = [node]
    while below := [at for _, at in _below(evaluator.lattice, path[-1])]:
        verdicts = evaluator.check(below)
        path.append(min(verdicts, key=lambda item: (item.suppressed <= evaluator.limit, item.suppressed)).node)
    return path[::-1]


def _below(lattice: Lattice, node: Node) -> Iterator[tuple[int, Node]]:
    """Each single step down within the lattice."""
    for column, level in enumerate(node):
        if level > lattice.bottom[column]:
            yield column, (*node[:column], level - 1, *node[column + 1 :])


def _changed(low: Node, high: Node) -> int:
    return next(column for column, (one, other) in enumerate(zip(low, high, strict=True)) if one != other)


# -- words -----------------------------------------------------------------------------------------------------------


def _matrix_sheet(view: MatrixView) -> Sheet:
    """The matrix as the paper draws it."""
    outliers, combinations = view.left_out
    text = (
        "VT: at which levels an outlier (row) and a combination (column, with its rows in brackets) become one. "
        f"Left out: {_counted(outliers, 'outlier')}, {_counted(combinations, 'combination')}"
        f"{', those farther away' if combinations else ''}."
    )
    heading = ("outlier", *(f"{item.number} ({item.rows:,})" for item in view.columns))
    rows = tuple((str(row.combination.number), *map(_vector, row.distances)) for row in view.rows)
    return Sheet("Distance vectors", text, heading, rows)


def _value_sheet(view: MatrixView, columns: Sequence[str]) -> Iterator[Sheet]:
    """The values of the combinations, where they may be shown."""
    shown: dict[int, Combination] = {
        item.number: item
        for item in (*(row.combination for row in view.rows), *view.columns)
        if item.values is not None
    }
    if shown:
        rows = tuple(
            (str(number), *("NULL" if value is None else value or "(empty)" for value in item.values or ()))
            for number, item in sorted(shown.items())
        )
        yield Sheet("Combinations", "The values of the combinations.", ("combination", *columns), rows)


def _cell(step: Mapping[str, Any], name: str) -> str:
    if name != "found":
        return f"{step['try' if name == 'tried' else name]:,}"
    if not step["reach"]:
        return "nothing there or below: on to the heights above"
    node = tuple(step["found"])
    return f"{_vector(node)}, of height {sum(node)}: on to the heights below"


def _counts(verdict: Verdict | None) -> tuple[int | None, int | None]:
    """Classes and suppressed rows."""
    return (None, None) if verdict is None else (verdict.classes, verdict.suppressed)


def _range(height: int, end: int | None) -> str:
    if end is None:
        return f"{height} and above"
    return str(height) if end == height + 1 else f"{height} to {end - 1}"


def _vectors(nodes: Sequence[Node]) -> str:
    more = f" and {len(nodes) - LISTED} more" if len(nodes) > LISTED else ""
    return ", ".join(map(_vector, nodes[:LISTED])) + more


def _vector(node: Node) -> str:
    return f"({','.join(map(str, node))})"


def _rows(number: int) -> str:
    return _counted(number, "row")


def _counted(number: int, what: str, plural: str | None = None) -> str:
    return f"{number:,} {what if number == 1 else plural or what + 's'}"
