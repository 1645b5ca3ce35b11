"""Several algorithms on one spec, side by side: what each release would cost, by the same measures.

Every one is planned as if the spec named it; nothing is published, no lock file written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.notebook import html_table
from sqlanon.planning.decision import decide
from sqlanon.recoding.base import requirement_for
from sqlanon.recoding.local import Iterations
from sqlanon.recoding.registry import recoder_named
from sqlanon.release.results import RecodedPlan
from sqlanon.source.combinations import combine
from sqlanon.source.frequency import scan, store_hierarchies
from sqlanon.source.run import DEFAULT, Options, running
from sqlanon.spec import Spec
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.spec.honoured import honoured_findings
from sqlanon.spec.load import written_path
from sqlanon.spec.personalized import ALGORITHMS as PERSONALIZED

MEASURES = ("loss", "dm", "hdm")
PROMISES = ("levels", "constraints", "blank")
"""Keys that a release must honour to be compared with others, and that recoders do not refuse themselves."""


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
    return Comparison(tuple(found), rows, spec.privacy.suppression.limit.rows(rows), engine)


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
