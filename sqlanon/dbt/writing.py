"""A release as files of a dbt project: the model as one query, its seeds and their properties.

Searches through the pipeline and reads the catalog; writes nothing itself, but says what goes into which file. In the
text of the model tables become references, and nothing else is Jinja.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import yaml
from sqlglot import exp

from sqlanon.dbt.manifest import Manifest, ManifestNode, reference
from sqlanon.dbt.model_file import END, MARK, UNSIGNED, ModelFile, harmless, signed
from sqlanon.dbt.project import Project, read_yaml
from sqlanon.dbt.series import SeriesStatements, series_statements, stated_series, written_statements
from sqlanon.engines.base import Engine
from sqlanon.engines.generated_dialects import scripting_for
from sqlanon.errors import RequirementError, UsageError
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.pipeline import plan
from sqlanon.recoding.kinds import FullDomain
from sqlanon.release.classes import (
    apart_from_tables,
    generalized_columns,
    in_one_query,
    level_question,
    release_query,
)
from sqlanon.release.hierarchies import Making, draft_hierarchies
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.release.steps import LoadedList, ReleaseSteps, StepCheck
from sqlanon.source.binding import Binding, bind
from sqlanon.source.drafts import HierarchyDraft
from sqlanon.source.run import DEFAULT, Options, open_for
from sqlanon.spec import Spec
from sqlanon.spec.findings import require_honoured
from sqlanon.sql.build import assertion, equal, scalar
from sqlanon.sql.relations import Table, identifier, literal
from sqlanon.sql.traits import Traits


@dataclass(frozen=True)
class Seed:
    """A listed hierarchy as a dbt seed: one row per value, level 0 first."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class LabelCheck:
    """A question to the built table, TRUE where a column shows labels of its level alone."""

    column: str
    level: int
    holds: exp.Select


@dataclass(frozen=True)
class ReleaseModel:
    """The release as the one query of a dbt model, and the seeds that it reads."""

    query: exp.Select
    seeds: tuple[Seed, ...]
    checks: tuple[LabelCheck, ...] = ()
    """What the built table must show before it is published."""
    series: SeriesStatements | None = None
    """What keeps the ledger of the release, where it has one."""


BUILT = Table(("sqlanon built table",))
"""The table that dbt has built of a model and not yet published, in questions about it."""


def release_model(
    engine: Engine, binding: Binding, levels: Mapping[str, int], seed_name: Callable[[str], str], source: str = ""
) -> ReleaseModel:
    """The rows of the release; the query fails where a value has no label or no place in a declared order.

    `seed_name` names the seed of a column's hierarchy, `source` says in Jinja how a model reads the source.

    Named steps: hierarchies, counted rows, classes with their verdicts, the rows. Whenever the query runs, the
    requirement is asked of every class anew.
    """
    recoding = FullDomain.from_levels(binding.names, levels)
    requirement = requirement_of(binding)
    if requirement.whole is None:
        raise UsageError("a model built by dbt has one quasi-identifier, and suppresses in one round")
    listed = {item.name: Table((seed_name(item.name),)) for item in binding.quasi_identifiers}
    place = apart_from_tables(binding)
    hierarchies = draft_hierarchies(engine, binding, recoding, Making(place, listed.get))
    release = hierarchies.release(binding, recoding, requirement)
    written = ReleaseSteps(engine, release, place, hierarchies.of_sensitive)
    written.steps += hierarchies.steps
    written.count()
    measured = written.judge()
    written.cover(measured)
    # Everything is one query: nothing can be analyzed on the way.
    fenced = engine.traits.plans_by_statistics
    rows = release_query(engine, release, measured, with_respondent=True, fenced=fenced)
    for check in written.steps:
        if isinstance(check, StepCheck):
            asserted = assertion(check.holds, f"sqlanon: {check.message}, run `sqlanon dbt` again")
            rows = rows.where(equal(scalar(asserted), literal(1)), copy=False)
    seeds = [
        _seed(step.draft.listing_table.name, step.draft)
        for step in written.steps
        if isinstance(step, LoadedList) and step.draft.listing_table is not None
    ]
    question, at_levels = level_question(engine, release, BUILT)
    checks = tuple(
        LabelCheck(
            item.name, at_levels[item.name], in_one_query(replace(question, columns=[item]).holds(), written.steps)
        )
        for item in question.columns
    )
    series = None
    if binding.history is not None:
        shown = {info.name: info for info in binding.columns} | dict(generalized_columns(release))
        series = series_statements(binding, scripting_for(engine), BUILT, shown, source)
    return ReleaseModel(in_one_query(rows, written.steps), tuple(seeds), checks, series)


def _seed(name: str, draft: HierarchyDraft) -> Seed:
    rows = draft.listing.rows if draft.listing is not None else ()
    for row in rows:
        if any(label.strip().lower() in ("", "null") for label in row):
            raise UsageError(
                f"column '{draft.column}': its hierarchy lists an empty text or 'null', which dbt seeds cannot hold; "
                f"keep the hierarchy in a table of the database"
            )
    return Seed(name, tuple(draft.listing_columns()), tuple(tuple(row) for row in rows))


def model_text(
    release: ReleaseModel,
    levels: Mapping[str, int],
    reference: Callable[[Table], str | None],
    traits: Traits,
    spec_hash: str,
    series: str = "",
) -> str:
    """What the command writes of a model: what it is, the query, and what the built table is asked before publication.

    `reference` says how dbt refers to a table; None leaves the table its name. `series` states what a ledger is kept
    for.
    """
    chosen = ", ".join(f"{name} at level {level}" for name, level in levels.items())
    heading = f"{MARK} To change it, change the model's meta.sqlanon and run the command again."
    generalization = f"-- Generalization: {harmless(' '.join(chosen.split()))}."
    pairs = json.dumps([list(pair) for pair in levels.items()]).replace("{", "\\u007b")
    text = f"{heading}\n{generalization}\n-- Levels: {pairs}\n-- Spec: {spec_hash}\n-- Signature: {UNSIGNED}\n\n"
    text += f"{_with_references(release.query, reference, traits)}\n"
    for check in release.checks:
        title = f"Asked before the table is published: {check.column} shows labels of level {check.level} alone."
        asked = _with_references(check.holds, lambda table: THIS if table == BUILT else reference(table), traits)
        number = list(levels).index(check.column)
        text += f"\n{{% set labels_{number} -%}}\n-- {harmless(' '.join(title.split()))}\n{asked}\n{{%- endset %}}\n"
    if release.series is not None:
        text += f"\n{series}\n" + written_statements(
            release.series,
            partial(_statement, tables=release.series.tables, reference=reference, traits=traits),
            traits,
        )
    return signed(f"{text}{END}")


def _statement(
    statement: exp.Expression,
    tables: Mapping[tuple[str, ...], str],
    reference: Callable[[Table], str | None],
    traits: Traits,
) -> str:
    """A statement of a ledger: its tables, the built one and those of the project are Jinja."""

    def referred(table: Table) -> str | None:
        return THIS if table == BUILT else tables.get(table.parts) or reference(table)

    return _with_references(statement.copy(), referred, traits)


THIS = "{{ this }}"


def _with_references(query: exp.Expression, reference: Callable[[Table], str | None], traits: Traits) -> str:
    found: dict[str, str] = {}
    for table in list(query.find_all(exp.Table)):
        jinja = reference(Table(tuple(part.name for part in table.parts)))
        if jinja is not None:
            place = identifier(f"sqlanon reference {len(found)}")
            found[traits.render(place)] = jinja
            table.replace(exp.Table(this=place, alias=table.args.get("alias")))
    text = harmless(traits.render(query, pretty=True))
    for written, jinja in found.items():
        text = text.replace(written, jinja)
    return text


PROPERTIES_MARK = "# Written by `sqlanon dbt`."


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


def require_in_dbt(spec: Spec) -> None:
    """UsageError for what a model that dbt builds cannot do; asked of every release before the first is planned."""
    require_honoured(spec, "dbt")
    if spec.profiled:
        raise UsageError(
            "privacy.profile: a model built by dbt cannot count what levels of anonymity ask for; write privacy.k, or "
            "publish with sqlanon run"
        )


def write_model(
    project: Project,
    manifest: Manifest,
    node: ManifestNode,
    spec: Spec,
    options: Options = DEFAULT,
    known: Lock | None = None,
) -> WrittenModel:
    """Search for the generalization of a model's release, and the files that let dbt build it alone."""
    path = project.folder / node.path
    file = ModelFile.read(path)
    source = manifest.referred(str((node.meta or {}).get("source")), node.name)
    spec = _with_scratch(spec, source, options)
    result = plan(spec, options, known)
    if not result.satisfied:
        raise RequirementError(f"model '{node.name}': {result.search.algorithm} found no release that satisfies")
    with open_for(spec, options) as engine:
        release = release_model(
            engine,
            bind(spec, engine),
            result.levels,
            seed_name=lambda column: _plain(f"{node.name}_{column}_hierarchy"),
            source=source.jinja,
        )
        seeds = {seed.name for seed in release.seeds}
        referred = partial(_reference, manifest, seeds)
        series = "" if spec.ledger is None else stated_series(node.meta or {})
        text = model_text(release, result.levels, referred, engine.traits, spec.hash(), series)
    files = {path: file.with_part(text)}
    for seed in release.seeds:
        files[project.seeds / f"{seed.name}.csv"] = _csv(seed)
    properties = project.seeds / f"{_plain(node.name)}_hierarchies.yml"
    if release.seeds:
        files[properties] = _properties(node.name, release.seeds)
    obsolete = tuple(earlier for earlier in _written_before(properties) if earlier not in files)
    return WrittenModel(node.name, spec, result, path, files, obsolete)


def _with_scratch(spec: Spec, source: ManifestNode, options: Options) -> Spec:
    """Scratch tables lie beside the source while dbt has not made the schema of the model yet."""
    with open_for(spec, options) as engine:
        made = engine.traits.temporary_scratch or engine.has_schema(bind(spec, engine).scratch)
    return spec if made else spec.model_copy(update={"scratch": (source.relation[0],)})


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


def _properties(model: str, seeds: Sequence[Seed]) -> str:
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
