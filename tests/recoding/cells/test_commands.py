"""Cell recoding from the command line, with hostile names and values, alike on both engines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

import sqlanon as sqlanon_package
from sqlanon import pipeline
from sqlanon.spec import spec_from_dict
from tests.kit.commands import CommandLine
from tests.kit.database import Database
from tests.kit.papers import adversarial_values, load_case

NAMES = ["x'; DROP TABLE victims; --", "select", 'double"quote. and\\slash', "v"]


def written(path: Path, url: str, **changes: Any) -> Path:
    case = load_case("f2")
    columns = {
        name: {**column, "hierarchy": {"csv": {"path": str(case.directory / column["hierarchy"]["csv"]["path"])}}}
        if "csv" in column["hierarchy"]
        else column
        for name, column in case.spec["columns"].items()
    }
    values = {**case.spec, "connection": url, "source": "original", "target": "released", "columns": columns, **changes}
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


@pytest.mark.one_engine
def test_from_plan_to_audit(sqlanon: CommandLine, engine_url: str, tmp_path: Path) -> None:
    case = load_case("f2")
    database = Database(engine_url)
    database.create("original", case.types, case.rows)
    spec = written(tmp_path / "spec.yaml", engine_url, search={"model": "CG_"})
    planned = sqlanon("plan", spec, "--json")
    assert planned.code == 0
    assert planned.json["recoding"]["details"]["model"] == "CG_"
    assert planned.json["score"]["cells"] == 12
    assert planned.json["levels"] == {}
    applied = sqlanon("apply", tmp_path / "spec.lock.json", "--json")
    assert (applied.code, applied.json["released"], applied.json["audit"]["k"]) == (0, 9, 2)
    audited = sqlanon("audit", "--spec", spec, "--fits", "--json")
    assert audited.code == 0
    assert audited.json["consistency"]["global_one_k"] == 2
    shown = sqlanon("audit", "--spec", spec, "--fits")
    assert "rows that fit" in shown.out
    assert "(1,k) 2, (k,1) 2, (k,k) 2, global (1,k) 2" in " ".join(shown.out.split())
    scripted = sqlanon("sql", spec)
    assert scripted.code == 2
    assert "forest" in scripted.err
    database.run("UPDATE original SET race = 'white' WHERE zip = '94142'")
    refused = sqlanon("apply", tmp_path / "spec.lock.json")
    assert refused.code == 2
    assert "plan again" in refused.err
    assert database.leftovers() == []


def test_kinds_of_anonymity_are_published_and_judged(sqlanon: CommandLine, duckdb_url: str, tmp_path: Path) -> None:
    case = load_case("f2")
    database = Database(duckdb_url)
    database.create("original", case.types, case.rows)
    privacy = {"k": 2, "anonymity": "(k,1)"}
    spec = written(tmp_path / "spec.yaml", duckdb_url, search={"model": "CG_"}, privacy=privacy)
    run = sqlanon("run", spec, "--json")
    assert run.code == 0
    [asked] = [item for item in run.json["audit"]["requirements"] if item["model"] == "anonymity"]
    assert (asked["required"], asked["measured"], asked["satisfied"]) == ("(k,1), k = 2", 2, True)
    # The same table is no release of rows that fit both ways: it holds a row that one original row fits alone.
    both = written(
        tmp_path / "both.yaml", duckdb_url, search={"model": "CG_"}, privacy={**privacy, "anonymity": "(k,k)"}
    )
    failed = sqlanon("audit", "--spec", both)
    assert failed.code == 1
    assert "not satisfied: anonymity:" in failed.err
    # Where nothing tells which rows fit, the requirement does not hold.
    asked_of_table = {"k": 2, "anonymity": "(k,k)"}
    unknown = sqlanon_package.audit("released", case.columns, connection=duckdb_url, privacy=asked_of_table)
    assert unknown.violations == [
        "anonymity: not measured: the source and the hierarchies of the quasi-identifier are not known here"
    ]


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize("algorithm", ["forest", "matching", "fitting"])
def test_hostile_names_and_values(duckdb_url: str, postgres_url: str, algorithm: str) -> None:
    anonymity = "global (1,k)" if algorithm == "fitting" else "classic"
    values = adversarial_values()
    rows = [
        (value, values[(i * 7) % len(values)], "x" if i % 2 else None, str(i % 3))
        for i, value in enumerate([*values, *values[::5]])
    ]
    answers = []
    for url in (duckdb_url, postgres_url):
        database = Database(url)
        quoted = {name.replace('"', '""'): "text" for name in NAMES}
        database.create("victims", quoted, rows)
        given = {
            "connection": url,
            "source": "victims",
            "target": 'release"d',
            "columns": {name: {"role": "quasi_identifier"} for name in NAMES},
            "privacy": {"k": 2, "anonymity": anonymity},
            "search": {"model": "_CS", "algorithm": algorithm},
        }
        result = pipeline.run(spec_from_dict({**given, "target": "released"}))
        assert (result.audit.rows, result.audit.satisfied) == (len(rows), True)
        answers.append(database.counted("released"))
        assert len(database.rows("victims")) == len(rows)
        assert database.leftovers() == []
    assert answers[0] == answers[1]
    assert min(answers[0].values()) >= 2 or anonymity != "classic"
    originals = Counter(rows)
    for row in answers[0]:
        assert any(all(cell in (value, "*") for cell, value in zip(row, own, strict=True)) for own in originals)
