"""Lock files that somebody edited: what does not go with the spec is refused, what was not found is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kit.commands import COLUMNS, CommandLine, write_spec
from tests.kit.engine import execute, open_at

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


def edited(lock: Path, edit: Edit) -> None:
    content = json.loads(lock.read_text(encoding="utf-8"))
    assert content["result"]["suppressed"] == 1
    edit(content)
    lock.write_text(json.dumps(content), encoding="utf-8")


EDITS: dict[str, tuple[Edit, str]] = {
    "suppressed": (lambda lock: lock["result"].update(suppressed=0), "result.suppressed"),
    "classes": (lambda lock: lock["result"].update(classes=7), "result.classes"),
    "completeness": (lambda lock: lock["result"].update(completeness=1.0), "result.completeness"),
    "limit": (lambda lock: lock["result"].update(limit=7), "result.limit"),
    "height": (lambda lock: lock["result"].update(height=7), "result.height"),
    "accuracy": (lambda lock: lock["result"].update(accuracy=1.5), "result.accuracy"),
    "levels": (lambda lock: lock["recoding"]["levels"].update(zip=1), "result.height"),
    "another reason": (lambda lock: lock["accepted"].update(tag="agreed by all"), "columns.tag.accept"),
    "another column": (lambda lock: lock["accepted"].update(zip="why not"), "columns.zip.accept"),
    "no reason": (lambda lock: lock.pop("accepted"), "columns.tag.accept"),
    "a part": (lambda lock: lock["spec_parts"].update({"privacy.k": "0" * 12}), "privacy.k"),
}


@pytest.mark.parametrize(("edit", "word"), EDITS.values(), ids=EDITS)
def test_edited_lock_files_are_refused(sqlanon: CommandLine, lock: Path, edit: Edit, word: str) -> None:
    edited(lock, edit)
    for command in ("apply", "sql"):
        ended = sqlanon(command, lock)
        assert ended.code == 2, ended.err
        [line] = ended.err.strip().splitlines()
        assert "the lock file was edited" in line
        assert word in line


def test_what_the_publication_finds_otherwise_is_told(sqlanon: CommandLine, lock: Path) -> None:
    assert "warning" not in sqlanon("apply", lock).err

    def everywhere(content: dict[str, Any]) -> None:
        content["result"].update(suppressed=0, completeness=1.0)
        verdicts = content["frequency_set"]["verdicts"]
        for node, facts in verdicts.items():
            verdicts[node] = facts.replace("1 ", "0 ", 1) if facts.startswith("1 ") else facts

    edited(lock, everywhere)
    ended = sqlanon("apply", lock)
    assert ended.code == 0
    assert "warning: the lock file says result.suppressed 0, and 1 were found" in " ".join(ended.err.split())
    assert "result.suppressed" in sqlanon("apply", lock, "--json").json["warnings"][0]
