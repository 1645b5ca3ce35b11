"""The plots of docs/privacy/personalized.md, from what benchmarks.personalized measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLORS = {
    "k-anonymity": "#9db4c0",
    "l-diversity, columns": "#5c6b73",
    "l-diversity, classes": "#c89f3c",
    "personalized": "#c2452d",
}
MARKS = ("#9db4c0", "#253237", "#c89f3c", "#c2452d")


def plot(found: dict[str, Any], folder: Path) -> None:
    """Write the SVG files."""
    import matplotlib

    matplotlib.use("svg")
    # Fixed names inside the files: the same figures give the same pictures.
    matplotlib.rcParams["svg.hashsalt"] = "sqlanon"
    from matplotlib import pyplot

    _breaches(pyplot, found, folder / "personalized-breaches.svg")
    _by_weight(pyplot, found, folder / "personalized-errors.svg")
    _loss(pyplot, found, folder / "personalized-loss.svg")


def _breaches(pyplot: Any, found: dict[str, Any], path: Path) -> None:
    """Figures 6 and 7: rows by falling breach probability."""
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6.4), layout="constrained", sharex=True, sharey=True)
    for axis, (name, methods) in zip(axes.flat, found["breaches"].items(), strict=False):
        for method, item in methods.items():
            above, places, chances = 0, [], []
            for bucket in sorted(item["distribution"], key=lambda bucket: -bucket["from"]):
                places += [100 * above / item["rows"], 100 * (above + bucket["rows"]) / item["rows"]]
                chances += [bucket["from"]] * 2
                above += bucket["rows"]
            axis.plot(places, chances, label=method, color=COLORS[method])
        axis.axhline(0.25, color="black", linewidth=0.7, linestyle=":")
        axis.set_title(name.replace("_", "-").capitalize(), fontsize=10)
        axis.set_ylim(0, 1.02)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[1]:
        axis.set_xlabel("rows, sorted by breach probability (%)", fontsize=9)
    for axis in axes[:, 0]:
        axis.set_ylabel("breach probability", fontsize=9)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def _by_weight(pyplot: Any, found: dict[str, Any], path: Path) -> None:
    """Figures 8 and 9: errors of workloads and time, by the weight of the sensitive column."""
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
    for place, data_set in enumerate(found["errors"]):
        color, label = MARKS[place], data_set.replace("_", "-").capitalize()
        for axis, (share, items) in zip(axes, found["errors"][data_set].items(), strict=False):
            averages = [100 * item["average"] for item in items.values()]
            upto = [100 * item["deviation"] for item in items.values()]
            where = [number + 0.06 * (place - 1.5) for number in range(len(items))]
            axis.errorbar(where, averages, yerr=[[0] * len(upto), upto], marker="o", color=color, label=label)
            _weights(axis, list(items))
            axis.set_title(f"average error (%), r = {share}; bars: one deviation more", fontsize=9)
        runs = {name: run for name, run in found["runs"][data_set].items() if name.startswith("personalized ")}
        axes[2].plot(range(len(runs)), [run["processor"] for run in runs.values()], marker="o", color=color)
        _weights(axes[2], list(runs))
    axes[2].set_title("processor seconds of a whole run", fontsize=9)
    for axis in axes:
        axis.set_xlabel("weight of the sensitive column", fontsize=9)
        axis.set_ylim(0, 1.08 * axis.get_ylim()[1])
        axis.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def _weights(axis: Any, names: list[str]) -> None:
    shown = [name.removeprefix("personalized ").removesuffix(".0").replace("infinity", "\u221e") for name in names]
    axis.set_xticks(range(len(names)), shown)


def _loss(pyplot: Any, found: dict[str, Any], path: Path) -> None:
    """Information loss of every release, on a logarithmic axis."""
    shown = {
        "personalized 1.0": ("personalized", "#c2452d"),
        "greedy": ("greedy", "#253237"),
        "l-diversity, classes": ("l-diversity, classes", "#c89f3c"),
        "l-diversity, columns": ("l-diversity, columns", "#5c6b73"),
    }
    figure, axis = pyplot.subplots(figsize=(9, 3.4), layout="constrained")
    data_sets = list(found["runs"])
    for place, (name, (label, color)) in enumerate(shown.items()):
        bars = [
            (number, found["runs"][key][name]["loss"])
            for number, key in enumerate(data_sets)
            if name in found["runs"][key]
        ]
        drawn = axis.bar(
            [number + 0.2 * (place - 1.5) for number, _ in bars],
            [value for _, value in bars],
            0.19,
            label=label,
            color=color,
        )
        axis.bar_label(drawn, [f"{value:,.0f}" for _, value in bars], fontsize=7, padding=1)
    axis.set_yscale("log")
    axis.set_ylim(bottom=1_000)
    axis.set_xticks(range(len(data_sets)), [name.replace("_", "-").capitalize() for name in data_sets])
    axis.set_ylabel("information loss (Equation 6)", fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, metadata={"Date": None})
