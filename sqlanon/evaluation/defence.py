"""What a search leaves to the adversary: vectors that suppress crowds or nobody, and one of several drawn by a secret.

Both look at every acceptable vector, so only searches that list them honour them. Reads counts of the frequency set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.errors import InfeasibleError
from sqlanon.hierarchies.lattice import Node
from sqlanon.search.base import Evaluator, Objective, SearchResult, not_better_than
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.keyed_hash import secret_of
from sqlanon.source.run import Run
from sqlanon.sql.build import named, subquery
from sqlanon.sql.relations import column, literal, table_expression
from sqlanon.sql.values import whole

CHOICE = "privacy.adversary.choice"
CROWD = "privacy.adversary.suppression"


def coarser(node: Node, heights: Sequence[int]) -> Node:
    """Every column one level further.

    >>> coarser((0, 2), (3, 2))
    (1, 2)
    """
    return tuple(min(level + 1, height) for level, height in zip(node, heights, strict=True))


def suppressed_crowds(frequency: FrequencySet, node: Node, above: Node, k: int) -> exp.Select:
    """One row: the rows in classes below k at a node, and the fewest of them in one class of the node above."""
    keys = [key for _, key in frequency.shape.keys(node)]
    over = [(f"c_{place}", key) for place, (_, key) in enumerate(frequency.shape.keys(above))]
    rows = exp.Sum(this=column("n"))
    failing = exp.select(*(named(key.copy(), name) for name, key in over), named(rows, "n"))
    failing = failing.from_(table_expression(frequency.table)).group_by(*keys, *(key.copy() for _, key in over))
    failing = failing.having(exp.LT(this=rows.copy(), expression=literal(k)))
    crowds = exp.select(named(exp.Sum(this=column("n")), "n")).from_(subquery(failing, "failing"))
    crowds = crowds.group_by(*(column(name) for name, _ in over)) if over else crowds
    fewest = [exp.Coalesce(this=value, expressions=[literal(0)]) for value in (exp.Sum(this=column("n")), _least())]
    return exp.select(*(whole(value) for value in fewest)).from_(subquery(crowds, "crowds"))


def _least() -> exp.Expression:
    return exp.Min(this=column("n"))


def defended(
    run: Run, frequency: FrequencySet, asked: Evaluator, objective: Objective, found: SearchResult
) -> SearchResult:
    """The vector to release where the adversary is thought of: the best one that suppresses crowds, or one by a secret
    of those that are about as good."""
    privacy = run.binding.spec.privacy
    if not privacy.crowd and privacy.choice is None:
        return found
    if found.acceptable is None:
        key = CHOICE if privacy.choice is not None else CROWD
        raise InfeasibleError(
            f"{key}: the budget was spent before all acceptable vectors were known; search.budget allows more "
            f"(seconds: none lifts it)"
        )
    scores = _scores(asked, objective, found.acceptable)
    kept = _in_crowds(run, frequency, asked, scores, privacy.crowd)
    best = next(kept, None)
    if best is None:
        raise InfeasibleError(
            f"{CROWD}: every acceptable vector suppresses fewer than {privacy.crowd} rows, or fewer of some class one "
            f"level further; a lower at_least, or a suppression.limit of 0, leaves a choice"
        )
    candidates = [best]
    if privacy.choice is not None:
        within = Fraction(privacy.choice.within.percent or 0) / 100
        worst = not_better_than(scores[best] + abs(scores[best]) * float(within))
        for node in kept:
            if scores[node] > worst:
                break
            candidates.append(node)
        secret = secret_of(f"{CHOICE}.secret", privacy.choice.secret)
        drawn = secret.for_purpose(f"choice of {run.binding.source} for {run.binding.target}")
        best = min(candidates, key=lambda node: drawn.digest(",".join(map(str, node))))
    [verdict] = asked.measure([best])
    return replace(
        found,
        chosen=verdict,
        score=scores[best],
        ties=(best,),
        verdicts={**found.verdicts, best: verdict},
        drawn_from=None if privacy.choice is None else len(candidates),
    )


def _scores(asked: Evaluator, objective: Objective, nodes: Sequence[Node]) -> dict[Node, float]:
    """The score of every vector, the best first; ties in vector order."""
    verdicts = asked.check(nodes)
    missing = [verdict.node for verdict in verdicts if objective.needs_figures(verdict)]
    if missing:
        measured = {verdict.node: verdict for verdict in asked.measure(missing)}
        verdicts = [measured.get(verdict.node, verdict) for verdict in verdicts]
    scores = sorted((objective.score(verdict), verdict.node) for verdict in verdicts)
    return {node: score for score, node in scores}


def _in_crowds(
    run: Run, frequency: FrequencySet, asked: Evaluator, scores: dict[Node, float], crowd: int
) -> Iterator[Node]:
    """The vectors that suppress nobody, or a crowd; asked of the database one by one, as they are wanted."""
    for node in scores:
        if not crowd or not asked.check([node])[0].suppressed:
            yield node
            continue
        statement = suppressed_crowds(frequency, node, coarser(node, asked.heights), run.binding.k)
        [(rows, fewest)] = run.engine.query(Statement("suppressed crowds", statement))
        if int(rows) >= crowd and int(fewest) >= crowd:
            yield node
