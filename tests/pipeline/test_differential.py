"""A differential release, start to end: who is drawn, what is released of them, and what is refused."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from math import exp
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlanon import pipeline
from sqlanon.api.status import status
from sqlanon.errors import InfeasibleError, SourceError, SpecError, SqlanonError, UsageError
from sqlanon.planning.frontier import frontier
from sqlanon.release.lock import Lock
from sqlanon.source.differential import sampling_for
from sqlanon.spec import Limit, Spec, spec_from_dict
from sqlanon.spec.findings import require_honoured
from sqlanon.sql.relations import Table
from tests.kit.database import Database
from tests.kit.tables import at

SECRET = 'an invented secret: it\'s \\ "long" enough'
PERSON, TOWN, SEX = 'the "person"', "to.wn", "Select"
TREE = {"north": ["a1", "it's", ""], "south": ['b"1', "b\\2"]}
PARENT = {value: name for name, values in TREE.items() for value in values}
EPSILON, DELTA = 1.5, 0.05
PEOPLE = [
    (f"p'{n}", [*PARENT, None][n * n % 6], ["f", "m"][n % 3 % 2]) for n in range(300)
]  # fmt: skip


BASE: dict[str, Any] = {
    PERSON: {"role": "identifier"},
    TOWN: {"role": "quasi_identifier", "hierarchy": {"tree": TREE}, "levels": {"min": 1, "max": 1}},
    SEX: {"role": "quasi_identifier", "levels": {"min": 0, "max": 0}},
}
ASKED = {"epsilon": EPSILON, "delta": DELTA, "secret": "${SQLANON_TEST_SECRET}"}


def spec_of(url: str, **changes: Any) -> Spec:
    """The differential release with other keys instead; None takes a key away."""
    values: dict[str, Any] = {
        "connection": url,
        "source": "people",
        "target": "released",
        "respondent": PERSON,
        "columns": BASE,
        "privacy": {"differential": ASKED},
        "evidence": {"files": False},
        **changes,
    }
    return spec_from_dict({key: value for key, value in values.items() if value is not None})


@pytest.fixture
def people(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setenv("SQLANON_TEST_SECRET", SECRET)
    database = Database(engine_url)
    database.create("people", {'the ""person""': "text", TOWN: "text", SEX: "text"}, PEOPLE)
    return database


def digest(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def expected(
    secret: str, people: list[tuple[str, str | None, str]], source: str = "people"
) -> Counter[tuple[str | None, str]]:
    """The release by hand: HMAC in Python, the theorem's k."""
    key = digest(secret.encode(), f'sqlanon differential sample of ["table", "{source}"]').encode()
    drawn = [row for row in people if int(digest(key, row[0]), 16) / 2**256 < 1 - exp(-EPSILON)]
    classes = Counter((None if town is None else PARENT[town], sex) for _, town, sex in drawn)
    least = sampling_for(Decimal(str(EPSILON)), Decimal(str(DELTA))).k
    return Counter({name: number for name, number in classes.items() if number >= least})


def test_the_release_is_the_sample_without_small_classes(people: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    result = pipeline.run(spec_of(people.url))
    wanted = expected(SECRET, PEOPLE)
    assert people.counted("released") == wanted
    assert 0 < len(wanted) < 6
    assert result.levels == {TOWN: 1, SEX: 0}
    [(source, *_)] = people.rows("sqlanon_differential")
    assert json.loads(source) == ["table", "people"]
    # Another secret draws others.
    monkeypatch.setenv("SQLANON_TEST_SECRET", SECRET + "2")
    people.run("DROP TABLE sqlanon_differential")
    pipeline.run(spec_of(people.url))
    assert people.counted("released") == expected(SECRET + "2", PEOPLE) != wanted
    assert people.leftovers() == ["sqlanon_differential"]


def test_a_lock_publishes_the_same_and_the_audit_agrees(people: Database) -> None:
    spec = spec_of(people.url)
    planned = pipeline.plan(spec)
    assert people.leftovers() == []
    pipeline.apply(spec, Lock.of(spec, planned, "spec.yaml"))
    assert people.counted("released") == expected(SECRET, PEOPLE)
    kept = status(spec, Lock.of(spec, planned, "spec.yaml"))
    assert kept.satisfied
    assert kept.drift is not None
    assert kept.drift.reason is None
    found = pipeline.audit_spec(spec)
    assert found.satisfied
    assert found.rows == sum(expected(SECRET, PEOPLE).values())
    assert found.k is not None
    people.run("DELETE FROM released WHERE \"Select\" = 'f'", "INSERT INTO released VALUES ('north', 'f')")
    assert not pipeline.audit_spec(spec).satisfied


def test_a_table_is_released_once(people: Database) -> None:
    pipeline.run(spec_of(people.url))
    before = people.counted("released")
    more = {"privacy": {"differential": {**ASKED, "epsilon": 3}}}
    for changes in ({}, {"target": "elsewhere"}, more):
        with pytest.raises(UsageError, match="was released before"):
            pipeline.run(spec_of(people.url, **changes))
    assert people.counted("released") == before
    people.run("DELETE FROM sqlanon_differential")
    pipeline.run(spec_of(people.url))
    assert people.counted("released") == before


@pytest.mark.postgres
@pytest.mark.parametrize("first", ["people", "f's"])
def test_rows_of_a_partition_are_released_once(postgres_url: str, first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the whole and a part of it reveal of the rows in both adds up."""
    monkeypatch.setenv("SQLANON_TEST_SECRET", SECRET)
    database = Database(postgres_url)
    database.create("rows", {'the ""person""': "text", TOWN: "text", SEX: "text"}, PEOPLE)
    database.run(
        'CREATE TABLE people (LIKE rows) PARTITION BY LIST ("Select")',
        """CREATE TABLE "f's" PARTITION OF people FOR VALUES IN ('f')""",
        """CREATE TABLE others PARTITION OF people DEFAULT""",
        "INSERT INTO people SELECT * FROM rows",
    )
    pipeline.run(spec_of(postgres_url, source=first))
    second = "people" if first != "people" else "f's"
    refused(postgres_url, UsageError, "was released before", source=second, target="elsewhere")


@pytest.mark.postgres
def test_a_foreign_table_is_no_table(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind it may stand a view of another database, whose rows depend on each other; nor is it written over."""
    monkeypatch.setenv("SQLANON_TEST_SECRET", SECRET)
    database = Database(postgres_url)
    database.create("people", {'the ""person""': "text", TOWN: "text", SEX: "text"}, PEOPLE)
    database.run(
        "CREATE FOREIGN DATA WRAPPER sqlanon_test_nothing",
        "CREATE SERVER sqlanon_test_nowhere FOREIGN DATA WRAPPER sqlanon_test_nothing",
        "CREATE FOREIGN TABLE elsewhere (a text) SERVER sqlanon_test_nowhere",
    )
    try:
        with at(postgres_url) as engine:
            assert engine.relation_kind(Table(("elsewhere",))) == "foreign table"
        refused(postgres_url, UsageError, "elsewhere exists and is a foreign table", target="elsewhere")
    finally:
        database.run("DROP FOREIGN DATA WRAPPER sqlanon_test_nothing CASCADE")


def test_a_sample_smaller_than_k_releases_nothing(people: Database) -> None:
    people.run('DELETE FROM people WHERE "to.wn" IS NOT NULL OR "Select" = \'f\'')
    people.run('DELETE FROM people WHERE "the ""person""" > \'p\'\'2\'')
    with pytest.raises(InfeasibleError, match="the sample has"):
        pipeline.run(spec_of(people.url))
    assert people.leftovers() == []


def refused(url: str, error: type[SqlanonError], message: str, **changes: Any) -> None:
    with pytest.raises(error, match=message):
        pipeline.run(spec_of(url, **changes))


def column(name: str, **changes: Any) -> dict[str, Any]:
    base = {"role": "quasi_identifier", "levels": {"min": 0, "max": 0}}
    return {"columns": {**BASE, name: {**base, **changes}}}


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("name the column that tells them apart", {"respondent": None}),
    ("the level is given", column(SEX, levels={"min": 0})),
    ("the level is given", column(SEX, levels={"min": 0, "max": 1})),
    ("every released column is part of the class", {"columns": {**BASE, SEX: {"role": "insensitive"}}}),
    ("every released column is part of the class", {"columns": {**BASE, SEX: {"role": "sensitive"}}}),
    ("unlisted columns", {"default_role": "insensitive"}),
    ("must not come from the database", column(SEX, hierarchy={"sql": [f'"{SEX}"', "'*'"]})),
    ("must not come from the database", column(SEX, hierarchy={"table": {"name": "t", "levels": ["a", "b"]}})),
    ("give length", column(SEX, hierarchy={"mask": {"steps": [1]}})),
    ("write top", column(SEX, hierarchy={"mask": {"length": 3, "steps": [1]}})),
    ("k and what is suppressed", {"privacy": {"differential": ASKED, "k": 5}}),
    ("k and what is suppressed", {"privacy": {"differential": ASKED, "suppression": {"limit": "2%"}}}),
    ("k and what is suppressed", {"privacy": {"differential": ASKED, "anonymity": "classic"}}),
    ("the levels are given", {"search": {"prefer": ["minimum_suppression"]}}),
    ("the levels are given", {"search": {"constraints": {"forbidden": [{TOWN: 2}]}}}),
    (
        "all columns together are the class",
        {"columns": {**BASE, **{n: {**BASE[n], "anonymity": 0.1} for n in (TOWN, SEX)}}},
    ),
    ("all columns together are the class", {"columns": {**BASE, TOWN: {**BASE[TOWN], "anonymity": 0.1}}}),
    ("local does not honour it", {"search": {"algorithm": "local"}}),
    ("mondrian does not honour it", {"search": {"algorithm": "mondrian"}}),
    ("forest does not honour it", {"search": {"algorithm": "forest"}}),
    ("released once", {"history": "required"}),
    ("rows of a query", {"source": {"query": "SELECT * FROM people"}}),
    ("drawn anew", {"target": {"view": "released"}}),
    ("nothing but the sample", {"regions": "classes"}),
    ("released once", {"target": None, "recipients": {"one": {"target": "r1"}}}),
    ("epsilon", {"privacy": {"differential": {**ASKED, "epsilon": 0}}}),
    ("delta", {"privacy": {"differential": {**ASKED, "delta": 1}}}),
    ("secret", {"privacy": {"differential": {**ASKED, "secret": SECRET}}}),
]


@pytest.mark.parametrize(("message", "changes"), REFUSED)
def test_what_voids_the_guarantee_is_refused(message: str, changes: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        spec_of("duckdb:///nowhere.duckdb", **changes)
    assert SECRET not in str(caught.value)


def test_the_source_must_have_one_row_a_person(people: Database) -> None:
    people.run("CREATE VIEW seen AS SELECT * FROM people")
    refused(people.url, UsageError, "rows of a view", source="seen")
    people.run("INSERT INTO people VALUES ('p''1', 'a1', 'm')")
    refused(people.url, SourceError, "301 rows of 300 persons")
    people.run('DELETE FROM people WHERE "the ""person""" = \'p\'\'1\'', "INSERT INTO people VALUES (NULL, 'a1', 'm')")
    refused(people.url, SourceError, "1 rows have no value in the respondent column")
    assert people.leftovers() == []


def test_without_a_secret_or_a_lasting_database_nothing_is_released(
    people: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SQLANON_TEST_SECRET")
    refused(people.url, UsageError, "SQLANON_TEST_SECRET is not set")
    monkeypatch.setenv("SQLANON_TEST_SECRET", "short")
    refused(people.url, UsageError, "shorter than")


def test_a_database_in_memory_forgets_its_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLANON_TEST_SECRET", SECRET)
    lines = [f"{person},{PARENT.get(town or '', 'north')},{sex}" for person, town, sex in PEOPLE]
    (tmp_path / "people.csv").write_text("\n".join(["person,town,sex", *lines]))
    duckdb.sql(f"copy (from '{tmp_path}/people.csv') to '{tmp_path}/people.parquet'")
    columns = {"person": BASE[PERSON], "town": BASE[SEX], "sex": BASE[SEX]}
    source = str(tmp_path / "people.parquet")
    changes = {"source": source, "target": str(tmp_path / "r.csv"), "columns": columns, "respondent": "person"}
    refused("duckdb:///:memory:", UsageError, "a database in memory forgets", **changes)
    url = f"duckdb:///{tmp_path}/ledger.duckdb"
    monkeypatch.chdir(tmp_path)
    # One value that is no number would change how the numbers of a csv file look; a pattern may find other files.
    refused(url, UsageError, "types of a csv file are guessed", **{**changes, "source": "people.csv"})
    refused(url, UsageError, "name one file", **{**changes, "source": "peopl?.parquet"})
    # A folder or a list may hold a file that is released by itself too.
    (tmp_path / "folder").mkdir()
    duckdb.sql(f"copy (from '{tmp_path}/people.csv' where false) to '{tmp_path}/folder/more.parquet'")
    for several in ("folder/", ["people.parquet", "folder/more.parquet"], ["people.parquet", "folder/m*.parquet"]):
        refused(url, UsageError, "name one file", **{**changes, "source": several})
    pipeline.run(spec_of(url, **{**changes, "source": "people.parquet"}))
    refused(url, UsageError, "was released before", **changes)
    (tmp_path / "link.parquet").symlink_to("people.parquet")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for other in ("../people.parquet", "../link.parquet"):
        refused(url, UsageError, "was released before", **{**changes, "source": other})


@pytest.mark.parametrize(
    "spoilt",
    [
        "ALTER TABLE sqlanon_differential DROP COLUMN source",
        "UPDATE sqlanon_differential SET source = 'no JSON'",
        "UPDATE sqlanon_differential SET source = '[[]]'",
        "UPDATE sqlanon_differential SET source = '[]'",
    ],
)
def test_a_ledger_that_says_nothing_releases_nothing(people: Database, spoilt: str) -> None:
    pipeline.run(spec_of(people.url))
    people.run(spoilt)
    with pytest.raises(UsageError, match="sqlanon_differential is not as a release left it"):
        pipeline.run(spec_of(people.url, target="elsewhere"))


def test_two_tables_are_drawn_from_independently_under_one_secret(people: Database) -> None:
    """A snapshot of other days holds the same persons: drawn alike, the two would tell more than they do one by one."""
    people.run("CREATE TABLE snapshot AS SELECT * FROM people")
    for source in ("people", "snapshot"):
        pipeline.run(spec_of(people.url, source=source))
        assert people.counted("released") == expected(SECRET, PEOPLE, source)
    assert expected(SECRET, PEOPLE, "snapshot") != expected(SECRET, PEOPLE)


def test_equal_values_that_look_different_are_refused(people: Database) -> None:
    """1.0 and 1.00 are one class: whose text is shown would depend on who is drawn."""
    # Of 24:00:00 and 1 day, which are equal, a mask keeps the letters of one.
    people.run("ALTER TABLE people ADD COLUMN stay interval DEFAULT '24 hours'")
    mask = {"mask": {"length": 8, "steps": [3], "top": True}}
    masked = column("stay", hierarchy=mask, levels={"min": 1, "max": 1})
    refused(people.url, UsageError, "equal values of column 'stay' may look different", **masked)
    people.run("ALTER TABLE people DROP COLUMN stay")
    people.run("ALTER TABLE people ADD COLUMN share double precision DEFAULT 1")
    refused(people.url, UsageError, "equal values of column 'share' may look different", **column("share"))
    interval = {"interval": {"widths": [1], "min": 0, "max": 5}}
    pipeline.run(spec_of(people.url, **column("share", hierarchy=interval, levels={"min": 1, "max": 1})))
    assert sum(people.counted("released").values()) == sum(expected(SECRET, PEOPLE).values())


def test_nothing_else_publishes_it(people: Database) -> None:
    spec = spec_of(people.url)
    other_ways: list[Callable[[], object]] = [
        lambda: pipeline.script(spec, None),
        lambda: frontier(spec, [2], [Limit(count=0)]),
        lambda: require_honoured(spec, "dbt"),
    ]
    for publish in other_ways:
        with pytest.raises(UsageError, match=r"privacy\.differential"):
            publish()
