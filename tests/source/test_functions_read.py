"""What a source reads through functions: macros of DuckDB, functions of PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlanon import pipeline
from sqlanon.errors import SpecError
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database


def spec_of(url: str, source: Any, target: str, folder: Path) -> Spec:
    columns = {"zip": {"role": "quasi_identifier"}, "dis": {"role": "sensitive"}}
    return spec_from_dict(
        {
            "connection": url, "source": source, "target": target, "columns": columns, "default_role": "identifier",
            "privacy": {"k": 2},
        },
        folder,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["counted", "upper"])
@pytest.mark.parametrize("source", ["shown", {"query": "select zip, dis, NAME(1) as c from people"}])
def test_macros_of_values_are_followed(tmp_path: Path, source: Any, name: str) -> None:
    """Also those with the name of a function that DuckDB has itself."""
    if isinstance(source, dict):
        source = {"query": source["query"].replace("NAME", name)}
    path = tmp_path / "people.csv"
    path.write_text("zip,dis\na,flu\na,flu\n", encoding="utf-8")
    with duckdb.connect(str(tmp_path / "base.duckdb")) as connection:
        connection.execute("create table people as select 'a' as zip, 'flu' as dis from range(4)")
        connection.execute(f"create macro {name}(x) as (select count(*) from '{path}')")
        connection.execute(f"create view shown as select zip, dis, {name}(1) as c from people")
    before = path.read_bytes()
    with pytest.raises(SpecError, match="name another target"):
        pipeline.run(spec_of(f"duckdb:///{tmp_path / 'base.duckdb'}", source, "people.csv", tmp_path))
    assert path.read_bytes() == before


FUNCTIONS = {
    "sql": "language sql stable as 'select * from base'",
    "plpgsql": "language plpgsql stable as $$ begin return query execute 'select * from ba' || 'se'; end $$",
}


@pytest.mark.postgres
@pytest.mark.parametrize("language", FUNCTIONS)
@pytest.mark.parametrize(
    "source", ["shown", {"query": "select * from people_of()"}, {"query": "select zip, dis, one(pid) as o from other"}]
)
def test_functions_of_postgresql_may_read_the_target(
    postgres_url: str, tmp_path: Path, language: str, source: Any
) -> None:
    database = Database(postgres_url)
    returns = "returns table(pid int, zip text, dis text)"
    database.run(
        "create table base as select i as pid, 'a' as zip, 'flu' as dis from generate_series(1, 4) as g(i)",
        "create table other as select * from base",
        f"create function people_of() {returns} {FUNCTIONS[language]}",
        "create function one(x int) returns bigint language sql stable as 'select count(*) from base'",
        "create view shown as select * from people_of()",
    )
    with pytest.raises(SpecError, match="name another target"):
        pipeline.run(spec_of(postgres_url, source, "base", tmp_path))
    assert database.run("select count(pid) from base") == [(4,)]


@pytest.mark.postgres
def test_functions_that_name_another_table_do_no_harm(postgres_url: str, tmp_path: Path) -> None:
    database = Database(postgres_url)
    database.run(
        "create table other as select 'a' as zip, 'flu' as dis from generate_series(1, 4)",
        "create function tidy(x text) returns text language sql immutable as 'select lower(x)'",
        "create view shown as select tidy(zip) as zip, dis from other",
    )
    for target in ("released", "released", "id", "id"):
        # `id` stands in the word "tidy", and is another word.
        assert pipeline.run(spec_of(postgres_url, "shown", target, tmp_path)).audit.rows == 4
