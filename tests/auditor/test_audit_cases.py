"""Audits of the papers' releases, of hostile names and values, and of what cannot be measured as asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sqlanon.auditor import AuditResult, Beside, Request, audit
from sqlanon.auditor.statements import columns as audit_columns
from sqlanon.engines.base import Engine
from sqlanon.errors import EngineError, SourceError, UsageError
from sqlanon.spec import Privacy
from sqlanon.sql.relations import Table
from tests.kit import oracle
from tests.kit.audits import assert_equals_oracle, fill, measured, taxonomy
from tests.kit.papers import adversarial_names, adversarial_values
from tests.kit.tables import at, create, run

QUASI = ("zip", "marital", "sex")
FIGURE_18 = [
    *[("2203*", "been_married", "F", "hypertension")] * 3,
    ("2203*", "never_married", "M", "obesity"),
    ("2203*", "never_married", "M", "HIV"),
    ("2203*", "never_married", "M", "obesity"),
    ("2204*", "been_married", "M", "obesity"),
    *[("2204*", "been_married", "M", "HIV")] * 2,
]
FIGURE_19 = [
    ("2203*", "been_married", "F", "N", 230),
    ("2203*", "been_married", "F", "N", 220),
    ("2203*", "been_married", "F", "N", 275),
    ("2203*", "never_married", "M", "Y", 250),
    ("2203*", "never_married", "M", "Y", 260),
    ("2203*", "never_married", "M", "N", 250),
    ("2204*", "been_married", "M", "N", 285),
    ("2204*", "been_married", "M", "Y", 210),
    ("2204*", "been_married", "M", "N", 190),
]


def release(engine: Engine, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> Table:
    create(engine, ["release"], types, rows)
    return Table(("release",))


def of_release(engine: Engine, table: Table, quasi: Sequence[str], privacy: dict[str, Any], **more: Any) -> AuditResult:
    return audit(engine, table, Request(tuple(quasi), Privacy.model_validate(privacy), **more))


def test_case_c2_homogeneity_and_alpha(engine: Engine) -> None:
    table = release(engine, dict.fromkeys((*QUASI, "disease"), "text"), FIGURE_18)
    privacy = {
        "k": 3,
        "l_diversity": [{"column": "disease", "l": 2}],
        "p_sensitive": [{"column": "disease", "p": 1}],
        "alpha": [{"column": "disease", "value": "HIV", "alpha": "0.4"}],
    }
    result = of_release(engine, table, QUASI, privacy)
    assert (result.k, result.classes) == (3, 3)
    homogeneous, shared = result.violations
    assert homogeneous == (
        "l_diversity disease: 1 of 3 classes have fewer than 2 values (3 of 9 rows at risk; the least is 1)"
    )
    assert shared.startswith("alpha disease: 1 of 3 classes hold the value in a share above 0.4 (3 of 9 rows at risk;")
    content = result.to_dict()
    assert content["alpha"] == {"disease": {"largest": 1.0, "required": [0.666666666667]}}
    assert [entry["satisfied"] for entry in content["requirements"]] == [True, False, False, True]


def test_case_c3_skewness_and_similarity(engine: Engine) -> None:
    types = {**dict.fromkeys((*QUASI, "diabetes"), "text"), "cholesterol": "int"}
    table = release(engine, types, FIGURE_19)
    privacy = {
        "l_diversity": [{"column": "diabetes", "l": 1}, {"column": "cholesterol", "l": 2}],
        "t_closeness": [
            {"column": "diabetes", "t": "0.333333333"},
            {"column": "cholesterol", "t": "0.222222222", "distance": "ordered"},
        ],
    }
    result = of_release(engine, table, QUASI, privacy)
    # 2 of 3 single men against 3 of 9, and none of the women: both a third away, which nine decimals do not reach.
    assert [check.classes_at_risk for check in result.checks if check.model == "t_closeness"] == [2, 1]
    figures = result.to_dict()["t"]
    assert figures["diabetes"]["equal"] == pytest.approx(1 / 3)
    assert figures["cholesterol"]["ordered"] == pytest.approx(14 / 63)
    looser = {"t_closeness": [{"column": "diabetes", "t": "0.333333334"}]}
    assert of_release(engine, table, QUASI, looser).satisfied


# -- hostile names and values ------------------------------------------------------------------------------------------

INTERNAL = ["class", "size", "rows", "value", "members", "code", "total", "person", "number", "k_0", "reference"]


@pytest.mark.representative(6, postgres=3)
@pytest.mark.postgres
@pytest.mark.parametrize("names", [adversarial_names()[start::9] for start in range(9)] + [INTERNAL], ids=ascii)
def test_names(duckdb_url: str, postgres_url: str, names: list[str]) -> None:
    """Every name as quasi-identifier, sensitive column, person and table."""
    rows = [[f"{letter}{column % 2}" for column in range(len(names))] for letter in "aab"]
    quasi, sensitive, person = tuple(names[:-3]), (names[-3], names[-2]), names[-1]
    models: dict[str, Any] = {
        "l_diversity": [{"column": sensitive[0], "l": 2}, {"column": sensitive[0], "l": 2, "kind": "entropy"}],
        "t_closeness": [{"column": sensitive[1], "t": "0.1"}],
        "delta_disclosure": [{"column": sensitive[1], "delta": 1, "kind": "all"}],
        "population": {"source": "x"},
        "k_map": 3,
    }
    answers = []
    for url in (duckdb_url, postgres_url):
        with at(url) as engine:
            table = Table((names[0],))
            create(engine, [names[0]], dict.fromkeys(names, "text"), rows)
            request = Request(quasi, Privacy.model_validate(models))
            named = Request(quasi, Privacy.model_validate(models | {"other_sensitive": "known"}), person)
            beside = Beside(source=table, population=table)
            answers.append([audit(engine, table, asked, beside).to_dict() for asked in (request, named)])
    assert answers[0] == answers[1]
    assert [(found["rows"], found["classes"]) for found in answers[0]] == [(3, 2), (3, 2)]
    assert answers[0][0]["t"][sensitive[1]]["equal"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", ["domain", "reference", "classes", "measured", "audited", "source", "whole"])
def test_tables_named_like_a_step_of_the_statement(engine: Engine, name: str) -> None:
    create(engine, [name], {"q": "text", "s": "text"}, [["a", "x"], ["a", "y"], ["b", "x"]])
    request = Request(("q",), Privacy.model_validate({"k": 1}), sensitive=("s",))
    result = audit(engine, Table((name,)), request, Beside(source=Table((name,))))
    assert (result.rows, result.classes, result.figures[0].distinct) == (3, 2, 1)


def test_values(engine: Engine) -> None:
    """As quasi-identifiers, as sensitive values, as values that a requirement names and as a declared order."""
    values = adversarial_values()
    texts = [value for value in values if value is not None]
    rows = [
        {"q": value, "s": values[(place * step) % len(values)]}
        for place, value in enumerate(values)
        for step in range(3)
    ]
    privacy = Privacy.model_validate(
        {
            "k": 3,
            "alpha": [{"column": "s", "value": text, "alpha": "0.5"} for text in texts],
            "t_closeness": [
                {"column": "s", "t": "0.5", "distance": "ordered", "order": texts},
                {"column": "s", "t": "0.9"},
            ],
            "l_diversity": [{"column": "s", "l": 3}],
        }
    )
    request = Request(("q",), privacy)
    result = measured(engine, fill(engine, "r", rows, {"q": "text", "s": "text"}), request)
    assert_equals_oracle(result, oracle.Table(rows), request)


def test_values_never_leave_the_database(engine: Engine) -> None:
    rows = [{"q": "quasi-secret", "s": "sensitive-secret"}, {"q": "quasi-other", "s": "sensitive-other"}]
    models = {"k": 2, "l_diversity": [{"column": "s", "l": 2}], "t_closeness": [{"column": "s", "t": 0}]}
    table = fill(engine, "r", rows, {"q": "text", "s": "text"})
    result = of_release(engine, table, ["q"], models)
    assert len(result.violations) == 3
    assert "secret" not in repr(result) + str(result.to_dict()) + result._repr_html_()


# -- numbers, dates, and columns of several kinds ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("double precision", ["-Infinity", "-0.0", "0.0", "1.5", "NaN"]),
        ("numeric(10, 2)", ["-1.00", "0.00", "0.5", "10", "9"]),
        ("date", ["1999-12-31", "2000-01-01", "2000-01-01", "2024-02-29", "2020-05-05"]),
        ("boolean", ["true", "false", "true", "true", "false"]),
    ],
)
def test_kinds_of_values_in_order(engine: Engine, kind: str, values: list[str]) -> None:
    """The class of the first two values, and the rest; NULL comes first."""
    rows = [{"q": int(place > 1), "s": value} for place, value in enumerate([*values, None])]
    table = fill(engine, "r", rows, {"q": "int", "s": kind})
    result = of_release(engine, table, ["q"], {"t_closeness": [{"column": "s", "t": 1, "distance": "ordered"}]})
    ranks = {
        "double precision": [1, 2, 2, 3, 4, 0],
        "numeric(10, 2)": [1, 2, 3, 5, 4, 0],
        "date": [1, 2, 2, 4, 3, 0],
        "boolean": [2, 1, 2, 2, 1, 0],
    }[kind]
    ranked = [{"q": row["q"], "s": rank} for row, rank in zip(rows, ranks, strict=True)]
    truth = oracle.Table(ranked).figure(oracle.Asked(oracle.TOrdered(1), ("q",), "s"))
    assert truth is not None
    assert result.figures[0].ordered == pytest.approx(float(truth))
    assert result.figures[0].values == len(set(ranks))


def test_a_reference_of_another_kind_is_compared_by_its_texts(engine: Engine) -> None:
    table = fill(engine, "r", [{"q": 1, "s": 1}, {"q": 1, "s": 2}], {"q": "int", "s": "int"})
    source = fill(engine, "source_table", [{"s": "1"}, {"s": "02"}], {"s": "text"})
    request = Request(("q",), Privacy.model_validate({"k": 1}), sensitive=("s",))
    [figures] = audit(engine, table, request, Beside(source=source)).figures
    assert (figures.values, figures.equal, figures.beta) == (3, 0.5, float("inf"))


def test_values_that_the_reference_lacks_satisfy_no_bound(engine: Engine) -> None:
    table = fill(engine, "r", [{"q": 1, "s": "new"}, {"q": 1, "s": "old"}], {"q": "int", "s": "text"})
    source = fill(engine, "source_table", [{"s": "old"}], {"s": "text"})
    models = {
        "beta_likeness": [{"column": "s", "beta": 1000000}, {"column": "s", "beta": 1000000, "kind": "enhanced"}],
        "delta_disclosure": [{"column": "s", "delta": 1000000}],
        "t_closeness": [{"column": "s", "t": "0.5"}],
    }
    result = audit(engine, table, Request(("q",), Privacy.model_validate(models)), Beside(source=source))
    assert [check.satisfied for check in result.checks] == [True, True, False, False, False]
    assert result.to_dict()["beta"] == {"s": None}
    assert "the greatest is unbounded" in result.violations[0]
    fill(engine, "r", [{"q": 1, "s": "new"}], {"q": "int", "s": "text"})
    alone = audit(engine, table, Request(("q",), Privacy.model_validate(models)), Beside(source=source))
    assert [check.satisfied for check in alone.checks] == [True, False, False, False, False]


def test_products_too_large_for_64_bits(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arithmetic of enormous tables, on a small one."""
    monkeypatch.setattr(audit_columns, "SAFE", 0)
    rows = [{"q": place % 2, "s": value} for place, value in enumerate(["flu", "", "flu", "ulcer", None, "Flu"])]
    table = fill(engine, "r", rows, {"q": "int", "s": "text"})
    models = {"t_closeness": [{"column": "s", "t": "0.4"}, {"column": "s", "t": "0.1", "distance": "hierarchical"}]}
    request = Request(("q",), Privacy.model_validate(models))
    result = measured(engine, table, request, taxonomies={"s": taxonomy(engine)})
    assert_equals_oracle(result, oracle.Table(rows), request)


# -- what cannot be measured -------------------------------------------------------------------------------------------


def test_an_empty_table_satisfies_nothing(engine: Engine) -> None:
    table = fill(engine, "r", [], {"q": "text", "s": "text"})
    models = {"k": 1, "l_diversity": [{"column": "s", "l": 1}], "k_map": 1, "population": {"source": "r"}}
    request = Request(("q",), Privacy.model_validate(models), sensitive=("s",))
    for beside in (Beside(), Beside(source=table, population=table)):
        result = audit(engine, table, request, beside)
        assert not result.satisfied
        assert result.violations == ["the table has no rows"]
        assert (result.k, result.classes, result.figures) == (0, 0, ())


def test_a_reference_or_population_without_rows_is_an_error(engine: Engine) -> None:
    table = fill(engine, "r", [{"q": "a", "s": "x"}], {"q": "text", "s": "text"})
    empty = fill(engine, "nobody", [], {"q": "text", "s": "text"})
    request = Request(("q",), Privacy.model_validate({"k": 1}), sensitive=("s",))
    with pytest.raises(SourceError, match="the reference has no rows"):
        audit(engine, table, request, Beside(source=empty))
    with pytest.raises(SourceError, match="nobody has no rows"):
        audit(engine, table, request, Beside(population=empty))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(("nope",), Privacy(k=1)), "r has no column 'nope'"),
        (Request(("q",), Privacy(k=1), sensitive=("nope",)), "r has no column 'nope'"),
    ],
)
def test_columns_that_are_not_there(engine: Engine, request_: Request, message: str) -> None:
    fill(engine, "r", [{"q": "a", "s": "x"}], {"q": "text", "s": "text"})
    with pytest.raises(SourceError, match=message):
        audit(engine, Table(("r",)), request_)


def test_persons_whose_key_was_not_released_are_noted(engine: Engine) -> None:
    table = fill(engine, "r", [{"q": "a", "s": "x"}] * 2, {"q": "text", "s": "text"})
    result = audit(engine, table, Request(("q",), Privacy(k=2), respondent="patient_id"))
    assert (result.k, result.respondents) == (2, None)
    assert result.notes == ("rows were counted, not persons: the table does not have their key, column 'patient_id'",)


def test_persons_must_be_in_the_reference_too(engine: Engine) -> None:
    table = fill(engine, "r", [{"q": "a", "s": "x", "who": "1"}], {"q": "text", "s": "text", "who": "text"})
    source = fill(engine, "source_table", [{"s": "x", "id": "1"}], {"s": "text", "id": "text"})
    request = Request(("q",), Privacy(k=1), respondent="who", sensitive=("s",))
    with pytest.raises(SourceError, match="source_table has no column 'who': persons cannot be counted in it"):
        audit(engine, table, request, Beside(source=source))
    assert audit(engine, table, request, Beside(source=source, source_respondent="id")).respondents == 1


def test_requirements_that_cannot_be_measured_do_not_hold(engine: Engine) -> None:
    rows = [{"q": "a", "s": "low"}, {"q": "a", "s": "odd"}]
    table = fill(engine, "r", rows, {"q": "text", "s": "text"})
    models = {
        "t_closeness": [
            {"column": "s", "t": 1, "distance": "ordered", "order": ["low", "high"]},
            {"column": "s", "t": 1, "distance": "hierarchical"},
        ],
        "k_map": 1,
        "population": {"source": "people"},
    }
    request = Request(("q",), Privacy.model_validate(models))
    result = audit(engine, table, request)
    assert not result.satisfied
    assert result.violations == [
        "t_closeness s: not measured: 1 value is not in the declared order",
        "t_closeness s: not measured: the hierarchy of the column is not known here",
        "k_map: not measured: the population, generalized like the table, is not known here",
    ]
    labels = fill(engine, "tree", [{"value": "low", "label_1": "*"}], {"value": "text", "label_1": "text"})
    again = audit(engine, table, request, Beside(taxonomies={"s": labels}))
    assert again.violations[1] == "t_closeness s: not measured: 1 value is outside the hierarchy of the column"


def test_texts_have_no_order_of_their_own(engine: Engine) -> None:
    table = fill(engine, "r", [{"q": "a", "s": "x"}], {"q": "text", "s": "text"})
    models = {"t_closeness": [{"column": "s", "t": 1, "distance": "ordered"}]}
    with pytest.raises(UsageError, match="column 's' holds text values, which have no order of their own"):
        of_release(engine, table, ["q"], models)


def test_a_taxonomy_has_labels(engine: Engine) -> None:
    table = fill(engine, "r", [{"q": "a", "s": "x"}], {"q": "text", "s": "text"})
    models = {"t_closeness": [{"column": "s", "t": 1, "distance": "hierarchical"}]}
    request = Request(("q",), Privacy.model_validate(models))
    for columns, missing in ((["label_1"], "value"), (["value"], "label_1")):
        fill(engine, "tree", [], dict.fromkeys(columns, "text"))
        with pytest.raises(SourceError, match=f"tree has no column '{missing}'"):
            audit(engine, table, request, Beside(taxonomies={"s": Table(("tree",))}))


def test_values_that_appear_while_the_table_is_measured(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were not numbered with the others: nothing is said of a table that changed."""
    table = fill(engine, "r", [{"q": "a", "s": "x"}], {"q": "text", "s": "text"})
    question = audit_columns.ColumnStatement.question

    def after_an_insert(statement: audit_columns.ColumnStatement, name: str) -> Any:
        run(engine, "INSERT INTO r VALUES ('a', 'y')")
        return question(statement, name)

    monkeypatch.setattr(audit_columns.ColumnStatement, "question", after_an_insert)
    with pytest.raises(EngineError, match="column 's': the table changed while it was measured"):
        of_release(engine, table, ["q"], {"k": 1}, sensitive=("s",))
