from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlanon import errors

PACKAGE = Path(errors.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MAKERS_OF_SQL = ("sqlgen", "engines")
LONGEST_MODULE = 400

ENGINE_NAMES = {
    "duckdb",
    "postgres",
    "postgresql",
    "spark",
    "databricks",
    "sqlalchemy",
    "snowflake",
    "bigquery",
    "mysql",
}
ENGINE_CLASS = re.compile(r"(DuckDB|Duckdb|Postgres|Spark|SQLAlchemy|SqlAlchemy)\w*$")

# What makes text SQL and not a sentence: a statement's opening words, or a keyword in capitals.
STATEMENT = re.compile(
    r"""\s*(/\*.*?\*/\s*)?(
        select\b.*\bfrom\b | insert\s+into\b | update\s+\S+\s+set\b | delete\s+from\b | merge\s+into\b
      | create\s+(or\s+replace\s+)?(temp|temporary|unlogged|table|view|schema|index|materialized)\b
      | (drop|alter)\s+(table|view|schema|index|column)\b | truncate\s+table\b | with\s+\S+\s+as\s*\(
      | copy\s+\S+\s+(from|to)\b | grant\s+\S+\s+on\b | comment\s+on\b | explain\s+select\b
    )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
CAPITALS = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|CREATE|DROP|ALTER|TRUNCATE|WITH|FROM|WHERE|GROUP BY|ORDER BY|HAVING"
    r"|JOIN|LEFT JOIN|UNION|COPY|GRANT|REVOKE|SET|BEGIN|COMMIT|ROLLBACK|PRAGMA|ATTACH)\b"
)


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE.parent))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def outside(*rooms: str) -> list[Path]:
    return [path for path in MODULES if path.relative_to(PACKAGE).parts[0] not in rooms]


def is_sql(text: str) -> bool:
    return bool(STATEMENT.match(text) or CAPITALS.match(text))


def assembled_strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts that are put together at run time: f-strings, `%`, `+`, `.format()`, `.join()`; holes show as `?`."""
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=parts) if any(isinstance(part, ast.FormattedValue) for part in parts):
                yield node.lineno, "".join(constant(part) or "?" for part in parts)
            case ast.BinOp(left=left, op=ast.Mod() | ast.Add()):
                yield node.lineno, constant(left)
            case ast.Call(func=ast.Attribute(value=text, attr="format" | "format_map" | "join")):
                yield node.lineno, constant(text)


def constant(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def compared_constants(node: ast.AST) -> Iterator[str]:
    """The texts that an expression compares something with."""
    match node:
        case ast.Compare(left=left, comparators=comparators):
            for side in (left, *comparators):
                yield from constants_of(side)
        case ast.MatchValue(value=value):
            yield constant(value)
        case ast.Call(func=ast.Attribute(attr="startswith" | "endswith"), args=[prefix]):
            yield from constants_of(prefix)


def constants_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from map(constant, node.elts)
    else:
        yield constant(node)


def asks_for_engine(node: ast.AST) -> bool:
    named = any(text.lower().rstrip(":/") in ENGINE_NAMES for text in compared_constants(node))
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
            return any(
                isinstance(part, ast.Name) and ENGINE_CLASS.fullmatch(part.id) is not None for part in ast.walk(classes)
            )
    return named


def test_errors_exports_every_exception() -> None:
    exceptions = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)
    }
    assert set(errors.__all__) == exceptions
    assert errors.__all__ == sorted(errors.__all__)


def test_errors_tree_in_the_docstring_is_the_tree() -> None:
    drawn = dict(re.findall(r"(?:├──|└──) (\w+) +(\d)", errors.__doc__ or ""))
    actual = {name: str(getattr(errors, name).exit_code) for name in errors.__all__ if name != "SqlanonError"}
    assert drawn == actual


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    tree = tree_of(path)
    assert not tree.body or ast.get_docstring(tree), "a module opens with a docstring"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_is_too_long(path: Path) -> None:
    length = len(path.read_text(encoding="utf-8").splitlines())
    assert length <= LONGEST_MODULE, "split it: a module has one purpose"


@pytest.mark.parametrize("path", outside(*MAKERS_OF_SQL), ids=name_of)
def test_only_sqlgen_and_engines_assemble_sql(path: Path) -> None:
    found = [line for line, text in assembled_strings(tree_of(path)) if is_sql(text)]
    assert not found, f"SQL put together from strings in lines {found}: build it in sqlgen"


@pytest.mark.parametrize("path", outside("engines"), ids=name_of)
def test_only_engines_know_engines_by_name(path: Path) -> None:
    found = [
        node.lineno
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.expr | ast.pattern) and asks_for_engine(node)
    ]
    assert not found, f"an engine's name is asked for in lines {found}: ask for a capability"


@pytest.mark.parametrize(
    "source",
    [
        "f'select {column} from {table}'",
        "f'SELECT {column}'",
        "'DROP TABLE %s' % name",
        "'insert into {} values (1)'.format(name)",
        "'create table ' + name",
        "f'/* tag */ delete from {table}'",
        "' UNION ALL '.join(queries)",
    ],
)
def test_the_scan_sees_sql(source: str) -> None:
    assert any(is_sql(text) for _, text in assembled_strings(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "f'select a column of {table}'",
        "f'with {count} rows'",
        "f'update the spec: {key}'",
        "f'{table} has no column'",
        "'SELECT 1'",
    ],
)
def test_the_scan_passes_sentences(source: str) -> None:
    assert not any(is_sql(text) for _, text in assembled_strings(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "engine.name == 'duckdb'",
        "dialect in ('postgres', 'spark')",
        "url.startswith('postgresql://')",
        "isinstance(engine, DuckDBEngine)",
    ],
)
def test_the_scan_sees_engine_names(source: str) -> None:
    assert any(asks_for_engine(node) for node in ast.walk(ast.parse(source)))


def test_the_package_is_typed_and_carries_its_demo() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "demo" / "spec.yaml").exists()
