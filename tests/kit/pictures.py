"""Makes the pictures of docs/start/pictures.md and docs/guides/report.md: `make pictures`.

`python -m tests.kit.pictures [FOLDER] [demo]`: into another folder than docs, or only those of the demo.

Needs Chromium; those of the report also need the Adult data, of which only hierarchy labels and shares are seen.
"""

from __future__ import annotations

import csv
import io
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from sqlanon.cli.main import run
from tests.kit.papers import PAPERS
from tests.kit.terminal import Terminal
from tests.reports.conftest import FLAGS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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


def picture(page: Page, section: str, path: Path, tall: int) -> None:
    """A part of a page as a small file."""
    from PIL import Image

    page.locator(section).screenshot(path=path)
    with Image.open(path) as shot:
        cropped = shot.crop((0, 0, shot.width, min(tall, shot.height))).convert("RGB")
        cropped.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


def in_terminal(browser: Browser, folder: Path, *arguments: str) -> Page:
    """What a command shows on a terminal, colours and all, as a page."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    with Terminal(folder, *arguments, COLUMNS="96", TERM="xterm-256color") as terminal:
        terminal.end()
        lines = terminal.raw.replace("\r\n", "\n").split("\n")
    # Without the progress bar, which a terminal takes back.
    shown = "\n".join(line.rpartition("\r")[2] for line in lines if "nodes asked" not in line)
    recorded = Console(record=True, width=96, file=io.StringIO(), force_terminal=True)
    recorded.print(Text(f"$ sqlanon {' '.join(arguments)}", style="bold"))
    recorded.print(Text.from_ansi(shown))
    html = recorded.export_html(
        inline_styles=True,
        theme=MONOKAI,
        code_format="<body style='margin:0;background:{background};color:{foreground}'>"
        "<pre style='margin:0;padding:16px;font:14px/1.35 ui-monospace,monospace;width:max-content'>{code}</pre>",
    )
    page = browser.new_page(viewport={"width": 900, "height": 700})
    page.set_content(html)
    return page


def demo(browser: Browser, folder: Path) -> None:
    """The demo on the terminal, as a report, and in explore."""
    run(["demo"])
    place = Path("sqlanon-demo").resolve()
    picture(in_terminal(browser, place, "plan", "spec.yaml", "--fresh"), "pre", folder / "terminal.png", 900)
    run(["report", "sqlanon-demo/spec.lock.json", "--out", "demo.html"])
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.goto(Path("demo.html").resolve().as_uri())
    picture(page, "html", folder / "report.png", 1000)
    picture(page, "#sizes", folder / "sizes.png", 700)
    with Terminal(place, "explore", "spec.yaml", "--idle", "60") as terminal:
        terminal.expect("open ")
        page.goto(terminal.expect("\n").strip())
        picture(page, "html", folder / "explore.png", 1150)
        page.locator("#tab-setup").click()
        page.get_by_role("button", name="Edit the hierarchy of marital").click()
        page.locator(".chip", has_text="divorced").click()
        page.locator("#setup-loss", has_text="suppressed").wait_for()
        page.locator(".chip", has_text="divorced").press("ArrowRight")
        page.set_viewport_size({"width": 1000, "height": 1750})
        picture(page, "html", folder / "setup.png", 1750)


def main(folder: Path, pages: Sequence[str] = ("demo", "report")) -> None:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    folder = folder.resolve()
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        os.chdir(place)
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        if "demo" in pages:
            demo(browser, folder / "start")
        for make in (s3, adult, twelve) if "report" in pages else ():
            make()
            name = make.__name__
            run(["plan", f"{name}.yaml"])
            run(["report", f"{name}.lock.json", "--out", f"{name}.html", "--k", "2,3,5,10"])
        for shot, name, scheme, width, section, tall in SHOTS if "report" in pages else ():
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.goto(Path(f"{name}.html").resolve().as_uri())
            picture(page, section or "html", folder / "guides" / f"{shot}.png", tall)
            context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"), sys.argv[2:] or ("demo", "report"))
