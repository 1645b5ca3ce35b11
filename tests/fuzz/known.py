"""Faults that are known and open: pairs of an algorithm and a kind of finding, which the default suite tolerates.

`*` stands for every algorithm. A fault that is fixed leaves this list.
"""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.check import Finding

KNOWN: dict[tuple[str, str], str] = {
    ("mondrian", "levels"): "columns.*.levels is ignored",
    ("mondrian", "range ends"): "ranges end at values of people, not at bounds of the lowest allowed level",
    ("mondrian", "constraints"): "search.constraints is ignored",
    ("mondrian", "engine failed"): "a release with `respondent` uses one name for two scratch tables",
    ("personalized", "levels"): "columns.*.levels is ignored",
    ("personalized", "range ends"): "ranges end at values of people, not at bounds of the lowest allowed level",
    ("personalized", "constraints"): "search.constraints is ignored",
    ("greedy", "levels"): "columns.*.levels is ignored",
    ("greedy", "range ends"): "ranges end at values of people, not at bounds of the lowest allowed level",
    ("greedy", "constraints"): "search.constraints is ignored",
    ("forest", "constraints"): "search.constraints is ignored by cell models",
    ("matching", "constraints"): "search.constraints is ignored by cell models",
    **{
        (scheme, kind): reason
        for scheme in ("bhs", "ghs", "gops", "gsps", "ops", "sps", "tds", "genetic", "annealing")
        for kind, reason in (
            ("internal error", "levels.min at the top of a column with NULL"),
            ("range ends", "ranges end at values of people, not at bounds of the lowest allowed level"),
            ("suppressed value", "labels hold values of suppressed rows"),
            ("one value and null", "a column of one value and NULL cannot be released as it is"),
        )
    },
    (
        "*",
        "keeps nothing",
    ): "a generalization that suppresses all rows is listed, or chosen and refused",
    ("*", "failed audit"): "with mode blank and a population, blank rows that match nobody fail the audit",
    ("*", "huge"): "HUGEINT is written to files as DOUBLE",
    ("*", "empty or null"): "csv files do not tell an empty text from NULL",
    ("*", "audit"): "the audit of a csv file reads other names and values than were written",
}

KNOWN_ON: dict[tuple[str, str], str] = {
    ("spark", "window function frame not ordered"): "the audit of an ordered distance",
    ("sqlite", "operational error"): "masks at the left end",
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
