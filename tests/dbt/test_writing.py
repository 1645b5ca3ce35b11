"""`sqlanon dbt` on projects that dbt never saw: the SQL it writes against brute force, and what it refuses."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sqlanon.cli.main import run
from sqlanon.errors import EngineError
from tests.kit.engine import execute, open_at, query
from tests.kit.fake_dbt import STUB, FakeProject
from tests.kit.oracle import (
    Alpha,
    Asked,
    DistinctL,
    EntropyL,
    K,
    Problem,
    PSensitive,
    RecursiveL,
    Table,
    TEqual,
    TOrdered,
)

AREAS = ("ab1", "ab2", "cd1", None)
TREE = {"been_married": ["married", "widowed"], "never_married": ["single"]}
ILLNESSES = ("flu", "it's", "{{ x }}", None)

COLUMNS: dict[str, dict[str, Any]] = {
    "area": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 3, "steps": [1, 3]}}},
    "marital": {"role": "quasi_identifier", "hierarchy": {"tree": TREE}},
    "illness": {"role": "sensitive"},
    "stage": {"role": "sensitive"},
    "person": {"role": "identifier"},
}
LABELS: dict[str, dict[str | None, tuple[str | None, ...]]] = {
    "area": {value: (value, value and value[:2] + "*", "***") for value in AREAS},
    "marital": {
        None: (None, None, "*"),
        **{value: (value, label, "*") for label, values in TREE.items() for value in values},
    },
}
ORDER = ["it's", "flu", "{{ x }}"]
QUASI_IDENTIFIER = ("area", "marital")

REQUIREMENTS: dict[str, tuple[dict[str, Any], list[Asked]]] = {
    "k": ({"k": 4}, [Asked(K(4), QUASI_IDENTIFIER)]),
    "respondents": ({"k": 3, "respondent": "person"}, [Asked(K(3), QUASI_IDENTIFIER)]),
    "several": (
        {
            "k": 2,
            "l_diversity": [{"column": "illness", "l": 2}],
            "p_sensitive": [{"column": "stage", "p": 2}],
            "alpha": [{"column": "illness", "value": "flu", "alpha": 0.6}],
        },
        [
            Asked(K(2), QUASI_IDENTIFIER),
            Asked(DistinctL(2), QUASI_IDENTIFIER, "illness"),
            Asked(PSensitive(2), QUASI_IDENTIFIER, "stage"),
            Asked(Alpha("flu", Fraction(3, 5)), QUASI_IDENTIFIER, "illness"),
        ],
    ),
    "entropy and recursive": (
        {
            "l_diversity": [
                {"column": "illness", "l": 2, "kind": "entropy"},
                {"column": "stage", "l": 2, "kind": "recursive", "c": 1.5},
            ]
        },
        [
            Asked(EntropyL(2), QUASI_IDENTIFIER, "illness"),
            Asked(RecursiveL(Fraction(3, 2), 2), QUASI_IDENTIFIER, "stage"),
        ],
    ),
    "closeness": (
        {
            "t_closeness": [
                {"column": "illness", "t": 0.4, "distance": "ordered", "order": ORDER},
                {"column": "stage", "t": 0.3},
            ]
        },
        [
            Asked(TOrdered(Fraction(2, 5), (None, *ORDER)), QUASI_IDENTIFIER, "illness"),
            Asked(TEqual(Fraction(3, 10)), QUASI_IDENTIFIER, "stage"),
        ],
    ),
}


@pytest.fixture
def project(engine_url: str, tmp_path: Path) -> FakeProject:
    [(schema,)] = found(engine_url, "SELECT current_schema()")
    return FakeProject(tmp_path / "project", str(schema))


@pytest.fixture
def people(engine_url: str) -> list[dict[str, Any]]:
    """Sixty rows of forty people in a table `staged`."""
    dice = random.Random(7)
    marital = list(LABELS["marital"])
    rows = [
        {
            "area": dice.choice(AREAS),
            "marital": dice.choice(marital),
            "illness": dice.choice(ILLNESSES),
            "stage": dice.choice((None, 1, 2, 10)),
            "person": f"p{dice.randrange(40)}",
        }
        for _ in range(60)
    ]
    done(engine_url, "CREATE TABLE staged (area text, marital text, illness text, stage integer, person text)")
    done(engine_url, f"INSERT INTO staged VALUES {tuples([list(row.values()) for row in rows])}")
    return rows


def done(url: str, *statements: str) -> None:
    with closing(open_at(url)) as engine:
        execute(engine, *statements)


def found(url: str, statement: str) -> list[Any]:
    with closing(open_at(url)) as engine:
        return list(query(engine, statement))


def tuples(rows: Sequence[Sequence[object]]) -> str:
    return ", ".join(f"({', '.join(map(written, row))})" for row in rows)


def written(value: object) -> str:
    return (
        "NULL" if value is None else str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
    )


def load_seeds(url: str, project: FakeProject) -> None:
    for path in (project.folder / "seeds").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as lines:
            header, *rows = csv.reader(lines)
        columns = ", ".join(f"{name} text" for name in header)
        done(url, f"CREATE TABLE {path.stem} ({columns})", f"INSERT INTO {path.stem} VALUES {tuples(rows)}")


def command(project: FakeProject, url: str, *more: str) -> list[str]:
    given = ["--project", str(project.folder), "--dbt", str(project.parser())]
    return ["dbt", *given, "--connection", url, "--json", *more]


@pytest.mark.representative(3, postgres=2)
@pytest.mark.parametrize("name", REQUIREMENTS)
def test_the_written_model_releases_what_brute_force_keeps(
    engine_url: str,
    project: FakeProject,
    people: list[dict[str, Any]],
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    meta, asked = REQUIREMENTS[name]
    project.write({"source": "ref('staged')", "suppression": {"limit": "60%"}, **meta}, COLUMNS)
    assert run(command(project, engine_url)) == 0, capsys.readouterr().err
    [planned] = json.loads(capsys.readouterr().out)["models"]
    load_seeds(engine_url, project)
    released = found(engine_url, project.query())
    table = Table(people, respondent=meta.get("respondent"))
    problem = Problem(table, LABELS, tuple(asked))
    kept = problem.kept(tuple(planned["levels"].values())).rows
    shown = ["area", "marital", "illness", "stage", *(["person"] if "respondent" in meta else [])]
    assert Counter(tuple(row) for row in released) == Counter(tuple(row[column] for column in shown) for row in kept)
    assert len(kept) == planned["rows"] - planned["suppressed"] < len(people)


def test_rules_of_columns_are_part_of_the_query(
    engine_url: str, project: FakeProject, people: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    done(engine_url, "CREATE TABLE places (area text, district text)")
    done(engine_url, "INSERT INTO places VALUES ('ab1', 'north'), ('ab2', 'north'), ('cd1', '{{ south }}')")
    lookup = {"of": "area", "table": "places", "key": "area", "value": "district"}
    columns: dict[str, dict[str, Any]] = {
        "district": {"role": "quasi_identifier", "derive": {"lookup": lookup}, "levels": {"max": 0}},
        "illness": {"role": "sensitive", "release": "drop"},
        "stage": {"role": "sensitive", "release": {"round": 4}},
        "marital": {"role": "identifier"},
        "person": {"role": "identifier"},
    }
    project.write({"source": "ref('staged')", "k": 2, "suppression": {"limit": "60%"}}, columns)
    assert run(command(project, engine_url)) == 0, capsys.readouterr().err
    load_seeds(engine_url, project)
    released = found(engine_url, project.query())
    districts = {"ab1": "north", "ab2": "north", "cd1": "{{ south }}", None: None}
    rounded = {None: None, 1: 0, 2: 4, 10: 12}
    wanted = Counter((rounded[row["stage"]], districts[row["area"]]) for row in people)
    assert Counter(tuple(row) for row in released) == wanted
    shift = {"shift": {"days": 3, "secret": "${SQLANON_KEY}"}}
    project.write(
        {"source": "ref('staged')", "k": 2, "respondent": "person"},
        {**columns, "stage": {"role": "insensitive", "release": shift}},
    )
    assert run(command(project, engine_url)) == 2
    assert "columns.stage.release.shift: it is made with a secret, and a model would show it" in capsys.readouterr().err


def outside(project: FakeProject, url: str) -> None:
    """A release written for the people, and then a person whom no hierarchy covers."""
    project.write({"source": "staged", "k": 2, "suppression": {"limit": "60%"}}, {**COLUMNS, "marital": MARITAL_LISTED})
    assert run(command(project, url)) == 0
    load_seeds(url, project)
    done(url, f"INSERT INTO staged VALUES {tuples([['ab1', 'engaged', 'flu', 1, 'p1']])}")


MARITAL_LISTED = {**COLUMNS["marital"], "levels": {"max": 1}}


@pytest.mark.usefixtures("people")
def test_a_value_outside_its_hierarchy_stops_the_build(engine_url: str, project: FakeProject) -> None:
    outside(project, engine_url)
    with pytest.raises(EngineError) as raised:
        found(engine_url, project.query())
    assert "engaged" not in str(raised.value)
    assert "a value lies outside its hierarchy" in str(raised.value.detail)


@pytest.mark.usefixtures("people")
def test_a_value_outside_the_declared_order_stops_the_build(engine_url: str, project: FakeProject) -> None:
    meta, _ = REQUIREMENTS["closeness"]
    project.write({"source": "staged", "suppression": {"limit": "60%"}, **meta}, COLUMNS)
    assert run(command(project, engine_url)) == 0
    load_seeds(engine_url, project)
    done(engine_url, f"INSERT INTO staged VALUES {tuples([['ab1', 'single', 'plague', 1, 'p1']])}")
    with pytest.raises(EngineError) as raised:
        found(engine_url, project.query())
    assert "a value of illness is not in its declared order" in str(raised.value.detail)


# -- files of the project; one engine is enough ------------------------------------------------------------------------


@pytest.fixture
def staged(duckdb_url: str, tmp_path: Path) -> FakeProject:
    """A project on DuckDB, its profile in place."""
    done(duckdb_url, "CREATE TABLE staged (area text, marital text)")
    done(duckdb_url, f"INSERT INTO staged VALUES {tuples([['ab1', 'single'], ['ab2', 'single']] * 3)}")
    project = FakeProject(tmp_path / "project", "main")
    project.write({"source": "staged", "k": 2}, QUASI_IDENTIFIERS)
    project.profile({"type": "duckdb", "path": "{{ env_var('FAKE_PATH', '../test.duckdb') }}"})
    return project


QUASI_IDENTIFIERS = {name: COLUMNS[name] for name in QUASI_IDENTIFIER}


def said(project: FakeProject, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code of the command and what it said."""
    code = run(["dbt", "--project", str(project.folder), "--dbt", str(project.parser()), *arguments])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


GENERALIZED = {**QUASI_IDENTIFIERS, "marital": {**COLUMNS["marital"], "levels": {"min": 1}}}
"""A column that is released as it is needs no seed; one that is generalized by a tree does."""


def test_files_are_written_and_written_again(staged: FakeProject, capsys: pytest.CaptureFixture[str]) -> None:
    staged.write({"source": "staged", "k": 2}, GENERALIZED)
    code, text = said(staged, capsys)
    assert code == 0
    assert "release.sql" in text
    first = staged.model.read_text(encoding="utf-8")
    kept, _, _ = STUB.partition("select *")
    assert first.startswith(f"{kept}-- Written by `sqlanon dbt`.")
    assert first.endswith("-- End of what `sqlanon dbt` wrote.\n")
    assert "{{ ref('staged') }}" in first
    seeds = sorted(path.name for path in (staged.folder / "seeds").iterdir())
    assert seeds == ["release_hierarchies.yml", "release_marital_hierarchy.csv"]
    lock = json.loads((staged.folder / "models" / "release.lock.json").read_text(encoding="utf-8"))
    assert lock["recoding"]["levels"] == {"area": 0, "marital": 1}
    assert said(staged, capsys)[0] == 0
    assert staged.model.read_text(encoding="utf-8") == first


def test_seeds_that_are_read_no_longer_go(staged: FakeProject, capsys: pytest.CaptureFixture[str]) -> None:
    staged.write({"source": "staged", "k": 2}, GENERALIZED)
    assert said(staged, capsys)[0] == 0
    top = {**COLUMNS["marital"], "levels": {"min": 2}}
    staged.write({"source": "staged", "k": 2}, {**QUASI_IDENTIFIERS, "marital": top})
    own = staged.folder / "seeds" / "own.csv"
    own.write_text("a\n1\n", encoding="utf-8")
    assert said(staged, capsys)[0] == 0
    assert list((staged.folder / "seeds").iterdir()) == [own]


def test_sql_of_other_people_is_not_overwritten(staged: FakeProject, capsys: pytest.CaptureFixture[str]) -> None:
    own = "select area, marital from {{ ref('staged') }} where area is not null"
    staged.model.write_text(own, encoding="utf-8")
    code, text = said(staged, capsys)
    assert code == 2
    assert "holds SQL of your own" in text
    assert staged.model.read_text(encoding="utf-8") == own


def test_jinja_in_names_and_labels_stays_text(staged: FakeProject, duckdb_url: str) -> None:
    done(duckdb_url, 'ALTER TABLE staged RENAME COLUMN area TO "{{ area }}"')
    columns = {"{{ area }}": COLUMNS["area"], "marital": COLUMNS["marital"]}
    staged.write({"source": "staged", "k": 2}, columns)
    assert run(["dbt", "--project", str(staged.folder), "--dbt", str(staged.parser())]) == 0
    text = staged.model.read_text(encoding="utf-8")
    assert "{{ area }}" not in text
    assert "\"{{ '{{' }} area }}\"" in text


REFUSED: list[tuple[Mapping[str, Any], str]] = [
    ({"source": "staged", "k": 2, "k_map": 3}, "meta.sqlanon.k_map: the dbt package does not audit this"),
    ({"source": "nowhere", "k": 2}, "the project has no such node"),
    ({"source": "source('raw', 'nowhere')", "k": 2}, "the project has no such node"),
    ({"source": "source('raw', 'staged')", "k": 2}, "landing"),
    ({"source": "staged", "k": 0}, "model 'release': privacy.k"),
    ({"source": "staged", "k": 2, "suppression": {"mode": "blank"}}, "suppression.mode"),
    ({"source": "staged", "k": 2, "search": {"algorithm": "mondrian"}}, "which mondrian does not decide"),
    ({"source": "staged", "k": 2, "search": {"algorithm": "local"}}, "which local does not decide"),
    ({"k": 2}, "has a source in meta.sqlanon"),
]


@pytest.mark.parametrize(("meta", "message"), REFUSED)
def test_what_cannot_be_built_is_refused(
    staged: FakeProject, capsys: pytest.CaptureFixture[str], meta: Mapping[str, Any], message: str
) -> None:
    staged.write(meta, QUASI_IDENTIFIERS)
    code, text = said(staged, capsys)
    assert code != 0
    assert message in text


def test_nothing_is_planned_where_another_release_cannot_be_built(
    staged: FakeProject, capsys: pytest.CaptureFixture[str]
) -> None:
    staged.write({"source": "staged", "k": 2}, QUASI_IDENTIFIERS)
    before = staged.model.read_text(encoding="utf-8")
    prepared = staged.folder / "prepared.json"
    content = json.loads(prepared.read_text(encoding="utf-8"))
    meta = {"source": "staged", "k": 2, "search": {"algorithm": "mondrian"}}
    second = {**content["nodes"]["model.fake.release"], "name": "second", "alias": "second"}
    content["nodes"]["model.fake.second"] = {**second, "config": {**second["config"], "meta": {"sqlanon": meta}}}
    prepared.write_text(json.dumps(content), encoding="utf-8")
    code, text = said(staged, capsys)
    assert (code, "which mondrian does not decide" in text) == (2, True)
    assert staged.model.read_text(encoding="utf-8") == before
    assert [*staged.folder.rglob("*.lock.json")] == []


SENSITIVE = {**QUASI_IDENTIFIERS, "person": {"role": "identifier"}, "illness": {"role": "sensitive"}}


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"l_diversity": [{"column": "illness", "l": 2}], "respondent": "person"}, "respondents for k alone"),
        ({"t_closeness": [{"column": "illness", "t": 0.3, "distance": "hierarchical"}]}, "equal and ordered"),
    ],
)
def test_what_the_package_does_not_audit_is_refused(
    staged: FakeProject, capsys: pytest.CaptureFixture[str], meta: Mapping[str, Any], message: str
) -> None:
    tree = {"role": "sensitive", "hierarchy": {"tree": {"any": ["flu"]}}}
    columns = {**SENSITIVE, "illness": tree} if "t_closeness" in meta else SENSITIVE
    staged.write({"source": "staged", "k": 2, **meta}, columns)
    code, text = said(staged, capsys)
    assert code == 2
    assert message in text


def test_a_model_that_is_no_release_cannot_be_selected(staged: FakeProject, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(staged, capsys, "--select", "staged")
    assert code == 2
    assert "'staged' is no model" in text
    assert said(staged, capsys, "--select", "release")[0] == 0


def test_labels_that_a_seed_cannot_hold_are_refused(staged: FakeProject, capsys: pytest.CaptureFixture[str]) -> None:
    tree = {
        "role": "quasi_identifier",
        "hierarchy": {"tree": {"known": ["single"], "unknown": [""]}},
        "levels": {"min": 1},
    }
    staged.write({"source": "staged", "k": 2}, {**QUASI_IDENTIFIERS, "marital": tree})
    code, text = said(staged, capsys)
    assert code == 2
    assert "dbt seeds cannot hold" in text
