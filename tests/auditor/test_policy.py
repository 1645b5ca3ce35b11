"""The audit asks the whole policy: columns, labels at allowed levels, suppression; not only the models."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from sqlanon import pipeline
from sqlanon.errors import RequirementError
from sqlanon.recoding import FullDomain
from sqlanon.release import classes
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.sql.relations import Table
from tests.kit.database import Database
from tests.kit.engine import execute, open_at

ZIP = 'z"i p'
"""A hostile name."""

Run = Callable[..., str]


@pytest.fixture(
    params=[
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.postgres),
        "sqlite",
        pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.soak]),
    ]
)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Runs statements in a database of its own with the database's own client; the URL."""

    def of_duckdb(*statements: str) -> str:
        with duckdb.connect(str(tmp_path / "base.duckdb")) as connection:
            for statement in statements:
                connection.execute(statement)
        return f"duckdb:///{tmp_path / 'base.duckdb'}"

    def of_postgres(*statements: str) -> str:
        url = str(request.getfixturevalue("postgres_url"))
        Database(url).run(*statements)
        return url

    def of_sqlite(*statements: str) -> str:
        connection = sqlite3.connect(tmp_path / "base.sqlite")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        return f"sqlite:///{tmp_path / 'base.sqlite'}"

    def of_spark(*statements: str) -> str:
        url = str(request.getfixturevalue("spark_url"))
        engine = open_at(url)
        quoted = (statement.replace('"z""i p"', '`z"i p`').replace("varchar(9)", "string") for statement in statements)
        execute(engine, *quoted)
        engine.close()
        return url

    return {"duckdb": of_duckdb, "postgres": of_postgres, "sqlite": of_sqlite, "spark": of_spark}[request.param]


EVERYWHERE = pytest.mark.parametrize(
    "make",
    [
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.postgres),
        "sqlite",
        pytest.param("spark", marks=pytest.mark.spark),
    ],
    indirect=True,
)
BUT_SPARK = pytest.mark.parametrize(
    "make",
    [
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.postgres),
        "sqlite",
        pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.soak]),
    ],
    indirect=True,
)
"""A statement of Spark takes long: what another test shows there of the same question is left to `make soak`."""

COLUMN = '"z""i p"'
PEOPLE = (
    f"create table people ({COLUMN} varchar(9), age integer, name varchar(9))",
    "insert into people values " + ", ".join(f"('9413{i % 2}', {20 + i % 4}, 'n{i}')" for i in range(16)),
)


def spec_of(url: str, target: Any = "out", levels: dict[str, int] | None = None, **keys: Any) -> Spec:
    zips = {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2, 5]}}}
    values = {
        "connection": url,
        "source": "people",
        "target": target,
        "columns": {
            ZIP: {**zips, **({} if levels is None else {"levels": levels})},
            "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10], "min": 0, "max": 100}}},
            "name": {"role": "identifier"},
        },
        "privacy": {"k": 2},
        **keys,
    }
    return spec_from_dict(values)


def violations(spec: Spec) -> list[str]:
    found = pipeline.audit_spec(spec)
    assert found.satisfied == (not found.violations)
    assert [check["satisfied"] for check in found.to_dict()["policy"]] == [check.satisfied for check in found.policy]
    return found.violations


class TestPublishedTables:
    """A table that somebody else made under the name of the target."""

    def test_values_below_the_least_level_fail_however_large_their_classes(self, make: Run) -> None:
        url = make(*PEOPLE, f"create table out as select {COLUMN}, '[20, 30)' as age from people")
        [found] = violations(spec_of(url, levels={"min": 2}))
        assert found == f"column '{ZIP}': 16 of 16 rows show what is no label of its hierarchy, one level from 2 to 3"
        assert violations(spec_of(url)) == []

    @BUT_SPARK
    def test_an_identifier_among_the_columns_fails(self, make: Run) -> None:
        url = make(*PEOPLE, f"create table out as select {COLUMN}, '[20, 30)' as age, 'x' as name from people")
        [found] = violations(spec_of(url))
        assert found == "column 'name' is withheld by the spec and stands in the table"

    def test_the_respondent_among_the_columns_fails(self, make: Run) -> None:
        url = make(*PEOPLE, f"create table out as select {COLUMN}, '[20, 30)' as age, name from people")
        assert "column 'name' is withheld by the spec and stands in the table" in violations(
            spec_of(url, respondent="name", privacy={"k": 2})
        )

    def test_other_columns_fail(self, make: Run) -> None:
        url = make(*PEOPLE, f"create table out as select {COLUMN}, '[20, 30)' as age, 1 as more from people")
        assert violations(spec_of(url)) == ["the table has a column 'more' that the spec does not release"]

    def test_each_label_is_held_to_the_allowed_levels(self, make: Run) -> None:
        """Labels of two levels pass where both may be shown: the audit knows no node that they belong to."""
        mixed = f"case when age < 22 then {COLUMN} else '9413*' end"
        url = make(*PEOPLE, f"create table out as select {mixed} as {COLUMN}, '[20, 30)' as age from people")
        assert violations(spec_of(url)) == []
        [found] = violations(spec_of(url, levels={"min": 1}))
        assert found.startswith(f"column '{ZIP}': 8 of 16 rows show what is no label of its hierarchy")

    def test_labels_of_no_hierarchy_fail(self, make: Run) -> None:
        url = make(*PEOPLE, f"create table out as select {COLUMN}, '[21, 31)' as age from people")
        [found] = violations(spec_of(url))
        assert found.startswith("column 'age': 16 of 16 rows")

    def test_rows_beyond_the_limit_fail(self, make: Run) -> None:
        rows = f"select {COLUMN}, '[20, 30)' as age from people"
        url = make(*PEOPLE, f"create table out as {rows} where age < 23")
        assert violations(spec_of(url)) == ["4 of 16 rows of the source are suppressed, at most 0 may be"]
        kept = {"k": 2, "suppression": {"limit": "25%"}}
        assert violations(spec_of(url, privacy=kept)) == []

    def test_rows_that_the_source_lacks_fail(self, make: Run) -> None:
        rows = f"select {COLUMN}, '[20, 30)' as age from people"
        url = make(*PEOPLE, f"create table out as {rows} union all {rows} where age < 23")
        assert violations(spec_of(url)) == ["the table has 12 rows more than its source"]

    def test_what_is_published_by_run_holds(self, make: Run) -> None:
        url = make(*PEOPLE)
        for levels in (None, {"min": 1}, {"min": 2, "max": 2}):
            spec = spec_of(url, levels=levels)
            checks = pipeline.run(spec).publication.audit.policy
            assert [check.name for check in checks] == ["columns", f"labels of {ZIP}", "labels of age", "suppression"]
            assert violations(spec) == []

    def test_blanked_rows_are_suppressed_rows(self, make: Run) -> None:
        rare = "insert into people values ('10001', 70, 'r1'), ('20002', 80, 'r2')"
        url = make(*PEOPLE, rare)
        privacy = {"k": 2, "suppression": {"limit": 2, "mode": "blank"}}
        spec = spec_of(url, levels={"max": 1}, privacy=privacy)
        assert pipeline.run(spec).publication.blanked == 2
        assert violations(spec) == []
        assert pipeline.audit_spec(spec).suppressed == 2
        strict = {"k": 2, "suppression": {"limit": 1, "mode": "blank"}}
        assert violations(spec_of(url, levels={"max": 1}, privacy=strict)) == [
            "2 of 18 rows of the source are suppressed, at most 1 may be"
        ]

    @pytest.mark.representative(4, postgres=2)
    @pytest.mark.parametrize("algorithm", ["samarati", "ghs", "tds"])
    @pytest.mark.parametrize("kind", ["text", "integer"])
    def test_blanked_rows_are_told_in_every_column(self, make: Run, algorithm: str, kind: str) -> None:
        """Three rows whose towns are alone; NULL is a town of its own, and of its rows nothing is missing."""
        towns = [1] * 5 + [2] * 8 + [3] * 7 + [4, 4, 5]
        rows = ", ".join(f"({town})" for town in [*towns, "null", "null", "null"])
        url = make(f"create table people (town {kind})", f"insert into people values {rows}")
        town: dict[str, object] = {"role": "quasi_identifier"}
        spec = spec_from_dict(
            {
                "connection": url,
                "source": "people",
                "target": "out",
                "columns": {"town": {**town, "levels": {"max": 0}} if algorithm == "samarati" else town},
                "privacy": {"k": 3, "suppression": {"limit": 3, "mode": "blank"}},
                "search": {"algorithm": algorithm},
                "evidence": {"files": False},
            }
        )
        published = pipeline.run(spec).publication
        audited = pipeline.audit_spec(spec)
        assert published.blanked == 3
        assert audited.satisfied
        assert audited.suppressed == 3

    @pytest.mark.representative(1, postgres=1)
    @pytest.mark.parametrize("mode", ["blank", "drop"])
    def test_rows_whose_cells_are_all_suppressed_are_no_blanked_rows(self, make: Run, mode: str) -> None:
        """Of two rows alone in their towns and two that join them all cells are suppressed; no row is left out."""
        towns = [1] * 9 + [4, 5]
        rows = ", ".join(f"({town})" for town in towns)
        url = make("create table people (town integer)", f"insert into people values {rows}")
        spec = spec_from_dict(
            {
                "connection": url,
                "source": "people",
                "target": "out",
                "columns": {"town": {"role": "quasi_identifier"}},
                "privacy": {"k": 4, "suppression": {"limit": 3, "mode": mode}},
                "search": {"algorithm": "exact", "model": "AG_CS"},
                "evidence": {"files": False},
            }
        )
        published = pipeline.run(spec).publication
        assert (published.rows, published.blanked) == (11, 0)
        assert violations(spec) == []

    def test_blanked_rows_beside_a_top_that_is_not_a_star(self, make: Run) -> None:
        """Everybody shows `*****`, and blanked rows `*`: the same information."""
        url = make(*PEOPLE, "insert into people values ('94131', 70, 'r1'), ('94131', 80, 'r2')")
        ages = {"interval": {"widths": [10], "min": 0, "max": 100}}
        columns = {
            ZIP: {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}, "levels": {"min": 5}},
            "age": {"role": "quasi_identifier", "hierarchy": ages, "levels": {"max": 1}},
            "name": {"role": "identifier"},
        }
        spec = spec_of(url, columns=columns, privacy={"k": 2, "suppression": {"limit": 2, "mode": "blank"}})
        assert pipeline.run(spec).publication.blanked == 2
        assert violations(spec) == []

    @pytest.mark.representative(2, postgres=1)
    @pytest.mark.parametrize("levels", [{"max": 0}, {"min": 3}, {}])
    def test_a_star_that_is_a_value_tells_of_no_blanked_row(self, make: Run, levels: dict[str, int]) -> None:
        """People have `*` themselves, so that of them nobody is told from a blanked row; the ages tell."""
        stars = ", ".join(f"('*', {20 + i % 4}, 's{i}')" for i in range(8))
        url = make(*PEOPLE, f"insert into people values {stars}, ('94130', 70, 'r1'), ('*', 80, 'r2')")
        zips = {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}, "levels": levels}
        ages = {"interval": {"widths": [10], "min": 0, "max": 100}}
        columns = {
            ZIP: zips,
            "age": {"role": "quasi_identifier", "hierarchy": ages, "levels": {"min": 1, "max": 1}},
            "name": {"role": "identifier"},
        }
        spec = spec_of(url, columns=columns, privacy={"k": 2, "suppression": {"limit": 2, "mode": "blank"}})
        assert pipeline.run(spec).publication.blanked == 2
        assert violations(spec) == []
        assert pipeline.audit_spec(spec).suppressed == 2


class TestPublishing:
    """Whatever a recoding does, a release that breaks the policy does not replace the old one."""

    @EVERYWHERE
    def test_labels_of_another_level_are_not_published(self, make: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        url = make(*PEOPLE, "create table out as select 'the old release' as note")
        original: Any = vars(classes)["measure_classes"]
        rows: Any = vars(classes)["release_query"]

        def lower(engine: Any, release: Any, scratch: Any) -> Any:
            return original(engine, replace(release, recoding=FullDomain(release.recoding.columns, (0, 1))), scratch)

        def raw(engine: Any, release: Any, *given: Any, **keys: Any) -> Any:
            return rows(engine, replace(release, recoding=FullDomain(release.recoding.columns, (0, 1))), *given, **keys)

        monkeypatch.setattr(classes, "measure_classes", lower)
        monkeypatch.setattr(classes, "release_query", raw)
        with pytest.raises(RequirementError, match=r"column 'z\"i p': 16 of 16 rows show what is no label .*, level 2"):
            pipeline.run(spec_of(url, levels={"min": 2, "max": 2}))
        engine = open_at(url)
        assert [info.name for info in engine.columns(Table(("out",)))] == ["note"]
        engine.close()


class TestScripts:
    """A script asserts what it shows, beside what its classes satisfy."""

    @pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.postgres)])
    def database(self, request: pytest.FixtureRequest, tmp_path: Path) -> Database:
        if request.param == "duckdb":
            return Database(f"duckdb:///{tmp_path / 'base.duckdb'}")
        return Database(str(request.getfixturevalue("postgres_url")))

    @pytest.mark.parametrize("target", ["out", {"view": "shown"}])
    def test_a_script_that_shows_another_level_stops(self, database: Database, target: Any) -> None:
        database.run(*PEOPLE)
        spec = spec_of(database.url, levels={"min": 2, "max": 2}, target=target)
        text = pipeline.script(spec, None)
        spoilt = text.replace("hierarchy_z_i_p.label_2 AS", "hierarchy_z_i_p.value AS")
        assert spoilt != text
        with pytest.raises(Exception, match="shows labels of another level"):
            run_script(database, spoilt)
        run_script(database, text)
        assert violations(spec) == []


def run_script(database: Database, text: str) -> None:
    if database.is_duckdb:
        with duckdb.connect(database.url.removeprefix("duckdb:///")) as connection:
            connection.execute(text)
    else:
        with psycopg.connect(database.url, autocommit=True) as session:
            session.execute(text.encode())
