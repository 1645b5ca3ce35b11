"""Names of scratch tables and columns that say which column of the source they are about.

>>> explained(["zip", "Home Town", "home-town", "2nd", "-"])
{'zip': 'zip', 'Home Town': 'home_town', 'home-town': 'home_town_2', '2nd': 'column_2nd', '-': 'column'}
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 24
"""Characters of a name: with what stands before it in a scratch table it stays within every engine's limit."""


def explained(columns: Iterable[str]) -> dict[str, str]:
    """A name for each column: lower-case letters, digits and underscores of its own, no two alike."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        plain = _plain(column)
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain[: LONGEST - len(str(number)) - 1]}_{number}"
        taken.add(name)
        found[column] = name
    return found


def _plain(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "column"
    plain = plain if plain[0].isalpha() else f"column_{plain}"
    return plain[:LONGEST].rstrip("_")


def key_name(plain: str) -> str:
    """What the key of a column is called in the classes of a release."""
    return f"{plain}_code"
