"""Names of tables and schemas as a spec writes them: dots separate, double quotes protect.

Pure text: whether a name exists is the catalog's business.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

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
