"""From a spec and its recoding to a script: opens the spec's connection, and binds it to the catalog.

Searches nothing and writes nothing: the recoding comes from a plan or from a lock file.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlanon.errors import UsageError
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.recoding import Assigned, Cuts, FullDomain, Recoding
from sqlanon.recoding.carried_out import by_own_hierarchies
from sqlanon.recoding.lookups import RegionLookup
from sqlanon.release.lock import Lock
from sqlanon.release.script.writer import Script, ScriptWriter
from sqlanon.source.binding import Binding, bind
from sqlanon.source.hierarchies import fingerprint
from sqlanon.source.run import DEFAULT, Options, open_for
from sqlanon.spec import Spec


def compiled(
    spec: Spec,
    recoding: Recoding | Mapping[str, int],
    options: Options = DEFAULT,
    *,
    dialect: str | None = None,
    lock: Lock | None = None,
    lookup: RegionLookup | None = None,
) -> Script:
    """The release of a spec as a script, for its own engine or another dialect; levels say a full-domain recoding.

    The regions of a class-wise recoding are given as a lookup. With the lock file that the recoding comes from,
    UsageError when the source's columns or a hierarchy are no longer as they were.
    """
    with open_for(spec, options) as engine:
        bound = bind(spec, engine)
        binding, levels = _carried_out(recoding, bound, lookup)
        script = ScriptWriter(engine, binding, requirement_of(binding), levels, dialect, lookup).script()
    if lock is not None:
        lock.require_source(bound.schema)
        _require_hierarchies(lock, script, bound, own=binding is not bound or lookup is not None)
    return script


def _carried_out(
    recoding: Recoding | Mapping[str, int], binding: Binding, lookup: RegionLookup | None
) -> tuple[Binding, Mapping[str, int]]:
    if isinstance(recoding, Assigned):
        if lookup is not None:
            return binding, dict.fromkeys(binding.names, 0)
        raise UsageError(
            f"search.algorithm: a script cannot say which rows {recoding.algorithm} put in which class; "
            f"publish it with sqlanon apply, or search with another algorithm"
        )
    if isinstance(recoding, Cuts):
        own, levels = by_own_hierarchies(recoding, binding)
        return own, levels.levels()
    return binding, recoding.levels() if isinstance(recoding, FullDomain) else recoding


def _require_hierarchies(lock: Lock, script: Script, binding: Binding, *, own: bool) -> None:
    """Where the groups of cuts are hierarchies of their own, those of the spec must be defined as they were."""
    if not own:
        lock.require_hierarchies(script.hierarchies)
        return
    now = {item.name: fingerprint(item.rule) for item in binding.quasi_identifiers}
    lock.require_definitions(now)
