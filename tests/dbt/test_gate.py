"""The materialization refuses a release that `sqlanon dbt` did not write, and one that shows what it should not.

A signature is no secret: what was altered and signed anew is measured, labels and columns, before the swap.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from sqlglot import exp

from sqlanon.dbt.model_file import END, MARK, ModelFile, signed
from sqlanon.dbt.writing import BUILT, LabelCheck, ReleaseModel, model_text
from sqlanon.engines.dialects import DUCKDB
from sqlanon.sql.relations import table_expression
from tests.kit.dbt_project import EXAMPLE, RELEASE, DuckDB, Outcome, Postgres, Project, dbt_command, stamped

pytestmark = pytest.mark.dbt

META = {"source": "ref('people')", "k": 5, "columns": {"zip": {"role": "quasi_identifier", "levels": {"min": 2}}}}
HEADING = "{{ config(materialized='sqlanon_release', meta={'sqlanon': " + repr(META) + "}) }}\n"
STARTER = HEADING + "select * from {{ ref('people') }}\n"


WRITTEN = (EXAMPLE / "models" / f"{RELEASE}.sql").read_text(encoding="utf-8")


def example_meta(**changes: Any) -> dict[str, Any]:
    """The requirement of the example's release, with the roles of its columns."""
    properties = yaml.safe_load((EXAMPLE / "models" / "schema.yml").read_text(encoding="utf-8"))
    [model] = [entry for entry in properties["models"] if entry["name"] == RELEASE]
    meta = model["config"]["meta"]["sqlanon"]
    columns = {entry["name"]: entry["config"]["meta"]["sqlanon"] for entry in model["columns"]}
    return {**meta, "columns": {**meta["columns"], **columns}, **changes}


def altered(*changes: tuple[str, str], **meta: Any) -> str:
    """The example's release under its requirement, texts of its query replaced, and signed anew."""
    file = ModelFile.of(WRITTEN)
    assert file is not None
    before = file.before.replace(
        "materialized='sqlanon_release'",
        f"materialized='sqlanon_release', meta={{'sqlanon': {example_meta(**meta)!r}}}",
    )
    query, mark, questions = file.part.partition("\n{% set ")
    for old, new in changes:
        assert query.count(old) == 1, old
        query = query.replace(old, new)
    return before + signed(query + mark + questions) + file.after


def without_questions(text: str) -> str:
    file = ModelFile.of(text)
    assert file is not None
    query = file.part.partition("\n{% set ")[0]
    return file.with_part(signed(f"{query}\n{END}"))


def altered_models() -> dict[str, str]:
    """Releases that come with a signature that fits."""
    return {
        "release_as_written": altered(),
        "release_of_raw_codes": altered(("  hierarchy_zip.label_3 AS zip,", "  source.zip AS zip,")),
        "release_of_raw_dates": altered(
            ("  hierarchy_birth_date.label_3 AS birth_date,", "  source.birth_date AS birth_date,")
        ),
        "release_of_other_words": altered(
            ("  hierarchy_marital.label_1 AS marital,", "  hierarchy_marital.label_1 || ', alone' AS marital,")
        ),
        "release_without_questions": without_questions(altered()),
        "release_with_a_name": altered(
            ("  source.cost\n", "  source.cost,\n  source.name AS alias\n"), default_role="insensitive"
        ),
        "release_with_identifiers": altered(
            ("  source.cost\n", "  source.cost,\n  source.name,\n  source.patient_id\n")
        ),
        "release_without_cost": altered(("  source.diagnosis,\n  source.cost\n", "  source.diagnosis\n")),
        "release_with_many_left_out": altered(("\nORDER BY RANDOM()", " AND source.sex = 'male'\nORDER BY RANDOM()")),
        "release_of_no_source": altered(source=None),
    }


@dataclass(frozen=True)
class Gate:
    """The build of all these models, and the columns of every table that stands after it."""

    outcome: Outcome
    columns: dict[str, list[str]]


@pytest.fixture(scope="module")
def gate(adapter: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Gate:
    """The build of a project whose releases come by other ways than the command."""
    dbt_command()
    directory = tmp_path_factory.mktemp(f"gate-{adapter}")
    warehouse: DuckDB | Postgres = DuckDB(directory / "clinic.duckdb")
    if adapter != "duckdb":
        warehouse = Postgres(request.getfixturevalue("postgres_server"), "gate_of_releases")
    project = Project.copied(directory, warehouse.environment())
    models = project.directory / "models"
    written = altered()
    people = "select '94139' as zip from {{ ref('stg_patients') }}"
    for name, text in {
        "people": people,
        "release_by_a_starter": STARTER,
        "release_by_hand": written.replace(END, f"-- one more line\n{END}"),
        "release_with_sql_around": f"{written}union all select * from {{{{ ref('people') }}}}\n",
        "release_with_sql_in_a_comment": f"-- {{{{ '\\n' ~ 'select 1 as zip union all' }}}}\n{written}",
        "release_in_a_comment": f"/* {written} */ select * from {{{{ ref('people') }}}}\n",
        "release_below_its_level": stamped([["zip", 1]], STARTER),
        "release_of_no_level": stamped([], STARTER),
        "release_forged": f'{MARK}\n-- Levels: [["zip", 2]]\n-- Signature: {"a" * 32}\n{STARTER}{END}\n',
        "release_of_a_forged_level": stamped([["zip", 2]], STARTER),
        **altered_models(),
    }.items():
        (models / f"{name}.sql").write_text(text, encoding="utf-8")
    try:
        with project.started():
            assert project.dbt("deps").code == 0
            outcome = project.dbt("build", "--exclude", f"{RELEASE}+")
            found = warehouse.query(
                "select table_name, column_name from information_schema.columns"
                f" where table_schema = '{warehouse.schema}' order by table_name, ordinal_position"
            )
            columns = {name: [column for table, column in found if table == name] for name, _ in found}
            return Gate(outcome, columns)
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
        ("release_of_a_forged_level", "the model does not ask which labels column 'zip' shows"),
        ("release_of_raw_codes", "column 'zip' shows labels of another level than 3"),
        ("release_of_raw_dates", "column 'birth_date' shows labels of another level than 3"),
        ("release_of_other_words", "column 'marital' shows labels of another level than 1"),
        ("release_without_questions", "the model does not ask which labels column 'zip' shows"),
        ("release_with_a_name", "column 'alias' is neither declared nor a column of the source"),
        ("release_without_cost", "the model has no column 'cost', which it declares"),
        ("release_with_many_left_out", "rows of the source are left out, at most 15 may be"),
        ("release_of_no_source", "'release_of_no_source' names no source"),
        ("release_by_hand", "model 'release_by_hand' was changed after `sqlanon dbt` wrote it"),
        ("release_with_sql_around", "'release_with_sql_around' holds SQL beside what `sqlanon dbt` wrote"),
        ("release_with_sql_in_a_comment", "'release_with_sql_in_a_comment' holds SQL beside"),
        ("release_in_a_comment", "'release_in_a_comment' holds SQL beside what `sqlanon dbt` wrote"),
    ],
)
def test_other_releases_are_refused(gate: Gate, name: str, message: str) -> None:
    status, told, _ = gate.outcome.nodes[name]
    assert status == "error"
    assert message in told
    assert not [table for table in gate.columns if table.startswith(name)]


@pytest.mark.parametrize("name", ["release_as_written", "release_with_identifiers"])
def test_what_is_in_order_is_published_without_identifiers(gate: Gate, name: str) -> None:
    status, told, _ = gate.outcome.nodes[name]
    assert status == "success", told
    assert gate.columns[name] == ["zip", "birth_date", "sex", "marital", "diagnosis", "cost"]


def test_names_are_harmless_in_a_written_model() -> None:
    hostile = "{{ x }} {% y %}\n{%- endset %}\n-- Signature: " + "b" * 32
    check = LabelCheck(hostile, 1, exp.select("2").from_(table_expression(BUILT)))
    text = model_text(ReleaseModel(exp.select("1"), (), (check,)), {hostile: 1}, lambda table: None, DUCKDB, "0" * 64)
    assert "{{ x" not in text
    assert "{% y" not in text
    assert text.count("{%- endset %}") == 1
    assert "{{ this }}" in text
    assert text == signed(text)
    assert json.loads(text.split("-- Levels: ")[1].split("\n")[0]) == [[hostile, 1]]
