"""The manifest of a dbt project: its models with their meta, their relations, and the specs that the meta makes.

Reads `target/manifest.json`; of a manifest, only what a release needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlanon.errors import SpecError, UsageError
from sqlanon.hierarchies.definition import join_name, split_name
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.spec.privacy import MODELS

MATERIALIZATION = "sqlanon_release"
"""What the models are materialized as that sqlanon writes."""

_NAME = r"\s*['\"]([^'\"]+)['\"]\s*"
_REF = re.compile(rf"ref\((?:{_NAME},)?{_NAME}(?:,\s*(?:v|version)\s*=\s*(?:(\d+)|{_NAME})\s*)?\)")
_SOURCE = re.compile(rf"source\({_NAME},{_NAME}\)")


@dataclass(frozen=True)
class ManifestNode:
    """A model, seed, snapshot or source of a project."""

    name: str
    relation: tuple[str, str]
    """Schema and name in the database."""
    jinja: str
    """How the SQL of another model reads it."""
    path: str = ""
    """Of the file that defines it, relative to the project."""
    group: str | None = None
    """Of a source: the name it is declared under."""
    materialized: str | None = None
    meta: Mapping[str, Any] | None = None
    """What the model's `meta.sqlanon` says."""
    columns: Mapping[str, Mapping[str, Any]] | None = None
    """What the columns' `meta.sqlanon` say."""
    package: str = ""
    version: str | None = None
    """Of a model that has versions."""
    is_latest: bool = True
    """Whether a ref without a version means this one."""
    missing: str = ""
    """Why the database has no table of it; empty where it has one."""

    @property
    def is_release(self) -> bool:
        """Whether sqlanon may write its SQL."""
        stated = bool(self.meta) and "source" in (self.meta or {})
        return self.materialized == MATERIALIZATION and stated and not self.missing

    @property
    def selector(self) -> str:
        """By what dbt selects it, and `--select` too."""
        return self.name if self.version is None else f"{self.name}.v{self.version}"


@dataclass(frozen=True)
class Manifest:
    """The nodes of a project and of the packages it uses."""

    adapter: str
    """The kind of database that the manifest was written for."""
    nodes: tuple[ManifestNode, ...]
    project: str = ""
    """The name of the project itself, apart from packages it uses."""

    def releases(self, names: tuple[str, ...] = ()) -> list[ManifestNode]:
        """The models that sqlanon writes; UsageError where one that is asked for is none."""
        found = {node.selector: node for node in self.nodes if node.is_release}
        for name in names:
            if name not in found:
                raise UsageError(
                    f"--select: '{name}' is no model that is materialized as {MATERIALIZATION} and has a source in "
                    f"meta.sqlanon"
                )
        if not found:
            raise UsageError(f"no model is materialized as {MATERIALIZATION} and has a source in meta.sqlanon")
        return [found[name] for name in names] if names else list(found.values())

    def referred(self, text: str, model: str) -> ManifestNode:
        """What a model's meta names as its source: a name, ref(...) as dbt writes it, or source('group', 'name')."""
        as_source, as_ref = _SOURCE.fullmatch(text.strip()), _REF.fullmatch(text.strip())
        if as_source:
            found = [node for node in self.nodes if (node.group, node.name) == as_source.groups()]
        else:
            package, name, *versions = as_ref.groups() if as_ref else (None, text.strip())
            version = next(filter(None, versions), None)
            found = [
                node
                for node in self.nodes
                if (node.group, node.name) == (None, name)
                and package in (None, node.package)
                and (node.is_latest if version is None else node.version == version)
            ]
            if package is None and len(found) > 1:
                found = [node for node in found if node.package == self.project] or found
        asked = f"model '{model}': meta.sqlanon.source names '{text}', and"
        standing = [node for node in found if not node.missing]
        if not standing and found:
            raise UsageError(f"{asked} {found[0].missing}")
        if len(standing) != 1:
            raise UsageError(f"{asked} the project has {'more than one' if standing else 'no'} such node")
        return standing[0]

    def roles(self, name: str, schema: str | None) -> dict[str, str]:
        """The roles that `meta.sqlanon` of a table's columns state; UsageError where no node, or several, are meant."""
        standing = [node for node in self.nodes if not node.missing and node.relation[1] == name]
        found = [node for node in standing if schema in (None, node.relation[0])]
        if len(found) != 1:
            many = "more than one node makes" if found else "no node of the project makes or reads"
            raise UsageError(f"--dbt: {many} the table '{name}'; name it with its schema")
        columns = found[0].columns or {}
        return {column: str(stated["role"]) for column, stated in columns.items() if "role" in stated}

    def reading(self, schema: str, name: str) -> ManifestNode | None:
        """The node that a relation of the database is, if any."""
        standing = (node for node in self.nodes if not node.missing)
        return next((node for node in standing if node.relation == (schema, name)), None)


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file; UsageError when it is none."""
    try:
        # Thresholds are exact decimals: 0.3 must stay what was written.
        content = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        project = content["metadata"]["project_name"]
        nodes = tuple(_nodes(content, project))
        return Manifest(str(content["metadata"]["adapter_type"]), nodes, project)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path}: is not a manifest of dbt; run `dbt parse`") from None


def _nodes(content: Mapping[str, Any], project: str) -> Iterator[ManifestNode]:
    for entry in content["nodes"].values():
        if entry["resource_type"] in KINDS:
            yield _node(entry, project)
    for entry in content["sources"].values():
        jinja = reference("source", entry["source_name"], entry["name"])
        place = (entry["schema"], entry["identifier"])
        stated = _columns(entry)
        yield ManifestNode(entry["name"], place, jinja, group=entry["source_name"], columns=stated)
    for disabled in (content.get("disabled") or {}).values():
        for entry in disabled:
            if entry["resource_type"] in KINDS:
                yield replace(_node(entry, project), missing="it is disabled: enable it, or name another")


KINDS = ("model", "seed", "snapshot")
"""Nodes that others read by ref()."""


def _node(entry: Mapping[str, Any], project: str) -> ManifestNode:
    own = entry["package_name"] == project
    names = (entry["name"],) if own else (entry["package_name"], entry["name"])
    version = None if entry.get("version") is None else str(entry["version"])
    latest = None if entry.get("latest_version") is None else str(entry["latest_version"])
    materialized = entry["config"]["materialized"]
    ephemeral = "it is ephemeral, so the database has no table of it: materialize it as a view or a table"
    return ManifestNode(
        name=entry["name"],
        relation=(entry["schema"], entry.get("alias") or entry["name"]),
        jinja=reference("ref", *names, version=None if version == latest else version),
        path=entry["original_file_path"],
        materialized=materialized if own else None,
        meta=_meta(entry),
        columns=_columns(entry),
        package=entry["package_name"],
        version=version,
        is_latest=version == latest,
        missing=ephemeral if materialized == "ephemeral" else "",
    )


def _columns(entry: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What `meta.sqlanon` of the columns says, of those that have any."""
    return {name: stated for name, column in (entry.get("columns") or {}).items() if (stated := _meta(column))}


def _meta(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Since dbt 1.10 meta belongs under config; where it was before it still counts."""
    places = ((entry.get("config") or {}).get("meta"), entry.get("meta"))
    return next((place["sqlanon"] for place in places if place and place.get("sqlanon")), None)


def reference(function: str, *names: str, version: str | None = None) -> str:
    """How a model reads another, or a source.

    >>> reference("source", "raw", "patients")
    "{{ source('raw', 'patients') }}"
    >>> reference("ref", "people", version="2")
    "{{ ref('people', v=2) }}"
    """
    arguments = [f"'{name}'" for name in names]
    if version is not None:
        arguments.append(f"v={version}" if version.isdigit() else f"v='{version}'")
    return f"{{{{ {function}({', '.join(arguments)}) }}}}"


AUDITED = ("k", "suppression", *(key for key, entry in MODELS.items() if entry.in_dbt))
"""The keys of `privacy` that the dbt package audits. What it would not audit is not planned."""

BESIDE = ("source", "respondent", "columns", "default_role", "search", "history")
"""The other keys that a model's meta may have."""


def spec_of(manifest: Manifest, model: ManifestNode, url: str, folder: Path) -> Spec:
    """The spec of a model's release; SpecError names every problem, with the keys of the meta.

    Keys of `meta.sqlanon` are those of the spec: the keys of `privacy` stand beside `columns`, `search` and others.
    """
    meta = dict(model.meta or {})
    _refuse_unknown(meta, model.name)
    source = manifest.referred(str(meta["source"]), model.name)
    values: dict[str, Any] = {
        # A spec expands ${NAME}; what a URL holds stays as it is.
        "connection": url.replace("${", "$${"),
        "source": {"table": join_name(source.relation)},
        "target": {"table": join_name(model.relation)},
        "columns": {**_mapping(meta.get("columns")), **(model.columns or {})},
        "privacy": {key: meta[key] for key in AUDITED if key in meta},
        **{key: meta[key] for key in ("respondent", "default_role", "search") if key in meta},
        **_history(meta, model.relation[0]),
    }
    try:
        spec = spec_from_dict(values, folder)
    except SpecError as error:
        raise SpecError(*(f"model '{model.name}': {problem}" for problem in str(error).splitlines())) from None
    _refuse_unaudited(spec, model.name)
    # What the tables are called in the target at hand decides nothing: the lock file is the same for every target.
    return spec.known_as(source.jinja, model.jinja, meta.get("history"))


def _history(meta: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """The history that a model's meta asks for; a ledger without a schema lies beside the model."""
    history = meta.get("history")
    if not isinstance(history, Mapping) or not isinstance(history.get("ledger"), str):
        return {} if history is None else {"history": history}
    ledger = history["ledger"]
    try:
        alone = len(split_name(ledger)) == 1
    except ValueError:
        alone = False
    return {"history": {**history, "ledger": f"{join_name((schema,))}.{ledger}" if alone else ledger}}


def _refuse_unknown(meta: Mapping[str, Any], name: str) -> None:
    unknown = [key for key in meta if key not in (*AUDITED, *BESIDE)]
    if unknown:
        raise SpecError(f"model '{name}': meta.sqlanon.{unknown[0]}: the dbt package does not audit this")


def _refuse_unaudited(spec: Spec, name: str) -> None:
    privacy = spec.privacy
    if privacy.suppression.mode != "drop":
        raise SpecError(f"model '{name}': suppression.mode: a release built by dbt leaves rows out; write drop")
    if any(entry.distance == "hierarchical" for entry in privacy.t_closeness):
        raise SpecError(f"model '{name}': t_closeness: the dbt package audits the distances equal and ordered")
    if spec.respondent is not None and privacy.models():
        raise SpecError(f"model '{name}': respondent: the dbt package counts respondents for k alone")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
