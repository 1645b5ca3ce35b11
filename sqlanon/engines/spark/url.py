"""What a Spark URL asks for: a master with settings, a session that runs already, a Spark Connect server.

Pure.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from sqlanon.errors import UsageError

ACTIVE = "active"
CONNECT_PORT = 15002

_LOCAL = re.compile(r"local(\[(?P<cores>\*|\d+)(,\d+)?\])?|local-cluster\[(?P<workers>\d+),(?P<each>\d+),\d+\]")
_STANDALONE = re.compile(r"[^/?#\s:]+:\d+(,[^/?#\s:]+:\d+)*")
_SERVER = re.compile(r"(?P<host>\[[0-9a-fA-F:]+\]|[^/:;\s]+)(:(?P<port>\d+))?(?=[/;]|$)")


class Master(NamedTuple):
    """A master as Spark calls it, the schema that names without one mean, and settings of Spark."""

    name: str
    schema: str = ""
    settings: dict[str, str] = {}  # noqa: RUF012 - a tuple's default, which nobody changes

    @property
    def cores(self) -> int | None:
        """How many tasks run at once, where all of Spark is on this machine."""
        match = _LOCAL.fullmatch(self.name)
        if match is None:
            return None
        if match["workers"]:
            return int(match["workers"]) * int(match["each"])
        given = match["cores"] or "1"
        return (os.cpu_count() or 1) if given == "*" else int(given)


def master_of(rest: str) -> Master:
    """The part of a URL after `spark://`.

    >>> master_of("local[2]/research?spark.sql.shuffle.partitions=4")
    Master(name='local[2]', schema='research', settings={'spark.sql.shuffle.partitions': '4'})
    >>> master_of("head.example.org:7077").name
    'spark://head.example.org:7077'
    """
    place, _, query = rest.partition("?")
    name, _, schema = (unquote(part) for part in place.partition("/"))
    settings = dict(parse_qsl(query, keep_blank_values=True))
    for key in settings:
        if not key.startswith("spark."):
            raise UsageError(f"a Spark URL takes settings that begin with 'spark.', not '{key}'")
    if name == ACTIVE and (settings or schema):
        raise UsageError("spark://active is a session that runs already: set it up where it is made")
    if _STANDALONE.fullmatch(name):
        return Master(f"spark://{name}", schema, settings)
    if name not in (ACTIVE, "yarn") and not _LOCAL.fullmatch(name):
        raise UsageError("a Spark URL is spark://active, spark://local[2]/schema, spark://yarn or spark://host:port")
    return Master(name, schema, settings)


def server_of(rest: str) -> tuple[str, int]:
    """Host and port of a Spark Connect URL, from the part after `sc://`.

    >>> server_of("spark.example.org/;use_ssl=true"), server_of("[::1]:15003")
    (('spark.example.org', 15002), ('::1', 15003))
    """
    place = _SERVER.match(rest)
    if place is None:
        raise UsageError("a Spark Connect URL is sc://host:port, with settings after a slash")
    return place["host"].strip("[]"), int(place["port"] or CONNECT_PORT)
