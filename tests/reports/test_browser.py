"""Report and explore in a headless Chromium: nodes clicked, filters, another k, a lock saved; no error, no network,
and nothing that an accessibility checker objects to, in light and dark, on a desktop and on a phone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from sqlanon.cli import explore
from sqlanon.cli.main import run
from sqlanon.hierarchies.lattice import Lattice
from sqlanon.reports.explore import Served
from sqlanon.reports.model import Report
from sqlanon.reports.writing import write
from sqlanon.spec.load import read_document
from tests.kit.rare_values import RARE, people

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.no_cover]


@dataclass
class Watched:
    """A page, and everything it said and asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def click_node(self, *levels: int) -> None:
        """Click a node where it is drawn."""
        x, y = self.page.evaluate("levels => window.sqlanonLattice.position(levels)", list(levels))
        self.page.locator("#lattice-canvas").click(position={"x": x, "y": y})


@contextmanager
def opened(browser: Browser, address: str, **settings: Any) -> Iterator[Watched]:
    context = browser.new_context(**settings)
    page = context.new_page()
    page.set_default_timeout(20_000)
    watched = Watched(page)
    page.on("console", lambda message: watched.said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: watched.said.append(str(error)))
    page.on("request", lambda request: watched.asked.append(request.url))
    page.goto(address)
    yield watched
    context.close()


def objections(page: Page) -> list[str]:
    """What axe-core finds wrong: contrast, labels, roles, structure."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{item['id']}: {node['html'][:120]}" for item in found for node in item["nodes"]]


@pytest.fixture
def report(s3_report: Report, folder: Path) -> Path:
    write(s3_report, "html", folder / "report.html")
    return folder / "report.html"


def test_report(chromium: Browser, report: Path, s3_report: Report) -> None:
    with opened(chromium, report.as_uri(), viewport={"width": 1100, "height": 900}) as desktop:
        page = desktop.page
        assert page.title() == "Release of release.csv: report"
        assert desktop.text("#lattice-count") == "216 of 216 nodes shown"
        desktop.click_node(0, 1, 0, 0, 0)
        details = desktop.text("#lattice-details")
        assert "acceptable, chosen, minimal" in details
        assert "1 of 11 rows (limit 1)" in details
        page.locator("#lattice-keep").click()
        desktop.click_node(0, 0, 0, 0, 0)
        assert "Two nodes compared" in desktop.text("#lattice-details")
        assert "not acceptable" in desktop.text("#lattice-details")
        page.select_option("#filter-1", "1")
        assert desktop.text("#lattice-count") == "36 of 216 nodes shown"
        page.select_option("#filter-state", "minimal")
        assert desktop.text("#lattice-count") == "1 of 216 nodes shown"
        page.locator("#lattice-reset").click()
        page.locator("#lattice-canvas").focus()
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowUp")
        assert "(0,1,0,0,0)" in desktop.text("#lattice-details")
        page.keyboard.press("ArrowDown")
        assert "(0,0,0,0,0)" in desktop.text("#lattice-details")
        page.get_by_text("The same nodes as a table").click()
        assert page.locator("#lattice-rows tr").count() == 50
        assert objections(page) == []
        page.locator("#lattice-more").click()
        assert page.locator("#lattice-rows tr").count() == 216
        page.locator("#lattice-rows button").first.click()
        assert "chosen" in desktop.text("#lattice-details")
        figures = page.get_by_role("columnheader", name="classes before")
        assert not figures.is_visible()
        page.emulate_media(media="print")
        assert figures.is_visible()
        assert desktop.said == []
        assert desktop.asked == [report.as_uri()]
    write(s3_report, "pdf", report.with_suffix(".pdf"))
    assert report.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    phone = {"viewport": {"width": 320, "height": 800}, "color_scheme": "dark", "has_touch": True}
    with opened(chromium, report.as_uri(), **phone) as watched:
        assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert objections(watched.page) == []
        assert watched.said == []


@pytest.fixture
def exploring(duckdb_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a running explore, on a thread of its own."""
    spec = people(duckdb_url, folder)
    made: list[Served] = []
    announced: list[str] = []

    def announce(settings: object, url: str, lock: Path) -> None:
        announced.append(url)

    class Remembered(Served):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(explore, "_announce", announce)
    monkeypatch.setattr("sqlanon.reports.explore.Served", Remembered)
    codes: list[int] = []
    thread = Thread(target=lambda: codes.append(run(["explore", str(spec), "--idle", "60"])))
    thread.start()
    while thread.is_alive() and not announced:
        thread.join(0.05)
    yield announced[0]
    made[0].stop()
    thread.join()
    assert codes == [0]


def test_explore(chromium: Browser, exploring: str, folder: Path) -> None:
    with opened(chromium, exploring, viewport={"width": 1100, "height": 900}) as watched:
        page = watched.page
        status = page.locator("#explore-status")
        assert "24 of 24 nodes shown" in watched.text("#lattice-count")
        # It begins at the answer of the search; levels are named, each with a label.
        details = watched.text("#lattice-details")
        assert "chosen" in details
        assert "as it is (level 0 of 1), like baker" in details
        assert "0: as it is" in watched.text("#filter-0")
        page.select_option("#filter-state", "evaluated")
        evaluated = int(watched.text("#lattice-count").split()[0])
        page.locator("#lattice-reset").click()
        known = {tuple(item[0]) for item in json.loads(page.locator("#lattice-data").text_content() or "")["evaluated"]}
        asked = next(node for node in Lattice.of_heights((2, 1, 3)) if node not in known)
        # What the question costs is told before it is asked.
        x, y = page.evaluate("levels => window.sqlanonLattice.position(levels)", list(asked))
        page.locator("#lattice-canvas").hover(position={"x": x, "y": y})
        assert "a click reads " in watched.text("#lattice-tip")
        assert " combinations, about " in watched.text("#lattice-tip")
        watched.click_node(*asked)
        page.locator("#explore-status", has_text="Evaluated (").wait_for()
        assert "classes" in watched.text("#lattice-details")
        page.select_option("#filter-state", "evaluated")
        assert int(watched.text("#lattice-count").split()[0]) == evaluated + 1
        page.locator("#lattice-reset").click()
        page.fill("#k", "20")
        page.fill("#limit", "0")
        page.locator("#search").click()
        page.locator("#explore-status", has_text="The search chose").wait_for()
        assert "another k or limit" in status.inner_text()
        watched.click_node(1, 0, 0)
        page.locator("#lattice-details", has_text="limit 0").wait_for()
        page.locator("#explore-save").click()
        page.locator("#explore-status", has_text="Wrote (1,0,0)").wait_for()
        assert objections(page) == []
        assert watched.said == []
        assert all(url.startswith((exploring, "data:")) for url in watched.asked)
        assert watched.page.locator("#lattice-details", has_text="asking").count() == 0
        # The set-up tab: Bern dragged into the lake's group, nurses taken to a new one by the keyboard.
        page.locator("#tab-lattice").focus()
        page.keyboard.press("ArrowRight")
        page.locator("#setup-loss", has_text="suppressed").wait_for()
        page.get_by_role("button", name="Edit the hierarchy of city").click()
        page.locator(".chip", has_text="Bern").hover()
        lake = page.get_by_role("group", name="group lake").bounding_box()
        assert lake is not None
        page.mouse.down()
        for share in (0.2, 0.5):
            page.mouse.move(lake["x"] + share * lake["width"], lake["y"] + share * lake["height"])
        page.mouse.up()
        page.locator("#setup-said", has_text="Bern is in lake").wait_for()
        page.locator("#setup-loss", has_text="before the changes").wait_for()
        page.get_by_role("button", name="Edit the hierarchy of job").click()
        page.locator("#setup-board", has_text="Each value by itself").wait_for()
        page.locator("#setup-add").click()
        page.locator(".chip", has_text="nurse").wait_for()
        page.fill("#setup-name", "care")
        page.keyboard.press("Enter")
        page.locator(".chip", has_text="nurse").focus()
        for key in ("Enter", "ArrowRight", "Enter"):
            page.keyboard.press(key)
        page.locator("#setup-said", has_text="nurse is in care").wait_for()
        page.locator("#setup-found", has_text="columns.job.hierarchy").wait_for(state="attached")
        assert objections(page) == []
        assert not any(value in page.content() for values in RARE.values() for value in values)
        page.locator("#setup-allow").check()
        page.locator("#setup-save").click()
        page.locator("#setup-status", has_text="Wrote").wait_for()
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 320, "height": 800})
        page.get_by_role("button", name="Edit the hierarchy of job").click()
        page.locator(".chip", has_text="nurse").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert objections(page) == []
        assert watched.said == []
    columns = read_document((folder / "people.yaml").read_text(encoding="utf-8")).value["columns"]
    assert columns["city"]["hierarchy"]["tree"]["lake"] == ["Genf", "Zug", "Zzyzx", "Bern"]
    assert columns["job"]["hierarchy"]["tree"]["care"] == ["nurse"]
    lock = json.loads((folder / "people.lock.json").read_text(encoding="utf-8"))
    assert lock["recoding"]["levels"] == {"city": 1, "job": 0, "age": 0}
    assert lock["search"]["algorithm"] == "explore"
