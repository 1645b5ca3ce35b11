"""Risk of and attacks on a spec's source and its published target; risk also of any table.

Orchestrates; reads aggregates, and names only where somebody asked for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property

from sqlanon.auditor.downcoding import LabelLevels
from sqlanon.auditor.place import open_place, relation_named
from sqlanon.auditor.request import NUMBERS
from sqlanon.errors import UsageError
from sqlanon.insight.adversary import (
    Attack,
    AttackResult,
    CountedValues,
    Exposure,
    Labels,
    People,
    background,
    count_nodes,
    credibility,
    downcode,
    grouped_table,
    hierarchies_of,
    homogeneity,
    infer,
    intersect,
    label_levels,
    label_pairs,
    link,
    minimality,
    not_minimal,
    people_as_released,
    re_identified,
    recognize_suppressed,
    similarity_by_range,
    similarity_by_taxonomy,
    skewness,
    unjudged,
    unmeasured,
)
from sqlanon.insight.adversary.people import GroupedTable
from sqlanon.insight.options import (
    PLAIN_ATTACK,
    PLAIN_RISK,
    UNPUBLISHED,
    AttackOptions,
    RiskOptions,
    external,
    labels_of,
    population,
    published,
    renamed,
    source_people,
)
from sqlanon.insight.reidentification import RiskRequest, RiskResult, measure_risk
from sqlanon.source.binding import BoundColumn, bind_column
from sqlanon.source.hierarchies import StoredHierarchy, store_hierarchy
from sqlanon.source.hierarchy_statements import domain
from sqlanon.source.run import DEFAULT, Options, Run, running
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.sql.relations import Relation

GENERALIZED = "'{}' is released as nodes of its taxonomy: a class with one node counts like a class with one value"


class Shared:
    """What several attacks read, made once: the source and its release grouped by the quasi-identifier, the values of
    sensitive columns by class, hierarchies."""

    def __init__(self, run: Run, target: Relation | None) -> None:
        self.run = run
        self.target = target
        self._values: dict[tuple[str, str], CountedValues] = {}

    @cached_property
    def hierarchies(self) -> list[LabelLevels]:
        """The hierarchies with the values that the source has now."""
        return hierarchies_of(self.run)

    @cached_property
    def people(self) -> People:
        """The people of the source."""
        return replace(source_people(self.run), grouped=self._classes(self.run.binding.source))

    @cached_property
    def release(self) -> GroupedTable | None:
        """The release by its classes; None where there is none."""
        return None if self.target is None else self._classes(self.target)

    def _classes(self, table: Relation) -> GroupedTable:
        """The classes of a table: from those by values, where they are counted anyway."""
        run = self.run
        if run.binding.spec.sensitive:
            return self.values(table, run.binding.spec.sensitive[0]).classes(run.binding.names, run.scratch)
        return grouped_table(run.engine, table, {name: name for name in run.binding.names}, run.scratch)

    def grouped(self, people: People) -> People:
        """People with a table that is grouped by their columns."""
        engine, scratch = self.run.engine, self.run.scratch
        return replace(people, grouped=grouped_table(engine, people.relation, people.columns, scratch))

    def labels(self, people: Sequence[People], place: str) -> Labels:
        """The labels of the release that cover the values of people."""
        if self.release is None:
            raise ValueError("there is no release")
        return labels_of(self.run, self.release, people, place)

    def values(self, table: Relation, sensitive: str) -> CountedValues:
        """The values of a sensitive column in the source or in the release."""
        key = str(table), sensitive
        if key not in self._values:
            run = self.run
            self._values[key] = CountedValues.of(run.engine, table, run.binding.names, sensitive, run.scratch)
        return self._values[key]


def attack(spec: Spec, options: Options = DEFAULT, asked: AttackOptions = PLAIN_ATTACK) -> AttackResult:
    """Run the attacks on a spec's source, and on its target where that stands."""
    with running(spec, options) as run:
        target = published(run)
        notes = [] if target is not None else [UNPUBLISHED.format(run.binding.target)]
        found: list[Attack] = []
        names = None
        shared = Shared(run, target)
        people = external(run, asked)
        if people is not None:
            found += _linking(shared, people, asked)
            if asked.names is not None:
                names = _names(run, target, people, asked.names)
        elif asked.names is not None:
            raise UsageError("--names: name the identified table as --external")
        for sensitive in spec.sensitive:
            found += _on_values(shared, sensitive, asked, notes)
        if spec.privacy.personalized is not None:
            notes.append(GENERALIZED.format(spec.privacy.personalized.column))
        if target is not None:
            found += _of_known_people(shared, target, asked, notes)
            found += of_known_algorithm(run, target, notes, shared=shared)
        elif asked.release is not None:
            raise UsageError(f"--release: there is no release yet at {run.binding.target} to intersect with")
        shown = None if target is None else str(target)
        return AttackResult(str(run.binding.source), shown, tuple(found), names, tuple(notes))


def _of_known_people(shared: Shared, target: Relation, asked: AttackOptions, notes: list[str]) -> Iterator[Attack]:
    """Attacks of somebody who knows who is in the source."""
    run, source = shared.run, shared.people
    try:
        labels = shared.labels([source], "m")
    except UsageError as error:
        if asked.release is not None:
            raise
        notes.append(f"missing was not measured: {error}")
        return
    yield _missing(run, target, source, labels)
    if asked.release is not None:
        yield from _intersections(run, target, source, labels, asked.release)


def of_known_algorithm(
    run: Run,
    target: Relation,
    notes: list[str],
    known: Sequence[LabelLevels] | None = None,
    shared: Shared | None = None,
) -> Iterator[Attack]:
    """Attacks of somebody who knows how the release was made, and of one who guesses from all that it says together.

    `known`: the hierarchies with the values of the source, where they stand.
    """
    shared = shared or Shared(run, target)
    reasons = {"downcoding": unmeasured(run.binding.spec), "minimality": unjudged(run)}
    levels = (known or shared.hierarchies) if None in reasons.values() else []
    if reasons["downcoding"] is None:
        try:
            yield downcode(run, target, levels, notes, shared.release)
        except UsageError as error:
            # Labels of too many vectors: the other attacks are measured all the same.
            reasons["downcoding"] = str(error)
    if reasons["minimality"] is None:
        found = minimality(run, target, levels, shared.people.grouped)
        if isinstance(found, Attack):
            yield found
        else:
            reasons["minimality"] = found
    if unjudged(run) is None:
        reasons["credibility"] = not_minimal(run)
        told = reasons["credibility"] or credibility(run, target, levels)
        if isinstance(told, str):
            reasons["credibility"] = told
        else:
            yield from told
    for name, reason in reasons.items():
        if reason is not None and (name != "minimality" or run.binding.spec.privacy.models()):
            notes.append(f"{name} was not measured: {reason}")
    for sensitive in run.binding.spec.sensitive:
        guessed = infer(shared.values(target, sensitive))
        explained = "rows whose value naive Bayes tells from the labels of the release"
        yield Attack("inference", sensitive, explained, "bayes", None, guessed)


def _linking(shared: Shared, people: People, asked: AttackOptions) -> Iterator[Attack]:
    run, target = shared.run, shared.target
    columns = [name for name in run.binding.names if name in people.columns]
    _require_same_kinds(run, people)
    people = shared.grouped(people)
    source = shared.people.grouped or run.binding.source
    before = link(run.engine, people, source, columns, asked.within)
    after, labels = None, None
    if target is not None:
        labels = shared.labels([people], "a")
        after = link(run.engine, people, target, labels, asked.within)
    explained = f"people of {people.relation} who match exactly one row by {', '.join(columns)}"
    yield Attack("linking", None, explained, "unique", before, after)
    release, local = shared.release, ALGORITHMS[run.binding.spec.search.algorithm].kind == "local"
    if target is not None and labels is not None and release is not None and local:
        levels = label_levels(run, shared.hierarchies, columns)
        known = replace(labels, levels=levels, nodes=count_nodes(run.engine, release, columns, levels))
        after = link(run.engine, people, target, known, asked.within)
        more = f"{explained}, for whoever knows that the finest classes are released first"
        yield Attack("linking_known", None, more, "unique", None, after)


def _require_same_kinds(run: Run, people: People) -> None:
    families = {info.name: info.family for info in run.engine.columns(people.relation)}
    for item in run.binding.quasi_identifiers:
        there = people.columns.get(item.name)
        if there is not None and families[there] is not item.family:
            raise UsageError(
                f"--external: column '{there}' holds {families[there].value} values, "
                f"but '{item.name}' of the source holds {item.family.value} values"
            )


def _names(run: Run, target: Relation | None, people: People, name: str) -> tuple[str, ...]:
    if target is None:
        columns = [item for item in run.binding.names if item in people.columns]
        return re_identified(run.engine, people, run.binding.source, columns, name)
    return re_identified(run.engine, people, target, labels_of(run, target, [people], place="n"), name)


def _on_values(shared: Shared, sensitive: str, asked: AttackOptions, notes: list[str]) -> Iterator[Attack]:
    source = shared.values(shared.run.binding.source, sensitive)
    target = None if shared.target is None else shared.values(shared.target, sensitive)
    tables = [source, target]

    def each(name: str, explained: str, headline: str, found: Sequence[Exposure | None]) -> Attack:
        return Attack(name, sensitive, explained, headline, found[0], found[1])

    yield each(
        "homogeneity",
        "rows whose class has a single value: finding the class reveals the value",
        "certain",
        [None if table is None else homogeneity(table) for table in tables],
    )
    for number in asked.excluded:
        yield each(
            "background",
            f"rows whose class leaves a single value to somebody who can rule out {number} of its values",
            "certain",
            [None if table is None else background(table, number) for table in tables],
        )
    yield each(
        "skewness",
        "the most that a value's share in a class exceeds its share in the source",
        "gain",
        [None if table is None else skewness(table, source) for table in tables],
    )
    yield from _similarity(shared.run, tables, sensitive, asked, notes)


def _similarity(
    run: Run, tables: Sequence[CountedValues | None], sensitive: str, asked: AttackOptions, notes: list[str]
) -> Iterator[Attack]:
    family = next(info.family for info in run.binding.columns if info.name == sensitive)
    if run.binding.spec.columns[sensitive].hierarchy is not None:
        stored = _taxonomy(run, sensitive)
        levels = stored.height - 1
        if levels < 1:
            notes.append(f"similarity of '{sensitive}' was not measured: its hierarchy has no level below the top")
            return
        found = [
            None if table is None else similarity_by_taxonomy(table, stored.table.table, stored.families)
            for table in tables
        ]
        text = "rows whose class has several values, all under one label of level"
        yield Attack("similarity", sensitive, f"{text} {levels}", f"level_{levels}", found[0], found[1])
    elif family in NUMBERS:
        found = [
            None if table is None else _by_range(run, table.relation, sensitive, asked.similar, notes)
            for table in tables
        ]
        text = f"rows whose class has several numbers, all within {100 * asked.similar:f}% of the whole range"
        yield Attack("similarity", sensitive, text, "similar", found[0], found[1])
    else:
        notes.append(f"similarity of '{sensitive}' was not measured: it has no hierarchy and holds no numbers")


def _by_range(run: Run, table: Relation, sensitive: str, within: Decimal, notes: list[str]) -> Exposure | None:
    kinds = {info.name: info.family for info in run.engine.columns(table)}
    if kinds.get(sensitive) not in NUMBERS:
        notes.append(f"similarity of '{sensitive}' was not measured in {table}: it holds no numbers there")
        return None
    return similarity_by_range(run.engine, table, run.binding.names, sensitive, run.binding.source, within)


def _taxonomy(run: Run, sensitive: str) -> StoredHierarchy:
    info = next(item for item in run.binding.columns if item.name == sensitive)
    item: BoundColumn = bind_column(run.binding.spec, info)
    source = run.engine.traits.relation(run.binding.source, "source")
    place = f"x__{run.binding.spec.sensitive.index(sensitive)}"
    values = domain(source, item.key("source", run.engine.traits))
    return store_hierarchy(run.engine, item, values, run.scratch, place, has_null=False)


def _missing(run: Run, target: Relation, source: People, labels: Labels) -> Attack:
    after = recognize_suppressed(run.engine, source, target, labels)
    explained = "rows of the source that match no released class: this reveals that their class failed the requirement"
    return Attack("missing", None, explained, "recognized", None, after)


def _intersections(run: Run, target: Relation, source: People, labels: Labels, other: str) -> Iterator[Attack]:
    relation = relation_named(run.engine, other, "--release")
    there = {info.name for info in run.engine.columns(relation)}
    missing = [name for name in run.binding.names if name not in there]
    if missing:
        raise UsageError(f"--release: {relation} has no column '{missing[0]}'")
    second = label_pairs(
        run.engine,
        relation,
        run.binding.quasi_identifiers,
        [(source.relation, source.columns)],
        run.scratch,
        blank=run.binding.blank,
        place="o",
    )
    for sensitive in run.binding.spec.sensitive:
        if sensitive in there:
            after = intersect(run.engine, source, (target, labels), (relation, second), sensitive)
            explained = f"people in both releases for whom {relation} and the target together leave a single value"
            yield Attack("intersection", sensitive, explained, "certain", None, after)


def risk(spec: Spec, options: Options = DEFAULT, asked: RiskOptions = PLAIN_RISK) -> RiskResult:
    """The risk of a spec's source, and of its target where that stands."""
    with running(spec, options) as run:
        binding = run.binding
        request = RiskRequest(binding.names, asked.thresholds, binding.k, asked.subset_size, asked.unique_size)
        people = population(run)
        respondent = None if binding.respondent is None else binding.respondent.name
        with run.watch.phase("before"):
            before = measure_risk(
                run.engine,
                binding.source,
                request,
                run.scratch,
                population=None if people is None else renamed(run.engine, people),
                respondent=respondent,
            )
        target = published(run)
        if target is None:
            return RiskResult(before, None, (UNPUBLISHED.format(binding.target),), run.watch.seconds)
        # A pseudonym tells the people of the release apart as their own keys do those of the source.
        shown = binding.spec.respondent if binding.spec.respondent in binding.released else None
        notes = (
            []
            if respondent is None or shown is not None
            else ["the release does not hold the respondent column: its rows were counted, not persons"]
        )
        with run.watch.phase("after"):
            released = None
            if people is not None:
                try:
                    released = people_as_released(run.engine, people, target, labels_of(run, target, [people]))
                except UsageError as error:
                    notes.append(f"the population was not compared with the release: {error}")
            after = measure_risk(run.engine, target, request, run.scratch, population=released, respondent=shown)
        return RiskResult(before, after, tuple(notes), run.watch.seconds)


def risk_of_table(
    name: str, connection: str | None, columns: Sequence[str], options: Options, asked: RiskOptions, k: int = 5
) -> RiskResult:
    """The risk of any table or file over the columns given."""
    request = RiskRequest(tuple(columns), asked.thresholds, k, asked.subset_size, asked.unique_size)
    with open_place(name, connection, options) as (engine, table), Scratch(engine, ()) as scratch:
        return RiskResult(measure_risk(engine, table, request, scratch))
