"""The lattice and the search of a report: verdicts of the lock file, and the search made again on them.

Asks the database only for what the lock file does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.errors import InfeasibleError
from sqlanon.evaluation.problem import preferences_of, problem_of
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.metrics.registry import metric_named
from sqlanon.release.lock import Lock
from sqlanon.reports.lattice_view import LatticeView, Shown, lattice_view
from sqlanon.reports.replay import Replay, SearchPicture
from sqlanon.search.budget import Budget
from sqlanon.search.objective import Objective
from sqlanon.search.registry import algorithm_named
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.run import Run

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
    notes: tuple[str, ...]


def searched(run: Run, frequency: FrequencySet, lock: Lock) -> Searched:
    """The lattice as the lock file knows it, with the search made again from its verdicts."""
    spec, names, notes = run.binding.spec, run.binding.names, []
    evaluator = problem_of(run, frequency).evaluator()
    if lock.knows(frequency.fingerprint, requirement_of(run.binding).describe()):
        evaluator.put(lock.verdicts)
    else:
        notes.append(CHANGED)
    replay = Replay(evaluator)
    objective = Objective.of(metric_named(spec.search.metric), replay, [spec.weight(name) for name in names])
    picture, minimal = None, tuple(tuple(node) for node in lock.result["minimal"])
    if spec.search.satisfies == "counts":
        budget = Budget(spec.search.budget.nodes, min(spec.search.budget.seconds or REPLAY_SECONDS, REPLAY_SECONDS))
        search = algorithm_named(spec.search.algorithm)
        try:
            found = search(replay, objective, preferences_of(run.binding), budget, replay.progress)
            picture = replay.picture(spec.search.algorithm, found.trace)
            minimal = minimal or found.minimal
        except InfeasibleError as error:
            notes.append(f"The search was made again and found nothing: {error}.")
    chosen: Node = tuple(lock.levels[name] for name in names)
    evaluator.check([chosen])
    view = lattice_view(
        names,
        evaluator.heights,
        evaluator.lattice,
        [Shown(verdict, scored(objective, verdict)) for verdict in evaluator.known()],
        limit=evaluator.limit,
        rows=evaluator.rows,
        metric=objective.metric.name,
        monotone=evaluator.monotone,
        chosen=chosen,
        minimal=minimal,
    )
    return Searched(view, picture, objective.context.levels, tuple(notes))


def scored(objective: Objective, verdict: Verdict) -> float | None:
    """The score of a node where what was measured of it is enough to tell."""
    return None if objective.needs_figures(verdict) else objective.score(verdict)
