"""YAML text into plain values, with the line of every key.

Pure. YAML 1.2 scalars only: `no` and `on` are texts, 2020-01-01 is a text, 010 is ten; a key may stand once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import yaml

from sqlanon.spec.refusals import Finding, KeyPath

MAXIMUM_NODES = 1_000_000
"""Aliases can make a small file enormous; no honest spec comes near this."""

NO_TAGS = "YAML tags are not allowed here"
_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """Resolves the scalars of the YAML 1.2 core schema."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(_TAG + _tag, re.compile(rf"^(?:{_pattern})$"), _first)


@dataclass
class Document:
    """What a YAML text says, where each key stands, and what is wrong with it."""

    value: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    nodes: int = 0

    def line(self, path: KeyPath) -> int:
        """The line of a key, or of the nearest key above it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_document(text: str) -> Document:
    """The document, never an exception: what does not parse is a finding on its line."""
    document = Document()
    try:
        node = yaml.compose(text, Loader=_Loader)
        if node is not None:
            document.value = _value(document, node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        document.lines[()] = mark.line + 1 if mark else 1
        document.findings.append(((), f"not valid YAML: {error.problem}"))
    except yaml.YAMLError:
        document.findings.append(((), "not valid YAML: a character that YAML does not allow"))
    except RecursionError:
        document.findings.append(((), "nested too deeply"))
    return document


def _value(document: Document, node: yaml.Node, path: KeyPath) -> Any:
    document.nodes += 1
    if document.nodes > MAXIMUM_NODES:
        raise RecursionError
    if not isinstance(node, yaml.ScalarNode) and node.tag not in (_TAG + "map", _TAG + "seq"):
        document.findings.append((path, NO_TAGS))
    match node:
        case yaml.MappingNode():
            return _mapping(document, node, path)
        case yaml.SequenceNode():
            return [_item(document, item, (*path, index)) for index, item in enumerate(node.value)]
        case _:
            return _scalar(document, node, path)


def _item(document: Document, node: yaml.Node, path: KeyPath) -> Any:
    document.lines[path] = node.start_mark.line + 1
    return _value(document, node, path)


def _mapping(document: Document, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            document.findings.append((path, f"a key must be plain text (line {line})"))
            continue
        below = (*path, str(key.value))
        if key.value in mapping:
            document.findings.append((below, f"this key stands twice, again on line {line}"))
            continue
        document.lines[below] = line
        mapping[str(key.value)] = _value(document, value, below)
    return mapping


def _scalar(document: Document, node: yaml.Node, path: KeyPath) -> Any:
    text = str(node.value)
    match node.tag.removeprefix(_TAG):
        case "str":
            return text
        case "null":
            return text if _as_written(path) and text else None
        case _ if _as_written(path):
            return text
        case "bool":
            return text.lower() == "true"
        case "int":
            # Python refuses to read integers of thousands of digits; as text they fail the check of their key.
            return int(text) if len(text) < 100 else text
        case "float":
            return Decimal(text)
        case _:
            document.findings.append((path, NO_TAGS))
            return None


def _as_written(path: KeyPath) -> bool:
    """Whether scalars here are data values, which keep their spelling: 01 stays 01."""
    if path[:1] == ("recipients",):
        path = path[2:]
    match path:
        case ("columns", _, "hierarchy", "tree", *_) | ("privacy", "alpha", _, "value"):
            return True
        case ("privacy", "t_closeness", _, "order", *_):
            return True
        case _:
            return False
