"""Scripts of recodings by regions and groups assert the labels that they show, whatever their classes satisfy."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import RequirementError, UsageError
from sqlanon.recoding.kinds import Cuts, NodeLookup, RegionLookup
from sqlanon.release.lock import Lock
from sqlanon.release.script import compiled
from sqlanon.spec import spec_from_dict
from tests.kit.database import Database
from tests.kit.scripts import run_script
from tests.spec.test_key_table import table, values

LEAST: dict[str, Any] = {"columns": {"a": {"levels": {"min": 1}}}}
STOPS = "a shows labels that the spec does not allow|a shows labels of another level"


def spoilt(text: str, pattern: str, new: str) -> str:
    """The script with one expression replaced, as somebody may who edits it."""
    changed, times = re.subn(pattern, new, text)
    assert times, pattern
    return changed


def nothing_released(database: Database) -> bool:
    names = {name for (name,) in database.run("SELECT table_name FROM information_schema.tables")}
    return "released" not in names


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize(("algorithm", "shown"), [("mondrian", "source.a"), ("greedy", "'a1 or ' || region.label_a")])
def test_a_script_of_regions_stops_at_other_labels(engine_url: str, algorithm: str, shown: str) -> None:
    """Everybody's value of `a`, or one of them in every label: classes that satisfy are not enough."""
    database = table(engine_url)
    spec = spec_from_dict(values(engine_url, algorithm, LEAST))
    text = pipeline.script(spec, None)
    with pytest.raises(Exception, match=STOPS):
        run_script(database, spoilt(text, r"region\.label_a AS a\b", f"{shown} AS a"))
    assert nothing_released(database)
    run_script(database, text)
    assert {a for (a,) in database.rows("released", "a")} <= {"low", "high", "*", "{high, low}", "{low, high}"}


@pytest.mark.representative(1)
@pytest.mark.one_engine
@pytest.mark.parametrize("algorithm", ["mondrian", "greedy"])
def test_a_script_of_regions_stops_at_labels_that_were_edited(engine_url: str, algorithm: str) -> None:
    database = table(engine_url)
    text = pipeline.script(spec_from_dict(values(engine_url, algorithm, LEAST)), None)
    before, mark, after = text.partition("-- Regions: ")
    regions, end, audit = after.partition(";\n\n")
    edited = regions.replace("'low'", "'a1'").replace("'*'", "'a2'").replace("'{", "'{a1, ")
    assert edited != regions
    with pytest.raises(Exception, match=STOPS):
        run_script(database, before + mark + edited + end + audit)
    assert nothing_released(database)


@pytest.mark.one_engine
def test_a_script_stops_at_a_sensitive_value_in_the_place_of_its_node(engine_url: str) -> None:
    database = table(engine_url)
    text = pipeline.script(spec_from_dict(values(engine_url, "personalized", {})), None)
    secret = spoilt(text, r"\bnode\.label AS s\b", "'who it was' AS s")
    with pytest.raises(Exception, match=r"s shows labels that the spec does not allow|guarding node"):
        run_script(database, secret)
    assert nothing_released(database)


@pytest.mark.parametrize("algorithm", ["ops", *(pytest.param(name, marks=pytest.mark.soak) for name in ("ghs", "tds"))])
def test_a_script_of_groups_stops_at_raw_values(engine_url: str, algorithm: str) -> None:
    database = table(engine_url)
    spec = spec_from_dict(values(engine_url, algorithm, LEAST))
    text = pipeline.script(spec, None)
    release = text.index("-- 02_frequency_set.sql")
    staged = spoilt(text[release:], r"(hierarchy_a\.label_1|CAST\('\*' AS TEXT\)|'\*') AS a\b", "source.a AS a")
    with pytest.raises(Exception, match=STOPS):
        run_script(database, text[:release] + staged)
    assert nothing_released(database)
    run_script(database, text)
    assert not {a for (a,) in database.rows("released", "a")} & {"a1", "a2", "a3", "a4"}


def regions(label: str, nodes: NodeLookup | None = None) -> RegionLookup:
    places = tuple((f"{number}", number) for number in range(1, 5))
    return RegionLookup(
        (tuple((f"a{text}", place) for text, place in places), tuple((f"b{text}", place) for text, place in places)),
        (("1", "4", label, "1", "4", "*"),),
        nodes,
    )


@pytest.mark.representative(3)
@pytest.mark.parametrize(
    ("label", "allowed"),
    [("low", True), ("{high, low}", True), ("*", True), ("a1", False), ("{a1, low}", False), ("lower", False)],
)
def test_no_script_is_written_of_labels_that_the_spec_does_not_allow(
    duckdb_url: str, label: str, allowed: bool
) -> None:
    table(duckdb_url)
    spec = spec_from_dict(values(duckdb_url, "mondrian", LEAST))
    recoding = pipeline.plan(spec).recoding
    if allowed:
        assert compiled(spec, recoding, lookup=regions(label)).text
        return
    with pytest.raises(RequirementError, match="column 'a': 1 labels of its classes are none that the spec allows"):
        compiled(spec, recoding, lookup=regions(label))


def test_no_script_is_written_of_nodes_outside_the_taxonomy(duckdb_url: str) -> None:
    table(duckdb_url)
    spec = spec_from_dict(values(duckdb_url, "personalized", {}))
    plan = pipeline.plan(spec)
    paths = (("flu", "ill", "*"), ("cold", "ill", "*"))
    nodes = NodeLookup("s", paths, (("0", "1", "ill"),))
    assert compiled(spec, plan.recoding, lookup=regions("low", nodes)).text
    other = replace(nodes, published=(("0", "1", "somebody"),))
    with pytest.raises(RequirementError, match="column 's': 1 labels"):
        compiled(spec, plan.recoding, lookup=regions("low", other))


def test_the_labels_are_listed_apart_from_the_regions(duckdb_url: str) -> None:
    table(duckdb_url)
    text = pipeline.script(spec_from_dict(values(duckdb_url, "mondrian", LEAST)), None)
    audit = text.partition("-- 04_audit.sql")[2]
    assert "audit_labels_0" in audit
    assert "audit_labels_1" in audit


def test_no_script_is_written_of_a_lock_whose_labels_were_edited(duckdb_url: str) -> None:
    table(duckdb_url)
    spec = spec_from_dict(values(duckdb_url, "ops", LEAST))
    lock = Lock.of(spec, pipeline.plan(spec), "spec.yaml")
    assert isinstance(lock.flexible, Cuts)
    first, *others = lock.flexible.groups[0]
    edited = replace(lock.flexible, groups=((replace(first, label="a1"), *others), *lock.flexible.groups[1:]))
    with pytest.raises(UsageError, match="a label for group 1 of column 'a' that does not fit its values"):
        pipeline.script(spec, replace(lock, flexible=edited))
    assert pipeline.script(spec, lock)
