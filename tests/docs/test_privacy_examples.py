"""The worked examples of the pages on privacy models: every row of their tables is what the oracle computes.

The papers' tables, the pages' Markdown, and the oracle; nothing of sqlanon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log
from pathlib import Path
from typing import Any

import pytest

from tests.kit.oracle import (
    Alpha,
    Asked,
    BetaLikeness,
    Block,
    DeltaDisclosure,
    DeltaPresence,
    DistinctL,
    EntropyL,
    Holdings,
    K,
    Key,
    Labels,
    Model,
    Problem,
    RecursiveL,
    Row,
    Table,
    TEqual,
    THierarchical,
    TOrdered,
    key_of,
)
from tests.kit.papers import load_case

DOCS = Path(__file__).parents[2] / "docs" / "privacy"

CHAPTER = ("zip", "marital", "sex")
FIGURE_19 = """
    2203* been_married F N 230, 2203* been_married F N 220, 2203* never_married M Y 250, 2203* never_married M Y 260,
    2203* never_married M N 250, 2203* been_married F N 275, 2204* been_married M N 285, 2204* been_married M Y 210,
    2204* been_married M N 190
"""
XIAO_AND_TAO = ("age", "sex", "zipcode")
FIGURE_1A = """
    5 M 12000 gastric ulcer, 9 M 14000 dyspepsia, 6 M 18000 pneumonia, 8 M 19000 bronchitis, 12 M 22000 pneumonia,
    19 M 24000 pneumonia, 21 F 58000 flu, 26 F 36000 gastritis, 28 F 37000 pneumonia, 56 F 33000 flu
"""
AGES = ((1, 10), (11, 20), (21, 60))
ZIP_CODES = ((10001, 15000), (15001, 20000), (20001, 25000), (30000, 60000))
KINDS = {"respiratory": ["flu", "pneumonia", "bronchitis"], "stomach": ["gastric ulcer", "dyspepsia", "gastritis"]}
TAXONOMY: Labels = {disease: (disease, kind, "*") for kind, diseases in KINDS.items() for disease in diseases}

# -- the tables --------------------------------------------------------------------------------------------------------


def figure_1(*models: Model, limit: int) -> Problem:
    """The chapter's first table, asked for 3-anonymity and more."""
    case = load_case("c1")
    rows = [dict(zip(case.columns, row, strict=True)) for row in case.rows]
    asked = (Asked(K(3), CHAPTER), *(Asked(model, CHAPTER, "disease") for model in models))
    return Problem(Table(rows), dict(zip(CHAPTER, case.labels, strict=True)), asked, limit)


def figure_18() -> Table:
    return figure_1(limit=1).kept((1, 1, 0))


def figure_19() -> Table:
    rows = [line.split() for line in FIGURE_19.split(",")]
    named = [dict(zip((*CHAPTER, "diabetes", "cholesterol"), row, strict=True)) for row in rows]
    return Table([{**row, "cholesterol": int(row["cholesterol"])} for row in named])


def figure_1c() -> Table:
    """Xiao and Tao's release, with their voter list, which has one person more."""
    people = [line.split(maxsplit=3) for line in FIGURE_1A.strip().split(",")]
    rows = [{**coarse(*person[:3]), "disease": person[3]} for person in people]
    return Table(rows, population=[*(coarse(*person[:3]) for person in people), coarse("7", "M", "17000")])


def coarse(age: str, sex: str, zipcode: str) -> Row:
    return {"age": within(int(age), AGES), "sex": sex, "zipcode": within(int(zipcode), ZIP_CODES)}


def within(number: int, intervals: Sequence[tuple[int, int]]) -> str:
    [found] = [f"[{low}, {high}]" for low, high in intervals if low <= number <= high]
    return found


# -- rows of the pages' tables -----------------------------------------------------------------------------------------

Blocks = dict[Key, Block]


def blocks(table: Table, columns: tuple[str, ...], sensitive: str = "disease") -> Blocks:
    """The classes of a table; those of the population without a row in it are left out."""
    return table.blocks(Asked(K(1), columns, sensitive))


def row(*cells: object) -> str:
    return " | ".join(["", *(str(cell) for cell in cells), ""]).strip().replace("|  |", "| |")


def start(key: Key, block: Block) -> tuple[str, str]:
    """The cells that tables of diseases begin with: the class, and who has what in it."""
    held = sorted(block.members.holders.items())
    always = not key[0].startswith("[")
    values = ", ".join(f"{number} {value}" if always or number > 1 else value for value, number in held)
    return f"`{', '.join(key)}`", values


def rounded(figure: Any, places: int) -> str:
    return "none" if figure is None else f"{float(figure):.{places}f}"


def rows_of_l_diversity() -> list[str]:
    return [
        row(
            *start(key, block),
            DistinctL(1).figure(block),
            rounded(EntropyL(1).figure(block), 2),
            rounded(RecursiveL(1, 2).figure(block), 2),
        )
        for key, block in blocks(figure_18(), CHAPTER).items()
    ]


def rows_of_p_sensitivity() -> list[str]:
    found = blocks(figure_18(), CHAPTER).items()
    return [row(*start(key, block), block.members.people, DistinctL(1).figure(block)) for key, block in found]


def rows_of_alpha() -> list[str]:
    found = blocks(figure_18(), CHAPTER).items()
    return [row(*start(key, block), rounded(Alpha("HIV", 1).figure(block), 2)) for key, block in found]


def rows_of_beta_likeness() -> list[str]:
    rows = []
    for key, block in blocks(figure_18(), CHAPTER).items():
        gain, value = max((gain, value) for value, gain in BetaLikeness(1).gains(block).items())
        bound = -log(block.shares.reference(value))
        rows.append(row(*start(key, block), rounded(gain, 3), value, rounded(bound, 3)))
    return rows


def rows_of_delta_disclosure() -> list[str]:
    return [
        row(
            *start(key, block),
            rounded(DeltaDisclosure(1).figure(block), 3),
            len(block.shares.source) - len(block.shares.held),
        )
        for key, block in blocks(figure_18(), CHAPTER).items()
    ]


def rows_of_t_closeness() -> list[str]:
    rows = []
    cholesterol = blocks(figure_19(), CHAPTER, "cholesterol")
    for key, block in blocks(figure_19(), CHAPTER, "diabetes").items():
        other = cholesterol[key]
        rows.append(
            row(
                f"`{', '.join(key)}`",
                f"{block.members.holders['Y']} of {block.members.people}",
                ", ".join(sorted(str(value) for _, value in other.members.pairs)),
                rounded(TEqual(1).figure(block), 3),
                rounded(TEqual(1).figure(other), 3),
                rounded(TOrdered(1).figure(other), 3),
            )
        )
    for key, block in blocks(figure_1c(), XIAO_AND_TAO).items():
        distances = TEqual(1).figure(block), THierarchical(1, TAXONOMY).figure(block)
        rows.append(row(*start(key, block), *(rounded(distance, 3) for distance in distances)))
    return rows


def rows_of_k_map() -> list[str]:
    found = blocks(figure_1c(), XIAO_AND_TAO).items()
    return [row(start(key, block)[0], block.members.people, block.population) for key, block in found]


def rows_of_delta_presence() -> list[str]:
    return [
        row(
            start(key, block)[0],
            block.members.people,
            block.population,
            rounded(DeltaPresence(0, 1).figure(block), 2),
        )
        for key, block in blocks(figure_1c(), XIAO_AND_TAO).items()
    ]


def rows_of_respondents() -> list[str]:
    pairs = (("1", "flu"), ("1", "asthma"), ("1", "gout"), ("2", "flu"), ("2", "flu"))
    by_rows, by_persons = (Table([{"r": r, "s": s} for r, s in pairs], respondent) for respondent in (None, "r"))
    figures: dict[str, tuple[Model, int]] = {
        "k": (K(1), 0),
        "distinct values": (DistinctL(1), 0),
        "entropy: equally frequent values": (EntropyL(1), 2),
    }
    return [
        row(words, *(rounded(table.figure(Asked(model, (), "s")), places) for table in (by_rows, by_persons)))
        for words, (model, places) in figures.items()
    ]


def rows_of_rounds() -> list[str]:
    rows = [dict(zip(("zip", "doctor"), values, strict=True)) for values in ("ax", "ax", "bx", "by", "cy")]
    asked = (Asked(K(2), ("zip",)), Asked(K(2), ("doctor",)))
    left, dropped = {*range(5)}, dict.fromkeys(range(5), "")
    for number in range(1, 6):
        table = Table([rows[index] for index in sorted(left)])
        verdicts = [(one.columns, table.verdicts(one)) for one in asked]
        for index in sorted(left):
            if not all(found[key_of(rows[index], columns)] for columns, found in verdicts):
                dropped[index] = str(number)
                left.remove(index)
    return [row(index + 1, item["zip"], item["doctor"], dropped[index]) for index, item in enumerate(rows)]


# -- the pages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "rows"),
    [
        ("l-diversity", rows_of_l_diversity),
        ("p-sensitive", rows_of_p_sensitivity),
        ("alpha-k", rows_of_alpha),
        ("beta-likeness", rows_of_beta_likeness),
        ("delta-disclosure", rows_of_delta_disclosure),
        ("t-closeness", rows_of_t_closeness),
        ("k-map", rows_of_k_map),
        ("delta-presence", rows_of_delta_presence),
        ("respondents", rows_of_respondents),
        ("several-quasi-identifiers", rows_of_rounds),
    ],
)
def test_the_figures_of_the_example(page: str, rows: Callable[[], list[str]]) -> None:
    lines, expected = text_of(page).splitlines(), rows()
    assert expected
    assert [line for line in expected if line not in lines] == []


def text_of(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "models", "limit", "minimal"),
    [
        ("k-anonymity", [], 2, ["[0,2,1]", "[1,1,0]"]),
        ("k-anonymity", [], 0, ["[1,2,1]", "[2,1,1]", "[2,2,0]"]),
        ("l-diversity", [DistinctL(2)], 2, ["[0,2,1]", "[2,1,1]", "[2,2,0]"]),
        ("p-sensitive", [DistinctL(2)], 2, ["[0,2,1]", "[2,1,1]", "[2,2,0]"]),
        ("beta-likeness", [BetaLikeness(2)], 2, ["[0,2,1]", "[2,1,1]", "[2,2,0]"]),
        ("beta-likeness", [BetaLikeness(2, enhanced=True)], 2, ["[1,2,1]", "[2,1,1]"]),
        ("delta-disclosure", [DeltaDisclosure(Fraction(4, 5), every=True)], 0, ["[2,2,1]"]),
    ],
)
def test_the_minimal_vectors_of_the_example(page: str, models: list[Model], limit: int, minimal: list[str]) -> None:
    found = [str([*node]).replace(" ", "") for node in figure_1(*models, limit=limit).minimal()]
    assert found == minimal
    assert all(vector in text_of(page) for vector in found)


def test_a_vector_above_an_acceptable_one_that_is_not() -> None:
    shares = figure_1(Alpha("HIV", Fraction(2, 5)), limit=4)
    assert [shares.suppressed(node) for node in ((1, 1, 0), (2, 2, 0))] == [4, 6]
    assert "refuse [2,2,0] above it, which would have to suppress 6" in text_of("alpha-k")


def test_classes_by_the_other_sensitive_columns_are_small() -> None:
    known = Asked(DistinctL(2), (*CHAPTER, "cholesterol"), "diabetes")
    assert [item["cholesterol"] for item in figure_19().kept([known]).rows] == [250, 250]
    assert not figure_19().kept([known, Asked(K(3), CHAPTER)]).rows


def test_a_tie_of_entropy_with_more_values_than_l() -> None:
    tie = Table([{"s": value} for value in "aaaabcde"])
    assert tie.satisfied([Asked(EntropyL(4), (), "s")])
    assert not tie.satisfied([Asked(EntropyL(Fraction(4_000_001, 1_000_000)), (), "s")])


def test_distinct_values_of_persons_are_an_upper_bound() -> None:
    several = ((person, value) for person in "12" for value in "abc")
    assert Holdings((*several, *((person, "d") for person in "345"))).distinct == 4
