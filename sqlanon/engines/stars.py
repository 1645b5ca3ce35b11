"""The columns that a star stands for, where a statement itself says them: in its WITH clause and its subqueries.

Pure. A star over a table of the database is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlanon.sql.build import named
from sqlanon.sql.relations import column


def spelled_out(select: exp.Select) -> list[exp.Expr]:
    """The items of a select with stars of one relation as columns under their own names."""
    known = dict(_sources(select))
    items: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Column) and item.is_star and known.get(item.table):
            items += [named(column(name, item.table), name) for name in known[item.table]]
        else:
            items.append(item)
    return items


def _sources(select: exp.Select) -> Iterator[tuple[str, list[str]]]:
    """The relations that a select reads, with their columns; none where they are not known."""
    joins = [join.this for join in select.args.get("joins") or []]
    origin = select.args.get("from_")
    for relation in [*([] if origin is None else [origin.this]), *joins]:
        query = relation.this if isinstance(relation, exp.Subquery) else _step(relation)
        yield relation.alias_or_name, [] if query is None else _names(query)


def _step(table: exp.Expr) -> exp.Query | None:
    """The query of the WITH clause that a table name means."""
    node: exp.Expr | None = table
    while node is not None:
        clause = node.args.get("with_")
        for step in clause.expressions if clause is not None else []:
            if step.alias == table.name:
                found: exp.Query = step.this
                return found
        node = node.parent
    return None


def _names(query: exp.Expr) -> list[str]:
    """The columns of a query; none where they are not all written down."""
    if isinstance(query, exp.SetOperation):
        return _names(query.this)
    if not isinstance(query, exp.Select):
        return []
    known = dict(_sources(query))
    names: list[str] = []
    for item in query.expressions:
        if not item.is_star:
            names.append(item.alias_or_name)
            continue
        read = [known.get(item.table, [])] if isinstance(item, exp.Column) else list(known.values())
        if not all(read):
            return []
        names += [name for columns in read for name in columns]
    return names
