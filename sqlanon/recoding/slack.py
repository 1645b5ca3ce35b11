"""Classes of a recoding in rounds that tell where their rows come from, to whoever knows the algorithm.

`privacy.adversary.slack` refuses them. Reads the classes while they are being made; works in scratch tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.downcoding import Downcoding, KnownRule, LabelLevels, downcoding
from sqlanon.auditor.request import text_key
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.source.combinations import Combinations
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.sql.build import all_of, equal, expression, named, query, subquery, union_all
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import whole

EVERYBODY = 0
"""The number of the class of everybody: rows at the top of every column, and those that are in no class."""


class PinnedClasses:
    """Finds the classes that have less slack than is asked for."""

    def __init__(self, run: Run, made: Combinations, stored: Sequence[StoredHierarchy], least: int) -> None:
        self.run = run
        self.least = least
        self.levels = [
            LabelLevels(item.table.table, texts_of(run.engine, item), domain.null is not None)
            for item, domain in zip(stored, made.domains, strict=True)
        ]
        self.tops = [item.top for item in stored]
        only_k = run.binding.spec.privacy.only_k and not made.persons
        self.cap = run.binding.k - 1 if only_k else None

    def of(self, classes: exp.Query, *, pooled: bool) -> tuple[Table, int]:
        """The classes to refuse, as a table of `id`, and how many; `pooled`: some were refused before.

        Where only the class of everybody is pinned, those of the last round are: their rows hide it.
        """
        run = self.run
        with run.scratch.apart("slack") as scratch:
            try:
                found = downcoding(classes, self.levels, KnownRule(self.cap, pooled=pooled), scratch)
            except UsageError as error:
                raise UsageError(f"privacy.adversary.slack: {error}; local.iterations makes fewer") from None
            chosen = run.scratch.create("classes without slack", "refused", found.without(self.least))
            number, everybody = self._numbers(chosen)
            if number and number == everybody:
                run.scratch.drop(chosen)
                chosen = run.scratch.create("classes without slack", "refused", self._last_round(found))
                number, everybody = self._numbers(chosen)
        return chosen, number - everybody

    def _numbers(self, chosen: Table) -> tuple[int, int]:
        [row] = self.run.engine.query(
            Statement("count classes", query(_CHOSEN, {"chosen": chosen}, everybody=EVERYBODY), fresh=True)
        )
        return int(row[0]), int(row[1])

    def _last_round(self, found: Downcoding) -> exp.Select:
        """The classes of the coarsest vector, where another one is below all others."""
        items = [column("node"), *(column(f"g_{place}") for place in range(len(self.levels)))]
        select = exp.select(*items).distinct().from_(table_expression(found.classes))
        select = select.where(expression("id <> :everybody and node is not null", everybody=EVERYBODY))
        read = self.run.engine.query(Statement("nodes of classes", select, fresh=True))
        nodes = {int(number): tuple(int(level) for level in node) for number, *node in read}
        first = [
            number
            for number, node in nodes.items()
            if all(low <= high for other in nodes.values() for low, high in zip(node, other, strict=True))
        ]
        rest = sorted((sum(node), node, number) for number, node in nodes.items() if number not in first)
        if not rest:
            raise InfeasibleError(
                "privacy.adversary.slack: whoever knows the algorithm could tell where the rows come from that are in "
                "no class of their own; a greater k or columns.*.levels.min may leave a choice, slack: 0 accepts it"
            )
        return query("select id from classes as c where node = :node", {"classes": found.classes}, node=rest[-1][2])


_CHOSEN = """
select count(*) as number, coalesce(sum(case when id = :everybody then 1 else 0 end), 0) as everybody from chosen as c
"""

_BY_LABELS = """
select m.released as id, sum(a.n) as n from parts as a join merged as m on m.class = a.class group by m.released
"""


def texts_of(engine: Engine, hierarchy: StoredHierarchy) -> list[exp.Expression]:
    """The texts of the labels of each level, as a release has them."""
    return [
        text_key(column(f"label_{level}"), family, engine.traits) for level, family in enumerate(hierarchy.families)
    ]


def classes_by_labels(parts: Table, merged: Table, left: Table, tops: Sequence[str]) -> exp.Query:
    """Classes as downcoding reads them: `id`, rows `n`, labels `q_i`. The class of everybody is number 0, with the rows
    that are in none."""
    places = range(len(tops))
    labels = exp.select(column("released"), *(column(f"label_{place}") for place in places))
    labels = labels.from_(table_expression(merged)).where(equal(column("class"), column("released")))
    top = all_of([equal(column(f"label_{place}", "l"), literal(top)) for place, top in enumerate(tops)])
    sized = subquery(query(_BY_LABELS, {"parts": parts, "merged": merged}), "s")
    items = [column("id", "s"), column("n", "s"), *(named(column(f"label_{p}", "l"), f"q_{p}") for p in places)]
    own = exp.select(*items, named(exp.Case().when(top, literal(1)).else_(literal(0)), "top")).from_(sized)
    own = own.join(subquery(labels, "l"), on=equal(column("released", "l"), column("id", "s")), copy=False)
    number = exp.Case().when(equal(column("top"), literal(1)), literal(EVERYBODY)).else_(column("id"))
    rest = exp.select(
        named(literal(0), "id"),
        column("n"),
        *(named(cast(literal(top), "text"), f"q_{place}") for place, top in enumerate(tops)),
    ).from_(table_expression(left))
    names = [column(f"q_{place}") for place in places]
    both = union_all([exp.select(named(number, "id"), column("n"), *names).from_(subquery(own, "own")), rest])
    rows = named(whole(exp.Sum(this=column("n"))), "n")
    select = exp.select(column("id"), rows, *(name.copy() for name in names)).from_(subquery(both, "both"))
    return select.group_by(column("id"), *(name.copy() for name in names))
