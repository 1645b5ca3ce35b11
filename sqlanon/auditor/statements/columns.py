"""The statement that measures one sensitive column of a table: one scan of it, however many models are asked.

`domain` and `reference` (audit_values), `weighed` (audit_cells), `sorted` (audit_distances), then `measured`: one row
per class with what the models of audit_models read. The answer is one row of figures and counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlanon.auditor.statements import models, side_by_side
from sqlanon.auditor.statements.cells import cells
from sqlanon.auditor.statements.distances import sorted_cells
from sqlanon.auditor.statements.steps import Steps, statement, step
from sqlanon.auditor.statements.values import Values, reference_queries
from sqlanon.auditor.statements.words import NARROW, WIDE
from sqlanon.sql.build import equal, named, total, total_where
from sqlanon.sql.relations import column, literal

SAFE = 2**61
"""Products of counts up to this fit a 64-bit number, with room for rows that are inserted meanwhile."""


@dataclass(frozen=True)
class Domain:
    """What is known of a column before it is measured."""

    rows: int
    reference_rows: int
    values: int
    has_null: bool

    @property
    def kind(self) -> str:
        """The type that holds the product of two counts."""
        return NARROW if self.rows * self.reference_rows < SAFE else WIDE


@dataclass
class ColumnStatement:
    """Aggregates of a class, figures over all classes and tests of each, gathered into one statement."""

    values: Values
    keys: Sequence[exp.Expression]
    domain: Domain
    aggregates: dict[str, exp.Expression] = field(default_factory=dict)
    figures: dict[str, exp.Expression] = field(default_factory=dict)
    ranked: bool = False

    @property
    def held(self) -> str:
        """How many of a class have a value: persons may have several."""
        return "held" if self.values.persons else "members"

    @property
    def reference(self) -> str:
        return "held_reference" if self.values.persons else "reference"

    @property
    def rows(self) -> str:
        """The column of a class's rows."""
        return "rows" if self.values.persons else "size"

    def __post_init__(self) -> None:
        distinct = models.distinct_values(persons=self.values.persons)
        self.aggregates |= {
            "total": exp.Max(this=column("total")),
            "counted": exp.Sum(this=column("members")),
            "distinct": distinct,
            "different": models.different_values() if self.values.persons else distinct.copy(),
            "weight": models.weight(),
            "most": exp.Max(this=column("members")),
            "most_held": exp.Max(this=column(self.held)),
            "excess": exp.Sum(this=models.excess(self.domain.kind)),
            "lift_greatest": exp.Max(this=models.lift(self.held)),
            "lift_least": exp.Min(this=models.lift(self.held)),
            "outside": models.outside(self.held, self.reference) if self.values.source is not None else literal(0),
        }
        self.figures |= {
            "uncounted": total_where(exp.NEQ(this=column("counted"), expression=column("size")), literal(1)),
            "distinct": exp.Min(this=column("distinct")),
            "entropy": exp.Min(this=models.entropy()),
            "largest_share": exp.Max(this=models.share("most_held")),
            "equal": exp.Max(this=models.distance("excess", literal(1))),
            "ratio_greatest": exp.Max(this=models.ratio("lift_greatest")),
            "ratio_least": exp.Min(this=models.ratio("lift_least")),
            "outside": total(column("outside")),
        }

    def test(self, name: str, passes: exp.Expression) -> None:
        """Count the classes that do not pass, and their rows."""
        for figure, value in (("classes", literal(1)), ("rows", column(self.rows))):
            failing = exp.Case().when(passes.copy(), literal(0)).else_(value)
            self.figures[f"{figure}_failing_{name}"] = total(failing)

    def sql(self) -> exp.Select:
        """The whole statement; its one row has the figures in their order."""
        height = 0 if self.values.taxonomy is None else self.values.taxonomy.height
        sorts = self.ranked or self.values.ordered or height > 0
        queries = reference_queries(self.values)
        if self.domain.values <= side_by_side.MOST_VALUES and not sorts and not self.values.persons:
            queries |= self._side_by_side()
        else:
            queries |= cells(self.values.audited, self.keys)
            if sorts:
                queries |= sorted_cells(ranked=self.ranked, ordered=self.values.ordered, height=height)
            queries["measured"] = self._measured("sorted" if sorts else "weighed")
        answer = exp.select(*self.figures.values()).from_(step("measured"), copy=False)
        return statement(answer, queries)

    def _side_by_side(self) -> Steps:
        flags = [f"flag_{position}" for position in range(len(self.values.flagged))]
        columns = ("total", "reference_values", "reference", "divisor", *flags)
        number = self.domain.values
        queries = side_by_side.steps(self.values.audited, self.keys, columns, number, has_null=self.domain.has_null)
        items = [named(side_by_side.in_columns(value, number), alias) for alias, value in self.aggregates.items()]
        queries["measured"] = exp.select(column("size"), *items).from_(step("side_by_side"), copy=False)
        return queries

    def _measured(self, name: str) -> exp.Select:
        keys = ["class", "size", *(["rows"] if self.values.persons else [])]
        items = [named(value, alias) for alias, value in self.aggregates.items()]
        select = exp.select(*(column(key) for key in keys), *items).from_(step(name), copy=False)
        return select.group_by(*(column(key) for key in keys), copy=False)


def lacks_no_value() -> exp.Expression:
    """Every value of the reference is in the class."""
    return equal(column("shared"), column("reference_values"))
