"""The commands risk, attack and utility: flags, tables, JSON, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sqlanon import insight
from sqlanon.cli.console import sparkline
from sqlanon.notebook import bar_chart
from sqlanon.spec import load_spec
from tests.kit.commands import CommandLine, patients, spec_values, write_spec


@pytest.fixture
def spec(duckdb_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    patients(duckdb_url)
    monkeypatch.chdir(tmp_path)
    values: dict[str, Any] = spec_values(duckdb_url)
    return write_spec(tmp_path / "spec.yaml", values)


def test_before_and_after(sqlanon: CommandLine, spec: Path) -> None:
    first = sqlanon("risk", spec, "--json")
    assert (first.code, first.json["after"]) == (0, None)
    assert "no release yet" in first.json["notes"][0]
    assert "no release yet" in sqlanon("utility", spec).err
    assert sqlanon("utility", spec).code == 2
    assert sqlanon("run", spec).code == 0
    risk = sqlanon("risk", spec, "--threshold", "0.2,0.5", "--subsets", "1", "--uniques", "1", "--json").json
    assert risk["before"]["uniques"] == 10
    assert risk["after"]["smallest_class"] >= load_spec(spec).privacy.k
    assert [item["threshold"] for item in risk["after"]["prosecutor"]["at_risk"]] == [0.2, 0.5]
    assert {len(item["columns"]) for item in risk["before"]["subsets"]["subsets"]} == {1}
    shown = sqlanon("risk", spec, "--uniques", "2").out
    assert "rows alone in their class" in shown
    assert "special uniques after" in shown
    assert "highest risk (journalist)" not in shown
    attack = sqlanon("attack", spec, "--excluded", "0,2", "--json").json
    assert [item["attack"] for item in attack["attacks"]].count("background") == 2
    assert "sql" not in str(attack)
    assert "SELECT" in sqlanon("attack", spec, "--statements").out
    assert "SELECT" not in sqlanon("attack", spec).out
    utility = sqlanon("utility", spec, "--predict", "disease", "--json").json
    assert utility["classification"][0]["target"] == "disease"
    assert utility["table"]["rows"] == 10
    assert utility["queries"] == sqlanon("workload", spec, "--count", "200", "--json").json["errors"]
    shown = sqlanon("utility", spec).out
    assert "predicted correctly by" in shown
    assert "average error" in shown
    assert sqlanon("utility", spec, "--no-queries", "--json").json["queries"] is None
    asked = spec.with_name("queries.yaml")
    asked.write_text("[{disease: flu}]", encoding="utf-8")
    assert sqlanon("utility", spec, "--queries", asked, "--json").json["queries"]["all"]["queries"] == 1
    assert sqlanon("utility", spec, "--queries", asked, "--no-queries").code == 2


def test_linking_shows_names_only_when_asked(sqlanon: CommandLine, spec: Path) -> None:
    flags = ("attack", spec, "--external", "patients", "--within", "3")
    plain = sqlanon(*flags).out
    assert "10 of 10" in plain
    assert "re-identified" not in plain
    assert "asthma" in sqlanon(*flags, "--names", "disease").out
    assert set(sqlanon(*flags, "--names", "disease", "--json").json["names"]) == {"flu", "gastritis", "cold", "asthma"}
    sqlanon("run", spec)
    assert "nobody" in sqlanon(*flags, "--names", "disease").out


def test_the_population_is_a_journalists(sqlanon: CommandLine, spec: Path) -> None:
    """The table itself as its own population: the journalist is as sure as the prosecutor."""
    values = yaml.safe_load(spec.read_text(encoding="utf-8"))
    values["privacy"] |= {"population": {"source": "patients"}, "k_map": 1}
    write_spec(spec, values)
    assert sqlanon("run", spec).code == 0
    found = sqlanon("risk", spec, "--json").json
    for side in ("before", "after"):
        assert found[side]["journalist"]["highest"] == found[side]["prosecutor"]["highest"]
    # Rows that were suppressed are in the population, and in no class: the others have as many people as rows.
    assert found["after"]["population"]["people"] == found["after"]["rows"]
    assert "highest risk (journalist)" in sqlanon("risk", spec).out
    assert sqlanon("attack", spec, "--json").json["attacks"][0]["attack"] == "linking"


def test_any_table(sqlanon: CommandLine, spec: Path, duckdb_url: str) -> None:
    found = sqlanon("risk", "patients", "--connection", duckdb_url, "--qi", "race,zip", "--k", "2", "--json").json
    assert (found["before"]["rows"], found["before"]["classes"], found["after"]) == (10, 6, None)
    assert found["before"]["subsets"]["k"] == 2
    assert "patients" in sqlanon("risk", "patients", "--connection", duckdb_url, "--qi", "race").out


REFUSED = (
    (("risk", "patients"), "--qi is missing"),
    (("risk", "spec.yaml", "--k", "3"), "go with TABLE"),
    (("risk", "spec.yaml", "--threshold", "2"), "--threshold"),
    (("risk", "spec.yaml", "--threshold", "x"), "--threshold"),
    (("risk", "patients", "--qi", "race", "--recipient", "press"), "--recipient"),
    (("attack", "spec.yaml", "--map", "zip=zip"), "--external"),
    (("attack", "spec.yaml", "--external", "patients", "--map", "zip"), "COLUMN=NAME"),
    (("attack", "spec.yaml", "--within", "0"), "--within"),
    (("attack", "spec.yaml", "--excluded", "x"), "--excluded"),
    (("attack", "spec.yaml", "--similar", "2"), "--similar"),
    (("attack", "spec.yaml", "--recipient", "press"), "press"),
)


def test_what_is_refused(sqlanon: CommandLine, spec: Path) -> None:
    assert spec.exists()
    for arguments, message in REFUSED:
        outcome = sqlanon(*arguments)
        assert outcome.code == 2
        assert message in outcome.err


def test_notebooks_show_charts(spec: Path, sqlanon: CommandLine) -> None:
    from sqlanon import pipeline

    loaded = load_spec(spec)
    plan = pipeline.plan(loaded)
    assert sum(bucket.rows for bucket in plan.sizes) == plan.rows
    released = pipeline.run(loaded)
    risk = insight.risk(loaded)
    for result in (plan, released, released.audit, risk):
        assert "<svg role='img'" in result._repr_html_()
    assert "loss of zip" in insight.utility(loaded)._repr_html_()
    assert "homogeneity of disease" in insight.attack(loaded)._repr_html_()
    assert "class sizes" in sqlanon("plan", spec, "--dry-run").out
    assert "class sizes" in sqlanon("audit", "--spec", spec).out


def test_charts_of_nothing() -> None:
    assert sparkline([], unicode=True) == ""
    assert bar_chart("a <b>", []).startswith("<svg")
    assert "&lt;b&gt;" in bar_chart("a <b>", [("<i>", 1)])
