from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sqlanon.cli.init import connection_text
from sqlanon.draft.drafting import interval_widths, propose_hierarchy
from sqlanon.draft.editing import yaml_text, yaml_value
from sqlanon.draft.profile import Profile
from sqlanon.draft.rules import guess_role
from sqlanon.hierarchies.base import Family
from sqlanon.spec import load_spec
from sqlanon.spec.load import read_document
from tests.kit.commands import CommandLine, tables
from tests.kit.engine import execute, open_at
from tests.kit.papers import adversarial_names

WIDE = """
CREATE TABLE wide AS
SELECT
    g AS id,
    'Person ' || g AS full_name,
    'p' || g || '@example.org' AS contact,
    '00000000-0000-4000-8000-' || lpad(CAST(g AS TEXT), 12, '0') AS handle,
    CAST(94100 + g % 17 AS TEXT) AS plz,
    CAST(94100 + g % 17 AS TEXT) AS somewhere,
    DATE '1950-01-01' + CAST(g * 100 AS INTEGER) AS geburtsdatum,
    TIMESTAMP '2020-01-01 10:00:00' AS visit,
    TIMESTAMP '2020-01-01 10:00:00' AT TIME ZONE 'UTC' AS seen,
    CAST(g % 90 AS INTEGER) AS edad,
    CASE WHEN g % 2 = 0 THEN 'f' ELSE 'm' END AS "Geschlecht",
    g % 2 = 0 AS smoker,
    CAST(g * 1.25 AS DECIMAL(10, 2)) AS measured,
    CAST(g AS DOUBLE PRECISION) / 3 AS ratio,
    CASE WHEN g = 1 THEN CAST('NaN' AS DOUBLE PRECISION) ELSE CAST('Infinity' AS DOUBLE PRECISION) END AS odd,
    CAST(NULL AS TEXT) AS nothing,
    CAST(NULL AS INTEGER) AS no_number,
    CAST(NULL AS DATE) AS no_date,
    7 AS constant,
    CAST(9007199254740993 AS BIGINT) * 100 + g % 3 AS enormous,
    'flu' AS diagnosis,
    g * 100 AS salary,
    'town ' || g % 40 AS "Wohn Ort",
    'something long that somebody wrote about a person, and it goes on and on: ' || (g % 80) AS remark
FROM generate_series(1, 100) AS s(g)
"""


def draft(sqlanon: CommandLine, url: str, table: str, out: str = "spec.yaml") -> dict[str, Any]:
    outcome = sqlanon("init", table, "--connection", url, "--out", out, "--json")
    assert outcome.code == 0, outcome.err
    columns: dict[str, Any] = outcome.json["columns"]
    return columns


@pytest.mark.one_engine
def test_a_draft_of_every_kind_of_column_passes_check(sqlanon: CommandLine, engine_url: str, folder: Path) -> None:
    engine = open_at(engine_url)
    execute(engine, WIDE)
    engine.close()
    columns = draft(sqlanon, engine_url, "wide")
    roles = {name: column["role"] for name, column in columns.items()}
    for name in ("id", "full_name", "contact", "handle", "remark"):
        assert roles[name] == "identifier", name
    for name in ("plz", "somewhere", "geburtsdatum", "visit", "edad", "Geschlecht", "smoker", "measured", "nothing"):
        assert roles[name] == "quasi_identifier", name
    assert roles["diagnosis"] == roles["salary"] == "sensitive"
    assert "insensitive" not in roles.values()
    assert columns["plz"]["hierarchy"] == columns["somewhere"]["hierarchy"]
    assert columns["edad"]["hierarchy"].startswith("{interval: {widths: [5, 10, 20]")
    assert columns["odd"]["hierarchy"] == columns["enormous"]["hierarchy"] == "suppression"
    outcome = sqlanon("check", "spec.yaml")
    assert outcome.code == 0, outcome.err
    assert tables(engine_url) == {"wide"}


def test_names_of_every_kind_are_quoted(sqlanon: CommandLine, engine_url: str, folder: Path) -> None:
    names = adversarial_names()
    engine = open_at(engine_url)
    written = ", ".join('"' + name.replace('"', '""') + '" INTEGER' for name in names)
    execute(engine, f"CREATE TABLE wild ({written})")
    execute(engine, f"INSERT INTO wild VALUES ({', '.join('1' for _ in names)})")
    engine.close()
    assert list(draft(sqlanon, engine_url, "wild")) == names
    assert list(load_spec(folder / "spec.yaml").columns) == names


@pytest.mark.representative(4, postgres=2)
@pytest.mark.parametrize("name", ["odd name", 'quo"te', "a.b", "${HOME}", "no", "Straße", "x" * 60])
def test_tables_of_every_name(sqlanon: CommandLine, engine_url: str, folder: Path, name: str) -> None:
    engine = open_at(engine_url)
    quoted = '"' + name.replace('"', '""') + '"'
    execute(engine, f"CREATE TABLE {quoted} (age INTEGER)", f"INSERT INTO {quoted} VALUES (1), (2)")
    engine.close()
    given = quoted.replace("${", "$${")
    draft(sqlanon, engine_url, given)
    outcome = sqlanon("check", "spec.yaml")
    assert outcome.code == 0, outcome.err


def test_a_draft_of_an_empty_table(sqlanon: CommandLine, engine_url: str, folder: Path) -> None:
    engine = open_at(engine_url)
    execute(engine, "CREATE TABLE nobody (zip TEXT, born DATE, age INTEGER, cost DOUBLE PRECISION, x TEXT)")
    engine.close()
    columns = draft(sqlanon, engine_url, "nobody")
    assert columns["born"]["role"] == "quasi_identifier"
    assert sqlanon("check", "spec.yaml", "--offline").code == 0


def test_a_draft_from_a_file_in_another_folder(sqlanon: CommandLine, folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "specs").mkdir()
    lines = ["zip,age,illness", *(f"{10000 + n % 3},{20 + n % 5},flu" for n in range(30))]
    (folder / "data" / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "data" / "people_release.csv").write_text("taken", encoding="utf-8")
    outcome = sqlanon("init", "data/people.csv", "--out", "specs/people.yaml")
    assert outcome.code == 0, outcome.err
    assert "quasi_identifier" in outcome.out
    text = (folder / "specs" / "people.yaml").read_text(encoding="utf-8")
    assert 'source: "../data/people.csv"' in text
    assert 'target: "../data/people_release_2.csv"' in text
    ran = sqlanon("run", "specs/people.yaml")
    assert ran.code == 0, ran.err
    assert (folder / "data" / "people_release_2.csv").exists()
    assert (folder / "data" / "people_release.csv").read_text(encoding="utf-8") == "taken"


def test_an_embedded_database_is_found_from_the_spec(sqlanon: CommandLine, folder: Path) -> None:
    (folder / "specs").mkdir()
    engine = open_at("duckdb:///people.duckdb")
    execute(engine, "CREATE TABLE people AS SELECT g % 3 AS age FROM generate_series(1, 30) AS s(g)")
    engine.close()
    assert sqlanon("init", "people", "--connection", "duckdb:///people.duckdb", "--out", "specs/s.yaml").code == 0
    outcome = sqlanon("check", "specs/s.yaml")
    assert outcome.code == 0, outcome.err


def test_a_draft_is_not_written_over_a_file(sqlanon: CommandLine, folder: Path) -> None:
    (folder / "people.csv").write_text("age\n1\n2\n", encoding="utf-8")
    (folder / "spec.yaml").write_text("source: mine", encoding="utf-8")
    outcome = sqlanon("init", "people.csv")
    assert outcome.code == 2
    assert "--force" in outcome.err
    assert (folder / "spec.yaml").read_text(encoding="utf-8") == "source: mine"
    assert sqlanon("init", "people.csv", "--force").code == 0
    printed = sqlanon("init", "people.csv", "--out", "-", "--k", "3", "--target", "out.csv")
    assert "  k: 3 " in printed.out
    assert "target: out.csv" in printed.out


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("postgresql://u:secret@h/d", '"postgresql://u:${SQLANON_PASSWORD}@h/d"'),
        ("postgresql://u:${PW}@h/d", '"postgresql://u:${PW}@h/d"'),
        ("postgresql://u:secret@${HOST}/d", '"postgresql://u:${SQLANON_PASSWORD}@${HOST}/d"'),
        ("postgresql://u:@h/d", '"postgresql://u@h/d"'),
        ("postgresql:///d?password=secret", '"postgresql:///d?password=${SQLANON_PASSWORD}"'),
        ("postgresql:///d", '"postgresql:///d"'),
    ],
)
def test_no_password_is_written(url: str, written: str) -> None:
    assert connection_text(server=True, url=url, folder=Path("specs")) == written


@pytest.mark.postgres
def test_the_password_stays_out_of_the_draft(
    sqlanon: CommandLine, postgres_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_at(postgres_url)
    execute(engine, "CREATE TABLE people AS SELECT g % 3 AS age FROM generate_series(1, 30) AS s(g)")
    engine.close()
    scheme, _, rest = postgres_url.partition("://")
    user, at, place = rest.partition("@")
    secret = f"{scheme}://{user.partition(':')[0]}:s3cret@{place}" if at else f"{scheme}://{rest}"
    outcome = sqlanon("init", "people", "--connection", secret)
    assert outcome.code == 0, outcome.err
    assert "s3cret" not in (folder / "spec.yaml").read_text(encoding="utf-8") + outcome.out + outcome.err
    assert "SQLANON_PASSWORD" in outcome.err
    monkeypatch.setenv("SQLANON_PASSWORD", "s3cret")
    assert sqlanon("check", "spec.yaml").code == 0


def test_init_reads_no_values(sqlanon: CommandLine, engine_url: str, folder: Path) -> None:
    engine = open_at(engine_url)
    execute(engine, "CREATE TABLE people (town TEXT)", "INSERT INTO people VALUES ('Atlantis'), ('Zion')")
    engine.close()
    outcome = sqlanon("init", "people", "--connection", engine_url, "--out", "-")
    assert "Atlantis" not in outcome.out
    assert "Zion" not in outcome.out


@pytest.mark.parametrize(
    "text", [*adversarial_names(), "yes", "", "a\u2028b", "\x85", "\ufeff", "- x", "1e3", "~", "<<", "\x7f"]
)
def test_yaml_reads_back(text: str) -> None:
    document = read_document(f"key: {yaml_text(text)}\n{yaml_text(text or 'x')}: 1\n")
    assert not document.findings
    assert document.value["key"] == text
    assert list(document.value)[-1] == (text or "x")


def test_yaml_values_are_no_variables() -> None:
    assert yaml_value("a${B}") == '"a$${B}"'


def profile(name: str, family: Family = Family.TEXT, **known: Any) -> Profile:
    return Profile(**{"name": name, "family": family, "rows": 100, "present": 100, "distinct": 10, **known})


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("SSN", "identifier"),
        ("emailAddress", "identifier"),
        ("Vorname", "identifier"),
        ("prénom", "identifier"),
        ("customer_id", "identifier"),
        ("city_name", "quasi_identifier"),
        ("county_code", "quasi_identifier"),
        ("sexo", "quasi_identifier"),
        ("Native-Country", "quasi_identifier"),
        ("Krankheit", "sensitive"),
        ("icd10", "sensitive"),
        ("annual_income", "sensitive"),
        ("qwertz", "quasi_identifier"),
    ],
)
def test_roles_by_name(name: str, role: str) -> None:
    assert guess_role(profile(name)).role == role


def test_a_guess_from_nothing_asks_for_review() -> None:
    assert guess_role(profile("qwertz")).review
    assert not guess_role(profile("ssn")).review


@pytest.mark.parametrize(
    ("column", "start"),
    [
        (profile("zip", longest=5), "{mask: {length: 5, steps: [1, 2, 3, 4, 5]}}"),
        (profile("postcode", longest=8), "{mask: {length: 8, steps: [2, 4, 6, 8]}}"),
        (profile("zip", longest=7), "{mask: {length: 7, steps: [2, 4, 6, 7]}}"),
        (profile("zip", longest=1), "suppression"),
        (profile("birth", Family.DATE), "{date: [day, month, year, 5 years"),
        (profile("visit", Family.TIMESTAMP), "{date: [hour, day, month, quarter, year, any]}"),
        (
            profile("visit", Family.DATE, first_year=1990, last_year=2010),
            "{date: [day, month, quarter, year, 5 years, any]}",
        ),
        (profile("flag", Family.BOOLEAN), "suppression"),
    ],
)
def test_proposals(column: Profile, start: str) -> None:
    assert propose_hierarchy(column).hierarchy.startswith(start)


def test_widths_nest_and_stay_below_the_range() -> None:
    for extent in ("0", "0.0000001", "0.3", "1", "6", "90", "12345", "1000000000000000"):
        for whole in (True, False):
            widths = interval_widths(Decimal(extent), whole=whole)
            assert all(wide % narrow == 0 for narrow, wide in pairwise(widths))
            assert all(0 < width < Decimal(extent) for width in widths)


@pytest.mark.parametrize("name", ["t", 'it\'s "${T}" */'])
def test_times_spans_and_json_are_drafted_by_their_type(
    sqlanon: CommandLine, engine_url: str, folder: Path, name: str
) -> None:
    quoted = name.replace('"', '""')
    engine = open_at(engine_url)
    execute(
        engine,
        f"""
        CREATE TABLE kinds AS SELECT TIME '07:15:00' + g * INTERVAL '1 minute' AS "{quoted}",
            g * INTERVAL '90 minutes' AS took, CAST('{{"a": 1}}' AS JSON) AS document
        FROM generate_series(1, 200) AS s(g)
        """,
    )
    engine.close()
    columns = draft(sqlanon, engine_url, "kinds")
    assert {column: found["role"] for column, found in columns.items()} == {
        name: "quasi_identifier",
        "took": "quasi_identifier",
        "document": "identifier",
    }
    checked = sqlanon("check", "spec.yaml", "--json")
    assert checked.code == 0, checked.err
    # From 07:16 to 10:35: hours 7 to 10, four hours from 4 and 8, the first half of the day.
    assert checked.json["hierarchies"][name]["labels"] == [200, 4, 2, 1, 1]
    # Up to 300 hours: days 0 to 12, one month.
    assert checked.json["hierarchies"]["took"]["labels"] == [200, 13, 1, 1, 1]
    assert "name the fields that are needed in a query source" in Path("spec.yaml").read_text()
    assert sqlanon("run", "spec.yaml").code == 0
