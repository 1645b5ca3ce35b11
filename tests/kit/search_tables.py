"""The worked tables of Samarati 2001, the FOSAD 2008 slides and the chapter, with their hierarchies."""

from __future__ import annotations

from collections.abc import Iterable

from tests.kit.fake_evaluator import Hierarchy, Table

RACE: Hierarchy = {race: (race, "person") for race in ("asian", "black", "white")}
ZIP: Hierarchy = {code: (code, code[:4] + "*", "941**") for code in ("94138", "94139", "94141", "94142")}
SEX: Hierarchy = {sex: (sex, "not_released") for sex in ("male", "female")}
MARITAL: Hierarchy = {
    **{status: (status, "been_married", "not_released") for status in ("married", "divorced", "widow")},
    "single": ("single", "never_married", "not_released"),
}
CHAPTER_ZIP: Hierarchy = {code: (code, code[:4] + "*", "220**") for code in ("22030", "22032", "22045", "22047")}
CHAPTER_SEX: Hierarchy = {sex: (sex, "not_released") for sex in ("M", "F")}


def birth_dates(dates: Iterable[str]) -> Hierarchy:
    """Day, month, year, five years, ten years; dates as month/day/year of the 1960s."""
    return {date: _date_labels(date) for date in dates}


def _date_labels(date: str) -> tuple[str, ...]:
    month, _, year = date.split("/")
    return date, f"{month}/{year}", year, "60-64" if year < "65" else "65-69", "60-69"


def _table(text: str, *hierarchies: Hierarchy) -> Table:
    rows = tuple(tuple(line.split()) for line in text.strip().splitlines())
    return Table(rows, hierarchies)


S1 = Table(tuple((race, code) for race in RACE for code in ZIP), (RACE, ZIP))

S2 = _table(
    """
    asian 94138
    asian 94138
    asian 94142
    asian 94142
    black 94138
    black 94141
    black 94142
    white 94138
    """,
    RACE,
    ZIP,
)

_S3 = """
    asian 09/27/64 female 94139 divorced
    asian 09/30/64 female 94139 divorced
    asian 04/18/64 male 94139 married
    asian 04/15/64 male 94139 married
    black 03/13/63 male 94138 married
    black 03/18/63 male 94138 married
    black 09/13/64 female 94141 married
    black 09/07/64 female 94141 married
    white 05/14/61 male 94138 single
    white 05/08/61 male 94138 single
    white 09/15/61 female 94142 widow
"""
S3 = _table(_S3, RACE, birth_dates(line.split()[1] for line in _S3.strip().splitlines()), SEX, ZIP, MARITAL)

_S4 = """
    black 09/20/65 male 94141
    black 02/14/65 male 94141
    black 10/23/65 female 94138
    black 08/24/65 female 94138
    black 11/07/64 female 94138
    black 12/01/64 female 94138
    white 10/23/64 male 94138
    white 03/15/65 female 94139
    white 08/13/64 male 94139
    white 05/05/64 male 94139
    white 02/13/67 male 94138
    white 03/21/67 male 94138
"""
S4 = _table(_S4, RACE, birth_dates(line.split()[1] for line in _S4.strip().splitlines()), SEX, ZIP)

F1 = _table(
    """
    asian 94142
    asian 94141
    asian 94139
    asian 94139
    asian 94139
    black 94138
    black 94139
    white 94139
    white 94141
    """,
    RACE,
    ZIP,
)

C1 = _table(
    """
    22030 married F
    22030 married F
    22030 single M
    22032 single M
    22032 single M
    22032 divorced F
    22045 divorced M
    22047 widow M
    22047 widow M
    22047 single F
    """,
    CHAPTER_ZIP,
    MARITAL,
    CHAPTER_SEX,
)
