"""`sqlanon mcp`: checks, plans and measurements as tools of the Model Context Protocol, for agents.

Each tool is a command run by another process with --json. Of its answer numbers are handed on, and texts under keys
that hold names of columns, tables and models: labels, notes and whatever a later command adds are left out. No tool
publishes or writes, and none can ask for values.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from sqlanon import __version__
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
"""The parts of a plan that a tool returns. A recoding in groups is left out, because it names values."""

NAMES = frozenset(
    {"spec", "connection", "table", "source", "target", "column", "columns", "role", "quasi_identifier", "respondent"}
    | {"attack", "explained", "headline", "model", "kind", "group", "counted", "engine", "algorithm", "metric"}
)
"""Keys whose texts are names, paths or words of sqlanon."""

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

    words = "Measure and plan anonymized releases; counts only."
    made: MCPServer[Any] = MCPServer("sqlanon", instructions=words, version=__version__)
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
    kept = (*PLANNED, "error", "grid")
    return {name: found[name] for name in kept if name in found}


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
    """What a command answers with --json, without a value; an error as its line and exit code."""
    words: Sequence[str] = (sys.executable, "-m", "sqlanon", name, "--json", *arguments, "--", operand)
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"{name} took longer than {SECONDS} seconds and was stopped", "exit_code": 3}
    try:
        found: Answer = json.loads(done.stdout)
    except ValueError:
        return {"error": f"{name} ended without an answer", "exit_code": done.returncode or 4}
    if "error" in found:
        return {"error": found["error"]["message"], "exit_code": done.returncode}
    return {**without_values(found), "exit_code": done.returncode}


def without_values(found: Answer) -> Answer:
    """Numbers, and texts under keys of names.

    >>> without_values({"rows": 9, "top": "kuru", "columns": ["zip"], "levels": {"zip": 1}, "notes": ["of kuru"]})
    {'rows': 9, 'columns': ['zip'], 'levels': {'zip': 1}, 'notes': []}
    """
    return {key: _numbers(value, names=key in NAMES) for key, value in found.items() if not _is_text(key, value)}


def _numbers(value: object, *, names: bool) -> object:
    match value:
        case dict():
            # Roles by column: the words of a key of names may stand one mapping below.
            return {
                key: _numbers(item, names=names or key in NAMES)
                for key, item in value.items()
                if names or not _is_text(key, item)
            }
        case list():
            return [_numbers(item, names=names) for item in value if names or not isinstance(item, str)]
        case _:
            return value


def _is_text(key: str, value: object) -> bool:
    return isinstance(value, str) and key not in NAMES


def _flag(name: str, value: object) -> list[str]:
    # In one word, so that no value is taken for a flag.
    return [] if value is None else [f"{name}={value}"]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
