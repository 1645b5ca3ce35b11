"""Labels that somebody has listed, over numbers: groups of them are sets, because no range says what lies in it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import yaml

from sqlanon.cli import main

TREE = {"low": {"cold": [1], "mild": [2]}, "high": {"warm": [3], "hot": [4]}}


@pytest.mark.parametrize("algorithm", ["mondrian", "ops", "sps"])
def test_no_range_of_listed_labels(tmp_path: Path, algorithm: str) -> None:
    """One row each of `mild` and `warm` need each other; neither `low` nor `high` would do for both."""
    path = tmp_path / "days.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table days as select unnest([1, 1, 2, 3, 4, 4]) as degree")
    spec = {
        "connection": f"duckdb:///{path}",
        "source": "days",
        "target": "released",
        "columns": {"degree": {"role": "quasi_identifier", "hierarchy": {"tree": TREE}, "levels": {"min": 1}}},
        "privacy": {"k": 2},
        "search": {"algorithm": algorithm} | ({} if algorithm == "mondrian" else {"metric": "dm"}),
        "evidence": {"files": False},
    }
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "spec.yaml")])
    assert ended.value.code == 0
    with duckdb.connect(str(path)) as connection:
        labels = {str(label) for (label,) in connection.execute("select degree from released").fetchall()}
    assert not any(label.startswith("[") for label in labels), labels
    assert len(labels) > 1
