"""A run under way: its engine, its scratch tables, its clock. Opened for a spec, cleaned up however it ends."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlanon.binding import Binding, bind
from sqlanon.engines.base import Engine, Session, TraceHook
from sqlanon.engines.registry import open_engine
from sqlanon.scratch import Scratch, reclaim
from sqlanon.search.base import Progress
from sqlanon.spec import Spec


@dataclass(frozen=True)
class Options:
    """What a caller may ask for beside the spec."""

    show_values: bool = False
    all_minimal: bool = False
    hooks: tuple[TraceHook, ...] = ()
    progress: Progress | None = None


DEFAULT = Options()


@dataclass
class Stopwatch:
    """Seconds spent in each phase."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


@dataclass
class Run:
    """What every step of a run needs."""

    engine: Engine
    binding: Binding
    scratch: Scratch
    watch: Stopwatch
    options: Options


@contextmanager
def open_for(spec: Spec, options: Options, run: str = "adhoc") -> Iterator[Engine]:
    """The engine that a spec's connection names, closed at the end."""
    session = Session(run, spec.limits.statement_seconds, list(options.hooks))
    engine = open_engine(spec.connection.reveal(), session, spec.folder)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def running(spec: Spec, options: Options) -> Iterator[Run]:
    """A run of a spec: bound to the catalog, leftovers of dead runs reclaimed, its own scratch dropped at the end."""
    watch = Stopwatch()
    with open_for(spec, options, run=secrets.token_hex(6)) as engine:
        with watch.phase("bind"):
            binding = bind(spec, engine)
            reclaim(engine, binding.scratch)
        with Scratch(engine, binding.scratch) as scratch:
            yield Run(engine, binding, scratch, watch, options)
