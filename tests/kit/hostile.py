"""A table with hostile names and values of every family, and releases of it that are the same on every engine."""

from __future__ import annotations

import random
from typing import Any

TYPES = {
    'te "x`t': "varchar(20)",
    "n": "int",
    "d": "decimal(8,2)",
    "f": "double",
    "day": "date",
    "ts": "timestamp",
    "s": "varchar(5)",
}
TEXTS = ["a", "A", "a ", "it's", "back\\slash", "", 'q"x`y', "ü", None, "%s", "日本"]
FLOATS = [0.0, -0.0, 0.1, 2.5, None]


def hostile_rows() -> list[tuple[Any, ...]]:
    drawn = random.Random(7)
    return [
        (
            drawn.choice(TEXTS),
            drawn.randint(-3, 40),
            drawn.choice([None, 1.5, -2.25, 33.3]),
            drawn.choice(FLOATS),
            f"20{drawn.randint(10, 20)}-0{drawn.randint(1, 9)}-28",
            f"2020-12-{drawn.randint(27, 31)} 0{drawn.randint(8, 9)}:59:59.5",
            drawn.choice("pqr"),
        )
        for _ in range(48)
    ]


COLUMNS: dict[str, Any] = {
    'te "x`t': {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 10}}},
    "n": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 20]}}},
    "d": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [2.5, 10]}}},
    "f": {"role": "quasi_identifier", "levels": {"min": 0}},
    "day": {"role": "quasi_identifier", "hierarchy": {"date": ["month", "quarter", "year"]}},
    "ts": {"role": "quasi_identifier", "hierarchy": {"date": ["hour", "week"]}},
    "s": {"role": "sensitive"},
}

SEARCHES: list[tuple[dict[str, Any], int]] = [
    ({"algorithm": "optimal"}, 5),
    ({"algorithm": "forest", "model": "CG_"}, 0),
    ({"algorithm": "mu_argus"}, 48),
    ({"algorithm": "mondrian", "mondrian": {"kind": "relaxed"}}, 0),
    ({"algorithm": "local"}, 5),
    ({"algorithm": "tds"}, 0),
    ({"algorithm": "samarati", "satisfies": "matrix"}, 5),
]


def algorithm(given: object) -> str:
    """What a search is called among the cases of a test."""
    return str(given["algorithm"]) if isinstance(given, dict) else ""


def privacy(search: dict[str, Any], limit: int) -> dict[str, Any]:
    return {"k": 1 if search["algorithm"] == "mu_argus" else 3, "suppression": {"limit": limit}}
