"""Edges of requirements beyond k: what a lock file may be taken to know, how values are named, what populations add."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError, SpecError
from sqlanon.metrics.base import Verdict
from sqlanon.planning.frontier import frontier
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.spec import Limit, Spec, spec_from_dict
from tests.kit.database import Database
from tests.kit.random_tables import ASKINGS, Asking, load, random_table
from tests.kit.tables import at

COLUMNS = {
    "zip": {"role": "quasi_identifier"},
    "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [2]}}},
    "disease": {"role": "sensitive"},
}
PATIENTS = [("a", 1, "flu")] * 6 + [("a", 1, "cold")] * 2 + [("b", 2, "flu")] * 2 + [("b", 3, "flu")] * 6


def patients(url: str, rows: list[tuple[Any, ...]] = PATIENTS, disease: str = "text") -> Database:
    database = Database(url)
    database.create("t", {"zip": "text", "age": "int", "disease": disease}, rows)
    return database


def asking(url: str, **privacy: Any) -> Spec:
    given = {"connection": url, "source": "t", "target": "released", "columns": COLUMNS, "privacy": privacy}
    return spec_from_dict(given)


def planned_after(before: Spec, plan: PlanResult, now: Spec) -> PlanResult:
    return pipeline.plan(now, known=Lock.of(before, plan, "spec.yaml"))


# -- what a lock file knows --------------------------------------------------------------------------------------------


def test_verdicts_on_other_columns_of_a_quasi_identifier_do_not_count(duckdb_url: str) -> None:
    patients(duckdb_url)
    by_zip = {"patient": {"columns": ["zip"], "k": 8}, "doctor": {"columns": ["zip", "age"], "k": 2}}
    by_both = {"patient": {"columns": ["zip", "age"], "k": 8}, "doctor": {"columns": ["age"], "k": 2}}
    before, now = asking(duckdb_url, quasi_identifiers=by_zip), asking(duckdb_url, quasi_identifiers=by_both)
    plan = pipeline.plan(before)
    assert (plan.levels, pipeline.plan(now).levels) == ({"zip": 0, "age": 0}, {"zip": 0, "age": 1})
    assert planned_after(before, plan, now).levels == {"zip": 0, "age": 1}
    assert planned_after(before, plan, before).search.checks == 0


@pytest.mark.one_engine
def test_verdicts_on_another_value_by_the_same_name_do_not_count(engine_url: str) -> None:
    """Values are renamed so that all have the codes they had: only which of them a model names has changed."""
    database = patients(engine_url)
    spec = asking(engine_url, alpha=[{"column": "disease", "value": "cold", "alpha": "0.3"}])
    before = pipeline.plan(spec)
    assert before.levels == {"zip": 0, "age": 0}
    database.run("UPDATE t SET disease = CASE disease WHEN 'cold' THEN 'asthma' ELSE 'cold' END")
    with pytest.raises(InfeasibleError):
        planned_after(spec, before, spec)


# -- grids -------------------------------------------------------------------------------------------------------------


def test_a_grid_asks_each_quasi_identifier_for_its_own_k(duckdb_url: str) -> None:
    patients(duckdb_url)
    groups = {"patient": {"columns": ["zip", "age"], "k": 8}, "doctor": {"columns": ["age"], "k": 2}}
    spec = asking(duckdb_url, quasi_identifiers=groups)
    own, two = frontier(spec, [None, 2], [Limit.parse("0")]).cells
    assert own.found is not None
    assert two.found is not None
    assert own.found.chosen == Verdict((0, 1), 0, 2, own.found.chosen.figures)
    assert two.found.chosen.node == (0, 0)
    assert own.to_dict(("zip", "age"), (1, 2), 16)["k"] is None


def test_a_k_adds_nothing_to_the_monotone_part_of_a_cell_without_one(duckdb_url: str) -> None:
    """Within the limit t-closeness alone keeps what a k of 9 suppresses: no cell prunes for another."""
    patients(duckdb_url)
    groups = {"patient": {"columns": ["zip", "age"]}, "doctor": {"columns": ["age"]}}
    spec = asking(duckdb_url, quasi_identifiers=groups, t_closeness=[{"column": "disease", "t": "0.2"}])
    own, nine = frontier(spec, [None, 9], [Limit.parse("1")]).cells
    assert own.found is not None
    assert own.found.chosen.node == (0, 0)
    assert nine.found is not None
    assert nine.found.chosen.node == (1, 2)


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [61, 62, 63, 124, 130, 247, 248])
def test_classes_hold_as_many_values_as_sets_have_room_for(engine_url: str, number: int) -> None:
    patients(engine_url, [(place, 1, f"v{value}") for value in range(number - 1) for place in "ab"] + [("a", 1, None)])
    assert pipeline.plan(asking(engine_url, l_diversity=[{"column": "disease", "l": number - 1}])).chosen.node == (0, 0)
    assert pipeline.plan(asking(engine_url, l_diversity=[{"column": "disease", "l": number}])).chosen.node == (1, 0)


@pytest.mark.parametrize(("kind", "value"), [("decimal(9, 4)", 1.5), ("decimal(5, 2)", "1.500"), ("numeric", "1.5")])
def test_a_number_is_named_however_its_zeros_are_written(engine_url: str, kind: str, value: object) -> None:
    """Half of the values have one more zero, where the type keeps it; they are one value, too frequent in zip a."""
    rows = [("a", 1, "1.5")] * 4 + [("a", 1, "1.50")] * 4 + [("a", 1, "2")] * 2 + [("b", 1, "2")] * 10
    patients(engine_url, rows, kind if kind != "numeric" or "postgres" in engine_url else "decimal(18, 3)")
    plan = pipeline.plan(asking(engine_url, alpha=[{"column": "disease", "value": value, "alpha": "0.5"}]))
    assert plan.warnings == ()
    assert plan.levels == {"zip": 1, "age": 0}


# -- populations -------------------------------------------------------------------------------------------------------


def test_a_view_counts_people_whose_values_the_source_lacks(engine_url: str) -> None:
    person = {"age": 1, "sex": "f"}
    rows = [{**person, "zip": zip_, "disease": "flu", "stage": 1, "person": "p"} for zip_ in ("n1", "s1") * 3]
    people = [{**person, "zip": zip_} for zip_ in ("n1", "n1", "n2", "n3", "n3", "s1", "s1", "s2", "s2", "s2")]
    with at(engine_url) as engine:
        load(engine, rows, [*people, {"zip": None, "age": None, "sex": None}])
    asked = Asking("k map", {"k": 2, "k_map": 5}, ())
    result = pipeline.run(asked.spec(0, connection=engine_url, target={"view": "released"}))
    assert result.levels == {"zip": 1, "age": 0, "sex": 0}
    assert Database(engine_url).counted("released", "zip") == {("north",): 3, ("south",): 3}
    Database(engine_url).run("DROP VIEW released")


@pytest.mark.parametrize("by_query", [False, True], ids=["by another name", "within a query"])
def test_the_population_is_only_ever_read(engine_url: str, by_query: bool) -> None:
    source, population = random_table(1)
    with at(engine_url) as engine:
        load(engine, source, population)
    [(schema,)] = Database(engine_url).run("SELECT current_schema()")
    asked = next(item for item in ASKINGS if item.name == "k map")
    spec = replace(asked, privacy={"k_map": 4}).spec(8, connection=engine_url, target="people_too")
    given = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    given |= {"connection": engine_url, "target": "people"}
    where = {"query": "SELECT * FROM people"} if by_query else f"{schema}.people"
    given["privacy"]["population"] = {"source": where}
    with pytest.raises(SpecError, match="the target is the population"):
        pipeline.run(spec_from_dict(given))
    assert len(Database(engine_url).rows("people")) == len(population)


def test_dm_star_counts_classes_whole_where_a_part_of_them_is_suppressed(engine_url: str) -> None:
    """Known other values split a class: six rows of x, one of which is alone with its ward, cost 36, not 25 + 1."""
    database = Database(engine_url)
    rows = [*(("x", "north", disease) for disease in ("flu", "gout", "flu", "gout", "flu")), ("x", "south", "flu")]
    rows += [("y", "north", "flu"), ("y", "north", "gout")]
    database.create("people", {"a": "text", "ward": "text", "disease": "text"}, rows)
    values = {
        "connection": engine_url, "source": "people", "target": "released",
        "columns": {"a": {"role": "quasi_identifier", "levels": {"max": 0}},
                    "ward": {"role": "sensitive"}, "disease": {"role": "sensitive"}},
        "privacy": {"k": 2, "l_diversity": [{"column": "disease", "l": 2}], "other_sensitive": "known",
                    "suppression": {"limit": 1}},
        "search": {"metric": "dm*"},
    }  # fmt: skip
    plan = pipeline.plan(spec_from_dict(values))
    assert plan.to_dict()["suppressed"] == 1
    assert plan.to_dict()["score"] == {"dm*": 6 * 6 + 2 * 2}
    parts = pipeline.plan(spec_from_dict({**values, "search": {"metric": "dm"}}))
    assert parts.to_dict()["score"] == {"dm": 5 * 5 + 2 * 2 + 1 * len(rows)}
