"""Lock files that somebody edited: what does not go with the spec is refused, what was not found is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from sqlanon.errors import UsageError
from sqlanon.release.lock import Lock
from tests.kit.commands import COLUMNS, CommandLine, patients, spec_values, write_spec
from tests.kit.engine import execute, open_at
from tests.kit.locks import edit_lock

PEOPLE = 30
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture
def lock(engine_url: str, folder: Path, sqlanon: CommandLine) -> Path:
    """Of a plan that suppresses one row of a table with an accepted column."""
    engine = open_at(engine_url)
    execute(engine, "CREATE TABLE people (zip TEXT, disease TEXT, tag TEXT)")
    rows = [("94138" if n else "10001", "flu" if n % 2 else "cold", f"t-{n * 37}") for n in range(PEOPLE)]
    execute(engine, f"INSERT INTO people VALUES {', '.join(map(str, rows))}")
    engine.close()
    tag = {"role": "insensitive", "accept": "pseudonym"}
    values = {"connection": engine_url, "source": "people", "target": "released", "evidence": {"files": False}}
    columns = {"zip": COLUMNS["zip"], "disease": COLUMNS["disease"], "tag": tag}
    privacy = {"k": 3, "suppression": {"limit": 2}}
    spec = write_spec(folder / "spec.yaml", {**values, "columns": columns, "privacy": privacy})
    assert sqlanon("plan", spec).code == 0
    return folder / "spec.lock.json"


EDITS: dict[str, tuple[Edit, str]] = {
    "limit": (lambda lock: lock["result"].update(limit=7), "result.limit"),
    "height": (lambda lock: lock["result"].update(height=7), "result.height"),
    "levels": (lambda lock: lock["recoding"]["levels"].update(zip=1), "result.height"),
    "another reason": (lambda lock: lock["accepted"].update(tag="agreed by all"), "columns.tag.accept"),
    "another column": (lambda lock: lock["accepted"].update(zip="why not"), "columns.zip.accept"),
    "no reason": (lambda lock: lock.pop("accepted"), "columns.tag.accept"),
    "a part": (lambda lock: lock["spec_parts"].update({"privacy.k": "0" * 12}), "privacy.k"),
}


@pytest.mark.parametrize(("edit", "word"), EDITS.values(), ids=EDITS)
def test_edited_lock_files_are_refused(sqlanon: CommandLine, lock: Path, edit: Edit, word: str) -> None:
    """Also those that were sealed anew: what they say contradicts the spec or itself."""
    edit_lock(lock, edit)
    for command in ("apply", "sql"):
        ended = sqlanon(command, lock)
        assert ended.code == 2, ended.err
        [line] = ended.err.strip().splitlines()
        assert "the lock file was edited" in line
        assert word in line


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value, of every key and of every member of a list."""
    if path:
        yield path
    if isinstance(content, dict | list):
        for key, inner in content.items() if isinstance(content, dict) else enumerate(content):
            yield from places(inner, (*path, key))


def other(value: Any) -> Any:
    """A value of the same type that says something else."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value[:-1] + ("1" if value.endswith("0") else "0")
        case list():
            return [*value, *value[:1]] if value else [[0]]
        case dict():
            return dict(list(value.items())[:-1]) if value else {"zip": "0"}
    return 0


@pytest.mark.parametrize("algorithm", ["optimal", "ops", "mondrian"])
def test_no_part_of_a_lock_file_can_be_edited(
    duckdb_url: str, folder: Path, sqlanon: CommandLine, algorithm: str
) -> None:
    """Score, levels, what is proven: whatever somebody reads there is what the plan wrote."""
    patients(duckdb_url)
    search = {"algorithm": algorithm} if algorithm != "ops" else {"algorithm": "ops", "budget": {"nodes": 1000}}
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url, search=search))
    assert sqlanon("plan", spec).code == 0
    planned = folder / "spec.lock.json"
    content = json.loads(planned.read_text(encoding="utf-8"))
    every = list(places(content))
    assert {("result", "score"), ("search", "proven"), ("source", "fingerprint")} <= set(every)
    for *path, last in every:
        changed = deepcopy(content)
        parent = changed
        for part in path:
            parent = parent[part]
        parent[last] = other(parent[last])
        planned.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(UsageError, match=r"was edited|is not a lock file|of another version"):
            Lock.read(planned)
    planned.write_text(json.dumps(content, indent=7), encoding="utf-8")
    written = Lock.read(planned).to_json()
    assert json.loads(written) == content
    Lock.read(planned).write(planned)
    assert planned.read_text(encoding="utf-8") == written


def test_every_command_refuses_an_edited_lock_file(sqlanon: CommandLine, lock: Path) -> None:
    edit_lock(lock, lambda content: content["search"].update(proven=not content["search"]["proven"]), seal=False)
    for command in (("apply",), ("sql",), ("status",), ("report", "--offline"), ("report",)):
        ended = sqlanon(*command, lock)
        assert ended.code == 2, command
        [line] = ended.err.strip().splitlines()
        assert "the lock file was edited" in line
    # What an edited file says of nodes is not believed by the next plan either.
    again = sqlanon("plan", lock.with_name("spec.yaml"), "--json")
    assert (again.code, again.json["checks"] > 0) == (0, True)
    assert sqlanon("apply", lock).code == 0


def test_what_the_publication_finds_otherwise_is_told(sqlanon: CommandLine, lock: Path) -> None:
    assert "warning" not in sqlanon("apply", lock).err
    edit_lock(lock, lambda content: content["result"].update(suppressed=0))
    ended = sqlanon("apply", lock)
    assert ended.code == 0
    assert "warning: the lock file says result.suppressed 0, and 1 were found" in " ".join(ended.err.split())
    assert "result.suppressed" in sqlanon("apply", lock, "--json").json["warnings"][0]
