"""Classes of a million rows exactly on a threshold, a row or a part in 10^9 beyond it, and counts of 10^14.

Every engine must say the same, and rounding must never let a failing class pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.hierarchies.lattice import Lattice
from sqlanon.privacy.alpha import AlphaShare
from sqlanon.privacy.base import PrivacyModel, Requirement, Sensitive, Threshold
from sqlanon.privacy.beta_likeness import BetaLikeness
from sqlanon.privacy.delta_disclosure import DeltaDisclosure
from sqlanon.privacy.distinct import DistinctDiversity
from sqlanon.privacy.entropy import EntropyDiversity
from sqlanon.privacy.recursive import RecursiveDiversity
from sqlanon.privacy.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from sqlanon.source import sensitive as sensitive_sql
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.scratch import Scratch
from sqlanon.spec import spec_from_dict
from sqlanon.sql.relations import Table, table_expression
from sqlanon.sql.values import Counted, ValueTables
from tests.kit.tables import frequency, quoted, run
from tests.kit.tables import rows as rows_of

CLASS = 1_000_000
MANY = 10**13
"""Each row of a small table stands for so many: products of two counts and a threshold come near 38 digits."""

Counts = dict[str, int]


def load(engine: Engine, first: Counts, second: Counts) -> None:
    """Two classes, `a` and `b`, with so many rows of each value."""
    run(engine, "DROP TABLE IF EXISTS t")
    run(engine, "CREATE TABLE t (zip text, s text)")
    for name, counts in (("a", first), ("b", second)):
        for value, rows in counts.items():
            run(engine, f"INSERT INTO t SELECT '{name}', '{value}' FROM generate_series(1, {rows}) AS g")


@contextmanager
def scanned(engine: Engine) -> Iterator[tuple[FrequencySet, Scratch]]:
    spec = spec_from_dict(
        {
            "source": "t",
            "target": "released",
            "columns": {
                "zip": {"role": "quasi_identifier"},
                "s": {"role": "sensitive", "hierarchy": {"tree": {"low": ["v", "w"], "high": ["x", "y", "z"]}}},
            },
            "privacy": {
                "alpha": [{"column": "s", "value": "x", "alpha": 1}],
                "t_closeness": [
                    {"column": "s", "t": 1, "distance": "hierarchical"},
                    {"column": "s", "t": 1, "distance": "ordered", "order": ["v", "w", "x", "y", "z"]},
                ],
            },
        }
    )
    with frequency(engine, spec) as (found, _, scratch):
        yield found, scratch


def suppressed(engine: Engine, found: FrequencySet, scratch: Scratch, model: PrivacyModel) -> int:
    """Rows of the classes that fail when nothing is generalized."""
    evaluator = SqlEvaluator.of(
        engine,
        found,
        Requirement.of([model]),
        lattice=Lattice.of_heights((1,)),
        limit=0,
        figures={},
        scratch=scratch,
    )
    return evaluator.check([(0,)])[0].suppressed


def threshold(text: str) -> Threshold:
    return Threshold(Decimal(text))


Maker = Callable[[Sensitive], PrivacyModel]
EVEN: dict[str, tuple[Maker, Maker]] = {
    "equal": (lambda s: EqualCloseness(s, threshold("0.1")), lambda s: EqualCloseness(s, threshold("0.099999999"))),
    "ordered": (
        lambda s: OrderedCloseness(s, threshold("0.1")),
        lambda s: OrderedCloseness(s, threshold("0.099999999")),
    ),
    "hierarchical": (
        lambda s: HierarchicalCloseness(s, threshold("0.05")),
        lambda s: HierarchicalCloseness(s, threshold("0.049999999")),
    ),
    "alpha": (
        lambda s: AlphaShare(s, 0, "", threshold("0.6")),
        lambda s: AlphaShare(s, 0, "", threshold("0.599999999")),
    ),
    "beta": (
        lambda s: BetaLikeness(s, threshold("0.2"), enhanced=False),
        lambda s: BetaLikeness(s, threshold("0.199999999"), enhanced=False),
    ),
    "enhanced": (
        lambda s: BetaLikeness(s, threshold("0.2"), enhanced=True),
        lambda s: BetaLikeness(s, threshold("0.199999999"), enhanced=True),
    ),
    "delta": (
        lambda s: DeltaDisclosure(s, threshold("0.223143552"), every_value=False),
        lambda s: DeltaDisclosure(s, threshold("0.22314355"), every_value=False),
    ),
    "recursive": (
        lambda s: RecursiveDiversity(s, 2, threshold("1.500000001")),
        lambda s: RecursiveDiversity(s, 2, threshold("1.5")),
    ),
}
"""Models that a class with shares 6/10 and 4/10, half and half in the source, just meets, and the least step beyond.

-ln(4/5) = 0.22314355131...; x and y lie under one label, so half of what moves is free.
"""


def test_a_million_rows_on_the_threshold(engine: Engine) -> None:
    sixty = CLASS * 6 // 10
    load(engine, {"x": sixty, "y": CLASS - sixty}, {"x": CLASS - sixty, "y": sixty})
    sensitive = Sensitive(0, "s", counts=2 * CLASS)
    with scanned(engine) as (found, scratch):
        for name, (meeting, missing) in EVEN.items():
            assert (name, suppressed(engine, found, scratch, meeting(sensitive))) == (name, 0)
            assert (name, suppressed(engine, found, scratch, missing(sensitive)) >= CLASS) == (name, True)
            wide = replace(sensitive, counts=2**62)
            assert suppressed(engine, found, scratch, meeting(wide)) == 0
            assert suppressed(engine, found, scratch, missing(wide)) >= CLASS


@pytest.mark.one_engine
def test_one_row_of_a_million_beyond(engine: Engine) -> None:
    sixty = CLASS * 6 // 10 + 1
    load(engine, {"x": sixty, "y": CLASS - sixty}, {"x": CLASS - sixty, "y": sixty})
    sensitive = Sensitive(0, "s", counts=2 * CLASS)
    with scanned(engine) as (found, scratch):
        for name, (meeting, _) in EVEN.items():
            assert (name, suppressed(engine, found, scratch, meeting(sensitive)) >= CLASS) == (name, True)


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize(
    ("counts", "l", "passes"),
    [
        ({"x": 500_000, "y": 500_000}, 2, True),
        ({"x": 500_001, "y": 499_999}, 2, False),
        ({"v": 500_000, "w": 125_000, "x": 125_000, "y": 125_000, "z": 125_000}, 4, True),
        ({"v": 500_001, "w": 124_999, "x": 125_000, "y": 125_000, "z": 125_000}, 4, False),
        ({"v": 499_999, "w": 125_001, "x": 125_000, "y": 125_000, "z": 125_000}, 4, True),
    ],
)
def test_entropy_at_its_threshold(engine: Engine, counts: Counts, l: int, passes: bool) -> None:  # noqa: E741 (the papers' name)
    load(engine, counts, {"v": 1})
    sensitive = Sensitive(0, "s", counts=CLASS + 1)
    with scanned(engine) as (found, scratch):
        assert suppressed(engine, found, scratch, EntropyDiversity(sensitive, l)) == 1 + (0 if passes else CLASS)


def test_counts_of_ten_to_the_fourteenth(engine: Engine) -> None:
    """No product overflows: the verdicts are those of the small table."""
    load(engine, {"x": 6, "y": 4}, {"x": 4, "y": 6})
    sensitive = Sensitive(0, "s", counts=2**62)
    with scanned(engine) as (found, scratch):
        big = multiplied(engine, found, scratch, MANY)
        for name, (meeting, missing) in EVEN.items():
            assert (name, suppressed(engine, big, scratch, meeting(sensitive))) == (name, 0)
            assert (name, suppressed(engine, big, scratch, missing(sensitive)) > 0) == (name, True)
        for model in (DistinctDiversity(sensitive, 2), EntropyDiversity(sensitive, 1)):
            assert suppressed(engine, big, scratch, model) == 0


def multiplied(engine: Engine, found: FrequencySet, scratch: Scratch, factor: int) -> FrequencySet:
    """The same frequency set with every row counted so many times."""
    counted = f"p_0, s_0, CAST(n AS bigint) * {factor} AS n"
    run(engine, f"CREATE TEMPORARY TABLE big_rows AS SELECT {counted} FROM {quoted(*found.table.parts)}")
    big = Table(("big_rows",))
    everything = Counted(exp.select().from_(table_expression(big)), ())
    named = "SELECT table_name FROM information_schema.tables WHERE table_name LIKE '%!_values!_%' ESCAPE '!'"
    [(name,)] = rows_of(engine, named)
    codes = Table((name,))
    values = scratch.create("test", "bigv", sensitive_sql.reference(everything, 0, codes, 1))
    hierarchy = found.sensitive[0].hierarchy
    assert hierarchy is not None
    labels = scratch.create(
        "test", "bigx", sensitive_sql.labels(values, codes, hierarchy.table.table, hierarchy.height)
    )
    shape = replace(found.shape, count_type="bigint", tables=(ValueTables(values, labels),))
    return replace(found, table=big, rows=found.rows * factor, shape=shape)
