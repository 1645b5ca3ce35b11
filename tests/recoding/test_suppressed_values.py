"""Nothing of a suppressed row is published: labels, regions and what is shown hold values of released rows only."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.recoding.schemes.recoder import Leaf, LeafColumn
from sqlanon.release.lock import Lock
from sqlanon.search.schemes.domain import identity, whole
from sqlanon.spec import Spec
from tests.kit.database import Database, changed
from tests.recoding.support import members

PLACE, AGE, TAG = "Pla'ce; DROP", "age", "tag"
TYPES = {PLACE: "text", AGE: "integer", TAG: "text"}
USUAL = ["94139", "94141", 'the "Hole"', "a, b", ""]
RARE = ["RARE1", "r'are; 2", "{RARE, 3}", "NULL"]
RARE_AGES = [1, 17, 49, 103]

Row = tuple[str, int, str]


def people(seed: int) -> list[Row]:
    """Rows of usual places and ages, and four that share neither with anybody."""
    source = Random(seed)
    usual = [(source.choice(USUAL), source.choice(range(20, 45, 3)), f"tag {number}") for number in range(70)]
    return usual + [(place, age, f"rare {age}") for place, age in zip(RARE, RARE_AGES, strict=True)]


def spec_of(database: Database, algorithm: str, **changes: Any) -> Spec:
    values = {
        "source": "people",
        "target": "released",
        "columns": {
            PLACE: {"role": "quasi_identifier"},
            AGE: {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 40]}}},
            TAG: {"role": "sensitive"},
        },
        "privacy": {"k": 4, "suppression": {"limit": "10%"}},
        "connection": database.url,
        "evidence": {"files": False},
        "search": {"algorithm": algorithm, "budget": {"nodes": 400}},
    }
    return changed(values, **changes)


def shown_values(label: str) -> set[str]:
    """The values that a label of a place or an age shows."""
    if found := re.fullmatch(r"\[(\d+)-(\d+)\]", label):
        return {found[1], found[2]}
    return set(members(label))


def own_values(rows: list[Row], tags: set[str]) -> list[set[str]]:
    return [{str(row[position]) for row in rows if row[2] in tags} for position in (0, 1)]


@pytest.mark.representative(3, postgres=1)
@pytest.mark.parametrize(
    "algorithm",
    [
        pytest.param(name, marks=() if name in ("sps", "local") else pytest.mark.one_engine)
        for name in ("sps", "gsps", "ops", "gops", "tds", "local")
    ],
)
def test_labels_show_values_of_released_rows_only(engine_url: str, algorithm: str) -> None:
    database = Database(engine_url)
    suppressed = 0
    for seed in (1, 2):
        rows = people(seed)
        database.run("DROP TABLE IF EXISTS people", "DROP TABLE IF EXISTS released")
        database.create("people", TYPES, rows)
        suppressed += pipeline.run(spec_of(database, algorithm)).publication.suppressed
        released = database.rows("released", f'"{PLACE}", "{AGE}", "{TAG}"')
        kept = {str(tag) for *_, tag in released}
        for position, known in enumerate(own_values(rows, kept)):
            gone = {str(row[position]) for row in rows} - known
            for label in {str(row[position]) for row in released}:
                assert not shown_values(label) & gone, label
        covered(rows, released)
    assert suppressed or algorithm == "ops"


@pytest.mark.one_engine
@pytest.mark.parametrize("algorithm", ["ops", "gops"])
def test_a_suppressed_value_between_two_others_is_not_listed(engine_url: str, algorithm: str) -> None:
    """Ordered groups reach over it: 94139 and 94141 are too few without each other."""
    places = [*["94139"] * 9, *["94141"] * 9]
    rows: list[Row] = [(place, 30, f"tag {number}") for number, place in enumerate(places)]
    rows += [("abroad", 30 if number % 2 else 60, f"tag {number}") for number in range(20, 44)]
    rows.append(("94140", 99, "rare"))
    database = Database(engine_url)
    database.create("people", TYPES, rows)
    privacy = {"k": 10, "suppression": {"limit": 1}}
    columns = {
        PLACE: {"role": "quasi_identifier"},
        AGE: {"role": "quasi_identifier", "scheme": "bhs"},
        TAG: {"role": "sensitive"},
    }
    spec = spec_of(database, algorithm, privacy=privacy, columns=columns)
    assert pipeline.run(spec).publication.suppressed == 1
    assert {place for (place,) in database.rows("released", f'"{PLACE}"')} == {"abroad", "{94139, 94141}"}


def test_ranges_end_at_leaves_of_released_rows() -> None:
    """Leaves 0 and 4 have no released row; leaf 2 neither, but no label shows it."""
    leaves = tuple(Leaf(str(age), (str(age),), 1, 1, ("*",), (6,)) for age in (1, 20, 30, 40, 103, 104))
    levels = (identity(6), whole(6))
    column = LeafColumn("age", leaves, tuple(range(6)), levels, natural=True, apart=False, top="*", total=6)
    found = column.without((0, 0, 0, 0, 0, 1), frozenset({1, 3, 5}))
    assert [group.label for group in column.groups(found)] == ["1", "[20-40]", "103", "104"]
    as_set = replace(column, natural=False).without((0, 0, 0, 0, 0, 1), frozenset({1, 3, 5}))
    labels = [group.label for group in replace(column, natural=False).groups(as_set)]
    assert labels == ["1", "{20, 40}", "30", "103", "104"]
    assert column.without(whole(6), frozenset({1})) == whole(6)


def covered(rows: list[Row], released: list[tuple[Any, ...]]) -> None:
    """Every released label covers the value of its own row."""
    own = {row[2]: row for row in rows}
    for place, age, tag in released:
        row, age = own[tag], str(age)
        assert place in ("*", row[0]) or row[0] in set(members(place)), place
        if age == "*" or age == str(row[1]):
            continue
        if found := re.fullmatch(r"\[(\d+)(-|, )(\d+)[\])]", age):
            assert int(found[1]) <= row[1] <= int(found[3]) - (found[2] == ", "), age
        else:
            reach = [re.fullmatch(r"\[(\d+), (\d+)\)|(\d+)", label) for label in members(age)]
            assert any(
                found and (found[3] == str(row[1]) or (found[1] and int(found[1]) <= row[1] < int(found[2])))
                for found in reach
            ), age


def test_a_lock_of_groups_is_for_its_owner_and_says_so(duckdb_url: str, tmp_path: Path) -> None:
    """Groups hold every value, those of suppressed rows too: the file says it, and nobody else can read it."""
    database = Database(duckdb_url)
    database.create("people", TYPES, people(1))
    path = tmp_path / "spec.lock.json"
    for algorithm in ("sps", "optimal"):
        spec = spec_of(database, algorithm)
        path.unlink(missing_ok=True)
        Lock.of(spec, pipeline.plan(spec), "spec.yaml").write(path)
        holds = "RARE1" in path.read_text(encoding="utf-8")
        content = json.loads(path.read_text(encoding="utf-8"))
        assert holds == (algorithm == "sps") == ("values of the source" in str(content.get("sensitive")))
        assert (stat.S_IMODE(path.stat().st_mode) == 0o600) == holds
        assert Lock.read(path).fits(spec)


def test_plans_show_no_value(duckdb_url: str) -> None:
    """What --json and the report show of a plan is how many groups there are."""
    database = Database(duckdb_url)
    database.create("people", TYPES, people(1))
    planned = pipeline.plan(spec_of(database, "sps"))
    assert not any(value in json.dumps(planned.to_dict()) + repr(planned) for value in RARE[:3])
