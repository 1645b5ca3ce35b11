"""What a role needs of a database to carry out a spec, and how engines without roles of their own tell it.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlanon.sql.relations import File, Table

COMMENT = "-- "
"""What is no statement is told as a comment: the whole can be run as it is printed."""


@dataclass(frozen=True)
class Needs:
    """What is read and written."""

    read: tuple[Table | File, ...]
    """The source, or the tables that its query names; reference tables of hierarchies; the population."""
    target: Table | File
    as_view: bool
    scratch: tuple[str, ...]
    """The schema of scratch tables; empty: the session's default schema."""
    kept: tuple[Table, ...] = ()
    """The tables of evidence, where the spec wants them."""


def told(needs: Needs, role: str) -> Iterator[str]:
    """The privileges in words, for catalogs whose statements depend on what manages them."""
    yield f"{COMMENT}{role} needs, in the words of your catalog:"
    for relation in needs.read:
        yield f"{COMMENT}  to read {relation}" + (" and to use its schema" if isinstance(relation, Table) else "")
    schema = ".".join(needs.scratch) or "the session's default schema"
    yield f"{COMMENT}  to create, write and drop tables in {schema}, for scratch tables"
    if isinstance(needs.target, Table):
        made = "views" if needs.as_view else "tables"
        place = ".".join(needs.target.schema) or "the session's default schema"
        yield f"{COMMENT}  to create, rename and drop {made} in {place}, for {needs.target}"
        yield f"{COMMENT}  to own {needs.target} where it exists"
    else:
        yield f"{COMMENT}  to write {needs.target}"
