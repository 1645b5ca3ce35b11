"""A draft: roles and hierarchies for every column, and the YAML text that explains them.

Asks the engine for the catalog and one profile; the rest is text.

Writing names and texts as YAML that reads back as the same text.

Pure.

What column names tell: words in a few languages, and the role that each suggests.

Pure data. A name is split into words, without accents and case: `Geburts_Datum`, `birthDate`, `FECHA-NACIMIENTO`.

Proposing a hierarchy for a quasi-identifier: from its type, its name and its numbers.

Pure. A proposal covers every value that the profile counted, so that the draft passes `sqlanon check` as it is.

Guessing the role of a column from its name, type, distinctness and the shapes of its values.

Pure. Errs on the safe side: what nothing is known about becomes a quasi-identifier, never insensitive.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from sqlanon.draft.profile import DATES, NUMBERS, Profile, profile_columns
from sqlanon.engines.base import Engine
from sqlanon.errors import SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.spec import Role
from sqlanon.sql.relations import Relation

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})
"""Words that this or another reader of YAML takes for something else than text."""


def yaml_text(text: str) -> str:
    r"""A scalar, quoted unless it is a plain word.

    >>> yaml_text("zip"), yaml_text("no"), yaml_text("a: b"), yaml_text("2026"), yaml_text('say "x"\n')
    ('zip', '"no"', '"a: b"', '"2026"', '"say \\"x\\"\\n"')
    """
    if _PLAIN.fullmatch(text) and text.casefold() not in _WORDS:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def yaml_value(text: str) -> str:
    """A scalar in which nothing is taken for a variable of the environment.

    >>> yaml_value("a${B}")
    '"a$${B}"'
    """
    return yaml_text(text.replace("${", "$${"))


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if letter in named:
        return named[letter]
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFYING = _words("""
    ssn sin nin nino nhs cpf dni nif nie pesel passport passeport pasaporte reisepass licence license plate
    kennzeichen iban account konto card creditcard mrn email mail courriel correo phone telephone mobile cell cellphone
    fax tel telefon telefono telefone handy address addr adresse anschrift direccion indirizzo endereco street strasse
    rue calle via ip ipaddress mac url uri username login password passwort token signature photo picture image
    biometric fingerprint serial vin imei uuid guid firstname lastname surname forename fullname middlename maidenname
    vorname nachname familienname prenom apellido apellidos nombre nombres cognome sobrenome imie nazwisko
""")
"""Words of direct identifiers."""

WEAKLY_IDENTIFYING = _words("id ids identifier name names nom nome code key number nr no num nummer numero pk")
"""Words of identifiers, unless the name also says what of: a city_name identifies no person."""

POSTAL = _words("zip zipcode postal postcode postalcode plz postleitzahl cap cep codepostal codigopostal")
BIRTH = _words(
    "birth birthdate birthday dob born geburt geburtsdatum geburtstag naissance nacimiento nascita nascimento"
)
AGE = _words("age ages alter edad eta idade")
QUASI_IDENTIFYING = (
    POSTAL
    | BIRTH
    | AGE
    | _words("""
    sex gender geschlecht sexe sexo sesso genero race ethnicity ethnic ethnie etnia marital civil familienstand
    civilstatus nationality citizenship nationalite nationalitaet nacionalidad nazionalita country nation land pais
    pays paese native education degree school schooling studies bildung abschluss educacion etudes occupation job
    profession beruf profesion professione employer workclass employment industry department city town municipality
    village stadt ort gemeinde ville ciudad citta cidade county state region province district kreis bundesland
    departamento provincia area neighborhood neighbourhood location latitude longitude lat lon lng religion language
    sprache langue idioma lingua household children kinder relationship veteran height build date datum fecha data
    year jahr annee ano anno month monat admission discharge visit hired arrival departure
""")
)
"""Words of what others may know about a person."""

SENSITIVE = _words("""
    diagnosis diagnose diagnostic diagnostico diagnosi disease illness krankheit maladie enfermedad malattia doenca
    condition icd icd9 icd10 symptom symptoms treatment behandlung medication medicine drug drugs prescription therapy
    procedure surgery hiv blood result lab allergy disability genetic mental salary income wage wages earnings pay
    gehalt einkommen lohn salaire revenu salario ingresos stipendio reddito renda balance debt loan credit score cost
    costs charge charges price amount payment bonus tax orientation political politics party union criminal conviction
    offense offence arrest complaint satisfaction
""")
"""Words of what a person may want to keep private."""


def words_of(name: str) -> frozenset[str]:
    """The words of a column name, and each two neighbours joined.

    >>> sorted(words_of("birthDate")), sorted(words_of("E-Mail"))
    (['birth', 'birthdate', 'date'], ['e', 'email', 'mail'])
    """
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", name.replace("ß", "ss")) if not unicodedata.combining(letter)
    )
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+", " ", plain)
    words = re.sub(r"(?<=[a-z])(?=[0-9])", " ", spaced.casefold()).split()
    pairs = [first + second for first, second in pairwise(words)]
    return frozenset(words) | frozenset(pairs)


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


LIMIT = "2%"


@dataclass(frozen=True)
class DraftedColumn:
    """A column with what was guessed."""

    profile: Profile
    guess: Guess
    proposal: Proposal | None = None

    def to_dict(self) -> dict[str, Any]:
        """The guess and the proposal as plain data."""
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
