"""The swap of a Spark table or view for a new release, and the cleaning up after runs that died.

Delta and Iceberg replace a table in one commit, a view of releases is repointed. A plain table is renamed away and the
new one in: should the process die between the two, the next run finds the old table and puts it back.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

from sqlglot import exp

from sqlanon.engines import scratch
from sqlanon.engines.base import Statement
from sqlanon.engines.session import require_transaction
from sqlanon.engines.spark.base import SparkBase
from sqlanon.engines.spark.catalog import Details, details, identity, is_forgotten, locate, names_like
from sqlanon.errors import EngineError, UsageError
from sqlanon.sql.build import create_table_as, drop_table, rename_table, swap_at_once
from sqlanon.sql.relations import Table, identifier, literal, table_expression

SETTING = "spark.sqlanon.publish"
"""How a target that does not exist yet is published: as a `table` (the default) or as a `view` that is repointed."""

PROPERTY = "sqlanon.release"
"""Of a view that sqlanon may repoint: the name of the table that it shows."""

_NAME = re.compile(r"(?P<target>.+)_release_[0-9a-f]{12}", re.DOTALL)


def wanted(engine: SparkBase) -> bool:
    """Whether the session asks for views."""
    chosen = engine.on_spark("replace", "how releases are published", lambda spark: spark.conf.get(SETTING, "table"))
    if chosen not in ("table", "view"):
        raise UsageError(f"{SETTING} is table or view, not '{chosen}'")
    return bool(chosen == "view")


def is_ours(view: Details) -> bool:
    """Whether a view shows a release of sqlanon, so that it may be repointed."""
    return PROPERTY in view.properties


def release_table(target: Table) -> Table:
    """A name for the table that a release lies in; it stays, so it is not called like a scratch table."""
    return target.beside(f"{target.name}_release_{uuid4().hex[:12]}")


def repoint(engine: SparkBase, release: Table, target: Table, old: Details | None) -> None:
    """Let the view show a release, then drop those that it no longer shows.

    For catalogs without a commit that replaces a table: each release lies in a table of its own, and one change of the
    catalog lets the view show it. A reader sees the old release or the new one, also after a crash.
    """
    properties = {**({} if old is None else old.properties), PROPERTY: release.name}
    given = [exp.Property(this=literal(name), value=literal(value)) for name, value in sorted(properties.items())]
    if old is not None and old.comment is not None:
        given.append(exp.SchemaCommentProperty(this=literal(old.comment)))
    view = exp.Create(
        this=table_expression(target),
        kind="VIEW",
        replace=True,
        properties=exp.Properties(expressions=given),
        expression=exp.select("*").from_(table_expression(release)),
    )
    try:
        engine.execute(Statement("replace", view))
    except BaseException:
        with suppress(EngineError):
            engine.execute(Statement("rollback", drop_table(release)))
        raise
    for table in _no_longer_shown(engine, target, release, old):
        # The release is in place: what cannot be dropped now is left to the next run.
        with suppress(EngineError):
            engine.execute(Statement("replace", drop_table(table)))


def _no_longer_shown(engine: SparkBase, target: Table, release: Table, old: Details | None) -> list[Table]:
    """The release that the view showed before, and those that dead runs have left beside it."""
    before = "" if old is None else old.properties.get(PROPERTY, "")
    found: list[Table] = []
    for name in names_like(engine, target.schema, f"{target.name}_release_*"):
        match, table = _NAME.fullmatch(name), target.beside(name)
        if match is None or match["target"].lower() != target.name.lower() or name.lower() == release.name.lower():
            continue
        if name.lower() == before.lower() or is_forgotten(engine, table):
            found.append(table)
    return found


REPLACED_AT_ONCE = frozenset({"delta", "iceberg"})
"""Table formats whose CREATE OR REPLACE TABLE ... AS is one commit."""

_REPLACED = re.compile(r"sqlanon_[0-9a-f]{12}_replaced_(?P<at>\d+)_(?P<target>.+)", re.DOTALL)


def replace(engine: SparkBase, staging: Table, target: Table) -> None:
    """Let `staging` take the place of `target`; comments and properties of the old table are kept."""
    require_transaction(engine)
    if engine.opened.fleeting:
        raise EngineError(
            f"the table {target} would end with this process: name a file as the target, or give the Spark URL "
            f"a catalog that lasts (docs/reference/engines.md)"
        )
    found = locate(engine, target)
    old = None if found is None else details(engine, target)
    if (found is None and wanted(engine)) or (old is not None and is_ours(old)):
        _show(engine, staging, target, old)
        engine.swapped = "by repointing a view"
    elif found is None or old is None:
        _run(engine, *_move(engine, staging, target))
        engine.swapped = "by a new table"
    elif found.kind == "view":
        raise EngineError(f"the target {target} is a view: drop it first or choose another target")
    elif old.provider in REPLACED_AT_ONCE:
        _run(engine, create_or_replace(staging, target, old.provider), *keepsakes(target, old, engine, staging))
        _drop(engine, staging)
        engine.swapped = f"in one commit of {old.provider}"
    else:
        _refuse(target, old, details(engine, staging))
        _run(engine, *keepsakes(staging, old, engine, staging))
        _swap(engine, staging, target)
        engine.swapped = "by two renames: for a moment the target had no table"


def _show(engine: SparkBase, staging: Table, target: Table, old: Details | None) -> None:
    """Comments of columns are those of the table under the view."""
    release = release_table(target)
    _run(engine, *_move(engine, staging, release))
    repoint(engine, release, target, old)


def _swap(engine: SparkBase, staging: Table, target: Table) -> None:
    """Two renames. Only between them has nobody a table under this name."""
    beside = staging
    if identity(engine, staging)[:-1] != identity(engine, target)[:-1]:
        beside = target.beside(f"sqlanon_{engine.session.run}_moved")
        _run(engine, *_move(engine, staging, beside))
    away = target.beside(f"sqlanon_{engine.session.run}_replaced_{int(time.time())}_{target.name}")
    _run(engine, rename_table(target, away))
    try:
        _run(engine, rename_table(beside, target))
    except BaseException:
        # Another run may have taken the name meanwhile: then its release stands, and the first error is told.
        with suppress(EngineError):
            _run(engine, rename_table(away, target))
        raise
    _drop(engine, away)


def _move(engine: SparkBase, table: Table, target: Table) -> list[exp.Expression]:
    if identity(engine, table)[:-1] == identity(engine, target)[:-1]:
        return [rename_table(table, target)]
    # A plain catalog moves no table to another schema: the rows are copied.
    select = exp.select("*").from_(table_expression(table))
    return [create_table_as(target, select, engine.traits, scratch=False), drop_table(table)]


def _refuse(target: Table, old: Details, new: Details) -> None:
    """What would be lost without a word, or would stay behind."""
    if old.external:
        raise EngineError(f"the target {target} is an external table, whose files would stay: drop it first")
    if old.partitioned:
        raise EngineError(f"the target {target} is partitioned or bucketed, which a release is not: drop it first")
    if old.provider != new.provider:
        raise EngineError(
            f"the target {target} is stored as {old.provider}, the release as {new.provider}: "
            f"drop it first or set spark.sql.sources.default"
        )


def create_or_replace(staging: Table, target: Table, provider: str) -> exp.Create:
    """The statement that replaces a table of a versioned format in one commit."""
    rows = exp.select("*").from_(table_expression(staging))
    return swap_at_once(target, rows, [exp.FileFormatProperty(this=exp.var(provider))])


def keepsakes(table: Table, old: Details, engine: SparkBase, staging: Table) -> list[exp.Expression]:
    """Statements that give a table the comments and properties of the one it replaces."""
    surviving = {column.name.lower() for column in engine.columns(staging)} if old.column_comments else set()
    kept: list[exp.Expression] = []
    if old.comment is not None:
        kept.append(exp.Comment(this=table_expression(table), kind="TABLE", expression=literal(old.comment)))
    for name, comment in old.column_comments.items():
        if name.lower() in surviving:
            change = exp.AlterColumn(this=identifier(name), comment=literal(comment))
            kept.append(exp.Alter(this=table_expression(table), kind="TABLE", actions=[change]))
    if old.properties:
        pairs = [exp.Property(this=literal(name), value=literal(value)) for name, value in old.properties.items()]
        given = exp.AlterSet(expressions=[exp.Properties(expressions=pairs)])
        kept.append(exp.Alter(this=table_expression(table), kind="TABLE", actions=[given]))
    return kept


def leftovers(engine: SparkBase, schema: tuple[str, ...]) -> list[Table]:
    """Scratch objects of dead runs. A target that one had moved away comes back, if nothing has taken its place."""
    dead: list[Table] = []
    for name in names_like(engine, schema, "sqlanon_*"):
        table = Table((*schema, name))
        if not _is_dead(engine, table):
            continue
        moved = _REPLACED.fullmatch(name)
        if moved is None or locate(engine, table.beside(moved["target"])) is not None:
            dead.append(table)
        else:
            _run(engine, rename_table(table, table.beside(moved["target"])))
    return dead


def comes_back(engine: SparkBase, target: Table) -> bool:
    """Put a target back that a dead run had moved away, if there is one."""
    for name in names_like(engine, target.schema, f"sqlanon_*_replaced_*_{target.name}"):
        table, moved = target.beside(name), _REPLACED.fullmatch(name)
        if moved and moved["target"].lower() == target.name.lower() and _is_dead(engine, table):
            _run(engine, rename_table(table, target))
            return True
    return False


def _is_dead(engine: SparkBase, table: Table) -> bool:
    run = scratch.run_of(table.name)
    return run is not None and not scratch.is_live(run) and _is_forgotten(engine, table)


def _is_forgotten(engine: SparkBase, table: Table) -> bool:
    moved = _REPLACED.fullmatch(table.name)
    return is_forgotten(engine, table, datetime.fromtimestamp(int(moved["at"]), UTC) if moved else None)


def _drop(engine: SparkBase, table: Table) -> None:
    # The release is in place: what cannot be dropped now is left to the next run.
    with suppress(EngineError):
        _run(engine, drop_table(table))


def _run(engine: SparkBase, *expressions: exp.Expression) -> None:
    for expression in expressions:
        engine.execute(Statement("replace", expression))
