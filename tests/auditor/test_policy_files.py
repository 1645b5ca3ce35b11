"""The policy read from files: how a csv file spells numbers that stand in texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from sqlanon import pipeline
from sqlanon.spec import spec_from_dict


def test_numbers_within_texts_are_spelled_as_everywhere(tmp_path: Path) -> None:
    """A double of its own is `2.0` in a csv file; in a column of ranges it is a text, `2`."""
    with duckdb.connect(str(tmp_path / "base.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT CAST(i // 3 AS DOUBLE) AS weight, CAST(i % 5 AS DOUBLE) / 2 AS dose "
            "FROM range(30) AS numbers(i)"
        )
    quasi: dict[str, Any] = {"role": "quasi_identifier"}
    spec = spec_from_dict(
        {
            "connection": f"duckdb:///{tmp_path / 'base.duckdb'}",
            "source": "people",
            "target": "released.csv",
            "columns": {"weight": quasi, "dose": quasi},
            "privacy": {"k": 3},
            "search": {"algorithm": "mondrian"},
        },
        tmp_path,
    )
    pipeline.run(spec)
    shown = {line.split(",")[0] for line in (tmp_path / "released.csv").read_text(encoding="utf-8").splitlines()[1:]}
    assert any("2" in label and "2.0" not in label for label in shown)
    assert pipeline.audit_spec(spec).violations == []
