"""One line and an exit code, soon: for odd specs, files, names and interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

import sqlanon as library
from sqlanon import pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.errors import SqlanonError
from sqlanon.source.run import Options
from sqlanon.sql.build import all_of, any_of, equal
from sqlanon.sql.relations import column, literal
from tests.kit.commands import CommandLine, Outcome, patients, spec_values, write_spec
from tests.kit.database import Database, changed
from tests.kit.locks import sealed

pytestmark = pytest.mark.reopened
"""Other processes open the same file."""


def is_one_line(outcome: Outcome, *words: str, code: int = 2) -> None:
    assert outcome.code == code, outcome.err
    [line] = outcome.err.strip().splitlines()
    assert line.startswith("sqlanon: error: ")
    assert "internal error" not in line
    for word in words:
        assert word in line


ODD: list[Any] = [5, [], [[]], {"x": None}]
"""What else may stand where a part of a lock file is expected; `make soak` tries it."""


@pytest.fixture
def planned(duckdb_url: str, folder: Path, sqlanon: CommandLine) -> Path:
    """A spec with its lock file beside it."""
    patients(duckdb_url)
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url))
    assert sqlanon("plan", spec).code == 0
    return spec


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_lock_file_that_is_nested_deeply(sqlanon: CommandLine, folder: Path) -> None:
    lock = folder / "deep.lock.json"
    lock.write_text("[" * 100_000 + "]" * 100_000, encoding="utf-8")
    is_one_line(sqlanon("apply", lock), "nested too deeply")


def test_a_spec_that_is_nested_deeply(sqlanon: CommandLine, folder: Path) -> None:
    spec = folder / "deep.yaml"
    spec.write_text("source: " + "[" * 5000 + "]" * 5000, encoding="utf-8")
    is_one_line(sqlanon("check", spec), "nested too deeply")


def test_a_query_that_is_nested_deeply(duckdb_url: str, folder: Path, sqlanon: CommandLine) -> None:
    patients(duckdb_url)
    query = "(" * 3000 + "select * from patients" + ")" * 3000
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url, source={"query": query}))
    is_one_line(sqlanon("check", spec), "source.query", "nested too deeply")


@pytest.mark.representative(5)
@pytest.mark.parametrize("path", [(), ("recoding",), ("hierarchies",), ("search",), ("source",), ("spec_parts",)])
@pytest.mark.parametrize("value", [None, "text", {}, *(pytest.param(odd, marks=pytest.mark.soak) for odd in ODD)])
def test_a_malformed_lock_file(planned: Path, sqlanon: CommandLine, path: tuple[str, ...], value: Any) -> None:
    lock = planned.with_name("spec.lock.json")
    content = json.loads(lock.read_text(encoding="utf-8"))
    changed_content: Any = value if not path else {**content, path[0]: value}
    lock.write_text(json.dumps(sealed(changed_content)), encoding="utf-8")
    outcome = sqlanon("apply", lock)
    if outcome.code:
        is_one_line(outcome)
    else:
        # An empty part that says nothing of the release is no harm.
        assert value == {}


def test_a_full_disk_leaves_the_old_lock(planned: Path, sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = planned.with_name("spec.lock.json")
    before = lock.read_text(encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    is_one_line(sqlanon("plan", planned, "--fresh"), "spec.lock.json", "No space left on device")
    assert lock.read_text(encoding="utf-8") == before
    assert not list(planned.parent.glob(".*.tmp"))


def test_a_target_folder_that_cannot_be_written(
    duckdb_url: str, folder: Path, sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    patients(duckdb_url)
    (folder / "closed").mkdir()
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url, target="closed/released.csv"))
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "closed" and may(path, mode))
    is_one_line(sqlanon("run", spec), "target:", "closed", "cannot be written to")


def test_a_target_folder_that_is_not_there(duckdb_url: str, folder: Path, sqlanon: CommandLine) -> None:
    patients(duckdb_url)
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url, target="nowhere/released.csv"))
    is_one_line(sqlanon("run", spec), "target:", "no folder", "nowhere")


def test_a_report_without_its_extra_is_told_at_once(
    planned: Path, sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sqlanon.reports.writing.find_spec", lambda name: None if name == "matplotlib" else find_spec(name)
    )
    monkeypatch.setattr("sqlanon.reports.gather.gather", lambda *_: pytest.fail("work was done first"))
    is_one_line(sqlanon("report", planned.with_name("spec.lock.json")), "matplotlib", "sqlanon[report]")


# -- specs and names ---------------------------------------------------------------------------------------------------


def test_hundreds_of_quasi_identifiers_are_refused_at_once(folder: Path, sqlanon: CommandLine) -> None:
    names = [f"c{number}" for number in range(300)]
    (folder / "wide.csv").write_text(",".join(names) + "\n" + (",".join(["ab"] * 300) + "\n") * 4, encoding="utf-8")
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 2}}} for name in names}
    values = {"source": "wide.csv", "target": "out.csv", "columns": columns, "privacy": {"k": 2}}
    spec = folder / "wide.yaml"
    spec.write_text(yaml.safe_dump(values), encoding="utf-8")
    is_one_line(sqlanon("run", spec), "300 columns are quasi-identifiers")


def test_a_token_stays_out_of_errors(folder: Path, sqlanon: CommandLine) -> None:
    token = "eyJhbGciOi.VERY-secret"
    for url in (f"duckdb:///md:sales?motherduck_token={token}", f"duckdb:///no/such/md:x?motherduck_token={token}"):
        outcome = sqlanon("audit", "patients", "--connection", url, "--qi", "zip")
        assert outcome.code
        assert token not in outcome.err
        assert "motherduck_token=***" in outcome.err
        debugged = sqlanon("audit", "patients", "--connection", url, "--qi", "zip", "--debug")
        assert token not in debugged.err.partition("Traceback")[0]


@pytest.mark.postgres
def test_a_name_that_postgresql_would_cut_off(postgres_url: str) -> None:
    database = Database(postgres_url)
    database.create("patients", {"zip": "text"}, [("94138",)] * 4)
    cut = "t" * 63
    database.run(f"CREATE TABLE {cut} (precious text)")
    values = {
        "connection": postgres_url,
        "source": "patients",
        "target": f"{cut}_longer",
        "columns": {"zip": {"role": "quasi_identifier"}},
        "privacy": {"k": 2},
    }
    with pytest.raises(SqlanonError, match="70 bytes; PostgreSQL allows 63"):
        pipeline.run(changed(values))
    assert database.types(cut) == {"precious": "text"}


def test_an_empty_dataframe() -> None:
    pandas = pytest.importorskip("pandas")
    spec = {"columns": {"zip": {"role": "quasi_identifier"}}, "privacy": {"k": 2}}
    for frame in (
        pandas.DataFrame(),
        pandas.DataFrame({"zip": []}),
        pandas.DataFrame({"zip": pandas.Series([], dtype=str)}),
    ):
        with pytest.raises(SqlanonError, match=r"no columns|no rows|nothing to release") as caught:
            library.run(frame, spec)
        assert len(str(caught.value).splitlines()) == 1


def test_exhaustive_lists_no_node_that_keeps_nothing(duckdb_url: str) -> None:
    database = Database(duckdb_url)
    database.create("patients", {"zip": "text"}, [("94138",), ("94139",), ("94141",), ("94142",)])
    values = {
        "connection": duckdb_url,
        "source": "patients",
        "target": "released",
        "columns": {"zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2, 5]}}}},
        "privacy": {"k": 2, "suppression": {"limit": "100%"}},
        "search": {"algorithm": "exhaustive"},
    }
    found = pipeline.plan(changed(values))
    assert found.search.acceptable is not None
    assert (0,) not in found.search.acceptable
    assert found.search.minimal == ((1,),) or list(found.search.minimal) == [(1,)]


# -- SQLite ------------------------------------------------------------------------------------------------------------


def sqlite_table(path: Path, values: list[str]) -> str:
    import sqlite3

    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE patients (zip TEXT)")
        connection.executemany("INSERT INTO patients VALUES (?)", [(value,) for value in values])
    connection.close()
    return f"sqlite:///{path}"


def test_masks_at_the_left_on_sqlite(tmp_path: Path) -> None:
    import sqlite3

    file = tmp_path / "s.sqlite"
    url = sqlite_table(file, ["94138", "94138", "95138", "né8", "né8", "", ""])
    mask = {"mask": {"length": 5, "steps": [2, 5], "side": "left"}}
    values = {
        "connection": url,
        "source": "patients",
        "target": "released",
        "columns": {"zip": {"role": "quasi_identifier", "hierarchy": mask, "levels": {"min": 1, "max": 1}}},
        "privacy": {"k": 2},
    }
    pipeline.run(changed(values))
    with sqlite3.connect(file) as connection:
        found = sorted(value for (value,) in connection.execute("SELECT zip FROM released"))
    connection.close()
    assert found == ["**", "**", "**138", "**138", "**138", "**né8", "**né8"]


def test_many_conditions_do_not_nest() -> None:
    import sqlite3

    conditions = [equal(column("a"), literal(number)) for number in range(5000)]
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.execute("INSERT INTO t VALUES (4999)")
        for made, rows in ((any_of(conditions), 1), (all_of(conditions), 0)):
            text = f"SELECT COUNT(*) FROM t WHERE {made.sql('sqlite')}"
            assert connection.execute(text).fetchall() == [(rows,)]
    connection.close()


# -- mondrian, time and interruptions ----------------------------------------------------------------------------------


def test_mondrian_counts_respondents_to_a_table(duckdb_url: str) -> None:
    database = Database(duckdb_url)
    rows = [(f"p{number % 9}", f"9413{number % 4}", 20 + number) for number in range(30)]
    database.create("patients", {"person": "text", "zip": "text", "age": "integer"}, rows)
    values = {
        "connection": duckdb_url,
        "source": "patients",
        "target": "released",
        "respondent": "person",
        "columns": {
            "person": {"role": "identifier"},
            "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
            "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10]}}},
        },
        "privacy": {"k": 3},
        "search": {"algorithm": "mondrian"},
    }
    pipeline.run(changed(values))
    assert len(database.rows("released")) == len(rows)


def test_a_statement_that_takes_too_long_names_its_key(duckdb_url: str) -> None:
    from sqlglot import parse_one

    from sqlanon.engines import open_engine
    from sqlanon.engines.base import Session, Statement

    engine = open_engine(duckdb_url, Session(statement_seconds=0.2), Path())
    long = "SELECT COUNT(*) FROM range(100000) AS a, range(100000) AS b, range(100000) AS c WHERE a.range < b.range"
    try:
        with pytest.raises(SqlanonError, match=r"longer than 0\.2 seconds; limits\.statement_seconds"):
            engine.query(Statement("long", parse_one(long, dialect="duckdb")))
    finally:
        engine.close()


@pytest.mark.no_cover
def test_ctrl_c_twice_is_one_line(planned: Path) -> None:
    program = (
        "import os, signal, sys, time\n"
        "from sqlanon.engines.session import Runner\n"
        "import sqlanon.engines.duckdb.engine as engine\n"
        "run = Runner.run\n"
        "def slow(self, action, seconds=None):\n"
        "    if sys._getframe(1).f_code.co_name == '_run' and os.path.exists('now'):\n"
        "        print('there', flush=True)\n"
        "        time.sleep(30)\n"
        "    return run(self, action, seconds)\n"
        "Runner.run = slow\n"
        "open('now', 'w').close()\n"
        "from sqlanon.cli.main import main\n"
        f"main(['run', {str(planned)!r}])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=planned.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    (planned.parent / "now").unlink()
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(err.strip().splitlines()) == 1, err
    assert "interrupted" in err


@pytest.mark.parametrize("step", ["replace", "commit"])
def test_ctrl_c_during_the_swap_leaves_a_whole_table(duckdb_url: str, step: str) -> None:
    database = Database(duckdb_url)
    database.create("patients", {"zip": "text"}, [("94138",)] * 4)
    values = {
        "connection": duckdb_url,
        "source": "patients",
        "target": "released",
        "columns": {"zip": {"role": "quasi_identifier"}},
        "privacy": {"k": 2},
    }
    pipeline.run(changed(values))
    database.run("INSERT INTO patients VALUES ('94139'), ('94139')")

    def hook(event: TraceEvent) -> None:
        if event.step == step and event.seconds is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pipeline.run(changed(values), Options(hooks=(hook,)))
    assert len(database.rows("released")) == 4
    assert database.leftovers() == []
