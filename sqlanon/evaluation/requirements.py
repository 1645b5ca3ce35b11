"""From the models that a spec names to the requirement that classes are judged by.

Pure; reads the spec alone. Models of sensitive columns are made by the functions that their entries name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from sqlanon.privacy.base import Grouping, PrivacyModel, Requirement, Sensitive, Threshold
from sqlanon.privacy.delta_presence import DeltaPresence
from sqlanon.privacy.k_anonymity import KAnonymity
from sqlanon.privacy.k_map import KMap
from sqlanon.source.binding import Binding, read_by_models
from sqlanon.spec import Spec
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.spec.models import SensitiveEntry

UNBOUNDED = 2**62
"""Counts of a source whose rows nobody has counted."""


def requirement_of(binding: Binding, k: int | None = None, *, rows: int = UNBOUNDED) -> Requirement:
    """What every class must satisfy; `k` overrides the spec's.

    `rows` bounds every count: the fewer, the faster the arithmetic that holds their products.
    """
    return requirement_from(binding.spec, k, rows=rows)


def requirement_from(spec: Spec, k: int | None = None, *, rows: int = UNBOUNDED) -> Requirement:
    """The requirement of a spec that is bound to no database."""
    names = spec.quasi_identifiers
    persons = spec.respondent is not None
    columns = {name: Sensitive(position, name, persons, rows) for position, name in enumerate(read_by_models(spec))}
    positions = {name: position for position, name in enumerate(names)}
    groupings: list[Grouping] = []
    for name, (members, own_k) in spec.privacy.groups(names).items():
        chosen = None if set(members) == set(names) else tuple(sorted(positions[item] for item in members))
        groupings += _groupings(spec, columns, k if k is not None else own_k, chosen, name)
    return Requirement(tuple(groupings), _apart(spec))


def _apart(spec: Spec) -> tuple[tuple[str, object], ...]:
    """What is asked of a release beside its classes, by who sees to it: personalized recoders, what is done against
    somebody who knows the algorithm. Class predicates ignore it."""
    asked, privacy = spec.privacy.personalized, spec.privacy
    found: list[tuple[str, object]] = []
    if asked is not None:
        stated = {"column": asked.column, "p_breach": f"{asked.p_breach:f}", "primary": asked.primary}
        found.append(("personalized", stated))
    against: dict[str, object] = {}
    if privacy.slack and "slack" in ALGORITHMS[spec.search.algorithm].honours:
        against["slack"] = privacy.slack
    if privacy.crowd:
        against["suppression"] = {"at_least": privacy.crowd}
    if privacy.choice is not None:
        against["choice"] = {"within": str(privacy.choice.within)}
    return (*found, *((("adversary", against),) if against else ()))


def _groupings(
    spec: Spec, columns: Mapping[str, Sensitive], k: int | None, chosen: tuple[int, ...] | None, name: str
) -> Iterator[Grouping]:
    """The groupings of one quasi-identifier: its classes and, where others may be known, those of each column."""
    counts = list(_counting_models(spec, k))
    by_column = {item: list(_models(spec, columns[item])) for item in columns}
    if spec.privacy.other_sensitive == "unknown":
        yield Grouping((*counts, *(model for models in by_column.values() for model in models)), chosen, (), name)
        return
    if counts:
        yield Grouping(tuple(counts), chosen, (), name)
    for item, models in by_column.items():
        if models:
            others = tuple(other.position for other in columns.values() if other.name != item)
            yield Grouping(tuple(models), chosen, others, name)


def _counting_models(spec: Spec, k: int | None) -> Iterator[PrivacyModel]:
    privacy, persons = spec.privacy, spec.respondent is not None
    if k is not None:
        yield KAnonymity(k, persons)
    if privacy.k_map is not None:
        yield KMap(privacy.k_map)
    if privacy.delta_presence is not None:
        bounds = privacy.delta_presence
        yield DeltaPresence(Threshold(bounds.min), Threshold(bounds.max), persons)


def _models(spec: Spec, sensitive: Sensitive) -> Iterator[PrivacyModel]:
    flag = 0
    for entry in spec.privacy.models():
        if entry.column == sensitive.name:
            yield model_of(entry, sensitive, flag)
            flag += entry.names_value


def model_of(entry: SensitiveEntry, sensitive: Sensitive, flag: int) -> PrivacyModel:
    """The model of an entry; `flag` numbers the values of the column that entries name."""
    module, _, name = entry.made_by.partition(":")
    made = getattr(import_module(module), name)(entry, sensitive, flag)
    if not isinstance(made, PrivacyModel):
        raise TypeError(f"{entry.made_by} makes no privacy model")
    return made
