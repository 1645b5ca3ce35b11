"""Rules of columns, asked of a published table: whether each column shows what its rule says.

Shares no predicate with what carries the rules out: a rounded number is a multiple, a truncated date begins its month,
an edge of a cap is reached by at least k people of the source. Each question counts what must not be there. Reads
counts, writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from sqlanon.auditor.figures import PolicyCheck
from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.hierarchies.base import Family
from sqlanon.source.binding import Binding
from sqlanon.source.keyed_hash import canonical_text
from sqlanon.spec.rules import Edge, Pseudonym, RowRule
from sqlanon.sql.build import (
    all_of,
    any_of,
    count,
    equal,
    expression,
    is_present,
    named,
    subquery,
    total_where,
)
from sqlanon.sql.relations import Relation, cast, column, literal
from sqlanon.sql.traits import Traits

NUMBERS = frozenset({Family.INTEGER, Family.DECIMAL, Family.FLOAT})
MOMENTS = frozenset({Family.DATE, Family.TIMESTAMP, Family.TIMESTAMP_TZ})
TYPES = {Family.DATE: "date", Family.TIMESTAMP: "timestamp"}

# Of floats a part in a billion is forgiven: what is written in a file is read back as another kind of number.
_NO_MULTIPLE = """
case when abs(:value / :step) < 4503599627370496e0
    then abs(:value / :step - floor(:value / :step + 0.5)) > 1e-9 * (1 + abs(:value / :step))
    else false end
"""
LENGTHS = {"hex": 64, "uuid": 36, "base32": 32}
_MONTHS = {"year": (1,), "quarter": (1, 4, 7, 10)}


@dataclass(frozen=True)
class RuleQuestion:
    """A rule, and the query that counts what contradicts it."""

    column: str
    asked: str
    """The rule in words."""
    wrong: exp.Select

    @property
    def complaint(self) -> str:
        """What is wrong where something was counted."""
        return f"column '{self.column}' does not show what its rule says: {self.asked}"

    @property
    def holds(self) -> exp.Select:
        """TRUE where nothing was counted."""
        return exp.select(equal(exp.Subquery(this=self.wrong.copy()), literal(0)))


@dataclass(frozen=True)
class Ruled:
    """A published table, and the source whose columns it shows by rules."""

    binding: Binding
    published: Relation
    columns: Mapping[str, ColumnInfo]
    """Of the published table."""
    traits: Traits
    alone: bool = True
    """The table is the whole release: what rows of one pseudonym show together is asked of it."""

    def questions(self) -> Iterator[RuleQuestion]:
        """A question for each rule of a released column."""
        if self.binding.rules is not None and self.binding.rules.pseudonym is not None:
            yield from self._pseudonyms(*self.binding.rules.pseudonym)
        for name, listed in self.binding.spec.columns.items():
            if name not in self.binding.released or listed.release is None:
                continue
            words = listed.words()
            if listed.averaged:
                yield RuleQuestion(name, words, self._several_in_a_class(name))
                continue
            for query in self._contradicted(name, listed.rule):
                yield RuleQuestion(name, words, query)

    def _from(self) -> exp.Expression:
        return self.traits.relation(self.published, "published")

    def _rows(self, condition: exp.Expression) -> exp.Select:
        """How many published rows satisfy a condition."""
        return exp.select(total_where(condition, literal(1))).from_(self._from(), copy=False)

    def _contradicted(self, name: str, rule: RowRule | None) -> Iterator[exp.Select]:
        if rule is None:
            return
        family, value = self.columns[name].family, column(name, "published")
        fitting = NUMBERS if rule.round is not None else MOMENTS
        if (rule.round is not None or rule.truncate is not None or rule.shift is not None) and family not in fitting:
            yield self._rows(is_present(value))
        elif rule.round is not None:
            yield self._rows(_no_multiple(value, family, rule.round))
        elif rule.truncate is not None:
            yield self._rows(_not_first(value, family, rule.truncate))
        elif rule.bucket is not None:
            labels = [literal("NaN"), *(literal(label) for label in _ranges(rule.bucket))]
            text = self.traits.key(cast(value, "text"), Family.TEXT)
            yield self._rows(
                exp.And(this=is_present(value), expression=exp.Not(this=exp.In(this=text, expressions=labels)))
            )
        elif rule.cap is not None:
            for side, edge in rule.cap.edges.items():
                yield self._reached_by_few(name, side, edge)
                if edge.value is not None:
                    yield self._rows(self._beyond(value, family, side, edge.value))
        elif rule.shift is not None:
            yield from self._too_far(name, family, rule.shift.days)

    def _beyond(
        self, value: exp.Expression, family: Family, side: str, edge: Decimal | date | datetime
    ) -> exp.Expression:
        given = (
            exp.Literal.number(f"{edge:f}")
            if isinstance(edge, Decimal)
            else cast(literal(edge.isoformat()), TYPES.get(family, "timestamp"))
        )
        compared = (exp.GT if side == "top" else exp.LT)(this=value.copy(), expression=given)
        return all_of([_is_number(value, family, self.traits), compared])

    def _reached_by_few(self, name: str, side: str, edge: Edge) -> exp.Select:
        """1 where the outermost published value is reached by fewer people of the source than it must be."""
        outermost, reaches = (exp.Max, exp.GTE) if side == "top" else (exp.Min, exp.LTE)
        own = self.columns[name].family
        there = column(name, "published")
        last = exp.select(named(outermost(this=there), "edge")).from_(self._from(), copy=False)
        last = last.where(_is_number(there, own, self.traits), copy=False)
        people = self._people(name, outermost)
        whole = exp.select(
            named(count(), "people"),
            named(
                total_where(reaches(this=column("value", "person"), expression=column("edge", "last")), literal(1)),
                "reached",
            ),
            named(total_where(is_present(column("edge", "last")), literal(1)), "known"),
        ).from_(subquery(people, "person"))
        whole = whole.join(subquery(last, "last"), join_type="cross", copy=False)
        beyond = Fraction(0)
        if edge.percent is not None:
            beyond = Fraction(100 - edge.percent if side == "top" else edge.percent) / 100
        few = [
            exp.LT(this=column("reached"), expression=literal(self.binding.k)),
            exp.LT(
                this=exp.Mul(this=column("reached"), expression=literal(beyond.denominator)),
                expression=exp.Mul(this=column("people"), expression=literal(beyond.numerator)),
            ),
        ]
        wrong = all_of([exp.GT(this=column("known"), expression=literal(0)), any_of(few)])
        return exp.select(named(exp.Case().when(wrong, literal(1)).else_(literal(0)), "wrong")).from_(
            subquery(whole, "whole")
        )

    def _people(self, name: str, outermost: type[exp.Max] | type[exp.Min]) -> exp.Select:
        """Everybody of the source with the value furthest out; rows, where persons are not told apart."""
        rules, value = self.binding.rules, column(name, "source")
        known = {} if rules is None else rules.columns
        who = self.binding.spec.respondent
        found = exp.select(named(value if who is None else outermost(this=value), "value"))
        found = found.from_(self.traits.relation(self.binding.origin, "source"), copy=False)
        found = found.where(_is_number(value, known[name].family, self.traits), copy=False)
        return found if who is None else found.group_by(self.traits.key(column(who, "source"), known[who].family))

    def _pseudonyms(self, name: str, asked: Pseudonym) -> Iterator[RuleQuestion]:
        """A pseudonym has its form and is nobody's own key; many share the classes of all rows of a person."""
        value, words = column(name, "published"), asked.words()
        if asked.format != "integer":
            length = exp.Length(this=cast(value.copy(), "text"))
            other = exp.NEQ(this=length, expression=literal(LENGTHS[asked.format]))
            yield RuleQuestion(name, words, self._rows(all_of([is_present(value), other])))
            yield RuleQuestion(name, words, self._own_keys(name))
        for columns, k in self.binding.spec.privacy.groups(self.binding.names).values() if self.alone else ():
            asked_of = f"all rows of a person show classes that at least {k or self.binding.k} people share"
            if self.binding.sensitive:
                asked_of = "all rows of a person show one class, so that what is asked of classes is asked of people"
            asked_of += " (generalize what changes from row to row, or remove the pseudonym)"
            yield RuleQuestion(name, asked_of, self._alone(name, columns, k or self.binding.k))

    def _own_keys(self, name: str) -> exp.Select:
        """How many published keys are keys of the source."""
        rules = self.binding.rules
        if rules is None:
            raise ValueError("a pseudonym is a rule")
        text = canonical_text(column(name, "source"), rules.columns[name], self.traits)
        own = exp.select(named(self.traits.key(text, Family.TEXT), "own")).distinct()
        own = own.from_(self.traits.relation(self.binding.origin, "source"), copy=False)
        shown = self.traits.key(cast(column(name, "published"), "text"), Family.TEXT)
        found = exp.select(count()).from_(self._from(), copy=False)
        return found.join(subquery(own, "keys"), on=equal(shown, column("own", "keys")), copy=False)

    def _alone(self, name: str, columns: Sequence[str], k: int) -> exp.Select:
        """How many people show a set of classes that fewer than k people show.

        Where sensitive values are judged, more than one class is too many: of people who share several of them
        nothing is asked.
        """
        order = exp.Order(expressions=[exp.Ordered(this=column(item, "published")) for item in columns])
        number = exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=order)
        rows = exp.select(named(column(name, "published"), "person"), named(cast(number, "text"), "class"))
        rows = rows.from_(self._from(), copy=False).where(is_present(column(name, "published")), copy=False)
        pairs = exp.select(column("person"), column("class")).distinct().from_(subquery(rows, "rows_of_people"))
        people = exp.select(
            named(self.traits.joined_in_order(column("class")), "classes"), named(count(), "number")
        ).from_(subquery(pairs, "pairs"))
        people = people.group_by(column("person"))
        sets = exp.select(named(count(), "people"), named(exp.Max(this=column("number")), "number"))
        sets = sets.from_(subquery(people, "people")).group_by(column("classes"))
        several = exp.GT(this=column("number"), expression=literal(1))
        few = exp.LT(this=column("people"), expression=literal(k))
        wrong = any_of([few, several]) if self.binding.sensitive else few
        return exp.select(total_where(wrong, column("people"))).from_(subquery(sets, "sets"))

    def _too_far(self, name: str, family: Family, days: int) -> Iterator[exp.Select]:
        """Rows of dates that lie further beyond all dates of the source than any person's dates can move."""
        value = column(name, "published")
        for bound, beyond, sign in ((exp.Min, exp.LT, -1), (exp.Max, exp.GT, 1)):
            last = exp.select(named(bound(this=column(name, "source")), "edge"))
            last = last.from_(self.traits.relation(self.binding.origin, "source"), copy=False)
            moved = self.traits.days_later(
                column("edge", "last"), exp.Paren(this=exp.Literal.number(sign * days)), family
            )
            far = beyond(this=value.copy(), expression=moved)
            found = exp.select(total_where(far, literal(1))).from_(self._from(), copy=False)
            yield found.join(subquery(last, "last"), join_type="cross", copy=False)

    def _several_in_a_class(self, name: str) -> exp.Select:
        """How many classes show more than one value of a column."""
        shown, value = exp.Count(this=column(name, "published")), column(name, "published")
        different = exp.NEQ(this=exp.Min(this=value), expression=exp.Max(this=value.copy()))
        some = all_of([exp.GT(this=shown, expression=literal(0)), exp.LT(this=shown.copy(), expression=count())])
        by = [column(item, "published") for item in self.binding.names]
        classes = exp.select(named(literal(1), "one")).from_(self._from(), copy=False).group_by(*by)
        classes = classes.having(any_of([different, some]))
        return exp.select(count()).from_(subquery(classes, "apart"))


def _is_number(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    there = is_present(value.copy())
    if family not in (Family.FLOAT, Family.DECIMAL):
        return there
    return all_of([there, exp.NEQ(this=traits.text(value.copy(), family), expression=literal("NaN"))])


def _no_multiple(value: exp.Expression, family: Family, step: Decimal) -> exp.Expression:
    if family is Family.FLOAT:
        return expression(_NO_MULTIPLE, value=cast(value, "double"), step=cast(literal(f"{step:f}"), "double"))
    rest = exp.Mod(this=value, expression=exp.Literal.number(f"{step:f}"))
    finite = exp.Not(this=exp.In(this=cast(value.copy(), "text"), expressions=[literal(x) for x in _NOT_FINITE]))
    return all_of([finite, exp.NEQ(this=exp.Paren(this=rest), expression=literal(0))])


_NOT_FINITE = ("NaN", "Infinity", "-Infinity")


def _not_first(value: exp.Expression, family: Family, unit: str) -> exp.Expression:
    """Whether a date is not the first moment of its period. Infinite ones have no parts, and no period."""
    local = exp.AtTimeZone(this=value, zone=literal("UTC")) if family is Family.TIMESTAMP_TZ else value

    def part(name: str) -> exp.Expression:
        return cast(exp.Extract(this=exp.var(name), expression=local.copy()), "int")

    wrong: list[exp.Expression] = []
    if unit == "hour":
        whole = exp.TimestampTrunc(this=local.copy(), unit=exp.var("HOUR"))
        return exp.NEQ(this=local.copy(), expression=whole)
    if family is not Family.DATE:
        midnight = cast(cast(local.copy(), "date"), "timestamp")
        wrong.append(exp.NEQ(this=cast(local.copy(), "timestamp"), expression=midnight))
    if unit != "day":
        wrong.append(exp.NEQ(this=part("DAY"), expression=literal(1)))
    if unit in _MONTHS:
        months = [literal(month) for month in _MONTHS[unit]]
        wrong.append(exp.Not(this=exp.In(this=part("MONTH"), expressions=months)))
    return any_of(wrong)


def _ranges(cuts: Sequence[Decimal]) -> list[str]:
    """The labels of ranges between cuts."""
    middle = [f"[{cuts[place - 1]:f}, {cuts[place]:f})" for place in range(1, len(cuts))]
    return [f"<{cuts[0]:f}", *middle, f">={cuts[-1]:f}"]


def audit_rules(
    engine: Engine, published: Relation, binding: Binding, *, alone: bool = True
) -> tuple[PolicyCheck, ...]:
    """Every rule of a spec, asked of a published table, view or file.

    Of a table that is not `alone` in its release, what the rows of a person show together is asked elsewhere.
    """
    if binding.rules is None:
        return ()
    columns = {info.name: info for info in engine.columns(published)}
    found: dict[str, PolicyCheck] = {}
    for question in Ruled(binding, published, columns, engine.traits, alone).questions():
        name = f"rule of {question.column}"
        [(wrong,)] = engine.query(Statement(name, question.wrong))
        if wrong or name not in found:
            found[name] = PolicyCheck(name, question.asked, question.complaint if wrong else "")
    return tuple(found.values())
