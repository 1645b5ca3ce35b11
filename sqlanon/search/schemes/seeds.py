"""Seeding (Li and Li 2007, section 4.4.1): good generalizations before the search proper, so that it prunes early.

Random generalizations first, then steepest descent by merging from the least general one and from the best so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from sqlanon.search.schemes.costs import Evaluator, Generalization, Interval, Measured, Side
from sqlanon.search.schemes.problem import Space

RANDOM = 48
"""Random generalizations; the paper does not say how many it takes."""
NEIGHBOURS = 800
"""Merges that a step of the descent looks at, drawn by chance where there are more."""

Take = Callable[[Sequence[Generalization], Sequence[Measured]], None]
"""Told of every generalization that was measured; may end the search by BudgetSpent."""


def measured(evaluator: Evaluator, generalizations: Sequence[Generalization]) -> list[Measured]:
    """What single generalizations cost."""
    return evaluator.measure([Interval.point(item) for item in generalizations], Side.LOWER)


def rank(found: Measured, limit: int) -> tuple[int, float]:
    """Rows above the limit, then cost: what a search without proof goes by."""
    return max(0, found.suppressed - limit), found.cost


def sow(space: Space, evaluator: Evaluator, seed: int, take: Take) -> None:
    """Measure seeds; `take` keeps what it likes."""
    source = Random(seed)
    drawn = list(dict.fromkeys([space.bottom, space.top, *(space.random(source) for _ in range(RANDOM))]))
    answers = measured(evaluator, drawn)
    take(drawn, answers)
    ranked = sorted(zip(answers, drawn, strict=True), key=lambda pair: (rank(pair[0], evaluator.limit), pair[1]))
    _descend(space, evaluator, space.bottom, source, take)
    _descend(space, evaluator, ranked[0][1], source, take)


def _descend(space: Space, evaluator: Evaluator, start: Generalization, source: Random, take: Take) -> None:
    """Merge the two groups that lower the cost most, as long as any do."""
    here, [current] = start, measured(evaluator, [start])
    while neighbours := list(space.coarser(here)):
        if len(neighbours) > NEIGHBOURS:
            neighbours = source.sample(neighbours, NEIGHBOURS)
        answers = measured(evaluator, neighbours)
        take(neighbours, answers)
        best = min(range(len(answers)), key=lambda index: (rank(answers[index], evaluator.limit), neighbours[index]))
        if rank(answers[best], evaluator.limit) >= rank(current, evaluator.limit):
            break
        here, current = neighbours[best], answers[best]
