"""Loading a spec: from a YAML file or from Python values, with every problem reported at once, at its line.

Reads the spec file and the environment; hierarchy files are read later, by their builder. YAML 1.2 scalars only: `no`
and `on` are texts, 2020-01-01 is a text, 010 is ten; a key may stand once. A problem is one short line that names keys
and what is expected, never the value that was given. The JSON Schema, for editors, says which keys may stand where.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails

from sqlanon.errors import SpecError
from sqlanon.hierarchies.definition import SEVERAL, Finding, KeyPath
from sqlanon.spec.amounts import Limit
from sqlanon.spec.places import Secret, names_secret
from sqlanon.spec.release import Spec
from sqlanon.spec.tables import SeveralTables

_VARIABLE = re.compile(r"(\$)?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?")


NUL = "\0"
NO_NUL = "a text with the character NUL is expected nowhere: databases and paths end at it"


def expand(value: Any, findings: list[Finding], path: KeyPath = ()) -> Any:
    """The same value with every text in it expanded; what could not be expanded is added to `findings`.

    `${NAME}` is replaced from the environment; `$${` writes `${` itself. Expanded texts never appear in a problem.
    """
    if isinstance(value, str):
        return value if names_secret(path) else _expand_text(value, findings, path)
    if isinstance(value, Mapping):
        for key in value:
            if isinstance(key, str) and NUL in key:
                findings.append(((*path, key), NO_NUL))
        return {key: expand(item, findings, (*path, key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [expand(item, findings, (*path, position)) for position, item in enumerate(value)]
    return value


def _expand_text(text: str, findings: list[Finding], path: KeyPath) -> str:
    def replacement(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        if match[2] is None:
            findings.append((path, "a variable is written ${NAME}; write $${ for the text ${ itself"))
        elif match[2] not in os.environ:
            findings.append((path, f"environment variable {match[2]} is not set"))
        else:
            return os.environ[match[2]]
        return match[0]

    expanded = _VARIABLE.sub(replacement, text)
    if NUL in expanded:
        findings.append((path, NO_NUL))
    return expanded


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


DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _ForEditors(GenerateJsonSchema):
    """Leaves out titles that only repeat the key, and writes defaults as a spec would."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, Decimal):
            return float(dft)
        return str(dft) if isinstance(dft, Limit | Secret) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a release spec: of one table, or of several."""
    parts: dict[str, Any] = {}
    for model in (Spec, SeveralTables):
        own = model.model_json_schema(schema_generator=_ForEditors)
        parts |= own.pop("$defs", {})
        parts[model.__name__] = own
    several, one = ({"$ref": f"#/$defs/{model.__name__}"} for model in (SeveralTables, Spec))
    choice = {"if": {"type": "object", "required": ["tables"]}, "then": several, "else": one}
    return {"$schema": DIALECT, "title": "sqlanon release spec", **choice, "$defs": parts}


def keys_at(path: KeyPath, model: str = "Spec") -> list[str]:
    """The keys that may stand below a path of a spec, in the order of the reference.

    >>> keys_at(("privacy", "suppression"))
    ['limit', 'mode']
    """
    places = [_schema()["$defs"][model]]
    for part in path:
        places = [below for place in places for variant in _variants(place) for below in _below(variant, part)]
    found = (key for place in places for variant in _variants(place) for key in variant.get("properties", {}))
    return list(dict.fromkeys(found))


@cache
def _schema() -> dict[str, Any]:
    return json_schema()


def _variants(place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema itself, and all it refers to or chooses among."""
    yield place
    if "$ref" in place:
        yield from _variants(_schema()["$defs"][place["$ref"].rpartition("/")[2]])
    for choice in (*place.get("anyOf", ()), *place.get("oneOf", ())):
        yield from _variants(choice)


def _below(place: dict[str, Any], part: str | int) -> Iterator[dict[str, Any]]:
    if isinstance(part, int):
        below = place.get("items")
    else:
        below = place.get("properties", {}).get(part) or place.get("additionalProperties")
    if isinstance(below, dict):
        yield below


def load_spec(path: str | Path) -> Spec:
    """The spec of one table in a YAML file. SpecError lists every problem as `file:line: key.path: message`."""
    spec = load_any(path)
    if isinstance(spec, SeveralTables):
        raise SpecError(f"{path}: {ONE_TABLE}")
    return spec


ONE_TABLE = (
    "tables: this takes a spec of one table; check, plan, apply, run and audit --spec take several, in Python "
    "plan_tables, apply_tables, run_tables and audit_tables"
)


def load_any(path: str | Path) -> Spec | SeveralTables:
    """The spec in a YAML file, of one table or of several."""
    document = read_document(_text(Path(path)))
    if document.value is None and not document.findings:
        raise SpecError(f"{path}:1: the spec is empty")
    _refuse_lock(document.value, Path(path))
    findings = list(document.findings)
    spec = None
    if document.value is not None:
        spec, more = _validated(document.value, Path(path).parent, Path(path))
        findings += _elsewhere(more, findings)
    if spec is None or findings:
        located = sorted(
            (document.line(key), _load_worded(key, message)) for key, message in _without_repeats(findings)
        )
        raise SpecError(*(f"{path}:{line}: {problem}" for line, problem in located))
    return spec


def spec_from_dict(values: Mapping[str, Any], base: str | Path = ".", file: Path | None = None) -> Spec:
    """The spec of one table that Python values make; `base` is the folder that paths are relative to, `file` where
    they are kept."""
    spec = any_from_dict(values, base, file)
    if isinstance(spec, SeveralTables):
        raise SpecError(ONE_TABLE)
    return spec


def any_from_dict(values: Mapping[str, Any], base: str | Path = ".", file: Path | None = None) -> Spec | SeveralTables:
    """The spec that Python values make, of one table or of several."""
    spec, findings = _validated(values, Path(base), file)
    if spec is None or findings:
        raise SpecError(*(_load_worded(key, message) for key, message in _without_repeats(findings)))
    return spec


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        problem = "no such file"
    except UnicodeDecodeError:
        problem = "the spec is not UTF-8 text"
    except OSError:
        problem = "the spec cannot be read"
    raise SpecError(f"{path}: {problem}")


def _refuse_lock(value: Any, path: Path) -> None:
    """One line for the wrong file, instead of one for each of its keys."""
    if isinstance(value, Mapping) and {"spec", "spec_hash", "recoding"} <= value.keys():
        raise SpecError(f"{path}: is a lock file, not a spec; the spec it was made from is {value['spec']}")


def _validated(
    values: Any, folder: Path, file: Path | None = None
) -> tuple[Spec | SeveralTables | None, list[Finding]]:
    """The spec, or what is wrong. Pydantic's exception, which holds the values, does not leave this function."""
    findings: list[Finding] = []
    expanded = expand(values, findings)
    if not isinstance(expanded, dict):
        return None, [((), "a mapping of keys is expected")]
    model: type[Spec] | type[SeveralTables] = SeveralTables if "tables" in expanded else Spec
    try:
        return model.model_validate(expanded, context={"folder": folder, "file": file}), findings
    except ValidationError as error:
        details = error.errors(include_url=False)
    known = partial(keys_at, model=model.__name__)
    return None, findings + _elsewhere(findings_of(details, expanded, known), findings)


def _elsewhere(more: list[Finding], findings: list[Finding]) -> list[Finding]:
    """Findings at other keys: what follows from a problem already named would only distract."""
    named = {path for path, _ in findings}
    return [finding for finding in more if finding[0] not in named]


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _load_worded(path: tuple[str | int, ...], message: str) -> str:
    return f"{written_path(path)}: {message}" if path else message


MAXIMUM_NODES = 1_000_000
"""Aliases can make a small file enormous; no honest spec comes near this."""

NO_TAGS = "YAML tags are not allowed here"
_TAG = "tag:yaml.org,2002:"


class YamlLoader(yaml.SafeLoader):
    """Resolves the scalars of the YAML 1.2 core schema."""


YamlLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    YamlLoader.add_implicit_resolver(_TAG + _tag, re.compile(rf"^(?:{_pattern})$"), _first)


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
        node = yaml.compose(text, Loader=YamlLoader)
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
    if path[:1] in (("recipients",), ("tables",)):
        path = path[2:]
    match path:
        case ("columns", _, "hierarchy", "tree", *_) | ("privacy", "alpha", _, "value"):
            return True
        case ("privacy", "t_closeness", _, "order", *_):
            return True
        case _:
            return False
