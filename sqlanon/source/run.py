"""A run under way: its engine, its scratch tables, its clock. Opened for a spec, cleaned up however it ends."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from sqlanon.engines import open_engine
from sqlanon.engines.base import Capability, Engine, Session, TraceEvent, TraceHook
from sqlanon.errors import InfeasibleError, SqlanonError, UsageError
from sqlanon.hierarchies.definition import join_name
from sqlanon.source.binding import Binding, bind
from sqlanon.source.keyed_hash import require_keyed_hash, secret_of
from sqlanon.source.reads import reads_of, refuse_file, refuse_written
from sqlanon.source.sampling import SampleLedger, sampled
from sqlanon.source.scratch import Scratch, reclaim
from sqlanon.spec import Spec
from sqlanon.sql.relations import File, Table

PhaseHook = Callable[[str, str, float], None]
"""Hears of each phase that ended: the run, the phase, its seconds."""


@dataclass(frozen=True)
class Options:
    """What a caller may ask for beside the spec."""

    show_values: bool = False
    all_minimal: bool = False
    hooks: tuple[TraceHook, ...] = ()
    progress: Callable[[int, int], None] | None = None
    """Told now and then how many nodes were evaluated, and how many are still undecided."""
    on_phase: PhaseHook | None = None
    open: Callable[[str, Session, Path], Engine] = open_engine
    """How the connection of a spec is opened."""
    writes: tuple[Path, ...] = ()
    """Files that the caller writes when all is done: none of them may be one that is read."""
    writes_lock: Path | None = None
    """The lock file that the caller writes when all is done; it may replace a lock file."""
    reads_only: bool = False
    """Nothing but temporary tables is written: an embedded database is opened for reading."""
    explain: bool = False
    """Whether a plan says why its node was chosen."""


DEFAULT = Options()


class Recorder(Protocol):
    """Gathers the evidence of a run that publishes, and writes it down when the run has ended."""

    facts: Any
    """What was found; set when the release stands. The room of evidence knows its form."""

    @property
    def file(self) -> str | None:
        """The file that is written, where one is."""

    def hear(self, event: TraceEvent) -> None:
        """Take note of a statement."""

    def begin(self, engine: Engine, binding: Binding) -> None:
        """See to it that evidence can be kept, before anything is published."""

    def measure_source(self, engine: Engine, binding: Binding, base: Table) -> None:
        """Measure the classes of the source as it is."""

    def fail(self, error: SqlanonError, seconds: Mapping[str, float]) -> None:
        """Take note of the error that ends the run."""

    def store(self) -> None:
        """Write to tables of the database."""

    def write(self) -> None:
        """Write the file."""


RecorderMaker = Callable[[Spec, str | None, str], Recorder | None]
"""Makes the recorder of a run from its spec, its command and its name; None where no evidence is wanted."""


@dataclass
class Stopwatch:
    """Seconds spent in each phase."""

    seconds: dict[str, float] = field(default_factory=dict)
    run: str = ""
    on_phase: PhaseHook | None = None

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
            if self.on_phase is not None:
                self.on_phase(self.run, name, spent)


@dataclass
class Run:
    """What every step of a run needs."""

    engine: Engine
    binding: Binding
    scratch: Scratch
    watch: Stopwatch
    options: Options
    recorder: Recorder | None = None
    """Gathers evidence, where the command publishes and the spec wants it."""
    ledger: SampleLedger | None = None
    """Where a differential release is written down before it stands."""


@contextmanager
def open_for(spec: Spec, options: Options, run: str = "adhoc") -> Iterator[Engine]:
    """The engine that a spec's connection names, closed at the end."""
    limits = spec.limits
    asked = limits.statement_seconds is not None
    session = Session(
        run,
        limits.most_seconds,
        list(options.hooks),
        limit_asked=asked,
        memory_bytes=limits.memory,
        reads_only=options.reads_only,
    )
    engine = options.open(spec.connection.reveal(), session, spec.folder)
    try:
        if limits.memory is not None and Capability.MEMORY not in engine.capabilities:
            raise UsageError(
                f"limits.memory: {engine.name} bounds memory by settings of its own, not by a session; remove the key"
            )
        yield engine
    finally:
        engine.close()


@contextmanager
def running(
    spec: Spec, options: Options, publishes: str | None = None, recorder_for: RecorderMaker | None = None
) -> Iterator[Run]:
    """A run of a spec: bound to the catalog, leftovers of dead runs reclaimed, its own scratch dropped at the end.

    A command that publishes gives its name and a maker of recorders: its evidence is written, also when it fails.
    """
    name = secrets.token_hex(6)
    watch = Stopwatch(run=name, on_phase=options.on_phase)
    recorder = None if recorder_for is None else recorder_for(spec, publishes, name)
    if recorder is not None:
        options = replace(options, hooks=(*options.hooks, recorder.hear))
    try:
        with open_for(spec, options, run=name) as engine:
            with _noted(recorder, watch):
                with watch.phase("bind"):
                    binding = bind(spec, engine)
                    refuse_writes(engine, binding, options)
                    require_schemas(engine, binding, publishes=publishes is not None)
                    refuse_large_scan(engine, binding)
                    if not options.reads_only:
                        reclaim(engine, binding.scratch)
                    if recorder is not None:
                        recorder.begin(engine, binding)
                with Scratch(engine, binding.scratch) as scratch:
                    ledger = SampleLedger(engine, binding) if binding.spec.privacy.differential else None
                    if ledger is not None and publishes is not None:
                        ledger.require()
                    with watch.phase("bind"):
                        binding = sampled(engine, binding, scratch).prepared(engine, scratch)
                    yield Run(engine, binding, scratch, watch, options, recorder, ledger)
            if recorder is not None:
                recorder.store()
    except SqlanonError:
        if recorder is not None:
            # The error goes on; what can be kept of the run is kept.
            with suppress(SqlanonError):
                recorder.write()
        raise
    if recorder is not None:
        recorder.write()


@contextmanager
def _noted(recorder: Recorder | None, watch: Stopwatch) -> Iterator[None]:
    """What goes wrong in the block is told to the recorder once its transaction is undone, and goes on."""
    try:
        yield
    except SqlanonError as error:
        if recorder is not None:
            recorder.fail(error, watch.seconds)
        raise


def require_schemas(engine: Engine, binding: Binding, *, publishes: bool) -> None:
    """UsageError when a schema that tables are to be made in is not there, before anything is read."""
    spec, target = binding.spec, binding.target
    if publishes and isinstance(target, Table):
        _require_schema(engine, "target", target.schema)
    if publishes and binding.regions is not None:
        _require_schema(engine, "regions", binding.regions.schema)
    if publishes and binding.history is not None:
        _require_schema(engine, "history.ledger", binding.history.people.schema)
        require_keyed_hash(engine)
        secret_of("history.secret", spec.ledger.secret if spec.ledger is not None else "")
    if publishes and isinstance(target, File) and "://" not in target.path:
        _require_folder(Path(target.path))
    if not engine.traits.temporary_scratch or (publishes and spec.evidence.tables):
        _require_schema(engine, "target" if spec.scratch is None else "scratch", binding.scratch)


def refuse_writes(engine: Engine, binding: Binding, options: Options) -> None:
    """SpecError when a file that the caller is to write is one that the spec reads."""
    population = None if binding.population is None else binding.population.relation
    reads = list(reads_of(binding.spec, binding.origin, population))
    for path in options.writes:
        refuse_file(engine, reads, path)
    if options.writes_lock is not None:
        refuse_file(engine, reads, options.writes_lock, lock=True)


def require_target(spec: Spec, beside: Mapping[str, Spec], options: Options) -> None:
    """UsageError when what a spec publishes to cannot be made, SpecError when a release beside it would be written over
    what it reads; asked before the first of several releases stands."""
    with open_for(spec, options) as engine:
        binding = bind(spec, engine)
        require_schemas(engine, binding, publishes=True)
        population = None if binding.population is None else binding.population.relation
        reads = list(reads_of(spec, binding.origin, population))
        for name, other in beside.items():
            refuse_written(engine, reads, f"recipients.{name}.target", bind(other, engine).target)


def _require_folder(target: Path) -> None:
    if not target.parent.is_dir():
        raise UsageError(f"target: there is no folder '{target.parent}'; create it, or name another file")
    if target.is_dir():
        raise UsageError(f"target: '{target}' is a folder; name a file")
    if target.exists() and not target.is_file():
        raise UsageError(f"target: '{target}' is no ordinary file; name another one")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"target: the folder '{target.parent}' cannot be written to; name another file")


def _require_schema(engine: Engine, key: str, schema: tuple[str, ...]) -> None:
    if not engine.has_schema(schema):
        named = f"no schema {join_name(schema)}" if schema else "no schema for a name without one"
        raise UsageError(f"{key}: there is {named} in the database; create it, or name another one")


def refuse_large_scan(engine: Engine, binding: Binding) -> None:
    """InfeasibleError when a reading of the source, or of the population, takes more bytes than the spec allows."""
    most = binding.spec.limits.max_scan_bytes
    if most is None:
        return
    for relation in [binding.origin, *([binding.population.relation] if binding.population else [])]:
        size = engine.scan_bytes(relation)
        if size is None:
            raise UsageError(
                f"limits.max_scan_bytes: {engine.name} cannot tell how many bytes it takes to read {relation}; "
                f"read from a table, or leave this limit out"
            )
        if size > most:
            raise InfeasibleError(
                f"limits.max_scan_bytes: reading {relation} takes about {size} bytes, the limit is {most}; "
                f"nothing was read"
            )
