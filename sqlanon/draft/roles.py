"""Guessing the role of a column from its name, type, distinctness and the shapes of its values.

Pure. Errs on the safe side: what nothing is known about becomes a quasi-identifier, never insensitive.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.draft.profile import Profile
from sqlanon.draft.statements import DATES
from sqlanon.draft.vocabulary import (
    IDENTIFYING,
    QUASI_IDENTIFYING,
    SENSITIVE,
    WEAKLY_IDENTIFYING,
    words_of,
)
from sqlanon.hierarchies.base import Family
from sqlanon.spec import Role

NEARLY_UNIQUE = 0.9
ENOUGH_ROWS = 20
"""In a smaller table many values are unique by chance."""
LONG_TEXT = 60


@dataclass(frozen=True)
class Guess:
    """A role, and why."""

    role: Role
    reason: str
    review: bool = False
    """Whether the guess rests on little."""


def guess_role(column: Profile) -> Guess:
    """The role that the evidence suggests, the strongest evidence first."""
    words = words_of(column.name)
    for rule in (_by_strong_name, _by_shape, _by_type, _by_name, _by_distinctness):
        if guess := rule(column, words):
            return guess
    return Guess("quasi_identifier", "nothing tells what this is; others might know it of a person", review=True)


def _by_strong_name(column: Profile, words: frozenset[str]) -> Guess | None:
    if words & IDENTIFYING:
        return Guess("identifier", "named like a direct identifier")
    return None


def _by_shape(column: Profile, words: frozenset[str]) -> Guess | None:
    if column.mostly(column.email):
        return Guess("identifier", "its values look like email addresses")
    if column.mostly(column.uuid):
        return Guess("identifier", "its values look like UUIDs")
    return None


def _by_type(column: Profile, words: frozenset[str]) -> Guess | None:
    if column.family is Family.OTHER:
        return Guess("identifier", "values of its type cannot be generalized, so they stay out", review=True)
    if column.family in DATES:
        return Guess("quasi_identifier", "dates of a person's life are often known to others")
    return None


def _by_name(column: Profile, words: frozenset[str]) -> Guess | None:
    if words & SENSITIVE:
        return Guess("sensitive", "named like something people keep private")
    if words & QUASI_IDENTIFYING:
        return Guess("quasi_identifier", "named like something others know of a person")
    if words & WEAKLY_IDENTIFYING:
        few = column.rows >= ENOUGH_ROWS and column.distinctness < 0.5
        return Guess("identifier", "named like an identifier", review=few)
    return None


def _by_distinctness(column: Profile, words: frozenset[str]) -> Guess | None:
    if column.rows < ENOUGH_ROWS or column.family not in (Family.TEXT, Family.INTEGER):
        return None
    if column.distinctness >= NEARLY_UNIQUE:
        return Guess("identifier", "nearly every row has a value of its own", review=True)
    if column.family is Family.TEXT and (column.longest or 0) > LONG_TEXT and column.distinctness > 0.5:
        return Guess("identifier", "free text may name people", review=True)
    return None
