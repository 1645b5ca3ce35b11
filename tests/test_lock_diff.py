"""What a new plan would change, and why, told from two lock files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sqlanon.lock import Lock
from sqlanon.lock_diff import diff

HIERARCHIES = {
    "zip": {"height": 3, "top": "*****", "definition": "0123"},
    "sex": {"height": 1, "top": "*", "definition": "4567"},
}
RESULT: dict[str, Any] = {
    "rows": 120,
    "suppressed": 3,
    "limit": 6,
    "classes": 14,
    "score": {"loss": 0.25},
    "algorithm": "optimal",
    "satisfied": True,
}
LOCK = Lock("spec.yaml", "aaaa", {"zip": 1, "sex": 0}, HIERARCHIES, {"k": {"k": 5}}, RESULT, "f0")


def told(**changes: Any) -> list[str]:
    """The lines of a diff after these parts of the lock changed; `result` is merged."""
    result = {**RESULT, **changes.pop("result", {})}
    return [str(change) for change in diff(LOCK, replace(LOCK, result=result, **changes))]


def hierarchy(**changes: Any) -> dict[str, dict[str, Any]]:
    return {**HIERARCHIES, "zip": {**HIERARCHIES["zip"], **changes}}


def test_nothing_changed() -> None:
    assert diff(LOCK, LOCK) == []


def test_more_rows() -> None:
    lines = told(levels={"zip": 2, "sex": 0}, result={"rows": 131, "suppressed": 7, "classes": 9}, fingerprint="f1")
    assert lines == [
        "zip: level 1 -> 2",
        "suppressed 3 of 120 -> 7 of 131 rows",
        "classes 14 -> 9",
        "because the data changed (120 -> 131 rows)",
    ]


def test_other_rows() -> None:
    lines = told(result={"suppressed": 7, "score": {"loss": 0.5}}, fingerprint="f1")
    assert lines == [
        "suppressed 3 -> 7 of 120 rows",
        "loss 0.25 -> 0.5",
        "because the data changed (120 rows as before)",
    ]


def test_data_that_change_nothing_are_told_too() -> None:
    assert told(fingerprint="f1") == ["because the data changed (120 rows as before)"]


def test_another_hierarchy() -> None:
    """The fingerprint holds the hierarchies' codes: that it changed says nothing of the data then."""
    changed = hierarchy(definition="89ab", height=4, top="any")
    lines = told(levels={"zip": 3, "sex": 0}, hierarchies=changed, fingerprint="f1", spec_hash="bbbb")
    assert lines == [
        "zip: level 1 -> 3",
        "because the hierarchy of zip changed (height 3 -> 4, top ***** -> any)",
    ]


def test_a_hierarchy_whose_top_only_the_data_know() -> None:
    assert told(hierarchies=hierarchy(top="CH"), fingerprint="f1") == [
        "because the hierarchy of zip changed with the data (top ***** -> CH)",
        "because the data changed (120 rows as before)",
    ]


def test_another_requirement() -> None:
    asked = {"k": {"k": 10}, "l_diversity": [{"column": "disease", "l": 3}]}
    lines = told(requirement=asked, spec_hash="bbbb", result={"suppressed": 6})
    assert lines == [
        "suppressed 3 -> 6 of 120 rows",
        "because privacy changed: k (k 5 -> k 10)",
        "because privacy changed: l_diversity added",
    ]
    assert told(requirement={}, spec_hash="bbbb") == ["because privacy changed: k removed"]


def test_several_quasi_identifiers() -> None:
    asked = {"quasi_identifier patient": {"k": {"k": 5}}}
    other = {"quasi_identifier patient": {"k": {"k": 6}}}
    lines = [str(change) for change in diff(replace(LOCK, requirement=asked), replace(LOCK, requirement=other))]
    assert lines == ["because privacy changed: quasi_identifier patient (k (k 5) -> k (k 6))"]


def test_another_limit() -> None:
    assert told(result={"limit": 0}, spec_hash="bbbb") == ["because privacy changed: suppression limit (6 -> 0 rows)"]
    assert told(result={"limit": 7, "rows": 140}, fingerprint="f1") == ["because the data changed (120 -> 140 rows)"]


def test_other_quasi_identifiers() -> None:
    lines = told(
        levels={"zip": 1, "age": 2},
        hierarchies={"zip": HIERARCHIES["zip"], "age": HIERARCHIES["sex"]},
        spec_hash="bbbb",
        fingerprint="f1",
    )
    assert lines == [
        "sex: level 0 -> no quasi-identifier",
        "age: no quasi-identifier -> level 2",
        "because the quasi-identifiers changed",
    ]


def test_another_search() -> None:
    result = {"algorithm": "datafly", "score": {"dm": 40}}
    assert told(result=result, spec_hash="bbbb") == [
        "because search changed: algorithm optimal -> datafly",
        "because search changed: metric loss -> dm",
    ]


def test_what_lock_files_do_not_tell() -> None:
    assert told(levels={"zip": 0, "sex": 0}) == [
        "zip: level 1 -> 0",
        "because the search ended elsewhere: a budget ran out, or it is another version of sqlanon",
    ]
    [line] = told(spec_hash="bbbb")
    assert line.startswith("because the spec changed in a part that lock files do not name")


def test_a_requirement_that_no_longer_holds() -> None:
    assert told(result={"satisfied": False}, fingerprint="f1")[0] == "the requirement no longer holds"


PARTS = st.fixed_dictionaries(
    {},
    optional={
        "levels": st.dictionaries(st.sampled_from(["zip", "sex", "age"]), st.integers(0, 3)),
        "fingerprint": st.sampled_from(["f0", "f1"]),
        "spec_hash": st.sampled_from(["aaaa", "bbbb"]),
        "requirement": st.dictionaries(st.sampled_from(["k", "l_diversity"]), st.just({"k": 7})),
        "hierarchies": st.sampled_from([HIERARCHIES, {}, hierarchy(height=9), hierarchy(definition="x")]),
        "result": st.dictionaries(st.sampled_from(list(RESULT)), st.integers(0, 3)),
    },
)


@given(PARTS)
def test_whatever_changes_has_a_reason(parts: dict[str, Any]) -> None:
    changes = diff(LOCK, replace(LOCK, **parts))
    assert not [change for change in changes if not change.is_reason] or any(change.is_reason for change in changes)
    assert changes == sorted(changes, key=lambda change: change.is_reason)
