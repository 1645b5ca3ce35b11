"""A table or file that no spec describes: named on the command line, opened, measured.

Reads the catalog and aggregates; writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlanon.audit import AuditResult, audit
from sqlanon.binding import bind_source
from sqlanon.engines.base import Engine
from sqlanon.errors import SpecError, UsageError
from sqlanon.runs import Options, open_for
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.sqlgen.relations import Relation

_ELSEWHERE = {"table": "sqlanon_no_such_target"}


def measure_place(
    name: str, connection: str | None, quasi_identifiers: Sequence[str], k: int, options: Options
) -> AuditResult:
    """Audit a table or file by its name."""
    if k < 1:
        raise UsageError("k must be at least 1")
    with open_place(name, connection, options) as (engine, relation):
        return audit(engine, relation, quasi_identifiers, k)


@contextmanager
def open_place(name: str, connection: str | None, options: Options) -> Iterator[tuple[Engine, Relation]]:
    """The engine of a connection (default: DuckDB in memory), and what a name or path means there."""
    spec = _spec_around(name, connection)
    with open_for(spec, options) as engine:
        yield engine, bind_source(spec, engine)


def _spec_around(name: str, connection: str | None) -> Spec:
    """The rules for names, paths, URLs and variables are the spec's: let it read them."""
    values: dict[str, Any] = {
        "source": name,
        "target": _ELSEWHERE,
        "columns": {"any": {"role": "quasi_identifier"}},
        "privacy": {"k": 1},
    }
    if connection is not None:
        values["connection"] = connection
    try:
        return spec_from_dict(values)
    except SpecError as error:
        raise UsageError(_in_words_of_flags(error, {"source": "TABLE", "connection": "--connection"})) from None


def _in_words_of_flags(error: SpecError, words: Mapping[str, str]) -> str:
    key, _, problem = error.problems[0].partition(": ")
    return f"{words.get(key.partition('.')[0], key)}: {problem}"
