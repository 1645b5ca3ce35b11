"""Recoders without levels honour columns.*.levels all the same: labels of released rows are never finer."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import SqlanonError
from sqlanon.insight.exposure import attack
from sqlanon.insight.use import utility, workload
from sqlanon.insight.workload import RandomQueries
from sqlanon.recoding import Cuts
from sqlanon.release.lock import Lock
from sqlanon.source.run import DEFAULT
from tests.kit.database import Database
from tests.kit.scripts import run_script
from tests.recoding.support import (
    AGE,
    BORN,
    COLUMNS,
    TAG,
    TOWN,
    assert_true_and_coarse,
    filled,
    people,
    spec_of,
    years,
)

NAMES = f'"{BORN}", "{AGE}", "{TOWN}", "{TAG}"'
SEARCHES: dict[str, dict[str, Any]] = {
    "mondrian": {"algorithm": "mondrian"},
    "relaxed mondrian": {"algorithm": "mondrian", "mondrian": {"kind": "relaxed"}},
    "tight mondrian": {"algorithm": "mondrian", "mondrian": {"bounds": "values", "cuts": "ordered"}},
    "local": {"algorithm": "local"},
    "forest": {"algorithm": "forest"},
    "bhs": {"algorithm": "bhs"},
    "ghs": {"algorithm": "ghs", "budget": {"nodes": 300}},
    "gops": {"algorithm": "gops", "budget": {"nodes": 300}},
    "ops": {"algorithm": "ops", "budget": {"nodes": 300}},
    "gsps": {"algorithm": "gsps", "budget": {"nodes": 300}},
    "tds": {"algorithm": "tds"},
}


def released(database: Database, rows: list[Any]) -> int:
    """Hold every released row to its source; how many there are."""
    own = {row[3]: row for row in rows}
    found = database.rows("released", NAMES)
    for *labels, tag in found:
        assert_true_and_coarse(own[tag], tuple(labels))
    return len(found)


def search_of(algorithm: str, nodes: int) -> dict[str, Any]:
    """A search of so many nodes, by an algorithm that has a budget or not."""
    return {"algorithm": algorithm, **({} if algorithm == "mondrian" else {"budget": {"nodes": nodes}})}


BOTH = ("mondrian", "ops")
"""Searches that are run on PostgreSQL too; the others share their statements with these."""


@pytest.mark.representative(4, postgres=1)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in BOTH else pytest.mark.one_engine) for name in SEARCHES]
)
def test_labels_are_no_finer_than_the_least_levels(engine_url: str, name: str) -> None:
    rows = people(36)
    database = filled(engine_url, rows)
    limit = "0" if name == "forest" else "20%"
    spec = spec_of(database, search=SEARCHES[name], privacy={"k": 3, "suppression": {"limit": limit}})
    result = pipeline.run(spec)
    assert released(database, rows) == len(rows) - result.publication.suppressed
    assert pipeline.audit_spec(spec).satisfied


@pytest.mark.one_engine
def test_a_least_level_at_the_top_tells_nothing(engine_url: str) -> None:
    """NULL is released as everything else there."""
    rows = people(40)
    database = filled(engine_url, rows)
    columns = {**COLUMNS, **{name: {**COLUMNS[name], "levels": {"min": 3}} for name in (AGE, TOWN)}}
    for algorithm in ("mondrian", "ghs"):
        pipeline.run(spec_of(database, columns=columns, search=search_of(algorithm, 100)))
        assert set(database.rows("released", f'"{AGE}", "{TOWN}"')) == {("*", "*")}


@pytest.mark.one_engine
def test_levels_that_lie_apart_in_the_order_of_values_become_sets(engine_url: str) -> None:
    """Even and odd ages: no range of values is what a label holds."""
    rows = people(40)
    database = filled(engine_url, rows)
    tree = {"even": [str(age) for age in range(0, 100, 2)], "odd": [str(age) for age in range(1, 100, 2)]}
    columns = {**COLUMNS, AGE: {**COLUMNS[AGE], "hierarchy": {"tree": tree}}}
    for algorithm in ("mondrian", "ops"):
        pipeline.run(spec_of(database, columns=columns, search=search_of(algorithm, 100)))
        found = {label for (label,) in database.rows("released", f'"{AGE}"')}
        assert found <= {"even", "odd", "*", None, "{even, odd}", "{odd, NULL}", "{even, NULL}"}
        assert found & {"even", "odd", "{even, odd}", "*"}


@pytest.mark.one_engine
def test_bounds_by_values_end_at_somebodys_value_and_only_where_asked(engine_url: str) -> None:
    """The very timestamps of people stand in labels with bounds: values, and in none without."""
    rows = people(60)
    database = filled(engine_url, rows)
    moments = {str(row[0]) for row in rows}
    for algorithm in ("mondrian", "ops"):
        search = search_of(algorithm, 300)
        shown = {}
        for bounds in ("hierarchy", "values"):
            pipeline.run(spec_of(database, search={**search, "bounds": bounds}))
            labels = {str(label) for (label,) in database.rows("released", f'"{BORN}"')}
            shown[bounds] = [label for label in labels if any(moment in label for moment in moments)]
            if bounds == "hierarchy":
                assert all(years(label) for label in labels - {"*"})
        assert not shown["hierarchy"]
        assert shown["values"], algorithm


@pytest.mark.representative(1)
@pytest.mark.one_engine
@pytest.mark.parametrize("algorithm", ["ops", "ghs", "tds"])
def test_domains_of_schemes_are_counted_at_the_least_level(engine_url: str, algorithm: str) -> None:
    """More timestamps than schemes take, and twelve years; the lock file holds years, and goes for later rows too."""
    rows = people(450)
    database = filled(engine_url, rows)
    columns: dict[str, Any] = {BORN: COLUMNS[BORN], **{name: {"role": "identifier"} for name in (AGE, TOWN, TAG)}}
    spec = spec_of(database, columns=columns, search={"algorithm": algorithm})
    planned = pipeline.plan(spec)
    recoding = planned.recoding
    assert isinstance(recoding, Cuts)
    assert {value for group in recoding.groups[0] for value in group.values} == {str(row[0].year) for row in rows}
    lock = Lock.of(spec, planned, "spec.yaml")
    database.run("INSERT INTO people VALUES ('1955-05-05 05:05:05', 30, NULL, 'late')")
    result = pipeline.apply(spec, lock)
    assert result.publication.rows == 451
    assert all(years(label) for (label,) in database.rows("released", f'"{BORN}"') if label != "*")


@pytest.mark.one_engine
@pytest.mark.parametrize("algorithm", ["mondrian", "ops", "forest", "tds"])
def test_a_highest_level_is_refused(engine_url: str, algorithm: str) -> None:
    database = filled(engine_url, people(12))
    columns = {**COLUMNS, AGE: {**COLUMNS[AGE], "levels": {"min": 1, "max": 2}}}
    with pytest.raises(SqlanonError, match=r"columns\.age\.levels\.max"):
        pipeline.plan(spec_of(database, columns=columns, privacy={"k": 3}, search={"algorithm": algorithm}))


@pytest.mark.representative(1)
@pytest.mark.one_engine
@pytest.mark.parametrize("name", ["mondrian", "ops"])
def test_scripts_recode_at_the_least_levels(engine_url: str, name: str) -> None:
    rows = people(32)
    database = filled(engine_url, rows)
    spec = spec_of(database, search=SEARCHES[name])
    planned = pipeline.plan(spec)
    script = pipeline.script(spec, Lock.of(spec, planned, "spec.yaml"))
    pipeline.run(spec)
    expected = database.counted("released")
    database.run("DROP TABLE released")
    run_script(database, script)
    assert database.counted("released") == expected


@pytest.mark.representative(1)
@pytest.mark.one_engine
@pytest.mark.parametrize("name", ["mondrian", "ops"])
def test_ranges_of_labels_are_read_again(engine_url: str, name: str) -> None:
    """Attack, utility and workload find every label of the release, spans of years and half-open ranges among them."""
    rows = people(32, seed=3)
    database = filled(engine_url, rows)
    born = {"role": "quasi_identifier", "hierarchy": {"date": ["year", "2 years"]}, "levels": {"min": 2}}
    spec = spec_of(database, columns={**COLUMNS, BORN: born}, search=SEARCHES[name])
    pipeline.run(spec)
    labels = {str(label) for column in (BORN, AGE) for (label,) in database.rows("released", f'"{column}"')}
    assert any(re.fullmatch(r"\[\d+-\d+\]", label) for label in labels)
    assert any(re.fullmatch(r"\[\d+, \d+\)", label) for label in labels)
    assert [column.unknown for column in utility(spec).columns] == [0, 0, 0]
    assert attack(spec).attacks
    found = workload(spec, RandomQueries(20), DEFAULT, sensitive=TAG)
    assert len(found.answers) == 20


@pytest.mark.representative(1)
@pytest.mark.one_engine
@pytest.mark.parametrize("algorithm", ["personalized", "greedy"])
def test_personalized_labels_end_at_bounds_of_the_least_level(engine_url: str, algorithm: str) -> None:
    """Decades of age and the thousands of a number as ends, NULL among the ages."""
    source = Random(4)
    illnesses = ["flu", "colit'is", "gastric; ulcer", "bronchitis"]
    rows = [
        (source.choice([None, *range(20, 60)]), source.randrange(10_000, 20_000), source.choice(illnesses), "any")
        for _ in range(40)
    ]
    database = Database(engine_url)
    types = {AGE: "integer", "z'ip": "integer", "disease": "text", "guard": "text"}
    database.create("people", types, [(*row[:3], row[2]) for row in rows])
    columns: dict[str, Any] = {
        AGE: {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10]}}, "levels": {"min": 1}},
        "z'ip": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [1000]}}, "levels": {"min": 1}},
        "disease": {"role": "sensitive"},
        "guard": {"role": "identifier"},
    }
    asked = {
        "column": "disease",
        "guarding": "guard",
        "p_breach": 0.5,
        "taxonomy": {"tree": {"lungs": ["flu", "bronchitis"], "belly": ["colit'is", "gastric; ulcer"]}},
    }
    for bounds in ("hierarchy", "values"):
        search = {"algorithm": algorithm, "bounds": bounds}
        result = pipeline.run(spec_of(database, columns=columns, privacy={"personalized": asked}, search=search))
        assert result.plan is not None
        assert (bounds == "values") == any("search.bounds" in warning for warning in result.plan.warnings)
        ends = [
            (int(end), width)
            for *labels, _ in database.rows("released", f'"{AGE}", "z\'ip", "disease"')
            for label, width in zip(labels, (10, 1000), strict=True)
            for end in re.findall(r"\d+", label or "")
        ]
        assert ends
        on_bounds = all(end % width == 0 for end, width in ends)
        assert on_bounds == (bounds == "hierarchy") or (algorithm, bounds) == ("greedy", "values")
        assert len(database.rows("released")) == 40
