"""Local recoding after the lattice: rows that the chosen node would suppress are recoded again, by a node of their own.

Iterated until nothing is left, or what is left may be suppressed. The rows that an earlier node kept lose nothing. In
the statements, `rows` are combinations (`o_0`..., codes, counts); by labels, they also have `k_i`, the code of their
label in column i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.errors import InfeasibleError
from sqlanon.evaluation.problem import Problem, solve
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.evaluation.rollups import NodeCounts
from sqlanon.hierarchies.base import TOP
from sqlanon.hierarchies.lattice import Node
from sqlanon.privacy.base import Requirement
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.base import Recoded, recoded_by, requirement_for
from sqlanon.recoding.mondrian import regions as regions_sql
from sqlanon.recoding.mondrian.cuts import CutQuestion, satisfies
from sqlanon.recoding.slack import PinnedClasses, classes_by_labels
from sqlanon.search.base import SearchResult
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source.combinations import Combinations, combine
from sqlanon.source.frequency import LARGEST_INT, Base, FrequencySet
from sqlanon.source.frequency_statements import Shape
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import all_of, equal, named, query, subquery, union_all
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import whole


def local(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Search the lattice, recode what it keeps, and search again for the rest."""
    requirement_for(run)
    made = combine(run.engine, run.binding, base, stored, run.scratch)
    return Iterations(run, made, stored).recoded()


@dataclass(frozen=True)
class _Kept:
    """What a node keeps of the rows that an iteration began with."""

    node: Node
    keyed: Table
    found: Table
    """Its classes; those that fail have no number."""
    left: Table
    combinations: int
    rows: int
    """Rows that are left for later iterations."""


class Iterations:
    """Recodes rows node by node."""

    def __init__(self, run: Run, made: Combinations, stored: Sequence[StoredHierarchy]) -> None:
        self.run = run
        self.made = made
        self.stored = tuple(stored)
        self.requirement: Requirement = requirement_of(run.binding, rows=made.rows)
        grouping = self.requirement.groupings[0]
        self.asked = CutQuestion(grouping.measures(), grouping.satisfied(), made.value_tables, made.persons)
        self.allowed = run.binding.limit_rows(made.rows)
        self.steps: list[dict[str, object]] = []
        self.checks = 0
        self._classes = 0
        self._parts: tuple[Table, Table] | None = None
        self._refused: dict[str, object] = {}

    @property
    def counts(self) -> list[str]:
        return ["n", *(["respondent", "lone_respondents"] if self.made.persons else [])]

    @property
    def carried(self) -> list[str]:
        return [*self.made.ordinals, *self.made.coded, *self.counts]

    def recoded(self) -> Recoded:
        """Iterate, then put the classes of all iterations together."""
        if not self._satisfied(self.made.table):
            raise InfeasibleError("all rows in one class do not satisfy the requirement: no release can satisfy it")
        rows, combinations, number = self.made.table, self.made.count, self.made.rows
        settings = self.run.binding.spec.search.local
        limit = self.allowed if settings.leave is None else settings.leave.rows(number)
        for iteration in range(1, settings.iterations + 1):
            last = iteration == settings.iterations
            kept = self._iterate(rows, combinations, number, self.allowed if last else limit, iteration)
            if kept.rows > self.allowed and not self._satisfied(kept.left):
                # What is left could never be released: this iteration may leave only what may be suppressed.
                self._drop(kept)
                kept = self._iterate(rows, combinations, number, self.allowed, iteration)
            self._put_away(kept, number - kept.rows)
            if rows != self.made.table:
                self.run.scratch.drop(rows)
            rows, combinations, number = kept.left, kept.combinations, kept.rows
            if not number or not self._satisfied(rows):
                break
            limit = number - 1
        if self.run.binding.spec.privacy.slack:
            rows = self._with_slack(rows, self.run.binding.spec.privacy.slack)
        return self._assigned(rows)

    def at(self, node: Node) -> Recoded:
        """The full-domain release of a node, put as classes: what it costs compares with any other recoding."""
        kept = self._kept_by(node, self.made.table, 1)
        self._put_away(kept, self.made.rows - kept.rows)
        return self._assigned(kept.left)

    # -- slack: classes that tell where their rows come from ---------------------------------------------------------

    def _with_slack(self, left: Table, least: int) -> Table:
        """Refuse the classes whose rows somebody who knows the algorithm can place in finer cells; what is left.

        Their rows join the class of everybody, or are suppressed. Where that would be pinned itself, the classes of the
        last round join it too. What is refused leaves the others more possibilities, never fewer.
        """
        if self._parts is None:
            raise ValueError("there is at least one iteration")
        pinned = PinnedClasses(self.run, self.made, self.stored, least)
        refused = 0
        while True:
            parts, named = self._parts
            merged = self.run.scratch.create("labels", "merged", merged_labels(named, len(self.stored)))
            chosen, number = pinned.of(classes_by_labels(parts, merged, left, pinned.tops), pooled=refused > 0)
            if not number:
                self.run.scratch.drop(merged, chosen)
                break
            refused += number
            left = self._without(merged, chosen, left)
        return self._pooled(left, pinned.tops, refused) if refused else left

    def _without(self, merged: Table, chosen: Table, left: Table) -> Table:
        """Take classes out; what is left with their rows."""
        if self._parts is None:
            raise ValueError("there is at least one iteration")
        create, tables = self.run.scratch.create, {"merged": merged, "chosen": chosen}
        parts, named = (
            create(step, name, query(_KEPT, {**tables, "parts": table}))
            for (step, name), table in zip((("classes", "parts"), ("labels", "named")), self._parts, strict=True)
        )
        on = all_of([equal(column(name, "r"), column(name, "a")) for name in self.made.ordinals])
        select = exp.select(*(column(name, "r") for name in self.carried)).from_(table_expression(self.made.table, "r"))
        select = select.join(table_expression(parts, "a"), on=on, join_type="left", copy=False)
        rows = create("rows left", "pooled", select.where(exp.Is(this=column("class", "a"), expression=exp.Null())))
        self.run.scratch.drop(merged, chosen, *self._parts, *([] if left == self.made.table else [left]))
        self._parts = parts, named
        return rows

    def _pooled(self, left: Table, tops: Sequence[str], refused: int) -> Table:
        """Release the rows of refused classes as the class of everybody, or leave them suppressed."""
        if self._parts is None:
            raise ValueError("there is at least one iteration")
        scratch, spec = self.run.scratch, self.run.binding.spec
        merged = scratch.create("labels", "merged", merged_labels(self._parts[1], len(tops)))
        where = all_of([equal(column(f"label_{place}"), literal(top)) for place, top in enumerate(tops)])
        chosen = exp.select(named(column("released"), "id")).from_(table_expression(merged)).where(where)
        left = self._without(merged, scratch.create("class of everybody", "refused", chosen), left)
        [(_, rows)] = self.run.engine.query(Statement("count rows", total_rows(left)))
        self._refused = {"slack": {"refused_classes": refused, "rows": int(rows)}}
        highest = [
            (spec.columns[name].levels.max, item.height)
            for name, item in zip(self.run.binding.names, self.stored, strict=True)
        ]
        free = all(most is None or most >= height for most, height in highest)
        constraints = spec.search.constraints
        if free and not constraints.before and not constraints.forbidden and self._satisfied(left):
            kept = self._kept_by(tuple(height for _, height in highest), left, spec.search.local.iterations + 1)
            self._put_away(kept, int(rows))
            scratch.drop(left)
            return kept.left
        if int(rows) > self.allowed:
            raise InfeasibleError(
                f"privacy.adversary.slack: {rows} rows are in classes that tell where they come from, or in none, and "
                f"{self.allowed} may be suppressed; raise suppression.limit or k"
            )
        return left

    def _satisfied(self, rows: Table) -> bool:
        found = self.run.engine.query(Statement("judge all rows", satisfies(rows, self.asked)))
        return bool(found and found[0][0])

    def _iterate(self, rows: Table, combinations: int, number: int, limit: int, iteration: int) -> _Kept:
        """Search the lattice for the rows that are left, and part them into classes and what is left of them."""
        found = self._search(rows, combinations, number, limit, iteration)
        self.checks += found.checks
        return self._kept_by(found.chosen.node, rows, iteration)

    def _kept_by(self, node: Node, rows: Table, iteration: int) -> _Kept:
        """The classes of rows at a node, and the rows of those that fail."""
        create, levels = self.run.scratch.create, self._levels(node)
        keyed = create("labels of rows", f"keyed{iteration}", rows_by_labels(rows, levels, self.carried))
        query = classes_of(keyed, levels, self.asked, self._classes + 1)
        classes = create("judge classes", f"found{iteration}", query)
        query = left_over(keyed, classes, levels, self.carried)
        left = create("rows left", f"left{iteration}", query)
        [(remaining, remaining_rows)] = self.run.engine.query(Statement("count rows", total_rows(left)))
        return _Kept(node, keyed, classes, left, int(remaining), int(remaining_rows))

    def _search(self, rows: Table, combinations: int, number: int, limit: int, iteration: int) -> SearchResult:
        run = self.run
        search = run.binding.spec.search
        settings = search.model_copy(update={"algorithm": search.local.algorithm})
        binding = replace(run.binding, spec=run.binding.spec.model_copy(update={"search": settings}))
        with Scratch(run.engine, run.binding.scratch) as scratch:
            frequency = self._frequency(rows, combinations, number, iteration, scratch)
            part = None if self.requirement.monotone(limit) else self.requirement.relaxed()
            asked = [self.requirement, *([] if part is None else [part])]
            counts = NodeCounts(run.engine, frequency, asked, scratch)
            own = replace(run, binding=binding, scratch=scratch)
            problem = Problem(own, frequency, counts, 0, limit, None if part is None else 1)
            return solve(problem, problem.evaluator())

    def _frequency(self, rows: Table, combinations: int, number: int, iteration: int, scratch: Scratch) -> FrequencySet:
        """The frequency set of the rows that are left. What models compare with is the whole source."""
        made = self.made
        domains = [domain.table for domain in made.domains]
        query = as_base(rows, domains, made.codes, self.counts)
        base = scratch.create("rows left", f"base{iteration}", query)
        shape = Shape(
            tuple(hierarchy.table for hierarchy in self.stored),
            "int" if made.rows <= LARGEST_INT else "bigint",
            sensitive=len(made.codes),
            tables=tuple(item.tables for item in made.sensitive),
            persons=made.persons,
        )
        counted: dict[str, exp.Expression] = {"n": cast(column("n", "base"), shape.count_type)}
        if made.persons:
            counted["lone_respondents"] = column("lone_respondents", "base")
        more = ["respondent"] if made.persons else []
        query = frequency_sql.packed(base, shape.hierarchies, shape.layout, counted, made.codes, more)
        table = scratch.create("pack frequency set", f"frequency{iteration}", query)
        values = tuple(
            scratch.create("read domains", f"values{iteration}_{position}", domain_of(rows, position, domain))
            for position, domain in enumerate(domains)
        )
        return FrequencySet(table, combinations, number, self.stored, values, shape, "", made.sensitive)

    def _levels(self, node: Node) -> list[LevelOf]:
        domains = self.made.domains
        return [LevelOf(position, domains[position].table, level) for position, level in enumerate(node)]

    def _put_away(self, kept: _Kept, rows: int) -> None:
        """Take the classes of an iteration into the assignment."""
        levels, engine, create = self._levels(kept.node), self.run.engine, self.run.scratch.create
        parts = placed(kept.keyed, kept.found, levels, self.made.ordinals)
        labels = labels_of(kept.found, levels)
        if self._parts is None:
            self._parts = create("classes", "parts", parts), create("labels", "named", labels)
        else:
            for table, query in zip(self._parts, (parts, labels), strict=True):
                engine.execute(Statement("classes", regions_sql.appended(table, query)))
        [(_, classes)] = engine.query(Statement("count classes", regions_sql.numbers(self._parts[1], "class")))
        self._classes = int(classes or 0)
        self.steps.append({"levels": dict(zip(self.run.binding.names, kept.node, strict=True)), "rows": rows})
        self.run.scratch.drop(kept.keyed, kept.found)

    def _drop(self, kept: _Kept) -> None:
        self.run.scratch.drop(kept.keyed, kept.found, kept.left)

    def _assigned(self, left: Table) -> Recoded:
        if self._parts is None:
            raise ValueError("there is at least one iteration")
        parts, named = self._parts
        engine, scratch, ordinals = self.run.engine, self.run.scratch, self.made.ordinals
        rest = suppressed(left, ordinals)
        engine.execute(Statement("suppressed rows", regions_sql.appended(parts, rest)))
        merged = scratch.create("labels", "merged", merged_labels(named, len(ordinals)))
        labels = scratch.create("labels", "labels", released_labels(merged))
        table = scratch.create("assignment", "assignment", released_parts(parts, merged, ordinals))
        scratch.drop(left, parts, named, merged)
        assignment = Assignment(self.made, table, labels, whole=True)
        recoded = recoded_by(self.run, assignment, {"iterations": self.steps, **self._refused})
        return replace(recoded, checks=self.checks, trace=tuple(self.steps))


_KEPT = """
select * from parts as p
where class not in (select m.class from merged as m join chosen as c on c.id = m.released)
"""

BLANK = -1
"""The code of a cell that was blanked; NULL has 0, labels are numbered from 1."""


@dataclass(frozen=True)
class LevelOf:
    """A column at the level that a node gives it."""

    position: int
    domain: Table
    level: int
    blank: tuple[int, int] | None = None
    """Leaves and rows that a blanked cell stands for, where cells may be blanked."""

    @property
    def key(self) -> str:
        return f"k_{self.position}"


def as_base(rows: Table, domains: Sequence[Table], codes: Sequence[Table], counts: Sequence[str]) -> exp.Select:
    """Rows with their values again, as the scan has them."""
    items: list[exp.Expression] = []
    select = exp.select().from_(table_expression(rows, "r"))
    for position, domain in enumerate(domains):
        items.append(named(column("value", f"d_{position}"), f"q_{position}"))
        on = equal(column(f"o_{position}", "r"), column("o", f"d_{position}"))
        select = select.join(table_expression(domain, f"d_{position}"), on=on, copy=False)
    for position, table in enumerate(codes):
        items.append(named(column("value", f"c_{position}"), f"v_{position}"))
        on = equal(column(f"s_{position}", "r"), column("code", f"c_{position}"))
        select = select.join(table_expression(table, f"c_{position}"), on=on, copy=False)
    return select.select(*items, *(column(name, "r") for name in counts), copy=False)


def rows_by_labels(rows: Table, levels: Sequence[LevelOf], carried: Sequence[str]) -> exp.Select:
    """Rows with the codes of their labels."""
    items: list[exp.Expression] = [column(name, "r") for name in carried]
    select = exp.select().from_(table_expression(rows, "r"))
    for item in levels:
        alias = f"d_{item.position}"
        items.append(named(column(f"code_{item.level}", alias), item.key))
        on = equal(column(f"o_{item.position}", "r"), column("o", alias))
        select = select.join(table_expression(item.domain, alias), on=on, copy=False)
    return select.select(*items, copy=False)


def classes_of(keyed_rows: Table, levels: Sequence[LevelOf], asked: CutQuestion, first: int) -> exp.Select:
    """The classes of keyed rows: `class` numbers those that satisfy and is NULL for the others."""
    keys = [item.key for item in levels]
    verdicts = asked.satisfied_sides(exp.select().from_(table_expression(keyed_rows)), keys)
    order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in keys])
    number = exp.Window(this=exp.RowNumber(), partition_by=[column("kept")], order=order)
    numbered = exp.Add(this=number, expression=literal(first - 1))
    ifs = [exp.If(this=column("kept"), true=cast(exp.Paren(this=numbered), "int"))]
    items = [column(name) for name in keys]
    return exp.select(*items, named(exp.Case(ifs=ifs), "class")).from_(subquery(verdicts, "verdicts"), copy=False)


def placed(keyed_rows: Table, found: Table, levels: Sequence[LevelOf], ordinals: Sequence[str]) -> exp.Select:
    """The combinations of the classes that satisfy."""
    keys = [column(name, "r") for name in ordinals]
    rows = named(whole(exp.Sum(this=column("n", "r"))), "n")
    select = _with_classes(exp.select(*keys, rows, column("class", "c")), keyed_rows, found, levels)
    select = select.where(exp.Not(this=exp.Is(this=column("class", "c"), expression=exp.Null())))
    return select.group_by(*(key.copy() for key in keys), column("class", "c"))


def left_over(keyed_rows: Table, found: Table, levels: Sequence[LevelOf], carried: Sequence[str]) -> exp.Select:
    """The rows of the other classes."""
    select = _with_classes(exp.select(*(column(name, "r") for name in carried)), keyed_rows, found, levels)
    return select.where(exp.Is(this=column("class", "c"), expression=exp.Null()))


def _with_classes(select: exp.Select, keyed_rows: Table, found: Table, levels: Sequence[LevelOf]) -> exp.Select:
    on = all_of([equal(column(item.key, "r"), column(item.key, "c")) for item in levels])
    return select.from_(table_expression(keyed_rows, "r")).join(table_expression(found, "c"), on=on, copy=False)


def labels_of(found: Table, levels: Sequence[LevelOf]) -> exp.Select:
    """The labels of the classes that satisfy, with the leaves and the rows of the source that each covers."""
    items: list[exp.Expression] = [column("class", "c")]
    select = exp.select().from_(table_expression(found, "c"))
    for item in levels:
        alias = f"l_{item.position}"
        code = column(f"code_{item.level}")
        names = exp.select(
            named(code, "code"),
            named(exp.Max(this=cast(column(f"label_{item.level}"), "text")), "label"),
            named(whole(exp.Max(this=column(f"leaves_{item.level}"))), "leaves"),
            named(whole(exp.Sum(this=column("n"))), "rows"),
        ).from_(table_expression(item.domain))
        names = names.group_by(code.copy())
        query: exp.Query = names if item.blank is None else union_all([names, _blanked(*item.blank)])
        items += [named(column(part, alias), f"{part}_{item.position}") for part in ("label", "leaves", "rows")]
        on = equal(column(item.key, "c"), column("code", alias))
        select = select.join(subquery(query, alias), on=on, copy=False)
    select = select.select(*items, copy=False)
    return select.where(exp.Not(this=exp.Is(this=column("class", "c"), expression=exp.Null())))


def _blanked(leaves: int, rows: int) -> exp.Select:
    """The label of a cell that was blanked."""
    values = {"code": literal(BLANK), "label": cast(literal(TOP), "text")}
    counts = {"leaves": whole(literal(leaves)), "rows": whole(literal(rows))}
    return exp.select(*(named(value, name) for name, value in {**values, **counts}.items()))


def suppressed(rows: Table, ordinals: Sequence[str]) -> exp.Select:
    """Rows that no node keeps, as a part of an assignment."""
    keys = [column(name) for name in ordinals]
    select = exp.select(*keys, named(whole(exp.Sum(this=column("n"))), "n"), named(cast(exp.Null(), "int"), "class"))
    return select.from_(table_expression(rows)).group_by(*(key.copy() for key in keys))


def merged_labels(labels: Table, width: int) -> exp.Select:
    """Classes with the one that they are released as: those of the same labels are one."""
    names: list[exp.Expression] = [column(f"label_{position}") for position in range(width)]
    lowest = exp.Window(this=exp.Min(this=column("class")), partition_by=names)
    return exp.select(exp.Star(), named(lowest, "released")).from_(table_expression(labels))


def released_labels(merged_labels: Table) -> exp.Select:
    """The labels of every released class, once."""
    return (
        exp.select(exp.Star()).from_(table_expression(merged_labels)).where(equal(column("class"), column("released")))
    )


def released_parts(parts: Table, merged_labels: Table, ordinals: Sequence[str]) -> exp.Select:
    """The assignment by released classes."""
    items = [column(name, "a") for name in (*ordinals, "n")]
    select = exp.select(*items, named(column("released", "m"), "class")).from_(table_expression(parts, "a"))
    on = equal(column("class", "a"), column("class", "m"))
    return select.join(table_expression(merged_labels, "m"), on=on, join_type="left", copy=False)


def domain_of(rows: Table, position: int, domain: Table) -> exp.Select:
    """The values of a column among these rows, with their rows."""
    value = column("value", "d")
    select = exp.select(named(value, "value"), named(whole(exp.Sum(this=column("n", "r"))), "n"))
    select = select.from_(table_expression(rows, "r"))
    on = equal(column(f"o_{position}", "r"), column("o", "d"))
    select = select.join(table_expression(domain, "d"), on=on, copy=False)
    return select.group_by(value.copy())


def total_rows(rows: Table) -> exp.Select:
    """One row: combinations and rows."""
    counted = whole(exp.Coalesce(this=exp.Sum(this=column("n")), expressions=[literal(0)]))
    return exp.select(exp.Count(this=exp.Star()), counted).from_(table_expression(rows))
