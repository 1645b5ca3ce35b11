"""A spec of several tables: every key is taken or refused by its name, and no command of one table takes the spec."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sqlanon import api
from sqlanon.cli.answers import schema_of
from sqlanon.errors import SpecError, UsageError
from sqlanon.spec import (
    Column,
    Privacy,
    Search,
    SeveralTables,
    Spec,
    any_from_dict,
    json_schema,
    load_spec,
    spec_from_dict,
)
from sqlanon.spec.load import read_document
from sqlanon.spec.tables import REQUIRED_KEYS, SEARCHED_KEYS, TableKeys
from tests.kit.commands import CommandLine
from tests.kit.database import Database

VARIABLE = "SQLANON_TEST_TABLES_KEY"
KEY = {"role": "identifier", "pseudonym": {"secret": "${" + VARIABLE + "}"}}
QUASI = {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 2}}}


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "a secret of the tests, and long")


def good(url: str = "duckdb:///:memory:") -> dict[str, Any]:
    made: dict[str, Any] = json.loads(
        json.dumps(
            {
                "version": 1,
                "connection": url,
                "tables": {
                    "patients": {
                        "source": "patients",
                        "target": "released_patients",
                        "key": "id",
                        "columns": {"id": KEY, "zip": QUASI, "n": {"role": "insensitive"}},
                    },
                    "visits": {
                        "source": "visits",
                        "target": "released_visits",
                        "references": "patients",
                        "key": "patient",
                        "columns": {"patient": KEY, "zip": QUASI, "place": QUASI, "d": {"role": "sensitive"}},
                        "default_role": "identifier",
                    },
                },
                "known": {"visits": 2},
                "alike": [{"patients": "zip", "visits": "place"}],
                "scratch": "main",
                "privacy": {"k": 2, "suppression": {"limit": "5%"}},
                "search": {
                    "algorithm": "samarati",
                    "prefer": ["minimum_suppression"],
                    "metric": "precision",
                    "weights": {"patients.zip": 2},
                    "constraints": {"before": [["patients.zip", "visits.zip"]], "forbidden": [{"visits.zip": 1}]},
                    "budget": {"nodes": 100, "seconds": "none"},
                },
                "limits": {"statement_seconds": 60, "lock_seconds": 5, "max_scan_bytes": "1 GB"},
            }
        )
    )
    return made


def put(values: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    place = values
    *above, last = path.split("/")
    for part in above:
        place = place.setdefault(part, {})
    if value is None:
        del place[last]
    else:
        place[last] = value
    return values


def test_a_good_spec_is_taken_by_the_loader_and_by_the_schema() -> None:
    spec = any_from_dict(good())
    assert isinstance(spec, SeveralTables)
    assert [item.name for item in spec.shared] == ["patients.zip", "visits.zip"]
    assert spec.shared[0].members == (("patients", "zip"), ("visits", "place"))
    Draft202012Validator(json_schema()).validate(good())
    assert set(good()) == set(SeveralTables.model_fields)
    assert {key for table in good()["tables"].values() for key in table} == set(TableKeys.model_fields)


def test_columns_of_one_name_and_keys_are_alike_unless_another_group_has_them() -> None:
    values = put(good(), "alike", [])
    spec = any_from_dict(put(values, "search", {}))
    assert isinstance(spec, SeveralTables)
    assert [item.name for item in spec.shared] == ["patients.zip", "visits.place"]
    other = deepcopy(values)
    other["tables"]["visits"]["columns"]["zip"] = {**QUASI, "levels": {"min": 1}}
    spec = any_from_dict(other)
    assert isinstance(spec, SeveralTables)
    assert [item.name for item in spec.shared] == ["patients.zip", "visits.zip", "visits.place"]


def test_every_part_that_decides_is_in_the_fingerprint() -> None:
    spec = any_from_dict(good())
    changes: list[tuple[str, Any]] = [
        ("known/visits", 1),
        ("privacy/k", 3),
        ("privacy/suppression/limit", 1),
        ("tables/visits/source", "others"),
        ("tables/visits/target", "others"),
        ("tables/visits/default_role", "insensitive"),
        ("tables/patients/columns/n", {"role": "sensitive"}),
        ("search/metric", "loss"),
        ("scratch", None),
    ]
    hashes = {any_from_dict(put(good(), path, value)).hash() for path, value in changes}
    assert len(hashes | {spec.hash()}) == len(changes) + 1
    alike = put(good(), "search", {})
    apart = put(put(good(), "search", {}), "alike", [])
    assert any_from_dict(alike).hash() != any_from_dict(apart).hash()
    same = any_from_dict(put(put(good(), "limits", {"lock_seconds": 1}), "connection", "duckdb:///other.duckdb"))
    assert same.hash() == spec.hash()


WRONG: list[tuple[str, Any, str]] = [
    ("known", None, "known: say how many rows of visits somebody may know of a person, as {visits: 1}"),
    ("known/visits", 0, "known.visits: must be at least 1"),
    ("known/visits", 6, "known.visits: must be at most 5"),
    ("known/visits", True, "known.visits: a number is expected, not true or false"),
    ("known/patients", 1, "known.patients: only tables that refer to the people have this"),
    ("known/nobody", 1, "known.nobody: only tables that refer to the people have this"),
    ("tables/visits/references", None, "tables.visits.references: this key is required: only one table holds people"),
    ("tables/visits/references", "visits", "tables.visits.references: it must be patients, the table of people"),
    ("tables/patients/references", "visits", "tables: one table must hold the people: it has no references"),
    ("tables/visits", None, "tables: must not be empty"),
    ("tables/a.b", {}, "has only letters, digits, _ and -"),
    ("tables/Visits", {"source": "s", "target": "t", "references": "patients", "key": "p", "columns": {"p": KEY}},
     "tables.Visits: the name differs from another only in case"),
    ("tables/visits/key", "d", "tables.visits.key: d must be a column of role identifier"),
    ("tables/visits/columns/patient/pseudonym", None, "write columns.patient.pseudonym, the same in all of them"),
    ("tables/visits/columns/patient/pseudonym/format", "uuid", "the tables would not join; write the same"),
    ("tables/visits/columns/patient/pseudonym/scope", "project", "keep a ledger (history), or write release"),
    ("tables/visits/columns/patient/pseudonym/secret", "plain", "a secret never stands in a spec"),
    ("tables/visits/target", "released_patients", "tables.visits.target: patients has the same target"),
    ("tables/visits/target", "patients", "tables.visits.target: it is the source of patients"),
    ("tables/visits/target", "visits", "tables.visits.target: the target is the source"),
    ("tables/visits/target", "visits.csv", "tables.visits.target: several tables are swapped in one transaction"),
    ("tables/visits/target", {"view": "v"}, "tables.visits.target: several tables are swapped in one transaction"),
    ("tables/visits/columns/d/release", "mean", "several tables have no classes of rows to average"),
    ("tables/visits/columns/zip/tag", 1, "tables.visits.columns.zip.tag: several tables are generalized"),
    ("tables/visits/columns/zip/scheme", "gsps", "tables.visits.columns.zip.scheme"),
    ("tables/visits/columns/zip/anonymity", 0.1, "tables.visits.columns.zip.anonymity"),
    ("tables/visits/colums", {}, "tables.visits.colums: unknown key; did you mean 'columns'?"),
    ("alike", [{"patients": "zip"}], "a column of each of two tables or more is expected"),
    ("alike", [{"patients": "n", "visits": "zip"}], "patients.n is not a column of role quasi_identifier"),
    ("alike", [{"patients": "zip", "visits": "zip"}, {"patients": "zip", "visits": "place"}],
     "patients.zip stands in another group already"),
    ("tables/visits/columns/place/weight", 3, "needs the hierarchy, levels, domain and weight of patients.zip"),
    ("privacy/k", None, "privacy.k: this key is required"),
    ("privacy/k", 1, "privacy.k: several tables need at least 2"),
    ("privacy/suppression/mode", "blank", "privacy.suppression.mode: who is left out leaves all tables; write drop"),
    ("search/algorithm", "mondrian", "several tables are generalized at levels: one of"),
    ("search/metric", "dm", "search.metric: over several tables loss, precision, height are measured"),
    ("search/weights", {"zip": 1}, "search.weights.zip: zip is none of the levels to choose"),
    ("search/constraints/before", [["patients.zip", "zip"]], "zip is none of the levels to choose"),
    ("search/constraints/forbidden", [{"visits.place": 1}], "visits.place is none of the levels to choose"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), WRONG, ids=lambda item: str(item)[:40])
def test_what_does_not_fit_is_refused_at_its_key(path: str, value: Any, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        any_from_dict(put(good(), path, value))
    assert message in str(caught.value)
    assert "\n\n" not in str(caught.value)


OTHER_PRIVACY: dict[str, Any] = {
    "anonymity": "(k,k)",
    "l_diversity": [{"column": "d", "l": 2}],
    "t_closeness": [{"column": "d", "t": 0.2}],
    "alpha": [{"column": "d", "value": "x", "alpha": 0.5}],
    "p_sensitive": [{"column": "d", "p": 2}],
    "beta_likeness": [{"column": "d", "beta": 3}],
    "delta_disclosure": [{"column": "d", "delta": 1.5}],
    "personalized": {"column": "d", "guarding": "g", "p_breach": 0.5, "primary": True},
    "differential": {"epsilon": 1, "delta": 0.001, "secret": "${" + VARIABLE + "}"},
    "adversary": {"slack": 1},
    "other_sensitive": "known",
    "quasi_identifiers": {"one": {"columns": ["zip"]}},
    "profile": {"zip": 1},
    "population": {"source": "people"},
    "k_map": 2,
    "delta_presence": {"min": 0, "max": 0.5},
}
OTHER_SEARCH: dict[str, Any] = {
    "model": "_TS",
    "satisfies": "matrix",
    "mondrian": {"kind": "relaxed"},
    "bounds": "values",
    "direction": "top_down",
    "seed": 7,
    "local": {"iterations": 2},
    "mu_argus": {"binsize": 2},
}


def test_the_tables_of_keys_below_are_whole() -> None:
    """A key that is added to the spec has to be taken or refused here."""
    assert set(OTHER_PRIVACY) == set(Privacy.model_fields) - REQUIRED_KEYS
    assert set(OTHER_SEARCH) == set(Search.model_fields) - SEARCHED_KEYS
    taken = {"role", "hierarchy", "levels", "domain", "weight", "accept", "release", "derive", "pseudonym"}
    assert set(Column.model_fields) == taken | {"scheme", "tag", "anonymity"}


@pytest.mark.parametrize("key", OTHER_PRIVACY)
def test_models_of_one_table_are_refused_by_name(key: str) -> None:
    with pytest.raises(SpecError) as caught:
        any_from_dict(put(good(), f"privacy/{key}", OTHER_PRIVACY[key]))
    assert f"privacy.{key}" in str(caught.value)


@pytest.mark.parametrize("key", OTHER_SEARCH)
def test_settings_of_other_searches_are_refused_by_name(key: str) -> None:
    with pytest.raises(SpecError) as caught:
        any_from_dict(put(good(), f"search/{key}", OTHER_SEARCH[key]))
    assert f"search.{key}" in str(caught.value)


@pytest.mark.parametrize(
    "key", sorted({field.alias or name for name, field in Spec.model_fields.items()} - set(good()))
)
def test_keys_of_one_table_are_refused_beside_tables(key: str) -> None:
    with pytest.raises(SpecError, match=rf"^{key}: unknown key"):
        any_from_dict(put(good(), key, "x"))


# -- nobody takes it for the spec of one table -------------------------------------------------------------------------


@pytest.fixture
def path(folder: Path) -> Path:
    """A spec with its lock file; the database has none of its tables."""
    (folder / "spec.yaml").write_text(json.dumps(good(f"duckdb:///{folder}/there.duckdb")))
    return folder / "spec.yaml"


ONE_TABLE = [
    ("sql", "spec.yaml"), ("risk", "spec.yaml"), ("attack", "spec.yaml"), ("utility", "spec.yaml"),
    ("workload", "spec.yaml"), ("status", "spec.yaml"), ("hierarchies", "spec.yaml"), ("explore", "spec.yaml"),
    ("cleanup", "spec.yaml"), ("ledger", "show", "spec.yaml"), ("evidence", "--list", "spec.yaml"),
    ("grants", "spec.yaml", "--role", "reader"), ("audit", "--personalized", "spec.yaml"),
]  # fmt: skip


@pytest.mark.parametrize("command", ONE_TABLE, ids=lambda command: command[0])
def test_commands_of_one_table_refuse_it(sqlanon: CommandLine, path: Path, command: tuple[str, ...]) -> None:
    result = sqlanon(*command)
    assert result.code == 2
    assert "tables: this takes a spec of one table" in result.err


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        (("run", "spec.yaml", "--reuse"), "--reuse"),
        (("plan", "spec.yaml", "--explain"), "--explain"),
        (("plan", "spec.yaml", "--k", "2,3"), "--k"),
        (("plan", "spec.yaml", "--limit", "1%"), "--limit"),
        (("plan", "spec.yaml", "--compare", "samarati"), "--compare"),
        (("plan", "spec.yaml", "--watch"), "--watch"),
        (("plan", "spec.yaml", "--recipient", "lab"), "--recipient"),
        (("check", "spec.yaml", "--recipient", "lab"), "--recipient"),
        (("audit", "--spec", "spec.yaml", "--fits"), "--fits"),
        (("audit", "--spec", "spec.yaml", "--recipient", "lab"), "--recipient"),
    ],
)
def test_flags_of_one_table_are_refused(sqlanon: CommandLine, path: Path, command: tuple[str, ...], flag: str) -> None:
    result = sqlanon(*command)
    assert result.code == 2
    assert f"{flag}: is for a spec of one table" in result.err


def test_functions_of_one_table_refuse_it(path: Path) -> None:
    by_path: list[Callable[[Path], object]] = [
        load_spec, api.plan, api.run, api.audit, api.plan_recipients, api.run_recipients
    ]  # fmt: skip
    for function in by_path:
        with pytest.raises(SpecError, match="tables: this takes a spec of one table"):
            function(path)
    by_values: list[Callable[[dict[str, Any]], object]] = [spec_from_dict, api.plan, api.run]
    for of_values in by_values:
        with pytest.raises(SpecError, match="tables: this takes a spec of one table"):
            of_values(good())
    one = {"source": "t", "target": "r", "columns": {"zip": QUASI}, "privacy": {"k": 2}}
    with pytest.raises(UsageError, match="tables: a spec of several tables is expected"):
        api.plan_tables(one)


def test_the_commands_of_several_tables_from_check_to_audit(sqlanon: CommandLine, folder: Path) -> None:
    url = f"duckdb:///{folder}/there.duckdb"
    database = Database(url)
    rows = [(f"p{n}", "ab"[n % 2] + "x", n) for n in range(8)]
    database.create("patients", {"id": "text", "zip": "text", "n": "integer"}, rows)
    seen = [(f"p{n}", "ax", "by", "flu") for n in range(8) for _ in range(3)]
    database.create("visits", {"patient": "text", "zip": "text", "place": "text", "d": "text"}, seen)
    values = put(put(good(url), "search", {}), "limits", {})
    del values["scratch"]
    (folder / "spec.yaml").write_text(json.dumps(values))

    def answer(name: str, *arguments: str) -> dict[str, Any]:
        result = sqlanon(name, *arguments, "--json")
        assert result.code == 0, result.err
        found: dict[str, Any] = json.loads(result.out)
        Draft202012Validator(schema_of(name)).validate(found)
        return found

    assert answer("check", "spec.yaml")["hierarchies"]["patients.zip"]["values"] == 3
    assert answer("check", "spec.yaml", "--offline")["hierarchies"] == {}
    plan = answer("plan", "spec.yaml", "--minimal")
    assert plan["rows"] == 8
    assert plan["minimal_complete"]
    applied = answer("apply", "spec.lock.json")
    assert applied["levels"] == plan["levels"]
    assert answer("run", "spec.yaml")["audit"]["satisfied"]
    found = answer("audit", "--spec", "spec.yaml")
    assert (found["persons"], found["orphans"], found["satisfied"]) == (8, 0, True)
    for arguments in (
        ("check", "spec.yaml"),
        ("plan", "spec.yaml"),
        ("run", "spec.yaml"),
        ("audit", "--spec", "spec.yaml"),
    ):
        result = sqlanon(*arguments)
        assert result.code == 0, result.err
        assert "p1" not in result.out
    database.run("DELETE FROM released_patients WHERE n < 2")
    broken = sqlanon("audit", "--spec", "spec.yaml")
    assert broken.code == 1
    assert "6 of 24 rows belong to nobody in patients" in broken.err


def test_the_example_of_the_guide_is_taken() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "tables.md"
    first, second = re.findall(r"```yaml\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    values = read_document(first.replace("PSEUDONYM_KEY", VARIABLE)).value
    spec = any_from_dict(values)
    assert isinstance(spec, SeveralTables)
    assert spec.quasi_identifiers == ("patients.birth_year", "patients.zip", "visits.month")
    other = values["tables"]["visits"]["columns"]
    other["clinic_zip"] = other.pop("zip")
    spec = any_from_dict({**values, **read_document(second).value})
    assert spec.quasi_identifiers == ("patients.birth_year", "patients.zip", "visits.month")
