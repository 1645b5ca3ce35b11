"""The pages of the documentation: links and anchors lead somewhere, and every page is reached from docs/index.md."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "index.md"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / ".github").rglob("*.md"),
        *(path for folder in ("examples", "sql", "fixtures", "benchmarks") for path in (ROOT / folder).rglob("*.md")),
    ]
)
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
NAMED_IN_CODE = re.compile(r"\bdocs/[\w./-]+\.(?:md|svg|png)\b")


@cache
def prose(page: Path) -> str:
    """A page without its fenced code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, spelled as GitHub spells them: a second `Example` is `example-1`."""
    found: dict[str, int] = {}
    spelled = set()
    for heading in HEADING.findall(prose(page)):
        shown = LINK.sub("]", heading)
        anchor = re.sub(r"[^\w -]", "", shown.lower()).replace(" ", "-")
        times = found[anchor] = found.get(anchor, -1) + 1
        spelled.add(f"{anchor}-{times}" if times else anchor)
    return spelled


def links(page: Path) -> list[tuple[Path, str]]:
    """The files of the repository that a page links to, each with its anchor or an empty text."""
    targets = [unquote(target) for target in LINK.findall(prose(page)) if not re.match(r"[a-z]+:", target)]
    parts = [target.partition("#") for target in targets]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in parts]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        assert path.exists(), f"{relative(page)} links to {path}, which does not exist"
        if anchor:
            assert anchor in anchors(path), f"{relative(page)} links to #{anchor}, which {relative(path)} does not have"


def test_every_page_is_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [INDEX]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [path for path, _ in links(page) if path.suffix == ".md" and path.is_relative_to(INDEX.parent)]
    lost = {relative(path) for path in INDEX.parent.rglob("*.md")} - {relative(path) for path in reached}
    assert not lost, f"docs/index.md leads to none of {sorted(lost)}"


def test_every_picture_is_shown_by_a_page() -> None:
    shown = {path for page in PAGES for path, _ in links(page)}
    pictures = {path for path in (ROOT / "docs").rglob("*") if path.suffix in (".png", ".svg")}
    assert pictures <= shown, sorted(relative(path) for path in pictures - shown)


def test_pages_that_code_names_exist() -> None:
    folders = [ROOT / name for name in ("sqlanon", "tests", "benchmarks", "sql", "examples")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".sql", ".md", ".yml")]
    named = {
        (relative(path), page)
        for path in [ROOT / "Makefile", ROOT / "pyproject.toml", *files]
        for page in NAMED_IN_CODE.findall(path.read_text(encoding="utf-8"))
    }
    assert named
    gone = sorted(f"{path} names {page}" for path, page in named if not (ROOT / page).exists())
    assert not gone, gone
