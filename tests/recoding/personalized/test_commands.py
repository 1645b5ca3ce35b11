"""A personalized release through the commands: plan, sql, apply, status, audit of one's own and of a foreign table."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.kit.commands import CommandLine
from tests.kit.personalized import FIGURES


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the paper's figures, of the microdata the first four rows."""
    shutil.copytree(FIGURES, tmp_path, dirs_exist_ok=True)
    lines = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "table.csv").write_text("".join(lines[:5]), encoding="utf-8")
    lines = (tmp_path / "figure3.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "figure3.csv").write_text("".join(lines[:5]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "spec.yaml"


def test_from_plan_to_status(sqlanon: CommandLine, spec: Path) -> None:
    planned = sqlanon("plan", spec, "--json").json
    assert planned["requirement"] == {"personalized": {"column": "disease", "p_breach": "0.5", "primary": True}}
    lock = spec.with_name("spec.lock.json")
    script = sqlanon("sql", lock)
    assert script.code == 0
    assert "Nobody's guarding node of disease is inferred with a probability above 0.5." in script.out
    assert "guard" in script.out
    applied = sqlanon("apply", lock, "--json").json
    assert applied["audit"]["personalized"]["maximum"] <= 0.5
    released = spec.with_name("release.csv").read_text(encoding="utf-8")
    assert released.splitlines()[0] == "age,sex,zip,disease"
    evidence = json.loads(Path(applied["evidence"]).read_text(encoding="utf-8"))
    assert evidence["requirement"] == planned["requirement"]
    assert evidence["audit"]["after"]["personalized"] == applied["audit"]["personalized"]
    assert "Andy" not in json.dumps([evidence, json.loads(lock.read_text(encoding="utf-8"))])
    assert "still holds" in sqlanon("status", spec).out
    assert sqlanon("report", lock, "--out", "report.md").code == 0
    assert "| personalized disease | p\\_breach = 0.5 | not measured | 0.5 |" in Path("report.md").read_text("utf-8")
    audited = sqlanon("audit", "--personalized", spec, "--json")
    assert (audited.code, audited.json["personalized"]) == (0, applied["audit"]["personalized"])
    source = spec.with_name("table.csv")
    source.write_text(
        source.read_text(encoding="utf-8").replace(",dyspepsia\n", ",stomach disease\n"), encoding="utf-8"
    )
    assert "plan again" in sqlanon("apply", lock).err
    assert spec.with_name("release.csv").read_text(encoding="utf-8") == released
    values = yaml.safe_load(spec.read_text(encoding="utf-8"))
    values["privacy"]["personalized"]["p_breach"] = 0.3
    spec.write_text(yaml.safe_dump(values), encoding="utf-8")
    assert "privacy.personalized" in sqlanon("apply", lock).err
    assert sqlanon("audit", "--personalized", spec).code == 1


def test_a_foreign_table_is_audited_and_asked(sqlanon: CommandLine, spec: Path) -> None:
    audited = sqlanon("audit", "figure3.csv", "--personalized", spec, "--population", "voters.csv", "--json")
    found = audited.json["personalized"]
    # Of five people in the group, two rows may be a respiratory infection, and two a stomach disease.
    assert (audited.code, found["external"], found["maximum"]) == (0, True, 0.4)
    assert [(level["level"], level["rows"], level["above"]) for level in found["levels"]] == [(0, 2, 0), (1, 2, 0)]
    assert sum(bucket["rows"] for bucket in found["distribution"]) == found["rows"] == 4
    spec.with_name("queries.yaml").write_text("[{disease: respiratory infection}, {age: [1, 6]}]", encoding="utf-8")
    asked = sqlanon("workload", spec, "--table", "figure3.csv", "--queries", "queries.yaml", "--json").json
    assert (asked["rows"], asked["errors"]["all"]["queries"]) == (4, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audit", "nowhere.csv", "--personalized", "spec.yaml"), "nowhere.csv"),
        (("audit", "--personalized", "nowhere.yaml"), "nowhere.yaml"),
        (("plan", "spec.yaml", "--compare", "greedy,mondrian"), "mondrian does not hold privacy.personalized"),
        (("workload", "spec.yaml", "--table", "table.csv", "--sensitive", "age"), "'age' is not a column of role"),
    ],
)
def test_mistyped(sqlanon: CommandLine, spec: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = sqlanon(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
