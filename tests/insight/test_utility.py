"""What a release keeps: the same scores as the search's metrics, associations and a stump against brute force."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon import insight, pipeline
from sqlanon.engines.base import Engine
from sqlanon.errors import UsageError
from sqlanon.insight.usefulness import associations, classify, count_tables
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec
from tests.kit import attacks, risks
from tests.kit.audits import FEW, fill
from tests.kit.database import Database, case_spec
from tests.kit.database import create_case as load_table
from tests.kit.papers import load_case

METRICS = {"loss": "loss", "entropy": "entropy", "entropy*": "entropy_star", "dm": "dm", "aecs": "aecs"}
METRICS |= {"precision": "precision", "height": "height"}


@pytest.mark.one_engine
@pytest.mark.parametrize(
    ("name", "k", "limit"),
    [("c1", 3, 2), *(pytest.param(*case, marks=pytest.mark.soak) for case in (("s3", 2, 1), ("s2", 2, 0)))],
)
def test_the_scores_are_those_of_the_search(engine_url: str, name: str, k: int, limit: int) -> None:
    """Measured on the published table alone, without knowing how it was made."""
    case = load_case(name)
    load_table(Database(engine_url), case)
    spec = case_spec(case, engine_url, k, limit, algorithm="exhaustive", metric="loss")
    chosen = pipeline.run(spec).levels
    found = insight.utility(spec)
    fixed = {
        column: {**case.spec["columns"][column], "levels": {"min": level, "max": level}}
        for column, level in chosen.items()
    }
    for metric, figure in METRICS.items():
        again = case_spec(case, engine_url, k, limit, algorithm="exhaustive", metric=metric)
        again = again.model_copy(update={"columns": {**again.columns, **_columns(case, fixed, engine_url)}})
        plan = pipeline.plan(again)
        assert plan.levels == chosen
        assert asdict(found.table)[figure] == pytest.approx(plan.search.score, abs=1e-9), metric
    assert {item.column: item.level for item in found.columns} == chosen
    assert found.table.completeness == 1 - found.table.suppressed / found.table.rows


def _columns(case: Any, fixed: dict[str, Any], url: str) -> dict[str, Any]:
    from sqlanon.spec import spec_from_dict

    values = {**case.spec, "connection": url, "columns": {**case.spec["columns"], **fixed}}
    return dict(spec_from_dict(values, case.directory).columns)


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.sampled_from(["x", "X", "", None]),
            "b": st.sampled_from([1, 2, None]),
            "y": st.sampled_from(["p", "q", "r", None]),
        }
    ),
    min_size=2,
    max_size=20,
)
TYPES = {"a": "text", "b": "int", "y": "text"}


@FEW
@given(rows=ROWS, others=ROWS)
@pytest.mark.one_engine
def test_associations_and_stumps_equal_brute_force(
    shared_engine: Engine, rows: list[risks.Row], others: list[risks.Row]
) -> None:
    tables = [fill(shared_engine, "t", rows, TYPES), fill(shared_engine, "u", others, TYPES)]
    with Scratch(shared_engine, ()) as scratch:
        before, after = count_tables(shared_engine, tables, ["a", "b"], ["y"], scratch)
        for item in associations(shared_engine, before, after):
            expected = (risks.cramers_v(rows, *item.columns), risks.cramers_v(others, *item.columns))
            assert (item.before, item.corrected_before) == pytest.approx(expected[0], abs=1e-6)
            assert (item.after, item.corrected_after) == pytest.approx(expected[1], abs=1e-6)
        found = classify(shared_engine, before, after, ["a", "b"], "y")
    for name in ("a", "b"):
        stump = (risks.leave_one_out(rows, [name], "y"), risks.leave_one_out(others, [name], "y"))
        assert found.stumps[name] == pytest.approx(stump)
    assert found.together_before == pytest.approx(risks.leave_one_out(rows, ["a", "b"], "y"))
    assert found.best[1] == max(pair[0] for pair in found.stumps.values())


@pytest.mark.one_engine
def test_figure_19(engine_url: str) -> None:
    """By hand: cholesterol by sex is as it was; by ZIP the groups of labels are the groups of values they cover."""
    spec = attacks.figure_19(engine_url)
    pipeline.run(spec)
    found = insight.utility(spec)
    means = {item.by: item for item in found.means}
    assert set(means) == {"zip", "marital", "sex"}
    assert all(item.average_difference == pytest.approx(0) for item in means.values())
    assert means["sex"].mean_before == pytest.approx(sum(row[4] for row in attacks.FIGURE_19) / 9)
    [diabetes] = found.classifications
    # Six of nine are N; by the classes all three women, two of three Y, two of three N, each less the row itself.
    assert diabetes.usual_before == pytest.approx(6 / 9)
    assert found.table.suppressed == 0
    by_columns = {item.columns: item for item in found.associations}
    assert by_columns["sex", "diabetes"].before == pytest.approx(by_columns["sex", "diabetes"].after)
    assert found.to_dict()["table"]["kept"] == 9


def test_suppressed_rows_move_the_means(duckdb_url: str) -> None:
    """C1's release without its last row: one of ten patients is gone."""
    spec = attacks.figure_18(duckdb_url)
    pipeline.run(spec)
    found = insight.utility(spec)
    assert (found.table.rows, found.table.kept, found.table.suppressed, found.table.classes) == (10, 9, 1, 3)
    assert found.table.dm == 3 * 9 + 10 * 1
    assert found.table.aecs == 10 / 4
    assert [item.level for item in found.columns] == [1, 1, 0]


def test_blanked_rows_count_as_suppressed(duckdb_url: str) -> None:
    spec = attacks.figure_18(duckdb_url)
    columns = {name: column.model_dump(exclude_unset=True, by_alias=True) for name, column in spec.columns.items()}
    columns["marital"]["hierarchy"] = "suppression"
    privacy: dict[str, Any] = {"suppression": {"limit": 4, "mode": "blank"}}
    blank: Spec = attacks.spec_of(duckdb_url, "patients", {**columns, **_hierarchies()}, k=2, limit=4, **privacy)
    result = pipeline.run(blank)
    found = insight.utility(blank)
    assert result.publication.blanked
    assert found.table.kept == 10 - result.publication.suppressed
    assert found.table.suppressed == result.publication.suppressed


def _hierarchies() -> dict[str, Any]:
    return {name: dict(column) for name, column in attacks.CHAPTER.items()}


def test_labels_that_no_hierarchy_knows_keep_nothing(duckdb_url: str) -> None:
    spec = attacks.figure_18(duckdb_url)
    pipeline.run(spec)
    Database(duckdb_url).run("UPDATE released SET zip = 'nowhere'")
    found = insight.utility(spec)
    [zips] = [item for item in found.columns if item.column == "zip"]
    assert (zips.loss, zips.level, zips.unknown) == (1.0, None, 9)
    assert found.table.entropy is None
    assert "column 'zip': 9 released rows" in found.notes[0]


def test_nothing_published(duckdb_url: str) -> None:
    spec = attacks.figure_18(duckdb_url)
    with pytest.raises(UsageError, match="no release yet at released"):
        insight.utility(spec)
    pipeline.run(spec)
    with pytest.raises(UsageError, match="'zip' is no sensitive column"):
        insight.utility(spec, asked=insight.UtilityOptions("zip"))
