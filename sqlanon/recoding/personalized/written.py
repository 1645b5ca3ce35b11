"""A personalized release as plain data for a script: regions of classes, and the nodes that each of them publishes.

Makes the classes again, and refuses where they are no longer those of the lock file.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.recoding import Assigned
from sqlanon.recoding.base import Recoder
from sqlanon.recoding.lookups import NodeLookup, RegionLookup, Text
from sqlanon.recoding.mondrian import labels as labels_sql
from sqlanon.recoding.mondrian.recoder import MOST_WRITTEN
from sqlanon.recoding.personalized import guarded_statements as guarded_sql
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source.combinations import Combinations, has_null
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.sql.template import query


def personalized_lookup(
    run: Run, base: Base, stored: Sequence[StoredHierarchy], recoder: Recoder, recoding: Assigned
) -> RegionLookup:
    """The classes of a personalized release as a script writes them; UsageError where they are other ones now."""
    asked, engine = run.binding.personalized, run.engine
    found = recoder(run, base, stored)
    made = found.assignment
    if asked is None or made is None or not isinstance(found.recoding, Assigned):
        raise UsageError("privacy.personalized: the spec says nothing of guarding nodes")
    if not found.recoding.same_as(recoding):
        raise UsageError("the source has changed since this lock file was written, and its classes with it: plan again")
    domains = made.combinations.domains
    if max(found.classes, *(domain.values for domain in domains)) > MOST_WRITTEN:
        raise UsageError(f"search.algorithm: a script writes out at most {MOST_WRITTEN} classes and values of a column")
    regions = engine.query(Statement("regions", guarded_sql.regions(made.table, made.labels, len(domains))))
    numbers = {row[0]: str(number) for number, row in enumerate(regions)}
    nodes = engine.query(Statement("nodes", guarded_sql.published_nodes(made.sensitive_labels[asked.column])))
    values = [engine.query(Statement("values", labels_sql.values_in_order(domain.table))) for domain in domains]
    return RegionLookup(
        tuple(tuple(text for (text,) in column) for column in values),
        tuple(_texts(row[1:]) for row in regions),
        NodeLookup(
            asked.asked.column,
            _paths(engine, made.combinations, asked.column),
            tuple((numbers[region], str(level), label) for region, level, label in nodes),
        ),
    )


def _paths(engine: Engine, made: Combinations, position: int) -> tuple[tuple[Text, ...], ...]:
    hierarchy = made.sensitive[position].hierarchy
    if hierarchy is None:
        raise UsageError("privacy.personalized: the sensitive column has no taxonomy")
    paths = hierarchy_sql.paths(hierarchy.table.table, hierarchy.height)
    ordered = query("select p.* from p order by p.label_0", {"p": paths})
    rows = [_texts(row) for row in engine.query(Statement("taxonomy", ordered))]
    if has_null(engine, "taxonomy", made.codes[position]):
        rows.append((*[None] * hierarchy.height, hierarchy.top))
    return tuple(rows)


def _texts(row: Sequence[object]) -> tuple[Text, ...]:
    return tuple(None if item is None else str(item) for item in row)
