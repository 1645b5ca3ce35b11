"""Numbers mixed into one: the same on every engine, however many there are."""

from __future__ import annotations

import sqlite3
from functools import reduce

import duckdb
import pytest
from sqlglot import exp

from sqlanon.sql.build import MIXING_PRIME, mixed
from sqlanon.sql.relations import literal

VALUES = [0, 1, 5, MIXING_PRIME - 1, MIXING_PRIME, 2**31, 2**40]


@pytest.mark.parametrize("number", [1, 2, 7, 200])
def test_values_are_mixed_as_by_hand(number: int) -> None:
    values = [VALUES[place * 5 % len(VALUES)] for place in range(number)]
    expected = reduce(lambda mix, value: (mix * 48_271 + value) % MIXING_PRIME, values, 1)
    query = exp.select(mixed([literal(value) for value in values]))
    with duckdb.connect() as connection:
        assert connection.execute(query.sql("duckdb")).fetchall() == [(expected,)]
    with sqlite3.connect(":memory:") as embedded:
        assert embedded.execute(query.sql("sqlite")).fetchall() == [(expected,)]
