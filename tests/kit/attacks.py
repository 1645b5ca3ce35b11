"""Specs and tables of the papers' attacks, in a database that a test has to itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database
from tests.kit.papers import PAPERS, load_case

HEALTH = (
    "hypertension",
    "obesity",
    "chest pain",
    "obesity",
    "hypertension",
    "shortness of breath",
    "shortness of breath",
    "obesity",
    "chest pain",
    "obesity",
    "shortness of breath",
)
"""Samarati 2001, Figure 1: the column that S3 leaves out."""

VOTERS = (
    ("Sue J. Carlson", "94142", "1961-09-15", "female"),
    # Invented: born on the same day elsewhere, the same place and day but male, outside every hierarchy, unknown ZIP.
    ("Ann Lee", "94139", "1961-09-15", "female"),
    ("Bob Roe", "94142", "1961-09-15", "male"),
    ("Cy Poe", "10001", "1961-09-15", "female"),
    ("Di Noe", None, "1961-09-15", "female"),
)

CHAPTER = {
    "zip": {
        "role": "quasi_identifier",
        "hierarchy": {"csv": {"path": "../hierarchies/zip_chapter.csv", "delimiter": ";"}},
    },
    "marital": {"role": "quasi_identifier", "hierarchy": {"csv": {"path": "../hierarchies/marital.csv"}}},
    "sex": {"role": "quasi_identifier", "hierarchy": {"tree": {"not_released": ["F", "M"]}}},
}

FIGURE_19 = (
    ("22030", "married", "F", "N", 230),
    ("22030", "married", "F", "N", 220),
    ("22030", "single", "M", "Y", 250),
    ("22032", "single", "M", "Y", 260),
    ("22032", "single", "M", "N", 250),
    ("22032", "divorced", "F", "N", 275),
    ("22045", "divorced", "M", "N", 285),
    ("22047", "widow", "M", "Y", 210),
    ("22047", "widow", "M", "N", 190),
)
"""Chapter, Figure 19, with values of Figure 1 that generalize to it."""

SLIDE = (
    ("asian", "1964", "F", "94141", "hypertension"),
    ("asian", "1964", "F", "94142", "obesity"),
    ("asian", "1964", "F", "94139", "chest pain"),
    ("asian", "1963", "M", "94138", "obesity"),
    ("asian", "1963", "M", "94139", "obesity"),
    ("black", "1964", "F", "94138", "short breath"),
    ("black", "1964", "F", "94139", "short breath"),
    ("white", "1964", "F", "94139", "chest pain"),
    ("white", "1964", "F", "94141", "short breath"),
)
"""FOSAD slides: the table of the homogeneity and background knowledge attacks; ZIP codes invented below 941**."""


def figure_1(url: str, limit: int) -> Spec:
    """Samarati's medical data with a voter list beside it."""
    case, database = load_case("s3"), Database(url)
    rows = [(*row, problem) for row, problem in zip(case.rows, HEALTH, strict=True)]
    database.create("medical", {**case.types, "problem": "text"}, rows)
    database.create("voters", {"name": "text", "zip": "text", "born": "date", "sex": "text"}, VOTERS)
    return spec_of(url, "medical", {**case.spec["columns"], "problem": {"role": "sensitive"}}, k=2, limit=limit)


def figure_18(url: str) -> Spec:
    """The chapter's Figure 1 table, whose release is Figure 18."""
    case = load_case("c1")
    Database(url).create("patients", case.types, case.rows)
    return spec_of(url, "patients", {**CHAPTER, "disease": {"role": "sensitive"}}, k=3, limit=2)


def figure_19(url: str) -> Spec:
    types = {"zip": "text", "marital": "text", "sex": "text", "diabetes": "text", "cholesterol": "int"}
    Database(url).create("patients", types, FIGURE_19)
    more = {"diabetes": {"role": "sensitive"}, "cholesterol": {"role": "sensitive"}}
    return spec_of(url, "patients", {**CHAPTER, **more}, k=3, limit=0)


def slide(url: str, **more: Any) -> Spec:
    types = {"race": "text", "born": "text", "sex": "text", "zip": "text", "disease": "text"}
    Database(url).create("patients", types, SLIDE)
    columns = {
        "race": {"role": "quasi_identifier", "hierarchy": {"csv": {"path": "../hierarchies/race.csv"}}},
        "born": {"role": "quasi_identifier"},
        "sex": {"role": "quasi_identifier"},
        "zip": {"role": "quasi_identifier", "hierarchy": {"csv": {"path": "../hierarchies/zip.csv"}}},
        "disease": {"role": "sensitive", **more},
    }
    return spec_of(url, "patients", columns, k=2, limit=0, prefer=["minimum_relative_distance"])


def spec_of(
    url: str,
    source: str,
    columns: Mapping[str, Any],
    k: int,
    limit: int,
    prefer: Sequence[str] = (),
    **privacy: Any,
) -> Spec:
    """A release of these columns, searched as Samarati does."""
    values = {
        "connection": url,
        "source": source,
        "target": "released",
        "columns": columns,
        "privacy": {"k": k, "suppression": {"limit": limit}, **privacy},
        "search": {"algorithm": "samarati", "prefer": list(prefer)},
    }
    return spec_from_dict(values, PAPERS / "c1")
