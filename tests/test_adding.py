"""Adding a model, a metric, an algorithm, a builder, an engine: what CONTRIBUTING says has to be written, and no more.

Each test copies the package, adds a toy by its own file and its row, and asks the copy, in a process of its own, where
the toy appears.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


SEARCH = '''"""The toy search: the top of the lattice."""

from sqlanon.search.session import SearchSession


def search(evaluator, objective, preferences, budget, progress=None):
    session = SearchSession(evaluator, objective, preferences, budget, progress)
    session.check([evaluator.lattice.top])
    return session.result("toy", [evaluator.lattice.top], proven=False, undecided=0, trace=[])
'''
TOY_ROW = '        _lattice("toy", "The top of the lattice.", "none", _LATTICE - {"constraints"}),\n'


def added(tmp_path: Path, files: Mapping[str, str], *more: tuple[str, str, str]) -> Path:
    """A copy of the package with a toy; `more` are a file, the text to find in it, and what is put before it."""
    # With the bytecode, which is compiled anew only where the source has changed.
    shutil.copytree(ROOT / "sqlanon", tmp_path / "sqlanon")
    for name, text in files.items():
        (tmp_path / "sqlanon" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "sqlanon" / name).write_text(text, encoding="utf-8")
    for name, before, line in more:
        path = tmp_path / "sqlanon" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(before) >= 1, f"{name} has no place for a row"
        path.write_text(text.replace(before, line + before, 1), encoding="utf-8")
    (tmp_path / "people.csv").write_text("a,b,s\n" + "1,1,x\n1,2,y\n2,1,x\n2,2,y\n" * 2, encoding="utf-8")
    return tmp_path


def spec(**changes: Any) -> dict[str, Any]:
    columns = {"a": {"role": "quasi_identifier"}, "b": {"role": "quasi_identifier"}, "s": {"role": "sensitive"}}
    return {"source": "people.csv", "target": "released.csv", "columns": columns, "privacy": {"k": 2}, **changes}


HEAD = """
import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import sqlanon
from sqlanon.cli.main import run

found = {}


def command(*arguments):
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(list(arguments))
    return code, out.getvalue(), err.getvalue()


def write(values):
    Path("spec.yaml").write_text(json.dumps(values), encoding="utf-8")


"""


def asked(folder: Path, program: str, *specs: Mapping[str, Any]) -> dict[str, Any]:
    """What a program finds in the copy, run in its folder by one process; it has the specs, the first one as a file.

    The program runs commands, writes other specs, and puts what it finds into `found`.
    """
    (folder / "program.py").write_text(
        f"{HEAD}specs = json.loads({json.dumps(specs)!r})\nwrite(specs[0])\n{program}\nprint(json.dumps(found))\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
    ended = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


SCHEMA = "from sqlanon.spec import json_schema\nfound['schema'] = json.dumps(json_schema())\n"


def test_an_algorithm_is_a_file_and_a_row(tmp_path: Path) -> None:
    place = '        AlgorithmRow(\n            "mondrian",'
    folder = added(tmp_path, {"search/toy.py": SEARCH}, ("spec/algorithms.py", place, TOY_ROW))
    program = SCHEMA + (
        "from sqlanon.spec.algorithms import keys_table, algorithms_table\n"
        "found['docs'] = algorithms_table() + keys_table()\n"
        "found['levels'] = sqlanon.plan('spec.yaml').levels\n"
        "found['check'] = command('check', 'spec.yaml')\n"
        "found['plan'] = command('plan', 'spec.yaml')\n"
        "found['report'] = command('report', 'spec.lock.json', '--offline', '--out', 'report.json')\n"
        "found['unknown'] = command('plan', 'spec.yaml', '--compare', 'nonsense')\n"
        "write(specs[1])\n"
        "found['refused'] = command('check', 'spec.yaml')\n"
    )
    constrained = spec(search={"algorithm": "toy", "constraints": {"forbidden": [{"a": 0}]}})
    found = asked(folder, program, spec(search={"algorithm": "toy"}), constrained)
    assert found["levels"] == {"a": 1, "b": 1}
    assert '"toy"' in found["schema"]
    assert "| `toy` | lattice | The top of the lattice. | none |" in found["docs"]
    assert any("`toy` refused" in line for line in found["docs"] if line.startswith("| `search.constraints`"))
    assert [found[name][0] for name in ("check", "plan", "report")] == [0, 0, 0], found["report"]
    assert json.loads((folder / "report.json").read_text())["identity"]["algorithm"] == "toy"
    assert "toy" in found["unknown"][2]
    code, _, refused = found["refused"]
    assert code == 2
    assert "search.constraints: toy does not honour it; remove it or use optimal" in refused


def test_a_metric_is_a_file_and_a_row(tmp_path: Path) -> None:
    toy = {
        "metrics/toy.py": '"""The toy metric."""\n\nfrom sqlanon.metrics.height import Height\n\n\n'
        'class Toy(Height):\n    name = "toy"\n'
    }
    row = '        MetricRow("toy", "sqlanon.metrics.toy:Toy", "Steps, for tests."),\n'
    folder = added(tmp_path, toy, ("spec/search.py", '        MetricRow("loss"', row))
    program = SCHEMA + (
        "from sqlanon.spec.search import metrics_table\nfound['docs'] = metrics_table()\n"
        "found['score'] = sqlanon.plan('spec.yaml').to_dict()['score']\n"
        "found['plan'] = command('plan', 'spec.yaml')\n"
        "write(specs[1])\n"
        "found['refused'] = command('check', 'spec.yaml')\n"
    )
    found = asked(folder, program, spec(search={"metric": "toy"}), spec(search={"metric": "toi"}))
    assert found["score"].keys() == {"toy"}
    assert '"toy"' in found["schema"]
    assert "| `toy` | Steps, for tests. |" in found["docs"]
    assert "toy" in found["plan"][1]
    assert "did you mean 'toy'?" in found["refused"][2]


def test_a_builder_is_a_file_and_a_row(tmp_path: Path) -> None:
    toy = {
        "hierarchies/toy.py": '"""The toy builder."""\n\nfrom sqlanon.hierarchies.base import Family, Formula\n'
        "from sqlanon.hierarchies.definition import Definition\n\n\n"
        'class Toy(Definition):\n    """One label for all."""\n\n    label: str = "toy"\n\n'
        "    def rule(self, family: Family) -> Formula:\n        return Formula((), self.label)\n"
    }
    folder = added(
        tmp_path,
        toy,
        ("hierarchies/__init__.py", '    "interval": Interval,\n', '    "toy": Toy,\n'),
        (
            "hierarchies/__init__.py",
            "from sqlanon.hierarchies.suppression import",
            "from sqlanon.hierarchies.toy import Toy\n",
        ),
    )
    given = {"role": "quasi_identifier", "hierarchy": {"toy": {"label": "anybody"}}, "levels": {"min": 1}}
    columns = {**spec()["columns"], "a": given}
    wrong = {**columns, "a": {"role": "quasi_identifier", "hierarchy": {"tooy": {}}}}
    program = SCHEMA + (
        "sqlanon.run('spec.yaml')\n"
        "found['check'] = command('check', 'spec.yaml')\n"
        "write(specs[1])\n"
        "found['refused'] = command('check', 'spec.yaml')\n"
    )
    found = asked(folder, program, spec(columns=columns), spec(columns=wrong))
    assert '"toy"' in found["schema"]
    assert found["check"][0] == 0
    assert "anybody" in (folder / "released.csv").read_text()
    assert "did you mean 'toy'?" in found["refused"][2]


def test_an_engine_is_a_folder_and_a_row(tmp_path: Path) -> None:
    toy = {
        "engines/toy/__init__.py": "",
        "engines/toy/engine.py": '"""The toy engine."""\n\nfrom sqlanon.engines.duckdb.engine import DuckDBEngine\n'
        '\n\nclass ToyEngine(DuckDBEngine):\n    name = "toy"\n',
    }
    row = '    EngineRow(("toy",), "sqlanon.engines.toy.engine:ToyEngine", lambda address: (MEMORY,)),\n'
    before = '    EngineRow(\n        ("postgresql",'
    folder = added(tmp_path, toy, ("engines/__init__.py", before, row))
    program = (
        "found['engine'] = sqlanon.run('spec.yaml').engine\n"
        "found['check'] = command('check', 'spec.yaml')\n"
        "write(specs[1])\n"
        "found['refused'] = command('check', 'spec.yaml')\n"
    )
    found = asked(folder, program, spec(connection="toy://here"), spec(connection="nosuch://here"))
    assert found["engine"] == "toy"
    assert found["check"][0] == 0
    assert "toy" in found["refused"][2]


MODEL_ENTRY = '''class Toy(SensitiveEntry):
    """Each class holds several values of a sensitive column."""

    made_by: ClassVar[str] = "sqlanon.privacy.toy:toy"
    promise: ClassVar[str] = "a toy promise about {column} ({asked})"
    flag: ClassVar[AuditFlag] = AuditFlag("COLUMN=P", "p", (), "A toy.")

    p: Count = Field(description="How many values.")

    def sentence(self) -> str:
        return f"Every class is a toy in {self.column}"


'''


PREDICATE = """        case Toy():
            statement.test(name, models.holds_values(entry.p))
            question = ModelQuestion("toy", f"p = {entry.p}", *_too_few(entry.p), entry.column)
            return AskedModel(name, question, least_values)
"""


def test_a_privacy_model_is_a_file_its_entry_and_its_predicate(tmp_path: Path) -> None:
    toy = {
        "privacy/toy.py": '"""The toy model."""\n\nfrom dataclasses import dataclass\nfrom typing import ClassVar\n\n'
        "from sqlanon.privacy.p_sensitive import PSensitivity\n\n\n@dataclass(frozen=True)\n"
        'class Toy(PSensitivity):\n    name: ClassVar[str] = "toy"\n\n\n'
        "def toy(entry, sensitive, flag):\n    return Toy(sensitive, entry.p)\n"
    }
    folder = added(
        tmp_path,
        toy,
        ("spec/models.py", "SensitiveModel = SensitiveEntry\n", MODEL_ENTRY),
        (
            "spec/privacy.py",
            "    personalized: Personalized",
            '    toy: tuple[Toy, ...] = Field((), description="Toys.")\n',
        ),
        ("spec/privacy.py", "    TCloseness,\n)", "    Toy,\n"),
        (
            "auditor/models.py",
            "        case LDiversity():\n",
            PREDICATE,
        ),
        ("auditor/models.py", "    TCloseness,\n)", "    Toy,\n"),
    )
    privacy = {"k": 2, "toy": [{"column": "s", "p": 2}]}
    program = SCHEMA + (
        "from sqlanon.reports.words import PROMISES\nfound['promise'] = PROMISES['toy']\n"
        "result = sqlanon.run('spec.yaml')\nfound['checks'] = [item.model for item in result.audit.checks]\n"
        "found['check'] = command('check', 'spec.yaml')\n"
        "found['help'] = command('audit', '--help')\n"
        "found['sql'] = command('sql', 'spec.yaml')\n"
        "found['plan'] = command('plan', 'spec.yaml')\n"
        "write(specs[1])\n"
        "found['refused'] = command('check', 'spec.yaml')\n"
    )
    found = asked(folder, program, spec(privacy=privacy), spec(privacy=privacy, search={"model": "CG_"}))
    assert "toy" in found["checks"]
    assert found["promise"].startswith("a toy promise")
    assert '"toy"' in found["schema"]
    released = [line.split(",") for line in (folder / "released.csv").read_text().split()[1:]]
    values: dict[tuple[str, ...], set[str]] = {}
    for *keys, value in released:
        values.setdefault(tuple(keys), set()).add(value)
    assert min(map(len, values.values())) == 2
    assert found["check"][0] == 0
    assert "--toy COLUMN=P" in found["help"][1]
    assert "Every class is a toy in s." in found["sql"][1]
    assert found["plan"][0] == 0
    assert "toy" in json.loads((folder / "spec.lock.json").read_text())["requirement"]
    assert "privacy.toy: forest does not honour it" in found["refused"][2]


@pytest.mark.parametrize("word", ["privacy model", "metric", "algorithm", "hierarchy builder", "engine"])
def test_contributing_says_so(word: str) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"| {'an' if word[0] in 'ae' else 'a'} {word} |" in text
