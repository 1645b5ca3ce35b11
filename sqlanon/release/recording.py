"""From what a run found and published to the facts of its evidence.

Pure; the recorder writes them down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlanon.privacy.base import Requirement
from sqlanon.release.evidence import Facts
from sqlanon.release.results import PlanResult, RunResult
from sqlanon.source.hierarchies import StoredHierarchy

SEARCHED = ("algorithm", "score", "limit", "lattice", "minimal", "minimal_complete", "proven", "undecided", "verified")
"""Of the figures of a plan, those that say how the answer was found."""


def facts_of(
    result: RunResult, hierarchies: Sequence[StoredHierarchy], requirement: Requirement, recipient: str | None
) -> Facts:
    """The facts of a release that stands."""
    heights = {hierarchy.column: hierarchy.height for hierarchy in hierarchies}
    published = result.publication
    return Facts(
        levels={name: (level, heights[name]) for name, level in result.levels.items()},
        requirement=requirement.describe(),
        rows={
            "source": published.rows,
            "suppressed": published.suppressed,
            "blanked": published.blanked,
            "released": published.audit.rows,
        },
        after=published.audit.to_dict(),
        search=None if result.plan is None else _searched(result.plan),
        seconds=result.seconds,
        recipient=recipient,
        reused=result.reused,
        reason=result.reason,
    )


def _searched(plan: PlanResult) -> dict[str, Any]:
    figures = plan.figures()
    known = plan.verdicts
    return {
        **{name: figures[name] for name in SEARCHED},
        "checks": plan.search.checks,
        "combinations": plan.combinations,
        "verdicts": {"known": len(known), "acceptable": sum(item.suppressed <= plan.limit for item in known)},
        "fingerprint": plan.fingerprint,
    }
