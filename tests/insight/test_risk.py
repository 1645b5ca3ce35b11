"""Risk figures against hand-computed ones on the papers' tables, and against brute force on random tables."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.engines.base import Engine
from sqlanon.errors import SourceError, UsageError
from sqlanon.insight.reidentification import RiskRequest, measure_classes, measure_risk, measure_subsets
from sqlanon.insight.reidentification import subsets as subsets_module
from sqlanon.insight.reidentification.subsets import blocks, subsets
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table
from tests.kit import risks
from tests.kit.audits import FEW, fill
from tests.kit.papers import adversarial_names, adversarial_values, load_case
from tests.kit.tables import create
from tests.kit.tables import run as execute

THRESHOLDS = ("0.05", "0.2", "0.34", "0.5")
TYPES = {"a": "text", "b": "int", "c": "text", "d": "int", "who": "text"}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.sampled_from(["x", "X", "", None]),
            "b": st.sampled_from([1, 2, 3, None]),
            "c": st.sampled_from(["p", "q"]),
            "d": st.integers(1, 6),
            "who": st.sampled_from(["1", "2", None]),
        }
    ),
    min_size=1,
    max_size=25,
)
COLUMNS = ("a", "b", "c", "d")


def request(columns: tuple[str, ...] = COLUMNS, **more: Any) -> RiskRequest:
    return RiskRequest(columns, tuple(map(Decimal, THRESHOLDS)), **more)


@FEW
@given(rows=ROWS, people=ROWS)
def test_classes_equal_brute_force(shared_engine: Engine, rows: list[risks.Row], people: list[risks.Row]) -> None:
    table, population = fill(shared_engine, "t", rows, TYPES), fill(shared_engine, "p", [*rows, *people], TYPES)
    found = measure_classes(shared_engine, table, request(("a", "b")), population=population)
    expected = risks.prosecutor(rows, ("a", "b"), THRESHOLDS)
    assert (found.rows, found.uniques) == (len(rows), expected.uniques)
    assert found.classes == len(risks.sizes(rows, ("a", "b")))
    assert found.prosecutor.highest == pytest.approx(float(expected.highest))
    assert found.prosecutor.average == pytest.approx(float(expected.average))
    assert [item.rows for item in found.prosecutor.at_risk] == list(expected.above.values())
    theirs, marketer = risks.journalist(rows, [*rows, *people], ("a", "b"), THRESHOLDS)
    assert found.journalist is not None
    assert found.population is not None
    assert found.journalist.highest == pytest.approx(float(theirs.highest))
    assert found.journalist.average == pytest.approx(float(theirs.average))
    assert [item.rows for item in found.journalist.at_risk] == list(theirs.above.values())
    assert found.population.uniques == theirs.uniques
    assert found.marketer == pytest.approx(float(marketer))
    assert sum(bucket.rows for bucket in found.distribution) == len(rows)


@FEW
@given(rows=ROWS)
def test_subsets_and_minimal_uniques_equal_brute_force(shared_engine: Engine, rows: list[risks.Row]) -> None:
    table = fill(shared_engine, "t", rows, TYPES)
    with Scratch(shared_engine, ()) as scratch:
        asked = request(k=3, subset_size=3, unique_size=3)
        found, special = measure_subsets(shared_engine, table, asked, scratch)
    assert found is not None
    assert special is not None
    wanted = [chosen for size in (1, 2, 3) for chosen in combinations(COLUMNS, size)]
    assert {item.columns for item in found.found} == set(wanted)
    for item in found.found:
        *counts, distinction, separation = risks.subset_figures(rows, item.columns, 3)
        assert [item.classes, item.uniques, item.at_risk] == counts
        assert item.distinction == pytest.approx(float(distinction))
        assert item.separation == pytest.approx(float(separation))
    sets = risks.minimal_uniques(rows, COLUMNS, 3)
    scored = risks.scores(sets, len(COLUMNS), 3)
    by_size = Counter(len(chosen) for own in sets for chosen in own)
    assert dict(special.sets) == {size: by_size[size] for size in (1, 2, 3)}
    assert (special.rows, special.total_score) == (len(scored), sum(scored))
    assert special.highest_score == max(scored, default=0)
    assert dict(special.above) == {bound: sum(score >= bound for score in scored) for bound in special.above}
    if scored:
        assert set(special.contributions) == set(COLUMNS)
        assert special.contributions["d"] == pytest.approx(
            sum(risks.scores([[c for c in own if "d" in c] for own in sets], 4, 3)) / sum(scored)
        )


@pytest.mark.one_engine
def test_roll_ups_count_what_the_whole_counts(shared_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same figures when everything above one combination is worth a roll-up, blocks and grown sets among them."""
    random = Random(7)
    columns = tuple(f"c{position}" for position in range(7))
    values = (2, 9, 3, 5, 2, 7, 3)
    rows = [{name: str(random.randrange(most)) for name, most in zip(columns, values, strict=True)} for _ in range(400)]
    table = fill(shared_engine, "wide", rows, dict.fromkeys(columns, "text"))
    made: list[str] = []
    create_counted = Scratch.create_counted

    def counting(self: Scratch, step: str, name: str, query: Any) -> tuple[Table, int]:
        made.append(step)
        return create_counted(self, step, name, query)

    monkeypatch.setattr(Scratch, "create_counted", counting)
    with Scratch(shared_engine, ()) as scratch:
        asked = request(columns, subset_size=3)
        plain, _ = measure_subsets(shared_engine, table, asked, scratch)
        assert "roll up" not in made
        monkeypatch.setattr("sqlanon.insight.reidentification.subsets.SMALL", 1)
        rolled, _ = measure_subsets(shared_engine, table, asked, scratch)
    assert made.count("roll up") > 10
    assert plain == rolled
    assert plain is not None
    assert plain.of("c1", "c5").classes == len(risks.sizes(rows, ("c1", "c5")))


def test_blocks_have_every_subset() -> None:
    for columns, size in ((12, 4), (9, 3), (7, 2)):
        found = blocks([position + 2 for position in range(columns)], size)
        assert all(any(chosen <= block for block in found) for chosen in subsets(columns, size))
        assert max(map(len, found)) < columns


def test_words_beyond_sixty_two_bits(shared_engine: Engine) -> None:
    """Wide columns are packed into several words; NULL is a value of its own in each."""
    columns = tuple(f"c{position}" for position in range(12))
    rows: list[risks.Row] = [
        {name: str((i * (position + 3)) % 97) for position, name in enumerate(columns)} for i in range(97)
    ]
    rows += [dict.fromkeys(columns), dict.fromkeys(columns)]
    table = fill(shared_engine, "many", rows, dict.fromkeys(columns, "text"))
    with Scratch(shared_engine, ()) as scratch:
        found, special = measure_subsets(shared_engine, table, request(columns, subset_size=2, unique_size=2), scratch)
    assert found is not None
    assert special is not None
    assert {item.uniques for item in found.found} == {97}
    assert (special.rows, dict(special.sets)) == (97, {1: 97 * 12, 2: 0})


def test_the_papers_tables(shared_engine: Engine) -> None:
    """By hand. S3 (Samarati's Figure 1): eleven rows, all different; only four birth years; t11 alone by its ZIP."""
    case = load_case("s3")
    create(shared_engine, ["s3"], case.types, case.rows)
    with Scratch(shared_engine, ()) as scratch:
        asked = RiskRequest(case.quasi_identifier, subset_size=2, unique_size=2, k=2)
        found = measure_risk(shared_engine, Table(("s3",)), asked, scratch)
    risk = found.classes
    assert (risk.rows, risk.classes, risk.uniques, risk.uniqueness) == (11, 11, 11, 1.0)
    assert (risk.prosecutor.highest, risk.prosecutor.average, risk.marketer) == (1.0, 1.0, 1.0)
    assert found.subsets is not None
    zips = found.subsets.of("zip")
    assert (zips.classes, zips.uniques, zips.distinction) == (4, 1, 4 / 11)
    # 94138 and 94139 four rows each, 94141 two, 94142 one: 6 + 6 + 1 of 55 pairs agree.
    assert zips.separation == pytest.approx(1 - 13 / 55)
    assert found.subsets.of("dob").separation == 1
    # Races 4, 4, 3; sexes 5 female, 6 male: asian f 2, m 2; black f 2, m 2; white f 1, m 2.
    assert (found.subsets.of("race", "sex").classes, found.subsets.of("race", "sex").uniques) == (6, 1)
    assert found.special is not None
    # Every birth date is unique. Beside it t11 has ZIP, widow, and white female; two columns of one value at most.
    assert found.special.sets == {1: 11 + 1 + 1, 2: 1}
    # A set of one column counts 4 * 3, of two columns 3: t11 has three of the former and one of the latter.
    assert (found.special.rows, found.special.highest_score) == (11, 3 * 12 + 3)


def test_the_chapters_table(shared_engine: Engine) -> None:
    """C1 by hand: classes over (ZIP, Marital, Sex): 2 married F, single M 22030, single M 22032 x2, divorced F,
    divorced M, widow M x2, single F: seven classes, four rows alone."""
    case = load_case("c1")
    create(shared_engine, ["c1"], case.types, case.rows)
    found = measure_classes(shared_engine, Table(("c1",)), request(case.quasi_identifier))
    assert (found.rows, found.classes, found.uniques, found.smallest, found.largest) == (10, 7, 4, 1, 2)
    assert (found.prosecutor.highest, found.prosecutor.average) == (1.0, 0.7)
    assert [(item.threshold, item.rows) for item in found.prosecutor.at_risk] == [
        (0.05, 10),
        (0.2, 10),
        (0.34, 10),
        (0.5, 4),
    ]
    assert [(bucket.low, bucket.classes, bucket.rows) for bucket in found.distribution] == [(1, 4, 4), (2, 3, 6)]


def test_persons_are_counted(shared_engine: Engine) -> None:
    """Three rows of one person are one person: the risk of each of them is one."""
    rows = [
        {"a": "x", "who": "1"},
        {"a": "x", "who": "1"},
        {"a": "x", "who": "1"},
        {"a": "y", "who": "2"},
        {"a": "y", "who": "3"},
    ]
    table = fill(shared_engine, "persons", rows, {"a": "text", "who": "text"})
    found = measure_classes(shared_engine, table, request(("a",)), respondent="who")
    assert (found.smallest, found.uniques) == (1, 3)
    assert found.prosecutor.average == pytest.approx(float(Fraction(3 + 1, 5)))


def test_adversarial_names_and_values(shared_engine: Engine) -> None:
    names = adversarial_names()[:8]
    values = adversarial_values()
    rows = [[values[(i + j) % len(values)] for j in range(len(names))] for i in range(len(values))]
    execute(shared_engine, 'DROP TABLE IF EXISTS "t"')
    create(shared_engine, ["t"], dict.fromkeys(names, "text"), rows)
    as_dicts = [dict(zip(names, row, strict=True)) for row in rows]
    with Scratch(shared_engine, ()) as scratch:
        asked = RiskRequest(tuple(names), subset_size=2, unique_size=2)
        found = measure_risk(shared_engine, Table(("t",)), asked, scratch)
    assert found.classes.classes == len(risks.sizes(as_dicts, names))
    assert found.subsets is not None
    assert found.subsets.of(names[0]).classes == len(risks.sizes(as_dicts, names[:1]))


def test_what_is_refused(shared_engine: Engine) -> None:
    table = fill(shared_engine, "nothing", [], TYPES)
    with pytest.raises(SourceError, match="has no rows"):
        measure_classes(shared_engine, table, request())
    with pytest.raises(SourceError, match="no column 'z'"):
        measure_classes(shared_engine, table, request(("z",)))
    with pytest.raises(UsageError, match="threshold"):
        RiskRequest(("a",), (Decimal(0),))
    with pytest.raises(UsageError, match="name the columns"):
        RiskRequest(())
    many = tuple(f"c{position}" for position in range(40))
    with Scratch(shared_engine, ()) as scratch, pytest.raises(UsageError, match="more than"):
        measure_subsets(shared_engine, table, RiskRequest(many, subset_size=5), scratch)
    assert subsets_module.MOST_SUBSETS < 100_000
