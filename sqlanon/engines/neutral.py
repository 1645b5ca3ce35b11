"""Statements that are built once and written for any dialect: what engines write differently is left open.

A twin of an engine builds such statements and still asks its database; `resolved` closes them for one dialect.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import File, identifier
from sqlanon.sql.traits import Traits

AnyEngine = TypeVar("AnyEngine", bound=Engine)


class Open(exp.Expression):
    """What one method of `Traits` will write of a value; no generator knows it, so none is written by mistake."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "form": True, "family": False}


class OpenFile(exp.Expression):
    """A file in a FROM clause."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "format": True, "alias": True}


@dataclass(frozen=True)
class NeutralTraits(Traits):
    """Leaves open what engines write differently. Questions are closed for the engine that is asked."""

    asked: Traits = field(default_factory=lambda: Traits(""))

    def key(self, value: exp.Expression, family: Family) -> exp.Expression:
        return Open(this=value, form="key", family=family)

    def text(self, value: exp.Expression, family: Family) -> exp.Expression:
        return Open(this=value, form="text", family=family)

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        return Open(this=value, form="iso_year")

    def file(self, file: File, alias: str) -> exp.Expression:
        return OpenFile(this=file.path, format=file.format, alias=identifier(alias))

    def render(self, expression: exp.Expr, tag: str = "", pretty: bool = False, copy: bool = True) -> str:
        return self.asked.render(resolved(expression, self.asked), tag, pretty, copy=False)


def neutral(engine: AnyEngine) -> AnyEngine:
    """The same engine on the same connection, building statements for any dialect."""
    twin = copy.copy(engine)
    # Traits belong to the class of an engine; this one object has its own.
    vars(twin)["traits"] = NeutralTraits(engine.traits.dialect, asked=engine.traits)
    return twin


def resolved(expression: exp.Expr, traits: Traits) -> exp.Expr:
    """A copy of a statement as the traits write it."""

    def closed(node: exp.Expr) -> exp.Expr:
        match node:
            case Open():
                return _closed(node, traits)
            case OpenFile():
                return traits.file(File(node.this, node.args["format"]), node.args["alias"].name)
        return node

    return expression.transform(closed)


def _closed(node: Open, traits: Traits) -> exp.Expression:
    value: Any = resolved(node.this, traits)
    match node.args["form"]:
        case "key":
            return traits.key(value, node.args["family"])
        case "text":
            return traits.text(value, node.args["family"])
    return traits.iso_year(value)
