"""The builders: what each definition means, which definitions are refused, which columns they fit."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import TypeAdapter, ValidationError

from sqlanon.hierarchies import (
    BUILDERS,
    DateLevel,
    Ending,
    Expressions,
    Family,
    Formula,
    HierarchySpec,
    IntervalLevel,
    Lookup,
    MaskLevel,
    Reference,
    Rule,
)

ADAPTER: TypeAdapter[HierarchySpec] = TypeAdapter(HierarchySpec)


def build(definition: Any, folder: Path = Path()) -> HierarchySpec:
    return ADAPTER.validate_python(definition, context={"folder": folder})


def rule(definition: Any, family: Family = Family.TEXT, folder: Path = Path()) -> Rule:
    return build(definition, folder).rule(family)


def labels(definition: Any, value: object, family: Family) -> list[str]:
    """The labels of one value from level 1 to the top."""
    formula = rule(definition, family)
    assert isinstance(formula, Formula)
    top = [] if isinstance(formula.top, Ending) else [formula.top or "*"]
    return [*(level.label(value) for level in formula.levels), *top]


@pytest.mark.parametrize(
    ("definition", "value", "expected"),
    [
        ({"length": 5, "steps": [1, 2, 5]}, "94139", ["9413*", "941**", "*****"]),
        ({"length": 3}, "abc", ["ab*", "a**", "***"]),
        ({"length": 5, "steps": [2]}, "94139", ["941**"]),
        ({"length": 5, "steps": [2], "top": True}, "94139", ["941**", "*"]),
        ({"length": 5, "steps": [2, 5], "top": True}, "94139", ["941**", "*****", "*"]),
        ({"length": 5, "steps": [2, 5], "top": False}, "94139", ["941**", "*****"]),
        ({"length": 5, "steps": [1, 3, 5], "side": "left", "character": "#"}, "94139", ["#4139", "###39", "#####"]),
        ({"length": 5, "steps": [1, 3, 5]}, "941", ["941*", "94***", "*****"]),
        ({"length": 5, "steps": [1, 3, 5], "side": "left"}, "941", ["*941", "***41", "*****"]),
        ({"length": 2, "steps": [1]}, "", ["*"]),
        ({"length": 4, "steps": [1, 4]}, "é€𝄞x", ["é€𝄞*", "****"]),
    ],
)
def test_mask_labels(definition: Any, value: str, expected: list[str]) -> None:
    assert labels({"mask": definition}, value, Family.TEXT) == expected


def test_mask_of_numbers_and_uuids() -> None:
    assert labels({"mask": {"length": 5, "steps": [3]}}, 94139, Family.INTEGER)[0] == "94***"
    identity = UUID("12345678-1234-5678-1234-567812345678")
    assert labels({"mask": {"length": 36, "steps": [28]}}, identity, Family.OTHER)[0] == "12345678" + "*" * 28


def test_mask_without_length_waits_for_the_longest_value() -> None:
    formula = rule({"mask": {"steps": [1, 2]}})
    assert formula == Formula((MaskLevel(1, None), MaskLevel(2, None)), Ending.FOUND)
    with pytest.raises(ValueError, match="not known yet"):
        MaskLevel(1, None).label("abc")
    assert MaskLevel(1, None).with_length(4).label("abcd") == "abc*"


def test_values_longer_than_the_mask_are_outside() -> None:
    with pytest.raises(ValueError, match="longer than the mask"):
        MaskLevel(1, 3).label("abcd")


@pytest.mark.parametrize(
    ("definition", "value", "expected"),
    [
        ({"widths": [5, 10, 20], "min": 0, "max": 100}, 23, ["[20, 25)", "[20, 30)", "[20, 40)", "*"]),
        ({"widths": [5, 10, 20], "min": 0, "max": 100}, -1, ["<0", "<0", "<0", "*"]),
        ({"widths": [5, 10, 20], "min": 0, "max": 100}, 100, [">=100", ">=100", ">=100", "*"]),
        ({"widths": [30, 60], "min": 0, "max": 100}, 95, ["[90, 100)", "[60, 100)", "*"]),
        ({"widths": [10], "min": 3}, 12, ["[3, 13)", "*"]),
        ({"widths": [10]}, -1, ["[-10, 0)", "*"]),
        ({"cuts": [[18, 30, 50, 65], [30, 65]]}, 17, ["<18", "<30", "*"]),
        ({"cuts": [[18, 30, 50, 65], [30, 65]]}, 49, ["[30, 50)", "[30, 65)", "*"]),
        ({"cuts": [18, 65]}, 65, [">=65", "*"]),
        ({"widths": [Decimal("0.5"), 1]}, Decimal("0.75"), ["[0.5, 1.0)", "[0.0, 1.0)", "*"]),
        ({"widths": [Decimal("0.50")]}, Decimal("-0.01"), ["[-0.50, 0.00)", "*"]),
        ({"widths": [0.1]}, 0.3, ["[0.3, 0.4)", "*"]),
        ({"widths": [10]}, float("nan"), ["NaN", "*"]),
        ({"widths": [10], "max": 5}, float("nan"), ["NaN", "*"]),
        ({"widths": [10]}, float("inf"), ["Infinity", "*"]),
        ({"widths": [10]}, float("-inf"), ["-Infinity", "*"]),
        ({"widths": [10], "min": 0, "max": 10}, float("-inf"), ["<0", "*"]),
        ({"cuts": [1]}, float("inf"), [">=1", "*"]),
        ({"widths": [10]}, -0.0, ["[0, 10)", "*"]),
        ({"widths": [10]}, 10**30 + 5, [f"[{10**30}, {10**30 + 10})", "*"]),
    ],
)
def test_interval_labels(definition: Any, value: object, expected: list[str]) -> None:
    assert labels({"interval": definition}, value, Family.DECIMAL) == expected


def test_interval_levels_as_sqlgen_reads_them() -> None:
    assert rule({"interval": {"widths": [5], "min": 1, "max": "9.50"}}, Family.FLOAT) == Formula(
        (IntervalLevel(None, Decimal(5), Decimal(1), Decimal(1), Decimal("9.50"), 2),), None
    )
    assert rule({"interval": {"cuts": [1, 2]}}, Family.INTEGER) == Formula(
        (IntervalLevel((Decimal(1), Decimal(2)), None),), None
    )


def test_an_interval_level_has_cuts_or_a_width() -> None:
    with pytest.raises(ValueError, match="cuts or a width"):
        IntervalLevel(None, None).label(1)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["hour", "day"], ["1964-09-27 13", "1964-09-27", "*"]),
        (["week", "any"], ["1964-W39", "*"]),
        (["month", "quarter", "year"], ["1964-09", "1964-Q3", "1964", "*"]),
        (["5 years", "10 years", "any"], ["[1960-1964]", "[1960-1969]", "*"]),
        (["1 year"], ["1964", "*"]),
        (["any"], ["*"]),
    ],
)
def test_date_labels(words: list[str], expected: list[str]) -> None:
    assert labels({"date": words}, datetime(1964, 9, 27, 13, 45), Family.TIMESTAMP) == expected


def test_weeks_belong_to_their_iso_year() -> None:
    assert DateLevel("week").label(date(2021, 1, 3)) == "2020-W53"


def test_early_years_have_four_digits() -> None:
    assert labels({"date": ["month", "5 years"]}, date(33, 4, 3), Family.DATE) == ["0033-04", "[0030-0034]", "*"]


def test_day_is_level_0_of_a_date_and_level_1_of_a_timestamp() -> None:
    month = DateLevel("month")
    assert rule({"date": ["day", "month", "any"]}, Family.DATE) == Formula((month,), "*")
    assert rule({"date": ["day", "month"]}, Family.TIMESTAMP) == Formula((DateLevel("day"), month), None)


def test_timestamps_with_time_zone_are_read_in_utc() -> None:
    late = datetime(1999, 12, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert DateLevel("year").label(late) == DateLevel("year").label(late.astimezone(UTC)) == "2000"


def test_dates_only() -> None:
    with pytest.raises(ValueError, match="a date or a timestamp"):
        DateLevel("year").label("1964")


def test_tree_rows() -> None:
    marital = {"been_married": ["married", "divorced", "widow"], "never_married": ["single"]}
    assert rule({"tree": marital}) == Lookup(
        (
            ("married", "been_married"),
            ("divorced", "been_married"),
            ("widow", "been_married"),
            ("single", "never_married"),
        )
    )


def test_ragged_trees_repeat_the_leaf_upwards() -> None:
    ragged = {
        "respiratory": {"infection": ["flu", "bronchitis"], "asthma": None},
        "healthy": "healthy",
        "unknown": None,
    }
    assert rule({"tree": ragged}) == Lookup(
        (
            ("flu", "infection", "respiratory"),
            ("bronchitis", "infection", "respiratory"),
            ("asthma", "asthma", "respiratory"),
            ("healthy", "healthy", "healthy"),
            ("unknown", "unknown", "unknown"),
        )
    )


def test_scalars_of_a_tree_become_text() -> None:
    leaves = [True, 1, Decimal("1.50"), date(2020, 1, 2), {7: [8]}]
    assert rule({"tree": leaves}) == Lookup(
        (("true", "true"), ("1", "1"), ("1.50", "1.50"), ("2020-01-02", "2020-01-02"), ("8", "7"))
    )


def test_table_sql_and_suppression() -> None:
    table = rule({"table": {"name": 'ref."my.cities"', "levels": ["city", "state"]}})
    assert table == Reference(("ref", "my.cities"), ("city", "state"))
    assert rule({"sql": ["amount", "round(amount, -2)", "'*'"]}) == Expressions(("round(amount, -2)", "'*'"))
    assert rule("suppression", Family.BOOLEAN) == rule({"suppression": {}}) == Formula((), "*")
    assert rule({"suppression": {"label": "not_released"}}) == Formula((), "not_released")


@pytest.mark.parametrize(
    ("content", "definition"),
    [
        ("a;x;*\nb;x;*\n", {}),
        ("a,x,*\r\nb,x,*\r\nb,x,*\r\n", {}),
        ("\ufeffa|x|*\n\nb|x|*", {"delimiter": "|"}),
        ("value;group;all\na;x;*\nb;x;*\n", {"header": True}),
    ],
)
def test_csv_rows(tmp_path: Path, content: str, definition: dict[str, Any]) -> None:
    (tmp_path / "h.csv").write_text(content, encoding="utf-8", newline="")
    expected = Lookup((("a", "x", "*"), ("b", "x", "*")))
    assert rule({"csv": {"path": "h.csv", **definition}}, folder=tmp_path) == expected
    if not definition:
        assert rule({"csv": "h.csv"}, folder=tmp_path) == expected


def test_csv_keeps_values_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_bytes('" a ","é\u2028"\n"say ""hi""",\n'.encode("utf-16"))
    found = rule({"csv": {"path": "h.csv", "encoding": "utf-16"}}, folder=tmp_path)
    assert found == Lookup(((" a ", "é\u2028"), ('say "hi"', "")))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "h.csv does not exist"),
        (b"", "h.csv has no rows"),
        (b"a;x\n\nb;x;y\n", "h.csv, line 3: 3 fields where 2 are expected"),
        (b'a;"x\n', "h.csv, line 2: not valid csv"),
        (b"\xff\xfe;a", "h.csv is not encoded in utf-8; set encoding"),
    ],
)
def test_csv_errors(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "h.csv").write_bytes(content)
    builder = build({"csv": "h.csv"}, tmp_path)
    with pytest.raises(ValueError, match=message):
        builder.rule(Family.TEXT)


def test_csv_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "h.csv").mkdir()
    with pytest.raises(ValueError, match="cannot be read"):
        rule({"csv": "h.csv"}, folder=tmp_path)


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"maks": {}}, "unknown builder 'maks'; did you mean 'mask'?"),
        ({"zzz": {}}, "unknown builder 'zzz'; the builders are mask"),
        ({}, "exactly one builder"),
        ({"mask": {"length": 5}, "date": ["any"]}, "exactly one builder"),
        ("mask", "a mapping of one builder"),
        (5, "exactly one builder"),
        ({"mask": {}}, "give length, steps or both"),
        ({"mask": {"length": 5, "steps": []}}, "steps is empty"),
        ({"mask": {"length": 5, "steps": [2, 2]}}, "steps must increase"),
        ({"mask": {"length": 5, "steps": [6]}}, "more characters than length"),
        ({"interval": {}}, "either widths or cuts"),
        ({"interval": {"widths": [5], "cuts": [5]}}, "either widths or cuts"),
        ({"interval": {"widths": []}}, "above 0"),
        ({"interval": {"widths": [0]}}, "above 0"),
        ({"interval": {"widths": [10, 25]}}, "widths must nest"),
        ({"interval": {"widths": [10, 10]}}, "widths must nest"),
        ({"interval": {"widths": ["0.000000001", "123456789"], "min": 5, "max": 5}}, "below max"),
        ({"interval": {"widths": [10], "min": "1e999999999"}}, "at most 18 digits"),
        ({"interval": {"widths": ["0.0000000001"]}}, "at most 9 decimals"),
        ({"interval": {"widths": ["0.01"], "max": "12345678901234567"}}, "at most 18 digits"),
        ({"interval": {"widths": [True]}}, "not true or false"),
        ({"interval": {"widths": [float("inf")]}}, "finite"),
        ({"interval": {"cuts": []}}, "at least one number"),
        ({"interval": {"cuts": [[1], []]}}, "at least one number"),
        ({"interval": {"cuts": [2, 1]}}, "must increase"),
        ({"interval": {"cuts": [[1, 2], [1, 3]]}}, "cuts must nest"),
        ({"interval": {"cuts": [[1, 2], [1, 2]]}}, "cuts must nest"),
        ({"interval": {"cuts": [1], "min": 0}}, "go with widths"),
        ({"date": ["any", "day"]}, "any must come last"),
        ({"date": ["week", "month"]}, "weeks straddle months and years"),
        ({"date": ["month", "day"]}, "from finer to coarser"),
        ({"date": ["year", "1 year"]}, "from finer to coarser"),
        ({"date": ["5 years", "12 years"]}, "spans of years must nest"),
        ({"date": ["fortnight"]}, "one of hour, day"),
        ({"tree": {"a": ["x"], "b": ["x"]}}, "value 'x' stands in the tree twice"),
        ({"tree": {"a": {"c": ["x"]}, "b": {"c": ["y"]}}}, "label 'c' stands on two branches"),
        ({"tree": {"a": {"c": ["x"]}, "b": ["c"]}}, "label 'c' stands on two branches"),
        ({"tree": {"a": []}}, "branch 'a' has no values"),
        ({"tree": {}}, "the tree is empty"),
        ({"tree": "a"}, "a mapping of labels"),
        ({"tree": ["a", None]}, "an empty entry"),
        ({"csv": {"path": "h.csv", "encoding": "nonsense"}}, "an encoding that Python knows"),
        ({"table": {"name": "cities", "levels": ["a", "a"]}}, "one level only"),
        ({"table": {"name": "a..b", "levels": ["a"]}}, "a name like"),
        ({"table": {"name": 'a."b"c', "levels": ["a"]}}, "only a dot may follow"),
        ({"table": {"name": 7, "levels": ["a"]}}, "a name in text"),
        ({"table": {"name": "a.b.c.d", "levels": ["a"]}}, "at most three parts"),
    ],
)
def test_definitions_that_are_wrong_by_themselves(definition: Any, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        build(definition)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("definition", "misfits"),
    [
        ({"mask": {"length": 3}}, ["decimal", "float", "boolean", "date", "timestamp", "timestamp with time zone"]),
        ({"interval": {"cuts": [1]}}, ["text", "boolean", "date", "timestamp", "timestamp with time zone", "other"]),
        ({"date": ["day"]}, ["text", "integer", "decimal", "float", "boolean", "other"]),
        ({"date": ["hour"]}, ["text", "integer", "decimal", "float", "boolean", "other", "date"]),
        ({"tree": ["a"]}, []),
        ({"table": {"name": "t", "levels": ["a"]}}, []),
        ({"sql": ["a"]}, []),
        ("suppression", []),
    ],
)
def test_families(definition: Any, misfits: list[str]) -> None:
    builder = build(definition)
    for family in Family:
        if family.value in misfits:
            with pytest.raises(ValueError, match=f"does not fit a column of {family.value} values; "):
                builder.rule(family)
        else:
            builder.rule(family)


@pytest.mark.parametrize(
    "definition",
    [
        {"mask": {"length": 3}},
        {"interval": {"cuts": [1]}},
        {"date": ["day"]},
        {"tree": ["a"]},
        {"csv": "a.csv"},
        {"table": {"name": 'a."b c"', "levels": ["a"]}},
        {"sql": ["a"]},
        "suppression",
    ],
)
def test_a_builder_survives_writing_and_reading(definition: Any) -> None:
    builder = build(definition)
    assert isinstance(builder, tuple(BUILDERS.values()))
    assert build(builder) == builder
    assert build(ADAPTER.dump_python(builder, mode="json")) == builder
