"""Abilities of a database, found out when its session begins: what a dialect's name does not tell is probed.

Constants are computed, no table is read. Only a temporary table (where there are none, a scratch table) is made,
renamed and dropped again. Imports no driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.engines.dialects import parsed
from sqlanon.engines.sqlalchemy.base import SQLAlchemyBase
from sqlanon.engines.sqlalchemy.traits import CollatedTraits
from sqlanon.errors import EngineError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import count, drop_table, named, rename_table, subquery
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.traits import Traits

NEEDED: tuple[tuple[str, str, int], ...] = (
    ("common table expressions", "with t as (select 1 as a) select a from t", 1),
    ("recursive queries", "with recursive t as (select 1 as a union select a from t) select count(*) from t", 1),
    ("rows of values as a table", "select v.b from (values (1, cast(2 as bigint))) as v(a, b)", 2),
    (
        "full outer joins",
        "select count(*) from (select l.a from (select 1 as a) l full outer join (select 2 as b) r on l.a = r.b) as t",
        2,
    ),
    ("window functions", "select sum(t.a) over (partition by t.a) from (select 3 as a) as t", 3),
    ("DENSE_RANK", "select dense_rank() over (order by t.a) from (select 3 as a) as t", 1),
    ("aggregates with FILTER", "select count(*) filter (where t.a > 1) from (select 1 as a) as t", 0),
    ("bitwise operator &", "select cast(6 as bigint) & 3", 2),
    ("sets of bits (BIT_OR)", "select bit_or(t.a) from (select 6 as a union all select 1) as t", 7),
    ("64-bit whole numbers", "select (cast(2147483646 as bigint) * 48271) % 2147483647", 2147435376),
    ("natural logarithm LN", "select ln(cast(1 as double))", 0),
)
"""Each with a query that every database which can do it answers alike. Written as DuckDB writes them."""

TYPED: tuple[tuple[Family, str, str], ...] = (
    (Family.BOOLEAN, "cast(1 as boolean)", "true"),
    (Family.DECIMAL, "cast(1.5 as decimal(5, 2))", "1.50"),
    (Family.DATE, "cast('2020-02-29' as date)", "2020-02-29"),
    (Family.TIMESTAMP, "cast('2020-01-01 00:00:00.5' as timestamp)", "2020-01-01 00:00:00.5"),
    (Family.TIMESTAMP_TZ, "cast('2020-01-01 00:30:00+02' as timestamptz)", "2019-12-31 22:30:00+00"),
)
"""A value of each family and the text that it has on every engine."""

_EXACT = "select floor(cast('0.29' as decimal(28, 9)) * cast(100 as decimal(3, 0)))"
"""29 where decimals are exact: intervals of numbers with a fraction are computed with them."""

_DIFFERENT = ("a", "A", "a ", " a", "á", "a\u0301", "")


@dataclass(frozen=True)
class Abilities:
    """What the probes found."""

    traits: Traits
    transactional: bool
    """Creating and renaming tables takes part in transactions."""
    unspelled: frozenset[Family]
    """Families whose values this database lacks or writes differently: columns of these are read as texts."""


def probe(engine: SQLAlchemyBase, traits: Traits) -> Abilities:
    """Ask for everything that a release needs; EngineError that names what is missing."""
    engine.write_as(traits)
    missing = [name for name, query, answer in NEEDED if not _answers(engine, parsed(query, "duckdb"), answer)]
    if not any(_compares_bytes(engine, given) for given in _collations(traits)):
        missing.append("collation that compares texts byte by byte")
    if missing:
        raise EngineError(
            f"{engine.name} cannot be used, nothing was read or written: this database has no {', no '.join(missing)}"
        )
    collated = engine.traits
    engine.write_as(replace(collated, temporary_scratch=_temporary(engine), unlogged_scratch=False))
    return Abilities(engine.traits, _renames_within_transactions(engine), frozenset(_unspelled(engine)))


def _collations(traits: Traits) -> Iterator[Traits]:
    if isinstance(traits, CollatedTraits):
        yield from (replace(traits, collation=name) for name in traits.collations)
    else:
        yield traits


def _compares_bytes(engine: SQLAlchemyBase, traits: Traits) -> bool:
    """Whether texts that differ in a byte differ as keys; the engine writes by these traits from now on."""
    engine.write_as(traits)
    union: exp.Query = exp.select(named(literal(_DIFFERENT[0]), "v"))
    for text in _DIFFERENT[1:]:
        union = exp.Union(this=union, expression=exp.select(named(literal(text), "v")), distinct=False)
    keys = exp.select(named(traits.key(column("v", "t"), Family.TEXT), "k")).from_(subquery(union, "t")).distinct()
    return _answers(engine, exp.select(count()).from_(subquery(keys, "d")), len(_DIFFERENT))


def _unspelled(engine: SQLAlchemyBase) -> Iterator[Family]:
    for family, value, text in TYPED:
        spelled = engine.traits.text(parsed(value, "duckdb").copy(), family)
        if not _answers(engine, exp.select(spelled), text):
            yield family
    if not _answers(engine, parsed(_EXACT, "duckdb"), 29):
        yield from (Family.DECIMAL, Family.FLOAT)


def _temporary(engine: SQLAlchemyBase) -> bool:
    """Whether there are temporary tables that one query may read twice."""
    table = _probe_table(engine)
    try:
        _run(engine, _create(table, temporary=True))
        one, other = table_expression(table, "a"), table_expression(table, "b")
        return _answers(engine, exp.select(count()).from_(one).join(other, join_type="cross"), 1)
    except EngineError:
        return False
    finally:
        _forget(engine, table)


def _renames_within_transactions(engine: SQLAlchemyBase) -> bool:
    """Make and rename a table, then roll back: whether nothing is left of it. EngineError where none is renamed."""
    table = _probe_table(engine)
    renamed = table.beside(f"{table.name}_renamed")
    try:
        with suppress(EngineError):
            _run(engine, exp.Transaction())
        if not _created(engine, table):
            return False
        _rename(engine, table, renamed)
        with suppress(EngineError):
            _run(engine, exp.Rollback())
        return not _exists(engine, renamed)
    finally:
        for leftover in (table, renamed):
            _forget(engine, leftover)


def _created(engine: SQLAlchemyBase, table: Table) -> bool:
    """A session that may create nothing can still audit; publishing will be told what it lacks."""
    try:
        _run(engine, _create(table, temporary=engine.traits.temporary_scratch))
    except EngineError:
        with suppress(EngineError):
            _run(engine, exp.Rollback())
        return False
    return True


def _rename(engine: SQLAlchemyBase, table: Table, renamed: Table) -> None:
    try:
        _run(engine, rename_table(table, renamed))
    except EngineError as error:
        with suppress(EngineError):
            _run(engine, exp.Rollback())
        message = f"{engine.name} cannot be used, nothing was read or written: this database renames no tables"
        raise EngineError(message, detail=error.detail) from None


def _probe_table(engine: SQLAlchemyBase) -> Table:
    return Table((f"sqlanon_{engine.session.run}_probe",))


def _create(table: Table, *, temporary: bool) -> exp.Create:
    properties = exp.Properties(expressions=[exp.TemporaryProperty()]) if temporary else None
    select = exp.select(named(cast(literal(1), "bigint"), "a"))
    return exp.Create(this=table_expression(table), kind="TABLE", expression=select, properties=properties)


def _exists(engine: SQLAlchemyBase, table: Table) -> bool:
    return engine.inspected("look for the probe", lambda found: found.has_table(table.name), step="session")


def _forget(engine: SQLAlchemyBase, table: Table) -> None:
    with suppress(EngineError):
        _run(engine, drop_table(table))


def _answers(engine: SQLAlchemyBase, query: exp.Expr, answer: object) -> bool:
    try:
        return engine.query(Statement("session", query)) == [(answer,)]
    except EngineError:
        return False


def _run(engine: SQLAlchemyBase, statement: exp.Expr) -> None:
    engine.execute(Statement("session", statement))
