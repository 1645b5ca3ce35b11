"""The audit of a personalized release in a script: every row's breach probability, by the audit's own statements.

Reads the recoded rows, which still show guarding nodes and true values; neither is released.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from sqlanon.auditor.breach_statements import Taxonomy, breaches, in_one_table, nobody_exposed
from sqlanon.engines.base import Engine
from sqlanon.hierarchies.base import Family
from sqlanon.release.script.pages import Pages
from sqlanon.release.script.region_statements import Nodes
from sqlanon.source.binding import Binding, BoundSensitive
from sqlanon.sql.relations import Table, column, table_expression
from sqlanon.sql.template import query


def write_breaches(pages: Pages, engine: Engine, binding: Binding, recoded: Table, nodes: Nodes) -> None:
    """Stop the script where a guarding node can be inferred with more than the probability that is allowed."""
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
        Taxonomy(paths, nodes.height, nodes.has_null),
        p=Fraction(asked.asked.p_breach),
        primary=asked.asked.primary,
    )
    table = pages.create("How likely guarding nodes are inferred, by their level.", "breaches", found)
    pages.stop_unless(
        f"No guarding node is inferred with more than {asked.asked.p_breach}.",
        nobody_exposed(table),
        "the release fails its audit: a guarding node can be inferred, or lies elsewhere in the taxonomy",
    )
