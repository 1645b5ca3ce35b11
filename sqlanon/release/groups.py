"""The groups of a lock file, held to the hierarchies of the spec before anything is published by them.

A file can be edited: a group's label must be one that the spec allows, and it must tell of the values in the group. A
node of the hierarchy above them all, a range from the first to the last, or the set of them. Reads labels of the
hierarchies, writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor.labels import NUMBERED, RANGES, ends_of, members_in
from sqlanon.auditor.policy import ColumnPolicy, drafted_columns
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.recoding import Group, Recoding
from sqlanon.source.binding import ORDERED, Binding
from sqlanon.sql.build import named, subquery
from sqlanon.sql.relations import cast, column, literal

MOST_LEAVES = 5000
"""Labels of one column that are read; schemes group far fewer."""

RANGED = ORDERED - {Family.BOOLEAN}
"""Kinds of values of which some, but not all, can be a range."""


@dataclass(frozen=True)
class KnownLabel:
    """A value or label that groups hold."""

    labels: tuple[str, ...]
    """Its own, and those above it, up to the top."""
    place: int
    """In the order of the values, where they have one."""
    ends: tuple[str, ...]
    """Texts that a range may begin or end with which begins or ends here."""


def require_groups(engine: Engine, binding: Binding, recoding: Recoding) -> None:
    """UsageError unless every label of a group is one that the spec allows, for the values that it stands for."""
    cuts = recoding.in_groups()
    if cuts is None:
        return
    for policy, groups in zip(drafted_columns(engine, binding), cuts.groups, strict=True):
        leaves = _leaves(engine, policy, cuts.level_of(policy.name))
        if len(leaves) > MOST_LEAVES:
            raise UsageError(
                f"the lock file groups fewer values of column '{policy.name}' than the source has: plan again"
            )
        for number, group in enumerate(groups):
            whole = len(groups) == 1 and group.label in (policy.top, TOP)
            if not whole and not _tells_of(group, leaves, ordered=policy.family in RANGED):
                raise UsageError(
                    f"the lock file has a label for group {number + 1} of column '{policy.name}' that does not "
                    f"fit its values: plan again"
                )


def _leaves(engine: Engine, policy: ColumnPolicy, least: int) -> dict[str, KnownLabel]:
    """The labels of a level, each with those above it; of ordered values in their order."""
    labels = [cast(column(f"label_{level}", "h"), "text") for level in range(least, len(policy.families))]
    value = column("value", "h")
    ordered = policy.family in RANGED
    first, last = (exp.Min, exp.Max) if ordered else (exp.Count, exp.Count)
    select = exp.select(*(named(label, f"l_{number}") for number, label in enumerate(labels)))
    select = select.select(named(first(this=value), "first_value"), named(last(this=value.copy()), "last_value"))
    select = select.from_(engine.traits.relation(policy.hierarchy, "h"))
    select = select.group_by(*(label.copy() for label in labels))
    found = exp.select(*(column(f"l_{number}", "g") for number in range(len(labels))))
    for name in ("first_value", "last_value"):
        text = engine.traits.text(column(name, "g"), policy.family) if ordered else cast(literal(""), "text")
        found = found.select(text, copy=False)
    found = found.from_(subquery(select, "g"))
    found = found.order_by(column("first_value", "g"), copy=False).limit(MOST_LEAVES + 1)
    rows = engine.query(Statement(f"labels of {policy.name}", found))
    return {
        str(own): KnownLabel(
            (str(own), *map(str, above)), place, _ends(str(own), least, policy, (first_text, last_text))
        )
        for place, (own, *above, first_text, last_text) in enumerate(rows)
        if own is not None
    }


def _ends(label: str, least: int, policy: ColumnPolicy, values: Iterable[object]) -> tuple[str, ...]:
    """`[20-29]` begins at 20 and ends at 29, `<40` ends at 40; values are ends only where the spec asks for them."""
    found = [label, *ends_of(label)]
    if least and policy.ends_at_values:
        found += [str(value) for value in values]
    return tuple(found)


def _tells_of(group: Group, leaves: dict[str, KnownLabel], *, ordered: bool) -> bool:
    """Whether a label is a node, a set or a range of the values in its group. Values may be gone from the source."""
    held = [leaves[value] for value in group.values if value in leaves]
    for label in dict.fromkeys((group.label, NUMBERED.sub("", group.label))):
        if group.values == (label,) or _is_node(label, held) or _is_set(label, group, held):
            return True
        if ordered and held and _is_range(label, held, leaves):
            return True
    return False


def _is_node(label: str, held: Sequence[KnownLabel]) -> bool:
    """Whether some level of the hierarchy has this label over all of them."""
    bare = TOP if label == f"{{{TOP}}}" else label
    levels = len(held[0].labels) if held else 0
    return any(all(leaf.labels[level] == bare for leaf in held) for level in range(levels))


def _is_set(label: str, group: Group, held: Sequence[KnownLabel]) -> bool:
    """Whether it lists values of the group, all that the source has among them."""
    if not (label.startswith("{") and label.endswith("}")):
        return False
    members = {text for text, _ in members_in(label[1:-1]) or ()}
    return bool(members) and members <= set(group.values) and {leaf.labels[0] for leaf in held} <= members


def _is_range(label: str, held: Sequence[KnownLabel], leaves: dict[str, KnownLabel]) -> bool:
    """Whether it begins where the first of them begins and ends where the last one ends, with no others between."""
    first, last = (choose(held, key=lambda leaf: leaf.place) for choose in (min, max))
    between = [leaf for leaf in leaves.values() if first.place <= leaf.place <= last.place]
    return len(between) == len(held) and any(
        (low in first.ends or not low) and (high in last.ends or not high) and bool(low or high)
        for low, high in _readings(label)
    )


def _readings(label: str) -> Iterator[tuple[str, str]]:
    """Where a range may begin and end: any dash or comma may be the one between."""
    if label.startswith(">="):
        yield label.removeprefix(">="), ""
    elif label.startswith("<"):
        yield "", label.removeprefix("<")
    elif label.startswith("[") and label[-1] in "])":
        inner = label[1:-1]
        yield from ((inner[: cut.start()], inner[cut.end() :]) for cut in RANGES.finditer(inner))
