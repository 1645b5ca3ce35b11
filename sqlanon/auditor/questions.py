"""The questions of an audit, written once: an engine answers them to publish or to measure, a script asserts them.

Each is an `AuditQuestion` (`statements.classes`): figures over the rows of a query. Classes are asked for their sizes,
each sensitive column for its values and for what its models count, the population for the classes that it matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.auditor.models import AskedModel, ask
from sqlanon.auditor.policy_statements import LabelQuestion
from sqlanon.auditor.request import Opened, null_is_blank, text_key
from sqlanon.auditor.statements.classes import (
    AuditQuestion,
    matched_classes,
    population_figures,
    population_question,
    size_figures,
    size_question,
)
from sqlanon.auditor.statements.columns import ColumnStatement
from sqlanon.auditor.statements.values import AuditedValues, CountedSide, Taxonomy
from sqlanon.errors import SourceError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.spec import Privacy
from sqlanon.spec.models import Alpha, SensitiveModel, TCloseness
from sqlanon.sql.relations import column

LABELS = "labels_"
"""What the names of figures of labels begin with."""

WITHOUT_ORDER = frozenset({Family.TEXT, Family.OTHER})


@dataclass(frozen=True)
class Sides:
    """The audited table, what it is compared with, and in both the column that names the person."""

    audited: Opened
    source: Opened | None = None
    respondent: str | None = None
    source_respondent: str | None = None


def sizes_of_classes(sides: Sides, columns: Sequence[str], k: int) -> AuditQuestion:
    """How large the classes of some columns are, and which of them are smaller than k."""
    audited = sides.audited
    person = None if sides.respondent is None else audited.key(sides.respondent)
    return size_question(audited.expression(), [audited.key(name) for name in columns], person, k)


def sizes_and_labels(sides: Sides, columns: Sequence[str], k: int, labels: LabelQuestion) -> AuditQuestion:
    """The same of classes of rows, and which labels these show: the table is read once."""
    audited = sides.audited
    rows, shown = labels.of_classes(audited.expression(), {name: audited.key(name) for name in columns})
    figures = {**size_figures(k), **{f"{LABELS}{place}": figure for place, figure in enumerate(shown)}}
    return AuditQuestion("audit", rows, figures)


def labels_found(found: Mapping[str, Any]) -> tuple[int, ...]:
    """What `LabelQuestion.counted` would have answered, from the figures of `sizes_and_labels`."""
    return (int(found["rows"]), *(int(figure) for name, figure in found.items() if name.startswith(LABELS)))


def against_population(sides: Sides, population: Opened, columns: Sequence[str], privacy: Privacy) -> AuditQuestion:
    """How many rows of the population the classes match."""
    audited = sides.audited
    population.require(*columns)
    texts = {name: not audited.compares_with(population, name, name) for name in columns}
    matched = matched_classes(
        audited.expression(),
        [audited.key(name, as_text=texts[name]) for name in columns],
        None if sides.respondent is None else audited.key(sides.respondent),
        population.expression(),
        [population.key(name, as_text=texts[name]) for name in columns],
        null_is_blank(columns, audited, population) if privacy.suppression.mode == "blank" else (),
    )
    bounds = privacy.delta_presence
    return population_question(
        matched, population_figures(privacy.k_map, None if bounds is None else (bounds.min, bounds.max))
    )


def asked_models(
    models: Sequence[SensitiveModel], statement: ColumnStatement, reasons: Mapping[str, str]
) -> list[AskedModel]:
    """Let the statement of a column test all its models, each under its number."""
    numbered = enumerate(_numbered(models))
    return [ask(entry, f"{position}", flag, statement, reasons) for position, (entry, flag) in numbered]


def _numbered(models: Sequence[SensitiveModel]) -> Iterator[tuple[SensitiveModel, int]]:
    """Each entry with its number among those that name a value."""
    flags = 0
    for entry in models:
        yield entry, flags
        flags += isinstance(entry, Alpha)


def audited_values(sides: Sides, name: str, models: Sequence[SensitiveModel], taxonomy: Opened | None) -> AuditedValues:
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
    return AuditedValues(
        audited=_side(audited, name, sides.respondent, as_text=as_text),
        source=None if source is None else _side(source, name, _reference_person(sides, source), as_text=as_text),
        text=text_key(column("value"), family, audited.traits),
        flagged=tuple(entry.value for entry in models if isinstance(entry, Alpha)),
        ordered=bool(ordered),
        order=ordered[0].order if ordered else (),
        taxonomy=None if taxonomy is None else _taxonomy(taxonomy, family),
    )


def _side(opened: Opened, name: str, respondent: str | None, *, as_text: bool) -> CountedSide:
    person = None if respondent is None else opened.key(respondent)
    return CountedSide(opened.expression(), opened.key(name, as_text=as_text), person)


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
