"""From the models that a spec names to the requirement that classes are judged by.

Pure; reads the binding and what is known of the sensitive columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from sqlanon.privacy.alpha import AlphaShare
from sqlanon.privacy.base import Grouping, PrivacyModel, Requirement, Sensitive
from sqlanon.privacy.beta_likeness import BetaLikeness
from sqlanon.privacy.delta_disclosure import DeltaDisclosure
from sqlanon.privacy.delta_presence import DeltaPresence
from sqlanon.privacy.distinct import DistinctDiversity
from sqlanon.privacy.entropy import EntropyDiversity
from sqlanon.privacy.exact import Threshold
from sqlanon.privacy.k_anonymity import KAnonymity
from sqlanon.privacy.k_map import KMap
from sqlanon.privacy.p_sensitive import PSensitivity
from sqlanon.privacy.recursive import RecursiveDiversity
from sqlanon.privacy.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from sqlanon.source.binding import Binding
from sqlanon.spec import models as entries

UNBOUNDED = 2**62
"""Counts of a source whose rows nobody has counted."""


def requirement_of(binding: Binding, k: int | None = None, *, rows: int = UNBOUNDED) -> Requirement:
    """What every class must satisfy; `k` overrides the spec's.

    `rows` bounds every count: the fewer, the faster the arithmetic that holds their products.
    """
    privacy = binding.spec.privacy
    columns = _sensitive(binding, rows)
    positions = {name: position for position, name in enumerate(binding.names)}
    groupings: list[Grouping] = []
    for name, (members, own_k) in privacy.groups(binding.names).items():
        chosen = None if set(members) == set(binding.names) else tuple(sorted(positions[item] for item in members))
        groupings += _groupings(binding, columns, k if k is not None else own_k, chosen, name)
    return Requirement(tuple(groupings), _apart(binding))


def _apart(binding: Binding) -> tuple[tuple[str, object], ...]:
    """What is asked that its own recoders hold to, and no class predicate judges."""
    asked = binding.spec.privacy.personalized
    if asked is None:
        return ()
    stated = {"column": asked.column, "p_breach": f"{asked.p_breach:f}", "primary": asked.primary}
    return (("personalized", stated),)


def _sensitive(binding: Binding, rows: int) -> dict[str, Sensitive]:
    return {
        item.name: Sensitive(position, item.name, binding.persons, rows)
        for position, item in enumerate(binding.sensitive)
    }


def _groupings(
    binding: Binding, columns: dict[str, Sensitive], k: int | None, chosen: tuple[int, ...] | None, name: str
) -> Iterator[Grouping]:
    """The groupings of one quasi-identifier: its classes and, where others may be known, those of each column."""
    counts = list(_counting_models(binding, k))
    by_column = {item: list(_models(binding, columns[item])) for item in columns}
    if binding.spec.privacy.other_sensitive == "unknown":
        yield Grouping((*counts, *(model for models in by_column.values() for model in models)), chosen, (), name)
        return
    if counts:
        yield Grouping(tuple(counts), chosen, (), name)
    for item, models in by_column.items():
        if models:
            others = tuple(other.position for other in columns.values() if other.name != item)
            yield Grouping(tuple(models), chosen, others, name)


def _counting_models(binding: Binding, k: int | None) -> Iterator[PrivacyModel]:
    privacy = binding.spec.privacy
    if k is not None:
        yield KAnonymity(k, binding.persons)
    if privacy.k_map is not None:
        yield KMap(privacy.k_map)
    if privacy.delta_presence is not None:
        bounds = privacy.delta_presence
        yield DeltaPresence(Threshold(bounds.min), Threshold(bounds.max), binding.persons)


def _models(binding: Binding, sensitive: Sensitive) -> Iterator[PrivacyModel]:
    flags = 0
    for entry in binding.spec.privacy.models():
        if entry.column != sensitive.name:
            continue
        if isinstance(entry, entries.Alpha):
            yield AlphaShare(sensitive, flags, _digest(entry.value), Threshold(entry.alpha))
            flags += 1
        else:
            yield _model(entry, sensitive)


def _model(
    entry: entries.LDiversity
    | entries.TCloseness
    | entries.PSensitive
    | entries.BetaLikeness
    | entries.DeltaDisclosure,
    sensitive: Sensitive,
) -> PrivacyModel:
    match entry:
        case entries.LDiversity(kind="entropy"):
            return EntropyDiversity(sensitive, entry.l)
        case entries.LDiversity() if entry.c is not None:
            return RecursiveDiversity(sensitive, entry.l, Threshold(entry.c))
        case entries.LDiversity():
            return DistinctDiversity(sensitive, entry.l)
        case entries.TCloseness(distance="ordered"):
            return OrderedCloseness(sensitive, Threshold(entry.t), _digest(*entry.order) if entry.order else "")
        case entries.TCloseness(distance="hierarchical"):
            return HierarchicalCloseness(sensitive, Threshold(entry.t))
        case entries.TCloseness():
            return EqualCloseness(sensitive, Threshold(entry.t))
        case entries.PSensitive():
            return PSensitivity(sensitive, entry.p)
        case entries.BetaLikeness():
            return BetaLikeness(sensitive, Threshold(entry.beta), entry.kind == "enhanced")
        case entries.DeltaDisclosure():
            return DeltaDisclosure(sensitive, Threshold(entry.delta), entry.kind == "all")


def _digest(*texts: str) -> str:
    """Tells values apart in a lock file without showing them."""
    return sha256(repr(texts).encode()).hexdigest()[:16]
