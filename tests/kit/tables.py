"""What tests of the SQL side share: tables made from Python values, hierarchies stored on their own, frequency sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Row, Session, Statement
from sqlanon.source.binding import Binding, bind
from sqlanon.source.frequency import FrequencySet, pack, scan, store_hierarchies
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.engine import query, verbatim
from tests.kit.examples import share

FEW = settings(
    max_examples=share(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""Each example is a round trip or more; one statement tests many values instead."""


def quoted(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def literal(value: object) -> str:
    """A value as a literal of text or NULL; the column's type does the rest."""
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def run(engine: Engine, sql: str) -> None:
    """Run a statement of the test's own, word for word."""
    engine.execute(Statement("test", verbatim(sql)))


def rows(engine: Engine, sql: str) -> list[Row]:
    return query(engine, sql)


def create(engine: Engine, name: Sequence[str], types: Mapping[str, str], values: Sequence[Sequence[object]]) -> None:
    """A table of these columns and rows."""
    columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in types.items())
    run(engine, f"CREATE TABLE {quoted(*name)} ({columns})")
    for start in range(0, len(values), 2000):
        lines = (
            "(" + ", ".join(f"CAST({literal(v)} AS {t})" for v, t in zip(row, types.values(), strict=True)) + ")"
            for row in values[start : start + 2000]
        )
        run(engine, f"INSERT INTO {quoted(*name)} VALUES {', '.join(lines)}")


@contextmanager
def at(url: str) -> Iterator[Engine]:
    """A session of the test's own."""
    engine = open_engine(url, Session(), Path())
    try:
        yield engine
    finally:
        engine.close()


def spec_of(
    columns: Mapping[str, Any], *, url: str = "duckdb:///:memory:", k: int = 1, limit: int = 0, **more: Any
) -> Spec:
    """A spec over table `t` whose quasi-identifiers have these hierarchies; other columns are insensitive."""
    given = {
        name: {"role": "quasi_identifier"} | ({} if hierarchy is None else {"hierarchy": hierarchy})
        for name, hierarchy in columns.items()
    }
    spec: dict[str, Any] = {
        "connection": url,
        "source": "t",
        "target": "released",
        "columns": given,
        "default_role": "insensitive",
        "privacy": {"k": k, "suppression": {"limit": limit}},
    }
    return spec_from_dict(spec | more)


@dataclass(frozen=True)
class Stored:
    """What a source became: binding, hierarchies and the scratch tables they lie in."""

    binding: Binding
    hierarchies: tuple[StoredHierarchy, ...]
    scratch: Scratch


@contextmanager
def stored(engine: Engine, spec: Spec, *, show_values: bool = False) -> Iterator[Stored]:
    """The hierarchies of a spec, standing while the context is open."""
    binding = bind(spec, engine)
    with Scratch(engine, binding.scratch) as scratch:
        base = scan(engine, binding, scratch)
        yield Stored(binding, store_hierarchies(engine, binding, base, scratch, show_values=show_values), scratch)


@contextmanager
def frequency(engine: Engine, spec: Spec) -> Iterator[tuple[FrequencySet, Binding, Scratch]]:
    """The frequency set of a spec, standing while the context is open."""
    binding = bind(spec, engine)
    with Scratch(engine, binding.scratch) as scratch:
        base = scan(engine, binding, scratch)
        hierarchies = store_hierarchies(engine, binding, base, scratch)
        yield pack(engine, binding, base, hierarchies, scratch), binding, scratch


def hierarchy_rows(engine: Engine, hierarchy: StoredHierarchy) -> list[Row]:
    """Labels of every level for each value of a stored hierarchy."""
    labels = ", ".join(f'CAST("label_{level}" AS text)' for level in range(hierarchy.height + 1))
    return rows(engine, f"SELECT {labels} FROM {quoted(*hierarchy.table.table.parts)} ORDER BY 1")
