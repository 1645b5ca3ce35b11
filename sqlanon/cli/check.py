"""`sqlanon check`: is this spec right, does it fit the database, do its hierarchies hold?

Writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.failures import failure_of
from sqlanon.cli.hierarchies import reports_of
from sqlanon.cli.recipients import explained, recipient_option
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import SpecError, SqlanonError

if TYPE_CHECKING:
    from sqlanon.source.doubt import Crowding
    from sqlanon.spec import Spec


@click.command("check", short_help="Validate a spec, its names in the database and its hierarchies.")
@click.argument("specs", metavar="SPEC...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--offline", is_flag=True, help="Check the spec alone, without the database.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the spec, for editors, and do nothing else.")
@recipient_option("Check the release of this recipient of the spec alone. Default: all of them.")
@flags(values=True)
def command(settings: Settings, specs: tuple[Path, ...], offline: bool, schema: bool, recipient: str | None) -> None:
    """Validate a spec; unless --offline, also look up its names in the database and build and validate its
    hierarchies on the values that are there. Of several specs each is checked, also after one that is wrong.
    """
    from sqlanon.spec import json_schema

    if schema:
        click.echo(json.dumps(json_schema(), indent=2))
        return
    if not specs:
        raise click.UsageError("Missing argument 'SPEC...'.")
    if len(specs) == 1:
        content = _checked(settings, specs[0], recipient, offline=offline)
    else:
        content = {"specs": [_checked_or_refused(settings, spec, recipient, offline=offline) for spec in specs]}
    if settings.as_json:
        settings.emit(content)
    worst = max((found.get("exit_code", 0) for found in content.get("specs", ())), default=0)
    if worst:
        click.get_current_context().exit(worst)


def _checked_or_refused(settings: Settings, path: Path, recipient: str | None, *, offline: bool) -> dict[str, Any]:
    """What was found of one spec of several, or why it is refused."""
    try:
        return _checked(settings, path, recipient, offline=offline)
    except SqlanonError as error:
        failure = failure_of(error)
        if not settings.as_json:
            for line in failure.lines:
                settings.note(f"{path}: {line}")
        problems = [line.removeprefix("error: ") for line in failure.lines]
        return {"spec": str(path), "valid": False, "problems": problems, "exit_code": failure.exit_code}


def _checked(settings: Settings, path: Path, recipient: str | None, *, offline: bool) -> dict[str, Any]:
    """What was found of a spec; shown, unless JSON is asked for."""
    from sqlanon.spec import SeveralTables, load_any

    try:
        loaded = load_any(path)
    except SpecError as error:
        raise SpecError(*error.problems, *([] if offline else _also_of_columns(settings, path))) from None
    if isinstance(loaded, SeveralTables):
        from sqlanon.cli.tables import check_tables, refuse_flags

        refuse_flags({"--recipient": recipient})
        return check_tables(settings, path, loaded, offline=offline)
    if loaded.recipients or recipient is not None:
        names = [recipient] if recipient else loaded.recipient_names
        return _checked_recipients(settings, path, loaded, names, offline=offline)
    hierarchies = {} if offline else _hierarchies(settings, loaded)
    crowd = None if offline else _crowd(settings, loaded)
    if not settings.as_json:
        _show(settings, path, loaded, hierarchies, crowd)
    return _content(path, loaded, offline, hierarchies, crowd)


def _also_of_columns(settings: Settings, path: Path) -> list[str]:
    """What is wrong about columns and their hierarchies, told beside what is wrong with the spec; nothing where the
    source is not found."""
    from sqlanon.auditor.place import open_place
    from sqlanon.source.binding import refuse_columns
    from sqlanon.spec.load import read_document

    try:
        asked = read_document(path.read_text(encoding="utf-8-sig")).value
        with (
            settings.working() as options,
            open_place(asked["source"], asked.get("connection"), options, path.parent) as place,
        ):
            infos = place[0].columns(place[1])
            alone = _of_sound_columns(asked, path.parent)
            try:
                refuse_columns(alone, infos)
            except SqlanonError as error:
                return list(getattr(error, "problems", ())) or [str(error)]
            return []
    except (SqlanonError, OSError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        return []


def _of_sound_columns(asked: dict[str, Any], folder: Path) -> Spec:
    """A spec of the columns that are right in themselves; the others stay out, named all the same."""
    from sqlanon.spec import spec_from_dict

    frame = {"version": 1, "source": "source", "target": "target", "privacy": {"k": 1}}
    generalized = {"role": "quasi_identifier"}

    def sound(name: str, column: Any) -> Any:
        beside = (
            {} if isinstance(column, dict) and column.get("role") == "quasi_identifier" else {f"{name} ": generalized}
        )
        try:
            spec_from_dict({**frame, "columns": {name: column, **beside}}, folder)
        except SqlanonError:
            return {"role": "identifier"}
        return column

    columns = {str(name): sound(str(name), item) for name, item in asked["columns"].items() if str(name).isprintable()}
    role = asked.get("default_role")
    default = {"default_role": role} if role in ("identifier", "insensitive") else {}
    if not any(column.get("role") == "quasi_identifier" for column in columns.values()):
        # A release generalizes something; of a column that is not there nothing more is told.
        first = next(iter(columns))
        columns[first] = {"role": "quasi_identifier"}
    return spec_from_dict({**frame, "columns": columns, **default}, folder)


def _checked_recipients(
    settings: Settings, path: Path, spec: Spec, names: Sequence[str], *, offline: bool
) -> dict[str, Any]:
    """Each recipient's spec as if it stood alone."""
    from sqlanon.cli.recipients import heading
    from sqlanon.insight.together import about

    contents = {}
    for name in names:
        own = spec.for_recipient(name)
        with explained(settings), about(name):
            hierarchies = {} if offline else _hierarchies(settings, own)
            crowd = None if offline else _crowd(settings, own)
        contents[name] = _content(path, own, offline, hierarchies, crowd)
        if not settings.as_json:
            heading(settings, f"recipient {name}")
            _show(settings, path, own, hierarchies, crowd)
    shared = {key: contents[names[0]][key] for key in ("spec", "valid", "offline", "connection")}
    told = ("columns", "hierarchies", "accepted", "rules", "persons")
    recipients = {name: {key: content[key] for key in told if key in content} for name, content in contents.items()}
    return {**shared, "recipients": recipients}


def _hierarchies(settings: Settings, spec: Spec) -> dict[str, dict[str, Any]]:
    with reports_of(settings, spec, publishable=True) as reports:
        return {
            report.column: {"values": report.values, "labels": list(report.labels), "top": report.top}
            for report in reports
        }


def _crowd(settings: Settings, spec: Spec) -> Crowding | None:
    from sqlanon import pipeline

    with settings.working() as options:
        return pipeline.crowded(spec, options)


def _content(
    path: Path, spec: Spec, offline: bool, hierarchies: dict[str, dict[str, Any]], crowd: Crowding | None
) -> dict[str, Any]:
    from sqlanon.spec.columns import accepted_columns, rules_of

    rules = rules_of(spec.columns)
    return {
        "spec": str(path),
        "valid": True,
        "offline": offline,
        "connection": str(spec.connection),
        "columns": {name: column.role for name, column in spec.columns.items()},
        "hierarchies": hierarchies,
        "accepted": accepted_columns(spec.columns),
        **({"rules": rules} if rules else {}),
        "persons": None if crowd is None else crowd.to_dict(),
    }


def _show(
    settings: Settings, path: Path, spec: Spec, hierarchies: dict[str, dict[str, Any]], crowd: Crowding | None
) -> None:
    from sqlanon.cli.console import facts, grid
    from sqlanon.cli.words import number
    from sqlanon.spec.columns import accepted_columns, rules_of

    def measured(name: str) -> tuple[str, str]:
        found = hierarchies.get(name)
        if found is None:
            return "", ""
        return number(found["values"]), " > ".join(map(number, found["labels"]))

    rows = [(name, column.role, *measured(name)) for name, column in spec.columns.items()]
    settings.console.print(grid(("column", "role", "values", "labels per level"), rows, right=(2,)))
    settings.console.print()
    what = "the spec, its names in the database and its hierarchies" if hierarchies else "the spec alone (offline)"
    accepted = [("accepted", f"{name}: {reason}") for name, reason in accepted_columns(spec.columns).items()]
    ruled = [("rule", f"{name}: {words}") for name, words in rules_of(spec.columns).items()]
    settings.console.print(facts([*ruled, *accepted, ("checked", what), ("result", f"{path} is valid")]))
    if crowd is not None:
        settings.note(f"warning: {crowd}")
