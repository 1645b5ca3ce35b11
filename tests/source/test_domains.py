"""Domains of columns: what a label covers of them, counted one by one; what is refused; what losses come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon import insight, pipeline
from sqlanon.engines.base import Engine
from sqlanon.errors import HierarchyError, SpecError
from sqlanon.hierarchies import Family
from sqlanon.hierarchies.base import Level
from sqlanon.insight.options import UtilityOptions
from sqlanon.insight.use import workload
from sqlanon.insight.workload import RandomQueries
from sqlanon.source.domains import STEPS
from sqlanon.source.run import DEFAULT
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.tables import FEW, at, create, quoted, rows, run, stored

AGE = 'a\'ge "of" se.lect\\'
"""A hostile name."""


def with_domain(hierarchy: Any, domain: Any, **more: Any) -> Spec:
    column = {"role": "quasi_identifier"} | ({} if hierarchy is None else {"hierarchy": hierarchy})
    return spec_with({AGE: column | ({} if domain is None else {"domain": domain})}, **more)


def spec_with(columns: dict[str, Any], url: str = "duckdb:///:memory:", **more: Any) -> Spec:
    spec: dict[str, Any] = {
        "connection": url,
        "source": "t",
        "target": "released",
        "columns": columns,
        "privacy": {"k": 1},
        "evidence": {"files": False},
    }
    return spec_from_dict(spec | more)


def measured(engine: Engine, spec: Spec, kind: str, values: Sequence[object]) -> tuple[int, dict[Any, Any], int]:
    """Height, places of the domain, and by level and label the first place and the number of places."""
    create(engine, ["t"], {AGE: kind}, [[value] for value in values])
    try:
        with stored(engine, spec) as made:
            [item] = made.hierarchies
            found: dict[Any, Any] = {}
            for level in range(item.height):
                label = f'CAST("label_{level}" AS text), "start_{level}", "leaves_{level}"'
                for text, first, size in rows(engine, f"SELECT {label} FROM {quoted(*item.table.table.parts)}"):
                    assert found.setdefault((level, text), (first, size)) == (first, size)
            return item.table.leaves, found, item.height
    finally:
        run(engine, "DROP TABLE t")


def counted(levels: Sequence[Level], domain: Sequence[object]) -> dict[Any, Any]:
    """The same for labels above the values, from the label of every value of the domain."""
    found: dict[Any, Any] = {}
    for number, level in enumerate(levels, start=1):
        labels = [level.label(value) for value in domain]
        sizes = Counter(labels)
        found |= {(number, label): (labels.index(label), size) for label, size in sizes.items()}
    return found


@st.composite
def interval_definitions(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        cuts = sorted(draw(st.sets(st.integers(-30, 60), min_size=2, max_size=4)))
        shift = draw(st.sampled_from(["0", "0.5"]))
        return {"cuts": [[float(Decimal(cut) + Decimal(shift)) for cut in cuts], [cuts[0] + float(shift)]]}
    width = draw(st.sampled_from([1.5, 2, 5, 7]))
    found: dict[str, Any] = {"widths": [width, width * draw(st.sampled_from([2, 3]))]}
    if draw(st.booleans()):
        found["min"] = draw(st.integers(-20, 10))
    if draw(st.booleans()):
        found["max"] = draw(st.integers(20, 50))
    return {"interval": found} if "widths" in found else found


@FEW
@given(
    definition=interval_definitions(),
    values=st.sets(st.integers(-25, 55), min_size=1, max_size=6),
    beyond=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_labels_of_whole_numbers_cover_what_counting_finds(
    engine: Engine, definition: dict[str, Any], values: set[int], beyond: tuple[int, int] | None
) -> None:
    hierarchy = definition if "interval" in definition else {"interval": definition}
    low, high = min(values), max(values)
    domain = None
    if beyond is not None:
        low, high = low - beyond[0], high + beyond[1]
        domain = {"min": low, "max": high}
    spec = with_domain(hierarchy, domain)
    leaves, found, height = measured(engine, spec, "int", [*sorted(values), None])
    rule: Any = spec.hierarchy(AGE).rule(Family.INTEGER)
    expected = counted(rule.levels, range(low, high + 1))
    assert (leaves, height) == (high - low + 1 + 1, len(rule.levels) + 1)
    for (level, label), place in found.items():
        assert place == ((int(label) - low, 1) if level == 0 else expected[level, label])


@FEW
@given(
    words=st.sampled_from([["month", "year", "5 years"], ["week", "any"], ["quarter", "2 years"], ["year"]]),
    days=st.sets(st.dates(date(1895, 1, 1), date(1905, 12, 31)), min_size=1, max_size=5),
)
def test_labels_of_dates_cover_what_counting_finds(engine: Engine, words: list[str], days: set[date]) -> None:
    spec = with_domain({"date": words}, {"min": "1894-11-30", "max": "1906-02-01"})
    leaves, found, _ = measured(engine, spec, "date", sorted(days))
    first = date(1894, 11, 30)
    domain = [first + timedelta(days=day) for day in range((date(1906, 2, 1) - first).days + 1)]
    rule: Any = spec.hierarchy(AGE).rule(Family.DATE)
    expected = counted(rule.levels, domain)
    assert leaves == len(domain)
    for (level, label), place in found.items():
        assert place == ((domain.index(date.fromisoformat(label)), 1) if level == 0 else expected[level, label])


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_moments_are_counted_by_the_second(engine: Engine, kind: str) -> None:
    spec = with_domain({"date": ["hour", "day"]}, {"min": "2024-02-28T23:59:50", "max": "2024-02-29"})
    leaves, found, _ = measured(engine, spec, kind, ["2024-02-29 00:00:00+00:00", "2024-02-29 23:10:09.7+00:00"])
    assert leaves == 10 + 86_400
    assert found[1, "2024-02-29 00"] == (10, 3600)
    assert found[1, "2024-02-29 23"] == (10 + 23 * 3600, 3600)
    assert found[2, "2024-02-29"] == (10, 86_400)
    assert {place for (level, _), place in found.items() if level == 0} == {(10, 1), (10 + 23 * 3600 + 609, 1)}


@FEW
@given(
    values=st.sets(st.decimals(-9, 29, places=2), min_size=2, max_size=6),
    width=st.sampled_from(["0.5", "2.5", "10"]),
    kind=st.sampled_from(["numeric(10, 2)", "double precision"]),
)
def test_labels_of_decimals_cover_their_part_of_the_range(
    engine: Engine, values: set[Decimal], width: str, kind: str
) -> None:
    spec = with_domain({"interval": {"widths": [float(width)]}}, None)
    leaves, found, _ = measured(engine, spec, kind, sorted(values))
    low, high = Fraction(min(values)), Fraction(max(values))
    assert leaves == STEPS
    for (level, label), (first, size) in found.items():
        if level == 0:
            begin = end = Fraction(Decimal(label))
        else:
            begin, end = (Fraction(Decimal(part)) for part in label.strip("[)").split(", "))
        begin, end, span = max(begin, low), min(end, high), high - low
        assert first / STEPS == pytest.approx(float((begin - low) / span), abs=1e-8)
        assert (size - 1) / STEPS == pytest.approx(float((end - begin) / span), abs=1e-8)


@pytest.mark.one_engine
def test_numbers_that_are_not_finite_stand_at_the_ends(engine: Engine) -> None:
    spec = with_domain({"interval": {"cuts": [0, 10]}}, None)
    values = ["NaN", "Infinity", "-Infinity", "-5", "0", "15", "1e308", "-1e308", None]
    leaves, found, _ = measured(engine, spec, "double precision", values)
    assert leaves == STEPS + 1
    assert found[1, "NaN"] == (STEPS - 1, 1)
    assert found[1, "<0"] == (0, STEPS // 2)
    assert found[1, ">=10"][0] + found[1, ">=10"][1] == STEPS


def test_a_range_of_too_many_numbers_is_counted_in_steps(engine: Engine) -> None:
    spec = with_domain({"interval": {"widths": [10**9]}}, {"min": -(10**17), "max": 10**17})
    leaves, found, _ = measured(engine, spec, "bigint", [-(10**17), 0, 10**17])
    assert leaves == STEPS
    assert found[0, "0"] == ((STEPS - 1) // 2, 1)
    assert found[1, "[0, 1000000000)"][1] in (5, 6)


# -- what is refused -------------------------------------------------------------------------------------------------

RANGE = {"min": 1, "max": 60}
INTERVAL = {"interval": {"widths": [5]}}


@pytest.mark.parametrize(
    ("kind", "hierarchy", "domain", "problem"),
    [
        ("text", None, RANGE, "holds text values"),
        ("boolean", None, RANGE, "holds boolean values"),
        ("int", {"mask": {"length": 3}}, RANGE, "need labels that tell their bounds"),
        ("int", {"tree": {"x": [1, 2]}}, RANGE, "the hierarchy lists the values"),
        ("int", INTERVAL, "hierarchy", "interval with min and max"),
        ("text", {"mask": {"length": 3}}, "hierarchy", "only csv, tree, table"),
        ("int", None, {"min": 0.5, "max": 3}, "give whole numbers"),
        ("int", None, {"min": "2020-01-01", "max": "2021-01-01"}, "min and max are dates"),
        ("date", None, RANGE, "min and max are numbers"),
        ("date", None, {"min": "2020-01-01", "max": "2021-01-01T10:00:00"}, "leave out the time"),
        ("bigint", None, {"min": 0, "max": 10**19}, "at most 18 digits"),
        ("bigint", None, {"min": -1e30, "max": 1e300}, "at most 18 digits"),
        ("int", None, {"min": Decimal("0.0000000000000000000000000000001"), "max": 3}, "give whole numbers"),
    ],
)
def test_a_domain_that_does_not_fit_is_refused(
    duckdb_url: str, kind: str, hierarchy: Any, domain: Any, problem: str
) -> None:
    with at(duckdb_url) as engine:
        create(engine, ["t"], {AGE: kind}, [])
        with pytest.raises(SpecError, match=problem) as caught, stored(engine, with_domain(hierarchy, domain)):
            pass
    assert str(caught.value).startswith(f"columns.{AGE}.domain: ")


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ({"role": "identifier", "domain": RANGE}, "only a quasi_identifier has this"),
        ({"role": "sensitive", "domain": "occurring"}, "only a quasi_identifier has this"),
        ({"role": "quasi_identifier", "domain": {"min": 2, "max": 1}}, "min must not exceed max"),
        ({"role": "quasi_identifier", "domain": {"min": 2, "max": "2020-01-01"}}, "both be numbers or both be dates"),
        ({"role": "quasi_identifier", "domain": {"min": 2}}, "max"),
        ({"role": "quasi_identifier", "domain": {"min": True, "max": 3}}, "number is expected"),
        ({"role": "quasi_identifier", "domain": {"min": "x", "max": 3}}, "a number or a date"),
        ({"role": "quasi_identifier", "domain": "all"}, "one of occurring, hierarchy is expected"),
        ({"role": "quasi_identifier", "domain": [1, 2]}, "a mapping of keys is expected"),
    ],
)
def test_a_domain_of_the_wrong_form_is_refused(column: dict[str, Any], problem: str) -> None:
    """In one line, of the form that was written."""
    with pytest.raises(SpecError, match=problem) as caught:
        spec_with({"a": column, "q": {"role": "quasi_identifier"}})
    assert "\n" not in str(caught.value)


@pytest.mark.representative(3, postgres=1)
@pytest.mark.parametrize(
    ("kind", "hierarchy", "domain", "values", "outside"),
    [
        ("int", INTERVAL, RANGE, [0, 1, 60, 61, 61, None], 2),
        ("numeric(9, 3)", INTERVAL, RANGE, ["0.999", "1", "60", "60.001", "70"], 3),
        ("double precision", None, RANGE, ["NaN", "Infinity", "5"], 2),
        ("date", None, {"min": "2020-02-29", "max": "2020-03-01"}, ["2020-02-28", "2020-02-29", "2020-03-02"], 2),
        ("int", {"interval": {"widths": [5], "min": 0, "max": 20}}, "hierarchy", [-1, 0, 19, 20], 2),
        ("numeric(9, 3)", {"interval": {"widths": [5], "min": 0, "max": 20}}, "hierarchy", ["0", "19.999", "20"], 1),
    ],
)
def test_values_outside_a_declared_domain_are_counted_and_refused(
    engine: Engine, kind: str, hierarchy: Any, domain: Any, values: list[Any], outside: int
) -> None:
    create(engine, ["t"], {AGE: kind}, [[value] for value in values])
    with pytest.raises(HierarchyError) as caught, stored(engine, with_domain(hierarchy, domain)):
        pass
    assert caught.value.column == AGE
    assert caught.value.count == outside
    assert f"{outside} value" in str(caught.value)
    assert "outside its declared domain" in str(caught.value)


# -- losses ----------------------------------------------------------------------------------------------------------

TREE = {'lo"w': ["1", "2", "3", "4"], "hi'gh": ["5", "6", "7", "8"]}
"""Of whole numbers, listed: most of them nobody's."""
KINDS: dict[str, tuple[Any, Any]] = {
    "range": ({"interval": {"widths": [2, 4]}}, None),
    "declared": ({"interval": {"widths": [2, 4]}}, {"min": -3, "max": 20}),
    "occurring": ({"interval": {"widths": [2, 4]}}, "occurring"),
    "bounds": ({"interval": {"widths": [2, 4], "min": 0, "max": 12}}, "hierarchy"),
    "listed": ({"tree": TREE}, None),
    "hierarchy": ({"tree": TREE}, "hierarchy"),
    "listed, occurring": ({"tree": TREE}, "occurring"),
    "mask": ({"mask": {"length": 1}}, None),
}


def domain_by_hand(kind: str, values: set[int]) -> list[int]:
    match kind:
        case "range":
            return list(range(min(values), max(values) + 1))
        case "declared":
            return list(range(-3, 21))
        case "bounds":
            return list(range(12))
        case "listed" | "hierarchy":
            return list(range(1, 9))
    return sorted(values)


def label_by_hand(kind: str, value: int, level: int) -> object:
    if kind.startswith(("listed", "hierarchy")):
        return value if level == 0 else value > 4 if level == 1 else "*"
    if kind == "mask":
        return value if level == 0 else "*"
    return "*" if level == 3 else value // (1, 2, 4)[level]


def loss_by_hand(table: Sequence[tuple[int, str]], kind: str, node: Sequence[int], k: int) -> tuple[float, int]:
    """The loss of a node over the number column and a text column with four listed leaves; and its suppressed rows."""
    shown = [(label_by_hand(kind, number, node[0]), (text, text[0], "*")[node[1]]) for number, text in table]
    sizes = Counter(shown)
    domains: tuple[list[object], list[object]] = (
        [label_by_hand(kind, value, node[0]) for value in domain_by_hand(kind, {number for number, _ in table})],
        [(text, text[0], "*")[node[1]] for text in ("a1", "a2", "b1", "b2")],
    )
    parts = []
    for column, domain in enumerate(domains):
        lost = sum(1.0 if sizes[row] < k else domain.count(row[column]) / len(domain) for row in shown)
        least = len(shown) / len(domain)
        parts.append(max(0.0, (lost - least) / (len(shown) - least)) if len(domain) > 1 else 0.0)
    return prod(1 + part for part in parts) ** (1 / 2) - 1, sum(size for size in sizes.values() if size < k)


def loss_spec(url: str, kind: str, **search: Any) -> Spec:
    hierarchy, domain = KINDS[kind]
    number = {"role": "quasi_identifier", "hierarchy": hierarchy} | ({} if domain is None else {"domain": domain})
    text = {"role": "quasi_identifier", "hierarchy": {"tree": {"a": ["a1", "a2"], "b": ["b1", "b2"]}}}
    return spec_with(
        {AGE: number, "text": text},
        url,
        privacy={"k": 2, "suppression": {"limit": 2}},
        search={"algorithm": "exhaustive", "metric": "loss"} | search,
    )


TABLES = st.lists(st.tuples(st.integers(1, 8), st.sampled_from(["a1", "a2", "b1"])), min_size=4, max_size=10).filter(
    lambda table: len({number for number, _ in table}) > 1
)


@pytest.mark.representative(4, postgres=1)
@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(table=TABLES)
def test_the_loss_is_that_of_the_domain(engine_url: str, kind: str, table: list[tuple[int, str]]) -> None:
    """Also the verdicts: which rows are suppressed does not depend on the domain."""
    with at(engine_url) as engine:
        run(engine, "DROP TABLE IF EXISTS t")
        create(engine, ["t"], {AGE: "int", "text": "text"}, table)
    plan = pipeline.plan(loss_spec(engine_url, kind))
    heights = (label_heights(kind), 2)
    nodes = list(product(*(range(height + 1) for height in heights)))
    known = {node: loss_by_hand(table, kind, node, 2) for node in nodes}
    suppressed = {verdict.node: verdict.suppressed for verdict in plan.verdicts}
    assert suppressed == {node: lost for node, (_, lost) in known.items() if node in suppressed}
    best = min(loss for loss, lost in known.values() if lost <= 2 and lost < len(table))
    chosen = plan.chosen.node
    assert plan.figures()["score"]["loss"] == pytest.approx(known[tuple(chosen)][0], abs=1e-9)
    assert known[tuple(chosen)][0] == pytest.approx(best, abs=1e-9)


def label_heights(kind: str) -> int:
    return 3 if KINDS[kind][0].get("interval") else 1 if kind == "mask" else 2


# -- what reads a release --------------------------------------------------------------------------------------------

PLACES = {"nor'th": ["a", 'b "c"', "d\\"], "south": ["e"]}


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize("algorithm", ["mondrian", "ops", "local"])
def test_utility_measures_ranges_as_the_plan_did(engine_url: str, algorithm: str) -> None:
    """One reads labels, the other knew the ordinals behind them."""
    numbers = [3, 3, 4, 9, 10, 10, 11, 40, 41, 41, 44, 59, 59, 60, None, None, None]
    places = ["a", 'b "c"', "d\\", "e"]
    with at(engine_url) as engine:
        create(engine, ["t"], {AGE: "int", "place": "text"}, [[age, places[i % 4]] for i, age in enumerate(numbers)])
    age = {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [5, 20]}}, "domain": {"min": 1, "max": 90}}
    place = {"role": "quasi_identifier", "hierarchy": {"tree": PLACES}}
    metric = "dm" if algorithm == "ops" else "loss"
    spec = spec_with(
        {AGE: age, "place": place},
        engine_url,
        privacy={"k": 2, "suppression": {"limit": "0" if algorithm == "mondrian" else 2}},
        search={"algorithm": algorithm, "metric": metric},
    )
    result = pipeline.run(spec)
    assert result.plan is not None
    found = insight.utility(spec, asked=UtilityOptions(queries=None))
    assert found.notes == ()
    assert found.table.loss == pytest.approx(result.plan.figures()["score"]["loss"], abs=1e-9)


@pytest.mark.one_engine
def test_estimates_spread_a_label_over_what_its_hierarchy_lists(engine_url: str) -> None:
    """Of the three places of the north one is nobody's; who reads the release does not know which."""
    with at(engine_url) as engine:
        create(engine, ["t"], {"place": "text", "ill": "text"}, [["a", "x"], ['b "c"', "y"], ["e", "x"], [None, "x"]])
        create(engine, ["shown"], {"place": "text", "ill": "text"}, [["nor'th", "x"], ["nor'th", "y"], ["*", "x"]])
    estimates = {}
    for domain in (None, "occurring"):
        place = {"role": "quasi_identifier", "hierarchy": {"tree": PLACES}}
        columns = {"place": place | ({} if domain is None else {"domain": domain}), "ill": {"role": "sensitive"}}
        queries = [{"place": "a"}, {"place": "nor'th"}, {"place": "a", "ill": "x"}]
        asked = spec_with(columns, engine_url, privacy={"k": 1})
        answers = workload(asked, queries, DEFAULT, table="shown").answers
        assert [answer.actual for answer in answers] == [1, 2, 1]
        estimates[domain] = [answer.estimate for answer in answers]
    # NULL is one value more: of `*` each of four places and NULL is a fifth.
    assert estimates[None] == pytest.approx([2 / 3 + 1 / 5, 2 + 3 / 5, 1 / 3 + 1 / 5])
    assert estimates["occurring"] == pytest.approx([2 / 2 + 1 / 4, 2 + 2 / 4, 1 / 2 + 1 / 4])


@pytest.mark.parametrize("kind", ["int", "numeric(9, 2)", "date"])
def test_random_queries_are_asked_over_the_domain(duckdb_url: str, kind: str) -> None:
    values = [f"2020-01-{day:02d}" for day in range(1, 29)] if kind == "date" else list(range(1, 29))
    with at(duckdb_url) as engine:
        create(engine, ["t"], {AGE: kind, "ill": "text"}, [[value, f"i{n % 5}"] for n, value in enumerate(values)])
        create(engine, ["shown"], {AGE: kind, "ill": "text"}, [[value, f"i{n % 5}"] for n, value in enumerate(values)])
    spec = spec_with({AGE: {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}}, duckdb_url, privacy={"k": 1})
    found = workload(spec, RandomQueries(30, 0.2), DEFAULT, table="shown")
    # What is released as it is answers everything exactly.
    assert found.answers
    assert found.error == pytest.approx(0)
