"""The ledger of a spec as the database has it: the key of the person, and the three tables that remember.

Reads the catalog alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlanon.engines.base import Capability, ColumnInfo, Engine
from sqlanon.errors import SourceError, SpecError, UsageError
from sqlanon.source.reads import Read, refuse_written
from sqlanon.spec import Spec
from sqlanon.sql.relations import File, Table


@dataclass(frozen=True)
class BoundHistory:
    """The column by which a ledger knows a person, and where the ledger lies."""

    key: ColumnInfo
    people: Table
    left: ColumnInfo | None = None
    """The column that says who has left, where the source keeps their rows."""

    @property
    def tracks(self) -> Table:
        """The table of what groups of people have in common: their classes in all releases."""
        return self.people.beside(f"{self.people.name}_tracks")

    @property
    def releases(self) -> Table:
        """The table of the releases."""
        return self.people.beside(f"{self.people.name}_releases")

    @property
    def tables(self) -> tuple[Table, Table, Table]:
        """All that the ledger is made of."""
        return self.people, self.tracks, self.releases


def bind_history(
    spec: Spec,
    engine: Engine,
    known: Mapping[str, ColumnInfo],
    target: Table | File,
    regions: Table | None,
    reads: list[Read],
) -> BoundHistory | None:
    """The ledger of a spec; refused where it cannot be written together with a release, or is something else."""
    kept = spec.ledger
    if kept is None:
        return None
    if Capability.TRANSACTIONAL_DDL not in engine.capabilities:
        raise UsageError(
            f"history: a ledger is written in one transaction with its release, which {engine.name} does not have; "
            f"remove it, or publish from another engine"
        )
    if engine.forgets:
        raise UsageError("history.ledger: the database is in memory and forgets the ledger; name a file as connection")
    if kept.key not in known:
        raise SourceError(f"history.key: the source has no column '{kept.key}'")
    if kept.left is not None and kept.left not in known:
        raise SourceError(f"history.left: the source has no column '{kept.left}'")
    bound = BoundHistory(known[kept.key], Table(kept.ledger), None if kept.left is None else known[kept.left])
    for table in bound.tables:
        for what, other in (("the target", target), ("the table of regions", regions)):
            if isinstance(other, Table) and engine.same_object(other, table):
                raise SpecError(f"history.ledger: {table} is {what}; name another table")
        refuse_written(engine, reads, "history.ledger", table)
    return bound
