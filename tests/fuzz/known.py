"""Faults that are known and open, which the default suite tolerates: by engine, what the message of a failed statement
says. A fault that is fixed leaves this list.
"""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.check import Finding

KNOWN_ON: dict[tuple[str, str], str] = {
    ("sqlite", "parser stack overflow"): "statements that are too deep for the parser of SQLite",
}


def is_known(case: Case, finding: Finding) -> bool:
    """Whether a finding is on the list."""
    return finding.kind == "engine failed" and any(
        engine == case.engine and words in finding.detail for engine, words in KNOWN_ON
    )
