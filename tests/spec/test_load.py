"""What a good spec means: every key, its default, its other spellings, and the traps of YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlanon.errors import SpecError
from sqlanon.hierarchies import Csv, Family, Lookup, Suppression, Tree
from sqlanon.hierarchies.definition import join_name, split_name
from sqlanon.spec import (
    Budget,
    FileSource,
    FileTarget,
    LevelBounds,
    Limit,
    Privacy,
    QuerySource,
    Spec,
    SuppressionRule,
    TableSource,
    TableTarget,
    ViewTarget,
    load_spec,
    spec_from_dict,
)

FULL = """\
version: 1
connection: duckdb:///warehouse.duckdb
source: raw.patients
target: release.patients
scratch: sqlanon
columns:
  ssn:        {role: identifier}
  zip:        {role: quasi_identifier, hierarchy: {mask: {length: 5, steps: [1, 2, 5]}}}
  birth_date: {role: quasi_identifier, hierarchy: {date: [day, month, year, 5 years, 10 years, any]}}
  age:        {role: quasi_identifier, hierarchy: {interval: {widths: [5, 10], min: 0}}, levels: {min: 1}, weight: 2}
  race:       {role: quasi_identifier, hierarchy: {csv: {path: race.csv, delimiter: ";"}}}
  marital:    {role: quasi_identifier, hierarchy: {tree: {been_married: [married, widow], never_married: [single]}}}
  city:       {role: quasi_identifier, hierarchy: {table: {name: ref.cities, levels: [city, county, state]}}}
  amount:     {role: quasi_identifier, hierarchy: {sql: ["amount", "round(amount, -2)", "'*'"]}}
  sex:        {role: quasi_identifier}
  disease:    {role: sensitive, hierarchy: suppression}
  notes:      {role: insensitive}
default_role: identifier
privacy:
  k: 5
  suppression: {limit: 2%, mode: blank}
search:
  algorithm: samarati
  satisfies: matrix
  prefer: [minimum_suppression, minimum_relative_distance]
  metric: entropy*
  weights: {zip: 0.5}
  constraints: {before: [[zip, age]], forbidden: [{zip: 2, age: 1}]}
  budget: {nodes: 10000, seconds: 600}
limits: {statement_seconds: 30}
"""
LEAST: dict[str, Any] = {
    "source": "s",
    "target": "t",
    "columns": {"q": {"role": "quasi_identifier"}},
    "privacy": {"k": 1},
}


def load(folder: Path, text: str) -> Spec:
    path = folder / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def test_the_whole_contract(tmp_path: Path) -> None:
    spec = load(tmp_path, FULL)
    assert spec.quasi_identifiers == ("zip", "birth_date", "age", "race", "marital", "city", "amount", "sex")
    assert (spec.identifiers, spec.sensitive, spec.insensitive) == (("ssn",), ("disease",), ("notes",))
    assert spec.source == TableSource(table=("raw", "patients"))
    assert isinstance(spec.target, TableTarget)
    assert spec.target.parts == ("release", "patients")
    assert spec.scratch == ("sqlanon",)
    assert spec.columns["age"].levels == LevelBounds(min=1)
    assert spec.privacy.suppression.mode == "blank"
    assert spec.privacy.suppression.limit.rows(30162) == 603
    assert (spec.weight("zip"), spec.weight("age"), spec.weight("sex")) == (0.5, 2.0, 1.0)
    assert spec.search.constraints.before == (("zip", "age"),)
    assert spec.search.constraints.forbidden == ({"zip": 2, "age": 1},)
    assert spec.search.budget == Budget(nodes=10000, seconds=600)
    assert spec.limits.statement_seconds == 30
    assert spec.hierarchy("sex") == Suppression()
    race = spec.hierarchy("race")
    assert isinstance(race, Csv)
    assert race.location == tmp_path / "race.csv"


def test_defaults() -> None:
    spec = spec_from_dict(LEAST)
    assert spec.connection.reveal() == "duckdb:///:memory:"
    assert (spec.scratch, spec.respondent, spec.default_role) == (None, None, None)
    assert spec.privacy.suppression.limit == Limit(count=0)
    assert (spec.privacy.suppression.mode, spec.search.algorithm, spec.search.metric) == ("drop", "optimal", "loss")
    assert (spec.search.satisfies, spec.search.prefer, spec.limits.statement_seconds) == ("counts", (), None)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a", TableSource(table=("a",))),
        ('raw."my.table"', TableSource(table=("raw", "my.table"))),
        ({"table": "t.csv"}, TableSource(table=("t", "csv"))),
        ("data/t.CSV", FileSource(file="data/t.CSV")),
        ({"file": "t.parquet"}, FileSource(file="t.parquet")),
        ({"query": "select 1"}, QuerySource(query="select 1")),
    ],
)
def test_sources(source: Any, expected: object) -> None:
    assert spec_from_dict({**LEAST, "source": source}).source == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"table": "t"}, TableTarget(table=("t",))),
        ({"view": "a.v"}, ViewTarget(view=("a", "v"))),
        ("t.csv", FileTarget(file="t.csv")),
        ({"file": "t.parquet"}, FileTarget(file="t.parquet")),
    ],
)
def test_targets(target: Any, expected: object) -> None:
    assert spec_from_dict({**LEAST, "target": target}).target == expected


def test_files_are_relative_to_the_spec() -> None:
    source = spec_from_dict({**LEAST, "source": "data/t.tsv"}, base="project").source
    assert isinstance(source, FileSource)
    assert source.locations == (str(Path("project/data/t.tsv")),)
    remote = spec_from_dict({**LEAST, "source": "s3://bucket/t.parquet"}, base="project").source
    assert isinstance(remote, FileSource)
    assert remote.locations == ("s3://bucket/t.parquet",)
    several = spec_from_dict({**LEAST, "source": ["a.csv", "d/*.csv"]}, base="project").source
    assert isinstance(several, FileSource)
    assert several.locations == (str(Path("project/a.csv")), str(Path("project/d/*.csv")))
    folder = spec_from_dict({**LEAST, "source": "d/"}, base="project").source
    assert isinstance(folder, FileSource)
    assert folder.locations == (f"{Path('project/d')}/",)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("t", ("t",)),
        ("a.b.c", ("a", "b", "c")),
        ('"a.b"."say ""hi"""', ("a.b", 'say "hi"')),
        ('"select".t', ("select", "t")),
        ("Größe.tabelle", ("Größe", "tabelle")),
    ],
)
def test_names(name: str, parts: tuple[str, ...]) -> None:
    assert split_name(name) == parts
    assert split_name(join_name(parts)) == parts


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", 'a."b', '""', 'a"b"', " "])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(ValueError, match=r"is expected|may follow"):
        split_name(name)


@pytest.mark.parametrize(
    ("limit", "total", "rows"),
    [
        ("2%", 30162, 603),
        ("4%", 30162, 1206),
        ("4 %", 30162, 1206),
        ("0.1%", 1000, 1),
        ("0.1%", 999, 0),
        ("29%", 100, 29),
        ("100%", 7, 7),
        ("0%", 7, 0),
        ("33.33333333333333333333%", 3 * 10**20, 99999999999999999999),
        (3, 10, 3),
        ("3", 10, 3),
        (30, 10, 10),
        (0, 10, 0),
    ],
)
def test_limits(limit: object, total: int, rows: int) -> None:
    assert Limit.parse(limit).rows(total) == rows


def test_a_limit_is_rows_or_a_percentage() -> None:
    assert [str(Limit.parse(text)) for text in ("2.50%", 7)] == ["2.50%", "7"]
    with pytest.raises(ValueError, match="a number of rows or a percentage"):
        Limit()
    for wrong in ("%", True, "-1%", "100.01%", "two%"):
        with pytest.raises(ValueError, match=r"limit|percentage"):
            Limit.parse(wrong)


def test_yaml_traps(tmp_path: Path) -> None:
    text = """\
source: s
target: t
columns:
  on:
    role: quasi_identifier
    hierarchy: {tree: {yes: [no, 01, 1.0, 1.00], y: [2020-01-01, 12:30, null, ~, true, 0x1F]}}
  no: {role: insensitive}
  1: {role: insensitive}
  null: {role: insensitive}
privacy: {k: 010}
"""
    spec = load(tmp_path, text)
    assert list(spec.columns) == ["on", "no", "1", "null"]
    assert spec.privacy.k == 10
    found = spec.hierarchy("on").rule(Family.TEXT)
    assert isinstance(found, Lookup)
    leaves = ["no", "01", "1.0", "1.00", "2020-01-01", "12:30", "null", "~", "true", "0x1F"]
    assert [row[0] for row in found.rows] == leaves
    assert {row[1] for row in found.rows} == {"yes", "y"}


def test_leaves_as_keys_and_shared_hierarchies(tmp_path: Path) -> None:
    text = """\
source: s
target: t
columns:
  a: {role: quasi_identifier, hierarchy: &shared {tree: {x: {p: , q: }}}}
  b: {role: quasi_identifier, hierarchy: *shared}
privacy: {k: 2}
"""
    spec = load(tmp_path, text)
    assert isinstance(spec.hierarchy("a"), Tree)
    assert spec.hierarchy("a") == spec.hierarchy("b")
    assert spec.hierarchy("a").rule(Family.TEXT) == Lookup((("p", "x"), ("q", "x")))


def test_decimals_keep_their_spelling(tmp_path: Path) -> None:
    hierarchy = "{interval: {widths: [0.10, 1e0]}}"
    text = (
        f"source: s\ntarget: t\ncolumns: {{a: {{role: quasi_identifier, hierarchy: {hierarchy}}}}}\nprivacy: {{k: 2}}\n"
    )
    found = load(tmp_path, text).hierarchy("a").rule(Family.DECIMAL)
    assert found.levels[0].label(1) == "[1.00, 1.10)"  # type: ignore[union-attr]  # an interval is a formula


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLANON_TEST_K", "7")
    monkeypatch.setenv("SQLANON_TEST_SCHEMA", "raw")
    spec = spec_from_dict(
        {
            **LEAST,
            "source": "${SQLANON_TEST_SCHEMA}.${SQLANON_TEST_SCHEMA}_x",
            "columns": {"q": {"role": "quasi_identifier", "hierarchy": {"tree": ["$${SQLANON_TEST_K}", "$5"]}}},
            "privacy": {"k": "${SQLANON_TEST_K}"},
        }
    )
    assert spec.source == TableSource(table=("raw", "raw_x"))
    assert spec.privacy.k == 7
    assert spec.hierarchy("q").rule(Family.TEXT) == Lookup((("${SQLANON_TEST_K}",), ("$5",)))


def test_values_are_not_expanded_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLANON_TEST_A", "${SQLANON_TEST_B}")
    spec = spec_from_dict({**LEAST, "source": {"query": "select '${SQLANON_TEST_A}'"}})
    assert spec.source == QuerySource(query="select '${SQLANON_TEST_B}'")


def test_python_objects_stand_for_themselves() -> None:
    spec = spec_from_dict(LEAST)
    again = Spec(
        connection=spec.connection,
        source=spec.source,
        target=spec.target,
        columns=spec.columns,
        privacy=Privacy(k=1, suppression=SuppressionRule(limit=Limit(count=0))),
    )
    assert again == spec


def test_problems_of_python_values_name_the_key() -> None:
    with pytest.raises(SpecError) as caught:
        spec_from_dict({**LEAST, "privacy": {"k": 0}, "serch": {}})
    assert caught.value.problems == ("privacy.k: must be at least 1", "serch: unknown key; did you mean 'search'?")
    with pytest.raises(SpecError, match="a mapping of keys is expected"):
        spec_from_dict([])  # type: ignore[arg-type]  # what a caller without a type checker may pass


def test_hash_follows_the_content_but_not_the_connection(tmp_path: Path) -> None:
    spec = load(tmp_path, FULL)
    assert len(spec.hash()) == 64
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert load(elsewhere, FULL.replace("warehouse", "other") + "# a comment\n").hash() == spec.hash()
    assert load(tmp_path, FULL.replace("k: 5", "k: 6")).hash() != spec.hash()
    assert load(tmp_path, FULL.replace("steps: [1, 2, 5]", "steps: [1, 5]")).hash() != spec.hash()
    assert spec_from_dict(LEAST).hash() == spec_from_dict(dict(reversed(LEAST.items()))).hash()


def test_the_order_of_columns_is_part_of_the_hash() -> None:
    columns = {"a": {"role": "quasi_identifier"}, "b": {"role": "quasi_identifier"}}
    turned = dict(reversed(columns.items()))
    assert spec_from_dict({**LEAST, "columns": columns}).hash() != spec_from_dict({**LEAST, "columns": turned}).hash()


def test_a_spec_is_frozen() -> None:
    spec = spec_from_dict(LEAST)
    with pytest.raises(ValueError, match="frozen"):
        spec.version = 1  # type: ignore[misc]  # the point of the test
