"""What-if grids and remembered verdicts: answers as from single plans, with nothing asked of the database twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlanon import pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.metrics.base import Verdict
from sqlanon.planning.frontier import frontier
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.search.base import SearchResult
from sqlanon.source.run import Options
from sqlanon.spec import Limit, Spec
from tests.kit.database import Database, case_spec, create_case
from tests.kit.fake_evaluator import k_anonymous, run
from tests.kit.papers import Case, load_case
from tests.kit.search_tables import C1, S2, S3

TABLES = {"s2": S2, "s3": S3, "c1": C1}
KS = (1, 2, 3, 5, 20)
LIMITS = ("0", "1", "20%", "100%")
"""Samarati 2001, section 7: race identifying, the others more identifying."""


def on_engine(engine_url: str, name: str) -> tuple[Database, Case]:
    case = load_case(name)
    database = Database(engine_url)
    create_case(database, case)
    return database, case


def losses_by_what_occurs(case: Case) -> Case:
    """The same where losses of dates are counted as Python does here: by the values that occur."""
    columns = {
        name: {**entry, "domain": "occurring"} if "date" in entry.get("hierarchy", {}) else entry
        for name, entry in case.spec["columns"].items()
    }
    return replace(case, spec={**case.spec, "columns": columns})


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        *(("s2", algorithm) for algorithm in ("optimal", "samarati", "incognito", "minimal", "exhaustive", "datafly")),
        ("s3", "optimal"),
        ("c1", "samarati"),
    ],
)
@pytest.mark.one_engine
def test_every_cell_is_the_answer_of_a_single_plan(engine_url: str, name: str, algorithm: str) -> None:
    """Every cell is what the algorithm finds where Python counts; one of them also what a whole plan finds."""
    _, case = on_engine(engine_url, name)
    case = losses_by_what_occurs(case)
    grid = frontier(case_spec(case, engine_url, 2, 0, algorithm=algorithm), KS, [Limit.parse(text) for text in LIMITS])
    assert len(grid.cells) == len(KS) * len(LIMITS)
    answered: list[tuple[int, int, SearchResult]] = []
    for cell in grid.cells:
        limit, k = cell.limit.rows(len(case.rows)), cell.k
        assert k is not None
        if len(case.rows) < k or not case.acceptable(k, limit):
            assert cell.found is None
            continue
        assert cell.found is not None
        chosen = cell.found.chosen
        assert chosen.suppressed == case.outliers(k, chosen.node) <= limit
        alone = run(algorithm, k_anonymous(TABLES[name], k, limit))
        assert (alone.chosen.node, alone.chosen.classes) == (chosen.node, chosen.classes)
        assert alone.score == pytest.approx(cell.found.score)
        answered.append((k, limit, cell.found))
    k, limit, found = answered[len(answered) // 2]
    planned = pipeline.plan(case_spec(case, engine_url, k, limit, algorithm=algorithm))
    assert planned.chosen.node == found.chosen.node
    assert planned.search.score == pytest.approx(found.score)


@pytest.mark.no_cover
def test_cells_share_what_the_database_said(duckdb_url: str) -> None:
    _, case = on_engine(duckdb_url, "c1")
    spec = case_spec(case, duckdb_url, 2, 0, algorithm="incognito")
    limits = [Limit.parse(text) for text in LIMITS[:2]]
    alone = [frontier(spec, [k], [limit]).checks for k in KS[1:4] for limit in limits]
    together = frontier(spec, KS[1:4], limits).checks
    assert together <= grid_size(case)
    assert together < sum(alone) / 2


def grid_size(case: Case) -> int:
    return len(list(case.vectors()))


def test_the_grid_as_plain_data(duckdb_url: str) -> None:
    _, case = on_engine(duckdb_url, "s2")
    content = frontier(case_spec(case, duckdb_url, 2, 0), [2, 9], [Limit.parse("0"), Limit.parse("25%")]).to_dict()
    first, second, third, _ = content["grid"]
    assert (first["k"], first["limit"], first["limit_rows"], first["feasible"]) == (2, "0", 0, True)
    assert first["levels"] == {"race": 1, "zip": 1}
    assert second["limit_rows"] == 2
    why_not = "the source has 8 rows, fewer than k = 9"
    assert third == {"k": 9, "limit": "0", "limit_rows": 0, "feasible": False, "reason": why_not}
    assert why_not in frontier(case_spec(case, duckdb_url, 2, 0), [9], [Limit.parse("0")])._repr_html_()


def test_a_budget_that_was_spent_does_not_pass_for_infeasible(duckdb_url: str) -> None:
    _, case = on_engine(duckdb_url, "s2")
    spec = case_spec(case, duckdb_url, 2, 0, algorithm="datafly", budget={"nodes": 1})
    [cell] = frontier(spec, [2], [Limit.parse("0")]).cells
    assert cell.found is None
    assert cell.why_not == "the budget was spent before an acceptable generalization was found"


def test_grids_that_cannot_be_asked_for(duckdb_url: str) -> None:
    _, case = on_engine(duckdb_url, "s2")
    with pytest.raises(UsageError, match="at least one limit"):
        frontier(case_spec(case, duckdb_url, 2, 0), [], [Limit.parse("0")])
    with pytest.raises(UsageError, match="matrix"):
        frontier(case_spec(case, duckdb_url, 2, 0, satisfies="matrix"), [2], [Limit.parse("0")])


# -- a second plan on the same data ------------------------------------------------------------------------------------


def planned(spec: Spec, known: Lock | None = None) -> tuple[PlanResult, list[str]]:
    """A plan, and the steps that it took."""
    steps: list[str] = []

    def hook(event: TraceEvent) -> None:
        steps.append(event.step)

    return pipeline.plan(spec, Options(hooks=(hook,)), known), steps


def lock_of(spec: Spec, plan: PlanResult, path: Path) -> Lock:
    hierarchies = {name: dict(known) for name, known in plan.hierarchies.items()}
    requirement = dict(plan.requirement)
    Lock(
        "spec.yaml", spec.hash(), plan.levels, hierarchies, requirement, plan.figures(), plan.fingerprint, plan.verdicts
    ).write(path)
    return Lock.read(path)


@pytest.mark.parametrize("metric", ["loss", "dm", "entropy"])
def test_planning_again_asks_nothing(engine_url: str, tmp_path: Path, metric: str) -> None:
    _, case = on_engine(engine_url, "c1")
    spec = case_spec(case, engine_url, 3, 2, algorithm="optimal", metric=metric)
    first, _ = planned(spec)
    again, steps = planned(spec, lock_of(spec, first, tmp_path / "spec.lock.json"))
    assert first.search.checks > 0
    assert again.search.checks == 0
    assert not {"evaluate nodes", "measure nodes"} & set(steps)
    assert (again.chosen, again.search.score, again.figures()) == (first.chosen, first.search.score, first.figures())


@pytest.mark.one_engine
def test_what_was_said_of_other_data_does_not_count(engine_url: str, tmp_path: Path) -> None:
    database, case = on_engine(engine_url, "c1")
    spec = case_spec(case, engine_url, 3, 2, algorithm="optimal")
    first, _ = planned(spec)
    lock = lock_of(spec, first, tmp_path / "spec.lock.json")
    database.run("DELETE FROM source_table WHERE zip = '22045'")
    changed, _ = planned(spec, lock)
    assert changed.fingerprint != first.fingerprint
    assert changed.search.checks > 0
    assert changed.chosen == planned(spec)[0].chosen
    other = case_spec(case, engine_url, 2, 2, algorithm="optimal")
    assert planned(other, lock)[0].search.checks > 0


def test_verdicts_that_lie_never_reach_a_release(duckdb_url: str, tmp_path: Path) -> None:
    database, case = on_engine(duckdb_url, "c1")
    spec = case_spec(case, duckdb_url, 2, 0, algorithm="optimal")
    lock = lock_of(spec, planned(spec)[0], tmp_path / "spec.lock.json")
    bottom = (0,) * len(case.heights)
    lying = replace(lock, verdicts=(*lock.verdicts, Verdict(bottom, 0, len(case.rows))))
    assert planned(spec, lying)[0].chosen.node == bottom
    with pytest.raises(InfeasibleError, match="would suppress"):
        pipeline.run(spec, known=lying)
    assert database.run("SELECT 1 FROM information_schema.tables WHERE table_name = 'release_table'") == []


@pytest.mark.parametrize("metric", ["aecs", "dm", "loss"])
def test_what_the_database_cannot_have_said_is_asked_anew(duckdb_url: str, tmp_path: Path, metric: str) -> None:
    _, case = on_engine(duckdb_url, "c1")
    spec = case_spec(case, duckdb_url, 3, 2, algorithm="optimal", metric=metric)
    first, _ = planned(spec)
    lock = lock_of(spec, first, tmp_path / "spec.lock.json")
    node, figures = first.chosen.node, first.chosen.figures
    impossible = (
        Verdict((0, 0), 0, 1),
        Verdict((9, *node[1:]), 0, 1),
        Verdict((-1, *node[1:]), 0, 1),
        Verdict(node, -1, 1, figures),
        Verdict(node, 0, 0, figures),
        Verdict(node, 12, 1, figures),
        Verdict(node, 0, 5, dict.fromkeys(figures, float("nan")) or {"any": float("nan")}),
    )
    again, _ = planned(spec, replace(lock, verdicts=impossible))
    assert (again.chosen, again.search.score) == (first.chosen, first.search.score)


def test_engines_agree_on_the_fingerprint(duckdb_url: str, postgres_url: str) -> None:
    prints = set()
    for url in (duckdb_url, postgres_url):
        _, case = on_engine(url, "c1")
        prints.add(planned(case_spec(case, url, 3, 2))[0].fingerprint)
    assert len(prints) == 1
