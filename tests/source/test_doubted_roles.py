"""Columns that a release shows unchanged are doubted: by name, by shape, by how few persons share a value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import sqlanon
from sqlanon.cli.main import run as command
from sqlanon.draft.profile import Profile
from sqlanon.draft.rules import doubted
from sqlanon.errors import SourceError, SpecError
from sqlanon.hierarchies.base import Family
from sqlanon.pipeline import crowded, script
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.engine import execute, open_at, query
from tests.kit.locks import edit_lock

PEOPLE = 40
QI = {"zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 5]}}}}
REASON = "pseudonym, agreed with the board; -- */ ' \" {{ x }}"


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/people.sqlite"
    if request.param == "duckdb":
        return f"duckdb:///{tmp_path}/people.duckdb"
    return str(request.getfixturevalue("postgres_url"))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    return "NULL" if value is None else str(value) if isinstance(value, (int, float)) else f"'{_escaped(value)}'"


def _escaped(value: object) -> str:
    return str(value).replace("'", "''")


def people(url: str, columns: dict[str, str], rows: Sequence[Sequence[object]], table: str = "people") -> None:
    """A table of these columns and rows, beside two ZIP codes that half of the rows each have."""
    engine = open_at(url)
    declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in {"zip": "TEXT", **columns}.items())
    execute(engine, f"CREATE TABLE {table} ({declared})")
    given = (", ".join(map(literal, ("9413" + str(place % 2), *row))) for place, row in enumerate(rows))
    execute(engine, f"INSERT INTO {table} VALUES {', '.join(f'({row})' for row in given)}")
    engine.close()


def values(url: str, columns: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "connection": url,
        "source": "people",
        "target": "released",
        "columns": {**QI, **(columns or {})},
        "privacy": {"k": 5},
        **more,
    }


def spec_of(url: str, columns: dict[str, Any] | None = None, **more: Any) -> Spec:
    return spec_from_dict(values(url, columns, **more))


def tables(url: str) -> list[str]:
    engine = open_at(url)
    catalog = "sqlite_master" if url.startswith("sqlite") else "information_schema.tables"
    name = "name" if url.startswith("sqlite") else "table_name"
    found = query(engine, f"SELECT {name} FROM {catalog} WHERE {name} IN ('released', 'people')")
    engine.close()
    return sorted(row[0] for row in found)


def test_a_default_role_publishes_no_names_and_no_numbers(url: str) -> None:
    rows = [(f"Ann {place}", f"{place:03}-12-3456", place % 3) for place in range(PEOPLE)]
    people(url, {"full_name": "TEXT", "taxes": "TEXT", "ward": "INTEGER"}, rows)
    with pytest.raises(SpecError) as refused:
        sqlanon.run(spec_of(url, default_role="insensitive"))
    first, second = refused.value.problems
    assert first.startswith("columns.full_name: ")
    assert "named like a direct identifier" in first
    assert "role identifier" in first
    assert "columns.full_name.accept" in first
    assert "columns.taxes: " in second
    assert "social security numbers" in second
    assert "Ann" not in str(refused.value)
    assert "-12-3456" not in str(refused.value)
    assert tables(url) == ["people"]


@pytest.mark.representative(6, postgres=2)
@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("hash", "TEXT", lambda n: f"{n * 7919:040x}"),
        ('say "x"; --', "TEXT", lambda n: f"it's {n} {{{{ y }}}}"),
        ("serial number", "INTEGER", lambda n: 1000 + n),
        ("reading", "BIGINT", lambda n: 7_000_000_000 + n * n * 997),
        ("seen", "TIMESTAMP", lambda n: f"2024-01-{1 + n % 28:02} 10:{n:02}:07"),
        ("contact", "TEXT", lambda n: f"p{n % 4}@example.org"),
        ("remark", "TEXT", lambda n: f"{'long ' * 20} {n % 30}"),
    ],
)
def test_a_column_of_values_of_ones_own_is_refused(url: str, name: str, kind: str, value: Any) -> None:
    people(url, {name: kind}, [(value(place),) for place in range(PEOPLE)])
    with pytest.raises(SpecError, match=r"named like|of its own|free text|look like") as found:
        sqlanon.plan(spec_of(url, {name: {"role": "insensitive"}}))
    [problem] = found.value.problems
    assert problem.startswith(f"columns.{name}: ")
    assert "\n" not in problem


def test_what_ordinary_columns_hold_is_released(url: str) -> None:
    rows = [
        (place % 5, place * 1.37 + 0.01, f"ward {place % 6}", 100 + place * 37 % 9000, f"p{place % 3}", place % 2)
        for place in range(PEOPLE)
    ]
    kinds = {
        "visits": "INTEGER",
        "pressure": "DOUBLE PRECISION",
        "ward_name": "TEXT",
        "cost": "INTEGER",
        "account_type": "TEXT",
        "no_show": "INTEGER",
    }
    people(url, kinds, rows)
    result = sqlanon.run(spec_of(url, default_role="insensitive"))
    assert result.audit.rows == PEOPLE
    assert tables(url) == ["people", "released"]


def visits(url: str) -> None:
    """Ten visits of each person: nothing is unique by row, and two columns are by person."""
    rows = [(place % PEOPLE, f"salted {place % PEOPLE * 31}", place % 7) for place in range(10 * PEOPLE)]
    people(url, {"patient_id": "INTEGER", "trace": "TEXT", "room": "INTEGER"}, rows)


@pytest.mark.parametrize("more", [{"respondent": "patient_id"}, {}], ids=["respondent", "identifier"])
def test_a_column_one_to_one_with_the_person_is_refused(url: str, more: dict[str, Any]) -> None:
    visits(url)
    columns = {"patient_id": {"role": "identifier"}, "trace": {"role": "insensitive"}, "room": {"role": "insensitive"}}
    with pytest.raises(SpecError) as refused:
        sqlanon.plan(spec_of(url, columns, **more))
    [problem] = refused.value.problems
    assert problem.startswith("columns.trace: ")
    assert "nearly every value belongs to one person" in problem


def test_a_sensitive_column_is_doubted_by_its_shape_alone(url: str) -> None:
    rows = [(f"{place:08x}-0000-4000-8000-000000000000", f"own word {place}") for place in range(PEOPLE)]
    people(url, {"finding": "TEXT", "diagnosis": "TEXT"}, rows)
    with pytest.raises(SpecError) as refused:
        sqlanon.plan(spec_of(url, {"finding": {"role": "sensitive"}, "diagnosis": {"role": "sensitive"}}))
    [problem] = refused.value.problems
    assert problem.startswith("columns.finding: ")
    assert "UUIDs" in problem


def accepted_files(url: str, folder: Path) -> Path:
    people(url, {"hash": "TEXT"}, [(f"{place * 7919:040x}",) for place in range(PEOPLE)])
    path = folder / "spec.yaml"
    spec = values(url, {"hash": {"role": "insensitive", "accept": REASON}})
    path.write_text(yaml.safe_dump(spec), encoding="utf-8")
    return path


def test_an_accepted_column_is_released_and_its_reason_goes_with_it(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = accepted_files(url, tmp_path)
    lock = tmp_path / "spec.lock.json"
    assert command(["check", str(path)]) == 0
    assert "pseudonym, agreed with the board" in capsys.readouterr().out
    assert command(["plan", str(path)]) == 0
    assert json.loads(lock.read_text())["accepted"] == {"hash": REASON}
    assert command(["apply", str(lock)]) == 0
    [evidence] = (tmp_path / "spec.evidence").glob("*.json")
    assert json.loads(evidence.read_text())["accepted"] == {"hash": REASON}
    report = sqlanon.report(lock, offline=True)
    assert any("hash" in note and REASON in note for note in report.notes)


@pytest.mark.postgres
def test_a_script_repeats_the_reason_in_its_heading(postgres_url: str, tmp_path: Path) -> None:
    path = accepted_files(postgres_url, tmp_path)
    text = script(sqlanon.load_spec(path), None)
    heading = text.partition("\n\n")[0].splitlines()
    assert all(line.startswith("-- ") for line in heading)
    sentences = " ".join(line.removeprefix("-- ") for line in heading)
    assert f"Column hash looks like an identifier and is released, accepted by the spec: {REASON}" in sentences
    assert command(["plan", str(path)]) == 0
    measured = sqlanon.report(tmp_path / "spec.lock.json", what_if=False)
    assert any(REASON in note for note in measured.notes)


def test_every_command_refuses(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = accepted_files(url, tmp_path)
    lock = tmp_path / "spec.lock.json"
    assert command(["plan", str(path)]) == 0
    content = yaml.safe_load(path.read_text())
    del content["columns"]["hash"]["accept"]
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    # The lock file of somebody who left the reason out by hand, and of one who changed the data behind it.
    now = sqlanon.load_spec(path).hash()
    edit_lock(lock, lambda written: written.update(spec_hash=now))
    capsys.readouterr()
    for arguments in (["check", path], ["plan", path], ["run", path], ["apply", lock], ["sql", path], ["sql", lock]):
        code = command([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert code == 2, arguments
        assert "columns.hash" in printed.err, arguments
        assert "accept" in printed.err, arguments
    assert tables(url) == ["people"]


@pytest.mark.parametrize("reason", ["", "  ", 5])
def test_a_reason_is_a_text(reason: Any) -> None:
    with pytest.raises(SpecError, match=r"columns\.h\.accept"):
        spec_of("duckdb:///:memory:", {"h": {"role": "insensitive", "accept": reason}})


@pytest.mark.parametrize("role", ["identifier", "quasi_identifier"])
def test_only_a_column_that_is_released_unchanged_is_accepted(role: str) -> None:
    with pytest.raises(SpecError, match=r"columns\.h\.accept: only a sensitive or insensitive column"):
        spec_of("duckdb:///:memory:", {"h": {"role": role, "accept": "why not"}})


@pytest.mark.parametrize("header", ["SSN,ssn", "zip2, ZIP2 ", "a b,A  B", "x,x"])
def test_headers_that_differ_in_case_or_space_are_refused(header: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(f"zip,{header}\n" + "".join(f"9413{n % 2},{n % 3},{n % 4}\n" for n in range(PEOPLE)))
    spec = spec_of("duckdb:///:memory:", source=str(file), target="released", default_role="insensitive")
    with pytest.raises(SourceError, match=r"columns '.*' and '.*'") as refused:
        sqlanon.plan(spec)
    assert str(file) in str(refused.value)


def test_headers_that_end_in_numbers_are_two_columns(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("zip,room,room_1\n" + "".join(f"9413{n % 2},{n % 3},{n % 4}\n" for n in range(PEOPLE)))
    spec = spec_of("duckdb:///:memory:", source=str(file), target="released", default_role="insensitive")
    assert sqlanon.plan(spec).rows == PEOPLE


def test_persons_that_fill_classes_of_their_own_are_counted(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two persons with six visits each have a ZIP code of their own; forty others share two.
    engine = open_at(url)
    execute(engine, "CREATE TABLE people (zip TEXT, patient_id INTEGER)")
    rows = [("11111", 1)] * 6 + [("22222", 2)] * 6 + [(f"9413{n % 2}", 100 + n) for n in range(PEOPLE)]
    execute(engine, f"INSERT INTO people VALUES {', '.join(map(str, rows))}")
    engine.close()
    columns = {"patient_id": {"role": "identifier"}}
    found = crowded(spec_of(url, columns))
    assert found is not None
    assert found.to_dict() == {"column": "patient_id", "k": 5, "persons": 2, "classes": 2}
    assert crowded(spec_of(url, columns, respondent="patient_id")) is None
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(values(url, columns)), encoding="utf-8")
    assert command(["check", str(path)]) == 0
    assert "2 persons; respondent: patient_id makes k count persons" in " ".join(capsys.readouterr().err.split())
    assert command(["check", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["persons"]["persons"] == 2


def test_init_drafts_the_respondent_where_an_identifier_repeats(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits(url)
    out = tmp_path / "draft.yaml"
    assert command(["init", "people", "--connection", url, "--out", str(out)]) == 0
    assert sqlanon.load_spec(out).respondent == "patient_id"


def test_init_drafts_no_respondent_where_none_repeats(url: str, tmp_path: Path) -> None:
    people(url, {"patient_id": "INTEGER"}, [(place,) for place in range(PEOPLE)])
    out = tmp_path / "draft.yaml"
    assert command(["init", "people", "--connection", url, "--out", str(out)]) == 0
    assert sqlanon.load_spec(out).respondent is None


@pytest.mark.parametrize("name", ["SSN", "ssn_1", "E-Mail", "Téléphone", "patientID", "Kunde-Nr", "Nachname", "name"])
def test_names_are_read_in_any_spelling(name: str) -> None:
    column = Profile(name, Family.TEXT, 100, 100, 60)
    assert doubted(column, "insensitive") is not None


@pytest.mark.parametrize("name", ["cost", "city_name", "phone_type", "cell_count", "admitted_via", "account_status"])
def test_names_of_ordinary_columns_are_not_doubted(name: str) -> None:
    assert doubted(Profile(name, Family.TEXT, 100, 100, 10), "insensitive") is None
