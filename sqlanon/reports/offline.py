"""The report without a database: what the lock file and the evidence tell.

Reads files; measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.release.lock import Lock
from sqlanon.reports.lattice_view import LatticeView, Shown, lattice_view
from sqlanon.reports.model import Report, RequirementLine
from sqlanon.reports.parts import column_view, evidence_lines, identity_of, rare_below, recoding_grid
from sqlanon.reports.words import decision
from sqlanon.spec import Spec

MONOTONE = frozenset({"k_anonymity", "k_map"})
"""Requirements of which verdicts are inherited whatever the limit is, as a lock file names them."""


def gather_offline(spec: Spec, lock: Lock) -> Report:
    """What the files tell of what a lock file decided."""
    lock.recoding_for(spec)
    columns = tuple(column_view(spec, lock, name) for name in spec.quasi_identifiers)
    identity = identity_of(spec, lock, "no database")
    lines = tuple(
        RequirementLine(name, _words(asked), "", "", None, None, None) for name, asked in lock.requirement.items()
    )
    grid = recoding_grid(lock)
    return Report(
        identity=identity,
        figures=lock.result,
        decision=decision(identity, lock.result, columns, lines, None, None, None),
        satisfied=None,
        published=None,
        requirements=lines,
        rare_below=rare_below(spec, identity.k),
        columns=columns,
        lattice=_view(spec, lock) if lock.flexible is None else None,
        evidence=evidence_lines(spec, lock),
        more=() if grid is None else (grid,),
        notes=("Made from the lock file and the evidence alone: nothing was measured for this report.",),
    )


def _view(spec: Spec, lock: Lock) -> LatticeView:
    names = spec.quasi_identifiers
    heights = tuple(int(lock.hierarchies[name]["height"]) for name in names)
    limit = int(lock.result["limit"])
    return lattice_view(
        names,
        heights,
        _lattice(spec, heights),
        [Shown(verdict) for verdict in lock.verdicts],
        limit=limit,
        rows=int(lock.result["rows"]),
        metric=spec.search.metric,
        monotone=limit == 0 or set(lock.requirement) <= MONOTONE,
        chosen=tuple(lock.levels[name] for name in names),
        minimal=[tuple(node) for node in lock.result["minimal"]],
    )


def _lattice(spec: Spec, heights: Node) -> Lattice:
    bounds = [spec.columns[name].levels for name in spec.quasi_identifiers]
    bottom = tuple(bound.min for bound in bounds)
    return Lattice(bottom, tuple(h if b.max is None else b.max for b, h in zip(bounds, heights, strict=True)))


def _words(asked: object) -> str:
    if isinstance(asked, Mapping):
        return ", ".join(f"{name} {value}" for name, value in asked.items())
    return "; ".join(map(_words, asked)) if isinstance(asked, list) else str(asked)
