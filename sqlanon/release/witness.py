"""What the audit of a personalized release has to see beside the released columns: guarding nodes and true values.

They stand in the scratch table that is audited, and never in the one that is published.
"""

from __future__ import annotations

from sqlanon.auditor.breach_statements import Taxonomy, in_one_table
from sqlanon.auditor.breaches import Linked
from sqlanon.auditor.opened import Opened
from sqlanon.engines.base import Engine
from sqlanon.recoding.assignment import AssignedRelease
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source.combinations import has_null
from sqlanon.sql.relations import Relation


def linked_rows(engine: Engine, release: AssignedRelease, audited: Relation) -> Linked | None:
    """The staged rows, each with what it was, for the audit of breach probabilities."""
    binding = release.binding
    asked = binding.personalized
    if asked is None:
        return None
    made = release.assignment.combinations
    hierarchy = made.sensitive[asked.column].hierarchy
    if hierarchy is None:
        return None
    opened = Opened.at(engine, audited, "audited")
    shown = [opened.key(name, as_text=True) for name in (asked.asked.column, binding.true_value, asked.asked.guarding)]
    published, targets, people = in_one_table(
        opened.expression(),
        [opened.key(name) for name in binding.names],
        shown[0],
        shown[1],
        shown[2],
        None if binding.respondent is None else opened.key(binding.respondent.name),
    )
    absent = has_null(engine, "taxonomy", made.codes[asked.column])
    paths = hierarchy_sql.paths(hierarchy.table.table, hierarchy.height)
    return Linked(published, targets, people, Taxonomy(paths, hierarchy.height, absent))
