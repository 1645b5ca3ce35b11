"""The server of `sqlanon explore`, for one browser on this machine: a page and a few questions, behind a token.

The page asks for the lattice under a k and a limit, the verdict of a node, and a node written to the lock file; its tab
that sets the spec up is a room of its own. The database is asked by one thread only, the one that opened it; requests
wait for it. No data values are served, and nothing is written but the lock file and the spec, each when asked for.
"""

from __future__ import annotations

import json
import queue
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import mean
from threading import Thread
from time import perf_counter
from typing import Any

from sqlanon.errors import InfeasibleError, RequirementError, SqlanonError, UsageError
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.problem import Problem, requirement_on, solve
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.evaluation.rollups import NodeCounts
from sqlanon.hierarchies.lattice import Node, dominates
from sqlanon.metrics import metric_named
from sqlanon.recoding.registry import recoder_named
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.reports.html import embedded_json, environment, script_hash, text_of
from sqlanon.reports.lattice_view import LatticeFrame, Shown, lattice_view, level_names, scored
from sqlanon.reports.values import Branch
from sqlanon.search.base import Objective, SearchResult
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.hierarchies import describe_hierarchies
from sqlanon.source.run import Run
from sqlanon.spec import Limit

HOST = "127.0.0.1"
LONGEST_BODY = 200_000
ANSWER_SECONDS = 3600
LONGEST_WAIT = 0.5

Answer = Callable[[dict[str, Any]], dict[str, Any]]
Job = tuple[Callable[[], Any], "Future[Any]"]


class Served:
    """A page and the questions it may ask, at an address that only who was told can know."""

    def __init__(
        self,
        page: Callable[[], str],
        answers: dict[str, Answer],
        policy: str,
        port: int = 0,
        quick: dict[str, Answer] | None = None,
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """`quick`: answers that need no database, given while the thread of the database is at work.

        `failed` is told of errors that nobody foresaw. The page never is: they may hold data values.
        """
        self.token = secrets.token_urlsafe(24)
        self.page = page
        self.answers = answers
        self.quick = quick or {}
        self.failed = failed or (lambda _: None)
        self.policy = policy
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        served = self

        class Handler(_Handler):
            server_of = served

        try:
            self._server = _Server((HOST, port), Handler)
        except OSError as error:
            raise UsageError(f"--port: {HOST}:{port} cannot be listened on: {error.strerror}") from None
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
        """The next question; None when it is time to end.

        Waits in slices: Python sees a Ctrl-C that came just before it began to wait only when the wait is over.
        """
        begun = perf_counter()
        while seconds is None or perf_counter() - begun < seconds:
            with suppress(queue.Empty):
                return self._jobs.get(timeout=LONGEST_WAIT)
        return None


def _work(work: Callable[[], Any], future: Future[Any]) -> None:
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)


class _Server(ThreadingHTTPServer):
    """Threads that end with the process."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away in the middle of an answer is nobody to tell."""


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
        place = self._place() or ""
        quick = self.server_of.quick.get(place)
        answer = quick or self.server_of.answers.get(place)
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
        self._answer(lambda: json.dumps(answer(asked)), "application/json", at_once=quick is not None)

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

    def _answer(self, work: Callable[[], str], kind: str, *, at_once: bool = False) -> None:
        try:
            content = work() if at_once else self.server_of.ask(work)
        except SqlanonError as error:
            self._error(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except Exception as error:
            self.server_of.failed(error)
            self._error(HTTPStatus.INTERNAL_SERVER_ERROR, "this failed; the terminal of `sqlanon explore` knows more")
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


@dataclass(frozen=True)
class PageRequest:
    """The requirement that somebody looks at: another k and another limit than the spec's, perhaps."""

    k: int | None
    """None: what the spec says."""
    limit: Limit


class Explorer:
    """One spec being explored.

    Works on one frequency set; the source is read once.
    """

    def __init__(
        self, run: Run, frequency: FrequencySet, known: Lock | None, trees: Mapping[str, Branch | None] | None = None
    ) -> None:
        """`trees`: the labels of each column that may be shown, for examples."""
        self._run = run
        self._levels = level_names(
            run.binding.spec, {item.column: (item.height, item.top) for item in frequency.hierarchies}
        )
        heights = {item.column: item.height for item in frequency.hierarchies}
        self._examples = [examples((trees or {}).get(name), heights[name]) for name in run.binding.names]
        self._frequency = frequency
        self._spec = run.binding.spec
        if recoder_named(self._spec.search.algorithm) is not None:
            raise UsageError(
                f"search.algorithm: {self._spec.search.algorithm} searches no lattice; there is none to see"
            )
        self._known = known
        self._pace = Pace()
        self._problems: dict[int | None, tuple[Problem, SqlEvaluator]] = {}
        self._found: dict[PageRequest, SearchResult | str] = {}

    @property
    def own(self) -> PageRequest:
        """What the spec asks for."""
        k = None if self._spec.each_own_k else self._spec.privacy.k
        return PageRequest(k, self._spec.privacy.most_suppressed)

    def view(self, asked: PageRequest) -> dict[str, Any]:
        """The lattice under a requirement, searched as the spec searches."""
        return self._shown(asked, self._searched(asked))

    def evaluate(self, node: Node, asked: PageRequest) -> dict[str, Any]:
        """The lattice with one more node evaluated by the database."""
        evaluator = self._evaluator(asked)
        self._require(node, evaluator)
        rows, before, started = reading(evaluator.readings, node), evaluator.checks, perf_counter()
        evaluator.measure([node])
        if evaluator.checks > before:
            self._pace.learn(rows, perf_counter() - started)
        return self._shown(asked, self._searched(asked))

    def lock(self, node: Node, path: str, recipient: str | None) -> Lock:
        """The lock of a node that satisfies the spec's own requirement; RequirementError where it does not."""
        evaluator = self._evaluator(self.own)
        self._require(node, evaluator)
        [verdict] = evaluator.measure([node])
        if verdict.suppressed > evaluator.limit:
            raise RequirementError(
                f"the node suppresses {verdict.suppressed} rows and the spec allows {evaluator.limit}: "
                f"choose another, or change the spec"
            )
        objective = self._objective(evaluator)
        found = self._searched(self.own)
        minimal = found.minimal if isinstance(found, SearchResult) else ()
        plan = PlanResult(
            columns=self._run.binding.names,
            heights=evaluator.heights,
            rows=evaluator.rows,
            limit=evaluator.limit,
            combinations=self._frequency.combinations,
            requirement=requirement_of(self._run.binding).describe(),
            hierarchies=describe_hierarchies(self._frequency.hierarchies),
            search=SearchResult(
                algorithm="explore",
                metric=objective.metric.name,
                chosen=verdict,
                score=objective.score(verdict),
                checks=evaluator.checks,
                lattice=evaluator.lattice.size,
                proven=False,
                undecided=0,
                ties=(node,),
                minimal=minimal,
                minimal_complete=isinstance(found, SearchResult) and found.minimal_complete,
            ),
            engine=self._run.engine.name,
            seconds=self._run.watch.seconds,
            fingerprint=self._frequency.fingerprint,
            verdicts=tuple(evaluator.known()),
            source=self._run.binding.schema,
        )
        return Lock.of(self._spec, plan, path, recipient)

    def _require(self, node: Node, evaluator: SqlEvaluator) -> None:
        if node not in evaluator.lattice:
            raise UsageError("there is no such node in the lattice")

    def _problem(self, k: int | None) -> tuple[Problem, SqlEvaluator]:
        """The problem of a k, with an evaluator that keeps every answer."""
        if k not in self._problems:
            run, frequency = self._run, self._frequency
            requirement = requirement_on(run.binding, frequency, k)
            part = None if requirement.monotone(1) else requirement.relaxed()
            counted = [requirement, *([] if part is None else [part])]
            counts = NodeCounts(run.engine, frequency, counted, run.scratch)
            problem = Problem(run, frequency, counts, 0, frequency.rows, None if part is None else 1)
            evaluator = problem.evaluator()
            own = requirement_of(run.binding).describe()
            if k == self.own.k and self._known is not None and self._known.knows(frequency.fingerprint, own):
                evaluator.put(self._known.verdicts)
            self._problems[k] = problem, evaluator
        return self._problems[k]

    def _evaluator(self, asked: PageRequest) -> SqlEvaluator:
        _, evaluator = self._problem(asked.k)
        return evaluator.within(asked.limit.rows(self._frequency.rows))

    def _objective(self, evaluator: SqlEvaluator) -> Objective:
        weights = [self._spec.weight(name) for name in self._run.binding.names]
        return Objective.of(metric_named(self._spec.search.metric), evaluator, weights)

    def _searched(self, asked: PageRequest) -> SearchResult | str:
        """The answer of the spec's algorithm to a requirement, or why there is none."""
        if asked not in self._found:
            problem, evaluator = self._problem(asked.k)
            before, started = evaluator.checks, perf_counter()
            try:
                if asked.k is not None and self._frequency.rows < asked.k:
                    raise InfeasibleError(f"the source has {self._frequency.rows} rows, fewer than k = {asked.k}")
                self._found[asked] = solve(problem, self._evaluator(asked))
            except (InfeasibleError, UsageError) as error:
                self._found[asked] = str(error)
            if (nodes := evaluator.checks - before) > 0:
                # A search asks for many nodes together: one by one they take this long at the most.
                self._pace.learn(self._frequency.combinations, (perf_counter() - started) / nodes)
        return self._found[asked]

    def _shown(self, asked: PageRequest, found: SearchResult | str) -> dict[str, Any]:
        evaluator = self._evaluator(asked)
        objective = self._objective(evaluator)
        answered = isinstance(found, SearchResult)
        frame = LatticeFrame(
            self._run.binding.names,
            evaluator.heights,
            evaluator.lattice,
            evaluator.limit,
            evaluator.rows,
            objective.metric.name,
            evaluator.monotone,
            self._levels,
        )
        view = lattice_view(
            frame,
            [Shown(verdict, scored(objective, verdict)) for verdict in evaluator.known()],
            chosen=found.chosen.node if isinstance(found, SearchResult) else None,
            minimal=found.minimal if isinstance(found, SearchResult) else (),
        )
        return {
            "lattice": {**view.to_dict(), "examples": self._examples, "cost": self._cost(evaluator)},
            "k": asked.k,
            "limit": str(asked.limit),
            "own": asked == self.own,
            "message": "" if answered else f"Nothing acceptable was found: {found}",
        }

    def _cost(self, evaluator: SqlEvaluator) -> dict[str, Any]:
        return {"sets": [[list(node), rows] for node, rows in evaluator.readings], **self._pace.to_dict()}


MOST_LEARNT = 60


@dataclass
class Pace:
    """How long the database takes for a question, by the rows that it reads: measured, and drawn on."""

    known: list[tuple[int, float]] = field(default_factory=list)

    def learn(self, rows: int, seconds: float) -> None:
        """Note how long reading so many rows took."""
        self.known = [*self.known, (rows, seconds)][-MOST_LEARNT:]

    def to_dict(self) -> dict[str, Any]:
        """Seconds of a question, and of a row: the line through what was measured; None where nothing was.

        >>> pace = Pace([(1000, 0.1), (3000, 0.2)])
        >>> pace.to_dict()
        {'seconds': 0.05, 'seconds_per_row': 5e-05}
        """
        if not self.known:
            return {"seconds": None, "seconds_per_row": None}
        rows, seconds = zip(*self.known, strict=True)
        middle, usual, spread = mean(rows), mean(seconds), sum((number - mean(rows)) ** 2 for number in rows)
        slope = sum((number - middle) * took for number, took in self.known) / spread if spread else 0.0
        slope = min(max(slope, 0.0), usual / middle)
        return {"seconds": round(usual - slope * middle, 6), "seconds_per_row": slope}


def reading(sets: Sequence[tuple[Node, int]], node: Node) -> int:
    """The rows that counting a node reads: those of the smallest set below it."""
    return min(rows for below, rows in sets if dominates(node, below))


def examples(tree: Branch | None, height: int) -> list[str | None]:
    """One label of each level: the most frequent one of the top, then always of what lies below; None of the others.

    >>> grown = Branch(2, "*", 1.0, (Branch(1, None, 0.6), Branch(1, "river", 0.4)))
    >>> examples(grown, 2)
    [None, 'river', '*']
    """
    found: list[str | None] = [None] * (height + 1)
    while tree is not None:
        found[tree.level] = tree.label
        named = [child for child in tree.children if child.label is not None]
        tree = max(named, key=lambda child: child.share, default=None)
    return found


def node_of(levels: object, columns: Sequence[str]) -> Node:
    """A node as a page sends it."""
    if not isinstance(levels, list) or len(levels) != len(columns):
        raise UsageError("a node has a level for each column")
    if not all(isinstance(level, int) and not isinstance(level, bool) for level in levels):
        raise UsageError("levels are whole numbers")
    return tuple(levels)


def script() -> str:
    """The script of the page: the lattice, and what the database adds to it."""
    return text_of("lattice.js") + text_of("explore.js") + text_of("setup.js")


def policy() -> str:
    """What the page may do: run its own script, ask its own server."""
    return (
        f"default-src 'none'; script-src {script_hash(script())}; style-src 'unsafe-inline'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def page(view: Mapping[str, Any], *, name: str, source: str, lock: str) -> str:
    """The page with a lattice that is already known.

    Everything is in it: style, script, the lattice. It talks to nobody but the server that sent it.
    """
    from markupsafe import Markup

    context = {
        "view": view,
        "name": name,
        "source": source,
        "lock": lock,
        "live": True,
        "lattice": view["lattice"],
        "lattice_json": Markup(embedded_json(view["lattice"])),
        "style": Markup(text_of("style.css")),
        "script": Markup(script()),
    }
    return environment().get_template("explore.html").render(context)
