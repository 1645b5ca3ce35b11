"""Recodings are asked, never inspected: no other room looks at which kind one is, or into its details."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "sqlanon"
KINDS = {"Assigned", "Cuts", "FullDomain", "AssignedRelease", "LevelsRelease", "Release"}


def names_in(node: ast.expr) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def inspects(node: ast.AST) -> bool:
    """Whether an expression tests the kind of a recoding, or reads its details."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            return bool(names_in(kinds) & KINDS)
        case ast.Attribute(attr="get", value=ast.Attribute(attr="details")):
            return True
        case _:
            return False


def test_only_the_recodings_know_their_kinds() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(map(inspects, ast.walk(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert {name for name in found if not name.startswith("recoding/")} == set()
