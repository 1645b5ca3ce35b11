"""`sqlanon attack`: run the adversary's attacks on the source and on the release, and count whom they reach.

Reads counts, and names only where they are asked for; writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlanon.cli.audit import column_list
from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags

if TYPE_CHECKING:
    from sqlanon.insight import AttackOptions

DEFAULT_K = 5


@click.command("attack", short_help="Run the adversary's attacks on a release, or on a series of releases.")
@click.argument("spec", required=False, type=click.Path(path_type=Path))
@recipient_option("Attack the release of this recipient of the spec.")
@click.option("--external", metavar="TABLE", help="An identified table to link with. Default: the spec's population.")
@click.option("--map", "mapped", multiple=True, metavar="COLUMN=NAME", help="A column's name in the identified table.")
@click.option("--within", metavar="LIST", help="Count people who match at most this many rows; default 2,5,10.")
@click.option("--excluded", metavar="LIST", help="How many values an attacker can rule out; default 1.")
@click.option("--similar", metavar="SHARE", help="Numbers within this share of the range are similar; default 0.1.")
@click.option("--release", metavar="TABLE", help="Another release of the same people, to intersect with.")
@click.option("--names", metavar="COLUMN", help="Show this column of the people who are re-identified.")
@click.option("--series", multiple=True, metavar="TABLE", help="A published table; compare each two, oldest first.")
@click.option("--qi", metavar="LIST", help="With --series, without SPEC: the quasi-identifier; commas between.")
@click.option("--sensitive", metavar="LIST", help="With --series, without SPEC: the sensitive columns.")
@click.option("--k", type=click.IntRange(min=1), help="With --series, without SPEC: differences below this; default 5.")
@click.option("--respondent", metavar="COLUMN", help="With --series, without SPEC: the column that names the person.")
@click.option("--connection", help="With --series, without SPEC: database URL. Default: DuckDB in memory, for files.")
@click.option("--statements", is_flag=True, help="Show the statement of each attack.")
@flags()
def command(
    settings: Settings,
    spec: Path | None,
    recipient: str | None,
    external: str | None,
    mapped: Sequence[str],
    within: str | None,
    excluded: str | None,
    similar: str | None,
    release: str | None,
    names: str | None,
    series: Sequence[str],
    qi: str | None,
    sensitive: str | None,
    k: int | None,
    respondent: str | None,
    connection: str | None,
    statements: bool,
) -> None:
    """Attack the source and the published target of a spec: link people of an identified table, and infer sensitive
    values from classes. Prints counts only, unless names are asked for.

    With --series, once for each earlier release from the oldest on, compare these and the target, each two, and count
    whom their differences expose. Tables of others need no SPEC: name their columns with --qi and --sensitive.
    """
    if series:
        if any((external, mapped, within, excluded, similar, release, names)):
            raise click.UsageError("--series compares published tables; leave the flags of other attacks out")
        described = (qi, sensitive, k, respondent, connection)
        _compare(settings, series, spec, recipient, described, statements=statements)
        return
    if spec is None:
        raise click.UsageError("Missing argument 'SPEC'.")
    if any((qi, sensitive, k, respondent, connection)):
        raise click.UsageError("--qi, --sensitive, --k, --respondent and --connection go with --series")
    from sqlanon.insight import attack
    from sqlanon.spec import load_spec

    asked = _asked(external, mapped, within, excluded, similar, release, names)
    with settings.working() as options:
        result = attack(chosen(load_spec(spec), recipient), options, asked)
    if settings.as_json:
        settings.emit(result.to_dict(statements=statements))
        return
    from sqlanon.cli.insight_views import show_attacks

    show_attacks(settings.console, result, statements=statements)
    for note in result.notes:
        settings.note(note)


def _compare(
    settings: Settings,
    names: Sequence[str],
    spec: Path | None,
    recipient: str | None,
    described: tuple[str | None, str | None, int | None, str | None, str | None],
    *,
    statements: bool,
) -> None:
    """Compare published tables: releases of a spec, or tables that flags describe."""
    from sqlanon.insight import SeriesRequest, series_of_spec, series_of_tables
    from sqlanon.spec import load_spec

    qi, sensitive, k, respondent, connection = described
    if spec is not None and any(described):
        raise click.UsageError("--qi, --sensitive, --k, --respondent and --connection: a spec says them itself")
    if spec is None and qi is None:
        raise click.UsageError("--series: name SPEC, or the quasi-identifier of the tables with --qi")
    with settings.working() as options:
        if spec is not None:
            result = series_of_spec(chosen(load_spec(spec), recipient), names, options)
        else:
            values = () if sensitive is None else tuple(column_list(sensitive, "--sensitive"))
            asked = SeriesRequest(tuple(column_list(qi or "")), values, k or DEFAULT_K, respondent)
            result = series_of_tables(names, connection, asked, options)
    if settings.as_json:
        settings.emit(result.to_dict(statements=statements))
        return
    from sqlanon.cli.insight_views import show_series

    show_series(settings.console, result, statements=statements)
    for note in result.notes:
        settings.note(note)


def _asked(
    external: str | None,
    mapped: Sequence[str],
    within: str | None,
    excluded: str | None,
    similar: str | None,
    release: str | None,
    names: str | None,
) -> AttackOptions:
    from sqlanon.insight import PLAIN_ATTACK, AttackOptions

    if mapped and external is None:
        raise click.UsageError("--map names columns of the table of --external")
    return AttackOptions(
        external=external,
        columns=dict(_pair(text) for text in mapped),
        within=PLAIN_ATTACK.within if within is None else _numbers("--within", within, 1),
        excluded=PLAIN_ATTACK.excluded if excluded is None else _numbers("--excluded", excluded, 0),
        similar=PLAIN_ATTACK.similar if similar is None else _share(similar),
        release=release,
        names=names,
    )


def _pair(text: str) -> tuple[str, str]:
    column, equals, name = text.partition("=")
    if not (column and equals and name):
        raise click.UsageError("--map: COLUMN=NAME is expected")
    return column, name


def _numbers(flag: str, text: str, least: int) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 and int(part) >= least for part in parts):
        raise click.UsageError(f"{flag}: whole numbers of at least {least} are expected, as 1,2,5")
    return tuple(dict.fromkeys(map(int, parts)))


def _share(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(-1)
    if not (value.is_finite() and 0 <= value <= 1):
        raise click.UsageError("--similar: a share between 0 and 1 is expected")
    return value
