"""How results look in a notebook: one small table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

# Notebooks have styles of their own for tables, light and dark: only what they leave to chance is said here.
_LEFT = "style='text-align: left; font-weight: normal'"
_RIGHT = "style='text-align: right'"


def html_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A captioned table of names and values.

    >>> html_table("a", [("b", "<c>")]).endswith("<td style='text-align: right'>&lt;c&gt;</td></tr></tbody></table>")
    True
    """
    cells = (f"<th scope='row' {_LEFT}>{escape(name)}</th><td {_RIGHT}>{escape(value)}</td>" for name, value in rows)
    body = "".join(f"<tr>{cell}</tr>" for cell in cells)
    return f"<table><caption {_LEFT}>{escape(title)}</caption><tbody>{body}</tbody></table>"
