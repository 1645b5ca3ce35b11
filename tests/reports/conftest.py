"""A headless Chromium for the tests of pages, Debian's own, driven by Playwright; and a report for them, made once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sqlanon
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.reports.gather import WhatIf, gather
from sqlanon.reports.model import Report
from sqlanon.spec import Limit, load_spec
from tests.kit.papers import PAPERS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests, with a new profile. Continuous integration requires it, a desk may go without."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("continuous integration needs chromium; .ci/run installs it")
        pytest.skip("no chromium is installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PlanResult]:
    """The lock file of Samarati's S3, and its plan; the source's path has a word wider than a phone."""
    folder = tmp_path_factory.mktemp("s3")
    table = folder / ("a_word_wider_than_a_phone_" * 3) / "table.csv"
    table.parent.mkdir()
    shutil.copy(PAPERS / "s3" / "table.csv", table)
    spec = (PAPERS / "s3" / "spec.yaml").read_text(encoding="utf-8")
    spec = spec.replace("table.csv", str(table)).replace("../", f"{PAPERS}/")
    (folder / "s3.yaml").write_text(spec, encoding="utf-8")
    planned = sqlanon.plan(folder / "s3.yaml")
    Lock.of(load_spec(folder / "s3.yaml"), planned, "s3.yaml").write(folder / "s3.lock.json")
    return folder / "s3.lock.json", planned


@pytest.fixture(scope="session")
def s3_report(s3: tuple[Path, PlanResult]) -> Report:
    """The report of S3, with a frontier of two k and two limits."""
    limits = (Limit.parse("0"), Limit.parse("1"))
    return gather(load_spec(s3[0].with_name("s3.yaml")), Lock.read(s3[0]), what_if=WhatIf((2, 3), limits))
