"""What a wrong spec is told: each problem with its line, its key and a hint, and never with its value."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sqlanon.errors import SpecError
from sqlanon.spec import load_spec
from sqlanon.spec.places import READ_ENDINGS

HEAD = "source: raw.t\ntarget: out.t\n"
COLUMNS = "columns:\n  zip: {role: quasi_identifier}\n"
PRIVACY = "privacy: {k: 2}\n"


def problems(folder: Path, text: str) -> list[str]:
    path = folder / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    assert caught.value.exit_code == 2
    assert caught.value.__context__ is None, "pydantic's exception holds the values"
    assert all("\n" not in problem for problem in caught.value.problems)
    return [problem.removeprefix(f"{path}:") for problem in caught.value.problems]


def column(text: str) -> str:
    """A spec whose fourth line is this column."""
    return HEAD + f"columns:\n  {text}\n  q: {{role: quasi_identifier}}\n" + PRIVACY


WRONG = {
    "misspelt key": (HEAD + COLUMNS + "privcy: {k: 2}\n", "5: privcy: unknown key; did you mean 'privacy'?"),
    "misspelt key inside": (
        HEAD + COLUMNS + "privacy:\n  k: 2\n  supression: {}\n",
        "7: privacy.supression: unknown key; did you mean 'suppression'?",
    ),
    "misspelt key of a builder": (
        column("a: {role: quasi_identifier, hierarchy: {interval: {width: [5]}}}"),
        "4: columns.a.hierarchy.interval.width: unknown key; did you mean 'widths'?",
    ),
    "unknown key": (
        HEAD + COLUMNS + "privacy: {k: 2}\nsearch:\n  budget: {qqqq: 1}\n",
        "7: search.budget.qqqq: unknown key; the keys here are nodes, seconds",
    ),
    "misspelt key in a list": (
        HEAD + COLUMNS + "privacy:\n  k: 2\n  t_closeness:\n    - {colum: d, t: 0.1}\n",
        "8: privacy.t_closeness[0].colum: unknown key; did you mean 'column'?",
    ),
    "missing key": (HEAD + COLUMNS, "1: privacy: this key is required"),
    "missing role": (column("a: {}"), "4: columns.a.role: this key is required"),
    "version": ("version: 2\n" + HEAD + COLUMNS + PRIVACY, "1: version: 1 is expected"),
    "role": (
        column("a: {role: quasi-identifier}"),
        (
            "4: columns.a.role: one of identifier, quasi_identifier, sensitive, insensitive is expected; "
            "did you mean 'quasi_identifier'?"
        ),
    ),
    "no quasi-identifier": (
        HEAD + "columns:\n  a: {role: sensitive}\n" + PRIVACY,
        "3: columns: at least one column needs the role quasi_identifier",
    ),
    "no columns": (HEAD + "columns: {}\n" + PRIVACY, "3: columns: must not be empty"),
    "hierarchy of an identifier": (
        column("a: {role: identifier, hierarchy: suppression}"),
        "4: columns.a.hierarchy: only a quasi_identifier or sensitive column has one, not identifier",
    ),
    "levels of a sensitive column": (
        column("a: {role: sensitive, levels: {min: 1}}"),
        "4: columns.a.levels: only a quasi_identifier has this, not sensitive",
    ),
    "levels": (
        column("a: {role: quasi_identifier, levels: {min: 2, max: 1}}"),
        "4: columns.a.levels: min must not exceed max",
    ),
    "negative level": (
        column("a: {role: quasi_identifier, levels: {min: -1}}"),
        "4: columns.a.levels.min: must be at least 0",
    ),
    "weight": (column("a: {role: quasi_identifier, weight: 0}"), "4: columns.a.weight: must be greater than 0"),
    "infinite weight": (
        column("a: {role: quasi_identifier, weight: inf}"),
        "4: columns.a.weight: a finite number is expected",
    ),
    "k=0": (HEAD + COLUMNS + "privacy:\n  k: 0\n", "6: privacy.k: must be at least 1"),
    "k in words": (HEAD + COLUMNS + "privacy:\n  k: five\n", "6: privacy.k: a whole number is expected"),
    "k=true": (HEAD + COLUMNS + "privacy:\n  k: true\n", "6: privacy.k: a number is expected, not true or false"),
    "k of 200 digits": (HEAD + COLUMNS + f"privacy:\n  k: x{'9' * 200}\n", "6: privacy.k: a whole number is expected"),
    "nothing required": (
        HEAD + COLUMNS + "privacy: {}\n",
        "5: privacy: at least one requirement must stand, for example k: 5",
    ),
    "limit": (
        HEAD + COLUMNS + "privacy:\n  k: 2\n  suppression:\n    limit: 200%\n",
        "8: privacy.suppression.limit: a limit must lie between 0% and 100%",
    ),
    "negative limit": (
        HEAD + COLUMNS + "privacy: {k: 2, suppression: {limit: -1}}\n",
        "5: privacy.suppression.limit: a limit must be at least 0 rows",
    ),
    "limit as a fraction": (
        HEAD + COLUMNS + "privacy: {k: 2, suppression: {limit: 0.02}}\n",
        "5: privacy.suppression.limit: a number of rows or a percentage like 2% is expected",
    ),
    "mode": (
        HEAD + COLUMNS + "privacy: {k: 2, suppression: {mode: blnk}}\n",
        "5: privacy.suppression.mode: one of drop, blank is expected; did you mean 'blank'?",
    ),
    "algorithm": (
        HEAD + COLUMNS + PRIVACY + "search: {algorithm: samaraty}\n",
        "is expected; did you mean 'samarati'?",
    ),
    "preference twice": (
        HEAD + COLUMNS + PRIVACY + "search:\n  prefer: [fewest_generalized, fewest_generalized]\n",
        "7: search.prefer: each preference may stand once",
    ),
    "constraint on another column": (
        HEAD + COLUMNS + PRIVACY + "search:\n  constraints:\n    before:\n      - [zip, age]\n",
        "9: search.constraints.before[0][1]: age is not a column of role quasi_identifier",
    ),
    "forbidden levels of another column": (
        HEAD + COLUMNS + PRIVACY + "search:\n  constraints: {forbidden: [{age: 1}]}\n",
        "7: search.constraints.forbidden[0].age: age is not a column of role quasi_identifier",
    ),
    "contradicting pairs": (
        HEAD
        + "columns: {a: {role: quasi_identifier}, b: {role: quasi_identifier}}\n"
        + PRIVACY
        + "search: {constraints: {before: [[a, b], [b, a]]}}\n",
        "5: search.constraints.before: the pairs contradict each other: a column would have to come before itself",
    ),
    "weight of another column": (
        HEAD + COLUMNS + PRIVACY + "search: {weights: {age: 1}}\n",
        "6: search.weights.age: age is not a column of role quasi_identifier",
    ),
    "weight twice": (
        column("a: {role: quasi_identifier, weight: 2}") + "search: {weights: {a: 1}}\n",
        "7: search.weights.a: the weight of a stands at the column already",
    ),
    "statement_seconds": (
        HEAD + COLUMNS + PRIVACY + "limits: {statement_seconds: 0}\n",
        "6: limits.statement_seconds: must be greater than 0",
    ),
    "no target": ("source: raw.t\n" + COLUMNS + PRIVACY, "1: target: this key is required"),
    "empty target": ("source: raw.t\ntarget:\n" + COLUMNS + PRIVACY, "2: target: this key is required"),
    "misspelt target": (
        "source: raw.t\ntargt: out.t\n" + COLUMNS + PRIVACY,
        "2: targt: unknown key; did you mean 'target'?",
    ),
    "target is the source": (
        'source: raw.t\ntarget: raw."t"\n' + COLUMNS + PRIVACY,
        "2: target: the target is the source; the source is only ever read, name another target",
    ),
    "target is the source file": (
        "source: data/t.csv\ntarget: {file: ./data/../data/t.csv}\n" + COLUMNS + PRIVACY,
        "2: target: the target is the source; the source is only ever read, name another target",
    ),
    "source": (
        "source: {qurey: select 1}\ntarget: b\n" + COLUMNS + PRIVACY,
        "1: source: a name, a path, or one of {table: ...}, {file: ...}, {query: ...} is expected",
    ),
    "source name": (
        "source: raw..t\ntarget: b\n" + COLUMNS + PRIVACY,
        '1: source: a name like table, schema.table or schema."my.table" is expected',
    ),
    "file of another kind": (
        "source: {file: t.xls}\ntarget: b\n" + COLUMNS + PRIVACY,
        f"1: source.file: {READ_ENDINGS} is expected",
    ),
    "target query": (
        "source: a\ntarget: {query: select 1}\n" + COLUMNS + PRIVACY,
        "2: target: a name, a path, or one of {table: ...}, {view: ...}, {file: ...} is expected",
    ),
    "connection": (
        "connection: warehouse.duckdb\n" + HEAD + COLUMNS + PRIVACY,
        "1: connection: a URL is expected, like duckdb:///warehouse.duckdb or postgresql://user@host/database",
    ),
    "sql of another column": (
        column("a: {role: quasi_identifier, hierarchy: {sql: [b, c]}}"),
        "4: columns.a.hierarchy.sql[0]: the first level must be the bare column a",
    ),
    "text": (
        column("a: {role: quasi_identifier, hierarchy: {sql: [a, 0]}}"),
        "4: columns.a.hierarchy.sql[1]: text is expected; put quotes around it",
    ),
    "empty list": (
        column("a: {role: quasi_identifier, hierarchy: {date: []}}"),
        "4: columns.a.hierarchy.date: must not be empty",
    ),
    "not a list": (
        column("a: {role: quasi_identifier, hierarchy: {date: day}}"),
        "4: columns.a.hierarchy.date: a list is expected",
    ),
    "not a mapping": (column("a: identifier"), "4: columns.a: a mapping of keys is expected"),
    "character": (
        column("a: {role: quasi_identifier, hierarchy: {mask: {length: 3, character: xx}}}"),
        "4: columns.a.hierarchy.mask.character: this many characters at most: 1",
    ),
    "empty text": (
        column('a: {role: quasi_identifier, hierarchy: {suppression: {label: ""}}}'),
        "4: columns.a.hierarchy.suppression.label: must not be empty",
    ),
    "header": (
        column("a: {role: quasi_identifier, hierarchy: {csv: {path: a.csv, header: no}}}"),
        "4: columns.a.hierarchy.csv.header: true or false is expected",
    ),
    "number": (
        column("a: {role: quasi_identifier, hierarchy: {interval: {widths: [5, ten]}}}"),
        "4: columns.a.hierarchy.interval.widths[1]: a number is expected",
    ),
    "duplicate key": (
        column("a: {role: identifier}\n  a: {role: insensitive}"),
        "4: columns.a: this key stands twice, again on line 5",
    ),
    "column with dots": (column('"a.b": {role: x}'), '4: columns."a.b".role: one of '),
    "column with a line break": (column('"a\\nb": {role: x}'), '4: columns."a?b".role: one of '),
    "tag": (
        column("a: !!python/object:os.system {role: identifier}"),
        "4: columns.a: YAML tags are not allowed here",
    ),
    "scalar tag": (column("a: {role: !secret identifier}"), "4: columns.a.role: YAML tags are not allowed here"),
    "list as a key": (column("? [a, b]\n  : 1"), "3: columns: a key must be plain text (line 4)"),
    "broken YAML": (HEAD + "columns: {\n", "not valid YAML: "),
    "two documents": (HEAD + "---\n" + HEAD, "3: not valid YAML: but found another document"),
    "control character": (HEAD + "x: \x01\n", "1: not valid YAML: a character that YAML does not allow"),
    "endless alias": ("a: &a [*a]\n", "nested too deeply"),
    "empty": ("# nothing\n", "1: the spec is empty"),
    "list": ("- a\n", "1: a mapping of keys is expected"),
    "unset variable": (
        "connection: postgresql://u:${SQLANON_TEST_UNSET}@h/d\n" + HEAD + COLUMNS + PRIVACY,
        "1: connection: environment variable SQLANON_TEST_UNSET is not set",
    ),
    "malformed variable": (
        HEAD + COLUMNS + PRIVACY + "scratch: ${x y}\n",
        "6: scratch: a variable is written ${NAME}; write $${ for the text ${ itself",
    ),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_messages(tmp_path: Path, text: str, expected: str) -> None:
    found = problems(tmp_path, text)
    assert any(expected in problem for problem in found), found
    if expected[0].isdigit() and expected in found:
        assert found == [expected]


def test_every_problem_is_reported_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = HEAD + "columns:\n  a: {rol: identifier}\n  b: {role: secret}\nprivacy:\n  k: 0\nsearch: {budget: 3}\n"
    found = problems(tmp_path, text)
    assert [problem.split(": ")[1] for problem in found] == [
        "columns.a.rol",
        "columns.b.role",
        "privacy.k",
        "search.budget",
    ]


def test_several_findings_across_keys_are_reported_together(tmp_path: Path) -> None:
    text = "source: t\ntarget: t\ncolumns: {a: {role: insensitive}}\n" + PRIVACY + "search: {weights: {a: 2}}\n"
    assert [problem.split(": ")[1] for problem in problems(tmp_path, text)] == ["target", "columns", "search.weights.a"]


def _unreadable(path: Path) -> None:
    path.mkdir()


def _binary(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file"),
        (_unreadable, "the spec cannot be read"),
        (_binary, "the spec is not UTF-8 text"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "spec.yaml"
    make(path)
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    assert str(caught.value) == f"{path}: {message}"


def test_an_alias_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlanon.spec.load.MAXIMUM_NODES", 50)
    bomb = "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n"
    assert any("nested too deeply" in problem for problem in problems(tmp_path, bomb))


def test_the_environment_is_left_alone() -> None:
    assert "SQLANON_TEST_UNSET" not in os.environ
