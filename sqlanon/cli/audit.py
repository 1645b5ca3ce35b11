"""`sqlanon audit`: measure any table, also one that sqlanon never made.

Reads counts, never values; writes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlanon.cli.settings import Settings, flags

if TYPE_CHECKING:
    from sqlanon.audit import AuditResult
    from sqlanon.runs import Options


@click.command("audit", short_help="Measure any table: k, class sizes, rows at risk.")
@click.argument("table", required=False)
@click.option("--spec", type=click.Path(path_type=Path), help="Measure the target of this spec against it.")
@click.option("--connection", help="Database URL; ${NAME} expands. Default: DuckDB in memory, for files.")
@click.option("--qi", help="Columns of the quasi-identifier, separated by commas; quote a name that holds one.")
@click.option("--k", type=click.IntRange(min=1), help="The k to require. Default: 1, which only measures.")
@flags()
def command(
    settings: Settings, table: str | None, spec: Path | None, connection: str | None, qi: str | None, k: int | None
) -> int:
    """Measure a table or file as it stands: the smallest class, the sizes of all, the rows at risk.

    Give TABLE with --qi, or --spec. Exit code 1 when the requirement is not met.
    """
    if (table is None) == (spec is None):
        raise click.UsageError("give either TABLE or --spec")
    if spec is not None and (connection, qi, k) != (None, None, None):
        raise click.UsageError("--connection, --qi and --k go with TABLE; with --spec the spec says them")
    if table is not None and qi is None:
        raise click.UsageError("--qi is missing: name the columns of the quasi-identifier")
    with settings.working() as options:
        result = _measured(options, table, spec, connection, qi, k)
    if settings.as_json:
        settings.emit(result.to_dict())
    else:
        from sqlanon.cli.views import show_audit

        show_audit(settings.console, result)
        for violation in result.violations:
            settings.note(f"not satisfied: {violation}")
    return 0 if result.satisfied else 1


def _measured(
    options: Options, table: str | None, spec: Path | None, connection: str | None, qi: str | None, k: int | None
) -> AuditResult:
    from sqlanon import pipeline
    from sqlanon.place import measure_place
    from sqlanon.spec import load_spec

    if spec is not None:
        return pipeline.audit_spec(load_spec(spec), options)
    return measure_place(table or "", connection, column_list(qi or ""), k or 1, options)


def column_list(text: str) -> list[str]:
    """The names in a list separated by commas, as csv quotes them.

    >>> column_list('zip,"a,b",age')
    ['zip', 'a,b', 'age']
    """
    import csv

    names = next(csv.reader([text]), [])
    if not names or not all(names):
        raise click.UsageError("--qi: a list of column names like zip,age is expected")
    return names
