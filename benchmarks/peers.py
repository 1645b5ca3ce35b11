"""sqlanon beside anjana and pycanon on the same csv files: seconds of the whole `plan` or audit against seconds of the
peer's calls alone.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.diversity import SENSITIVE, audit_models
from benchmarks.generator import CENSUS, Attribute
from benchmarks.measure import SOURCE, make, opened, spec_for, table
from sqlanon import pipeline
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.problem import problem_of
from sqlanon.metrics import metric_named
from sqlanon.pipeline import prepare
from sqlanon.search.base import Objective
from sqlanon.source.run import DEFAULT, running
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.sql.relations import File

ADULT = Path(__file__).parent.parent.parent / "shared" / "data" / "adult"
PYTHON = os.environ.get("SQLANON_PEERS_PYTHON", "")
HEADING = ["table", "anjana s", "sqlanon s", "times faster", "anjana's node under loss", "sqlanon's"]
MINUTES = 20


def against_peers(folder: Path, rows: int) -> str:
    """Plans beside anjana, an audit beside pycanon, on a generated table of so many rows and on Adult."""
    if not PYTHON:
        return "peers were not measured: SQLANON_PEERS_PYTHON names no interpreter that has them (see the Makefile)."
    return f"{_against_anjana(folder, rows)}\n\n{_against_pycanon(folder, min(rows, 100_000))}"


def _against_anjana(folder: Path, size: int) -> str:
    """A row for Adult, where its data are at hand, and one for a generated table."""
    rows = []
    if ADULT.is_dir():
        rows.append(_row("Adult, 30,162 rows", adult_spec(), ADULT / "adult.csv", ";", _adult_hierarchies(), folder))
    else:
        print("Adult's files are not at hand: only the generated table is measured.", file=sys.stderr)
    rows.append(_generated(folder, size))
    return table(HEADING, rows)


def _row(name: str, spec: Spec, source: Path, delimiter: str, files: dict[str, Path], folder: Path) -> list[str]:
    task = folder / "task.json"
    task.write_text(
        json.dumps(
            {
                "source": str(source),
                "delimiter": delimiter,
                "k": 5,
                "limit": 4,
                "hierarchies": {column: str(path) for column, path in files.items()},
            }
        )
    )
    script = Path(__file__).with_name("peer_anjana.py")
    taken, levels = 60.0 * MINUTES, None
    try:
        done = subprocess.run([PYTHON, str(script), str(task)], capture_output=True, text=True, timeout=60 * MINUTES)
    except subprocess.TimeoutExpired:
        print(f"anjana was stopped after {MINUTES} minutes", file=sys.stderr)
    else:
        if done.returncode:
            return [name, f"failed: {done.stderr.strip().splitlines()[-1][:60]}", "", "", "", ""]
        answer = json.loads(done.stdout.splitlines()[-1])
        taken, levels = float(answer["seconds"]), answer["levels"]
    started = time.perf_counter()
    ours = pipeline.plan(spec)
    seconds = time.perf_counter() - started
    theirs = "stopped" if levels is None else f"{_score(spec, levels):.6f}"
    mark = "> " if levels is None else ""
    times = f"{mark}{taken / seconds:.0f}x"
    return [name, f"{mark}{taken:.2f}", f"{seconds:.2f}", times, theirs, f"{ours.search.score:.6f}"]


def _score(spec: Spec, levels: dict[str, int]) -> float:
    """The loss of a node with its minimal suppression: at most what the peer's table lost."""
    with running(spec, DEFAULT) as run:
        evaluator: SqlEvaluator = problem_of(run, prepare(run)).evaluator()
        objective = Objective.of(metric_named("loss"), evaluator)
        [verdict] = evaluator.measure([tuple(levels[name] for name in run.binding.names)])
        return objective.score(verdict)


def _adult_hierarchies() -> dict[str, Path]:
    with (ADULT / "adult.csv").open() as file:
        columns = file.readline().strip().split(";")
    return {name: ADULT / f"adult_hierarchy_{name}.csv" for name in columns}


def adult_spec() -> Spec:
    """Adult with all nine columns as quasi-identifier, k = 5, at most 4% suppressed."""
    return spec_from_dict(
        {
            "source": str(ADULT / "adult.csv"),
            "target": "release",
            "columns": {
                name: {"role": "quasi_identifier", "hierarchy": {"csv": str(path)}}
                for name, path in _adult_hierarchies().items()
            },
            "privacy": {"k": 5, "suppression": {"limit": "4%"}},
        }
    )


def _generated(folder: Path, rows: int) -> list[str]:
    attributes = CENSUS[:9]
    url, source = _exported(folder, rows, attributes)
    files = _exported_hierarchies(url, folder)
    return _row(f"generated, {rows:,} rows", spec_for(url, attributes), source, ",", files, folder)


def _exported(folder: Path, rows: int, attributes: tuple[Attribute, ...]) -> tuple[str, Path]:
    """A generated table in a database and as a csv file."""
    url, source = f"duckdb:///{folder / 'peers.duckdb'}", folder / "peers.csv"
    make(url, rows, attributes)
    engine = opened(url)
    engine.write_file("export", SOURCE, File(str(source), "csv"))
    engine.close()
    return url, source


def _against_pycanon(folder: Path, rows: int) -> str:
    """k, distinct l and t of a generated table of three columns, as it stands: our audit measures entropy l too."""
    attributes = CENSUS[:3]
    url, source = _exported(folder, rows, attributes)
    task = {"source": str(source), "columns": [item.name for item in attributes], "sensitive": SENSITIVE}
    (folder / "pycanon.json").write_text(json.dumps(task))
    command = [PYTHON, str(Path(__file__).with_name("peer_pycanon.py")), str(folder / "pycanon.json")]
    started = time.perf_counter()
    ours = audit_models(url, attributes)
    seconds = time.perf_counter() - started
    heading = ["table", "pycanon s", "sqlanon s", "times faster", "pycanon's k", "sqlanon's"]
    name = f"generated, {rows:,} rows, three columns"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * MINUTES, check=True)
    except subprocess.TimeoutExpired:
        most = 60 * MINUTES
        return table(
            heading, [[name, f"> {most}", f"{seconds:.2f}", f"> {most / seconds:.0f}x", "stopped", f"{ours.k}"]]
        )
    theirs = json.loads(done.stdout.splitlines()[-1])
    taken = float(theirs["seconds"])
    line = [name, f"{taken:.2f}", f"{seconds:.2f}", f"{taken / seconds:.0f}x", f"{theirs['k']}", f"{ours.k}"]
    return table(heading, [line])


def _exported_hierarchies(url: str, folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for report in pipeline.hierarchies(spec_for(url, CENSUS[:9])):
        files[report.column] = folder / f"{report.column}.csv"
        with files[report.column].open("w", newline="") as file:
            csv.writer(file, delimiter=";").writerows(report.rows())
    return files
