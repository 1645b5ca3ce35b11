"""Mondrian and local recoding through the commands: plan, apply, run, audit, and algorithms side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.commands import CommandLine, patients, spec_values, write_spec
from tests.kit.database import Database

SEARCHES: dict[str, dict[str, Any]] = {
    "strict": {"algorithm": "mondrian"},
    "relaxed": {"algorithm": "mondrian", "mondrian": {"kind": "relaxed"}},
    "local": {"algorithm": "local"},
}


@pytest.mark.representative(3, postgres=1)
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
def test_from_plan_to_audit(sqlanon: CommandLine, folder: Path, engine_url: str, search: dict[str, Any]) -> None:
    patients(engine_url)
    spec = write_spec(folder / "spec.yaml", spec_values(engine_url, search=search))
    planned = sqlanon("plan", spec, "--json").json
    assert planned["algorithm"] == search["algorithm"]
    assert set(planned["score"]) >= {"loss"}
    lock = json.loads((folder / "spec.lock.json").read_text())
    assert lock["recoding"]["kind"] == "assigned"
    applied = sqlanon("apply", folder / "spec.lock.json", "--json").json
    again = sqlanon("run", spec, "--json").json
    assert (applied["rows"], applied["suppressed"]) == (again["rows"], again["suppressed"])
    audited = sqlanon("audit", "--spec", spec, "--json").json
    assert audited["satisfied"]
    assert audited["k"] >= 2
    assert sqlanon("plan", spec, "--json").json["score"] == planned["score"]
    assert Database(engine_url).leftovers() == []


def test_algorithms_side_by_side(sqlanon: CommandLine, folder: Path, duckdb_url: str) -> None:
    patients(duckdb_url)
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url))
    found = sqlanon("plan", spec, "--compare", "incognito,optimal,mondrian,local,ops,sps", "--json").json
    by_name = {item["algorithm"]: item for item in found["compared"]}
    assert list(by_name) == ["incognito", "optimal", "mondrian", "local", "ops", "sps"]
    plan = sqlanon("plan", spec, "--dry-run", "--json").json
    for name in ("optimal", "mondrian", "local", "sps"):
        values = spec_values(duckdb_url, search={"algorithm": name})
        alone = sqlanon("plan", write_spec(folder / f"{name}.yaml", values), "--dry-run", "--json").json
        assert by_name[name]["loss"] == pytest.approx(alone["score"]["loss"], rel=1e-9)
        assert by_name[name]["suppressed"] == alone["suppressed"]
        assert by_name[name]["classes"] == alone["classes"]
        kept = plan["rows"] - alone["suppressed"]
        assert by_name[name]["c_avg"] == pytest.approx(kept / alone["classes"] / values["privacy"]["k"])
    assert by_name["local"]["loss"] <= by_name["optimal"]["loss"]
    assert by_name["sps"]["dm"] <= by_name["ops"]["dm"]
    assert not (folder / "spec.lock.json").exists()
    shown = sqlanon("plan", spec, "--compare", "optimal,mondrian").out
    assert {"algorithm", "loss", "dm", "hdm", "c_avg", "optimal", "mondrian"} <= set(shown.split())


def test_no_such_algorithm(sqlanon: CommandLine, folder: Path, duckdb_url: str) -> None:
    patients(duckdb_url)
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url))
    failed = sqlanon("plan", spec, "--compare", "optimal,nonsense")
    assert failed.code == 2
    assert "nonsense" in failed.err


def test_what_does_not_keep_the_requirement_is_not_compared(
    sqlanon: CommandLine, folder: Path, duckdb_url: str
) -> None:
    patients(duckdb_url)
    values = spec_values(duckdb_url) | {"privacy": {"k": 2, "anonymity": "(1,k)"}}
    failed = sqlanon("plan", write_spec(folder / "spec.yaml", values), "--compare", "optimal,mondrian")
    assert (failed.code, failed.out) == (2, "")
    assert "privacy.anonymity: mondrian" in failed.err
