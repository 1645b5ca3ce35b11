"""Names of scratch tables and columns that say which column of the source they are about.

>>> explained(["zip", "Home Town", "home-town", "2nd", "-"])
{'zip': 'zip', 'Home Town': 'home_town', 'home-town': 'home_town_2', '2nd': 'column_2nd', '-': 'column'}
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot import exp

LONGEST = 20
"""Characters of a name: with what stands before it in a scratch table it stays within every engine's limit."""


def explained(columns: Iterable[str]) -> dict[str, str]:
    """A name for each column: lower-case letters, digits and underscores of its own, no two alike."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        plain = _plain(column)
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain[: LONGEST - len(str(number)) - 1]}_{number}"
        taken.add(name)
        found[column] = name
    return found


def _plain(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "column"
    plain = plain if plain[0].isalpha() else f"column_{plain}"
    return plain[:LONGEST].rstrip("_")


_WORDS = """
    all analyse analyze and anti any array as asc asof asymmetric at authorization between bigint binary bit
    boolean both by case cast char character check coalesce collate collation column columns concurrently
    constraint create cross current_catalog current_date current_role current_schema current_time
    current_timestamp current_user dec decimal default deferrable desc describe distinct do else end except exists
    extract false fetch float for foreign freeze from full generated glob grant greatest group grouping
    grouping_id having ilike in initially inner inout int integer intersect interval into is isnull join json
    json_array json_arrayagg json_object json_objectagg lambda lateral leading least left like limit localtime
    localtimestamp map merge_action national natural nchar none normalize not notnull null nullif numeric offset
    on only or order out outer overlaps overlay pivot pivot_longer pivot_wider placing position positional
    precision primary qualify real references returning right row select semi session_user setof show similar
    smallint some struct substring summarize symmetric system_user table tablesample then time timestamp to
    trailing treat trim true try_cast tuple union unique unpack unpivot user using values varchar variadic verbose
    when where window with within xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse
    xmlpi xmlroot xmlserialize xmltable
"""

KEYWORDS = frozenset(_WORDS.split())
"""Words that cannot name a column without quotes everywhere in the grammars of PostgreSQL and DuckDB."""

_PLAIN = re.compile("[a-z_][a-z0-9_]*")


def unquoted(expression: exp.Expr) -> exp.Expr:
    """A copy without the quotes that change nothing, where names of lower-case letters mean the same without them.

    >>> from sqlglot import parse_one
    >>> unquoted(parse_one('SELECT "a", "B", "order", "c d" FROM "t"')).sql()
    'SELECT a, "B", "order", "c d" FROM t'
    """
    found = expression.copy()
    for name in found.find_all(exp.Identifier):
        if name.args.get("quoted") and _PLAIN.fullmatch(name.name) and name.name not in KEYWORDS:
            name.set("quoted", False)
    return found
