"""The fixtures as Python values, and a brute force over them that shares no code with sqlanon.

Reads only `fixtures/`. Tests compare what sqlanon and its engines say with what this module counts by hand.
"""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

FIXTURES = Path(__file__).parents[2] / "fixtures"
PAPERS = FIXTURES / "papers"
CASES = ("s1", "s2", "s3", "s4", "f1", "c1")

Vector = tuple[int, ...]
Value = str | None
Row = tuple[Value, ...]
Labels = Mapping[Value, Sequence[str | None]]
"""The labels of each value of a column: level 0 first, the top last."""


@dataclass(frozen=True)
class BadSpec:
    """A spec that must be refused: the text every message has to contain, the exit code, the step that notices."""

    path: Path
    fragments: tuple[str, ...]
    exit_code: int
    stage: str


@dataclass(frozen=True)
class Case:
    """One table of a paper with its hierarchies and the answers the paper gives."""

    name: str
    directory: Path
    spec: Mapping[str, Any]
    expected: Mapping[str, Any]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def spec_path(self) -> Path:
        return self.directory / "spec.yaml"

    @property
    def table_path(self) -> Path:
        return self.directory / "table.csv"

    @property
    def types(self) -> Mapping[str, str]:
        """The SQL type of every column of the table, in its order."""
        types: Mapping[str, str] = self.expected["types"]
        return types

    @property
    def quasi_identifier(self) -> tuple[str, ...]:
        return tuple(self.expected["quasi_identifier"])

    @cached_property
    def tuples(self) -> tuple[Row, ...]:
        """The rows cut to the quasi-identifier, duplicates kept."""
        positions = [self.columns.index(name) for name in self.quasi_identifier]
        return tuple(tuple(row[position] for position in positions) for row in self.rows)

    @cached_property
    def labels(self) -> tuple[Labels, ...]:
        """The labels of every value of every quasi-identifier column."""
        definitions = [self.spec["columns"][name]["hierarchy"] for name in self.quasi_identifier]
        domains = [{row[position] for row in self.tuples} for position in range(len(definitions))]
        return tuple(
            labels_of(definition, domain, self.directory)
            for definition, domain in zip(definitions, domains, strict=True)
        )

    @cached_property
    def heights(self) -> Vector:
        return tuple(len(next(iter(labels.values()))) - 1 for labels in self.labels)

    def vectors(self) -> Iterator[Vector]:
        """Every node of the lattice."""
        return itertools.product(*(range(height + 1) for height in self.heights))

    def generalize(self, row: Row, vector: Vector) -> Row:
        """The tuple that a row becomes at a vector."""
        return tuple(labels[value][level] for labels, value, level in zip(self.labels, row, vector, strict=True))

    def classes(self, vector: Vector) -> Counter[Row]:
        """The classes of the table at a vector, with their sizes."""
        return Counter(self.generalize(row, vector) for row in self.tuples)

    def outliers(self, k: int, vector: Vector) -> int:
        """Rows of all classes smaller than k: the minimal required suppression."""
        return sum(size for size in self.classes(vector).values() if size < k)

    def outlier_rows(self, k: int, vector: Vector) -> list[int]:
        """The numbers, from 1, of the rows that a vector suppresses."""
        classes = self.classes(vector)
        return [number for number, row in enumerate(self.tuples, start=1) if classes[self.generalize(row, vector)] < k]

    def acceptable(self, k: int, limit: int) -> list[Vector]:
        """Every vector that suppresses at most `limit` rows."""
        return [vector for vector in self.vectors() if self.outliers(k, vector) <= limit]

    def minimal(self, k: int, limit: int) -> list[Vector]:
        """All k-minimal vectors, in vector order."""
        acceptable = self.acceptable(k, limit)
        return sorted(
            vector for vector in acceptable if not any(other != vector and below(other, vector) for other in acceptable)
        )

    def distance_vector(self, left: Row, right: Row) -> Vector:
        """For each column, the lowest level at which two tuples generalize to one value."""
        return tuple(
            next(level for level, pair in enumerate(zip(labels[one], labels[other], strict=True)) if pair[0] == pair[1])
            for labels, one, other in zip(self.labels, left, right, strict=True)
        )


def below(lower: Vector, upper: Vector) -> bool:
    """Whether `upper` is at least as general in every column."""
    return all(low <= high for low, high in zip(lower, upper, strict=True))


def load_case(name: str) -> Case:
    """A case of `fixtures/papers` by its name in CASES."""
    directory = PAPERS / name
    columns, rows = read_csv(directory / "table.csv")
    return Case(
        name, directory, read_yaml(directory / "spec.yaml"), read_yaml(directory / "expected.yaml"), columns, rows
    )


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def read_csv(path: Path) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """The header and the rows of a table; an empty field is NULL."""
    with path.open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    return tuple(header), tuple(tuple(field or None for field in row) for row in rows)


def labels_of(definition: Mapping[str, Any], domain: set[Value], directory: Path) -> Labels:
    """The labels of a column's values, by the hierarchy that its spec gives."""
    ((kind, options),) = definition.items()
    table: dict[Value, list[str | None]]
    match kind:
        case "csv":
            table = csv_labels(directory / options["path"], options.get("delimiter", ","))
            single = len({labels[-1] for labels in table.values()}) == 1
        case "tree":
            table, single = tree_labels(options), len(options) == 1
        case "mask":
            table = mask_labels(domain, options["length"], options["steps"])
            single = options["steps"][-1] == options["length"]
        case "date":
            table, single = date_labels(domain, options), options[-1] == "any"
        case _:
            raise ValueError(f"no brute force for hierarchies of kind {kind}")
    topped = table if single else {value: [*labels, "*"] for value, labels in table.items()}
    return with_null(topped) if None in domain else topped


def csv_labels(path: Path, delimiter: str) -> dict[Value, list[str | None]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return {row[0]: [*row] for row in csv.reader(lines, delimiter=delimiter)}


def tree_labels(tree: Any) -> dict[Value, list[str | None]]:
    """Leaves of a tree (mapping: label to children; list: leaves) with their ancestors, nearest first."""
    if isinstance(tree, list):
        return {str(leaf): [str(leaf)] for leaf in tree}
    return {
        leaf: [*path, str(label)] for label, children in tree.items() for leaf, path in tree_labels(children).items()
    }


def mask_labels(domain: set[Value], length: int, steps: Sequence[int]) -> dict[Value, list[str | None]]:
    """The last characters replaced by as many stars as each step says."""
    return {
        value: [value, *(value.ljust(length)[: length - step].rstrip() + "*" * step for step in steps)]
        for value in domain
        if value is not None
    }


def date_labels(domain: set[Value], units: Sequence[str]) -> dict[Value, list[str | None]]:
    """Periods that contain a day; level 0 is the first unit."""
    return {value: [period(date.fromisoformat(value), unit) for unit in units] for value in domain if value is not None}


def period(day: date, unit: str) -> str:
    """The name of the period of a kind that a day lies in. Only equality of names matters here."""
    match unit.split():
        case ["day"]:
            return day.isoformat()
        case ["month"]:
            return f"{day.year:04}-{day.month:02}"
        case ["year"]:
            return f"{day.year:04}"
        case [years, "years"]:
            first = day.year - day.year % int(years)
            return f"[{first}-{first + int(years) - 1}]"
        case ["any"]:
            return "*"
    raise ValueError(f"no such period: {unit}")


def with_null(table: dict[Value, list[str | None]]) -> dict[Value, list[str | None]]:
    """NULL is one more value: NULL at every level but the top."""
    labels = next(iter(table.values()))
    of_null: list[str | None] = [*(None for _ in labels[1:]), labels[-1]]
    return {**table, None: of_null}


def adversarial_names() -> list[str]:
    """Names for columns, tables and schemas that must mean exactly what they say."""
    names: list[str] = read_yaml(FIXTURES / "adversarial" / "names.yaml")
    return names


def adversarial_values() -> list[str | None]:
    """Values that must be counted alike on every engine and executed on none."""
    values: list[str | None] = read_yaml(FIXTURES / "adversarial" / "values.yaml")
    return values


def bad_specs() -> list[BadSpec]:
    """Every spec under `fixtures/specs/bad`, with what its comment header expects."""
    return [read_bad_spec(path) for path in sorted((FIXTURES / "specs" / "bad").glob("*.yaml"))]


def read_bad_spec(path: Path) -> BadSpec:
    header = [
        line.removeprefix("# ").partition(": ")
        for line in itertools.takewhile(
            lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines()
        )
    ]
    fragments = tuple(text for key, _, text in header if key == "expect")
    settings = {key: text for key, _, text in header}
    return BadSpec(path, fragments, int(settings["exit"]), settings["stage"])
