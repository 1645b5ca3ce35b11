"""The lock file holds the decision, short to review; the cache beside it holds what need not be asked again."""

from __future__ import annotations

import difflib
import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from sqlanon.release.lock import CACHES, Lock, cache_path
from tests.kit.commands import CommandLine, write_spec
from tests.kit.engine import execute, open_at

MOST_LINES = 15


def planned(sqlanon: CommandLine, spec: Path, *flags: str) -> tuple[str, Any]:
    """The lock file after a plan, and what the command said."""
    outcome = sqlanon("plan", spec, "--json", *flags)
    assert outcome.code == 0, outcome.err
    return spec.with_name("spec.lock.json").read_text(encoding="utf-8"), outcome.json


def changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if line[0] in "+-" and not line.startswith(("+++", "---"))]


@pytest.mark.one_engine
def test_two_changed_levels_are_a_short_diff(sqlanon: CommandLine, spec: Path, database: str) -> None:
    """Other data, and a spec that asks for two levels: each is at most 15 lines, removed and added ones counted."""
    text = spec.read_text(encoding="utf-8")
    first, _ = planned(sqlanon, spec)
    levels = json.loads(first)["recoding"]["levels"]
    values = yaml.safe_load(text)
    columns = values["columns"]
    for name in list(levels)[:2]:
        columns[name] = {**columns[name], "levels": {"min": levels[name] + 1}}
    write_spec(spec, values)
    second, _ = planned(sqlanon, spec)
    changed = {name for name, level in json.loads(second)["recoding"]["levels"].items() if level != levels[name]}
    assert len(changed) >= 2
    assert len(changed_lines(first, second)) <= MOST_LINES + 2 * (len(changed) - 2)
    spec.write_text(text, encoding="utf-8")
    engine = open_at(database)
    execute(engine, "INSERT INTO patients SELECT * FROM patients")
    engine.close()
    third, _ = planned(sqlanon, spec)
    assert json.loads(third)["recoding"] != json.loads(first)["recoding"]
    assert json.loads(third)["result"]["rows"] != json.loads(first)["result"]["rows"]
    moved = [name for name, level in json.loads(third)["recoding"]["levels"].items() if level != levels[name]]
    assert moved
    assert len(changed_lines(first, third)) <= MOST_LINES + 2 * max(0, len(moved) - 2)


@pytest.mark.one_engine
def test_the_cache_is_for_its_owner_and_not_for_git(sqlanon: CommandLine, spec: Path) -> None:
    text, first = planned(sqlanon, spec)
    folder = spec.parent / CACHES
    assert {path.name for path in folder.iterdir()} == {".gitignore", "spec.lock.json"}
    assert "*" in (folder / ".gitignore").read_text(encoding="utf-8").splitlines()
    cache = folder / "spec.lock.json"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    assert "verdicts" not in text
    assert first["checks"] > 0
    again, second = planned(sqlanon, spec)
    assert (second["checks"], again) == (0, text)


@pytest.mark.one_engine
@pytest.mark.parametrize("spoiled", ["missing", "edited", "of other data", "no JSON", "odd verdicts"])
def test_a_cache_that_does_not_fit_is_asked_anew(sqlanon: CommandLine, spec: Path, spoiled: str) -> None:
    text, first = planned(sqlanon, spec)
    cache = cache_path(spec.with_name("spec.lock.json"))
    content = json.loads(cache.read_text(encoding="utf-8"))
    match spoiled:
        case "missing":
            cache.unlink()
        case "no JSON":
            cache.write_text("[" * 5000)
        case "edited":
            content["verdicts"] = dict.fromkeys(content["verdicts"], "0 9")
            cache.write_text(json.dumps(content))
        case "odd verdicts":
            cache.write_text(json.dumps({**content, "verdicts": {"0": "0 9 a=b"}}))
        case _:
            cache.write_text(json.dumps({**content, "fingerprint": "0" * 32}))
    again, second = planned(sqlanon, spec)
    assert (second["checks"], again) == (first["checks"], text)


@pytest.mark.one_engine
def test_without_a_cache(sqlanon: CommandLine, spec: Path) -> None:
    text, first = planned(sqlanon, spec, "--no-cache")
    assert not (spec.parent / CACHES).exists()
    again, second = planned(sqlanon, spec)
    assert (again, second["checks"], first["checks"] > 0) == (text, first["checks"], True)
    _, third = planned(sqlanon, spec, "--no-cache")
    assert third["checks"] == first["checks"]
    lock = Lock.read(spec.with_name("spec.lock.json"))
    assert lock.verdicts
    assert lock.to_json() == text
    assert sqlanon("run", spec, "--no-cache").code == 0
    assert sqlanon("report", spec.with_name("spec.lock.json"), "--offline").code == 0


@pytest.mark.one_engine
def test_a_lock_file_of_the_version_before(sqlanon: CommandLine, spec: Path) -> None:
    """It is refused by a line that says what to do, and replaced by a plan."""
    planned(sqlanon, spec)
    lock = spec.with_name("spec.lock.json")
    old = json.loads(lock.read_text(encoding="utf-8")) | {"version": 1, "frequency_set": {}}
    lock.write_text(json.dumps(old), encoding="utf-8")
    ended = sqlanon("apply", lock)
    assert (ended.code, "another version, this is version 2: plan again" in ended.err) == (2, True)
    assert sqlanon("plan", spec).code == 0
    assert sqlanon("apply", lock).code == 0


@pytest.mark.one_engine
def test_plan_and_status_tell_changes_alike(sqlanon: CommandLine, spec: Path, database: str) -> None:
    """The same lines for what changed, by the same words; `status` measures the decision that stands."""
    assert sqlanon("run", spec).code == 0
    assert "none since the lock file was written" in sqlanon("status", spec).out
    engine = open_at(database)
    execute(engine, "INSERT INTO patients SELECT * FROM patients")
    engine.close()
    told = sqlanon("plan", spec, "--dry-run", "--json").json["diff"]
    stands = sqlanon("status", spec, "--json").json["drift"]["diff"]
    assert stands["reasons"] == told["reasons"] == [{"cause": "data", "text": "the data changed (10 -> 20 rows)"}]
    shown = sqlanon("status", spec).out
    assert all(line in shown for line in stands["changes"])
    assert "because the data changed (10 -> 20 rows)" in shown
