"""What `plan --explain` says, against the papers' figures and a brute force over their tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import UsageError
from sqlanon.evaluation import explanation as room
from sqlanon.evaluation import matrix as matrices
from sqlanon.evaluation.explanation import Explanation, explain
from sqlanon.evaluation.problem import answer, matrix_of, problem_of
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.run import Options, Run
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database, case_spec, create_case, prepared
from tests.kit.papers import Case, load_case

SHOWN = Options(explain=True, show_values=True)


def created(name: str, url: str) -> Case:
    """A paper's table, standing in the database."""
    case = load_case(name)
    create_case(Database(url), case)
    return case


def explained(run: Run, frequency: FrequencySet, spec: Spec, node: Node | None = None) -> Explanation:
    """The explanation of what a search chooses, or of any node, on a frequency set that stands."""
    with Scratch(run.engine, run.binding.scratch) as scratch:
        problem = problem_of(replace(run, binding=replace(run.binding, spec=spec), scratch=scratch), frequency)
        evaluator = problem.evaluator()
        matrix = matrix_of(problem, evaluator)
        if node is not None:
            return explain(problem, evaluator, matrix, node, None)
        found = answer(problem, matrix or evaluator)
        return explain(problem, evaluator, matrix, found.chosen.node, found)


def spec_on(case: Case, url: str, columns: dict[str, Any], privacy: dict[str, Any], **search: Any) -> Spec:
    """A spec of its own on the table of a paper."""
    place = {"connection": url, "source": "source_table", "target": "release_table"}
    values = {**case.spec, **place, "columns": columns, "privacy": privacy}
    return spec_from_dict({**values, "search": {"algorithm": "samarati", **search}}, case.directory)


@contextmanager
def asking(name: str, url: str) -> Iterator[Any]:
    """A function from k, limit, search and node to an explanation, on the table of a paper."""
    case = created(name, url)
    with prepared(case_spec(case, url, 2, 0)) as (run, frequency):

        def ask(k: int, limit: int, node: Node | None = None, **search: Any) -> Explanation:
            return explained(run, frequency, case_spec(case, "duckdb:///:memory:", k, limit, **search), node)

        yield ask


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize(
    ("name", "satisfies"), [("c1", "counts"), ("f1", "counts"), pytest.param("s3", "matrix", id="s3")]
)
def test_the_matrices_of_the_figures(engine_url: str, name: str, satisfies: str) -> None:
    """Figure 9 of the chapter, Example (3) of the slides, Figure 11: each entry, found again by the values shown."""
    case = created(name, engine_url)
    figure = case.expected["distance_vectors"]
    k = int(figure["k"])
    plan = pipeline.plan(case_spec(case, engine_url, k, 0, algorithm="samarati", satisfies=satisfies), SHOWN)
    assert plan.explanation is not None
    content = json.loads(json.dumps(plan.explanation.to_dict()))
    found = content["matrix"]
    assert (found["outliers"], found["combinations"]) == (len(figure["rows"]), len(figure["columns"]))
    assert found["left_out"] == {"outliers": 0, "combinations": 0}
    shown = {
        (_values(row), _values(column)): vector
        for row in found["rows"]
        for column, vector in zip(found["columns"], row["distances"], strict=True)
    }
    drawn = {
        (_tuple(case, row["tuple"]), _tuple(case, numbers)): vector
        for row in figure["rows"]
        for numbers, vector in zip(figure["columns"], row["vectors"], strict=True)
    }
    assert shown == drawn
    assert {_values(row): row["rows"] for row in found["rows"]} == {
        _tuple(case, row["tuple"]): len(row["tuple"]) for row in figure["rows"]
    }
    assert content["bounds"]["least_upper_bound"] == figure["least_upper_bound"]
    if name == "s3":
        _check_example_5_1(case, content)


def _values(item: dict[str, Any]) -> tuple[str | None, ...]:
    return tuple(item["values"].values())


def _tuple(case: Case, numbers: list[int]) -> tuple[str | None, ...]:
    return case.tuples[numbers[0] - 1]


def _check_example_5_1(case: Case, content: dict[str, Any]) -> None:
    """No solution that keeps t11 lies below height 6, and the search does not look there."""
    [last] = [row for row in content["matrix"]["rows"] if _values(row) == case.tuples[10]]
    assert last["nearest"] == [[0, 2, 1, 2, 2], [1, 3, 0, 1, 1]]
    assert last["alone_below"] == content["bounds"]["lowest_height"] == 6
    assert content["bounds"]["suppressed_at_least"] == [[0, 11], [1, 1], [6, 0]]
    assert content["bounds"]["searched"] is True
    assert content["heights"][0]["low"] == 6
    assert all(step["try"] >= 6 for step in content["heights"])
    assert content["heights"][-1]["found"] == content["vector"] == [1, 3, 0, 1, 1]
    assert content["minimal"] is True
    assert {step["suppressed"] for step in content["steps_down"]} == {1}


def test_bounds_and_steps_of_figure_9s_table(engine_url: str) -> None:
    """S2: what the paper counts of each vector; and the lower bound at each limit, never above a solution."""
    case = load_case("s2")
    with asking("s2", engine_url) as ask:
        for limit, lowest in ((0, 1), (1, 1), (3, 1), (4, 0)):
            content = ask(2, limit, algorithm="samarati").to_dict()
            least = min(map(sum, case.minimal(2, limit)))
            assert content["bounds"]["lowest_height"] == lowest <= least == sum(content["vector"])
            assert content["minimal"] is True
            for step in (*content["strategy"]["steps"], *content["steps_down"]):
                assert step["suppressed"] == case.outliers(2, tuple(step["vector"]))
        kept = ask(2, 1, (1, 1))
        assert (kept.locally_minimal, kept.minimal) == (True, False), "the second strategy, after example 4.2"
        assert [step.node for step in kept.strategy] == [(0, 0), (0, 1), (1, 1)]
        tie = ask(2, 1, algorithm="minimal", prefer=["minimum_relative_distance"]).to_dict()
    assert [(rival["vector"], rival["relative_distance"], rival["ties"]) for rival in tie["rivals"]] == [
        ([0, 2], 1.0, True),
        ([1, 0], 1.0, True),
    ], "example 6.1: ZIP has height 2"
    assert [rival["distance"] for rival in tie["rivals"]] == [2, 1]


def test_example_6_1_with_a_mask(engine_url: str) -> None:
    """The last step of the mask merges every ZIP: without a level above it the tie is that of the paper's hierarchy."""
    case = created("s2", engine_url)
    mask = {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2], "top": False}}}
    privacy = {"k": 2, "suppression": {"limit": 1}}
    search = {"algorithm": "minimal", "prefer": ["minimum_relative_distance"]}
    plan = pipeline.plan(spec_on(case, engine_url, {**case.spec["columns"], "zip": mask}, privacy, **search), SHOWN)
    assert plan.search.ties == plan.search.minimal == ((0, 2), (1, 0))
    assert plan.explanation is not None
    [rows] = [sheet.rows for sheet in plan.explanation.sheets() if sheet.title == "Minimal vectors"]
    assert rows == (("(0,2)", "2", "1.000", "2", "1", "chosen"), ("(1,0)", "1", "1.000", "2", "1", "ties"))


@pytest.mark.one_engine
def test_every_node_against_all_strategies(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node is locally minimal when some path of single steps meets no acceptable node before it."""
    monkeypatch.setattr(room, "MOST_EXPLAINED", 0)
    case = load_case("s2")
    lattice = Lattice.of_heights(case.heights)

    @cache
    def paths(node: Node) -> list[list[Node]]:
        below = [
            tuple(node[i] - (i == column) for i in range(len(node))) for column in range(len(node)) if node[column]
        ]
        return [[*path, node] for lower in below for path in paths(lower)] or [[node]]

    with asking("s2", engine_url) as ask:
        for limit in (0, 1, 3, 4):
            acceptable = {node for node in lattice if case.outliers(2, node) <= limit}
            for node in lattice:
                found = ask(2, limit, node)
                first = node in acceptable and any(not acceptable & set(path[:-1]) for path in paths(node))
                assert found.strategies == len(paths(node))
                assert [step.node for step in found.strategy] in paths(node)
                assert found.locally_minimal == first
                assert found.minimal == ((node in case.minimal(2, limit)) if node in acceptable else None)
                assert (found.matrix.view, found.heights) == (None, None)
                assert "more than 0" in (found.matrix.reason or "")


def test_the_path_of_datafly_is_its_own(engine_url: str) -> None:
    """S1 at k = 3: it ends at [1,1], locally minimal on its path and not minimal."""
    with asking("s1", engine_url) as ask:
        found = ask(3, 0, algorithm="datafly")
    assert found.own
    assert [(step.column, step.node) for step in found.strategy] == [
        ("", (0, 0)),
        ("zip", (0, 1)),
        ("race", (1, 1)),
    ]
    assert (found.locally_minimal, found.minimal) == (True, False)
    assert [step.node for step in found.down if step.suppressed == 0] == [(1, 0)]
    texts = {sheet.title: sheet.text for sheet in found.sheets()}
    assert texts["Strategy"].startswith("The path that datafly took from (0,0) to (1,1). The node is locally minimal")
    assert "not minimal" in texts["Steps down"]
    assert "Heights tried" not in texts


@pytest.mark.one_engine
def test_a_node_that_is_not_acceptable(engine_url: str) -> None:
    """A report may be about a lock file whose node no longer suffices, because the source has changed."""
    with asking("s2", engine_url) as ask:
        found = ask(2, 0, (0, 0))
        ends, itself = "from (0,0) to (0,0)", "The node itself suppresses more than the limit of 0 rows."
        assert [sheet.text for sheet in found.sheets()][:2] == [
            f"The only path of single steps (strategies) {ends}. {itself}",
            "The node is the lowest that the spec allows: there is no step down.",
        ]
        above = ask(2, 1, (0, 1))
    assert [sheet.text for sheet in above.sheets()][1] == "What each single step down would suppress."


@pytest.mark.one_engine
def test_constraints_are_said(engine_url: str) -> None:
    forbidden = [{"race": 1, "zip": 0}, {"race": 0, "zip": 2}, {"race": 0, "zip": 1}]
    with asking("s2", engine_url) as ask:
        found = ask(2, 2, algorithm="samarati", constraints={"forbidden": forbidden})
    assert found.node == (1, 1)
    assert found.locally_minimal
    assert found.minimal is None
    verdicts = [row[-1] for sheet in found.sheets() if sheet.title == "Steps down" for row in sheet.rows]
    assert "acceptable, not allowed by the constraints" in verdicts


@pytest.mark.one_engine
def test_what_is_left_out_is_counted(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outliers that stay alone longest are kept, and the combinations that lie closest to them."""
    monkeypatch.setattr(matrices, "SHOWN", 2)
    monkeypatch.setattr(room, "LISTED", 1)
    with asking("s3", engine_url) as ask:
        found = ask(2, 0, algorithm="samarati", satisfies="matrix")
        bounded = ask(2, 0, algorithm="optimal", constraints={"before": [["race", "sex"]]})
    content = found.to_dict()["matrix"]
    assert content["left_out"] == {"outliers": 9, "combinations": 9}
    assert sorted(row["alone_below"] for row in content["rows"]) == [1, 6]
    assert [len(row["distances"]) for row in content["rows"]] == [2, 2]
    texts = {sheet.title: sheet for sheet in found.sheets()}
    assert "9 are left out" in texts["Outliers"].text
    assert "Left out: 9 outliers, 9 combinations" in texts["Distance vectors"].text
    assert any("and 1 more" in cell for row in texts["Outliers"].rows for cell in row)
    assert bounded.matrix.bounds is not None
    assert not bounded.matrix.searched


@pytest.mark.one_engine
def test_the_steps_climb_one_level_at_a_time(engine_url: str) -> None:
    """From the lowest levels that the spec allows, which bound the heights too."""
    case = created("c1", engine_url)
    columns = {**case.spec["columns"], "zip": {**case.spec["columns"]["zip"], "levels": {"min": 1}}}
    spec = spec_on(case, engine_url, columns, {"k": 3, "suppression": {"limit": 2}}, satisfies="matrix")
    found = pipeline.plan(spec, Options(explain=True)).explanation
    assert found is not None
    assert found.strategy[0].node == (1, 0, 0)
    assert found.strategy[-1].node == found.node == (1, 1, 0)
    for low, high in pairwise(step.node for step in found.strategy):
        assert sum(high) == sum(low) + 1
    assert found.matrix.bounds is not None
    assert found.matrix.bounds.floors[0] == (1, 7), "the seven rows that [1,0,0] suppresses lie alone at height 1"


STRANGE = [
    ("it's", "a\\b"),
    ("it's", "a\\b"),
    ('say "x"', "ünï\u2028code"),
    (None, "-- '"),
    ("", "-- '"),
    ("", None),
]
NAMES = ("select", 'a "b".C d')


def strange(url: str, **changes: Any) -> Spec:
    """A table whose names and values are as awkward as they come."""
    database = Database(url)
    quoted = ", ".join('"' + name.replace('"', '""') + '" text' for name in NAMES)
    database.run(f"CREATE TABLE odd ({quoted})")
    for row in STRANGE:
        values = ", ".join("NULL" if value is None else "'" + value.replace("'", "''") + "'" for value in row)
        database.run(f"INSERT INTO odd VALUES ({values})")
    columns = {name: {"role": "quasi_identifier"} for name in NAMES}
    search = {"algorithm": "samarati"}
    spec = {"version": 1, "connection": url, "source": "odd", "target": "out", "columns": columns, "search": search}
    return spec_from_dict({**spec, "privacy": {"k": 2}, **changes})


def test_values_are_shown_only_where_they_may_be(engine_url: str) -> None:
    spec = strange(engine_url)
    shown = pipeline.plan(spec, SHOWN).explanation
    hidden = pipeline.plan(spec, Options(explain=True))
    assert shown is not None
    assert hidden.explanation is not None
    combinations = shown.to_dict()["matrix"]["columns"]
    assert {tuple(item["values"].values()): item["rows"] for item in combinations} == {
        row: STRANGE.count(row) for row in STRANGE
    }
    assert all(set(item["values"]) == set(NAMES) for item in combinations)
    assert [sheet.title for sheet in shown.sheets()].count("Combinations") == 1
    written = repr(hidden.to_dict()) + repr(list(hidden.explanation.sheets()))
    values = {value for row in STRANGE for value in row if value}
    assert not [value for value in values if value in written or repr(value)[1:-1] in written]
    near = {tuple(row["nearest"][0]) for row in hidden.explanation.to_dict()["matrix"]["rows"]}
    assert near == {(1, 0), (0, 1), (1, 1)}, "NULL and '' are two values, that meet at the top"


@pytest.mark.one_engine
def test_what_is_not_explained(engine_url: str) -> None:
    """One line for a recoding that searches no lattice; no matrix where more than k of rows is asked."""
    spec = strange(engine_url, search={"algorithm": "mondrian"})
    with pytest.raises(UsageError, match="explain: mondrian does not choose a node of a lattice"):
        pipeline.plan(spec, Options(explain=True))
    case = created("c1", engine_url)
    columns = {**case.spec["columns"], "disease": {"role": "sensitive"}}
    privacy = {"k": 2, "suppression": {"limit": 4}, "l_diversity": [{"column": "disease", "l": 2, "kind": "entropy"}]}
    more = spec_on(case, engine_url, columns, privacy)
    found = pipeline.plan(more, Options(explain=True)).explanation
    assert found is not None
    assert not found.monotone
    sheets = {sheet.title: sheet for sheet in found.sheets()}
    assert "one by one from the lowest" in sheets["Heights tried"].text
    assert "k-anonymity of rows alone" in sheets["Distance vectors"].text
    assert "Bounds" not in sheets
