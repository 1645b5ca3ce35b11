"""What the set-up tab of explore wants of a spec: roles, hierarchies, groups, k and limit, as the page sends them.

Pure. What no page of ours would send is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from sqlanon.draft.grouping import Regroup
from sqlanon.errors import UsageError
from sqlanon.spec import Limit, Role

ROLES: tuple[Role, ...] = get_args(Role)
LONGEST_LABEL = 200
LONGEST_K = 18
"""Digits of a number that every database counts to."""


@dataclass(frozen=True)
class Wanted:
    """What the page wants of the spec, as far as it differs from the file."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    """As the spec writes them, on one line."""
    groups: Mapping[str, tuple[Regroup, ...]] = field(default_factory=dict)
    k: int | None = None
    limit: Limit | None = None
    names_values: bool = False
    """Whether values may be written into the spec that it did not name before."""


def wanted_of(given: Mapping[str, Any]) -> Wanted:
    """What a page sends; UsageError for what no page of ours sends."""
    try:
        columns = given.get("columns", {})
        roles = {str(name): _role(item["role"]) for name, item in columns.items() if item.get("role")}
        texts = {str(name): _one_line(item["hierarchy"]) for name, item in columns.items() if item.get("hierarchy")}
        groups = {
            str(name): tuple(_regroup(change) for change in item["groups"])
            for name, item in columns.items()
            if item.get("groups")
        }
        k = str(given.get("k") or "").strip()
        limit = str(given.get("limit") or "").strip()
        if k and not (k.isdecimal() and len(k) <= LONGEST_K and int(k) >= 1):
            raise UsageError("k: a whole number from 1 on is expected")
        allowed = given.get("names_values") is True
        return Wanted(roles, texts, groups, int(k) if k else None, _limit(limit) if limit else None, allowed)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UsageError("the page sent what cannot be read; load it again") from None


def _limit(text: str) -> Limit:
    try:
        return Limit.parse(text)
    except ValueError as error:
        raise UsageError(f"limit: {error}") from None


def _role(text: object) -> Role:
    for role in ROLES:
        if role == text:
            return role
    raise ValueError("no role")


def _one_line(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError("text is expected")
    return " ".join(line.strip() for line in text.splitlines()).strip()


def _regroup(change: Mapping[str, Any]) -> Regroup:
    kind, level, label, to = change["kind"], change.get("level", 0), change.get("label", ""), change.get("to", "")
    if kind not in ("move", "rename", "add", "drop") or not isinstance(level, int) or not isinstance(label, str):
        raise ValueError("no change of groups")
    if kind in ("move", "rename") and not (isinstance(to, str) and to.strip() and to.isprintable()):
        raise UsageError("a group needs a name")
    if len(to) > LONGEST_LABEL:
        raise UsageError(f"the name of a group has at most {LONGEST_LABEL} letters")
    return Regroup(kind, level, label, to.strip())
