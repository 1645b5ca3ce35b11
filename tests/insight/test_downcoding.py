"""Downcoding: case V1, hostile names and values, and brute force over every table that a release can come from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any

import pytest

from sqlanon import insight, pipeline
from sqlanon.insight.adversary import downcode, hierarchies_of
from sqlanon.insight.options import published
from sqlanon.source.run import DEFAULT, running
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database

V1 = ["a1", "a2", "a3", "a3", "a3", "b1", "b1"]


def spec_of(url: str, trees: dict[str, Any], k: int, **changes: Any) -> Spec:
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"tree": tree}} for name, tree in trees.items()}
    values = {
        "connection": url,
        "source": "people",
        "target": "released",
        "columns": columns,
        "privacy": {"k": k},
        "search": {"algorithm": "local", "local": {"leave": 4}},
        "evidence": {"files": False},
        **changes,
    }
    return spec_from_dict(values)


def figures(spec: Spec) -> dict[str, Any]:
    """What downcoding counts in the target as it stands."""
    with running(spec, DEFAULT) as run:
        target = published(run)
        assert target is not None
        found = downcode(run, target, hierarchies_of(run)).after
        assert found is not None
        return dict(found.figures)


@pytest.mark.parametrize(("more", "pinned", "slack"), [([], 2, None), (["a4"], 0, 1)])
def test_case_v1(engine_url: str, more: list[str], pinned: int, slack: int | None) -> None:
    """The class `a` has two rows and two cells of one row each: one a1 and one a2. One cell more, and nobody knows."""
    Database(engine_url).create("people", {"x": "text"}, [(value,) for value in V1])
    spec = spec_of(engine_url, {"x": {"a": ["a1", "a2", "a3", *more], "b": ["b1", "b2"]}}, 2)
    pipeline.run(spec)
    assert Database(engine_url).counted("released") == {("a3",): 3, ("b1",): 2, ("a",): 2}
    attack = insight.attack(spec).of("downcoding")
    assert attack.after is not None
    found = attack.after.figures
    assert (found["classes"], found["people"], found["narrowed"]) == (3, 7, 2)
    assert (found["pinned"], found["slack"]) == (pinned, slack)
    assert found["contradicting"] == found["unread"] == 0


def test_hostile_names_and_values(engine_url: str) -> None:
    """Two columns, NULL among the values, quotes everywhere: a class of three rows has three cells of one row each."""
    one, two = 'the "first"', "Select.2"
    trees = {one: {"north": ["it's", ""], 'so"uth': ["b\\1", "b;2"]}, two: {"any": ["x", "y"]}}
    rows = [("it's", "x")] * 2 + [("", "x"), ("it's", "y"), ("", "y"), (None, "x"), (None, "x"), ("b\\1", "x")]
    Database(engine_url).create("people", {'the ""first""': "text", two: "text"}, rows)
    spec = spec_of(engine_url, trees, 2, privacy={"k": 2, "suppression": {"limit": 1}})
    Database(engine_url).create(
        "released",
        {'the ""first""': "text", two: "text"},
        [("it's", "x")] * 2 + [("north", "any")] * 3 + [(None, "x")] * 2,
    )
    found = figures(spec)
    # north and any: (it's, x) was released, so (it's, y), ("", x), ("", y) hold one row each. The suppressed row
    # lies in the south or is NULL: two cells for one row, slack 1.
    assert found == {
        "classes": 4,
        "people": 8,
        "pinned": 3,
        "pinned_classes": 1,
        "narrowed": 4,
        "slack": 1,
        "contradicting": 0,
        "unread": 0,
    }
    Database(engine_url).run("INSERT INTO released VALUES ('elsewhere', 'x')")
    assert figures(spec)["unread"] == 1


def test_suppressed_rows_of_a_full_domain_release(engine_url: str) -> None:
    """Two cells of four were not released; two rows are missing: one in each. As blanked rows they show the same."""
    rows = [("a1",), ("a1",), ("a2",), ("b1",), ("b2",), ("b2",)]
    Database(engine_url).create("people", {"x": "text"}, rows)
    trees = {"x": {"a": ["a1", "a2"], "b": ["b1", "b2"]}}
    for mode in ("drop", "blank"):
        privacy = {"k": 2, "suppression": {"limit": 2, "mode": mode}}
        spec = spec_of(engine_url, trees, 2, privacy=privacy, search={"algorithm": "optimal"})
        pipeline.run(spec)
        found = figures(spec)
        assert (found["pinned"], found["pinned_classes"], found["classes"]) == (2, 1, 3), mode


def test_rows_without_values_are_not_taken_for_blanked_ones(engine_url: str) -> None:
    """Two rows without a value are a class; that one of them is an a1, as two blanked rows would tell, is not known. In
    a column of numbers a blanked row looks like them: it says nothing at all."""
    database = Database(engine_url)
    for kind, values in {"text": ("a1", "b1"), "int": (1, 2)}.items():
        database.run("DROP TABLE IF EXISTS people", "DROP TABLE IF EXISTS released")
        database.create("people", {"x": kind}, [(None,), (None,), (values[0],), (values[1],), (values[1],)])
        database.create("released", {"x": kind}, [(None,), (None,), (values[1],), (values[1],)])
        privacy = {"k": 2, "suppression": {"limit": 2, "mode": "blank"}}
        spec = spec_of(engine_url, {"x": {"a": [str(value) for value in values]}}, 2, privacy=privacy)
        found = figures(spec)
        # The one row that is missing can only be an a1, where rows without a value are a class of their own.
        assert (found["people"], found["pinned"]) == ((5, 1) if kind == "text" else (3, 0))


def test_a_label_of_two_sets_of_values_is_not_read(duckdb_url: str, tmp_path: Path) -> None:
    """`x` is a value under z, and the label of y: which of them a class is made of, its label does not tell."""
    (tmp_path / "h.csv").write_text("x;z;t\ny;x;t\nz0;z;t\ny2;w;t\n")
    rows = [("x",)] * 3 + [("y",)] + [("z0",)] * 2 + [("y2",)]
    Database(duckdb_url).create("people", {"c": "text"}, rows)
    hierarchy = {"csv": {"path": str(tmp_path / "h.csv"), "delimiter": ";"}}
    spec = spec_of(duckdb_url, {}, 2, columns={"c": {"role": "quasi_identifier", "hierarchy": hierarchy}})
    pipeline.run(spec)
    assert Database(duckdb_url).counted("released") == {("x",): 3, ("z0",): 2, ("t",): 2}
    found = figures(spec)
    assert (found["unread"], found["pinned"], found["slack"]) == (3, 0, 1)


@pytest.mark.parametrize("algorithm", ["forest", "matching", "exact"])
def test_pairs_of_cells_under_a_label_of_two_branches(duckdb_url: str, algorithm: str) -> None:
    """A label is the least that covers a pair: under `a` of two values one row has each; `b` of three says less."""
    rows = [("a1",), ("a2",), ("b1",), ("b2",), ("c",), ("c",)]
    Database(duckdb_url).create("people", {"x": "text"}, rows)
    trees = {"x": {"a": ["a1", "a2"], "b": ["b1", "b2", "b3"], "d": ["c"]}}
    spec = spec_of(duckdb_url, trees, 2, search={"algorithm": algorithm, "model": "CG_"})
    pipeline.run(spec)
    assert Database(duckdb_url).counted("released") == {("a",): 2, ("b",): 2, ("c",): 2}
    found = figures(spec)
    assert (found["people"], found["pinned"], found["pinned_classes"], found["narrowed"], found["slack"]) == (
        6,
        2,
        1,
        4,
        1,
    )


def test_a_recoding_that_says_nothing_of_cells_is_a_note(duckdb_url: str) -> None:
    Database(duckdb_url).create("people", {"x": "text"}, [(value,) for value in V1])
    trees = {"x": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"]}}
    spec = spec_of(duckdb_url, trees, 2, search={"algorithm": "mondrian"})
    pipeline.run(spec)
    result = insight.attack(spec)
    assert not [item for item in result.attacks if item.name == "downcoding"]
    assert any(note.startswith("downcoding was not measured") for note in result.notes)


def test_too_many_vectors_are_a_note(duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlanon.auditor.downcoding.MOST_NODES", 1)
    Database(duckdb_url).create("people", {"x": "text"}, [(value,) for value in V1])
    spec = spec_of(duckdb_url, {"x": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"]}}, 2)
    pipeline.run(spec)
    result = insight.attack(spec)
    assert "downcoding" not in {item.name for item in result.attacks}
    assert any("classes stand at 2 vectors of levels" in note for note in result.notes)


# -- brute force: every table, recoded in every order of nodes -------------------------------------------------------

Node = tuple[int, ...]
Cell = tuple[str, ...]
Release = tuple[tuple[Cell, int], ...]


class World:
    """Small hierarchies: for each column the path of every value, level 0 first; every label at one level."""

    def __init__(self, *columns: Sequence[tuple[str, ...]]) -> None:
        self.columns = columns
        self.heights = tuple(len(column[0]) - 1 for column in columns)
        self.leaves: list[Cell] = list(product(*((path[0] for path in column) for column in columns)))
        self.nodes: list[Node] = list(product(*(range(height + 1) for height in self.heights)))
        self._paths = [{path[0]: path for path in column} for column in columns]
        self._levels = [{label: level for path in column for level, label in enumerate(path)} for column in columns]

    def at(self, leaf: Cell, node: Node) -> Cell:
        return tuple(paths[value][level] for paths, value, level in zip(self._paths, leaf, node, strict=True))

    def node_of(self, cell: Cell) -> Node:
        return tuple(levels[label] for levels, label in zip(self._levels, cell, strict=True))

    @cache  # noqa: B019 (lives as long as the test)
    def under(self, cell: Cell) -> frozenset[Cell]:
        node = self.node_of(cell)
        return frozenset(leaf for leaf in self.leaves if self.at(leaf, node) == cell)

    def trees(self) -> dict[str, Any]:
        return {f"c{place}": _tree(list(column)) for place, column in enumerate(self.columns)}


def _tree(paths: list[tuple[str, ...]]) -> Any:
    if all(len(path) == 1 for path in paths):
        return [path[0] for path in paths]
    tops: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for path in paths:
        tops[path[-1]].append(path[:-1])
    return {top: _tree(below) for top, below in tops.items()}


WORLDS = {
    "three values": (World([("1", "r", "t"), ("2", "r", "t"), ("3", "s", "t")]), 2, 8),
    "four values": (World([("1", "r", "t"), ("2", "r", "t"), ("3", "s", "t"), ("4", "s", "t")]), 2, 7),
    "k 3": (World([("1", "t"), ("2", "t"), ("3", "t")]), 3, 8),
    "two columns": (World([("1", "t"), ("2", "t")], [("x", "u"), ("y", "u")]), 2, 6),
}


def rounds(world: World, table: Sequence[Cell], order: Sequence[Node], k: int) -> dict[Cell, tuple[Cell, ...]]:
    """Rows recoded node by node, as local recoding does; what is left is the class of everybody."""
    left: list[Cell] = list(table)
    found: dict[Cell, tuple[Cell, ...]] = {}
    for node in order:
        counts: dict[Cell, list[Cell]] = defaultdict(list)
        for leaf in left:
            counts[world.at(leaf, node)].append(leaf)
        found |= {cell: tuple(rows) for cell, rows in counts.items() if len(rows) >= k}
        left = [leaf for cell, rows in counts.items() if len(rows) < k for leaf in rows]
    return found if not left else {**found, (): tuple(left)}


Origins = dict[Release, list[dict[Cell, tuple[Cell, ...]]]]


@cache
def origins(name: str) -> Origins:
    """For each release every way that rows can lie in its classes, over all tables and all orders of nodes."""
    world, k, most = WORLDS[name]
    found: Origins = defaultdict(list)
    orders = {
        order[:length] for order in permutations(world.nodes) for length in range(1, min(3, len(world.nodes)) + 1)
    }
    for number in range(k, most + 1):
        for table in combinations_with_replacement(world.leaves, number):
            for order in orders:
                recoded = rounds(world, table, order, k)
                released = tuple(sorted((cell, len(rows)) for cell, rows in recoded.items()))
                found[released].append(recoded)
    return found


def bound(world: World, release: Release, k: int) -> Iterator[tuple[Cell, Node, int, int]]:
    """The counting bound by sets of values: class, node below it, possible cells, slack."""
    kept = {cell: number for cell, number in release if cell}
    top = tuple(world.heights)
    for cell, number in release:
        node, inside = (top, frozenset(world.leaves)) if not cell else (world.node_of(cell), world.under(cell))
        for below in {world.node_of(other) for other in kept} - {node}:
            if any(low > high for low, high in zip(below, node, strict=True)):
                continue
            cells = {world.at(leaf, below) for leaf in inside}
            possible = [part for part in cells if not covered(world, part, below, kept)]
            if len(cells) > 1:
                yield cell, below, len(possible), len(possible) * (k - 1) - number


def covered(world: World, part: Cell, node: Node, kept: dict[Cell, int]) -> bool:
    """Whether all of a cell was released, by classes of one node."""
    origin: dict[Node, set[Cell]] = defaultdict(set)
    for cell in kept:
        here = world.node_of(cell)
        if all(low <= high for low, high in zip(here, node, strict=True)) and world.under(cell) <= world.under(part):
            origin[here] |= world.under(cell)
    return any(found == world.under(part) for found in origin.values())


def pinned(world: World, release: Release, k: int) -> dict[Cell, set[Node]]:
    found: dict[Cell, set[Node]] = defaultdict(set)
    for cell, below, possible, slack in bound(world, release, k):
        assert possible >= 1, "a release of the rounds"
        assert slack >= 0, "a release of the rounds"
        if slack == 0 or possible == 1:
            found[cell].add(below)
    return found


@pytest.mark.parametrize("name", WORLDS)
def test_nobody_is_pinned_whom_some_table_would_place_elsewhere(name: str) -> None:
    """Sound: of everybody who is reported, all tables and orders of nodes that give the release say the same cells."""
    world, k, _ = WORLDS[name]
    reported = 0
    for release, ways in origins(name).items():
        for cell, nodes in pinned(world, release, k).items():
            for node in nodes:
                found = {tuple(sorted(Counter(world.at(leaf, node) for leaf in way[cell]).items())) for way in ways}
                assert len(found) == 1, (release, cell, node)
                reported += 1
    assert reported


@pytest.mark.parametrize("name", ["k 3", "three values"])
def test_whoever_is_not_pinned_could_lie_elsewhere(name: str) -> None:
    """Complete where the bound is exact: one column, whose values were tried before everybody is suppressed."""
    world, k, _ = WORLDS[name]
    checked = 0
    for release, ways in origins(name).items():
        kept = [cell for cell, _ in release if cell]
        if not kept or any(world.node_of(cell) != (0,) for cell in kept):
            continue
        for cell, below, possible, slack in bound(world, release, k):
            found = {tuple(sorted(Counter(world.at(leaf, below) for leaf in way[cell]).items())) for way in ways}
            assert (len(found) == 1) == (slack == 0 or possible == 1)
            checked += 1
    assert checked > 5


def against_sql(url: str, name: str, releases: Sequence[Release]) -> None:
    """The statement counts what the bound by sets of values counts."""
    world, k, _ = WORLDS[name]
    database = Database(url)
    types = {f"c{place}": "text" for place in range(len(world.columns))}
    privacy = {"k": k, "suppression": {"limit": 8, "mode": "blank"}}
    spec = spec_of(url, world.trees(), k, privacy=privacy, search={"algorithm": "local"})
    for release in releases:
        rows = [cell or ("*",) * len(types) for cell, number in release for _ in range(number)]
        database.run("DROP TABLE IF EXISTS released", "DROP TABLE IF EXISTS people")
        # As many as are released, so that none is missing; the hierarchies list the values.
        database.create("people", types, [world.leaves[place % len(world.leaves)] for place in range(len(rows))])
        database.create("released", types, rows)
        found, sizes = figures(spec), dict(release)
        reported = pinned(world, release, k)
        assert found["pinned"] == sum(sizes[cell] for cell in reported), release
        assert found["pinned_classes"] == len(reported)
        least: dict[Cell, int] = {}
        for cell, _, _, slack in bound(world, release, k):
            least[cell] = min(slack, least.get(cell, slack))
        others = [slack for cell, slack in least.items() if cell not in reported]
        assert found["slack"] == min(others, default=None)
        assert (found["contradicting"], found["unread"]) == (0, 0)


def telling(name: str) -> list[Release]:
    """Releases of several nodes, those that pin somebody first; each class at another label than everybody's."""
    world, k, _ = WORLDS[name]
    top = tuple(world.heights)
    found = [
        release
        for release in sorted(origins(name))
        if all(not cell or world.node_of(cell) != top for cell, _ in release)
        and len({world.node_of(cell) for cell, _ in release if cell}) + (release[0][0] == ()) > 1
    ]
    return sorted(found, key=lambda release: not pinned(world, release, k))


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize("name", ["two columns", "three values", "four values", "k 3"])
def test_the_statement_counts_what_brute_force_counts(engine_url: str, name: str) -> None:
    found = telling(name)
    against_sql(engine_url, name, [*found[:3], *found[-2:]])


@pytest.mark.soak
@pytest.mark.parametrize("name", WORLDS)
def test_the_statement_on_all_releases(duckdb_url: str, name: str) -> None:
    against_sql(duckdb_url, name, telling(name)[:120])
