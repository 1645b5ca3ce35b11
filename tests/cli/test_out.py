"""`--out` and `--export` write over nothing that is read: sources, specs, hierarchies, populations, locks."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import yaml

import sqlanon as api
from sqlanon.errors import UsageError
from sqlanon.reports import writing
from tests.kit.commands import CommandLine, write_spec
from tests.kit.engine import execute, open_at

ZIPS = ("94138", "94139")
Spelling = Callable[[Path, Path], Path]


def itself(folder: Path, path: Path) -> Path:
    return path


def other_spelling(folder: Path, path: Path) -> Path:
    return Path(os.path.relpath(folder)) / ".." / folder.name / path.name


def symlink(folder: Path, path: Path) -> Path:
    link = folder / "linked.out"
    link.symlink_to(path)
    return link


def hardlink(folder: Path, path: Path) -> Path:
    link = folder / "linked.out"
    link.hardlink_to(path)
    return link


SPELLINGS = (itself, other_spelling, symlink, hardlink)
READ = ("people.csv", "spec.yaml", "zips.csv", "everybody.csv", "release.csv")


@pytest.fixture
def spec(folder: Path) -> Path:
    rows = "".join(f"{zip_code},flu\n" for zip_code in ZIPS * 3)
    (folder / "people.csv").write_text(f"zip,disease\n{rows}", encoding="utf-8")
    (folder / "everybody.csv").write_text(f"zip,disease\n{rows * 2}", encoding="utf-8")
    (folder / "zips.csv").write_text("".join(f"{zip_code},9413*\n" for zip_code in ZIPS), encoding="utf-8")
    zips = {"role": "quasi_identifier", "hierarchy": {"csv": "zips.csv"}}
    privacy = {"k": 2, "k_map": 2, "population": {"source": "everybody.csv"}}
    columns = {"zip": zips, "disease": {"role": "sensitive"}}
    values = {"source": "people.csv", "target": "release.csv", "columns": columns, "privacy": privacy}
    return write_spec(folder / "spec.yaml", values)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.representative(6)
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", READ)
def test_a_lock_file_replaces_nothing_that_is_read(
    sqlanon: CommandLine, spec: Path, folder: Path, name: str, spelling: Spelling
) -> None:
    assert sqlanon("run", spec).code == 0
    out = spelling(folder, folder / name)
    before = contents(folder)
    ended = sqlanon("plan", spec, "--out", out)
    assert ended.code == 2
    assert "name another file" in ended.err
    assert contents(folder) == before


@pytest.mark.representative(5)
@pytest.mark.parametrize("flags", [(), ("--offline",)])
@pytest.mark.parametrize("name", [*READ, "spec.lock.json", "other.lock.json"])
def test_a_report_replaces_nothing_that_is_read(
    sqlanon: CommandLine, spec: Path, folder: Path, name: str, flags: tuple[str, ...]
) -> None:
    assert sqlanon("run", spec).code == 0
    lock = folder / "other.lock.json"
    assert sqlanon("plan", spec, "--out", lock).code == 0
    before = contents(folder)
    ended = sqlanon("report", lock, "--out", folder / name, "--format", "json", "--no-what-if", *flags)
    assert ended.code == 2
    assert "name another file" in ended.err
    assert contents(folder) == before


def test_a_file_that_is_no_lock_file_is_kept(sqlanon: CommandLine, spec: Path, folder: Path) -> None:
    notes = folder / "notes.txt"
    notes.write_text("mine", encoding="utf-8")
    ended = sqlanon("plan", spec, "--out", notes)
    assert (ended.code, notes.read_text(encoding="utf-8")) == (2, "mine")
    assert "is no lock file" in ended.err
    assert sqlanon("plan", spec, "--out", folder / "new.json").code == 0
    assert sqlanon("plan", spec, "--out", folder / "new.json").code == 0


def test_a_file_that_only_has_the_name_of_a_lock_file_is_kept(sqlanon: CommandLine, spec: Path, folder: Path) -> None:
    notes = folder / "poetry.lock.json"
    notes.write_text("mine", encoding="utf-8")
    for command in (("plan", spec, "--out", notes),):
        ended = sqlanon(*command)
        assert (ended.code, notes.read_text(encoding="utf-8")) == (2, "mine")
        assert "is no lock file" in ended.err
    # One of ours is replaced, also where a merge has left it broken.
    assert sqlanon("plan", spec).code == 0
    lock = folder / "spec.lock.json"
    lock.write_text("<<<<<<< HEAD\n" + lock.read_text(encoding="utf-8"), encoding="utf-8")
    assert sqlanon("plan", spec).code == 0
    assert sqlanon("apply", lock).code == 0


@pytest.mark.parametrize("name", ["notes.txt", "zips.csv", "other.json"])
def test_a_draft_replaces_only_specs(sqlanon: CommandLine, spec: Path, folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\xff mine: columns")
    ended = sqlanon("init", folder / "people.csv", "--out", folder / name, "--force")
    assert (ended.code, (folder / name).read_bytes()) == (2, b"\xff mine: columns")
    assert "is no spec" in ended.err
    for _ in range(2):
        assert sqlanon("init", folder / "people.csv", "--out", folder / "draft.yaml", "--force").code == 0


@pytest.mark.parametrize("ending", ["html", "md", "json", "pdf", "txt"])
def test_a_report_replaces_reports_and_with_force_other_pages(
    sqlanon: CommandLine, spec: Path, folder: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(page: str, out: Path) -> None:
        out.write_bytes(b"%PDF-1.4\n%%EOF" + writing.PDF_MARK)

    monkeypatch.setattr(writing, "browser", lambda: "none")
    monkeypatch.setattr(writing, "print_page", printed)
    assert sqlanon("plan", spec).code == 0
    page = folder / f"page.{ending}"
    command = ("report", folder / "spec.lock.json", "--offline", "--out", page)
    for _ in range(2):
        assert sqlanon(*command).code == 0
    for content in (b"mine", b"<!doctype html>\n<p>mine", b'{"mine": 1}', b"%PDF-1.4\n%%EOF\n"):
        page.write_bytes(content)
        ended = sqlanon(*command)
        assert (ended.code, page.read_bytes()) == (2, content)
        assert "is no report of sqlanon" in ended.err
        with pytest.raises(UsageError, match="is no report"):
            api.report(folder / "spec.lock.json", out=page, offline=True)
        assert page.read_bytes() == content
        assert sqlanon(*command, "--force").code == 0
        assert page.read_bytes() != content
    before = contents(folder)
    ended = sqlanon("report", folder / "spec.lock.json", "--offline", "--out", folder / "zips.csv", "--force")
    assert (ended.code, contents(folder)) == (2, before)


def test_a_draft_replaces_no_source(sqlanon: CommandLine, spec: Path, folder: Path) -> None:
    before = contents(folder)
    ended = sqlanon("init", folder / "people.csv", "--out", folder / "people.csv", "--force")
    assert ended.code == 2
    assert "is the source" in ended.err
    assert contents(folder) == before


def test_exported_hierarchies_replace_no_hierarchy(sqlanon: CommandLine, spec: Path, folder: Path) -> None:
    (folder / "zips.csv").rename(folder / "zip.csv")
    spec.write_text(spec.read_text(encoding="utf-8").replace("zips.csv", "zip.csv"), encoding="utf-8")
    before = contents(folder)
    ended = sqlanon("hierarchies", spec, "--export", folder, "--force", "--delimiter", ";")
    assert ended.code == 2
    assert "what columns.zip.hierarchy reads" in ended.err
    assert contents(folder) == before


def test_a_file_under_a_view_and_the_database_are_kept(sqlanon: CommandLine, spec: Path, folder: Path) -> None:
    url = f"duckdb:///{folder / 'base.duckdb'}"
    engine = open_at(url)
    execute(engine, f"CREATE VIEW people AS SELECT * FROM read_csv('{folder / 'people.csv'}', all_varchar = true)")
    engine.close()
    zips = {"role": "quasi_identifier", "hierarchy": {"csv": "zips.csv"}}
    columns = {"zip": zips, "disease": {"role": "sensitive"}}
    values = {"connection": url, "source": "people", "target": "released", "columns": columns, "privacy": {"k": 2}}
    viewed = write_spec(folder / "viewed.yaml", values)
    before = contents(folder)
    for name, said in (("people.csv", "is the source"), ("base.duckdb", "is the database of the connection")):
        ended = sqlanon("plan", viewed, "--out", folder / name)
        assert (ended.code, contents(folder)) == (2, before)
        assert said in ended.err or "is no lock file" in ended.err
    assert sqlanon("plan", viewed).code == 0
    before = contents(folder)
    report = ("report", folder / "viewed.lock.json", "--format", "json", "--no-what-if", "--out")
    for name, said in (("people.csv", "is the source"), ("base.duckdb", "is the database of the connection")):
        ended = sqlanon(*report, folder / name)
        assert (ended.code, contents(folder)) == (2, before)
        assert said in ended.err or "is no older report" in ended.err


def test_the_file_of_a_sqlite_database_is_kept(sqlanon: CommandLine, folder: Path) -> None:
    database = folder / "x.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE people (zip TEXT, disease TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, 'flu')", [(zip_code,) for zip_code in ZIPS * 3])
        connection.commit()
    before = database.read_bytes()
    ended = sqlanon("init", "people", "--connection", f"sqlite:///{database}", "--out", database, "--force")
    assert ended.code == 2
    columns = {
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
        "disease": {"role": "sensitive"},
    }
    for url in (f"sqlite:///{database}", f"sqlite:///file:{database}?uri=true"):
        values = {"connection": url, "source": "people", "target": "released", "columns": columns, "privacy": {"k": 2}}
        spec = write_spec(folder / "lite.yaml", values)
        assert sqlanon("plan", spec).code == 0
        ended = sqlanon("report", folder / "lite.lock.json", "--format", "md", "--out", database)
        assert ended.code == 2
    assert database.read_bytes() == before


def test_a_report_replaces_only_pages(sqlanon: CommandLine, spec: Path, folder: Path) -> None:
    """Offline nobody knows what is read under a view, and other recipients have targets of their own."""
    assert sqlanon("plan", spec).code == 0
    kept = folder / "elsewhere.csv"
    kept.write_text("zip\n", encoding="utf-8")
    ended = sqlanon("report", folder / "spec.lock.json", "--offline", "--format", "md", "--out", kept)
    assert ended.code == 2
    assert "is no older report by its name" in ended.err
    assert kept.read_text(encoding="utf-8") == "zip\n"
    for _ in range(2):
        page = folder / "page.md"
        assert sqlanon("report", folder / "spec.lock.json", "--offline", "--out", page).code == 0


def test_nothing_but_an_ordinary_file_is_replaced(sqlanon: CommandLine, spec: Path, folder: Path) -> None:
    """A pipe, and likewise a device, is left in its place."""
    pipes = [folder / name for name in ("pipe.html", "pipe.lock.json", "pipe.yaml", "pipe.csv")]
    for pipe in pipes:
        os.mkfifo(pipe)
    assert sqlanon("plan", spec).code == 0
    targeted = write_spec(
        folder / "other.yaml", yaml.safe_load(spec.read_text(encoding="utf-8")) | {"target": "pipe.csv"}
    )
    commands = (
        ("report", folder / "spec.lock.json", "--out", pipes[0], "--offline"),
        ("plan", spec, "--out", pipes[1]),
        ("init", folder / "people.csv", "--out", pipes[2], "--force"),
        ("run", targeted),
    )
    for command in commands:
        ended = sqlanon(*command)
        assert (ended.code, "no ordinary file" in ended.err) == (2, True), ended.err
    assert all(pipe.is_fifo() for pipe in pipes)
