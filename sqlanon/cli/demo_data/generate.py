"""Makes `patients.csv`: six hundred invented patients, the same ones every time.

Writes one file beside itself when run as a script. No name, number or illness belongs to anybody.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

PATIENTS = 600
SEED = 2001
"""Seed, areas and years were picked among several so that one lowest solution exists and its release reads well."""

COLUMNS = ("patient_id", "name", "ssn", "zip", "birth_date", "sex", "marital", "diagnosis", "cost")

AREAS = {"9410": 8, "9411": 6, "9461": 6}
"""Where patients live: the first four digits of their ZIP code, with weights."""

GIVEN_NAMES = {
    "female": (
        "Alma",
        "Beatriz",
        "Chiyo",
        "Dalia",
        "Edith",
        "Farah",
        "Greta",
        "Hana",
        "Imani",
        "Josefa",
        "Keiko",
        "Lena",
    ),
    "male": ("Anselm", "Bruno", "Cyrus", "Dmitri", "Emeka", "Felipe", "Goran", "Hiro", "Ivo", "Jamal", "Kofi", "Lars"),
}
FAMILY_NAMES = (
    "Abara", "Bergstrom", "Castellan", "Duvall", "Eastwick", "Fennimore", "Grauman", "Hollings", "Iwanaga", "Jarrow",
    "Kestrel", "Lindqvist", "Marchetti", "Nakagawa", "Okonjo", "Pellerin", "Quist", "Rosales", "Sandoval", "Thackeray",
)  # fmt: skip

DIAGNOSES = {
    "hypertension": (24, 900),
    "diabetes": (16, 1400),
    "asthma": (14, 700),
    "gastritis": (12, 500),
    "influenza": (12, 300),
    "arthritis": (10, 800),
    "pneumonia": (7, 3200),
    "HIV": (5, 2600),
}
"""What brought them in: weight, and what it costs on average."""

LAST_DAY = date(2004, 12, 31)


def patients(count: int = PATIENTS, seed: int = SEED) -> Iterator[tuple[str, ...]]:
    """The rows of the table, as text."""
    dice = random.Random(seed)
    for number in range(1, count + 1):
        yield patient(dice, number)


def patient(dice: random.Random, number: int) -> tuple[str, ...]:
    """One row."""
    sex = pick(dice, ("female", "male"), (53, 47))
    born = birth_date(dice)
    diagnosis = pick(dice, tuple(DIAGNOSES), [weight for weight, _ in DIAGNOSES.values()])
    return (
        f"P{number:04d}",
        f"{pick(dice, GIVEN_NAMES[sex])} {pick(dice, FAMILY_NAMES)}",
        social_security_number(dice),
        pick(dice, tuple(AREAS), tuple(AREAS.values())) + str(below(dice, 10)),
        born.isoformat(),
        sex,
        marital_status(dice, born),
        diagnosis,
        f"{DIAGNOSES[diagnosis][1] * (0.5 + dice.random()):.2f}",
    )


def birth_date(dice: random.Random) -> date:
    """Within the fifty years before the last day, most of them in the middle."""
    age_in_days = int(365.25 * 50 * (dice.random() + dice.random()) / 2)
    return LAST_DAY - timedelta(days=age_in_days)


def marital_status(dice: random.Random, born: date) -> str:
    """Older patients are less often single."""
    if born.year >= 1990:
        return pick(dice, ("single", "married", "divorced"), (70, 26, 4))
    if born.year >= 1960:
        return pick(dice, ("single", "married", "divorced", "widowed"), (22, 58, 17, 3))
    return pick(dice, ("single", "married", "divorced", "widowed"), (8, 56, 14, 22))


def social_security_number(dice: random.Random) -> str:
    """A number of the range that is never issued."""
    return f"9{below(dice, 100):02d}-{1 + below(dice, 99):02d}-{1 + below(dice, 9999):04d}"


def pick(dice: random.Random, options: Sequence[str], weights: Sequence[int] | None = None) -> str:
    """One of the options. Uses only `random()`, whose sequence Python keeps the same in every version."""
    shares = weights or [1] * len(options)
    point = dice.random() * sum(shares)
    for option, share in zip(options, shares, strict=True):
        point -= share
        if point < 0:
            return option
    return options[-1]


def below(dice: random.Random, bound: int) -> int:
    """A whole number from 0 to less than the bound."""
    return int(dice.random() * bound)


def write(path: Path) -> None:
    """The table as a csv file with a header."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(patients())


if __name__ == "__main__":
    write(Path(__file__).with_name("patients.csv"))
