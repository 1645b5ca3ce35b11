"""Commands on a spec with recipients: one section for each, then what their releases say together.

Writes lock files; everything else is done by the room of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sqlanon.cli.files import changes_since, known_lock, lock_of, require_writable, write_lock
from sqlanon.errors import SqlanonError, UsageError

if TYPE_CHECKING:
    from sqlanon.api.recipients import AppliedRelease, RecipientsPlan
    from sqlanon.cli.settings import Settings
    from sqlanon.insight.together import Together
    from sqlanon.release.lock_diff import Change
    from sqlanon.release.results import RunResult
    from sqlanon.spec import Spec

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def recipient_option(text: str) -> Callable[[Decorated], Decorated]:
    """The flag that chooses one recipient of a spec."""
    return click.option("--recipient", metavar="NAME", help=text)


def chosen(spec: Spec, recipient: str | None) -> Spec:
    """The spec of the one release that a command is about."""
    from sqlanon.api.recipients import one_release

    return one_release(spec, recipient, "choose one with --recipient")


@contextmanager
def explained(settings: Settings) -> Iterator[None]:
    """Say on stderr which recipient an error is about."""
    try:
        yield
    except SqlanonError as error:
        for note in getattr(error, "__notes__", ()):
            settings.note(note)
        raise


@dataclass(frozen=True)
class PlanFlags:
    """The flags of `sqlanon plan` that hold for every recipient."""

    minimal: bool
    explain: bool
    out: Path | None
    fresh: bool
    dry_run: bool
    cache: bool = True


def plan_for_all(
    settings: Settings,
    path: Path,
    spec: Spec,
    only: str | None,
    flags: PlanFlags,
) -> None:
    """`sqlanon plan` for every recipient, or for one."""
    from sqlanon.api import recipients
    from sqlanon.release.lock import lock_path
    from sqlanon.release.lock_diff import to_dict

    if only is not None:
        spec.for_recipient(only)
    elif flags.out is not None:
        raise UsageError("--out names one file: choose a recipient with --recipient")
    where = {
        name: flags.out or lock_path(path, name) for name in ([only] if only is not None else spec.recipient_names)
    }
    if not flags.dry_run:
        for name, place in where.items():
            require_writable(place, spec.for_recipient(name), lock=True)
    folder = next(iter(where.values())).parent
    others = {name: folder / lock_path(path, name).name for name in spec.recipient_names if name not in where}
    with (
        explained(settings),
        settings.working(all_minimal=flags.minimal, explain=flags.explain, lock=flags.out) as options,
    ):
        known = _locks(where, fresh=flags.fresh, cache=flags.cache)
        planned = recipients.plan(spec, options, known, only=only, beside=_locks(others, fresh=False))
    made = {
        name: lock_of(path, spec.for_recipient(name), plan, where[name], name) for name, plan in planned.plans.items()
    }
    changes = {name: changes_since(where[name], lock) for name, lock in made.items()}
    if not flags.dry_run:
        for name, lock in made.items():
            if name not in planned.kept:
                write_lock(lock, where[name], cache=flags.cache)
    shown = {name: "not written" if flags.dry_run else str(place) for name, place in where.items()}
    shown |= {name: f"{where[name]} stays as it is; --fresh takes the new recoding" for name in planned.kept}
    if settings.as_json:
        content = planned.to_dict()
        for name, place in where.items():
            content["recipients"][name]["lock"] = None if flags.dry_run else str(place)
            found = changes[name]
            content["recipients"][name]["diff"] = None if found is None else to_dict(found)
        settings.emit(content)
    else:
        _show_plans(settings, spec, planned, shown, changes)
    _tell(settings, planned.together)


def run_for_all(settings: Settings, path: Path, spec: Spec, *, fresh: bool, cache: bool = True) -> None:
    """`sqlanon run` for every recipient."""
    from sqlanon.api import recipients
    from sqlanon.release.lock import lock_path

    where = {name: lock_path(path, name) for name in spec.recipient_names}
    for name, place in where.items():
        require_writable(place, spec.for_recipient(name), lock=True)
    published: dict[str, RunResult] = {}
    with explained(settings), settings.working() as options:
        planned = recipients.plan(spec, options, _locks(where, fresh=fresh, cache=cache))
        with _published_so_far(settings, published):
            for name, result in recipients.publish(spec, planned, options):
                published[name] = result
                # At once: if a later release fails, this one stands, and its lock file says what it is.
                if name not in planned.kept:
                    made = lock_of(path, spec.for_recipient(name), planned.plans[name], where[name], name)
                    write_lock(made, where[name], cache=cache)
    if settings.as_json:
        content = recipients.RecipientsRun(published, planned.together).to_dict()
        for name, place in where.items():
            content["recipients"][name]["lock"] = str(place)
        settings.emit(content)
    else:
        _show_releases(settings, spec, published, planned, where)
    _tell(settings, planned.together)


def show_applied(settings: Settings, result: AppliedRelease) -> None:
    """What the release of one recipient says together with those of the others."""
    if not settings.as_json:
        _show_together(settings, result.together)
    _tell(settings, result.together)


@contextmanager
def _published_so_far(settings: Settings, published: dict[str, RunResult]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if published:
            settings.note(f"already published, and not undone: the release of {', '.join(published)}")
        raise


def _locks(paths: dict[str, Path], *, fresh: bool, cache: bool = True) -> dict[str, Any]:
    found = {name: known_lock(path, fresh=fresh, cache=cache) for name, path in paths.items()}
    return {name: lock for name, lock in found.items() if lock is not None}


def _show_plans(
    settings: Settings,
    spec: Spec,
    planned: RecipientsPlan,
    locks: dict[str, str],
    changes: dict[str, list[Change] | None],
) -> None:
    from sqlanon.cli.views import changed, show_plan, spent

    for name, plan in planned.plans.items():
        heading(settings, f"recipient {name}")
        more = [spent(plan.seconds), ("lock", locks[name]), *changed(changes[name])]
        show_plan(settings.console, spec.for_recipient(name), plan, *more)
    _show_together(settings, planned.together)


def _show_releases(
    settings: Settings, spec: Spec, published: dict[str, RunResult], planned: RecipientsPlan, locks: dict[str, Path]
) -> None:
    from sqlanon.cli.views import show_plan, show_release

    for name, result in published.items():
        heading(settings, f"recipient {name}")
        show_plan(settings.console, spec.for_recipient(name), planned.plans[name])
        settings.console.print()
        show_release(settings.console, result, ("lock", str(locks[name])))
    _show_together(settings, planned.together)


def _show_together(settings: Settings, together: Together) -> None:
    from sqlanon.cli.views import show_together

    if together.findings:
        heading(settings, "together")
        show_together(settings.console, together)


def heading(settings: Settings, text: str) -> None:
    """The line above a recipient's section."""
    settings.console.print()
    settings.console.rule(text, align="left")


def _tell(settings: Settings, together: Together) -> None:
    """Warnings always, notes where a person reads along; both are in the JSON object."""
    for line in together.warnings():
        settings.note(f"warning: {line}")
    if not settings.as_json:
        for line in together.notes():
            settings.note(f"note: {line}")
