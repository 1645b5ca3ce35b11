"""A table or file that no spec describes: named on the command line or by a program, opened, measured.

Reads the catalog and aggregates; writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.auditor import AuditResult, Beside, Request, audit
from sqlanon.engines.base import Engine
from sqlanon.errors import SourceError, SpecError, UsageError
from sqlanon.source.binding import bind_source
from sqlanon.source.run import Options, open_for
from sqlanon.spec import Privacy, Spec, spec_from_dict
from sqlanon.spec.places import is_path
from sqlanon.spec.privacy import MODELS
from sqlanon.sql.relations import Relation

_ELSEWHERE = {"table": "sqlanon_no_such_target"}

Words = Mapping[str, str]
"""What keys of the spec are called by who asked."""

FLAGS: Words = {
    "source": "TABLE",
    "connection": "--connection",
    "respondent": "--respondent",
    "reference": "--reference",
    "privacy.population": "--population",
    **{f"privacy.{key}": "--" + key.replace("_", "-") for key in ("k", *MODELS, "k_map", "delta_presence")},
}
ARGUMENTS: Words = {"source": "table", "reference": "reference", "privacy.population": "population"}


UNASKED = "nothing was required: these are measurements, no verdict; {} above 1 and others ask for one"


@dataclass(frozen=True)
class PlaceRequest:
    """What is asked of a table that no spec describes."""

    quasi_identifiers: Sequence[str]
    k: int | None = None
    privacy: Privacy | Mapping[str, Any] | None = None
    """The other models, as the `privacy` of a spec says them."""
    sensitive: Sequence[str] = ()
    respondent: str | None = None
    reference: str | None = None
    """A table to compare with, by its name or path."""
    population: str | None = None


def measure_place(
    name: str, connection: str | None, asked: PlaceRequest, options: Options, *, words: Words = FLAGS
) -> AuditResult:
    """Audit a table or file by its name."""
    respondent, reference, population = asked.respondent, asked.reference, asked.population
    if asked.k is not None and asked.k < 1:
        raise UsageError("k must be at least 1")
    spec = _spec_around(name, connection, words, _keys_of(asked))
    required = asked.privacy if isinstance(asked.privacy, Privacy) else spec.privacy
    request = Request(tuple(asked.quasi_identifiers), required, respondent, tuple(asked.sensitive))
    with open_for(spec, options) as engine:
        table = bind_source(spec, engine)
        if respondent is not None and respondent not in {info.name for info in engine.columns(table)}:
            raise SourceError(f"{table} has no column '{respondent}'")
        beside = Beside(
            source=_bound(engine, reference, connection, words, "reference"),
            population=_bound(engine, population, connection, words, "privacy.population"),
        )
        result = audit(engine, table, request, beside)
    if required.requires:
        return result
    return replace(result, asked=False, notes=(*result.notes, UNASKED.format(words.get("privacy.k", "k"))))


@contextmanager
def open_place(
    name: Any, connection: str | None, options: Options, folder: Path = Path()
) -> Iterator[tuple[Engine, Relation]]:
    """The engine of a connection (default: DuckDB in memory), and what a name or path means there."""
    spec = _spec_around(name, connection, FLAGS, {}, folder)
    with open_for(spec, options) as engine:
        yield engine, bind_source(spec, engine)


def relation_named(engine: Engine, name: str, flag: str) -> Relation:
    """What a name or path means to an engine, for a flag that names one more table."""
    return bind_source(_spec_around(name, None, {"source": flag}, {}), engine)


def _bound(engine: Engine, name: str | None, connection: str | None, words: Words, key: str) -> Relation | None:
    if name is None:
        return None
    return bind_source(_spec_around(name, connection, {**words, "source": words[key]}, {}), engine)


def _keys_of(request: PlaceRequest) -> dict[str, Any]:
    """The keys of a spec that ask the same."""
    privacy, respondent = request.privacy, request.respondent
    given = {} if privacy is None or isinstance(privacy, Privacy) else dict(privacy)
    given["k"] = given.get("k") or request.k or 1
    if request.population is not None and (given.get("k_map") or given.get("delta_presence")):
        given["population"] = {"source": request.population}
    roles = dict.fromkeys(request.quasi_identifiers, "quasi_identifier")
    for column in (*request.sensitive, *_named_by_models(given)):
        if roles.setdefault(column, "sensitive") != "sensitive":
            raise UsageError(f"column '{column}' cannot be both in the quasi-identifier and sensitive")
    if respondent is not None and roles.setdefault(respondent, "identifier") != "identifier":
        raise UsageError(f"column '{respondent}' cannot both name the person and be measured")
    asked = {"columns": {column: {"role": role} for column, role in roles.items()}, "privacy": given}
    return asked if respondent is None else asked | {"respondent": respondent}


def _named_by_models(privacy: Mapping[str, Any]) -> Iterator[str]:
    """The columns of well-formed entries; the spec complains about the others."""
    for model in MODELS:
        for entry in privacy.get(model) or ():
            if isinstance(entry, Mapping) and isinstance(entry.get("column"), str):
                yield entry["column"]


def _spec_around(
    name: Any, connection: str | None, words: Words, asked: Mapping[str, Any], folder: Path = Path()
) -> Spec:
    """The rules for names, paths, URLs, variables and requirements are the spec's: let it read them."""
    is_folder = connection is None and isinstance(name, str) and not is_path(name) and Path(name).is_dir()
    values: dict[str, Any] = {
        "source": f"{name}/" if is_folder else name,
        "target": _ELSEWHERE,
        "columns": {"any": {"role": "quasi_identifier"}},
        "privacy": {"k": 1},
        **asked,
    }
    if connection is not None:
        values["connection"] = connection
    try:
        return spec_from_dict(values, folder)
    except SpecError as error:
        raise UsageError(_in_words(error.problems[0], words)) from None


def _in_words(problem: str, words: Words) -> str:
    """
    >>> _in_words("privacy.k_map: privacy.population is required with it", FLAGS)
    '--k-map: --population is required with it'
    >>> _in_words("privacy.l_diversity[0].l: must be at least 1", FLAGS)
    '--l-diversity: must be at least 1'
    """
    path, colon, message = problem.partition(": ")
    for key, word in sorted(words.items(), reverse=True):
        if re.match(rf"{re.escape(key)}\b", path):
            path = word
        message = re.sub(rf"\b{re.escape(key)}\b", word, message) if "." in key else message
    return path + colon + message
