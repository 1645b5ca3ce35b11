"""The statement that measures one sensitive column of a table: one scan of it, however many models are asked.

Its steps in order: `domain` and `reference` (`statements.values`); the cells, how many of a class have a value, as
`weighed` (class, size, members, the columns of `reference`; by persons also `held`, `rows` and `sole`); `sorted`, where
a model needs an order among the cells; `measured`, one row per class with what `statements.models` reads. Few values
are counted side by side instead, in one GROUP BY (`side_by_side`). The answer is one row of figures and counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from sqlglot import exp

from sqlanon.auditor.statements import models
from sqlanon.auditor.statements.classes import (
    NARROW,
    WIDE,
    AuditQuestion,
    Steps,
    greatest,
    least,
    statement,
    step,
    times,
    wide,
)
from sqlanon.auditor.statements.values import (
    AuditedValues,
    CountedSide,
    class_number,
    code_of,
    holdings,
    reference_queries,
    sized,
    with_domain,
)
from sqlanon.sql.build import count, equal, is_null, is_present, named, subquery, total, total_where
from sqlanon.sql.relations import cast, column, identifier, literal


def cells(audited: CountedSide, keys: Sequence[exp.Expression]) -> Steps:
    """The steps from `domain` and `reference` to `weighed`.

    Persons are counted by their holdings, rows by windows over counted groups.
    """
    if audited.person is not None:
        return _by_persons(audited, keys, audited.person)
    return _by_windows(audited, keys)


def _by_windows(audited: CountedSide, keys: Sequence[exp.Expression]) -> Steps:
    names = [f"key_{position}" for position in range(len(keys))]
    items = [named(key.copy(), name) for name, key in zip(names, keys, strict=True)]
    grouped = exp.select(*items, named(audited.value.copy(), "value"), named(count(), "members"))
    grouped = _grouped(grouped.from_(audited.relation.copy(), copy=False), [*keys, audited.value])
    value = column("value", "grouped")
    numbered = exp.select(
        *(column(name, "grouped") for name in names),
        column("members", "grouped"),
        named(code_of(value), "code"),
        named(exp.Window(this=exp.RowNumber()), "number"),
    ).from_(step("grouped"), copy=False)
    partition: list[exp.Expression] = [column(name) for name in names]
    size = exp.Window(this=exp.Sum(this=column("members")), partition_by=partition)
    sizes = exp.select(
        named(class_number(names), "class"), named(cast(size, "bigint"), "size"), column("code"), column("members")
    ).from_(step("numbered"), copy=False)
    return {
        "grouped": grouped,
        "numbered": with_domain(numbered, value),
        "sizes": sizes,
        "weighed": _with_reference("sizes", ("class", "size", "members")),
    }


def _by_persons(audited: CountedSide, keys: Sequence[exp.Expression], person: exp.Expression) -> Steps:
    rows = with_domain(exp.select().from_(audited.relation.copy(), copy=False), audited.value)
    steps = holdings("audited", rows, keys, person, code_of(audited.value))
    steps["sizes"] = sized("audited")
    steps["weighed"] = _with_reference("sizes", ("class", "size", "members", "held", "rows", "sole"))
    return steps


def _with_reference(name: str, columns: Sequence[str]) -> exp.Select:
    items = [column(item, name) for item in columns]
    on = equal(column("code", name), column("code", "reference"))
    return exp.select(*items, _all("reference")).from_(step(name), copy=False).join(step("reference"), on=on)


def _grouped(select: exp.Select, keys: Sequence[exp.Expression]) -> exp.Select:
    return select.group_by(*(key.copy() for key in keys), copy=False) if keys else select


def _all(name: str) -> exp.Column:
    return exp.Column(this=exp.Star(), table=identifier(name))


MOST_VALUES = 32
"""More values than these would make a class too wide."""

OF_CLASS = frozenset({"size", "total", "reference_values"})
"""What is the same for every value."""


def classes(audited: CountedSide, keys: Sequence[exp.Expression], values: int, *, has_null: bool) -> exp.Select:
    """The size of each class and, as members_<code>, how many have each value.

    A value that appeared after the values were numbered is in none of them: the sums tell.
    """
    items = [named(count(), "size")]
    for code in range(1, values + 1):
        is_value = equal(column("code", "domain"), literal(code))
        if has_null and code == 1:
            is_value = is_null(audited.value.copy())
        items.append(named(exp.Count(this=exp.Case().when(is_value, literal(1))), f"members_{code}"))
    select = with_domain(exp.select(*items).from_(audited.relation.copy(), copy=False), audited.value)
    return select.group_by(*(key.copy() for key in keys), copy=False) if keys else select


def reference_in_one_row(columns: Sequence[str], values: int) -> exp.Select:
    """The columns of `reference` with one column for each value."""
    items = [named(exp.Max(this=column(name)), name) for name in columns if name in OF_CLASS]
    for name in columns:
        if name in OF_CLASS:
            continue
        for code in range(1, values + 1):
            of_value = exp.Case().when(equal(column("code"), literal(code)), column(name))
            items.append(named(exp.Max(this=of_value), f"{name}_{code}"))
    return exp.select(*items).from_(step("reference"), copy=False)


def steps(
    audited: CountedSide, keys: Sequence[exp.Expression], columns: Sequence[str], values: int, *, has_null: bool
) -> Steps:
    """The steps from `domain` and `reference` to `side_by_side`: a row for each class.

    The fast way to measure few values: nothing is grouped twice, and no class needs a number.
    """
    both = exp.select(exp.Star()).from_(step("classes"), copy=False).join(step("whole"), join_type="cross", copy=False)
    return {
        "classes": classes(audited, keys, values, has_null=has_null),
        "whole": reference_in_one_row(columns, values),
        "side_by_side": both,
    }


def in_columns(aggregate: exp.Expression, values: int) -> exp.Expression:
    """An aggregate over the cells of a class as an expression over the columns of its row.

    A sum of terms for SUM and COUNT, GREATEST and LEAST for MAX and MIN, over members_1, members_2, ...
    """

    def replaced(node: exp.Expr) -> exp.Expr:
        return _combined(node, values) if isinstance(node, exp.AggFunc) else node

    return _expression(aggregate.transform(replaced))


def _combined(aggregate: exp.AggFunc, values: int) -> exp.Expression:
    value: exp.Expression = aggregate.this
    if not isinstance(value, exp.Star) and not any(_is_of_value(item) for item in value.find_all(exp.Column)):
        return value
    codes = range(1, values + 1)
    match aggregate:
        case exp.Sum():
            return _sum(_of(value, code) for code in codes)
        case exp.Count() if isinstance(value, exp.Star):
            return _sum(_one_if(exp.GT(this=column(f"members_{code}"), expression=literal(0))) for code in codes)
        case exp.Count():
            return _sum(_one_if(is_present(_of(value, code))) for code in codes)
        case exp.Max():
            return greatest(*(_of(value, code) for code in codes))
        case exp.Min():
            return least(*(_of(value, code) for code in codes))
    raise TypeError(f"no expression in columns for {type(aggregate).__name__}")


def _is_of_value(item: exp.Column) -> bool:
    return item.name not in OF_CLASS


def _of(value: exp.Expression, code: int) -> exp.Expression:
    """An expression over a cell as one over the columns of its value."""

    def renamed(node: exp.Expr) -> exp.Expr:
        return column(f"{node.name}_{code}") if isinstance(node, exp.Column) and _is_of_value(node) else node

    return _expression(value.transform(renamed))


def _sum(terms: Iterator[exp.Expression]) -> exp.Expression:
    return exp.Paren(this=reduce(lambda left, right: exp.Add(this=left, expression=right), terms))


def _one_if(condition: exp.Expression) -> exp.Expression:
    return exp.Case().when(condition, literal(1), copy=False).else_(literal(0), copy=False)


def _expression(node: exp.Expr) -> exp.Expression:
    """What a transformation of an expression yields."""
    if not isinstance(node, exp.Expression):
        raise TypeError(f"{type(node).__name__} is no expression")
    return node


def sorted_cells(*, ranked: bool, ordered: bool, height: int) -> Steps:
    """The steps from `weighed` to `sorted`: with `ranked` the rank of a cell by its members, with `ordered` its stretch
    of work, with a height above 0 the members of its nodes.

    The work of an ordered distance is taken in stretches between the values that a class has: its cost is that of the
    cells, not of classes times values.
    """
    items: list[exp.Expression] = [exp.Star()]
    if ranked:
        most = [exp.Ordered(this=column("members"), desc=True), exp.Ordered(this=column("code"))]
        items.append(named(_by_class(exp.RowNumber(), most), "rank_by_members"))
    for level in range(1, height):
        items += _node(level)
    if not ordered:
        return {"sorted": exp.select(*items).from_(step("weighed"), copy=False)}
    by_place = [exp.Ordered(this=column("place"))]
    items += [
        named(cast(_by_class(exp.Sum(this=column("members")), by_place), "bigint"), "reached"),
        named(_by_class(exp.Lag(this=column("place")), by_place), "last_place"),
        named(_by_class(exp.Lead(this=column("place")), by_place), "next_place"),
        named(_by_class(exp.Lead(this=column("before")), by_place), "next_before"),
    ]
    return {
        "spread": exp.select(*items).from_(step("weighed"), copy=False),
        "walked": exp.select(exp.Star(), named(_level_mark(), "mark")).from_(step("spread"), copy=False),
        "marks": _marks(),
        "crossings": _crossings(),
        "sorted": _stretches(),
    }


def _by_class(value: exp.Expression, order: Sequence[exp.Expression] = (), *more: exp.Expression) -> exp.Window:
    ordered = exp.Order(expressions=[item.copy() for item in order]) if order else None
    return exp.Window(this=value, partition_by=[column("class"), *more], order=ordered)


def _node(level: int) -> list[exp.Expression]:
    """The members under a cell's node of a level, and whether the cell is the one that speaks for the node."""
    node = column(f"node_{level}")
    members = _by_class(exp.Sum(this=column("members")), (), node)
    first = equal(column("code"), _by_class(exp.Min(this=column("code")), (), node.copy()))
    return [named(cast(members, "bigint"), f"members_{level}"), named(first, f"first_{level}")]


def _level_mark() -> exp.Expression:
    """floor(reached * total / size): references up to it lie below what the class has reached, all others above.

    Taken in two parts, so that no product exceeds the square of a class.
    """
    whole = _divided(column("total"), column("size"))
    rest = exp.Mod(this=column("total"), expression=column("size"))
    share = _divided(times(column("reached"), exp.Paren(this=rest)), column("size"))
    return exp.Add(this=times(column("reached"), whole), expression=share)


def _divided(value: exp.Expression, by: exp.Expression) -> exp.Expression:
    return cast(exp.IntDiv(this=value, expression=by), "bigint")


def _marks() -> exp.Select:
    """Every mark once, with the last place of the reference that lies exactly there and its work."""
    upto = exp.Add(this=column("before"), expression=wide(column("below")))
    reference = exp.select(named(column("below"), "mark"), column("place"), named(upto, "upto"))
    asked = exp.select(column("mark"), named(literal(0), "place"), named(wide(literal(0)), "upto")).distinct(copy=False)
    both = exp.union(
        reference.from_(step("reference"), copy=False), asked.from_(step("walked"), copy=False), distinct=False
    )
    place, work = exp.Max(this=column("place")), exp.Max(this=column("upto"))
    select = exp.select(column("mark"), named(place, "place"), named(work, "upto")).from_(
        subquery(both, "both"), copy=False
    )
    return select.group_by(column("mark"))


def _crossings() -> exp.Select:
    """For every mark, the last place of the reference that lies not above it; 0 before the first."""

    def so_far(name: str) -> exp.Expression:
        order = exp.Order(expressions=[exp.Ordered(this=column("mark"))])
        return exp.Window(this=exp.Max(this=column(name)), order=order)

    items = [named(so_far("place"), "crossing"), named(so_far("upto"), "crossing_upto")]
    return exp.select(column("mark"), *items).from_(step("marks"), copy=False)


def _stretches() -> exp.Select:
    """The sum of |reached * total - size * below| over the places from a cell's to the next one's.

    With c the last place of the stretch [a, b] where the reference is not above the class, and S the sum of `below` up
    to a place, it is reached * total * (2c - a + 1 - b) + size * (S(a - 1) + S(b) - 2 S(c)). Before its first value the
    class has reached nothing: size * S(a - 1) more.
    """
    before_next = exp.Sub(this=column("next_place"), expression=literal(1))
    end = exp.Coalesce(this=before_next, expressions=[column("places")])
    work_at_end = exp.Coalesce(this=column("next_before"), expressions=[column("work")])
    before_place = exp.Paren(this=exp.Sub(this=column("place"), expression=literal(1)))
    crossing = _between(column("crossing"), before_place, end)
    work_at_crossing = _between(column("crossing_upto"), column("before"), work_at_end)
    places = exp.Sub(
        this=exp.Sub(this=times(literal(2), wide(crossing)), expression=wide(before_place.copy())),
        expression=wide(end.copy()),
    )
    level = times(wide(column("reached")), wide(column("total")), exp.Paren(this=places))
    works = exp.Sub(
        this=exp.Add(this=wide(column("before")), expression=wide(work_at_end.copy())),
        expression=times(literal(2), wide(work_at_crossing)),
    )
    slope = times(wide(column("size")), exp.Paren(this=works))
    nothing_yet = times(wide(column("size")), wide(column("before")))
    start = exp.Case().when(is_null(column("last_place")), nothing_yet).else_(wide(literal(0)))
    stretch = exp.Add(this=exp.Add(this=level, expression=slope), expression=start)
    on = equal(column("mark", "walked"), column("mark", "crossings"))
    everything = exp.Column(this=exp.Star(), table=identifier("walked"))
    select = exp.select(everything, named(stretch, "stretch")).from_(step("walked"), copy=False)
    return select.join(step("crossings"), on=on)


def _between(value: exp.Expression, low: exp.Expression, high: exp.Expression) -> exp.Expression:
    return least(greatest(value, low.copy()), high.copy())


SAFE = 2**61
"""Products of counts up to this fit a 64-bit number, with room for rows that are inserted meanwhile."""


@dataclass(frozen=True)
class ColumnDomain:
    """What is known of a column before it is measured."""

    rows: int
    reference_rows: int
    values: int
    has_null: bool

    @property
    def kind(self) -> str:
        """The type that holds the product of two counts."""
        return NARROW if self.rows * self.reference_rows < SAFE else WIDE


@dataclass
class ColumnStatement:
    """Aggregates of a class, figures over all classes and tests of each, gathered into one statement."""

    values: AuditedValues
    keys: Sequence[exp.Expression]
    domain: ColumnDomain
    aggregates: dict[str, exp.Expression] = field(default_factory=dict)
    figures: dict[str, exp.Expression] = field(default_factory=dict)
    ranked: bool = False

    @property
    def held(self) -> str:
        """How many of a class have a value: persons may have several."""
        return "held" if self.values.persons else "members"

    @property
    def reference(self) -> str:
        return "held_reference" if self.values.persons else "reference"

    @property
    def rows(self) -> str:
        """The column of a class's rows."""
        return "rows" if self.values.persons else "size"

    def __post_init__(self) -> None:
        distinct = models.distinct_values(persons=self.values.persons)
        self.aggregates |= {
            "total": exp.Max(this=column("total")),
            "counted": exp.Sum(this=column("members")),
            "distinct": distinct,
            "different": models.different_values() if self.values.persons else distinct.copy(),
            "weight": models.weight(),
            "most": exp.Max(this=column("members")),
            "most_held": exp.Max(this=column(self.held)),
            "excess": exp.Sum(this=models.excess(self.domain.kind)),
            "lift_greatest": exp.Max(this=models.lift(self.held)),
            "lift_least": exp.Min(this=models.lift(self.held)),
            "outside": models.outside(self.held, self.reference) if self.values.source is not None else literal(0),
        }
        self.figures |= {
            "uncounted": total_where(exp.NEQ(this=column("counted"), expression=column("size")), literal(1)),
            "distinct": exp.Min(this=column("distinct")),
            "entropy": exp.Min(this=models.entropy()),
            "largest_share": exp.Max(this=models.share("most_held")),
            "equal": exp.Max(this=models.distance("excess", literal(1))),
            "ratio_greatest": exp.Max(this=models.ratio("lift_greatest")),
            "ratio_least": exp.Min(this=models.ratio("lift_least")),
            "outside": total(column("outside")),
        }

    def test(self, name: str, passes: exp.Expression) -> None:
        """Count the classes that do not pass, and their rows."""
        for figure, value in (("classes", literal(1)), ("rows", column(self.rows))):
            failing = exp.Case().when(passes.copy(), literal(0)).else_(value)
            self.figures[f"{figure}_failing_{name}"] = total(failing)

    def question(self, name: str) -> AuditQuestion:
        """The figures of the column, over one row for each class."""
        return AuditQuestion(f"audit {name}", self._rows(), self.figures)

    def tests(self, name: str) -> AuditQuestion:
        """The classes, those whose values were not all counted, and those that fail each test: nothing else."""
        figures = {"classes": count(), "uncounted": self.figures["uncounted"]}
        figures |= {test: value for test, value in self.figures.items() if test.startswith("classes_failing_")}
        read = {item.name for value in figures.values() for item in value.find_all(exp.Column)}
        aggregates = {alias: value for alias, value in self.aggregates.items() if alias in read}
        # What a statement is made with is overwritten: only what the tests read is computed.
        fewer = replace(self)
        fewer.aggregates, fewer.figures = aggregates, figures
        return fewer.question(name)

    def _rows(self) -> exp.Select:
        height = 0 if self.values.taxonomy is None else self.values.taxonomy.height
        sorts = self.ranked or self.values.ordered or height > 0
        queries = reference_queries(self.values)
        if self.domain.values <= MOST_VALUES and not sorts and not self.values.persons:
            queries |= self._side_by_side()
        else:
            queries |= cells(self.values.audited, self.keys)
            if sorts:
                queries |= sorted_cells(ranked=self.ranked, ordered=self.values.ordered, height=height)
            queries["measured"] = self._measured("sorted" if sorts else "weighed")
        return statement(exp.select().from_(step("measured"), copy=False), queries)

    def _side_by_side(self) -> Steps:
        flags = [f"flag_{position}" for position in range(len(self.values.flagged))]
        columns = ("total", "reference_values", "reference", "divisor", *flags)
        number = self.domain.values
        queries = steps(self.values.audited, self.keys, columns, number, has_null=self.domain.has_null)
        items = [named(in_columns(value, number), alias) for alias, value in self.aggregates.items()]
        queries["measured"] = exp.select(column("size"), *items).from_(step("side_by_side"), copy=False)
        return queries

    def _measured(self, name: str) -> exp.Select:
        keys = ["class", "size", *(["rows"] if self.values.persons else [])]
        items = [named(value, alias) for alias, value in self.aggregates.items()]
        select = exp.select(*(column(key) for key in keys), *items).from_(step(name), copy=False)
        return select.group_by(*(column(key) for key in keys), copy=False)


def lacks_no_value() -> exp.Expression:
    """Every value of the reference is in the class."""
    return equal(column("shared"), column("reference_values"))
