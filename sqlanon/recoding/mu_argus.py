"""`mu_argus` (Hundepool and Willenborg 1996; Samarati 2001, section 7 and figure 12): at most three columns together.

Single columns, pairs and triples of values that stand in fewer rows than the binsize are generalized away, or lose a
cell. Nothing is asked of more than three columns: the release need not satisfy the requirement, and only its audit says
whether it does. In the statements, `rows` are combinations with `k_i`, the code of the label in column i, BLANK where
the cell was blanked. Reads and writes scratch tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations as subsets

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.errors import InfeasibleError
from sqlanon.evaluation.problem import lattice_of, preferences_of
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.hierarchies.lattice import Node
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.base import Recoded, recoded_by, requirement_for
from sqlanon.recoding.local import (
    BLANK,
    LevelOf,
    labels_of,
    merged_labels,
    placed,
    released_labels,
    released_parts,
    rows_by_labels,
)
from sqlanon.recoding.mondrian.cuts import CutQuestion
from sqlanon.search.base import Budget, BudgetSpent, Meter, Step
from sqlanon.source.combinations import Combinations, combine
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.sql.build import all_of, any_of, equal, is_present, named, subquery, total_where, union_all
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import whole

LARGEST = 3
"""Columns in the largest combinations that are tested."""
BATCH = 16
"""Combinations that one statement tests."""

Columns = tuple[int, ...]


def crossed_columns(tags: Sequence[int | None]) -> list[Columns]:
    """The single columns, pairs and triples that are tested, by size and then in the order of the columns.

    With tags, identifying (1) columns are crossed with more (2) and most (3) identifying ones: a combination has one
    column of each. Without tags every pair and triple is tested.

    >>> crossed_columns([3, 1, 2, 2])
    [(0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (0, 1, 2), (0, 1, 3)]
    >>> crossed_columns([0, 1, 1])
    [(1,), (2,)]
    >>> len(crossed_columns([None] * 4))
    14
    """
    return [
        columns
        for size in range(1, LARGEST + 1)
        for columns in subsets(range(len(tags)), size)
        if _is_tested([tags[position] for position in columns])
    ]


def _is_tested(tags: Sequence[int | None]) -> bool:
    return None in tags or (0 not in tags and len(set(tags)) == len(tags))


def recode(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Generalize columns until few rows are left whose combinations are rare, and blank cells of those."""
    requirement_for(run)
    made = combine(run.engine, run.binding, base, stored, run.scratch)
    return Walk(run, made, stored).recoded()


@dataclass(frozen=True)
class Blanked:
    """The rows of a node after cells were blanked."""

    rows: Table
    number: int
    """Rows that lost a cell."""
    cells: int


class Walk:
    """The way up from the lowest levels, one column at a time."""

    def __init__(self, run: Run, made: Combinations, stored: Sequence[StoredHierarchy]) -> None:
        self.run = run
        self.made = made
        self.lattice = lattice_of(run.binding, stored)
        self.preferences = preferences_of(run.binding)
        spec = run.binding.spec
        self.tested = crossed_columns([spec.columns[name].tag for name in run.binding.names])
        self.limit = run.binding.limit_rows(made.rows)
        grouping = requirement_of(run.binding, spec.search.mu_argus.binsize, rows=made.rows).groupings[0]
        self.asked = CutQuestion(grouping.measures(), grouping.satisfied(), made.value_tables, made.persons)
        self.checks = 0
        self._least = made.rows
        self._values: dict[tuple[int, int], int] = {}
        budget = spec.search.budget
        self._meter = Meter(Budget(budget.nodes, budget.most_seconds), self)

    def recoded(self) -> Recoded:
        """The release of the first node where no more rows lose cells than the limit allows."""
        steps: list[Step] = []
        node: Node | None = self.lattice.bottom
        try:
            while node is not None:
                rows = self._keyed(node)
                failing = self._failing(rows, self.limit)
                steps.append({"levels": self._by_name(node), **self._worst(failing)})
                blanked = self._blanked(rows, node) if self._fits(failing) else None
                if blanked is not None and blanked.number <= self.limit and self.preferences.allows(node, self.lattice):
                    self.checks += 1
                    return self._released(node, blanked, steps)
                self.run.scratch.drop(rows if blanked is None else blanked.rows)
                node = self._raised(node, failing)
                self.checks += 1
        except BudgetSpent:
            raise self._infeasible("the budget was spent before an acceptable generalization was found") from None
        raise self._infeasible("mu_argus ended without an acceptable generalization")

    # -- testing -----------------------------------------------------------------------------------------------

    def _keyed(self, node: Node) -> Table:
        query = rows_by_labels(self.made.table, self._levels(node), self._carried)
        return self.run.scratch.create("labels of rows", f"keyed{self.checks}", query)

    def _failing(self, rows: Table, most: int) -> dict[Columns, int]:
        """The combinations of columns with values that fail, each with the rows that show them, by size.

        Larger combinations are not looked at where smaller ones fail for more than `most` rows.
        """
        found: dict[Columns, int] = {}
        for size in range(1, LARGEST + 1):
            tested = [columns for columns in self.tested if len(columns) == size]
            for start in range(0, len(tested), BATCH):
                self._meter.room()
                batch = tested[start : start + BATCH]
                query = union_all([failing_rows(rows, keys_of(item), self.asked, n) for n, item in enumerate(batch)])
                counted: dict[int, int] = dict(self.run.engine.query(Statement("test combinations", query)))
                found |= {item: int(counted[n]) for n, item in enumerate(batch) if counted[n]}
            if max(found.values(), default=0) > most:
                break
        return found

    def _fits(self, failing: dict[Columns, int]) -> bool:
        """Whether the limit may suffice: every row that fails loses a cell."""
        worst = max(failing.values(), default=0)
        self._least = min(self._least, worst) if worst > self.limit else self._least
        return worst <= self.limit

    def _blanked(self, rows: Table, node: Node) -> Blanked:
        """Blank cells until no tested combination fails that a row still shows.

        The smallest combinations come first, in the order of the columns; each takes the cell of its column with the
        most values. A blanked cell can make another combination rare, so that all are tested again.
        """
        keys = keys_of(range(len(node)))
        rounds = 0
        while failing := self._failing(rows, 0):
            for columns in failing:
                rounds += 1
                [lost] = keys_of([self._widest(node, columns)])
                query = with_blanks(rows, keys_of(columns), lost, [*self._carried, *keys], self.asked)
                after = self.run.scratch.create("blank cells", f"blanked{self.checks}_{rounds}", query)
                self.run.scratch.drop(rows)
                rows = after
        [(number, cells)] = self.run.engine.query(Statement("count cells", blank_cells(rows, keys)))
        self._least = min(self._least, int(number))
        return Blanked(rows, int(number), int(cells))

    @property
    def _carried(self) -> list[str]:
        counts = ["n", *(["respondent", "lone_respondents"] if self.made.persons else [])]
        return [*self.made.ordinals, *self.made.coded, *counts]

    # -- generalizing ------------------------------------------------------------------------------------------

    def _raised(self, node: Node, failing: dict[Columns, int]) -> Node | None:
        """One step up in the column with the most values of the combination that fails for most rows.

        The smallest combinations come first; steps that keep to the constraints on vectors do too. Where nothing fails
        and only the constraints forbid the node, any column may rise.
        """
        for columns in (*_worst_first(failing), tuple(range(len(node)))):
            steps = [
                (self.preferences.allows(raised, self.lattice), self._number(place, node[place]), -place, raised)
                for place in columns
                if node[place] < self.lattice.top[place]
                for raised in [(*node[:place], node[place] + 1, *node[place + 1 :])]
            ]
            if steps:
                return max(steps)[-1]
        return None

    def _widest(self, node: Node, columns: Columns) -> int:
        """The column with the most values; of those that tie, the first."""
        return max(columns, key=lambda place: (self._number(place, node[place]), -place))

    def _number(self, position: int, level: int) -> int:
        """How many values a column has at a level."""
        if (position, level) not in self._values:
            distinct = exp.Count(this=exp.Distinct(expressions=[column(f"code_{level}")]))
            query = exp.select(distinct).from_(table_expression(self.made.domains[position].table))
            [(number,)] = self.run.engine.query(Statement("count values", query))
            self._values[position, level] = int(number)
        return self._values[position, level]

    def _infeasible(self, why: str) -> InfeasibleError:
        return InfeasibleError(
            f"{why}: {self._least} of {self.made.rows} rows would lose cells, privacy.suppression.limit allows "
            f"{self.limit}"
        )

    # -- releasing ---------------------------------------------------------------------------------------------

    def _released(self, node: Node, blanked: Blanked, steps: Sequence[Step]) -> Recoded:
        create, ordinals = self.run.scratch.create, self.made.ordinals
        levels = self._levels(node)
        classes = create("classes", "found", numbered(blanked.rows, keys_of(range(len(node)))))
        parts = create("classes", "parts", placed(blanked.rows, classes, levels, ordinals))
        own = create("labels", "named", labels_of(classes, levels))
        merged = create("labels", "merged", merged_labels(own, len(ordinals)))
        labels = create("labels", "labels", released_labels(merged))
        table = create("assignment", "assignment", released_parts(parts, merged, ordinals))
        self.run.scratch.drop(blanked.rows, classes, parts, own, merged)
        spec = self.run.binding.spec
        details = {
            "levels": self._by_name(node),
            "binsize": spec.search.mu_argus.binsize or spec.privacy.k,
            "combinations": len(self.tested),
            "rows_blanked": blanked.number,
            "cells_blanked": blanked.cells,
        }
        recoded = recoded_by(self.run, Assignment(self.made, table, labels, whole=True), details)
        return replace(recoded, checks=self.checks, space=self.lattice.size, trace=tuple(steps))

    def _levels(self, node: Node) -> list[LevelOf]:
        return [
            LevelOf(position, domain.table, level, (domain.leaves, self.made.rows))
            for position, (domain, level) in enumerate(zip(self.made.domains, node, strict=True))
        ]

    def _by_name(self, node: Node) -> dict[str, int]:
        return dict(zip(self.run.binding.names, node, strict=True))

    def _worst(self, failing: dict[Columns, int]) -> dict[str, object]:
        """For the trace: the combination that fails for most rows, and their number."""
        for columns in _worst_first(failing):
            return {"failing": [self.run.binding.names[place] for place in columns], "rows": failing[columns]}
        return {"failing": None, "rows": 0}


def _worst_first(failing: dict[Columns, int]) -> list[Columns]:
    return sorted(failing, key=lambda columns: (len(columns), -failing[columns]))


def keys_of(columns: Iterable[int]) -> list[str]:
    """The names of the codes of some columns."""
    return [f"k_{position}" for position in columns]


def shown(keys: Sequence[str]) -> exp.Expression:
    """Whether a row shows all these cells."""
    return all_of(exp.NEQ(this=column(key), expression=literal(BLANK)) for key in keys)


def rare(rows: Table, keys: Sequence[str], asked: CutQuestion) -> exp.Select:
    """The values of some columns, shown together, that fail."""
    counted = exp.select().from_(table_expression(rows)).where(shown(keys))
    values = exp.select(*(column(key) for key in keys))
    values = values.from_(subquery(asked.satisfied_sides(counted, keys), "sides"), copy=False)
    return values.where(exp.Not(this=column("kept")))


def failing_rows(rows: Table, keys: Sequence[str], asked: CutQuestion, number: int) -> exp.Select:
    """One row: `number`, and the rows that show values of these columns that fail."""
    on = all_of([equal(column(key, "r"), column(key, "f")) for key in keys])
    select = exp.select(literal(number), whole(exp.Sum(this=column("n", "r")))).from_(table_expression(rows, "r"))
    return select.join(subquery(rare(rows, keys, asked), "f"), on=on, copy=False)


def with_blanks(rows: Table, keys: Sequence[str], lost: str, carried: Sequence[str], asked: CutQuestion) -> exp.Select:
    """The rows again; those that show values of some columns that fail lose the cell of one of them."""
    items: list[exp.Expression] = [column(name, "r") for name in carried if name != lost]
    ifs = [exp.If(this=is_present(column(lost, "f")), true=cast(literal(BLANK), "int"))]
    items.append(named(exp.Case(ifs=ifs, default=column(lost, "r")), lost))
    on = all_of([equal(column(key, "r"), column(key, "f")) for key in keys])
    select = exp.select(*items).from_(table_expression(rows, "r"))
    return select.join(subquery(rare(rows, keys, asked), "f"), on=on, join_type="left", copy=False)


def blank_cells(rows: Table, keys: Sequence[str]) -> exp.Select:
    """One row: rows with a blank cell, and blank cells."""
    blank = [equal(column(key), literal(BLANK)) for key in keys]
    cells = [total_where(item.copy(), column("n")) for item in blank]
    together: exp.Expression = cells[0]
    for item in cells[1:]:
        together = exp.Add(this=together, expression=item)
    return exp.select(total_where(any_of(blank), column("n")), together).from_(table_expression(rows))


def numbered(rows: Table, keys: Sequence[str]) -> exp.Select:
    """Every combination of shown and blank cells, once, with `class`."""
    names = [column(key) for key in keys]
    distinct = exp.select(*names).distinct().from_(table_expression(rows))
    order = exp.Order(expressions=[exp.Ordered(this=name.copy()) for name in names])
    number = exp.Window(this=exp.RowNumber(), order=order)
    return exp.select(*(name.copy() for name in names), named(cast(number, "int"), "class")).from_(
        subquery(distinct, "combinations"), copy=False
    )
