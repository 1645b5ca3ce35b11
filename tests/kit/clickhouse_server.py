"""A stand-in for a ClickHouse server: its HTTP interface, as far as sqlanon uses it, in front of chdb."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tests.kit.servers import chdb_connection

USER, PASSWORD = "release role", "p@ss/word"
OF_REQUESTS = frozenset({"database", "default_format", "wait_end_of_query"})


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """The port on which a folder that chdb has open is served, on this machine alone."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that http.server asks for
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if (self.headers["X-ClickHouse-User"], self.headers.get("X-ClickHouse-Key")) != (USER, PASSWORD):
                self.answer(403, b"Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)", "516")
                return
            given = dict(parse_qsl(urlsplit(self.path).query))
            connection = chdb_connection(folder)
            try:
                connection.query(f"USE {given['database']}")
                for name, value in given.items():
                    if name not in OF_REQUESTS:
                        connection.query(f"SET {name} = '{value}'")
                found = connection.query(text, given["default_format"])
                self.answer(200, found.bytes(), written=int(found.rows_written()))
            except Exception as error:  # chdb has several classes for what the database refuses
                code = re.search(r"Code: (\d+)", str(error))
                self.answer(500, str(error).encode(), code[1] if code else "0")
            finally:
                connection.close()

        def answer(self, status: int, body: bytes, code: str = "", written: int = 0) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-ClickHouse-Summary", f'{{"written_rows":"{written}"}}')
            if code:
                self.send_header("X-ClickHouse-Exception-Code", code)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is written to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
