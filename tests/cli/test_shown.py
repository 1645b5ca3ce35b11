"""What was not measured is not satisfied: rows show nothing of persons, and k = 1 requires nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlanon as package
from tests.kit.commands import COLUMNS, CommandLine, write_spec
from tests.kit.engine import execute, open_at

VISITS = [(f"p{n % 4}", "94138", "flu" if n % 2 else "cold") for n in range(12)]
"""Four persons with three visits each."""


@pytest.fixture
def visits(engine_url: str, folder: Path) -> Path:
    engine = open_at(engine_url)
    execute(engine, "CREATE TABLE visits (patient_id TEXT, zip TEXT, disease TEXT)")
    execute(engine, f"INSERT INTO visits VALUES {', '.join(map(str, VISITS))}")
    engine.close()
    return spec_of(engine_url, folder, {"k": 4})


def spec_of(engine_url: str, folder: Path, privacy: dict[str, object]) -> Path:
    columns = {"patient_id": {"role": "identifier"}, "zip": COLUMNS["zip"], "disease": COLUMNS["disease"]}
    values = {"connection": engine_url, "source": "visits", "target": "released", "respondent": "patient_id"}
    return write_spec(folder / "visits.yaml", {**values, "columns": columns, "privacy": privacy})


def test_rows_of_a_published_table_show_nothing_of_persons(sqlanon: CommandLine, visits: Path) -> None:
    assert sqlanon("run", visits).code == 0
    ended = sqlanon("audit", "--spec", visits)
    assert ended.code == 1
    assert "12 rows (required 4 persons): not shown" in " ".join(ended.out.split())
    assert "satisfied" not in ended.out + ended.err
    assert "not shown: the requirement is about persons" in ended.err
    found = sqlanon("audit", "--spec", visits, "--json")
    assert (found.code, found.json["satisfied"], found.json["counted"]) == (1, None, "rows")
    assert [line["satisfied"] for line in found.json["requirements"]] == [None]
    audited = package.audit(visits)
    assert (audited.satisfied, audited.verdict) == (False, None)
    assert "not shown" in audited._repr_html_()


def test_status_says_so_too(sqlanon: CommandLine, visits: Path) -> None:
    assert sqlanon("run", visits).code == 0
    ended = sqlanon("status", visits)
    assert ended.code == 1
    assert "release not shown: k = 12 rows" in " ".join(ended.out.split())
    assert sqlanon("status", visits, "--json").json["satisfied"] is None


def test_rows_below_k_are_persons_below_k(sqlanon: CommandLine, visits: Path, engine_url: str, folder: Path) -> None:
    assert sqlanon("run", visits).code == 0
    found = sqlanon("audit", "--spec", spec_of(engine_url, folder, {"k": 13}), "--json")
    assert (found.code, found.json["satisfied"]) == (1, False)
    assert found.json["requirements"][0]["satisfied"] is False


@pytest.mark.parametrize("flags", [("--k", "1"), ()])
def test_k_of_one_requires_nothing(sqlanon: CommandLine, visits: Path, engine_url: str, flags: tuple[str, ...]) -> None:
    asked = ("audit", "visits", "--connection", engine_url, "--qi", "patient_id,zip", *flags)
    ended = sqlanon(*asked)
    assert ended.code == 0
    assert "satisfied" not in ended.out + ended.err
    assert "(nothing was required)" in ended.out
    assert sqlanon(*asked, "--json").json["satisfied"] is None


def test_k_is_not_said_to_hold_where_another_model_is_asked(
    sqlanon: CommandLine, visits: Path, engine_url: str
) -> None:
    asked = ("audit", "visits", "--connection", engine_url, "--qi", "zip", "--l-diversity", "disease=2")
    ended = sqlanon(*asked)
    assert ended.code == 0
    assert "12 (nothing was required of it)" in " ".join(ended.out.split())
    assert sqlanon(*asked, "--json").json["satisfied"] is True
