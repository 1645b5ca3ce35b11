"""Keys that the algorithm of a spec does not honour: each is refused by its name, none is ignored.

Pure. Only keys that somebody wrote, with a value that asks for something, are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from sqlanon.errors import UsageError
from sqlanon.hierarchies.definition import Finding, KeyPath
from sqlanon.spec.algorithms import ALGORITHMS, ITSELF, KEYS, PASSED_ON, AlgorithmRow, Key, Only
from sqlanon.spec.keys import SpecKeys
from sqlanon.spec.privacy import MODELS

WITHOUT_HISTORY = {
    "script": "a script does not look at earlier releases; publish with sqlanon run or apply",
    "dbt": "a model built by dbt does not look at earlier releases; publish with sqlanon run or apply",
    "grid": "a grid does not look at earlier releases; plan each requirement by a spec of its own",
}
"""What does not look at earlier releases: to leave them out without a word would be a leak."""


def honoured_findings(spec: SpecKeys, *names: str) -> Iterator[Finding]:
    """Every key that is written and not honoured; with names, only of these keys of the table."""
    row = ALGORITHMS[spec.search.algorithm]
    for key in KEYS:
        if names and key.name not in names:
            continue
        for path, value in _written(spec, key, row):
            message = _refusal(spec, row, key, value)
            if message is not None:
                yield path, message


def require_honoured(spec: SpecKeys, name: str) -> None:
    """UsageError where the algorithm of a spec does not do what a command asks: a script, a dbt model, a grid."""
    row = ALGORITHMS[spec.search.algorithm]
    message = _refusal(spec, row, _key(name), None)
    if message is not None:
        raise UsageError(f"search.algorithm: {message}")
    if spec.history is not None and name in WITHOUT_HISTORY:
        raise UsageError(f"history: {WITHOUT_HISTORY[name]}")
    if spec.privacy.differential is not None:
        raise UsageError(
            f"privacy.differential: {_key(name).words} draws no sample and keeps no ledger; publish it with sqlanon run"
        )


def recipients_finding(spec: SpecKeys) -> Iterator[Finding]:
    """What is wrong with having recipients, by the spec of one of them."""
    row = ALGORITHMS[spec.search.algorithm]
    message = _refusal(spec, row, _key("recipients"), None)
    if message is not None:
        yield ("recipients",), message
    if spec.ledger is not None:
        yield ("history",), "recipients do not share a ledger; write a spec for each, or remove history"


def _key(name: str) -> Key:
    return next(key for key in KEYS if key.name == name)


def _written(spec: SpecKeys, key: Key, row: AlgorithmRow) -> Iterator[tuple[KeyPath, object]]:
    for path in key.paths:
        if path == ("privacy", "*"):
            for model in MODELS:
                yield from _at(spec.privacy, (model,), ("privacy",), key, row)
        elif path[1:2] == ("*",):
            starts: list[tuple[KeyPath, BaseModel]] = [
                ((path[0], name), column) for name, column in spec.columns.items()
            ]
            for start, column in starts:
                yield from _at(column, path[2:], start, key, row)
        elif path == ("target",):
            if spec.own_target is not None and key.counts(spec.own_target):
                yield path, spec.own_target
        else:
            yield from _at(spec, path, (), key, row)


def _at(model: BaseModel, path: tuple[str, ...], start: KeyPath, key: Key, row: AlgorithmRow) -> Iterator[Finding]:
    """The value of a key, where somebody wrote it and it asks for something."""
    name, *below = path
    if name not in model.model_fields_set:
        return
    value = getattr(model, name)
    if below:
        yield from _at(value, tuple(below), (*start, name), key, row)
        return
    # Of a key that is honoured for some values only, also the default is refused when it is written.
    always = key.name in row.only and any(ITSELF in places for places in row.only[key.name].either)
    default = type(model).model_fields[name].get_default(call_default_factory=True)
    if always or (value != default and key.counts(value)):
        yield (*start, name), value


def _refusal(spec: SpecKeys, row: AlgorithmRow, key: Key, value: object) -> str | None:
    """Why a key is refused; None where it is honoured."""
    inner = ALGORITHMS[spec.search.local.algorithm] if row.kind == "local" and key.name in PASSED_ON else row
    if key.name not in inner.honours:
        name = row.name if inner is row else f"{row.name} with search.local.algorithm {inner.name}"
        return f"{key.cannot.format(algorithm=name)}; {_otherwise(spec, row, key)}"
    condition = row.only.get(key.name)
    if key.name in row.honours and (condition is None or _met(spec, condition, value)):
        return None
    how = key.cannot.format(algorithm=row.name)
    if condition is not None:
        how = f"{how}: only {condition.words}" if not key.paths else f"{row.name} honours it only {condition.words}"
    return f"{how}; {_otherwise(spec, row, key)}"


def _met(spec: SpecKeys, condition: Only, value: object) -> bool:
    return any(
        all((value if path == ITSELF else _found(spec, path)) in allowed for path, allowed in places.items())
        for places in condition.either
    )


def _found(spec: SpecKeys, path: str) -> object:
    """The value at a path such as search.mondrian.kind."""
    found: object = spec
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _otherwise(spec: SpecKeys, row: AlgorithmRow, key: Key) -> str:
    """What to do instead: an algorithm that honours the key, if the requirement leaves a choice."""
    alone = spec.privacy.personalized is not None
    others = [
        name
        for name, other in ALGORITHMS.items()
        if key.name in other.honours
        and key.name not in other.only
        and (other.kind == "personalized") == alone
        and other is not row
    ]
    chosen = ["optimal"] if "optimal" in others else others[:2]
    return f"{key.remedy} or use {' or '.join(chosen)}" if chosen else key.remedy.rstrip(",")
