"""Hierarchies that `init` drafts: vocabularies, groups of values that none knows, cuts of numbers."""

from __future__ import annotations

import csv
import stat
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.draft.grouping import by_company, by_frequency, by_vocabulary, listing, quantile_cuts
from sqlanon.draft.vocabulary import TITLES, best_match, vocabularies
from tests.kit.commands import CommandLine
from tests.kit.engine import execute, open_at
from tests.kit.papers import adversarial_values

FOLDER = Path(__file__).parents[2] / "sqlanon" / "draft" / "vocabularies"


@pytest.mark.parametrize("name", sorted(TITLES))
def test_labels_of_a_vocabulary_nest(name: str) -> None:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines, delimiter=";")
    parents: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
    for row in rows:
        assert len(row) == len(header)
        assert all(cell == cell.strip() and cell for cell in row)
        for level in range(1, len(row) - 1):
            parents[level, row[level]].add(row[level + 1])
    assert all(len(above) == 1 for above in parents.values())


def test_every_vocabulary_has_words_and_a_file() -> None:
    assert {vocabulary.name for vocabulary in vocabularies()} == {*TITLES, "icd10", "nuts"}
    assert {path.stem for path in FOLDER.iterdir()} == {*TITLES, "icd10_blocks"}
    assert all(vocabulary.words for vocabulary in vocabularies())


@pytest.mark.parametrize(
    ("column", "values", "vocabulary"),
    [
        ("native-country", ["United-States", "Hong", "Holand-Netherlands", "Côte d'Ivoire"], "countries"),
        ("land", ["DEU", "FRA", "POL"], "countries"),
        ("x", ["Germany", "France", "Poland"], "countries"),
        ("state", ["CA", "TX", "NY"], "us_states"),
        ("country", ["CA", "DE", "CO"], "countries"),
        ("education", ["HS-grad", "Some-college", "Prof-school", "5th-6th"], "education"),
        ("workclass", ["Private", "Self-emp-not-inc", "Local-gov"], "employment"),
        ("job", ["nurse", "Truck Driver", "Teacher"], "occupations"),
        ("icd", ["E11.9", "I10", "J45.909"], "icd10"),
        ("region", ["DE212", "FR101", "ITC4C"], "nuts"),
        ("dow", ["mon", "tue", "Samstag"], "weekdays"),
        ("blood_type", ["A+", "0-", "AB pos"], "blood_groups"),
        ("marital", ["married", "ledig", "divorced"], "marital_states"),
    ],
)
def test_values_and_names_tell_a_vocabulary(column: str, values: list[str], vocabulary: str) -> None:
    match = best_match(dict.fromkeys(values, 1), frozenset(column.split("-")) | frozenset(column.split("_")))
    assert match is not None
    assert match.vocabulary.name == vocabulary
    assert match.share == 1


@pytest.mark.parametrize("values", [["CA", "TX"], ["A", "B"], ["red", "green", "blue"], ["M", "F"], ["", "?"]])
def test_few_terms_under_a_name_that_says_nothing_are_no_vocabulary(values: list[str]) -> None:
    assert best_match(dict.fromkeys(values, 1), frozenset({"x"})) is None


def test_codes_of_diagnoses_lie_in_their_blocks() -> None:
    match = best_match({"E11.9": 1, "e10": 1, "S72.001A": 1, "C50.9": 1}, frozenset({"icd"}))
    assert match is not None
    assert match.labels["E11.9"][:2] == ("E11", "E08-E14")
    assert match.labels["e10"][2] == match.labels["E11.9"][2]
    assert match.labels["S72.001A"][1] == "S70-S79"
    assert match.labels["C50.9"][2] == "C00-D49 II neoplasms"


def test_values_that_are_no_terms_share_one_label() -> None:
    counts = {"Germany": 60, "France": 30, "Atlantis": 6, "?": 4}
    match = best_match(counts, frozenset({"country"}))
    assert match is not None
    found = by_vocabulary(counts, match)
    assert found is not None
    assert {row[0]: row[1:] for row in found.rows}["?"] == {row[0]: row[1:] for row in found.rows}["Atlantis"]


def _nests(rows: tuple[tuple[str, ...], ...]) -> bool:
    """Each label has one parent, and each level merges something."""
    levels = list(zip(*rows, strict=True))
    parents = [{(low, high) for low, high in zip(fine, coarse, strict=True)} for fine, coarse in pairwise(levels)]
    return all(len(pairs) == len({low for low, _ in pairs}) for pairs in parents) and all(
        len(set(coarse)) < len(set(fine)) for fine, coarse in pairwise(levels)
    )


TABLES = st.dictionaries(st.text(max_size=4), st.integers(1, 50), min_size=1, max_size=14)


@given(counts=TABLES)
def test_groups_by_frequency_nest(counts: dict[str, int]) -> None:
    found = by_frequency(counts)
    if found is not None:
        assert {row[0] for row in found.rows} == counts.keys()
        assert _nests(found.rows)
        losses = found.losses(counts)
        assert list(losses) == sorted(losses)
        assert losses[0] == 0
        assert losses[-1] == 1


@given(counts=TABLES, data=st.data())
def test_groups_by_company_nest(counts: dict[str, int], data: st.DataObject) -> None:
    beside = st.dictionaries(st.sampled_from("xyz"), st.integers(1, 9), min_size=1)
    found = by_company(counts, {value: [data.draw(beside)] for value in counts})
    if found is not None:
        assert {row[0] for row in found.rows} == counts.keys()
        assert _nests(found.rows)


def test_values_that_occur_alike_are_put_together() -> None:
    counts = {f"{kind}{number}": 10 for kind in "ab" for number in range(6)}
    profiles = {value: [{"left" if value[0] == "a" else "right": 10}] for value in counts}
    found = by_company(counts, profiles)
    assert found is not None
    assert {(row[0][0], row[-1]) for row in found.rows} == {("a", "a0 and 5 more"), ("b", "b0 and 5 more")}


def test_levels_that_merge_nothing_or_everything_are_left_out() -> None:
    assert listing([("a", "x", "t"), ("b", "y", "t")], "") is None
    found = listing([("a", "a", "x", "t"), ("b", "b", "x", "t"), ("c", "c", "y", "t")], "")
    assert found is not None
    assert found.rows == (("a", "x"), ("b", "x"), ("c", "y"))


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), max_size=15), st.booleans())
def test_cuts_nest(numbers: list[Decimal], whole: bool) -> None:
    levels = quantile_cuts(sorted(numbers), whole=whole)
    for fine, coarse in pairwise(levels):
        assert set(coarse) < set(fine)
    assert all(list(level) == sorted(set(level)) for level in levels)
    assert not whole or all(cut == int(cut) for level in levels for cut in level)


PEOPLE = """
CREATE TABLE people AS
SELECT
    'p' || CAST(g % 150 AS TEXT) AS patient_id,
    CASE g % 5
        WHEN 0 THEN 'Germany' WHEN 1 THEN 'Poland' WHEN 2 THEN 'Japan' WHEN 3 THEN 'Peru' ELSE 'Atlantis'
    END AS country,
    CASE WHEN g % 10 < 6 THEN 'a' || CAST(g % 6 AS TEXT) ELSE 'b' || CAST(g % 4 AS TEXT) END AS ward,
    CASE WHEN g % 10 < 6 THEN 'day' ELSE 'night' END AS shift,
    CASE WHEN g % 100 < 98 THEN g % 40 ELSE g * 1000 END AS points,
    g % 60 AS age
FROM generate_series(1, 400) AS s(g)
"""


@pytest.mark.one_engine
def test_drafted_hierarchies_are_files_of_their_owner_and_pass_a_plan(
    sqlanon: CommandLine, engine_url: str, folder: Path
) -> None:
    engine = open_at(engine_url)
    execute(engine, PEOPLE)
    engine.close()
    outcome = sqlanon("init", "people", "--connection", engine_url, "--json")
    assert outcome.code == 0, outcome.err
    columns = outcome.json["columns"]
    assert columns["country"]["hierarchy"] == "{csv: spec_country.csv}"
    assert columns["ward"]["hierarchy"] == "{csv: spec_ward.csv}"
    assert columns["points"]["hierarchy"].startswith("{interval: {cuts: [[")
    assert columns["country"]["loss"][0] == 0
    assert columns["country"]["loss"][-1] == 1
    assert outcome.json["respondent"] == "patient_id"
    path = folder / "spec_country.csv"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rows = {row[0]: row[1:] for row in csv.reader(path.read_text(encoding="utf-8").splitlines(), delimiter=";")}
    assert rows["Germany"] == ["Europe"]
    assert rows["Atlantis"] == ["other countries"]
    planned = sqlanon("plan", "spec.yaml", "--json")
    assert planned.code == 0, planned.err


def test_few_numbers_are_not_named_as_cuts(sqlanon: CommandLine, engine_url: str, folder: Path) -> None:
    """Each of 30 amounts is one person's: quantiles would name half of them."""
    engine = open_at(engine_url)
    points = "CASE WHEN g < 29 THEN 40 + g ELSE 9000 END AS points"
    execute(engine, f"CREATE TABLE few AS SELECT {points} FROM generate_series(1, 30) AS s(g)")
    engine.close()
    outcome = sqlanon("init", "few", "--connection", engine_url, "--json")
    assert outcome.json["columns"]["points"]["hierarchy"] == "{interval: {widths: [500, 1000, 2000, 4000]}}"


def test_values_of_every_kind_stand_in_the_file_as_they_are(
    sqlanon: CommandLine, engine_url: str, folder: Path
) -> None:
    values = [value for value in adversarial_values() if isinstance(value, str) and "\0" not in value]
    plain = [value for value in values if not set(value) & set("\r\n")]
    engine = open_at(engine_url)
    execute(engine, 'CREATE TABLE odd ("ward; ""ß""" TEXT, other TEXT)')
    for number, value in enumerate(plain * 3):
        literal = "'" + value.replace("'", "''") + "'"
        execute(engine, f"INSERT INTO odd VALUES ({literal}, 'o{number % 2}')")
    engine.close()
    outcome = sqlanon("init", "odd", "--connection", engine_url, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["hierarchies"], outcome.json["columns"]
    [name] = outcome.json["hierarchies"].values()
    with Path(name).open(encoding="utf-8", newline="") as lines:
        assert {row[0] for row in csv.reader(lines, delimiter=";")} == set(plain)
    checked = sqlanon("check", "spec.yaml")
    assert checked.code == 0, checked.err


def test_files_that_stand_already_are_kept_unless_the_replaced_draft_named_them(
    sqlanon: CommandLine, folder: Path
) -> None:
    lines = ["country,age", *(f"{('Germany', 'France', 'Japan')[n % 3]},{20 + n % 5}" for n in range(30))]
    (folder / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "spec_country.csv").write_text("mine", encoding="utf-8")
    assert sqlanon("init", "people.csv").code == 0
    assert sqlanon("init", "people.csv", "--force").code == 0
    assert (folder / "spec_country.csv").read_text(encoding="utf-8") == "mine"
    assert "Japan;Eastern Asia" in (folder / "spec_country_2.csv").read_text(encoding="utf-8")
    assert not (folder / "spec_country_3.csv").exists()
    assert sqlanon("init", "people.csv", "--force", "--no-values").code == 0
    assert "suppression" in (folder / "spec.yaml").read_text(encoding="utf-8")


ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult" / "adult.csv"

TRIALS = {
    "visits": (
        """
        SELECT
            'P' || CAST(10000 + (g * 7919) % 220 AS TEXT) AS patient_no,
            '1' || lpad(CAST((g * 7919) % 220 AS TEXT), 9, '0') AS nhs_number,
            'Name ' || CAST((g * 7919) % 220 AS TEXT) AS patient_name,
            'p' || CAST((g * 7919) % 220 AS TEXT) || '@mail.example' AS contact,
            DATE '1940-01-01' + CAST(((g * 7919) % 220) * 113 AS INTEGER) AS birth_date,
            DATE '2024-01-01' + CAST(g % 360 AS INTEGER) AS admitted,
            ['Germany', 'France', 'Poland', 'Turkey', 'Italy', 'Syria'][1 + (g * 7919) % 220 % 6] AS nationality,
            ['married', 'single', 'divorced', 'widowed'][1 + (g * 7919) % 220 % 4] AS marital_status,
            ['cardiology', 'surgery', 'oncology', 'neurology', 'geriatrics', 'urology', 'ent', 'icu', 'paediatrics']
                [1 + g % 9] AS ward,
            ['F', 'M'][1 + (g * 7919) % 220 % 2] AS sex,
            ['I10', 'E11.9', 'J45.0', 'C50.9', 'S72.0'][1 + g % 5] AS icd10,
            100.0 + g % 97 AS cost
        FROM generate_series(1, 700) AS s(g)
        """,
        "patient_no",
        {"patient_no", "nhs_number", "patient_name", "contact"},
    ),
    "orders": (
        """
        SELECT
            g AS order_id,
            'C-' || lpad(CAST((g * 31) % 180 AS TEXT), 5, '0') AS customer_id,
            '+49 30 ' || CAST(1000000 + (g * 31) % 180 AS TEXT) AS phone,
            (g * 31) % 180 || ' Main Street' AS shipping_address,
            CAST(10100 + (g * 31) % 180 % 40 AS TEXT) AS postcode,
            ['Berlin', 'Hamburg', 'Munich', 'Cologne', 'Frankfurt', 'Kiel', 'Leipzig', 'Bremen', 'Ulm', 'Essen']
                [1 + (g * 31) % 180 % 10] AS city,
            ['EUR', 'USD', 'PLN', 'CHF', 'GBP'][1 + g % 5] AS currency,
            ['card', 'paypal', 'invoice', 'cash'][1 + g % 4] AS payment_method,
            TIMESTAMP '2025-01-01 08:00:00' + g * INTERVAL 3 HOUR AS ordered_at,
            g % 400 + (CASE WHEN g % 50 = 0 THEN 9000 ELSE 0 END) AS amount
        FROM generate_series(1, 600) AS s(g)
        """,
        "customer_id",
        {"order_id", "customer_id", "phone", "shipping_address"},
    ),
    "survey": (
        """
        SELECT
            g AS respondent_id,
            '10.0.' || CAST(g % 256 AS TEXT) || '.' || CAST(g // 256 AS TEXT) AS ip,
            18 + g % 70 AS age,
            ['woman', 'man', 'non-binary'][1 + g % 3] AS gender,
            ['HS-grad', 'Bachelors', 'Masters', 'Some college', 'PhD', '9th'][1 + g % 6] AS highest_education,
            ['teacher', 'nurse', 'software engineer', 'truck driver', 'farmer', 'cashier', 'lawyer', 'cleaner']
                [1 + g % 8] AS occupation,
            ['Catholic', 'Lutheran', 'Muslim', 'none', 'Jewish', 'Hindu'][1 + g % 6] AS religion,
            ['CA', 'TX', 'NY', 'WA', 'FL', 'OH', 'GA'][1 + g % 7] AS state,
            ['en', 'es', 'zh', 'fr'][1 + g % 4] AS home_language,
            g % 5 AS satisfaction
        FROM generate_series(1, 500) AS s(g)
        """,
        None,
        {"respondent_id", "ip"},
    ),
}
"""Of each table its rows, the key of its persons where they repeat, and its direct identifiers."""


@pytest.mark.parametrize("name", list(TRIALS))
def test_a_draft_needs_no_edit(sqlanon: CommandLine, folder: Path, name: str) -> None:
    rows, person, identifiers = TRIALS[name]
    engine = open_at("duckdb:///trial.duckdb")
    execute(engine, f"CREATE TABLE {name} AS {rows}")
    engine.close()
    accepted(sqlanon, (name, "--connection", "duckdb:///trial.duckdb"), person, identifiers)


@pytest.mark.adult
@pytest.mark.skipif(not ADULT.is_file(), reason="the Adult data of ../shared/data/adult is absent")
def test_a_draft_of_adult_needs_no_edit(sqlanon: CommandLine, folder: Path) -> None:
    levels = accepted(sqlanon, (str(ADULT), "--target", "released.csv"), None, set())
    assert len(levels) == 8
    spec = folder / "spec.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("{limit: 2%}", "{limit: 4%}"), encoding="utf-8")
    planned = sqlanon("plan", "spec.yaml", "--json").json
    # 0.342 where every text is the value or nothing, 0.266 by hierarchies made by hand.
    assert planned["limit"] == 30162 * 4 // 100
    assert planned["score"]["loss"] <= 0.30


def accepted(sqlanon: CommandLine, given: tuple[str, ...], person: str | None, identifiers: set[str]) -> dict[str, int]:
    """The levels of a plan of a draft as it is."""
    outcome = sqlanon("init", *given, "--json")
    assert outcome.code == 0, outcome.err
    columns = outcome.json["columns"]
    assert outcome.json["respondent"] == person
    assert {column for column, found in columns.items() if found["role"] == "identifier"} == identifiers
    assert "insensitive" not in {found["role"] for found in columns.values()}
    # Of two values there is nothing between the value and nothing.
    several = {
        column for column, found in columns.items() if found["role"] == "quasi_identifier" and found["distinct"] > 2
    }
    checked = sqlanon("check", "spec.yaml", "--json")
    assert checked.code == 0, checked.err
    deep = {column for column in several if len(set(checked.json["hierarchies"][column]["labels"])) > 2}
    assert len(deep) >= 0.8 * len(several), several - deep
    planned = sqlanon("plan", "spec.yaml", "--json")
    assert planned.code == 0, planned.err
    levels: dict[str, int] = planned.json["levels"]
    return levels
