"""The report: its figures against brute force, its formats, and that no rare value enters it."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

import sqlanon
from sqlanon.cli.main import run
from sqlanon.errors import UsageError
from sqlanon.hierarchies.lattice import Lattice
from sqlanon.metrics.base import Verdict
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.reports.gather import WhatIf, gather
from sqlanon.reports.lattice_view import LatticeFrame, Shown, lattice_view
from sqlanon.reports.model import Report
from sqlanon.reports.offline import gather_offline
from sqlanon.reports.values import sensitive_shares, tree_of
from sqlanon.reports.writing import rendered, write
from sqlanon.source.run import Options
from sqlanon.spec import load_spec
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.spec.privacy import PERSONALIZED
from sqlanon.sql.relations import Table
from tests.kit.engine import execute, open_at
from tests.kit.locks import edit_lock
from tests.kit.rare_values import RARE, K, command, people, report_of, rows, tree


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a release was published, with its lock file and evidence; its database lies elsewhere."""
    folder = tmp_path_factory.mktemp("published")
    command("run", people(f"duckdb:///{tmp_path_factory.mktemp('base')}/test.duckdb", folder))
    return folder


@pytest.fixture
def lock(published: Path, folder: Path) -> Path:
    """The lock file of a published release, in a folder that the test may change."""
    shutil.copytree(published, folder, dirs_exist_ok=True)
    return folder / "people.lock.json"


def shown_in(text: str, value: str) -> bool:
    """Whether a value stands in an artifact, however it is written there."""
    spellings = {value, html.escape(value), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    spellings |= {value.replace("'", "''"), value.replace("|", "\\|").replace("<", "\\<"), value.replace("\\", "\\\\")}
    return any(spelling in text for spelling in spellings)


def artifacts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".html", ".md", ".json") and "test.duckdb" not in path.name:
            yield path.name, path.read_text(encoding="utf-8")


@pytest.mark.one_engine
def test_no_rare_value_is_shown(engine_url: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The planted values stand in the source, in a hierarchy's definition and in a requirement; in nothing written."""
    spec = people(engine_url, folder)
    command("run", spec, "--log", "json")
    report = gather(load_spec(spec), Lock.read(folder / "people.lock.json"), what_if=WhatIf((2, 3), ()))
    for kind in ("html", "md", "json"):
        write(report, kind, folder / f"report.{kind}")
    printed = capsys.readouterr()
    texts = dict([*artifacts(folder), ("stdout", printed.out), ("stderr", printed.err)])
    assert texts.keys() >= {"report.html", "report.md", "report.json", "people.lock.json"}
    assert any(re.fullmatch(r"[0-9a-f]{12}\.json", name) for name in texts), "the evidence is read too"
    planted = [value for values in RARE.values() for value in values]
    assert not [(name, value) for name, text in texts.items() for value in planted if shown_in(text, value)]
    assert "Bern" in texts["report.html"]
    assert "2 rare values" in texts["report.html"]
    assert "1 rare value<" in texts["report.html"]
    check_figures(json.loads(texts["report.json"]))


def check_figures(report: dict[str, Any]) -> None:
    """The figures of the table, counted by hand."""
    every = rows()
    city = report["columns"][0]["tree"]
    labels = {child["label"]: child for child in city["children"]}
    count = Counter(row[0] for row in every)
    river = sum(count[name] for name in ("Bern", "Basel", "Null'land", "Ünïque|<b>burg"))
    assert city["share"] == 1
    assert labels["river"]["share"] == pytest.approx(river / len(every), abs=1e-4)
    assert {child["label"] for child in labels["river"]["children"]} == {"Bern", "Basel"}
    assert (labels["river"]["rare"], labels["lake"]["rare"]) == (2, 1)
    assert labels[None]["share"] == pytest.approx(3 / len(every), abs=1e-4)
    [sensitive] = report["sensitive"]
    assert set(sensitive["overall"]["shares"]) == {"flu", "cold", "asthma"}
    assert len(sensitive["worst_classes"]) == 5
    before, after = report["sizes"]["before"], report["sizes"]["after"]
    groups = Counter(row[:3] for row in every)
    assert (before["rows"], before["classes"], before["k"]) == (len(every), len(groups), min(groups.values()))
    assert after["k"] >= K
    assert after["rows"] == len(every) - report["figures"]["suppressed"]
    asked = {line["requirement"]: line for line in report["requirements"]}
    assert asked["k"]["rows_at_risk_before"] == sum(n for n in groups.values() if n < K)
    assert all(line["satisfied"] and line["rows_at_risk_after"] == 0 for line in asked.values())
    assert (report["published"], report["satisfied"]) == (True, True)
    assert [item["k"] for item in report["evidence"]] == [after["k"]]
    [queries] = [grid for grid in report["more"] if grid["title"] == "Count queries"]
    assert {row["queries"]: row["number"] for row in queries["rows"]}.keys() == {"all", "type 1", "type 2"}
    assert [(cell["k"], cell["feasible"]) for cell in report["frontier"]["grid"]] == [(2, True), (3, True)]


@pytest.mark.one_engine
def test_why_this_node(engine_url: str, folder: Path) -> None:
    """As the plan says it, without any value: rows of the matrix are rare by definition."""
    search = {"algorithm": "samarati", "satisfies": "matrix"}
    spec = people(engine_url, folder, privacy={"k": K, "suppression": {"limit": 1}}, search=search)
    planned = sqlanon.plan(spec, Options(explain=True))
    Lock.of(load_spec(spec), planned, spec.name).write(folder / "people.lock.json")
    report = gather(load_spec(spec), Lock.read(folder / "people.lock.json"))
    assert planned.explanation is not None
    assert report.to_dict()["explain"] == planned.explanation.to_dict()
    assert report.explanation is not None
    assert report.explanation.matrix.view is not None
    assert report.explanation.matrix.view.rows
    told = "\n".join(repr(sheet) for sheet in report.explanation.sheets())
    texts = [told, *(rendered(report, kind) for kind in ("html", "md", "json"))]
    planted = [value for values in RARE.values() for value in values]
    assert not [value for value in planted if any(shown_in(text, value) for text in texts)]
    assert not [value for value in ("Bern", "baker", "smith") if value in told]


@pytest.mark.one_engine
def test_shares_of_the_worst_classes(engine_url: str, folder: Path) -> None:
    """Against classes counted by hand, on a release that keeps the values as they are."""
    columns = {
        "job": {"role": "quasi_identifier", "levels": {"max": 0}},
        "city": {"role": "identifier"},
        "age": {"role": "insensitive"},
        "disease": {"role": "sensitive"},
    }
    spec = people(engine_url, folder, columns=columns, privacy={"k": K, "suppression": {"limit": 1}})
    command("plan", spec)
    [sensitive] = report_of(folder / "people.lock.json", "--no-what-if")["sensitive"]
    classes: dict[Any, Counter[Any]] = {}
    for _, job, _, disease in rows():
        classes.setdefault(job, Counter())[disease] += 1
    classes = {job: found for job, found in classes.items() if found.total() >= K}
    order = sorted(classes.values(), key=lambda found: (-max(found.values()) / found.total(), -found.total()))
    expected = [
        {value: round(n / found.total(), 4) for value, n in found.items() if n >= K and value not in RARE["disease"]}
        for found in order
    ]
    assert [item["shares"] for item in sensitive["worst_classes"]] == expected


def test_run_and_lock_are_one_report(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_lock = report_of(lock, "--offline")
    out = lock.with_name("by_run.md")
    command("report", by_lock["evidence"][0]["run"], "--out", out, "--no-what-if")
    assert out.read_text(encoding="utf-8").startswith("# Release of released")
    assert run(["report", "people.yaml"]) == 2
    assert run(["report", "0123456789ab"]) == 2
    edit_lock(lock, lambda content: content["recoding"]["levels"].update(age=2))
    capsys.readouterr()
    assert run(["report", by_lock["evidence"][0]["run"]]) == 2
    assert "decides other levels" in capsys.readouterr().err


def test_offline_asks_no_database(lock: Path) -> None:
    (lock.parent / "people.yaml").write_text(
        (lock.parent / "people.yaml").read_text(encoding="utf-8").replace("connection: ", "connection: nowhere+"),
        encoding="utf-8",
    )
    report = report_of(lock, "--offline")
    assert report["satisfied"] is None
    assert report["lattice"]["chosen"] == [1, 0, 0]
    assert "nothing was measured" in report["notes"][0]
    command("report", lock, "--offline", "--out", lock.with_name("offline.html"))


@pytest.mark.representative(1)
@pytest.mark.parametrize("algorithm", ["mondrian", "ghs"])
def test_recodings_without_a_lattice(
    algorithm: str, duckdb_url: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Class-wise, and cuts of each column: figures of their own where the lattice would be."""
    privacy = {"k": K, "suppression": {"limit": "10%"}}
    spec = people(duckdb_url, folder, privacy=privacy, search={"algorithm": algorithm})
    command("plan", spec, "--json")
    lock = Lock.read(folder / "people.lock.json")
    assert lock.flexible is not None
    report = gather(load_spec(spec), lock, what_if=WhatIf())
    write(report, "html", folder / "report.html")
    content, page = report.to_dict(), (folder / "report.html").read_text(encoding="utf-8")
    assert (content["lattice"], content["search"], content["frontier"], content["explain"]) == (None,) * 4
    assert content["satisfied"] is True
    assert content["sizes"]["after"]["k"] >= K
    [recoding] = [grid for grid in content["more"] if grid["section"] == "Recoding"]
    assert {"figure": "algorithm", "value": algorithm} in recoding["rows"]
    assert '<section id="recoding"' in page
    assert '<section id="lattice"' not in page
    planned = capsys.readouterr().out
    texts = (page, planned, repr(lock.flexible))
    assert json.loads(planned)["recoding"]["kind"] == lock.flexible.kind
    planted = [value for values in RARE.values() for value in values]
    assert not [value for value in planted if any(shown_in(text, value) for text in texts)]
    assert run(["explore", str(spec)]) == 2


@pytest.mark.representative(3)
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS.keys() - set(PERSONALIZED)))
def test_every_column_that_leaves_is_listed(algorithm: str, duckdb_url: str, folder: Path) -> None:
    """Columns that the spec does not name too; with a database, and from the lock file alone."""
    columns = {
        "job": {"role": "identifier"},
        "city": {"role": "quasi_identifier", "hierarchy": {"tree": tree()}},
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [5, 10]}}},
    }
    values: dict[str, Any] = {"privacy": {"k": K}, "search": {"algorithm": algorithm}}
    if algorithm == "fitting":
        values["privacy"]["anonymity"] = "global (1,k)"
    if algorithm == "exact":
        # It looks through few rows.
        values["source"] = {"query": "select * from people where city in ('Genf', 'Zug') and age = 21"}
    spec = people(duckdb_url, folder, columns=columns, default_role="insensitive", **values)
    command("run", spec)
    engine = open_at(duckdb_url)
    published = [info.name for info in engine.columns(Table(("released",)))]
    engine.close()
    lock = Lock.read(folder / "people.lock.json")
    for report in (gather(load_spec(spec), lock), gather_offline(load_spec(spec), lock)):
        content = report.to_dict()
        [grid] = [grid for grid in content["more"] if grid["section"] == "Released"]
        left = {row["column"] for row in grid["rows"] if row["released as"] != "left out"}
        assert left == set(published) == {"city", "age", "disease"}
        assert "Of 4 columns" in content["decision"]["released"]
        assert "1 is left out" in content["decision"]["released"]


@pytest.mark.representative(1)
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_columns_by_rule_are_listed_as_they_leave(
    algorithm: str, duckdb_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounded, averaged, dropped, under a pseudonym, derived: each column that is published, and no other."""
    monkeypatch.setenv("REPORT_KEY", "a secret of more than enough letters")
    engine = open_at(duckdb_url)
    execute(engine, 'create table stays (person int, born date, zip text, cost int, days int, note text, "a.b" text)')
    execute(engine, "create table places (zip text, region text)")
    execute(engine, "insert into places values ('1', 'north'), ('2', 'south')")
    lines = ", ".join(
        f"({n}, DATE '19{50 + n % 5 * 10}-01-01', '{1 + n % 2}', {100 + n}, {n % 9}, 'n{n}', 'x{n % 2}')"
        for n in range(120)
    )
    execute(engine, f"insert into stays values {lines}")
    columns = {
        "person": {"role": "identifier", "pseudonym": {"secret": "${REPORT_KEY}"}},
        "age": {
            "role": "quasi_identifier",
            "derive": {"age": {"of": "born", "at": "2026-01-01"}},
            "hierarchy": {"interval": {"widths": [10, 20]}},
        },
        "region": {
            "role": "quasi_identifier",
            "derive": {"lookup": {"of": "zip", "table": "places", "key": "zip", "value": "region"}},
        },
        "cost": {"role": "insensitive", "release": {"round": 10}},
        "days": {"role": "insensitive", "release": "mean"},
        "note": {"role": "insensitive", "release": "drop"},
        "a.b": {"role": "sensitive"},
    }
    values = {"connection": duckdb_url, "source": "stays", "target": "released", "columns": columns}
    values |= {"privacy": {"k": 5}, "search": {"algorithm": algorithm}, "respondent": "person"}
    spec = folder / "stays.yaml"
    spec.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    command("run", spec)
    published = {info.name for info in engine.columns(Table(("released",)))}
    engine.close()
    lock = Lock.read(folder / "stays.lock.json")
    reports = gather(load_spec(spec), lock), gather_offline(load_spec(spec), lock)
    grids = [next(grid for grid in report.more if grid.section == "Released") for report in reports]
    assert grids[0] == grids[1]
    shown = {name: how for name, _, how, _ in grids[0].rows}
    roles = {name: role for name, role, *_ in grids[0].rows}
    assert (roles["age"], roles["born"]) == ("quasi-identifier, from born", "what others are derived from")
    assert {name for name, how in shown.items() if how != "left out"} == published
    assert published == {"person", "age", "region", "cost", "days", "a.b"}
    assert {"born", "zip", "note"} == {name for name, how in shown.items() if how == "left out"}
    assert [shown[name].startswith("by a rule: ") for name in ("person", "cost", "days")] == [True] * 3


ILL = ("flu", "cold", "kuru", "stroke")


@pytest.mark.parametrize("algorithm", PERSONALIZED)
def test_every_column_of_a_personalized_release_is_listed(algorithm: str, folder: Path) -> None:
    lines = [f"n{n},{20 + n % 5},{'mf'[n % 2]},{ILL[n // 2 % 4]},{ILL[n // 2 % 4]},x" for n in range(60)]
    (folder / "sick.csv").write_text("name,age,sex,disease,guard,ward\n" + "\n".join(lines), encoding="utf-8")
    roles = {"name": "identifier", "disease": "sensitive", "guard": "identifier", "ward": "insensitive"}
    columns: dict[str, Any] = {name: {"role": role} for name, role in roles.items()}
    columns |= {name: {"role": "quasi_identifier"} for name in ("age", "sex")}
    asked = {"column": "disease", "guarding": "guard", "p_breach": 0.5}
    asked["taxonomy"] = {"tree": {"lung": ["flu", "cold"], "brain": ["kuru", "stroke"]}}
    values = {"source": "sick.csv", "target": "out.csv", "columns": columns, "privacy": {"personalized": asked}}
    (folder / "sick.yaml").write_text(yaml.safe_dump({**values, "search": {"algorithm": algorithm}}), encoding="utf-8")
    command("run", folder / "sick.yaml")
    spec, known = load_spec(folder / "sick.yaml"), Lock.read(folder / "sick.lock.json")
    published = (folder / "out.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    for report in (gather(spec, known), gather_offline(spec, known)):
        [grid] = [grid for grid in report.more if grid.section == "Released"]
        assert (
            {row[0] for row in grid.rows if row[2] != "left out"} == set(published) == {"age", "sex", "disease", "ward"}
        )


def test_numbers_are_told_by_intervals(engine_url: str) -> None:
    """As counted by hand; the greatest number, which is one person's, shows nowhere."""
    numbers = [*(1000 + 37 * place % 900 for place in range(300)), 987654]
    engine = open_at(engine_url)
    execute(engine, "CREATE TABLE paid (town TEXT, amount INTEGER)")
    for start in range(0, len(numbers), 100):
        rows_of = ", ".join(f"('{'ab'[n % 2]}', {n})" for n in numbers[start : start + 100])
        execute(engine, f"INSERT INTO paid VALUES {rows_of}, ('a', NULL), ('a', NULL)")
    [found] = sensitive_shares(engine, Table(("paid",)), ["town"], ["amount"], None, 5)
    engine.close()
    # Three quarters lie within 675: a twelfth of that, rounded up to one digit.
    assert found.width == 100
    counted = Counter(number // 100 for number in numbers)
    expected = {f"{place * 100} to {place * 100 + 100}": n / 309 for place, n in counted.items() if n >= 5}
    assert len(expected) == 9
    assert list(found.overall.shares[-1]) == ["no number", pytest.approx(8 / 309)]
    assert dict(found.overall.shares[:-1]) == pytest.approx(expected)
    assert [label for label, _ in found.overall.shares[:2]] == ["1000 to 1100", "1100 to 1200"]
    assert found.rare == 1
    assert not any("98" in label for label, _ in found.overall.shares)
    assert [worst.name for worst in found.worst] == ["worst class 1", "worst class 2"]


@pytest.mark.one_engine
def test_moments_of_few_persons_have_a_tree(engine_url: str, folder: Path) -> None:
    """Nobody's moment is shared: the months have their persons all the same; three of them are too few for one."""
    engine = open_at(engine_url)
    execute(engine, "CREATE TABLE visits (person INTEGER, seen TIMESTAMP)")
    moments = [(n % 40, f"2024-0{1 + n % 4}-{1 + n % 27:02d} {n % 24:02d}:{n % 60:02d}:07") for n in range(200)]
    moments += [(n, f"2025-06-01 00:00:0{n}") for n in range(3) for _ in range(9)]
    execute(engine, "INSERT INTO visits VALUES " + ", ".join(f"({who}, TIMESTAMP '{at}')" for who, at in moments))
    engine.close()
    columns = {
        "person": {"role": "identifier"},
        "seen": {"role": "quasi_identifier", "hierarchy": {"date": ["hour", "day", "month", "any"]}},
    }
    values = {"connection": engine_url, "source": "visits", "target": "released", "respondent": "person"}
    spec = folder / "visits.yaml"
    limit = {"k": 5, "suppression": {"limit": "20%"}}
    spec.write_text(yaml.safe_dump({**values, "columns": columns, "privacy": limit}), encoding="utf-8")
    command("plan", spec)
    report = gather(load_spec(spec), Lock.read(folder / "visits.lock.json"))
    assert "fewer than 5 persons behind it" in rendered(report, "html")
    [view] = report.columns
    assert view.tree is not None
    months = {child.label: child for child in view.tree.children}
    assert {label: round(child.share * 227) for label, child in months.items()} == {
        f"2024-0{m}": 50 for m in (1, 2, 3, 4)
    }
    assert view.tree.rare == 1
    days = Counter(at[:10] for _, at in moments if at.startswith("2024-01"))
    people_of = {day: len({who for who, at in moments if at.startswith(day)}) for day in days}
    assert months["2024-01"].rare == sum(number < 5 for number in people_of.values())
    assert len(months["2024-01"].children) == sum(number >= 5 for number in people_of.values())


def test_sections_that_are_not_there_are_told(lock: Path, folder: Path) -> None:
    spec = load_spec(folder / "people.yaml")
    known = Lock.read(lock)
    measured, alone = gather(spec, known), gather_offline(spec, known)
    assert dict(measured.absent) == {
        "Timeline": "the spec keeps no history of its releases",
        "Privacy against utility": "there is nothing to show; see the notes",
    }
    told = dict(alone.absent)
    assert told.keys() >= {"Class sizes", "Sensitive columns", "Risk", "Attacks", "Utility", "Search", "SQL"}
    assert told["Class sizes"] == "it is measured with the database, and this report was made without"
    assert "Lattice" not in told
    for kind in ("html", "md"):
        assert "Not in this report" in rendered(alone, kind)
    # What both tell is one and the same.
    for key in ("identity", "columns"):
        ours, theirs = measured.to_dict()[key], alone.to_dict()[key]
        if key == "identity":
            ours, theirs = ({**found, "engine": "", "made": ""} for found in (ours, theirs))
        else:
            ours, theirs = (
                [(item["name"], item["level"], item["height"]) for item in found] for found in (ours, theirs)
            )
        assert ours == theirs
    released = [[grid for grid in report.more if grid.section == "Released"] for report in (measured, alone)]
    assert released[0] == released[1]


def test_a_lattice_too_large_to_draw() -> None:
    """The nodes that were evaluated, and how many there are of each height."""
    heights = (3,) * 9
    lattice = Lattice.of_heights(heights)
    verdicts = [Verdict((1,) * 9, 3, 1), Verdict((2, *(0,) * 8), 9, 1)]
    view = lattice_view(
        LatticeFrame("abcdefghi", heights, lattice, 5, 20, "loss", monotone=True), map(Shown, verdicts), chosen=None
    )
    assert view.states is None
    assert view.counts == (4**9, 3**9, 3)
    assert [item[0] for item in view.to_dict()["evaluated"]] == [[1] * 9, [2] + [0] * 8]
    tops, names = (3,) * 20, "abcdefghijklmnopqrst"
    beyond = Lattice.of_heights(tops)
    huge = lattice_view(LatticeFrame(names, tops, beyond, 5, 20, "loss", monotone=True), [], chosen=None)
    assert huge.counts == (4**20, 0, 0)


def test_the_page_of_s3(s3_report: Report) -> None:
    text = rendered(s3_report, "html")
    assert len(text) < 2_000_000
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    assert not re.findall(r'(?:src|href|action)="(?!#)[^"]*"', text)
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org)", text)
    for section in ("decision", "requirement", "sizes", "columns", "lattice", "frontier", "search", "sql", "evidence"):
        assert f'<section id="{section}"' in text
    for written in (
        text.partition('<section id="explanation"')[2],
        rendered(s3_report, "md").partition("## Why this")[2],
    ):
        titles = ("Strategy", "Steps down", "Heights tried", "Bounds", "Outliers", "Distance vectors")
        assert [title for title in titles if title in written] == list(titles)
        assert "(1,3,0,1,1)" in written.replace("\\", "")
    assert all(words in text for words in ("expert determination", "linkability", "no statement of compliance"))
    assert "complian" not in text.replace("no statement of compliance", "")


def test_the_search_is_made_again_as_it_was(s3: tuple[Path, PlanResult], s3_report: Report) -> None:
    """The picture shows as many questions as the plan asked, and the same binary search."""
    plan, report = s3[1].to_dict(), s3_report.to_dict()
    assert len(report["search"]["asked"]) == plan["checks"]
    assert report["search"]["halvings"] == report["explain"]["heights"] == plan["trace"]
    assert report["lattice"]["chosen"] == [0, 1, 0, 0, 0]
    assert report["lattice"]["minimal"] == [[0, 1, 0, 0, 0]]
    # Statements read a copy of the file; the script is of the file itself.
    assert "/table.csv" in report["sql"]
    assert "_copied" not in report["sql"]


def test_reports_in_python(s3: tuple[Path, PlanResult], folder: Path) -> None:
    made = sqlanon.report(s3[0], out=folder / "report.md", offline=True)
    assert made.to_dict()["lattice"]["chosen"] == [0, 1, 0, 0, 0]
    assert (folder / "report.md").read_text(encoding="utf-8").startswith("# Release of")
    assert "10 of 11 rows" in made._repr_html_()
    with pytest.raises(UsageError, match="html, md, json, pdf"):
        sqlanon.report(s3[0], kind="docx", offline=True)
    with pytest.raises(UsageError, match="cannot be written"):
        sqlanon.report(s3[0], out=folder / "nowhere" / "report.md", offline=True)


def test_stale_locks_and_formats(
    s3: tuple[Path, PlanResult], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(s3[0].parent, folder, dirs_exist_ok=True)
    monkeypatch.setenv("PATH", str(folder))
    assert run(["report", "s3.lock.json", "--format", "pdf", "--offline"]) == 2
    assert "no Chromium" in capsys.readouterr().err
    spec = folder / "s3.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("k: 2", "k: 3"), encoding="utf-8")
    assert run(["report", "s3.lock.json"]) == 2
    assert "plan again" in capsys.readouterr().err


# -- pure parts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("monotone", [True, False])
def test_states_of_a_lattice(monotone: bool) -> None:
    """Against inheritance by hand over every node."""
    lattice = Lattice((0, 1, 0), (2, 3, 1))
    nodes = [tuple(node) for node in product(range(3), range(1, 4), range(2))]
    verdicts = [Verdict((1, 2, 0), 3, 1), Verdict((0, 3, 1), 9, 1), Verdict((2, 1, 0), 12, 1)]
    view = lattice_view(
        LatticeFrame("abc", (2, 3, 1), lattice, 5, 20, "loss", monotone=monotone), map(Shown, verdicts), chosen=None
    )

    def state(node: tuple[int, ...]) -> str:
        for verdict in verdicts:
            above = all(a >= b for a, b in zip(node, verdict.node, strict=True))
            below = all(a <= b for a, b in zip(node, verdict.node, strict=True))
            if node == verdict.node or (monotone and (above if verdict.suppressed <= 5 else below)):
                return "1" if verdict.suppressed <= 5 else "2"
        return "0"

    assert view.states == "".join(map(state, nodes))
    heights = Counter(map(sum, nodes))
    assert {height: counts[0] for height, counts in view.by_height.items()} == heights
    assert view.counts == (len(nodes), view.states.count("1"), view.states.count("2"))


def test_trees_of_chains_and_null() -> None:
    labels = [(2, "*", "*", 10), (1, "x", "*", 6), (1, None, "*", 4), (0, "a", "x", 6), (0, None, None, 4)]
    totals = [(1, "*", 3, 1), (0, "x", 2, 1), (0, None, 1, 0)]
    tree = tree_of(labels, totals, 2, "*", 10)
    assert tree is not None
    assert [(child.label, child.share, child.rare) for child in tree.children] == [("x", 0.6, 1), (None, 0.4, 0)]
    assert tree.rare == 1
    assert tree_of([], [], 2, "*", 10) is None


def test_shares_count_persons_where_they_are_asked_for(engine_url: str) -> None:
    """A value that one person has in many rows of a class is as rare there as that person."""
    engine = open_at(engine_url)
    execute(engine, "create table visits (town text, who int, disease text)")
    rare = "('a', 1, 'kuru'), ('a', 1, 'kuru'), ('a', 1, 'kuru')"
    execute(engine, f"insert into visits values {rare}, ('a', 2, 'flu'), ('a', 3, 'flu'), ('b', 4, 'kuru')")
    [by_rows] = sensitive_shares(engine, Table(("visits",)), ["town"], ["disease"], None, 2)
    [by_persons] = sensitive_shares(engine, Table(("visits",)), ["town"], ["disease"], "who", 2)
    engine.close()
    assert [dict(item.shares) for item in by_rows.worst] == [{}, {"kuru": 0.6, "flu": 0.4}]
    assert dict(by_persons.overall.shares) == {"kuru": 4 / 6, "flu": 2 / 6}
    assert [dict(item.shares) for item in by_persons.worst] == [{}, {"flu": 0.4}]
