"""mu-Argus: Figure 12 cell by cell, random tables with hostile names and values against brute force; what fails
its audit is not published."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.auditor import audit
from sqlanon.errors import InfeasibleError, RequirementError, SpecError
from sqlanon.recoding import Assigned
from sqlanon.release.lock import Lock
from sqlanon.release.results import RecodedPlan
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.sql.relations import Table
from tests.kit.database import Database, create_case
from tests.kit.papers import Case, load_case, read_csv
from tests.kit.tables import at

TAGS = {"ssn": 3, "race": 1, "dob": 2, "sex": 2, "zip": 2}
"""Section 7: SSN most identifying; date of birth, sex and ZIP more identifying; race identifying."""


def figure_12(url: str, k: int, **search: Any) -> Spec:
    case = load_case("s4")
    columns = {name: {**dict(case.spec["columns"][name]), "tag": tag} for name, tag in TAGS.items()}
    columns["ssn"] = {"role": "quasi_identifier", "tag": 3}
    values = {
        **case.spec,
        "connection": url,
        "source": "source_table",
        "target": "release_table",
        "columns": columns,
        "privacy": {"k": k, "suppression": {"limit": 1}},
        "search": {"algorithm": "mu_argus", **search},
    }
    return spec_from_dict(values, case.directory)


def printed(case: Case) -> Counter[tuple[Any, ...]]:
    """The table of the figure, SSN too: an empty cell is one that was blanked."""
    _, rows = read_csv(case.directory / case.expected["audit"]["table"])
    return Counter(("*", *("*" if cell is None else cell for cell in row)) for row in rows)


@pytest.mark.one_engine
def test_figure_12_cell_by_cell(engine_url: str) -> None:
    case, database = load_case("s4"), Database(engine_url)
    create_case(database, case)
    result = pipeline.run(figure_12(engine_url, k=1, mu_argus={"binsize": 2}))
    assert database.counted("release_table", "ssn, race, dob, sex, zip") == printed(case)
    assert isinstance(result.recoding, Assigned)
    details = result.recoding.details
    assert details["levels"] == {"ssn": 1, "race": 0, "dob": 2, "sex": 0, "zip": 0}
    assert (details["rows_blanked"], details["cells_blanked"]) == (1, 2)
    assert (result.publication.rows, result.publication.suppressed, result.audit.rows) == (12, 0, 12)
    assert result.plan is not None
    assert any(line.startswith("search.mu_argus.binsize: ") for line in result.plan.warnings)
    # An audit that knows nothing of how the table was made: k is 1, and 2-anonymity fails.
    with at(engine_url) as engine:
        found = audit(engine, Table(("release_table",)), ("race", "dob", "sex", "zip"), 2)
    assert (found.k, found.classes, found.rows_at_risk, found.satisfied) == (1, 7, 2, False)
    assert found.k == result.audit.k == case.expected["audit"]["k"]


@pytest.mark.one_engine
def test_figure_12_is_not_published_as_2_anonymous(engine_url: str) -> None:
    database = Database(engine_url)
    create_case(database, load_case("s4"))
    spec = figure_12(engine_url, k=2)
    plan = pipeline.plan(spec)
    assert isinstance(plan, RecodedPlan)
    assert plan.audit is not None
    assert (plan.audit.k, plan.audit.rows_at_risk, plan.satisfied, plan.search.verified) == (1, 2, False, False)
    told = plan.to_dict()
    assert (told["audit"]["k"], told["satisfied"], told["verified"], told["suppressed"]) == (1, False, False, 0)
    refusal = r"^mu_argus failed the audit over all columns \(k = 1\), and nothing was published: .* \(2 of 12 rows"
    with pytest.raises(RequirementError, match=refusal) as raised:
        pipeline.run(spec)
    assert "\n" not in str(raised.value)
    with pytest.raises(RequirementError, match="the release failed its audit and was not published"):
        pipeline.apply(spec, Lock.of(spec, plan, ""))
    tables = {name for (name,) in database.run("SELECT table_name FROM information_schema.tables")}
    assert "release_table" not in tables
    assert not database.leftovers()


def test_figure_12_fails_where_the_paper_says(duckdb_url: str) -> None:
    """(white, 1964, male, 94138) is one row, so is (female, 94139): columns that are tagged alike are not crossed."""
    create_case(Database(duckdb_url), load_case("s4"))
    pipeline.run(figure_12(duckdb_url, k=1, mu_argus={"binsize": 2}))
    rows = Database(duckdb_url).rows("release_table", "race, dob, sex, zip")
    assert rows.count(("white", "1964", "male", "94138")) == 1
    assert sum(sex == "female" and code == "94139" for _, _, sex, code in rows) == 1


# -- random tables -----------------------------------------------------------------------------------------------------

NAMES = ('a "b', "c.d", "Select", "ü'e\\")
VALUES = ("x", "X", "it's", 'q"uote', "back\\slash", "", " ", "ö")
Cell = str | None
Ladders = Sequence[Mapping[Cell, Sequence[Cell]]]
GROUPS = (("x", "X", "it's", 'q"uote'), ("back\\slash", "", " ", "ö"))


def ladder() -> dict[Cell, tuple[Cell, ...]]:
    """Value, half, everything; NULL stays NULL below the top."""
    found: dict[Cell, tuple[Cell, ...]] = {
        value: (value, half, "*") for half, values in zip(("first", "second"), GROUPS, strict=True) for value in values
    }
    return {**found, None: (None, None, "*")}


def random_rows(seed: int, width: int) -> list[tuple[Cell, ...]]:
    draw = random.Random(seed)
    few = draw.choice([2, 3, 5])
    return [tuple(draw.choice((*VALUES[:few], None)) for _ in range(width)) for _ in range(draw.randint(8, 14))]


def crossed(tags: Sequence[int | None]) -> Iterator[tuple[int, ...]]:
    for size in (1, 2, 3):
        for columns in combinations(range(len(tags)), size):
            own = [tags[place] for place in columns]
            if None in own or (all(own) and sorted(own, key=str) == sorted(set(own), key=str)):
                yield columns


Labelled = list[list[tuple[str, Cell]]]
BLANK = ("blank", None)


def rare(rows: Labelled, columns: Sequence[int], binsize: int) -> list[int]:
    """The rows that show all of these cells in fewer rows than the binsize."""
    shown = [number for number, row in enumerate(rows) if all(row[place] != BLANK for place in columns)]
    sizes = Counter(tuple(rows[number][place] for place in columns) for number in shown)
    return [number for number in shown if sizes[tuple(rows[number][place] for place in columns)] < binsize]


def by_hand(
    rows: Sequence[Sequence[Cell]], tags: Sequence[int | None], binsize: int, limit: int
) -> list[tuple[Cell, ...]] | None:
    """What docs/algorithms/search.md says, row by row."""
    steps = ladder()
    node = [0] * len(tags)
    while True:
        labels: Labelled = [[("label", steps[cell][node[place]]) for place, cell in enumerate(row)] for row in rows]
        values = [len({row[place] for row in labels}) for place in range(len(tags))]
        failing: dict[tuple[int, ...], int] = {}
        for columns in crossed(tags):
            if failing and max(failing.values()) > limit and len(columns) > len(next(reversed(failing))):
                break
            if found := rare(labels, columns, binsize):
                failing[columns] = len(found)
        if max(failing.values(), default=0) <= limit:
            blanked = suppressed(labels, tags, binsize, values)
            if sum(BLANK in row for row in blanked) <= limit:
                return [tuple("*" if cell == BLANK else cell[1] for cell in row) for row in blanked]
        worst = sorted(failing, key=lambda columns: (len(columns), -failing[columns]))
        for columns in (*worst, tuple(range(len(node)))):
            able = [place for place in columns if node[place] < 2]
            if able:
                node[max(able, key=lambda place: (values[place], -place))] += 1
                break
        else:
            return None


def suppressed(labels: Labelled, tags: Sequence[int | None], binsize: int, values: Sequence[int]) -> Labelled:
    rows = [list(row) for row in labels]
    while True:
        failing = [columns for columns in crossed(tags) if rare(rows, columns, binsize)]
        if not failing:
            return rows
        for columns in (item for item in failing if len(item) == len(failing[0])):
            lost = max(columns, key=lambda place: (values[place], -place))
            for number in rare(rows, columns, binsize):
                rows[number][lost] = BLANK


def random_spec(url: str, tags: Sequence[int | None], k: int, binsize: int | None, limit: int) -> Spec:
    tree = {"first": list(GROUPS[0]), "second": list(GROUPS[1])}
    columns = {
        name: {"role": "quasi_identifier", "hierarchy": {"tree": tree}, **({} if tag is None else {"tag": tag})}
        for name, tag in zip(NAMES, tags, strict=False)
    }
    return spec_from_dict(
        {
            "connection": url,
            "source": "people",
            "target": "released",
            "columns": columns,
            "privacy": {"k": k, "suppression": {"limit": limit}},
            "search": {"algorithm": "mu_argus", **({} if binsize is None else {"mu_argus": {"binsize": binsize}})},
        }
    )


TAGGINGS: tuple[tuple[int | None, ...], ...] = (
    (1, 2, 2, 3), (3, 2, 1), (1, 2, 0, 3), (None, None, None, None), (None, None),
)  # fmt: skip


def holds(url: str, seed: int) -> None:
    draw = random.Random(-seed)
    tags = TAGGINGS[seed % len(TAGGINGS)]
    rows = random_rows(seed, len(tags))
    binsize, limit = draw.choice([2, 2, 3]), draw.choice([0, 1, 3, 6])
    database = Database(url)
    types = {name.replace('"', '""'): "text" for name in NAMES[: len(tags)]}
    database.run("DROP TABLE IF EXISTS people", "DROP TABLE IF EXISTS released")
    database.create("people", types, rows)
    expected = by_hand(rows, tags, binsize, limit)
    spec = random_spec(url, tags, 1, binsize, limit)
    if expected is None:
        with pytest.raises(InfeasibleError, match="rows would lose cells"):
            pipeline.run(spec)
        return
    result = pipeline.run(spec)
    assert database.counted("released") == Counter(expected)
    assert result.audit.k == min(Counter(expected).values())
    # What mu-Argus promises: a tested combination that a row shows is shown by enough rows.
    marks: Labelled = [[BLANK if cell == "*" else ("label", cell) for cell in row] for row in expected]
    assert not any(rare(marks, columns, binsize) for columns in crossed(tags))


@pytest.mark.representative(3)
@pytest.mark.parametrize("seed", range(10))
def test_random_tables_are_released_as_by_hand(duckdb_url: str, seed: int) -> None:
    holds(duckdb_url, seed)


@pytest.mark.representative(1)
@pytest.mark.parametrize("seed", [3, 6])
def test_random_tables_on_both_engines(engine_url: str, seed: int) -> None:
    holds(engine_url, seed)


def test_by_hand_reaches_every_branch() -> None:
    """Cells are blanked in some of the random tables, in several rounds in one, and some cannot be released."""
    outcomes = Counter[str]()
    for seed in range(10):
        draw, tags = random.Random(-seed), TAGGINGS[seed % len(TAGGINGS)]
        rows = random_rows(seed, len(tags))
        found = by_hand(rows, tags, draw.choice([2, 2, 3]), draw.choice([0, 1, 3, 6]))
        outcomes["none" if found is None else "blank" if any("*" in row for row in found) else "shown"] += 1
    assert outcomes["blank"] >= 3, outcomes


# -- keys --------------------------------------------------------------------------------------------------------------


def test_a_forgotten_tag_is_named() -> None:
    values = random_spec("duckdb://", (1, 2), 2, None, 0).model_dump(mode="json", exclude_defaults=True)
    del values["columns"][NAMES[1]]["tag"]
    with pytest.raises(SpecError, match=r"tag: the other quasi-identifiers have tags: write one here too"):
        spec_from_dict(values)
    values["columns"][NAMES[0]]["tag"] = values["columns"][NAMES[1]]["tag"] = 0
    with pytest.raises(SpecError, match=r"columns: all tags are 0, and mu_argus would test nothing"):
        spec_from_dict(values)
    values["columns"][NAMES[0]]["tag"] = 4
    with pytest.raises(SpecError, match=r"tag: .*3"):
        spec_from_dict(values)


def test_a_release_that_passes_is_published_and_carried_out_by_its_lock(duckdb_url: str) -> None:
    """Of two columns every combination is tested: the release is as anonymous as any."""
    database = Database(duckdb_url)
    database.create("people", {"a": "text", "b": "text"}, [("x", "it's")] * 3 + [("X", "it's")] * 2 + [("x", "ö")])
    tree = {"first": list(GROUPS[0]), "second": list(GROUPS[1])}
    column = {"role": "quasi_identifier", "hierarchy": {"tree": tree}}
    values = {
        "connection": duckdb_url, "source": "people", "target": "released", "columns": {"a": column, "b": column},
        "privacy": {"k": 2, "suppression": {"limit": 1}}, "search": {"algorithm": "mu_argus"},
    }  # fmt: skip
    spec = spec_from_dict(values)
    plan = pipeline.plan(spec)
    assert not plan.satisfied, "the row with a blank cell is alone"
    assert database.run("SELECT count(*) FROM people") == [(6,)]
    values["privacy"] = {"k": 2, "suppression": {"limit": 0}}
    spec = spec_from_dict(values)
    plan = pipeline.plan(spec)
    assert plan.satisfied
    result = pipeline.apply(spec, Lock.of(spec, plan, ""))
    assert result.audit.k >= 2
    assert result.recoding.same_as(plan.recoding)


def test_a_budget_ends_the_walk(duckdb_url: str) -> None:
    create_case(Database(duckdb_url), load_case("s4"))
    with pytest.raises(InfeasibleError, match=r"the budget was spent before .* 12 of 12 rows would lose cells"):
        pipeline.plan(figure_12(duckdb_url, k=2, budget={"nodes": 1}))
