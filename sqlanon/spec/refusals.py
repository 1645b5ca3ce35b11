"""What a valid-looking spec may still be refused for: several problems at once, each at its key.

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


def refuse(findings: Iterable[Finding]) -> None:
    """Raise for what was found, if anything."""
    listed = tuple(findings)
    if listed:
        summary = "; ".join(message for _, message in listed)
        raise PydanticCustomError(SEVERAL, "{summary}", {"summary": summary, "findings": listed})
