"""Columns released by a rule: what is published is what Python makes of the source, and the audit sees what is not.

Values are adversarial: NULL, negative, infinite, NaN, leap days, hours that clocks skip or repeat, hostile texts.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from sqlanon import pipeline
from sqlanon.engines.base import Statement
from sqlanon.errors import RequirementError, SourceError, SpecError, UsageError
from sqlanon.release.lock import Lock
from sqlanon.source.binding import bind
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database
from tests.kit.engine import execute, open_at, query

SECRET = "a secret of the tests ' ; -- and long"
VARIABLE = "SQLANON_TEST_SHIFT_KEY"

NAME = 'odd "name" - x'
INF, NAN = math.inf, math.nan
FLOATS = [None, -151.0, -150.0, -149.0, -0.0, 49.999, 50.0, 150.0, 250.5, 1e18, INF, -INF, NAN, 99.5]
WHOLE = [None, -151, -150, -149, -1, 0, 1, 49, 50, 150, 250, 10**15, 7, 99]
EXACT = ["-150.25", None, "-0.24", "-0.25", "0.00", "0.24", "0.25", "0.74", "0.75", "1000000.01", "2", "3", "4", "5"]
DAYS = [
    None, "2024-02-29", "2023-02-28", "1900-03-01", "2000-12-31", "2024-01-01", "1999-10-01", "infinity", "-infinity",
    "2024-03-31", "2024-10-27", "1969-07-20", "2100-02-28", "2024-06-30",
]  # fmt: skip
"""14 rows; two persons a class, each of some rows."""


@pytest.fixture
def database(engine_url: str) -> Database:
    return Database(engine_url)


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(VARIABLE, SECRET)
    return SECRET


def spec_of(database: Database, columns: dict[str, Any], **more: Any) -> Spec:
    """A release of table `people` by the quasi-identifier `a`, with `person` as the key of the person."""
    values = {
        "connection": database.url,
        "source": "people",
        "target": "released",
        "columns": {"person": {"role": "identifier"}, "a": {"role": "quasi_identifier"}, **columns},
        "privacy": {"k": 2},
        **more,
    }
    return spec_from_dict(values)


def table(database: Database, kind: str, values: list[Any]) -> None:
    """A row for each value; every row is a person's own, all of class a."""
    tables(database, {"x": (kind, values)})


def tables(database: Database, columns: dict[str, tuple[str, list[Any]]]) -> None:
    """The same with several columns, each with its type and values."""
    kinds = {"person": "text", "a": "text", **{name: kind for name, (kind, _) in columns.items()}}
    values = zip(*(values for _, values in columns.values()), strict=True)
    database.create("people", kinds, [(f"p{n}", "a", *row) for n, row in enumerate(values)])


def ruled(role: str, release: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "release": release, "accept": "a test", **more}


def spelled(values: list[Any]) -> Counter[Any]:
    """Values as they can be counted; one zero, NaN by its name."""

    def one(value: Any) -> Any:
        if isinstance(value, float):
            return "NaN" if math.isnan(value) else value + 0.0
        if isinstance(value, Decimal):
            return str(value) if not value.is_finite() else value.normalize() + 0
        return value

    return Counter(map(one, values))


def released(database: Database, spec: Spec, *names: str) -> list[Any]:
    """The values of a column, or of several in their order, of a release whose audit asked for their rules."""
    result = pipeline.run(spec)
    assert result.publication.audit.satisfied
    asked = {check.name for check in result.publication.audit.policy}
    assert {f"rule of {name}" for name in names or ("x",)} <= asked
    quoted = ['"' + name.replace('"', '""') + '"' for name in names or ("x",)]
    rows = database.rows("released", ", ".join(quoted))
    return [value for (value,) in rows] if len(quoted) == 1 else [list(values) for values in zip(*rows, strict=True)]


# -- rules of single values --------------------------------------------------------------------------------------------


def half_up(value: Any, step: Decimal) -> Any:
    """The nearest multiple, halves up."""
    if value is None or (isinstance(value, float) and (not math.isfinite(value) or abs(value / float(step)) >= 2**52)):
        return value
    if isinstance(value, float):
        return math.floor(value / float(step) + 0.5) * float(step)
    return (Decimal(value) / step + Decimal("0.5")).to_integral_value("ROUND_FLOOR") * step


ROUNDED: dict[str, tuple[str, list[Any], str]] = {
    "f100": ("double precision", FLOATS, "100"),
    "f05": ("double precision", FLOATS, "0.5"),
    "i100": ("integer", [value for value in WHOLE if value is None or value < 2**31] + [0], "100"),
    "b3": ("bigint", WHOLE, "3"),
    "d05": ("decimal(12, 2)", EXACT, "0.5"),
    "d1000": ("decimal(12, 2)", EXACT, "1000"),
}


def test_rounded_to_the_nearest_multiple_halves_up(database: Database) -> None:
    tables(database, {name: (kind, values) for name, (kind, values, _) in ROUNDED.items()})
    rules = {name: ruled("insensitive", {"round": float(step)}) for name, (_, _, step) in ROUNDED.items()}
    for name, found in zip(ROUNDED, released(database, spec_of(database, rules), *ROUNDED), strict=True):
        kind, values, step = ROUNDED[name]
        exact = [value if value is None or kind.startswith("double") else Decimal(value) for value in values]
        shown = [Decimal(value) if isinstance(value, int) else value for value in found]
        assert spelled(shown) == spelled([half_up(value, Decimal(step)) for value in exact]), name


def test_decimals_without_end_stay_as_they_are(postgres_url: str) -> None:
    database = Database(postgres_url)
    table(database, "numeric", ["Infinity", "-Infinity", "NaN", "149.5"])
    found = released(database, spec_of(database, {"x": ruled("insensitive", {"round": 100})}))
    assert Counter(map(str, map(float, found))) == Counter(["inf", "-inf", "nan", "100.0"])


def first_moment(value: datetime, unit: str) -> datetime:
    month = {"year": 1, "quarter": (value.month - 1) // 3 * 3 + 1}.get(unit, value.month)
    day = value.day if unit in ("day", "hour") else 1
    return datetime(value.year, month, day, value.hour if unit == "hour" else 0)


def test_dates_are_truncated_and_infinite_ones_stay(database: Database) -> None:
    units = ("year", "quarter", "month", "day")
    tables(database, dict.fromkeys(units, ("date", DAYS)))
    pipeline.run(spec_of(database, {unit: ruled("insensitive", {"truncate": unit}) for unit in units}))
    ordinary = [day and datetime.fromisoformat(day) for day in DAYS if not (day or "").endswith("infinity")]
    for unit in units:
        found = Counter(value for (value,) in database.rows("released", f'CAST("{unit}" AS text)'))
        wanted = Counter(value and str(first_moment(value, unit).date()) for value in ordinary)
        assert found == wanted + Counter(["infinity", "-infinity"]), unit
        assert database.types("released")[unit] == "date"


MOMENTS = [
    "2024-03-31 00:59:59.999999+00", "2024-03-31 01:00:00+00", "2024-03-31 02:30:00+02", "2024-10-27 02:30:00+02",
    "2024-10-27 02:30:00+01", "2024-12-31 23:59:59-08", "2024-02-29 12:00:00+14", None, "1969-12-31 23:59:59+00",
]  # fmt: skip


def test_moments_are_truncated_by_utc_whatever_clocks_do(database: Database) -> None:
    units = ("hour", "day", "month")
    tables(database, dict.fromkeys(units, ("timestamp with time zone", MOMENTS)))
    spec = spec_of(database, {unit: ruled("insensitive", {"truncate": unit}) for unit in units})
    moments = [value and datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None) for value in MOMENTS]
    for unit, found in zip(units, released(database, spec, *units), strict=True):
        assert Counter(found) == Counter(value and first_moment(value, unit) for value in moments), unit


def test_buckets_are_half_open_and_nan_is_none_of_them(database: Database) -> None:
    table(database, "double precision", FLOATS)
    found = released(database, spec_of(database, {"x": ruled("insensitive", {"bucket": [-150, 0, 50.0, 250.5]})}))

    def label(value: float | None) -> str | None:
        if value is None or math.isnan(value):
            return None if value is None else "NaN"
        texts = ["<-150", "[-150, 0)", "[0, 50)", "[50, 250.5)", ">=250.5"]
        return texts[sum(value >= cut for cut in (-150, 0, 50, 250.5))]

    assert Counter(found) == Counter(map(label, FLOATS))


def test_a_hostile_name_and_a_sensitive_column(database: Database) -> None:
    """Models judge what is published: of 1001 and 1002 rounded to 1000 nobody learns two values."""
    rows = [(f"p{n}", "ab"[n % 2], 1001 + n % 3 if n % 2 else 1001 + 1000 * (n % 3)) for n in range(12)]
    database.create("people", {"person": "text", "a": "text", f"{NAME.replace(chr(34), chr(34) * 2)}": "integer"}, rows)
    model = {"l_diversity": [{"column": NAME, "l": 2}]}
    spec = spec_of(
        database,
        {NAME: ruled("sensitive", {"round": 1000})},
        privacy={"k": 2, **model, "suppression": {"limit": "50%"}},
    )
    found = released(database, spec, NAME)
    assert set(found) == {1000, 2000, 3000}
    assert pipeline.audit_spec(spec).satisfied
    levels = {value for (value,) in database.rows("released", "a")}
    # Where the classes are a and b, that of b shows one value: it is merged or left out.
    assert levels in ({"a"}, {"*"})


# -- caps --------------------------------------------------------------------------------------------------------------


def edge_of(pairs: list[tuple[str, float]], k: int, tail: Decimal, written: float | None, *, top: bool) -> float | None:
    """The edge by brute force: everybody's outermost value; so many of them are at it or beyond."""
    people: dict[str, float] = {}
    for person, value in pairs:
        people[person] = value if person not in people else (max if top else min)(people[person], value)
    needed = max(k, math.ceil(tail * len(people)))
    if len(people) < needed:
        return None
    reached = sorted(people.values(), reverse=top)[needed - 1]
    if written is None:
        return reached
    return min(reached, written) if top else max(reached, written)


CAPS: dict[str, tuple[dict[str, Any], str]] = {
    "tops": ({"top": "90%"}, "0.1"),
    "bottoms": ({"bottom": "12.5%"}, "0.125"),
    "both": ({"top": "99.9%", "bottom": "0.1%"}, "0.001"),
    "written": ({"top": 60}, "0"),
    "beyond": ({"top": 10_000}, "0"),
    "range": ({"bottom": -10_000, "top": 3}, "0"),
}
"""Each with the share of people that lies beyond a percentage."""


@pytest.mark.parametrize("respondent", [False, True])
def test_an_edge_is_reached_by_at_least_k_people(database: Database, respondent: bool) -> None:
    values: list[float | None] = [*(float(n * n % 97) - 20 for n in range(40)), None, NAN, INF, -INF]
    persons = [f"p{n // 3}" for n in range(len(values))]
    rows = [(person, "a", *[value] * len(CAPS)) for person, value in zip(persons, values, strict=True)]
    database.create("people", {"person": "text", "a": "text", **dict.fromkeys(CAPS, "double precision")}, rows)
    more = {"respondent": "person"} if respondent else {}
    rules = {name: ruled("insensitive", {"cap": cap}) for name, (cap, _) in CAPS.items()}
    spec = spec_of(database, rules, privacy={"k": 3}, **more)
    pairs = [
        (person if respondent else str(n), value)
        for n, (person, value) in enumerate(zip(persons, values, strict=True))
        if value is not None and not math.isnan(value)
    ]

    def capped(value: float | None, cap: dict[str, Any], tail: str) -> float | None:
        for side in ("top", "bottom"):
            if side in cap and value is not None and not math.isnan(value):
                written = None if isinstance(cap[side], str) else float(cap[side])
                edge = edge_of(pairs, 3, Decimal(tail), written, top=side == "top")
                assert edge is not None
                value = min(value, edge) if side == "top" else max(value, edge)
        return value

    for (cap, tail), found in zip(CAPS.values(), released(database, spec, *CAPS), strict=True):
        assert spelled(found) == spelled([capped(value, cap, tail) for value in values]), cap
        for side, outermost in (("top", max), ("bottom", min)):
            if side in cap:
                last = outermost(value for value in found if value is not None and not math.isnan(value))
                reaching = {who for who, value in pairs if (value >= last if side == "top" else value <= last)}
                assert len(reaching) >= 3, cap


def test_fewer_than_k_people_with_a_value_show_none(database: Database) -> None:
    kinds = {"i": "integer", "d": "decimal(10, 2)", "f": "double precision"}
    tables(database, {name: (kind, [None, None, None, 5]) for name, kind in kinds.items()})
    rules = {name: ruled("insensitive", {"cap": {"top": "50%"}}) for name in kinds}
    assert released(database, spec_of(database, rules), *kinds) == [[None] * 4] * 3


def test_dates_are_capped(database: Database) -> None:
    table(database, "date", [f"20{n:02}-01-01" for n in range(10)])
    spec = spec_of(database, {"x": ruled("insensitive", {"cap": {"top": "2050-01-01", "bottom": "2003-06-01"}})})
    found = sorted(released(database, spec))
    assert found == sorted([date(2003, 6, 1)] * 4 + [date(2000 + n, 1, 1) for n in (4, 5, 6, 7, 8, 8)])


# -- dates of one person by one offset ---------------------------------------------------------------------------------


def offset_of(person: str, days: int) -> int:
    """The days that a person's dates move, by Python's hmac."""
    derived = hmac.new(SECRET.encode(), b"sqlanon shift", hashlib.sha256).hexdigest()
    found = int(hmac.new(derived.encode(), person.encode(), hashlib.sha256).hexdigest()[:8], 16) % (2 * days)
    return found - days if found < days else found - days + 1


def visits(database: Database) -> list[tuple[Any, ...]]:
    start = datetime(2024, 2, 28, 1, 30)
    people = ["p1", "größe 数据", "it's", "p1 ", "", "p1"] * 4
    rows: list[tuple[Any, ...]] = [
        (person, "a", (start + timedelta(days=7 * n)).date(), start + timedelta(hours=31 * n), n)
        for n, person in enumerate(people)
    ]
    rows.append((None, "a", date(2024, 1, 1), datetime(2024, 1, 1), 99))
    kinds = {"person": "text", "a": "text", "day": "date", "at": "timestamp", "n": "integer"}
    database.create("people", kinds, rows)
    return rows


SHIFT = {"shift": {"days": 30, "secret": "${" + VARIABLE + "}"}}
SHIFTED = {
    "day": ruled("insensitive", SHIFT),
    "at": ruled("insensitive", SHIFT),
    "n": {"role": "insensitive", "accept": "a test"},
}


def test_dates_of_a_person_move_by_one_offset_and_keep_their_intervals(database: Database, secret: str) -> None:
    rows = visits(database)
    pipeline.run(spec_of(database, SHIFTED, respondent="person"))
    found = {n: (day, at) for day, at, n in database.rows("released", '"day", "at", n')}
    for person, _, day, at, n in rows:
        moved = None if person is None else timedelta(days=offset_of(person, 30))
        assert found[n] == ((None, None) if moved is None else (day + moved, at + moved)), n
    assert len({offset_of(person, 30) for person, *_ in rows if person is not None}) > 1
    intervals = {person: [at for who, _, _, at, _ in rows if who == person] for person, *_ in rows if person}
    for person, moments in intervals.items():
        shown = [found[n][1] for who, _, _, _, n in rows if who == person]
        assert [b - a for a, b in pairwise(shown)] == [b - a for a, b in pairwise(moments)], person


def test_moments_move_by_24_hours_also_where_clocks_change(database: Database, secret: str) -> None:
    moments = [value for value in MOMENTS if value]
    rows = [("p1" if n % 2 else "p2", "a", value) for n, value in enumerate(moments)]
    database.create("people", {"person": "text", "a": "text", "x": "timestamp with time zone"}, rows)
    pipeline.run(spec_of(database, {"x": ruled("insensitive", SHIFT)}, respondent="person"))
    found = sorted(round(float(value)) for (value,) in database.rows("released", "extract(epoch FROM x)"))
    wanted = [datetime.fromisoformat(at) + timedelta(days=offset_of(who, 30)) for who, _, at in rows]
    assert found == sorted(round(value.timestamp()) for value in wanted)


def test_the_secret_is_in_no_artifact(database: Database, secret: str, tmp_path: Path) -> None:
    visits(database)
    path = tmp_path / "spec.yaml"
    path.write_text("", encoding="utf-8")
    seen: list[str] = []
    spec = spec_of(database, SHIFTED, respondent="person", evidence={"tables": database.is_duckdb is False})
    spec._file = path
    options = Options(hooks=(lambda event: seen.append(event.sql),))
    plan = pipeline.plan(spec, options)
    result = pipeline.run(spec, options)
    texts = [*seen, Lock.of(spec, plan, "spec.yaml").to_json(), str(result.to_dict()), repr(spec), repr(result)]
    texts += [file.read_bytes().decode("latin-1") for file in tmp_path.rglob("*") if file.is_file()]
    derived = hmac.new(secret.encode(), b"sqlanon shift", hashlib.sha256).hexdigest()
    padded = bytes(byte ^ 0x36 for byte in derived.encode().ljust(64, b"\0")).hex()
    for text in texts:
        assert not [planted for planted in (secret, derived, padded) if planted in text]
    assert not [name for name in database.leftovers() if "offset" in name or "hash" in name]
    with pytest.raises(UsageError, match=r"^columns\.day\.release\.shift: it is made with a secret, and a script"):
        pipeline.script(spec, None)


def test_a_secret_that_is_not_there(database: Database) -> None:
    visits(database)
    with pytest.raises(UsageError, match=f"environment variable {VARIABLE} is not set"):
        pipeline.run(spec_of(database, SHIFTED, respondent="person"))


# -- one value for a class ---------------------------------------------------------------------------------------------

CLASSED = [
    ("p1", "a", 1.5), ("p1", "a", 2.5), ("p2", "a", None), ("p3", "a", 9.0), ("p4", "b", 4.0), ("p5", "b", 5.0),
    ("p6", "b", 8.0), ("p7", "c", 7.0), ("p8", "c", None), ("p9", "c", None), ("p0", "d", 1.0), ("p0", "d", 3.0),
    ("pa", "d", None),
]  # fmt: skip


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
@pytest.mark.parametrize("respondent", [False, True])
def test_a_class_shows_one_value_where_k_people_have_one(database: Database, algorithm: str, respondent: bool) -> None:
    made: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "median": median}
    rows = [(person, label, value, value) for person, label, value in CLASSED]
    kinds = {"person": "text", "a": "text", **dict.fromkeys(made, "double precision")}
    database.create("people", kinds, rows)
    more = {"respondent": "person"} if respondent else {}
    rules = {word: ruled("insensitive", word) for word in made}
    released(database, spec_of(database, rules, search={"algorithm": algorithm}, **more), *made)
    labels = {label for (label,) in database.rows("released", "a")}
    people: dict[str, list[tuple[str, float | None]]] = defaultdict(list)
    for person, label, value in CLASSED:
        people[label if label in labels else "*"].append((person, value))
    for word, average in made.items():
        for label, members in people.items():
            values = [value for _, value in members if value is not None]
            having = {who for who, value in members if value is not None} if respondent else values
            wanted = average(values) if len(having) >= 2 else None
            shown = [value for found, value in database.rows("released", f"a, {word}") if found == label]
            assert shown == [wanted] * len(members), (word, label)
    assert algorithm == "mondrian" or len(labels) > 1


def test_a_view_shows_averages_of_people(database: Database) -> None:
    database.create("people", {"person": "text", "a": "text", "x": "double precision"}, CLASSED)
    spec = spec_of(database, {"x": ruled("insensitive", "median")}, target={"view": "released"}, respondent="person")
    pipeline.run(spec)
    by_class = database.run("SELECT a, count(DISTINCT x) FROM released GROUP BY a")
    assert {number for _, number in by_class} <= {0, 1}
    assert set(database.types("released")) == {"a", "x"}


@settings(max_examples=12)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.one_of(st.none(), st.integers(-9, 9))), min_size=4, max_size=30),
    st.sampled_from(["50%", "75%", "99%", "3"]),
    st.booleans(),
)
def test_edges_of_random_tables_equal_brute_force(
    rows: list[tuple[int, int | None]], edge: str, respondent: bool
) -> None:
    with TemporaryDirectory() as folder:
        database = Database(f"duckdb:///{folder}/d.duckdb")
        database.create("people", {"person": "text", "a": "text", "x": "integer"}, [(str(p), "a", x) for p, x in rows])
        more = {"respondent": "person"} if respondent else {}
        cap = {"top": edge if "%" in edge else int(edge)}
        spec = spec_of(database, {"x": ruled("insensitive", {"cap": cap})}, **more)
        engine = open_at(database.url)
        found = engine.columns(binding := bind(spec, engine).source)
        assert [info.name for info in found] == ["person", "a", "x"]
        shown = Counter(
            engine.query(Statement("test", exp.select("x").from_(engine.traits.relation(binding, "source"))))
        )
        engine.close()
    pairs = [(str(p) if respondent else str(n), float(x)) for n, (p, x) in enumerate(rows) if x is not None]
    tail = Decimal(1) - Decimal(edge[:-1]) / 100 if "%" in edge else Decimal(0)
    last = edge_of(pairs, 2, tail, None if "%" in edge else float(edge), top=True)
    wanted = [None if x is None or last is None else int(min(x, last)) for _, x in rows]
    assert shown == Counter((x,) for x in wanted)


# -- columns that the source does not have -----------------------------------------------------------------------------


def birthdays(born: date, at: date) -> int:
    """Completed years, by counting birthdays; 29 February is 1 March in other years."""
    number = 0
    for year in range(born.year + 1, at.year + 1):
        try:
            birthday = born.replace(year=year)
        except ValueError:
            birthday = date(year, 3, 1)
        number += birthday <= at
    return number


def test_ages_are_completed_years_at_a_day(database: Database) -> None:
    days = ["2024-02-28", "2024-02-29", "2023-02-28", "2023-03-01", "2025-12-31"]
    born = [day for day in DAYS if day and not day.endswith("infinity") and day < "2023"] * 2
    rows = [(f"p{n}", "a", day, day) for n, day in enumerate([*born, None, None, "infinity", "-infinity"])]
    database.create("people", {"person": "text", "a": "text", "birth date": "date", "born": "timestamp"}, rows)
    columns = {
        f"{base} {at}": {
            "role": "quasi_identifier", "derive": {"age": {"of": base, "at": at}}, "levels": {"max": 0},
        }
        for base in ("birth date", "born") for at in days
    }  # fmt: skip
    pipeline.run(spec_of(database, columns, privacy={"k": 2}))
    assert set(database.types("released")) == {"a", *columns}
    for name in columns:
        wanted = [birthdays(date.fromisoformat(day), date.fromisoformat(name[-10:])) for day in born]
        found = Counter(age for (age,) in database.rows("released", f'"{name}"'))
        assert found == Counter([*wanted, *[None] * 4]), name


def regions(database: Database, more: list[tuple[str, str]] | None = None) -> Spec:
    zips = ["94139", "94138", "it's", "größe", "94139", "94138", "it's", "größe"]
    rows = [(f"p{n}", "a", zip_) for n, zip_ in enumerate([*zips, None, None])]
    database.create("people", {"person": "text", "a": "text", "zip": "text"}, rows)
    listed = [("94139", "w'st"), ("94138", "w'st"), ("it's", "east"), ("größe", "east"), *(more or [])]
    database.create("regions", {"code": "text", "region of": "text"}, listed)
    lookup = {"of": "zip", "table": "regions", "key": "code", "value": "region of"}
    return spec_of(
        database, {"region": {"role": "quasi_identifier", "derive": {"lookup": lookup}, "levels": {"max": 0}}}
    )


def test_a_value_is_looked_up_in_a_table(database: Database) -> None:
    spec = regions(database, [("94139", "w'st"), ("elsewhere", "north")])
    pipeline.run(spec)
    found = Counter(region for (region,) in database.rows("released", "region"))
    assert found == {"w'st": 4, "east": 4, None: 2}
    assert pipeline.audit_spec(spec).satisfied


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM regions WHERE code = '94138'", "1 values of 'zip' are not in regions; add them"),
        ("INSERT INTO regions VALUES ('94138', 'other')", "lists 1 values of 'code' with more than one 'region of'"),
        ("ALTER TABLE regions RENAME COLUMN code TO codes", "regions has no column 'code'"),
    ],
)
def test_a_table_that_does_not_answer_is_refused(database: Database, statement: str, problem: str) -> None:
    spec = regions(database)
    database.run(statement)
    with pytest.raises(SourceError, match=problem):
        pipeline.run(spec)


def test_the_table_of_a_lookup_is_never_written(database: Database) -> None:
    spec = regions(database)
    with pytest.raises(SpecError, match="target"):
        pipeline.run(spec.model_copy(update={"own_target": spec_of(database, {}, target="regions").target}))


# -- what is published is audited --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "kind", "values", "broken"),
    [
        ({"round": 10}, "integer", [10, 20, 31, 47], "UPDATE released SET x = 11 WHERE x = 10"),
        ({"truncate": "month"}, "date", ["2024-02-29"] * 4, "UPDATE released SET x = '2024-02-02'"),
        ({"bucket": [0, 10]}, "integer", [1, 2, 3, 4], "UPDATE released SET x = '3'"),
        ({"cap": {"top": "50%"}}, "integer", [1, 2, 3, 4], "UPDATE released SET x = 4 WHERE x = 3"),
        ({"cap": {"top": 3}}, "integer", [4, 5, 6, 7], "UPDATE released SET x = 4"),
        ("mean", "double precision", [1, 2, 3, 4], None),
    ],
)
def test_the_audit_of_a_table_sees_what_breaks_a_rule(
    database: Database, release: Any, kind: str, values: list[Any], broken: str | None
) -> None:
    table(database, kind, values)
    spec = spec_of(database, {"x": ruled("insensitive", release)})
    released(database, spec)
    assert pipeline.audit_spec(spec).satisfied
    if broken is None:
        first = database.run(
            "SELECT min(ctid) FROM released" if not database.is_duckdb else "SELECT min(rowid) FROM released"
        )
        place = "ctid" if not database.is_duckdb else "rowid"
        broken = f"UPDATE released SET x = 7 WHERE {place} = '{first[0][0]}'"
    database.run(broken)
    audited = pipeline.audit_spec(spec)
    assert not audited.satisfied
    assert [check.name for check in audited.policy if not check.satisfied] == ["rule of x"]


def test_a_release_that_breaks_its_rule_is_not_published(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    table(database, "integer", [1, 2, 3, 4])
    monkeypatch.setattr("sqlanon.source.governed.governed_sql.rounded", lambda value, *_: value)
    with pytest.raises(
        RequirementError, match="column 'x' does not show what its rule says: rounded to multiples of 10"
    ):
        pipeline.run(spec_of(database, {"x": ruled("insensitive", {"round": 10})}))
    assert "released" not in {name for (name,) in database.run("SELECT table_name FROM information_schema.tables")}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_hold_to_rules(duckdb_url: str, tmp_path: Path, form: str, secret: str) -> None:
    database = Database(duckdb_url)
    visits(database)
    columns = {
        "day": ruled("insensitive", SHIFT), "at": ruled("insensitive", {"truncate": "month"}),
        "n": ruled("insensitive", {"round": 0.5 * 4}),
    }  # fmt: skip
    spec = spec_of(database, columns, respondent="person", target=str(tmp_path / f"out.{form}"))
    pipeline.run(spec)
    assert [check.satisfied for check in pipeline.audit_spec(spec).policy if check.name.startswith("rule")] == [
        True
    ] * 3


def test_a_script_carries_the_rules_out_and_asserts_them(database: Database) -> None:
    table(database, "integer", [1, 2, 3, 4, 55, 66, None])
    columns = {"x": ruled("insensitive", {"cap": {"top": "50%"}})}
    spec = spec_of(database, {**columns})
    text = pipeline.script(spec, None)
    assert "capped at the top at 50%" in text
    statements = [part for part in text.split(";\n") if part.strip()]
    database.run("CREATE TABLE kept AS SELECT 1 AS one")
    run_script(database, statements)
    assert spelled([x for (x,) in database.rows("released", "x")]) == spelled([1, 2, 3, 4, 4, 4, None])


def run_script(database: Database, statements: list[str]) -> None:
    """In one session, as a client runs it."""
    if database.is_duckdb:
        import duckdb

        with duckdb.connect(database.url.removeprefix("duckdb:///")) as connection:
            for statement in statements:
                connection.execute(statement)
        return
    import psycopg

    with psycopg.connect(database.url, autocommit=True) as session:
        for statement in statements:
            session.execute(statement.encode())


def test_a_lock_names_the_rules_and_apply_holds_to_them(database: Database, tmp_path: Path) -> None:
    table(database, "integer", [1, 2, 3, 4])
    spec = spec_of(database, {"x": ruled("insensitive", {"round": 10})})
    path = tmp_path / "x.lock.json"
    path.write_text(Lock.of(spec, pipeline.plan(spec), "spec.yaml").to_json(), encoding="utf-8")
    lock = Lock.read(path)
    assert dict(lock.rules) == {"x": "rounded to multiples of 10"}
    pipeline.apply(spec, lock)
    assert {x for (x,) in database.rows("released", "x")} == {0}
    other = spec_of(database, {"x": ruled("insensitive", {"round": 2})})
    with pytest.raises(UsageError, match="the spec has changed since this lock file was written"):
        pipeline.apply(other, lock)


# -- what does not go together -----------------------------------------------------------------------------------------


AGED = {"role": "quasi_identifier", "derive": {"age": {"of": "b", "at": "2024-01-01"}}}


@pytest.mark.parametrize(
    ("columns", "more", "problem"),
    [
        ({"x": ruled("insensitive", SHIFT)}, {}, "columns.x.release.shift: all dates of a person move alike: name"),
        (
            {"x": ruled("insensitive", SHIFT)}, {"respondent": "person", "target": {"view": "v"}},
            "columns.x.release.shift: a view cannot hold a secret",
        ),
        (
            {"x": ruled("insensitive", SHIFT), "y": ruled("insensitive", {"shift": {**SHIFT["shift"], "days": 2}})},
            {"respondent": "person"}, "columns.y.release.shift: all dates of a person move alike: write what stands",
        ),
        (
            {"x": ruled("sensitive", "mean")}, {"privacy": {"k": 2, "l_diversity": [{"column": "x", "l": 2}]}},
            "columns.x.release: models judge what is published of x",
        ),
        (
            {"x": ruled("sensitive", {"cap": {"top": 3}})}, {"privacy": {"l_diversity": [{"column": "x", "l": 2}]}},
            "columns.x.release: it needs privacy.k",
        ),
        ({"x": {"role": "identifier", "release": "drop"}}, {}, "columns.x.release: only a sensitive or insensitive"),
        ({"x": {**AGED, "role": "insensitive"}}, {}, "columns.x.derive: only"),
        (
            {"b": {"role": "insensitive"}, "x": AGED}, {}, "columns.x.derive: b is released beside it",
        ),
        (
            {"x": ruled("insensitive", "mean")}, {"search": {"algorithm": "local"}},
            "columns.x.release: local does not honour it",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(columns: dict[str, Any], more: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError) as refusal:
        spec_of(Database("duckdb:///x"), columns, **more)
    assert [line for line in refusal.value.problems if line.startswith(problem)], refusal.value.problems


@pytest.mark.parametrize(
    ("column", "kind", "problem"),
    [
        (ruled("insensitive", {"round": 5}), "text", "round does not fit a column of text values"),
        (ruled("insensitive", {"round": 0.5}), "integer", "the column holds whole numbers"),
        (ruled("insensitive", {"truncate": "month"}), "integer", "truncate does not fit a column of integer values"),
        (ruled("insensitive", {"truncate": "hour"}), "date", "the column holds dates; write day or more"),
        (ruled("insensitive", {"cap": {"top": 5}}), "date", "the column holds date values; write such a one"),
        (ruled("insensitive", "median"), "text", "median does not fit a column of text values"),
        (AGED, "text", "the source has a column 'x'"),
    ],
)  # fmt: skip
def test_a_rule_that_does_not_fit_its_column(duckdb_url: str, column: dict[str, Any], kind: str, problem: str) -> None:
    database = Database(duckdb_url)
    table(database, kind, [None, None])
    with pytest.raises(SpecError, match=problem):
        pipeline.run(spec_of(database, {"x": column}))


def test_other_engines_refuse_rules(tmp_path: Path) -> None:
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as session:
        session.execute("CREATE TABLE people (person text, a text, x integer)")
        session.executemany("INSERT INTO people VALUES (?, 'a', ?)", [(f"p{n}", n) for n in range(4)])
    spec = spec_of(Database(f"sqlite:///{path}"), {"x": ruled("insensitive", {"round": 10})})
    with pytest.raises(UsageError, match=r"^columns\.x: rules are carried out on DuckDB, PostgreSQL and Spark; sqlite"):
        pipeline.run(spec)


def test_a_dropped_column_and_a_base_that_nobody_lists_stay_at_home(database: Database) -> None:
    rows = [(f"p{n}", "a", "secret note", f"19{50 + n % 2}-01-01", n) for n in range(8)]
    kinds = {"person": "text", "a": "text", "note": "text", "born": "date", "kept": "integer"}
    database.create("people", kinds, rows)
    columns = {
        "note": {"role": "sensitive", "release": "drop"},
        "age": {"role": "quasi_identifier", "derive": {"age": {"of": "born", "at": "2024-01-01"}}},
        "kept": {"role": "insensitive", "accept": "a test"},
    }
    spec = spec_of(database, columns, default_role="insensitive")
    pipeline.run(spec)
    assert list(database.types("released")) == ["a", "kept", "age"]
    assert pipeline.audit_spec(spec).satisfied


@pytest.mark.spark
@pytest.mark.no_cover
def test_spark_releases_by_the_same_rules(spark_url: str, secret: str) -> None:
    numbers = [None, -151.0, -150.0, 49.999, 50.0, 250.5, INF, NAN]
    days = [None, "2024-02-29", "2023-02-28", "1900-03-01", "2000-12-31", "2024-01-01", "1999-10-01", "2100-02-28"]
    rows = list(zip([f"p{n // 2}" for n in range(8)], numbers, days, strict=True))
    lines = ", ".join(
        f"('{person}', 'a', {f'double({str(number)!r})' if number is not None else 'NULL'}, "
        f"{f'DATE {day!r}' if day else 'NULL'})"
        for person, number, day in rows
    )
    engine = open_at(spark_url)
    execute(
        engine, "CREATE TABLE ruled (person string, a string, x double, born date)", f"INSERT INTO ruled VALUES {lines}"
    )
    execute(
        engine, "CREATE TABLE ruled_all AS SELECT person, a, x, x AS y, x AS z, born, born AS w, born AS v FROM ruled"
    )
    engine.close()
    rules: dict[str, Any] = {
        "x": {"round": 100}, "y": {"cap": {"top": "60%"}}, "z": "median", "w": SHIFT, "v": {"truncate": "quarter"},
    }  # fmt: skip
    age = {"role": "quasi_identifier", "derive": {"age": {"of": "born", "at": "2024-02-28"}}}
    spec = spec_of(
        Database(spark_url), {**{name: ruled("insensitive", rule) for name, rule in rules.items()}, "age": age},
        source="ruled_all", target="ruled_release", respondent="person", privacy={"k": 2},
    )  # fmt: skip
    assert pipeline.run(spec).publication.audit.satisfied
    engine = open_at(spark_url)
    found = query(engine, "SELECT x, y, z, w, v, age FROM ruled_release")
    engine.close()
    columns = list(zip(*found, strict=True))
    assert spelled(list(columns[0])) == spelled([half_up(value, Decimal(100)) for value in numbers])
    edge = edge_of(
        [(who, x) for who, x, _ in rows if x is not None and not math.isnan(x)], 2, Decimal("0.4"), None, top=True
    )
    assert edge is not None
    assert spelled(list(columns[1])) == spelled([x if x is None or math.isnan(x) else min(x, edge) for x in numbers])
    moved = [day and date.fromisoformat(day) + timedelta(days=offset_of(who, 30)) for who, _, day in rows]
    assert Counter(columns[3]) == Counter(moved)
    first = [day and first_moment(datetime.fromisoformat(day), "quarter").date() for day in days]
    assert Counter(columns[4]) == Counter(first)
    assert set(columns[5]) == {"*"}
    assert len(set(columns[2])) == 1
