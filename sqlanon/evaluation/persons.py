"""Nodes over several tables: who is left out where what somebody may know of a person fits fewer than k people.

What is known of a person is the person's own row and up to m rows of each other table, as multisets of generalized
rows: k^m-anonymity (Terrovitis, Mamoulis and Kalnis 2008) beside the quasi-identifier, where a row that is known twice
counts twice. Who fails leaves all tables, and may take others along: rounds go on until nobody fails. What remains is
the largest set of people that satisfies, and it only grows when a node is generalized, so verdicts are inherited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.evaluation.rollups import figures_of_levels, place_of_level
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source.scratch import Scratch
from sqlanon.source.tables import CodedTable, CodedTables
from sqlanon.sql.build import all_of, equal, is_null, left_join, named, query, total
from sqlanon.sql.relations import Table, column, literal, table_expression

_KIND = """
select kinds.kind, dense_rank() over (order by :first) as item from kinds
"""
_SMALL = """
select judged.class, judged.item, judged.low, judged.high from (
    select class.item as class, kind.item as item, max(said.persons) as low, sum(said.persons) as high
    from said join class on said.person_kind = class.kind join kind on said.kind = kind.kind
    group by class.item, kind.item
) as judged where judged.low < :k
"""


@dataclass(frozen=True)
class LeftOut:
    """Who has to leave at a node."""

    number: int
    """People; where more than may leave were found, at least so many."""
    people: Table | None
    """`person`; None where nobody leaves, or more than may."""


class PersonsEvaluator:
    """Evaluates nodes over several tables. Implements `search.base.Evaluator`; rows are people."""

    monotone = True
    relaxed = False
    lowest_height = 0
    least_class = 0

    def __init__(self, engine: Engine, coded: CodedTables, lattice: Lattice, limit: int, scratch: Scratch) -> None:
        self.lattice = lattice
        self.limit = max(0, min(limit, coded.persons - 1))
        self._engine = engine
        self._coded = coded
        self._scratch = scratch
        self._verdicts: dict[Node, Verdict] = {}

    @property
    def heights(self) -> Node:
        return tuple(item.height for item in self._coded.hierarchies)

    @property
    def leaves(self) -> tuple[int, ...]:
        return tuple(item.table.leaves for item in self._coded.hierarchies)

    @property
    def rows(self) -> int:
        return self._coded.persons

    @property
    def checks(self) -> int:
        return len(self._verdicts)

    def known(self) -> list[Verdict]:
        return [self._verdicts[node] for node in sorted(self._verdicts)]

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        for node in nodes:
            if node not in self._verdicts:
                self._verdicts[node] = self._judged(node)
        return [self._verdicts[node] for node in nodes]

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        return self.check(nodes)

    def level_figures(self) -> Sequence[Sequence[LevelFigures]]:
        return self._level_figures

    @cached_property
    def _level_figures(self) -> tuple[tuple[LevelFigures, ...], ...]:
        """Shares are taken of all rows of a column's tables, and told as if each person had one of them."""
        coded = self._coded
        tables = [item.table for item in coded.hierarchies]
        statement = frequency_sql.level_figures(coded.domains, tables, coded.persons)
        rows = sorted(self._engine.query(Statement("level figures", statement, fresh=True)), key=place_of_level)
        found: list[tuple[LevelFigures, ...]] = []
        for position, table in enumerate(tables):
            own = [row[2:] for row in rows if int(row[0]) == position]
            counted = coded.rows_of(position)
            levels = figures_of_levels(table, counted, own)
            scale = coded.persons / counted
            found.append(tuple(LevelFigures(level.share * scale, 0.0, 0.0, level.values) for level in levels))
        return tuple(found)

    # -- one node ------------------------------------------------------------------------------------------------

    def _judged(self, node: Node) -> Verdict:
        standing = len(self._scratch)
        try:
            at_node = _AtNode(self._engine, self._coded, node, self._scratch)
            left = at_node.left_out(self.limit)
            if left.number > self.limit:
                return Verdict(node, left.number, 0, self._figures(node, None))
            classes = at_node.classes(left.people)
            return Verdict(node, left.number, classes, self._figures(node, left))
        finally:
            self._scratch.drop_since(standing)

    def _figures(self, node: Node, left: LeftOut | None) -> dict[str, float]:
        """What leaving people out costs each column, in the terms of `loss`; nothing where the node is refused."""
        names = [f"suppressed_leaves_{position}" for position in range(len(node))]
        if left is None or left.people is None:
            return dict.fromkeys(names, 0.0)
        leaves, rows = [0.0] * len(node), [0] * len(node)
        for table in self._coded.tables:
            statement = self._lost(table, node, left.people)
            [(lost, *sums)] = self._engine.query(Statement("rows left out", statement, fresh=True))
            for position, number in zip(table.bound.positions, sums, strict=True):
                leaves[position] += float(number)
                rows[position] += int(lost)
        coded = self._coded
        found: dict[str, float] = {}
        for position, name in enumerate(names):
            whole = coded.hierarchies[position].table.leaves
            scale = coded.persons / coded.rows_of(position)
            found[name] = left.number * whole + scale * (leaves[position] - rows[position] * whole)
        return found

    def _lost(self, table: CodedTable, node: Node, left: Table) -> exp.Select:
        """One row: the rows of those who leave, and for each column the leaves under their labels."""
        weight = column("n", "said") if table.bound.known else literal(1)
        sums = [named(total(weight), "n")]
        select = exp.select().from_(table_expression(table.said, "said"))
        select = select.join(table_expression(left, "left_out"), on=_same("person", "said", "left_out"), copy=False)
        select = select.join(table_expression(table.kinds, "kinds"), on=_same("kind", "said", "kinds"), copy=False)
        for place, position in enumerate(table.bound.positions):
            hierarchy, level = self._coded.hierarchies[position].table, node[position]
            under: exp.Expression = literal(hierarchy.leaves)
            if level < hierarchy.height:
                alias, value = f"h_{place}", column(f"q_{place}", "kinds")
                under = literal(1)
                if level:
                    on = equal(value, column("value", alias))
                    select = select.join(left_join(table_expression(hierarchy.table, alias), on), copy=False)
                    under = exp.Case().when(is_null(value.copy()), literal(1)).else_(column(f"leaves_{level}", alias))
            sums.append(named(total(exp.Mul(this=weight.copy(), expression=under)), f"leaves_{place}"))
        return select.select(*sums, copy=False)


def remaining(engine: Engine, coded: CodedTables, node: Node, limit: int, scratch: Scratch) -> tuple[Table, int]:
    """Everybody who stays at a node, by their own key `who`, and how many leave.

    Nobody stays where more would have to leave than may.
    """
    left = _AtNode(engine, coded, node, scratch).left_out(limit)
    people = {"people": coded.people.said}
    statement = query("select people.person, people.who from people", people)
    if left.people is not None:
        statement = query(
            "select people.person, people.who from people left join left_out on people.person = left_out.person"
            " where left_out.person is null",
            {**people, "left_out": left.people},
        )
    elif left.number:
        statement = query("select people.person, people.who from people where 1 = 0", people)
    stay = scratch.create("people who stay", "stay", statement)
    engine.analyze("people who stay", stay)
    return stay, left.number


class _AtNode:
    """The tables of one node, made when they are needed."""

    def __init__(self, engine: Engine, coded: CodedTables, node: Node, scratch: Scratch) -> None:
        self._engine = engine
        self._coded = coded
        self._scratch = scratch
        self._k = coded.bound.k
        self._maps = {table.bound.name: self._map(table, node) for table in coded.tables}
        self._held: dict[str, Table] = {}

    def _map(self, table: CodedTable, node: Node) -> Table:
        """Each kind with the number of its class."""
        keys = table.keys(node)
        statement = query("select kinds.kind, 1 as item from kinds", {"kinds": table.kinds})
        if keys:
            statement = query(_KIND, {"kinds": table.kinds}, first=keys[0])
            [window] = statement.find_all(exp.Window)
            window.set("order", exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in keys]))
        return self._scratch.create("classes of kinds", "map", statement)

    def left_out(self, limit: int) -> LeftOut:
        """Everybody who has to leave, as long as they are within the limit."""
        number, left = self._first(limit)
        if number > limit:
            return LeftOut(number, None)
        # What the first look covers is asked again only when somebody has left.
        sizes = self._sizes if number else self._larger
        while sizes:
            found = self._round(sizes, left)
            more = self._count(found)
            if not more:
                break
            left, number, sizes = self._joined(left, found), number + more, self._sizes
            if number > limit:
                return LeftOut(number, None)
        return LeftOut(number, left)

    def classes(self, left: Table | None) -> int:
        """Classes of the rows of people who stay."""
        people, kind = self._coded.people.said, self._maps[self._coded.people.bound.name]
        statement = query(
            "select count(distinct kind.item) as n from people join kind on people.kind = kind.kind",
            {"people": people, "kind": kind},
        )
        if left is not None:
            statement = statement.join(
                left_join(table_expression(left, "left_out"), _same("person", "people", "left_out"))
            ).where(is_null(column("person", "left_out")))
        [(number,)] = self._engine.query(Statement("count classes", statement, fresh=True))
        return int(number)

    @cached_property
    def _sizes(self) -> list[tuple[int, ...]]:
        """How many rows of each other table are known, in every way, few first."""
        ranges = [range(table.bound.known + 1) for table in self._coded.others]
        return sorted(product(*ranges), key=lambda sizes: (sum(sizes), sizes))

    @cached_property
    def _larger(self) -> list[tuple[int, ...]]:
        return [sizes for sizes in self._sizes if sum(sizes) > 1]

    # -- the first look: at most one row is known, from the counts of combinations ---------------------------------

    def _first(self, limit: int) -> tuple[int, Table | None]:
        """Everybody who fails by the own row and one more; where that is more than may be, at least so many."""
        people = self._coded.people
        own = self._maps[people.bound.name]
        alone = query(
            "select class.item as class, sum(said.persons) as high from said join class on said.kind = class.kind"
            " group by class.item having sum(said.persons) < :k",
            {"said": people.frequency, "class": own},
            k=self._k,
        )
        [(few,)] = self._engine.query(
            Statement("small classes", query("select coalesce(sum(f.high), 0) as n from f", {"f": alone}), fresh=True)
        )
        if int(few) > limit:
            return int(few), None
        failing = [(table, self._failing(table, own)) for table in self._coded.others]
        found = [
            (
                table,
                few_,
                self._engine.query(
                    Statement(
                        "small classes",
                        query("select count(*) as n, coalesce(max(f.low), 0) as low from f", {"f": few_}),
                        fresh=True,
                    )
                )[0],
            )
            for table, few_ in failing
        ]
        least = max([int(few), *(int(low) for _, _, (_, low) in found)])
        if least > limit or not (int(few) or any(int(number) for _, _, (number, _) in found)):
            return least, None
        parts: list[exp.Query] = [
            query(
                "select people.person from people join class on people.kind = class.kind"
                " join f on class.item = f.class",
                {"people": people.said, "class": own, "f": alone},
            )
        ]
        parts += [
            query(
                "select said.person from said join class on said.person_kind = class.kind"
                " join kind on said.kind = kind.kind join f on class.item = f.class and kind.item = f.item",
                {"said": table.said, "class": own, "kind": self._maps[table.bound.name], "f": few_},
            )
            for table, few_, (number, _) in found
            if int(number)
        ]
        left = self._scratch.create("people who leave", "leave", _distinct(parts))
        return self._count(left), left

    def _failing(self, table: CodedTable, own: Table) -> Table:
        """Classes of people with a row of a table that fewer than k people have, and how many at least have it.

        The people of a class are at least those of its largest combination, and at most those of all; who is in several
        is counted only where that decides.
        """
        kind = self._maps[table.bound.name]
        unsure = self._scratch.create(
            "small classes",
            "unsure",
            query(_SMALL, {"said": table.frequency, "class": own, "kind": kind}, k=self._k),
        )
        counted = query(
            "select unsure.class, unsure.item, count(distinct said.person) as low from said"
            " join class on said.person_kind = class.kind join kind on said.kind = kind.kind"
            " join unsure on class.item = unsure.class and kind.item = unsure.item"
            " where unsure.high >= :k group by unsure.class, unsure.item having count(distinct said.person) < :k",
            {"said": table.said, "class": own, "kind": kind, "unsure": unsure},
            k=self._k,
        )
        sure = query("select u.class, u.item, u.low from u where u.high < :k", {"u": unsure}, k=self._k)
        union = exp.union(sure, counted, distinct=False)
        return self._scratch.create("small classes", "failing", union)

    # -- rounds ------------------------------------------------------------------------------------------------------

    def _round(self, sizes: Sequence[tuple[int, ...]], left: Table | None) -> Table:
        """Everybody who stays so far and fails by some combination of what may be known."""
        parts: list[exp.Query] = []
        made: list[Table] = []
        for known in sizes:
            found, names = self._combinations(known, left)
            table = self._scratch.create("combinations", "combined", found)
            made.append(table)
            keys = [column(name, "f") for name in names]
            few = exp.select(*keys).from_(table_expression(table, "f")).group_by(*(key.copy() for key in keys))
            few = few.having(exp.LT(this=exp.Count(this=exp.Star()), expression=literal(self._k)))
            on = all_of([_same(name, "f", "few") for name in names])
            parts.append(query("select f.person from f join few on :same", {"f": table, "few": few}, same=on))
        fails = self._scratch.create("people who fail", "fails", _distinct(parts))
        self._scratch.drop(*made)
        return fails

    def _combinations(self, known: tuple[int, ...], left: Table | None) -> tuple[exp.Select, list[str]]:
        """Every person with every combination of so many rows of each table; each combination stands once."""
        people = self._coded.people
        select = query(
            "select people.person, class.item as class from people join class on people.kind = class.kind",
            {"people": people.said, "class": self._maps[people.bound.name]},
        )
        names = ["class"]
        for table, size in zip(self._coded.others, known, strict=True):
            if not size:
                continue
            held = self._held_of(table)
            before: list[tuple[str, str]] = []
            for number in range(size):
                alias = f"{table.bound.name}_{number}"
                conditions = [_same("person", "people", alias)]
                if before:
                    item = column("item", alias)
                    conditions.append(exp.GTE(this=item, expression=column("item", before[-1][0])))
                    repeated: exp.Expression = literal(0)
                    for other, _ in before:
                        same = exp.Case().when(equal(column("item", other), item.copy()), literal(1)).else_(literal(0))
                        repeated = exp.Add(this=repeated, expression=same)
                    enough = exp.GT(this=column("copies", alias), expression=exp.Paren(this=repeated))
                    conditions.append(enough)
                select = select.join(table_expression(held, alias), on=all_of(conditions), copy=False)
                name = f"item_{len(names)}"
                select = select.select(named(column("item", alias), name), copy=False)
                names.append(name)
                before.append((alias, name))
        if left is not None:
            gone = left_join(table_expression(left, "left_out"), _same("person", "people", "left_out"))
            select = select.join(gone, copy=False).where(is_null(column("person", "left_out")), copy=False)
        return select, names

    def _held_of(self, table: CodedTable) -> Table:
        """Each person with the generalized rows of a table, and how many of each."""
        name = table.bound.name
        if name not in self._held:
            statement = query(
                "select said.person, kind.item, sum(said.n) as copies from said join kind on said.kind = kind.kind"
                " group by said.person, kind.item",
                {"said": table.said, "kind": self._maps[name]},
            )
            self._held[name] = self._scratch.create("rows of people", "held", statement)
            self._engine.analyze("rows of people", self._held[name])
        return self._held[name]

    def _joined(self, left: Table | None, found: Table) -> Table:
        if left is None:
            return found
        both = [query("select one.person from one", {"one": table}) for table in (left, found)]
        return self._scratch.create("people who leave", "leave", exp.union(*both, distinct=False))

    def _count(self, table: Table) -> int:
        [(number,)] = self._engine.query(Statement("count people", query("select count(*) as n from t", {"t": table})))
        return int(number)


def _same(name: str, one: str, other: str) -> exp.Expression:
    return equal(column(name, one), column(name, other))


def _distinct(parts: Sequence[exp.Query]) -> exp.Select:
    listed = parts[0] if len(parts) == 1 else exp.union(*parts, distinct=False)
    return query("select distinct listed.person from listed", {"listed": listed})
