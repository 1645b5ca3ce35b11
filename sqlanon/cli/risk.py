"""`sqlanon risk`: how easily people are re-identified, before and after, and which columns make them stand out.

Reads counts, never values; writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlanon.cli.audit import column_list
from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags

if TYPE_CHECKING:
    from sqlanon.insight import RiskOptions
    from sqlanon.insight.reidentification import RiskResult
    from sqlanon.source.run import Options

DEFAULT_K = 5


@click.command("risk", short_help="Measure the risk of re-identification, and which columns make rows stand out.")
@click.argument("path", metavar="SPEC|TABLE")
@recipient_option("Measure the release of this recipient of the spec.")
@click.option("--connection", help="With TABLE: database URL. Default: DuckDB in memory, for files.")
@click.option("--qi", help="With TABLE: the columns that somebody may know, separated by commas.")
@click.option("--k", type=click.IntRange(min=1), help="With TABLE: count rows in classes smaller than this; default 5.")
@click.option("--threshold", metavar="LIST", help="Count rows whose risk is above these; default 0.05,0.1,0.2,0.5.")
@click.option(
    "--subsets",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Measure all subsets of up to this many columns.",
)
@click.option(
    "--uniques", type=click.IntRange(min=0), default=0, help="Look for minimal unique sets of up to this many columns."
)
@flags()
def command(
    settings: Settings,
    path: str,
    recipient: str | None,
    connection: str | None,
    qi: str | None,
    k: int | None,
    threshold: str | None,
    subsets: int,
    uniques: int,
) -> None:
    """Measure prosecutor, journalist and marketer risk of a spec's source and of its published target, or of any TABLE
    with --qi, and how well each subset of columns tells rows apart.
    """
    of_table = qi is not None or Path(path).suffix not in (".yaml", ".yml")
    if of_table and qi is None:
        raise click.UsageError("--qi is missing: name the columns that somebody may know")
    if of_table and recipient is not None:
        raise click.UsageError("--recipient goes with a spec: a table is one release")
    if not of_table and (connection is not None or k is not None):
        raise click.UsageError("--connection and --k go with TABLE; a spec says them itself")
    asked = _asked(threshold, subsets, uniques)
    with settings.working() as options:
        if of_table:
            result = _of_table(path, connection, column_list(qi or ""), options, asked, k or DEFAULT_K)
        else:
            result = _of_spec(Path(path), recipient, options, asked)
    if settings.as_json:
        settings.emit(result.to_dict())
        return
    from sqlanon.cli.insight_views import show_risk

    show_risk(settings.console, result)
    for note in result.notes:
        settings.note(note)


def _asked(threshold: str | None, subsets: int, uniques: int) -> RiskOptions:
    from sqlanon.insight import PLAIN_RISK, RiskOptions

    given = PLAIN_RISK.thresholds if threshold is None else tuple(map(_threshold, threshold.split(",")))
    return RiskOptions(given, subsets, uniques)


def _threshold(text: str) -> Decimal:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        value = Decimal(0)
    if not (value.is_finite() and 0 < value <= 1):
        raise click.UsageError("--threshold: numbers above 0 and up to 1 are expected, as 0.05,0.2")
    return value


def _of_spec(path: Path, recipient: str | None, options: Options, asked: RiskOptions) -> RiskResult:
    from sqlanon.insight import risk
    from sqlanon.spec import load_spec

    return risk(chosen(load_spec(path), recipient), options, asked)


def _of_table(
    name: str, connection: str | None, qi: list[str], options: Options, asked: RiskOptions, k: int
) -> RiskResult:
    from sqlanon.insight import risk_of_table

    return risk_of_table(name, connection, qi, options, asked, k)
