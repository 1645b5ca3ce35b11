"""Copies of syntax trees: the same trees as sqlglot's own copies, in two fifths of the time.

Two fifths of the Python time of a release of a small table went into copies: rendering copies the whole statement, and
each builder method (`Select.where`, `Case.when`) copies what it is called on. sqlglot goes through `copy.deepcopy` and
sets the parent of one node after the other. Here nodes are made without their constructor and filled at once.
sqlglot is pinned to a minor release, and `tests/sql/test_copies.py` fails where the attributes of its nodes change.
Where sqlglot is compiled (`sqlanon[fast]`), its own copies are faster still.
"""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp

ATTRIBUTES: Final = ("args", "parent", "arg_key", "index", "comments", "_type", "_meta", "_hash")
"""All that a node consists of."""

_bare: Final = object.__new__


def copied(tree: Any, _: object = None) -> Any:
    """A tree of new nodes that is equal to another; its root has no parent."""
    root = _bare(tree.__class__)
    root.parent = root.arg_key = root.index = None
    waiting = [(tree, root)]
    while waiting:
        node, twin = waiting.pop()
        twin.comments = None if node.comments is None else list(node.comments)
        twin._type = None if node._type is None else copied(node._type)
        twin._meta = None if node._meta is None else dict(node._meta)
        twin._hash = None
        arguments = twin.args = {}
        for key, value in node.args.items():
            if isinstance(value, exp.Expr):
                arguments[key] = child = _bare(value.__class__)
                child.parent, child.arg_key, child.index = twin, key, None
                waiting.append((value, child))
            elif value.__class__ is list:
                arguments[key] = values = []
                for place, item in enumerate(value):
                    if isinstance(item, exp.Expr):
                        child = _bare(item.__class__)
                        child.parent, child.arg_key, child.index = twin, key, place
                        waiting.append((item, child))
                        values.append(child)
                    else:
                        values.append(item)
            else:
                arguments[key] = value
    return root


def without_places(tree: Any) -> Any:
    """A tree that was parsed, changed in place: its nodes forget where in the text they stood, and which comments.

    Nobody asks for either of a template, and copying them takes twice as long as copying the rest of the node.
    """
    for node in tree.walk():
        node._meta = node.comments = None
    return tree


if getattr(exp.Expression, "__slots__", None) == ATTRIBUTES:
    exp.Expression.__deepcopy__ = copied  # type: ignore[method-assign, assignment]
    exp.Expression.copy = copied  # type: ignore[method-assign, assignment]
