"""The program of `test_spark_cluster`: plans on a Spark of several processes and kills one of them on the way.

Run as a process of its own, because a process has one Spark. Prints what it found as JSON, and waits for a line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

import psutil

from sqlanon import pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.engine import execute, open_at

GENERATED = (
    "CREATE TABLE t AS SELECT CAST(id % 97 AS INT) AS a, CAST(id * id % 7 AS VARCHAR(9)) AS b "
    "FROM range(20000) AS r(id)"
)


def spec_at(url: str) -> Spec:
    hierarchies = {"a": {"interval": {"widths": [5, 10, 50], "min": 0, "max": 100}}, "b": {"mask": {"length": 1}}}
    columns = {name: {"role": "quasi_identifier", "hierarchy": given} for name, given in hierarchies.items()}
    privacy = {"k": 150, "suppression": {"limit": "1%"}}
    search = {"algorithm": "samarati"}
    places = {"source": "t", "target": "released"}
    return spec_from_dict({"connection": url, "columns": columns, "privacy": privacy, "search": search, **places})


class Killer:
    """Kills one executor of this process's Spark as soon as the first statement of the search is under way."""

    def __init__(self) -> None:
        self.before: list[int] = []
        self.killed: int | None = None

    def __call__(self, event: TraceEvent) -> None:
        if event.step == "evaluate nodes" and event.seconds is None and self.killed is None:
            self.before = executors()
            self.killed = self.before[0]
            threading.Timer(0.2, os.kill, [self.killed, signal.SIGKILL]).start()


def executors() -> list[int]:
    """The executors among the processes that this one has started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        if process.status() != psutil.STATUS_ZOMBIE and "CoarseGrainedExecutorBackend" in " ".join(process.cmdline()):
            found.append(process.pid)
    return sorted(found)


def main(url: str) -> None:
    engine = open_at(url)
    while len(executors()) < 2:
        time.sleep(0.1)
    execute(engine, GENERATED)
    killer = Killer()
    result = pipeline.plan(spec_at(url), Options(hooks=(killer,)))
    answer = {
        "before": killer.before,
        "killed": killer.killed,
        "after": executors(),
        "levels": result.levels,
        "fingerprint": result.fingerprint,
        "verdicts": [[list(verdict.node), verdict.suppressed, verdict.classes] for verdict in result.verdicts],
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    # Until the test has talked to the Spark Connect server of this Spark.
    sys.stdin.readline()
    engine.close()


if __name__ == "__main__":
    main(sys.argv[1])
