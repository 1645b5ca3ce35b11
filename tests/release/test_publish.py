"""What stands in the database after a run: columns, types, suppressed rows, order, targets; and what never changes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from sqlalchemy.engine import make_url

from sqlanon import pipeline
from sqlanon.errors import (
    HierarchyError,
    InfeasibleError,
    PermissionDenied,
    RequirementError,
    SpecError,
    SqlanonError,
    UsageError,
)
from sqlanon.release import classes
from sqlanon.release.classes import release_query
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.spec import Spec
from tests.kit.database import Database, Rows, changed

TYPES = {"ssn": "text", "zip": "text", "born": "date", "age": "integer", "disease": "text", "cost": "decimal(8,2)"}
ROWS: list[tuple[Any, ...]] = [
    (
        f"s{number}",
        f"9413{number % 4}",
        f"19{60 + number % 3 * 10}-0{1 + number % 2}-01",
        20 + number % 2,
        disease,
        "9.50",
    )
    for number, disease in enumerate(["flu", "cold", "asthma", "flu"] * 12)
] + [("odd", "99999", "1999-12-31", 77, "rare", "1.25"), ("odder", "88888", "1998-12-31", 78, "rarer", "1.25")]
ZIPS = "".join(f"{code},{code[:4]}*,*\n" for code in ("94130", "94131", "94132", "94133", "99999", "88888"))

SPEC: dict[str, Any] = {
    "source": "patients",
    "target": "released",
    "columns": {
        "zip": {"role": "quasi_identifier", "hierarchy": {"csv": {"path": "zip.csv"}}},
        "born": {"role": "quasi_identifier", "hierarchy": {"date": ["day", "year", "any"]}},
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 50]}}},
        "ssn": {"role": "identifier"},
        "disease": {"role": "sensitive"},
        "cost": {"role": "insensitive"},
    },
    "privacy": {"k": 3, "suppression": {"limit": 2}},
    "search": {"algorithm": "samarati"},
}


@pytest.fixture
def database(engine_url: str, tmp_path: Path) -> Database:
    """The table `patients`, and the file of its ZIP codes beside the spec."""
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    found = Database(engine_url)
    found.create("patients", TYPES, ROWS)
    return found


def spec_on(database: Database, folder: Path, **changes: Any) -> Spec:
    return changed({**SPEC, "connection": database.url}, folder, **changes)


def with_levels(**levels: int) -> dict[str, Any]:
    """The columns of the spec with levels that are fixed."""
    columns = {name: dict(column) for name, column in SPEC["columns"].items()}
    for name, level in levels.items():
        columns[name]["levels"] = {"min": level, "max": level}
    return columns


def lock_of(spec: Spec, plan: PlanResult) -> Lock:
    hierarchies = {name: dict(known) for name, known in plan.hierarchies.items()}
    return Lock("spec.yaml", spec.hash(), plan.levels, hierarchies, dict(plan.requirement), {})


def tables(database: Database) -> set[str]:
    found = database.run("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
    return {name for (name,) in found}


# -- columns and rows ----------------------------------------------------------------------------------------------


def test_identifiers_never_leave_and_columns_keep_order_and_type(database: Database, tmp_path: Path) -> None:
    result = pipeline.run(spec_on(database, tmp_path, columns=with_levels(zip=1, born=0, age=0)))
    types = database.types("released")
    assert list(types) == ["zip", "born", "age", "disease", "cost"]
    source = database.types("patients")
    assert {name: types[name] for name in ("born", "age", "disease", "cost")} == {
        name: source[name] for name in ("born", "age", "disease", "cost")
    }
    assert types["zip"] == "text"
    released = str(database.rows("released"))
    assert "'s1'" not in released
    assert "odd" not in released
    assert result.publication.suppressed == 2
    assert database.leftovers() == []


def test_labels_are_text(database: Database, tmp_path: Path) -> None:
    pipeline.run(spec_on(database, tmp_path, columns=with_levels(zip=0, born=1, age=1)))
    assert list(database.types("released").values())[:3] == ["text"] * 3
    years = {born for (born,) in database.rows("released", "born")}
    assert years == {"1960", "1970", "1980"}
    assert len(database.counted("released", "age")) == 1


@pytest.mark.one_engine
@pytest.mark.parametrize("levels", [{"zip": 0, "born": 0, "age": 0}, {"zip": 1, "born": 1, "age": 1}])
def test_suppressed_rows_equal_brute_force(database: Database, tmp_path: Path, levels: dict[str, int]) -> None:
    spec = spec_on(
        database,
        tmp_path,
        columns=with_levels(**levels),
        privacy={"k": 4, "suppression": {"limit": "100%"}},
    )
    result = pipeline.run(spec)
    keys = [row[1:4] if not levels["zip"] else (row[1][:4], row[2][:4], row[3] // 10) for row in ROWS]
    sizes = Counter(keys)
    outliers = sum(size for size in sizes.values() if size < 4)
    assert result.publication.suppressed == outliers == len(ROWS) - len(database.rows("released"))
    kept = [row[4] for row, key in zip(ROWS, keys, strict=True) if sizes[key] >= 4]
    assert Counter(kept) == Counter(disease for (disease,) in database.rows("released", "disease"))


def test_blanked_rows_keep_what_is_no_quasi_identifier(database: Database, tmp_path: Path) -> None:
    columns = with_levels(zip=0, born=0, age=1)
    spec = spec_on(database, tmp_path, columns=columns, privacy={"k": 2, "suppression": {"limit": 2, "mode": "blank"}})
    result = pipeline.run(spec)
    assert (result.publication.suppressed, result.publication.blanked) == (2, 2)
    assert len(database.rows("released")) == len(ROWS)
    rare = database.run("SELECT zip, born, age, disease FROM released WHERE disease LIKE 'rare%' ORDER BY disease")
    assert rare == [("*", None, "*", "rare"), ("*", None, "*", "rarer")]
    assert result.audit.k == 2


def test_fewer_blanked_rows_than_k_are_dropped(database: Database, tmp_path: Path) -> None:
    columns = with_levels(zip=0, born=0, age=1)
    spec = spec_on(database, tmp_path, columns=columns, privacy={"k": 3, "suppression": {"limit": 2, "mode": "blank"}})
    result = pipeline.run(spec)
    assert (result.publication.suppressed, result.publication.blanked) == (2, 0)
    assert len(database.rows("released")) == len(ROWS) - 2


def test_physical_order_does_not_follow_the_source(database: Database, tmp_path: Path) -> None:
    numbers = [(f"s{number}", "94130", "1960-01-01", 20, "flu", f"{number}.25") for number in range(600)]
    database.run("DROP TABLE patients")
    database.create("patients", TYPES, numbers)
    pipeline.run(spec_on(database, tmp_path))
    order = [int(cost) for (cost,) in database.rows("released", "cost")]
    assert sorted(order) == list(range(600))
    mean = 299.5
    correlation = sum((a - mean) * (b - mean) for a, b in enumerate(order)) / sum((a - mean) ** 2 for a in range(600))
    assert abs(correlation) < 0.25


@pytest.mark.one_engine
def test_a_run_repeated_gives_the_same_rows(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path)
    pipeline.run(spec)
    first = database.counted("released")
    pipeline.run(spec)
    assert database.counted("released") == first


@pytest.mark.one_engine
def test_columns_named_like_our_own(engine_url: str, tmp_path: Path) -> None:
    names = ("kept", "n", "class", "source", "value", "k_0", "h_0", "size", "code_0", "label_0", "classes", "failing")
    database = Database(engine_url)
    database.create("names", dict.fromkeys(names, "text"), [["x"] * len(names)] * 3 + [["y"] * len(names)] * 1)
    roles: dict[str, Any] = {name: {"role": "quasi_identifier"} for name in names[::2]}
    roles |= {name: {"role": "insensitive"} for name in names[1::2]}
    for mode in ("drop", "blank"):
        privacy = {"k": 2, "suppression": {"limit": 1, "mode": mode}}
        target = f"released_{mode}"
        spec = spec_on(database, tmp_path, source="names", target=target, columns=roles, privacy=privacy)
        assert pipeline.run(spec).publication.suppressed == 1
        assert list(database.types(target)) == list(names)
        assert database.counted(target) == {("x",) * len(names): 3}


# -- targets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["released", {"view": "released"}])
def test_equal_values_that_look_different_look_alike(
    engine_url: str, tmp_path: Path, target: str | dict[str, str]
) -> None:
    """Zeros by sign, numbers by scale, intervals by unit: one group to the database, a row of its own to a reader."""
    database = Database(engine_url)
    types = {"zero": "double precision", "number": "numeric" if not database.is_duckdb else "decimal(4,2)"}
    types |= {"span": "interval"}
    rows = [("0.0", "1.0", "1 day")] * 5 + [("-0.0", "1.00", "24 hours"), (None, None, None), (None, None, None)]
    database.create("odd", types, rows)
    columns = {name: {"role": "quasi_identifier", "levels": {"max": 0}} for name in types}
    values = {"connection": engine_url, "source": "odd", "target": target, "columns": columns, "privacy": {"k": 2}}
    pipeline.run(changed(values, tmp_path))
    texts = ", ".join(f"CAST({name} AS text)" for name in types)
    released = database.run(f"SELECT {texts}, COUNT(*) FROM released GROUP BY {texts}")
    assert sorted(row[-1] for row in released) == [2, 6]
    kinds = "SELECT data_type FROM information_schema.columns WHERE table_name = '{}' ORDER BY ordinal_position"
    assert database.run(kinds.format("released")) == database.run(kinds.format("odd"))


@pytest.mark.parametrize("target", ["released", {"view": "released"}])
def test_equal_labels_that_look_different_look_alike(
    engine_url: str, tmp_path: Path, target: str | dict[str, str]
) -> None:
    """What rounds to zero from below is -0 on every engine: its sign would tell the two apart."""
    database = Database(engine_url)
    database.create("odd", {"x": "double precision"}, [("-0.3",), ("0.3",), ("0.2",), ("7.1",), ("7.2",), (None,)])
    hierarchy = {"sql": ["x", "round(x)", "'*'"]}
    columns = {"x": {"role": "quasi_identifier", "hierarchy": hierarchy, "levels": {"min": 1, "max": 1}}}
    privacy = {"k": 2, "suppression": {"limit": 1}}
    values = {"connection": engine_url, "source": "odd", "target": target, "columns": columns, "privacy": privacy}
    pipeline.run(changed(values, tmp_path))
    released = database.run("SELECT CAST(x AS text), COUNT(*) FROM released GROUP BY CAST(x AS text)")
    assert sorted(row[-1] for row in released) == [2, 3]


def test_tabs_in_a_tsv_file(duckdb_url: str, tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    database = Database(duckdb_url)
    database.create("patients", TYPES, ROWS)
    pipeline.run(spec_on(database, tmp_path, target="released.tsv"))
    assert (tmp_path / "released.tsv").read_text(encoding="utf-8").startswith("zip\tborn\tage\tdisease\tcost\n")


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_file_targets(tmp_path: Path, format_: str) -> None:
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    database = Database(f"duckdb:///{tmp_path / 'test.duckdb'}")
    database.create("patients", TYPES, ROWS)
    path = tmp_path / f"released.{format_}"
    stale = tmp_path / f".released.{format_}.0123456789ab.999999999.partial"
    stale.write_text("what a killed process left", encoding="utf-8")
    pipeline.run(spec_on(database, tmp_path, target=path.name))
    pipeline.run(spec_on(database, tmp_path))
    released = duckdb.connect().execute(f"FROM '{path}'").fetchall()
    assert len(released) == len(ROWS) - 2
    assert format_ == "csv" or Counter(released) == database.counted("released")
    assert {found.name for found in tmp_path.iterdir()} == {"zip.csv", "test.duckdb", path.name}
    assert database.leftovers() == []


def test_view_stays_safe_when_rows_arrive(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path, target={"view": "released"}, columns=with_levels(zip=0, born=1, age=1))
    pipeline.run(spec)
    before = database.counted("released")
    assert sum(before.values()) == len(ROWS) - 2
    outside = [("n", "00000", "1960-01-01", 20, "new", "1.00")] * 9
    small = [("m", "94131", "1931-01-01", 20, "new", "1.00")] * 2
    for row in outside + small:
        database.run(f"INSERT INTO patients VALUES {row!r}")
    assert database.counted("released") == before
    database.run("INSERT INTO patients VALUES ('m', '94131', '1931-01-01', 20, 'third', 1)")
    assert sum(database.counted("released").values()) == sum(before.values()) + 3


def test_view_does_not_count_rows_outside_as_blanked(database: Database, tmp_path: Path) -> None:
    privacy = {"k": 3, "suppression": {"limit": 2, "mode": "blank"}}
    columns = with_levels(zip=0, born=1, age=1)
    pipeline.run(spec_on(database, tmp_path, target={"view": "released"}, columns=columns, privacy=privacy))
    before = database.counted("released")
    database.run("INSERT INTO patients VALUES ('n', '00000', '1960-01-01', 20, 'new', 1)")
    assert database.counted("released") == before
    database.run("INSERT INTO patients VALUES ('n', '94131', '1931-01-01', 20, 'new', 1)")
    assert sum(database.counted("released").values()) == sum(before.values()) + 3


def test_view_is_not_fooled_by_a_value_listed_twice(database: Database, tmp_path: Path) -> None:
    codes = sorted({row[1] for row in ROWS})
    database.create("codes", {"code": "text", "area": "text"}, [(code, code[:4]) for code in codes])
    columns = with_levels(zip=0, born=1, age=1)
    columns["zip"]["hierarchy"] = {"table": {"name": "codes", "levels": ["code", "area"]}}
    pipeline.run(spec_on(database, tmp_path, target={"view": "released"}, columns=columns))
    before = sum(database.counted("released").values())
    database.run("INSERT INTO codes VALUES ('99999', 'a'), ('99999', 'b'), ('99999', 'c')")
    assert sum(database.counted("released").values()) == before


@pytest.mark.postgres
def test_view_that_cannot_be_replaced_stands(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    database = Database(postgres_url)
    database.create("patients", TYPES, ROWS)
    places: dict[str, Any] = {"target": {"view": "released"}}
    pipeline.run(spec_on(database, tmp_path, columns=with_levels(zip=0, born=0, age=1), **places))
    before = database.counted("released")
    with pytest.raises(SqlanonError, match=r"cannot change data type .* drop it first"):
        pipeline.run(spec_on(database, tmp_path, columns=with_levels(zip=0, born=1, age=1), **places))
    assert database.counted("released") == before
    assert database.leftovers() == []


@pytest.mark.postgres
def test_a_target_whose_name_is_taken_by_an_index(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    database = Database(postgres_url)
    database.create("patients", TYPES, ROWS)
    database.run("CREATE INDEX by_zip ON patients (zip)")
    with pytest.raises(UsageError, match="by_zip exists and is neither a table nor a view"):
        pipeline.run(spec_on(database, tmp_path, target="by_zip"))


@pytest.mark.postgres
def test_view_hides_suppressed_rows_from_functions_of_the_reader(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    database = Database(postgres_url)
    database.create("patients", TYPES, ROWS)
    pipeline.run(spec_on(database, tmp_path, target={"view": "released"}, columns=with_levels(zip=0, born=1, age=1)))
    notices: list[str] = []
    with psycopg.connect(postgres_url, autocommit=True) as session:
        session.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
        session.execute(
            "CREATE FUNCTION peek(shown text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS "
            "$$ BEGIN RAISE NOTICE '%', shown; RETURN true; END $$"
        )
        session.execute("SELECT count(*) FROM released WHERE peek(disease)")
    assert "flu" in notices
    assert not any(notice.startswith("rare") for notice in notices)


def test_replaced_table_keeps_comments_and_indexes(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path)
    pipeline.run(spec)
    database.run(
        "COMMENT ON TABLE released IS 'what we publish'",
        "COMMENT ON COLUMN released.disease IS 'as diagnosed'",
        "CREATE INDEX by_disease ON released (disease)",
    )
    pipeline.run(spec)
    if database.is_duckdb:
        assert database.run("SELECT comment FROM duckdb_tables() WHERE table_name = 'released'") == [
            ("what we publish",)
        ]
        assert database.run("SELECT index_name FROM duckdb_indexes()") == [("by_disease",)]
        return
    assert database.run("SELECT obj_description('released'::regclass)") == [("what we publish",)]
    assert database.run("SELECT indexname FROM pg_indexes WHERE tablename = 'released'") == [("by_disease",)]


@pytest.mark.postgres
def test_replaced_table_keeps_grants(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    database = Database(postgres_url)
    database.create("patients", TYPES, ROWS)
    spec = spec_on(database, tmp_path)
    pipeline.run(spec)
    database.run("GRANT SELECT ON released TO PUBLIC")
    grants = (
        "SELECT privilege_type FROM information_schema.table_privileges "
        "WHERE table_name = 'released' AND grantee = 'PUBLIC'"
    )
    before = database.run(grants)
    pipeline.run(spec)
    assert database.run(grants) == before != []


# -- lock files --------------------------------------------------------------------------------------------------------


def test_apply_publishes_exactly_what_was_planned(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path)
    plan = pipeline.plan(spec)
    assert tables(database) == {"patients"}
    result = pipeline.apply(spec, lock_of(spec, plan))
    assert result.levels == plan.levels
    applied = database.counted("released")
    assert pipeline.run(spec).levels == plan.levels
    assert database.counted("released") == applied


@pytest.mark.one_engine
def test_apply_refuses_what_has_changed(database: Database, tmp_path: Path) -> None:
    spec = spec_on(database, tmp_path, columns=with_levels(zip=0, born=1, age=1))
    lock = lock_of(spec, pipeline.plan(spec))
    pipeline.apply(spec, lock)
    before = database.rows("released")

    other = spec_on(database, tmp_path, privacy={"k": 2, "suppression": {"limit": 2}})
    with pytest.raises(UsageError, match="spec has changed"):
        pipeline.apply(other, lock)

    (tmp_path / "zip.csv").write_text(ZIPS.replace("9413*", "9413x"), encoding="utf-8")
    for refused in (lambda: pipeline.apply(spec, lock), lambda: pipeline.script(spec, lock)):
        with pytest.raises(UsageError, match="'zip' has changed"):
            refused()
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")

    database.run("INSERT INTO patients VALUES ('n', '00000', '1960-01-01', 20, 'new', 1)")
    with pytest.raises(HierarchyError, match="outside"):
        pipeline.apply(spec, lock)
    database.run("DELETE FROM patients WHERE zip = '00000'")

    database.run("INSERT INTO patients VALUES ('n', '94130', '1911-01-01', 20, 'new', 1)")
    with pytest.raises(InfeasibleError, match="limit is 2"):
        pipeline.apply(spec, lock)

    assert database.rows("released") == before
    assert tables(database) == {"patients", "released"}
    assert database.leftovers() == []


@pytest.mark.representative(2)
@pytest.mark.parametrize("levels", [{}, {"zip": 0}, {"zip": 0, "born": 1, "age": 9}, {"zip": -1, "born": 1, "age": 1}])
def test_lock_that_was_tampered_with(duckdb_url: str, tmp_path: Path, levels: dict[str, int]) -> None:
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    database = Database(duckdb_url)
    database.create("patients", TYPES, ROWS)
    spec = spec_on(database, tmp_path)
    good = lock_of(spec, pipeline.plan(spec))
    bad = Lock("spec.yaml", good.spec_hash, levels, good.hierarchies, good.requirement, {})
    for refused in (pipeline.apply, pipeline.script):
        with pytest.raises(UsageError, match="plan again"):
            refused(spec, bad)
    assert tables(database) == {"patients"}


# -- nothing unaudited, nothing half done ------------------------------------------------------------------------------


def test_a_class_below_k_is_not_published(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit does not believe the query that made the release: a query that leaks is noticed."""
    spec = spec_on(database, tmp_path, columns=with_levels(zip=0, born=1, age=1))
    pipeline.run(spec)
    before = database.rows("released")
    honest = release_query

    def leaking(*arguments: Any, **options: Any) -> Any:
        query = honest(*arguments, **options)
        query.set("where", None)
        return query

    monkeypatch.setattr(classes, "release_query", leaking)
    with pytest.raises(RequirementError, match="failed its audit"):
        pipeline.run(spec)
    assert database.rows("released") == before
    assert database.leftovers() == []


def test_rows_that_are_missing_are_noticed(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = release_query
    monkeypatch.setattr(classes, "release_query", lambda *a, **o: honest(*a, **o).limit(6))
    columns = with_levels(zip=2, born=2, age=3)
    with pytest.raises(RequirementError, match="it has 6 rows, expected 50"):
        pipeline.run(spec_on(database, tmp_path, columns=columns, privacy={"k": 2, "suppression": {"limit": 0}}))
    assert tables(database) == {"patients"}


def test_the_source_is_only_read(database: Database, tmp_path: Path) -> None:
    before = database.rows("patients")
    query = {"query": "SELECT * FROM patients"}
    with pytest.raises(SpecError, match="the target is the source"):
        pipeline.run(spec_on(database, tmp_path, source=query, target="patients"))
    database.run("CREATE VIEW seen AS SELECT * FROM patients")
    with pytest.raises(SqlanonError) as refusal:
        pipeline.run(spec_on(database, tmp_path, source="seen", target="patients"))
    assert "target" in str(refusal.value)
    assert database.rows("patients") == before
    pipeline.run(spec_on(database, tmp_path, source="seen"))
    assert database.rows("patients") == before


def test_a_file_that_the_source_reads_is_no_target(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    text = ",".join(TYPES) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
    (tmp_path / "data.csv").write_text(text, encoding="utf-8")
    path = str(tmp_path / "data.csv")
    for source in (path, f"{tmp_path}/da*.csv", {"query": f"SELECT * FROM '{path}'"}):
        with pytest.raises(SpecError, match="the target is the source"):
            pipeline.run(changed(SPEC, tmp_path, source=source, target=path))
    assert (tmp_path / "data.csv").read_text(encoding="utf-8") == text


@pytest.mark.postgres
def test_select_on_the_source_and_create_on_one_schema_are_enough(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text(ZIPS, encoding="utf-8")
    database = Database(postgres_url)
    database.create("patients", TYPES, ROWS)
    [(schema,)] = database.run("SELECT current_schema()")
    role, own = f"role_{schema}", f"own_{schema}"
    database.run(
        f"CREATE ROLE {role} LOGIN",
        f"CREATE SCHEMA {own}",
        f"GRANT USAGE ON SCHEMA {schema}, {own} TO {role}",
        f"GRANT SELECT ON patients TO {role}",
        f"GRANT CREATE ON SCHEMA {own} TO {role}",
    )
    before: Rows = database.rows("patients")
    url = make_url(postgres_url).set(username=role).render_as_string(hide_password=False)
    try:
        limited = Database(url)
        spec = spec_on(limited, tmp_path, target=f"{own}.released", scratch=own)
        pipeline.run(spec)
        again = pipeline.run(spec)
        assert len(database.rows(f"{own}.released")) == again.audit.rows
        with pytest.raises(PermissionDenied):
            pipeline.run(spec_on(limited, tmp_path, target=f"{schema}.released"))
        assert database.rows("patients") == before
        assert tables(database) == {"patients"}
    finally:
        database.run(f"DROP SCHEMA {own} CASCADE", f"DROP OWNED BY {role}", f"DROP ROLE {role}")
