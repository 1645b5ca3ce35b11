"""What a privacy model says of a class, and when search may reason from one node to another.

A model names the aggregates it needs of each class and a predicate over them, as SQL expressions. It states its
monotonicity; the search prunes only where that holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from sqlanon.sqlgen.build import all_of


class PrivacyModel(Protocol):
    """One requirement on every class of a release."""

    @property
    def name(self) -> str:
        """The key of the spec that states it."""

    @property
    def monotone(self) -> bool:
        """Merging classes, some of them failing, never leaves more rows to suppress."""

    @property
    def aggregates(self) -> Mapping[str, exp.Expression]:
        """Columns of a class beside `n`: aggregates over rows of the frequency set."""

    def satisfied(self) -> exp.Expression:
        """Whether a class satisfies the model, over `n` and the aggregates. Never NULL."""

    def describe(self) -> dict[str, object]:
        """The requirement as plain data, for lock files and evidence."""


@dataclass(frozen=True)
class Requirement:
    """All models that a release must satisfy, and the most rows it may suppress."""

    models: tuple[PrivacyModel, ...]

    @property
    def monotone(self) -> bool:
        return all(model.monotone for model in self.models)

    def aggregates(self) -> dict[str, exp.Expression]:
        return {name: value for model in self.models for name, value in model.aggregates.items()}

    def satisfied(self) -> exp.Expression:
        return all_of(model.satisfied() for model in self.models)

    def describe(self) -> dict[str, object]:
        return {model.name: model.describe() for model in self.models}
