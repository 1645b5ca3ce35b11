"""The difference of two published tables, as SQL counts it and as brute force does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.auditor.differences import difference_of, shared_columns
from sqlanon.auditor.statements.differences import ComparedBy
from sqlanon.engines.base import Engine
from sqlanon.errors import SourceError
from sqlanon.sql.relations import Table
from tests.kit import differences
from tests.kit.tables import FEW, create, quoted, run

NAMES = ('Zip "of" it\'s', "select", "disease.a", "NOTE", "person")
"""The quasi-identifier, two sensitive columns, one that is neither, and who it is."""
HOSTILE = ("", None, "a", "a ", "A", "'; --", '"', "\\", "é", "*")
KINDS = dict.fromkeys(NAMES, "text") | {NAMES[2]: "int"}

labels = st.sampled_from(HOSTILE)
rows = st.lists(
    st.tuples(labels.filter(lambda value: value != "é"), labels, st.sampled_from((None, 0, 1)), labels, labels),
    max_size=12,
)


@st.composite
def nights(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Two tables that have most rows in common, some of them several times."""
    kept = draw(rows)
    return kept + draw(rows)[:4] + kept[:3], draw(st.permutations(kept)) + draw(rows)[:4]


def compare(engine: Engine, older: list[Any], newer: list[Any], comparison: ComparedBy) -> Any:
    names = []
    for name, values in (("older", older), ("sqlanon_difference_rows", newer)):
        run(engine, f"DROP TABLE IF EXISTS {quoted(name)}")
        create(engine, (name,), KINDS, values)
        names.append(Table((name,)))
    return difference_of(engine, names[0], names[1], comparison)


@FEW
@given(nights(), st.integers(1, 4), st.integers(2, 3), st.booleans())
def test_what_differs_is_what_brute_force_finds(
    shared_engine: Engine, tables: tuple[list[Any], list[Any]], k: int, least: int, persons: bool
) -> None:
    """Every figure of every view, with NULL, empty texts, rows that occur several times, and hostile names."""
    older, newer = tables
    sensitive = {NAMES[1]: (1, least), NAMES[2]: (2, 2)}
    diversity = {name: number for name, (_, number) in sensitive.items()}
    comparison = ComparedBy(NAMES[:1], NAMES[1:4], k, diversity, NAMES[4] if persons else None)
    found = compare(shared_engine, older, newer, comparison)
    person = 4 if persons else None
    # Without a column that names the person, it is no part of what is published.
    expected = {
        ("class", None): differences.view(older, newer, [0], [1, 2, 3], k, sensitive, person),
        ("class", NAMES[1]): differences.view(older, newer, [0], [1], k, {NAMES[1]: (1, least)}, person),
        ("class", NAMES[2]): differences.view(older, newer, [0], [2], k, {NAMES[2]: (2, 2)}, person),
        ("table", None): differences.view(older, newer, [], [1, 2, 3], k, sensitive, person),
    }
    told = {(view.classes, view.column): view.to_dict() for view in found.views}
    assert told.keys() == expected.keys()
    for name, figures in expected.items():
        assert {kind: told[name][kind] for kind in figures} == figures
    classes = [{row[0] for row in table} for table in tables]
    assert found.only_older == sum(row[0] not in classes[1] for row in older)
    assert found.only_newer == sum(row[0] not in classes[0] for row in newer)
    assert found.alone == max(sum(change["alone"] for change in view.values()) for view in expected.values())
    assert found.below_k == max(sum(change["below_k"] for change in view.values()) for view in expected.values())


def test_who_leaves_a_class_takes_the_only_row_along(shared_engine: Engine) -> None:
    """CASES T1: published unchanged, the difference tells p6's row alone, and those of p7 and p8 as two."""
    first = [("A", f"illness {number}", 0, "", "") for number in range(1, 7)]
    second = [*first[:5], ("A", "illness 7", 0, "", ""), ("A", "illness 8", 0, "", "")]
    found = compare(shared_engine, first, second, ComparedBy(NAMES[:1], (NAMES[1],), 3, {NAMES[1]: 2}))
    assert (found.whole.leavers.number, found.whole.leavers.alone) == (1, 1)
    assert (found.whole.joiners.number, found.whole.joiners.smallest, found.whole.joiners.below_k) == (2, 2, 2)
    assert found.one_value == {NAMES[1]: 1}
    assert found.exposing
    assert "1 alone in their class, 3 in groups of fewer than 3" in found.sentence()
    assert "illness" not in str(found.to_dict(statements=True))


def test_three_leavers_of_one_illness(shared_engine: Engine) -> None:
    """CASES T2: three who leave together are enough for k = 3 and tell their illness."""
    stay = [("A", f"illness {number}", 0, "", "") for number in range(3)]
    gone = [("A", "flu", 0, "", "")] * 3
    found = compare(shared_engine, stay + gone, stay, ComparedBy(NAMES[:1], (NAMES[1],), 3, {NAMES[1]: 2}))
    assert (found.alone, found.below_k, found.one_value) == (0, 0, {NAMES[1]: 3})
    assert found.exposing


def test_a_class_that_is_blanked_tells_who_left_it(shared_engine: Engine) -> None:
    """One of five leaves, and the four are released without their quasi-identifier: only the table as a whole tells."""
    five = [("A", f"illness {number}", 0, "", "") for number in range(5)]
    rest = [("B", f"illness {number % 3}", 0, "", "") for number in range(9)]
    four = [("*", *row[1:]) for row in five[1:]]
    found = compare(shared_engine, five + rest, rest + four, ComparedBy(NAMES[:1], (NAMES[1],), 4, {NAMES[1]: 2}))
    assert [(view.classes, view.alone) for view in found.views] == [("class", 0), ("table", 1)]
    assert (found.alone, found.one_value) == (1, {NAMES[1]: 1})


def test_a_column_that_changes_hides_who_left(shared_engine: Engine) -> None:
    """Every note changes every night: rows of all columns tell nothing, those of the illness alone who left."""
    stay = [("A", f"illness {number}", 0, "monday", "") for number in range(5)]
    later = [(*row[:3], "tuesday", "") for row in stay]
    left = [("A", "illness 9", 0, "monday", "")]
    comparison = ComparedBy(NAMES[:1], (NAMES[1], NAMES[3]), 3, {NAMES[1]: 2})
    found = compare(shared_engine, stay + left, later, comparison)
    assert (found.whole.alone, found.whole.leavers.number, found.alone) == (0, 6, 1)
    assert found.one_value == {NAMES[1]: 1}


def test_more_sensitive_columns_than_one_statement_looks_at(shared_engine: Engine) -> None:
    names = [f"s{number}" for number in range(18)]
    for name, rows in (("older", [["A", *names], ["A", *names[1:], "z"]]), ("newer", [["A", *names]])):
        run(shared_engine, f"DROP TABLE IF EXISTS {quoted(name)}")
        create(shared_engine, (name,), dict.fromkeys(["zip", *names], "text"), rows)
    tables = Table(("older",)), Table(("newer",))
    others = shared_columns(shared_engine, tables, ["zip"])
    comparison = ComparedBy(("zip",), others, 2, dict.fromkeys(names, 2))
    found = difference_of(shared_engine, *tables, comparison)
    assert len(found.sql) == 2
    assert len(found.views) == 2 + len(names)
    assert found.one_value == dict.fromkeys(names, 1)
    assert found.whole.leavers.one_value == dict.fromkeys(names, 1)
    with pytest.raises(SourceError, match="older has no column 'age'"):
        shared_columns(shared_engine, tables, ["zip", "age"])
