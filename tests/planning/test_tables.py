"""Several tables as one release: who leaves and what is published, by brute force and by SQL on published tables."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sqlanon import api
from sqlanon.auditor.tables import JoinedAudit, JoiningTable, audit_joined
from sqlanon.engines.base import Engine
from sqlanon.errors import InfeasibleError, RequirementError, SourceError, SpecError, SqlanonError, UsageError
from sqlanon.evaluation.persons import PersonsEvaluator
from sqlanon.metrics.base import Verdict
from sqlanon.planning.tables import apply_tables, lattice_over, run_tables
from sqlanon.release import tables as publishing
from sqlanon.release.lock import Lock
from sqlanon.source.scratch import Scratch
from sqlanon.source.tables import bind_tables, code_tables
from sqlanon.spec import SeveralTables, any_from_dict
from sqlanon.sql.relations import Table
from tests.kit.database import Database
from tests.kit.examples import share
from tests.kit.people import Said, smallest, staying
from tests.kit.tables import create, literal, run

VARIABLE = "SQLANON_TEST_TABLES_KEY"
PSEUDONYM = {"secret": "${" + VARIABLE + "}"}
SOME = settings(
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    max_examples=share(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "a secret of the tests, and long")


@pytest.fixture
def database(engine_url: str) -> Database:
    return Database(engine_url)


TREE = {"low": ["1", "2"], "high": ["3", "4"]}
ABOVE = {value: label for label, values in TREE.items() for value in values}


def label(value: str | None, level: int) -> str | None:
    """The label of a value; NULL is one more value, until the top."""
    if level == 2:
        return "*"
    return value if level == 0 or value is None else ABOVE[value]


def values_of(url: str, known: int, k: int, limit: int | str = 0, **more: Any) -> dict[str, Any]:
    """Patients with `a`, visits with `b` and `c`; everything by one tree."""
    quasi = {"role": "quasi_identifier", "hierarchy": {"tree": TREE}}
    key = {"role": "identifier", "pseudonym": PSEUDONYM}
    return {
        "connection": url,
        "tables": {
            "patients": {
                "source": "patients",
                "target": "released_patients",
                "key": "id",
                "columns": {"id": key, "a": quasi},
            },
            "visits": {
                "source": "visits",
                "target": "released_visits",
                "references": "patients",
                "key": "patient",
                "columns": {"patient": key, "b": quasi, "c": quasi, "d": {"role": "sensitive"}},
            },
        },
        "known": {"visits": known},
        "privacy": {"k": k, "suppression": {"limit": limit}},
        **more,
    }


def spec_of(url: str, known: int, k: int, limit: int | str = 0, **more: Any) -> SeveralTables:
    spec = any_from_dict(values_of(url, known, k, limit, **more))
    assert isinstance(spec, SeveralTables)
    return spec


Person = tuple[str | None, list[tuple[str | None, str | None]]]
CELLS = st.sampled_from([*ABOVE, None])
PEOPLE = st.lists(
    st.tuples(CELLS, st.lists(st.tuples(CELLS, st.sampled_from("13")), max_size=4)), min_size=3, max_size=8
)


def rows_of(people: list[Person]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    patients = [(f"p{number}", own) for number, (own, _) in enumerate(people)]
    visits = [(f"p{number}", b, c, "x") for number, (_, rows) in enumerate(people) for b, c in rows]
    return patients, visits


PATIENTS, VISITS = {"id": "text", "a": "text"}, {"patient": "text", "b": "text", "c": "text", "d": "text"}


def said_at(people: list[Person], node: tuple[int, ...]) -> dict[int, Said]:
    a, b, c = node
    return {
        number: (label(own, a), [(label(one, b), label(other, c)) for one, other in rows])
        for number, (own, rows) in enumerate(people)
    }


@pytest.mark.representative(1)
@given(people=PEOPLE, known=st.integers(1, 3), k=st.integers(2, 3), limit=st.integers(0, 4))
@SOME
def test_who_leaves_at_every_node_is_who_leaves_by_brute_force(
    shared_engine: Engine, people: list[Person], known: int, k: int, limit: int
) -> None:
    patients, visits = rows_of(people)
    if not visits or len(people) < k:
        return
    engine = shared_engine
    run(engine, "DROP TABLE IF EXISTS patients")
    run(engine, "DROP TABLE IF EXISTS visits")
    create(engine, ("patients",), PATIENTS, patients)
    create(engine, ("visits",), VISITS, visits)
    bound = bind_tables(spec_of("duckdb:///:memory:", known, k), engine)
    with Scratch(engine, ()) as scratch:
        coded = code_tables(engine, bound, scratch)
        lattice = lattice_over(coded)
        evaluator = PersonsEvaluator(engine, coded, lattice, limit, scratch)
        standing = len(scratch)
        for verdict in evaluator.check([node for node in lattice if sum(node) % 2 or max(node) > 1]):
            # Values outside the data make no level: the domain of a column may be one value.
            expected = len(people) - len(staying(said_at(people, verdict.node), known, k))
            if expected <= evaluator.limit:
                assert verdict.suppressed == expected, verdict.node
            else:
                assert evaluator.limit < verdict.suppressed <= expected, verdict.node
        assert len(scratch) == standing


def published(database: Database) -> tuple[dict[str, Said], list[tuple[Any, ...]]]:
    """The released tables, joined by the pseudonym; and rows of nobody."""
    own: dict[str, Any] = dict(database.rows("released_patients", "id, a"))
    rows = defaultdict(list)
    orphans = []
    for person, b, c in database.rows("released_visits", "patient, b, c"):
        if person in own:
            rows[person].append((b, c))
        else:
            orphans.append((person, b, c))
    return {person: (a, rows[person]) for person, a in own.items()}, orphans


@given(people=PEOPLE, known=st.integers(1, 3), k=st.integers(2, 3), limit=st.integers(0, 3))
@settings(SOME, max_examples=share(8))
def test_what_is_published_holds_by_brute_force(
    duckdb_url: str, people: list[Person], known: int, k: int, limit: int
) -> None:
    database = Database(duckdb_url)
    patients, visits = rows_of(people)
    if not visits or len(people) < k:
        return
    tables = ("patients", "visits", "released_patients", "released_visits")
    database.run(*(f"DROP TABLE IF EXISTS {name}" for name in tables))
    database.create("patients", PATIENTS, patients)
    database.create("visits", VISITS, visits)
    spec = spec_of(duckdb_url, known, k, limit, search={"metric": "height"})
    heights = range(3)
    best = min(
        (sum(node) for node in ((a, b, c) for a in heights for b in heights for c in heights)
         if len(people) - len(staying(said_at(people, node), known, k)) <= min(limit, len(people) - 1)),
        default=None,
    )  # fmt: skip
    try:
        result = run_tables(spec)
    except InfeasibleError:
        assert best is None
        return
    assert best is not None
    assert sum(result.levels.values()) <= best
    shown, orphans = published(database)
    assert not orphans
    assert smallest(shown, known) >= k
    assert len(people) - len(shown) == result.publication.suppressed <= limit
    # Who stays is there with all rows.
    node = tuple(result.levels.values())
    there = sorted((str(a), sorted(map(str, rows))) for a, rows in shown.values())
    expected = staying(said_at(people, node), known, k)
    if node[0] < 2 and min(node[1:]) < 2:
        assert there == sorted((str(a), sorted(map(str, rows))) for a, rows in expected.values())
    assert api.audit_tables(spec).satisfied


# -- the trial: every person was unique once two tables were joined ----------------------------------------------------


def trial(database: Database) -> None:
    """Sixty patients with up to four visits: born over forty years, seen in twelve months, with hostile names."""
    patients = [(n, 1950 + n * 7 % 40, f"{n % 4}'9", "note") for n in range(60)]
    visits = [
        (n, f"{(n + seen) % 4}'9", (n * 5 + seen * 3) % 12, '"dx; --' if seen else None)
        for n in range(60)
        for seen in range(n % 5)
    ]
    kinds = {"id": "integer", "birth year": "integer", "zip.": "text", "note": "text"}
    database.create('"the people"', kinds, patients)
    lines = [", ".join([str(n), literal(place), str(month), literal(dx)]).join("()") for n, place, month, dx in visits]
    database.run(
        'CREATE TABLE visits ("select" integer, "zip." text, month integer, "d""x" text)',
        f"INSERT INTO visits VALUES {', '.join(lines)}",
    )


def trial_spec(url: str, **more: Any) -> dict[str, Any]:
    key = {"role": "identifier", "pseudonym": {**PSEUDONYM, **more.pop("pseudonym", {})}}
    place = {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 3, "steps": [1, 3]}}}
    return {
        "connection": url,
        "tables": {
            "patients": {
                "source": '"the people"',
                "target": '"released people"',
                "key": "id",
                "columns": {
                    "id": key,
                    "birth year": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 20]}}},
                    "zip.": place,
                    "note": {"role": "insensitive"},
                },
            },
            "visits-of": {
                "source": "visits",
                "target": "released_visits",
                "references": "patients",
                "key": "select",
                "columns": {
                    "select": key,
                    "zip.": place,
                    "month": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [6]}}},
                    'd"x': {"role": "sensitive"},
                },
            },
        },
        "known": {"visits-of": 1},
        "privacy": {"k": 3, "suppression": {"limit": "10%"}},
        **more,
    }


JOINED = """
SELECT min(people), count(*) FROM (
    SELECT count(DISTINCT p.id) AS people FROM "released people" AS p JOIN released_visits AS v ON p.id = v."select"
    GROUP BY p."birth year", p."zip.", v."zip.", v.month
) AS classes
"""
ORPHANS = 'SELECT count(*) FROM released_visits WHERE "select" NOT IN (SELECT id FROM "released people")'


@pytest.mark.parametrize(("form", "nodes"), [("hex", 512), ("integer", 1)])
def test_the_smallest_class_over_the_join_is_k_by_sql_on_the_published_tables(
    database: Database, form: str, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the lattice is too large for one transaction, and the sources are read again."""
    monkeypatch.setattr("sqlanon.planning.tables.MOST_AT_ONCE", nodes)
    trial(database)
    spec = any_from_dict(trial_spec(database.url, pseudonym={"format": form}))
    assert isinstance(spec, SeveralTables)
    before = 'SELECT max(n) FROM (SELECT count(DISTINCT id) AS n FROM "the people" p JOIN visits v ON p.id = v."select"'
    assert database.run(before + ' GROUP BY "birth year", p."zip.", v."zip.", month) AS c') == [(1,)]
    result = run_tables(spec)
    [(least, classes)] = database.run(JOINED)
    assert least >= 3
    assert (result.audit.k, result.audit.classes) == (min(least, result.audit.known[0].least), classes)
    assert database.run(ORPHANS) == [(0,)]
    people = len(database.rows('"released people"'))
    assert people + result.publication.suppressed == 60
    assert result.publication.suppressed <= 6
    assert database.run("SELECT count(*) FROM released_visits") == [(result.audit.counts["visits-of"],)]
    # The shared column has one level, and rows stay whole.
    lengths = database.run("SELECT DISTINCT length(replace(\"zip.\", '*', '')) FROM released_visits")
    assert lengths == database.run("SELECT DISTINCT length(replace(\"zip.\", '*', '')) FROM \"released people\"")
    assert list(result.levels) == ["patients.birth year", "patients.zip.", "visits-of.month"]
    assert {value for (value,) in database.rows("released_visits", '"d""x"')} <= {None, '"dx; --'}
    assert database.leftovers() == []
    again = api.audit_tables(spec)
    assert again.satisfied, again.violations
    assert again.suppressed == result.publication.suppressed


@pytest.mark.one_engine
def test_two_known_visits_ask_for_more(database: Database) -> None:
    trial(database)
    one, two = (api.plan_tables(trial_spec(database.url, known={"visits-of": most})) for most in (1, 2))
    assert two.search.score >= one.search.score
    result = api.run_tables(trial_spec(database.url, known={"visits-of": 2}))
    pairs = """
    SELECT min(people) FROM (
        SELECT count(DISTINCT id) AS people FROM (
            SELECT p.id, p."birth year" AS y, p."zip." AS z,
                least(v.label, w.label) AS one, greatest(v.label, w.label) AS two
            FROM "released people" AS p
            JOIN (SELECT "select", CAST("zip." AS text) || '|' || CAST(month AS text) AS label,
                row_number() OVER (PARTITION BY "select") AS n FROM released_visits) AS v ON v."select" = p.id
            JOIN (SELECT "select", CAST("zip." AS text) || '|' || CAST(month AS text) AS label,
                row_number() OVER (PARTITION BY "select") AS n FROM released_visits) AS w ON w."select" = p.id
            WHERE (v.label, v.n) <> (w.label, w.n)
        ) AS pairs GROUP BY y, z, one, two
    ) AS classes
    """
    # Numbers of two windows over one table differ at most in rows that look the same.
    assert database.run(pairs)[0][0] >= 3
    assert result.audit.k >= 3


# -- all tables or none ------------------------------------------------------------------------------------------------


def standing(database: Database) -> None:
    database.run('CREATE TABLE "released people" AS SELECT 1 AS old', "CREATE TABLE released_visits AS SELECT 2 AS old")


def stands(database: Database) -> bool:
    return database.rows('"released people"') == [(1,)] and database.rows("released_visits") == [(2,)]


def test_a_release_that_fails_its_audit_replaces_no_table(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    trial(database)
    standing(database)
    monkeypatch.setattr(publishing, "remaining", everybody)
    monkeypatch.setattr(PersonsEvaluator, "_judged", lambda self, node: Verdict(node, 0, 1))
    with pytest.raises(RequirementError, match="k = 3: 40 of 40 combinations of the own row fit fewer people"):
        api.run_tables(trial_spec(database.url))
    assert stands(database)
    assert database.leftovers() == []


def everybody(engine: Engine, coded: Any, node: Any, limit: int, scratch: Scratch) -> tuple[Any, int]:
    """Who stays by somebody who looks at nothing."""
    from sqlanon.sql.build import query

    people = {"people": coded.people.said}
    return scratch.create("test", "stay", query("select people.person, people.who from people", people)), 0


@pytest.mark.one_engine
def test_a_source_that_changes_between_plan_and_publication_is_judged_anew(database: Database) -> None:
    """Somebody with a rare row comes after the plan, which no longer fits: nothing is published."""
    trial(database)
    standing(database)
    values = {**trial_spec(database.url), "privacy": {"k": 3}}
    values["tables"]["patients"]["columns"]["birth year"]["levels"] = {"max": 2}
    spec = any_from_dict(values)
    assert isinstance(spec, SeveralTables)
    lock = Lock.of(spec, api.plan_tables(spec), "spec.yaml")
    database.run("INSERT INTO \"the people\" VALUES (1000, 2035, '9', 'note')")
    with pytest.raises(SqlanonError, match="plan again"):
        apply_tables(spec, lock)
    assert stands(database)
    assert database.leftovers() == []


def test_a_failure_at_the_last_swap_replaces_no_table(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    trial(database)
    standing(database)
    seen: list[str] = []
    for engine in ("duckdb.engine.DuckDBEngine", "postgres.engine.PostgresEngine"):
        monkeypatch.setattr(f"sqlanon.engines.{engine}.replace", failing_second(seen, engine))
    with pytest.raises(SqlanonError, match="the second swap"):
        api.run_tables(trial_spec(database.url))
    assert len(seen) == 2
    assert stands(database)
    assert database.leftovers() == []


def failing_second(seen: list[str], engine: str) -> Any:
    import importlib

    module, _, name = f"sqlanon.engines.{engine}".rpartition(".")
    original = getattr(importlib.import_module(module), name).replace

    def replace(self: Engine, staging: Any, target: Any) -> None:
        seen.append(str(target))
        if len(seen) == 2:
            raise UsageError("the second swap fails")
        original(self, staging, target)

    return replace


@pytest.mark.one_engine
def test_a_lock_file_is_applied_and_holds_to_the_spec(database: Database, folder: Path) -> None:
    trial(database)
    values = trial_spec(database.url)
    spec = any_from_dict(values)
    assert isinstance(spec, SeveralTables)
    plan = api.plan_tables(spec)
    lock = Lock.of(spec, plan, "spec.yaml")
    lock.write(folder / "spec.lock.json")
    read = Lock.read(folder / "spec.lock.json")
    result = apply_tables(spec, read)
    assert result.levels == plan.levels
    assert result.plan is None
    assert not result.warnings
    other = any_from_dict({**values, "known": {"visits-of": 2}})
    assert isinstance(other, SeveralTables)
    with pytest.raises(UsageError, match=r"the spec has changed .*\(known.visits-of\): plan again"):
        apply_tables(other, read)
    database.run("ALTER TABLE visits ADD COLUMN more integer")
    with pytest.raises(SqlanonError, match="column 'more' of the source is not listed"):
        apply_tables(spec, read)


# -- what is refused when the database is looked at --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ("INSERT INTO visits VALUES (99, '1', 1, 'x')", SourceError, "1 rows have a key that patients lacks"),
        ("INSERT INTO visits VALUES (NULL, '1', 1, 'x')", SourceError, "visits-of.key: 1 rows have no key"),
        ("INSERT INTO \"the people\" VALUES (1, 1, '1', 'x')", SourceError, "61 rows have 60 keys"),
        ('DELETE FROM visits', InfeasibleError, "visits-of.source: it has no rows"),
        ('ALTER TABLE visits ALTER COLUMN "select" TYPE text', SpecError, "the tables cannot be joined"),
    ],
)  # fmt: skip
def test_rows_that_do_not_join_are_refused_by_number(
    database: Database, change: str, error: type[Exception], message: str
) -> None:
    trial(database)
    database.run(change)
    with pytest.raises(error, match=message):
        api.run_tables(trial_spec(database.url))
    assert database.leftovers() == []


@pytest.mark.one_engine
def test_a_target_is_never_a_source_of_another_table(database: Database) -> None:
    trial(database)
    values = trial_spec(database.url)
    database.run('CREATE VIEW behind AS SELECT * FROM "the people"')
    values["tables"]["patients"]["source"] = "behind"
    values["tables"]["visits-of"]["target"] = '"the people"'
    with pytest.raises(SqlanonError, match=r"tables\.visits-of\.target"):
        api.run_tables(values)


def test_the_audit_sees_what_was_changed_in_a_published_table(database: Database) -> None:
    trial(database)
    values = trial_spec(database.url)
    api.run_tables(values)

    def found() -> JoinedAudit:
        return api.audit_tables(values)

    assert found().satisfied
    database.run('DELETE FROM "released people" WHERE id = (SELECT min("select") FROM released_visits)')
    changed = found()
    assert changed.orphans > 0
    assert any("belong to nobody in patients" in violation for violation in changed.violations)
    database.run("UPDATE released_visits SET month = 'elsewhere'")
    assert any("month" in violation for violation in found().violations)
    database.run("DROP TABLE released_visits")
    with pytest.raises(SourceError, match=r"tables.visits-of.target: there is no released_visits"):
        found()


def test_rules_and_derived_columns_hold_in_all_tables(database: Database) -> None:
    """Dates of a person move by one offset in both tables, so that intervals between them stay."""
    born = [(n, f"19{50 + n % 3}-02-28", f"2020-01-{n % 28 + 1:02}", n * 1000) for n in range(30)]
    seen = [(n, f"2021-03-{n % 28 + 1:02}", n % 2) for n in range(30) for _ in range(2)]
    database.create("patients", {"id": "text", "born": "date", "first": "date", "income": "integer"}, born)
    database.create("visits", {"patient": "text", "seen": "date", "b": "integer"}, seen)
    key = {"role": "identifier", "pseudonym": {**PSEUDONYM, "format": "uuid"}}
    shift = {"shift": {"days": 30, "secret": PSEUDONYM["secret"]}}
    values = {
        "connection": database.url,
        "tables": {
            "patients": {
                "source": "patients",
                "target": "released_patients",
                "key": "id",
                "columns": {
                    "id": key,
                    "age": {"role": "quasi_identifier", "derive": {"age": {"of": "born", "at": "2026-01-01"}}},
                    "first": {"role": "insensitive", "release": shift},
                    "income": {"role": "insensitive", "release": {"cap": {"top": "90%"}}},
                },
            },
            "visits": {
                "source": "visits",
                "target": "released_visits",
                "references": "patients",
                "key": "patient",
                "columns": {
                    "patient": key,
                    "seen": {"role": "insensitive", "release": shift},
                    "b": {"role": "quasi_identifier"},
                },
            },
        },
        "known": {"visits": 1},
        "privacy": {"k": 3},
    }
    result = api.run_tables(values)
    assert result.audit.satisfied
    apart = "SELECT min(v.seen - p.first), max(v.seen - p.first) FROM {} v JOIN {} p ON v.patient = p.id"
    assert database.run(apart.format("released_visits", "released_patients")) == database.run(
        apart.format("visits", "patients")
    )
    moved = "SELECT count(*) FROM visits WHERE seen IN (SELECT seen FROM released_visits)"
    assert database.run(moved)[0][0] < 60
    assert database.run("SELECT max(income) FROM released_patients")[0][0] <= 27000
    assert list(database.types("released_patients")) == ["id", "first", "income", "age"]
    assert api.audit_tables(values).satisfied


@pytest.mark.one_engine
def test_without_its_secret_nothing_is_published(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    trial(database)
    with pytest.raises(UsageError, match=f"environment variable {VARIABLE} is not set"):
        api.run_tables(trial_spec(database.url))
    assert database.leftovers() == []


def test_a_row_of_each_of_two_other_tables_is_known_together(database: Database) -> None:
    """Somebody may know a visit and an order of a person: the join of all three tables has classes of k people."""
    people = [(n, n % 3) for n in range(48)]
    visits = [(n, (n + seen) % 6) for n in range(48) for seen in range(n % 3 + 1)]
    orders = [(n, (n * 5 + bought) % 8) for n in range(0, 48, 2) for bought in range(2)]
    database.create("patients", {"id": "integer", "a": "integer"}, people)
    database.create("visits", {"id": "integer", "b": "integer"}, visits)
    database.create("orders", {"id": "integer", "c": "integer"}, orders)
    key = {"role": "identifier", "pseudonym": {**PSEUDONYM, "format": "base32"}}

    def one(name: str, column: str, **more: Any) -> dict[str, Any]:
        quasi = {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [2, 4]}}}
        columns = {"id": key, column: quasi}
        return {"source": name, "target": f"released_{name}", "key": "id", "columns": columns, **more}

    values = {
        "connection": database.url,
        "tables": {
            "visits": one("visits", "b", references="patients"),
            "patients": one("patients", "a"),
            "orders": one("orders", "c", references="patients"),
        },
        "known": {"visits": 1, "orders": 1},
        "privacy": {"k": 4, "suppression": {"limit": 4}},
    }
    result = api.run_tables(values)
    joined = (
        "SELECT min(people), count(*) FROM (SELECT count(DISTINCT p.id) AS people FROM released_patients p "
        "JOIN released_visits v ON v.id = p.id JOIN released_orders o ON o.id = p.id GROUP BY a, b, c) AS classes"
    )
    [(least, classes)] = database.run(joined)
    assert least >= 4
    assert result.audit.classes == classes
    assert [item.words for item in result.audit.known] == [
        "the own row",
        "the own row and 1 row of orders",
        "the own row and 1 row of visits",
        "the own row and 1 row of visits and 1 row of orders",
    ]
    for name in ("visits", "orders"):
        orphans = f"SELECT count(*) FROM released_{name} WHERE id NOT IN (SELECT id FROM released_patients)"
        assert database.run(orphans) == [(0,)]
    assert api.audit_tables(values).satisfied


def test_engines_without_one_transaction_for_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tables: several tables are released on DuckDB and PostgreSQL"):
        api.run_tables(values_of(f"sqlite:///{tmp_path}/there.db", 1, 2))


@pytest.mark.one_engine
def test_labels_that_a_collation_takes_for_equal_are_two_to_search_and_audit(
    duckdb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(duckdb_url)
    database.run(
        "CREATE TABLE patients (id text, a varchar COLLATE NOCASE)",
        "INSERT INTO patients VALUES ('1', 'x'), ('2', 'X'), ('3', 'x'), ('4', 'X')",
        "CREATE TABLE visits (patient text, b varchar COLLATE NOCASE, c text, d text)",
        "INSERT INTO visits SELECT id, a, 'y', 'z' FROM patients",
    )
    values = values_of(duckdb_url, 1, 3)
    for name, column in (("patients", "a"), ("visits", "b"), ("visits", "c")):
        values["tables"][name]["columns"][column] = {"role": "quasi_identifier"}
    assert api.run_tables(values).levels["patients.a"] == 1
    monkeypatch.setattr(publishing, "remaining", everybody)
    monkeypatch.setattr(PersonsEvaluator, "_judged", lambda self, node: Verdict(node, 0, 1))
    with pytest.raises(RequirementError, match="k = 3: 2 of 2 combinations of the own row fit fewer people"):
        api.run_tables(values)


@pytest.mark.parametrize(("own", "visited"), [("a", "SQLANON place"), ("sqlanon person", "b")])
def test_columns_called_as_the_audit_calls_its_own_are_columns_to_it(
    shared_engine: Engine, own: str, visited: str
) -> None:
    engine = shared_engine
    for name in ("patients", "visits"):
        run(engine, f"DROP TABLE IF EXISTS {name}")
    create(engine, ("patients",), {"id": "text", own: "text"}, [("1", "x"), ("2", "x")])
    create(engine, ("visits",), {"id": "text", visited: "text"}, [("1", "y"), ("1", "y"), ("2", "y")])
    people = JoiningTable("patients", Table(("patients",)), "id", (own,))
    others = [JoiningTable("visits", Table(("visits",)), "id", (visited,), 2)]
    found = audit_joined(engine, people, others, 2)
    # Who has two visits is one person; whoever has one is any of two.
    assert found.violations == [
        "k = 2: 1 of 1 combinations of the own row and 2 rows of visits fit fewer people, the rarest fits 1"
    ]
