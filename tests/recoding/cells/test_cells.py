"""The taxonomy of models: releases of every model, held against the slides' and against brute force."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError, SpecError, UsageError
from sqlanon.planning.frontier import compare
from sqlanon.recoding import Assigned
from sqlanon.recoding.cells import forest, matching
from sqlanon.release.results import RunResult
from sqlanon.spec import Anonymity, spec_from_dict
from tests.kit.cells import fits, fitting, least_cost
from tests.kit.database import Database
from tests.kit.papers import PAPERS, Labels, Row, load_case, read_csv

TREE = {"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}
LABELS: Labels = {
    "a": ("a", "ab", "*"),
    "b": ("b", "ab", "*"),
    "c": ("c", "cd", "*"),
    "d": ("d", "cd", "*"),
    None: (None, None, "*"),
}
SUPPRESSED: Labels = {value: (value, "*") for value in LABELS}


def f2_spec(url: str, model: str, limit: int = 0, **privacy: Any) -> Any:
    case = load_case("f2")
    asked = {"k": 2, "suppression": {"limit": limit}, **privacy}
    values = {**case.spec, "connection": url, "source": "original", "target": "released", "privacy": asked}
    return spec_from_dict({**values, "search": {"model": model}}, case.directory)


def slide(model: str) -> Counter[tuple[Any, ...]]:
    return Counter(read_csv(PAPERS / "f2" / "releases" / f"{model}.csv")[1])


def test_models_of_the_slides(engine_url: str) -> None:
    case = load_case("f2")
    database = Database(engine_url)
    database.create("original", case.types, case.rows)
    limits = {"AG_": 0, "_AS": 0, "CG_": 0, "_CS": 0, "AG_CS": 5} if database.is_duckdb else {"CG_": 0}
    for model, limit in limits.items():
        result = pipeline.run(f2_spec(engine_url, model, limit))
        expected = case.expected["releases"][model]
        assert result.audit.satisfied
        assert (result.audit.rows, result.audit.k) == (expected["rows"], expected["k"]), model
        if model in {"AG_", "_AS", "CG_"}:
            assert database.counted("released") == slide(model), model
        if model in {"_CS", "AG_CS"}:
            # Other groups than the slide's, with no more suppressed cells.
            cells = sum(cell == "*" for row in database.rows("released") for cell in row)
            assert cells == details(result)["cells_suppressed"] <= expected["cells"], model
        if model == "AG_CS":
            assert list(details(result)["levels"].values()) == expected["levels"]
    assert database.leftovers() == []


def test_rows_alone_are_suppressed_by_ts(duckdb_url: str) -> None:
    case = load_case("f2")
    database = Database(duckdb_url)
    database.create("original", case.types, case.rows)
    # Table (f) of the slides is empty: no two rows are equal.
    with pytest.raises(InfeasibleError):
        pipeline.run(f2_spec(duckdb_url, "_TS", 9))
    database.run("INSERT INTO original VALUES ('white', '64/09/27', 'F', '94141')")
    result = pipeline.run(f2_spec(duckdb_url, "_TS", 8))
    assert database.counted("released") == {("white", "64/09/27", "F", "94141"): 2}
    assert result.levels == {"race": 0, "dob": 0, "sex": 0, "zip": 0}


def details(result: RunResult) -> dict[str, Any]:
    assert isinstance(result.recoding, Assigned)
    return dict(result.recoding.details)


def values(url: str, width: int, model: str, algorithm: str, **privacy: Any) -> dict[str, Any]:
    column = {"role": "quasi_identifier", "hierarchy": {"tree": TREE}}
    return {
        "connection": url,
        "source": "original",
        "target": "released",
        "columns": {f"x{position}": column for position in range(width)},
        "privacy": privacy,
        "search": {"model": model, "algorithm": algorithm},
    }


def released(database: Database, rows: list[Row], given: dict[str, Any]) -> tuple[RunResult, list[Row]]:
    database.run("DROP TABLE IF EXISTS original", "DROP TABLE IF EXISTS released")
    database.create("original", dict.fromkeys(given["columns"], "text"), rows)
    result = pipeline.run(spec_from_dict(given))
    assert database.leftovers() == []
    return result, database.rows("released")


def check_cost(result: RunResult, rows: list[Row], k: int, model: str) -> None:
    """Between the optimum and the optimum times the factor; no further from it than the gap says."""
    found = details(result)
    least = least_cost(rows, [LABELS] * len(rows[0]), k, cells=model == "_CS")
    assert result.plan is not None
    gap = result.plan.figures()["gap"]
    assert least <= Fraction(found["cost"]).limit_denominator(1000) <= found["factor"] * least
    assert found["cost"] * (1 - gap) <= float(least) + 1e-9
    assert result.plan.search.proven == (gap == 0)


@pytest.mark.representative(1)
@pytest.mark.parametrize(("model", "algorithm"), [("CG_", "forest"), ("_CS", "matching")])
@pytest.mark.one_engine
def test_costs_are_those_of_brute_force(engine_url: str, model: str, algorithm: str) -> None:
    rows: list[Row] = [("a", "a"), ("a", "a"), ("a", "a"), ("b", "a"), ("a", "b"), ("c", None), ("d", None), ("d", "d")]
    result, found = released(Database(engine_url), rows, values(engine_url, 2, model, algorithm, k=2))
    assert min(Counter(found).values()) >= 2
    check_cost(result, rows, 2, model)


@pytest.mark.representative(2)
@pytest.mark.parametrize(
    ("anonymity", "model"), [("(1,k)", "CG_"), ("(k,1)", "_CS"), ("(k,k)", "CG_"), ("global (1,k)", "CG_")]
)
def test_rows_fit_as_many_as_asked(duckdb_url: str, anonymity: Anonymity, model: str) -> None:
    rows: list[Row] = [("a", "a"), ("a", "b"), ("b", "a"), ("c", "c"), ("d", "d"), ("c", None), (None, "c")]
    given_ = values(duckdb_url, 2, model, "forest", k=3, anonymity=anonymity)
    result, found = released(Database(duckdb_url), rows, given_)
    labels = [LABELS if model == "CG_" else SUPPRESSED] * 2
    one_k, k_one, everywhere = fitting(rows, found, labels)
    figures = {"(1,k)": one_k, "(k,1)": k_one, "(k,k)": min(one_k, k_one), "global (1,k)": everywhere}
    assert figures[anonymity] >= 3
    assert result.audit.consistency is not None
    assert result.audit.consistency.of(anonymity) == figures[anonymity]
    if details(result)["anonymity"] == "global (1,k)":
        assert k_one >= 3


@pytest.mark.one_engine
def test_rows_that_fit_cost_less_than_equal_rows(engine_url: str) -> None:
    """Three rows, one of them between the others: as equal rows they lose all cells, 6; as rows that fit, 4."""
    rows: list[Row] = [("a", "a"), ("a", "b"), ("b", "a")]
    database = Database(engine_url)
    costs = {"classic": 6, "(k,k)": 4, "global (1,k)": 4} if database.is_duckdb else {"global (1,k)": 4}
    for anonymity, cost in costs.items():
        given_ = values(engine_url, 2, "_CS", "forest", k=2, anonymity=anonymity)
        result, found = released(database, rows, given_)
        assert details(result)["cost"] == cost
        assert min(fitting(rows, found, [SUPPRESSED] * 2)) >= 2
        if cost == 4:
            assert Counter(found) == {("*", "*"): 1, ("a", "*"): 1, ("*", "a"): 1}


def test_of_many_equal_rows_only_those_needed_are_recoded(engine_url: str) -> None:
    rows: list[Row] = [*[("a", "a")] * 40, ("b", "a")]
    _, found = released(Database(engine_url), rows, values(engine_url, 2, "CG_", "forest", k=5))
    assert Counter(found) == {("a", "a"): 36, ("ab", "a"): 5}


@pytest.mark.parametrize("k", [5])
def test_neighbours_in_windows(duckdb_url: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all pairs are compared the release stands just as well, and nothing is said to be proven."""
    monkeypatch.setattr(forest, "MOST_PAIRS", 0)
    letters: list[str | None] = ["a", "b", "c", "d", None]
    rows: list[Row] = [(letters[i % 5], letters[i // 5 % 5], letters[i * i % 5]) for i in range(60)]
    result, found = released(Database(duckdb_url), rows, values(duckdb_url, 3, "CG_", "forest", k=k))
    assert min(Counter(found).values()) >= k
    assert len(found) == 60
    assert details(result)["neighbours"] == "windows"
    assert details(result)["factor"] is None
    assert result.plan is not None
    assert result.plan.figures()["gap"] is None
    assert all(any(fits(row, other, [LABELS] * 3) for row in rows) for other in found)


def test_levels_that_columns_must_have(duckdb_url: str) -> None:
    rows: list[Row] = [("a", "a"), ("a", "a"), ("c", "c"), ("d", "c")]
    given_ = values(duckdb_url, 2, "CG_", "forest", k=2)
    given_["columns"]["x0"] = {**given_["columns"]["x0"], "levels": {"min": 1}}
    _, found = released(Database(duckdb_url), rows, given_)
    assert Counter(found) == {("ab", "a"): 2, ("cd", "c"): 2}


def test_heavy_columns_are_kept(duckdb_url: str) -> None:
    """Two ways to pair four rows: by the first column or by the second."""
    rows: list[Row] = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    for heavy, expected in (("x0", {("a", "*"): 2, ("b", "*"): 2}), ("x1", {("*", "a"): 2, ("*", "b"): 2})):
        given_ = values(duckdb_url, 2, "_CS", "forest", k=2)
        given_["columns"][heavy] = {**given_["columns"][heavy], "weight": 2.5}
        result, found = released(Database(duckdb_url), rows, given_)
        assert Counter(found) == expected
        assert details(result)["cost"] == details(result)["cells_suppressed"] == 4


def test_what_a_matching_cannot_do(duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Row] = [("a", "a"), ("a", "b"), ("b", "b"), ("c", "c")]
    given_ = values(duckdb_url, 2, "CG_", "matching", k=2)
    monkeypatch.setattr(matching, "MOST_PAIRS", 0)
    with pytest.raises(UsageError, match="matching holds 0 pairs of rows at most, and there are"):
        released(Database(duckdb_url), rows, given_)
    monkeypatch.undo()
    monkeypatch.setattr(forest, "MOST_PAIRS", 0)
    with pytest.raises(UsageError, match="matching compares all pairs of combinations"):
        released(Database(duckdb_url), rows, given_)
    monkeypatch.undo()
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(UsageError, match="matching needs networkx: pip install 'sqlanon\\[matching\\]'"):
        released(Database(duckdb_url), rows, given_)


@pytest.mark.representative(1, postgres=1)
@pytest.mark.parametrize("model", ["_CS", "CG_"])
def test_circles_of_three_rows_and_more(engine_url: str, model: str) -> None:
    """k = 3 on Boolean data: the 2-approximation of Aggarwal et al. A name and a value that look like SQL are data."""
    name, value = "x\"0'; --", "it's; \\*"
    lines = ["0000", "0000", "0000", "0001", "0011", "0110", "1100", "1001", "1111", "1111"]
    rows: list[Row] = [tuple(value if cell == "1" else None for cell in line) for line in lines]
    database = Database(engine_url)
    names = [name, "x1", "x2", "x3"]
    database.create("original", {each.replace('"', '""'): "text" for each in names}, rows)
    columns = {each: {"role": "quasi_identifier"} for each in names}
    given_ = {"connection": engine_url, "source": "original", "target": "released", "columns": columns}
    search = {"model": model, "algorithm": "matching"}
    result = pipeline.run(spec_from_dict({**given_, "privacy": {"k": 3}, "search": search}))
    assert min(Counter(database.rows("released")).values()) >= 3
    assert details(result)["factor"] == 2.0
    least = least_cost(rows, [{value: (value, "*"), None: (None, "*")}] * 4, 3, cells=True)
    assert least <= details(result)["cost"] <= 2 * least
    assert result.plan is not None
    assert details(result)["cost"] * (1 - result.plan.figures()["gap"]) <= float(least) + 1e-9


def test_what_circles_cannot_do(duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Row] = [("a", "a"), ("a", "b"), ("b", "b"), ("c", "c")]
    given_ = values(duckdb_url, 2, "CG_", "matching", k=3)
    result, _ = released(Database(duckdb_url), rows, given_)
    assert details(result)["factor"] == 3.0
    monkeypatch.setattr(matching, "MOST_ROWS", 3)
    with pytest.raises(UsageError, match="at most 3 rows of combinations with fewer than three rows, and there are 4"):
        released(Database(duckdb_url), rows, given_)
    monkeypatch.setattr(matching, "MOST_COMBINATIONS", 3)
    with pytest.raises(UsageError, match="holds 3 combinations at most, and there are 4; take forest"):
        released(Database(duckdb_url), rows, given_)
    monkeypatch.undo()
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(UsageError, match="matching needs networkx"):
        released(Database(duckdb_url), rows, given_)


def test_cells_beside_other_algorithms(duckdb_url: str) -> None:
    """A comparison puts any algorithm in place of the spec's own; they say what they cannot do."""
    columns = {"x0": {"role": "quasi_identifier", "hierarchy": {"tree": TREE}}, "s": {"role": "sensitive"}}
    rows = [("a", "1"), ("a", "2"), ("a", "1"), ("c", "2"), ("d", "1"), ("d", "2")]
    Database(duckdb_url).create("original", {"x0": "text", "s": "text"}, rows)
    given_ = {"connection": duckdb_url, "source": "original", "target": "released", "columns": columns}
    plain = spec_from_dict({**given_, "privacy": {"k": 3}})
    columns_whole, cells = compare(plain, ["optimal", "forest"]).compared
    assert cells.scores["loss"] < columns_whole.scores["loss"]
    with pytest.raises(UsageError, match="matching is for k = 2 and k = 3, not 4; take forest"):
        compare(spec_from_dict({**given_, "privacy": {"k": 4}}), ["matching"])
    with pytest.raises(UsageError, match="fitting makes rows that fit, not equal ones"):
        compare(plain, ["fitting"])
    diverse = {"k": 2, "l_diversity": [{"column": "s", "l": 2}]}
    with pytest.raises(UsageError, match=r"privacy\.l_diversity: forest does not honour it"):
        compare(spec_from_dict({**given_, "privacy": diverse}), ["forest"])


@pytest.mark.parametrize(
    ("search", "privacy", "message"),
    [
        ({"algorithm": "forest", "model": "AG_"}, {"k": 2}, "search.model: forest recodes cells"),
        ({"algorithm": "forest"}, {"k_map": 2}, "search.model: model CG_ takes k alone"),
        ({"algorithm": "optimal", "model": "CG_"}, {"k": 2}, "search.algorithm: model CG_ recodes cells"),
        ({"model": "CG_"}, {"k": 2, "suppression": {"limit": 1}}, "suppression.limit: model CG_ suppresses no rows"),
        ({"model": "AG_"}, {"k": 2, "suppression": {"limit": "1%"}}, "suppression.limit: model AG_ suppresses no rows"),
        ({"model": "_CS"}, {"l_diversity": [{"column": "s", "l": 2}]}, "search.model: model _CS takes k alone"),
        ({"model": "_CS", "algorithm": "matching"}, {"k": 4}, "search.algorithm: matching is for k = 2 and k = 3"),
        ({"algorithm": "fitting"}, {"k": 2}, "search.algorithm: fitting makes rows that fit, not equal ones"),
        ({"model": "CS"}, {"k": 2}, "search.model"),
        ({"model": ["CG_"]}, {"k": 2}, "search.model"),
    ],
)
def test_what_a_model_refuses(search: dict[str, Any], privacy: dict[str, Any], message: str) -> None:
    columns = {"x": {"role": "quasi_identifier"}, "s": {"role": "sensitive"}}
    given_ = {"source": "a", "target": "b", "columns": columns, "privacy": privacy, "search": search}
    with pytest.raises(SpecError) as refusal:
        spec_from_dict(given_)
    assert message in str(refusal.value)
