"""Faults that are known and open: pairs of an algorithm and a kind of finding, which the default suite tolerates.

`*` stands for every algorithm. A fault that is fixed leaves this list.
"""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.check import Finding

KNOWN: dict[tuple[str, str], str] = {
    ("*", "failed audit"): "with mode blank and a population, blank rows that match nobody fail the audit; nothing is "
    "published. A csv file whose header has blanks at its ends is refused by the audit too",
}

KNOWN_ON: dict[tuple[str, str], str] = {
    ("sqlite", "parser stack overflow"): "statements that are too deep for the parser of SQLite",
}
"""Faults of one engine: what the message of a statement that failed says."""


def is_known(case: Case, finding: Finding) -> bool:
    """Whether a finding is on the list."""
    if finding.kind == "engine failed" and any(
        engine == case.engine and words in finding.detail for engine, words in KNOWN_ON
    ):
        return True
    return (case.algorithm, finding.kind) in KNOWN or ("*", finding.kind) in KNOWN
