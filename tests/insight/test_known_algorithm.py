"""Attacks by whoever knows the algorithm, or trains on the release: by hand, and against naive Bayes in Python."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import combinations_with_replacement, permutations
from math import log
from typing import Any

import pytest

from sqlanon import insight, pipeline
from sqlanon.insight.adversary import CountedValues, infer
from sqlanon.insight.options import AttackOptions
from sqlanon.source.run import DEFAULT, running
from sqlanon.spec import Spec, spec_from_dict
from tests.insight.test_downcoding import V1, WORLDS, Cell, World, figures, rounds, spec_of
from tests.kit.database import Database

TREES: dict[str, Any] = {"x": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"]}}


def test_linking_with_the_algorithm_known(engine_url: str) -> None:
    """V1: released are a3 three times, b1 and a twice. By labels an a3 may lie among the a3 or the a: five rows; but
    every a3 is among the a3, and the two rows of `a` can only be those of the a1 and the a2."""
    database = Database(engine_url)
    database.create("people", {"x": "text"}, [(value,) for value in V1])
    spec = spec_of(engine_url, TREES, 2)
    pipeline.run(spec)
    database.create("known", {"x": "text"}, [("a1",), ("a2",), ("a3",), ("a3",), ("b1",), ("b2",)])
    found = insight.attack(spec, asked=AttackOptions(external="known", within=(2, 3)))
    plain, known = (found.of(name).after for name in ("linking", "linking_known"))
    assert plain is not None
    assert known is not None
    assert dict(plain.figures) == {"people": 6, "matched": 5, "unique": 0, "certain": 0, "within_2": 3, "within_3": 3}
    assert dict(known.figures) == {"people": 6, "matched": 5, "unique": 0, "certain": 0, "within_2": 3, "within_3": 5}
    # An a1 more among the released ones: whoever is an a1 is that one row alone, and no longer one of three.
    database.run("INSERT INTO released VALUES ('a1')")
    found = insight.attack(spec, asked=AttackOptions(external="known", within=(2,)))
    plain, known = (found.of(name).after for name in ("linking", "linking_known"))
    assert plain is not None
    assert known is not None
    assert (plain.figures["unique"], plain.figures["certain"]) == (0, 0)
    assert (known.figures["unique"], known.figures["certain"]) == (1, 1)
    assert "linking_known" not in {item.name for item in insight.attack(spec_of(engine_url, TREES, 2)).attacks}


def test_columns_that_are_finer_in_one_and_coarser_in_another_rule_nothing_out(duckdb_url: str) -> None:
    """Of two vectors neither of which is below the other nobody knows which came first."""
    trees: dict[str, Any] = {'the "x"': {"a": ["a1", "it's"]}, "y": {"c": ["c1", "c2"]}}
    names = {'the ""x""': "text", "y": "text"}
    database = Database(duckdb_url)
    database.create("people", names, [("it's", "c1")] * 4)
    database.create("released", names, [("it's", "c")] * 2 + [("a", "c1")] * 3 + [("a", "c")] * 4)
    database.create("known", names, [("it's", "c1")])
    found = insight.attack(spec_of(duckdb_url, trees, 2), asked=AttackOptions(external="known", within=(5, 9)))
    plain, known = (found.of(name).after for name in ("linking", "linking_known"))
    assert plain is not None
    assert known is not None
    assert (plain.figures["within_5"], plain.figures["within_9"]) == (0, 1)
    assert known.figures["within_5"] == 1


# -- minimality --------------------------------------------------------------------------------------------------------

PATIENTS = [
    *[("q1", "HIV")] * 2, ("q1", "flu"), *[("q2", "flu"), ("q2", "cold")] * 2, ("it's", "HIV"), ("it's", "HIV"),
    ("q4", "flu"),
]  # fmt: skip


def patients(url: str, level: int, **privacy: Any) -> Any:
    levels = {"min": level, "max": level}
    tree = {"p": ["q1", "q2"], 'r"': ["it's", "q4"]}
    return spec_from_dict(
        {
            "connection": url,
            "source": "people",
            "target": "released",
            "columns": {
                "q": {"role": "quasi_identifier", "hierarchy": {"tree": tree}, "levels": levels},
                "s": {"role": "sensitive"},
            },
            "privacy": {"k": 2, "suppression": {"limit": 9}, **privacy},
            "evidence": {"files": False},
        }
    )


def test_minimality_of_models_of_sensitive_columns(engine_url: str) -> None:
    """As in Wong et al.: whoever knows that q1 has three people and k is 2 knows that they were suppressed for their
    values, more than half of which must be one. The one of q4 may be suppressed for being alone."""
    Database(engine_url).create("people", {"q": "text", "s": "text"}, PATIENTS)
    alpha = [{"column": "s", "value": "HIV", "alpha": 0.5}]
    l_diversity = [{"column": "s", "l": 2}]
    told = {
        (0, "alpha"): (6, 5, 2),
        (0, "l"): (3, 2, 1),
        (1, "alpha"): (3, 3, 1),
        (1, "l"): (0, 0, 0),
    }
    if not engine_url.startswith("duckdb"):
        # What is counted is the same; the statements of either model are run once.
        told = {at: told[at] for at in ((0, "alpha"), (0, "l"))}
    for (level, model), wanted in told.items():
        for mode in ("drop", "blank") if model == "alpha" and level == 0 else ("drop",):
            privacy: dict[str, Any] = {"alpha": alpha} if model == "alpha" else {"l_diversity": l_diversity}
            spec = patients(engine_url, level, **privacy, suppression={"limit": 9, "mode": mode})
            pipeline.run(spec)
            found = insight.attack(spec).of("minimality").after
            assert found is not None
            assert found.figures["people"] == 10
            assert tuple(found.figures[name] for name in ("suppressed", "told", "cells")) == wanted, (level, model)


def test_minimality_is_of_models_and_of_one_vector(duckdb_url: str) -> None:
    Database(duckdb_url).create("people", {"q": "text", "s": "text"}, PATIENTS)
    spec = patients(duckdb_url, 0)
    pipeline.run(spec)
    result = insight.attack(spec)
    assert "minimality" not in {item.name for item in result.attacks}
    assert not [note for note in result.notes if note.startswith("minimality")]
    Database(duckdb_url).run("INSERT INTO released VALUES ('p', 'flu')")
    result = insight.attack(patients(duckdb_url, 0, l_diversity=[{"column": "s", "l": 2}]))
    assert "minimality was not measured: column 'q' shows labels of several levels, or of none" in result.notes


def test_minimality_tells_nobody_who_may_be_suppressed_for_something_else(
    engine_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people never have three values, a k that nobody knows may be as great as it can, and of everybody in a
    population all are in the source: none of it is told by their values."""
    database = Database(engine_url)
    rows = [("q1", "HIV"), ("q1", "HIV"), *[("q2", value) for value in ("HIV", "flu", "cold") * 6]]
    database.create("people", {"q": "text", "s": "text"}, rows)
    few = patients(engine_url, 0, l_diversity=[{"column": "s", "l": 3}])
    pipeline.run(few)
    assert told_by_minimality(few) == (2, 0)
    # Somebody who finds k to be 2 still cannot know that it is not 11.
    monkeypatch.setenv("SQLANON_TEST_SECRET", "an invented secret of this test, long 5")
    margin = {"margin": {"most": 9, "secret": "${SQLANON_TEST_SECRET}"}}
    diverse = {"l_diversity": [{"column": "s", "l": 2}]}
    drawn = patients(engine_url, 0, **diverse, adversary=margin)
    planned = pipeline.plan(drawn)
    assert planned.requirement["k"] == {"k": 2}
    pipeline.run(drawn)
    assert told_by_minimality(drawn) == (2, 0)
    database.create("population", {"q": "text"}, [("q1",)] * 2 + [("q2",)] * 60 + [("it's",)] * 9)
    present = patients(engine_url, 0, **diverse, population={"source": "population"}, delta_presence={"max": 0.5})
    pipeline.run(present)
    assert told_by_minimality(present) is None


def told_by_minimality(spec: Spec) -> tuple[Any, Any] | None:
    result = insight.attack(spec)
    found = {item.name: item.after for item in result.attacks}.get("minimality")
    if found is None:
        assert "minimality was not measured: a class may have failed for the population" in result.notes
        return None
    return found.figures["suppressed"], found.figures["told"]


# -- inference ---------------------------------------------------------------------------------------------------------


def bayes(rows: list[tuple[str | None, str, str]]) -> dict[str, int]:
    """Naive Bayes with one more of each count, and the most frequent value of a class: rows that are guessed."""
    values = Counter(value for *_, value in rows)
    by = [Counter((row[place], row[-1]) for row in rows) for place in range(2)]
    labels = [len({row[place] for row in rows}) for place in range(2)]
    classes: dict[Any, Counter[str]] = defaultdict(Counter)
    for *key, value in rows:
        classes[tuple(key)][value] += 1
    found = {"guess": max(values.values()), "share": 0, "bayes": 0, "rows_below_10": 0, "bayes_below_10": 0}
    for key, counts in classes.items():
        scores = {
            value: log(number) + sum(log((by[p][key[p], value] + 1) / (number + labels[p])) for p in range(2))
            for value, number in values.items()
        }
        best = min(scores, key=lambda value: (-round(scores[value], 9), value))
        found["share"] += max(counts.values())
        found["bayes"] += counts[best]
        if counts.total() < 10:
            found["rows_below_10"] += counts.total()
            found["bayes_below_10"] += counts[best]
    return found


def test_naive_bayes_against_python(engine_url: str) -> None:
    towns = ["it's", 'the "north"', None, ""]
    values = ["flu", "cold", "x'y"]
    chance = random.Random(0)
    rows = [(chance.choice(towns), chance.choice(["old", "young"]), chance.choice(values)) for _ in range(60)]
    database = Database(engine_url)
    database.create("released", {'the ""town""': "text", "age": "text", "Sel.ect": "text"}, rows)
    columns: dict[str, Any] = {name: {"role": "quasi_identifier"} for name in ('the "town"', "age")}
    spec = spec_from_dict(
        {
            "connection": engine_url,
            "source": "released",
            "target": "elsewhere",
            "columns": {**columns, "Sel.ect": {"role": "sensitive"}},
            "privacy": {"k": 1},
            "evidence": {"files": False},
        }
    )
    with running(spec, DEFAULT) as run:
        held = [
            CountedValues.of(run.engine, run.binding.source, run.binding.names, "Sel.ect", scratch)
            for scratch in (None, run.scratch)
        ]
        found, again = (infer(item) for item in held)
    assert found == again
    wanted = bayes(rows)
    assert {name: found.figures[name] for name in wanted} == wanted
    assert wanted["bayes"] != wanted["share"]
    assert found.figures["rows"] == 60
    assert "ln(" in found.sql.lower()


# -- pairs of Mondrian -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bounds", "pinned"), [("values", 4), ("space", None)])
def test_pairs_at_the_ends_of_a_range(engine_url: str, bounds: str, pinned: int | None) -> None:
    """Under {a1, a2} of two rows lies one of each; where ranges end at cuts nobody knows."""
    rows = [("a1",), ("a2",), ("b1",), ("b2",), ("a3",), ("a3",)]
    Database(engine_url).create("people", {"x": "text"}, rows)
    spec = spec_of(engine_url, TREES, 2, search={"algorithm": "mondrian", "mondrian": {"bounds": bounds}})
    pipeline.run(spec)
    if pinned is None:
        assert any(note.startswith("downcoding was not measured") for note in insight.attack(spec).notes)
        return
    assert sorted(Database(engine_url).counted("released").values()) == [2, 2, 2]
    found = figures(spec)
    assert (found["people"], found["pinned"], found["pinned_classes"], found["unread"]) == (6, pinned, 2, 0)


@pytest.mark.parametrize("name", ["three values", "two columns", "k 3"])
def test_everybody_lies_in_a_class_that_the_known_algorithm_leaves(name: str) -> None:
    """Of every table and order of nodes: nobody's own class is ruled out by a finer one that fits."""
    world, k, _ = WORLDS[name]
    ruled_out = 0
    for table in combinations_with_replacement(world.leaves, 2 * k + 1):
        for order in permutations(world.nodes, min(3, len(world.nodes))):
            recoded = rounds(world, table, order, k)
            classes = [cell for cell in recoded if cell]
            for own in classes:
                for leaf in recoded[own]:
                    fitting = {cell for cell in classes if leaf in world.under(cell)}
                    kept = {cell for cell in fitting if not any(finer(world, other, cell) for other in fitting)}
                    assert own in kept, (table, order)
                    ruled_out += len(fitting) - len(kept)
    assert ruled_out


def finer(world: World, one: Cell, other: Cell) -> bool:
    """Whether a class is another one, and no coarser in any column."""
    levels = zip(world.node_of(one), world.node_of(other), strict=True)
    return one != other and all(low <= high for low, high in levels)
