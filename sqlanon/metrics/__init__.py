"""Measures of a release, one a file: figures that the database sums for a node, the score, and lower bounds of it.

A new metric is one file here and one row in the table of metrics (`spec/search.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlanon.errors import UsageError
from sqlanon.spec import search
from sqlanon.spec.registry import Loaded

if TYPE_CHECKING:
    from sqlanon.metrics.base import Metric


METRICS: Loaded[Metric] = Loaded(search.METRICS, lambda metric: metric())


def metric_named(name: str) -> Metric:
    """The metric of this name; UsageError when there is none."""
    if name not in METRICS:
        raise UsageError(f"there is no metric '{name}'; choose one of {', '.join(sorted(METRICS))}")
    return METRICS[name]
