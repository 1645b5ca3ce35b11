"""Several tables in one spec: a table of people, tables of what they did, and what somebody may know of a person.

Pure. Each table is a release of its own to the catalog, `of_table` says which; what joins them stands here. Whatever
such a release does not take is refused here by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, ValidationError, model_validator

from sqlanon.hierarchies.definition import SEVERAL, Definition, Finding, KeyPath, NameParts, Whole, refuse
from sqlanon.spec.algorithms import ALGORITHMS, names_of
from sqlanon.spec.columns import Column
from sqlanon.spec.keys import NO_LIMITS, Limits, RecipientName
from sqlanon.spec.places import IN_MEMORY, Connection, Secret, Source, TableTarget, Target, same_place
from sqlanon.spec.privacy import Privacy
from sqlanon.spec.release import Spec, fingerprint
from sqlanon.spec.rules import ColumnName, Pseudonym
from sqlanon.spec.search import Budget, Constraints, Search

MOST_KNOWN = 5
"""Rows that somebody may know of a person: each one more multiplies the combinations by the rows of a person."""

MEASURED = ("loss", "precision", "height")
"""Metrics that levels and suppressed people say, whatever table a column is in."""

REQUIRED_KEYS = frozenset({"k", "suppression"})
SEARCHED_KEYS = frozenset({"algorithm", "prefer", "metric", "weights", "constraints", "budget"})
UNUSED_OF_COLUMNS = ("scheme", "tag", "anonymity")

TableName = RecipientName
"""Letters, digits, _ and -: a dot parts it from a column."""


class TableKeys(Definition):
    """One table of several."""

    source: Source = Field(description="The table, view, file or query to anonymize.")
    target: Target = Field(description="The table to write.")
    key: ColumnName = Field(description="Identifier column that names the person; it needs a pseudonym.")
    references: TableName | None = Field(
        None, description="The table of people whose key this one's is. Default: this is the table of people."
    )
    columns: Annotated[dict[ColumnName, Column], Field(min_length=1)] = Field(description="Every column by name.")
    default_role: Literal["identifier", "insensitive"] | None = Field(
        None, description="Role of columns that are not listed. Default: an unlisted column is an error."
    )


def _one_each(shared: Mapping[str, str]) -> Mapping[str, str]:
    if len(shared) < 2:
        raise ValueError("a column of each of two tables or more is expected, as {patients: zip, visits: zip}")
    return shared


Alike = Annotated[dict[TableName, ColumnName], AfterValidator(_one_each)]


@dataclass(frozen=True)
class SharedColumn:
    """One level to choose: a quasi-identifier, or those of several tables that mean the same."""

    name: str
    """`table.column`, of the first table that has it."""
    members: tuple[tuple[str, str], ...]
    """Each table with its column."""
    column: Column


class SeveralTables(Definition):
    """A release of several tables that join by the pseudonym of a person."""

    version: Literal[1] = Field(1, description="Version of this format.")
    connection: Connection = Field(
        default=Secret(IN_MEMORY), description="Database URL; ${ENV} expands. Default: DuckDB in memory."
    )
    tables: Annotated[dict[TableName, TableKeys], Field(min_length=2)] = Field(
        description="The tables by name; one of them holds people, a row each, the others refer to it."
    )
    known: dict[TableName, Annotated[Whole, Field(ge=1, le=MOST_KNOWN)]] = Field(
        default={},
        description="How many rows of each other table somebody may know of a person, beside the person's own row; "
        "required for each of them.",
    )
    alike: tuple[Alike, ...] = Field(
        (),
        description="Quasi-identifiers of several tables that mean the same and are released at one level, as "
        "{patients: zip, visits: clinic_zip}. Columns of one name with the same keys are alike anyway.",
    )
    scratch: NameParts | None = Field(
        None, description="Schema for hierarchy and staging tables. Default: that of the target of the people."
    )
    privacy: Privacy = Field(description="What the release must satisfy: k, and how many people may be left out.")
    search: Search = Field(
        default=Search(
            algorithm="optimal",
            model=None,
            satisfies="counts",
            prefer=(),
            metric="loss",
            weights={},
            constraints=Constraints(before=(), forbidden=()),
            budget=Budget(nodes=None, seconds=None),
        ),
        description="How to look for the generalization; columns are named table.column.",
    )
    limits: Limits = Field(default=NO_LIMITS, description="What a run may take of the database.")
    _folder: Path = PrivateAttr(default=Path())
    _file: Path | None = PrivateAttr(default=None)
    _specs: dict[str, Spec] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any) -> None:
        """Remember the folder of the spec, and its file if it has one, which the loader passes as context."""
        if isinstance(context, dict) and "folder" in context:
            self._folder = Path(context["folder"])
            self._file = context.get("file")

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        found = [*self._people_findings()]
        if not found:
            found = [*self._unused(), *self._table_findings()]
        if not found:
            found = [*self._joining_findings(), *self._search_findings()]
        refuse(found)
        return self

    @property
    def folder(self) -> Path:
        """The folder that relative paths of the spec, the connection's too, start from."""
        return self._folder

    @property
    def people(self) -> str:
        """The table that holds people, a row each."""
        return next(name for name, table in self.tables.items() if table.references is None)

    @property
    def others(self) -> tuple[str, ...]:
        """The tables that refer to it, in the order of the spec."""
        return tuple(name for name, table in self.tables.items() if table.references is not None)

    def of_table(self, name: str) -> Spec:
        """The spec of one table, as the catalog and the rules of columns see it: classes count persons by the key."""
        return self._specs[name]

    @property
    def shared(self) -> tuple[SharedColumn, ...]:
        """What levels are chosen for, in the order of the spec: the order of every distance vector."""
        groups: list[list[tuple[str, str]]] = []
        declared = {(table, name): place for place, group in enumerate(self.alike) for table, name in group.items()}
        for member in self._quasi_identifiers():
            group = next((known for known in groups if self._mean_the_same(known[0], member, declared)), None)
            groups.append([member]) if group is None else group.append(member)
        return tuple(SharedColumn(written(*group[0]), tuple(group), self._column(*group[0])) for group in groups)

    def _mean_the_same(
        self, one: tuple[str, str], other: tuple[str, str], declared: Mapping[tuple[str, str], int]
    ) -> bool:
        if one in declared or other in declared:
            return declared.get(one) == declared.get(other)
        column = self._column(*one)
        return (
            one[0] != other[0]
            and one[1] == other[1]
            and column.hierarchy is not None
            and column == self._column(*other)
        )

    # -- what a lock file reads, under the names table.column --------------------------------------------------------

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The names of what levels are chosen for."""
        return tuple(item.name for item in self.shared)

    @property
    def columns(self) -> dict[str, Column]:
        """The columns of all tables."""
        return {
            written(name, column): keys for name, table in self.tables.items() for column, keys in table.columns.items()
        }

    def hash(self) -> str:
        """A fingerprint of all that decides the release: not of the connection, nor of limits."""
        return fingerprint(self._deciding())

    def parts(self) -> dict[str, str]:
        """A short fingerprint of each part that decides the release, by its key."""
        return {name: fingerprint(part)[:12] for name, part in _below("", self._deciding(), 4)}

    def weight(self, item: SharedColumn) -> float:
        """The weight of a level to choose, wherever the spec gives it."""
        return self.search.weights.get(item.name, item.column.weight)

    def _deciding(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"connection", "limits"}, exclude_defaults=True)

    # -- what is wrong -----------------------------------------------------------------------------------------------

    def _people_findings(self) -> Iterator[Finding]:
        people = [name for name, table in self.tables.items() if table.references is None]
        if not people:
            yield ("tables",), "one table must hold the people: it has no references"
            return
        for name in people[1:]:
            yield ("tables", name, "references"), f"this key is required: only one table holds people, {people[0]}"
        for name, table in self.tables.items():
            if table.references is not None and table.references != people[0]:
                yield ("tables", name, "references"), f"it must be {people[0]}, the table of people"
        for name in self.known:
            if name not in self.tables or name == people[0]:
                yield ("known", name), "only tables that refer to the people have this"
        for name in self.tables:
            if name != people[0] and name not in self.known:
                yield ("known",), f"say how many rows of {name} somebody may know of a person, as {{{name}: 1}}"
        lowered = [name.lower() for name in self.tables]
        for place, name in enumerate(self.tables):
            if name.lower() in lowered[:place]:
                yield ("tables", name), "the name differs from another only in case"

    def _unused(self) -> Iterator[Finding]:
        """Keys that a release of one table has and this one does not take."""
        for key in _asked(self.privacy, REQUIRED_KEYS):
            yield ("privacy", key), "several tables are released by k of persons alone; remove it"
        if self.privacy.k is None:
            yield ("privacy", "k"), "this key is required: at least so many persons share what is known of one"
        elif self.privacy.k < 2:
            yield ("privacy", "k"), "several tables need at least 2"
        if self.privacy.suppression.mode != "drop":
            yield ("privacy", "suppression", "mode"), "who is left out leaves all tables; write drop"
        for key in _asked(self.search, SEARCHED_KEYS):
            yield ("search", key), "a search over several tables does not take it; remove it"
        if ALGORITHMS[self.search.algorithm].kind != "lattice":
            listed = ", ".join(names_of("lattice"))
            yield ("search", "algorithm"), f"several tables are generalized at levels: one of {listed} must stand here"
        if self.search.metric not in MEASURED:
            yield ("search", "metric"), f"over several tables {', '.join(MEASURED)} are measured; write one of them"
        for name, table in self.tables.items():
            for column, keys in table.columns.items():
                path = ("tables", name, "columns", column)
                for key in UNUSED_OF_COLUMNS:
                    if getattr(keys, key) is not None:
                        yield (*path, key), "several tables are generalized at levels alone; remove it"
                if keys.averaged:
                    yield (*path, "release"), "several tables have no classes of rows to average; take another rule"
            if not isinstance(table.target, TableTarget):
                yield ("tables", name, "target"), "several tables are swapped in one transaction; name a table"

    def _table_findings(self) -> Iterator[Finding]:
        """What is wrong with each table by itself, and what each of them is asked as a release of its own."""
        for name, table in self.tables.items():
            values = {
                "connection": self.connection,
                "source": table.source,
                "target": table.target,
                "respondent": table.key,
                "columns": table.columns,
                "default_role": table.default_role,
                "scratch": self.scratch,
                "limits": self.limits,
                "privacy": Privacy(k=self.privacy.k),
            }
            try:
                context = {"folder": self._folder, "file": self._file}
                self._specs[name] = Spec.model_validate(values, context=context)
            except ValidationError as error:
                yield from _moved(name, error)

    def _joining_findings(self) -> Iterator[Finding]:
        keys: dict[str, Pseudonym | None] = {}
        for name in (self.people, *self.others):
            table = self.tables[name]
            listed = table.columns.get(table.key)
            keys[name] = None if listed is None else listed.pseudonym
            if keys[name] is None:
                message = (
                    f"the tables join by a pseudonym: write columns.{table.key}.pseudonym, the same in all of them"
                )
                yield ("tables", name, "key"), message
            elif keys[name] != keys[self.people]:
                path = ("tables", name, "columns", table.key, "pseudonym")
                yield path, f"the tables would not join; write the same as in {self.people}"
        for name, table in self.tables.items():
            for other, beside in self.tables.items():
                if same_place(beside.source, table.target):
                    yield ("tables", name, "target"), f"it is the source of {other}; name another target"
                if name < other and same_place(table.target, beside.target):
                    yield ("tables", other, "target"), f"{name} has the same target"
        yield from self._alike_findings()

    def _alike_findings(self) -> Iterator[Finding]:
        known = {*self._quasi_identifiers()}
        seen: set[tuple[str, str]] = set()
        for place, group in enumerate(self.alike):
            first = None
            for member in group.items():
                path = ("alike", place, member[0])
                if member not in known:
                    yield path, f"{written(*member)} is not a column of role quasi_identifier"
                    continue
                if member in seen:
                    yield path, f"{written(*member)} stands in another group already"
                seen.add(member)
                first = first or member
                if _levelled(self._column(*member)) != _levelled(self._column(*first)):
                    message = f"{written(*member)} needs the hierarchy, levels, domain and weight of {written(*first)}"
                    yield path, message

    def _search_findings(self) -> Iterator[Finding]:
        names = self.quasi_identifiers
        search = self.search
        asked: list[tuple[KeyPath, str]] = [
            *((("weights", name), name) for name in search.weights),
            *(
                (("constraints", "before", place, side), name)
                for place, pair in enumerate(search.constraints.before)
                for side, name in enumerate(pair)
            ),
            *(
                (("constraints", "forbidden", place, name), name)
                for place, node in enumerate(search.constraints.forbidden)
                for name in node
            ),
        ]
        for path, name in asked:
            if name not in names:
                yield ("search", *path), f"{name} is none of the levels to choose; they are {', '.join(names)}"
        for item in self.shared:
            if item.name in search.weights and "weight" in item.column.model_fields_set:
                yield ("search", "weights", item.name), f"the weight of {item.name} stands at the column already"

    def _column(self, table: str, name: str) -> Column:
        return self.tables[table].columns[name]

    def _quasi_identifiers(self) -> Iterator[tuple[str, str]]:
        """Those of the people first, then the others in the order of the spec."""
        for name in (self.people, *self.others):
            for column, keys in self.tables[name].columns.items():
                if keys.role == "quasi_identifier":
                    yield name, column


def written(table: str, column: str) -> str:
    """A column of a table as levels, constraints and messages name it.

    >>> written("visits", "zip")
    'visits.zip'
    """
    return f"{table}.{column}"


def _asked(part: Privacy | Search, taken: frozenset[str]) -> list[str]:
    """The keys beside those that are taken which ask for something."""
    fields = type(part).model_fields
    usual = {name: fields[name].get_default(call_default_factory=True) for name in part.model_fields_set - taken}
    return sorted(name for name, default in usual.items() if getattr(part, name) != default)


def _levelled(column: Column) -> tuple[Any, ...]:
    return column.hierarchy, column.levels, column.domain, column.weight


def _moved(name: str, error: ValidationError) -> Iterator[Finding]:
    """What is wrong with the spec of one table, at the keys of the spec of several."""
    for detail in error.errors(include_url=False):
        if detail["type"] != SEVERAL:
            yield ("tables", name), "this value does not fit here"
            continue
        listed: Iterable[Finding] = detail.get("ctx", {})["findings"]
        for path, message in listed:
            if path[:1] == ("respondent",):
                yield ("tables", name, "key"), message
            elif path[:1] in (("columns",), ("source",), ("target",), ("default_role",)):
                yield ("tables", name, *path), message
            else:
                yield path, message


def _below(name: str, part: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth == 0 or not isinstance(part, Mapping) or not part:
        yield name, part
        return
    for key, value in part.items():
        yield from _below(f"{name}.{key}" if name else key, value, depth - 1)
