"""Small tables on which a privacy model is not monotone: level 0 passes, level 1, which merges classes, fails.

Data for tests of every floor, and nothing but data: the oracle's model beside the words of a spec. A search that
concludes from level 1 that level 0 fails too misses the answer. Nothing here reads sqlanon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tests.kit.oracle import (
    Alpha,
    Asked,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    EntropyL,
    Labels,
    Model,
    Problem,
    RecursiveL,
    Row,
    Table,
    TEqual,
    THierarchical,
    TOrdered,
)

QUASI_IDENTIFIER_TREE: Mapping[str, Any] = {"a": ["a1", "a2"], "b": ["b"]}
"""The hierarchy of column `q` as a spec has it: a1 and a2 are the classes that merge."""
QUASI_IDENTIFIER: Labels = {"a1": ("a1", "a", "*"), "a2": ("a2", "a", "*"), "b": ("b", "b", "*")}
SENSITIVE_TREE: Mapping[str, Any] = {"vw": ["v", "w"], "x": ["x"]}
"""The hierarchy of column `s`, for the hierarchical distance."""
SENSITIVE: Labels = {"v": ("v", "vw", "*"), "w": ("w", "vw", "*"), "x": ("x", "x", "*")}
ORDER = ("v", "w", "x")


@dataclass(frozen=True)
class Counterexample:
    """A table with columns q, s and r, what is asked of it, and how many rows may be suppressed.

    `classes` gives the rows of each q, a value of s and a respondent each: `v1 w2` is v of respondent 1 and w of 2.
    """

    name: str
    model: Model
    privacy: Mapping[str, Any]
    """What a spec would say under `privacy`, population and suppression left out."""
    limit: int
    classes: Mapping[str, str]
    respondents: bool = False
    population_sizes: Mapping[str, int] = field(default_factory=dict)
    """How many rows of the population have each q."""

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """(q, s, r) of every row."""
        return [(q, held[0], held[1:]) for q, holdings in self.classes.items() for held in holdings.split()]

    @property
    def population(self) -> list[tuple[str]]:
        return [(q,) for q, size in self.population_sizes.items() for _ in range(size)]

    @property
    def problem(self) -> Problem:
        rows: list[Row] = [dict(zip("qsr", row, strict=True)) for row in self.rows]
        people: list[Row] = [{"q": q} for (q,) in self.population]
        table = Table(rows, respondent="r" if self.respondents else None, population=people)
        return Problem(table, {"q": QUASI_IDENTIFIER}, (Asked(self.model, ("q",), "s"),), self.limit)


def share(text: str) -> Fraction:
    return Fraction(text)


def l_diversity(**words: Any) -> dict[str, Any]:
    return {"l_diversity": [{"column": "s", **words}]}


def t_closeness(**words: Any) -> dict[str, Any]:
    return {"t_closeness": [{"column": "s", **words}]}


def alpha(**words: Any) -> dict[str, Any]:
    return {"alpha": [{"column": "s", **words}]}


def beta(**words: Any) -> dict[str, Any]:
    return {"beta_likeness": [{"column": "s", **words}]}


def delta(**words: Any) -> dict[str, Any]:
    return {"delta_disclosure": [{"column": "s", **words}]}


# The class a1 passes, a2 fails and spoils what it is merged with: more rows have to go at level 1 than at level 0.
# Distances from the source need a third class: a table that is one class is its own source.
PAIR = {"a1": "v1 w2", "a2": "v3"}
TRIPLE = {"a1": "v1 w2", "a2": "v3", "b": "w4"}

WITH_SUPPRESSION = (
    Counterexample("entropy", EntropyL(2), l_diversity(l=2, kind="entropy"), 1, PAIR),
    Counterexample("recursive", RecursiveL(2, 2), l_diversity(c=2, l=2, kind="recursive"), 1, PAIR),
    Counterexample("alpha", Alpha("v", share("0.5")), alpha(value="v", alpha=0.5), 1, PAIR),
    Counterexample("t equal", TEqual(share("0.1")), t_closeness(t=0.1, distance="equal"), 2, TRIPLE),
    Counterexample(
        "t ordered",
        TOrdered(share("0.1"), ORDER),
        t_closeness(t=0.1, distance="ordered", order=[*ORDER]),
        2,
        TRIPLE,
    ),
    Counterexample(
        "t hierarchical",
        THierarchical(share("0.05"), SENSITIVE),
        t_closeness(t=0.05, distance="hierarchical"),
        2,
        TRIPLE,
    ),
    Counterexample("beta basic", BetaLikeness(share("0.2")), beta(beta=0.2, kind="basic"), 2, TRIPLE),
    Counterexample(
        "beta enhanced", BetaLikeness(share("0.2"), enhanced=True), beta(beta=0.2, kind="enhanced"), 2, TRIPLE
    ),
    Counterexample("delta occurring", DeltaDisclosure(share("0.1")), delta(delta=0.1, kind="occurring"), 2, TRIPLE),
    Counterexample("delta all", DeltaDisclosure(share("0.1"), every=True), delta(delta=0.1, kind="all"), 2, TRIPLE),
    Counterexample(
        "delta presence",
        DeltaPresence(0, share("0.5")),
        {"delta_presence": {"min": 0, "max": 0.5}},
        1,
        {"a1": "v1", "a2": "v2"},
        population_sizes={"a1": 2, "a2": 1},
    ),
)

# Every class passes, their union does not: v is 1 of 4 in a2 and 1 of 5 in the union, against 4 of 8 in the source.
WITHOUT_SUPPRESSION = (
    Counterexample(
        "delta occurring",
        DeltaDisclosure(share("0.7")),
        delta(delta=0.7, kind="occurring"),
        0,
        {"a1": "w1", "a2": "v2 w3 w4 w5", "b": "v6 v7 v8"},
    ),
)

# Classes that share respondents: their union has fewer people than the classes together.
HALVES = {"a1": "v1 w2", "a2": "v1 w3"}
MIRRORED = {"a1": "v1 w2", "a2": "w1 v2", "b": "v3"}
DRAWN = {"a1": "v1 w1", "a2": "v1 w2", "b": "v2"}

WITH_RESPONDENTS = (
    Counterexample("entropy", EntropyL(2), l_diversity(l=2, kind="entropy"), 0, HALVES, True),
    Counterexample("recursive", RecursiveL(2, 2), l_diversity(c=2, l=2, kind="recursive"), 0, HALVES, True),
    Counterexample(
        "alpha", Alpha("v", share("0.5")), alpha(value="v", alpha=0.5), 0, {"a1": "v1 w2", "a2": "w1 v2"}, True
    ),
    Counterexample("t equal", TEqual(share("0.5")), t_closeness(t=0.5, distance="equal"), 0, DRAWN, True),
    Counterexample(
        "t ordered",
        TOrdered(share("0.5"), ORDER),
        t_closeness(t=0.5, distance="ordered", order=[*ORDER]),
        0,
        DRAWN,
        True,
    ),
    Counterexample(
        "t hierarchical",
        THierarchical(share("0.25"), SENSITIVE),
        t_closeness(t=0.25, distance="hierarchical"),
        0,
        DRAWN,
        True,
    ),
    Counterexample("beta basic", BetaLikeness(share("0.2")), beta(beta=0.2, kind="basic"), 0, MIRRORED, True),
    Counterexample(
        "beta enhanced", BetaLikeness(share("0.2"), enhanced=True), beta(beta=0.2, kind="enhanced"), 0, MIRRORED, True
    ),
    Counterexample(
        "delta occurring",
        DeltaDisclosure(share("0.5")),
        delta(delta=0.5, kind="occurring"),
        0,
        {"a1": "v1 w1", "a2": "v2", "b": "w2"},
        True,
    ),
    Counterexample(
        "delta all",
        DeltaDisclosure(share("0.5"), every=True),
        delta(delta=0.5, kind="all"),
        0,
        {"a1": "v1 w2", "a2": "v1 w3", "b": "v2 w2"},
        True,
    ),
    Counterexample(
        "delta presence",
        DeltaPresence(share("0.6"), 1),
        {"delta_presence": {"min": 0.6, "max": 1}},
        0,
        {"a1": "v1", "a2": "v1"},
        True,
        population_sizes={"a1": 1, "a2": 1},
    ),
)
