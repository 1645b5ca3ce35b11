"""How results look in a notebook: one small table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def html_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A captioned table of names and values.

    >>> html_table("a", [("b", "<c>")])
    '<table><caption>a</caption><tr><th>b</th><td>&lt;c&gt;</td></tr></table>'
    """
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table><caption>{escape(title)}</caption>{body}</table>"
