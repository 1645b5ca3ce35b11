"""A series of releases with a ledger: worked cases, refusals of ledgers that are not what was written, brute force."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from math import log
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlanon import pipeline
from sqlanon.api.status import status
from sqlanon.engines.base import TraceEvent
from sqlanon.errors import RequirementError, SpecError, UsageError
from sqlanon.release.results import RunResult
from sqlanon.release.series.tracks import HistoryFigures
from sqlanon.source.run import Options
from tests.kit.database import Database
from tests.kit.examples import share
from tests.kit.series import SECRET, VARIABLE, Row, Series, hash_of


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


def people(*numbers: int, a: str = "A1", s: str = "flu") -> dict[str, Row]:
    return {f"p{number}": (a, s) for number in numbers}


def figures(result: RunResult | None) -> HistoryFigures:
    assert result is not None
    assert result.publication.history is not None
    return result.publication.history


OTHERS = people(20, 21, 22, 23, 24, a="B1")


def test_tracks_of_the_worked_case(engine_url: str) -> None:
    """CASES T1, night by night: k = 3."""
    series = Series(engine_url)
    series.publish({**people(*range(1, 7)), **OTHERS})
    history = figures(series.publish({**people(1, 2, 3, 4, 5, 7, 8), **OTHERS}))
    assert (history.deferred, history.covered, history.gone, history.joined) == (2, 2, 1, 0)
    assert series.groups() == {("A1", "A1"): 3, ("A1", None): 3, ("B1", "B1"): 5}
    history = figures(series.publish({**people(1, 2, 3, 4, 5, 7, 8, 9), **OTHERS}))
    assert (history.deferred, history.covered, history.joined) == (0, 2, 3)
    tracks = {("A1", "A1", "A1"): 3, ("A1", None, None): 3, (None, None, "A1"): 3, ("B1",) * 3: 5}
    assert series.groups() == tracks
    moves = next(p for p, track in series.tracks.items() if track == ("A1",) * 3)
    stay = {p: row for p, row in people(1, 2, 3, 4, 5, 7, 8, 9).items() if p != moves}
    history = figures(series.publish({**stay, **people(int(moves[1:]), a="B1"), **OTHERS}))
    assert history.covered == 5
    assert series.groups()["A1", "A1", "A1", None] == 3
    assert not [track for track in series.groups() if track[-2:] == ("A1", "B1")]


def test_leavers_of_one_diagnosis_are_covered(engine_url: str) -> None:
    """CASES T2: three leavers satisfy k = 3, and not l = 2 when all have one diagnosis."""
    series = Series(engine_url, k=3, l=2)
    first = {**people(*range(1, 7)), **people(*range(7, 13), s="cold")}
    series.publish(first)
    rest = {p: row for p, row in first.items() if p not in ("p1", "p2", "p3")}
    history = figures(series.publish(rest))
    assert history.covered >= 1
    assert {series.values[p] for p, track in series.tracks.items() if track == ("A1", None)} == {"flu", "cold"}


def test_who_has_left_stays_until_enough_leave_together(engine_url: str) -> None:
    """Nobody else leaves with people whose rows the source keeps; a row that is deleted takes them along first."""
    series = Series(engine_url)
    there = {**people(*range(1, 11)), **OTHERS}
    series.publish(there)
    newest = "SELECT covered, staying, gone FROM kept_releases ORDER BY release DESC LIMIT 1"
    series.publish({**there, **people(11, 12, 13)}, left=("p1",))
    assert series.database.run(newest) == [(0, 1, 0)]
    series.scripted = True
    # A newcomer who has left already never comes in.
    series.publish({**there, **people(11, 12, 13, 14)}, left=("p1", "p2", "p14"))
    assert series.database.run(newest) == [(0, 2, 0)]
    series.scripted = False
    # Three can leave together: nobody is left who has to go with them. Then one who is deleted takes two along.
    series.publish(there, left=("p1", "p2", "p3"))
    assert (series.groups()[("A1",) * 3 + (None,)], series.groups()[("A1",) * 4]) == (3, 7)
    history = figures(series.publish({p: row for p, row in there.items() if p != "p4"}, left=("p1", "p2", "p3", "p5")))
    assert (history.covered, history.staying, history.gone) == (1, 0, 2)


def test_what_was_published_last_counts(engine_url: str) -> None:
    """Who has another value by now does not make a group that left diverse: the difference shows the old one."""
    first, second, *others, leaves = sorted((f"p{number}" for number in range(1, 10)), key=hash_of)
    rest = {person: ("A1", ("cold", "flu")[place % 2]) for place, person in enumerate(others)}
    series = Series(engine_url, k=2, l=2)
    series.publish({**rest, first: ("A1", "flu"), second: ("A1", "flu"), leaves: ("A1", "flu")})
    history = figures(series.publish({**rest, first: ("A1", "burn"), second: ("A1", "itch")}))
    assert history.covered > 2
    absent = {series.values[person] for person, track in series.tracks.items() if track == ("A1", None)}
    assert absent == {"flu", "cold"}


def test_a_ledger_in_memory_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^history\.ledger: the database is in memory"):
        pipeline.run(
            Series("duckdb://").spec(source={"query": "select 1 as id, 'A1' as a, 'flu' as s, false as \"left\""})
        )


@pytest.mark.parametrize(("policy", "said"), [("joiners", "2 newcomers"), ("leavers", "2 people would have to leave")])
def test_a_policy_that_refuses(duckdb_url: str, policy: str, said: str) -> None:
    series = Series(duckdb_url)
    series.publish(people(*range(1, 7)))
    before = series.database.rows("released")
    series.source(people(1, 2, 3, 4, 5, 6, 7, 8) if policy == "joiners" else people(1, 2, 3, 4, 5))
    kept = {"key": "id", "ledger": "kept", "secret": f"${{{VARIABLE}}}", policy: "refuse"}
    with pytest.raises(RequirementError, match=rf"^history\.{policy}: {said}"):
        pipeline.run(series.spec(history=kept))
    assert series.database.rows("released") == before
    assert len(series.database.rows("kept_releases")) == 1


EDITS = {
    "a track": ("UPDATE kept SET track = 1 WHERE track = 3", "kept is not as the last release left it"),
    "a person": ("DELETE FROM kept WHERE person = (SELECT min(person) FROM kept)", "kept is not as"),
    "what a track is": ("UPDATE kept_tracks SET parent = 1 WHERE track = 2", "kept is not as"),
    "a count": ("UPDATE kept_releases SET covered = 0 WHERE release = 2", "kept_releases is not as"),
    "a release": ("DELETE FROM kept_releases WHERE release = 2", "kept is not as"),
    "the first release": ("DELETE FROM kept_releases WHERE release = 1", "kept_releases is not as"),
    "a person more": (f"INSERT INTO kept VALUES ('{'a' * 64}', 2, NULL)", "kept is not as"),
    "nobody on a track": ("INSERT INTO kept VALUES (NULL, 2, '')", "kept is not as"),
    "a track more": ("INSERT INTO kept_tracks VALUES (2, 1, NULL, 1, 5)", "kept is not as"),
    "a track of no number": ("INSERT INTO kept_tracks VALUES (NULL, 1, 2, 1, 5)", "kept is not as"),
    "a count that is none": ("UPDATE kept_releases SET covered = NULL WHERE release = 2", "kept_releases is not as"),
    "a number that is none": ("UPDATE kept_releases SET release = NULL WHERE release = 2", "kept_releases is not as"),
    "a digest that is none": ("UPDATE kept_releases SET digest = NULL WHERE release = 1", "kept_releases is not as"),
    "a table": ("DROP TABLE kept_tracks", "they are not all there"),
    "a column of the people": ("ALTER TABLE kept DROP COLUMN track", "kept is not as"),
    "a column of a release": ("ALTER TABLE kept_releases DROP COLUMN state", "kept_releases is not as"),
}


@pytest.mark.parametrize(("statement", "said"), EDITS.values(), ids=EDITS)
def test_a_ledger_that_was_edited_is_refused(duckdb_url: str, statement: str, said: str) -> None:
    series = Series(duckdb_url)
    series.publish({**people(*range(1, 7)), **OTHERS})
    series.publish({**people(*range(1, 6)), **OTHERS})
    before = series.database.rows("released")
    series.database.run(statement)
    with pytest.raises(UsageError, match=rf"^history\.ledger: .*{said}"):
        pipeline.run(series.spec())
    assert series.database.rows("released") == before


def test_nothing_that_is_written_into_a_ledger_reads_like_what_it_had(engine_url: str) -> None:
    """Two people as one, for whatever stands between texts may stand in one; people who have no hash or no digest."""
    series = Series(engine_url)
    series.publish({**people(*range(1, 7)), **OTHERS})
    rows = sorted(series.database.rows("kept"))
    (person, track, told), (other, *_) = next(pair for pair in pairwise(rows) if pair[0][0][0] == pair[1][0][0])
    plain = f"{person}:{track}:{told}:,{other}"
    with_lengths = f"{person}{len(str(track))}:{track}{len(told)}:{told},{len(other)}:{other}"
    edits: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
        (
            (
                f"DELETE FROM kept WHERE person = '{person}'",
                f"UPDATE kept SET person = '{one}' WHERE person = '{other}'",
            ),
            (
                f"UPDATE kept SET person = '{other}' WHERE person = '{one}'",
                f"INSERT INTO kept VALUES ('{person}', {track}, '{told}')",
            ),
        )
        for one in (plain, with_lengths)
    ]
    nobody = "INSERT INTO kept VALUES ('a', 1, NULL)", "INSERT INTO kept VALUES (NULL, 1, '')"
    edits += [((statement,), ("DELETE FROM kept WHERE person IS NULL OR told IS NULL",)) for statement in nobody]
    for edit, taken_back in edits:
        series.database.run(*edit)
        with pytest.raises(UsageError, match="kept is not as the last release left it"):
            pipeline.run(series.spec())
        series.database.run(*taken_back)
    pipeline.run(series.spec())


@pytest.mark.parametrize("key", ["target", "regions"])
def test_no_release_is_written_over_a_ledger_of_any_spec(engine_url: str, key: str) -> None:
    """A spec without this ledger, or with another one, knows nothing of it."""
    series = Series(engine_url)
    series.publish(people(*range(1, 7)))
    tables = {name: series.database.counted(name) for name in ("kept", "kept_tracks", "kept_releases")}
    for name in tables:
        changes: dict[str, Any] = {"history": None, key: name}
        with pytest.raises(SpecError, match=rf"^{key}: {name} is part of a ledger"):
            pipeline.run(series.spec(**changes))
    for name, rows in tables.items():
        assert series.database.counted(name) == rows


@pytest.mark.one_engine
def test_the_status_of_a_spoilt_ledger_is_one_line(engine_url: str) -> None:
    series = Series(engine_url)
    series.publish(people(*range(1, 7)))
    series.database.run("ALTER TABLE kept_releases DROP COLUMN release")
    said = r"^history\.ledger: kept_releases is not as the last release left it"
    with pytest.raises(UsageError, match=said):
        pipeline.audit_spec(series.spec())
    with pytest.raises(UsageError, match=said):
        status(series.spec(), None)


@pytest.mark.one_engine
def test_another_secret_or_spec_is_refused(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    series = Series(engine_url)
    series.publish(people(*range(1, 7)))
    with pytest.raises(UsageError, match=r"^history\.ledger: kept was kept for another source, key or requirement"):
        pipeline.run(series.spec(privacy={"k": 2}))
    monkeypatch.setenv(VARIABLE, "another secret, long enough too")
    with pytest.raises(UsageError, match=r"^history\.secret: the ledger kept was written with another secret"):
        pipeline.run(series.spec())
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(UsageError, match=rf"^history\.secret: environment variable {VARIABLE} is not set"):
        pipeline.run(series.spec())


def test_a_ledger_that_others_may_read_is_refused(postgres_url: str) -> None:
    series = Series(postgres_url)
    series.publish(people(*range(1, 7)))
    assert series.database.run("SELECT count(*) FROM pg_class WHERE relname LIKE 'kept%' AND relacl IS NOT NULL") != []
    series.database.run("GRANT SELECT (person) ON kept TO PUBLIC")
    with pytest.raises(UsageError, match=r"^history\.ledger: others than its owner may read or write kept"):
        pipeline.run(series.spec())


def test_default_rights_do_not_reach_the_ledger(postgres_url: str) -> None:
    series = Series(postgres_url)
    series.database.run("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
    try:
        series.publish(people(*range(1, 7)))
        series.publish(people(*range(1, 7)))
    finally:
        series.database.run("ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC")


def test_one_row_for_each_person(engine_url: str) -> None:
    series = Series(engine_url)
    series.source(people(*range(1, 7)))
    series.database.run("INSERT INTO people SELECT * FROM people")
    with pytest.raises(SpecError, match=r"^history\.key: the source has 12 rows of 6 people"):
        pipeline.run(series.spec())
    series.source(people(*range(1, 7)))
    series.database.run("UPDATE people SET id = NULL WHERE id = 'p1'")
    with pytest.raises(SpecError, match=r"^history\.key: 1 rows of the source have no 'id'"):
        pipeline.run(series.spec())
    assert "kept" not in {name for (name,) in series.database.run("SELECT table_name FROM information_schema.tables")}


def test_no_value_no_label_and_no_secret_is_kept_or_logged(engine_url: str) -> None:
    series = Series(engine_url)
    seen: list[TraceEvent] = []
    series.publish({**people(*range(1, 7), s="pneumonia"), **OTHERS})
    series.source({**people(*range(1, 6), s="pneumonia"), **OTHERS})
    pipeline.run(series.spec(), Options(hooks=(seen.append,)))
    kept = repr([series.database.rows(name) for name in ("kept", "kept_tracks", "kept_releases")])
    told = "\n".join(event.sql for event in seen)
    assert hash_of("p1") in kept
    for text in ("pneumonia", "A1", "'p1'", SECRET):
        assert text not in kept
    for text in ("pneumonia", SECRET, hash_of("p1")):
        assert text not in told


def test_hostile_names(engine_url: str) -> None:
    database = Database(engine_url)
    rows = [(f"o'Neil {n}; \\ ü", "A.1", 'sel"ect') for n in range(6)]
    database.create('"Pe op.le"', {"Key of": "text", "group": "text", 'S "x"'.replace('"', '""'): "text"}, rows)
    spec: dict[str, Any] = {
        "source": '"Pe op.le"',
        "target": '"Re leased"',
        "columns": {
            "Key of": {"role": "identifier"},
            "group": {"role": "quasi_identifier"},
            'S "x"': {"role": "sensitive"},
        },
        "privacy": {"k": 3, "l_diversity": [{"column": 'S "x"', "l": 1}]},
        "history": {"key": "Key of", "ledger": '"The.Ledger"', "secret": f"${{{VARIABLE}}}"},
    }
    series = Series(engine_url, more=spec)
    assert figures(pipeline.run(series.spec())).joined == 6
    database.run('DELETE FROM "Pe op.le" WHERE "Key of" LIKE \'%0;%\'')
    history = figures(pipeline.run(series.spec()))
    assert (history.covered, len(database.rows('"Re leased"'))) == (2, 3)
    assert (hash_of(rows[1][0]),) in database.run('SELECT person FROM "The.Ledger"')


TARGETS = ("released", "for_others")
LEFT: st.SearchStrategy[set[str]] = st.just(set()) | st.sets(
    st.sampled_from([f"p{number}" for number in range(14)]), max_size=5
)
"""Those who have left, where the source keeps their rows."""
NIGHT = st.dictionaries(
    st.sampled_from([f"p{number}" for number in range(14)]),
    st.tuples(st.sampled_from(["A1", "A2", "B1"]), st.sampled_from(["flu", "cold", "burn"])),
    min_size=2,
)


@settings(max_examples=share(16), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    nights=st.lists(st.tuples(NIGHT, st.sampled_from([0, 1]), st.sampled_from(TARGETS), LEFT), min_size=2, max_size=4),
    k=st.integers(1, 3),
    l=st.integers(1, 2),
)
def test_small_histories_equal_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    nights: list[tuple[dict[str, Row], int, str, set[str]]],
    k: int,
    l: int,  # noqa: E741 (the papers' name)
) -> None:
    """People who come, leave, move, come again; recodings that change; two targets; compared with brute force."""
    path = tmp_path_factory.mktemp("series") / "t.duckdb"
    with duckdb.connect(path):
        series = Series(f"duckdb:///{path}", k=k, l=l)
        for night, level, target, left in nights:
            series.publish(night, level, left & set(night), target=target)


def entropy(values: list[str]) -> bool:
    """Entropy 2-diversity."""
    shares = [number / len(values) for number in Counter(values).values()]
    return -sum(share * log(share) for share in shares) >= log(2) - 1e-9


def recursive(values: list[str]) -> bool:
    """Recursive (2, 2)-diversity: the commonest value is less than twice as frequent as all others together."""
    most, *others = sorted(Counter(values).values(), reverse=True)
    return most < 2 * sum(others)


MODELS: dict[str, tuple[dict[str, Any], Callable[[list[str]], bool]]] = {
    "entropy": ({"l_diversity": [{"column": "s", "l": 2, "kind": "entropy"}]}, entropy),
    "recursive": ({"l_diversity": [{"column": "s", "l": 2, "c": 2, "kind": "recursive"}]}, recursive),
    "p_sensitive": ({"p_sensitive": [{"column": "s", "p": 2}]}, lambda values: len(set(values)) >= 2),
}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 5))])
@pytest.mark.parametrize("model", MODELS)
def test_tracks_satisfy_every_model_that_a_ledger_takes(duckdb_url: str, model: str, seed: int) -> None:
    """Of what was published last of the people of each track, in nights in which values change."""
    asked, holds = MODELS[model]
    random, series = Random(seed), Series(duckdb_url, k=2)
    spec = series.spec(privacy={"k": 2, "suppression": {"limit": "100%"}, **asked})
    there: dict[str, Row] = {}
    covered = 0
    for night in range(3):
        for number in range(120):
            if random.random() < (0.9 if night == 0 else 0.03):
                there[f"p{number}"] = (random.choice(["A1", "B1"]), random.choice(["flu", "flu", "cold", "burn"]))
            elif random.random() < 0.03:
                there.pop(f"p{number}", None)
        series.source(there)
        covered += figures(pipeline.run(spec)).covered
        now = {hash_of(person): value for person, (_, value) in there.items()}
        series.values |= {person: now[person] for person in series.present()}
        groups: dict[int, list[str]] = defaultdict(list)
        for person, track in series.database.run("SELECT person, track FROM kept"):
            groups[track].append(series.values[person])
        for values in groups.values():
            assert len(values) >= 2
            assert holds(values), (night, Counter(values))
    assert covered > 0
