"""The promise of docs/security.md: every sentence has tests; they exist, and run on the engines that it names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"
SENTENCE = re.compile(r"^(\d+)\. \*\*(.+?)\*\*", re.MULTILINE | re.DOTALL)
HELD_BY = re.compile(r"^ +- `(tests/[\w/]+\.py)::([\w:]+)`(?: on ([\w, ]+))?$", re.MULTILINE)
WORDS = {"DuckDB": "duckdb", "PostgreSQL": "postgres", "SQLite": "sqlite", "Spark": "spark", "ClickHouse": "clickhouse"}
SHARED = (ROOT / "tests" / "conftest.py", ROOT / "tests" / "kit" / "servers.py")
"""Where the fixtures of all tests are."""


def promise() -> str:
    text, mark, _ = PAGE.read_text(encoding="utf-8").partition("## What it does not cover")
    assert mark
    return text


def sentences() -> dict[int, str]:
    """The text of each numbered sentence, with the tests below it."""
    found = list(SENTENCE.finditer(promise()))
    ends = [match.start() for match in found[1:]] + [len(promise())]
    return {
        int(match[1]): promise()[match.start() : end].partition("\n## ")[0]
        for match, end in zip(found, ends, strict=True)
    }


def named() -> list[tuple[str, str, tuple[str, ...]]]:
    """Each test that the page names: its file, its name, the engines that it is said to run on."""
    return [
        (path, name, tuple(filter(None, engines.split(", ")))) for path, name, engines in HELD_BY.findall(promise())
    ]


@cache
def definitions(path: Path) -> dict[str, ast.stmt]:
    """What a module defines: functions, classes, methods as `Class::method`, and constants."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{item.name}": item for item in node.body if isinstance(item, ast.FunctionDef)}
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return found


def mentioned(node: ast.AST) -> Iterator[str]:
    """The names and texts in a definition."""
    for part in ast.walk(node):
        match part:
            case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.Constant(value=str(text)):
                yield text


def asked_for(node: ast.stmt) -> Iterator[str]:
    """The fixtures that a function asks for, and the constants that its parameters come from."""
    if isinstance(node, ast.FunctionDef):
        yield from (argument.arg for argument in node.args.args)
        yield from (name for decorator in node.decorator_list for name in mentioned(decorator))


def reached(path: Path, name: str) -> set[str]:
    """All that a test, its fixtures and their parameters mention: of its module, its conftest files or all tests."""
    own = definitions(path)
    conftests = [folder / "conftest.py" for folder in path.parents if (folder / "conftest.py").exists()]
    known = {key: node for file in (*SHARED, *reversed(conftests)) for key, node in definitions(file).items()} | own
    words: set[str] = set()
    done: set[str] = set()
    waiting = [name]
    while waiting:
        key = waiting.pop()
        node = own.get(f"{name.partition('::')[0]}::{key}") or known.get(key)
        if node is None or key in done:
            continue
        done.add(key)
        words |= set(mentioned(node))
        waiting += asked_for(node)
    return words


def engines_of(path: Path, name: str) -> set[str]:
    """The engines that a test mentions; what mentions none runs on DuckDB, the default."""
    words = " ".join(reached(path, name)).lower()
    found = {engine for engine, word in WORDS.items() if word in words}
    return found or {"DuckDB"}


def test_sentences_are_numbered_and_each_has_a_test() -> None:
    found = sentences()
    assert list(found) == list(range(1, len(found) + 1))
    assert len(found) >= 10
    without = [number for number, text in found.items() if not HELD_BY.search(text)]
    assert not without, without


def test_every_line_below_a_sentence_names_a_test() -> None:
    lines = [line for line in promise().splitlines() if re.match(r" +- ", line)]
    assert len(lines) == len(named())


@pytest.mark.parametrize(
    ("path", "name", "engines"), named(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_test_exists_and_runs_on_these_engines(path: str, name: str, engines: tuple[str, ...]) -> None:
    file = ROOT / path
    assert file.exists(), path
    assert name.rpartition("::")[2].startswith("test_")
    assert isinstance(definitions(file).get(name), ast.FunctionDef), f"{path} has no {name}"
    for engine in engines:
        assert engine in WORDS, engine
        assert engine in engines_of(file, name), f"{name} does not run on {engine}"


def test_every_engine_holds_some_of_it() -> None:
    held = {engine for _, _, engines in named() for engine in engines}
    assert held == set(WORDS)


def test_a_test_that_is_gone_or_runs_elsewhere_is_seen() -> None:
    assert "test_never_written" not in definitions(ROOT / "tests" / "cli" / "test_words.py")
    private = ROOT / "tests" / "engines" / "test_private.py"
    assert engines_of(private, "test_default_privileges_open_no_scratch_table") == {"PostgreSQL"}
    assert engines_of(ROOT / "tests" / "cli" / "test_words.py", "test_an_empty_table_satisfies_nothing") == {
        "DuckDB",
        "PostgreSQL",
    }


def test_what_is_not_covered_is_said() -> None:
    rest = PAGE.read_text(encoding="utf-8").partition("## What it does not cover")[2]
    for words in ("series of releases", "knows how it was made", "respondent", "accepted"):
        assert words in rest
