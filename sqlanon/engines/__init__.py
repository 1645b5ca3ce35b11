"""Databases: the contract (`base`), the table of engines and their URL schemes, and one folder for each engine.

The only room that imports a database driver or knows an engine by name. A driver is imported when its engine is asked
for. Messages about a URL name its scheme at most: anything else may hold a password.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from sqlanon.engines.base import Engine, Session
from sqlanon.errors import UsageError

MEMORY = ":memory:"
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)

ENTRY_POINTS = "sqlanon.engines"
"""The group of entry points: named after a URL scheme, each is a callable `(url, session, folder) -> Engine`."""


@dataclass(frozen=True)
class Address:
    """A connection URL and its parts."""

    url: str
    scheme: str
    rest: str
    folder: Path
    """What relative paths start from."""


@dataclass(frozen=True)
class EngineRow:
    """An engine of this package: the schemes of its URLs, its class, and what the class takes beside the session."""

    schemes: tuple[str, ...]
    made_by: str
    """The class, as module:name; imported when it is asked for."""
    arguments: Callable[[Address], tuple[Any, ...]]

    def open(self, address: Address, session: Session) -> Engine:
        module, _, name = self.made_by.partition(":")
        engine: Engine = getattr(import_module(module), name)(session, *self.arguments(address))
        return engine


ENGINES: tuple[EngineRow, ...] = (
    EngineRow(
        ("duckdb",),
        "sqlanon.engines.duckdb.engine:DuckDBEngine",
        lambda address: (duckdb_path(address.rest, address.folder),),
    ),
    EngineRow(
        ("postgresql", "postgresql+psycopg", "postgres"),
        "sqlanon.engines.postgres.engine:PostgresEngine",
        lambda address: (address.url,),
    ),
    EngineRow(
        ("mysql", "mysql+pymysql", "mysql+mysqldb", "mariadb", "mariadb+pymysql", "mariadb+mysqldb"),
        "sqlanon.engines.sqlalchemy.mysql:MySQLEngine",
        lambda address: (address.url, address.folder),
    ),
    EngineRow(
        ("chdb", "clickhouse", "clickhouse+http", "clickhouse+https", "clickhousedb"),
        "sqlanon.engines.clickhouse.engine:ClickHouseEngine",
        lambda address: (address.scheme, address.url, address.rest, address.folder),
    ),
    EngineRow(
        ("spark", "sc"),
        "sqlanon.engines.spark.engine:SparkEngine",
        lambda address: (address.scheme, address.rest),
    ),
)
"""The engines that know one kind of database. A new one is a folder here and one row."""


def open_engine(url: str, session: Session, base: Path) -> Engine:
    """Connect. A relative path of a DuckDB file is taken from `base`."""
    match = _URL.fullmatch(url.strip())
    if match is None:
        raise UsageError(
            "the connection is not a URL: write duckdb:///path/to/file.duckdb or postgresql://host/database"
        )
    address = Address(url.strip(), match["scheme"].lower(), match["rest"], base)
    for row in ENGINES:
        if address.scheme in row.schemes:
            return row.open(address, session)
    return _open_other(address.scheme, address.url, session, base)


def _open_other(scheme: str, url: str, session: Session, base: Path) -> Engine:
    """Engines of other packages come first, so that one may know a database better than the generic engine does."""
    others = {entry.name.lower(): entry for entry in entry_points(group=ENTRY_POINTS)}
    if scheme in others:
        try:
            opener = others[scheme].load()
        except Exception as error:
            # Code of others, which may fail in any way while it is imported; its text is not for a message.
            raise UsageError(
                f"the package that provides connection scheme '{scheme}' cannot be loaded: {type(error).__name__}"
            ) from None
        opened = opener(url, session, base)
        if not isinstance(opened, Engine):
            raise UsageError(f"the package that provides connection scheme '{scheme}' returned no sqlanon engine")
        return opened
    from sqlanon.engines.sqlalchemy.base import knows

    if knows(scheme):
        from sqlanon.engines.sqlalchemy.engine import SQLAlchemyEngine

        return SQLAlchemyEngine(session, url, base)
    known = [*(name for row in ENGINES for name in row.schemes), *sorted(others)]
    raise UsageError(
        f"unknown connection scheme '{scheme}': known are {', '.join(known)}, and what SQLAlchemy has a dialect for"
    )


def duckdb_path(rest: str, base: Path) -> str:
    """The file that the part of a DuckDB URL after `//` means.

    >>> duckdb_path("/x.duckdb", Path("/home")), duckdb_path("//data/x.duckdb", Path("/home")), duckdb_path("", Path())
    ('/home/x.duckdb', '/data/x.duckdb', ':memory:')
    """
    if rest in ("", "/", MEMORY, f"/{MEMORY}"):
        return MEMORY
    if not rest.startswith("/"):
        raise UsageError("a DuckDB URL names no host: write duckdb:///relative/path or duckdb:////absolute/path")
    return str(base / rest[1:])
