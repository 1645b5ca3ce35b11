"""Presets: every line answers a clause, the drafted spec runs, and what the clause asks holds of the release."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from sqlanon import pipeline
from sqlanon.cli.init import NAMES
from sqlanon.draft.presets import PRESETS, SECRET, SMALL_AREAS
from sqlanon.spec import load_spec
from tests.kit.commands import CommandLine, require_valid
from tests.kit.database import Database

TODAY = datetime.now(UTC).date()


@pytest.fixture
def visits(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> Database:
    """Three visits of each of sixty people, the oldest born in 1920."""
    monkeypatch.setenv(SECRET, "a secret of the tests, long enough")
    database = Database(engine_url)
    rows = []
    for n in range(180):
        person = n % 60
        rows.append(
            (
                f"P{person}",
                f"Person {person}",
                ("03601", "94139", "59901", "05901")[person % 4],
                f"town {person % 5}",
                f"{1920 + person}-02-{28 + (not person % 4)}",
                f"2024-{1 + n % 12:02}-15 10:00:00",
                f"2024-{1 + n % 12:02}-15 told as text",
                "fm"[person % 2],
                f"d{n % 3}",
                n * 137.5,
            )
        )
    kinds = {
        "patient_id": "text", "full_name": "text", "zip": "text", "city": "text", "birth_date": "date",
        "admitted": "timestamp", "told": "text", "sex": "text", "diagnosis": "text", "cost": "double precision",
    }  # fmt: skip
    database.create("visits", kinds, rows)
    return database


def test_the_names_of_the_command_are_those_of_the_presets() -> None:
    assert {*NAMES} == {*PRESETS}
    assert len(SMALL_AREAS) == len(set(SMALL_AREAS)) == 17


def drafted(sqlanon: CommandLine, database: Database, name: str) -> str:
    outcome = sqlanon("init", "visits", "--connection", database.url, "--preset", name, "--out", "p.yaml", "--json")
    assert outcome.code == 0, outcome.err
    require_valid("init", outcome.json)
    text = str(outcome.json["yaml"])
    assert "claims no compliance" in text
    assert sqlanon("check", "p.yaml", "--json").code == 0
    return text


@pytest.mark.one_engine
def test_safe_harbor(sqlanon: CommandLine, visits: Database, folder: Path) -> None:
    text = drafted(sqlanon, visits, "safe-harbor")
    for part in "BC":
        assert f"164.514(b)(2)(i)({part})" in text
    assert "164.514(b)(2)(i)(A), (D) to (R)" in text
    pipeline.run(load_spec(folder / "p.yaml"))
    assert list(visits.types("visits_release")) == ["zip", "admitted", "sex", "diagnosis", "cost", "birth_date_age"]
    shown = visits.rows("visits_release", "zip, admitted, birth_date_age")
    for code, year, age in shown:
        # 036 and 059 are areas of 20,000 people or fewer.
        assert code in ("000", "941", "599", "*")
        assert year in ("2024", "*") or year.startswith("[20")
        assert age == "*" or age == ">=90" or int(age.strip("[").split(",")[0]) < 90, age
    oldest = TODAY.year - 1920
    assert oldest > 90


@pytest.mark.one_engine
def test_gdpr_research_joins_the_rows_of_a_person(sqlanon: CommandLine, visits: Database, folder: Path) -> None:
    text = drafted(sqlanon, visits, "gdpr-research")
    assert "GDPR Art. 4(5), 89(1)" in text
    assert "GDPR Art. 5(1)(c)" in text
    spec = load_spec(folder / "p.yaml")
    assert spec.columns["patient_id"].pseudonym is not None
    assert spec.columns["cost"].words() == "rounded to multiples of 500"
    assert spec.columns["birth_date"].levels.min == 1


@pytest.mark.one_engine
def test_statbank_codes_the_top(sqlanon: CommandLine, visits: Database, folder: Path) -> None:
    text = drafted(sqlanon, visits, "statbank")
    assert "Handbook on Statistical Disclosure Control" in text
    pipeline.run(load_spec(folder / "p.yaml"))
    # Each person's greatest amount lies in the last sixty rows: the fifth from the top, as k is 5.
    [(most, least)] = visits.rows("visits_release", "max(cost), min(cost)")
    assert most <= 175 * 137.5
    assert least >= 4 * 137.5


def test_a_conversation_answers_by_itself(sqlanon: CommandLine, visits: Database, folder: Path) -> None:
    assert visits.url
    outcome = sqlanon("init", "visits", "--connection", visits.url, "--preset", "statbank", "--interactive")
    assert (outcome.code, "--interactive asks what --preset answers" in outcome.err) == (2, True)


@pytest.mark.one_engine
def test_rules_stand_in_answers(sqlanon: CommandLine, visits: Database, folder: Path) -> None:
    drafted(sqlanon, visits, "statbank")
    answer = sqlanon("check", "p.yaml", "--json").json
    require_valid("check", answer)
    assert "cost" in answer["rules"]
    assert sqlanon("run", "p.yaml", "--json").code == 0
    [evidence] = (folder / "p.evidence").glob("*.json")
    assert '"rules"' in evidence.read_text(encoding="utf-8")
