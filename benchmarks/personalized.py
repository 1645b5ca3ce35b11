"""`python -m benchmarks.personalized`: Xiao and Tao's experiment (section 5) on an invented census.

Tables of docs/privacy/personalized.md in Markdown, and its plots: breach probabilities under k-anonymity, l-diversity
and personalized privacy (Figures 6 and 7), errors of workloads by the weight of the sensitive column (Figure 8), and
time (Figure 9).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.census import DATA_SETS, make, spec
from benchmarks.measure import table
from benchmarks.personalized_plot import plot
from sqlanon import pipeline
from sqlanon.insight import use as measuring
from sqlanon.insight.workload import RandomQueries
from sqlanon.release.results import PlanResult
from sqlanon.source.run import DEFAULT
from sqlanon.spec import spec_from_dict

WEIGHTS: tuple[float | str, ...] = (1.0, 10.0, 100.0, "infinity")
QUERIES = 10_000
SHARES = (0.1, 0.9)


class Clock:
    """Seconds by the clock and of the processor, this process's threads among them."""

    def __init__(self) -> None:
        self._started, self._worked = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        return {"seconds": time.perf_counter() - self._started, "processor": time.process_time() - self._worked}


class Experiment:
    """What has been measured, as plain data: kept after each release, and not measured again."""

    def __init__(self, path: str, rows: int, keep: Path | None) -> None:
        self.path, self.keep = path, keep
        self.found: dict[str, Any] = {"rows": rows, "runs": {}, "breaches": {}, "errors": {}, "base": {}}
        if keep is not None and keep.exists():
            known = json.loads(keep.read_text(encoding="utf-8"))
            if known["rows"] != rows:
                raise ValueError(f"{keep} holds an experiment of {known['rows']} rows")
            self.found = known
        make(path, rows)
        self._others: dict[str, dict[str, str]] = {}

    def whole(self, weights: int, *, greedy: bool) -> None:
        """Everything, what matters most first."""
        for data_set in DATA_SETS:
            self.personalized(data_set, WEIGHTS[0])
        if greedy:
            for data_set in DATA_SETS:
                self.planned(data_set, "greedy", spec(self.path, data_set, "greedy"))
        for weight in WEIGHTS[1:] if weights >= len(WEIGHTS) else (*WEIGHTS[1 : weights - 1], WEIGHTS[-1]):
            for data_set in DATA_SETS:
                self.personalized(data_set, weight)

    def personalized(self, data_set: str, weight: float | str) -> None:
        """A release with this weight of the sensitive column, how it answers queries, and who can be inferred."""
        name, values = f"personalized {weight}", spec(self.path, data_set, "personalized", weight)
        errors = self.found["errors"].setdefault(data_set, {})
        if all(name in errors.get(str(share), {}) for share in SHARES) and name in self.found["runs"][data_set]:
            return
        self.found["base"].setdefault(data_set, group_by(self.path, data_set))
        self.planned(data_set, name, values, again=True)
        for share in SHARES:
            asked = RandomQueries(QUERIES, share, 1)
            measured = measuring.workload(spec_from_dict(values), asked, DEFAULT)
            errors.setdefault(str(share), {})[name] = measured.figures()["all"]
        if weight == WEIGHTS[0]:
            others = self.others(data_set.split("_")[0])
            asked_of = spec_from_dict(spec(self.path, data_set, "personalized"))
            for method, release in {**others, "personalized": "release"}.items():
                audit = measuring.audit_personalized(asked_of, DEFAULT, table=release)
                if audit.breaches is not None:
                    self.found["breaches"].setdefault(data_set, {})[method] = audit.breaches.to_dict()
        self._keep()

    def planned(self, data_set: str, name: str, values: dict[str, Any], *, again: bool = False) -> None:
        """Publish a release and note what it loses and took."""
        runs = self.found["runs"].setdefault(data_set, {})
        if name in runs and not again:
            return
        plan, taken = published(values)
        runs[name] = {"loss": loss(plan), "checks": plan.search.checks, **taken}
        print(data_set, name, {key: round(value, 1) for key, value in runs[name].items()}, flush=True)
        self._keep()

    def others(self, kind: str) -> dict[str, str]:
        """Releases of the primary or non-primary relation as the methods before made them; they know rows, not persons.

        l-diversity (no value in more than a quarter of a class) is the personalized requirement of own values, for
        rows, without SA-generalization: with splits of whole columns, as all releases of the paper, or class by class.
        """
        if kind in self._others:
            return self._others[kind]
        source = f"{kind}_leaf"
        k_anonymous = {
            **{key: value for key, value in spec(self.path, source, "mondrian").items() if key != "respondent"},
            "target": f"k_{kind}",
            "privacy": {"k": 4},
        }
        published(k_anonymous)
        found = {"k-anonymity": f"k_{kind}"}
        for method, algorithm in (("l-diversity, columns", "greedy"), ("l-diversity, classes", "personalized")):
            target = f"l_{algorithm}_{kind}"
            diverse = spec(self.path, source, algorithm, "infinity", target)
            diverse.pop("respondent", None)
            diverse["privacy"]["personalized"]["primary"] = True
            self.planned(source, method, diverse, again=True)
            found[method] = target
        self._others[kind] = found
        return found

    def _keep(self) -> None:
        self.found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        if self.keep is not None:
            self.keep.write_text(json.dumps(self.found, indent=1), encoding="utf-8")


def published(values: dict[str, Any]) -> tuple[PlanResult, dict[str, float]]:
    """The plan of a release, and what it took."""
    clock = Clock()
    result = pipeline.run(spec_from_dict(values))
    if result.plan is None:
        raise ValueError("a run plans")
    return result.plan, clock.read()


def loss(plan: PlanResult) -> float:
    """Equation 6."""
    return float(plan.to_dict()["score"].get("information_loss", 0))


def group_by(path: str, data_set: str) -> dict[str, float]:
    """The engine's own GROUP BY of the quasi-identifier."""
    with duckdb.connect(path) as connection:
        clock = Clock()
        relation = connection.table(data_set).aggregate("age, education, gender, marital, occupation, count(*) as n")
        relation.create("base_groups")
        taken = clock.read()
        connection.execute("drop table base_groups")
        return taken


def one(rows: int, data_set: str) -> dict[str, float]:
    """A single release of a table of so many rows, in a process of its own; then again for the memory of Python."""
    with tempfile.TemporaryDirectory(prefix="sqlanon-bench-") as folder:
        path = str(Path(folder) / "census.duckdb")
        make(path, rows)
        base = group_by(path, data_set)
        plan, taken = published(spec(path, data_set, "personalized"))
        process = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        tracemalloc.start()
        published(spec(path, data_set, "personalized"))
        python = tracemalloc.get_traced_memory()[1] / 2**20
    figures = {"rows": rows, "combinations": plan.combinations, "loss": loss(plan), **taken}
    return {**figures, **{f"base_{key}": value for key, value in base.items()}, "process": process, "python": python}


def growth(rows: int, data_set: str = "pri_leaf") -> str:
    """Ten times the rows: time, as a multiple of the base GROUP BY too, and memory."""
    lines = []
    for number in (rows, 10 * rows):
        command = [sys.executable, "-m", "benchmarks.personalized", "--one", data_set, "--rows", str(number)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        lines.append(
            [
                f"{number:,}",
                f"{found['combinations']:,}",
                f"{found['seconds']:.1f}",
                f"{found['processor']:.1f}",
                f"{found['base_seconds']:.3f}",
                f"{found['base_processor']:.3f}",
                f"{found['processor'] / found['base_processor']:.0f}x",
                f"{found['process']:.0f}",
                f"{found['python']:.1f}",
            ]
        )
    heading = ["rows", "combinations", "s", "processor s", "base s", "base processor s", "run / base (processor)"]
    return table([*heading, "process MiB, DuckDB in it", "Python MiB"], lines)


def report(found: dict[str, Any]) -> str:
    """The measured figures as Markdown."""
    breaches = [
        [name, method, f"{item['maximum']:.3f}", f"{item['share_above']:.2%}", f"{item['outside']}"]
        for name, methods in found["breaches"].items()
        for method, item in methods.items()
    ]
    names = list(dict.fromkeys(name for runs in found["runs"].values() for name in runs))
    shown = [name for name in names if name.startswith("personalized ")]
    errors = [
        [data_set, share, *(_error(items.get(name)) for name in shown)]
        for data_set, shares in found["errors"].items()
        for share, items in shares.items()
    ]
    tables = [
        table(["data set", "release", "greatest probability", "rows above 0.25", "rows outside"], breaches),
        _runs(found, names, "loss", "loss", "{:,.0f}"),
        table(["data set", "r", *shown], errors),
        _runs(found, names, "seconds", "seconds", "{:.1f}"),
        _runs(found, names, "processor seconds", "processor", "{:.1f}"),
    ]
    base = ", ".join(f"{name} {item['processor']:.3f}" for name, item in found["base"].items())
    return "\n\n".join([*tables, f"GROUP BY, processor seconds: {base}", f"Largest memory: {found['memory']} MiB"])


def _runs(found: dict[str, Any], names: list[str], heading: str, key: str, form: str) -> str:
    rows = [
        [data_set, *(form.format(runs[name][key]) if name in runs else "" for name in names)]
        for data_set, runs in found["runs"].items()
    ]
    return table([f"data set, {heading}", *names], rows)


def _error(item: dict[str, float] | None) -> str:
    return "" if item is None else f"{item['average']:.3f} ({item['deviation']:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.personalized", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--greedy", action="store_true", help="also the paper's own search")
    parser.add_argument("--weights", type=int, default=len(WEIGHTS), help="how many of the weights")
    parser.add_argument("--plots", type=Path, help="write the plots to this folder")
    parser.add_argument("--keep", type=Path, help="write what was measured to this JSON file, and go on from there")
    parser.add_argument("--from", dest="known", type=Path, help="report what such a file holds")
    parser.add_argument("--growth", action="store_true", help="only time and memory, for these rows and ten times them")
    parser.add_argument("--one", metavar="DATA_SET", help="only one release, as JSON")
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(json.dumps(one(arguments.rows, arguments.one)))
        return
    if arguments.growth:
        print(growth(arguments.rows))
        return
    if arguments.known is not None:
        found = json.loads(arguments.known.read_text(encoding="utf-8"))
    else:
        with tempfile.TemporaryDirectory(prefix="sqlanon-bench-") as folder:
            experiment = Experiment(str(Path(folder) / "census.duckdb"), arguments.rows, arguments.keep)
            experiment.whole(arguments.weights, greedy=arguments.greedy)
            found = experiment.found
    print(report(found))
    if arguments.plots is not None:
        plot(found, arguments.plots)


if __name__ == "__main__":
    main()
