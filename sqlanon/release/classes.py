"""The classes of a release, measured from the source as it now stands, and the queries that make its rows.

The steps are those of `release.steps`: carried out one by one in an engine, or put together as the one query of a view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from sqlglot import exp

from sqlanon.auditor.breaches import Linked
from sqlanon.auditor.policy import ColumnPolicy, level_shown
from sqlanon.auditor.policy_statements import LabelQuestion, Published
from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.errors import HierarchyError, InfeasibleError, SpecError, UsageError
from sqlanon.evaluation.rollups import settle
from sqlanon.hierarchies.base import Family, Reference
from sqlanon.hierarchies.lattice import Node
from sqlanon.recoding.assignment import Judgement, refuse_beyond_limit
from sqlanon.recoding.averages import averaged, inside
from sqlanon.release import statements as release_sql
from sqlanon.release.hierarchies import Making, draft_hierarchies
from sqlanon.release.statements import QuasiIdentifier
from sqlanon.release.steps import (
    AnyStep,
    MeasuredClasses,
    Naming,
    Release,
    ReleaseSteps,
    Step,
    StepCheck,
)
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source.binding import Binding
from sqlanon.source.hierarchies import StoredHierarchy, store_hierarchy
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import all_of, equal, named, subquery, with_queries
from sqlanon.sql.relations import Query, Relation, Table, column, named_tables, table_expression
from sqlanon.sql.values import Counted, classes, relation, whole

MARK = "release_"
"""What the names of these tables begin with, beside those of the search in the same run."""


def measure_classes(engine: Engine, release: Release, scratch: Scratch) -> MeasuredClasses:
    """Judge the classes of a release in this very snapshot."""
    taxonomies = _taxonomies(engine, release.binding, scratch)
    for item in release.columns(engine):
        if item.lookup is not None and not item.at_top:
            # Small as they are: a planner that knows nothing of them expects every join to multiply the rows.
            engine.analyze("measure classes", item.lookup)
    place = cache(lambda name: scratch.name(f"{MARK}{name}"))
    told_apart = engine.told_apart(release.binding.source)
    # Rows that a ledger tells apart by person are not counted as alike.
    repeating = engine.traits if release.binding.history is None else None
    written = ReleaseSteps(engine, release, place, taxonomies, repeating=repeating, told_apart=told_apart, narrow=True)
    written.count()
    made = _carried_out(engine, scratch, written.steps)
    done = len(written.steps)
    if release.requirement.whole is not None:
        measured = written.judge()
    else:
        start = written.before_rounds("rounds")
        _carried_out(engine, scratch, written.steps[done:])
        done = len(written.steps)
        counted = written.ingredients
        persons, tables = (False, {}) if counted is None else (counted.counted.persons, counted.tables)
        settled = settle(engine, scratch, start, written.counts, written.groupings(), persons, tables)
        made.append(settled)
        measured = written.after_rounds(settled, "What is kept after all rounds of suppression.")
    made += _carried_out(engine, scratch, written.steps[done:])
    # For questions that join them to the source; the release itself is joined by hashes, whatever a planner expects.
    engine.analyze("measure classes", measured.table)
    return MeasuredClasses(
        measured.table,
        measured.known,
        measured.ingredients,
        measured.alike,
        (*made, *(item.table.table for item in taxonomies.values())),
        {item.column: Query(hierarchy_sql.taxonomy(item.table.table, item.height)) for item in taxonomies.values()},
    )


def _carried_out(engine: Engine, scratch: Scratch, steps: Sequence[AnyStep]) -> list[Table]:
    """Make the tables of steps in scratch, and stop where a check counts something; the tables."""
    made = []
    for step in steps:
        match step:
            case Step():
                made.append(scratch.create_at(step.title, step.table, step.query))
            case StepCheck():
                [(number,)] = engine.query(Statement(step.title, step.found))
                if number:
                    raise SpecError(f"{step.message}: {number} of them; the source changed, plan again")
    return made


def _taxonomies(engine: Engine, binding: Binding, scratch: Scratch) -> dict[int, StoredHierarchy]:
    """The hierarchies that distances between sensitive values go by, from the source as it stands."""
    found = {}
    for position, item in enumerate(binding.sensitive):
        if item.rule is not None:
            source = engine.traits.relation(binding.source, "source")
            values = hierarchy_sql.domain(source, item.key("source", engine.traits))
            found[position] = store_hierarchy(
                engine, item.hierarchy(), values, scratch, f"p__{position}", has_null=False
            )
    return found


def blanked_class_satisfies(engine: Engine, release: Release, measured: MeasuredClasses) -> bool:
    """Whether the rows of failing classes, as one class without a quasi-identifier, satisfy the requirement."""
    query = blanked_query(release, measured, release.columns(engine))
    [(satisfied,)] = engine.query(Statement("judge suppressed rows", query)) or [(False,)]
    return bool(satisfied)


def blanked_query(release: Release, measured: MeasuredClasses, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """Whether the rows of failing classes, as one class without a quasi-identifier, are `satisfied`; no row: no."""
    whole, made = release.requirement.whole, measured.ingredients
    if whole is None:
        return exp.select(named(exp.false(), "satisfied"))
    if made is None:
        enough = release_sql.enough_to_blank(measured.table, columns, release.binding.k)
        return exp.select(named(enough, "satisfied"))
    counted = Counted(_failing(made.counted, measured.table), (), made.counted.persons)
    everybody = made.population and replace(made.population, keys=(), everywhere=False)
    found = classes(counted, whole.measures(), made.tables, everybody)
    return exp.select(named(whole.satisfied(), "satisfied")).from_(relation(found, "blanked"))


def _failing(counted: Counted, classes_table: Table) -> exp.Select:
    """The counted rows of failing classes."""
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("counted", quoted=True))
    rows = counted.rows.copy()
    [place] = rows.find_all(exp.Table)
    place.set("alias", exp.TableAlias(this=exp.to_identifier("counted", quoted=True)))
    same = [equal(column(name, "counted"), column(name, "verdict")) for name in counted.names]
    on = all_of([*same, exp.Not(this=column("kept", "verdict"))])
    failing = rows.select(everything).join(table_expression(classes_table, "verdict"), on=on, join_type="inner")
    return exp.select().from_(relation(failing, "counted"))


def release_query(
    engine: Engine,
    release: Release,
    measured: MeasuredClasses,
    *,
    blank: bool | exp.Expression | None = None,
    shuffle: bool = True,
    with_respondent: bool = False,
    fenced: bool = False,
) -> exp.Select:
    """The rows to publish; with the respondent only for the audit. `blank` None: decided when the query runs.

    `fenced`: classes are matched once all labels are known, whatever a planner expects.
    """
    binding, columns = release.binding, release.columns(engine)
    respondent = binding.witnesses if with_respondent else ()
    names = [*binding.released, *respondent]
    blanks: exp.Expression | None = None
    if binding.blank:
        if blank is None:
            blank = release_sql.enough_to_blank(measured.table, columns, binding.k)
        blanks = blank if isinstance(blank, exp.Expression) else _truth(blank)
    shown = None if measured.alike is None or respondent else release.shown(engine)
    if measured.alike is not None and shown is not None:
        rows = release_sql.release_of_alike(
            measured.alike, columns, shown, binding.released, measured.table, blank=blanks
        )
        rows = rows.order_by(exp.Rand(), copy=False) if shuffle else rows
        return release_sql.copied(rows, binding.released, engine.traits)
    rows = release_sql.release(
        engine.traits.relation(binding.source, "source"),
        columns,
        inside(binding, names),
        measured.table,
        blank=blanks,
        known=measured.known,
        fenced=fenced,
    )
    if binding.averaged:
        return averaged(rows, binding, names)
    # In no order that tells of the source.
    return rows.order_by(exp.Rand(), copy=False) if shuffle else rows


def _truth(holds: bool) -> exp.Expression:
    return exp.true() if holds else exp.false()


def population_labels(engine: Engine, release: Release) -> exp.Select | None:
    """The population generalized like the release, its columns named like the release's."""
    if release.binding.population is None:
        return None
    people = engine.traits.relation(release.binding.population.relation, "source")
    return release_sql.labelled_rows(people, release.population_columns(engine), release.binding.names)


def generalized_columns(release: Release) -> Iterator[tuple[str, ColumnInfo]]:
    """The quasi-identifiers as they are released: labels above level 0."""
    infos = {info.name: info for info in release.binding.columns}
    items = zip(release.binding.quasi_identifiers, release.hierarchies, release.recoding.node, strict=True)
    for item, hierarchy, level in items:
        info = infos[item.name]
        labels = Family.TEXT if level == hierarchy.height else hierarchy.families[level]
        yield item.name, ColumnInfo(item.name, info.type, info.family if level == 0 else labels)


def level_question(engine: Engine, release: Release, released: Relation) -> tuple[LabelQuestion, dict[str, int]]:
    """Whether every generalized column of a release shows labels of its level alone; and these levels.

    A column that is released as it is has no lookup: its labels are its values, and any value will do.
    """
    infos = {info.name: info for info in release.binding.columns} | dict(generalized_columns(release))
    table = Published(released, infos, engine.traits)
    items = zip(release.binding.quasi_identifiers, release.hierarchies, release.columns(engine), strict=True)
    shown, levels = [], {}
    for item, hierarchy, released_as in items:
        if released_as.lookup is not None or released_as.at_top:
            lookup = released_as.lookup or hierarchy.table.table
            policy = ColumnPolicy(
                item.name, item.family, lookup, hierarchy.families, released_as.top, (released_as.level,)
            )
            shown.append(level_shown(table, policy, released_as.level, blank=release.binding.blank))
            levels[item.name] = released_as.level
    return LabelQuestion(table, shown), levels


@dataclass(frozen=True)
class LevelsRelease(Release):
    """A release by levels of hierarchies, as publish and rehearsal ask it."""

    @property
    def node(self) -> Node | None:
        """The level of each column."""
        return self.recoding.node

    def judge(self, engine: Engine, scratch: Scratch, *, shuffle: bool = True) -> Judgement:
        """The classes in this very snapshot; refuses what the plan no longer covers."""
        columns = self.columns(engine)
        measured = measure_classes(engine, self, scratch)
        [(rows, suppressed, kept, *outside)] = engine.query(
            Statement("judge classes", release_sql.class_totals(measured.table, columns))
        )
        _refuse_uncovered([item for item in columns if not item.at_top], outside)
        refuse_beyond_limit(self.binding, int(rows), int(suppressed), kept=bool(kept))
        if suppressed and self.binding.spec.privacy.crowd:
            _require_crowds(engine, self, measured)
        blank = self.binding.blank and suppressed > 0 and blanked_class_satisfies(engine, self, measured)
        query = release_query(engine, self, measured, blank=blank, shuffle=shuffle, with_respondent=True)
        return Judgement(int(rows), int(suppressed), blank, query, dict(measured.taxonomies), measured.scratch)

    def rows_when_read(self, engine: Engine, *, with_respondent: bool = False) -> exp.Select | None:
        """The rows of a view, from the source as it is when somebody reads it."""
        return live_release(engine, self).rows(engine, with_respondent=with_respondent)

    def population(self, engine: Engine) -> exp.Select | None:
        """The population generalized like the release."""
        return population_labels(engine, self)

    def linked(self, engine: Engine, audited: Relation) -> Linked | None:
        """Nobody has a requirement of his own."""
        return None


def _require_crowds(engine: Engine, release: Release, measured: MeasuredClasses) -> None:
    """InfeasibleError where fewer rows are suppressed than the adversary may know of, all of them or of some class with
    every column one level further."""
    crowd = release.binding.spec.privacy.crowd
    [(rows, fewest)] = engine.query(Statement("suppressed crowds", _crowds(engine, release, measured.table)))
    if int(rows or 0) < crowd or int(fewest or 0) < crowd:
        raise InfeasibleError(
            f"privacy.adversary.suppression: this generalization would suppress {rows} rows, and {fewest} of them in "
            f"the smallest class one level further; at least {crowd} are asked for: plan again"
        )


def _crowds(engine: Engine, release: Release, classes_table: Table) -> exp.Select:
    """One row: the suppressed rows, and the fewest of them in one class with every column one level further."""
    select = exp.select(column("n", "failing")).from_(table_expression(classes_table, "failing"))
    keys: list[str] = []
    for place, (item, hierarchy) in enumerate(zip(release.columns(engine), release.hierarchies, strict=True)):
        if item.at_top or item.level + 1 == hierarchy.height:
            continue
        alias, name = f"further_{place}", f"further_code_{place}"
        codes = {"below": column(f"code_{item.level}"), "above": column(f"code_{item.level + 1}")}
        steps = exp.select(*(named(code, which) for which, code in codes.items())).distinct()
        steps = steps.from_(table_expression(hierarchy.table.table))
        on = equal(column(item.key_name, "failing"), column("below", alias))
        select = select.join(subquery(steps, alias), on=on, join_type="left", copy=False)
        # NULL stays NULL below the top.
        above = exp.Coalesce(this=column("above", alias), expressions=[column(item.key_name, "failing")])
        select, keys = select.select(named(above, name), copy=False), [*keys, name]
    select = select.where(exp.Not(this=column("kept", "failing")))
    crowds = exp.select(named(exp.Sum(this=column("n")), "n")).from_(subquery(select, "further"))
    crowds = crowds.group_by(*(column(name) for name in keys)) if keys else crowds
    return exp.select(whole(exp.Sum(this=column("n"))), whole(exp.Min(this=column("n")))).from_(
        subquery(crowds, "crowds")
    )


def _refuse_uncovered(columns: Sequence[QuasiIdentifier], outside: Sequence[int]) -> None:
    for item, number in zip(columns, outside, strict=True):
        if number:
            raise HierarchyError(
                f"column '{item.name}': {number} rows lie outside its hierarchy; the source changed, plan again",
                column=item.name,
                count=int(number),
            )


@dataclass(frozen=True)
class LiveRelease:
    """A release as a view computes it, from the source as it is when it is read: each step a part of one query."""

    release: Release
    measured: MeasuredClasses
    steps: tuple[AnyStep, ...]

    def rows(self, engine: Engine, *, with_respondent: bool = False) -> exp.Select:
        """The rows that the view shows."""
        rows = release_query(engine, self.release, self.measured, shuffle=False, with_respondent=with_respondent)
        return in_one_query(rows, self.steps)

    def population(self, engine: Engine) -> exp.Select | None:
        """The population generalized like the rows."""
        everybody = population_labels(engine, self.release)
        return None if everybody is None else in_one_query(everybody, self.steps)

    def classes(self) -> exp.Select:
        """The classes as the view would now be read, each with its verdict."""
        return in_one_query(exp.select(exp.Star()).from_(table_expression(self.measured.table)), self.steps)


def live_release(engine: Engine, release: Release) -> LiveRelease:
    """The release with hierarchies and classes from the source's values as they are when it is read."""
    binding = release.binding
    for item in binding.sensitive:
        if item.order:
            raise UsageError(
                f"privacy.t_closeness: nobody checks the order of column '{item.name}' when a view or a script runs; "
                f"publish to a table with `sqlanon run` or `apply`"
            )
    place = apart_from_tables(binding)
    # Nothing stops a view: rows of values that no hierarchy covers are left out, so each column has a lookup.
    hierarchies = draft_hierarchies(engine, binding, release.recoding, Making(place, lambda _: None, as_it_is=False))
    live = hierarchies.release(binding, release.recoding, release.requirement)
    written = ReleaseSteps(engine, live, place, hierarchies.of_sensitive)
    written.steps += hierarchies.steps
    written.count()
    return LiveRelease(live, written.judge(), tuple(written.steps))


def in_one_query(rows: exp.Select, steps: Sequence[AnyStep]) -> exp.Select:
    """A query that begins with the steps it reads, directly or through others."""
    wanted = {table.name for table in rows.find_all(exp.Table)}
    parts: dict[str, exp.Query] = {}
    for step in reversed(steps):
        if isinstance(step, Step) and step.table.name in wanted:
            parts[step.table.name] = step.query.copy()
            wanted |= {table.name for table in step.query.find_all(exp.Table)}
    return with_queries(rows, dict(reversed(parts.items())))


def apart_from_tables(binding: Binding) -> Naming:
    """Names for the parts of a query: none of them hides a table that the release reads."""
    read: list[Relation] = [binding.source]
    read += [] if binding.population is None else [binding.population.relation]
    rules = [item.rule for item in binding.quasi_identifiers] + [item.rule for item in binding.sensitive]
    read += [Table(rule.table) for rule in rules if isinstance(rule, Reference)]
    taken = set()
    for found in read:
        tables = named_tables(found.select) if isinstance(found, Query) else [found]
        taken |= {table.name.lower() for table in tables if isinstance(table, Table)}

    def place(name: str) -> Table:
        while name in taken:
            name += "_"
        return Table((name,))

    return place
