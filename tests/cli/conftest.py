from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.commands import patients, spec_values, write_spec


@pytest.fixture
def database(engine_url: str) -> str:
    """A database with the table of patients; the test runs once for each engine."""
    patients(engine_url)
    return engine_url


@pytest.fixture
def spec(database: str, folder: Path) -> Path:
    """A good spec for that table."""
    return write_spec(folder / "spec.yaml", spec_values(database))
