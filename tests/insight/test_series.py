"""A series of published tables: what each two say together, by the command and from Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from sqlanon import insight
from sqlanon.insight import SeriesRequest
from sqlanon.spec import load_spec, spec_from_dict
from tests.kit import differences
from tests.kit.commands import CommandLine, patients, spec_values, write_spec
from tests.kit.database import Database

TYPES = {"zip": "text", "sex": "text", "disease": "text"}
ZIPS = {"94***": {"941**": ["94138", "94139"], "942**": ["94241", "94242"]}}
ABOVE: dict[str, tuple[str, ...]] = {
    zip_: (zip_, middle, top) for top, under in ZIPS.items() for middle, zips in under.items() for zip_ in zips
}
DISEASES = ("flu", "cold", "asthma", None)


def zip_spec(url: str) -> Any:
    return spec_from_dict(
        {
            "connection": url,
            "source": "people",
            "target": "released",
            "columns": {
                "zip": {"role": "quasi_identifier", "hierarchy": {"tree": ZIPS}},
                "sex": {"role": "quasi_identifier"},
                "disease": {"role": "sensitive"},
            },
            "privacy": {"k": 3, "l_diversity": [{"column": "disease", "l": 3}]},
        }
    )


def coarser(rows: Sequence[tuple[Any, ...]], used: set[Any]) -> list[tuple[Any, ...]]:
    """The rows with each label of zip replaced by the highest label of both tables that is above it."""
    found = []
    for row in rows:
        path = next((path for path in ABOVE.values() if row[0] in path), (row[0],))
        higher = [label for label in path[path.index(row[0]) :] if label in used]
        shown = row[0] if row[:2] == (None, None) or not higher else higher[-1]
        found.append((shown, *row[1:]))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_several_levels_are_compared_by_what_they_have_in_common(engine_url: str, seed: int) -> None:
    """Tables recoded otherwise, as brute force compares them under the highest labels that they show."""
    random, database = Random(seed), Database(engine_url)
    people = [(random.choice(list(ABOVE)), random.choice("fm"), random.choice(DISEASES)) for _ in range(40)]
    database.create("people", TYPES, people)
    nights = []
    for shown, levels in ((people[:36], (0, 1)), (people[2:], (1, 1) if seed % 2 else (1, 2))):
        night = [(ABOVE[zip_][random.choice(levels)], sex, disease) for zip_, sex, disease in shown]
        nights.append([*night, (None, None, "flu")])
    for name, rows in zip(("night_1", "released"), nights, strict=True):
        database.create(name, TYPES, rows)
    result = insight.series_of_spec(zip_spec(engine_url), ["night_1"])
    [found] = result.differences
    used = {row[0] for night in nights for row in night if row[:2] != (None, None)}
    older, newer = (coarser(night, used) for night in nights)
    sensitive = {"disease": (2, 3)}
    expected = {
        "class": differences.view(nights[0], nights[1], [0, 1], [2], 3, sensitive),
        "table": differences.view(nights[0], nights[1], [], [2], 3, sensitive),
        "coarser class": differences.view(older, newer, [0, 1], [2], 3, sensitive),
    }
    told = {view.classes: view.to_dict() for view in found.views}
    assert {name: {kind: told[name][kind] for kind in expected[name]} for name in told} == expected
    assert not database.leftovers()


@pytest.mark.one_engine
def test_releases_of_a_spec_night_by_night(engine_url: str, tmp_path: Path, sqlanon: CommandLine) -> None:
    """Every release passes its audit; the difference of two shows who left alone."""
    patients(engine_url)
    values = spec_values(engine_url)
    spec, database = write_spec(tmp_path / "spec.yaml", values), Database(engine_url)
    assert sqlanon("attack", spec, "--series", "night_1").code == 2
    assert sqlanon("run", spec).code == 0
    target = values["target"]
    database.run(f"CREATE TABLE night_1 AS SELECT * FROM {target}", "DELETE FROM patients WHERE age = 21")
    assert sqlanon("run", spec).code == 0
    told = sqlanon("attack", spec, "--series", "night_1", "--json")
    assert told.code == 0
    assert told.json["tables"] == ["night_1", target]
    [pair] = told.json["pairs"]
    assert pair["counted"] == "rows"
    # Whoever is compared without a class is one row, and it is of one illness.
    assert (pair["alone"], pair["one_value"]) == (1, {"disease": 1})
    assert "sql" not in pair
    assert "SELECT" in sqlanon("attack", spec, "--series", "night_1", "--statements").out
    assert "flu" not in sqlanon("attack", spec, "--series", "night_1", "--json", "--statements").out
    shown = sqlanon("attack", spec, "--series", "night_1")
    assert "disease told" in shown.out
    assert "rows were counted" in shown.err
    assert insight.series_of_spec(load_spec(spec), ["night_1"]).worst is not None


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_of_others(folder: Path, sqlanon: CommandLine, kind: str) -> None:
    """Tables that no spec describes: an empty text and NULL are one field of a csv file; 007 is not 7."""
    nights = {
        "night 1": "('a', '007', 'flu', 1), ('a', '7', 'flu', 2), ('a', NULL, 'cold', 3), ('a', 'x', NULL, 4)",
        "night 2": "('a', '007', 'flu', 1), ('a', '7', 'flu', 2), ('a', '', 'cold', 3), ('a', 'x', 'flu', 5)",
    }
    for name, rows in nights.items():
        duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) AS t(zip, note, disease, id)) TO '{name}.{kind}'")
    flags = ("--series", f"night 1.{kind}", "--series", f"night 2.{kind}", "--qi", "zip")
    told = sqlanon("attack", *flags, "--sensitive", "disease", "--k", "2", "--respondent", "id", "--json").json
    [pair] = told["pairs"]
    moved = 1 if kind == "csv" else 2
    assert (pair["counted"], pair["leavers"], pair["joiners"]) == ("people", moved, moved)
    assert told["notes"] == []
    assert sqlanon("attack", *flags, "--json").json["pairs"][0]["one_value"] == {}
    assert sqlanon("attack", *flags[:2], "--qi", "zip").code == 2
    assert "--qi" in sqlanon("attack", *flags[:4]).err
    assert "no column 'age'" in sqlanon("attack", *flags[:4], "--qi", "age").err
    assert "'age'" in sqlanon("attack", *flags, "--sensitive", "age").err
    assert sqlanon("attack", *flags, "--external", "people").code == 2
    assert sqlanon("attack", "spec.yaml", *flags).code == 2
    assert sqlanon("attack", "spec.yaml", "--qi", "zip").code == 2
    assert sqlanon("attack").code == 2


def test_any_two_of_a_series(engine_url: str) -> None:
    """Who leaves in two nights is two alone of consecutive releases, and one pair of the first and the last."""
    database = Database(engine_url)
    rows = [("94***", "f", f"illness {number}") for number in range(8)]
    names = []
    for night in range(14):
        names.append(f"night_{night}")
        database.create(names[-1], TYPES, rows[min(night, 2) :])
    request = SeriesRequest(("zip", "sex"), ("disease",), 3)
    few = insight.series_of_tables(names[:3], engine_url, request)
    assert [(item.older, item.newer, item.alone, item.below_k) for item in few.differences] == [
        ("night_0", "night_1", 1, 1),
        ("night_0", "night_2", 0, 2),
        ("night_1", "night_2", 1, 1),
    ]
    assert few.exposing
    many = insight.series_of_tables(names, engine_url, request)
    assert [(item.older, item.newer) for item in many.differences] == [
        *pairwise(names),
        ("night_0", "night_13"),
    ]
    assert "night_0" in many._repr_html_()
    assert [item.alone for item in many.differences] == [1, 1, *[0] * 12]
