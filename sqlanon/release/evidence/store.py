"""Evidence on record: one JSON file for each run in the folder of its spec, and tables of a schema.

Touches these files and tables only; other files of the folder are left alone.
The tables are those of sql/metadata, which people may run themselves; a test holds the two together.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.engines.temporaries import write_whole
from sqlanon.errors import UsageError
from sqlanon.release.evidence.document import Document, finished, finite, is_evidence, requirements_of
from sqlanon.spec.keys import LOCK_SECONDS
from sqlanon.sql.build import count, named, subquery, total, total_where
from sqlanon.sql.relations import Table, cast, column, identifier, literal, table_expression

RUN = "sqlanon_run"
LEVEL = "sqlanon_run_level"
CHECK = "sqlanon_run_check"
STATEMENT = "sqlanon_run_statement"

TABLES: Mapping[str, Mapping[str, str]] = {
    RUN: {
        "run": "text",
        "command": "text",
        "outcome": "text",
        "failure": "text",
        "spec_hash": "text",
        "recipient": "text",
        "source": "text",
        "target": "text",
        "engine": "text",
        "engine_version": "text",
        "sqlanon_version": "text",
        "python_version": "text",
        "started_utc": "timestamp",
        "finished_utc": "timestamp",
        "source_rows": "bigint",
        "suppressed_rows": "bigint",
        "blanked_rows": "bigint",
        "released_rows": "bigint",
        "classes": "bigint",
        "smallest_class": "bigint",
        "satisfied": "boolean",
        "evidence": "text",
    },
    LEVEL: {"run": "text", "place": "int", "column_name": "text", "level": "int", "height": "int"},
    CHECK: {
        "run": "text",
        "place": "int",
        "model": "text",
        "column_name": "text",
        "required": "text",
        "measured": "double",
        "classes_at_risk": "bigint",
        "rows_at_risk": "bigint",
        "satisfied": "boolean",
    },
    STATEMENT: {
        "run": "text",
        "place": "int",
        "step": "text",
        "seconds": "double",
        "row_count": "bigint",
        "failed": "boolean",
    },
}
"""Columns and types of each table; the first column is never NULL."""


def create(table: Table) -> exp.Create:
    """The statement that makes one of the tables where it is missing."""
    columns = TABLES[table.name]
    definitions = [
        exp.ColumnDef(this=identifier(name), kind=exp.DataType.build(kind)) for name, kind in columns.items()
    ]
    definitions[0].set("constraints", [exp.ColumnConstraint(kind=exp.NotNullColumnConstraint())])
    schema = exp.Schema(this=table_expression(table), expressions=definitions)
    return exp.Create(this=schema, kind="TABLE", exists=True)


def insert(table: Table, rows: Sequence[Sequence[Any]]) -> exp.Insert:
    """Write rows, each in the order of the table's columns."""
    types = list(TABLES[table.name].values())
    values = [
        exp.Tuple(expressions=[_typed(value, kind) for value, kind in zip(row, types, strict=True)]) for row in rows
    ]
    into = exp.Schema(this=table_expression(table), expressions=[identifier(name) for name in TABLES[table.name]])
    return exp.Insert(this=into, expression=exp.Values(expressions=values))


def _typed(value: Any, kind: str) -> exp.Expression:
    if value is None:
        return exp.Null()
    if kind == "boolean":
        return exp.true() if value else exp.false()
    if kind in ("int", "bigint"):
        return literal(int(value))
    return literal(value) if kind == "text" else cast(literal(str(value)), kind)


def runs(table: Table) -> exp.Select:
    """The evidence of every run, newest first."""
    newest = exp.Ordered(this=column("finished_utc"), desc=True, nulls_first=False)
    return exp.select(column("evidence")).from_(table_expression(table)).order_by(newest, column("run"))


def statements_of(table: Table, run: str) -> exp.Select:
    """The statements of one run, in their order."""
    names = ("step", "seconds", "row_count", "failed")
    found = exp.select(*(column(name) for name in names)).from_(table_expression(table))
    return found.where(_of(run)).order_by(column("place"))


def without_run(table: Table, run: str) -> exp.Delete:
    """Forget one run."""
    return exp.Delete(this=table_expression(table), where=exp.Where(this=_of(run)))


def _of(run: str) -> exp.Expression:
    return exp.EQ(this=column("run"), expression=literal(run))


def source_classes(base: Table, width: int, k: int, *, grouped: bool) -> exp.Select:
    """Rows, classes, smallest class, classes and rows below k, of the scan's result: the source as it is.

    Where the scan counted by the quasi-identifier alone, its rows are the classes.
    """
    rows: exp.Expression = table_expression(base, "classes")
    if not grouped:
        keys = [column(f"q_{position}") for position in range(width)]
        sums = exp.select(named(exp.Sum(this=column("n")), "n")).from_(table_expression(base)).group_by(*keys)
        rows = subquery(sums, "classes")
    small = exp.LT(this=column("n"), expression=literal(k))
    figures = [
        total(column("n")),
        count(),
        exp.Min(this=column("n")),
        total_where(small, literal(1)),
        total_where(small.copy(), column("n")),
    ]
    return exp.select(*figures).from_(rows)


_NAME = re.compile(r"(?P<run>[0-9a-f]{12})\.json")
_TRIAL = 64 * 1024
"""Bytes that a folder must take before a run: about what its evidence has."""


def require_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before any work is done: a file is written there and removed.

    A folder that was not there is gone again afterwards; it is made when there is evidence.
    """
    made: list[Path] = []
    try:
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        for place in reversed(missing):
            place.mkdir()
            made.append(place)
        with tempfile.TemporaryFile(dir=folder) as trial:
            trial.write(bytes(_TRIAL))
            trial.flush()
    except OSError as error:
        raise UsageError(
            f"evidence.folder: '{folder}' cannot be written to ({error.strerror}); name another folder, or switch "
            f"files off"
        ) from None
    finally:
        for place in reversed(made):
            # Another run may have begun to use it.
            with suppress(OSError):
                place.rmdir()


def file_of(folder: Path, run: str) -> Path:
    """The file of a run."""
    return folder / f"{run}.json"


def write(folder: Path, document: Document) -> None:
    """Write the file of a run whole or not at all; only its owner can read it."""
    path = file_of(folder, document["run"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, as_json(document), private=True)
    except OSError as error:
        raise UsageError(
            f"the release stands, but its evidence cannot be written to '{path}': {error.strerror}"
        ) from None


def as_json(document: Document) -> str:
    """The document as text: indented, with a line for each statement; a figure without bound is null."""
    content = dict(finite(document))
    statements = [json.dumps(statement, ensure_ascii=False, allow_nan=False) for statement in content.pop("statements")]
    head = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    lines = ",\n    ".join(statements)
    return f'{head},\n  "statements": [\n    {lines}\n  ]\n}}\n'


def read(folder: Path) -> list[Document]:
    """The evidence in a folder, newest first."""
    found = (
        [_document(path) for path in sorted(folder.iterdir()) if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    )
    return sorted((item for item in found if item is not None), key=finished, reverse=True)


def remove(folder: Path, run: str) -> None:
    """Remove the file of a run; the folder too, when it was the last."""
    file_of(folder, run).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _document(path: Path) -> Document | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if is_evidence(content) and path.stem == content["run"] else None


ROWS = 500
"""Rows that one statement writes."""


class EvidenceTables:
    """The tables of evidence in one schema.

    They stand beside the scratch tables, are made on first use, and are written once for each run.
    """

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
                    # One that stands keeps the grants that somebody gave.
                    if self._engine.relation_kind(table) is None:
                        self._engine.create(Statement("evidence tables", create(table)), table)
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
                    self._engine.execute(Statement("evidence", insert(self.named(name), part)))

    def read(self) -> list[Document]:
        """The evidence of every run, newest first, without the statements."""
        found = self._engine.query(Statement("evidence", runs(self.named(RUN))))
        contents = [json.loads(text) for (text,) in found]
        return [content for content in contents if is_evidence(content)]

    def with_statements(self, document: Document) -> Document:
        """The same evidence with its statements."""
        query = statements_of(self.named(STATEMENT), document["run"])
        found = self._engine.query(Statement("evidence", query))
        names = ("step", "seconds", "rows", "failed")
        return {**document, "statements": [dict(zip(names, row, strict=True)) for row in found]}

    def remove(self, run: str) -> None:
        """Forget a run."""
        with self._engine.transaction():
            for table in self.all:
                self._engine.execute(Statement("remove evidence", without_run(table, run)))


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
