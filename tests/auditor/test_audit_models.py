"""Audits of every model against brute force in Python, on random small tables: NULL, ties and one-value classes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.auditor import Request
from sqlanon.auditor.statements import columns as audit_side_by_side
from sqlanon.engines.base import Engine
from sqlanon.spec import Privacy
from tests.kit import oracle
from tests.kit.audits import (
    FEW,
    ROWS,
    TABLES,
    Rows,
    assert_equals_oracle,
    fill,
    measured,
    privacies,
    taxonomy,
    without_sorting,
)


@given(rows=TABLES, privacy=privacies())
@FEW
def test_the_table_as_its_own_reference(engine: Engine, rows: Rows, privacy: Privacy) -> None:
    request = Request(("q1", "q2"), privacy)
    result = measured(engine, fill(engine, "r", rows), request, taxonomies={"s": taxonomy(engine)})
    assert_equals_oracle(result, oracle.Table(rows), request)


@given(rows=TABLES, suppressed=st.lists(ROWS, max_size=8), privacy=privacies())
@FEW
def test_the_source_as_reference(engine: Engine, rows: Rows, suppressed: Rows, privacy: Privacy) -> None:
    source = [*rows, *suppressed]
    request = Request(("q1", "q2"), privacy)
    beside = {"source": fill(engine, "source_table", source), "taxonomies": {"s": taxonomy(engine)}}
    result = measured(engine, fill(engine, "r", rows), request, **beside)
    assert result.suppressed == len(suppressed)
    assert_equals_oracle(result, oracle.Table(rows, source=source), request)


@pytest.mark.one_engine
@given(rows=TABLES, suppressed=st.lists(ROWS, max_size=8), privacy=privacies(), whole=st.booleans())
@FEW
def test_values_counted_side_by_side(
    engine: Engine, rows: Rows, suppressed: Rows, privacy: Privacy, whole: bool
) -> None:
    source = [*rows, *suppressed]
    request = Request(("q1", "q2"), without_sorting(privacy))
    beside = {"source": fill(engine, "source_table", source)} if whole else {}
    result = measured(engine, fill(engine, "r", rows), request, **beside)
    assert_equals_oracle(result, oracle.Table(rows, source=source if whole else None), request)


@pytest.mark.one_engine
@given(rows=TABLES, suppressed=st.lists(ROWS, max_size=8), privacy=privacies())
@FEW
def test_columns_of_many_values(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, rows: Rows, suppressed: Rows, privacy: Privacy
) -> None:
    """The way that columns with more values than can be counted side by side go."""
    monkeypatch.setattr(audit_side_by_side, "MOST_VALUES", 0)
    source = [*rows, *suppressed]
    request = Request(("q1",), without_sorting(privacy))
    beside = {"source": fill(engine, "source_table", source)}
    result = measured(engine, fill(engine, "r", rows), request, **beside)
    assert_equals_oracle(result, oracle.Table(rows, source=source), request)


MANY = st.fixed_dictionaries({"q": st.sampled_from([1, 1, 1, 2]), "n": st.integers(0, 12).map(lambda root: root**2)})


@given(rows=st.lists(MANY, min_size=20, max_size=60), suppressed=st.lists(MANY, max_size=20))
@FEW
def test_ordered_distances_in_large_classes(engine: Engine, rows: Rows, suppressed: Rows) -> None:
    """Stretches between the values of a class in which the reference crosses it, anywhere."""
    source = [*rows, *suppressed]
    model = {"column": "n", "t": "0.05", "distance": "ordered"}
    request = Request(("q",), Privacy.model_validate({"k": 1, "t_closeness": [model]}))
    types = {"q": "int", "n": "int"}
    beside = {"source": fill(engine, "source_table", source, types)}
    result = measured(engine, fill(engine, "r", rows, types), request, **beside)
    assert_equals_oracle(result, oracle.Table(rows, source=source), request)


@pytest.mark.one_engine
@given(rows=TABLES, suppressed=st.lists(ROWS, max_size=8), privacy=privacies(), whole=st.booleans())
@FEW
def test_persons(engine: Engine, rows: Rows, suppressed: Rows, privacy: Privacy, whole: bool) -> None:
    source = [*rows, *suppressed]
    request = Request(("q1", "q2"), privacy, respondent="who")
    beside: dict[str, Any] = {"taxonomies": {"s": taxonomy(engine)}}
    if whole:
        beside["source"] = fill(engine, "source_table", source)
    result = measured(engine, fill(engine, "r", rows), request, **beside)
    assert result.respondents == len({row["who"] for row in rows})
    assert_equals_oracle(result, oracle.Table(rows, "who", source=source if whole else None), request)


@pytest.mark.one_engine
@given(rows=TABLES, privacy=privacies(), others=st.sampled_from(["known", "unknown"]), person=st.booleans())
@FEW
def test_several_quasi_identifiers_and_known_values(
    engine: Engine, rows: Rows, privacy: Privacy, others: str, person: bool
) -> None:
    groups = {"patient": {"columns": ["q1"], "k": 2}, "doctor": {"columns": ["q2"]}}
    values = privacy.model_dump() | {"quasi_identifiers": groups, "other_sensitive": others}
    request = Request(("q1", "q2"), Privacy.model_validate(values), respondent="who" if person else None)
    result = measured(engine, fill(engine, "r", rows), request, taxonomies={"s": taxonomy(engine)})
    assert_equals_oracle(result, oracle.Table(rows, "who" if person else None), request)
    assert set(result.to_dict()["groups"]) == {"patient", "doctor"}
    assert result.k == min(group.sizes.k for group in result.groups if group.satisfied == _worst(result))


def _worst(result: Any) -> bool:
    return all(group.satisfied for group in result.groups)


@given(
    rows=TABLES,
    people=st.lists(ROWS, min_size=1, max_size=24),
    k_map=st.integers(1, 4),
    bounds=st.sampled_from([("0", "0.5"), ("0", "1"), ("0.25", "0.5"), ("0.5", "1"), ("1", "1")]),
    person=st.booleans(),
)
@FEW
def test_a_population(
    engine: Engine, rows: Rows, people: Rows, k_map: int, bounds: tuple[str, str], person: bool
) -> None:
    presence = dict(zip(("min", "max"), bounds, strict=True))
    values = {"k_map": k_map, "delta_presence": presence, "population": {"source": "people"}}
    privacy = Privacy.model_validate(values)
    request = Request(("q1", "q2"), privacy, respondent="who" if person else None)
    result = measured(engine, fill(engine, "r", rows), request, population=fill(engine, "people", people))
    truth = oracle.Table(rows, "who" if person else None, population=people)
    columns = ("q1", "q2")
    _, by_map, by_presence = result.checks
    map_asked = oracle.Asked(oracle.KMap(k_map), columns)
    assert privacy.delta_presence is not None
    least, greatest = privacy.delta_presence.min, privacy.delta_presence.max
    presence_asked = oracle.Asked(oracle.DeltaPresence(Fraction(least), Fraction(greatest)), columns)
    assert (by_map.classes_at_risk, by_map.rows_at_risk) == truth.failing(map_asked)
    assert (by_presence.classes_at_risk, by_presence.rows_at_risk) == truth.failing(presence_asked)
    assert by_map.measured == truth.figure(map_asked)
    shares = list(truth.figures(presence_asked).values())
    known = [float(share) for share in shares if share is not None]
    figures = result.to_dict()["delta_presence"]
    assert figures["min"] == pytest.approx(min(known, default=0))
    assert figures["max"] == (None if None in shares else pytest.approx(max(known)))
