"""What the releases of several recipients say together: each pair's classes intersected, in SQL, from the source.

Somebody who gets two releases, and knows a person's quasi-identifier, finds the person's class in each: the person is
in the intersection. Reads the source; writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import RequirementError, SpecError, SqlanonError
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.insight import together_statements as together_sql
from sqlanon.insight.together_statements import Member
from sqlanon.recoding.full_domain import FullDomain
from sqlanon.release.classes import Release, blanked_class_satisfies, measure_classes
from sqlanon.release.lock import Lock
from sqlanon.release.statements import class_totals
from sqlanon.source.binding import Binding, bind
from sqlanon.source.frequency import scan, store_hierarchies
from sqlanon.source.hierarchies import describe_hierarchies
from sqlanon.source.run import DEFAULT, Options, open_for
from sqlanon.source.scratch import Scratch, reclaim
from sqlanon.spec import Spec
from sqlanon.sql.relations import Table


@dataclass(frozen=True)
class Finding:
    """What two releases say together. Sizes and people are respondents where they are counted, rows otherwise."""

    first: str
    second: str
    quasi_identifier: str
    """Whose columns are known, where the releases have several quasi-identifiers; "": all of them."""
    k: int
    shared: int
    """Rows of the source that both releases hold."""
    classes: int
    """Intersections of a class of the one and a class of the other that hold a row."""
    classes_at_risk: int
    """Those of fewer than k."""
    smallest: int | None
    """The size of the least one; None where no row is in both."""
    exposed: int
    """People in intersections of fewer than k."""
    only_in_one: int
    """People whom one release left out, in groups of fewer than k that share a class of the other."""
    persons: bool = False
    """Whether respondents are counted."""

    def sentence(self) -> str:
        """Who is exposed, in one line."""
        return (
            f"{self._names()}: {_people(self.exposed)} exposed: "
            f"their classes in both releases have fewer than {self.k} {self.counted} in common"
        )

    def note(self) -> str:
        """Who stands out by being left out, in one line."""
        return (
            f"{self._names()}: {_people(self.only_in_one)} in only one of the releases, "
            f"in groups of fewer than {self.k} {self.counted}"
        )

    @property
    def counted(self) -> str:
        """What sizes are counts of."""
        return "respondents" if self.persons else "rows"

    def _names(self) -> str:
        known = f", quasi-identifier '{self.quasi_identifier}'" if self.quasi_identifier else ""
        return f"recipients '{self.first}' and '{self.second}'{known}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "quasi_identifier": self.quasi_identifier or None,
            "k": self.k,
            "counted": self.counted,
            "shared": self.shared,
            "classes": self.classes,
            "classes_at_risk": self.classes_at_risk,
            "smallest": self.smallest,
            "exposed": self.exposed,
            "only_in_one": self.only_in_one,
        }


def _people(number: int) -> str:
    return "1 person is" if number == 1 else f"{number} people are"


@dataclass(frozen=True)
class Together:
    """The findings on all pairs, and what the spec wants done about them."""

    findings: tuple[Finding, ...] = ()
    policy: Literal["refuse", "warn"] = "refuse"
    unchecked: tuple[str, ...] = ()
    """Recipients of whose release nothing was decided yet."""
    seconds: float = 0.0

    @property
    def exposing(self) -> list[Finding]:
        """The pairs that expose somebody, worst first."""
        return sorted((item for item in self.findings if item.exposed), key=lambda item: -item.exposed)

    def refuse(self) -> None:
        """RequirementError when people are exposed and the spec does not let them be."""
        exposing = self.exposing
        if not exposing or self.policy == "warn":
            return
        more = f" (and {len(exposing) - 1} more)" if len(exposing) > 1 else ""
        raise RequirementError(
            f"{exposing[0].sentence()}{more}; nothing was published: "
            f"give one of them levels at least as high as the other's in every column, or write together: warn"
        )

    def warnings(self) -> list[str]:
        """What a reader has to know before anything is released."""
        end = "" if self.policy == "warn" else "; run and apply refuse to publish them"
        return [item.sentence() + end for item in self.exposing]

    def notes(self) -> list[str]:
        """What is worth knowing and refused by nobody."""
        left_out = [item.note() for item in self.findings if item.only_in_one]
        return left_out + [
            f"recipient '{name}' was not checked with it: no lock file of it is up to date" for name in self.unchecked
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "together": [item.to_dict() for item in self.findings],
            "warnings": self.warnings(),
            "notes": self.notes(),
        }


@dataclass(frozen=True)
class Knowledge:
    """What somebody may know of a person: columns of two releases, by position, and the k that protects it."""

    quasi_identifier: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    k: int


class _OwnScratch(Scratch):
    """Scratch tables of one release among several of a run."""

    def __init__(self, engine: Engine, schema: tuple[str, ...], position: int) -> None:
        super().__init__(engine, schema)
        self._prefix = f"r{position}"

    def name(self, name: str) -> Table:
        return super().name(self._prefix + name)


@dataclass(frozen=True)
class _Bound:
    """A recipient's release, bound and decided."""

    name: str
    binding: Binding
    levels: Mapping[str, int]
    lock: Lock
    scratch: Scratch


def check(spec: Spec, locks: Mapping[str, Lock], options: Options = DEFAULT, concerning: str | None = None) -> Together:
    """Intersect the classes of every pair of releases, or of the pairs that one recipient is part of.

    `locks` hold what was decided for each recipient. All is read in one snapshot of the source.
    """
    locks = {name: locks[name] for name in spec.recipient_names if name in locks}
    unchecked = tuple(name for name in spec.recipient_names if name not in locks)
    started = time.perf_counter()
    findings: tuple[Finding, ...] = ()
    if len(locks) > 1:
        with open_for(spec, options, run=secrets.token_hex(6)) as engine, ExitStack() as stack:
            bound = [_bound(spec, engine, name, lock, stack, place) for place, (name, lock) in enumerate(locks.items())]
            _refuse_shared_targets(engine, bound)
            with engine.transaction():
                findings = tuple(_findings(engine, bound, concerning, options))
    return Together(findings, spec.together, unchecked, time.perf_counter() - started)


@contextmanager
def about(recipient: str) -> Iterator[None]:
    """Errors of this block say whose release they are about, in a note of theirs."""
    try:
        yield
    except SqlanonError as error:
        error.add_note(f"this is about the release of recipient '{recipient}'")
        raise


def _bound(spec: Spec, engine: Engine, name: str, lock: Lock, stack: ExitStack, position: int) -> _Bound:
    own = spec.for_recipient(name)
    with about(name):
        levels = lock.levels_for(own)
        binding = bind(own, engine)
        reclaim(engine, binding.scratch)
    scratch = stack.enter_context(_OwnScratch(engine, binding.scratch, position))
    return _Bound(name, binding, levels, lock, scratch)


def _refuse_shared_targets(engine: Engine, bound: Sequence[_Bound]) -> None:
    """Names that differ can mean one table: the second release would overwrite the first."""
    for first, second in combinations(bound, 2):
        one, other = first.binding.target, second.binding.target
        if isinstance(one, Table) and isinstance(other, Table) and engine.same_object(one, other):
            raise SpecError(f"recipients.{second.name}.target: recipient {first.name} has the same target")


def _findings(engine: Engine, bound: Sequence[_Bound], concerning: str | None, options: Options) -> Iterator[Finding]:
    members = [_member(engine, item, position, options) for position, item in enumerate(bound)]
    binding = bound[0].binding
    respondent = None if binding.respondent is None else binding.respondent.key("source", engine.traits)
    source = engine.traits.relation(binding.source, "source")
    table = bound[0].scratch.create("place rows", "placed", together_sql.placed(source, members, respondent))
    for one, other in combinations(range(len(bound)), 2):
        if concerning not in (None, bound[one].name, bound[other].name):
            continue
        for known in knowledge(bound[one].binding, bound[other].binding):
            first, second = members[one], members[other]
            keys = [*first.keys(known.first), *second.keys(known.second)]
            query = together_sql.intersections(table, first, second, keys, known.k, persons=binding.persons)
            [row] = engine.query(Statement("intersect classes", query))
            shared, classes, at_risk, smallest, exposed, only_in_one = row
            yield Finding(
                bound[one].name,
                bound[other].name,
                known.quasi_identifier,
                known.k,
                int(shared),
                int(classes),
                int(at_risk),
                None if smallest is None else int(smallest),
                int(exposed),
                int(only_in_one),
                binding.persons,
            )


def _member(engine: Engine, item: _Bound, position: int, options: Options) -> Member:
    """A release as it would be published from the source as it stands."""
    with about(item.name):
        base = scan(engine, item.binding, item.scratch)
        stored = store_hierarchies(engine, item.binding, base, item.scratch, show_values=options.show_values)
        item.lock.require_hierarchies(describe_hierarchies(stored))
        item.scratch.drop(base.table)
        recoding = FullDomain.from_levels(item.binding.names, item.levels)
        release = Release(item.binding, stored, recoding, requirement_of(item.binding))
        measured = measure_classes(engine, release, item.scratch)
        columns = release.columns(engine)
        [(_, suppressed, *_)] = engine.query(Statement("judge classes", class_totals(measured.table, columns)))
        blanked = item.binding.blank and suppressed > 0 and blanked_class_satisfies(engine, release, measured)
        return Member(position, columns, measured.table, measured.known, blanked)


def knowledge(first: Binding, second: Binding) -> Iterator[Knowledge]:
    """What the two specs take somebody to know of a person.

    Quasi-identifiers of one name are one person's knowledge of both releases, and so is the only quasi-identifier of a
    release together with any of the other. A quasi-identifier that the other release lacks is known for itself.
    """
    one, other = _quasi_identifiers(first), _quasi_identifiers(second)
    alone = {name for name in (*one, *other) if "" not in (*one, *other) and (name not in one or name not in other)}
    for name, (columns, k) in one.items():
        for namesake, (more, least) in other.items():
            if name == namesake or "" in (name, namesake):
                yield _known(name or namesake, {*columns, *more}, min(k, least), first, second)
        if name in alone:
            yield _known(name, {*columns}, min(k, second.k), first, second)
    for name, (columns, k) in other.items():
        if name in alone:
            yield _known(name, {*columns}, min(k, first.k), first, second)


def _quasi_identifiers(binding: Binding) -> dict[str, tuple[tuple[str, ...], int]]:
    """The quasi-identifiers by name with their k; the only one of a release is named ""."""
    groups = binding.spec.privacy.groups(binding.names)
    if len(groups) == 1:
        return {"": (binding.names, binding.k)}
    return {name: (columns, k or 1) for name, (columns, k) in groups.items()}


def _known(name: str, columns: set[str], k: int, first: Binding, second: Binding) -> Knowledge:
    return Knowledge(name, _positions(first, columns), _positions(second, columns), k)


def _positions(binding: Binding, columns: set[str]) -> tuple[int, ...]:
    return tuple(position for position, name in enumerate(binding.names) if name in columns)
