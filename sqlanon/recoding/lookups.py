"""The regions of a strict partition as plain data: what a script needs to recode rows without the recoder.

Pure. Holds the values of each column and the labels of the regions; no combination of values.
"""

from __future__ import annotations

from dataclasses import dataclass

Text = str | None


@dataclass(frozen=True)
class RegionLookup:
    """Every value of each column in its order, and the regions as ranges of places in these orders."""

    values: tuple[tuple[Text, ...], ...]
    """For each quasi-identifier the texts of its values; NULL is a value."""
    regions: tuple[tuple[Text, ...], ...]
    """For each region and each quasi-identifier three texts: first place, last place, label."""
