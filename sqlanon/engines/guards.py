"""What a warehouse itself can do beside a release: comments, grants, and its own rules for the source, by dialect.

Statements for somebody who may grant and alter; no engine runs them. Only names, texts and numbers come from outside,
and sqlglot writes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sql.relations import Table, identifier, literal, table_expression
from sqlanon.sql.traits import Traits

Words = tuple[str | exp.Expr, ...]
"""A statement that sqlglot has no tree for, word by word."""


@dataclass(frozen=True)
class GuardedRelease:
    """A release and its source, as far as a warehouse can guard them."""

    target: Table
    as_view: bool
    about: str
    """What the release is, in a sentence."""
    columns: Mapping[str, str]
    """What each released column is."""
    source: Table | None
    """None where it is a file or a query."""
    identifiers: tuple[str, ...]
    """Columns of the source that readers of the release must not see."""
    k: int
    respondent: str | None
    readers: str
    """The role that may read the release."""

    @property
    def relation(self) -> exp.Expr:
        return table_expression(self.target)

    @property
    def kind(self) -> str:
        return "VIEW" if self.as_view else "TABLE"


@dataclass(frozen=True)
class Guard:
    """Statements with the sentence that explains them."""

    sentence: str
    statements: tuple[str, ...]


Part = tuple[str, list[Words]]


def guards(asked: GuardedRelease, traits: Traits) -> list[Guard]:
    """What the dialect has, in the order in which it is run."""
    parts = [(_COMMENTS_SAY, _COMMENTS.get(traits.dialect, _comment_on)(asked))]
    for writer in _GUARDS.get(traits.dialect, (_granted,)):
        parts += writer(asked)
    return [Guard(sentence, tuple(_written(words, traits) for words in told)) for sentence, told in parts if told]


def _written(words: Words, traits: Traits) -> str:
    text = ""
    for word in words:
        # Names and texts stay to the letter: only between words is a blank left out.
        glued = not text or text.endswith("(") or word == ")"
        text += ("" if glued else " ") + (word if isinstance(word, str) else traits.render(word))
    return text + ";"


# -- comments ----------------------------------------------------------------------------------------------------------

_COMMENTS_SAY = "What the release is, and the role and level of each column, for whoever looks at the catalog."


def _comment_on(asked: GuardedRelease) -> list[Words]:
    told: list[Words] = [("COMMENT ON", asked.kind, asked.relation, "IS", literal(asked.about))]
    for name, text in asked.columns.items():
        column = exp.Dot(this=asked.relation, expression=identifier(name))
        told.append(("COMMENT ON COLUMN", column, "IS", literal(text)))
    return told


def _altered_columns(asked: GuardedRelease) -> list[Words]:
    """Spark and Databricks; columns of a view have the comments that they were made with."""
    told: list[Words] = [("COMMENT ON TABLE", asked.relation, "IS", literal(asked.about))]
    for name, text in {} if asked.as_view else asked.columns.items():
        told.append(("ALTER TABLE", asked.relation, "ALTER COLUMN", identifier(name), "COMMENT", literal(text)))
    return told


def _options(asked: GuardedRelease) -> list[Words]:
    """BigQuery."""
    altered = ("ALTER", asked.kind, asked.relation)
    told: list[Words] = [(*altered, "SET OPTIONS (description =", literal(asked.about), ")")]
    for name, text in asked.columns.items():
        told.append((*altered, "ALTER COLUMN", identifier(name), "SET OPTIONS (description =", literal(text), ")"))
    return told


def _modified(asked: GuardedRelease) -> list[Words]:
    """ClickHouse."""
    told: list[Words] = [("ALTER TABLE", asked.relation, "MODIFY COMMENT", literal(asked.about))]
    for name, text in {} if asked.as_view else asked.columns.items():
        told.append(("ALTER TABLE", asked.relation, "COMMENT COLUMN", identifier(name), literal(text)))
    return told


# -- grants and rules --------------------------------------------------------------------------------------------------


def _granted(asked: GuardedRelease) -> Iterator[Part]:
    yield (
        "The readers may read the release, and nobody else may by default.",
        [
            ("REVOKE ALL ON", asked.relation, "FROM PUBLIC"),
            ("GRANT SELECT ON", asked.relation, "TO", identifier(asked.readers)),
        ],
    )


def _granted_to(*words: str) -> Callable[[GuardedRelease], Iterator[Part]]:
    """Where nobody may read a table unless somebody lets them."""

    def granted(asked: GuardedRelease) -> Iterator[Part]:
        told: Words = ("GRANT SELECT ON", asked.relation, *words, identifier(asked.readers))
        yield "The readers may read the release.", [told]

    return granted


def _granted_by_option(asked: GuardedRelease) -> Iterator[Part]:
    """BigQuery: readers are groups of people."""
    told: Words = ("GRANT `roles/bigquery.dataViewer` ON", asked.kind, asked.relation, "TO", literal(asked.readers))
    yield "The readers may read the release.", [told]


def _nothing(asked: GuardedRelease) -> Iterator[Part]:
    """DuckDB has no roles: who may read its file may read all."""
    return iter(())


def _labelled(asked: GuardedRelease) -> Iterator[Part]:
    """PostgreSQL, where the extension anon masks by security labels."""
    if asked.source is not None:
        told: list[Words] = []
        for name in asked.identifiers:
            column = exp.Dot(this=table_expression(asked.source), expression=identifier(name))
            told.append(("SECURITY LABEL FOR anon ON COLUMN", column, "IS", literal("MASKED WITH VALUE NULL")))
        if told:
            masked: Words = ("SECURITY LABEL FOR anon ON ROLE", identifier(asked.readers), "IS", literal("MASKED"))
            yield "Where the extension anon is loaded: readers who reach the source see no identifier.", [masked, *told]


def _constrained(asked: GuardedRelease) -> Iterator[Part]:
    """Snowflake: who reads the source in the role of the readers aggregates, and never shows an identifier."""
    if asked.source is None:
        return
    source = table_expression(asked.source)
    among = exp.Anonymous(this="IS_ROLE_IN_SESSION", expressions=[literal(asked.readers)])
    at_least, never = (table_expression(asked.source.beside(name)) for name in _POLICIES)
    smallest: Words = ("AGGREGATION_CONSTRAINT(MIN_GROUP_SIZE =>", literal(asked.k), ")")
    entity: Words = () if asked.respondent is None else ("ENTITY KEY (", identifier(asked.respondent), ")")
    body: Words = ("CASE WHEN", among, "THEN", *smallest, "ELSE NO_AGGREGATION_CONSTRAINT() END")
    yield (
        "Readers who reach the source itself see groups of at least k only.",
        [
            ("CREATE OR REPLACE AGGREGATION POLICY", at_least, "AS () RETURNS AGGREGATION_CONSTRAINT ->", *body),
            ("ALTER TABLE", source, "SET AGGREGATION POLICY", at_least, *entity, "FORCE"),
        ],
    )
    if asked.identifiers:
        shown = "THEN PROJECTION_CONSTRAINT(ALLOW => FALSE) ELSE PROJECTION_CONSTRAINT(ALLOW => TRUE) END"
        made: Words = ("CREATE OR REPLACE PROJECTION POLICY", never, "AS () RETURNS PROJECTION_CONSTRAINT ->")
        altered: list[Words] = [
            ("ALTER TABLE", source, "MODIFY COLUMN", identifier(name), "SET PROJECTION POLICY", never, "FORCE")
            for name in asked.identifiers
        ]
        yield "And they never see an identifier.", [(*made, "CASE WHEN", among, shown), *altered]


_POLICIES = ("sqlanon_at_least_k", "sqlanon_never_shown")


def _aggregated(asked: GuardedRelease) -> Iterator[Part]:
    """BigQuery: a view of the source whose every answer is about at least k persons."""
    if asked.source is None or asked.respondent is None:
        return
    policy = {"aggregation_threshold_policy": {"threshold": asked.k, "privacy_unit_column": asked.respondent}}
    view = table_expression(asked.source.beside(f"{asked.source.name}_in_groups"))
    hidden = [name for name in asked.identifiers if name != asked.respondent]
    star = exp.Star(except_=[identifier(name) for name in hidden] or None)
    query = exp.select(star).from_(table_expression(asked.source), copy=False)
    options: Words = ("OPTIONS (privacy_policy =", literal(json.dumps(policy)), ")")
    told: Words = ("CREATE OR REPLACE VIEW", view, *options, "AS", query)
    yield (
        "For questions that the release does not answer: a view that tells of groups of at least k persons only.",
        [told],
    )


_COMMENTS: Mapping[str, Callable[[GuardedRelease], list[Words]]] = {
    "spark": _altered_columns,
    "databricks": _altered_columns,
    "bigquery": _options,
    "clickhouse": _modified,
}
"""Where comments are not written by COMMENT ON."""

_GUARDS: Mapping[str, tuple[Callable[[GuardedRelease], Iterator[Part]], ...]] = {
    "duckdb": (_nothing,),
    "sqlite": (_nothing,),
    "spark": (_nothing,),
    "postgres": (_granted, _labelled),
    "snowflake": (_granted_to("TO ROLE"), _constrained),
    "bigquery": (_granted_by_option, _aggregated),
    "databricks": (_granted_to("TO"),),
    "trino": (_granted_to("TO ROLE"),),
    "clickhouse": (_granted_to("TO"),),
}
"""Grants and rules of the dialects that differ from REVOKE and GRANT."""
