"""What tests of the whole path share: tables made and read back with the databases' own clients, and specs on them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from sqlanon import pipeline
from sqlanon.evaluation.problem import problem_of, solve
from sqlanon.search.base import SearchResult
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.run import DEFAULT, Run, running
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.papers import Case

Rows = list[tuple[Any, ...]]


class KeptSession:
    """The session of PostgreSQL that was used last, in this process and at one URL: beginning one takes long."""

    def __init__(self) -> None:
        self._of: tuple[int, str] | None = None
        self._session: psycopg.Connection[Any] | None = None
        self._of_the_parent: list[psycopg.Connection[Any]] = []
        """A child that was forked neither uses nor ends what its parent has open."""

    def taken(self, url: str) -> psycopg.Connection[Any]:
        """A session nobody else uses, the kept one if it is of this URL; it is given back by `give`."""
        of, session = self._of, self._session
        self._of = self._session = None
        if session is not None and of == (os.getpid(), url) and not session.closed:
            return session
        if session is not None and of is not None:
            if of[0] == os.getpid():
                session.close()
            else:
                self._of_the_parent.append(session)
        # What is prepared would outlive the tables it is about.
        return psycopg.connect(url, autocommit=True, prepare_threshold=None)

    def give(self, url: str, session: psycopg.Connection[Any]) -> None:
        """Leave it as it was when it began: no transaction, settings, temporary tables, locks."""
        if self._session is not None:
            session.close()
            return
        try:
            session.rollback()
            session.execute("DISCARD ALL")
        except psycopg.Error:
            session.close()
        else:
            self._of, self._session = (os.getpid(), url), session

    def end(self) -> None:
        if self._session is not None and self._of is not None and self._of[0] == os.getpid():
            self._session.close()
        self._of = self._session = None


kept_session = KeptSession()


@contextmanager
def as_new_session(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A session of PostgreSQL in which nothing has happened yet."""
    session = kept_session.taken(url)
    try:
        yield session
    finally:
        kept_session.give(url, session)


@dataclass(frozen=True)
class Database:
    """A database seen by its own client, each call as in a session of its own; shares nothing with sqlanon."""

    url: str

    @property
    def is_duckdb(self) -> bool:
        return self.url.startswith("duckdb")

    def run(self, *statements: str) -> Rows:
        """Run statements, each for itself; the rows of the last one."""
        rows: Rows = []
        if self.is_duckdb:
            with duckdb.connect(self.url.removeprefix("duckdb:///")) as connection:
                for statement in statements:
                    rows = connection.execute(statement).fetchall()
            return rows
        with as_new_session(self.url) as session:
            for statement in statements:
                cursor = session.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def create(self, name: str, types: Mapping[str, str], values: Sequence[Sequence[Any]]) -> None:
        """A table of these columns and rows, in this order."""
        columns = ", ".join(f'"{column}" {kind}' for column, kind in types.items())
        lines = (
            "(" + ", ".join(f"CAST({literal(v)} AS {t})" for v, t in zip(row, types.values(), strict=True)) + ")"
            for row in values
        )
        inserts = [f"INSERT INTO {name} VALUES {', '.join(lines)}"] if values else []
        self.run(f"CREATE TABLE {name} ({columns})", *inserts)

    def rows(self, name: str, columns: str = "*") -> Rows:
        return self.run(f"SELECT {columns} FROM {name}")

    def counted(self, name: str, columns: str = "*") -> Counter[tuple[Any, ...]]:
        """The table as a multiset."""
        return Counter(self.rows(name, columns))

    def types(self, name: str) -> dict[str, str]:
        """The columns of a table in their order, with the names that both engines give types in the standard."""
        found = self.run(
            "SELECT column_name, lower(data_type) FROM information_schema.columns "
            f"WHERE table_name = '{name}' AND table_schema = current_schema() ORDER BY ordinal_position"
        )
        names = {"varchar": "text", "character varying": "text"}
        return {str(column): names.get(kind, str(kind)) for column, kind in found}

    def leftovers(self) -> list[str]:
        """Everything in the database that is named like an object of sqlanon's."""
        found = self.run("SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'sqlanon%'")
        return [name for (name,) in found]


def literal(value: Any) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def create_case(database: Database, case: Case, name: str = "source_table") -> None:
    """The table of a paper, with the types that its fixture gives."""
    database.create(name, case.types, case.rows)


def case_spec(case: Case, url: str, k: int, limit: int, **search: Any) -> Spec:
    """The spec of a paper, reading its table in a database."""
    values = {
        **case.spec,
        "connection": url,
        "source": "source_table",
        "target": "release_table",
        "privacy": {"k": k, "suppression": {"limit": limit}},
        "search": {**case.spec["search"], "prefer": [], **search},
    }
    return spec_from_dict(values, case.directory)


def changed(values: Mapping[str, Any], base: Path | str = ".", **changes: Any) -> Spec:
    """The spec that these values make, keys of the top level replaced."""
    return spec_from_dict({**values, **changes}, base)


@contextmanager
def prepared(spec: Spec) -> Iterator[tuple[Run, FrequencySet]]:
    """A run whose frequency set stands, for several searches on one scan."""
    with running(spec, DEFAULT) as run:
        yield run, pipeline.prepare(run)


def solved(run: Run, frequency: FrequencySet, spec: Spec) -> SearchResult:
    """What the pipeline's search answers to another spec on the same frequency set."""
    with Scratch(run.engine, run.binding.scratch) as scratch:
        problem = problem_of(replace(run, binding=replace(run.binding, spec=spec), scratch=scratch), frequency)
        return solve(problem, problem.evaluator())
