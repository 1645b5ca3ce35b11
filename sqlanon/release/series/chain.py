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
    """The same text as an expression; NULL where a part is."""
    texts: list[exp.Expression | str] = []
    for part in parts:
        text = cast(part, "text")
        texts += [cast(exp.Length(this=text.copy()), "text"), ":", text]
    return concat(*texts)


def source_of(spec: Spec) -> str:
    """What a ledger calls the source of a spec: the parts of a table's name, or all that says what else is read."""
    written = spec.model_dump(mode="json", include={"source"})["source"]
    parts = getattr(spec.source, "parts", None)
    return json.dumps(written if parts is None else list(parts), sort_keys=True)


def requirement_of(spec: Spec) -> str:
    """What a ledger calls the requirement of a spec."""
    return json.dumps(requirement_from(spec).describe(), sort_keys=True)


def _in_buckets(table: Table, bucket: exp.Expression, names: Sequence[str], keyed: KeyedHash) -> exp.Expression:
    """The rows of a ledger's table as a text of their number, and a keyed hash of each of their buckets.

    In buckets, no text is longer than a database holds. The first column is a key, which gives them their order.
    """
    key = column("key")
    order = exp.Collate(this=key, expression=exp.to_identifier("C", quoted=True))
    parts: list[exp.Expression | str] = []
    for name in names:
        parts += [cast(column(name), "text"), ":"]
    rows = exp.select(named(bucket, "bucket"), named(cast(column(names[0]), "text"), "key"), named(concat(*parts), "t"))
    ordered = exp.Order(this=column("t"), expressions=[exp.Ordered(this=order)])
    listed = exp.GroupConcat(this=ordered, separator=literal(","))
    buckets = exp.select(column("bucket"), named(listed, "listed"))
    buckets = buckets.from_(subquery(rows.from_(table_expression(table)), "r")).group_by(column("bucket"))
    hashed = exp.select(column("bucket"), named(keyed.of_text(column("listed")), "h")).from_(subquery(buckets, "b"))
    each = concat(cast(column("bucket"), "text"), ":", column("h"))
    in_order = exp.Order(this=each, expressions=[exp.Ordered(this=column("bucket"))])
    together = exp.GroupConcat(this=in_order, separator=literal(","))
    found = exp.select(exp.Coalesce(this=together, expressions=[literal("")])).from_(subquery(hashed, "h"))
    return exp.Subquery(this=found)


def state(people: Table, tracks: Table, keyed: KeyedHash) -> exp.Expression:
    """A digest of all that the people and the tracks of a ledger are."""
    start = cast(exp.Anonymous(this="ASCII", expressions=[column("person")]), "bigint")
    part = exp.Paren(this=exp.Mod(this=column("track"), expression=literal(64)))
    found = [_in_buckets(people, start, PEOPLE, keyed), _in_buckets(tracks, part, TRACKS, keyed)]
    return keyed.of_text(joined_in_sql(found))


def event_digest(before: exp.Expression, keyed: KeyedHash, table: str) -> exp.Expression:
    """The digest of an event of alias `table`, by the digest before it."""
    return keyed.of_text(joined_in_sql([before, *(column(name, table) for name in CHAINED)]))


def unchained(releases: Table, keyed: KeyedHash) -> exp.Select:
    """How many events of a ledger are not what was written after the event before."""
    before = exp.Coalesce(this=column("before", "e"), expressions=[literal("")])
    return query(
        "select count(*) as n from (select r.*, lag(r.digest) over (order by r.release) as before,"
        " row_number() over (order by r.release) as place from releases as r) as e"
        " where e.release <> e.place or e.digest <> :digest",
        {"releases": releases},
        digest=event_digest(before, keyed, "e"),
    )
