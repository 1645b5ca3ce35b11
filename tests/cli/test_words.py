"""Words: a measurement is no verdict, every figure says persons or rows, and one report has one average risk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sqlanon as package
from tests.kit.commands import COLUMNS, CommandLine, write_spec
from tests.kit.engine import execute, open_at

VISITS = [
    *[(f"p{n}", "94138", "flu" if n % 2 else "cold") for n in range(6) for _ in range(3)],
    *[(f"q{n}", "94139", "flu" if n % 2 else "cold") for n in range(4) for _ in range(1 + 4 * n)],
]
"""Ten persons with several visits each: the mean risk over rows is another when persons are counted."""


@pytest.fixture
def visits(engine_url: str, folder: Path) -> Path:
    engine = open_at(engine_url)
    execute(engine, "CREATE TABLE visits (patient_id TEXT, zip TEXT, disease TEXT)")
    execute(engine, f"INSERT INTO visits VALUES {', '.join(map(str, VISITS))}")
    engine.close()
    columns = {"patient_id": {"role": "identifier"}, "zip": COLUMNS["zip"], "disease": COLUMNS["disease"]}
    values = {"connection": engine_url, "source": "visits", "target": "released", "respondent": "patient_id"}
    return write_spec(folder / "visits.yaml", {**values, "columns": columns, "privacy": {"k": 4}})


def test_an_audit_without_a_requirement_gives_no_verdict(sqlanon: CommandLine, visits: Path, engine_url: str) -> None:
    asked = ("audit", "visits", "--connection", engine_url, "--qi", "patient_id,zip")
    ended = sqlanon(*asked)
    assert ended.code == 0
    assert "satisfied" not in ended.out + ended.err
    assert "required 1" not in ended.out
    assert "1 (nothing was required)" in ended.out
    assert "no verdict; --k" in ended.err
    content = sqlanon(*asked, "--json").json
    assert content["satisfied"] is None
    assert content["required"] == {"k": None}
    assert content["requirements"] == content["violations"] == []
    assert (content["rows"], content["k"]) == (len(VISITS), 1)
    assert any("nothing was required" in note for note in content["notes"])


@pytest.mark.parametrize(("k", "verdict"), [("4", True), ("5", False)])
def test_an_audit_with_a_requirement_gives_one(
    sqlanon: CommandLine, visits: Path, engine_url: str, k: str, verdict: bool
) -> None:
    persons = ("--respondent", "patient_id")
    asked = ("audit", "visits", "--connection", engine_url, "--qi", "zip", *persons, "--k", k)
    ended = sqlanon(*asked, "--json")
    assert ended.code == (0 if verdict else 1)
    assert ended.json["satisfied"] is verdict
    assert f"(required {k}): {'satisfied' if verdict else 'NOT satisfied'}" in sqlanon(*asked).out


def test_an_empty_table_satisfies_nothing(sqlanon: CommandLine, engine_url: str) -> None:
    engine = open_at(engine_url)
    execute(engine, "CREATE TABLE empty_one (zip TEXT)")
    engine.close()
    ended = sqlanon("audit", "empty_one", "--connection", engine_url, "--qi", "zip", "--json")
    assert (ended.code, ended.json["satisfied"]) == (1, False)


def test_a_program_is_told_the_same(visits: Path, engine_url: str) -> None:
    found = package.audit("visits", ["zip"], connection=engine_url)
    assert found.verdict is None
    assert "nothing was required" in found._repr_html_()
    assert package.audit("visits", ["zip"], connection=engine_url, k=2).verdict is True


def test_where_persons_are_counted_figures_say_so(sqlanon: CommandLine, visits: Path, engine_url: str) -> None:
    asked = ("audit", "visits", "--connection", engine_url, "--qi", "zip", "--respondent", "patient_id", "--k", "5")
    ended = sqlanon(*asked)
    lines = {line.split("  ")[0]: " ".join(line.split()) for line in ended.out.splitlines()}
    assert lines["persons"] == "persons 10"
    assert lines["k"] == "k 4 persons (required 5): NOT satisfied"
    assert lines["class sizes"].endswith("persons")
    assert "class size (persons)" in ended.out
    assert "have fewer than 5 persons" in ended.err
    assert sqlanon(*asked, "--json").json["counted"] == "persons"


@pytest.mark.one_engine
def test_plan_run_and_status_say_persons_or_rows(sqlanon: CommandLine, visits: Path) -> None:
    planned = sqlanon("plan", visits)
    assert "counts persons, told apart by patient_id" in planned.out
    [sizes] = [line for line in planned.out.splitlines() if line.startswith("class sizes")]
    assert sizes.rstrip().endswith(" rows")
    grid = sqlanon("plan", visits, "--k", "2,4")
    assert "k (persons)" in grid.out
    assert "suppressed (rows)" in grid.out
    assert sqlanon("plan", visits, "--k", "2,4", "--json").json["counted"] == "persons"
    released = sqlanon("run", visits)
    assert "k = 4 persons in 2 classes, satisfied" in " ".join(released.out.split())
    # The key of the persons is not in the release: what is measured of it later are rows, and says so.
    assert "k = 18 rows in 2 classes" in " ".join(sqlanon("status", visits).out.split())
    assert "18 rows (required 4 persons): not shown" in " ".join(sqlanon("audit", "--spec", visits).out.split())
    risk = sqlanon("risk", visits, "--json").json
    assert risk["before"]["counted"] == "persons"
    shown = sqlanon("risk", visits).out
    assert "smallest class (persons)" in shown
    assert "rows in classes of one person" in shown


@pytest.mark.one_engine
def test_one_report_has_one_average_risk(sqlanon: CommandLine, visits: Path) -> None:
    assert sqlanon("plan", visits).code == 0
    report = package.report(visits.with_name("visits.lock.json"), what_if=False)
    assert report.audit is not None
    rows = {zip_code: sum(1 for _, z, _ in VISITS if z == zip_code) for zip_code in ("94138", "94139")}
    expected = (rows["94138"] / 6 + rows["94139"] / 4) / len(VISITS)
    assert report.audit.average_risk == pytest.approx(expected)
    assert report.audit.average_risk != pytest.approx(2 / len(VISITS))
    [grid] = [grid for grid in report.more if grid.title == "Attackers"]
    [(_, _, average)] = [row for row in grid.rows if row[0] == "average prosecutor risk"]
    page = visits.with_name("report.html")
    assert sqlanon("report", visits.with_name("visits.lock.json"), "--out", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert average == f"{100 * expected:.1f}%"
    assert f"average {average}" in text
    assert "class size (persons)" in text
    content: dict[str, Any] = json.loads(json.dumps(report.to_dict()))
    assert content["audit"]["average_risk"] == pytest.approx(expected)


@pytest.mark.one_engine
def test_rows_are_rows_where_nobody_is_named(sqlanon: CommandLine, spec: Path) -> None:
    assert sqlanon("plan", spec).code == 0
    ended = sqlanon("run", spec)
    assert "persons" not in ended.out
    assert sqlanon("audit", "--spec", spec, "--json").json["counted"] == "rows"
