"""The contract on MariaDB, and the papers and models through it; what MariaDB has otherwise is said test by test.

Tables take no part in transactions, casts of text do not fail, there is no NaN and no infinity, no boolean, no type of
moments with a zone that prints it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import unquote

import pymysql
import pytest
from sqlalchemy.engine import make_url
from sqlglot import exp, parse_one

from sqlanon import pipeline
from sqlanon.engines.base import Capability, Engine, Session, Statement, TraceEvent
from sqlanon.engines.dialects import parsed
from sqlanon.errors import EngineError, SourceError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.source.run import Options
from sqlanon.spec import spec_from_dict
from sqlanon.sql.relations import Query, Table, column
from tests.engines.contract import DEAD, RUN, EngineContract, table_of
from tests.kit.database import Database, Rows, case_spec
from tests.kit.engine import ROOT, execute, open_at, query
from tests.kit.hostile import COLUMNS, SEARCHES, TYPES, algorithm, hostile_rows, privacy
from tests.kit.papers import load_case


class TestMariaDB(EngineContract):
    LONG_STATEMENT: ClassVar[str] = "SELECT SUM(a.seq * b.seq % 7) FROM seq_1_to_10000000 AS a, seq_1_to_10000000 AS b"

    @pytest.fixture
    def url(self, mariadb_url: str) -> str:
        return mariadb_url

    def assert_nothing_runs(self, url: str) -> None:
        running = ask(url, "SELECT info FROM information_schema.processlist WHERE info LIKE '%seq_1_to_10000000%'")
        assert [text for (text,) in running if "processlist" not in text] == []

    def comments(self, engine: Engine, table: str) -> dict[str | None, str]:
        own = query(engine, f"SELECT table_comment FROM information_schema.tables WHERE table_name = '{table}'")
        found = query(
            engine,
            "SELECT column_name, column_comment FROM information_schema.columns "
            f"WHERE table_name = '{table}' AND column_comment <> ''",
        )
        return {None: own[0][0], **dict(found)}

    def indexes(self, engine: Engine, table: str) -> list[str]:
        return sorted({row[2] for row in query(engine, f"SHOW INDEX FROM `{table}`")})

    # -- what differs: types ---------------------------------------------------------------------------------------

    def test_sums_of_integers_are_integers(self, engine: Engine) -> None:
        ((total,),) = query(engine, "SELECT SUM(a) FROM (SELECT CAST(2 AS SIGNED) AS a) AS t")
        assert (total, type(total)) == (2, int)

    def test_the_session_speaks_utc(self, engine: Engine) -> None:
        """A TIMESTAMP is a moment, printed without a zone: it is read as its text."""
        execute(engine, "CREATE TABLE t (a TIMESTAMP)", "INSERT INTO t VALUES (FROM_UNIXTIME(86400))")
        (found,) = engine.columns(Table(("t",)))
        assert found.family is Family.TEXT
        key = engine.traits.key(column("a"), found.family)
        assert engine.query(Statement("read", exp.select(key).from_("t"))) == [("1970-01-02 00:00:00",)]

    @pytest.mark.parametrize("kind", ["double", "float"])
    def test_floats_have_one_zero_and_one_spelling(self, engine: Engine, kind: str) -> None:
        """What is not finite is no value here."""
        engine.execute(Statement("make", table_of("t", ("v", kind))))
        with pytest.raises(EngineError):
            execute(engine, "INSERT INTO t VALUES ('NaN')")
        execute(engine, "INSERT INTO t VALUES (0), (-0e0), (0.0), (1.0), (0.1), (-2.5), (1e-5), (1e20), (100000)")
        execute(engine, "INSERT INTO t VALUES (NULL), (1e-4), (123456), (1.5e-7)")
        key = engine.traits.key(column("v"), Family.FLOAT)
        inner = exp.select(exp.alias_(key, "k", quoted=True), exp.alias_(exp.Count(this=exp.Star()), "n")).from_("t")
        spelled = engine.traits.text(column("k"), Family.FLOAT)
        rows = engine.query(
            Statement("spell", exp.select(spelled, "n").from_(inner.group_by(key.copy()).subquery("g")))
        )
        ones = ["1", "0.1", "-2.5", "1e-05", "1e+20", "100000", None, "0.0001", "123456", "1.5e-07"]
        assert dict(rows) == {"0": 3, **dict.fromkeys(ones, 1)}

    def test_large_floats_are_spelled_alike(self, engine: Engine) -> None:
        """A FLOAT is spelled as a DOUBLE is: it does not say that it is short."""
        engine.execute(Statement("make", table_of("t", ("d", "double"), ("r", "float"))))
        execute(engine, "INSERT INTO t VALUES (1e15, 1e6), (-123456789012345, -999999), (1.5e15, 2.5e7)")
        execute(engine, "INSERT INTO t VALUES (1.2345678901234567e300, 1e20), (-1.5e-300, 1e15)")
        select = exp.select(*(engine.traits.text(column(name), Family.FLOAT) for name in "dr"))
        assert sorted(engine.query(Statement("spell", select.from_("t")))) == [
            ("-1.5e-300", "1e+15"),
            ("-123456789012345", "-999999"),
            ("1.2345678901234567e+300", "1e+20"),
            ("1.5e+15", "25000000"),
            ("1e+15", "1000000"),
        ]

    def test_other_values_are_spelled_alike(self, engine: Engine) -> None:
        wanted = {
            "CAST('2020-01-01 00:00:00.50' AS TIMESTAMP)": (Family.TIMESTAMP, "2020-01-01 00:00:00.5"),
            "CAST('2020-01-01 00:00:00' AS TIMESTAMP)": (Family.TIMESTAMP, "2020-01-01 00:00:00"),
            "CAST('2020-02-29' AS DATE)": (Family.DATE, "2020-02-29"),
            "CAST(1.5 AS DECIMAL(5, 2))": (Family.DECIMAL, "1.50"),
            "CAST(7 AS BIGINT)": (Family.INTEGER, "7"),
        }
        spelled = [engine.traits.text(parsed(sql, "duckdb"), family) for sql, (family, _) in wanted.items()]
        assert engine.query(Statement("spell", exp.select(*spelled))) == [tuple(text for _, text in wanted.values())]

    def test_columns_have_families_and_types_to_cast_to(self, engine: Engine) -> None:
        """A boolean is a whole number; of a query, types are those that MariaDB gives its results."""
        wanted = {
            **dict.fromkeys(["text", "longtext", "varchar(3)", "char(3)", "enum('a')", "timestamp"], Family.TEXT),
            **dict.fromkeys(["smallint", "int", "bigint", "int unsigned", "boolean"], Family.INTEGER),
            **dict.fromkeys(["float", "double"], Family.FLOAT),
            **dict.fromkeys(["datetime", "datetime(6)"], Family.TIMESTAMP),
            **dict.fromkeys(["time", "blob", "uuid", "point"], Family.OTHER),
            "decimal(10, 2)": Family.DECIMAL,
            "date": Family.DATE,
        }
        execute(engine, f"CREATE TABLE t ({', '.join(f'`c {kind}` {kind}' for kind in wanted)})")
        found = engine.columns(Table(("t",)))
        assert {info.name: info.family for info in found} == {f"c {kind}": wanted[kind] for kind in wanted}
        known = [info for info in found if info.family is not Family.OTHER]
        casts = [exp.alias_(exp.Cast(this=exp.Null(), to=info.type), info.name, quoted=True) for info in known]
        assert [info.name for info in engine.columns(Query(exp.select(*casts)))] == [info.name for info in known]

    def test_enumerations_are_text(self, engine: Engine) -> None:
        """So are sets, and texts of a collation that ignores case and the spaces at their end."""
        execute(engine, "CREATE TABLE t (m ENUM('sad', 'Happy'), v VARCHAR(9) COLLATE utf8mb4_general_ci)")
        execute(engine, "INSERT INTO t VALUES ('sad', 'a'), ('Happy', 'A'), ('sad', 'a '), (NULL, NULL)")
        for name, wanted in (("m", {"sad": 2, "Happy": 1, None: 1}), ("v", {"a": 1, "A": 1, "a ": 1, None: 1})):
            key = engine.traits.key(column(name), Family.TEXT)
            counted = exp.select(exp.alias_(key, "k"), exp.Count(this=exp.Star())).from_("t").group_by(key.copy())
            assert dict(engine.query(Statement("group", counted))) == wanted

    def test_columns_of_views_and_queries(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INT, b TEXT)", "CREATE VIEW v AS SELECT b, a FROM t")
        assert [found.name for found in engine.columns(Table(("v",)))] == ["b", "a"]
        select = parse_one("SELECT b AS x, COUNT(*) AS n FROM t GROUP BY b", dialect=engine.dialect)
        assert isinstance(select, exp.Query)
        assert [(found.name, found.family) for found in engine.columns(Query(select))] == [
            ("x", Family.TEXT),
            ("n", Family.INTEGER),
        ]

    def test_texts_that_are_compared_only_in_part_are_refused(self, engine: Engine) -> None:
        """DENSE_RANK and partitions go by the first bytes; of a TEXT column these are all."""
        execute(engine, "CREATE TABLE t (v TEXT)", "INSERT INTO t VALUES (CONCAT(REPEAT('é', 8191), 'a'))")
        execute(engine, "INSERT INTO t VALUES (CONCAT(REPEAT('é', 8191), 'b')), (CONCAT(REPEAT('x', 16383), 'b'))")
        assert [info.family for info in engine.columns(Table(("t",)))] == [Family.TEXT]
        key = engine.traits.key(column("v"), Family.TEXT)
        ranks = exp.select(exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=key)])))
        assert sorted(engine.query(Statement("rank", ranks.from_("t")))) == [(1,), (2,), (3,)]
        execute(engine, "UPDATE t SET v = CONCAT(v, 'xx')")
        with pytest.raises(SourceError, match="column 'v' of t has texts of more than 16384 bytes"):
            engine.columns(Table(("t",)))
        whole = exp.select(exp.alias_(column("v"), "w")).from_("t")
        with pytest.raises(SourceError, match="column 'w' of the source query has texts"):
            engine.columns(Query(whole))

    def test_errors_about_values_say_no_value(self, engine: Engine) -> None:
        """Casts do not fail where nothing is written."""
        execute(engine, "CREATE TABLE t (a INT)")
        with pytest.raises(EngineError) as error:
            engine.load("fill", Table(("t",)), ["a"], [["secret value"]])
        assert "step 'fill'" in str(error.value)
        assert "secret" not in str(error.value)
        assert "secret value" in error.value.detail

    # -- what differs: transactions --------------------------------------------------------------------------------

    def test_trace_sees_every_statement_twice_with_tags(self, url: str) -> None:
        """None of them begins or commits anything."""
        seen: list[TraceEvent] = []
        engine = open_at(url, Session(run=RUN, hooks=[seen.append]))
        with engine.transaction():
            engine.execute(Statement("make", table_of("t", ("a", "text"))))
            engine.load("fill", Table(("t",)), ["a"], [["x"]])
        engine.close()
        steps = [event.step for event in seen[::2] if event.step not in ("session", "lock")]
        assert steps == ["make", "fill"]
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

    # -- what differs: schemas are databases -----------------------------------------------------------------------

    def test_kinds_and_identity(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INTEGER)", "CREATE VIEW v AS SELECT a FROM t")
        ((schema,),) = query(engine, "SELECT DATABASE()")
        table, view = Table(("t",)), Table(("v",))
        assert [engine.relation_kind(each) for each in (table, view)] == ["table", "view"]
        assert engine.relation_kind(Table(("missing",))) is None
        assert engine.relation_kind(Table((schema, "t"))) == "table"
        assert engine.relation_kind(Table(("nowhere", "t"))) is None
        assert [engine.has_schema(place) for place in ((), (schema,), ("nowhere",))] == [True, True, False]
        assert engine.same_object(table, Table((schema, "t")))
        assert not engine.same_object(table, view)
        assert engine.same_object(Table(("missing",)), Table((schema, "missing")))

    def test_replace_across_schemas(self, engine: Engine) -> None:
        """The rows are copied."""
        ((schema,),) = query(engine, "SELECT DATABASE()")
        beside = f"{schema}_beside"
        execute(engine, f"CREATE DATABASE {beside}", f"CREATE TABLE {beside}.staging AS SELECT 2 AS a")
        execute(engine, "CREATE TABLE target AS SELECT 1 AS a")
        try:
            with engine.transaction():
                engine.replace(Table((beside, "staging")), Table(("target",)))
            assert query(engine, "SELECT a FROM target") == [(2,)]
            assert engine.relation_kind(Table((beside, "staging"))) is None
        finally:
            execute(engine, f"DROP DATABASE {beside}")

    def test_replace_keeps_comments_and_indexes(self, engine: Engine) -> None:
        """Of comments, that of the table; a column's would have to repeat its type."""
        execute(engine, "CREATE TABLE `the target` (a INT, `b b` VARCHAR(9), gone INT) COMMENT 'it''s 100% ours \\\\'")
        execute(engine, "CREATE INDEX `index of b` ON `the target` (`b b`, a)")
        execute(engine, "CREATE UNIQUE INDEX ua ON `the target` (a)", "CREATE INDEX of_gone ON `the target` (gone)")
        for value in (1, 2):
            execute(engine, f"CREATE TABLE staging AS SELECT {value} AS a, CAST('x' AS CHAR(9)) AS `b b`")
            with engine.transaction():
                engine.replace(Table(("staging",)), Table(("the target",)))
            assert query(engine, "SELECT a FROM `the target`") == [(value,)]
            assert self.comments(engine, "the target") == {None: "it's 100% ours \\"}
            assert self.indexes(engine, "the target") == ["index of b", "ua"]
        with pytest.raises(EngineError) as refused:
            execute(engine, "INSERT INTO `the target` VALUES (2, 'y')")
        assert str(refused.value) == "step 'test': the database reports integrity error"

    def test_a_failed_replace_leaves_the_old_table(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE target AS SELECT 1 AS a", "CREATE UNIQUE INDEX once ON target (a)")
        execute(engine, "CREATE TABLE staging AS SELECT 2 AS a UNION ALL SELECT 2")
        with pytest.raises(EngineError, match="cannot keep index once of target"), engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))
        assert query(engine, "SELECT a FROM target") == [(1,)]
        assert self.indexes(engine, "target") == ["once"]
        assert [name for (name,) in query(engine, "SHOW TABLES")] == ["target"]

    def test_leftovers_are_those_of_dead_runs(self, engine: Engine, other: Engine) -> None:
        """A living run holds a named lock, whichever process it is of."""
        execute(engine, f"CREATE TABLE sqlanon_{DEAD}_groups (a INTEGER)", f"CREATE TABLE sqlanon_{RUN}_x (a INTEGER)")
        execute(engine, f"CREATE VIEW sqlanon_{DEAD}_view AS SELECT 1 AS a", "CREATE TABLE sqlanon_mine (a INTEGER)")
        dead = [Table((f"sqlanon_{DEAD}_{name}",)) for name in ("groups", "view")]
        assert engine.leftovers(()) == dead
        assert other.leftovers(()) == dead
        assert other.leftovers(("nowhere",)) == []
        program = "import sys; from tests.kit.engine import *; e = open_at(sys.argv[1], Session(run=sys.argv[2]))"
        command = [sys.executable, "-c", f"{program}; print(flush=True); sys.stdin.readline()"]
        pipe = subprocess.PIPE
        with subprocess.Popen([*command, str(engine.url), DEAD], stdin=pipe, stdout=pipe, cwd=ROOT) as alive:  # type: ignore[attr-defined]
            assert alive.stdout is not None
            alive.stdout.readline()
            assert engine.leftovers(()) == []
            os.kill(alive.pid, signal.SIGKILL)
        engine.close()
        until = [Table((f"sqlanon_{RUN}_x",)), *dead]
        for _ in range(200):
            if set(other.leftovers(())) == set(until):
                return
            time.sleep(0.05)
        pytest.fail("what sessions left behind is not told as such after their end")

    def test_capabilities(self, engine: Engine) -> None:
        assert engine.capabilities == {Capability.SERVER}
        assert engine.traits.temporary_scratch
        assert (engine.name, engine.dialect) == ("mysql", "mysql")


def ask(url: str, *statements: str) -> Rows:
    """The database seen by its own client."""
    place = make_url(url)
    rows: Rows = []
    connect = pymysql.connect(
        unix_socket=unquote(str(place.query["unix_socket"])), user="root", database=place.database, autocommit=True
    )
    with connect as session, session.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            rows = list(cursor.fetchall())
    return rows


# -- the papers' cases -------------------------------------------------------------------------------------------------


def load(url: str, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
    kinds = {"timestamp": "datetime(6)"}
    columns = ", ".join(f"`{column.replace('`', '``')}` {kinds.get(kind, kind)}" for column, kind in types.items())
    lines = ", ".join("(" + ", ".join(map(written, row)) + ")" for row in rows)
    ask(url, f"CREATE TABLE source_table ({columns})", f"INSERT INTO source_table VALUES {lines}")


def written(value: Any) -> str:
    text = str(value).replace("\\", "\\\\").replace("'", "''")
    return "NULL" if value is None else f"'{text}'"


@pytest.mark.parametrize(("name", "k", "limit"), [("s1", 3, 0), ("s2", 2, 1), ("s3", 2, 1), ("c1", 3, 0), ("c1", 2, 3)])
def test_papers_on_mariadb(name: str, k: int, limit: int, mariadb_url: str) -> None:
    case = load_case(name)
    load(mariadb_url, case.types, case.rows)
    result = pipeline.run(case_spec(case, mariadb_url, k, limit, algorithm="minimal"))
    assert result.plan is not None
    assert list(result.plan.search.minimal) == case.minimal(k, limit)
    vector = tuple(result.levels.values())
    assert result.publication.suppressed == case.outliers(k, vector)
    assert (result.audit.rows, result.audit.satisfied) == (len(case.rows) - case.outliers(k, vector), True)
    names_of_columns = ", ".join(f"`{column}`" for column in case.quasi_identifier)
    released = ask(mariadb_url, f"SELECT COUNT(*) FROM release_table GROUP BY {names_of_columns}")
    assert sorted(size for (size,) in released) == sorted(n for n in case.classes(vector).values() if n >= k)
    assert {name for (name,) in ask(mariadb_url, "SHOW TABLES")} == {"source_table", "release_table"}


def both(
    mariadb_url: str, duckdb_url: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]
) -> tuple[str, str]:
    """The same table on both engines."""
    load(mariadb_url, types, rows)
    Database(duckdb_url).create("source_table", {name.replace('"', '""'): kind for name, kind in types.items()}, rows)
    return mariadb_url, duckdb_url


@pytest.mark.representative(2)
@pytest.mark.parametrize(
    "model",
    [
        {"l_diversity": [{"column": "disease", "l": 2, "kind": "entropy"}]},
        {"t_closeness": [{"column": "disease", "t": 0.5, "distance": "equal"}]},
        {"l_diversity": [{"column": "disease", "l": 2, "kind": "distinct"}]},
        {"alpha": [{"column": "disease", "value": "HIV", "alpha": 0.6}]},
        {"delta_disclosure": [{"column": "disease", "delta": 1.5, "kind": "occurring"}]},
        {"beta_likeness": [{"column": "disease", "beta": 2}]},
        {"delta_disclosure": [{"column": "disease", "delta": 1.5}]},
    ],
    ids=["entropy", "closeness", "distinct", "alpha", "occurring", "beta", "delta"],
)
def test_models_on_mariadb_as_on_duckdb(model: dict[str, Any], mariadb_url: str, duckdb_url: str) -> None:
    case = load_case("c1")
    found = []
    for url in both(mariadb_url, duckdb_url, case.types, case.rows):
        places = {"connection": url, "source": "source_table", "target": "release_table"}
        privacy = {"k": 2, "suppression": {"limit": 4}, **model}
        given = {**case.spec, **places, "privacy": privacy, "search": {"algorithm": "exhaustive"}}
        result = pipeline.run(spec_from_dict(given, case.directory))
        found.append((result.levels, result.publication.suppressed, result.audit.classes, result.audit.satisfied))
    assert found[0] == found[1]


@pytest.mark.representative(2)
@pytest.mark.parametrize(("search", "limit"), SEARCHES, ids=algorithm)
def test_releases_are_those_of_duckdb(search: dict[str, Any], limit: int, mariadb_url: str, duckdb_url: str) -> None:
    """Row by row, whatever names and values look like: texts that differ in case or a last space are other texts."""
    releases, vectors = [], []
    for url in both(mariadb_url, duckdb_url, TYPES, hostile_rows()):
        places = {"connection": url, "source": "source_table", "target": "release_table", "columns": COLUMNS}
        result = pipeline.run(spec_from_dict({**places, "privacy": privacy(search, limit), "search": search}))
        vectors.append(None if search.get("model") else getattr(result, "levels", None))
        rows = ask(url, "SELECT * FROM release_table") if url == mariadb_url else Database(url).rows("release_table")
        releases.append(Counter(tuple(None if cell is None else str(cell) for cell in row) for row in rows))
    assert releases[0] == releases[1]
    assert vectors[0] == vectors[1]


def test_a_view_on_mariadb(mariadb_url: str) -> None:
    case = load_case("s1")
    load(mariadb_url, case.types, case.rows)
    places = {"connection": mariadb_url, "source": "source_table", "target": {"view": "shown"}}
    spec = spec_from_dict({**case.spec, **places, "privacy": {"k": 2}}, case.directory)
    for _ in range(2):
        assert pipeline.run(spec).audit.satisfied
    assert len(ask(mariadb_url, "SELECT * FROM shown")) == len(case.rows)


# -- publishing --------------------------------------------------------------------------------------------------------


def test_a_target_changes_hands_by_one_statement(mariadb_url: str) -> None:
    """There is no moment between two renames: whoever dies, somebody has a table of that name, old or new."""
    case = load_case("s1")
    load(mariadb_url, case.types, case.rows)
    statements: list[str] = []
    hooked = Options(hooks=(lambda event: statements.append(event.sql),))
    for k in (2, 3):
        pipeline.run(case_spec(case, mariadb_url, k, 0, algorithm="optimal"), hooked)
    renames = [sql.partition("*/ ")[2] for sql in statements if "RENAME" in sql and "probe" not in sql]
    exchanges = [sql for sql in renames if sql.startswith("RENAME TABLE `release_table` TO ")]
    assert all(" TO `release_table`" in sql for sql in exchanges)
    assert exchanges
    assert not [sql for sql in renames if sql.startswith("ALTER TABLE `release_table` ")]


@pytest.mark.process
@pytest.mark.parametrize("before", ["RENAME TABLE `target`", "DROP TABLE IF EXISTS `sqlanon"])
def test_whoever_is_killed_leaves_a_target(mariadb_url: str, before: str) -> None:
    """Killed before the exchange the old table stands, after it the new one; the rest is found as left over."""
    ask(mariadb_url, "CREATE TABLE target AS SELECT 1 AS a", "CREATE TABLE staging AS SELECT 2 AS a")
    program = (
        "import os, signal, sys; from tests.kit.engine import *; from sqlanon.sql.relations import Table\n"
        "engine = open_at(sys.argv[1], Session(run=sys.argv[2]))\n"
        "def die(event):\n    if sys.argv[3] in event.sql: os.kill(os.getpid(), signal.SIGKILL)\n"
        "engine.session.hooks.append(die)\n"
        "with engine.transaction(): engine.replace(Table(('staging',)), Table(('target',)))\n"
    )
    dead = subprocess.run([sys.executable, "-c", program, mariadb_url, DEAD, before], cwd=ROOT, check=False)
    assert dead.returncode == -signal.SIGKILL
    assert ask(mariadb_url, "SELECT a FROM target") == [(1 if before.startswith("RENAME") else 2,)]
    engine = open_at(mariadb_url)
    left: list[Table] = []
    for _ in range(200):
        left = left or engine.leftovers(())
        if not left:
            time.sleep(0.05)
    engine.close()
    beside = "moved_target" if before.startswith("RENAME") else "replaced_target"
    assert [table.name.partition(DEAD)[2].lstrip("_") for table in left] in ([beside], [beside.partition("_")[0]])


def test_runs_of_other_sessions_wait_for_a_target(mariadb_url: str) -> None:
    one, other = open_at(mariadb_url), open_at(mariadb_url)
    target = Table(("target",))
    with one.alone_with(target, 1):
        with other.alone_with(Table(("another",)), 0.1):
            pass
        with pytest.raises(EngineError, match="another run is publishing to target"), other.alone_with(target, 0.1):
            pass
    with other.alone_with(target, 0.1):
        pass
    one.close()
    other.close()


def test_no_script_where_none_could_stop(mariadb_url: str) -> None:
    case = load_case("s1")
    load(mariadb_url, case.types, case.rows)
    with pytest.raises(UsageError, match="mysql has no statement that fails when an audit does"):
        pipeline.script(case_spec(case, mariadb_url, 2, 0), None)
