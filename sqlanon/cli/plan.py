"""`sqlanon plan`: search, and write down what was decided.

Writes the lock file; in the database only scratch tables, which are dropped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.files import changes_since, known_lock, lock_of, no_cache, require_writable, write_lock
from sqlanon.cli.recipients import PlanFlags, chosen, plan_for_all, recipient_option
from sqlanon.cli.settings import Settings, WatchedSearch, flags
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.spec import Limit, Spec

FILE = click.Path(path_type=Path)


@click.command("plan", short_help="Search for the generalization to release; write the lock file.")
@click.argument("spec", type=FILE)
@recipient_option("Plan for this recipient of the spec alone.")
@click.option("--minimal", is_flag=True, help="List all k-minimal vectors too.")
@click.option("--explain", is_flag=True, help="Say why: bounds, heights tried, a strategy, the steps down, distances.")
@click.option("--k", "ks", help="What if: one or more k, as 2,5,10. Shows the grid and writes no lock file.")
@click.option("--limit", "limits", help="What if: one or more suppression limits, as 0,1%,5%.")
@click.option(
    "--compare",
    "algorithms",
    help="Plan by each of these algorithms, as incognito,mondrian, and show what each costs. Writes no lock file.",
)
@click.option("--out", type=FILE, help="Where to write the lock file. Default: <spec>.lock.json beside the spec.")
@click.option("--fresh", is_flag=True, help="Ask the database everything again, even what the cache knows.")
@no_cache
@click.option(
    "--watch", is_flag=True, help="Show the search draw near: nodes, the best cost, how much less is possible."
)
@click.option("--dry-run", is_flag=True, help="Write no lock file.")
@flags(values=True)
def command(
    settings: Settings,
    spec: Path,
    recipient: str | None,
    minimal: bool,
    explain: bool,
    ks: str | None,
    limits: str | None,
    algorithms: str | None,
    out: Path | None,
    fresh: bool,
    no_cache: bool,
    watch: bool,
    dry_run: bool,
) -> None:
    """Search for the generalization to release, and write it to a lock file that `sqlanon apply` carries out.

    The lock file holds levels, hierarchy tops and counts: it is made to be reviewed and kept under version control.
    What the database said of each node is kept beside it, in .sqlanon_cache, which git ignores: planning again on the
    same data asks only for the rest.
    If there is one already, the command says what the new plan changes, and why: the data, the spec, a hierarchy.

    With --k or --limit it answers what-if questions instead: every combination, from one scan of the source.

    With --explain it also says why this node: which heights the search tried, what bounds them, a path of single steps
    that leads to the node, what each step down would suppress, and the distance vectors of the rows that stand out. No
    data value is shown without --show-values.

    With --compare, several algorithms are planned side by side, and their costs shown by the same measures.

    A spec with recipients is planned for each of them, with a lock file each, and the releases are checked together.

    Where the spec keeps a ledger, the recoding of the lock file stays as long as it holds: another one moves people
    from class to class. The command says whom either would hold back; --fresh takes the new one.
    """
    from sqlanon import pipeline
    from sqlanon.release.lock import lock_path
    from sqlanon.release.lock_diff import to_dict
    from sqlanon.search.base import Watching
    from sqlanon.spec import SeveralTables, load_any

    loaded = load_any(spec)
    if isinstance(loaded, SeveralTables):
        from sqlanon.cli.tables import plan_several, refuse_flags

        asked = {"--recipient": recipient, "--explain": explain, "--k": ks, "--limit": limits, "--compare": algorithms}
        refuse_flags({**asked, "--watch": watch})
        plan_several(settings, spec, loaded, out or lock_path(spec), minimal=minimal, dry_run=dry_run)
        return
    if explain and not (ks is None and limits is None and algorithms is None):
        raise click.UsageError("--explain is about one plan: leave out --k, --limit and --compare")
    if watch and any((ks, limits, algorithms, recipient, loaded.recipients)):
        raise click.UsageError("--watch is about one search: leave out --k, --limit, --compare and --recipient")
    if ks is not None or limits is not None:
        _what_if(settings, chosen(loaded, recipient), ks, limits)
        return
    if algorithms is not None:
        _compare(settings, chosen(loaded, recipient), algorithms)
        return
    if loaded.recipients or recipient is not None:
        plan_for_all(settings, spec, loaded, recipient, PlanFlags(minimal, explain, out, fresh, dry_run, not no_cache))
        return
    where = out or lock_path(spec)
    if not dry_run:
        require_writable(where, loaded, lock=True)
    lock_written = None if dry_run else where
    with settings.working(all_minimal=minimal, explain=explain, quiet=watch, lock=lock_written) as options:
        watched = WatchedSearch(settings.note) if watch else None
        if watched is not None:
            options = replace(options, progress=Watching(watched.progress, watched.costs))
        result = pipeline.plan(loaded, options, known_lock(where, fresh=fresh, cache=not no_cache))
        if watched is not None:
            watched.end()
    for warning in result.warnings:
        settings.note(f"warning: {warning}")
    lock = lock_of(spec, loaded, result, where)
    changes = changes_since(where, lock)
    keeps = result.series is not None and result.series.keeps
    if not dry_run and not keeps:
        write_lock(lock, where, cache=not no_cache)
    if settings.as_json:
        content: dict[str, Any] = {**result.to_dict(), "lock": None if dry_run else str(where)}
        settings.emit({**content, "diff": None if changes is None else to_dict(changes)})
        return
    from sqlanon.cli.views import changed, show_plan, spent

    unwritten = "not written" if dry_run else f"{where} stays as it is; --fresh takes the new recoding"
    written = ("lock", unwritten if dry_run or keeps else str(where))
    show_plan(settings.console, loaded, result, spent(result.seconds), written, *changed(changes))


def _what_if(settings: Settings, spec: Spec, ks: str | None, limits: str | None) -> None:
    from sqlanon.planning.frontier import frontier

    asked_k = [_own_k(spec)] if ks is None else [parsed_k(text) for text in ks.split(",")]
    asked_limits = (
        [spec.privacy.suppression.limit] if limits is None else [parsed_limit(text) for text in limits.split(",")]
    )
    with settings.working() as options:
        result = frontier(spec, asked_k, asked_limits, options)
    if settings.as_json:
        settings.emit(result.to_dict())
        return
    from sqlanon.cli.views import show_frontier

    show_frontier(settings.console, result)


def _compare(settings: Settings, spec: Spec, algorithms: str) -> None:
    from sqlanon.planning.frontier import compare

    with settings.working() as options:
        result = compare(spec, [name.strip() for name in algorithms.split(",")], options)
    if settings.as_json:
        settings.emit(result.to_dict())
        return
    from sqlanon.cli.views import show_comparison

    show_comparison(settings.console, result)


def _own_k(spec: Spec) -> int | None:
    """The k of the spec; None where each of several quasi-identifiers has its own."""
    return None if spec.each_own_k else spec.privacy.k or 1


MOST_DIGITS = 19
"""Numbers of so many digits may be too large for a database."""


def parsed_k(text: str) -> int:
    """A k of a flag; UsageError when it is none, or more than a database counts to."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < MOST_DIGITS and int(digits) >= 1):
        raise UsageError("--k: whole numbers of at least 1 are expected, as 2,5,10")
    return int(digits)


def parsed_limit(text: str) -> Limit:
    """A suppression limit of a flag; UsageError when it is none."""
    from sqlanon.spec import Limit

    try:
        return Limit.parse(text.strip())
    except ValueError as error:
        raise UsageError(f"--limit: {error}") from None
