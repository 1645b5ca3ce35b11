"""The page as PDF, printed by a Chromium that is installed on this machine.

Starts that program, without a network and with a profile of its own, and waits for it.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from sqlanon.errors import UsageError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
SECONDS = 60


def browser() -> str:
    """The program that prints; UsageError where there is none."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    raise UsageError(
        "--format pdf: no Chromium or Chrome is installed here; install one, or print the HTML page from any browser"
    )


def print_page(page: str, out: Path) -> None:
    """Print a self-contained page to a PDF file, which appears complete or not at all."""
    program = browser()
    with tempfile.TemporaryDirectory(prefix="sqlanon-print-") as folder:
        source, printed = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(page, encoding="utf-8")
        flags = (
            "--headless",
            # The page is our own and loads nothing; a sandbox of its own is not to be had by root or in containers.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--no-pdf-header-footer",
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
        )
        try:
            subprocess.run([program, *flags, source.as_uri()], check=True, capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError):
            raise UsageError(f"--format pdf: {program} could not print the page; print it from a browser") from None
        if not printed.is_file():
            raise UsageError(f"--format pdf: {program} printed nothing; print the page from a browser")
        whole = out.with_name(out.name + ".tmp")
        shutil.copyfile(printed, whole)
        whole.replace(out)
