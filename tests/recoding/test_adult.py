"""Adult, nine quasi-identifiers, k = 5, at most 4% suppressed: what class-wise recoding saves against the best node."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlanon.planning.frontier import compare
from sqlanon.spec import spec_from_dict

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult"
pytestmark = [pytest.mark.adult, pytest.mark.skipif(not ADULT.is_dir(), reason="the Adult data are not at hand")]
FULL_DOMAIN = 0.26611081915757495
"""CASES.md A1: the least loss of any node."""


def test_class_wise_recoding_loses_less_than_the_best_node() -> None:
    names = (ADULT / "adult.csv").read_text().splitlines()[0].split(";")
    columns = {
        name: {"role": "quasi_identifier", "hierarchy": {"csv": str(ADULT / f"adult_hierarchy_{name}.csv")}}
        for name in names
    }
    spec = spec_from_dict(
        {
            "source": str(ADULT / "adult.csv"),
            "target": "release",
            "columns": columns,
            "privacy": {"k": 5, "suppression": {"limit": "4%"}},
        }
    )
    found = {item.algorithm: item for item in compare(spec, ["optimal", "local", "mondrian"]).compared}
    assert found["optimal"].scores["loss"] == pytest.approx(FULL_DOMAIN, rel=1e-8)
    assert found["optimal"].suppressed == 1178
    assert found["local"].scores["loss"] < FULL_DOMAIN
    assert found["local"].suppressed < 5
    assert found["mondrian"].scores["loss"] < FULL_DOMAIN / 2
    assert found["mondrian"].suppressed == 0
    assert found["mondrian"].c_avg < 1.5
