"""The Adult table with all nine columns as quasi-identifier, on DuckDB: figures the field's other tools give too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pycanon.anonymity
import pytest

from sqlanon import pipeline
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import prepared, solved

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult"
COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
LIMIT = 1206
"""4% of 30162 rows."""

pytestmark = [
    pytest.mark.adult,
    pytest.mark.no_cover,
    pytest.mark.skipif(not ADULT.is_dir(), reason="the Adult data of ../shared/data/adult is absent"),
]


def adult(target: Path | str = "unused.csv", k: int = 5, limit: str = "4%", **search: Any) -> Spec:
    columns = {
        name: {
            "role": "quasi_identifier",
            "hierarchy": {"csv": {"path": str(ADULT / f"adult_hierarchy_{name}.csv"), "delimiter": ";"}},
        }
        for name in COLUMNS
    }
    values = {
        "source": str(ADULT / "adult.csv"),
        "target": str(target),
        "columns": columns,
        "privacy": {"k": k, "suppression": {"limit": limit}},
        "search": search,
    }
    return spec_from_dict(values)


def test_samarati_publishes_what_pycanon_confirms(tmp_path: Path) -> None:
    result = pipeline.run(adult(tmp_path / "released.csv", algorithm="samarati"))
    assert result.publication.rows == 30162
    assert result.publication.suppressed <= LIMIT
    released = pandas.read_csv(tmp_path / "released.csv", dtype=str, keep_default_na=False)
    assert len(released) == 30162 - result.publication.suppressed
    assert list(released.columns) == list(COLUMNS)
    assert pycanon.anonymity.k_anonymity(released, list(COLUMNS)) == result.audit.k >= 5


def test_searches_on_one_scan() -> None:
    with prepared(adult()) as (run, frequency):
        every = solved(run, frequency, adult(algorithm="incognito"))
        assert every.acceptable is not None
        assert (every.lattice, len(every.acceptable)) == (12960, 4452)
        lowest = min(map(sum, every.acceptable))
        samarati = solved(run, frequency, adult(algorithm="samarati"))
        assert sum(samarati.chosen.node) == lowest
        assert samarati.chosen.suppressed <= LIMIT

        loss = solved(run, frequency, adult(algorithm="optimal", metric="loss"))
        assert loss.chosen.node == (0, 3, 0, 1, 1, 1, 1, 2, 0)
        assert loss.chosen.suppressed == 1178
        assert loss.score == pytest.approx(0.266110819, abs=1e-9)

        entropy = solved(run, frequency, adult(algorithm="optimal", metric="entropy*"))
        assert entropy.chosen.node == (1, 0, 1, 1, 3, 2, 2, 0, 1)
        assert entropy.chosen.suppressed == 906
        assert entropy.score == pytest.approx(255559.85455731067, rel=1e-9)

        hundred = solved(run, frequency, adult(k=100, limit="0%", algorithm="optimal", metric="entropy*"))
        assert hundred.chosen.node == (0, 4, 1, 1, 3, 2, 2, 1, 1)
        assert hundred.chosen.suppressed == 0
        assert hundred.score == pytest.approx(453196.8932458743, rel=1e-9)


def test_entropy_diversity_of_the_occupation() -> None:
    """Not monotone with suppression: the best node must be found without leaning on neighbours."""
    given = adult(algorithm="optimal", metric="entropy").model_dump(mode="json", by_alias=True, exclude_defaults=True)
    given["columns"]["occupation"] = {"role": "sensitive"}
    given["privacy"] = {
        "suppression": {"limit": "4%"},
        "l_diversity": [{"column": "occupation", "l": 5, "kind": "entropy"}],
    }
    found = pipeline.plan(spec_from_dict(given)).search
    assert found.proven
    assert found.chosen.node == (1, 0, 1, 1, 2, 2, 2, 1)
    assert found.score == pytest.approx(228878.2039109517, rel=1e-9)
