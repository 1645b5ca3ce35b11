"""The flags of `sqlanon audit`: each requirement, what it prints, and one user error for each flag."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kit.commands import CommandLine, spec_values, write_spec

ALL = (
    "--l-diversity=disease=2",
    "--l-diversity=disease=2,entropy",
    "--l-diversity=disease=2,recursive,2.5",
    "--p-sensitive=disease=2",
    "--t-closeness=disease=0.5",
    "--t-closeness=age=0.5,ordered",
    "--alpha=disease=flu=0.5",
    "--beta-likeness=disease=3",
    "--beta-likeness=disease=3,enhanced",
    "--delta-disclosure=disease=1.5",
    "--delta-disclosure=disease=1.5,all",
    "--k-map=2",
    "--delta-presence=0,1",
)


def audit(sqlanon: CommandLine, url: str, *flags: str) -> Any:
    return sqlanon("audit", "patients", "--connection", url, "--qi", "race", *flags)


def test_every_requirement_as_a_flag(sqlanon: CommandLine, database: str) -> None:
    ended = audit(sqlanon, database, "--k=3", *ALL, "--population=patients", "--reference=patients", "--json")
    assert ended.code == 1
    content = ended.json
    asked = [(entry["model"], entry["required"], entry["satisfied"]) for entry in content["requirements"]]
    assert asked == [
        ("k", "k = 3", True),
        ("l_diversity", "l = 2", True),
        ("l_diversity", "l = 2 (entropy)", False),
        ("l_diversity", "l = 2, c = 2.5 (recursive)", True),
        ("t_closeness", "t = 0.5", True),
        ("alpha", "alpha = 0.5", False),
        ("p_sensitive", "p = 2", True),
        ("beta_likeness", "beta = 3", True),
        ("beta_likeness", "beta = 3 (enhanced)", False),
        ("delta_disclosure", "delta = 1.5", True),
        ("delta_disclosure", "delta = 1.5 (all values)", False),
        ("t_closeness", "t = 0.5 (ordered)", True),
        ("k_map", "k = 2", True),
        ("delta_presence", "from 0 to 1", True),
    ]
    assert content["suppressed"] == 0
    assert set(content["l"]) == {"disease", "age"}
    assert (content["k_map"], content["delta_presence"]) == (3, {"min": 1.0, "max": 1.0})
    assert len(content["violations"]) == 4
    assert "flu" not in ended.out


@pytest.mark.one_engine
def test_what_people_see(sqlanon: CommandLine, database: str) -> None:
    ended = audit(sqlanon, database, "--sensitive=age", "--l-diversity=disease=3", "--respondent=zip", "--k=2")
    assert ended.code == 1
    words = " ".join(ended.out.split())
    assert "persons 4" in words
    assert "sensitive column distinct l entropy l t beta delta largest share" in words
    assert "requirement asked measured classes rows verdict" in words
    assert "l_diversity disease l = 3" in words
    assert "NOT satisfied" in ended.out
    assert "not satisfied: l_diversity disease:" in ended.err
    plain = audit(sqlanon, database, "--k=3")
    assert plain.code == 0
    assert "requirement" not in plain.out


def test_the_spec_of_an_audit_takes_no_requirements(sqlanon: CommandLine, spec: Path) -> None:
    for flag in ("--k=2", "--l-diversity=disease=2", "--sensitive=disease", "--reference=patients", "--qi=race"):
        ended = sqlanon("audit", "--spec", spec, flag)
        assert ended.code == 2
        assert "with --spec they come from the spec" in ended.err


@pytest.mark.one_engine
def test_several_quasi_identifiers_and_notes(sqlanon: CommandLine, database: str, folder: Path) -> None:
    groups = {"who": {"columns": ["race"], "k": 2}, "where": {"columns": ["zip", "age"], "k": 1}}
    values = spec_values(database, respondent="disease")
    values["columns"] = values["columns"] | {"disease": {"role": "identifier"}}
    values["privacy"] = {"k": 1, "suppression": {"limit": 10}, "quasi_identifiers": groups}
    spec = write_spec(folder / "groups.yaml", values)
    assert sqlanon("run", spec).code == 0
    ended = sqlanon("audit", "--spec", spec)
    assert ended.code == 1
    assert "quasi-identifier columns classes k" in " ".join(ended.out.split())
    assert "rows were counted, not persons" in ended.err
    assert set(sqlanon("audit", "--spec", spec, "--json").json["groups"]) == {"who", "where"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--k=0"], "--k"),
        (["--qi=,"], "--qi: a list of column names like zip,age is expected"),
        (["--sensitive=,"], "--sensitive: a list of column names like zip,age is expected"),
        (["--sensitive=race"], "column 'race' cannot be both in the quasi-identifier and sensitive"),
        (["--sensitive=nope"], "patients has no column 'nope'"),
        (["--l-diversity=disease"], "--l-diversity: COLUMN=L[,KIND[,C]] is expected"),
        (["--l-diversity=disease=0"], "--l-diversity: must be at least 1"),
        (["--l-diversity=disease=2,entropie"], "--l-diversity: one of distinct, entropy, recursive is expected"),
        (["--l-diversity=disease=2,recursive"], "--l-diversity: c belongs to kind recursive, which needs it"),
        (["--p-sensitive=disease=2,3"], "--p-sensitive: COLUMN=P is expected"),
        (["--t-closeness=disease=1.5"], "--t-closeness: must be at most 1"),
        (["--t-closeness=disease=0.1,ordered"], "column 'disease' holds text values, which have no order"),
        (["--t-closeness=disease=0.1,hierarchical"], "--t-closeness: the hierarchical distance needs a hierarchy"),
        (["--t-closeness=disease=0.1234567891"], "--t-closeness: at most 9 decimals are allowed"),
        (["--alpha=disease=0.4"], "--alpha: COLUMN=VALUE=SHARE is expected"),
        (["--alpha=disease=flu=2"], "--alpha: must be at most 1"),
        (["--beta-likeness=disease=x"], "--beta-likeness: a number is expected"),
        (["--delta-disclosure=disease=1,each"], "--delta-disclosure: one of occurring, all is expected"),
        (["--respondent=race"], "column 'race' cannot both name the person and be measured"),
        (["--respondent=nope"], "patients has no column 'nope'"),
        (["--reference=nope", "--sensitive=disease"], "there is no table or view nope"),
        (["--reference="], "--reference: "),
        (["--population=nope"], "there is no table or view nope"),
        (["--population="], "--population: "),
        (["--k-map=2"], "--k-map: --population is required with it"),
        (["--k-map=0"], "--k-map"),
        (["--delta-presence=0.5"], "--delta-presence: two shares like 0,0.5 are expected"),
        (["--delta-presence=0.5,0.1", "--population=patients"], "--delta-presence: min must not exceed max"),
        (["--recipient=press"], "--recipient goes with --spec"),
    ],
)
@pytest.mark.one_engine
def test_mistakes(sqlanon: CommandLine, database: str, flags: list[str], message: str) -> None:
    ended = audit(sqlanon, database, *flags)
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    assert message in line
