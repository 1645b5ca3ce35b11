"""Commands on a spec of several tables: check, plan, run, apply, and the audit of what they published.

Writes lock files; everything else is done by `planning.tables`. A flag that asks for what is there for one table alone
is refused by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlanon.cli.console import facts, grid
from sqlanon.cli.files import changes_since, lock_of, require_writable, write_lock
from sqlanon.cli.recipients import explained
from sqlanon.cli.settings import Settings
from sqlanon.cli.views import changed, part, plan_facts, spent
from sqlanon.cli.words import counted, number
from sqlanon.errors import UsageError
from sqlanon.hierarchies import described

if TYPE_CHECKING:
    from rich.console import Console

    from sqlanon.auditor.tables import JoinedAudit
    from sqlanon.release.lock import Lock
    from sqlanon.release.results import PlanResult
    from sqlanon.release.tables import TablesRun
    from sqlanon.spec import SeveralTables

Fact = tuple[str, str]
PEOPLE = ("person", "people")


def refuse_flags(given: Mapping[str, Any]) -> None:
    """UsageError at a flag that means nothing to a release of several tables."""
    for name, value in given.items():
        if value:
            raise UsageError(f"{name}: is for a spec of one table; leave it out for several")


def check_tables(settings: Settings, path: Path, spec: SeveralTables, *, offline: bool) -> dict[str, Any]:
    """What `sqlanon check` found of a spec of several tables; shown, unless JSON is asked for."""
    from sqlanon.planning.tables import hierarchies_of_tables
    from sqlanon.spec.columns import accepted_columns, rules_of

    found: dict[str, dict[str, Any]] = {}
    if not offline:
        with explained(settings), settings.working() as options:
            found = {
                report.column: {"values": report.values, "labels": list(report.labels), "top": report.top}
                for report in hierarchies_of_tables(spec, options)
            }
    if not settings.as_json:
        names = {member: shared.name for shared in spec.shared for member in shared.members}
        rows = [
            (name, column, keys.role, names.get((name, column), ""))
            for name, table in spec.tables.items()
            for column, keys in table.columns.items()
        ]
        settings.console.print(grid(("table", "column", "role", "level of"), rows))
        settings.console.print()
        levels = [(name, " > ".join(map(number, item["labels"]))) for name, item in found.items()]
        if levels:
            settings.console.print(grid(("level of", "labels per level"), levels))
            settings.console.print()
        ruled = [("rule", f"{name}: {words}") for name, words in rules_of(spec.columns).items()]
        accepted = [("accepted", f"{name}: {reason}") for name, reason in accepted_columns(spec.columns).items()]
        what = "the spec alone (offline)" if offline else "the spec, its names, its keys and its hierarchies"
        settings.console.print(facts([*ruled, *accepted, ("checked", what), ("result", f"{path} is valid")]))
    return {
        "spec": str(path),
        "valid": True,
        "offline": offline,
        "connection": str(spec.connection),
        "tables": {
            name: {column: keys.role for column, keys in table.columns.items()} for name, table in spec.tables.items()
        },
        "known": dict(spec.known),
        "hierarchies": found,
        "accepted": accepted_columns(spec.columns),
        "rules": rules_of(spec.columns),
    }


def plan_several(
    settings: Settings, path: Path, spec: SeveralTables, where: Path, *, minimal: bool, dry_run: bool
) -> None:
    """`sqlanon plan` for a spec of several tables."""
    from sqlanon.planning.tables import plan_tables
    from sqlanon.release.lock_diff import to_dict

    if not dry_run:
        _require_writable(where, spec)
    with explained(settings), settings.working(all_minimal=minimal, lock=None if dry_run else where) as options:
        result = plan_tables(spec, options)
    lock = lock_of(path, spec, result, where)
    changes = changes_since(where, lock)
    if not dry_run:
        write_lock(lock, where, cache=False)
    if settings.as_json:
        diff = None if changes is None else to_dict(changes)
        settings.emit({**result.to_dict(), "lock": None if dry_run else str(where), "diff": diff})
        return
    written = ("lock", "not written" if dry_run else str(where))
    _show_plan(settings.console, spec, result, spent(result.seconds), written, *changed(changes))


def run_several(settings: Settings, path: Path, spec: SeveralTables, where: Path) -> None:
    """`sqlanon run` for a spec of several tables."""
    from sqlanon.planning.tables import run_tables

    _require_writable(where, spec)
    with explained(settings), settings.working(lock=where) as options:
        result = run_tables(spec, options)
    if result.plan is not None:
        write_lock(lock_of(path, spec, result.plan, where), where, cache=False)
    if settings.as_json:
        settings.emit({**result.to_dict(), "lock": str(where)})
        return
    if result.plan is not None:
        _show_plan(settings.console, spec, result.plan)
        settings.console.print()
    show_release_of_tables(settings.console, result, ("lock", str(where)))


def apply_several(settings: Settings, spec: SeveralTables, lock: Lock) -> None:
    """`sqlanon apply` for the lock file of several tables."""
    from sqlanon.planning.tables import apply_tables

    with explained(settings), settings.working() as options:
        result = apply_tables(spec, lock, options)
    for warning in result.warnings:
        settings.note(f"warning: {warning}")
    if settings.as_json:
        settings.emit(result.to_dict())
    else:
        show_release_of_tables(settings.console, result)


def audit_several(settings: Settings, spec: SeveralTables) -> int:
    """`sqlanon audit --spec` for a spec of several tables; the exit code."""
    from sqlanon.planning.tables import audit_tables

    with explained(settings), settings.working() as options:
        result = audit_tables(spec, options)
    if settings.as_json:
        settings.emit(result.to_dict())
    else:
        settings.console.print(facts(_audit_facts(result)))
        for violation in result.violations:
            settings.note(f"not satisfied: {violation}")
    return 0 if result.satisfied else 1


def _require_writable(where: Path, spec: SeveralTables) -> None:
    """Refuse a place for the lock file that some table is read from."""
    for name in spec.tables:
        require_writable(where, spec.of_table(name), lock=True)


def _show_plan(console: Console, spec: SeveralTables, plan: PlanResult, *more: Fact) -> None:
    rows = []
    for shared, height in zip(spec.shared, plan.heights, strict=True):
        level, top = plan.levels[shared.name], str(plan.hierarchies[shared.name]["top"])
        table, column = shared.members[0]
        text = described(spec.of_table(table).hierarchy(column), level, height, top)
        also = ", ".join(f"{other}.{name}" for other, name in shared.members[1:])
        rows.append((shared.name, also, f"{level} of {height}", text))
    console.print(grid(("column", "and", "level", "released as"), rows))
    console.print()
    known = ", ".join(f"{counted(most, 'row')} of {name}" for name, most in spec.known.items())
    console.print(
        facts([("counted", f"people; known of each: the own row and up to {known}"), *plan_facts(plan, *PEOPLE), *more])
    )


def show_release_of_tables(console: Console, result: TablesRun, *more: Fact) -> None:
    """What was published."""
    published = [
        ("" if place else "published", f"{target}, {counted(result.audit.counts[name], 'row')}")
        for place, (name, target) in enumerate(result.targets.items())
    ]
    rows = [
        *published,
        ("people", part(result.audit.persons, result.publication.persons, *PEOPLE)),
        ("suppressed", part(result.publication.suppressed, result.publication.persons, *PEOPLE)),
        *_audit_facts(result.audit)[-2:],
        spent(result.seconds),
        *more,
    ]
    console.print(facts(rows))


def _audit_facts(audit: JoinedAudit) -> list[Fact]:
    known = [f"{item.words}: {number(item.least)} people or more" for item in audit.known]
    return [
        *(
            ("" if place else "tables", f"{table}, {counted(audit.counts[name], 'row')}")
            for place, (name, table) in enumerate(audit.tables.items())
        ),
        ("people", number(audit.persons)),
        *(("" if place else "known", text) for place, text in enumerate(known)),
        ("orphans", number(audit.orphans)),
        ("audit", f"k = {number(audit.k)} over the join, {'satisfied' if audit.satisfied else 'not satisfied'}"),
    ]
