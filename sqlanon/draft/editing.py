"""The YAML of specs: scalars that read back as the same text, and a text with some of its keys set or removed.

Pure. Comments, order and everything else stay as they are. A change that the text does not take over exactly, as where
YAML's anchors make one text stand for two keys, is refused; so nothing can change that was not asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from sqlanon.errors import SpecError, UsageError
from sqlanon.spec.load import YamlLoader, read_document, written_path

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})
"""Words that this or another reader of YAML takes for something else than text."""


def yaml_text(text: str) -> str:
    r"""A scalar, quoted unless it is a plain word.

    >>> yaml_text("zip"), yaml_text("no"), yaml_text("a: b"), yaml_text("2026"), yaml_text('say "x"\n')
    ('zip', '"no"', '"a: b"', '"2026"', '"say \\"x\\"\\n"')
    """
    if _PLAIN.fullmatch(text) and text.casefold() not in _WORDS:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def yaml_value(text: str) -> str:
    """A scalar in which nothing is taken for a variable of the environment.

    >>> yaml_value("a${B}")
    '"a$${B}"'
    """
    return yaml_text(text.replace("${", "$${"))


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if letter in named:
        return named[letter]
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


Key = tuple[str, ...]
"""The way to a key, through mappings only."""


@dataclass(frozen=True)
class KeyChange:
    """A key with its new value as YAML; without one the key goes."""

    key: Key
    value: str | None


def read_at(key: Key, text: str) -> Any:
    """What a text says as the value of a key of the spec; UsageError where it is no YAML.

    >>> read_at(("columns", "zip", "hierarchy"), "{mask: {length: 5}}")
    {'mask': {'length': 5}}
    """
    opened = "".join(f"{{{yaml_text(part)}: " for part in key)
    document = read_document(f"{opened}{text}\n{'}' * len(key)}")
    if document.findings:
        raise UsageError(f"{written_path(key)}: {document.findings[0][1]}")
    found = document.value
    for part in key:
        if not isinstance(found, dict) or set(found) != {part}:
            raise UsageError(f"{written_path(key)}: one value is expected")
        found = found[part]
    return found


def flow(value: Any) -> str:
    """A value as YAML on one line.

    >>> flow({"mask": {"length": 5, "char": "*"}}), flow(["a b", True, None])
    ('{mask: {length: 5, char: "*"}}', '["a b", true, null]')
    """
    match value:
        case Mapping():
            return "{" + ", ".join(f"{yaml_text(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(flow, value)) + "]"
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case str():
            return yaml_text(value)
        case _:
            return str(value)


def edited(text: str, changes: Sequence[KeyChange]) -> str:
    r"""The text with all changes made.

    >>> edited("columns:\n  a: {role: sensitive}  # why\n", [KeyChange(("columns", "a", "role"), "identifier")])
    'columns:\n  a: {role: identifier}  # why\n'
    >>> edited("privacy:\n  k: 5\n", [KeyChange(("privacy", "suppression", "limit"), "2%")])
    'privacy:\n  k: 5\n  suppression: {limit: 2%}\n'
    """
    wanted = read_document(text).value
    for change in changes:
        text = _made(text, change)
        wanted = _with(wanted, change.key, change)
    document = read_document(text)
    if document.findings or document.value != wanted:
        raise SpecError("the spec is written in a way that cannot be changed here, as with anchors: edit it by hand")
    return text


def _with(values: Any, left: Key, change: KeyChange) -> dict[str, Any]:
    first, *rest = left
    if not isinstance(values, dict):
        raise SpecError(f"{written_path(change.key)}: a mapping of keys is expected above it")
    if rest:
        return {**values, first: _with(values.get(first, {}), tuple(rest), change)}
    if change.value is None:
        return {name: value for name, value in values.items() if name != first}
    return {**values, first: read_at(change.key, change.value)}


def _made(text: str, change: KeyChange) -> str:
    """The text with one change made in the innermost mapping on the way to its key that is there."""
    node = yaml.compose(text, Loader=YamlLoader)
    for depth, part in enumerate(change.key):
        if not isinstance(node, yaml.MappingNode):
            raise SpecError(f"{written_path(change.key)}: a mapping of keys is expected above it")
        below = next((value for key, value in node.value if key.value == part), None)
        if below is None or depth == len(change.key) - 1:
            if change.value is None:
                return text if below is None else _changed(text, node, part, None)
            inner = change.key[depth + 1 :]
            value = "".join(f"{{{yaml_text(name)}: " for name in inner) + change.value + "}" * len(inner)
            return _changed(text, node, part, value)
        node = below
    return text


def _changed(text: str, node: yaml.MappingNode, name: str, value: str | None) -> str:
    if node.flow_style:
        return _in_braces(text, node, name, value)
    return _by_lines(text, node, name, value)


def _in_braces(text: str, node: yaml.MappingNode, name: str, value: str | None) -> str:
    """One key between braces replaced, taken away, or added after the last; comments between the others stay."""
    entries = [(key.start_mark.index, max(_end(below), key.end_mark.index)) for key, below in node.value]
    for position, (key, _) in enumerate(node.value):
        if key.value != name:
            continue
        start, end = entries[position]
        if value is not None:
            return f"{text[: key.end_mark.index]}: {value}{text[end:]}"
        if position + 1 < len(entries):
            return text[:start] + text[entries[position + 1][0] :]
        before = entries[position - 1][1] if position else start
        # A comma may be the last letter between braces; so may a comment on what stands before it.
        return (text[:start] if "#" in text[before:start] else text[:before]) + text[end:]
    after = entries[-1][1] if entries else node.start_mark.index + 1
    return f"{text[:after]}{', ' if entries else ''}{yaml_text(name)}: {value}{text[after:]}"


def _by_lines(text: str, node: yaml.MappingNode, name: str, value: str | None) -> str:
    """One key of a block replaced, its lines taken away, or a line added after the last key."""
    for key, below in node.value:
        if key.value == name:
            end = max(_end(below), key.end_mark.index)
            if value is not None:
                return f"{text[: key.end_mark.index]}: {value}{text[end:]}"
            line, after = text.rfind("\n", 0, key.start_mark.index) + 1, text.find("\n", end)
            return text[:line] + (text[after + 1 :] if after >= 0 else "")
    last, below = node.value[-1]
    after = text.find("\n", max(_end(below), last.end_mark.index))
    head, tail = (text, "\n") if after < 0 else (text[:after], text[after:])
    return f"{head}\n{' ' * node.value[0][0].start_mark.column}{yaml_text(name)}: {value}{tail}"


def _end(node: yaml.Node) -> int:
    """Where a node's own text ends: what the parser calls the end of a block is where the next key begins."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        key, below = node.value[-1]
        return max(_end(below), int(key.end_mark.index))
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _end(node.value[-1])
    return int(node.end_mark.index)
