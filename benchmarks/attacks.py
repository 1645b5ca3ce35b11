"""Attacks on a release of generated rows, step by step, against the base GROUP BY of its source: processor time.

python -m benchmarks.attacks --rows 1000000            # DuckDB, whose processor time is that of this process
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.generator import CENSUS, Attribute, hierarchies
from benchmarks.measure import SOURCE, base_seconds, make, table
from sqlanon import insight, pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.insight.options import AttackOptions
from sqlanon.source.run import DEFAULT
from sqlanon.spec import Spec, spec_from_dict

KNOWN = ("age", "marital", "education", "country", "occupation")
FIVE = tuple(item for item in CENSUS if item.name in KNOWN)
WITH_VALUES = (*FIVE, Attribute("disease", 20, 1, 0.0, ()))
"""The columns of the base GROUP BY: attacks on values cannot do with less."""
RELEASES: dict[str, dict[str, Any]] = {
    "`local`, k = 5": {"search": {"algorithm": "local"}},
    "`optimal`, k = 5, 3-diversity": {
        "search": {"algorithm": "optimal"},
        "privacy": {"k": 5, "suppression": {"limit": "4%"}, "l_diversity": [{"column": "disease", "l": 3}]},
    },
}
HEADING = ["release", "base s", "step", "s", "ratio"]
LEAST = 0.25
"""Steps below this part of the base are told together."""


def main() -> None:
    """Parse the command line, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page, _ = attacks(f"duckdb:///{Path(folder) / 'attacks.duckdb'}", asked.rows, asked.repeats)
        print(page)


def attacks(url: str, rows: int, repeats: int = 3) -> tuple[str, dict[str, float]]:
    """What the steps of `attack` cost, and all together: without an identified table, and linked with the source; and
    the ratios that a history keeps."""
    make(url, rows, FIVE)
    lines, ratios = [], {}
    for name, changes in RELEASES.items():
        spec = _spec(url, changes)
        pipeline.run(spec)
        base = base_seconds(url, WITH_VALUES, time.process_time)
        for words, external in (("", None), (", `--external`", str(SOURCE))):
            taken = [_once(spec, external) for _ in range(repeats)]
            found = _medians(taken, base)
            ratios[f"DuckDB {rows:,} rows, {name}{words}: attacks / base"] = found["all statements"] / base
            for step, seconds in found.items():
                lines.append([f"{name}{words}", f"{base:.3f}", step, f"{seconds:.3f}", f"{seconds / base:.1f}x"])
    return table(HEADING, lines), ratios


def _spec(url: str, changes: Mapping[str, Any]) -> Spec:
    columns = {**hierarchies(FIVE), "disease": {"role": "sensitive"}}
    values = {
        "connection": url,
        "source": str(SOURCE),
        "target": "bench_release",
        "columns": columns,
        "privacy": {"k": 5, "suppression": {"limit": "4%"}},
        "evidence": {"files": False},
    }
    return spec_from_dict({**values, **changes})


def _once(spec: Spec, external: str | None) -> dict[str, float]:
    """The processor seconds of each step, and of everything."""
    taken: dict[str, float] = defaultdict(float)
    began: list[float] = []

    def hear(event: TraceEvent) -> None:
        if event.seconds is None:
            began.append(time.process_time())
        else:
            taken[event.step] += time.process_time() - began.pop()

    started = time.process_time()
    insight.attack(spec, replace(DEFAULT, hooks=(hear,)), AttackOptions(external=external))
    whole = time.process_time() - started
    return {**taken, "all statements": sum(taken.values()), "the whole command": whole}


def _medians(taken: list[dict[str, float]], base: float) -> dict[str, float]:
    found = {step: median(one.get(step, 0.0) for one in taken) for step in taken[0]}
    ends = ("all statements", "the whole command")
    large = {step: seconds for step, seconds in found.items() if step not in ends and seconds >= LEAST * base}
    small = sum(seconds for step, seconds in found.items() if step not in (*ends, *large))
    return {
        **dict(sorted(large.items(), key=lambda item: -item[1])),
        "smaller steps": small,
        **{step: found[step] for step in ends},
    }


if __name__ == "__main__":
    main()
