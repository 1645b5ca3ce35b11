"""Names of things in a database, and what can stand in a FROM clause.

Every identifier is quoted, always: names mean exactly what they say on every engine. Names of scratch tables and
columns say which column of the source they are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from glob import has_magic
from pathlib import PurePosixPath
from typing import Literal

from sqlglot import exp

import sqlanon.sql.copies  # noqa: F401  # every room that builds statements imports names of things


@dataclass(frozen=True)
class Table:
    """A table or view by its name parts, outermost first: (schema, name), (name,) or (catalog, schema, name)."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def schema(self) -> tuple[str, ...]:
        """The parts that name the schema; empty: the session's default schema."""
        return self.parts[:-1]

    def beside(self, name: str) -> Table:
        """Another table of the same schema."""
        return Table((*self.schema, name))

    def __str__(self) -> str:
        return ".".join(
            part if part.replace("_", "a").isalnum() else '"' + part.replace('"', '""') + '"' for part in self.parts
        )


FileFormat = Literal["csv", "tsv", "parquet", "json", "xlsx"]
"""How a file is written: tsv is csv with tabs, json holds a list of objects or one object a line."""

_COMPRESSED = re.compile(r"\.(gz|zst)", re.IGNORECASE)


@dataclass(frozen=True)
class File:
    """A file, or several of one form, that the engine itself reads."""

    path: str
    """A path, a pattern with `*`, or a folder that ends in a slash."""
    format: FileFormat
    reading: Literal["found", "written", "text"] = "found"
    """How a csv file is read: marks and types found in it, marks known because it was written here, all as texts."""
    also: tuple[str, ...] = ()
    """Further paths or patterns, read as more rows of the same table."""
    ending: str = ""
    """What the names of files in a folder end in; empty where the path is no folder."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Everything that is read, as paths, patterns and folders."""
        return (self.path, *self.also)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The same for readers that know no folders: files whose names begin with a dot or `_` are no data."""
        return (f"{self.path}**/[!._]*{self.ending}",) if self.ending else self.paths

    @property
    def of_text(self) -> bool:
        """Whether its values are the fields of a csv file."""
        return self.format in ("csv", "tsv")

    @property
    def several(self) -> bool:
        """Whether more than one file may be meant."""
        return bool(self.also or self.ending) or has_magic(self.path)

    @property
    def unusual(self) -> str | None:
        """What is more than one plain csv or parquet file about it, in a word for messages; None for those."""
        if self.format in ("json", "xlsx"):
            return f"{self.format} files"
        if any(
            _COMPRESSED.fullmatch(PurePosixPath(path).suffix)
            for path in (*self.paths, self.ending and "x" + self.ending)
        ):
            return "compressed files"
        return "folders" if self.ending else "lists of files" if self.also else None

    @property
    def delimiter(self) -> str:
        """What stands between the fields of a csv file that is written here."""
        return "\t" if self.format == "tsv" else ","

    def __str__(self) -> str:
        more = f" and {len(self.also)} more" if self.also else ""
        return re.sub(r"://[^/@]*@", "://***@", self.path) + more


@dataclass(frozen=True)
class Query:
    """A SELECT of the user's, already parsed in the engine's dialect."""

    select: exp.Query
    words: str = "the source query"
    """What it is called in messages."""

    def __str__(self) -> str:
        return self.words


Relation = Table | File | Query


def identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """A quoted column, optionally of a quoted table alias."""
    return exp.Column(this=identifier(name), table=identifier(table) if table is not None else None)


def table_expression(table: Table, alias: str | None = None) -> exp.Table:
    """A table for a FROM clause, or for DDL when no alias is given."""
    names = [identifier(part) for part in table.parts]
    return exp.Table(
        this=names[-1],
        db=names[-2] if len(names) > 1 else None,
        catalog=names[-3] if len(names) > 2 else None,
        alias=exp.TableAlias(this=identifier(alias)) if alias is not None else None,
    )


def cast(value: exp.Expression, kind: str) -> exp.Cast:
    """CAST to a type written as in `DECIMAL(28, 9)`; each is parsed once, because casts are everywhere."""
    return exp.Cast(this=value, to=_data_type(kind).copy())


@lru_cache(maxsize=64)
def _data_type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind)


def literal(value: str | int | None) -> exp.Expression:
    """A literal of the two kinds we write ourselves: text and whole numbers."""
    if value is None:
        return exp.Null()
    return exp.Literal.string(value) if isinstance(value, str) else exp.Literal.number(value)


def named_tables(query: exp.Query) -> list[Table]:
    """The tables that a query of the user's names, common table expressions of its own left out."""
    own = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    found = [
        Table(tuple(part.name if part.args.get("quoted") else part.name.lower() for part in table.parts))
        for table in query.find_all(exp.Table)
        if table.name
    ]
    return [table for table in found if table.schema or table.name.lower() not in own]


LONGEST = 20
"""Characters of a name: with what stands before it in a scratch table it stays within every engine's limit."""


def explained(columns: Iterable[str]) -> dict[str, str]:
    """A name for each column: lower-case letters, digits and underscores of its own, no two alike.

    >>> explained(["zip", "Home Town", "home-town", "2nd", "-"])
    {'zip': 'zip', 'Home Town': 'home_town', 'home-town': 'home_town_2', '2nd': 'column_2nd', '-': 'column'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        plain = _plain(column)
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain[: LONGEST - len(str(number)) - 1]}_{number}"
        taken.add(name)
        found[column] = name
    return found


def _plain(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "column"
    plain = plain if plain[0].isalpha() else f"column_{plain}"
    return plain[:LONGEST].rstrip("_")


_WORDS = """
    all analyse analyze and anti any array as asc asof asymmetric at authorization between bigint binary bit
    boolean both by case cast char character check coalesce collate collation column columns concurrently
    constraint create cross current_catalog current_date current_role current_schema current_time
    current_timestamp current_user dec decimal default deferrable desc describe distinct do else end except exists
    extract false fetch float for foreign freeze from full generated glob grant greatest group grouping
    grouping_id having ilike in initially inner inout int integer intersect interval into is isnull join json
    json_array json_arrayagg json_object json_objectagg lambda lateral leading least left like limit localtime
    localtimestamp map merge_action national natural nchar none normalize not notnull null nullif numeric offset
    on only or order out outer overlaps overlay pivot pivot_longer pivot_wider placing position positional
    precision primary qualify real references returning right row select semi session_user setof show similar
    smallint some struct substring summarize symmetric system_user table tablesample then time timestamp to
    trailing treat trim true try_cast tuple union unique unpack unpivot user using values varchar variadic verbose
    when where window with within xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse
    xmlpi xmlroot xmlserialize xmltable
"""

KEYWORDS = frozenset(_WORDS.split())
"""Words that cannot name a column without quotes everywhere in the grammars of PostgreSQL and DuckDB."""

_PLAIN = re.compile("[a-z_][a-z0-9_]*")


def unquoted(expression: exp.Expr) -> exp.Expr:
    """A copy without the quotes that change nothing, where names of lower-case letters mean the same without them.

    >>> from sqlglot import parse_one
    >>> unquoted(parse_one('SELECT "a", "B", "order", "c d" FROM "t"')).sql()
    'SELECT a, "B", "order", "c d" FROM t'
    """
    found = expression.copy()
    for name in found.find_all(exp.Identifier):
        if name.args.get("quoted") and _PLAIN.fullmatch(name.name) and name.name not in KEYWORDS:
            name.set("quoted", False)
    return found
