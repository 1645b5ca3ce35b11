"""What the page asks for: the lattice under a k and a limit, the verdict of a node, a node written to the lock file.

Works on one frequency set; the source is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.errors import InfeasibleError, RequirementError, UsageError
from sqlanon.evaluation.counts import NodeCounts
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.problem import Problem, requirement_on, solve
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.registry import metric_named
from sqlanon.recoding.registry import recoder_named
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.reports.lattice_view import Shown, lattice_view
from sqlanon.reports.searching import scored
from sqlanon.search.objective import Objective
from sqlanon.search.result import SearchResult
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.hierarchies import describe_hierarchies
from sqlanon.source.run import Run
from sqlanon.spec import Limit


@dataclass(frozen=True)
class Asked:
    """The requirement that somebody looks at: another k and another limit than the spec's, perhaps."""

    k: int | None
    """None: what the spec says."""
    limit: Limit


class Explorer:
    """One spec being explored."""

    def __init__(self, run: Run, frequency: FrequencySet, known: Lock | None) -> None:
        self._run = run
        self._frequency = frequency
        self._spec = run.binding.spec
        if recoder_named(self._spec.search.algorithm) is not None:
            raise UsageError(
                f"search.algorithm: {self._spec.search.algorithm} searches no lattice; there is none to see"
            )
        self._known = known
        self._problems: dict[int | None, tuple[Problem, SqlEvaluator]] = {}
        self._found: dict[Asked, SearchResult | str] = {}

    @property
    def own(self) -> Asked:
        """What the spec asks for."""
        k = None if self._spec.privacy.quasi_identifiers else self._spec.privacy.k
        return Asked(k, self._spec.privacy.suppression.limit)

    def view(self, asked: Asked) -> dict[str, Any]:
        """The lattice under a requirement, searched as the spec searches."""
        return self._shown(asked, self._searched(asked))

    def evaluate(self, node: Node, asked: Asked) -> dict[str, Any]:
        """The lattice with one more node evaluated by the database."""
        evaluator = self._evaluator(asked)
        self._require(node, evaluator)
        evaluator.measure([node])
        return self._shown(asked, self._searched(asked))

    def lock(self, node: Node, path: str, recipient: str | None) -> Lock:
        """The lock of a node that satisfies the spec's own requirement; RequirementError where it does not."""
        evaluator = self._evaluator(self.own)
        self._require(node, evaluator)
        [verdict] = evaluator.measure([node])
        if verdict.suppressed > evaluator.limit:
            raise RequirementError(
                f"the node suppresses {verdict.suppressed} rows and the spec allows {evaluator.limit}: "
                f"choose another, or change the spec"
            )
        objective = self._objective(evaluator)
        found = self._searched(self.own)
        minimal = found.minimal if isinstance(found, SearchResult) else ()
        plan = PlanResult(
            columns=self._run.binding.names,
            heights=evaluator.heights,
            rows=evaluator.rows,
            limit=evaluator.limit,
            combinations=self._frequency.combinations,
            requirement=requirement_of(self._run.binding).describe(),
            hierarchies=describe_hierarchies(self._frequency.hierarchies),
            search=SearchResult(
                algorithm="explore",
                metric=objective.metric.name,
                chosen=verdict,
                score=objective.score(verdict),
                checks=evaluator.checks,
                lattice=evaluator.lattice.size,
                proven=False,
                undecided=0,
                ties=(node,),
                minimal=minimal,
                minimal_complete=isinstance(found, SearchResult) and found.minimal_complete,
            ),
            engine=self._run.engine.name,
            seconds=self._run.watch.seconds,
            fingerprint=self._frequency.fingerprint,
            verdicts=tuple(evaluator.known()),
            source=self._run.binding.schema,
        )
        return Lock.of(self._spec, plan, path, recipient)

    def _require(self, node: Node, evaluator: SqlEvaluator) -> None:
        if node not in evaluator.lattice:
            raise UsageError("there is no such node in the lattice")

    def _problem(self, k: int | None) -> tuple[Problem, SqlEvaluator]:
        """The problem of a k, with an evaluator that keeps every answer."""
        if k not in self._problems:
            run, frequency = self._run, self._frequency
            requirement = requirement_on(run.binding, frequency, k)
            part = None if requirement.monotone(1) else requirement.relaxed()
            counted = [requirement, *([] if part is None else [part])]
            counts = NodeCounts(run.engine, frequency, counted, run.scratch)
            problem = Problem(run, frequency, counts, 0, frequency.rows, None if part is None else 1)
            evaluator = problem.evaluator()
            own = requirement_of(run.binding).describe()
            if k == self.own.k and self._known is not None and self._known.knows(frequency.fingerprint, own):
                evaluator.put(self._known.verdicts)
            self._problems[k] = problem, evaluator
        return self._problems[k]

    def _evaluator(self, asked: Asked) -> SqlEvaluator:
        _, evaluator = self._problem(asked.k)
        return evaluator.within(asked.limit.rows(self._frequency.rows))

    def _objective(self, evaluator: SqlEvaluator) -> Objective:
        weights = [self._spec.weight(name) for name in self._run.binding.names]
        return Objective.of(metric_named(self._spec.search.metric), evaluator, weights)

    def _searched(self, asked: Asked) -> SearchResult | str:
        """The answer of the spec's algorithm to a requirement, or why there is none."""
        if asked not in self._found:
            problem, _ = self._problem(asked.k)
            try:
                if asked.k is not None and self._frequency.rows < asked.k:
                    raise InfeasibleError(f"the source has {self._frequency.rows} rows, fewer than k = {asked.k}")
                self._found[asked] = solve(problem, self._evaluator(asked))
            except (InfeasibleError, UsageError) as error:
                self._found[asked] = str(error)
        return self._found[asked]

    def _shown(self, asked: Asked, found: SearchResult | str) -> dict[str, Any]:
        evaluator = self._evaluator(asked)
        objective = self._objective(evaluator)
        answered = isinstance(found, SearchResult)
        view = lattice_view(
            self._run.binding.names,
            evaluator.heights,
            evaluator.lattice,
            [Shown(verdict, scored(objective, verdict)) for verdict in evaluator.known()],
            limit=evaluator.limit,
            rows=evaluator.rows,
            metric=objective.metric.name,
            monotone=evaluator.monotone,
            chosen=found.chosen.node if isinstance(found, SearchResult) else None,
            minimal=found.minimal if isinstance(found, SearchResult) else (),
        )
        return {
            "lattice": view.to_dict(),
            "k": asked.k,
            "limit": str(asked.limit),
            "own": asked == self.own,
            "message": "" if answered else f"Nothing acceptable was found: {found}",
        }


def node_of(levels: object, columns: Sequence[str]) -> Node:
    """A node as a page sends it."""
    if not isinstance(levels, list) or len(levels) != len(columns):
        raise UsageError("a node has a level for each column")
    if not all(isinstance(level, int) and not isinstance(level, bool) for level in levels):
        raise UsageError("levels are whole numbers")
    return tuple(levels)
