"""The tables of Xiao and Tao's paper (CASES X1, X2): their breach probabilities, losses and releases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.engines.base import Engine
from sqlanon.errors import InfeasibleError, SqlanonError, UsageError
from sqlanon.insight import use as measuring
from sqlanon.recoding.personalized import greedy
from sqlanon.source.run import DEFAULT
from sqlanon.spec import spec_from_dict
from tests.kit.personalized import (
    RELEASED,
    TYPES,
    figure_spec,
    greatest_breach,
    make,
    opened,
    read,
    released,
    tree_taxonomy,
)
from tests.kit.tables import run

COLUMNS = ("age", "sex", "zip")
VOTERS = {"name": "text", "age": "int", "sex": "text", "zip": "int"}
DOMAINS = {"age": 60, "sex": 2, "zip": 50_000, "disease": 12}
"""Of the paper: ages 1 to 60, zip codes 10001 to 60000."""


@pytest.fixture
def url(engine_url: str) -> str:
    return filled(engine_url)


@pytest.fixture
def one_url(duckdb_url: str) -> str:
    """For what the engines share; the others are tested by hand on both, in test_recoders."""
    return filled(duckdb_url)


def filled(engine_url: str) -> str:
    with database(engine_url) as engine:
        make(engine, "microdata", TYPES, read("table.csv"))
        make(engine, "figure 3", RELEASED, read("figure3.csv"))
        make(engine, "voters", VOTERS, read("voters.csv"))
    return engine_url


@pytest.fixture
def few_url(duckdb_url: str) -> str:
    """Andy, Bill, Ken and Nash alone, for what is refused or repeated whatever the rows."""
    with database(duckdb_url) as engine:
        make(engine, "microdata", TYPES, read("table.csv")[:4])
    return duckdb_url


@contextmanager
def database(url: str) -> Iterator[Engine]:
    engine = opened(url)
    try:
        yield engine
    finally:
        engine.close()


def breaches(spec: dict[str, Any], table: str, external: str | None = None) -> Any:
    result = measuring.audit_personalized(spec_from_dict(spec), DEFAULT, table=table, external=external)
    assert result.breaches is not None
    return result.breaches


CHANCES = {True: (Fraction(2, 5), Fraction(1, 3)), False: (Fraction(9, 25), Fraction(11, 36))}
"""Of Ken and Joe, in the primary case and the other (CASES X1)."""


@pytest.mark.representative(1)
@pytest.mark.parametrize("primary", [True, False], ids=["primary", "nonprimary"])
@pytest.mark.one_engine
def test_x1_breach_probabilities_of_figure_3(url: str, primary: bool) -> None:
    """Alone with their guards, Ken and Joe have the greatest probabilities of levels 1 and 0; then all ten stand."""
    spec = figure_spec(url, primary=primary)
    with database(url) as engine:
        run(engine, "CREATE TABLE two AS SELECT * FROM microdata")
        run(engine, "UPDATE two SET guard = NULL WHERE name NOT IN ('Ken', 'Joe')")
        run(engine, "CREATE TABLE few AS SELECT * FROM voters WHERE name IN ('Andy', 'Joe')")
    found = breaches({**spec, "source": "two"}, '"figure 3"', "voters")
    assert found.external
    assert [level.rows for level in found.levels] == [8, 1, 1]
    ken, joe = CHANCES[primary]
    assert [level.maximum for level in found.levels] == pytest.approx([0, float(joe), float(ken)], abs=1e-12)
    alone = breaches(spec, '"figure 3"')
    assert (alone.above, alone.rows) == (0, 10)
    assert alone.maximum == pytest.approx(0.5)
    if not primary:
        # Whoever a list leaves out is in the release all the same: n is no smaller than its persons (Inequality 2).
        assert breaches(spec, '"figure 3"', "few").levels == alone.levels


def figure_1c() -> list[dict[str, Any]]:
    return [
        {**row, "age": age, "zip": code}
        for row, (age, code) in zip(
            read("table.csv"),
            [("[1, 10]", "[10001, 15000]")] * 2
            + [("[1, 10]", "[15001, 20000]")] * 2
            + [("[11, 20]", "[20001, 25000]")] * 2
            + [("[21, 60]", "[30000, 60000]")] * 4,
            strict=True,
        )
    ]


def test_the_2_anonymous_table_of_figure_1c_gives_joe_away(one_url: str) -> None:
    with database(one_url) as engine:
        make(engine, "figure 1c", RELEASED, figure_1c())
    found = breaches(figure_spec(one_url), '"figure 1c"')
    # Joe and Sam share pneumonia, Andy and Bill stomach diseases, Ken and Nash infections.
    assert found.maximum == 1.0
    by_level = {level.level: (level.rows, level.above) for level in found.levels}
    assert by_level == {-1: (1, 0), 0: (6, 2), 1: (3, 3)}


PAPER = {"age": {"min": 1, "max": 60}, "zip": {"min": 10_001, "max": 60_000}}
"""The domains that the paper takes its ages and zip codes from."""


def with_domains(spec: dict[str, Any], domains: dict[str, Any]) -> dict[str, Any]:
    for name, domain in domains.items():
        spec["columns"][name]["domain"] = domain
    return spec


@pytest.mark.one_engine
def test_w1_the_query_of_section_1_1_is_answered_over_the_declared_domain(url: str) -> None:
    """Females above thirty: the four rows of [21, 60] are estimated to hold three, one there is."""
    with database(url) as engine:
        make(engine, "figure 1c", RELEASED, figure_1c())
    found: dict[str, Any] = {}
    for name, domain in (("declared", PAPER["age"]), ("range", None), ("occurring", "occurring")):
        spec = with_domains(figure_spec(url), {} if domain is None else {"age": domain})
        asked = [{"sex": "F", "age": [31, 60]}]
        result = measuring.workload(spec_from_dict(spec), asked, DEFAULT, table='"figure 1c"')
        [answer] = result.answers
        assert answer.actual == 1
        found[name] = answer.estimate, result.error
    assert found["declared"] == (pytest.approx(3), pytest.approx(2))
    # From 21 to 56, the oldest there is, 26 of 36 years lie above thirty; of the ages that occur, one of four.
    assert found["range"][0] == pytest.approx(4 * 26 / 36)
    assert found["occurring"] == (pytest.approx(1), pytest.approx(0))


@pytest.mark.one_engine
def test_with_the_paper_s_domains_greedy_groups_bill_with_nash(url: str) -> None:
    """As Figure 3 does. Measured by the values that occur, Bill stands alone."""
    groups = {}
    for name, domains in (("paper", PAPER), ("occurring", dict.fromkeys(PAPER, "occurring"))):
        result = pipeline.run(spec_from_dict(with_domains(figure_spec(url), domains) | SEARCH_GREEDILY))
        with database(url) as engine:
            groups[name] = {age for (age,) in released(engine, "release", ("age",))}
        if name == "paper":
            # By hand: eight ages, 30,000 zip codes and six diseases beyond one.
            assert result.plan is not None
            score = result.plan.to_dict()["score"]["information_loss"]
            assert score == pytest.approx(8 / 60 + 30_000 / 50_000 + 6 / 12)
    # Nash is 8, Bill is 9.
    assert "[8, 9]" in groups["paper"]
    assert {"8", "9"} <= groups["occurring"]


SEARCH_GREEDILY = {"search": {"algorithm": "greedy"}}


def loss_of(rows: list[tuple[Any, ...]], leaves: dict[str, int]) -> Fraction:
    """Equation 6 over the paper's domains, from released labels."""
    total = Fraction(0)
    for row in rows:
        for column, label in zip((*COLUMNS, "disease"), row, strict=True):
            if column == "disease":
                size = leaves[label]
            elif str(label).startswith("["):
                low, high = str(label).strip("[]").split(", ")
                size = int(high) - int(low) + 1
            else:
                size = 2 if label == "*" else 1
            total += Fraction(size - 1, DOMAINS[column])
    return total


@pytest.mark.one_engine
@pytest.mark.parametrize("algorithm", ["personalized", pytest.param("greedy", marks=pytest.mark.soak)])
@pytest.mark.parametrize("primary", [True, pytest.param(False, marks=pytest.mark.soak)], ids=["primary", "nonprimary"])
def test_figure_1a_is_released_with_less_loss_than_figure_3(url: str, algorithm: str, primary: bool) -> None:
    values = figure_spec(url, primary=primary) | {"search": {"algorithm": algorithm}}
    spec = spec_from_dict(values)
    result = pipeline.run(spec)
    assert result.publication.audit.satisfied
    assert result.publication.audit.breaches is not None
    assert result.publication.audit.breaches.above == 0
    taxonomy, _, nodes = tree_taxonomy(values["privacy"]["personalized"]["taxonomy"]["tree"])
    leaves = {label: len(taxonomy.below(node)) for label, node in nodes.items()}
    with database(url) as engine:
        ours = released(engine, "release", (*COLUMNS, "disease"))
        theirs = released(engine, "figure 3", (*COLUMNS, "disease"))
    assert len(ours) == 10
    assert loss_of(ours, leaves) <= loss_of(theirs, leaves)
    people = [({key: row[key] for key in COLUMNS}, row["guard"], row["name"]) for row in read("table.csv")]
    shown = [(row[:3], row[3]) for row in ours]
    assert greatest_breach(taxonomy, nodes, people, shown, COLUMNS, primary=primary) <= Fraction(1, 2)


@pytest.mark.one_engine
def test_x2_losses_of_single_values(url: str) -> None:
    """Of sixty ages, 5 published as [1, 10] loses 9/60; of twelve diseases, flu as respiratory infection loses 2/12."""
    taxonomy, diseases, nodes = tree_taxonomy(figure_spec(url)["privacy"]["personalized"]["taxonomy"]["tree"])
    leaves = {label: len(taxonomy.below(node)) for label, node in nodes.items()}
    assert loss_of([("[1, 10]", "M", "12000", "flu")], leaves) == Fraction(9, 60)
    assert loss_of([("5", "M", "12000", "respiratory infection")], leaves) == Fraction(2, 12)
    row = {**read("table.csv")[9], "zip": 1, "guard": None}
    # Ten diseases that nobody may be associated with by more than 1/10, and must not be generalized: all ten together.
    ten = [{**row, "age": age, "sex": "M", "disease": diseases[age], "guard": diseases[age]} for age in range(1, 11)]
    # Nobody has most of the ages: the domain is what is declared.
    few = [{**row, "age": age, "sex": "M", "disease": disease, "guard": disease} for age, disease in FEW_AGES.items()]
    with database(url) as engine:
        make(engine, "one", TYPES, [{**row, "age": 5, "guard": "flu"}])
        make(engine, "ten", TYPES, [*ten, *({**row, "age": age} for age in range(11, 61))])
        make(engine, "few", TYPES, few)
    details = planned(figure_spec(url) | {"source": "one"})
    assert details["information_loss"] == pytest.approx(2 / 12)
    assert details["leaves_beyond_one"] == {"age": 0, "sex": 0, "zip": 0, "disease": 2}
    apart = figure_spec(url, p_breach="0.1", weight="infinity") | {"source": "ten"}
    apart["columns"]["sex"]["weight"] = 2
    details = planned(apart)
    assert details["information_loss"] == pytest.approx(10 * 9 / 60)
    assert details["leaves_beyond_one"] == {"age": 10 * 9, "sex": 0, "zip": 0, "disease": 0}
    thirds = figure_spec(url, p_breach="0.34", weight="infinity") | {"source": "few"}
    details = planned(with_domains(thirds, {"age": PAPER["age"]}))
    assert details["information_loss"] == pytest.approx(3 * 9 / 60)
    assert details["leaves_beyond_one"]["age"] == 3 * 9


FEW_AGES = {1: "flu", 5: "gastritis", 10: "pneumonia"}
"""Three people who can only be hidden among each other, as [1, 10]."""


def test_a_budget_publishes_what_has_been_divided(one_url: str) -> None:
    details = planned(figure_spec(one_url) | {"search": {"budget": {"nodes": 1}}})
    # One group of everybody: ten rows lose all ages from 5 to 56 but one, all zip codes from 12000 to 58000, a sex.
    assert {key: details["leaves_beyond_one"][key] for key in COLUMNS} == {"age": 510, "sex": 10, "zip": 460_000}
    assert not details["complete"]
    occurring = with_domains(figure_spec(one_url), dict.fromkeys(PAPER, "occurring"))
    details = planned(occurring | {"search": {"budget": {"nodes": 1}}})
    # Of those that occur, nine of ten.
    assert {key: details["leaves_beyond_one"][key] for key in COLUMNS} == {"age": 90, "sex": 10, "zip": 90}


def planned(values: dict[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = pipeline.plan(spec_from_dict(values)).recoding.to_dict()["details"]
    return details


@pytest.mark.one_engine
def test_a_guard_that_lies_elsewhere_is_refused_with_the_count(url: str) -> None:
    with database(url) as engine:
        run(engine, "UPDATE microdata SET guard = 'colon disease' WHERE name IN ('Andy', 'Ken')")
    with pytest.raises(UsageError, match="2 rows have in column 'guard'"):
        pipeline.plan(spec_from_dict(figure_spec(url)))
    with pytest.raises(SqlanonError, match="2 guarding nodes"):
        breaches(figure_spec(url), '"figure 3"')


def test_the_root_cannot_be_guarded(few_url: str) -> None:
    with database(few_url) as engine:
        run(engine, "UPDATE microdata SET guard = '*' WHERE name = 'Andy'")
    for algorithm in ("personalized", "greedy"):
        values = figure_spec(few_url) | {"search": {"algorithm": algorithm}}
        with pytest.raises(InfeasibleError, match="cannot be guarded"):
            pipeline.plan(spec_from_dict(values))


@pytest.mark.parametrize("algorithm", ["personalized", "greedy"])
def test_infinity_is_refused_where_values_as_they_are_protect_nobody(few_url: str, algorithm: str) -> None:
    with database(few_url) as engine:
        run(engine, "UPDATE microdata SET disease = 'pneumonia', guard = 'pneumonia' WHERE name IN ('Ken', 'Nash')")
    values = figure_spec(few_url, p_breach="0.3", weight="infinity") | {"search": {"algorithm": algorithm}}
    with pytest.raises(InfeasibleError, match="weight infinity forbids"):
        pipeline.plan(spec_from_dict(values))


def test_greedy_says_which_column_has_too_many_values(few_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greedy, "MOST_VALUES", 3)
    with pytest.raises(UsageError, match="weighs every value of column 'age', which has 4, more than 3"):
        pipeline.plan(spec_from_dict(figure_spec(few_url) | {"search": {"algorithm": "greedy"}}))


def test_without_a_label_that_the_taxonomy_knows_nothing_is_measured(one_url: str) -> None:
    with database(one_url) as engine:
        run(engine, "UPDATE \"figure 3\" SET disease = 'fever' WHERE age = '21'")
    with pytest.raises(SqlanonError, match="1 rows of the release show a value that its taxonomy does not have"):
        breaches(figure_spec(one_url), '"figure 3"')
    with database(one_url) as engine:
        run(engine, "UPDATE \"figure 3\" SET disease = 'flu', zip = 'far away' WHERE age = '21'")
    with pytest.raises(SqlanonError, match="column 'zip': 1 labels"):
        breaches(figure_spec(one_url), '"figure 3"')
