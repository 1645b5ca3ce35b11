"""Lock files that somebody edits: as they stand, or sealed anew, so that only what they say can refuse them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlanon.release.lock import seal_of


def edit_lock(path: Path, change: Callable[[Any], Any], *, seal: bool = True) -> None:
    """Change what a lock file says, and seal it anew unless told otherwise."""
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(sealed(content) if seal else content), encoding="utf-8")


def sealed(content: Any) -> Any:
    """The same content with a seal that fits, where it is an object at all."""
    return {**content, "seal": seal_of(content)} if isinstance(content, dict) else content
