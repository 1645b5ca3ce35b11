"""Columns of one value, and NULL beside it: schemes release them as they are where that is the optimum."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from sqlanon.cli import main
from sqlanon.recoding import Cuts, Group, recoding_from_dict

SHOWN = ("sps", "tds")
"""An exact search and one over cuts; the others share their code with one of them."""
EVERY = [
    pytest.param(name, marks=() if name in SHOWN else pytest.mark.soak)
    for name in ("bhs", "ghs", "gops", "gsps", "ops", "sps", "tds", "genetic", "annealing")
]


def released(folder: Path, algorithm: str, towns: list[str | None], **column: Any) -> Counter[tuple[Any, ...]]:
    """Rows of `town` and `age` as they are released with k = 2."""
    path = folder / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create or replace table people (id integer, town text, age integer)")
        rows = [(number, town, 30 + number % 2) for number, town in enumerate(towns)]
        connection.executemany("insert into people values (?, ?, ?)", rows)
    spec: dict[str, Any] = {
        "connection": f"duckdb:///{path}",
        "source": "people",
        "target": "released",
        "columns": {
            "id": {"role": "identifier"},
            "town": {"role": "quasi_identifier", "hierarchy": {"tree": {"north": ["Oslo", "Bergen"]}}, **column},
            "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10]}}},
        },
        "privacy": {"k": 2},
        "search": {"algorithm": algorithm, "metric": "dm"},
        "evidence": {"files": False},
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    for command in (["run", str(folder / "spec.yaml")], ["apply", str(folder / "spec.lock.json")]):
        with pytest.raises(SystemExit) as ended:
            main([*command, "--json"])
        assert ended.value.code == 0
    with duckdb.connect(str(path)) as connection:
        return Counter(connection.execute("select town, age from released").fetchall())


@pytest.mark.representative(1)
@pytest.mark.parametrize("algorithm", EVERY)
def test_one_value_and_null_are_released_as_they_are(tmp_path: Path, algorithm: str) -> None:
    found = released(tmp_path, algorithm, ["Oslo", "Oslo", "Oslo", "Oslo", None, None, None, None])
    assert found == {("Oslo", 30): 2, ("Oslo", 31): 2, (None, 30): 2, (None, 31): 2}


@pytest.mark.representative(1)
@pytest.mark.parametrize("algorithm", EVERY)
def test_one_value_is_released_as_it_is(tmp_path: Path, algorithm: str) -> None:
    assert released(tmp_path, algorithm, ["Oslo"] * 4) == {("Oslo", 30): 2, ("Oslo", 31): 2}


@pytest.mark.representative(1)
@pytest.mark.parametrize("algorithm", EVERY)
def test_nothing_but_null_stays_null(tmp_path: Path, algorithm: str) -> None:
    assert released(tmp_path, algorithm, [None] * 4) == {(None, 30): 2, (None, 31): 2}


@pytest.mark.representative(1)
@pytest.mark.parametrize("algorithm", EVERY)
def test_rare_null_joins_the_value(tmp_path: Path, algorithm: str) -> None:
    found = released(tmp_path, algorithm, ["Oslo", "Oslo", "Oslo", "Oslo", "Oslo", "Oslo", "Oslo", None])
    assert {town for town, _ in found} == {"north"}
    assert min(found.values()) >= 2


def test_one_label_of_the_least_level_and_null(tmp_path: Path) -> None:
    tree = {"everywhere": {"north": ["Oslo", "Bergen"], "south": ["Rome"]}}
    towns: list[str | None] = ["Oslo", "Bergen", "Bergen", "Oslo", None, None]
    found = released(tmp_path, "sps", [*towns, *towns], hierarchy={"tree": tree}, levels={"min": 1})
    assert {town for town, _ in found} == {"north", None}


def test_a_lock_file_says_which_columns_are_unchanged() -> None:
    cuts = Cuts(("town", "age"), ((Group("Oslo", ("Oslo",)),), (Group("*", ("1", "2")),)), (), ("town",))
    content = json.loads(json.dumps(cuts.to_dict()))
    assert recoding_from_dict(content) == cuts
    content["groups"]["town"].append({"label": "Rome", "values": ["Rome"]})
    with pytest.raises(ValueError, match="one value"):
        recoding_from_dict(content)
