"""Downcoding: what somebody who knows the algorithm learns of the finer cells that released rows come from.

Cohen, "Attacks on Deidentification's Defenses" (2022). A recoding made in rounds releases the finest classes first. Of
a class of a later round two things are known: none of its rows lies in a finer class that was released, and each other
cell of an earlier round holds fewer than k of them. m cells for n rows leave a *slack* of m * (k - 1) - n: at 0 every
cell is full, and everybody knows how many rows it has. A single cell that is possible pins its rows as well.

Reads a release and hierarchy tables; makes scratch tables. In the statements, `known` tables have a `label` of the
hierarchy, the lowest and the highest level that it stands at (`low`, `high`) and its `code` at the lowest; `up` tables
every code `ca` of a level `a` with its code `cb` at each level `b` from there on. `classes` has `id`, rows `n`, for
each column its level `g_i` and code `k_i`, the number of its `node` (the vector of levels), and `sure`: 1 where no
label stands at a second level, so that the node is known; `everybody`: 1 where all labels are tops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.errors import UsageError
from sqlanon.hierarchies.base import TOP
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import all_of, count, equal, expression, is_null, is_present, named, query, subquery, union_all
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

MOST_NODES = 1_000
"""Vectors of levels that classes of one release may stand at: each is compared with each."""
FIGURES = ("classes", "people", "pinned", "pinned_classes", "narrowed", "slack", "contradicting", "unread")

Labels = Sequence[exp.Expression]
"""The texts of the labels of each level, over a hierarchy table."""


@dataclass(frozen=True)
class LabelLevels:
    """The hierarchy of a quasi-identifier: its table and the texts of the labels of its levels, from 0 to the top."""

    table: Table
    labels: Labels
    has_null: bool
    """Whether the source has rows without a value."""

    @property
    def height(self) -> int:
        return len(self.labels) - 1


@dataclass(frozen=True)
class KnownRule:
    """What is known of the algorithm."""

    cap: int | None
    """The most rows of a cell that was not released: k less one. None: cells fail for other reasons too."""
    pooled: bool
    """Classes without slack were refused, and their rows lie in the class of everybody."""


@dataclass(frozen=True)
class Downcoding:
    """The classes of a release by levels, and the query that judges each against every known node below it."""

    classes: Table
    judged: exp.Select
    ups: tuple[Table, ...]

    def figures(self) -> exp.Select:
        """One row of FIGURES: classes and people, whom the release pins to finer cells, and the least slack of the
        others. `contradicting`: classes that the algorithm cannot have released. `unread`: rows of other labels."""
        return query(_COUNTED, {"classes": self.classes, "found": query(_OF_CLASSES, {"judged": self.judged})})

    def without(self, slack: int) -> exp.Select:
        """The classes that are pinned, or have less slack."""
        return query(_WITHOUT, {"found": query(_OF_CLASSES, {"judged": self.judged})}, slack=slack)


def downcoding(
    released: exp.Query, hierarchies: Sequence[LabelLevels], rule: KnownRule, scratch: Scratch
) -> Downcoding:
    """Look at the classes of a release: `released` has `id`, rows `n` and the texts of the labels, `q_0` and on."""
    known = []
    for place, item in enumerate(hierarchies):
        listed = scratch.create("labels of levels", f"dl{place}", codes(item.table, item.labels))
        known_labels = known_of(listed, item.height, has_null=item.has_null)
        known.append(scratch.create("labels of levels", f"dk{place}", known_labels))
        scratch.drop(listed)
    heights = [item.height for item in hierarchies]
    classes = scratch.create("classes by levels", "dc", classes_of(released, known, heights))
    nodes = scratch.create("nodes of classes", "dn", nodes_of(classes, len(hierarchies)))
    read = exp.select(exp.Star()).from_(table_expression(nodes))
    vectors = scratch.engine.query(Statement("nodes of classes", read, fresh=True))
    if len(vectors) > MOST_NODES:
        raise UsageError(f"classes stand at {len(vectors)} vectors of levels; more than {MOST_NODES} are not compared")
    ups = []
    for place, item in enumerate(hierarchies):
        levels = sorted({int(vector[1 + place]) for vector in vectors}) or [0]
        above = steps_between(item.table, item.height, levels, has_null=item.has_null)
        ups.append(scratch.create("labels above labels", f"du{place}", above))
    return Downcoding(classes, judged_by(classes, nodes, ups, rule), tuple(ups))


_OF_CLASSES = """
select id, max(n) as n, min(slack) as slack, max(case when cells < total then 1 else 0 end) as narrowed,
  max(case when slack = 0 or (cells = 1 and coalesce(slack, 0) >= 0) then 1 else 0 end) as pinned,
  max(case when cells < 1 or slack < 0 then 1 else 0 end) as contradicting
from judged as j group by id
"""

_WITHOUT = "select id from found as d where contradicting = 0 and (pinned = 1 or slack < :slack)"

_COUNTED = """
select
  sum(case when c.node is null then 0 else 1 end) as classes,
  coalesce(sum(case when c.node is null then 0 else c.n end), 0) as people,
  coalesce(sum(case when d.pinned = 1 and d.contradicting = 0 then d.n else 0 end), 0) as pinned,
  coalesce(sum(case when d.pinned = 1 and d.contradicting = 0 then 1 else 0 end), 0) as pinned_classes,
  coalesce(sum(case when d.narrowed = 1 and d.contradicting = 0 then d.n else 0 end), 0) as narrowed,
  min(case when d.pinned = 0 and d.contradicting = 0 and d.slack < 1e12 then cast(d.slack as bigint) end) as slack,
  coalesce(sum(d.contradicting), 0) as contradicting,
  coalesce(sum(case when c.node is null then c.n else 0 end), 0) as unread
from classes as c left join found as d on d.id = c.id
"""


def codes(hierarchy: Table, labels: Labels) -> exp.Query:
    """Every label at each of its levels: `label`, `level`, `code`, the number of values of the hierarchy under it
    (`leaves`) and the `least` of their codes."""
    height = len(labels) - 1
    least = exp.Min(this=column("code_0")) if height else literal(0)
    parts: list[exp.Query] = []
    for level, label in enumerate(labels):
        code = literal(1) if level == height else column(f"code_{level}")
        items = [named(label.copy(), "label"), named(literal(level), "level"), named(code, "code")]
        counts = [named(count(), "leaves"), named(least.copy(), "least")]
        select = exp.select(*items, *counts).from_(table_expression(hierarchy))
        keys = [label.copy()] if level == height else [label.copy(), code.copy()]
        parts.append(select.where(is_present(label.copy())).group_by(*keys))
    return union_all(parts)


_KNOWN = """
select e.label as label, e.level as low, t.high as high, e.code as code
from codes as e
join (
  select label, min(level) as low, max(level) as high, min(leaves) as fewest, max(leaves) as most,
    min(least) as one, max(least) as other, count(*) as times, count(distinct level) as levels
  from (
    select label, level, least, leaves + (case when level = :height then :null else 0 end) as leaves from codes as c
  ) as l
  group by label
) as t on e.label = t.label and e.level = t.low
where t.fewest = t.most and t.one = t.other and t.times = t.levels
"""


def known_of(listed: Table, height: int, *, has_null: bool) -> exp.Query:
    """The labels that mean one set of values, whatever level they stand at; NULL and a suppressed cell among them."""
    found: list[exp.Query] = [query(_KNOWN, {"codes": listed}, null=int(has_null), height=height)]
    nothing = cast(exp.Null(), "text")
    if has_null:
        found.append(_row(nothing, 0, max(0, height - 1), 0))
    star = equal(column("label"), cast(literal(TOP), "text"))
    stars = exp.select(count()).from_(table_expression(listed)).where(star)
    cell = exp.select(exp.Star()).from_(subquery(_row(cast(literal(TOP), "text"), height, height, 1), "cell"))
    found.append(cell.where(equal(exp.Subquery(this=stars), literal(0))))
    return union_all(found)


def _row(label: exp.Expression, low: int, high: int, code: int) -> exp.Select:
    values = {"label": label, "low": literal(low), "high": literal(high), "code": literal(code)}
    return exp.select(*(named(value, name) for name, value in values.items()))


def steps_between(hierarchy: Table, height: int, levels: Sequence[int], *, has_null: bool) -> exp.Query:
    """The codes of each of these levels under those of the levels from there on."""
    parts: list[exp.Query] = []
    for low in levels:
        for high in (level for level in levels if level >= low):
            pair = [column(f"code_{level}") if level < height else literal(1) for level in (low, high)]
            items = _pair(low, pair[0], high, pair[1])
            parts.append(exp.select(*items).distinct().from_(table_expression(hierarchy)))
            if has_null and low < height:
                parts.append(exp.select(*_pair(low, literal(0), high, literal(int(high == height)))))
    return union_all(parts)


def _pair(low: int, below: exp.Expression, high: int, above: exp.Expression) -> list[exp.Alias]:
    values = {"a": literal(low), "ca": below, "b": literal(high), "cb": above}
    return [named(value, name) for name, value in values.items()]


def classes_of(released: exp.Query, tables: Sequence[Table], heights: Sequence[int]) -> exp.Select:
    """The classes of a release (`id`, `n`, texts `q_i`) by levels and codes; those with a label that nobody knows have
    no node."""
    width = range(len(tables))
    items: list[exp.Expression] = [column("id", "r"), column("n", "r")]
    select = exp.select().from_(subquery(released, "r"))
    at_top = all_of(equal(column("high", f"known_{place}"), literal(height)) for place, height in enumerate(heights))
    for place in width:
        alias = f"known_{place}"
        on = _same(column(f"q_{place}", "r"), column("label", alias))
        select = select.join(table_expression(tables[place], alias), on=on, join_type="left", copy=False)
        items += [named(column("low", alias), f"g_{place}"), named(column("code", alias), f"k_{place}")]
    read = all_of(is_present(column("low", f"known_{place}")) for place in width)
    one = all_of(equal(column("low", f"known_{place}"), column("high", f"known_{place}")) for place in width)
    sure = exp.Case().when(one, literal(1)).else_(literal(0))
    order = exp.Order(expressions=[exp.Ordered(this=column("low", f"known_{place}")) for place in width])
    node = exp.Case().when(read, exp.Window(this=exp.DenseRank(), order=order))
    everybody = exp.Case().when(at_top, literal(1)).else_(literal(0))
    more = {"sure": sure, "everybody": everybody, "node": node}
    return select.select(*items, *(named(value, name) for name, value in more.items()), copy=False)


def _same(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    """Whether two texts are equal, NULL equal to NULL; written so that engines can join by it."""
    filled = [exp.Coalesce(this=value.copy(), expressions=[cast(literal(""), "text")]) for value in (left, right)]
    nothing = [exp.Case().when(is_null(value.copy()), literal(1)).else_(literal(0)) for value in (left, right)]
    return all_of([equal(*filled), equal(*nothing)])


def _matched(*pairs: tuple[str, str]) -> exp.Expression:
    """Equal columns, each named as alias.name.

    >>> _matched(("a.x", "b.y")).sql()
    '"a"."x" = "b"."y"'
    """
    sides = [[column(*reversed(name.split("."))) for name in pair] for pair in pairs]
    return all_of(equal(left, right) for left, right in sides)


def nodes_of(classes_table: Table, width: int) -> exp.Select:
    """The vectors of levels that classes stand at, and whether each is known to be one that rows were recoded by."""
    levels = [column(f"g_{place}") for place in range(width)]
    items = [column("node"), *levels, named(exp.Max(this=column("sure")), "sure")]
    select = exp.select(*items).from_(table_expression(classes_table)).where(is_present(column("node")))
    return select.group_by(column("node"), *(level.copy() for level in levels))


_JUDGED = """
select id, n, total, cells, :slack as slack
from (select id, n, total, everybody, first, total - coalesce(held, 0) as cells from each as e) as f
where total > 1
"""


def _step(name: str, alias: str = "") -> exp.Table:
    return table_expression(Table((name,)), alias or name)


def _under_label(counts: str, label: tuple[str, str], below: str, place: int) -> exp.Expression:
    """The counts of labels under a label: its level and its code by their aliases, and where the lower level is."""
    level, code = label
    return _matched(
        (f"{counts}.b", f"{level}.g_{place}"),
        (f"{counts}.cb", f"{code}.k_{place}"),
        (f"{counts}.a", f"{below}.g_{place}"),
    )


def judged_by(classes_table: Table, nodes_table: Table, ups: Sequence[Table], rule: KnownRule) -> exp.Select:
    """For each class and each node below it: `cells` of the node that its rows can come from, of `total`, and `slack`.

    A cell is impossible where it, or all of it, was released: its rows would be there. A possible one holds at most
    its cap of rows, or it would have been released. Where classes without slack were refused (pooled), whole ones may
    lie in the class of everybody: of it, only the cells of the first node have a cap.
    """
    width = range(len(ups))
    steps_of = {f"lo_{place}": _under(table) for place, table in enumerate(ups)}
    pairs = _pairs(nodes_table, len(ups))
    full = _full(classes_table, nodes_table, ups)
    held = _held(nodes_table, ups)
    total: exp.Expression = cast(column("number", "lo_0"), "double")
    for place in width[1:]:
        total = exp.Mul(this=total, expression=cast(column("number", f"lo_{place}"), "double"))
    select = exp.select(
        column("id", "c"), column("n", "c"), named(total, "total"), named(column("number", "h"), "held")
    )
    select = select.from_(table_expression(classes_table, "c"))
    select = select.join(
        _step("pairs", "p"), on=expression("p.above = c.node and p.below <> p.above and p.sure = 1"), copy=False
    )
    select = select.join(table_expression(nodes_table, "m"), on=expression("m.node = p.below"), copy=False)
    for place in width:
        on = _under_label(f"lo_{place}", ("c", "c"), "m", place)
        select = select.join(_step(f"lo_{place}"), on=on, copy=False)
    cells = [(f"h.k_{place}", f"c.k_{place}") for place in width]
    on = _matched(("h.above", "c.node"), ("h.below", "p.below"), *cells)
    select = select.join(_step("held", "h"), on=on, join_type="left", copy=False)
    select = select.select(column("everybody", "c"), column("first", "p"), copy=False)
    slack: exp.Expression = cast(exp.Null(), "double")
    if rule.cap is not None:
        slack = expression("cells * :cap - n", cap=rule.cap)
    if rule.cap is not None and rule.pooled:
        slack = exp.Case().when(expression("everybody = 0 or first = 1"), slack)
    outer = query(_JUDGED, {"each": select}, slack=slack)
    ctes: dict[str, exp.Query] = {"pairs": pairs, **steps_of, "full": full, "held": held}
    for name, found in ctes.items():
        outer = outer.with_(exp.to_identifier(name, quoted=True), as_=found, copy=False)
    return outer


def _pairs(nodes_table: Table, width: int) -> exp.Select:
    """Nodes with those above them, themselves included; `first`: no class stands elsewhere than above it."""
    below = all_of(
        exp.LTE(this=column(f"g_{place}", "m"), expression=column(f"g_{place}", "c")) for place in range(width)
    )
    select = exp.select(named(column("node", "m"), "below"), named(column("node", "c"), "above"), column("sure", "m"))
    number = exp.Window(this=count(), partition_by=[column("node", "m")])
    everything = exp.Subquery(this=exp.select(count()).from_(table_expression(nodes_table)))
    first = exp.Case().when(equal(number, everything), literal(1)).else_(literal(0))
    select = select.select(named(first, "first"), copy=False).from_(table_expression(nodes_table, "m"))
    return select.join(table_expression(nodes_table, "c"), on=below, copy=False)


def _under(up: Table) -> exp.Select:
    """How many labels of a level lie under a label of another."""
    return query("select b, cb, a, count(*) as number from up as u group by b, cb, a", {"up": up})


def _full(classes_table: Table, nodes_table: Table, ups: Sequence[Table]) -> exp.Select:
    """The cells of each known node that were released, themselves or every part of them."""
    width = range(len(ups))
    items = [named(column("above", "p"), "node"), named(column("below", "p"), "origin")]
    keys: list[exp.Expression] = [column("above", "p"), column("below", "p")]
    select = exp.select().from_(_step("pairs", "p"))
    select = select.join(table_expression(classes_table, "d"), on=expression("d.node = p.below"), copy=False)
    select = select.join(
        table_expression(nodes_table, "m"), on=expression("m.node = p.above and m.sure = 1"), copy=False
    )
    for place in width:
        alias = f"u_{place}"
        on = _matched((f"{alias}.a", f"d.g_{place}"), (f"{alias}.ca", f"d.k_{place}"), (f"{alias}.b", f"m.g_{place}"))
        select = select.join(table_expression(ups[place], alias), on=on, copy=False)
        items.append(named(column("cb", alias), f"k_{place}"))
        keys.append(column("cb", alias))
    raised = select.select(*items, named(count(), "number"), copy=False).group_by(*keys, copy=False)
    outer = exp.select(column("node", "r"), *(column(f"k_{place}", "r") for place in width)).distinct()
    outer = outer.from_(subquery(raised, "r"))
    outer = outer.join(table_expression(nodes_table, "m"), on=expression("m.node = r.node"), copy=False)
    outer = outer.join(table_expression(nodes_table, "o"), on=expression("o.node = r.origin"), copy=False)
    product: exp.Expression = cast(column("number", "l_0"), "double")
    for place in width:
        alias = f"l_{place}"
        outer = outer.join(_step(f"lo_{place}", alias), on=_under_label(alias, ("m", "r"), "o", place), copy=False)
        if place:
            product = exp.Mul(this=product, expression=cast(column("number", alias), "double"))
    return outer.where(equal(product, cast(column("number", "r"), "double")))


def _held(nodes_table: Table, ups: Sequence[Table]) -> exp.Select:
    """How many such cells of a node lie under each label vector of a node above it."""
    width = range(len(ups))
    select = exp.select(column("above", "p"), column("below", "p")).from_(_step("full", "f"))
    select = select.join(_step("pairs", "p"), on=expression("p.below = f.node and p.below <> p.above"), copy=False)
    select = select.join(table_expression(nodes_table, "m"), on=expression("m.node = p.below"), copy=False)
    select = select.join(table_expression(nodes_table, "c"), on=expression("c.node = p.above"), copy=False)
    keys: list[exp.Expression] = [column("above", "p"), column("below", "p")]
    for place in width:
        alias = f"u_{place}"
        on = _matched((f"{alias}.a", f"m.g_{place}"), (f"{alias}.ca", f"f.k_{place}"), (f"{alias}.b", f"c.g_{place}"))
        select = select.join(table_expression(ups[place], alias), on=on, copy=False)
        select = select.select(named(column("cb", alias), f"k_{place}"), copy=False)
        keys.append(column("cb", alias))
    return select.select(named(cast(count(), "double"), "number"), copy=False).group_by(*keys, copy=False)
