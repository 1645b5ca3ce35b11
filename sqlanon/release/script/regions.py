"""The part of a script that recodes the source by regions: lookup tables written out, the source by their labels.

What follows takes the recoded rows for the source, and publishes them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from sqlanon.auditor.breaches import GuardingTaxonomy, breaches, in_one_table, nobody_exposed
from sqlanon.engines.base import Engine
from sqlanon.hierarchies.base import TOP, Family, Formula
from sqlanon.recoding.kinds import NodeLookup, RegionLookup, Text
from sqlanon.release.script.pages import Pages
from sqlanon.source.binding import Binding, BoundColumn, BoundSensitive
from sqlanon.sql.build import all_of, any_of, count, equal, is_null, named, query, scalar
from sqlanon.sql.relations import Table, cast, column, explained, literal, table_expression


@dataclass(frozen=True)
class Placed:
    """A quasi-identifier, its text, and the table of its texts `value` with their `place`."""

    name: str
    plain: str
    """A plain name of the column, for what is made of it."""
    key: exp.Expression
    text: exp.Expression
    table: Table


@dataclass(frozen=True)
class Nodes:
    """A sensitive column that regions publish as nodes: `paths` has `label_0` to the root for each value,
    `published` the `level` and `label` of the nodes of each `region`. The value itself is kept as `kept`.
    """

    name: str
    key: exp.Expression
    text: exp.Expression
    height: int
    has_null: bool
    paths: Table
    published: Table
    kept: str


def recoded_rows(
    source: exp.Expression,
    columns: Sequence[Placed],
    regions: Table,
    names: Sequence[str],
    others: Sequence[str],
    nodes: Nodes | None = None,
) -> exp.Select:
    """The rows of the source, quasi-identifiers as the labels of their region, other columns as they are."""
    labels = {item.name: column(f"label_{item.plain}", "region") for item in columns}
    if nodes is not None:
        labels[nodes.name] = column("label", "node")
    items = [
        named(labels[name] if name in labels else column(name, "source"), name)
        for name in names
        if name in labels or name in others
    ]
    select = exp.select(*items).from_(source)
    inside: list[exp.Expression] = []
    for item in columns:
        alias = f"values_{item.plain}"
        absent = all_of([is_null(item.key.copy()), is_null(column("value", alias))])
        on = any_of([equal(item.text.copy(), column("value", alias)), absent])
        select = select.join(table_expression(item.table, alias), on=on, copy=False)
        place = cast(column("place", alias), "int")
        inside.append(exp.GTE(this=place, expression=cast(column(f"first_{item.plain}", "region"), "int")))
        inside.append(exp.LTE(this=place.copy(), expression=cast(column(f"last_{item.plain}", "region"), "int")))
    select = select.join(table_expression(regions, "region"), on=all_of(inside), copy=False)
    return select if nodes is None else _with_nodes(select, nodes)


def _with_nodes(select: exp.Select, nodes: Nodes) -> exp.Select:
    """Each row with the node that its region publishes above its value."""
    absent = all_of([is_null(nodes.key.copy()), is_null(column("label_0", "path"))])
    on = any_of([equal(nodes.text.copy(), column("label_0", "path")), absent])
    select = select.join(table_expression(nodes.paths, "path"), on=on, copy=False)
    above = [
        all_of([equal(column("level", "node"), literal(str(level))), _same(column("label", "node"), f"label_{level}")])
        for level in range(nodes.height + 1)
    ]
    same_region = equal(column("region", "region"), column("region", "node"))
    select = select.join(table_expression(nodes.published, "node"), on=all_of([same_region, any_of(above)]), copy=False)
    return select.select(named(column(nodes.name, "source"), nodes.kept), copy=False)


def _same(label: exp.Expression, name: str) -> exp.Expression:
    return any_of([equal(label, column(name, "path")), all_of([is_null(label.copy()), is_null(column(name, "path"))])])


def as_many_rows(source: exp.Expression, table: Table) -> exp.Select:
    """Whether two relations have equally many rows."""
    there, here = exp.select(count()).from_(source), exp.select(count()).from_(table_expression(table))
    return exp.select(equal(scalar(there), scalar(here)))


def write_breaches(pages: Pages, engine: Engine, binding: Binding, recoded: Table, nodes: Nodes) -> None:
    """Stop the script where a guarding node can be inferred with more than the probability that is allowed.

    Every row's breach probability, by the audit's own statements. They read the recoded rows, which still show guarding
    nodes and true values; neither is released.
    """
    asked, traits = binding.personalized, engine.traits
    if asked is None:
        raise ValueError("regions publish nodes for a personalized requirement")

    def shown(item: BoundSensitive, name: str) -> exp.Expression:
        return traits.key(traits.text(traits.key(column(name, "recoded"), item.family), item.family), Family.TEXT)

    known = {item.name: item for item in binding.sensitive}
    published, targets, people = in_one_table(
        table_expression(recoded, "recoded"),
        [column(name, "recoded") for name in binding.names],
        column(nodes.name, "recoded"),
        shown(known[nodes.name], nodes.kept),
        shown(known[asked.asked.guarding], asked.asked.guarding),
        None
        if binding.respondent is None
        else traits.key(column(binding.respondent.name, "recoded"), binding.respondent.family),
    )
    paths = query("select path.* from path where path.label_0 is not null", {"path": nodes.paths})
    found = breaches(
        published,
        targets,
        people,
        GuardingTaxonomy(paths, nodes.height, nodes.has_null),
        p=Fraction(asked.asked.p_breach),
        primary=asked.asked.primary,
    )
    table = pages.create("How likely guarding nodes are inferred, by their level.", "breaches", found)
    pages.stop_unless(
        f"No guarding node is inferred with more than {asked.asked.p_breach}.",
        nobody_exposed(table),
        "the release fails its audit: a guarding node can be inferred, or lies elsewhere in the taxonomy",
    )


def write_regions(pages: Pages, engine: Engine, binding: Binding, lookup: RegionLookup) -> Binding:
    """Write the lookup tables and the recoded source; the binding of that table, its columns released at level 0."""
    columns = []
    plain = explained(info.name for info in binding.columns)
    for item, places in zip(binding.quasi_identifiers, lookup.values, strict=True):
        rows = [(value, str(place)) for value, place in places]
        sentence = f"The values of {item.name} in their order."
        table = pages.create_text(sentence, f"values_{plain[item.name]}", ["value", "place"], rows)
        key, text = item.key("source", engine.traits), _text(engine, item)
        columns.append(Placed(item.name, plain[item.name], key, text, table))
    names = [f"{part}_{item.plain}" for item in columns for part in ("first", "last", "label")]
    rows_of_regions: Sequence[Sequence[Text]] = lookup.regions
    nodes = None
    if lookup.nodes is not None:
        nodes = _write_nodes(pages, engine, binding, lookup.nodes)
        names = ["region", *names]
        rows_of_regions = [(str(number), *row) for number, row in enumerate(lookup.regions)]
    regions = pages.create_text(
        "Regions: of each column the first place, the last and the label.", "regions", names, rows_of_regions
    )
    source = engine.traits.relation(binding.source, "source")
    others = [info.name for info in binding.columns if info.name not in binding.names]
    query = recoded_rows(source, columns, regions, [info.name for info in binding.columns], others, nodes)
    recoded = pages.create("The source with the labels of its regions.", "recoded", query)
    pages.stop_unless(
        "Every row lies in one region.",
        as_many_rows(engine.traits.relation(binding.source, "source"), recoded),
        "rows lie outside the regions, or in several: plan again",
    )
    if nodes is not None:
        write_breaches(pages, engine, binding, recoded, nodes)
    return _recoded(binding, recoded, () if nodes is None else (nodes.name,))


def _write_nodes(pages: Pages, engine: Engine, binding: Binding, lookup: NodeLookup) -> Nodes:
    """The taxonomy of a sensitive column, and the nodes of it that regions publish."""
    height = len(lookup.paths[0]) - 1
    names = [f"label_{level}" for level in range(height + 1)]
    paths = pages.create_text(f"The taxonomy of {lookup.column}, level 0 first.", "paths", names, lookup.paths)
    sentence = f"The nodes of {lookup.column} that each region publishes."
    published = pages.create_text(sentence, "nodes", ["region", "level", "label"], lookup.published)
    [item] = [item for item in binding.sensitive if item.name == lookup.column]
    key = item.key("source", engine.traits)
    text = engine.traits.text(item.key("source", engine.traits), item.family)
    has_null = any(path[0] is None for path in lookup.paths)
    return Nodes(item.name, key, text, height, has_null, paths, published, binding.true_value)


def _text(engine: Engine, item: BoundColumn) -> exp.Expression:
    return engine.traits.text(item.key("source", engine.traits), item.family)


def _recoded(binding: Binding, table: Table, generalized: Sequence[str]) -> Binding:
    names = {*binding.names, *generalized}
    text = exp.DataType.build("text")
    if generalized:
        # A personalized requirement was held to the recoded rows: what follows publishes them as they are.
        binding = replace(binding, sensitive=(), personalized=None)
    return replace(
        binding,
        source=table,
        columns=tuple(
            replace(info, type=text, family=Family.TEXT) if info.name in names else info for info in binding.columns
        ),
        quasi_identifiers=tuple(
            BoundColumn(item.name, Family.TEXT, Formula((), TOP)) for item in binding.quasi_identifiers
        ),
    )
