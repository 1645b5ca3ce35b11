"""What is kept of a run: all that was promised, on both engines, and never a value of the data."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url
from sqlglot import exp, parse_one

from sqlanon import pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.errors import EngineError, InfeasibleError, SqlanonError, UsageError
from sqlanon.planning import operations
from sqlanon.planning.operations import KeptEvidence
from sqlanon.release.evidence import store as evidence_sql
from sqlanon.release.evidence import store as folder
from sqlanon.release.evidence.store import EvidenceTables
from sqlanon.release.lock import Lock
from sqlanon.source.run import Options
from sqlanon.spec import Spec, load_spec
from sqlanon.sql.relations import Table
from tests.kit.database import Database, Rows

METADATA = Path(__file__).parents[2] / "sql" / "metadata"
TYPES = {"who": "text", "zip": "text", "age": "integer", "disease": "text", "cost": "bigint"}
PLANTED = "Qz7rare"
"""Begins every text of the source; nothing else may."""
NUMBERS = (987654321, 8765432109)
"""Numbers of the source that no count comes near."""
ROWS: list[tuple[Any, ...]] = [
    (f"{PLANTED}who{row}", f"{PLANTED}zip{row % 3}", 30 + row % 2, f"{PLANTED}disease{row % 4}", NUMBERS[row % 2])
    for row in range(48)
] + [(f"{PLANTED}lone", f"{PLANTED}zip9", 77, f"{PLANTED}disease9", NUMBERS[0])]
COLUMNS: dict[str, Any] = {
    "who": {"role": "identifier"},
    "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"steps": [1, 2]}}},
    "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10]}}},
    "disease": {"role": "sensitive"},
    "cost": {"role": "insensitive"},
}
SPEC: dict[str, Any] = {
    "source": "patients",
    "target": "released",
    "columns": COLUMNS,
    "privacy": {
        "k": 3,
        "suppression": {"limit": 3},
        "l_diversity": [{"column": "disease", "l": 2}],
        "alpha": [{"column": "disease", "value": f"{PLANTED}disease1", "alpha": 0.9}],
    },
}


@pytest.fixture
def database(engine_url: str) -> Database:
    found = Database(engine_url)
    found.create("patients", TYPES, ROWS)
    return found


def spec_file(database: Database, place: Path, **changes: Any) -> Path:
    path = place / "spec.yaml"
    values = {**SPEC, "connection": database.url, **changes}
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return path


def spec_on(database: Database, place: Path, **changes: Any) -> Spec:
    return load_spec(spec_file(database, place, **changes))


def documents(place: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((place / "spec.evidence").iterdir())]


def stored(database: Database) -> dict[str, Rows]:
    return {name: database.rows(name) for name in evidence_sql.TABLES}


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_a_run_and_its_numbers(database: Database, tmp_path: Path) -> None:
    result = pipeline.run(spec_on(database, tmp_path))
    [document] = documents(tmp_path)
    assert result.evidence == str(tmp_path / "spec.evidence" / f"{result.run}.json")
    assert (document["run"], document["command"]) == (result.run, "run")
    assert document["spec"] == {"file": "spec.yaml", "hash": spec_on(database, tmp_path).hash()}
    assert (document["source"], document["target"], document["engine"]) == ("patients", "released", result.engine)
    assert document["versions"].keys() == {"sqlanon", "engine", "python"}
    assert all(document["versions"].values())
    assert document["rows"] == {
        "source": 49,
        "suppressed": result.publication.suppressed,
        "blanked": 0,
        "released": len(database.rows("released")),
    }
    assert document["vector"] == list(result.levels.values())
    assert document["requirement"].keys() == {"k", "l_diversity", "alpha"}
    assert document["search"]["checks"] > 0
    assert document["search"]["verdicts"]["acceptable"] > 0
    classes = Counter((row[1], row[2]) for row in ROWS)
    small = [size for size in classes.values() if size < 3]
    assert document["audit"]["before"] == {
        "rows": 49,
        "classes": len(classes),
        "k": 1,
        "required": {"k": 3},
        "classes_at_risk": len(small),
        "rows_at_risk": sum(small),
    }
    assert document["audit"]["after"] == result.audit.to_dict()
    assert datetime.fromisoformat(document["started"]) <= datetime.fromisoformat(document["finished"])


@pytest.mark.one_engine
@pytest.mark.parametrize("privacy", [{"k": 3, "suppression": {"limit": 3}}, SPEC["privacy"]], ids=["k", "models"])
def test_every_statement_is_there_in_its_order(database: Database, tmp_path: Path, privacy: dict[str, Any]) -> None:
    heard: list[tuple[str, bool]] = []
    options = Options(
        hooks=(lambda event: None if event.seconds is None else heard.append((event.step, event.failed)),)
    )
    pipeline.run(spec_on(database, tmp_path, privacy=privacy), options)
    [document] = documents(tmp_path)
    assert [(item["step"], item["failed"]) for item in document["statements"]] == heard
    assert {"scan source", "stage release", "commit", "clean up"} <= {step for step, _ in heard}
    assert all(item["seconds"] >= 0 for item in document["statements"])
    assert any(item["rows"] == len(database.rows("released")) for item in document["statements"])


@pytest.mark.one_engine
def test_apply_leaves_evidence_without_a_search(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path)
    plan = pipeline.plan(spec)
    assert not (tmp_path / "spec.evidence").exists()
    result = pipeline.apply(spec, Lock.of(spec, plan, "spec.yaml"))
    [document] = documents(tmp_path)
    assert (document["command"], document["search"], document["run"]) == ("apply", None, result.run)
    assert document["audit"]["before"]["rows"] == 49
    assert document["audit"]["after"]["satisfied"]


def test_a_failure_leaves_a_file_that_says_so(database: Database, tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError):
        pipeline.run(spec_on(database, tmp_path, privacy={"k": 50}))
    assert not (tmp_path / "spec.evidence").exists(), "first mistakes leave nothing behind"
    (tmp_path / "spec.evidence").mkdir()
    with pytest.raises(InfeasibleError):
        pipeline.run(spec_on(database, tmp_path, privacy={"k": 50}))
    [document] = documents(tmp_path)
    assert (document["outcome"], document["failure"]) == ("failed", {"error": "InfeasibleError", "exit_code": 3})
    assert document["requirement"] == {"k": {"k": 50}}
    assert document["audit"]["before"]["rows"] == 49
    assert (document["audit"]["after"], document["search"], document["vector"], document["rows"]) == (
        None,
        None,
        [],
        {},
    )
    assert "scan source" in {item["step"] for item in document["statements"]}
    assert database.leftovers() == []


def test_a_failure_leaves_rows_in_the_tables_also_when_its_transaction_is_undone(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_on(database, tmp_path, evidence={"tables": True, "files": False})
    published = pipeline.run(spec)
    before = database.counted("released")
    monkeypatch.setattr("sqlanon.release.classes._refuse_uncovered", _never_agrees)
    with pytest.raises(InfeasibleError, match="in the midst of publishing"):
        pipeline.run(spec)
    assert database.counted("released") == before
    columns = list(evidence_sql.TABLES["sqlanon_run"])
    outcomes = {row[0]: dict(zip(columns, row, strict=True)) for row in stored(database)["sqlanon_run"]}
    failed = outcomes.pop(next(run for run in outcomes if run != published.run))
    assert (failed["outcome"], failed["failure"], failed["released_rows"]) == ("failed", "InfeasibleError", None)
    assert outcomes[published.run]["outcome"] == "published"
    steps = [row[2] for row in stored(database)["sqlanon_run_statement"] if row[0] == failed["run"]]
    assert {"scan source", "rollback"} <= set(steps)
    shown = operations.evidence_of(spec, failed["run"])
    assert (shown["outcome"], shown["audit"]["before"]["rows"]) == ("failed", 49)
    assert [item.run for item in operations.evidence(spec)] == [failed["run"], published.run]


def _never_agrees(*given: object) -> None:
    raise InfeasibleError("in the midst of publishing")


@pytest.mark.one_engine
def test_failures_push_out_no_evidence_of_releases(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path)
    published = [pipeline.run(spec).run for _ in range(2)]
    for _ in range(3):
        with pytest.raises(InfeasibleError):
            pipeline.run(spec_on(database, tmp_path, privacy={"k": 50}))
    gone = operations.cleanup(spec, keep=1).evidence
    assert len(gone) == 3
    assert published[0] in gone
    assert published[1] not in gone


@pytest.mark.one_engine
def test_what_never_reached_the_data_leaves_nothing(database: Database, tmp_path: Path) -> None:
    with pytest.raises(SqlanonError):
        pipeline.run(spec_on(database, tmp_path, source="nowhere"))
    pipeline.plan(spec_on(database, tmp_path))
    assert not (tmp_path / "spec.evidence").exists()


@pytest.mark.one_engine
def test_files_are_on_and_tables_are_off_unless_asked(database: Database, tmp_path: Path) -> None:
    pipeline.run(spec_on(database, tmp_path))
    assert len(documents(tmp_path)) == 1
    pipeline.run(spec_on(database, tmp_path, evidence={"files": False}))
    assert len(documents(tmp_path)) == 1
    pipeline.run(spec_on(database, tmp_path, evidence={"folder": "kept/here"}))
    assert len(list((tmp_path / "kept" / "here").iterdir())) == 1
    assert database.leftovers() == []


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_published(
    database: Database, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "else")
    for name in ("taken", "taken/below", "dangling", "new/" + "n" * 300, "/proc/here", "/sys/kernel"):
        with pytest.raises(UsageError, match=r"evidence\.folder: .* cannot be written to"):
            pipeline.run(spec_on(database, tmp_path, evidence={"folder": name}))
    assert database.types("released") == {}
    assert not (tmp_path / "new").exists()
    # What is tried beforehand leaves nothing behind.
    with pytest.raises(SqlanonError):
        pipeline.run(spec_on(database, tmp_path, evidence={"folder": "made/for/it"}, privacy={"k": 100}))
    assert not (tmp_path / "made").exists()


@pytest.mark.one_engine
def test_a_file_that_cannot_be_written_in_the_end_is_told(database: Database, tmp_path: Path) -> None:
    def hook(event: TraceEvent) -> None:
        if event.step == "commit" and event.seconds is not None:
            (tmp_path / "spec.evidence").write_text("in the way", encoding="utf-8")

    with pytest.raises(UsageError, match=r"^the release stands, but its evidence cannot be written to .*File exists$"):
        pipeline.run(spec_on(database, tmp_path), Options(hooks=(hook,)))
    assert database.rows("released")


# -- no values ---------------------------------------------------------------------------------------------------------


@pytest.mark.one_engine
@pytest.mark.parametrize("respondent", [None, "who"])
def test_no_value_of_the_data_is_kept_anywhere(database: Database, tmp_path: Path, respondent: str | None) -> None:
    query = f"SELECT * FROM patients WHERE zip <> '{PLANTED}zip9'"
    changes: dict[str, Any] = {"source": {"query": query}, "evidence": {"tables": True}}
    if respondent:
        changes["respondent"] = respondent
    password = "Pw5planted"
    if not database.is_duckdb:
        url = make_url(database.url).set(password=password)
        changes["connection"] = url.render_as_string(hide_password=False)
    spec = spec_on(database, tmp_path, **changes)
    result = pipeline.run(spec)
    assert result.plan is not None
    pipeline.apply(spec, Lock.of(spec, result.plan, "spec.yaml"))
    assert len(documents(tmp_path)) == 2
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "spec.evidence").iterdir()]
    texts += [repr(rows) for rows in stored(database).values()]
    for text in texts:
        assert text
        for forbidden in (PLANTED, password, *map(str, NUMBERS), "SELECT", "select "):
            assert forbidden not in text
    assert PLANTED in repr(database.rows("released")), "the release itself holds sensitive values"


# -- tables ------------------------------------------------------------------------------------------------------------


def test_tables_say_what_the_file_says(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path, evidence={"tables": True})
    result = pipeline.run(spec)
    [document] = documents(tmp_path)
    tables = stored(database)
    [row] = tables["sqlanon_run"]
    named = dict(zip(evidence_sql.TABLES["sqlanon_run"], row, strict=True))
    assert (named["run"], named["released_rows"], named["smallest_class"]) == (
        result.run,
        result.audit.rows,
        result.audit.k,
    )
    assert named["started_utc"] == datetime.fromisoformat(document["started"]).replace(tzinfo=None)
    assert [row[2:] for row in sorted(tables["sqlanon_run_level"], key=lambda row: row[1])] == [
        (name, found["level"], found["height"]) for name, found in document["levels"].items()
    ]
    checks = sorted(tables["sqlanon_run_check"], key=lambda row: row[1])
    assert [row[2] for row in checks] == [item["model"] for item in document["audit"]["after"]["requirements"]]
    statements = sorted(tables["sqlanon_run_statement"], key=lambda row: row[1])
    known = [(item["step"], item["rows"], item["failed"]) for item in document["statements"]][: len(statements)]
    assert [(row[2], row[4], row[5]) for row in statements] == known

    folder.remove(tmp_path / "spec.evidence", result.run)
    alone = operations.evidence_of(spec, result.run[:4])
    assert {key: value for key, value in alone.items() if key != "statements"} == {
        key: value for key, value in document.items() if key != "statements"
    }
    assert [item["step"] for item in alone["statements"]] == [row[2] for row in statements]
    assert set(database.leftovers()) == set(evidence_sql.TABLES)


def test_tables_need_a_database_that_lasts(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("zip\n1\n1\n", encoding="utf-8")
    columns = {"zip": {"role": "quasi_identifier"}}
    values = {"source": "patients.csv", "target": "out.csv", "columns": columns, "privacy": {"k": 2}}
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump({**values, "evidence": {"tables": True}}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"evidence\.tables: a database in memory ends with the run"):
        pipeline.run(load_spec(path))
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("name", evidence_sql.TABLES)
def test_the_written_ddl_is_what_is_created(name: str) -> None:
    [path] = [path for path in METADATA.glob("*.sql") if path.stem == name]
    written = parse_one(path.read_text(encoding="utf-8"), dialect="postgres")
    made = evidence_sql.create(Table((name,)))
    for tree in (written, made):
        for node in tree.find_all(exp.Identifier):
            node.set("quoted", False)
    assert written.sql("postgres", comments=False) == made.sql("postgres")


def test_tables_that_somebody_made_by_hand_are_used(database: Database, tmp_path: Path) -> None:
    made = [(METADATA / f"{name}.sql").read_text(encoding="utf-8") for name in evidence_sql.TABLES]
    database.run(*made)
    types = {name: database.types(name) for name in evidence_sql.TABLES}
    pipeline.run(spec_on(database, tmp_path, evidence={"tables": True}))
    assert {name: database.types(name) for name in evidence_sql.TABLES} == types
    assert all(stored(database).values())
    assert {path.stem for path in METADATA.glob("*.sql")} == set(evidence_sql.TABLES)


@pytest.mark.one_engine
def test_evidence_that_cannot_be_stored_is_told_and_the_release_stands(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_on(database, tmp_path, evidence={"tables": True})
    pipeline.run(spec)
    database.run("DELETE FROM released")
    monkeypatch.setattr(EvidenceTables, "require", lambda self: None)
    database.run("DROP TABLE sqlanon_run_check")
    with pytest.raises(EngineError, match="the release stands, but its evidence was not stored in tables"):
        pipeline.run(spec)
    assert database.rows("released")
    assert len(database.rows("sqlanon_run")) == 1, "all of a run's evidence or none"
    assert [item["outcome"] for item in documents(tmp_path)] == ["published"] * 2, "the file is written all the same"


def test_tables_of_another_form_are_refused_before_anything_is_published(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path, evidence={"tables": True})
    pipeline.run(spec)
    database.run("ALTER TABLE sqlanon_run DROP COLUMN outcome", "DELETE FROM released")
    with pytest.raises(UsageError, match=r"evidence\.tables: sqlanon_run has no column 'outcome'"):
        pipeline.run(spec)
    assert database.rows("released") == []


# -- finding and cleaning up -------------------------------------------------------------------------------------------


@pytest.mark.one_engine
def test_a_run_is_found_by_the_beginning_of_its_id(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path, evidence={"tables": True})
    first, second = pipeline.run(spec), pipeline.run(spec)
    assert [item.run for item in operations.evidence(spec)] == [second.run, first.run]
    assert operations.evidence_of(spec, first.run)["run"] == first.run
    with pytest.raises(UsageError, match="evidence of 2 runs of a run whose id begins with ''"):
        operations.evidence_of(spec, "")
    with pytest.raises(UsageError, match="there is no evidence of a run"):
        operations.evidence_of(spec, "nothing")


@pytest.mark.one_engine
def test_cleanup_keeps_what_it_is_told_to(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path, evidence={"tables": True})
    runs = [pipeline.run(spec).run for _ in range(3)]
    (tmp_path / "spec.evidence" / "notes.txt").write_text("mine", encoding="utf-8")
    assert operations.cleanup(spec).evidence == ()
    planned = operations.cleanup(spec, keep=1, dry_run=True)
    assert (set(planned.evidence), planned.kept) == (set(runs[:2]), 1)
    assert len(operations.evidence(spec)) == 3
    assert operations.cleanup(spec, keep=1, keep_days=1).evidence == ()
    done = operations.cleanup(spec, keep=1)
    assert done.evidence == planned.evidence
    assert [item.run for item in operations.evidence(spec)] == runs[2:]
    assert {row[0] for rows in stored(database).values() for row in rows} == {runs[2]}
    assert {path.name for path in (tmp_path / "spec.evidence").iterdir()} == {f"{runs[2]}.json", "notes.txt"}
    assert operations.cleanup(spec, keep_days=0).evidence == (runs[2],)
    assert database.rows("released")


@pytest.mark.one_engine
def test_tables_of_several_specs_are_told_apart_by_their_targets(database: Database, tmp_path: Path) -> None:
    """Who cleans up after one spec removes no evidence of another that has the same scratch schema."""
    first = spec_on(database, tmp_path, evidence={"tables": True, "files": False})
    other = spec_on(database, tmp_path, evidence={"tables": True, "files": False}, target="elsewhere")
    runs = [pipeline.run(spec).run for spec in (first, other)]
    assert [[item.run for item in operations.evidence(spec)] for spec in (first, other)] == [[run] for run in runs]
    assert operations.cleanup(first, keep=0).evidence == (runs[0],)
    assert [row[0] for row in stored(database)["sqlanon_run"]] == [runs[1]]


NOW = datetime.now(UTC)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 9)), max_size=12).map(
        lambda found: sorted(found, key=lambda item: item[1])
    ),
    st.none() | st.integers(0, 4),
    st.none() | st.floats(0, 9),
)
def test_evidence_goes_only_where_neither_number_nor_age_keeps_it(
    runs: list[tuple[str, float]], keep: int | None, days: float | None
) -> None:
    kept = [
        KeptEvidence({"run": f"{place:012x}", "target": target, "finished": (NOW - timedelta(days=age)).isoformat()})
        for place, (target, age) in enumerate(runs)
    ]
    gone = {item.run for item in operations._outlived(kept, keep, days)}
    for place, (target, age) in enumerate(runs):
        newer = sum(other == target for other, _ in runs[:place])
        by_number, by_age = keep is not None and newer < keep, days is not None and age < days - 0.01
        assert (f"{place:012x}" in gone) <= (not by_number and not by_age)
        if not by_number and (days is None or age > days):
            assert f"{place:012x}" in gone


def test_what_is_no_evidence_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "spec.evidence"
    assert folder.read(place) == []
    place.mkdir()
    for name, text in {
        "0" * 12: "not json",
        "1" * 12: "[]",
        "2" * 12: '{"version": 1, "run": "else", "finished": ""}',
    }.items():
        (place / f"{name}.json").write_text(text, encoding="utf-8")
    assert folder.read(place) == []
