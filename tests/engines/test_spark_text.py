"""What Spark asks of a statement's text: row numbers with an order, WITH clauses where they belong."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from sqlanon.auditor.statements.columns import cells
from sqlanon.auditor.statements.values import CountedSide
from sqlanon.engines.spark.traits import SPARK
from sqlanon.sql.build import count, subquery
from sqlanon.sql.relations import column


def test_a_row_number_has_an_order() -> None:
    statement = exp.select(exp.Window(this=exp.RowNumber())).from_("people")
    assert SPARK.render(statement) == "SELECT ROW_NUMBER() OVER (ORDER BY 1 NULLS LAST) FROM people"
    assert "ORDER" not in statement.sql("spark"), "the statement itself stays as it is"


@pytest.mark.parametrize("person", [None, column("person")], ids=["rows", "persons"])
def test_the_audit_of_sorted_values_numbers_rows_in_an_order(person: exp.Expression | None) -> None:
    side = CountedSide(exp.to_table("people"), column("disease"), person)
    steps = [SPARK.render(query) for query in cells(side, [column("zip")]).values()]
    numbered = [text for text in steps if "ROW_NUMBER()" in text]
    assert numbered
    assert not any("ROW_NUMBER() OVER ()" in text for text in numbered)


def test_two_with_clauses_of_one_name_do_not_clash() -> None:
    """A view that is audited with its persons is read twice by one statement."""
    view = parse_one("with classes as (select zip from people) select zip from classes")
    assert isinstance(view, exp.Select)
    counted = exp.select(count()).from_(subquery(view.copy(), "audited"))
    both = exp.select("zip", exp.Subquery(this=counted)).from_(subquery(view, "audited"))
    text = SPARK.render(both)
    assert not text.startswith("WITH")
    assert text.count("(WITH classes AS (") == 2
