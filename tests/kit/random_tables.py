"""Random small tables with everything models may ask about, as a spec and as a problem of the oracle.

Three quasi-identifiers, two sensitive columns with NULL and rare values, respondents with several rows, a population.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

from sqlanon.engines.base import Engine
from sqlanon.spec import Spec, spec_from_dict
from tests.kit import oracle
from tests.kit.oracle import Asked, Labels, Problem, Row, Table
from tests.kit.tables import create, run

ZIPS = {"north": ["n1", "n2", "n3"], "south": ["s1", "s2"]}
DISEASES = {"lung": ["flu", "asthma", "cough"], "stomach": ["ulcer", "gastritis"]}
TYPES = {"zip": "text", "age": "int", "sex": "text", "disease": "text", "stage": "int", "person": "text"}
COLUMNS: dict[str, Any] = {
    "zip": {"role": "quasi_identifier", "hierarchy": {"tree": ZIPS}},
    "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [2], "min": 0, "max": 4}}},
    "sex": {"role": "quasi_identifier"},
    "disease": {"role": "sensitive", "hierarchy": {"tree": DISEASES}},
    "stage": {"role": "sensitive"},
    "person": {"role": "identifier"},
}
QUASI_IDENTIFIER = ("zip", "age", "sex")


def _tree(tree: Mapping[str, Sequence[str]]) -> dict[Any, tuple[Any, ...]]:
    labels: dict[Any, tuple[Any, ...]] = {leaf: (leaf, above, "*") for above, under in tree.items() for leaf in under}
    return labels | {None: (None, None, "*")}


HIERARCHIES: dict[str, Labels] = {
    "zip": _tree(ZIPS),
    "age": {None: (None, None, "*")} | {age: (age, f"[{age // 2 * 2}, {age // 2 * 2 + 2})", "*") for age in range(4)},
    "sex": {value: (value, "*") for value in ("f", "m", None)},
}
DISEASE_LABELS: Labels = _tree(DISEASES)


def random_table(seed: int, rows: int = 24) -> tuple[list[Row], list[Row]]:
    """The rows of a source and of a population, the same for the same seed."""
    random = Random(seed)
    zips = [leaf for under in ZIPS.values() for leaf in under][: random.randint(2, 5)]
    diseases = [leaf for under in DISEASES.values() for leaf in under][: random.randint(1, 5)]
    weights = [random.choice([1, 1, 3, 9]) for _ in diseases]

    def person(number: int) -> dict[str, Any]:
        return {
            "zip": random.choice([*zips, zips[0]]),
            "age": random.choice([0, 1, 2, 3, None] if random.random() < 0.2 else [0, 1, 2]),
            "sex": random.choice(["f", "m"]),
            "disease": None if random.random() < 0.08 else random.choices(diseases, weights)[0],
            "stage": random.choice([1, 2, 2, 3, None] if random.random() < 0.3 else [1, 2]),
            "person": None if random.random() < 0.04 else f"p{number}",
        }

    source: list[Row] = [
        person(random.randint(1, 2 * rows) if random.random() < 0.7 else random.randint(1, 4)) for _ in range(rows)
    ]
    population: list[Row] = [{name: row[name] for name in QUASI_IDENTIFIER} for row in source if random.random() < 0.9]
    population += [{name: person(0)[name] for name in QUASI_IDENTIFIER} for _ in range(rows)]
    return source, population


def load(engine: Engine, source: Sequence[Row], population: Sequence[Row]) -> None:
    """Make both tables anew."""
    for name, table, columns in (("t", source, TYPES), ("people", population, _of_population())):
        run(engine, f'DROP TABLE IF EXISTS "{name}"')
        create(engine, (name,), columns, [tuple(row[column] for column in columns) for row in table])


def _of_population() -> dict[str, str]:
    return {name: TYPES[name] for name in QUASI_IDENTIFIER}


@dataclass(frozen=True)
class Asking:
    """A requirement as a spec states it and as the oracle does."""

    name: str
    privacy: Mapping[str, Any]
    models: tuple[tuple[oracle.Model, str | None], ...]
    respondent: bool = False
    groups: Mapping[str, tuple[tuple[str, ...], int]] = field(default_factory=dict)
    known: bool = False

    def spec(self, limit: int, **more: Any) -> Spec:
        privacy = {**self.privacy, "suppression": {"limit": limit}}
        if self.groups:
            privacy["quasi_identifiers"] = {
                name: {"columns": list(columns), "k": k} for name, (columns, k) in self.groups.items()
            }
        if self.known:
            privacy["other_sensitive"] = "known"
        if {"k_map", "delta_presence"} & privacy.keys():
            privacy["population"] = {"source": "people"}
        values = {"source": "t", "target": "released", "columns": COLUMNS, "privacy": privacy, **more}
        return spec_from_dict(values | ({"respondent": "person"} if self.respondent else {}))

    def problem(self, source: Sequence[Row], population: Sequence[Row], limit: int) -> Problem:
        people = population if {"k_map", "delta_presence"} & self.privacy.keys() else ()
        table = Table(source, "person" if self.respondent else None, people)
        return Problem(table, HIERARCHIES, tuple(self._asked()), limit)

    def _asked(self) -> list[Asked]:
        groups = self.groups or {"": (QUASI_IDENTIFIER, 0)}
        asked = [Asked(oracle.K(k), columns) for columns, k in groups.values() if k]
        for columns, _ in groups.values():
            for model, sensitive in self.models:
                others = (
                    [name for name in ("disease", "stage") if name != sensitive] if self.known and sensitive else []
                )
                asked.append(Asked(model, (*columns, *others), sensitive))
        return asked


def _one(name: str, key: str, entry: dict[str, Any], model: oracle.Model, k: int | None = None) -> Asking:
    column = entry["column"]
    privacy: dict[str, Any] = {key: [entry]} | ({} if k is None else {"k": k})
    return Asking(name, privacy, (*(((oracle.K(k), None),) if k else ()), (model, column)))


ASKINGS: tuple[Asking, ...] = (
    Asking("k", {"k": 3}, ((oracle.K(3), None),)),
    _one("distinct", "l_diversity", {"column": "disease", "l": 2}, oracle.DistinctL(2), k=2),
    _one("entropy", "l_diversity", {"column": "disease", "l": 2, "kind": "entropy"}, oracle.EntropyL(2)),
    _one("entropy 3", "l_diversity", {"column": "stage", "l": 3, "kind": "entropy"}, oracle.EntropyL(3)),
    _one(
        "recursive",
        "l_diversity",
        {"column": "disease", "l": 2, "kind": "recursive", "c": "1.5"},
        oracle.RecursiveL(Fraction("1.5"), 2),
    ),
    _one(
        "recursive 3",
        "l_diversity",
        {"column": "disease", "l": 3, "kind": "recursive", "c": 2},
        oracle.RecursiveL(2, 3),
        k=2,
    ),
    _one("p-sensitive", "p_sensitive", {"column": "stage", "p": 2}, oracle.PSensitive(2), k=3),
    _one("alpha", "alpha", {"column": "disease", "value": "flu", "alpha": "0.5"}, oracle.Alpha("flu", Fraction("0.5"))),
    _one("alpha number", "alpha", {"column": "stage", "value": "2", "alpha": "0.6"}, oracle.Alpha(2, Fraction("0.6"))),
    _one("t equal", "t_closeness", {"column": "disease", "t": "0.25"}, oracle.TEqual(Fraction("0.25"))),
    _one(
        "t ordered",
        "t_closeness",
        {"column": "stage", "t": "0.25", "distance": "ordered"},
        oracle.TOrdered(Fraction("0.25")),
    ),
    _one(
        "t declared",
        "t_closeness",
        {
            "column": "disease",
            "t": "0.2",
            "distance": "ordered",
            "order": ["ulcer", "flu", "gastritis", "cough", "asthma"],
        },
        oracle.TOrdered(Fraction("0.2"), (None, "ulcer", "flu", "gastritis", "cough", "asthma")),
    ),
    _one(
        "t hierarchical",
        "t_closeness",
        {"column": "disease", "t": "0.2", "distance": "hierarchical"},
        oracle.THierarchical(Fraction("0.2"), DISEASE_LABELS),
    ),
    _one("beta", "beta_likeness", {"column": "disease", "beta": "0.5"}, oracle.BetaLikeness(Fraction("0.5"))),
    _one(
        "beta enhanced",
        "beta_likeness",
        {"column": "disease", "beta": 2, "kind": "enhanced"},
        oracle.BetaLikeness(2, enhanced=True),
    ),
    _one("delta", "delta_disclosure", {"column": "disease", "delta": "0.6"}, oracle.DeltaDisclosure(Fraction("0.6"))),
    _one(
        "delta all",
        "delta_disclosure",
        {"column": "stage", "delta": 1, "kind": "all"},
        oracle.DeltaDisclosure(1, every=True),
    ),
    Asking("k map", {"k": 2, "k_map": 4}, ((oracle.K(2), None), (oracle.KMap(4), None))),
    Asking("delta presence", {"delta_presence": {"max": "0.6"}}, ((oracle.DeltaPresence(0, Fraction("0.6")), None),)),
    Asking(
        "two columns",
        {
            "k": 2,
            "l_diversity": [{"column": "disease", "l": 2}, {"column": "stage", "l": 2, "kind": "entropy"}],
            "t_closeness": [
                {"column": "disease", "t": "0.5"},
                {"column": "stage", "t": "0.4", "distance": "ordered"},
            ],
            "alpha": [
                {"column": "disease", "value": "flu", "alpha": "0.7"},
                {"column": "disease", "value": "cough", "alpha": "0.6"},
            ],
        },
        (
            (oracle.K(2), None),
            (oracle.DistinctL(2), "disease"),
            (oracle.EntropyL(2), "stage"),
            (oracle.TEqual(Fraction("0.5")), "disease"),
            (oracle.TOrdered(Fraction("0.4")), "stage"),
            (oracle.Alpha("flu", Fraction("0.7")), "disease"),
            (oracle.Alpha("cough", Fraction("0.6")), "disease"),
        ),
    ),
    Asking(
        "others known",
        {"k": 2, "l_diversity": [{"column": "disease", "l": 2}, {"column": "stage", "l": 2}]},
        ((oracle.K(2), None), (oracle.DistinctL(2), "disease"), (oracle.DistinctL(2), "stage")),
        known=True,
    ),
    Asking(
        "patient and doctor",
        {"l_diversity": [{"column": "disease", "l": 2}]},
        ((oracle.DistinctL(2), "disease"),),
        groups={"patient": (("zip", "age"), 3), "doctor": (("sex", "age"), 4)},
    ),
)


def with_respondents(asking: Asking) -> Asking:
    """The same requirement, persons counted."""
    return Asking(f"{asking.name}, persons", asking.privacy, asking.models, True, asking.groups, asking.known)


EVERYTHING = (*ASKINGS, *map(with_respondents, ASKINGS))
