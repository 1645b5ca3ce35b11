"""What a run may take of the database, and what evidence it leaves: keys that do not change the release.

Pure. A lock file stays good when they change.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from sqlanon.hierarchies.definition import Definition, not_boolean
from sqlanon.spec.search import LIFTED, Positive, Seconds

LOCK_SECONDS = 60.0
"""How long a run waits for another one on the same target, unless the spec says otherwise."""

STATEMENT_SECONDS = 1800.0
"""How long a statement runs at most, unless the spec says otherwise."""

_SIZE = re.compile(r"([0-9]{1,9}) ?([KMGT]?)(i?)B")
_UNITS = ("", "K", "M", "G", "T")


def _bytes(value: object) -> object:
    """
    >>> _bytes("20 GB"), _bytes("1MiB"), _bytes(5)
    (20000000000, 1048576, 5)
    """
    if not isinstance(value, str):
        return not_boolean(value)
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise ValueError("a number of bytes is expected, as 5000000, 500 MB or 20 GB")
    number, unit, binary = match.groups()
    return int(number) * (1024 if binary else 1000) ** _UNITS.index(unit)


ByteCount = Annotated[
    int,
    BeforeValidator(_bytes),
    Field(ge=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": f"^{_SIZE.pattern}$", "examples": ["20 GB"]},
            ]
        }
    ),
]
"""A number of bytes, bare or with a unit."""


class Limits(Definition):
    """What a run may take of the database."""

    statement_seconds: Seconds | None = Field(
        None,
        description=f"Longest time a single statement may run; none lifts the bound. Default: {STATEMENT_SECONDS:g}.",
    )
    max_scan_bytes: ByteCount | None = Field(
        None, description="Most bytes that one reading of the source may read, as 20 GB. Default: no bound."
    )
    lock_seconds: Positive = Field(
        LOCK_SECONDS, description="Longest time to wait for another run that publishes to the same target."
    )

    @property
    def asked_seconds(self) -> float | None:
        """The longest time that a statement may run, where the spec itself sets a bound."""
        return None if self.statement_seconds in (None, LIFTED) else self.most_seconds

    @property
    def most_seconds(self) -> float | None:
        """The longest time that a statement may run, where there is a bound."""
        if self.statement_seconds == LIFTED:
            return None
        return STATEMENT_SECONDS if self.statement_seconds is None else float(self.statement_seconds)


class Evidence(Definition):
    """What is kept of each run."""

    files: bool = Field(
        True, description="Write a JSON file for each run; for one that fails, where there are earlier ones."
    )
    folder: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="Where the files go, relative to the spec. Default: <spec>.evidence beside the spec."
    )
    tables: bool = Field(False, description="Also write to tables of the scratch schema; they are made on first use.")


NO_LIMITS = Limits(statement_seconds=None, max_scan_bytes=None, lock_seconds=LOCK_SECONDS)
USUAL_EVIDENCE = Evidence(files=True, folder=None, tables=False)
