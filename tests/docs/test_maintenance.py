"""What maintainers run says the same everywhere: the workflow and the hooks call the tools of `make check`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def tools_of_check() -> list[str]:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ncheck:")[2].partition("\n\n")[0]
    return [line.removesuffix(" .") for line in re.findall(r"@\$\(BIN\)/(.+)", recipe)]


def test_hooks_call_the_tools_of_make_check() -> None:
    hooks = [hook["entry"] for repo in loaded(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    called = [hook.removeprefix(".venv/bin/").removesuffix(" --force-exclude") for hook in hooks]
    assert called == [tool.removesuffix(" --check") for tool in tools_of_check()]


def test_the_workflow_runs_both_targets_on_every_python() -> None:
    job = loaded(".github/workflows/ci.yml")["jobs"]["test"]
    servers, *targets = [step["run"] for step in job["steps"] if "run" in step]
    assert "mariadb-server" in servers
    assert targets == ["make check", "make test"]
    versions = [found.group(1) for name in PROJECT["classifiers"] if (found := re.search(r":: (3\.\d+)$", name))]
    assert job["strategy"]["matrix"]["python"] == versions
    [java] = [step["with"]["java-version"] for step in job["steps"] if "setup-java" in step.get("uses", "")]
    assert java == "17"
