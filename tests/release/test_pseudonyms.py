"""Pseudonyms: Python's HMAC on every engine, a linking key to search and audit, and a secret that nothing shows."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlanon import pipeline
from sqlanon.api import recipients
from sqlanon.auditor.rules import Ruled
from sqlanon.engines.base import Statement
from sqlanon.errors import RequirementError, SpecError, UsageError
from sqlanon.insight.exposure import risk
from sqlanon.release.lock import Lock
from sqlanon.reports.offline import released_grid
from sqlanon.source.binding import bind
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database
from tests.kit.engine import execute, open_at, query

SECRET = "a secret of the tests ' ; -- and long"
VARIABLE = "SQLANON_TEST_PSEUDONYM_KEY"
NAMED = "${" + VARIABLE + "}"
PERSONS = ["p1", "größe 数据", "it's", "", "p1 ", "-7", "\\x", "p8"]


@pytest.fixture
def database(engine_url: str) -> Database:
    return Database(engine_url)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(VARIABLE, SECRET)
    return SECRET


def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases draw their own keys; here they all draw the same."""
    monkeypatch.setattr("sqlanon.source.governed.token_hex", lambda size: "00" * size)


RELEASED = "pseudonym of release " + "00" * 16


def of_python(person: str, form: str = "hex", purpose: str = RELEASED) -> str:
    """The pseudonym by Python's own hmac, base64 and string formatting."""
    derived = hmac.new(SECRET.encode(), f"sqlanon {purpose}".encode(), hashlib.sha256).hexdigest()
    digest = hmac.new(derived.encode(), person.encode(), hashlib.sha256)
    found = digest.hexdigest()
    if form == "base32":
        return base64.b32encode(digest.digest()[:20]).decode().lower()
    if form == "uuid":
        return f"{found[:8]}-{found[8:12]}-8{found[13:16]}-8{found[17:20]}-{found[20:32]}"
    return found


def people(database: Database, rows: list[tuple[Any, ...]] | None = None) -> list[tuple[Any, ...]]:
    """Two rows of each person, who are two to a class; and a row of nobody."""
    made = [(person, "ab"[n // 4], f"s{n % 2}", n) for n, person in enumerate(PERSONS)] * 2
    rows = [*made, (None, "a", "s0", 99)] if rows is None else rows
    database.create("people", {"person": "text", "a": "text", "s": "text", "n": "integer"}, rows)
    return rows


def spec_of(database: Database, pseudonym: dict[str, Any] | None = None, **more: Any) -> Spec:
    columns = {
        "person": {"role": "identifier", "pseudonym": {"secret": NAMED, **(pseudonym or {})}},
        "a": {"role": "quasi_identifier"},
        "s": {"role": "sensitive"},
        "n": {"role": "insensitive", "accept": "a test"},
    }
    return spec_from_dict(
        {
            "connection": database.url,
            "source": "people",
            "target": "released",
            "respondent": "person",
            "columns": columns,
            "privacy": {"k": 2},
            **more,
        }
    )


@pytest.mark.parametrize("form", ["hex", "base32", "uuid"])
def test_pseudonyms_are_those_of_python(database: Database, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed(monkeypatch)
    rows = people(database)
    spec = spec_of(database, {"format": form})
    result = pipeline.run(spec)
    assert result.publication.audit.satisfied
    found = Counter(database.rows("released", "person, n"))
    assert found == Counter((None if who is None else of_python(who, form), n) for who, _, _, n in rows)
    assert list(database.types("released")) == ["person", "a", "s", "n"]
    audited = pipeline.audit_spec(spec)
    # Persons are counted: the table holds a key of them. Nobody counts as one.
    assert audited.satisfied
    assert audited.to_dict()["k"] == 4
    assert not database.leftovers()


def test_numbers_tell_people_apart_and_nothing_else(database: Database) -> None:
    rows = people(database)
    pipeline.run(spec_of(database, {"format": "integer"}))
    numbers: dict[int, set[Any]] = defaultdict(set)
    for number, n in database.rows("released", "person, n"):
        numbers[n].add(number)
    assert sorted(number for found in numbers.values() for number in found if number is not None) == list(range(1, 9))
    assert all(len(found) == 1 for found in numbers.values())
    assert len(rows) == len(database.rows("released"))


def test_each_release_has_its_own(database: Database) -> None:
    people(database)
    seen = []
    for _ in range(2):
        pipeline.run(spec_of(database))
        seen.append({person for (person,) in database.rows("released", "person") if person is not None})
    assert len(seen[0]) == len(seen[1]) == 8
    assert not seen[0] & seen[1]


def test_people_are_counted_not_rows(database: Database) -> None:
    """Ten rows of one person are one person: classes of two persons, whatever their rows."""
    rows = [("p1", "a", "s0", n) for n in range(10)] + [(f"q{n}", "b", "s1", n) for n in range(3)]
    people(database, rows)
    plan = pipeline.plan(spec_of(database))
    assert plan.levels == {"a": 1}


def test_the_same_source_has_the_same_fingerprint(duckdb_url: str) -> None:
    """Pseudonyms differ from run to run; people are counted by their own key, so that nothing seems to have changed."""
    database = Database(duckdb_url)
    people(database)
    first, second = (pipeline.plan(spec_of(database)) for _ in range(2))
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize("models", [False, True])
def test_rows_that_join_to_a_set_of_classes_of_few_are_not_published(database: Database, models: bool) -> None:
    """Each class has three persons; of those who are in both, there is one. Or two, who share one sensitive value."""
    both = ["x", "y"] if models else ["x"]
    rows = [(who, label, f"s{n % 3}", n) for label in "ab" for n, who in enumerate([*both, f"{label}1", f"{label}2"])]
    people(database, rows)
    more: dict[str, Any] = {"privacy": {"k": 2, "l_diversity": [{"column": "s", "l": 2}]}} if models else {}
    with pytest.raises(
        RequirementError, match="column 'person' does not show what its rule says: all rows of a person"
    ):
        pipeline.run(spec_of(database, **more))
    assert "released" not in {name for (name,) in database.run("SELECT table_name FROM information_schema.tables")}


def test_sets_of_classes_that_enough_people_share_are_published(database: Database) -> None:
    rows = [(who, label, "s", 1) for label in "ab" for who in ("x", "y", f"{label}1", f"{label}2")]
    people(database, rows)
    pipeline.run(spec_of(database, search={"algorithm": "optimal"}))
    classes: dict[str, set[str]] = defaultdict(set)
    for person, label in database.rows("released", "person, a"):
        classes[person].add(label)
    sizes = Counter(frozenset(found) for found in classes.values())
    assert sizes == {frozenset("ab"): 2, frozenset("a"): 2, frozenset("b"): 2}


@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.sampled_from("xy")), min_size=4, max_size=30))
def test_people_whom_few_share_their_classes_with_equal_brute_force(rows: list[tuple[int, str, str]]) -> None:
    """The number of people in sets of classes that fewer than k people show, or who show several."""
    with TemporaryDirectory() as folder:
        database = Database(f"duckdb:///{folder}/d.duckdb")
        people(database, [(str(who), label, other, 1) for who, label, other in rows])
        for models in (False, True):
            privacy = {"k": 2, **({"l_diversity": [{"column": "s", "l": 1}]} if models else {})}
            spec = spec_of(database, privacy=privacy)
            engine = open_at(database.url)
            binding = bind(spec, engine)
            columns = {info.name: info for info in engine.columns(binding.origin)}
            ruled = Ruled(binding, binding.origin, columns, engine.traits)
            *_, question = ruled.questions()
            [(wrong,)] = engine.query(Statement("test", question.wrong))
            engine.close()
            sets: dict[int, frozenset[str]] = {who: frozenset(b for a, b, _ in rows if a == who) for who, _, _ in rows}
            sizes = Counter(sets.values())
            alone = [who for who, found in sets.items() if sizes[found] < 2 or (models and len(found) > 1)]
            assert wrong == len(alone)


def test_the_audit_sees_who_is_alone_and_who_stands_under_his_own_key(database: Database) -> None:
    people(database)
    spec = spec_of(database)
    pipeline.run(spec)
    assert pipeline.audit_spec(spec).satisfied
    someone = database.run("SELECT min(person) FROM released WHERE a = 'a'")[0][0]
    database.run(f"UPDATE released SET a = 'b' WHERE person = '{someone}' AND s IN (SELECT min(s) FROM released)")
    database.run(f"INSERT INTO released SELECT person, 'b', s, n FROM released WHERE person = '{someone}' AND a = 'a'")
    database.run(f"INSERT INTO released SELECT '{someone}', 'a', 's0', 1")
    assert not pipeline.audit_spec(spec).satisfied
    pipeline.run(spec)
    longest = "x" * 64
    database.run(f"UPDATE people SET person = '{longest}' WHERE person = 'p8'")
    database.run(f"UPDATE released SET person = '{longest}' WHERE n = 7")
    audited = pipeline.audit_spec(spec)
    assert [check.name for check in audited.policy if not check.satisfied] == ["rule of person"]


def test_the_secret_is_in_no_artifact(database: Database, secret: str, tmp_path: Path) -> None:
    people(database)
    path = tmp_path / "spec.yaml"
    path.write_text("", encoding="utf-8")
    seen: list[str] = []
    spec = spec_of(database)
    spec._file = path
    options = Options(hooks=(lambda event: seen.append(event.sql),))
    plan = pipeline.plan(spec, options)
    lock = Lock.of(spec, plan, "spec.yaml")
    result = pipeline.apply(spec, lock, options)
    texts = [*seen, lock.to_json(), json.dumps(result.to_dict(), default=str), repr(spec), repr(result)]
    texts += [file.read_bytes().decode("latin-1") for file in tmp_path.rglob("*") if file.is_file()]
    keys = [secret, secret.encode().hex()]
    for mark in (0x36, 0x5C):
        keys.append(bytes(byte ^ mark for byte in secret.encode().ljust(64, b"\0")).hex())
    assert not [key for key in keys for text in texts if key in text]
    assert "a pseudonym, 64 hexadecimal digits" in lock.to_json()
    for command in (lambda: pipeline.script(spec, None), lambda: pipeline.scripted(spec, plan.recoding)):
        with pytest.raises(UsageError, match=r"^columns\.person\.pseudonym: it is made with a secret, and a script"):
            command()


def test_a_secret_that_is_missing_or_short(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    people(database)
    for value, problem in (("", "is not set"), ("short", "shorter than 16 bytes")):
        monkeypatch.setenv(VARIABLE, value)
        with pytest.raises(UsageError, match=problem) as refusal:
            pipeline.run(spec_of(database))
        assert not value or value not in str(refusal.value).replace("shorter", "")


LEDGER = {"key": "person", "ledger": "kept", "secret": NAMED}


@pytest.mark.representative(9, postgres=1)
@pytest.mark.parametrize("scope", ["recipient", "project"])
def test_releases_of_one_ledger_join(database: Database, scope: str) -> None:
    """And the people of every set of classes, over all releases that join, are k or more."""
    first = [(f"p{n}", "ab"[n % 2], "s", n) for n in range(12)]
    spec = spec_of(database, {"scope": scope}, history=LEDGER)
    tracks: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for night in range(3):
        database.run("DROP TABLE IF EXISTS people")
        people(database, [row for row in first if row[3] >= night] + [(f"new{night}", "a", "s", 50)])
        pipeline.run(spec)
        for person, label in database.rows("released", "person, a"):
            tracks[person].append((night, label))
    everybody = [*(f"p{n}" for n in range(12)), "new0", "new1", "new2"]
    assert set(tracks) <= {of_python(who, purpose=purpose_of(scope)) for who in everybody}
    assert max(map(len, tracks.values())) == 3
    assert min(Counter(map(tuple, tracks.values())).values()) >= 2


def purpose_of(scope: str) -> str:
    of = json.dumps([["kept"], {"source": {"table": "people"}}])
    return f"pseudonym of ledger {of}" + (" for released" if scope == "recipient" else "")


@pytest.mark.parametrize(
    ("pseudonym", "more", "problem"),
    [
        ({"scope": "project"}, {}, "columns.person.pseudonym.scope: releases would join by it, and nobody sees to it"),
        ({"scope": "recipient"}, {}, "columns.person.pseudonym.scope: releases would join by it"),
        ({"secret": "abc"}, {}, "columns.person.pseudonym.secret: a secret never stands in a spec"),
        ({}, {"respondent": None}, "columns.person.pseudonym: all rows of one pseudonym are one person"),
        ({}, {"target": {"view": "v"}}, "columns.person.pseudonym: a view cannot hold a secret"),
        (
            {"scope": "project", "format": "integer"}, {"history": LEDGER},
            "columns.person.pseudonym.format: numbers are drawn anew",
        ),
        (
            {}, {"privacy": {"l_diversity": [{"column": "s", "l": 2}]}},
            "columns.person.pseudonym: it needs privacy.k",
        ),
        ({}, {"search": {"algorithm": "forest", "model": "CG_"}}, "respondent: forest does not honour it"),
        (
            {"scope": "project"},
            {"history": LEDGER, "target": None, "recipients": {name: {"target": name} for name in "vw"}},
            "columns.person.pseudonym.scope: the releases of all recipients would join by it",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(pseudonym: dict[str, Any], more: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError) as refusal:
        spec_of(Database("duckdb:///x"), pseudonym, **more)
    assert [line for line in refusal.value.problems if line.startswith(problem)], refusal.value.problems


def test_a_hash_made_by_hand_is_doubted(database: Database) -> None:
    """md5 of a salt and the key, as an insensitive column of a source query: nobody looks at what it joins."""
    rows = [(f"p{n // 3}", "a", "s0", n) for n in range(600)]
    people(database, rows)
    made = {"query": "select md5('salt' || person) as pid, a, s from people"}
    columns = {"pid": {"role": "insensitive"}, "a": {"role": "quasi_identifier"}, "s": {"role": "sensitive"}}
    spec = spec_from_dict(
        {"connection": database.url, "source": made, "target": "released", "columns": columns, "privacy": {"k": 2}}
    )
    with pytest.raises(SpecError, match=r"^columns\.pid: it is released as it is, but"):
        pipeline.run(spec)


def test_what_no_spec_lists_is_released_beside_a_pseudonym_but_never_the_own_key(database: Database) -> None:
    rows = [(f"key of {n}", "a", "s0", n % 3) for n in range(6)]
    people(database, rows)
    columns = {
        "person": {"role": "identifier", "pseudonym": {"secret": NAMED}},
        "a": {"role": "quasi_identifier"},
    }
    spec = spec_of(database, columns=columns, default_role="insensitive")
    pipeline.run(spec)
    released = database.rows("released", "*")
    assert {len(row) for row in released} == {4}
    assert not {value for row in released for value in row} & {row[0] for row in rows}
    grid = released_grid(spec, Lock.of(spec, pipeline.plan(spec), "spec.yaml"))
    assert [name for name, *_ in grid.rows] == ["person", "a", "s", "n"]


def test_recipients_cannot_join_their_releases(duckdb_url: str) -> None:
    database = Database(duckdb_url)
    people(database)
    targets = {name: {"target": f"for_{name}"} for name in ("lab", "press")}
    spec = spec_of(database, target=None, recipients=targets)
    found = recipients.run(spec)
    assert not [item for item in found.together.findings if item.exposed]
    seen = [{who for (who,) in database.rows(f"for_{name}", "person") if who is not None} for name in targets]
    assert len(seen[0]) == len(seen[1]) == 8
    assert not seen[0] & seen[1]


def test_the_report_says_how_the_key_is_released(duckdb_url: str) -> None:
    database = Database(duckdb_url)
    people(database)
    spec = spec_of(database)
    grid = released_grid(spec, Lock.of(spec, pipeline.plan(spec), "spec.yaml"))
    assert ("person", "identifier", f"by a rule: {spec.columns['person'].words()}", "-") in grid.rows
    assert "1 is released by a rule" in grid.text


@pytest.mark.spark
@pytest.mark.no_cover
def test_spark_makes_the_same_pseudonyms(spark_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed(monkeypatch)
    persons = [person for person in PERSONS if person not in ("it's", "\\x")]
    lines = ", ".join(f"('{person}', 'a', 's', {n})" for n, person in enumerate(persons * 2))
    engine = open_at(spark_url)
    execute(
        engine, "CREATE TABLE people (person string, a string, s string, n int)", f"INSERT INTO people VALUES {lines}"
    )
    engine.close()
    for form in ("base32", "uuid"):
        pipeline.run(spec_of(Database(spark_url), {"format": form}))
        engine = open_at(spark_url)
        found = {person for (person,) in query(engine, "SELECT person FROM released")}
        engine.close()
        assert found == {of_python(person, form) for person in persons}


def test_risk_counts_the_people_of_the_release_by_their_pseudonym(database: Database) -> None:
    """Two people have six rows each in a class: the size of the class is two, and the risk a half."""
    rows = [(f"p{n}", "ab"[n % 2], "s", place) for n in range(4) for place in range(6)]
    people(database, rows)
    spec = spec_of(database)
    pipeline.run(spec)
    found = risk(spec)
    assert found.after is not None
    assert (found.before.classes.persons, found.after.classes.persons) == (True, True)
    assert (found.after.classes.smallest, found.after.classes.largest, found.after.classes.rows) == (2, 2, 24)
    assert found.after.classes.prosecutor.highest == 0.5
    assert not found.notes
    [(smallest,)] = database.run(
        "SELECT min(n) FROM (SELECT count(DISTINCT person) AS n FROM released GROUP BY a) AS classes"
    )
    assert smallest == found.after.classes.smallest
