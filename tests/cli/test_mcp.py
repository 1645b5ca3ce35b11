"""Tools for agents: the answers of commands, without a value; asked through the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from sqlanon.cli.mcp import server
from tests.kit.rare_values import RARE, people

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
    assert planned["classes"] > 0
    assert planned["exit_code"] == 0
    assert planned["levels"].keys() == {"city", "job", "age"}
    assert what_if["grid"][0]["k"] == 2
    assert mistyped["exit_code"] == flag["exit_code"] == 2
    assert "nowhere.yaml" in str(mistyped["error"])
    assert {path.name for path in folder.iterdir()} == before
    told = str((checked, planned, what_if))
    assert not [value for values in RARE.values() for value in values if value in told]


def test_agents_may_measure_any_table(folder: Path) -> None:
    (folder / "people.csv").write_text('"a,b",age\n' + "\n".join(f"x,{n % 3}" for n in range(9)), encoding="utf-8")
    [audited] = ask(
        ("audit", {"table": str(folder / "people.csv"), "quasi_identifiers": ["a,b", "age"], "k": 4}),
    )
    assert audited["k"] == 3
    assert audited["satisfied"] is False
    assert audited["exit_code"] == 1
