"""A release as a list of named steps: the tables it is counted and judged by, and what stops it.

Written once. `release.classes` carries the steps out in an engine, to publish and to rehearse; `release.script` prints
them; a dbt model and a view put them into one query, each step a common table expression.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.errors import UsageError
from sqlanon.evaluation.statements import Judged, survivors
from sqlanon.hierarchies.base import Family
from sqlanon.privacy.base import Grouping, Requirement
from sqlanon.recoding.kinds import FullDomain
from sqlanon.release import statements as release_sql
from sqlanon.release.statements import QuasiIdentifier, ShownColumn
from sqlanon.source import sensitive as sensitive_sql
from sqlanon.source.binding import Binding, BoundColumn
from sqlanon.source.drafts import HierarchyDraft
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.sensitive import SensitiveColumn, codes_query
from sqlanon.sql.build import create_table_as, create_view, drop_view, equal, named, row_count
from sqlanon.sql.relations import Query, Table, column, explained, literal, table_expression
from sqlanon.sql.traits import Traits
from sqlanon.sql.values import Counted, Population, ValueTables, View, classes

WITHOUT_REFERENCE = frozenset({View.NUMBER, View.PLAIN, View.HOLDERS, View.RANKED})
"""What models read of a class alone, without a look at the whole source."""


@dataclass(frozen=True)
class Step:
    """A table of the release, made from a query."""

    title: str
    """A few words, for logs."""
    comment: str
    """A sentence, for people who read the release as SQL."""
    name: str
    """What the table is called, without the mark of the run or script that makes it."""
    table: Table
    query: exp.Query
    analyzed: bool = False
    """Joins with it are planned by what it holds, where an engine plans by statistics and runs a script: a session of
    ours says how they are made."""


@dataclass(frozen=True)
class LoadedList:
    """A table of the labels that a definition lists value by value."""

    comment: str
    name: str
    draft: HierarchyDraft
    level: int | None
    """The level whose labels are read; None: all of them are."""


@dataclass(frozen=True)
class StepCheck:
    """What stops a release: a query counts what must not be there."""

    title: str
    comment: str
    message: str
    """What is wrong where something was counted; names the column, never a value."""
    found: exp.Select

    @property
    def holds(self) -> exp.Select:
        """TRUE where nothing was counted."""
        [number] = self.found.expressions
        query = self.found.copy()
        query.set("expressions", [equal(number.copy(), literal(0))])
        return query


@dataclass(frozen=True)
class PublishStep:
    """A statement that makes, replaces or drops what is no scratch table."""

    title: str
    comment: str
    statement: exp.Expression


AnyStep = Step | LoadedList | StepCheck

CLASSES = "The classes of the generalized quasi-identifier, each with its verdict."

Naming = Callable[[str], Table]
"""Where the table of a step lies, by the name of the step."""


@dataclass(frozen=True)
class Release:
    """Everything that decides what is published."""

    binding: Binding
    hierarchies: tuple[StoredHierarchy, ...]
    recoding: FullDomain
    requirement: Requirement
    lookups: tuple[Table | None, ...] | None = None
    """Where nobody has stored the hierarchies: the table of each column's labels at its level, None where the column
    is released as it is."""
    tops: tuple[Table | None, ...] | None = None
    """For columns at a top that the data make, in a view: the table of its label when somebody reads it."""

    @property
    def plain(self) -> Mapping[str, str]:
        """A plain name for every column of the source."""
        return explained(info.name for info in self.binding.columns)

    def columns(self, engine: Engine) -> list[QuasiIdentifier]:
        """The quasi-identifiers at their levels, as the release statements want them."""
        items = zip(self.binding.quasi_identifiers, self.hierarchies, self.recoding.node, strict=True)
        types = {info.name: info.type for info in self.binding.columns}
        plain = self.plain
        return [
            QuasiIdentifier(
                item.name,
                plain[item.name],
                item.key("source", engine.traits),
                hierarchy.table.table if self.lookups is None else self.lookups[position],
                _text(engine, item),
                level,
                level == hierarchy.height,
                hierarchy.top,
                release_sql.shown_blank(
                    types[item.name].this in exp.DataType.TEXT_TYPES
                    if level == 0
                    else hierarchy.families[level] is Family.TEXT
                ),
                exact=item.family.exact,
                top_when_read=None if self.tops is None else self.tops[position],
            )
            for position, (item, hierarchy, level) in enumerate(items)
        ]

    def population_columns(self, engine: Engine) -> list[QuasiIdentifier]:
        """The same columns as the population has them."""
        if self.binding.population is None:
            return []
        return [
            replace(
                item,
                name=there.name,
                key=there.key("source", engine.traits),
                text=_text(engine, there),
            )
            for item, there in zip(self.columns(engine), self.binding.population.columns, strict=True)
        ]

    def shown(
        self, engine: Engine, told_apart: Collection[str] = (), *, narrow: bool = False
    ) -> list[ShownColumn] | None:
        """The released columns but those that are one label; None where equal values of one may look different.

        Texts of which the database itself says that equal ones look alike are `told_apart` without their bytes.
        `narrow`: labels are looked up once rows are counted by their codes.
        """
        infos = {info.name: info for info in self.binding.columns}
        columns = {item.name: item for item in self.columns(engine)}
        ours = {"n", "kept", *(item.key_name for item in columns.values())}
        ours |= {f"{self.plain[name]}_{part}" for name in infos for part in ("text", "shown")}
        found = []
        for name in self.binding.released:
            item, info, plain, own = columns.get(name), infos[name], self.plain[name], name.lower() not in ours
            if item is not None and item.at_top:
                continue
            value = column(name, "source") if item is None else item.value()
            if value.args.get("table") is None or value.text("table") != "source":
                found.append(ShownColumn(name, plain, value, labelled=narrow, own_name=own))
                continue
            if not info.family.exact:
                return None
            later = item is not None and item.lookup is not None
            by_bytes = info.family is Family.TEXT and name not in told_apart and (item is None or later)
            key = engine.traits.key(column(name, "source"), info.family) if by_bytes else None
            found.append(ShownColumn(name, plain, value, key, later, own_name=own))
        return found

    @property
    def known(self) -> tuple[int, ...]:
        """The sensitive columns that are keys of some grouping's classes."""
        return tuple(sorted({position for grouping in self.requirement.groupings for position in grouping.known}))


def _text(engine: Engine, item: BoundColumn) -> exp.Expression:
    """The value of a column as text that compares alike on every engine."""
    key = item.key("source", engine.traits)
    return key if item.family is Family.TEXT else engine.traits.text(key, item.family)


@dataclass(frozen=True)
class Ingredients:
    """Counted rows of a release, and what its requirement reads beside them."""

    counted: Counted
    sensitive: tuple[SensitiveColumn, ...]
    tables: dict[int, ValueTables]
    population: Population | None


@dataclass(frozen=True)
class MeasuredClasses:
    """The classes of a release in a table, judged."""

    table: Table
    known: dict[int, SensitiveColumn]
    """Sensitive columns that are keys of the classes."""
    ingredients: Ingredients | None
    """None where classes are judged by their rows alone."""
    alike: Table | None = None
    """The rows that will look the same, counted; None where the release is made of the rows of the source."""
    scratch: tuple[Table, ...] = ()
    """Everything to drop when the release stands."""
    taxonomies: dict[str, Query] = field(default_factory=dict)
    """The labels of sensitive columns that have a hierarchy of their own."""


class ReleaseSteps:
    """Writes the steps of one release, its tables placed by `place`."""

    def __init__(
        self,
        engine: Engine,
        release: Release,
        place: Naming,
        taxonomies: Mapping[int, StoredHierarchy] | None = None,
        *,
        repeating: Traits | None = None,
        told_apart: Collection[str] = (),
        narrow: bool = False,
    ) -> None:
        """`repeating`: where the steps are run. Rows that look the same are counted once, if it can repeat them.

        `narrow`: they are counted by codes of labels, which is faster and longer to read.
        """
        self._engine = engine
        self._release = release
        self._place = place
        self._taxonomies = taxonomies or {}
        able = repeating is not None and repeating.copies(literal(1)) is not None
        self._repeats = able and not release.binding.averaged
        self._told_apart, self._narrow = told_apart, narrow
        self._alike: Table | None = None
        self._columns = release.columns(engine)
        self.steps: list[AnyStep] = []
        self.ingredients: Ingredients | None = None
        """What `count` has made; None where classes are judged by their rows alone."""

    def _make(self, title: str, comment: str, name: str, query: exp.Query, *, analyzed: bool = False) -> Table:
        table = self._place(name)
        self.steps.append(Step(title, comment, name, table, query, analyzed))
        return table

    def count(self) -> None:
        """Count the source by the generalized quasi-identifier, and by what models compare.

        Where k is all that is asked, the classes themselves.
        """
        binding, traits, whole = self._release.binding, self._engine.traits, self._release.requirement.whole
        if binding.simple and whole is not None:
            self._simple_classes(whole.satisfied())
            return
        sensitive = tuple(
            SensitiveColumn(item.key("source", traits), self._codes(position), self._release.plain[item.name])
            for position, item in enumerate(binding.sensitive)
        )
        unit = "person" if binding.persons else "row"
        by = "the generalized quasi-identifier" + (", the codes of sensitive values" if sensitive else "")
        comment = f"The frequency set: every {unit} of the source, counted by {by}."
        table = self._make("count rows", comment, "counted", self._counted_rows(sensitive))
        keys = [(name, column(name)) for name in release_sql.key_names(self._columns)]
        counted = Counted(exp.select().from_(table_expression(table)), keys, binding.persons)
        tables = {position: self._values(counted, position, item) for position, item in enumerate(sensitive)}
        self.ingredients = Ingredients(counted, sensitive, tables, self._population(keys))

    def _simple_classes(self, satisfied: exp.Expression) -> None:
        """The classes where rows are all that is asked; of rows that are alike, where these can be counted first."""
        source = self._engine.traits.relation(self._release.binding.source, "source")
        shown = self._release.shown(self._engine, self._told_apart, narrow=self._narrow) if self._repeats else None
        if shown is None:
            query = release_sql.classes(source, self._columns, satisfied)
        else:
            rows = release_sql.alike_rows(source, self._columns, shown)
            comment = "Rows of the source that look the same when they are published, counted."
            self._alike = self._make("count rows", comment, "alike", rows, analyzed=True)
            query = release_sql.classes_of_alike(self._alike, self._columns, satisfied)
        self._make("measure classes", CLASSES, "classes", query, analyzed=shown is not None)

    def _codes(self, position: int) -> Table:
        binding, traits = self._release.binding, self._engine.traits
        item = binding.sensitive[position]
        source = traits.relation(binding.source, "source")
        query = codes_query(item, source, item.key("source", traits), traits)
        ordered = "in their declared order" if item.order else "in their order"
        comment = f"Values of {item.name}, numbered {ordered}; NULL is 0."
        table = self._make(f"values of {item.name}", comment, f"values_{self._release.plain[item.name]}", query)
        if item.order:
            wrong = f"a value of {item.name} is not in its declared order"
            found = sensitive_sql.uncoded(table)
            self.steps.append(StepCheck(f"order of {item.name}", f"Stop if {wrong}.", wrong, found))
        return table

    def _counted_rows(self, sensitive: Sequence[SensitiveColumn]) -> exp.Select:
        binding, traits = self._release.binding, self._engine.traits
        source = traits.relation(binding.source, "source")
        person = None if binding.respondent is None else binding.respondent.key("source", traits)
        rows = release_sql.counted_rows(source, self._columns, sensitive, person)
        if person is None:
            return rows
        keys = [*release_sql.key_names(self._columns), *(item.code for item in sensitive)]
        return sensitive_sql.respondents(rows, keys)

    def _values(self, counted: Counted, position: int, sensitive: SensitiveColumn) -> ValueTables:
        """The distribution of a column in the whole source, and its labels, where a model reads them."""
        item = self._release.binding.sensitive[position]
        read = {
            measure.view
            for grouping in self._release.requirement.groupings
            for measure in grouping.measures()
            if measure.column == position
        }
        if read <= WITHOUT_REFERENCE:
            return ValueTables(sensitive.codes, code=sensitive.code)
        query = sensitive_sql.reference(counted, position, sensitive.codes, len(item.flagged), sensitive.code)
        comment = f"How the whole source distributes {item.name}."
        values = self._make(f"distribution of {item.name}", comment, f"distribution_{sensitive.plain}", query)
        hierarchy = self._taxonomies.get(position)
        if hierarchy is None:
            return ValueTables(values, code=sensitive.code)
        query = sensitive_sql.labels(values, sensitive.codes, hierarchy.table.table, hierarchy.height)
        comment = f"The same by the labels of {item.name}."
        labels = self._make(f"labels of {item.name}", comment, f"labels_{sensitive.plain}", query)
        return ValueTables(values, labels, sensitive.code)

    def _population(self, keys: Sequence[tuple[str, exp.Expression]]) -> Population | None:
        population = self._release.binding.population
        if population is None:
            return None
        people = self._engine.traits.relation(population.relation, "source")
        rows = release_sql.population_rows(people, self._release.population_columns(self._engine))
        comment = "The population, counted by the same generalization."
        table = self._make("count population", comment, "everybody", rows)
        absent = any(grouping.asks_of_absent for grouping in self._release.requirement.groupings)
        return Population(exp.select().from_(table_expression(table)), keys, absent)

    # -- judging ---------------------------------------------------------------------------------------------------

    def judge(self) -> MeasuredClasses:
        """The classes with their verdicts, at once."""
        whole = self._release.requirement.whole
        if whole is None:
            raise UsageError(
                "several quasi-identifiers, or other sensitive values that are known, need rounds of suppression: "
                "publish to a table with `sqlanon run` or `apply`"
            )
        made = self.ingredients
        if made is None:
            return MeasuredClasses(self._place("classes"), {}, None, self._alike)
        found = classes(made.counted, whole.measures(), made.tables, made.population)
        query = release_sql.judged(found, whole.satisfied(), self._columns)
        return MeasuredClasses(self._make("measure classes", CLASSES, "classes", query), {}, made)

    @property
    def counts(self) -> list[str]:
        """The columns that rounds of suppression carry on."""
        made = self._made
        persons = ["respondent", "lone_respondents"] if made.counted.persons else []
        return [*made.counted.names, *(item.code for item in made.sensitive), "n", *persons]

    @property
    def _made(self) -> Ingredients:
        if self.ingredients is None:
            raise ValueError("nothing has been counted")
        return self.ingredients

    def before_rounds(self, name: str) -> Table:
        """Where rounds of suppression begin: every row is kept."""
        start = self._made.counted.rows.select(*(column(item) for item in self.counts), named(exp.true(), "kept"))
        return self._make("counted rows", "Before the first round of suppression every row is kept.", name, start)

    def round(self, table: Table, number: int, rounds: int) -> Table:
        """One round: a row that one grouping suppresses is missing in the classes of the others."""
        query = survivors(table, self.counts, self.groupings(), self._made.counted.persons, self._made.tables)
        comment = f"Round {number} of {rounds}: rows stay whose classes satisfy in every grouping."
        return self._make("suppression round", comment, f"round_{number}", query)

    def groupings(self) -> list[Judged]:
        """The groupings as rounds ask them."""
        return [self._grouping(item) for item in self._release.requirement.groupings]

    def _grouping(self, grouping: Grouping) -> Judged:
        made = self._made
        chosen = range(len(self._columns)) if grouping.columns is None else grouping.columns
        wanted = {self._columns[position].key_name for position in chosen}
        keys = [(name, key) for name, key in made.counted.keys if name in wanted]
        everybody = None
        if grouping.reads_population and made.population is not None:
            everybody = replace(made.population, keys=list(keys), everywhere=False)
        codes = [made.sensitive[position].code for position in grouping.known]
        return Judged(
            [*keys, *((code, column(code)) for code in codes)], grouping.measures(), grouping.satisfied(), everybody
        )

    def after_rounds(self, settled: Table, comment: str) -> MeasuredClasses:
        """The combinations that rounds have kept, and those that they have not."""
        made = self._made
        known = {position: made.sensitive[position] for position in self._release.known}
        codes = [item.code for item in known.values()]
        keys = [column(name) for name in (*made.counted.names, *codes)]
        rows = exp.select(*keys, named(exp.Sum(this=column("n")), "n"), column("kept"))
        rows = rows.from_(table_expression(settled)).group_by(*(key.copy() for key in keys), column("kept"))
        query = release_sql.judged(rows, column("kept"), self._columns, codes)
        return MeasuredClasses(self._make("measure classes", comment, "classes", query), known, made)

    def cover(self, measured: MeasuredClasses) -> None:
        """Stop at a value that its hierarchy does not cover."""
        check = coverage(self._engine, self._release, measured.table)
        self.steps += [] if check is None else [check]


def coverage(engine: Engine, release: Release, classes_table: Table) -> StepCheck | None:
    """The check that every row of a class has labels; None where no column has a hierarchy."""
    uncovered = release_sql.outside(classes_table, release.columns(engine))
    wrong = "a value lies outside its hierarchy"
    return None if uncovered is None else StepCheck("cover values", f"Stop if {wrong}.", wrong, uncovered)


# -- staging and showing -------------------------------------------------------------------------------------------


def audited_rows(binding: Binding, place: Naming, query: exp.Query) -> Step:
    """A scratch table of what the audit has to see: the release, with the key of the person where persons count."""
    person = f", with {', '.join(binding.witnesses)} for the audit" if binding.witnesses else ""
    title = "stage with respondents" if binding.witnessed else "stage release"
    return Step(title, f"The release{person}, in no order that tells of the source.", "staged", place("staged"), query)


def stage_table(staging: Table, query: exp.Query, traits: Traits) -> PublishStep:
    """The release in a table beside the target that can take its name."""
    create = create_table_as(staging, query, traits, scratch=False)
    return PublishStep("stage release", "The release, in no order that tells of the source.", create)


def stage_audited(binding: Binding, audited: Table, staging: Table, traits: Traits) -> PublishStep:
    """The same from rows that were audited, without what only the audit may see."""
    comment = "The audited rows without the key of the person, in an order of their own."
    return replace(stage_table(staging, released_columns(binding, audited), traits), comment=comment)


def released_columns(binding: Binding, audited: Table) -> exp.Select:
    """What is released of audited rows, in an order of its own."""
    items = [column(name) for name in binding.released]
    return exp.select(*items).from_(table_expression(audited)).order_by(exp.Rand())


def staged_rows(staging: Table) -> exp.Select:
    """How many rows were staged."""
    return row_count(table_expression(staging))


def stage_view(staging: Table, query: exp.Query, traits: Traits) -> PublishStep:
    """A view beside the target, to be audited."""
    create = create_view(staging, query.copy(), traits, replace=False)
    return PublishStep("stage view", "The release, computed whenever it is read.", create)


def show_view(staging: Table, target: Table, query: exp.Query, traits: Traits) -> list[PublishStep]:
    """The audited view under the name of the target."""
    create = create_view(target, query.copy(), traits, replace=True)
    return [
        PublishStep("drop staging view", "The staging view is no longer needed.", drop_view(staging)),
        PublishStep("publish view", "The view itself.", create),
    ]
