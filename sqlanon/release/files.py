"""A release as a file: refused by name where the format cannot carry it, read back and audited before it is published.

What is compared is what a reader gets: a csv file field by field as texts, a parquet file column by column.
Reads counts from the database, never a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sqlglot import exp

from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.errors import RequirementError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import equal, is_null, named, row_count, subquery, total_where
from sqlanon.sql.relations import File, Relation, Table, column, literal, table_expression
from sqlanon.sql.traits import Traits
from sqlanon.sql.user_sql import Formulas, escaped, is_formula, name_is_formula, unescaped

Audit = Callable[[Relation], None]
"""Audits what a file reads back as; raises when it may not be published."""

_NOT_TEXTS = frozenset(Family) - {Family.TEXT, Family.OTHER}


def write_audited(
    engine: Engine, staging: Table, target: File, formulas: Formulas, scratch: Scratch, audit: Audit
) -> None:
    """Write the staged release to its file; it takes the target's place when what is read back passes."""
    infos = engine.columns(staging)
    refuse_types(engine.traits, infos, target)
    if target.format == "parquet":
        engine.write_file("write file", staging, target, partial(_inspect_parquet, engine, staging, infos, audit))
        return
    _refuse_values(engine, staging, infos, target, formulas)
    texts = scratch.create("stage file", "texts", _texts(engine, staging, infos, formulas))
    inspect = partial(_inspect_csv, engine, texts, formulas=formulas, scratch=scratch, audit=audit)
    engine.write_file("write file", texts, target, inspect)
    scratch.drop(texts)


def refuse_types(traits: Traits, infos: Sequence[ColumnInfo], target: File) -> None:
    """UsageError for the first column whose type the file cannot carry."""
    for info in infos:
        if not traits.carries(target, info.type):
            kind = info.type.sql(dialect=traits.dialect)
            raise UsageError(
                f"target: column '{info.name}' is of type {kind}, which a {target.format} file does not give back "
                f"as it is; cast it in the source query, give it the role identifier, or write a table"
            )


def _refuse_values(
    engine: Engine, staging: Table, infos: Sequence[ColumnInfo], target: File, formulas: Formulas
) -> None:
    """Empty texts beside NULL, which are one field of a csv file; and formulas, where they are refused."""
    texts = [info for info in infos if info.family not in _NOT_TEXTS]
    if formulas != "keep":
        for info in infos:
            if name_is_formula(info.name):
                raise UsageError(
                    f"target: the name of column '{info.name}' is a formula to spreadsheets; rename it in the source "
                    f"query, or set formulas: keep"
                )
    if not texts:
        return
    figures = []
    for position, info in enumerate(texts):
        text = engine.traits.csv_text(column(info.name), info.family)
        figures += [
            named(total_where(equal(text, literal("")), literal(1)), f"empty_{position}"),
            named(total_where(is_null(column(info.name)), literal(1)), f"absent_{position}"),
            named(total_where(is_formula(text), literal(1)), f"formulas_{position}"),
        ]
    [found] = engine.query(Statement("look at file", exp.select(*figures).from_(table_expression(staging))))
    for position, info in enumerate(texts):
        empty, absent, run = (int(number) for number in found[3 * position : 3 * position + 3])
        if empty and absent:
            raise UsageError(
                f"target: column '{info.name}' has {empty} empty texts and {absent} NULLs, which are one field of a "
                f"{target.format} file; make them one in the source query, or write parquet or a table"
            )
        if run and formulas == "refuse":
            raise UsageError(
                f"target: column '{info.name}' has {run} texts that spreadsheets run as formulas; set formulas: "
                f"escape, or write parquet or a table"
            )


def _texts(engine: Engine, staging: Table, infos: Sequence[ColumnInfo], formulas: Formulas) -> exp.Select:
    """The staged rows as the texts that the fields of the file are."""
    items = []
    for info in infos:
        text = engine.traits.csv_text(column(info.name), info.family)
        runs = formulas == "escape" and info.family not in _NOT_TEXTS
        items.append(named(escaped(text) if runs else text, info.name))
    # The order of the file is no order of the source; it is that of the staged release.
    return exp.select(*items).from_(table_expression(staging)).order_by(exp.Rand())


def _inspect_parquet(engine: Engine, staging: Table, infos: Sequence[ColumnInfo], audit: Audit, file: File) -> None:
    found = engine.columns(file)
    _refuse_names(infos, found, file)
    shown = [engine.traits.text(column(info.name), info.family) for info in infos]
    back = [engine.traits.text(column(info.name), info.family) for info in found]
    _compare(engine, (table_expression(staging), shown), (engine.traits.relation(file, "written"), back), infos, file)
    audit(file)


def _inspect_csv(
    engine: Engine, texts: Table, file: File, *, formulas: Formulas, scratch: Scratch, audit: Audit
) -> None:
    """The fields are those that were staged; and what the reader makes of them passes the audit."""
    written = File(file.path, file.format, "written")
    infos, found = engine.columns(texts), engine.columns(written)
    _refuse_names(infos, found, file)
    fields = File(file.path, file.format, "text")
    if {info.name for info in engine.columns(fields)} != {info.name for info in infos}:
        raise _differs(file, "its columns do not read back")
    # An empty text and NULL are one field; no column has both.
    shown: list[exp.Expression] = [exp.Nullif(this=column(info.name), expression=literal("")) for info in infos]
    relations = table_expression(texts), engine.traits.relation(fields, "written")
    _compare(engine, (relations[0], shown), (relations[1], [item.copy() for item in shown]), infos, file)
    # The source is compared with by its own values: a field without a text is the empty text where there are such.
    numbers = [exp.Count(this=exp.Case().when(equal(column(info.name), literal("")), literal(1))) for info in infos]
    [empty] = engine.query(Statement("compare file", exp.select(*numbers).from_(relations[0].copy())))
    rows = exp.select()
    for info, number in zip(found, empty, strict=True):
        value: exp.Expression = column(info.name)
        if info.family is Family.TEXT:
            value = unescaped(value) if formulas == "escape" else value
            value = exp.Coalesce(this=value, expressions=[literal("")]) if int(number) else value
        rows = rows.select(named(value, info.name), copy=False)
    back = scratch.create("read file back", "back", rows.from_(engine.traits.relation(written, "written")))
    audit(back)
    scratch.drop(back)


def _refuse_names(infos: Sequence[ColumnInfo], found: Sequence[ColumnInfo], file: File) -> None:
    names, back = [info.name for info in infos], [info.name for info in found]
    if names != back:
        missing = next((name for name in names if name not in back), names[0])
        raise _differs(file, f"column '{missing}' does not read back under its name")


Side = tuple[exp.Expression, Sequence[exp.Expression]]
"""A relation and its columns as texts."""


def _compare(engine: Engine, staged: Side, written: Side, infos: Sequence[ColumnInfo], file: File) -> None:
    """Stop unless both sides have the same rows, each as often."""
    counts = [
        int(engine.query(Statement("compare file", row_count(relation.copy())))[0][0])
        for relation, _ in (staged, written)
    ]
    if counts[0] != counts[1]:
        raise _differs(file, f"of {counts[0]} rows {counts[1]} read back")
    if not _differing(engine, staged, written, list(range(len(infos)))):
        return
    for position, info in enumerate(infos):
        rows = _differing(engine, staged, written, [position])
        if rows:
            raise _differs(file, f"column '{info.name}' does not read back as it is, in {rows} rows")
    raise _differs(file, "its rows do not read back as they are")


def _differing(engine: Engine, staged: Side, written: Side, positions: Sequence[int]) -> int:
    """How many rows of the first side the second does not have, of some of their columns.

    Rows that look alike are counted together: memory grows with the different rows, not with all of them.
    """
    key = partial(engine.traits.key, family=Family.TEXT)
    names = [f"c{position}" for position in positions]
    parts = [
        exp.select(
            *[named(key(columns[position].copy()), f"c{position}") for position in positions],
            named(literal(sign), "side"),
        ).from_(relation.copy())
        for sign, (relation, columns) in ((1, staged), (-1, written))
    ]
    both = exp.union(parts[0], parts[1], distinct=False, copy=False)
    more = named(exp.Sum(this=column("side")), "more")
    alike = exp.select(more).from_(subquery(both, "rows_of_both")).group_by(*(column(name) for name in names))
    query = exp.select(total_where(exp.GT(this=column("more"), expression=literal(0)), column("more")))
    return int(engine.query(Statement("compare file", query.from_(subquery(alike, "alike"))))[0][0])


def _differs(file: File, what: str) -> RequirementError:
    return RequirementError(
        f"the release failed its audit and was not published: {what} from the {file.format} file; "
        f"write {'a table' if file.format == 'parquet' else 'parquet or a table'}"
    )
