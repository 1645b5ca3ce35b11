"""Several releases of one source: whom they expose together, counted by brute force; and what then stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sqlanon import api, recipients
from sqlanon.engines.base import Engine, TraceEvent
from sqlanon.errors import EngineError, InfeasibleError, RequirementError, SpecError, UsageError
from sqlanon.hierarchy_store import describe_hierarchies
from sqlanon.lock import Lock
from sqlanon.runs import Options
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.together import Finding, check
from tests.database.support import at, stored
from tests.fixtures_support import adversarial_names
from tests.oracle import Row
from tests.pipeline.support import Database
from tests.random_problems import ASKINGS, COLUMNS, QUASI_IDENTIFIER, Asking, load, random_table, with_respondents

REFERENCE = Path(__file__).parents[2] / "sql" / "reference" / "intersection.sql"

TWO_BY_TWO = [
    ("a", "20", "flu"),
    ("a", "20", "cold"),
    ("a", "30", "asthma"),
    ("b", "30", "flu"),
    ("b", "30", "cold"),
]
"""By zip the classes have 3 and 2 rows, by age 2 and 3; only one row is in zip a and of age 30."""
CLASSIC: dict[str, Any] = {
    "source": "patients",
    "columns": {
        "zip": {"role": "quasi_identifier"},
        "age": {"role": "quasi_identifier"},
        "disease": {"role": "sensitive"},
    },
    "privacy": {"k": 2},
    "recipients": {
        "lab": {"target": "for_lab", "columns": {"age": {"role": "quasi_identifier", "levels": {"min": 1}}}},
        "press": {"target": "for_press", "columns": {"zip": {"role": "quasi_identifier", "levels": {"min": 1}}}},
    },
}
REFUSAL = (
    "recipients 'lab' and 'press': 1 person is exposed: their classes in both releases have fewer than 2 rows in "
    "common; nothing was published: let both generalize the same columns alike, or write together: warn to release "
    "them anyway"
)


@pytest.fixture
def database(engine_url: str) -> Database:
    """The classic example, and an older release for the lab."""
    found = Database(engine_url)
    found.create("patients", dict.fromkeys(("zip", "age", "disease"), "text"), TWO_BY_TWO)
    found.create("for_lab", {"older": "text"}, [("release",)])
    return found


def classic(database: Database, **changes: Any) -> Spec:
    return spec_from_dict({**deepcopy(CLASSIC), "connection": database.url, **changes})


def tables(database: Database) -> set[str]:
    found = database.run("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
    return {name for (name,) in found}


def locks_of(spec: Spec, planned: recipients.RecipientsPlan) -> dict[str, Lock]:
    return {
        name: Lock.of(spec.for_recipient(name), plan, "spec.yaml", name) for name, plan in planned.plans.items()
    }


# -- two releases that isolate a person --------------------------------------------------------------------------------


def test_releases_whose_join_isolates_a_person_are_refused(database: Database) -> None:
    with pytest.raises(RequirementError) as caught:
        recipients.run(classic(database))
    assert str(caught.value) == REFUSAL
    assert database.rows("for_lab") == [("release",)], "the older release stands"
    assert tables(database) == {"patients", "for_lab"}
    assert database.leftovers() == []


def test_each_of_them_alone_is_a_good_release(database: Database) -> None:
    both = CLASSIC["recipients"]
    for name, other in (("lab", "press"), ("press", "lab")):
        result = recipients.run(classic(database, recipients={name: both[name]}))
        assert result.together.findings == ()
        assert result.results[name].audit.k == 2
        assert f"for_{other}" not in tables(database) or other == "lab"


def test_a_plan_says_so_and_refuses_nothing(database: Database) -> None:
    planned = recipients.plan(classic(database))
    assert planned.together.findings == (Finding("lab", "press", "", 2, 5, 3, 1, 1, 1, 0),)
    [warning] = planned.to_dict()["warnings"]
    assert warning.startswith("recipients 'lab' and 'press': 1 person is exposed")
    assert warning.endswith("; run and apply refuse to publish them")
    assert tables(database) == {"patients", "for_lab"}
    assert "1 person is exposed" in planned._repr_html_()


def test_with_warn_both_are_published(database: Database) -> None:
    result = recipients.run(classic(database, together="warn"))
    assert database.counted("for_lab", "zip, age") == {("a", "*"): 3, ("b", "*"): 2}
    assert database.counted("for_press", "zip, age") == {("*", "20"): 2, ("*", "30"): 3}
    content = result.to_dict()
    assert list(content["recipients"]) == ["lab", "press"]
    assert content["recipients"]["press"]["levels"] == {"zip": 1, "age": 0}
    assert content["together"][0]["exposed"] == 1
    assert content["warnings"] == [REFUSAL.partition(";")[0]]
    assert "for_press" in result._repr_html_()
    assert database.leftovers() == []


def test_releases_that_are_alike_expose_nobody(database: Database) -> None:
    alike = {"lab": {"target": "for_lab"}, "press": {"target": "for_press", "privacy": {"k": 3}}}
    columns = {**CLASSIC["columns"], "zip": {"role": "quasi_identifier", "levels": {"min": 1}}}
    columns["age"] = {"role": "quasi_identifier", "levels": {"min": 1}}
    result = recipients.run(classic(database, recipients=alike, columns=columns))
    [finding] = result.together.findings
    assert (finding.k, finding.exposed, finding.classes, finding.smallest) == (2, 0, 1, 5)


def test_a_column_that_only_one_of_them_has_counts_too(database: Database) -> None:
    """The lab gets no age and the press no zip: each release holds one column of the quasi-identifier."""
    both = {
        "lab": {"target": "for_lab", "columns": {"age": {"role": "identifier"}}},
        "press": {"target": "for_press", "columns": {"zip": {"role": "identifier"}}},
    }
    with pytest.raises(RequirementError, match="1 person is exposed"):
        recipients.run(classic(database, recipients=both))


def test_of_several_pairs_the_worst_is_named(database: Database) -> None:
    third = {"target": "for_club", "columns": {"age": {"role": "quasi_identifier", "levels": {"min": 1}}}}
    spec = classic(database, recipients={**CLASSIC["recipients"], "club": third})
    together = recipients.plan(spec).together
    assert {(item.first, item.second): item.exposed for item in together.findings} == {
        ("lab", "press"): 1,
        ("lab", "club"): 0,
        ("press", "club"): 1,
    }
    with pytest.raises(RequirementError, match=r"^recipients 'lab' and 'press': 1 person .* in common \(and 1 more\);"):
        together.refuse()


# -- against brute force -----------------------------------------------------------------------------------------------

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Released:
    """A release by brute force: for each row of the source that it holds, the row as it is released."""

    rows: Mapping[int, Row]
    columns: tuple[str, ...] = QUASI_IDENTIFIER

    def place(self, number: int, known: Iterable[str]) -> Key | None:
        if number not in self.rows:
            return None
        return tuple(self.rows[number][name] for name in self.columns if name in known)


def brute_force(
    people: Sequence[Any], first: Released, second: Released, known: Iterable[str], k: int
) -> tuple[int | None, ...]:
    """What a finding counts; `people` has the person of each row of the source."""
    groups: dict[tuple[Key | None, Key | None], set[Any]] = {}
    for number, person in enumerate(people):
        key = first.place(number, known), second.place(number, known)
        if key != (None, None):
            groups.setdefault(key, set()).add(person)
    both = {key: group for key, group in groups.items() if None not in key}
    small = [group for group in both.values() if len(group) < k]
    in_one = [group for key, group in groups.items() if None in key and len(group) < k]
    return (
        len(first.rows.keys() & second.rows.keys()),
        len(both),
        len(small),
        min(map(len, both.values()), default=None),
        len(set[Any]().union(*small)),
        len(set[Any]().union(*in_one)),
    )


def figures(finding: Finding) -> tuple[int | None, ...]:
    return (
        finding.shared,
        finding.classes,
        finding.classes_at_risk,
        finding.smallest,
        finding.exposed,
        finding.only_in_one,
    )


BY_NAME = {asking.name: asking for asking in ASKINGS}
K3 = BY_NAME["k"]
K2 = Asking("k of 2", {"k": 2}, ((type(K3.models[0][0])(2), None),))
GROUPS = BY_NAME["patient and doctor"]
PAIRS: dict[str, tuple[Asking, Asking]] = {
    "two k": (K3, K2),
    "a sensitive column": (K2, BY_NAME["distinct"]),
    "others known": (BY_NAME["others known"], K3),
    "a population": (BY_NAME["k map"], BY_NAME["two columns"]),
    "persons": (with_respondents(K2), with_respondents(K3)),
    "persons and values": (with_respondents(BY_NAME["distinct"]), with_respondents(BY_NAME["others known"])),
    "several quasi-identifiers": (GROUPS, GROUPS),
    "several and one": (K3, GROUPS),
    "several of persons": (with_respondents(GROUPS), with_respondents(GROUPS)),
}
KNOWN: dict[str, list[tuple[str, tuple[str, ...], int]]] = {
    "several quasi-identifiers": [("patient", ("zip", "age"), 3), ("doctor", ("sex", "age"), 4)],
    "several and one": [("patient", QUASI_IDENTIFIER, 3), ("doctor", QUASI_IDENTIFIER, 3)],
    "several of persons": [("patient", ("zip", "age"), 3), ("doctor", ("sex", "age"), 4)],
}
"""Who knows what, and the k that protects from it. Elsewhere: everything, and the smaller k of the two."""
NODES = tuple(product(range(3), range(3), range(2)))


@pytest.mark.parametrize("name", PAIRS)
def test_findings_equal_brute_force(engine: Engine, engine_url: str, name: str) -> None:
    pair = PAIRS[name]
    random = Random(name)
    source, population = random_table(random.randint(1, 99), rows=40)
    load(engine, source, population)
    with stored(engine, K3.spec(limit=40)) as built:
        hierarchies = describe_hierarchies(built.hierarchies)
    if engine_url.startswith("duckdb"):
        engine.close()
    numbered: list[Row] = [{**row, "number": number} for number, row in enumerate(source)]
    spec = spec_of(engine_url, pair)
    persons = pair[0].respondent
    people = [row["person"] for row in source] if persons else list(range(len(source)))
    exposed = 0
    for _ in range(3):
        nodes = random.choice(NODES), random.choice(NODES)
        locks = {
            recipient: Lock(
                "", spec.for_recipient(recipient).hash(), dict(zip(QUASI_IDENTIFIER, node, strict=True)), hierarchies,
                {}, {},
            )
            for recipient, node in zip(spec.recipient_names, nodes, strict=True)
        }  # fmt: skip
        found = check(spec, locks).findings
        first, second = (
            Released({int(str(row["number"])): row for row in asking.problem(numbered, population, 40).kept(node).rows})
            for asking, node in zip(pair, nodes, strict=True)
        )
        smaller = min(int(asking.privacy.get("k", 1)) for asking in pair)
        asked = KNOWN.get(name, [("", QUASI_IDENTIFIER, smaller)])
        assert [(item.quasi_identifier, item.k, figures(item)) for item in found] == [
            (who, k, brute_force(people, first, second, columns, k)) for who, columns, k in asked
        ], nodes
        assert {item.persons for item in found} == {persons}
        exposed += sum(item.exposed for item in found)
    assert Database(engine_url).leftovers() == []


def spec_of(url: str, pair: tuple[Asking, Asking]) -> Spec:
    """A spec with a recipient for each requirement."""
    specs = [asking.spec(40) for asking in pair]
    own = {
        name: {"target": f"for_{name}", "privacy": spec.privacy.model_dump(mode="json", exclude_unset=True)}
        for name, spec in zip(("one", "other"), specs, strict=True)
    }
    values: dict[str, Any] = {
        "connection": url, "source": "t", "columns": COLUMNS, "privacy": {"k": None}, "recipients": own,
    }  # fmt: skip
    return spec_from_dict(values | ({"respondent": "person"} if pair[0].respondent else {}))
