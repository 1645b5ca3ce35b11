"""The ledger of a series in a dbt model: the statements that the materialization runs around the release's own query.

Statements of the scripts that keep a ledger, for the tables of a project: names of tables and texts of a build are
Jinja, and stand in the statements as marks until they are written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sqlanon.dbt.model_file import harmless
from sqlanon.engines.base import ColumnInfo
from sqlanon.engines.ledgers import LEDGER_DIALECTS
from sqlanon.engines.scripting import Scripting
from sqlanon.errors import UsageError
from sqlanon.release.script.ledger import LedgerPages, LedgerTexts, bound
from sqlanon.release.script.pages import Pages
from sqlanon.source.binding import Binding
from sqlanon.spec import Spec
from sqlanon.spec.places import variable_of
from sqlanon.sql.build import named
from sqlanon.sql.relations import Table, column, identifier, literal, table_expression
from sqlanon.sql.traits import Traits

CHAPTERS = ("make", "close", "check", "begin", "round", "open", "settle", "write", "told", "drop")
"""What the materialization runs, in this order; a round as long as there are open tracks."""

RESERVED = "DBT_ENV_SECRET"
"""Variables of the environment whose names begin so are read by dbt in its profiles alone."""


@dataclass(frozen=True)
class SeriesStatement:
    """A statement of a chapter, with the sentence that explains it."""

    chapter: str
    number: int
    comment: str
    statement: exp.Expression


@dataclass(frozen=True)
class SeriesStatements:
    """The statements of a model that keeps a ledger, and the Jinja that stands behind their marks."""

    statements: tuple[SeriesStatement, ...]
    texts: Mapping[str, str]
    """Jinja of a text by the mark that stands for it."""
    tables: Mapping[tuple[str, ...], str]
    """Jinja of a table by its name."""


def series_statements(
    binding: Binding, scripting: Scripting, built: Table, shown: Mapping[str, ColumnInfo], source: str
) -> SeriesStatements:
    """The statements that keep the ledger of a model: `built` is what dbt made of its query."""
    kept = binding.spec.ledger
    if kept is None:
        raise ValueError("no ledger is kept")
    variable = variable_of(kept.secret)
    if variable.startswith(RESERVED):
        raise UsageError(f"history.secret: dbt reads {RESERVED}... in profiles alone; take a variable of another name")
    if kept.keep is not None:
        raise UsageError(
            "history.keep: a build forgets nobody; leave it out, and run sqlanon ledger expire with a spec that has it"
        )
    texts, tables = _jinja(binding, source)
    marks = {name: literal(f"sqlanon text {name}") for name in texts}
    # A build has a session of its own for each model; what an earlier one left there is dropped.
    traits = replace(scripting.traits, temporary_scratch=True, unlogged_scratch=False)
    pages = Pages(replace(scripting, traits=traits, transactional=False), (), "dbt")
    named_tables = tuple(marks[f"table {place}"] for place in range(len(tables)))
    ledger = LedgerPages(
        pages, binding, LedgerTexts(marks["source"], marks["target"], marks["run"], marks["ledger"], named_tables)
    )
    writers: dict[str, Callable[[], None]] = {
        "make": lambda: _make(ledger),
        "close": lambda: None,
        "check": ledger.check,
        "begin": lambda: ledger.begin(built, shown),
        "round": lambda: ledger.round("A round"),
        "open": lambda: pages.add("How many people a further round has to look at.", ledger.open_tracks),
        "settle": lambda: _settle(pages, ledger, binding, built),
        "write": ledger.write,
        "told": lambda: pages.add("What the ledger says of the release.", _told(binding)),
        "drop": pages.drop_made,
    }
    for chapter in CHAPTERS:
        pages.open(chapter, "")
        writers[chapter]()
    return SeriesStatements(tuple(_numbered(pages)), texts, tables)


def _numbered(pages: Pages) -> Iterator[SeriesStatement]:
    for chapter in pages.chapters:
        number = 0
        for part in chapter.parts:
            for statement in part.statements:
                yield SeriesStatement(chapter.name, number, part.comment, statement)
                number += 1


def _make(ledger: LedgerPages) -> None:
    ledger.wait()
    ledger.make()


def _settle(pages: Pages, ledger: LedgerPages, binding: Binding, built: Table) -> None:
    """The built table is left with the rows that may be published."""
    names = [*binding.released, *binding.witnesses]
    rows = ledger.settle(names)
    into = exp.Schema(this=table_expression(built), expressions=[identifier(name) for name in names])
    kept = exp.select(*(column(name) for name in names)).from_(table_expression(rows))
    pages.add(
        "The built table without the people who are held back.",
        exp.Delete(this=table_expression(built)),
        exp.Insert(this=into, expression=kept.order_by(exp.Rand())),
    )


TOLD = ("release", "joined", "gone", "deferred", "covered", "staying", "smallest")


def _told(binding: Binding) -> exp.Select:
    releases = table_expression(bound(binding).releases)
    newest = exp.Ordered(this=column("release"), desc=True)
    return exp.select(*(named(column(name), name) for name in TOLD)).from_(releases).order_by(newest).limit(1)


def _jinja(binding: Binding, source: str) -> tuple[dict[str, str], dict[tuple[str, ...], str]]:
    """Texts of a build and tables of the ledger, by Jinja; a ledger without a schema lies beside the model."""
    history = bound(binding)
    read = source.removeprefix("{{").removesuffix("}}").strip()
    schema = _quoted(history.people.schema[-1]) if history.people.schema else "this.schema"
    texts = {
        "source": f"tojson([{read}.schema, {read}.identifier])",
        "target": "this.schema ~ '.' ~ this.identifier",
        "run": "'dbt ' ~ invocation_id",
        "ledger": f"{schema} ~ {_quoted(f'.{history.people.name}')}",
    }
    tables = {}
    for place, table in enumerate(history.tables):
        path = [f"'schema': {schema}", f"'identifier': {_quoted(table.name)}"]
        relation = f"this.incorporate(path={{{', '.join(path)}}}, type='table')"
        tables[table.parts] = f"{{{{ {relation} }}}}"
        texts[f"table {place}"] = f"{relation} | string"
    return {name: f"{{{{ sqlanon.text_literal({text}) }}}}" for name, text in texts.items()}, tables


def _quoted(text: str) -> str:
    """A text in Jinja, without what begins or ends Jinja."""
    return json.dumps(text).replace("{", "\\u007b").replace("}", "\\u007d").replace("%", "\\u0025")


def secret_given(spec: Spec, adapter: str) -> list[tuple[str, str]]:
    """How a build is given the secret of a ledger, where one is kept: a name and a text."""
    dialect = LEDGER_DIALECTS.get(adapter)
    if spec.ledger is None or dialect is None:
        return []
    return [("ledger", dialect.built.replace("{variable}", variable_of(spec.ledger.secret)))]


def stated_series(meta: Mapping[str, Any]) -> str:
    """The line by which a build knows that a model was written for what its meta asks."""
    asked = {key: meta[key] for key in ASKED if meta.get(key) is not None}
    stated = {"history": meta["history"], "asked": asked, "source": meta["source"]}
    text = json.dumps(stated, sort_keys=True, default=float)
    # Brackets within texts could be taken for Jinja.
    return f"-- Series: {text}".replace("{{", "{ {").replace("{%", "{ %").replace("{#", "{ #")


ASKED = ("k", "l_diversity", "p_sensitive")
"""The keys of the requirement that a ledger asks of tracks."""


def written_statements(series: SeriesStatements, render: Callable[[exp.Expression], str], traits: Traits) -> str:
    """The blocks of a model; `render` writes a statement whose tables are Jinja."""
    blocks = []
    for place in range(len(series.tables)):
        name = series.texts[f"table {place}"].removeprefix("{{ sqlanon.text_literal(").removesuffix(" | string) }}")
        closed = f"{{{{ sqlanon.owner_only({name}) }}}}"
        comment = "Nobody but the owner of the ledger sees it, whatever the schema grants."
        blocks.append(f"\n{{% set series_close_{place} -%}}\n-- {comment}\n{closed}\n{{%- endset %}}\n")
    for item in series.statements:
        text = render(item.statement)
        for name, jinja in series.texts.items():
            text = text.replace(traits.render(literal(f"sqlanon text {name}")), jinja)
        name = f"series_{item.chapter}_{item.number}"
        blocks.append(f"\n{{% set {name} -%}}\n-- {harmless(item.comment)}\n{text}\n{{%- endset %}}\n")
    return "".join(blocks)
