"""The story of the example project on each adapter, told once: however many workers ask, one builds."""

from __future__ import annotations

import json
import uuid
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from sqlanon.release.evidence.store import TABLES
from tests.kit.dbt_project import (
    FOR_TEAM,
    LOCK,
    RELEASE,
    TEAM,
    TRIALS,
    WRITTEN,
    DuckDB,
    Outcome,
    Postgres,
    Project,
    Rows,
    Warehouse,
    add_homogeneous_patients,
    dbt_command,
    stamped,
    values_of,
    watched,
)
from tests.kit.servers import common_folder, locked

ADAPTERS = ("duckdb", pytest.param("postgres", marks=pytest.mark.postgres))


@dataclass(frozen=True)
class Story:
    """The example built from scratch; then new data that break it, and trials beside it, built again; then mended."""

    first: Outcome
    second: Outcome
    third: Outcome
    planned: dict[str, Any]
    """What `sqlanon dbt` said of the example between the first build and the second."""
    team: dict[str, Any]
    """What it said of the release that is as a team has it."""
    file_of_team: str
    """The model of that release, as the command has written it."""
    team_released: Rows
    """That release after the third build, by its alias in its schema."""
    hooks_of_team: int
    """How often its hook has said that it was published."""
    written: dict[str, str]
    """The files it wrote."""
    released: Rows
    """The release after the first build."""
    released_later: Rows
    """The release after the second."""
    released_at_last: Rows
    """The release after the third."""
    tables: list[str]
    """Every table and view after the second build."""
    columns_of_visits: list[str]
    stored: dict[str, dict[str, Any]]
    """The failures that dbt stored, by test: each is one row."""
    seen: list[Any]
    """What another session saw during the second build: relations named like the release, and its rows."""
    planted: list[str]
    """Values of the source that nobody may print."""
    queries: dict[str, str]
    """The compiled queries of the tests on `cases`."""
    schema: str
    evidence: dict[str, list[dict[str, Any]]]
    """What the tables of evidence hold after the third build, in the order of runs."""
    comment: str
    """Of the released table, which `dbt docs` shows."""
    readers: list[str]
    """Who but the owner may do anything with these tables."""


@pytest.fixture(scope="session", params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def story(adapter: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    dbt_command()
    place = common_folder(request.config, tmp_path_factory)
    written = place / f"dbt-{adapter}.json"
    with locked(place / f"dbt-{adapter}.lock"):
        if not written.exists():
            story = tell(place / f"dbt-{adapter}", adapter, request)
            written.write_text(json.dumps(asdict(story), default=str), encoding="utf-8")
    content = json.loads(written.read_text(encoding="utf-8"))
    content |= {name: Outcome(**content[name]) for name in ("first", "second", "third")}
    return Story(**content)


def tell(directory: Path, adapter: str, request: pytest.FixtureRequest) -> Story:
    directory.mkdir()
    if adapter == "duckdb":
        return build(directory, DuckDB(directory / "clinic.duckdb"))
    warehouse = Postgres(request.getfixturevalue("postgres_server"), f"clinic_{uuid.uuid4().hex[:8]}")
    try:
        return build(directory, warehouse)
    finally:
        warehouse.drop()


def build(directory: Path, warehouse: Warehouse) -> Story:
    project = Project.copied(directory, warehouse.environment())
    if isinstance(warehouse, Postgres):
        project.take_package_from_git()
    with project.started():
        return told(project, warehouse)


def told(project: Project, warehouse: Warehouse) -> Story:
    if isinstance(warehouse, Postgres):
        warehouse.grant_by_default()
    installed = project.dbt("deps")
    assert installed.code == 0, installed.output
    first = project.dbt("build")
    assert first.code == 0, first.output
    released = released_rows(warehouse)
    for file in TEAM.iterdir():
        (project.directory / "models" / file.name).write_bytes(file.read_bytes())
    planned = project.sqlanon("--json")
    assert planned.returncode == 0, planned.stderr
    models = {model["model"]: model for model in json.loads(planned.stdout)["models"]}
    written = {name: (project.directory / name).read_text(encoding="utf-8") for name in (*WRITTEN, LOCK)}
    patients = project.seed.read_bytes()
    add_homogeneous_patients(project.seed)
    for trial in TRIALS.iterdir():
        (project.directory / "models" / trial.name).write_text(as_written(trial), encoding="utf-8")
    seen: list[Any] = []
    # A DuckDB file belongs to the process that writes it: nobody else could look.
    watching = watched(lambda: visible(warehouse), seen) if isinstance(warehouse, Postgres) else nullcontext()
    with watching:
        second = project.dbt("build")
    planted = sorted(values_of(project.seed, columns=(0, 1, 2, 3, 6, 7)))
    queries = {path.stem: path.read_text() for path in (project.directory / "target").glob("compiled/**/case_*.sql")}
    released_later = released_rows(warehouse)
    tables = sorted(name for (name,) in warehouse.query(relations(warehouse.schema)))
    project.seed.write_bytes(patients)
    third = project.dbt("build", "--select", f"+{RELEASE}", FOR_TEAM)
    return Story(
        first=first,
        second=second,
        third=third,
        planned={"models": [models[RELEASE]]},
        team=models[FOR_TEAM],
        file_of_team=(project.directory / "models" / f"{FOR_TEAM}.sql").read_text(encoding="utf-8"),
        team_released=[[str(value) for value in row] for row in warehouse.query(of_team(warehouse))],
        hooks_of_team=len(warehouse.query(f"select said from {warehouse.schema}.hooks_of_team")),
        written=written,
        released=released,
        released_later=released_later,
        released_at_last=released_rows(warehouse),
        tables=tables,
        columns_of_visits=columns(warehouse, "release_of_visits"),
        stored={name: stored(warehouse, name) for name in ("bad_k", "bad_l", "bad_t")},
        seen=seen,
        planted=planted,
        queries=queries,
        schema=warehouse.schema,
        evidence={name: records(warehouse, name) for name in TABLES},
        comment=comment(warehouse),
        readers=readers(warehouse),
    )


def of_team(warehouse: Warehouse) -> str:
    return f"select sex, marital, diagnosis, cost from {warehouse.schema}_research.patients_for_research"


def records(warehouse: Warehouse, table: str) -> list[dict[str, Any]]:
    """The rows of a table of evidence."""
    found = warehouse.query(f"select * from {warehouse.schema}.{table} order by 1, 2")
    return [dict(zip(TABLES[table], row, strict=True)) for row in found]


def comment(warehouse: Warehouse) -> str:
    statement = f"select comment from duckdb_tables() where table_name = '{RELEASE}'"
    if isinstance(warehouse, Postgres):
        statement = f"select obj_description('{warehouse.schema}.{RELEASE}'::regclass)"
    [[text]] = warehouse.query(statement)
    return str(text)


def readers(warehouse: Warehouse) -> list[str]:
    if isinstance(warehouse, DuckDB):
        return []
    granted = warehouse.query(
        "select distinct grantee from information_schema.role_table_grants"
        f" where table_schema = '{warehouse.schema}' and table_name like 'sqlanon_run%' and grantee <> current_user"
    )
    return [str(name) for (name,) in granted]


def as_written(trial: Path) -> str:
    """A trial as if the command had written it: these tests are about what is audited of such a release."""
    text = trial.read_text(encoding="utf-8")
    if not trial.name.startswith("release_"):
        return text
    names = ("zip", "birth_date", "sex", "marital", "diagnosis", "group", "age")
    return stamped([[name, 0] for name in names], text)


def released_rows(warehouse: Warehouse) -> Rows:
    statement = f"select * from {warehouse.schema}.{RELEASE}"
    return sorted([[str(value) for value in row] for row in warehouse.query(statement)])


def visible(warehouse: Warehouse) -> Any:
    """The release and what dbt builds or keeps beside it, and how many rows the release has."""
    names = [name for (name,) in warehouse.query(relations(warehouse.schema))]
    beside = sorted(name for name in names if name == RELEASE or name.startswith(f"{RELEASE}__"))
    return [beside, warehouse.query(f"select count(*) from {warehouse.schema}.{RELEASE}")]


def relations(schema: str) -> str:
    return f"select table_name from information_schema.tables where table_schema = '{schema}'"


def columns(warehouse: Warehouse, table: str) -> list[str]:
    named = warehouse.query(
        f"select column_name from information_schema.columns"
        f" where table_schema = '{warehouse.schema}' and table_name = '{table}' order by ordinal_position"
    )
    return [name for (name,) in named]


def stored(warehouse: Warehouse, test: str) -> dict[str, Any]:
    schema = f"{warehouse.schema}_dbt_test__audit"
    names = warehouse.query(
        f"select column_name from information_schema.columns"
        f" where table_schema = '{schema}' and table_name = '{test}' order by ordinal_position"
    )
    [row] = warehouse.query(f"select * from {schema}.{test}")
    return dict(zip((name for (name,) in names), row, strict=True))
