"""A draft: roles and hierarchies for every column, and the YAML text that explains them.

Asks the engine for the catalog and one profile; the rest is text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.draft.profile import Profile, profile_columns
from sqlanon.draft.proposals import Proposal, propose_hierarchy
from sqlanon.draft.roles import Guess, guess_role
from sqlanon.draft.yaml import yaml_text
from sqlanon.engines.base import Engine
from sqlanon.errors import SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import Relation

LIMIT = "2%"


@dataclass(frozen=True)
class DraftedColumn:
    """A column with what was guessed."""

    profile: Profile
    guess: Guess
    proposal: Proposal | None = None

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "role": self.guess.role,
            "reason": self.guess.reason,
            "review": self.guess.review,
            "distinct": self.profile.distinct,
            "nulls": self.profile.rows - self.profile.present,
            "hierarchy": None if self.proposal is None else self.proposal.hierarchy,
        }


@dataclass(frozen=True)
class Places:
    """What the spec reads and writes, each already as YAML."""

    source: str
    target: str
    connection: str | None = None


@dataclass(frozen=True)
class Draft:
    """The drafted spec."""

    rows: int
    columns: tuple[DraftedColumn, ...]

    def text(self, places: Places, k: int) -> str:
        """The spec as commented YAML."""
        return "\n".join(self._lines(places, k)) + "\n"

    def _lines(self, places: Places, k: int) -> Iterator[str]:
        yield f"# A draft by `sqlanon init`, from {self.rows} rows and {len(self.columns)} columns."
        yield "# Every role and hierarchy is a guess with its reason above it. Read each, REVIEW first; correct it;"
        yield "# then run `sqlanon check` and `sqlanon plan` on this file."
        yield "version: 1"
        if places.connection is not None:
            yield f"connection: {places.connection}"
        yield f"source: {places.source}"
        yield f"target: {places.target}"
        yield "columns:"
        for column in self.columns:
            yield from _column_lines(column)
        yield "privacy:"
        yield f"  k: {k}  # every person hides among at least {k}"
        yield f"  suppression: {{limit: {LIMIT}}}  # so many rows may be left out to keep the others precise"


def draft_spec(engine: Engine, relation: Relation) -> Draft:
    """Draft a spec for a table, view or file."""
    infos = engine.columns(relation)
    if not infos:
        raise SourceError(f"{relation} has no columns")
    profiles = profile_columns(engine, relation, infos)
    guesses = _with_some_quasi_identifier(profiles, [guess_role(profile) for profile in profiles])
    columns = tuple(
        DraftedColumn(profile, guess, propose_hierarchy(profile) if guess.role == "quasi_identifier" else None)
        for profile, guess in zip(profiles, guesses, strict=True)
    )
    return Draft(profiles[0].rows, columns)


def _with_some_quasi_identifier(profiles: Sequence[Profile], guesses: list[Guess]) -> list[Guess]:
    """A release generalizes something: where nothing seemed to be one, the least distinct column is."""
    if any(guess.role == "quasi_identifier" for guess in guesses):
        return guesses
    order = sorted(range(len(profiles)), key=lambda position: _unsuited(profiles[position]))
    guess = Guess("quasi_identifier", "no column seems to be one, and a release needs at least one", review=True)
    return [guess if position == order[0] else other for position, other in enumerate(guesses)]


def _unsuited(profile: Profile) -> tuple[bool, float]:
    return profile.family is Family.OTHER, profile.distinctness


def _column_lines(column: DraftedColumn) -> Iterator[str]:
    profile, guess, proposal = column.profile, column.guess, column.proposal
    nulls = profile.rows - profile.present
    counts = f"{profile.distinct} distinct in {profile.rows} rows" + (f", {nulls} of them NULL" if nulls else "")
    yield f"  # {'REVIEW: ' if guess.review else ''}{guess.reason} ({profile.family.value}; {counts})"
    name = yaml_text(profile.name)
    if proposal is None:
        yield f"  {name}: {{role: {guess.role}}}"
        return
    yield f"  # hierarchy: {proposal.reason}"
    yield f"  {name}: {{role: {guess.role}, hierarchy: {proposal.hierarchy}}}"
    if proposal.instead:
        yield f"  # better, if you know how its values group: hierarchy: {proposal.instead}"
