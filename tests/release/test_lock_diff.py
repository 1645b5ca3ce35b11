"""What a new plan would change, and why, told from two lock files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sqlanon.recoding.kinds import Assigned, Cuts, Group
from sqlanon.release.lock import Lock
from sqlanon.release.lock_diff import diff, to_dict

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
    "lattice": 8,
    "undecided": 0,
    "height": 1,
    "minimal": [],
    "ties": [],
    "minimal_complete": False,
    "proven": True,
    "verified": True,
    "completeness": 0.975,
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


def test_scores_in_another_order_are_the_same(tmp_path: Path) -> None:
    """A lock file is sorted, a plan lists the measure that it went by first."""
    plan = replace(LOCK, result={**RESULT, "score": {"loss": 0.25, "dm": 40, "aecs": 1.5}})
    plan.write(tmp_path / "spec.lock.json")
    assert diff(Lock.read(tmp_path / "spec.lock.json"), plan) == []


def test_what_lock_files_do_not_tell() -> None:
    assert told(levels={"zip": 0, "sex": 0}) == [
        "zip: level 1 -> 0",
        "because the search found another answer: a budget ran out, or this is another version of sqlanon",
    ]
    assert told(spec_hash="bbbb") == ["because the spec changed"]


def test_parts_of_the_spec_are_named() -> None:
    old = replace(LOCK, spec_parts={"privacy.k": "a", "search.prefer": "b", "target": "c"})
    new = replace(old, spec_hash="bbbb", spec_parts={"privacy.k": "a", "search.prefer": "x", "columns.sex.role": "y"})
    assert list(map(str, diff(old, new))) == ["because the spec changed: search.prefer, target, columns.sex.role"]


def test_what_another_line_tells_is_not_told_twice() -> None:
    old = replace(LOCK, spec_parts={"privacy.k": "a", "columns.zip.hierarchy": "b"})
    new = replace(
        old,
        spec_hash="bbbb",
        requirement={"k": {"k": 6}},
        hierarchies=hierarchy(definition="89ab"),
        spec_parts={"privacy.k": "x", "columns.zip.hierarchy": "y"},
    )
    assert [(change.cause, change.line) for change in diff(old, new)] == [
        ("spec", "privacy changed: k (k 5 -> k 6)"),
        ("hierarchy", "the hierarchy of zip changed"),
    ]


def test_the_schema_of_the_source() -> None:
    old = replace(LOCK, source={"zip": "text", "sex": "text"})
    new = replace(old, source={"zip": "integer", "note": "text"})
    assert list(map(str, diff(old, new))) == [
        "because the source's schema changed: column 'zip' was text and is integer",
        "because the source's schema changed: column 'sex' is gone",
        "because the source's schema changed: column 'note' is new",
    ]
    by_spec = list(map(str, diff(old, replace(new, spec_hash="bbbb"))))
    assert by_spec == [
        "because the spec changed",
        "because the source's schema changed: column 'zip' was text and is integer",
    ]


def test_plain_data() -> None:
    assert to_dict([]) == {"changed": False, "changes": [], "reasons": []}
    new = replace(LOCK, levels={"zip": 2, "sex": 0}, fingerprint="f1")
    assert to_dict(diff(LOCK, new)) == {
        "changed": True,
        "changes": ["zip: level 1 -> 2"],
        "reasons": [{"cause": "data", "text": "the data changed (120 rows as before)"}],
    }


def test_a_requirement_that_no_longer_holds() -> None:
    assert told(result={"satisfied": False}, fingerprint="f1")[0] == "the requirement no longer holds"


def groups(*labels: str) -> tuple[Group, ...]:
    return tuple(Group(label, (f"{label}1", f"{label}2")) for label in labels)


def test_recodings_without_levels() -> None:
    cuts = replace(LOCK, levels={}, flexible=Cuts(("zip", "sex"), (groups("a", "b"), groups("f"))))
    others = replace(cuts, flexible=Cuts(("zip", "sex"), (groups("a", "c"), groups("f", "m"))))
    assigned = replace(LOCK, levels={}, flexible=Assigned("mondrian", 3, "f0", (1, 2)))
    moved = replace(assigned, flexible=Assigned("mondrian", 3, "f0", (1, 3)))
    elsewhere = "because the search found another answer: a budget ran out, or this is another version of sqlanon"
    for old, new, lines in (
        (cuts, cuts, []),
        (cuts, others, ["zip: other groups", "sex: groups 1 -> 2", elsewhere]),
        (assigned, assigned, []),
        (assigned, moved, ["rows are put into other classes", elsewhere]),
        (LOCK, cuts, ["recoding: full_domain -> cuts", elsewhere]),
        (cuts, assigned, ["recoding: cuts -> assigned", elsewhere]),
    ):
        assert list(map(str, diff(old, new))) == lines


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
    assert all(change.cause is None for change in changes) is (changes == [])
    assert changes == sorted(changes, key=lambda change: change.cause is not None)
