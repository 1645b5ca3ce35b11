"""Blank rows beside a population: anybody could be behind them, so they match everybody in it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from sqlanon.cli import main

PEOPLE = [("a", 30)] * 4 + [("b", 40)] * 4 + [("c", 50)]
OTHERS = [("a", 30), ("b", 40), ("d", 60)]


def spec_of(folder: Path, rows: list[tuple[str, int]], privacy: dict[str, Any]) -> Path:
    path = folder / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table people (town text, age integer)")
        connection.executemany("insert into people values (?, ?)", rows)
        connection.execute("create table everybody as from people")
        connection.executemany("insert into everybody values (?, ?)", OTHERS)
    spec = {
        "connection": f"duckdb:///{path}",
        "source": "people",
        "target": "released",
        "columns": {
            "town": {"role": "quasi_identifier", "levels": {"max": 0}},
            "age": {"role": "quasi_identifier", "levels": {"max": 0}},
        },
        "privacy": {
            "population": {"source": "everybody"},
            "suppression": {"limit": 2, "mode": "blank"},
            **privacy,
        },
        "search": {"algorithm": "optimal"},
        "evidence": {"files": False},
    }
    written = folder / "spec.yaml"
    written.write_text(yaml.safe_dump(spec), encoding="utf-8")
    return written


def ends(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    return int(ended.value.code or 0)


def released(folder: Path) -> Counter[tuple[Any, ...]]:
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        return Counter(connection.execute("from released").fetchall())


@pytest.mark.parametrize(
    "privacy",
    [{"k_map": 3}, {"k_map": 3, "delta_presence": {"max": 0.9}}, {"delta_presence": {"max": 0.8}}],
    ids=["k_map", "both", "delta_presence"],
)
def test_a_blank_row_matches_everybody(tmp_path: Path, privacy: dict[str, Any]) -> None:
    spec = spec_of(tmp_path, PEOPLE, privacy)
    assert ends("run", str(spec)) == 0
    assert released(tmp_path) == {("a", 30): 4, ("b", 40): 4, ("*", None): 1}
    assert ends("audit", "--spec", str(spec)) == 0


def test_too_few_blank_rows_are_dropped(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, PEOPLE, {"k": 2, "k_map": 3})
    assert ends("run", str(spec)) == 0
    assert released(tmp_path) == {("a", 30): 4, ("b", 40): 4}


def test_several_blank_rows_are_one_class(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, [("a", 30)] * 8 + [("c", 50)] * 2, {"delta_presence": {"max": 0.9}})
    assert ends("run", str(spec)) == 0
    assert ("*", None) in released(tmp_path)
    assert ends("audit", "--spec", str(spec)) == 0


def test_the_script_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = spec_of(tmp_path, PEOPLE, {"k_map": 3})
    assert ends("plan", str(spec)) == 0
    capsys.readouterr()
    assert ends("sql", str(tmp_path / "spec.lock.json")) == 0
    script = capsys.readouterr().out
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(script)
    assert released(tmp_path) == {("a", 30): 4, ("b", 40): 4, ("*", None): 1}


def test_a_class_that_is_not_blank_matches_its_own(tmp_path: Path) -> None:
    """A table that somebody made: the audit counts everybody for blank rows alone."""
    spec = spec_of(tmp_path, PEOPLE, {"k_map": 3})
    assert ends("run", str(spec)) == 0
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("update released set town = 'c', age = 50 where age is null")
    assert ends("audit", "--spec", str(spec)) == 1
