"""The lattice as it is drawn: the state of every node, from the verdicts of some and what follows from them.

A lattice too large to draw node by node is told by its heights and the nodes that were evaluated. Verdicts come from
the lock file; the database is asked only for what the lock file does not know. The order in which an algorithm asked is
not written down: the search is made again on the same answers, and asks the same questions in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sqlanon.errors import InfeasibleError
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.explanation import MOST_EXPLAINED, Explanation, explain
from sqlanon.evaluation.matrix import MatrixEvaluator, entries_of
from sqlanon.evaluation.problem import Problem, matrix_of, preferences_of, problem_of
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.hierarchies import described
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics import metric_named
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.release.lock import Lock
from sqlanon.search import algorithm_named
from sqlanon.search.base import Budget, Evaluator, Objective, SearchResult
from sqlanon.search.node_sets import MOST_NODES, Coding, Marking, Totals, members
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.run import Run
from sqlanon.spec import Spec

DRAWN = 60_000
"""Nodes that a page draws one by one."""

UNKNOWN, ACCEPTABLE, UNACCEPTABLE = "0", "1", "2"
"""States of a node, as the page has them."""


@dataclass(frozen=True)
class Shown:
    """What the database said of a node, with its score where the metric gives one."""

    verdict: Verdict
    score: float | None = None

    def to_list(self) -> list[Any]:
        """Levels, suppressed rows, classes, score."""
        return [list(self.verdict.node), self.verdict.suppressed, self.verdict.classes, self.score]


@dataclass(frozen=True)
class LatticeView:
    """Everything that a page needs to draw a lattice."""

    columns: tuple[str, ...]
    heights: Node
    """The top of each hierarchy, also where the lattice ends below it."""
    lattice: Lattice
    limit: int
    rows: int
    metric: str
    chosen: Node | None
    minimal: tuple[Node, ...]
    evaluated: tuple[Shown, ...]
    monotone: bool
    """Whether verdicts were inherited."""
    states: str | None = None
    """The state of each node in vector order, where the lattice is drawn node by node."""
    levels: tuple[tuple[str, ...], ...] = ()
    """For each column what each of its levels does, in words."""
    by_height: Mapping[int, tuple[int, int, int]] = field(default_factory=dict)
    """For each height: nodes, acceptable ones, unacceptable ones."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Nodes, acceptable ones, unacceptable ones."""
        nodes, good, bad = (sum(column) for column in zip(*self.by_height.values(), strict=True))
        return nodes, good, bad

    def to_dict(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "heights": list(self.heights),
            "levels": [list(words) for words in self.levels],
            "bottom": list(self.lattice.bottom),
            "top": list(self.lattice.top),
            "size": self.lattice.size,
            "limit": self.limit,
            "rows": self.rows,
            "metric": self.metric,
            "chosen": None if self.chosen is None else list(self.chosen),
            "minimal": [list(node) for node in self.minimal],
            "monotone": self.monotone,
            "evaluated": [item.to_list() for item in self.evaluated],
            "states": None if self.states is None else _run_lengths(self.states),
            "by_height": [[height, *counts] for height, counts in sorted(self.by_height.items())],
        }


@dataclass(frozen=True)
class LatticeFrame:
    """A lattice before anything is known of its nodes."""

    columns: Sequence[str]
    heights: Node
    lattice: Lattice
    limit: int
    rows: int
    metric: str
    monotone: bool
    """Whether a verdict says something of the nodes above and below."""
    levels: tuple[tuple[str, ...], ...] = ()
    """For each column what each of its levels does, in words."""


def level_names(spec: Spec, hierarchies: Mapping[str, tuple[int, str]]) -> tuple[tuple[str, ...], ...]:
    """What each level of each column does, by the height and the top of its hierarchy."""
    return tuple(
        tuple(described(spec.hierarchy(name), level, height, top) for level in range(height + 1))
        for name, (height, top) in hierarchies.items()
    )


def lattice_view(
    frame: LatticeFrame, shown: Iterable[Shown], *, chosen: Node | None, minimal: Sequence[Node] = ()
) -> LatticeView:
    """The lattice with what is known of its nodes."""
    known = tuple(item for item in shown if item.verdict.node in frame.lattice)
    marking = _marked(frame.lattice, [item.verdict for item in known], frame.limit, frame.monotone)
    states, by_height = _states(frame.lattice, frame.heights, marking)
    return LatticeView(
        columns=tuple(frame.columns),
        heights=frame.heights,
        lattice=frame.lattice,
        limit=frame.limit,
        rows=frame.rows,
        metric=frame.metric,
        chosen=chosen,
        minimal=tuple(minimal) or _proven_minimal(marking, monotone=frame.monotone),
        evaluated=known,
        monotone=frame.monotone,
        states=states,
        levels=frame.levels,
        by_height=by_height,
    )


def _marked(lattice: Lattice, verdicts: Sequence[Verdict], limit: int, monotone: bool) -> tuple[Coding, Marking] | None:
    """What follows from the verdicts; None where the lattice is too large to tell."""
    if lattice.size > MOST_NODES:
        return None
    coding = Coding(lattice)
    marking = Marking(coding, limit, monotone)
    for verdict in verdicts:
        marking.record(verdict)
    return coding, marking


def _proven_minimal(marked: tuple[Coding, Marking] | None, *, monotone: bool) -> tuple[Node, ...]:
    """Acceptable nodes whose every predecessor is known not to be; of a search that looks for none, what it met."""
    if marked is None or not monotone:
        return ()
    coding, marking = marked
    found = coding.minimal(marking.acceptable)
    return tuple(node for node in found if not coding.downset(node) & ~marking.unacceptable & ~_bit(coding, node))


def _bit(coding: Coding, node: Node) -> int:
    return 1 << coding.number(node)


def _states(
    lattice: Lattice, heights: Node, marked: tuple[Coding, Marking] | None
) -> tuple[str | None, dict[int, tuple[int, int, int]]]:
    if marked is None:
        return None, {height: (number, 0, 0) for height, number in _sizes(lattice).items()}
    coding, marking = marked
    totals = Totals(coding, [range(height + 1) for height in heights])
    by_height: dict[int, tuple[int, int, int]] = {}
    before = 0
    for height in range(lattice.lowest, lattice.highest + 1):
        upto = totals.up_to(height + 0.5)
        here = upto & ~before
        before = upto
        counts = (here, here & marking.acceptable, here & marking.unacceptable)
        by_height[height] = (counts[0].bit_count(), counts[1].bit_count(), counts[2].bit_count())
    if lattice.size > DRAWN:
        return None, by_height
    states = [UNKNOWN] * lattice.size
    for bits, state in ((marking.acceptable, ACCEPTABLE), (marking.unacceptable, UNACCEPTABLE)):
        for number in members(bits):
            states[number] = state
    return "".join(states), by_height


def _sizes(lattice: Lattice) -> dict[int, int]:
    """How many nodes each height has.

    >>> _sizes(Lattice.of_heights([1, 2]))
    {0: 1, 1: 2, 2: 2, 3: 1}
    """
    found = {0: 1}
    for low, high in zip(lattice.bottom, lattice.top, strict=True):
        wider: dict[int, int] = {}
        for height, number in found.items():
            for level in range(low, high + 1):
                wider[height + level] = wider.get(height + level, 0) + number
        found = wider
    return found


def _run_lengths(states: str) -> str:
    """Equal states in a row as their number and the state, separated by spaces.

    >>> _run_lengths("1110")
    '3x1 1x0'
    """
    return " ".join(f"{len(list(run))}x{state}" for state, run in groupby(states))


REPLAY_SECONDS = 20.0
"""How long a search may take when it is made again."""

CHANGED = "The source has changed since the plan; the lattice was evaluated anew for this report."


@dataclass(frozen=True)
class Searched:
    """The lattice, and how its search went."""

    lattice: LatticeView
    picture: SearchPicture | None
    levels: Sequence[Sequence[LevelFigures]]
    """What each level of each column costs."""
    explanation: Explanation
    notes: tuple[str, ...]


def searched(run: Run, frequency: FrequencySet, lock: Lock) -> Searched:
    """The lattice as the lock file knows it, with the search made again from its verdicts."""
    spec, names, notes = run.binding.spec, run.binding.names, []
    problem = problem_of(run, frequency)
    evaluator = problem.evaluator()
    if lock.knows(frequency.fingerprint, requirement_of(run.binding).describe()):
        evaluator.put(lock.verdicts)
    else:
        notes.append(CHANGED)
    matrix = _small_matrix(problem, evaluator)
    replay = Replay(matrix or evaluator)
    objective = Objective.of(metric_named(spec.search.metric), replay, [spec.weight(name) for name in names])
    picture, minimal = None, tuple(tuple(node) for node in lock.result["minimal"])
    explained: SearchResult | None = None
    chosen: Node = tuple(lock.levels[name] for name in names)
    if matrix is not None or spec.search.satisfies == "counts":
        budget = Budget(
            spec.search.budget.nodes, min(spec.search.budget.most_seconds or REPLAY_SECONDS, REPLAY_SECONDS)
        )
        search = algorithm_named(spec.search.algorithm)
        try:
            found = search(replay, objective, preferences_of(run.binding), budget, replay.progress)
            picture = replay.picture(spec.search.algorithm, found.trace)
            minimal = minimal or found.minimal
            explained = found if found.chosen.node == chosen else None
        except InfeasibleError as error:
            notes.append(f"The search was made again and found nothing: {error}.")
    evaluator.check([chosen])
    frame = LatticeFrame(
        names,
        evaluator.heights,
        evaluator.lattice,
        evaluator.limit,
        evaluator.rows,
        objective.metric.name,
        evaluator.monotone,
        level_names(run.binding.spec, {item.column: (item.height, item.top) for item in frequency.hierarchies}),
    )
    shown = [Shown(verdict, scored(objective, verdict)) for verdict in evaluator.known()]
    view = lattice_view(frame, shown, chosen=chosen, minimal=minimal)
    explanation = explain(problem, evaluator, matrix, chosen, explained)
    return Searched(view, picture, objective.context.levels, explanation, tuple(notes))


def _small_matrix(problem: Problem, evaluator: SqlEvaluator) -> MatrixEvaluator | None:
    """The distance-vector matrix that the search went by, where it is no great work to make it again."""
    run = problem.run
    if run.binding.spec.search.satisfies != "matrix":
        return None
    outliers, combinations = entries_of(run.engine, problem.frequency, run.binding.k)
    return matrix_of(problem, evaluator) if outliers * combinations <= MOST_EXPLAINED else None


def scored(objective: Objective, verdict: Verdict) -> float | None:
    """The score of a node where what was measured of it is enough to tell."""
    return None if objective.needs_figures(verdict) else objective.score(verdict)


MOST_QUESTIONS = 20_000
"""Questions that a picture shows."""


@dataclass(frozen=True)
class SearchPicture:
    """How a search went: every node that was asked for, in order, and what an algorithm says of its own steps."""

    algorithm: str
    asked: tuple[tuple[int, bool], ...]
    """For each question the height of its node, and whether it was acceptable."""
    undecided: tuple[tuple[int, int], ...]
    """Now and then: questions so far, nodes still undecided."""
    trace: tuple[dict[str, Any], ...] = ()

    @property
    def iterations(self) -> list[dict[str, int]]:
        """Incognito's iterations: subsets, candidates, those asked that held and failed, survivors."""
        return [_iteration(step) for step in self.trace if "iteration" in step]

    @property
    def halvings(self) -> list[dict[str, Any]]:
        """Samarati's binary search: the heights tried, and whether one was reached."""
        return [step for step in self.trace if "try" in step]

    def to_dict(self) -> dict[str, Any]:
        return {
            "algorithm": self.algorithm,
            "asked": [[height, accepted] for height, accepted in self.asked],
            "undecided": [list(point) for point in self.undecided],
            "iterations": self.iterations,
            "halvings": self.halvings,
        }


def _iteration(step: dict[str, Any]) -> dict[str, int]:
    subsets = step["subsets"]
    survivors = [item["survivors"] for item in subsets]
    return {
        "size": int(step["iteration"]),
        "subsets": len(subsets),
        "candidates": sum(int(item["candidates"]) for item in subsets),
        "held": sum(len(item["true"]) for item in subsets),
        "failed": sum(len(item["false"]) for item in subsets),
        "survivors": sum(found if isinstance(found, int) else len(found) for found in survivors),
    }


class Replay:
    """An evaluator that answers at once and remembers only what it was asked. Implements `search.base.Evaluator`."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._asked: dict[Node, Verdict] = {}
        self.undecided: list[tuple[int, int]] = []

    @property
    def lattice(self) -> Lattice:
        return self._evaluator.lattice

    @property
    def heights(self) -> Node:
        return self._evaluator.heights

    @property
    def leaves(self) -> Sequence[int]:
        return self._evaluator.leaves

    @property
    def rows(self) -> int:
        return self._evaluator.rows

    @property
    def limit(self) -> int:
        return self._evaluator.limit

    @property
    def monotone(self) -> bool:
        return self._evaluator.monotone

    @property
    def relaxed(self) -> bool:
        return self._evaluator.relaxed

    @property
    def lowest_height(self) -> int:
        return self._evaluator.lowest_height

    @property
    def least_class(self) -> int:
        return self._evaluator.least_class

    @property
    def checks(self) -> int:
        return len(self._asked)

    def known(self) -> Sequence[Verdict]:
        return list(self._asked.values())

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        return self._remember(self._evaluator.check(nodes))

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        return self._remember(self._evaluator.measure(nodes))

    def level_figures(self) -> Sequence[Sequence[LevelFigures]]:
        return self._evaluator.level_figures()

    def progress(self, checks: int, undecided: int) -> None:
        """The callback of the search."""
        self.undecided.append((checks, undecided))

    def picture(self, algorithm: str, trace: Sequence[Any]) -> SearchPicture:
        """How the search went."""
        asked = list(self._asked.values())[:MOST_QUESTIONS]
        return SearchPicture(
            algorithm,
            tuple((sum(item.node), item.suppressed <= self.limit) for item in asked),
            tuple(self.undecided),
            tuple(dict(step) for step in trace),
        )

    def _remember(self, verdicts: list[Verdict]) -> list[Verdict]:
        for verdict in verdicts:
            self._asked.setdefault(verdict.node, verdict)
        return verdicts
