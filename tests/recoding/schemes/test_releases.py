"""Releases by the schemes of Li and Li, end to end: exact ones against brute force over the source's own rows."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import pytest
import yaml

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError, SpecError, UsageError
from sqlanon.recoding import Cuts
from sqlanon.release.lock import Lock
from sqlanon.search.schemes.domain import LeafDomain
from sqlanon.search.schemes.families import SCHEMES, EnumerationTree
from sqlanon.search.schemes.problem import Space
from sqlanon.spec import Spec
from tests.kit.commands import CommandLine
from tests.kit.database import Database, changed
from tests.kit.fake_schemes import FakeEvaluator, brute_force

MARITAL, AGE = "Ma'rital. Select", "age"
TYPES = {MARITAL: "text", AGE: "integer", "disease": "text"}
VALUES = ["married", "wid\\ow", "divörced", "single", "", None]
"""As the tree lists them; NULL last."""
AGES = [17, 21, 25, 34, 52]
TREE = {"been": ["married", "wid\\ow", "divörced"], "nev'er": ["single", ""]}
DOMAINS = (
    LeafDomain.of(6, [(0, 0, 0, 1, 1, 2)], apart=True),
    LeafDomain.of(5, [(0, 1, 1, 2, 3), (0, 0, 0, 0, 1)]),
)
COUNTS: dict[tuple[int, ...], int] = {
    (0, 0): 4, (0, 1): 1, (0, 3): 5, (1, 1): 2, (1, 4): 3, (2, 2): 1, (2, 3): 2,
    (3, 0): 6, (3, 2): 1, (4, 1): 1, (4, 4): 2, (5, 0): 3, (5, 4): 1,
}  # fmt: skip
ROWS = [
    (VALUES[marital], AGES[age], ("flu", "cold", "HIV")[number % 3])
    for (marital, age), rows in COUNTS.items()
    for number in range(rows)
]
SPEC: dict[str, Any] = {
    "source": "people",
    "target": "released",
    "columns": {
        MARITAL: {"role": "quasi_identifier", "hierarchy": {"tree": TREE}},
        AGE: {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 40], "min": 0, "max": 80}}},
        "disease": {"role": "sensitive"},
    },
    "privacy": {"k": 3, "suppression": {"limit": "20%"}},
}


@pytest.fixture
def database(engine_url: str) -> Database:
    return filled(engine_url)


def filled(url: str) -> Database:
    found = Database(url)
    found.create("people", TYPES, ROWS)
    return found


def spec_of(database: Database, algorithm: str, **search: Any) -> Spec:
    return changed(SPEC, connection=database.url, search={"algorithm": algorithm, **search})


def least_cost(schemes: tuple[str, str], metric: str, k: int = 3) -> float:
    space = Space(tuple(EnumerationTree(SCHEMES[name], domain) for name, domain in zip(schemes, DOMAINS, strict=True)))
    rows = len(ROWS)
    found = brute_force(space, FakeEvaluator(COUNTS, [6, 5], k, rows // 5, metric))
    assert found is not None
    return found


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize(
    ("metric", "direction", "names"),
    [
        ("dm", "bottom_up", ["ghs", "sps"]),
        ("hdm", "top_down", ["gsps", "ops"]),
        pytest.param("hdm", "bottom_up", sorted(SCHEMES), marks=pytest.mark.soak),
        pytest.param("dm", "top_down", sorted(SCHEMES), marks=pytest.mark.soak),
    ],
)
def test_every_scheme_is_solved_exactly(database: Database, metric: str, direction: str, names: list[str]) -> None:
    for name in names:
        found = pipeline.plan(spec_of(database, name, metric=metric, direction=direction))
        assert found.search.proven
        assert found.search.score == pytest.approx(least_cost((name, name), metric), abs=1e-6), name


@pytest.mark.one_engine
def test_schemes_mix(database: Database) -> None:
    columns = {
        MARITAL: {**SPEC["columns"][MARITAL], "scheme": "gsps"},
        AGE: {**SPEC["columns"][AGE], "scheme": "ops"},
        "disease": {"role": "sensitive"},
    }
    spec = changed(SPEC, connection=database.url, columns=columns, search={"algorithm": "bhs", "metric": "hdm"})
    assert pipeline.plan(spec).search.score == pytest.approx(least_cost(("gsps", "ops"), "hdm"), abs=1e-6)


@pytest.mark.one_engine
def test_a_release_is_planned_locked_applied_and_audited(database: Database, tmp_path: Path) -> None:
    spec = spec_of(database, "sps")
    planned = pipeline.plan(spec)
    Lock.of(spec, planned, "spec.yaml").write(tmp_path / "spec.lock.json")
    lock = Lock.read(tmp_path / "spec.lock.json")
    assert isinstance(lock.flexible, Cuts)
    result = pipeline.apply(spec, lock)
    assert result.audit.k is not None
    assert result.audit.k >= 3
    published = database.counted("released")
    assert pipeline.audit_spec(spec).satisfied
    assert sum(published.values()) == len(ROWS) - result.publication.suppressed
    classes = Counter[Any]()
    for row, rows in published.items():
        classes[row[:2]] += rows
    assert min(classes.values()) >= 3
    assert planned.search.chosen.suppressed == result.publication.suppressed
    assert planned.search.chosen.classes == len(classes)
    lost = result.publication.suppressed
    assert planned.to_dict()["score"]["dm"] == sum(rows * rows for rows in classes.values()) + len(ROWS) * lost
    assert "released" in pipeline.script(spec, lock)
    assert database.leftovers() == []


def test_labels_say_what_they_cover(database: Database) -> None:
    """Ranges of numbers, nodes of the hierarchy by their names, sets of the rest; NULL stays NULL below the top."""
    columns = {**SPEC["columns"], MARITAL: {**SPEC["columns"][MARITAL], "scheme": "ghs"}}
    columns[AGE] = {**SPEC["columns"][AGE], "scheme": "ops"}
    spec = changed(SPEC, connection=database.url, columns=columns, search={"algorithm": "sps"})
    recoding = pipeline.plan(spec).recoding
    assert isinstance(recoding, Cuts)
    marital, age = recoding.groups
    for group in marital:
        if len(group.values) > 1:
            assert group.label in ("been", "nev'er", "*")
    for group in age:
        named = {1: group.values[0]}.get(len(group.values), f"[{group.values[0]}-{group.values[-1]}]")
        assert group.label in (named, "[20-30)", "[0-40)", "[20, 30[", "*") or group.label.startswith("[")


@pytest.mark.one_engine
def test_levels_below_the_least_are_never_released(database: Database) -> None:
    columns = {**SPEC["columns"], AGE: {**SPEC["columns"][AGE], "levels": {"min": 1}}}
    spec = changed(SPEC, connection=database.url, columns=columns, search={"algorithm": "sps"}, privacy={"k": 1})
    pipeline.run(spec)
    assert not {row[1] for row in database.counted("released")} & {str(age) for age in AGES}


@pytest.mark.one_engine
def test_other_models_are_class_predicates(database: Database) -> None:
    """l-diversity decides over classes too: the least cost over all generalizations, counted by hand."""
    privacy = {"k": 2, "l_diversity": [{"column": "disease", "l": 2}], "suppression": {"limit": "30%"}}
    for kind, direction in (("distinct", "bottom_up"), ("entropy", "top_down")):
        privacy["l_diversity"] = [{"column": "disease", "l": 2, "kind": kind}]
        search = {"algorithm": "ghs", "direction": direction}
        result = pipeline.run(changed(SPEC, connection=database.url, privacy=privacy, search=search))
        assert result.plan is not None
        assert result.plan.search.proven
        assert result.plan.search.score == least_diverse(kind)
        assert result.audit.satisfied


def least_diverse(kind: str) -> float:
    spaces = [list(SCHEMES["ghs"].generalizations(domain)) for domain in DOMAINS]
    best = float("inf")
    for marital, age in product(*spaces):
        classes: dict[tuple[int, int], Counter[str]] = {}
        for value, years, disease in ROWS:
            key = (marital[VALUES.index(value)], age[AGES.index(years)])
            classes.setdefault(key, Counter())[disease] += 1
        cost, lost = 0.0, 0
        for held in classes.values():
            rows = held.total()
            entropy = -sum(n / rows * log(n / rows) for n in held.values())
            diverse = len(held) >= 2 if kind == "distinct" else entropy >= log(2) - 1e-12
            if rows >= 2 and diverse:
                cost += rows * rows
            else:
                lost += rows
        if lost <= len(ROWS) * 3 // 10:
            best = min(best, cost + lost * len(ROWS))
    return best


@pytest.mark.representative(1)
@pytest.mark.parametrize("algorithm", ["genetic", "annealing"])
def test_heuristics_are_valid_and_reproducible(duckdb_url: str, algorithm: str) -> None:
    check_heuristic(filled(duckdb_url), algorithm)


@pytest.mark.one_engine
def test_top_down_specialization_is_valid_on_both_engines(database: Database) -> None:
    check_heuristic(database, "tds")


def check_heuristic(database: Database, algorithm: str) -> None:
    spec = spec_of(database, algorithm, metric="hdm", seed=7)
    first, again = pipeline.plan(spec), pipeline.run(spec)
    assert again.plan is not None
    assert first.recoding == again.plan.recoding
    assert again.audit.satisfied
    assert not first.search.proven
    assert first.to_dict()["gap"] is None
    least = least_cost(("ghs", "ghs"), "hdm")
    assert least - 1e-6 <= first.search.score
    assert first.search.chosen.suppressed <= len(ROWS) // 5


@pytest.mark.one_engine
def test_a_budget_reports_the_proven_gap(database: Database) -> None:
    found = pipeline.plan(spec_of(database, "sps", budget={"nodes": 60})).to_dict()
    assert found["proven"] is False
    assert 0 < found["gap"] <= 1


def test_what_schemes_cannot_do_is_refused(duckdb_url: str) -> None:
    database = filled(duckdb_url)
    privacy = {"l_diversity": [{"column": "disease", "l": 4}]}
    with pytest.raises(InfeasibleError, match="satisfies the requirement"):
        pipeline.plan(changed(SPEC, connection=database.url, search={"algorithm": "ops"}, privacy=privacy))
    columns = {**SPEC["columns"], AGE: {**SPEC["columns"][AGE], "levels": {"max": 1}}}
    with pytest.raises(SpecError, match=r"columns\.age\.levels\.max"):
        pipeline.plan(changed(SPEC, connection=database.url, columns=columns, search={"algorithm": "ops"}))
    with pytest.raises(UsageError, match=r"search\.constraints"):
        pipeline.plan(spec_of(database, "ops", constraints={"before": [[AGE, MARITAL]]}))


@pytest.mark.one_engine
def test_the_command_line(database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    invoke = CommandLine(capsys)
    content = {**SPEC, "connection": database.url, "search": {"algorithm": "ops", "metric": "hdm"}}
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    planned = invoke("plan", path, "--json").json
    assert planned["algorithm"] == "ops"
    assert planned["proven"] is True
    assert planned["recoding"]["kind"] == "cuts"
    applied = invoke("apply", tmp_path / "spec.lock.json", "--json").json
    assert applied["suppressed"] == planned["suppressed"]
    assert invoke("audit", "--spec", path, "--json").code == 0
    assert "released" in invoke("sql", tmp_path / "spec.lock.json").out
