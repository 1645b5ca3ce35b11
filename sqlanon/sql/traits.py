"""Where engines differ in ways that sqlglot's dialects do not already cover.

A `Traits` object is the only thing that makers of statements ask about an engine. Engines subclass it; the defaults
suit engines that follow the standard.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import File, Query, Relation, Table, cast, identifier, literal, table_expression, unquoted

LINE = 90
"""How long a line of pretty SQL may become before it is broken, less its indentation."""

WIDTH = 117
"""How long a line may become that is put together from several."""

_CLAUSES = ("SELECT", "SELECT DISTINCT", "WHERE", "GROUP BY", "ORDER BY", "HAVING")

_NOT_IN_TAGS = re.compile(r"[^A-Za-z0-9_ .,:=]")


def _harmless(tag: str) -> str:
    """Tags hold names of columns. Comments nest on some engines: neither an opening nor a closing may pass.

    >>> _harmless("step=hierarchy */ x /*")
    'step=hierarchy __ x __'
    """
    return _NOT_IN_TAGS.sub("_", tag)


def laid_out(text: str) -> str:
    """Pretty SQL with clauses, conditions and small subqueries on one line each where they fit.

    >>> print(laid_out("SELECT\\n  a\\nFROM (\\n  SELECT\\n    a\\n  FROM t\\n) AS u\\nWHERE\\n  a > 1\\n  AND a < 9"))
    SELECT a
    FROM (SELECT a FROM t) AS u
    WHERE a > 1 AND a < 9
    """
    lines = text.split("\n")
    for place in reversed(range(len(lines))):
        found = _joined(lines, place)
        if found is not None and len(found[0]) <= WIDTH:
            lines[place : found[1]] = [found[0]]
    return "\n".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _below(lines: Sequence[str], place: int) -> int:
    """The first line after those that stand further in than a line."""
    end = place + 1
    while end < len(lines) and _indent(lines[end]) > _indent(lines[place]):
        end += 1
    return end


def _joined(lines: Sequence[str], place: int) -> tuple[str, int] | None:
    """A line put together with those after it, and the first line that it leaves; None where they stay apart."""
    below = _below(lines, place)
    line, head = lines[place], lines[place].strip()
    inner = [item.strip() for item in lines[place + 1 : below]]
    flat = len({_indent(item) for item in lines[place + 1 : below]}) == 1
    after = lines[below].strip() if below < len(lines) and _indent(lines[below]) == _indent(line) else ""
    words = " ".join(inner)
    if flat and line.endswith("(") and after.startswith(")"):
        return f"{line}{words}{after}", below + 1
    if flat and head.endswith("CASE") and after.startswith("END"):
        return f"{line} {words} {after}", below + 1
    if flat and (head in _CLAUSES or words.startswith("ON ")):
        return f"{line} {words}", below
    chosen = head.startswith("WHEN ") and after.startswith("THEN ") and _below(lines, below) == below + 1
    renamed = head.startswith("ALTER TABLE ") and after.startswith("RENAME TO ")
    return (f"{line} {after}", below + 1) if not inner and (chosen or renamed) else None


ViewBarrier = Literal["", "security_barrier", "secure", "limit"]


@dataclass(frozen=True)
class Traits:
    """How one engine wants a few things written."""

    dialect: str
    reads_unusual: bool = False
    """Files are read that are more than one plain csv or parquet file: compressed, several, json, Excel."""
    unlogged_scratch: bool = False
    """Scratch tables skip the write-ahead log."""
    temporary_scratch: bool = False
    """Scratch tables are temporary tables of the session: they need no privilege and nothing outlives a crash."""
    view_barrier: ViewBarrier = ""
    """How a view says that its conditions come before functions of the reader's, which would see hidden rows; where it
    cannot, no condition is taken below a limit."""
    infinite_dates: bool = True
    """Dates and timestamps can be infinite."""
    rules: bool = False
    """Rules of columns are carried out as they say: tests hold the engine to it."""
    recursive_union: bool = True
    """A recursive query can leave out rows that it has found before, so that it ends where there are cycles."""
    statement_cost: int = 1
    """What planning and starting a statement costs beside an embedded engine: more rows are worth reading instead."""
    nodes_together: bool = False
    """Many nodes are counted faster in one pass over a set, however large, than each by a query of its own."""

    plans_by_statistics: bool = False
    """Joins are planned by what is known of values: a table that many statements read has to be analyzed first."""
    looks_up_columns: bool = False
    """Joins look up the values of plain columns: where one side is computed, each lookup reads the whole table."""
    casts_fail: bool = True
    """A cast of a text that is no number is an error: so scripts stop where an audit fails."""
    plain_names: bool = False
    """Names of lower-case letters mean the same without quotes: people read them so."""

    def render(self, expression: exp.Expr, tag: str = "", pretty: bool = False, copy: bool = True) -> str:
        """SQL text in the engine's dialect, tagged by a leading comment. Without a copy the expression may change.

        Pretty text is for people: on many lines, without quotes that change nothing.
        """
        if pretty and self.plain_names:
            expression, copy = unquoted(expression), False
        width = LINE if pretty else 80
        text = expression.sql(dialect=self.dialect, pretty=pretty, comments=False, copy=copy, max_text_width=width)
        if pretty and not any("\n" in node.name for node in expression.find_all(exp.Literal, exp.Identifier)):
            text = laid_out(text)
        return f"/* {_harmless(tag)} */ {text}" if tag else text

    def gathered(self, rows: exp.Query) -> exp.Query:
        """Few rows: looked at in one place, where an engine would spread them over several."""
        return rows

    def key(self, value: exp.Expression, family: Family) -> exp.Expression:
        """The value as a grouping key that compares alike on every engine: byte-wise text, one zero."""
        if family is Family.TEXT:
            # The cast comes first: enumerations, char(n) and citext take no collation or compare by rules of their own.
            return exp.Collate(this=cast(value, "text"), expression=identifier("C"))
        if family is Family.FLOAT:
            # A zero of the narrowest float type keeps the type of the value: real stays real.
            return exp.Paren(this=exp.Add(this=value, expression=cast(exp.Literal.number(0), "float")))
        return value

    def text(self, value: exp.Expression, family: Family) -> exp.Expression:
        """The value as text, spelled alike on every engine."""
        return cast(value, "text")

    def relation(self, relation: Relation, alias: str) -> exp.Expression:
        """A relation for a FROM clause."""
        match relation:
            case File():
                return self.file(relation, alias)
            case Query(select=select):
                return exp.Subquery(this=select.copy(), alias=exp.TableAlias(this=identifier(alias)))
            case _:
                return table_expression(relation, alias)

    def file(self, file: File, alias: str) -> exp.Expression:
        """A file for a FROM clause, on engines that read files."""
        raise TypeError(f"{self.dialect} reads no files")

    def carries(self, file: File, kind: exp.DataType) -> bool:
        """Whether a file of that format reads back the very values of a type."""
        return True

    def csv_text(self, value: exp.Expression, family: Family) -> exp.Expression:
        """The value as a csv file holds it."""
        return cast(value, "text")

    def copy_to_file(self, table: Table, file: File) -> exp.Expression:
        """The statement that writes a table to a file, on engines that write files."""
        raise TypeError(f"{self.dialect} writes no files")

    def copies(self, number: exp.Expression) -> exp.Expression | None:
        """What gives a row so many times where it stands in a SELECT list; None: nothing that is used."""
        return None

    def bit_count(self, value: exp.Expression) -> exp.Expression:
        """How many bits of a 64-bit whole number are set."""
        return exp.BitwiseCount(this=value)

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        """The ISO week-numbering year."""
        return exp.Extract(this=exp.var("ISOYEAR"), expression=value)

    def days_later(self, value: exp.Expression, days: exp.Expression, family: Family) -> exp.Expression:
        """A date so many days on; a moment so many times 24 hours, whatever clocks do meanwhile."""
        if family is Family.DATE:
            return exp.Paren(this=exp.Add(this=value, expression=days))
        hours = exp.Interval(this=literal("24"), unit=exp.var("HOUR"))
        return exp.Paren(this=exp.Add(this=value, expression=exp.Mul(this=days, expression=hours)))

    def joined_in_order(self, value: exp.Expression) -> exp.Expression:
        """The texts of a group in their order, with commas between them, as an aggregate."""
        ordered = exp.Order(this=value, expressions=[exp.Ordered(this=value.copy())])
        return exp.GroupConcat(this=ordered, separator=literal(","))

    def keyed_hash(self, text: exp.Expression, inner: exp.Expression, outer: exp.Expression) -> exp.Expression | None:
        """HMAC-SHA-256 of a text's UTF-8 bytes as 64 lower-case hexadecimal digits; None: the engine has no such hash.

        `inner` and `outer` give the two padded keys of RFC 2104 in hexadecimal digits: they are read from a table, so
        that no statement holds them.
        """
        return None
