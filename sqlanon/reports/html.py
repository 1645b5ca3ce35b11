"""The report as one self-contained page: template, style, script and charts in one text that loads nothing.

Needs the extra `report`: jinja2, which escapes every text, and matplotlib.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sqlanon.errors import UsageError
from sqlanon.reports import charts
from sqlanon.reports.lattice_view import LatticeView
from sqlanon.reports.model import Grid, Report
from sqlanon.reports.words import DISCLAIMER, glossary, number, percent

if TYPE_CHECKING:
    from jinja2 import Environment

TITLES = {
    "requirement": "Requirement",
    "sizes": "Class sizes",
    "sensitive": "Sensitive columns",
    "columns": "Columns",
    "lattice": "Lattice",
    "explanation": "Why this node",
    "frontier": "Privacy against utility",
    "search": "Search",
    "sql": "SQL",
    "evidence": "Evidence",
    "absent": "Not in this report",
    "glossary": "Glossary",
}


def environment() -> Environment:
    """The templates; every text is escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise UsageError("a page needs jinja2: pip install 'sqlanon[report]'") from None
    found = Environment(
        loader=PackageLoader("sqlanon.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found.filters |= {
        "number": number,
        "percent": percent,
        "count": lambda value: "-" if value is None else number(value),
        "share": lambda value: "-" if value is None else f"{value:.3f}",
        "shared": lambda shares, value: dict(shares).get(value),
    }
    return found


def text_of(name: str) -> str:
    """A file beside the templates."""
    return files("sqlanon.reports").joinpath("templates", name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """What a content security policy allows the script by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def embedded_json(content: Any) -> str:
    """JSON that may stand within a script element, whatever its texts are.

    >>> embedded_json({"a": "</script>"})
    '{"a":"\\\\u003c/script>"}'
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def html(report: Report) -> str:
    """The page."""
    from markupsafe import Markup

    charts.require_charts()
    drawn = drawings(report)
    script = text_of("lattice.js")
    lattice = None if report.lattice is None else report.lattice.to_dict()
    groups = _groups(report.more)
    context = {
        "report": report,
        "style": Markup(text_of("style.css")),
        "script": Markup(script),
        "script_hash": Markup(script_hash(script) if lattice is not None else "'none'"),
        "charts": _marked(drawn),
        "lattice": lattice,
        "lattice_json": Markup(embedded_json(lattice)),
        "lattice_sentence": "" if report.lattice is None else lattice_sentence(report.lattice),
        "search_sentence": search_sentence(report),
        "frontier_note": frontier_note(report),
        "size_lines": size_lines(report),
        "cards": cards(report),
        "groups": groups,
        "contents": _contents(report, drawn, groups),
        "glossary": glossary(),
        "disclaimer": DISCLAIMER,
    }
    return environment().get_template("report.html").render(context)


def drawings(report: Report) -> dict[str, Any]:
    """The charts of a report, by section; None or empty where there is nothing to draw."""
    found: dict[str, Any] = {"sizes": None, "risks": None, "sensitive": [], "frontier": None, "search": []}
    if report.before is not None and report.after is not None and report.after.rows:
        found["sizes"] = charts.class_sizes(report.before, report.after)
        found["risks"] = charts.risks(report.before, report.after)
    found["sensitive"] = [charts.shares(f"s{place}", item) for place, item in enumerate(report.sensitive)]
    if report.frontier is not None:
        found["frontier"] = charts.frontier(report.frontier["grid"], report.frontier["metric"])
    if report.search is not None and report.search.asked:
        found["search"].append(charts.questions(report.search))
        if len(report.search.undecided) > 2:
            found["search"].append(charts.undecided(report.search))
        if report.search.iterations:
            found["search"].append(charts.iterations(report.search))
    return found


def _marked(drawn: Mapping[str, Any]) -> dict[str, Any]:
    from markupsafe import Markup

    return {
        name: [Markup(item) for item in value] if isinstance(value, list) else value and Markup(value)
        for name, value in drawn.items()
    }


def _groups(grids: Sequence[Grid]) -> list[dict[str, Any]]:
    """Sections of other analyses, those with one title together."""
    found: dict[str, list[Grid]] = {}
    for grid in grids:
        found.setdefault(grid.section, []).append(grid)
    return [{"id": name.lower(), "title": name, "grids": items} for name, items in found.items()]


def _contents(report: Report, drawn: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    there = {
        "sizes": drawn["sizes"],
        "sensitive": report.sensitive,
        "columns": report.columns,
        "lattice": report.lattice,
        "explanation": report.explanation,
        "frontier": drawn["frontier"],
        "search": drawn["search"],
        "sql": report.sql,
        "absent": report.absent,
    }
    found = [("decision", "Decision")]
    for name, title in TITLES.items():
        if there.get(name, True):
            found.append((name, title))
        if name == "sensitive":
            found += [(group["id"], group["title"]) for group in groups]
    return found


def cards(report: Report) -> list[tuple[str, str, str]]:
    """The figures that come first: a name, a value, a remark."""
    figures, after = report.figures, report.after
    rows, suppressed = int(figures["rows"]), int(figures["suppressed"])
    found = [
        ("rows released", number(rows - suppressed), f"of {number(rows)}"),
        (
            "suppressed",
            percent(suppressed / rows if rows else 0),
            f"{number(suppressed)} of limit {number(int(figures['limit']))}",
        ),
        ("classes", number(int(figures["classes"])), ""),
    ]
    if after is not None and after.rows:
        persons = " persons" if after.persons else ""
        found.insert(0, ("smallest class", number(after.k) + persons, f"asked: {number(report.identity.k)}{persons}"))
        found.append(("highest risk", percent(1 / after.k if after.k else 0), f"average {percent(after.average_risk)}"))
    for metric, score in figures.get("score", {}).items():
        found.append((str(metric), f"{score:.4g}", "of the plan"))
    return found


def size_lines(report: Report) -> list[tuple[Any, ...]]:
    """The distribution of class sizes before and after, as a table."""
    if report.before is None or report.after is None:
        return []
    buckets = {(b.low, b.high) for sizes in (report.before, report.after) for b in sizes.distribution}
    lines: list[tuple[Any, ...]] = []
    for low, high in sorted(buckets, key=lambda ends: ends[0]):
        cells: list[int] = []
        for sizes in (report.before, report.after):
            here = [bucket for bucket in sizes.distribution if bucket.low == low]
            cells += [sum(b.classes for b in here), sum(b.rows for b in here)]
        lines.append((charts.size_label(low, high), percent(1 / low), *cells))
    return lines


def lattice_sentence(view: LatticeView) -> str:
    """How much of the lattice is known."""
    nodes, good, bad = view.counts
    known = f"{number(len(view.evaluated))} of {number(nodes)} nodes were evaluated by the database"
    if not view.monotone:
        return f"{known}; this requirement is not monotone, so nothing follows from one node for another."
    left = number(nodes - good - bad)
    return (
        f"{known}; with what follows from them {number(good)} are acceptable, {number(bad)} are not, "
        f"{left} did not have to be known."
    )


def search_sentence(report: Report) -> str:
    if report.search is None:
        return ""
    asked = len(report.search.asked)
    nodes = int(report.figures.get("lattice") or 0)
    of = f" of {number(nodes)}" if nodes else ""
    return (
        f"{report.search.algorithm} asked the database for {number(asked)}{of} nodes. "
        "Each mark is one question, in the order in which they were asked."
    )


def frontier_note(report: Report) -> str:
    if report.frontier is None:
        return ""
    return f"{number(int(report.frontier['checks']))} nodes were evaluated for all of them together."
