"""Verdicts on their thresholds: a class exactly on one passes, one part in a thousand million beyond it fails.

Classes have a million rows, made by the database itself.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sqlanon.auditor import AuditResult, Beside, Request, audit
from sqlanon.engines.base import Engine
from sqlanon.spec import Privacy
from sqlanon.sql.relations import Table
from tests.kit.audits import taxonomy
from tests.kit.tables import run

MILLION = 1_000_000
STEP = Decimal("0.000000001")

# Of class 0, three quarters are flu; of class 1, a quarter; of both together, half.
FLU = f"i < 750000 OR i >= {MILLION + 750000}"


def make(engine: Engine, name: str, is_flu: str, first: int = MILLION) -> Table:
    """Two classes, the second of a million rows; `is_flu` says of row i which of two values it has."""
    run(
        engine,
        f"CREATE TABLE {name} AS SELECT CASE WHEN i < {first} THEN 0 ELSE 1 END AS q, "
        f"CASE WHEN {is_flu} THEN 'flu' ELSE 'ulcer' END AS s, CASE WHEN {is_flu} THEN 1 ELSE 2 END AS n "
        f"FROM generate_series(0, {first + MILLION - 1}) AS numbers(i)",
    )
    return Table((name,))


def of_table(engine: Engine, table: Table, privacy: dict[str, Any], **beside: Any) -> AuditResult:
    return audit(engine, table, Request(("q",), Privacy.model_validate(privacy)), Beside(**beside))


def requirement(by: Decimal, k: int) -> dict[str, Any]:
    """Every threshold where the table lies, or just beyond it, moved by a step to the strict side."""
    quarter = Decimal("0.25") - by
    return {
        "k": k,
        "l_diversity": [
            {"column": "s", "l": 2},
            # Strict: a most frequent value of exactly three times the other fails.
            {"column": "s", "l": 2, "kind": "recursive", "c": 3 + STEP - by},
        ],
        "alpha": [{"column": "s", "value": "flu", "alpha": Decimal("0.75") - by}],
        "t_closeness": [
            {"column": "s", "t": quarter},
            {"column": "s", "t": quarter, "distance": "hierarchical"},
            {"column": "n", "t": quarter, "distance": "ordered"},
        ],
        "beta_likeness": [{"column": "s", "beta": Decimal("0.5") - by}],
        # The least share of a class is half that of the whole: ln 2 = 0.69314718055...
        "delta_disclosure": [{"column": "s", "delta": Decimal("0.693147181") - by}],
        "k_map": k,
        "delta_presence": {"min": 0, "max": 1},
        "population": {"source": "unused"},
    }


def test_on_the_threshold_and_beyond(engine: Engine) -> None:
    table = make(engine, "r", FLU)
    beside = {"taxonomies": {"s": taxonomy(engine)}, "population": table}
    passing = of_table(engine, table, requirement(Decimal(0), MILLION), **beside)
    assert passing.violations == []
    assert passing.satisfied
    failing = of_table(engine, table, requirement(STEP, MILLION + 1), **beside)
    found = {(check.model, check.question.kind): check.classes_at_risk for check in failing.checks}
    assert found == {
        ("k", None): 2,
        ("l_diversity", "distinct"): 0,
        ("l_diversity", "recursive"): 2,
        ("alpha", None): 1,
        ("t_closeness", "equal"): 2,
        ("t_closeness", "hierarchical"): 2,
        ("t_closeness", "ordered"): 2,
        ("beta_likeness", "basic"): 2,
        ("delta_disclosure", "occurring"): 2,
        ("k_map", None): 2,
        ("delta_presence", None): 0,
    }
    assert failing.to_dict()["t"] == {
        "s": {"equal": 0.25, "hierarchical": 0.25},
        "n": {"equal": 0.25, "ordered": 0.25},
    }


@pytest.mark.one_engine
def test_one_row_beyond_the_threshold_fails(engine: Engine) -> None:
    """A row of each class has the other value: both lie a millionth farther than a quarter, counted side by side."""
    moved = make(engine, "r", f"i < 750001 OR i >= {MILLION + 750001}")
    models = {
        "t_closeness": [{"column": "s", "t": "0.25"}, {"column": "n", "t": "0.250001"}],
        # The rarer value of a class decides: 0.249999 is e^-0.69315 of a half.
        "delta_disclosure": [{"column": "s", "delta": "0.6931"}, {"column": "n", "delta": "0.6932"}],
    }
    result = of_table(engine, moved, models)
    assert [check.classes_at_risk for check in result.checks] == [0, 2, 2, 0, 0]


def test_entropy_of_almost_equally_frequent_values(engine: Engine) -> None:
    """Half and half is as diverse as two values; with a row more it is not, though floating point cannot tell."""
    table = make(engine, "r", "i % 2 = 0", first=MILLION + 1)
    result = of_table(engine, table, {"l_diversity": [{"column": "s", "l": 2, "kind": "entropy"}]})
    assert result.violations == [
        "l_diversity s: 1 of 2 classes have an entropy below ln 2 (1000001 of 2000001 rows at risk; the least is ln 2)"
    ]
    assert result.figures[0].entropy == pytest.approx(2)


@pytest.mark.one_engine
def test_presence_on_its_threshold(engine: Engine) -> None:
    run(engine, "CREATE TABLE people AS SELECT 0 AS q FROM generate_series(1, 2000000) AS numbers(i)")
    run(engine, "CREATE TABLE r AS SELECT 0 AS q FROM generate_series(1, 1000000) AS numbers(i)")
    for bounds, holds in (("0.5", "0.5"), True), (("0", "0.499999999"), False), (("0.500000001", "1"), False):
        presence = dict(zip(("min", "max"), bounds, strict=True))
        privacy = {"delta_presence": presence, "population": {"source": "people"}}
        result = of_table(engine, Table(("r",)), privacy, population=Table(("people",)))
        assert result.satisfied is holds, bounds
