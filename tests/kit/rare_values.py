"""A table with planted rare values, on any engine, and commands run on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from sqlanon.cli.main import run
from tests.kit.engine import execute, open_at

K = 3
RARE = {
    "city": ("Zzyzx", "Null'land", "Ünïque|<b>burg"),
    "job": ("ghost </script> hunter",),
    "disease": ("kuru", "ebola\\virus"),
}
"""Values with fewer than K rows behind them."""

CITIES = ("Bern", "Basel", "Genf", "Zug")
JOBS = ("baker", "smith", "nurse")
DISEASES = ("flu", "cold", "asthma")


def rows() -> list[tuple[str | None, str | None, int, str | None]]:
    """A table in which most values are frequent, and a few have one or two rows."""
    made: list[tuple[str | None, str | None, int, str | None]] = [
        (CITIES[i % 4], JOBS[i % 3], 20 + i % 5, DISEASES[(i // 3) % 3]) for i in range(120)
    ]
    made += [(None, "baker", 21, "flu")] * 3
    made += [(city, "baker", 20, "flu") for city in RARE["city"]]
    made += [("Bern", job, 22, "cold") for job in RARE["job"]]
    made += [("Basel", "smith", 23, disease) for disease in RARE["disease"]]
    return made


def tree() -> dict[str, list[str]]:
    """The hierarchy of cities names the rare ones too, as people's hierarchies do."""
    return {"lake": ["Genf", "Zug", "Zzyzx"], "river": ["Bern", "Basel", "Null'land", "Ünïque|<b>burg"]}


def spec_values(url: str, **changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "connection": url,
        "source": "people",
        "target": "released",
        "columns": {
            "city": {"role": "quasi_identifier", "hierarchy": {"tree": tree()}},
            "job": {"role": "quasi_identifier"},
            "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [5, 10]}}},
            "disease": {"role": "sensitive"},
        },
        "privacy": {
            "k": K,
            "suppression": {"limit": "10%"},
            "l_diversity": [{"column": "disease", "l": 2}],
            "alpha": [{"column": "disease", "value": "kuru", "alpha": 0.9}],
        },
        "evidence": {"folder": "people.evidence"},
        **changes,
    }


def people(url: str, folder: Path, **changes: Any) -> Path:
    """The table in the database, and its spec in a folder."""
    engine = open_at(url)
    values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows())
    execute(engine, "create table people (city text, job text, age int, disease text)")
    execute(engine, f"insert into people values {values}")
    engine.close()
    path = folder / "people.yaml"
    path.write_text(yaml.safe_dump(spec_values(url, **changes), sort_keys=False), encoding="utf-8")
    return path


def _literal(value: object) -> str:
    if value is None:
        return "null"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def command(*arguments: str | Path) -> None:
    code = run([str(argument) for argument in arguments])
    assert code == 0, arguments


def report_of(lock: Path, *more: str | Path) -> dict[str, Any]:
    """The report of a lock file as data."""
    out = lock.with_name("report.json")
    command("report", lock, "--out", out, *more)
    content: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return content
