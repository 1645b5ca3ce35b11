"""The source with its columns as they are released: rules carried out, columns derived, all before anything is counted.

What the search counts, what is staged and what the audit compares with is one and the same query over the source, so
every algorithm, engine and target holds to the rules. Secret offsets stand in a scratch table that its owner alone can
read; where no run has made it, columns that need it are NULL. Reads the catalog, and the source where a table that
values are looked up in may lack some.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from secrets import token_hex

from sqlglot import exp

from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.errors import SourceError, SpecError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.hierarchies.definition import join_name
from sqlanon.source import governed_statements as governed_sql
from sqlanon.source.governed_statements import MOMENTS, NUMBERS
from sqlanon.source.history import BoundHistory
from sqlanon.source.keyed_hash import HashSecret, KeyedHash, canonical_text, secret_of
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Column, Spec
from sqlanon.spec.columns import rules_of
from sqlanon.spec.findings import shifts_of
from sqlanon.spec.rules import Derive, Pseudonym, RowRule, TableLookup
from sqlanon.sql.build import equal, is_present, left_join, named, subquery
from sqlanon.sql.relations import Query, Relation, Table, cast, column, literal, table_expression
from sqlanon.sql.traits import Traits

FITTING: Mapping[str, frozenset[Family]] = {
    "round": NUMBERS,
    "truncate": MOMENTS,
    "cap": NUMBERS | {Family.DATE, Family.TIMESTAMP},
    "bucket": NUMBERS,
    "shift": MOMENTS,
    "mean": NUMBERS,
    "median": NUMBERS,
}
"""The kinds of values that each rule knows what to do with."""

OFFSETS = "sqlanon_offsets"
"""What the table of secret offsets is called in a query."""
PSEUDONYMS = "sqlanon_pseudonyms"
PURPOSE = "shift"


@dataclass(frozen=True)
class Governed:
    """The rules of a spec over its source."""

    spec: Spec
    origin: Relation
    columns: Mapping[str, ColumnInfo]
    """The columns of the source, in its order."""
    k: int
    lookups: Mapping[str, ColumnInfo]
    """The columns that tables of looked up values are read by, for each derived column that has one."""
    offsets: Table | None = None
    """`person` and `days`, where a run has made them."""
    pseudonyms: Table | None = None
    """`person` and `pseudonym`, where a run has made them."""

    @property
    def pseudonym(self) -> tuple[str, Pseudonym] | None:
        """The identifier that is released under a pseudonym, which also tells persons apart."""
        found = {name: listed.pseudonym for name, listed in self.spec.columns.items()}
        return next(((name, asked) for name, asked in found.items() if asked is not None), None)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that are never released, whatever the spec says of those that it does not list."""
        return () if self.pseudonym is None else (self.person,)

    def by_raw_key(self, history: BoundHistory, known: Mapping[str, ColumnInfo]) -> BoundHistory:
        """A ledger that knows persons by their own key, whatever pseudonym they have in this release."""
        return history if self.pseudonym is None else replace(history, key=known[self.person])

    @property
    def person(self) -> str:
        """What the key of the person is called that only a ledger reads, beside its pseudonym."""
        return "sqlanon own key"

    def relation(self, traits: Traits) -> Query:
        """The source as its columns are released."""
        joins: list[exp.Join] = []
        items = [named(self._shown(info, traits, joins), name) for name, info in self._kept()]
        for name, column_ in self.spec.columns.items():
            if column_.derive is not None:
                items.append(named(self._derived(name, column_.derive, traits, joins), name))
        if self.pseudonym is not None:
            items.append(named(column(self.pseudonym[0], "source"), self.person))
        for table, alias in ((self.offsets, OFFSETS), (self.pseudonyms, PSEUDONYMS)):
            if table is not None:
                same = equal(self._person_text(traits), column("person", alias))
                joins.append(left_join(table_expression(table, alias), same))
        select = exp.select(*items).from_(traits.relation(self.origin, "source"), copy=False)
        for join in joins:
            select.append("joins", join)
        return Query(select, str(self.origin))

    def _kept(self) -> Iterator[tuple[str, ColumnInfo]]:
        """The columns of the source; those that others are derived from only where the spec names them."""
        bases = bases_of(self.spec)
        named_ones = {*self.spec.columns, self.spec.respondent}
        return ((name, info) for name, info in self.columns.items() if name in named_ones or name not in bases)

    def _shown(self, info: ColumnInfo, traits: Traits, joins: list[exp.Join]) -> exp.Expression:
        value = column(info.name, "source")
        listed = self.spec.columns.get(info.name)
        rule = None if listed is None else listed.rule
        if listed is not None and listed.pseudonym is not None:
            kind = "bigint" if listed.pseudonym.format == "integer" else "text"
            return cast(exp.Null(), kind) if self.pseudonyms is None else column("pseudonym", PSEUDONYMS)
        if rule is None:
            return value
        if rule.round is not None:
            return governed_sql.rounded(value, info.family, rule.round, traits)
        if rule.truncate is not None:
            return governed_sql.truncated(value, info.family, rule.truncate)
        if rule.bucket is not None:
            return governed_sql.bucketed(value, info.family, rule.bucket, traits)
        if rule.cap is not None:
            return self._capped(info, rule, traits, joins)
        if self.offsets is None:
            return exp.Cast(this=exp.Null(), to=info.type.copy())
        return traits.days_later(value, column("days", OFFSETS), info.family)

    def _capped(self, info: ColumnInfo, rule: RowRule, traits: Traits, joins: list[exp.Join]) -> exp.Expression:
        limits: dict[str, exp.Expression] = {}
        person = None
        if self.spec.respondent is not None:
            who = self.columns[self.spec.respondent]
            person = traits.key(column(who.name, "source"), who.family)
        value: exp.Expression = column(info.name, "source")
        for side, edge in ({} if rule.cap is None else rule.cap.edges).items():
            alias = f"sqlanon_edge_{len(joins)}"
            source = traits.relation(self.origin, "source")
            limit = governed_sql.limit_of(source, info, side, edge, person, self.k, traits)
            joins.append(exp.Join(this=subquery(limit, alias), kind="CROSS"))
            limits[side] = column("edge", alias)
        found = governed_sql.capped(value, limits)
        if info.family not in (Family.FLOAT, Family.DECIMAL):
            return found
        no_number = equal(traits.text(value.copy(), info.family), literal("NaN"))
        return exp.Case().when(no_number, value.copy()).else_(found)

    def _derived(self, name: str, derive: Derive, traits: Traits, joins: list[exp.Join]) -> exp.Expression:
        info = self.columns[derive.base]
        value = column(info.name, "source")
        if derive.age is not None:
            return governed_sql.age(value, info.family, derive.age, traits)
        if derive.lookup is None:
            raise ValueError("a derived column has a rule")
        alias = f"sqlanon_lookup_{len(joins)}"
        found = self.found_in(name, derive.lookup, traits)
        same = equal(traits.key(value, info.family), column("found_key", alias))
        joins.append(left_join(subquery(found, alias), same))
        return column("found", alias)

    def found_in(self, name: str, lookup: TableLookup, traits: Traits) -> exp.Select:
        """The table that the values of a derived column are looked up in, one row for each key."""
        key = traits.key(column(lookup.key, "looked_up"), self.lookups[name].family)
        return governed_sql.found_in(lookup, key)

    def _person_text(self, traits: Traits) -> exp.Expression:
        who = self.columns[self.spec.respondent or ""]
        return traits.key(canonical_text(column(who.name, "source"), who, traits), Family.TEXT)

    def prepared(self, engine: Engine, scratch: Scratch, target: str, *, pseudonyms: bool = True) -> Governed:
        """The same with what a run makes by secrets: everybody's offset of dates, everybody's pseudonym.

        Without `pseudonyms` these stay NULL: another table of the release has made them for everybody.
        """
        found = self
        shifts = shifts_of(self.spec)
        if shifts:
            name, shift = next(iter(shifts.items()))
            secret = secret_of(f"columns.{name}.release.shift.secret", shift.secret).for_purpose(PURPOSE)
            made = self._everybody(engine, scratch, secret, "offsets", "days", governed_sql.offset(shift.days))
            found = replace(found, offsets=made)
        if self.pseudonym is not None and pseudonyms:
            name, asked = self.pseudonym
            secret = secret_of(f"columns.{name}.pseudonym.secret", asked.secret)
            secret = secret.for_purpose(self._purpose(asked, target))
            form = governed_sql.pseudonym(asked.format)
            made = self._everybody(engine, scratch, secret, "pseudonyms", "pseudonym", form)
            found = replace(found, pseudonyms=made)
        return found

    def _purpose(self, asked: Pseudonym, target: str) -> str:
        """What a key of pseudonyms is for: pseudonyms of two purposes do not join."""
        if asked.scope == "release" or self.spec.ledger is None:
            return f"pseudonym of release {token_hex(16)}"
        # Another source has another ledger: nothing joins what no ledger holds together.
        of = json.dumps([self.spec.ledger.ledger, self.spec.model_dump(mode="json", include={"source"})])
        return f"pseudonym of ledger {of}" + (f" for {target}" if asked.scope == "recipient" else "")

    def _everybody(
        self, engine: Engine, scratch: Scratch, secret: HashSecret, what: str, name: str, made: exp.Expression
    ) -> Table:
        """A private table of everybody with something made of the keyed hash of their key."""
        step = f"secret {what}"
        keyed = KeyedHash.stored(engine, scratch, secret, f"{what}_key")
        text = self._person_text(engine.traits)
        source = engine.traits.relation(self.origin, "source")
        people = exp.select(named(text, "person")).distinct().from_(source, copy=False)
        hashed = exp.select(column("person"), named(keyed.of_text(column("person")), "hash"))
        hashed = hashed.from_(subquery(people, "people")).where(is_present(column("person")))
        hashes = scratch.create(step, f"{what}_hashes", hashed)
        query = exp.select(column("person"), named(made, name)).from_(table_expression(hashes))
        table = scratch.create(step, what, query)
        engine.analyze(step, table)
        scratch.drop(hashes, keyed.table)
        return table


def bases_of(spec: Spec) -> frozenset[str]:
    """The columns that others are derived from."""
    return frozenset(column_.derive.base for column_ in spec.columns.values() if column_.derive is not None)


def own_columns(spec: Spec) -> list[str]:
    """The listed columns that the source must have."""
    return [name for name, column_ in spec.columns.items() if column_.derive is None]


_OURS = re.compile(
    r"sqlanon (person|class|told|left|value_\d+|own key|true value|(place|values|row) .*)", re.IGNORECASE | re.DOTALL
)
"""What is added to rows while a release is made of them."""


def misnamed(spec: Spec, infos: Sequence[ColumnInfo]) -> list[str]:
    """What is wrong with names of columns: those that the source should have, and those that are ours."""
    known = [info.name for info in infos]
    problems = [
        f"columns.{name}: sqlanon gives this name to a column of its own; rename it by a source query"
        for name in dict.fromkeys((*known, *spec.columns))
        if _OURS.fullmatch(name)
    ]
    for name in own_columns(spec):
        if name not in known:
            near = [other for other in known if other.casefold() == name.casefold()]
            near = near or get_close_matches(name, known, 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            problems.append(f"columns.{name}: the source has no column '{name}'{hint}")
    return problems


def is_released(spec: Spec, name: str, rules: Governed | None) -> bool:
    """Whether a column stands in the release."""
    if rules is not None and name in rules.hidden:
        return False
    listed = spec.columns.get(name)
    if listed is None:
        return spec.default_role != "identifier"
    return listed.pseudonym is not None or (listed.role != "identifier" and not listed.dropped)


def governed(spec: Spec, engine: Engine, origin: Relation, infos: tuple[ColumnInfo, ...], k: int) -> Governed | None:
    """The rules over a source; None where the spec has none. Refused where a rule does not fit its column."""
    if not rules_of(spec.columns):
        return None
    if not engine.traits.rules:
        raise UsageError(
            f"columns.{next(iter(rules_of(spec.columns)))}: rules are carried out on DuckDB, PostgreSQL and Spark; "
            f"{engine.name} is not among them: make the column in a source query"
        )
    known = {info.name: info for info in infos}
    for name, column_ in spec.columns.items():
        _require_fit(name, column_, known)
    if k < 2:
        for name, column_ in spec.columns.items():
            if column_.pseudonym is not None:
                raise SpecError(f"columns.{name}.pseudonym: it needs privacy.k of at least 2")
            if column_.averaged or (column_.rule is not None and column_.rule.cap is not None):
                raise SpecError(f"columns.{name}.release: it needs privacy.k of at least 2")
    lookups = {
        name: _lookup_key(name, column_.derive.lookup, engine, known)
        for name, column_ in spec.columns.items()
        if column_.derive is not None and column_.derive.lookup is not None
    }
    if spec.respondent is not None and spec.respondent not in known:
        raise SourceError(f"respondent: the source has no column '{spec.respondent}'")
    found = Governed(spec, origin, known, k, lookups)
    for name, info in lookups.items():
        _require_listed(name, info, engine, found)
    return found


def _require_fit(name: str, column_: Column, known: Mapping[str, ColumnInfo]) -> None:
    if column_.derive is not None:
        base = column_.derive.base
        if name in known:
            raise SpecError(
                f"columns.{name}.derive: the source has a column '{name}'; give the derived one another name"
            )
        if base not in known:
            raise SourceError(f"columns.{name}.derive: the source has no column '{base}'")
        if column_.derive.age is not None and known[base].family not in MOMENTS:
            raise SpecError(f"columns.{name}.derive: '{base}' holds {known[base].family.value} values, not dates")
        return
    kind = column_.rule.name if column_.rule is not None else column_.release
    if not isinstance(kind, str) or kind not in FITTING or name not in known:
        return
    family = known[name].family
    if family not in FITTING[kind]:
        raise SpecError(f"columns.{name}.release: {kind} does not fit a column of {family.value} values")
    rule = column_.rule
    if rule is None:
        return
    if rule.round is not None and family is Family.INTEGER and rule.round % 1:
        raise SpecError(f"columns.{name}.release.round: the column holds whole numbers; write a whole number")
    for side, edge in ({} if rule.cap is None else rule.cap.edges).items():
        of_number = type(edge.value).__name__ == "Decimal"
        if edge.value is not None and of_number is not (family in NUMBERS):
            raise SpecError(
                f"columns.{name}.release.cap.{side}: the column holds {family.value} values; write such a one"
            )
    if rule.truncate == "hour" and family is Family.DATE:
        raise SpecError(f"columns.{name}.release.truncate: the column holds dates; write day or more")


def _lookup_key(name: str, lookup: TableLookup, engine: Engine, known: Mapping[str, ColumnInfo]) -> ColumnInfo:
    table = Table(lookup.table)
    there = {info.name: info for info in engine.columns(table)}
    for column_ in (lookup.key, lookup.value):
        if column_ not in there:
            raise SourceError(f"columns.{name}.derive: {join_name(lookup.table)} has no column '{column_}'")
    key, base = there[lookup.key], known[lookup.of]
    if key.family is not base.family:
        raise SpecError(
            f"columns.{name}.derive: '{lookup.of}' holds {base.family.value} values, '{lookup.key}' of "
            f"{join_name(lookup.table)} {key.family.value} values"
        )
    return key


def _require_listed(name: str, info: ColumnInfo, engine: Engine, found: Governed) -> None:
    """SourceError where a table lacks values of the source, or lists one with several others."""
    derive = found.spec.columns[name].derive
    lookup = None if derive is None else derive.lookup
    if lookup is None:
        return
    source = engine.traits.relation(found.origin, "source")
    key = engine.traits.key(column(lookup.of, "source"), info.family)
    query = governed_sql.unlisted(source, key, found.found_in(name, lookup, engine.traits))
    [(missing, several)] = engine.query(Statement(f"look up {name}", query))
    if several:
        raise SourceError(
            f"columns.{name}.derive: {join_name(lookup.table)} lists {several} values of '{lookup.key}' with more than "
            f"one '{lookup.value}'"
        )
    if missing:
        raise SourceError(
            f"columns.{name}.derive: {missing} values of '{lookup.of}' are not in {join_name(lookup.table)}; add them"
        )
