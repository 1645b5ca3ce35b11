"""From a spec and the levels of its columns to a script: opens the spec's connection, and binds it to the catalog.

Searches nothing and writes nothing: the levels come from a plan or from a lock file.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlanon.binding import bind
from sqlanon.lock import Lock
from sqlanon.requirements import requirement_of
from sqlanon.runs import DEFAULT, Options, open_for
from sqlanon.script.writer import Script, ScriptWriter
from sqlanon.spec import Spec


def compiled(
    spec: Spec,
    levels: Mapping[str, int],
    options: Options = DEFAULT,
    *,
    dialect: str | None = None,
    lock: Lock | None = None,
) -> Script:
    """The release of a spec as a script, for its own engine or another dialect.

    With the lock file that the levels come from, UsageError when the source's columns or a hierarchy are no
    longer as they were.
    """
    with open_for(spec, options) as engine:
        binding = bind(spec, engine)
        script = ScriptWriter(engine, binding, requirement_of(binding), levels, dialect).script()
    if lock is not None:
        lock.require_source(binding.schema)
        lock.require_hierarchies(script.hierarchies)
    return script
