"""Scripts that people read: names that explain themselves, nothing that is not used, and sqlfluff's rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlfluff.core import FluffConfig, Linter

import sqlanon
from sqlanon.release.script import compiled
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.sql.relations import LONGEST, explained

ROOT = Path(__file__).parents[2]
MARITAL = {"been_married": ["married", "divorced", "widowed"], "never_married": ["single"]}
COLUMNS: dict[str, Any] = {
    "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2, 3, 5]}}},
    "birth_date": {"role": "quasi_identifier", "hierarchy": {"date": ["day", "month", "year", "any"]}},
    "sex": {"role": "quasi_identifier", "hierarchy": {"tree": {"person": ["female", "male"]}}},
    "marital": {"role": "quasi_identifier", "hierarchy": {"tree": MARITAL}},
    "city": {"role": "quasi_identifier"},
    "diagnosis": {"role": "sensitive"},
}
LEVELS = {"zip": 3, "birth_date": 2, "sex": 0, "marital": 1, "city": 1}
MODELS = {"k": 2, "l_diversity": [{"column": "diagnosis", "l": 2}]}
SHORT_NAMES = re.compile(r"\b[chkpqv]_\d+\b")


@pytest.fixture
def patients(tmp_path: Path) -> str:
    """A database with a table of patients."""
    path = tmp_path / "patients.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE patients AS SELECT '0213' || i % 3 AS zip, "
            "DATE '1964-01-01' + CAST(9 * i AS INT) AS birth_date, "
            "CASE WHEN i % 2 = 0 THEN 'female' ELSE 'male' END AS sex, "
            "CASE WHEN i % 5 = 0 THEN 'single' ELSE 'married' END AS marital, 'Rome' AS city, "
            "CASE WHEN i % 3 = 0 THEN 'flu' ELSE 'cough' END AS diagnosis FROM range(40) AS numbers(i)"
        )
    return f"duckdb:///{path}"


def spec_of(url: str, **changes: Any) -> Spec:
    values = {"connection": url, "source": "patients", "target": "released", "columns": COLUMNS, "privacy": {"k": 2}}
    return spec_from_dict({**values, **changes})


def complaints(text: str, dialect: str) -> list[str]:
    """What sqlfluff finds in a text, by the rules of the project."""
    config = FluffConfig.from_path(str(ROOT / "sql"), overrides={"dialect": dialect, "large_file_skip_byte_limit": 0})
    found = Linter(config=config).lint_string(text)
    return [f"{item.rule_code()} line {item.line_no}: {item.desc()}" for item in found.get_violations()]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_sqlfluff_passes(patients: str, dialect: str) -> None:
    text = compiled(spec_of(patients), LEVELS, dialect=dialect).text
    assert complaints(text, dialect) == []


def test_sqlfluff_would_complain() -> None:
    assert any(found.startswith("RF06") for found in complaints('SELECT "zip" FROM patients\n', "duckdb"))


def test_five_columns_fit_a_few_pages(patients: str) -> None:
    assert len(compiled(spec_of(patients), LEVELS).text.splitlines()) <= 225


def test_names_say_what_they_are_about(patients: str) -> None:
    text = compiled(spec_of(patients, privacy=MODELS), LEVELS).text
    for name in ("hierarchy_zip", "zip_code", "classes", "values_diagnosis", "diagnosis_code", "sex_value"):
        assert name in text
    made = text.partition("04_audit.sql")[0]
    assert not SHORT_NAMES.findall(made)


def test_only_what_a_release_uses_is_computed(patients: str) -> None:
    text = compiled(spec_of(patients), LEVELS).text
    tables = set(re.findall(r"CREATE TEMPORARY TABLE sqlanon_script_(\w+)", text))
    assert {"hierarchy_zip", "hierarchy_birth_date", "hierarchy_marital"} <= tables
    assert not {"hierarchy_sex", "definition_sex", "hierarchy_city"} & tables
    zip_labels = set(re.findall(r"label_\d", text.partition("hierarchy_zip AS")[2].partition(";")[0]))
    assert zip_labels == {"label_3"}
    assert not re.search(r"\b\d+ IS NULL", text)


@pytest.mark.parametrize("mode", ["drop", "blank"])
def test_hostile_names_stay_apart(tmp_path: Path, mode: str) -> None:
    """Columns whose plain names collide, are keywords, are too long, or are no names at all."""
    names = ["zip", "Zip code", "zip-code", "zip_code", "select", "n", "kept", "é" * 40, "x" * 60, '"; --', "1st"]
    path = tmp_path / "hostile.duckdb"
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE classes ({', '.join(f'{name} TEXT' for name in quoted)})")
        row = ", ".join("?" for _ in names)
        for values in [["ab"] * len(names)] * 3 + [["ac"] * len(names)] * 2 + [["zz"] * len(names)]:
            connection.execute(f"INSERT INTO classes VALUES ({row})", values)
    columns = {
        name: {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 2, "steps": [1, 2]}}} for name in names[:-2]
    } | {name: {"role": "insensitive"} for name in names[-2:]}
    privacy = {"k": 2, "suppression": {"limit": 1, "mode": mode}}
    spec = spec_of(f"duckdb:///{path}", source="classes", columns=columns, privacy=privacy)
    levels = {name: place % 2 for place, name in enumerate(names[:-2])}
    with duckdb.connect(str(path)) as connection:
        connection.execute(compiled(spec, levels).text)
        released = connection.execute("SELECT * FROM released").fetchall()
        shown = [item[0] for item in connection.description or ()]
    assert shown == names
    assert sorted({row[0] for row in released}) == ["ab", "ac"]
    assert len(released) == 5


def test_a_view_of_a_table_that_is_called_like_a_step(tmp_path: Path) -> None:
    path = tmp_path / "view.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE classes AS SELECT '0213' || i % 2 AS zip FROM range(6) AS numbers(i)")
    columns = {"zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 5]}}}}
    spec = spec_of(f"duckdb:///{path}", source="classes", target={"view": "released"}, columns=columns)
    assert sqlanon.run(spec).audit.rows == 6
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT zip, count(*) FROM released GROUP BY ALL ORDER BY ALL").fetchall() == [
            ("02130", 3),
            ("02131", 3),
        ]


@given(st.lists(st.text(min_size=1), unique=True, max_size=20))
def test_plain_names_are_plain_and_apart(columns: list[str]) -> None:
    names = explained(columns)
    assert list(names) == columns
    assert len(set(names.values())) == len(columns)
    assert all(re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name) for name in names.values())
    assert all(len(name) <= LONGEST for name in names.values())
