from __future__ import annotations

import pytest

from tests.kit.commands import CommandLine


@pytest.fixture
def sqlanon(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)
