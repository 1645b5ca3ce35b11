"""Attacks by somebody who knows how the release was made: the algorithm, k and the hierarchies, as the spec has them.

Downcoding says to which finer cells the rows of a class are pinned (`auditor.downcoding`, for recodings in rounds and
for suppressed rows; here for cells, whose labels are the least ones that cover a group). Reads the source's values and
counts; makes scratch tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.downcoding import FIGURES, Downcoding, KnownRule, LabelLevels, codes, downcoding, known_of
from sqlanon.auditor.request import Opened, text_key
from sqlanon.engines.base import Engine, Statement
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.insight.adversary.people import GroupedTable, TableSide
from sqlanon.insight.adversary.programs import together, told
from sqlanon.insight.adversary.statements import same
from sqlanon.insight.adversary.values import Attack, Exposure, measured
from sqlanon.source.binding import live_domain
from sqlanon.source.hierarchies import StoredHierarchy, store_hierarchy
from sqlanon.source.run import Run
from sqlanon.spec import Spec
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.sql.build import (
    all_of,
    any_of,
    equal,
    is_null,
    is_present,
    named,
    query,
    row_count,
    subquery,
    total_where,
    union_all,
)
from sqlanon.sql.relations import Relation, Table, cast, column, literal, table_expression

IN_ROUNDS = ("lattice", "local")
"""Kinds of algorithms whose cells failed k before their rows were generalized further or suppressed."""
EXPLAINED = "people whose finer cell whoever knows the algorithm can tell: each cell that it did not release is full"
EXPLAINED_PAIRS = {
    "cells": "people whose branch whoever knows the algorithm can tell: a pair has one row under each of two",
    "mondrian": "people whose value whoever knows the algorithm can tell: of a pair each is at one end of its ranges",
}


def unmeasured(spec: Spec) -> str | None:
    """Why downcoding says nothing of a recoding; None where it does."""
    privacy, row = spec.privacy, ALGORITHMS[spec.search.algorithm]
    if privacy.differential is not None:
        return "a differential release protects against whoever knows the recipe"
    if privacy.several_groupings or spec.profiled:
        return "rows of several groupings are suppressed one by one, not cell by cell"
    if row.kind == "cells":
        if privacy.anonymity != "classic":
            return f"classes of privacy.anonymity: {privacy.anonymity} have labels of single rows"
        return "levels of AG_CS do not show under suppressed cells" if spec.search.model == "AG_CS" else None
    if row.kind == "mondrian" and spec.search.mondrian.bounds == "values":
        return None
    if row.kind in ("scheme", "cuts", "mu_argus"):
        return (
            f"which groups of {row.name} were suppressed does not show in the release; its classes tell nothing finer"
        )
    if row.kind not in IN_ROUNDS:
        return f"a class of {row.name} says that no division of it was possible, not which part of one was too small"
    return None


def downcode(
    run: Run,
    target: Relation,
    levels: Sequence[LabelLevels],
    notes: list[str] | None = None,
    grouped: GroupedTable | None = None,
) -> Attack:
    """Whom a release (`grouped`: its classes) pins to finer cells than it shows; `notes` hears of what was not solved
    for."""
    spec = run.binding.spec
    kind = ALGORITHMS[spec.search.algorithm].kind
    if kind in ("cells", "mondrian"):
        least = [spec.columns[name].levels.min for name in run.binding.names]
        classes = released_classes(run, target, missing=0, grouped=grouped)
        make = pairs_of_branches if kind == "cells" else pairs_of_ends
        found = measured(run.engine, "downcoding", make(classes, levels, least, run), FIGURES)
        return Attack("downcoding", None, EXPLAINED_PAIRS[kind], "pinned", None, found)
    unclear = blank_is_unclear(run, target, levels)
    classes = released_classes(run, target, missing=_missing(run, target), unclear=unclear, grouped=grouped)
    rule = rule_of(run)
    judged = downcoding(classes, levels, rule, run.scratch)
    found = measured(run.engine, "downcoding", judged.figures(), FIGURES)
    if notes is not None:
        found = _with_programs(run, judged, rule, found, notes)
    return Attack("downcoding", None, EXPLAINED, "pinned", None, found)


def _with_programs(run: Run, judged: Downcoding, rule: KnownRule, found: Exposure, notes: list[str]) -> Exposure:
    """The figures with those of all classes together, where some class has slack or is open otherwise."""
    known = {name: int(found.figures[name] or 0) for name in ("pinned", "pinned_classes", "contradicting")}
    pinned, classes = known["pinned"], known["pinned_classes"]
    if not known["contradicting"] and found.figures["slack"] is not None:
        answer = together(judged, rule, run.engine)
        notes += told(answer)
        more = [literal(number) for number in sorted(answer.pinned)]
        if more:
            select = exp.select(exp.Sum(this=column("n"))).from_(table_expression(judged.classes))
            [(rows,)] = run.engine.query(
                Statement("pinned together", select.where(exp.In(this=column("id"), expressions=more)))
            )
            pinned, classes = pinned + int(rows), classes + len(more)
    together_figures = {"pinned_together": pinned, "pinned_classes_together": classes}
    return Exposure({**found.figures, **together_figures}, found.sql)


def label_levels(run: Run, hierarchies: Sequence[LabelLevels], names: Sequence[str]) -> tuple[Table, ...]:
    """For each of these columns the labels of its hierarchy that mean one set of values, with the lowest level (`low`)
    that they stand at."""
    found: list[Table] = []
    for name, item in zip(run.binding.names, hierarchies, strict=True):
        if name in names:
            listed = run.scratch.create("labels of levels", f"yll{len(found)}", codes(item.table, item.labels))
            known = known_of(listed, item.height, has_null=item.has_null)
            found.append(run.scratch.create("labels of levels", f"yll_known{len(found)}", known))
    return tuple(found)


def rule_of(run: Run) -> KnownRule:
    """What is known of the rounds: how many rows a cell that failed can have."""
    privacy = run.binding.spec.privacy
    # A ledger holds whole classes back for reasons of its own.
    only_k = privacy.only_k and not run.binding.persons and run.binding.history is None
    cap = run.binding.k + run.binding.unknown_k - 1 if only_k else None
    return KnownRule(cap, pooled=privacy.slack > 0 and ALGORITHMS[run.binding.spec.search.algorithm].kind == "local")


def hierarchies_of(run: Run) -> list[LabelLevels]:
    """The hierarchies of the quasi-identifier with the values that the source has now."""
    engine, binding = run.engine, run.binding
    source = Opened.at(engine, binding.source, "source")
    counted = [total_where(is_null(source.key(name)), literal(1)) for name in binding.names]
    select = exp.select(*(named(value, f"n_{place}") for place, value in enumerate(counted)))
    [missing] = engine.query(Statement("count missing values", select.from_(source.expression())))
    nulls = [bool(number) for number in missing]
    stored = [
        store_hierarchy(
            engine, item, live_domain(engine, binding, item), run.scratch, f"y__{place}", has_null=nulls[place]
        )
        for place, item in enumerate(binding.quasi_identifiers)
    ]
    return levels_of(engine, stored, nulls)


def levels_of(engine: Engine, stored: Sequence[StoredHierarchy], nulls: Sequence[bool]) -> list[LabelLevels]:
    """Hierarchies that stand, each with whether its column has NULL, as the attacks read them."""
    found = []
    for item, has_null in zip(stored, nulls, strict=True):
        families = enumerate(item.families)
        texts = [text_key(column(f"label_{level}"), family, engine.traits) for level, family in families]
        found.append(LabelLevels(item.table.table, texts, has_null))
    return found


def _blanked(key: exp.Expression, family: Family) -> exp.Expression:
    """Whether a column shows what a blanked row shows: `*` where it takes texts, else NULL."""
    return equal(key.copy(), cast(literal(TOP), "text")) if family is Family.TEXT else is_null(key.copy())


def blank_is_unclear(run: Run, target: Relation, levels: Sequence[LabelLevels]) -> bool:
    """Whether a blanked row may look like one without values: some column has no `*`, and every such one has NULL."""
    opened = Opened.at(run.engine, target, "audited")
    names = zip(run.binding.names, levels, strict=True)
    nullable = [item.has_null for name, item in names if opened.family(name) is not Family.TEXT]
    return run.binding.blank and bool(nullable) and all(nullable)


def released_classes(
    run: Run, target: Relation, missing: int, *, unclear: bool = False, grouped: GroupedTable | None = None
) -> exp.Query:
    """The classes of a release: `id`, rows `n`, texts `q_i`. Suppressed rows are the class of everybody: those without
    a quasi-identifier, and those that are `missing`. Rows that may be blanked or have no values are left out."""
    opened = Opened.at(run.engine, target, "audited")
    opened.require(*run.binding.names)
    side = TableSide(opened.expression(), [opened.key(name, as_text=True) for name in run.binding.names])
    if grouped is not None:
        side = grouped.side(run.binding.names)
    keys: list[exp.Expression] = [key.copy() for key in side.keys]
    leave_out: list[exp.Expression] = []
    if run.binding.blank:
        star = cast(literal(TOP), "text")
        nothing = all_of(_blanked(key, opened.family(name)) for name, key in zip(run.binding.names, keys, strict=True))
        if unclear:
            leave_out.append(exp.Not(this=exp.Paren(this=nothing)))
        else:
            keys = [exp.Case().when(nothing.copy(), star.copy()).else_(key) for key in keys]
    weight = literal(1) if side.weight is None else side.weight.copy()
    rows = exp.select(*(named(key, f"q_{place}") for place, key in enumerate(keys)), named(weight, "n"))
    rows = rows.from_(side.relation.copy()).where(*leave_out)
    names: list[exp.Expression] = [column(f"q_{place}") for place in range(len(keys))]
    order = exp.Order(expressions=[exp.Ordered(this=name.copy()) for name in names])
    number = exp.Window(this=exp.RowNumber(), order=order)
    total_of = cast(exp.Sum(this=column("n")), "bigint")
    found = exp.select(named(number, "id"), named(total_of, "n"), *names).from_(subquery(rows, "rows"))
    found = found.group_by(*(name.copy() for name in names))
    if not missing:
        return found
    stars = [named(cast(literal(TOP), "text"), f"q_{place}") for place in range(len(keys))]
    return union_all([found, exp.select(named(literal(0), "id"), named(literal(missing), "n"), *stars)])


def _missing(run: Run, target: Relation) -> int:
    """How many rows the release lacks: known to whoever knows how many the source has."""
    if run.binding.history is not None:
        return 0
    numbers = []
    for relation in (run.binding.source, target):
        statement = Statement("count rows", row_count(run.engine.traits.relation(relation, "counted")))
        [(number,)] = run.engine.query(statement)
        numbers.append(int(number))
    return max(0, numbers[0] - numbers[1])


_PAIRS = """
select coalesce(sum(known), 0) as classes, coalesce(sum(known * n), 0) as people,
  coalesce(sum(case when free = 0 then n else 0 end), 0) as pinned,
  coalesce(sum(case when free = 0 then 1 else 0 end), 0) as pinned_classes,
  coalesce(sum(case when free >= 0 then n else 0 end), 0) as narrowed, min(case when free > 0 then free end) as slack,
  coalesce(sum(case when free < 0 then 1 else 0 end), 0) as contradicting,
  coalesce(sum((1 - known) * n), 0) as unread
from each as e
"""


def pairs_of_branches(classes: exp.Query, levels: Sequence[LabelLevels], least: Sequence[int], run: Run) -> exp.Select:
    """Classes by how free the branches under their labels are: at 0 a pair has one row under each of two branches.

    A label is the least one that covers its group, so that two branches under it have a row at least.
    """
    select = exp.select(column("n", "r")).from_(subquery(classes, "r"))
    free: list[exp.Expression] = []
    read: list[exp.Expression] = []
    for place, (item, lowest) in enumerate(zip(levels, least, strict=True)):
        alias = f"b_{place}"
        on = same(column(f"q_{place}", "r"), column("label", alias))
        branches = table_expression(_branches(item, lowest, run, place), alias)
        select = select.join(branches, on=on, join_type="left", copy=False)
        number = column("branches", alias)
        of_pair = exp.Case().when(exp.LT(this=column("n", "r"), expression=literal(2)), literal(-1))
        left = exp.Sub(this=exp.Add(this=column("n", "r"), expression=number.copy()), expression=literal(4))
        free.append(exp.Case().when(exp.GT(this=number.copy(), expression=literal(1)), of_pair.else_(left)))
        read.append(is_null(number))
    known = exp.Case().when(any_of(read), literal(0)).else_(literal(1))
    least_free = exp.Least(this=free[0], expressions=free[1:], ignore_nulls=True) if free[1:] else free[0]
    return query(_PAIRS, {"each": select.select(named(known, "known"), named(least_free, "free"), copy=False)})


def pairs_of_ends(classes: exp.Query, levels: Sequence[LabelLevels], least: Sequence[int], run: Run) -> exp.Select:
    """Classes by whether some label is more than one value: both its ends are taken, so of a pair each has one."""
    select = exp.select(column("n", "r")).from_(subquery(classes, "r"))
    wide: list[exp.Expression] = []
    for place, (item, lowest) in enumerate(zip(levels, least, strict=True)):
        alias = f"b_{place}"
        single = exp.select(named(item.labels[lowest].copy(), "label")).distinct().from_(table_expression(item.table))
        values = run.scratch.create("labels of values", f"yv{place}", single)
        on = equal(column(f"q_{place}", "r"), column("label", alias))
        select = select.join(table_expression(values, alias), on=on, join_type="left", copy=False)
        wide.append(all_of([is_null(column("label", alias)), is_present(column(f"q_{place}", "r"))]))
    more = exp.Sub(this=column("n", "r"), expression=literal(2))
    free = exp.Case().when(any_of(wide), more)
    return query(_PAIRS, {"each": select.select(named(literal(1), "known"), named(free, "free"), copy=False)})


def _branches(item: LabelLevels, lowest: int, run: Run, place: int) -> Table:
    """The labels of a hierarchy with their `branches`: the labels of the level below them; 1 where none is released."""
    height, create = item.height, run.scratch.create
    listed = create("labels of levels", f"yl{place}", codes(item.table, item.labels))
    known = create("labels of levels", f"yk{place}", known_of(listed, height, has_null=item.has_null))
    parts: list[exp.Query] = []
    for level in range(lowest + 1, height + 1):
        code = column(f"code_{level}") if level < height else literal(1)
        below = exp.Count(this=exp.Distinct(expressions=[column(f"code_{level - 1}")]))
        more = exp.Add(this=below, expression=literal(int(item.has_null and level == height)))
        part = exp.select(named(literal(level), "level"), named(code, "code"), named(more, "branches"))
        parts.append(part.from_(table_expression(item.table)).group_by(*([code.copy()] if level < height else [])))
    number: exp.Expression = literal(1)
    select = exp.select(column("label", "k")).from_(table_expression(known, "k"))
    if parts:
        on = all_of([equal(column("low", "k"), column("level", "p")), equal(column("code", "k"), column("code", "p"))])
        select = select.join(subquery(union_all(parts), "p"), on=on, join_type="left", copy=False)
        number = exp.Coalesce(this=column("branches", "p"), expressions=[literal(1)])
    return create("branches", f"yb{place}", select.select(named(number, "branches"), copy=False))
