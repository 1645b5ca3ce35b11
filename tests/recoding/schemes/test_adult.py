"""Li and Li's comparison of schemes on the Adult table: age in 15 bands, marital status, race, sex (CASES.md L5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlanon import pipeline
from sqlanon.spec import Spec, spec_from_dict

ADULT = Path(__file__).parents[4] / "shared" / "data" / "adult"
ORDER = [("bhs", "ghs"), ("ghs", "gops"), ("gops", "ops"), ("ops", "sps"), ("gops", "gsps"), ("gsps", "sps")]

pytestmark = [
    pytest.mark.adult,
    pytest.mark.soak,
    pytest.mark.no_cover,
    pytest.mark.skipif(not ADULT.is_dir(), reason="the Adult data of ../shared/data/adult is absent"),
]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Bands of five years from 17, by their distance from it: 0, 5, ... 70."""
    path = tmp_path / "adult.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE adult AS SELECT CAST(5 * floor((age - 17) / 5) AS INTEGER) AS age, "
            "\"marital-status\", race, sex FROM read_csv(?, delim = ';')",
            [str(ADULT / "adult.csv")],
        )
    return path


def spec_of(database: Path, k: int, algorithm: str, metric: str) -> Spec:
    interval = {"interval": {"widths": [10, 20, 40], "min": 0, "max": 80}}
    columns: dict[str, Any] = {"age": {"role": "quasi_identifier", "hierarchy": interval}}
    for name in ("marital-status", "race", "sex"):
        file = {"path": str(ADULT / f"adult_hierarchy_{name}.csv"), "delimiter": ";"}
        columns[name] = {"role": "quasi_identifier", "hierarchy": {"csv": file}}
    return spec_from_dict(
        {
            "connection": f"duckdb:///{database}",
            "source": "adult",
            "target": "released",
            "columns": columns,
            "privacy": {"k": k, "suppression": {"limit": "100%"}},
            "search": {"algorithm": algorithm, "metric": metric},
        }
    )


def costs(database: Path, k: int, metric: str, names: set[str]) -> dict[str, float]:
    found = {name: pipeline.plan(spec_of(database, k, name, metric)) for name in names}
    assert all(plan.search.proven for plan in found.values())
    return {name: plan.search.score for name, plan in found.items()}


def test_the_basic_scheme_is_the_full_domain_optimum(database: Path) -> None:
    found = costs(database, 5, "dm", {"bhs", "ghs", "ops"})
    assert found["bhs"] == pipeline.plan(spec_of(database, 5, "optimal", "dm")).search.score
    assert found["ops"] < found["ghs"] < found["bhs"]
    result = pipeline.run(spec_of(database, 5, "ops", "dm"))
    assert result.audit.k is not None
    assert result.audit.k >= 5
    assert result.plan is not None
    assert result.plan.search.score == found["ops"]


@pytest.mark.parametrize("metric", ["dm", "hdm"])
def test_l5_costs_never_rise_with_the_space(database: Path, metric: str) -> None:
    found = costs(database, 2, metric, {name for pair in ORDER for name in pair})
    for smaller, larger in ORDER:
        assert found[larger] <= found[smaller] + 1e-6
    assert found["sps"] < found["bhs"]
