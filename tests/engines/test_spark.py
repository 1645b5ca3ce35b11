"""The contract on Spark, and what only Spark has. One Spark on two cores serves all of these tests."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sqlglot import exp

from sqlanon.engines.base import Capability, Engine, Session, Statement, TraceEvent
from sqlanon.engines.spark import session as spark_start
from sqlanon.engines.spark.base import FEW
from sqlanon.engines.spark.catalog import Details, read_details
from sqlanon.engines.spark.engine import SparkEngine
from sqlanon.engines.spark.replacement import SETTING, create_or_replace
from sqlanon.engines.spark.session import Master
from sqlanon.errors import ConnectionFailed, EngineError, SourceError, StatementTimeout, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import File, Query, Table, column, literal
from tests.engines.contract import DEAD, NAMES, RUN, VALUES, EngineContract, table_of
from tests.kit.engine import execute, open_at, query

pytestmark = pytest.mark.spark

"""All that the catalog of Spark takes as names of tables: letters of ASCII, digits and underscores."""

TYPES = {
    "text": Family.TEXT,
    "varchar(7)": Family.TEXT,
    "char(3)": Family.TEXT,
    "tinyint": Family.INTEGER,
    "smallint": Family.INTEGER,
    "int": Family.INTEGER,
    "bigint": Family.INTEGER,
    "decimal(10, 2)": Family.DECIMAL,
    "float": Family.FLOAT,
    "double": Family.FLOAT,
    "boolean": Family.BOOLEAN,
    "date": Family.DATE,
    "timestamp_ntz": Family.TIMESTAMP,
    "timestamp": Family.TIMESTAMP_TZ,
    "binary": Family.OTHER,
    "array<int>": Family.OTHER,
}


def grouped(engine: Engine, name: str) -> dict[object, int]:
    key = engine.traits.key(column(name), Family.TEXT)
    counted = exp.select(exp.alias_(key, "k"), exp.Count(this=exp.Star())).from_("t").group_by(key.copy())
    return dict(engine.query(Statement("group", counted)))


class TestSpark(EngineContract):
    NAMES_OF_TABLES: ClassVar[list[str]] = ["plain", "CAPITALS", "select"]
    LONG_STATEMENT: ClassVar[str] = "SELECT COUNT(*) FROM range(100000000000) AS a, range(1000) AS b"

    @pytest.fixture
    def url(self, spark_url: str) -> str:
        return spark_url

    def assert_nothing_runs(self, url: str) -> None:
        """Spark runs in the process that was interrupted, which has used its session since."""

    def comments(self, engine: Engine, table: str) -> dict[str | None, str]:
        rows = query(engine, f"DESCRIBE EXTENDED {table}")
        names = {info.name for info in engine.columns(Table((table,)))}
        found: dict[str | None, str] = {name: comment for name, _, comment in rows if name in names and comment}
        own: list[tuple[str | None, str]] = [(None, kind) for name, kind, _ in rows if name == "Comment"]
        return found | dict(own)

    def indexes(self, engine: Engine, table: str) -> list[str]:
        return []

    # -- what differs: rows touched, names, types ------------------------------------------------------------------

    def test_rows_touched_are_counted(self, engine: Engine) -> None:
        """Spark does not tell."""
        assert execute(engine, "CREATE TABLE t AS SELECT 1 AS a") == -1
        assert execute(engine, "INSERT INTO t VALUES (2), (3)") == -1
        assert sorted(query(engine, "SELECT a FROM t")) == [(1,), (2,), (3,)]

    def test_the_session_speaks_utc(self, engine: Engine) -> None:
        moment = exp.cast(literal("2020-01-01 00:30:00+02"), "timestamp", dialect="spark")
        spelled = engine.traits.text(moment, Family.TIMESTAMP_TZ)
        day = exp.cast(exp.cast(moment.copy(), "date"), "text")
        rows = engine.query(Statement("spell", exp.select(spelled, day)))
        assert rows == [("2019-12-31 22:30:00+00", "2019-12-31")]

    def test_any_name_of_a_column_means_itself(self, engine: Engine) -> None:
        names = [name for name in NAMES if name.lower() != "plain"]
        engine.execute(Statement("make", table_of("t", *((name, "text") for name in names))))
        engine.load("fill", Table(("t",)), names, [names])
        assert [found.name for found in engine.columns(Table(("t",)))] == names
        columns = [column(name) for name in names]
        assert engine.query(Statement("read", exp.select(*columns).from_("t"))) == [tuple(names)]

    def test_names_of_tables_that_the_catalog_refuses(self, engine: Engine) -> None:
        with pytest.raises(EngineError, match="`two words` is not a valid name for tables"):
            engine.execute(Statement("make", table_of("two words", ("a", "int"))))
        assert engine.relation_kind(Table(("two words",))) is None

    def test_columns_have_families_and_types_to_cast_to(self, engine: Engine) -> None:
        execute(engine, f"CREATE TABLE t ({', '.join(f'`c {kind}` {kind}' for kind in TYPES if kind != 'text')})")
        found = engine.columns(Table(("t",)))
        assert {info.name: info.family for info in found} == {
            f"c {kind}": family for kind, family in TYPES.items() if kind != "text"
        }
        casts = [exp.alias_(exp.Cast(this=exp.Null(), to=info.type), info.name, quoted=True) for info in found]
        assert engine.columns(Query(exp.select(*casts))) == found

    def test_enumerations_are_text(self, engine: Engine) -> None:
        """There are none; but texts that ignore case, and texts of fixed length."""
        execute(engine, "CREATE TABLE t (a STRING COLLATE UTF8_LCASE, b CHAR(3), c VARCHAR(3))")
        execute(engine, "INSERT INTO t VALUES ('a', 'a', 'a '), ('A', 'a', 'a'), ('a', 'abc', 'a'), (NULL, NULL, NULL)")
        assert [info.family for info in engine.columns(Table(("t",)))] == [Family.TEXT] * 3
        assert grouped(engine, "a") == {"a": 2, "A": 1, None: 1}
        assert grouped(engine, "b") == {"a": 2, "abc": 1, None: 1}
        assert grouped(engine, "c") == {"a ": 1, "a": 2, None: 1}

    def test_variables_are_not_replaced(self, engine: Engine) -> None:
        texts = ["${HOME}", "${env:HOME}", "${spark.app.name}"]
        assert engine.query(Statement("read", exp.select(*map(literal, texts)))) == [tuple(texts)]

    # -- what differs: no transactions -----------------------------------------------------------------------------

    def test_a_failure_undoes_everything(self, engine: Engine) -> None:
        """What was created is dropped. Rows that were inserted stay: publishing inserts none."""
        execute(engine, "CREATE TABLE t (a INTEGER)")
        failing = pytest.raises(KeyboardInterrupt)
        with failing, engine.transaction():
            execute(engine, "INSERT INTO t VALUES (1)", "CREATE TABLE u AS SELECT 1 AS a")
            execute(engine, "CREATE VIEW v AS SELECT 1 AS a", "CREATE OR REPLACE VIEW w AS SELECT 1 AS a")
            raise KeyboardInterrupt
        assert query(engine, "SELECT COUNT(*) FROM t") == [(1,)]
        assert [engine.relation_kind(Table((name,))) for name in "tuvw"] == ["table", None, None, "view"]

    def test_others_see_a_transaction_whole_or_not_at_all(self, engine: Engine, other: Engine) -> None:
        """They see what is created as it is created: staging tables have names that nobody reads."""
        with engine.transaction():
            execute(engine, "CREATE TABLE t AS SELECT 1 AS a")
            assert query(other, "SELECT COUNT(*) FROM t") == [(1,)]

    def test_a_transaction_reads_one_snapshot(self, engine: Engine, other: Engine) -> None:
        """Each statement reads the table as it is; a release is audited and counted as it was written."""
        execute(engine, "CREATE TABLE t AS SELECT 1 AS a")
        with engine.transaction():
            assert query(engine, "SELECT COUNT(*) FROM t") == [(1,)]
            execute(other, "INSERT INTO t VALUES (2)")
            engine.columns(Table(("t",)))
            assert query(engine, "SELECT COUNT(*) FROM t") == [(2,)]

    def test_an_unclosed_transaction_is_rolled_back_by_closing(self, url: str, engine: Engine) -> None:
        leaving = open_at(url)
        block = leaving.transaction()
        block.__enter__()
        execute(leaving, "CREATE TABLE t (a INTEGER)")
        leaving.close()
        leaving.close()
        with pytest.raises(EngineError, match="the session is closed"):
            query(leaving, "SELECT 1")
        assert engine.relation_kind(Table(("t",))) is None

    # -- what differs: replacing -----------------------------------------------------------------------------------

    def test_replace_keeps_comments_and_indexes(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE target (a INT, `b b` STRING COMMENT 'a \\'column\\'', gone INT COMMENT 'lost')")
        execute(engine, "COMMENT ON TABLE target IS 'it\\'s 100% ours'")
        execute(engine, "ALTER TABLE target SET TBLPROPERTIES ('owner of it' = 'us')")
        for value in (1, 2):
            execute(engine, f"CREATE TABLE staging AS SELECT {value} AS a, 'x' AS `b b`")
            with engine.transaction():
                engine.replace(Table(("staging",)), Table(("target",)))
            assert engine.swapped == "by two renames: for a moment the target had no table"
            assert query(engine, "SELECT a FROM target") == [(value,)]
            assert self.comments(engine, "target") == {None: "it's 100% ours", "b b": "a 'column'"}
            assert ("owner of it", "us") in query(engine, "SHOW TBLPROPERTIES target")

    def test_a_failed_replace_leaves_the_old_table(self, engine: Engine) -> None:
        """The second of the two renames fails."""
        execute(engine, "CREATE TABLE target AS SELECT 1 AS a", "CREATE TABLE staging AS SELECT 2 AS a")
        seen: list[str] = []

        def fail_once(event: TraceEvent) -> None:
            seen.append(event.sql)
            if event.sql.endswith("`staging` RENAME TO `target`"):
                raise EngineError("as if the catalog had refused")

        engine.session.hooks.append(fail_once)
        with pytest.raises(EngineError, match="as if the catalog had refused"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert any("`target` RENAME TO `sqlanon_" in sql for sql in seen)
        assert query(engine, "SELECT a FROM target") == [(1,)]
        assert query(engine, "SELECT a FROM staging") == [(2,)]
        assert [name for _, name, _ in query(engine, "SHOW TABLES")] == ["staging", "target"]

    def test_tables_that_would_end_with_the_process_are_refused(self, engine: SparkEngine) -> None:
        engine.opened = engine.opened._replace(fleeting=True)
        execute(engine, "CREATE TABLE staging AS SELECT 2 AS a")
        with pytest.raises(EngineError, match="would end with this process"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert engine.relation_kind(Table(("target",))) is None

    @pytest.mark.parametrize(
        ("made", "reason"),
        [
            ("(a INT) USING orc", "stored as orc, the release as parquet"),
            ("(a INT, b INT) USING parquet PARTITIONED BY (b)", "partitioned or bucketed"),
            ("(a INT) USING parquet CLUSTERED BY (a) INTO 2 BUCKETS", "partitioned or bucketed"),
        ],
    )
    def test_targets_that_would_lose_something_are_refused(self, engine: Engine, made: str, reason: str) -> None:
        execute(engine, f"CREATE TABLE target {made}", "CREATE TABLE staging AS SELECT 2 AS a")
        with pytest.raises(EngineError, match=reason), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT COUNT(*) FROM target") == [(0,)]

    def test_external_targets_are_refused(self, engine: Engine, tmp_path: Path) -> None:
        execute(engine, f"CREATE TABLE target USING parquet LOCATION '{tmp_path}/x' AS SELECT 1 AS a")
        execute(engine, "CREATE TABLE staging AS SELECT 2 AS a")
        with pytest.raises(EngineError, match="external table, whose files would stay"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT a FROM target") == [(1,)]

    def test_a_release_is_published_by_repointing_a_view(self, engine: SparkEngine) -> None:
        """From the first on one statement changes what the target shows, and it names what is there already."""
        engine.on_spark("test", "views", lambda spark: spark.conf.set(SETTING, "view"))
        seen: list[str] = []
        engine.session.hooks.append(lambda event: seen.append(event.sql.partition("*/ ")[2]))
        for value in (1, 2):
            execute(engine, f"CREATE TABLE staging AS SELECT {value} AS a")
            seen.clear()
            with engine.transaction():
                engine.replace(Table(("staging",)), Table(("target",)))
            assert engine.swapped == "by repointing a view"
            assert len({sql for sql in seen if "`target`" in sql and not sql.startswith("DESCRIBE")}) == 1
            assert query(engine, "SELECT a FROM target") == [(value,)]
            [shown] = [name for _, name, _ in query(engine, "SHOW TABLES") if name != "target"]
            assert shown.startswith("target_release_")
            execute(engine, f"CREATE TABLE target_release_{DEAD} (a INT)")
            execute(engine, "ALTER VIEW target SET TBLPROPERTIES ('owner of it' = 'us')")
        assert engine.relation_kind(Table(("target",))) == "view"
        assert ("owner of it", "us") in query(engine, "SHOW TBLPROPERTIES target")

    def test_a_view_that_cannot_be_repointed_shows_the_old_release(self, engine: SparkEngine) -> None:
        engine.on_spark("test", "views", lambda spark: spark.conf.set(SETTING, "view"))
        execute(engine, "CREATE TABLE staging AS SELECT 1 AS a")
        with engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        before = query(engine, "SHOW TABLES")

        def fail(event: TraceEvent) -> None:
            if "CREATE OR REPLACE VIEW" in event.sql:
                raise EngineError("as if the catalog had refused")

        execute(engine, "CREATE TABLE staging AS SELECT 2 AS a")
        engine.session.hooks.append(fail)
        with pytest.raises(EngineError, match="as if the catalog had refused"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT a FROM target") == [(1,)]
        assert query(engine, "SHOW TABLES") == before

    def test_views_of_others_are_not_repointed(self, engine: SparkEngine) -> None:
        execute(engine, "CREATE VIEW target AS SELECT 1 AS a", "CREATE TABLE staging AS SELECT 2 AS a")
        with pytest.raises(EngineError, match="the target target is a view"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        engine.on_spark("test", "neither", lambda spark: spark.conf.set(SETTING, "file"))
        with pytest.raises(UsageError, match="is table or view, not 'file'"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("elsewhere",)))

    # -- what differs: leftovers -----------------------------------------------------------------------------------

    def test_leftovers_are_those_of_dead_runs(self, engine: Engine, other: Engine) -> None:
        execute(engine, f"CREATE TABLE sqlanon_{DEAD}_groups (a INT)", f"CREATE TABLE sqlanon_{RUN}_x (a INT)")
        execute(engine, f"CREATE VIEW sqlanon_{DEAD}_view AS SELECT 1 AS a", "CREATE TABLE sqlanon_mine (a INT)")
        execute(engine, "CREATE TABLE target (a INT)")
        dead = [Table((f"sqlanon_{DEAD}_{name}",)) for name in ("groups", "view")]
        assert engine.leftovers(()) == dead
        assert other.leftovers(()) == dead
        ((schema,),) = query(engine, "SELECT current_schema()")
        assert engine.leftovers((schema,)) == [Table((schema, table.name)) for table in dead]
        assert engine.leftovers(("nowhere",)) == []
        engine.close()
        assert Table((f"sqlanon_{RUN}_x",)) in other.leftovers(())

    def test_a_target_that_a_dead_run_had_moved_away_comes_back(self, engine: Engine) -> None:
        moved = f"sqlanon_{DEAD}_replaced_1700000000_target"
        execute(engine, f"CREATE TABLE {moved} AS SELECT 1 AS a", f"CREATE TABLE sqlanon_{DEAD}_staging (a INT)")
        assert engine.leftovers(()) == [Table((f"sqlanon_{DEAD}_staging",))]
        assert query(engine, "SELECT a FROM target") == [(1,)]
        execute(engine, f"ALTER TABLE target RENAME TO {moved}")
        assert engine.relation_kind(Table(("TARGET",))) == "table"
        execute(engine, f"CREATE TABLE {moved} AS SELECT 0 AS a")
        assert Table((moved,)) in engine.leftovers(())
        assert query(engine, "SELECT a FROM target") == [(1,)]

    def test_where_others_use_the_catalog_only_the_old_is_left_over(self, engine: SparkEngine) -> None:
        recent, old = (f"sqlanon_{DEAD}_replaced_{int(time.time()) - age}_t" for age in (60, 200_000))
        execute(engine, "CREATE TABLE t (a INT)", f"CREATE TABLE sqlanon_{DEAD}_groups (a INT)")
        execute(engine, f"CREATE TABLE {recent} (a INT)", f"CREATE TABLE {old} (a INT)")
        assert {table.name for table in engine.leftovers(())} == {f"sqlanon_{DEAD}_groups", recent, old}
        engine.opened = engine.opened._replace(alone=False)
        assert engine.leftovers(()) == [Table((old,))]

    # -- stopping --------------------------------------------------------------------------------------------------

    def test_a_statement_out_of_time_is_stopped(self, url: str) -> None:
        """The limit is set for the long statement alone: on a busy machine Spark takes as long for the shortest."""
        session = Session(run=RUN)
        engine = open_at(url, session)
        session.statement_seconds = 0.3
        with pytest.raises(StatementTimeout, match=r"step 'long' ran longer than 0\.3 seconds"):
            query(engine, self.LONG_STATEMENT, step="long")
        session.statement_seconds = None
        assert query(engine, "SELECT 1") == [(1,)]
        stopped = pytest.raises(StatementTimeout)
        with stopped, engine.transaction():
            execute(engine, "CREATE TABLE t (a INTEGER)")
            session.statement_seconds = 0.3
            query(engine, self.LONG_STATEMENT, step="long")
        assert session.statement_seconds == 0.3
        session.statement_seconds = None
        assert engine.relation_kind(Table(("t",))) is None
        engine.close()

    def test_interrupt_stops_the_statement_and_leaves_the_session_usable(self, url: str) -> None:
        """In this process: starting another Spark takes long. `test_spark_cluster` looks at one that is another."""
        engine = open_at(url)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        timer = threading.Timer(0.5, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
        stopped = pytest.raises(KeyboardInterrupt)
        try:
            with stopped, engine.transaction():
                execute(engine, "CREATE TABLE within_it (a INTEGER)")
                timer.start()
                execute(engine, self.LONG_STATEMENT, step="long")
            assert query(engine, "SELECT 1") == [(1,)]
            assert engine.relation_kind(Table(("within_it",))) is None
        finally:
            timer.cancel()
            signal.signal(signal.SIGINT, before)
            engine.close()

    # -- views, capabilities ---------------------------------------------------------------------------------------

    def test_views_are_followed_to_what_they_read(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INT)", "CREATE VIEW v AS SELECT a FROM t")
        execute(engine, "CREATE TEMPORARY VIEW w AS SELECT a FROM v")
        assert engine.reads(Table(("w",)), Table(("t",)))
        assert engine.reads(Query(exp.select("a").from_("w")), Table(("t",)))
        assert not engine.reads(Table(("t",)), Table(("v",)))

    def test_what_is_read_often_is_held_in_memory(self, engine: SparkEngine) -> None:
        execute(engine, "CREATE TABLE t AS SELECT 1 AS a")
        assert engine.hold("hold", Table(("t",)))
        assert engine.on_spark("test", "is it held", lambda spark: spark.catalog.isCached("t"))
        execute(engine, "DROP TABLE t", "CREATE TABLE t AS SELECT 2 AS a")
        assert not engine.on_spark("test", "is it held", lambda spark: spark.catalog.isCached("t"))
        assert query(engine, "SELECT a FROM t") == [(2,)]

    def test_settings_for_few_rows_end_with_the_block(self, engine: SparkEngine) -> None:
        """Also where a statement fails; what was set before is what stands afterwards."""
        name = "spark.sql.shuffle.partitions"

        def partitions() -> object:
            return engine.on_spark("session", "partitions", lambda spark: spark.conf.get(name))

        engine.on_spark("session", "partitions", lambda spark: spark.conf.set(name, "7"))
        with engine.few_rows(FEW + 1):
            assert partitions() == "7"
        with engine.few_rows(FEW):
            assert partitions() == "1"
        assert partitions() == "7"
        with pytest.raises(SourceError), engine.few_rows(1):
            engine.columns(Table(("missing",)))
        assert partitions() == "7"

    def test_labels_are_gathered_into_one_task(self, engine: SparkEngine) -> None:
        """Whatever the rows come from, they are all there, and windows over them need no exchange."""
        execute(engine, "CREATE TABLE t AS SELECT id FROM range(0, 100, 1, 5)")
        rows = engine.traits.gathered(exp.select(column("id")).from_(exp.to_table("t")))
        ranked = "SELECT id, dense_rank() OVER (PARTITION BY id % 3 ORDER BY id) AS place"
        found = query(engine, f"{ranked} FROM ({engine.traits.render(rows)})")
        assert sorted(number for number, _ in found) == list(range(100))
        ((plan,),) = query(engine, f"EXPLAIN {ranked} FROM ({engine.traits.render(rows)})")
        assert "Window" in plan
        assert "Exchange" not in plan

    def test_capabilities(self, engine: Engine) -> None:
        assert engine.capabilities == {Capability.FILE_SOURCES, Capability.FILE_TARGETS, Capability.SERVER}

    def test_errors_leave_nothing_on_the_terminal(self, engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(EngineError) as error:
            query(engine, "SELECT CAST('secret value' AS INT)")
        assert "\n" not in str(error.value)
        assert "at org.apache" not in error.value.detail
        assert capfd.readouterr() == ("", "")


class TestFiles:
    @pytest.fixture
    def engine(self, spark_url: str) -> Engine:
        return open_at(spark_url)

    def test_types_are_decided_by_the_whole_file(self, engine: Engine, tmp_path: Path) -> None:
        rows = [
            "zip;n;f;d;t;z;b;e;x",
            "02139;1;1.5;2020-02-29;2020-01-01 10:00:00;2020-01-01T10:00:00Z;true;;1",
            "94138;-2;1e5;2021-01-01;2020-01-01 10:00:00.5;2020-01-01 10:00:00+02;false;;2020-02-30",
            ";;;;;;;;",
        ]
        path = tmp_path / "it's a file.csv"
        path.write_text("\n".join(rows) + "\n")
        found = {info.name: info.family for info in engine.columns(File(str(path), "csv"))}
        kinds = [Family.TEXT, Family.INTEGER, Family.FLOAT, Family.DATE, Family.TIMESTAMP, Family.TIMESTAMP_TZ]
        assert list(found) == ["zip", "n", "f", "d", "t", "z", "b", "e", "x"]
        assert list(found.values()) == [*kinds, Family.BOOLEAN, Family.TEXT, Family.TEXT]

    @pytest.mark.parametrize("format_", ["csv", "tsv", "parquet"])
    def test_written_files_read_back(self, engine: Engine, tmp_path: Path, format_: Any) -> None:
        file = File(str(tmp_path / f"it's a `file`.{format_}"), format_)
        Path(file.path).write_text("old")
        leftover = tmp_path / f".{Path(file.path).name}.{RUN}.999999999.partial"
        leftover.mkdir()
        engine.execute(Statement("make", table_of("t", ("v", "text"), ("w w", "text"))))
        engine.load("fill", Table(("t",)), ["v", "w w"], [[value, "x"] for value in VALUES])
        engine.write_file("write", Table(("t",)), file)
        assert [info.name for info in engine.columns(file)] == ["v", "w w"]
        read = exp.select(column("v", "f")).from_(engine.traits.relation(file, "f"))
        values = {value for (value,) in engine.query(Statement("read", read))}
        # In csv an empty field reads back as NULL, as it does on DuckDB.
        assert values == (set(VALUES) if format_ == "parquet" else set(VALUES) - {""})
        assert [entry.name for entry in tmp_path.iterdir()] == [Path(file.path).name]

    def test_a_failed_write_leaves_the_old_file(self, engine: Engine, tmp_path: Path) -> None:
        path = tmp_path / "out.csv"
        path.write_text("old")
        with pytest.raises(EngineError, match="missing"):
            engine.write_file("write", Table(("missing",)), File(str(path), "csv"))
        execute(engine, "CREATE VIEW v AS SELECT CAST('x' || id AS INT) AS a FROM range(10)")
        with pytest.raises(EngineError, match="cast invalid input"):
            engine.write_file("write", Table(("v",)), File(str(path), "csv"))
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("format_", ["csv", "parquet"])
    def test_files_that_cannot_be_read_are_source_errors(self, engine: Engine, tmp_path: Path, format_: Any) -> None:
        with pytest.raises(SourceError, match=r"cannot read .*missing file.*Path does not exist"):
            engine.columns(File(str(tmp_path / "missing file"), format_))
        (tmp_path / "broken").write_text('a,b\n"1,2\n')
        if format_ == "parquet":
            with pytest.raises(SourceError, match=r"cannot read .*broken"):
                engine.columns(File(str(tmp_path / "broken"), format_))


class TestReplacingAtOnce:
    """Formats that need packages of their own are not installed: the statement is looked at, not run."""

    def test_versioned_formats_are_replaced_in_one_commit(self) -> None:
        statement = create_or_replace(Table(("s", "staging")), Table(("s", "target")), "delta")
        sql = "CREATE OR REPLACE TABLE `s`.`target` USING DELTA AS SELECT * FROM `s`.`staging`"
        assert statement.sql("spark") == sql

    def test_what_the_catalog_does_not_say_is_not_known(self) -> None:
        assert read_details({"created_time": "UNKNOWN"}) == Details()


class TestOpening:
    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("spark://", "a Spark URL is spark://active"),
            ("spark://local[two]", "a Spark URL is spark://active"),
            ("spark://local[2]?master=x", "settings that begin with 'spark.', not 'master'"),
            ("spark://active?spark.x=1", "set it up where it is made"),
            ("sc://:1", "a Spark Connect URL is sc://host:port"),
        ],
    )
    def test_urls_that_mean_nothing(self, url: str, reason: str) -> None:
        with pytest.raises(UsageError, match=reason) as refused:
            open_at(url)
        assert refused.value.exit_code == 2

    def test_cores_of_one_machine(self) -> None:
        names = ("local", "local[3]", "local[2,4]", "local-cluster[2,3,512]", "yarn", "spark://a:7077")
        assert [Master(name).cores for name in names] == [1, 3, 2, 6, None, None]
        assert Master("local[*]").cores == os.cpu_count()

    def test_missing_packages_and_missing_java(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(ConnectionFailed, match="needs Java 17 or newer: install it"):
            spark_start._require_java()
        monkeypatch.setitem(sys.modules, "pyspark.logger", None)
        with pytest.raises(UsageError, match=re.escape("pip install 'sqlanon[spark]'")):
            open_at("spark://local")

    def test_a_java_that_is_too_old(self) -> None:
        error = spark_start._did_not_start("... java.lang.UnsupportedClassVersionError: ...", "gone")
        assert str(error).endswith("names is older")
        assert spark_start._did_not_start("what it said", "gone").detail == "what it said\ngone"

    def test_nobody_listens(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            with pytest.raises(ConnectionFailed, match=r"cannot reach .* 127\.0\.0\.1:\d+: Connection refused"):
                open_at(f"sc://127.0.0.1:{unused.getsockname()[1]}/;token=secret")

    def test_one_process_has_one_spark(self, spark_url: str) -> None:
        open_at(spark_url).close()
        with pytest.raises(UsageError, match=r"already, as local\[2\]"):
            open_at("spark://local[3]")
        with pytest.raises(UsageError, match=r"'spark\.driver\.memory' can only be set when it starts"):
            open_at("spark://local[2]?spark.driver.memory=3g")
        with pytest.raises(ConnectionFailed, match="no schema 'nowhere'"):
            open_at("spark://local[2]/nowhere")

    def test_a_borrowed_session_gets_its_settings_back(self, spark_url: str) -> None:
        from pyspark.sql import SparkSession

        open_at(spark_url).close()
        session = SparkSession.builder.getOrCreate()
        session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        session.sql("SELECT 1 AS a").createOrReplaceTempView("of_mine")
        engine = open_at("spark://active")
        assert query(engine, "SELECT CAST(TIMESTAMP '2020-01-01 00:00:00' AS STRING) FROM of_mine") == [
            ("2020-01-01 00:00:00",)
        ]
        assert session.conf.get("spark.sql.session.timeZone") == "UTC"
        engine.close()
        assert session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
        assert session.sql("SELECT a FROM of_mine").collect()[0][0] == 1

    def test_what_a_reading_costs(self, spark_url: str) -> None:
        engine = open_at(spark_url)
        execute(engine, "CREATE TABLE t AS SELECT id FROM range(1000)", "CREATE VIEW v AS SELECT id FROM t")
        known = engine.scan_bytes(Table(("t",)))
        assert known is not None
        assert 1000 < known < 100_000
        assert engine.scan_bytes(Table(("v",))) == known
        assert engine.scan_bytes(File("/no/such/file.parquet", "parquet")) is None
        assert engine.version().startswith("Spark 4.")
        engine.close()
