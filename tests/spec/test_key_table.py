"""The table of algorithms and keys, pair by pair: a key is refused by its name, or the release shows that it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.api import recipients
from sqlanon.errors import InfeasibleError, SpecError, SqlanonError, UsageError
from sqlanon.planning.frontier import compare, frontier
from sqlanon.recoding.registry import RECODERS
from sqlanon.release.results import PlanResult, RecodedPlan
from sqlanon.search import ALGORITHMS as SEARCHES
from sqlanon.source.run import Options
from sqlanon.spec import Limit, Spec, spec_from_dict
from sqlanon.spec.algorithms import ALGORITHMS, KEYS, algorithms_table, keys_table, names_of
from sqlanon.spec.findings import require_honoured
from sqlanon.spec.search import metrics_table
from tests.kit.database import Database

WHICH = Path(__file__).parents[2] / "docs" / "algorithms" / "which.md"
TYPES = {"person": "text", "a": "text", "b": "text", "s": "text", "guard": "text"}
ROWS = [
    ("p1", "a1", "b1", "flu", "flu"), ("p1", "a1", "b1", "flu", "flu"), ("p2", "a1", "b1", "cold", None),
    ("p2", "a1", "b1", "cold", None), ("p3", "a1", "b2", "flu", "flu"), ("p3", "a1", "b2", "flu", "flu"),
    ("p4", "a2", "b2", "cold", "cold"), ("p4", "a2", "b2", "cold", "cold"), ("p5", "a3", "b3", "flu", None),
    ("p5", "a3", "b3", "flu", None), ("p6", "a4", "b4", "cold", None), ("p7", "a4", "b3", "flu", None),
]  # fmt: skip
SQUARE = [(f"p{a}{b}", f"a{a}", f"b{b}", "flu", None) for a in (1, 2) for b in (1, 2)]
"""Either column can be generalized: the two ways cost the same by the sizes of classes."""
TREES = {name: {"low": [f"{name}1", f"{name}2"], "high": [f"{name}3", f"{name}4"]} for name in "ab"}
RAW = {name: {f"{name}{number}" for number in range(1, 5)} for name in "ab"}
Asking = dict[str, Any]


def values(url: str, algorithm: str, asking: Asking) -> Asking:
    """A spec by an algorithm; of `asking`, sections are merged into it."""
    columns: Asking = {
        "person": {"role": "identifier"},
        "a": {"role": "quasi_identifier", "hierarchy": {"tree": TREES["a"]}},
        "b": {"role": "quasi_identifier", "hierarchy": {"tree": TREES["b"]}},
        "s": {"role": "sensitive"},
        "guard": {"role": "identifier"},
    }
    privacy: Asking = {"k": 2}
    if ALGORITHMS[algorithm].kind == "personalized":
        taxonomy = {"tree": {"ill": ["flu", "cold"], "hurt": ["burn", "fall"]}}
        privacy = {
            "personalized": {
                "column": "s",
                "guarding": "guard",
                "p_breach": 0.7,
                "weight": "infinity",
                "taxonomy": taxonomy,
            }
        }
        if "respondent" in asking:
            privacy["personalized"]["primary"] = False
    if algorithm == "fitting":
        privacy["anonymity"] = "global (1,k)"
    for name, more in asking.get("columns", {}).items():
        columns[name] = {**columns[name], **more}
    return {
        "connection": url,
        "source": "people",
        "target": "released",
        **asking,
        "columns": columns,
        "privacy": {**privacy, **asking.get("privacy", {})},
        "search": {"algorithm": algorithm, **asking.get("search", {})},
    }


def table(url: str, rows: list[tuple[str | None, ...]] | None = None) -> Database:
    database = Database(url)
    database.create("people", TYPES, ROWS if rows is None else rows)
    return database


def fill(url: str, rows: Sequence[tuple[str | None, ...]]) -> None:
    """These rows more."""
    lines = (f"({', '.join('NULL' if v is None else repr(v) for v in row)})" for row in rows)
    Database(url).run(f"INSERT INTO people VALUES {', '.join(lines)}")


def planned(url: str, algorithm: str, asking: Asking) -> PlanResult:
    return pipeline.plan(spec_from_dict(values(url, algorithm, asking)))


def published(url: str, algorithm: str, asking: Asking) -> list[tuple[Any, ...]]:
    """The rows of a release: a, b, s."""
    pipeline.run(spec_from_dict(values(url, algorithm, asking)))
    return Database(url).rows("released", "a, b, s")


def vectors(plan: PlanResult) -> list[dict[str, int]]:
    """The levels of a release: one vector, those of every iteration, or those that cells were suppressed after."""
    if not isinstance(plan, RecodedPlan):
        return [plan.levels]
    details = plan.recoding.to_dict()["details"]
    return [details["levels"]] if "levels" in details else [step["levels"] for step in details["iterations"]]


# -- what shows that a key holds ---------------------------------------------------------------------------------------


def holds_levels(url: str, algorithm: str) -> None:
    for a, _, _ in published(url, algorithm, {"columns": {"a": {"levels": {"min": 1}}}}):
        assert a not in RAW["a"]
        assert not any(value in str(a) for value in RAW["a"])


def holds_levels_max(url: str, algorithm: str) -> None:
    more = {"search": {"model": "AG_CS"}} if ALGORITHMS[algorithm].kind == "cells" else {}
    asking = {"columns": {"a": {"levels": {"max": 1}}}, "privacy": {"suppression": {"limit": "50%"}}, **more}
    for vector in vectors(planned(url, algorithm, asking)):
        assert vector["a"] <= 1


def holds_constraints(url: str, algorithm: str) -> None:
    free = vectors(planned(url, algorithm, {}))
    bound = planned(url, algorithm, {"search": {"constraints": {"forbidden": free}}})
    assert not [vector for vector in vectors(bound) if vector in free]


def holds_weights(url: str, algorithm: str) -> None:
    more = {"metric": "hdm"} if ALGORITHMS[algorithm].kind in ("scheme", "cuts") else {}
    scores = [
        planned(url, algorithm, {"search": {**more, "weights": {name: 7}}}).to_dict()["score"] for name in ("a", "b")
    ]
    assert scores[0] != scores[1]


def holds_prefer(url: str, algorithm: str) -> None:
    Database(url).run("DELETE FROM people")
    fill(url, SQUARE)
    search = {"metric": "dm", "prefer": ["minimum_weighted_distance"]}
    [[first, *_], [second, *_]] = [
        vectors(planned(url, algorithm, {"search": {**search, "weights": {name: 7}}})) for name in ("a", "b")
    ]
    assert first["a"] < first["b"]
    assert second["b"] < second["a"]


def holds_metric(url: str, algorithm: str) -> None:
    plan = planned(url, algorithm, {"search": {"metric": "dm"}})
    assert plan.search.metric in ("dm", "loss")
    assert "dm" in plan.to_dict()["score"]


def holds_budget(url: str, algorithm: str) -> None:
    if algorithm in ("exact", "fitting"):
        Database(url).run("DELETE FROM people")
        for a, b in ((1, 1), (1, 2), (2, 2), (2, 3), (3, 3)):
            Database(url).run(f"INSERT INTO people VALUES ('p{a}{b}', 'a{a}', 'b{b}', 'flu', NULL)")
        assert planned(url, algorithm, {}).search.proven
        assert not planned(url, algorithm, {"search": {"budget": {"nodes": 1}}}).search.proven
        return
    free = planned(url, algorithm, {})
    try:
        bound = planned(url, algorithm, {"search": {"budget": {"nodes": 1}}})
    except InfeasibleError as error:
        reason = str(error)
    else:
        assert not bound.search.proven
        reason = "budget" if bound.search.checks < free.search.checks else "the search went on"
    assert "budget" in reason


def holds_scheme(url: str, algorithm: str) -> None:
    rows = published(url, algorithm, {"columns": {"a": {"scheme": "ghs"}}})
    assert {a for a, _, _ in rows} <= {*RAW["a"], "low", "high", "*"}


def holds_direction(url: str, algorithm: str) -> None:
    for direction in ("bottom_up", "top_down"):
        [step] = planned(url, algorithm, {"search": {"direction": direction}}).search.trace
        assert step["direction"] == direction


def holds_bounds(url: str, algorithm: str) -> None:
    """Ranges that end at values are told of in the plan; where the published ranges end, tests of recoders show."""
    numbers = {"a": {"hierarchy": {"interval": {"widths": [2], "min": 0, "max": 8}}, "levels": {"min": 1}}}
    query = "select person, cast(substr(a, 2, 1) as integer) as a, b, s, guard from people"
    asking = {"source": {"query": query}, "columns": numbers, "search": {"bounds": "values"}}
    told = planned(url, algorithm, asking).warnings
    assert any("search.bounds" in warning for warning in told)


def holds_seed(url: str, algorithm: str) -> None:
    first, again = (planned(url, algorithm, {"search": {"seed": 7}}) for _ in range(2))
    assert first.recoding == again.recoding


def holds_satisfies(url: str, algorithm: str) -> None:
    by_counts, by_matrix = (planned(url, algorithm, {"search": {"satisfies": way}}) for way in ("counts", "matrix"))
    assert vectors(by_matrix) == vectors(by_counts)


def holds_model(url: str, algorithm: str) -> None:
    if ALGORITHMS[algorithm].kind == "cells":
        rows = published(url, algorithm, {"search": {"model": "_CS"}})
        assert {a for a, _, _ in rows} <= {*RAW["a"], "*"}
    else:
        plan = planned(url, algorithm, {"search": {"model": "_TS"}, "privacy": {"suppression": {"limit": "50%"}}})
        assert plan.levels == {"a": 0, "b": 0}


def holds_mondrian(url: str, algorithm: str) -> None:
    plan = planned(url, algorithm, {"search": {"mondrian": {"kind": "relaxed"}}})
    assert plan.recoding.to_dict()["details"]["kind"] == "relaxed"


def holds_local(url: str, algorithm: str) -> None:
    assert len(vectors(planned(url, algorithm, {"search": {"local": {"iterations": 1}}}))) == 1


def holds_tag(url: str, algorithm: str) -> None:
    """Column b is not looked at, and released as it is; the audit looks at both."""
    tags = {"columns": {"a": {"tag": 1}, "b": {"tag": 0}}, "privacy": {"k": 1}, "search": {"mu_argus": {"binsize": 3}}}
    rows = published(url, algorithm, tags)
    assert min(Counter(a for a, _, _ in rows).values()) >= 3
    assert {b for _, b, _ in rows} == {b for _, _, b, _, _ in ROWS}


def holds_mu_argus(url: str, algorithm: str) -> None:
    rows = published(url, algorithm, {"privacy": {"k": 1}, "search": {"mu_argus": {"binsize": 4}}})
    assert min(Counter((a, b) for a, b, _ in rows).values()) >= 4


def holds_respondent(url: str, algorithm: str) -> None:
    asking: Asking = {"respondent": "person"}
    if ALGORITHMS[algorithm].kind == "personalized":
        assert published(url, algorithm, asking)
        return
    Database(url).run("DELETE FROM people WHERE person IN ('p6', 'p7')")
    assert min(Counter((a, b) for a, b, _ in published(url, algorithm, asking)).values()) >= 4


def holds_models(url: str, algorithm: str) -> None:
    diseases: dict[tuple[str, str], set[str]] = {}
    for a, b, s in published(url, algorithm, {"privacy": {"l_diversity": [{"column": "s", "l": 2}]}}):
        diseases.setdefault((a, b), set()).add(s)
    assert min(map(len, diseases.values())) >= 2


def holds_population(url: str, algorithm: str) -> None:
    Database(url).run("CREATE TABLE everybody AS SELECT a, b FROM people UNION ALL SELECT a, b FROM people")
    asking = {"privacy": {"k": None, "k_map": 8, "population": {"source": "everybody"}}}
    rows = published(url, algorithm, asking)
    # Everybody stands twice in the population: 4 rows of the source match 8.
    assert min(Counter((a, b) for a, b, _ in rows).values()) >= 4


def holds_several(url: str, algorithm: str) -> None:
    groups = {"first": {"columns": ["a"], "k": 4}, "second": {"columns": ["b"], "k": 2}}
    rows = published(url, algorithm, {"privacy": {"quasi_identifiers": groups}})
    assert min(Counter(a for a, _, _ in rows).values()) >= 4
    assert min(Counter(b for _, b, _ in rows).values()) >= 2


def holds_profile(url: str, algorithm: str) -> None:
    """Of 12 rows a quarter is asked of a, which the recipient knows, and a half of that of b."""
    levels = {name: {"anonymity": 0.25} for name in "ab"}
    rows = published(url, algorithm, {"columns": levels, "privacy": {"k": None, "profile": {"a": 1, "b": 0.5}}})
    assert min(Counter(a for a, _, _ in rows).values()) >= 3
    assert min(Counter(b for _, b, _ in rows).values()) >= 2


def holds_anonymity(url: str, algorithm: str) -> None:
    """Each row of the source fits two released ones, and each released one two of the source."""
    kind = "global (1,k)" if algorithm == "fitting" else "(k,k)"
    k = 1 if algorithm == "mu_argus" else 2
    rows = published(
        url,
        algorithm,
        {"privacy": {"k": k, "anonymity": kind}, "search": {"mu_argus": {"binsize": 2}} if k == 1 else {}},
    )
    above = {value: {value, label, "*"} for name in "ab" for label, part in TREES[name].items() for value in part}
    fits = [[a in above[row[1]] and b in above[row[2]] for a, b, _ in rows] for row in ROWS]
    assert min(map(sum, fits)) >= 2
    assert min(map(sum, zip(*fits, strict=True))) >= 2


DIFFERENTIAL = {"epsilon": 3, "delta": 0.2, "secret": "${SQLANON_KEY_TABLE}"}


def holds_differential(url: str, algorithm: str) -> None:
    """Everybody once; of 400 people in two classes some are drawn, whole classes of them released."""
    Database(url).run("DELETE FROM people")
    Database(url).run("INSERT INTO people SELECT 'q' || n, 'a' || (1 + n % 4), 'b1', 'x', NULL FROM range(400) t(n)")
    fixed = {"a": {"levels": {"min": 1, "max": 1}}, "b": {"levels": {"min": 2, "max": 2}}}
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SQLANON_KEY_TABLE", "sixteen bytes or more")
        spec = values(url, algorithm, {"columns": {**fixed, "s": {"role": "identifier"}}, "respondent": "person"})
        result = pipeline.run(spec_from_dict({**spec, "privacy": {"differential": DIFFERENTIAL}}))
    classes = Counter(Database(url).rows("released", "a, b"))
    assert result.levels == {"a": 1, "b": 2}
    assert set(classes) == {("low", "*"), ("high", "*")}
    assert all(100 < number <= 200 for number in classes.values())
    assert sum(classes.values()) < 400


def two_alone(url: str) -> None:
    """A row of a1, one of a2, and many of each other value."""
    rows = [f"('p{n}', 'a{value}', 'b1', 'flu', NULL)" for n, value in enumerate((1, 2, *[3] * 14, *[4] * 8))]
    Database(url).run("DELETE FROM people", f"INSERT INTO people VALUES {', '.join(rows)}")


def holds_slack(url: str, algorithm: str) -> None:
    """Of an a1 and an a2 released as their parent whoever knows the algorithm knows that it is one of each."""
    two_alone(url)
    more: Asking = {"mondrian": {"bounds": "values"}} if algorithm == "mondrian" else {}
    more |= {"local": {"leave": 4}} if algorithm == "local" else {}
    loose, held = ({"privacy": {"adversary": {"slack": least}}, "search": more} for least in (0, 1))
    assert Counter(a for a, _, _ in published(url, algorithm, loose))["low"] == 2
    assert not audited(url, algorithm, held)
    assert "low" not in {a for a, _, _ in published(url, algorithm, held)}
    assert audited(url, algorithm, held)


def audited(url: str, algorithm: str, asking: Asking) -> bool:
    """Whether what stands at the target satisfies a spec."""
    return bool(pipeline.audit_spec(spec_from_dict(values(url, algorithm, asking))).satisfied)


def holds_crowd(url: str, algorithm: str) -> None:
    """Two rows can be suppressed; a crowd of three, which the limit allows as well, is asked for."""
    asking: Asking = {"privacy": {"suppression": {"limit": 3}}}
    two_alone(url)
    assert len(published(url, algorithm, asking)) == 22
    asking["privacy"]["adversary"] = {"suppression": {"at_least": 3}}
    assert not audited(url, algorithm, asking)
    assert len(published(url, algorithm, asking)) == 24
    assert audited(url, algorithm, asking)


def holds_margin(url: str, algorithm: str) -> None:
    """By some of these secrets more than k is asked for."""
    found = set()
    for number in range(6):
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("SQLANON_KEY_TABLE", f"sixteen bytes or more {number}")
            margin = {"most": 1, "secret": "${SQLANON_KEY_TABLE}"}
            asking: Asking = {"privacy": {"adversary": {"slack": 0, "margin": margin}}}
            found.add(str(planned(url, algorithm, asking).requirement["k"]))
        if len(found) > 1:
            break
    assert len(found) == 2


def holds_choice(url: str, algorithm: str) -> None:
    found = set()
    for number in range(8):
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("SQLANON_KEY_TABLE", f"sixteen bytes or more {number}")
            choice = {"within": "100%", "secret": "${SQLANON_KEY_TABLE}"}
            asking = {"privacy": {"adversary": {"choice": choice}}, "search": {"metric": "height"}}
            found.add(tuple(planned(url, algorithm, asking).levels.items()))
        if len(found) > 1:
            break
    assert len(found) > 1


def holds_limit(url: str, algorithm: str) -> None:
    asking: Asking = {"privacy": {"suppression": {"limit": 2}}}
    if algorithm == "mu_argus":
        # Rows lose cells and stay, in classes that may be smaller than k.
        asking["privacy"]["k"], asking["search"] = 1, {"mu_argus": {"binsize": 2}}
    assert len(published(url, algorithm, asking)) >= len(ROWS) - 2


def holds_blank(url: str, algorithm: str) -> None:
    limit = 0 if ALGORITHMS[algorithm].kind in ("cells", "personalized") else 2
    asking = {"privacy": {"suppression": {"limit": limit, "mode": "blank"}}}
    assert len(published(url, algorithm, asking)) == len(ROWS)


def holds_averages(url: str, algorithm: str) -> None:
    """Rows of one class show one number, the mean of theirs."""
    Database(url).run("ALTER TABLE people ADD COLUMN w double", "UPDATE people SET w = length(s) + ascii(person)")
    given = values(url, algorithm, {})
    given["columns"]["w"] = {"role": "insensitive", "release": "mean"}
    pipeline.run(spec_from_dict(given))
    found = Database(url).run("SELECT count(DISTINCT (a, b)), count(DISTINCT (a, b, w)), sum(w) FROM released")
    assert found[0][0] == found[0][1]
    assert found[0][2] is not None


KEPT = {"key": "person", "ledger": "kept", "secret": "${SQLANON_TEST_KEY}"}


def holds_ledger(url: str, algorithm: str) -> None:
    """One person leaves, one comes: with a ledger neither stands alone in the difference of two releases."""
    people = [(f"p{number}", f"a{number % 2 + 1}", "b1", "flu", None) for number in range(12)]
    Database(url).run("DELETE FROM people")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SQLANON_TEST_KEY", "a key for tests, long enough")
        releases = []
        for present in (people, [*people[1:], ("p12", "a1", "b1", "flu", None)]):
            Database(url).run("DELETE FROM people")
            fill(url, present)
            releases.append(Counter(published(url, algorithm, {"history": KEPT})))
    gone, come = releases[0] - releases[1], releases[1] - releases[0]
    assert sum(gone.values()) >= 2
    assert not come


def holds_history_required(url: str, algorithm: str) -> None:
    people = [(f"p{number}", "a1", "b1", "flu", None) for number in range(12)]
    Database(url).run("DELETE FROM people")
    fill(url, people)
    assert len(published(url, algorithm, {"history": "required"})) == 12
    Database(url).run("DELETE FROM people WHERE person = 'p0'")
    with pytest.raises(SqlanonError, match="history"):
        published(url, algorithm, {"history": "required"})


def holds_recipients(url: str, algorithm: str) -> None:
    found = recipients.plan(spec_from_dict(for_recipients(url, algorithm)))
    assert list(found.plans) == ["one", "other"]


def holds_view(url: str, algorithm: str) -> None:
    assert len(published(url, algorithm, {"target": {"view": "released"}})) == len(ROWS)


def holds_script(url: str, algorithm: str) -> None:
    assert "released" in pipeline.script(spec_from_dict(values(url, algorithm, {})), None)


def holds_dbt(url: str, algorithm: str) -> None:
    """Models of dbt are written by tests of their own; here the levels that they are written from."""
    plan = planned(url, algorithm, {})
    require_honoured(spec_from_dict(values(url, algorithm, {})), "dbt")
    assert set(plan.levels) == {"a", "b"}


def holds_grid(url: str, algorithm: str) -> None:
    assert len(frontier(spec_from_dict(values(url, algorithm, {})), [2, 3], [Limit(count=0)]).cells) == 2


def for_recipients(url: str, algorithm: str) -> Asking:
    given = values(url, algorithm, {})
    del given["target"]
    return {**given, "together": "warn", "recipients": {name: {"target": f"to_{name}"} for name in ("one", "other")}}


HOLDS: dict[str, Callable[[str, str], None]] = {key.name: globals()[f"holds_{key.name}"] for key in KEYS}
"""A test for every key of the table: a key without one fails here."""

REFUSED: dict[str, tuple[str, Asking]] = {
    "levels": ("columns.a.levels", {"columns": {"a": {"levels": {"min": 1}}}}),
    "levels_max": ("columns.a.levels.max", {"columns": {"a": {"levels": {"max": 1}}}}),
    "constraints": ("search.constraints", {"search": {"constraints": {"forbidden": [{"a": 0}]}}}),
    "weights": ("columns.a.weight", {"columns": {"a": {"weight": 3}}}),
    "prefer": ("search.prefer", {"search": {"prefer": ["minimum_suppression"]}}),
    "metric": ("search.metric", {"search": {"metric": "entropy"}}),
    "budget": ("search.budget", {"search": {"budget": {"nodes": 5}}}),
    "scheme": ("columns.a.scheme", {"columns": {"a": {"scheme": "ops"}}}),
    "direction": ("search.direction", {"search": {"direction": "top_down"}}),
    "bounds": ("search.bounds", {"search": {"bounds": "values"}}),
    "seed": ("search.seed", {"search": {"seed": 3}}),
    "satisfies": ("search.satisfies", {"search": {"satisfies": "matrix"}}),
    "model": ("search.model", {"search": {"model": "AG_"}}),
    "mondrian": ("search.mondrian", {"search": {"mondrian": {"bounds": "values"}}}),
    "local": ("search.local", {"search": {"local": {"iterations": 2}}}),
    "tag": ("columns.a.tag", {"columns": {"a": {"tag": 0}, "b": {"tag": 1}}}),
    "mu_argus": ("search.mu_argus", {"search": {"mu_argus": {"binsize": 3}}}),
    "profile": (
        "columns.a.anonymity",
        {"columns": {name: {"anonymity": 0} for name in "ab"}, "privacy": {"profile": {"a": 1, "b": 0}}},
    ),
    "respondent": ("respondent", {"respondent": "person"}),
    "models": ("privacy.l_diversity", {"privacy": {"l_diversity": [{"column": "s", "l": 2}]}}),
    "population": ("privacy.k_map", {"privacy": {"k_map": 2, "population": {"source": "everybody"}}}),
    "several": (
        "privacy.quasi_identifiers",
        {"privacy": {"quasi_identifiers": {"x": {"columns": ["a"]}, "y": {"columns": ["b"]}}}},
    ),
    "differential": ("privacy.differential", {"privacy": {"differential": DIFFERENTIAL}, "respondent": "person"}),
    "anonymity": ("privacy.anonymity", {"privacy": {"anonymity": "(k,k)"}}),
    "slack": ("privacy.adversary.slack", {"privacy": {"adversary": {"slack": 1}}, "search": {"model": "AG_CS"}}),
    "crowd": (
        "privacy.adversary.suppression",
        {"privacy": {"adversary": {"slack": 0, "suppression": {"at_least": 2}}}, "respondent": "person"},
    ),
    "margin": ("privacy.adversary.margin", {"privacy": {"adversary": {"margin": {"most": 1, "secret": "${KEY}"}}}}),
    "choice": (
        "privacy.adversary.choice",
        {"privacy": {"adversary": {"slack": 0, "choice": {"within": "5%", "secret": "${KEY}"}}}},
    ),
    "limit": ("privacy.suppression.limit", {"privacy": {"suppression": {"limit": 2}}}),
    "averages": ("columns.s.release", {"columns": {"s": {"release": "mean"}}}),
    "view": ("target", {"target": {"view": "released"}}),
    "ledger": ("history", {"history": KEPT}),
    "history_required": ("history", {"history": "required"}),
}
COMMANDS: dict[str, Callable[[Spec], object]] = {
    "script": lambda spec: pipeline.script(spec, None),
    "dbt": lambda spec: require_honoured(spec, "dbt"),
    "grid": lambda spec: frontier(spec, [2, 3], [Limit(count=0)]),
}
CONDITIONAL = {("weights", "scheme"), ("weights", "cuts")}
"""Keys that these kinds honour under a condition that the test of the key brings about."""


BESIDE_THE_SEARCH = {
    *(
        "respondent",
        "models",
        "population",
        "several",
        "profile",
        "differential",
        "anonymity",
        "margin",
        "limit",
        "averages",
        "blank",
        "ledger",
        "history_required",
        "recipients",
        "view",
        "script",
        "dbt",
        "grid",
        "metric",
        "model",
        "prefer",
        "satisfies",
        "weights",
    ),
}
"""Keys that all searches over the lattice leave to the same code, all that suppress cells, and both that are
personalized: one of each shows it, `make soak` all.
"""
SHOWING = {"lattice": "optimal", "cells": "forest", "personalized": "personalized"}
ANSWERED_APART = {("fitting", "anonymity"), ("fitting", "model"), ("samarati", "satisfies"), ("samarati", "metric")}
"""What one of them has code of its own for."""


def honoured() -> list[Any]:
    """The pairs that the table honours. What runs by the function of another algorithm is left to `make soak`."""
    pairs = []
    for key in KEYS:
        for name, row in ALGORITHMS.items():
            conditional = key.name in row.only and row.kind not in ("mondrian", "local") and key.name != "scheme"
            if key.name not in row.honours or (
                conditional and key.name in ("constraints", "prefer", "budget", "limit")
            ):
                continue
            same = [other for other in names_of(row.kind) if ALGORITHMS[other].made_by == row.made_by]
            beside = key.name in BESIDE_THE_SEARCH and SHOWING.get(row.kind, name) != name
            beside = beside and (name, key.name) not in ANSWERED_APART
            marks = [pytest.mark.soak] if beside or name != same[0] else []
            pairs.append(pytest.param(name, key.name, id=f"{name}-{key.name}", marks=marks))
    return pairs


@pytest.mark.parametrize(("algorithm", "key"), honoured())
def test_an_honoured_key_holds(duckdb_url: str, algorithm: str, key: str) -> None:
    table(duckdb_url)
    HOLDS[key](duckdb_url, algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_other_key_is_refused_by_name(duckdb_url: str, algorithm: str) -> None:
    row = ALGORITHMS[algorithm]
    url = duckdb_url
    for key in KEYS:
        if key.name in row.honours and key.name not in row.only:
            continue
        if key.name in REFUSED and (key.name not in row.only or row.kind not in ("mondrian", "local")):
            path, asking = REFUSED[key.name]
            with pytest.raises(SpecError) as refusal:
                spec_from_dict(values(url, algorithm, asking))
            assert [line for line in refusal.value.problems if line.startswith(f"{path}: ")], (key.name, str(refusal))
        elif key.name == "recipients":
            with pytest.raises(SpecError, match=f"^recipients: {algorithm} does not honour it; "):
                spec_from_dict(for_recipients(url, algorithm))
        elif key.name in COMMANDS and key.name not in row.only:
            with pytest.raises(UsageError, match=rf"^search\.algorithm: .*{algorithm}"):
                COMMANDS[key.name](spec_from_dict(values(url, algorithm, {})))


RELAXED = {"kind": "relaxed"}
CONDITIONS: dict[str, tuple[str, Asking, str]] = {
    "relaxed counts rows": (
        "mondrian", {"respondent": "person", "search": {"mondrian": RELAXED}},
        "respondent: mondrian honours it only with search.mondrian.kind: strict",
    ),
    "a metric that recodings do not have": (
        "mondrian", {"search": {"metric": "entropy"}},
        "search.metric: mondrian honours it only for loss, dm, hdm and aecs",
    ),
    "blanked rows of local recoding": (
        "local", {"privacy": {"suppression": {"mode": "blank"}, "l_diversity": [{"column": "s", "l": 2}]}},
        "privacy.suppression.mode: local honours it only for k of rows alone; write drop or use optimal",
    ),
    "preferences inside local recoding": (
        "local", {"search": {"prefer": ["fewest_generalized"], "local": {"algorithm": "datafly"}}},
        "search.prefer: local with search.local.algorithm datafly does not honour it; remove it or use optimal",
    ),
    "weights that nothing weighs": (
        "ops", {"search": {"weights": {"a": 2}}},
        "search.weights: ops honours it only with search.metric: hdm; remove it or use optimal",
    ),
    "a scheme that cuts do not have": (
        "tds", {"columns": {"a": {"scheme": "ops"}}},
        "columns.a.scheme: tds honours it only for ghs, cuts of the hierarchy; remove it or use bhs or ghs",
    ),
    "a choice that a requirement does not leave": (
        "greedy", {"search": {"prefer": ["fewest_generalized"]}},
        "search.prefer: greedy does not honour it; remove it",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("algorithm", "asking", "message"), CONDITIONS.values(), ids=CONDITIONS)
def test_conditions_are_named(algorithm: str, asking: Asking, message: str) -> None:
    with pytest.raises(SpecError) as refusal:
        spec_from_dict(values("duckdb://", algorithm, asking))
    assert [line for line in refusal.value.problems if line.startswith(message)], str(refusal.value)


@pytest.mark.parametrize("key", ["constraints", "budget"])
def test_cells_after_levels(duckdb_url: str, key: str) -> None:
    """AG_CS searches the lattice first, and the search goes by these keys."""
    table(duckdb_url)
    model = {"search": {"model": "AG_CS"}}
    free = planned(duckdb_url, "forest", model)
    if key == "constraints":
        asked = {"search": {"model": "AG_CS", "constraints": {"forbidden": vectors(free)}}}
        assert vectors(planned(duckdb_url, "forest", asked)) != vectors(free)
        return
    asked = {"search": {"model": "AG_CS", "budget": {"nodes": 1}}}
    assert vectors(planned(duckdb_url, "forest", asked)) == [{"a": 2, "b": 2}]


def test_what_stands_at_its_default_is_never_refused() -> None:
    written = {"prefer": [], "budget": {}, "constraints": {}, "direction": "auto", "seed": 0, "satisfies": "counts"}
    spec = spec_from_dict(values("duckdb://", "mondrian", {"search": {**written, "local": {}, "mondrian": {}}}))
    assert spec.search.algorithm == "mondrian"


def test_a_script_of_relaxed_regions_is_refused_before_any_search(duckdb_url: str) -> None:
    asked = spec_from_dict(values(duckdb_url, "mondrian", {"search": {"mondrian": RELAXED}}))
    with pytest.raises(
        UsageError, match=r"a script cannot say .* mondrian .*: only with search\.mondrian\.kind: strict"
    ):
        pipeline.script(asked, None, Options())


def test_a_comparison_leaves_no_promise_out(duckdb_url: str) -> None:
    table(duckdb_url)
    spec = spec_from_dict(values(duckdb_url, "optimal", REFUSED["constraints"][1]))
    with pytest.raises(UsageError, match=r"^search\.constraints: mondrian does not honour it"):
        compare(spec, ["optimal", "mondrian"])


def test_every_algorithm_of_the_table_is_registered() -> None:
    assert {*SEARCHES, *RECODERS} == set(ALGORITHMS)
    assert all(row.name == name and row.sentence.endswith(".") and row.promise for name, row in ALGORITHMS.items())


def test_the_page_has_the_table(request: pytest.FixtureRequest) -> None:
    """Rewrite the page with `make golden` after a change of the table."""
    text = WHICH.read_text(encoding="utf-8")
    wanted = {"keys": keys_table(), "algorithms": algorithms_table(), "metrics": metrics_table()}
    if request.config.getoption("--update-golden", default=False):
        for name, lines in wanted.items():
            text = _between(text, name, lines)
        WHICH.write_text(text, encoding="utf-8")
    for name, lines in wanted.items():
        assert _between(text, name, lines) == text, "make golden rewrites it"


def _between(text: str, name: str, lines: list[str]) -> str:
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    assert after, f"the page has no marks of {name}"
    return before + begin + "\n".join(lines) + "\n" + end + after
