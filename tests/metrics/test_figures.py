"""The figures' SQL on DuckDB, against the same sums in Python."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics import METRICS
from tests.kit.examples import share
from tests.kit.fake_evaluator import Class, Table, figures
from tests.kit.search_problems import Problem, problems


def classes_table(connection: duckdb.DuckDBPyConnection, table: Table, node: Node, classes: list[Class]) -> None:
    """The relation that figures read, as an evaluator provides it."""
    columns = "".join(f", code_{i} SMALLINT, leaves_{i} BIGINT" for i in range(len(node)))
    connection.execute(f"CREATE OR REPLACE TABLE classes (n BIGINT, whole BIGINT, kept BOOLEAN{columns})")
    codes: list[dict[str, int]] = [{} for _ in node]
    for item in classes:
        row: list[object] = [item.size, item.size, item.kept]
        for i, (level, label) in enumerate(zip(node, item.values, strict=True)):
            row += [codes[i].setdefault(label, len(codes[i])), table.leaves_under(i, label, level)]
        connection.execute(f"INSERT INTO classes VALUES ({', '.join('?' * len(row))})", row)


def ask(connection: duckdb.DuckDBPyConnection, name: str, columns: int) -> dict[str, float]:
    expressions = METRICS[name].figures(columns)
    if not expressions:
        return {}
    items = ", ".join(expression.sql("duckdb") for expression in expressions.values())
    row = connection.execute(f"SELECT count(*), {items} FROM classes").fetchone()
    assert row is not None
    return {figure: float(value) for figure, value in zip(expressions, row[1:], strict=True)}


@settings(deadline=None, max_examples=share(15), suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(columns=3))
def test_figures_are_what_they_say(problem: Problem) -> None:
    evaluator = problem.evaluator()
    with duckdb.connect() as connection:
        for node in list(evaluator.lattice)[::5]:
            classes = problem.table.classes(node, evaluator.requirement)
            classes_table(connection, problem.table, node, classes)
            expected = dict(figures(problem.table, node, classes))
            for name in METRICS:
                for figure, value in ask(connection, name, len(node)).items():
                    assert value == pytest.approx(expected[figure], rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(("name", "figure"), [("dm", "squares"), ("dm*", "squares_of_whole")])
def test_squares_do_not_overflow(name: str, figure: str) -> None:
    with duckdb.connect() as connection:
        rows = "4000000000000::BIGINT AS n, 4000000000000::BIGINT AS whole"
        connection.execute(f"CREATE TABLE classes AS SELECT {rows}, true AS kept FROM range(3)")
        assert ask(connection, name, 0)[figure] == 3 * 4000000000000.0**2


@pytest.mark.parametrize("name", sorted(METRICS))
def test_no_classes_give_zeros(name: str) -> None:
    with duckdb.connect() as connection:
        classes_table(connection, Table((), ({"a": ("a",)},)), (0,), [])
        assert set(ask(connection, name, 1).values()) <= {0.0}


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_figures_render_in_every_dialect(dialect: str) -> None:
    for metric in METRICS.values():
        for expression in metric.figures(2).values():
            assert "classes" in expression.sql(dialect) or "(" in expression.sql(dialect)
