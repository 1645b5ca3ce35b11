"""A lock file is validated whole before it is used: one line and an exit code, never a traceback, never trusted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlanon.errors import UsageError
from sqlanon.release.lock import Lock
from sqlanon.release.lock_schema import problem_of
from tests.kit.commands import CommandLine, Outcome, patients, rows_of, spec_values, write_spec
from tests.kit.examples import share
from tests.kit.locks import edit_lock, sealed

pytestmark = pytest.mark.reopened

ALGORITHMS = {"optimal": {"algorithm": "optimal"}, "ops": {"algorithm": "ops", "budget": {"nodes": 1000}}}


def refused(outcome: Outcome, *words: str) -> None:
    assert outcome.code == 2, outcome.err
    [line] = outcome.err.strip().splitlines()
    assert line.startswith("sqlanon: error: ")
    assert "internal error" not in line
    for word in words:
        assert word in line


MADE: dict[str, str] = {}
"""The lock file of each algorithm: the same for the same table, wherever it lies."""


def plan_of(algorithm: str, url: str, folder: Path, sqlanon: CommandLine) -> Path:
    patients(url)
    spec = write_spec(folder / "spec.yaml", spec_values(url, search=ALGORITHMS[algorithm]))
    lock = folder / "spec.lock.json"
    if algorithm not in MADE:
        assert sqlanon("plan", spec).code == 0
        MADE[algorithm] = lock.read_text(encoding="utf-8")
    lock.write_text(MADE[algorithm], encoding="utf-8")
    return lock


@pytest.fixture(params=ALGORITHMS)
def planned(request: pytest.FixtureRequest, duckdb_url: str, folder: Path, sqlanon: CommandLine) -> Path:
    """The lock file of a plan."""
    return plan_of(request.param, duckdb_url, folder, sqlanon)


@pytest.fixture
def grouped(duckdb_url: str, folder: Path, sqlanon: CommandLine) -> Path:
    """The lock file of a plan that groups values."""
    return plan_of("ops", duckdb_url, folder, sqlanon)


# -- by hand -----------------------------------------------------------------------------------------------------------


@pytest.mark.representative(22)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lock: lock.update(more=1), "more: no such key"),
        (lambda lock: lock["result"].update(more=1), "result.more: no such key"),
        (lambda lock: lock.pop("result"), "result: is missing"),
        (lambda lock: lock["result"].update(rows="10"), "result.rows: a whole number is expected"),
        (lambda lock: lock["result"].update(rows=-1), "result.rows: is out of bounds"),
        (lambda lock: lock["search"].update(minimal=[[0, 0, 99]]), "search.minimal: no such key"),
        (lambda lock: lock.update(spec="a\0b"), "spec: is malformed"),
        (lambda lock: lock.update(recoding={"kind": "magic"}), "recoding: no such kind"),
        (lambda lock: lock["source"].update(fingerprint="x"), "source.fingerprint: is malformed"),
        (lambda lock: lock["hierarchies"]["zip"].update(height=True), "hierarchies.zip.height: a whole number"),
        (lambda lock: lock.update(version=1), "another version, this is version 2: plan again"),
    ],
)
@pytest.mark.parametrize("command", ["apply", "sql", "status"])
def test_a_part_that_is_malformed_is_named(
    planned: Path, sqlanon: CommandLine, command: str, change: Callable[[Any], Any], words: str
) -> None:
    edit_lock(planned, change)
    refused(sqlanon(command, planned), words)


def test_a_key_that_stands_twice(planned: Path, sqlanon: CommandLine) -> None:
    text = planned.read_text(encoding="utf-8").rstrip()
    planned.write_text(f'{text.removesuffix("}")}, "version": 1}}', encoding="utf-8")
    refused(sqlanon("apply", planned), "a key stands twice")


@pytest.mark.parametrize("depth", [300, 900, 5000])
def test_a_requirement_that_is_nested_deeply(planned: Path, sqlanon: CommandLine, depth: int) -> None:
    text = planned.read_text(encoding="utf-8")
    deep = '{"requirement": {"k": ' + "[" * depth + "]" * depth + "},"
    before, after = text.split('"requirement": {', 1)
    inner = after.split("}\n  },", 1)[1]
    planned.write_text(before + deep.removeprefix("{") + inner, encoding="utf-8")
    refused(sqlanon("apply", planned))


def test_no_value_stands_in_a_message() -> None:
    lock = {"recoding": {"kind": "cuts", "columns": ["zip"], "groups": {"zip": [{"label": 5, "values": ["SECRET"]}]}}}
    problem = problem_of(lock)
    assert problem is not None
    assert "SECRET" not in problem


# -- groups ------------------------------------------------------------------------------------------------------------


def groups_of(lock: Any, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lock["recoding"]["groups"][name]
    return found


def foreign(lock: Any) -> None:
    groups_of(lock, "race")[0]["label"] = "Dr. Jane Roe"


def raw(lock: Any) -> None:
    """A label of the hierarchy that stands for other values."""
    groups_of(lock, "zip")[0]["label"], groups_of(lock, "zip")[1]["label"] = "95000", "94138"


def exchanged(lock: Any) -> None:
    first, second, *_ = groups_of(lock, "age")
    first["label"], second["label"] = second["label"], first["label"]


def shrunk(lock: Any) -> None:
    """A range that does not hold all values of its group."""
    group = next(group for group in groups_of(lock, "age") if len(group["values"]) > 1)
    group["label"] = f"[{group['values'][0]}-{group['values'][0]}]"


LABELS = {"foreign": foreign, "raw": raw, "exchanged": exchanged, "shrunk": shrunk}


@pytest.mark.representative(4)
@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("command", ["apply", "sql"])
def test_a_label_that_does_not_tell_of_its_group(grouped: Path, sqlanon: CommandLine, command: str, name: str) -> None:
    edit_lock(grouped, LABELS[name])
    refused(sqlanon(command, grouped), "a label for group", "does not fit its values: plan again")


def twice(lock: Any) -> None:
    first, second, *_ = groups_of(lock, "age")
    second["values"].append(first["values"][0])


def alike(lock: Any) -> None:
    first, second, *_ = groups_of(lock, "age")
    second["label"] = first["label"]


def emptied(lock: Any) -> None:
    groups_of(lock, "age")[0]["values"] = []


def without_a_column(lock: Any) -> None:
    lock["recoding"]["columns"].remove("age")
    del lock["recoding"]["groups"]["age"]


def at_a_level(lock: Any) -> None:
    lock["recoding"]["least"] = [0, 0, 99]


@pytest.mark.parametrize("change", [twice, alike, emptied, without_a_column, at_a_level])
@pytest.mark.parametrize("command", ["apply", "sql"])
def test_groups_that_are_none(grouped: Path, sqlanon: CommandLine, command: str, change: Callable[[Any], None]) -> None:
    edit_lock(grouped, change)
    refused(sqlanon(command, grouped))


@pytest.mark.parametrize("command", ["apply", "sql"])
def test_a_value_that_no_group_holds(grouped: Path, sqlanon: CommandLine, duckdb_url: str, command: str) -> None:
    def without_a_value(lock: Any) -> None:
        group = next(group for group in groups_of(lock, "age") if len(group["values"]) > 1)
        group["values"].pop()

    edit_lock(grouped, without_a_value)
    refused(sqlanon(command, grouped))


@pytest.mark.representative(3)
@pytest.mark.parametrize("algorithm", ["bhs", "ghs", "gops", "gsps", "ops", "sps", "tds"])
def test_groups_as_they_were_planned_are_published(
    duckdb_url: str, folder: Path, sqlanon: CommandLine, algorithm: str
) -> None:
    patients(duckdb_url)
    search = {"algorithm": algorithm, "budget": {"nodes": 300}}
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url, search=search))
    assert sqlanon("plan", spec).code == 0
    assert sqlanon("sql", folder / "spec.lock.json").code == 0
    assert sqlanon("apply", folder / "spec.lock.json").code == 0
    assert len(rows_of(duckdb_url, "patients_release")) >= 8


# -- at random ---------------------------------------------------------------------------------------------------------


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of plain data."""
    if path:
        yield path
    if isinstance(content, dict):
        for key in content:
            yield from places(content[key], (*path, key))
    if isinstance(content, list):
        for number, item in enumerate(content):
            yield from places(item, (*path, number))


DEEP: Any = []
for _ in range(100):
    DEEP = [DEEP]

ODD = st.sampled_from(
    [
        *(None, True, -1, 0, 1, 7, 2**70, 1.5, float("nan"), float("inf")),
        *("", "x", "\0", "\n", "\ud800", "9" * 5000, "../x"),
        *([], [[]], {}, {"x": None}, {"kind": "cuts"}, DEEP),
    ]
)


@st.composite
def mutated(draw: st.DrawFn, content: Any) -> Any:
    """A lock file with one to three places deleted, replaced, exchanged or doubled."""
    found = deepcopy(content)
    for _ in range(draw(st.integers(1, 3))):
        every = list(places(found))
        *path, last = draw(st.sampled_from(every))
        parent = found
        for part in path:
            parent = parent[part]
        match draw(st.sampled_from(["delete", "replace", "exchange", "add"])):
            case "delete":
                del parent[last]
            case "replace":
                parent[last] = deepcopy(draw(ODD))
            case "exchange":
                *other, end = draw(st.sampled_from(every))
                value: Any = found
                for part in (*other, end):
                    value = value[part]
                parent[last] = deepcopy(value)
            case _ if isinstance(parent, dict):
                parent[draw(st.sampled_from(["x", "kind", "levels", "\n"]))] = deepcopy(draw(ODD))
            case _:
                parent.append(deepcopy(draw(ODD)))
        if not list(places(found)):
            break
    return found


@settings(
    max_examples=share(80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_lock_file_that_was_changed_anywhere(
    duckdb_url: str, folder: Path, sqlanon: CommandLine, algorithm: str, data: st.DataObject
) -> None:
    planned = folder / "spec.lock.json"
    if not planned.exists():
        plan_of(algorithm, duckdb_url, folder, sqlanon)
    content = data.draw(mutated(json.loads(MADE[algorithm])))
    if data.draw(st.booleans()):
        content = sealed(content)
    planned.write_text(json.dumps(content), encoding="utf-8")
    try:
        Lock.read(planned)
        commands = ["apply", "sql", "status"]
    except UsageError:
        commands = [data.draw(st.sampled_from(["apply", "sql", "status", "report"]))]
    for command in commands:
        outcome = sqlanon(command, planned)
        assert outcome.code in (0, 1, 2), outcome.err
        assert "Traceback" not in outcome.err
        assert "internal error" not in outcome.err
        if outcome.code == 2:
            assert len(outcome.err.strip().splitlines()) == 1, outcome.err
