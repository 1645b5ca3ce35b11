"""Habits of command lines: completion, --quiet, --watch, colours, man pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from sqlanon.cli.main import COMMANDS, group
from sqlanon.cli.man import pages
from sqlanon.cli.settings import Settings, WatchedSearch
from tests.kit.commands import COLUMNS, CommandLine, write_spec
from tests.kit.terminal import Terminal

ROOT = str(Path(__file__).parents[2])


@pytest.fixture
def spec(folder: Path) -> Path:
    lines = [f"{94100 + n % 12},{('flu', 'cold')[n % 2]},{n % 7}" for n in range(90)]
    (folder / "people.csv").write_text("zip,disease,age\n" + "\n".join(lines), encoding="utf-8")
    columns = {
        "zip": COLUMNS["zip"],
        "disease": {"role": "sensitive"},
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [2, 4]}}},
    }
    values = {"source": "people.csv", "target": "released.csv", "columns": columns, "privacy": {"k": 4}}
    return write_spec(folder / "spec.yaml", values)


@pytest.mark.process
def test_a_shell_completes_commands_and_flags(folder: Path) -> None:
    def asked(instruction: str, **variables: str) -> str:
        given = {**os.environ, "PYTHONPATH": ROOT, "_SQLANON_COMPLETE": instruction, **variables}
        command = [sys.executable, "-m", "sqlanon"]
        return subprocess.run(command, env=given, cwd=folder, capture_output=True, text=True, check=False).stdout

    assert "complete -o nosort -F _sqlanon_completion sqlanon" in asked("bash_source")
    assert asked("bash_complete", COMP_WORDS="sqlanon pl", COMP_CWORD="1").split() == ["plain,plan"]
    assert "plain,--explain" in asked("bash_complete", COMP_WORDS="sqlanon plan --exp", COMP_CWORD="2")


def test_a_quiet_command_says_errors_and_warnings_alone(sqlanon: CommandLine, spec: Path) -> None:
    ended = sqlanon("plan", spec, "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert sqlanon("plan", spec, "--quiet", "--json").json["classes"] > 0
    assert "--" in sqlanon("sql", spec, "--quiet").out
    assert "no such file" in sqlanon("plan", "nowhere.yaml", "--quiet").err
    # The address is all that explore is started for.
    ended = sqlanon("explore", spec, "--quiet", "--idle", "0")
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(r"open http://127\.0\.0\.1:\d+/[\w-]+/\n", ended.out)


def test_a_quiet_demo_gives_no_advice(sqlanon: CommandLine, folder: Path) -> None:
    ended = sqlanon("demo", "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_warnings_are_never_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = Settings(as_json=False, show_sql=False, quiet=True)
    quiet.note("warning: this matters")
    quiet.note("wrote something")
    assert capsys.readouterr().err == "sqlanon: warning: this matters\n"


def test_a_watched_search_tells_how_far_it_is(sqlanon: CommandLine, spec: Path) -> None:
    ended = sqlanon("plan", spec, "--watch", "--fresh")
    assert ended.code == 0
    line = r"nodes asked, at most 0 left; best [0-9.]+, another costs at most 0\.0% less"
    assert re.search(line, ended.err.splitlines()[-1])
    for flag in (("--k", "2,3"), ("--compare", "optimal,incognito")):
        refused = sqlanon("plan", spec, "--watch", *flag)
        assert refused.code == 2
        assert "--watch is about one search" in refused.err


def test_the_gap_closes() -> None:
    told: list[str] = []
    watched = WatchedSearch(told.append)
    watched.end()
    assert told == []
    watched.progress(1200, 30)
    watched.costs(0.4, 0.3)
    watched.end()
    assert told[-1].endswith("1,200 nodes asked, at most 30 left; best 0.4, another costs at most 25.0% less")


@pytest.mark.process
def test_colours_are_for_terminals_and_for_who_wants_them(spec: Path, sqlanon: CommandLine) -> None:
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-9]")
    with Terminal(spec.parent, "plan", "spec.yaml", NO_COLOR="1") as terminal:
        assert terminal.end() == 0
        assert "classes" in terminal.shown
        assert not coloured.search(terminal.raw)
    assert "\x1b" not in sqlanon("plan", spec).out


def test_every_command_and_flag_has_its_man_page() -> None:
    found = pages()
    root = click.Context(group, info_name="sqlanon")
    for name in COMMANDS:
        assert f"sqlanon\\-{name.replace('-', chr(92) + '-')}" in found["sqlanon.1"]
        text = found[f"sqlanon-{name}.1"]
        assert text.startswith('.TH "SQLANON')
        command = group.get_command(root, name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[0].replace("-", "\\-") in text
    for text in found.values():
        # What begins a line with a dot is a request of man, and nothing else does.
        requests = {line.split()[0] for line in text.splitlines() if line.startswith((".", "'"))}
        assert requests <= {".TH", ".SH", ".B", ".PP", ".TP"}
