"""Every mistake ends with one clear line and the right exit code, and writes nothing."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
import yaml
from psycopg import sql

from tests.kit.commands import COLUMNS, CommandLine, patients, spec_values, tables, write_spec
from tests.kit.papers import BadSpec, bad_specs

Values = dict[str, Any]


def hierarchy(column: str, builder: Any) -> Callable[[Values], Values]:
    def change(values: Values) -> Values:
        changed = {**COLUMNS, column: {"role": "quasi_identifier", "hierarchy": builder}}
        return {**values, "columns": changed}

    return change


def replaced(**keys: Any) -> Callable[[Values], Values]:
    return lambda values: {**values, **keys}


def misspelt(values: Values) -> Values:
    return {("privcy" if key == "privacy" else key): value for key, value in values.items()}


def without(column: str) -> Callable[[Values], Values]:
    return lambda values: {**values, "columns": {name: COLUMNS[name] for name in COLUMNS if name != column}}


@dataclass(frozen=True)
class Mistake:
    """A change that spoils a good spec, what the message names, and the exit code."""

    change: Callable[[Values], Values]
    words: tuple[str, ...]
    code: int
    files: dict[str, str] = field(default_factory=dict)


TWO_PARENTS = "94138,a,x,*\n94139,a,y,*\n94141,b,y,*\n94142,b,y,*\n"
TWO_TOPS = "94138,a,*\n94139,a,*\n94141,b,*\n94142,b,other\n"

MISTAKES = {
    "unknown column": Mistake(
        replaced(columns={**COLUMNS, "religion": {"role": "insensitive"}}), ("religion", "no column"), 2
    ),
    "unlisted column": Mistake(without("disease"), ("disease", "not listed"), 2),
    "misspelt key": Mistake(misspelt, ("privcy", "privacy"), 2),
    "k is 0": Mistake(replaced(privacy={"k": 0}), ("privacy.k",), 2),
    "k above the rows": Mistake(replaced(privacy={"k": 11}), ("k = 11", "10 rows"), 3),
    "nothing found within the limit": Mistake(
        replaced(
            privacy={"k": 6},
            columns={**COLUMNS, "zip": {**COLUMNS["zip"], "levels": {"max": 1}}},
        ),
        ("limit",),
        3,
    ),
    "value outside": Mistake(
        hierarchy("race", {"tree": {"person": ["asian", "black"]}}), ("race", "1 value", "outside"), 2
    ),
    "two parents": Mistake(
        hierarchy("zip", {"csv": "zip.csv"}), ("zip", "1 label", "parent"), 2, {"zip.csv": TWO_PARENTS}
    ),
    "two tops": Mistake(hierarchy("zip", {"csv": "zip.csv"}), ("zip", "top", "2 labels"), 2, {"zip.csv": TWO_TOPS}),
    "limit of 200%": Mistake(replaced(privacy={"k": 2, "suppression": {"limit": "200%"}}), ("limit", "100%"), 2),
    "target is the source": Mistake(replaced(target="patients"), ("target", "source"), 2),
    "a level that does not exist": Mistake(
        replaced(columns={**COLUMNS, "race": {**COLUMNS["race"], "levels": {"min": 4}}}), ("race", "level 4"), 2
    ),
    "unknown source": Mistake(replaced(source="nowhere"), ("nowhere",), 2),
    "rule that does not fit": Mistake(hierarchy("age", {"date": ["day", "any"]}), ("age", "date"), 2),
}


@pytest.mark.parametrize("command", ["plan", pytest.param("run", marks=pytest.mark.no_cover)])
@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.one_engine
def test_mistakes(sqlanon: CommandLine, database: str, folder: Path, name: str, command: str) -> None:
    mistake = MISTAKES[name]
    for file, text in mistake.files.items():
        (folder / file).write_text(text, encoding="utf-8")
    spec = write_spec(folder / "spec.yaml", mistake.change(spec_values(database)))
    files, before = {path.name for path in folder.iterdir()}, tables(database)
    outcome = sqlanon(command, spec)
    assert outcome.code == mistake.code, outcome.err
    assert outcome.out == ""
    assert outcome.err.startswith("sqlanon: error: ")
    assert outcome.err.count("\n") == 1
    for word in mistake.words:
        assert word in outcome.err
    for value in ("94142", "white", "asthma"):
        assert value not in outcome.err
    assert {path.name for path in folder.iterdir()} == files
    assert tables(database) == before


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (replaced(target='"no where".release'), 'target: there is no schema "no where"'),
        (replaced(scratch="nowhere", evidence={"tables": True}), "scratch: there is no schema nowhere"),
    ],
)
def test_a_schema_that_is_not_there(
    sqlanon: CommandLine, database: str, folder: Path, change: Callable[[Values], Values], key: str
) -> None:
    spec = write_spec(folder / "spec.yaml", change(spec_values(database)))
    for command in ("check", "run"):
        outcome = sqlanon(command, spec, "--log", "json")
        assert outcome.code == 2, outcome.err
        assert json.loads(outcome.err.splitlines()[-1])["message"].startswith(key)
        assert "scan source" not in outcome.err, "found before anything was read"


def test_an_empty_source(sqlanon: CommandLine, engine_url: str, folder: Path) -> None:
    patients(engine_url, [])
    spec = write_spec(folder / "spec.yaml", spec_values(engine_url))
    for command in ("plan", "run"):
        outcome = sqlanon(command, spec)
        assert outcome.code == 3, outcome.err
        assert "rows" in outcome.err
        assert outcome.err.count("\n") == 1
    assert tables(engine_url) == {"patients"}
    assert [path.name for path in folder.iterdir()] == ["spec.yaml"]


@pytest.mark.parametrize("bad", bad_specs(), ids=lambda bad: bad.path.stem)
def test_bad_specs(sqlanon: CommandLine, folder: Path, bad: BadSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SQLANON_FIXTURE_NOT_SET", raising=False)
    for path in bad.path.parent.iterdir():
        shutil.copy(path, folder)
    before = {path.name for path in folder.iterdir()}
    code = bad.exit_code
    outcome = sqlanon("run", bad.path.name, "--json")
    assert outcome.code == code, outcome.err
    assert outcome.json["error"]["exit_code"] == code
    for fragment in bad.fragments:
        assert fragment in outcome.err
    assert {path.name for path in folder.iterdir()} == before


def test_show_values_names_the_culprit(sqlanon: CommandLine, database: str, folder: Path) -> None:
    values = MISTAKES["value outside"].change(spec_values(database))
    outcome = sqlanon("check", write_spec(folder / "spec.yaml", values), "--show-values")
    assert outcome.code == 2
    assert "white" in outcome.err


@pytest.mark.parametrize("url", ["postgresql://nobody:s3cret@127.0.0.1:1/nowhere", "duckdb:///no/such/folder/x.duckdb"])
def test_an_unreachable_database(sqlanon: CommandLine, folder: Path, url: str) -> None:
    spec = write_spec(folder / "spec.yaml", spec_values(url))
    for command in (["check", spec], ["run", spec], ["audit", "patients", "--connection", url, "--qi", "race"]):
        outcome = sqlanon(*command)
        assert outcome.code == 4, outcome.err
        assert outcome.err.count("\n") == 1
        assert "s3cret" not in outcome.err
    assert [path.name for path in folder.iterdir()] == ["spec.yaml"]


@dataclass
class Role:
    """A login of the PostgreSQL server that is no superuser."""

    name: str
    schema: str
    url: str


@pytest.fixture
def role(postgres_server: str, postgres_url: str) -> Iterator[Role]:
    """A role that may read the table of patients, and nothing else."""
    patients(postgres_url)
    name = f"reader_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        [schema] = connection.execute("SELECT current_schema()").fetchone() or [""]
        for statement in (
            "CREATE ROLE {role} LOGIN PASSWORD 'right-password'",
            "GRANT USAGE ON SCHEMA {schema} TO {role}",
            "GRANT SELECT ON {schema}.patients TO {role}",
        ):
            names = {"role": sql.Identifier(name), "schema": sql.Identifier(schema)}
            connection.execute(sql.SQL(statement).format(**names))
    yield Role(name, schema, with_login(postgres_url, name, "right-password"))
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def with_login(url: str, user: str, password: str) -> str:
    scheme, _, rest = url.partition("://")
    place = rest.rpartition("@")[2]
    return f"{scheme}://{user}:{quote(password)}@{place}"


@pytest.mark.postgres
def test_no_permission_on_the_scratch_schema(sqlanon: CommandLine, folder: Path, role: Role, postgres_url: str) -> None:
    spec = write_spec(folder / "spec.yaml", spec_values(role.url, scratch=role.schema))
    before = tables(postgres_url)
    outcome = sqlanon("run", spec)
    assert outcome.code == 4
    assert outcome.err.count("\n") == 1
    assert "permission denied" in outcome.err
    assert tables(postgres_url) == before
    assert [path.name for path in folder.iterdir()] == ["spec.yaml"]


@pytest.fixture
def passwords_checked(postgres_server: str, role: Role) -> Iterator[None]:
    """The server trusts its users by default; here it asks this one for the password."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        [name] = connection.execute("SHOW hba_file").fetchone() or [""]
        rules = Path(name)
        if not rules.is_file():
            pytest.skip("the rules of the server given by SQLANON_TEST_POSTGRES_URL are out of reach")
        before = rules.read_text(encoding="utf-8")
        asked = "".join(f"{kind} all {role.name} {place} scram-sha-256\n" for kind, place in PLACES)
        rules.write_text(asked + before, encoding="utf-8")
        connection.execute("SELECT pg_reload_conf()")
        yield
        rules.write_text(before, encoding="utf-8")
        connection.execute("SELECT pg_reload_conf()")


PLACES = (("local", ""), ("host", "all"))


@pytest.mark.postgres
@pytest.mark.usefixtures("passwords_checked")
def test_a_wrong_password(sqlanon: CommandLine, folder: Path, role: Role, postgres_url: str) -> None:
    right = sqlanon("audit", "patients", "--connection", role.url, "--qi", "race")
    assert right.code == 0, right.err
    url = with_login(postgres_url, role.name, "wrong-password")
    spec = write_spec(folder / "spec.yaml", spec_values(url))
    outcome = sqlanon("run", spec, "--json")
    assert outcome.code == 4
    assert outcome.err.count("\n") == 1
    assert "password" in outcome.err
    assert "wrong-password" not in outcome.err + outcome.out
    assert outcome.json["error"]["type"] == "ConnectionFailed"
    assert [path.name for path in folder.iterdir()] == ["spec.yaml"]


def test_problems_of_spec_and_catalog_are_told_at_once(sqlanon: CommandLine, folder: Path) -> None:
    (folder / "people.csv").write_text("zip,age,born\n" + "94138,33,2020-01-01\n" * 9)
    columns: dict[str, Any] = {
        "zipp": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 5]}}},
        "age": {"role": "quasi_identifier", "hierarchy": {"date": ["day", "year", "any"]}},
        "nobody": {"role": "sensitive"},
        "BORN": {"role": "sensitive"},
    }
    spec = folder / "spec.yaml"
    values = {"source": "people.csv", "target": "released.csv", "columns": columns, "privacy": {"k": 2}}
    spec.write_text(yaml.safe_dump(values, sort_keys=False))
    ended = sqlanon("check", spec)
    assert ended.code == 2
    told = [line.removeprefix("sqlanon: error: ") for line in ended.err.splitlines()]
    assert told[0] == "columns.zipp: the source has no column 'zipp'; did you mean 'zip'?"
    assert told[1] == "columns.nobody: the source has no column 'nobody'"
    assert told[2] == "columns.BORN: the source has no column 'BORN'; did you mean 'born'?"
    assert told[3].startswith("column 'zip' and 1 more of the source is not listed")
    assert told[4].startswith("column 'age': date ")
    assert len(told) == 5
    spec.write_text(yaml.safe_dump(values | {"privacy": {"k": 0}, "search": {"algorithm": "optmal"}}))
    catalog = told
    told = sqlanon("check", spec).err.splitlines()
    # What the catalog says is told beside what is wrong with the spec itself, also of hierarchies.
    assert {line.removeprefix("sqlanon: error: ") for line in told[-5:]} == {*catalog}
    assert len(told) == 7
    assert any("privacy.k" in line for line in told)
    assert any("search.algorithm" in line for line in told)
    # A column that is wrong in itself is told once; the others are looked up all the same.
    spec.write_text(yaml.safe_dump(values | {"columns": columns | {"born": {"role": "king"}}}))
    told = sqlanon("check", spec).err.splitlines()
    assert sum("columns.born" in line for line in told) == 1
    assert sum("'age'" in line for line in told) == 1
    assert sum("columns.nobody" in line for line in told) == 1
    offline = sqlanon("check", spec, "--offline").err
    assert "the source has no column" not in offline
    for wrong in ("zip age born", ["zip"], 7):
        spec.write_text(yaml.safe_dump(values | {"columns": wrong}))
        told = sqlanon("check", spec).err.splitlines()
        assert len(told) == 1, "characters of a text are no columns"
        assert "columns: a mapping of keys is expected" in told[0]
