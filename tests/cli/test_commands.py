from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from sqlanon.release.lock import Lock
from tests.kit.commands import CommandLine, rows_of, spec_values, tables, write_spec

PLAN_KEYS = {
    "levels", "height", "rows", "suppressed", "classes", "minimal", "score", "checks", "lattice", "seconds",
    "algorithm", "engine",
}  # fmt: skip
AUDIT_KEYS = {"rows", "classes", "k", "l", "t", "satisfied", "violations"}


def test_plan_writes_the_lock_and_nothing_else(sqlanon: CommandLine, spec: Path, database: str) -> None:
    before = tables(database)
    outcome = sqlanon("plan", spec, "--json")
    assert outcome.code == 0, outcome.err
    assert set(outcome.json) >= PLAN_KEYS
    assert outcome.err == ""
    lock = Lock.read(spec.with_name("spec.lock.json"))
    assert lock.levels == outcome.json["levels"]
    assert lock.spec == "spec.yaml"
    assert tables(database) == before


@pytest.mark.one_engine
def test_plan_twice_writes_the_same_lock(sqlanon: CommandLine, spec: Path) -> None:
    lock = spec.with_name("spec.lock.json")
    assert sqlanon("plan", spec).code == 0
    first = lock.read_bytes()
    assert sqlanon("plan", spec).code == 0
    assert lock.read_bytes() == first


@pytest.mark.one_engine
def test_plan_prints_levels_and_costs(sqlanon: CommandLine, spec: Path) -> None:
    outcome = sqlanon("plan", spec, "--minimal", "--dry-run")
    assert outcome.code == 0, outcome.err
    for word in ("column", "level", "released as", "suppressed", "classes", "minimal", "checks", "seconds"):
        assert word in outcome.out
    assert not spec.with_name("spec.lock.json").exists()
    for value in ("94138", "asian", "flu"):
        assert value not in outcome.out


@pytest.mark.one_engine
def test_plan_puts_the_lock_where_asked(sqlanon: CommandLine, spec: Path, folder: Path) -> None:
    (folder / "locks").mkdir()
    outcome = sqlanon("plan", spec, "--out", folder / "locks" / "mine.json", "--json")
    assert outcome.code == 0
    assert Lock.read(folder / "locks" / "mine.json").spec == "../spec.yaml"
    assert sqlanon("apply", folder / "locks" / "mine.json").code == 0


def test_apply_publishes_what_the_lock_says(sqlanon: CommandLine, spec: Path, database: str) -> None:
    planned = sqlanon("plan", spec, "--json").json
    outcome = sqlanon("apply", spec.with_name("spec.lock.json"), "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["levels"] == planned["levels"]
    assert outcome.json["audit"]["satisfied"] is True
    assert len(rows_of(database, "patients_release")) == outcome.json["released"]


@pytest.mark.one_engine
def test_apply_refuses_a_changed_spec(sqlanon: CommandLine, spec: Path, database: str) -> None:
    assert sqlanon("plan", spec).code == 0
    write_spec(spec, spec_values(database, privacy={"k": 3, "suppression": {"limit": 2}}))
    outcome = sqlanon("apply", spec.with_name("spec.lock.json"))
    assert outcome.code == 2
    assert "plan again" in outcome.err
    assert "patients_release" not in tables(database)


def test_run_publishes_and_writes_the_lock(sqlanon: CommandLine, spec: Path, database: str) -> None:
    outcome = sqlanon("run", spec, "--json")
    assert outcome.code == 0, outcome.err
    assert set(outcome.json) >= PLAN_KEYS
    assert outcome.json["audit"]["k"] >= 2
    assert Lock.read(spec.with_name("spec.lock.json")).levels == outcome.json["levels"]
    assert tables(database) == {"patients", "patients_release"}


@pytest.mark.one_engine
def test_run_tells_people_what_was_published(sqlanon: CommandLine, spec: Path) -> None:
    outcome = sqlanon("run", spec)
    assert outcome.code == 0
    for word in ("published", "patients_release", "satisfied", "lock"):
        assert word in outcome.out


def test_audit_by_spec_and_by_name(sqlanon: CommandLine, spec: Path, database: str) -> None:
    assert sqlanon("run", spec).code == 0
    by_spec = sqlanon("audit", "--spec", spec, "--json")
    assert by_spec.code == 0
    assert set(by_spec.json) >= AUDIT_KEYS
    raw = sqlanon("audit", "patients", "--connection", database, "--qi", "race,zip,age", "--json")
    assert raw.code == 0, "without --k an audit only measures"
    assert (raw.json["rows"], raw.json["classes"], raw.json["k"]) == (10, 10, 1)


def test_an_audit_that_fails_ends_with_one(sqlanon: CommandLine, database: str) -> None:
    outcome = sqlanon("audit", "patients", "--connection", database, "--qi", "race,zip", "--k", "2")
    assert outcome.code == 1
    assert "NOT satisfied" in outcome.out
    assert "█" in outcome.out
    assert outcome.err.startswith("sqlanon: not satisfied: k:")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("patients",),
        ("patients", "--qi", ","),
        ("patients", "--qi", "race", "--k", "0"),
        ("patients", "--spec", "spec.yaml"),
        ("--spec", "spec.yaml", "--k", "3"),
        ("patients", "--qi", "race", "--connection", "nonsense"),
    ],
)
def test_an_audit_needs_a_table_and_columns(sqlanon: CommandLine, arguments: tuple[str, ...]) -> None:
    outcome = sqlanon("audit", *arguments)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1


def test_sql_prints_a_script(sqlanon: CommandLine, spec: Path, database: str) -> None:
    from_spec = sqlanon("sql", spec)
    assert from_spec.code == 0, from_spec.err
    assert sqlanon("plan", spec).code == 0
    lock = spec.with_name("spec.lock.json")
    assert sqlanon("sql", lock).out == from_spec.out
    assert sqlanon("sql", lock, "--json").json["sql"] == from_spec.out
    assert from_spec.out.startswith("-- Release of patients")
    assert tables(database) == {"patients"}


def test_check_looks_at_everything(sqlanon: CommandLine, spec: Path, database: str) -> None:
    outcome = sqlanon("check", spec, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["valid"] is True
    assert outcome.json["hierarchies"]["zip"]["labels"] == [4, 2, 1, 1]
    assert "is valid" in sqlanon("check", spec).out
    assert tables(database) == {"patients"}


def test_check_offline_asks_no_database(sqlanon: CommandLine, folder: Path) -> None:
    values = spec_values("postgresql://nobody@127.0.0.1:1/nowhere")
    outcome = sqlanon("check", write_spec(folder / "spec.yaml", values), "--offline")
    assert outcome.code == 0
    assert "offline" in outcome.out


def test_check_prints_the_schema(sqlanon: CommandLine) -> None:
    outcome = sqlanon("check", "--schema")
    assert outcome.code == 0
    assert "quasi_identifier" in json.dumps(outcome.json["$defs"]["Column"])


@pytest.mark.one_engine
def test_hierarchies_shows_values_only_when_asked(sqlanon: CommandLine, spec: Path) -> None:
    quiet = sqlanon("hierarchies", spec)
    assert quiet.code == 0, quiet.err
    assert "94138" not in quiet.out
    assert "941" not in quiet.out
    shown = sqlanon("hierarchies", spec, "zip", "--show-values", "--rows", "2")
    assert shown.code == 0
    assert "941**" in shown.out
    assert "race" not in shown.out
    sample = sqlanon("hierarchies", spec, "zip", "--show-values", "--rows", "2", "--json").json
    assert len(sample["hierarchies"]["zip"]["sample"]) == 2


@pytest.mark.one_engine
def test_hierarchies_exports_what_the_csv_builder_reads(
    sqlanon: CommandLine, spec: Path, folder: Path, database: str
) -> None:
    planned = sqlanon("plan", spec, "--json", "--dry-run").json
    outcome = sqlanon("hierarchies", spec, "--export", folder, "--delimiter", ";", "--json")
    assert outcome.code == 0, outcome.err
    with (folder / "zip.csv").open(encoding="utf-8", newline="") as lines:
        rows = sorted(csv.reader(lines, delimiter=";"))
    assert rows[0] == ["94138", "9413*", "941**", "*****"]
    columns = {
        name: {"role": "quasi_identifier", "hierarchy": {"csv": f"{name}.csv"}} for name in ("race", "zip", "age")
    }
    values = spec_values(database, columns={**columns, "disease": {"role": "sensitive"}})
    again = sqlanon("plan", write_spec(folder / "again.yaml", values), "--json")
    assert again.code == 0, again.err
    assert again.json["levels"] == planned["levels"]
    refused = sqlanon("hierarchies", spec, "--export", folder)
    assert refused.code == 2
    assert "--force" in refused.err


def test_hierarchies_exports_labels_as_the_database_writes_them(
    sqlanon: CommandLine, folder: Path, database: str
) -> None:
    hierarchy = {"sql": ["age", "age > 30", "'*'"]}
    columns = {"age": {"role": "quasi_identifier", "hierarchy": hierarchy}}
    values = spec_values(database, columns=columns, default_role="identifier")
    outcome = sqlanon("hierarchies", write_spec(folder / "labels.yaml", values), "--export", folder)
    assert outcome.code == 0, outcome.err
    exported = (folder / "age.csv").read_text(encoding="utf-8")
    assert {line.split(",")[1] for line in exported.splitlines()} <= {"true", "false"}


@pytest.mark.one_engine
def test_hierarchies_knows_its_columns(sqlanon: CommandLine, spec: Path) -> None:
    outcome = sqlanon("hierarchies", spec, "disease")
    assert (outcome.code, outcome.err) == (2, "sqlanon: error: 'disease' is not a quasi_identifier of the spec\n")


def test_show_sql_tells_steps_and_times(sqlanon: CommandLine, spec: Path) -> None:
    outcome = sqlanon("plan", spec, "--show-sql", "--json")
    assert outcome.code == 0
    assert outcome.json["rows"] == 10
    assert " ms\n" in outcome.err
    assert "SELECT" in outcome.err
    assert "SELECT" not in sqlanon("plan", spec).err


def test_demo_makes_a_folder_to_play_in(sqlanon: CommandLine, folder: Path) -> None:
    outcome = sqlanon("demo")
    assert outcome.code == 0, outcome.err
    made = {path.name for path in (folder / "sqlanon-demo").iterdir()}
    assert made == {"patients.csv", "spec.yaml", "release.csv", "spec.lock.json", "spec.evidence", ".sqlanon_cache"}
    for word in ("raw table", "NOT satisfied", "the plan", "published", "released rows"):
        assert word in outcome.out
    with (folder / "sqlanon-demo" / "release.csv").open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    assert not {"patient_id", "name", "ssn"} & set(header)
    assert len(rows) == 589
    assert sqlanon("demo", "--json").json["levels"] == {"zip": 3, "birth_date": 3, "sex": 0, "marital": 1}


def test_demo_keeps_a_spec_that_was_changed(sqlanon: CommandLine, folder: Path) -> None:
    (folder / "sqlanon-demo").mkdir()
    (folder / "sqlanon-demo" / "spec.yaml").write_text("mine", encoding="utf-8")
    assert sqlanon("demo").code == 2
    assert (folder / "sqlanon-demo" / "spec.yaml").read_text(encoding="utf-8") == "mine"
    assert sqlanon("demo", "--force").code == 0


@pytest.mark.one_engine
def test_planning_again_asks_only_what_the_lock_does_not_know(sqlanon: CommandLine, spec: Path) -> None:
    first = sqlanon("plan", spec, "--json").json
    again = sqlanon("plan", spec, "--json").json
    fresh = sqlanon("plan", spec, "--json", "--fresh").json
    assert again["levels"] == first["levels"] == fresh["levels"]
    assert first["checks"] == fresh["checks"] > again["checks"]
    spec.with_name("spec.lock.json").write_text("", encoding="utf-8")
    assert sqlanon("plan", spec, "--json").json["levels"] == first["levels"]
