"""Audits against pycanon, which shares nothing with them, on random tables of its kind: texts and numbers, no NULL."""

from __future__ import annotations

import math
from typing import Any

import pandas
import pycanon.anonymity
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.auditor import AuditResult, Request
from sqlanon.engines.base import Engine
from sqlanon.spec import Privacy
from tests.kit.audits import FEW, fill, measured

COLUMNS = ("q1", "q2", "s", "n")
TYPES = {"q1": "text", "q2": "text", "s": "text", "n": "int"}
# A text that no value has stands for NULL: pycanon leaves rows with NULL out of its count.
TEXTS = st.sampled_from(["x", "X", "", "NULL"])
ROWS = st.lists(st.tuples(TEXTS, st.sampled_from("12"), TEXTS, st.integers(-2, 3)), min_size=2, max_size=30)


def of_rows(engine: Engine, rows: list[tuple[Any, ...]], **models: Any) -> tuple[AuditResult, pandas.DataFrame]:
    table = fill(engine, "r", [dict(zip(COLUMNS, row, strict=True)) for row in rows], TYPES)
    request = Request(("q1", "q2"), Privacy.model_validate({"k": 1, **models}), sensitive=("s", "n"))
    return measured(engine, table, request), pandas.DataFrame(rows, columns=list(COLUMNS))


@given(rows=ROWS.filter(lambda rows: len({row[3] for row in rows}) > 1))
@FEW
@pytest.mark.one_engine
def test_figures_equal_pycanon(engine: Engine, rows: list[tuple[Any, ...]]) -> None:
    result, frame = of_rows(engine, rows, t_closeness=[{"column": "n", "t": 1, "distance": "ordered"}])
    found = {item.column: item for item in result.figures}
    by = ["q1", "q2"]
    assert result.k == pycanon.anonymity.k_anonymity(frame, by)
    assert found["n"].ordered == pytest.approx(pycanon.anonymity.t_closeness(frame, by, ["n"]))
    assert found["s"].equal == pytest.approx(pycanon.anonymity.t_closeness(frame, by, ["s"]))
    for name, figures in found.items():
        assert figures.distinct == pycanon.anonymity.l_diversity(frame, by, [name])
        # It gives whole numbers, rounded down from just below where the values are equally frequent.
        assert math.floor(figures.entropy + 1e-9) - pycanon.anonymity.entropy_l_diversity(frame, by, [name]) in (0, 1)
        assert figures.share == pytest.approx(pycanon.anonymity.alpha_k_anonymity(frame, by, [name])[0])
        assert figures.beta == pytest.approx(pycanon.anonymity.basic_beta_likeness(frame, by, [name]))
        assert figures.delta == pytest.approx(pycanon.anonymity.delta_disclosure(frame, by, [name]))


@given(counts=st.lists(st.integers(1, 4), min_size=1, max_size=3), values=st.integers(2, 4))
@FEW
@pytest.mark.one_engine
def test_recursive_diversity_equals_pycanon(engine: Engine, counts: list[int], values: int) -> None:
    """In classes of equally frequent values: pycanon 1.0.1 takes the rarest value for the most frequent one."""
    rows = [
        (f"class {place}", "1", f"value {value}", 0)
        for place, count in enumerate(counts)
        for value in range(values)
        for _ in range(count)
    ]
    result, frame = of_rows(engine, rows, l_diversity=[{"column": "s", "l": values, "kind": "recursive", "c": 1}])
    c, diversity = pycanon.anonymity.recursive_c_l_diversity(frame, ["q1", "q2"], ["s"])
    figure = result.to_dict()["l"]["s"]["recursive"][f"{values},1"]
    assert (c, diversity) == (math.floor(figure + 1), values)
    # Its c is the next whole number above the figure, because the inequality is strict.
    assert not result.satisfied
