"""`sqlanon status`: whether a release still satisfies its requirement, and whether its source has moved on.

Reads the target and the source; writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlanon.cli.settings import Settings, flags
from sqlanon.cli.words import counted, number

if TYPE_CHECKING:
    from sqlanon.api.status import Status
    from sqlanon.release.lock import Lock
    from sqlanon.spec import Spec


@click.command("status", short_help="Audit a published release again; tell whether its source has drifted.")
@click.argument("path", metavar="SPEC|LOCK", type=click.Path(path_type=Path))
@flags()
def command(settings: Settings, path: Path) -> int:
    """Audit the published release of a spec, and compare the source with what the lock file was planned on.

    Exit code 1 when the release does not satisfy its requirement, cannot be shown to, or is not there. A source that
    has drifted is reported, but it is no failure: the release itself has not changed.
    """
    from sqlanon.api.status import status

    asked = list(_asked(path))
    with settings.working() as options:
        found = [status(spec, lock, options, recipient) for recipient, spec, lock in asked]
    if settings.as_json:
        settings.emit(_content(found))
    else:
        _show(settings, found)
    return 0 if all(item.satisfied for item in found) else 1


def _asked(path: Path) -> Iterator[tuple[str | None, Spec, Lock | None]]:
    """The releases that are asked about, each with its lock file."""
    from sqlanon.api import spec_of
    from sqlanon.release.lock import Lock, lock_path
    from sqlanon.spec import load_spec

    if path.suffix == ".json":
        lock = Lock.read(path)
        spec = load_spec(spec_of(path, lock))
        yield lock.recipient, spec if lock.recipient is None else spec.for_recipient(lock.recipient), lock
        return
    spec = load_spec(path)
    for name in spec.recipient_names or (None,):
        place = lock_path(path, name)
        one = spec if name is None else spec.for_recipient(name)
        yield name, one, Lock.read(place) if place.is_file() else None


def _content(found: list[Status]) -> dict[str, object]:
    verdicts = [item.satisfied for item in found]
    satisfied = False if False in verdicts else None if None in verdicts else True
    if len(found) == 1 and found[0].recipient is None:
        return found[0].to_dict()
    return {"satisfied": satisfied, "recipients": {str(item.recipient): item.to_dict() for item in found}}


def _show(settings: Settings, found: list[Status]) -> None:
    from sqlanon.cli.console import facts
    from sqlanon.cli.recipients import heading

    for item in found:
        if item.recipient is not None:
            heading(settings, f"recipient {item.recipient}")
        settings.console.print(facts(_facts(item)))


def _facts(item: Status) -> Iterator[tuple[str, str]]:
    from sqlanon.cli.views import changed

    yield "target", item.target
    if item.audit is None:
        yield "release", "NOT published: the target is not there"
    else:
        verdict = {True: "satisfied", False: "NOT satisfied", None: "not shown"}[item.satisfied]
        classes = counted(item.audit.classes, "class", "classes")
        k = f"k = {number(item.audit.k)}{item.audit.said_unit}"
        yield "release", f"{verdict}: {k} in {classes}, {counted(item.audit.rows, 'row')}"
        for note in item.audit.notes:
            yield "", note
        for violation in item.audit.violations:
            yield "", violation
    yield from _series(item)
    if item.drift is None:
        yield "source", "not compared: there is no lock file"
        return
    lines = list(item.drift.lines())
    states = {True: "drifted", False: "unchanged since the plan", None: "not compared: it was planned for another spec"}
    yield "source", states[item.drift.changed]
    for line in lines:
        yield "", line
    yield from changed(item.drift.changes)
    yield "plan", "still holds" if item.drift.acceptable else "no longer holds: plan again"


def _series(item: Status) -> Iterator[tuple[str, str]]:
    if item.series is None:
        return
    last = item.series.last(item.target)
    if last is not None:
        smallest = number(last["smallest"])
        yield "series", f"{counted(len(item.series.events), 'event')}, last release {last['published']}"
        yield "", f"{number(last['deferred'])} newcomers wait, {number(last['covered'])} left with others"
        if last["staying"]:
            yield "", f"{number(last['staying'])} who have left stay until enough of them leave together"
        yield "", f"smallest track {smallest}"
    for problem in item.series.problems:
        yield "series" if last is None else "", f"NOT in order: {problem}"
    if item.series.people is None and not item.series.problems:
        yield "series" if last is None else "", "not checked: the secret of the ledger is not set"
