"""What a lock file alone says of a requirement: the report without a database prunes exactly where the search may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.release.lock import Lock
from sqlanon.reports.offline import gather_offline
from sqlanon.spec import spec_from_dict
from tests.kit.database import Database

ROWS = [(f"a{number % 3}", f"b{number % 4}", "flu" if number % 2 else "cold") for number in range(24)]
CASES: list[tuple[dict[str, Any], int, bool]] = [
    ({"k": 2}, 3, True),
    ({"k": 2, "quasi_identifiers": {"x": {"columns": ["a"]}, "y": {"columns": ["b"], "k": 3}}}, 3, True),
    ({"k": 2, "l_diversity": [{"column": "s", "l": 2}]}, 3, True),
    ({"k": 2, "p_sensitive": [{"column": "s", "p": 2}]}, 3, True),
    ({"k": 2, "l_diversity": [{"column": "s", "l": 2, "kind": "entropy"}]}, 3, False),
    ({"k": 2, "t_closeness": [{"column": "s", "t": 0.9}]}, 3, False),
    ({"k": 2, "t_closeness": [{"column": "s", "t": 0.9}]}, 0, True),
]


@pytest.mark.parametrize(("privacy", "limit", "monotone"), CASES)
def test_monotone_as_the_models_say(
    tmp_path: Path, duckdb_url: str, privacy: dict[str, Any], limit: int, monotone: bool
) -> None:
    Database(duckdb_url).create("people", dict.fromkeys("abs", "text"), ROWS)
    columns = {"a": {"role": "quasi_identifier"}, "b": {"role": "quasi_identifier"}, "s": {"role": "sensitive"}}
    spec = spec_from_dict(
        {
            "connection": duckdb_url,
            "source": "people",
            "target": "released",
            "columns": columns,
            "privacy": {**privacy, "suppression": {"limit": limit}},
        }
    )
    lattice = gather_offline(spec, Lock.of(spec, pipeline.plan(spec), "spec.yaml")).lattice
    assert lattice is not None
    assert lattice.monotone is monotone
