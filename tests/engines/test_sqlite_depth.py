"""Wide specs on SQLite, whose parser takes statements of a limited depth; and what is said beyond it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import yaml
from sqlalchemy.exc import OperationalError

from sqlanon.cli import main
from sqlanon.engines.sqlalchemy.base import translate

WIDE = 24


def test_many_columns_are_released(tmp_path: Path) -> None:
    names = [f"column_{place}" for place in range(WIDE)]
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.execute(f"create table people ({', '.join(f'{name} integer' for name in names)})")
        marks = ", ".join("?" for _ in names)
        rows = [[row // 4 for _ in names] for row in range(8)]
        connection.executemany(f"insert into people values ({marks})", rows)
    connection.close()
    spec = {
        "connection": f"sqlite:///{tmp_path / 'people.db'}",
        "source": "people",
        "target": "released",
        "columns": {name: {"role": "quasi_identifier"} for name in names},
        "privacy": {"k": 2},
        "search": {"algorithm": "mondrian"},
        "evidence": {"files": False},
    }
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "spec.yaml")])
    assert ended.value.code == 0


@pytest.mark.parametrize(
    "words",
    ["parser stack overflow", "Expression tree is too large (maximum depth 1000)", "at most 64 tables in a join"],
)
def test_a_limit_of_the_database_is_named(words: str) -> None:
    refused = OperationalError("select secret", None, sqlite3.OperationalError(words))
    told = str(translate(refused, "check assignment"))
    assert told.startswith("step 'check assignment': the spec is too wide for this database")
    assert words in told
    assert "secret" not in told
    assert "\n" not in told
