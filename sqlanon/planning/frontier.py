"""What if: a grid of requirements answered from one frequency set, as the frontier of privacy against utility.

Every requirement is counted by the same statements, so a node that one cell asked for costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.evaluation.problem import Problem, lattice_of, requirement_on, solve
from sqlanon.evaluation.rollups import NodeCounts
from sqlanon.metrics.quality import accuracy, completeness
from sqlanon.notebook import html_table
from sqlanon.planning.decision import prepare
from sqlanon.search.base import SearchResult
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.run import DEFAULT, Options, Run, running
from sqlanon.spec import Limit, Spec
from sqlanon.spec.honoured import require_honoured


@dataclass(frozen=True)
class Cell:
    """The answer to one requirement; `found` is None where nothing was found, and `reason` then says why."""

    k: int | None
    """None: of each quasi-identifier what the spec says."""
    limit: Limit
    limit_rows: int
    found: SearchResult | None
    reason: str = ""

    @property
    def why_not(self) -> str:
        """The reason without its figures."""
        return self.reason.partition(":")[0]

    @property
    def satisfied(self) -> bool:
        """Whether the node that was found suppresses no more than the limit: all but mu_argus see to that."""
        return self.found is not None and self.found.chosen.suppressed <= self.limit_rows

    def to_dict(self, columns: Sequence[str], heights: Sequence[int], rows: int) -> dict[str, Any]:
        content: dict[str, Any] = {
            "k": self.k,
            "limit": str(self.limit),
            "limit_rows": self.limit_rows,
            "feasible": self.satisfied,
        }
        if self.found is None:
            return content | {"reason": self.reason}
        chosen = self.found.chosen
        return content | {
            "levels": dict(zip(columns, chosen.node, strict=True)),
            "height": sum(chosen.node),
            "suppressed": chosen.suppressed,
            "classes": chosen.classes,
            "score": {self.found.metric: self.found.score},
            "accuracy": accuracy(chosen.node, tuple(heights)),
            "completeness": completeness(chosen.suppressed, rows),
            "proven": self.found.proven,
            "verified": self.found.verified,
        }


@dataclass(frozen=True)
class Frontier:
    """The grid, in the order it was asked for: k by k, limit by limit."""

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    rows: int
    cells: tuple[Cell, ...]
    algorithm: str
    metric: str
    lattice: int
    checks: int
    """Nodes the database evaluated for all cells together."""
    engine: str
    seconds: Mapping[str, float]
    persons: bool = False
    """Whether k counts persons; rows and suppressed rows are rows all the same."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "counted": "persons" if self.persons else "rows",
            "grid": [cell.to_dict(self.columns, self.heights, self.rows) for cell in self.cells],
            "rows": self.rows,
            "algorithm": self.algorithm,
            "metric": self.metric,
            "lattice": self.lattice,
            "checks": self.checks,
            "engine": self.engine,
            "seconds": dict(self.seconds),
        }

    def _repr_html_(self) -> str:
        rows = [
            (
                f"limit {cell.limit}" if cell.k is None else f"k = {cell.k}, limit {cell.limit}",
                cell.why_not if cell.found is None else f"{self.metric} {cell.found.score:.6g}",
            )
            for cell in self.cells
        ]
        return html_table("sqlanon frontier", rows)


def frontier(spec: Spec, ks: Sequence[int | None], limits: Sequence[Limit], options: Options = DEFAULT) -> Frontier:
    """Answer every combination of k and limit from one scan of the source.

    A k is asked of every quasi-identifier of the spec; None asks of each for its own.
    """
    if not ks or not limits or any(k is not None and k < 1 for k in ks):
        raise UsageError("a grid needs at least one limit and one k, and every k is at least 1")
    _refuse_other_searches(spec)
    with running(spec, options) as run:
        return grid_on(run, prepare(run), ks, limits)


def grid_on(
    run: Run,
    frequency: FrequencySet,
    ks: Sequence[int | None],
    limits: Sequence[Limit],
    *,
    seconds: float | None = None,
) -> Frontier:
    """The grid on a frequency set that stands; with `seconds`, only those k that this time is enough for."""
    spec = run.binding.spec
    _refuse_other_searches(spec)
    started = monotonic()
    with run.watch.phase("search"):
        requirements = [requirement_on(run.binding, frequency, k) for k in ks]
        relaxed = {
            index: part
            for index, item in enumerate(requirements)
            if not item.monotone(1) and (part := item.relaxed()) is not None
        }
        counts = NodeCounts(run.engine, frequency, [*requirements, *relaxed.values()], run.scratch)
        places = {index: len(ks) + place for place, index in enumerate(relaxed)}
        cells: list[Cell] = []
        for index, k in enumerate(ks):
            if seconds is not None and monotonic() - started > seconds:
                break
            loosest = Problem(run, frequency, counts, index, frequency.rows, places.get(index))
            cells += _cells(loosest, k, limits)
    return Frontier(
        columns=run.binding.names,
        heights=counts.shape.heights(),
        rows=frequency.rows,
        cells=tuple(cells),
        algorithm=spec.search.algorithm,
        metric=spec.search.metric,
        lattice=lattice_of(run.binding, frequency.hierarchies).size,
        checks=counts.asked,
        engine=run.engine.name,
        seconds=run.watch.seconds,
        persons=run.binding.persons,
    )


def _refuse_other_searches(spec: Spec) -> None:
    require_honoured(spec, "grid")
    if spec.search.satisfies == "matrix":
        raise UsageError("search.satisfies: the distance-vector matrix is built for one k; use counts for a grid")


def _cells(problem: Problem, k: int | None, limits: Sequence[Limit]) -> list[Cell]:
    """The cells of one k: what was measured for one limit serves the others."""
    evaluator = problem.evaluator()
    cells: list[Cell] = []
    for limit in limits:
        rows = limit.rows(problem.frequency.rows)
        if k is not None and problem.frequency.rows < k:
            cells.append(
                Cell(k, limit, rows, None, f"the source has {problem.frequency.rows} rows, fewer than k = {k}")
            )
            continue
        try:
            cells.append(Cell(k, limit, rows, solve(problem, evaluator.within(rows))))
        except InfeasibleError as error:
            cells.append(Cell(k, limit, rows, None, str(error)))
    return cells
