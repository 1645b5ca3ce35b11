"""SQL that a user wrote in a spec: parsed, and refused unless it can only read.

A source query must be one SELECT; a hierarchy level one scalar expression over its own column.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from sqlanon.errors import SpecError
from sqlanon.sql.plain_sql import acts, is_plain
from sqlanon.sql.relations import identifier

_WRITES = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock)


def parse_query(text: str, dialect: str, where: str) -> exp.Query:
    """One SELECT, or a SpecError at key `where`."""
    expression = _parse_one(text, dialect, where)
    if not isinstance(expression, exp.Query):
        raise SpecError(f"{where}: must be one SELECT")
    if any(isinstance(node, _WRITES) for node in expression.walk() if not isinstance(node, exp.Query)):
        raise SpecError(f"{where}: may only read; found a part that writes or locks")
    if any(acts(node) for node in expression.walk()):
        raise SpecError(f"{where}: may only read; found a function that does more")
    return expression


def parse_expression(text: str, dialect: str, column: str, where: str) -> exp.Expression:
    """A scalar expression over `column`, which becomes the column `value` of the hierarchy's domain."""
    select = _parse_one(f"SELECT {text}", dialect, where)
    if not isinstance(select, exp.Select) or set(_parts(select)) != {"expressions"} or len(select.expressions) != 1:
        raise SpecError(f"{where}: must be one expression over column '{column}'")
    expression: exp.Expression = select.expressions[0]
    for node in list(expression.walk()):
        if isinstance(node, (exp.Query, exp.AggFunc, exp.Window, exp.Star, exp.Alias, *_WRITES)):
            raise SpecError(f"{where}: must be a plain expression: no subquery, aggregate, window or alias")
        if isinstance(node, exp.Column) and (node.table or node.name.lower() != column.lower()):
            raise SpecError(f"{where}: may read only column '{column}'")
        if not is_plain(node):
            raise SpecError(
                f"{where}: has a function, operator or type that is not known to be plain; "
                f"compute it in the source query or in a table of labels"
            )
    replaced = expression.transform(
        lambda node: exp.Column(this=identifier("value")) if isinstance(node, exp.Column) else node
    )
    return exp.Paren(this=replaced)


def _parse_one(text: str, dialect: str, where: str) -> exp.Expression:
    try:
        with _silent_parser():
            parsed = parse(text, dialect=dialect)
    except SqlglotError:
        # The parser's own error quotes the text: it is not chained.
        raise SpecError(f"{where}: is not valid SQL for {dialect}") from None
    # A semicolon with a comment after it is parsed as a statement of its own.
    statements = [one for one in parsed if one is not None and not isinstance(one, exp.Semicolon)]
    if len(statements) != 1:
        raise SpecError(f"{where}: must be one statement, found {len(statements)}")
    [statement] = statements
    if not isinstance(statement, exp.Expression):
        raise SpecError(f"{where}: is not valid SQL for {dialect}")
    return statement


@contextmanager
def _silent_parser() -> Iterator[None]:
    """The parser logs, text and all, what it takes for a command; we refuse commands in words of our own."""
    logger = logging.getLogger("sqlglot")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def _parts(select: exp.Select) -> list[str]:
    return [name for name, value in select.args.items() if value not in (None, [], False)]
