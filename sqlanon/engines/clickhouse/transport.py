"""How statements reach ClickHouse: within this process through chdb, or by HTTP to a server.

The only place that sees the password; it leaves in no message. Answers come as lines of JSON.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit
from uuid import uuid4

from sqlglot import exp

from sqlanon.engines.base import Row
from sqlanon.engines.temporaries import OWNER_FOLDER
from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied, UsageError
from sqlanon.sql.relations import identifier, literal

FORMAT = "JSONCompactEachRowWithNamesAndTypes"
"""Two lines of names and types, then one line for each row."""

MEMORY = ":memory:"
_CODE = re.compile(r"Code: (?P<code>[0-9]+)\. DB::Exception: (?P<text>.*)", re.DOTALL)
_PORTS = {"http": 8123, "https": 8443}
_WAIT = 10
"""Seconds to wait for a connection."""


class Refused(Exception):
    """ClickHouse refused a statement: its number for the reason, and its own words."""

    def __init__(self, text: str) -> None:
        found = _CODE.search(text)
        super().__init__(found["text"] if found else text)
        self.code = int(found["code"]) if found else 0


class Lost(Exception):
    """The server cannot be reached."""


@dataclass(frozen=True)
class Reply:
    """What a statement gave: lines of JSON, and how many rows it has written."""

    body: bytes
    written: int


_NUMBERS = re.compile(r"U?Int\d+")
_INNER = re.compile(r"(?:Nullable|LowCardinality)\((?P<inner>.*)\)", re.DOTALL)


def rows_of(answer: Reply, limit: int) -> list[Row]:
    """The rows of an answer, each value as Python has it."""
    try:
        lines = answer.body.decode().split("\n")
    except UnicodeDecodeError:
        raise EngineError("the database holds texts that are no UTF-8: convert them in the source query") from None
    if len(lines) < 2:  # names and types
        return []
    readers = [_reader(str(kind)) for kind in json.loads(lines[1])]
    return [
        tuple(None if value is None else read(value) for read, value in zip(readers, json.loads(line), strict=True))
        for line in lines[2 : 2 + limit]
        if line
    ]


def bare_type(kind: str) -> str:
    """A type without the words that say how it is stored, and that it may be NULL.

    >>> bare_type("LowCardinality(Nullable(String))")
    'String'
    """
    while (match := _INNER.fullmatch(kind)) is not None:
        kind = match["inner"]
    return kind


def _reader(kind: str) -> Callable[[Any], Any]:
    kind = bare_type(kind)
    if _NUMBERS.fullmatch(kind):
        return int
    if kind.startswith("Float"):
        return float
    if kind.startswith("Decimal"):
        return partial(_decimal, int(kind.rpartition(" ")[2].rstrip(")")))
    if kind.startswith("DateTime"):
        return datetime.fromisoformat
    return date.fromisoformat if kind in ("Date", "Date32") else _same


def _decimal(scale: int, value: str) -> int | Decimal:
    """With the zeros at its end, which are not written; without a fraction a whole number, as elsewhere."""
    return Decimal(value).quantize(Decimal(1).scaleb(-scale), context=_EXACT) if scale else int(Decimal(value))


_EXACT = Context(prec=80)


def _same(value: Any) -> Any:
    return value


class Transport(Protocol):
    """A connection."""

    place: tuple[str, ...]
    """What tells one database from another."""
    alone: bool
    """No other process can use the database meanwhile."""

    def ask(self, sql: str) -> Reply:
        """Run one statement; Refused, Lost."""
        ...

    def stop(self) -> None:
        """Stop what the connection runs now, from another thread."""
        ...

    def close(self) -> None: ...


def stopping(mark: str) -> str:
    """The statement that stops those of a session, which has a mark of its own in its settings."""
    setting = exp.Bracket(this=exp.column("Settings"), expressions=[literal("log_comment")])
    condition = exp.EQ(this=setting, expression=literal(mark)).sql(dialect="clickhouse")
    return f"KILL QUERY WHERE {condition} ASYNC"


_NAMED = re.compile(
    r"(?:table expression identifier|identifier|Table|Database|table|database|function|column)s?:? "
    r"(?P<name>'[^'\n]+'|`[^`\n]+`|[\w.]+)"
)
ABOUT_NAMES = {
    46: "there is no function {}",
    47: "there is no column {}",
    57: "{} stands already",
    60: "there is no table {}",
    81: "there is no database {}",
}
"""By the number of the error: what names an object, and may be told."""
NAMED_TWICE = 179
ALIAS_OF = re.compile(r"for alias (?P<name>.+?)\. ")
_FORBIDDEN, _STOPPED, _MEMORY = frozenset({164, 291, 497}), frozenset({159, 394}), frozenset({173, 241})


def translate(error: Refused, step: str) -> EngineError:
    """The error to raise for a statement that ClickHouse refused. Of messages that may quote data the class is told."""
    detail = str(error)
    if error.code in _STOPPED:
        return EngineError(f"step '{step}' was cancelled", detail=detail)
    if error.code in _FORBIDDEN:
        return PermissionDenied(f"step '{step}': permission denied", detail=detail)
    if error.code in _MEMORY:
        return EngineError(f"step '{step}': out of memory", detail=detail)
    return EngineError(f"step '{step}': {words_of(error)}", detail=detail)


def words_of(error: Refused) -> str:
    found = _NAMED.search(str(error))
    if error.code in ABOUT_NAMES and found is not None:
        return ABOUT_NAMES[error.code].format(found["name"].strip("'`"))
    symbol = re.search(r"\(([A-Z][A-Z_]+)\)[^()]*$", str(error))
    return f"ClickHouse reports {symbol[1].replace('_', ' ').lower()}" if symbol else "ClickHouse refused it"


# -- chdb --------------------------------------------------------------------------------------------------------------

_last_folder: list[str] = []
"""The folder that this process has opened: chdb has one at a time."""
_guard = threading.Lock()


class Embedded:
    """A folder of tables, or memory, opened by chdb: all sessions of this process share it."""

    alone = True

    def __init__(self, rest: str, folder: Path, settings: Mapping[str, str | int]) -> None:
        path, options = _folder_of(rest, folder)
        self.place: tuple[str, ...] = (path,)
        self.lasting = path != MEMORY
        if self.lasting:
            # Made by ourselves: what lies in it is for nobody else to read.
            Path(path).mkdir(OWNER_FOLDER, parents=True, exist_ok=True)
        self._chdb = _chdb()
        self._connection = self._opened(path)
        self._path = path
        self._mark = uuid4().hex
        self._end = weakref.finalize(self, self._connection.close)
        try:
            for name, value in {**settings, "log_comment": self._mark}.items():
                self.ask(f"SET {name} = {literal(value).sql(dialect='clickhouse')}")
            if options.get("database"):
                self.ask(f"USE {identifier(options['database']).sql(dialect='clickhouse')}")
        except Refused as error:
            self.close()
            raise ConnectionFailed(
                f"cannot open the ClickHouse folder '{path}': is its database named rightly?", detail=str(error)
            ) from None

    def _opened(self, path: str) -> Any:
        with _guard:
            try:
                connection = self._chdb.connect(path)
            except Exception as error:
                # chdb raises RuntimeError, and its own error, whose classes say nothing more.
                busy = _last_folder and _last_folder[-1] != path and "already" in str(error).lower()
                reason = (
                    f"this process has '{_last_folder[-1]}' open, and chdb opens one folder at a time"
                    if busy
                    else "another process has it open, or it is no folder of chdb's"
                )
                raise ConnectionFailed(
                    f"cannot open the ClickHouse folder '{path}': {reason}", detail=str(error)
                ) from None
            _last_folder[:] = [path]
        return connection

    def ask(self, sql: str) -> Reply:
        try:
            found = self._connection.query(sql, FORMAT)
            return Reply(found.bytes(), int(found.rows_written()))
        except Exception as error:
            # chdb has several classes of one name.
            if "DB::Exception" not in str(error):
                raise
            # What a statement that was stopped had begun to answer comes before the next answer.
            self._connection.query("SELECT 1", FORMAT)
            raise Refused(str(error)) from None

    def stop(self) -> None:
        # There is nothing left to stop where no connection can be opened any more.
        with suppress(Exception):
            other = self._chdb.connect(self._path)
            try:
                other.query(stopping(self._mark))
            finally:
                other.close()

    def close(self) -> None:
        self._end()


def _chdb() -> Any:
    try:
        return import_module("chdb")
    except ImportError:
        raise UsageError(
            "connection scheme 'chdb' needs the Python package 'chdb', which is not installed: "
            "pip install 'sqlanon[chdb]'"
        ) from None


def _folder_of(rest: str, folder: Path) -> tuple[str, dict[str, str]]:
    """The folder and the options of the part of a URL after `//`."""
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query))
    unknown = sorted(set(options) - {"database"})
    if unknown:
        raise UsageError(f"a chdb URL has the option 'database' only, not '{unknown[0]}'")
    if path in ("", "/", MEMORY, f"/{MEMORY}"):
        return MEMORY, options
    if not path.startswith("/"):
        raise UsageError("a chdb URL names no host: write chdb:///relative/folder or chdb:////absolute/folder")
    return str((folder / unquote(path[1:])).resolve()), options


# -- a server ----------------------------------------------------------------------------------------------------------


class Server:
    """A server's HTTP interface; each statement is a request of its own."""

    alone = False
    lasting = True

    def __init__(self, url: str, settings: Mapping[str, str | int]) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise UsageError(_FORM) from None
        if not parts.hostname:
            raise UsageError(_FORM)
        options = dict(parse_qsl(parts.query))
        unknown = sorted(set(options) - {"secure"})
        if unknown:
            raise UsageError(f"a ClickHouse URL has the option 'secure' only, not '{unknown[0]}'")
        secure = parts.scheme.endswith("https") or options.get("secure", "").lower() in ("1", "true")
        self._kind: type[http.client.HTTPConnection] = (
            http.client.HTTPSConnection if secure else http.client.HTTPConnection
        )
        self._host, self._port = parts.hostname, port or _PORTS["https" if secure else "http"]
        self._database = unquote(parts.path.strip("/")) or "default"
        self._headers: dict[str, str | bytes] = {
            "X-ClickHouse-User": _header(parts.username or "default"),
            "Connection": "close",
        }
        if parts.password is not None:
            self._headers["X-ClickHouse-Key"] = _header(parts.password)
        self._mark = uuid4().hex
        self._settings = {**settings, "log_comment": self._mark}
        self.place: tuple[str, ...] = (self._host, str(self._port), self._database)
        self._begin()

    def _begin(self) -> None:
        try:
            self.ask("SELECT 1")
        except Lost as error:
            raise ConnectionFailed(
                f"cannot connect to ClickHouse on {self._host}:{self._port}", detail=str(error)
            ) from None
        except Refused as error:
            reason = (
                "it refuses the user or the password" if error.code in (193, 194, 516) else "it refuses the session"
            )
            raise ConnectionFailed(
                f"cannot connect to ClickHouse on {self._host}:{self._port}: {reason}", detail=str(error)
            ) from None

    def ask(self, sql: str) -> Reply:
        return self._asked(sql, self._settings)

    def _asked(self, sql: str, settings: Mapping[str, str | int]) -> Reply:
        given = {"database": self._database, "default_format": FORMAT, "wait_end_of_query": 1, **settings}
        connection = self._kind(self._host, self._port, timeout=_WAIT)
        try:
            connection.connect()
            if connection.sock is not None:
                # How long a statement takes is not for the socket to say.
                connection.sock.settimeout(None)
            connection.request("POST", f"/?{urlencode(given)}", sql.encode(), self._headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Lost(str(error)) from None
        finally:
            connection.close()
        if response.status != http.HTTPStatus.OK or response.getheader("X-ClickHouse-Exception-Code"):
            raise Refused(body.decode(errors="replace"))
        summary = json.loads(response.getheader("X-ClickHouse-Summary") or "{}")
        return Reply(body, int(summary.get("written_rows", 0)))

    def stop(self) -> None:
        # There is nothing left to stop where the server cannot be reached any more.
        with suppress(Refused, Lost):
            self._asked(stopping(self._mark), {})

    def close(self) -> None:
        """Nothing of a session is kept on the server."""


def _header(quoted: str) -> bytes:
    """A part of a URL as a header carries it; refused before http.client would quote it in an error of its own."""
    text = unquote(quoted)
    if any(ord(letter) < ord(" ") or letter == "\x7f" for letter in text):
        raise UsageError("the user or the password of the ClickHouse URL has a control character, as a line break")
    return text.encode()


_FORM = "the ClickHouse URL is not valid: write clickhouse://user:password@host:8123/database"
