"""A script that writes a file refuses what the file would not give back: nobody reads it back before it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlanon import pipeline
from sqlanon.errors import UsageError
from sqlanon.spec import Spec, spec_from_dict


def spec_of(folder: Path, rows: str, ending: str, **columns: Any) -> Spec:
    """A table of these rows, to be released to a file; every other column is dropped."""
    with duckdb.connect(str(folder / "base.duckdb")) as connection:
        connection.execute(f"CREATE TABLE people AS {rows}")
    return spec_from_dict(
        {
            "connection": f"duckdb:///{folder / 'base.duckdb'}",
            "source": "people",
            "target": str(folder / f"released.{ending}"),
            "default_role": "identifier",
            "columns": {"zip": {"role": "quasi_identifier"}, **columns},
            "privacy": {"k": 2},
        }
    )


def run_script(folder: Path, text: str) -> None:
    with duckdb.connect(str(folder / "base.duckdb")) as connection:
        connection.execute(text)


@pytest.mark.parametrize("name", ["zip", "note"])
def test_empty_texts_beside_null_stop_a_script_to_csv(tmp_path: Path, name: str) -> None:
    texts = "CASE i % 2 WHEN 0 THEN '' END"
    other = {"zip": "note", "note": "zip"}[name]
    rows = f"SELECT {texts} AS {name}, 'x' AS {other} FROM range(8) AS numbers(i)"
    spec = spec_of(tmp_path, rows, "csv", note={"role": "insensitive"})
    text = pipeline.script(spec, None)
    with pytest.raises(duckdb.Error, match=f"{name} has empty texts and NULLs, which are one field of a csv file"):
        run_script(tmp_path, text)
    assert not (tmp_path / "released.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_a_file_gives_back_is_written(tmp_path: Path, ending: str) -> None:
    rows = "SELECT 'z' AS zip, CASE i % 2 WHEN 0 THEN 'x' END AS note FROM range(8) AS numbers(i)"
    spec = spec_of(tmp_path, rows, ending, note={"role": "insensitive"})
    run_script(tmp_path, pipeline.script(spec, None))
    assert pipeline.audit_spec(spec).satisfied
    with duckdb.connect() as connection:
        counted = f"SELECT count(*), count(note) FROM '{tmp_path / f'released.{ending}'}'"
        assert connection.execute(counted).fetchall() == [(8, 4)]


@pytest.mark.parametrize(("kind", "ending"), [("HUGEINT", "parquet"), ("INTEGER[]", "csv")])
def test_a_type_that_the_format_cannot_carry_is_refused_by_name(tmp_path: Path, kind: str, ending: str) -> None:
    value = "[1]" if kind.endswith("[]") else "1"
    rows = f"SELECT 'z' AS zip, CAST({value} AS {kind}) AS big FROM range(8) AS numbers(i)"
    spec = spec_of(tmp_path, rows, ending, big={"role": "insensitive"})
    with pytest.raises(
        UsageError, match=f"target: column 'big' is of type .* which a {ending} file does not give back"
    ):
        pipeline.script(spec, None)


def test_labels_of_such_a_type_are_texts_and_carried(tmp_path: Path) -> None:
    rows = "SELECT CAST(i AS HUGEINT) AS zip FROM range(8) AS numbers(i)"
    bands = {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [4], "min": 0, "max": 8}}}
    spec = spec_of(tmp_path, rows, "parquet", zip=bands)
    run_script(tmp_path, pipeline.script(spec, None))
    assert pipeline.audit_spec(spec).satisfied
