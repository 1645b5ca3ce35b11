"""Results as tables on a terminal.

Plain results in, rich renderables out; no database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from sqlanon.auditor.figures import shown
from sqlanon.auditor.statements.classes import BUCKETS
from sqlanon.cli.console import bar, facts, grid, sparkline
from sqlanon.cli.settings import phases
from sqlanon.cli.words import counted, number, one_line, share, vector
from sqlanon.hierarchies import described
from sqlanon.metrics.base import accuracy, completeness
from sqlanon.release.results import PlanResult, RecodedPlan, RunResult
from sqlanon.spec.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from sqlanon.auditor import AuditResult, Bucket, Check, ColumnFigures, Consistency, GroupResult
    from sqlanon.auditor.breaches import GuardedLevel
    from sqlanon.evaluation.explanation import Sheet
    from sqlanon.insight.together import Finding, Together
    from sqlanon.planning.frontier import Cell, Compared, Comparison, Frontier
    from sqlanon.release.lock_diff import Change
    from sqlanon.release.series.tracks import HistoryFigures
    from sqlanon.spec import Spec

Fact = tuple[str, str]

BAR_WIDTH = 30
PADDING = 3
FOLDED = 6
"""Tables of up to so many columns stand in one piece."""
LISTED_VECTORS = 12


def spent(seconds: Mapping[str, float]) -> Fact:
    """The seconds of each phase."""
    return "seconds", phases(dict(seconds))


def show_plan(console: Console, spec: Spec, plan: PlanResult, *more: Fact) -> None:
    """The levels a plan chose, what they cost, and what else there is to say of it."""
    if isinstance(plan, RecodedPlan):
        console.print(facts([*_recoded_facts(plan), *_planned_sizes(console, spec, plan), *_series(plan), *more]))
        return
    console.print(grid(("column", "level", "released as"), _levels(spec, plan)))
    console.print()
    console.print(facts([*plan_facts(plan), *_planned_sizes(console, spec, plan), *_series(plan), *more]))
    if plan.explanation is not None:
        for sheet in plan.explanation.sheets():
            show_sheet(console, sheet)


def _series(plan: PlanResult) -> Iterator[Fact]:
    """Whom a ledger would hold back."""
    if plan.series is not None:
        for place, line in enumerate(plan.series.lines()):
            yield "" if place else "series", line


def show_sheet(console: Console, sheet: Sheet) -> None:
    """A table of an explanation; one too wide for the terminal in blocks of columns, each with the first column."""
    console.print()
    console.print(one_line(sheet.title), style="bold")
    console.print(one_line(sheet.text))
    for block in _blocks(sheet, console.width) if sheet.rows else ():
        console.print()
        columns = [(sheet.heading[place], [row[place] for row in sheet.rows]) for place in block]
        console.print(grid([name for name, _ in columns], zip(*(cells for _, cells in columns), strict=True)))


def _blocks(sheet: Sheet, width: int) -> list[list[int]]:
    """The columns that fit side by side; few columns stay together, and their texts are folded."""
    if len(sheet.heading) <= FOLDED:
        return [list(range(len(sheet.heading)))]
    widths = [max(map(len, cells)) + PADDING for cells in zip(sheet.heading, *sheet.rows, strict=True)]
    blocks = [[0]]
    for place in range(1, len(widths)):
        if len(blocks[-1]) > 1 and sum(widths[taken] for taken in blocks[-1]) + widths[place] - PADDING > width:
            blocks.append([0])
        blocks[-1].append(place)
    return blocks


def _planned_sizes(console: Console, spec: Spec, plan: PlanResult) -> Iterator[Fact]:
    """The sizes of a plan's classes are rows; where k counts persons, they say so."""
    if spec.respondent is not None:
        yield "k", f"counts persons, told apart by {spec.respondent}"
    yield from class_sizes(console, plan.sizes, "" if spec.respondent is None else " rows")


def changed(changes: Sequence[Change] | None) -> Iterator[Fact]:
    """What a plan changes against the lock file that stood there; nothing where none did."""
    if changes is None:
        return
    for position, line in enumerate(map(str, changes) if changes else ["none since the lock file was written"]):
        yield "" if position else "changes", line


def _recoded_facts(plan: RecodedPlan) -> Iterator[Fact]:
    """What a release that is not full-domain costs, and how it was found."""
    search, chosen = plan.search, plan.chosen
    for name, groups in plan.recoding.group_counts().items():
        yield name, counted(groups, "group")
    yield "suppressed", f"{part(chosen.suppressed, plan.rows)}; the limit is {number(plan.limit)}"
    yield "classes", number(chosen.classes)
    if plan.audit is not None:
        yield from _audited_facts(plan, plan.audit)
    for name, score in plan.scores.items():
        yield name, f"{score:.6g}"
    space = f" of {counted(search.lattice, 'candidate')}" if search.lattice else ""
    yield "checks", f"{number(search.checks)}{space}, by {search.algorithm}"
    if search.proven:
        yield "proven", "no recoding of this kind costs less"
    elif plan.gap is not None:
        yield "not proven", f"the best one costs at most {plan.gap:.2%} less"


def _audited_facts(plan: RecodedPlan, audit: AuditResult) -> Iterator[Fact]:
    """What an algorithm decided that does not itself see to the requirement, and what its audit says."""
    details = plan.recoding.to_dict()["details"]
    yield "levels", ", ".join(f"{name} {level}" for name, level in details["levels"].items())
    blanked = counted(details["cells_blanked"], "cell")
    yield "blanked", f"{blanked} of {counted(details['rows_blanked'], 'row')}"
    verdict = "passed" if plan.satisfied else "failed"
    verdict = "nothing was required" if _nothing_asked(audit) else f"{verdict} over all columns"
    yield "audit", f"{verdict}, k = {audit.k}; {plan.search.algorithm} looks at three columns at a time"


def _levels(spec: Spec, plan: PlanResult) -> Iterator[tuple[str, str, str]]:
    for (name, level), height in zip(plan.levels.items(), plan.heights, strict=True):
        top = str(plan.hierarchies[name]["top"])
        yield name, f"{level} of {height}", described(spec.hierarchy(name), level, height, top)


def plan_facts(plan: PlanResult, one: str = "row", several: str = "rows") -> Iterator[Fact]:
    search, chosen = plan.search, plan.chosen
    yield "suppressed", f"{part(chosen.suppressed, plan.rows, one, several)}; the limit is {number(plan.limit)}"
    yield "classes", number(chosen.classes)
    yield search.metric, f"{search.score:.6g}"
    yield "height", str(sum(chosen.node))
    remembered = len(plan.verdicts) - search.checks
    known = f"; {number(remembered)} more known from the cache" if remembered > 0 else ""
    yield "checks", f"{number(search.checks)} of {counted(search.lattice, 'node')}, by {search.algorithm}{known}"
    if search.minimal:
        found = "" if search.minimal_complete else " (those found)"
        yield "minimal" + found, _vectors(search.minimal)
    if len(search.ties) > 1:
        yield "ties", f"{_vectors(search.ties)}; the first in vector order was taken"
    if search.algorithm in ALGORITHMS and ALGORITHMS[search.algorithm].promise == "heuristic":
        yield "not proven", f"{search.algorithm} takes one greedy path, and may generalize more than needed"
    elif not search.proven:
        yield "not proven", f"search.budget ended the search with {counted(search.undecided, 'node')} undecided"
        if search.gap is not None:
            yield "gap", f"the best node costs at most {search.gap:.2%} less"


def _vectors(nodes: tuple[tuple[int, ...], ...]) -> str:
    more = f" and {number(len(nodes) - LISTED_VECTORS)} more" if len(nodes) > LISTED_VECTORS else ""
    return ", ".join(map(vector, nodes[:LISTED_VECTORS])) + more


def show_frontier(console: Console, result: Frontier) -> None:
    """The grid of a what-if: one line for each requirement."""
    persons = " (persons)" if result.persons else ""
    rows = " (rows)" if result.persons else ""
    heading = (
        f"k{persons}",
        f"limit{rows}",
        f"suppressed{rows}",
        "classes",
        result.metric,
        "accuracy",
        "completeness",
        "levels",
    )
    console.print(grid(heading, [_cell(cell, result) for cell in result.cells], right=(0, 1, 2, 3, 4, 5, 6)))
    console.print()
    checks = f"{number(result.checks)} of {counted(result.lattice, 'node')} for all together, by {result.algorithm}"
    console.print(facts([("checks", checks), spent(result.seconds)]))


def _cell(cell: Cell, result: Frontier) -> tuple[str, ...]:
    asked = ("own" if cell.k is None else number(cell.k), str(cell.limit))
    if cell.found is None:
        return (*asked, *["-"] * 5, cell.why_not)
    chosen = cell.found.chosen
    return (
        *asked,
        number(chosen.suppressed),
        number(chosen.classes),
        f"{cell.found.score:.6g}",
        f"{accuracy(chosen.node, result.heights):.3f}",
        f"{completeness(chosen.suppressed, result.rows):.3f}",
        vector(chosen.node) + _caveat(cell),
    )


def show_comparison(console: Console, result: Comparison) -> None:
    """One line for each algorithm, costs by the same measures."""
    heading = ("algorithm", "loss", "dm", "hdm", "c_avg", "suppressed", "classes", "seconds")
    console.print(grid(heading, [_compared(item) for item in result.compared], right=(1, 2, 3, 4, 5, 6, 7)))


def _compared(item: Compared) -> tuple[str, ...]:
    if item.reason:
        return (item.algorithm, item.reason.partition(":")[0], *["-"] * 6)
    return (
        item.algorithm,
        f"{item.scores['loss']:.4f}",
        f"{item.scores['dm']:,.0f}",
        f"{item.scores['hdm']:,.1f}",
        f"{item.c_avg:.2f}",
        number(item.suppressed),
        number(item.classes),
        f"{item.seconds:.2f}",
    )


def _caveat(cell: Cell) -> str:
    if not cell.satisfied:
        return " (not k-anonymous)"
    return "" if cell.found is not None and cell.found.proven else " (not proven)"


def show_release(console: Console, result: RunResult, *more: Fact) -> None:
    """What was published."""
    publication, audit = result.publication, result.audit
    rows = [
        ("published", result.target),
        ("rows", f"{part(audit.rows, publication.rows)} of the source"),
        ("suppressed", part(publication.suppressed, publication.rows)),
        *([("blanked", number(publication.blanked))] if publication.blanked else []),
        *([] if audit.respondents is None else [("persons", number(audit.respondents))]),
        *_history(publication.history),
        ("audit", f"{_sizes(audit)}, {_verdict(audit)}"),
        spent(result.seconds),
        *more,
    ]
    console.print(facts(rows))


def _history(found: HistoryFigures | None) -> Iterator[Fact]:
    """What a ledger did to a release."""
    if found is None:
        return
    yield "series", f"release {number(found.release)}, {number(found.joined)} new, {number(found.gone)} gone"
    yield "held back", f"{number(found.deferred)} newcomers wait, {number(found.covered)} leave with others"
    if found.staying:
        yield "staying", f"{number(found.staying)} who have left, until enough of them leave together"
    yield "smallest track", f"{number(found.smallest)} people share all of their history"


def show_together(console: Console, together: Together) -> None:
    """What each pair of recipients' releases says together."""
    if not together.findings:
        return
    named = any(item.quasi_identifier for item in together.findings)
    heading = ("recipients", *(["quasi-identifier"] if named else []), "k", "rows in both", "classes", "smallest")
    rows = [_finding(item, named=named) for item in together.findings]
    right = range(len(heading) - 4, len(heading) + 2)
    console.print(grid((*heading, "exposed", "only in one"), rows, right=right))


def _finding(item: Finding, *, named: bool) -> tuple[str, ...]:
    return (
        f"{item.first}, {item.second}",
        *([item.quasi_identifier] if named else []),
        number(item.k),
        number(item.shared),
        number(item.classes),
        "-" if item.smallest is None else number(item.smallest),
        number(item.exposed),
        number(item.only_in_one),
    )


def show_audit(console: Console, audit: AuditResult) -> None:
    """What was measured: the sizes of the classes, the sensitive columns, and the verdict on each requirement."""
    console.print(facts([*_audit_facts(audit), *class_sizes(console, audit.distribution, audit.said_unit)]))
    if audit.distribution:
        console.print()
        show_distribution(console, audit)
    if len(audit.groups) > 1:
        console.print()
        groups = [(group.name, ", ".join(group.columns), *_class_facts(group)) for group in audit.groups]
        k = f"k ({audit.unit})" if audit.by_person else "k"
        console.print(grid(("quasi-identifier", "columns", "classes", k), groups, right=(2, 3)))
    if audit.figures:
        console.print()
        measures = ("distinct l", "entropy l", "t", "beta", "delta", "largest share")
        console.print(grid(("sensitive column", *measures), map(_figures, audit.figures), right=range(1, 7)))
    if audit.breaches is not None:
        console.print()
        headings = ("guarding nodes", "rows", "greatest probability", "average", "rows above")
        console.print(grid(headings, map(_guarded, audit.breaches.levels), right=range(1, 5)))
    asked = [check for check in audit.checks if audit.asked and (check.model != "k" or len(audit.groups) > 1)]
    if asked:
        console.print()
        heading = ("requirement", "asked", "measured", "classes", "rows", "verdict")
        console.print(
            grid(heading, [_check(check, _in_words(audit, check.satisfied)) for check in asked], right=(2, 3, 4))
        )


def _guarded(level: GuardedLevel) -> tuple[str, ...]:
    name = "none" if level.level < 0 else f"level {level.level}"
    return name, number(level.rows), shown(level.maximum), shown(level.average), number(level.above)


def _class_facts(group: GroupResult) -> tuple[str, str]:
    return number(group.sizes.classes), number(group.sizes.k)


def _figures(item: ColumnFigures) -> tuple[str, ...]:
    measures = (item.entropy, item.equal, item.beta, item.delta, item.share)
    return (item.column, number(item.distinct), *map(shown, measures))


def _check(check: Check, verdict: str) -> tuple[str, ...]:
    measured = "-" if check.reason else shown(check.measured)
    at_risk = (number(check.classes_at_risk), number(check.rows_at_risk))
    return (check.name, check.asked, measured, *at_risk, verdict)


def class_sizes(console: Console, distribution: Sequence[Bucket], unit: str = "") -> Iterator[Fact]:
    """The rows in classes of each size, from the smallest to the largest, on a line; `unit` says what sizes count."""
    if not distribution:
        return
    rows = {bucket.low: bucket.rows for bucket in distribution}
    first, last = distribution[0], distribution[-1]
    picture = sparkline(
        [rows.get(low, 0) for low in BUCKETS if first.low <= low <= last.low],
        unicode=console.encoding.lower().startswith("utf"),
    )
    least, most = number(first.least), number(last.most)
    yield "class sizes", f"{picture} {f'all of {least}' if least == most else f'from {least} to {most}'}{unit}"


def show_distribution(console: Console, audit: AuditResult) -> None:
    """How many classes there are of each size, and how many rows they hold."""
    unicode = console.encoding.lower().startswith("utf")
    most = max((bucket.rows for bucket in audit.distribution), default=0)
    rows = [
        (bucket.label, number(bucket.classes), number(bucket.rows), bar(bucket.rows, most, BAR_WIDTH, unicode=unicode))
        for bucket in audit.distribution
    ]
    size = f"class size ({audit.unit})" if audit.by_person else "class size"
    console.print(grid((size, "classes", "rows", ""), rows, right=(0, 1, 2)))


def _audit_facts(audit: AuditResult) -> Iterator[Fact]:
    yield "table", audit.table
    yield "rows", number(audit.rows)
    if audit.respondents is not None:
        yield "persons", number(audit.respondents)
    yield "classes", number(audit.classes)
    k = f"{number(audit.k)}{audit.said_unit}"
    if audit.asked:
        yield "k", f"{k} ({_verdict_of_k(audit)}"
        at_risk = f"{part(audit.rows_at_risk, audit.rows)}, in {counted(audit.classes_at_risk, 'class', 'classes')}"
        yield "at risk", at_risk if audit.rows_at_risk else "no rows"
    else:
        yield "k", f"{k} (nothing was required)"
    if audit.suppressed is not None:
        yield "suppressed", f"{counted(audit.suppressed, 'row')} of the source"
    if audit.consistency is not None:
        yield "rows that fit", _fitting(audit.consistency)
    yield "average risk", f"{100 * audit.average_risk:.2f}%"
    if audit.population is not None:
        people, presence = audit.population, audit.population.greatest_presence
        yield "population", f"every class matches at least {number(people.k_map)} of its rows"
        yield "presence", f"{shown(people.least_presence)} to {shown(presence)} of the matching rows are in the table"


def _fitting(found: Consistency) -> str:
    """The figures of k-anonymity revisited, or why there are none."""
    figures = {"(1,k)": found.one_k, "(k,1)": found.k_one, "(k,k)": found.k_k, "global (1,k)": found.global_one_k}
    known = ", ".join(f"{name} {number(figure)}" for name, figure in figures.items() if figure is not None)
    return "; ".join(part for part in (known, found.reason and f"not measured: {found.reason}") if part)


def _sizes(audit: AuditResult) -> str:
    return f"k = {number(audit.k)}{audit.said_unit} in {counted(audit.classes, 'class', 'classes')}"


def _verdict(audit: AuditResult) -> str:
    if _nothing_asked(audit):
        return "nothing was required of it"
    return "satisfied" if audit.satisfied else "NOT satisfied"


def _nothing_asked(audit: AuditResult) -> bool:
    """Whether every table would have passed: k = 1 alone was asked."""
    others = audit.breaches is not None or audit.consistency is not None
    asked = [check for check in audit.checks if check.model != "k"]
    return not others and not asked and bool(audit.rows) and all(item.sizes.required_k <= 1 for item in audit.groups)


def _verdict_of_k(audit: AuditResult) -> str:
    """What was required of the classes, and whether they have it."""
    if audit.required_k <= 1 and audit.rows:
        return "nothing was required of it)"
    unit = "" if audit.shown else " persons"
    holds = audit.rows > 0 and not audit.classes_at_risk
    return f"required {number(audit.required_k)}{unit}): {_in_words(audit, holds)}"


def _in_words(audit: AuditResult, holds: bool) -> str:
    if not holds:
        return "NOT satisfied"
    return "satisfied" if audit.shown else "not shown"


def part(part: int, whole: int, one: str = "row", several: str = "rows") -> str:
    return f"{number(part)} of {counted(whole, one, several)} ({share(part, whole)})"
