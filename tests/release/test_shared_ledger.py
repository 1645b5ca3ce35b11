"""One ledger for all releases of a source: recipients, files, other recoders; and a plan that knows it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from sqlanon import pipeline
from sqlanon.api import recipients
from sqlanon.errors import RequirementError, SpecError, UsageError
from sqlanon.planning import ledgers
from sqlanon.release import publication
from sqlanon.release.lock import Lock
from sqlanon.spec import spec_from_dict
from tests.kit.commands import CommandLine
from tests.kit.database import Database
from tests.kit.series import SECRET, VARIABLE, Row, Series

KEPT = {"key": "id", "ledger": "kept", "secret": f"${{{VARIABLE}}}"}


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


def people(*numbers: int, a: str = "A1", s: str = "flu") -> dict[str, Row]:
    return {f"p{number}": (a, s) for number in numbers}


def for_recipients(series: Series, **press: Any) -> dict[str, Any]:
    """Values of a spec whose two recipients get the same people, one of them coarser."""
    values = yaml.safe_load(series.spec().model_dump_json(exclude_defaults=True, exclude={"connection", "target"}))
    values.pop("target")
    coarse = {"a": {**values["columns"]["a"], "levels": {"min": 1, "max": 1}}}
    both = {"ours": {"target": "released"}, "press": {"target": "coarse", "columns": coarse, **press}}
    return {**values, "connection": series.url, "history": KEPT, "recipients": both}


def sizes(database: Database) -> Counter[int]:
    """The sizes of all tracks, forgotten people left aside, read by SQL of the test."""
    return Counter(n for (n,) in database.run("SELECT count(*) FROM kept GROUP BY track"))


@pytest.mark.one_engine
def test_recipients_share_tracks(engine_url: str) -> None:
    """Somebody who has both tables knows a person's class in each: groups of both satisfy."""
    series = Series(engine_url)
    spec = spec_from_dict(for_recipients(series))
    series.source({**people(*range(1, 7)), **people(7, 8, a="A2")})
    found = recipients.run(spec)
    # A* holds eight; the two of A2 are in no other group of three, so they wait in both tables.
    first, second = (found.results[name].publication.history for name in ("ours", "press"))
    assert first is not None
    assert second is not None
    assert (first.release, second.release, second.deferred, second.smallest) == (1, 2, 2, 6)
    assert series.database.counted("coarse", "a") == Counter({("A*",): 6})
    series.source({**people(*range(2, 7)), **people(7, 8, 9, a="A2")})
    plans = {name: result.plan for name, result in found.results.items()}
    known = {name: Lock.of(spec.for_recipient(name), plan, "", name) for name, plan in plans.items() if plan}
    recipients.run(spec, known=known)
    assert min(sizes(series.database)) >= 3
    assert not ledgers.verify(spec).problems
    series.database.run("DELETE FROM coarse")
    assert ledgers.verify(spec).problems == ("coarse has 0 rows, the ledger knows of 6 people in it",)


def test_recipients_of_one_ledger_have_one_requirement(duckdb_url: str) -> None:
    values = for_recipients(Series(duckdb_url), privacy={"k": 2})
    with pytest.raises(
        SpecError, match=r"recipients\.press\.privacy: with a ledger all recipients have one requirement"
    ):
        spec_from_dict(values)
    spec_from_dict(for_recipients(Series(duckdb_url), privacy={"suppression": {"limit": "5%"}}))
    view = for_recipients(Series(duckdb_url), target={"view": "seen"})
    with pytest.raises(SpecError, match="with a ledger it is a table or a file"):
        spec_from_dict(view)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_and_its_ledger(duckdb_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """The ledger is written first: a file that cannot be written leaves it ahead, which is safe, and the next run goes
    on."""
    target = tmp_path / f"released.{ending}"
    series = Series(duckdb_url, more={"target": str(target)})
    series.source(people(*range(1, 7)))
    pipeline.run(series.spec())
    assert series.database.counted(f"'{target}'", "a") == Counter({("A1",): 6})
    series.source(people(*range(2, 7)))
    target.rename(tmp_path / "away")
    target.mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        pipeline.run(series.spec())
    target.rmdir()
    (tmp_path / "away").rename(target)
    with monkeypatch.context() as patch:
        patch.setattr(publication, "write_audited", _fail)
        with pytest.raises(RequirementError, match="the disk is full"):
            pipeline.run(series.spec())
    assert series.database.counted(f"'{target}'", "a") == Counter({("A1",): 6})
    assert ledgers.verify(series.spec()).problems == (f"{target} has 6 rows, the ledger knows of 3 people in it",)
    history = pipeline.run(series.spec()).publication.history
    assert history is not None
    assert history.covered == 2
    assert series.database.counted(f"'{target}'", "a") == Counter({("A1",): 3})
    assert not ledgers.verify(series.spec()).problems


def _fail(*_: object) -> None:
    raise RequirementError("the disk is full")


@pytest.mark.one_engine
def test_a_plan_says_what_a_new_recoding_costs(engine_url: str, tmp_path: Path, sqlanon: CommandLine) -> None:
    """The lock file stays while its recoding holds: generalizing less, once there are more people, moves them all."""
    series = Series(engine_url)
    path, where = tmp_path / "spec.yaml", tmp_path / "spec.lock.json"
    values = yaml.safe_load(series.spec().model_dump_json(exclude_defaults=True, exclude={"connection"}))
    values |= {"connection": engine_url, "history": KEPT, "privacy": {"k": 3}}
    values["columns"]["a"].pop("levels", None)
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    series.source({**people(*range(1, 6)), **people(6, 7, a="A2")})
    assert sqlanon("run", path).code == 0
    series.source({**people(*range(1, 6)), **people(6, 7, 8, a="A2")})
    planned = sqlanon("plan", path, "--json")
    found = planned.json["series"]
    assert (planned.code, planned.json["levels"], found["keeps"]) == (0, {"a": 0}, True)
    # Kept, A* goes on with seven and the newcomer waits; anew, the two of A2 leave with one of A1 and so on.
    assert (found["kept"]["deferred"], found["kept"]["covered"]) == (1, 0)
    assert found["new"]["covered"] >= 2
    assert Lock.read(where).levels == {"a": 1}
    assert "the recoding of the lock file: 1 newcomers wait" in " ".join(sqlanon("plan", path).out.split())
    assert sqlanon("plan", path, "--fresh").code == 0
    assert Lock.read(where).levels == {"a": 0}
    assert len(series.database.rows("kept_releases")) == 1
    assert not series.database.leftovers()


@pytest.mark.one_engine
@pytest.mark.parametrize("algorithm", ["mondrian", "local"])
def test_recoders_of_classes_keep_tracks_too(engine_url: str, algorithm: str) -> None:
    """A track is of the classes that rows show, whatever made them."""
    series = Series(engine_url)
    column = {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 2}}}
    identifier = {"role": "identifier"}
    columns = {"id": identifier, "a": column, "s": {"role": "sensitive"}, "left": identifier}
    spec = series.spec(columns=columns, privacy={"k": 3}, search={"algorithm": algorithm})
    rest = {**people(*range(10, 15), a="A2"), **people(*range(20, 26), a="B1")}
    series.source({**people(*range(1, 7)), **people(15, a="A2"), **rest})
    pipeline.run(spec)
    series.source({**people(*range(2, 8)), **rest})
    found = pipeline.run(spec).publication.history
    assert found is not None
    assert found.covered >= 4
    assert min(sizes(series.database)) >= 3
    assert not ledgers.verify(spec).problems


def test_an_algorithm_without_a_promise_keeps_no_ledger(duckdb_url: str) -> None:
    with pytest.raises((SpecError, UsageError), match="history"):
        Series(duckdb_url, more={"search": {"algorithm": "mu_argus"}}).spec()
