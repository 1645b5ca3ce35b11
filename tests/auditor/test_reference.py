"""The hand-written SQL of `sql/reference` says what the oracle counts, on random small tables and on the papers' own.

Both are read by tests of everything else; here they are held against each other, and touch nothing of sqlanon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.kit.examples import share
from tests.kit.oracle import (
    Alpha,
    Asked,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctL,
    EntropyL,
    K,
    KMap,
    Labels,
    LargestShare,
    Model,
    PSensitive,
    RecursiveL,
    Table,
    TEqual,
    THierarchical,
    TOrdered,
    grouped,
)

Rows = list[tuple[Any, ...]]
Run = Callable[[str], Rows]

DIRECTORY = Path(__file__).parents[2] / "sql" / "reference"
FILES = sorted(path.stem for path in DIRECTORY.glob("*.sql"))
FEW = settings(
    max_examples=share(15), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

QUASI_IDENTIFIER = ("q1", "q2", "q3")
RELEASE = dict.fromkeys((*QUASI_IDENTIFIER, "s", "r"), "text")
VALUES = ("v", "w", "x", None)
ORDER = (None, "x", "v", "w", "y")
TAXONOMY: Labels = {
    "v": ("v", "vw", "*"),
    "w": ("w", "vw", "*"),
    "x": ("x", "xy", "*"),
    "y": ("y", "xy", "*"),
    None: (None, None, "*"),
}
EXACT = "decimal(12, 9)"
ASKED = {
    "k": "integer",
    "l": "integer",
    "p": "integer",
    "c": EXACT,
    "t": EXACT,
    "beta": EXACT,
    "delta": EXACT,
    "min_presence": EXACT,
    "max_presence": EXACT,
}

KEYS = st.tuples(st.sampled_from(["a", "A", "", None]), st.sampled_from(["1", None]), st.just("z"))
ROWS = st.lists(
    st.tuples(KEYS, st.sampled_from(VALUES), st.sampled_from(["p", "q", "r", None])).map(
        lambda row: (*row[0], *row[1:])
    ),
    max_size=16,
)
SHARES = st.sampled_from([Decimal(n) / 8 for n in range(8)] + [Decimal("0.1"), Decimal("0.333333333")])
COUNTS = st.integers(1, 4)
THRESHOLDS = st.fixed_dictionaries(
    {
        "k": COUNTS,
        "l": COUNTS,
        "p": COUNTS,
        "c": st.sampled_from([Decimal("0.5"), Decimal(1), Decimal("1.5"), Decimal(2), Decimal(3)]),
        "t": SHARES,
        "beta": SHARES.map(lambda share: share * 3),
        "delta": SHARES.map(lambda share: share * 2),
        "min_presence": st.sampled_from([Decimal(0), Decimal("0.25")]),
        "max_presence": st.sampled_from([Decimal("0.5"), Decimal(1)]),
    }
)
LOW = {"k": 2, "l": 4, "p": 2, "c": 2, "t": "0.5", "beta": 1, "delta": 0, "min_presence": 0, "max_presence": 1}


def read(name: str) -> str:
    return (DIRECTORY / f"{name}.sql").read_text(encoding="utf-8")


@pytest.fixture
def run(engine_url: str) -> Iterator[Run]:
    """Runs a statement in one session of the database's own client: a session for each statement costs more than it."""
    if engine_url.startswith("duckdb"):
        with duckdb.connect() as connection:
            yield lambda statement: connection.execute(statement).fetchall()
    else:
        with psycopg.connect(engine_url, autocommit=True) as session:

            def execute(statement: str) -> Rows:
                cursor = session.execute(statement.encode())
                return cursor.fetchall() if cursor.description else []

            yield execute


def create(run: Run, name: str, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
    run(f"DROP TABLE IF EXISTS {name}")
    run(f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in types.items())})")
    if rows:
        lines = ", ".join("(" + ", ".join(map(literal, row)) + ")" for row in rows)
        run(f"INSERT INTO {name} VALUES {lines}")


def literal(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'"


def measure(run: Run, name: str) -> tuple[Any, ...]:
    """The one row that a file gives."""
    (row,) = run(read(name))
    return row


def records(rows: Rows, names: Sequence[str] = tuple(RELEASE)) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def expected(table: Table, model: Model, *others: Model) -> tuple[Any, ...]:
    """Rows, classes and figure, then classes and rows that fail each model."""
    counted = [Asked(each, QUASI_IDENTIFIER, "s") for each in (model, *others)]
    figure = table.figure(counted[0])
    failing = [number for asked in counted for number in table.failing(asked)]
    return (len(table.rows), len(table.blocks(counted[0])), close(figure), *failing)


def close(figure: Any) -> Any:
    """Fractions and logarithms are floats in a database; counts are compared as they are."""
    return pytest.approx(float(figure), rel=1e-12, abs=1e-12) if isinstance(figure, Fraction | float) else figure


def models_of(thresholds: dict[str, Any]) -> dict[str, tuple[Model, ...]]:
    exact = {name: Fraction(value) for name, value in thresholds.items()}
    return {
        "l_diversity_distinct": (DistinctL(thresholds["l"]),),
        "l_diversity_entropy": (EntropyL(thresholds["l"]),),
        "l_diversity_recursive": (RecursiveL(exact["c"], thresholds["l"]),),
        "t_closeness_equal": (TEqual(exact["t"]),),
        "t_closeness_hierarchical": (THierarchical(exact["t"], TAXONOMY),),
        "beta_likeness": (BetaLikeness(exact["beta"]), BetaLikeness(exact["beta"], enhanced=True)),
        "k_map": (KMap(thresholds["k"]),),
    }


@given(rows=ROWS, suppressed=ROWS, population=st.lists(KEYS, max_size=12), asked=THRESHOLDS)
@example(rows=[], suppressed=[], population=[], asked=LOW)
@example(  # entropy on its threshold with more values than l: 4, 1, 1, 1, 1 of 8 rows is as diverse as 4 equal values
    rows=[("a", "1", "z", value, "p") for value in [*"vvvvwxy", None]], suppressed=[], population=[], asked=LOW
)
@example(  # respondents: p alone holds three values, q and r share one: 2 values count, of 3 people
    rows=[("a", "1", "z", *held) for held in [("v", "p"), ("w", "p"), ("x", "p"), ("y", "q"), ("y", "r")]],
    suppressed=[],
    population=[],
    asked=LOW,
)
@example(  # respondents: two people hold the same three values, and count for 2
    rows=[("a", "1", "z", value, person) for value in "vwx" for person in "pq"],
    suppressed=[],
    population=[],
    asked=LOW,
)
@FEW
def test_reference_equals_oracle(
    run: Run, rows: Rows, suppressed: Rows, population: Rows, asked: dict[str, Any]
) -> None:
    create(run, "release", RELEASE, rows)
    create(run, "source", RELEASE, rows + suppressed)
    create(run, "population", dict.fromkeys(QUASI_IDENTIFIER, "text"), population)
    create(run, "taxonomy", {"value": "text", "label_1": "text"}, [(v, TAXONOMY[v][1]) for v in TAXONOMY if v])
    create(
        run,
        "value_order",
        {"value": "text", "position": "integer"},
        [(value, 3 * place) for place, value in enumerate(ORDER) if value],
    )
    create(run, "asked", ASKED, [[asked[name] for name in ASKED]])
    table = Table(records(rows), source=records(rows + suppressed), population=records(population, QUASI_IDENTIFIER))

    for name, models in models_of(asked).items():
        assert measure(run, name) == expected(table, *models), name

    ordered = expected(table, TOrdered(Fraction(asked["t"]), ORDER))
    assert measure(run, "t_closeness_ordered") == (*ordered, 0)
    k = table.figure(Asked(K(1), QUASI_IDENTIFIER))
    total_rows, total_classes, *sensitive = expected(table, PSensitive(asked["p"]))
    assert measure(run, "p_sensitive") == (total_rows, total_classes, k, *sensitive)
    check_delta(run, table, Fraction(asked["delta"]))
    check_presence(run, table, Fraction(asked["min_presence"]), Fraction(asked["max_presence"]))
    check_respondents(run, Table(table.rows, "r"), asked["k"], asked["l"])
    check_alpha(run, table, {"v": asked["t"], None: asked["max_presence"]})


def check_delta(run: Run, table: Table, delta: Fraction) -> None:
    every = DeltaDisclosure(delta, every=True)
    total_rows, classes, figure, *failing = expected(table, DeltaDisclosure(delta), every)
    blocks = table.blocks(Asked(every, QUASI_IDENTIFIER, "s")).values()
    lacking = sum(len(block.shares.held) < len(block.shares.source) for block in blocks)
    assert measure(run, "delta_disclosure") == (total_rows, classes, figure, lacking, *failing)


def check_presence(run: Run, table: Table, least: Fraction, greatest: Fraction) -> None:
    asked = Asked(DeltaPresence(least, greatest), QUASI_IDENTIFIER)
    shares = [share for share in table.figures(asked).values() if share is not None]
    unmatched = len(table.blocks(asked)) - len(shares)
    figures = (close(min(shares, default=None)), None if unmatched else close(max(shares, default=None)))
    found = measure(run, "delta_presence")
    assert found == (len(table.rows), len(table.blocks(asked)), *figures, unmatched, *table.failing(asked))


def check_respondents(run: Run, table: Table, k: int, diversity: int) -> None:
    people, values = Asked(K(k), QUASI_IDENTIFIER), Asked(DistinctL(diversity), QUASI_IDENTIFIER, "s")
    assert measure(run, "respondents") == (
        len(table.rows),
        len(table.blocks(people)),
        len({row["r"] for row in table.rows}),
        table.figure(people),
        table.figure(values),
        *table.failing(people),
        *table.failing(values),
    )
    single = Counter(
        {(*key, s): n for key, block in table.blocks(values).items() for s, n in block.members.single.items()}
    )
    assert Counter(run(read("respondent_values"))) == single


def check_alpha(run: Run, table: Table, asked: dict[str | None, Decimal]) -> None:
    create(run, "asked", {"value": "text", "alpha": EXACT}, list(asked.items()))
    k = table.figure(Asked(K(1), QUASI_IDENTIFIER))
    largest = close(table.figure(Asked(LargestShare(1), QUASI_IDENTIFIER, "s")))
    totals = (len(table.rows), len(table.blocks(Asked(K(1), QUASI_IDENTIFIER))), k, largest)
    values = [
        (*totals, value, *expected(table, Alpha(value, Fraction(alpha)))[2:])
        for value, alpha in sorted(asked.items(), key=lambda item: item[0] is not None)
    ]
    assert run(read("alpha_k_anonymity")) == (values if table.rows else [(*totals, None, None, None, None)])


# -- two releases ------------------------------------------------------------------------------------------------------

RECODED = st.lists(
    st.tuples(
        st.sampled_from(["p", "q", "r", "s", None]),
        st.sampled_from([("a",), (None,), ()]),
        st.sampled_from([("1",), ("2",), ()]),
    ),
    max_size=14,
)
"""People with their value in each of two releases; no value where the row was suppressed."""


@given(rows=RECODED, k=COUNTS)
@FEW
def test_intersection_equals_brute_force(run: Run, rows: list[tuple[Any, ...]], k: int) -> None:
    types = {"row_key": "integer", **dict.fromkeys(("r", *QUASI_IDENTIFIER), "text")}
    for number in (1, 2):
        kept = [(i, row[0], *row[number] * 3) for i, row in enumerate(rows) if row[number]]
        create(run, f"release_{number}", types, kept)
    create(run, "asked", {"k": "integer"}, [[k]])
    people = [{"r": person, "one": one, "two": two} for person, one, two in rows if one or two]
    found = {key: {row["r"] for row in group} for key, group in grouped(people, ("one", "two")).items()}
    shared = {key: group for key, group in found.items() if all(key)}
    left_out = {key: group for key, group in found.items() if not all(key)}
    exposed = {key for key, group in shared.items() if len(group) < k}
    assert measure(run, "intersection") == (
        sum((row["one"], row["two"]) in shared for row in people),
        len(shared),
        min(map(len, shared.values()), default=None),
        len(set().union(*(shared[key] for key in exposed))),
        sum((row["one"], row["two"]) in exposed for row in people),
        min(map(len, left_out.values()), default=None),
        len(set().union(*(group for group in left_out.values() if len(group) < k))),
    )


# -- rows that fit each other ------------------------------------------------------------------------------------------

GENERALIZED: Labels = {"a": ("a", "ab", "*"), "b": ("b", "ab", "*"), None: (None, None, "*")}
CELLS = st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2))


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=7), left_out=st.integers(0, 2), k=COUNTS)
@FEW
def test_rows_that_fit_equal_brute_force(run: Run, rows: list[Any], left_out: int, k: int) -> None:
    """Each original row with the level of each of its cells; the last rows are left out of the release."""
    types = dict.fromkeys(QUASI_IDENTIFIER, "text")
    source = [tuple(value for value, _ in row) for row in rows]
    release = [tuple(GENERALIZED[value][level] for value, level in row) for row in rows[: len(rows) - left_out]]
    create(run, "source", types, source)
    create(run, "release", types, release)
    labels = {(name, value, label) for name in types for value in GENERALIZED for label in GENERALIZED[value]}
    create(run, "ancestor", dict.fromkeys(("attribute", "value", "label"), "text"), list(labels))
    create(run, "asked", {"k": "integer"}, [[k]])
    pairs = [
        (o, r)
        for o, original in enumerate(source)
        for r, row in enumerate(release)
        if all(label in GENERALIZED[value] for value, label in zip(original, row, strict=True))
    ]
    own = [sum(o == one for one, _ in pairs) for o in range(len(source))]
    there = [sum(r == other for _, other in pairs) for r in range(len(release))]
    fitting = [number for number in own if number]
    assert measure(run, "k_anonymity_revisited") == (
        len(release),
        min(fitting, default=None),
        sum(number < k for number in fitting),
        own.count(0),
        min(there, default=None),
        sum(number < k for number in there),
    )


# -- what must not be missed -------------------------------------------------------------------------------------------


def test_every_file_is_tested_and_says_what_it_answers() -> None:
    tested = Path(__file__).read_text(encoding="utf-8")
    for name in FILES:
        if name != "k_anonymity":
            assert f'"{name}"' in tested, f"{name}.sql is not run: it needs a line in models_of, or a check of its own"
            assert "Runs unchanged on DuckDB and PostgreSQL" in read(name)
            assert "Answers" in read(name) or name == "respondent_values"


def test_values_that_the_source_lacks_fail(run: Run) -> None:
    create(run, "release", RELEASE, [("a", "1", "z", "v", "p"), ("a", "1", "z", "unknown", "q")])
    create(run, "source", {"s": "text"}, [("v",)] * 4)
    create(run, "value_order", {"value": "text", "position": "integer"}, [("v", 1)])
    create(run, "asked", ASKED, [[1, 1, 1, 1, "0.4", 100, 100, 0, 1]])
    assert measure(run, "beta_likeness") == (2, 1, None, 1, 2, 1, 2)
    assert measure(run, "delta_disclosure") == (2, 1, None, 0, 1, 2, 1, 2)
    assert measure(run, "t_closeness_equal") == (2, 1, 0.5, 1, 2)
    assert measure(run, "t_closeness_ordered")[-1] == 1


def test_a_class_on_the_threshold_passes_and_one_part_in_a_thousand_million_beyond_fails(run: Run) -> None:
    for name, picked in (("release", "i > 50000"), ("source", "true")):
        # The class is three quarters v, the source half v: of 50,000 and 100,000 rows.
        run(
            f"CREATE TABLE {name} AS SELECT 'a' AS q1, 'a' AS q2, 'a' AS q3, "
            "CASE WHEN i <= 12500 OR i > 62500 THEN 'v' ELSE 'w' END AS s "
            f"FROM generate_series(1, 100000) AS numbers(i) WHERE {picked}",
        )
    create(run, "value_order", {"value": "text", "position": "integer"}, [("v", 1), ("w", 2)])
    create(run, "taxonomy", {"value": "text", "label_1": "text"}, [("v", "both"), ("w", "both")])
    for name, t in (("equal", "0.25"), ("ordered", "0.25"), ("hierarchical", "0.125")):
        for asked, failing in ((Decimal(t), 0), (Decimal(t) - Decimal("1e-9"), 1)):
            create(run, "asked", {"t": EXACT}, [[asked]])
            found = measure(run, f"t_closeness_{name}")[:5]
            assert found == (50_000, 1, float(t), failing, failing * 50_000), name


def test_entropy_of_almost_equally_frequent_values_is_not_rounded_up(run: Run) -> None:
    create(run, "asked", {"l": "integer"}, [[2]])
    for rows, failing in ((1_000_000, 0), (1_000_001, 1)):
        run("DROP TABLE IF EXISTS release")
        run(
            "CREATE TABLE release AS SELECT 'a' AS q1, 'a' AS q2, 'a' AS q3, i % 2 AS s "
            f"FROM generate_series(1, {rows}) AS numbers(i)"
        )
        assert measure(run, "l_diversity_entropy") == (rows, 1, pytest.approx(2), failing, failing * rows)


# -- the chapter's cases -----------------------------------------------------------------------------------------------

FIGURE_18 = [
    ("2203*", "been_married", "F", "hypertension"),
    ("2203*", "been_married", "F", "hypertension"),
    ("2203*", "never_married", "M", "obesity"),
    ("2203*", "never_married", "M", "HIV"),
    ("2203*", "never_married", "M", "obesity"),
    ("2203*", "been_married", "F", "hypertension"),
    ("2204*", "been_married", "M", "obesity"),
    ("2204*", "been_married", "M", "HIV"),
    ("2204*", "been_married", "M", "HIV"),
]
FIGURE_19 = [
    ("2203*", "been_married", "F", "N", 230),
    ("2203*", "been_married", "F", "N", 220),
    ("2203*", "never_married", "M", "Y", 250),
    ("2203*", "never_married", "M", "Y", 260),
    ("2203*", "never_married", "M", "N", 250),
    ("2203*", "been_married", "F", "N", 275),
    ("2204*", "been_married", "M", "N", 285),
    ("2204*", "been_married", "M", "Y", 210),
    ("2204*", "been_married", "M", "N", 190),
]
SINGLE_MEN = ("2203*", "never_married", "M")
QUASI = dict.fromkeys(QUASI_IDENTIFIER, "text")


def test_case_c2_homogeneity_and_alpha(run: Run) -> None:
    create(run, "release", {**QUASI, "s": "text"}, FIGURE_18)
    create(run, "asked", {"l": "integer", "p": "integer"}, [[2, 2]])
    assert measure(run, "l_diversity_distinct") == (9, 3, 1, 1, 3)
    assert measure(run, "p_sensitive") == (9, 3, 3, 1, 1, 3)
    create(run, "asked", {"value": "text", "alpha": EXACT}, [["HIV", "0.4"]])
    assert measure(run, "alpha_k_anonymity") == (9, 3, 3, 1.0, "HIV", pytest.approx(2 / 3), 1, 3)

    table = Table(records(FIGURE_18, (*QUASI_IDENTIFIER, "s")))
    diversity = Asked(DistinctL(2), QUASI_IDENTIFIER, "s")
    assert sorted(table.figures(diversity).values(), key=str) == [1, 2, 2]
    alpha = Asked(Alpha("HIV", Fraction("0.4")), QUASI_IDENTIFIER, "s")
    assert [key for key, passes in table.verdicts(alpha).items() if not passes] == [("2204*", "been_married", "M")]
    assert table.figures(alpha)["2204*", "been_married", "M"] == Fraction(2, 3)


def test_case_c3_skewness_and_similarity(run: Run) -> None:
    for column, kind, position in (("diabetes", "text", 3), ("cholesterol", "integer", 4)):
        rows = [(*row[:3], row[position]) for row in FIGURE_19]
        create(run, f"release_of_{column}", {**QUASI, "s": kind}, rows)
    create(run, "asked", {"t": EXACT, "l": "integer"}, [["0.333333333", 2]])

    def point_at(column: str) -> None:
        for name in ("release", "source"):
            run(f"DROP VIEW IF EXISTS {name}")
            run(f"CREATE VIEW {name} AS SELECT * FROM release_of_{column}")

    point_at("diabetes")
    # 2 of 3 single men against 3 of 9, and none of the women: both classes are a third away.
    assert measure(run, "t_closeness_equal") == (9, 3, pytest.approx(1 / 3), 2, 6)
    assert measure(run, "l_diversity_distinct") == (9, 3, 1, 1, 3)
    run("CREATE VIEW value_order AS SELECT DISTINCT s AS value, s AS position FROM release_of_cholesterol")
    point_at("cholesterol")
    assert measure(run, "t_closeness_ordered") == (9, 3, pytest.approx(14 / 63), 0, 0, 0)

    diabetes = Table(records([(*row[:3], row[3]) for row in FIGURE_19], (*QUASI_IDENTIFIER, "s")))
    equal = Asked(TEqual(Fraction(1, 3)), QUASI_IDENTIFIER, "s")
    assert diabetes.figures(equal)[SINGLE_MEN] == Fraction(1, 3)
    assert diabetes.satisfied([equal])
    cholesterol = Table(records([(*row[:3], row[4]) for row in FIGURE_19], (*QUASI_IDENTIFIER, "s")))
    men = cholesterol.blocks(equal)[SINGLE_MEN]
    assert (min(men.members.holders), max(men.members.holders)) == (250, 260)
    assert TOrdered(1).figure(men) == Fraction(13, 63)
