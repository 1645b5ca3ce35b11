"""The tables a run makes for itself: named after the run, listed as they are made, dropped when it ends.

A run that died leaves its tables behind; the next run in the same schema drops those whose run is no longer alive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, count
from types import TracebackType

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SqlanonError
from sqlanon.sql.build import create_table_as, create_text_table, drop_table, row_count
from sqlanon.sql.relations import Table, table_expression


@dataclass(frozen=True)
class Recipe:
    """A scratch table that the same statement makes again and again; its text is rendered once."""

    table: Table
    statement: Statement


class Again:
    """Tables of rounds that are alike: the statement of the first round makes those of all others too."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        self._recipes: dict[str, Recipe] = {}

    def create(self, step: str, name: str, query: Callable[[], exp.Query], which: str = "") -> Table:
        """The table of a round. It is dropped before the next; `which` tells apart what one name is made from."""
        key = f"{name} {which}"
        if key not in self._recipes:
            self._recipes[key] = self.scratch.recipe(step, name, query())
        return self.scratch.make(self._recipes[key])


class Scratch:
    """The scratch tables of one run, in one schema. A context manager: what was made is dropped at its end."""

    def __init__(self, engine: Engine, schema: tuple[str, ...], prefix: str = "") -> None:
        self.engine = engine
        self.schema = schema
        self.prefix = prefix
        """Of the names of its tables, where a run has several of these beside each other."""
        self._tables: list[Table] = []
        self._numbers: Counter[str] = Counter()
        self._drops: dict[Table, Statement] = {}
        self._recipes: dict[str, Table] = {}

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.drop(*self._tables)
        except SqlanonError:
            # The error that ended the run matters more; the tables are reclaimable by the next run.
            if error is None:
                raise

    def name(self, name: str) -> Table:
        """What the next scratch table of this name is called: a number follows where one of the run has the name.

        Temporary tables lie in no schema of ours.
        """
        schema = () if self.engine.traits.temporary_scratch else self.schema
        whole = f"sqlanon_{self.engine.session.run}_{self.prefix}{name}"
        taken = self.engine.session.taken
        free = next(text for text in chain([whole], (f"{whole}_{place}" for place in count(2))) if not taken[text])
        return Table((*schema, free))

    def apart(self, prefix: str) -> Scratch:
        """More tables of this run, under names of their own; dropped when its own context ends."""
        return Scratch(self.engine, self.schema, f"{self.prefix}{prefix}_")

    def numbered(self, kind: str) -> str:
        """A name that no other table of this run has: the kind and a number."""
        self._numbers[kind] += 1
        return f"{kind}{self._numbers[kind]}"

    def create(self, step: str, name: str, query: exp.Query) -> Table:
        """Make a scratch table from a query."""
        return self._made(step, name, lambda table: create_table_as(table, query, self.engine.traits, scratch=True))

    def create_at(self, step: str, table: Table, query: exp.Query) -> Table:
        """Make a scratch table from a query under a name that `name` gave before."""
        self._hold(table)
        self.engine.create(Statement(step, create_table_as(table, query, self.engine.traits, scratch=True)), table)
        return table

    def recipe(self, step: str, name: str, query: exp.Query) -> Recipe:
        """A scratch table to be made from a query many times."""
        table = self._kept(name)
        create = create_table_as(table, query, self.engine.traits, scratch=True)
        return Recipe(table, Statement(step, create, texts={}))

    def text_recipe(self, step: str, name: str, columns: list[str]) -> Recipe:
        """An empty scratch table of text columns to be made many times."""
        table = self._kept(name)
        return Recipe(table, Statement(step, create_text_table(table, columns, self.engine.traits), texts={}))

    def make(self, recipe: Recipe) -> Table:
        """Make the table of a recipe; drop it before it is made again."""
        self._hold(recipe.table)
        self.engine.create(recipe.statement, recipe.table)
        return recipe.table

    def create_counted(self, step: str, name: str, query: exp.Query) -> tuple[Table, int]:
        """As `create`, for a table that many statements will read, and how many rows it has."""
        table = self.create(step, name, query)
        self.engine.hold(step, table)
        self.engine.analyze(step, table)
        [(rows,)] = self.engine.query(Statement(step, row_count(table_expression(table))))
        return table, int(rows)

    def create_text(self, step: str, name: str, columns: list[str]) -> Table:
        """Make an empty scratch table of text columns."""
        return self._made(step, name, lambda table: create_text_table(table, columns, self.engine.traits))

    def drop(self, *tables: Table) -> None:
        """Give tables back before the run ends."""
        for table in tables:
            known = self._drops.get(table)
            if known is None:
                known = self._drops[table] = Statement("clean up", drop_table(table), texts={})
            self.engine.execute(known)
            if table in self._tables:
                self.engine.session.taken[table.name] -= self._tables.count(table)
        self._tables = [table for table in self._tables if table not in tables]

    def drop_since(self, earlier: int) -> None:
        """Give back all that was made after the first so many tables."""
        self.drop(*self._tables[earlier:])

    def __len__(self) -> int:
        return len(self._tables)

    def _kept(self, name: str) -> Table:
        """The table of recipes of this name: nothing else of the run gets its name, also while it is not there."""
        if name not in self._recipes:
            table = self._recipes[name] = self.name(name)
            self.engine.session.taken[table.name] += 1
        return self._recipes[name]

    def _hold(self, table: Table) -> None:
        """Note a table before it is made: what may stand is dropped at the end."""
        self._tables.append(table)
        self.engine.session.taken[table.name] += 1

    def _made(self, step: str, name: str, statement: Callable[[Table], exp.Expression]) -> Table:
        table = self.name(name)
        self._hold(table)
        self.engine.create(Statement(step, statement(table)), table)
        return table


def reclaim(engine: Engine, schema: tuple[str, ...]) -> int:
    """Drop what runs that are no longer alive left in a schema; how many tables that were."""
    tables = engine.leftovers(schema)
    for table in tables:
        engine.execute(Statement("reclaim", drop_table(table)))
    return len(tables)
