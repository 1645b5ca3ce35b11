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
@click.option(
    "--queries", type=click.Path(path_type=Path), help="YAML list of count queries. Default: 200 random ones."
)
@click.option("--no-queries", is_flag=True, help="Ask no count queries.")
@flags()
def command(
    settings: Settings, spec: Path, recipient: str | None, predict: str | None, queries: Path | None, no_queries: bool
) -> None:
    """Compare the published target of a spec with its source: information loss of each column, associations of columns,
    means of groups, answers to count queries, and how well a sensitive column is predicted from the others.
    """
    from sqlanon.cli.workload import given_queries
    from sqlanon.insight import PLAIN_UTILITY, UtilityOptions, utility
    from sqlanon.spec import load_spec

    if no_queries and queries is not None:
        raise click.UsageError("--queries and --no-queries contradict each other")
    asked = PLAIN_UTILITY.queries if queries is None else given_queries(queries)

    with settings.working() as options:
        result = utility(
            chosen(load_spec(spec), recipient), options, UtilityOptions(predict, None if no_queries else asked)
        )
    if settings.as_json:
        settings.emit(result.to_dict())
        return
    from sqlanon.cli.insight_views import show_utility

    show_utility(settings.console, result)
    for note in result.notes:
        settings.note(note)
