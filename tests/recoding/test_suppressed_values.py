"""Nothing of a suppressed row is published: labels, regions and what is shown hold values of released rows only."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.release.lock import Lock
from sqlanon.spec import Spec
from tests.pipeline.support import Database, changed
from tests.recoding.support import members

pytestmark = pytest.mark.kept_open

PLACE, AGE, TAG = "Pla'ce; DROP", "age", "tag"
TYPES = {PLACE: "text", AGE: "integer", TAG: "text"}
USUAL = ["94139", "94141", 'the "Hole"', "a, b", ""]
RARE = ["RARE1", "r'are; 2", "{RARE, 3}", "NULL"]
RARE_AGES = [1, 17, 49, 103]

Row = tuple[str | None, int, str]


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


@pytest.mark.parametrize("algorithm", ["sps", "gsps", "ops", "gops", "tds", "local"])
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
    assert suppressed


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
        Lock.of(spec, pipeline.plan(spec), "spec.yaml").write(path)
        holds = "RARE1" in path.read_text(encoding="utf-8")
        content = json.loads(path.read_text(encoding="utf-8"))
        assert holds == (algorithm == "sps") == ("values of the source" in str(content.get("sensitive")))
        assert stat.S_IMODE(path.stat().st_mode) == (0o600 if holds else stat.S_IMODE(path.stat().st_mode))
        assert Lock.read(path).levels is not None
    path.unlink()


def test_plans_show_no_value(duckdb_url: str) -> None:
    """What --json and the report show of a plan is how many groups there are."""
    database = Database(duckdb_url)
    database.create("people", TYPES, people(1))
    planned = pipeline.plan(spec_of(database, "sps"))
    assert not any(value in json.dumps(planned.to_dict()) + repr(planned) for value in RARE[:3])
