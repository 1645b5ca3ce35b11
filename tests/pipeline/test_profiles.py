"""Levels of anonymity and a recipient's profile (Samarati 2001, section 7): Datafly's walk by hand, what is refused,
and that the audit asks for what the profile says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.api import recipients
from sqlanon.errors import SpecError, UsageError
from sqlanon.insight.adversary.algorithm import unmeasured
from sqlanon.release.lock import Lock
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database, create_case
from tests.kit.papers import load_case

NAMES = ('Se"lect', "b.c", "d'e\\")
GROUPS = (("x", "it's"), ('q"uote', ""))
TREE = {"first": list(GROUPS[0]), "second": list(GROUPS[1])}
Cell = str | None


def spec_of(url: str, levels: Sequence[float], knows: Sequence[float] | None, **changes: Any) -> Spec:
    columns = {
        name: {"role": "quasi_identifier", "hierarchy": {"tree": TREE}, "anonymity": level}
        for name, level in zip(NAMES, levels, strict=False)
    }
    profile = {} if knows is None else {"profile": dict(zip(NAMES, knows, strict=False))}
    values: dict[str, Any] = {
        "connection": url,
        "source": "people",
        "target": "released",
        "columns": columns,
        "privacy": profile,
        "search": {"algorithm": "datafly"},
        "evidence": {"files": False},
    }
    for key, more in changes.items():
        values[key] = {**values[key], **more} if isinstance(values.get(key), dict) and isinstance(more, dict) else more
    return spec_from_dict(values)


def filled(url: str, rows: Sequence[Sequence[Cell]]) -> Database:
    database = Database(url)
    database.run("DROP TABLE IF EXISTS people", "DROP TABLE IF EXISTS released")
    types = {name.replace('"', '""'): "text" for name in NAMES[: len(rows[0])]}
    database.create("people", types, rows)
    return database


# -- the walk ----------------------------------------------------------------------------------------------------------


def label(cell: Cell, level: int) -> Cell:
    if level == 2:
        return "*"
    if level == 0 or cell is None:
        return cell
    return "first" if cell in GROUPS[0] else "second"


def asked(levels: Sequence[float], knows: Sequence[float], rows: int) -> list[tuple[tuple[int, ...], int]]:
    """The columns that are looked at together, with the rows that their values must stand in."""
    sizes = [ceil(round(level * known * rows, 9)) for level, known in zip(levels, knows, strict=True)]
    linking = tuple(place for place, known in enumerate(knows) if known == 1 and sizes[place])
    together = min((sizes[place] for place in linking), default=0)
    alone = [((place,), size) for place, size in enumerate(sizes) if size > (together if place in linking else 0)]
    return [*([(linking, together)] if linking else []), *alone]


def fails(rows: Sequence[Sequence[Cell]], node: Sequence[int], groups: Sequence[tuple[tuple[int, ...], int]]) -> bool:
    for columns, size in groups:
        counts = Counter(tuple(label(row[place], node[place]) for place in columns) for row in rows)
        if min(counts.values()) < size:
            return True
    return False


def walk(rows: Sequence[Sequence[Cell]], levels: Sequence[float], knows: Sequence[float]) -> list[int]:
    """Datafly without suppression: of the columns at stake, the one with the most values rises."""
    groups, node = asked(levels, knows, len(rows)), [0] * len(levels)
    while fails(rows, node, groups):
        stake = set[int]()
        for columns, _ in groups:
            if fails(rows, [level if place in columns else 2 for place, level in enumerate(node)], groups):
                stake |= set(columns)
        values = {place: len({label(row[place], node[place]) for row in rows}) for place in stake if node[place] < 2}
        node[max(values, key=lambda place: (values[place], -place))] += 1
    return node


PROFILES = [(1, 1, 1), (1, 1, 0.5), (1, 0.5, 0), (0.5, 0.25, 0.1), (1, 0, 1)]


def holds(url: str, seed: int) -> None:
    draw = random.Random(seed)
    rows = [tuple(draw.choice(["x", "x", "it's", 'q"uote', "", None]) for _ in range(3)) for _ in range(20)]
    levels, knows = [draw.choice([0.1, 0.15, 0.3, 0.5]) for _ in range(3)], PROFILES[seed % len(PROFILES)]
    database = filled(url, rows)
    spec = spec_of(url, levels, knows)
    result = pipeline.run(spec)
    node = walk(rows, levels, knows)
    assert list(result.levels.values()) == node
    expected = Counter(tuple(label(cell, node[place]) for place, cell in enumerate(row)) for row in rows)
    assert database.counted("released") == expected
    groups = asked(levels, knows, len(rows))
    found = pipeline.audit_spec(spec)
    assert found.satisfied
    if len(found.groups) > 1:
        assert {tuple(NAMES.index(name) for name in group.columns) for group in found.groups} == {
            columns for columns, _ in groups
        }


@pytest.mark.parametrize("seed", range(10))
def test_the_walk_is_as_by_hand(duckdb_url: str, seed: int) -> None:
    holds(duckdb_url, seed)


def test_the_walk_on_both_engines(engine_url: str) -> None:
    holds(engine_url, 2)


def test_figure_4_over_generalizes_by_a_level_of_anonymity(engine_url: str) -> None:
    """Section 7: at k = 3 Datafly ends at [1,1]. A quarter of the 12 rows is 3; the recipient knows both columns."""
    case = load_case("s1")
    create_case(Database(engine_url), case)
    columns = {name: {**dict(column), "anonymity": 0.25} for name, column in case.spec["columns"].items()}
    values = {
        **case.spec, "connection": engine_url, "source": "source_table", "target": "released", "columns": columns,
        "privacy": {"profile": {"race": 1, "zip": 1}}, "search": {"algorithm": "datafly"},
    }  # fmt: skip
    plan = pipeline.plan(spec_from_dict(values, case.directory))
    assert list(plan.levels.values()) == [1, 1]
    assert plan.requirement == {"quasi_identifier linking": {"k": {"k": 3}}}
    # 0 asks for nothing; 1 generalizes to the top; half as likely to be known, half the binsize: 2 rows.
    for level, knows, expected in ((0, 1, 0), (1, 1, 2), (0.25, 0.5, 0), (0.5, 0.5, 0), (0.5, 1, 1)):
        columns["zip"]["anonymity"] = level
        values["privacy"] = {"profile": {"race": 1, "zip": knows}}
        columns["race"]["anonymity"] = 0
        if level:
            assert pipeline.plan(spec_from_dict(values, case.directory)).levels == {"race": 0, "zip": expected}


# -- what is asked -----------------------------------------------------------------------------------------------------


ROWS = [("x", "it's")] * 4 + [("it's", "x")] * 4 + [('q"uote', "")] * 2


def test_binsizes_of_a_spec() -> None:
    def of(levels: Sequence[float], knows: Sequence[float] | None, rows: int, **more: Any) -> dict[str, Any]:
        privacy = spec_of("duckdb://", levels, knows, **more).of_rows(rows).privacy
        return {name: (group.columns, group.k) for name, group in privacy.quasi_identifiers.items()}

    first, second, third = NAMES
    assert of((0.1, 0.1, 0.1), None, 30) == {"linking": (NAMES, 3)}
    assert of((0.1, 0.2, 0.1), (1, 1, 0.5), 30) == {
        "linking": ((first, second), 3), second: ((second,), 6), third: ((third,), 2),
    }  # fmt: skip
    assert of((0.1, 0.1, 1), (1, 0, 1), 30) == {"linking": ((first, third), 3), third: ((third,), 30)}
    assert of((0, 0.1, 0.1), (1, 1, 0), 31) == {"linking": ((second,), 4)}
    assert of((0.1, 0.1, 0.1), None, 30, privacy={"k": 7}) == {"linking": (NAMES, 7)}
    assert of((0.2, 0.2, 0.2), (0.5, 0.1, 0), 10) == {first: ((first,), 1), second: ((second,), 1)}


def test_persons_are_counted(duckdb_url: str) -> None:
    database = Database(duckdb_url)
    people = [(f"p{number // 2}" if number < 6 else None, "x" if number < 4 else "it's") for number in range(8)]
    database.create("people", {"who": "text", "a": "text"}, people)
    values = {
        "connection": duckdb_url, "source": "people", "target": "released", "respondent": "who",
        "columns": {"who": {"role": "identifier"},
                    "a": {"role": "quasi_identifier", "hierarchy": {"tree": TREE}, "anonymity": 0.5}},
        "privacy": {}, "search": {"algorithm": "datafly"},
    }  # fmt: skip
    # p0 to p2, and the rows that name nobody count as one more: half of 4 persons.
    assert pipeline.plan(spec_from_dict(values)).requirement == {"quasi_identifier linking": {"k": {"k": 2}}}


@pytest.mark.parametrize("anonymity", [0.2, 0])
def test_models_hold_for_every_group_of_columns(engine_url: str, anonymity: float) -> None:
    """Two values of the disease in each class of the columns that are known together, and of each for itself."""
    database = Database(engine_url)
    rows = [("xxyyxxyyx"[n % 9], "aabb"[n % 4], "cdcdc"[n % 5]) for n in range(36)]
    database.create("people", {"a": "text", "b": "text", "disease": "text"}, rows)
    values = {
        "connection": engine_url, "source": "people", "target": "released",
        "columns": {"a": {"role": "quasi_identifier", "anonymity": 0.1},
                    "b": {"role": "quasi_identifier", "anonymity": anonymity},
                    "disease": {"role": "sensitive"}},
        "privacy": {"profile": {"a": 1, "b": 1}, "l_diversity": [{"column": "disease", "l": 2}]},
        "search": {"algorithm": "datafly"},
    }  # fmt: skip
    pipeline.run(spec_from_dict(values))
    released = database.rows("released", "a, b, disease")
    assert len(released) == len(rows)
    for columns, least in (((0, 1), 4), ((1,), 8)) if anonymity else (((0,), 4),):
        classes: dict[tuple[Cell, ...], list[Cell]] = {}
        for row in released:
            classes.setdefault(tuple(row[place] for place in columns), []).append(row[2])
        assert all(len(members) >= least and len(set(members)) >= 2 for members in classes.values())


def test_a_profile_of_some_columns_is_no_k_anonymity_of_all(duckdb_url: str) -> None:
    """What is told of plain k-anonymity alone, the matrix and downcoding, is not told of one group of some columns."""
    filled(duckdb_url, ROWS)
    spec = spec_of(duckdb_url, (0.2, 0), None, search={"algorithm": "optimal"})
    explained = pipeline.plan(spec, Options(explain=True)).explanation
    assert explained is not None
    assert "the spec asks for more" in str(explained.matrix.reason)
    assert "several groupings" in str(unmeasured(spec))


def test_a_lock_of_fewer_rows_is_planned_again(duckdb_url: str) -> None:
    database = filled(duckdb_url, ROWS)
    spec = spec_of(duckdb_url, (0.2, 0.2), None)
    lock = Lock.of(spec, pipeline.plan(spec), "")
    assert pipeline.apply(spec, lock).audit.k >= 2
    database.run("INSERT INTO people SELECT * FROM people")
    with pytest.raises(UsageError, match=r"another requirement .*plan again"):
        pipeline.apply(spec, lock)
    assert pipeline.run(spec).audit.k >= 4


def test_the_audit_asks_for_what_the_profile_says(duckdb_url: str) -> None:
    """A table that somebody else made passes the one recipient's profile and fails the other's."""
    database = filled(duckdb_url, ROWS)
    database.run("CREATE TABLE released AS SELECT * FROM people")
    assert not pipeline.audit_spec(spec_of(duckdb_url, (0.3, 0.3), (1, 0))).satisfied
    assert pipeline.audit_spec(spec_of(duckdb_url, (0.3, 0.3), (0.5, 0))).satisfied


def test_recipients_have_profiles_of_their_own(duckdb_url: str) -> None:
    database = filled(duckdb_url, ROWS)
    values = spec_of(duckdb_url, (0.3, 0.3), None).model_dump(mode="json", exclude_defaults=True)
    del values["target"], values["privacy"]
    knows = {"press": {NAMES[0]: 1, NAMES[1]: 1}, "desk": {NAMES[0]: 0.5, NAMES[1]: 0}}
    given = {
        **values, "connection": duckdb_url, "privacy": {}, "together": "warn",
        "recipients": {name: {"target": f"to_{name}", "privacy": {"profile": known}} for name, known in knows.items()},
    }  # fmt: skip
    spec = spec_from_dict(given)
    planned = recipients.plan(spec)
    assert {name: list(plan.levels.values()) for name, plan in planned.plans.items()} == {
        "press": walk(ROWS, (0.3, 0.3), (1, 1)), "desk": [0, 0],
    }  # fmt: skip
    assert [name for name, _ in recipients.publish(spec, planned)] == ["press", "desk"]
    assert min(database.counted("to_press").values()) >= 3


# -- what is refused ---------------------------------------------------------------------------------------------------


REFUSED: dict[str, tuple[Sequence[float], Sequence[float] | None, dict[str, Any], str]] = {
    "a level above 1": ((2, 0.1), None, {}, "anonymity: "),
    "a weight below 0": ((0.1, 0.1), (1, -1), {}, "privacy.profile"),
    "a column without a weight": ((0.1, 0.1), (1,), {}, "privacy.profile: quasi-identifier b.c is missing"),
    "nothing to ask": ((0, 0.1), (1, 0), {}, "privacy.profile: it requires nothing"),
    "k of nobody": ((0.1, 0.1), (0.5, 0.5), {"privacy": {"k": 3}}, "privacy.k: with a profile it applies to"),
    "blanked rows": (
        (0.1, 0.1), None, {"privacy": {"suppression": {"limit": 1, "mode": "blank"}}}, "privacy.suppression.mode: not",
    ),
    "a view": ((0.1, 0.1), None, {"target": {"view": "shown"}}, "target: a view cannot count"),
    "groups beside it": (
        (0.1, 0.1), None, {"privacy": {"quasi_identifiers": {"one": {"columns": list(NAMES[:2]), "k": 2}}}},
        "privacy.quasi_identifiers: remove it: a profile",
    ),
    "another k-anonymity": (
        (0.1, 0.1), None, {"privacy": {"anonymity": "(k,k)", "k": 2}}, "privacy.anonymity: remove it: a profile",
    ),
    "the matrix": ((0.1, 0.1), None, {"search": {"satisfies": "matrix"}}, "search.satisfies: matrix decides"),
    "another recoding": ((0.1, 0.1), None, {"search": {"algorithm": "mondrian"}}, "anonymity: mondrian does not"),
}  # fmt: skip


@pytest.mark.parametrize(("levels", "knows", "changes", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals(
    levels: Sequence[float], knows: Sequence[float] | None, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError) as refusal:
        spec_of("duckdb://", levels, knows, **changes)
    assert [line for line in refusal.value.problems if message in line], refusal.value.problems


def test_a_level_for_some_columns_only_is_refused() -> None:
    values = spec_of("duckdb://", (0.1, 0.1), None).model_dump(mode="json", exclude_defaults=True)
    del values["columns"]["b.c"]["anonymity"]
    with pytest.raises(SpecError, match="anonymity: a level from 0 to 1 is required"):
        spec_from_dict({**values, "privacy": {}})


def test_levels_too_low_to_ask_for_anything(duckdb_url: str) -> None:
    filled(duckdb_url, ROWS)
    with pytest.raises(UsageError, match=r"of 10 rows nothing is asked, every binsize is 1"):
        pipeline.run(spec_of(duckdb_url, (0.1, 0.01), None))
    with pytest.raises(UsageError, match=r"privacy\.profile: a script cannot count"):
        pipeline.script(spec_of(duckdb_url, (0.2, 0.2), None), None)
