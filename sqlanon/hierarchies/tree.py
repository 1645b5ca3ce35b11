"""The tree builder: a hierarchy written out in the spec as nested mappings and lists.

Pure. Branches are labels, leaves are values; leaves that sit higher than others repeat their own label upwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, RootModel, WithJsonSchema

from sqlanon.hierarchies.base import Family, Lookup
from sqlanon.hierarchies.definition import BARE, MOST_LEVELS, require_few_levels

Path = tuple[str, ...]
"""The labels from the root down to a leaf."""


def paths(node: object, above: Path = ()) -> Iterator[Path]:
    """Every leaf of a tree with the branches above it, outermost first.

    >>> list(paths({"a": ["x", {"b": "y"}]}))
    [('a', 'x'), ('a', 'b', 'y')]
    """
    if len(above) > 2 * MOST_LEVELS:
        # Deeper ones would only take longer to be refused.
        require_few_levels(len(above), "a branch of the tree")
    match node:
        case Mapping():
            for key, below in node.items():
                label = (*above, scalar_text(key))
                # `leaf:` with nothing after it is how a list of values looks when written as keys.
                yield from [label] if below is None else paths(_filled(below, label), label)
        case list() | tuple():
            for item in node:
                yield from paths(item, above)
        case _:
            yield (*above, scalar_text(node))


def _filled(node: object, label: Path) -> object:
    if isinstance(node, Mapping | list | tuple) and not node:
        raise ValueError(f"branch '{label[-1]}' has no values")
    return node


def scalar_text(value: object) -> str:
    """A scalar as the spec writes it.

    >>> scalar_text(True), scalar_text(94139), scalar_text("no")
    ('true', '94139', 'no')
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float() | Decimal():
            return str(value)
        case date():
            return value.isoformat()
        case _:
            raise ValueError("an empty entry; every value and label of a tree is text")


def rows_of(tree: object) -> tuple[tuple[str, ...], ...]:
    """One row per leaf, level 0 first, all equally long.

    >>> rows_of({"been": ["married", "widow"], "never": "single"})
    (('married', 'been'), ('widow', 'been'), ('single', 'never'))
    """
    leaves = list(paths(tree))
    if not leaves:
        raise ValueError("the tree is empty")
    depth = max(map(len, leaves))
    require_few_levels(depth - 1, "the tree")
    _check_leaves(leaves)
    _check_branches(leaves, depth)
    return tuple(tuple(reversed(path + (path[-1],) * (depth - len(path)))) for path in leaves)


def _check_leaves(leaves: list[Path]) -> None:
    seen: set[str] = set()
    for *_, leaf in leaves:
        if leaf in seen:
            raise ValueError(f"value '{leaf}' stands in the tree twice")
        seen.add(leaf)


def _check_branches(leaves: list[Path], depth: int) -> None:
    """A label belongs to one branch of its level; a leaf repeated upwards counts as a branch of its own."""
    owners: dict[tuple[int, str], tuple[Path, bool]] = {}
    for path in leaves:
        for position in range(1, depth):
            owner = (path[:position], position >= len(path))
            label = path[min(position, len(path)) - 1]
            if owners.setdefault((position, label), owner) != owner:
                raise ValueError(f"label '{label}' stands on two branches of one level")


def _normal(tree: Any) -> Any:
    if not isinstance(tree, Mapping | list | tuple):
        raise ValueError("a mapping of labels to values is expected")
    rows_of(tree)
    return tree


TreeNode = Annotated[Any, AfterValidator(_normal), WithJsonSchema({"type": ["object", "array"]})]


class Tree(RootModel[TreeNode]):
    """Labels and the values below them, nested as deep as needed: {been_married: [married, widow]}."""

    model_config = BARE

    def rule(self, family: Family) -> Lookup:
        """One row per leaf."""
        return Lookup(rows_of(self.root))
