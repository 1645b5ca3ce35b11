"""Both recoders on random tables with hostile names and values, judged by hand; `greedy` against Figure 4 itself."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import duckdb
import psycopg
import pytest

from sqlanon import pipeline
from sqlanon.errors import SpecError
from sqlanon.insight import use as measuring
from sqlanon.insight.workload import RandomQueries
from sqlanon.recoding import Recoding
from sqlanon.source.run import DEFAULT
from sqlanon.spec import spec_from_dict
from tests.kit.database import Database
from tests.kit.personalized import (
    Row,
    Taxonomy,
    greatest_breach,
    least_generalization,
    make,
    opened,
    released,
    tree_taxonomy,
)
from tests.kit.scripts import run_script
from tests.kit.tables import quoted

AGE, PLACE, ILLNESS, GUARD, PERSON = "the age", 'pl"ace', "select", "group", "p.i.d"
PLACES = {"north'": ["o'slo", "tromsø"], "south \\": ["", "café", "*x*"]}
ILLNESSES = {
    "breath": {"lung's": ["flu", "a \\ b", 'c "d"'], "throat": ["cough", "cøld"]},
    "belly": {"stomach": ["ulcer", "ache"], "gut": ["colic"]},
}
TYPES = {PERSON: "int", AGE: "int", PLACE: "text", ILLNESS: "text", GUARD: "text"}


def random_people(chance: random.Random, number: int, repeated: bool) -> list[dict[str, Any]]:
    paths = [(leaf, middle) for below in ILLNESSES.values() for middle, leaves in below.items() for leaf in leaves]
    people = []
    for person in range(number):
        age = chance.choice([None, *range(20, 30)])
        place = chance.choice([None, *(place for places in PLACES.values() for place in places)])
        for _ in range(chance.choice([1, 2, 3]) if repeated else 1):
            path = chance.choice([*paths, None])
            guard = None if path is None else chance.choice([None, path[0], path[0], path[1]])
            illness = None if path is None else path[0]
            people.append({PERSON: person, AGE: age, PLACE: place, ILLNESS: illness, GUARD: guard})
    return people


def spec_of(url: str, algorithm: str, primary: bool, p: str = "0.4", weight: float | str = 1) -> dict[str, Any]:
    return {
        "connection": url,
        "source": {"table": '"my people"'},
        "target": {"table": '"re.lease"'},
        **({} if primary else {"respondent": PERSON}),
        "columns": {
            PERSON: {"role": "identifier"},
            AGE: {"role": "quasi_identifier"},
            PLACE: {"role": "quasi_identifier", "hierarchy": {"tree": PLACES}},
            ILLNESS: {"role": "sensitive", "hierarchy": {"tree": ILLNESSES}},
            GUARD: {"role": "identifier"},
        },
        "privacy": {
            "personalized": {"column": ILLNESS, "guarding": GUARD, "p_breach": p, "primary": primary, "weight": weight}
        },
        "search": {"algorithm": algorithm},
        "evidence": {"files": False},
    }


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize("primary", [True, False], ids=["primary", "nonprimary"])
def test_nobody_is_exposed_whatever_names_and_values(duckdb_url: str, postgres_url: str, primary: bool) -> None:
    """One case on each engine; all four, and greedy, in the soak."""
    nobody_is_exposed(duckdb_url if primary else postgres_url, "personalized", primary)


@pytest.mark.soak
@pytest.mark.parametrize("primary", [True, False], ids=["primary", "nonprimary"])
@pytest.mark.parametrize("algorithm", ["personalized", "greedy"])
def test_nobody_is_exposed_on_any_engine(engine_url: str, algorithm: str, primary: bool) -> None:
    nobody_is_exposed(engine_url, algorithm, primary)


def nobody_is_exposed(engine_url: str, algorithm: str, primary: bool) -> None:
    people = random_people(random.Random(f"{algorithm}{primary}"), 9, repeated=not primary)
    engine = opened(engine_url)
    make(engine, "my people", TYPES, people)
    p = Fraction(2, 5) if primary else Fraction(7, 10)
    values = spec_of(engine_url, algorithm, primary, "0.4" if primary else "0.7")
    result = pipeline.run(spec_from_dict(values))
    rows = released(engine, "re.lease", (AGE, PLACE, ILLNESS))
    engine.close()
    assert len(rows) == len(people)
    tree = {**ILLNESSES, "none": {"none": ["no illness"]}} if any(row[ILLNESS] is None for row in people) else ILLNESSES
    taxonomy, _, nodes = tree_taxonomy(tree)
    above: dict[str, dict[object, tuple[str, str]]] = {}
    above[PLACE] = {place: (branch, "*") for branch, places in PLACES.items() for place in places}
    source = [({AGE: row[AGE], PLACE: row[PLACE]}, row[GUARD], row[PERSON]) for row in people]
    shown = [((age, place), "no illness" if illness is None else illness) for age, place, illness in rows]
    worst = greatest_breach(taxonomy, nodes, source, shown, (AGE, PLACE), primary=primary, above=above)
    assert worst <= p
    audit = result.publication.audit
    assert audit.breaches is not None
    assert audit.breaches.maximum == pytest.approx(float(worst), abs=1e-9)
    again = measuring.audit_personalized(spec_from_dict(values), DEFAULT)
    assert again.breaches is not None
    assert again.breaches.to_dict()["levels"] == [
        {key: pytest.approx(value) for key, value in level.items()} for level in audit.breaches.to_dict()["levels"]
    ]
    the_script_publishes_the_same(values, result.recoding, rows)


def the_script_publishes_the_same(values: dict[str, Any], recoding: Recoding, rows: Sequence[tuple[Any, ...]]) -> None:
    """Through the database's own client; and not where somebody's guarding node is another one by then."""
    database = Database(values["connection"])
    text = pipeline.scripted(spec_from_dict(values), recoding).text
    database.run('DROP TABLE "re.lease"')
    run_script(database, text)
    columns = ", ".join(quoted(name) for name in (AGE, PLACE, ILLNESS))
    assert Counter(database.run(f'SELECT {columns} FROM "re.lease"')) == Counter(rows)
    database.run(f"UPDATE \"my people\" SET {quoted(GUARD)} = '*'")
    with pytest.raises((duckdb.Error, psycopg.Error), match="a guarding node can be inferred"):
        run_script(database, text)


# -- Figure 4, word by word ------------------------------------------------------------------------------------------

Partitions = tuple[tuple[tuple[int, int], ...], tuple[frozenset[str], ...]]


def figure_4(
    people: Sequence[Mapping[str, Any]], taxonomy: Taxonomy, nodes: Mapping[str, Any], p: Fraction
) -> Fraction:
    """The loss of Xiao and Tao's greedy algorithm on ages and places, every candidate computed from scratch."""
    ages = sorted({row[AGE] for row in people})
    leaves = sorted(place for places in PLACES.values() for place in places)
    domains: Partitions = (((0, len(ages) - 1),), (frozenset(leaves),))
    loss = table_loss(people, domains, ages, leaves, taxonomy, nodes, p)
    assert loss is not None
    while True:
        tried = [(table_loss(people, split, ages, leaves, taxonomy, nodes, p), split) for split in splits(domains)]
        better = [(found, split) for found, split in tried if found is not None and found < loss]
        if not better:
            return loss
        loss, domains = min(better, key=lambda item: item[0])


def splits(domains: Partitions) -> Iterator[Partitions]:
    intervals, groups = domains
    for place, (low, high) in enumerate(intervals):
        for cut in range(low, high):
            yield (*intervals[:place], (low, cut), (cut + 1, high), *intervals[place + 1 :]), groups
    for place, group in enumerate(groups):
        whole = len(group) == sum(map(len, PLACES.values()))
        branches = [frozenset(places) for places in PLACES.values()]
        parts = branches if whole else [frozenset([leaf]) for leaf in sorted(group)]
        if len(group) > 1:
            yield intervals, (*groups[:place], *parts, *groups[place + 1 :])


def table_loss(
    people: Sequence[Mapping[str, Any]],
    domains: Partitions,
    ages: Sequence[int],
    leaves: Sequence[str],
    taxonomy: Taxonomy,
    nodes: Mapping[str, Any],
    p: Fraction,
) -> Fraction | None:
    groups: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for row in people:
        age = ages.index(row[AGE])
        interval = next(place for place, (low, high) in enumerate(domains[0]) if low <= age <= high)
        group = next(place for place, members in enumerate(domains[1]) if row[PLACE] in members)
        groups.setdefault((interval, group), []).append(row)
    total = Fraction(0)
    for (interval, place), members in groups.items():
        low, high = domains[0][interval]
        size = len(domains[1][place])
        years = Fraction(ages[high] - ages[low], ages[-1] - ages[0] + 1)
        total += len(members) * (years + Fraction(size - 1, len(leaves)))
        rows = [
            Row(nodes[row[ILLNESS]][1], None if row[GUARD] is None else nodes[row[GUARD]], row[PERSON])
            for row in members
        ]
        chosen = least_generalization(taxonomy, rows, len(rows), p, True)
        if chosen is None:
            return None
        total += sum(
            (Fraction(len(taxonomy.below(chosen[row.leaf])) - 1, taxonomy.leaves) for row in rows), Fraction(0)
        )
    return total


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_greedy_is_figure_4_and_the_default_loses_no_more(duckdb_url: str, seed: int) -> None:
    chance = random.Random(seed)
    known = [place for places in PLACES.values() for place in places]
    people = [row for row in random_people(chance, 40, False) if row[ILLNESS] and row[AGE]][:16]
    people = [{**row, PLACE: chance.choice(known), AGE: 20 + row[AGE] % 5} for row in people]
    engine = opened(duckdb_url)
    make(engine, "my people", TYPES, people)
    engine.close()
    taxonomy, _, nodes = tree_taxonomy(ILLNESSES)
    values = spec_of(duckdb_url, "greedy", True)
    # A node with a single child, as this root, is that child: there is nothing to gain by going down one step.
    values["columns"][PLACE]["hierarchy"] = {"tree": {"earth": {"land": PLACES}}}
    greedy = pipeline.plan(spec_from_dict(values)).to_dict()["score"]["information_loss"]
    assert greedy == pytest.approx(float(figure_4(people, taxonomy, nodes, Fraction(2, 5))))
    better = pipeline.plan(spec_from_dict(spec_of(duckdb_url, "personalized", True)))
    assert better.to_dict()["score"]["information_loss"] <= greedy + 1e-9


@pytest.mark.parametrize("algorithm", ["personalized", pytest.param("greedy", marks=pytest.mark.soak)])
def test_infinity_never_generalizes_the_sensitive_column(duckdb_url: str, algorithm: str) -> None:
    people = random_people(random.Random(5), 14, False)
    engine = opened(duckdb_url)
    make(engine, "my people", TYPES, people)
    pipeline.run(spec_from_dict(spec_of(duckdb_url, algorithm, True, p="0.6", weight="infinity")))
    shown = [row[0] for row in released(engine, "re.lease", (ILLNESS,))]
    engine.close()
    assert sorted(map(str, shown)) == sorted(str(row[ILLNESS]) for row in people)


# -- workloads -------------------------------------------------------------------------------------------------------


@pytest.mark.one_engine
def test_a_workload_is_answered_as_by_hand(engine_url: str) -> None:
    """Ages 20 to 29 once each, released in two intervals; everybody has one of two illnesses."""
    people = [
        {PERSON: n, AGE: 20 + n, PLACE: "o'slo" if n % 2 else "café", ILLNESS: "flu" if n < 7 else "ulcer", GUARD: None}
        for n in range(10)
    ]
    release = [
        {
            AGE: "[20, 24]" if n < 5 else "25-29",
            PLACE: "*" if n < 5 else row[PLACE],
            ILLNESS: "lung's" if n < 5 else row[ILLNESS],
        }
        for n, row in enumerate(people)
    ]
    engine = opened(engine_url)
    make(engine, "my people", TYPES, people)
    make(engine, "by hand", {AGE: "text", PLACE: "text", ILLNESS: "text"}, release)
    engine.close()
    spec = spec_from_dict(spec_of(engine_url, "personalized", True))
    asked: list[dict[str, Any]] = [
        {AGE: [22, 26]},  # 3 of 5 ages of five rows, 2 of 5 of the others: 5; really 5
        {ILLNESS: "flu"},  # a third of five rows, and two rows: 3.667; really 7
        {AGE: "[20, 22)", ILLNESS: "lung's"},  # 2/5 of five rows: 2; really 2
        # A fifth of a third of five rows, for five places are listed, and one row: 1.333; really 3.
        {PLACE: "o'slo", ILLNESS: ["flu", "flu"]},
        {AGE: 29, ILLNESS: "colic"},  # nobody
    ]
    result = measuring.workload(spec, asked, DEFAULT, table='"by hand"')
    pairs = [(answer.actual, answer.estimate) for answer in result.answers]
    assert pairs == [(5, 5), (7, pytest.approx(5 / 3 + 2)), (2, 2), (3, pytest.approx(1 / 3 + 1))]
    assert result.empty == 1
    assert result.error == pytest.approx(((7 - 11 / 3) / 7 + (3 - 4 / 3) / 3) / 4)
    chosen = measuring.workload(spec, RandomQueries(30, 0.5, 3), DEFAULT, table='"my people"')
    assert chosen.error == 0.0
    assert {answer.kind for answer in chosen.answers} == {"type 1", "type 2"}


# -- specs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"privacy.k": 3}, "privacy.personalized: it stands alone"),
        ({"search.algorithm": "optimal"}, "search.algorithm: with privacy.personalized it is personalized or greedy"),
        ({"privacy.personalized.primary": False}, "privacy.personalized.primary: false needs respondent"),
        ({"privacy.personalized.column": AGE}, "is not a column of role sensitive"),
        ({"privacy.personalized.guarding": ILLNESS}, "must be a column of role identifier"),
        ({"privacy.personalized.taxonomy": {"tree": {"a": ["b"]}}}, "stands at the column already"),
        ({"privacy.suppression": {"limit": 1}}, "no row is suppressed"),
        ({"privacy.personalized.p_breach": 0}, "privacy.personalized.p_breach"),
        ({"respondent": PERSON}, "privacy.personalized.primary: true: leave respondent out"),
    ],
    ids=lambda item: next(iter(item)) if isinstance(item, dict) else "",
)
def test_what_does_not_go_together_is_refused(change: dict[str, Any], message: str) -> None:
    values = spec_of("duckdb:///:memory:", "personalized", True)
    for path, value in change.items():
        *above, last = path.split(".")
        place: dict[str, Any] = values
        for key in above:
            place = place[key]
        place[last] = value
    with pytest.raises(SpecError, match=message.replace(".", r"\.")):
        spec_from_dict(values)


def test_the_recoders_need_the_requirement() -> None:
    values = spec_of("duckdb:///:memory:", "greedy", True)
    values["privacy"] = {"k": 2}
    with pytest.raises(SpecError, match=r"greedy needs privacy\.personalized"):
        spec_from_dict(values)
    values = spec_of("duckdb:///:memory:", "greedy", True)
    del values["search"]
    assert spec_from_dict(values).search.algorithm == "personalized"
