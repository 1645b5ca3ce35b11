"""A release that `sqlanon dbt` did not write is refused by the materialization, however large its classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sqlanon.dbt.writing import UNSIGNED, model_text, signed
from sqlanon.engines.dialects import DUCKDB
from tests.kit.dbt_project import RELEASE, DuckDB, Outcome, Postgres, Project, dbt_command

pytestmark = pytest.mark.dbt

META = {"source": "ref('people')", "k": 5, "columns": {"zip": {"role": "quasi_identifier", "levels": {"min": 2}}}}
HEADING = "{{ config(materialized='sqlanon_release', meta={'sqlanon': " + repr(META) + "}) }}\n"
STARTER = HEADING + "select * from {{ ref('people') }}\n"


def stamped(levels: list[Any], text: str) -> str:
    return signed(f"-- Levels: {json.dumps(levels)}\n-- Signature: {UNSIGNED}\n{text}")


@pytest.fixture(scope="module")
def gate(adapter: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The build of a project whose releases come by other ways than the command."""
    dbt_command()
    directory = tmp_path_factory.mktemp(f"gate-{adapter}")
    warehouse: DuckDB | Postgres = DuckDB(directory / "clinic.duckdb")
    if adapter != "duckdb":
        warehouse = Postgres(request.getfixturevalue("postgres_server"), "gate_of_releases")
    project = Project.copied(directory, warehouse.environment())
    models = project.directory / "models"
    written = (models / f"{RELEASE}.sql").read_text(encoding="utf-8")
    people = "select '94139' as zip from {{ ref('stg_patients') }}"
    for name, text in {
        "people": people,
        "release_by_a_starter": STARTER,
        "release_by_hand": written + "-- one more line\n",
        "release_below_its_level": stamped([["zip", 1]], STARTER),
        "release_of_no_level": stamped([], STARTER),
        "release_forged": f'-- Levels: [["zip", 2]]\n-- Signature: {"a" * 32}\n{STARTER}',
        "release_in_order": stamped([["zip", 2]], STARTER),
    }.items():
        (models / f"{name}.sql").write_text(text, encoding="utf-8")
    try:
        with project.started():
            assert project.dbt("deps").code == 0
            return project.dbt("build", "--exclude", f"{RELEASE}+")
    finally:
        if isinstance(warehouse, Postgres):
            warehouse.drop()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("release_by_a_starter", "model 'release_by_a_starter' was not written by `sqlanon dbt`"),
        ("release_forged", "model 'release_forged' was changed after `sqlanon dbt` wrote it"),
        ("release_below_its_level", "column 'zip': the model shows level 1, which its levels do not allow"),
        ("release_of_no_level", "column 'zip': the model shows level None, which its levels do not allow"),
    ],
)
def test_other_releases_are_refused(gate: Outcome, name: str, message: str) -> None:
    status, told, _ = gate.nodes[name]
    assert status == "error"
    assert message in told


def test_a_release_in_order_is_published(gate: Outcome) -> None:
    assert gate.nodes["release_in_order"][0] == "success"


def test_a_release_that_was_changed_by_hand_is_refused(gate: Outcome) -> None:
    assert gate.nodes["release_by_hand"][0] == "error"


def test_names_are_harmless_in_a_written_model(tmp_path: Path) -> None:
    from sqlglot import exp

    hostile = "{{ x }} {% y %}\n-- Signature: " + "b" * 32
    text = model_text(exp.select("1"), {hostile: 1}, lambda table: None, DUCKDB)
    assert "{{ x" not in text
    assert "{% y" not in text
    assert text == signed(text)
    assert json.loads(text.split("-- Levels: ")[1].split("\n")[0]) == [[hostile, 1]]
