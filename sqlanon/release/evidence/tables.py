"""Evidence as tables of a schema, beside the scratch tables: made on first use, written once for each run.

Touches these tables only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.release.evidence import statements as evidence_sql
from sqlanon.release.evidence.document import Document, finite, is_evidence, requirements_of
from sqlanon.release.evidence.statements import CHECK, LEVEL, RUN, STATEMENT, TABLES
from sqlanon.spec.operations import LOCK_SECONDS
from sqlanon.sql.relations import Table

ROWS = 500
"""Rows that one statement writes."""


class EvidenceTables:
    """The tables of evidence in one schema."""

    def __init__(self, engine: Engine, schema: tuple[str, ...]) -> None:
        self._engine = engine
        self._schema = schema

    def named(self, name: str) -> Table:
        return Table((*self._schema, name))

    @property
    def all(self) -> tuple[Table, ...]:
        return tuple(self.named(name) for name in TABLES)

    @property
    def exist(self) -> bool:
        """Whether somebody made them."""
        return all(self._engine.relation_kind(table) == "table" for table in self.all)

    def require(self) -> None:
        """Make those that are missing. Asks first: where they stand, no privilege to create is needed."""
        if not self._engine.lasting:
            raise UsageError("evidence.tables: a database in memory ends with the run; name a database file")
        if not self.exist:
            with self._engine.alone_with(self.named(RUN), LOCK_SECONDS):
                for table in self.all:
                    self._engine.execute(Statement("evidence tables", evidence_sql.create(table)))
        else:
            self._require_columns()

    def _require_columns(self) -> None:
        """Found before anything is published, not when its evidence cannot be written."""
        for table in self.all:
            there = {info.name.lower() for info in self._engine.columns(table)}
            missing = [name for name in TABLES[table.name] if name not in there]
            if missing:
                raise UsageError(
                    f"evidence.tables: {table} has no column '{missing[0]}': make the table as sql/metadata has it"
                )

    def add(self, document: Document) -> None:
        """Write the evidence of a run, all or nothing."""
        with self._engine.transaction():
            for name, rows in _rows(document):
                for part in _parts(rows):
                    self._engine.execute(Statement("evidence", evidence_sql.insert(self.named(name), part)))

    def read(self) -> list[Document]:
        """The evidence of every run, newest first, without the statements."""
        found = self._engine.query(Statement("evidence", evidence_sql.runs(self.named(RUN))))
        contents = [json.loads(text) for (text,) in found]
        return [content for content in contents if is_evidence(content)]

    def with_statements(self, document: Document) -> Document:
        """The same evidence with its statements."""
        query = evidence_sql.statements(self.named(STATEMENT), document["run"])
        found = self._engine.query(Statement("evidence", query))
        names = ("step", "seconds", "rows", "failed")
        return {**document, "statements": [dict(zip(names, row, strict=True)) for row in found]}

    def remove(self, run: str) -> None:
        """Forget a run."""
        with self._engine.transaction():
            for table in self.all:
                self._engine.execute(Statement("remove evidence", evidence_sql.remove(table, run)))


def _parts(rows: Sequence[Sequence[Any]]) -> Iterator[Sequence[Sequence[Any]]]:
    for first in range(0, len(rows), ROWS):
        yield rows[first : first + ROWS]


def _rows(document: Document) -> Iterator[tuple[str, list[Sequence[Any]]]]:
    """For each table the rows of this run."""
    run, versions, rows = document["run"], document["versions"], document["rows"]
    after, failure = document["audit"]["after"] or {}, document.get("failure") or {}
    kept = finite({key: value for key, value in document.items() if key != "statements"})
    header = (
        *(document[key] for key in ("run", "command", "outcome")),
        failure.get("error"),
        document["spec"]["hash"],
        *(document[key] for key in ("recipient", "source", "target", "engine")),
        *(versions[key] for key in ("engine", "sqlanon", "python")),
        _timestamp(document["started"]),
        _timestamp(document["finished"]),
        *(rows.get(key) for key in ("source", "suppressed", "blanked", "released")),
        *(after.get(key) for key in ("classes", "k", "satisfied")),
        json.dumps(kept, ensure_ascii=False, allow_nan=False),
    )
    yield RUN, [header]
    yield (
        LEVEL,
        [
            (run, place, name, found["level"], found["height"])
            for place, (name, found) in enumerate(document["levels"].items())
        ],
    )
    names = ("model", "column", "required", "measured", "classes_at_risk", "rows_at_risk", "satisfied")
    yield (
        CHECK,
        [
            (run, place, *(finite(check[name]) for name in names))
            for place, check in enumerate(requirements_of(document))
        ],
    )
    yield (
        STATEMENT,
        [
            (run, place, *(statement[name] for name in ("step", "seconds", "rows", "failed")))
            for place, statement in enumerate(document["statements"])
        ],
    )


def _timestamp(text: str) -> str:
    """As every engine reads it, without the offset: it is 0.

    >>> _timestamp("2026-01-31T12:00:00.250+00:00")
    '2026-01-31 12:00:00.250'
    """
    return text.removesuffix("+00:00").replace("T", " ")
