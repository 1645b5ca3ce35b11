"""`sqlanon evidence`: what is kept of the runs that published or failed.

Reads evidence files and tables; writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.settings import Settings, flags, phases
from sqlanon.cli.words import counted, number, seconds, vector
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.planning.operations import KeptEvidence
    from sqlanon.release.evidence.document import Document

FILE = click.Path(path_type=Path)


@click.command("evidence", short_help="Show what is kept of runs: releases and failures.")
@click.argument("run", required=False)
@click.option("--list", "listed", metavar="SPEC", type=FILE, help="List the runs of this spec, newest first.")
@click.option("--spec", type=FILE, help="The spec of RUN. Default: look in every *.evidence folder here.")
@click.option(
    "--openlineage", is_flag=True, help="Send the run as an event of OpenLineage, where its client is told to."
)
@flags()
def command(settings: Settings, run: str | None, listed: Path | None, spec: Path | None, openlineage: bool) -> None:
    """Show the evidence of a run: what was asked, decided, measured and run, with counts and times but no data values.

    RUN is the id of a run, or its beginning. --json prints all of it, with step, seconds and rows of each statement.
    """
    if (run is None) == (listed is None):
        raise click.UsageError("give either RUN or --list SPEC")
    if listed is not None:
        if spec is not None:
            raise click.UsageError("--spec goes with RUN; --list names the spec itself")
        if openlineage:
            raise click.UsageError("--openlineage goes with RUN")
        _list(settings, listed)
        return
    document = _document(settings, run or "", spec)
    if openlineage:
        _send(settings, document)
    if settings.as_json:
        settings.emit(document)
    else:
        _show(settings, document)


def _send(settings: Settings, document: Document) -> None:
    try:
        from sqlanon.api.openlineage import emit
    except ImportError:
        raise UsageError("--openlineage needs an extra: pip install 'sqlanon[openlineage]'") from None
    try:
        emit(document)
    except Exception as error:
        # The client raises whatever its transport raises; its text may name a host or a key.
        raise UsageError(f"--openlineage: the event was not sent ({type(error).__name__})") from None
    settings.note(f"sent run {document['run']} to OpenLineage")


def _list(settings: Settings, path: Path) -> None:
    from sqlanon.planning.operations import evidence
    from sqlanon.spec import load_spec

    with settings.working() as options:
        kept = evidence(load_spec(path), options)
    if settings.as_json:
        settings.emit({"runs": [_head(item) for item in kept]})
        return
    from sqlanon.cli.console import grid

    heading = ("run", "finished", "command", "target", "levels", "rows", "k")
    settings.console.print(grid(heading, [_line(item) for item in kept], right=(5, 6)))


def _head(item: KeptEvidence) -> dict[str, Any]:
    from sqlanon.release.evidence.document import published

    document = item.document
    names = ("run", "command", "started", "finished", "recipient", "source", "target", "vector", "rows")
    after = document["audit"]["after"]
    outcome = "published" if published(document) else "failed"
    return {**{name: document[name] for name in names}, "outcome": outcome, "k": None if after is None else after["k"]}


def _line(item: KeptEvidence) -> tuple[str, ...]:
    head = _head(item)
    return (
        head["run"],
        _time(head["finished"]),
        head["command"],
        head["target"],
        *(("failed", "-", "-") if head["k"] is None else _released(head)),
    )


def _released(head: dict[str, Any]) -> tuple[str, str, str]:
    return vector(head["vector"]), number(head["rows"]["released"]), number(head["k"])


def _document(settings: Settings, run: str, spec: Path | None) -> Document:
    from sqlanon.planning.operations import evidence_of, in_folder, one_of
    from sqlanon.spec import load_spec

    if spec is not None:
        with settings.working() as options:
            return evidence_of(load_spec(spec), run, options)
    folders = sorted(Path().glob("*.evidence"))
    if not folders:
        raise UsageError("there is no *.evidence folder here; name the spec with --spec")
    return one_of([item for folder in folders for item in in_folder(folder)], run).document


def _show(settings: Settings, document: Document) -> None:
    from sqlanon.cli.console import facts, grid

    console = settings.console
    console.print(facts(_facts(document)))
    if document["audit"]["after"] is not None:
        _show_release(settings, document)
    console.print()
    console.print(grid(("step", "statements", "time", "rows"), list(_steps(document)), right=(1, 2, 3)))


def _show_release(settings: Settings, document: Document) -> None:
    from sqlanon.cli.console import grid

    console = settings.console
    console.print()
    levels = [(name, f"{found['level']} of {found['height']}") for name, found in document["levels"].items()]
    console.print(grid(("column", "level"), levels))
    console.print()
    console.print(grid(("requirement", "asked", "measured", "satisfied"), list(_checks(document)), right=(2,)))


def _facts(document: Document) -> Iterator[tuple[str, str]]:
    rows, versions = document["rows"], document["versions"]
    yield "run", f"{document['run']}, by {document['command']}"
    yield "finished", f"{_time(document['finished'])} UTC"
    yield "source", document["source"]
    yield "target", document["target"]
    if document["recipient"] is not None:
        yield "recipient", document["recipient"]
    before, after = document["audit"]["before"], document["audit"]["after"]
    if after is None:
        failure = document["failure"]
        yield "failed", f"with {failure['error']}, exit code {failure['exit_code']}; nothing was published"
    else:
        yield "rows", f"{number(rows['released'])} of {number(rows['source'])}, {number(rows['suppressed'])} suppressed"
    if before is not None:
        yield "before", f"k = {number(before['k'])} in {counted(before['classes'], 'class', 'classes')}"
    if after is not None:
        yield "after", f"k = {number(after['k'])} in {counted(after['classes'], 'class', 'classes')}"
    if document["search"] is not None:
        search = document["search"]
        yield "search", f"{search['algorithm']}, {number(search['checks'])} of {counted(search['lattice'], 'node')}"
    if document["reused"] is not None:
        yield "plan", "used again" if document["reused"] else f"searched anew: {document['reason']}"
    yield "versions", f"sqlanon {versions['sqlanon']}, {document['engine']} {versions['engine']}"
    yield "seconds", phases(document["seconds"])


def _checks(document: Document) -> Iterator[tuple[str, ...]]:
    for check in document["audit"]["after"]["requirements"]:
        name = check["model"] + (f" {check['column']}" if check["column"] else "")
        measured = "unbounded" if check["measured"] is None else f"{check['measured']:g}"
        yield name, check["required"], measured, "yes" if check["satisfied"] else "no"


def _steps(document: Document) -> Iterator[tuple[str, ...]]:
    """The statements, gathered by their step."""
    steps: dict[str, list[dict[str, Any]]] = {}
    for statement in document["statements"]:
        steps.setdefault(statement["step"], []).append(statement)
    for step, found in steps.items():
        known = [statement["rows"] for statement in found if statement["rows"] is not None]
        rows = number(sum(known)) if known else "-"
        yield step, number(len(found)), seconds(sum(statement["seconds"] for statement in found)), rows


def _time(text: str) -> str:
    """
    >>> _time("2026-01-31T12:00:00.250+00:00")
    '2026-01-31 12:00:00'
    """
    return text.partition(".")[0].replace("T", " ")
