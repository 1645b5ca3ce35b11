"""Dataframes of three packages through the whole path; the rows are read by DuckDB, where they lie."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest
import yaml

import sqlanon
from sqlanon.api import Options
from sqlanon.engines.base import TraceEvent
from sqlanon.errors import SpecError, UsageError
from sqlanon.notebook import html_table
from tests.kit.papers import Case, load_case, read_csv

ROOT = Path(__file__).parents[2]
MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "arrow": pyarrow.table,
}


def columns_of(case: Case) -> dict[str, list[Any]]:
    return dict(zip(case.columns, map(list, zip(*case.rows, strict=True)), strict=True))


def values_of(case: Case, k: int, limit: int) -> dict[str, Any]:
    values = {key: value for key, value in deepcopy(case.spec).items() if key not in ("source", "target", "connection")}
    for column in values["columns"].values():
        if listed := column.get("hierarchy", {}).get("csv"):
            listed["path"] = str(case.directory / listed["path"])
    return {
        **values,
        "privacy": {"k": k, "suppression": {"limit": limit}},
        "search": {"algorithm": "minimal"},
    }


@pytest.fixture(params=MAKERS)
def frame(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param](columns_of(load_case("c1")))


def test_plan_run_and_audit(frame: Any) -> None:
    case = load_case("c1")
    spec = values_of(case, 3, 1)
    planned = sqlanon.plan(spec, source=frame)
    assert list(planned.search.minimal) == case.minimal(3, 1)
    assert planned.rows == len(case.rows)
    result = sqlanon.run(spec, source=frame)
    vector = tuple(result.levels.values())
    assert vector in case.minimal(3, 1)
    sizes = sorted(size for size in case.classes(vector).values() if size >= 3)
    for released in (
        result.to_arrow().to_pylist(),
        result.to_polars().to_dicts(),
        result.to_pandas().to_dict("records"),
    ):
        classes = Counter(tuple(row[name] for name in case.quasi_identifier) for row in released)
        assert sorted(classes.values()) == sizes
    assert result.to_arrow().column_names == [name for name in case.columns if name != "ssn"]
    measured = sqlanon.audit(result.to_arrow(), case.quasi_identifier, k=3)
    assert (measured.satisfied, measured.rows, measured.classes) == (True, sum(sizes), len(sizes))
    assert not sqlanon.audit(frame, case.quasi_identifier, k=3).satisfied


@pytest.mark.representative(1)
def test_the_dataframe_may_come_first(frame: Any) -> None:
    spec = values_of(load_case("c1"), 3, 1)
    assert sqlanon.plan(frame, spec).to_dict()["levels"] == sqlanon.plan(spec, source=frame).levels
    assert sqlanon.run(frame, spec).to_arrow().num_rows == sqlanon.run(spec, source=frame).audit.rows
    with pytest.raises(UsageError, match="two dataframes were given"):
        sqlanon.plan(frame, spec, source=frame)  # type: ignore[call-overload]  # the point of the test


@pytest.mark.representative(1)
def test_a_dataframe_alone_is_planned_by_guesses(frame: Any) -> None:
    guessed = sqlanon.plan(frame)
    assert guessed.rows == len(load_case("c1").rows)
    assert set(guessed.levels) <= set(load_case("c1").columns)
    [warning] = guessed.warnings
    assert warning.startswith("the roles of the columns and k = 5 are guesses: zip quasi_identifier, ")
    draft = sqlanon.init(frame)
    assert sqlanon.plan(frame, draft).levels == guessed.levels
    assert sqlanon.run(frame, draft.replace("k: 5", "k: 2")).audit.k >= 2
    with pytest.raises(UsageError, match=r"needs a spec that somebody has read: sqlanon\.init\(frame\) drafts one"):
        sqlanon.run(frame)
    for text in ("columns: [\n", "- a\n- b\n"):
        with pytest.raises(SpecError, match="of the spec"):
            sqlanon.plan(frame, text)


def test_missing_values_are_null(frame: Any) -> None:
    for make in MAKERS.values():
        gaps = make({"a": ["x", None, "x", None], "n": [1, 2, 3, 4]})
        measured = sqlanon.audit(gaps, ["a"], k=2)
        assert (measured.classes, measured.k) == (2, 2)


def test_rows_are_read_by_the_database(frame: Any) -> None:
    seen: list[TraceEvent] = []
    result = sqlanon.run(values_of(load_case("c1"), 3, 1), Options(hooks=(seen.append,)), source=frame)
    assert any("register dataframe" in event.sql for event in seen)
    assert any('FROM "dataframe"' in event.sql for event in seen)
    assert result.engine == "duckdb"


def test_files_and_databases_are_targets_as_ever(tmp_path: Path) -> None:
    case = load_case("c1")
    frame = pandas.DataFrame(columns_of(case))
    to_file = sqlanon.run({**values_of(case, 3, 1), "target": str(tmp_path / "out.csv")}, source=frame)
    assert len(read_csv(tmp_path / "out.csv")[1]) == to_file.audit.rows
    with pytest.raises(UsageError, match=r"not in memory but in .*out\.csv"):
        to_file.to_pandas()
    in_database = {"connection": f"duckdb:///{tmp_path}/x.duckdb", "target": "main.t"}
    to_table = sqlanon.run({**values_of(case, 3, 1), **in_database}, source=frame)
    measured = sqlanon.audit("main.t", case.quasi_identifier, connection=f"duckdb:///{tmp_path}/x.duckdb", k=3)
    assert measured.rows == to_table.audit.rows
    with pytest.raises(UsageError, match=r"not in memory but in main\.t"):
        to_table.to_arrow()


def test_specs_in_files_with_and_without_a_source(tmp_path: Path) -> None:
    case = load_case("c1")
    frame = pandas.DataFrame(columns_of(case))
    values = {**values_of(case, 3, 1), "columns": {name: {"role": "insensitive"} for name in case.columns}}
    values["columns"]["sex"] = {"role": "quasi_identifier"}
    path = tmp_path / "spec.yaml"
    for places in ({}, {"source": "elsewhere.nothing", "target": "somewhere"}):
        path.write_text(yaml.safe_dump({**values, **places}))
        result = sqlanon.run(path, source=frame)
        assert result.target == places.get("target", "release")
        assert len(result.to_pandas()) == result.audit.rows
        assert sqlanon.plan(sqlanon.load_spec(path), source=frame).levels == result.levels if places else True
    path.write_text("columns: [")
    with pytest.raises(SpecError, match=r"spec\.yaml"):
        sqlanon.plan(path, source=frame)


@pytest.mark.parametrize("what", [[1], polars.LazyFrame({"a": [1]}), pyarrow.table({"a": [1]}).to_reader()])
def test_what_cannot_be_read_again_is_refused(what: Any) -> None:
    with pytest.raises(UsageError, match="a pandas or polars DataFrame or an Arrow Table is expected, not"):
        sqlanon.plan(values_of(load_case("c1"), 3, 1), source=what)
    with pytest.raises(UsageError, match="a spec, a pandas or polars DataFrame or an Arrow Table is expected, not"):
        sqlanon.plan(what, values_of(load_case("c1"), 3, 1))


def test_other_databases_are_refused() -> None:
    spec = {**values_of(load_case("c1"), 3, 1), "connection": "postgresql://me:secret@host/db"}
    with pytest.raises(UsageError, match="connection: a dataframe is read by DuckDB") as error:
        sqlanon.plan(spec, source=pandas.DataFrame(columns_of(load_case("c1"))))
    assert "secret" not in str(error.value)


def test_columns_must_be_named_to_audit() -> None:
    with pytest.raises(UsageError, match="name the columns of the quasi-identifier"):
        sqlanon.audit(pandas.DataFrame({"a": [1]}))


@pytest.mark.process
def test_importing_sqlanon_imports_no_dataframe_package() -> None:
    program = "import sys, sqlanon, sqlanon.api\nassert not {'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_the_example_of_the_docs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "guides" / "python.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(program, "docs/guides/python.md", "exec"), names)  # noqa: S102 (the program is the page's own)
    assert not names["before"].satisfied
    assert f"`planned.levels` is `{names['planned'].levels}`" in (ROOT / "docs" / "guides" / "python.md").read_text()
    assert names["released"].audit.satisfied
    assert sorted(names["table"]["zip"]) == ["9413*"] * 3 + ["9414*"] * 3


class Cells(HTMLParser):
    """The texts of a table's cells, and its tags in balance."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1], data))


def read_html(text: str) -> list[tuple[str, str]]:
    cells = Cells()
    cells.feed(text)
    cells.close()
    assert cells.open == []
    return cells.texts


def test_notebooks_show_what_was_found() -> None:
    case = load_case("c1")
    frame = pandas.DataFrame(columns_of(case)).rename(columns={"zip": "<zip & 'code'>"})
    spec = values_of(case, 3, 1)
    spec["columns"] = {"<zip & 'code'>" if name == "zip" else name: item for name, item in spec["columns"].items()}
    result = sqlanon.run(spec, source=frame)
    assert result.plan is not None
    for shown in (result, result.plan):
        assert ("th", "<zip & 'code'>") in read_html(shown._repr_html_())
    assert ("td", "yes") in read_html(result.audit._repr_html_())
    assert ("caption", "sqlanon release release") in read_html(result._repr_html_())


def test_nothing_in_a_table_is_markup() -> None:
    found = read_html(html_table("<script>", [("</td><b>", "\"'&amp;<i>")]))
    assert found == [("caption", "<script>"), ("th", "</td><b>"), ("td", "\"'&amp;<i>")]
