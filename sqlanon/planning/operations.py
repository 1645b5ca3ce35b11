"""What operators ask for beside releases: the evidence of runs, cleaning up, the privileges that a spec needs.

Reads and removes evidence and scratch tables of dead runs; touches no source and no release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlanon.engines.base import Engine, Needs
from sqlanon.errors import SpecError, UsageError
from sqlanon.hierarchies.table import Table as ReferenceTable
from sqlanon.release.evidence import store as folder
from sqlanon.release.evidence.document import Document, finished, place_name, published
from sqlanon.release.evidence.store import EvidenceTables
from sqlanon.source.binding import bind_source, bind_target, scratch_schema
from sqlanon.source.run import DEFAULT, Options, open_for
from sqlanon.source.scratch import reclaim
from sqlanon.spec import Spec, ViewTarget, spec_from_dict
from sqlanon.sql.relations import File, Query, Relation, Table, named_tables


@dataclass(frozen=True)
class KeptEvidence:
    """The evidence of a run, and where it lies."""

    document: Document
    in_folder: Path | None = None
    in_schemas: tuple[tuple[str, ...], ...] = ()

    @property
    def run(self) -> str:
        return str(self.document["run"])


@dataclass(frozen=True)
class Cleaned:
    """What a cleanup removed, or would remove."""

    tables: tuple[str, ...]
    """Scratch tables of runs that are no longer alive."""
    evidence: tuple[str, ...]
    """Runs whose evidence was removed."""
    kept: int
    """Runs whose evidence stays."""
    dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "tables": list(self.tables),
            "evidence": list(self.evidence),
            "kept": self.kept,
            "dry_run": self.dry_run,
        }


def releases(spec: Spec) -> list[Spec]:
    """The specs of one release each that a spec stands for."""
    return [spec.for_recipient(name) for name in spec.recipient_names] if spec.recipients else [spec]


# -- evidence ----------------------------------------------------------------------------------------------------------


def evidence(spec: Spec, options: Options = DEFAULT) -> list[KeptEvidence]:
    """The evidence that is kept of a spec's runs, in files and tables, newest first."""
    if not spec.evidence.tables:
        return in_folder(spec.evidence_folder)
    with open_for(spec, options) as engine:
        return _everywhere(spec, engine)


def evidence_of(spec: Spec, run: str, options: Options = DEFAULT) -> Document:
    """All evidence of the run whose id begins like this."""
    found = one_of(evidence(spec, options), run)
    if found.in_folder is not None:
        return found.document
    with open_for(spec, options) as engine:
        return EvidenceTables(engine, found.in_schemas[0]).with_statements(found.document)


def in_folder(place: Path | None) -> list[KeptEvidence]:
    """The evidence in a folder, newest first."""
    return [] if place is None else [KeptEvidence(document, place) for document in folder.read(place)]


def one_of(kept: list[KeptEvidence], run: str) -> KeptEvidence:
    """The one whose id begins like this; UsageError when there is none, or several."""
    found = {item.run: item for item in kept if item.run.startswith(run)}
    if len(found) != 1:
        number = "no evidence" if not found else f"evidence of {len(found)} runs"
        raise UsageError(f"there is {number} of a run whose id begins with '{run}'; --list SPEC shows what there is")
    return next(iter(found.values()))


def _everywhere(spec: Spec, engine: Engine) -> list[KeptEvidence]:
    """The folder is the spec's own; tables are shared by the specs of a schema, which their targets tell apart."""
    kept = {item.run: item for item in in_folder(spec.evidence_folder)}
    targets = {place_name(one.target) for one in releases(spec)}
    for schema in _schemas(spec, engine):
        tables = EvidenceTables(engine, schema)
        for document in tables.read() if tables.exist else ():
            if document["run"] not in kept and document["target"] not in targets:
                continue
            before = kept.get(document["run"], KeptEvidence(document))
            kept[document["run"]] = replace(before, in_schemas=(*before.in_schemas, schema))
    return sorted(kept.values(), key=lambda item: finished(item.document), reverse=True)


def _schemas(spec: Spec, engine: Engine) -> list[tuple[str, ...]]:
    """The schemas of scratch tables, of all releases."""
    return list(dict.fromkeys(scratch_schema(one, bind_target(one, engine)) for one in releases(spec)))


# -- cleaning up -------------------------------------------------------------------------------------------------------


def cleanup(
    spec: Spec,
    options: Options = DEFAULT,
    *,
    keep: int | None = None,
    keep_days: float | None = None,
    dry_run: bool = False,
) -> Cleaned:
    """Drop what dead runs left, and the evidence that is kept neither by number nor by age.

    `keep` is the number of runs of each target whose evidence stays, `keep_days` the age up to which it does. Without
    either, all evidence stays.
    """
    with open_for(spec, options) as engine:
        places = dict.fromkeys([*_schemas(spec, engine), *_target_schemas(spec, engine)])
        tables = [table for schema in places for table in engine.leftovers(schema)]
        if not dry_run:
            for schema in places:
                reclaim(engine, schema)
        kept = _everywhere(spec, engine) if spec.evidence.tables else in_folder(spec.evidence_folder)
        gone = [] if keep is None and keep_days is None else _outlived(kept, keep, keep_days)
        if not dry_run:
            for item in gone:
                _remove(item, engine)
    names = tuple(dict.fromkeys(str(table) for table in tables))
    return Cleaned(names, tuple(item.run for item in gone), len(kept) - len(gone), dry_run)


def _target_schemas(spec: Spec, engine: Engine) -> Iterator[tuple[str, ...]]:
    """Where staging tables lie: beside the target."""
    for one in releases(spec):
        target = bind_target(one, engine)
        if isinstance(target, Table):
            yield target.schema


def _outlived(kept: list[KeptEvidence], keep: int | None, keep_days: float | None) -> list[KeptEvidence]:
    oldest = None if keep_days is None else datetime.now(UTC) - timedelta(days=keep_days)
    # Failures are counted apart: however many there are, they push out no evidence of a release.
    seen: dict[tuple[str, bool], int] = {}
    gone = []
    for item in kept:
        target = str(item.document["target"]), published(item.document)
        seen[target] = seen.get(target, 0) + 1
        young = oldest is not None and finished(item.document) >= oldest
        if not young and not (keep is not None and seen[target] <= keep):
            gone.append(item)
    return gone


def _remove(item: KeptEvidence, engine: Engine) -> None:
    if item.in_folder is not None:
        folder.remove(item.in_folder, item.run)
    for schema in item.in_schemas:
        EvidenceTables(engine, schema).remove(item.run)


# -- privileges --------------------------------------------------------------------------------------------------------


def grants(spec: Spec, role: str, options: Options = DEFAULT, connection: str | None = None) -> list[str]:
    """The least privileges that a role needs to carry out a spec, as statements of its engine.

    They are looked up over `connection`, of somebody who may see everything, if one is given.
    """
    asked = spec if connection is None else spec.model_copy(update={"connection": general(connection).connection})
    with open_for(asked, options) as engine:
        lines = [line for one in releases(asked) for line in engine.grants(_needs(one, engine), role)]
    return list(dict.fromkeys(lines))


def general(connection: str) -> Spec:
    """A spec of any release, with names to be replaced."""
    values = {
        "connection": connection,
        "source": "source_schema.source_table",
        "target": "target_schema.target_table",
        "columns": {"any": {"role": "quasi_identifier"}},
        "privacy": {"k": 1},
    }
    try:
        return spec_from_dict(values)
    except SpecError as error:
        raise UsageError(f"--{error.problems[0]}") from None


def _needs(spec: Spec, engine: Engine) -> Needs:
    target = bind_target(spec, engine)
    schema = scratch_schema(spec, target)
    return Needs(
        read=tuple(dict.fromkeys(_read(spec, engine))),
        target=target,
        as_view=isinstance(spec.target, ViewTarget),
        scratch=schema,
        kept=EvidenceTables(engine, schema).all if spec.evidence.tables else (),
        ledger=None if spec.ledger is None else Table(spec.ledger.ledger),
    )


def _read(spec: Spec, engine: Engine) -> Iterator[Table | File]:
    yield from _named(bind_source(spec, engine))
    population = spec.privacy.population
    if population is not None:
        yield from _named(bind_source(spec.model_copy(update={"source": population.source}), engine))
    for name in spec.quasi_identifiers:
        derive = spec.columns[name].derive
        if derive is not None and derive.lookup is not None:
            yield Table(derive.lookup.table)
    for name in (*spec.quasi_identifiers, *spec.sensitive):
        hierarchy = spec.hierarchy(name)
        if isinstance(hierarchy, ReferenceTable):
            yield Table(hierarchy.name)


def _named(relation: Relation) -> list[Table | File]:
    return list(named_tables(relation.select)) if isinstance(relation, Query) else [relation]
