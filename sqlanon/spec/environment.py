"""`${NAME}` in the texts of a spec, replaced from the environment; `$${` writes `${` itself.

Reads the environment and nothing else. Expanded texts never appear in a problem.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from sqlanon.spec.refusals import Finding, KeyPath

_VARIABLE = re.compile(r"(\$)?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?")


def expand(value: Any, findings: list[Finding], path: KeyPath = ()) -> Any:
    """The same value with every text in it expanded; what could not be expanded is added to `findings`."""
    if isinstance(value, str):
        return _expand_text(value, findings, path)
    if isinstance(value, Mapping):
        return {key: expand(item, findings, (*path, key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [expand(item, findings, (*path, position)) for position, item in enumerate(value)]
    return value


def _expand_text(text: str, findings: list[Finding], path: KeyPath) -> str:
    def replacement(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        if match[2] is None:
            findings.append((path, "a variable is written ${NAME}; write $${ for the text ${ itself"))
        elif match[2] not in os.environ:
            findings.append((path, f"environment variable {match[2]} is not set"))
        else:
            return os.environ[match[2]]
        return match[0]

    return _VARIABLE.sub(replacement, text)
