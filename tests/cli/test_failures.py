from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from sqlanon import pipeline
from sqlanon.cli import settings
from sqlanon.cli.failures import Interrupted, failure_of
from sqlanon.cli.main import COMMANDS
from sqlanon.engines.base import TraceEvent
from sqlanon.errors import EngineError, InfeasibleError, RequirementError, SpecError, UsageError
from sqlanon.source.run import Options
from tests.kit.commands import CommandLine, tables, write_spec

ROOT = Path(__file__).parents[2]


def shell(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sqlanon", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LANG": "C"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RequirementError("no"), 1),
        (UsageError("no"), 2),
        (SpecError("one", "two"), 2),
        (InfeasibleError("no"), 3),
        (EngineError("no"), 4),
        (ValueError("a data value"), 4),
        (click.UsageError("no"), 2),
        (KeyboardInterrupt(), 130),
        (Interrupted(), 130),
    ],
)
def test_exit_codes(error: BaseException, code: int) -> None:
    assert failure_of(error).exit_code == code


def test_a_spec_error_has_a_line_for_each_problem() -> None:
    assert failure_of(SpecError("one", "two")).lines == ("error: one", "error: two")


def test_a_message_is_one_line_and_moves_no_cursor() -> None:
    assert failure_of(UsageError("column 'a\nb\x1b[2J'")).lines == ("error: column 'a\\nb\\x1b[2J'",)


def test_an_unexpected_error_shows_no_values(sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("94138")

    monkeypatch.setattr(pipeline, "plan", fail)
    monkeypatch.setattr("sqlanon.spec.load_any", lambda path: SimpleNamespace(recipients={}))
    quiet = sqlanon("plan", "spec.yaml", "--dry-run", "--json")
    assert quiet.code == 4
    assert quiet.err == "sqlanon: error: internal error (ValueError); run with --debug for the trace\n"
    assert quiet.json["error"]["type"] == "ValueError"
    assert "94138" not in quiet.out
    loud = sqlanon("plan", "spec.yaml", "--dry-run", "--debug")
    assert "Traceback" in loud.err
    assert "94138" in loud.err


def test_an_engine_says_more_with_debug(sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise EngineError("the disk is full", detail="IO Error: block 7")

    monkeypatch.setattr(pipeline, "plan", fail)
    monkeypatch.setattr("sqlanon.spec.load_any", lambda path: SimpleNamespace(recipients={}))
    assert sqlanon("plan", "spec.yaml", "--dry-run").err == "sqlanon: error: the disk is full\n"
    assert "block 7" in sqlanon("plan", "spec.yaml", "--dry-run", "--debug").err


@pytest.mark.parametrize(("step", "words"), [("scan", "nothing was published"), ("commit", "audit the target")])
def test_ctrl_c(sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch, step: str, words: str) -> None:
    def interrupted(spec: object, options: Options, known: object) -> None:
        for hook in options.hooks:
            hook(TraceEvent(step, ""))
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "plan", interrupted)
    monkeypatch.setattr("sqlanon.spec.load_any", lambda path: SimpleNamespace(recipients={}))
    outcome = sqlanon("plan", "spec.yaml", "--dry-run", "--json")
    assert outcome.code == 130
    assert words in outcome.err
    assert outcome.err.count("\n") == 1
    assert outcome.json["error"]["exit_code"] == 130


@pytest.mark.parametrize(
    "arguments",
    [("plan",), ("plan", "a", "b"), ("nonsense",), ("plan", "--nonsense"), ("hierarchies", "a", "--rows", "0")],
)
def test_bad_usage_is_one_line(sqlanon: CommandLine, arguments: tuple[str, ...]) -> None:
    outcome = sqlanon(*arguments, "--json")
    assert outcome.code == 2
    assert outcome.err.startswith("sqlanon: error: ")
    assert outcome.err.count("\n") == 1
    assert "--help" in outcome.err
    assert outcome.json["error"]["exit_code"] == 2


def test_no_arguments_show_help(sqlanon: CommandLine) -> None:
    outcome = sqlanon()
    assert outcome.code == 2
    assert "Commands:" in outcome.err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_common_flags(sqlanon: CommandLine, name: str) -> None:
    outcome = sqlanon(name, "--help")
    assert outcome.code == 0
    for flag in ("--json", "--show-sql", "--debug", "--help"):
        assert flag in outcome.out


def test_numbers_that_json_lacks_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    settings.Settings(as_json=True, show_sql=False).emit({"score": {"loss": float("inf")}, "minimal": [(1, 2)]})
    assert json.loads(capsys.readouterr().out) == {"score": {"loss": None}, "minimal": [[1, 2]]}


@pytest.mark.process
def test_a_real_process_ends_with_the_code(tmp_path: Path) -> None:
    ended = shell("check", "nowhere.yaml", cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "sqlanon: error: nowhere.yaml: no such file\n"


@pytest.mark.process
def test_ctrl_c_stops_the_statement_and_leaves_nothing(tmp_path: Path) -> None:
    database = tmp_path / "test.duckdb"
    endless = "select i % 97 as age from range(4000000000) as t(i)"
    spec = {
        "connection": f"duckdb:///{database}",
        "source": {"query": endless},
        "target": "ages",
        "columns": {"age": {"role": "quasi_identifier"}},
        "privacy": {"k": 2},
    }
    write_spec(tmp_path / "spec.yaml", spec)
    command = [sys.executable, "-m", "sqlanon", "run", str(tmp_path / "spec.yaml"), "--show-sql"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "-- describe" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith("sqlanon: interrupted; nothing was published\n")
    assert {path.name for path in tmp_path.iterdir()} <= {"spec.yaml", "test.duckdb", "test.duckdb.wal"}
    assert tables(f"duckdb:///{database}") == set()


@pytest.mark.process
def test_a_closed_pipe_is_quiet() -> None:
    command = f"{sys.executable} -m sqlanon check --schema | true; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert ended.stdout in ("0\n", "141\n")
