"""`sqlanon audit`: measure any table, also one that sqlanon never made.

Reads counts, never values; writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlanon.cli.audit_flags import RequirementCommand, Requirements, column_list, requirement_flags
from sqlanon.cli.files import known_lock
from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags

if TYPE_CHECKING:
    from sqlanon.auditor import AuditResult
    from sqlanon.source.run import Options


@click.command(
    "audit", cls=RequirementCommand, short_help="Measure any table: k, l-diversity, t-closeness and more, rows at risk."
)
@click.argument("table", required=False)
@click.option("--spec", type=click.Path(path_type=Path), help="Measure the target of this spec against it.")
@recipient_option("Measure the release of this recipient of the spec.")
@click.option("--connection", help="Database URL; ${NAME} expands. Default: DuckDB in memory, for files.")
@click.option("--qi", help="Columns of the quasi-identifier, separated by commas; quote a name that holds one.")
@click.option(
    "--personalized",
    type=click.Path(path_type=Path),
    help="Measure how likely the guarding nodes of this spec are inferred from TABLE, or from its target.",
)
@click.option("--fits", is_flag=True, help="With --spec: count which rows of the source fit which released rows.")
@requirement_flags
@flags()
def command(
    settings: Settings,
    table: str | None,
    spec: Path | None,
    recipient: str | None,
    connection: str | None,
    qi: str | None,
    personalized: Path | None,
    fits: bool,
    asked: Requirements,
) -> int:
    """Measure a table or file as it stands: the smallest class, the sizes of all, the rows at risk, and the values of
    sensitive columns in each class.

    Give TABLE with --qi, or --spec. Exit code 1 when a requirement is not met, or not shown: rows tell nothing of
    persons.
    """
    if personalized is not None:
        if spec is not None or connection is not None or qi is not None or fits or asked.beside_population:
            raise click.UsageError("--personalized goes with TABLE and --population; the spec says everything else")
        return _shown(settings, _of_guards(settings, personalized, recipient, table, asked))
    if (table is None) == (spec is None):
        raise click.UsageError("give either TABLE or --spec")
    if spec is not None and (connection is not None or qi is not None or asked.given):
        raise click.UsageError("--connection, --qi and requirements go with TABLE; with --spec they come from the spec")
    if table is not None and recipient is not None:
        raise click.UsageError("--recipient goes with --spec: a table is one release")
    if table is not None and fits:
        raise click.UsageError("--fits goes with --spec: only the spec knows the source and its hierarchies")
    if table is not None and qi is None:
        raise click.UsageError("--qi is missing: name the columns of the quasi-identifier")
    with settings.working() as options:
        if spec is not None:
            result = _of_spec(spec, recipient, options, fits=fits)
        else:
            result = _of_table(table or "", connection, column_list(qi or ""), asked, options)
    return _shown(settings, result)


def _of_guards(
    settings: Settings, path: Path, recipient: str | None, table: str | None, asked: Requirements
) -> AuditResult:
    from sqlanon.insight import microdata as measuring
    from sqlanon.spec import load_spec

    with settings.working() as options:
        loaded = chosen(load_spec(path), recipient)
        return measuring.audit_personalized(loaded, options, table=table, external=asked.population)


def _shown(settings: Settings, result: AuditResult) -> int:
    if settings.as_json:
        settings.emit(result.to_dict())
    else:
        from sqlanon.cli.views import show_audit

        show_audit(settings.console, result)
        for note in result.notes:
            settings.note(note)
        if result.asked and result.verdict is None:
            settings.note("not shown: the requirement is about persons")
        for violation in result.violations:
            settings.note(f"not satisfied: {violation}")
    return 0 if result.satisfied else 1


def _of_spec(path: Path, recipient: str | None, options: Options, *, fits: bool) -> AuditResult:
    from sqlanon import pipeline
    from sqlanon.release.lock import lock_path
    from sqlanon.spec import load_spec

    lock = known_lock(lock_path(path, recipient), fresh=False)
    return pipeline.audit_spec(chosen(load_spec(path), recipient), options, lock, fits=fits)


def _of_table(table: str, connection: str | None, qi: list[str], asked: Requirements, options: Options) -> AuditResult:
    from sqlanon.auditor.place import PlaceRequest, measure_place

    request = PlaceRequest(
        qi,
        privacy=asked.privacy,
        sensitive=asked.sensitive,
        respondent=asked.respondent,
        reference=asked.reference,
        population=asked.population,
    )
    return measure_place(table, connection, request, options)
