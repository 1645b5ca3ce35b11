"""A table published night after night, each night with a ledger and without: what the ledger costs, on DuckDB.

python -m benchmarks --only series --rows 10000000 --nights 5        # a tenth of the rows are people

One column of 100 values, k = 5 and two diagnoses; 1% leave and 1% join a night. The recoding is reused, so that nothing
but the release is measured.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import duckdb

from benchmarks.measure import table
from sqlanon import pipeline
from sqlanon.release.lock import Lock
from sqlanon.source.run import Options
from sqlanon.spec import spec_from_dict

VARIABLE = "SQLANON_BENCH_KEY"
PRESENT = """
create or replace table people as
select i as id, 'c' || (hash(i * 7) % 100)::int as region, 's' || (hash(i * 11) % 10)::int as diagnosis
from (
    select i, greatest(0, ceil((i + 1 - $people) / greatest(1, $people // 100))) as came,
        1 + floor(ln(1 - (hash(i * 13) % 1000000) / 1000000.0) / ln(1 - 1.0 / 100)) as nights
    from range($people + $night * greatest(1, $people // 100)) as numbers(i)
) as everybody
where came + nights > $night
"""
"""Who is there in a night: one in a hundred comes each night, and each leaves with that chance."""


@dataclass
class Releases:
    """One of the two series: what its nights took, by the clock and in seconds of the processor."""

    url: str
    ledger: bool
    known: Lock | None = None
    taken: list[tuple[float, float]] = field(default_factory=list)

    def publish(self) -> None:
        """Release the table as it is now."""
        spec = spec_from_dict(values(self.url, ledger=self.ledger))
        clock, processor = time.perf_counter(), time.process_time()
        result = pipeline.run(spec, Options(), known=self.known, reuse=self.known is not None)
        self.taken.append((time.perf_counter() - clock, time.process_time() - processor))
        if result.plan is not None:
            self.known = Lock.of(spec, result.plan, "spec.yaml", None)


def a_night(url: str, people: int, nights: int) -> tuple[str, dict[str, float]]:
    """The table of figures and the ratios that a history keeps: medians over all nights but the first."""
    if nights < 2:
        raise ValueError("the first night is not measured: it replaces nothing")
    os.environ.setdefault(VARIABLE, "a key for benchmarks alone")
    plain, kept = Releases(url, ledger=False), Releases(url, ledger=True)
    for night in range(nights):
        with duckdb.connect(url.removeprefix("duckdb:///")) as session:
            session.execute(PRESENT, {"people": people, "night": night})
        plain.publish()
        kept.publish()
    name = f"DuckDB {people:,} people, {nights} nights"
    line, ratios = [name], {}
    for place, measure in enumerate(("clock", "processor")):
        pairs = [(each[0][place], each[1][place]) for each in zip(plain.taken[1:], kept.taken[1:], strict=True)]
        without, with_ledger = (median(taken) for taken in zip(*pairs, strict=True))
        ratio = median(ledger / alone for alone, ledger in pairs)
        line += [f"{without:.2f}", f"{with_ledger:.2f}", f"{ratio:.2f}x"]
        ratios[f"{name}: with / without ledger, {measure}"] = ratio
    heading = ["what", "without s", "with s", "ratio", "without, processor s", "with, processor s", "ratio"]
    return table(heading, [line]), ratios


def values(url: str, *, ledger: bool) -> dict[str, Any]:
    """The spec of one series."""
    found: dict[str, Any] = {
        "connection": url,
        "source": "people",
        "target": "released_with_ledger" if ledger else "released",
        "columns": {
            "id": {"role": "identifier"},
            "region": {"role": "quasi_identifier", "levels": {"max": 0}},
            "diagnosis": {"role": "sensitive"},
        },
        "privacy": {"k": 5, "l_diversity": [{"column": "diagnosis", "l": 2}], "suppression": {"limit": "100%"}},
    }
    if ledger:
        found["history"] = {"key": "id", "ledger": "kept", "secret": "${" + VARIABLE + "}"}
    return found
