"""Small words for building sqlglot expressions, and long queries as templates, shared by all makers of statements.

A template is written once as readable SQL, parsed to an AST, and filled with tables and expressions. Every identifier
of it is quoted when it is parsed, so that names mean what they say on every engine.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce

from sqlglot import exp, parse_one

from sqlanon.sql.copies import without_places
from sqlanon.sql.relations import Table, cast, column, identifier, literal, table_expression
from sqlanon.sql.traits import Traits


def concat(*parts: exp.Expression | str) -> exp.Expression:
    """Text concatenation by the standard operator."""
    operands = [literal(part) if isinstance(part, str) else part for part in parts]
    return reduce(lambda left, right: exp.DPipe(this=left, expression=right, safe=True), operands)


def named(value: exp.Expression, name: str) -> exp.Alias:
    """`value AS "name"`."""
    return exp.Alias(this=value, alias=identifier(name))


def total(value: exp.Expression) -> exp.Expression:
    """SUM that is 0, not NULL, over no rows."""
    return exp.Coalesce(this=exp.Sum(this=value), expressions=[literal(0)])


def total_of(condition: exp.Expression, aggregate: exp.Expression) -> exp.Expression:
    """An aggregate over the rows that satisfy `condition`; 0 over none."""
    kept = exp.Filter(this=aggregate, expression=exp.Where(this=condition))
    return exp.Coalesce(this=kept, expressions=[literal(0)])


def total_where(condition: exp.Expression, value: exp.Expression) -> exp.Expression:
    """The sum of `value` over the rows that satisfy `condition`."""
    return total(exp.Case(ifs=[exp.If(this=condition, true=value)], default=literal(0)))


def count() -> exp.Expression:
    return exp.Count(this=exp.Star())


def row_count(relation: exp.Expression) -> exp.Select:
    return exp.select(count()).from_(relation)


def all_of(conditions: Iterable[exp.Expression]) -> exp.Expression:
    """Conjunction; TRUE of none."""
    parts = [_grouped(condition) for condition in conditions]
    return _connected(exp.And, parts) if parts else exp.true()


def any_of(conditions: Iterable[exp.Expression]) -> exp.Expression:
    """Disjunction; FALSE of none."""
    parts = [_grouped(condition) for condition in conditions]
    return _connected(exp.Or, parts) if parts else exp.false()


MOST_CONNECTED = 100
"""Conditions that follow each other without parentheses: parsers nest them, and SQLite's ends at a depth of 1,000."""


def _connected(kind: type[exp.And] | type[exp.Or], parts: Sequence[exp.Expression]) -> exp.Expression:
    """All conditions by one connective; many of them in groups, so that no parser has to go deep."""
    while len(parts) > MOST_CONNECTED:
        chunks = [parts[start : start + MOST_CONNECTED] for start in range(0, len(parts), MOST_CONNECTED)]
        parts = [exp.Paren(this=_connected(kind, chunk)) for chunk in chunks]
    return reduce(lambda left, right: kind(this=left, expression=right), parts)


def _grouped(condition: exp.Expression) -> exp.Expression:
    """In parentheses where it is a connective itself, so that nesting says what it means."""
    return exp.Paren(this=condition) if isinstance(condition, (exp.And, exp.Or)) else condition


def equal(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.EQ(this=left, expression=right)


def is_null(value: exp.Expression) -> exp.Expression:
    return exp.Is(this=value, expression=exp.Null())


def is_present(value: exp.Expression) -> exp.Expression:
    return exp.Not(this=is_null(value))


MIXING_PRIME = 2_147_483_647


def mixed(values: Sequence[exp.Expression]) -> exp.Expression:
    """One whole number below 2^31 from several that are not negative; the same everywhere.

    A polynomial modulo a prime: 1 and the values are its coefficients. Its terms stand side by side, because a step
    within a step for each value would be too deep for some parsers.
    """
    found: exp.Expression = cast(literal(_power(len(values))), "bigint")
    for place, value in enumerate(values, start=1):
        term = exp.Mul(this=_modulo(cast(value, "bigint")), expression=literal(_power(len(values) - place)))
        found = exp.Add(this=found, expression=_modulo(exp.Paren(this=term)))
    return _modulo(exp.Paren(this=found))


def _power(exponent: int) -> int:
    return pow(48_271, exponent, MIXING_PRIME)


def _modulo(value: exp.Expression) -> exp.Paren:
    return exp.Paren(this=exp.Mod(this=value, expression=literal(MIXING_PRIME)))


def with_mix(relation: exp.Expression, values: Sequence[exp.Expression]) -> exp.Subquery:
    """The rows of a relation with several of their values mixed, once for both sums of `checksum`."""
    rows = exp.select(exp.Star(), named(mixed(values), "mix")).from_(relation, copy=False)
    return subquery(rows, "mixed")


def checksum() -> list[exp.Expression]:
    """Two sums over rows `with_mix` that change, for all practical purposes, when any row does, in whatever order."""
    square = exp.Mul(this=column("mix"), expression=column("mix"))
    return [total(column("mix")), total(_modulo(exp.Paren(this=square)))]


def left_join(relation: exp.Expression, on: exp.Expression) -> exp.Join:
    """`LEFT JOIN relation ON on`, for `Select.join`: its `join_type` would parse a text for every join."""
    return exp.Join(this=relation, side="LEFT", on=on)


def subquery(select: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=select, alias=exp.TableAlias(this=identifier(alias)))


def union_all(parts: Sequence[exp.Query]) -> exp.Query:
    """All rows of several queries, or of one."""
    return exp.union(*parts, distinct=False, copy=False) if len(parts) > 1 else parts[0]


def scalar(select: exp.Query) -> exp.Subquery:
    """A query of one value as an expression."""
    return exp.Subquery(this=select)


def with_queries(select: exp.Select, queries: Mapping[str, exp.Query]) -> exp.Select:
    """The select with common table expressions before it, in order."""
    return reduce(
        lambda query, item: query.with_(identifier(item[0]), as_=item[1], copy=False), queries.items(), select
    )


def create_table_as(table: Table, query: exp.Query, traits: Traits, *, scratch: bool) -> exp.Create:
    """CREATE TABLE ... AS; scratch tables skip the write-ahead log where the engine can."""
    properties = _scratch_properties(traits) if scratch else None
    return exp.Create(this=table_expression(table), kind="TABLE", expression=query, properties=properties)


def _scratch_properties(traits: Traits) -> exp.Properties | None:
    if traits.temporary_scratch:
        return exp.Properties(expressions=[exp.TemporaryProperty()])
    return exp.Properties(expressions=[exp.UnloggedProperty()]) if traits.unlogged_scratch else None


def create_text_table(table: Table, columns: Sequence[str], traits: Traits) -> exp.Create:
    """An empty scratch table of text columns, for hierarchy definitions."""
    definitions = [exp.ColumnDef(this=identifier(name), kind=exp.DataType.build("text")) for name in columns]
    properties = _scratch_properties(traits)
    schema = exp.Schema(this=table_expression(table), expressions=definitions)
    return exp.Create(this=schema, kind="TABLE", properties=properties)


def insert_text(table: Table, rows: Sequence[Sequence[str | None]]) -> exp.Insert:
    """INSERT ... VALUES of text rows, for scripts that a person reads."""
    values = exp.Values(expressions=[exp.Tuple(expressions=[literal(value) for value in row]) for row in rows])
    return exp.Insert(this=table_expression(table), expression=values)


def rename_table(table: Table, target: Table) -> exp.Alter:
    """Give a table another name in its schema."""
    new_name = exp.AlterRename(this=exp.Table(this=identifier(target.name)))
    return exp.Alter(this=table_expression(table), kind="TABLE", actions=[new_name])


def swap_by_name(staging: Table, target: Table) -> tuple[exp.Drop, exp.Alter]:
    """A table in the place of another of its schema: the old one goes, the new one takes its name."""
    return drop_table(target), rename_table(staging, target)


def swap_at_once(target: Table, rows: exp.Query, properties: Sequence[exp.Expression] = ()) -> exp.Create:
    """Rows in the place of a table by one statement."""
    given = exp.Properties(expressions=list(properties)) if properties else None
    return exp.Create(this=table_expression(target), kind="TABLE", replace=True, properties=given, expression=rows)


def text_values(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> exp.Select:
    """Rows of text as a query of its own."""
    tuples = [exp.Tuple(expressions=[cast(literal(value), "text") for value in row]) for row in rows]
    alias = exp.TableAlias(this=identifier("given"), columns=[identifier(name) for name in columns])
    return exp.select(exp.Star()).from_(exp.Values(expressions=tuples, alias=alias))


ALL_ROWS = 2**63 - 1
"""A limit that no table reaches."""


def create_view(view: Table, query: exp.Query, traits: Traits, *, replace: bool) -> exp.Create:
    """CREATE VIEW; its conditions come before those of the reader where the engine has to be told."""
    if traits.view_barrier == "limit":
        query = query.limit(ALL_ROWS)
    barriers: dict[str, exp.Expression] = {
        "security_barrier": exp.Property(this=exp.var("security_barrier"), value=exp.true()),
        "secure": exp.SecureProperty(),
    }
    barrier = barriers.get(traits.view_barrier)
    properties = None if barrier is None else exp.Properties(expressions=[barrier])
    return exp.Create(
        this=table_expression(view), kind="VIEW", expression=query, replace=replace, properties=properties
    )


def drop_table(table: Table) -> exp.Drop:
    return exp.Drop(tables=[table_expression(table)], kind="TABLE", exists=True)


def drop_view(view: Table) -> exp.Drop:
    return exp.Drop(tables=[table_expression(view)], kind="VIEW", exists=True)


def assertion(condition: exp.Select, message: str) -> exp.Select:
    """A query that fails, with `message` in the error, unless `condition` yields TRUE.

    The text cannot be cast to a number; it is chosen at run time, so no engine folds it away. A condition on all rows
    of a table has one row, also of none: it is asserted where it stands.
    """
    [holds] = condition.expressions
    if _of_all_rows(holds.copy()) and not condition.args.get("group"):
        query = condition.copy()
        query.set("expressions", [_failing_unless(holds.copy(), message)])
        return query
    return exp.select(_failing_unless(exp.Subquery(this=condition), message))


def _of_all_rows(value: exp.Expression) -> bool:
    """Whether a value is an aggregate of the query that selects it."""
    return any(found.find_ancestor(exp.Query) is None for found in value.find_all(exp.AggFunc))


def _failing_unless(holds: exp.Expression, message: str) -> exp.Alias:
    chosen = exp.Case().when(holds, literal("1")).else_(literal(message))
    return named(cast(chosen, "int"), "audit")


Hole = exp.Expression | str | int


def query(template: str, tables: Mapping[str, Table | exp.Query] | None = None, **holes: Hole) -> exp.Select:
    """The template with each `:name` replaced by an expression, and each table that has a meaning by it.

    >>> from sqlanon.sql.relations import Table
    >>> query("select x + :y as z from t as a", {"t": Table(("my s", "t"))}, y=1).sql()
    'SELECT "x" + 1 AS "z" FROM "my s"."t" AS "a"'
    """
    select = typing.cast(exp.Select, _parsed(template).copy())
    for table in list(select.find_all(exp.Table)):
        given = (tables or {}).get(table.name)
        if given is None or table.args.get("db"):
            continue
        alias = table.alias or table.name
        table.replace(
            table_expression(given, alias)
            if isinstance(given, Table)
            else exp.Subquery(this=given.copy(), alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        )
    for hole in list(select.find_all(exp.Placeholder)):
        hole.replace(_expression(holes[hole.name]))
    return select


def expression(template: str, **holes: Hole) -> exp.Expression:
    """As `query`, for an expression.

    >>> expression("x + :y", y=1).sql()
    '"x" + 1'
    """
    return typing.cast(exp.Expression, query(template, None, **holes))


def _expression(value: Hole) -> exp.Expression:
    return value.copy() if isinstance(value, exp.Expression) else literal(value)


@lru_cache(maxsize=256)
def _parsed(template: str) -> exp.Expr:
    parsed: exp.Expr = without_places(parse_one(template))
    for name in parsed.find_all(exp.Identifier):
        name.set("quoted", True)
    return parsed
