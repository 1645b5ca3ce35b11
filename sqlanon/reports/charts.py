"""Charts as inline SVG, drawn by matplotlib: text stays text, colours are those of the page, light or dark.

Imports matplotlib on first use; it is part of the extra `report`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from threading import Thread
from typing import Any

from sqlanon.auditor import Sizes
from sqlanon.errors import UsageError
from sqlanon.reports.lattice_view import SearchPicture
from sqlanon.reports.values import SensitiveShares

# Colours that nothing else has, replaced by variables of the page.
INK, MUTED, LINE = "#010101", "#020202", "#030303"
SERIES = tuple(f"#0{number}0{number}a0" for number in range(1, 9))
GOOD, BAD, UNKNOWN = "#0101b0", "#0202b0", "#0303b0"
VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    LINE: "--line",
    GOOD: "--good",
    BAD: "--bad",
    UNKNOWN: "--unknown",
    **{colour: f"--c{place}" for place, colour in enumerate(SERIES, start=1)},
}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
}

Draw = Callable[[Any], None]


def warm_up() -> None:
    """Begin to import matplotlib beside other work: it takes as long as the database does."""
    Thread(target=_imported, name="charts", daemon=True).start()


def _imported() -> None:
    with suppress(ImportError):
        import matplotlib.backends.backend_svg
        import matplotlib.figure  # noqa: F401 (whether it is there is asked)


def require_charts() -> None:
    """UsageError where matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401 (whether it is there is asked)
    except ImportError:
        raise UsageError("charts need matplotlib: pip install 'sqlanon[report]'") from None


MARGINS = {"left": 0.115, "right": 0.985, "top": 0.975, "bottom": 0.165}
"""Laid out by hand: finding the margins would draw every chart twice."""


def svg(name: str, title: str, description: str, draw: Draw, height: float = 3.2, **margins: float) -> str:
    """One chart; `name` makes its ids its own, `title` and `description` are read aloud."""
    import matplotlib as library
    from matplotlib.figure import Figure

    with library.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(6.4, height))
        figure.subplots_adjust(**{**MARGINS, **margins})
        draw(figure.add_subplot())
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Type": None})
    return _embedded(stream.getvalue(), f"chart-{name}", title, description)


def _embedded(text: str, name: str, title: str, description: str) -> str:
    """The drawing as part of a page: ids of its own, colours by variables, a title and a description."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{name}-\2"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    text = re.sub(r"font: ([0-9.]+px)[^;\"]*", r"font: \1 system-ui, sans-serif", text)
    head = f'role="img" aria-labelledby="{name}-title {name}-text"'
    named = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-text">{escape(description)}</desc>'
    text = re.sub(r'width="[^"]+pt"', "", text, count=1)
    text = re.sub(r'height="[^"]+pt"', "", text, count=1)
    return re.sub(r"<svg([^>]*)>", lambda found: f"<svg{found[1]} {head}>{named}", text, count=1)


def size_label(low: int, high: int | None) -> str:
    """
    >>> size_label(1, 1), size_label(3, 4), size_label(1000, None)
    ('1', '3-4', '1,000+')
    """
    if high is None:
        return f"{low:,}+"
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def class_sizes(before: Sizes, after: Sizes) -> str:
    """The share of rows by the size of their class, before and after."""
    lows = sorted({bucket.low for sizes in (before, after) for bucket in sizes.distribution})
    highs = {bucket.low: bucket.high for sizes in (before, after) for bucket in sizes.distribution}
    share = {
        name: [sum(b.rows for b in sizes.distribution if b.low == low) / max(1, sizes.rows) for low in lows]
        for name, sizes in (("before", before), ("after", after))
    }

    def draw(axes: Any) -> None:
        places = range(len(lows))
        axes.bar([p - 0.2 for p in places], share["before"], 0.38, label="source", color=SERIES[1])
        axes.bar([p + 0.2 for p in places], share["after"], 0.38, label="release", color=SERIES[0])
        axes.set_xticks(list(places), [size_label(low, highs[low]) for low in lows])
        axes.set_xlabel(f"size of the class a row lies in{' (persons)' if after.persons else ''}")
        axes.set_ylabel("share of rows")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.grid(axis="x", visible=False)
        axes.legend(loc="best")

    return svg("sizes", "Class sizes before and after", "Share of rows by the size of their class.", draw)


def risks(before: Sizes, after: Sizes) -> str:
    """The share of rows that may be re-identified with at least a chance, before and after."""

    def steps(sizes: Sizes) -> tuple[list[float], list[float]]:
        chances, shares, sofar = [0.0005], [1.0], sizes.rows
        for bucket in sorted(sizes.distribution, key=lambda item: -item.low):
            chances.append(1 / bucket.low)
            shares.append(sofar / max(1, sizes.rows))
            sofar -= bucket.rows
        return [*chances, chances[-1]], [*shares, 0.0]

    def draw(axes: Any) -> None:
        for name, sizes, colour, dash in (("source", before, SERIES[1], "--"), ("release", after, SERIES[0], "-")):
            axes.step(*steps(sizes), where="pre", label=name, color=colour, linestyle=dash, linewidth=2)
        axes.set_xscale("log")
        axes.set_xlim(0.0008, 1.2)
        axes.set_ylim(0, 1.04)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.1%}" if value < 0.01 else f"{value:.0%}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_xlabel("chance of re-identification, at least (prosecutor)")
        axes.set_ylabel("share of rows")
        axes.legend(loc="best")

    return svg("risks", "Risk before and after", "Share of rows whose risk is at least so high, log scale.", draw)


def histogram(name: str, found: SensitiveShares) -> str:
    """The intervals of a sensitive column of numbers, overall as bars, in the worst class as steps."""
    labels = [label for label, _ in found.overall.shares]
    places = range(len(labels))

    def draw(axes: Any) -> None:
        axes.bar(places, [share for _, share in found.overall.shares], width=0.94, color=SERIES[0], label="overall")
        # A class whose intervals all have fewer than k rows has nothing to be drawn.
        for worst in [item for item in found.worst if item.shares][:1]:
            known = dict(worst.shares)
            axes.step(
                places, [known.get(label, 0.0) for label in labels], where="mid", color=SERIES[1], label=worst.name
            )
        every = max(1, -(-len(labels) // 8))
        axes.set_xticks(list(places)[::every], [label.partition(" to ")[0] for label in labels][::every])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_ylabel("rows")
        axes.set_xlabel(f"{shortened(found.column)}, from this number on; intervals of {found.width:f}")
        axes.legend(loc="upper right", fontsize=8.5)

    text = "Shares of rows by intervals of numbers; rare ones are left out."
    return svg(name, f"Numbers of {found.column}", text, draw, bottom=0.2)


def shares(name: str, found: SensitiveShares) -> str:
    """The values of a sensitive column overall and in the worst classes, as stacked bars; of numbers a histogram."""
    if found.width is not None:
        return histogram(name, found)
    rows = [found.overall, *found.worst]
    values = [value for value, _ in found.overall.shares][: len(SERIES) - 1]

    def draw(axes: Any) -> None:
        labels = [row.name for row in rows]
        left = [0.0] * len(rows)
        for place, value in enumerate(values):
            widths = [dict(row.shares).get(value, 0.0) for row in rows]
            axes.barh(labels, widths, left=left, color=SERIES[place], label=shortened(value), height=0.7)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        rest = [max(0.0, 1 - start) for start in left]
        if any(part > 0.0005 for part in rest):
            axes.barh(labels, rest, left=left, color=LINE, label="other values, and rare ones", height=0.7)
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.grid(axis="y", visible=False)
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=2, fontsize=8.5)

    title = f"Values of {found.column}"
    lines = (len(values) + 2) // 2
    height = 2.9 + 0.2 * lines
    text = "Shares overall and in the classes where one value weighs most."
    return svg(name, title, text, draw, height=height, left=0.16, right=0.96, bottom=(0.45 + 0.2 * lines) / height)


def shortened(text: str, most: int = 28) -> str:
    """
    >>> shortened("a" * 40)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaa…'
    """
    # A leading underscore or a dollar sign would mean something to matplotlib.
    plain = text.replace("$", r"\$").lstrip("_") or " "
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def frontier(cells: Sequence[Mapping[str, Any]], metric: str) -> str:
    """The score by k, a line for each limit."""
    limits = list(dict.fromkeys(cell["limit"] for cell in cells))

    def draw(axes: Any) -> None:
        for place, limit in enumerate(limits):
            points = [(c["k"] or 1, c["score"][metric]) for c in cells if c["limit"] == limit and c["feasible"]]
            points.sort()
            colour = SERIES[place % len(SERIES)]
            axes.plot(*zip(*points, strict=True), marker="o", color=colour, label=f"limit {limit}") if points else None
        axes.set_xscale("log")
        ks = sorted({cell["k"] or 1 for cell in cells})
        axes.set_xticks(ks, [f"{k:,}" for k in ks])
        axes.minorticks_off()
        axes.set_xlabel("k: more privacy to the right")
        axes.set_ylabel(f"{metric}: less utility upwards")
        axes.legend(loc="best")

    return svg("frontier", "Privacy against utility", f"The best {metric} for each k, a line for each limit.", draw)


def questions(found: SearchPicture) -> str:
    """Each node that the search asked for, in order, by its height and its verdict."""

    def draw(axes: Any) -> None:
        for accepted, colour, marker, label in (
            (True, GOOD, "o", "acceptable"),
            (False, BAD, "s", "not acceptable"),
        ):
            points = [(place, height) for place, (height, held) in enumerate(found.asked, start=1) if held is accepted]
            if points:
                small = 28 if len(found.asked) < 120 else 10
                axes.scatter(*zip(*points, strict=True), s=small, c=colour, marker=marker, label=label, linewidths=0)
        axes.set_xlabel("question to the database")
        axes.set_ylabel("height of the node")
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.legend(loc="best")

    text = "Every node that the search had evaluated, in order, by its height and whether it is acceptable."
    return svg("questions", "The search, question by question", text, draw)


def undecided(found: SearchPicture) -> str:
    """How many nodes were still undecided after so many questions."""

    def draw(axes: Any) -> None:
        axes.step(*zip(*found.undecided, strict=True), where="post", color=SERIES[0], linewidth=2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("nodes evaluated")
        axes.set_ylabel("nodes undecided")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")

    return svg("undecided", "Nodes left to decide", "Undecided nodes by the number of nodes evaluated.", draw)


def iterations(found: SearchPicture) -> str:
    """Incognito's iterations: candidates, and how they were decided."""
    steps = found.iterations

    def draw(axes: Any) -> None:
        places = range(len(steps))
        kinds = (("held", "asked, held", GOOD), ("failed", "asked, failed", BAD))
        bottom = [0] * len(steps)
        for key, label, colour in kinds:
            tall = [step[key] for step in steps]
            axes.bar(places, tall, 0.6, bottom=bottom, label=label, color=colour)
            bottom = [start + more for start, more in zip(bottom, tall, strict=True)]
        rest = [max(0, step["candidates"] - start) for step, start in zip(steps, bottom, strict=True)]
        axes.bar(places, rest, 0.6, bottom=bottom, label="marked unasked", color=UNKNOWN)
        axes.set_xticks(list(places), [str(step["size"]) for step in steps])
        axes.set_xlabel("iteration: columns in a subset")
        axes.set_ylabel("candidate nodes")
        axes.grid(axis="x", visible=False)
        axes.legend(loc="best")

    return svg("iterations", "Incognito's iterations", "Candidates of each iteration and how they were decided.", draw)
