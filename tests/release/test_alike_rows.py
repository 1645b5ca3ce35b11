"""Rows that look the same are counted once and published so many times: the same table, in no order of the source."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url
from sqlglot import exp

from sqlanon import pipeline
from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Session, Statement, TraceEvent
from sqlanon.errors import EngineError
from sqlanon.source.run import Options
from sqlanon.sql.relations import Query, Table, column, table_expression
from tests.kit.database import Database, changed

TYPES = {"n": "text", 'a "b.c': "integer", "select": "text", "copies": "text", "n_shown": "integer", "sure": "boolean"}
TEXTS = ("it's", "", "back\\slash", "Ünïcode", None)
ROWS: list[tuple[Any, ...]] = [
    (TEXTS[number % 5], None if number % 7 == 0 else number % 3, "same", TEXTS[number % 4], number % 2, number % 2 == 0)
    for number in range(420)
]
SPEC: dict[str, Any] = {
    "source": "people",
    "target": "released",
    "columns": {
        "n": {"role": "quasi_identifier", "levels": {"max": 0}},
        'a "b.c': {
            "role": "quasi_identifier",
            "hierarchy": {"interval": {"widths": [2]}},
            "levels": {"min": 1, "max": 1},
        },
        "select": {"role": "quasi_identifier", "levels": {"min": 1}},
        "copies": {"role": "insensitive"},
        "n_shown": {"role": "insensitive"},
        "sure": {"role": "insensitive"},
    },
    "privacy": {"k": 15, "suppression": {"limit": "50%"}},
}


KINDS = ("nestloop", "mergejoin", "hashjoin")


def steps_of(database: Database, folder: Path, **changes: Any) -> list[str]:
    """The steps of a run, each as often as it asked the database something."""
    found: list[str] = []

    def hear(event: TraceEvent) -> None:
        if event.seconds is not None:
            found.append(event.step)

    pipeline.run(changed(SPEC, folder, connection=database.url, **changes), Options(hooks=(hear,)))
    return found


@pytest.mark.parametrize("mode", ["drop", "blank"])
def test_the_release_is_that_of_every_row_by_itself(engine_url: str, tmp_path: Path, mode: str) -> None:
    """Names that our own tables use, names in need of quotes, texts of all kinds and NULL."""
    database = Database(engine_url)
    database.create("people", {name.replace('"', '""'): kind for name, kind in TYPES.items()}, ROWS)
    steps = steps_of(database, tmp_path, privacy={"k": 15, "suppression": {"limit": "50%", "mode": mode}})
    assert "count rows" in steps[steps.index("begin") :], "rows were not counted first"
    labels = {None: None, 0: "[0, 2)", 1: "[0, 2)", 2: "[2, 4)"}
    sizes = Counter((text, labels[number]) for text, number, *_ in ROWS)
    assert min(sizes.values()) < 15 <= max(sizes.values())
    expected: Counter[tuple[Any, ...]] = Counter()
    for text, number, _, *others in ROWS:
        if sizes[text, labels[number]] >= 15:
            expected[text, labels[number], "*", *others] += 1
        elif mode == "blank":
            expected["*", "*", "*", *others] += 1
    assert database.counted("released") == expected
    assert database.leftovers() == []


def test_equal_rows_stand_together_and_others_in_a_random_order(engine_url: str, tmp_path: Path) -> None:
    database = Database(engine_url)
    rows = [("same", 1, "same", "same", number // 3, True) for number in range(900)]
    database.create("people", {name.replace('"', '""'): kind for name, kind in TYPES.items()}, rows)
    steps_of(database, tmp_path)
    order = [(place, int(shown)) for place, (shown,) in enumerate(database.rows("released", "n_shown"))]
    runs = [shown for shown, _ in groupby(shown for _, shown in order)]
    assert sorted(runs) == list(range(300))
    mean = 299 / 2
    both = sum((place - mean) * (shown - mean) for place, shown in enumerate(runs))
    # By chance beyond 0.3 once in ten million runs.
    assert abs(both / sum((place - mean) ** 2 for place in range(300))) < 0.3


@pytest.mark.parametrize("role", ["quasi_identifier", "insensitive"])
def test_texts_that_a_collation_calls_equal_stay_apart(duckdb_url: str, tmp_path: Path, role: str) -> None:
    database = Database(duckdb_url)
    database.run("CREATE TABLE people (zip TEXT, word TEXT COLLATE NOCASE)")
    database.run("INSERT INTO people SELECT 'z', unnest(['a', 'A', 'b', 'B']) FROM range(40)")
    columns = {
        "zip": {"role": "quasi_identifier"},
        "word": {"role": role, **({"levels": {"max": 0}} if role == "quasi_identifier" else {})},
    }
    steps = steps_of(database, tmp_path, columns=columns)
    assert "count rows" in steps[steps.index("begin") :]
    assert (
        sorted(word for (word,) in database.rows("released", "word"))
        == ["A"] * 40 + ["B"] * 40 + ["a"] * 40 + ["b"] * 40
    )


def test_values_that_look_different_are_published_one_by_one(engine_url: str, tmp_path: Path) -> None:
    """0.0 and -0.0 are equal: whoever counted them as one would change what is released as it is."""
    database = Database(engine_url)
    database.run("CREATE TABLE people (zip TEXT, cost DOUBLE PRECISION)")
    database.run("INSERT INTO people VALUES " + ", ".join(f"('z', '{'-' * (place % 2)}0.0')" for place in range(40)))
    columns = {"zip": {"role": "quasi_identifier"}, "cost": {"role": "insensitive"}}
    steps = steps_of(database, tmp_path, columns=columns)
    assert "count rows" not in steps[steps.index("begin") : steps.index("stage release")]
    assert sorted(str(cost) for (cost,) in database.rows("released", "cost")) == ["-0.0"] * 20 + ["0.0"] * 20


def test_which_columns_postgresql_tells_apart(postgres_url: str) -> None:
    """Text of the server's own types; a query and a view of an expression are read the way of the catalog."""
    database = Database(postgres_url)
    database.run('CREATE TABLE people ("a ""b.c" TEXT, word VARCHAR(9), code CHAR(3), age INT)')
    database.run("CREATE VIEW shown AS SELECT word, upper(word) AS loud, age FROM people")
    engine = open_engine(postgres_url, Session(), Path())
    try:
        assert engine.told_apart(Table(("people",))) == {'a "b.c', "word"}
        assert engine.told_apart(Table(("shown",))) == {"word", "loud"}
        assert engine.told_apart(Query(exp.select(column("word")).from_(table_expression(Table(("people",)))))) == set()
    finally:
        engine.close()


def test_a_hash_table_may_take_more_than_a_sort(postgres_url: str) -> None:
    """A session that may take more already keeps what it has."""
    setting = exp.select(exp.func("current_setting", exp.Literal.string("hash_mem_multiplier")))
    found = []
    for options in ("-cwork_mem=4MB -chash_mem_multiplier=2", "-cwork_mem=1GB -chash_mem_multiplier=3"):
        url = make_url(postgres_url)
        given = {**url.query, "options": f"{url.query['options']} {options}"}
        engine = open_engine(url.set(query=given).render_as_string(hide_password=False), Session(), Path())
        try:
            found += [float(value) for (value,) in engine.query(Statement("session", setting))]
        finally:
            engine.close()
    assert found == [64, 3]


def test_workers_group_together_unless_somebody_has_set_their_costs(postgres_url: str) -> None:
    setting = exp.select(exp.func("current_setting", exp.Literal.string("parallel_tuple_cost")))
    found = []
    for options in ("", "-cparallel_tuple_cost=0.3"):
        url = make_url(postgres_url)
        given = {**url.query, "options": f"{url.query['options']} {options}"}
        engine = open_engine(url.set(query=given).render_as_string(hide_password=False), Session(), Path())
        try:
            found += [float(value) for (value,) in engine.query(Statement("session", setting))]
        finally:
            engine.close()
    assert found == [0.01, 0.3]


def test_a_statement_that_fails_among_hash_joins_tells_its_own_error(postgres_url: str) -> None:
    """Within a transaction: the settings come back with it, and what follows joins as ever."""
    engine = open_engine(postgres_url, Session(), Path())
    joins = exp.select(*(exp.func("current_setting", exp.Literal.string(f"enable_{kind}")) for kind in KINDS))
    missing = Statement("stage release", exp.select(exp.Star()).from_(table_expression(Table(("missing",)))))
    try:
        with engine.by_hashes():
            assert engine.query(Statement("session", joins)) == [("off", "off", "on")]
        with pytest.raises(EngineError, match="missing"):
            _among_hash_joins(engine, missing)
        assert engine.query(Statement("session", joins)) == [("on", "on", "on")]
    finally:
        engine.close()


def _among_hash_joins(engine: Engine, statement: Statement) -> None:
    with engine.transaction(), engine.by_hashes():
        engine.query(statement)
