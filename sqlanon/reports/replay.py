"""A search made again from what is already known: the same questions in the same order, at no cost to the database.

The order in which an algorithm asked is not written down; made again on the same answers, it asks the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import LevelFigures, Verdict

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

    def __init__(self, evaluator: SqlEvaluator) -> None:
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
