"""Tools for agents: the answers of commands, without a value; asked through the protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from sqlanon import __version__
from sqlanon.cli import mcp
from sqlanon.cli.main import run
from sqlanon.cli.mcp import server
from tests.kit.rare_values import people, rows

pytestmark = pytest.mark.process


def ask(*calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The structured answers of some tools, from one server."""

    async def asking() -> list[dict[str, Any]]:
        async with Client(server()) as client:
            return [(await client.call_tool(name, arguments)).structured_content or {} for name, arguments in calls]

    return anyio.run(asking)


@pytest.mark.reopened
def test_agents_are_told_counts_and_no_value(duckdb_url: str, folder: Path) -> None:
    spec = str(people(duckdb_url, folder, privacy={"k": 3, "suppression": {"limit": "10%"}}))
    before = {path.name for path in folder.iterdir()}
    checked, planned, what_if, mistyped, flag = ask(
        ("check", {"spec": spec}),
        ("plan", {"spec": spec}),
        ("plan", {"spec": spec, "k": 2}),
        ("check", {"spec": "nowhere.yaml"}),
        ("plan", {"spec": "--show-values"}),
    )
    assert checked["valid"] is True
    assert checked["columns"]["city"] == "quasi_identifier"
    assert checked["hierarchies"]["city"]["labels"][-1] == 1
    assert planned["classes"] > 0
    assert planned["exit_code"] == 0
    assert planned["levels"].keys() == {"city", "job", "age"}
    assert what_if["grid"][0]["k"] == 2
    assert mistyped["exit_code"] == flag["exit_code"] == 2
    assert "nowhere.yaml" in str(mistyped["error"])
    assert {path.name for path in folder.iterdir()} == before
    assert not values_in(checked, planned, what_if)


def values_in(*answers: dict[str, Any]) -> list[str]:
    """Values and labels of the table that agents were told, common ones too."""
    told = json.dumps(answers, ensure_ascii=False)
    values = {value for row in rows() for value in row if isinstance(value, str)} | {"lake", "river"}
    return [value for value in sorted(values) if f'"{value}' in told or f" {value}" in told]


@pytest.mark.reopened
def test_of_any_recoder_and_of_its_release_agents_are_told_counts(duckdb_url: str, folder: Path) -> None:
    privacy = {"k": 3, "suppression": {"limit": "10%"}, "alpha": [{"column": "disease", "value": "kuru", "alpha": 0.9}]}
    spec = str(people(duckdb_url, folder, privacy=privacy, search={"algorithm": "mondrian"}))
    assert run(["run", spec]) == 0
    answers = ask(
        ("check", {"spec": spec}), ("plan", {"spec": spec}), ("risk", {"spec": spec}), ("attack", {"spec": spec})
    )
    checked, planned, risk, attacks = answers
    assert not values_in(*answers)
    assert (checked["exit_code"], planned["exit_code"], risk["exit_code"], attacks["exit_code"]) == (0, 0, 0, 0)
    assert planned["algorithm"] == "mondrian"
    assert risk["after"]["rows"] == planned["rows"] - planned["suppressed"]
    assert {item["attack"] for item in attacks["attacks"]} >= {"homogeneity", "missing"}


def test_a_command_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "SECONDS", 0.001)
    assert mcp.asked("check", "spec.yaml") == {
        "error": "check took longer than 0.001 seconds and was stopped",
        "exit_code": 3,
    }
    monkeypatch.setattr(mcp, "SECONDS", 60)
    monkeypatch.setattr("sys.executable", "false")
    assert mcp.asked("check", "spec.yaml") == {"error": "check ended without an answer", "exit_code": 1}


def test_agents_may_measure_any_table(folder: Path) -> None:
    (folder / "people.csv").write_text('"a,b",age\n' + "\n".join(f"x,{n % 3}" for n in range(9)), encoding="utf-8")
    [audited] = ask(
        ("audit", {"table": str(folder / "people.csv"), "quasi_identifiers": ["a,b", "age"], "k": 4}),
    )
    assert audited["k"] == 3
    assert audited["satisfied"] is False
    assert audited["exit_code"] == 1


def test_the_server_says_which_sqlanon_it_is() -> None:
    assert server().version == __version__
