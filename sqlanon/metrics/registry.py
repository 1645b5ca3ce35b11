"""All metrics by name. A new metric is one file here and one line below.

Pure.
"""

from __future__ import annotations

from sqlanon.errors import UsageError
from sqlanon.metrics.aecs import AverageClassSize
from sqlanon.metrics.base import Metric
from sqlanon.metrics.discernibility import Discernibility, DiscernibilityStar
from sqlanon.metrics.entropy import Entropy, EntropyStar
from sqlanon.metrics.hdm import HierarchicalDiscernibility
from sqlanon.metrics.height import Height
from sqlanon.metrics.loss import Loss
from sqlanon.metrics.precision import Precision

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Height(),
        Loss(),
        Entropy(),
        EntropyStar(),
        Discernibility(),
        DiscernibilityStar(),
        AverageClassSize(),
        Precision(),
        HierarchicalDiscernibility(),
    )
}


def metric_named(name: str) -> Metric:
    """The metric of this name; UsageError when there is none."""
    if name not in METRICS:
        raise UsageError(f"there is no metric '{name}'; choose one of {', '.join(sorted(METRICS))}")
    return METRICS[name]
