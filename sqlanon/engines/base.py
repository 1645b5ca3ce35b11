"""The engine contract: the few things sqlanon asks of a database, and the wrapper that traces, tags and times them.

An engine subclasses `Engine`, implements the underscored primitives and states its capabilities. Nothing above this
package knows which engine it talks to.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, final

from sqlglot import exp

from sqlanon.engines.dialects import fill
from sqlanon.errors import EngineError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import File, Query, Relation, Table, named_tables, table_expression
from sqlanon.sql.traits import Traits

COMMENT = "-- "
"""What is no statement is told as a comment: the whole can be run as it is printed."""


@dataclass(frozen=True)
class Needs:
    """What a role needs of a database to carry out a spec: what is read and written."""

    read: tuple[Table | File, ...]
    """The source, or the tables that its query names; reference tables of hierarchies; the population."""
    target: Table | File
    as_view: bool
    scratch: tuple[str, ...]
    """The schema of scratch tables; empty: the session's default schema."""
    kept: tuple[Table, ...] = ()
    """The tables of evidence, where the spec wants them."""
    ledger: Table | None = None
    """The first table of a ledger, where one is kept: the role makes it, and owns it."""


def told(needs: Needs, role: str) -> Iterator[str]:
    """The privileges in words, for catalogs whose statements depend on what manages them."""
    yield f"{COMMENT}{role} needs, in the words of your catalog:"
    for relation in needs.read:
        yield f"{COMMENT}  to read {relation}" + (" and to use its schema" if isinstance(relation, Table) else "")
    schema = ".".join(needs.scratch) or "the session's default schema"
    yield f"{COMMENT}  to create, write and drop tables in {schema}, for scratch tables"
    yield f"{COMMENT}  to be the only one who may read tables in {schema}: scratch tables hold raw values"
    if isinstance(needs.target, Table):
        made = "views" if needs.as_view else "tables"
        place = ".".join(needs.target.schema) or "the session's default schema"
        yield f"{COMMENT}  to create, rename and drop {made} in {place}, for {needs.target}"
        yield f"{COMMENT}  to own {needs.target} where it exists"
    else:
        yield f"{COMMENT}  to write {needs.target}"


Row = tuple[Any, ...]

ROW_LIMIT = 100_000
"""More rows than any aggregate we ask for. Reaching it means a source row was about to enter Python."""


class Capability(StrEnum):
    """What an engine can do; code asks for these and never for an engine's name."""

    TRANSACTIONAL_DDL = "creating, renaming and dropping tables takes part in transactions"
    FILE_SOURCES = "csv and parquet files can be read as tables"
    FILE_TARGETS = "a table can be written to a csv or parquet file"
    MEMORY = "the memory that a session works in can be bounded"
    SERVER = "the database is a server of its own: several sessions may work at once"


@dataclass(frozen=True)
class ColumnInfo:
    """One column as the catalog describes it."""

    name: str
    type: exp.DataType
    family: Family


@dataclass(frozen=True)
class Statement:
    """A statement with the step of the run it belongs to, for tags, traces and evidence."""

    step: str
    expression: exp.Expr
    fresh: bool = False
    """Made for this statement alone: rendering may change it, which saves a copy of the whole tree."""
    texts: dict[str, str] | None = field(default=None, compare=False, repr=False)
    """Of a statement that is run many times: its text by tag, kept from the first time."""


@dataclass
class TraceEvent:
    """What the trace hook sees: once before a statement runs (`seconds` is None), once after."""

    step: str
    sql: str
    seconds: float | None = None
    rows: int | None = None
    failed: bool = False
    run: str = ""


TraceHook = Callable[[TraceEvent], None]


@dataclass
class Session:
    """What a run tells its engine: who it is, how long a statement may take, who listens."""

    run: str = "adhoc"
    statement_seconds: float | None = None
    hooks: list[TraceHook] = field(default_factory=list)
    taken: Counter[str] = field(default_factory=Counter)
    """Names of scratch tables that stand, or are kept for tables that are made again and again."""
    limit_asked: bool = True
    """Somebody wrote how long a statement may take: an engine that cannot stop one refuses. Else it does without."""
    memory_bytes: int | None = None
    """The most memory to work in (Capability.MEMORY)."""
    reads_only: bool = False
    """Nothing is written but temporary tables: an embedded database may be open elsewhere for reading."""


SHORTEST = 1.0
"""Seconds that a statement may take at least."""

Inspection = Callable[[File], None]
"""Reads a file that was written and raises an error when it may not be published."""


class Engine(ABC):
    """A connection to one database. Final methods wrap the underscored primitives that an engine implements."""

    name: ClassVar[str]
    dialect: ClassVar[str]
    capabilities: ClassVar[frozenset[Capability]]
    traits: ClassVar[Traits]
    lasting: bool = True
    """What is written stays when the session ends; not so in a database in memory."""
    swapped: str = "in one transaction"
    """How the table of the last `replace` took its place, in the words that a run reports."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.step = "session"
        self.in_transaction = False
        self._catalog: dict[tuple[object, ...], list[Row]] = {}

    @property
    def tag(self) -> str:
        """Run and step of the statement that runs now, as the leading comment of its text."""
        return f"sqlanon run={self.session.run} step={self.step}"

    # -- running statements ------------------------------------------------------------------------------------

    @final
    def render(self, statement: Statement) -> str:
        """The text that is sent: the tag of run and step as a comment, then the statement."""
        self.step = statement.step
        if statement.texts is not None and self.tag in statement.texts:
            return statement.texts[self.tag]
        text = self.traits.render(statement.expression, tag=self.tag, copy=not statement.fresh)
        if statement.texts is not None:
            statement.texts[self.tag] = text
        return text

    @final
    def execute(self, statement: Statement) -> int:
        """Run a statement that returns no rows; the number of rows it touched, -1 where the engine cannot tell."""
        sql = self.render(statement)
        self._catalog.clear()
        return int(self._traced(statement.step, sql, lambda: self._execute(sql)))

    @final
    def create(self, statement: Statement, table: Table) -> None:
        """Make a table that no role but its owner can read, from the first moment at which anybody can see it."""
        sql = self.render(statement)
        closed = self._closed_to_others(table)
        text = f"{sql}; {self.traits.render(closed)}" if closed is not None else sql
        self._catalog.clear()
        self._traced(statement.step, text, lambda: self._execute(text))

    def _closed_to_others(self, table: Table) -> exp.Expr | None:
        """What takes a new table from every role but its owner's, run in one transaction with its creation.

        None where nobody else can see such a table, and where the engine has no way to say it.
        """
        return None

    @final
    def query(self, statement: Statement) -> list[Row]:
        """Run a statement whose result is small by construction: aggregates, catalog rows, labels asked for."""
        sql = self.render(statement)
        rows: list[Row] = self._traced(statement.step, sql, lambda: self._query(sql, ROW_LIMIT))
        if len(rows) >= ROW_LIMIT:
            raise EngineError(f"step '{statement.step}' returned more rows than any aggregate may have")
        return rows

    @final
    def ask_catalog(self, template: str, **holes: str | int | None) -> list[Row]:
        """What the catalog says; remembered until this session runs a statement that may change it."""
        question = (template, *sorted(holes.items()))
        if question not in self._catalog:
            filled = fill(template, self.dialect, **holes)
            self._catalog[question] = self.query(Statement("catalog", filled, fresh=True))
        return self._catalog[question]

    @final
    def load(self, step: str, table: Table, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
        """Fill an existing table of text columns with hierarchy definitions, by bound parameters or bulk load."""
        self.step = step
        self._traced(step, f"/* {self.tag} */ -- load {table}", lambda: self._load(table, columns, rows))

    def _traced(self, step: str, sql: str, action: Callable[[], Any]) -> Any:
        self.step = step
        for hook in self.session.hooks:
            hook(TraceEvent(step, sql, run=self.session.run))
        started = time.perf_counter()
        failed = True
        rows = None
        try:
            result = action()
            failed = False
            rows = result if isinstance(result, int) else len(result) if isinstance(result, list) else None
            return result
        finally:
            for hook in self.session.hooks:
                hook(TraceEvent(step, sql, time.perf_counter() - started, rows, failed, self.session.run))

    @abstractmethod
    def _execute(self, sql: str) -> int: ...

    @abstractmethod
    def _query(self, sql: str, limit: int) -> list[Row]: ...

    @abstractmethod
    def _load(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None: ...

    # -- how long a statement may take ---------------------------------------------------------------------------

    @final
    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Each statement of the block is stopped after so many seconds, by StatementTimeout; None: as ever.

        Never later than the limit of the session. A driver that cannot stop a statement lets it run.
        """
        limit = self.session.statement_seconds
        if seconds is None or not self._can_stop() or (limit is not None and limit <= seconds):
            yield
            return
        # A limit of no time at all would stop the statement that lifts it.
        self._bound(max(seconds, SHORTEST))
        try:
            yield
        finally:
            self._bound(limit)

    @contextmanager
    def by_hashes(self) -> Iterator[None]:
        """Statements of the block join by hashes wherever these can, on engines that can be told so.

        For joins of what was grouped just now: how many rows come of them no planner guesses.
        """
        yield

    @contextmanager
    def few_rows(self, most: int) -> Iterator[None]:
        """Statements of the block read tables of so many rows at most; where these are few, what a plan costs decides.

        Only engines that make plans for many rows tell a difference.
        """
        yield

    def _can_stop(self) -> bool:
        """Whether a statement can be stopped."""
        return True

    def _bound(self, seconds: float | None) -> None:
        """From now on statements may take so long."""
        self.session.statement_seconds = seconds

    # -- the rest of the contract --------------------------------------------------------------------------------

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, reading one snapshot throughout. Commits on success, rolls back on any exception."""

    @abstractmethod
    def columns(self, relation: Relation) -> tuple[ColumnInfo, ...]:
        """The columns of a table, view, file or query, in order; SourceError when there is no such thing."""

    @abstractmethod
    def relation_kind(self, table: Table) -> str | None:
        """'table', 'view', 'foreign table' (its rows are made elsewhere), 'other' (the name is taken by none of these),
        or None when nothing of that name exists."""

    def has_schema(self, schema: tuple[str, ...]) -> bool:
        """Whether there is such a schema to make tables in; engines that cannot tell let it be tried."""
        return True

    def is_reserved(self, table: Table) -> bool:
        """Whether a name belongs to the database itself: nothing of ours is made under it."""
        return bool(table.schema) and table.schema[-1].lower() == "information_schema"

    @abstractmethod
    def same_object(self, left: Table, right: Table) -> bool:
        """Whether two names mean one object of the database (default schemas resolved, case as the engine folds it)."""

    def reads(self, relation: Relation, table: Table) -> bool:
        """Whether what a relation shows comes from a table: it is the table, or a query that names it."""
        if isinstance(relation, Table):
            return self.same_object(relation, table)
        return isinstance(relation, Query) and any(self.reads(named, table) for named in named_tables(relation.select))

    def view_query(self, view: Table) -> exp.Query | None:
        """What a view reads; None for anything but a view. SourceError when its definition cannot be read."""
        return None

    def macro_queries(self, name: str) -> list[exp.Query]:
        """What the macros of that name read, where the database has such; SourceError where it cannot be told."""
        return []

    def files(self) -> list[str]:
        """The files that the database itself lies in."""
        return []

    def files_under(self, relation: Relation) -> list[str]:
        """The files that reading a relation opens, on engines that can say so; beside those that it names."""
        return []

    def shares_storage(self, relation: Relation, table: Table) -> bool:
        """Whether a relation and a table that exists have rows in one place, on engines that can say so."""
        return False

    @abstractmethod
    def replace(self, staging: Table, target: Table) -> None:
        """Within a transaction: let `staging` take the place of `target`, keeping its grants, comments and indexes."""

    @abstractmethod
    def write_file(self, step: str, table: Table, target: File, inspect: Inspection | None = None) -> None:
        """Write a table to a file that appears complete or not at all (FILE_TARGETS).

        `inspect` is given the file that was written, before it takes the target's place; what it raises goes on, and
        the target stays as it was.
        """

    @abstractmethod
    def leftovers(self, schema: tuple[str, ...]) -> list[Table]:
        """Scratch tables in a schema whose run is no longer alive."""

    def alone_with(self, target: Table, seconds: float) -> AbstractContextManager[None]:
        """Let no other run publish to a target meanwhile; EngineError when that takes longer than `seconds`.

        Not within a transaction: what was read before the wait would be out of date after it. Engines that cannot
        lock let every run go on.
        """
        return nullcontext()

    def hold(self, step: str, table: Table) -> bool:
        """Hold a scratch table that many statements will read in memory until it is dropped; False: it is not held."""
        return False

    def analyze(self, step: str, table: Table) -> None:
        """Let the planner know what a table holds, where plans depend on that (`Traits.plans_by_statistics`)."""
        if self.traits.plans_by_statistics:
            self.execute(Statement(step, exp.Analyze(tables=[table_expression(table)])))

    @property
    def forgets(self) -> bool:
        """Whether nothing of the database is left when the session ends."""
        return False

    def open_to_others(self, table: Table) -> bool:
        """Whether a role that does not own a table was given rights on it, on engines that have roles."""
        return False

    def told_apart(self, relation: Relation) -> frozenset[str]:
        """The columns of texts of which two are equal only if their bytes are, on engines that can say so."""
        return frozenset()

    def comments(self, table: Table) -> dict[str, str]:
        """What the catalog says of a table's columns, of those of which it says anything."""
        return {}

    def scan_bytes(self, relation: Relation) -> int | None:
        """About how many bytes reading the whole relation takes, without reading it; None: the engine cannot tell."""
        return None

    def version(self) -> str:
        """The version of the database, as it says itself; empty where it is not known."""
        return ""

    def grants(self, needs: Needs, role: str) -> list[str]:
        """The least privileges as statements, in the order in which they are run; as comments where there are none."""
        return list(told(needs, role))

    @abstractmethod
    def cancel(self) -> None:
        """Stop the statement that runs now, from another thread."""

    @abstractmethod
    def close(self) -> None:
        """Give the connection back; afterwards nothing of the session remains."""
