"""Projects of ARX: made by hand from what the format holds, imported, planned."""

from __future__ import annotations

import stat
from pathlib import Path
from zipfile import ZipFile

import pytest

from sqlanon.spec import load_spec
from tests.kit.commands import CommandLine

AGES = "\n".join(f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};*" for age in range(20, 40))
DISEASES = ("flu", "cold", '"a ""b"" c"')
DATA = "name;age;sex;disease;note\n" + "\n".join(
    f"n{n};{20 + n % 20};{'MF'[n % 2]};{DISEASES[n % 3]};x" for n in range(120)
)


def attribute(name: str, kind: str, more: str = "") -> str:
    return f"<assigment><name>{name}</name><type>{kind}</type><datatype>String</datatype>{more}</assigment>"


def entries() -> dict[str, str]:
    """The files of a project."""
    own = "<ref>hierarchies/age.csv</ref><min>1</min><max>All</max>"
    columns = [
        attribute("name", "IDENTIFYING_ATTRIBUTE"),
        attribute("age", "QUASI_IDENTIFYING_ATTRIBUTE", own),
        attribute("sex", "QUASI_IDENTIFYING_ATTRIBUTE"),
        attribute("disease", "SENSITIVE_ATTRIBUTE"),
        attribute("note", "INSENSITIVE_ATTRIBUTE", "<microAggregationFunction>Mode</microAggregationFunction>"),
    ]
    criteria = [
        "5-anonymity",
        "distinct-2-diversity for attribute 'disease'",
        "0.4-closeness for attribute 'disease' with equal ground-distance",
        "(0.1, 0.2)-presence",
    ]
    listed = "".join(f"<criterion>{text}</criterion>" for text in criteria)
    weight = "<attributeWeight><attribute>age</attribute><weight>1.0</weight></attributeWeight>"
    return {
        "metadata.xml": "<metadata><version>3.9.1</version><vocabulary>2.0</vocabulary></metadata>",
        "project.xml": "<project><name>p</name><separator>;</separator></project>",
        "data/input.csv": DATA,
        "input/config.dat": "binary, not read",
        "input/config.xml": (
            f"<config><relativeMaxOutliers>0.04</relativeMaxOutliers><attributeWeights>{weight}</attributeWeights>"
            f"<criteria>{listed}</criteria></config>"
        ),
        "input/definition.xml": f"<definition>{''.join(columns)}</definition>",
        "input/hierarchies/age.csv": AGES,
    }


def project(folder: Path, **changes: str | None) -> Path:
    """A project file, with files that are other ones or missing."""
    path = folder / "study.deid"
    with ZipFile(path, "w") as archive:
        for name, content in (entries() | {name.replace("__", "/"): text for name, text in changes.items()}).items():
            if content is not None:
                archive.writestr(name, content)
    return path


def test_a_project_becomes_a_spec_that_plans(sqlanon: CommandLine, folder: Path) -> None:
    outcome = sqlanon("import", "arx", project(folder), "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["review"] == ["microaggregation of column note", 'the privacy model "(0.1, 0.2)-presence"']
    spec = load_spec(folder / "spec.yaml")
    assert {name: column.role for name, column in spec.columns.items()} == {
        "name": "identifier",
        "age": "quasi_identifier",
        "sex": "quasi_identifier",
        "disease": "sensitive",
        "note": "insensitive",
    }
    assert (spec.columns["age"].levels.min, spec.columns["age"].weight, spec.privacy.k) == (1, 2, 5)
    assert str(spec.privacy.most_suppressed) == "4%"
    text = (folder / "spec.yaml").read_text(encoding="utf-8")
    assert "l_diversity: [{column: disease, l: 2}]" in text
    assert "t_closeness: [{column: disease, t: 0.4}]" in text
    assert (folder / "spec_age.csv").read_text(encoding="utf-8").splitlines() == AGES.splitlines()
    for name in ("spec_age.csv", "spec_data.csv"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    planned = sqlanon("plan", "spec.yaml", "--json")
    assert planned.code == 0, planned.err
    assert planned.json["levels"]["age"] >= 1


def test_a_table_may_take_the_place_of_the_data(sqlanon: CommandLine, folder: Path) -> None:
    path = project(folder)
    assert sqlanon("import", "arx", path, "--source", "raw.people", "--target", "out.people").code == 0
    assert not (folder / "spec_data.csv").exists()
    assert "source: raw.people" in (folder / "spec.yaml").read_text(encoding="utf-8")
    again = sqlanon("import", "arx", path, "--source", "raw.people")
    assert again.code == 2
    assert "--force" in again.err


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"input__definition.xml": None}, "it holds no input/definition.xml"),
        ({"input__config.xml": "<config>"}, "input/config.xml is no XML"),
        ({"project.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><project>&b;</project>"}, "declares a document type"),
        ({"input__hierarchies__age.csv": "20;a;*\n21;*"}, "hierarchy of column 'age' are not equally long"),
        ({"input__hierarchies__age.csv": None}, "it holds no input/hierarchies/age.csv"),
        ({"input__definition.xml": f"<d>{attribute('x', 'odd')}</d>"}, "column 'x' has a type that ARX does not have"),
        ({"data__input.csv": None}, "the project holds no data; name the table with --source"),
    ],
)
def test_files_that_are_no_projects(
    sqlanon: CommandLine, folder: Path, changes: dict[str, str | None], told: str
) -> None:
    outcome = sqlanon("import", "arx", project(folder, **changes))
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert told in outcome.err
    assert not (folder / "spec.yaml").exists()
    assert {path.name for path in folder.iterdir()} == {"study.deid"}


def test_other_files_are_told(sqlanon: CommandLine, folder: Path) -> None:
    (folder / "x.deid").write_text("no archive", encoding="utf-8")
    assert "is no project of ARX" in sqlanon("import", "arx", "x.deid").err
    assert "there is no such file" in sqlanon("import", "arx", "y.deid").err
    assert sqlanon("import", "sas", "x.deid").code == 2
