"""`privacy.adversary`: a margin of k, suppressed crowds, a vector drawn by a secret; against brute force in Python."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from sqlanon import insight, pipeline
from sqlanon.errors import InfeasibleError, SpecError, UsageError
from sqlanon.planning.frontier import frontier
from sqlanon.release.lock import Lock
from sqlanon.spec import Limit, Spec, spec_from_dict
from sqlanon.spec.findings import require_honoured
from tests.kit.database import Database

SECRET = 'an invented secret: it\'s \\ "long" enough'
TOWN, AGE = 'the "town"', "Select.age"
TREES: dict[str, Any] = {
    TOWN: {"north": {"n": ["a1", "it's"], "m": [""]}, "south": {"s": ['b"1', "b\\2"]}},
    AGE: {"young": ["1", "2"], "old": ["3", "4"]},
}
PATHS: dict[str, dict[str | None, tuple[str | None, ...]]] = {
    TOWN: {
        "a1": ("a1", "n", "north", "*"),
        "it's": ("it's", "n", "north", "*"),
        "": ("", "m", "north", "*"),
        'b"1': ('b"1', "s", "south", "*"),
        "b\\2": ("b\\2", "s", "south", "*"),
        None: (None, None, None, "*"),
    },
    AGE: {
        **{value: (value, "young", "*") for value in "12"},
        **{value: (value, "old", "*") for value in "34"},
    },
}
TOWNS: list[str | None] = ["a1", "a1", "a1", "a1", "it's", "it's", "", 'b"1', 'b"1', "b\\2", None, "a1", 'b"1']
PEOPLE = [(TOWNS[n * n % 13], "1234"[(n * n + n // 5) % 4]) for n in range(60)]
Node = tuple[int, int]


def spec_of(url: str, privacy: dict[str, Any], **changes: Any) -> Spec:
    values: dict[str, Any] = {
        "connection": url,
        "source": "people",
        "target": "released",
        "columns": {name: {"role": "quasi_identifier", "hierarchy": {"tree": tree}} for name, tree in TREES.items()},
        "privacy": {"k": 3, "suppression": {"limit": 12}, **privacy},
        "search": {"algorithm": "exhaustive", "metric": "height"},
        "evidence": {"files": False},
        **changes,
    }
    return spec_from_dict(values)


@pytest.fixture
def people(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setenv("SQLANON_TEST_SECRET", SECRET)
    database = Database(engine_url)
    database.create("people", {'the ""town""': "text", AGE: "text"}, PEOPLE)
    return database


def digest(purpose: str, message: str, secret: str = SECRET) -> str:
    key = hmac.new(secret.encode(), f"sqlanon {purpose} of people for released".encode(), hashlib.sha256).hexdigest()
    return hmac.new(key.encode(), message.encode(), hashlib.sha256).hexdigest()


def at(row: tuple[str | None, str], node: Node) -> tuple[str | None, ...]:
    return PATHS[TOWN][row[0]][node[0]], PATHS[AGE][row[1]][node[1]]


def suppressed(node: Node, k: int, rows: Sequence[tuple[str | None, str]] = PEOPLE) -> list[tuple[str | None, str]]:
    classes = Counter(at(row, node) for row in rows)
    return [row for row in rows if classes[at(row, node)] < k]


def crowd(node: Node, k: int) -> tuple[int, int]:
    """Suppressed rows, and the fewest of them in one class with both columns one level further."""
    left = suppressed(node, k)
    further = Counter(at(row, (min(node[0] + 1, 3), min(node[1] + 1, 2))) for row in left)
    return len(left), min(further.values(), default=0)


NODES: list[Node] = list(product(range(4), range(3)))

# -- margin ------------------------------------------------------------------------------------------------------------


def margin(most: int = 4) -> dict[str, Any]:
    return {"adversary": {"margin": {"most": most, "secret": "${SQLANON_TEST_SECRET}"}}}


@pytest.mark.one_engine
def test_a_margin_raises_k_by_the_secret(people: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything goes by the k that was drawn: the search, what is published, the audit of the target, a lock."""
    secrets = [f"{SECRET} {number}" for number in (0, 3)]
    drawn = [3 + int(digest("margin", "k", secret), 16) % 5 for secret in secrets]
    assert len(set(drawn)) > 1
    for secret, k in dict(zip(secrets, drawn, strict=True)).items():
        monkeypatch.setenv("SQLANON_TEST_SECRET", secret)
        spec = spec_of(people.url, margin())
        result = pipeline.run(spec)
        plain = pipeline.plan(spec_of(people.url, {"k": k}))
        assert result.levels == plain.levels
        assert min(people.counted("released").values()) >= k
        assert pipeline.audit_spec(spec).satisfied
        pipeline.apply(spec, Lock.of(spec, pipeline.plan(spec), "spec.yaml"))
        assert pipeline.run(spec, known=Lock.of(spec, pipeline.plan(spec), "spec.yaml"), reuse=True).reused
        people.run("DELETE FROM released", *[f"INSERT INTO released VALUES ('a1', '{v}')" for v in "1" * (k - 1)])
        assert not pipeline.audit_spec(spec).satisfied


@pytest.mark.one_engine
def test_whoever_lacks_the_secret_knows_less_of_suppressed_rows(people: Database) -> None:
    """A cell that failed may hold as many rows as the greatest k leaves."""
    spec = spec_of(people.url, margin(most=40))
    pipeline.run(spec)
    known, unknown = (
        insight.attack(spec_of(people.url, privacy)).of("downcoding").after
        for privacy in ({"k": 3 + int(digest("margin", "k"), 16) % 41}, margin(most=40))
    )
    assert known is not None
    assert unknown is not None
    assert (unknown.figures["pinned"] or 0) <= (known.figures["pinned"] or 0)
    assert (unknown.figures["slack"] or 0) >= (known.figures["slack"] or 0)


# -- suppressed crowds -------------------------------------------------------------------------------------------------


def crowds(at_least: int) -> dict[str, Any]:
    return {"adversary": {"suppression": {"at_least": at_least}}}


@pytest.mark.parametrize("algorithm", ["exhaustive", "incognito"])
@pytest.mark.parametrize("at_least", [2, 4, 6])
def test_none_or_a_crowd_is_suppressed(people: Database, algorithm: str, at_least: int) -> None:
    """The least height of which brute force says the same."""
    spec = spec_of(people.url, crowds(at_least), search={"algorithm": algorithm, "metric": "height"})
    allowed = [node for node in NODES if len(suppressed(node, 3)) <= 12]
    good = [node for node in allowed if not suppressed(node, 3) or min(crowd(node, 3)) >= at_least]
    result = pipeline.run(spec)
    assert tuple(result.levels.values()) in good
    assert sum(result.levels.values()) == min(sum(node) for node in good)
    assert people.counted("released").total() == 60 - len(suppressed((result.levels[TOWN], result.levels[AGE]), 3))
    assert pipeline.audit_spec(spec).satisfied


def test_the_case_tells_crowds_from_single_rows() -> None:
    """The vectors that a crowd of 4 rules out are among those that k alone would take."""
    allowed = [node for node in NODES if len(suppressed(node, 3)) <= 12]
    assert [node for node in allowed if suppressed(node, 3) and min(crowd(node, 3)) < 4]
    assert [node for node in allowed if suppressed(node, 3) and crowd(node, 3)[0] >= 4 > crowd(node, 3)[1]]


def test_a_lock_is_refused_where_the_crowd_is_gone(people: Database) -> None:
    node = next(node for node in NODES if min(crowd(node, 3)) >= 2 and len(suppressed(node, 3)) <= 12)
    spec = spec_of(people.url, crowds(2), columns=fixed(node), search={"algorithm": "exhaustive"})
    plan = pipeline.plan(spec)
    assert plan.requirement["adversary"] == {"suppression": {"at_least": 2}}
    lock = Lock.of(spec, plan, "spec.yaml")
    pipeline.apply(spec, lock)
    before = people.counted("released")
    # All suppressed rows but one leave.
    gone = suppressed(node, 3)
    people.run("DROP TABLE people")
    kept = [row for row in PEOPLE if row not in gone]
    people.create("people", {'the ""town""': "text", AGE: "text"}, [*kept, gone[0]])
    with pytest.raises(InfeasibleError, match=r"privacy\.adversary\.suppression: .* would suppress 1 rows, and 1 of"):
        pipeline.apply(spec, lock)
    assert people.counted("released") == before


def fixed(node: Node) -> dict[str, Any]:
    return {
        name: {"role": "quasi_identifier", "hierarchy": {"tree": tree}, "levels": {"min": level, "max": level}}
        for (name, tree), level in zip(TREES.items(), node, strict=True)
    }


def test_no_vector_suppresses_such_a_crowd(people: Database) -> None:
    node = next(node for node in NODES if 0 < len(suppressed(node, 3)) <= 12)
    spec = spec_of(people.url, crowds(13), columns=fixed(node))
    with pytest.raises(InfeasibleError, match="every acceptable vector suppresses fewer than 13 rows"):
        pipeline.plan(spec)


# -- one of several vectors --------------------------------------------------------------------------------------------


@pytest.mark.representative(9, postgres=1)
@pytest.mark.parametrize("algorithm", ["exhaustive", "incognito"])
def test_a_vector_is_drawn_from_those_that_are_good_enough(
    people: Database, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = [node for node in NODES if len(suppressed(node, 3)) <= 12]
    least = min(map(sum, allowed))
    good = [node for node in allowed if sum(node) <= 2 * least]
    assert len(good) > 2
    drawn = set()
    for number in range(5):
        secret = f"{SECRET} {number}"
        monkeypatch.setenv("SQLANON_TEST_SECRET", secret)
        choice = {"within": "100%", "secret": "${SQLANON_TEST_SECRET}"}
        spec = spec_of(
            people.url, {"adversary": {"choice": choice}}, search={"algorithm": algorithm, "metric": "height"}
        )
        found = pipeline.plan(spec)
        wanted = min(good, key=lambda node: digest("choice", f"{node[0]},{node[1]}", secret))
        assert tuple(found.levels.values()) == wanted
        assert any(f"one vector of {len(good)} " in text for text in found.warnings)
        drawn.add(wanted)
        if number == 4:
            assert pipeline.run(spec).levels == found.levels
    assert len(drawn) > 1


def test_a_search_that_is_cut_short_draws_nothing(people: Database) -> None:
    choice = {"within": "100%", "secret": "${SQLANON_TEST_SECRET}"}
    search = {"algorithm": "exhaustive", "metric": "height", "budget": {"nodes": 5}}
    with pytest.raises(InfeasibleError, match="the budget was spent before all acceptable vectors were known"):
        pipeline.plan(spec_of(people.url, {"adversary": {"choice": choice}}, search=search))


# -- what is refused ---------------------------------------------------------------------------------------------------

CHOICE = {"within": "5%", "secret": "${SQLANON_TEST_SECRET}"}
MARGIN = {"most": 2, "secret": "${SQLANON_TEST_SECRET}"}
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("it raises privacy.k", {"k": None, "k_map": 2, "adversary": {"margin": MARGIN}}, {}),
    ("it raises one k", {"adversary": {"margin": MARGIN}, "quasi_identifiers": {"a": {"columns": [TOWN]}}}, {}),
    ("can read its query", {"adversary": {"margin": MARGIN}}, {"target": {"view": "released"}}),
    ("when it is read", {"adversary": {"suppression": {"at_least": 3}}}, {"target": {"view": "released"}}),
    ("draws the vector", {"adversary": {"choice": CHOICE}}, {"search": {"prefer": ["minimum_suppression"]}}),
    ("optimal does not honour it", {"adversary": {"choice": CHOICE}}, {"search": {"algorithm": "optimal"}}),
    ("optimal does not honour it", {"adversary": {"suppression": {"at_least": 3}}}, {"search": {}}),
    ("matching does not honour it", {"adversary": {"margin": MARGIN}, "k": 2}, {"search": {"algorithm": "matching"}}),
    ("matching honours it only for 1", {"adversary": {"slack": 2}, "k": 2}, {"search": {"algorithm": "matching"}}),
    ("forest does not see to it", {"adversary": {}}, {"search": {"algorithm": "forest", "model": "AG_CS"}}),
    ("adversary: it asks for nothing but slack, which exhaustive does not honour", {"adversary": {}}, {}),
    ("percentage", {"adversary": {"choice": {**CHOICE, "within": 5}}}, {}),
    ("at_least", {"adversary": {"suppression": {"at_least": 1}}}, {}),
    ("most", {"adversary": {"margin": {**MARGIN, "most": 0}}}, {}),
    ("secret", {"adversary": {"margin": {**MARGIN, "secret": SECRET}}}, {}),
    ("slack", {"adversary": {"slack": -1}}, {}),
]


@pytest.mark.parametrize(("message", "privacy", "changes"), REFUSED)
def test_what_cannot_be_kept_is_refused(message: str, privacy: dict[str, Any], changes: dict[str, Any]) -> None:
    search = {"algorithm": "exhaustive", **changes.get("search", {})} if changes.get("search") != {} else {}
    with pytest.raises(SpecError, match=message) as caught:
        spec_of("duckdb:///nowhere.duckdb", privacy, **{**changes, "search": search})
    assert SECRET not in str(caught.value)


def test_nothing_else_publishes_it(duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, dict[str, Any]] = {"margin": MARGIN, "suppression": {"at_least": 3}, "choice": CHOICE}
    for name, value in asked.items():
        spec = spec_of(duckdb_url, {"adversary": {name: value}})
        for command in ("script", "dbt") if name != "choice" else ():
            with pytest.raises(UsageError, match=rf"privacy\.adversary\.{name}: "):
                require_honoured(spec, command)
        with pytest.raises(UsageError, match=rf"privacy\.adversary\.{name}: "):
            frontier(spec, [2], [Limit(count=0)])
    monkeypatch.delenv("SQLANON_TEST_SECRET", raising=False)
    Database(duckdb_url).create("people", {'the ""town""': "text", AGE: "text"}, PEOPLE)
    for name in ("margin", "choice"):
        with pytest.raises(UsageError, match="SQLANON_TEST_SECRET is not set"):
            pipeline.plan(spec_of(duckdb_url, {"adversary": {name: asked[name]}}))
