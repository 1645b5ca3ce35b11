"""What if: other requirements and other algorithms on one spec, side by side.

A grid of requirements is answered from one frequency set, as the frontier of privacy against utility: every requirement
is counted by the same statements, so a node that one cell asked for costs the others nothing. Algorithms are planned as
if the spec named them, and compared by the same measures. Nothing is published, no lock file written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import Any

from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.evaluation.problem import Problem, lattice_of, requirement_on, solve
from sqlanon.evaluation.rollups import NodeCounts
from sqlanon.metrics.base import accuracy, completeness
from sqlanon.notebook import html_table
from sqlanon.planning.decision import decide, prepare
from sqlanon.recoding.base import requirement_for
from sqlanon.recoding.local import Iterations
from sqlanon.recoding.registry import recoder_named
from sqlanon.release.results import RecodedPlan
from sqlanon.search.base import SearchResult
from sqlanon.source.combinations import combine
from sqlanon.source.frequency import FrequencySet, scan, store_hierarchies
from sqlanon.source.run import DEFAULT, Options, Run, running
from sqlanon.spec import Limit, Spec
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.spec.findings import honoured_findings, require_honoured
from sqlanon.spec.load import written_path
from sqlanon.spec.privacy import PERSONALIZED


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
        """Whether a node was found; none that is suppresses more than the limit."""
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
        answered: dict[int, list[Cell]] = {}
        for index in range(len(ks)) if seconds is not None else _strictest_first(ks):
            if seconds is not None and monotonic() - started > seconds:
                break
            loosest = Problem(run, frequency, counts, index, frequency.rows, places.get(index))
            answered[index] = _cells(loosest, ks[index], limits)
    return Frontier(
        columns=run.binding.names,
        heights=counts.shape.heights(),
        rows=frequency.rows,
        cells=tuple(cell for index in sorted(answered) for cell in answered[index]),
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


def _strictest_first(ks: Sequence[int | None]) -> list[int]:
    """The places of the largest k first.

    Its border lies highest, where nodes have few classes and are cheap to count, and what it asks for settles more
    of the others than the other way round.
    """
    return sorted(range(len(ks)), key=lambda place: -(ks[place] or 0))


def _cells(problem: Problem, k: int | None, limits: Sequence[Limit]) -> list[Cell]:
    """The cells of one k: what was measured for one limit serves the others. The loosest limit comes first."""
    evaluator = problem.evaluator()
    rows = problem.frequency.rows
    cells: dict[int, Cell] = {}
    for place in sorted(range(len(limits)), key=lambda place: -limits[place].rows(rows)):
        limit, most = limits[place], limits[place].rows(rows)
        if k is not None and rows < k:
            cells[place] = Cell(k, limit, most, None, f"the source has {rows} rows, fewer than k = {k}")
            continue
        try:
            cells[place] = Cell(k, limit, most, solve(problem, evaluator.within(most)))
        except InfeasibleError as error:
            cells[place] = Cell(k, limit, most, None, str(error))
    return [cells[place] for place in sorted(cells)]


MEASURES = ("loss", "dm", "hdm")
PROMISES = (
    *("levels", "constraints", "respondent", "models", "population", "several", "profile", "anonymity", "differential"),
    *("slack", "crowd", "margin", "choice", "blank"),
)
"""Keys that a release must honour to be compared with others; the others are about the search or the publishing."""


@dataclass(frozen=True)
class Compared:
    """The release of one algorithm; without `scores` where it has none, and `reason` then says why."""

    algorithm: str
    scores: Mapping[str, float] = field(default_factory=dict)
    rows: int = 0
    suppressed: int = 0
    classes: int = 0
    k: int = 1
    seconds: float = 0.0
    reason: str = ""

    @property
    def c_avg(self) -> float:
        """LeFevre et al.: the mean size of a class, over k. Best is 1."""
        return (self.rows - self.suppressed) / self.classes / self.k

    def to_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = {"algorithm": self.algorithm, "feasible": not self.reason}
        if self.reason:
            return content | {"reason": self.reason}
        return content | {
            **{name: self.scores[name] for name in MEASURES},
            "c_avg": self.c_avg,
            "suppressed": self.suppressed,
            "classes": self.classes,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Comparison:
    """The algorithms in the order they were asked for."""

    compared: tuple[Compared, ...]
    rows: int
    limit: int
    engine: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "compared": [item.to_dict() for item in self.compared],
            "rows": self.rows,
            "limit": self.limit,
            "engine": self.engine,
        }

    def _repr_html_(self) -> str:
        rows = [(item.algorithm, item.reason or f"loss {item.scores['loss']:.6g}") for item in self.compared]
        return html_table("sqlanon comparison", rows)


def compare(spec: Spec, algorithms: Sequence[str], options: Options = DEFAULT) -> Comparison:
    """Plan a spec by each of these algorithms."""
    for name in algorithms:
        if name not in ALGORITHMS:
            raise UsageError(f"no algorithm '{name}'; there are {', '.join(ALGORITHMS)}")
        if spec.privacy.personalized is not None and name not in PERSONALIZED:
            raise UsageError(f"{name} does not hold privacy.personalized; {' and '.join(PERSONALIZED)} do")
    found: list[Compared] = []
    rows, engine = 0, ""
    for name in algorithms:
        search = spec.search.model_copy(update={"algorithm": name})
        own = spec.model_copy(update={"search": search})
        for path, message in honoured_findings(own, *PROMISES):
            raise UsageError(f"{written_path(path)}: {message}")
        item, rows, engine = _compared(own, options)
        found.append(item)
    return Comparison(tuple(found), rows, spec.privacy.most_suppressed.rows(rows), engine)


def _compared(spec: Spec, options: Options) -> tuple[Compared, int, str]:
    name = spec.search.algorithm
    with running(spec, options) as run:
        requirement_for(run)
        started = perf_counter()
        base = scan(run.engine, run.binding, run.scratch)
        stored = store_hierarchies(run.engine, run.binding, base, run.scratch)
        full_domain = recoder_named(name) is None
        # Beside the frequency set, which takes the place of the scan.
        made = combine(run.engine, run.binding, base, stored, run.scratch) if full_domain else None
        try:
            plan = decide(run, base, stored, None).plan
        except InfeasibleError as error:
            return Compared(name, reason=str(error)), base.rows, run.engine.name
        seconds = perf_counter() - started
        if made is not None:
            released = Iterations(run, made, stored).at(plan.chosen.node)
            scores, suppressed, classes = released.scores, released.suppressed, released.classes
        elif isinstance(plan, RecodedPlan):
            scores, suppressed, classes = plan.scores, plan.chosen.suppressed, plan.chosen.classes
        else:
            raise TypeError("a recoder's plan has the scores of its recoding")
        item = Compared(name, scores, base.rows, suppressed, classes, run.binding.k, seconds)
        return item, base.rows, run.engine.name
