"""Mondrian from a spec to a published, audited table: the chapter's example, labels, locks, what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError, SpecError, UsageError
from sqlanon.recoding import Assigned
from sqlanon.release.lock import Lock
from sqlanon.release.results import RecodedPlan
from sqlanon.spec import Spec
from tests.kit.database import Database, changed
from tests.kit.papers import adversarial_values

CHAPTER = [
    ("22030", "married", "F", "hypertension"),
    ("22030", "married", "F", "hypertension"),
    ("22030", "single", "M", "obesity"),
    ("22032", "single", "M", "HIV"),
    ("22032", "single", "M", "obesity"),
    ("22032", "divorced", "F", "hypertension"),
    ("22045", "divorced", "M", "obesity"),
    ("22047", "widow", "M", "HIV"),
    ("22047", "widow", "M", "HIV"),
    ("22047", "single", "F", "obesity"),
]
MARITAL = {"been_married": ["married", "widow", "divorced"], "never_married": ["single"]}
SPEC: dict[str, Any] = {
    "source": "people",
    "target": "released",
    "columns": {
        "zip": {"role": "identifier"},
        "marital": {"role": "quasi_identifier", "hierarchy": {"tree": MARITAL}},
        "sex": {"role": "quasi_identifier"},
        "disease": {"role": "sensitive"},
    },
    "privacy": {"k": 2},
    "search": {"algorithm": "mondrian"},
}


@pytest.fixture
def chapter(engine_url: str) -> Database:
    database = Database(engine_url)
    database.create("people", dict.fromkeys(("zip", "marital", "sex", "disease"), "text"), CHAPTER)
    return database


def spec_on(database: Database, **changes: Any) -> Spec:
    return changed(SPEC, connection=database.url, **changes)


@pytest.mark.parametrize("hierarchy", [{"tree": MARITAL}, {"tree": {"any": [*MARITAL["been_married"], "single"]}}])
def test_figures_15_and_17(chapter: Database, hierarchy: dict[str, Any]) -> None:
    columns = SPEC["columns"] | {"marital": {"role": "quasi_identifier", "hierarchy": hierarchy}}
    result = pipeline.run(spec_on(chapter, columns=columns))
    been = "been_married" if hierarchy["tree"] == MARITAL else "{married, widow, divorced}"
    assert chapter.counted("released", "marital, sex") == {
        ("single", "M"): 3,
        (been, "M"): 3,
        ("married", "F"): 2,
        ("{widow, divorced, single}", "F"): 2,
    }
    assert Counter(row[-1] for row in chapter.rows("released")) == Counter(row[-1] for row in CHAPTER)
    assert result.publication.audit.k == 2
    assert result.publication.suppressed == 0
    assert isinstance(result.plan, RecodedPlan)
    assert result.plan.scores["dm"] == 9 + 9 + 4 + 4
    assert result.plan.scores["aecs"] == 2.5


@pytest.mark.one_engine
def test_relaxed_regions_of_the_chapter_lose_no_more_than_strict_ones(chapter: Database) -> None:
    """No region of Figure 15 has four rows: nothing is left to part, and a value stays with its rows where it can."""
    scores = []
    for kind in ("strict", "relaxed"):
        result = pipeline.run(spec_on(chapter, search={"algorithm": "mondrian", "mondrian": {"kind": kind}}))
        assert sorted(chapter.counted("released", "marital, sex").values()) == [2, 2, 3, 3]
        assert isinstance(result.plan, RecodedPlan)
        scores.append(result.plan.scores)
    assert scores[0] == scores[1]
    assert scores[0]["loss"] == pytest.approx(0.1547, abs=5e-5)


@pytest.mark.one_engine
def test_relaxed_regions_part_the_rows_of_a_value(chapter: Database) -> None:
    """Seven rows of which six are alike: strict regions cannot part them, and relaxed ones lose little of them."""
    database = chapter
    database.run("DELETE FROM people", "INSERT INTO people VALUES ('1', 'married', 'F', 'flu')")
    for number in range(6):
        database.run(f"INSERT INTO people VALUES ('{number}', 'single', 'F', 'flu')")
    released = {}
    for kind in ("strict", "relaxed"):
        pipeline.run(spec_on(database, search={"algorithm": "mondrian", "mondrian": {"kind": kind}}))
        released[kind] = dict(database.counted("released", "marital, sex"))
    assert released["strict"] == {("*", "F"): 7}
    assert released["relaxed"] == {("*", "F"): 2, ("single", "F"): 5}


@pytest.mark.one_engine
def test_regions_beside_the_release(chapter: Database) -> None:
    spec = spec_on(chapter, regions="released_regions")
    found: list[tuple[Any, ...]] = []
    for _ in range(2):
        pipeline.run(spec)
        sizes = chapter.counted("released", "marital, sex")
        found = chapter.rows("released_regions", 'marital, sex, "rows"')
        assert {row[:2]: row[2] for row in found} == sizes
        assert sorted(size for *_, size in found) == [2, 2, 3, 3]
    assert chapter.leftovers() == []
    before = sorted(found)
    chapter.run("DELETE FROM people WHERE sex = 'F' OR marital <> 'single'")
    with pytest.raises(InfeasibleError):
        pipeline.run(changed(SPEC, connection=chapter.url, regions="released_regions", privacy={"k": 5}))
    assert sorted(chapter.rows("released_regions", 'marital, sex, "rows"')) == before


@pytest.mark.parametrize("regions", ["released", "people"])
def test_regions_need_a_table_of_their_own(regions: str) -> None:
    with pytest.raises(SpecError, match="name another table"):
        changed(SPEC, regions=regions)


def test_labels_that_end_where_values_occur(chapter: Database) -> None:
    pipeline.run(spec_on(chapter, search={"algorithm": "mondrian", "mondrian": {"bounds": "values"}}))
    assert set(chapter.counted("released", "marital, sex")) == {
        ("single", "M"),
        ("{widow, divorced}", "M"),
        ("married", "F"),
        ("{divorced, single}", "F"),
    }


@pytest.mark.one_engine
def test_a_model_decides_what_is_allowable(chapter: Database) -> None:
    privacy = {"k": 2, "l_diversity": [{"column": "disease", "l": 2}]}
    result = pipeline.run(spec_on(chapter, privacy=privacy))
    assert result.publication.audit.satisfied
    for label, sex in chapter.counted("released", "marital, sex"):
        diseases = {row[2] for row in chapter.rows("released", "marital, sex, disease") if row[:2] == (label, sex)}
        assert len(diseases) >= 2


@pytest.mark.one_engine
def test_a_lock_is_applied_and_refused_when_rows_change(chapter: Database, tmp_path: Path) -> None:
    spec = spec_on(chapter)
    planned = pipeline.plan(spec)
    Lock.of(spec, planned, "people.yaml").write(tmp_path / "people.lock.json")
    lock = Lock.read(tmp_path / "people.lock.json")
    assert isinstance(planned.recoding, Assigned)
    assert planned.recoding.details["regions"] == 4
    assert planned.recoding.details["largest"] == 3
    pipeline.apply(spec, lock)
    before = chapter.counted("released")
    chapter.run("UPDATE people SET sex = 'M' WHERE disease = 'obesity'")
    with pytest.raises(UsageError, match="plan again"):
        pipeline.apply(spec, lock)
    assert chapter.counted("released") == before
    assert chapter.leftovers() == []


def test_numbers_dates_and_null(engine_url: str) -> None:
    database = Database(engine_url)
    rows = [
        (-5, "2001-02-03", "a"),
        (-1, "2001-02-04", "a"),
        (3, "2002-02-04", "b, c"),
        (7, "2002-02-05", 'd"'),
        (None, None, None),
        (None, None, ""),
    ]
    database.create("people", {"number": "integer", "day": "date", "word": "text"}, rows)
    columns = {name: {"role": "quasi_identifier"} for name in ("number", "day", "word")}
    search = {"algorithm": "mondrian", "mondrian": {"bounds": "values"}}
    pipeline.run(changed(SPEC, connection=database.url, columns=columns, search=search))
    assert database.counted("released") == {
        ("[-5 - 3]", "[2001-02-03 - 2002-02-04]", '{a, "b, c"}'): 3,
        ("{7, NULL}", "{2002-02-05, NULL}", "*"): 3,
    }


def test_values_nobody_expects(engine_url: str) -> None:
    database = Database(engine_url)
    values = adversarial_values()
    rows = [(value, number % 3) for number, value in enumerate([*values, *values, *values])]
    database.create("people", {"na'me. Select": "text", "group": "integer"}, rows)
    columns = {name: {"role": "quasi_identifier"} for name in ("na'me. Select", "group")}
    result = pipeline.run(changed(SPEC, connection=database.url, columns=columns, privacy={"k": 4}))
    assert result.publication.audit.satisfied
    assert result.publication.audit.rows == len(rows)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"privacy": {"k": 2, "quasi_identifiers": {"a": {"columns": ["sex"]}, "b": {"columns": ["marital"]}}}},
            "one quasi-identifier",
        ),
        ({"target": {"view": "released"}}, "view"),
        (
            {"respondent": "zip", "search": {"algorithm": "mondrian", "mondrian": {"kind": "relaxed"}}},
            "relaxed parts rows",
        ),
    ],
)
def test_what_is_refused(duckdb_url: str, changes: dict[str, Any], message: str) -> None:
    database = Database(duckdb_url)
    database.create("people", dict.fromkeys(("zip", "marital", "sex", "disease"), "text"), CHAPTER)
    with pytest.raises(UsageError, match=message):
        pipeline.run(changed(SPEC, connection=database.url, **changes))


def test_no_release_where_all_rows_fail(duckdb_url: str) -> None:
    database = Database(duckdb_url)
    database.create("people", dict.fromkeys(("zip", "marital", "sex", "disease"), "text"), CHAPTER)
    privacy = {"l_diversity": [{"column": "disease", "l": 4}]}
    with pytest.raises(InfeasibleError, match="one class"):
        pipeline.run(changed(SPEC, connection=database.url, privacy=privacy))
    assert database.leftovers() == []
