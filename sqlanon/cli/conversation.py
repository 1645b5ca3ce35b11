"""`sqlanon init --interactive`: the draft, talked over on a terminal before it is written.

Role by role with the evidence, hierarchy by hierarchy with labels and their counts, then k and the limit by a small
grid of what they cost. Asks the database for aggregates, names no label with fewer than k rows, and writes nothing but
the listings of hierarchies, into a private folder that is gone afterwards.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.console import console, grid
from sqlanon.cli.files import csv_text, write_text
from sqlanon.cli.words import counted, number, one_line
from sqlanon.errors import SqlanonError, UsageError

if TYPE_CHECKING:
    from sqlanon.draft.drafting import Draft, DraftedColumn, Proposal
    from sqlanon.planning.frontier import Frontier
    from sqlanon.reports.values import Branch
    from sqlanon.source.run import Options
    from sqlanon.spec import Role, Spec

ROLES = ("quasi_identifier", "sensitive", "identifier", "insensitive")
MEANINGS = {
    "quasi_identifier": "others may know it of a person: it is generalized",
    "sensitive": "private: it is released as it is, models guard it",
    "identifier": "names a person: it stays out",
    "insensitive": "neither: it is released as it is",
}
MOST_LABELS = 6
"""Labels of a level that a preview names."""
LIMITS = ("0%", "2%", "5%")
GRID_SECONDS = 20.0
"""No further k is begun when the grid has taken so long."""

_KEY = re.compile(r"\x1b[\[O][A-Z]|.", re.DOTALL)

Texted = Callable[["Draft"], str]
"""The YAML of a draft, its paths relative to the working directory."""


@dataclass(frozen=True)
class Agreed:
    """What was agreed on."""

    draft: Draft
    k: int
    limit: str


@dataclass(frozen=True)
class ShownLevel:
    """One level of a hierarchy as far as it may be shown."""

    labels: int
    shown: tuple[tuple[str, int], ...]
    """The most frequent labels with their rows, none below k."""


def require_terminal() -> None:
    """UsageError where nobody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--interactive: needs a terminal to ask on; leave it out, and edit the draft")


@dataclass
class Conversation:
    """The questions about one table, asked on stderr."""

    texted: Texted
    connection: str | None
    options: Options

    def __post_init__(self) -> None:
        self._console = console(sys.stderr)

    def talk(self, draft: Draft, k: int, proposed: Callable[[DraftedColumn], Proposal]) -> Agreed:
        """Ask everything; `proposed` gives the hierarchy of a column that becomes a quasi-identifier."""
        self._say(
            f"{counted(draft.rows, 'row')}, {counted(len(draft.columns), 'column')}. Nothing is written before the end."
        )
        self._say("Choose with the arrows or a first letter, confirm with Enter; Ctrl-C leaves without a trace.")
        draft = self._roles(draft, proposed)
        draft = self._respondent(draft)
        draft = self._hierarchies(draft, k)
        return self._requirement(draft, k)

    # -- roles ---------------------------------------------------------------------------------------------------

    def _roles(self, draft: Draft, proposed: Callable[[DraftedColumn], Proposal]) -> Draft:
        self._heading(f"1 of 3: what each column is ({', '.join(ROLES)})")
        while True:
            columns = tuple(self._role(column, proposed) for column in draft.columns)
            if any(column.guess.role == "quasi_identifier" for column in columns):
                return replace(draft, columns=columns)
            self._say("A release generalizes something: at least one column has to be a quasi_identifier.")

    def _role(self, column: DraftedColumn, proposed: Callable[[DraftedColumn], Proposal]) -> DraftedColumn:
        from sqlanon.draft.rules import Guess, doubted

        profile, guess = column.profile, column.guess
        kind = profile.kind.lower() or profile.family.value
        nulls = profile.rows - profile.present
        self._say("")
        self._say(f"{profile.name}: {kind}, {counted(profile.distinct, 'distinct value')}, {number(nulls)} NULL")
        self._say(f"  {'unsure: ' if guess.review else ''}{guess.reason}")
        while True:
            chosen: Role = choose("  role", ROLES, guess.role, MEANINGS)  # type: ignore[assignment]  # one of ROLES
            released = chosen in ("sensitive", "insensitive")
            reason = doubted(profile, chosen) if released and chosen != guess.role else None
            if reason is None:
                break
            self._say(f"  {reason}: it would not be released as {chosen}. If it must be, write why under `accept`.")
        if chosen == guess.role:
            return replace(column, guess=replace(guess, review=False))
        said = Guess(chosen, f"decided on the terminal; guessed {guess.role}: {guess.reason}")
        changed = replace(column, guess=said, proposal=None)
        return replace(changed, proposal=proposed(changed)) if chosen == "quasi_identifier" else changed

    def _respondent(self, draft: Draft) -> Draft:
        keys = [
            column.profile.name
            for column in draft.columns
            if column.guess.role == "identifier" and 1 < column.profile.distinct < column.profile.present
        ]
        if not keys:
            return replace(draft, respondent=None)
        rows = "rows: each is a person of its own"
        self._say("")
        self._say("Identifiers that come in several rows may tell persons apart; k then counts persons, not rows.")
        default = draft.respondent if draft.respondent in keys else rows
        chosen = choose("  count by", (*keys, rows), default or rows, {})
        return replace(draft, respondent=None if chosen == rows else chosen)

    # -- hierarchies ---------------------------------------------------------------------------------------------

    def _hierarchies(self, draft: Draft, k: int) -> Draft:
        self._heading("2 of 3: how each quasi-identifier is generalized")
        previews = self._previews(draft, k)
        columns = list(draft.columns)
        for place, column in enumerate(columns):
            if column.proposal is None:
                continue
            name = column.profile.name
            while True:
                self._preview(columns[place], previews.get(name, ()), k)
                chosen = choose("  use", ("this", "value or nothing", "write another"), "this", {})
                if chosen == "this":
                    break
                changed = _suppressed(columns[place]) if chosen != "write another" else _written(columns[place])
                if changed is None:
                    continue
                try:
                    found = self._previews(replace(draft, columns=(changed,), respondent=None), k)
                except SqlanonError as error:
                    self._say(f"  {one_line(str(error))}")
                    continue
                columns[place], previews = changed, {**previews, **found}
        return replace(draft, columns=tuple(columns))

    def _preview(self, column: DraftedColumn, levels: Sequence[ShownLevel], k: int) -> None:
        assert column.proposal is not None
        self._say("")
        self._say(f"{column.profile.name}: {column.proposal.hierarchy}")
        self._say(f"  {column.proposal.reason}")
        rows = [
            (str(place), number(level.labels), "  ".join(f"{label} {number(rows)}" for label, rows in level.shown))
            for place, level in enumerate(levels)
        ]
        if rows:
            self._console.print(
                grid(("level", "labels", f"the most frequent, each with at least {k} rows"), rows, right=(0, 1))
            )

    def _previews(self, draft: Draft, k: int) -> dict[str, tuple[ShownLevel, ...]]:
        """The levels of every quasi-identifier of the draft."""
        from sqlanon.reports.values import trees
        from sqlanon.source.frequency import scan, store_hierarchies
        from sqlanon.source.hierarchies import report_hierarchy
        from sqlanon.source.run import running

        with self._spec(draft) as spec, running(spec, self.options) as run:
            base = scan(run.engine, run.binding, run.scratch)
            stored = store_hierarchies(run.engine, run.binding, base, run.scratch)
            grown = trees(run.engine, base, stored, k, persons=run.binding.persons)
            labels = {item.column: report_hierarchy(run.engine, item).labels for item in stored}
        return {
            name: tuple(
                ShownLevel(labels[name][level], tuple(_most_frequent(tree, level, base.rows)))
                for level in range(len(labels[name]))
            )
            for name, tree in grown.items()
        }

    # -- k and limit ---------------------------------------------------------------------------------------------

    def _requirement(self, draft: Draft, k: int) -> Agreed:
        from sqlanon.cli.views import show_frontier

        self._heading("3 of 3: how many each person hides among, and how many rows may be left out")
        try:
            show_frontier(self._console, self._frontier(draft, (k, 2 * k, 5 * k)))
        except SqlanonError as error:
            self._say(one_line(str(error)))
        asked = click.prompt("k", default=k, type=click.IntRange(min=1), err=True)
        limit = click.prompt("limit", default="2%", value_proc=_limit, err=True)
        return Agreed(draft, asked, limit)

    def _frontier(self, draft: Draft, ks: Sequence[int]) -> Frontier:
        from sqlanon.planning.decision import prepare
        from sqlanon.planning.frontier import grid_on
        from sqlanon.source.run import running
        from sqlanon.spec import Limit

        limits = [Limit.parse(limit) for limit in LIMITS]
        with self._spec(draft) as spec, running(spec, self.options) as run:
            return grid_on(run, prepare(run), ks, limits, seconds=GRID_SECONDS)

    # -- the spec meanwhile --------------------------------------------------------------------------------------

    @contextmanager
    def _spec(self, draft: Draft) -> Iterator[Spec]:
        """The draft as a spec, while its listings lie in a private folder."""
        from sqlanon.draft.editing import yaml_value
        from sqlanon.spec import spec_from_dict
        from sqlanon.spec.load import read_document

        with tempfile.TemporaryDirectory(prefix="sqlanon-") as folder:
            paths = {name: Path(folder) / f"{place}.csv" for place, name in enumerate(draft.listings)}
            for name, path in paths.items():
                write_text(path, csv_text(draft.listings[name].rows), private=True)
            listed = draft.with_files({name: yaml_value(str(path)) for name, path in paths.items()})
            values: dict[str, Any] = read_document(self.texted(listed)).value
            if self.connection is not None:
                values["connection"] = self.connection
            # Of a part of the columns the others stay out.
            yield spec_from_dict({**values, "default_role": "identifier", "evidence": {"files": False}})

    def _say(self, text: str) -> None:
        click.echo(one_line(text), err=True)

    def _heading(self, text: str) -> None:
        self._console.print()
        self._console.rule(text, align="left")


def _most_frequent(tree: Branch | None, level: int, rows: int) -> Iterator[tuple[str, int]]:
    found = [] if tree is None else [branch for branch in _branches(tree) if branch.level == level]
    for branch in sorted(found, key=lambda branch: -branch.share)[:MOST_LABELS]:
        yield "NULL" if branch.label is None else one_line(branch.label), round(branch.share * rows)


def _branches(tree: Branch) -> Iterator[Branch]:
    yield tree
    for child in tree.children:
        yield from _branches(child)


def _suppressed(column: DraftedColumn) -> DraftedColumn:
    from sqlanon.draft.drafting import Proposal

    return replace(column, proposal=Proposal("suppression", "the value or nothing, decided on the terminal"))


def _written(column: DraftedColumn) -> DraftedColumn | None:
    """The column with a hierarchy as the spec writes it; None where nothing, or no YAML, was written."""
    from sqlanon.draft.drafting import Proposal
    from sqlanon.spec.load import read_document

    text = click.prompt(
        "  hierarchy, as {interval: {widths: [5, 10]}}", default="", show_default=False, err=True
    ).strip()
    document = read_document(text)
    if not text or document.findings or "\n" in text or "#" in text:
        click.echo("  that is no hierarchy; docs/reference/spec.md lists them", err=True)
        return None
    return replace(column, proposal=Proposal(text, "written on the terminal"))


def _limit(text: str) -> str:
    from sqlanon.spec import Limit

    try:
        return str(Limit.parse(text.strip()))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def choose(question: str, choices: Sequence[str], default: str, meanings: dict[str, str]) -> str:
    """One of some choices: arrows or first letters move, Enter takes; by number on a terminal that cannot go back."""
    place = choices.index(default)
    if find_spec("termios") is None or os.environ.get("TERM", "dumb") == "dumb":
        listed = ", ".join(f"{number} {choice}" for number, choice in enumerate(choices, 1))
        kind = click.IntRange(1, len(choices))
        return choices[click.prompt(f"{question} ({listed})", default=place + 1, type=kind, err=True) - 1]
    with _keys() as following:
        while True:
            marked = (f"[{choice}]" if choice == choices[place] else f" {choice} " for choice in choices)
            click.echo(f"\r\x1b[K{question} {one_line(' '.join(marked))}", nl=False, err=True)
            key = following()
            if key in ("\r", "\n"):
                break
            place = _moved(key, place, choices)
    meaning = meanings.get(choices[place])
    told = f"{question}: {one_line(choices[place])}" + (f" ({meaning})" if meaning else "")
    click.echo(f"\r\x1b[K{told}", err=True)
    return choices[place]


def _moved(key: str, place: int, choices: Sequence[str]) -> int:
    """The place that a key leads to."""
    if key in ("\x1b[C", "\x1b[B", "\x1bOC", "\x1bOB", "\t", " "):
        return (place + 1) % len(choices)
    if key in ("\x1b[D", "\x1b[A", "\x1bOD", "\x1bOA", "\x1b[Z"):
        return (place - 1) % len(choices)
    after = [*range(place + 1, len(choices)), *range(place + 1)]
    return next((other for other in after if choices[other].lower().startswith(key.lower())), place)


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Keys one by one as they are pressed, also those that were typed ahead; Ctrl-C interrupts as always."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    typed: list[str] = []

    def following() -> str:
        if not typed:
            read = os.read(terminal, 1024)
            if not read or read == b"\x04":
                raise click.Abort
            typed.extend(_KEY.findall(read.decode(errors="replace")))
        return typed.pop(0)

    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        yield following
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
