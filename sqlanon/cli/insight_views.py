"""Risk, attacks and utility as tables on a terminal.

Plain results in, rich renderables out; no database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from sqlanon.cli.console import facts, grid
from sqlanon.cli.words import counted, number, one_line, share
from sqlanon.insight.adversary import AttackResult
from sqlanon.insight.adversary.values import shown
from sqlanon.insight.reidentification import Attacker, ClassRisk, RiskResult, TableRisk
from sqlanon.insight.series import SeriesResult
from sqlanon.insight.usefulness import UtilityResult

LISTED_SUBSETS = 10
LISTED_PAIRS = 10
ERRORS = ("average", "deviation", "median", "largest")


def show_risk(console: Console, result: RiskResult) -> None:
    """The figures of both tables side by side, then the subsets of columns."""
    tables = [result.before, *([result.after] if result.after is not None else [])]
    heading = ("", "before", "after") if result.after is not None else ("", result.before.classes.table)
    console.print(grid(heading, _risk_rows([item.classes for item in tables]), right=(1, 2)))
    if result.before.subsets is not None:
        console.print()
        _show_subsets(console, tables)
    if result.before.special is not None:
        console.print()
        _show_uniques(console, tables)


def _risk_rows(tables: Sequence[ClassRisk]) -> Iterator[tuple[str, ...]]:
    def line(name: str, figure: Callable[[ClassRisk], str]) -> tuple[str, ...]:
        return (name, *map(figure, tables))

    yield line("rows", lambda item: number(item.rows))
    yield line("classes", lambda item: number(item.classes))
    persons = " (persons)" if tables[0].persons else ""
    yield line(f"smallest class{persons}", lambda item: number(item.smallest))
    yield line(tables[0].alone, lambda item: f"{number(item.uniques)} ({share(item.uniques, item.rows)})")
    yield line("highest risk (prosecutor)", lambda item: _percent(item.prosecutor.highest))
    yield line("average risk (prosecutor)", lambda item: _percent(item.prosecutor.average))
    for place, entry in enumerate(tables[0].prosecutor.at_risk):
        name = f"rows above {100 * entry.threshold:g}%"
        yield line(name, lambda item, place=place: _rows(item, item.prosecutor, place))  # type: ignore[misc]  # mypy infers no type for a default
    if any(item.journalist is not None for item in tables):
        yield line(
            "highest risk (journalist)",
            lambda item: _percent(None if item.journalist is None else item.journalist.highest),
        )
        yield line(
            "average risk (journalist)",
            lambda item: _percent(None if item.journalist is None else item.journalist.average),
        )
        yield line(
            "alone in the population too",
            lambda item: "-" if item.population is None else number(item.population.uniques),
        )
    yield line("re-identified on average (marketer)", lambda item: _percent(item.marketer))


def _rows(item: ClassRisk, attacker: Attacker, place: int) -> str:
    return f"{number(attacker.at_risk[place].rows)} ({share(attacker.at_risk[place].rows, item.rows)})"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}%"


def _show_subsets(console: Console, tables: Sequence[TableRisk]) -> None:
    before, *others = [item.subsets for item in tables if item.subsets is not None]
    after = others[0] if others else None
    named = ["", " after"] if after else [""]
    heading = [
        "columns",
        *(f"alone{suffix}" for suffix in named),
        *(f"below {before.k}{suffix}" for suffix in named),
        "distinction",
        *(f"separation{suffix}" for suffix in named),
    ]
    rows = []
    for item in before.found[:LISTED_SUBSETS]:
        both = [item, *([after.of(*item.columns)] if after else [])]
        rows.append(
            (
                ", ".join(item.columns),
                *(number(one.uniques) for one in both),
                *(number(one.at_risk) for one in both),
                f"{item.distinction:.4f}",
                *(f"{one.separation:.4f}" for one in both),
            )
        )
    console.print(grid(heading, rows, right=range(1, len(heading))))
    if len(before.found) > LISTED_SUBSETS:
        console.print(facts([("", f"and {counted(len(before.found) - LISTED_SUBSETS, 'subset')} more, with --json")]))


def _show_uniques(console: Console, tables: Sequence[TableRisk]) -> None:
    for title, item in zip(("before", "after"), tables, strict=False):
        special = item.special
        if special is None:
            continue
        sets = ", ".join(f"{number(count)} of {counted(size, 'column')}" for size, count in special.sets.items())
        weight = sorted(special.contributions.items(), key=lambda pair: -pair[1])[:5]
        columns = ", ".join(f"{name} {100 * part:.0f}%" for name, part in weight if part)
        rows = [
            (f"special uniques {title}", f"{counted(special.rows, 'row')}; minimal unique sets: {sets}"),
            ("highest score", number(special.highest_score)),
            *([("scores come from", columns)] if columns else []),
        ]
        console.print(facts(rows))


def show_attacks(console: Console, result: AttackResult, *, statements: bool) -> None:
    """A line for each attack, then who was re-identified where names were asked for, then the statements."""
    rows = [
        (item.name, item.column or "", shown(item, item.before), shown(item, item.after), item.explained)
        for item in result.attacks
    ]
    console.print(grid(("attack", "column", "before", "after", "what is counted"), rows, right=(2, 3)))
    if result.names is not None:
        console.print()
        console.print(facts([("re-identified", name) for name in result.names] or [("re-identified", "nobody")]))
    for item in result.attacks if statements else ():
        exposure = item.after or item.before
        if exposure is not None:
            console.print()
            console.print(Text(f"-- {item.name} {one_line(item.column or '')}".rstrip()))
            console.print(Text(exposure.sql + ";"), soft_wrap=True)


def show_series(console: Console, result: SeriesResult, *, statements: bool) -> None:
    """A line for each two tables, what stands alone and below k; then the statements."""
    first = result.differences[0].comparison
    told = [f"{name} told" for name in first.diversity]
    heading = ("older", "newer", "left", "came", "alone", f"below {first.k}", *told)
    rows = [
        (
            item.older,
            item.newer,
            number(item.whole.leavers.number),
            number(item.whole.joiners.number),
            number(item.alone),
            number(item.below_k),
            *(number(item.one_value[name]) for name in first.diversity),
        )
        for item in result.differences
    ]
    console.print(grid(heading, rows, right=range(2, len(heading))))
    for item in result.differences if statements else ():
        for text in item.sql:
            console.print()
            console.print(Text(f"-- {one_line(item.older)} {one_line(item.newer)}"))
            console.print(Text(text + ";"), soft_wrap=True)


def show_utility(console: Console, result: UtilityResult) -> None:
    """The measures of the table, of each column, the associations that moved most, means and classifications."""
    table = result.table
    rows = [
        ("rows kept", f"{number(table.kept)} of {number(table.rows)} ({share(table.kept, table.rows)})"),
        ("classes", number(table.classes)),
        ("loss", f"{table.loss:.6g}"),
        ("dm", f"{table.dm:.6g}"),
        ("aecs", f"{table.aecs:.6g}"),
        *(
            (name, f"{value:.6g}")
            for name, value in (
                ("entropy", table.entropy),
                ("precision", table.precision),
                ("height", table.height),
                ("accuracy", table.accuracy),
            )
            if value is not None
        ),
    ]
    console.print(facts(rows))
    console.print()
    columns = [
        (
            item.column,
            "-" if item.level is None else f"{item.level} of {item.height}",
            number(item.values),
            number(item.labels),
            f"{item.loss:.4f}",
        )
        for item in result.columns
    ]
    console.print(grid(("column", "level", "values", "labels", "loss"), columns, right=(2, 3, 4)))
    _show_associations(console, result)
    _show_means(console, result)
    if result.queries is not None:
        console.print()
        show_queries(console, result.queries)
    _show_classifications(console, result)


def _show_associations(console: Console, result: UtilityResult) -> None:
    if not result.associations:
        return
    console.print()
    moved = sorted(result.associations, key=lambda item: -abs(item.corrected_before - item.corrected_after))
    rows = [(" x ".join(item.columns), *(f"{value:.3f}" for value in item.figures)) for item in moved[:LISTED_PAIRS]]
    heading = ("Cramer's V", "before", "after", "corrected before", "corrected after")
    console.print(grid(heading, rows, right=(1, 2, 3, 4)))


def _show_means(console: Console, result: UtilityResult) -> None:
    if not result.means:
        return
    console.print()
    rows = [
        (
            item.column,
            item.by,
            number(item.groups),
            "-" if item.average_difference is None else f"{item.average_difference:.3f}",
            "-" if item.greatest_difference is None else f"{item.greatest_difference:.3f}",
        )
        for item in result.means
    ]
    heading = ("means of", "by", "groups", "average difference", "greatest (deviations)")
    console.print(grid(heading, rows, right=(2, 3, 4)))


def _show_classifications(console: Console, result: UtilityResult) -> None:
    for item in result.classifications:
        console.print()
        name, before, after = item.best
        rows = [
            ("most frequent value", _percent(item.usual_before), _percent(item.usual_after)),
            (f"decision stump on {name}", _percent(before), _percent(after)),
            ("all columns", _percent(item.together_before), _percent(item.together_after)),
        ]
        console.print(grid((f"{item.target} predicted correctly by", "before", "after"), rows, right=(1, 2)))


def show_queries(console: Console, figures: Mapping[str, Mapping[str, float]]) -> None:
    """The relative errors of count queries, by type."""
    heading = ("queries", "number", "average error", "deviation", "median", "largest")
    lines = [
        (kind, number(int(found["queries"])), *(f"{found[name]:.4f}" for name in ERRORS))
        for kind, found in figures.items()
    ]
    console.print(grid(heading, lines, right=range(1, 6)))
