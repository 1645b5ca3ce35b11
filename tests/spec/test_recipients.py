"""Recipients: one spec, several releases, each checked like a spec of its own."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from sqlanon.errors import SpecError, UsageError
from sqlanon.hierarchies import Csv, Family, Lookup
from sqlanon.spec import FileTarget, Spec, TableTarget, load_spec, spec_from_dict

SEVERAL = """\
source: data.csv
columns:
  id:  {role: identifier}
  zip: {role: quasi_identifier, hierarchy: {csv: zip.csv}}
  age: {role: quasi_identifier, weight: 2}
  disease: {role: sensitive}
privacy:
  k: 5
  suppression: {limit: 2%}
  l_diversity: [{column: disease, l: 3}]
search: {algorithm: samarati, prefer: [minimum_suppression]}
recipients:
  lab:
    target: lab.parquet
    privacy: {k: 3, suppression: {mode: blank}}
  press-1:
    target: press.csv
    columns:
      age: {role: quasi_identifier, hierarchy: {tree: {old: [070, 71], young: [010, 11]}}}
      disease: {role: identifier}
    privacy: {l_diversity: []}
    search: {algorithm: optimal}
together: warn
"""
BASE: dict[str, Any] = {
    "source": "s",
    "columns": {"q": {"role": "quasi_identifier"}, "d": {"role": "sensitive"}},
    "privacy": {"k": 2, "p_sensitive": [{"column": "d", "p": 2}]},
}


def load(folder: Path) -> Spec:
    path = folder / "spec.yaml"
    path.write_text(SEVERAL, encoding="utf-8")
    return load_spec(path)


def spec_of(recipients: dict[str, Any], **keys: Any) -> Spec:
    return spec_from_dict({**deepcopy(BASE), "recipients": recipients, **keys})


def problems(recipients: dict[str, Any], **keys: Any) -> tuple[str, ...]:
    with pytest.raises(SpecError) as caught:
        spec_of(recipients, **keys)
    return caught.value.problems


def test_a_recipient_says_only_what_differs(tmp_path: Path) -> None:
    spec = load(tmp_path)
    assert (spec.recipient_names, spec.together) == (("lab", "press-1"), "warn")
    lab, press = spec.for_recipient("lab"), spec.for_recipient("press-1")
    assert (lab.privacy.k, press.privacy.k) == (3, 5)
    assert (str(lab.privacy.suppression.limit), lab.privacy.suppression.mode) == ("0", "blank")
    assert str(press.privacy.suppression.limit) == "2%"
    assert (lab.measured_sensitive, press.measured_sensitive) == (("disease",), ())
    assert (lab.search.algorithm, press.search.algorithm) == ("samarati", "optimal")
    assert press.search.prefer == ("minimum_suppression",)
    assert (lab.weight("age"), press.weight("age")) == (2.0, 1.0)
    assert list(press.columns) == list(lab.columns) == list(spec.columns)
    assert press.hierarchy("age").rule(Family.TEXT) == Lookup(
        (("070", "old"), ("71", "old"), ("010", "young"), ("11", "young"))
    )


def test_a_recipients_spec_is_a_spec_of_one_release(tmp_path: Path) -> None:
    lab = load(tmp_path).for_recipient("lab")
    assert (lab.recipient_names, lab.together, lab.folder) == ((), "refuse", tmp_path)
    assert isinstance(lab.target, FileTarget)
    assert lab.target.location == str(tmp_path / "lab.parquet")
    zip_codes = lab.hierarchy("zip")
    assert isinstance(zip_codes, Csv)
    assert zip_codes.location == tmp_path / "zip.csv"


def test_the_hash_of_a_recipient_is_that_of_the_same_spec_written_alone() -> None:
    spec = spec_of({"a": {"target": "out.a", "privacy": {"k": 3}}, "b": {"target": "out.b"}}, together="warn")
    privacy = {**BASE["privacy"], "k": 3}
    alone = spec_from_dict({**deepcopy(BASE), "privacy": privacy, "target": "out.a"})
    assert spec.for_recipient("a") == alone
    assert spec.for_recipient("a").hash() == alone.hash()
    assert len({spec.hash(), alone.hash(), spec.for_recipient("b").hash()}) == 3


def test_a_key_of_nothing_takes_a_requirement_away() -> None:
    spec = spec_of({"a": {"target": "out.a", "privacy": {"k": None}}})
    assert spec.for_recipient("a").privacy.k is None
    assert problems({"a": {"target": "out.a", "privacy": {"k": None, "p_sensitive": []}}}) == (
        "recipients.a.privacy: at least one requirement must stand, for example k: 5",
    )


def test_what_every_recipient_states_need_not_stand_above() -> None:
    spec = spec_of({"a": {"target": "out.a", "privacy": {"k": 3}}}, privacy={"suppression": {"limit": 1}})
    assert spec.for_recipient("a").privacy.k == 3


def test_a_spec_with_recipients_has_no_target_of_its_own() -> None:
    spec = spec_of({"a": {"target": "out.a"}, "b": {"target": "out.b"}})
    with pytest.raises(SpecError) as caught:
        _ = spec.target
    assert str(caught.value) == "target: only the recipients of this spec have one; choose among a, b"
    assert spec.for_recipient("b").target == TableTarget(table=("out", "b"))
    with pytest.raises(UsageError, match=r"^no recipient 'c\\n' in the spec; the recipients are a, b$"):
        spec.for_recipient("c\n")
    with pytest.raises(UsageError, match=r"^no recipient 'a' in the spec; the spec has none$"):
        spec.for_recipient("a").for_recipient("a")


A = {"target": "out.a"}
B = {"target": "out.b"}
SENSITIVE = "d is not a column of role sensitive"
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "no target": ({"a": {}}, {}, ["recipients.a.target: this key is required"]),
    "a recipient named target": ({"target": {}}, {}, ["recipients.target.target: this key is required"]),
    "target beside recipients": (
        {"a": A},
        {"target": "out.c"},
        ["target: with recipients each has a target of its own; remove this one"],
    ),
    "the same target": (
        {"a": {"target": "x.csv"}, "b": {"target": {"file": "./x.csv"}}},
        {},
        ["recipients.b.target: recipient a has the same target"],
    ),
    "a table and a view of one name": (
        {"a": A, "b": {"target": {"view": "out.a"}}},
        {},
        ["recipients.b.target: recipient a has the same target"],
    ),
    "target is the source": (
        {"a": {"target": "s"}, "b": B},
        {},
        ["recipients.a.target: the target is the source; the source is only ever read, name another target"],
    ),
    "name with a slash": (
        {"a/b": A},
        {},
        ['recipients."a/b": the name of a recipient has only letters, digits, _ and -; it becomes part of file names'],
    ),
    "names that a file system may confuse": (
        {"a": A, "A": B},
        {},
        ["recipients.A: the name differs from recipient a only in case"],
    ),
    "misspelt key": ({"a": {**A, "privcy": {}}}, {}, ["recipients.a.privcy: unknown key; did you mean 'privacy'?"]),
    "misspelt key inside": (
        {"a": {**A, "privacy": {"l_diversty": []}}},
        {},
        ["recipients.a.privacy.l_diversty: unknown key; did you mean 'l_diversity'?"],
    ),
    "column that the spec does not have": (
        {"a": {**A, "columns": {"z": {"role": "identifier"}}}},
        {},
        ["recipients.a.columns.z: z is not among the columns of the spec"],
    ),
    "what a recipient writes": (
        {"a": {**A, "privacy": {"l_diversity": [{"column": "q", "l": 2}]}}, "b": B},
        {},
        ["recipients.a.privacy.l_diversity[0].column: q is not a column of role sensitive"],
    ),
    "what a recipient makes of the spec": (
        {"a": {**A, "columns": {"d": {"role": "insensitive"}}}, "b": B},
        {},
        [f"recipients.a.privacy.p_sensitive[0].column: {SENSITIVE}"],
    ),
    "what every recipient makes of the spec": (
        {"a": {**A, "columns": {"d": {"role": "insensitive"}}}, "b": {**B, "columns": {"d": {"role": "identifier"}}}},
        {},
        [f"privacy.p_sensitive[0].column: {SENSITIVE}"],
    ),
    "what every recipient inherits": (
        {"a": A, "b": B},
        {"respondent": "d"},
        ["respondent: d must be a column of role identifier: the key of a person is never released"],
    ),
    "recipient without a quasi-identifier": (
        {"a": {**A, "columns": {"q": {"role": "insensitive"}}}},
        {},
        ["recipients.a.columns: at least one column needs the role quasi_identifier"],
    ),
    "search of a recipient": (
        {"a": {**A, "search": {"satisfies": "matrix", "weights": {"d": 1}}}, "b": B},
        {},
        [
            "recipients.a.search.weights.d: d is not a column of role quasi_identifier",
            (
                "recipients.a.search.satisfies: matrix decides k-anonymity of rows alone; write counts with other "
                "models, a respondent or several quasi-identifiers"
            ),
        ],
    ),
    "together": (
        {"a": A},
        {"together": "warning"},
        ["together: one of refuse, warn is expected; did you mean 'warn'?"],
    ),
    "no recipients": ({}, {}, ["target: this key is required"]),
}


@pytest.mark.parametrize(("recipients", "keys", "expected"), WRONG.values(), ids=WRONG)
def test_messages(recipients: dict[str, Any], keys: dict[str, Any], expected: list[str]) -> None:
    assert list(problems(recipients, **keys)) == expected


def test_problems_name_the_line_of_the_recipient(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(SEVERAL.replace("l_diversity: []", "quasi_identifiers: {}"), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    message = "recipients.press-1.privacy.l_diversity[0].column: disease is not a column of role sensitive"
    assert caught.value.problems == (f"{path}:21: {message}",)


def test_a_column_may_be_added_where_unlisted_columns_have_a_role() -> None:
    column = {"z": {"role": "quasi_identifier"}}
    spec = spec_of({"a": {**A, "columns": column}, "b": B}, default_role="insensitive")
    assert spec.for_recipient("a").quasi_identifiers == ("q", "z")
    assert spec.for_recipient("b").quasi_identifiers == ("q",)
