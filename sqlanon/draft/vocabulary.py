"""Vocabularies that `init` knows: countries, states, education, occupations, diagnoses; matched with a column's values.

Pure. Each vocabulary is a csv file in the folder `vocabularies`: the spellings of a term, separated by `|`, then its
label at each level. Diagnoses of ICD-10 and regions of NUTS are recognized by the structure of their codes.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Labels = tuple[str, ...]

ENOUGH_SHARE = 0.6
"""A vocabulary fits a column where so many of its rows have one of its terms, and its name says the same."""
UNNAMED_SHARE = 0.9
"""So many where the name says nothing: short codes stand for many things."""
UNNAMED_TERMS = 3
"""So many different values have to be terms where the name says nothing."""


@dataclass(frozen=True)
class Vocabulary:
    """Terms that are known, and the words of column names that promise them."""

    name: str
    title: str
    words: frozenset[str]
    lookup: Callable[[str], Labels | None]
    """The labels of a value above itself, finest first; None of a value that is no term."""


@dataclass(frozen=True)
class Match:
    """A vocabulary that fits a column."""

    vocabulary: Vocabulary
    share: float
    """Rows whose value is a term, of all rows with a value."""
    labels: Mapping[str, Labels]
    """The labels of each value that is a term."""


def best_match(counts: Mapping[str, int], words: frozenset[str]) -> Match | None:
    """The vocabulary that covers most rows; a column's name counts where several do, or few terms were seen.

    >>> best_match({"Germany": 5, "FRA": 3, "U.K.": 1}, frozenset({"country"})).labels["FRA"]
    ('Western Europe', 'Europe')
    >>> best_match({"x": 1, "y": 2}, frozenset({"country"})) is None
    True
    """
    rows = sum(counts.values())
    found: list[tuple[bool, float, Match]] = []
    for vocabulary in vocabularies():
        labels = {value: known for value in counts if (known := vocabulary.lookup(value)) is not None}
        share = sum(counts[value] for value in labels) / rows if rows else 0.0
        promised = bool(words & vocabulary.words)
        needed = ENOUGH_SHARE if promised else UNNAMED_SHARE
        if labels and share >= needed and (promised or len(labels) >= UNNAMED_TERMS):
            found.append((promised, share, Match(vocabulary, share, labels)))
    return max(found, key=lambda item: item[:2])[2] if found else None


def normalized(text: str) -> str:
    """Letters and digits alone, without case and accents: how spellings are compared.

    >>> normalized("Côte-d'Ivoire "), normalized("Self-emp-not-inc")
    ('cote d ivoire', 'self emp not inc')
    """
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss").casefold())
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(re.sub(r"[^\w+&]+|_", " ", letters).split())


_WORDS = {
    "icd10": "icd diagnosis diagnose diagnostic disease illness condition code krankheit",
    "nuts": "nuts region geo area",
    "countries": "country nation land pais pays paese native nationality citizenship origin birthplace",
    "us_states": "state states province residence",
    "languages": "language languages sprache langue idioma lingua speaks tongue",
    "sexes": "sex gender geschlecht sexe sexo sesso genero",
    "marital_states": "marital civil familienstand civilstatus relationship partnership",
    "education": "education degree school schooling studies bildung abschluss educacion etudes qualification",
    "employment": "employment workclass worker work employer job sector",
    "occupations": "occupation job profession beruf profesion professione occupational title position role",
    "industries": "industry branch sector industrial naics isic nace business department",
    "currencies": "currency waehrung devise moneda valuta",
    "weekdays": "weekday day dow wochentag jour",
    "months": "month monat mois mes mese",
    "blood_groups": "blood",
    "religions": "religion religious faith denomination konfession belief",
}
"""Words of column names that promise the terms of a vocabulary."""

TITLES = {
    "countries": "countries by subregion and region (UN M49)",
    "us_states": "states of the US by division and region",
    "languages": "languages by branch and family",
    "sexes": "sexes",
    "marital_states": "marital states",
    "education": "education by ISCED level",
    "employment": "kinds of employment",
    "occupations": "occupations by ISCO major group",
    "industries": "industries by ISIC section",
    "currencies": "currencies by region",
    "weekdays": "days of the week",
    "months": "months by quarter",
    "blood_groups": "blood groups",
    "religions": "religions",
}


def _words(name: str) -> frozenset[str]:
    return frozenset(_WORDS[name].split())


@cache
def vocabularies() -> tuple[Vocabulary, ...]:
    """Every vocabulary, those of codes first."""
    listed = tuple(Vocabulary(name, title, _words(name), _listed(name)) for name, title in TITLES.items())
    return (
        Vocabulary("icd10", "diagnoses by category, block and chapter of ICD-10", _words("icd10"), _icd10),
        Vocabulary("nuts", "regions by NUTS level and country", _words("nuts"), _nuts),
        *listed,
    )


def _rows(name: str) -> Iterator[list[str]]:
    text = files("sqlanon.draft").joinpath("vocabularies", f"{name}.csv").read_text(encoding="utf-8")
    reader = csv.reader(text.splitlines(), delimiter=";", strict=True)
    next(reader)
    return iter(list(reader))


def _listed(name: str) -> Callable[[str], Labels | None]:
    @cache
    def terms() -> dict[str, Labels]:
        found: dict[str, Labels] = {}
        for spellings, *labels in _rows(name):
            for spelling in spellings.split("|"):
                # The first row that knows a spelling has it.
                found.setdefault(normalized(spelling), tuple(labels))
        return found

    return lambda value: terms().get(normalized(value))


_DIAGNOSIS = re.compile(r"([A-Z][0-9][0-9A-Z])(?:\.?[0-9A-Z]{1,4})?")


@cache
def _blocks() -> tuple[tuple[str, str, str], ...]:
    return tuple((*block.split("-"), chapter) for block, chapter in _rows("icd10_blocks"))  # type: ignore[misc]


def _icd10(value: str) -> Labels | None:
    """Category, block and chapter of a code: E11.9 is of E11, E08-E14, chapter IV."""
    matched = _DIAGNOSIS.fullmatch(value.strip().upper())
    if matched is None:
        return None
    category = matched[1]
    for first, last, chapter in _blocks():
        if first <= category <= last:
            return category, f"{first}-{last}", chapter
    return None


_REGION = re.compile(r"[A-Z]{2}[0-9A-Z]{1,3}")
_NUTS_COUNTRIES = re.compile(
    "AT|BE|BG|CH|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IS|IT|LI|LT|LU|LV|ME|MK|MT|NL|NO|PL|PT|RO|RS|SE|SI|SK|TR|UK"
)


def _nuts(value: str) -> Labels | None:
    """The regions that a code lies in: DE212 is in DE21, DE2 and DE. A shorter code is its own region."""
    code = value.strip().upper()
    if not _REGION.fullmatch(code) or _NUTS_COUNTRIES.match(code) is None:
        return None
    return tuple(code[:length] for length in (4, 3, 2))
