"""Tops that the values make: a mask whose last step leaves one label, and what that means when other values come."""

from __future__ import annotations

from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import HierarchyError, SqlanonError
from sqlanon.release.lock import Lock
from sqlanon.release.lock_diff import diff
from sqlanon.spec import Spec
from tests.kit.database import Database, changed
from tests.kit.scripts import run_script

NAME = "ZIP's code."
ZIPS = ("94138", "94139", "94141", "94142")
ROWS = [(zip_, sex) for zip_ in ZIPS for sex in ("f", "m")] + [(None, "f"), (None, "m")]
ELSEWHERE = ("95001", "f")
OUTSIDE = f"INSERT INTO patients VALUES ('{ELSEWHERE[0]}', '{ELSEWHERE[1]}')"


@pytest.fixture
def database(engine_url: str) -> Database:
    found = Database(engine_url)
    found.create("patients", {NAME: "text", "sex": "text"}, ROWS)
    return found


def spec_of(database: Database, *, top: bool | None = None, **keys: Any) -> Spec:
    """The spec whose only answer shows the top of the ZIP codes."""
    mask = {"length": 5, "steps": [1, 2], **({} if top is None else {"top": top})}
    values: dict[str, Any] = {
        "connection": database.url,
        "source": "patients",
        "target": "released",
        "columns": {
            NAME: {"role": "quasi_identifier", "hierarchy": {"mask": mask}},
            "sex": {"role": "quasi_identifier", "levels": {"max": 0}},
        },
        "privacy": {"k": 3},
        "search": {"algorithm": "samarati"},
        "evidence": {"files": False},
    }
    return changed(values, **keys)


def locked(spec: Spec) -> Lock:
    return Lock.of(spec, pipeline.plan(spec), "spec.yaml")


def shown(database: Database) -> set[str]:
    return {label for (label, _) in database.rows("released")}


@pytest.mark.parametrize(("top", "level", "label"), [(None, 2, "941**"), (False, 2, "941**"), (True, 3, "*")])
def test_everybody_shows_what_all_values_share(database: Database, top: bool | None, level: int, label: str) -> None:
    spec = spec_of(database, top=top)
    assert pipeline.run(spec).levels[NAME] == level
    assert shown(database) == {label}
    audited = pipeline.audit_spec(spec)
    assert audited.satisfied
    [check] = [check for check in audited.policy if NAME in check.name]
    assert check.asked == f"one level from 0 to {level}"


@pytest.mark.one_engine
def test_other_values_make_another_hierarchy_and_the_lock_says_so(database: Database) -> None:
    spec = spec_of(database)
    before = locked(spec)
    assert before.hierarchies[NAME]["top"] == "941**"
    database.run(OUTSIDE)
    with pytest.raises(SqlanonError, match="plan again"):
        pipeline.apply(spec, before)
    after = locked(spec)
    assert "height 2 -> 3, top 941** -> *" in "\n".join(change.line for change in diff(before, after))
    assert pipeline.apply(spec, after).levels[NAME] == 3
    assert shown(database) == {"*"}


def test_a_mask_without_top_refuses_other_values(database: Database) -> None:
    spec = spec_of(database, top=False)
    lock = locked(spec)
    database.run(OUTSIDE)
    for refused in (lambda: pipeline.plan(spec), lambda: pipeline.apply(spec, lock)):
        with pytest.raises(HierarchyError, match="ends in 2 labels, not one; leave out `top: false`"):
            refused()


def test_a_top_that_stands_always_survives_other_values(database: Database) -> None:
    spec = spec_of(database, top=True)
    lock = locked(spec)
    database.run(OUTSIDE)
    assert pipeline.apply(spec, lock).levels[NAME] == 3


def test_levels_max_below_what_would_be_the_star(database: Database) -> None:
    columns = {
        NAME: {
            "role": "quasi_identifier",
            "hierarchy": {"mask": {"steps": [1, 2]}},
            "levels": {"max": 2},
        },
        "sex": {"role": "quasi_identifier", "levels": {"max": 0}},
    }
    spec = spec_of(database, columns=columns)
    assert pipeline.run(spec).levels[NAME] == 2
    assert shown(database) == {"941**"}
    database.run(OUTSIDE)
    with pytest.raises(SqlanonError):
        pipeline.run(spec)


def test_a_script_stops_at_a_value_beside_the_top(database: Database) -> None:
    text = pipeline.script(spec_of(database), None)
    run_script(database, text)
    assert shown(database) == {"941**"}
    database.run("DROP TABLE released", OUTSIDE)
    with pytest.raises(Exception, match="beside the top of its hierarchy"):
        run_script(database, text)


def test_a_view_shows_what_all_values_share_when_it_is_read(database: Database) -> None:
    pipeline.run(spec_of(database, target={"view": "released"}))
    assert shown(database) == {"941**"}
    database.run(OUTSIDE)
    assert shown(database) == {"*"}
    assert len(database.rows("released")) == len(ROWS) + 1


@pytest.mark.one_engine
def test_an_audit_reads_the_hierarchy_with_the_population(database: Database) -> None:
    database.create("everybody", {NAME: "text", "sex": "text"}, [*ROWS, ELSEWHERE, ELSEWHERE])
    privacy = {"population": {"source": "everybody"}, "k_map": 3}
    spec = spec_of(database, privacy=privacy)
    assert pipeline.run(spec).levels[NAME] == 3
    assert shown(database) == {"*"}
    assert pipeline.audit_spec(spec, lock=locked(spec)).satisfied


@pytest.mark.representative(3, postgres=1)
@pytest.mark.parametrize("algorithm", ["mondrian", "local", "ghs", "ops", "tds", "genetic"])
def test_other_recodings_end_in_the_same_label(database: Database, algorithm: str) -> None:
    columns = {NAME: {"role": "quasi_identifier", "hierarchy": {"mask": {"steps": [1, 2]}}}}
    spec = spec_of(
        database, columns={**columns, "sex": {"role": "insensitive"}}, privacy={"k": 9}, search={"algorithm": algorithm}
    )
    pipeline.run(spec)
    assert shown(database) == {"941**"}
    assert pipeline.audit_spec(spec).satisfied
