"""k-anonymity revisited: which rows of source and release fit each other, against a brute force over rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sqlanon import pipeline
from sqlanon.auditor import Consistency
from sqlanon.auditor.consistency import RowAssignment
from sqlanon.spec import spec_from_dict
from tests.kit.cells import fitting
from tests.kit.database import Database
from tests.kit.examples import share
from tests.kit.papers import PAPERS, Labels, Row, load_case, read_csv

SMALL = settings(
    max_examples=share(5), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TREE: Labels = {
    "a": ("a", "ab", "*"),
    "b": ("b", "ab", "*"),
    "c": ("c", "c", "*"),
    None: (None, None, "*"),
}
ORIGINALS = st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from(["a", "b", "c", None]))


def spec_values(url: str, names: Sequence[str] = ("x", "y"), **privacy: Any) -> dict[str, Any]:
    hierarchy = {"tree": {"*": {"ab": ["a", "b"], "c": ["c"]}}}
    return {
        "connection": url,
        "source": "original",
        "target": "released",
        "columns": {name: {"role": "quasi_identifier", "hierarchy": hierarchy} for name in names},
        "privacy": {"k": 2, **privacy},
    }


def measured(database: Database, originals: Sequence[Row], released: Sequence[Row], **privacy: Any) -> Consistency:
    database.run("DROP TABLE IF EXISTS original", "DROP TABLE IF EXISTS released")
    types = {"x": "text", "y": "text"}
    database.create("original", types, originals)
    database.create("released", types, released)
    found = pipeline.audit_spec(spec_from_dict(spec_values(database.url, **privacy)), fits=True).consistency
    assert found is not None
    assert database.leftovers() == []
    return found


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """A table and what became of its rows, cell by cell; some rows are left out, some cells are made up."""
    originals: list[Row] = list(draw(st.lists(ORIGINALS, min_size=1, max_size=6)))
    level = st.integers(0, 2)
    released = [tuple(TREE[value][draw(level)] for value in row) for row in originals if draw(st.integers(0, 5))]
    if draw(st.integers(0, 3)) == 0 and len(released) < len(originals):
        released.append(("c", draw(st.sampled_from(["a", "ab", "*"]))))
    return originals, released or [("*", "*")]


@pytest.mark.one_engine
@given(drawn=releases())
@example(drawn=([("a", "a"), ("b", "a")], [("a", "a"), ("a", "a")]))
@example(drawn=([("a", None), ("a", None), ("b", "c")], [("ab", None), ("*", None), ("b", "*")]))
@SMALL
def test_figures_equal_brute_force(engine_url: str, drawn: tuple[list[Row], list[Row]]) -> None:
    originals, released = drawn
    found = measured(Database(engine_url), originals, released)
    expected = fitting(originals, released, [TREE, TREE])
    assert (found.one_k, found.k_one, found.global_one_k) == expected
    assert found.k_k == min(expected[:2])


@pytest.mark.representative(2)
@pytest.mark.parametrize("name", ["classic", "relaxed", "released_row_alone", "original_row_alone"])
@pytest.mark.one_engine
def test_the_slides_four_releases(engine_url: str, name: str) -> None:
    case = load_case("f3")
    _, released = read_csv(PAPERS / "f3" / "releases" / f"{name}.csv")
    database = Database(engine_url)
    database.create("original", case.types, case.rows)
    database.create("released", case.types, released)
    values = {**case.spec, "connection": engine_url, "source": "original", "target": "released"}
    result = pipeline.audit_spec(spec_from_dict(values, case.directory), fits=True)
    expected = case.expected["releases"][name]
    found = result.to_dict()["consistency"]
    assert result.k == expected["k"]
    assert {key: found[key] for key in ("one_k", "k_one", "global_one_k")} == {
        key: expected[key] for key in ("one_k", "k_one", "global_one_k")
    }
    assert fitting(case.rows, released, case.labels) == (found["one_k"], found["k_one"], found["global_one_k"])
    # The slide: the first is 2-anonymous either way, the second only revisited, the others not at all.
    assert result.satisfied == (name == "classic")
    revisited = {**values, "privacy": {"k": 2, "anonymity": "(k,k)"}}
    asked = pipeline.audit_spec(spec_from_dict(revisited, case.directory))
    assert asked.satisfied == (name in {"classic", "relaxed"})
    if not asked.satisfied:
        [line] = asked.violations
        assert line.startswith("anonymity: 1 of "), line
        assert line.endswith("the fewest are 1)"), line


@pytest.mark.one_engine
def test_the_releases_of_the_taxonomy_satisfy_every_kind(engine_url: str) -> None:
    case = load_case("f2")
    database = Database(engine_url)
    database.create("original", case.types, case.rows)
    for name, expected in case.expected["releases"].items():
        _, released = read_csv(PAPERS / "f2" / "releases" / f"{name}.csv")
        database.run("DROP TABLE IF EXISTS released")
        database.create("released", case.types, released)
        values = {**case.spec, "connection": engine_url, "source": "original", "target": "released"}
        values["privacy"] = {**case.spec["privacy"], "suppression": {"limit": 1}}
        result = pipeline.audit_spec(spec_from_dict(values, case.directory), fits=True)
        assert result.satisfied, name
        assert (result.rows, result.classes, result.k) == (expected["rows"], expected["classes"], expected["k"])
        assert result.consistency is not None
        # Classes of k rows fit k rows each way (Gionis et al.); a row that was left out fits none, or k as well.
        assert min(figure or 0 for figure in (result.consistency.k_k, result.consistency.global_one_k)) >= 2, name


GRAPHS = st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=5, max_size=5)


@given(edges=GRAPHS, rows=st.integers(1, 5))
@settings(max_examples=share(150), deadline=None, derandomize=True)
def test_partners_equal_those_of_all_assignments(edges: list[list[bool]], rows: int) -> None:
    """Five originals, up to five released rows; rows 0 and 1 on either side may be one combination."""
    released = range(rows)
    expected: list[set[int]] = [set() for _ in edges]
    for chosen in permutations(range(5), rows):
        if all(edges[o][r] for r, o in enumerate(chosen)):
            for r, o in enumerate(chosen):
                expected[o].add(r)
    pairs = [(o, r) for o in range(5) for r in released if edges[o][r]]
    found = RowAssignment(dict.fromkeys(range(5), 1), dict.fromkeys(released, 1), pairs)
    assert found.complete == any(expected)
    if found.complete:
        assert found.partners() == {o: len(each) for o, each in enumerate(expected)}
        _check_combined(edges, rows)


def _check_combined(edges: list[list[bool]], rows: int) -> None:
    """Equal rows of the source as one combination say what they say one by one."""
    doubled = [edges[0], *edges[:-1]]
    pairs = [(o, r) for o in range(5) for r in range(rows) if doubled[o][r]]
    single = RowAssignment(dict.fromkeys(range(5), 1), dict.fromkeys(range(rows), 1), pairs)
    combined = RowAssignment(
        {0: 2, 1: 1, 2: 1, 3: 1},
        dict.fromkeys(range(rows), 1),
        [(o, r) for o in range(4) for r in range(rows) if edges[o][r]],
    )
    assert combined.complete == single.complete
    if single.complete:
        own = single.partners()
        assert combined.partners() == {o: own[o + 1] for o in range(4)}
        assert own[0] == own[1]


@pytest.mark.parametrize(
    ("held", "released", "expected"),
    [
        (["", "a", "b", "c", "c"], ["ab", "ab", "ab", "c", "c"], (2, 2, 2)),
        (["", "", None, "c", "c"], ["", "", "", "c", "c"], (2, 2, 2)),
        (["", "", None, "a"], ["", "", "", "ab"], (1, 3, 1)),
    ],
)
def test_an_empty_text_keeps_its_labels_where_a_csv_file_shows_it_as_null(
    duckdb_url: str, tmp_path: Path, held: list[str | None], released: list[str], expected: tuple[int, int, int]
) -> None:
    database = Database(duckdb_url)
    database.run("DROP TABLE IF EXISTS original")
    database.create("original", {"x": "text"}, [(value,) for value in held])
    target = tmp_path / "released.csv"
    target.write_text("x\n" + "".join(f'"{label}"\n' if label else '""\n' for label in released))
    values = spec_values(duckdb_url, ["x"]) | {"target": str(target)}
    values["columns"]["x"]["hierarchy"] = {"tree": {"*": {"ab": ["a", "b", ""], "c": ["c"]}}}
    found = pipeline.audit_spec(spec_from_dict(values), fits=True).consistency
    assert found is not None
    assert (found.one_k, found.k_one, found.global_one_k, found.unmatched) == (*expected, 0)
