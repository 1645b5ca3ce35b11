"""Keys of a spec changed in its text: what was not asked for stays to the letter, what cannot be done is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.draft.editing import KeyChange, edited, flow, read_at
from sqlanon.errors import SpecError, UsageError
from sqlanon.spec.load import read_document

SPEC = """\
# A draft, every line with its reason
version: 1
columns:
  # known to neighbours
  zip: {role: quasi_identifier, hierarchy: {mask: {length: 5}}, weight: 2}  # REVIEW
  "a: \\"b\\"":   # quoted
    role: quasi_identifier
    hierarchy:     # by hand
      tree:
        river: [Basel, "Null'land"]   # comment inside
        lake:
          - Zug
          - 007
    levels: {max: 1}
  city:
    role: sensitive   # kept
privacy: {k: 5}
"""


def test_only_what_was_asked_for_changes() -> None:
    odd = 'a: "b"'
    found = edited(
        SPEC,
        [
            KeyChange(("columns", "zip", "hierarchy"), "suppression"),
            KeyChange(("columns", odd, "hierarchy"), '{tree: {all: [Basel, "Null\'land", Zug, "007"]}}'),
            KeyChange(("columns", odd, "levels"), None),
            KeyChange(("columns", "city", "role"), "identifier"),
            KeyChange(("columns", "new one"), "{role: insensitive}"),
            KeyChange(("privacy", "k"), "7"),
            KeyChange(("privacy", "suppression", "limit"), "2%"),
        ],
    )
    assert (
        found
        == """\
# A draft, every line with its reason
version: 1
columns:
  # known to neighbours
  zip: {role: quasi_identifier, hierarchy: suppression, weight: 2}  # REVIEW
  "a: \\"b\\"":   # quoted
    role: quasi_identifier
    hierarchy: {tree: {all: [Basel, "Null'land", Zug, "007"]}}
  city:
    role: identifier   # kept
  "new one": {role: insensitive}
privacy: {k: 7, suppression: {limit: 2%}}
"""
    )


def test_comments_between_braces_stay() -> None:
    role, hierarchy = ("columns", "a", "role"), ("columns", "a", "hierarchy")
    text = (
        "columns:\n  a: {role: sensitive, # why, as asked\n      hierarchy: suppression # by hand\n  }\nprivacy: {}\n"
    )
    changed = edited(text, [KeyChange(role, "identifier"), KeyChange(("privacy", "k"), "7")])
    assert changed == text.replace("sensitive", "identifier").replace("{}", "{k: 7}")
    assert edited(text, [KeyChange(hierarchy, None)]) == text.replace("hierarchy: suppression", "")
    more = edited(text, [KeyChange(("columns", "a", "weight"), "2")])
    assert more == text.replace("suppression", "suppression, weight: 2")
    assert edited("a: {b: 1, c: 2}\n", [KeyChange(("a", "c"), None)]) == "a: {b: 1}\n"
    assert edited("a: {b: 1, c: 2}\n", [KeyChange(("a", "b"), None)]) == "a: {c: 2}\n"
    assert edited("a: {b: 1}\n", [KeyChange(("a", "b"), None)]) == "a: {}\n"


@pytest.mark.parametrize(
    "text",
    [
        "columns:\n  a: &one {role: sensitive}\n  b: *one\n",
        "columns:\n  a: &one {role: sensitive}\n  b: &two {role: identifier}\n  c: {x: *one}\n",
    ],
)
def test_what_one_text_says_twice_is_not_changed(text: str) -> None:
    with pytest.raises(SpecError, match="edit it by hand"):
        edited(text, [KeyChange(("columns", "a", "role"), "identifier")])


@pytest.mark.parametrize("text", ["x}, b: {y: 1", "a\nb: c", "[1", "!!python/object:os.system {}", "*one"])
def test_a_value_is_one_value(text: str) -> None:
    with pytest.raises(UsageError):
        read_at(("columns", "a", "hierarchy"), text)


@given(
    st.recursive(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.booleans() | st.none() | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=3)
        ),
        max_leaves=8,
    ),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
)
def test_values_are_read_back(value: object, name: str) -> None:
    text = edited(SPEC, [KeyChange(("columns", name), "{role: sensitive}"), KeyChange(("search", "x"), flow(value))])
    document = read_document(text)
    assert document.value["search"] == {"x": value}
    assert document.value["columns"][name] == {"role": "sensitive"}
