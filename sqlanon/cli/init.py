"""`sqlanon init`: draft a spec from a table.

Reads the catalog and aggregates; writes one YAML file, and a csv file for each hierarchy that lists values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlanon.cli.files import LONGEST_NAME, csv_text, is_spec, listing_files, require_writable, write_text
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.draft.drafting import Draft, Places
    from sqlanon.draft.rules import Guess
    from sqlanon.engines.base import Engine
    from sqlanon.sql.relations import File, Relation, Table

STDOUT = Path("-")
NAMES = ("safe-harbor", "gdpr-research", "statbank")
"""The presets of `draft.presets`, which is imported when it is needed."""
PASSWORD = "SQLANON_PASSWORD"


@click.command("init", short_help="Draft a commented spec from a table or file.")
@click.argument("table", metavar="TABLE|FILE")
@click.option("--connection", help="Database URL; ${NAME} expands. Default: DuckDB in memory, for files.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, allow_dash=True),
    default=Path("spec.yaml"),
    show_default=True,
    help="The spec to write; - prints it.",
)
@click.option("--target", help="The name of the release. Default: the source's name with _release.")
@click.option("--k", type=click.IntRange(min=1), default=5, show_default=True, help="The k to ask for.")
@click.option("--preset", type=click.Choice(NAMES), help="Draft by the clauses of a law or a practice.")
@click.option(
    "--dbt",
    "project",
    type=click.Path(path_type=Path, file_okay=False),
    help="A dbt project whose manifest states roles of the table's columns, as meta.sqlanon.role.",
)
@click.option("--interactive", is_flag=True, help="Talk every guess over on this terminal before it is written.")
@click.option("--no-values", is_flag=True, help="Look at no values, and write no csv files of hierarchies.")
@click.option("--force", is_flag=True, help="Replace a spec that exists.")
@flags()
def command(
    settings: Settings,
    table: str,
    connection: str | None,
    out: Path,
    target: str | None,
    k: int,
    preset: str | None,
    project: Path | None,
    interactive: bool,
    no_values: bool,
    force: bool,
) -> None:
    """Draft a spec for TABLE or FILE: guess the role of every column from its name, type, distinctness and the shapes
    of its values, propose a hierarchy for each quasi-identifier, and give the reason for each guess.

    Texts are grouped by what sqlanon knows (countries, states, education, occupations, diagnoses ...), else by what
    they occur with or how often: a csv file beside the draft lists the values and their groups, for its owner alone to
    read. With --preset each line names the clause of a law or a practice that it answers; that claims no compliance.
    With --no-values, and for a draft that is printed, only counts, lengths and ranges are read. A password in the
    URL is not written down: the draft reads it from the environment.
    """
    from sqlanon.auditor.place import open_place
    from sqlanon.cli.conversation import Conversation, require_terminal
    from sqlanon.draft.drafting import LIMIT, draft_spec, proposal_for
    from sqlanon.draft.editing import yaml_value
    from sqlanon.draft.presets import with_preset
    from sqlanon.draft.values import ValueQuestions
    from sqlanon.source.reads import Read, refuse_file

    if interactive:
        if preset is not None:
            raise click.UsageError("--interactive asks what --preset answers: take one of them")
        if settings.as_json or no_values or out == STDOUT:
            raise click.UsageError("--interactive goes with none of --json, --no-values and --out -")
        require_terminal()
    limit = LIMIT
    if out != STDOUT:
        require_writable(out)
        if out.exists() and not force:
            raise UsageError(f"{out}: exists already; --force replaces a spec, --out names another file")
    with settings.working(quiet=interactive) as options, open_place(table, connection, options) as (engine, relation):
        if out != STDOUT:
            refuse_file(engine, [Read("source", relation)], out)
            if out.exists() and not is_spec(out):
                raise UsageError(f"{out}: exists and is no spec, which --force would replace; name another file")
        stated = {} if project is None else _stated(project, relation)
        draft = draft_spec(engine, relation, look_at_values=out != STDOUT and not no_values, stated=stated)
        if preset is not None:
            draft = with_preset(draft, preset, datetime.now(UTC).date())
        if interactive:
            values = ValueQuestions(engine, relation, [column.profile for column in draft.columns])
            here = _places(engine, relation, None, target, STDOUT)
            conversation = Conversation(lambda drafted: drafted.text(here, k), connection, options)
            agreed = conversation.talk(draft, k, lambda column: proposal_for(engine, column.profile, values))
            draft, k, limit = agreed.draft, agreed.k, agreed.limit
        files = {} if out == STDOUT else listing_files(draft.listings, out)
        for path in files.values():
            require_writable(path)
            refuse_file(engine, [Read("source", relation)], path)
        draft = draft.with_files({name: yaml_value(path.name) for name, path in files.items()})
        text = draft.text(_places(engine, relation, connection, target, out), k, limit)
    for name, path in files.items():
        write_text(path, csv_text(draft.listings[name].rows), private=True)
    if out != STDOUT:
        write_text(out, text)
    if settings.as_json:
        columns = {column.profile.name: column.to_dict() for column in draft.columns}
        settings.emit(
            {
                "spec": None if out == STDOUT else str(out),
                "rows": draft.rows,
                "respondent": draft.respondent,
                "hierarchies": {name: str(path) for name, path in files.items()},
                "columns": columns,
                "yaml": text,
            }
        )
    elif out == STDOUT:
        click.echo(text, nl=False)
    else:
        _show(settings, draft, out, list(files.values()))
    if PASSWORD in text:
        settings.note(f"the password is not in the draft: set {PASSWORD} before you use it")


def _stated(folder: Path, relation: Relation) -> dict[str, Guess]:
    """The roles that a dbt project states of a table's columns."""
    from sqlanon.dbt.manifest import read_manifest
    from sqlanon.dbt.project import Project
    from sqlanon.draft.rules import known_role
    from sqlanon.sql.relations import Table

    if not isinstance(relation, Table):
        raise UsageError("--dbt: a project says nothing of files; name a table")
    manifest = read_manifest(Project.at(folder).manifest_path)
    roles = manifest.roles(relation.name, relation.schema[-1] if relation.schema else None)
    return {name: known_role(name, role, "the dbt project") for name, role in roles.items()}


def _places(engine: Engine, relation: Relation, connection: str | None, target: str | None, out: Path) -> Places:
    """What the draft reads and writes, told from where it will lie."""
    from sqlanon.draft.drafting import Places
    from sqlanon.draft.editing import yaml_value
    from sqlanon.engines.base import Capability

    folder = Path() if out == STDOUT else out.parent
    named = yaml_value(target) if target is not None else _place(_target(engine, relation), folder)
    server = Capability.SERVER in engine.capabilities
    url = None if connection is None else connection_text(connection, folder, server=server)
    return Places(_place(relation, folder), named, url)


def _place(relation: Relation, folder: Path) -> str:
    """A source or target as the spec writes it: paths relative to its folder."""
    from sqlanon.draft.editing import yaml_value
    from sqlanon.hierarchies.definition import join_name
    from sqlanon.spec.places import is_path
    from sqlanon.sql.relations import File, Table

    match relation:
        case File(path=path):
            if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path):
                return yaml_value(path)
            return yaml_value(Path(os.path.relpath(path, folder)).as_posix() + ("/" if relation.ending else ""))
        case Table(parts=parts):
            name = join_name(parts)
            looks_like_path = is_path(name)
            return f"{{table: {yaml_value(name)}}}" if looks_like_path else yaml_value(name)
        case _:
            raise UsageError("name a table, a view or a file")


def _target(engine: Engine, relation: Relation) -> Table | File:
    """A name beside the source that nothing has yet."""
    from sqlanon.sql.relations import File, FileFormat, Table

    for ending in ("_release", *(f"_release_{number}" for number in range(2, 100))):
        match relation:
            case File(path=path):
                place, form = _beside(path), relation.format
                written: FileFormat = form if form in ("csv", "tsv", "parquet") else "csv"
                if has_magic(path):
                    # A csv file beside csv files would be read with them the next time.
                    written = "csv" if form == "parquet" else "parquet"
                beside = place.with_name(f"{place.name}{ending}.{written}")
                if not beside.exists():
                    return File(str(beside), written)
            case Table():
                table = relation.beside(_shortened(relation.name) + ending)
                if engine.relation_kind(table) is None:
                    return table
    raise UsageError("--target is missing: all default names exist already")


def _beside(path: str) -> Path:
    """Where a release of a file, a pattern or a folder is proposed, and its name without an ending.

    >>> [_beside(path).as_posix() for path in ("data/visits.csv.gz", "data/2024/*.csv", "data/visits/")]
    ['data/visits', 'data/2024/all', 'data/visits']
    """
    place = Path(path if "://" not in path else path.rstrip("/").rpartition("/")[2])
    while has_magic(str(place)):
        parent = place.parent
        place = parent if has_magic(str(parent)) else parent / "all"
    return place.with_name(
        re.sub(r"(?i)(.)\.(csv|tsv|json|jsonl|ndjson|parquet|xlsx)(\.gz|\.zst)?$", r"\1", place.name)
    )


def _shortened(name: str) -> str:
    return name.encode()[:LONGEST_NAME].decode(errors="ignore")


def connection_text(url: str, folder: Path, *, server: bool) -> str:
    """The URL as the spec writes it: its password replaced by a variable, a file relative to the spec."""
    from sqlanon.draft.editing import yaml_text
    from sqlanon.spec.places import HIDDEN, Secret

    embedded = re.fullmatch(r"([^:/]+:///)([^/:].*)", url)
    if embedded and not server:
        return yaml_text(embedded[1] + Path(os.path.relpath(embedded[2], folder)).as_posix())
    # An empty password is none; one that is a variable already stays that variable.
    plain = re.sub(r"^([^:/]+://[^:@/]*):@", r"\1@", url)
    variable = re.search(r"[:=](\$\{\w+\})(?:@|&|$)", plain)
    return yaml_text(str(Secret(plain)).replace(HIDDEN, variable[1] if variable else f"${{{PASSWORD}}}"))


def _show(settings: Settings, draft: Draft, out: Path, files: Sequence[Path]) -> None:
    from sqlanon.cli.console import facts, grid

    rows = [
        (column.profile.name, column.guess.role, ("review: " if column.guess.review else "") + column.guess.reason)
        for column in draft.columns
    ]
    settings.console.print(grid(("column", "role", "because"), rows))
    settings.console.print()
    persons = (
        [] if draft.respondent is None else [("persons", f"told apart by {draft.respondent}: it has several rows")]
    )
    groups = [("groups", f"{path}: review each line; it holds values, and only you can read it") for path in files]
    following = ("next", f"read it, then: sqlanon check {out}")
    settings.console.print(facts([*persons, ("drafted", str(out)), *groups, following]))
