"""The contract on ClickHouse, through chdb; what ClickHouse has otherwise is said test by test.

Tables take no part in transactions, casts of text need not fail, there are no temporary tables that outlive a
statement, and no type of moments with a zone that prints it.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
from sqlglot import exp

from sqlanon import pipeline
from sqlanon.engines.base import Capability, Engine, Session, Statement, TraceEvent
from sqlanon.engines.clickhouse.transport import Embedded
from sqlanon.engines.dialects import parsed
from sqlanon.errors import ConnectionFailed, EngineError, SourceError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.spec import spec_from_dict
from sqlanon.sql.relations import Query, Table, column
from tests.engines.contract import DEAD, RUN, EngineContract, table_of
from tests.kit.clickhouse_server import PASSWORD, USER, serving
from tests.kit.database import Database, case_spec
from tests.kit.engine import execute, interrupt_program, open_at, query
from tests.kit.hostile import COLUMNS, SEARCHES, TYPES, algorithm, hostile_rows, privacy
from tests.kit.papers import load_case
from tests.kit.scripts import as_texts
from tests.kit.tables import at


class TestClickHouse(EngineContract):
    LONG_STATEMENT: ClassVar[str] = (
        "SELECT SUM(a.number * b.number % 7) FROM numbers(9000000) AS a, numbers(9000000) AS b"
    )

    @pytest.fixture
    def url(self, clickhouse_url: str) -> str:
        return clickhouse_url

    def assert_nothing_runs(self, url: str) -> None:
        """ClickHouse runs in the process that was interrupted, which has used its session since."""

    def comments(self, engine: Engine, table: str) -> dict[str | None, str]:
        place = f"database = currentDatabase() AND {{}} = '{table}' AND comment <> ''"
        own = query(engine, f"SELECT comment FROM system.tables WHERE {place.format('name')}")
        found = query(engine, f"SELECT name, comment FROM system.columns WHERE {place.format('table')}")
        return {None: own[0][0], **dict(found)}

    def indexes(self, engine: Engine, table: str) -> list[str]:
        place = f"database = currentDatabase() AND table = '{table}'"
        return [
            name for (name,) in query(engine, f"SELECT name FROM system.data_skipping_indices WHERE {place} ORDER BY 1")
        ]

    # -- what differs: types ---------------------------------------------------------------------------------------

    def test_rows_touched_are_counted(self, engine: Engine) -> None:
        """Rows that are written; not those that are deleted."""
        assert execute(engine, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1), (2), (3)") == 3
        assert execute(engine, "DELETE FROM t WHERE a > 1") == -1
        assert execute(engine, "CREATE TABLE u AS SELECT * FROM t") == 1
        assert query(engine, "SELECT a FROM u") == [(1,)]

    def test_the_session_speaks_utc(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (a DateTime)", "INSERT INTO t VALUES (86400)")
        (found,) = engine.columns(Table(("t",)))
        assert found.family is Family.TIMESTAMP
        spelled = engine.traits.text(engine.traits.key(column("a"), found.family), found.family)
        assert engine.query(Statement("read", exp.select(spelled).from_("t"))) == [("1970-01-02 00:00:00",)]

    def test_columns_have_families_and_types_to_cast_to(self, engine: Engine) -> None:
        wanted = {
            **dict.fromkeys(["String", "Nullable(String)", "LowCardinality(Nullable(String))"], Family.TEXT),
            **dict.fromkeys(["FixedString(3)", "Enum8('a' = 1)", "Enum16('b' = 1)"], Family.TEXT),
            **dict.fromkeys(["Int8", "Nullable(Int16)", "Int32", "Int64", "UInt8", "UInt16", "UInt32"], Family.INTEGER),
            **dict.fromkeys(["Float32", "Nullable(Float64)"], Family.FLOAT),
            **dict.fromkeys(["Decimal(10, 2)", "Nullable(Decimal(5, 0))"], Family.DECIMAL),
            **dict.fromkeys(["Date", "Date32", "Nullable(Date)"], Family.DATE),
            **dict.fromkeys(["DateTime", "DateTime64(3)", "DateTime('UTC')", "DateTime64(6, 'UTC')"], Family.TIMESTAMP),
            "Bool": Family.BOOLEAN,
            **dict.fromkeys(["UInt64", "Int128", "UInt256", "DateTime('Asia/Tokyo')", "UUID", "IPv4"], Family.OTHER),
            **dict.fromkeys(["Array(String)", "Map(String, Int8)", "Tuple(a Int8)", "Time"], Family.OTHER),
        }
        columns = ", ".join(f"`c{place}` {kind}" for place, kind in enumerate(wanted))
        # Types as they are written, as in a table of somebody else.
        execute(engine, "SET data_type_default_nullable = 0", f"CREATE TABLE t ({columns})")
        found = engine.columns(Table(("t",)))
        assert [info.family for info in found] == list(wanted.values())
        known = [info for info in found if info.family is not Family.OTHER]
        casts = [exp.alias_(exp.Cast(this=exp.Null(), to=info.type), info.name, quoted=True) for info in known]
        assert engine.columns(Query(exp.select(*casts))) == tuple(known)

    def test_enumerations_are_text(self, engine: Engine) -> None:
        """So are texts of a fixed length, without what fills them up."""
        execute(engine, "CREATE TABLE t (m Enum('sad' = 1, 'Happy' = 2), f FixedString(3))")
        execute(engine, "INSERT INTO t VALUES ('sad', 'a'), ('Happy', 'A'), ('sad', 'a'), (NULL, NULL)")
        for name, wanted in (("m", {"sad": 2, "Happy": 1, None: 1}), ("f", {"a": 2, "A": 1, None: 1})):
            key = engine.traits.key(column(name), Family.TEXT)
            counted = exp.select(exp.alias_(key, "k"), exp.Count(this=exp.Star())).from_("t").group_by(key.copy())
            assert dict(engine.query(Statement("group", counted))) == wanted

    def test_other_values_are_spelled_alike(self, engine: Engine) -> None:
        wanted = {
            "TRUE": (Family.BOOLEAN, "true"),
            "CAST('2020-01-01 00:00:00.50' AS TIMESTAMP)": (Family.TIMESTAMP, "2020-01-01 00:00:00.5"),
            "CAST('2020-01-01 00:00:00' AS TIMESTAMP)": (Family.TIMESTAMP, "2020-01-01 00:00:00"),
            "CAST('1850-02-28' AS DATE)": (Family.DATE, "1850-02-28"),
            "CAST(1.5 AS DECIMAL(5, 2))": (Family.DECIMAL, "1.50"),
            "CAST(7 AS BIGINT)": (Family.INTEGER, "7"),
        }
        spelled = [engine.traits.text(parsed(sql, "duckdb"), family) for sql, (family, _) in wanted.items()]
        assert engine.query(Statement("spell", exp.select(*spelled))) == [tuple(text for _, text in wanted.values())]

    def test_errors_about_values_say_no_value(self, engine: Engine) -> None:
        """A cast to a type that may be NULL gives NULL; a function that converts fails."""
        engine.execute(Statement("make", table_of("t", ("a", "text"))))
        engine.load("fill", Table(("t",)), ["a"], [["secret value"]])
        with pytest.raises(EngineError) as error:
            query(engine, "SELECT toInt32(assumeNotNull(a)) FROM t", step="convert")
        assert str(error.value) == "step 'convert': ClickHouse reports cannot parse text"
        assert "secret value" in error.value.detail

    def test_texts_that_are_no_utf8_are_refused(self, engine: Engine) -> None:
        with pytest.raises(EngineError, match="texts that are no UTF-8: convert them in the source query"):
            query(engine, "SELECT unhex('FF')")

    # -- what differs: transactions --------------------------------------------------------------------------------

    def test_trace_sees_every_statement_twice_with_tags(self, url: str) -> None:
        """None of them begins or commits anything."""
        seen: list[TraceEvent] = []
        engine = open_at(url, Session(run=RUN, hooks=[seen.append]))
        with engine.transaction():
            engine.execute(Statement("make", table_of("t", ("a", "text"))))
            engine.load("fill", Table(("t",)), ["a"], [["x"]])
        engine.close()
        assert [event.step for event in seen[::2]] == ["make", "fill"]
        assert all(event.sql.startswith(f"/* sqlanon run={RUN} step=") for event in seen)

    def test_a_failure_undoes_everything(self, engine: Engine) -> None:
        """What was created is dropped; rows that were put into other tables stay, and none of ours are."""
        failing = pytest.raises(KeyboardInterrupt)
        with failing, engine.transaction():
            execute(engine, "CREATE TABLE u (a INTEGER)", "CREATE VIEW v AS SELECT 1 AS a")
            raise KeyboardInterrupt
        assert [engine.relation_kind(Table((name,))) for name in "uv"] == [None, None]

    def test_others_see_a_transaction_whole_or_not_at_all(self, engine: Engine, other: Engine) -> None:
        """Every statement is seen at once, and that which replaces a target is one."""
        execute(engine, "CREATE TABLE target AS SELECT 1 AS a", "CREATE TABLE staging AS SELECT 2 AS a")
        seen: list[Any] = []
        engine.session.hooks.append(lambda event: seen.append(query(other, "SELECT a FROM target")))
        with engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert [(1,)] in seen
        assert seen[-1] == [(2,)]
        assert {len(rows) for rows in seen} == {1}
        assert engine.swapped == "by one statement that exchanges two tables"

    def test_a_transaction_reads_one_snapshot(self, engine: Engine, other: Engine) -> None:
        """It does not: the audit of what was written is what counts."""
        execute(engine, "CREATE TABLE t (a INTEGER)")
        with engine.transaction():
            execute(other, "INSERT INTO t VALUES (2)")
            assert query(engine, "SELECT COUNT(*) FROM t") == [(1,)]

    def test_an_unclosed_transaction_is_rolled_back_by_closing(self, url: str, engine: Engine) -> None:
        """There is none; a session that is closed stays so."""
        leaving = open_at(url)
        leaving.close()
        leaving.close()
        with pytest.raises(EngineError, match="the session is closed"):
            query(leaving, "SELECT 1")

    # -- what differs: schemas are databases, names are what they are ----------------------------------------------

    def test_kinds_and_identity(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INTEGER)", "CREATE VIEW v AS SELECT a FROM t")
        execute(engine, "CREATE MATERIALIZED VIEW m ENGINE = MergeTree ORDER BY tuple() AS SELECT a FROM t")
        [(schema,)] = query(engine, "SELECT currentDatabase()")
        table, view = Table(("t",)), Table(("v",))
        assert [engine.relation_kind(Table((name,))) for name in "tvm"] == ["table", "view", "other"]
        assert [engine.relation_kind(Table(parts)) for parts in (("missing",), ("T",), ("nowhere", "t"))] == [None] * 3
        assert engine.relation_kind(Table((schema, "t"))) == "table"
        assert [engine.has_schema(place) for place in ((), (schema,), ("nowhere",))] == [True, True, False]
        assert engine.same_object(table, Table((schema, "t")))
        assert not engine.same_object(table, view)
        assert not engine.same_object(table, Table(("T",)))
        assert engine.same_object(Table(("missing",)), Table((schema, "missing")))
        assert engine.is_reserved(Table(("system", "mine")))
        assert engine.reads(view, table)
        assert not engine.reads(table, view)
        with pytest.raises(SourceError, match="the definition of view m cannot be read"):
            engine.view_query(Table(("m",)))

    def test_replace_across_schemas(self, engine: Engine) -> None:
        """The rows are copied beside the target first."""
        [(schema,)] = query(engine, "SELECT currentDatabase()")
        beside = f"{schema}_beside"
        execute(engine, f"CREATE DATABASE {beside}")
        try:
            for value in (1, 2):
                execute(engine, f"CREATE TABLE {beside}.staging AS SELECT {value} AS a")
                with engine.transaction():
                    engine.replace(Table((beside, "staging")), Table(("target",)))
                assert query(engine, "SELECT a FROM target") == [(value,)]
                assert engine.relation_kind(Table((beside, "staging"))) is None
            assert query(engine, "SHOW TABLES") == [("target",)]
        finally:
            execute(engine, f"DROP DATABASE {beside}")

    def test_replace_keeps_comments_and_indexes(self, engine: Engine) -> None:
        execute(engine, 'CREATE TABLE "the target" (a INTEGER, "b b" VARCHAR, gone INTEGER)')
        execute(engine, 'ALTER TABLE "the target" ADD INDEX "index of b" ("b b", a) TYPE minmax GRANULARITY 3')
        execute(engine, 'ALTER TABLE "the target" ADD INDEX of_gone gone TYPE minmax')
        execute(engine, "ALTER TABLE \"the target\" MODIFY COMMENT 'it''s 100% ours \\\\'")
        execute(engine, "ALTER TABLE \"the target\" COMMENT COLUMN \"b b\" 'a ''column'''")
        execute(engine, "ALTER TABLE \"the target\" COMMENT COLUMN gone 'lost'")
        for value in (1, 2):
            execute(engine, f"CREATE TABLE staging AS SELECT {value} AS a, 'x' AS \"b b\"")
            with engine.transaction():
                engine.replace(Table(("staging",)), Table(("the target",)))
            assert query(engine, 'SELECT a FROM "the target"') == [(value,)]
            assert self.comments(engine, "the target") == {None: "it's 100% ours \\", "b b": "a 'column'"}
            assert self.indexes(engine, "the target") == ["index of b"]
        assert query(engine, "SHOW TABLES") == [("the target",)]

    def test_a_failed_replace_leaves_the_old_table(self, engine: Engine) -> None:
        """What a release would lose is refused."""
        refusing = "the target target has a table engine, a sorting key, partitions"
        for order in ("ORDER BY a", "PARTITION BY a ORDER BY tuple()", "ORDER BY tuple() TTL d + INTERVAL 1 DAY"):
            execute(engine, f"CREATE TABLE target (a UInt8 NOT NULL, d Date NOT NULL) ENGINE = MergeTree {order}")
            execute(engine, "INSERT INTO target VALUES (1, '2140-01-01')", "CREATE TABLE staging AS SELECT 2 AS a")
            with pytest.raises(EngineError, match=refusing), engine.transaction():
                engine.replace(Table(("staging",)), Table(("target",)))
            assert query(engine, "SELECT a FROM target") == [(1,)]
            assert query(engine, "SELECT COUNT(*) FROM staging") == [(1,)]
            execute(engine, "DROP TABLE target", "DROP TABLE staging")

    def test_leftovers_are_those_of_dead_runs(self, engine: Engine, other: Engine) -> None:
        execute(engine, f"CREATE TABLE sqlanon_{DEAD}_groups (a INTEGER)", f"CREATE TABLE sqlanon_{RUN}_x (a INTEGER)")
        execute(engine, f"CREATE VIEW sqlanon_{DEAD}_view AS SELECT 1 AS a", "CREATE TABLE sqlanon_mine (a INTEGER)")
        dead = [Table((f"sqlanon_{DEAD}_{name}",)) for name in ("groups", "view")]
        [(schema,)] = query(engine, "SELECT currentDatabase()")
        assert engine.leftovers(()) == other.leftovers(()) == dead
        assert engine.leftovers((schema,)) == [Table((schema, table.name)) for table in dead]
        assert engine.leftovers(("nowhere",)) == []
        engine.close()
        assert set(other.leftovers(())) == {*dead, Table((f"sqlanon_{RUN}_x",))}

    def test_interrupt_stops_the_statement_and_leaves_the_session_usable(self, url: str) -> None:
        """In a folder of its own: one process has it open at a time."""
        place = Path(tempfile.mkdtemp())
        folder = place / "folder"
        process = interrupt_program(f"chdb:///{folder}", RUN, self.LONG_STATEMENT)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            time.sleep(0.7)
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "clean\n", process.communicate(timeout=10)[1]
            assert time.monotonic() - started < 5
            _, errors = process.communicate("\n", timeout=20)
            assert (process.returncode, errors) == (0, "")
        finally:
            process.kill()
            process.communicate()
        assert folder.stat().st_mode & 0o777 == 0o700
        program = "import sys, chdb; print(chdb.connect(sys.argv[1]).query('SHOW TABLES'))"
        left = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, check=True)
        assert left.stdout.strip() == b""
        shutil.rmtree(place)

    def test_capabilities(self, engine: Engine) -> None:
        assert engine.capabilities == frozenset()
        assert (engine.name, engine.dialect, engine.lasting, engine.forgets) == (
            "clickhouse",
            "clickhouse",
            True,
            False,
        )
        assert engine.version().startswith("ClickHouse 2")
        execute(engine, "CREATE TABLE t AS SELECT 1 AS a", "CREATE VIEW v AS SELECT a FROM t")
        assert (engine.scan_bytes(Table(("v",))) or 0) > 0


def test_a_folder_of_another_process_and_a_second_folder_are_told(clickhouse_url: str, tmp_path: Path) -> None:
    with pytest.raises(ConnectionFailed, match=r"this process has '.*' open, and chdb opens one folder at a time"):
        open_at(f"chdb:///{tmp_path}/another")
    with pytest.raises(ConnectionFailed, match="is its database named rightly"):
        open_at(f"{clickhouse_url.partition('?')[0]}?database=nowhere")
    with pytest.raises(UsageError, match="a chdb URL has the option 'database' only, not 'databse'"):
        open_at("chdb:///x?databse=y")
    with pytest.raises(UsageError, match="names no host"):
        open_at("chdb://host/x")


# -- releases ----------------------------------------------------------------------------------------------------------

KINDS = {"double": "Float64", "text": "String", "timestamp": "DateTime64(6)", "date": "Date32"}


def loaded(url: str, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> str:
    """A table with columns that may be NULL, made by a session of its own."""
    with at(url) as engine:
        columns = ", ".join(
            f"{exp.to_identifier(name, quoted=True).sql('clickhouse')} Nullable({KINDS.get(kind, kind)})"
            for name, kind in types.items()
        )
        lines = ", ".join("(" + ", ".join(written(value) for value in row) + ")" for row in rows)
        execute(engine, f"CREATE TABLE source_table ({columns})", f"INSERT INTO source_table VALUES {lines}")
    return url


def written(value: Any) -> str:
    return "NULL" if value is None else exp.Literal.string(str(value)).sql("clickhouse")


def released(url: str, columns: str = "*") -> list[tuple[Any, ...]]:
    if not url.startswith("chdb"):
        return Database(url).rows("release_table", columns)
    with at(url) as engine:
        return query(engine, f"SELECT {columns} FROM release_table")


@pytest.mark.representative(3)
@pytest.mark.parametrize(("name", "k", "limit"), [("s1", 3, 0), ("s2", 2, 1), ("s3", 2, 1), ("c1", 3, 0), ("c1", 2, 3)])
def test_papers_on_clickhouse(name: str, k: int, limit: int, clickhouse_url: str) -> None:
    case = load_case(name)
    loaded(clickhouse_url, case.types, case.rows)
    result = pipeline.run(case_spec(case, clickhouse_url, k, limit, algorithm="minimal"))
    assert result.plan is not None
    assert list(result.plan.search.minimal) == case.minimal(k, limit)
    vector = tuple(result.levels.values())
    assert result.publication.suppressed == case.outliers(k, vector)
    assert (result.audit.rows, result.audit.satisfied) == (len(case.rows) - case.outliers(k, vector), True)
    sizes = Counter(released(clickhouse_url, ", ".join(f'"{column}"' for column in case.quasi_identifier)))
    assert sorted(sizes.values()) == sorted(n for n in case.classes(vector).values() if n >= k)
    with at(clickhouse_url) as engine:
        assert {name for (name,) in query(engine, "SHOW TABLES")} == {"source_table", "release_table"}


MODELS: dict[str, dict[str, Any]] = {
    "entropy": {"l_diversity": [{"column": "disease", "l": 2, "kind": "entropy"}]},
    "closeness": {"t_closeness": [{"column": "disease", "t": 0.5, "distance": "equal"}]},
    "distinct": {"l_diversity": [{"column": "disease", "l": 2, "kind": "distinct"}]},
    "alpha": {"alpha": [{"column": "disease", "value": "HIV", "alpha": 0.6}]},
    "occurring": {"delta_disclosure": [{"column": "disease", "delta": 1.5, "kind": "occurring"}]},
    "beta": {"beta_likeness": [{"column": "disease", "beta": 2}]},
    "delta": {"delta_disclosure": [{"column": "disease", "delta": 1.5}]},
}


@pytest.mark.representative(2)
@pytest.mark.parametrize("model", MODELS)
def test_models_on_clickhouse_as_on_duckdb(model: str, clickhouse_url: str, duckdb_url: str) -> None:
    case = load_case("c1")
    Database(duckdb_url).create("source_table", case.types, case.rows)
    found = []
    for url in (loaded(clickhouse_url, case.types, case.rows), duckdb_url):
        places = {"connection": url, "source": "source_table", "target": "release_table"}
        privacy_of = {"k": 2, "suppression": {"limit": 4}, **MODELS[model]}
        given = {**case.spec, **places, "privacy": privacy_of, "search": {"algorithm": "exhaustive"}}
        result = pipeline.run(spec_from_dict(given, case.directory))
        found.append((result.levels, result.publication.suppressed, result.audit.classes, result.audit.satisfied))
    assert found[0] == found[1]


@pytest.mark.representative(2)
@pytest.mark.parametrize(("search", "limit"), SEARCHES, ids=algorithm)
def test_releases_are_those_of_duckdb(search: dict[str, Any], limit: int, clickhouse_url: str, duckdb_url: str) -> None:
    """The same vector and the same classes byte by byte, whatever names and values look like."""
    loaded(clickhouse_url, TYPES, hostile_rows())
    quoted = {name.replace('"', '""'): kind for name, kind in TYPES.items()}
    Database(duckdb_url).create("source_table", quoted, hostile_rows())
    releases, vectors = [], []
    for url in (clickhouse_url, duckdb_url):
        places = {"connection": url, "source": "source_table", "target": "release_table", "columns": COLUMNS}
        result = pipeline.run(spec_from_dict({**places, "privacy": privacy(search, limit), "search": search}))
        vectors.append(None if search.get("model") else getattr(result, "levels", None))
        releases.append(as_texts(released(url)))
    assert releases[0] == releases[1]
    assert vectors[0] == vectors[1]


def test_a_view_on_clickhouse(clickhouse_url: str) -> None:
    case = load_case("s1")
    places = {"connection": loaded(clickhouse_url, case.types, case.rows), "source": "source_table"}
    spec = spec_from_dict({**case.spec, **places, "target": {"view": "shown"}, "privacy": {"k": 2}}, case.directory)
    for _ in range(2):
        assert pipeline.run(spec).audit.satisfied
    with at(clickhouse_url) as engine:
        assert query(engine, "SELECT COUNT(*) FROM shown") == [(len(case.rows),)]


def test_a_view_hides_suppressed_rows_from_functions_of_the_reader(clickhouse_url: str) -> None:
    """Conditions of the reader were taken into the view, and told of the rows that it leaves out."""
    with at(clickhouse_url) as engine:
        execute(engine, "CREATE TABLE people (a VARCHAR, s VARCHAR)")
        execute(engine, "INSERT INTO people VALUES ('x', 'flu'), ('x', 'flu'), ('x', 'cold'), ('y', 'rare')")
    values = {
        "connection": clickhouse_url,
        "source": "people",
        "target": {"view": "shown"},
        "columns": {"a": {"role": "quasi_identifier", "levels": {"max": 0}}, "s": {"role": "sensitive"}},
        "privacy": {"k": 3, "suppression": {"limit": 1}},
    }
    assert pipeline.run(spec_from_dict(values)).audit.suppressed == 1
    with at(clickhouse_url) as engine:
        for seen in ("s = 'rare'", "a = 'y'"):
            assert query(engine, f"SELECT COUNT(*) FROM shown WHERE throwIf({seen}) = 0") == [(3,)]
        with pytest.raises(EngineError):
            query(engine, "SELECT COUNT(*) FROM shown WHERE throwIf(s = 'cold') = 0")


# -- a server ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def server_url(clickhouse_folder: tuple[Path, Any], clickhouse_url: str) -> Iterator[str]:
    """The same database through the HTTP interface of a server, of which the tests have a stand-in."""
    with serving(clickhouse_folder[0]) as port:
        who = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}"
        yield f"clickhouse://{who}@127.0.0.1:{port}/{clickhouse_url.partition('database=')[2]}"


def test_a_server_by_its_url(server_url: str, clickhouse_url: str) -> None:
    case = load_case("s1")
    loaded(clickhouse_url, case.types, case.rows)
    result = pipeline.run(case_spec(case, server_url, 3, 0, algorithm="minimal"))
    assert result.plan is not None
    assert list(result.plan.search.minimal) == case.minimal(3, 0)
    assert len(released(clickhouse_url)) == len(case.rows)
    engine = open_at(server_url, Session(run=RUN))
    assert engine.capabilities == {Capability.SERVER}
    assert execute(engine, "CREATE TABLE t (a VARCHAR)", "INSERT INTO t VALUES ('x'), ('y')") == 2
    engine.load("fill", Table(("t",)), ["a"], [["é\n"]])
    assert sorted(query(engine, "SELECT a FROM t")) == [("x",), ("y",), ("é\n",)]
    execute(engine, f"CREATE TABLE sqlanon_{DEAD}_x (a INTEGER)")
    assert engine.leftovers(()) == []
    with pytest.raises(EngineError, match=r"step 'look': there is no table missing$"):
        query(engine, "SELECT * FROM missing", step="look")
    threading.Timer(0.5, engine.cancel).start()
    with pytest.raises(EngineError, match="step 'long' was cancelled"):
        query(engine, TestClickHouse.LONG_STATEMENT, step="long")
    engine.close()


def test_secrets_that_no_header_carries_are_refused_without_them() -> None:
    with pytest.raises(UsageError, match=r"has a control character, as a line break$") as refused:
        open_at("clickhouse://u:hidden%0D%0Aword@127.0.0.1:1/d")
    assert "hidden" not in str(refused.value)


def test_a_password_may_have_letters_of_any_kind(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(HTTPConnection, "request", lambda self, *parts: asked.append(parts))
    monkeypatch.setattr(HTTPConnection, "getresponse", lambda self: pytest.fail("the headers are sent"))
    with pytest.raises(pytest.fail.Exception):
        open_at(server_url.replace(quote(PASSWORD, safe=""), quote("schlüssel €")))
    assert asked[0][-1]["X-ClickHouse-Key"] == "schlüssel €".encode()


MANY = 200_000
COUNTED = {
    "groups": ("SELECT COUNT(*) FROM (SELECT a, COUNT(*) FROM t GROUP BY a) AS g", MANY),
    "distinct": ("SELECT COUNT(*) FROM (SELECT DISTINCT a FROM t) AS d", MANY),
    "persons": ("SELECT COUNT(DISTINCT a) FROM t", MANY),
    "joined": ("SELECT COUNT(*) FROM t JOIN u ON t.a = u.a", 3),
    "rows": ("SELECT COUNT(*) FROM (SELECT a FROM u) AS r", 3),
}
OF_A_ROLE: dict[str, tuple[dict[str, str | int], bool]] = {
    "groups": ({"max_rows_to_group_by": 1, "group_by_overflow_mode": "any"}, True),
    "distinct": ({"max_rows_in_distinct": 1, "distinct_overflow_mode": "break"}, True),
    "persons": ({"count_distinct_implementation": "uniqHLL12"}, False),
    "joined": ({"join_default_strictness": "ANY"}, False),
    "rows": ({"offset": 1}, False),
}
"""Settings that a role may be given, by the count that they would make wrong; whether it is refused instead."""


@pytest.mark.parametrize("what", OF_A_ROLE)
def test_settings_of_a_role_make_no_wrong_counts(
    what: str, clickhouse_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (given, refused), (counts, expected) = OF_A_ROLE[what], COUNTED[what]
    opened = Embedded._opened

    def of_the_role(self: Embedded, path: str) -> Any:
        connection = opened(self, path)
        for name, value in given.items():
            connection.query(f"SET {name} = '{value}'")
        return connection

    monkeypatch.setattr(Embedded, "_opened", of_the_role)
    with at(clickhouse_url) as engine:
        execute(engine, "CREATE TABLE u (a INT)", "INSERT INTO u VALUES (1), (1), (2)")
        execute(engine, f"CREATE TABLE t AS SELECT CAST(number AS Int64) AS a FROM numbers({MANY})")
        if refused:
            with pytest.raises(EngineError, match="step"):
                query(engine, counts)
        else:
            assert query(engine, counts) == [(expected,)]


def test_a_server_that_refuses(server_url: str) -> None:
    wrong = server_url.replace(quote(PASSWORD, safe=""), "guess")
    with pytest.raises(ConnectionFailed, match=r"on 127\.0\.0\.1:\d+: it refuses the user or the password") as refused:
        open_at(wrong)
    assert "guess" not in f"{refused.value}{refused.value.detail}"
    with pytest.raises(ConnectionFailed, match=r"it refuses the session$"):
        open_at(f"{server_url}_nowhere")
    with pytest.raises(ConnectionFailed, match=r"cannot connect to ClickHouse on 127\.0\.0\.1:1$"):
        open_at("clickhouse://u:p@127.0.0.1:1/d")
    with pytest.raises(UsageError, match="the ClickHouse URL is not valid"):
        open_at("clickhouse://u:p@host:port/d")
    with pytest.raises(UsageError, match="has the option 'secure' only, not 'compress'"):
        open_at("clickhouse://host/d?compress=1")
