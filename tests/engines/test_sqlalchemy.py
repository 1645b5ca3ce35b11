"""The contract on the generic engine, proven on SQLite; what SQLite has otherwise is said test by test.

SQLite has no types of columns beyond affinities, no schemas to create, no comments and no sessions that wait.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sqlalchemy.engine import make_url
from sqlglot import exp, parse_one

from sqlanon import pipeline
from sqlanon.engines.base import Capability, Engine, Session, Statement
from sqlanon.engines.dialects import parsed
from sqlanon.engines.sqlalchemy import probe as sqlalchemy_probe
from sqlanon.engines.sqlalchemy.base import _plain
from sqlanon.engines.sqlalchemy.engine import SQLAlchemyEngine
from sqlanon.engines.sqlalchemy.traits import TRAITS, SQLiteTraits
from sqlanon.errors import ConnectionFailed, EngineError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.source.run import Options
from sqlanon.spec import spec_from_dict
from sqlanon.sql.relations import Query, Table, column, literal
from tests.engines.contract import DEAD, RUN, EngineContract, table_of
from tests.kit.database import Database, case_spec
from tests.kit.engine import execute, open_at, query
from tests.kit.papers import Case, load_case


class TestSQLite(EngineContract):
    LONG_STATEMENT: ClassVar[str] = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000000) SELECT COUNT(*) FROM n"
    )

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path}/test.db"

    def assert_nothing_runs(self, url: str) -> None:
        """SQLite runs in the process that was interrupted; a lock it still held would be felt here."""
        with sqlite3.connect(url.removeprefix("sqlite:///"), timeout=0) as connection:
            connection.execute("CREATE TABLE afterwards (a INTEGER)")
            connection.execute("DROP TABLE afterwards")
        connection.close()

    def comments(self, engine: Engine, table: str) -> dict[str | None, str]:
        return {}

    def indexes(self, engine: Engine, table: str) -> list[str]:
        found = query(engine, f"SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = '{table}'")
        return sorted(name for (name,) in found)

    # -- what differs: rows touched, types -------------------------------------------------------------------------

    def test_rows_touched_are_counted(self, engine: Engine) -> None:
        """Not those of CREATE TABLE ... AS."""
        engine.execute(Statement("make", table_of("t", ("a", "int"))))
        assert execute(engine, "INSERT INTO t VALUES (1), (2), (3)") == 3
        assert execute(engine, "DELETE FROM t WHERE a > 1") == 2
        assert execute(engine, "CREATE TABLE u AS SELECT * FROM t") == -1

    def test_the_session_speaks_utc(self, engine: Engine) -> None:
        """There are no time zones: such a column holds the text it was given."""
        engine.execute(Statement("make", table_of("t", ("a", "timestamptz"))))
        execute(engine, "INSERT INTO t VALUES ('2020-01-01 00:30:00+02')")
        (found,) = engine.columns(Table(("t",)))
        assert found.family is Family.TEXT
        key = engine.traits.key(column("a"), found.family)
        assert engine.query(Statement("read", exp.select(key).from_("t"))) == [("2020-01-01 00:30:00+02",)]

    @pytest.mark.parametrize("kind", ["double", "float"])
    def test_floats_have_one_zero_and_one_spelling(self, engine: Engine, kind: str) -> None:
        """Decimals are not exact, so that no interval is computed of floats: they are read as the texts they print."""
        engine.execute(Statement("make", table_of("t", ("v", kind))))
        execute(engine, "INSERT INTO t VALUES ('0'), ('-0.0'), ('1.0'), ('0.1'), ('-2.5'), ('1e20'), ('NaN'), (NULL)")
        (found,) = engine.columns(Table(("t",)))
        assert found.family is Family.TEXT
        key = engine.traits.key(column("v"), found.family)
        counted = exp.select(exp.alias_(key, "k"), exp.Count(this=exp.Star())).from_("t").group_by(key.copy())
        wanted = {"0.0": 2, "1.0": 1, "0.1": 1, "-2.5": 1, "1.0e+20": 1, "NaN": 1, None: 1}
        assert dict(engine.query(Statement("spell", counted))) == wanted

    def test_large_floats_are_spelled_alike(self, engine: Engine) -> None:
        """Fifteen digits and an exponent."""
        execute(engine, "CREATE TABLE t (d REAL)", "INSERT INTO t VALUES (1e15), (-123456789012345.0), (1.5e15)")
        spelled = exp.select(engine.traits.key(column("d"), Family.TEXT)).from_("t")
        rows = sorted(engine.query(Statement("spell", spelled)))
        assert rows == [("-123456789012345.0",), ("1.0e+15",), ("1.5e+15",)]

    def test_other_values_are_spelled_alike(self, engine: Engine) -> None:
        """Whole numbers and dates are; a boolean is a number, a decimal a float."""
        values = {"CAST(7 AS BIGINT)": (Family.INTEGER, "7"), "CAST('2020-02-29' AS DATE)": (Family.DATE, "2020-02-29")}
        spelled = [engine.traits.text(parsed(sql, "duckdb"), family) for sql, (family, _) in values.items()]
        assert engine.query(Statement("spell", exp.select(*spelled))) == [tuple(text for _, text in values.values())]

    def test_columns_have_families_and_types_to_cast_to(self, engine: Engine) -> None:
        """A family whose values SQLite lacks or spells differently is text."""
        wanted = {"text": Family.TEXT, "varchar(3)": Family.TEXT, "char(3)": Family.TEXT, "date": Family.DATE}
        wanted |= dict.fromkeys(["smallint", "int", "bigint"], Family.INTEGER)
        wanted |= dict.fromkeys(["decimal(10, 2)", "float", "double", "boolean", "timestamp"], Family.TEXT)
        columns = ", ".join(f'"c {kind}" {kind}' for kind in wanted)
        execute(engine, f"CREATE TABLE t ({columns}, untyped)")
        found = engine.columns(Table(("t",)))
        assert {info.name: info.family for info in found} == {
            **{f"c {kind}": family for kind, family in wanted.items()},
            "untyped": Family.TEXT,
        }

    def test_enumerations_are_text(self, engine: Engine) -> None:
        """There are none; but texts that ignore case or the spaces at their end."""
        execute(engine, "CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT COLLATE RTRIM)")
        execute(engine, "INSERT INTO t VALUES ('a', 'a'), ('A', 'a '), ('a', 'a'), (NULL, NULL)")
        for name, wanted in (("a", {"a": 2, "A": 1, None: 1}), ("b", {"a": 2, "a ": 1, None: 1})):
            key = engine.traits.key(column(name), Family.TEXT)
            counted = exp.select(exp.alias_(key, "k"), exp.Count(this=exp.Star())).from_("t").group_by(key.copy())
            assert dict(engine.query(Statement("group", counted))) == wanted

    def test_columns_of_views_and_queries(self, engine: Engine) -> None:
        """Of an expression SQLite knows no type unless it is cast."""
        engine.execute(Statement("make", table_of("t", ("a", "int"), ("b", "text"))))
        execute(engine, "CREATE VIEW v AS SELECT b, a FROM t")
        assert [found.name for found in engine.columns(Table(("v",)))] == ["b", "a"]
        select = parse_one(
            "SELECT b AS x, CAST(COUNT(*) AS INTEGER) AS n, MAX(a) AS m FROM t GROUP BY b", read="sqlite"
        )
        assert isinstance(select, exp.Query)
        assert [(found.name, found.family) for found in engine.columns(Query(select))] == [
            ("x", Family.TEXT),
            ("n", Family.INTEGER),
            ("m", Family.TEXT),
        ]
        assert engine.relation_kind(Table((f"sqlanon_{RUN}_described",))) is None

    def test_errors_about_values_say_no_value(self, engine: Engine) -> None:
        """Casts do not fail; broken constraints do."""
        execute(engine, "CREATE TABLE t (a TEXT CHECK (a <> 'secret value'))")
        with pytest.raises(EngineError) as error:
            engine.load("fill", Table(("t",)), ["a"], [["secret value"]])
        assert str(error.value) == "step 'fill': the database reports integrity error"
        assert "secret value" in error.value.detail

    # -- what differs: schemas, sessions ---------------------------------------------------------------------------

    def test_kinds_and_identity(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INTEGER)", "CREATE VIEW v AS SELECT a FROM t")
        table, view = Table(("t",)), Table(("v",))
        assert (engine.relation_kind(table), engine.relation_kind(view)) == ("table", "view")
        assert engine.relation_kind(Table(("missing",))) is None
        assert engine.relation_kind(Table(("main", "t"))) == "table"
        assert engine.relation_kind(Table(("nowhere", "t"))) is None
        assert [engine.has_schema(place) for place in ((), ("main",), ("nowhere",))] == [True, True, False]
        assert engine.same_object(table, Table(("main", "T")))
        assert not engine.same_object(table, view)
        assert engine.same_object(Table(("missing",)), Table(("main", "missing")))

    def test_a_transaction_reads_one_snapshot(self, engine: Engine, other: Engine) -> None:
        """Nobody writes while somebody reads within a transaction: the other one waits, here in vain."""
        execute(engine, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
        execute(other, "PRAGMA busy_timeout = 10")
        with engine.transaction():
            assert query(engine, "SELECT COUNT(*) FROM t") == [(1,)]
            with pytest.raises(EngineError, match="database is locked"):
                execute(other, "INSERT INTO t VALUES (2)")
            assert query(engine, "SELECT COUNT(*) FROM t") == [(1,)]
        execute(other, "INSERT INTO t VALUES (2)")
        assert query(engine, "SELECT COUNT(*) FROM t") == [(2,)]

    def test_replace_across_schemas(self, engine: Engine) -> None:
        """A schema is another database; the rows are copied."""
        execute(engine, "ATTACH DATABASE ':memory:' AS beside")
        execute(engine, "CREATE TABLE beside.staging AS SELECT 2 AS a", "CREATE TABLE target AS SELECT 1 AS a")
        with engine.transaction():
            engine.replace(Table(("beside", "staging")), Table(("target",)))
        assert query(engine, "SELECT a FROM target") == [(2,)]
        assert engine.relation_kind(Table(("beside", "staging"))) is None

    def test_replace_keeps_comments_and_indexes(self, engine: Engine) -> None:
        """There are no comments."""
        execute(engine, 'CREATE TABLE "the target" (a INTEGER, "b b" VARCHAR, gone INTEGER)')
        execute(
            engine, 'CREATE INDEX "index of b" ON "the target" ("b b", a)', 'CREATE UNIQUE INDEX ua ON "the target" (a)'
        )
        execute(engine, 'CREATE INDEX of_gone ON "the target" (gone)')
        for value in (1, 2):
            execute(engine, f"CREATE TABLE staging AS SELECT {value} AS a, CAST('x' AS VARCHAR) AS \"b b\"")
            with engine.transaction():
                engine.replace(Table(("staging",)), Table(("the target",)))
            assert query(engine, 'SELECT a FROM "the target"') == [(value,)]
            assert self.indexes(engine, "the target") == ["index of b", "ua"]
        with pytest.raises(EngineError):
            execute(engine, "INSERT INTO \"the target\" VALUES (2, 'y')")

    @pytest.mark.parametrize(
        ("index", "message"),
        [("(a) WHERE a > 1", "cannot keep index odd of target"), ("(a + 1)", "target has an index on an expression")],
    )
    def test_indexes_that_would_be_lost_are_refused(self, engine: Engine, index: str, message: str) -> None:
        execute(engine, "CREATE TABLE target AS SELECT 1 AS a", f"CREATE INDEX odd ON target {index}")
        execute(engine, "CREATE TABLE staging AS SELECT 2 AS a")
        with pytest.raises(EngineError, match=message), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT a FROM target") == [(1,)]

    def test_leftovers_are_those_of_dead_runs(self, engine: Engine, other: Engine) -> None:
        execute(engine, f"CREATE TABLE sqlanon_{DEAD}_groups (a INTEGER)", f"CREATE TABLE sqlanon_{RUN}_x (a INTEGER)")
        execute(engine, f"CREATE VIEW sqlanon_{DEAD}_view AS SELECT 1 AS a", "CREATE TABLE sqlanon_mine (a INTEGER)")
        dead = [Table((f"sqlanon_{DEAD}_{name}",)) for name in ("groups", "view")]
        assert engine.leftovers(()) == dead
        assert other.leftovers(()) == dead
        assert engine.leftovers(("main",)) == [Table(("main", table.name)) for table in dead]
        assert engine.leftovers(("nowhere",)) == []
        engine.close()
        assert Table((f"sqlanon_{RUN}_x",)) in other.leftovers(())

    def test_capabilities(self, engine: Engine) -> None:
        assert engine.capabilities == {Capability.TRANSACTIONAL_DDL}
        assert engine.traits.temporary_scratch
        assert (engine.name, engine.dialect) == ("sqlite", "sqlite")


# -- probes ------------------------------------------------------------------------------------------------------------


class TestProbes:
    def test_what_is_missing_is_said_in_one_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        impossible = ("flying carpets", "select fly(1)", 1)
        monkeypatch.setattr(sqlalchemy_probe, "NEEDED", (*sqlalchemy_probe.NEEDED, impossible))
        monkeypatch.setitem(TRAITS, "sqlite", replace(SQLiteTraits(), collations=("NOCASE",)))
        with pytest.raises(EngineError) as error:
            open_at(f"sqlite:///{tmp_path}/x.db")
        assert str(error.value) == (
            "sqlite cannot be used, nothing was read or written: this database has no flying carpets, "
            "no collation that compares texts byte by byte"
        )

    def test_without_transactions_for_tables_it_publishes_by_renaming(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on MySQL and Oracle. What a failed block has created is dropped, and nothing counts as left over."""
        monkeypatch.setattr(sqlalchemy_probe, "_renames_within_transactions", lambda engine: False)
        engine = open_at(f"sqlite:///{tmp_path}/x.db", Session(run=RUN))
        execute(
            engine, "CREATE TABLE target (a INT)", "CREATE INDEX i ON target (a)", f"CREATE TABLE sqlanon_{DEAD}_x (a)"
        )
        assert Capability.TRANSACTIONAL_DDL not in engine.capabilities
        assert engine.leftovers(()) == []
        failing = pytest.raises(KeyboardInterrupt)
        with failing, engine.transaction():
            execute(engine, "CREATE TABLE staging (a INT)", "CREATE VIEW v AS SELECT 1 AS a")
            raise KeyboardInterrupt
        assert [engine.relation_kind(Table((name,))) for name in ("staging", "v")] == [None, None]
        execute(engine, "CREATE TABLE staging AS SELECT 3 AS a")
        # On SQLite the name of an index is taken while the old table has it.
        with pytest.raises(EngineError, match="cannot keep index i of target"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT COUNT(*) FROM target") == [(0,)]
        execute(engine, "DROP INDEX i", "INSERT INTO target VALUES (1)", "CREATE TABLE staging AS SELECT 2 AS a")
        with engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT a FROM target") == [(2,)]
        names = {name for (name,) in query(engine, "SELECT name FROM sqlite_master")}
        assert names == {"target", f"sqlanon_{DEAD}_x"}
        engine.close()

    def test_a_dialect_that_sqlglot_does_not_write(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(TRAITS, "sqlite")
        with pytest.raises(UsageError, match=r"knows 'sqlite', but sqlanon does not know .* it can for .*snowflake"):
            open_at("sqlite://")

    @pytest.mark.parametrize("values", [[0], [1, 2, 4], [-1, 0], [5, 5], [1 << 62, 1 << 40, -(1 << 63)]])
    def test_sets_of_bits_where_there_are_no_functions_for_them(self, values: list[int]) -> None:
        engine = open_at("sqlite://")
        execute(engine, "CREATE TABLE t (a INTEGER)", *(f"INSERT INTO t VALUES ({value})" for value in values))
        united = exp.BitwiseOrAgg(this=column("a"))
        [(found,)] = engine.query(Statement("unite", exp.select(united).from_("t")))
        assert found == reduce(or_, values)
        counted = exp.select(engine.traits.bit_count(column("a"))).from_("t")
        rows = engine.query(Statement("count", counted))
        counted = exp.select(engine.traits.bit_count(united.copy())).from_("t")
        assert engine.query(Statement("count", counted)) == [((found & (2**64 - 1)).bit_count(),)]
        engine.close()
        assert rows == [((value & (2**64 - 1)).bit_count(),) for value in values]

    def test_the_greatest_passes_over_null(self) -> None:
        engine = open_at("sqlite://")
        most = parse_one("SELECT GREATEST(NULL, 2, 1), LEAST(3, NULL, 2), GREATEST(NULL, NULL), LEAST(1, 2)")
        assert engine.query(Statement("most", most)) == [(2, 2, None, 1)]
        engine.close()

    def test_every_dialect_is_one_of_sqlglot(self) -> None:
        for traits in TRAITS.values():
            assert traits.render(exp.select(literal(1))) == "SELECT 1"

    def test_a_driver_that_is_not_installed(self) -> None:
        with pytest.raises(UsageError, match=r"'oracle' needs the Python package .*not installed") as error:
            open_at("oracle://me:secret@host/db")
        assert "secret" not in str(error.value)

    def test_files_that_do_not_open(self, tmp_path: Path) -> None:
        with pytest.raises(ConnectionFailed, match="unable to open database file"):
            open_at(f"sqlite:///{tmp_path}/missing/x.db")

    def test_sums_that_come_as_decimals(self) -> None:
        assert [type(_plain(Decimal(text))) for text in ("2", "2.00", "NaN")] == [int, Decimal, Decimal]


# -- the papers' cases -------------------------------------------------------------------------------------------------


def load(path: Path, case: Case) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, kind in case.types.items())
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE source_table ({columns})")
        connection.executemany(f"INSERT INTO source_table VALUES ({', '.join('?' * len(case.types))})", case.rows)
    connection.close()


@pytest.mark.parametrize(("name", "k", "limit"), [("s1", 3, 0), ("s2", 2, 1), ("s3", 2, 1), ("c1", 3, 0), ("c1", 2, 3)])
def test_papers_on_sqlite(name: str, k: int, limit: int, tmp_path: Path) -> None:
    case = load_case(name)
    load(tmp_path / "file.db", case)
    spec = case_spec(case, f"sqlite:///{tmp_path}/file.db", k, limit, algorithm="minimal")
    result = pipeline.run(spec)
    assert result.plan is not None
    assert list(result.plan.search.minimal) == case.minimal(k, limit)
    vector = tuple(result.levels.values())
    assert result.publication.suppressed == case.outliers(k, vector)
    assert (result.audit.rows, result.audit.satisfied) == (len(case.rows) - case.outliers(k, vector), True)
    with sqlite3.connect(tmp_path / "file.db") as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        names_of_columns = ", ".join(f'"{column}"' for column in case.quasi_identifier)
        released = connection.execute(f"SELECT COUNT(*) FROM release_table GROUP BY {names_of_columns}").fetchall()
    connection.close()
    assert names == {"source_table", "release_table"}
    assert sorted(size for (size,) in released) == sorted(n for n in case.classes(vector).values() if n >= k)


def test_a_view_on_sqlite(tmp_path: Path) -> None:
    case = load_case("s1")
    load(tmp_path / "file.db", case)
    places = {"connection": f"sqlite:///{tmp_path}/file.db", "source": "source_table", "target": {"view": "shown"}}
    spec = spec_from_dict({**case.spec, **places, "privacy": {"k": 2}}, case.directory)
    assert pipeline.run(spec).audit.satisfied
    with pytest.raises(EngineError, match="if shown stands already, drop it first"):
        pipeline.run(spec)


@pytest.mark.representative(2)
@pytest.mark.parametrize(
    "model",
    [
        {"l_diversity": [{"column": "disease", "l": 2, "kind": "distinct"}]},
        {"l_diversity": [{"column": "disease", "l": 2, "kind": "entropy"}]},
        {"t_closeness": [{"column": "disease", "t": 0.5, "distance": "equal"}]},
        {"delta_disclosure": [{"column": "disease", "delta": 1.5, "kind": "occurring"}]},
    ],
    ids=["distinct", "entropy", "closeness", "delta"],
)
def test_models_on_sqlite_as_on_duckdb(model: dict[str, Any], tmp_path: Path) -> None:
    case = load_case("c1")
    load(tmp_path / "file.db", case)
    Database(f"duckdb:///{tmp_path}/file.duckdb").create("source_table", case.types, case.rows)
    found = []
    for url in (f"sqlite:///{tmp_path}/file.db", f"duckdb:///{tmp_path}/file.duckdb"):
        places = {"connection": url, "source": "source_table", "target": "release_table"}
        privacy = {"k": 2, "suppression": {"limit": 4}, **model}
        values = {**case.spec, **places, "privacy": privacy, "search": {"algorithm": "exhaustive"}}
        result = pipeline.run(spec_from_dict(values, case.directory))
        found.append((result.levels, result.publication.suppressed, result.audit.classes, result.audit.satisfied))
    assert found[0] == found[1]


def test_no_script_where_none_could_stop(tmp_path: Path) -> None:
    """A cast of a message to a number is 0 there, and the release that failed would be published."""
    case = load_case("s1")
    load(tmp_path / "file.db", case)
    spec = case_spec(case, f"sqlite:///{tmp_path}/file.db", 2, 0)
    with pytest.raises(UsageError, match="sqlite has no statement that fails when an audit does"):
        pipeline.script(spec, None)


@pytest.mark.postgres
def test_a_paper_on_postgresql_through_the_generic_engine(postgres_url: str) -> None:
    case = load_case("s1")
    database = Database(postgres_url)
    database.create("source_table", case.types, case.rows)
    generic = make_url(postgres_url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    forced = Options(open=lambda url, session, folder: SQLAlchemyEngine(session, generic, folder))
    for k in (2, 3, 12):
        result = pipeline.run(case_spec(case, postgres_url, k, 0, algorithm="minimal"), forced)
        assert result.engine == "postgresql"
        assert result.plan is not None
        assert list(result.plan.search.minimal) == case.minimal(k, 0)
        assert result.audit.satisfied
    assert len(database.rows("release_table")) == len(case.rows)
    assert database.leftovers() == []
