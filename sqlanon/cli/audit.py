"""`sqlanon audit`: measure any table, also one that sqlanon never made; its flags say what to require.

Reads counts, never values; writes nothing but scratch tables, which are dropped. The flags become keys of a spec; what
their parts must be is the spec's to say.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sqlanon.cli.files import known_lock
from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags

if TYPE_CHECKING:
    from sqlanon.auditor import AuditResult
    from sqlanon.source.run import Options
    from sqlanon.spec.models import SensitiveEntry


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
REQUIRE = "Require of a sensitive column"


@dataclass(frozen=True)
class Requirements:
    """What the flags ask, in the keys of a spec's `privacy`."""

    privacy: dict[str, Any] = field(default_factory=dict)
    population: str | None = None
    sensitive: tuple[str, ...] = ()
    respondent: str | None = None
    reference: str | None = None

    @property
    def given(self) -> bool:
        return self != Requirements()

    @property
    def beside_population(self) -> bool:
        """Whether anything but the population is given."""
        return replace(self, population=None).given


class RequirementCommand(click.Command):
    """A command whose flags of models are made when they are read: the list of all commands needs none of them."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        known = {param.name for param in params}
        place = next(number for number, param in enumerate(params) if param.name == "sensitive") + 1
        return [*params[:place], *(flag for flag in _models() if flag.name not in known), *params[place:]]


def requirement_flags(function: Decorated) -> Decorated:
    """Give a `RequirementCommand` the flags of all models; it gets `Requirements` as `asked`."""

    @functools.wraps(function)
    def command(
        *,
        k: int | None,
        sensitive: Sequence[str],
        respondent: str | None,
        reference: str | None,
        population: str | None,
        k_map: int | None,
        delta_presence: str | None,
        **given: Any,
    ) -> Any:
        privacy: dict[str, Any] = {key: _entries(key, given.pop(key)) for key in _rows()}
        privacy |= {"k": k, "k_map": k_map, "delta_presence": _bounds(delta_presence)}
        asked = {key: value for key, value in privacy.items() if value}
        columns = tuple(name for names in sensitive for name in column_list(names, "--sensitive"))
        return function(asked=Requirements(asked, population, columns, respondent, reference), **given)

    wrapped: Any = command
    for option in reversed(_options()):
        wrapped = option(wrapped)
    decorated: Decorated = wrapped
    return decorated


def column_list(text: str, flag: str = "--qi") -> list[str]:
    """The names in a list separated by commas, as csv quotes them.

    >>> column_list('zip,"a,b",age')
    ['zip', 'a,b', 'age']
    """
    import csv

    names = next(csv.reader([text]), [])
    if not names or not all(names):
        raise click.UsageError(f"{flag}: a list of column names like zip,age is expected")
    return names


def _rows() -> Mapping[str, type[SensitiveEntry]]:
    from sqlanon.spec.privacy import MODELS

    return MODELS


def _models() -> list[click.Option]:
    return [
        click.Option([_flag(key), key], multiple=True, metavar=row.flag.metavar, help=f"{REQUIRE}: {row.flag.help}")
        for key, row in _rows().items()
    ]


def _options() -> list[Callable[[Any], Any]]:
    return [
        click.option("--k", type=click.IntRange(min=1), help="The k to require. Default: 1, which only measures."),
        click.option(
            "--sensitive", multiple=True, metavar="LIST", help="Sensitive columns to measure; commas between."
        ),
        click.option("--respondent", metavar="COLUMN", help="Count the distinct values of this column, not rows."),
        click.option("--reference", metavar="TABLE", help="Compare with this table's distributions, not TABLE's own."),
        click.option("--population", metavar="TABLE", help="Everybody who could be in TABLE, generalized like it."),
        click.option("--k-map", type=click.IntRange(min=1), help="Rows of the population that each class must match."),
        click.option("--delta-presence", metavar="MIN,MAX", help="Bounds of a class's share of the population."),
    ]


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _entries(key: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    return [_alpha(text) if _rows()[key].names_value else _entry(key, text) for text in texts]


def _entry(key: str, text: str) -> dict[str, Any]:
    """
    >>> _entry("l_diversity", "a=b=3,recursive,2.5")
    {'column': 'a=b', 'l': 3, 'kind': 'recursive', 'c': '2.5'}
    """
    flag = _rows()[key].flag
    column, equals, rest = text.rpartition("=")
    number, *others = rest.split(",")
    if not (column and equals and number) or len(others) > len(flag.more) or "" in others:
        raise click.UsageError(f"{_flag(key)}: {flag.metavar} is expected")
    if key == "t_closeness" and "hierarchical" in others:
        raise click.UsageError(
            f"{_flag(key)}: the hierarchical distance needs a hierarchy: say it in a spec, use --spec"
        )
    return {"column": column, flag.threshold: _number(number), **dict(zip(flag.more, others, strict=False))}


def _alpha(text: str) -> dict[str, Any]:
    """
    >>> _alpha("disease=a=b=0.4")
    {'column': 'disease', 'value': 'a=b', 'alpha': '0.4'}
    """
    column, _, rest = text.partition("=")
    value, equals, share = rest.rpartition("=")
    if not (column and equals and share):
        raise click.UsageError(f"--alpha: {_rows()['alpha'].flag.metavar} is expected")
    return {"column": column, "value": value, "alpha": _number(share)}


def _bounds(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    least, comma, greatest = text.partition(",")
    if not (least and comma and greatest):
        raise click.UsageError("--delta-presence: two shares like 0,0.5 are expected")
    return {"min": _number(least), "max": _number(greatest)}


def _number(text: str) -> int | str:
    """Whole numbers as such; the spec reads decimals from their text, exactly."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 100 else text


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
    if spec is not None:
        from sqlanon.spec import SeveralTables, load_any

        loaded = load_any(spec)
        if isinstance(loaded, SeveralTables):
            from sqlanon.cli.tables import audit_several, refuse_flags

            refuse_flags({"--recipient": recipient, "--fits": fits})
            return audit_several(settings, loaded)
    with settings.working() as options:
        if spec is not None:
            result = _of_spec(spec, recipient, options, fits=fits)
        else:
            result = _of_table(table or "", connection, column_list(qi or ""), asked, options)
    return _shown(settings, result)


def _of_guards(
    settings: Settings, path: Path, recipient: str | None, table: str | None, asked: Requirements
) -> AuditResult:
    from sqlanon.insight import use as measuring
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
