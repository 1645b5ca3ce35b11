"""A series published by scripts, which a client runs that knows nothing of sqlanon: the same rules, the same ledger."""

from __future__ import annotations

from typing import Any

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlanon import pipeline
from sqlanon.errors import UsageError
from sqlanon.planning import ledgers
from sqlanon.release.script import compiled
from tests.kit.database import Database
from tests.kit.examples import share
from tests.kit.scripts import run_script
from tests.kit.series import SECRET, VARIABLE, Series, hash_of
from tests.release.test_series import LEFT, NIGHT, OTHERS, people

FAILURES = (duckdb.Error, psycopg.Error)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


def test_tracks_of_the_worked_case(engine_url: str) -> None:
    """CASES T1, night by night, the third one by `sqlanon run`: the ledger is one."""
    series = Series(engine_url, scripted=True)
    series.publish({**people(*range(1, 7)), **OTHERS})
    series.publish({**people(1, 2, 3, 4, 5, 7, 8), **OTHERS})
    assert series.groups() == {("A1", "A1"): 3, ("A1", None): 3, ("B1", "B1"): 5}
    series.scripted = False
    series.publish({**people(1, 2, 3, 4, 5, 7, 8, 9), **OTHERS})
    assert series.groups() == {("A1",) * 3: 3, ("A1", None, None): 3, (None, None, "A1"): 3, ("B1",) * 3: 5}
    series.scripted = True
    moves = next(p for p, track in series.tracks.items() if track == ("A1",) * 3)
    stay = {p: row for p, row in people(1, 2, 3, 4, 5, 7, 8, 9).items() if p != moves}
    series.publish({**stay, **people(int(moves[1:]), a="B1"), **OTHERS})
    assert series.groups()["A1", "A1", "A1", None] == 3
    assert ledgers.verify(series.spec()).problems == ()


def test_leavers_of_one_diagnosis_are_covered(engine_url: str) -> None:
    """CASES T2."""
    series = Series(engine_url, k=3, l=2, scripted=True)
    first = {**people(*range(1, 7)), **people(*range(7, 13), s="cold")}
    series.publish(first)
    series.publish({p: row for p, row in first.items() if p not in ("p1", "p2", "p3")})
    assert {series.values[p] for p, track in series.tracks.items() if track == ("A1", None)} == {"flu", "cold"}


@settings(max_examples=share(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    nights=st.lists(st.tuples(NIGHT, st.sampled_from([0, 1]), st.booleans(), LEFT), min_size=2, max_size=3),
    k=st.integers(1, 3),
    l=st.integers(1, 2),
)
def test_small_histories_equal_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    nights: list[tuple[Any, int, bool, set[str]]],
    k: int,
    l: int,  # noqa: E741 (the papers' name)
) -> None:
    """Scripts and runs in turn, as they come."""
    path = tmp_path_factory.mktemp("series") / "t.duckdb"
    with duckdb.connect(path):
        series = Series(f"duckdb:///{path}", k=k, l=l)
        for night, level, scripted, left in nights:
            series.scripted = scripted
            series.publish(night, level, left & set(night))


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE kept SET track = 1 WHERE track = 3", "kept is not as the last release left it"),
        ("UPDATE kept_tracks SET parent = 1 WHERE track = 2", "kept is not as"),
        ("UPDATE kept_releases SET covered = 0 WHERE release = 2", "kept_releases is not as"),
        ("DELETE FROM kept_releases WHERE release = 1", "kept_releases is not as"),
        ("DELETE FROM kept_releases", "kept is not as"),
        (f"INSERT INTO kept VALUES ('{'a' * 64}', 2, NULL)", "kept is not as"),
        ("INSERT INTO kept VALUES (NULL, 2, '')", "kept is not as"),
        ("INSERT INTO kept_tracks VALUES (2, 1, NULL, 1, 5)", "kept is not as"),
        ("UPDATE kept_releases SET covered = NULL WHERE release = 2", "kept_releases is not as"),
        ("UPDATE kept_releases SET digest = NULL WHERE release = 1", "kept_releases is not as"),
        ("DROP TABLE kept_tracks", "kept is not as"),
    ],
)
def test_a_ledger_that_was_edited_stops_a_script(duckdb_url: str, statement: str, said: str) -> None:
    series = Series(duckdb_url, scripted=True)
    series.publish({**people(*range(1, 7)), **OTHERS})
    series.publish({**people(*range(1, 6)), **OTHERS})
    before = series.database.rows("released")
    series.database.run(statement)
    with pytest.raises(FAILURES, match=said):
        series.carried_out(series.spec(), 0)
    assert series.database.rows("released") == before


def test_a_script_without_the_secret_or_for_another_spec_stops(engine_url: str) -> None:
    series = Series(engine_url, scripted=True)
    series.publish(people(*range(1, 7)))
    before = series.database.rows("kept")
    text = compiled(series.spec(), {"a": 0}).text
    with pytest.raises(FAILURES, match=rf"the session has no secret of 16 bytes or more: {VARIABLE}"):
        run_script(series.database, text)
    with pytest.raises(FAILURES, match=r"the ledger kept was written with another secret"):
        run_script(series.database, text, secret="another secret, long enough too")
    with pytest.raises(FAILURES, match=r"kept was kept for another source, key or requirement"):
        series.carried_out(series.spec(privacy={"k": 2}), 0)
    assert series.database.rows("kept") == before


@pytest.mark.parametrize(("policy", "said"), [("joiners", "newcomers wait"), ("leavers", "people leave")])
def test_a_policy_that_refuses_stops_a_script(duckdb_url: str, policy: str, said: str) -> None:
    series = Series(duckdb_url, scripted=True)
    series.publish(people(*range(1, 7)))
    series.source(people(1, 2, 3, 4, 5, 6, 7, 8) if policy == "joiners" else people(1, 2, 3, 4, 5))
    kept = {"key": "id", "ledger": "kept", "secret": f"${{{VARIABLE}}}", policy: "refuse"}
    with pytest.raises(FAILURES, match=rf"history\.{policy}: the spec refuses that {said}"):
        series.carried_out(series.spec(history=kept), 0)


def test_one_row_for_each_person(duckdb_url: str) -> None:
    series = Series(duckdb_url, scripted=True)
    series.source(people(*range(1, 7)))
    series.database.run("INSERT INTO people SELECT * FROM people")
    with pytest.raises(FAILURES, match=r"history\.key: the source has rows without a key, or several rows"):
        series.carried_out(series.spec(), 0)


def test_others_do_not_see_the_ledger_of_a_script(postgres_url: str) -> None:
    series = Series(postgres_url, scripted=True)
    series.database.run("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
    try:
        series.publish(people(*range(1, 7)))
    finally:
        series.database.run("ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC")
    series.publish(people(*range(1, 7)))
    series.database.run("GRANT SELECT (person) ON kept TO PUBLIC")
    with pytest.raises(FAILURES, match=r"others than its owner may read or write kept"):
        series.carried_out(series.spec(), 0)


def test_hostile_names(engine_url: str) -> None:
    database = Database(engine_url)
    rows = [(f"o'Neil {n}; \\ ü", "A.1", 'sel"ect', None) for n in range(6)]
    names = ["Key of", "group", 'S "x"', 'le\'ft "on"']
    database.create('"Pe op.l\'e"', {name.replace('"', '""'): "text" for name in names}, rows)
    more: dict[str, Any] = {
        "source": '"Pe op.l\'e"',
        "target": '"Re l\'eased"',
        "columns": {
            "Key of": {"role": "identifier"},
            "group": {"role": "quasi_identifier"},
            'S "x"': {"role": "sensitive"},
            names[3]: {"role": "identifier"},
        },
        "privacy": {"k": 3, "l_diversity": [{"column": 'S "x"', "l": 1}]},
        "history": {"key": "Key of", "left": names[3], "ledger": '"The.L\'edger"', "secret": f"${{{VARIABLE}}}"},
    }
    series = Series(engine_url, more=more)
    text = compiled(series.spec(), {"group": 0}).text
    assert not [word for word in (SECRET, "Neil", "A.1", 'sel"ect') if word in text]
    run_script(database, text, secret=SECRET)
    database.run('DELETE FROM "Pe op.l\'e" WHERE "Key of" LIKE \'%0;%\'')
    run_script(database, text, secret=SECRET)
    assert len(database.rows('"Re l\'eased"')) == 3
    assert (hash_of(rows[1][0]),) in database.run('SELECT person FROM "The.L\'edger"')
    history = pipeline.run(series.spec()).publication.history
    assert history is not None
    assert (history.release, history.covered, history.smallest) == (3, 2, 3)


def test_where_a_script_keeps_no_ledger(duckdb_url: str, tmp_path: Any) -> None:
    series = Series(duckdb_url)
    series.source(people(*range(1, 7)))
    with pytest.raises(UsageError, match=r"^history: a script keeps a ledger on duckdb and postgres; for snowflake"):
        compiled(series.spec(), {"a": 0}, dialect="snowflake")
    with pytest.raises(UsageError, match=r"^target: a script cannot write a file and the ledger together"):
        compiled(series.spec(target=str(tmp_path / "released.parquet")), {"a": 0})
