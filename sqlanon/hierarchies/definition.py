"""The base of every pydantic model of the spec, names as it writes them, and how its checks refuse.

Pure. Models are frozen and refuse unknown keys; their errors never carry the value that was refused. A check that spans
keys raises `refuse(...)` with several problems at once; the loader finds the line of each by its path. In names of
tables and schemas dots separate, double quotes protect; whether a name exists is the catalog's business.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from sqlanon.hierarchies.base import Family


class Definition(BaseModel):
    """A part of the spec."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False, defer_build=True
    )


BARE = ConfigDict(frozen=True, hide_input_in_errors=True, defer_build=True)
"""The same for a part that is a bare list or tree, which has no keys to refuse."""


def not_boolean(value: object) -> object:
    """Python counts True as 1; a spec does not."""
    if isinstance(value, bool):
        raise ValueError("a number is expected, not true or false")
    return value


Whole = Annotated[int, BeforeValidator(not_boolean)]
"""A whole number."""

Real = Annotated[float, BeforeValidator(not_boolean)]
"""A finite number, for weights and thresholds."""


def exact(value: object) -> object:
    """A number as it was written; what is finite passes."""
    not_boolean(value)
    number = Decimal(repr(value)) if isinstance(value, float) else value
    if isinstance(number, Decimal) and not math.isfinite(number):
        raise ValueError("a finite number is expected")
    return number


Exact = Annotated[Decimal, BeforeValidator(exact)]
"""A decimal number exactly as it was written."""


def decimals(value: Decimal) -> int:
    """How many decimals a number was written with.

    >>> decimals(Decimal("2.50")), decimals(Decimal("1E+3"))
    (2, 0)
    """
    exponent = value.as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def written(number: Fraction, scale: int) -> str:
    """A number in plain notation with `scale` decimals; exact where the number has no more of them.

    >>> written(Fraction(-5, 2), 2), written(Fraction(20), 0)
    ('-2.50', '20')
    """
    digits = f"{abs(round(number * 10**scale)):0{scale + 1}d}"
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"


MOST_LEVELS = 64
"""Levels above the values that a hierarchy may have: each is one more column of its table and of many statements."""


def require_few_levels(number: int, what: str = "the hierarchy") -> None:
    """Refuse a hierarchy with more levels than statements can be made of.

    >>> require_few_levels(64)
    """
    if number > MOST_LEVELS:
        raise ValueError(f"{what} has {number} levels above its values, at most {MOST_LEVELS} are allowed")


def require_family(builder: str, family: Family, allowed: Collection[Family], advice: str) -> None:
    """Refuse a column that the builder has no labels for."""
    if family not in allowed:
        raise ValueError(f"{builder} does not fit a column of {family.value} values; {advice}")


KeyPath = tuple[str | int, ...]
"""The way to a key of the spec: names of keys, positions in lists."""

Finding = tuple[KeyPath, str]
"""Where something is wrong, below the model that found it, and what."""

SEVERAL = "several_problems"


def refuse(findings: Iterable[Finding]) -> None:
    """Raise for what was found, if anything."""
    listed = tuple(findings)
    if listed:
        summary = "; ".join(message for _, message in listed)
        raise PydanticCustomError(SEVERAL, "{summary}", {"summary": summary, "findings": listed})


_PART = re.compile(r'"((?:[^"]|"")*)"|([^".]+)')


def split_name(text: str) -> tuple[str, ...]:
    """The parts of a dotted name, outermost first.

    >>> split_name('raw."my.table"')
    ('raw', 'my.table')
    """
    parts: list[str] = []
    position = 0
    while True:
        match = _PART.match(text, position)
        part = match and ((match[1] or "").replace('""', '"') or (match[2] or "").strip())
        if match is None or not part:
            raise ValueError('a name like table, schema.table or schema."my.table" is expected')
        parts.append(part)
        position = match.end()
        if position == len(text):
            return tuple(parts)
        if text[position] != ".":
            raise ValueError('in a quoted name, only a dot may follow the closing quote; write a quote itself as ""')
        position += 1


def join_name(parts: tuple[str, ...]) -> str:
    """The dotted name that splits into these parts.

    >>> join_name(('raw', 'my.table'))
    'raw."my.table"'
    """
    return ".".join(part if re.fullmatch(r"\w+", part) else '"' + part.replace('"', '""') + '"' for part in parts)


def _parts(value: object) -> object:
    if isinstance(value, tuple):
        return value
    if not isinstance(value, str):
        raise ValueError("a name in text is expected")
    parts = split_name(value)
    if len(parts) > 3:
        raise ValueError("a name has at most three parts: catalog.schema.name; quote a part that holds a dot")
    return parts


NameParts = Annotated[
    tuple[str, ...],
    BeforeValidator(_parts),
    PlainSerializer(join_name, return_type=str),
    WithJsonSchema({"type": "string", "minLength": 1}),
]
"""A name split into its parts; written in the spec as text."""
