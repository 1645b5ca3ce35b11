"""Linking with releases whose classes have labels of their own: ranges and sets, counted again by brute force."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import pytest

from sqlanon import insight, pipeline
from sqlanon.auditor.labels import parts_of
from sqlanon.errors import UsageError
from sqlanon.insight import AttackOptions
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database

TYPES = {"age": "int", "born": "date", "city": "text", "job": "text", "disease": "text"}
TREE = {"any": {"lake, or near one": ["Genf", "Zug"], "river": ["Bern", "Basel", 'Ba"den']}}
PARENTS = {leaf: ("any", node) for node, leaves in TREE["any"].items() for leaf in leaves}
JOBS = ("baker", "smith, black", "nurse", "NULL", "{x}")


def rows() -> list[tuple[Any, ...]]:
    chance = random.Random(7)
    return [
        (
            chance.choice([None, -12, -3, 5, 20, 31]),
            chance.choice(["1961-02-03", "1961-02-04", "1970-11-30"]),
            chance.choice([*PARENTS, None]),
            chance.choice([*JOBS, None]),
            chance.choice(["flu", "cold", "asthma"]),
        )
        for _ in range(44)
    ]


def spec_of(url: str, algorithm: str, **search: Any) -> Spec:
    columns = {
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10]}}},
        "born": {"role": "quasi_identifier", "hierarchy": {"date": ["day", "year", "any"]}},
        "city": {"role": "quasi_identifier", "hierarchy": {"tree": TREE}},
        "job": {"role": "quasi_identifier"},
        "disease": {"role": "sensitive"},
    }
    values = {
        "connection": url,
        "source": "patients",
        "target": "released",
        "columns": columns,
        "privacy": {"k": 3, "suppression": {"limit": "50%"}},
        "search": {"algorithm": algorithm, **search},
    }
    return spec_from_dict(values)


def covers(column: str, label: str | None, value: Any) -> bool:
    """What a label says, read by hand: by hierarchy, as a range, as a set."""
    if label in (None, "*", "any"):
        return value is None or label == "*" or (label == "any" and value in PARENTS)
    if value is not None and (label == str(value) or label in PARENTS.get(value, ())):
        return True
    number = r"-?\d+"
    if column == "age" and (found := re.fullmatch(rf"\[({number}), ({number})\)", label)):
        return value is not None and int(found[1]) <= value < int(found[2])
    if column == "age" and (found := re.fullmatch(rf"\[({number})(?: - |-)({number})\]", label)):
        return value is not None and int(found[1]) <= value <= int(found[2])
    if column == "born" and (found := re.fullmatch(r"\[(\d{4}-\d\d-\d\d)(?: - |-)(\d{4}-\d\d-\d\d)\]", label)):
        return value is not None and found[1] <= value <= found[2]
    if column == "born" and re.fullmatch(r"\d{4}", label):
        return value is not None and str(value).startswith(label)
    if label.startswith("{"):
        plain = re.findall(r' ?("(?:[^"]|"")*"|[^,"]+)', label[1:-1])
        if "NULL" in plain and value is None:
            return True
        texts = [m[1:-1].replace('""', '"') if m.startswith('"') else m for m in plain if m != "NULL"]
        return any(covers(column, text, value) for text in texts)
    return False


@pytest.mark.one_engine
def test_people_are_linked_by_ranges_and_sets(engine_url: str) -> None:
    check_linking(engine_url, spec_of(engine_url, "mondrian"))


RELAXED = {"kind": "relaxed", "bounds": "values"}


@pytest.mark.representative(2)
@pytest.mark.parametrize(
    ("algorithm", "search"),
    [("mondrian", {"mondrian": RELAXED}), ("sps", {"budget": {"nodes": 40}}), ("local", {})],
)
def test_other_recoders(duckdb_url: str, algorithm: str, search: dict[str, Any]) -> None:
    check_linking(duckdb_url, spec_of(duckdb_url, algorithm, **search))


def check_linking(url: str, spec: Spec) -> None:
    """Publish, link, and count candidates again by hand."""
    database = Database(url)
    database.create("patients", TYPES, rows())
    people = [*rows()[:30], (7, "1965-05-05", "Zug", "baker", ""), (99, "1961-02-03", "Oslo", "baker", "")]
    database.create("voters", TYPES, people)
    planned = pipeline.run(spec).plan
    shown = [[None if label is None else str(label) for label in row[:4]] for row in database.rows("released")]
    classes = Counter(map(tuple, shown))

    def candidates(person: tuple[Any, ...]) -> int:
        return sum(n for row, n in classes.items() if all(map(covers, list(TYPES), row, person)))

    result = insight.attack(spec, asked=AttackOptions(external="voters", within=(6,), release="released"))
    found = [candidates(person) for person in people]
    after = result.of("linking").after
    assert after is not None
    assert (after.figures["people"], after.figures["matched"]) == (len(people), sum(n > 0 for n in found))
    assert after.figures["unique"] == found.count(1)
    assert after.figures["within_6"] == sum(0 < n <= 6 for n in found)
    missed = [candidates(person) for person in rows()].count(0)
    assert result.of("missing").after.figures["recognized"] == missed  # type: ignore[union-attr]  # a release stands
    assert result.of("intersection").after is not None
    # What the recoder says of its labels, and what they say themselves.
    assert planned is not None
    utility = insight.utility(spec)
    if spec.search.algorithm == "sps":
        # Its sets are any values together, and count queries go by neighbours.
        assert utility.queries is None
        assert "a set has to hold neighbours" in utility.notes[0]
    else:
        assert utility.queries is not None
        assert not utility.notes
    assert utility.table.loss == pytest.approx(planned.figures()["score"]["loss"])
    if spec.search.algorithm != "local":
        assert any(str(label).startswith("{") for row in classes for label in row)


@pytest.mark.one_engine
def test_a_suppressed_cell_covers_everything_whatever_the_top_is_called(engine_url: str) -> None:
    """Cells of AG_CS and mu-Argus are blanked with `*`, where a mask ends in `**` and a tree in a word."""
    database = Database(engine_url)
    people = [("10", "Bern", 4), ("11", "Bern", 4), ("20", "Zug", None), (None, "Zug", 9), ("21", None, 9)]
    types = {"z ip": "text", "city": "text", "age": "int"}
    database.create("patients", {**types, "ill": "text"}, [(*row, "flu") for row in people])
    shown = [("1*", "Bern", "4"), ("*", "Bern", "*"), ("*", "any", None), ("**", "lake", "9"), ("2*", "*", "9")]
    database.create("released", {**dict.fromkeys(types, "text"), "ill": "text"}, [(*row, "flu") for row in shown])
    columns: dict[str, Any] = {
        "z ip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 2}}},
        "city": {"role": "quasi_identifier", "hierarchy": {"tree": {"any": {"lake": ["Zug"], "river": ["Bern"]}}}},
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10], "min": 0, "max": 20}}},
        "ill": {"role": "sensitive"},
    }
    spec = spec_from_dict(
        {
            "connection": engine_url,
            "source": "patients",
            "target": "released",
            "columns": columns,
            "privacy": {"k": 1},
        }
    )

    def fits(person: tuple[Any, ...], row: tuple[Any, ...]) -> bool:
        zipped, city, age = person
        zips = row[0] in ("*", "**") or (zipped is not None and row[0] == zipped[0] + "*")
        cities = row[1] in ("*", "any", city) or (row[1] == "lake" and city == "Zug")
        ages = row[2] in ("*", None if age is None else str(age))
        return zips and cities and ages

    expected = [sum(fits(person, row) for row in shown) for person in people]
    after = insight.attack(spec, asked=AttackOptions(external="patients")).of("linking").after
    assert after is not None
    assert (after.figures["matched"], after.figures["unique"]) == (
        sum(n > 0 for n in expected),
        expected.count(1),
    )
    found = insight.utility(spec)
    assert not found.notes
    assert found.queries is not None
    assert [item.unknown for item in found.columns] == [0, 0, 0]
    # Values that labels leave, NULL one of them: zip 2 + 5 + 5 + 5 + 2 of 5, city 1 + 1 + 3 + 1 + 3 of 3, ages 4 to 9.
    for item, (covered, values) in zip(found.columns, [(19, 5), (9, 3), (11, 7)], strict=True):
        lost = (covered / values - 5 / values) / (5 - 5 / values)
        assert item.loss == pytest.approx(lost), item.column


def test_labels_that_may_mean_two_things_are_refused(duckdb_url: str) -> None:
    database = Database(duckdb_url)
    database.create("patients", {"code": "text", "n": "int"}, [("a", 1), ("b", -1), ("c", 2)])
    database.create("released", {"code": "text", "n": "text"}, [("{a, .. c}", "1")])
    columns = {name: {"role": "quasi_identifier"} for name in ("code", "n")}
    spec = spec_from_dict(
        {"connection": duckdb_url, "source": "patients", "target": "released", "columns": columns, "privacy": {"k": 1}}
    )
    with pytest.raises(UsageError, match=r"column 'code': 1 rows of released have a label .* nor a range or set"):
        insight.attack(spec, asked=AttackOptions(external="patients"))
    database.run("UPDATE released SET code = '{a, b}', n = '[2-9]'")
    with pytest.raises(UsageError, match="column 'n': 1 rows"):
        insight.attack(spec, asked=AttackOptions(external="patients"))
    for label in ("[-1-1]", "[-1 - 1]", "[-1, 1]"):
        database.run(f"UPDATE released SET n = '{label}'")
        after = insight.attack(spec, asked=AttackOptions(external="patients")).of("linking").after
        assert after is not None
        assert (after.figures["matched"], after.figures["unique"]) == (2, 2)


@pytest.mark.parametrize("label", ["", "{}", '{"a}', '{"a"b}', "[1-2]", "{a, .. b}", "{"])
def test_what_is_no_set(label: str) -> None:
    assert not [part for part in parts_of(label, ordered=False) or () if part != [("label", "", "")]]
