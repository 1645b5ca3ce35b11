"""Differential privacy in a spec: what it asks for, and everything that would void its guarantee.

Pure. The guarantee holds for a rule that was fixed before anybody saw the data: given levels of hierarchies that are
written out, every released column a part of the class, one row a person, one release of a table.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlanon.hierarchies import Csv, Date, Ending, Family, HierarchySpec, Interval, Mask, Suppression, Tree
from sqlanon.hierarchies.definition import Finding
from sqlanon.spec.keys import SpecKeys
from sqlanon.spec.places import QuerySource, ViewTarget

WRITTEN_OUT = (Csv, Date, Interval, Mask, Suppression, Tree)
"""Hierarchies whose labels the spec and its files give; `table` and `sql` read the database."""


def differential_findings(spec: SpecKeys) -> Iterator[Finding]:
    """What voids the guarantee of a differential release."""
    if spec.privacy.differential is None:
        return
    here = ("privacy", "differential")
    for key in sorted(spec.privacy.model_fields_set - {"differential"}):
        yield ("privacy", key), "with privacy.differential remove it: k and what is suppressed follow from epsilon"
    if spec.respondent is None:
        yield here, "it protects persons: name the column that tells them apart as respondent"
    yield from _columns(spec)
    constraints = spec.search.constraints
    choosing = {
        "prefer": spec.search.prefer,
        "constraints": constraints.before or constraints.forbidden,
        "model": spec.search.model,
    }
    for key, written in choosing.items():
        if written:
            yield ("search", key), "with privacy.differential the levels are given; remove it"
    if isinstance(spec.source, QuerySource):
        message = "with privacy.differential name a table: the rows of a query may depend on other people's rows"
        yield ("source",), message
    if isinstance(spec.own_target, ViewTarget):
        yield ("target",), "a view would be drawn anew each time it is read; with privacy.differential name a table"
    if spec.history is not None:
        yield ("history",), "with privacy.differential a table is released once; remove it"
    if spec.regions is not None:
        yield ("regions",), "with privacy.differential nothing but the sample is released; remove it"


def _columns(spec: SpecKeys) -> Iterator[Finding]:
    if spec.default_role == "insensitive":
        yield ("default_role",), "with privacy.differential unlisted columns cannot be released; write identifier"
    for name, column in spec.columns.items():
        if column.role in ("sensitive", "insensitive"):
            message = (
                "with privacy.differential every released column is part of the class: give it the role "
                "quasi_identifier with levels {min: 0, max: 0}, or identifier to leave it out"
            )
            yield ("columns", name, "role"), message
        if column.role == "quasi_identifier":
            if column.levels.max is None or column.levels.min != column.levels.max:
                message = (
                    "with privacy.differential the level is given, not chosen: write the same number as min and max"
                )
                yield ("columns", name, "levels"), message
            problem = _read_from_data(column.hierarchy)
            if problem is not None:
                yield ("columns", name, "hierarchy"), f"with privacy.differential {problem}"


def _read_from_data(hierarchy: HierarchySpec | None) -> str | None:
    """Why the labels of a hierarchy may depend on the data; None where they cannot."""
    if hierarchy is not None and not isinstance(hierarchy, WRITTEN_OUT):
        return "labels must not come from the database; write them out as csv, tree, mask, interval or date"
    if isinstance(hierarchy, Mask) and hierarchy.length is None:
        return "give length: without it the longest value of the column decides"
    if isinstance(hierarchy, Mask) and hierarchy.rule(Family.TEXT).top is Ending.FOUND:
        return "write top, true or false: without it the values decide where the hierarchy ends"
    return None
