"""The documentation is run: commands in order, exit codes and lines compared, times and released rows left aside."""

from __future__ import annotations

import ast
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

import sqlanon
from sqlanon.cli.main import COMMANDS, group, run
from tests.kit.engine import open_at
from tests.kit.processes import fork

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIME = re.compile(r"\b[0-9.]+ (ms|s)\b")
LINE = re.compile("─+")
RELEASED = "94***"
"""How the released rows of the demo begin; which of them come first is left to chance."""


@dataclass
class Shown:
    """A command of a transcript, and the lines shown after it."""

    command: str
    lines: list[str]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(text_of(page)) if found == language]


def transcript(page: str) -> list[Shown]:
    shown: list[Shown] = []
    for line in "".join(blocks(page, "console")).splitlines():
        if line.startswith("$ "):
            shown.append(Shown(line[2:], []))
        else:
            shown[-1].lines.append(line)
    return shown


def normal(line: str) -> str:
    return "..." if line.startswith(RELEASED) else " ".join(LINE.sub("─", TIME.sub("N ms", line)).split())


def missing(expected: list[str], actual: str) -> list[str]:
    """The lines that do not stand in the output in their order; `...` stands for any."""
    remaining = iter([normal(line) for line in actual.splitlines()])
    return [line for line in map(normal, expected) if line not in ("", "...") and line not in remaining]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands `sqlanon` and `make` of a shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, arguments in (("sqlanon", "-m sqlanon"), ("make", "-m sqlanon")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")


def in_a_shell(command: str, folder: Path) -> tuple[int, str]:
    """As people do. The exit code, and everything that was printed."""
    ended = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


@cache
def import_everything() -> None:
    """Once here instead of once in each fork."""
    for module in pkgutil.walk_packages(sqlanon.__path__, "sqlanon."):
        if not module.name.endswith("__main__"):
            # Modules of extras that are not installed here.
            with suppress(ModuleNotFoundError):
                import_module(module.name)
    # What commands import only where they need it.
    for name in ("scipy.optimize", "scipy.sparse"):
        with suppress(ModuleNotFoundError):
            import_module(name)


def in_a_fork(command: str, folder: Path) -> tuple[int, str]:
    """The same for a command of ours, in a process of its own that has everything imported already."""
    name, *arguments = shlex.split(command)
    if name != "sqlanon":
        return in_a_shell(command, folder)
    import_everything()

    def act() -> int:
        os.chdir(folder)
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        return run(arguments)

    with tempfile.TemporaryFile() as printed:
        _, status = os.waitpid(fork(act), 0)
        printed.seek(0)
        return os.waitstatus_to_exitcode(status), printed.read().decode("utf-8")


@pytest.mark.no_cover
@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/start/first-release.md",
        "docs/start/nightly-release.md",
        "docs/guides/audit.md",
        "docs/reference/cli.md",
    ],
)
def test_transcripts_are_true(page: str, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    code = 0
    for shown in transcript(page):
        if shown.command.startswith("cd "):
            folder = folder / shown.command[3:]
            continue
        if shown.command == "echo $?":
            assert shown.lines[0] == str(code)
            code = 0
            continue
        assert code == 0, f"the transcript does not show that the command before '{shown.command}' failed"
        code, printed = in_a_fork(shown.command, folder)
        assert not missing(shown.lines, printed), (shown.command, printed)
    assert code == 0


@pytest.mark.no_cover
@pytest.mark.usefixtures("programs")
def test_the_nights_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its spec and its commands, night by night."""
    monkeypatch.setenv("SQLANON_KEY", "a secret for the guide, long enough")
    shutil.copy(ROOT / "sqlanon" / "cli" / "demo_data" / "patients.csv", tmp_path)
    [spec] = blocks("docs/guides/nightly.md", "yaml")
    (tmp_path / "nightly.yaml").write_text(spec, encoding="utf-8")
    for shown in transcript("docs/guides/nightly.md"):
        code, printed = in_a_fork(shown.command, tmp_path)
        assert not missing(shown.lines, printed), (shown.command, printed)
        assert code == 0, shown.command


@pytest.mark.no_cover
def test_from_install_to_a_signed_report_in_ten_commands(tmp_path: Path) -> None:
    """The commands of the README as they stand there, but for the installation and the terminal."""
    [listed] = blocks("README.md", "sh")
    install, *commands = [line.partition("  #")[0].strip() for line in listed.splitlines()]
    assert install == "pip install 'sqlanon[report]'"
    assert 1 + len(commands) <= 10
    shutil.copy(ROOT / "sqlanon" / "cli" / "demo_data" / "patients.csv", tmp_path)
    for command in commands:
        if command.startswith("ssh-keygen"):
            if shutil.which("ssh-keygen") is None:
                assert command.endswith("spec.report.html")
                continue
            assert in_a_shell("ssh-keygen -q -t ed25519 -N '' -f officer", tmp_path)[0] == 0
        code, printed = in_a_fork(command.removesuffix(" --interactive"), tmp_path)
        assert code == 0, (command, printed)
    assert (tmp_path / "spec.report.html").is_file()


@pytest.mark.no_cover
@pytest.mark.process
def test_the_documentation_is_a_site(tmp_path: Path) -> None:
    """Strict: a page that is missing from the index, or a link that leads nowhere, stops it."""
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "site" / "start" / "nightly-release.html").read_text(encoding="utf-8")
    assert 'href="../reference/spec.html#files"' in page
    assert "https://fonts" not in page
    assert (tmp_path / "site" / "project" / "CONTRIBUTING.html").is_file()


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    demo = ROOT / "sqlanon" / "cli" / "demo_data"
    (tmp_path / "sqlanon-demo").mkdir()
    for name in ("patients.csv", "spec.yaml"):
        shutil.copy(demo / name, tmp_path / "sqlanon-demo")
    [program] = blocks("README.md", "python")
    ended = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def run_cells(page: str, names: dict[str, Any]) -> int:
    """Run the Python of a guide as a notebook does; how many cells end with what shows itself as a table."""
    shown = 0
    for cell in blocks(page, "python"):
        tree = ast.parse(cell)
        if isinstance(tree.body[-1], ast.Expr):
            tree.body[-1] = ast.Assign([ast.Name("_", ast.Store())], tree.body[-1].value, lineno=0)
        names["_"] = None
        exec(compile(ast.fix_missing_locations(tree), page, "exec"), names)  # noqa: S102 (cells are there to be run)
        shown += hasattr(names["_"], "_repr_html_") and "caption" in names["_"]._repr_html_()
    return shown


def test_the_cells_of_the_notebook_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "sqlanon" / "cli" / "demo_data" / "patients.csv", tmp_path)
    assert run_cells("docs/guides/notebooks.md", {}) == 4


@pytest.mark.soak
def test_the_cells_of_the_spark_guide_run(spark_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.chdir(tmp_path)
    open_at(spark_url).close()
    session = SparkSession.builder.getOrCreate()
    [schema] = re.findall(r"\]/(test_\w+)\?", spark_url)
    session.sql(f"USE {schema}")
    try:
        assert run_cells("docs/guides/spark.md", {"spark": session}) == 1
        assert session.table("patients_released").count() >= 396
    finally:
        session.sql("USE default")


def test_the_readme_shows_the_demo_spec() -> None:
    def lines(text: str) -> list[str]:
        return [line.partition(" #")[0].rstrip() for line in text.splitlines() if not line.startswith("#")]

    [shown] = blocks("README.md", "yaml")
    assert lines(shown) == lines((ROOT / "sqlanon" / "cli" / "demo_data" / "spec.yaml").read_text(encoding="utf-8"))


def test_the_readme_names_what_there_is_on_one_screen() -> None:
    screen = text_of("README.md").partition("```")[0]
    assert len(screen.splitlines()) <= 24
    everything = [
        "DuckDB",
        "PostgreSQL",
        "Spark",
        "SQLAlchemy",
        "dbt",
        "Python",
        "k-anonymity",
        "l-diversity",
        "t-closeness",
        "k-map",
        "personalized",
        "Samarati",
        "Incognito",
        "optimal",
        "Mondrian",
        "local",
        "cell",
        "schemes",
        "risk",
        "attacks",
        "utility",
        "workloads",
        "report",
        "explore",
        "evidence",
        "recipients",
    ]
    assert [name for name in everything if name not in screen] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    section = text_of("docs/reference/cli.md").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert section, f"docs/reference/cli.md has no section '{name}'"
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.help
    assert command.short_help
    common = text_of("docs/reference/cli.md").partition("\n## ")[0]
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{name} {option.name} has no help"
            assert option.opts[0] in section + common, f"{name} {option.opts[0]} is not documented"


def test_the_public_names() -> None:
    assert sorted(sqlanon.__all__) == sorted(
        ["__version__", "apply", "audit", "errors", "init", "load_spec", "plan", "report", "run"]
    )
    for name in sqlanon.__all__:
        assert getattr(sqlanon, name) is not None
    assert f'version = "{sqlanon.__version__}"' in text_of("pyproject.toml")
    assert "nonsense" not in dir(sqlanon)
    with pytest.raises(AttributeError):
        sqlanon.nonsense  # noqa: B018 (looking is what fails)


def test_audit_is_a_function_whatever_is_imported_first() -> None:
    program = (
        "import sqlanon.pipeline; import sqlanon; from sqlanon import audit;"
        "from sqlanon.auditor import AuditResult; assert callable(sqlanon.audit) and audit is sqlanon.audit"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
