"""Attacks, releases and audits against an adversary by the command line, with hostile names and values; no value is
told, and every answer is as `sqlanon schema` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit.commands import CommandLine
from tests.kit.database import Database

TOWN, KIND, ILL = 'the "town"; --', "Select", "ill's \\ %s"
TYPES = {'the ""town""; --': "text", KIND: "text", ILL: "text"}
TOWNS = ["a'1", "a\\2", 'a"3', "b;4", " b5 ", ""]
ILLS = ["H'IV\\", 'flu"; drop', "", None]
TREES: dict[str, Any] = {
    TOWN: {"a's": TOWNS[:3], 'b" \\': TOWNS[3:]},
    KIND: ["x -- y", "*/"],
}
ROWS = [(TOWNS[n * n % 6] if n % 11 else None, ["x -- y", "*/"][n // 7 % 2], ILLS[(n + n // 3) % 4]) for n in range(60)]
DIVERSE = {"l_diversity": [{"column": ILL, "l": 2}], "alpha": [{"column": ILL, "value": "H'IV\\", "alpha": 0.8}]}
SECRET = "${SQLANON_TEST_SECRET}"
CASES: dict[str, dict[str, Any]] = {
    "models": {"privacy": {"k": 2, **DIVERSE}, "search": {"algorithm": "samarati"}},
    "local": {"privacy": {"k": 3, "adversary": {"slack": 1}}, "search": {"algorithm": "local"}},
    "mondrian": {
        "privacy": {"k": 2, "adversary": {"slack": 2}},
        "search": {"algorithm": "mondrian", "mondrian": {"bounds": "values"}},
    },
    "forest": {"privacy": {"k": 2, "adversary": {}}, "search": {"algorithm": "forest", "model": "CG_"}},
    "crowds": {
        "privacy": {"k": 4, "suppression": {"limit": 20}, "adversary": {"suppression": {"at_least": 2}}},
        "search": {"algorithm": "incognito"},
    },
    "margin": {
        "privacy": {"k": 2, "adversary": {"margin": {"most": 3, "secret": SECRET}}},
        "search": {"algorithm": "optimal"},
    },
    "choice": {
        "privacy": {"k": 2, **DIVERSE, "adversary": {"choice": {"within": "50%", "secret": SECRET}}},
        "search": {"algorithm": "exhaustive"},
    },
}
SECRET_OF_TEST = "an invented secret of 'this' test"


def told(answer: dict[str, Any]) -> str:
    """All that an answer says beside the statements and the names of columns."""
    text = yaml.safe_dump(answer, allow_unicode=True, width=10_000)
    for name in (TOWN, KIND, ILL):
        text = text.replace(name, "").replace(name.replace("'", "''"), "").replace(name.replace("\\", "\\\\"), "")
    return text


@pytest.mark.representative(7, postgres=3)
@pytest.mark.parametrize("name", CASES)
def test_release_attack_and_audit(
    engine_url: str, tmp_path: Path, name: str, sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQLANON_TEST_SECRET", SECRET_OF_TEST)
    database = Database(engine_url)
    database.create("people", TYPES, ROWS)
    path = tmp_path / "spec's.yaml"
    columns: dict[str, Any] = {
        column: {"role": "quasi_identifier", "hierarchy": {"tree": tree}} for column, tree in TREES.items()
    }
    values = {
        "version": 1,
        "connection": engine_url,
        "source": "people",
        "target": '"rel""eas"',
        "columns": {**columns, ILL: {"role": "sensitive"}},
        **CASES[name],
    }
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    released = sqlanon("run", str(path), "--json")
    assert released.code == 0, released.err
    attacked = sqlanon("attack", str(path), "--external", "people", "--json")
    assert attacked.code == 0, attacked.err
    shown = sqlanon("attack", str(path), "--external", "people", "--statements")
    assert shown.code == 0, shown.err
    audited = sqlanon("audit", "--spec", str(path), "--json")
    assert audited.code == 0, (audited.json["violations"], audited.err)
    checked = {item["name"]: item for item in audited.json["policy"]}
    asked = {"local": "slack", "mondrian": "slack", "forest": "slack", "crowds": "suppressed crowds"}
    if name in asked:
        assert checked[asked[name]]["satisfied"]
    assert any(note.startswith("privacy.adversary.choice") for note in audited.json["notes"]) == (name == "choice")
    attacks = {item["attack"] for item in attacked.json["attacks"]}
    assert {"linking", "missing", "inference", "downcoding"} <= attacks
    assert ("linking_known" in attacks) == (name == "local")
    assert ("credibility" in attacks) == (name == "models")
    for answer in (attacked, audited):
        for value in ("H'IV", "drop", "a'1", "b;4", SECRET_OF_TEST):
            assert value not in told(answer.json)
    assert database.leftovers() == []
