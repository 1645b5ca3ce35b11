"""Names of columns that a csv file does not give back are refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import yaml

from sqlanon.cli import main


@pytest.mark.parametrize("command", ["plan", "run"])
@pytest.mark.parametrize("name", [" lead", "trail "])
def test_blanks_at_the_ends_of_a_name_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, command: str
) -> None:
    assert ends(tmp_path, {name: {"role": "insensitive", "accept": "a colour"}}, "released.csv", command) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert told[0].startswith(f"sqlanon: error: target: the name of column '{name}' begins or ends with a blank")
    assert not (tmp_path / "released.csv").exists()


@pytest.mark.parametrize(
    ("role", "target"),
    [("identifier", "released.csv"), ("insensitive", "released.parquet")],
    ids=["not released", "parquet"],
)
def test_names_that_are_given_back_are_not(tmp_path: Path, role: str, target: str) -> None:
    column = {"role": role} if role == "identifier" else {"role": role, "accept": "a colour"}
    assert ends(tmp_path, {"trail ": column}, target, "run") == 0
    assert (tmp_path / target).exists()


def ends(folder: Path, columns: dict[str, dict[str, str]], target: str, command: str) -> int:
    path = folder / "people.duckdb"
    [name] = columns
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"""create table people as select i // 4 as age, 'x' as "{name}" from range(12) as t(i)""")
    spec = {
        "connection": f"duckdb:///{path}",
        "source": "people",
        "target": target,
        "columns": {"age": {"role": "quasi_identifier"}, **columns},
        "privacy": {"k": 2},
        "evidence": {"files": False},
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main([command, str(folder / "spec.yaml")])
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *[("SSN", "ssn"), ("ssn", " ssn"), ("ssn", "ssn\u00a0"), ("ssn", "s\u200bsn"), ("ssn", '"ssn"')],
        *[("\u00e9tage", "e\u0301tage"), ("STRASSE", "stra\u00dfe"), ("\ufb01le", "file"), ("\u017fsn", "SSN")],
    ],
)
def test_names_that_nobody_tells_apart_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], one: str, other: str
) -> None:
    """The spec names one of them an identifier; the other would be released by the default role."""
    rows = "".join(f"{row},{row % 2},{row // 4}\n" for row in range(12))
    (tmp_path / "people.csv").write_text(f"{one},{other},age\n{rows}", encoding="utf-8")
    spec = {
        "source": "people.csv",
        "target": "released.csv",
        "default_role": "insensitive",
        "columns": {"age": {"role": "quasi_identifier"}, one: {"role": "identifier"}},
        "privacy": {"k": 2},
    }
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    for command in ("check", "run"):
        with pytest.raises(SystemExit) as ended:
            main([command, str(tmp_path / "spec.yaml")])
        assert ended.value.code == 2
        assert "give one of them another name" in capsys.readouterr().err
    assert not (tmp_path / "released.csv").exists()
