"""`status`, `evidence`, `cleanup`, `grants` and `--log json`, as people and programs see them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.commands import COLUMNS, PATIENTS, CommandLine, Outcome, patients, spec_values, write_spec
from tests.kit.engine import execute, open_at

VALUES = sorted({str(value) for row in PATIENTS for value in row if isinstance(value, str)})


def insert(url: str, *rows: str) -> None:
    engine = open_at(url)
    for row in rows:
        execute(engine, f"INSERT INTO {row}")
    engine.close()


def without_values(*outcomes: Outcome) -> None:
    for outcome in outcomes:
        for value in VALUES:
            assert value not in outcome.out + outcome.err


def logged(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.err.splitlines()]


# -- status ------------------------------------------------------------------------------------------------------------


@pytest.mark.one_engine
def test_status_of_a_release_that_is_as_it_was(sqlanon: CommandLine, spec: Path) -> None:
    before = sqlanon("status", spec)
    assert before.code == 1
    assert "NOT published" in before.out
    assert "not compared: there is no lock file" in before.out
    assert sqlanon("run", spec).code == 0
    for path in (spec, spec.with_name("spec.lock.json")):
        after = sqlanon("status", path)
        assert after.code == 0, after.err
        assert "unchanged since the plan" in after.out
        assert "still holds" in after.out
        assert sqlanon("status", path, "--json").json["satisfied"]


@pytest.mark.one_engine
def test_drift_alone_is_told_and_is_no_failure(sqlanon: CommandLine, spec: Path, database: str) -> None:
    sqlanon("run", spec)
    insert(database, "patients VALUES ('asian', '94138', 22, 'flu')")
    outcome = sqlanon("status", spec)
    assert outcome.code == 0
    assert "because the data changed (10 -> 11 rows)" in outcome.out
    content = sqlanon("status", spec, "--json").json
    assert (content["satisfied"], content["drifted"], content["drift"]["rows"]) == (True, True, 11)
    insert(database, "patients VALUES ('martian', '94138', 22, 'flu')")
    outside = sqlanon("status", spec)
    assert outside.code == 0
    assert "column 'race': 1 value is outside its hierarchy" in outside.out
    assert "no longer holds: plan again" in outside.out
    assert "martian" not in outside.out + outside.err
    without_values(outcome, outside)


@pytest.mark.one_engine
def test_a_release_that_no_longer_satisfies_is_exit_1(sqlanon: CommandLine, spec: Path, database: str) -> None:
    sqlanon("run", spec)
    engine = open_at(database)
    execute(engine, "DELETE FROM patients_release")
    engine.close()
    outcome = sqlanon("status", spec)
    assert outcome.code == 1
    assert "NOT satisfied" in outcome.out
    assert "the table has no rows" in outcome.out


@pytest.mark.one_engine
def test_status_of_each_recipient(sqlanon: CommandLine, database: str, folder: Path) -> None:
    recipients = {"lab": {"target": "for_lab"}, "press": {"target": "for_press"}}
    values = {key: value for key, value in spec_values(database, recipients=recipients).items() if key != "target"}
    spec = write_spec(folder / "spec.yaml", values)
    assert sqlanon("run", spec).code == 0
    assert sqlanon("status", spec, "--json").json["recipients"].keys() == {"lab", "press"}
    shown = sqlanon("status", spec)
    assert (shown.code, shown.out.count("unchanged since the plan")) == (0, 2)
    assert sqlanon("status", folder / "spec.lab.lock.json", "--json").json["recipients"].keys() == {"lab"}
    listed = sqlanon("evidence", "--list", spec, "--json").json["runs"]
    assert sorted((item["recipient"], item["target"]) for item in listed) == [
        ("lab", "for_lab"),
        ("press", "for_press"),
    ]


# -- evidence ----------------------------------------------------------------------------------------------------------


@pytest.mark.one_engine
def test_evidence_is_listed_and_shown(sqlanon: CommandLine, spec: Path) -> None:
    assert sqlanon("evidence", "--list", spec).code == 0
    run = sqlanon("run", spec, "--json").json
    assert run["evidence"].endswith(f"{run['run']}.json")
    applied = sqlanon("apply", spec.with_name("spec.lock.json"), "--json").json
    listed = sqlanon("evidence", "--list", spec)
    assert listed.out.index(applied["run"]) < listed.out.index(run["run"])
    short = run["run"][:8]
    shown = sqlanon("evidence", short)
    assert shown.code == 0, shown.err
    for words in ("by run", "k = 1 in", "scan source", "commit", "satisfied"):
        assert words in shown.out
    whole = sqlanon("evidence", short, "--spec", spec, "--json").json
    assert whole == json.loads(Path(run["evidence"]).read_text(encoding="utf-8"))
    without_values(listed, shown, sqlanon("evidence", run["run"], "--json"))


def test_evidence_from_tables(sqlanon: CommandLine, database: str, folder: Path) -> None:
    values = spec_values(database, evidence={"files": False, "tables": True})
    spec = write_spec(folder / "spec.yaml", values)
    run = sqlanon("run", spec, "--json").json
    assert run["evidence"] is None
    assert not (folder / "spec.evidence").exists()
    shown = sqlanon("evidence", run["run"], "--spec", spec)
    assert shown.code == 0, shown.err
    assert "scan source" in shown.out
    without_values(shown)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give either RUN or --list SPEC"),
        (("abc", "--list", "spec.yaml"), "give either RUN or --list SPEC"),
        (("--list", "spec.yaml", "--spec", "spec.yaml"), "--spec goes with RUN"),
        (("abc",), "there is no *.evidence folder here"),
        (("abc", "--spec", "spec.yaml"), "there is no evidence of a run whose id begins with 'abc'"),
        (("--list", "nothing.yaml"), "nothing.yaml: no such file"),
    ],
)
def test_evidence_that_is_asked_for_wrongly(
    sqlanon: CommandLine, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    write_spec(folder / "spec.yaml", spec_values("duckdb:///:memory:"))
    outcome = sqlanon("evidence", *arguments)
    assert outcome.code == 2
    assert words in outcome.err


# -- cleanup -----------------------------------------------------------------------------------------------------------


@pytest.mark.postgres
def test_cleanup_of_what_a_dead_run_left(sqlanon: CommandLine, postgres_url: str, folder: Path) -> None:
    patients(postgres_url)
    spec = write_spec(folder / "spec.yaml", spec_values(postgres_url))
    sqlanon("run", spec)
    engine = open_at(postgres_url)
    execute(engine, "CREATE TABLE sqlanon_0123456789ab_base (a INT)", "CREATE TABLE sqlanon_mine (a INT)")
    engine.close()
    planned = sqlanon("cleanup", spec, "--dry-run", "--keep", "0")
    assert "sqlanon_0123456789ab_base" in planned.out
    assert "would be removed" in planned.out
    done = sqlanon("cleanup", spec, "--keep", "0", "--json").json
    assert (done["tables"], len(done["evidence"]), done["kept"]) == (["sqlanon_0123456789ab_base"], 1, 0)
    assert not (folder / "spec.evidence").exists()
    again = sqlanon("cleanup", spec)
    assert "0 scratch tables and the evidence of 0 runs" in again.out
    engine = open_at(postgres_url)
    execute(engine, "DROP TABLE sqlanon_mine")
    engine.close()


# -- grants ------------------------------------------------------------------------------------------------------------


@pytest.mark.postgres
def test_grants_are_printed_as_statements(sqlanon: CommandLine, postgres_url: str, folder: Path) -> None:
    patients(postgres_url)
    spec = write_spec(folder / "spec.yaml", spec_values("postgresql://nobody:s3cret@127.0.0.1:1/nowhere"))
    outcome = sqlanon("grants", spec, "--connection", postgres_url, "--role", "reader")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("-- There is no role reader yet")
    assert "GRANT SELECT ON TABLE" in outcome.out
    assert '"patients" TO "reader";\n' in outcome.out
    content = sqlanon("grants", "--connection", postgres_url, "--json").json
    assert content["role"] == "anonymizer"
    assert 'GRANT CREATE ON SCHEMA "target_schema" TO "anonymizer";' in content["statements"]


def test_grants_need_a_database_to_ask(sqlanon: CommandLine, folder: Path) -> None:
    assert sqlanon("grants").err == "sqlanon: error: give SPEC, or --connection; see 'sqlanon grants --help'\n"
    duckdb = sqlanon("grants", "--connection", "duckdb:///:memory:")
    assert duckdb.out.startswith("-- DuckDB has no roles")


# -- logs --------------------------------------------------------------------------------------------------------------


@pytest.mark.one_engine
def test_logs_are_one_object_a_line_without_values(sqlanon: CommandLine, spec: Path) -> None:
    outcome = sqlanon("run", spec, "--log", "json", "--json")
    assert outcome.code == 0
    lines = logged(outcome)
    run = outcome.json["run"]
    statements = [line for line in lines if line["event"] == "statement"]
    assert {line["run"] for line in lines} == {run}
    assert {"scan source", "commit"} <= {line["step"] for line in statements}
    assert all(line["seconds"] >= 0 and not line["failed"] for line in statements)
    phases = [line["phase"] for line in lines if line["event"] == "phase"]
    assert list(dict.fromkeys(phases)) == ["bind", "frequency", "hierarchies", "search", "publish"]
    assert "SELECT" not in outcome.err
    without_values(Outcome(0, "", outcome.err))


@pytest.mark.one_engine
def test_errors_and_remarks_are_logged_too(sqlanon: CommandLine, spec: Path, folder: Path, database: str) -> None:
    columns = {**COLUMNS, "race": {**COLUMNS["race"], "levels": {"min": 4}}}
    wrong = write_spec(folder / "wrong.yaml", spec_values(database, columns=columns))
    failed = sqlanon("run", wrong, "--log=json")
    assert failed.code == 2
    [error] = [line for line in logged(failed) if line["event"] == "error"]
    assert (error["type"], error["exit_code"]) == ("UsageError", 2)
    assert "race" in error["message"]
    audited = sqlanon("audit", "patients", "--connection", database, "--qi", "age", "--k", "2", "--log", "json")
    assert audited.code == 1
    assert next(line["message"] for line in logged(audited) if line["event"] == "note").startswith("not satisfied: k")
    both = sqlanon("run", spec, "--log", "json", "--show-sql")
    assert both.code == 2
    assert "do not go together" in both.err
