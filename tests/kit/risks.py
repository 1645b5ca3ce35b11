"""Risk, attacks and utility counted by hand on Python rows; shares no code with sqlanon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

Row = Mapping[str, Any]


def project(row: Row, columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in columns)


def sizes(rows: Sequence[Row], columns: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """The classes with their sizes."""
    return Counter(project(row, columns) for row in rows)


@dataclass(frozen=True)
class Risks:
    """What El Emam's formulas give."""

    uniques: int
    highest: Fraction
    average: Fraction
    above: dict[str, int]


def prosecutor(rows: Sequence[Row], columns: Sequence[str], thresholds: Sequence[str]) -> Risks:
    found = sizes(rows, columns)
    risks = [Fraction(1, found[project(row, columns)]) for row in rows]
    above = {text: sum(risk > Fraction(text) for risk in risks) for text in thresholds}
    alone = sum(found[project(row, columns)] == 1 for row in rows)
    return Risks(alone, max(risks), sum(risks, Fraction(0)) / len(rows), above)


def journalist(
    rows: Sequence[Row], people: Sequence[Row], columns: Sequence[str], thresholds: Sequence[str]
) -> tuple[Risks, Fraction]:
    """The journalist's risks, and the marketer's."""
    found, everybody = sizes(rows, columns), sizes(people, columns)
    there = {key: max(size, everybody[key]) for key, size in found.items()}
    risks = [Fraction(1, there[project(row, columns)]) for row in rows]
    mean = sum(risks, Fraction(0)) / len(rows)
    average = max(Fraction(len(found), sum(there.values())), mean)
    above = {text: sum(risk > Fraction(text) for risk in risks) for text in thresholds}
    uniques = sum(found[project(row, columns)] == there[project(row, columns)] == 1 for row in rows)
    return Risks(uniques, max(risks), average, above), mean


def subset_figures(rows: Sequence[Row], columns: Sequence[str], k: int) -> tuple[int, int, int, Fraction, Fraction]:
    """Classes, uniques, rows below k, distinction, separation: pairs compared one by one."""
    found = sizes(rows, columns)
    pairs = list(combinations(rows, 2))
    apart = sum(project(one, columns) != project(other, columns) for one, other in pairs)
    return (
        len(found),
        sum(size for size in found.values() if size == 1),
        sum(size for size in found.values() if size < k),
        Fraction(len(found), len(rows)),
        Fraction(apart, len(pairs)) if pairs else Fraction(0),
    )


def minimal_uniques(rows: Sequence[Row], columns: Sequence[str], size: int) -> list[list[tuple[str, ...]]]:
    """For each row, its minimal unique sets, every subset of every row tried."""
    found: list[list[tuple[str, ...]]] = []
    for row in rows:
        own: list[tuple[str, ...]] = []
        for number in range(1, size + 1):
            for chosen in combinations(columns, number):
                alone = sum(project(other, chosen) == project(row, chosen) for other in rows) == 1
                if alone and not any(set(smaller) < set(chosen) for smaller in own):
                    own.append(chosen)
        found.append(own)
    return found


def scores(found: Sequence[Sequence[tuple[str, ...]]], columns: int, size: int) -> list[int]:
    """SUDA scores of rows with a minimal unique set."""
    return [
        sum(prod(columns - i for i in range(len(chosen), size + 1) if i < columns) for chosen in own)
        for own in found
        if own
    ]


def cramers_v(rows: Sequence[Row], one: str, other: str) -> tuple[float, float]:
    """From the table of observed and expected counts; and Bergsma's correction of it."""
    first, second = sizes(rows, [one]), sizes(rows, [other])
    both = sizes(rows, [one, other])
    chi = sum(
        (both[a + b] - first[a] * second[b] / len(rows)) ** 2 / (first[a] * second[b] / len(rows))
        for a in first
        for b in second
    )
    n, r, c = len(rows), len(first), len(second)
    least = min(r, c) - 1
    plain = (chi / n / least) ** 0.5 if least else 0.0
    phi = max(0.0, chi / n - (r - 1) * (c - 1) / (n - 1))
    few = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return plain, min(1.0, (phi / few) ** 0.5) if few > 1e-9 else 0.0


def leave_one_out(rows: Sequence[Row], columns: Sequence[str], target: str) -> float:
    """Each row told by the others that look alike; a row alone, or told two things, as the docs say."""
    overall = Counter(row[target] for row in rows)
    most = max(overall.values())
    usual = min((value for value, number in overall.items() if number == most), key=lambda v: (v is not None, v))
    right = 0
    for place, row in enumerate(rows):
        others = [
            other[target]
            for number, other in enumerate(rows)
            if number != place and project(other, columns) == project(row, columns)
        ]
        if not others:
            right += row[target] == usual
            continue
        counted = Counter(others).most_common()
        clear = len(counted) == 1 or counted[0][1] > counted[1][1]
        right += clear and counted[0][0] == row[target]
    return right / len(rows)
