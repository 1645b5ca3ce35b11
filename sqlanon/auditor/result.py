"""What an audit found: class sizes, figures of sensitive columns, a verdict on each requirement.

Plain results. Counts and figures only, never a value of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlanon.auditor.figures import (
    Check,
    ColumnFigures,
    PolicyCheck,
    PopulationFigures,
    column_sections,
    rounded,
    worst_of,
)
from sqlanon.auditor.statements.classes import BUCKETS
from sqlanon.notebook import bar_chart, html_table

if TYPE_CHECKING:
    from sqlanon.auditor.breaches import BreachFigures
    from sqlanon.auditor.consistency import Consistency


@dataclass(frozen=True)
class Bucket:
    """Classes whose size lies in [low, high]; high is None for the last bucket.

    `least` and `most` are as close as is known to the sizes that occur: at both ends of a distribution they are exact.
    """

    low: int
    high: int | None
    classes: int
    rows: int
    least: int
    most: int

    @property
    def label(self) -> str:
        """The sizes, in words."""
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"

    def to_dict(self) -> dict[str, Any]:
        return {"from": self.low, "to": self.high, "classes": self.classes, "rows": self.rows}


def buckets(found: Mapping[str, Any]) -> tuple[Bucket, ...]:
    """The occupied buckets, from the figures of class sizes by name."""
    smallest, largest = int(found["smallest"] or 0), int(found["largest"] or 0)
    occupied = []
    for low, following in zip(BUCKETS, (*BUCKETS[1:], None), strict=True):
        if not (classes := int(found[f"classes_from_{low}"])):
            continue
        high = None if following is None else following - 1
        most = largest if high is None else min(high, largest)
        occupied.append(Bucket(low, high, classes, int(found[f"rows_from_{low}"]), max(low, smallest), most))
    return tuple(occupied)


def average_risk(found: Mapping[str, Any]) -> float:
    """The mean over all rows of one over the size of their class, from the figures of class sizes by name."""
    rows = int(found["rows"] or 0)
    return (rounded(float(found["risk"]) / rows) or 0.0) if rows else 0.0


def bucket_chart(distribution: Sequence[Bucket]) -> str:
    """The rows in classes of each size, for a notebook; nothing of none."""
    bars = [(bucket.label, bucket.rows) for bucket in distribution]
    return bar_chart("rows by the size of their class", bars) if bars else ""


@dataclass(frozen=True)
class Sizes:
    """The classes of one quasi-identifier."""

    rows: int
    classes: int
    k: int
    """The size of the smallest class; 0 for a table without rows."""
    largest: int
    required_k: int
    classes_at_risk: int
    """Classes smaller than the required k."""
    rows_at_risk: int
    """Rows in those classes."""
    distribution: tuple[Bucket, ...]
    average_risk: float = 0.0
    """The mean chance of picking the right one in a class, over all rows."""
    persons: bool = False
    """Whether sizes are persons."""

    @property
    def unit(self) -> str:
        """What sizes count."""
        return "persons" if self.persons else "rows"

    @classmethod
    def empty(cls, required_k: int) -> Sizes:
        """The sizes of a table without rows: no class at all."""
        return cls(0, 0, 0, 0, required_k, 0, 0, ())


@dataclass(frozen=True)
class GroupResult:
    """One quasi-identifier of the table: its classes and what was measured of them."""

    name: str
    """Empty where the table has a single quasi-identifier."""
    columns: tuple[str, ...]
    sizes: Sizes
    figures: tuple[ColumnFigures, ...] = ()
    population: PopulationFigures | None = None
    checks: tuple[Check, ...] = ()
    consistency: Consistency | None = None
    """Which rows of source and table fit each other, where the source and its hierarchies are known."""
    labels: tuple[int, ...] | None = field(default=None, compare=False)
    """The answer to a question of labels, where it was asked along with the sizes."""

    @property
    def satisfied(self) -> bool:
        return all(check.satisfied for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        sizes = self.sizes
        content: dict[str, Any] = {
            "columns": list(self.columns),
            "classes": sizes.classes,
            "k": sizes.k,
            "required_k": sizes.required_k,
            "largest_class": sizes.largest,
            "classes_at_risk": sizes.classes_at_risk,
            "rows_at_risk": sizes.rows_at_risk,
            **column_sections(self.figures),
        }
        return content | (self.population.to_dict() if self.population else {})


@dataclass(frozen=True)
class AuditResult:
    """What was measured, and whether it satisfies what was asked.

    With several quasi-identifiers, the sizes here are those of the one with the smallest class, and the figures of
    sensitive columns are the worst of all.
    """

    table: str
    sizes: Sizes
    groups: tuple[GroupResult, ...]
    suppressed: int | None = None
    """Rows of the source that the table lacks, where the source is known."""
    respondents: int | None = None
    """Distinct persons, where persons were counted."""
    notes: tuple[str, ...] = ()
    """What could not be measured as asked."""
    policy: tuple[PolicyCheck, ...] = ()
    """What the spec asks beside the models, where a spec is known: columns, labels, suppression."""
    breaches: BreachFigures | None = None
    """Of guarding nodes, where the table was compared with the microdata."""
    by_person: bool = False
    """Whether the requirement is about persons: every figure says then what it counts."""
    asked: bool = True
    """Whether anything was required; figures without a requirement are no verdict."""

    @property
    def unit(self) -> str:
        """What k and the sizes of classes count: rows or persons."""
        return self.sizes.unit

    @property
    def said_unit(self) -> str:
        """What is said after a size: its unit where the requirement is about persons, else nothing."""
        return f" {self.unit}" if self.by_person else ""

    @property
    def shown(self) -> bool:
        """Whether what was counted is what the requirement is about: rows show nothing of persons."""
        # Breach probabilities are counted in the microdata, which has the key of the persons.
        return not self.by_person or self.sizes.persons or self.breaches is not None

    @property
    def verdict(self) -> bool | None:
        """Whether the requirement holds; None where nothing was required of a table that has rows, or nothing shown."""
        if self.rows and not self.violations and not (self.asked and self.shown):
            return None
        return self.satisfied

    @property
    def rows(self) -> int:
        return self.sizes.rows

    @property
    def classes(self) -> int:
        return self.sizes.classes

    @property
    def k(self) -> int:
        """The size of the smallest class; 0 for a table without rows."""
        return self.sizes.k

    @property
    def largest(self) -> int:
        return self.sizes.largest

    @property
    def required_k(self) -> int:
        return self.sizes.required_k

    @property
    def classes_at_risk(self) -> int:
        return self.sizes.classes_at_risk

    @property
    def rows_at_risk(self) -> int:
        return self.sizes.rows_at_risk

    @property
    def distribution(self) -> tuple[Bucket, ...]:
        return self.sizes.distribution

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every requirement with its verdict."""
        return tuple(check for group in self.groups for check in group.checks)

    @property
    def figures(self) -> tuple[ColumnFigures, ...]:
        """The figures of each sensitive column, the worst of all quasi-identifiers."""
        return worst_of([group.figures for group in self.groups])

    @property
    def population(self) -> PopulationFigures | None:
        """The figures against the population, the worst of all quasi-identifiers."""
        found = [group.population for group in self.groups if group.population is not None]
        return PopulationFigures.worst(found) if found else None

    @property
    def consistency(self) -> Consistency | None:
        """Which rows of source and table fit each other; only of a single quasi-identifier."""
        return self.groups[0].consistency if len(self.groups) == 1 else None

    @property
    def labels(self) -> tuple[int, ...] | None:
        """The answer to a question of labels, where it was asked along; only of a single quasi-identifier."""
        return self.groups[0].labels if len(self.groups) == 1 else None

    @property
    def satisfied(self) -> bool:
        """Whether everything that was required is shown to hold; a measurement without a requirement passes."""
        return not self.violations and (self.shown or not self.asked)

    @property
    def violations(self) -> list[str]:
        """One line for each requirement that does not hold."""
        if self.rows == 0:
            return ["the table has no rows"]
        unmet = [check.violation for check in self.checks if not check.satisfied]
        return unmet + [check.complaint for check in self.policy if not check.satisfied]

    @property
    def average_risk(self) -> float:
        """The mean over all rows of one over the size of their class."""
        return self.sizes.average_risk

    def _repr_html_(self) -> str:
        return html_table(f"sqlanon audit {self.table}", list(self._facts())) + bucket_chart(self.distribution)

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "rows", str(self.rows)
        if self.respondents is not None:
            yield "persons", str(self.respondents)
        yield "classes", str(self.classes)
        yield "smallest class", f"{self.k}{self.said_unit}"
        if self.asked:
            yield "rows at risk", str(self.rows_at_risk)
        for check in self.checks:
            if check.model != "k":
                yield check.name, f"{check.asked}: {'yes' if check.satisfied else 'no'}"
        undecided = "not shown: rows were counted, not persons" if self.asked else "nothing was required"
        yield "satisfied", {True: "yes", False: "no", None: undecided}[self.verdict]

    def _requirement(self, check: Check) -> dict[str, Any]:
        """A requirement with its verdict; None where rows hold to it, and persons were asked for."""
        return check.to_dict() | ({"satisfied": None} if check.satisfied and not self.shown else {})

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "largest_class": self.largest,
            "average_class": self.rows / self.classes if self.classes else 0.0,
            "counted": self.unit,
            "required": {"k": self.required_k if self.asked else None},
            "rows_at_risk": self.rows_at_risk,
            "classes_at_risk": self.classes_at_risk,
            "highest_risk": 1 / self.k if self.k else None,
            "average_risk": self.average_risk,
            "suppressed": self.suppressed,
            "respondents": self.respondents,
            "distribution": [bucket.to_dict() for bucket in self.distribution],
            **column_sections(self.figures),
            **(self.population.to_dict() if self.population else {"k_map": None, "delta_presence": None}),
            "consistency": None if self.consistency is None else self.consistency.to_dict(),
            **({} if self.breaches is None else {"personalized": self.breaches.to_dict()}),
            "groups": {group.name: group.to_dict() for group in self.groups if group.name},
            "requirements": [self._requirement(check) for check in self.checks] if self.asked else [],
            "policy": [check.to_dict() for check in self.policy],
            "notes": list(self.notes),
            "satisfied": self.verdict,
            "violations": self.violations,
        }
