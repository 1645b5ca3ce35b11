"""What a valid-looking spec may still be refused for: several problems at once, and models that have yet to come.

Pure. A check that spans keys raises `refuse(...)`; the loader finds the line of each problem by its path.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_core import PydanticCustomError

KeyPath = tuple[str | int, ...]
"""The way to a key of the spec: names of keys, positions in lists."""

Finding = tuple[KeyPath, str]
"""Where something is wrong, below the model that found it, and what."""

SEVERAL = "several_problems"

NOT_AVAILABLE_YET = frozenset(
    {
        "respondent",
        "privacy.l_diversity",
        "privacy.t_closeness",
        "privacy.alpha",
        "privacy.p_sensitive",
        "privacy.beta_likeness",
        "privacy.delta_disclosure",
    }
)
"""Keys of the contract that nothing acts on yet. A release must not look safer than it is, so using one is an error."""


def refuse(findings: Iterable[Finding]) -> None:
    """Raise for what was found, if anything."""
    listed = tuple(findings)
    if listed:
        summary = "; ".join(message for _, message in listed)
        raise PydanticCustomError(SEVERAL, "{summary}", {"summary": summary, "findings": listed})


def require_available(key: str, value: object) -> None:
    """Refuse a key that has a value but nothing behind it yet."""
    if value and key in NOT_AVAILABLE_YET:
        raise ValueError("not available yet in this version; remove it")
