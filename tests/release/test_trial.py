"""Nights in a row with people who leave and join: what the published tables alone tell, with a ledger and without."""

from __future__ import annotations

import pytest

from sqlanon import insight
from sqlanon.insight import SeriesRequest
from tests.kit.series import SECRET
from tests.kit.trial import VARIABLE, Trial


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


@pytest.mark.one_engine
def test_nobody_stands_out_of_a_series(engine_url: str) -> None:
    """Of any two tables, and of all: every group of people who are alike satisfies k and l."""
    trial = Trial(engine_url, people=400, classes=4, seed=1, rate=0.03)
    for _ in range(5):
        trial.publish()
    assert trial.exposed_anywhere() == 0
    assert trial.failing_tracks() == 0
    assert sum(night.covered + night.deferred for night in trial.nights) > 0
    names = [f"night_{place}" for place in range(1, len(trial.nights) + 1)]
    found = insight.series_of_tables(names, engine_url, SeriesRequest(("a",), ("s",), k=5, respondent="pseudonym"))
    assert not found.exposing


@pytest.mark.one_engine
def test_nobody_leaves_with_people_whose_rows_the_source_keeps(engine_url: str) -> None:
    """The same nights with a mark in the place of a deletion: as safe, and only rows of those who left are too many."""
    trial = Trial(engine_url, people=400, classes=4, seed=1, rate=0.03, marked=True)
    for _ in range(5):
        trial.publish()
    assert trial.exposed_anywhere() == 0
    assert trial.failing_tracks() == 0
    assert sum(night.covered for night in trial.nights) == 0
    assert 0 < trial.nights[-1].staying < 5 * 12


def test_without_a_ledger_people_stand_out(duckdb_url: str) -> None:
    """The same nights as they were published before: what is measured above is there to be found."""
    trial = Trial(duckdb_url, people=400, classes=4, seed=1, rate=0.03, ledger=False)
    results = [trial.publish() for _ in range(3)]
    assert trial.exposed_anywhere() > 0
    assert trial.failing_tracks() > 0
    assert [bool(result.warnings) for result in results] == [False, True, True]
    assert "history keeps a series safe" in results[1].warnings[0]
