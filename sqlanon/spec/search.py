"""How the generalization is looked for: algorithm, measure, preferences, constraints and budget.

Pure. Which algorithms there are and what each one honours stands in the table of algorithms.
The table of metrics is here: what `search.metric` may name. A new one is its file in `metrics/` and its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    Field,
    PlainSerializer,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_validator,
)

from sqlanon.hierarchies.definition import Definition, Real, Whole
from sqlanon.spec.algorithms import ALGORITHMS, inside_local, names_of
from sqlanon.spec.amounts import SuppressionLimit
from sqlanon.spec.columns import LevelNumber, Weight
from sqlanon.spec.rules import ColumnName


@dataclass(frozen=True)
class MetricRow:
    """One metric of the table."""

    name: str
    made_by: str
    """The class, as module:name."""
    sentence: str
    """For the docs."""

    def load(self) -> Any:
        """The class itself."""
        module, _, name = self.made_by.partition(":")
        return getattr(import_module(module), name)


METRICS: dict[str, MetricRow] = {
    row.name: row
    for row in (
        MetricRow("height", "sqlanon.metrics.height:Height", "Steps of generalization, added up over the columns."),
        MetricRow("loss", "sqlanon.metrics.loss:Loss", "Shares of the columns' domains that labels cover."),
        MetricRow("entropy", "sqlanon.metrics.entropy:Entropy", "Bits that generalized and suppressed rows lose."),
        MetricRow("entropy*", "sqlanon.metrics.entropy:EntropyStar", "Bits that generalized rows lose."),
        MetricRow("dm", "sqlanon.metrics.discernibility:Discernibility", "Sizes of classes, row by row."),
        MetricRow("dm*", "sqlanon.metrics.discernibility:DiscernibilityStar", "The same, suppressed rows by class."),
        MetricRow("aecs", "sqlanon.metrics.aecs:AverageClassSize", "The average size of a class."),
        MetricRow("precision", "sqlanon.metrics.precision:Precision", "The mean relative level of the cells."),
        MetricRow("hdm", "sqlanon.metrics.hdm:HierarchicalDiscernibility", "A penalty between 0 and 1 for each cell."),
    )
}


def metrics_table() -> list[str]:
    """The metrics as the lines of a Markdown table."""
    return ["| metric | what it adds up |", "| --- | --- |"] + [
        f"| `{row.name}` | {row.sentence} |" for row in METRICS.values()
    ]


Positive = Annotated[Real, Field(gt=0)]
if TYPE_CHECKING:
    Algorithm = str
    InsideLocal = str
    Metric = str
else:
    Algorithm = Literal[tuple(ALGORITHMS)]
    Metric = Literal[tuple(METRICS)]
    InsideLocal = Literal[inside_local()]
Model = Literal["AG_TS", "AG_CS", "AG_", "CG_", "_TS", "_AS", "_CS"]
"""Attribute or cell generalization, or none, with tuple, attribute or cell suppression, or none (Samarati 2008)."""
CELL_MODELS = frozenset({"AG_CS", "CG_", "_CS"})
Preference = Literal[
    "minimum_suppression",
    "minimum_absolute_distance",
    "minimum_relative_distance",
    "minimum_weighted_distance",
    "maximum_distribution",
    "highest_absolute_peak",
    "lowest_absolute_peak",
    "highest_relative_peak",
    "lowest_relative_peak",
    "fewest_generalized",
    "most_generalized",
]


SEARCH_SECONDS = 600.0
"""How long a search takes at most, unless the spec says otherwise."""
LIFTED = "none"
"""What is written where no bound is wanted although there is one by default."""


def _lifted(value: Any, numbers: ValidatorFunctionWrapHandler) -> Any:
    return value if value == LIFTED else numbers(value)


if TYPE_CHECKING:
    Seconds = float | Literal["none"]
else:
    Seconds = Annotated[
        Positive,
        WrapValidator(_lifted),
        PlainSerializer(lambda seconds: seconds),
        WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": LIFTED}]}),
    ]
"""A number above 0, or `none` for no bound."""


class Budget(Definition):
    """When the search gives up."""

    nodes: Annotated[Whole, Field(ge=1)] | None = Field(None, description="Most nodes to evaluate. Default: no bound.")
    seconds: Seconds | None = Field(
        None, description=f"Longest time to search; none lifts the bound. Default: {SEARCH_SECONDS:g}."
    )

    @property
    def most_seconds(self) -> float | None:
        """The longest time to search, where there is a bound."""
        if self.seconds == LIFTED:
            return None
        return SEARCH_SECONDS if self.seconds is None else float(self.seconds)


class Constraints(Definition):
    """Nodes that may not be chosen, beyond the bounds in columns.*.levels."""

    before: tuple[tuple[ColumnName, ColumnName], ...] = Field(
        (), description="Pairs [a, b]: generalize a before b, both quasi-identifiers."
    )
    forbidden: tuple[Annotated[dict[ColumnName, LevelNumber], Field(min_length=1)], ...] = Field(
        (), description="Combinations of levels that may not be released, as {column: level, ...}."
    )

    @field_validator("before", mode="after")
    @classmethod
    def _check_cycles(cls, before: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        sorter: TopologicalSorter[str] = TopologicalSorter()
        for first, second in before:
            sorter.add(second, first)
        try:
            sorter.prepare()
        except CycleError:
            cyclic = True
        else:
            cyclic = False
        if cyclic:
            raise ValueError("the pairs contradict each other: a column would have to come before itself")
        return before


class Mondrian(Definition):
    """How algorithm mondrian cuts regions."""

    kind: Literal["strict", "relaxed"] = Field(
        "strict", description="strict: regions share no value. relaxed: they are cut further, within values."
    )
    cuts: Literal["guided", "ordered"] = Field(
        "guided",
        description="guided: branches of a hierarchy are cut apart first. ordered: the most even cut comes first.",
    )
    bounds: Literal["space", "values"] = Field(
        "space", description="space: regions cover all values together. values: labels end where values occur."
    )


class Local(Definition):
    """How algorithm local recodes what a node of the lattice would suppress."""

    algorithm: InsideLocal = Field("optimal", description="The search of every iteration.")
    leave: SuppressionLimit | None = Field(
        None,
        description="Most rows that the first iteration may leave to the next. Default: privacy.suppression.limit.",
    )
    iterations: Annotated[Whole, Field(ge=1)] = Field(50, description="Most iterations.")


class MuArgus(Definition):
    """How algorithm mu_argus tests combinations of columns."""

    binsize: Annotated[Whole, Field(ge=1)] | None = Field(
        None,
        description="Each combination of at most three values that is tested stands in at least so many rows. "
        "Default: privacy.k, which the release is held to over all quasi-identifiers whatever stands here.",
    )


class Search(Definition):
    """How to look for the generalization."""

    algorithm: Algorithm = Field("optimal", description="The search algorithm.")
    model: Model | None = Field(
        None,
        description="What may be generalized (AG: whole columns, CG: cells) and suppressed (TS: rows, AS: columns, "
        "CS: cells). Default: what the algorithm does.",
    )
    satisfies: Literal["counts", "matrix"] = Field(
        "counts", description="How samarati tests a node: by GROUP BY counts, or by the distance-vector matrix."
    )
    prefer: tuple[Preference, ...] = Field(
        (), description="Which of several minimal solutions to take, in order; ties break by vector order."
    )
    metric: Metric = Field("loss", description="What optimal minimizes.")
    weights: dict[ColumnName, Weight] = Field(
        default={}, description="Weights of quasi-identifiers; the same as weight at the column."
    )
    constraints: Constraints = Field(
        default=Constraints(before=(), forbidden=()), description="Nodes that may not be chosen."
    )
    mondrian: Mondrian = Field(
        default=Mondrian(kind="strict", cuts="guided", bounds="space"),
        description="How algorithm mondrian cuts regions.",
    )
    bounds: Literal["hierarchy", "values"] = Field(
        "hierarchy",
        description="Where ranges of a column end whose levels.min is above 0. hierarchy: at bounds of its labels at "
        "that level. values: at the least and the greatest value that occurs under them, which are somebody's.",
    )
    direction: Literal["auto", "bottom_up", "top_down"] = Field(
        "auto", description="Which end the exact search of a scheme starts from. Default: by k and the columns."
    )
    seed: Annotated[Whole, Field(ge=0)] = Field(0, description="What random choices of a search start from.")
    local: Local = Field(
        default=Local(algorithm="optimal", leave=None, iterations=50),
        description="How algorithm local recodes what a node of the lattice would suppress.",
    )
    mu_argus: MuArgus = Field(
        default=MuArgus(binsize=None), description="How algorithm mu_argus tests combinations of columns."
    )
    budget: Budget = Field(default=Budget(nodes=None, seconds=None), description="When the search gives up.")

    @model_validator(mode="before")
    @classmethod
    def _choose_algorithm(cls, values: Any) -> Any:
        """Cells are recoded by the forest, and the forest generalizes cells, where nothing else is said."""
        given = values if isinstance(values, dict) else {}
        model, algorithm = given.get("model"), given.get("algorithm")
        if isinstance(model, str) and model in CELL_MODELS and "algorithm" not in given:
            return {**given, "algorithm": "forest"}
        if isinstance(algorithm, str) and algorithm in names_of("cells") and "model" not in given:
            return {**given, "model": "CG_"}
        return values

    @field_validator("prefer", mode="after")
    @classmethod
    def _check_unique(cls, prefer: tuple[Preference, ...]) -> tuple[Preference, ...]:
        if len(set(prefer)) != len(prefer):
            raise ValueError("each preference may stand once")
        return prefer
