"""Scripts for readers of reports: every text literal that is not known to be harmless is left out.

Literals of a script are labels of definitions and values that models name; few rows may stand behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

HIDDEN = "…"

_TEXTS = frozenset(
    {
        TokenType.STRING,
        TokenType.NATIONAL_STRING,
        TokenType.RAW_STRING,
        TokenType.BYTE_STRING,
        TokenType.UNICODE_STRING,
        TokenType.HEREDOC_STRING,
        TokenType.HEX_STRING,
        TokenType.BIT_STRING,
    }
)


def redacted(sql: str, dialect: str, harmless: Collection[str]) -> str:
    """The script with its text literals replaced by an ellipsis, except those in `harmless` and words of our own.

    >>> redacted("SELECT 'rare', '*', 'flu' -- a remark", "duckdb", ["flu"])
    "SELECT '…', '*', 'flu' -- a remark"
    """
    return _collapsed(_without_texts(sql, dialect, frozenset(harmless)))


def _without_texts(sql: str, dialect: str, harmless: frozenset[str]) -> str:
    parts: list[str] = []
    end = 0
    for token in Dialect.get_or_raise(dialect).tokenize(sql):
        if token.token_type not in _TEXTS or _is_harmless(token, harmless):
            continue
        parts += [sql[end : token.start], _hidden(sql[token.start : token.end + 1], token, dialect, harmless)]
        end = token.end + 1
    return "".join((*parts, sql[end:]))


def _hidden(written: str, token: Token, dialect: str, harmless: frozenset[str]) -> str:
    """What stands in place of a literal. The body of a dollar-quoted block is a script of its own."""
    if token.token_type is TokenType.HEREDOC_STRING:
        before, _, after = written.partition(token.text)
        return f"{before}{_without_texts(token.text, dialect, harmless)}{after}"
    return f"'{HIDDEN}'"


def _is_harmless(token: Token, harmless: frozenset[str]) -> bool:
    text = token.text
    return text in harmless or not any(letter.isalnum() for letter in text) or text.startswith("sqlanon: ")


def _collapsed(sql: str) -> str:
    """Equal lines in a row, as the rows of a definition become, are shown once and counted."""
    return "\n".join(_once(sql.split("\n")))


def _once(lines: list[str]) -> Iterator[str]:
    for line, same in groupby(lines, key=lambda text: text.rstrip(",;")):
        found = list(same)
        if HIDDEN not in line or len(found) < 3:
            yield from found
            continue
        indent = line[: len(line) - len(line.lstrip())]
        yield found[0]
        yield f"{indent}-- and {len(found) - 1:,} more like this"
