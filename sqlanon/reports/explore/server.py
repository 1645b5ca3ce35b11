"""A small web server for one browser on this machine: a page and three questions, behind a token in the address.

The database is asked by one thread only, the one that opened it; requests wait for it.
"""

from __future__ import annotations

import json
import queue
import secrets
from collections.abc import Callable
from concurrent.futures import Future
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from sqlanon.errors import SqlanonError, UsageError

HOST = "127.0.0.1"
LONGEST_BODY = 20_000
ANSWER_SECONDS = 3600

Answer = Callable[[dict[str, Any]], dict[str, Any]]
Job = tuple[Callable[[], Any], "Future[Any]"]


class Served:
    """A page and the questions it may ask, at an address that only who was told can know."""

    def __init__(self, page: Callable[[], str], answers: dict[str, Answer], policy: str, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(24)
        self.page = page
        self.answers = answers
        self.policy = policy
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        served = self

        class Handler(_Handler):
            server_of = served

        try:
            self._server = ThreadingHTTPServer((HOST, port), Handler)
        except OSError as error:
            raise UsageError(f"--port: {HOST}:{port} cannot be listened on: {error.strerror}") from None
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/{self.token}/"

    def run(self, idle_seconds: float | None = None) -> None:
        """Answer until interrupted, or until nobody asked for so long."""
        listening = Thread(target=self._server.serve_forever, name="explore", daemon=True)
        listening.start()
        try:
            while (job := self._next(idle_seconds)) is not None:
                _work(*job)
        finally:
            self._server.shutdown()
            self._server.server_close()

    def stop(self) -> None:
        """End `run`, from any thread."""
        self._jobs.put(None)

    def ask(self, work: Callable[[], Any]) -> Any:
        """Have the thread of the database do something, and wait for it."""
        future: Future[Any] = Future()
        self._jobs.put((work, future))
        return future.result(timeout=ANSWER_SECONDS)

    def _next(self, seconds: float | None) -> Job | None:
        try:
            return self._jobs.get(timeout=seconds)
        except queue.Empty:
            return None


def _work(work: Callable[[], Any], future: Future[Any]) -> None:
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server_of: Served
    timeout = 30
    server_version = "sqlanon"
    sys_version = ""

    def do_GET(self) -> None:
        if self._refused():
            return
        if self._place() != "":
            self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"not found\n")
            return
        self._answer(lambda: self.server_of.page(), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        if self._refused():
            return
        answer = self.server_of.answers.get(self._place() or "")
        length = self.headers.get("Content-Length", "")
        if answer is None or self.headers.get_content_type() != "application/json":
            self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"not found\n")
            return
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            self._error(HTTPStatus.BAD_REQUEST, "the question is too long")
            return
        try:
            asked = json.loads(self.rfile.read(int(length)))
        except ValueError:
            asked = None
        if not isinstance(asked, dict):
            self._error(HTTPStatus.BAD_REQUEST, "the question is not a JSON object")
            return
        self._answer(lambda: json.dumps(answer(asked)), "application/json")

    def _refused(self) -> bool:
        """Whether this is somebody who was not told the address, or a page of another site."""
        port = self.server_of.port
        hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        origin = self.headers.get("Origin")
        known = self.headers.get("Host") in hosts and (origin is None or origin in {f"http://{host}" for host in hosts})
        if known and self._place() is not None:
            return False
        self._send(HTTPStatus.FORBIDDEN, "text/plain; charset=utf-8", b"open the address that sqlanon printed\n")
        return True

    def _place(self) -> str | None:
        """What is asked for under the token; None without it."""
        token, slash, rest = self.path.removeprefix("/").partition("/")
        return rest if slash and secrets.compare_digest(token.encode(), self.server_of.token.encode()) else None

    def _answer(self, work: Callable[[], str], kind: str) -> None:
        try:
            content = self.server_of.ask(work)
        except SqlanonError as error:
            self._error(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except Exception:
            # What went wrong may hold data values: it stays here.
            self._error(HTTPStatus.INTERNAL_SERVER_ERROR, "this failed; the terminal of `sqlanon explore` knows more")
            raise
        else:
            self._send(HTTPStatus.OK, kind, content.encode())

    def _error(self, status: HTTPStatus, message: str) -> None:
        self._send(status, "application/json", json.dumps({"error": message}).encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": self.server_of.policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """The address holds the token: requests are not logged."""
