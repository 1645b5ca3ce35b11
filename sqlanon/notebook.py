"""How results look in a notebook: one small table, and a chart of bars beside it. Pure."""

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


def bar_chart(title: str, bars: Sequence[tuple[str, int]], width: int = 420) -> str:
    """Horizontal bars with their names and numbers, as inline SVG that takes the notebook's own colour of text.

    >>> bar_chart("sizes", [("1", 2), ("2 to 4", 0)]).count("<rect")
    2
    """
    most = max((value for _, value in bars), default=0) or 1
    left, right, step = 90, 70, 20
    lines = []
    for place, (name, value) in enumerate(bars):
        length = max(1, round((width - left - right) * value / most)) if value else 0
        top = place * step
        lines.append(
            f"<text x='{left - 8}' y='{top + 14}' text-anchor='end'>{escape(name)}</text>"
            f"<rect x='{left}' y='{top + 3}' width='{length}' height='{step - 6}' fill='#4477aa'></rect>"
            f"<text x='{left + length + 6}' y='{top + 14}'>{value:,}</text>"
        )
    height, named = step * len(bars), escape(title)
    return (
        f"<svg role='img' aria-label='{named}' width='{width}' height='{height}' viewBox='0 0 {width} {height}' "
        f"font-family='sans-serif' font-size='12' fill='currentColor'><title>{named}</title>{''.join(lines)}</svg>"
    )
