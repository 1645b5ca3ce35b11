"""A spec taken apart: a fingerprint of each part that decides the release, so that a change can be named by its key.

Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

DEPTH = {"columns": 3, "privacy": 2, "search": 2}
"""How deep parts are told apart: columns.zip.hierarchy, privacy.k; other keys of the spec are one part each."""

ORDER = "the order of columns"


def fingerprint(content: Any) -> str:
    """Of a part, or of all of them. Keys are not sorted: the order of columns is the order of distance vectors."""
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def parts_of(content: Mapping[str, Any]) -> dict[str, str]:
    """A short fingerprint of each part.

    >>> list(parts_of({"source": "t", "columns": {"zip": {"role": "identifier"}}, "privacy": {"k": 2}}))
    ['source', 'columns.zip.role', 'privacy.k', 'the order of columns']
    """
    parts = {
        name: fingerprint(part)[:12] for key in content for name, part in _below(key, content[key], DEPTH.get(key, 1))
    }
    return {**parts, ORDER: fingerprint(list(content["columns"]))[:12]}


def changed_parts(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The parts that differ, or stand in only one of two specs; their order only where nothing else differs.

    >>> changed_parts({"source": "a", "privacy.k": "b"}, {"source": "a", "privacy.k": "c", "search.metric": "d"})
    ['privacy.k', 'search.metric']
    """
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    return [name for name in names if name != ORDER] or names


def _below(name: str, part: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth == 1 or not isinstance(part, Mapping):
        yield name, part
        return
    for key, value in part.items():
        yield from _below(f"{name}.{key}", value, depth - 1)
