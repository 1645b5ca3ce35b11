"""A drafted spec: a role for every column, hierarchies for quasi-identifiers, and the YAML text that explains them.

Asks the engine for the catalog and the profile of the columns; the rest is text. YAML is written so that it reads back
as the same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from sqlanon.draft.editing import yaml_text, yaml_value
from sqlanon.draft.grouping import ValueGroups, by_company, by_frequency, by_vocabulary, quantile_cuts
from sqlanon.draft.profile import DATES, NUMBERS, Profile, profile_columns
from sqlanon.draft.rules import (
    AGE,
    BIRTH,
    FEW_VALUES,
    POSTAL,
    Guess,
    guess_role,
    is_interval,
    is_time,
    person_key,
    stated_role,
    words_of,
)
from sqlanon.draft.values import FEWEST_NUMBERS, MOST_VALUES, ValueQuestions
from sqlanon.draft.vocabulary import best_match
from sqlanon.engines.base import Engine
from sqlanon.errors import SourceError
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.sql.relations import Relation, Table, cast, literal
from sqlanon.sql.relations import column as column_of
from sqlanon.sql.traits import Traits

LONGEST_MASK = 12
SMALLEST_WIDTH = Decimal("0.000001")
LIFETIME = 130


@dataclass(frozen=True)
class Proposal:
    """A hierarchy as YAML, why it fits, and what to put in its place."""

    hierarchy: str
    reason: str
    instead: str = ""
    listing: ValueGroups | None = None
    """Rows for a csv file that takes the place of the hierarchy."""
    losses: tuple[float, ...] = ()
    """What a row loses on average at each level of the listing."""

    def listed_in(self, path: str) -> Proposal:
        """The same with its listing in a file, whose name stands as YAML."""
        assert self.listing is not None
        return replace(self, hierarchy=f"{{csv: {path}}}", reason=self.listing.reason, instead="")


SPANS = (86_400, 30 * 86_400, 360 * 86_400)
"""Seconds of the days, months and years by which spans of time are told."""


def _of_other(column: Profile, traits: Traits) -> Proposal:
    """Times of a day by the hour and half a day, spans of time by days, months and years; of other types nothing."""
    value = column_of(column.name)
    labels: list[exp.Expression] = []
    if is_time(column):
        hour = exp.Extract(this=exp.var("HOUR"), expression=value)
        labels += [_floored(hour, hours) for hours in (1, 4, 12)]
        reason = "the hour in which a time lies, then four hours, then half a day, each named by its first hour"
    elif is_interval(column):
        seconds = exp.Extract(this=exp.var("EPOCH"), expression=value)
        labels += [_floored(seconds, span) for span in SPANS]
        reason = "whole days, then months of 30 days, then years of 360 days"
    else:
        return Proposal("suppression", "the value or nothing")
    written = [traits.render(item) for item in (value, *labels, literal(TOP))]
    return Proposal(f"{{sql: [{', '.join(map(yaml_value, written))}]}}", reason)


def _floored(number: exp.Expression, unit: int) -> exp.Expression:
    """The whole units in a number, times the unit where hours are meant, as text."""
    counted = cast(exp.Floor(this=exp.Div(this=cast(number.copy(), "double"), expression=literal(unit))), "bigint")
    return cast(counted if unit >= SPANS[0] else exp.Mul(this=counted, expression=literal(unit)), "text")


def propose_hierarchy(column: Profile, values: ValueQuestions | None = None) -> Proposal:
    """The hierarchy that suits what is known of the column.

    It goes by type, name and numbers, where `values` may be asked also by what values there are, and covers every value
    that was counted: the draft passes `sqlanon check` as it is.
    """
    words = words_of(column.name)
    if column.family in DATES:
        return _date(column, birth=bool(words & BIRTH))
    if _is_code(column, words):
        return _mask(column.longest or 0)
    if column.family in NUMBERS:
        return _interval(column, age=bool(words & AGE), values=values)
    if column.family is Family.TEXT:
        return _categories(column) if values is None else _grouped(column, words, values)
    return Proposal("suppression", "the value or nothing")


def _grouped(column: Profile, words: frozenset[str], values: ValueQuestions) -> Proposal:
    """Values grouped by a vocabulary, by the structure of their codes, by company or by frequency."""
    plain = _categories(column)
    if not 2 < column.distinct <= MOST_VALUES:
        return _mask(column.longest or 0) if _has_one_length(column) else plain
    counts = values.counts(column)
    if not all(map(_fits_csv, counts)):
        return plain
    match = best_match(counts, words)
    found = None if match is None else by_vocabulary(counts, match)
    if found is None and column.distinct > FEW_VALUES and _has_one_length(column):
        return _mask(column.longest or 0)
    if found is None and (company := values.company(column)) is not None:
        found = by_company(counts, company)
    found = found or by_frequency(counts)
    return plain if found is None else replace(plain, listing=found, losses=found.losses(counts))


def _has_one_length(column: Profile) -> bool:
    """Whether these are codes of so many characters each."""
    code = column.mostly(column.digits) or column.mostly(column.code)
    return code and column.shortest == column.longest and 2 <= (column.longest or 0) <= LONGEST_MASK


def _fits_csv(value: str) -> bool:
    """Whether a line of a csv file can hold the value as it is."""
    return not any(letter in value for letter in "\r\n\0")


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


def _interval(column: Profile, *, age: bool, values: ValueQuestions | None) -> Proposal:
    least, greatest = column.least, column.greatest
    if column.extraordinary or least is None or greatest is None:
        return Proposal("suppression", "no range of ordinary numbers to cut into intervals")
    if age and least >= 0 and greatest <= LIFETIME:
        return Proposal("{interval: {widths: [5, 10, 20], min: 0, max: 100}}", "ages, with one label from 100 on")
    whole = column.family is Family.INTEGER
    ends = [] if values is None or column.present < FEWEST_NUMBERS else values.quantiles(column)
    cuts = _cuts(ends, greatest - least, whole=whole)
    if cuts:
        return Proposal(
            f"{{interval: {{cuts: [{', '.join(map(_written, cuts))}]}}}}", "cut where the numbers are dense"
        )
    widths = interval_widths(greatest - least, whole=whole)
    if not widths:
        return Proposal("suppression", "the range is too small to cut into intervals")
    written = ", ".join(f"{width:f}" for width in widths)
    return Proposal(f"{{interval: {{widths: [{written}]}}}}", "intervals sized to the range of the numbers")


SKEWED = Decimal("0.4")
"""Numbers of which the middle three quarters take less of the range are cut by quantiles."""


def _cuts(quantiles: Sequence[Decimal], extent: Decimal, *, whole: bool) -> list[list[Decimal]]:
    """Nested cuts near quantiles where intervals of one width would hold most numbers together; else none."""
    if len(quantiles) < 8 or not extent:
        return []
    eighth = len(quantiles) // 8
    middle = quantiles[-1 - eighth] - quantiles[eighth]
    return quantile_cuts(quantiles, whole=whole) if middle < SKEWED * extent else []


def _written(cuts: Sequence[Decimal]) -> str:
    return f"[{', '.join(f'{cut:f}' for cut in cuts)}]"


def interval_widths(extent: Decimal, *, whole: bool) -> list[Decimal]:
    """Up to four widths, each twice the one before; the first cuts the range into about twenty.

    >>> [str(width) for width in interval_widths(Decimal(90), whole=True)]
    ['5', '10', '20', '40']
    """
    if extent <= 0:
        return []
    first = round_number(extent / 20)
    if whole:
        first = max(first, Decimal(2))
    if first < SMALLEST_WIDTH:
        return []
    return [width for width in (first * 2**step for step in range(4)) if width < extent]


def round_number(number: Decimal) -> Decimal:
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


LIMIT = "2%"


@dataclass(frozen=True)
class DraftedColumn:
    """A column with what was guessed."""

    profile: Profile
    guess: Guess
    proposal: Proposal | None = None
    more: Mapping[str, str] = field(default_factory=dict)
    """Further keys of the column, each with its value as YAML."""
    clause: str = ""
    """What a preset answers with it."""
    beside: tuple[str, ...] = ()
    """Lines of columns that are made from it."""

    def to_dict(self) -> dict[str, Any]:
        """The guess and the proposal as plain data."""
        return {
            "role": self.guess.role,
            "reason": self.guess.reason,
            "review": self.guess.review,
            "distinct": self.profile.distinct,
            "nulls": self.profile.rows - self.profile.present,
            "hierarchy": None if self.proposal is None else self.proposal.hierarchy,
            "loss": None if self.proposal is None or not self.proposal.losses else list(self.proposal.losses),
            **({"clause": self.clause} if self.clause else {}),
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
    respondent: str | None = None
    """An identifier that comes in several rows: k counts persons by it."""
    heading: tuple[str, ...] = ()
    """What a preset says of the whole."""

    @property
    def listings(self) -> dict[str, ValueGroups]:
        """The hierarchies by column that want a csv file."""
        proposed = {column.profile.name: column.proposal for column in self.columns}
        return {name: found.listing for name, found in proposed.items() if found is not None and found.listing}

    def with_files(self, paths: Mapping[str, str]) -> Draft:
        """The same, with the listing of each named column in a file, whose name stands as YAML."""
        columns = tuple(
            replace(column, proposal=column.proposal.listed_in(paths[column.profile.name]))
            if column.proposal is not None and column.profile.name in paths
            else column
            for column in self.columns
        )
        return replace(self, columns=columns)

    def text(self, places: Places, k: int, limit: str = LIMIT) -> str:
        """The spec as commented YAML."""
        return "\n".join(self._lines(places, k, limit)) + "\n"

    def _lines(self, places: Places, k: int, limit: str) -> Iterator[str]:
        yield f"# A draft by `sqlanon init`, from {self.rows} rows and {len(self.columns)} columns."
        yield "# Every role and hierarchy is a guess with its reason above it. Read each, REVIEW first; correct it;"
        yield "# then run `sqlanon check` and `sqlanon plan` on this file."
        yield from (f"# {line}" for line in self.heading)
        yield "version: 1"
        if places.connection is not None:
            yield f"connection: {places.connection}"
        yield f"source: {places.source}"
        yield f"target: {places.target}"
        if self.respondent is not None:
            yield "# this identifier comes in several rows: k counts the persons that it tells apart, not their rows"
            yield f"respondent: {yaml_text(self.respondent)}"
        yield "columns:"
        for column in self.columns:
            yield from _column_lines(column)
        yield "privacy:"
        yield f"  k: {k}  # every person hides among at least {k}"
        yield f"  suppression: {{limit: {limit}}}  # so many rows may be left out to keep the others precise"


def draft_spec(
    engine: Engine, relation: Relation, *, look_at_values: bool = False, stated: Mapping[str, Guess] | None = None
) -> Draft:
    """Draft a spec for a table, view or file. Values are counted one by one only where that is asked for.

    What is `stated` of a column, here or by its comment in the database, comes before any guess.
    """
    infos = engine.columns(relation)
    if not infos:
        raise SourceError(f"{relation} has no columns")
    profiles = profile_columns(engine, relation, infos)
    known = {**_commented(engine, relation), **(stated or {})}
    guesses = [known.get(profile.name) or guess_role(profile) for profile in profiles]
    guesses = _with_some_quasi_identifier(profiles, guesses, known)
    drafted = list(zip(profiles, guesses, strict=True))
    generalized = [profile for profile, guess in drafted if guess.role == "quasi_identifier"]
    values = ValueQuestions(engine, relation, generalized) if look_at_values else None
    columns = tuple(
        DraftedColumn(
            profile, guess, proposal_for(engine, profile, values) if guess.role == "quasi_identifier" else None
        )
        for profile, guess in drafted
    )
    return Draft(profiles[0].rows, columns, _respondent(columns))


def _commented(engine: Engine, relation: Relation) -> dict[str, Guess]:
    """The roles that comments of the catalog state."""
    comments = engine.comments(relation) if isinstance(relation, Table) else {}
    found = ((name, stated_role(name, text)) for name, text in comments.items())
    return {name: guess for name, guess in found if guess is not None}


def proposal_for(engine: Engine, profile: Profile, values: ValueQuestions | None) -> Proposal:
    """The hierarchy that suits a column, of any type."""
    other = profile.family is Family.OTHER
    return _of_other(profile, engine.traits) if other else propose_hierarchy(profile, values)


def _respondent(columns: Sequence[DraftedColumn]) -> str | None:
    repeating = [
        column.profile.name
        for column in columns
        if column.guess.role == "identifier" and 1 < column.profile.distinct < column.profile.present
    ]
    return person_key(repeating)


def _with_some_quasi_identifier(
    profiles: Sequence[Profile], guesses: list[Guess], known: Mapping[str, Guess]
) -> list[Guess]:
    """A release generalizes something: where nothing seemed to be one, the least distinct column is.

    What somebody has stated stays as it is.
    """
    open_to_guesses = [position for position, profile in enumerate(profiles) if profile.name not in known]
    if any(guess.role == "quasi_identifier" for guess in guesses) or not open_to_guesses:
        return guesses
    order = sorted(open_to_guesses, key=lambda position: _unsuited(profiles[position]))
    guess = Guess("quasi_identifier", "no column seems to be one, and a release needs at least one", review=True)
    return [guess if position == order[0] else other for position, other in enumerate(guesses)]


def _unsuited(profile: Profile) -> tuple[bool, float]:
    return profile.family is Family.OTHER, profile.distinctness


def _column_lines(column: DraftedColumn) -> Iterator[str]:
    profile, guess, proposal = column.profile, column.guess, column.proposal
    nulls = profile.rows - profile.present
    counts = f"{profile.distinct} distinct in {profile.rows} rows" + (f", {nulls} of them NULL" if nulls else "")
    yield f"  # {'REVIEW: ' if guess.review else ''}{guess.reason} ({profile.family.value}; {counts})"
    if column.clause:
        yield f"  # clause: {column.clause}"
    name, more = yaml_text(profile.name), "".join(f", {key}: {value}" for key, value in column.more.items())
    if proposal is None:
        yield f"  {name}: {{role: {guess.role}{more}}}"
        yield from column.beside
        return
    yield f"  # hierarchy: {proposal.reason}"
    if proposal.losses and proposal.hierarchy != "suppression":
        yield f"  # a row loses on average, by level: {', '.join(f'{loss:.2f}' for loss in proposal.losses)}"
    yield f"  {name}: {{role: {guess.role}, hierarchy: {proposal.hierarchy}{more}}}"
    if proposal.instead:
        yield f"  # better, if you know how its values group: hierarchy: {proposal.instead}"
