"""All metrics by name. A new metric is one file here and one row in the table of metrics.

Pure.
"""

from __future__ import annotations

from sqlanon.errors import UsageError
from sqlanon.metrics.base import Metric
from sqlanon.spec import metrics

METRICS: dict[str, Metric] = {name: row.load()() for name, row in metrics.METRICS.items()}


def metric_named(name: str) -> Metric:
    """The metric of this name; UsageError when there is none."""
    if name not in METRICS:
        raise UsageError(f"there is no metric '{name}'; choose one of {', '.join(sorted(METRICS))}")
    return METRICS[name]
