"""Keys are doubted wherever they stand: short numbers one-to-one with the person, keys declared sensitive."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import sqlanon
from sqlanon.draft.profile import Profile
from sqlanon.draft.rules import doubted
from sqlanon.errors import SpecError
from sqlanon.hierarchies.base import Family
from sqlanon.spec import Role
from tests.source.test_doubted_roles import PEOPLE, people, spec_of

SHORT = [(n * n * 7 + 131 * n) % 9973 for n in range(PEOPLE)]
"""Codes of four digits at most that nobody shares, far apart: chance alone would leave as many distinct."""


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"{request.param}:///{tmp_path}/people.{request.param}"


def sensitive(*names: str) -> dict[str, Any]:
    return {name: {"role": "sensitive"} for name in names}


def test_short_numbers_of_ones_own_are_refused(url: str) -> None:
    assert len(set(SHORT)) == PEOPLE
    people(url, {"tag": "INTEGER"}, [(number,) for number in SHORT])
    with pytest.raises(SpecError, match=r"columns\.tag: .*nearly every row has a value of its own"):
        sqlanon.plan(spec_of(url, {"tag": {"role": "insensitive"}}))


def test_keys_in_columns_of_decimals_are_refused(url: str) -> None:
    """Zeros after the point make no measurement of a key, and no long number of a short one."""
    kinds = {"tag": "NUMERIC(12, 2)", "mark": "DOUBLE PRECISION", "wide": "DOUBLE PRECISION"}
    # Some engines write a whole number among measurements without its point.
    spared = {"level": "NUMERIC(12, 2)", "share": "DOUBLE PRECISION", "dose": "NUMERIC(12, 2)"}
    rows = [
        (number, number, float(number) * 10.0**18, number + 0.25 + number % 3 * 0.25, number / 7 + 0.1, number / 2)
        for number in SHORT
    ]
    people(url, {**kinds, **spared}, rows)
    with pytest.raises(SpecError) as refused:
        sqlanon.plan(spec_of(url, {name: {"role": "insensitive"} for name in (*kinds, *spared)}))
    assert [problem.partition(":")[0] for problem in refused.value.problems] == [f"columns.{name}" for name in kinds]


def test_whole_amounts_are_amounts_in_columns_of_decimals_too(url: str) -> None:
    """SQLite reads decimals and floats as texts, of which nine in ten of one row each would be names."""
    amounts = [(number, float(number), number) for number in (1500 + n * 37 % 611 * 11 for n in range(PEOPLE - 4))]
    amounts += amounts[:4]
    people(url, {"cost": "NUMERIC(12, 2)", "length": "DOUBLE PRECISION", "share": "NUMERIC(12, 2)"}, amounts)
    columns = {name: {"role": "insensitive"} for name in ("cost", "length", "share")}
    assert sqlanon.plan(spec_of(url, columns)).satisfied


def test_short_numbers_one_to_one_with_the_person_are_refused(url: str) -> None:
    rows = [(place % PEOPLE, SHORT[place % PEOPLE], place % 7) for place in range(4 * PEOPLE)]
    people(url, {"patient_id": "INTEGER", "tag": "INTEGER", "room": "INTEGER"}, rows)
    columns = {name: {"role": "insensitive"} for name in ("tag", "room")}
    with pytest.raises(SpecError) as refused:
        sqlanon.plan(spec_of(url, {"patient_id": {"role": "identifier"}, **columns}, respondent="patient_id"))
    [problem] = refused.value.problems
    assert problem.startswith("columns.tag: ")
    assert "nearly every value belongs to one person" in problem


def test_sensitive_keys_are_refused(url: str) -> None:
    rows = [
        (100_000_000 + n * n * 997, f"case-{n * 37:05}/b", f"{SHORT[n]}", SHORT[n], f"N{SHORT[n]}", f"{n:03}-x")
        for n in range(PEOPLE)
    ]
    kinds = {
        "marker": "BIGINT",
        "ticket": "TEXT",
        "score_ssn": "TEXT",
        "lab_patient_id": "INTEGER",
        "blood_donor_name": "TEXT",
        "mrn_status": "TEXT",
    }
    people(url, kinds, rows)
    with pytest.raises(SpecError) as refused:
        sqlanon.plan(spec_of(url, sensitive(*kinds)))
    assert [problem.partition(":")[0] for problem in refused.value.problems] == [f"columns.{name}" for name in kinds]


def test_what_sensitive_columns_ordinarily_hold_is_released(url: str) -> None:
    rows = [
        (
            20_000 + n * 137,
            f"{12_345 + n * 77}.{n:02}",
            30_000_000 + n * 1_234_567,
            f"2024-01-{1 + n % 28:02} 10:{n:02}:07",
            f"2024-01-{1 + n % 28:02}T10:{n:02}:07",
            f"E{n}.{n % 10}",
            f"own word {n}",
            ("valid", "missing", "old")[n % 3],
        )
        for n in range(PEOPLE)
    ]
    kinds = {
        "reading": "INTEGER",
        "account_balance": "DECIMAL(12, 2)",
        "salary": "BIGINT",
        "admitted": "TIMESTAMP",
        "left_at": "TEXT",
        "diagnosis_code": "TEXT",
        "remark": "TEXT",
        "mrn_status": "TEXT",
    }
    people(url, kinds, rows)
    assert sqlanon.run(spec_of(url, sensitive(*kinds))).audit.rows == PEOPLE


@pytest.mark.parametrize(
    "name", ["account_balance", "patient_diagnosis_code", "drug_name", "lab_test_name", "credit_score", "phone_cost"]
)
@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_names_of_what_people_keep_private_are_no_identifiers(name: str, role: Role) -> None:
    assert doubted(Profile(name, Family.DECIMAL, 100, 100, 100), role) is None
    assert doubted(Profile(name, Family.TEXT, 100, 100, 10), role) is None


@pytest.mark.parametrize(("thousands", "long"), [(40, False), (40_000, True)])
def test_zeros_after_the_point_make_no_number_long(thousands: int, long: bool) -> None:
    ends = Decimal(thousands) * 1000, Decimal(thousands) * 1000 + 999
    salaries = Profile("salary", Family.DECIMAL, 100, 100, 100, 8, 11, whole=100, least=ends[0], greatest=ends[1])
    assert (doubted(salaries, "insensitive") is not None) is long


@pytest.mark.parametrize("rows", [8, 100])
@pytest.mark.parametrize("name", ["score_ssn", "lab_patient_id", "blood_donor_name", "patientName_result"])
def test_names_beside_what_people_keep_private_are_read(name: str, rows: int) -> None:
    assert doubted(Profile(name, Family.TEXT, rows, rows, rows), "sensitive") == "it is named like a direct identifier"


def test_a_sensitive_column_of_the_type_uuid_is_refused(tmp_path: Path) -> None:
    where = f"duckdb:///{tmp_path}/people.duckdb"
    people(where, {"finding": "UUID"}, [(f"{n:08x}-0000-4000-8000-000000000000",) for n in range(PEOPLE)])
    with pytest.raises(SpecError, match=r"columns\.finding: .*UUIDs"):
        sqlanon.plan(spec_of(where, sensitive("finding")))
