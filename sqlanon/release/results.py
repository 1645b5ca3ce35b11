"""What the commands return: typed results with plain-data and notebook forms.

Plain data; no database, no terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlanon.auditor.result import bucket_chart
from sqlanon.errors import RequirementError
from sqlanon.metrics.base import Verdict, accuracy, completeness
from sqlanon.notebook import html_table
from sqlanon.recoding import Assigned, Cuts, FullDomain, Recoding

if TYPE_CHECKING:
    from sqlanon.auditor import AuditResult, Bucket
    from sqlanon.evaluation.explanation import Explanation
    from sqlanon.hierarchies.lattice import Node
    from sqlanon.release.publication import Publication
    from sqlanon.release.series.tracks import HistoryFigures
    from sqlanon.search.base import SearchResult


@dataclass(frozen=True)
class PlannedSeries:
    """What a ledger would do to a release of what was planned, and to one of the recoding that stands."""

    new: HistoryFigures | None
    """With the recoding that was found; None where it cannot be released."""
    kept: HistoryFigures | None = None
    """With the recoding of the lock file; None where there is none, or it no longer holds."""
    reason: str | None = None
    """Why nothing is kept, or nothing was counted."""
    same: bool = False
    """Both are one recoding."""

    @property
    def keeps(self) -> bool:
        """Whether the recoding of the lock file stays: another one moves people from class to class."""
        return self.kept is not None and not self.same

    def lines(self) -> tuple[str, ...]:
        """For people."""
        found = [("this recoding", self.new)]
        if self.kept is not None and not self.same:
            found.insert(0, ("the recoding of the lock file", self.kept))
        lines = [
            f"{what}: {figures.deferred} newcomers wait, {figures.covered} leave with others"
            for what, figures in found
            if figures is not None
        ]
        return (*lines, *([] if self.reason is None else [self.reason]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "keeps": self.keeps,
            "kept": None if self.kept is None else self.kept.to_dict(),
            "new": None if self.new is None else self.new.to_dict(),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class PlanResult:
    """What a search decided."""

    columns: tuple[str, ...]
    heights: Node
    rows: int
    limit: int
    combinations: int
    """Distinct combinations of the quasi-identifier: the size of the frequency set."""
    requirement: Mapping[str, Any]
    hierarchies: Mapping[str, Mapping[str, Any]]
    search: SearchResult
    engine: str
    seconds: Mapping[str, float]
    fingerprint: str = ""
    """Fingerprint of the frequency set that was searched."""
    verdicts: tuple[Verdict, ...] = ()
    """What the database said of every node it was asked for, now or in the plan before."""
    warnings: tuple[str, ...] = ()
    """What somebody should look at before a release."""
    source: Mapping[str, str] = field(default_factory=dict)
    """The columns of the source that the release reads, each with the kind of its values."""
    sizes: tuple[Bucket, ...] = ()
    """How large the classes of what was chosen are, before anything is suppressed; empty where that is not known."""
    explanation: Explanation | None = None
    """Why this node, where that was asked for."""
    series: PlannedSeries | None = None
    """What a ledger would hold back, where one is kept."""

    @property
    def chosen(self) -> Verdict:
        return self.search.chosen

    @property
    def satisfied(self) -> bool:
        """Whether what was decided may be published: certain where the algorithm itself sees to the requirement."""
        return self.chosen.suppressed <= self.limit

    def require_satisfied(self) -> None:
        """RequirementError where what was decided may not be published."""

    @property
    def recoding(self) -> Recoding:
        """What is to be published."""
        return FullDomain(self.columns, self.chosen.node)

    @property
    def flexible(self) -> Cuts | Assigned | None:
        """The recoding where levels of the spec's hierarchies do not say it."""
        return None

    @property
    def levels(self) -> dict[str, int]:
        """The level of each column; empty where columns have no one level."""
        return self.recoding.levels()

    def figures(self) -> dict[str, Any]:
        """What the plan found, without what only this run took: the part that a lock file keeps."""
        node = self.chosen.node
        return {
            "height": sum(node),
            "rows": self.rows,
            "suppressed": self.chosen.suppressed,
            "limit": self.limit,
            "classes": self.chosen.classes,
            "minimal": [list(vector) for vector in self.search.minimal],
            "minimal_complete": self.search.minimal_complete,
            "ties": [list(vector) for vector in self.search.ties],
            "score": {self.search.metric: self.search.score},
            "accuracy": accuracy(node, self.heights),
            "completeness": completeness(self.chosen.suppressed, self.rows),
            "lattice": self.search.lattice,
            "algorithm": self.search.algorithm,
            "proven": self.search.proven,
            "gap": self.search.gap,
            "undecided": self.search.undecided,
            "verified": self.search.verified,
            "satisfied": self.satisfied,
        }

    def nodes(self) -> list[dict[str, Any]]:
        """Every node reported, in vector order, with its data quality; None where the budget left it unmeasured."""
        known = {**self.search.verdicts, self.chosen.node: self.chosen}
        reported = sorted({self.chosen.node, *self.search.ties, *self.search.minimal})
        return [self._node(node, known.get(node)) for node in reported]

    def _node(self, node: Node, verdict: Verdict | None) -> dict[str, Any]:
        return {
            "levels": list(node),
            "suppressed": None if verdict is None else verdict.suppressed,
            "classes": None if verdict is None else verdict.classes,
            "accuracy": accuracy(node, self.heights),
            "completeness": None if verdict is None else completeness(verdict.suppressed, self.rows),
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "levels": self.levels,
            "recoding": self.recoding.outline(),
            **self.figures(),
            "nodes": self.nodes(),
            "acceptable": None if self.search.acceptable is None else len(self.search.acceptable),
            "acceptable_nodes": None if self.search.acceptable is None else list(map(list, self.search.acceptable)),
            "checks": self.search.checks,
            "combinations": self.combinations,
            "requirement": dict(self.requirement),
            "hierarchies": {name: dict(hierarchy) for name, hierarchy in self.hierarchies.items()},
            "trace": [dict(step) for step in self.search.trace],
            "warnings": list(self.warnings),
            "distribution": [bucket.to_dict() for bucket in self.sizes],
            "seconds": dict(self.seconds),
            "engine": self.engine,
            **({} if self.explanation is None else {"explain": self.explanation.to_dict()}),
            **({} if self.series is None else {"series": self.series.to_dict()}),
        }

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{level} of {height}")
            for (name, level), height in zip(self.levels.items(), self.heights, strict=True)
        ]
        rows += [
            ("suppressed", f"{self.chosen.suppressed} of {self.rows} rows"),
            ("classes", f"{self.chosen.classes}"),
            (self.search.metric, f"{self.search.score:.6g}"),
        ]
        return html_table("sqlanon plan", rows) + bucket_chart(self.sizes)


@dataclass(frozen=True)
class RecodedPlan(PlanResult):
    """What a recoder decided: a release that is not full-domain. Its one node has no levels."""

    decided: Cuts | Assigned = field(kw_only=True)
    scores: Mapping[str, float] = field(kw_only=True)
    """Cost by measure."""
    gap: float | None = field(default=None, kw_only=True)
    """How much better an answer could be at most, relative to this one; None: no bound is known."""
    audit: AuditResult | None = field(default=None, kw_only=True)
    """What the audit says of the release, where the algorithm itself does not see to the requirement."""

    @property
    def satisfied(self) -> bool:
        return super().satisfied and (self.audit is None or self.audit.satisfied)

    def require_satisfied(self) -> None:
        if self.audit is not None and not self.satisfied:
            reason = next(iter((*self.audit.violations, *self.audit.notes)), "it was not measured")
            raise RequirementError(
                f"{self.search.algorithm} failed the audit over all columns (k = {self.audit.k}), and nothing was "
                f"published: {reason}"
            )

    @property
    def recoding(self) -> Recoding:
        return self.decided

    @property
    def flexible(self) -> Cuts | Assigned | None:
        return self.decided

    def figures(self) -> dict[str, Any]:
        return {
            "height": None,
            "rows": self.rows,
            "suppressed": self.chosen.suppressed,
            "limit": self.limit,
            "classes": self.chosen.classes,
            "minimal": [],
            "minimal_complete": False,
            "ties": [],
            "score": dict(self.scores),
            "completeness": completeness(self.chosen.suppressed, self.rows),
            "lattice": self.search.lattice,
            "algorithm": self.search.algorithm,
            "proven": self.search.proven,
            "gap": self.gap,
            "undecided": self.search.undecided,
            "verified": self.search.verified,
            "satisfied": self.satisfied,
        }

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), **({} if self.audit is None else {"audit": self.audit.to_dict()})}

    def nodes(self) -> list[dict[str, Any]]:
        """There is no lattice of nodes."""
        return []

    def _repr_html_(self) -> str:
        rows = [
            ("algorithm", self.search.algorithm),
            ("suppressed", f"{self.chosen.suppressed} of {self.rows} rows"),
            ("classes", f"{self.chosen.classes}"),
            *((name, f"{score:.6g}") for name, score in self.scores.items()),
        ]
        return html_table("sqlanon plan", rows) + bucket_chart(self.sizes)


@dataclass(frozen=True)
class RunResult:
    """What was published; `plan` is None when a lock file had decided."""

    target: str
    recoding: Recoding
    publication: Publication
    plan: PlanResult | None
    engine: str
    seconds: Mapping[str, float]
    run: str = field(default="", kw_only=True)
    """The id of the run, by which its evidence is found."""
    evidence: str | None = field(default=None, kw_only=True)
    """The file of its evidence, where one is written."""
    reused: bool | None = field(default=None, kw_only=True)
    """Whether the plan of a lock file was used again, where that was asked for."""
    reason: str | None = field(default=None, kw_only=True)
    """Why the plan of the lock file was not used again."""
    warnings: tuple[str, ...] = field(default=(), kw_only=True)
    """What was found otherwise than a lock file says."""

    @property
    def levels(self) -> dict[str, int]:
        """The level of each column; empty where columns have no one level."""
        return self.recoding.levels()

    @property
    def audit(self) -> AuditResult:
        return self.publication.audit

    def to_dict(self) -> dict[str, Any]:
        planned = {} if self.plan is None else self.plan.to_dict()
        return {
            **planned,
            "target": self.target,
            "levels": self.levels,
            "recoding": self.recoding.outline(),
            "height": sum(self.levels.values()) if self.levels else None,
            "rows": self.publication.rows,
            "suppressed": self.publication.suppressed,
            "blanked": self.publication.blanked,
            "released": self.audit.rows,
            "classes": self.audit.classes,
            "audit": self.audit.to_dict(),
            "swap": self.publication.swap,
            **({} if self.publication.history is None else {"history": self.publication.history.to_dict()}),
            **({} if self.publication.difference is None else {"difference": self.publication.difference.to_dict()}),
            "run": self.run,
            "evidence": self.evidence,
            **({} if self.reused is None else {"reused": self.reused, "reason": self.reason}),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
            "seconds": dict(self.seconds),
            "engine": self.engine,
        }

    def _repr_html_(self) -> str:
        rows = [(name, str(level)) for name, level in self.levels.items()]
        rows += [
            ("released", f"{self.audit.rows} of {self.publication.rows} rows"),
            ("smallest class", str(self.audit.k)),
            ("satisfied", "yes" if self.audit.satisfied else "no"),
        ]
        return html_table(f"sqlanon release {self.target}", rows) + bucket_chart(self.audit.distribution)
