"""`sqlanon utility`: what the release keeps of its source.

Reads aggregates; writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags


@click.command("utility", short_help="Measure what a release keeps: loss, associations, means, a classification.")
@click.argument("spec", type=click.Path(path_type=Path))
@recipient_option("Measure the release of this recipient of the spec.")
@click.option("--predict", metavar="COLUMN", help="Classify this sensitive column. Default: all that hold no numbers.")
@flags()
def command(settings: Settings, spec: Path, recipient: str | None, predict: str | None) -> None:
    """Compare the published target of a spec with its source: information loss of each column, associations of columns,
    means of groups, and how well a sensitive column is told from the others.
    """
    from sqlanon.insight import UtilityOptions, utility
    from sqlanon.spec import load_spec

    with settings.working() as options:
        result = utility(chosen(load_spec(spec), recipient), options, UtilityOptions(predict))
    if settings.as_json:
        settings.emit(result.to_dict())
        return
    from sqlanon.cli.insight_views import show_utility

    show_utility(settings.console, result)
    for note in result.notes:
        settings.note(note)
