"""Downcoding by integer programs: against every table of small worlds, and sharper than the bound of single classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from sqlanon import insight
from sqlanon.auditor.downcoding import KnownRule
from sqlanon.insight.adversary import programs
from sqlanon.insight.adversary.programs import Paths, PinnedTogether, ReleasedClass, solved
from tests.insight.test_downcoding import WORLDS, Cell, Node, Release, World, origins, pinned, spec_of
from tests.kit.database import Database

MORE = {
    "three rows": (World([("1", "t"), ("2", "t"), ("3", "t")], [("x", "u"), ("y", "u")]), 2, 6),
}


def paths_of(world: World) -> Paths:
    """Labels by numbers: of a level by its labels in order."""
    under: list[dict[tuple[int, int, int], list[int]]] = []
    over: list[dict[tuple[int, int, int], int]] = []
    for column in world.columns:
        down: dict[tuple[int, int, int], set[int]] = {}
        up = {}
        for low, high in product(range(len(column[0])), repeat=2):
            for path in column if low <= high else ():
                below, above = number(world, column, path, low), number(world, column, path, high)
                down.setdefault((high, above, low), set()).add(below)
                up[low, below, high] = above
        under.append({key: sorted(codes) for key, codes in down.items()})
        over.append(up)
    return Paths(under, over)


def number(world: World, column: Any, path: tuple[str, ...], level: int) -> int:
    return sorted({other[level] for other in column}).index(path[level])


def classes_of(world: World, release: Release) -> dict[int, tuple[Cell, ReleasedClass]]:
    found = {}
    for place, (cell, rows) in enumerate(release, start=1):
        node = world.node_of(cell) if cell else tuple(world.heights)
        leaf = next(leaf for leaf in world.leaves if not cell or leaf in world.under(cell))
        own = [
            next(path for path in column if path[0] == value) for column, value in zip(world.columns, leaf, strict=True)
        ]
        codes = tuple(
            number(world, column, path, level) for column, path, level in zip(world.columns, own, node, strict=True)
        )
        found[place] = cell, ReleasedClass(place, rows, node, codes, sure=True, everybody=not cell)
    return found


def together(world: World, k: int, release: Release) -> dict[Cell, bool]:
    """The classes that programs or the bound pin; True: programs alone do."""
    classes = classes_of(world, release)
    known = pinned(world, release, k)
    ids = frozenset(place for place, (cell, _) in classes.items() if cell in known)
    found = solved([item for _, item in classes.values()], paths_of(world), KnownRule(k - 1, pooled=False), ids)
    assert found.reason is None, release
    return {classes[place][0]: place not in ids for place in {*found.pinned, *ids}}


def releases(name: str) -> Iterator[tuple[Release, list[dict[Cell, tuple[Cell, ...]]]]]:
    """Releases with a class whose rows could lie in several cells."""
    world, _, _ = WORLDS[name]
    top = tuple(world.heights)
    for release, ways in sorted(origins(name).items()):
        nodes: set[Node] = {world.node_of(cell) for cell, _ in release if cell}
        if top not in nodes and len(nodes) + (release[0][0] == ()) > 1:
            yield release, ways


@pytest.fixture(autouse=True)
def worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, world in MORE.items():
        monkeypatch.setitem(WORLDS, name, world)


@pytest.mark.parametrize("name", ["three values", "four values", "k 3", "two columns", "three rows"])
def test_they_pin_whom_all_tables_place_alike(name: str) -> None:
    """Sound and complete: a class is reported where, and only where, all tables and orders of nodes that give the
    release say the same cells of some vector below."""
    world, k, _ = WORLDS[name]
    sharper = 0
    for release, ways in releases(name):
        nodes = {world.node_of(cell) for cell, _ in release if cell}
        reported = together(world, k, release)
        for cell, _ in release:
            node = world.node_of(cell) if cell else tuple(world.heights)
            inside = world.under(cell) if cell else world.leaves
            lower = [low for low in nodes if low != node and all(map(int.__le__, low, node))]
            several = [low for low in lower if len({world.at(leaf, low) for leaf in inside}) > 1]
            placed = [
                {tuple(sorted(Counter(world.at(leaf, low) for leaf in way[cell]).items())) for way in ways}
                for low in several
            ]
            assert any(len(found) == 1 for found in placed) == (cell in reported), (release, cell)
        sharper += sum(reported.values())
    assert (sharper > 0) == (name == "three rows")


# Two rows of 1/u lie in 1/x and 1/y, one each. So 1/y is full, and of t/y the rows are of 2/y and 3/y.
TOLD = [("1", "u")] * 2 + [("2", "x")] * 2 + [("t", "y")] * 2


def attacked(url: str) -> tuple[dict[str, Any], list[str]]:
    world = MORE["three rows"][0]
    names = ('the ""first""', "select")
    trees = dict(zip(('the "first"', "select"), world.trees().values(), strict=True))
    database = Database(url)
    tables: dict[str, Sequence[Sequence[str]]] = {"people": world.leaves, "released": TOLD}
    for name, rows in tables.items():
        database.run(f"DROP TABLE IF EXISTS {name}")
        database.create(name, dict.fromkeys(names, "text"), rows)
    found = insight.attack(spec_of(url, trees, 2))
    exposure = found.of("downcoding").after
    assert exposure is not None
    return dict(exposure.figures), [note for note in found.notes if note.startswith("downcoding")]


def test_a_release_that_only_all_classes_tell(engine_url: str) -> None:
    figures, notes = attacked(engine_url)
    assert (figures["pinned"], figures["pinned_classes"], figures["slack"]) == (2, 1, 1)
    assert (figures["pinned_together"], figures["pinned_classes_together"]) == (4, 2)
    assert notes == []


def test_what_is_not_solved_is_said(duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(programs, "find_spec", lambda name: None)
        figures, notes = attacked(duckdb_url)
        assert figures["pinned_together"] == figures["pinned"] == 2
        assert notes == ["downcoding counts each class for itself: scipy is not installed (pip install 'sqlanon[lp]')"]
    for limit, words in {
        "MOST_CLASSES": "the release has 3 classes; programs are solved for up to 1",
        "MOST_LABELS": "pairs of labels; programs are solved for up to 1",
        "MOST_CELLS": "downcoding counts 2 classes of many cells for itself: programs are solved for 1 cells",
    }.items():
        with monkeypatch.context() as patch:
            patch.setattr(programs, limit, 1)
            figures, notes = attacked(duckdb_url)
            assert figures["pinned_together"] == 2
            [note] = notes
            assert words in note
    with monkeypatch.context() as patch:
        patch.setattr(programs, "SECONDS", 0.0)
        figures, notes = attacked(duckdb_url)
        assert figures["pinned_together"] == 2
        assert len(notes) == 1


def test_classes_that_are_left_out_loosen_the_rest() -> None:
    """Without the class that fills 1/y nobody is told of t/y."""
    world, k, _ = MORE["three rows"]
    release: Release = tuple(sorted((cell, 2) for cell in set(TOLD)))
    classes = classes_of(world, release)
    everything = [item for _, item in classes.values()]
    [told] = [item.id for cell, item in classes.values() if cell == ("t", "y")]
    rule = KnownRule(k - 1, pooled=False)
    assert told in solved(everything, paths_of(world), rule, frozenset()).pinned
    fewer = [item for item in everything if item.node != (0, 1)]
    assert solved(fewer, paths_of(world), rule, frozenset()) == PinnedTogether()
    # With models beyond k a cell may fail with any number of rows.
    assert solved(everything, paths_of(world), KnownRule(10, pooled=False), frozenset()).pinned == frozenset()
