"""Data quality of a release as Samarati 2001, section 6, words it: accuracy and completeness.

Pure.
"""

from __future__ import annotations

from sqlanon.hierarchies.lattice import Node


def accuracy(node: Node, heights: Node) -> float:
    """One minus the relative height of the generalization.

    >>> accuracy((1, 0), (1, 3))
    0.75
    """
    total = sum(heights)
    return 1 - sum(node) / total if total else 1.0


def completeness(suppressed: int, rows: int) -> float:
    """Released rows over all rows.

    >>> completeness(2, 8)
    0.75
    """
    return 1 - suppressed / rows if rows else 1.0
