"""The table of metrics: what `search.metric` may name, in one sentence each.

Pure. The spec and its JSON Schema, the registry and the docs read it. To add a metric, write its file in `metrics/` and
one row here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class MetricRow:
    """One metric of the table."""

    name: str
    made_by: str
    """The class, as module:name."""
    sentence: str
    """For the docs."""

    def load(self) -> Any:
        """The class itself."""
        module, _, name = self.made_by.partition(":")
        return getattr(import_module(module), name)


METRICS: dict[str, MetricRow] = {
    row.name: row
    for row in (
        MetricRow("height", "sqlanon.metrics.height:Height", "Steps of generalization, added up over the columns."),
        MetricRow("loss", "sqlanon.metrics.loss:Loss", "Shares of the columns' domains that labels cover."),
        MetricRow("entropy", "sqlanon.metrics.entropy:Entropy", "Bits that generalized and suppressed rows lose."),
        MetricRow("entropy*", "sqlanon.metrics.entropy:EntropyStar", "Bits that generalized rows lose."),
        MetricRow("dm", "sqlanon.metrics.discernibility:Discernibility", "Sizes of classes, row by row."),
        MetricRow("dm*", "sqlanon.metrics.discernibility:DiscernibilityStar", "The same, suppressed rows by class."),
        MetricRow("aecs", "sqlanon.metrics.aecs:AverageClassSize", "The average size of a class."),
        MetricRow("precision", "sqlanon.metrics.precision:Precision", "The mean relative level of the cells."),
        MetricRow("hdm", "sqlanon.metrics.hdm:HierarchicalDiscernibility", "A penalty between 0 and 1 for each cell."),
    )
}


def metrics_table() -> list[str]:
    """The metrics as the lines of a Markdown table."""
    return ["| metric | what it adds up |", "| --- | --- |"] + [
        f"| `{row.name}` | {row.sentence} |" for row in METRICS.values()
    ]
