"""What publish executes to stage, audit and swap a release is what its script prints, but for names of scratch tables.

The audit's questions are the same rows: an engine asks for more figures of them, the script asserts those that decide.
"""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from sqlanon import pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database

COLUMNS: dict[str, Any] = {
    "zip": {
        "role": "quasi_identifier",
        "hierarchy": {"mask": {"length": 5, "steps": [1, 5]}},
        "levels": {"min": 1, "max": 1},
    },
    "age": {
        "role": "quasi_identifier",
        "hierarchy": {"interval": {"widths": [10, 50]}},
        "levels": {"min": 1, "max": 1},
    },
    "sex": {"role": "quasi_identifier", "levels": {"min": 1, "max": 1}},
    "disease": {"role": "sensitive"},
}


@pytest.fixture
def database(engine_url: str) -> Database:
    """People, and a release of an earlier day to be replaced."""
    found = Database(engine_url)
    types = {"person": "INT", "zip": "TEXT", "age": "INT", "sex": "TEXT", "disease": "TEXT"}
    rows = [(place % 9, f"9413{place % 2}", 20 + place % 4, "fm"[place % 2], "flu") for place in range(24)]
    found.create("people", types, rows)
    return found


def spec_of(database: Database, **changes: Any) -> Spec:
    columns = {"person": {"role": "identifier"}, **COLUMNS}
    values = {"connection": database.url, "source": "people", "target": "released", "columns": columns}
    return spec_from_dict({**values, "privacy": {"k": 2}, **changes})


def tree(statement: exp.Expr) -> exp.Expr:
    """A statement without quotes, and with scratch tables called after what they are for."""
    found = statement.copy()
    for table in list(found.find_all(exp.Table)):
        if table.name.startswith("sqlanon_"):
            table.this.set("this", f"scratch_{table.alias}")
    for name in found.find_all(exp.Identifier):
        name.set("quoted", False)
    return found


def executed(spec: Spec, dialect: str) -> dict[str, list[exp.Expr]]:
    """The statements of a second publication, by their steps."""
    pipeline.run(spec)
    found: dict[str, list[exp.Expr]] = {}

    def hear(event: TraceEvent) -> None:
        # Scratch tables are taken from other roles by a statement of their own, sent with the one that makes them.
        text = event.sql.partition("; DO ")[0]
        if event.seconds is not None and event.step in STEPS:
            found.setdefault(event.step, []).append(tree(sqlglot.parse_one(text, dialect=dialect)))

    pipeline.run(spec, Options(hooks=(hear,)))
    return found


STEPS = frozenset(
    {
        "stage release",
        "stage with respondents",
        "count staged rows",
        "audit",
        "policy of labels",
        "replace",
        "stage view",
        "drop staging view",
        "publish view",
    }
)


def printed(spec: Spec, dialect: str) -> list[exp.Expr]:
    return [tree(item) for item in sqlglot.parse(pipeline.script(spec, None), dialect=dialect) if item is not None]


def dialect_of(database: Database) -> str:
    return "duckdb" if database.is_duckdb else "postgres"


def rows_of(select: exp.Expr) -> tuple[Any, ...]:
    """What a select reads, whatever it asks of it."""
    return select.args["from_"], tuple(select.args.get("joins") or ())


def asserted(script: list[exp.Expr], message: str) -> exp.Select:
    [found] = [
        item
        for item in script
        if isinstance(item, exp.Select) and any(message in text.name for text in item.find_all(exp.Literal))
    ]
    return found


@pytest.mark.one_engine
def test_the_table_that_is_staged_and_swapped(database: Database) -> None:
    spec, dialect = spec_of(database), dialect_of(database)
    ran, script = executed(spec, dialect), printed(spec, dialect)
    [staged] = ran["stage release"]
    assert staged in script
    swap = [item for item in ran["replace"] if isinstance(item, (exp.Drop, exp.Alter))]
    assert [type(item) for item in swap] == [exp.Drop, exp.Alter]
    place = script.index(swap[0])
    assert script[place : place + 2] == swap


@pytest.mark.one_engine
def test_the_questions_of_the_audit(database: Database) -> None:
    """An engine asks for sizes and labels together, of the classes; the script asks each of its own."""
    spec, dialect = spec_of(database), dialect_of(database)
    ran, script = executed(spec, dialect), printed(spec, dialect)
    assert "policy of labels" not in ran
    [together] = ran["audit"]
    grouped = together.args["from_"].this.this
    size, *keys = grouped.expressions
    asked = asserted(script, "fails its audit: k")
    alone = asked.args["from_"].this.this
    assert ([size], *rows_of(grouped)) == (alone.expressions, *rows_of(alone))
    assert grouped.args["group"] == alone.args["group"]
    choice = asked.find(exp.Case)
    assert choice is not None
    compared = list(choice.args["ifs"][0].this.flatten())
    assert {item.this for item in compared} <= set(together.expressions)
    assert len(compared) == 2

    names = {item.alias: item.find(exp.Column).this for item in keys}
    for item in list(together.find_all(exp.Column)):
        if item.table == "classes":
            item.replace(exp.Column(this=names[item.name].copy(), table=exp.to_identifier("published")))
    asked = asserted(script, " shows labels of another level")
    wrong = asked.args["from_"].this.this
    assert wrong.args["joins"] == together.args["joins"]
    conditions = [branch.this for branch in wrong.find(exp.Min).this.args["ifs"]]
    figures = together.expressions[-2 * len(conditions) :]
    counted = [branch.this for item in figures[::2] for branch in item.find(exp.Case).args["ifs"]]
    assert conditions == counted
    assert len(conditions) == 3


def test_persons_are_staged_apart_for_the_audit(database: Database) -> None:
    spec = spec_of(database, respondent="person")
    dialect = dialect_of(database)
    ran, script = executed(spec, dialect), printed(spec, dialect)
    assert all(item in script for step in ("stage with respondents", "stage release") for item in ran[step])
    [count] = ran["count staged rows"]
    assert count in [item.this for item in asserted(script, "rows were lost").find_all(exp.Subquery)]


@pytest.mark.one_engine
def test_the_view(database: Database) -> None:
    spec, dialect = spec_of(database, target={"view": "released"}), dialect_of(database)
    ran, script = executed(spec, dialect), printed(spec, dialect)
    for step in ("stage view", "drop staging view", "publish view"):
        [statement] = ran[step]
        assert statement in script, step
