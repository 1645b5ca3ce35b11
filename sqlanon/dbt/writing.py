"""One model of a dbt project planned and written out: what goes into which file.

The search and the catalog through the pipeline; writes nothing itself.

The release as one query of named steps: hierarchies, counted rows, classes with their verdicts, the rows.

Reads the catalog where a hierarchy needs it. When the query runs, the requirement is asked of every class anew.

The text of a dbt model from the query of a release: tables become references, and nothing else is Jinja.

Pure, given the engine's dialect.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import md5
from pathlib import Path

import yaml
from sqlglot import exp

from sqlanon.dbt.manifest import MATERIALIZATION, Manifest, ManifestNode, reference
from sqlanon.dbt.project import Project, read_yaml
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import RequirementError, UsageError
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.hierarchies.base import Lookup
from sqlanon.pipeline import plan
from sqlanon.privacy.base import Grouping
from sqlanon.recoding.kinds import FullDomain
from sqlanon.release import statements as release_sql
from sqlanon.release.classes import Release, release_query
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source import sensitive_statements as sensitive_sql
from sqlanon.source.binding import Binding, BoundColumn, bind
from sqlanon.source.frequency_statements import HierarchyTable
from sqlanon.source.hierarchies import HierarchyDraft, StoredHierarchy, draft_hierarchy
from sqlanon.source.run import DEFAULT, Options, open_for
from sqlanon.source.sensitive import codes_query
from sqlanon.source.sensitive_statements import SensitiveColumn
from sqlanon.spec import Spec
from sqlanon.spec.honoured import require_honoured
from sqlanon.sql.build import assertion, equal, scalar, with_queries
from sqlanon.sql.classes import classes
from sqlanon.sql.relations import Table, column, identifier, literal, table_expression
from sqlanon.sql.traits import Traits
from sqlanon.sql.values import Counted, ValueTables

CLASSES = Table(("classes",))
COUNTED = Table(("counted_rows",))


@dataclass(frozen=True)
class Seed:
    """A listed hierarchy as a dbt seed: one row per value, level 0 first."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass
class ReleaseSteps:
    """Puts the query of one release together."""

    engine: Engine
    binding: Binding
    levels: Mapping[str, int]
    seed_name: Callable[[str], str]
    """The name of the seed of a column's hierarchy."""
    steps: dict[str, exp.Query] = field(default_factory=dict)
    seeds: list[Seed] = field(default_factory=list)
    """The seeds that the query reads."""

    def query(self) -> exp.Select:
        """The rows of the release; fails where a value has no label or no place in a declared order."""
        recoding = FullDomain.from_levels(self.binding.names, self.levels)
        items = zip(self.binding.quasi_identifiers, recoding.node, strict=True)
        hierarchies = tuple(self._hierarchy(item, level) for item, level in items)
        release = Release(self.binding, hierarchies, recoding, requirement_of(self.binding))
        self._classes(release)
        rows = release_query(self.engine, release, CLASSES, with_respondent=True)
        for condition, message in self._assertions(release):
            asserted = assertion(condition, f"sqlanon: {message}, run `sqlanon dbt` again")
            rows = rows.where(equal(scalar(asserted), literal(1)), copy=False)
        return with_queries(rows, self.steps)

    def _source(self) -> exp.Expression:
        return self.engine.traits.relation(self.binding.source, "source")

    def _hierarchy(self, item: BoundColumn, level: int) -> StoredHierarchy:
        traits = self.engine.traits
        domain = hierarchy_sql.domain(self._source(), item.key("source", traits))
        seed = Table((self.seed_name(item.name),)) if isinstance(item.rule, Lookup) else None
        draft = draft_hierarchy(self.engine, item, domain, seed)
        if level > draft.height:
            raise UsageError(f"column '{item.name}': its hierarchy ends at level {draft.height} now: run again")
        table = Table((f"hierarchy_of_{item.name}",))
        if level < draft.height:
            coded = hierarchy_sql.coded(draft.labelled, draft.height, draft.families, traits)
            # Nobody validates the hierarchy when dbt runs: what cannot be relied on counts as not covered.
            self.steps[table.name] = hierarchy_sql.sound(_only(coded, level), draft.height)
            if seed is not None:
                self.seeds.append(_seed(seed.name, draft))
        top = draft.top or self._top_of(draft)
        return StoredHierarchy(item.name, HierarchyTable(table, draft.height, 0), top, 0, draft.families, "")

    def _top_of(self, draft: HierarchyDraft) -> str:
        """The one label of the last level, where only the data knows it."""
        query = hierarchy_sql.top_label(draft.labelled.copy(), draft.height)
        return str(self.engine.query(Statement(f"top of {draft.column}", query))[0][0])

    def _classes(self, release: Release) -> None:
        whole = release.requirement.whole
        if whole is None:
            raise UsageError("a model built by dbt has one quasi-identifier, and suppresses in one round")
        columns = release.columns(self.engine)
        if self.binding.simple:
            found = release_sql.classes(self._source(), columns)
            self.steps[CLASSES.name] = release_sql.judged(found, whole.satisfied())
        else:
            self._judge_values(release, whole)

    def _judge_values(self, release: Release, whole: Grouping) -> None:
        """Classes that are judged by sensitive values or by respondents."""
        traits, columns = self.engine.traits, release.columns(self.engine)
        keys = release_sql.key_names(columns)
        sensitive = []
        for item in self.binding.sensitive:
            codes = Table((f"values_of_{item.name}",))
            self.steps[codes.name] = codes_query(item, self._source(), item.key("source", traits), traits)
            sensitive.append(SensitiveColumn(item.key("source", traits), codes))
        self.steps[COUNTED.name] = self._counted(columns, sensitive)
        rows = exp.select().from_(table_expression(COUNTED))
        counted = Counted(rows, [(name, column(name)) for name in keys], self.binding.persons)
        tables = {}
        for position, item in enumerate(self.binding.sensitive):
            table = Table((f"distribution_of_{item.name}",))
            codes = Table((f"values_of_{item.name}",))
            self.steps[table.name] = sensitive_sql.reference(counted, position, codes, len(item.flagged))
            tables[position] = ValueTables(table)
        found = classes(counted, whole.measures(), tables)
        self.steps[CLASSES.name] = release_sql.judged(found, whole.satisfied(), keys)

    def _counted(
        self, columns: Sequence[release_sql.QuasiIdentifier], sensitive: Sequence[SensitiveColumn]
    ) -> exp.Select:
        respondent = self.binding.respondent
        who = None if respondent is None else respondent.key("source", self.engine.traits)
        rows = release_sql.counted_rows(self._source(), columns, sensitive, who)
        if who is None:
            return rows
        codes = [f"s_{position}" for position in range(len(sensitive))]
        return sensitive_sql.respondents(rows, [*release_sql.key_names(columns), *codes])

    def _assertions(self, release: Release) -> list[tuple[exp.Select, str]]:
        columns = release.columns(self.engine)
        found = []
        if not all(item.at_top for item in columns):
            found.append((release_sql.no_value_outside(CLASSES, columns), "a value lies outside its hierarchy"))
        for item in self.binding.sensitive:
            if item.order:
                outside = sensitive_sql.uncoded(Table((f"values_of_{item.name}",)))
                found.append((exp.select(equal(scalar(outside), literal(0))), "a value is not in the declared order"))
        return found


def _only(coded: exp.Select, level: int) -> exp.Select:
    """The lookup without what only a search needs: counts of leaves, numbers of siblings, codes of other levels."""
    needed = [
        item
        for item in coded.expressions
        if item.alias_or_name == f"code_{level}" or not item.alias_or_name.startswith(("code_", "index_", "leaves_"))
    ]
    coded.set("expressions", needed)
    return coded


def _seed(name: str, draft: HierarchyDraft) -> Seed:
    rows = draft.listing.rows if draft.listing is not None else ()
    for row in rows:
        if any(label.strip().lower() in ("", "null") for label in row):
            raise UsageError(
                f"column '{draft.column}': its hierarchy lists an empty text or 'null', which dbt seeds cannot hold; "
                f"keep the hierarchy in a table of the database"
            )
    return Seed(name, tuple(draft.listing_columns()), tuple(tuple(row) for row in rows))


MARK = "-- Written by `sqlanon dbt`."


def model_text(
    query: exp.Select, levels: Mapping[str, int], reference: Callable[[Table], str | None], traits: Traits
) -> str:
    """The file of a model: what it is, its config, the query.

    `reference` says how dbt refers to a table; None leaves the table its name.
    """
    chosen = ", ".join(f"{name} at level {level}" for name, level in levels.items())
    heading = f"{MARK} To change it, change the model's meta.sqlanon and run the command again."
    config = f"{{{{ config(materialized='{MATERIALIZATION}') }}}}"
    generalization = f"-- Generalization: {_harmless(' '.join(chosen.split()))}."
    pairs = json.dumps([list(pair) for pair in levels.items()]).replace("{", "\\u007b")
    text = f"{heading}\n{generalization}\n-- Levels: {pairs}\n-- Signature: {UNSIGNED}\n{config}\n\n"
    return signed(f"{text}{_with_references(query, reference, traits)}\n")


UNSIGNED = "0" * 32
_SIGNATURE = re.compile(r"^-- Signature: [0-9a-f]{32}$", re.MULTILINE)


def signed(text: str) -> str:
    """The text of a model with its own digest, by which the materialization knows that nobody has changed it since."""
    unsigned = _SIGNATURE.sub(f"-- Signature: {UNSIGNED}", text, count=1)
    digest = md5(unsigned.strip().encode(), usedforsecurity=False).hexdigest()
    return _SIGNATURE.sub(f"-- Signature: {digest}", unsigned, count=1)


def _with_references(query: exp.Select, reference: Callable[[Table], str | None], traits: Traits) -> str:
    found: dict[str, str] = {}
    for table in list(query.find_all(exp.Table)):
        jinja = reference(Table(tuple(part.name for part in table.parts)))
        if jinja is not None:
            place = identifier(f"sqlanon reference {len(found)}")
            found[traits.render(place)] = jinja
            table.replace(exp.Table(this=place, alias=table.args.get("alias")))
    text = _harmless(traits.render(query, pretty=True))
    for written, jinja in found.items():
        text = text.replace(written, jinja)
    return text


def _harmless(text: str) -> str:
    """Text in which dbt finds no Jinja.

    >>> _harmless("a {{ b }}")
    "a {{ '{{' }} b }}"
    """
    parts = text.split("{{")
    return "{{ '{{' }}".join(part.replace("{%", "{{ '{%' }}").replace("{#", "{{ '{#' }}") for part in parts)


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
    node: ManifestNode,
    spec: Spec,
    options: Options = DEFAULT,
    known: Lock | None = None,
) -> WrittenModel:
    """Search for the generalization of a model's release, and the files that let dbt build it alone."""
    path = project.folder / node.path
    refuse_other_sql(path)
    require_honoured(spec, "dbt")
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
