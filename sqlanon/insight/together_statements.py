"""Statements on several releases of one source together: which classes a row has in each, and what two of them share.

Both read the source, never the releases: published tables do not say which row of the source a row came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.release.statements import QuasiIdentifier
from sqlanon.source.frequency_statements import code, sensitive_code
from sqlanon.source.sensitive_statements import SensitiveColumn
from sqlanon.sql.build import all_of, any_of, count, equal, named, scalar, subquery, total, total_where, with_queries
from sqlanon.sql.relations import Table, column, literal, table_expression
from sqlanon.sql.values import joined, relation, whole

ABSENT, IN_CLASS, BLANKED = 0, 1, 2
"""Where a row is in a release: nowhere, in a class, or among the rows without a quasi-identifier."""

NO_KEY = -1
"""The key of a row that lies in no class."""


@dataclass(frozen=True)
class Member:
    """One of the releases: its columns at their levels, and its classes with their verdicts."""

    position: int
    columns: Sequence[QuasiIdentifier]
    classes: Table | exp.Query
    known: Mapping[int, SensitiveColumn]
    """Sensitive columns that are keys of its classes too."""
    blanked: bool
    """Rows of failing classes are released without their quasi-identifier."""

    @property
    def state(self) -> str:
        return f"r{self.position}_state"

    def keys(self, positions: Sequence[int]) -> list[str]:
        """The keys of these columns; a column at its top has none, since it tells no rows apart."""
        return [self.key(position) for position in positions if not self.columns[position].at_top]

    def key(self, position: int) -> str:
        return f"r{self.position}_k_{position}"


def placed(source: exp.Expression, members: Sequence[Member], respondent: exp.Expression | None) -> exp.Select:
    """The rows `n` of the source by their place in every release, and by respondent `who` where there is one."""
    names = [name for member in members for name in (member.state, *member.keys(range(len(member.columns))))]
    items = [item for member in members for item in _place(member)]
    if respondent is not None:
        names.append("who")
        items.append(named(respondent.copy(), "who"))
    select = exp.select(*items).from_(source)
    for member in members:
        select = _with_classes(select, member)
    grouped = exp.select(*(column(name) for name in names), named(count(), "n")).from_(subquery(select, "rows"))
    return grouped.group_by(*(column(name) for name in names), copy=False)


def _place(member: Member) -> list[exp.Expression]:
    kept = column("kept", _alias(member, "class"))
    state = exp.Case().when(kept, literal(IN_CLASS))
    if member.blanked:
        state = state.when(exp.Not(this=kept.copy()), literal(BLANKED))
    return [
        named(state.else_(literal(ABSENT)), member.state),
        *(
            named(exp.Case().when(kept.copy(), key).else_(literal(NO_KEY)), member.key(position))
            for position, key in _codes(member)
        ),
    ]


def _codes(member: Member) -> list[tuple[int, exp.Expression]]:
    return [
        (position, code(item.key, _alias(member, f"h_{position}"), item.level))
        for position, item in enumerate(member.columns)
        if not item.at_top
    ]


def _with_classes(select: exp.Select, member: Member) -> exp.Select:
    """The rows joined to the hierarchies of a release, and by them to its classes."""
    matched = [equal(key, column(f"k_{position}", _alias(member, "class"))) for position, key in _codes(member)]
    for position, item in enumerate(member.columns):
        if not item.at_top:
            select = _looked_up(select, item.key, item.lookup, _alias(member, f"h_{position}"))
    for position, sensitive in member.known.items():
        alias = _alias(member, f"c_{position}")
        select = _looked_up(select, sensitive.key, sensitive.codes, alias)
        matched.append(equal(sensitive_code(sensitive.key, alias), column(f"s_{position}", _alias(member, "class"))))
    classes = relation(member.classes, _alias(member, "class"))
    return select.join(classes, on=all_of(matched), join_type="left", copy=False)


def _looked_up(select: exp.Select, key: exp.Expression, lookup: Table | exp.Query, alias: str) -> exp.Select:
    on = equal(key.copy(), column("value", alias))
    return select.join(relation(lookup, alias), on=on, join_type="left", copy=False)


def _alias(member: Member, name: str) -> str:
    return f"r{member.position}_{name}"


def intersections(
    table: Table, first: Member, second: Member, keys: Sequence[str], k: int, *, persons: bool
) -> exp.Select:
    """One row on what two releases say together to somebody who knows the columns of these keys.

    Rows in both; their classes, those of fewer than k rows or persons, the least size; the rows or persons in classes
    of fewer than k; and the same of those that only one release holds.
    """
    names = [first.state, second.state, *keys]
    rows = _rows(table, first, second, [*names, *(["who"] if persons else [])])
    groups = _counted("rows", names, named(count() if persons else whole(total(column("n"))), "people"))
    both = all_of([_is_in(first), _is_in(second)])
    in_one = exp.Not(this=exp.Paren(this=both.copy()))
    small = exp.LT(this=column("people"), expression=literal(k))
    figures = exp.select(
        total_where(both, column("n")),
        total_where(both.copy(), literal(1)),
        total_where(all_of([both.copy(), small]), literal(1)),
        exp.Min(this=exp.Case().when(both.copy(), column("people"))),
        _people(names, all_of([both.copy(), small.copy()]), persons=persons),
        _people(names, all_of([in_one, small.copy()]), persons=persons),
    ).from_(_query("groups"))
    return with_queries(figures, {"rows": rows, "groups": groups})


def _rows(table: Table, first: Member, second: Member, names: Sequence[str]) -> exp.Select:
    """What at least one of two releases holds, by these columns."""
    in_any = any_of([_is_in(first), _is_in(second)])
    held = exp.select(exp.Star()).from_(table_expression(table)).where(in_any)
    return _counted(subquery(held, "held"), names)


def _counted(source: exp.Expression | str, names: Sequence[str], *more: exp.Expression) -> exp.Select:
    select = exp.select(*(column(name) for name in names), named(whole(total(column("n"))), "n"), *more)
    select = select.from_(_query(source) if isinstance(source, str) else source)
    return select.group_by(*(column(name) for name in names), copy=False)


def _query(name: str) -> exp.Table:
    """A query of the WITH clause."""
    return table_expression(Table((name,)))


def _people(names: Sequence[str], condition: exp.Expression, *, persons: bool) -> exp.Expression:
    """The rows of such groups, or their persons: one who stands in several of them counts once."""
    if not persons:
        return total_where(condition, column("people"))
    chosen = exp.select(*(column(name) for name in names)).from_(_query("groups")).where(condition)
    who = exp.select(column("who", "rows")).distinct().from_(_query("rows"))
    who = joined(who, subquery(chosen, "chosen"), names, "rows", "chosen")
    return scalar(exp.select(count()).from_(subquery(who, "persons")))


def _is_in(member: Member) -> exp.Expression:
    return exp.GT(this=column(member.state), expression=literal(ABSENT))
