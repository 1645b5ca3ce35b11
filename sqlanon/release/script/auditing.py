"""The audit of a staged table as assertions: every model is measured again, by the audit's own statements.

Shares no predicate and no count with what made the table; reads its published values, the source and the population.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor.models import ask
from sqlanon.auditor.opened import Opened, text_key
from sqlanon.auditor.request import Request
from sqlanon.auditor.statements.columns import ColumnStatement, Domain
from sqlanon.auditor.statements.population import matched_classes, population_figures, population_query
from sqlanon.auditor.statements.values import Side, Taxonomy, Values
from sqlanon.engines.base import ColumnInfo, Engine
from sqlanon.hierarchies.base import Family
from sqlanon.release.classes import Release, population_labels
from sqlanon.release.script.assertions import named_domain, named_figures, named_sizes, named_tests, nothing_fails
from sqlanon.release.script.pages import Pages
from sqlanon.spec.models import Alpha, SensitiveModel, TCloseness
from sqlanon.sql.build import equal, row_count, scalar
from sqlanon.sql.relations import Query, Table, column, table_expression
from sqlanon.sql.traits import Traits

UNKNOWN = Domain(rows=2**40, reference_rows=2**40, values=2**40, has_null=True)
"""Nobody knows how much data a script will read: products are wide, values may be many."""

Taxonomies = Mapping[str, Query]
"""The labels of sensitive columns that have a hierarchy of their own."""

FAILS = "the release fails its audit"


@dataclass(frozen=True)
class Group:
    """A quasi-identifier, with what its scratch tables are called after."""

    number: int
    name: str
    columns: tuple[str, ...]
    k: int

    @property
    def words(self) -> str:
        return f" of {self.name}" if self.name else ""


class Auditor:
    """Writes the audit of one staged table."""

    def __init__(self, pages: Pages, engine: Engine, release: Release, staged: Table, taxonomies: Taxonomies) -> None:
        binding = release.binding
        spec = binding.spec
        self._pages = pages
        self._traits: Traits = engine.traits
        self._taxonomies = taxonomies
        others = spec.sensitive if spec.privacy.other_sensitive == "known" else ()
        self._request = Request(binding.names, spec.privacy, spec.respondent, others)
        infos = {info.name: info for info in binding.columns}
        self._source = Opened(binding.source, "source", infos, self._traits)
        self._audited = Opened(staged, "audited", infos | dict(_generalized(release)), self._traits)
        everybody = population_labels(engine, release)
        self._population = (
            None
            if everybody is None
            else Opened(Query(everybody), "population", dict(_generalized(release)), self._traits)
        )

    def write(self) -> None:
        """Write a measurement and an assertion for each requirement of each quasi-identifier."""
        privacy = self._request.privacy
        groups = privacy.groups(self._request.quasi_identifier).items()
        for number, (name, (columns, k)) in enumerate(groups):
            group = Group(number, name, columns, k or 1)
            self._sizes(group)
            for name_of_column in self._request.columns:
                models = [entry for entry in privacy.models() if entry.column == name_of_column]
                if models:
                    self._column(group, name_of_column, models)
            if self._population is not None:
                self._against(group, self._population)

    def expect_rows(self, expected: exp.Expression, classes: Table) -> None:
        """Stop unless the table has the rows of the released classes."""
        released = exp.select(expected).from_(table_expression(classes))
        found = scalar(row_count(self._audited.expression()))
        holds = exp.select(equal(found, scalar(released)))
        self._pages.stop_unless(
            "Audit: stop unless the table has exactly the rows of the classes that are released.",
            holds,
            f"{FAILS}: it has other rows than expected",
        )

    def _sizes(self, group: Group) -> None:
        query = named_sizes(self._audited.expression(), self._keys(group.columns), self._person(), group.k)
        unit = "rows" if self._person() is None else "persons"
        comment = f"Audit: the classes{group.words} in the staged table."
        table = self._pages.create(comment, f"audit_{group.number}", query)
        self._pages.stop_unless(
            f"Audit: stop unless there are classes{group.words} and every one has at least {group.k} {unit}.",
            nothing_fails(table, ["classes_failing_k"], ["rows"]),
            f"{FAILS}: k{group.words}",
        )

    def _column(self, group: Group, name: str, models: Sequence[SensitiveModel]) -> None:
        place = f"audit_{group.number}_{self._request.columns.index(name)}"
        values = self._values(name, models)
        self._comparable(group, name, values, place)
        keys = self._keys([*group.columns, *self._request.others(name)])
        statement = ColumnStatement(values, keys, UNKNOWN)
        asked = [
            ask(entry, f"{position}", flag, statement, {}) for position, (entry, flag) in enumerate(_numbered(models))
        ]
        comment = f"Audit: {name} in the classes{group.words} of the staged table, and how many of them fail."
        table = self._pages.create(comment, place, named_tests(statement))
        for item in asked:
            question = item.question
            self._pages.stop_unless(
                f"Audit: stop unless {question.model} of {name} holds{group.words}: {question.asked}.",
                nothing_fails(table, [f"classes_failing_{item.name}", "uncounted"], ["classes"]),
                f"{FAILS}: {question.model} {name}{group.words}",
            )

    def _comparable(self, group: Group, name: str, values: Values, place: str) -> None:
        """Once for each column: every value has its place in the order and in the hierarchy that models go by."""
        if group.number or not (values.order or values.taxonomy):
            return
        table = self._pages.create(f"Audit: the values of {name}.", f"{place}_values", named_domain(values))
        self._pages.stop_unless(
            f"Audit: stop unless every value of {name} has a place in its order and in its hierarchy.",
            nothing_fails(table, ["outside_order", "outside_hierarchy"], ["reference_rows"]),
            f"{FAILS}: a value of {name} has no place in its order or hierarchy",
        )

    def _values(self, name: str, models: Sequence[SensitiveModel]) -> Values:
        ordered = [entry for entry in models if isinstance(entry, TCloseness) and entry.distance == "ordered"]
        source = self._source
        person = self._request.respondent
        return Values(
            audited=Side(self._audited.expression(), self._audited.key(name), self._person()),
            source=Side(source.expression(), source.key(name), None if person is None else source.key(person)),
            text=text_key(column("value"), source.family(name), self._traits),
            flagged=tuple(entry.value for entry in models if isinstance(entry, Alpha)),
            ordered=bool(ordered),
            order=ordered[0].order if ordered else (),
            taxonomy=self._taxonomy(name),
        )

    def _taxonomy(self, name: str) -> Taxonomy | None:
        relation = self._taxonomies.get(name)
        if relation is None:
            return None
        info = ColumnInfo("value", self._source.columns[name].type, self._source.family(name))
        opened = Opened(relation, "taxonomy", {"value": info}, self._traits)
        # The columns of a taxonomy are its value and one label for each level.
        height = len(relation.select.selects) - 1
        return Taxonomy(opened.expression(), opened.key("value"), height)

    def _against(self, group: Group, population: Opened) -> None:
        privacy = self._request.privacy
        matched = matched_classes(
            self._audited.expression(),
            self._keys(group.columns),
            self._person(),
            population.expression(),
            [population.key(name) for name in group.columns],
        )
        bounds = privacy.delta_presence
        figures = population_figures(privacy.k_map, None if bounds is None else (bounds.min, bounds.max))
        failing = [name for name in figures if name.startswith("classes_failing_")]
        wanted = ["population_rows", "classes", *failing]
        query = named_figures(population_query(matched, figures), figures, wanted)
        comment = f"Audit: the classes{group.words} of the staged table, matched with the population."
        table = self._pages.create(comment, f"audit_{group.number}_population", query)
        for name in failing:
            model = name.removeprefix("classes_failing_")
            self._pages.stop_unless(
                f"Audit: stop unless {model}{group.words} holds.",
                nothing_fails(table, [name], ["population_rows"]),
                f"{FAILS}: {model}{group.words}",
            )

    def _keys(self, names: Sequence[str]) -> list[exp.Expression]:
        return [self._audited.key(name) for name in names]

    def _person(self) -> exp.Expression | None:
        name = self._request.respondent
        return None if name is None else self._audited.key(name)


def _generalized(release: Release) -> Iterator[tuple[str, ColumnInfo]]:
    """The quasi-identifiers as they are released: labels above level 0."""
    infos = {info.name: info for info in release.binding.columns}
    items = zip(release.binding.quasi_identifiers, release.hierarchies, release.recoding.node, strict=True)
    for item, hierarchy, level in items:
        info = infos[item.name]
        labels = Family.TEXT if level == hierarchy.height else hierarchy.families[level]
        yield item.name, ColumnInfo(item.name, info.type, info.family if level == 0 else labels)


def _numbered(models: Sequence[SensitiveModel]) -> Iterator[tuple[SensitiveModel, int]]:
    """Each entry with its number among those that name a value."""
    flags = 0
    for entry in models:
        yield entry, flags
        flags += isinstance(entry, Alpha)
