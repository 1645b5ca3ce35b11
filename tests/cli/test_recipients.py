"""Commands on a spec with several recipients: lock files, sections, refusals, and the flag that chooses one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlanon.release.lock import Lock
from tests.kit.commands import COLUMNS, CommandLine, patients, rows_of, spec_values, tables, write_spec
from tests.kit.database import Database
from tests.kit.locks import edit_lock


def fixed(**levels: int) -> dict[str, Any]:
    return {name: {**COLUMNS[name], "levels": {"min": level, "max": level}} for name, level in levels.items()}


RECIPIENTS: dict[str, Any] = {
    "lab": {"target": "for_lab", "columns": fixed(race=0, zip=3, age=3)},
    "press": {"target": "for_press", "columns": fixed(race=1, zip=0, age=3)},
}
"""By race 3, 3 and 4 rows, by zip 3, 3, 2 and 2: together an asian and a black patient are alone."""


def values(url: str, **changes: Any) -> dict[str, Any]:
    content = spec_values(url, recipients=RECIPIENTS, **changes)
    del content["target"]
    return content


@pytest.fixture
def spec(database: str, folder: Path) -> Path:
    """A spec whose two releases, joined, isolate an asian and a black patient."""
    return write_spec(folder / "spec.yaml", values(database))


@pytest.fixture
def warning_spec(database: str, folder: Path) -> Path:
    return write_spec(folder / "spec.yaml", values(database, together="warn"))


def lock_of(spec: Path, name: str) -> Path:
    return spec.with_name(f"spec.{name}.lock.json")


@pytest.mark.one_engine
def test_plan_writes_a_lock_for_each_and_warns(sqlanon: CommandLine, spec: Path, database: str) -> None:
    outcome = sqlanon("plan", spec, "--json")
    assert outcome.code == 0, outcome.err
    assert set(outcome.json) == {"recipients", "together", "warnings", "notes", "seconds"}
    assert outcome.json["recipients"]["lab"]["levels"] == {"race": 0, "zip": 3, "age": 3}
    assert outcome.json["recipients"]["press"]["lock"] == str(lock_of(spec, "press"))
    [finding] = outcome.json["together"]
    assert (finding["first"], finding["second"], finding["k"], finding["counted"]) == ("lab", "press", 2, "rows")
    assert (finding["exposed"], finding["classes"], finding["classes_at_risk"], finding["only_in_one"]) == (2, 6, 2, 0)
    [warning] = outcome.json["warnings"]
    assert outcome.err == f"sqlanon: warning: {warning}\n"
    assert warning.startswith("recipients 'lab' and 'press': 2 people are exposed: ")
    for name in ("lab", "press"):
        lock = Lock.read(lock_of(spec, name))
        assert (lock.recipient, lock.spec, lock.levels) == (
            name, "spec.yaml", outcome.json["recipients"][name]["levels"],
        )  # fmt: skip
    assert not spec.with_name("spec.lock.json").exists()
    assert tables(database) == {"patients"}


@pytest.mark.one_engine
def test_plan_shows_a_section_for_each_and_then_what_they_say_together(sqlanon: CommandLine, spec: Path) -> None:
    outcome = sqlanon("plan", spec)
    assert outcome.code == 0, outcome.err
    sections = [outcome.out.index(text) for text in ("recipient lab", "recipient press", "together", "exposed")]
    assert sections == sorted(sections)
    assert str(lock_of(spec, "lab")) in outcome.out
    first = lock_of(spec, "lab").read_bytes()
    again = sqlanon("plan", spec)
    assert "known from the cache" in again.out
    assert lock_of(spec, "lab").read_bytes() == first


@pytest.mark.one_engine
def test_run_refuses_what_exposes_and_publishes_nothing(sqlanon: CommandLine, spec: Path, database: str) -> None:
    outcome = sqlanon("run", spec)
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("sqlanon: error: recipients 'lab' and 'press': 2 people are exposed: ")
    assert tables(database) == {"patients"}
    assert not lock_of(spec, "lab").exists()
    as_json = sqlanon("run", spec, "--json")
    assert (as_json.code, as_json.json["error"]["type"]) == (1, "RequirementError")


@pytest.mark.one_engine
def test_run_with_warn_publishes_each(sqlanon: CommandLine, warning_spec: Path, database: str) -> None:
    outcome = sqlanon("run", warning_spec, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["recipients"]["lab"]["audit"]["satisfied"] is True
    assert outcome.json["recipients"]["press"]["lock"] == str(lock_of(warning_spec, "press"))
    assert outcome.json["recipients"]["press"]["checks"] == 1
    assert outcome.err == f"sqlanon: warning: {outcome.json['warnings'][0]}\n"
    assert tables(database) == {"patients", "for_lab", "for_press"}
    assert {race for race, *_ in rows_of(database, "for_press")} == {"person"}
    text = sqlanon("run", warning_spec)
    sections = [text.out.index(part) for part in ("recipient lab", "for_lab", "recipient press", "for_press", "togeth")]
    assert sections == sorted(sections)
    assert text.err.startswith("sqlanon: warning: recipients 'lab' and 'press': 2 people are exposed")


@pytest.mark.one_engine
def test_apply_publishes_one_and_looks_at_the_others(sqlanon: CommandLine, spec: Path, database: str) -> None:
    assert sqlanon("plan", spec).code == 0
    refused = sqlanon("apply", lock_of(spec, "press"))
    assert refused.code == 1
    assert "2 people are exposed" in refused.err
    assert tables(database) == {"patients"}
    lock_of(spec, "lab").unlink()
    outcome = sqlanon("apply", lock_of(spec, "press"))
    assert outcome.code == 0, outcome.err
    assert "recipient 'lab' was not checked with it" in outcome.err
    assert tables(database) == {"patients", "for_press"}


@pytest.mark.one_engine
def test_apply_with_warn_goes_on(sqlanon: CommandLine, warning_spec: Path, database: str) -> None:
    assert sqlanon("plan", warning_spec).code == 0
    outcome = sqlanon("apply", lock_of(warning_spec, "lab"))
    assert outcome.code == 0, outcome.err
    assert "together" in outcome.out
    assert outcome.err.startswith("sqlanon: warning: ")
    as_json = sqlanon("apply", lock_of(warning_spec, "lab"), "--json").json
    assert (as_json["recipient"], as_json["target"], as_json["together"][0]["exposed"]) == ("lab", "for_lab", 2)
    assert tables(database) == {"patients", "for_lab"}


# -- one recipient of several; the rest needs one engine only ----------------------------------------------------------


@pytest.fixture
def duckdb_spec(duckdb_url: str, folder: Path) -> Path:
    patients(duckdb_url)
    return write_spec(folder / "spec.yaml", values(duckdb_url, together="warn"))


def test_plan_for_one_is_checked_with_the_lock_files_of_others(sqlanon: CommandLine, duckdb_spec: Path) -> None:
    alone = sqlanon("plan", duckdb_spec, "--recipient", "lab")
    assert alone.code == 0, alone.err
    assert "note: recipient 'press' was not checked with it" in alone.err
    assert not lock_of(duckdb_spec, "press").exists()
    second = sqlanon("plan", duckdb_spec, "--recipient", "press", "--dry-run", "--json").json
    assert list(second["recipients"]) == ["press"]
    assert second["recipients"]["press"]["lock"] is None
    assert second["together"][0]["exposed"] == 2
    assert not lock_of(duckdb_spec, "press").exists()


def test_one_lock_can_be_put_elsewhere(sqlanon: CommandLine, duckdb_spec: Path, folder: Path) -> None:
    (folder / "locks").mkdir()
    place = folder / "locks" / "mine.json"
    assert sqlanon("plan", duckdb_spec, "--recipient", "lab", "--out", place).code == 0
    assert (Lock.read(place).recipient, Lock.read(place).spec) == ("lab", "../spec.yaml")
    assert sqlanon("apply", place).code == 0


USAGE = {
    "unknown": (("plan", "--recipient", "nobody"), "no recipient 'nobody' in the spec; the recipients are lab, press"),
    "out": (("plan", "--out", "x.json"), "--out names one file: choose a recipient with --recipient"),
    "what if": (("plan", "--k", "2,3"), "the spec has several recipients: lab, press; choose one with --recipient"),
    "sql": (("sql",), "the spec has several recipients: lab, press; choose one with --recipient"),
    "hierarchies": (("hierarchies",), "the spec has several recipients: lab, press; choose one with --recipient"),
    "check": (("check", "--recipient", "x"), "no recipient 'x' in the spec; the recipients are lab, press"),
}


@pytest.mark.parametrize(("arguments", "message"), USAGE.values(), ids=USAGE)
def test_messages(sqlanon: CommandLine, duckdb_spec: Path, arguments: tuple[str, ...], message: str) -> None:
    command, *flags = arguments
    outcome = sqlanon(command, duckdb_spec, *flags)
    assert (outcome.code, outcome.err) == (2, f"sqlanon: error: {message}\n")


@pytest.mark.parametrize("command", ["plan", "check", "sql", "hierarchies"])
def test_a_spec_of_one_release_has_no_recipients(sqlanon: CommandLine, folder: Path, command: str) -> None:
    path = write_spec(folder / "one.yaml", spec_values("duckdb:///:memory:"))
    outcome = sqlanon(command, path, "--recipient", "lab")
    assert (outcome.code, outcome.err) == (2, "sqlanon: error: no recipient 'lab' in the spec; the spec has none\n")


def test_lock_files_that_do_not_belong_there(sqlanon: CommandLine, duckdb_spec: Path) -> None:
    assert sqlanon("plan", duckdb_spec).code == 0
    lab, press = lock_of(duckdb_spec, "lab"), lock_of(duckdb_spec, "press")
    right = lab.read_text(encoding="utf-8")
    lab.write_text(press.read_text(encoding="utf-8"), encoding="utf-8")
    outcome = sqlanon("apply", press)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.endswith("is not the lock file of recipient 'lab': plan again\n")
    lab.write_text(right, encoding="utf-8")
    edit_lock(lab, lambda content: content.update(recipient=None))
    outcome = sqlanon("apply", lab)
    assert outcome.err == (
        "sqlanon: error: the lock file names no recipient, but the spec has recipients: plan again\n"
    )


def own_target(url: str, folder: Path, target: Any) -> Path:
    """A spec whose second recipient gets a file."""
    patients(url)
    (folder / "release").mkdir()
    own = {**RECIPIENTS, "press": {**RECIPIENTS["press"], "target": target}}
    return write_spec(folder / "spec.yaml", values(url, together="warn") | {"recipients": own})


def test_no_release_stands_when_a_later_target_cannot(sqlanon: CommandLine, duckdb_url: str, folder: Path) -> None:
    path = own_target(duckdb_url, folder, "release/for_press.csv")
    (folder / "release" / "for_press.csv").mkdir()
    outcome = sqlanon("run", path)
    assert outcome.code == 2
    notes = outcome.err.splitlines()
    assert notes[0] == "sqlanon: this is about the release of recipient 'press'"
    assert notes[1].endswith("is a folder; name a file")
    assert "for_lab" not in tables(duckdb_url)
    assert not lock_of(path, "lab").exists()


def test_no_release_is_written_over_what_another_reads(sqlanon: CommandLine, duckdb_url: str, folder: Path) -> None:
    patients(duckdb_url)
    listed = "white,person\nblack,person\nasian,person\n"
    (folder / "race.csv").write_text(listed, encoding="utf-8")
    race = {"role": "quasi_identifier", "hierarchy": {"csv": "race.csv"}, "levels": {"min": 1, "max": 1}}
    own = {
        "lab": {**RECIPIENTS["lab"], "target": "race.csv"},
        "press": {**RECIPIENTS["press"], "columns": {**RECIPIENTS["press"]["columns"], "race": race}},
    }
    path = write_spec(folder / "spec.yaml", values(duckdb_url, together="warn") | {"recipients": own})
    outcome = sqlanon("run", path)
    assert outcome.code == 2, outcome.err
    assert "recipients.lab.target: " in outcome.err
    assert (folder / "race.csv").read_text(encoding="utf-8") == listed


def test_a_later_failure_names_what_stands(sqlanon: CommandLine, duckdb_url: str, folder: Path) -> None:
    path = own_target(duckdb_url, folder, {"file": "release/for_press.csv", "formulas": "refuse"})
    Database(duckdb_url).run("UPDATE patients SET disease = '=1+1'")
    outcome = sqlanon("run", path)
    assert outcome.code != 0
    notes = outcome.err.splitlines()
    assert notes[:2] == [
        "sqlanon: already published, and not undone: the release of lab",
        "sqlanon: this is about the release of recipient 'press'",
    ]
    assert notes[2].startswith("sqlanon: error: ")
    assert "for_lab" in tables(duckdb_url)
    assert lock_of(path, "lab").exists()
    assert not lock_of(path, "press").exists()


def test_the_other_commands_take_a_recipient(sqlanon: CommandLine, duckdb_spec: Path) -> None:
    script = sqlanon("sql", duckdb_spec, "--recipient", "press")
    assert script.out.startswith("-- Release of patients as for_press")
    assert sqlanon("plan", duckdb_spec).code == 0
    assert sqlanon("sql", lock_of(duckdb_spec, "press")).out == script.out
    assert "names its recipient itself" in sqlanon("sql", lock_of(duckdb_spec, "press"), "--recipient", "lab").err
    checked = sqlanon("check", duckdb_spec, "--json").json
    assert (checked["valid"], list(checked["recipients"])) == (True, ["lab", "press"])
    assert checked["recipients"]["lab"]["hierarchies"]["race"]["values"] == 3
    text = sqlanon("check", duckdb_spec, "--offline", "--recipient", "press").out
    assert "recipient press" in text
    assert "recipient lab" not in text
    shown = sqlanon("hierarchies", duckdb_spec, "race", "--recipient", "lab", "--json")
    assert list(shown.json["hierarchies"]) == ["race"]
    grid = sqlanon("plan", duckdb_spec, "--recipient", "lab", "--k", "2,4", "--json")
    assert [cell["k"] for cell in grid.json["grid"]] == [2, 4]
