from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.commands import CommandLine, patients, spec_values, write_spec


@pytest.fixture
def sqlanon(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test; the database of `engine_url` lies elsewhere."""
    place = tmp_path / "folder"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def database(engine_url: str) -> str:
    """A database with the table of patients; the test runs once for each engine."""
    patients(engine_url)
    return engine_url


@pytest.fixture
def spec(database: str, folder: Path) -> Path:
    """A good spec for that table."""
    return write_spec(folder / "spec.yaml", spec_values(database))
