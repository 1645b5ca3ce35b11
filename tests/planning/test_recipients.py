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

from sqlanon import api
from sqlanon.api import recipients
from sqlanon.engines.base import Engine, TraceEvent
from sqlanon.errors import EngineError, InfeasibleError, RequirementError, SpecError, UsageError
from sqlanon.insight.together import Finding, check
from sqlanon.release.lock import Lock
from sqlanon.source.hierarchies import describe_hierarchies
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database
from tests.kit.oracle import K, Row
from tests.kit.papers import adversarial_names
from tests.kit.random_tables import ASKINGS, COLUMNS, QUASI_IDENTIFIER, Asking, load, random_table, with_respondents
from tests.kit.tables import stored

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
    "common; nothing was published: give one of them levels at least as high as the other's in every column, or write "
    "together: warn"
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
    return {name: Lock.of(spec.for_recipient(name), plan, "spec.yaml", name) for name, plan in planned.plans.items()}


# -- two releases that isolate a person --------------------------------------------------------------------------------


@pytest.mark.one_engine
def test_releases_whose_join_isolates_a_person_are_refused(database: Database) -> None:
    with pytest.raises(RequirementError) as caught:
        recipients.run(classic(database))
    assert str(caught.value) == REFUSAL
    assert database.rows("for_lab") == [("release",)], "the older release stands"
    assert tables(database) == {"patients", "for_lab"}
    assert database.leftovers() == []


@pytest.mark.one_engine
def test_each_of_them_alone_is_a_good_release(database: Database) -> None:
    both = CLASSIC["recipients"]
    for name, other in (("lab", "press"), ("press", "lab")):
        result = recipients.run(classic(database, recipients={name: both[name]}))
        assert result.together.findings == ()
        assert result.results[name].audit.k == 2
        assert f"for_{other}" not in tables(database) or other == "lab"


@pytest.mark.one_engine
def test_a_plan_says_so_and_refuses_nothing(database: Database) -> None:
    planned = recipients.plan(classic(database))
    assert planned.together.findings == (Finding("lab", "press", "", 2, 5, 3, 1, 1, 1, 0),)
    [warning] = planned.to_dict()["warnings"]
    assert warning.startswith("recipients 'lab' and 'press': 1 person is exposed")
    assert warning.endswith("; run and apply refuse to publish them")
    assert tables(database) == {"patients", "for_lab"}
    assert "1 person is exposed" in planned._repr_html_()


@pytest.mark.one_engine
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


@pytest.mark.one_engine
def test_releases_that_are_alike_expose_nobody(database: Database) -> None:
    alike = {"lab": {"target": "for_lab"}, "press": {"target": "for_press", "privacy": {"k": 3}}}
    columns = {**CLASSIC["columns"], "zip": {"role": "quasi_identifier", "levels": {"min": 1}}}
    columns["age"] = {"role": "quasi_identifier", "levels": {"min": 1}}
    result = recipients.run(classic(database, recipients=alike, columns=columns))
    [finding] = result.together.findings
    assert (finding.k, finding.exposed, finding.classes, finding.smallest) == (2, 0, 1, 5)


@pytest.mark.one_engine
def test_a_column_that_only_one_of_them_has_counts_too(database: Database) -> None:
    """The lab gets no age and the press no zip: each release holds one column of the quasi-identifier."""
    both = {
        "lab": {"target": "for_lab", "columns": {"age": {"role": "identifier"}}},
        "press": {"target": "for_press", "columns": {"zip": {"role": "identifier"}}},
    }
    with pytest.raises(RequirementError, match="1 person is exposed"):
        recipients.run(classic(database, recipients=both))


@pytest.mark.one_engine
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
K2 = Asking("k of 2", {"k": 2}, ((K(2), None),))
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
WHOLE = {"two k", "a sensitive column", "a population", "persons"}
"""Where rows are suppressed by the whole class, a class within another stays whole."""
NODES: tuple[tuple[int, ...], ...] = tuple(product(range(3), range(3), range(2)))


@pytest.mark.representative(3, postgres=1)
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
    for coarser in (False, True):
        nodes = random.choice(NODES), random.choice(NODES)
        if coarser:
            nodes = nodes[0], tuple(map(max, *nodes))
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
        if coarser and name in WHOLE:
            assert not any(item.exposed for item in found), "each class of the one lies within a class of the other"
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


# -- against what was published ----------------------------------------------------------------------------------------

ODD = Random(3).sample(adversarial_names(), 6)


@pytest.mark.representative(1)
@pytest.mark.parametrize(
    ("mode", "persons"),
    [
        pytest.param("drop", False, id="rows-drop"),
        pytest.param("blank", True, id="persons-blank"),
        pytest.param("drop", True, id="persons-drop", marks=pytest.mark.soak),
        pytest.param("blank", False, id="rows-blank", marks=pytest.mark.soak),
    ],
)
def test_findings_equal_the_reference_on_published_tables(engine_url: str, mode: str, persons: bool) -> None:
    """Different columns, hierarchies and levels, under odd names; the released tables carry the number of their row."""
    database, random = Database(engine_url), Random(f"{mode} {persons}")
    person, number, *names = ODD
    types = dict.fromkeys(ODD, "text") | {number: "integer"}
    rows = [
        (f"p{random.randint(1, 40)}", row, *(random.choice(["a", "b", "c", None]) for _ in names)) for row in range(60)
    ]
    create(database, "source of rows", types, rows)
    spec = odd_spec(engine_url, mode, persons)
    result = recipients.run(spec)
    [finding] = result.together.findings
    views = [
        released_view(1, person if persons else number, number, names[:3]),
        released_view(2, person if persons else number, number, names[1:]),
        f"CREATE VIEW asked AS SELECT {finding.k} AS k",
    ]
    [(shared, classes, smallest, exposed, _, _, left_out)] = database.run(*views, REFERENCE.read_text(encoding="utf-8"))
    assert (finding.shared, finding.classes, finding.smallest) == (shared, classes, smallest)
    assert (finding.exposed, finding.only_in_one) == (exposed, left_out)
    assert exposed > 0
    assert left_out > 0 or mode == "blank"
    suppressed = [release.publication.suppressed for release in result.results.values()]
    assert all(suppressed), "rows are missing in each of the releases, or blanked"
    assert [release.publication.blanked for release in result.results.values()] == (
        suppressed if mode == "blank" else [0, 0]
    )


def odd_spec(url: str, mode: str, persons: bool) -> Spec:
    person, number, *names = ODD
    quasi_identifiers: dict[str, Any] = {
        name: {"role": "quasi_identifier", "hierarchy": {"tree": {"ab": ["a", "b"], "c": ["c"]}}} for name in names
    }
    fixed = {name: quasi_identifiers[name] | {"levels": {"min": 1, "max": 1}} for name in names[1:3]}
    first = {names[3]: {"role": "identifier"}, names[0]: quasi_identifiers[names[0]] | {"levels": {"max": 0}}}
    other_tree = {"hierarchy": {"tree": {"bc": ["b", "c"], "a": ["a"]}}, "levels": {"min": 1, "max": 1}}
    second = {
        names[0]: {"role": "identifier"},
        names[2]: {"role": "quasi_identifier", **other_tree},
        names[3]: {"role": "quasi_identifier", "levels": {"max": 0}},
    }
    values: dict[str, Any] = {
        "connection": url,
        "source": {"table": '"source of rows"'},
        "columns": {
            person: {"role": "identifier"},
            number: {"role": "insensitive", "accept": "the reference finds rows again by it"},
            **quasi_identifiers,
            **fixed,
        },
        "privacy": {"k": 4, "suppression": {"limit": "90%", "mode": mode}},
        "recipients": {
            "one": {"target": {"table": '"for one"'}, "columns": first},
            "other": {"target": {"table": '"for two"'}, "columns": second, "privacy": {"k": 3}},
        },
        "together": "warn",
    }
    return spec_from_dict(values | ({"respondent": person} if persons else {}))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def create(database: Database, name: str, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
    """A table whose columns have any names."""
    plain = {f"c{position}": kind for position, kind in enumerate(types.values())}
    database.create("plain", plain, rows)
    items = ", ".join(f"c{position} AS {quoted(column)}" for position, column in enumerate(types))
    database.run(f"CREATE TABLE {quoted(name)} AS SELECT {items} FROM plain", "DROP TABLE plain")


def released_view(position: int, person: str, number: str, names: Sequence[str]) -> str:
    """A published table as the reference wants it: who a row belongs to is looked up in the source."""
    target = quoted("for one" if position == 1 else "for two")
    columns = ", ".join(f"released.{quoted(name)} AS q{index}" for index, name in enumerate(names, start=1))
    return (
        f"CREATE VIEW release_{position} AS SELECT released.{quoted(number)} AS row_key, "
        f"source.{quoted(person)} AS r, {columns} FROM {target} AS released "
        f"JOIN {quoted('source of rows')} AS source ON source.{quoted(number)} = released.{quoted(number)}"
    )


# -- who is counted ----------------------------------------------------------------------------------------------------


@pytest.mark.one_engine
def test_a_person_with_many_rows_is_exposed_once(engine_url: str) -> None:
    """Two persons have three rows each in one intersection: six rows, and still fewer than three people."""
    database = Database(engine_url)
    rows = [(who, "a", "20") for who in ("p", "q", None) for _ in range(3)]
    rows += [(who, "a", "30") for who in ("p", "r")] + [(who, "b", "20") for who in ("s", "t", "u")]
    rows += [(who, "b", "30") for who in ("v", "w", "x", "p")]
    database.create("patients", dict.fromkeys(("who", "zip", "age"), "text"), rows)
    columns = {**CLASSIC["columns"], "who": {"role": "identifier"}}
    del columns["disease"]
    spec = classic(database, columns=columns, respondent="who", privacy={"k": 3}, together="warn")
    [finding] = recipients.plan(spec).together.findings
    # Of age 30 in zip a are p and r; nobody knows who has no name, but all such rows are one person.
    assert (finding.exposed, finding.classes, finding.classes_at_risk, finding.smallest) == (2, 4, 1, 2)
    assert finding.sentence().endswith("fewer than 3 respondents in common")
    assert finding.to_dict()["counted"] == "respondents"


@pytest.mark.one_engine
def test_quasi_identifiers_that_one_release_lacks_are_known_for_themselves(database: Database) -> None:
    """The lab protects two, the press one of them and another: nobody is taken to know zip and age together."""
    groups = {
        "lab": {"by_zip": {"columns": ["zip"]}, "by_age": {"columns": ["age"]}},
        "press": {"by_zip": {"columns": ["zip"]}, "by_disease": {"columns": ["disease"], "k": 1}},
    }
    columns = {name: {"role": "quasi_identifier", "levels": {"max": 0}} for name in ("zip", "age", "disease")}
    roles = {"lab": "disease", "press": "age"}
    spec = classic(
        database,
        columns=columns,
        recipients={
            name: {
                "target": f"for_{name}",
                "privacy": {"quasi_identifiers": groups[name], "suppression": {"limit": 5}},
                "columns": {roles[name]: {"role": "insensitive"}},
            }
            for name in ("lab", "press")
        },
    )
    found = recipients.plan(spec).together.findings
    assert [(item.quasi_identifier, item.k, item.exposed) for item in found] == [
        ("by_zip", 2, 0),
        ("by_age", 2, 0),
        ("by_disease", 1, 0),
    ]


# -- lock files --------------------------------------------------------------------------------------------------------


@pytest.mark.one_engine
def test_apply_checks_what_lies_beside_it(database: Database) -> None:
    spec = classic(database)
    locks = locks_of(spec, recipients.plan(spec))
    with pytest.raises(RequirementError) as caught:
        recipients.apply(spec, locks["press"], {"lab": locks["lab"]})
    assert str(caught.value) == REFUSAL
    assert tables(database) == {"patients", "for_lab"}
    alone = recipients.apply(spec, locks["press"], {})
    assert alone.to_dict()["recipient"] == "press"
    assert alone.together.notes() == ["recipient 'lab' was not checked with it: no lock file of it is up to date"]
    assert database.counted("for_press", "age") == {("20",): 2, ("30",): 3}


@pytest.mark.one_engine
def test_apply_refuses_lock_files_that_are_out_of_date(database: Database) -> None:
    spec = classic(database, together="warn")
    locks = locks_of(spec, recipients.plan(spec))
    changed = deepcopy(CLASSIC["recipients"])
    changed["lab"]["privacy"] = {"k": 3}
    now = classic(database, recipients=changed, together="warn")
    with pytest.raises(UsageError, match="the spec has changed since this lock file was written") as caught:
        recipients.apply(now, locks["press"], {"lab": locks["lab"]})
    assert caught.value.__notes__ == ["this is about the release of recipient 'lab'"]
    with pytest.raises(UsageError, match="names no recipient"):
        recipients.apply(now, Lock("", "", {}, {}, {}, {}), {})
    assert "for_press" not in tables(database)
    planned = recipients.plan(now, only="press", beside={"lab": locks["lab"]})
    assert (planned.together.findings, planned.together.unchecked) == ((), ("lab",))


FIGURES: dict[str, Any] = {
    "algorithm": "optimal",
    "rows": 4,
    "suppressed": 0,
    "limit": 0,
    "classes": 1,
    "lattice": 2,
    "undecided": 0,
    "height": 1,
    "minimal": [],
    "ties": [],
    "minimal_complete": False,
    "proven": True,
    "verified": True,
    "satisfied": True,
    "score": {"loss": 0.5},
    "completeness": 1.0,
}


def test_lock_files_name_their_recipient(tmp_path: Path) -> None:
    hierarchies = {"zip": {"definition": "d0", "height": 1, "top": "*"}}
    lock = Lock("spec.yaml", "aa", {"zip": 1}, hierarchies, {}, FIGURES, recipient="lab")
    lock.write(tmp_path / "new.lock.json")
    assert Lock.read(tmp_path / "new.lock.json").recipient == "lab"
    old = Lock("spec.yaml", "aa", {"zip": 1}, hierarchies, {}, FIGURES)
    assert "recipient" not in old.to_json()
    old.write(tmp_path / "old.lock.json")
    assert Lock.read(tmp_path / "old.lock.json").to_json() == old.to_json()
    (tmp_path / "odd.lock.json").write_text(lock.to_json().replace('"lab"', "[1]"), encoding="utf-8")
    with pytest.raises(UsageError, match="is not a lock file"):
        Lock.read(tmp_path / "odd.lock.json")


# -- what fails, and what then stands ----------------------------------------------------------------------------------


@pytest.mark.one_engine
def test_a_release_that_fails_leaves_those_before_it(database: Database) -> None:
    staged: list[str] = []

    def fail_at_the_second(event: TraceEvent) -> None:
        if event.step == "stage release" and event.seconds is None:
            staged.append(event.sql)
            if len(staged) == 2:
                raise EngineError("the disk is full")

    with pytest.raises(EngineError, match="the disk is full") as caught:
        recipients.run(classic(database, together="warn"), Options(hooks=(fail_at_the_second,)))
    assert caught.value.__notes__ == ["this is about the release of recipient 'press'"]
    assert database.counted("for_lab", "zip") == {("a",): 3, ("b",): 2}
    assert tables(database) == {"patients", "for_lab"}
    assert database.leftovers() == []


@pytest.mark.one_engine
def test_a_plan_that_fails_says_for_whom(database: Database) -> None:
    changed = deepcopy(CLASSIC["recipients"])
    changed["press"]["privacy"] = {"k": 9}
    with pytest.raises(InfeasibleError) as caught:
        recipients.run(classic(database, recipients=changed))
    assert caught.value.__notes__ == ["this is about the release of recipient 'press'"]
    assert database.rows("for_lab") == [("release",)]


def test_two_names_of_one_table_are_one_target(database: Database) -> None:
    [(schema,)] = database.run("SELECT current_schema()")
    changed = deepcopy(CLASSIC["recipients"])
    changed["press"]["target"] = f"{schema}.for_lab"
    with pytest.raises(SpecError, match=r"^recipients.press.target: recipient lab has the same target$"):
        recipients.run(classic(database, recipients=changed, together="warn"))
    assert database.rows("for_lab") == [("release",)]


# -- from Python -------------------------------------------------------------------------------------------------------


def test_python_plans_for_one_and_runs_for_all(duckdb_url: str) -> None:
    database = Database(duckdb_url)
    database.create("patients", dict.fromkeys(("zip", "age", "disease"), "text"), TWO_BY_TWO)
    spec = classic(database, together="warn")
    assert api.plan(spec, recipient="press").levels == {"zip": 1, "age": 0}
    assert list(api.plan_recipients(spec).plans) == ["lab", "press"]
    assert list(api.run_recipients(spec).results) == ["lab", "press"]
    with pytest.raises(UsageError, match=r"^the spec has several recipients: lab, press; name one as recipient=, or"):
        api.plan(spec)
    with pytest.raises(UsageError, match=r"^the spec has several recipients: lab, press; publish for all of them with"):
        api.run(spec)
    with pytest.raises(UsageError, match="the spec has no recipients"):
        api.run_recipients(spec.for_recipient("lab"))
