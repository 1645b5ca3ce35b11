"""A connection URL whose password stays out of everything that is printed.

Pure. Only `reveal()` gives the URL itself, and only an engine calls it.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+._-]*://")
_SECRET_OPTION = re.compile(r"([?&;][^=&;]*(?:pass|pwd|token|secret|key|credential)[^=&;]*=)([^&]*)", re.IGNORECASE)
HIDDEN = "***"


class Secret:
    """A connection URL. Printing shows `postgresql://user:***@host/db`."""

    __slots__ = ("_url",)

    def __init__(self, url: str) -> None:
        self._url = url

    def reveal(self) -> str:
        """The URL with its password."""
        return self._url

    def __str__(self) -> str:
        if not _URL.match(self._url):
            return HIDDEN
        scheme, _, rest = _SECRET_OPTION.sub(rf"\1{HIDDEN}", self._url).partition("://")
        credentials, at, place = rest.rpartition("@")
        user, colon, _ = credentials.partition(":")
        return f"{scheme}://{user}:{HIDDEN}@{place}" if colon else f"{scheme}://{credentials}{at}{place}"

    def __repr__(self) -> str:
        return f"Secret('{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._url == self._url

    def __hash__(self) -> int:
        return hash(self._url)


def _secret(value: object) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str) or not _URL.match(value):
        raise ValueError("a URL is expected, like duckdb:///warehouse.duckdb or postgresql://user@host/database")
    return Secret(value)


Connection = Annotated[
    Secret,
    PlainValidator(_secret),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["duckdb:///warehouse.duckdb", "postgresql://user:${PW}@host/db"]}),
]
"""The connection of a spec."""

IN_MEMORY = "duckdb:///:memory:"
"""The connection of a spec that names none."""
