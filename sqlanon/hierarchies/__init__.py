"""Hierarchies as the spec defines them: the builders, and the rules they turn into.

Pure, but for csv files; imports nothing of sqlanon but errors and the lattice.
"""

from __future__ import annotations

from sqlanon.hierarchies.base import TOP, Ending, Expressions, Family, Formula, Level, Lookup, Reference, Rule
from sqlanon.hierarchies.choice import BUILDERS, HierarchySpec
from sqlanon.hierarchies.csv import Csv
from sqlanon.hierarchies.date import Date
from sqlanon.hierarchies.interval import Interval
from sqlanon.hierarchies.levels import DateLevel, IntervalLevel, MaskLevel
from sqlanon.hierarchies.mask import Mask
from sqlanon.hierarchies.sql import Sql
from sqlanon.hierarchies.suppression import Suppression
from sqlanon.hierarchies.table import Table
from sqlanon.hierarchies.tree import Tree

__all__ = [
    "BUILDERS",
    "TOP",
    "Csv",
    "Date",
    "DateLevel",
    "Ending",
    "Expressions",
    "Family",
    "Formula",
    "HierarchySpec",
    "Interval",
    "IntervalLevel",
    "Level",
    "Lookup",
    "Mask",
    "MaskLevel",
    "Reference",
    "Rule",
    "Sql",
    "Suppression",
    "Table",
    "Tree",
]
