"""One command of sqlanon in this process, under a time limit, and what came of it."""

from __future__ import annotations

import contextlib
import io
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sqlanon.cli import main
from tests.fuzz.case import Case
from tests.fuzz.database import Database, Names, Release

SECONDS = 120
"""How long one case may take before it counts as one that hangs, unless its database is a slow one."""


class Hang(BaseException):
    """The time of a case is over. Not an Exception, so that no handler on the way takes it for an error."""


@dataclass
class Outcome:
    """What a command told: its exit code (None: it hung), what it printed, and the release that it published."""

    code: int | None
    out: str
    err: str
    release: Release | None = None
    audit: int | None = None
    leftovers: list[str] = field(default_factory=list)

    @property
    def told(self) -> dict[str, Any]:
        return dict(json.loads(self.out)) if self.code == 0 else {}


def released(case: Case, database: Database, seconds: float | None = None) -> Outcome:
    """Run a case: its tables are staged, released and read back, then dropped."""
    seconds = seconds or SECONDS * database.patience
    with database.staged(case) as names:
        spec = write_spec(case, names)
        outcome = command(["run", str(spec), "--json"], seconds)
        if outcome.code == 0:
            outcome.release = database.read(case, names)
            # Persons cannot be counted in a file that does not name them, nor guarding nodes.
            persons = "respondent" in case.spec or "personalized" in case.spec["privacy"]
            if "file" in names.target and not persons:
                outcome.audit = command(["audit", "--spec", str(spec)], seconds).code
        outcome.leftovers = database.leftovers()
        return outcome


def write_spec(case: Case, names: Names) -> Path:
    path = names.folder / "spec.yaml"
    path.write_text(spec_text(case, names), encoding="utf-8")
    return path


def spec_text(case: Case, names: Names) -> str:
    """The spec as YAML (JSON is YAML), with the names of this database."""
    spec = filled(case.spec, names)
    spec |= {"connection": names.url, "source": names.source, "target": names.target, "evidence": {"files": False}}
    if accepts():
        for column in spec["columns"].values():
            if column["role"] == "insensitive":
                column["accept"] = "a random table has no people in it"
    return json.dumps(spec, ensure_ascii=False).replace("${", "$${")


def filled(value: Any, names: Names) -> Any:
    if isinstance(value, dict):
        return {key: filled(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, names) for part in value]
    return names.tables.get(value, value) if isinstance(value, str) else value


@cache
def accepts() -> bool:
    """Whether columns of this version take `accept`, the reason why one that looks like an identifier is released."""
    return '"accept"' in command(["check", "--schema"], SECONDS).out


def command(arguments: list[str], seconds: float) -> Outcome:
    """One command line. An exception that leaves it is a traceback to its caller: exit code 1, as Python does."""
    out, err = io.StringIO(), io.StringIO()
    code: int | None = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with limited(seconds):
                main(arguments)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        except Hang:
            code = None
        except Exception as error:  # what a user would see as a traceback
            code = 1
            err.write(f"Traceback: {type(error).__name__}")
    return Outcome(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
