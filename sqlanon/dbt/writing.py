"""One model of a dbt project planned and written out: what goes into which file.

The search and the catalog through the pipeline; writes nothing itself.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from sqlanon.dbt.manifest import Manifest, Node, reference
from sqlanon.dbt.model import MARK, model_text
from sqlanon.dbt.project import Project, read_yaml
from sqlanon.dbt.steps import ReleaseSteps, Seed
from sqlanon.errors import RequirementError, UsageError
from sqlanon.pipeline import plan
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.source.binding import bind
from sqlanon.source.run import DEFAULT, Options, open_for
from sqlanon.spec import Spec
from sqlanon.sql.relations import Table

PROPERTIES_MARK = "# Written by `sqlanon dbt`."
_NOTHING_OF_ITS_OWN = re.compile(r"\s*select\s+\*\s+from\s+\{\{[^{}]*\}\}\s*;?\s*", re.IGNORECASE)
_COMMENT_OR_CONFIG = re.compile(r"--[^\n]*|\{#.*?#\}|\{\{\s*config\(.*?\)\s*\}\}", re.DOTALL)


@dataclass(frozen=True)
class WrittenModel:
    """A planned release as files of the project."""

    name: str
    spec: Spec
    plan: PlanResult
    model: Path
    files: dict[Path, str]
    """The model, its seeds and their properties."""
    obsolete: tuple[Path, ...] = ()
    """Seeds of an earlier run that the model reads no longer."""

    @property
    def lock(self) -> Path:
        return lock_beside(self.model)


def lock_beside(model: Path) -> Path:
    """Where the lock of a model lies: `release.sql` has `release.lock.json`."""
    return model.with_suffix(".lock.json")


def write_model(
    project: Project,
    manifest: Manifest,
    node: Node,
    spec: Spec,
    options: Options = DEFAULT,
    known: Lock | None = None,
) -> WrittenModel:
    """Search for the generalization of a model's release, and the files that let dbt build it alone."""
    path = project.folder / node.path
    refuse_other_sql(path)
    result = plan(spec, options, known)
    if not result.satisfied:
        raise RequirementError(f"model '{node.name}': {result.search.algorithm} found no release that satisfies")
    with open_for(spec, options) as engine:
        release = ReleaseSteps(
            engine,
            bind(spec, engine),
            result.levels,
            seed_name=lambda column: _plain(f"{node.name}_{column}_hierarchy"),
        )
        query = release.query()
        seeds = {seed.name for seed in release.seeds}
        text = model_text(query, result.levels, lambda table: _reference(manifest, seeds, table), engine.traits)
    files = {path: text}
    for seed in release.seeds:
        files[project.seeds / f"{seed.name}.csv"] = _csv(seed)
    properties = project.seeds / f"{_plain(node.name)}_hierarchies.yml"
    if release.seeds:
        files[properties] = _properties(node.name, release.seeds)
    obsolete = tuple(earlier for earlier in _written_before(properties) if earlier not in files)
    return WrittenModel(node.name, spec, result, path, files, obsolete)


def refuse_other_sql(path: Path) -> None:
    """Only what the command wrote is overwritten, or a model that does nothing but select everything."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if not text.startswith(MARK) and not _NOTHING_OF_ITS_OWN.fullmatch(_COMMENT_OR_CONFIG.sub("", text)):
        raise UsageError(f"{path}: holds SQL of your own; it is written only over a plain select of everything")


def _reference(manifest: Manifest, seeds: set[str], table: Table) -> str | None:
    if len(table.parts) == 1:
        return reference("ref", table.name) if table.name in seeds else None
    node = manifest.reading(table.parts[-2], table.name)
    return None if node is None else node.jinja


def _written_before(properties: Path) -> list[Path]:
    """The seeds that an earlier run wrote, and their properties."""
    if not properties.is_file() or not properties.read_text(encoding="utf-8").startswith(PROPERTIES_MARK):
        return []
    seeds = read_yaml(properties).get("seeds") or []
    return [properties, *(properties.with_name(f"{seed['name']}.csv") for seed in seeds)]


def _plain(text: str) -> str:
    """A name that needs no quotes anywhere.

    >>> _plain("release_Home Town_hierarchy")
    'release_home_town_hierarchy'
    """
    return re.sub(r"\W+", "_", text, flags=re.ASCII).lower()


def _csv(seed: Seed) -> str:
    lines = io.StringIO()
    table = csv.writer(lines, lineterminator="\n")
    table.writerow(seed.columns)
    table.writerows(seed.rows)
    return lines.getvalue()


def _properties(model: str, seeds: list[Seed]) -> str:
    """Labels are text, whatever they look like."""
    content = {
        "version": 2,
        "seeds": [
            {
                "name": seed.name,
                "description": f"A hierarchy of {model}, level 0 first.",
                "config": {"column_types": dict.fromkeys(seed.columns, "text")},
            }
            for seed in seeds
        ],
    }
    return f"{PROPERTIES_MARK}\n{yaml.safe_dump(content, sort_keys=False)}"
