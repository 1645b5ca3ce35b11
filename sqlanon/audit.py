"""The auditor: measures a table as it stands, from its published values alone.

Used on every staging table before it is published, and on any table at all, also one that sqlanon never made. It
reads counts, never values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError
from sqlanon.notebook import html_table
from sqlanon.sqlgen import audit as audit_sql
from sqlanon.sqlgen.build import row_count
from sqlanon.sqlgen.relations import Relation, column


@dataclass(frozen=True)
class Bucket:
    """Classes whose size lies in [low, high]; high is None for the last bucket."""

    low: int
    high: int | None
    classes: int
    rows: int


@dataclass(frozen=True)
class AuditResult:
    """What was measured, and whether it satisfies what was asked."""

    table: str
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
    suppressed: int | None = None
    """Rows of the source that the table lacks, where the source is known."""

    @property
    def satisfied(self) -> bool:
        return self.rows > 0 and self.k >= self.required_k

    @property
    def violations(self) -> list[str]:
        """One line for each requirement that does not hold."""
        if self.rows == 0:
            return ["the table has no rows"]
        if self.k >= self.required_k:
            return []
        at_risk = f"{self.rows_at_risk} of {self.rows} rows at risk; the smallest class has {self.k}"
        below = f"{self.classes_at_risk} of {self.classes} classes have fewer than {self.required_k} rows"
        return [f"k: {below} ({at_risk})"]

    @property
    def average_risk(self) -> float:
        """The mean chance of re-identification within a class: classes over rows."""
        return self.classes / self.rows if self.rows else 0.0

    def _repr_html_(self) -> str:
        rows = [
            ("rows", str(self.rows)),
            ("classes", str(self.classes)),
            ("smallest class", str(self.k)),
            ("rows at risk", str(self.rows_at_risk)),
            ("satisfied", "yes" if self.satisfied else "no"),
        ]
        return html_table(f"sqlanon audit {self.table}", rows)

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "largest_class": self.largest,
            "average_class": self.rows / self.classes if self.classes else 0.0,
            "required": {"k": self.required_k},
            "rows_at_risk": self.rows_at_risk,
            "classes_at_risk": self.classes_at_risk,
            "highest_risk": 1 / self.k if self.k else None,
            "average_risk": self.average_risk,
            "suppressed": self.suppressed,
            "distribution": [
                {"from": bucket.low, "to": bucket.high, "classes": bucket.classes, "rows": bucket.rows}
                for bucket in self.distribution
            ],
            "l": {},
            "t": {},
            "satisfied": self.satisfied,
            "violations": self.violations,
        }


def audit(
    engine: Engine, table: Relation, quasi_identifier: Sequence[str], k: int, *, source: Relation | None = None
) -> AuditResult:
    """Measure k-anonymity of `table` over its quasi-identifier. With `source`, count what was suppressed too."""
    known = {info.name: info for info in engine.columns(table)}
    unknown = [name for name in quasi_identifier if name not in known]
    if unknown:
        raise SourceError(f"{table} has no column '{unknown[0]}'")
    keys = [engine.traits.key(column(name, "audited"), known[name].family) for name in quasi_identifier]
    relation = engine.traits.relation(table, "audited")
    [row] = engine.query(Statement("audit", audit_sql.k_anonymity(relation, keys, k)))
    rows, classes, smallest, largest, classes_at_risk, rows_at_risk, *buckets = (int(value or 0) for value in row)
    return AuditResult(
        table=str(table),
        rows=rows,
        classes=classes if rows else 0,
        k=smallest,
        largest=largest,
        required_k=k,
        classes_at_risk=classes_at_risk if rows else 0,
        rows_at_risk=rows_at_risk,
        distribution=_buckets(buckets) if rows else (),
        suppressed=None if source is None else _row_count(engine, source) - rows,
    )


def _row_count(engine: Engine, relation: Relation) -> int:
    query = row_count(engine.traits.relation(relation, "source"))
    return int(engine.query(Statement("count source rows", query))[0][0])


def _buckets(numbers: Sequence[int]) -> tuple[Bucket, ...]:
    lows = audit_sql.BUCKETS
    highs = [low - 1 for low in lows[1:]] + [None]
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return tuple(
        Bucket(low, high, classes, rows)
        for low, high, (classes, rows) in zip(lows, highs, pairs, strict=True)
        if classes
    )
