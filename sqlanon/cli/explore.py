"""`sqlanon explore`: the lattice of a spec in a browser, its nodes evaluated by the database as they are clicked.

Serves this machine alone; writes the lock file when asked to, and in the database only scratch tables.
"""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.files import known_lock, require_writable, write_lock
from sqlanon.cli.plan import parsed_k, parsed_limit
from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags

if TYPE_CHECKING:
    from sqlanon.reports.explore import Explorer, PageRequest

FILE = click.Path(path_type=Path)


@click.command("explore", short_help="Look at the lattice in a browser, and choose a node.")
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

    The address holds a token and is valid as long as the command runs. The page shows levels, counts, and
    labels that k rows or more have.
    """
    import os

    from sqlanon.planning.decision import hierarchies_of, packed, scanned
    from sqlanon.release.lock import lock_path
    from sqlanon.reports.explore import Answer, Explorer, Served, node_of, page, policy
    from sqlanon.reports.html import environment
    from sqlanon.reports.offline import rare_below
    from sqlanon.reports.values import trees
    from sqlanon.source.run import running
    from sqlanon.spec import load_spec
    from sqlanon.spec.findings import require_honoured

    environment()
    loaded = chosen(load_spec(spec), recipient)
    require_honoured(loaded, "grid")
    where = out or lock_path(spec, recipient)
    require_writable(where, loaded, lock=True)
    relative = Path(os.path.relpath(spec, where.parent)).as_posix()
    with settings.working(quiet=True, lock=where) as options, running(loaded, replace(options, reads_only=True)) as run:
        base = scanned(run)
        stored = hierarchies_of(run, base)
        labels = trees(run.engine, base, stored, rare_below(loaded, run.binding.k), persons=run.binding.persons)
        explorer = Explorer(run, packed(run, base, stored), known_lock(where, fresh=False), labels)

        def save(asked: dict[str, Any]) -> dict[str, Any]:
            write_lock(explorer.lock(node_of(asked.get("levels"), run.binding.names), relative, recipient), where)
            return {"lock": str(where)}

        answers: dict[str, Answer] = {
            "evaluate": lambda asked: explorer.evaluate(
                node_of(asked.get("levels"), run.binding.names), _asked(explorer, asked)
            ),
            "settings": lambda asked: explorer.view(_asked(explorer, asked)),
            "save": save,
        }
        source = str(run.binding.source)
        served = Served(
            lambda: page(explorer.view(explorer.own), name=spec.name, source=source, lock=str(where)),
            answers,
            policy(),
            port,
        )
        _announce(settings, served.url, where)
        if opens:
            webbrowser.open(served.url)
        try:
            served.run(idle)
        except KeyboardInterrupt:
            settings.note("ended")


def _announce(settings: Settings, url: str, lock: Path) -> None:
    if settings.as_json:
        settings.emit({"url": url, "lock": str(lock)})
    else:
        settings.console.print(f"open {url}", soft_wrap=True)
        settings.note("only this machine can reach it; Ctrl-C ends it")


def _asked(explorer: Explorer, given: dict[str, Any]) -> PageRequest:
    """The requirement of a question; what is left empty is the spec's."""
    from sqlanon.reports.explore import PageRequest

    k, limit = str(given.get("k") or "").strip(), str(given.get("limit") or "").strip()
    own = explorer.own
    return PageRequest(parsed_k(k) if k else own.k, parsed_limit(limit) if limit else own.limit)
