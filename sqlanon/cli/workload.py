"""`sqlanon workload`: how well a release answers count queries.

Writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.insight.workload import WorkloadResult


@click.command("workload", short_help="How well a release answers count queries.")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--table", help="The release to query, also one of another tool. Default: the spec's target.")
@click.option("--queries", type=click.Path(path_type=Path), help="YAML list of count queries: {age: [20, 35], sex: F}.")
@click.option("--count", type=click.IntRange(min=1), default=1000, show_default=True, help="How many random queries.")
@click.option(
    "--type-1",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="Share of queries on the sensitive column alone.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random queries.")
@click.option("--sensitive", metavar="COLUMN", help="The sensitive column that queries ask about.")
@recipient_option("Ask the release of this recipient of the spec.")
@flags()
def command(
    settings: Settings,
    spec: Path,
    table: str | None,
    queries: Path | None,
    count: int,
    type_1: float,
    seed: int,
    sensitive: str | None,
    recipient: str | None,
) -> None:
    """Answer count queries from a release, as if each label were spread evenly over the values it covers, and compare
    with the source: the average, spread and largest of the relative errors.

    Without --queries, random queries are asked, as in Xiao and Tao 2006. Type 1 asks for a tenth of the sensitive
    values; type 2 for a fifth of them, together with a fifth of a numeric column, or one value or node of another.
    """
    from sqlanon.insight import use as measuring
    from sqlanon.insight.workload import RandomQueries
    from sqlanon.spec import load_spec

    asked = RandomQueries(count, type_1, seed) if queries is None else given_queries(queries)
    loaded = chosen(load_spec(spec), recipient)
    with settings.working() as options:
        result = measuring.workload(loaded, asked, options, table=table, sensitive=sensitive)
    if settings.as_json:
        settings.emit(result.to_dict())
    else:
        _show(settings, result)


def given_queries(path: Path) -> list[dict[str, Any]]:
    """The count queries in a file."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        raise UsageError(f"{path}: cannot be read as YAML") from None
    if not isinstance(content, list) or not content or not all(isinstance(item, dict) and item for item in content):
        raise UsageError(f"{path}: a list of count queries like {{age: [20, 35], sex: F}} is expected")
    return content


def _show(settings: Settings, result: WorkloadResult) -> None:
    from sqlanon.cli.insight_views import show_queries

    show_queries(settings.console, result.figures())
    if result.empty:
        settings.note(f"{result.empty} queries were left out: too few rows of the source satisfy them")
