"""What the risk of all subsets of a quasi-identifier takes."""

from __future__ import annotations

import time
from statistics import median

from benchmarks.generator import Attribute
from benchmarks.measure import REPEATS, SOURCE, opened
from sqlanon.insight.reidentification import RiskRequest, measure_subsets
from sqlanon.source.scratch import Scratch


def subset_risk(url: str, attributes: tuple[Attribute, ...], size: int) -> tuple[float, int]:
    """The median seconds of several runs, and how many subsets were measured."""
    request = RiskRequest(tuple(attribute.name for attribute in attributes), subset_size=size)
    times: list[float] = []
    number = 0
    for _ in range(REPEATS):
        engine = opened(url)
        started = time.perf_counter()
        with Scratch(engine, ()) as scratch:
            found, _ = measure_subsets(engine, SOURCE, request, scratch)
        times.append(time.perf_counter() - started)
        engine.close()
        number = 0 if found is None else len(found.found)
    return median(times), number
