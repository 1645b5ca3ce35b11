"""Labels of recodings that follow no single level: values, hierarchy labels, ranges and sets, by rules of our own."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from tests.fuzz.case import Cell
from tests.fuzz.ladders import Ladder

NUMBERS = ("integer", "bigint", "hugeint", "decimal", "double")
DATES = ("date", "timestamp")
ELLIPSIS = ("...", "…")


@dataclass
class Reading:
    """One way to read a label: what it names (values or labels with their levels), and its ends if it is a range."""

    levels: list[int]
    named: list[str]
    ends: tuple[str | None, str | None] | None = None
    """None where a range is open: of `<20` and `>=20`."""


def read(label: Cell, value: Cell, ladder: Ladder) -> list[Reading]:
    """All readings of the label of a row with this value under which it covers the value."""
    readings = []
    if levels := ladder.levels_of(value, label):
        readings.append(Reading(levels, [] if label is None else [label]))
    if label is None:
        return readings
    if label == ladder.top:
        readings.append(Reading([ladder.height], [label]))
    if (ends := range_of(label, ladder.kind)) and value is not None and within(value, ends, label, ladder.kind):
        readings.append(Reading([], [], ends))
    if (half := half_open(label, ladder.kind)) and value is not None and beyond(value, half, ladder.kind):
        readings.append(Reading([], [], half))
    readings += label_ranges(label, value, ladder)
    if label.startswith("{") and label.endswith("}"):
        readings += set_readings(label, value, ladder)
    return readings


def half_open(label: str, kind: str) -> tuple[str | None, str | None] | None:
    """The ends of `<20` and `>=20`, of numbers."""
    match = re.fullmatch(r"(<|>=)(-?[\d.]+)", label) if kind in NUMBERS else None
    if match is None:
        return None
    return (None, match[2]) if match[1] == "<" else (match[2], None)


def beyond(value: str, ends: tuple[str | None, str | None], kind: str) -> bool:
    """Whether a half-open range holds a value."""
    own, low, high = (None if text is None else point(text, kind) for text in (value, *ends))
    return bool(own and (low is None or own[0] >= low[0]) and (high is None or own[0] < high[0]))


def label_ranges(label: str, value: Cell, ladder: Ladder) -> list[Reading]:
    """Readings as `[a-b]` or `[a, b]` where both ends are labels of one level of numbers, no numbers themselves."""
    own = None if value is None or ladder.kind not in NUMBERS else point(value, ladder.kind)
    if own is None or not (label.startswith("[") and label.endswith("]")):
        return []
    found = []
    for level in range(1, ladder.height):
        below: dict[str, list[Any]] = {}
        for leaf in ladder.leaves:
            if leaf is not None and (place := point(leaf, ladder.kind)) is not None:
                below.setdefault(str(ladder.label(leaf, level)), []).append(place[0])
        for first, lows in below.items():
            for mark in ("-", ", ", " - "):
                second = label[1:-1].removeprefix(f"{first}{mark}")
                if second != label[1:-1] and second in below and min(lows) <= own[0] <= max(below[second]):
                    found.append(Reading([level], [first, second]))
    return found


def set_readings(label: str, value: Cell, ladder: Ladder) -> list[Reading]:
    parts = elements(label[1:-1])
    if parts is None:
        return []
    shortened = any(part in ELLIPSIS or part.startswith(ELLIPSIS) for part in parts)
    found: list[int] = []
    covered = False
    for part in parts:
        levels = [*ladder.levels_of(value, None if value is None and part == "NULL" else part)]
        levels += [level for between in label_ranges(part, value, ladder) for level in between.levels]
        ends = range_of(part, ladder.kind)
        if levels or (ends and value is not None and within(value, ends, part, ladder.kind)):
            covered = True
            found += levels
    return [Reading(found, parts)] if covered or shortened else []


def elements(text: str) -> list[str] | None:
    """Parts of a set; one with a comma, brace or quote stands in quotes, in which a quote is doubled."""
    parts: list[str] = []
    rest = text
    while True:
        if rest.startswith('"'):
            match = re.match(r'"((?:[^"]|"")*)"(?:, |$)', rest, re.DOTALL)
            if match is None:
                return None
            parts.append(match[1].replace('""', '"'))
            done, rest = match.end() == len(rest), rest[match.end() :]
            if done:
                return parts
            continue
        part, comma, rest = rest.partition(", ")
        parts.append(part)
        if not comma:
            return parts


def range_of(label: str, kind: str) -> tuple[str, str] | None:
    """Both ends of `[a-b]`, `[a - b]`, `[a, b]` or `[a, b)`."""
    if kind not in (*NUMBERS, *DATES, "boolean") or not label.startswith("[") or label[-1] not in "])":
        return None
    inner = label[1:-1]
    for mark in (" - ", ", "):
        if mark in inner:
            first, _, second = inner.partition(mark)
            return (first, second) if point(first, kind) and point(second, kind) else None
    for place, letter in enumerate(inner):
        if letter == "-" and place:
            first, second = inner[:place], inner[place + 1 :]
            if point(first, kind) and point(second, kind):
                return first, second
    return None


def within(value: str, ends: tuple[str, str], label: str, kind: str) -> bool:
    """Whether a range holds a value; one that ends in a parenthesis does not hold its end."""
    low, high, own = point(ends[0], kind), point(ends[1], kind), point(value, kind)
    if not (low and high and own):
        return False
    return bool(low[0] <= own[0] and (own[0] < high[0] if label.endswith(")") else own[0] <= high[1]))


def point(text: str, kind: str) -> tuple[Any, Any] | None:
    """The first and the last instant (or number) that a text may mean."""
    if kind == "boolean":
        return (text, text) if text in ("false", "true") else None
    if kind in NUMBERS:
        try:
            exact = Decimal(text)
        except InvalidOperation:
            return None
        return (exact, exact)
    if match := re.fullmatch(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?: (\d\d)(?::(\d\d)(?::(\d\d)(?:\.\d+)?)?)?)?)?)?", text):
        first = match[0] + "0001-01-01 00:00:00"[len(match[0]) :] if len(match[0]) < 19 else match[0]
        last = match[0] + "9999-12-31 23:59:59"[len(match[0]) :] if len(match[0]) < 19 else match[0]
        return (first, last)
    if match := re.fullmatch(r"(\d{4})-Q([1-4])", text):
        month = 3 * int(match[2])
        return (f"{match[1]}-{month - 2:02d}-01 00:00:00", f"{match[1]}-{month:02d}-31 23:59:59")
    if match := re.fullmatch(r"(\d{4})-W(\d\d)", text):
        monday = datetime.date.fromisocalendar(int(match[1]), int(match[2]), 1)
        return (f"{monday} 00:00:00", f"{monday + datetime.timedelta(days=6)} 23:59:59")
    return None


def bounds_of(label: Cell, kind: str) -> tuple[Any, Any] | None:
    """First and last text-comparable point of a hierarchy's label of numbers or dates; an open end is None."""
    if label is None:
        return None
    if kind in NUMBERS:
        if match := re.fullmatch(r"\[(-?[\d.]+), (-?[\d.]+)\)", label):
            return (Decimal(match[1]), Decimal(match[2]))
        if label.startswith("<"):
            return (None, Decimal(label[1:]))
        if label.startswith(">="):
            return (Decimal(label[2:]), None)
        return point(label, kind)
    if match := re.fullmatch(r"\[(\d{4})-(\d{4})\]", label):
        return (f"{match[1]}-01-01 00:00:00", f"{match[2]}-12-31 23:59:59")
    return point(label, kind)
