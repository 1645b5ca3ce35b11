from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

from sqlanon.cli.demo_data import generate
from tests.kit.papers import Case, read_csv, read_yaml

DEMO = Path(str(files("sqlanon.cli.demo_data")))


def test_the_generator_makes_the_table_again(tmp_path: Path) -> None:
    generate.write(tmp_path / "patients.csv")
    assert (tmp_path / "patients.csv").read_bytes() == (DEMO / "patients.csv").read_bytes()


def test_numbers_and_names_identify() -> None:
    with (DEMO / "patients.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == generate.PATIENTS
    assert len({row["patient_id"] for row in rows}) == len(rows)
    assert all(row["ssn"].startswith("9") for row in rows), "numbers that begin with 9 are never issued"


def test_the_spec_has_one_lowest_solution() -> None:
    columns, rows = read_csv(DEMO / "patients.csv")
    spec = read_yaml(DEMO / "spec.yaml")
    quasi_identifier = [name for name, column in spec["columns"].items() if column["role"] == "quasi_identifier"]
    case = Case("demo", DEMO, spec, {"quasi_identifier": quasi_identifier}, columns, rows)
    minimal = case.minimal(k=5, limit=12)
    lowest = min(map(sum, minimal))
    assert [vector for vector in minimal if sum(vector) == lowest] == [(3, 3, 0, 1)]
    assert case.outliers(5, (3, 3, 0, 1)) == 11
