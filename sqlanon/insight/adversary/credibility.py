"""Credibility: how sure somebody can be of a person's sensitive value who knows that the vector below failed.

Wong, Fu, Wang and Pei, "Minimality Attack in Privacy Preserving Data Publishing" (VLDB 2007). Whoever knows everybody's
quasi-identifier, and that the search would have released a finer vector had it been acceptable, counts the ways in
which the values of each class can belong to its people (`assignments`). What passes is asked of the models themselves,
in the database. Python holds counts of classes, cells and numbered values, of so many classes at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor.downcoding import LabelLevels
from sqlanon.auditor.figures import rounded
from sqlanon.engines.base import Statement
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.hierarchies.lattice import Node
from sqlanon.insight.adversary.assignments import MOST_STEPS, Amounts, Passing, SplitClass, credibilities
from sqlanon.insight.adversary.minimality import cells_beside_release, shown_levels
from sqlanon.insight.adversary.values import Attack, Exposure, Figure
from sqlanon.privacy.base import Grouping
from sqlanon.source.run import Run
from sqlanon.source.sensitive import ValueCodes, store_codes, store_values
from sqlanon.spec import Limit
from sqlanon.sql.build import equal, is_null, named, query, subquery
from sqlanon.sql.relations import Relation, Table, cast, column, literal, table_expression
from sqlanon.sql.values import Counted, ValueTables, classes

EXPLAINED = "greatest credibility of a value for a person, for whoever knows that a vector below was not acceptable"
MOST_ROWS = 1_000
MOST_CLASSES = 2_000
"""Classes that are counted, the smallest first, and the most people of one."""
MOST_PEOPLE = 50_000
"""The most people of all these classes together: Python reads no more cells and values than that."""
_BOUNDS = {"most": MOST_ROWS, "people": MOST_PEOPLE}
MOST_PARTS = 20_000
"""Different cells that the models are asked about."""
ALL_STEPS = 2_000_000
MOST_SUPPRESSED = 300
"""The most rows that a vector below may suppress and be acceptable all the same."""
SURE = 1 - 1e-9
BY_REFERENCE = frozenset({"t_closeness", "beta_likeness", "delta_disclosure"})
"""Models that compare a class with the whole table, whose values are not all known where some are suppressed."""
ALWAYS_MINIMAL = frozenset({"samarati", "minimal"})


def not_minimal(run: Run) -> str | None:
    """Why the vector of a release says nothing of those below it; None where it does."""
    spec, binding = run.binding.spec, run.binding
    if binding.persons:
        return "with respondent a class has no fixed number of values"
    if binding.population is not None:
        return "a vector below may have failed for the population"
    if spec.privacy.choice is not None:
        return "privacy.adversary.choice draws the vector: those below need not have failed"
    if spec.privacy.margin is not None or binding.unknown_k:
        return "privacy.adversary.margin: a vector below may have failed for a k that nobody knows"
    if spec.search.constraints.before or spec.search.constraints.forbidden:
        return "search.constraints: a vector below may have been forbidden"
    limited = spec.privacy.suppression.limit != Limit(count=0)
    if limited and spec.search.algorithm not in ALWAYS_MINIMAL and spec.search.metric != "height":
        return "a vector below may have been acceptable and cost more, for the rows that it suppresses"
    if spec.search.algorithm == "datafly":
        return "the vector of datafly need not be minimal"
    return None


@dataclass(frozen=True)
class SourceCells:
    """The source by numbered classes and cells: `class`, `cell_<vector>`, `released`, codes `s_<column>`, rows `n`."""

    table: Table
    codes: tuple[ValueCodes, ...]
    tables: Mapping[int, ValueTables]
    whole: tuple[bool, ...]
    """For each sensitive column, whether all its values are told apart; else those alone that models name."""


@dataclass(frozen=True)
class Believed:
    """What whoever knows that one vector below failed believes of the values of a column."""

    certain: int
    beyond: int
    credibility: float
    uncounted: int


def credibility(run: Run, target: Relation, levels: Sequence[LabelLevels]) -> list[Attack] | str:
    """For each sensitive column the credibility of its values; or why that cannot be counted."""
    binding, grouping = run.binding, requirement_of(run.binding).whole
    if grouping is None:
        return "rows of several groupings are judged more than once"
    shown = shown_levels(run, target, levels)
    if isinstance(shown, str):
        return shown
    least = [binding.spec.columns[name].levels.min for name in binding.names]
    nodes = [shown.lowest, *_below(shown.lowest, least)]
    cells = _cells(run, target, levels, nodes)
    [(rows, missing, largest)] = run.engine.query(
        Statement("rows without a class", query(_MISSING, {"cells": cells.table}))
    )
    limit = binding.limit_rows(int(rows))
    allowed = limit - int(missing)
    reason = _unknowable(run, int(missing), int(largest), allowed)
    if reason is not None:
        return reason
    told: list[list[Believed]] = []
    statement = query(_SPLIT, {"cells": cells.table}, cell=column("cell_1"), **_BOUNDS).limit(MOST_CLASSES)
    shares = [_greatest_share(run, cells, place) for place in range(len(cells.codes))]
    for number in range(1, len(nodes)):
        believed = _of_node(run, cells, grouping, number, limit, allowed, shares)
        told += [believed] if believed is not None else []
    found = []
    for place, item in enumerate(cells.codes):
        figures = _figures(int(rows) - int(missing), [node[place] for node in told], shares[place])
        exposure = Exposure(figures, run.engine.traits.render(statement, pretty=True))
        found.append(Attack("credibility", item.item.name, EXPLAINED, "credibility", None, exposure))
    return found


def _below(node: Node, least: Sequence[int]) -> Iterator[Node]:
    """The vectors with one column one level finer, where that may be released."""
    for place, level in enumerate(node):
        if level > least[place]:
            yield (*node[:place], level - 1, *node[place + 1 :])


def _unknowable(run: Run, missing: int, largest: int, allowed: int) -> str | None:
    spec = run.binding.spec
    if allowed < 0:
        return "more rows are suppressed than the spec allows"
    if missing and largest >= run.binding.k:
        return "rows are suppressed for their values, which the release does not show"
    if missing and any(spec.privacy.entries(name) for name in BY_REFERENCE):
        return "classes are compared with the whole table, and the release lacks rows of it"
    if allowed > MOST_SUPPRESSED:
        return f"{allowed} rows more may be suppressed; up to {MOST_SUPPRESSED} are counted"
    return None


def _figures(people: int, told: Sequence[Believed], share: float) -> dict[str, Figure]:
    """Of all vectors below the one that tells most."""
    most = max(told, key=lambda one: (one.certain, one.beyond, one.credibility), default=Believed(0, 0, share, 0))
    return {
        "people": people,
        "nodes": len(told),
        "certain": most.certain,
        "beyond": most.beyond,
        "uncounted": most.uncounted,
        "share": rounded(share),
        "credibility": rounded(max(most.credibility, share)),
    }


_MISSING = """
select cast(coalesce(sum(n), 0) as bigint) as rows_of_source,
  cast(coalesce(sum(case when released = 0 then n else 0 end), 0) as bigint) as missing,
  cast(coalesce(max(case when released = 0 then n else 0 end), 0) as bigint) as largest
from (select released, class, sum(n) as n from cells as c group by released, class) as k
"""

_SHARE = """
select max(cast(held as double) / cast(size as double)) as share from (
  select class, value, sum(n) as held, sum(sum(n)) over (partition by class) as size, max(counted) as counted
  from valued as v group by class, value
) as h where counted = 1
"""

_FEW = """
select cast(coalesce(sum(case when n < :k then n else 0 end), 0) as bigint) as few
from (select :cell as cell, sum(n) as n from cells as c group by :cell) as s
"""

_SPLIT = """
select class from (
  select class, n, sum(n) over (order by n, class rows between unbounded preceding and current row) as upto from (
    select class, count(*) as cells, sum(n) as n from (
      select class, :cell as cell, sum(n) as n from cells as c where released = 1 group by class, :cell
    ) as p group by class
  ) as s where cells > 1 and n <= :most
) as t where upto <= :people order by n, class
"""

_ALL_SPLIT = """
select cast(coalesce(sum(n), 0) as bigint) as n from (
  select class, count(*) as cells, sum(n) as n from (
    select class, :cell as cell, sum(n) as n from cells as c where released = 1 group by class, :cell
  ) as p group by class
) as s where cells > 1
"""

_SIZES = """
select p.class as class, cast(sum(p.n) as bigint) as n
from cells as p join chosen as c on c.class = p.class group by p.class, :cell
"""


def _cells(run: Run, target: Relation, levels: Sequence[LabelLevels], nodes: Sequence[Node]) -> SourceCells:
    engine, binding, scratch = run.engine, run.binding, run.scratch
    values = [named(item.key("source", engine.traits), f"v_{place}") for place, item in enumerate(binding.sensitive)]
    valued = scratch.create("cells by values", "yc_valued", cells_beside_release(run, target, levels, nodes, values))
    codes = tuple(
        store_codes(engine, item, scratch, place, table_expression(valued), column(f"v_{place}"), "yc")
        for place, item in enumerate(binding.sensitive)
    )
    asking = {entry.column: True for entry in binding.spec.privacy.models() if not entry.names_value}
    whole = tuple(asking.get(item.name, False) for item in binding.sensitive)
    select = exp.select(named(_number("c0", len(binding.names)), "class"), column("released", "t"))
    for number in range(1, len(nodes)):
        select = select.select(named(_number(f"c{number}", len(binding.names)), f"cell_{number}"), copy=False)
    select = select.select(named(column("n", "t"), "n"), copy=False).from_(table_expression(valued, "t"))
    for place, item in enumerate(codes):
        alias = f"k_{place}"
        on = equal(column(f"v_{place}", "t"), column("value", alias))
        select = select.join(table_expression(item.table, alias), on=on, join_type="left", copy=False)
        select = select.select(named(_code(item, alias, place, whole=whole[place]), f"s_{place}"), copy=False)
    table = scratch.create("cells by values", "yc_cells", select)
    everything = Counted(exp.select().from_(table_expression(table)), ())
    tables = {item.position: store_values(engine, item, scratch, everything, "yc").tables for item in codes}
    scratch.drop(valued)
    return SourceCells(table, codes, tables, whole)


def _number(prefix: str, width: int) -> exp.Expression:
    """The number of a vector of labels."""
    order = exp.Order(expressions=[exp.Ordered(this=column(f"{prefix}_{place}", "t")) for place in range(width)])
    return cast(exp.Window(this=exp.DenseRank(), order=order), "bigint")


def _code(item: ValueCodes, alias: str, place: int, *, whole: bool) -> exp.Expression:
    """The code of a value; where models name a few values, all others have the code of the first of them."""
    code: exp.Expression = exp.Case().when(is_null(column(f"v_{place}", "t")), literal(0)).else_(column("code", alias))
    if whole:
        return code
    known = [literal(number) for number in sorted({number for number in item.named if number})]
    other = exp.select(exp.Min(this=column("code", "o"))).from_(table_expression(item.table, "o"))
    if not known:
        return exp.Subquery(this=other)
    other = other.where(exp.Not(this=exp.In(this=column("code", "o"), expressions=[one.copy() for one in known])))
    is_known = exp.In(this=code.copy(), expressions=known)
    return exp.Case().when(is_known, code).else_(exp.Subquery(this=other))


def _greatest_share(run: Run, cells: SourceCells, place: int) -> float:
    """The greatest share of a value in a released class, of the values that are told apart."""
    code = column(f"s_{place}")
    known: exp.Expression = exp.true()
    if not cells.whole[place]:
        named_codes = [literal(number) for number in cells.codes[place].named]
        known = exp.In(this=code.copy(), expressions=named_codes) if named_codes else exp.false()
    counted = exp.Case().when(known, literal(1)).else_(literal(0))
    valued = exp.select(column("class"), named(code, "value"), named(counted, "counted"), column("n"))
    valued = valued.from_(table_expression(cells.table)).where(equal(column("released"), literal(1)))
    [(share,)] = run.engine.query(Statement("greatest share", query(_SHARE, {"valued": valued})))
    return float(share or 0)


def _of_node(
    run: Run,
    cells: SourceCells,
    grouping: Grouping,
    number: int,
    limit: int,
    allowed: int,
    shares: Sequence[float],
) -> list[Believed] | None:
    """What is believed of each sensitive column for one vector below; None where its failing tells nothing."""
    cell = column(f"cell_{number}")
    few_rows = query(_FEW, {"cells": cells.table}, k=run.binding.k, cell=cell)
    [(few,)] = run.engine.query(Statement("cells below k", few_rows))
    if int(few) > limit or not _failed(run, cells, grouping, cell, limit):
        return None
    [(everybody,)] = run.engine.query(
        Statement("people of split classes", query(_ALL_SPLIT, {"cells": cells.table}, cell=cell))
    )
    split = _split_classes(run, cells, number)
    counted = list(_countable(split, allowed))
    people = sum(item.size for item in counted)
    passing = _passing(run, cells, grouping, counted)
    others = people < int(everybody)
    believed: dict[tuple[int, int], dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
    for one in credibilities(counted, passing, allowed, others=others):
        for place, code in enumerate(counted[one.number].kinds[one.kind]):
            believed[one.number, one.size][place, code] += one.credibility
    return [
        _believed(counted, believed, cells, place, shares[place], int(everybody) - people)
        for place in range(len(cells.codes))
    ]


def _believed(
    counted: Sequence[SplitClass],
    believed: Mapping[tuple[int, int], Mapping[tuple[int, int], float]],
    cells: SourceCells,
    place: int,
    share: float,
    uncounted: int,
) -> Believed:
    """Whom a value is credited to more than any class shows, and for certain."""
    known = set(cells.codes[place].named)
    certain, beyond, greatest = 0, 0, 0.0
    for (number, size), beliefs in believed.items():
        item = counted[number]
        people = size * item.cells.count(size)
        own = {code: min(1.0, belief) for (column_of, code), belief in beliefs.items() if column_of == place}
        told = [belief for code, belief in own.items() if cells.whole[place] or code in known]
        most = max(told, default=0.0)
        alone = len({kind[place] for kind in item.kinds}) == 1
        certain += people if most >= SURE and not alone else 0
        beyond += people if most > share + 1e-9 else 0
        greatest = max(greatest, most)
    return Believed(certain, beyond, greatest, uncounted)


def _failed(run: Run, cells: SourceCells, grouping: Grouping, cell: exp.Expression, limit: int) -> bool:
    """Whether a vector below does suppress more than the limit: where a search ended early, it need not."""
    counted = Counted(exp.select().from_(table_expression(cells.table)), [("cell", cell)])
    found = classes(counted, grouping.measures(), cells.tables)
    failing = exp.select(named(exp.Coalesce(this=exp.Sum(this=column("n")), expressions=[literal(0)]), "n"))
    failing = failing.from_(subquery(found, "found")).where(exp.Not(this=exp.Paren(this=grouping.satisfied())))
    [(rows,)] = run.engine.query(Statement("rows that fail below", failing))
    return int(rows) > limit


def _split_classes(run: Run, cells: SourceCells, number: int) -> list[SplitClass]:
    """Classes of several cells with the sizes of these and their values, the smallest first."""
    cell = column(f"cell_{number}")
    statement = query(_SPLIT, {"cells": cells.table}, cell=cell, **_BOUNDS).limit(MOST_CLASSES)
    chosen = run.scratch.create("classes of several cells", "yc_chosen", statement)
    sizes: dict[int, list[int]] = defaultdict(list)
    counted = query(_SIZES, {"cells": cells.table, "chosen": chosen}, cell=column(f"cell_{number}", "p"))
    for place, size in run.engine.query(Statement("sizes of cells", counted)):
        sizes[int(place)].append(int(size))
    kinds = [column(f"s_{place}", "p") for place in range(len(cells.codes))]
    rows = named(cast(exp.Sum(this=column("n", "p")), "bigint"), "n")
    held = exp.select(column("class", "p"), rows, *kinds).from_(table_expression(cells.table, "p"))
    held = held.join(table_expression(chosen, "c"), on=equal(column("class", "c"), column("class", "p")), copy=False)
    held = held.group_by(column("class", "p"), *(kind.copy() for kind in kinds))
    amounts: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
    for place, size, *codes in run.engine.query(Statement("values of classes", held)):
        amounts[int(place)][tuple(map(int, codes))] = int(size)
    run.scratch.drop(chosen)
    found = []
    for place, parts in sorted(sizes.items(), key=lambda item: (sum(item[1]), item[0])):
        own = sorted(amounts[place].items())
        found.append(SplitClass(tuple(sorted(parts)), tuple(n for _, n in own), tuple(kind for kind, _ in own)))
    return found


def _countable(split: Sequence[SplitClass], allowed: int) -> Iterator[SplitClass]:
    """The classes that are counted: as many as there are steps for."""
    steps, parts, known = 0, 0, set[SplitClass]()
    for item in split:
        if item in known:
            steps += (allowed + 1) ** 2
        else:
            if item.steps > MOST_STEPS:
                continue
            steps += (item.steps + 10 * len(item.amounts) * (allowed + 1)) * (allowed + 1)
            parts += len(item.parts())
        if steps > ALL_STEPS or parts > MOST_PARTS:
            return
        known.add(item)
        yield item


def _passing(run: Run, cells: SourceCells, grouping: Grouping, counted: Sequence[SplitClass]) -> Passing:
    """What passes of everything that a cell of these classes can hold: k, and all models."""
    parts: dict[SplitClass, dict[Amounts, frozenset[tuple[tuple[int, ...], int]]]] = {}
    numbers: dict[frozenset[tuple[tuple[int, ...], int]], int] = {}
    for item in dict.fromkeys(counted):
        parts[item] = {}
        for part in item.parts():
            content = frozenset((kind, amount) for kind, amount in zip(item.kinds, part, strict=True) if amount)
            parts[item][part] = content
            if sum(part) >= run.binding.k:
                numbers.setdefault(content, len(numbers))
    passed = _judged(run, cells, grouping, numbers) if numbers else set()
    return {
        item: {part: numbers.get(content) in passed for part, content in own.items()} for item, own in parts.items()
    }


def _judged(
    run: Run, cells: SourceCells, grouping: Grouping, numbers: Mapping[frozenset[tuple[tuple[int, ...], int]], int]
) -> set[int | None]:
    """The numbers of the contents that pass, as the models say of classes with such values."""
    names = ["h", "n", *(f"s_{place}" for place in range(len(cells.codes)))]
    listed = run.scratch.create_text("possible cells", "yc_possible", names)
    rows = (
        (str(number), str(amount), *map(str, kind)) for content, number in numbers.items() for kind, amount in content
    )
    run.engine.load("possible cells", listed, names, list(rows))
    numbered = exp.select(*(named(cast(column(name), "bigint"), name) for name in names))
    possible = run.scratch.create("possible cells", "yc_numbers", numbered.from_(table_expression(listed)))
    counted = Counted(exp.select().from_(table_expression(possible)), [("h", column("h"))])
    found = classes(counted, grouping.measures(), cells.tables)
    select = exp.select(column("h")).from_(subquery(found, "found")).where(grouping.satisfied())
    passed: set[int | None] = {int(number) for (number,) in run.engine.query(Statement("cells that pass", select))}
    run.scratch.drop(listed, possible)
    return passed
