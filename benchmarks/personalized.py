"""`python -m benchmarks.personalized`: Xiao and Tao's experiment (section 5) on an invented census.

Tables of docs/personalized.md in Markdown, and its plots: breach probabilities under k-anonymity, l-diversity and
personalized privacy (Figures 6 and 7), errors of workloads by the weight of the sensitive column (Figure 8), time (9).
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.census import DATA_SETS, columns, make, spec
from benchmarks.measure import table
from sqlanon import measuring, pipeline
from sqlanon.results import PlanResult
from sqlanon.runs import DEFAULT
from sqlanon.spec import spec_from_dict
from sqlanon.workload import RandomQueries

WEIGHTS: tuple[float | str, ...] = (1.0, 10.0, 100.0, "infinity")
QUERIES = 10_000


def _published(values: dict[str, Any]) -> tuple[PlanResult, float, float]:
    """The plan of a release, and its seconds by the clock and of the processor."""
    started, worked = time.perf_counter(), time.process_time()
    result = pipeline.run(spec_from_dict(values))
    if result.plan is None:
        raise ValueError("a run plans")
    return result.plan, time.perf_counter() - started, time.process_time() - worked


def _loss(plan: PlanResult) -> float:
    return float(plan.to_dict()["score"]["information_loss"])


def _group_by(path: str, data_set: str) -> float:
    """The engine's own GROUP BY of the quasi-identifier."""
    with duckdb.connect(path) as connection:
        started = time.perf_counter()
        relation = connection.table(data_set).aggregate("age, education, gender, marital, occupation, count(*) as n")
        relation.create("base_groups")
        connection.execute("drop table base_groups")
        return time.perf_counter() - started


def _others(path: str, kind: str) -> dict[str, str]:
    """A k-anonymous and an l-diverse release of the primary or non-primary relation, as the methods before made them.

    Both know rows, not persons. l-diversity (no value in more than a quarter of a class) is the personalized
    requirement of own values, for rows, without SA-generalization.
    """
    source = f"{kind}_leaf"
    k_anonymous = {
        "connection": f"duckdb:///{path}",
        "source": source,
        "target": f"k_{kind}",
        "columns": columns(),
        "privacy": {"k": 4},
        "search": {"algorithm": "mondrian"},
        "evidence": {"files": False},
    }
    _published(k_anonymous)
    diverse = spec(path, source, "personalized", "infinity", f"l_{kind}")
    diverse.pop("respondent", None)
    diverse["privacy"]["personalized"]["primary"] = True
    _published(diverse)
    return {"k-anonymity": f"k_{kind}", "l-diversity": f"l_{kind}"}


def experiment(
    path: str,
    rows: int,
    weights: tuple[float | str, ...],
    algorithms: list[str],
    keep: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Everything that is measured, as plain data; kept after each release."""
    make(path, rows)
    found: dict[str, Any] = {"rows": rows, "loss": {}, "seconds": {}, "breaches": {}, "errors": {}, "base": {}}
    found["processor"] = {}
    for kind in ("pri", "nonpri"):
        others = _others(path, kind)
        for data_set in (name for name in DATA_SETS if name.startswith(f"{kind}_")):
            found["base"][data_set] = _group_by(path, data_set)
            for weight in weights:
                plan, seconds, worked = _published(spec(path, data_set, "personalized", weight, "release"))
                found["seconds"].setdefault(data_set, {})[str(weight)] = seconds
                found["processor"].setdefault(data_set, {})[str(weight)] = worked
                found["loss"].setdefault(data_set, {})[f"personalized {weight}"] = _loss(plan)
                for share in (0.1, 0.9):
                    measured = measuring.workload(
                        spec_from_dict(spec(path, data_set, "personalized", weight)),
                        RandomQueries(QUERIES, share, 1),
                        DEFAULT,
                        table="release",
                    )
                    errors = measured.figures()["all"]
                    found["errors"].setdefault(data_set, {}).setdefault(str(share), {})[str(weight)] = errors
                if weight == weights[0]:
                    asked = spec_from_dict(spec(path, data_set, "personalized"))
                    for method, release in {**others, "personalized": "release"}.items():
                        audit = measuring.audit_personalized(asked, DEFAULT, table=release)
                        if audit.breaches is not None:
                            found["breaches"].setdefault(data_set, {})[method] = audit.breaches.to_dict()
                print(data_set, weight, round(seconds, 1), round(worked, 1), round(_loss(plan)), flush=True)
                found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                keep(found)
            for algorithm in algorithms:
                started = time.perf_counter()
                plan = pipeline.plan(spec_from_dict(spec(path, data_set, algorithm)))
                found["loss"][data_set][algorithm] = _loss(plan)
                found["seconds"][data_set][algorithm] = time.perf_counter() - started
                print(data_set, algorithm, round(_loss(plan)), flush=True)
                keep(found)
    return found


def report(found: dict[str, Any]) -> str:
    """The measured figures as Markdown."""
    breaches = [
        [name, method, f"{item['maximum']:.3f}", f"{item['share_above']:.2%}", f"{item['outside']}"]
        for name, methods in found["breaches"].items()
        for method, item in methods.items()
    ]
    names = sorted({key for losses in found["loss"].values() for key in losses})
    losses = [
        [name, *(f"{items[key]:,.0f}" if key in items else "" for key in names)]
        for name, items in found["loss"].items()
    ]
    weights = list(next(iter(found["seconds"].values())))
    seconds = [
        [name, *(f"{items.get(weight, 0):.1f}" for weight in weights), f"{found['base'][name]:.3f}"]
        for name, items in found["seconds"].items()
    ]
    shown = [weight for weight in weights if weight not in ("greedy",)]
    errors = [
        [name, share, *(f"{items[weight]['average']:.3f} ({items[weight]['deviation']:.3f})" for weight in shown)]
        for name, shares in found["errors"].items()
        for share, items in shares.items()
    ]
    parts = [
        table(["data set", "release", "greatest probability", "rows above 0.25", "rows outside"], breaches),
        table(["data set", *names], losses),
        table(["data set", "r", *(f"w = {weight}" for weight in shown)], errors),
        table(["data set", *(f"w = {weight}" for weight in weights), "GROUP BY"], seconds),
        table(
            ["data set, of the processor", *(f"w = {weight}" for weight in shown)],
            [[name, *(f"{items[weight]:.1f}" for weight in shown)] for name, items in found["processor"].items()],
        ),
        f"Largest memory of the Python process with DuckDB in it: {found['memory']} MiB",
    ]
    return "\n\n".join(parts)


def plot(found: dict[str, Any], folder: Path) -> None:
    """The plots of docs/personalized.md."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    colors = {"k-anonymity": "#9db4c0", "l-diversity": "#5c6b73", "personalized": "#c2452d"}
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6), layout="constrained", sharex=True, sharey=True)
    for axis, (name, methods) in zip(axes.flat, found["breaches"].items(), strict=True):
        for method, item in methods.items():
            points = [(0.0, 1.0)]
            above = 0
            for bucket in sorted(item["distribution"], key=lambda bucket: -bucket["from"]):
                points.append((100 * above / item["rows"], bucket["from"]))
                above += bucket["rows"]
                points.append((100 * above / item["rows"], bucket["from"]))
            axis.plot([x for x, _ in points[1:]], [y for _, y in points[1:]], label=method, color=colors[method])
        axis.axhline(0.25, color="black", linewidth=0.7, linestyle=":")
        axis.set_title(name.replace("_", "-"), fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("rows, sorted by breach probability (%)")
    figure.supylabel("breach probability")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(folder / "personalized-breaches.svg", metadata={"Date": None})
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for name in found["errors"]:
        weights = [weight for weight in found["seconds"][name] if weight != "greedy"]
        for axis, share in zip(axes, ("0.1", "0.9"), strict=False):
            items = found["errors"][name][share]
            axis.plot(weights, [100 * items[weight]["average"] for weight in weights], marker="o", label=name)
            axis.set_title(f"average error (%), r = {share}", fontsize=10)
        axes[2].plot(weights, [found["seconds"][name][weight] for weight in weights], marker="o", label=name)
    axes[2].set_title("seconds", fontsize=10)
    for axis in axes:
        axis.set_xlabel("weight of the sensitive column")
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(folder / "personalized-errors.svg", metadata={"Date": None})


def _keep(path: Path | None, found: dict[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(found, indent=1), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.personalized", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--greedy", action="store_true", help="also the paper's own search, which takes minutes")
    parser.add_argument("--weights", type=int, default=len(WEIGHTS), help="how many of the weights")
    parser.add_argument("--plots", type=Path, help="write the plots to this folder")
    parser.add_argument("--keep", type=Path, help="write what was measured to this JSON file")
    parser.add_argument("--from", dest="known", type=Path, help="report what such a file holds")
    arguments = parser.parse_args()
    if arguments.known is not None:
        found = json.loads(arguments.known.read_text(encoding="utf-8"))
    else:
        with tempfile.TemporaryDirectory(prefix="sqlanon-bench-") as folder:
            chosen = (*WEIGHTS[: arguments.weights - 1], WEIGHTS[-1]) if arguments.weights < len(WEIGHTS) else WEIGHTS
            algorithms = ["greedy"] if arguments.greedy else []
            path = str(Path(folder) / "census.duckdb")
            found = experiment(path, arguments.rows, chosen, algorithms, partial(_keep, arguments.keep))
    print(report(found))
    if arguments.plots is not None:
        plot(found, arguments.plots)


if __name__ == "__main__":
    main()
