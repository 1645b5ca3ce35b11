"""Projects of ARX (`.deid` files) as drafted specs: roles, hierarchies, levels, weights, models, the limit.

A project is a zip archive of XML and csv files. What has no counterpart is told, never dropped in silence. Reads one
file; nothing in it is run, and no path in it is written to.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from sqlanon.draft.editing import yaml_text
from sqlanon.errors import UsageError

ROLES = {
    "IDENTIFYING_ATTRIBUTE": "identifier",
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi_identifier",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "insensitive",
}
DEFINITION, CONFIGURATION, PROJECT, DATA = "input/definition.xml", "input/config.xml", "project.xml", "data/input.csv"
LARGEST = 64 * 1024 * 1024
"""Bytes of an XML file or a hierarchy; only the data may be longer, and it is copied piece by piece."""

_NUMBER = r"\(?([0-9]+(?:\.[0-9]+)?)\)?"
_OF = r"(?: for attribute)? '(.+?)'"
_MODELS = (
    (rf"{_NUMBER}-anonymity", "k", ""),
    (rf"distinct-{_NUMBER}-diversity{_OF}", "l_diversity", "l"),
    (rf"(?:shannon-)?entropy-{_NUMBER}-diversity{_OF}", "l_diversity", "l, kind: entropy"),
    (rf"{_NUMBER}-closeness{_OF} with (?:equal|EMD equal).*", "t_closeness", "t"),
    (rf"{_NUMBER}-closeness{_OF} with order.*", "t_closeness", "t, distance: ordered"),
    (rf"{_NUMBER}-closeness{_OF} with hierarchical.*", "t_closeness", "t, distance: hierarchical"),
    (rf"(?:basic-)?{_NUMBER}-likeness{_OF}.*", "beta_likeness", "beta"),
    (rf"enhanced-{_NUMBER}-likeness{_OF}.*", "beta_likeness", "beta, kind: enhanced"),
    (rf"{_NUMBER}-disclosure(?:-privacy)?{_OF}.*", "delta_disclosure", "delta"),
)
"""How ARX writes a model, its key in a spec, and the name of its number with what goes with it."""


@dataclass(frozen=True)
class ArxColumn:
    """An attribute of a project."""

    name: str
    role: str
    hierarchy: tuple[tuple[str, ...], ...] = ()
    least: int = 0
    most: int | None = None
    weight: float | None = None


@dataclass(frozen=True)
class ArxProject:
    """What a project says of a release."""

    columns: tuple[ArxColumn, ...]
    limit: float
    models: tuple[tuple[str, str], ...]
    """Keys of `privacy` with their YAML; a key may come several times."""
    left: tuple[str, ...] = field(default=())
    """What a spec cannot say, in words."""

    @property
    def hierarchies(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        return {column.name: column.hierarchy for column in self.columns if column.hierarchy}

    def text(self, source: str, target: str, files: dict[str, str]) -> str:
        """The spec as YAML; `files` names the csv file of each hierarchy."""
        return "\n".join(self._lines(source, target, files)) + "\n"

    def _lines(self, source: str, target: str, files: dict[str, str]) -> Iterator[str]:
        yield "# Drafted from a project of ARX. Read every line; then run `sqlanon check` and `sqlanon plan` on it."
        for line in self.left:
            yield f"# REVIEW: not taken over: {line}"
        yield "version: 1"
        yield f"source: {source}"
        yield f"target: {target}"
        yield "columns:"
        for column in self.columns:
            parts = [f"role: {column.role}"]
            if column.name in files:
                parts.append(f"hierarchy: {{csv: {files[column.name]}}}")
            bounds = [f"min: {column.least}"] if column.least else []
            bounds += [f"max: {column.most}"] if column.most is not None else []
            parts += [f"levels: {{{', '.join(bounds)}}}"] if bounds else []
            parts += [f"weight: {column.weight:g}"] if column.weight is not None else []
            yield f"  {yaml_text(column.name)}: {{{', '.join(parts)}}}"
        yield "privacy:"
        yield f"  suppression: {{limit: {self.limit * 100:g}%}}"
        for key in dict.fromkeys(key for key, _ in self.models):
            found = [written for other, written in self.models if other == key]
            yield f"  {key}: {found[-1] if key == 'k' else '[' + ', '.join(found) + ']'}"


def read_project(path: Path) -> ArxProject:
    """What a project file says."""
    with _opened(path) as archive:
        definition = _xml(archive, path, DEFINITION)
        configuration = _xml(archive, path, CONFIGURATION)
        delimiter = _text(_xml(archive, path, PROJECT), "separator") or ";"
        weights = {
            _text(item, "attribute"): float(_text(item, "weight") or 0.5)
            for item in configuration.iter("attributeWeight")
        }
        left: list[str] = []
        columns = tuple(_columns(archive, path, definition, delimiter, weights, left))
        models = tuple(_models([item.text or "" for item in configuration.iter("criterion")], left))
        limit = float(_text(configuration, "relativeMaxOutliers") or 0)
    if not any(key == "k" for key, _ in models) and not models:
        left.append("no privacy model that a spec has: add k or a model under privacy")
    return ArxProject(columns, min(max(limit, 0.0), 1.0), models, tuple(left))


def copy_data(path: Path, out: IO[bytes]) -> None:
    """Copy the data of a project, piece by piece."""
    with _opened(path) as archive:
        if DATA not in archive.namelist():
            raise UsageError(f"{path}: the project holds no data; name the table with --source")
        with archive.open(DATA) as data:
            while piece := data.read(1 << 20):
                out.write(piece)


def _opened(path: Path) -> ZipFile:
    try:
        return ZipFile(path)
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except (BadZipFile, OSError):
        raise UsageError(f"{path}: is no project of ARX (a zip archive that ends in .deid)") from None


def _bytes(archive: ZipFile, path: Path, name: str) -> bytes:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise UsageError(f"{path}: is no project of ARX: it holds no {name}") from None
    with archive.open(info) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise UsageError(f"{path}: {name} is longer than {LARGEST >> 20} MiB")
    return content


def _xml(archive: ZipFile, path: Path, name: str) -> ElementTree.Element:
    content = _bytes(archive, path, name)
    try:
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            raise UsageError(f"{path}: {name} declares a document type, which projects of ARX do not")
        return ElementTree.fromstring(content)
    except ElementTree.ParseError:
        raise UsageError(f"{path}: {name} is no XML") from None


def _text(element: ElementTree.Element, name: str) -> str | None:
    found = element.find(name)
    return None if found is None or found.text is None else found.text.strip("\n")


def _columns(
    archive: ZipFile,
    path: Path,
    definition: ElementTree.Element,
    delimiter: str,
    weights: dict[str | None, float],
    left: list[str],
) -> Iterator[ArxColumn]:
    for item in definition.iter("assigment"):
        name, kind = _text(item, "name") or "", _text(item, "type") or ""
        if kind not in ROLES:
            raise UsageError(f"{path}: column '{name}' has a type that ARX does not have")
        if _text(item, "microAggregationFunction") is not None:
            left.append(f"microaggregation of column {yaml_text(name)}")
        if ROLES[kind] != "quasi_identifier":
            yield ArxColumn(name, ROLES[kind])
            continue
        reference = _text(item, "ref")
        rows = (
            () if reference is None else _hierarchy(_bytes(archive, path, f"input/{reference}"), path, name, delimiter)
        )
        least, most = (_level(_text(item, bound)) for bound in ("min", "max"))
        # ARX weighs each attribute by 0.5 unless told otherwise; here 1 is the middle.
        weight = None if weights.get(name, 0.5) == 0.5 else 2 * weights[name]
        height = len(rows[0]) - 1 if rows else 1
        yield ArxColumn(name, ROLES[kind], rows, least or 0, None if most is None or most >= height else most, weight)


def _level(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _hierarchy(content: bytes, path: Path, name: str, delimiter: str) -> tuple[tuple[str, ...], ...]:
    try:
        rows = tuple(
            tuple(row)
            for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=delimiter)
            if row
        )
    except (UnicodeDecodeError, csv.Error):
        raise UsageError(f"{path}: the hierarchy of column '{name}' cannot be read") from None
    if len({len(row) for row in rows}) > 1:
        raise UsageError(f"{path}: the rows of the hierarchy of column '{name}' are not equally long")
    return rows


def _models(criteria: Sequence[str], left: list[str]) -> Iterator[tuple[str, str]]:
    for text in criteria:
        found = next(
            ((match, key, name) for form, key, name in _MODELS if (match := re.fullmatch(form, text.strip()))), None
        )
        if found is None:
            left.append(f"the privacy model {yaml_text(text)}")
            continue
        match, key, name = found
        if key == "k":
            yield key, str(int(float(match[1])))
            continue
        number, _, more = name.partition(", ")
        yield key, f"{{column: {yaml_text(match[2])}, {number}: {match[1]}{', ' + more if more else ''}}}"
