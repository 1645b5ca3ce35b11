"""Engines of other packages, found by the entry points of a distribution that stands only in this test."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Session
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.errors import UsageError
from tests.kit.engine import query


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A distribution on the path that announces engines of the module `acme_engines`."""
    metadata = tmp_path / "acme_sqlanon-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-sqlanon\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[sqlanon.engines]\n"
        "acme = acme_engines:connect\n"
        "sqlite = acme_engines:connect\n"
        "acme+broken = acme_engines:missing\n"
        "acme+wrong = acme_engines:nothing\n"
        "duckdb = acme_engines:missing\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = ModuleType("acme_engines")
    monkeypatch.setitem(sys.modules, "acme_engines", module)
    return module


def test_a_scheme_of_another_package(installed: ModuleType, tmp_path: Path) -> None:
    asked: list[tuple[str, str, Path]] = []

    def connect(url: str, session: Session, folder: Path) -> Engine:
        asked.append((url, session.run, folder))
        return DuckDBEngine(session)

    vars(installed)["connect"] = connect
    for url in ("acme://host/db", "ACME://host/db", "sqlite:///x.db"):
        engine = open_engine(url, Session(run="test"), tmp_path)
        assert query(engine, "SELECT 1") == [(1,)]
        engine.close()
        assert asked.pop() == (url, "test", tmp_path)


def test_built_in_schemes_stay_ours(installed: ModuleType) -> None:
    engine = open_engine("duckdb://", Session(), Path())
    engine.close()
    assert not hasattr(installed, "connect")


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("acme+broken", r"provides connection scheme 'acme\+broken' cannot be loaded: AttributeError"),
        ("acme+wrong", r"provides connection scheme 'acme\+wrong' returned no sqlanon engine"),
        ("nosuch", r"unknown connection scheme 'nosuch': known are duckdb, .*, acme, acme\+broken"),
    ],
)
def test_what_cannot_be_used_is_told_without_the_url(installed: ModuleType, scheme: str, message: str) -> None:
    vars(installed)["nothing"] = lambda url, session, folder: None
    with pytest.raises(UsageError, match=message) as error:
        open_engine(f"{scheme}://me:secret@host/db", Session(), Path())
    assert "secret" not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None
