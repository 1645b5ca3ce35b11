"""Cell recoding: models CG_, _CS and AG_CS of the taxonomy (Samarati 2008), classic or by rows that fit each other.

What decides which vertices share a class is a forest or a matching; here combinations become vertices, groups become an
assignment with labels, and the cost is held against a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import lcm
from typing import Any

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.errors import UsageError
from sqlanon.evaluation.problem import problem_of, solve
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.hierarchies.lattice import Node
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.base import Recoded, least_levels, recoded_by, requirement_for, with_slack
from sqlanon.recoding.cells import fitting_statements as fitting_sql
from sqlanon.recoding.cells import statements as cells_sql
from sqlanon.recoding.cells.fitting_statements import Mode
from sqlanon.recoding.cells.forest import Forest, Neighbours
from sqlanon.recoding.cells.improving import Improvement
from sqlanon.recoding.cells.statements import CellColumn, Steps
from sqlanon.source.combinations import Combinations, combine
from sqlanon.source.frequency import Base, pack
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.spec import Anonymity
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

PHASES: dict[Anonymity, Sequence[Mode]] = {
    "(k,1)": ("own",),
    "(1,k)": ("other",),
    "(k,k)": ("own", "other"),
    "global (1,k)": ("mutual",),
}
"""What labels must fit, one after the other. Two rows that fit each other's labels can change places in every
assignment: k such rows are enough for global (1,k)."""


def widened(forest: Forest, near: Table, anonymity: Anonymity) -> Table | None:
    """The step of each vertex's label in each column, `g`, `t_i` and `o_i`; None for classic.

    Labels of single combinations that fit as many rows as a kind of anonymity asks (Gionis, Mazza and Tassa 2008).
    """
    if anonymity == "classic":
        return None
    scratch, vertices, steps = forest.scratch, forest.vertices, forest.steps
    pairs = scratch.create("fitting", "w_pairs", fitting_sql.pairs(vertices, near, steps))
    state = scratch.create("fitting", "w_state0", fitting_sql.as_they_are(vertices, steps))
    for mode in PHASES[anonymity]:
        state = settled(forest, state, pairs, mode)
    found = scratch.create("fitting", "w_reached", fitting_sql.reached(state, vertices, len(steps)))
    scratch.drop(state, pairs)
    return found


def settled(forest: Forest, state: Table, pairs: Table, mode: Mode, held: str = "n", more: Sequence[str] = ()) -> Table:
    """The labels when all of them fit enough rows.

    Greedy, in rounds: every label that fits too few rows picks the pair whose labels cost least to widen. A
    constant number of statements for each round; at most about k rounds, because each pick adds a row.
    """
    scratch, steps = forest.scratch, forest.steps
    while True:
        forest.rounds += 1
        query = fitting_sql.picked(state, pairs, steps, forest.k, mode, held)
        picks, number = scratch.create_counted("fitting", "w_picks", query)
        if not number:
            scratch.drop(picks)
            return state
        after = fitting_sql.widened(state, picks, len(steps), mode, more)
        wider = scratch.create("fitting", f"w_state{forest.rounds}", after)
        scratch.drop(state, picks)
        state = wider


MOST_NODES = 8
"""Vectors whose releases are compared for AG_CS."""

WEIGHT = 100
"""What a weight of 1 is, where weights differ: two decimals of them count."""
MORE_NEIGHBOURS = 4
"""How many times the rows that a combination needs are looked at, where labels are widened one by one."""


@dataclass
class Cells:
    """The vertices of a cell recoding, with what is needed to write groups of them as a release."""

    run: Run
    made: Combinations
    columns: tuple[CellColumn, ...]
    vertices: Table
    unit: int
    """What a column of weight 1 costs at its top."""

    @property
    def steps(self) -> list[Steps]:
        return [item.steps for item in self.columns]

    def forest(self) -> Forest:
        return Forest(self.run.engine, self.run.scratch, self.vertices, self.steps, self.run.binding.k)

    def neighbours(self, forest: Forest) -> Neighbours:
        """With more of them where labels are widened: a choice makes them cheaper."""
        classic_only = self.run.binding.spec.privacy.anonymity == "classic"
        return forest.neighbours() if classic_only else forest.neighbours(MORE_NEIGHBOURS)

    def create(self, name: str, query: exp.Query) -> Table:
        return self.run.scratch.create("cells", f"c_{name}", query)

    def ask(self, query: exp.Query) -> tuple[int, ...]:
        [row] = self.run.engine.query(Statement("cells", query))
        return tuple(int(number or 0) for number in row)


@dataclass(frozen=True)
class GroupedVertices:
    """Rows of vertices in classes, with the step that each class reaches in each column, and what that costs."""

    groups: Table
    reached: Table
    cost: int
    changed: int
    """Cells that are not released as the attribute generalization, if there is one, leaves them."""
    suppressed: int
    """Cells at the top."""
    least: int = 0
    """What labels that fit as asked cost at least, as far as the way to them has shown it."""


@dataclass(frozen=True)
class Divided:
    """Vertices in groups: `v`, its rows `a` to `b`, group `g`."""

    forest: Forest
    groups: Table
    near: Neighbours
    factor: float | None
    """By how much the groups cost more than the best ones at most; None: nothing is proven."""
    least: int = 0
    """What all rows cost at least in any groups, as far as the way to groups has shown it."""


def vertices_of(run: Run, made: Combinations, node: Node | None) -> Cells:
    """The combinations as vertices; for AG_CS at the levels of a node."""
    columns = _columns(run, made, node)
    vertices = run.scratch.create("cells", "c_vertices", cells_sql.vertices(made.table, columns))
    unit = columns[0].steps.costs[-1] // weights_of(run)[0]
    return Cells(run, made, columns, vertices, unit * (1 if max(weights_of(run)) == 1 else WEIGHT))


def _columns(run: Run, made: Combinations, node: Node | None) -> tuple[CellColumn, ...]:
    """Each column's steps: the levels of its hierarchy from the least that may be released, or one level and `*`."""
    ways: list[tuple[int, ...]] = []
    for position, domain in enumerate(made.domains):
        if node is not None:
            ways.append((node[position],))
        else:
            least = run.binding.spec.columns[run.binding.names[position]].levels.min
            ways.append(tuple(range(min(least, domain.height), max(domain.height, least + 1))))
    unit = lcm(*(len(levels) for levels in ways))
    found: list[CellColumn] = []
    for domain, levels, weight in zip(made.domains, ways, weights_of(run), strict=True):
        families = domain.hierarchy.families
        texts = [_text(run, f"label_{level}", _family(families, level)) for level in levels]
        last = cast(literal(TOP), "text") if node is not None else _text(run, f"label_{domain.height}", Family.TEXT)
        costs = tuple(weight * unit * (step + 1) // len(levels) for step in range(len(levels)))
        found.append(CellColumn(domain.table, levels, (*texts, last), domain.leaves, Steps(costs)))
    return tuple(found)


def weights_of(run: Run) -> list[int]:
    """The weights of the columns as whole numbers: costs are compared exactly, alike on every engine."""
    given = [float(run.binding.spec.weight(name)) for name in run.binding.names]
    if len(set(given)) == 1:
        return [1] * len(given)
    return [max(1, round(WEIGHT * weight)) for weight in given]


def weights_are_exact(run: Run) -> bool:
    """Whether no weight was rounded: else what costs least may be something else."""
    given = [Decimal(str(run.binding.spec.weight(name))) for name in run.binding.names]
    return len(set(given)) == 1 or all(weight * WEIGHT % 1 == 0 and weight > 0 for weight in given)


def _family(families: Sequence[Family], level: int) -> Family:
    """Labels of level 0 are texts of the values; the domain's top is a text too."""
    return Family.TEXT if level in (0, len(families) - 1) else families[level]


def _text(run: Run, name: str, family: Family) -> exp.Expression:
    return run.engine.traits.text(column(name, "d"), family)


def classic(cells: Cells, found: Table) -> GroupedVertices:
    """Groups of at least k rows as classes."""
    groups = cells.create("groups", cells_sql.numbered(exp.select(exp.Star()).from_(table_expression(found))))
    reached = cells.create("reached", cells_sql.reached(cells_sql.of_groups(groups), cells.vertices, cells.steps))
    return GroupedVertices(groups, reached, *cells.ask(cells_sql.cost(groups, reached, cells.steps)))


def fitting(cells: Cells, divided: Divided) -> GroupedVertices | None:
    """Classes of one vertex each, their labels widened until as many rows fit as is asked; None for classic."""
    reached = widened(divided.forest, divided.near.table, cells.run.binding.spec.privacy.anonymity)
    if reached is None:
        return None
    groups = cells.create("alone", cells_sql.each_vertex(cells.vertices))
    return GroupedVertices(groups, reached, *cells.ask(cells_sql.cost(groups, reached, cells.steps)))


def released(cells: Cells, chosen: GroupedVertices, details: dict[str, Any]) -> Recoded:
    """The assignment and the labels of what was chosen."""
    coverages = {i: cells.create(f"covers{i}", cells_sql.coverage(item)) for i, item in enumerate(cells.columns)}
    labels = cells.create("labels", cells_sql.labels(chosen.reached, coverages, cells.columns))
    parts = cells.create("parts", cells_sql.parts(cells.made.table, cells.vertices, cells.columns))
    table = cells.create("assignment", cells_sql.assignment(parts, chosen.groups, len(cells.columns)))
    cells.run.scratch.drop(parts, *coverages.values())
    figures = {"cost": chosen.cost / cells.unit, "cells_changed": chosen.changed, "cells_suppressed": chosen.suppressed}
    found = recoded_by(cells.run, Assignment(cells.made, table, labels, whole=False), {**details, **figures})
    return replace(found, scores={**found.scores, "cells": float(chosen.changed)})


Divide = Callable[[Cells], Divided]
"""How vertices become groups."""
Relax = Callable[[Cells, Divided], GroupedVertices | None]
"""How labels of their own are found for vertices or rows; None where only equal rows are asked for."""


def by_forest(cells: Cells) -> Divided:
    """Groups of the forest."""
    forest = cells.forest()
    near = cells.neighbours(forest)
    return Divided(forest, forest.groups(near.table), near, float(3 * forest.k - 3) if near.exact else None)


def improved(cells: Cells, divided: Divided) -> Divided:
    """Better groups, or the same: what is proven of them stays proven."""
    improvement = Improvement(cells.run.engine, cells.run.scratch, cells.vertices, cells.steps, divided.forest.k)
    groups = improvement.of(divided.groups, divided.near.table)
    divided.forest.rounds += improvement.rounds
    return replace(divided, groups=groups)


def recode(
    run: Run,
    base: Base,
    stored: Sequence[StoredHierarchy],
    divide: Divide = by_forest,
    relax: Relax = fitting,
) -> Recoded:
    """Recode cells: of whole columns first for AG_CS, then of groups of vertices."""
    _refuse_more_than_k(run)
    run = with_slack(run)
    if run.binding.spec.search.model != "AG_CS":
        least_levels(run, stored)
    made = combine(run.engine, run.binding, base, stored, run.scratch)
    node = None
    if run.binding.spec.search.model == "AG_CS":
        nodes = _attribute_levels(run, base, stored)
        node = (
            nodes[0] if len(nodes) == 1 else min(nodes, key=lambda item: (_loss(run, made, item, divide, relax), item))
        )
    return _recoded(run, made, node, divide, relax)


def _refuse_more_than_k(run: Run) -> None:
    """The checks of the spec, for an algorithm that a comparison put in place of the spec's own."""
    requirement_for(run)
    if run.binding.persons or not run.binding.spec.privacy.only_k:
        raise UsageError(f"search.algorithm: {run.binding.spec.search.algorithm} takes k alone, of rows")


def _attribute_levels(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> list[Node]:
    """AG_CS: the optimal levels when the rows of small classes may have cells suppressed, and the minimal ones."""
    spec = run.binding.spec
    searching = spec.model_copy(update={"search": spec.search.model_copy(update={"algorithm": "optimal"})})
    binding, options = replace(run.binding, spec=searching), replace(run.options, all_minimal=True)
    problem = problem_of(
        replace(run, binding=binding, options=options), pack(run.engine, run.binding, base, stored, run.scratch)
    )
    found = solve(problem, problem.evaluator())
    return list(dict.fromkeys([found.chosen.node, *sorted(found.minimal, key=lambda node: (sum(node), node))]))[
        :MOST_NODES
    ]


def _loss(run: Run, made: Combinations, node: Node, divide: Divide, relax: Relax) -> float:
    """What a release at these levels loses, cells suppressed."""
    standing = len(run.scratch)
    found = _recoded(run, made, node, divide, relax)
    run.scratch.drop_since(standing)
    return found.scores["loss"]


def _recoded(run: Run, made: Combinations, node: Node | None, divide: Divide, relax: Relax) -> Recoded:
    cells = vertices_of(run, made, node)
    divided = improved(cells, divide(cells))
    chosen = classic(cells, divided.groups)
    relaxed = relax(cells, divided)
    kind = "classic"
    if relaxed is not None and relaxed.cost < chosen.cost:
        # Equal rows fit each other too: what costs less is taken.
        chosen, kind = relaxed, run.binding.spec.privacy.anonymity
    if relaxed is not None and relaxed.least:
        divided = replace(divided, least=relaxed.least, factor=None)
    # Levels are compared, a few of them, not searched: what is true of cells at one of them says nothing of the others.
    proves = (kind == "classic" or chosen.least > 0) and node is None and weights_are_exact(run)
    details: dict[str, Any] = {
        "model": run.binding.spec.search.model,
        "anonymity": kind,
        "neighbours": "all pairs" if divided.near.exact else "windows",
        "factor": divided.factor if proves else None,
    }
    if node is not None:
        details["levels"] = dict(zip(run.binding.names, node, strict=True))
    found = replace(released(cells, chosen, details), checks=divided.forest.rounds)
    return with_bound(found, cells, divided, chosen) if proves and divided.near.exact else found


def with_bound(found: Recoded, cells: Cells, divided: Divided, chosen: GroupedVertices) -> Recoded:
    """How far from the optimum a recoding can be: each row costs what its neighbours are away, at least."""
    [least] = cells.ask(cells_sql.lower_bound(cells.vertices, divided.near.table))
    least = max(least, divided.least)
    gap = 1 - least / chosen.cost if chosen.cost else 0.0
    return replace(found, gap=gap, proven=chosen.cost == least)
