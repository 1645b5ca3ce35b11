"""Persons as keyed hashes: the database's HMAC-SHA-256 is Python's, on every engine, and no statement holds the key."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from sqlglot import exp

from sqlanon.engines.base import Engine, Row, Statement, TraceEvent
from sqlanon.errors import UsageError
from sqlanon.source.keyed_hash import HashSecret, KeyedHash, secret_of
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table, column, table_expression
from tests.engines.contract import VALUES
from tests.kit.engine import execute, open_at

KEYS = [b"key", b"k" * 63, b"k" * 64, b"k" * 65, bytes(range(1, 256)), "größe 数据 ' ; -- ${X}".encode()]
FOX = "The quick brown fox jumps over the lazy dog"
FOX_UNDER_KEY = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"

TYPED = [
    ("INTEGER", "-7", "-7"),
    ("BIGINT", "9007199254740993", "9007199254740993"),
    ("DECIMAL(12, 3)", "10.500", "10.5"),
    ("DECIMAL(12, 3)", "100.000", "100"),
    ("DECIMAL(12, 0)", "100", "100"),
    ("DATE", "2024-02-29", "2024-02-29"),
    ("TIMESTAMP", "2024-02-29 01:02:03.5", "2024-02-29 01:02:03.5"),
    ("BOOLEAN", "true", "true"),
    ("DOUBLE PRECISION", "-0.0", "0"),
    ("DOUBLE PRECISION", "1e20", "1e+20"),
]
"""A type, a value, and the text by which every engine knows it."""

ON_SPARK = {"DOUBLE PRECISION": "DOUBLE", "TIMESTAMP": "TIMESTAMP_NTZ"}


def of_python(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def hashes(engine: Engine, scratch: Scratch, key: bytes, table: Table, names: list[str]) -> list[Row]:
    """What the database makes of columns of a table."""
    infos = {info.name: info for info in engine.columns(table)}
    keyed = KeyedHash.stored(engine, scratch, HashSecret(key))
    items = [keyed.of(column(name, "source"), infos[name]) for name in names]
    order = [column("n", "source")] if "n" in infos else []
    query = exp.select(*order, *items).from_(table_expression(table, "source"))
    return engine.query(Statement("test", query.order_by(*order) if order else query))


def check(url: str, keys: list[bytes]) -> None:
    engine = open_at(url)
    seen: list[TraceEvent] = []
    engine.session.hooks.append(seen.append)
    try:
        with Scratch(engine, ()) as scratch:
            values = [*VALUES, FOX, "x" * 200]
            texts = scratch.create_text("test", "texts", ["n", "v"])
            engine.load("test", texts, ["n", "v"], [(f"{n:03}", value) for n, value in enumerate(values)])
            for key in keys:
                expected = [(f"{n:03}", v if v is None else of_python(key, v)) for n, v in enumerate(values)]
                assert hashes(engine, scratch, key, texts, ["v"]) == expected
            assert hashes(engine, scratch, b"key", texts, ["v"])[values.index(FOX)][1] == FOX_UNDER_KEY
            kinds = [ON_SPARK.get(kind, kind) if engine.name == "spark" else kind for kind, _, _ in TYPED]
            items = (
                f"CAST('{item[1]}' AS {kind}) AS v{n}" for n, (item, kind) in enumerate(zip(TYPED, kinds, strict=True))
            )
            execute(engine, f"CREATE TABLE keyed AS SELECT {', '.join(items)}")
            [found] = hashes(engine, scratch, b"key", Table(("keyed",)), [f"v{n}" for n in range(len(TYPED))])
            assert found == tuple(of_python(b"key", text) for _, _, text in TYPED)
        told = "\n".join(event.sql for event in seen)
        for key in keys:
            assert not [pad for pad in (*HashSecret(key).padded_keys(), key.hex()) if pad in told]
    finally:
        engine.close()


def test_the_database_hashes_as_python_does(engine_url: str) -> None:
    check(engine_url, KEYS)


@pytest.mark.spark
def test_spark_hashes_as_python_does(spark_url: str) -> None:
    check(spark_url, KEYS[3:4])


def test_an_engine_without_bytes_is_refused_by_name() -> None:
    engine = open_at("sqlite:///:memory:")
    with Scratch(engine, ()) as scratch, pytest.raises(UsageError, match="DuckDB, PostgreSQL and Spark; sqlite"):
        KeyedHash.stored(engine, scratch, HashSecret(b"k" * 32))
    engine.close()


def test_secrets_come_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SQLANON_KEY", raising=False)
    with pytest.raises(UsageError, match=r"history\.secret: environment variable SQLANON_KEY is not set"):
        secret_of("history.secret", "${SQLANON_KEY}")
    monkeypatch.setenv("SQLANON_KEY", "short")
    with pytest.raises(UsageError, match="shorter than 16 bytes") as short:
        secret_of("history.secret", "${SQLANON_KEY}")
    monkeypatch.setenv("SQLANON_KEY", "a secret of some length")
    secret = secret_of("history.secret", "${SQLANON_KEY}")
    assert "a secret" not in f"{secret!r} {secret} {short.value}"
    assert secret.digest("x") == of_python(b"a secret of some length", "x")
    one, other = (secret.for_purpose(purpose).padded_keys() for purpose in ("ledger", "pseudonym"))
    assert len({*one, *other, *secret.padded_keys()}) == 6
