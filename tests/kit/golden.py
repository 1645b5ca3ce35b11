"""Snapshots of generated SQL: whole scripts for engines that run them, and for other dialects what differs from one.

A difference (`<dialect>/<case>.diff`) names the script it is taken from, the words that the dialect spells otherwise,
and the lines that still differ. Script and difference together give every character of the dialect's script but the
quotes of plain names, which one dialect writes and another leaves out.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlanon.sql.relations import KEYWORDS

GOLDEN = Path(__file__).parents[2] / "sql" / "golden"
CHANGED = "the SQL has changed: review it and run make golden"
MARK = re.compile("sqlanon_script_(?:([0-9a-f]{8})_)?", re.IGNORECASE)
"""How names of scratch tables begin; in dialects without temporary tables the release's own mark follows."""

PLAIN = re.compile(r"""(["`])([a-z_][a-z0-9_]*|[A-Z_][A-Z0-9_]*)\1""")
"""A name that means the same without its quotes, unless it is a keyword."""


@dataclass(frozen=True)
class Spelling:
    """How a dialect differs throughout from the scripts that its own are compared with."""

    base: str
    words: Mapping[str, str]
    """Each word of the base, and the dialect's; texts, not patterns."""
    capitals: bool = False
    """Whether names are written in capitals."""

    def applied(self, text: str, mark: str) -> str:
        """A script of the base, as far as spelling alone makes it one of the dialect."""
        text = MARK.sub(f"sqlanon_script_{mark}", self.bare(text))
        for word, own in self.words.items():
            text = text.replace(word, own)
        return text

    def bare(self, text: str) -> str:
        """A script without the quotes of plain names, and these in lower case."""
        return PLAIN.sub(self._name, text)

    def _name(self, found: re.Match[str]) -> str:
        name = found[2].lower() if self.capitals else found[2]
        return name if name == name.lower() and name not in KEYWORDS else f'"{name}"'


SPELLINGS = {
    "databricks": Spelling("spark", {}),
    "bigquery": Spelling(
        "duckdb",
        {
            "AS BIGINT)": "AS INT64)",
            "AS INT)": "AS INT64)",
            "AS DOUBLE)": "AS FLOAT64)",
            "DECIMAL(38, 0)": "BIGNUMERIC",
        },
    ),
    "redshift": Spelling("postgresql", {"CREATE UNLOGGED TABLE": "CREATE TABLE"}),
    "trino": Spelling("duckdb", {' AS TEXT) COLLATE "C"': " AS VARCHAR)", " AS INT)": " AS INTEGER)"}),
    "snowflake": Spelling(
        "duckdb",
        {" AS TEXT)": " AS VARCHAR)", "CREATE TEMPORARY TABLE": "CREATE OR REPLACE TEMPORARY TABLE"},
        capitals=True,
    ),
    "clickhouse": Spelling(
        "duckdb",
        {
            ' AS TEXT) COLLATE "C"': " AS Nullable(String))",
            " AS TEXT)": " AS Nullable(String))",
            " AS BIGINT)": " AS Nullable(Int64))",
            " AS INT)": " AS Nullable(Int32))",
            " AS DOUBLE)": " AS Nullable(Float64))",
            " AS DECIMAL(38, 0))": " AS Nullable(Decimal(38, 0)))",
        },
    ),
}


def hold(dialect: str, case: str, text: str, *, update: bool) -> None:
    """Hold a script against its snapshot, or rewrite the snapshot."""
    spelling = SPELLINGS.get(dialect)
    name = f"{case}.sql" if spelling is None else f"{case}.diff"
    content = text if spelling is None else difference(spelling, dialect, case, text)
    path = GOLDEN / dialect / name
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == content, f"{dialect}/{name}: {CHANGED}"


def difference(spelling: Spelling, dialect: str, case: str, text: str) -> str:
    """What a script says otherwise than the snapshot it is compared with."""
    base = f"{spelling.base}/{case}.sql"
    found = MARK.search(text)
    mark = f"{found[1]}_".lower() if found is not None and found[1] else ""
    written = spelling.applied((GOLDEN / base).read_text(encoding="utf-8"), mark)
    words = {"sqlanon_script_": f"sqlanon_script_{mark}", **spelling.words}
    lines = [f"{dialect}/{case}.sql is {base}", *(f"where {word} is {own}" for word, own in words.items())]
    lines += ["where names are in capitals"] if spelling.capitals else []
    lines += ["where plain names have no quotes"]
    before, after = written.split("\n"), spelling.bare(text).split("\n")
    for kind, start, end, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        match kind:
            case "replace":
                lines.append(f"@@ instead of lines {start + 1} to {end}")
            case "delete":
                lines.append(f"@@ without lines {start + 1} to {end}")
            case "insert":
                lines.append(f"@@ after line {start}")
        if kind != "equal":
            lines += after[first:last]
    return "\n".join(lines) + "\n"
