"""The regions of a strict partition as plain data: what a script needs to recode rows without the recoder.

Pure. Holds the values of each column and what the regions publish; no combination of values that is not published.
"""

from __future__ import annotations

from dataclasses import dataclass

Text = str | None


@dataclass(frozen=True)
class NodeLookup:
    """What regions publish of a sensitive column that is generalized region by region."""

    column: str
    paths: tuple[tuple[Text, ...], ...]
    """For each value of the taxonomy its labels, level 0 first, the root last; NULL is a value where it occurs."""
    published: tuple[tuple[Text, ...], ...]
    """Region, level and label of every node that stands in a release of the region."""


@dataclass(frozen=True)
class RegionLookup:
    """Every value of each column in its order, and the regions as ranges of places in these orders."""

    values: tuple[tuple[Text, ...], ...]
    """For each quasi-identifier the texts of its values; NULL is a value."""
    regions: tuple[tuple[Text, ...], ...]
    """For each region and each quasi-identifier three texts: first place, last place, label."""
    nodes: NodeLookup | None = None
    """Regions are numbered in their order, from 0."""
