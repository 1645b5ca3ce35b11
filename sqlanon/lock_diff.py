"""What would change if a new plan took the place of an old one, and why, as far as two lock files tell.

Pure. A line holds names, levels and counts, as lock files do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlanon.lock import Lock, columns_changed
from sqlanon.recoding.assigned import Assigned
from sqlanon.recoding.cuts import Cuts
from sqlanon.spec.parts import changed_parts

Cause = Literal["data", "spec", "hierarchy", "search"]


@dataclass(frozen=True)
class Change:
    """One line of a diff: something that changes, or a reason why."""

    line: str
    cause: Cause | None = None
    """What kind of reason it is; None where it is none."""

    def __str__(self) -> str:
        """
        >>> str(Change("zip: level 1 -> 2")), str(Change("the hierarchy of zip changed", "hierarchy"))
        ('zip: level 1 -> 2', 'because the hierarchy of zip changed')
        """
        return self.line if self.cause is None else f"because {self.line}"


def to_dict(changes: Sequence[Change]) -> dict[str, Any]:
    """A diff as plain data."""
    return {
        "changed": bool(changes),
        "changes": [change.line for change in changes if change.cause is None],
        "reasons": [{"cause": change.cause, "text": change.line} for change in changes if change.cause is not None],
    }


def diff(old: Lock, new: Lock) -> list[Change]:
    """What changes from one lock to another, then the reasons; nothing where both say the same."""
    changes = [Change(line) for line in (*_recoding(old, new), *_figures(old, new))]
    reasons = [*_by_spec(old, new), *_hierarchies(old, new), *_data(old, new)]
    if changes and not reasons:
        line = "the search found another answer: a budget ran out, or this is another version of sqlanon"
        reasons.append(Change(line, "search"))
    return [*changes, *reasons]


def _by_spec(old: Lock, new: Lock) -> Iterator[Change]:
    named = [*_columns(old, new), *_requirement(old, new), *_search(old, new)]
    yield from (Change(line, "spec") for line in named)
    if old.spec_hash == new.spec_hash:
        return
    parts = ", ".join(_other_parts(old, new))
    if parts:
        yield Change(f"the spec changed: {parts}", "spec")
    elif not named and not list(_hierarchies(old, new)):
        yield Change("the spec changed", "spec")


def _other_parts(old: Lock, new: Lock) -> Iterator[str]:
    """Parts of the spec that changed beyond those that other lines tell of already."""
    told = {"search.algorithm", "search.metric", *(f"privacy.{key}" for key in _requirements_changed(old, new))}
    told |= {f"columns.{name}.hierarchy" for name in _definitions(old, new)}
    if not old.spec_parts or not new.spec_parts:
        return
    for part in changed_parts(old.spec_parts, new.spec_parts):
        if part not in told:
            yield part


def _recoding(old: Lock, new: Lock) -> Iterator[str]:
    """What is released otherwise: levels, the groups of a column, or classes with labels of their own."""
    match old.flexible, new.flexible:
        case None, None:
            yield from _levels(old, new)
        case Cuts() as before, Cuts() as after:
            yield from _groups(before, after)
        case Assigned() as before, Assigned() as after:
            if before.checksum != after.checksum:
                yield "rows are put into other classes"
        case before, after:
            yield f"recoding: {_kind(before)} -> {_kind(after)}"


def _groups(before: Cuts, after: Cuts) -> Iterator[str]:
    old, new = (dict(zip(cuts.columns, cuts.groups, strict=True)) for cuts in (before, after))
    for name, groups in new.items():
        if name in old and old[name] != groups:
            count = len(groups)
            yield f"{name}: groups {len(old[name])} -> {count}" if len(old[name]) != count else f"{name}: other groups"


def _kind(recoding: Cuts | Assigned | None) -> str:
    return "full_domain" if recoding is None else recoding.kind


def _levels(old: Lock, new: Lock) -> Iterator[str]:
    for name, level in old.levels.items():
        if name not in new.levels:
            yield f"{name}: level {level} -> no quasi-identifier"
        elif new.levels[name] != level:
            yield f"{name}: level {level} -> {new.levels[name]}"
    for name, level in new.levels.items():
        if name not in old.levels:
            yield f"{name}: no quasi-identifier -> level {level}"


def _figures(old: Lock, new: Lock) -> Iterator[str]:
    before, after = old.result, new.result
    if before.get("suppressed") != after.get("suppressed"):
        if before.get("rows") == after.get("rows"):
            yield f"suppressed {before.get('suppressed')} -> {after.get('suppressed')} of {after.get('rows')} rows"
        else:
            yield f"suppressed {_share(before)} -> {_share(after)} rows"
    if before.get("classes") != after.get("classes"):
        yield f"classes {before.get('classes')} -> {after.get('classes')}"
    for metric, score in _mapping(before, "score").items():
        now = _mapping(after, "score").get(metric, score)
        if now != score:
            yield f"{metric} {_number(score)} -> {_number(now)}"
    if before.get("satisfied") != after.get("satisfied"):
        yield "the requirement holds now" if after.get("satisfied") else "the requirement no longer holds"


def _columns(old: Lock, new: Lock) -> Iterator[str]:
    if old.hierarchies.keys() != new.hierarchies.keys():
        yield "the quasi-identifiers changed"


def _hierarchies(old: Lock, new: Lock) -> Iterator[Change]:
    for name in _in_both(old.hierarchies, new.hierarchies):
        before, after = old.hierarchies[name], new.hierarchies[name]
        changed = [part for part in ("height", "top") if _differ(part, before, after)]
        parts = [f"{part} {before.get(part)} -> {after.get(part)}" for part in changed]
        more = f" ({', '.join(parts)})" if parts else ""
        if before.get("definition") != after.get("definition"):
            yield Change(f"the hierarchy of {name} changed{more}", "hierarchy")
        elif parts:
            yield Change(f"the hierarchy of {name} changed with the data{more}", "hierarchy")


def _definitions(old: Lock, new: Lock) -> list[str]:
    """The columns whose hierarchy is another one by its definition, and those that only one lock has."""
    shared = _in_both(old.hierarchies, new.hierarchies)
    changed = [name for name in shared if _differ("definition", old.hierarchies[name], new.hierarchies[name])]
    return [*changed, *(old.hierarchies.keys() ^ new.hierarchies.keys())]


def _data(old: Lock, new: Lock) -> Iterator[Change]:
    if old.source and new.source:
        # Columns that the spec drops, adds or shows anew are the spec's doing, and told there.
        shared = {
            name: kind for name, kind in new.source.items() if name in old.source or old.spec_hash == new.spec_hash
        }
        known = {name: kind for name, kind in old.source.items() if name in shared or old.spec_hash == new.spec_hash}
        yield from (Change(f"the source's schema changed: {line}", "data") for line in columns_changed(known, shared))
    rows, now = old.result.get("rows"), new.result.get("rows")
    if rows != now:
        yield Change(f"the data changed ({rows} -> {now} rows)", "data")
    elif old.fingerprint != new.fingerprint and not _definitions(old, new):
        yield Change(f"the data changed ({now} rows as before)", "data")


def _requirements_changed(old: Lock, new: Lock) -> list[str]:
    keys = sorted(old.requirement.keys() | new.requirement.keys())
    return [key for key in keys if old.requirement.get(key) != new.requirement.get(key)]


def _requirement(old: Lock, new: Lock) -> Iterator[str]:
    for key in _requirements_changed(old, new):
        before, after = old.requirement.get(key), new.requirement.get(key)
        if before is None or after is None:
            yield f"privacy changed: {key} {'added' if before is None else 'removed'}"
        else:
            yield f"privacy changed: {key} ({_brief(before)} -> {_brief(after)})"
    # A limit in percent follows the rows; one that changes without them, or beside another spec, was changed by hand.
    before, after = old.result.get("limit"), new.result.get("limit")
    if before != after and old.result.get("rows") == new.result.get("rows"):
        yield f"privacy changed: suppression limit ({before} -> {after} rows)"


def _search(old: Lock, new: Lock) -> Iterator[str]:
    before, after = old.result.get("algorithm"), new.result.get("algorithm")
    if before != after:
        yield f"search changed: algorithm {before} -> {after}"
    metrics = [", ".join(sorted(_mapping(lock.result, "score"))) for lock in (old, new)]
    if metrics[0] != metrics[1]:
        yield f"search changed: metric {metrics[0]} -> {metrics[1]}"
    if old.recipient != new.recipient:
        yield f"the recipient changed ({old.recipient or 'none'} -> {new.recipient or 'none'})"


def _brief(described: Any) -> str:
    """A requirement in short.

    >>> _brief({"k": 5}), _brief([{"column": "disease", "l": 3}])
    ('k 5', 'column disease, l 3')
    """
    if isinstance(described, list):
        return "; ".join(map(_brief, described))
    if isinstance(described, Mapping):
        return ", ".join(f"{name} {_inner(value)}" for name, value in described.items())
    return str(described)


def _inner(value: Any) -> str:
    return f"({_brief(value)})" if isinstance(value, (list, Mapping)) else str(value)


def _share(result: Mapping[str, Any]) -> str:
    return f"{result.get('suppressed')} of {result.get('rows')}"


def _number(figure: Any) -> str:
    return f"{figure:.6g}" if isinstance(figure, float) else str(figure)


def _mapping(result: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = result.get(key)
    return found if isinstance(found, Mapping) else {}


def _in_both(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [name for name in old if name in new]


def _differ(part: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return before.get(part) != after.get(part)
