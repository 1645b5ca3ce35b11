"""A series of releases that dbt builds by itself, night after night, on each adapter: tracks against brute force."""

from __future__ import annotations

import csv
import shutil
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from sqlanon.planning import ledgers
from sqlanon.spec import spec_from_dict
from tests.dbt.conftest import ADAPTERS
from tests.kit.dbt_project import DuckDB, Outcome, Postgres, Project, Warehouse
from tests.kit.series import SECRET, VARIABLE, Row, enough, hash_of, held_back
from tests.release.test_series import people

pytestmark = pytest.mark.dbt

STUB = "{{ config(materialized='sqlanon_release') }}\nselect * from {{ ref('stg_people') }}\n"
HISTORY = {"key": "id", "left": "left_on", "ledger": "kept", "secret": f"${{{VARIABLE}}}"}
META = {
    "source": "ref('stg_people')",
    "k": 3,
    "l_diversity": [{"column": "s", "l": 1}],
    "suppression": {"limit": "50%"},
    "columns": {"id": {"role": "identifier"}, "left_on": {"role": "identifier"}},
    "history": HISTORY,
}
B = people(20, 21, 22, 23, 24, a="B'1", s="co'ld")
NIGHTS: tuple[Mapping[str, Row], ...] = (
    {**people(*range(1, 7)), **B},
    {**people(1, 2, 3, 4, 5, 7, 8), **B},
    {**people(1, 2, 3, 4, 5, 7, 8, 9), **B},
)
"""CASES T1."""


@dataclass
class Nights:
    """A dbt project with one release, and what its nights come to by brute force."""

    project: Project
    warehouse: Warehouse
    tracks: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    standing: set[str] = field(default_factory=set)

    def build(self, people: Mapping[str, Row], left: Collection[str] = ()) -> Outcome:
        seed = self.project.directory / "seeds" / "raw_people.csv"
        with seed.open("w", encoding="utf-8", newline="") as file:
            rows = ((name, *row, "2026-11-20" if name in left else "") for name, row in people.items())
            csv.writer(file).writerows([("id", "a", "s", "left_on"), *rows])
        return self.project.dbt("build")

    def publish(self, people: Mapping[str, Row], left: Collection[str] = ()) -> Outcome:
        """A night that has to come out as brute force says."""
        outcome = self.build(people, left)
        assert outcome.code == 0, outcome.output
        classes = {name: a for name, (a, _) in people.items()}
        sensitive = {name: s for name, (_, s) in people.items()}
        out = held_back(classes, sensitive, self.tracks, enough(3), 3, self.values, left, self.standing)
        self.standing = set(people) - out
        released = self.query("select a, s from release_people")
        assert Counter(map(tuple, released)) == Counter(people[name] for name in people if name not in out)
        nights = max((len(track) for track in self.tracks.values()), default=0)
        for name in {*self.tracks, *people}:
            stands = classes[name] if name in classes and name not in out else None
            if name in self.tracks or stands is not None:
                self.tracks[name] = (*self.tracks.get(name, (None,) * nights), stands)
                self.values |= {} if stands is None else {name: sensitive[name]}
        sizes = Counter(self.tracks.values())
        assert min(sizes.values()) >= 3
        known: dict[int, set[str]] = {}
        for person, track in self.query("select person, track from kept"):
            known.setdefault(track, set()).add(person)
        groups = [{hash_of(name) for name, found in self.tracks.items() if found == track} for track in sizes]
        assert sorted(map(sorted, known.values())) == sorted(map(sorted, groups))
        return outcome

    def query(self, statement: str) -> list[list[Any]]:
        schema = self.warehouse.schema
        for name in ("release_people", "kept_tracks", "kept_releases", "kept"):
            statement = statement.replace(f"from {name}", f"from {schema}.{name}")
        return self.warehouse.query(statement)

    def write(self, **changes: Any) -> None:
        """State the requirement, and let the command write the model."""
        self.state(**changes)
        written = self.project.sqlanon("--json")
        assert written.returncode == 0, written.stderr

    def state(self, **changes: Any) -> None:
        columns = [
            {"name": "a", "config": {"meta": {"sqlanon": {"role": "quasi_identifier", "levels": {"max": 0}}}}},
            {"name": "s", "config": {"meta": {"sqlanon": {"role": "sensitive"}}}},
        ]
        model = {"name": "release_people", "config": {"meta": {"sqlanon": {**META, **changes}}}, "columns": columns}
        path = self.project.directory / "models" / "schema.yml"
        seed = {"name": "raw_people", "config": {"column_types": {"left_on": "text"}}}
        path.write_text(yaml.safe_dump({"version": 2, "models": [model], "seeds": [seed]}), encoding="utf-8")


@pytest.fixture(params=ADAPTERS)
def nights(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nights]:
    monkeypatch.setenv(VARIABLE, SECRET)
    warehouse: Warehouse = DuckDB(tmp_path / "clinic.duckdb")
    environment = {VARIABLE: SECRET, "DBT_LOG_LEVEL_FILE": "debug"}
    if request.param == "postgres":
        warehouse = Postgres(request.getfixturevalue("postgres_server"), f"series_{uuid.uuid4().hex[:8]}")
        del environment[VARIABLE]
        environment["PGOPTIONS"] = f"-c sqlanon.secret={SECRET.replace(' ', chr(92) + ' ')}"
        warehouse.grant_by_default()
    project = Project.copied(tmp_path / "project", {**warehouse.environment(), **environment})
    for folder in ("models", "seeds"):
        shutil.rmtree(project.directory / folder)
        (project.directory / folder).mkdir()
    models = project.directory / "models"
    (models / "stg_people.sql").write_text("select * from {{ ref('raw_people') }}\n", encoding="utf-8")
    (models / "release_people.sql").write_text(STUB, encoding="utf-8")
    try:
        with project.started():
            yield Nights(project, warehouse)
    finally:
        if isinstance(warehouse, Postgres):
            warehouse.drop()


def test_three_nights(nights: Nights) -> None:
    """CASES T1 by `dbt build` alone, from the second night on without the command; what cannot be kept fails."""
    project = nights.project
    assert project.dbt("deps").code == 0
    nights.state()
    nights.build(NIGHTS[0])
    nights.write()
    nights.publish(NIGHTS[0])
    told = nights.publish(NIGHTS[1]).nodes["release_people"][1]
    assert told == "8 of 12 rows in 2 classes, the smallest of 3 rows; 2 newcomers wait, 2 leave with others"
    nights.publish(NIGHTS[2])
    assert Counter(nights.tracks.values())[None, None, "A1"] == 3
    assert [row[0] for row in nights.query("select smallest from kept_releases order by release")] == [5, 3, 3]
    # One who has left stays, since nobody can leave with her.
    nights.publish(NIGHTS[2], left=("p20",))
    assert nights.query("select covered, staying from kept_releases where release = 4") == [[2, 1]]
    # `sqlanon ledger` looks after the same ledger, by a spec that names the same source.
    schema = nights.warehouse.schema
    path = nights.warehouse.path if isinstance(nights.warehouse, DuckDB) else None
    spec = spec_from_dict(
        {
            "connection": f"duckdb:///{path}" if path else nights.warehouse.url,  # type: ignore[union-attr]
            "source": f"{schema}.stg_people",
            "target": f"{schema}.release_people",
            "columns": {
                **{name: {"role": "identifier"} for name in ("id", "left_on")},
                "a": {"role": "quasi_identifier"},
                "s": {"role": "sensitive"},
            },
            "privacy": {"k": 3, "l_diversity": [{"column": "s", "l": 1}]},
            "history": {**HISTORY, "ledger": f"{schema}.kept"},
        }
    )
    state = ledgers.verify(spec)
    assert (state.problems, state.people, state.smallest) == ((), 14, 3)
    # A night that is refused leaves release and ledger as they were.
    names = ("release_people", "kept", "kept_tracks", "kept_releases")
    before = [sorted(nights.query(f"select * from {name}")) for name in names]
    nights.state(suppression={"limit": 0})
    refused = nights.build({**NIGHTS[2], **people(30, 31, a="C1")})
    assert "2 of 15 rows of the source are left out, at most 0 may be" in refused.nodes["release_people"][1]
    nights.state(history={**HISTORY, "leavers": "refuse"})
    refused = nights.build(NIGHTS[0])
    assert "the model was written for another ledger, source or requirement" in refused.nodes["release_people"][1]
    nights.state(k=4)
    refused = nights.build(NIGHTS[0])
    assert "the model was written for another ledger, source or requirement" in refused.nodes["release_people"][1]
    assert [sorted(nights.query(f"select * from {name}")) for name in names] == before
    assert SECRET not in everything_below(project.directory)
    if isinstance(nights.warehouse, Postgres):
        granted = nights.query(
            "select distinct grantee from information_schema.role_table_grants"
            f" where table_schema = '{schema}' and table_name like 'kept%' and grantee <> current_user"
        )
        assert granted == []


def everything_below(folder: Path) -> str:
    """What dbt wrote: logs, compiled statements, caches."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".duckdb"]
    assert any(path.name == "dbt.log" for path in paths)
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in paths)
