"""MySQL and MariaDB: what the generic engine cannot know of them. Proven on MariaDB.

Statements that change tables commit, so a release takes its target's place by one RENAME TABLE of both, which readers
see whole or not at all. Named locks (GET_LOCK) say which runs are alive, in any process, and let runs take turns on a
target. A statement is stopped by a second session.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from sqlalchemy.exc import SQLAlchemyError
from sqlglot import exp
from sqlglot.expressions import DType

from sqlanon.engines import scratch
from sqlanon.engines.base import ColumnInfo, Session, Statement
from sqlanon.engines.dialects import data_type, family, quoted_name
from sqlanon.engines.session import busy, refuse_transaction
from sqlanon.engines.sqlalchemy import catalog
from sqlanon.engines.sqlalchemy.base import create
from sqlanon.engines.sqlalchemy.engine import SQLAlchemyEngine
from sqlanon.engines.sqlalchemy.traits import CollatedTraits
from sqlanon.errors import EngineError, SourceError, StatementTimeout
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import Relation, Table, column, literal

DRIVER = "pymysql"
"""What connects where the URL names no driver."""

MOST_BYTES = 16_384
"""Of a text that is compared whole: the session sorts by four times as many bytes of what a collation makes of it."""
_LONG = frozenset({DType.TEXT, DType.MEDIUMTEXT, DType.LONGTEXT})
_UNSIGNED = exp.DataType.UNSIGNED_INTEGER_TYPES
MOST_ROUNDS = 2**32 - 1
"""Rounds of a recursive query, of which the database ends by itself."""


class MySQLEngine(SQLAlchemyEngine):
    """One session of MySQL or MariaDB."""

    comments_columns: ClassVar[bool] = False

    def __init__(self, session: Session, url: str, folder: Path) -> None:
        scheme, separator, rest = url.partition("://")
        super().__init__(session, url if "+" in scheme else f"{scheme}+{DRIVER}{separator}{rest}", folder)

    def _set_up(self) -> None:
        super()._set_up()
        [(number,)] = self.query(Statement("session", exp.select(exp.Anonymous(this="CONNECTION_ID"))))
        self._number = int(number)
        if isinstance(self.traits, CollatedTraits):
            # Literals and casts compare by the collation of the session.
            names = exp.SetItem(this=literal("utf8mb4"), kind="NAMES", collate=exp.to_identifier(self.traits.collation))
            self.execute(Statement("session", exp.Set(expressions=[names])))
        if getattr(self._connection.dialect, "is_mariadb", False):
            # A recursion that is cut off is only a warning there.
            most = exp.EQ(this=exp.column("max_recursive_iterations"), expression=literal(MOST_ROUNDS))
            self.execute(Statement("session", exp.Set(expressions=[exp.SetItem(this=most)])))
        if scratch.is_run(self.session.run):
            self._locked(_name_of_run(self.session.run), 0)

    # -- reading ---------------------------------------------------------------------------------------------------

    def columns(self, relation: Relation) -> tuple[ColumnInfo, ...]:
        """Texts are ordered and grouped by their first bytes alone: longer ones are refused."""
        found = super().columns(relation)
        ours = isinstance(relation, Table) and scratch.run_of(relation.name) is not None
        long = [info.name for info in found if _may_be_long(info) and not ours]
        if long:
            lengths = (exp.Max(this=exp.Anonymous(this="OCTET_LENGTH", expressions=[column(name)])) for name in long)
            select = exp.select(*lengths).from_(self.traits.relation(relation, "source"))
            [most] = self.query(Statement("catalog", select))
            for name, length in zip(long, most, strict=True):
                if int(length or 0) > MOST_BYTES:
                    raise SourceError(
                        f"column '{name}' of {relation} has texts of more than {MOST_BYTES} bytes; the database "
                        f"compares only the first of them: shorten them, or leave the column out, by a source query"
                    )
        return found

    def columns_of_table(self, table: Table) -> tuple[ColumnInfo, ...]:
        """SQLAlchemy misreads names with backticks."""
        shown = exp.Command(this="SHOW COLUMNS FROM", expression=quoted_name(table, self.dialect))
        found = []
        for name, text, *_ in self.query(Statement("catalog", shown)):
            kind = data_type(_words(text), self.dialect)
            members = Family.TEXT if family(kind) in self._unspelled else family(kind)
            found.append(ColumnInfo(str(name), _castable(kind, members), members))
        return tuple(found)

    # -- stopping --------------------------------------------------------------------------------------------------

    def _can_stop(self) -> bool:
        return True

    def _stop(self) -> None:
        """A session can stop what another of the same user does."""
        kill = exp.Kill(this=literal(self._number), kind="QUERY").sql(dialect=self.dialect)
        # There is nothing left to stop where the server cannot be reached any more.
        with suppress(SQLAlchemyError), create(self.url).connect() as other:
            other.exec_driver_sql(kill)

    # -- replacing -------------------------------------------------------------------------------------------------

    def commented(self, table: Table, text: str) -> exp.Expression:
        comment = f"{quoted_name(table, self.dialect)} COMMENT = {literal(text).sql(dialect=self.dialect)}"
        return exp.Command(this="ALTER TABLE", expression=comment)

    def exchange(self, table: Table, target: Table, away: Table) -> None:
        """Both renames by one statement."""
        names = [
            f"{quoted_name(old, self.dialect)} TO {quoted_name(new, self.dialect)}"
            for old, new in ((target, away), (table, target))
        ]
        self.execute(Statement("replace", exp.Command(this="RENAME TABLE", expression=", ".join(names))))

    # -- locks -----------------------------------------------------------------------------------------------------

    def _locked(self, name: str, seconds: float) -> bool:
        wait = exp.Anonymous(this="GET_LOCK", expressions=[literal(name), exp.Literal.number(seconds)])
        return self.query(Statement("lock", exp.select(wait))) == [(1,)]

    def leftovers(self, schema: tuple[str, ...]) -> list[Table]:
        """Scratch objects whose run holds no lock, in this process or another."""
        found = []
        for table in catalog.leftovers(self, schema):
            run = scratch.run_of(table.name)
            free = exp.Anonymous(this="IS_FREE_LOCK", expressions=[literal(_name_of_run(run or ""))])
            if self.query(Statement("catalog", exp.select(free))) == [(1,)]:
                found.append(table)
        return found

    @contextmanager
    def alone_with(self, target: Table, seconds: float) -> Iterator[None]:
        """Wait for the lock of a target, and give it back; it also ends with the session."""
        refuse_transaction(self)
        place = repr((str(self.url.database), *catalog.identity(self, target)))
        name = f"sqlanon {sha256(place.encode()).hexdigest()[:40]}"
        try:
            got = self._locked(name, seconds)
        except StatementTimeout as error:
            raise busy(target, seconds, error) from None
        if not got:
            raise busy(target, seconds)
        try:
            yield
        finally:
            # A session that was lost has given it back.
            with suppress(EngineError):
                give = exp.Anonymous(this="RELEASE_LOCK", expressions=[literal(name)])
                self.query(Statement("lock", exp.select(give)))


def _may_be_long(info: ColumnInfo) -> bool:
    if info.type.this is DType.VARCHAR:
        return any(4 * int(size.name) > MOST_BYTES for size in info.type.expressions)
    return info.type.this in _LONG


def _words(text: object) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


def _castable(kind: exp.DataType, members: Family) -> exp.DataType:
    """What a cast can name: no enumeration, and of whole numbers only the sign."""
    if kind.this is DType.ENUM:
        return exp.DataType.build("text")
    if members is Family.INTEGER:
        return exp.DataType(this=DType.UBIGINT if kind.this in _UNSIGNED else DType.BIGINT)
    return kind


def _name_of_run(run: str) -> str:
    return f"sqlanon run {run}"
