"""The text of a dbt model from the query of a release: tables become references, and nothing else is Jinja.

Pure, given the engine's dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from sqlanon.dbt.manifest import MATERIALIZATION
from sqlanon.sql.relations import Table, identifier
from sqlanon.sql.traits import Traits

MARK = "-- Written by `sqlanon dbt`."


def model_text(
    query: exp.Select, levels: Mapping[str, int], reference: Callable[[Table], str | None], traits: Traits
) -> str:
    """The file of a model: what it is, its config, the query.

    `reference` says how dbt refers to a table; None leaves the table its name.
    """
    chosen = ", ".join(f"{name} at level {level}" for name, level in levels.items())
    heading = f"{MARK} To change it, change the model's meta.sqlanon and run the command again."
    config = f"{{{{ config(materialized='{MATERIALIZATION}') }}}}"
    generalization = f"-- Generalization: {_harmless(' '.join(chosen.split()))}."
    return f"{heading}\n{generalization}\n{config}\n\n{_with_references(query, reference, traits)}\n"


def _with_references(query: exp.Select, reference: Callable[[Table], str | None], traits: Traits) -> str:
    found: dict[str, str] = {}
    for table in list(query.find_all(exp.Table)):
        jinja = reference(Table(tuple(part.name for part in table.parts)))
        if jinja is not None:
            place = identifier(f"sqlanon reference {len(found)}")
            found[traits.render(place)] = jinja
            table.replace(exp.Table(this=place, alias=table.args.get("alias")))
    text = _harmless(traits.render(query, pretty=True))
    for written, jinja in found.items():
        text = text.replace(written, jinja)
    return text


def _harmless(text: str) -> str:
    """Text in which dbt finds no Jinja.

    >>> _harmless("a {{ b }}")
    "a {{ '{{' }} b }}"
    """
    parts = text.split("{{")
    return "{{ '{{' }}".join(part.replace("{%", "{{ '{%' }}").replace("{#", "{{ '{#' }}") for part in parts)
