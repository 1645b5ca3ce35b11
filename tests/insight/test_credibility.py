"""Credibility by minimality: the paper's example, and every assignment of values that agrees with a small release."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import comb
from typing import Any

import pytest

from sqlanon import insight, pipeline
from sqlanon.insight.adversary import credibility, hierarchies_of, not_minimal
from sqlanon.insight.options import published
from sqlanon.source.run import DEFAULT, running
from sqlanon.spec import Spec, spec_from_dict
from tests.kit import oracle
from tests.kit.database import Database

PLACE, SEX, ILL = "the place", "select", "ill's"
TREES: dict[str, Any] = {
    PLACE: {"Q": ["q1", "q2"], "it's": ['r"1', "r\\2"]},
    SEX: ["m", "f"],
}
PATHS: dict[str, dict[str, tuple[str, ...]]] = {
    PLACE: {
        "q1": ("q1", "Q", "*"),
        "q2": ("q2", "Q", "*"),
        'r"1': ('r"1', "it's", "*"),
        "r\\2": ("r\\2", "it's", "*"),
    },
    SEX: {value: (value, "*") for value in "mf"},
}
HEIGHTS = (2, 1)
ILLNESSES: tuple[str | None, ...] = ("HIV", "flu, \"'", None)
Person = tuple[str, str]
Node = tuple[int, int]


def spec_of(url: str, privacy: dict[str, Any], **changes: Any) -> Spec:
    columns: dict[str, Any] = {
        name: {"role": "quasi_identifier", "hierarchy": {"tree": tree}} for name, tree in TREES.items()
    }
    sensitive = {"role": "sensitive", "hierarchy": {"tree": {"virus": ["HIV", "flu, \"'"], "other": ["cold"]}}}
    values: dict[str, Any] = {
        "connection": url,
        "source": "people",
        "target": "released",
        "columns": {**columns, ILL: sensitive},
        "privacy": privacy,
        "search": {"algorithm": "samarati"},
        "evidence": {"files": False},
        **changes,
    }
    return spec_from_dict(values)


def load(url: str, rows: Sequence[Sequence[str | None]], name: str = "people") -> Database:
    database = Database(url)
    database.run(f"DROP TABLE IF EXISTS {name}")
    database.create(name, {PLACE: "text", SEX: "text", ILL: "text"}, rows)
    return database


def believed(spec: Spec) -> dict[str, Any] | str:
    with running(spec, DEFAULT) as run:
        target = published(run)
        assert target is not None
        found = credibility(run, target, hierarchies_of(run))
        if isinstance(found, str):
            return found
        [only] = found
        assert only.after is not None
        return dict(only.after.figures)


# -- the paper ---------------------------------------------------------------------------------------------------------


def test_the_paper(engine_url: str) -> None:
    """Wong et al.: two people of q1 and four of q2, two of whom have cancer, released as Q under simplified
    2-diversity. Had q1 not held both, each would have been released as it is: both of q1 have cancer."""
    rows = [("q1", "m", "HIV")] * 2 + [("q2", "m", None)] * 2 + [("q2", "m", "flu, \"'")] * 2
    load(engine_url, rows)
    alpha = {"k": 2, "alpha": [{"column": ILL, "value": "HIV", "alpha": 0.5}]}
    for algorithm in ("samarati", "optimal"):
        spec = spec_of(engine_url, alpha, search={"algorithm": algorithm})
        assert pipeline.run(spec).levels == {PLACE: 1, SEX: 0}
        found = insight.attack(spec).of("credibility")
        assert found.column == ILL
        assert found.after is not None
        assert dict(found.after.figures) == {
            "people": 6, "nodes": 1, "certain": 2, "beyond": 2, "uncounted": 0,
            "share": pytest.approx(1 / 3), "credibility": 1,
        }  # fmt: skip
    diverse = {"k": 2, "l_diversity": [{"column": ILL, "l": 2}]}
    pipeline.run(spec_of(engine_url, diverse))
    # Of the 90 ways to hand out two of each, 18 give q1 two alike; both have any of the three values as likely.
    assert believed(spec_of(engine_url, diverse)) == {
        "people": 6, "nodes": 1, "certain": 0, "beyond": 0, "uncounted": 0,
        "share": pytest.approx(1 / 3), "credibility": pytest.approx(1 / 3),
    }  # fmt: skip


def test_two_sensitive_columns(duckdb_url: str) -> None:
    """Values of both are handed out together; only the one that failed becomes credible."""
    database = Database(duckdb_url)
    rows = [("q1", "HIV", "x"), ("q1", "HIV", "y"), ("q2", "flu", "x"), ("q2", "cold", "y"), ("q2", "flu", "z")]
    database.create("people", {PLACE: "text", ILL: "text", "other": "text"}, rows)
    columns = {
        PLACE: {"role": "quasi_identifier", "hierarchy": {"tree": TREES[PLACE]}},
        ILL: {"role": "sensitive"},
        "other": {"role": "sensitive"},
    }
    asked = {
        "k": 2,
        "alpha": [{"column": ILL, "value": "HIV", "alpha": 0.5}],
        "l_diversity": [{"column": "other", "l": 2}],
    }
    spec = spec_of(duckdb_url, asked, columns=columns)
    assert pipeline.run(spec).levels == {PLACE: 1}
    found = {item.column: item.after for item in insight.attack(spec).attacks if item.name == "credibility"}
    ways = [
        [dict(zip(range(5), order, strict=True)) for order in permutations([row[1:] for row in rows])][number]
        for number in range(120)
    ]
    failed = [
        way
        for way in ways
        if sum(way[person][0] == "HIV" for person in (0, 1)) > 1
        or sum(way[person][0] == "HIV" for person in (2, 3, 4)) > 1.5
        or way[0][1] == way[1][1]
    ]
    first = Fraction(sum(way[0][0] == "HIV" for way in failed), len(failed))
    second = Fraction(sum(way[2][0] == "HIV" for way in failed), len(failed))
    others = [
        Fraction(sum(way[person][1] == value for way in failed), len(failed)) for person in (0, 2) for value in "xyz"
    ]
    ill, other = found[ILL], found["other"]
    assert ill is not None
    assert other is not None
    assert ill.figures["credibility"] == pytest.approx(float(max(first, second)))
    assert other.figures["credibility"] == pytest.approx(float(max(others)))


# -- brute force -------------------------------------------------------------------------------------------------------

HIERARCHY = {"HIV": ("HIV", "virus", "*"), "flu, \"'": ("flu, \"'", "virus", "*"), "cold": ("cold", "other", "*")}
MODELS: dict[str, tuple[dict[str, Any], oracle.Model, tuple[str | None, ...] | None]] = {
    "distinct": ({"l_diversity": [{"column": ILL, "l": 2}]}, oracle.DistinctL(2), None),
    "entropy": (
        {"l_diversity": [{"column": ILL, "l": 2, "kind": "entropy"}]}, oracle.EntropyL(2), None,
    ),
    "recursive": (
        {"l_diversity": [{"column": ILL, "l": 2, "c": 2, "kind": "recursive"}]},
        oracle.RecursiveL(Fraction(2), 2), None,
    ),
    "alpha": (
        {"alpha": [{"column": ILL, "value": "HIV", "alpha": "0.5"}]}, oracle.Alpha("HIV", Fraction(1, 2)), ("HIV",),
    ),
    "p": ({"p_sensitive": [{"column": ILL, "p": 2}]}, oracle.PSensitive(2), None),
    "equal": ({"t_closeness": [{"column": ILL, "t": "0.3"}]}, oracle.TEqual(Fraction("0.3")), None),
    "ordered": (
        {"t_closeness": [{"column": ILL, "t": "0.3", "distance": "ordered", "order": ["flu, \"'", "HIV"]}]},
        oracle.TOrdered(Fraction("0.3"), (None, "flu, \"'", "HIV")), None,
    ),
    "beta": ({"beta_likeness": [{"column": ILL, "beta": 1}]}, oracle.BetaLikeness(Fraction(1)), None),
    "delta": ({"delta_disclosure": [{"column": ILL, "delta": 1}]}, oracle.DeltaDisclosure(Fraction(1)), None),
}  # fmt: skip


def at(person: Person, node: Node) -> tuple[str, str]:
    return PATHS[PLACE][person[0]][node[0]], PATHS[SEX][person[1]][node[1]]


def failing(people: Sequence[Person], ills: Sequence[str | None], node: Node, k: int, model: oracle.Model) -> set[int]:
    """The rows that are suppressed at a node, by their numbers."""
    labels = [at(person, node) for person in people]
    table = oracle.Table([{"a": a, "b": b, "s": ill} for (a, b), ill in zip(labels, ills, strict=True)])
    asked = oracle.Asked(model, ("a", "b"), "s")
    verdicts, sizes = table.verdicts(asked), Counter(labels)
    return {number for number, label in enumerate(labels) if sizes[label] < k or not verdicts[label]}


def below(node: Node) -> Iterator[Node]:
    for place, level in enumerate(node):
        if level:
            yield (node[0] - (place == 0), node[1] - (place == 1))


def ways_of(labels: Sequence[tuple[str, str]], ills: Sequence[str | None]) -> Iterator[list[str | None]]:
    """Every way to hand the values of each class to its people."""
    members = defaultdict(list)
    for number, label in enumerate(labels):
        members[label].append(number)
    groups = list(members.values())
    for orders in product(*(sorted(set(permutations([ills[m] for m in group])), key=repr) for group in groups)):
        found: list[str | None] = [None] * len(labels)
        for group, order in zip(groups, orders, strict=True):
            for member, value in zip(group, order, strict=True):
                found[member] = value
        yield found


def by_hand(
    people: Sequence[Person],
    ills: Sequence[str | None],
    node: Node,
    k: int,
    limit: int,
    asked: tuple[oracle.Model, tuple[str | None, ...] | None],
) -> dict[str, Any]:
    """The figures of the attack: every table that could have been the source, judged by the definitions."""
    model, told = asked
    kept = [number for number in range(len(people)) if number not in failing(people, ills, node, k, model)]
    labels = [at(person, node) for person in people]
    shares: dict[tuple[tuple[str, str], str | None], Fraction] = {}
    for label in {labels[number] for number in kept}:
        held = Counter(ill for own, ill in zip(labels, ills, strict=True) if own == label)
        shares |= {(label, ill): Fraction(held[ill], held.total()) for ill in held if told is None or ill in told}
    share = max(shares.values(), default=Fraction(0))
    best: tuple[int, int, Fraction] = (0, 0, share)
    nodes = 0
    for lower in below(node):
        sizes = Counter(at(person, lower) for person in people)
        if sum(size for size in sizes.values() if size < k) > limit:
            continue
        if len(failing(people, ills, lower, k, model)) <= limit:
            continue
        nodes += 1
        known, holds = 0, Counter[tuple[int, str | None]]()
        for way in ways_of(labels, ills):
            if len(failing(people, way, lower, k, model)) > limit:
                known += 1
                holds.update(enumerate(way))
        split = [
            n
            for n in kept
            if len({at(p, lower) for p, own in zip(people, labels, strict=True) if own == labels[n]}) > 1
        ]
        greatest = {
            n: max(Fraction(holds[n, ill], known) for ill in ILLNESSES if told is None or ill in told) for n in split
        }
        several = {
            n for n in split if len({ill for own, ill in zip(labels, ills, strict=True) if own == labels[n]}) > 1
        }
        certain = sum(greatest[n] == 1 for n in split if n in several)
        beyond = sum(greatest[n] > share for n in split)
        best = max(best if nodes > 1 else (0, 0, Fraction(0)), (certain, beyond, max(greatest.values(), default=share)))
    return {
        "people": len(kept), "nodes": nodes, "certain": best[0], "beyond": best[1], "uncounted": 0,
        "share": pytest.approx(float(share)), "credibility": pytest.approx(float(max(best[2], share))),
    }  # fmt: skip


Case = tuple[list[Person], list[str | None], Node, int, int]


def cases(name: str, wanted: int) -> list[Case]:
    """Small tables with a vector that is minimal while some vector below it tells something."""
    model = MODELS[name][1]
    dice, found = random.Random(name), list[Case]()
    while len(found) < wanted:
        number, k, limit = dice.randint(4, 7), dice.randint(1, 3), dice.choice((0, 0, 1, 2))
        places, kinds = dice.sample(sorted(PATHS[PLACE]), dice.randint(2, 3)), dice.randint(1, 2)
        people = [(dice.choice(places), "mf"[dice.randrange(kinds)]) for _ in range(number)]
        ills = [dice.choice(ILLNESSES) for _ in range(number)]
        for node in product(range(3), range(2)):
            gone = failing(people, ills, node, k, model)
            lower = [len(failing(people, ills, one, k, model)) > limit for one in below(node)]
            sizes = Counter(at(person, node) for person in people)
            small = all(sizes[at(people[one], node)] < k for one in gone)
            if len(gone) <= limit and lower and all(lower) and small and len(gone) < number:
                case = (people, ills, node, k, limit)
                if by_hand(*case, MODELS[name][1:])["nodes"]:
                    found.append(case)
    return found


@pytest.mark.representative(9, postgres=2)
@pytest.mark.parametrize("name", MODELS)
def test_every_table_that_agrees(engine_url: str, name: str) -> None:
    told = set()
    for people, ills, node, k, limit in cases(name, 3):
        load(engine_url, [(*person, ill) for person, ill in zip(people, ills, strict=True)])
        model = MODELS[name][1]
        gone = failing(people, ills, node, k, model)
        kept = [(*at(p, node), ill) for n, (p, ill) in enumerate(zip(people, ills, strict=True)) if n not in gone]
        load(engine_url, kept, "released")
        spec = spec_of(engine_url, {"k": k, "suppression": {"limit": limit}, **MODELS[name][0]})
        answer = believed(spec)
        if gone and name in ("equal", "ordered", "beta", "delta"):
            assert answer == "classes are compared with the whole table, and the release lacks rows of it"
            continue
        wanted = by_hand(people, ills, node, k, limit, MODELS[name][1:])
        assert answer == wanted, (people, ills, node, k, limit)
        told.add(wanted["beyond"] > 0)
    assert told


# -- what cannot be said -----------------------------------------------------------------------------------------------


def test_what_is_not_counted_is_said(duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLANON_TEST_SECRET", "an invented secret that is long enough")
    load(duckdb_url, [("q1", "m", "HIV")] * 2 + [("q2", "m", None)] * 2 + [("q2", "m", "flu, \"'")] * 2)
    alpha = [{"column": ILL, "value": "HIV", "alpha": 0.5}]
    secret = {"secret": "${SQLANON_TEST_SECRET}"}
    pipeline.run(spec_of(duckdb_url, {"k": 2, "alpha": alpha, "suppression": {"limit": 3}}))
    reasons: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "datafly": ({}, {"search": {"algorithm": "datafly"}}),
        "choice draws": (
            {"adversary": {"choice": {"within": "5%", **secret}}}, {"search": {"algorithm": "incognito"}},
        ),
        "for a k that nobody knows": ({"adversary": {"margin": {"most": 2, **secret}}}, {}),
        "forbidden": ({}, {"search": {"algorithm": "samarati", "constraints": {"forbidden": [{PLACE: 0, SEX: 1}]}}}),
        "acceptable and cost more": ({"suppression": {"limit": 2}}, {"search": {"algorithm": "optimal"}}),
        "suppressed for their values": ({"suppression": {"limit": 3}}, {}),
    }  # fmt: skip
    for words, (privacy, changes) in reasons.items():
        spec = spec_of(duckdb_url, {"k": 2, "alpha": alpha, **privacy}, **changes)
        with running(spec, DEFAULT) as run:
            target = published(run)
            assert target is not None
            assert words in str(not_minimal(run) or credibility(run, target, hierarchies_of(run)))
    spec = spec_of(duckdb_url, {"k": 2, "alpha": alpha}, search={"algorithm": "datafly"})
    notes = insight.attack(spec).notes
    assert "credibility was not measured: the vector of datafly need not be minimal" in notes


def test_larger_classes_are_counted_in_closed_form_or_named(duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one named value the ways are products of binomials, also in a class of 400; of many values they are too
    many, and the people are named as uncounted."""
    database = Database(duckdb_url)
    database.create("people", {PLACE: "text", SEX: "text", ILL: "text"}, [("q1", "m", "HIV")] * 6)
    database.run(
        "INSERT INTO people SELECT 'q1', 'm', 'd' || (i % 7) FROM range(4) r(i)",
        "INSERT INTO people SELECT 'q2', 'm', 'd' || (i % 7) FROM range(380) r(i)",
        "INSERT INTO people SELECT 'q2', 'm', 'HIV' FROM range(10)",
    )
    spec = spec_of(duckdb_url, {"k": 2, "alpha": [{"column": ILL, "value": "HIV", "alpha": 0.5}]})
    pipeline.run(spec)
    found = believed(spec)
    assert isinstance(found, dict)
    assert found["uncounted"] == 0
    # q1 has 10 people, of whom more than 5 have it: C(10, j) C(390, 16 - j) ways for each j.
    ways = {j: comb(10, j) * comb(390, 16 - j) for j in range(6, 11)}
    assert found["credibility"] == pytest.approx(sum(n * j for j, n in ways.items()) / 10 / sum(ways.values()))
    diverse = spec_of(duckdb_url, {"k": 2, "l_diversity": [{"column": ILL, "l": 8}]})
    database.run("DELETE FROM people", "INSERT INTO people SELECT 'q1', 'm', 'd' || (i % 9) FROM range(7) r(i)")
    database.run("INSERT INTO people SELECT 'q2', 'm', 'd' || (i % 9) FROM range(300) r(i)")
    pipeline.run(diverse)
    found = believed(diverse)
    assert isinstance(found, dict)
    assert found["uncounted"] == 307
