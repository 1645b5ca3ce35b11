"""Presets of drafts: what a law or a practice says of columns of a kind, as roles, hierarchies and rules, by clause.

Pure. A preset goes by what the draft knows of a column: its role, type, name and shape. It answers clauses, line by
line, and claims nothing for the whole: whether a release complies is for people to say who know the data and the law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from sqlanon.draft.drafting import Draft, DraftedColumn, Proposal, round_number
from sqlanon.draft.editing import yaml_text, yaml_value
from sqlanon.draft.profile import DATES, NUMBERS, Profile
from sqlanon.draft.rules import AGE, BIRTH, POSTAL, Guess, words_of
from sqlanon.hierarchies.base import Family

PLACES = frozenset(
    {"city", "town", "municipality", "village", "stadt", "ort", "gemeinde", "ville", "ciudad", "citta", "cidade"}
    | {"county", "district", "kreis", "area", "neighborhood", "neighbourhood", "location", "latitude", "longitude"}
    | {"lat", "lon", "lng", "departamento", "provincia"}
)
"""Words of places smaller than a state."""

SMALL_AREAS = (
    *("036", "059", "063", "102", "203", "556", "692", "790", "821"),
    *("823", "830", "831", "878", "879", "884", "890", "893"),
)
"""First three digits of zip codes whose areas have 20,000 people or fewer, by the census of 2000."""

SECRET = "SQLANON_PSEUDONYM_KEY"


@dataclass(frozen=True)
class Preset:
    """What a draft says above its columns, and what becomes of each column."""

    heading: tuple[str, ...]
    column: Callable[[DraftedColumn, Kind], DraftedColumn]


@dataclass(frozen=True)
class Kind:
    """What a preset asks of a column, found once."""

    profile: Profile
    respondent: bool
    """It tells persons apart: rows of one person are counted as one."""
    today: date
    derived: str
    """A name for a column that is derived from it."""

    @property
    def dated(self) -> bool:
        return self.profile.family in DATES

    @property
    def born(self) -> bool:
        return bool(words_of(self.profile.name) & BIRTH)

    @property
    def aged(self) -> bool:
        return bool(words_of(self.profile.name) & AGE) and self.profile.family in NUMBERS

    @property
    def postal(self) -> bool:
        return bool(words_of(self.profile.name) & POSTAL) or self.profile.mostly(self.profile.five_digits)

    @property
    def placed(self) -> bool:
        return bool(words_of(self.profile.name) & PLACES)


def left_out(column: DraftedColumn, clause: str, reason: str = "") -> DraftedColumn:
    """The column as an identifier."""
    guess = Guess("identifier", reason or column.guess.reason, column.guess.review)
    return replace(column, guess=guess, proposal=None, clause=clause)


def generalized(column: DraftedColumn, clause: str, hierarchy: str, reason: str) -> DraftedColumn:
    """The column by a hierarchy, never below its first level."""
    return replace(column, proposal=Proposal(hierarchy, reason), more={"levels": "{min: 1}"}, clause=clause)


def as_age(column: DraftedColumn, kind: Kind, clause: str, hierarchy: str) -> DraftedColumn:
    """A date of birth as an age, which is a column of its own."""
    found = left_out(column, clause, "a date of birth; the age below is made from it")
    derive = f"{{age: {{of: {yaml_value(column.profile.name)}, at: {kind.today.isoformat()}}}}}"
    keys = f"role: quasi_identifier, derive: {derive}, hierarchy: {hierarchy}, levels: {{min: 1}}"
    return replace(found, beside=(f"  {yaml_text(kind.derived)}: {{{keys}}}",))


def _safe_harbor(column: DraftedColumn, kind: Kind) -> DraftedColumn:
    part = "45 CFR 164.514(b)(2)(i)"
    role = column.guess.role
    if role == "identifier":
        return left_out(column, f"{part}(A), (D) to (R): names, numbers and anything else that is unique to a person")
    ages = "{interval: {widths: [1, 5, 10, 20], min: 0, max: 90}}"
    years = f"{part}(C): all elements of dates but the year"
    older = f"{part}(C): ages over 89 are one category, 90 or older"
    if kind.born:
        if kind.dated:
            return as_age(column, kind, older, ages)
        return left_out(column, years, "of a birth, and no date column")
    if kind.profile.family is Family.TEXT and kind.profile.mostly(kind.profile.instant):
        return left_out(column, years, "dates as text; make them a date column")
    if kind.dated:
        quasi = replace(column, guess=replace(column.guess, role="quasi_identifier"))
        return generalized(quasi, years, "{date: [year, 5 years, 10 years, any]}", "the year, and longer spans")
    if kind.aged:
        return generalized(column, older, ages, "ages, 90 and older as one")
    if kind.postal and kind.profile.family is Family.TEXT:
        small = "000 where 20,000 people or fewer live, by the census of 2000; take a newer list"
        clause = f"{part}(B): three digits, and {small}"
        found = replace(column, guess=replace(column.guess, role="quasi_identifier", review=True))
        return generalized(found, clause, _three_digits(kind.profile.name), "the first three digits of a zip code")
    if kind.postal or kind.placed:
        return left_out(column, f"{part}(B): places smaller than a state", "a place smaller than a state")
    return column


def _three_digits(name: str) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    start = f"substring(trim({quoted}), 1, 3)"
    small = ", ".join(f"'{area}'" for area in SMALL_AREAS)
    label = f"case when {start} in ({small}) then '000' else {start} end"
    return f"{{sql: [{yaml_value(quoted)}, {yaml_value(label)}, {yaml_value(chr(39) + '*' + chr(39))}]}}"


def _gdpr_research(column: DraftedColumn, kind: Kind) -> DraftedColumn:
    least = "GDPR Art. 5(1)(c): no more than is necessary"
    if kind.respondent:
        clause = (
            "GDPR Art. 4(5), 89(1): pseudonyms, where the purpose needs to join rows of a person; else remove the key"
        )
        more = {"pseudonym": f'{{secret: "${{{SECRET}}}"}}'}
        return replace(column, more=more, clause=clause)
    if column.guess.role == "identifier":
        return left_out(column, f"{least}; Recital 26: what identifies a person directly")
    if column.guess.role == "sensitive":
        return _coarser(column, kind, least)
    if kind.dated and kind.born:
        return generalized(
            column, least, "{date: [year, 5 years, 10 years, any]}", "the year of birth, and longer spans"
        )
    if kind.dated:
        return generalized(column, least, "{date: [month, quarter, year, any]}", "months, and longer spans of time")
    return column


def _coarser(column: DraftedColumn, kind: Kind, clause: str) -> DraftedColumn:
    """Amounts in a hundred steps of their range; other sensitive columns with what their kind asks for."""
    profile = kind.profile
    special = f"{clause}; Art. 9(1) where it is of a special category: ask for l_diversity of it"
    if profile.family not in NUMBERS or profile.extraordinary or profile.least is None or profile.greatest is None:
        return replace(column, clause=special)
    extent = profile.greatest - profile.least
    if extent < 200:
        return replace(column, clause=special)
    return replace(column, more={"release": f"{{round: {round_number(extent / Decimal(100)):f}}}"}, clause=special)


def _statbank(column: DraftedColumn, kind: Kind) -> DraftedColumn:
    law = "Regulation (EC) 223/2009 Art. 20"
    handbook = "ESSnet Handbook on Statistical Disclosure Control"
    if column.guess.role == "identifier":
        return left_out(column, f"{law}: direct identifiers are removed")
    ages = "{interval: {widths: [5, 10, 20], min: 0, max: 85}}"
    if kind.dated and kind.born:
        return as_age(column, kind, f"{handbook}: global recoding, ages in five years and 85 or older", ages)
    if kind.aged:
        return generalized(column, f"{handbook}: global recoding and top coding of ages", ages, "ages in five years")
    if kind.dated:
        clause = f"{handbook}: global recoding of dates"
        return generalized(column, clause, "{date: [quarter, year, any]}", "quarters, and years")
    if column.guess.role == "sensitive" and kind.profile.family in NUMBERS:
        clause = f"{handbook}: top and bottom coding of amounts"
        return replace(column, more={"release": '{cap: {top: "99%", bottom: "1%"}}'}, clause=clause)
    return column


_NO_CLAIM = "Each line names the clause that it answers and claims no compliance: that is judged by people who know"

PRESETS: Mapping[str, Preset] = {
    "safe-harbor": Preset(
        (
            "Preset safe-harbor, after 45 CFR 164.514(b)(2), the Safe Harbor method of the HIPAA Privacy Rule.",
            f"{_NO_CLAIM} the data,",
            "and (b)(2)(ii): no actual knowledge that what is left could identify somebody. k is asked beside it.",
        ),
        _safe_harbor,
    ),
    "gdpr-research": Preset(
        (
            "Preset gdpr-research, after Art. 5(1)(c) and 89(1) of the GDPR: data minimisation in research.",
            f"{_NO_CLAIM} the purpose.",
            "What is pseudonymous stays personal data (Recital 26).",
        ),
        _gdpr_research,
    ),
    "statbank": Preset(
        (
            "Preset statbank, after the practice of statistical offices with microdata for public use.",
            f"{_NO_CLAIM} the survey.",
        ),
        _statbank,
    ),
}
"""The presets by name."""


def with_preset(draft: Draft, name: str, today: date) -> Draft:
    """A draft with what a preset says of each column."""
    preset, names = PRESETS[name], {column.profile.name.lower() for column in draft.columns}
    columns = []
    for column in draft.columns:
        derived = f"{column.profile.name}_age"
        while derived.lower() in names:
            derived += "_"
        kind = Kind(column.profile, column.profile.name == draft.respondent, today, derived)
        columns.append(preset.column(column, kind))
    return replace(draft, columns=tuple(columns), heading=preset.heading)
