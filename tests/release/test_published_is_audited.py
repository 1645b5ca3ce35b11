"""What is published is what was audited: a file is read back and audited before it takes the target's place."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlanon import pipeline
from sqlanon.engines import dialects
from sqlanon.errors import RequirementError, SpecError, SqlanonError, UsageError
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.sql.relations import File, Table
from tests.kit.engine import execute, open_at

HOSTILE = "o\"dd, n;a'me"


def spec_of(folder: Path, columns: dict[str, Any], target: Any, **keys: Any) -> Spec:
    values = {
        "connection": f"duckdb:///{folder / 'base.duckdb'}",
        "source": "people",
        "target": target,
        "columns": columns,
        "privacy": {"k": 2},
        **keys,
    }
    return spec_from_dict(values, folder)


def people(folder: Path, statement: str) -> None:
    with duckdb.connect(str(folder / "base.duckdb")) as connection:
        connection.execute(f"create table people as {statement}")


ZIP: dict[str, Any] = {"zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}}}


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("HUGEINT", "parquet"),
        ("UHUGEINT", "parquet"),
        ("INTERVAL", "parquet"),
        ("TIME WITH TIME ZONE", "parquet"),
        ("HUGEINT[]", "parquet"),
        ("INTEGER[]", "csv"),
        ("STRUCT(a INTEGER)", "csv"),
        ("MAP(VARCHAR, INTEGER)", "tsv"),
        ("BLOB", "csv"),
    ],
)
def test_a_type_that_the_format_cannot_carry_is_refused_by_name(tmp_path: Path, kind: str, ending: str) -> None:
    people(
        tmp_path,
        f"""select '9413' || i // 2 as zip, cast(null as {kind}) as "{HOSTILE.replace('"', '""')}"
        from range(8) t(i)""",
    )
    columns = {**ZIP, HOSTILE: {"role": "insensitive"}}
    target = tmp_path / f"out.{ending}"
    target.write_text("the old release")
    with pytest.raises(UsageError) as refused:
        pipeline.run(spec_of(tmp_path, columns, f"out.{ending}"))
    message = str(refused.value)
    assert message.startswith(f"target: column '{HOSTILE}' is of type ")
    assert "cast it in the source query" in message
    assert "\n" not in message
    assert target.read_text() == "the old release"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_empty_texts_beside_null_are_refused_in_csv_and_kept_in_parquet(tmp_path: Path) -> None:
    people(tmp_path, "select case when i < 2 then '' when i < 4 then null else 'x' end as zip from range(6) t(i)")
    columns: dict[str, Any] = {"zip": {"role": "quasi_identifier", "hierarchy": {"csv": {"path": "zip.csv"}}}}
    (tmp_path / "zip.csv").write_text('x,*\n"",*\n')
    with pytest.raises(UsageError, match=r"target: column 'zip' has 2 empty texts and 2 NULLs, which are one field"):
        pipeline.run(spec_of(tmp_path, columns, "out.csv"))
    assert not (tmp_path / "out.csv").exists()
    pipeline.run(spec_of(tmp_path, columns, "out.parquet"))
    found = duckdb.execute(f"from '{tmp_path / 'out.parquet'}'").fetchall()
    assert sorted(map(repr, found)) == ["('',)", "('',)", "('x',)", "('x',)", "(None,)", "(None,)"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_hostile_values_read_back_as_they_are_and_the_tools_own_audit_agrees(tmp_path: Path, ending: str) -> None:
    texts = ["a,b", 'q"q', "it's", "'", "two\nlines", "tab\there", "  spaced ", "#hash", "02139", "1.10", "True", "é;|"]
    listed = ", ".join("('" + text.replace("'", "''") + "')" for text in texts)
    people(tmp_path, f'select t.x as "{HOSTILE.replace(chr(34), chr(34) * 2)}" from (values {listed}) t(x), range(3)')
    columns = {HOSTILE: {"role": "quasi_identifier"}}
    spec = spec_of(tmp_path, columns, f"out.{ending}")
    published = pipeline.run(spec).publication.audit
    assert (published.classes, published.k) == (len(texts), 3)
    audited = pipeline.audit_spec(spec)
    assert audited.satisfied
    assert (audited.rows, audited.classes) == (36, len(texts))
    if ending != "parquet":
        with (tmp_path / f"out.{ending}").open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, delimiter="," if ending == "csv" else "\t"))
        assert rows[0] == [HOSTILE]
        assert sorted(row[0] for row in rows[1:]) == sorted(texts * 3)


def test_texts_that_a_reader_takes_for_equal_numbers_are_refused(tmp_path: Path) -> None:
    """'1.10' and '1.1' are two classes of the staged rows, and one number of the csv file."""
    people(tmp_path, "select case when i < 2 then '1.10' else '1.1' end as zip from range(4) t(i)")
    columns: dict[str, Any] = {"zip": {"role": "quasi_identifier"}}
    with pytest.raises(RequirementError, match="its 2 classes read back from the csv file as 1"):
        pipeline.run(spec_of(tmp_path, columns, "out.csv"))
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_was_spoilt_after_it_was_written_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Whatever the writer does: what counts is what is read back."""
    people(tmp_path, "select '9413' || i // 2 as zip from range(8) t(i)")
    original = dialects.DuckDBTraits.copy_to_file

    def spoilt(self: Any, table: Any, file: File) -> Any:
        statement = original(self, table, file)
        statement.this.this.limit(7, copy=False)
        return statement

    monkeypatch.setattr(dialects.DuckDBTraits, "copy_to_file", spoilt)
    target = tmp_path / f"out.{ending}"
    target.write_text("the old release")
    with pytest.raises(RequirementError, match=f"of 8 rows 7 read back from the {ending} file"):
        pipeline.run(spec_of(tmp_path, ZIP, f"out.{ending}"))
    assert target.read_text() == "the old release"


def test_a_release_of_persons_is_read_back_too(tmp_path: Path) -> None:
    people(tmp_path, "select i as person, case when i < 2 then '1.10' else '1.1' end as zip from range(4) t(i)")
    columns: dict[str, Any] = {"person": {"role": "identifier"}, "zip": {"role": "quasi_identifier"}}
    with pytest.raises(RequirementError, match="its 2 classes read back from the csv file as 1"):
        pipeline.run(spec_of(tmp_path, columns, "out.csv", respondent="person"))
    pipeline.run(spec_of(tmp_path, columns, "out.parquet", respondent="person"))
    assert duckdb.execute(f"select count(distinct zip) from '{tmp_path / 'out.parquet'}'").fetchall() == [(2,)]


def test_nobody_else_sees_a_file_before_it_was_audited(tmp_path: Path) -> None:
    seen: list[int] = []
    engine = open_at("duckdb:///:memory:")
    execute(engine, "create table t as select 1 as x")

    def look(file: File) -> None:
        seen.append(Path(file.path).parent.stat().st_mode & 0o777)
        assert not (tmp_path / "out.csv").exists()

    engine.write_file("write", Table(("t",)), File(str(tmp_path / "out.csv"), "csv"), look)
    engine.close()
    assert seen == [0o700]
    assert (tmp_path / "out.csv").read_text() == "x\n1\n"


FORMULAS = ["=1+1", "+5", "-x", "@sum", "\ttab", "'=1+1", "''-x", "plain", "'quoted", "a=b"]


def formulas(folder: Path) -> dict[str, Any]:
    listed = ", ".join("('" + text.replace("'", "''") + "')" for text in FORMULAS)
    people(folder, f"select 'x' as zip, t.x as note, -1 as number from (values {listed}) t(x)")
    note = {"role": "sensitive"}
    return {"zip": {"role": "quasi_identifier"}, "note": note, "number": {"role": "insensitive"}}


def fields(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return sorted(csv.reader(file))[:]


def test_formulas_are_kept_unless_the_target_says_otherwise(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, formulas(tmp_path), {"file": "out.csv"})
    pipeline.run(spec)
    assert ["x", "=1+1", "-1"] in fields(tmp_path / "out.csv")


def test_escaped_formulas_are_texts_to_spreadsheets_and_themselves_to_the_audit(tmp_path: Path) -> None:
    columns = formulas(tmp_path)
    privacy = {"k": 2, "alpha": [{"column": "note", "value": "=1+1", "alpha": 0.1}]}
    privacy["t_closeness"] = [{"column": "note", "t": 0.05}]
    spec = spec_of(tmp_path, columns, {"file": "out.csv", "formulas": "escape"}, privacy=privacy)
    pipeline.run(spec)
    notes = {row[1] for row in fields(tmp_path / "out.csv")} - {"note"}
    assert notes == {"'=1+1", "'+5", "'-x", "'@sum", "'\ttab", "''=1+1", "'''-x", "plain", "'quoted", "a=b"}
    assert {row[2] for row in fields(tmp_path / "out.csv")} == {"number", "-1"}
    audited = pipeline.audit_spec(spec)
    assert audited.satisfied
    assert audited.figures[0].equal == 0.0
    assert audited.table.endswith("out.csv")


def test_formulas_are_refused_where_the_target_says_so(tmp_path: Path) -> None:
    columns = formulas(tmp_path)
    with pytest.raises(UsageError, match=r"target: column 'note' has 5 texts that spreadsheets run as formulas"):
        pipeline.run(spec_of(tmp_path, columns, {"file": "out.csv", "formulas": "refuse"}))
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("choice", ["escape", "refuse"])
def test_the_name_of_a_column_is_a_field_too(tmp_path: Path, choice: str) -> None:
    people(tmp_path, "select 'x' as \"=cmd()\" from range(4)")
    columns: dict[str, Any] = {"=cmd()": {"role": "quasi_identifier"}}
    with pytest.raises(UsageError, match=r"the name of column '=cmd\(\)' is a formula to spreadsheets"):
        pipeline.run(spec_of(tmp_path, columns, {"file": "out.csv", "formulas": choice}))


@pytest.mark.parametrize(
    "target",
    [
        {"file": "out.parquet", "formulas": "escape"},
        {"file": "out.csv", "formulas": "run"},
        {"table": "out", "formulas": "escape"},
    ],
)
def test_the_option_stands_where_it_means_something(tmp_path: Path, target: dict[str, str]) -> None:
    with pytest.raises(SpecError, match="target"):
        spec_of(tmp_path, ZIP, target)


def test_a_script_writes_no_file_that_it_would_have_to_escape(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, formulas(tmp_path), {"file": "out.csv", "formulas": "escape"})
    with pytest.raises(SqlanonError, match="formulas"):
        pipeline.script(spec, None)


@pytest.mark.spark
class TestOnSpark:
    def spec(self, url: str, folder: Path, query: str, columns: dict[str, Any], target: Any) -> Spec:
        values = {
            "connection": url,
            "source": {"query": query},
            "target": target,
            "columns": columns,
            "privacy": {"k": 2},
        }
        return spec_from_dict(values, folder)

    @pytest.mark.parametrize(
        ("value", "ending"),
        [
            ("interval 1 day", "parquet"),
            *(
                pytest.param(*odd, marks=pytest.mark.soak)
                for odd in [("array(1)", "csv"), ("binary('x')", "tsv"), ("map('a', 1)", "csv")]
            ),
        ],
    )
    def test_a_type_that_the_format_cannot_carry_is_refused_by_name(
        self, spark_url: str, tmp_path: Path, value: str, ending: str
    ) -> None:
        query = f"select 'a' as zip, {value} as `o'dd` from range(4)"
        columns = {"zip": {"role": "quasi_identifier"}, "o'dd": {"role": "insensitive"}}
        with pytest.raises(UsageError, match="target: column 'o'dd' is of type "):
            pipeline.run(self.spec(spark_url, tmp_path, query, columns, f"out.{ending}"))
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.soak
    def test_empty_texts_beside_null_are_refused(self, spark_url: str, tmp_path: Path) -> None:
        query = "select if(id < 2, '', if(id < 4, null, 'x')) as zip from range(6)"
        columns: dict[str, Any] = {"zip": {"role": "quasi_identifier"}}
        with pytest.raises(UsageError, match="target: column 'zip' has 2 empty texts and 2 NULLs"):
            pipeline.run(self.spec(spark_url, tmp_path, query, columns, "out.csv"))
        assert list(tmp_path.iterdir()) == []

    def test_texts_that_a_reader_takes_for_equal_numbers_are_refused(self, spark_url: str, tmp_path: Path) -> None:
        query = "select if(id < 2, '1.10', '1.1') as zip from range(4)"
        columns: dict[str, Any] = {"zip": {"role": "quasi_identifier"}}
        with pytest.raises(RequirementError, match="its 2 classes read back from the csv file as 1"):
            pipeline.run(self.spec(spark_url, tmp_path, query, columns, "out.csv"))
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("ending", ["csv", pytest.param("parquet", marks=pytest.mark.soak)])
    def test_hostile_values_read_back_and_escaped_formulas_are_audited_as_they_were(
        self, spark_url: str, tmp_path: Path, ending: str
    ) -> None:
        texts = ", ".join(["'a,b'", "'q\"q'", "'it\\'s'", "'=1+1'", "'  x '", "'\\'=1+1'"])
        query = f"select element_at(array({texts}), 1 + cast(id % 6 as int)) as zip from range(18)"
        columns: dict[str, Any] = {"zip": {"role": "quasi_identifier"}}
        target: Any = {"file": "out.csv", "formulas": "escape"} if ending == "csv" else "out.parquet"
        spec = self.spec(spark_url, tmp_path, query, columns, target)
        assert pipeline.run(spec).publication.audit.classes == 6
        assert pipeline.audit_spec(spec).classes == 6
        if ending == "csv":
            assert {"'=1+1", "''=1+1"} <= {row[0] for row in fields(tmp_path / "out.csv")}
