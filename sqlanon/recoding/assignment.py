"""An assignment of combinations to classes, as recoders make it: what it costs, and the rows that it publishes.

An assignment has a row for each part of a combination: `o_0`..., where parts are told apart also `s_0`..., `first_row`
and `last_row`; its rows `n` and its `class`, NULL where it is suppressed. `labels` has `class`, `label_i`, `leaves_i`
(leaves that the label covers) and `rows_i` (rows of the source whose value it covers).

The release of an assignment is what publish, rehearsal and report ask: the source is compared with what was assigned
before anything is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import expm1, log1p
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlanon.auditor.breaches import GuardingTaxonomy, Linked, in_one_table
from sqlanon.auditor.request import Opened
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError, RequirementError
from sqlanon.hierarchies.base import TOP
from sqlanon.recoding.averages import averaged
from sqlanon.source import combination_statements as combinations_sql
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source.combinations import Combinations, has_null, source_rows
from sqlanon.source.hierarchy_statements import taxonomy_paths
from sqlanon.sql.build import all_of, count, equal, is_null, is_present, named, scalar, subquery, total, total_where
from sqlanon.sql.relations import Query, Relation, Table, cast, column, literal, table_expression

if TYPE_CHECKING:
    from sqlanon.hierarchies.lattice import Node
    from sqlanon.privacy.base import Requirement
    from sqlanon.source.binding import Binding
    from sqlanon.source.hierarchies import StoredHierarchy
    from sqlanon.source.scratch import Scratch


@dataclass(frozen=True)
class Judgement:
    """What a release comes to in this very snapshot of the source."""

    rows: int
    suppressed: int
    blank: bool
    """Suppressed rows stay, without their quasi-identifier."""
    query: exp.Select
    """The rows to publish; and for the audit the respondent and what else it has to see, which is never published."""
    taxonomies: Mapping[str, Relation] = field(default_factory=dict)
    """The labels of sensitive columns that have a hierarchy of their own."""
    scratch: tuple[Table, ...] = ()
    """Everything to drop when the release stands."""

    @property
    def blanked(self) -> int:
        return self.suppressed if self.blank else 0

    @property
    def released(self) -> int:
        return self.rows - self.suppressed + self.blanked


def refuse_beyond_limit(binding: Binding, rows: int, suppressed: int, *, kept: bool) -> None:
    """InfeasibleError when more rows would be suppressed than the spec allows, or all of them."""
    limit = binding.limit_rows(rows)
    if suppressed > limit:
        raise InfeasibleError(
            f"this generalization would suppress {suppressed} of {rows} rows, the limit is {limit}: plan again"
        )
    if not kept:
        raise InfeasibleError("no class satisfies the requirement: nothing to release")


@dataclass(frozen=True)
class AssignedRelease:
    """Everything that decides what a class-wise release publishes."""

    binding: Binding
    assignment: Assignment
    requirement: Requirement

    @property
    def node(self) -> Node | None:
        """No column has one level for all its values."""
        return None

    def judge(self, engine: Engine, scratch: Scratch, *, shuffle: bool = True) -> Judgement:
        """Refuses a source that is not the one whose combinations were assigned."""
        made = self.assignment.combinations
        if made.checksum(engine) != made.checksum_of_source(engine, self.binding):
            raise InfeasibleError("the source changed while the release was made: plan again")
        rows, suppressed, classes = self.assignment.totals(engine)
        [(faulty,)] = engine.query(Statement("check labels", unlabelled(self.assignment.tables)))
        if rows != made.rows or faulty:
            raise RequirementError("the release was not published: its assignment of rows to classes is not sound")
        refuse_beyond_limit(self.binding, rows, suppressed, kept=bool(classes))
        blank = self.binding.blank and self.binding.simple and suppressed >= self.binding.k
        return Judgement(rows, suppressed, blank, self._rows(engine, blank=blank), self._taxonomies())

    def rows_when_read(self, engine: Engine, *, with_respondent: bool = False) -> exp.Select | None:
        """No view: classes are decided from the rows as they are now."""
        return None

    def population(self, engine: Engine) -> exp.Select | None:
        """Recoders without levels compare with no population."""
        return None

    def linked(self, engine: Engine, audited: Relation) -> Linked | None:
        """The staged rows, each with what it was, for the audit of breach probabilities."""
        binding = self.binding
        asked = binding.personalized
        if asked is None:
            return None
        made = self.assignment.combinations
        hierarchy = made.sensitive[asked.column].hierarchy
        if hierarchy is None:
            return None
        opened = Opened.at(engine, audited, "audited")
        names = (asked.asked.column, binding.true_value, asked.asked.guarding)
        shown = [opened.key(name, as_text=True) for name in names]
        published, targets, people = in_one_table(
            opened.expression(),
            [opened.key(name) for name in binding.names],
            shown[0],
            shown[1],
            shown[2],
            None if binding.respondent is None else opened.key(binding.respondent.name),
        )
        absent = has_null(engine, "taxonomy", made.codes[asked.column])
        paths = taxonomy_paths(hierarchy.table.table, hierarchy.height)
        return Linked(published, targets, people, GuardingTaxonomy(paths, hierarchy.height, absent))

    @property
    def hierarchies(self) -> tuple[StoredHierarchy, ...]:
        """The hierarchies of the quasi-identifiers."""
        return tuple(domain.hierarchy for domain in self.assignment.combinations.domains)

    def _taxonomies(self) -> dict[str, Query]:
        """The labels of sensitive columns that have a hierarchy of their own."""
        return {
            item.item.name: Query(hierarchy_sql.taxonomy(item.hierarchy.table.table, item.height))
            for item in self.assignment.combinations.sensitive
            if item.hierarchy is not None
        }

    def _rows(self, engine: Engine, *, blank: bool) -> exp.Select:
        """The rows to publish; and for the audit the respondent, guarding nodes and true values."""
        binding = self.binding
        more = list(binding.witnesses)
        asked = binding.personalized
        if asked is not None:
            more.append(asked.asked.guarding)
        generalized = {binding.sensitive[position].name: position for position in self.assignment.sensitive_labels}
        positions = {name: position for position, name in enumerate(binding.names)}
        released = [
            ReleasedColumn(name, positions.get(name), generalized.get(name)) for name in (*binding.released, *more)
        ]
        if asked is not None:
            released.append(ReleasedColumn(binding.true_value, source=asked.asked.column))
        rows, keys = source_rows(engine, binding, self.assignment.combinations)
        found = release(rows, keys, released, self.assignment.tables, blank=blank)
        return averaged(found, binding, [item.name for item in released])


Keys = Sequence[tuple[str, exp.Expression]]


@dataclass(frozen=True)
class AssignmentTables:
    """Where an assignment lies."""

    table: Table
    labels: Table
    width: int
    """How many quasi-identifiers there are."""
    whole: bool
    """Each combination of quasi-identifier values lies in one class whole: no `s_0`, `first_row`, `last_row`."""
    sensitive_labels: Mapping[int, Table]
    """For sensitive columns that are generalized by class: tables of `class`, `s` and `label`."""

    def keys(self, coded: int) -> list[str]:
        """The columns that name a part of the source's rows."""
        return [
            *(f"o_{position}" for position in range(self.width)),
            *(() if self.whole else (f"s_{position}" for position in range(coded))),
        ]


def totals(tables: AssignmentTables) -> exp.Select:
    """One row: rows, suppressed rows, classes."""
    return exp.select(
        total(column("n")),
        total_where(is_null(column("class")), column("n")),
        exp.Count(this=exp.Distinct(expressions=[column("class")])),
    ).from_(table_expression(tables.table))


def released_ordinals(tables: AssignmentTables, position: int) -> exp.Select:
    """The ordinals of a column that some row has which is not suppressed."""
    select = exp.select(column(f"o_{position}")).distinct().from_(table_expression(tables.table))
    return select.where(is_present(column("class")))


def class_squares(tables: AssignmentTables) -> exp.Select:
    """The sum of n * n over classes."""
    sizes = exp.select(named(cast(exp.Sum(this=column("n")), "double"), "n")).from_(table_expression(tables.table))
    sizes = sizes.where(is_present(column("class"))).group_by(column("class"))
    squared = exp.Mul(this=column("n"), expression=column("n"))
    return exp.select(total(squared)).from_(subquery(sizes, "sizes"))


def column_figures(tables: AssignmentTables, position: int, domain: Table) -> exp.Select:
    """One row for a column over kept rows: the sum of leaves, and of Li and Li's penalties, suppressed rows as all."""
    label = f"rows_{position}"
    own = cast(column("n", "d"), "double")
    everything = scalar(exp.select(cast(exp.Sum(this=column("n")), "double")).from_(table_expression(domain)))
    covered = exp.Coalesce(this=cast(column(label, "l"), "double"), expressions=[column("everything", "everybody")])
    gained = exp.Paren(this=exp.Sub(this=covered, expression=own))
    most = exp.Nullif(
        this=exp.Paren(this=exp.Sub(this=column("everything", "everybody"), expression=own.copy())),
        expression=literal(0),
    )
    rows = cast(column("n", "a"), "double")
    leaves = cast(column(f"leaves_{position}", "l"), "double")
    select = exp.select(
        total(exp.Mul(this=rows, expression=leaves)),
        total(exp.Mul(this=rows.copy(), expression=exp.Div(this=gained, expression=most))),
    ).from_(table_expression(tables.table, "a"))
    select = select.join(
        table_expression(domain, "d"), on=equal(column(f"o_{position}", "a"), column("o", "d")), copy=False
    )
    select = select.join(
        table_expression(tables.labels, "l"),
        on=equal(column("class", "a"), column("class", "l")),
        join_type="left",
        copy=False,
    )
    whole = exp.select(named(everything, "everything"))
    return select.join(subquery(whole, "everybody"), join_type="cross", copy=False)


@dataclass(frozen=True)
class ReleasedColumn:
    """A column of the release, and where its content comes from."""

    name: str
    quasi_identifier: int | None = None
    sensitive: int | None = None
    """The position of a sensitive column that is generalized by class."""
    source: str | None = None
    """The column of the source, where it is called otherwise."""


def release(
    rows: exp.Select, keys: Keys, released: Sequence[ReleasedColumn], tables: AssignmentTables, *, blank: bool
) -> exp.Select:
    """The rows to publish, in no order that tells of the source; `rows` is a select without items from `source`.

    Of a combination that is divided, chance decides which of its rows go to which class: they are alike in all that
    the requirement reads.
    """
    wanted = {name: key for name, key in keys if name in tables.keys(len(keys) - tables.width)}
    needed = set(tables.sensitive_labels)
    wanted |= {name: key for name, key in keys if name in {f"s_{position}" for position in needed}}
    items = [named(key, name) for name, key in wanted.items()]
    items += [
        named(column(item.source or item.name, "source"), f"c_{position}")
        for position, item in enumerate(released)
        if item.quasi_identifier is None
    ]
    inner = subquery(rows.select(*items, copy=False), "r")
    if not tables.whole:
        inner = subquery(_in_chance_order(rows, tables.keys(len(keys) - tables.width)), "r")
    matched = [
        equal(column(name, "r"), column(name, "a")) for name in wanted if name in tables.keys(len(keys) - tables.width)
    ]
    if not tables.whole:
        matched += [
            exp.GTE(this=column("row_number", "r"), expression=column("first_row", "a")),
            exp.LTE(this=column("row_number", "r"), expression=column("last_row", "a")),
        ]
    select = exp.select(*(_item(position, item, blank=blank) for position, item in enumerate(released))).from_(inner)
    select = select.join(table_expression(tables.table, "a"), on=all_of(matched), copy=False)
    select = select.join(
        table_expression(tables.labels, "l"),
        on=equal(column("class", "a"), column("class", "l")),
        join_type="left" if blank else "",
        copy=False,
    )
    for position, table in tables.sensitive_labels.items():
        alias = f"x_{position}"
        on = [equal(column("class", "a"), column("class", alias))]
        on.append(equal(column(f"s_{position}", "r"), column("s", alias)))
        select = select.join(
            table_expression(table, alias), on=all_of(on), join_type="left" if blank else "", copy=False
        )
    return select.order_by(exp.Rand(), copy=False)


def _in_chance_order(rows: exp.Select, keys: Sequence[str]) -> exp.Select:
    """The rows with `row_number`: their place among those of the same combination. Windows take no volatile order."""
    drawn = exp.select(exp.Star(), named(exp.Rand(), "chance")).from_(subquery(rows, "drawn"))
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column(name) for name in keys],
        order=exp.Order(expressions=[exp.Ordered(this=column("chance"))]),
    )
    return exp.select(exp.Star(), named(number, "row_number")).from_(subquery(drawn, "numbered"))


def _item(position: int, item: ReleasedColumn, *, blank: bool) -> exp.Expression:
    if item.quasi_identifier is not None:
        value: exp.Expression = column(f"label_{item.quasi_identifier}", "l")
    elif item.sensitive is not None:
        value = column("label", f"x_{item.sensitive}")
    else:
        return named(column(f"c_{position}", "r"), item.name)
    if blank:
        value = exp.Case().when(is_present(column("class", "a")), value).else_(cast(literal(TOP), "text"))
    return named(value, item.name)


def unlabelled(tables: AssignmentTables) -> exp.Select:
    """How many parts belong to a class that has no labels, or labels twice: 0 in a sound assignment."""
    once = exp.select(column("class"), named(count(), "times")).from_(table_expression(tables.labels))
    once = once.group_by(column("class"))
    select = exp.select(
        total_where(
            exp.NEQ(this=exp.Coalesce(this=column("times", "l"), expressions=[literal(0)]), expression=literal(1)),
            literal(1),
        )
    ).from_(table_expression(tables.table, "a"))
    select = select.join(subquery(once, "l"), on=equal(column("class", "a"), column("class", "l")), join_type="left")
    return select.where(is_present(column("class", "a")))


@dataclass(frozen=True)
class Assignment:
    """Which rows of which combination lie in which class, and the labels of each class, as scratch tables."""

    combinations: Combinations
    table: Table
    labels: Table
    whole: bool
    sensitive_labels: Mapping[int, Table] = field(default_factory=dict)
    """For sensitive columns, by position, that are generalized by class."""

    @property
    def tables(self) -> AssignmentTables:
        width = len(self.combinations.domains)
        return AssignmentTables(self.table, self.labels, width, self.whole, self.sensitive_labels)

    def checksum(self, engine: Engine) -> tuple[int, ...]:
        """Rows and checksums of the assignment and of what its labels cover."""
        width, coded = len(self.combinations.domains), len(self.combinations.codes)
        parts = [*self.tables.keys(coded), *([] if self.whole else ["first_row", "last_row"]), "n", "class"]
        covered = [f"{part}_{position}" for position in range(width) for part in ("leaves", "rows")]
        found: list[int] = []
        for table, columns in ((self.table, parts), (self.labels, ["class", *covered])):
            [sums] = engine.query(Statement("check assignment", combinations_sql.table_checksum(table, columns)))
            found += [int(number) for number in sums]
        return tuple(found)

    def totals(self, engine: Engine) -> tuple[int, int, int]:
        """Rows, suppressed rows, classes."""
        [(rows, suppressed, classes)] = engine.query(Statement("total assignment", totals(self.tables)))
        return int(rows), int(suppressed), int(classes)


def figures_of(engine: Engine, assignment: Assignment, weights: Mapping[int, float] | None = None) -> dict[str, float]:
    """What an assignment costs: `loss`, `dm`, `hdm`, `aecs` as for full-domain releases, over the same domains."""
    rows, suppressed, classes = assignment.totals(engine)
    domains = assignment.combinations.domains
    given = [1.0 if weights is None else weights[position] for position in range(len(domains))]
    [(squares,)] = engine.query(Statement("discernibility", class_squares(assignment.tables)))
    exponent, hdm = 0.0, 0.0
    for position, domain in enumerate(domains):
        query = column_figures(assignment.tables, position, domain.table)
        [(leaves, penalty)] = engine.query(Statement("information loss", query))
        share = given[position] / sum(given)
        least = rows / domain.leaves
        lost = 0.0
        if domain.leaves > 1:
            lost = max(0.0, (float(leaves) / domain.leaves + suppressed - least) / (rows - least))
        exponent += share * log1p(lost)
        hdm += share * float(penalty)
    return {
        "loss": expm1(exponent),
        "dm": float(squares) + float(rows * suppressed),
        "hdm": hdm,
        "aecs": rows / (classes + (1 if suppressed else 0)),
    }
