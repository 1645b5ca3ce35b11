"""The queries of the generic tests, as dbt compiled them, against brute force on small random tables."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Protocol

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from tests.dbt.conftest import Story
from tests.kit.examples import share
from tests.kit.oracle import Asked, DistinctL, EntropyL, K, RecursiveL, Table, TEqual, TOrdered

pytestmark = pytest.mark.dbt

COLUMNS = ("group", "age", "illness", "stage", "person")
DEFINITION = '("group" text, age integer, illness text, stage integer, person text)'
DECLARED = (None, "c", "b", "it's")

ASKED = {
    "case_k": Asked(K(3), ("group", "age")),
    "case_k_where": Asked(K(2), ("group", "age")),
    "case_k_persons": Asked(K(2), ("group",)),
    "case_l_distinct": Asked(DistinctL(2), ("group",), "illness"),
    "case_l_entropy": Asked(EntropyL(2), ("group",), "illness"),
    "case_l_recursive": Asked(RecursiveL(Fraction(3, 2), 2), ("group",), "illness"),
    "case_t_equal": Asked(TEqual(Fraction(1, 4)), ("group", "age"), "illness"),
    "case_t_reference": Asked(TEqual(Fraction(1, 2)), ("group",), "illness"),
    "case_t_ordered": Asked(TOrdered(Fraction(1, 4)), ("group",), "stage"),
    "case_t_declared": Asked(TOrdered(Fraction(1, 4), DECLARED), ("group",), "illness"),
}
AGAINST_REFERENCE = ("case_t_reference", "case_t_ordered")

ROW = st.fixed_dictionaries(
    {
        "group": st.sampled_from((None, "", "a", "A", "a ")),
        "age": st.sampled_from((None, 1, 2)),
        "illness": st.sampled_from(DECLARED),
        "stage": st.sampled_from((None, -1, 2, 10)),
        "person": st.sampled_from((None, "p", "q", "r")),
    }
)


class Connection(Protocol):
    def execute(self, query: Any, params: Any = ..., /) -> Any: ...


@pytest.fixture(scope="module")
def connection(story: Story, adapter: str, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A database in which the names of the compiled queries mean tables of our own."""
    if adapter == "duckdb":
        with duckdb.connect() as memory:
            memory.execute("ATTACH ':memory:' AS clinic")
            yield memory
        return
    with psycopg.connect(request.getfixturevalue("postgres_server")) as transaction:
        transaction.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(story.schema)))
        yield transaction
        transaction.rollback()


def filled(connection: Connection, name: str, rows: list[dict[str, Any]], adapter: str) -> None:
    hole = "?" if adapter == "duckdb" else "%s"
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(f"CREATE TABLE {name} {DEFINITION}")
    if rows:
        holes = ", ".join([f"({', '.join([hole] * len(COLUMNS))})"] * len(rows))
        given = [row[column] for row in rows for column in COLUMNS]
        connection.execute(f"INSERT INTO {name} VALUES {holes}", given)


def expected(name: str, rows: list[dict[str, Any]], source: list[dict[str, Any]]) -> tuple[int, ...] | None:
    """Rows, classes, failing classes, rows at risk; None where the test passes."""
    asked = ASKED[name]
    if name == "case_k_where":
        rows = [row for row in rows if (row["age"] or 0) > 1]
    table = Table(
        rows,
        respondent="person" if name == "case_k_persons" else None,
        source=source if name in AGAINST_REFERENCE else None,
    )
    classes, (failing, at_risk) = len(table.verdicts(asked)), table.failing(asked)
    return (len(rows), classes, failing, at_risk) if failing or not rows else None


@given(source=st.lists(ROW, max_size=14), kept=st.integers(0, 14))
@settings(max_examples=share(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_compiled_queries_count_as_brute_force_does(
    story: Story, connection: Connection, adapter: str, source: list[dict[str, Any]], kept: int
) -> None:
    rows = source[:kept]
    place = f'"clinic"."{story.schema}"' if adapter == "duckdb" else f'"{story.schema}"'
    filled(connection, f"{place}.cases", rows, adapter)
    filled(connection, f"{place}.cases_reference", source, adapter)
    for name in ASKED:
        found = connection.execute(story.queries[name]).fetchall()
        counts = tuple(int(figure) for figure in found[0][:4]) if found else None
        assert counts == expected(name, rows, source), name


def test_values_without_a_place_in_the_order_fail(story: Story, connection: Connection, adapter: str) -> None:
    row = {"group": "a", "age": 1, "illness": "z", "stage": 7, "person": "p"}
    place = f'"clinic"."{story.schema}"' if adapter == "duckdb" else f'"{story.schema}"'
    filled(connection, f"{place}.cases", [row, {**row, "illness": "c"}], adapter)
    filled(connection, f"{place}.cases_reference", [{**row, "stage": 8}], adapter)
    for name in ("case_t_declared", "case_t_ordered"):
        [(*_, uncovered, violations)] = connection.execute(story.queries[name]).fetchall()
        assert uncovered == 1
        assert violations >= 1
