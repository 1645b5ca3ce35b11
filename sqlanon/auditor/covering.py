"""Any release beside its microdata: labels read as intervals of ordinals, rows linked to the classes that cover them.

What an adversary does who knows everybody's quasi-identifier. Reads labels and counts; leaves scratch tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from sqlanon.auditor import covering_statements as covering_sql
from sqlanon.auditor.breaches import GuardingTaxonomy, Linked
from sqlanon.auditor.covering_statements import LISTING, MEMBERS, SpanColumn, SpanDomain
from sqlanon.auditor.labels import INTERVAL, SHORTENED, members_in
from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.source import combination_statements as combinations_sql
from sqlanon.source.binding import Binding, BoundColumn, BoundPopulation
from sqlanon.source.combination_statements import Ordinals
from sqlanon.source.combinations import Combinations, Domain, combine, has_null, in_places
from sqlanon.source.domains import CONTINUOUS, MEASURED, unit_of_text, with_bounds, with_units
from sqlanon.source.frequency import Base, scan, store_hierarchies
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.hierarchy_statements import taxonomy_paths
from sqlanon.source.run import Run
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import query
from sqlanon.sql.relations import Relation, Table, column, table_expression

FEW_COVERS = 8
"""Up to so many labels of a column that cover one value, on average, rows are matched label by label."""

WITH_NULL = ", NULL}"
"""How a set ends that covers NULL beside what it lists."""

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_BRACKETS = re.compile(r"([\[(])\s*(.*?)(?:\s*(?:,|;|\.\.)\s*| - )(.*?)\s*([\])])", re.DOTALL)
_DASHED = re.compile(rf"\[({_NUMBER})-({_NUMBER})\]")
_ONE_SIDED = re.compile(rf"(<|>=)({_NUMBER})")
_FARTHEST = "1.7976931348623157e308"
_BARE = re.compile(rf"({_NUMBER})\s*(?:-|\u2013|\.\.|to)\s*({_NUMBER})")


def interval_of(label: str) -> tuple[str, str, str, str, str, str]:
    """A label with the bounds of the interval that it looks like: low, high, which are open, and whether numbers.

    A set that is too long to list holds neighbours in the order of their hierarchy, from its first to its last member;
    of a set that lists all its members, `members_of` tells what it holds.

    >>> interval_of("[20, 25)")
    ('[20, 25)', '20', '25', '0', '1', '1')
    >>> interval_of("[20-25]")[1:], interval_of('{divorced, "a, b", .. widowed}')[1:3]
    (('20', '25', '0', '0', '1'), ('divorced', 'widowed'))
    >>> interval_of("-3-7"), interval_of("flu")[1:]
    (('-3-7', '-3', '7', '0', '0', '1'), ('', '', '0', '0', '0'))
    >>> interval_of("<40")[2:], interval_of(">=65")[1]
    (('40', '0', '1', '1'), '65')
    """
    if found := _ONE_SIDED.fullmatch(label):
        if found[1] == "<":
            return label, f"-{_FARTHEST}", found[2], "0", "1", "1"
        return label, found[2], _FARTHEST, "0", "0", "1"
    if found := _BRACKETS.fullmatch(label):
        opening, low, high, closing = found.groups()
        number = _is_number(low) and _is_number(high)
        return label, low, high, _flag(opening == "("), _flag(closing == ")"), _flag(number)
    if (members := _in_braces(label)) and members[-1].startswith(SHORTENED):
        return label, members[0], members[-1].removeprefix(SHORTENED), "0", "0", "0"
    if found := _DASHED.fullmatch(label) or _BARE.fullmatch(label):
        return label, found[1], found[2], "0", "0", "1"
    if _is_number(label):
        return label, label, label, "0", "0", "1"
    return label, "", "", "0", "0", "0"


def members_of(label: str) -> tuple[str, ...]:
    """What a set lists beside NULL; nothing of a set that does not list all it holds, and of other labels.

    >>> members_of('{divorced, "a, b"}'), members_of("{river, NULL}"), members_of("{a, .. z}"), members_of("[5-31]")
    (('divorced', 'a, b'), ('river',), (), ())
    """
    members = _in_braces(_without_null(label))
    return () if not members or members[-1].startswith(SHORTENED) else tuple(members)


def _in_braces(label: str) -> list[str]:
    if not (label.startswith("{") and label.endswith("}")):
        return []
    return [text for text, _ in members_in(label[1:-1]) or ()]


def _without_null(label: str) -> str:
    """A label that covers NULL too, as the label of the rest."""
    if not (label.startswith("{") and label.endswith(WITH_NULL)):
        return label
    rest = label[1 : -len(WITH_NULL)]
    members = members_in(rest) or []
    if len(members) == 1 and INTERVAL.fullmatch(members[0][0]):
        return members[0][0]
    return rest if rest.startswith("[") and rest.endswith("]") else f"{{{rest}}}"


def listed(label: str) -> tuple[str, ...]:
    """A label as it is loaded: with the interval that it looks like, and whether NULL is covered too.

    >>> listed("{[5-31], NULL}"), listed("{a, .. c, NULL}")[1:3], listed("river")[6]
    (('{[5-31], NULL}', '5', '31', '0', '0', '1', '1'), ('a', 'c'), '0')
    """
    rest = _without_null(label)
    return (label, *interval_of(rest)[1:], _flag(rest != label))


def spans_of(
    scratch: Scratch, name: str, texts: Sequence[str], domain: Domain, item: BoundColumn, *, null: int | None
) -> exp.Select:
    """The spans of labels, which are loaded under a name."""
    step, family = f"labels of {item.name}", item.family
    listing = scratch.create_text(step, name, list(LISTING))
    scratch.engine.load(step, listing, list(LISTING), [(*listed(text), *_units(text, family)) for text in texts])
    sets = [(text, member, str(len(found))) for text in texts if (found := members_of(text)) for member in found]
    members = None
    if sets:
        members = scratch.create_text(step, f"{name}m", list(MEMBERS))
        scratch.engine.load(step, members, list(MEMBERS), sets)
    return covering_sql.spans(listing, members, _span_domain(scratch.engine, domain, item, null))


def _units(label: str, family: Family) -> tuple[str | None, str | None]:
    """The bounds of a label as numbers, where it looks like an interval of an ordered column."""
    _, low, high, *_ = interval_of(_without_null(label))
    return unit_of_text(low, family), unit_of_text(high, family)


def _span_domain(engine: Engine, domain: Domain, item: BoundColumn, null: int | None) -> SpanDomain:
    traits, stored, family = engine.traits, domain.hierarchy, item.family
    present = query("select d.o, d.value from d where d.value is not null", {"d": domain.table})
    units = None
    if family in CONTINUOUS:
        units = query("select v.o, cast(v.value as double) as unit from v", {"v": present})
    elif family in MEASURED:
        units = with_units(present, family, traits)
    bounds = None
    if stored.table.placed:
        values = query("select h.value from h where h.value is not null", {"h": stored.table.table})
        every = with_bounds(with_units(values, family, traits), stored.measure, family)
        bounds = query("select max(b.low) as low, max(b.high) as high from b", {"b": every})
    return SpanDomain(domain.table, domain.height, null, units, domain.laid_out, bounds, family)


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite() and re.fullmatch(_NUMBER, text) is not None
    except InvalidOperation:
        return False


def _flag(value: bool) -> str:
    return "1" if value else "0"


@dataclass(frozen=True)
class Released:
    """A release whose labels have been read."""

    run: Run
    made: Combinations
    base: Base
    columns: tuple[SpanColumn, ...]
    rows: Table
    """Its rows by the spans of their labels and the sensitive label."""
    classes: Table


def read_release(
    run: Run,
    release: Relation,
    sensitive: str,
    external: Relation | None = None,
    *,
    laid_out: bool = False,
    stored: Sequence[StoredHierarchy] | None = None,
) -> Released:
    """Read the labels of a release of this run's spec, whoever made it.

    `laid_out`: in places of their domains; `stored`: the hierarchies of source and population, where they stand.
    """
    engine = run.engine
    binding = _with_population(engine, run.binding, external)
    base = scan(engine, binding, run.scratch)
    if stored is None or external is not None:
        stored = store_hierarchies(engine, binding, base, run.scratch)
    made = combine(engine, binding, _wider(run, base), stored, run.scratch)
    if laid_out:
        made = in_places(engine, run.scratch, made)
    infos = {info.name: info for info in engine.columns(release)}
    for name in (*binding.names, sensitive):
        if name not in infos:
            raise SourceError(f"{release} has no column '{name}'")
    columns = tuple(
        _spans(run, release, infos[item.name], domain, item, position)
        for position, (item, domain) in enumerate(zip(binding.quasi_identifiers, made.domains, strict=True))
    )
    shown = engine.traits.relation(release, "release")
    query_rows = covering_sql.released_rows(shown, columns, _text(engine, infos[sensitive], "release"))
    rows = run.scratch.create("read release", "released", query_rows)
    classes = run.scratch.create("read release", "released_classes", covering_sql.classes(rows, columns))
    return Released(replace(run, binding=binding), made, base, columns, rows, classes)


def _with_population(engine: Engine, binding: Binding, external: Relation | None) -> Binding:
    if external is None:
        return binding
    known = {info.name: info.family for info in engine.columns(external)}
    for item in binding.quasi_identifiers:
        if known.get(item.name) is not item.family:
            problem = "has another type there" if item.name in known else "is not there"
            raise SourceError(f"the external table is compared by the quasi-identifier: column '{item.name}' {problem}")
    return replace(binding, population=BoundPopulation(external, binding.quasi_identifiers))


def _wider(run: Run, base: Base) -> Base:
    """The base with domains that hold the values of the external table too."""
    if base.population is None:
        return base
    domains = [
        run.scratch.create("read domains", f"d{place}x", covering_sql.with_others(domain, base.population, place))
        for place, domain in enumerate(base.domains)
    ]
    return replace(base, domains=tuple(domains))


def _spans(
    run: Run, release: Relation, info: ColumnInfo, domain: Domain, item: BoundColumn, position: int
) -> SpanColumn:
    engine, scratch = run.engine, run.scratch
    step = f"labels of {info.name}"
    label = _text(engine, info, "release")
    shown = engine.traits.relation(release, "release")
    texts = [str(text) for (text,) in engine.query(Statement(step, covering_sql.distinct_labels(shown, label)))]
    spans_query = spans_of(scratch, f"listing{position}", texts, domain, item, null=domain.null)
    spans = scratch.create(step, f"spans{position}", spans_query)
    [(unread, number)] = engine.query(Statement(step, covering_sql.unread(spans)))
    if unread:
        raise SourceError(
            f"column '{info.name}': {unread} labels of the release are neither in its hierarchy nor intervals of its "
            f"values (a set has to hold neighbours); give the hierarchy that the release was made with"
        )
    covers, found = scratch.create_counted(step, f"covers{position}", covering_sql.covers(spans, domain.table))
    return SpanColumn(label, spans, covers if number and found <= FEW_COVERS * domain.values else None)


def _text(engine: Engine, info: ColumnInfo, alias: str) -> exp.Expression:
    return engine.traits.key(engine.traits.text(column(info.name, alias), info.family), Family.TEXT)


def link(run: Run, release: Relation, external: Relation | None = None) -> Linked:
    """Everything that the audit of breach probabilities reads, for any release of this run's spec."""
    asked = run.binding.personalized
    if asked is None:
        raise UsageError("privacy.personalized: the spec says nothing of guarding nodes")
    released = read_release(run, release, asked.asked.column, external)
    engine, scratch, made = run.engine, run.scratch, released.made
    hierarchy = made.sensitive[asked.column].hierarchy
    if hierarchy is None:
        raise UsageError(f"privacy.personalized: column '{asked.asked.column}' has no taxonomy")
    every = query("select c.* from c", {"c": made.table})
    rows = scratch.create("link rows", "microdata", covering_sql.numbered(every))
    linked = scratch.create("link rows", "linked", covering_sql.covered(rows, released.classes, released.columns))
    texts = []
    for position, alias in ((asked.column, "a"), (asked.guarding, "b")):
        item = run.binding.sensitive[position]
        text = engine.traits.key(engine.traits.text(column("value", alias), item.family), Family.TEXT)
        texts.append((f"s_{position}", made.codes[position], text))
    if asked.asked.primary:
        people: exp.Query = query("select class, n as persons from k", {"k": released.classes})
    else:
        people = covering_sql.persons(rows, linked, "count(distinct respondent) + sum(lone_respondents)")
    if external is not None:
        people = covering_sql.no_fewer(people, _external_people(released))
    taxonomy = GuardingTaxonomy(
        taxonomy_paths(hierarchy.table.table, hierarchy.height),
        hierarchy.height,
        has_null(engine, "taxonomy", made.codes[asked.column]),
    )
    return Linked(
        covering_sql.published(released.rows, released.classes, len(released.columns)),
        covering_sql.targets(rows, linked, texts[0], texts[1]),
        people,
        taxonomy,
        external is not None,
    )


def _external_people(released: Released) -> exp.Query:
    """How many people of the external table each class covers."""
    run, base, made = released.run, released.base, released.made
    if base.population is None:
        raise ValueError("no external table was read")
    columns: Sequence[Ordinals] = [
        Ordinals(column(f"q_{position}", "base"), domain.table, domain.null)
        for position, domain in enumerate(made.domains)
    ]
    select, keys = combinations_sql.with_ordinals(table_expression(base.population, "base"), columns)
    items = [exp.alias_(key, name, quoted=True) for name, key in keys]
    everybody = select.select(*items, column("population_rows", "base"))
    people = run.scratch.create("link people", "people_o", covering_sql.numbered(everybody))
    linked = run.scratch.create(
        "link people", "people_l", covering_sql.covered(people, released.classes, released.columns)
    )
    return covering_sql.persons(people, linked, "sum(population_rows)")
