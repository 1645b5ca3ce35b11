"""The part of a script that recodes the source by regions: lookup tables written out, the source by their labels.

What follows takes the recoded rows for the source, and publishes them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sqlanon.auditor.breaches import GuardingTaxonomy, breaches, in_one_table, nobody_exposed
from sqlanon.engines.base import Engine
from sqlanon.hierarchies.base import TOP, Family, Formula
from sqlanon.recoding.kinds import NodeLookup, RegionLookup, Text
from sqlanon.release.script import region_statements as lookups_sql
from sqlanon.release.script.pages import Pages
from sqlanon.release.script.region_statements import Nodes, Placed
from sqlanon.source.binding import Binding, BoundColumn, BoundSensitive
from sqlanon.sql.relations import Table, column, table_expression
from sqlanon.sql.template import query


def write_breaches(pages: Pages, engine: Engine, binding: Binding, recoded: Table, nodes: Nodes) -> None:
    """Stop the script where a guarding node can be inferred with more than the probability that is allowed.

    Every row's breach probability, by the audit's own statements. They read the recoded rows, which still show guarding
    nodes and true values; neither is released.
    """
    asked, traits = binding.personalized, engine.traits
    if asked is None:
        raise ValueError("regions publish nodes for a personalized requirement")

    def shown(item: BoundSensitive, name: str) -> exp.Expression:
        return traits.key(traits.text(traits.key(column(name, "r"), item.family), item.family), Family.TEXT)

    known = {item.name: item for item in binding.sensitive}
    published, targets, people = in_one_table(
        table_expression(recoded, "r"),
        [column(name, "r") for name in binding.names],
        column(nodes.name, "r"),
        shown(known[nodes.name], nodes.kept),
        shown(known[asked.asked.guarding], asked.asked.guarding),
        None
        if binding.respondent is None
        else traits.key(column(binding.respondent.name, "r"), binding.respondent.family),
    )
    paths = query("select p.* from p where p.label_0 is not null", {"p": nodes.paths})
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
    for position, item in enumerate(binding.quasi_identifiers):
        rows = [(value, str(place)) for value, place in lookup.values[position]]
        sentence = f"The values of {item.name} in their order."
        table = pages.create_text(sentence, f"values_{position}", ["value", "place"], rows)
        columns.append(Placed(item.name, item.key("source", engine.traits), _text(engine, item), table))
    names = [f"{part}_{position}" for position in range(len(columns)) for part in ("lo", "hi", "label")]
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
    query = lookups_sql.recoded(source, columns, regions, [info.name for info in binding.columns], others, nodes)
    recoded = pages.create("The source with the labels of its regions.", "recoded", query)
    pages.stop_unless(
        "Every row lies in one region.",
        lookups_sql.as_many_rows(engine.traits.relation(binding.source, "source"), recoded),
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
