"""`sqlanon sql --policies`: comments, grants and rules beside a release, run on the engines that are here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlanon.engines.generated_dialects import SCRIPT_DIALECTS
from sqlanon.sql.relations import identifier
from tests.kit.commands import COLUMNS, CommandLine, patients, spec_values, write_spec
from tests.kit.engine import execute, open_at, query

HOSTILE = "Ma'rital. \"Select\\ ( it )"


def printed(sqlanon: CommandLine, spec: Path, *arguments: str) -> str:
    outcome = sqlanon("sql", spec, "--policies", *arguments)
    assert outcome.code == 0, outcome.err
    return outcome.out


def statements(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("--")]


def hostile_spec(url: str, tmp_path: Path) -> Path:
    engine = open_at(url)
    name = '"' + HOSTILE.replace('"', '""') + '"'
    execute(engine, f"CREATE TABLE people (ssn TEXT, {name} TEXT, disease TEXT)")
    execute(
        engine, "INSERT INTO people VALUES ('1', 'a', 'flu'), ('2', 'a', 'cold'), ('3', 'b', 'flu'), ('4', 'b', 'flu')"
    )
    engine.close()
    columns: dict[str, Any] = {
        "ssn": {"role": "identifier"},
        HOSTILE: {"role": "quasi_identifier", "hierarchy": {"tree": {"any": ["a", "b"]}}},
        "disease": {"role": "sensitive"},
    }
    values = spec_values(url, source="people", target="released", columns=columns, privacy={"k": 2})
    return write_spec(tmp_path / "spec.yaml", values)


def test_comments_stand_at_the_release(engine_url: str, tmp_path: Path, sqlanon: CommandLine) -> None:
    """Run as they are printed, names with quotes, dots and backslashes among them."""
    spec = hostile_spec(engine_url, tmp_path)
    assert sqlanon("run", spec).code == 0
    told = [line for line in statements(printed(sqlanon, tmp_path / "spec.lock.json")) if line.startswith("COMMENT")]
    assert len(told) == 3
    engine = open_at(engine_url)
    for statement in told:
        execute(engine, statement)
    duckdb = "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'released'"
    postgres = (
        "SELECT attname, col_description(attrelid, attnum) FROM pg_attribute "
        "WHERE attrelid = 'released'::regclass AND attnum > 0"
    )
    found: dict[str, str] = dict(query(engine, duckdb if engine_url.startswith("duckdb") else postgres))
    engine.close()
    assert found == {HOSTILE: "quasi-identifier, level 0 of 1", "disease": "sensitive"}


@pytest.mark.postgres
def test_grants_of_postgres_are_run(postgres_url: str, tmp_path: Path, sqlanon: CommandLine) -> None:
    patients(postgres_url)
    spec = write_spec(tmp_path / "spec.yaml", spec_values(postgres_url))
    assert sqlanon("run", spec).code == 0
    engine = open_at(postgres_url)
    text = printed(sqlanon, spec, "--readers", "pg_monitor")
    for statement in statements(text):
        if "SECURITY LABEL" not in statement:
            execute(engine, statement)
    [(reads,)] = query(engine, "SELECT has_table_privilege('pg_monitor', 'patients_release', 'SELECT')")
    engine.close()
    assert reads


@pytest.mark.parametrize("dialect", SCRIPT_DIALECTS)
def test_every_dialect_quotes_names_and_texts(
    dialect: str, duckdb_url: str, tmp_path: Path, sqlanon: CommandLine
) -> None:
    found = statements(printed(sqlanon, hostile_spec(duckdb_url, tmp_path), "--dialect", dialect))
    assert all(line.endswith(";") for line in found)
    traits = SCRIPT_DIALECTS[dialect].traits
    assert any(traits.render(identifier(HOSTILE)) in line for line in found)
    assert "level 0 of 1" in "".join(found)
    assert "ssn" not in "".join(line for line in found if line.startswith("COMMENT"))


def test_rules_for_the_source(duckdb_url: str, tmp_path: Path, sqlanon: CommandLine) -> None:
    patients(duckdb_url)
    columns = {**COLUMNS, "age": {"role": "identifier"}}
    spec = write_spec(tmp_path / "spec.yaml", spec_values(duckdb_url, columns=columns, respondent="age"))
    snowflake = printed(sqlanon, spec, "--dialect", "snowflake", "--readers", "ANALYSTS")
    assert "AGGREGATION_CONSTRAINT(MIN_GROUP_SIZE => 2) ELSE NO_AGGREGATION_CONSTRAINT() END;" in snowflake
    assert "IS_ROLE_IN_SESSION('ANALYSTS')" in snowflake
    assert 'ALTER TABLE "PATIENTS" SET AGGREGATION POLICY "SQLANON_AT_LEAST_K" ENTITY KEY ("AGE") FORCE;' in snowflake
    assert 'MODIFY COLUMN "AGE" SET PROJECTION POLICY "SQLANON_NEVER_SHOWN" FORCE;' in snowflake
    bigquery = printed(sqlanon, spec, "--dialect", "bigquery")
    assert '{"aggregation_threshold_policy": {"threshold": 2, "privacy_unit_column": "age"}}' in bigquery
    assert "at least 2 persons" in bigquery
    postgres = printed(sqlanon, spec, "--dialect", "postgres")
    assert """SECURITY LABEL FOR anon ON COLUMN "patients"."age" IS 'MASKED WITH VALUE NULL';""" in postgres
    assert statements(printed(sqlanon, spec)) == [line for line in statements(postgres) if line.startswith("COMMENT")]


def test_a_pseudonym_is_told_as_one(
    duckdb_url: str, tmp_path: Path, sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSEUDONYM_KEY", "a secret of the tests, long enough")
    patients(duckdb_url)
    columns = {**COLUMNS, "age": {"role": "identifier", "pseudonym": {"secret": "${PSEUDONYM_KEY}"}}}
    spec = write_spec(tmp_path / "spec.yaml", spec_values(duckdb_url, columns=columns, respondent="age"))
    text = printed(sqlanon, spec)
    assert """COMMENT ON COLUMN "patients_release"."age" IS 'pseudonym';""" in text
    assert "long enough" not in text


def test_what_does_not_go_together(duckdb_url: str, tmp_path: Path, sqlanon: CommandLine) -> None:
    patients(duckdb_url)
    spec = write_spec(tmp_path / "spec.yaml", spec_values(duckdb_url, target={"file": str(tmp_path / "r.csv")}))
    for arguments, message in (
        (("--policies",), "this release is a file"),
        (("--policies", "--out", str(tmp_path)), "leave out --out"),
        (("--readers", "x"), "--readers goes with --policies"),
        (("--policies", "--dialect", "oracle"), "unknown dialect 'oracle'"),
    ):
        outcome = sqlanon("sql", spec, *arguments)
        assert (outcome.code, message in outcome.err) == (2, True)
