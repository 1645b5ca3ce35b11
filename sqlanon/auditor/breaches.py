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
from sqlanon.sql.build import named, union_all, with_queries
from sqlanon.sql.relations import Table, column, literal
from sqlanon.sql.template import expression, query

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
    `people` has the persons `m` of each class.
    """
    steps: dict[str, exp.Query] = {
        "leaves": _leaves(taxonomy),
        "nodes": query("select l, label, absent, count(*) as size from leaves group by l, label, absent"),
        "overlap": query(
            "select a.l as pl, a.label as plabel, a.absent as pabsent, b.l as gl, b.label as glabel, count(*) as common"
            " from leaves as a join leaves as b on a.leaf = b.leaf where b.absent = 0"
            " group by a.l, a.label, a.absent, b.l, b.label"
        ),
        "published": _lowest(published),
        "targets": _guarded(targets),
        "people": people,
        "odds": _odds(primary),
        "judged": query(
            "select t.class, t.gl, t.n, case when t.gl < 0 then 0 else coalesce(o.p, 0) end as p"
            " from targets as t left join odds as o on t.class = o.class and t.gl = o.gl and t.glabel = o.glabel"
        ),
    }
    select = query(
        "select gl, floor(p * :buckets) as bucket, sum(n) as n, max(p) as most, sum(n * p) as total,"
        " sum(case when p > :threshold then n else 0 end) as above from judged group by gl, floor(p * :buckets)"
        " union all select -3 as gl, 0 as bucket, sum(n) as n, 0 as most, 0 as total, 0 as above from published"
        " where l is null having sum(n) > 0"
        " union all select -5 as gl, 0 as bucket, count(distinct class) as n, 0 as most, 0 as total, 0 as above"
        " from judged where p > :threshold",
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
        "select coalesce(sum(case when f.above > 0 or f.gl in (-2, -3, -4) then 1 else 0 end), 0) = 0 from f"
        " where f.gl <> :classes",
        {"f": found},
        classes=CLASSES,
    )


def _leaves(taxonomy: GuardingTaxonomy) -> exp.Query:
    """Every node as the set of its leaves; NULL, `absent` 1, is a leaf below the root where it occurs."""
    numbered = query(
        "select p.*, row_number() over (order by label_0) as leaf from paths as p", {"paths": taxonomy.paths}
    )
    parts: list[exp.Query] = []
    for level in range(taxonomy.height + 1):
        own = column(f"label_{level}", "t")
        listed = "select t.leaf, :l as l, cast(:label as text) as label, 0 as absent from t"
        parts.append(query(listed, {"t": numbered}, l=level, label=own))
        if taxonomy.has_null and level < taxonomy.height:
            parts.append(query("select 0 as leaf, :l as l, '' as label, 1 as absent", l=level))
        elif taxonomy.has_null:
            root = "select 0 as leaf, :l as l, cast(min(:label) as text) as label, 0 as absent from t"
            parts.append(query(root, {"t": numbered}, l=level, label=own.copy()))
    return union_all(parts)


def _lowest(published: exp.Query) -> exp.Query:
    """The published labels as nodes. A label that names several is taken for the smallest, which says most."""
    return query(
        "select f.class, f.label, f.absent, f.n, d.l, d.size from (select class, coalesce(label, '') as label,"
        "   case when label is null then 1 else 0 end as absent, n from g) as f"
        " left join (select label, absent, l, size from (select label, absent, l, size,"
        "   row_number() over (partition by label, absent order by l) as place from nodes) as ranked"
        "   where place = 1) as d on f.label = d.label and f.absent = d.absent",
        {"g": published},
    )


def _guarded(targets: exp.Query) -> exp.Query:
    """The guarding nodes of the microdata. A label that stands on a path twice is taken where it protects more."""
    return query(
        "select f.class, f.n, case when f.class is null then -4 when f.guard is null then -1"
        "   else coalesce(x.gl, -2) end as gl, coalesce(f.guard, '') as glabel from (select class, guard, n,"
        "   coalesce(value, '') as value, case when value is null then 1 else 0 end as absent from g) as f"
        " left join (select own.label as value, own.absent, up.label as guard, max(up.l) as gl from leaves as own"
        "   join leaves as up on own.leaf = up.leaf where own.l = 0 and up.absent = 0"
        "   group by own.label, own.absent, up.label) as x"
        " on f.value = x.value and f.absent = x.absent and f.guard = x.guard",
        {"g": targets},
    )


def _odds(primary: bool) -> exp.Query:
    """The probability that a guarding node is inferred: of each class, for each node that somebody in it guards."""
    if primary:
        chance: exp.Expression = expression("sum(share * n) / min(m)")
    else:
        certain = expression("max(case when share >= m then 1 else 0 end) = 1")
        kept = expression("sum(case when share >= m then 0 else cast(n as double) * ln(1 - share / m) end)")
        chance = (
            exp.Case()
            .when(certain, literal(1))
            .when(exp.LT(this=kept, expression=literal(FLOOR)), literal(1))
            .else_(expression("1 - exp(:kept)", kept=kept))
        )
    return query(
        "select class, gl, glabel, :chance as p from (select t.class, t.gl, t.glabel, f.n, p.m,"
        "   cast(o.common as double) / cast(f.size as double) as share"
        "   from (select distinct class, gl, glabel from targets where gl >= 0) as t"
        "   join published as f on t.class = f.class join people as p on t.class = p.class"
        "   join overlap as o on o.pl = f.l and o.plabel = f.label and o.pabsent = f.absent"
        "   and o.gl = t.gl and o.glabel = t.glabel) as shares group by class, gl, glabel",
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
        query("select class, label, count(*) as n from r group by class, label", {"r": rows}),
        query("select class, value, guard, count(*) as n from r group by class, value, guard", {"r": rows}),
        query("select class, :people as m from r group by class", {"r": rows}, people=expression(people)),
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
            f"column '{asked.column}': {counted[UNKNOWN]} rows of the release show what is no node of its taxonomy"
        )
    if counted[NO_PATH]:
        raise SourceError(
            f"column '{asked.guarding}': {counted[NO_PATH]} rows guard what is no node between the root and their value"
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
