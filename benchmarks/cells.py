"""Cell recodings beside the optimum: random tables, `forest` and `matching` before and after their groups are improved.

The optimum is that of all partitions of the rows, found here by another code than the package's: `python -m
benchmarks.cells [TABLES]` prints the table of docs/algorithms/models-taxonomy.md. Figures are costs, not seconds.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import inf
from statistics import mean
from typing import Any
from unittest.mock import patch

from benchmarks.measure import opened, table
from sqlanon import pipeline
from sqlanon.engines.base import Statement
from sqlanon.recoding import Assigned
from sqlanon.recoding.cells import recoder
from sqlanon.recoding.cells.recoder import Cells, Divided
from sqlanon.release.results import PlanResult
from sqlanon.spec import spec_from_dict
from sqlanon.sql.build import create_table_as, text_values
from sqlanon.sql.relations import Table

TABLES = 200
LETTERS = "abcd"
TREE = {"ab": ["a", "b"], "cd": ["c", "d"]}
HEADING = ["groups by", "tables", "before", "improved", "at the optimum", "worst"]
Row = tuple[str, ...]


@dataclass(frozen=True)
class Instance:
    """A random table and what is asked of it."""

    name: str
    rows: tuple[Row, ...]
    k: int
    model: str


def instances(number: int) -> Iterator[Instance]:
    """Tables of 6 to 12 rows, 2 to 5 columns and 2 to 4 values, alike on every machine."""
    drawn = random.Random(15)
    for place in range(number):
        width, letters = drawn.randint(2, 5), LETTERS[: drawn.randint(2, 4)]
        rows = tuple(tuple(drawn.choice(letters) for _ in range(width)) for _ in range(drawn.randint(6, 12)))
        yield Instance(f"t{place}", rows, 2 + place % 2, ("_CS", "CG_")[place // 2 % 2])


def steps(instance: Instance, members: tuple[Row, ...]) -> int:
    """What a group costs, in halves of a cell: its rows times the level at which each column is one label."""
    found = 0
    for values in zip(*members, strict=True):
        if len(set(values)) > 1:
            branches = {value in "ab" for value in values}
            found += 1 if instance.model == "CG_" and len(branches) == 1 else 2
    return found * len(members)


def optimum(instance: Instance) -> int:
    """The least cost of all partitions into groups of at least k rows; one of 2k rows can be divided at no cost."""
    rows, k = instance.rows, instance.k

    @cache
    def best(left: tuple[int, ...]) -> float:
        if not left:
            return 0
        first, *others = left
        found = inf
        for size in range(k - 1, min(2 * k - 1, len(others) + 1)):
            for chosen in combinations(others, size):
                rest = best(tuple(number for number in others if number not in chosen))
                if rest < inf:
                    found = min(found, rest + group((first, *chosen)))
        return found

    @cache
    def group(numbers: tuple[int, ...]) -> int:
        return steps(instance, tuple(rows[number] for number in numbers))

    return int(best(tuple(range(len(rows)))))


def costs(url: str, instance: Instance, algorithm: str) -> tuple[float, float]:
    """What the groups cost before they are improved, and after, in cells."""
    seen: list[float] = []
    improve = recoder.improved

    def watched(cells: Cells, divided: Divided) -> Divided:
        seen.append(recoder.classic(cells, divided.groups).cost / cells.unit)
        return improve(cells, divided)

    columns = {
        f"x{place}": {"role": "quasi_identifier", "hierarchy": {"tree": TREE}} for place in range(len(instance.rows[0]))
    }
    values: dict[str, Any] = {
        "connection": url,
        "source": instance.name,
        "target": "released",
        "columns": columns,
        "privacy": {"k": instance.k},
        "search": {"model": instance.model, "algorithm": algorithm},
    }
    with patch.object(recoder, "improved", watched):
        result = pipeline.plan(spec_from_dict(values))
    return seen[0], _cost(result)


def _cost(result: PlanResult) -> float:
    if not isinstance(result.recoding, Assigned):
        raise TypeError("cells are recoded by assigned classes")
    return float(result.recoding.details["cost"])


def measured(url: str, number: int) -> str:
    """The table of the docs: mean cost over the optimum's, where that is not 0, and how often both are equal."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for instance in instances(number):
        least = optimum(instance) / 2
        for algorithm in ("forest", "matching"):
            before, after = costs(url, instance, algorithm)
            if not least <= after <= before:
                raise AssertionError(f"{instance}: {least}, {after}, {before}")
            found.setdefault(f"`{algorithm}`, k = {instance.k}", []).append((before, after, least))
            print(
                f"{instance.name} {instance.model} k={instance.k} {algorithm} {before} {after} {least}", file=sys.stderr
            )
    found["`forest`, all"] = [entry for name, each in found.items() if "forest" in name for entry in each]
    return table(HEADING, [_row(name, each) for name, each in sorted(found.items())])


def _row(name: str, each: list[tuple[float, float, float]]) -> list[str]:
    paid = [(before / least, after / least) for before, after, least in each if least]
    return [
        name,
        str(len(each)),
        f"+{mean(before for before, _ in paid) - 1:.1%}",
        f"+{mean(after for _, after in paid) - 1:.1%}",
        f"{sum(after == least for _, after, least in each)} of {len(each)}",
        f"+{max(after for _, after in paid) - 1:.0%}",
    ]


def main(number: int = TABLES) -> None:
    """Make the tables in a database of their own, and measure."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"duckdb:///{folder}/cells.duckdb"
        engine = opened(url)
        for instance in instances(number):
            names = [f"x{place}" for place in range(len(instance.rows[0]))]
            rows = text_values(names, instance.rows)
            made = create_table_as(Table((instance.name,)), rows, engine.traits, scratch=False)
            engine.execute(Statement("make a table", made))
        engine.close()
        print(measured(url, number))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
