"""SA-generalization in SQL against every cut of random taxonomies (CASES X3), primary and non-primary."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from sqlglot import exp

from sqlanon.auditor import breaches as audit_breaches
from sqlanon.auditor.breaches import Linked, measure_breaches
from sqlanon.engines.base import Engine, Statement
from sqlanon.recoding.personalized import statements as personalized_sql
from sqlanon.recoding.personalized.statements import Breach
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Personalized
from sqlanon.sql.build import query, union_all
from sqlanon.sql.relations import Table, literal
from tests.kit.personalized import Row, Taxonomy, breach, enumerated, least_generalization, random_taxonomy
from tests.kit.tables import create

PROBABILITIES = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 3), Fraction(9, 25), Fraction(11, 36), Fraction(3, 4)]
"""9/25 and 11/36 are reached exactly by squares: 1 - (4/5)^2 and 1 - (5/6)^2."""


def random_rows(chance: random.Random, taxonomy: Taxonomy, most: int) -> list[Row]:
    rows = []
    for _ in range(chance.randint(1, most)):
        leaf = chance.randrange(taxonomy.leaves)
        guard = chance.choice([None, *taxonomy.above(leaf)[: max(1, taxonomy.height)], (0, leaf)])
        rows.append(Row(leaf, guard, chance.randrange(most)))
    return rows


def generalize(
    engine: Engine, taxonomy: Taxonomy, groups: Sequence[Sequence[Row]], p: Fraction, primary: bool
) -> dict[int, dict[int, int | None]]:
    """What the SQL publishes: for each group in breach, the level of each leaf."""
    with Scratch(engine, ()) as scratch:
        steps = Tables(engine, scratch)
        tree = steps.of(
            "t",
            {"v": "int", "l": "int", "node": "int", "size": "int"},
            [
                (leaf, level, numbers[leaf], len(taxonomy.below((level, numbers[leaf]))))
                for level, numbers in enumerate(taxonomy.levels)
                for leaf in range(taxonomy.leaves)
            ],
        )
        cells: Counter[tuple[int, int, int, int]] = Counter()
        for number, rows in enumerate(groups):
            for row in rows:
                guard = (-1, 0) if row.guard is None else (row.guard[0], len(taxonomy.below(row.guard)))
                cells[(number, row.leaf, *guard)] += 1
        columns = {"g": "bigint", "v": "int", "gl": "int", "gs": "int", "n": "bigint"}
        held = steps.of("c", columns, [(*cell, number) for cell, number in cells.items()])
        sizes = [(number, persons(rows, primary)) for number, rows in enumerate(groups)]
        people = steps.of("p", {"g": "bigint", "m": "bigint"}, sizes)
        judged = Breach(p, primary, 10**4)
        nodes = scratch.create("test", "x", personalized_sql.nodes(held, tree))
        bad = scratch.create("test", "b", personalized_sql.groups_in_breach(nodes, people, judged))
        found = scratch.create("test", "s", personalized_sql.generalized(nodes, bad, people, tree, judged))
        published: dict[int, dict[int, int | None]] = {}
        for group, leaf, level in engine.query(Statement("test", query("select g, v, l from s", {"s": found}))):
            published.setdefault(group, {})[leaf] = level
        return published


class Tables:
    """Small tables of whole numbers."""

    def __init__(self, engine: Engine, scratch: Scratch) -> None:
        self.engine, self.scratch = engine, scratch

    def of(self, name: str, types: dict[str, str], rows: Sequence[Sequence[int]]) -> Table:
        table = self.scratch.name(f"given_{name}")
        create(self.engine, table.parts, types, rows)
        self.scratch._tables.append(table)
        return table


def persons(rows: Sequence[Row], primary: bool) -> int:
    return len(rows) if primary else len({row.person for row in rows})


@pytest.mark.parametrize("primary", [True, False], ids=["primary", "nonprimary"])
def test_it_is_the_least_generalization_that_prevents_the_breach(shared_engine: Engine, primary: bool) -> None:
    chance = random.Random(20060627 + primary)
    seen: Counter[str] = Counter()
    for p in PROBABILITIES:
        taxonomy = random_taxonomy(chance, chance.randint(3, 7), chance.randint(2, 3))
        groups = [random_rows(chance, taxonomy, 6) for _ in range(30)]
        found = generalize(shared_engine, taxonomy, groups, p, primary)
        for number, rows in enumerate(groups):
            expected = least_generalization(taxonomy, rows, persons(rows, primary), p, primary)
            levels = found.get(number)
            if expected is None:
                assert levels is not None
                assert None in levels.values()
                seen["hopeless"] += 1
                continue
            actual = {leaf: (0, leaf) for leaf in expected}
            if levels is not None:
                assert None not in levels.values()
                actual = {
                    leaf: (level, taxonomy.levels[level][leaf]) for leaf, level in levels.items() if level is not None
                }
                seen["generalized"] += 1
            else:
                seen["as it is"] += 1
            below = {leaf: taxonomy.below(node) for leaf, node in actual.items()}
            assert below == {leaf: taxonomy.below(node) for leaf, node in expected.items()}, (p, rows)
    assert min(seen.values()) > 5
    assert len(seen) == 3


@pytest.mark.parametrize("primary", [True, False], ids=["primary", "nonprimary"])
def test_the_closed_form_is_the_enumeration_of_reconstructions(primary: bool) -> None:
    chance = random.Random(7)
    for _ in range(60):
        taxonomy = random_taxonomy(chance, chance.randint(2, 5), 2)
        rows = random_rows(chance, taxonomy, 3)
        cut = chance.choice(list(taxonomy.cuts()))
        published = [cut[row.leaf] for row in rows]
        number = len(rows) + chance.randint(0, 1) if primary else chance.randint(1, 3)
        guard = rows[0].guard
        assert breach(taxonomy, published, guard, number, primary) == enumerated(
            taxonomy, published, guard, number, primary
        )


@pytest.mark.parametrize("primary", [True, False], ids=["primary", "nonprimary"])
def test_the_audit_measures_the_enumeration_of_reconstructions(shared_engine: Engine, primary: bool) -> None:
    """Theorems 1 and 2 as the audit computes them, for every node that one person could guard; so Lemma 2 shows too."""
    chance = random.Random(11)
    seen: Counter[bool] = Counter()
    for _ in range(12):
        taxonomy = random_taxonomy(chance, chance.randint(2, 5), 2)
        rows = random_rows(chance, taxonomy, 4 if primary else 3)
        cut = chance.choice(list(taxonomy.cuts()))
        published = [cut[row.leaf] for row in rows]
        number = len(rows) + chance.randint(0, 1) if primary else chance.randint(1, 3)
        guards = taxonomy.above(rows[0].leaf)
        shown = [{"class": 1, "label": named(node), "n": 1} for node in published]
        value = named((0, rows[0].leaf))
        guarding = [{"class": 1, "value": value, "guard": named(guard), "n": 1} for guard in guards]
        paths = [
            {f"label_{level}": named((level, numbers[leaf])) for level, numbers in enumerate(taxonomy.levels)}
            for leaf in range(taxonomy.leaves)
        ]
        linked = Linked(
            given(shown),
            given(guarding),
            given([{"class": 1, "persons": number}]),
            audit_breaches.GuardingTaxonomy(given(paths), taxonomy.height, has_null=False),
        )
        asked = Personalized(column="a", guarding="b", p_breach=Decimal("0.5"), primary=primary)
        found = measure_breaches(shared_engine, linked, asked, primary=primary)
        expected = [enumerated(taxonomy, published, guard, number, primary) for guard in guards]
        assert [level.maximum for level in found.levels] == pytest.approx([float(p) for p in expected], abs=1e-12)
        assert [level.above for level in found.levels] == [p > Fraction(1, 2) for p in expected]
        assert expected == sorted(expected)
        seen.update(0 < p < 1 for p in expected)
    assert seen[True] > 10


def named(node: tuple[int, int]) -> str:
    return f"{node[0]}/{node[1]}"


def given(rows: Sequence[Mapping[str, Any]]) -> exp.Query:
    """A few rows as a query."""
    selects = [exp.select(*(exp.alias_(literal(value), name) for name, value in row.items())) for row in rows]
    return union_all(selects)
