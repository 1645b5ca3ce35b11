"""`audit --spec` asks for what `privacy.adversary` asks: slack, suppressed crowds; and names what no table shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import duckdb
import psycopg
import pytest

from sqlanon import pipeline
from sqlanon.auditor import AuditResult
from sqlanon.release.lock import Lock
from sqlanon.spec import Spec
from tests.insight.test_downcoding import V1
from tests.insight.test_downcoding import spec_of as rounds_of
from tests.kit.database import Database
from tests.kit.scripts import run_script
from tests.pipeline.test_adversary import (
    AGE,
    NODES,
    PEOPLE,
    SECRET,
    Node,
    at,
    crowd,
    crowds,
    fixed,
    margin,
    spec_of,
    suppressed,
)

HOSTILE = {'the ""town""': "text", AGE: "text"}


@pytest.fixture
def people(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setenv("SQLANON_TEST_SECRET", SECRET)
    database = Database(engine_url)
    database.create("people", HOSTILE, PEOPLE)
    return database


def check(found: AuditResult, name: str) -> str | None:
    """The complaint of a check; None where it was not asked."""
    return next((item.complaint for item in found.policy if item.name == name), None)


def release(database: Database, node: Node, *, blank: bool = False) -> None:
    """What k alone publishes at a vector: nobody asks for crowds."""
    gone = suppressed(node, 3)
    rows: list[tuple[str | None, ...]] = [at(row, node) for row in PEOPLE if row not in gone]
    rows += [("*", "*")] * len(gone) if blank else []
    database.run("DROP TABLE IF EXISTS released")
    database.create("released", HOSTILE, rows)


# -- suppressed crowds -------------------------------------------------------------------------------------------------


@pytest.mark.representative(3, postgres=1)
@pytest.mark.parametrize("mode", ["drop", "blank"])
def test_suppressed_crowds_of_every_vector(people: Database, mode: str) -> None:
    """Every vector with its suppressed rows, against brute force, with rows left out and blanked."""
    seen = set()
    for node in NODES:
        number, fewest = crowd(node, 3)
        # A blanked row of a table at the top of every column looks like all others.
        if number > 12 or (mode == "blank" and node == (3, 2)):
            continue
        release(people, node, blank=mode == "blank")
        for least in (2, 4):
            privacy = {"suppression": {"limit": 12, "mode": mode}, **crowds(least)}
            spec = spec_of(people.url, privacy, columns=fixed(node))
            complaint = check(pipeline.audit_spec(spec), "suppressed crowds")
            assert complaint is not None
            good = not number or (number >= least and fewest >= least)
            assert (complaint == "") == good, (node, least, complaint)
            if not good:
                assert complaint.startswith("privacy.adversary.suppression: ")
            seen.add((good, bool(number), number < least))
    assert len(seen) >= 3


def test_a_class_that_was_moved_to_another_is_missed(people: Database) -> None:
    """The table has as many rows as its source, and lacks a class of it all the same."""
    node = (2, 2)
    assert not suppressed(node, 3)
    release(people, node)
    spec = spec_of(people.url, {"suppression": {"limit": 12}, **crowds(2)}, columns=fixed(node))
    assert check(pipeline.audit_spec(spec), "suppressed crowds") == ""
    people.run('UPDATE released SET "the ""town""" = \'south\' WHERE "the ""town""" = \'north\'')
    complaint = check(pipeline.audit_spec(spec), "suppressed crowds")
    assert complaint is not None
    assert "0 rows are suppressed, but cells of" in complaint


def test_labels_of_two_levels_are_told_apart_by_the_lock_file(duckdb_url: str) -> None:
    """`m` and `""` are the same class at two levels, which have other classes one level further."""
    database = Database(duckdb_url)
    rows = [("c1",)] * 3 + [("d1",)] * 3 + [("e1",), ("e2",)]
    database.create("people", {"x": "text"}, rows)
    paths = [("c1", "c1", "s"), ("d1", "d1", "s"), ("e1", "e1", "s"), ("e2", "e2", "s")]
    database.create("levels", {"v": "text", "same": "text", "further": "text"}, paths)
    column = {
        "role": "quasi_identifier",
        "hierarchy": {"table": {"name": "levels", "levels": ["v", "same", "further"]}},
    }
    values: dict[str, Any] = {"columns": {"x": column}, "target": "released"}
    spec = spec_of(duckdb_url, {"k": 2, "suppression": {"limit": 2}, **crowds(2)}, **values)
    result = pipeline.run(spec)
    assert result.levels == {"x": 1}
    unsure = check(pipeline.audit_spec(spec), "suppressed crowds")
    assert unsure is not None
    assert "a lock file beside the spec tells them" in unsure
    lock = Lock.of(spec, pipeline.plan(spec), "spec.yaml")
    assert check(pipeline.audit_spec(spec, lock=lock), "suppressed crowds") == ""


def test_a_changed_source_is_not_measured(people: Database) -> None:
    node = next(node for node in NODES if min(crowd(node, 3)) >= 2 and crowd(node, 3)[0] <= 10)
    spec = spec_of(people.url, crowds(2), columns=fixed(node))
    pipeline.run(spec)
    assert check(pipeline.audit_spec(spec), "suppressed crowds") == ""
    kept = next(row for row in PEOPLE if row not in suppressed(node, 3))
    literal = "NULL" if kept[0] is None else "'" + str(kept[0]).replace("'", "''") + "'"
    people.run(f"INSERT INTO people VALUES ({literal}, '{kept[1]}')")
    complaint = check(pipeline.audit_spec(spec), "suppressed crowds")
    assert complaint is not None
    assert "not measured" in complaint


# -- slack -------------------------------------------------------------------------------------------------------------

TREES: dict[str, Any] = {"x": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"]}}


def slack_of(url: str, rows: Sequence[str], least: int | None, **changes: Any) -> Spec:
    Database(url).run("DROP TABLE IF EXISTS people")
    Database(url).create("people", {"x": "text"}, [(value,) for value in rows])
    asked = {} if least is None else {"slack": least}
    return rounds_of(url, TREES, 2, **{"privacy": {"k": 2, "adversary": asked}, **changes})


def test_slack_of_local(engine_url: str) -> None:
    """V1: what is published without slack fails the audit of a spec that asks for it, by default too; what is published
    with it passes."""
    plain = rounds_of(engine_url, TREES, 2)
    for least in (None, 1):
        spec = slack_of(engine_url, V1, least)
        pipeline.run(plain)
        found = pipeline.audit_spec(spec)
        complaint = check(found, "slack")
        assert complaint == "privacy.adversary.slack: whoever knows the algorithm can tell the finer cells of 2 rows"
        assert complaint in found.violations
        pipeline.run(spec)
        assert check(pipeline.audit_spec(spec), "slack") == ""
        assert pipeline.audit_spec(spec).satisfied
    accepted = slack_of(engine_url, V1, 0)
    pipeline.run(accepted)
    assert check(pipeline.audit_spec(accepted), "slack") is None
    assert pipeline.audit_spec(plain).satisfied


@pytest.mark.parametrize("rows", [*product(("a1", "a2", "b1"), repeat=5)][::40])
def test_what_local_publishes_with_slack_passes(duckdb_url: str, rows: tuple[str, ...]) -> None:
    for least in (1, 2):
        spec = slack_of(duckdb_url, ["a1", "a2", "a3", "a3", *rows], least)
        pipeline.run(spec)
        found = pipeline.audit_spec(spec)
        assert found.satisfied, (least, found.violations)


@pytest.mark.parametrize("algorithm", ["forest", "mondrian"])
def test_slack_of_groups(engine_url: str, algorithm: str) -> None:
    rows = ["a1", "a2", "b1", "b2", "a1", "a2"]
    search: dict[str, Any] = {
        "algorithm": algorithm,
        **({"mondrian": {"bounds": "values"}} if algorithm == "mondrian" else {"model": "CG_"}),
    }
    spec = slack_of(engine_url, rows, 1, search=search)
    pipeline.run(spec)
    assert check(pipeline.audit_spec(spec), "slack") == ""
    database = Database(engine_url)
    database.run("DROP TABLE released")
    label = "b" if algorithm == "forest" else "{a1, a2}"
    database.create("released", {"x": "text"}, [(label,)] * 2 + [("*",)] * 4)
    complaint = check(pipeline.audit_spec(spec), "slack")
    assert complaint is not None
    assert complaint.endswith("can tell the finer cells of 2 rows")


def test_mondrian_by_space_is_not_asked_and_says_so(duckdb_url: str) -> None:
    spec = slack_of(duckdb_url, ["a1", "a2", "b1", "b2"], 1, search={"algorithm": "mondrian"})
    pipeline.run(spec)
    found = pipeline.audit_spec(spec)
    assert check(found, "slack") is None
    assert any(note.startswith("privacy.adversary.slack was not asked of the table: ") for note in found.notes)


def test_a_table_that_local_cannot_have_made(duckdb_url: str) -> None:
    """Three rows of a class in which at most two could lie."""
    spec = slack_of(duckdb_url, V1, 1)
    database = Database(duckdb_url)
    database.create("released", {"x": "text"}, [("a3",)] * 2 + [("b1",)] * 2 + [("a",)] * 3)
    complaint = check(pipeline.audit_spec(spec), "slack")
    assert complaint is not None
    assert "cannot have been made by local" in complaint


# -- margin and choice -------------------------------------------------------------------------------------------------


def test_a_margin_is_in_k_and_a_choice_is_not_seen(people: Database) -> None:
    spec = spec_of(people.url, margin())
    pipeline.run(spec)
    found = pipeline.audit_spec(spec)
    assert found.satisfied
    assert found.to_dict()["required"]["k"] >= 3
    choice = {"adversary": {"choice": {"within": "100%", "secret": "${SQLANON_TEST_SECRET}"}}}
    spec = spec_of(people.url, choice)
    pipeline.run(spec)
    found = pipeline.audit_spec(spec)
    assert found.satisfied
    [note] = [note for note in found.notes if note.startswith("privacy.adversary.choice: ")]
    assert note.endswith("the plan says it")


# -- what a script publishes -------------------------------------------------------------------------------------------


def test_a_script_of_regions_stops_where_the_slack_is_gone(engine_url: str) -> None:
    """A region that has lost a row since the search is a pair; k alone would let it pass."""
    rows = ["a1", "a2", "a2", "b1", "b2", "b2"]
    search = {"algorithm": "mondrian", "mondrian": {"bounds": "values"}}
    for least, stops in ((1, True), (0, False)):
        spec = slack_of(engine_url, rows, least, search=search)
        text = pipeline.script(spec, None)
        database = Database(engine_url)
        run_script(database, text)
        assert check(pipeline.audit_spec(spec), "slack") == ("" if least else None)
        published = database.counted("released")
        database.run("DROP TABLE people")
        database.create("people", {"x": "text"}, [(value,) for value in rows if value != "b2"] + [("b2",)])
        if stops:
            with pytest.raises((duckdb.Error, psycopg.Error), match="sqlanon: more rows than allowed"):
                run_script(database, text)
            assert database.counted("released") == published
        else:
            run_script(database, text)
            assert min(database.counted("released").values()) == 2
