"""The history of a spec: what it says, and what it does not go with, each refused by its key."""

from __future__ import annotations

from typing import Any

import pytest

from sqlanon.errors import SpecError, UsageError
from sqlanon.spec import spec_from_dict
from sqlanon.spec.findings import history_findings, require_honoured
from sqlanon.spec.keys import KeptHistory, SpecKeys

KEPT = {"key": "person", "ledger": "kept.people", "secret": "${SQLANON_KEY}"}
SPEC: dict[str, Any] = {
    "connection": "duckdb:///here.duckdb",
    "source": "people",
    "target": "released",
    "columns": {"person": {"role": "identifier"}, "a": {"role": "quasi_identifier"}, "s": {"role": "sensitive"}},
    "privacy": {"k": 2},
}


def problems(history: Any, **more: Any) -> list[str]:
    try:
        spec_from_dict({**SPEC, "history": history, **more})
    except SpecError as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ("asked", "history: a mapping of key, ledger and secret is expected, or required"),
        (
            {"ledger": "kept", "secret": "${SQLANON_KEY}"},
            "history: a ledger needs the column that names the person as key",
        ),
        ({"key": "person", "ledger": "kept"}, "history.secret: this key is required"),
        ({**KEPT, "secret": "abc"}, "history.secret: a secret never stands in a spec"),
        ({**KEPT, "keep": "0 years"}, "history.keep: a time is expected"),
        ({**KEPT, "keep": 90}, "history.keep: a time is expected"),
        ({**KEPT, "left": "person"}, "history.left: that is the key of the person"),
        ({**KEPT, "left": "zip"}, "history.left: zip must be a column of role identifier"),
        ({**KEPT, "joiners": "cover"}, "history.joiners: one of defer, refuse is expected"),
        ({**KEPT, "leavers": "defer"}, "history.leavers: one of cover, refuse is expected"),
        ({**KEPT, "keeps": "1 day"}, "history.keeps: unknown key; did you mean 'keep'?"),
        ({**KEPT, "key": "a"}, "history.key: a must be a column of role identifier"),
        ({**KEPT, "ledger": "released"}, "history.ledger: that is the target"),
        ({**KEPT, "ledger": "people"}, "history.ledger: that is the source"),
    ],
)
def test_what_is_wrong_is_named(history: Any, problem: str) -> None:
    assert [line for line in problems(history) if line.startswith(problem)]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"target": {"view": "released"}}, "target: with a ledger it is a table"),
        (
            {"columns": {**SPEC["columns"], "other": {"role": "identifier"}}, "respondent": "other"},
            "respondent: history.key says that person names the person",
        ),
        ({"privacy": {"k": 2, "suppression": {"mode": "blank"}}}, "privacy.suppression.mode: with a ledger write drop"),
        (
            {"privacy": {"k_map": 2, "population": {"source": "everybody"}}},
            "privacy.population: a ledger cannot be kept with it",
        ),
        (
            {"columns": {"person": {"role": "identifier"}, "a": {"role": "quasi_identifier", "anonymity": 0.1}}},
            "privacy.profile: a ledger cannot be kept with it",
        ),
        ({"privacy": {"k": 2, "anonymity": "(1,k)"}}, "privacy.anonymity: a ledger cannot be kept with it"),
        (
            {"privacy": {"quasi_identifiers": {"x": {"columns": ["a"], "k": 2}}}},
            "privacy.quasi_identifiers: a ledger cannot be kept with it",
        ),
    ],
)
def test_what_a_ledger_does_not_go_with(more: dict[str, Any], problem: str) -> None:
    assert [line for line in problems(KEPT, **more) if line.startswith(problem)], problems(KEPT, **more)


def test_the_ledger_of_a_spec() -> None:
    spec = SpecKeys.model_validate({**SPEC, "history": {**KEPT, "keep": "2 years"}})
    assert spec.ledger == KeptHistory(
        key="person",
        ledger=("kept", "people"),
        secret="${SQLANON_KEY}",
        keep="2 years",
        joiners="defer",
        leavers="cover",
    )
    assert not list(history_findings(spec))
    assert SpecKeys.model_validate({**SPEC, "history": "required"}).ledger is None


@pytest.mark.parametrize("command", ["script", "dbt", "grid"])
def test_commands_that_look_at_no_earlier_release(command: str) -> None:
    spec = spec_from_dict(SPEC).model_copy(update={"history": "required"})
    with pytest.raises(UsageError, match=r"^history: .* does not (look at earlier releases|compare with the table)"):
        require_honoured(spec, command)
