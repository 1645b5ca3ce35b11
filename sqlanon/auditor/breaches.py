"""Breach probabilities of personalized privacy: how likely each row's guarding node is inferred from a release.

The audit's own measure (Xiao and Tao 2006), which shares nothing with the search: nodes are sets of leaves, compared
leaf by leaf, and probabilities follow from all rows that a class publishes, without Lemma 1. Statements, figures and
verdict. Reads counts by probability and by level of the guarding node, never a value; writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sqlanon.auditor.figures import Check, ModelQuestion
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError
from sqlanon.spec import Personalized
from sqlanon.sql.build import expression, named, query, union_all, with_queries
from sqlanon.sql.relations import Table, column, literal

BUCKETS = 100
"""Probabilities are reported in steps of this many to one."""

TOLERANCE = "0.000000000001"
"""Of floating point: counts of fewer than 10^11 products cannot come so near to a threshold without being on it."""

UNPROTECTED, NO_PATH, UNKNOWN, OUTSIDE, CLASSES = -1, -2, -3, -4, -5
"""In place of levels: rows without protection; a guarding node that is not on the path to the value; published labels
that the taxonomy does not have; rows of the microdata in no class; the number of classes in which somebody is exposed.
"""

FLOOR = -700
"""The least exponent that no engine refuses."""


@dataclass(frozen=True)
class GuardingTaxonomy:
    """Every leaf with the labels above it.

    `paths` has a row for every leaf: `label_0`, the leaf itself, up to the root.
    """

    paths: exp.Query
    height: int
    has_null: bool
    """NULL occurs: one more leaf, below the root."""


def breaches(
    published: exp.Query,
    targets: exp.Query,
    people: exp.Query,
    taxonomy: GuardingTaxonomy,
    *,
    p: Fraction,
    primary: bool,
) -> exp.Query:
    """For each level of guarding nodes and bucket of probability: rows, the greatest, the sum, and the rows above p.

    `published` counts the rows `n` of each `class` by `label`; `targets` those of the microdata by `value` and `guard`;
    `people` has the `persons` of each class.
    """
    steps: dict[str, exp.Query] = {
        "leaves": _leaves(taxonomy),
        "nodes": query("select level, label, absent, count(*) as size from leaves group by level, label, absent"),
        "overlap": query(
            "select shown.level, shown.label, shown.absent, guard.level as guard_level, guard.label as guard_label,"
            " count(*) as common from leaves as shown join leaves as guard on shown.leaf = guard.leaf"
            " where guard.absent = 0 group by shown.level, shown.label, shown.absent, guard.level, guard.label"
        ),
        "published": _lowest(published),
        "targets": _guarded(targets),
        "people": people,
        "odds": _odds(primary),
        "judged": query(
            "select targets.class, targets.guard_level, targets.n,"
            " case when targets.guard_level < 0 then 0 else coalesce(odds.probability, 0) end as probability"
            " from targets left join odds on targets.class = odds.class and targets.guard_level = odds.guard_level"
            " and targets.guard_label = odds.guard_label"
        ),
    }
    select = query(
        "select guard_level, floor(probability * :buckets) as bucket, sum(n) as n, max(probability) as most,"
        " sum(n * probability) as total, sum(case when probability > :threshold then n else 0 end) as above"
        " from judged group by guard_level, floor(probability * :buckets)"
        " union all select -3 as guard_level, 0 as bucket, sum(n) as n, 0 as most, 0 as total, 0 as above"
        " from published where level is null having sum(n) > 0"
        " union all select -5 as guard_level, 0 as bucket, count(distinct class) as n, 0 as most, 0 as total,"
        " 0 as above from judged where probability > :threshold",
        buckets=BUCKETS,
        threshold=expression(
            "cast(:above as double) / cast(:below as double) + cast(:tolerance as double)",
            above=p.numerator,
            below=p.denominator,
            tolerance=exp.Literal.number(TOLERANCE),
        ),
    )
    return with_queries(select, steps)


def nobody_exposed(found: Table) -> exp.Select:
    """Whether a table of `breaches` says that nobody is: TRUE where all could be judged, and none exceeds p."""
    return query(
        "select coalesce(sum(case when found.above > 0 or found.guard_level in (-2, -3, -4) then 1 else 0 end), 0) = 0"
        " from found where found.guard_level <> :classes",
        {"found": found},
        classes=CLASSES,
    )


def _leaves(taxonomy: GuardingTaxonomy) -> exp.Query:
    """Every node as the set of its leaves; NULL, `absent` 1, is a leaf below the root where it occurs."""
    numbered = query(
        "select paths.*, row_number() over (order by label_0) as leaf from paths", {"paths": taxonomy.paths}
    )
    parts: list[exp.Query] = []
    for level in range(taxonomy.height + 1):
        own = column(f"label_{level}", "path")
        listed = "select path.leaf, :own as level, cast(:label as text) as label, 0 as absent from path"
        parts.append(query(listed, {"path": numbered}, own=level, label=own))
        if taxonomy.has_null and level < taxonomy.height:
            parts.append(query("select 0 as leaf, :own as level, '' as label, 1 as absent", own=level))
        elif taxonomy.has_null:
            root = "select 0 as leaf, :own as level, cast(min(:label) as text) as label, 0 as absent from path"
            parts.append(query(root, {"path": numbered}, own=level, label=own.copy()))
    return union_all(parts)


def _lowest(published: exp.Query) -> exp.Query:
    """The published labels as nodes. A label that names several is taken for the smallest, which says most."""
    return query(
        "select shown.class, shown.label, shown.absent, shown.n, lowest.level, lowest.size"
        " from (select class, coalesce(label, '') as label,"
        "   case when label is null then 1 else 0 end as absent, n from published_rows) as shown"
        " left join (select label, absent, level, size from (select label, absent, level, size,"
        "   row_number() over (partition by label, absent order by level) as place from nodes) as ranked"
        "   where place = 1) as lowest on shown.label = lowest.label and shown.absent = lowest.absent",
        {"published_rows": published},
    )


def _guarded(targets: exp.Query) -> exp.Query:
    """The guarding nodes of the microdata. A label that stands on a path twice is taken where it protects more."""
    return query(
        "select target.class, target.n, case when target.class is null then -4 when target.guard is null then -1"
        "   else coalesce(guarded.guard_level, -2) end as guard_level, coalesce(target.guard, '') as guard_label"
        " from (select class, guard, n, coalesce(value, '') as value,"
        "   case when value is null then 1 else 0 end as absent from microdata) as target"
        " left join (select own.label as value, own.absent, up.label as guard, max(up.level) as guard_level"
        "   from leaves as own join leaves as up on own.leaf = up.leaf where own.level = 0 and up.absent = 0"
        "   group by own.label, own.absent, up.label) as guarded"
        " on target.value = guarded.value and target.absent = guarded.absent and target.guard = guarded.guard",
        {"microdata": targets},
    )


def _odds(primary: bool) -> exp.Query:
    """The probability that a guarding node is inferred: of each class, for each node that somebody in it guards."""
    if primary:
        chance: exp.Expression = expression("sum(share * n) / min(persons)")
    else:
        certain = expression("max(case when share >= persons then 1 else 0 end) = 1")
        kept = expression("sum(case when share >= persons then 0 else cast(n as double) * ln(1 - share / persons) end)")
        chance = (
            exp.Case()
            .when(certain, literal(1))
            .when(exp.LT(this=kept, expression=literal(FLOOR)), literal(1))
            .else_(expression("1 - exp(:kept)", kept=kept))
        )
    return query(
        "select class, guard_level, guard_label, :chance as probability"
        " from (select target.class, target.guard_level, target.guard_label, published.n, people.persons,"
        "   cast(overlap.common as double) / cast(published.size as double) as share"
        "   from (select distinct class, guard_level, guard_label from targets where guard_level >= 0) as target"
        "   join published on target.class = published.class join people on target.class = people.class"
        "   join overlap on overlap.level = published.level and overlap.label = published.label"
        "   and overlap.absent = published.absent and overlap.guard_level = target.guard_level"
        "   and overlap.guard_label = target.guard_label) as shares group by class, guard_level, guard_label",
        chance=chance,
    )


def in_one_table(
    audited: exp.Expression,
    keys: Sequence[exp.Expression],
    label: exp.Expression,
    value: exp.Expression,
    guard: exp.Expression,
    person: exp.Expression | None,
) -> tuple[exp.Query, exp.Query, exp.Query]:
    """What is published, guarded and counted, from rows that show both what they were and what they became."""
    order = exp.Order(expressions=[exp.Ordered(this=key) for key in keys])
    rows = exp.select(
        named(exp.Window(this=exp.DenseRank(), order=order), "class"),
        named(label, "label"),
        named(value, "value"),
        named(guard, "guard"),
        *([] if person is None else [named(person, "who")]),
    ).from_(audited)
    people = "count(*)" if person is None else "count(distinct who) + max(case when who is null then 1 else 0 end)"
    return (
        query("select class, label, count(*) as n from numbered group by class, label", {"numbered": rows}),
        query(
            "select class, value, guard, count(*) as n from numbered group by class, value, guard", {"numbered": rows}
        ),
        query(
            "select class, :people as persons from numbered group by class",
            {"numbered": rows},
            people=expression(people),
        ),
    )


NOT_MEASURED = "could not be measured: the table does not show the guarding nodes; use --personalized with the spec"


@dataclass(frozen=True)
class Linked:
    """A release beside the microdata that it was made of."""

    published: exp.Query
    """Rows `n` of each `class` by published `label`."""
    targets: exp.Query
    """Rows `n` of the microdata by the `class` that they lie in, `value` and `guard`."""
    people: exp.Query
    """What stands for n of Theorems 1 and 2 in each class, as `m`."""
    taxonomy: GuardingTaxonomy
    external: bool = False
    """Persons were counted in an external table."""


@dataclass(frozen=True)
class GuardedLevel:
    """The rows whose guarding nodes lie at one level of the taxonomy; level -1: rows without protection."""

    level: int
    rows: int
    maximum: float
    average: float
    above: int
    """Rows whose breach probability exceeds what is allowed."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": None if self.level < 0 else self.level,
            "rows": self.rows,
            "maximum": self.maximum,
            "average": self.average,
            "above": self.above,
        }


@dataclass(frozen=True)
class BreachFigures:
    """Breach probabilities of all rows."""

    column: str
    p_breach: float
    primary: bool
    external: bool
    levels: tuple[GuardedLevel, ...]
    buckets: tuple[tuple[float, int], ...]
    """From which probability on, how many rows."""
    classes_above: int
    outside: int
    """Rows of the microdata that lie in no class."""

    @property
    def rows(self) -> int:
        return sum(level.rows for level in self.levels)

    @property
    def maximum(self) -> float:
        return max((level.maximum for level in self.levels), default=0.0)

    @property
    def above(self) -> int:
        return sum(level.above for level in self.levels)

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "p_breach": self.p_breach,
            "primary": self.primary,
            "external": self.external,
            "rows": self.rows,
            "maximum": self.maximum,
            "above": self.above,
            "share_above": self.above / self.rows if self.rows else 0.0,
            "outside": self.outside,
            "levels": [level.to_dict() for level in self.levels],
            "distribution": [{"from": start, "rows": rows} for start, rows in self.buckets],
        }


def measure_breaches(engine: Engine, linked: Linked, asked: Personalized, *, primary: bool) -> BreachFigures:
    """The breach probability of every row of the microdata."""
    query = breaches(
        linked.published,
        linked.targets,
        linked.people,
        linked.taxonomy,
        p=Fraction(asked.p_breach),
        primary=primary,
    )
    found = engine.query(Statement("audit breaches", query))
    counted = dict.fromkeys((NO_PATH, UNKNOWN, OUTSIDE, CLASSES), 0)
    levels: dict[int, list[tuple[int, float, float, int]]] = {}
    buckets: dict[int, int] = {}
    for level, bucket, rows, most, total, above in found:
        if int(level) in counted:
            counted[int(level)] += int(rows)
            continue
        levels.setdefault(int(level), []).append((int(rows), float(most), float(total), int(above)))
        buckets[int(bucket)] = buckets.get(int(bucket), 0) + int(rows)
    if counted[UNKNOWN]:
        raise SourceError(
            f"column '{asked.column}': {counted[UNKNOWN]} rows of the release show a value that its "
            "taxonomy does not have"
        )
    if counted[NO_PATH]:
        raise SourceError(
            f"column '{asked.guarding}': {counted[NO_PATH]} guarding nodes do not lie between "
            "the root and the row's value"
        )
    return BreachFigures(
        asked.column,
        float(asked.p_breach),
        primary,
        linked.external,
        tuple(_level(level, entries) for level, entries in sorted(levels.items())),
        tuple((bucket / BUCKETS, rows) for bucket, rows in sorted(buckets.items())),
        counted[CLASSES],
        counted[OUTSIDE],
    )


def _level(level: int, entries: list[tuple[int, float, float, int]]) -> GuardedLevel:
    rows = sum(entry[0] for entry in entries)
    average = sum(entry[2] for entry in entries) / rows
    return GuardedLevel(level, rows, max(entry[1] for entry in entries), average, sum(entry[3] for entry in entries))


def breach_check(asked: Personalized, figures: BreachFigures | None, group: str, classes: int, rows: int) -> Check:
    """The verdict; a requirement that could not be measured does not hold."""
    question = ModelQuestion(
        "personalized",
        f"p_breach = {asked.p_breach}",
        f"let a guarding node be inferred with more than {asked.p_breach}",
        "the greatest probability is {}",
        asked.column,
    )
    if figures is None:
        return Check(question, group, classes, classes, rows, rows, None, NOT_MEASURED)
    return Check(question, group, classes, figures.classes_above, figures.rows, figures.above, figures.maximum)
