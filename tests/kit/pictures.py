"""Makes the pictures of docs/guides/report.md: `python -m tests.kit.pictures [FOLDER]`.

Needs Chromium and the Adult data. Of Adult only hierarchy labels and shares are seen.
"""

from __future__ import annotations

import csv
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import yaml

from sqlanon.cli.main import run
from tests.kit.papers import PAPERS
from tests.reports.conftest import FLAGS

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult"
HEIGHTS = (1, 1, 1, 1, 2, 2, 1, 1, 2, 1, 1, 1)


def s3() -> None:
    spec = (PAPERS / "s3" / "spec.yaml").read_text(encoding="utf-8")
    shutil.copy(PAPERS / "s3" / "table.csv", "table.csv")
    Path("s3.yaml").write_text(spec.replace("../", f"{PAPERS}/"), encoding="utf-8")


def adult() -> None:
    names = (ADULT / "adult.csv").read_text(encoding="utf-8").partition("\n")[0].strip().split(";")
    Path("adult.csv").symlink_to(ADULT / "adult.csv")
    columns = {
        name: {
            "role": "quasi_identifier",
            "hierarchy": {"csv": {"path": f"{ADULT}/adult_hierarchy_{name}.csv", "delimiter": ";"}},
        }
        for name in names
    }
    write("adult.yaml", "adult.csv", columns, {"k": 5, "suppression": {"limit": "4%"}})


def twelve() -> None:
    """An invented table of twelve columns."""
    chance = random.Random(12)
    names = [f"c{place:02d}" for place in range(1, 13)]
    with Path("twelve.csv").open("w", newline="", encoding="utf-8") as lines:
        table = csv.writer(lines)
        table.writerow(names)
        for _ in range(3000):
            table.writerow([min(7, int(chance.expovariate(0.9))) + 10 for _ in names])
    columns: dict[str, Any] = {}
    for name, height in zip(names, HEIGHTS, strict=True):
        columns[name] = {"role": "quasi_identifier"}
        if height == 2:
            columns[name]["hierarchy"] = {"interval": {"widths": [3]}}
    write("twelve.yaml", "twelve.csv", columns, {"k": 5, "suppression": {"limit": "5%"}})


def write(name: str, source: str, columns: dict[str, Any], privacy: dict[str, Any]) -> None:
    values = {"version": 1, "source": source, "target": "release.csv", "columns": columns, "privacy": privacy}
    Path(name).write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


SHOTS: tuple[tuple[str, str, Literal["light", "dark"], int, str | None, int], ...] = (
    ("report-s3", "s3", "light", 1000, None, 1180),
    ("report-s3-lattice", "s3", "light", 1000, "#lattice", 1130),
    ("report-s3-phone", "s3", "dark", 390, None, 1400),
    ("report-adult", "adult", "light", 1000, "#lattice", 1560),
    ("report-adult-columns", "adult", "dark", 1000, "#columns", 1200),
    ("report-12", "twelve", "dark", 1000, "#lattice", 1500),
)
"""Name, page, colours, width, section, and how many pixels of it."""


def main(folder: Path) -> None:
    from PIL import Image
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    folder = folder.resolve()
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        os.chdir(place)
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        for make in (s3, adult, twelve):
            make()
            name = make.__name__
            run(["plan", f"{name}.yaml"])
            run(["report", f"{name}.lock.json", "--out", f"{name}.html", "--k", "2,3,5,10"])
        for picture, name, scheme, width, section, tall in SHOTS:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.goto(Path(f"{name}.html").resolve().as_uri())
            page.locator(section or "html").screenshot(path=folder / f"{picture}.png")
            context.close()
            with Image.open(folder / f"{picture}.png") as shot:
                shot.crop((0, 0, shot.width, min(tall, shot.height))).convert("RGB").quantize(96).save(
                    folder / f"{picture}.png", optimize=True
                )
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/guides"))
