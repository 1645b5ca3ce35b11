"""Measuring one sensitive column over the classes of one quasi-identifier, with every model that is asked of it.

Reads counts from the database: what values there are to compare, then one statement for all figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlanon.auditor.checks import Check
from sqlanon.auditor.figures import ColumnFigures, rounded
from sqlanon.auditor.models import (
    Asked,
    Found,
    ask,
    effective_values,
    greatest_gain,
    greatest_logarithm,
    least_values,
    recursive_key,
)
from sqlanon.auditor.opened import Opened, text_key
from sqlanon.auditor.statements.classes import size_figures
from sqlanon.auditor.statements.columns import ColumnStatement, Domain
from sqlanon.auditor.statements.values import Side, Taxonomy, Values, domain_counts
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import EngineError, SourceError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.spec.models import Alpha, LDiversity, SensitiveModel, TCloseness
from sqlanon.sql.build import count
from sqlanon.sql.relations import column

WITHOUT_ORDER = frozenset({Family.TEXT, Family.OTHER})


@dataclass(frozen=True)
class Sides:
    """The audited table, what it is compared with, and in both the column that names the person."""

    audited: Opened
    source: Opened | None = None
    respondent: str | None = None
    source_respondent: str | None = None


@dataclass(frozen=True)
class MeasuredColumn:
    """What was found of a column."""

    figures: ColumnFigures
    checks: tuple[Check, ...]
    sizes: Found | None
    """The figures of the class sizes, where the statement measured them too."""


def measure_column(
    engine: Engine,
    sides: Sides,
    name: str,
    keys: Sequence[str],
    models: Sequence[SensitiveModel],
    *,
    taxonomy: Opened | None = None,
    group: str = "",
    sizes_for_k: int | None = None,
) -> MeasuredColumn | None:
    """Measure a column in classes of `keys`, with `sizes_for_k` the sizes of the classes too; None without rows."""
    values = _values(sides, name, models, taxonomy)
    domain, reasons = _domain(engine, values, name)
    if not domain.rows:
        return None
    statement = ColumnStatement(values, [sides.audited.key(key) for key in keys], domain)
    statement.figures["all_classes"] = count()
    if sizes_for_k is not None:
        statement.figures |= size_figures(sizes_for_k, statement.rows)
    asked = [
        ask(entry, f"{position}", flag, statement, reasons) for position, (entry, flag) in enumerate(_numbered(models))
    ]
    [row] = engine.query(Statement(f"audit {name}", statement.sql(), fresh=True))
    found = dict(zip(statement.figures, row, strict=True))
    if found["uncounted"]:
        raise EngineError(f"column '{name}': the table changed while it was measured; audit it again")
    checks = tuple(_check(item, found, group, domain.rows) for item in asked)
    figures = _figures(name, domain, found, models, checks)
    return MeasuredColumn(figures, checks, found if sizes_for_k is not None else None)


def _numbered(models: Sequence[SensitiveModel]) -> Iterator[tuple[SensitiveModel, int]]:
    """Each entry with its number among those that name a value."""
    flags = 0
    for entry in models:
        yield entry, flags
        flags += isinstance(entry, Alpha)


def _values(sides: Sides, name: str, models: Sequence[SensitiveModel], taxonomy: Opened | None) -> Values:
    audited, source = sides.audited, sides.source
    if source is not None:
        source.require(name)
    as_text = source is not None and not audited.compares_with(source, name, name)
    family = Family.TEXT if as_text else audited.family(name)
    ordered = [entry for entry in models if isinstance(entry, TCloseness) and entry.distance == "ordered"]
    if ordered and not ordered[0].order and family in WITHOUT_ORDER:
        raise UsageError(
            f"t_closeness: column '{name}' holds {family.value} values, which have no order of their own; "
            f"a spec can list them from lowest to highest under 'order'"
        )
    return Values(
        audited=_side(audited, name, sides.respondent, as_text=as_text),
        source=None if source is None else _side(source, name, _reference_person(sides, source), as_text=as_text),
        text=text_key(column("value"), family, audited.traits),
        flagged=tuple(entry.value for entry in models if isinstance(entry, Alpha)),
        ordered=bool(ordered),
        order=ordered[0].order if ordered else (),
        taxonomy=None if taxonomy is None else _taxonomy(taxonomy, family),
    )


def _side(opened: Opened, name: str, respondent: str | None, *, as_text: bool) -> Side:
    person = None if respondent is None else opened.key(respondent)
    return Side(opened.expression(), opened.key(name, as_text=as_text), person)


def _reference_person(sides: Sides, source: Opened) -> str | None:
    if sides.respondent is None:
        return None
    name = sides.source_respondent or sides.respondent
    if name not in source.columns:
        raise SourceError(f"{source.relation} has no column '{name}': persons cannot be counted in it")
    return name


def _taxonomy(opened: Opened, family: Family) -> Taxonomy:
    opened.require("value")
    height = 0
    while f"label_{height + 1}" in opened.columns:
        height += 1
    if not height:
        raise SourceError(f"{opened.relation} has no column 'label_1'")
    as_text = family is Family.TEXT and opened.family("value") is not Family.TEXT
    return Taxonomy(opened.expression(), opened.key("value", as_text=as_text), height)


def _domain(engine: Engine, values: Values, name: str) -> tuple[Domain, dict[str, str]]:
    """The size of the domain, and why a distance cannot be measured."""
    [row] = engine.query(Statement(f"values of {name}", domain_counts(values), fresh=True))
    rows, reference_rows, distinct, nulls, unplaced, uncovered = (int(number) for number in row)
    if rows and not reference_rows:
        raise SourceError(f"column '{name}': the reference has no rows, so there is nothing to compare with")
    reasons = {}
    if unplaced:
        reasons["ordered"] = f"not measured: {_counted(unplaced)} not in the declared order"
    if values.taxonomy is None:
        reasons["hierarchical"] = "not measured: the hierarchy of the column is not known here"
    elif uncovered:
        reasons["hierarchical"] = f"not measured: {_counted(uncovered)} outside the hierarchy of the column"
    return Domain(rows, reference_rows, distinct, nulls > 0), reasons


def _counted(number: int) -> str:
    return "1 value is" if number == 1 else f"{number} values are"


def _check(item: Asked, found: Found, group: str, rows: int) -> Check:
    classes = int(found["all_classes"])
    if item.reason:
        return Check(item.question, group, classes, classes, rows, rows, None, item.reason)
    return Check(
        item.question,
        group,
        classes,
        int(found[f"classes_failing_{item.name}"]),
        rows,
        int(found[f"rows_failing_{item.name}"]),
        item.measured(found),
    )


def _figures(
    name: str, domain: Domain, found: Found, models: Sequence[SensitiveModel], checks: Sequence[Check]
) -> ColumnFigures:
    measured = list(zip(models, (check.measured for check in checks), strict=True))
    distances = {entry.distance: figure for entry, figure in measured if isinstance(entry, TCloseness)}
    return ColumnFigures(
        column=name,
        values=domain.values,
        distinct=least_values(found),
        entropy=effective_values(found),
        equal=rounded(found["equal"]) or 0.0,
        beta=greatest_gain(found),
        delta=greatest_logarithm(found),
        share=rounded(found["largest_share"]) or 0.0,
        recursive={
            recursive_key(entry): figure
            for entry, figure in measured
            if isinstance(entry, LDiversity) and entry.kind == "recursive"
        },
        ordered=distances.get("ordered"),
        hierarchical=distances.get("hierarchical"),
        alpha=tuple(figure or 0.0 for entry, figure in measured if isinstance(entry, Alpha)),
        lacking=int(found["lacking"]) if "lacking" in found else None,
    )
