"""A limit of 100%: `plan` and `run` say the same, and neither answers with a release that keeps no row."""

from __future__ import annotations

from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError, RequirementError
from sqlanon.spec import Spec
from sqlanon.spec.algorithms import ALGORITHMS
from tests.kit.database import Database, changed

ROWS = [(f"{town}'", disease) for town in "abc" for disease in ("flu", "cold")]
SUPPRESSING = [name for name, algorithm in ALGORITHMS.items() if algorithm.kind not in ("cells", "personalized")]


def spec_of(url: str, algorithm: str, privacy: dict[str, Any]) -> Spec:
    values = {
        "connection": url,
        "source": "patients",
        "target": "released",
        "columns": {"town": {"role": "quasi_identifier"}, "disease": {"role": "sensitive"}},
        "search": {"algorithm": algorithm},
        "evidence": {"files": False},
    }
    return changed(values, privacy={**privacy, "suppression": {"limit": "100%"}})


@pytest.fixture
def database(engine_url: str) -> Database:
    found = Database(engine_url)
    found.create("patients", {"town": "text", "disease": "text"}, ROWS)
    return found


@pytest.mark.representative(len(SUPPRESSING), postgres=6)
@pytest.mark.parametrize("algorithm", SUPPRESSING)
def test_some_row_is_kept_where_one_class_of_all_passes(database: Database, algorithm: str) -> None:
    """Every town has two rows, fewer than k: only groups of towns pass."""
    spec = spec_of(database.url, algorithm, {"k": 3})
    planned = pipeline.plan(spec)
    assert planned.to_dict()["suppressed"] < len(ROWS)
    assert pipeline.run(spec).publication.suppressed == planned.to_dict()["suppressed"]
    assert len(database.rows("released")) == len(ROWS) - planned.to_dict()["suppressed"]


@pytest.mark.representative(len(SUPPRESSING), postgres=4)
@pytest.mark.parametrize("algorithm", SUPPRESSING)
def test_plan_refuses_what_run_would_refuse(database: Database, algorithm: str) -> None:
    """Two diseases are never three."""
    spec = spec_of(database.url, algorithm, {"k": 2, "l_diversity": [{"column": "disease", "l": 3}]})
    if algorithm == "mu_argus":
        # Its plan is shown for comparison, with what the audit says of it; only a release is refused.
        assert pipeline.plan(spec).to_dict()["satisfied"] is False
        with pytest.raises(RequirementError):
            pipeline.run(spec)
    else:
        for refused in (pipeline.plan, pipeline.run):
            with pytest.raises(InfeasibleError):
                refused(spec)
    assert "released" not in {name for (name,) in database.run("SELECT table_name FROM information_schema.tables")}
