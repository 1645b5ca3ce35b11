"""`--update-golden` rewrites the snapshots of generated SQL instead of comparing with them (`make golden`)."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite sql/golden from what is generated now")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether snapshots are to be rewritten; the option exists only when this folder is named to pytest."""
    return bool(request.config.getoption("--update-golden", default=False))
