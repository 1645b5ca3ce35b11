"""Labels for regions of ordinals: a hierarchy's label, a range, a set; and the assignment that publishes them."""

from __future__ import annotations

from sqlanon.engines.base import Statement
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.mondrian import labels as labels_sql
from sqlanon.recoding.mondrian.labels import OrderedDomain
from sqlanon.recoding.mondrian.partition import Partition
from sqlanon.source.combinations import Combinations
from sqlanon.source.run import Run
from sqlanon.sql.relations import Table

MOST_MEMBERS = 10
"""Labels that a set lists; of a longer one it shows the first and the last."""


def name_regions(run: Run, made: Combinations, partition: Partition, *, space: bool) -> Assignment:
    """The classes of a partition with their labels: of the regions' bounds, or of the values that occur in them."""
    named, merged = named_regions(run, made, partition, space=space)
    create = run.scratch.create
    query = labels_sql.assignment(partition.points, named, partition.space, made.coded)
    table = create("assignment", "assignment", query)
    labels = named
    if merged:
        labels = create("labels", "labels", labels_sql.labels(named, len(made.domains)))
        run.scratch.drop(named)
    return Assignment(made, table, labels, whole=not partition.space.relaxed)


def named_regions(run: Run, made: Combinations, partition: Partition, *, space: bool) -> tuple[Table, bool]:
    """Every region with its labels, and whether some of them may have the same."""
    low, high = ("lo", "hi") if space else ("a", "b")
    domains = [
        OrderedDomain(position, domain.table, domain.height, domain.natural, domain.null)
        for position, domain in enumerate(made.domains)
    ]
    names = _names(run, partition.regions, domains, low, high)
    [(ambiguous,)] = run.engine.query(Statement("compare labels", labels_sql.ambiguous(names)))
    merge = partition.space.relaxed or ambiguous > 0
    query = labels_sql.named_regions(partition.regions, names, len(domains), low, high, merge=merge)
    named = run.scratch.create("name regions", "named", query)
    run.scratch.drop(names)
    return named, merge


def _names(run: Run, regions: Table, domains: list[OrderedDomain], low: str, high: str) -> Table:
    """The label of every range that some region has."""
    create, drop = run.scratch.create, run.scratch.drop
    nodes = create("labels of branches", "nodes", labels_sql.nodes(domains))
    totals = create("rows of values", "upto", labels_sql.counted(domains))
    ranges = create("ranges", "ranges", labels_sql.ranges(regions, domains, low, high))
    natural = [domain.position for domain in domains if domain.natural]
    simple = create("name ranges", "simple", labels_sql.simple_names(ranges, nodes, natural))
    sets = _sets(run, simple, nodes)
    names = create("name ranges", "names", labels_sql.all_names(simple, sets, nodes, totals))
    drop(nodes, totals, ranges, simple, sets)
    return names


def _sets(run: Run, simple: Table, nodes: Table) -> Table:
    """The ranges that no label covers, listed label by label."""
    sets = run.scratch.create("list sets", "sets0", labels_sql.first_members(simple))
    for number in range(1, MOST_MEMBERS + 1):
        [(unfinished,)] = run.engine.query(Statement("list sets", labels_sql.open_sets(sets)))
        if not unfinished:
            break
        longer = run.scratch.create("list sets", f"sets{number}", labels_sql.next_members(sets, nodes))
        run.scratch.drop(sets)
        sets = longer
    return sets
