"""Distinct l-diversity (chapter, section 5; Machanavajjhala et al.): every class holds at least l different values.

Answers homogeneity. Monotone like k-anonymity: merging classes only adds values, with and without suppression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import ALWAYS, Monotonicity, PrivacyModel, Sensitive
from sqlanon.sql.build import all_of, any_of, count, equal, total_where
from sqlanon.sql.relations import column, literal
from sqlanon.sql.values import Measures, View


@dataclass(frozen=True)
class DistinctDiversity(PrivacyModel):
    """At least `l` different values of a sensitive column in every class.

    With respondents, the values that only one person holds count once for that person, and never more than there are
    persons: nobody makes a class diverse alone. That is monotone too: a value held by two stays so, and where a
    person loses the last value that was theirs alone, that value has become one that two hold.
    """

    name: ClassVar[str] = "l_diversity"
    sensitive: Sensitive
    l: int  # noqa: E741 (the papers' name)

    @property
    def monotonicity(self) -> Monotonicity:
        return ALWAYS

    def measures(self) -> Measures:
        view = View.HOLDERS if self.sensitive.persons else View.NUMBER
        return Measures(self.sensitive.position, view, {self.sensitive.aggregate("distinct"): self._number_of_values()})

    def _number_of_values(self) -> exp.Expression:
        if not self.sensitive.persons:
            return count()
        one = equal(column("first"), column("last"))
        several = exp.NEQ(this=column("first"), expression=column("last"))
        held_alone = exp.GTE(this=column("alone"), expression=literal(1))
        shared = any_of([several, held_alone])
        only = exp.Case().when(all_of([one, equal(column("alone"), literal(0))]), column("first"))
        only_holders = exp.Count(this=exp.Distinct(expressions=[only]))
        return exp.Add(this=total_where(shared, literal(1)), expression=only_holders)

    def satisfied(self) -> exp.Expression:
        diverse = exp.GTE(this=self.sensitive.column("distinct"), expression=literal(self.l))
        if not self.sensitive.persons:
            return diverse
        return all_of([diverse, exp.GTE(this=column("size"), expression=literal(self.l))])

    def describe(self) -> dict[str, object]:
        return {"column": self.sensitive.name, "l": self.l, "kind": "distinct"}
