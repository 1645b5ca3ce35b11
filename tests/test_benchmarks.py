"""The history of measured ratios: what is kept, and what counts as worse; the tables that are measured."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from benchmarks import history, nights, shapes
from benchmarks.generator import CENSUS, Attribute, hierarchies
from benchmarks.history import Figure
from sqlanon.spec import spec_from_dict

OLD = Figure("abc", "x86_64, 2 cores, 24 GiB", "search / base", 1.0)


@pytest.mark.parametrize(("ratio", "fails"), [(0.5, False), (1.0, False), (1.3, False), (1.31, True)])
def test_a_ratio_that_is_much_worse_than_the_last(ratio: float, fails: bool) -> None:
    assert bool(history.worse([replace(OLD, ratio=ratio)], [OLD])) is fails


def test_ratios_are_compared_with_the_last_of_their_name_on_one_class_of_machine() -> None:
    now = replace(OLD, ratio=2.0)
    assert not history.worse([now], [replace(OLD, machine="aarch64, 8 cores, 32 GiB")])
    assert not history.worse([now], [replace(OLD, figure="publish / copy")])
    assert not history.worse([now], [OLD, replace(OLD, ratio=1.9)])
    assert history.worse([now], [replace(OLD, ratio=1.9), OLD]) == ["search / base: 2x, and 1x at abc"]


def test_what_is_recorded_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    assert history.read(path) == []
    first = history.figures_of({"search / base": 1.23456})
    history.append(first, path)
    history.append([OLD], path)
    assert history.read(path) == [*first, OLD]
    assert first[0].ratio == 1.235


def test_the_history_of_the_project_reads() -> None:
    assert all(figure.ratio > 0 and figure.figure and figure.commit for figure in history.read())


@pytest.mark.parametrize("attributes", [CENSUS, *shapes.SHAPES.values()])
def test_the_shapes_of_tables_make_specs(attributes: tuple[Attribute, ...]) -> None:
    """Their texts have two digits: more values are numbers."""
    assert all(attribute.numeric or attribute.values <= 100 for attribute in attributes)
    spec = spec_from_dict(
        {
            "source": "t",
            "target": "r",
            "columns": hierarchies(attributes),
            "privacy": {"k": 5},
            "connection": "duckdb:///x",
        }
    )
    assert len(spec.quasi_identifiers) == len(attributes)


def test_people_of_a_series_come_and_leave() -> None:
    """One in a hundred each night, as many leave as come, and nobody comes back."""
    there: list[set[int]] = []
    with duckdb.connect() as session:
        for night in range(6):
            session.execute(nights.PRESENT, {"people": 10_000, "night": night})
            there.append({number for (number,) in session.execute("select id from people").fetchall()})
    assert there[0] == set(range(10_000))
    for night, (before, after) in enumerate(pairwise(there)):
        assert after - before == set(range(10_000 + 100 * night, 10_100 + 100 * night))
        assert 50 < len(before - after) < 150
    assert not any((there[0] - there[1]) & later for later in there[1:])


def test_a_night_with_a_ledger_is_measured_beside_one_without(tmp_path: Path) -> None:
    page, ratios = nights.a_night(f"duckdb:///{tmp_path / 'bench.duckdb'}", people=500, nights=2)
    assert sorted(name.rpartition(", ")[2] for name in ratios) == ["clock", "processor"]
    assert all(ratio > 0 for ratio in ratios.values())
    assert page.count("\n") == 2
    with duckdb.connect(tmp_path / "bench.duckdb") as session:
        assert session.execute("select count(*) from kept_releases where event = 'release'").fetchone() == (2,)
