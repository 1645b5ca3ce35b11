"""The sample of a differential release: which persons are drawn, and the ledger that lets a table be drawn from once.

A person is drawn where the keyed hash of their key lies below a bound. Reads the source once into a scratch table that
its owner alone can read; keeps the ledger in a table of the scratch schema.
"""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from dataclasses import replace

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError, SourceError, UsageError
from sqlanon.hierarchies import Mask
from sqlanon.hierarchies.base import Family
from sqlanon.source.binding import Binding
from sqlanon.source.differential import sampling_for
from sqlanon.source.keyed_hash import KeyedHash, require_keyed_hash, secret_of
from sqlanon.source.scratch import Scratch
from sqlanon.spec.keys import LOCK_SECONDS
from sqlanon.spec.models import Differential
from sqlanon.sql.build import count
from sqlanon.sql.relations import File, Query, Relation, Table, column, identifier, literal, table_expression

LEDGER = "sqlanon_differential"
LEDGER_COLUMNS = ("source", "target", "epsilon", "delta", "run")
PURPOSE = "differential sample of"
"""Before the name of the source: of two tables one secret draws independently, so that what they reveal adds up."""
HERE = "privacy.differential"


def sampled(engine: Engine, binding: Binding, scratch: Scratch) -> Binding:
    """The binding of a differential release with the sample as its source; others as they are."""
    asked = binding.spec.privacy.differential
    if asked is None:
        return binding
    require_keyed_hash(engine)
    _require_table(engine, binding.source)
    _require_rows_alone(binding)
    _require_one_row_each(engine, binding, binding.source)
    if binding.respondent is None:
        raise ValueError("persons are drawn")
    secret = secret_of(f"{HERE}.secret", asked.secret).for_purpose(f"{PURPOSE} {_name_of(binding.source)}")
    hashes = KeyedHash.stored(engine, scratch, secret)
    infos = {info.name: info for info in binding.columns}
    person = binding.respondent.name
    hashed = hashes.of(column(person, "source"), infos[person])
    bound = literal(sampling_for(asked.epsilon, asked.delta).first_hash)
    drawn = exp.LT(this=engine.traits.key(hashed, Family.TEXT), expression=engine.traits.key(bound, Family.TEXT))
    rows = exp.select(*(column(name, "source") for name in dict.fromkeys((*binding.released, person)))).from_(
        engine.traits.relation(binding.source, "source")
    )
    table, number = scratch.create_counted("draw sample", "sample", rows.where(drawn))
    if number < binding.k:
        raise InfeasibleError(
            f"{HERE}: the sample has {number} rows, fewer than the least class of {binding.k}: nothing can be released"
        )
    # Once more: rows may have come since. From here on everybody has one row, and rows are persons.
    _require_one_row_each(engine, binding, table)
    return replace(
        binding,
        spec=binding.spec.model_copy(update={"respondent": None}),
        source=table,
        columns=tuple(info for info in binding.columns if info.name in binding.released),
        respondent=None,
    )


def _require_table(engine: Engine, source: Relation) -> None:
    if isinstance(source, Query) or (isinstance(source, Table) and engine.relation_kind(source) != "table"):
        raise UsageError(
            f"{HERE}: the source must be a table or a file, for rows of a view may depend on other people's rows"
        )


def _require_rows_alone(binding: Binding) -> None:
    """How a row looks must not depend on the others'."""
    source = binding.source
    if isinstance(source, File):
        if source.format != "parquet":
            raise UsageError(
                f"{HERE}: the types of a {source.format} file are guessed from all its values, so that one person's "
                f"value changes how others look; load it into a table, or write it as parquet"
            )
        if source.several or set("*?[") & set(source.path):
            raise UsageError(
                f"{HERE}: name one file: the ledger cannot know which files of a pattern, a folder or a list are "
                f"released again"
            )
    for item in binding.quasi_identifiers:
        asked = binding.spec.columns[item.name]
        # A mask keeps part of the text, which is that of one of the equal values.
        if not item.family.exact and (asked.levels.min == 0 or isinstance(asked.hierarchy, Mask)):
            raise UsageError(
                f"{HERE}: equal values of column '{item.name}' may look different, and one of them stands for all; "
                f"release it at a level above 0 without a mask, or as a column of type integer, text or date"
            )


def _require_one_row_each(engine: Engine, binding: Binding, relation: Relation) -> None:
    """Whoever has two rows, or a row without a name, would be protected half as well, or not at all."""
    if binding.respondent is None:
        raise UsageError(f"{HERE}: name the column that tells persons apart as respondent")
    key = binding.respondent.key("source", engine.traits)
    query = exp.select(count(), exp.Count(this=key.copy()), exp.Count(this=exp.Distinct(expressions=[key])))
    source = engine.traits.relation(relation, "source")
    [(rows, named, persons)] = engine.query(Statement("count persons", query.from_(source)))
    if named != rows:
        raise SourceError(
            f"{HERE}: {rows - named} rows have no value in the respondent column '{binding.respondent.name}'"
        )
    if persons != rows:
        raise SourceError(
            f"{HERE}: the source has {rows} rows of {persons} persons; its guarantee is for one row a person: "
            f"make one of them in a table of its own"
        )


class SampleLedger:
    """Which tables were released with a differential guarantee: epsilons of two releases of one table would add up."""

    def __init__(self, engine: Engine, binding: Binding) -> None:
        """The binding is that of the table itself, not of its sample."""
        self._engine = engine
        self._binding = binding
        self._source = binding.source
        self._table = Table((*binding.scratch, LEDGER))

    def require(self) -> None:
        """UsageError where the ledger would not last, or the source stands in it already."""
        if not self._engine.lasting:
            raise UsageError(
                f"{HERE}: a database in memory forgets what was released; name a database file as connection"
            )
        if self._engine.relation_kind(self._table) is not None and self._stands():
            raise UsageError(
                f"{HERE}: the source was released before, and what two releases reveal adds up; release another "
                f"table, or delete its row from {self._table} if you accept the sum"
            )

    def spend(self) -> None:
        """Write the release down, before it stands: one that fails later counts too."""
        asked = self._binding.spec.privacy.differential
        if asked is None:
            return
        with self._alone():
            self.require()
            if self._engine.relation_kind(self._table) is None:
                self._engine.create(Statement("ledger", _create(self._table)), self._table)
            row = self._row(asked)
            self._engine.execute(Statement("ledger", _insert(self._table, row)))

    def _alone(self) -> AbstractContextManager[None]:
        return self._engine.alone_with(self._table, LOCK_SECONDS)

    def _row(self, asked: Differential) -> list[str]:
        named = _name_of(self._source)
        return [
            named,
            str(self._binding.target),
            f"{asked.epsilon:f}",
            f"{asked.delta:f}",
            self._engine.session.run,
        ]

    def _stands(self) -> bool:
        query = exp.select(column("source")).distinct().from_(table_expression(self._table))
        if not {info.name for info in self._engine.columns(self._table)} >= set(LEDGER_COLUMNS):
            raise self._changed()
        for (written,) in self._engine.query(Statement("ledger", query)):
            kind, *parts = self._read(written)
            same = [kind, *parts] == json.loads(_name_of(self._source))
            if kind == "table" and isinstance(self._source, Table):
                other = Table(tuple(parts))
                # Rows of a partition are rows of its table as well, and a table has those of its children.
                same = same or self._engine.reads(self._source, other) or self._engine.reads(other, self._source)
            if same:
                return True
        return False

    def _read(self, written: object) -> list[str]:
        try:
            found = json.loads(str(written))
        except (ValueError, RecursionError):
            raise self._changed() from None
        if not isinstance(found, list) or not found or not all(isinstance(part, str) for part in found):
            raise self._changed()
        return found

    def _changed(self) -> UsageError:
        return UsageError(
            f"{HERE}: {self._table} is not as a release left it, so what was released is not known; restore it"
        )


def _name_of(source: Relation) -> str:
    """A source as the ledger has it."""
    if isinstance(source, File):
        return json.dumps(["file", *sorted(map(os.path.realpath, source.paths))])
    if isinstance(source, Table):
        return json.dumps(["table", *source.parts])
    raise TypeError("a query is not sampled")


def _create(table: Table) -> exp.Create:
    definitions = [exp.ColumnDef(this=identifier(name), kind=exp.DataType.build("text")) for name in LEDGER_COLUMNS]
    return exp.Create(this=exp.Schema(this=table_expression(table), expressions=definitions), kind="TABLE")


def _insert(table: Table, row: list[str]) -> exp.Insert:
    into = exp.Schema(this=table_expression(table), expressions=[identifier(name) for name in LEDGER_COLUMNS])
    values = exp.Values(expressions=[exp.Tuple(expressions=[literal(value) for value in row])])
    return exp.Insert(this=into, expression=values)
