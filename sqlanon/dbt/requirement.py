"""From a model's meta to the spec of its release.

Pure. Keys of `meta.sqlanon` are those of the spec: of `privacy` all at once, beside `columns`, `search` and others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlanon.dbt.manifest import Manifest, Node
from sqlanon.errors import SpecError
from sqlanon.hierarchies.names import join_name
from sqlanon.spec import Spec, spec_from_dict

AUDITED = ("k", "suppression", "l_diversity", "t_closeness", "alpha", "p_sensitive")
"""The keys of `privacy` that the dbt package audits. What it would not audit is not planned."""

BESIDE = ("source", "respondent", "columns", "default_role", "search")
"""The other keys that a model's meta may have."""


def spec_of(manifest: Manifest, model: Node, url: str, folder: Path) -> Spec:
    """The spec of a model's release; SpecError names every problem, with the keys of the meta."""
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
    }
    try:
        spec = spec_from_dict(values, folder)
    except SpecError as error:
        raise SpecError(*(f"model '{model.name}': {problem}" for problem in str(error).splitlines())) from None
    _refuse_unaudited(spec, model.name)
    return spec


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
