"""From a connection URL to an open engine; drivers are imported only when their engine is asked for.

Messages about a URL name its scheme at most: anything else may hold a password.
"""

from __future__ import annotations

import re
from pathlib import Path

from sqlanon.engines.base import Engine, Session
from sqlanon.errors import UsageError

MEMORY = ":memory:"
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_DUCKDB = ("duckdb",)
_POSTGRES = ("postgresql", "postgresql+psycopg", "postgres")


def open_engine(url: str, session: Session, base: Path) -> Engine:
    """Connect. A relative path of a DuckDB file is taken from `base`."""
    match = _URL.fullmatch(url.strip())
    if match is None:
        raise UsageError(
            "the connection is not a URL: write duckdb:///path/to/file.duckdb or postgresql://host/database"
        )
    scheme = match["scheme"].lower()
    if scheme in _DUCKDB:
        from sqlanon.engines.duckdb import DuckDBEngine

        return DuckDBEngine(session, duckdb_path(match["rest"], base))
    if scheme in _POSTGRES:
        from sqlanon.engines.postgres import PostgresEngine

        return PostgresEngine(session, url.strip())
    raise UsageError(f"unknown connection scheme '{scheme}': known are duckdb, postgresql and postgresql+psycopg")


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
