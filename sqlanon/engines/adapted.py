"""Adapting statements to a dialect, node by node, where sqlglot's generators do not know enough of it.

Pure. A dialect overrides the words that it has differently.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.expressions import DType

from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import cast, literal
from sqlanon.sql.traits import Traits

_INFINITE = frozenset({"infinity", "-infinity"})
_RUNNING = (exp.Sum, exp.Count, exp.Min, exp.Max, exp.FirstValue)
_NEED_ORDER = (exp.RowNumber, exp.FirstValue)


@dataclass(frozen=True)
class AdaptedTraits(Traits):
    """Traits whose statements are adapted before they are written."""

    infinite_dates: bool = False
    """Dates may be infinite: asking whether one is does not fail."""

    def render(self, expression: exp.Expr, tag: str = "", pretty: bool = False, copy: bool = True) -> str:
        return super().render(self.adapted(expression), tag, pretty, copy=False)

    def adapted(self, expression: exp.Expr) -> exp.Expr:
        """A copy of a statement in the words of the dialect."""
        return expression.transform(self._changed)

    def _changed(self, node: exp.Expr) -> exp.Expr:
        match node:
            case exp.IntDiv():
                return self.divided(self.adapted(node.this), self.adapted(node.expression))
            case exp.Extract() if node.name.upper() == "WEEK":
                return self.iso_week(self.adapted(node.expression))
            case exp.AtTimeZone():
                return self.at_time_zone(self.adapted(node.this), node.args["zone"])
            case exp.Cast() if scale := _scale_of_product(node):
                return self.decimal_text(self.adapted(node.this), scale)
            case exp.Case() if not self.infinite_dates:
                node.set("ifs", [item for item in node.args["ifs"] if not _asks_for_infinity(item)])
            case exp.Window():
                self.window(node)
            case exp.Select():
                self.selected(node)
            case exp.Create() if node.args.get("kind") == "TABLE":
                self.created(node)
            case exp.Identifier():
                self.named(node)
        return node

    def divided(self, value: exp.Expr, by: exp.Expr) -> exp.Expr:
        """The whole part of a quotient of whole numbers, exactly: what is left over is taken away first."""
        rest = exp.Mod(this=exp.Paren(this=value.copy()), expression=exp.Paren(this=by.copy()))
        whole = exp.Paren(this=exp.Sub(this=exp.Paren(this=value), expression=rest))
        return cast(exp.Div(this=whole, expression=exp.Paren(this=by), typed=True, safe=False), "bigint")

    def iso_week(self, value: exp.Expr) -> exp.Expr:
        """The number of the ISO week."""
        return exp.Extract(this=exp.var("WEEK"), expression=value)

    def at_time_zone(self, value: exp.Expr, zone: exp.Expr) -> exp.Expr:
        """The wall clock of a moment in a time zone."""
        return exp.AtTimeZone(this=value, zone=zone)

    def decimal_text(self, value: exp.Expr, scale: int) -> exp.Expr:
        """The text of a decimal number with all its decimals, zeros too."""
        return exp.Cast(this=value, to=exp.DataType.build("text"))

    def window(self, window: exp.Window) -> None:
        """Change a window in place."""

    def selected(self, select: exp.Select) -> None:
        """Change a SELECT in place."""

    def created(self, create: exp.Create) -> None:
        """Change a CREATE TABLE in place."""

    def named(self, name: exp.Identifier) -> None:
        """Change a name in place."""


@dataclass(frozen=True)
class BinaryTextTraits(AdaptedTraits):
    """A dialect that compares texts byte by byte unless their column says otherwise."""

    def key(self, value: exp.Expression, family: Family) -> exp.Expression:
        return self.binary(cast(value, "text")) if family is Family.TEXT else super().key(value, family)

    def binary(self, text: exp.Expression) -> exp.Expression:
        """A text without the collation of its column."""
        return text


def ordered_anyhow(window: exp.Window) -> None:
    """Give a window function an order where the dialect asks for one: a constant, which orders nothing."""
    if isinstance(window.this, _NEED_ORDER) and not window.args.get("order"):
        window.set("order", exp.Order(expressions=[exp.Ordered(this=literal(1))]))


def framed(window: exp.Window) -> None:
    """Say the frame of a running aggregate where the dialect asks for it."""
    if isinstance(window.this, _RUNNING) and window.args.get("order") and not window.args.get("spec"):
        rows = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
        window.set("spec", rows)


def _asks_for_infinity(branch: exp.If) -> bool:
    condition = branch.this
    cast_to = condition.expression if isinstance(condition, exp.EQ) else None
    if not isinstance(cast_to, exp.Cast) or not isinstance(cast_to.this, exp.Literal):
        return False
    return cast_to.this.name in _INFINITE and cast_to.to.this in exp.DataType.TEMPORAL_TYPES


def _scale_of_product(node: exp.Cast) -> int:
    """The decimals of a product that is cast to a text; 0 for any other cast."""
    product = node.this
    if (
        node.to.this is not DType.TEXT
        or not isinstance(product, exp.Mul)
        or not isinstance(product.expression, exp.Cast)
    ):
        return 0
    digits = [int(item.name) for item in product.expression.to.expressions]
    return digits[1] if len(digits) == 2 else 0
