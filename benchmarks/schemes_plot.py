"""The plot and the tables of docs/algorithms/schemes.md, from what benchmarks.schemes found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Results = Mapping[str, Mapping[str, Any]]

SCHEMES = ("bhs", "ghs", "gops", "gsps", "ops", "sps")
COLORS = dict(zip(SCHEMES, ("#9db4c0", "#5c6b73", "#e0a458", "#c2452d", "#6a994e", "#253237"), strict=True))
SIZES = (2, 5, 10, 15, 20)
TECHNIQUES = ("none", "seeding, modified BFS", "rearrangement", "both", "both and pivot")
TITLES = {"dm": "discernibility (DM)", "hdm": "hierarchical discernibility (HDM)"}


def draw(known: Results, path: Path) -> None:
    """Six panels: optimal cost by scheme under each measure, time by scheme, from each end, and by technique."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, 2, figsize=(10, 11), layout="constrained")
    for axis, metric in zip(axes[0], TITLES, strict=True):
        _costs(axis, known, metric)
    _ends(axes[1][0], known, "directions", SIZES, "by k")
    _ends(axes[1][1], known, "columns", (2, 3, 4), "by columns, k = 5")
    _techniques(axes[2][0], known)
    _candidates(axes[2][1], known)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def _costs(axis: Any, known: Results, metric: str) -> None:
    for scheme in SCHEMES:
        points = [(k, known[name]["cost"]) for k in SIZES if (name := f"costs {metric} {scheme} {k}") in known]
        if points:
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, color=COLORS[scheme], label=scheme)
    axis.set_title(f"optimal cost, {TITLES[metric]}", fontsize=10)
    axis.set_xticks(list(SIZES))
    axis.set_xlabel("k")
    axis.legend(frameon=False, fontsize=8)


def _ends(axis: Any, known: Results, question: str, places: Sequence[int], by: str) -> None:
    """Processor seconds bottom-up and top-down; a hollow point was stopped by its budget before it had proven all."""
    for scheme in ("ops", "gsps"):
        for direction, style in (("bottom_up", "-"), ("top_down", "--")):
            names = {place: f"{question} {scheme} {place} {direction}" for place in places}
            found = [(place, known[name]) for place, name in names.items() if name in known]
            if not found:
                continue
            label = f"{scheme}, {direction.replace('_', '-')}"
            points = [(place, item["processor"]) for place, item in found]
            axis.plot(*zip(*points, strict=True), style, color=COLORS[scheme], label=label)
            for place, item in found:
                face = COLORS[scheme] if item["proven"] else "white"
                axis.plot(place, item["processor"], "o", markersize=5, color=COLORS[scheme], markerfacecolor=face)
    axis.set_title(f"seconds from each end, {by} (DM; hollow: stopped)", fontsize=10)
    axis.set_xticks(list(places))
    axis.set_xlabel(by.split()[1].rstrip(","))
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False, fontsize=8)


def _techniques(axis: Any, known: Results) -> None:
    """Processor seconds by technique; of a search that was stopped by its budget the bar is hollow."""
    colors = ("#c9d6df", "#9db4c0", "#5c6b73", "#3d4f58", "#253237")
    for place, k in enumerate(SIZES):
        for index, label in enumerate(TECHNIQUES):
            item = known.get(f"techniques {k} {label}")
            if item is not None:
                face = colors[place] if item["proven"] else "white"
                named = f"k = {k}" if index == len(TECHNIQUES) - 1 else None
                axis.bar(
                    index + 0.16 * place, item["processor"], 0.14, color=face, edgecolor=colors[place], label=named
                )
    axis.set_xticks(
        [index + 0.32 for index in range(len(TECHNIQUES))],
        [label.replace(", ", ",\n") for label in TECHNIQUES],
        fontsize=7,
    )
    axis.set_title("seconds by technique (gops, DM; hollow: stopped)", fontsize=10)
    axis.legend(frameon=False, fontsize=8)


def _candidates(axis: Any, known: Results) -> None:
    """How many nodes each scheme expanded until its optimum was proven."""
    for scheme in SCHEMES:
        names = {k: f"costs dm {scheme} {k}" for k in SIZES}
        points = [(k, known[name]["expanded"]) for k, name in names.items() if name in known]
        if points:
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, color=COLORS[scheme], label=scheme)
    axis.set_yscale("log")
    axis.set_xticks(list(SIZES))
    axis.set_xlabel("k")
    axis.set_title("nodes expanded until proven, by scheme (DM, pivot)", fontsize=10)
    axis.legend(frameon=False, fontsize=8, loc="upper left", ncols=3)
    axis.set_ylim(top=30_000)


def tables(known: Results) -> str:
    """Markdown: the optimal cost by measure, scheme and k; a cost that was not proven has its gap beside it."""
    lines = []
    for metric, title in TITLES.items():
        lines += [
            "",
            f"| {title} | " + " | ".join(f"k = {k}" for k in SIZES) + " |",
            "| --- |" + " ---: |" * len(SIZES),
        ]
        for scheme in SCHEMES:
            cells = [_cell(known.get(f"costs {metric} {scheme} {k}"), metric) for k in SIZES]
            lines.append(f"| `{scheme}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(found: Mapping[str, Any] | None, metric: str) -> str:
    if found is None:
        return ""
    cost = f"{found['cost']:,.0f}" if metric == "dm" else f"{found['cost']:.2f}"
    return cost if found["proven"] else f"{cost} (gap {found['gap']:.1%})"
