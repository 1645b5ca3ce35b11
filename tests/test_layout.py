from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from sqlanon import errors
from sqlanon.cli.main import COMMANDS

PACKAGE = Path(errors.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MAKERS_OF_SQL = ("sql", "engines")
LONGEST_MODULE = 500

# The numbers of the house. They may fall; a change that lets one rise puts something in the wrong room.
MOST_UNITS = 22
MOST_FLOORS = 16
MOST_MODULES = 350
LEAST_MEDIAN = 180
MOST_SINGLE_IMPORTERS = 50
MOST_PARAMETERS = 7

REGISTRIES = frozenset(
    {
        "sqlanon.engines",
        "sqlanon.evaluation.requirements",
        "sqlanon.hierarchies",
        "sqlanon.metrics",
        "sqlanon.recoding.registry",
        "sqlanon.search",
    }
)
"""Modules that list others by a row each: being listed there makes nothing a part of the list."""

TWO_SIDES_OF_A_SEAM = frozenset(
    {
        "BetaLikeness",
        "Budget",
        "DeltaDisclosure",
        "DeltaPresence",
        "Located",
        "Population",
        "Recorder",
        "Table",
    }
)
"""Class names that two rooms share because they mean the same idea: what the spec says and what is done with it."""

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


@cache
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


def test_every_module_says_what_it_is_for() -> None:
    silent = [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))]
    assert not silent, "a module opens with a docstring"


def test_no_module_is_too_long() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert not {name: length for name, length in lengths.items() if length > LONGEST_MODULE}, "one purpose each"


def test_only_the_kernel_and_engines_assemble_sql() -> None:
    found = {
        name_of(path): lines
        for path in outside(*MAKERS_OF_SQL)
        if (lines := [line for line, text in assembled_strings(tree_of(path)) if is_sql(text)])
    }
    assert not found, "SQL put together from strings: build it with `sql` in a `statements.py`"


def test_only_engines_know_engines_by_name() -> None:
    found = {
        name_of(path): lines
        for path in outside("engines")
        if (
            lines := [
                node.lineno
                for node in ast.walk(tree_of(path))
                if isinstance(node, ast.expr | ast.pattern) and asks_for_engine(node)
            ]
        )
    }
    assert not found, "an engine's name is asked for: ask for a capability"


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
    assert (PACKAGE / "cli" / "demo_data" / "spec.yaml").exists()


# -- the house ---------------------------------------------------------------------------------------------------------


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


BY_NAME = {dotted(path): path for path in MODULES}


def imports_of(path: Path) -> set[str]:
    """The modules of the package that a module imports, for types too."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            inner = {f"{node.module}.{name.name}" for name in node.names}
            found |= (inner & BY_NAME.keys()) or ({node.module} & BY_NAME.keys())
    return found - {dotted(path)}


@cache
def imports() -> dict[str, set[str]]:
    return {name: imports_of(path) for name, path in BY_NAME.items()}


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Some modules that import one another in a circle; empty where there are none."""
    left = {name: set(targets) for name, targets in graph.items()}
    while left:
        used = set().union(*left.values())
        free = {name for name, targets in left.items() if not targets & left.keys() or name not in used}
        if not free:
            break
        left = {name: targets for name, targets in left.items() if name not in free}
    return sorted(left)


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                yield name_of(path), node


def is_a_front(where: str, function: ast.FunctionDef) -> bool:
    """Commands and the functions of the API take what users may say, each thing by its own name."""
    commands = any("click.command" in ast.unparse(decorator) for decorator in function.decorator_list)
    return commands or where == "sqlanon/api/__init__.py"


def test_the_top_of_the_package_has_few_rooms() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES}
    assert len({room for room in rooms if not room.startswith("__")}) <= MOST_UNITS


def test_the_house_has_few_floors() -> None:
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    [layers] = [item for item in settings["tool"]["importlinter"]["contracts"] if item["id"] == "layers"]
    assert len(layers["layers"]) <= MOST_FLOORS


def test_modules_are_few_and_none_is_part_of_its_only_user() -> None:
    importers = defaultdict(set, {f"sqlanon.cli.{command}": {"sqlanon.cli.main"} for command in COMMANDS})
    for name, targets in imports().items():
        for target in targets:
            importers[target].add(name)
    single = sorted(
        name for name, users in importers.items() if len(users) == 1 and not users & {*REGISTRIES, "sqlanon.cli.main"}
    )
    assert len(single) < MOST_SINGLE_IMPORTERS, f"merge some of these into the module that imports them: {single}"
    assert len(MODULES) <= MOST_MODULES, "more files: where none can be merged, raise MOST_MODULES by the new ones"


def test_most_modules_are_deep() -> None:
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES if path.name != "__init__.py"]
    assert median(lengths) >= LEAST_MEDIAN, "merge small modules of one purpose"


def test_no_modules_import_one_another() -> None:
    graph = {name: targets - {"sqlanon"} for name, targets in imports().items()}
    assert cycle_in(graph) == []


def test_a_cycle_is_seen() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert cycle_in({"a": {"b"}, "b": set()}) == []


# -- recodings are asked, never inspected: no other room looks at which kind one is, or into its details ---------------

KINDS_OF_RECODINGS = {"Assigned", "Cuts", "FullDomain", "AssignedRelease", "LevelsRelease", "Release"}


def names_in(node: ast.expr) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def inspects_a_recoding(node: ast.AST) -> bool:
    """Whether an expression tests the kind of a recoding, or reads its details."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            return bool(names_in(kinds) & KINDS_OF_RECODINGS)
        case ast.Attribute(attr="get", value=ast.Attribute(attr="details")):
            return True
        case _:
            return False


def test_only_the_recodings_know_their_kinds() -> None:
    found = {name_of(path) for path in outside("recoding") if any(map(inspects_a_recoding, ast.walk(tree_of(path))))}
    assert found == set()


# -- classes and functions ---------------------------------------------------------------------------------------------


def test_no_two_classes_share_a_name() -> None:
    homes = defaultdict(set)
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(name_of(path))
    shared = {name: sorted(where) for name, where in homes.items() if len(where) > 1}
    mistaken = {name: where for name, where in shared.items() if name not in TWO_SIDES_OF_A_SEAM}
    assert not mistaken, "give one of each another name"


def test_no_function_takes_too_many_parameters() -> None:
    found = []
    for where, function in functions():
        arguments = function.args
        names = [item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        count = len([name for name in names if name not in ("self", "cls")])
        if count > MOST_PARAMETERS and not is_a_front(where, function):
            found.append(f"{where}: {function.name} takes {count}")
    assert not found, found
