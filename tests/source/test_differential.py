"""Truthful differential privacy: the theorem's k, and the guarantee itself by enumeration over neighbouring tables."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, comb, exp, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.source.differential import HASH_BITS, least_class, sampling_for

TABLE = [
    ("1", "1e-6", 74),
    ("2", "1e-6", 131),
    ("0.5", "1e-5", 51),
    ("1", "1e-5", 61),
    ("1.1", "1e-5", 62),
    ("0.1", "1e-4", 38),
    ("2", "1e-5", 113),
    ("1", "1e-7", 91),
]
"""Case E1: epsilon, delta, the least k, computed with 60 digits. ARX takes one more in each."""

ROUGH = [("0.7", "0.05"), ("1", "0.05"), ("1", "0.01"), ("2", "0.1"), ("3", "0.2")]
"""Guarantees so weak that all tables that matter can be enumerated."""


@pytest.mark.parametrize(("epsilon", "delta", "k"), TABLE)
def test_the_least_k_is_the_theorems(epsilon: str, delta: str, k: int) -> None:
    assert sampling_for(Decimal(epsilon), Decimal(delta)).k == k


@pytest.mark.parametrize("epsilon", ["0.02", "0.1", "1", "2", "8"])
def test_the_sample_is_the_largest_that_epsilon_allows(epsilon: str) -> None:
    """beta <= 1 - e^-epsilon, and one part in 2^256 more is too many: with the series of e^epsilon, in fractions."""
    below = sampling_for(Decimal(epsilon), Decimal("1e-3")).below
    term, inverse = Fraction(1), Fraction(1)
    for n in range(1, 130):
        term *= -Fraction(epsilon) / n
        inverse += term
    error = abs(term)
    assert Fraction(below, 2**HASH_BITS) <= 1 - inverse - error
    assert Fraction(below + 1, 2**HASH_BITS) > 1 - inverse + error
    assert int(sampling_for(Decimal(epsilon), Decimal("1e-3")).first_hash, 16) == below


@cache
def kept(n: int, k: int, beta: Fraction) -> dict[int, Fraction]:
    """What is released of a class of n rows, with its probability: 0, or a count of at least k."""
    found = {0: Fraction(0)}
    for drawn in range(n + 1):
        share = comb(n, drawn) * beta**drawn * (1 - beta) ** (n - drawn)
        seen = drawn if drawn >= k else 0
        found[seen] = found.get(seen, Fraction(0)) + share
    return found


def releases(rows: tuple[int, ...], k: int, beta: Fraction) -> dict[tuple[int, ...], Fraction]:
    """Every release of a table of so many rows in each class, with its probability."""
    found = {}
    for outcome in product(*(kept(n, k, beta).items() for n in rows)):
        share = Fraction(1)
        for _, part in outcome:
            share *= part
        found[tuple(seen for seen, _ in outcome)] = share
    return found


def neighbours(most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Tables of two classes, and the same with a person less, both ways round."""
    for n in range(1, most + 1):
        for other in (0, 2) if n < 9 else (0,):
            yield (n, other), (n - 1, other)
            yield (n - 1, other), (n, other)


def losses(
    one: dict[tuple[int, ...], Fraction], other: dict[tuple[int, ...], Fraction], factor: Fraction
) -> tuple[Fraction, Fraction]:
    """The probability of releases that are likelier than the factor allows, and by how much they exceed it."""
    beyond = [name for name, share in one.items() if share > factor * other.get(name, Fraction(0))]
    excess = sum((one[name] - factor * other.get(name, Fraction(0)) for name in beyond), Fraction(0))
    return sum((one[name] for name in beyond), Fraction(0)), excess


@pytest.mark.parametrize(("epsilon", "delta"), ROUGH)
def test_neighbouring_tables_by_enumeration(epsilon: str, delta: str) -> None:
    """With the theorem's k every set of releases is at most e^epsilon times as likely, but for delta; with k less one
    some release that tells more has a probability above delta. So the theorem needs no k more, and takes no k less."""
    sampling = sampling_for(Decimal(epsilon), Decimal(delta))
    # As close below the truth as fractions of this size are: a factor that is too small only makes the test harder.
    beta, factor = Fraction(floor(sampling.share * 2**24), 2**24), Fraction(exp(float(epsilon)) * (1 - 1e-6))
    most = 2 * sampling.k + 8
    worst = excess = without = Fraction(0)
    for one, other in neighbours(most):
        first, second = releases(one, sampling.k, beta), releases(other, sampling.k, beta)
        loss, more = losses(first, second, factor)
        worst, excess = max(worst, loss), max(excess, more)
        if sampling.k > 1:
            loss, _ = losses(releases(one, sampling.k - 1, beta), releases(other, sampling.k - 1, beta), factor)
            without = max(without, loss)
    assert excess <= worst <= Fraction(delta)
    assert sampling.k > 1
    assert without > Fraction(delta)


def simple(epsilon: float, delta: float, beta: float) -> tuple[int, float]:
    """The theorem word for word, in floating point: the least k, and by how much a delta comes close to its own."""
    gamma = (exp(epsilon) - 1 + beta) / exp(epsilon)
    tails = [
        sum(comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(floor(gamma * n) + 1, n + 1))
        for n in range(150)
    ]
    k = 1
    while max(tails[ceil(k / gamma - 1) :]) > delta:
        k += 1
    return k, min(abs(tail - delta) / delta for tail in tails)


@given(st.integers(30, 200), st.integers(1, 30), st.floats(0.2, 1))
def test_smaller_samples_follow_the_theorem_too(hundredths: int, percent: int, part: float) -> None:
    """Any beta up to 1 - e^-epsilon, against the theorem in floating point where that can tell."""
    epsilon, delta = hundredths / 100, percent / 100
    beta = part * (1 - exp(-epsilon)) * 0.999
    below = int(Fraction(beta) * 2**HASH_BITS)
    k, distance = simple(epsilon, delta, beta)
    found = least_class(Decimal(hundredths) / 100, Decimal(percent) / 100, below)
    assert found == k or (distance < 1e-9 and abs(found - k) <= 1)


def test_out_of_bounds_is_refused() -> None:
    for epsilon, delta in (("0", "0.1"), ("9", "0.1"), ("1", "0"), ("1", "1"), ("1", "-1")):
        with pytest.raises(ValueError, match="out of bounds"):
            sampling_for(Decimal(epsilon), Decimal(delta))
