"""A measure of a release: figures the database sums per node, a score, and lower bounds known beforehand.

Sees nodes, verdicts and static figures of levels; makes expressions over the relation `classes`, runs none. Products
are taken in types wide enough that every engine returns the same number. The search trusts every bound here. Accuracy
and completeness are Samarati's words for the quality of a release (2001, section 6).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar

from sqlglot import exp

from sqlanon.errors import UsageError
from sqlanon.hierarchies.lattice import Node
from sqlanon.sql.relations import Table, column, identifier, literal, table_expression


@dataclass(frozen=True)
class Verdict:
    """What the database said of one node."""

    node: Node
    suppressed: int
    """Rows of all classes that fail the requirement: the minimal required suppression."""
    classes: int
    """Classes that satisfy the requirement."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Sums that metrics compute scores from; filled by `measure`, empty after `check`."""
    least: int = 0
    """Rows that this node and all below it suppress at least, where the requirement itself is not monotone."""

    def floor(self, monotone: bool) -> int:
        """Rows that every node below this one suppresses at least."""
        return self.suppressed if monotone else self.least


@dataclass(frozen=True)
class LevelFigures:
    """What one column at one level costs over all rows, whatever the other columns do."""

    share: float
    """Sum over rows of (leaves under the generalized value / leaves of the hierarchy)."""
    entropy: float
    """Non-uniform entropy: minus the sum over rows of log2(f(value) / f(generalized value))."""
    hdm: float
    """Hierarchical discernibility (Li and Li 2007): sum over rows of (f(generalized) - f(value)) / (N - f(value))."""
    values: int
    """Distinct generalized values."""
    largest_share: float = 1.0
    """The largest share of any generalized value: leaves under it / leaves of the hierarchy. 1 when not known."""


@dataclass(frozen=True)
class Context:
    """Everything a metric may know without a query."""

    rows: int
    heights: Node
    leaves: tuple[int, ...]
    """For each column: leaves of its whole hierarchy (D)."""
    levels: tuple[tuple[LevelFigures, ...], ...]
    weights: tuple[float, ...]
    least_class: int = 0
    """No kept class has fewer rows. A class is kept or suppressed as a whole, by its rows alone; 0: it may be not."""

    def __post_init__(self) -> None:
        if any(weight < 0 for weight in self.weights) or not sum(self.weights) > 0:
            raise UsageError("column weights must not be negative, and at least one must be positive")

    @property
    def columns(self) -> range:
        return range(len(self.heights))

    @property
    def weight_shares(self) -> tuple[float, ...]:
        """The weights, scaled to sum to one: 1/m each when all weights are equal."""
        total = sum(self.weights)
        return tuple(weight / total for weight in self.weights)

    def level(self, column: int, node: Node) -> LevelFigures:
        return self.levels[column][node[column]]


Costs = tuple[tuple[float, ...], ...]
"""For each column, for each level: a cost that never falls as the level rises."""


class Metric(ABC):
    """One measure; smaller is better.

    The bound known without a query has a fixed shape, so that searches can handle it for whole lattices at once: each
    column adds the cost of its level, and `bound_of` turns the total into a score, never falling as the total rises.
    Where a node is known to suppress at least so many rows, saying so may raise the bound.
    """

    name: ClassVar[str]
    static: ClassVar[bool] = False
    """The score of a node needs no query: it equals the bound."""
    learns: ClassVar[bool] = False
    """`learned_bound` says more than `bound`, so that measuring a node helps to prune others."""
    cedes: ClassVar[bool] = False
    """`surcharge` says something: the rows that a measured node suppresses raise the bound of all nodes below it."""

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        """Named scalar expressions over the relation `classes`: n, kept, and code_i, leaves_i of each column i."""
        return {}

    def needs_figures(self, verdict: Verdict) -> bool:
        """Whether `score` reads figures that this verdict does not have."""
        return False

    @abstractmethod
    def score(self, verdict: Verdict, context: Context) -> float:
        """The score of a node, its minimal required suppression included."""

    @abstractmethod
    def level_costs(self, context: Context, suppressed: int) -> Sequence[Sequence[float]]:
        """For each column, for each level: what that level adds to the total behind the bound."""

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        """The bound that a total of costs stands for."""
        return total

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        """The largest total whose bound does not exceed this score: the inverse of `bound_of`."""
        return score

    def costs(self, context: Context, suppressed: int = 0) -> Costs:
        """The level costs with rounding errors smoothed out, so that they never fall."""
        return tuple(tuple(accumulate(column, max)) for column in self.level_costs(context, suppressed))

    def bound(self, node: Node, context: Context, suppressed: int = 0) -> float:
        """No score of this node, or of a generalization suppressing at least so many rows, lies below."""
        costs = self.costs(context, suppressed)
        total = sum(costs[column][level] for column, level in enumerate(node))
        return self.bound_of(total, context, suppressed)

    def learned_bound(self, verdict: Verdict, context: Context) -> float:
        """As `bound`, from what the database said of the node; holds for all its generalizations."""
        return self.bound(verdict.node, context)

    def surcharge(self, verdict: Verdict, context: Context) -> float:
        """What the suppressed rows of a measured node add to any bound of that node and of each node below it.

        Only where the requirement is monotone, suppression included: then the nodes below suppress these rows too.
        """
        return 0.0


def relative_level(level: int, height: int) -> float:
    """Samarati 2001, section 6: the distance of a column over the height of its hierarchy."""
    return level / height if height else 0.0


CLASSES = "classes"
ROWS = "n"
KEPT = "kept"
WHOLE = "whole"
"""The rows of the class that a part is of; of a class that is kept or suppressed as one, its rows."""


def code_name(position: int) -> str:
    return f"code_{position}"


def leaves_name(position: int) -> str:
    return f"leaves_{position}"


def suppressed_leaves(position: int) -> exp.Expression:
    """Sum over suppressed rows of the leaves under their generalized value. Within 64 bits up to rows * leaves."""
    return _sum(_when_suppressed(exp.Mul(this=column(ROWS), expression=column(leaves_name(position)))))


def squares() -> exp.Expression:
    """Sum of n * n over all classes."""
    return _sum(_square())


def squares_of_whole() -> exp.Expression:
    """Sum of n * n over all classes, each counted whole also where only a part of it is kept."""
    return _sum(
        exp.Mul(this=exp.cast(column(ROWS), "decimal(19, 0)"), expression=exp.cast(column(WHOLE), "decimal(19, 0)"))
    )


def squares_of_kept() -> exp.Expression:
    """Sum of n * n over the classes that satisfy the requirement."""
    return _sum(exp.Case(ifs=[exp.If(this=column(KEPT), true=_square())], default=literal(0)))


def all_classes() -> exp.Expression:
    """The number of classes, suppressed ones included."""
    return exp.Count(this=exp.Star())


def suppressed_logarithms(position: int) -> exp.Expression:
    """Sum of c * ln(c) over the generalized values of the suppressed rows, c the suppressed rows of a value."""
    count = exp.cast(exp.Sum(this=column(ROWS)), "double")
    counts = (
        exp.Select()
        .select(exp.alias_(count, identifier("c")))
        .from_(table_expression(Table((CLASSES,))))
        .where(exp.Not(this=column(KEPT)))
        .group_by(column(code_name(position)))
    )
    terms = exp.Mul(this=column("c"), expression=exp.Ln(this=column("c")))
    total = exp.Select().select(_sum(terms)).from_(counts.subquery(identifier("suppressed_values")))
    return exp.Subquery(this=total)


def _sum(value: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=exp.Sum(this=value), expressions=[literal(0)])


def _square() -> exp.Expression:
    # Nineteen digits hold any 64-bit count, and twice nineteen is the widest decimal engines agree on.
    wide = exp.cast(column(ROWS), "decimal(19, 0)")
    return exp.Mul(this=wide, expression=wide.copy())


def _when_suppressed(value: exp.Expression) -> exp.Expression:
    return exp.Case(ifs=[exp.If(this=column(KEPT), true=literal(0))], default=value)


def accuracy(node: Node, heights: Node) -> float:
    """One minus the relative height of the generalization.

    >>> accuracy((1, 0), (1, 3))
    0.75
    """
    total = sum(heights)
    return 1 - sum(node) / total if total else 1.0


def completeness(suppressed: int, rows: int) -> float:
    """Released rows over all rows.

    >>> completeness(2, 8)
    0.75
    """
    return 1 - suppressed / rows if rows else 1.0
