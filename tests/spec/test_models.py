"""The privacy models of a spec: what may be asked, what contradicts itself, and what the core reads from it."""

from __future__ import annotations

from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.errors import SpecError
from sqlanon.spec import (
    Alpha,
    DeltaDisclosure,
    DeltaPresence,
    FileSource,
    Privacy,
    QuasiIdentifierGroup,
    SuppressionRule,
    TCloseness,
    load_spec,
    spec_from_dict,
)
from sqlanon.spec.amounts import normal

BASE: dict[str, Any] = {
    "source": "s",
    "target": "t",
    "columns": {
        "id": {"role": "identifier"},
        "zip": {"role": "quasi_identifier"},
        "sex": {"role": "quasi_identifier"},
        "disease": {"role": "sensitive", "hierarchy": {"tree": {"viral": ["flu", "HIV"], "other": ["burn"]}}},
        "salary": {"role": "sensitive"},
        "notes": {"role": "insensitive"},
    },
    "privacy": {"k": 2},
}
POPULATION = {"source": "voters", "columns": {"zip": "zip_code"}}
GROUPS = {"patient": {"columns": ["zip"], "k": 5}, "doctor": {"columns": ["sex", "zip"], "k": 3}}
ENTRIES: dict[str, dict[str, Any]] = {
    "l_diversity": {"column": "disease", "l": 3},
    "t_closeness": {"column": "disease", "t": 0.2},
    "alpha": {"column": "disease", "value": "HIV", "alpha": 0.4},
    "p_sensitive": {"column": "disease", "p": 2},
    "beta_likeness": {"column": "disease", "beta": 3},
    "delta_disclosure": {"column": "disease", "delta": 1.5},
}
THRESHOLDS = {
    "t": ("t_closeness", "t"),
    "alpha": ("alpha", "alpha"),
    "beta": ("beta_likeness", "beta"),
    "delta": ("delta_disclosure", "delta"),
}


def changed(**keys: Any) -> dict[str, Any]:
    return {**deepcopy(BASE), **keys}


def asking(**privacy: Any) -> dict[str, Any]:
    return changed(privacy=privacy)


def threshold(name: str, value: object) -> dict[str, Any]:
    model, key = THRESHOLDS[name]
    return asking(**{model: [{**ENTRIES[model], key: value}]})


def problems(values: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(SpecError) as caught:
        spec_from_dict(values)
    return caught.value.problems


@pytest.mark.parametrize("model", ENTRIES)
def test_every_model_may_stand_alone(model: str) -> None:
    spec = spec_from_dict(asking(**{model: [ENTRIES[model]]}))
    assert spec.privacy.models() == getattr(spec.privacy, model)
    assert spec.measured_sensitive == ("disease",)
    assert not spec.privacy.only_k


@pytest.mark.parametrize("model", ENTRIES)
def test_every_model_protects_sensitive_columns(model: str) -> None:
    entry = {**ENTRIES[model], "column": "zip"}
    assert problems(asking(**{model: [entry]})) == (
        f"privacy.{model}[0].column: zip is not a column of role sensitive",
    )


WRONG = {
    "respondent that is released": (
        changed(respondent="zip"),
        "respondent: zip must be a column of role identifier: the key of a person is never released",
    ),
    "respondent that nobody classified": (
        changed(respondent="patient_id"),
        "respondent: patient_id must be a column of role identifier: the key of a person is never released",
    ),
    "respondent that is kept by default": (
        changed(respondent="patient_id", default_role="insensitive"),
        "respondent: patient_id must be a column of role identifier: the key of a person is never released",
    ),
    "constant without recursive": (
        asking(l_diversity=[{**ENTRIES["l_diversity"], "c": 2}]),
        "privacy.l_diversity[0]: c belongs to kind recursive, which needs it",
    ),
    "recursive without constant": (
        asking(l_diversity=[{**ENTRIES["l_diversity"], "kind": "recursive"}]),
        "privacy.l_diversity[0]: c belongs to kind recursive, which needs it",
    ),
    "constant of 0": (
        asking(l_diversity=[{**ENTRIES["l_diversity"], "kind": "recursive", "c": 0}]),
        "privacy.l_diversity[0].c: must be greater than 0",
    ),
    "l beyond the largest": (
        asking(l_diversity=[{"column": "disease", "l": 10**6 + 1}]),
        "privacy.l_diversity[0].l: must be at most 1000000",
    ),
    "p=0": (asking(p_sensitive=[{"column": "disease", "p": 0}]), "privacy.p_sensitive[0].p: must be at least 1"),
    "p beyond the largest": (
        asking(p_sensitive=[{"column": "disease", "p": 10**6 + 1}]),
        "privacy.p_sensitive[0].p: must be at most 1000000",
    ),
    "negative t": (threshold("t", -0.1), "privacy.t_closeness[0].t: must be at least 0"),
    "t above 1": (threshold("t", 1.000001), "privacy.t_closeness[0].t: must be at most 1"),
    "alpha=0": (threshold("alpha", 0), "privacy.alpha[0].alpha: must be greater than 0"),
    "alpha above 1": (threshold("alpha", 2), "privacy.alpha[0].alpha: must be at most 1"),
    "beta=0": (threshold("beta", 0), "privacy.beta_likeness[0].beta: must be greater than 0"),
    "beta beyond the largest": (
        threshold("beta", "1000000.1"),
        "privacy.beta_likeness[0].beta: must be at most 1000000",
    ),
    "delta=0": (threshold("delta", 0), "privacy.delta_disclosure[0].delta: must be greater than 0"),
    "ten decimals": (threshold("t", "0.0000000001"), "privacy.t_closeness[0].t: at most 9 decimals are allowed"),
    "a float with noise": (threshold("t", 0.1 + 0.2), "privacy.t_closeness[0].t: at most 9 decimals are allowed"),
    "tiny exponent": (threshold("t", "1e-999999999"), "privacy.t_closeness[0].t: at most 9 decimals are allowed"),
    "not a number": (threshold("t", "nan"), "privacy.t_closeness[0].t: a finite number is expected"),
    "threshold in words": (threshold("t", "low"), "privacy.t_closeness[0].t: a number is expected"),
    "threshold that is true": (
        threshold("t", True),
        "privacy.t_closeness[0].t: a number is expected, not true or false",
    ),
    "value of nothing": (
        asking(alpha=[{**ENTRIES["alpha"], "value": None}]),
        "privacy.alpha[0].value: a value is expected here; put quotes around an empty text",
    ),
    "order of another distance": (
        asking(t_closeness=[{**ENTRIES["t_closeness"], "order": ["a"]}]),
        "privacy.t_closeness[0].order: only distance ordered has an order",
    ),
    "order with a repeated value": (
        asking(t_closeness=[{**ENTRIES["t_closeness"], "distance": "ordered", "order": ["a", "b", "a"]}]),
        "privacy.t_closeness[0].order: each value may stand once",
    ),
    "hierarchical without a hierarchy": (
        asking(t_closeness=[{"column": "salary", "t": 0.1, "distance": "hierarchical"}]),
        "privacy.t_closeness[0].distance: hierarchical needs a hierarchy of the sensitive column salary",
    ),
    "misspelt kind": (
        asking(delta_disclosure=[{**ENTRIES["delta_disclosure"], "kind": "al"}]),
        "privacy.delta_disclosure[0].kind: one of occurring, all is expected; did you mean 'all'?",
    ),
    "one other sensitive column": (
        changed(
            columns={"q": {"role": "quasi_identifier"}, "d": {"role": "sensitive"}},
            privacy={"other_sensitive": "known", "p_sensitive": [{"column": "d", "p": 2}]},
        ),
        "privacy.other_sensitive: known needs at least two columns of role sensitive",
    ),
    "group of no columns": (
        asking(quasi_identifiers={"patient": {"columns": []}}, k=2),
        "privacy.quasi_identifiers.patient.columns: must not be empty",
    ),
    "group with a repeated column": (
        asking(quasi_identifiers={"patient": {"columns": ["zip", "sex", "zip"]}}, k=2),
        "privacy.quasi_identifiers.patient.columns: each column may stand once",
    ),
    "group of another role": (
        asking(quasi_identifiers={"patient": {"columns": ["zip", "sex", "notes"]}}, k=2),
        "privacy.quasi_identifiers.patient.columns[2]: notes is not a column of role quasi_identifier",
    ),
    "quasi-identifier in no group": (
        asking(quasi_identifiers={"patient": {"columns": ["zip"]}}, k=2),
        "privacy.quasi_identifiers: column sex of role quasi_identifier is in none of them",
    ),
    "group without a requirement": (
        asking(quasi_identifiers={"patient": {"columns": ["zip"], "k": 2}, "doctor": {"columns": ["sex"]}}),
        "privacy.quasi_identifiers.doctor.k: this key is required where neither privacy.k nor another model stands",
    ),
    "groups without any requirement": (
        asking(quasi_identifiers={"patient": {"columns": ["zip", "sex"]}}),
        "privacy: at least one requirement must stand, for example k: 5",
    ),
    "k_map without a population": (
        asking(k_map=2),
        "privacy.k_map: privacy.population is required with it: the table of everybody who could be in",
    ),
    "presence without a population": (
        asking(delta_presence={"max": 0.5}),
        "privacy.delta_presence: privacy.population is required with it: the table of everybody who could be in",
    ),
    "population that nothing asks for": (
        asking(k=2, population=POPULATION),
        "privacy.population: nothing asks for it; k_map or delta_presence must stand with it",
    ),
    "population of another column": (
        asking(k_map=2, population={"source": "voters", "columns": {"notes": "n"}}),
        "privacy.population.columns.notes: notes is not a column of role quasi_identifier",
    ),
    "target is the population": (
        {**asking(k_map=2, population=POPULATION), "target": "voters"},
        "target: the target is the population; the population is only ever read, name another target",
    ),
    "presence upside down": (
        asking(population=POPULATION, delta_presence={"min": 0.5, "max": 0.4}),
        "privacy.delta_presence: min must not exceed max",
    ),
    "presence of nobody": (
        asking(population=POPULATION, delta_presence={"max": 0}),
        "privacy.delta_presence.max: must be greater than 0",
    ),
    "presence above 1": (
        asking(population=POPULATION, delta_presence={"max": 1.5}),
        "privacy.delta_presence.max: must be at most 1",
    ),
    "least presence with suppression": (
        asking(population=POPULATION, delta_presence={"min": 0.1, "max": 1}, suppression={"limit": "1%"}),
        "privacy.delta_presence.min: above 0 it needs suppression.limit 0: people who are left out have presence 0",
    ),
    "presence above 0 with several groups": (
        asking(
            quasi_identifiers=GROUPS,
            population={"source": "voters"},
            delta_presence={"min": 0.1, "max": 0.5},
        ),
        "privacy.delta_presence.min: above 0 it needs a single quasi-identifier, and other_sensitive unknown",
    ),
    "blank rows with several groups": (
        asking(quasi_identifiers=GROUPS, suppression={"mode": "blank"}),
        (
            "privacy.suppression.mode: blank needs a single grouping: not with several quasi_identifiers, "
            "nor other_sensitive known"
        ),
    ),
    "blank rows with known values": (
        asking(k=2, other_sensitive="known", suppression={"mode": "blank"}),
        (
            "privacy.suppression.mode: blank needs a single grouping: not with several quasi_identifiers, "
            "nor other_sensitive known"
        ),
    ),
    "view of several groups": (
        {**asking(quasi_identifiers=GROUPS), "target": {"view": "v"}},
        "target: a view needs a single grouping; write a table for several, or for other_sensitive known",
    ),
    "view with known values": (
        {**asking(k=2, other_sensitive="known"), "target": {"view": "v"}},
        "target: a view needs a single grouping; write a table for several, or for other_sensitive known",
    ),
    "view of blank rows with another model": (
        {**asking(p_sensitive=[ENTRIES["p_sensitive"]], suppression={"mode": "blank"}), "target": {"view": "v"}},
        "target: a view with blank rows holds k-anonymity of rows alone; write a table, or drop the rows",
    ),
    "view of blank rows with a respondent": (
        {**asking(k=2, suppression={"mode": "blank"}), "target": {"view": "v"}, "respondent": "id"},
        "target: a view with blank rows holds k-anonymity of rows alone; write a table, or drop the rows",
    ),
    "empty together": (changed(together="warn"), "together: only a spec with recipients has this"),
}


@pytest.mark.parametrize(("values", "expected"), WRONG.values(), ids=WRONG)
def test_messages(values: dict[str, Any], expected: str) -> None:
    assert problems(values) == (expected,)


@pytest.mark.parametrize(
    "other",
    [
        {"privacy": {"k": 2, "p_sensitive": [ENTRIES["p_sensitive"]]}},
        {"privacy": {"k_map": 2, "population": POPULATION}},
        {"privacy": {"quasi_identifiers": GROUPS}},
        {"privacy": {"k": 2, "other_sensitive": "known"}},
        {"respondent": "id"},
    ],
)
def test_the_matrix_decides_k_anonymity_alone(other: dict[str, Any]) -> None:
    search = {"algorithm": "samarati", "satisfies": "matrix"}
    one = {"quasi_identifiers": {"all": {"columns": ["zip", "sex"], "k": 2}}}
    spec_from_dict(changed(search=search))
    spec_from_dict(changed(search=search, privacy=one))
    others = "other models, a respondent or several quasi-identifiers"
    assert problems(changed(search=search, **other)) == (
        f"search.satisfies: matrix decides k-anonymity of rows alone; write counts with {others}",
    )


@pytest.mark.parametrize(
    ("model", "same", "words", "other"),
    [
        ("l_diversity", {"l": 2}, "column and kind", {"kind": "entropy"}),
        ("t_closeness", {"t": 0.1}, "column and distance", {"distance": "ordered"}),
        ("alpha", {"alpha": 0.1}, "column and value", {"value": "flu"}),
        ("p_sensitive", {"p": 3}, "column", {"column": "salary"}),
        ("beta_likeness", {"beta": 1}, "column and kind", {"kind": "enhanced"}),
        ("delta_disclosure", {"delta": 1}, "column and kind", {"kind": "all"}),
    ],
)
def test_an_entry_stands_once(model: str, same: dict[str, Any], words: str, other: dict[str, Any]) -> None:
    entry = ENTRIES[model]
    repeated = asking(**{model: [entry, {**entry, **same}]})
    assert problems(repeated) == (f"privacy.{model}[1]: an entry with the same {words} stands already",)
    spec_from_dict(asking(**{model: [entry, {**entry, **other}]}))
    spec_from_dict(asking(**{model: [entry, {**entry, "column": "salary"}]}))


def test_values_keep_their_spelling(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(
        "source: s\ntarget: t\ncolumns: {q: {role: quasi_identifier}, d: {role: sensitive}}\n"
        "privacy:\n"
        "  t_closeness: [{column: d, t: 0.10, distance: ordered, order: [01, 1.0, no, true, null]}]\n"
        "  alpha: [{column: d, value: 007, alpha: 1e-1}]\n",
        encoding="utf-8",
    )
    privacy = load_spec(path).privacy
    assert privacy.t_closeness[0].order == ("01", "1.0", "no", "true", "null")
    assert privacy.alpha == (Alpha(column="d", value="007", alpha=Decimal("0.1")),)


def test_values_of_python_become_text() -> None:
    entry = TCloseness.model_validate({"column": "d", "t": 0.5, "distance": "ordered", "order": [1, 2.5, True]})
    assert entry.order == ("1", "2.5", "true")


def test_defaults() -> None:
    assert DeltaDisclosure(column="d", delta=Decimal(1)).kind == "occurring"
    assert DeltaPresence(max=Decimal("0.5")).min == 0
    privacy = Privacy(k=2)
    assert (privacy.other_sensitive, privacy.quasi_identifiers, privacy.population) == ("unknown", {}, None)
    assert (privacy.k_map, privacy.delta_presence) == (None, None)


@pytest.mark.parametrize("value", [0.2, "0.2", "0.20", Decimal("0.2000"), Decimal("2E-1")])
def test_thresholds_are_exact_and_written_alike(value: object) -> None:
    spec = spec_from_dict(threshold("t", value))
    assert spec.privacy.t_closeness[0].t == Decimal("0.2")
    assert spec.hash() == spec_from_dict(threshold("t", 0.2)).hash()
    assert spec.hash() != spec_from_dict(threshold("t", "0.200000001")).hash()


def test_thresholds_at_their_bounds() -> None:
    for name, values in {"t": (0, 1), "alpha": ("0.000000001", 1), "beta": (10**6, "1e-9"), "delta": ("1e6",)}.items():
        for value in values:
            spec_from_dict(threshold(name, value))


@given(st.integers(0, 10**15), st.integers(0, 9), st.integers(0, 5))
def test_normal_numbers_keep_their_value(digits: int, decimals: int, zeros: int) -> None:
    number = Decimal(digits % 10 ** (6 + decimals)).scaleb(-decimals)
    padded = Decimal(f"{number:f}" + ("" if decimals else ".") + "0" * zeros)
    assert normal(padded) == number
    assert str(normal(padded)) == str(normal(number))


@pytest.mark.parametrize("zero", ["0", "-0", "0e-999999999", "0.000"])
def test_zero_is_zero(zero: str) -> None:
    assert str(normal(Decimal(zero))) == "0"


def test_a_respondent_is_an_identifier() -> None:
    assert spec_from_dict(changed(respondent="id")).respondent == "id"
    assert spec_from_dict(changed(respondent="patient_id", default_role="identifier")).respondent == "patient_id"


def test_models_are_listed_in_the_order_of_the_reference() -> None:
    turned = {model: [ENTRIES[model]] for model in reversed(ENTRIES)}
    turned["p_sensitive"] = [{"column": "salary", "p": 2}, *turned["p_sensitive"]]
    spec = spec_from_dict(asking(**turned))
    assert [type(entry).__name__ for entry in spec.privacy.models()] == [
        "LDiversity",
        "TCloseness",
        "Alpha",
        "PSensitive",
        "PSensitive",
        "BetaLikeness",
        "DeltaDisclosure",
    ]
    assert spec.privacy.sensitive_columns()[3:5] == [("p_sensitive", 0, "salary"), ("p_sensitive", 1, "disease")]
    assert spec.measured_sensitive == ("disease", "salary")


def test_groups() -> None:
    several = spec_from_dict(asking(quasi_identifiers=GROUPS)).privacy
    assert several.groups(("zip", "sex")) == {"patient": (("zip",), 5), "doctor": (("sex", "zip"), 3)}
    mixed = Privacy(k=2, quasi_identifiers={"a": QuasiIdentifierGroup(columns=("x",)), **several.quasi_identifiers})
    assert mixed.groups(())["a"] == (("x",), 2)
    alone = spec_from_dict(asking(p_sensitive=[ENTRIES["p_sensitive"]])).privacy
    assert alone.groups(["zip", "sex"]) == {"": (("zip", "sex"), None)}


def test_what_stands_beside_k() -> None:
    group = {"all": QuasiIdentifierGroup(columns=("zip",), k=2)}
    assert Privacy(k=2).only_k
    assert Privacy(quasi_identifiers=group).only_k
    assert not Privacy().only_k
    assert not Privacy(k=2, other_sensitive="known").only_k
    assert not Privacy(k=2, k_map=2).only_k
    assert not Privacy(k=2, delta_presence=DeltaPresence(max=Decimal(1))).only_k
    assert not Privacy(k=2, quasi_identifiers={**group, "doctor": group["all"]}).only_k
    assert Privacy(k=2, suppression=SuppressionRule(mode="blank")).only_k


def test_several_requirements_together() -> None:
    spec = spec_from_dict(
        asking(
            quasi_identifiers={"patient": {"columns": ["zip"]}, "doctor": {"columns": ["sex"]}},
            other_sensitive="known",
            l_diversity=[ENTRIES["l_diversity"]],
            population=POPULATION,
            k_map=4,
            delta_presence={"max": 0.5},
            suppression={"limit": "0%"},
        )
    )
    assert spec.privacy.several_groupings
    assert spec.privacy.beyond_k
    assert not spec.privacy.asks_for_k


def test_the_population_is_relative_to_the_spec() -> None:
    asked = asking(k_map=2, population={"source": "data/voters.csv"})
    population = spec_from_dict(asked, base="project").privacy.population
    assert population is not None
    assert isinstance(population.source, FileSource)
    assert population.source.locations[0] == str(Path("project/data/voters.csv"))
