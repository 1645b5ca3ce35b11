"""Publishing by a view: the release lies in a table of its own, and one change of the catalog lets the view show it.

For catalogs without a commit that replaces a table. There is no moment without a release: a reader sees the old one or
the new one, also after a crash.
"""

from __future__ import annotations

import re
from contextlib import suppress
from uuid import uuid4

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.engines.spark.base import SparkBase
from sqlanon.engines.spark.catalog import Details, is_forgotten, names_like
from sqlanon.errors import EngineError, UsageError
from sqlanon.sql.build import drop_table
from sqlanon.sql.relations import Table, literal, table_expression

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
    """Let the view show a release, then drop those that it no longer shows."""
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
