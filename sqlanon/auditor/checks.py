"""Requirements with their verdict: how many classes do not pass, how many rows those hold, the worst figure.

Pure. A sentence names the model, the column and counts, never a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Number = int | float


@dataclass(frozen=True)
class Question:
    """A requirement in words, before anything is measured."""

    model: str
    """The key of the spec: k, l_diversity, t_closeness, ..."""
    asked: str
    """What is required, as `l = 3 (entropy)`."""
    complaint: str
    """What is said of classes that do not pass, as `have fewer than 3 values`."""
    worst: str
    """Words for the worst figure, as `the least is {}`."""
    column: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class Check:
    """A requirement, measured."""

    question: Question
    group: str
    """The quasi-identifier that it was asked of; empty where there is one."""
    classes: int
    classes_at_risk: int
    rows: int
    rows_at_risk: int
    measured: Number | None = None
    """The worst figure of all classes; None where it has no bound, or was not measured."""
    reason: str = ""
    """Why it could not be measured, and so does not hold."""

    @property
    def model(self) -> str:
        return self.question.model

    @property
    def column(self) -> str | None:
        return self.question.column

    @property
    def asked(self) -> str:
        return self.question.asked

    @property
    def satisfied(self) -> bool:
        return not self.reason and self.classes_at_risk == 0

    @property
    def name(self) -> str:
        """The model with what it is asked of.

        >>> Check(Question("l_diversity", "l = 3", "", "", "disease"), "patient", 7, 0, 9, 0).name
        'l_diversity disease of patient'
        """
        column = f" {self.column}" if self.column else ""
        return self.model + column + (f" of {self.group}" if self.group else "")

    @property
    def violation(self) -> str:
        """The one line that says what does not hold."""
        if self.reason:
            return f"{self.name}: {self.reason}"
        below = f"{self.classes_at_risk} of {self.classes} classes {self.question.complaint}"
        return f"{self.name}: {below} ({self.rows_at_risk} of {self.rows} rows at risk; {self.worst})"

    @property
    def worst(self) -> str:
        return self.question.worst.format(shown(self.measured))

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "column": self.column,
            "kind": self.question.kind,
            "group": self.group or None,
            "required": self.asked,
            "measured": self.measured,
            "classes_at_risk": self.classes_at_risk,
            "rows_at_risk": self.rows_at_risk,
            "satisfied": self.satisfied,
        }


def shown(figure: Number | None) -> str:
    """A figure for people.

    >>> shown(12), shown(2 / 3), shown(None), shown(float("inf"))
    ('12', '0.6667', 'unbounded', 'unbounded')
    """
    if figure is None or figure == float("inf"):
        return "unbounded"
    return str(figure) if isinstance(figure, int) else f"{figure:.4g}"
