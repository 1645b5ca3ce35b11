"""Rules that tell an identifier: words of a column's name, shapes of its values, how few rows share one.

Pure. `init` guesses roles by these rules, and `check`, `plan` and `run` doubt by them what a spec releases unchanged.
Names are split into words of a few languages, without accents and case: `Geburts_Datum`, `birthDate`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import expm1
from typing import get_args

from sqlanon.draft.profile import DATES, NUMBERS, Profile
from sqlanon.errors import SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.spec import Role


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFYING = _words("""
    ssn sin nin nino nhs tin taxid steuerid cpf dni nif nie pesel passport passeport pasaporte reisepass licence license
    plate kennzeichen iban account konto card creditcard mrn email mail courriel correo phone telephone mobile cell
    cellphone fax tel telefon telefono telefone handy address addr adresse anschrift direccion indirizzo endereco
    street strasse rue calle via ip ipaddress mac url uri username login password passwort token signature photo picture
    image biometric fingerprint serial vin imei uuid guid firstname lastname surname forename fullname middlename
    maidenname vorname nachname familienname prenom apellido apellidos nombre nombres cognome sobrenome imie nazwisko
""")
"""Words of direct identifiers."""

WEAKLY_IDENTIFYING = _words("id ids identifier name names nom nome code key number nr no num nummer numero pk")
"""Words of identifiers, unless the name also says what of: a city_name identifies no person."""

AMBIGUOUS = _words(
    "via cell card handy mac plate rue serial image picture photo signature token url uri license licence"
)
"""Of the words of direct identifiers, those that mean other things too: `admitted_via`, `cell_count`."""

PERSON = _words("""
    patient person customer client user member employee student subject participant respondent insured beneficiary
    citizen resident taxpayer donor patron pupil teacher doctor physician subscriber tenant kunde mitarbeiter
    versicherter paciente cliente persona empleado personne dipendente paziente
""")
"""Words of people: what numbers or names them tells one from another."""

KEYS = _words("ssn nin nino nhs mrn cpf dni nif nie pesel tin taxid steuerid passport email")
"""Words of numbers and addresses that one person has alone."""

ABOUT = _words("""
    type types typ kind kinds class category group status flag count has is opt provider brand format valid verified
    total length change changed present missing known
""")
"""Words that make a name speak of something beside the identifier: an account_type names nobody."""

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


MEASURED = _words("""
    salary income wage wages earnings pay gehalt einkommen lohn salaire revenu salario ingresos stipendio reddito renda
    balance debt loan cost costs charge charges price amount payment bonus tax fee fees budget revenue sales turnover
    profit expense expenses spend spent value sum total score points result weight mass size length width area volume
    distance duration time seconds minutes hours days steps pressure temperature rate level dose calories quantity
    count population capacity elevation altitude
""")
"""Words of amounts: where they are whole numbers, few rows share one though nobody is told by it."""


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


_STATED = re.compile(r"\bsqlanon\s*[:=]\s*(?P<role>[\w-]+)", re.IGNORECASE)


def stated_role(column: str, comment: str) -> Guess | None:
    """The role that the comment of a column states by the word `sqlanon`; SourceError where it names none.

    >>> stated_role("zip", "Where they live. sqlanon: quasi-identifier").role
    'quasi_identifier'
    >>> stated_role("zip", "Where they live.") is None
    True
    """
    found = _STATED.search(comment)
    return None if found is None else known_role(column, found["role"], "its comment in the database")


def known_role(column: str, said: str, where: str) -> Guess:
    """A role that somebody has written down; SourceError where it is none."""
    role = said.strip().lower().replace("-", "_")
    for known in get_args(Role):
        if role == known:
            return Guess(known, f"{where} says so")
    raise SourceError(
        f"column '{column}': {where} says '{said}', which is no role; write one of {', '.join(get_args(Role))}"
    )


def guess_role(column: Profile) -> Guess:
    """The role that the evidence suggests, the strongest evidence first.

    It errs on the safe side: what nothing is known about becomes a quasi-identifier, never insensitive.
    """
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
    reason = _doubted_shape(column)
    return None if reason is None else Guess("identifier", reason)


def _by_type(column: Profile, words: frozenset[str]) -> Guess | None:
    if is_time(column):
        return Guess("quasi_identifier", "when something happened is often known to others")
    if is_interval(column):
        return Guess("quasi_identifier", "how long something took is often known to others")
    if column.kind.startswith("JSON"):
        reason = "JSON holds many facts in one, so it stays out; name the fields that are needed in a query source"
        return Guess("identifier", reason, review=True)
    if column.family is Family.OTHER:
        return Guess("identifier", "values of its type cannot be generalized, so they stay out", review=True)
    if column.family in DATES:
        return Guess("quasi_identifier", "dates of a person's life are often known to others")
    return None


def is_time(column: Profile) -> bool:
    """Whether these are times of a day; those with a zone of their own are none."""
    return re.fullmatch(r"TIME(\([0-9]+\))?", column.kind) is not None


def is_interval(column: Profile) -> bool:
    """Whether these are spans of time."""
    return column.kind.startswith("INTERVAL")


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


LONG_NUMBER = 8
"""Whole numbers of so many digits that hardly ever repeat are keys, not measurements."""
CHANCE = 5
"""So many repetitions must be expected by chance before their absence tells a key."""


def doubted(column: Profile, role: Role) -> str | None:
    """Why a column that is released as it is looks like an identifier; None where nothing says so.

    Of a sensitive column its name and the shapes of its values are held against it, and keys: codes and long numbers
    that hardly anybody shares. That other values are rare is what models of sensitive columns are for.

    A doubt errs on the side of the spec's author, who has said what the column is: it needs a reason that can be named.
    """
    if column.family is Family.BOOLEAN or not column.present:
        return None
    reason = _doubted_name(column) or _doubted_shape(column)
    return reason or (_doubted_keys(column) if role == "sensitive" else _doubted_distinctness(column))


def _doubted_name(column: Profile) -> str | None:
    words = words_of(column.name)
    about, measured = words & ABOUT, words & (SENSITIVE - {"credit"})
    if about or measured:
        return "it is named like a direct identifier" if _is_named_beside(column, words, bool(about)) else None
    if words & (IDENTIFYING - AMBIGUOUS) or (words & PERSON and words & WEAKLY_IDENTIFYING):
        return "it is named like a direct identifier"
    weak = words & (WEAKLY_IDENTIFYING | AMBIGUOUS)
    if not weak or words & QUASI_IDENTIFYING or _is_category(column):
        return None
    return "it is named like an identifier" if words == weak or column.ownership >= 0.5 else None


def _is_named_beside(column: Profile, words: frozenset[str], about: bool) -> bool:
    """Whether a name that speaks of something else names an identifier too, and the values are those of one.

    A `score_ssn` or a `lab_patient_id` is one; an `account_balance`, a `patient_diagnosis_code`, or an `mrn_status` of
    three values is none.
    """
    # Neighbours are among the words, joined.
    numbered = any(person + number in words for person in words & PERSON for number in words & WEAKLY_IDENTIFYING)
    alone = bool(words & KEYS) or numbered
    if not alone and not words & (IDENTIFYING - AMBIGUOUS):
        return False
    if column.family in NUMBERS:
        return alone and _is_whole(column) and (column.ownership >= NEARLY_UNIQUE if about else not _is_shared(column))
    if _is_fraction(column) or column.family is not Family.TEXT:
        return False
    return not _is_shared(column) and (column.owned >= ENOUGH_ROWS or not about)


def _is_shared(column: Profile) -> bool:
    """Whether at least two have each value, on average."""
    return _is_category(column) or column.ownership < 0.5


def _is_whole(column: Profile) -> bool:
    return column.family is Family.INTEGER or column.mostly(column.whole)


def _is_fraction(column: Profile) -> bool:
    """Whether these are measurements, which an engine, or a file, may keep as text: 68.5, and 137 without a point."""
    return column.mostly(column.fraction + column.digits) and not column.mostly(column.whole)


def _is_long(column: Profile) -> bool:
    """Whether even the number nearest to zero has the digits of a key; zeros after the point are none."""
    if column.family in (Family.INTEGER, Family.TEXT) or column.least is None or column.greatest is None:
        point = len(".0") if column.mostly(column.fraction) else 0
        return (column.shortest or 0) - point >= LONG_NUMBER
    return (
        min(abs(column.least), abs(column.greatest)) >= 10 ** (LONG_NUMBER - 1) and column.least * column.greatest > 0
    )


def _doubted_shape(column: Profile) -> str | None:
    for shape, words in LOOKS.items():
        if column.mostly(getattr(column, shape)):
            return f"its values look like {words}"
    if column.mostly(column.digest) and not _is_category(column):
        return "its values look like digests"
    return None


LOOKS = {
    "email": "email addresses",
    "uuid": "UUIDs",
    "ssn": "social security numbers",
    "iban": "bank accounts",
    "phone": "telephone numbers",
    "ip": "network addresses",
}
"""Shapes that nothing but an identifier has, in words."""


def _doubted_keys(column: Profile) -> str | None:
    """Codes and long numbers that hardly anybody shares; amounts, instants and texts in words are none."""
    if column.owned < ENOUGH_ROWS or column.ownership < NEARLY_UNIQUE:
        return None
    words = words_of(column.name)
    if _is_whole(column):
        return _own(column) if _is_long(column) and not words & MEASURED else None
    if column.family is not Family.TEXT or _is_fraction(column) or column.mostly(column.instant):
        return None
    return _own(column) if column.mostly(column.code) and not words & SENSITIVE else None


def _own(column: Profile) -> str:
    return "nearly every value belongs to one person" if column.pairs else "nearly every row has a value of its own"


def _doubted_distinctness(column: Profile) -> str | None:
    if column.owned < ENOUGH_ROWS:
        return None
    own = _own(column)
    if column.family in NUMBERS:
        return own if _is_key(column) else None
    if _is_fraction(column):
        return None
    if column.ownership >= NEARLY_UNIQUE:
        return own
    if column.family is Family.TEXT and (column.longest or 0) > LONG_TEXT and column.ownership > 0.5:
        return "it is free text, which may name people"
    return None


def _is_category(column: Profile) -> bool:
    """Few values, each of which several rows share."""
    return column.distinct <= FEW_VALUES and column.distinctness <= 0.5


def _is_key(column: Profile) -> bool:
    """Whether whole numbers repeat more seldom than numbers of such a range would by chance, or not at all."""
    if not _is_whole(column) or column.ownership < NEARLY_UNIQUE:
        return False
    if _is_long(column):
        return True
    if column.owned - column.distinct <= column.owned // 100 and not words_of(column.name) & MEASURED:
        return True
    if column.least is None or column.greatest is None or column.extraordinary:
        return False
    extent = float(column.greatest - column.least + 1)
    # Of n numbers drawn from R, R (1 - 1/e^(n/R)) are expected to be distinct.
    repeated = column.owned - extent * -expm1(-column.owned / extent)
    return repeated >= CHANCE and column.owned - column.distinct <= repeated / 4


def person_key(names: Iterable[str]) -> str | None:
    """Of columns that are not released, the one that tells persons apart; None where no name says so.

    >>> person_key(["visit_id", "full_name", "ssn", "patient_id"]), person_key(["hospital_id", "name"])
    ('patient_id', None)
    """
    ranked = [(rank, name) for name in names if (rank := _rank(words_of(name))) is not None]
    return min(ranked, key=lambda item: item[0])[1] if ranked else None


def _rank(words: frozenset[str]) -> int | None:
    if words & PERSON and words & (WEAKLY_IDENTIFYING - {"name", "names", "nom", "nome"}):
        return 0
    if words & KEYS:
        return 1
    return 2 if words == {"id"} else None
