"""Mondrian's partitions against brute force: the same regions, minimal, without overlap, whatever model is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Session
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.recoding.mondrian.recoder import MondrianSettings, Partition, Partitioning
from sqlanon.source.binding import bind
from sqlanon.source.combinations import combine
from sqlanon.source.frequency import scan, store_hierarchies
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec
from tests.kit.examples import share
from tests.kit.mondrian import Box, Column, Mondrian, Region, overlapping
from tests.kit.oracle import Asked, Table
from tests.kit.random_tables import EVERYTHING, ZIPS, Asking, load, random_table
from tests.kit.tables import FEW, create, quoted, rows, run, spec_of

WHOLE = [
    asking
    for asking in EVERYTHING
    if not asking.groups and not asking.known and not {"k_map", "delta_presence"} & asking.privacy.keys()
]
"""Requirements on the classes of the whole quasi-identifier."""


SEVERAL = settings(FEW, max_examples=share(5))


@contextmanager
def partitioned(
    engine: Engine, spec: Spec, *, relaxed: bool = False, guided: bool = True, weights: tuple[float, ...] | None = None
) -> Iterator[tuple[Partitioning, Partition | None]]:
    """The partition of a spec's source, standing while the context is open; None where not even all rows satisfy."""
    binding = bind(spec, engine)
    with Scratch(engine, binding.scratch) as scratch:
        base = scan(engine, binding, scratch)
        made = combine(engine, binding, base, store_hierarchies(engine, binding, base, scratch), scratch)
        grouping = requirement_of(binding, rows=base.rows).whole
        assert grouping is not None
        wanted = MondrianSettings(relaxed, guided, weights or (1.0,) * len(binding.names))
        partitioning = Partitioning(engine, scratch, made, grouping, wanted)
        yield partitioning, partitioning.run() if partitioning.satisfiable() else None


def boxes(engine: Engine, partition: Partition, sides: tuple[str, str] = ("lo", "hi")) -> list[tuple[Box, int]]:
    """The bounds and rows of all regions, in order."""
    low, high = sides
    dimensions = range(len(partition.space.dimensions))
    names = ", ".join(f'"{low}_{position}", "{high}_{position}"' for position in dimensions)
    found = rows(engine, f'SELECT "n", {names} FROM {quoted(*partition.regions.parts)}')
    return sorted(
        (tuple((int(a), int(b)) for a, b in zip(bounds[::2], bounds[1::2], strict=True)), int(n))
        for n, *bounds in found
    )


def expected(regions: Sequence[Region]) -> list[tuple[Box, int]]:
    return sorted((region.box, len(region.rows)) for region in regions)


def columns_of(source: Sequence[Mapping[str, Any]], guided: bool = True) -> list[Column]:
    """The domains of a random problem as the database orders them."""

    def domain(name: str, order: Sequence[Any]) -> list[Any]:
        present = {row[name] for row in source}
        return [value for value in order if value in present]

    leaves = [leaf for under in ZIPS.values() for leaf in under]
    branch = {leaf: above for above, under in ZIPS.items() for leaf in under}
    return [
        Column("zip", domain("zip", [*leaves, None]), [branch] if guided else []),
        Column("age", domain("age", [*range(5), None])),
        Column("sex", domain("sex", ["f", "m", None])),
    ]


def mondrian_of(asking: Asking, source: Sequence[Mapping[str, Any]]) -> Mondrian:
    problem = asking.problem(source, (), 0)
    asked = [Asked(item.model, (), item.sensitive) for item in problem.requirement]

    def passes(part: Sequence[Mapping[str, Any]]) -> bool:
        return Table(part, problem.table.respondent, source=source).satisfied(asked)

    return Mondrian(columns_of(source), passes, int(asking.privacy.get("k", 1)))


@pytest.fixture(scope="module")
def memory() -> Iterator[Engine]:
    """One database for all examples of this module."""
    engine = open_engine("duckdb:///:memory:", Session(), Path())
    yield engine
    engine.close()


def asking_named(name: str) -> Asking:
    return next(asking for asking in WHOLE if asking.name == name)


@pytest.mark.representative(3)
@pytest.mark.parametrize(
    "name",
    ["k", "k, persons", "distinct, persons", "entropy", "recursive", "t hierarchical", "beta enhanced", "two columns"],
)
def test_models_partition_as_brute_force(memory: Engine, name: str) -> None:
    compared(memory, asking_named(name), seed=len(name))


@pytest.mark.parametrize("name", ["k", "t ordered", "alpha, persons"])
def test_both_engines(shared_engine: Engine, name: str) -> None:
    compared(shared_engine, asking_named(name), seed=3)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("asking", WHOLE, ids=lambda asking: asking.name)
def test_every_model_on_more_tables(shared_engine: Engine, asking: Asking, seed: int) -> None:
    compared(shared_engine, asking, seed)


def compared(engine: Engine, asking: Asking, seed: int) -> None:
    source, population = random_table(seed, rows=24)
    load(engine, source, population)
    mondrian = mondrian_of(asking, source)
    with partitioned(engine, asking.spec(0)) as (_, partition):
        if partition is None:
            assert not mondrian.passes(source)
            return
        regions = mondrian.partition(source)
        assert boxes(engine, partition) == expected(regions)
    assert not overlapping(regions)
    assert all(mondrian.passes(region.rows) for region in regions)
    assert not [cut for region in regions for cut in mondrian.allowable_cuts(region)]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], int]:
    """Rows of a number, a text and a text with a hierarchy, and k."""
    values = st.tuples(
        st.one_of(st.none(), st.integers(-3, 6)),
        st.sampled_from("abcd"),
        st.sampled_from(["n1", "n2", "s1", "s2", "n3"]),
    )
    k = draw(st.integers(1, 4))
    return draw(st.lists(values, min_size=k, max_size=40)), k


@SEVERAL
@given(tables(), st.sampled_from([(1, 1, 1), (1, 3, 0.5)]), st.booleans())
def test_k_on_any_table(memory: Engine, table: tuple[list[tuple[Any, ...]], int], weights: Any, guided: bool) -> None:
    given_rows, k = table
    names = ("number", "letter", "zip")
    run(memory, "DROP TABLE IF EXISTS t")
    create(memory, ("t",), {"number": "int", "letter": "text", "zip": "text"}, given_rows)
    source = [dict(zip(names, row, strict=True)) for row in given_rows]
    leaves = [leaf for under in ZIPS.values() for leaf in under]
    branch = {leaf: above for above, under in ZIPS.items() for leaf in under}
    orders: list[list[Any]] = [[*range(-3, 7), None], list("abcd"), leaves]
    columns = [
        Column(
            name,
            [value for value in order if value in {row[name] for row in source}],
            [branch] if name == "zip" and guided else [],
            weight,
        )
        for name, order, weight in zip(names, orders, weights, strict=True)
    ]
    mondrian = Mondrian(columns, lambda part: len(part) >= k, k)
    spec = spec_of({"number": None, "letter": None, "zip": {"tree": ZIPS}}, k=k)
    with partitioned(memory, spec, weights=tuple(weights), guided=guided) as (_, partition):
        assert partition is not None
        regions = mondrian.partition(source)
        assert boxes(memory, partition) == expected(regions)
    assert not overlapping(regions)
    assert not [cut for region in regions for cut in mondrian.allowable_cuts(region)]


@SEVERAL
@given(tables())
def test_relaxed_regions_hold_fewer_than_twice_k(memory: Engine, table: tuple[list[tuple[Any, ...]], int]) -> None:
    given_rows, k = table
    run(memory, "DROP TABLE IF EXISTS t")
    create(memory, ("t",), {"number": "int", "letter": "text", "zip": "text"}, given_rows)
    spec = spec_of({"number": None, "letter": None, "zip": {"tree": ZIPS}}, k=k)
    with partitioned(memory, spec) as (_, partition):
        assert partition is not None
        strict = boxes(memory, partition)
    with partitioned(memory, spec, relaxed=True) as (_, partition):
        assert partition is not None
        found = boxes(memory, partition)
        # Strict regions that are cut further: no label covers more than it would there.
        for box, rows_of in strict:
            within = [n for other, n in found if inside_of(other, box)]
            assert sum(within) == rows_of
        assert all(k <= n <= 2 * k - 1 for _, n in found)
        assert sum(n for _, n in found) == len(given_rows)
        points = quoted(*partition.points.parts)
        inside = " AND ".join(f'"o_{i}" BETWEEN "lo_{i}" AND "hi_{i}"' for i in range(3))
        [(whole, rows_inside)] = rows(
            memory,
            f'SELECT SUM(p."n"), SUM(CASE WHEN {inside} THEN p."n" ELSE 0 END) FROM {points} AS p '
            f'JOIN {quoted(*partition.regions.parts)} AS r ON p."region" = r."region"',
        )
        assert whole == rows_inside == len(given_rows)
        # Each row of a combination lies in one region.
        [(parts, held)] = rows(
            memory,
            f'SELECT COUNT(*), SUM(CASE WHEN "last_row" - "first_row" + 1 = "n" THEN 1 ELSE 0 END) FROM {points}',
        )
        assert parts == held
        overlaps = rows(
            memory,
            f'SELECT COUNT(*) FROM {points} AS a JOIN {points} AS b ON a."o_0" = b."o_0" AND a."o_1" = b."o_1" '
            f'AND a."o_2" = b."o_2" AND a."first_row" < b."first_row" AND a."last_row" >= b."first_row"',
        )
        assert overlaps == [(0,)]


def test_both_kinds_of_cuts_take_many_rounds(memory: Engine) -> None:
    """Four values of 20 rows each: three rounds of cuts between values, and as many within each of them."""
    run(memory, "DROP TABLE IF EXISTS t")
    run(memory, "CREATE TABLE t AS SELECT i % 4 AS a, 1 AS b FROM range(80) AS r(i)")
    with partitioned(memory, spec_of({"a": None, "b": None}, k=2), relaxed=True) as (_, partition):
        assert partition is not None
        found = boxes(memory, partition)
        assert partition.rounds >= 6
    assert all(low == high for ((low, high), _), _ in found)
    assert Counter(box[0][0] for box, n in found for _ in range(n)) == dict.fromkeys(range(4), 20)
    assert {n for _, n in found} <= {2, 3}


def inside_of(box: Box, whole: Box) -> bool:
    return all(low <= a <= b <= high for (a, b), (low, high) in zip(box, whole, strict=True))


def test_the_order_of_rows_does_not_matter(memory: Engine) -> None:
    source, population = random_table(5, rows=24)
    asking = asking_named("distinct")
    found = []
    for seed in (1, 2):
        Random(seed).shuffle(source)
        load(memory, source, population)
        with partitioned(memory, asking.spec(0)) as (_, partition):
            assert partition is not None
            placed = rows(memory, f"SELECT * FROM {quoted(*partition.points.parts)}")
            found.append((boxes(memory, partition), sorted(map(str, placed))))
    assert found[0] == found[1]


def test_statements_do_not_grow_with_the_regions() -> None:
    statements: list[str] = []
    session = Session(hooks=[lambda event: statements.append(event.step) if event.seconds is None else None])
    engine = open_engine("duckdb:///:memory:", session, Path())
    by_round = set()
    for number in (64, 512):
        run(engine, "DROP TABLE IF EXISTS t")
        run(engine, f"CREATE TABLE t AS SELECT i % 32 AS a, i // 32 AS b FROM range({number}) AS r(i)")
        statements.clear()
        with partitioned(engine, spec_of({"a": None, "b": None}, k=2)) as (_, partition):
            assert partition is not None
            by_round.add((len(statements) - statements.index("first region")) // partition.rounds)
            assert len(boxes(engine, partition)) == number // 2
            assert partition.rounds == number.bit_length() - 1
    engine.close()
    assert max(by_round) <= 10
