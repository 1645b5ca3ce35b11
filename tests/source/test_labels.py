"""Labels in SQL are the labels in Python: every rule, on every engine, for values at and around every boundary."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.engines.base import Engine
from sqlanon.hierarchies import DateLevel, Family, Interval, IntervalLevel, Level, MaskLevel
from sqlanon.source.label_statements import label
from sqlanon.sql.relations import column
from tests.kit.papers import adversarial_values
from tests.kit.tables import FEW, at, create, literal, rows, run


@pytest.fixture
def engine(shared_engine: Engine) -> Engine:
    """Labels are asked for, and no table is made: one session serves them all."""
    return shared_engine


def labels_in_sql(engine: Engine, level: Level, family: Family, kind: str, texts: Sequence[object]) -> list[Any]:
    """The labels of values given by their texts, in order; one statement."""
    expression = engine.traits.render(label(level, column("value"), family, engine.traits))
    values = ", ".join(f"({number}, CAST({literal(text)} AS {kind}))" for number, text in enumerate(texts))
    found = rows(engine, f"SELECT number, {expression} FROM (VALUES {values}) AS given (number, value) ORDER BY number")
    return [name for _, name in found]


# -- masks -----------------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
masks = st.builds(
    MaskLevel,
    masked=st.integers(1, 8),
    length=st.just(8),
    side=st.sampled_from(["left", "right"]),
    character=st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
)


@pytest.mark.no_cover
@FEW
@given(level=masks, values=st.lists(texts, min_size=1, max_size=40))
def test_masks(engine: Engine, level: MaskLevel, values: list[str]) -> None:
    found = labels_in_sql(engine, level, Family.TEXT, "text", values)
    assert found == [level.label(value) for value in values]


@pytest.mark.parametrize("side", ["left", "right"])
def test_masks_of_adversarial_values(engine: Engine, side: Any) -> None:
    values = [value for value in adversarial_values() if value is not None]
    level = MaskLevel(3, 60, side, "'")
    assert labels_in_sql(engine, level, Family.TEXT, "text", values) == [level.label(value) for value in values]


@pytest.mark.no_cover
@FEW
@given(level=masks, values=st.lists(st.integers(-9_999_999, 99_999_999), min_size=1, max_size=40))
def test_masks_of_integers(engine: Engine, level: MaskLevel, values: list[int]) -> None:
    found = labels_in_sql(engine, level, Family.INTEGER, "int", values)
    assert found == [level.label(value) for value in values]


def test_a_value_longer_than_the_mask_has_no_label(engine: Engine) -> None:
    assert labels_in_sql(engine, MaskLevel(1, 3), Family.TEXT, "text", ["1234", "123", ""]) == [None, "12*", "*"]


# -- intervals -------------------------------------------------------------------------------------------------------

INTERVALS: list[dict[str, Any]] = [
    {"widths": [5]},
    {"widths": [5], "min": 0, "max": 100},
    {"widths": [7], "min": -3, "max": 40},
    {"widths": [3], "max": 10},
    {"widths": ["0.1"]},
    {"widths": ["0.3"], "min": "-1.1", "max": "2.5"},
    {"widths": ["0.000000001"]},
    {"widths": ["0.25"], "min": "0.05"},
    {"widths": [100_000_000_000]},
    {"cuts": [0]},
    {"cuts": [-10, 0, 18, 65]},
    {"cuts": ["-0.5", "0.3", "0.30000001"]},
    {"cuts": ["99999999.999999999"]},
    {"cuts": [-999_999_999_999_999_999, 999_999_999_999_999_999]},
]


def levels_of(definition: dict[str, Any]) -> list[IntervalLevel]:
    return [level for level in Interval(**definition).rule(Family.DECIMAL).levels if isinstance(level, IntervalLevel)]


INTERVAL_LEVELS = [level for definition in INTERVALS for level in levels_of(definition)]
interval_levels = st.sampled_from(INTERVAL_LEVELS)


def expected(level: IntervalLevel, value: Decimal | float | int) -> str | None:
    """The label in Python; none where the value leaves 64 bits and nothing codes it."""
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if number.is_finite() and abs(number) >= 4 * Decimal(10) ** (18 - level.scale):
        coded = level.cuts or (level.minimum if number < 0 else level.maximum) is not None
        return level.label(value) if coded else None
    return level.label(value)


def boundary_values(level: IntervalLevel) -> list[Decimal]:
    """Bounds, and what lies a hair beside them."""
    bounds = [*(level.cuts or ()), *(bound for bound in (level.minimum, level.maximum) if bound is not None)]
    if level.width is not None:
        bounds += [level.origin + level.width * times for times in range(-3, 4)]
    hairs = [Decimal(0), Decimal("0.5"), Decimal("1e-9"), Decimal("4e-10"), Decimal("1e-12")]
    return [bound + sign * hair for bound in bounds for hair in hairs for sign in (1, -1)]


integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200)


@pytest.mark.no_cover
@FEW
@given(level=interval_levels, values=st.lists(integers, min_size=1, max_size=40))
def test_intervals_of_integers(engine: Engine, level: IntervalLevel, values: list[int]) -> None:
    found = labels_in_sql(engine, level, Family.INTEGER, "bigint", values)
    assert found == [expected(level, value) for value in values]


@pytest.mark.parametrize("kind", ["hugeint", "ubigint", "utinyint", "bignum"])
def test_integers_wider_than_64_bits(duckdb_url: str, kind: str) -> None:
    values = {"hugeint": [-(10**30), 10**30, 7], "ubigint": [2**64 - 1], "utinyint": [255], "bignum": [10**40, 3]}
    with at(duckdb_url) as engine:
        for level in INTERVAL_LEVELS:
            found = labels_in_sql(engine, level, Family.INTEGER, kind, values[kind])
            assert found == [expected(level, value) for value in values[kind]]


@pytest.mark.parametrize("level", INTERVAL_LEVELS, ids=repr)
def test_decimals_at_boundaries(engine: Engine, level: IntervalLevel) -> None:
    values = [value for value in boundary_values(level) if abs(value) < Decimal(10) ** 18]
    found = labels_in_sql(engine, level, Family.DECIMAL, "decimal(38, 18)", [f"{value:f}" for value in values])
    assert found == [expected(level, value) for value in values]


@pytest.mark.no_cover
@FEW
@given(
    level=interval_levels,
    values=st.lists(
        st.decimals(-(10**24), 10**24, places=13) | st.decimals(-20, 20, places=13), min_size=1, max_size=40
    ),
)
def test_intervals_of_decimals(engine: Engine, level: IntervalLevel, values: list[Decimal]) -> None:
    found = labels_in_sql(engine, level, Family.DECIMAL, "decimal(38, 13)", [f"{value:f}" for value in values])
    assert found == [expected(level, value) for value in values]


@pytest.mark.postgres
@pytest.mark.parametrize("level", INTERVAL_LEVELS, ids=repr)
def test_decimals_without_bounds(postgres_url: str, level: IntervalLevel) -> None:
    texts = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "-1e-400"]
    with at(postgres_url) as engine:
        found = labels_in_sql(engine, level, Family.DECIMAL, "numeric", texts)
    assert found == [expected(level, Decimal(text)) for text in texts]


FLOATS = [0.0, -0.0, 0.1, 0.3, 0.29, 0.7, 0.1 + 0.2, 0.29999999999999993, 1e15, 1e15 + 0.375, 1e-300, -1e-300, 5e-324]
FLOATS += [9.999999999999999e-10, 1e-9, -1e-9, 4.0e18, 3.9e18, 1e19, -1e19, 1e300, -1e300, 99.99999999999999, 2.675]
FLOATS += [float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize("level", INTERVAL_LEVELS, ids=repr)
def test_floats_at_boundaries(engine: Engine, level: IntervalLevel) -> None:
    values = [*FLOATS, *(float(value) for value in boundary_values(level))]
    found = labels_in_sql(engine, level, Family.FLOAT, "double precision", [repr(value) for value in values])
    assert found == [expected(level, value) for value in values]


# Beyond 2^53 doubles lie two and more apart, and engines may spell one by different digits (docs/reference/engines.md).
SPELLED_ALIKE = (
    st.floats(-(2.0**53), 2.0**53) | st.floats(-20, 20) | st.sampled_from([float("nan"), float("inf"), -float("inf")])
)


@pytest.mark.no_cover
@FEW
@given(level=interval_levels, values=st.lists(SPELLED_ALIKE, min_size=1, max_size=40))
def test_intervals_of_floats(engine: Engine, level: IntervalLevel, values: list[float]) -> None:
    found = labels_in_sql(engine, level, Family.FLOAT, "double precision", [repr(value) for value in values])
    assert found == [expected(level, value) for value in values]


@pytest.mark.no_cover
@FEW
@given(level=interval_levels, values=st.lists(st.decimals(-1000, 1000, places=2), min_size=1, max_size=40))
def test_a_float_of_single_precision_is_the_decimal_it_shows(
    engine: Engine, level: IntervalLevel, values: list[Decimal]
) -> None:
    found = labels_in_sql(engine, level, Family.FLOAT, "real", values)
    assert found == [expected(level, value) for value in values]


# -- dates -----------------------------------------------------------------------------------------------------------

UNITS = ["hour", "day", "week", "month", "quarter", "year"]
date_levels = st.builds(DateLevel, st.sampled_from(UNITS[1:])) | st.builds(
    DateLevel, st.just("year"), st.integers(1, 1000)
)
time_levels = date_levels | st.just(DateLevel("hour"))
days = st.dates(date(1, 1, 1), date(9999, 12, 31))
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))


@pytest.mark.no_cover
@FEW
@given(level=date_levels, values=st.lists(days, min_size=1, max_size=60))
def test_dates(engine: Engine, level: DateLevel, values: list[date]) -> None:
    found = labels_in_sql(engine, level, Family.DATE, "date", [value.isoformat() for value in values])
    assert found == [level.label(value) for value in values]


@pytest.mark.no_cover
@FEW
@given(level=time_levels, values=st.lists(moments, min_size=1, max_size=60))
def test_timestamps(engine: Engine, level: DateLevel, values: list[datetime]) -> None:
    found = labels_in_sql(engine, level, Family.TIMESTAMP, "timestamp", [value.isoformat(" ") for value in values])
    assert found == [level.label(value) for value in values]


@pytest.mark.no_cover
@FEW
@given(
    level=time_levels,
    values=st.lists(st.tuples(moments, st.integers(-14 * 60, 14 * 60)), min_size=1, max_size=60),
    zone=st.sampled_from(["UTC", "Asia/Tokyo", "America/St_Johns"]),
)
def test_timestamps_with_time_zone_are_read_in_utc(
    engine: Engine, level: DateLevel, values: list[tuple[datetime, int]], zone: str
) -> None:
    aware = [moment.replace(tzinfo=timezone(timedelta(minutes=offset))) for moment, offset in values]
    run(engine, f"SET TimeZone = '{zone}'")
    found = labels_in_sql(engine, level, Family.TIMESTAMP_TZ, "timestamptz", [value.isoformat(" ") for value in aware])
    run(engine, "SET TimeZone = 'UTC'")
    assert found == [level.label(value.astimezone(UTC)) for value in aware]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("family", "kind"), [("DATE", "date"), ("TIMESTAMP", "timestamp"), ("TIMESTAMP_TZ", "timestamptz")]
)
def test_infinite_dates_are_named_and_years_before_1_have_no_label(
    engine: Engine, unit: Any, family: str, kind: str
) -> None:
    before = "0044-03-15 BC" if engine.dialect == "postgres" else "0044-03-15 (BC)"
    found = labels_in_sql(engine, DateLevel(unit), Family[family], kind, ["infinity", "-infinity", before])
    assert found == ["infinity", "-infinity", None]


def test_years_of_five_digits_are_not_cut(engine: Engine) -> None:
    assert labels_in_sql(engine, DateLevel("year"), Family.DATE, "date", ["12345-01-01"]) == ["12345"]
    assert labels_in_sql(engine, DateLevel("year", 100), Family.DATE, "date", ["12345-01-01"]) == ["[12300-12399]"]


def test_every_integer_type_of_a_table_takes_the_same_label(engine_url: str) -> None:
    with at(engine_url) as engine:
        create(engine, ["t"], {"a": "smallint", "b": "int", "c": "bigint"}, [(7, 7, 7)])
        for name in "abc":
            expression = engine.traits.render(label(INTERVAL_LEVELS[0], column(name), Family.INTEGER, engine.traits))
            assert rows(engine, f"SELECT {expression} FROM t") == [("[5, 10)",)]
