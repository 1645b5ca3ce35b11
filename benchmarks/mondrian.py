"""Mondrian beside the engine's own GROUP BY and beside anonypy: seconds of the whole plan, mean class size over k.

Seconds by the clock and of the processor: the second do not depend on what else the machine does.
"""

from __future__ import annotations

import json
import subprocess
import time
import tracemalloc
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.generator import CENSUS
from benchmarks.measure import REPEATS, SOURCE, base_seconds, make, opened, spec_for, table
from benchmarks.peers import ADULT, MINUTES, PYTHON, adult_spec
from sqlanon import pipeline
from sqlanon.planning.frontier import compare
from sqlanon.release.results import PlanResult
from sqlanon.spec import Spec
from sqlanon.sql.relations import File

NINE = CENSUS[:9]
K = 5
HEADING = ["table", "base s", "plan s", "plan / base", "of the processor", "classes", "C_avg", "Python MiB"]
COMPARED = ("optimal", "local", "mondrian")


def mondrian(url: str, folder: Path, most: int) -> str:
    """A hundredth and a tenth of the rows, all of them over the same combinations, anonypy, a comparison on Adult."""
    few, many = most // 100, most // 10
    rows = [_row(f"generated, {size:,} rows", url, size) for size in (few, many)]
    rows.append(_row("ten times these rows", url, most, many))
    parts = [table(HEADING, rows), _against_anonypy(f"duckdb:///{folder / 'anonypy.duckdb'}", folder, few)]
    if ADULT.is_dir():
        parts.append(_adult())
    return "\n\n".join(parts)


def _row(name: str, url: str, rows: int, distinct: int | None = None) -> list[str]:
    make(url, rows, NINE, distinct)
    base, worked = (base_seconds(url, NINE, clock) for clock in (time.perf_counter, time.process_time))
    spec = spec_for(url, NINE, K, algorithm="mondrian")
    seconds, processor, result = _planned(spec)
    tracemalloc.start()
    pipeline.plan(spec)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return [
        name,
        f"{base:.2f}",
        f"{seconds:.2f}",
        f"{seconds / base:.1f}x",
        f"{processor:.2f} / {worked:.2f} = {processor / worked:.1f}x",
        f"{result.chosen.classes}",
        f"{rows / result.chosen.classes / K:.2f}",
        f"{most / 2**20:.1f}",
    ]


def _planned(spec: Spec) -> tuple[float, float, PlanResult]:
    """The median of several runs, by the clock and of the processor."""
    runs = []
    for _ in range(REPEATS):
        started, worked = time.perf_counter(), time.process_time()
        result = pipeline.plan(spec)
        runs.append((time.perf_counter() - started, time.process_time() - worked, result))
    return median(run[0] for run in runs), median(run[1] for run in runs), runs[0][2]


def _against_anonypy(url: str, folder: Path, rows: int) -> str:
    if not PYTHON:
        return "anonypy was not measured: SQLANON_PEERS_PYTHON names no interpreter that has it (see the Makefile)."
    make(url, rows, NINE)
    engine = opened(url)
    source = folder / "anonypy.csv"
    engine.write_file("export", SOURCE, File(str(source), "csv"))
    engine.close()
    task: dict[str, Any] = {
        "source": str(source),
        "k": K,
        "columns": [item.name for item in NINE],
        "numbers": [item.name for item in NINE if item.numeric],
    }
    (folder / "anonypy.json").write_text(json.dumps(task))
    script = Path(__file__).with_name("peer_anonypy.py")
    seconds, _, result = _planned(spec_for(url, NINE, K, algorithm="mondrian"))
    ours = [f"{seconds:.2f}", f"{rows / result.chosen.classes / K:.3f}"]
    command = [PYTHON, str(script), str(folder / "anonypy.json")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * MINUTES, check=True)
    except subprocess.TimeoutExpired:
        theirs, times = [f"> {60 * MINUTES}", "stopped"], f"> {60 * MINUTES / seconds:.0f}x"
    else:
        answer = json.loads(done.stdout.splitlines()[-1])
        theirs = [f"{answer['seconds']:.2f}", f"{rows / answer['partitions'] / K:.3f}"]
        times = f"{answer['seconds'] / seconds:.0f}x"
    heading = ["table", "anonypy s", "anonypy's C_avg", "sqlanon s", "sqlanon's C_avg", "times faster"]
    return table(heading, [[f"generated, {rows:,} rows", *theirs, *ours, times]])


def _adult() -> str:
    """Adult by several algorithms, nine columns, k = 5, limit 4%."""
    found = compare(adult_spec(), COMPARED).compared
    heading = ["Adult, k = 5, limit 4%", "loss", "dm", "hdm", "C_avg", "suppressed", "classes", "seconds"]
    lines = [
        [
            item.algorithm,
            f"{item.scores['loss']:.4f}",
            f"{item.scores['dm']:,.0f}",
            f"{item.scores['hdm']:,.1f}",
            f"{item.c_avg:.2f}",
            f"{item.suppressed}",
            f"{item.classes}",
            f"{item.seconds:.2f}",
        ]
        for item in found
    ]
    return table(heading, lines)
