"""Persons as keyed hashes: HMAC-SHA-256 computed in the database, the same on every engine.

The secret comes from the environment. Python makes the two padded keys of RFC 2104 from it; they reach the database as
bound parameters, into a scratch table that its owner alone can read, and no statement, log, lock or message holds them.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.expressions import DType

from sqlanon.engines.base import ColumnInfo, Engine
from sqlanon.engines.ledgers import LedgerDialect
from sqlanon.errors import SpecError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec
from sqlanon.spec.places import variable_of
from sqlanon.sql.build import expression, query, scalar
from sqlanon.sql.relations import File, Relation, Table, column, literal, table_expression
from sqlanon.sql.traits import Traits

BLOCK = hashlib.sha256().block_size
LEAST_BYTES = 16
"""A shorter secret could be found by trying."""


class HashSecret:
    """The key of a keyed hash. Printing shows nothing of it."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "HashSecret(***)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")

    def for_purpose(self, purpose: str) -> HashSecret:
        """Another key, made from this one for a purpose: hashes of two purposes say nothing of each other."""
        return HashSecret(self.digest(f"sqlanon {purpose}").encode())

    def digest(self, message: str) -> str:
        """HMAC-SHA-256 of a text that is no data: a name, a chained digest."""
        return hmac.new(self._key, message.encode(), hashlib.sha256).hexdigest()

    def padded_keys(self) -> tuple[str, str]:
        """The inner and the outer key of RFC 2104, in hexadecimal digits."""
        key = hashlib.sha256(self._key).digest() if len(self._key) > BLOCK else self._key
        padded = key.ljust(BLOCK, b"\0")
        inner, outer = (bytes(byte ^ mark for byte in padded) for mark in (0x36, 0x5C))
        return inner.hex(), outer.hex()


def secret_of(path: str, written: str) -> HashSecret:
    """The secret that a spec names as `${NAME}` at a key; UsageError where the environment has none, or a short one."""
    name = variable_of(written)
    found = os.environ.get(name, "").encode("utf-8", "surrogateescape")
    if not found:
        raise UsageError(
            f"{path}: environment variable {name} is not set; it holds the secret, at least {LEAST_BYTES} bytes"
        )
    if len(found) < LEAST_BYTES:
        raise UsageError(
            f"{path}: the secret in environment variable {name} is shorter than {LEAST_BYTES} bytes; "
            f"make one, for example by openssl rand -hex 32"
        )
    return HashSecret(found)


def with_margin(spec: Spec, source: Relation, target: Table | File) -> tuple[Spec, int]:
    """The spec with the k that its margin makes of it, once; and how much greater it could have become."""
    margin, asked, k = spec.privacy.margin, spec.privacy.adversary, spec.privacy.k
    if margin is None or asked is None or k is None:
        return spec, 0
    secret = secret_of("privacy.adversary.margin.secret", margin.secret).for_purpose(f"margin of {source} for {target}")
    more = int(secret.digest("k"), 16) % (margin.most + 1)
    update = {"k": k + more, "adversary": asked.model_copy(update={"margin": None})}
    return spec.model_copy(update={"privacy": spec.privacy.model_copy(update=update)}), margin.most - more


@dataclass(frozen=True)
class KeyedHash:
    """A secret as the database has it: the private table of its padded keys."""

    table: Table
    traits: Traits

    @classmethod
    def stored(cls, engine: Engine, scratch: Scratch, secret: HashSecret, name: str = "key") -> KeyedHash:
        """Put the padded keys into a scratch table, which is dropped with the others of the run."""
        require_keyed_hash(engine)
        table = scratch.create_text("keyed hash", name, ["inner_key", "outer_key"])
        engine.load("keyed hash", table, ["inner_key", "outer_key"], [secret.padded_keys()])
        return cls(table, engine.traits)

    def of(self, value: exp.Expression, info: ColumnInfo) -> exp.Expression:
        """The keyed hash of a column's value, in 64 hexadecimal digits; NULL of NULL."""
        return self.of_text(canonical_text(value, info, self.traits))

    def of_text(self, text: exp.Expression) -> exp.Expression:
        """The keyed hash of a text."""
        inner, outer = (
            scalar(exp.select(column(name)).from_(table_expression(self.table))) for name in ("inner_key", "outer_key")
        )
        hashed = self.traits.keyed_hash(text, inner, outer)
        if hashed is None:
            raise ValueError(f"{self.traits.dialect} has no keyed hash")
        return hashed


_DIGITS = "0123456789abcdef"


def keys_of_session(dialect: LedgerDialect, traits: Traits, purpose: str) -> exp.Select:
    """What `KeyedHash.stored` loads, made in the database from the secret of its session; NULL where that has none.

    The secret is in no statement: a script asks its session for it.
    """
    secret = dialect.expression(dialect.secret)
    text = column("text", "given")
    digits, hashed = (dialect.expression(item, text=text.copy()) for item in (dialect.digits, dialect.hashed))
    key = query(
        "select rpad(case when length(:digits) > :width then :hashed else :digits end, :width, '0') as digits"
        " from (select :secret as text) as given",
        secret=secret,
        digits=digits,
        hashed=hashed,
        width=2 * BLOCK,
    )
    inner, outer = column("inner_key", "padded"), column("outer_key", "padded")
    derived = traits.keyed_hash(literal(f"sqlanon {purpose}"), inner, outer)
    if derived is None:
        raise ValueError(f"{traits.dialect} has no keyed hash")
    of_derived = dialect.expression(dialect.digits, text=column("text", "derived"))
    own = query(
        "select :digits as digits from (select :derived as text from padded) as derived",
        {"padded": _padded(key)},
        digits=of_derived,
        derived=derived,
    )
    return _padded(own)


def enough_secret(dialect: LedgerDialect) -> exp.Select:
    """Whether the session has a secret that is long enough."""
    digits = dialect.expression(dialect.digits, text=dialect.expression(dialect.secret))
    return query("select coalesce(length(:digits), 0) >= :least", digits=digits, least=2 * LEAST_BYTES)


def _padded(key: exp.Select) -> exp.Select:
    """The inner and the outer key of RFC 2104 of the one row of a query that has `digits`, those of a whole block."""
    parts = []
    for mark in (0x36, 0x5C):
        halves = [
            expression(
                "substring(:other, cast(strpos(:digits, substring(k.digits, 2 * p.place + :half, 1)) as int), 1)",
                # Each digit, with the bits of the mark turned over.
                other="".join(_DIGITS[digit ^ half] for digit in range(16)),
                digits=_DIGITS,
                half=place,
            )
            for place, half in ((1, mark >> 4), (2, mark & 15))
        ]
        byte = exp.DPipe(this=halves[0], expression=halves[1], safe=True)
        order = exp.Order(this=byte, expressions=[exp.Ordered(this=column("place", "p"))])
        parts.append(exp.GroupConcat(this=order, separator=literal("")))
    return query(
        "with recursive places as (select 0 as place union all select p.place + 1 as place from places as p"
        " where p.place < :last) select :inner_key as inner_key, :outer_key as outer_key from places as p"
        " cross join key as k",
        {"key": key},
        last=BLOCK - 1,
        inner_key=parts[0],
        outer_key=parts[1],
    )


def require_keyed_hash(engine: Engine) -> None:
    """UsageError on engines that have no SHA-256 of bytes that this project tests."""
    nothing = literal("")
    if engine.traits.keyed_hash(nothing, nothing, nothing) is None:
        raise UsageError(
            f"keyed hashes (HMAC-SHA-256) are computed on DuckDB, PostgreSQL and Spark; {engine.name} is not among them"
        )


def canonical_text(value: exp.Expression, info: ColumnInfo, traits: Traits) -> exp.Expression:
    """The text of a value by which every engine knows a person: equal values have one text, whatever their type says.

    Texts as they are, padding of char(n) left out; numbers without zeros behind their last decimal and with one zero;
    dates and times in ISO form, moments in UTC; booleans as true and false; UUIDs in lower case. NULL stays NULL.
    """
    if info.family is Family.OTHER and info.type.this is not DType.UUID:
        raise SpecError(f"column '{info.name}' is of a type that has no text alike on every engine; name another key")
    key = traits.key(value, info.family)
    if info.family is Family.TEXT:
        return key
    text = traits.text(key, info.family)
    if info.family is not Family.DECIMAL:
        return text
    decimals = exp.Like(this=text.copy(), expression=literal("%.%"))
    return exp.Paren(this=exp.Case().when(decimals, _without(_without(text.copy(), "0"), ".")).else_(text))


def _without(text: exp.Expression, character: str) -> exp.Expression:
    """A text without a character at its end."""
    return exp.Trim(this=text, expression=literal(character), position="TRAILING")
