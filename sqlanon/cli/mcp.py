"""`sqlanon mcp`: checks, plans and measurements as tools of the Model Context Protocol, for agents.

Each tool is a command run by another process with --json; of its answer only counts, names and levels are handed on.
No tool publishes or writes, and none can ask for values.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from mcp.server import MCPServer

Answer = dict[str, Any]

PLANNED = (
    "levels",
    "height",
    "rows",
    "suppressed",
    "limit",
    "classes",
    "minimal",
    "score",
    "checks",
    "lattice",
    "algorithm",
    "proven",
    "engine",
    "seconds",
    "exit_code",
)
"""What is told of a plan: a recoding in groups names values, and is left out."""

SECONDS = 3600


@click.command("mcp", short_help="Serve check, plan, audit, risk and attack to agents (MCP).")
@flags()
def command(settings: Settings) -> None:
    """Serve tools over standard input and output, by the Model Context Protocol: check, plan, audit, risk, attack.

    They tell counts, never a value; nothing is published or written. Needs the package mcp: pip install 'sqlanon[mcp]'.
    """
    if find_spec("mcp") is None:
        raise UsageError("the command mcp needs the package mcp: pip install 'sqlanon[mcp]'")
    server().run()


def server() -> MCPServer[Any]:
    """The server with its tools."""
    from mcp.server import MCPServer

    made: MCPServer[Any] = MCPServer("sqlanon", instructions="Measure and plan anonymized releases; counts only.")
    tools: tuple[Callable[..., Answer], ...] = (check, plan, audit, risk, attack)
    for tool in tools:
        made.tool()(tool)
    return made


def check(spec: str) -> Answer:
    """Validate a spec file: its keys, its names in the database, its hierarchies."""
    return asked("check", spec)


def plan(spec: str, k: int | None = None, limit: str | None = None) -> Answer:
    """Search for the generalization that a spec file asks for; k and limit (rows or percent) ask what if."""
    found = asked("plan", spec, "--dry-run", *_flag("--k", k), *_flag("--limit", limit))
    return found if "error" in found or "grid" in found else {name: found[name] for name in PLANNED if name in found}


def audit(table: str, quasi_identifiers: list[str], k: int | None = None, connection: str | None = None) -> Answer:
    """Measure any table: class sizes and k over some columns, and whether a required k holds."""
    names = ",".join(_quoted(name) for name in quasi_identifiers)
    return asked("audit", table, *_flag("--qi", names), *_flag("--k", k), *_flag("--connection", connection))


def risk(spec: str) -> Answer:
    """Risk of re-identification of a spec's source and release: uniques, prosecutor, journalist, marketer."""
    return asked("risk", spec)


def attack(spec: str) -> Answer:
    """Attack the release of a spec as an adversary would: how many people each attack tells of."""
    return asked("attack", spec)


def asked(name: str, operand: str, *arguments: str) -> Answer:
    """What a command answers with --json; an error as its line and exit code."""
    words: Sequence[str] = (sys.executable, "-m", "sqlanon", name, "--json", *arguments, "--", operand)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
    answer: Answer = json.loads(done.stdout) if done.stdout.strip() else {"error": done.stderr.strip()}
    return answer | {"exit_code": done.returncode}


def _flag(name: str, value: object) -> list[str]:
    # In one word, so that no value is taken for a flag.
    return [] if value is None else [f"{name}={value}"]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
