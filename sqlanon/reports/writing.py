"""Writes a report as HTML, Markdown, JSON or PDF; the file appears complete or not at all.

PDF is printed by a Chromium that is installed on this machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from sqlanon.engines.temporaries import private_folder, write_whole
from sqlanon.errors import UsageError
from sqlanon.reports.html import cards, html, lattice_sentence, search_sentence, size_lines
from sqlanon.reports.model import ColumnView, Report
from sqlanon.reports.values import Branch
from sqlanon.reports.words import DISCLAIMER, glossary, number, percent

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


def require_extra(kind: str) -> None:
    """UsageError where a page is wanted and the packages that make one are not installed; nothing is imported."""
    if kind not in ("html", "pdf"):
        return
    for package in ("jinja2", "matplotlib"):
        if find_spec(package) is None:
            raise UsageError(f"a report as {kind} needs {package}: pip install 'sqlanon[report]', or --format md")
    if kind == "pdf":
        browser()


def print_page(page: str, out: Path) -> None:
    """Print a self-contained page to a PDF file, which appears complete or not at all.

    Starts the browser, without background networking and with a profile of its own, and waits for it.
    """
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
        with private_folder(out) as beside:
            whole = beside / "report.pdf"
            shutil.copyfile(printed, whole)
            with whole.open("ab") as file:
                file.write(PDF_MARK)
            whole.replace(out)


SPECIAL = r"\`*_{}[]<>#|~"


def markdown(report: Report) -> str:
    """The whole report as text.

    The same figures and sentences as the page, for tools that review text.
    """
    return "\n".join(_lines(report)) + "\n"


def literal(text: str) -> str:
    r"""A text that Markdown takes for itself.

    >>> literal("a|b *c*")
    'a\\|b \\*c\\*'
    """
    flat = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in SPECIAL else letter for letter in flat)


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(map(literal, heading)) + " |"
    yield "|" + " --- |" * len(heading)
    for row in rows:
        yield "| " + " | ".join(map(literal, row)) + " |"
    yield ""


def _lines(report: Report) -> Iterator[str]:
    identity = report.identity
    yield f"# Release of {literal(identity.target)}"
    yield ""
    maker = f"sqlanon {identity.version} on {literal(identity.engine)}"
    yield f"From {literal(identity.source)}, made {identity.made} by {maker}."
    yield ""
    yield "## Decision"
    yield ""
    yield literal(" ".join(report.decision[part] for part in ("released", "guaranteed", "not_guaranteed")))
    yield ""
    yield from _table(("figure", "value", ""), cards(report))
    for note in report.notes:
        yield f"> {literal(note)}"
        yield ""
    yield "## Requirement and measurement"
    yield ""
    heading = ("requirement", "asked", "source", "release", "rows at risk before", "after", "verdict")
    yield from _table(heading, (_requirement(line) for line in report.requirements))
    if lines := size_lines(report):
        yield "## Class sizes and risk"
        yield ""
        size = "class size (persons)" if report.after is not None and report.after.persons else "class size"
        sizes = (size, "highest risk", "classes before", "rows before", "classes after", "rows after")
        yield from _table(sizes, [(str(a), str(b), *map(number, rest)) for a, b, *rest in lines])
    yield from _sensitive(report)
    for grid in report.more:
        yield f"## {literal(grid.section)}: {literal(grid.title)}"
        yield ""
        yield literal(grid.text)
        yield ""
        yield from _table(grid.heading, grid.rows)
    yield from _columns(report.columns)
    yield from _found(report)
    yield from _end(report)


def _requirement(line: object) -> tuple[str, ...]:
    values = vars(line)
    verdict = {None: "not measured", True: "holds", False: "fails"}[values["satisfied"]]
    counts = ("-" if values[name] is None else number(values[name]) for name in ("rows_before", "rows_after"))
    return (values["name"], values["asked"], values["before"], values["after"], *counts, verdict)


def _sensitive(report: Report) -> Iterator[str]:
    for item in report.sensitive:
        yield f"## Sensitive column {literal(item.column)}"
        yield ""
        what = "values" if item.width is None else "intervals that hold numbers"
        yield f"{number(item.values)} {what}, {number(item.rare)} of them rare and not shown."
        yield ""
        rows = [
            (value, percent(share), *(percent(dict(worst.shares).get(value, 0)) for worst in item.worst))
            for value, share in item.overall.shares
        ]
        yield from _table(("value", "overall", *(worst.name for worst in item.worst)), rows)


def _columns(columns: Sequence[ColumnView]) -> Iterator[str]:
    if columns:
        yield "## Columns"
        yield ""
    for item in columns:
        yield f"### {literal(item.name)}"
        yield ""
        yield from _table(
            ("level", "released as", "labels", "loss", "entropy lost"),
            [
                (
                    f"{line.level}{' (chosen)' if line.level == item.level else ''}",
                    line.released_as,
                    "-" if line.labels is None else number(line.labels),
                    "-" if line.loss is None else f"{line.loss:.3f}",
                    "-" if line.entropy is None else f"{line.entropy:.3f}",
                )
                for line in item.levels
            ],
        )
        if item.tree is not None:
            yield from _branch(item.tree, item.level, 0)
            yield ""


def _branch(branch: Branch, level: int | None, depth: int) -> Iterator[str]:
    indent = "  " * depth
    name = literal("NULL" if branch.label is None else branch.label) or "(empty)"
    mark = "**" if branch.level == level else ""
    yield f"{indent}- {mark}{name}{mark} {percent(branch.share)}"
    for child in branch.children:
        yield from _branch(child, level, depth + 1)
    if branch.others:
        yield f"{indent}  - {number(branch.others)} more"
    if branch.rare:
        yield f"{indent}  - {number(branch.rare)} rare values"


def _found(report: Report) -> Iterator[str]:
    if report.lattice is not None:
        yield "## Lattice"
        yield ""
        yield lattice_sentence(report.lattice)
        yield ""
        chosen = report.lattice.chosen
        marked = [
            ("chosen" if item.verdict.node == chosen else "minimal", item)
            for item in report.lattice.evaluated
            if item.verdict.node == chosen or item.verdict.node in report.lattice.minimal
        ]
        rows = [
            (kind, ",".join(map(str, item.verdict.node)), number(item.verdict.suppressed), number(item.verdict.classes))
            for kind, item in marked
        ]
        yield from _table(("node", f"levels ({', '.join(report.lattice.columns)})", "suppressed", "classes"), rows)
    if report.explanation is not None:
        yield "## Why this node"
        yield ""
        for sheet in report.explanation.sheets():
            yield f"### {literal(sheet.title)}"
            yield ""
            yield literal(sheet.text)
            yield ""
            if sheet.rows:
                yield from _table(sheet.heading, sheet.rows)
    if report.frontier is not None:
        yield "## Privacy against utility"
        yield ""
        metric = report.frontier["metric"]
        cells = [
            (str(cell["k"]), cell["limit"], f"{cell['score'][metric]:.6g}" if "score" in cell else "nothing found")
            for cell in report.frontier["grid"]
        ]
        yield from _table(("k", "limit", metric), cells)
    if report.search is not None:
        yield "## Search"
        yield ""
        yield literal(search_sentence(report).partition(". ")[0] + ".")
        yield ""


def _end(report: Report) -> Iterator[str]:
    if report.sql is not None:
        yield "## SQL"
        yield ""
        yield "```sql"
        yield report.sql.rstrip("\n").replace("```", "` ` `")
        yield "```"
        yield ""
    if report.evidence:
        yield "## Evidence"
        yield ""
        rows = [
            (str(i["run"]), str(i["finished"])[:19], str(i["command"]), number(i["released"])) for i in report.evidence
        ]
        yield from _table(("run", "finished", "command", "rows released"), rows)
    if report.absent:
        yield "## Not in this report"
        yield ""
        for name, why in report.absent:
            yield f"- {literal(name)}: {literal(why)}."
        yield ""
    yield "## Glossary"
    yield ""
    for term, text in glossary():
        yield f"**{literal(term)}**: {literal(text)}"
        yield ""
    yield f"> {literal(DISCLAIMER)}"


FORMATS = ("html", "md", "json", "pdf")
HTML_MARK = b'<meta name="generator" content="sqlanon report">'
MD_MARK = b"# Release of "
JSON_MARK = b'{\n  "identity": {'
PDF_MARK = b"\n% sqlanon report\n"
"""A comment behind the last line of the file, which readers of PDF pass over."""
_HEAD = 4096


def format_of(out: Path | None, kind: str | None = None) -> str:
    """The format that was asked for, else the one that the name of the file ends in, else html.

    >>> format_of(Path("a.markdown")), format_of(Path("a.txt")), format_of(None, "pdf")
    ('md', 'html', 'pdf')
    """
    if kind is not None:
        if kind not in FORMATS:
            raise UsageError(f"a report is written as {', '.join(FORMATS)}")
        return kind
    ending = "" if out is None else out.suffix.removeprefix(".").lower()
    return {"markdown": "md"}.get(ending, ending if ending in FORMATS else "html")


def rendered(report: Report, kind: str) -> str:
    """The text of a report, as html, md or json."""
    match kind:
        case "md":
            return markdown(report)
        case "json":
            return json.dumps(report.to_dict(), indent=2, ensure_ascii=False, default=str) + "\n"
        case _:
            return html(report)


def refuse_other(out: Path, *, replace: bool = False) -> None:
    """UsageError where a file stands that is no report, unless it may be replaced."""
    if not replace and out.is_file() and not _is_report(out):
        raise UsageError(f"{out}: exists and is no report of sqlanon; name another file, or replace it with --force")


def _is_report(path: Path) -> bool:
    """Whether a file is a report of ours, or empty: each format has its mark."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - len(PDF_MARK)))
        tail = file.read()
    return not head or head.startswith((MD_MARK, JSON_MARK)) or HTML_MARK in head or tail == PDF_MARK


def write(report: Report, kind: str, out: Path, *, replace: bool = False) -> None:
    """Write a report in one of the formats, over an older report at most; with `replace`, over any ordinary file."""
    refuse_other(out, replace=replace)
    if kind == "pdf":
        browser()
        print_page(html(report), out)
        return
    text = rendered(report, kind)
    try:
        write_whole(out, text)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror}") from None
