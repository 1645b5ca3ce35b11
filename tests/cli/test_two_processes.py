"""Two processes run one spec at once: both publish, or one is refused and may try again; a satisfied release stands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sqlanon.cli.main import run
from tests.kit.commands import CommandLine
from tests.kit.processes import fork

pytestmark = [pytest.mark.reopened, pytest.mark.process]

REFUSED = "another process has it open; close that process or wait for it to finish"


def started(spec: Path, printed: Path) -> int:
    def act() -> int:
        file = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        return run(["run", str(spec), "--json"])

    return fork(act)


def test_one_waits_or_is_refused_and_a_release_stands(sqlanon: CommandLine, spec: Path, folder: Path) -> None:
    for attempt in range(2):
        outputs = [folder / f"{attempt}-{name}" for name in ("first", "second")]
        children = [started(spec, output) for output in outputs]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        texts = [output.read_text(encoding="utf-8") for output in outputs]
        assert 0 in codes, texts
        for code, text in zip(codes, texts, strict=True):
            assert code == 0 or (code == 4 and REFUSED in text), text
        status = sqlanon("status", spec, "--json")
        assert status.code == 0, status.err
        assert (status.json["satisfied"], status.json["drifted"]) == (True, False)
    assert sqlanon("run", spec).code == 0, "who was refused tries again"
