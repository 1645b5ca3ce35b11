"""Nothing a spec or a table says is ever executed: names, values, labels, tags, and SQL that may only read."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from sqlanon import pipeline
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SpecError, SqlanonError
from sqlanon.hierarchies.definition import join_name
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.tables import FEW, at, create, quoted, rows, run, stored

PAYLOADS = [
    "x'; DROP TABLE victims; --",
    'x"; DROP TABLE victims; --',
    "x`; DROP TABLE victims; --",
    "x\\'; DROP TABLE victims; --",
    "*/ DROP TABLE victims; /*",
    "/* never closed",
    "-- \n; DROP TABLE victims",
    "$$; DROP TABLE victims; $$",
    "x'||(SELECT name FROM victims LIMIT 1)||'",
    "E'\\''; DROP TABLE victims; --",
    "%s %(x)s :x ? $1 {x}",
    "x'); DELETE FROM victims; --",
]


@pytest.fixture
def guarded(engine_url: str) -> Iterator[str]:
    """A database with something to lose; afterwards it is all still there, and nothing else is."""
    with at(engine_url) as engine:
        create(engine, ["victims"], {"name": "text"}, [["alice"], ["bob"], ["carol"]])
        before = tables(engine)
    yield engine_url
    with at(engine_url) as engine:
        assert rows(engine, "SELECT name FROM victims ORDER BY name") == [("alice",), ("bob",), ("carol",)]
        assert tables(engine) >= before
        assert not {name for name in tables(engine) if name.startswith("sqlanon")}


def tables(engine: Engine) -> set[str]:
    found = rows(engine, "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
    return {name for (name,) in found}


def spec_at(url: str, columns: dict[str, Any], **places: Any) -> Spec:
    return spec_from_dict(
        {"connection": url, "source": "t", "target": "released", "columns": columns}
        | {"privacy": {"k": 2, "suppression": {"limit": "100%"}}, "search": {"algorithm": "samarati"}}
        | places
    )


def quasi(hierarchy: Any, **levels: int) -> dict[str, Any]:
    return {"role": "quasi_identifier", "hierarchy": hierarchy, "levels": levels}


@pytest.mark.no_cover
@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_names_values_and_labels_mean_only_themselves(guarded: str, tmp_path: Path, payload: str) -> None:
    """One payload in every place at once; the release holds it as it is."""
    names = [f"{payload}{number}" for number in range(5)]
    with at(guarded) as engine:
        create(engine, [f"{payload} source"], dict.fromkeys(names, "text"), [[payload] * 5] * 3)
        create(engine, [f"{payload} ref"], {payload: "text", f"{payload} up": "text"}, [[payload, f"{payload}!"]])
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerow([payload, f"{payload}!", f"{payload}?"])
    escaped = payload.replace("${", "$${")
    own = quoted(names[4])
    columns = {
        names[0]: quasi({"csv": {"path": str(tmp_path / "a.csv"), "delimiter": ","}}, min=1, max=1),
        names[1]: quasi({"tree": {f"{payload}!": [escaped]}}, min=1, max=1),
        names[2]: quasi(
            {"table": {"name": join_name((f"{payload} ref",)), "levels": [payload, f"{payload} up"]}}, min=1
        ),
        names[3]: quasi({"mask": {"steps": [1], "character": "'"}}, min=1, max=1),
        names[4]: quasi({"sql": [own, f"{own} || '!'"]}, min=1, max=1),
    }
    places = {
        "source": {"table": join_name((f"{payload} source",))},
        "target": {"table": join_name((f"{payload} target",))},
    }
    result = pipeline.run(spec_at(guarded, columns, **places))
    assert result.publication.suppressed == 0
    with at(guarded) as engine:
        [released] = set(rows(engine, f"SELECT * FROM {quoted(f'{payload} target')}"))
        assert released[:2] == (f"{payload}!", f"{payload}!")
        assert released[3:] == (f"{payload[:-1]}'", f"{payload}!")
        assert f"{payload} target" in tables(engine)


@pytest.mark.no_cover
@pytest.mark.parametrize("payload", PAYLOADS[::3], ids=ascii)
def test_labels_of_suppression_and_names_that_do_not_exist(guarded: str, payload: str) -> None:
    with at(guarded) as engine:
        create(engine, ["t"], {"q": "text"}, [["a"], ["a"]])
    suppressed = quasi({"suppression": {"label": payload}}, min=1)
    pipeline.run(spec_at(guarded, {"q": suppressed}))
    with at(guarded) as engine:
        assert set(rows(engine, "SELECT q FROM released")) == {(payload,)}
    wrong: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"q": suppressed}, {"source": {"table": join_name((payload,))}}),
        ({"q": suppressed}, {"scratch": join_name((payload,))}),
        ({"q": suppressed}, {"target": {"table": join_name((payload, "released"))}}),
        ({payload: suppressed}, {}),
        ({"q": quasi({"table": {"name": join_name((payload,)), "levels": ["a"]}})}, {}),
    ]
    for columns, places in wrong:
        # A name may happen to be harmless where it stands; what matters is what `guarded` finds afterwards.
        with suppress(SqlanonError):
            pipeline.run(spec_at(guarded, columns, **places))


# -- tags ------------------------------------------------------------------------------------------------------------


@pytest.mark.no_cover
@FEW
@given(step=st.text(max_size=60), identity=st.text(max_size=20))
def test_a_tag_never_leaves_its_comment(step: str, identity: str, engine: Engine) -> None:
    engine.session.run = identity
    text = engine.render(Statement(step, exp.select("1")))
    assert re.fullmatch(r"/\* [A-Za-z0-9_ .,:=]* \*/ SELECT 1", text)
    assert engine.query(Statement(step, exp.select("1"))) == [(1,)]


def test_tags_in_the_database(engine: Engine) -> None:
    create(engine, ["victims"], {"name": "text"}, [["alice"]])
    for step in PAYLOADS:
        assert engine.query(Statement(step, exp.select("1"))) == [(1,)]
    assert rows(engine, "SELECT name FROM victims") == [("alice",)]


# -- SQL of the user -------------------------------------------------------------------------------------------------

WRITING_QUERIES = [
    "SELECT * FROM t; DROP TABLE victims",
    "DROP TABLE victims",
    "SELECT * INTO extra FROM victims",
    "WITH gone AS (DELETE FROM victims RETURNING name) SELECT name AS q FROM gone",
    "WITH added AS (INSERT INTO victims VALUES ('mallory') RETURNING name) SELECT name AS q FROM added",
    "WITH changed AS (UPDATE victims SET name = 'x' RETURNING name) SELECT name AS q FROM changed",
    "SELECT * FROM (DELETE FROM victims RETURNING name) AS gone",
    "SELECT * FROM victims FOR UPDATE",
    "COPY victims TO '/tmp/stolen.csv'",
    "EXPLAIN ANALYZE DELETE FROM victims",
    "CREATE TABLE extra AS SELECT 1 AS q",
    "TRUNCATE victims",
    "CALL something()",
    "DO $$ BEGIN DROP TABLE victims; END $$",
    "PREPARE p AS DELETE FROM victims",
    "ATTACH 'other.duckdb'",
    "INSTALL httpfs",
    "SET search_path = other",
    "PRAGMA database_list",
    "VACUUM victims",
    "MERGE INTO victims USING t ON true WHEN MATCHED THEN DELETE",
    "SELECT pg_sleep(60) AS q",
    "SELECT pg_catalog.pg_sleep(60) AS q",
    'SELECT "pg_sleep"(60) AS q',
    "SELECT pg_read_file('/etc/passwd') AS q",
    "SELECT * FROM pg_ls_dir('/')",
    "SELECT lo_import('/etc/passwd') AS q",
    "SELECT nextval('numbers') AS q",
    "SELECT set_config('search_path', 'other', false) AS q",
    "SELECT query_to_xml('DROP TABLE victims', true, true, '') AS q",
    "SELECT dblink_exec('host=x', 'DROP TABLE victims') AS q",
    "SELECT * FROM postgres_execute('db', 'DROP TABLE victims')",
    "",
    ";",
    "not sql at all (",
]

WRITING_EXPRESSIONS = [
    "1; DROP TABLE victims",
    "q FROM victims",
    "(SELECT max(name) FROM victims)",
    "coalesce(q, (SELECT name FROM victims LIMIT 1))",
    "EXISTS (SELECT 1 FROM victims)",
    "q IN (SELECT name FROM victims)",
    "q INTO extra",
    "q UNION SELECT name FROM victims",
    "q, q",
    "q AS other",
    "other",
    "victims.name",
    "*",
    "max(q)",
    "row_number() OVER ()",
    "pg_sleep(60)",
    "pg_catalog.pg_sleep(60)",
    '"pg_sleep"(60)',
    "pg_read_file('/etc/passwd')",
    "read_csv('/etc/passwd')",
    "read_text('/etc/passwd')",
    "query_to_xml('DROP TABLE victims', true, true, '')",
    "nextval('numbers')",
    "random()",
    "now()",
    "current_user",
    "getenv('HOME')",
    "'victims'::regclass",
    "q OPERATOR(pg_catalog.||) q",
    "my_function(q)",
    "$1",
    "?",
    ":x",
    "q -- \n; DROP TABLE victims",
    "DROP TABLE victims",
    "COPY victims TO '/tmp/stolen.csv'",
]


def test_a_source_query_may_only_read(guarded: str, caplog: pytest.LogCaptureFixture) -> None:
    for query in WRITING_QUERIES:
        with pytest.raises(SpecError) as caught:
            pipeline.run(spec_at(guarded, {"q": quasi(None)}, source={"query": query}))
        assert "source" in str(caught.value), query
        assert "victims" not in str(caught.value), query
    assert not caplog.records


def test_a_source_query_that_reads_is_read(guarded: str) -> None:
    query = """
        WITH few AS (SELECT name AS q FROM victims /* comment */ UNION ALL SELECT upper(name) FROM victims)
        SELECT few.q, count(*) OVER () AS n FROM few ORDER BY 1; -- the end;
    """
    columns = {"q": quasi(None, min=1), "n": {"role": "insensitive"}}
    result = pipeline.run(spec_at(guarded, columns, source={"query": query}))
    assert result.publication.rows == 6


def test_an_expression_may_only_compute(guarded: str, caplog: pytest.LogCaptureFixture) -> None:
    with at(guarded) as engine:
        create(engine, ["t"], {"q": "text"}, [["a"], ["a"]])
        for expression in WRITING_EXPRESSIONS:
            with pytest.raises(SpecError) as caught, stored(engine, spec_at(guarded, taking(expression))):
                pass
            assert str(caught.value).startswith("columns.q.hierarchy.sql"), expression
            assert "victims" not in str(caught.value), expression
        assert not caplog.records
        assert "extra" not in tables(engine)


def taking(expression: str) -> dict[str, Any]:
    return {"q": quasi({"sql": ["q", expression]})}


EXPRESSIONS = [
    "left(q, 1)",
    "substr(q, 1, 2) || '*'",
    "CASE WHEN q LIKE 'a%' THEN 'a' ELSE 'other' END",
    "upper(trim(q)) /* comment; DROP TABLE victims */",
    "q IN ('x', '; DROP TABLE victims')",
    "length(q) BETWEEN 1 AND 3",
    "CAST(length(q) AS decimal(5, 1))",
    "coalesce(nullif(q, ''), 'none')",
    "regexp_replace(q, '[0-9]', '#')",
    "split_part(q, '-', 1)",
    "-length(q) % 2 = 0 AND NOT q IS NULL",
]


def test_plain_expressions_are_taken(guarded: str) -> None:
    with at(guarded) as engine:
        create(engine, ["t"], {"q": "text"}, [["a1"], ["a1"], ["b-2"]])
        for expression in EXPRESSIONS:
            with stored(engine, spec_at(guarded, taking(expression))) as made:
                assert made.hierarchies[0].values == 2


def test_errors_of_the_database_show_no_value(guarded: str) -> None:
    with at(guarded) as engine:
        create(engine, ["t"], {"q": "text"}, [["classified"], ["classified"]])
    with pytest.raises(SqlanonError) as caught:
        pipeline.run(spec_at(guarded, {"q": quasi({"sql": ["q", "CAST(q AS int)"]})}))
    assert "classified" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_statement_of_ours_runs_as_one(engine: Engine) -> None:
    """What quoting guards against: drivers do run several statements at once."""
    run(engine, "CREATE TABLE a (x int); CREATE TABLE b (x int)")
    assert {"a", "b"} <= tables(engine)
