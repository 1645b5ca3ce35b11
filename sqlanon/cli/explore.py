"""`sqlanon explore`: the lattice of a spec in a browser, its nodes evaluated by the database as they are clicked; and
the spec itself, set up column by column.

Serves this machine alone; writes the lock file or the spec when asked to, and in the database only scratch tables.
"""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.failures import failure_of, report
from sqlanon.cli.files import known_lock, require_writable, write_lock
from sqlanon.cli.plan import parsed_k, parsed_limit
from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.hierarchies.lattice import Node
    from sqlanon.reports.explore import Explorer, PageRequest
    from sqlanon.reports.setup import SetUp
    from sqlanon.source.run import Run

FILE = click.Path(path_type=Path)


@click.command("explore", short_help="Look at the lattice in a browser, choose a node, set the spec up.")
@click.argument("spec", type=FILE)
@recipient_option("Explore the release of this recipient.")
@click.option("--out", type=FILE, help="Where a chosen node is written. Default: <spec>.lock.json beside the spec.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to listen on. Default: a free one.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser of this machine.")
@click.option("--idle", type=float, metavar="SECONDS", help="End after this many seconds without a request.")
@flags()
def command(
    settings: Settings, spec: Path, recipient: str | None, out: Path | None, port: int, opens: bool, idle: float | None
) -> None:
    """Serve the lattice of a spec to a browser on this machine, until interrupted.

    Click a node to have it evaluated by the database, keep one to compare it with another, try another k or limit,
    filter by the levels of columns, and write the node of your choice to the lock file that `sqlanon apply` publishes.
    The tab Set up changes roles, groups of values, k and limit, shows what that costs, and writes the spec when asked.

    The address holds a token and is valid as long as the command runs. The page shows levels, counts, and
    labels that k rows or more have.
    """
    from sqlanon.reports.explore import Answer, Served, page, policy
    from sqlanon.reports.html import environment
    from sqlanon.source.run import running
    from sqlanon.spec import load_spec
    from sqlanon.spec.findings import require_honoured

    environment()
    written = load_spec(spec)
    loaded = chosen(written, recipient)
    require_honoured(loaded, "grid")
    where = out or lock_path_of(spec, recipient)
    require_writable(where, loaded, lock=True)
    with (
        settings.working(quiet=True, lock=where) as options,
        running(loaded, replace(options, reads_only=True)) as run,
        Desk(spec, where, recipient) as desk,
    ):
        desk.open(run)

        def groups(asked: dict[str, Any]) -> dict[str, Any]:
            return desk.groups(asked, served.ask)

        answers: dict[str, Answer] = {
            "evaluate": desk.evaluate,
            "settings": desk.search,
            "save": desk.save,
            "setup": lambda _: desk.setup.view(),
            "measure": desk.measure,
            "write": desk.write,
        }
        served = Served(
            lambda: page(desk.view(), name=spec.name, source=str(run.binding.source), lock=str(where)),
            answers,
            policy(),
            port,
            {"groups": groups},
            lambda error: report(failure_of(error), error, as_json=False, debug=settings.debug),
        )
        _announce(settings, served.url, where)
        if opens:
            webbrowser.open(served.url)
        try:
            served.run(idle)
        except KeyboardInterrupt:
            settings.note("ended")


def lock_path_of(spec: Path, recipient: str | None) -> Path:
    """Where a node is written unless the user says otherwise."""
    from sqlanon.release.lock import lock_path

    return lock_path(spec, recipient)


class Desk:
    """What the page works on: the lattice of the spec as its file says it, and the changes to that file.

    When the file is written both are made anew, on the run that is open.
    """

    explorer: Explorer
    setup: SetUp

    def __init__(self, path: Path, lock: Path, recipient: str | None) -> None:
        self._path, self._lock, self._recipient = path, lock, recipient
        self._stack = ExitStack()
        self._first: Run | None = None

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, run: Run) -> None:
        """Read the source, and work on this run from now on."""
        from sqlanon.planning.decision import hierarchies_of, packed, scanned
        from sqlanon.reports.explore import Explorer
        from sqlanon.reports.offline import rare_below
        from sqlanon.reports.setup import SetUp
        from sqlanon.reports.values import trees

        base = scanned(run)
        stored = hierarchies_of(run, base)
        rare = rare_below(run.binding.spec, run.binding.k)
        labels = trees(run.engine, base, stored, rare, persons=run.binding.persons)
        self.explorer = Explorer(
            run, packed(run, base, stored, again=True), known_lock(self._lock, fresh=False), labels
        )
        self.setup = SetUp(self._path, run, base, rare)
        self._run = run
        self._first = self._first or run

    # -- the lattice ---------------------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        view = self.explorer.view(self.explorer.own)
        return {**view, "setup": self._recipient is None}

    def evaluate(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self.explorer.evaluate(self._node(asked), _asked(self.explorer, asked))

    def search(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self.explorer.view(_asked(self.explorer, asked))

    def save(self, asked: dict[str, Any]) -> dict[str, Any]:
        require_writable(self._lock, self._run.binding.spec, lock=True)
        relative = Path(os.path.relpath(self._path, self._lock.parent)).as_posix()
        write_lock(self.explorer.lock(self._node(asked), relative, self._recipient), self._lock)
        return {"lock": str(self._lock)}

    def _node(self, asked: dict[str, Any]) -> Node:
        from sqlanon.reports.explore import node_of

        return node_of(asked.get("levels"), self._run.binding.names)

    # -- the spec ------------------------------------------------------------------------------------------------

    def measure(self, asked: dict[str, Any]) -> dict[str, Any]:
        from sqlanon.reports.wanted import wanted_of

        return self.setup.measure(wanted_of(asked))

    def groups(self, asked: dict[str, Any], ask: Callable[[Callable[[], Any]], Any]) -> dict[str, Any]:
        """The groups of a column; `ask` has the thread of the database count its values, the first time."""
        from sqlanon.reports.wanted import wanted_of

        setup, name = self.setup, str(asked.get("column"))
        if not setup.knows(name):
            ask(lambda: setup.count_values(name))
        return setup.groups(name, wanted_of(asked))

    def write(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Write the spec once the changed one has been opened: one that cannot be is not written."""
        from sqlanon.reports.setup import on_spec
        from sqlanon.reports.wanted import wanted_of

        self._require_setup()
        wanted = wanted_of(asked)
        self.setup.require_savable(wanted)
        _, changed = self.setup.spec_of(wanted)
        before, written = (self.explorer, self.setup, self._run), False
        with ExitStack() as stack:
            try:
                self.open(stack.enter_context(on_spec(self._first or self._run, changed)))
                before[1].save(wanted)
                written = True
            finally:
                if not written:
                    self.explorer, self.setup, self._run = before
            self._stack.close()
            self._stack = stack.pop_all()
        self.setup.read_again()
        return {"spec": str(self._path)}

    def _require_setup(self) -> None:
        if self._recipient is not None:
            raise UsageError("a spec of several recipients is changed in the file")


def _announce(settings: Settings, url: str, lock: Path) -> None:
    if settings.as_json:
        settings.emit({"url": url, "lock": str(lock)})
    else:
        click.echo(f"open {url}")
        settings.note("only this machine can reach it; Ctrl-C ends it")


def _asked(explorer: Explorer, given: dict[str, Any]) -> PageRequest:
    """The requirement of a question; what is left empty is the spec's."""
    from sqlanon.reports.explore import PageRequest

    k, limit = str(given.get("k") or "").strip(), str(given.get("limit") or "").strip()
    own = explorer.own
    try:
        return PageRequest(parsed_k(k) if k else own.k, parsed_limit(limit) if limit else own.limit)
    except UsageError as error:
        # A page has fields, not flags.
        raise UsageError(str(error).removeprefix("--")) from None
