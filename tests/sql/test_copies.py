"""Copies of syntax trees: equal to what was copied, down to every attribute, and apart from it.

Tests run on the compiled sqlglot, which copies by itself; what these ask is asked of the plain one as well.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp, parse, parse_one

from sqlanon.sql.copies import ATTRIBUTES, copied, without_places
from tests.kit.commands import patients, rows_of, spec_values, tables, write_spec
from tests.kit.golden import GOLDEN

ROOT = Path(__file__).parents[2]

TEXT = """
/* a comment */
select a, sum(b) over (partition by c order by d) as e, case when f > 1 then 'x' else cast(g as text) end
from h left join i on h.j = i.j where k in (1, 2, null) group by a having count(*) > :hole order by a desc nulls last
"""


def nodes(tree: exp.Expr) -> Iterator[tuple[Any, ...]]:
    """Every node with where it stands and what it carries."""
    for node in tree.walk():
        parent = None if node is tree or node.parent is None else type(node.parent)
        place = (None, None) if node is tree else (node.arg_key, node.index)
        plain = {key: value for key, value in node.args.items() if not isinstance(value, exp.Expr | list)}
        yield type(node), list(node.args), plain, parent, place, node.comments, node._meta


def test_a_copy_is_the_same_tree() -> None:
    script = (GOLDEN / "duckdb" / "models.sql").read_text(encoding="utf-8")
    for tree in [parse_one(TEXT), *parse(script, dialect="duckdb")]:
        assert tree is not None
        twin = tree.copy()
        assert list(nodes(twin)) == list(nodes(tree))
        assert twin == tree
        assert twin.sql("postgres") == tree.sql("postgres")
        assert not {id(node) for node in twin.walk()} & {id(node) for node in tree.walk()}


def test_a_copy_of_a_part_stands_alone() -> None:
    tree = parse_one(TEXT)
    part = tree.find(exp.Case)
    assert part is not None
    twin = part.copy()
    assert twin.parent is None
    literal = twin.find(exp.Literal)
    assert literal is not None
    literal.replace(exp.Literal.number(7))
    assert "7" in twin.sql()
    assert "7" not in tree.sql()


def test_lists_comments_and_types_are_apart() -> None:
    tree = parse_one("select a -- about a")
    [column] = tree.expressions
    column.type = "int"
    column.meta["mark"] = 1
    twin = tree.copy()
    twin.expressions[0].comments.append("more")
    twin.expressions[0].meta["mark"] = 2
    twin.expressions[0].type.set("nullable", True)
    twin.append("expressions", exp.column("b"))
    assert tree.expressions == [column]
    assert column.comments == [" about a"]
    assert column.meta["mark"] == 1
    assert column.type == exp.DataType.build("int")


def test_a_node_that_several_trees_share_has_a_parent_in_the_copy() -> None:
    shared = exp.column("a")
    tree = exp.And(this=shared, expression=shared).copy()
    assert tree.this is not tree.expression
    assert tree.this.parent is tree
    assert tree.expression.arg_key == "expression"


def test_templates_forget_their_places() -> None:
    tree = parse_one(TEXT)
    assert any(node._meta for node in tree.walk())
    text = tree.sql("duckdb", comments=False)
    assert not any(node._meta or node.comments for node in without_places(tree).walk())
    assert tree.sql("duckdb") == text


OF_TREES = (
    test_a_copy_is_the_same_tree,
    test_a_copy_of_a_part_stands_alone,
    test_lists_comments_and_types_are_apart,
    test_a_node_that_several_trees_share_has_a_parent_in_the_copy,
    test_templates_forget_their_places,
)


def nodes_consist_of_what_is_copied() -> None:
    assert exp.Expression.__slots__ == ATTRIBUTES
    assert exp.Expression.copy is copied, "sqlglot has changed: see sqlanon/sql/copies.py"


@pytest.mark.process
@pytest.mark.reopened
def test_plain_sqlglot_copies_and_releases_as_the_compiled_does(duckdb_url: str, tmp_path: Path) -> None:
    patients(duckdb_url)
    spec = write_spec(tmp_path / "spec.yaml", spec_values(duckdb_url))
    command = [sys.executable, "-m", "tests.kit.plain_sqlglot", str(spec)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "patients_release" in tables(duckdb_url)
    assert len(rows_of(duckdb_url, "patients_release")) >= 8
