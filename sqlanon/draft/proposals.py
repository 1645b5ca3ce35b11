"""Proposing a hierarchy for a quasi-identifier: from its type, its name and its numbers.

Pure. A proposal covers every value that the profile counted, so that the draft passes `sqlanon check` as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sqlanon.draft.profile import Profile
from sqlanon.draft.statements import DATES, NUMBERS
from sqlanon.draft.vocabulary import AGE, BIRTH, POSTAL, words_of
from sqlanon.hierarchies.base import Family

FEW_VALUES = 30
"""So many values a person can still sort into a tree by hand."""
LONGEST_MASK = 12
SMALLEST_WIDTH = Decimal("0.000001")
LIFETIME = 130


@dataclass(frozen=True)
class Proposal:
    """A hierarchy as YAML, why it fits, and what to put in its place."""

    hierarchy: str
    reason: str
    instead: str = ""


def propose_hierarchy(column: Profile) -> Proposal:
    """The hierarchy that suits what is known of the column."""
    words = words_of(column.name)
    if column.family in DATES:
        return _date(column, birth=bool(words & BIRTH))
    if _is_code(column, words):
        return _mask(column.longest or 0)
    if column.family in NUMBERS:
        return _interval(column, age=bool(words & AGE))
    if column.family is Family.TEXT:
        return _categories(column)
    return Proposal("suppression", "the value or nothing")


def _date(column: Profile, *, birth: bool) -> Proposal:
    units = ["day", "month", "year"] if column.family is Family.DATE else ["hour", "day", "month", "year"]
    if birth:
        units += ["5 years", "10 years", "20 years"]
        return Proposal(f"{{date: [{', '.join(units)}, any]}}", "longer and longer spans of time")
    if column.first_year is not None and column.last_year is not None and column.last_year - column.first_year >= 10:
        units.append("5 years")
    units.insert(-1 if units[-1] == "year" else -2, "quarter")
    return Proposal(f"{{date: [{', '.join(units)}, any]}}", "longer and longer spans of time")


def _is_code(column: Profile, words: frozenset[str]) -> bool:
    if column.family not in (Family.TEXT, Family.INTEGER) or not 2 <= (column.longest or 0) <= LONGEST_MASK:
        return False
    return bool(words & POSTAL) or column.mostly(column.five_digits)


def _mask(length: int) -> Proposal:
    steps = range(1, length + 1) if length <= 6 else range(2, length + 1, 2)
    hidden = [*steps] if steps[-1] == length else [*steps, length]
    return Proposal(
        f"{{mask: {{length: {length}, steps: {hidden}}}}}",
        f"codes of up to {length} characters, narrowed from the right",
    )


def _interval(column: Profile, *, age: bool) -> Proposal:
    least, greatest = column.least, column.greatest
    if column.extraordinary or least is None or greatest is None:
        return Proposal("suppression", "no range of ordinary numbers to cut into intervals")
    if age and least >= 0 and greatest <= LIFETIME:
        return Proposal("{interval: {widths: [5, 10, 20], min: 0, max: 100}}", "ages, with one label from 100 on")
    widths = interval_widths(greatest - least, whole=column.family is Family.INTEGER)
    if not widths:
        return Proposal("suppression", "the range is too small to cut into intervals")
    written = ", ".join(f"{width:f}" for width in widths)
    return Proposal(f"{{interval: {{widths: [{written}]}}}}", "intervals sized to the range of the numbers")


def interval_widths(extent: Decimal, *, whole: bool) -> list[Decimal]:
    """Up to four widths, each twice the one before; the first cuts the range into about twenty.

    >>> [str(width) for width in interval_widths(Decimal(90), whole=True)]
    ['5', '10', '20', '40']
    """
    if extent <= 0:
        return []
    first = _round_number(extent / 20)
    if whole:
        first = max(first, Decimal(2))
    if first < SMALLEST_WIDTH:
        return []
    return [width for width in (first * 2**step for step in range(4)) if width < extent]


def _round_number(number: Decimal) -> Decimal:
    """The nearest of 1, 2, 5, 10 and so on that is not below."""
    magnitude = Decimal(1).scaleb(number.adjusted())
    factor = next(factor for factor in (1, 2, 5, 10) if magnitude * factor >= number)
    return Decimal(f"{(magnitude * factor).normalize():f}")


def _categories(column: Profile) -> Proposal:
    """Only a person, or a reference table, knows how categories group; the draft must not name values itself."""
    reason = f"the value or nothing, for {column.distinct} distinct values"
    if column.distinct < 3:
        return Proposal("suppression", reason)
    if column.distinct <= FEW_VALUES:
        return Proposal("suppression", reason, "{tree: {one group: [value, value], other group: [value]}}")
    return Proposal("suppression", reason, "{csv: groups.csv}, or {table: {name: ..., levels: [...]}}")
