"""Members of sets that read like ranges and are labels of the hierarchy: `{[1975-1979], NULL}`."""

from __future__ import annotations

import pytest

from sqlanon.auditor.policy import _read


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("{[1975-1979], NULL}", [("[1975-1979]", "[1975-1979]"), ()]),
        ("{[1975-1979], NULL}", [("1975", "1979"), ()]),
        ("[1975-1979]", [("1975", "1979")]),
    ],
)
def test_both_readings_are_tried(label: str, wanted: list[tuple[str, ...]]) -> None:
    read = _read(label, ordered=True)
    assert read is not None
    assert wanted in read
