"""The comment on a pull request, as `.github/review.py` makes it of what commands say; the action and the hooks."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from sqlanon.cli.main import run
from tests.docs.test_maintenance import ROOT, loaded
from tests.kit.commands import CommandLine, spec_values, write_spec

HOSTILE = 'a "b"|c`d`\n<script>@all'


@pytest.fixture(scope="module")
def review() -> ModuleType:
    found = importlib.util.spec_from_file_location("review", ROOT / ".github" / "review.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def model(**changes: Any) -> dict[str, Any]:
    diff = {
        "changed": True,
        "changes": ["zip: level 1 -> 2"],
        "reasons": [{"cause": "data", "text": "the data changed"}],
    }
    return {
        "model": "release_patients", "rows": 1300, "suppressed": 12, "classes": 140, "levels": {"zip": 2}, "diff": diff,
        "changed": ["shop/models/release_patients.sql", "shop/models/release_patients.lock.json"], **changes,
    }  # fmt: skip


def test_a_changed_release(review: ModuleType) -> None:
    text = "\n\n".join(review.releases_compared({"models": [model(), model(model="fine", changed=[])]}, Path("shop")))
    assert text == (
        "### release&#95;patients\n\n"
        "2 files would change: `models/release_patients.sql`, `models/release_patients.lock.json`\n\n"
        "- zip: level 1 -&#62; 2\n- because the data changed\n\n"
        "1,288 of 1,300 rows in 140 classes\n\n"
        "| column | level |\n| --- | --- |\n| `zip` | 2 |\n\n"
        "Run `sqlanon dbt`, read what it changes, and commit its files."
    )


def test_other_answers(review: ModuleType) -> None:
    def told(**changes: Any) -> str:
        return "\n".join(review.releases_compared({"models": [model(**changes)]}, Path("shop")))

    assert told(changed=[]) == "All 1 releases of `shop` are up to date."
    assert "It has no lock file yet." in told(diff=None)
    assert "Its decision stays as it is." in told(diff={"changed": False, "changes": [], "reasons": []})
    failed = "\n".join(review.releases_compared({"error": {"message": "no such target"}}, Path("shop")))
    assert failed == "The releases of `shop` were not planned: **no such target**"


def test_names_are_no_markup(review: ModuleType) -> None:
    text = "\n".join(review.releases_compared({"models": [model(model=HOSTILE, levels={HOSTILE: 1})]}, Path("shop")))
    assert "<script>" not in text.replace('`` a "b"\\|c`d` <script>@all ``', "")
    assert '### a "b"&#124;c&#96;d&#96; &#60;script&#62;&#64;all' in text
    assert review.code("plain") == "`plain`"


@pytest.mark.process
def test_specs_are_checked_by_the_command(tmp_path: Path) -> None:
    good = write_spec(tmp_path / "good.yaml", spec_values("duckdb:///x.duckdb"))
    bad = write_spec(tmp_path / "bad.yaml", spec_values("duckdb:///x.duckdb", privacy={"k": 0}))
    found = reviewed({"SPECS": f"{bad}\n{good}\n"})
    assert found.returncode == 2
    assert found.stdout.startswith(f"## Releases\n\n| spec | checked |\n| --- | --- |\n| `{bad}` | **refused**: ")
    assert f"| `{good}` | valid |" in found.stdout


@pytest.mark.process
def test_nothing_is_asked_and_a_command_that_fails() -> None:
    assert "Nothing was asked" in reviewed({}).stdout


def reviewed(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    script = ROOT / ".github" / "review.py"
    return subprocess.run(
        [sys.executable, script], env={**os.environ, **variables}, cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_one_spec_and_several(sqlanon: CommandLine, tmp_path: Path, review: ModuleType) -> None:
    good = write_spec(tmp_path / "good.yaml", spec_values("duckdb:///x.duckdb"))
    bad = write_spec(tmp_path / "bad.yaml", spec_values("duckdb:///x.duckdb", source=None))
    one = sqlanon("check", "--offline", good, "--json")
    assert next(review.specs_checked(one.json, [str(good)])).endswith("| valid |")
    wrong = sqlanon("check", "--offline", bad, "--json")
    assert "**refused**" in next(review.specs_checked(wrong.json, [str(bad)]))
    both = sqlanon("check", "--offline", bad, good, "--json")
    assert (both.code, [found["valid"] for found in both.json["specs"]]) == (2, [False, True])
    shown = sqlanon("check", "--offline", bad, good)
    assert (shown.code, f"{good} is valid" in shown.out, f"sqlanon: {bad}: error: " in shown.err) == (2, True, True)


def test_the_hooks_are_commands() -> None:
    hooks = loaded(".pre-commit-hooks.yaml")
    assert [hook["id"] for hook in hooks] == ["sqlanon-check", "sqlanon-dbt"]
    for hook in hooks:
        program, *arguments = shlex.split(hook["entry"])
        assert (program, run([*arguments, "--help"])) == ("sqlanon", 0)


def test_the_action_puts_no_input_into_a_script() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    scripts = [step["run"] for step in action["runs"]["steps"]]
    assert not [script for script in scripts if "${{" in script]
    assert any(".github/review.py" in script for script in scripts)
