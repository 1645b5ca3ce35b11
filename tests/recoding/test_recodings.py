"""Recodings that are not full-domain, carried out by the pipeline: published, locked, applied again, refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import expm1, log1p
from pathlib import Path
from typing import Any

import pytest
from sqlglot import parse_one

from sqlanon import pipeline
from sqlanon.api.status import drift
from sqlanon.engines.base import Statement
from sqlanon.errors import InfeasibleError, RequirementError, UsageError
from sqlanon.recoding import Assigned, Cuts, Group
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.base import Recoded, recoded_by, requirement_for
from sqlanon.recoding.registry import RECODERS
from sqlanon.release.lock import Lock
from sqlanon.source.combinations import Combinations, combine
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import DEFAULT, Run, running
from sqlanon.spec import Spec
from sqlanon.sql.relations import Table
from tests.kit.database import Database, changed

TYPES = {"Ma'rital. Select": "text", "age": "integer", "disease": "text"}
ROWS: list[tuple[Any, ...]] = [
    ("married", 30, "flu"),
    ("married", 30, "cold"),
    ("wid\\ow", 31, "flu"),
    ("wid\\ow", 31, "flu"),
    ("single", 31, "cold"),
    ("single", 52, "flu"),
    (None, 52, "flu"),
    ("", 52, "cold"),
]
TREE = {"been_married": ["married", "wid\\ow"], "never_married": ["single", ""]}
SPEC: dict[str, Any] = {
    "source": "people",
    "target": "released",
    "columns": {
        "Ma'rital. Select": {"role": "quasi_identifier", "hierarchy": {"tree": TREE}},
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 50]}}},
        "disease": {"role": "sensitive"},
    },
    "privacy": {"k": 2, "suppression": {"limit": 2}},
    "search": {"algorithm": "datafly"},
}

Recode = Callable[[Run, Base, Sequence[StoredHierarchy]], Recoded]


def table_of(run: Run, name: str, sql: str) -> Table:
    query = parse_one(sql, dialect="duckdb")
    return run.scratch.create(name, name, query)  # type: ignore[arg-type]  # a SELECT is parsed to a query


def by_age(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Two classes, up to age 31 and above; the rows without a marital status are suppressed."""
    requirement_for(run)
    made = combine(run.engine, run.binding, base, stored, run.scratch)
    assigned = table_of(
        run,
        "assignment",
        f"""SELECT "o_0", "o_1", SUM("n") AS "n", CASE WHEN "o_0" = {made.domains[0].null} THEN NULL
            WHEN "o_1" < 2 THEN 1 ELSE 2 END AS "class" FROM {quoted(made.table)} GROUP BY "o_0", "o_1" """,
    )
    labels = table_of(
        run,
        "labels",
        """SELECT 1 AS "class", '*' AS "label_0", '[30-31]' AS "label_1", 4 AS "leaves_0", 2 AS "leaves_1",
           7 AS "rows_0", 5 AS "rows_1" UNION ALL SELECT 2, '{"", single}', '52', 2, 1, 3, 3""",
    )
    return recoded_by(run, Assignment(made, assigned, labels, whole=True), {"cuts": 1})


def halves(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Every combination of several rows is divided: its first row goes to class 1, the others to class 2."""
    made = combine(run.engine, run.binding, base, stored, run.scratch)
    keys = ", ".join(f'"{name}"' for name in (*made.ordinals, *made.coded))
    assigned = table_of(
        run,
        "assignment",
        f"""SELECT {keys}, 1 AS "first_row", 1 AS "last_row", 1 AS "n", 1 AS "class" FROM {quoted(made.table)}
            UNION ALL SELECT {keys}, 2, "n", "n" - 1, 2 FROM {quoted(made.table)} WHERE "n" > 1""",
    )
    labels = table_of(
        run,
        "labels",
        """SELECT 1 AS "class", '*' AS "label_0", '[30-52]' AS "label_1", 5 AS "leaves_0", 3 AS "leaves_1",
           8 AS "rows_0", 8 AS "rows_1" UNION ALL SELECT 2, '*', '*', 5, 3, 8, 8""",
    )
    return recoded_by(run, Assignment(made, assigned, labels, whole=False), {})


def cut(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    made = combine(run.engine, run.binding, base, stored, run.scratch)
    groups = (
        (Group("been_married", ("married", "wid\\ow")), Group('{"", single}', ("single", ""))),
        (Group("[30-52]", ("30", "31", "52")),),
    )
    scores = {"loss": 0.0, "dm": 0.0, "hdm": 0.0, "aecs": 0.0}
    return Recoded(Cuts(run.binding.names, groups), 1, 2, scores, made.fingerprint, made.count)


def quoted(table: Table) -> str:
    return ".".join(f'"{part}"' for part in table.parts)


@pytest.fixture
def database(engine_url: str) -> Database:
    return Database(engine_url)


@pytest.fixture
def spec(database: Database) -> Spec:
    database.create("people", TYPES, ROWS)
    return changed(SPEC, connection=database.url)


def recoding(monkeypatch: pytest.MonkeyPatch, recode: Recode) -> None:
    monkeypatch.setitem(RECODERS, "datafly", recode)


@pytest.mark.one_engine
def test_domains_have_an_order(spec: Spec) -> None:
    """Branches of a listed hierarchy lie together in the order of the list; numbers in their own; NULL last."""
    with running(spec, DEFAULT) as run:
        made = pipeline.prepare_combinations(run)
        listed = [_column(run, made, position) for position in range(2)]
    assert listed == [["married", "wid\\ow", "single", "", None], [30, 31, 52]]
    assert [domain.natural for domain in made.domains] == [False, True]
    assert made.rows == 8


def _column(run: Run, made: Combinations, position: int) -> list[Any]:
    statement = parse_one(f'SELECT "value" FROM {quoted(made.domains[position].table)} ORDER BY "o"')
    return [value for (value,) in run.engine.query(Statement("read", statement))]


def test_classes_are_published(database: Database, spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    recoding(monkeypatch, by_age)
    result = pipeline.run(spec)
    assert database.counted("released") == Counter(
        {
            ("*", "[30-31]", "flu"): 3,
            ("*", "[30-31]", "cold"): 2,
            ('{"", single}', "52", "flu"): 1,
            ('{"", single}', "52", "cold"): 1,
        }
    )
    assert (result.publication.suppressed, result.audit.k, result.levels) == (1, 2, {})
    assert database.leftovers() == []
    figures = result.to_dict()
    assert figures["recoding"]["kind"] == "assigned"
    assert figures["score"]["dm"] == 25 + 4 + 8
    first = (5 * 4 / 5 + 2 * 2 / 5 + 1 - 8 / 5) / (8 - 8 / 5)
    # Ages are whole numbers from 30 to 52: 23 of them.
    second = (5 * 2 / 23 + 2 / 23 + 1 - 8 / 23) / (8 - 8 / 23)
    assert figures["score"]["loss"] == pytest.approx(expm1((log1p(first) + log1p(second)) / 2))
    assert figures["score"]["aecs"] == 8 / 3


@pytest.mark.one_engine
def test_suppressed_rows_may_be_blanked(database: Database, spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    """One suppressed row is fewer than k: it is dropped also in that mode."""
    recoding(monkeypatch, by_age)
    blank = changed(SPEC, connection=database.url, privacy={"k": 2, "suppression": {"limit": 2, "mode": "blank"}})
    assert pipeline.run(blank).publication.blanked == 0
    database.run("INSERT INTO people VALUES (NULL, 52, 'flu')")
    assert pipeline.run(blank).publication.blanked == 2
    assert database.counted("released")["*", "*", "flu"] == 2


@pytest.mark.one_engine
def test_a_combination_may_be_divided(database: Database, spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    recoding(monkeypatch, halves)
    other = changed(SPEC, connection=database.url, privacy={"l_diversity": [{"column": "disease", "l": 1}]})
    pipeline.run(other)
    assert database.counted("released") == Counter(
        {("*", "[30-52]", "flu"): 4, ("*", "[30-52]", "cold"): 3, ("*", "*", "flu"): 1}
    )


def test_what_fails_the_audit_is_not_published(database: Database, spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assignment that breaks the requirement meets the auditor, who knows nothing of it."""
    recoding(monkeypatch, halves)
    with pytest.raises(RequirementError, match="failed its audit"):
        pipeline.run(changed(SPEC, connection=database.url, privacy={"k": 5, "suppression": {"limit": 2}}))
    assert database.run("SELECT 1 FROM information_schema.tables WHERE table_name = 'released'") == []


def lock_of(spec: Spec, tmp_path: Path) -> Lock:
    Lock.of(spec, pipeline.plan(spec), "spec.yaml").write(tmp_path / "spec.lock.json")
    return Lock.read(tmp_path / "spec.lock.json")


@pytest.mark.one_engine
def test_a_lock_is_applied_while_the_source_is_the_same(
    database: Database, spec: Spec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recoding(monkeypatch, by_age)
    lock = lock_of(spec, tmp_path)
    assert isinstance(lock.flexible, Assigned)
    assert not drift(spec, lock).changed
    pipeline.apply(spec, lock)
    assert sum(database.counted("released").values()) == 7
    database.run("INSERT INTO people VALUES ('single', 30, 'flu')")
    assert drift(spec, lock).changed
    with pytest.raises(UsageError, match="the source has changed"):
        pipeline.apply(spec, lock)
    assert sum(database.counted("released").values()) == 7
    again = pipeline.run(spec, known=lock, reuse=True)
    assert again.reused is False
    assert "the source has changed" in str(again.reason)


@pytest.mark.one_engine
def test_cuts_are_carried_out(database: Database, spec: Spec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recoding(monkeypatch, cut)
    lock = lock_of(spec, tmp_path)
    assert isinstance(lock.flexible, Cuts)
    pipeline.apply(spec, lock)
    expected = Counter(
        {
            ("been_married", "[30-52]", "flu"): 3,
            ("been_married", "[30-52]", "cold"): 1,
            ('{"", single}', "[30-52]", "flu"): 1,
            ('{"", single}', "[30-52]", "cold"): 2,
        }
    )
    assert database.counted("released") == expected
    database.run("DROP TABLE released")
    assert pipeline.run(spec).publication.suppressed == 1
    assert database.counted("released") == expected
    script = pipeline.script(spec, lock)
    assert "been_married" in script


def test_what_only_full_domain_releases_do_is_refused(
    database: Database, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    recoding(monkeypatch, by_age)
    with pytest.raises(UsageError, match="target"):
        pipeline.plan(changed(SPEC, connection=database.url, target={"view": "released"}))


def test_a_source_that_changes_meanwhile_is_refused(
    database: Database, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
        found = by_age(run, base, stored)
        run.engine.execute(Statement("insert", parse_one("INSERT INTO \"people\" VALUES ('single', 30, 'flu')")))
        return found

    recoding(monkeypatch, meanwhile)
    with pytest.raises(InfeasibleError, match="the source changed"):
        pipeline.run(spec)
