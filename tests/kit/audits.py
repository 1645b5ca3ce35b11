"""What tests of the audit share: small tables, a requirement with every model, and the oracle's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sqlanon.auditor import AuditResult, Beside, Check, Request, audit
from sqlanon.engines.base import Engine
from sqlanon.spec import Privacy
from sqlanon.sql.relations import Relation, Table
from tests.kit import oracle
from tests.kit.examples import share
from tests.kit.tables import create, run

FEW = settings(
    max_examples=share(8),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
TYPES = {"q1": "text", "q2": "int", "s": "text", "n": "int", "who": "text"}
LABELS: oracle.Labels = {
    "flu": ("flu", "lung", "any"),
    "Flu": ("Flu", "lung", "any"),
    "": ("", "none", "any"),
    "ulcer": ("ulcer", "stomach", "any"),
    None: (None, None, "any"),
}
ORDER = ("ulcer", "", "Flu", "flu")
"""Of the values of s; not the order of their bytes."""

ROWS = st.fixed_dictionaries(
    {
        "q1": st.sampled_from(["a", "A", None]),
        "q2": st.sampled_from([1, 2]),
        "s": st.sampled_from(list(LABELS)),
        "n": st.sampled_from([0, 1, 2, 7, None]),
        "who": st.sampled_from(["1", "2", "3", "4", None]),
    }
)
TABLES = st.lists(ROWS, min_size=1, max_size=24)
Rows = Sequence[Mapping[str, Any]]


def fill(engine: Engine, name: str, rows: Rows, types: Mapping[str, str] = TYPES) -> Table:
    """A table of these rows, in place of what stood there."""
    run(engine, f"DROP TABLE IF EXISTS {name}")
    create(engine, [name], types, [[row[column] for column in types] for row in rows])
    return Table((name,))


def taxonomy(engine: Engine) -> Table:
    """The hierarchy of s as the audit reads it; NULL has no row there."""
    labelled = [(value, *labels[1:]) for value, labels in LABELS.items() if value is not None]
    run(engine, "DROP TABLE IF EXISTS tree")
    create(engine, ["tree"], {"value": "text", "label_1": "text", "label_2": "text"}, labelled)
    return Table(("tree",))


@st.composite
def privacies(draw: st.DrawFn) -> Privacy:
    """Every model of s and of n, with thresholds on which small classes often lie."""
    share = st.sampled_from(["0", "0.1", "0.2", "0.25", "0.3", "0.5", "0.75", "1"])
    few = st.integers(1, 4)
    bound = st.sampled_from(["0.5", "1", "1.5", "2", "3"])
    alphas = st.sampled_from(["0.2", "0.25", "0.5", "0.6", "1"])
    values: dict[str, Any] = {
        "k": draw(st.integers(1, 5)),
        "l_diversity": [
            {"column": "s", "l": draw(few)},
            {"column": "s", "l": draw(few), "kind": "entropy"},
            {"column": "s", "l": draw(few), "kind": "recursive", "c": draw(bound)},
            {"column": "n", "l": draw(few), "kind": "entropy"},
        ],
        "p_sensitive": [{"column": "n", "p": draw(few)}],
        "alpha": [
            {"column": "s", "value": "flu", "alpha": draw(alphas)},
            {"column": "s", "value": "", "alpha": draw(alphas)},
            {"column": "n", "value": "7", "alpha": draw(alphas)},
            {"column": "n", "value": "absent", "alpha": draw(alphas)},
        ],
        "t_closeness": [
            {"column": "s", "t": draw(share)},
            {"column": "s", "t": draw(share), "distance": "ordered", "order": list(ORDER)},
            {"column": "s", "t": draw(share), "distance": "hierarchical"},
            {"column": "n", "t": draw(share), "distance": "ordered"},
        ],
        "beta_likeness": [
            {"column": "s", "beta": draw(bound)},
            {"column": "s", "beta": draw(bound), "kind": "enhanced"},
        ],
        "delta_disclosure": [
            {"column": "s", "delta": draw(bound)},
            {"column": "s", "delta": draw(bound), "kind": "all"},
        ],
    }
    return Privacy.model_validate(values)


def without_sorting(privacy: Privacy) -> Privacy:
    """The models that need no order among the cells of a class: their values are counted side by side."""
    return privacy.model_copy(
        update={
            "l_diversity": tuple(entry for entry in privacy.l_diversity if entry.kind != "recursive"),
            "t_closeness": tuple(entry for entry in privacy.t_closeness if entry.distance == "equal"),
        }
    )


def oracle_model(entry: Any) -> oracle.Model:
    """The brute force model of an entry of the spec."""
    match type(entry).__name__, getattr(entry, "kind", getattr(entry, "distance", "")):
        case "LDiversity", "distinct":
            return oracle.DistinctL(entry.l)
        case "LDiversity", "entropy":
            return oracle.EntropyL(entry.l)
        case "LDiversity", _:
            return oracle.RecursiveL(Fraction(entry.c), entry.l)
        case "PSensitive", _:
            return oracle.PSensitive(entry.p)
        case "Alpha", _:
            value = entry.value if entry.column == "s" else {"7": 7}.get(entry.value, "nowhere")
            return oracle.Alpha(value, Fraction(entry.alpha))
        case "TCloseness", "equal":
            return oracle.TEqual(Fraction(entry.t))
        case "TCloseness", "ordered":
            return oracle.TOrdered(Fraction(entry.t), (None, *entry.order) if entry.order else None)
        case "TCloseness", _:
            return oracle.THierarchical(Fraction(entry.t), LABELS)
        case "BetaLikeness", kind:
            return oracle.BetaLikeness(Fraction(entry.beta), kind == "enhanced")
        case "DeltaDisclosure", kind:
            return oracle.DeltaDisclosure(Fraction(entry.delta), kind == "all")
    raise AssertionError(f"no brute force for {entry}")


def assert_equals_oracle(result: AuditResult, truth: oracle.Table, request: Request) -> None:
    """Every verdict, its counts and its figure, for each quasi-identifier."""
    privacy = request.privacy
    checks = {(check.group, check.model, check.column, check.asked): check for check in result.checks}
    for group, (columns, k) in privacy.groups(request.quasi_identifier).items():
        _assert_check(checks[group, "k", None, f"k = {k or 1}"], truth, oracle.Asked(oracle.K(k or 1), columns))
        own = [check for check in result.checks if check.group == group and check.column is not None]
        entries = [entry for column in request.columns for entry in privacy.models() if entry.column == column]
        for check, entry in zip(own, entries, strict=True):
            assert check.column == entry.column
            by = (*columns, *request.others(entry.column))
            _assert_check(check, truth, oracle.Asked(oracle_model(entry), by, entry.column))
    assert result.satisfied == all(check.satisfied for check in result.checks)
    assert len(result.violations) == sum(not check.satisfied for check in result.checks)


def _assert_check(check: Check, truth: oracle.Table, asked: oracle.Asked) -> None:
    classes, rows = truth.failing(asked)
    where = (check.name, check.asked)
    assert (check.classes_at_risk, check.rows_at_risk) == (classes, rows), where
    assert check.satisfied == (classes == 0), where
    expected = truth.figure(asked)
    if expected is None:
        assert check.measured is None, where
    else:
        assert check.measured == pytest.approx(float(expected), rel=1e-9, abs=1e-9), where


def measured(engine: Engine, table: Relation, request: Request, **beside: Any) -> AuditResult:
    return audit(engine, table, request, Beside(**beside))
