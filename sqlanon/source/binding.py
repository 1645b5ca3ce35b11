"""Binding a spec to the catalog: every name it uses is looked up before anything is read or written.

Fails closed: an unknown column, a column nobody classified, a target that is the source or a rule that does not fit
its column's type is an error here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp

from sqlanon.engines.base import Capability, ColumnInfo, Engine, Statement
from sqlanon.errors import HierarchyError, SourceError, SpecError, UsageError
from sqlanon.hierarchies.base import Family, Rule
from sqlanon.hierarchies.definition import join_name
from sqlanon.source.differential import with_sampling
from sqlanon.source.domains import LISTED, Measure, measure_of
from sqlanon.source.governed import Governed, bases_of, governed, is_released, misnamed
from sqlanon.source.hierarchy_statements import domain
from sqlanon.source.history import BoundHistory, bind_history
from sqlanon.source.keyed_hash import with_margin
from sqlanon.source.reads import Read, file_of, reads_of, refuse_header, refuse_written
from sqlanon.source.scratch import Scratch
from sqlanon.spec import FileSource, FileTarget, Personalized, QuerySource, Source, Spec, ViewTarget
from sqlanon.sql.build import count, is_null, named
from sqlanon.sql.relations import File, Query, Relation, Table, column, literal
from sqlanon.sql.traits import Traits
from sqlanon.sql.user_sql import Formulas, parse_query, unescaped

ORDERED = frozenset(Family) - {Family.TEXT, Family.OTHER}
"""Kinds of values that have an order of their own."""


@dataclass(frozen=True)
class BoundColumn:
    """A quasi-identifier with its type and the rule of its hierarchy."""

    name: str
    family: Family
    rule: Rule
    measure: Measure = LISTED
    """The domain that its values are measured against."""

    def key(self, alias: str, traits: Traits) -> exp.Expression:
        """The column of relation `alias` as a grouping key."""
        return traits.key(column(self.name, alias), self.family)


@dataclass(frozen=True)
class BoundSensitive:
    """A sensitive column that a model reads."""

    name: str
    family: Family
    flagged: tuple[str, ...] = ()
    """Values that models name, as texts."""
    order: tuple[str, ...] = ()
    """The declared order of its values, lowest first; empty: their own order."""
    rule: Rule | None = None
    """Of its hierarchy, where a model goes by that."""
    only_number: bool = False
    """Models ask only how many values a class has: sets of values are enough to answer."""

    def key(self, alias: str, traits: Traits) -> exp.Expression:
        """The column of relation `alias` as a grouping key."""
        return traits.key(column(self.name, alias), self.family)

    def hierarchy(self) -> BoundColumn:
        """The column as its own hierarchy is built from it."""
        if self.rule is None:
            raise ValueError(f"column {self.name} has no hierarchy")
        return BoundColumn(self.name, self.family, self.rule)


@dataclass(frozen=True)
class BoundPopulation:
    """The population's table, and in it the columns of the quasi-identifier, in its order."""

    relation: Relation
    columns: tuple[BoundColumn, ...]


@dataclass(frozen=True)
class BoundPersonalized:
    """A personalized requirement, and where its columns stand among the sensitive ones that are read."""

    asked: Personalized
    column: int
    guarding: int


@dataclass(frozen=True)
class Binding:
    """A spec whose every name has been found in the database."""

    spec: Spec
    source: Relation
    target: Table | File
    as_view: bool
    scratch: tuple[str, ...]
    """The schema of scratch tables; empty: the session's default schema."""
    columns: tuple[ColumnInfo, ...]
    quasi_identifiers: tuple[BoundColumn, ...]
    released: tuple[str, ...]
    """The columns of the release, in the order of the source, those that it derives last."""
    sensitive: tuple[BoundSensitive, ...] = ()
    """The sensitive columns that models read."""
    respondent: BoundSensitive | None = None
    """The column that names the person, where persons are counted."""
    population: BoundPopulation | None = None
    regions: Table | None = None
    """The table of the classes of the release, where it is asked for."""
    personalized: BoundPersonalized | None = None
    history: BoundHistory | None = None
    """What is remembered of the releases before, where a ledger is kept."""
    asked: Spec | None = None
    """The spec as it was written, which lock files are made for, where k follows from more than itself."""
    unknown_k: int = 0
    """By how much k could be greater, for whoever lacks the secret of a margin."""
    rules: Governed | None = None
    """How columns are released and derived; `source` is the source with these rules carried out."""

    @property
    def origin(self) -> Relation:
        """The source as it lies in the database."""
        return self.source if self.rules is None else self.rules.origin

    @property
    def averaged(self) -> dict[str, str]:
        """The columns of which classes show one value for all their rows: mean or median."""
        return {name: str(column.release) for name, column in self.spec.columns.items() if column.averaged}

    def spoken(self, traits: Traits) -> Binding:
        """The same with the rules written for other traits."""
        return self if self.rules is None else replace(self, source=self.rules.relation(traits))

    def prepared(self, engine: Engine, scratch: Scratch) -> Binding:
        """The same with what a run makes by secrets: everybody's offset of dates, everybody's pseudonym."""
        rules = None if self.rules is None else self.rules.prepared(engine, scratch, str(self.target))
        return replace(self, rules=rules).spoken(engine.traits)

    @property
    def k(self) -> int:
        """The least size of a class that any quasi-identifier asks for."""
        return self.spec.privacy.greatest_k

    @property
    def person(self) -> str | None:
        """The column of the source by which persons are counted."""
        return None if self.respondent is None else self.respondent.name

    @property
    def persons(self) -> bool:
        """Whether respondents are counted, not rows."""
        return self.respondent is not None

    @property
    def witnessed(self) -> bool:
        """Whether the audit of a release has to see more of its rows than is released."""
        return self.persons or self.personalized is not None or self.history is not None

    @property
    def witnesses(self) -> tuple[str, ...]:
        """The key of the person, where persons are counted or remembered, and who has left: only the audit and the
        ledger see them."""
        kept = self.history
        known = () if kept is None else (kept.key.name, None if kept.left is None else kept.left.name)
        return tuple(dict.fromkeys(name for name in (self.person, *known) if name and name not in self.released))

    @property
    def true_value(self) -> str:
        """What the value of a sensitive column that is generalized is called in the table that is audited."""
        return "sqlanon true value"

    @property
    def simple(self) -> bool:
        """Whether classes are judged by their rows alone: no sensitive column, no respondent, no population."""
        return not self.sensitive and not self.persons and self.population is None

    @property
    def blank(self) -> bool:
        """Whether suppressed rows keep what is no quasi-identifier."""
        return self.spec.privacy.suppression.mode == "blank"

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifier, in the order of every distance vector."""
        return tuple(item.name for item in self.quasi_identifiers)

    @property
    def schema(self) -> dict[str, str]:
        """The columns of the source that a release shows or counts by, each with the kind of its values."""
        wanted = {*self.released, self.spec.respondent}
        return {info.name: info.family.value for info in self.columns if info.name in wanted}

    def limit_rows(self, rows: int) -> int:
        """The most rows of a source of so many that may be suppressed."""
        return self.spec.privacy.most_suppressed.rows(rows)


def bind(spec: Spec, engine: Engine) -> Binding:
    """Look everything up. Reads the catalog, and hierarchy files; the source only where its rows have to be counted."""
    written, source = spec, bind_source(spec, engine)
    infos = engine.columns(source)
    known = {info.name: info for info in infos}
    refuse_columns(spec, infos)
    spec = with_sampling(_with_binsizes(spec, engine, source, known))
    _refuse_scratch(spec, engine)
    target = bind_target(spec, engine)
    spec, unknown_k = with_margin(spec, source, target)
    rules = governed(spec, engine, source, infos, spec.privacy.greatest_k)
    if rules is not None:
        source = rules.relation(engine.traits)
        infos = engine.columns(source)
        known = {info.name: info for info in infos}
    released = tuple(info.name for info in infos if is_released(spec, info.name, rules))
    refuse_header(target, released)
    population = _bind_population(spec, engine, known)
    origin = source if rules is None else rules.origin
    reads = list(reads_of(spec, origin, None if population is None else population.relation))
    refuse_written(engine, reads, "target", target)
    regions = _bind_regions(spec, engine, target, reads)
    history = bind_history(spec, engine, known, target, regions, reads)
    return Binding(
        spec=spec,
        source=source,
        target=target,
        as_view=isinstance(spec.target, ViewTarget),
        scratch=scratch_schema(spec, target),
        regions=regions,
        columns=infos,
        quasi_identifiers=tuple(bind_column(spec, known[name]) for name in spec.quasi_identifiers),
        released=released,
        sensitive=tuple(_bind_sensitive(spec, known[name]) for name in read_by_models(spec) if _found(name, known)),
        respondent=_bind_respondent(spec, known, rules),
        population=population,
        personalized=_bind_personalized(spec),
        history=history if rules is None or history is None else rules.by_raw_key(history, known),
        rules=rules,
        asked=written if spec is not written else None,
        unknown_k=unknown_k,
    )


def _with_binsizes(spec: Spec, engine: Engine, source: Relation, known: Mapping[str, ColumnInfo]) -> Spec:
    """The spec with what its levels of anonymity ask for in this source: shares of its rows, or of its persons."""
    if not spec.profiled:
        return spec
    who = _bind_respondent(spec, known, None)
    counted: exp.Expression = count()
    if who is not None:
        key = engine.traits.key(column(who.name, "source"), who.family)
        # Rows without a person count together, as one.
        nobody = exp.Max(this=exp.Case().when(is_null(column(who.name, "source")), literal(1)).else_(literal(0)))
        counted = exp.Add(this=exp.Count(this=exp.Distinct(expressions=[key])), expression=nobody)
    query = exp.select(counted).from_(engine.traits.relation(source, "source"))
    [(number,)] = engine.query(Statement("count source", query))
    found = spec.of_rows(int(number or 0))
    if not found.privacy.requires:
        raise UsageError(
            f"columns.*.anonymity: of {int(number or 0)} {'persons' if who else 'rows'} nothing is asked, every "
            f"binsize is 1; write higher levels, or privacy.k beside them"
        )
    return found


def read_by_models(spec: Spec) -> tuple[str, ...]:
    """The sensitive columns that classes are judged by; all, where somebody may know the others."""
    personalized = spec.privacy.personalized
    if personalized is not None:
        return personalized.column, personalized.guarding
    return spec.sensitive if spec.privacy.other_sensitive == "known" else spec.measured_sensitive


def _found(name: str, known: Mapping[str, ColumnInfo]) -> bool:
    if name in known:
        return True
    raise SourceError(f"privacy.personalized.guarding: the source has no column '{name}'")


def _bind_personalized(spec: Spec) -> BoundPersonalized | None:
    asked = spec.privacy.personalized
    if asked is None:
        return None
    columns = read_by_models(spec)
    return BoundPersonalized(asked, columns.index(asked.column), columns.index(asked.guarding))


def _bind_sensitive(spec: Spec, info: ColumnInfo) -> BoundSensitive:
    personalized = spec.privacy.personalized
    if personalized is not None:
        guarded = info.name == personalized.column
        return BoundSensitive(info.name, info.family, rule=_taxonomy(spec, info) if guarded else None)
    flagged = tuple(entry.value for entry in spec.privacy.alpha if entry.column == info.name)
    closeness = [entry for entry in spec.privacy.t_closeness if entry.column == info.name]
    ordered = [entry.order for entry in closeness if entry.distance == "ordered"]
    if ordered and not ordered[0] and info.family not in ORDERED:
        raise SpecError(
            f"privacy.t_closeness: column '{info.name}' holds {info.family.value} values, which have no order of their "
            f"own; list them from lowest to highest under 'order'"
        )
    by_hierarchy = any(entry.distance == "hierarchical" for entry in closeness)
    rule = bind_column(spec, info).rule if by_hierarchy else None
    order = ordered[0] if ordered else ()
    return BoundSensitive(info.name, info.family, flagged, order, rule, _asks_only_for_number(spec, info.name))


def _taxonomy(spec: Spec, info: ColumnInfo) -> Rule:
    asked = spec.privacy.personalized
    if asked is None or asked.taxonomy is None:
        return bind_column(spec, info).rule
    try:
        return asked.taxonomy.rule(info.family)
    except ValueError as error:
        raise HierarchyError(f"column '{info.name}': {error}", column=info.name) from error


def _asks_only_for_number(spec: Spec, name: str) -> bool:
    if spec.respondent is not None or spec.privacy.several_groupings or spec.profiled:
        return False
    entries = [entry for entry in spec.privacy.models() if entry.column == name]
    return all(entry.counts_values_alone for entry in entries)


def _bind_respondent(spec: Spec, known: Mapping[str, ColumnInfo], rules: Governed | None) -> BoundSensitive | None:
    if spec.respondent is None:
        return None
    if spec.respondent not in known:
        raise SourceError(f"respondent: the source has no column '{spec.respondent}'")
    # Pseudonyms differ from run to run; who stands under them does not.
    name = spec.respondent if rules is None or rules.pseudonym is None else rules.person
    return BoundSensitive(name, known[name].family)


def _bind_population(spec: Spec, engine: Engine, known: Mapping[str, ColumnInfo]) -> BoundPopulation | None:
    population = spec.privacy.population
    if population is None:
        return None
    relation = bind_relation(population.source, engine, "privacy.population.source")
    infos = {info.name: info for info in engine.columns(relation)}
    bound = []
    for name in spec.quasi_identifiers:
        there = population.columns.get(name, name)
        if there not in infos:
            raise SourceError(
                f"privacy.population: it has no column '{there}'; name the column of '{name}' under columns"
            )
        if infos[there].family is not known[name].family:
            raise SourceError(
                f"privacy.population: column '{there}' holds {infos[there].family.value} values, "
                f"but '{name}' of the source {known[name].family.value} values"
            )
        bound.append(replace(bind_column(spec, known[name]), name=there))
    return BoundPopulation(relation, tuple(bound))


def bind_source(spec: Spec, engine: Engine) -> Relation:
    """What the spec reads from."""
    return bind_relation(spec.source, engine, "source")


def bind_relation(source: Source, engine: Engine, key: str) -> Relation:
    """A place as something to read from; `key` names it in errors."""
    match source:
        case FileSource():
            _require(engine, Capability.FILE_SOURCES, key, "files")
            file = file_of(source, key)
            if file.unusual is not None and not engine.traits.reads_unusual:
                raise UsageError(
                    f"{key}: {engine.name} reads plain csv and parquet files, no {file.unusual}; load them into a table"
                )
            return file
        case QuerySource():
            return Query(parse_query(source.query, engine.dialect, f"{key}.query"))
        case _:
            return Table(source.parts)


def bind_column(spec: Spec, info: ColumnInfo) -> BoundColumn:
    """A quasi-identifier with its rule; HierarchyError when the rule does not fit the column's type."""
    try:
        rule = spec.hierarchy(info.name).rule(info.family)
    except ValueError as error:
        raise HierarchyError(f"column '{info.name}': {error}", column=info.name) from error
    measure = measure_of(info.name, spec.columns.get(info.name), rule, info.family)
    return BoundColumn(info.name, info.family, rule, measure)


def refuse_columns(spec: Spec, infos: Sequence[ColumnInfo]) -> None:
    """Everything that is wrong about columns and their hierarchies, in one error."""
    known = {info.name: info for info in infos}
    found: list[UsageError] = [SourceError(problem) for problem in misnamed(spec, infos)]
    listed = {*spec.columns, *bases_of(spec)}
    unlisted = [info.name for info in infos if info.name not in listed] if spec.default_role is None else []
    if unlisted:
        more = f" and {len(unlisted) - 1} more" if len(unlisted) > 1 else ""
        told = f"column '{unlisted[0]}'{more} of the source is not listed under 'columns'; "
        found.append(SourceError(f"{told}give it a role, or set default_role"))
    for name in spec.quasi_identifiers:
        try:
            if name in known:
                bind_column(spec, known[name])
        except UsageError as error:
            found.append(error)
    if len(found) == 1:
        raise found[0]
    if found:
        raise SourceError(*map(str, found))


def bind_target(spec: Spec, engine: Engine) -> Table | File:
    """What the spec writes to."""
    if isinstance(spec.target, FileTarget):
        _require(engine, Capability.FILE_TARGETS, "target", "files")
        folder = Path(spec.target.location).parent
        if not folder.is_dir():
            raise UsageError(f"target: there is no folder '{folder}'")
        return File(spec.target.location, spec.target.format, "written")
    target = Table(spec.target.parts)
    kind = engine.relation_kind(target)
    wanted = "view" if isinstance(spec.target, ViewTarget) else "table"
    if kind is not None and kind != wanted:
        found = "neither a table nor a view" if kind == "other" else f"a {kind}, not a {wanted}"
        raise UsageError(f"target: {target} exists and is {found}; drop it or name another target")
    return target


def formulas_of(spec: Spec) -> Formulas:
    """What becomes of texts that are formulas to spreadsheets."""
    return spec.target.formulas if isinstance(spec.target, FileTarget) else "keep"


def bind_published(spec: Spec, engine: Engine) -> Relation:
    """What the target of a spec says: escaped texts of a file as they were."""
    target = bind_target(spec, engine)
    if formulas_of(spec) != "escape" or not isinstance(target, File):
        return target
    items = [
        named(unescaped(column(info.name)), info.name) if info.family is Family.TEXT else column(info.name)
        for info in engine.columns(target)
    ]
    return Query(exp.select(*items).from_(engine.traits.relation(target, "written")))


def _bind_regions(spec: Spec, engine: Engine, target: Table | File, reads: list[Read]) -> Table | None:
    if spec.regions is None:
        return None
    regions = Table(spec.regions)
    if isinstance(target, Table) and engine.same_object(target, regions):
        raise SpecError("regions: that is the target; name another table")
    refuse_written(engine, reads, "regions", regions)
    if engine.relation_kind(regions) not in (None, "table"):
        raise UsageError(f"regions: {regions} exists and is not a table; drop it or name another one")
    return regions


def scratch_schema(spec: Spec, target: Table | File) -> tuple[str, ...]:
    """The schema of scratch tables; empty: the session's default schema."""
    if spec.scratch is not None:
        return spec.scratch
    return target.schema if isinstance(target, Table) else ()


def _refuse_scratch(spec: Spec, engine: Engine) -> None:
    """A schema for scratch tables is refused where they lie in none; tables of evidence lie in it anywhere."""
    if spec.scratch is None:
        return
    if engine.is_reserved(Table((*spec.scratch, "scratch"))):
        raise SpecError(f"scratch: {join_name(spec.scratch)} belongs to the database itself; name another schema")
    if engine.traits.temporary_scratch and not spec.evidence.tables:
        raise SpecError(
            f"scratch: on {engine.name} scratch tables are temporary and lie in no schema; leave it out, "
            f"or write evidence to its tables"
        )


def _require(engine: Engine, capability: Capability, key: str, what: str) -> None:
    if capability not in engine.capabilities:
        raise UsageError(f"{key}: {engine.name} reads and writes tables, not {what}; name a table")


def live_domain(engine: Engine, binding: Binding, item: BoundColumn) -> exp.Query:
    """The values of a quasi-identifier as they are read: the source's and the population's."""
    source = engine.traits.relation(binding.source, "source")
    own = domain(source, item.key("source", engine.traits))
    if binding.population is None:
        return own
    there = binding.population.columns[binding.names.index(item.name)]
    people = engine.traits.relation(binding.population.relation, "population")
    return exp.union(own, domain(people, there.key("population", engine.traits)), distinct=True)
