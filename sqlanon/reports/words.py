"""The sentences of a report: the decision, what it promises, what it does not, and the glossary.

Pure. Names, levels and counts go in, never a data value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from sqlanon.auditor import AuditResult
from sqlanon.auditor.figures import shown
from sqlanon.reports.model import ColumnView, Identity, RequirementLine
from sqlanon.spec.privacy import MODELS

PROMISES = {
    **{key: entry.promise for key, entry in MODELS.items()},
    "k_map": "every class matches enough people of the population ({asked})",
    "delta_presence": "who of the population is in the release stays uncertain ({asked})",
}


def glossary() -> list[tuple[str, str]]:
    """Terms and what they mean, from the file beside the templates.

    >>> glossary()[0][0]
    'quasi-identifier'
    """
    text = files("sqlanon.reports").joinpath("templates", "glossary.txt").read_text(encoding="utf-8")
    blocks = (block.partition("\n") for block in text.strip().split("\n\n"))
    return [(term, " ".join(meaning.split())) for term, _, meaning in blocks]


DISCLAIMER = (
    "This report states what was required and what was measured. It is no statement of compliance: people must "
    "judge whether that is enough in law, for this recipient, and in view of what else is known."
)


def number(value: int) -> str:
    """
    >>> number(30162)
    '30,162'
    """
    return f"{value:,}"


def percent(part: float) -> str:
    """
    >>> percent(0.0391), percent(0.0003), percent(0)
    ('3.9%', 'below 0.1%', '0%')
    """
    if not part:
        return "0%"
    return "below 0.1%" if part < 0.001 else f"{100 * part:.1f}%"


def listing(words: Sequence[str], most: int = 6) -> str:
    """
    >>> listing(["a", "b", "c"]), listing(["a"]), listing(list("abcdefgh"))
    ('a, b and c', 'a', 'a, b, c, d, e, f and 2 more')
    """
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part) if words else "none"


def decision(
    identity: Identity,
    figures: Mapping[str, Any],
    columns: Sequence[ColumnView],
    requirements: Sequence[RequirementLine],
    audit: AuditResult | None,
    satisfied: bool | None,
    published: bool | None,
) -> dict[str, str]:
    """The decision: what is released, what that guarantees, what it does not."""
    return {
        "released": _released(identity, figures, columns, published),
        "guaranteed": _guaranteed(identity, audit, requirements, satisfied),
        "not_guaranteed": _not_guaranteed(identity, audit),
    }


def _released(
    identity: Identity, figures: Mapping[str, Any], columns: Sequence[ColumnView], published: bool | None
) -> str:
    rows, suppressed = int(figures["rows"]), int(figures["suppressed"])
    verb = {True: "was published", False: "has been planned and not published", None: "was planned"}[published]
    kept = [item.name for item in columns if item.level == 0]
    gone = [item.name for item in columns if item.level is not None and item.level == item.height and item.height]
    between = [
        f"{item.name} (level {item.level} of {item.height})"
        for item in columns
        if item.level is not None and 0 < item.level < item.height
    ]
    limit = f", the limit is {number(int(figures['limit']))}" if "limit" in figures else ""
    released = f"{number(rows - suppressed)} of {number(rows)} rows"
    left_out = f"{number(suppressed)} ({percent(suppressed / rows if rows else 0)}) suppressed{limit}"
    parts = [f"A release of {identity.source} as {identity.target} {verb}: {released}, {left_out}."]
    if not any(item.level is not None for item in columns):
        classes = number(int(figures["classes"]))
        parts.append(f"Recoded by {identity.algorithm} into {classes} classes, each with labels of its own.")
    if kept:
        parts.append(f"Kept as they are: {listing(kept)}.")
    if between:
        parts.append(f"Generalized: {listing(between)}.")
    if gone:
        parts.append(f"Released as one label for all: {listing(gone)}.")
    return " ".join(parts)


def _guaranteed(
    identity: Identity, audit: AuditResult | None, requirements: Sequence[RequirementLine], satisfied: bool | None
) -> str:
    if audit is None:
        asked = listing([line.asked for line in requirements]) if requirements else f"k = {identity.k}"
        return f"The plan requires {asked}. The release itself was not measured for this report."
    if not satisfied:
        return "The requirement does not hold: " + "; ".join(audit.violations) + "."
    unit = "persons" if identity.respondent is not None and audit.respondents is not None else "rows"
    parts = []
    if identity.k > 1:
        parts.append(
            f"every combination of the {len(identity.columns)} quasi-identifying columns that occurs in the release "
            f"occurs in at least {identity.k} {unit} (the smallest class has {number(audit.k)}), so somebody who knows "
            f"all these columns of a person picks their row with a chance of at most {percent(1 / max(1, audit.k))}"
        )
    for check in audit.checks:
        if check.model in PROMISES:
            parts.append(PROMISES[check.model].format(column=check.column or "", asked=check.asked))
    return f"Measured on the release: {'; '.join(parts) or 'the requirement holds'}."


def _not_guaranteed(identity: Identity, audit: AuditResult | None) -> str:
    models = set() if audit is None else {check.model for check in audit.checks}
    parts = ["somebody who knows more about a person than the quasi-identifying columns may still recognize them"]
    if not models & MODELS.keys():
        about = f" ({listing(list(identity.sensitive))})" if identity.sensitive else ""
        parts.append(
            f"if all rows of a class share a sensitive value{about}, everybody who finds the class learns that value"
        )
    if "delta_presence" not in models:
        parts.append("the release does not hide who is in the table")
    parts.append("several releases of the same people can reveal more together than each alone")
    return "Not guaranteed: " + "; ".join(parts) + "."


def measured(figure: Any, reason: str = "") -> str:
    """A measured figure in a table."""
    return "not measured" if reason else shown(figure)
