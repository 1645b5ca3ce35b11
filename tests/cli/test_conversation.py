"""`init --interactive` on a pseudo-terminal: what is asked and shown, what is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlanon.spec import load_spec
from tests.kit.commands import CommandLine
from tests.kit.terminal import Terminal

pytestmark = pytest.mark.process

DOWN, ENTER = "\x1b[B", "\r"


@pytest.fixture
def visits(folder: Path) -> Path:
    """Visits of repeated people; one ward, one colour and one age are rare."""
    lines = ["patient_id,zip,age,ward,colour,diagnosis"]
    for row in range(300):
        ward = "Rareward" if row == 7 else f"{'abcdefgh'[row % 8]}ward"
        colour = "\x1b[31mRare" if row == 8 else f"colour {row % 3}"
        lines.append(f"{1000 + row % 120},{94100 + row % 7},{20 + row % 60},{ward},{colour},{('flu', 'hiv')[row % 2]}")
    (folder / "visits.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder


def chosen(terminal: Terminal, question: str, keys: str) -> str:
    """Choose with keys; what was shown before the question."""
    found = terminal.answer(f"  {question} ", keys)
    terminal.expect(f"  {question}: ")
    return found


def test_a_draft_is_talked_over(visits: Path, sqlanon: CommandLine) -> None:
    with Terminal(visits, "init", "visits.csv", "--interactive") as terminal:
        assert "300 rows, 6 columns" in chosen(terminal, "role", ENTER)
        for _ in ("zip", "age", "ward"):
            chosen(terminal, "role", ENTER)
        # With the first letter to identifier, with an arrow on to insensitive.
        evidence = chosen(terminal, "role", "i" + DOWN + ENTER)
        assert "colour: text, 4 distinct values, 0 NULL" in evidence
        assert "unsure: nothing tells what this is" in evidence
        assert "diagnosis" in chosen(terminal, "role", ENTER)
        chosen(terminal, "count by", ENTER)
        shown = chosen(terminal, "use", ENTER)
        assert "zip: {mask:" in shown
        assert "94101 43" in shown
        chosen(terminal, "use", "w" + ENTER)
        terminal.answer("hierarchy, as", "{date: [year]}\n")
        assert "date does not fit" in chosen(terminal, "use", "w" + ENTER)
        terminal.answer("hierarchy, as", "{interval: {widths: [30]}}\n")
        assert "age: {interval: {widths: [30]}}" in chosen(terminal, "use", ENTER)
        ward = chosen(terminal, "use", "v" + ENTER)
        assert "award" in ward
        assert "ward: suppression" in chosen(terminal, "use", ENTER)
        grid = terminal.answer("k [5]:", "7\n")
        assert "accuracy" in grid
        assert "25" in grid
        terminal.answer("limit [2%]:", "a lot\n")
        terminal.answer("limit [2%]:", "3%\n")
        assert terminal.end() == 0
        assert "Rare" not in terminal.shown
    spec = load_spec(visits / "spec.yaml")
    roles = {name: column.role for name, column in spec.columns.items()}
    quasi = dict.fromkeys(("zip", "age", "ward"), "quasi_identifier")
    assert roles == {"patient_id": "identifier", **quasi, "colour": "insensitive", "diagnosis": "sensitive"}
    assert (spec.respondent, spec.privacy.k, str(spec.privacy.suppression.limit)) == ("patient_id", 7, "3%")
    assert "decided on the terminal; guessed quasi_identifier" in (visits / "spec.yaml").read_text()
    assert {path.name for path in visits.iterdir()} == {"visits.csv", "spec.yaml"}
    planned = sqlanon("plan", "spec.yaml", "--json")
    assert planned.code == 0, planned.err


def test_leaving_writes_nothing(visits: Path) -> None:
    with Terminal(visits, "init", "visits.csv", "--interactive", TMPDIR=str(visits)) as terminal:
        chosen(terminal, "role", ENTER)
        terminal.expect("  role ")
        assert terminal.interrupt() == 130
        assert "nothing was published" in terminal.shown
    assert {path.name for path in visits.iterdir()} == {"visits.csv"}


def test_an_identifier_is_not_let_through_and_numbers_do_without_arrows(visits: Path) -> None:
    with Terminal(visits, "init", "visits.csv", "--interactive", TERM="dumb") as terminal:
        terminal.answer("4 insensitive) [3]:", "4\n")
        assert "it is named like a direct identifier" in terminal.answer("4 insensitive) [3]:", "3\n")
        for _ in range(5):
            terminal.answer("4 insensitive)", "3\n")
        assert "at least one column has to be a quasi_identifier" in terminal.expect("4 insensitive)")
        assert terminal.interrupt() == 130


def test_questions_need_a_terminal(sqlanon: CommandLine, visits: Path) -> None:
    assert "needs a terminal to ask on" in sqlanon("init", "visits.csv", "--interactive").err
    for flag in ("--json", "--no-values"):
        assert sqlanon("init", "visits.csv", "--interactive", flag).code == 2
    assert sqlanon("init", "visits.csv", "--interactive", "--out", "-").code == 2
