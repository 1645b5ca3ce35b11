"""Differential privacy of truthful releases: how many rows are sampled, and how small a class may be.

Li, Qardaji and Su, "On Sampling, Anonymization, and Differential Privacy" (2011), theorem 5; Bild, Kuhn and Prasser,
"SafePub" (2018). Every row is drawn with probability beta, drawn rows are generalized by a rule that does not look at
the data, classes with fewer than k drawn rows are left out. The release is (epsilon, delta)-differentially private if

    beta  <= 1 - e^-epsilon,    gamma = (e^epsilon - 1 + beta) / e^epsilon,
    a(n)  =  the probability that more than gamma * n of n rows are drawn,
    delta >= the greatest a(n) of all n >= ceil(k / gamma - 1).

Pure. Numbers are bounded from both sides by decimals that are rounded outwards: k is never below the theorem's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import comb

from sqlanon.spec import Spec
from sqlanon.spec.models import LEAST_DELTA, LEAST_EPSILON, MOST_EPSILON

HASH_BITS = 256
"""A keyed hash is one of 2^256 numbers, all equally likely to who lacks the key."""
DIGITS = (60, 120, 240, 480)
"""Precisions: the next where one leaves open on which side of delta a probability lies."""


@dataclass(frozen=True)
class Sampling:
    """What a release draws and keeps."""

    below: int
    """A row is drawn where its hash is below this number: with probability `below` / 2^256."""
    k: int
    """The least class that is kept."""

    @property
    def share(self) -> float:
        """The probability with which a row is drawn."""
        return float(Fraction(self.below, 2**HASH_BITS))

    @property
    def first_hash(self) -> str:
        """The least hash that is not drawn, in hexadecimal digits."""
        return f"{self.below:0{HASH_BITS // 4}x}"


@lru_cache(maxsize=64)
def sampling_for(epsilon: Decimal, delta: Decimal) -> Sampling:
    """The largest sample that epsilon allows, and the least k that holds delta with it.

    >>> sampling_for(Decimal(1), Decimal("1e-6")).k
    74
    """
    if not (LEAST_EPSILON <= epsilon <= MOST_EPSILON and LEAST_DELTA <= delta < 1):
        raise ValueError("epsilon or delta is out of bounds")
    exact = _Outward(300)
    most = exact.down.subtract(Decimal(1), exact.exponential(epsilon.copy_negate())[1])
    below = int(exact.down.multiply(most, Decimal(2**HASH_BITS)))
    return Sampling(below, least_class(epsilon, delta, below))


def least_class(epsilon: Decimal, delta: Decimal, below: int) -> int:
    """The least k of the theorem where rows are drawn with probability `below` / 2^256."""
    counts = _Tails(epsilon, below, DIGITS[0]).candidates(delta)
    # a(n) is no falling sequence: the last n whose probability is too high decides.
    last = next((n for n in counts if not _within(n, epsilon, delta, below)), 0)
    return _Tails(epsilon, below, DIGITS[-1]).most_expected(last + 1) + 1


def _within(n: int, epsilon: Decimal, delta: Decimal, below: int) -> bool:
    """Whether a(n) is at most delta; what no precision tells is taken as above it."""
    for digits in DIGITS:
        low, high = _Tails(epsilon, below, digits).probability(n, delta)
        if high <= delta:
            return True
        if low > delta:
            return False
    return False


class _Outward:
    """Arithmetic of positive numbers in bounds: one context rounds down, the other up."""

    def __init__(self, digits: int) -> None:
        self.down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
        self.up = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)

    def exponential(self, exponent: Decimal) -> tuple[Decimal, Decimal]:
        """e to a power. It is rounded to the nearest number: the true value lies between its neighbours."""
        near = self.down.exp(exponent)
        return self.down.next_minus(near), self.up.next_plus(near)


class _Tails:
    """The probabilities a(n) for one epsilon and one sample, in bounds."""

    def __init__(self, epsilon: Decimal, below: int, digits: int) -> None:
        self._outward = _Outward(digits)
        down, up = self._outward.down, self._outward.up
        # Every operation names its context: a bare one would be rounded to 28 digits, to the nearest number.
        whole, drawn, left = Decimal(2**HASH_BITS), Decimal(below), Decimal(2**HASH_BITS - below)
        self._drawn = down.divide(drawn, whole), up.divide(drawn, whole)
        self._left = down.divide(left, whole), up.divide(left, whole)
        low, high = self._outward.exponential(epsilon.copy_negate())
        # The gamma of the theorem, as one less the part that both epsilon and beta leave.
        self._gamma = (
            down.subtract(Decimal(1), up.multiply(high, self._left[1])),
            up.subtract(Decimal(1), down.multiply(low, self._left[0])),
        )

    def most_expected(self, n: int) -> int:
        """The whole part of gamma * n; where its bounds leave that open, the greater."""
        return int(self._outward.up.multiply(self._gamma[1], Decimal(n)))

    def candidates(self, delta: Decimal) -> Iterator[int]:
        """Every n whose probability may exceed delta, the greatest first.

        Chernoff: a(n) <= e^(-n * D), where D is the divergence of gamma from beta.
        """
        down, up = self._outward.down, self._outward.up
        gamma, beta = self._gamma[0], self._drawn[1]
        kept = down.multiply(gamma, down.ln(down.divide(gamma, beta)))
        lost = down.subtract(Decimal(1), gamma)
        lost = down.multiply(lost, down.ln(down.divide(lost, self._left[0])))
        # Logarithms are rounded to the nearest number; a margin far above that makes the divergence too small.
        divergence = down.multiply(down.add(kept, lost), 1 - Decimal("1e-25"))
        first = up.divide(down.ln(delta).copy_negate(), divergence)
        return iter(range(int(first) + 1, 0, -1))

    def probability(self, n: int, delta: Decimal) -> tuple[Decimal, Decimal]:
        """Bounds of a(n), close enough to tell it from delta."""
        return self._sum(n, delta, 0), self._sum(n, delta, 1)

    def _sum(self, n: int, delta: Decimal, side: int) -> Decimal:
        """The sum of the binomial probabilities above gamma * n, each got from the one before it."""
        context = (self._outward.down, self._outward.up)[side]
        j = int(self._outward.down.multiply(self._gamma[0], Decimal(n))) + 1
        if side == 0:
            j = self.most_expected(n) + 1
        if j > n:
            return Decimal(0)
        drawn, left = self._drawn[side], self._left[side]
        odds = context.divide(drawn, self._left[1 - side])
        term = context.multiply(Decimal(comb(n, j)), _power(drawn, j, context))
        term = context.multiply(term, _power(left, n - j, context))
        total, small = term, context.multiply(delta, Decimal(10) ** (-context.prec))
        while j < n:
            ratio = context.multiply(context.divide(Decimal(n - j), Decimal(j + 1)), odds)
            # Ratios fall: once they are at most a half, all that follows is at most the last term.
            if term < small and ratio <= Decimal("0.5"):
                return context.add(total, term) if side else total
            term = context.multiply(term, ratio)
            total = context.add(total, term)
            j += 1
        return total


def _power(base: Decimal, exponent: int, context: Context) -> Decimal:
    """A power by multiplications, each of them rounded as the context says."""
    found = Decimal(1)
    while exponent:
        if exponent & 1:
            found = context.multiply(found, base)
        base = context.multiply(base, base)
        exponent >>= 1
    return found


def with_sampling(spec: Spec) -> Spec:
    """The spec with the k that its differential guarantee implies; whatever lies in smaller classes is left out."""
    asked = spec.privacy.differential
    if asked is None:
        return spec
    update = {"k": sampling_for(asked.epsilon, asked.delta).k, "quasi_identifiers": {}}
    return spec.model_copy(update={"privacy": spec.privacy.model_copy(update=update)})
