"""What is wrong with a spec, in words: pydantic's errors and our findings as one short line each.

Pure. A line names keys and what is expected, never the value that was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic_core import ErrorDetails

from sqlanon.spec.refusals import SEVERAL, Finding, KeyPath

KeysAt = Callable[[KeyPath], list[str]]
"""The keys that may stand below a path."""

_WORDS = {
    "string_type": "text is expected; put quotes around it",
    "string_too_short": "must not be empty",
    "model_type": "a mapping of keys is expected",
    "model_attributes_type": "a mapping of keys is expected",
    "dict_type": "a mapping of keys is expected",
    "tuple_type": "a list is expected",
    "list_type": "a list is expected",
    "too_short": "must not be empty",
}
_BOUNDS = {
    "greater_than": ("gt", "must be greater than"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be less than"),
    "less_than_equal": ("le", "must be at most"),
    "string_too_long": ("max_length", "this many characters at most:"),
    "too_long": ("max_length", "this many entries at most:"),
}
_KINDS = (
    ("int_", "a whole number is expected"),
    ("float_", "a number is expected"),
    ("decimal_", "a number is expected"),
    ("finite_number", "a finite number is expected"),
    ("bool_", "true or false is expected"),
)


def findings_of(errors: Iterable[ErrorDetails], data: Any, keys_at: KeysAt) -> list[Finding]:
    """Pydantic's errors about `data` as findings with the paths that the file has."""
    listed = list(errors)
    unknown = [real_path(error["loc"], data) for error in listed if error["type"] == "extra_forbidden"]
    meant = {(*path[:-1], nearest) for path in unknown if (nearest := _nearest(path[-1], keys_at(path[:-1])))}
    findings: list[Finding] = []
    for error in listed:
        path = real_path(error["loc"], data)
        if error["type"] == "missing" and path == real_path(error["loc"][:-1], data):
            # Pydantic locates a default that was refused by its field, which need not be the key.
            path = (*path, error.get("ctx", {}).get("key", error["loc"][-1]))
            if path in meant:
                continue
        findings.extend(_worded(error, path, keys_at))
    return findings


def real_path(location: KeyPath, data: Any) -> KeyPath:
    """The path in the file: pydantic also puts the tags of unions into its locations."""
    path: list[str | int] = []
    for part in location:
        if _has(data, part):
            data = data[part]
            path.append(part)
    return tuple(path)


def _has(data: Any, part: str | int) -> bool:
    if isinstance(data, list | tuple):
        return isinstance(part, int) and part < len(data)
    return isinstance(data, Mapping) and part in data


def written_path(path: KeyPath) -> str:
    """A path as people write it.

    >>> written_path(("columns", "a.b", "hierarchy", "sql", 0))
    'columns."a.b".hierarchy.sql[0]'
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            plain = re.fullmatch(r"[\w*-]+", part)
            text += ("." if text else "") + (part if plain else '"' + _one_line(part) + '"')
    return text


def _worded(error: ErrorDetails, path: KeyPath, keys_at: KeysAt) -> Iterator[Finding]:
    context = error.get("ctx", {})
    kind = error["type"]
    if kind == SEVERAL:
        yield from (((*path, *below), message) for below, message in context["findings"])
    elif kind == "extra_forbidden":
        yield path, _unknown_key(path, keys_at)
    elif kind == "missing":
        yield path, "this key is required" if isinstance(path[-1], str) else "an entry is missing"
    elif kind == "literal_error":
        yield path, _choice(re.findall(r"'([^']*)'|(\d+)", str(context["expected"])), error["input"])
    elif kind == "value_error":
        yield path, _one_line(str(context["error"]))
    else:
        yield path, _plain_words(kind, context)


def _unknown_key(path: KeyPath, keys_at: KeysAt) -> str:
    known = keys_at(path[:-1])
    nearest = _nearest(path[-1], known)
    if nearest:
        return f"unknown key; did you mean '{nearest}'?"
    return f"unknown key; the keys here are {', '.join(known)}" if known else "unknown key"


def _choice(expected: list[tuple[str, str]], given: object) -> str:
    choices = [text or number for text, number in expected]
    nearest = _nearest(given, choices)
    hint = f"; did you mean '{nearest}'?" if nearest else ""
    listed = choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
    return f"{listed} is expected{hint}"


def _plain_words(kind: str, context: Mapping[str, Any]) -> str:
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"{words} {context[name]:.15g}"
    for prefix, words in _KINDS:
        if kind.startswith(prefix):
            return words
    return _WORDS.get(kind, "this value does not fit here")


def _nearest(given: object, known: Iterable[str]) -> str | None:
    matches = get_close_matches(given, list(known), n=1, cutoff=0.6) if isinstance(given, str) else []
    return matches[0] if matches else None


def _one_line(text: str) -> str:
    """Control characters in a name must not break a message into lines or steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)
