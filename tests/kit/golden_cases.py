"""The releases whose scripts are kept as snapshots: the papers' cases, the demo, and one with every model there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlanon.cli.demo_data import generate
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database
from tests.kit.papers import load_case, read_yaml
from tests.kit.random_tables import COLUMNS, QUASI_IDENTIFIER, TYPES, random_table

DEMO = Path(generate.__file__).parent
DEMO_TYPES = {"birth_date": "date", "cost": "decimal(10, 2)"}

MODELS: dict[str, Any] = {
    "k": 2,
    "suppression": {"limit": "25%", "mode": "blank"},
    "l_diversity": [
        {"column": "disease", "l": 2},
        {"column": "stage", "l": 2, "kind": "recursive", "c": 4},
    ],
    "t_closeness": [
        {"column": "disease", "t": "0.6", "distance": "hierarchical"},
        {"column": "stage", "t": "0.5", "distance": "ordered"},
    ],
    "alpha": [{"column": "disease", "value": "flu", "alpha": "0.8"}],
    "p_sensitive": [{"column": "stage", "p": 2}],
    "beta_likeness": [{"column": "disease", "beta": 5, "kind": "enhanced"}],
    "delta_disclosure": [{"column": "disease", "delta": 3}],
    "population": {"source": "people"},
    "k_map": 3,
    "delta_presence": {"max": "0.9"},
}
GROUPS: dict[str, Any] = {
    "suppression": {"limit": "30%"},
    "quasi_identifiers": {
        "patient": {"columns": ["zip", "age"], "k": 3},
        "doctor": {"columns": ["sex", "age"], "k": 4},
    },
    "l_diversity": [{"column": "disease", "l": 2, "kind": "entropy"}],
    "t_closeness": [
        {
            "column": "disease",
            "t": "0.9",
            "distance": "ordered",
            "order": ["ulcer", "flu", "gastritis", "cough", "asthma"],
        }
    ],
    "other_sensitive": "known",
}
CASES = ("s1", "s2", "s3", "c1", "demo", "models", "groups")
LEVELS: dict[str, dict[str, int]] = {
    "s2": {"race": 1, "zip": 0},
    "demo": {"zip": 3, "birth_date": 3, "sex": 0, "marital": 1},
    "models": {"zip": 1, "age": 1, "sex": 0},
    "groups": {"zip": 1, "age": 2, "sex": 1},
}
"""What a search chooses, of those cases that are also kept for the dialects that are only generated."""
GENERATED = tuple(LEVELS)


def spec_of(database: Database, name: str, **changes: Any) -> Spec:
    """The table of a case in the database, and its spec there."""
    folder: Path | str = "."
    match name:
        case "demo":
            rows: list[tuple[Any, ...]] = list(generate.patients())
            types = {column: DEMO_TYPES.get(column, "text") for column in generate.COLUMNS}
            values, folder = read_yaml(DEMO / "spec.yaml"), DEMO
        case "models" | "groups":
            source, population = random_table(1)
            rows, types = [tuple(row[column] for column in TYPES) for row in source], dict(TYPES)
            people = [tuple(row[column] for column in QUASI_IDENTIFIER) for row in population]
            database.create("people", {column: TYPES[column] for column in QUASI_IDENTIFIER}, people)
            values = {"columns": COLUMNS, "privacy": MODELS if name == "models" else GROUPS}
            values |= {"respondent": "person"} if name == "models" else {}
        case _:
            case = load_case(name)
            rows, types, values, folder = list(case.rows), dict(case.types), case.spec, case.directory
    database.create("source_table", types, rows)
    places = {"connection": database.url, "source": "source_table", "target": "release_table"}
    return spec_from_dict({**values, **places, **changes}, folder)
