from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import ClassVar

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url
from sqlglot import exp

from sqlanon.engines.base import Capability, Engine, Session, Statement, TraceEvent
from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied, SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import File, Table, column
from tests.engines.contract import DEAD, RUN, EngineContract
from tests.kit.engine import execute, interrupt_program, open_at, query

pytestmark = pytest.mark.postgres


@pytest.fixture
def role(postgres_server: str) -> Iterator[str]:
    """A role that may log in and owns nothing."""
    name = f"role_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'pass word'").format(sql.Identifier(name)))
        yield name
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


class TestPostgres(EngineContract):
    LONG_STATEMENT: ClassVar[str] = (
        "SELECT COUNT(*) FROM generate_series(1, 10000) AS a, generate_series(1, 10000) AS b,"
        " generate_series(1, 10000) AS c"
    )

    @pytest.fixture
    def url(self, postgres_url: str) -> str:
        return postgres_url

    def comments(self, engine: Engine, table: str) -> dict[str | None, str]:
        rows = query(
            engine,
            "SELECT a.attname, d.description FROM pg_description AS d LEFT JOIN pg_attribute AS a"
            " ON a.attrelid = d.objoid AND a.attnum = d.objsubid AND d.objsubid > 0"
            f" WHERE d.objoid = to_regclass('\"{table}\"') AND d.classoid = CAST('pg_class' AS regclass)",
        )
        return dict(rows)

    def indexes(self, engine: Engine, table: str) -> list[str]:
        rows = query(
            engine,
            "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()"
            f" AND tablename = '{table}' ORDER BY 1",
        )
        return [name for (name,) in rows]

    def assert_nothing_runs(self, url: str) -> None:
        engine = open_at(url)
        rows = query(engine, f"SELECT state FROM pg_stat_activity WHERE application_name = 'sqlanon run={RUN}'")
        engine.close()
        assert rows == [("idle",)]

    def test_capabilities(self, engine: Engine) -> None:
        assert Capability.SERVER in engine.capabilities
        assert engine.traits.unlogged_scratch
        with pytest.raises(SourceError, match="does not read files"):
            engine.columns(File("x.csv", "csv"))
        with pytest.raises(EngineError, match="writes no files"):
            engine.write_file("write", Table(("t",)), File("x.csv", "csv"))

    def test_kinds_of_relations(self, engine: Engine) -> None:
        execute(engine, "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a", "CREATE SEQUENCE s")
        execute(engine, "CREATE TABLE p (a INTEGER) PARTITION BY LIST (a)")
        kinds = [engine.relation_kind(Table((name,))) for name in "msp"]
        assert kinds == ["view", "other", "table"]
        with pytest.raises(SourceError, match="no table or view s"):
            engine.columns(Table(("s",)))

    def test_names_keep_case(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (a INTEGER)", 'CREATE TABLE "T" (a INTEGER)')
        assert not engine.same_object(Table(("t",)), Table(("T",)))

    def test_padded_text_and_domains(self, engine: Engine) -> None:
        execute(
            engine, "CREATE DOMAIN zip AS VARCHAR(5)", "CREATE TABLE t (c CHAR(3), z zip, n NAME, x OID, a INTEGER[])"
        )
        found = {info.name: info.family for info in engine.columns(Table(("t",)))}
        assert found == {"c": Family.TEXT, "z": Family.TEXT, "n": Family.TEXT, "x": Family.OTHER, "a": Family.OTHER}
        execute(engine, "INSERT INTO t (c) VALUES ('a'), ('a  ')")
        key = engine.traits.key(column("c"), Family.TEXT)
        rows = engine.query(Statement("group", exp.select(key, "COUNT(*)").from_("t").group_by(key.copy())))
        assert rows == [("a", 2)]

    def test_a_killed_run_is_dead_at_once(self, url: str, engine: Engine) -> None:
        process = interrupt_program(url, DEAD, "SELECT pg_sleep(60)")
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        execute(engine, f"CREATE TABLE sqlanon_{DEAD}_x (a INTEGER)")
        assert engine.leftovers(()) == []
        process.kill()
        process.communicate()
        query(engine, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%{DEAD}'")
        deadline = time.monotonic() + 10
        while not engine.leftovers(()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert engine.leftovers(()) == [Table((f"sqlanon_{DEAD}_x",))]

    def test_a_run_that_begins_meanwhile_is_alive(self, postgres_url: str) -> None:
        begun: list[Engine] = []

        def begin(event: TraceEvent) -> None:
            if event.seconds is not None and not begun:
                begun.append(open_at(postgres_url, Session(run=DEAD)))
                execute(begun[0], f"CREATE TABLE sqlanon_{DEAD}_x (a INTEGER)")

        engine = open_at(postgres_url)
        engine.session.hooks.append(begin)
        assert engine.leftovers(()) == []
        for opened in (engine, *begun):
            opened.close()


class TestReplace:
    @pytest.fixture
    def engine(self, postgres_url: str) -> Iterator[Engine]:
        engine = open_at(postgres_url)
        execute(engine, "CREATE TABLE target (a INTEGER, b TEXT, gone INTEGER)")
        execute(engine, "CREATE TABLE staging AS SELECT 1 AS a, CAST('x' AS TEXT) AS b")
        yield engine
        engine.close()

    def replace(self, engine: Engine) -> None:
        with engine.transaction():
            engine.replace(Table(("staging",)), Table(("target",)))

    def test_grants_are_kept(self, engine: Engine, role: str) -> None:
        execute(engine, f"GRANT SELECT ON target TO {role} WITH GRANT OPTION", "GRANT INSERT ON target TO PUBLIC")
        execute(engine, f"GRANT UPDATE (b, gone) ON target TO {role}", "GRANT DELETE ON staging TO PUBLIC")
        table = "SELECT a FROM (SELECT unnest(relacl) AS a FROM pg_class WHERE oid = to_regclass('target')) AS t"
        grants = f"SELECT CAST(g.a AS TEXT) FROM ({table}) AS g ORDER BY 1"
        column_grants = (
            "SELECT attname, CAST(attacl AS TEXT) FROM pg_attribute"
            " WHERE attrelid = to_regclass('target') AND attacl IS NOT NULL AND attname <> 'gone'"
        )
        before, columns = query(engine, grants), query(engine, column_grants)
        self.replace(engine)
        assert query(engine, grants) == before != []
        assert query(engine, column_grants) == columns != []

    def test_the_owner_is_kept(self, engine: Engine, role: str) -> None:
        execute(engine, f"ALTER TABLE target OWNER TO {role}")
        self.replace(engine)
        owner = "SELECT CAST(CAST(relowner AS regrole) AS TEXT) FROM pg_class WHERE oid = to_regclass('target')"
        assert query(engine, owner) == [(role,)]

    def test_constraints_are_kept_where_their_columns_survive(self, engine: Engine) -> None:
        execute(engine, "ALTER TABLE target ADD PRIMARY KEY (a), ADD CONSTRAINT short CHECK (LENGTH(b) < 9)")
        execute(engine, "ALTER TABLE target ADD CONSTRAINT lost UNIQUE (gone), ADD CONSTRAINT whole CHECK (a < 99)")
        execute(
            engine, "CREATE INDEX computed ON target ((a + 1)) WHERE a > 0", "ALTER TABLE staging ALTER b TYPE VARCHAR"
        )
        self.replace(engine)
        kept = "SELECT conname FROM pg_constraint WHERE conrelid = to_regclass('target') AND contype <> 'n' ORDER BY 1"
        assert query(engine, kept) == [("target_pkey",), ("whole",)]
        assert query(engine, "SELECT indexname FROM pg_indexes WHERE tablename = 'target' AND indexname = 'computed'")

    def test_scratch_becomes_durable(self, engine: Engine) -> None:
        execute(engine, "ALTER TABLE staging SET UNLOGGED")
        self.replace(engine)
        assert query(engine, "SELECT relpersistence FROM pg_class WHERE oid = to_regclass('target')") == [("p",)]

    @pytest.mark.parametrize(
        ("statements", "message"),
        [
            (
                ["CREATE VIEW w AS SELECT a FROM target", "CREATE VIEW v AS SELECT a FROM target"],
                "2 views depend .* is v",
            ),
            (["ALTER TABLE target ENABLE ROW LEVEL SECURITY"], "row-level security"),
            (["CREATE POLICY p ON target USING (true)"], "row-level security"),
            (["CREATE TABLE child () INHERITS (target)"], "partitioned or inherits"),
            (
                ["DROP TABLE target", "CREATE TABLE target (a INTEGER) PARTITION BY LIST (a)"],
                "partitioned or inherits",
            ),
            (
                ["CREATE TRIGGER t BEFORE UPDATE ON target EXECUTE FUNCTION suppress_redundant_updates_trigger()"],
                "triggers",
            ),
            (
                ["ALTER TABLE target ADD PRIMARY KEY (a)", "CREATE TABLE c (a INTEGER REFERENCES target)"],
                "foreign keys",
            ),
            (["DROP TABLE target", "CREATE MATERIALIZED VIEW target AS SELECT 1 AS a"], "is a view"),
            (["DROP TABLE target", "CREATE SEQUENCE target"], "not an ordinary table"),
        ],
    )
    def test_what_could_not_be_kept_is_refused(self, engine: Engine, statements: list[str], message: str) -> None:
        execute(engine, *statements)
        with pytest.raises(EngineError, match=message):
            self.replace(engine)
        assert engine.relation_kind(Table(("staging",))) == "table"
        assert engine.relation_kind(Table(("target",))) is not None

    def test_a_missing_staging_table(self, engine: Engine) -> None:
        execute(engine, "DROP TABLE staging")
        with pytest.raises(SourceError, match="no table staging"):
            self.replace(engine)


class TestSessions:
    def test_sessions_carry_the_run(self, postgres_url: str) -> None:
        engine = open_at(postgres_url, Session(run=RUN))
        assert query(engine, "SELECT current_setting('application_name')") == [(f"sqlanon run={RUN}",)]
        engine.close()

    def test_a_missing_privilege_names_the_object(self, postgres_url: str, role: str) -> None:
        owner = open_at(postgres_url)
        execute(owner, "CREATE TABLE hidden (a INTEGER)")
        ((schema,),) = query(owner, "SELECT current_schema()")
        execute(owner, f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        engine = open_at(str(make_url(postgres_url).set(username=role).render_as_string(hide_password=False)))
        with pytest.raises(PermissionDenied, match="step 'read': permission denied for table hidden"):
            query(engine, "SELECT * FROM hidden", step="read")
        with pytest.raises(PermissionDenied, match="permission denied for table hidden"):
            engine.columns(Table(("hidden",)))
        with pytest.raises(PermissionDenied, match=f"permission denied for schema {schema}"):
            execute(engine, "CREATE TABLE mine (a INTEGER)")
        execute(owner, f"CREATE TABLE sqlanon_{DEAD}_x (a INTEGER)")
        assert engine.leftovers((schema,)) == []
        engine.close()
        owner.close()

    def test_a_table_of_another_database(self, postgres_url: str) -> None:
        engine = open_at(postgres_url)
        with pytest.raises(SourceError, match=r"elsewhere\.public\.t lies in another database than the connection"):
            engine.columns(Table(("elsewhere", "public", "t")))
        engine.close()

    def test_a_lost_connection(self, postgres_url: str) -> None:
        engine, other = open_at(postgres_url, Session(run=RUN)), open_at(postgres_url)
        end = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE '%{RUN}'"
        lost = pytest.raises(ConnectionFailed, match="step 'after': the connection to the server was lost")
        with lost, engine.transaction():
            query(other, end)
            query(engine, "SELECT 1", step="after")
        with pytest.raises(ConnectionFailed):
            query(engine, "SELECT 1")
        engine.close()
        other.close()

    def test_unreachable_servers(self) -> None:
        with pytest.raises(ConnectionFailed, match=r"cannot connect to localhost:1 as someone: Connection refused"):
            open_at("postgresql://someone:secret@localhost:1/nothing")
        with pytest.raises(ConnectionFailed, match=r"cannot connect to nowhere\.invalid:5432 as the current user"):
            open_at("postgresql://nowhere.invalid/nothing")

    def test_unknown_database_and_role(self, postgres_server: str) -> None:
        url = make_url(postgres_server)
        with pytest.raises(ConnectionFailed, match='database "nothing" does not exist'):
            open_at(url.set(database="nothing").render_as_string(hide_password=False))
        with pytest.raises(ConnectionFailed, match=r'as nobody_here: .*"nobody_here"'):
            open_at(url.set(username="nobody_here", password="secret").render_as_string(hide_password=False))

    def test_wrong_passwords(self, postgres_password_url: str) -> None:
        deadline = time.monotonic() + 10
        wrong = make_url(postgres_password_url).set(password="not-it").render_as_string(hide_password=False)
        # The server reads its rules a moment after it is told to.
        while _opens(wrong) and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(ConnectionFailed, match=r"cannot connect to .* as role_.*: password auth") as error:
            open_at(wrong)
        assert "not-it" not in str(error.value) + error.value.detail
        open_at(postgres_password_url).close()

    def test_unknown_options(self, postgres_server: str) -> None:
        joint = "&" if "?" in postgres_server else "?"
        with pytest.raises(ConnectionFailed, match="invalid connection option"):
            open_at(f"{postgres_server}{joint}nonsense=1")


def _opens(url: str) -> bool:
    try:
        open_at(url).close()
    except ConnectionFailed:
        return False
    return True
