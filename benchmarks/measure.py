"""Running one thing and saying what it took: wall-clock seconds of the phases, nodes evaluated, the base GROUP BY."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from sqlglot import exp

from benchmarks.generator import Attribute, generate, hierarchies
from sqlanon import pipeline
from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Session, Statement
from sqlanon.release.results import PlanResult
from sqlanon.source.frequency_statements import base_groups, base_keys
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.sql.build import create_table_as, drop_table
from sqlanon.sql.relations import Table, column, table_expression

SOURCE = Table(("bench",))
REPEATS = 3


@dataclass(frozen=True)
class Measured:
    """One plan beside the base GROUP BY of the same table in the same run."""

    name: str
    base: float
    frequency: float
    search: float
    whole: float
    checks: int
    lattice: int
    combinations: int
    score: float

    def ratios(self) -> dict[str, float]:
        """What a history keeps of it."""
        return {
            f"{self.name}: search / base": self.search / self.base,
            f"{self.name}: plan / base": self.whole / self.base,
        }

    def row(self) -> list[str]:
        return [
            self.name,
            f"{self.base:.2f}",
            f"{self.frequency:.2f}",
            f"{self.search:.2f}",
            f"{self.search / self.base:.2f}x",
            f"{self.whole / self.base:.2f}x",
            f"{self.checks} of {self.lattice}",
            f"{self.combinations}",
            f"{self.score:.6g}",
        ]


HEADING = [
    "what",
    "base s",
    "frequency s",
    "search s",
    "search / base",
    "plan / base",
    "checks",
    "combinations",
    "score",
]


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def opened(url: str) -> Engine:
    return open_engine(url, Session(), Path())


def make(url: str, rows: int, attributes: tuple[Attribute, ...], distinct: int | None = None) -> None:
    """Generate the source table anew."""
    engine = opened(url)
    engine.execute(Statement("drop", drop_table(SOURCE)))
    generate(engine, SOURCE, rows, attributes, distinct=distinct)
    engine.close()


def base_seconds(url: str, attributes: tuple[Attribute, ...], clock: Callable[[], float] = time.perf_counter) -> float:
    """The engine's own `SELECT qi, count(*) ... GROUP BY qi`, its result kept in a scratch table: median of runs."""
    engine = opened(url)
    result = Table(("bench_base",))
    keys = [column(attribute.name, "source") for attribute in attributes]
    times: list[float] = []
    for _ in range(REPEATS):
        query = base_groups(table_expression(SOURCE, "source"), base_keys(keys))
        started = clock()
        engine.execute(Statement("base", create_table_as(result, query, engine.traits, scratch=True)))
        times.append(clock() - started)
        engine.execute(Statement("drop", drop_table(result)))
    engine.close()
    return median(times)


def copy_seconds(url: str, attributes: tuple[Attribute, ...]) -> float:
    """The engine's own `CREATE TABLE AS SELECT` of the columns that a release has."""
    engine = opened(url)
    result = Table(("bench_copy",))
    names = [*(attribute.name for attribute in attributes), "disease"]
    query = exp.select(*(column(name) for name in names)).from_(table_expression(SOURCE))
    started = time.perf_counter()
    engine.execute(Statement("copy", create_table_as(result, query, engine.traits, scratch=False)))
    taken = time.perf_counter() - started
    engine.execute(Statement("drop", drop_table(result)))
    engine.close()
    return taken


@dataclass(frozen=True)
class Published:
    """A publication beside a copy of the same columns, in turns."""

    name: str
    copied: float
    taken: float
    ratio: float

    def row(self) -> list[str]:
        return [self.name, f"{self.copied:.2f}", f"{self.taken:.2f}", f"{self.ratio:.2f}x"]


HEADING_OF_PUBLISHED = ["what", "CREATE TABLE AS s", "publish s", "ratio"]


def published(name: str, url: str, attributes: tuple[Attribute, ...]) -> Published:
    """A copy of the table and a run to a table, in turns: the medians of copy and publish, and of their ratios."""
    spec = spec_for(url, attributes, algorithm="optimal", metric="loss")
    pairs = [(copy_seconds(url, attributes), pipeline.run(spec, Options()).seconds["publish"]) for _ in range(REPEATS)]
    copied, taken = (median(values) for values in zip(*pairs, strict=True))
    return Published(name, copied, taken, median(each / copy for copy, each in pairs))


def spec_for(url: str, attributes: tuple[Attribute, ...], k: int = 5, **search: Any) -> Spec:
    return spec_from_dict(
        {
            "connection": url,
            "source": str(SOURCE),
            "target": "bench_release",
            "columns": hierarchies(attributes),
            "default_role": "identifier",
            "privacy": {"k": k, "suppression": {"limit": "4%"}},
            "search": search,
        }
    )


def measured(
    name: str, url: str, attributes: tuple[Attribute, ...], base: float, k: int = 5, **search: Any
) -> Measured:
    """The median plan of several runs."""
    spec = spec_for(url, attributes, k, **search)
    results: list[tuple[float, PlanResult]] = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        result = pipeline.plan(spec, Options())
        results.append((time.perf_counter() - started, result))
    whole, result = sorted(results, key=lambda item: item[0])[len(results) // 2]
    return Measured(
        name=name,
        base=base,
        frequency=result.seconds["frequency"] + result.seconds["hierarchies"],
        search=result.seconds["search"],
        whole=whole,
        checks=result.search.checks,
        lattice=result.search.lattice,
        combinations=result.combinations,
        score=result.search.score,
    )
