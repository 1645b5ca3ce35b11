"""The contract of engines as a suite: subclass `EngineContract`, supply a `url` fixture and the long statement.

Everything here holds on every engine; what only one engine has is tested beside its subclass.
"""

from __future__ import annotations

import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import pytest
from sqlglot import exp, parse_one

from sqlanon.engines.base import Capability, Engine, Session, Statement, TraceEvent
from sqlanon.engines.dialects import parsed
from sqlanon.errors import ConnectionFailed, EngineError, SourceError, StatementTimeout
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import Query, Table, column, identifier, literal, table_expression
from tests.kit.engine import execute, interrupt_program, open_at, query

RUN = "0123456789ab"
DEAD = "ba9876543210"

SOON = 20
"""Seconds within which a statement has to stop, also on a machine with much else to do; by itself it takes minutes."""

NAMES = [
    "plain",
    "two words",
    "dot.ted",
    'quo"ted',
    "apo'strophe",
    "CAPITALS",
    "select",
    "größe",
    "数据",
    "50%",
    ":colon",
    "semi;colon",
    "back\\slash",
    "/* comment */",
    "-- comment",
]

VALUES = [
    None,
    "",
    " ",
    "a",
    "A",
    "a ",
    " a",
    "it's",
    'say "hi"',
    "back\\slash",
    "\\N",
    "\\.",
    "tab\there",
    "new\nline",
    "carriage\rreturn",
    "comma,semicolon;",
    "50%",
    "%s %(x)s",
    ":name",
    "$1",
    "é",
    "e\u0301",
    "😀",
    "数据",
    "NULL",
    "'; drop table t; --",
    "*/ x /*",
]


def table_of(name: str, *columns: tuple[str, str]) -> exp.Create:
    definitions = [exp.ColumnDef(this=identifier(column), kind=exp.DataType.build(kind)) for column, kind in columns]
    return exp.Create(kind="TABLE", this=exp.Schema(this=table_expression(Table((name,))), expressions=definitions))


class EngineContract(ABC):
    """What sqlanon relies on."""

    LONG_STATEMENT: ClassVar[str]
    """Runs for minutes when nobody stops it."""
    NAMES_OF_TABLES: ClassVar[list[str]] = NAMES
    """Names that a table and its column may have."""

    @pytest.fixture
    def url(self) -> str:
        raise AssertionError("a subclass supplies the URL of an empty database")

    @pytest.fixture
    def engine(self, url: str) -> Iterator[Engine]:
        engine = open_at(url, Session(run=RUN))
        yield engine
        engine.close()

    @pytest.fixture
    def other(self, url: str) -> Iterator[Engine]:
        """A second session of the same database."""
        engine = open_at(url)
        yield engine
        engine.close()

    # -- statements ------------------------------------------------------------------------------------------------

    def test_rows_touched_are_counted(self, engine: Engine) -> None:
        engine.execute(Statement("make", table_of("t", ("a", "int"))))
        assert execute(engine, "INSERT INTO t VALUES (1), (2), (3)") == 3
        assert execute(engine, "DELETE FROM t WHERE a > 1") == 2
        assert execute(engine, "CREATE TABLE u AS SELECT * FROM t") == 1
        assert query(engine, "SELECT a FROM u") == [(1,)]

    def test_percent_signs_and_colons_mean_themselves(self, engine: Engine) -> None:
        text = "100% :name %s %(x)s %% ? $1"
        select = exp.select(exp.alias_(literal(text), "x", quoted=True))
        assert engine.query(Statement("percent", select)) == [(text,)]

    def test_sums_of_integers_are_integers(self, engine: Engine) -> None:
        ((total,),) = query(engine, "SELECT SUM(a) FROM (SELECT CAST(2 AS BIGINT) AS a) AS t")
        assert total == 2
        assert type(total) is int

    def test_the_session_speaks_utc(self, engine: Engine) -> None:
        engine.execute(Statement("make", table_of("t", ("a", "timestamptz"))))
        execute(engine, "INSERT INTO t VALUES ('2020-01-01 00:30:00+02')")
        assert query(engine, "SELECT CAST(a AS VARCHAR), CAST(a AS DATE) = DATE '2019-12-31' FROM t") == [
            ("2019-12-31 22:30:00+00", True)
        ]

    def test_too_many_rows_are_refused(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sqlanon.engines.base.ROW_LIMIT", 2)
        with pytest.raises(EngineError, match="more rows than any aggregate"):
            query(engine, "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3", step="many")

    def test_trace_sees_every_statement_twice_with_tags(self, url: str) -> None:
        seen: list[TraceEvent] = []
        engine = open_at(url, Session(run=RUN, hooks=[seen.append]))
        try:
            with engine.transaction():
                engine.execute(Statement("make", table_of("t", ("a", "text"))))
                engine.load("fill", Table(("t",)), ["a"], [["x"]])
            with pytest.raises(EngineError):
                query(engine, "SELECT nonsense FROM t", step="wrong")
        finally:
            engine.close()
        assert len(seen) % 2 == 0
        for before, after in zip(seen[::2], seen[1::2], strict=True):
            assert (before.step, before.sql, before.seconds) == (after.step, after.sql, None)
            assert after.seconds is not None
            assert before.sql.startswith(f"/* sqlanon run={RUN} step={before.step} */ ")
        assert [event.step for event in seen[::2] if event.step != "session"] == [
            "begin",
            "make",
            "fill",
            "commit",
            "wrong",
        ]
        assert [event.step for event in seen if event.failed] == ["wrong"]

    # -- names and values --------------------------------------------------------------------------------------------

    def test_any_name_means_itself(self, engine: Engine) -> None:
        for name in self.NAMES_OF_TABLES:
            self.means_itself(engine, name)

    def means_itself(self, engine: Engine, name: str) -> None:
        engine.execute(Statement("make", table_of(name, (name, "text"))))
        table = Table((name,))
        engine.load("fill", table, [name], [["x"]])
        assert engine.relation_kind(table) == "table"
        assert [found.name for found in engine.columns(table)] == [name]
        assert engine.query(Statement("read", exp.select(column(name)).from_(table_expression(table)))) == [("x",)]
        with engine.transaction():
            engine.execute(Statement("stage", table_of("staging", (name, "text"))))
            engine.replace(Table(("staging",)), table)
        assert engine.relation_kind(Table(("staging",))) is None
        assert engine.query(Statement("read", exp.select(column(name)).from_(table_expression(table)))) == []

    def test_values_load_exactly(self, engine: Engine) -> None:
        engine.execute(Statement("make", table_of("t", ("n", "text"), ("v", "text"))))
        rows = [(str(position), value) for position, value in enumerate(VALUES)]
        engine.load("fill", Table(("t",)), ["n", "v"], iter(rows))
        assert sorted(query(engine, "SELECT n, v FROM t")) == sorted(rows)

    def test_loading_many_and_no_rows(self, engine: Engine) -> None:
        engine.execute(Statement("make", table_of("t", ("v", "text"), ("w", "text"))))
        engine.load("nothing", Table(("t",)), ["v", "w"], [])
        assert query(engine, "SELECT COUNT(*) FROM t") == [(0,)]
        engine.load("many", Table(("t",)), ["v", "w"], ((str(number), None) for number in range(25_000)))
        assert query(engine, "SELECT COUNT(DISTINCT v), COUNT(w) FROM t") == [(25_000, 0)]

    def test_literals_are_themselves(self, engine: Engine) -> None:
        texts = [value for value in VALUES if value is not None]
        rows = engine.query(Statement("read", exp.select(*(literal(text) for text in texts))))
        assert rows == [tuple(texts)]

    def test_text_keys_compare_byte_by_byte(self, engine: Engine) -> None:
        engine.execute(Statement("make", table_of("t", ("v", "text"))))
        engine.load("fill", Table(("t",)), ["v"], [[value] for value in VALUES for _ in range(2)])
        key = engine.traits.key(column("v"), Family.TEXT)
        groups = exp.select(exp.alias_(key, "k"), exp.Count(this=exp.Star())).from_(table_expression(Table(("t",))))
        counted = engine.query(Statement("group", groups.group_by(key.copy())))
        assert dict(counted) == dict.fromkeys(VALUES, 2)

    @pytest.mark.parametrize("kind", ["double", "float"])
    def test_floats_have_one_zero_and_one_spelling(self, engine: Engine, kind: str) -> None:
        engine.execute(Statement("make", table_of("t", ("v", kind))))
        execute(
            engine,
            "INSERT INTO t VALUES ('0'), ('-0.0'), ('NaN'), ('nan'), ('1.0'), ('0.1'), ('-2.5'), ('Infinity'),"
            " ('-Infinity'), ('1e-5'), ('1e20'), ('100000'), (NULL)",
        )
        key = engine.traits.key(column("v"), Family.FLOAT)
        inner = exp.select(exp.alias_(key, "k", quoted=True), exp.alias_(exp.Count(this=exp.Star()), "n")).from_("t")
        spelled = engine.traits.text(column("k"), Family.FLOAT)
        rows = engine.query(
            Statement("spell", exp.select(spelled, "n").from_(inner.group_by(key.copy()).subquery("g")))
        )
        assert dict(rows) == {
            "0": 2,
            "NaN": 2,
            "1": 1,
            "0.1": 1,
            "-2.5": 1,
            "Infinity": 1,
            "-Infinity": 1,
            "1e-05": 1,
            "1e+20": 1,
            "100000": 1,
            None: 1,
        }

    def test_large_floats_are_spelled_alike(self, engine: Engine) -> None:
        engine.execute(Statement("make", table_of("t", ("d", "double"), ("r", "float"))))
        execute(engine, "INSERT INTO t VALUES ('1e15', '1e6'), ('-123456789012345.0', '-999999'), ('1.5e15', '2.5e7')")
        select = exp.select(*(engine.traits.text(column(name), Family.FLOAT) for name in "dr"))
        assert sorted(engine.query(Statement("spell", select.from_("t")))) == [
            ("-123456789012345", "-999999"),
            ("1.5e+15", "2.5e+07"),
            ("1e+15", "1e+06"),
        ]

    def test_other_values_are_spelled_alike(self, engine: Engine) -> None:
        wanted = {
            "TRUE": (Family.BOOLEAN, "true"),
            "CAST('2020-01-01 00:00:00.50' AS TIMESTAMP)": (Family.TIMESTAMP, "2020-01-01 00:00:00.5"),
            "CAST('2020-02-29' AS DATE)": (Family.DATE, "2020-02-29"),
            "CAST(1.5 AS DECIMAL(5, 2))": (Family.DECIMAL, "1.50"),
            "CAST(7 AS BIGINT)": (Family.INTEGER, "7"),
        }
        spelled = [engine.traits.text(parsed(sql, engine.dialect), family) for sql, (family, _) in wanted.items()]
        assert engine.query(Statement("spell", exp.select(*spelled))) == [tuple(text for _, text in wanted.values())]

    # -- the catalog -------------------------------------------------------------------------------------------------

    def test_columns_have_families_and_types_to_cast_to(self, engine: Engine) -> None:
        wanted = {
            "text": Family.TEXT,
            "varchar": Family.TEXT,
            "char(3)": Family.TEXT,
            "smallint": Family.INTEGER,
            "int": Family.INTEGER,
            "bigint": Family.INTEGER,
            "decimal(10, 2)": Family.DECIMAL,
            "float": Family.FLOAT,
            "double": Family.FLOAT,
            "boolean": Family.BOOLEAN,
            "date": Family.DATE,
            "timestamp": Family.TIMESTAMP,
            "timestamptz": Family.TIMESTAMP_TZ,
            "uuid": Family.OTHER,
            "time": Family.OTHER,
            "interval": Family.OTHER,
        }
        engine.execute(Statement("make", table_of("t", *((f"c {kind}", kind) for kind in wanted))))
        found = engine.columns(Table(("t",)))
        assert {column.name: column.family for column in found} == {f"c {kind}": wanted[kind] for kind in wanted}
        casts = [exp.alias_(exp.Cast(this=exp.Null(), to=info.type), info.name, quoted=True) for info in found]
        assert engine.columns(Query(exp.select(*casts))) == found

    def test_enumerations_are_text(self, engine: Engine) -> None:
        execute(engine, "CREATE TYPE mood AS ENUM ('sad', 'Happy')", "CREATE TABLE t (m mood)")
        execute(engine, "INSERT INTO t VALUES ('sad'), ('Happy'), ('sad')")
        (found,) = engine.columns(Table(("t",)))
        assert found.family is Family.TEXT
        key = engine.traits.key(column("m"), found.family)
        rows = engine.query(Statement("group", exp.select(key, "COUNT(*)").from_("t").group_by(key.copy())))
        assert dict(rows) == {"sad": 2, "Happy": 1}
        assert execute(engine, "DELETE FROM t") == 3
        cast = exp.Cast(this=literal("sad"), to=found.type)
        assert engine.query(Statement("cast", exp.select(cast))) == [("sad",)]

    def test_columns_of_views_and_queries(self, engine: Engine) -> None:
        engine.execute(Statement("make", table_of("t", ("a", "int"), ("b", "text"))))
        execute(engine, "CREATE VIEW v AS SELECT b, a FROM t")
        assert [found.name for found in engine.columns(Table(("v",)))] == ["b", "a"]
        select = parse_one("SELECT b AS x, COUNT(*) AS n FROM t GROUP BY b", dialect=engine.dialect)
        assert isinstance(select, exp.Query)
        assert [(found.name, found.family) for found in engine.columns(Query(select))] == [
            ("x", Family.TEXT),
            ("n", Family.INTEGER),
        ]

    def test_what_is_not_there_is_a_source_error(self, engine: Engine) -> None:
        with pytest.raises(SourceError, match="no table or view missing"):
            engine.columns(Table(("missing",)))
        with pytest.raises(SourceError, match=r"no table or view nowhere\.missing"):
            engine.columns(Table(("nowhere", "missing")))
        with pytest.raises(SourceError, match="missing"):
            engine.columns(Query(exp.select("*").from_("missing")))
        with pytest.raises(SourceError, match="two columns named 'a'"):
            engine.columns(Query(exp.select(exp.alias_("1", "a"), exp.alias_("2", "a"))))

    def test_kinds_and_identity(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INTEGER)", "CREATE VIEW v AS SELECT a FROM t")
        ((schema,),) = query(engine, "SELECT current_schema()")
        table, view = Table(("t",)), Table(("v",))
        assert engine.relation_kind(table) == "table"
        assert engine.relation_kind(view) == "view"
        assert engine.relation_kind(Table(("missing",))) is None
        assert engine.relation_kind(Table((schema, "t"))) == "table"
        assert engine.relation_kind(Table(("nowhere", "t"))) is None
        assert [engine.has_schema(place) for place in ((), (schema,), ("nowhere",))] == [True, True, False]
        assert engine.same_object(table, Table((schema, "t")))
        assert not engine.same_object(table, view)
        assert not engine.same_object(table, Table(("missing",)))
        assert engine.same_object(Table(("missing",)), Table((schema, "missing")))

    # -- transactions --------------------------------------------------------------------------------------------------

    def test_a_failure_undoes_everything(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INTEGER)")
        failing = pytest.raises(KeyboardInterrupt)
        with failing, engine.transaction():
            execute(engine, "INSERT INTO t VALUES (1)", "CREATE TABLE u (a INTEGER)")
            raise KeyboardInterrupt
        assert query(engine, "SELECT COUNT(*) FROM t") == [(0,)]
        assert engine.relation_kind(Table(("u",))) is None

    def test_a_failing_statement_undoes_everything(self, engine: Engine) -> None:
        with pytest.raises(EngineError, match="missing"), engine.transaction():
            execute(engine, "CREATE TABLE u (a INTEGER)", "DROP TABLE missing")
        assert engine.relation_kind(Table(("u",))) is None
        with engine.transaction():
            execute(engine, "CREATE TABLE u (a INTEGER)")
        assert engine.relation_kind(Table(("u",))) == "table"

    def test_others_see_a_transaction_whole_or_not_at_all(self, engine: Engine, other: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
        with engine.transaction():
            execute(engine, "INSERT INTO t VALUES (2)")
            assert query(other, "SELECT COUNT(*) FROM t") == [(1,)]
        assert query(other, "SELECT COUNT(*) FROM t") == [(2,)]

    def test_a_transaction_reads_one_snapshot(self, engine: Engine, other: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
        with engine.transaction():
            assert query(engine, "SELECT COUNT(*) FROM t") == [(1,)]
            execute(other, "INSERT INTO t VALUES (2)")
            assert query(engine, "SELECT COUNT(*) FROM t") == [(1,)]
        assert query(engine, "SELECT COUNT(*) FROM t") == [(2,)]

    def test_transactions_do_not_nest(self, engine: Engine) -> None:
        with engine.transaction(), pytest.raises(RuntimeError, match="do not nest"), engine.transaction():
            raise AssertionError("not reached")

    def test_an_unclosed_transaction_is_rolled_back_by_closing(self, url: str, engine: Engine) -> None:
        leaving = open_at(url)
        leaving.execute(Statement("begin", exp.Transaction()))
        execute(leaving, "CREATE TABLE t (a INTEGER)")
        leaving.close()
        leaving.close()
        with pytest.raises(EngineError, match="the session is closed"):
            query(leaving, "SELECT 1")
        assert engine.relation_kind(Table(("t",))) is None

    # -- replacing -----------------------------------------------------------------------------------------------------

    def test_replace_creates_what_is_absent(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE staging AS SELECT 1 AS a")
        with engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT a FROM target") == [(1,)]
        assert engine.relation_kind(Table(("staging",))) is None

    def test_replace_across_schemas(self, engine: Engine) -> None:
        ((schema,),) = query(engine, "SELECT current_schema()")
        beside = f"{schema}_beside"
        execute(engine, f"CREATE SCHEMA {beside}", f"CREATE TABLE {beside}.staging AS SELECT 2 AS a")
        execute(engine, "CREATE TABLE target AS SELECT 1 AS a")
        try:
            with engine.transaction():
                engine.replace(Table((beside, "staging")), Table(("target",)))
            assert query(engine, "SELECT a FROM target") == [(2,)]
            assert engine.relation_kind(Table((beside, "staging"))) is None
        finally:
            execute(engine, f"DROP SCHEMA {beside} CASCADE")

    def test_replace_keeps_comments_and_indexes(self, engine: Engine) -> None:
        execute(engine, 'CREATE TABLE "the target" (a INTEGER, "b b" VARCHAR, gone INTEGER)')
        execute(
            engine, 'CREATE INDEX "index of b" ON "the target" ("b b", a)', 'CREATE UNIQUE INDEX ua ON "the target" (a)'
        )
        execute(engine, 'CREATE INDEX of_gone ON "the target" (gone)')
        execute(engine, "COMMENT ON TABLE \"the target\" IS 'it''s 100% ours'")
        execute(engine, "COMMENT ON COLUMN \"the target\".\"b b\" IS 'a ''column'''")
        execute(engine, "COMMENT ON COLUMN \"the target\".gone IS 'lost'")
        for value in (1, 2):
            execute(engine, f"CREATE TABLE staging AS SELECT {value} AS a, CAST('x' AS VARCHAR) AS \"b b\"")
            with engine.transaction():
                engine.replace(Table(("staging",)), Table(("the target",)))
            assert query(engine, 'SELECT a FROM "the target"') == [(value,)]
            assert self.comments(engine, "the target") == {None: "it's 100% ours", "b b": "a 'column'"}
            assert self.indexes(engine, "the target") == ["index of b", "ua"]
        with pytest.raises(EngineError) as refused:
            execute(engine, "INSERT INTO \"the target\" VALUES (2, 'y')")
        assert "2" not in str(refused.value).replace("23505", "")

    def test_a_failed_replace_leaves_the_old_table(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE target AS SELECT 1 AS a", "CREATE UNIQUE INDEX once ON target (a)")
        execute(engine, "CREATE TABLE staging AS SELECT 2 AS a UNION ALL SELECT 2")
        with pytest.raises(EngineError, match="cannot keep index once of target"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT a FROM target") == [(1,)]
        assert self.indexes(engine, "target") == ["once"]
        assert query(engine, "SELECT COUNT(*) FROM staging") == [(2,)]

    def test_replace_refuses_views(self, engine: Engine) -> None:
        execute(engine, "CREATE VIEW target AS SELECT 1 AS a", "CREATE TABLE staging AS SELECT 2 AS a")
        with pytest.raises(EngineError, match="target is a view"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT a FROM target") == [(1,)]

    def test_replace_needs_a_transaction(self, engine: Engine) -> None:
        with pytest.raises(RuntimeError, match="within a transaction"):
            engine.replace(Table(("staging",)), Table(("target",)))

    @abstractmethod
    def comments(self, engine: Engine, table: str) -> dict[str | None, str]:
        """The comments of a table by column, its own under None."""

    @abstractmethod
    def indexes(self, engine: Engine, table: str) -> list[str]:
        """The names of a table's indexes, sorted."""

    # -- leftovers -----------------------------------------------------------------------------------------------------

    def test_leftovers_are_those_of_dead_runs(self, engine: Engine, other: Engine) -> None:
        execute(engine, f"CREATE TABLE sqlanon_{DEAD}_groups (a INTEGER)", f"CREATE TABLE sqlanon_{RUN}_x (a INTEGER)")
        execute(engine, f"CREATE VIEW sqlanon_{DEAD}_view AS SELECT 1 AS a", "CREATE TABLE sqlanon_mine (a INTEGER)")
        execute(engine, f'CREATE TABLE "sqlanon_{DEAD}_odd name" (a INTEGER)', "CREATE TABLE target (a INTEGER)")
        dead = [Table((f"sqlanon_{DEAD}_{name}",)) for name in ("groups", "odd name", "view")]
        assert engine.leftovers(()) == dead
        assert other.leftovers(()) == dead
        ((schema,),) = query(engine, "SELECT current_schema()")
        assert engine.leftovers((schema,)) == [Table((schema, table.name)) for table in dead]
        assert engine.leftovers(("nowhere",)) == []
        engine.close()
        # A server ends a session in its own time.
        for _ in range(200):
            if Table((f"sqlanon_{RUN}_x",)) in other.leftovers(()):
                return
            time.sleep(0.05)
        pytest.fail("what a session left behind is not told as such after its end")

    # -- time limits and cancellation ----------------------------------------------------------------------------------

    def test_a_statement_out_of_time_is_stopped(self, url: str) -> None:
        engine = open_at(url, Session(run=RUN, statement_seconds=0.3))
        try:
            started = time.monotonic()
            with pytest.raises(StatementTimeout, match=r"step 'long' ran longer than 0\.3 seconds"):
                query(engine, self.LONG_STATEMENT, step="long")
            assert time.monotonic() - started < SOON
            # A machine with much to do may need longer than that for the shortest statement.
            engine._bound(60)
            assert query(engine, "SELECT 1") == [(1,)]
            stopped = pytest.raises(StatementTimeout)
            with stopped, engine.transaction():
                execute(engine, "CREATE TABLE t (a INTEGER)")
                engine._bound(0.3)
                query(engine, self.LONG_STATEMENT, step="long")
            engine._bound(60)
            assert engine.relation_kind(Table(("t",))) is None
        finally:
            engine.close()

    def test_cancel_from_another_thread(self, engine: Engine) -> None:
        ended = threading.Event()

        def cancel() -> None:
            # The first may come before the statement has begun.
            while not ended.wait(0.5):
                engine.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        try:
            with pytest.raises(EngineError, match="step 'long' was cancelled") as cancelled:
                query(engine, self.LONG_STATEMENT, step="long")
        finally:
            ended.set()
            thread.join()
        assert not isinstance(cancelled.value, StatementTimeout)
        assert query(engine, "SELECT 1") == [(1,)]

    def test_interrupt_stops_the_statement_and_leaves_the_session_usable(self, url: str) -> None:
        process = interrupt_program(url, RUN, self.LONG_STATEMENT)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            time.sleep(0.7)
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "clean\n", process.communicate(timeout=60)[1]
            assert time.monotonic() - started < SOON
            self.assert_nothing_runs(url)
            _, errors = process.communicate("\n", timeout=60)
            assert (process.returncode, errors) == (0, "")
        finally:
            process.kill()
            process.communicate()
        engine = open_at(url)
        try:
            assert engine.relation_kind(Table(("before_it",))) is None
            assert engine.relation_kind(Table(("within_it",))) is None
        finally:
            engine.close()

    @abstractmethod
    def assert_nothing_runs(self, url: str) -> None:
        """Look for statements that still run after Ctrl-C, where the engine can tell."""

    # -- errors --------------------------------------------------------------------------------------------------------

    def test_errors_about_names_say_the_name_and_no_statement(self, engine: Engine) -> None:
        with pytest.raises(EngineError) as error:
            query(engine, "SELECT 'secret value' FROM missing_table", step="look")
        assert "step 'look'" in str(error.value)
        assert "missing_table" in str(error.value)
        assert "secret value" not in str(error.value)
        assert "\n" not in str(error.value)
        assert error.value.__cause__ is None

    def test_errors_about_values_say_no_value(self, engine: Engine) -> None:
        engine.execute(Statement("make", table_of("t", ("a", "text"))))
        engine.load("fill", Table(("t",)), ["a"], [["secret value"]])
        with pytest.raises(EngineError) as error:
            query(engine, "SELECT CAST(a AS INTEGER) FROM t", step="convert")
        assert "step 'convert'" in str(error.value)
        assert "secret" not in str(error.value)
        assert "secret value" in error.value.detail
        assert not isinstance(error.value, ConnectionFailed)

    def test_errors_while_loading(self, engine: Engine) -> None:
        with pytest.raises(EngineError, match=r"step 'fill'.*missing"):
            engine.load("fill", Table(("missing",)), ["a"], [["x"]])
        assert query(engine, "SELECT 1") == [(1,)]

    def test_capabilities_are_stated(self, engine: Engine) -> None:
        assert engine.capabilities <= set(Capability)
        assert engine.traits.dialect == engine.dialect
