"""Personalized releases for tests: the paper's tables in a database, and releases judged by hand."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from sqlanon.engines.base import Engine, Session
from sqlanon.engines.registry import open_engine
from tests.kit.breaches import Node, Taxonomy, breach
from tests.kit.tables import create, quoted, rows

FIGURES = Path(__file__).parent.parent.parent / "fixtures" / "papers" / "xiao_tao"
TYPES = {"name": "text", "age": "int", "sex": "text", "zip": "int", "disease": "text", "guard": "text"}
RELEASED = {"age": "text", "sex": "text", "zip": "text", "disease": "text"}


def read(name: str) -> list[dict[str, str | None]]:
    with (FIGURES / name).open(encoding="utf-8", newline="") as lines:
        return [{key: value or None for key, value in row.items()} for row in csv.DictReader(lines)]


def opened(url: str) -> Engine:
    return open_engine(url, Session(), Path())


def make(engine: Engine, name: str, types: Mapping[str, str], content: Sequence[Mapping[str, object]]) -> None:
    create(engine, [name], types, [[row[key] for key in types] for row in content])


def figure_spec(url: str, **personalized: Any) -> dict[str, Any]:
    """The spec of the fixture, on tables of a database."""
    spec: dict[str, Any] = yaml.safe_load((FIGURES / "spec.yaml").read_text(encoding="utf-8"))
    spec |= {"connection": url, "source": "microdata", "target": "release", "evidence": {"files": False}}
    if not personalized.get("primary", True):
        spec["respondent"] = "name"
    spec["privacy"]["personalized"] |= personalized
    return spec


def released(engine: Engine, name: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    return rows(engine, f"SELECT {', '.join(quoted(column) for column in columns)} FROM {quoted(name)}")


def covers(label: str | None, value: object, above: Mapping[object, Sequence[str]] | None = None) -> bool:
    """Whether a released label covers a value: itself, a node above it, or an interval."""
    if label is None or value is None:
        return label == "*" or label is value
    if label in (str(value), "*") or (above is not None and label in above[value]):
        return True
    found = re.fullmatch(r"\[(-?[\d.]+), (-?[\d.]+)\]", label)
    return bool(found) and float(found[1]) <= float(str(value)) <= float(found[2])  # type: ignore[index]  # found is one


def tree_taxonomy(tree: Mapping[str, Any]) -> tuple[Taxonomy, list[str], dict[str, Node]]:
    """A tree of a spec, two levels deep, as numbers: the taxonomy, its leaves, and the node of each label."""
    paths = [(leaf, middle, top) for top, below in tree.items() for middle, leaves in below.items() for leaf in leaves]
    levels = [sorted({path[level] for path in paths}) for level in range(3)]
    numbers = [tuple(levels[level].index(path[level]) for path in sorted(paths)) for level in range(3)]
    taxonomy = Taxonomy((*numbers, tuple(0 for _ in paths)))
    nodes = {label: (level, place) for level, labels in enumerate(levels) for place, label in enumerate(labels)}
    return taxonomy, levels[0], {**nodes, "*": (3, 0)}


def greatest_breach(
    taxonomy: Taxonomy,
    nodes: Mapping[str, Node],
    source: Sequence[tuple[Mapping[str, object], str | None, object]],
    release: Sequence[tuple[tuple[str | None, ...], str]],
    columns: Sequence[str],
    *,
    primary: bool,
    above: Mapping[str, Mapping[object, Sequence[str]]] | None = None,
) -> Fraction:
    """The greatest breach probability by hand, of (values, guard, person) released as (labels, sensitive)."""
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for labels, sensitive in release:
        groups.setdefault(labels, []).append(sensitive)
    inside: dict[tuple[str | None, ...], list[tuple[str | None, object]]] = {labels: [] for labels in groups}
    for values, guard, person in source:
        found = [
            labels
            for labels in groups
            if all(
                covers(label, values[column], (above or {}).get(column))
                for label, column in zip(labels, columns, strict=True)
            )
        ]
        assert len(found) == 1, "the essential group is not unique"
        inside[found[0]].append((guard, person))
    worst = Fraction(0)
    for labels, members in inside.items():
        assert len(members) == len(groups[labels])
        persons = len(members) if primary else len({person for _, person in members})
        published = [nodes[label] for label in groups[labels]]
        for guard, _ in members:
            node = None if guard is None else nodes[guard]
            worst = max(worst, breach(taxonomy, published, node, persons, primary))
    return worst
