"""The report of the Adult table: small enough, and made while somebody waits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kit.rare_values import command
from tests.pipeline.test_adult import ADULT, COLUMNS

pytestmark = [
    pytest.mark.adult,
    pytest.mark.soak,
    pytest.mark.skipif(not ADULT.is_dir(), reason="the Adult data of ../shared/data/adult is absent"),
]


def test_the_report_of_adult_is_one_small_page(folder: Path) -> None:
    columns = {
        name: {
            "role": "quasi_identifier",
            "hierarchy": {"csv": {"path": str(ADULT / f"adult_hierarchy_{name}.csv"), "delimiter": ";"}},
        }
        for name in COLUMNS
    }
    values = {
        "source": str(ADULT / "adult.csv"),
        "target": "released.csv",
        "columns": columns,
        "privacy": {"k": 5, "suppression": {"limit": "4%"}},
    }
    Path("adult.yaml").write_text(json.dumps(values), encoding="utf-8")
    command("plan", "adult.yaml")
    command("report", "adult.lock.json", "--out", "report.html")
    assert Path("report.html").stat().st_size < 2_000_000
