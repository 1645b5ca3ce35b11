"""What a report holds: plain data, without any value that has fewer than k rows behind it.

Sections that could not be made are None, and a note says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlanon.auditor import AuditResult, Sizes
from sqlanon.auditor.result import bucket_chart
from sqlanon.evaluation.explanation import Explanation
from sqlanon.notebook import html_table
from sqlanon.reports.lattice_view import LatticeView, SearchPicture
from sqlanon.reports.values import Branch, SensitiveShares


@dataclass(frozen=True)
class LevelLine:
    """One level of a column: what it does, and what it costs."""

    level: int
    released_as: str
    labels: int | None = None
    loss: float | None = None
    """0 at level 0, 1 at the top: the mean share of the domain that a label covers."""
    entropy: float | None = None
    """The share of the column's entropy that is lost."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "released_as": self.released_as,
            "labels": self.labels,
            "loss": self.loss,
            "entropy_lost": self.entropy,
        }


@dataclass(frozen=True)
class ColumnView:
    """A column of the quasi-identifier."""

    name: str
    level: int | None
    """None where the recoding has no levels."""
    height: int
    levels: tuple[LevelLine, ...]
    tree: Branch | None = None

    @property
    def chosen(self) -> LevelLine | None:
        return next((line for line in self.levels if line.level == self.level), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "level": self.level,
            "height": self.height,
            "levels": [line.to_dict() for line in self.levels],
            "tree": None if self.tree is None else self.tree.to_dict(),
        }


@dataclass(frozen=True)
class RequirementLine:
    """A requirement against what was measured of source and release."""

    name: str
    asked: str
    before: str
    after: str
    rows_before: int | None
    """Rows of the source in classes that do not satisfy it."""
    rows_after: int | None
    satisfied: bool | None
    """None where the release was not measured."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "requirement": self.name,
            "asked": self.asked,
            "before": self.before,
            "after": self.after,
            "rows_at_risk_before": self.rows_before,
            "rows_at_risk_after": self.rows_after,
            "satisfied": self.satisfied,
        }


@dataclass(frozen=True)
class Grid:
    """A table of another analysis, with a sentence about it; those of one section come together."""

    section: str
    title: str
    text: str
    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "section": self.section,
            "title": self.title,
            "rows": [dict(zip(self.heading, row, strict=True)) for row in self.rows],
        }


@dataclass(frozen=True)
class Identity:
    """Which release it is."""

    source: str
    target: str
    spec: str
    spec_hash: str
    recipient: str | None
    k: int
    limit: str
    respondent: str | None
    sensitive: tuple[str, ...]
    columns: tuple[str, ...]
    algorithm: str
    engine: str
    version: str
    made: str


@dataclass(frozen=True)
class Report:
    """A whole report."""

    identity: Identity
    figures: Mapping[str, Any]
    """What the lock file says of the plan."""
    decision: Mapping[str, str]
    """The decision in sentences: released, guaranteed, not guaranteed."""
    satisfied: bool | None
    published: bool | None
    requirements: tuple[RequirementLine, ...]
    rare_below: int
    """Values with fewer rows than this are not named."""
    before: Sizes | None = None
    after: Sizes | None = None
    audit: AuditResult | None = None
    sensitive: tuple[SensitiveShares, ...] = ()
    columns: tuple[ColumnView, ...] = ()
    lattice: LatticeView | None = None
    search: SearchPicture | None = None
    explanation: Explanation | None = None
    """Why this node; without any data value."""
    frontier: Mapping[str, Any] | None = None
    sql: str | None = None
    dialect: str = ""
    evidence: tuple[Mapping[str, Any], ...] = ()
    more: tuple[Grid, ...] = ()
    """Risk, attacks and utility, as far as they were measured."""
    notes: tuple[str, ...] = ()

    @property
    def absent(self) -> tuple[tuple[str, str], ...]:
        """The sections that are not there, each with the reason."""
        measured = self.before is not None
        unmeasured = None if measured else "it is measured with the database, and this report was made without"
        flexible = "kind" in {row[0] for grid in self.more if grid.section == "Recoding" for row in grid.rows}
        no_lattice = "the recoding gives no column one level for all its values" if flexible else None
        sections = {grid.section for grid in self.more}
        none_sensitive = None if self.identity.sensitive else "the spec names no sensitive column"
        there: tuple[tuple[str, object, str | None], ...] = (
            ("Class sizes", measured and self.after is not None and self.after.rows, unmeasured),
            ("Sensitive columns", self.sensitive, none_sensitive or unmeasured),
            ("Risk", "Risk" in sections, unmeasured),
            ("Attacks", "Attacks" in sections, none_sensitive or unmeasured),
            ("Utility", "Utility" in sections, unmeasured),
            ("Timeline", "Series" in sections, "the spec keeps no history of its releases"),
            ("Lattice", self.lattice, no_lattice),
            ("Why this node", self.explanation, no_lattice or unmeasured),
            ("Privacy against utility", self.frontier, no_lattice or unmeasured),
            ("Search", self.search, no_lattice or unmeasured),
            ("SQL", self.sql, unmeasured),
        )
        return tuple(
            (name, why or "there is nothing to show; see the notes") for name, found, why in there if not found
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "identity": vars(self.identity) | {"columns": list(self.identity.columns)},
            "decision": dict(self.decision),
            "satisfied": self.satisfied,
            "published": self.published,
            "figures": dict(self.figures),
            "requirements": [line.to_dict() for line in self.requirements],
            "sizes": {"before": _sizes(self.before), "after": _sizes(self.after)},
            "audit": None if self.audit is None else self.audit.to_dict(),
            "sensitive": [item.to_dict() for item in self.sensitive],
            "columns": [item.to_dict() for item in self.columns],
            "lattice": None if self.lattice is None else self.lattice.to_dict(),
            "search": None if self.search is None else self.search.to_dict(),
            "explain": None if self.explanation is None else self.explanation.to_dict(),
            "frontier": None if self.frontier is None else dict(self.frontier),
            "sql": self.sql,
            "evidence": [dict(item) for item in self.evidence],
            "more": [grid.to_dict() for grid in self.more],
            "absent": dict(self.absent),
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        satisfied = {True: "yes", False: "no", None: "not measured"}[self.satisfied]
        released = int(self.figures["rows"]) - int(self.figures["suppressed"])
        rows = [("satisfied", satisfied), ("released", f"{released} of {self.figures['rows']} rows")]
        rows += [(f"{line.name} ({line.asked})", f"{line.before} → {line.after}") for line in self.requirements]
        chart = "" if self.after is None else bucket_chart(self.after.distribution)
        return html_table(f"sqlanon report {self.identity.target}", rows) + chart


def _sizes(sizes: Sizes | None) -> dict[str, Any] | None:
    if sizes is None:
        return None
    return {
        "rows": sizes.rows,
        "classes": sizes.classes,
        "k": sizes.k,
        "largest": sizes.largest,
        "distribution": [
            {"from": item.low, "to": item.high, "classes": item.classes, "rows": item.rows}
            for item in sizes.distribution
        ],
    }
