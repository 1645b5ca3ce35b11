"""Writes a report in one of its formats; the file appears complete or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from sqlanon.errors import UsageError
from sqlanon.reports.html import html
from sqlanon.reports.markdown import markdown
from sqlanon.reports.model import Report
from sqlanon.reports.pdf import browser, print_page

FORMATS = ("html", "md", "json", "pdf")


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


def write(report: Report, kind: str, out: Path) -> None:
    """Write a report in one of the formats."""
    if kind == "pdf":
        browser()
        print_page(html(report), out)
        return
    temporary = out.with_name(out.name + ".tmp")
    try:
        temporary.write_text(rendered(report, kind), encoding="utf-8", newline="")
        temporary.replace(out)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)
