"""The schemes of Li and Li on Adult: what each costs at best, from which end, and what each technique is worth.

`python -m benchmarks.schemes` solves what benchmarks/schemes.json does not have yet; with `plot` it draws
docs/algorithms/schemes.svg and prints the tables of docs/algorithms/schemes.md. The data lie outside the repository:
SQLANON_ADULT names their folder.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb

from sqlanon.recoding.base import least_levels
from sqlanon.recoding.schemes.recoder import SchemeProblem, problem_on
from sqlanon.search.base import Budget
from sqlanon.search.schemes.exact import search
from sqlanon.search.schemes.problem import Direction, Techniques
from sqlanon.source.combinations import combine
from sqlanon.source.frequency import scan, store_hierarchies
from sqlanon.source.run import DEFAULT, running
from sqlanon.spec import spec_from_dict

ADULT = Path(os.environ.get("SQLANON_ADULT", "../shared/data/adult"))
RESULTS = Path("benchmarks/schemes.json")
SCHEMES = ("bhs", "ghs", "gops", "gsps", "ops", "sps")
SIZES = (2, 5, 10, 15, 20)
MEASURES = ("dm", "hdm")
ALL = Techniques()
PAPER = replace(ALL, pivot=False)
VARIANTS = {
    "none": Techniques(False, False, False, False, False),
    "seeding, modified BFS": Techniques(True, True, False, False, False),
    "rearrangement": Techniques(False, False, True, True, False),
    "both": PAPER,
    "both and pivot": ALL,
}
SECONDS = Budget(seconds=3600.0)
CANDIDATES = Budget(nodes=30_000)
"""For comparisons of ways to search: not a matter of how busy the machine is."""
QUESTIONS = ("costs", "directions", "columns", "techniques")


def _csv(column: str) -> dict[str, Any]:
    return {
        "role": "quasi_identifier",
        "hierarchy": {"csv": {"path": str((ADULT / f"adult_hierarchy_{column}.csv").resolve()), "delimiter": ";"}},
    }


@contextmanager
def problem(k: int, metric: str, scheme: str, columns: int = 4) -> Iterator[SchemeProblem]:
    """Adult with age in 15 bands of five years, marital status, race and sex; any number of rows may be suppressed."""
    chosen = {
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 20, 40], "min": 0, "max": 80}}},
        **{name: _csv(name) for name in ("marital-status", "race", "sex")},
    }
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "adult.duckdb"
        with duckdb.connect(str(database)) as connection:
            # Bands of five years from 17, by their distance from it: 0, 5, ... 70.
            connection.execute(
                "CREATE TABLE adult AS SELECT CAST(5 * floor((age - 17) / 5) AS INTEGER) AS age, "
                "\"marital-status\", race, sex FROM read_csv(?, delim = ';')",
                [str(ADULT / "adult.csv")],
            )
        spec = spec_from_dict(
            {
                "connection": f"duckdb:///{database}",
                "source": "adult",
                "target": "released",
                "columns": dict(list(chosen.items())[:columns]),
                "default_role": "identifier",
                "privacy": {"k": k, "suppression": {"limit": "100%"}},
                "search": {"algorithm": scheme, "metric": metric},
            }
        )
        with running(spec, DEFAULT) as run:
            base = scan(run.engine, run.binding, run.scratch)
            stored = store_hierarchies(run.engine, run.binding, base, run.scratch)
            yield problem_on(
                run, combine(run.engine, run.binding, base, stored, run.scratch, least_levels(run, stored))
            )


def solve(
    k: int,
    metric: str,
    scheme: str,
    direction: Direction = "bottom_up",
    techniques: Techniques = ALL,
    budget: Budget = SECONDS,
    columns: int = 4,
) -> dict[str, Any]:
    with problem(k, metric, scheme, columns) as given:
        started, worked = time.perf_counter(), time.process_time()
        found = search(given.space, given.costs, direction, techniques, budget)
        return {
            "cost": found.cost,
            "suppressed": found.suppressed,
            "proven": found.proven,
            "bound": found.bound,
            "gap": found.gap,
            "seconds": round(time.perf_counter() - started, 2),
            "processor": round(time.process_time() - worked, 2),
            "checks": found.checks,
            "expanded": found.expanded,
            "space": given.space.size,
            "groups": [max(part) + 1 for part in found.generalization],
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schemes", description=__doc__)
    parser.add_argument("wanted", nargs="*", choices=[*QUESTIONS, "plot", []], help="all but plot, if none is named")
    wanted: list[str] = parser.parse_args().wanted or list(QUESTIONS)
    known: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if "plot" in wanted:
        from benchmarks.schemes_plot import draw, tables

        draw(known, Path("docs/algorithms/schemes.svg"))
        print(tables(known))
        return
    for name, arguments in _questions(wanted):
        if known.get(name, {}).get("proven") or (name in known and not name.startswith("costs")):
            continue
        known[name] = solve(*arguments)
        print(name, known[name], flush=True)
        RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def _questions(wanted: list[str]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    directions = ("bottom_up", "top_down")
    if "costs" in wanted:
        for scheme, k, metric in product(SCHEMES, SIZES, MEASURES):
            yield f"costs {metric} {scheme} {k}", (k, metric, scheme)
    if "directions" in wanted:
        for scheme, k, direction in product(("ops", "gsps"), SIZES, directions):
            yield f"directions {scheme} {k} {direction}", (k, "dm", scheme, direction, PAPER, CANDIDATES)
    if "columns" in wanted:
        for scheme, columns, direction in product(("ops", "gsps"), (2, 3, 4), directions):
            arguments = (5, "dm", scheme, direction, PAPER, CANDIDATES, columns)
            yield f"columns {scheme} {columns} {direction}", arguments
    if "techniques" in wanted:
        for (label, techniques), k in product(VARIANTS.items(), SIZES):
            yield f"techniques {k} {label}", (k, "dm", "gops", "bottom_up", techniques, CANDIDATES)


if __name__ == "__main__":
    main()
