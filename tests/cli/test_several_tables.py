"""A spec of several tables by the command line, from check to audit, and by the commands that take one table alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.kit.commands import CommandLine, write_spec
from tests.kit.database import Database
from tests.planning.test_tables import JOINED, VARIABLE, trial, trial_spec

KEY = "planted-in-the-environment-alone"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)


def test_commands_from_check_to_audit(sqlanon: CommandLine, folder: Path, engine_url: str) -> None:
    database = Database(engine_url)
    trial(database)
    spec = write_spec(folder / "spec.yaml", trial_spec(engine_url))
    said = [sqlanon("check", spec), sqlanon("plan", spec, "--json"), sqlanon("apply", folder / "spec.lock.json")]
    said += [sqlanon("run", spec), sqlanon("audit", "--spec", spec), sqlanon("audit", "--spec", spec, "--json")]
    assert [answer.code for answer in said] == [0] * 6, [answer.err for answer in said]
    planned, audited = said[1].json, said[5].json
    smallest = database.run(JOINED)[0][0]
    assert smallest >= 3
    for shown in (said[2].out, said[3].out):
        lines = {line.split("  ")[0].strip(): line for line in shown.splitlines()}
        assert "of 60 people" in lines["people"]
        assert f"{planned['suppressed']} of 60 people" in lines["suppressed"]
        assert lines["orphans"].split() == ["orphans", "0"]
        assert "satisfied" in lines["audit"]
    assert audited["satisfied"] is True
    everything = "".join(answer.out + answer.err for answer in said)
    for path in folder.rglob("*"):
        everything += path.read_text(errors="replace") if path.suffix in {".yaml", ".json"} else ""
    assert KEY not in everything
    database.run('DELETE FROM "released people" WHERE id = (SELECT min("select") FROM released_visits)')
    assert sqlanon("audit", "--spec", spec).code == 1
    assert database.leftovers() == []


@pytest.mark.one_engine
def test_other_commands_name_what_takes_several_tables(sqlanon: CommandLine, folder: Path, engine_url: str) -> None:
    trial(Database(engine_url))
    spec = write_spec(folder / "spec.yaml", trial_spec(engine_url))
    assert sqlanon("plan", spec).code == 0
    lock = folder / "spec.lock.json"
    refused = [
        *(("sql", spec), ("risk", spec), ("attack", spec), ("utility", spec), ("status", spec), ("report", lock)),
        *(("sql", lock), ("plan", spec, "--k", "2,3"), ("plan", spec, "--explain"), ("run", spec, "--reuse")),
    ]
    for command in refused:
        answer = sqlanon(*command)
        assert (answer.code, answer.out) == (2, ""), command
        assert len(answer.err.strip().splitlines()) == 1, command
        assert "internal error" not in answer.err, command


@pytest.mark.one_engine
def test_slips_are_named(sqlanon: CommandLine, folder: Path, engine_url: str) -> None:
    trial(Database(engine_url))
    good = yaml.safe_load(write_spec(folder / "spec.yaml", trial_spec(engine_url)).read_text())

    def answer(**changed: object) -> str:
        outcome = sqlanon("check", write_spec(folder / "bad.yaml", {**good, **changed}))
        assert outcome.code == 2
        return outcome.err

    assert "known" in answer(known={"visit-of": 1})
    assert "privacy.l_diversity" in answer(privacy={"k": 3, "l_diversity": [{"column": "visits-of.d", "distinct": 2}]})
    tables = {**good["tables"], "visits-of": {**good["tables"]["visits-of"], "references": "nobody"}}
    assert "tables.visits-of.references" in answer(tables=tables)
    assert "columns" in answer(columns={"id": {"role": "identifier"}})
