"""Tables of other shapes than the one that searches were tuned on, and the public grid of SKALD.

Each shape is searched and published beside the base GROUP BY and a copy of the same table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.generator import CENSUS, Attribute
from benchmarks.measure import Measured, Published, base_seconds, make, measured, published, spec_for, table
from sqlanon import pipeline
from sqlanon.errors import InfeasibleError

SHAPES: dict[str, tuple[Attribute, ...]] = {
    # Few columns with many values: nearly every row is alone below the first levels.
    "many values": (
        Attribute("age", 100, 1, 0.2, (5, 10, 50), numeric=True),
        Attribute("zip", 2000, 2, 0.2, (10, 50, 200, 1000), numeric=True),
        Attribute("income", 1000, 3, 0.4, (10, 50, 100, 500), numeric=True),
        Attribute("birth", 365, 1, 0.0, (7, 28, 84), numeric=True),
    ),
    # Many columns with few values, most of them with one that nearly everybody has.
    "few values": tuple(
        Attribute(f"answer_{number}", 2 + number % 4, 2 + 3 * (number % 5), 0.2, (2,) if number % 4 > 1 else ())
        for number in range(14)
    ),
    # Columns that follow one another closely: far fewer combinations than independence would have.
    "correlated": (
        Attribute("state", 20, 2, 0.98, (5,)),
        Attribute("county", 80, 2, 0.98, (4, 20)),
        Attribute("town", 400, 2, 0.98, (5, 20, 100), numeric=True),
        Attribute("income", 60, 2, 0.95, (5, 15, 30), numeric=True),
        Attribute("rent", 40, 2, 0.95, (5, 10, 20), numeric=True),
        Attribute("age", 80, 1, 0.5, (5, 10, 20), numeric=True),
        Attribute("sex", 2, 1, 0.0, ()),
    ),
    # Every value as likely as any other, and no column tells of another.
    "uniform": (
        Attribute("age", 80, 1, 0.0, (5, 10, 20, 40), numeric=True),
        Attribute("group", 24, 1, 0.0, (4, 12)),
        Attribute("region", 16, 1, 0.0, (4, 8)),
        Attribute("branch", 12, 1, 0.0, (3, 6)),
        Attribute("sex", 2, 1, 0.0, ()),
        Attribute("grade", 6, 1, 0.0, (2,)),
    ),
}


def of_other_shapes(url: str, rows: int) -> tuple[list[Measured], list[Published]]:
    """Plans under `loss` and publications of each shape."""
    plans, publications = [], []
    for name, attributes in SHAPES.items():
        make(url, rows, attributes)
        base = base_seconds(url, attributes)
        plans.append(measured(f"{name}, {rows:,} rows", url, attributes, base, algorithm="optimal", metric="loss"))
        publications.append(published(f"{name}, {rows:,} rows", url, attributes))
    return plans, publications


SIZES = (1_000_000, 10_000_000, 50_000_000, 100_000_000)
COLUMNS = (2, 4, 6, 8)
KS = (5, 20, 50)


def grid_of_skald(url: str, most: int) -> tuple[str, dict[str, float]]:
    """Plans on 1 to 100 million rows, as many as asked for, with 2 to 8 columns and three k: a table and its ratios."""
    lines: list[list[str]] = []
    ratios: dict[str, float] = {}
    for rows in [size for size in SIZES if size <= most] or [most]:
        make(url, rows, CENSUS[:8])
        for columns in COLUMNS:
            base = base_seconds(url, CENSUS[:columns])
            for k, seconds, outcome in _plans(url, columns):
                ratios[f"grid, {rows:,} rows, {columns} columns, k {k}: plan / base"] = seconds / base
                ratio = f"{seconds / base:.2f}x"
                lines.append([f"{rows:,}", str(columns), str(k), f"{base:.2f}", f"{seconds:.2f}", ratio, outcome])
    return table(["rows", "columns", "k", "base s", "plan s", "plan / base", "loss"], lines), ratios


def _plans(url: str, columns: int) -> Iterator[tuple[int, float, str]]:
    for k in KS:
        started = time.perf_counter()
        try:
            outcome = f"{pipeline.plan(spec_for(url, CENSUS[:columns], k)).search.score:.6f}"
        except InfeasibleError:
            outcome = "infeasible"
        yield k, time.perf_counter() - started, outcome
