"""How many bytes a reading takes, as Spark's planner estimates it; nothing is read."""

from __future__ import annotations

import re
from contextlib import suppress

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.engines.spark.base import SparkBase
from sqlanon.engines.spark.errors import SparkError
from sqlanon.sql.relations import File, Relation

_READ = re.compile(r"Relation\b.*Statistics\(sizeInBytes=(?P<number>[0-9.E+]+) (?P<unit>[KMGTPE]?i?B)")
_UNITS = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4, "PiB": 5}


def scan_bytes(engine: SparkBase, relation: Relation) -> int | None:
    """The size of the files and tables that a relation reads; None where the planner does not know."""
    if isinstance(relation, File) and relation.format != "parquet":
        # The view of a csv file comes into being when its columns are asked for.
        engine.columns(relation)
    select = exp.select("*").from_(engine.traits.relation(relation, "source"))
    explain = exp.Command(this="EXPLAIN COST", expression=engine.traits.render(select))
    with suppress(SparkError):
        ((plan,),) = engine.query(Statement("size of source", explain))
        return bytes_of_plan(str(plan))
    return None


def bytes_of_plan(plan: str) -> int | None:
    """The sizes of a plan's leaves together; None when one has no size that could be meant.

    >>> bytes_of_plan("Relation t[a#1] parquet, Statistics(sizeInBytes=1.5 KiB)")
    1536
    >>> bytes_of_plan("Relation t[a#1] jdbc, Statistics(sizeInBytes=8.0 EiB)")
    """
    optimized = plan.partition("== Physical Plan ==")[0]
    found = [(match["number"], match["unit"]) for match in _READ.finditer(optimized)]
    if not found or any(unit not in _UNITS for _, unit in found):
        return None
    return sum(round(float(number) * float(1024 ** _UNITS[unit])) for number, unit in found)
