from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sqlanon.engines import open_engine
from sqlanon.engines.base import Session
from sqlanon.engines.postgres.connection import cannot_connect
from sqlanon.errors import UsageError


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nosuchdb://user:secret@host/db", "unknown connection scheme 'nosuchdb': known are duckdb, postgresql"),
        ("mysql+nosuch://user:secret@host/db", "unknown connection scheme 'mysql.nosuch'"),
        ("warehouse-secret.duckdb", "not a URL"),
        ("", "not a URL"),
        ("duckdb://secret/x", "names no host"),
        ("postgresql://user:secret@host:secret/db", "not valid"),
        ("postgresql://us er:se@cret:x@y:z", "not valid"),
    ],
)
def test_bad_urls_are_told_without_their_text(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        open_engine(url, Session(), Path())
    assert "secret" not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_a_password_in_the_drivers_text_is_dropped() -> None:
    import psycopg

    error = cannot_connect(psycopg.OperationalError("bad secret"), "host:1", "me", "secret")
    assert "secret" not in str(error) + error.detail


def test_drivers_are_imported_only_when_asked_for() -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from sqlanon.engines import open_engine; from sqlanon.engines.base import Session\n"
        "assert not {'duckdb', 'psycopg', 'sqlalchemy'} & set(sys.modules)\n"
        "open_engine('duckdb://', Session(), Path()).close()\n"
        "assert not {'psycopg', 'sqlalchemy'} & set(sys.modules)\n"
    )
    command = [sys.executable, "-c", program]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
