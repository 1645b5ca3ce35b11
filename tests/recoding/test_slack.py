"""Slack: case V1 defended, and brute force over every table and order of nodes: nobody is pinned in what is left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, permutations
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.auditor.downcoding import KnownRule
from sqlanon.errors import InfeasibleError
from sqlanon.insight.adversary.programs import solved
from sqlanon.release.lock import Lock
from sqlanon.release.results import RecodedPlan
from tests.insight.test_downcoding import V1, WORLDS, Cell, Node, Release, World, covered, figures, rounds, spec_of
from tests.insight.test_programs import classes_of, paths_of
from tests.kit.database import Database

SLACK: dict[str, Any] = {"adversary": {"slack": 1}}


def published(url: str, trees: dict[str, Any], rows: Sequence[tuple[Any, ...]], **privacy: Any) -> Counter[Any]:
    database = Database(url)
    names = {name.replace('"', '""'): "text" for name in trees}
    database.run("DROP TABLE IF EXISTS people")
    database.create("people", names, rows)
    pipeline.run(spec_of(url, trees, 2, privacy={"k": 2, **privacy}))
    return database.counted("released")


def test_case_v1_defended(engine_url: str) -> None:
    """The class `a` would be one a1 and one a2: its rows become the class of everybody, which may also hold a b2. With
    one cell more the class has slack 1 and stays."""
    trees: dict[str, Any] = {"x": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"]}}
    rows = [(value,) for value in V1]
    assert published(engine_url, trees, rows, **SLACK) == {("a3",): 3, ("b1",): 2, ("*",): 2}
    found = figures(spec_of(engine_url, trees, 2, privacy={"k": 2, **SLACK}))
    assert (found["pinned"], found["slack"], found["contradicting"]) == (0, 1, 0)
    # Written without slack, the key asks for the least that leaves nobody pinned.
    assert published(engine_url, trees, rows, adversary={}) == {("a3",): 3, ("b1",): 2, ("*",): 2}
    more = {"x": {"a": ["a1", "a2", "a3", "a4"], "b": ["b1", "b2"]}}
    assert published(engine_url, more, rows, **SLACK) == {("a3",): 3, ("b1",): 2, ("a",): 2}
    with pytest.raises(InfeasibleError, match=r"privacy\.adversary\.slack: whoever knows the algorithm"):
        published(engine_url, more, rows, adversary={"slack": 3})
    # Where the top may not be released, the rows have to be suppressed.
    bounded = spec_of(
        engine_url,
        {},
        2,
        columns={"x": {"role": "quasi_identifier", "hierarchy": {"tree": trees["x"]}, "levels": {"max": 1}}},
        privacy={"k": 2, **SLACK},
    )
    with pytest.raises(InfeasibleError, match=r"privacy\.adversary\.slack: 2 rows .* 0 may be suppressed"):
        pipeline.run(bounded)


def test_the_ten_rows_of_the_docs(duckdb_url: str) -> None:
    trees: dict[str, Any] = {"x": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"]}}
    rows = [("a1",), ("a2",), *[("a3",)] * 4, *[("b1",)] * 4]
    assert published(duckdb_url, trees, rows) == {("a3",): 4, ("b1",): 4, ("a",): 2}
    assert published(duckdb_url, trees, rows, **SLACK) == {("a3",): 4, ("b1",): 4, ("*",): 2}


def test_a_lock_makes_the_same_classes_again(duckdb_url: str) -> None:
    trees: dict[str, Any] = {"x": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"]}}
    before = published(duckdb_url, trees, [(value,) for value in V1], **SLACK)
    spec = spec_of(duckdb_url, trees, 2, privacy={"k": 2, **SLACK})
    planned = pipeline.plan(spec)
    assert isinstance(planned, RecodedPlan)
    assert planned.recoding.to_dict()["details"]["slack"] == {"refused_classes": 1, "rows": 2}
    assert planned.requirement["adversary"] == {"slack": 1}
    pipeline.apply(spec, Lock.of(spec, planned, "spec.yaml"))
    assert Database(duckdb_url).counted("released") == before
    assert pipeline.audit_spec(spec).satisfied


def test_hostile_names_and_values(engine_url: str) -> None:
    one = 'the "first"'
    trees: dict[str, Any] = {one: {"it's": ["'a1", "a\\2", "a;3"], 'b"': ["", "b2"]}}
    rows = [("'a1",), ("a\\2",), *[("a;3",)] * 3, *[("",)] * 3, *[(None,)] * 2]
    assert published(engine_url, trees, rows, **SLACK) == {("a;3",): 3, ("",): 3, (None,): 2, ("*",): 2}


def test_a_single_possible_cell_is_refused_whatever_the_model(duckdb_url: str) -> None:
    """By l-diversity a cell may fail with any number of rows: the suppressed ones can only be a2."""
    columns = {
        "x": {"role": "quasi_identifier", "hierarchy": {"tree": {"a": ["a1", "a2"], "b": ["b1"]}}},
        "s": {"role": "sensitive"},
    }
    rows = [*[("a1", "p"), ("a1", "q")] * 3, *[("a2", "p")] * 2, *[("b1", "p"), ("b1", "q")] * 3]
    Database(duckdb_url).create("people", {"x": "text", "s": "text"}, rows)
    specs = [
        spec_of(
            duckdb_url,
            {},
            2,
            columns=columns,
            privacy={
                "l_diversity": [{"column": "s", "l": 2}],
                "suppression": {"limit": 2},
                "adversary": {"slack": slack},
            },
            search={"algorithm": "local"},
        )
        for slack in (0, 1)
    ]
    pipeline.run(specs[0])
    assert figures(specs[0])["pinned"] == 2
    with pytest.raises(InfeasibleError, match="whoever knows the algorithm"):
        pipeline.run(specs[1])


@pytest.mark.representative(9, postgres=1)
@pytest.mark.parametrize(
    ("algorithm", "more"),
    [("forest", {"model": "CG_"}), ("exact", {"model": "CG_"}), ("mondrian", {"mondrian": {"bounds": "values"}})],
)
def test_groups_of_other_recodings_are_more_than_pairs(engine_url: str, algorithm: str, more: dict[str, Any]) -> None:
    """Of two rows under a label of two values each has one; of three nobody can say which value two of them have."""
    trees = {"x": {"a": ["a1", "a2"], "b": ["b1", "b2"]}}
    Database(engine_url).create("people", {"x": "text"}, [("a1",), ("a2",), ("b1",), ("b2",), ("b2",), ("b2",)])
    for slack, least in ((0, 2), (1, 3)):
        privacy = {"k": 2, "adversary": {"slack": slack}}
        pipeline.run(spec_of(engine_url, trees, 2, privacy=privacy, search={"algorithm": algorithm, **more}))
        assert min(Database(engine_url).counted("released").values()) == least


# -- brute force -------------------------------------------------------------------------------------------------------

FIVE = [(value, "r", "t") for value in "1235"]
MORE = {
    "last round": (World([*FIVE, ("4", "s", "t"), ("6", "q", "t")]), 2, 5),
    "three levels": (
        World([("1", "a", "p", "t"), ("2", "a", "p", "t"), ("3", "b", "p", "t"), ("4", "c", "q", "t")]),
        2,
        6,
    ),
}
"""Where the class of everybody is pinned by a later round: then that round is given up."""

Recoded = dict[Cell, tuple[Cell, ...]]


def judged(world: World, recoded: Recoded, k: int, *, pooled: bool) -> Iterator[tuple[Cell, int, int | None]]:
    """Each class with the possible cells of every node below it, and the slack where there is one."""
    kept = {cell: len(rows) for cell, rows in recoded.items() if cell}
    nodes = {world.node_of(cell) for cell in kept}
    for cell, rows in recoded.items():
        node = world.node_of(cell) if cell else tuple(world.heights)
        inside = world.under(cell) if cell else frozenset(world.leaves)
        for below in nodes - {node}:
            cells = {world.at(leaf, below) for leaf in inside}
            if not below_or_at(below, node) or len(cells) < 2:
                continue
            possible = sum(not covered(world, part, below, kept) for part in cells)
            capped = cell or not pooled or all(below_or_at(below, other) for other in nodes)
            yield cell, possible, possible * (k - 1) - len(rows) if capped else None


def below_or_at(low: Node, high: Node) -> bool:
    return all(one <= other for one, other in zip(low, high, strict=True))


def defended(world: World, recoded: Recoded, k: int) -> Recoded | None:
    """Classes without slack pooled, word for word; None where everybody stays pinned."""
    top = tuple(world.heights)
    found: Recoded = defaultdict(tuple)
    for cell, rows in recoded.items():
        found[() if not cell or world.node_of(cell) == top else cell] += rows
    pooled = False
    while True:
        bad = {cell for cell, cells, slack in judged(world, found, k, pooled=pooled) if cells < 2 or slack == 0}
        if not bad:
            return dict(found)
        if bad == {()}:
            nodes = {world.node_of(cell) for cell in found if cell}
            rest = [node for node in nodes if not all(below_or_at(node, other) for other in nodes)]
            if not rest:
                return None
            last = max(rest, key=lambda node: (sum(node), node))
            bad = {cell for cell in found if cell and world.node_of(cell) == last}
        pooled = True
        for cell in bad - {()}:
            found[()] += found.pop(cell)


def solved_for(world: World, k: int, releases: Sequence[Release]) -> list[Release]:
    """The releases of which integer programs pin somebody: refused classes may lie in the class of everybody."""
    found = []
    for release in releases:
        classes = [item for _, item in classes_of(world, release).values()]
        answer = solved(classes, paths_of(world), KnownRule(k - 1, pooled=True), frozenset())
        found += [release] if answer.pinned or answer.reason else []
    return found


@pytest.mark.representative(3)
@pytest.mark.parametrize("name", ["last round", "three levels", "three values", "two columns", "k 3", "four values"])
def test_nobody_is_pinned_by_any_table_that_gives_a_release(name: str) -> None:
    """Of every defended release, the tables and orders of nodes that give it place the rows of each class in more than
    one way, at every node below it."""
    world, k, most = {**WORLDS, **MORE}[name]
    ways: dict[Any, list[Recoded]] = defaultdict(list)
    orders = {order[:length] for order in permutations(world.nodes) for length in (1, 2, 3)}
    for number in range(k, most + 1):
        for table in combinations_with_replacement(world.leaves, number):
            for recoded in {tuple(sorted(rounds(world, table, order, k).items())) for order in orders}:
                found = defended(world, dict(recoded), k)
                if found is not None:
                    ways[tuple(sorted((cell, len(rows)) for cell, rows in found.items()))].append(found)
    told = 0
    assert solved_for(world, k, sorted(ways)[::3]) == []
    for release, origins in ways.items():
        nodes = {world.node_of(cell) for cell, _ in release if cell}
        for cell, _ in release:
            node = world.node_of(cell) if cell else tuple(world.heights)
            inside = world.under(cell) if cell else world.leaves
            for below in nodes - {node}:
                if below_or_at(below, node) and len({world.at(leaf, below) for leaf in inside}) > 1:
                    found_at = {
                        tuple(sorted(Counter(world.at(x, below) for x in way[cell]).items())) for way in origins
                    }
                    assert len(found_at) > 1, (release, cell, below)
                    told += 1
    assert told > 10


@pytest.mark.representative(4, postgres=1)
@pytest.mark.parametrize("rows", ["11245", "112235", "1122345", "111246", "11224466", "1123", "112246"])
def test_the_statements_refuse_what_the_words_refuse(engine_url: str, rows: str) -> None:
    """Local recoding at the vectors that it took itself, then word for word."""
    world, k, _ = MORE["last round"]
    Database(engine_url).create("people", {"c0": "text"}, [(value,) for value in rows])
    asked = spec_of(engine_url, world.trees(), k, search={"algorithm": "local", "local": {"leave": "60%"}})
    planned = pipeline.plan(asked)
    assert isinstance(planned, RecodedPlan)
    order = [(step["levels"]["c0"],) for step in planned.recoding.to_dict()["details"]["iterations"]]
    found = defended(world, rounds(world, [(value,) for value in rows], order, k), k)
    spec = spec_of(
        engine_url,
        world.trees(),
        k,
        privacy={"k": k, **SLACK},
        search={"algorithm": "local", "local": {"leave": "60%"}},
    )
    if found is None:
        with pytest.raises(InfeasibleError, match="slack"):
            pipeline.run(spec)
        return
    pipeline.run(spec)
    wanted = Counter({cell or ("*",): len(members) for cell, members in found.items()})
    released = Database(engine_url).counted("released")
    released[("*",)] += released.pop(("t",), 0)
    assert +released == wanted
