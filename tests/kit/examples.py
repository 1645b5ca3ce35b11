"""How many random examples a property is tried on: all of them by `make soak`, fewer by the commands of every day."""

from __future__ import annotations

from hypothesis import settings

ONE_IN = {"soak": 1, "suite": 4, "quick": 8}
"""By Hypothesis' profile (`--hypothesis-profile`); `suite` is that of `make test`."""
FEWEST = 3


def share(number: int) -> int:
    """The examples that the profile of this run tries, of so many."""
    return max(min(number, FEWEST), number // ONE_IN[settings.get_current_profile_name()])
