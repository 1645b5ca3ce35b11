from __future__ import annotations

import pytest
from sqlglot import exp

from sqlanon.engines.dialects import data_type, family
from sqlanon.hierarchies.base import Family


@pytest.mark.parametrize(
    ("text", "dialect", "wanted"),
    [
        ("ENUM('a', 'it''s')", "duckdb", Family.TEXT),
        ("HUGEINT", "duckdb", Family.INTEGER),
        ("UHUGEINT", "duckdb", Family.INTEGER),
        ("UTINYINT", "duckdb", Family.INTEGER),
        ("TIMESTAMP_NS", "duckdb", Family.TIMESTAMP),
        ("TIMESTAMP WITH TIME ZONE", "duckdb", Family.TIMESTAMP_TZ),
        ("INTEGER[]", "duckdb", Family.OTHER),
        ("STRUCT(a INTEGER)", "duckdb", Family.OTHER),
        ("character varying(10)", "postgres", Family.TEXT),
        ("bpchar", "postgres", Family.TEXT),
        ("numeric", "postgres", Family.DECIMAL),
        ("timestamp(3) without time zone", "postgres", Family.TIMESTAMP),
        ("oid", "postgres", Family.OTHER),
        ("tsvector", "postgres", Family.OTHER),
        ("money", "postgres", Family.OTHER),
    ],
)
def test_types_of_the_catalogs(text: str, dialect: str, wanted: Family) -> None:
    kind = data_type(text, dialect)
    assert isinstance(kind, exp.DataType)
    assert family(kind) is wanted


@pytest.mark.parametrize("text", ["nonsense(", "not a ] type"])
def test_an_unknown_type_keeps_its_name(text: str) -> None:
    kind = data_type(text, "duckdb")
    assert kind.sql("duckdb") == text
    assert family(kind) is Family.OTHER
