"""What tests of engines share: statements given as text, and a program to interrupt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sqlglot import exp

from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Row, Session, Statement

ROOT = Path(__file__).parents[2]


def verbatim(sql: str) -> exp.Command:
    verb, _, rest = sql.strip().partition(" ")
    return exp.Command(this=verb, expression=rest)


def execute(engine: Engine, *statements: str, step: str = "test") -> int:
    touched = -1
    for sql in statements:
        touched = engine.execute(Statement(step, verbatim(sql)))
    return touched


def query(engine: Engine, sql: str, step: str = "test") -> list[Row]:
    return engine.query(Statement(step, verbatim(sql)))


def interrupt_program(url: str, run: str, long_statement: str) -> subprocess.Popen[str]:
    """A process in the middle of a long statement of a transaction; its first line says that it has begun."""
    command = [sys.executable, "-c", _PROGRAM, url, run, long_statement]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


_PROGRAM = """
import signal, sys
from pathlib import Path
from sqlanon.engines.base import Session
from sqlanon.engines import open_engine
from tests.kit.engine import execute, query

signal.signal(signal.SIGINT, signal.default_int_handler)
url, run, long_statement = sys.argv[1:]
engine = open_engine(url, Session(run=run), Path())
execute(engine, "CREATE TABLE before_it (a INTEGER)")
try:
    with engine.transaction():
        execute(engine, "CREATE TABLE within_it (a INTEGER)")
        print("begun", flush=True)
        execute(engine, long_statement, step="long")
except KeyboardInterrupt:
    execute(engine, "DROP TABLE before_it")
    print("clean", flush=True)
    sys.stdin.readline()
engine.close()
"""


def open_at(url: str, session: Session | None = None) -> Engine:
    return open_engine(url, session or Session(), Path())
