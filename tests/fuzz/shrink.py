"""A failing case made small: fewer rows, columns and keys, as long as the same kind of finding remains."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.check import Finding

LONGEST = 60
"""Seconds that shrinking may take."""


def shrink(case: Case, kind: str, judge: Callable[[Case], list[Finding]], seconds: float = LONGEST) -> Case:
    """The smallest case found that still has a finding of this kind."""
    until = time.monotonic() + seconds

    def fails(smaller: Case) -> bool:
        try:
            return any(finding.kind == kind for finding in judge(smaller))
        except Exception:  # a case that lost what it is made of is no smaller case
            return False

    shrunk = True
    while shrunk and time.monotonic() < until:
        shrunk = False
        for smaller in candidates(case):
            if time.monotonic() > until:
                break
            if fails(smaller):
                case, shrunk = smaller, True
                break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Cases that are smaller by one thing each, the largest cuts first."""
    rows = len(case.table.rows)
    part = rows // 2
    while part:
        for begin in range(0, rows, part):
            smaller = copy.deepcopy(case)
            del smaller.table.rows[begin : begin + part]
            yield smaller
        part //= 2
    for name in case.table.names:
        if name != case.row_id and used(case.spec, name) == 1:
            smaller = copy.deepcopy(case)
            place = smaller.table.names.index(name)
            del smaller.table.columns[place]
            for row in smaller.table.rows:
                del row[place]
            del smaller.spec["columns"][name]
            yield smaller
    for path in paths(case.spec):
        smaller = copy.deepcopy(case)
        inner = smaller.spec
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
        yield smaller
    if case.names:
        smaller = copy.deepcopy(case)
        smaller.names = {}
        yield smaller
    for field, simple in (("source", "table"), ("target", "table")):
        if getattr(case, field) != simple:
            smaller = copy.deepcopy(case)
            setattr(smaller, field, simple)
            yield smaller


def used(value: Any, name: str) -> int:
    """How often a spec names a column."""
    if isinstance(value, dict):
        return sum((key == name) + used(part, name) for key, part in value.items())
    if isinstance(value, list):
        return sum(used(part, name) for part in value)
    return int(value == name)


def paths(spec: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Keys that a spec can do without."""
    for section in ("privacy", "search"):
        for key, value in spec.get(section, {}).items():
            if key in ("personalized", "population"):
                continue
            yield (section, key)
            if isinstance(value, list) and len(value) > 1:
                yield from ((section, key, place) for place in range(len(value)))
            if isinstance(value, dict) and len(value) > 1:
                yield from ((section, key, inner) for inner in value)
    for name, column in spec["columns"].items():
        yield from (("columns", name, key) for key in column if key in ("hierarchy", "levels", "weight", "scheme"))
    if "respondent" in spec:
        yield ("respondent",)
