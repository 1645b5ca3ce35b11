"""The cells of an audited table: how many of a class have a value of the sensitive column, each beside its reference.

Two ways to the step `weighed` (class, size, members, and the columns of `reference`): by windows over counted rows, and
by persons, with `held`, `rows` and `sole` of audit_persons in it. Few values are counted faster: audit_side_by_side.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.statements.persons import class_number, holdings, sized
from sqlanon.auditor.statements.steps import Steps, step
from sqlanon.auditor.statements.values import Side, code_of, with_domain
from sqlanon.sql.build import count, equal, named
from sqlanon.sql.relations import cast, column, identifier


def cells(audited: Side, keys: Sequence[exp.Expression]) -> Steps:
    """The steps from `domain` and `reference` to `weighed`."""
    if audited.person is not None:
        return _by_persons(audited, keys, audited.person)
    return _by_windows(audited, keys)


def _by_windows(audited: Side, keys: Sequence[exp.Expression]) -> Steps:
    names = [f"k_{position}" for position in range(len(keys))]
    items = [named(key.copy(), name) for name, key in zip(names, keys, strict=True)]
    grouped = exp.select(*items, named(audited.value.copy(), "value"), named(count(), "members"))
    grouped = _grouped(grouped.from_(audited.relation.copy(), copy=False), [*keys, audited.value])
    value = column("value", "grouped")
    numbered = exp.select(
        *(column(name, "grouped") for name in names),
        column("members", "grouped"),
        named(code_of(value), "code"),
        named(exp.Window(this=exp.RowNumber()), "number"),
    ).from_(step("grouped"), copy=False)
    partition: list[exp.Expression] = [column(name) for name in names]
    size = exp.Window(this=exp.Sum(this=column("members")), partition_by=partition)
    sizes = exp.select(
        named(class_number(names), "class"), named(cast(size, "bigint"), "size"), column("code"), column("members")
    ).from_(step("numbered"), copy=False)
    return {
        "grouped": grouped,
        "numbered": with_domain(numbered, value),
        "sizes": sizes,
        "weighed": _with_reference("sizes", ("class", "size", "members")),
    }


def _by_persons(audited: Side, keys: Sequence[exp.Expression], person: exp.Expression) -> Steps:
    rows = with_domain(exp.select().from_(audited.relation.copy(), copy=False), audited.value)
    steps = holdings("audited", rows, keys, person, code_of(audited.value))
    steps["sizes"] = sized("audited")
    steps["weighed"] = _with_reference("sizes", ("class", "size", "members", "held", "rows", "sole"))
    return steps


def _with_reference(name: str, columns: Sequence[str]) -> exp.Select:
    items = [column(item, name) for item in columns]
    on = equal(column("code", name), column("code", "reference"))
    return exp.select(*items, _all("reference")).from_(step(name), copy=False).join(step("reference"), on=on)


def _grouped(select: exp.Select, keys: Sequence[exp.Expression]) -> exp.Select:
    return select.group_by(*(key.copy() for key in keys), copy=False) if keys else select


def _all(name: str) -> exp.Column:
    return exp.Column(this=exp.Star(), table=identifier(name))
