"""A table published night after night with a ledger: what the tables alone tell, how many rows are held back.

python -m benchmarks.series --classes 10 --seeds 5            # DuckDB; --url postgresql://... for PostgreSQL

What a night takes is measured by `make bench ARGS="--only series"`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import duckdb

from benchmarks.measure import table
from tests.kit.database import Database
from tests.kit.trial import VARIABLE, Trial

SHOWN = (1, 5, 10, 15, 20, 25, 30)


def main() -> None:
    """Parse the command line, and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a PostgreSQL database, whose default schema is written to")
    parser.add_argument("--people", type=int, default=19_000)
    parser.add_argument("--classes", type=int, nargs="+", default=[10])
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--marked", action="store_true", help="the source keeps the rows of people who left, marked")
    asked = parser.parse_args()
    os.environ.setdefault(VARIABLE, "a secret of the benchmark, long enough")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.duckdb"
        with duckdb.connect(path):
            url = asked.url or f"duckdb:///{path}"
            print(series(url, asked))


def series(url: str, asked: argparse.Namespace) -> str:
    """For each number of classes, and each seed: people who stand out, and what is not released, over the nights."""
    shown = [night for night in SHOWN if night <= asked.nights]
    heading = ["classes", "seed", "stand out", "tracks that fail", *(f"night {night}" for night in shown)]
    rows = []
    for classes in asked.classes:
        for seed in range(1, asked.seeds + 1):
            forget(url)
            trial = Trial(url, asked.people, classes, seed, rate=asked.rate, marked=asked.marked)
            for _ in range(asked.nights):
                trial.publish()
            found = [str(trial.exposed_anywhere()), str(trial.failing_tracks())]
            rows.append([str(classes), str(seed), *found, *(_missing(trial, night) for night in shown)])
            print(rows[-1], flush=True)
    return table(heading, rows)


def _missing(trial: Trial, number: int) -> str:
    """The share of the source that is not released, and that of people who have left and still are."""
    night = trial.nights[number - 1]
    return f"{night.missing:.1%}" + (f" + {night.staying / night.people:.1%}" if trial.marked else "")


def forget(url: str) -> None:
    """The tables of an earlier trial are dropped."""
    names = ("released", "kept", "kept_tracks", "kept_releases")
    Database(url).run(*(f"DROP TABLE IF EXISTS {name}" for name in names))


if __name__ == "__main__":
    main()
