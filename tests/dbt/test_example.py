"""The example project, really built by dbt: from scratch, and again with data that break its requirement."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from sqlanon.dbt.model_file import END, MARK
from sqlanon.release.evidence.document import is_evidence
from tests.dbt.conftest import Story
from tests.kit.dbt_project import EXAMPLE, FOR_TEAM, LOCK, RELEASE, TEAM, WRITTEN, DuckDB, Project, dbt_command
from tests.kit.servers import common_folder

pytestmark = pytest.mark.dbt

PLAIN = "select * from {{ ref('stg_patients') }}"

REFUSED = {
    "release_below_k": "k = 5: 300 of 300 classes fail, with 300 of 300 rows",
    "release_without_rows": "k = 1: the release has no rows",
    "release_unclassified": "column 'name' has no role",
    "release_without_requirement": "'release_without_requirement' has no requirement",
    "release_beyond_the_package": "this package does not audit 'beta_likeness'",
    "release_leaving_out": "165 of 300 rows of the source are left out, at most 15 may be",
    "release_uncovered": "t_closeness of diagnosis: 6 values are not in the order or not in the source",
    "release_of_one_person": "k = 2: 2 of 2 classes fail, with 300 of 300 rows",
}
"""Releases of the trials that must not be published, and what dbt says of them."""


def said(values: list[str], text: str) -> list[str]:
    """Values that a text says; digits inside a longer number or a hash say nothing."""
    return [value for value in values if re.search(rf"(?<![\w.]){re.escape(value)}(?!\w)", text)]


def test_the_example_builds_from_scratch(story: Story) -> None:
    assert story.first.code == 0, story.first.output
    assert not story.first.failed
    assert story.first.nodes[RELEASE][0] == "success"
    assert sum(status == "pass" for status, _, _ in story.first.nodes.values()) == 3


def test_the_first_release_is_what_it_promises(story: Story) -> None:
    classes = Counter(tuple(row[:4]) for row in story.released)
    assert min(classes.values()) >= 5
    assert 300 * 0.95 <= len(story.released) <= 300


@pytest.mark.parametrize("adapter", ["duckdb"], indirect=True)
def test_the_example_is_what_the_command_writes(story: Story) -> None:
    for name in WRITTEN:
        kept = (EXAMPLE / name).read_text(encoding="utf-8")
        assert story.written[name] == kept, f"run sqlanon dbt on the example: {name} is stale"
    kept, written = json.loads((EXAMPLE / LOCK).read_text(encoding="utf-8")), json.loads(story.written[LOCK])
    # Which nodes a search asks about may change from version to version; what it decided is for review.
    assert {**kept, "frequency_set": None} == {**written, "frequency_set": None}, "run sqlanon dbt on the example"


def test_both_engines_choose_the_same_generalization(story: Story) -> None:
    [model] = story.planned["models"]
    assert model["model"] == RELEASE
    assert model["levels"] == {"zip": 3, "birth_date": 3, "sex": 0, "marital": 1}


def test_the_plan_and_the_build_suppress_the_same_rows(story: Story) -> None:
    [model] = story.planned["models"]
    assert len(story.released) == model["rows"] - model["suppressed"]
    assert len(Counter(tuple(row[:4]) for row in story.released)) == model["classes"]


def test_new_data_that_break_the_requirement_fail_the_build(story: Story) -> None:
    assert story.second.code == 1
    status, message, _ = story.second.nodes[RELEASE]
    assert status == "error"
    assert "the release was not published" in message
    assert "of 340 rows of the source are left out, at most 17 may be" in message


def test_the_old_release_still_stands(story: Story) -> None:
    assert story.released_later == story.released


def test_mended_data_are_published_again(story: Story) -> None:
    assert story.third.code == 0, story.third.output
    assert story.released_at_last == story.released


def test_tests_of_a_release_that_was_not_built_are_skipped(story: Story) -> None:
    skipped = {name for name, (status, _, _) in story.second.nodes.items() if status == "skipped"}
    assert len(skipped) == 3
    assert all(RELEASE in name for name in skipped)


def test_nothing_of_a_failing_release_is_left(story: Story) -> None:
    assert not set(story.tables) & set(REFUSED)
    assert not [name for name in story.tables if "__dbt" in name or "__sqlanon" in name]


@pytest.mark.parametrize("name", REFUSED)
def test_releases_that_fail_are_refused_with_counts(story: Story, name: str) -> None:
    status, message, _ = story.second.nodes[name]
    assert status == "error"
    assert REFUSED[name] in message


def test_no_other_release_is_refused(story: Story) -> None:
    errors = {name for name, (status, _, _) in story.second.nodes.items() if status == "error"}
    assert errors == {RELEASE, FOR_TEAM, *REFUSED}


def test_an_identifier_serves_the_audit_and_is_not_released(story: Story) -> None:
    assert story.second.nodes["release_of_visits"][0] == "success"
    assert story.columns_of_visits == ["sex", "diagnosis"]


def test_dbt_says_what_was_released(story: Story) -> None:
    [model] = story.planned["models"]
    rows = model["rows"] - model["suppressed"]
    _, message, _ = story.first.nodes[RELEASE]
    smallest = min(Counter(tuple(row[:4]) for row in story.released).values())
    told = f"{rows} of {model['rows']} rows in {model['classes']} classes, the smallest of {smallest} rows"
    assert message == told
    assert story.first.responses[RELEASE] == {"_message": told, "code": "sqlanon_release", "rows_affected": rows}
    assert story.comment.endswith(f"Released by sqlanon: {told.partition(' of ')[0]} rows{told.partition(' rows')[2]}.")
    assert "respondents" in story.second.nodes["release_of_visits"][1]


def test_a_build_leaves_the_evidence_of_a_run(story: Story) -> None:
    [model] = story.planned["models"]
    runs = [run for run in story.evidence["sqlanon_run"] if run["target"].endswith(f".{RELEASE}")]
    # The first build and the third published; what failed was rolled back with its evidence.
    assert len(runs) == 2
    smallest = min(Counter(tuple(row[:4]) for row in story.released).values())
    for run in runs:
        assert {key: run[key] for key in ("command", "outcome", "source_rows", "released_rows", "satisfied")} == {
            "command": "dbt build", "outcome": "published", "source_rows": model["rows"],
            "released_rows": model["rows"] - model["suppressed"], "satisfied": True,
        }  # fmt: skip
        assert (run["suppressed_rows"], run["classes"], run["smallest_class"]) == (
            model["suppressed"],
            model["classes"],
            smallest,
        )
        assert str(run["started_utc"]) < str(run["finished_utc"])
        kept = json.loads(run["evidence"])
        assert is_evidence(kept)
        assert kept["levels"] == model["levels"]
        levels = [row for row in story.evidence["sqlanon_run_level"] if row["run"] == run["run"]]
        assert {row["column_name"]: row["level"] for row in levels} == model["levels"]
        checks = [row for row in story.evidence["sqlanon_run_check"] if row["run"] == run["run"]]
        assert [row["model"] for row in checks] == ["k", "l_diversity", "t_closeness"]
        assert {(row["classes_at_risk"], row["rows_at_risk"], row["satisfied"]) for row in checks} == {(0, 0, True)}
        steps = [row["step"] for row in story.evidence["sqlanon_run_statement"] if row["run"] == run["run"]]
        assert steps[0] == "build"
        assert len(steps) == 4
    assert json.loads(story.written[LOCK])["spec_hash"] == runs[-1]["spec_hash"]
    assert said(story.planted, str(story.evidence)) == []


def test_only_the_owner_reads_the_evidence(story: Story) -> None:
    assert story.readers == []


@pytest.mark.parametrize(("test", "failures"), [("bad_k", 300), ("bad_l", 30), ("bad_t", 293)])
def test_generic_tests_fail_on_a_bad_table(story: Story, test: str, failures: int) -> None:
    status, message, found = story.second.nodes[test]
    assert (status, found) == ("fail", failures)
    assert message == f"Got {failures} results, configured to fail if != 0"


def test_what_dbt_stores_of_a_failure_are_counts(story: Story) -> None:
    for name, row in story.stored.items():
        assert set(row) == {
            "released_rows", "classes", "failing_classes", "rows_at_risk", "uncovered_values", "violations",
        }, name  # fmt: skip
        assert row["failing_classes"] == row["violations"] == story.second.nodes[name][2]
        assert row["released_rows"] == 300


def test_every_test_fails_on_a_table_without_rows(story: Story) -> None:
    found = {name: outcome for name, outcome in story.second.nodes.items() if name.startswith("case_")}
    assert len(found) == len(story.queries) == 10
    assert {(status, failures) for status, _, failures in found.values()} == {("fail", 1)}


def test_dbt_prints_no_value_of_the_source(story: Story) -> None:
    assert {"Zebulon Planted", "10001", "1981-04-05", "kuru"} <= set(story.planted)
    messages = " ".join(message for _, message, _ in story.second.nodes.values() if message)
    for text in (story.first.output, story.second.output, story.third.output, messages):
        assert said(story.planted, text) == []


@pytest.mark.postgres
@pytest.mark.parametrize("adapter", ["postgres"], indirect=True)
def test_other_sessions_see_the_old_release_all_the_time(story: Story) -> None:
    assert story.seen == [[[RELEASE], [[len(story.released)]]]]


# -- a release as a team has it ----------------------------------------------------------------------------------------


def test_nothing_of_the_team_is_lost(story: Story) -> None:
    """Around the marks its file is the same to the byte: alias, schema, tags, hooks, contract and comments."""
    before, _, after = (TEAM / f"{FOR_TEAM}.sql").read_text(encoding="utf-8").partition(PLAIN)
    assert story.file_of_team.startswith(f"{before}{MARK}")
    assert story.file_of_team.endswith(f"{END}{after}")
    assert PLAIN not in story.file_of_team


def test_the_team_plans_builds_breaks_and_builds_again(story: Story) -> None:
    status, message, _ = story.second.nodes[FOR_TEAM]
    assert status == "error"
    assert "the release was not published" in message
    assert story.third.nodes[FOR_TEAM][0] == "success"
    rows = story.team["rows"] - story.team["suppressed"]
    assert story.third.responses[FOR_TEAM]["rows_affected"] == rows == len(story.team_released)
    classes = Counter(tuple(row[:2]) for row in story.team_released)
    assert min(classes.values()) >= 5
    assert {marital for _, marital in classes} == {"been_married", "never_married"}
    # The hook of a build that failed has said nothing.
    assert story.hooks_of_team == 1


def test_rules_of_columns_hold_in_what_dbt_built(story: Story) -> None:
    costs = [Decimal(row[3]) for row in story.team_released]
    assert len(set(costs)) > 5
    assert {cost % 100 for cost in costs} == {0}


@pytest.mark.soak
@pytest.mark.parametrize("adapter", ["duckdb"], indirect=True)
def test_another_target_changes_no_file_and_another_variable_does(
    story: Story, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In the project of the story, as it stands after the third build."""
    place = common_folder(request.config, tmp_path_factory) / "dbt-duckdb"
    project = Project(place / "examples" / "dbt", DuckDB(place / "clinic.duckdb").environment())
    profiles = yaml.safe_load((project.directory / "profiles.yml").read_text(encoding="utf-8"))
    outputs = profiles["clinic"]["outputs"]
    outputs["nightly"] = {**outputs["duckdb"], "schema": "nightly"}
    (project.directory / "profiles.yml").write_text(yaml.safe_dump(profiles), encoding="utf-8")
    with project.started():
        chosen = ("--select", f"+{FOR_TEAM}", "--exclude-resource-type", "test")
        built = project.dbt("build", "--target", "nightly", *chosen)
    assert built.code == 0, built.output
    assert built.responses[FOR_TEAM] == story.third.responses[FOR_TEAM]
    asked = ("--select", FOR_TEAM, "--target", "nightly", "--check")
    assert project.sqlanon(*asked).returncode == 0
    changed = project.sqlanon(*asked, "--vars", "{team_limit: 40%}", "--json")
    assert changed.returncode == 1, changed.stderr
    [model] = json.loads(changed.stdout)["models"]
    assert f"{FOR_TEAM}.lock.json" in " ".join(model["changed"])


def test_a_missing_dbt_fails_in_continuous_integration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLANON_TEST_DBT", str(tmp_path / "dbt"))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="dbt is missing"):
        dbt_command()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="dbt is missing"):
        dbt_command()
