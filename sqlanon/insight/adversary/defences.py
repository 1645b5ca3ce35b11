"""What `privacy.adversary` asks, measured on a published table beside its source; and what a table cannot show.

`slack` by downcoding, `suppression` by the cells of the source that the release lacks. A margin is in the k that was
drawn; which vectors there were to choose from no table says. Shares nothing with the search or the recodings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from sqlanon.auditor.downcoding import LabelLevels
from sqlanon.auditor.figures import PolicyCheck
from sqlanon.engines.base import Statement
from sqlanon.errors import UsageError
from sqlanon.hierarchies.lattice import Node
from sqlanon.insight.adversary.algorithm import downcode, hierarchies_of, unmeasured
from sqlanon.insight.adversary.minimality import cells_beside_release, shown_levels
from sqlanon.source.run import Run
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.sql.build import equal, named, query, subquery
from sqlanon.sql.relations import Relation, column, literal

SLACK = "privacy.adversary.slack"
CROWD = "privacy.adversary.suppression"
UNSEEN = "privacy.adversary.choice: a table does not show which vectors there were to draw from; the plan says it"
UNREAD = "{}: {} have labels that mean several sets of values; their classes were not measured"

_CROWDS = """
select cast(coalesce(sum(n), 0) as bigint) as suppressed, cast(coalesce(min(n), 0) as bigint) as fewest
from crowds as c
"""


def audit_defences(
    run: Run, target: Relation, suppressed: int | None, levels: Mapping[str, int] | None
) -> tuple[tuple[PolicyCheck, ...], tuple[str, ...]]:
    """What is asked against an adversary, check by check; and what cannot be seen, in words.

    `suppressed` are the rows that the source has more, or that show nothing; `levels` those of a lock file that fits.
    """
    privacy = run.binding.spec.privacy
    row = ALGORITHMS[run.binding.spec.search.algorithm]
    checks: list[PolicyCheck] = []
    notes: list[str] = []
    known = hierarchies_of(run)
    if privacy.slack and "slack" in row.honours:
        reason = unmeasured(run.binding.spec)
        if reason is not None:
            notes.append(f"{SLACK} was not asked of the table: {reason}")
        else:
            check, unread = _slack(run, target, known, privacy.slack)
            checks.append(check)
            notes += [UNREAD.format(SLACK, _rows(unread))] if unread else []
    if privacy.crowd:
        asked = f"none or at least {privacy.crowd} rows, and of each class one level further"
        checks.append(PolicyCheck("suppressed crowds", asked, _crowds(run, target, known, suppressed, levels)))
    if privacy.choice is not None:
        notes.append(UNSEEN)
    return tuple(checks), tuple(notes)


def _rows(number: Any) -> str:
    return "1 row" if int(number) == 1 else f"{int(number)} rows"


def _slack(run: Run, target: Relation, known: Sequence[LabelLevels], least: int) -> tuple[PolicyCheck, int]:
    """Whether whoever knows the algorithm can place nobody, and how many rows have labels that cannot be read."""
    asked = f"at least {least}"
    try:
        found = downcode(run, target, known).after
    except UsageError as error:
        return PolicyCheck("slack", asked, f"{SLACK} was not measured: {error}"), 0
    figures: Mapping[str, Any] = {} if found is None else found.figures
    complaint = ""
    if figures["contradicting"]:
        number, algorithm = int(figures["contradicting"]), run.binding.spec.search.algorithm
        classes = "1 class" if number == 1 else f"{number} classes"
        complaint = f"{SLACK}: {classes} cannot have been made by {algorithm} from this spec; not measured"
    elif figures["pinned"]:
        complaint = f"{SLACK}: whoever knows the algorithm can tell the finer cells of {_rows(figures['pinned'])}"
    elif figures["slack"] is not None and int(figures["slack"]) < least:
        complaint = f"{SLACK}: a class has a slack of {figures['slack']}"
    return PolicyCheck("slack", asked, complaint), int(figures["unread"])


def _crowds(
    run: Run,
    target: Relation,
    known: Sequence[LabelLevels],
    suppressed: int | None,
    levels: Mapping[str, int] | None,
) -> str:
    """What is wrong with the suppressed rows; empty: nothing."""
    least = run.binding.spec.privacy.crowd
    if suppressed is None or suppressed < 0:
        return f"{CROWD} was not measured: the rows of the source do not tell how many are suppressed"
    if not suppressed:
        return ""
    if suppressed < least:
        return f"{CROWD}: {_rows(suppressed)} of the source are suppressed"
    heights = [item.height for item in known]
    shown = shown_levels(run, target, known)
    if levels is not None:
        nodes: list[Node] = [tuple(levels[name] for name in run.binding.names)]
    elif isinstance(shown, str):
        return f"{CROWD} was not measured: {shown}"
    else:
        nodes = list(dict.fromkeys([shown.lowest, shown.highest]))
    fewest = []
    for node in nodes:
        further = tuple(min(level + 1, height) for level, height in zip(node, heights, strict=True))
        number, least_of_class = _of_classes(run, target, known, node, further)
        if number != suppressed:
            return f"{CROWD} was not measured: {_rows(suppressed)} are suppressed, but cells of {number} are missing"
        fewest.append(least_of_class)
    if max(fewest) < least:
        return f"{CROWD}: of the suppressed rows some class one level further has {fewest[-1]}"
    if min(fewest) < least:
        return (
            f"{CROWD} was not measured: labels are the same at several levels; a lock file beside the spec tells them"
        )
    return ""


def _of_classes(run: Run, target: Relation, known: Sequence[LabelLevels], node: Node, further: Node) -> tuple[int, int]:
    """How many rows of the source have a cell that the release lacks, and the fewest of them in a class further up."""
    cells = cells_beside_release(run, target, known, [node, further])
    by = [column(f"c1_{place}") for place in range(len(node))]
    crowds = exp.select(named(exp.Sum(this=column("n")), "n")).from_(subquery(cells, "cells"))
    crowds = crowds.where(equal(column("released"), literal(0))).group_by(*by)
    [(number, fewest)] = run.engine.query(Statement("suppressed crowds", query(_CROWDS, {"crowds": crowds})))
    return int(number), int(fewest)
