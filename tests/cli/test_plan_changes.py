"""A plan beside a lock file tells what it changes and why; one that no longer fits is refused by what changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kit.commands import COLUMNS, CommandLine, spec_values, tables, write_spec
from tests.kit.engine import execute, open_at
from tests.kit.locks import edit_lock


def changed_database(url: str, *statements: str) -> None:
    engine = open_at(url)
    for statement in statements:
        execute(engine, statement)
    engine.close()


def diff_of(sqlanon: CommandLine, spec: Path, *flags: str) -> Any:
    outcome = sqlanon("plan", spec, "--json", *flags)
    assert outcome.code == 0, outcome.err
    return outcome.json["diff"]


def causes(diff: Any) -> list[str]:
    return [reason["cause"] for reason in diff["reasons"]]


@pytest.mark.one_engine
def test_what_a_plan_changes(sqlanon: CommandLine, spec: Path, database: str) -> None:
    assert diff_of(sqlanon, spec) is None, "there was no lock file"
    assert diff_of(sqlanon, spec) == {"changed": False, "changes": [], "reasons": []}
    assert "none since the lock file was written" in sqlanon("plan", spec, "--fresh").out

    changed_database(database, "INSERT INTO patients SELECT * FROM patients")
    by_data = diff_of(sqlanon, spec, "--dry-run")
    assert by_data["reasons"] == [{"cause": "data", "text": "the data changed (10 -> 20 rows)"}]
    assert any("level" in line for line in by_data["changes"])
    shown = sqlanon("plan", spec)
    assert [line in shown.out for line in by_data["changes"]] == [True] * len(by_data["changes"])
    assert "because the data changed (10 -> 20 rows)" in shown.out

    write_spec(spec, spec_values(database, privacy={"k": 4, "suppression": {"limit": 2}}))
    by_spec = diff_of(sqlanon, spec)
    assert by_spec["reasons"] == [{"cause": "spec", "text": "privacy changed: k (k 2 -> k 4)"}]

    coarser = {**COLUMNS, "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 40]}}}}
    write_spec(spec, spec_values(database, columns=coarser, privacy={"k": 4, "suppression": {"limit": 2}}))
    assert causes(diff_of(sqlanon, spec)) == ["hierarchy"]

    preferring = {"algorithm": "samarati", "prefer": ["minimum_suppression"]}
    values = spec_values(database, columns=coarser, privacy={"k": 4, "suppression": {"limit": 2}}, search=preferring)
    write_spec(spec, values)
    assert {reason["text"] for reason in diff_of(sqlanon, spec)["reasons"]} == {
        "search changed: algorithm optimal -> samarati",
        "the spec changed: search.prefer",
    }


@pytest.mark.one_engine
def test_each_recipient_has_its_own_changes(sqlanon: CommandLine, spec: Path, database: str) -> None:
    values = spec_values(database, recipients={"press": {"target": "p"}, "lab": {"target": "l", "privacy": {"k": 1}}})
    del values["target"]
    write_spec(spec, values)
    first = sqlanon("plan", spec, "--json").json["recipients"]
    assert [first[name]["diff"] for name in ("press", "lab")] == [None, None]
    values["recipients"]["lab"]["privacy"]["k"] = 3
    write_spec(spec, values)
    second = sqlanon("plan", spec, "--json").json["recipients"]
    assert second["press"]["diff"]["changed"] is False
    assert causes(second["lab"]["diff"]) == ["spec"]


def refusal(sqlanon: CommandLine, spec: Path, code: int = 2) -> str:
    outcome = sqlanon("apply", spec.with_name("spec.lock.json"))
    assert outcome.code == code, outcome.err
    return outcome.err


def test_a_stale_lock_is_refused_by_what_changed(sqlanon: CommandLine, spec: Path, database: str) -> None:
    values = spec_values(database, default_role="insensitive")
    write_spec(spec, values)
    assert sqlanon("plan", spec).code == 0

    write_spec(spec, {**values, "privacy": {"k": 3, "suppression": {"limit": 2}}})
    assert "the spec has changed since this lock file was written (privacy.k): plan again" in refusal(sqlanon, spec)
    other = {**COLUMNS, "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [2, 5]}}}}
    write_spec(spec, {**values, "columns": other})
    assert "(columns.zip.hierarchy): plan again" in refusal(sqlanon, spec)
    write_spec(spec, {**values, "columns": dict(reversed(COLUMNS.items()))})
    assert "(the order of columns): plan again" in refusal(sqlanon, spec)
    write_spec(spec, values)

    changed_database(database, "ALTER TABLE patients ADD COLUMN phone TEXT")
    assert "the source's schema has changed since this lock file was written (column 'phone' is new): plan again" in (
        refusal(sqlanon, spec)
    )
    assert "column 'phone' is new" in sqlanon("status", spec).out
    changed_database(database, "ALTER TABLE patients DROP COLUMN phone")
    changed_database(database, "ALTER TABLE patients ALTER COLUMN disease TYPE DATE USING DATE '2020-01-01'")
    assert "(column 'disease' was text and is date): plan again" in refusal(sqlanon, spec)
    changed_database(database, "ALTER TABLE patients DROP COLUMN disease")
    assert "columns.disease: the source has no column 'disease'" in refusal(sqlanon, spec)
    assert "patients_release" not in tables(database)


@pytest.mark.one_engine
def test_a_lock_of_another_requirement_is_refused(sqlanon: CommandLine, spec: Path, database: str) -> None:
    """A lock that was edited by hand to claim another requirement."""
    assert sqlanon("plan", spec).code == 0
    lock = spec.with_name("spec.lock.json")
    edit_lock(lock, lambda content: content["requirement"].update(k=1))
    assert "written for another requirement (privacy: k): plan again" in refusal(sqlanon, spec)
    assert "patients_release" not in tables(database)


@pytest.mark.one_engine
def test_a_new_column_that_is_never_released_changes_nothing(sqlanon: CommandLine, spec: Path, database: str) -> None:
    write_spec(spec, spec_values(database, default_role="identifier"))
    assert sqlanon("plan", spec).code == 0
    changed_database(database, "ALTER TABLE patients ADD COLUMN phone TEXT")
    assert sqlanon("apply", spec.with_name("spec.lock.json")).code == 0


@pytest.mark.one_engine
def test_a_changed_hierarchy_is_not_taken_for_changed_data(sqlanon: CommandLine, spec: Path, database: str) -> None:
    assert sqlanon("run", spec).code == 0
    other = {**COLUMNS, "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [2, 5]}}}}
    write_spec(spec, spec_values(database, columns=other))
    outcome = sqlanon("status", spec)
    assert "not compared: it was planned for another spec" in outcome.out
    assert "no longer holds: plan again" in outcome.out
    content = sqlanon("status", spec, "--json").json
    assert (content["drifted"], content["drift"]["rows"]) == (None, 10)
    changed_database(database, "DELETE FROM patients WHERE zip = '94142'")
    assert sqlanon("status", spec, "--json").json["drifted"] is True


@pytest.mark.one_engine
def test_files_that_were_mixed_up(sqlanon: CommandLine, spec: Path) -> None:
    assert sqlanon("plan", spec).code == 0
    lock = spec.with_name("spec.lock.json")
    given_lock = sqlanon("plan", lock)
    assert (given_lock.code, given_lock.err.count("\n")) == (2, 1)
    assert "is a lock file, not a spec; the spec it was made from is spec.yaml" in given_lock.err
    assert "`sqlanon plan` makes one from a spec" in sqlanon("apply", spec).err
    assert sqlanon("stauts", spec).err.startswith("sqlanon: error: no such command 'stauts', perhaps 'status'")
    assert "name the folder of the project with --project" in sqlanon("dbt").err
