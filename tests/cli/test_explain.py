"""`plan --explain`: what the command prints, what it leaves alone, and what it refuses."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from sqlanon.cli.console import console
from sqlanon.cli.views import show_sheet
from sqlanon.evaluation.explanation import Sheet
from tests.kit.commands import PATIENTS, CommandLine, patients, spec_values, write_spec

SEARCH = {"algorithm": "samarati", "satisfies": "matrix"}
TITLES = ["Strategy", "Steps down", "Heights tried", "Bounds", "Outliers", "Distance vectors"]


@pytest.fixture
def explained(duckdb_url: str, folder: Path) -> Path:
    """A spec whose nodes are tested by the matrix."""
    patients(duckdb_url)
    return written(duckdb_url, folder)


def written(url: str, folder: Path, **changes: Any) -> Path:
    return write_spec(folder / "spec.yaml", {**spec_values(url), "search": SEARCH, **changes})


def test_sheets_and_values(sqlanon: CommandLine, explained: Path) -> None:
    """The sheets in their order, within the line; values only where they are asked for."""
    plain = sqlanon("plan", explained, "--explain", "--dry-run")
    assert plain.code == 0, plain.err
    lines = plain.out.splitlines()
    assert [line.strip() for line in lines if line.strip() in TITLES] == TITLES
    assert max(map(len, lines)) <= 120
    values = {str(value) for row in PATIENTS for value in row[:2]}
    assert not [value for value in values if value in plain.out]
    shown = sqlanon("plan", explained, "--explain", "--show-values", "--dry-run").out
    assert all(value in shown for value in values)
    content = sqlanon("plan", explained, "--explain", "--show-values", "--json").json["explain"]
    assert content["vector"] == [step["vector"] for step in content["strategy"]["steps"]][-1]
    assert all(str(row["values"]["zip"]) in values for row in content["matrix"]["columns"])


def test_a_wide_table_comes_in_blocks() -> None:
    """Each with the first column; nothing is cut off or folded."""
    stream = StringIO()
    vectors = tuple(f"({place},0,0)" for place in range(12))
    sheet = Sheet("Distances", "From 1.", ("outlier", *(f"{place} (1)" for place in range(12))), (("1", *vectors),))
    show_sheet(console(stream), sheet)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 120
    assert [line.split()[:2] for line in lines if line.startswith("outlier")] == [["outlier", "0"], ["outlier", "11"]]
    assert [cell for line in lines for cell in line.split() if cell in vectors] == list(vectors)


def test_the_lock_file_is_the_same(sqlanon: CommandLine, explained: Path) -> None:
    """What is asked for an explanation alone does not enter it; without the flag nothing is explained."""
    lock = explained.with_name("spec.lock.json")
    assert "explain" not in sqlanon("plan", explained, "--json").json
    before = lock.read_bytes()
    assert "explain" in sqlanon("plan", explained, "--explain", "--fresh", "--json").json
    assert lock.read_bytes() == before


def test_each_recipient_is_explained(sqlanon: CommandLine, duckdb_url: str, folder: Path) -> None:
    patients(duckdb_url)
    recipients = {name: {"target": f"for_{name}"} for name in ("lab", "press")}
    content = {**spec_values(duckdb_url), "search": SEARCH, "recipients": recipients}
    del content["target"]
    spec = write_spec(folder / "spec.yaml", content)
    planned = sqlanon("plan", spec, "--explain", "--dry-run", "--json").json["recipients"]
    assert [list(item["explain"]["bounds"]) for item in planned.values()] == [
        ["lowest_height", "least_upper_bound", "suppressed_at_least", "searched"]
    ] * 2
    assert sqlanon("plan", spec, "--explain", "--dry-run").out.count("Heights tried") == 2


@pytest.mark.parametrize(
    ("flags", "search", "message"),
    [
        (["--k", "2,3"], SEARCH, "--explain is about one plan: leave out --k, --limit and --compare"),
        (["--compare", "optimal"], SEARCH, "--explain is about one plan: leave out --k, --limit and --compare"),
        ([], {"algorithm": "mondrian"}, "mondrian does not choose a node of a lattice"),
        ([], {"algorithm": "local"}, "local does not choose a node of a lattice"),
    ],
)
def test_what_is_refused(
    sqlanon: CommandLine, duckdb_url: str, folder: Path, flags: list[str], search: dict[str, Any], message: str
) -> None:
    patients(duckdb_url)
    refused = sqlanon("plan", written(duckdb_url, folder, search=search), "--explain", *flags)
    assert refused.code == 2
    assert message in refused.err
    assert len(refused.err.strip().splitlines()) == 1
