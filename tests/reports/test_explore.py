"""The server of explore without a browser: who may ask, what it answers, what it writes."""

from __future__ import annotations

import http.client
import json
import queue
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from threading import Thread
from typing import Any

import pytest

import sqlanon
from sqlanon.cli.explore import Desk
from sqlanon.cli.failures import failure_of, report
from sqlanon.errors import EngineError, RequirementError, SpecError, SqlanonError, UsageError
from sqlanon.pipeline import prepare
from sqlanon.planning.decision import hierarchies_of, packed, scanned
from sqlanon.reports.explore import Explorer, Pace, PageRequest, Served, node_of, reading
from sqlanon.reports.setup import SetUp
from sqlanon.reports.values import trees
from sqlanon.reports.wanted import wanted_of
from sqlanon.source.run import DEFAULT, Options, running
from sqlanon.spec import Limit, load_spec
from tests.kit.engine import execute, open_at
from tests.kit.rare_values import RARE, K, command, people


@pytest.fixture
def served() -> Iterator[Served]:
    def fail(_: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("a secret value")

    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise UsageError("no such node")

    def told(error: BaseException) -> None:
        report(failure_of(error), error, as_json=False, debug=False)

    answers = {"echo": lambda asked: asked, "fail": fail, "refuse": refuse}
    found = Served(lambda: "<p>page</p>", answers, "default-src 'none'", failed=told)
    thread = Thread(target=found.run)
    thread.start()
    yield found
    found.stop()
    thread.join()


def test_no_wait_for_a_question_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C that comes just before a wait is seen after it."""
    waits: list[float | None] = []

    class Asked(queue.Queue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            waits.append(timeout)
            raise queue.Empty if len(waits) < 3 else KeyboardInterrupt

    found = Served(lambda: "", {}, "default-src 'none'", failed=lambda error: None)
    monkeypatch.setattr(found, "_jobs", Asked())
    with pytest.raises(KeyboardInterrupt):
        found.run(idle_seconds=600)
    assert len(waits) == 3
    assert max(wait or 600 for wait in waits) <= 1


def ask(served: Served, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_only_who_knows_the_address_is_answered(served: Served) -> None:
    home = f"/{served.token}/"
    as_json = {"Content_Type": "application/json"}
    assert ask(served, "GET", home) == (200, "<p>page</p>")
    assert ask(served, "GET", "/")[0] == 403
    other_last = "y" if served.token.endswith("x") else "x"
    assert ask(served, "GET", f"/{served.token[:-1]}{other_last}/")[0] == 403
    assert ask(served, "GET", home, Host="evil.example")[0] == 403
    assert ask(served, "POST", f"{home}echo", '{"a": 1}', **as_json) == (200, '{"a": 1}')
    assert ask(served, "POST", f"{home}echo", '{"a": 1}', Origin="http://evil.example", **as_json)[0] == 403
    assert ask(served, "POST", "/wrong/echo", '{"a": 1}', **as_json)[0] == 403
    assert ask(served, "POST", f"{home}echo", '{"a": 1}', Content_Type="text/plain")[0] == 404
    assert ask(served, "POST", f"{home}nothing", "{}", **as_json)[0] == 404
    assert ask(served, "POST", f"{home}echo", "[]", **as_json)[0] == 400
    assert ask(served, "POST", f"{home}echo", "x" * 30_000, **as_json)[0] == 400
    assert ask(served, "POST", f"{home}refuse", "{}", **as_json) == (422, '{"error": "no such node"}')


def test_errors_keep_their_content(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = ask(served, "POST", f"/{served.token}/fail", "{}", Content_Type="application/json")
    assert status == 500
    assert "secret" not in text
    assert capsys.readouterr().err == "sqlanon: error: internal error (ValueError); run with --debug for the trace\n"


def test_a_port_that_is_taken(served: Served) -> None:
    with pytest.raises(UsageError, match="cannot be listened on"):
        Served(lambda: "", {}, "", served.port)


def test_explorer(engine_url: str, folder: Path) -> None:
    """Nodes are evaluated under any k and limit; only what the spec allows is written, and apply publishes it."""
    path = people(engine_url, folder)
    spec = load_spec(path)
    with running(spec, DEFAULT) as run:
        base = scanned(run)
        stored = hierarchies_of(run, base)
        labels = trees(run.engine, base, stored, K, persons=False)
        explorer = Explorer(run, packed(run, base, stored), None, labels)
        own = explorer.view(explorer.own)
        assert own["lattice"]["chosen"] == [1, 0, 0]
        assert own["own"] is True
        city, job, age = own["lattice"]["levels"]
        assert (city[0], age[1], age[2]) == ("as it is", "intervals of 5", "intervals of 10")
        assert job[1] == "one label for all: *"
        # The most frequent label of the most frequent one above it.
        assert own["lattice"]["examples"][0] == ["Basel", "river", "*"]
        assert own["lattice"]["examples"][1] == ["baker", "*"]
        other = explorer.evaluate((0, 0, 0), PageRequest(60, Limit.parse("0")))
        assert other["own"] is False
        verdicts = {
            tuple(levels): (suppressed, classes) for levels, suppressed, classes, _ in other["lattice"]["evaluated"]
        }
        assert verdicts[(0, 0, 0)] == (129, 0)
        nothing = explorer.view(PageRequest(200, Limit.parse("0")))
        assert nothing["lattice"]["chosen"] is None
        assert "Nothing acceptable" in nothing["message"]
        with pytest.raises(UsageError, match="no such node"):
            explorer.evaluate((9, 0, 0), explorer.own)
        with pytest.raises(RequirementError, match="the spec allows 12"):
            explorer.lock((0, 0, 0), "people.yaml", None)
        explorer.lock((1, 1, 0), "people.yaml", None).write(folder / "people.lock.json")
        shown = json.dumps([own, other, nothing])
    assert not any(value in shown for values in RARE.values() for value in values)
    command("apply", folder / "people.lock.json")
    evidence = [json.loads(item.read_text(encoding="utf-8")) for item in (folder / "people.evidence").iterdir()]
    assert [item["vector"] for item in evidence] == [[1, 1, 0]]


def test_setup(engine_url: str, folder: Path) -> None:
    """A spec is changed column by column and measured; rare values are counted, never shown; the file alone is written,
    and not over what somebody else wrote meanwhile."""
    path = people(engine_url, folder)
    text = path.read_text(encoding="utf-8")
    spec = load_spec(path)
    with running(spec, DEFAULT) as run:
        base = scanned(run)
        packed(run, base, hierarchies_of(run, base), again=True)
        setup = SetUp(path, run, base, K)
        view = setup.view()
        assert [(item["name"], item["role"]) for item in view["columns"]][::3] == [
            ("city", "quasi_identifier"),
            ("disease", "sensitive"),
        ]
        # City by hand: a group of its own for Bern, the lake renamed, then a level on top.
        changes = [
            {"kind": "move", "level": 0, "label": "Bern", "to": "capital"},
            {"kind": "rename", "level": 1, "label": "lake", "to": "waters"},
            {"kind": "add"},
            {"kind": "move", "level": 1, "label": "capital", "to": "alone"},
        ]
        asked = {"columns": {"city": {"groups": changes}, "job": {"role": "identifier"}}, "k": "4", "limit": "5%"}
        wanted = wanted_of(asked)
        board = setup.groups("city", wanted)
        first, second = board["levels"]
        assert [(item["label"], item["rows"], item["items"], item["rare"]) for item in first["groups"]] == [
            ("waters", 61, [["Genf", 30], ["Zug", 30]], 1),
            ("river", 34, [["Basel", 32]], 2),
            ("capital", 31, [["Bern", 31]], 0),
        ]
        assert {item["label"]: sorted(label for label, _ in item["items"]) for item in second["groups"]} == {
            "alone": ["capital"],
            "other": ["river", "waters"],
        }
        kept = setup.measure(wanted_of({"columns": {"city": {"groups": changes}}, "k": "4", "limit": "5%"}))
        assert not kept["read"]
        fresh = setup.measure(wanted)
        assert fresh["read"]
        assert [name for name, *_ in fresh["levels"]] == ["city", "age"]
        shown = json.dumps([view, board, kept, fresh])
        assert not any(value in shown for values in RARE.values() for value in values)
        # Its values stood in the spec before: nothing new is named.
        setup.save(wanted)
        written = path.read_text(encoding="utf-8")
        # What was measured is what the file says now.
        again = sqlanon.plan(path)
        assert (again.search.score, again.chosen.suppressed) == (fresh["score"], fresh["suppressed"])
        with pytest.raises(UsageError, match="changed meanwhile"):
            setup.save(wanted_of({"k": "9"}))
        assert path.read_text(encoding="utf-8") == written != text
        setup.read_again()
        one_more = {"columns": {"disease": {"role": "quasi_identifier", "groups": [{"kind": "add"}]}}}
        with pytest.raises(SpecError, match="disease"):
            setup.save(wanted_of(one_more))
        unnamed = wanted_of({"columns": {"city": {"hierarchy": "suppression", "groups": [{"kind": "add"}]}}})
        setup.require_savable(unnamed)
    assert path.read_text(encoding="utf-8") == written


def test_the_lattice_is_made_anew_when_the_spec_is_written(engine_url: str, folder: Path) -> None:
    path = people(engine_url, folder)
    with running(load_spec(path), DEFAULT) as run, Desk(path, folder / "people.lock.json", None) as desk:
        desk.open(run)
        assert desk.view()["lattice"]["heights"] == [2, 1, 3]
        before = path.read_text(encoding="utf-8")
        for wrong in ({"columns": {"age": {"hierarchy": "{date: [day, any]}"}}}, {"k": "1000"}, {}):
            with pytest.raises(SqlanonError):
                desk.write(wrong)
            assert path.read_text(encoding="utf-8") == before
            assert desk.view()["lattice"]["heights"] == [2, 1, 3]
        with pytest.raises(UsageError, match=r"^k: whole numbers"):
            desk.search({"k": "9" * 5000})
        with pytest.raises(UsageError, match=r"^limit: a number of rows or a percentage"):
            desk.search({"limit": "much"})
        # Twice, so that what stands for the first is gone when the second is read.
        apart = [{"kind": "add"}, {"kind": "move", "level": 1, "label": "river", "to": "south"}]
        desk.write({"columns": {"city": {"groups": apart}, "job": {"role": "identifier"}}})
        assert desk.view()["lattice"]["heights"] == [3, 3]
        desk.write({"columns": {"job": {"role": "quasi_identifier", "hierarchy": "suppression"}}, "k": "2"})
        view = desk.view()
        assert (view["lattice"]["heights"], view["k"]) == ([3, 1, 3], 2)
        levels = {"levels": view["lattice"]["chosen"]}
        assert desk.evaluate(levels)["own"]
        desk.save(levels)
        # Somebody else's file stands there now.
        lock = folder / "people.lock.json"
        kept = lock.read_bytes()
        lock.write_text("notes", encoding="utf-8")
        with pytest.raises(UsageError, match="no lock file"):
            desk.save(levels)
        assert lock.read_text(encoding="utf-8") == "notes"
        lock.write_bytes(kept)
    command("apply", folder / "people.lock.json")


def test_values_are_named_in_a_spec_only_where_that_is_allowed(duckdb_url: str, folder: Path) -> None:
    path = people(duckdb_url, folder)
    with running(load_spec(path), DEFAULT) as run:
        setup = SetUp(path, run, scanned(run), K)
        grouped = {"columns": {"job": {"groups": [{"kind": "add"}]}}}
        with pytest.raises(UsageError, match=r"job: 4, of which 1 are too few"):
            setup.save(wanted_of(grouped))
        # Somebody who guesses a rare value learns nothing: it is not there to be moved.
        for label in (RARE["job"][0], "no such job"):
            guess = {"kind": "move", "level": 0, "label": label, "to": "mine"}
            with pytest.raises(UsageError, match="no such label"):
                setup.groups("job", wanted_of({"columns": {"job": {"groups": [{"kind": "add"}, guess]}}}))
        setup.save(wanted_of({**grouped, "names_values": True}))
        assert "ghost" in path.read_text(encoding="utf-8")
        setup.read_again()
        with pytest.raises(UsageError, match="nothing was changed"):
            setup.save(wanted_of({"limit": "10%"}))
        assert "Only texts" in setup.groups("age", wanted_of({}))["why_not"]


@pytest.mark.parametrize(
    "given",
    [
        {"columns": []},
        {"columns": {"city": {"role": "king"}}},
        {"columns": {"city": {"groups": [{"kind": "burn"}]}}},
        {"columns": {"city": {"groups": [{"kind": "move", "level": "0", "label": "a", "to": "b"}]}}},
        {"columns": {"city": {"groups": [{"kind": "rename", "level": 1, "label": "a", "to": " "}]}}},
        {"columns": {"city": {"hierarchy": ["a"]}}},
        {"k": "0"},
        {"k": "9" * 19},
        {"k": "9" * 5000},
        {"limit": "much"},
    ],
)
def test_what_no_page_sends(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        wanted_of(given)


def test_the_pace_of_a_database() -> None:
    pace = Pace()
    assert pace.to_dict() == {"seconds": None, "seconds_per_row": None}
    pace.learn(1000, 0.01)
    assert pace.to_dict() == {"seconds": 0.01, "seconds_per_row": 0.0}
    # Faster with more rows: noise, not a saving.
    pace.learn(100_000, 0.001)
    assert pace.to_dict()["seconds_per_row"] == 0.0
    assert reading([((0, 0), 900), ((1, 0), 40)], (2, 1)) == 40
    assert reading([((0, 0), 900), ((1, 0), 40)], (0, 1)) == 900


@pytest.mark.parametrize("levels", [None, [1], [1, 2, "3"], [1, 2, True], "123"])
def test_nodes_of_a_page(levels: object) -> None:
    with pytest.raises(UsageError):
        node_of(levels, "abc")


@pytest.mark.reopened
@pytest.mark.process
def test_a_file_that_others_read_is_explored_and_left_as_it_is(duckdb_url: str, folder: Path) -> None:
    path = people(duckdb_url, folder)
    file = Path(duckdb_url.removeprefix("duckdb:///"))
    before = file.read_bytes()
    program = "import duckdb, sys; held = duckdb.connect(sys.argv[1], read_only=True); print('held'); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program, file], stdin=PIPE, stdout=PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with running(load_spec(path), Options(reads_only=True)) as run:
            found = Explorer(run, prepare(run), None)
            assert found.view(found.own)["lattice"]["chosen"] == [1, 0, 0]
            assert found.evaluate((0, 0, 0), found.own)["lattice"]["evaluated"]
            # Without labels that may be shown there is no example.
            assert found.view(found.own)["lattice"]["examples"][0] == [None, None, None]
        with pytest.raises(EngineError), running(load_spec(path), DEFAULT):
            pass
        assert other.stdin is not None
        other.stdin.close()
    assert file.read_bytes() == before


def test_what_looks_like_an_identifier_is_not_measured_as_released(duckdb_url: str, folder: Path) -> None:
    """The page says at once what `plan` would refuse, not only when the spec is written."""
    engine = open_at(duckdb_url)
    execute(
        engine, "create table staff as select format('{:03d}-12-3456', i) as ssn, i % 2 as ward from range(30) t(i)"
    )
    engine.close()
    columns = {"ssn": {"role": "identifier"}, "ward": {"role": "quasi_identifier"}}
    path = people(duckdb_url, folder, source="staff", columns=columns, privacy={"k": 2})
    with running(load_spec(path), DEFAULT) as run:
        setup = SetUp(path, run, scanned(run), 2)
        assert "identifier" in setup.view()["columns"][0]["reason"]
        with pytest.raises(SpecError, match=r"columns\.ssn: it is released as it is, but"):
            setup.measure(wanted_of({"columns": {"ssn": {"role": "insensitive"}}}))
