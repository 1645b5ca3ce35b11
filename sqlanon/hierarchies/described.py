"""What a level of a hierarchy does to values, in words: from its definition, never from data.

Pure.
"""

from __future__ import annotations

from sqlanon.hierarchies.choice import HierarchySpec
from sqlanon.hierarchies.date import Date
from sqlanon.hierarchies.interval import Interval
from sqlanon.hierarchies.mask import Mask
from sqlanon.hierarchies.table import Table


def described(hierarchy: HierarchySpec, level: int, height: int, top: str) -> str:
    """What the release holds of a column at this level.

    >>> described(Mask(length=5, steps=(1, 2, 5)), 2, 3, "*****")
    'the last 2 characters hidden'
    """
    if level == 0:
        return "as it is"
    if level >= height:
        return f"one label for all: {top}"
    match hierarchy:
        case Mask():
            return _masked(hierarchy, level)
        case Interval():
            return _interval(hierarchy, level)
        case Date():
            return _unit(hierarchy, level, height)
        case Table():
            return hierarchy.levels[level]
        case _:
            return f"labels of level {level}"


def _masked(mask: Mask, level: int) -> str:
    hidden = mask.steps[level - 1] if mask.steps is not None else level
    side = "last" if mask.side == "right" else "first"
    return f"the {side} {hidden} characters hidden" if hidden > 1 else f"the {side} character hidden"


def _interval(interval: Interval, level: int) -> str:
    if interval.widths is not None:
        return f"intervals of {interval.widths[level - 1]:f}"
    return f"{len((interval.cuts or ())[level - 1]) + 1} intervals"


def _unit(date: Date, level: int, height: int) -> str:
    """As many units as there are levels below the top: for dates the day is level 0, not one of them."""
    units = [word for word in date.root if word != "any"]
    return f"by {units[len(units) - height + level]}"
