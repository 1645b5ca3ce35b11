"""The plot of docs/reference/performance.md: what each search costs, in scans of its table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Measured


def plot(results: Sequence[Measured], path: Path) -> None:
    """Write horizontal bars: the frequency set and the search of every measured plan, as multiples of the scan."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 0.45 * len(results) + 1.4), layout="constrained")
    names = [result.name for result in results]
    frequency = [result.frequency / result.base for result in results]
    search = [result.search / result.base for result in results]
    axes.barh(names, frequency, color="#9db4c0", label="frequency set and hierarchies")
    axes.barh(names, search, left=frequency, color="#253237", label="search")
    axes.axvline(1.0, color="#c2452d", linewidth=1, label="the engine's own GROUP BY")
    axes.invert_yaxis()
    axes.set_xlabel("multiples of SELECT qi, count(*) ... GROUP BY qi")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
