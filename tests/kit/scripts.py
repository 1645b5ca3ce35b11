"""What tests of scripts share: random tables with every model, and clients that know nothing of sqlanon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb
import psycopg
from psycopg import conninfo

from tests.kit.database import Database
from tests.kit.random_tables import EVERYTHING, Asking, load, random_table
from tests.kit.tables import at

RELEASED = ("zip", "age", "sex", "disease", "stage")
LIMIT = 8
BY_NAME = {asking.name: asking for asking in EVERYTHING}


def loaded(url: str, seed: int = 1) -> Database:
    """A database with a random table and its population."""
    source, population = random_table(seed)
    with at(url) as engine:
        load(engine, source, population)
    return Database(url)


def asked(*names: str) -> list[Asking]:
    return [BY_NAME[name] for name in names]


def published(database: Database) -> Counter[tuple[Any, ...]]:
    """The release as texts."""
    return database.counted("released", ", ".join(f"CAST({name} AS text)" for name in RELEASED))


def run_script(database: Database, *texts: str, secret: str | None = None) -> None:
    """As a person would: everything through the database's own client, in one session that may be given a secret."""
    if database.is_duckdb:
        with duckdb.connect(database.url.removeprefix("duckdb:///")) as connection:
            if secret is not None:
                connection.execute("SET VARIABLE sqlanon_secret = ?", [secret])
            for text in texts:
                connection.execute(text)
        return
    given = conninfo.conninfo_to_dict(database.url).get("options") or ""
    # As PGOPTIONS does it, blanks with a backslash.
    told = "" if secret is None else f" -c sqlanon.secret={secret.replace(' ', chr(92) + ' ')}"
    with psycopg.connect(database.url, autocommit=True, options=f"{given}{told}") as session:
        for text in texts:
            session.execute(text.encode())


def statements(text: str) -> list[str]:
    """The statements of a script one by one, for clients that take no more at a time."""
    parts = text.split(";\n")
    return [part for part in parts if any(line and not line.startswith("--") for line in part.splitlines())]


def as_texts(rows: Sequence[Sequence[Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(None if value is None else str(value) for value in row) for row in rows)
