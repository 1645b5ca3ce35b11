"""Recoders that partition the values of each column: the schemes of Li and Li 2007 exact, and heuristics over cuts.

They hold the leaves of each column with their labels and rows, never combinations; costs come from `SchemeCosts`. Of a
column only its domain table is read: values as texts, labels and codes of the hierarchy, rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.hierarchies.base import TOP
from sqlanon.recoding import Cuts, Group
from sqlanon.recoding.assignment import Assignment, figures_of, released_ordinals
from sqlanon.recoding.base import Recoded, bounds_told, least_levels, requirement_for
from sqlanon.recoding.mondrian.labels import NULL_TEXT, SPECIAL
from sqlanon.recoding.schemes.evaluator import Leaves, SchemeCosts
from sqlanon.search.base import Budget, Progress
from sqlanon.search.schemes import exact, heuristics
from sqlanon.search.schemes.domain import Block, LeafDomain, Partition, blocks, canonical, is_range, of_blocks
from sqlanon.search.schemes.families import SCHEMES, EnumerationTree
from sqlanon.search.schemes.problem import CostEvaluator, Direction, Generalization, Solution, Space, Techniques
from sqlanon.source.combination_statements import leaves_of_domain
from sqlanon.source.combinations import Combinations, combine
from sqlanon.source.combinations import Domain as StoredDomain
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run

MOST_LEAVES = 400
"""Beyond, not even the merges of two groups can be listed in reasonable time."""


@dataclass(frozen=True)
class Leaf:
    """Values that are never told apart: one value, or those with one label at the least level allowed."""

    label: str | None
    """The label that is published; None stands for NULL."""
    texts: tuple[str, ...]
    rows: int
    covered: int
    """Leaves of the hierarchy that it stands for."""
    above: tuple[str | None, ...]
    """Its labels at the levels above, up to the top."""
    covered_above: tuple[int, ...]
    ends: tuple[str, str, bool] | None = None
    """Of a label: where it begins and ends, and whether its end is the first value beyond. None: it is a value."""
    places: tuple[int, int] | None = None
    """Its first and last place in the domain."""


@dataclass(frozen=True)
class LeafColumn:
    """The leaves of a column in their order."""

    name: str
    leaves: tuple[Leaf, ...]
    leaf_of: tuple[int, ...]
    """The leaf of each ordinal."""
    levels: tuple[Partition, ...]
    """Of the leaves, from the least level allowed up to the top."""
    natural: bool
    apart: bool
    top: str
    total: int
    """Leaves of the whole hierarchy."""

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(leaf.rows for leaf in self.leaves)

    @cached_property
    def domain(self) -> LeafDomain:
        return LeafDomain.of(len(self.leaves), self.levels[1:], apart=self.apart)

    def groups(self, partition: Partition) -> tuple[Group, ...]:
        """The groups of a partition with labels that tell them apart; NULL is in none."""
        found: list[Group] = []
        taken: set[str] = set()
        for block in blocks(partition):
            texts = tuple(text for leaf in block for text in self.leaves[leaf].texts)
            if texts:
                label = _unlike(self._label(block), taken)
                taken.add(label)
                found.append(Group(label, texts))
        return tuple(found)

    def keeps_its_value(self, partition: Partition) -> bool:
        """Whether its one value, or none beside NULL, is released as it is."""
        return max(partition) == len(self.leaves) - 1 and sum(bool(leaf.texts) for leaf in self.leaves) <= 1

    def without(self, partition: Partition, kept: frozenset[int]) -> Partition:
        """The partition in which no label shows a leaf that no released row has: such leaves stand alone.

        Labels of the hierarchy, and ranges with the leaf inside, show no leaf. Released classes stay as they are.
        """
        found: list[Block] = []
        for block in blocks(partition):
            shown = [leaf for leaf in block if leaf in kept]
            if len(block) == len(self.leaves) or self._level(block) is not None or len(shown) == len(block):
                found.append(block)
            elif shown and self.natural and is_range(block):
                found.append(tuple(range(shown[0], shown[-1] + 1)))
            elif shown:
                found.append(tuple(shown))
        return of_blocks(found, len(self.leaves))

    def leaves_of_groups(self, partition: Partition) -> list[int]:
        """For each leaf: the leaves of the hierarchy that its group's label covers."""
        found = [0] * len(self.leaves)
        for block in blocks(partition):
            level = self._level(block)
            if self._is_whole(block):
                covered = self.total
            elif level:
                covered = self.leaves[block[0]].covered_above[level - 1]
            else:
                covered = self._covered(block)
            for leaf in block:
                found[leaf] = covered
        return found

    def _covered(self, block: Block) -> int:
        """The leaves of a range, with those between its values, or of a set."""
        first, last = self.leaves[block[0]].places, self.leaves[block[-1]].places
        if self.natural and is_range(block) and first is not None and last is not None:
            return last[1] - first[0] + 1
        return sum(self.leaves[leaf].covered for leaf in block)

    def _level(self, block: Block) -> int | None:
        """The lowest level that has exactly these leaves as one group."""
        for number, level in enumerate(self.levels):
            if tuple(leaf for leaf, code in enumerate(level) if code == level[block[0]]) == block:
                return number
        return None

    def _is_whole(self, block: Block) -> bool:
        """Whether leaves are all there are, and more than one that stays as it is."""
        return len(block) == len(self.leaves) > 1

    def _label(self, block: Block) -> str:
        if self._is_whole(block):
            return self.top
        level = self._level(block)
        if level is not None:
            first = self.leaves[block[0]]
            label = first.label if level == 0 else first.above[level - 1]
            return f"{{{label}}}" if label is None or label == TOP else label
        if self.natural and is_range(block):
            return _range(self.leaves[block[0]], self.leaves[block[-1]])
        return "{" + ", ".join(_member(str(self.leaves[leaf].label)) for leaf in block) + "}"


def _range(first: Leaf, last: Leaf) -> str:
    if first.ends is None or last.ends is None:
        return f"[{first.texts[0]}-{last.texts[-1]}]"
    (low, _, open_low), (_, high, open_high) = first.ends, last.ends
    if open_low != open_high or not (low or high):
        return f"[{first.label} - {last.label}]"
    if not open_low:
        return f"[{low} - {high}]" if "-" in low + high else f"[{low}-{high}]"
    return f"<{high}" if not low else f">={low}" if not high else f"[{low}, {high})"


def _member(label: str) -> str:
    """A member of a set, in quotes where it would not be told from the others or from NULL.

    >>> _member("Widowed"), _member("black, smith")
    ('Widowed', '"black, smith"')
    """
    special = label in ("", NULL_TEXT) or any(character in label for character in SPECIAL)
    return '"' + label.replace('"', '""') + '"' if special else label


def _unlike(label: str, taken: set[str]) -> str:
    """A label that no other group has: values may be written like the labels of groups."""
    number, found = 2, label
    while found in taken:
        found, number = f"{label} ({number})", number + 1
    return found


def read_column(engine: Engine, name: str, stored: StoredDomain) -> LeafColumn:
    """The leaves of a column: the ordinals of its domain, which are values or labels of the least level allowed."""
    if stored.values > MOST_LEAVES:
        raise UsageError(
            f"column '{name}' has {stored.values} values at level {stored.least} of its hierarchy, schemes take up to "
            f"{MOST_LEAVES}: raise columns.{name}.levels.min"
        )
    query = leaves_of_domain(stored.table, stored.height, of_labels=stored.least > 0)
    rows = sorted(engine.query(Statement(f"leaves of {name}", query)), key=lambda row: int(row[0]))
    leaf_of = canonical([row[3] for row in rows])
    members: list[list[Sequence[object]]] = [[] for _ in range(max(leaf_of) + 1)]
    for row, leaf in zip(rows, leaf_of, strict=True):
        members[leaf].append(row)
    height = stored.height
    return LeafColumn(
        name,
        tuple(_leaf(group, height) for group in members),
        leaf_of,
        tuple(canonical([group[0][3 + 3 * level] for group in members]) for level in range(height + 1)),
        stored.natural,
        # Beside a single value, NULL is but the other one of two leaves.
        stored.has_null and len(members) > 2,
        stored.hierarchy.top,
        stored.leaves,
    )


def _leaf(rows: Sequence[Sequence[object]], height: int) -> Leaf:
    """Rows are: ordinal, text, rows; code, label and leaves of each level; first, last place; ends of a label."""
    first, place = rows[0], 3 + 3 * (height + 1)
    return Leaf(
        _text(first[4]),
        tuple(str(row[1]) for row in rows if row[1] is not None),
        sum(int(str(row[2])) for row in rows),
        int(str(first[5])),
        tuple(_text(first[4 + 3 * level]) for level in range(1, height + 1)),
        tuple(int(str(first[5 + 3 * level])) for level in range(1, height + 1)),
        _ends(first[place + 2 :]),
        (int(str(first[place])), int(str(rows[-1][place + 1]))),
    )


def _ends(found: Sequence[object]) -> tuple[str, str, bool] | None:
    return (str(found[0]), str(found[1]), found[2] == 1) if found else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


Heuristic = Callable[[Space, CostEvaluator, Budget, int, Progress | None], Solution]

HEURISTICS: dict[str, Heuristic] = {
    "tds": heuristics.specialize,
    "bottom_up": heuristics.generalize,
    "genetic": heuristics.evolve,
    "annealing": heuristics.anneal,
}

MINIMIZED = ("dm", "hdm")
FEW_GENERALIZATIONS = 5000
"""Up to here a search is over before its seeds would have grown."""
SMALL_K = 5
FEW_COLUMNS = 4
WIDE = 4096
"""Groups that the first split of a column may have: beyond, the way down has too many branches."""


@dataclass(frozen=True)
class SchemeProblem:
    """A search over the schemes of a spec, all but the algorithm."""

    columns: tuple[LeafColumn, ...]
    space: Space
    costs: SchemeCosts
    metric: str


def recode_exact(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """The cheapest generalization in which each column follows its scheme; anytime under a budget."""
    settings = run.binding.spec.search
    made = _combined(run, base, stored)
    problem = problem_on(run, made)
    direction = direction_of(settings.direction, run.binding.k, problem.space)
    budget = Budget(settings.budget.nodes, settings.budget.most_seconds)
    techniques = Techniques(seeding=problem.space.size > FEW_GENERALIZATIONS)
    found = exact.search(
        problem.space, problem.costs, direction, techniques, budget, settings.seed, run.options.progress
    )
    return _recoded(run, made, problem, found)


def recode_heuristic(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """A good cut, of which nothing is proven."""
    settings = run.binding.spec.search
    made = _combined(run, base, stored)
    problem = problem_on(run, made)
    budget = Budget(settings.budget.nodes, settings.budget.most_seconds)
    search = HEURISTICS[settings.algorithm]
    found = search(problem.space, problem.costs, budget, settings.seed, run.options.progress)
    return _recoded(run, made, problem, found)


def direction_of(asked: Literal["auto", "bottom_up", "top_down"], k: int, space: Space) -> Direction:
    """As Li and Li 2007, section 5.2, advise: bottom-up for small k and few columns, else top-down.

    Where leaves may form any sets, the way down begins with 2 ** (d - 1) splits: not when these are too many.
    """
    if asked != "auto":
        return asked
    wide = any(tree.scheme.name == "sps" and 2 ** (tree.domain.size - 1) > WIDE for tree in space.trees)
    return "bottom_up" if wide or (k <= SMALL_K and len(space.trees) <= FEW_COLUMNS) else "top_down"


def _combined(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Combinations:
    requirement_for(run)
    constraints = run.binding.spec.search.constraints
    if constraints.before or constraints.forbidden:
        algorithm = run.binding.spec.search.algorithm
        raise UsageError(f"search.constraints: {algorithm} knows no levels to constrain; leave them out")
    return combine(run.engine, run.binding, base, stored, run.scratch, least_levels(run, stored))


def problem_on(run: Run, made: Combinations) -> SchemeProblem:
    """The columns, schemes and costs that a spec asks for, on these combinations."""
    spec, names = run.binding.spec, run.binding.names
    # A spec's own default, or in a comparison the metric of another algorithm, is none that schemes minimize.
    metric = spec.search.metric if spec.search.metric in MINIMIZED else "dm"
    columns = tuple(read_column(run.engine, name, domain) for name, domain in zip(names, made.domains, strict=True))
    weights = [float(spec.weight(name)) for name in names]
    leaves = [
        Leaves(column.leaf_of, column.rows, weight / sum(weights))
        for column, weight in zip(columns, weights, strict=True)
    ]
    trees = tuple(_tree(run, name, column) for name, column in zip(names, columns, strict=True))
    requirement = requirement_for(run)
    costs = SchemeCosts(
        run.scratch,
        made,
        leaves,
        requirement,
        # Groups that keep no row are no release, whatever may be lost.
        limit=max(0, min(run.binding.limit_rows(made.rows), made.rows - 1)),
        least=max(1, run.binding.k),
        metric=metric,
    )
    return SchemeProblem(columns, Space(trees), costs, metric)


def _tree(run: Run, name: str, column: LeafColumn) -> EnumerationTree:
    spec = run.binding.spec
    usual = spec.search.algorithm if spec.search.algorithm in SCHEMES else "ghs"
    scheme = SCHEMES[spec.columns[name].scheme or usual]
    problem = scheme.problem(column.domain)
    if problem is not None:
        raise UsageError(f"columns.{name}.scheme: {problem}")
    return EnumerationTree(scheme, column.domain)


def _recoded(run: Run, made: Combinations, problem: SchemeProblem, found: Solution) -> Recoded:
    chosen, assignment, scores = _released(run, problem, found.generalization)
    groups = tuple(column.groups(part) for column, part in zip(problem.columns, chosen, strict=True))
    _, suppressed, classes = assignment.totals(run.engine)
    least = tuple(domain.least for domain in made.domains)
    unchanged = tuple(
        column.name for column, part in zip(problem.columns, chosen, strict=True) if column.keeps_its_value(part)
    )
    step: dict[str, object] = {
        "cost": found.cost,
        "bound": found.bound if found.direction else None,
        "direction": found.direction,
        "expanded": found.expanded,
        "pruned": found.pruned,
        "groups": {column.name: max(part) + 1 for column, part in zip(problem.columns, chosen, strict=True)},
    }
    return Recoded(
        recoding=Cuts(run.binding.names, groups, least if any(least) else (), unchanged),
        suppressed=suppressed,
        classes=classes,
        scores=scores,
        fingerprint=made.fingerprint,
        combinations=made.count,
        checks=found.checks,
        space=problem.space.size,
        proven=found.proven,
        gap=found.gap if found.direction else None,
        metric=problem.metric,
        trace=(step,),
        warnings=bounds_told(run, made),
    )


def _released(
    run: Run, problem: SchemeProblem, chosen: Generalization
) -> tuple[Generalization, Assignment, dict[str, float]]:
    """A generalization whose labels show nothing that only suppressed rows have, its classes, and the figures of the
    one that was chosen: groups count there with their suppressed rows, as the search counts them."""
    weights = {position: float(run.binding.spec.weight(name)) for position, name in enumerate(run.binding.names)}
    scores: dict[str, float] = {}
    while True:
        covered = [column.leaves_of_groups(part) for column, part in zip(problem.columns, chosen, strict=True)]
        assignment = problem.costs.assignment(chosen, covered)
        scores = scores or figures_of(run.engine, assignment, weights)
        finer = []
        for place, (column, part) in enumerate(zip(problem.columns, chosen, strict=True)):
            statement = Statement("released values", released_ordinals(assignment.tables, place))
            ordinals = [int(ordinal) for (ordinal,) in run.engine.query(statement)]
            finer.append(column.without(part, frozenset(column.leaf_of[ordinal] for ordinal in ordinals)))
        if tuple(finer) == chosen:
            return chosen, assignment, scores
        run.scratch.drop(assignment.table, assignment.labels)
        chosen = tuple(finer)
