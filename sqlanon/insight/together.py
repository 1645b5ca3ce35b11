"""Releases of several recipients together: the classes of each pair intersected, in SQL, from the source.

Somebody who gets two releases, and knows a person's quasi-identifier, finds the person's class in each: the person is
in the intersection. Reads the source, never the releases, which do not say which row of the source a row came from;
writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import RequirementError, SpecError, SqlanonError
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.recoding.kinds import FullDomain
from sqlanon.release.classes import blanked_class_satisfies, measure_classes
from sqlanon.release.lock import Lock
from sqlanon.release.statements import QuasiIdentifier, class_totals
from sqlanon.release.steps import Release
from sqlanon.source.binding import Binding, bind
from sqlanon.source.frequency import scan, store_hierarchies
from sqlanon.source.frequency_statements import code, sensitive_code
from sqlanon.source.hierarchies import describe_hierarchies
from sqlanon.source.run import DEFAULT, Options, open_for
from sqlanon.source.scratch import Scratch, reclaim
from sqlanon.source.sensitive import SensitiveColumn
from sqlanon.spec import Spec
from sqlanon.sql.build import all_of, any_of, count, equal, named, scalar, subquery, total, total_where, with_queries
from sqlanon.sql.relations import Table, column, literal, table_expression
from sqlanon.sql.values import joined, relation, whole

ABSENT, IN_CLASS, BLANKED = 0, 1, 2
"""Where a row is in a release: nowhere, in a class, or among the rows without a quasi-identifier."""

NO_KEY = -1
"""The key of a row that lies in no class."""


@dataclass(frozen=True)
class Member:
    """One of the releases: its columns at their levels, and its classes with their verdicts."""

    position: int
    columns: Sequence[QuasiIdentifier]
    classes: Table | exp.Query
    known: Mapping[int, SensitiveColumn]
    """Sensitive columns that are keys of its classes too."""
    blanked: bool
    """Rows of failing classes are released without their quasi-identifier."""

    @property
    def state(self) -> str:
        return f"r{self.position}_state"

    def keys(self, positions: Sequence[int]) -> list[str]:
        """The keys of these columns; a column at its top has none, since it tells no rows apart."""
        return [self.key(position) for position in positions if not self.columns[position].at_top]

    def key(self, position: int) -> str:
        return f"r{self.position}_k_{position}"


def placed(source: exp.Expression, members: Sequence[Member], respondent: exp.Expression | None) -> exp.Select:
    """The rows `n` of the source by their place in every release, and by respondent `who` where there is one."""
    names = [name for member in members for name in (member.state, *member.keys(range(len(member.columns))))]
    items = [item for member in members for item in _place(member)]
    if respondent is not None:
        names.append("who")
        items.append(named(respondent.copy(), "who"))
    select = exp.select(*items).from_(source)
    for member in members:
        select = _with_classes(select, member)
    grouped = exp.select(*(column(name) for name in names), named(count(), "n")).from_(subquery(select, "rows"))
    return grouped.group_by(*(column(name) for name in names), copy=False)


def _place(member: Member) -> list[exp.Expression]:
    kept = column("kept", _alias(member, "class"))
    state = exp.Case().when(kept, literal(IN_CLASS))
    if member.blanked:
        state = state.when(exp.Not(this=kept.copy()), literal(BLANKED))
    return [
        named(state.else_(literal(ABSENT)), member.state),
        *(
            named(exp.Case().when(kept.copy(), key).else_(literal(NO_KEY)), member.key(position))
            for position, key in _codes(member)
        ),
    ]


def _codes(member: Member) -> list[tuple[int, exp.Expression]]:
    return [
        (position, code(item.key, _alias(member, f"h_{position}"), item.level))
        for position, item in enumerate(member.columns)
        if not item.at_top
    ]


def _with_classes(select: exp.Select, member: Member) -> exp.Select:
    """The rows joined to the hierarchies of a release, and by them to its classes."""
    matched = [
        equal(key, column(member.columns[position].key_name, _alias(member, "class")))
        for position, key in _codes(member)
    ]
    for position, item in enumerate(member.columns):
        if not item.at_top and item.lookup is not None:
            select = _looked_up(select, item.key, item.lookup, _alias(member, f"h_{position}"))
    for position, sensitive in member.known.items():
        alias = _alias(member, f"c_{position}")
        select = _looked_up(select, sensitive.key, sensitive.codes, alias)
        matched.append(equal(sensitive_code(sensitive.key, alias), column(sensitive.code, _alias(member, "class"))))
    classes = relation(member.classes, _alias(member, "class"))
    return select.join(classes, on=all_of(matched), join_type="left", copy=False)


def _looked_up(select: exp.Select, key: exp.Expression, lookup: Table | exp.Query, alias: str) -> exp.Select:
    on = equal(key.copy(), column("value", alias))
    return select.join(relation(lookup, alias), on=on, join_type="left", copy=False)


def _alias(member: Member, name: str) -> str:
    return f"r{member.position}_{name}"


def intersections(
    table: Table, first: Member, second: Member, keys: Sequence[str], k: int, *, persons: bool
) -> exp.Select:
    """One row on what two releases say together to somebody who knows the columns of these keys.

    Rows in both; their classes, those of fewer than k rows or persons, the least size; the rows or persons in classes
    of fewer than k; and the same of those that only one release holds.
    """
    names = [first.state, second.state, *keys]
    rows = _rows(table, first, second, [*names, *(["who"] if persons else [])])
    groups = _counted("rows", names, named(count() if persons else whole(total(column("n"))), "people"))
    both = all_of([_is_in(first), _is_in(second)])
    in_one = exp.Not(this=exp.Paren(this=both.copy()))
    small = exp.LT(this=column("people"), expression=literal(k))
    figures = exp.select(
        total_where(both, column("n")),
        total_where(both.copy(), literal(1)),
        total_where(all_of([both.copy(), small]), literal(1)),
        exp.Min(this=exp.Case().when(both.copy(), column("people"))),
        _people(names, all_of([both.copy(), small.copy()]), persons=persons),
        _people(names, all_of([in_one, small.copy()]), persons=persons),
    ).from_(_query("groups"))
    return with_queries(figures, {"rows": rows, "groups": groups})


def _rows(table: Table, first: Member, second: Member, names: Sequence[str]) -> exp.Select:
    """What at least one of two releases holds, by these columns."""
    in_any = any_of([_is_in(first), _is_in(second)])
    held = exp.select(exp.Star()).from_(table_expression(table)).where(in_any)
    return _counted(subquery(held, "held"), names)


def _counted(source: exp.Expression | str, names: Sequence[str], *more: exp.Expression) -> exp.Select:
    select = exp.select(*(column(name) for name in names), named(whole(total(column("n"))), "n"), *more)
    select = select.from_(_query(source) if isinstance(source, str) else source)
    return select.group_by(*(column(name) for name in names), copy=False)


def _query(name: str) -> exp.Table:
    """A query of the WITH clause."""
    return table_expression(Table((name,)))


def _people(names: Sequence[str], condition: exp.Expression, *, persons: bool) -> exp.Expression:
    """The rows of such groups, or their persons: one who stands in several of them counts once."""
    if not persons:
        return total_where(condition, column("people"))
    chosen = exp.select(*(column(name) for name in names)).from_(_query("groups")).where(condition)
    who = exp.select(column("who", "rows")).distinct().from_(_query("rows"))
    who = joined(who, subquery(chosen, "chosen"), names, "rows", "chosen")
    return scalar(exp.select(count()).from_(subquery(who, "persons")))


def _is_in(member: Member) -> exp.Expression:
    return exp.GT(this=column(member.state), expression=literal(ABSENT))


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
            f"{self._names()}: {_together_people(self.exposed)} exposed: "
            f"their classes in both releases have fewer than {self.k} {self.counted} in common"
        )

    def note(self) -> str:
        """Who stands out by being left out, in one line."""
        return (
            f"{self._names()}: {_together_people(self.only_in_one)} in only one of the releases, "
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


def _together_people(number: int) -> str:
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
    table = bound[0].scratch.create("place rows", "placed", placed(source, members, respondent))
    for one, other in combinations(range(len(bound)), 2):
        if concerning not in (None, bound[one].name, bound[other].name):
            continue
        for known in knowledge(bound[one].binding, bound[other].binding):
            first, second = members[one], members[other]
            keys = [*first.keys(known.first), *second.keys(known.second)]
            query = intersections(table, first, second, keys, known.k, persons=binding.persons)
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
