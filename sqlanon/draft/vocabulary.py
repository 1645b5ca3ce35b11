"""What column names tell: words in a few languages, and the role that each suggests.

Pure data. A name is split into words, without accents and case: `Geburts_Datum`, `birthDate`, `FECHA-NACIMIENTO`.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise


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
