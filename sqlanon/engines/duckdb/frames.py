"""A dataframe as a table of DuckDB: pandas, polars or Arrow, read where it lies in the memory of this process.

DuckDB reads the rows; no code of ours does. Imports none of the three packages.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb
from sqlglot import exp

from sqlanon.engines.base import Session
from sqlanon.engines.duckdb.engine import DuckDBEngine, translate
from sqlanon.engines.registry import MEMORY, duckdb_path
from sqlanon.errors import UsageError
from sqlanon.sql.relations import Table, table_expression

NAME: Final = "dataframe"
"""What the dataframe is called as a table."""

_SCHEME = "duckdb://"
_KINDS = frozenset({("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")})


def is_frame(value: object) -> bool:
    """Whether this is a dataframe or a table that can be read again and again; streams and lazy queries are not."""
    return any((kind.__module__.partition(".")[0], kind.__name__) in _KINDS for kind in type(value).__mro__)


class FrameEngine(DuckDBEngine):
    """A DuckDB session in which a dataframe stands as a view."""

    def __init__(self, session: Session, path: str, frame: object) -> None:
        # A database in memory that has a name can be opened again while it is open: `keep` does.
        self._place = f"{MEMORY}sqlanon_{secrets.token_hex(8)}" if path == MEMORY else path
        super().__init__(session, self._place)
        if path == MEMORY:
            self._path, self._new_file, self.lasting = None, None, False
        try:
            self._traced("session", f"/* {self.tag} */ -- register {NAME}", lambda: self._register(frame))
        except BaseException:
            self.close()
            raise

    def _register(self, frame: object) -> None:
        try:
            self._runner.run(lambda: self._connection.register(NAME, frame))
        except duckdb.Error as error:
            raise translate(error, "session") from None

    def keep(self) -> KeptFrame:
        """A second session of the same database, which goes on when this one ends."""
        return KeptFrame(duckdb.connect(self._place))


class KeptFrame:
    """Tables of a database in memory that are still to be read."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def arrow(self, table: Table) -> Any:
        """The rows as an Arrow table."""
        return self._read(table).to_arrow_table()

    def pandas(self, table: Table) -> Any:
        """The rows as a pandas dataframe."""
        return self._read(table).df()

    def polars(self, table: Table) -> Any:
        """The rows as a polars dataframe."""
        return self._read(table).pl()

    def _read(self, table: Table) -> Any:
        return self._connection.sql(exp.select("*").from_(table_expression(table)).sql("duckdb"))


def opener(frame: object, opened: Callable[[FrameEngine], None]) -> Callable[[str, Session, Path], FrameEngine]:
    """Opens the DuckDB of a URL with the dataframe in it, and tells of it."""

    def open_frame(url: str, session: Session, folder: Path) -> FrameEngine:
        if not url.lower().startswith(_SCHEME):
            raise UsageError(
                "connection: a dataframe is read by DuckDB; leave the connection out, or name a DuckDB file"
            )
        engine = FrameEngine(session, duckdb_path(url[len(_SCHEME) :], folder), frame)
        opened(engine)
        return engine

    return open_frame
