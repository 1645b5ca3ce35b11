"""What the digests of a ledger are made of, alike in Python and in SQL: its state, its events, its contract.

Each digest is keyed by the secret of the ledger. Parts are joined with their lengths, so that no text reads like two.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlglot import exp

from sqlanon.evaluation.requirements import requirement_from
from sqlanon.release.series.statements import NUMBERS, PEOPLE, TEXTS, TRACKS
from sqlanon.source.keyed_hash import KeyedHash
from sqlanon.spec import Spec
from sqlanon.sql.build import concat, named, query, subquery
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

MARK = "sqlanon ledger"
"""What the mark of the secret is a digest of: another secret is told from an edit by it."""

CHAINED = [name for name in (*NUMBERS, *TEXTS) if name != "digest"]
"""What the digest of an event is made of, behind the digest of the event before."""


def joined(parts: Sequence[str | int]) -> str:
    """Several values as one text.

    >>> joined(["", 12, "a:b"])
    '0:2:123:a:b'
    """
    return "".join(f"{len(str(part))}:{part}" for part in parts)


def joined_in_sql(parts: Sequence[exp.Expression]) -> exp.Expression:
    """The same text as an expression. NULL reads like no text."""
    texts = [cast(part, "text") for part in parts]
    known = [concat(cast(exp.Length(this=text.copy()), "text"), ":", text) for text in texts]
    return concat(*(exp.Coalesce(this=text, expressions=[literal("-")]) for text in known))


def source_of(spec: Spec) -> str:
    """What a ledger calls the source of a spec: the parts of a table's name, or all that says what else is read."""
    written = spec.model_dump(mode="json", include={"source"})["source"]
    parts = getattr(spec.source, "parts", None)
    return json.dumps(written if parts is None else list(parts), sort_keys=True)


def requirement_of(spec: Spec) -> str:
    """What a ledger calls the requirement of a spec."""
    return json.dumps(requirement_from(spec).describe(), sort_keys=True)


def _in_buckets(table: Table, bucket: exp.Expression, names: Sequence[str], keyed: KeyedHash) -> exp.Select:
    """The rows of a ledger's table as the text `whole`: the number of each of their buckets, and its keyed hash.

    In buckets, no text is longer than a database holds. Rows stand in the order of their texts, byte by byte.
    """
    text = exp.Collate(this=column("t"), expression=exp.to_identifier("C", quoted=True))
    known = exp.Coalesce(this=bucket, expressions=[literal(-1)])
    rows = exp.select(named(known, "bucket"), named(joined_in_sql([column(name) for name in names]), "t"))
    buckets = exp.select(column("bucket"), named(keyed.traits.joined_in_order(text), "listed"))
    buckets = buckets.from_(subquery(rows.from_(table_expression(table)), "r")).group_by(column("bucket"))
    hashed = exp.select(column("bucket"), named(keyed.of_text(column("listed")), "h")).from_(subquery(buckets, "b"))
    each = concat(cast(column("bucket"), "text"), ":", column("h"))
    in_order = exp.Order(this=each, expressions=[exp.Ordered(this=column("bucket"))])
    together = exp.GroupConcat(this=in_order, separator=literal(","))
    whole = exp.Coalesce(this=together, expressions=[literal("")])
    return exp.select(named(whole, "whole")).from_(subquery(hashed, "h"))


def state(people: Table, tracks: Table, keyed: KeyedHash) -> exp.Expression:
    """A digest of all that the people and the tracks of a ledger are.

    Their texts are columns of a join: a subquery that an expression names twice would be computed twice.
    """
    start = cast(exp.Anonymous(this="ASCII", expressions=[column("person")]), "bigint")
    part = exp.Paren(this=exp.Mod(this=column("track"), expression=literal(64)))
    digest = query(
        "select :digest as digest from people as p cross join tracks as t",
        {"people": _in_buckets(people, start, PEOPLE, keyed), "tracks": _in_buckets(tracks, part, TRACKS, keyed)},
        digest=keyed.of_text(joined_in_sql([column("whole", "p"), column("whole", "t")])),
    )
    return exp.Subquery(this=digest)


def event_digest(before: exp.Expression, keyed: KeyedHash, table: str) -> exp.Expression:
    """The digest of an event of alias `table`, by the digest before it."""
    return keyed.of_text(joined_in_sql([before, *(column(name, table) for name in CHAINED)]))


def unchained(releases: Table, keyed: KeyedHash) -> exp.Select:
    """How many events of a ledger are not what was written after the event before."""
    before = exp.Coalesce(this=column("before", "e"), expressions=[literal("")])
    return query(
        "select count(*) as n from (select r.*, lag(r.digest) over (order by r.release) as before,"
        " row_number() over (order by r.release) as place from releases as r) as e"
        " where e.release is distinct from e.place or e.digest is distinct from :digest",
        {"releases": releases},
        digest=event_digest(before, keyed, "e"),
    )
