"""The plot and the tables of docs/schemes.md, from what benchmarks.schemes found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Results = Mapping[str, Mapping[str, Any]]

SCHEMES = ("bhs", "ghs", "gops", "gsps", "ops", "sps")
COLORS = dict(zip(SCHEMES, ("#9db4c0", "#5c6b73", "#e0a458", "#c2452d", "#6a994e", "#253237"), strict=True))
SIZES = (2, 5, 10, 15, 20)
TITLES = {"dm": "discernibility (DM)", "hdm": "hierarchical discernibility (HDM)"}


def draw(known: Results, path: Path) -> None:
    """Four panels: optimal cost by scheme under each measure, time from each end, evaluations by technique."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
    for axis, metric in zip(axes[0], TITLES, strict=True):
        _costs(axis, known, metric)
    _directions(axes[1][0], known)
    _techniques(axes[1][1], known)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def _costs(axis: Any, known: Results, metric: str) -> None:
    for scheme in SCHEMES:
        points = [(k, known[name]["cost"]) for k in SIZES if (name := f"costs {metric} {scheme} {k}") in known]
        if points:
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, color=COLORS[scheme], label=scheme)
    axis.set_title(f"optimal cost, {TITLES[metric]}", fontsize=10)
    axis.set_xlabel("k")
    axis.legend(frameon=False, fontsize=8)


def _directions(axis: Any, known: Results) -> None:
    styles = {"bottom_up": "-", "top_down": "--"}
    for scheme in ("ops", "gsps"):
        for direction, style in styles.items():
            names = {k: f"directions {scheme} {k} {direction}" for k in SIZES}
            points = [(k, known[name]["checks"]) for k, name in names.items() if name in known]
            if points:
                label = f"{scheme}, {direction.replace('_', '-')}"
                axis.plot(
                    *zip(*points, strict=True), style, marker="o", markersize=3, color=COLORS[scheme], label=label
                )
    axis.set_title("evaluated candidates from each end (DM, without pivot)", fontsize=10)
    axis.set_yscale("log")
    axis.set_xlabel("k")
    axis.legend(frameon=False, fontsize=8)


def _techniques(axis: Any, known: Results) -> None:
    found = [name.split(" ", 2) for name in known if name.startswith("techniques ")]
    labels = list(dict.fromkeys(label for _, _, label in found))
    order = ("none", "seeding, modified BFS", "rearrangement", "both", "both and pivot")
    labels = [label for label in order if label in labels]
    sizes = sorted({int(k) for _, k, _ in found})
    for place, k in enumerate(sizes):
        heights = [known[f"techniques {k} {label}"]["checks"] for label in labels]
        axis.bar([index + 0.27 * place for index in range(len(labels))], heights, 0.25, label=f"k = {k}",
                 color=("#9db4c0", "#5c6b73", "#253237")[place % 3])  # fmt: skip
    axis.set_xticks([index + 0.27 for index in range(len(labels))], labels, fontsize=7)
    axis.set_yscale("log")
    axis.set_title("evaluated candidates by technique (gops, DM)", fontsize=10)
    if sizes:
        axis.legend(frameon=False, fontsize=8)


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
