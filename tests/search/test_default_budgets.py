"""Searches and statements end by default, and say which key lifts the bound; searches look at the clock as they go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.engines.base import Session
from sqlanon.engines.sqlalchemy.base import SQLAlchemyBase
from sqlanon.engines.sqlalchemy.engine import SQLAlchemyEngine
from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.search.base import Budget, BudgetSpent
from sqlanon.search.schemes import exact, heuristics
from sqlanon.search.schemes.domain import LeafDomain
from sqlanon.search.schemes.families import SCHEMES, EnumerationTree
from sqlanon.search.schemes.problem import Clock, CostInterval, CostSide, Measured, Space, Techniques
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.spec.keys import STATEMENT_SECONDS
from sqlanon.spec.load import json_schema
from sqlanon.spec.search import SEARCH_SECONDS
from tests.kit.database import Database, changed
from tests.kit.fake_schemes import FakeEvaluator

BASE: dict[str, Any] = {
    "source": "patients.csv",
    "target": "released.csv",
    "columns": {"zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}}},
    "privacy": {"k": 2},
}


def spec_of(**parts: Any) -> Spec:
    return spec_from_dict({**BASE, **parts})


# -- the spec ----------------------------------------------------------------------------------------------------------


def test_there_are_bounds_by_default_that_none_lifts() -> None:
    usual = spec_of()
    assert (usual.search.budget.most_seconds, usual.limits.most_seconds) == (SEARCH_SECONDS, STATEMENT_SECONDS)
    lifted = spec_of(search={"budget": {"seconds": "none"}}, limits={"statement_seconds": "none"})
    assert (lifted.search.budget.most_seconds, lifted.limits.most_seconds) == (None, None)
    own = spec_of(search={"budget": {"nodes": 9, "seconds": 5}}, limits={"statement_seconds": 7})
    assert (own.search.budget.most_seconds, own.limits.most_seconds) == (5, 7)


def test_a_bound_by_default_is_not_in_the_hash() -> None:
    """Lock files that were written before there was one stay good, also those of specs that name the same seconds."""
    assert "search" not in spec_of().model_dump(exclude_defaults=True)
    written = spec_of(search={"budget": {"seconds": SEARCH_SECONDS}})
    assert written.model_dump(mode="json", exclude_defaults=True)["search"] == {"budget": {"seconds": SEARCH_SECONDS}}
    assert spec_of(limits={"statement_seconds": "none"}).hash() == spec_of().hash()


def test_an_algorithm_that_honours_no_budget_needs_none() -> None:
    assert spec_of(search={"algorithm": "mondrian"}).search.budget.seconds is None


def test_editors_know_the_word() -> None:
    for name, key in (("Budget", "seconds"), ("Limits", "statement_seconds")):
        assert {"const": "none"} in json_schema()["$defs"][name]["properties"][key]["anyOf"]


# -- statements --------------------------------------------------------------------------------------------------------


def test_a_run_tells_its_engine(duckdb_url: str) -> None:
    Database(duckdb_url).create("patients", {"zip": "text"}, [("94138",)] * 4)
    sessions: list[Session] = []

    def opened(url: str, session: Session, folder: Path) -> Any:
        sessions.append(session)
        return Options().open(url, session, folder)

    values = {**BASE, "connection": duckdb_url, "source": "patients", "target": "released"}
    pipeline.plan(changed(values), Options(open=opened))
    pipeline.plan(changed({**values, "limits": {"statement_seconds": 5}}), Options(open=opened))
    found = {(session.statement_seconds, session.limit_asked) for session in sessions}
    assert found == {(STATEMENT_SECONDS, False), (5.0, True)}


def test_a_driver_that_cannot_stop_refuses_only_what_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SQLAlchemyBase, "_can_stop", lambda _: False)
    url = f"sqlite:///{tmp_path}/s.sqlite"
    engine = SQLAlchemyEngine(Session(statement_seconds=5.0, limit_asked=False), url, tmp_path)
    assert engine.session.statement_seconds is None
    engine.close()
    with pytest.raises(UsageError, match=r"limits\.statement_seconds: the driver .* cannot stop a statement"):
        SQLAlchemyEngine(Session(statement_seconds=5.0), url, tmp_path)


# -- searches over schemes ---------------------------------------------------------------------------------------------


class Ticking(FakeEvaluator):
    """Looks at the clock between statements of four candidates, as the real one does; each takes a second."""

    now = 0.0

    def measure(self, intervals: Sequence[CostInterval], own: CostSide) -> list[Measured]:
        found: list[Measured] = []
        for start in range(0, len(intervals), 4):
            if start:
                self.pause()
            Ticking.now += 1.0
            found += super().measure(intervals[start : start + 4], own)
        return found


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Ticking:
    """Many combinations of two columns with 12 leaves each, and a clock that only statements move."""
    Ticking.now = 0.0
    counts = {pair: 1 + (pair[0] * 7 + pair[1]) % 5 for pair in product(range(12), repeat=2)}
    monkeypatch.setattr(Clock.__init__, "__defaults__", (lambda: Ticking.now,))
    return Ticking(counts, [12, 12], 5, 10, "dm")


def space_of(name: str) -> Space:
    halves = tuple(leaf // 3 for leaf in range(12))
    return Space(tuple(EnumerationTree(SCHEMES[name], LeafDomain.of(12, [halves])) for _ in range(2)))


@pytest.mark.parametrize("scheme", ["bhs", "ghs", "gops", "gsps", "ops", "sps"])
@pytest.mark.parametrize("seeding", [True, False])
def test_exact_searches_end_in_time(ticking: Ticking, scheme: str, seeding: bool) -> None:
    techniques = Techniques(seeding=seeding, pivot=False)
    found = exact.search(space_of(scheme), ticking, "bottom_up", techniques, Budget(seconds=10))
    # The statement under way is waited for, and one more may be needed for an answer.
    assert Ticking.now <= 12
    assert found.suppressed <= ticking.limit
    assert scheme == "bhs" or not found.proven
    assert found.gap >= 0


@pytest.mark.parametrize("search", [heuristics.specialize, heuristics.generalize, heuristics.evolve, heuristics.anneal])
def test_heuristics_end_in_time(ticking: Ticking, search: Any) -> None:
    found = search(space_of("ghs"), ticking, Budget(seconds=3))
    assert Ticking.now <= 4
    assert found.suppressed <= ticking.limit


def test_the_children_of_one_node_are_made_within_the_budget(ticking: Ticking) -> None:
    """Any sets of 40 leaves are more than could ever be listed."""
    tree = EnumerationTree(SCHEMES["sps"], LeafDomain.of(40))
    seen = 0

    def pause() -> None:
        nonlocal seen
        seen += 1
        if seen > 1000:
            raise BudgetSpent

    with pytest.raises(BudgetSpent):
        tree.following((0,) * 40, upwards=False, pause=pause)


# -- what is said at the end -------------------------------------------------------------------------------------------


def test_a_search_without_an_answer_names_the_key(ticking: Ticking) -> None:
    ticking.limit = -1
    with pytest.raises(InfeasibleError, match=r"search\.budget, which allows more \(seconds: none lifts it\)"):
        exact.search(space_of("sps"), ticking, "bottom_up", Techniques(pivot=False), Budget(seconds=2))
