"""Small words for people: names made safe for a terminal, numbers with thousands marks, percentages.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable


def one_line(text: str) -> str:
    r"""The text on one line, with what a terminal would act on written as its code.

    >>> one_line("two\nlines \x1b[31mred")
    'two\\nlines \\x1b[31mred'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )


def number(value: int) -> str:
    """
    >>> number(30162)
    '30,162'
    """
    return f"{value:,}"


def counted(value: int, what: str, plural: str | None = None) -> str:
    """
    >>> counted(1, "class", "classes"), counted(2, "row")
    ('1 class', '2 rows')
    """
    return f"{number(value)} {what if value == 1 else plural or what + 's'}"


def share(part: int, whole: int) -> str:
    """
    >>> share(11, 600), share(0, 0)
    ('1.8%', '0.0%')
    """
    return f"{100 * part / whole if whole else 0:.1f}%"


def seconds(value: float) -> str:
    """
    >>> seconds(0.0123), seconds(75.2)
    ('12 ms', '75.2 s')
    """
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def vector(levels: Iterable[int]) -> str:
    """
    >>> vector((1, 0, 2))
    '(1,0,2)'
    """
    return "(" + ",".join(map(str, levels)) + ")"
