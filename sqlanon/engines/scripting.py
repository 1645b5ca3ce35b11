"""Release scripts by dialect: transactions, scratch tables, assertions, the swap; and statements left open for any.

A script is run by a client of the database, without sqlanon: what it cannot do at run time is decided here. Statements
may be built once and written for any dialect: what engines write differently is left open.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.engines.dialects import fill, parsed
from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import (
    assertion,
    concat,
    drop_table,
    is_null,
    is_present,
    named,
    subquery,
    swap_at_once,
    swap_by_name,
)
from sqlanon.sql.relations import File, Table, cast, column, literal, table_expression
from sqlanon.sql.traits import Traits

SwapStep = tuple[str, exp.Expression]
"""The words that explain a statement, and the statement."""


@dataclass(frozen=True)
class Scripting:
    """One dialect. The defaults suit databases in which DDL takes part in transactions."""

    traits: Traits
    client: str
    """A command that runs the files in one session and stops at the first error."""
    executed: bool = False
    """Whether the project's tests run such scripts. Others are generated, and parsed back."""
    transactional: bool = True
    settings: tuple[str, ...] = ()
    """What a session is set to, so that overflow, NULL and time mean what the statements rely on."""
    timeout: str = ""
    """Bounds each statement of the session by `:milliseconds`; empty where a script cannot."""
    replaces: bool = False
    """CREATE OR REPLACE TABLE: of scratch tables, and of the target in one step."""
    keeps_grants: bool = False
    failure: str = ""
    """The function that fails with a message; without one, a text is cast to a number."""
    source_files: frozenset[str] = frozenset()
    """The formats of files that a script can read."""
    target_files: bool = False

    @property
    def name(self) -> str:
        return self.traits.dialect

    def opening(self, statement_seconds: float | None = None) -> list[exp.Expression]:
        """The beginning of the transaction, and the settings; a bound of statements where the dialect has one."""
        begin = [exp.Transaction()] if self.transactional else []
        settings = [parsed(text, self.traits.dialect) for text in self.settings]
        if statement_seconds is not None and self.timeout:
            milliseconds = max(1, round(statement_seconds * 1000))
            settings.append(fill(self.timeout, self.traits.dialect, milliseconds=milliseconds))
        return [*begin, *settings]

    def closing(self) -> list[exp.Expression]:
        """The end of the transaction."""
        return [exp.Commit()] if self.transactional else []

    def fresh(self, create: exp.Create, table: Table) -> list[exp.Expression]:
        """A table made anew, whatever an earlier script left; within a transaction none leaves anything."""
        if self.replaces:
            create.set("replace", True)
            return [create]
        return [create] if self.transactional else [drop_table(table), create]

    def assertion(self, condition: exp.Select, message: str) -> exp.Select:
        """A query that fails, with the message in the error, unless the condition yields TRUE."""
        if not self.failure:
            return assertion(condition, message)
        fails = exp.Anonymous(this=self.failure, expressions=[literal(message)])
        chosen = exp.Case().when(exp.Subquery(this=condition), literal(1)).else_(fails)
        return exp.select(named(chosen, "audit"))

    def refusal(self, found: exp.Select, before: str, after: str) -> exp.Select:
        """A query that fails where `found` selects a text as `wrong`: the error has it between two others."""
        holds, message = is_null(column("wrong")), concat(before, column("wrong"), after)
        chosen: exp.Expression = cast(exp.Case().when(holds, literal("1")).else_(message), "int")
        if self.failure:
            fails = exp.Anonymous(this=self.failure, expressions=[message])
            chosen = exp.Case().when(holds, literal(1)).else_(fails)
        return exp.select(named(chosen, "audit")).from_(subquery(found, "found"), copy=False)

    def swap(self, staging: Table, target: Table, columns: Sequence[exp.Expression]) -> list[SwapStep]:
        """The staged rows take the target's name: by a rename, or as a copy in one step."""
        if not self.replaces:
            seen = "Until COMMIT nobody sees a difference." if self.transactional else "From here on it is published."
            drop, rename = swap_by_name(staging, target)
            return [("Swap: the old release goes, the new one takes its name.", drop), (seen, rename)]
        rows = exp.select(*columns).from_(table_expression(staging)).order_by(exp.Rand())
        replaced = swap_at_once(target, rows, [exp.CopyGrantsProperty()] if self.keeps_grants else ())
        return [("Swap: one statement puts the release in the place of the old one.", replaced)]


@dataclass(frozen=True)
class ThrowingScripting(Scripting):
    """Where both branches of a CASE may be computed, the function that fails is told when to."""

    def assertion(self, condition: exp.Select, message: str) -> exp.Select:
        holds = exp.Coalesce(this=exp.Subquery(this=condition), expressions=[exp.false()])
        fails = exp.Anonymous(this=self.failure, expressions=[exp.Not(this=holds), literal(message)])
        return exp.select(named(fails, "audit"))

    def refusal(self, found: exp.Select, before: str, after: str) -> exp.Select:
        """Its message is a constant: the text is not told."""
        message = concat(before, "a column", after)
        fails = exp.Anonymous(this=self.failure, expressions=[is_present(column("wrong")), message])
        return exp.select(named(fails, "audit")).from_(subquery(found, "found"), copy=False)


AnyEngine = TypeVar("AnyEngine", bound=Engine)


@dataclass(frozen=True)
class Open:
    """What one method of `Traits` will write; it stands for the name of a function, so no generator writes it."""

    form: str
    family: Family = Family.TEXT

    def of(self, value: exp.Expression) -> exp.Expression:
        return exp.Anonymous(this=self, expressions=[value])


@dataclass(frozen=True)
class OpenFile:
    """A file in a FROM clause, written by the engine that reads it."""

    file: File
    alias: str


@dataclass(frozen=True)
class NeutralTraits(Traits):
    """Leaves open what engines write differently. Questions are closed for the engine that is asked."""

    asked: Traits = field(default_factory=lambda: Traits(""))

    def key(self, value: exp.Expression, family: Family) -> exp.Expression:
        return Open("key", family).of(value)

    def text(self, value: exp.Expression, family: Family) -> exp.Expression:
        return Open("text", family).of(value)

    def copies(self, number: exp.Expression) -> exp.Expression:
        return Open("copies").of(number)

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        return Open("iso_year").of(value)

    def file(self, file: File, alias: str) -> exp.Expression:
        return exp.Anonymous(this=OpenFile(file, alias))

    def render(self, expression: exp.Expr, tag: str = "", pretty: bool = False, copy: bool = True) -> str:
        return self.asked.render(resolved(expression, self.asked), tag, pretty, copy=False)


def neutral(engine: AnyEngine) -> AnyEngine:
    """The same engine on the same connection, building statements for any dialect.

    It still asks its own database; `resolved` closes its statements for one dialect.
    """
    twin = copy.copy(engine)
    # Traits belong to the class of an engine; this one object has its own.
    vars(twin)["traits"] = NeutralTraits(
        engine.traits.dialect, reads_unusual=engine.traits.reads_unusual, asked=engine.traits
    )
    return twin


def resolved(expression: exp.Expr, traits: Traits) -> exp.Expr:
    """A copy of a statement as the traits write it."""

    def closed(node: exp.Expr) -> exp.Expr:
        match node.args.get("this"):
            case Open() as gap:
                return _closed(gap, resolved(node.expressions[0], traits), traits)
            case OpenFile(file, alias):
                return traits.file(file, alias)
        return node

    return expression.transform(closed)


def _known(value: exp.Expression | None, traits: Traits) -> exp.Expression:
    if value is None:
        raise ValueError(f"{traits.dialect} has no way to repeat a row")
    return value


def _closed(gap: Open, value: Any, traits: Traits) -> exp.Expression:
    match gap.form:
        case "key":
            return traits.key(value, gap.family)
        case "text":
            return traits.text(value, gap.family)
        case "copies":
            return _known(traits.copies(value), traits)
    return traits.iso_year(value)
