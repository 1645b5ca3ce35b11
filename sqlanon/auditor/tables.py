"""The audit of several published tables that join by a pseudonym: what somebody may know of a person fits k people.

Asked of the published tables alone, over their join, by statements that share nothing with the search: rows of a person
are put in order, every combination of up to m of them is listed beside the person's own row, and the people who have it
are counted. Beside that every pseudonym of the other tables must be one of the people's. Reads counts, writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from sqlglot import exp

from sqlanon.auditor.figures import PolicyCheck
from sqlanon.engines.base import Engine, Statement
from sqlanon.notebook import html_table
from sqlanon.sql.build import all_of, count, equal, is_null, named, query, subquery, total_where
from sqlanon.sql.relations import Table, column, literal, table_expression


@dataclass(frozen=True)
class JoiningTable:
    """One published table of several."""

    name: str
    table: Table
    key: str
    """The column of the pseudonym."""
    quasi_identifiers: tuple[str, ...]
    known: int = 0
    """Rows of it that somebody may know of a person; 0: the table of people."""


@dataclass(frozen=True)
class Known:
    """What was found for one thing that somebody may know: so many rows of each other table."""

    rows: tuple[tuple[str, int], ...]
    classes: int
    """Combinations that some person has."""
    least: int
    """People who have the rarest."""
    few: int
    """Combinations that fewer than k people have."""

    @property
    def words(self) -> str:
        """
        >>> Known((("visits", 2), ("orders", 0)), 5, 3, 0).words
        'the own row and 2 rows of visits'
        """
        parts = [f"{number} row{'s' if number > 1 else ''} of {name}" for name, number in self.rows if number]
        return " and ".join(["the own row", *parts])


@dataclass(frozen=True)
class JoinedAudit:
    """What an audit of several tables found."""

    tables: Mapping[str, str]
    """The published tables by their name in the spec."""
    required_k: int
    counts: Mapping[str, int]
    """The rows of each table."""
    persons: int
    known: tuple[Known, ...]
    problems: tuple[str, ...] = ()
    """What keeps the tables from joining."""
    orphans: int = 0
    suppressed: int | None = None
    """People of the source who are in no table, where the source was looked at."""
    policy: Mapping[str, tuple[PolicyCheck, ...]] = field(default_factory=dict)
    """By table, what the spec asks of each beside the anonymity of people."""

    @property
    def k(self) -> int:
        """The fewest people who share what may be known of one; 0 where there is nobody."""
        return min((item.least for item in self.known if item.classes), default=0)

    @property
    def classes(self) -> int:
        """Combinations of a person's own row with a row of each other table."""
        return next((item.classes for item in self.known if all(number == 1 for _, number in item.rows)), 0)

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(self.counts.values())

    @property
    def violations(self) -> list[str]:
        """What does not hold, in sentences without values."""
        found = list(self.problems)
        for item in self.known:
            if item.few:
                found.append(
                    f"k = {self.required_k}: {item.few} of {item.classes} combinations of {item.words} fit fewer "
                    f"people, the rarest fits {item.least}"
                )
        for name, checks in self.policy.items():
            found += [f"{name}: {check.complaint}" for check in checks if not check.satisfied]
        return found

    @property
    def satisfied(self) -> bool:
        return not self.violations and self.persons > 0 and self.k >= self.required_k

    def with_policy(
        self, policy: Mapping[str, tuple[PolicyCheck, ...]], suppressed: int | None, tables: Mapping[str, str]
    ) -> JoinedAudit:
        """The same with what the spec asks of each table by itself, under the names that the tables are known by."""
        return replace(self, policy=policy, suppressed=suppressed, tables=tables)

    def within(self, limit: int) -> JoinedAudit:
        """The same, held to the people that may be left out."""
        left = self.suppressed or 0
        if left <= limit:
            return self
        return replace(self, problems=(*self.problems, f"{left} people are left out, at most {limit} may be"))

    def to_dict(self) -> dict[str, Any]:
        return {
            "tables": {name: {"table": table, "rows": self.counts[name]} for name, table in self.tables.items()},
            "rows": self.rows,
            "persons": self.persons,
            "suppressed": self.suppressed,
            "orphans": self.orphans,
            "classes": self.classes,
            "k": self.k,
            "required_k": self.required_k,
            "known": [
                {"rows": dict(item.rows), "combinations": item.classes, "k": item.least, "below_k": item.few}
                for item in self.known
            ],
            "l": {},
            "t": {},
            "policy": {name: [check.to_dict() for check in checks] for name, checks in self.policy.items()},
            "satisfied": self.satisfied,
            "violations": self.violations,
        }

    def _repr_html_(self) -> str:
        rows = [(name, f"{number} rows") for name, number in self.counts.items()]
        rows += [("people", str(self.persons)), ("k", str(self.k)), ("satisfied", "yes" if self.satisfied else "no")]
        return html_table("sqlanon audit", rows)


def audit_joined(engine: Engine, people: JoiningTable, others: Sequence[JoiningTable], k: int) -> JoinedAudit:
    """Measure published tables together."""
    tables = (people, *others)
    problems: list[str] = []
    counts: dict[str, int] = {}
    orphans = 0
    [(rows, keys, nobody)] = _asked(engine, people, _keys(people))
    counts[people.name] = int(rows)
    if int(nobody) or int(rows) != int(keys) + int(nobody):
        problems.append(
            f"{people.name}: {rows} rows have {keys} pseudonyms, {nobody} have none; each person has one row"
        )
    for table in others:
        [(number, lost)] = _asked(engine, table, _without_people(people, table))
        counts[table.name] = int(number)
        orphans += int(lost)
        if int(lost):
            problems.append(f"{table.name}: {lost} of {number} rows belong to nobody in {people.name}")
    known = tuple(_known(engine, people, others, sizes, k) for sizes in _sizes(others))
    if not int(rows):
        problems.append(f"{people.name}: it has no rows, and nobody can be anonymous in it")
    names = {table.name: str(table.table) for table in tables}
    return JoinedAudit(names, k, counts, int(keys), known, tuple(problems), orphans)


def _asked(engine: Engine, table: JoiningTable, statement: exp.Select) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in engine.query(Statement(f"audit {table.name}", statement, fresh=True))]


def _sizes(others: Sequence[JoiningTable]) -> Iterator[tuple[int, ...]]:
    """How many rows of each table are known, in every way."""
    yield from product(*(range(table.known + 1) for table in others))


def _keys(people: JoiningTable) -> exp.Select:
    return query(
        "select count(*) as n, count(distinct :key) as persons, count(*) - count(:key) as nobody from shown",
        {"shown": people.table},
        key=column(people.key, "shown"),
    )


def _without_people(people: JoiningTable, table: JoiningTable) -> exp.Select:
    own = query("select distinct :key as person from shown", {"shown": people.table}, key=column(people.key, "shown"))
    return query(
        "select count(*) as n, coalesce(sum(case when own.person is null then 1 else 0 end), 0) as lost"
        " from shown left join own on :key = own.person",
        {"shown": table.table, "own": own},
        key=column(table.key, "shown"),
    )


def _known(engine: Engine, people: JoiningTable, others: Sequence[JoiningTable], sizes: Sequence[int], k: int) -> Known:
    """How many people have each combination of their own row and so many rows of each other table."""
    select = exp.select(named(column(_beside(people, PERSON), "own"), "person")).from_(
        subquery(_numbered(engine, people), "own")
    )
    labels = [column(name, "own") for name in people.quasi_identifiers]
    for position, (table, size) in enumerate(zip(others, sizes, strict=True)):
        for number in range(size):
            alias = f"row_{position}_{number}"
            conditions = [equal(column(table.key, alias), column(people.key, "own"))]
            if number:
                # Rows of a person in one order: the same rows make the same combination, whoever has them.
                place = _beside(table, PLACE)
                before = column(place, f"row_{position}_{number - 1}")
                conditions.append(exp.GT(this=column(place, alias), expression=before))
            rows = subquery(_in_order(engine, table, more=size > 1), alias)
            select = select.join(rows, on=all_of(conditions), copy=False)
            labels += [column(name, alias) for name in table.quasi_identifiers]
    names = [f"label_{place}" for place in range(len(labels))]
    select = select.select(*(named(label, name) for label, name in zip(labels, names, strict=True)), copy=False)
    # Each person once for each combination; their numbers are grouped faster than their pseudonyms.
    once = select.distinct(copy=False)
    grouped = exp.select(named(count(), "persons")).from_(subquery(once, "combined"))
    grouped = grouped.group_by(*(column(name) for name in names))
    few = total_where(exp.LT(this=column("persons"), expression=literal(k)), literal(1))
    least = exp.Coalesce(this=exp.Min(this=column("persons")), expressions=[literal(0)])
    found = exp.select(count(), least, few).from_(subquery(grouped, "classes"))
    [(classes, rarest, failing)] = _asked(engine, people, found)
    named_sizes = tuple((table.name, size) for table, size in zip(others, sizes, strict=True))
    return Known(named_sizes, int(classes), int(rarest), int(failing))


PERSON = "sqlanon person"
"""What the number of a person is called."""


def _numbered(engine: Engine, people: JoiningTable) -> exp.Select:
    """The table of people, each row with a number; two rows of one pseudonym are told as a problem."""
    items = _by_bytes(engine, people)
    number = exp.Window(this=exp.Anonymous(this="ROW_NUMBER"))
    return exp.select(*items, named(number, _beside(people, PERSON))).from_(table_expression(people.table, "shown"))


PLACE = "sqlanon place"
"""What the place of a row among those of its person is called."""


def _beside(table: JoiningTable, name: str) -> str:
    """A name that no column of a table has, whatever its case."""
    taken = {column_name.lower() for column_name in (table.key, *table.quasi_identifiers)}
    while name.lower() in taken:
        name += " "
    return name


def _by_bytes(engine: Engine, table: JoiningTable) -> list[exp.Expression]:
    """Pseudonym and labels, of which two are equal only where they look alike, whatever the collation of a column."""
    families = {info.name: info.family for info in engine.columns(table.table)}
    return [
        named(engine.traits.key(column(name, "shown"), families[name]), name)
        for name in (table.key, *table.quasi_identifiers)
    ]


def _in_order(engine: Engine, table: JoiningTable, *, more: bool) -> exp.Select:
    """The rows of a table, those of one person in the order of their labels where several are combined."""
    items = _by_bytes(engine, table)
    select = exp.select(*items).from_(table_expression(table.table, "shown"))
    if not more:
        return select
    keys = {item.alias: item.unalias() for item in items}
    order = exp.Order(
        expressions=[
            exp.Ordered(this=value, nulls_first=True)
            for name in table.quasi_identifiers
            for value in (is_null(column(name, "shown")), keys[name].copy())
        ]
    )
    window = exp.Window(this=exp.Anonymous(this="ROW_NUMBER"), partition_by=[column(table.key, "shown")], order=order)
    return select.select(named(window, _beside(table, PLACE)), copy=False)
