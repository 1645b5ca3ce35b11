"""Spark through pyspark: a session of this process or of a Spark Connect server; tables, views, csv and parquet files.

There are no transactions: what a block creates is dropped when the block fails, and a release takes its name as the
last step (`spark.replacement`). A csv file is read with typed columns through a temporary view; files are written as
single files of this machine.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from sqlglot import exp

from sqlanon.engines.base import Capability, ColumnInfo, Inspection, Statement
from sqlanon.engines.dialects import parsed, with_holes_filled
from sqlanon.engines.session import alone_in_process
from sqlanon.engines.spark import catalog as spark_catalog
from sqlanon.engines.spark import replacement as spark_replace
from sqlanon.engines.spark.base import SparkBase
from sqlanon.engines.spark.catalog import columns_of
from sqlanon.engines.spark.session import NotThere, SparkError
from sqlanon.engines.spark.traits import SPARK, location, text_view_of, view_of
from sqlanon.engines.temporaries import flush, private_folder, refuse_doubled_headers
from sqlanon.errors import EngineError, SourceError
from sqlanon.sql.build import named
from sqlanon.sql.relations import File, Query, Relation, Table, column, table_expression

DELIMITERS = (",", ";", "\t", "|")

CSV = {"header": "true", "quote": '"', "escape": '"', "multiLine": "true", "mode": "FAILFAST", "encoding": "UTF-8"}
"""Quotes are doubled, lines may break within them, and a line that does not fit is an error."""

WRITTEN = {"header": "true", "quote": '"', "escape": '"', "encoding": "UTF-8"} | {
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = "[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?"
_WHOLE = "-?(0|[1-9][0-9]{0,17})"

_EXISTS = "(:text is null or try_cast(:text as {}) is not null)"

# Of each type, a condition that every value must satisfy: how it is written, and that it exists.
TYPES: dict[str, str] = {
    "bigint": f"rlike(:text, '^{_WHOLE}$')",
    "double": f"rlike(:text, '^{_WHOLE}([.][0-9]+)?([eE][+-]?[0-9]+)?$')",
    "boolean": "rlike(:text, '^(true|false|True|False|TRUE|FALSE)$')",
    "date": f"rlike(:text, '^{_DATE}$') and {_EXISTS.format('date')}",
    "timestamp_ntz": f"rlike(:text, '^{_DATE}{_TIME}$') and {_EXISTS.format('timestamp_ntz')}",
    "timestamp": f"rlike(:text, '^{_DATE}{_TIME}(Z|[+-][0-9:]+)$') and {_EXISTS.format('timestamp')}",
}
_ALL_ARE = "coalesce(bool_and(:condition), false)"


def make_view(engine: SparkBase, file: File) -> None:
    """The temporary view of a csv file. The file is read once to find the types of its columns.

    Types are decided by the whole file and by the rules that DuckDB has: a postal code like 02139 stays text.
    """
    try:
        found = file.format == "csv" and file.reading == "found"
        delimiter = _delimiter(engine, file) if found else file.delimiter
        reading = f"read {view_of(file)} as text"
        names = engine.on_spark("describe", reading, lambda spark: _as_text(spark, file, delimiter))
        header = engine.on_spark("describe", f"header of {view_of(file)}", lambda spark: _first_line(spark, file))
        # Spark adds a number to a header that comes twice.
        refuse_doubled_headers(file, next(csv.reader([header], delimiter=delimiter), []))
        types = _types(engine, file, names)
    except SparkError as error:
        raise SourceError(f"cannot read file '{file}': {error.told}") from None
    items = [named(_typed(name, kind), name) for name, kind in zip(names, types, strict=True)]
    select = exp.select(*items).from_(table_expression(text_view_of(file)))
    properties = exp.Properties(expressions=[exp.TemporaryProperty()])
    view = exp.Create(
        this=table_expression(view_of(file)), kind="VIEW", replace=True, properties=properties, expression=select
    )
    engine.execute(Statement("describe", view))


def _delimiter(engine: SparkBase, file: File) -> str:
    """The mark that the header has most of."""
    header: str = engine.on_spark("describe", f"header of {view_of(file)}", lambda spark: _first_line(spark, file))
    bare = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=bare.count)


def _first_line(spark: Any, file: File) -> str:
    lines = spark.read.text(location(file.path)).head(1)
    return str(lines[0][0]) if lines else ""


def _as_text(spark: Any, file: File, delimiter: str) -> list[str]:
    read = spark.read.options(**CSV, sep=delimiter).csv(location(file.path))
    read.createOrReplaceTempView(text_view_of(file).name)
    return list(read.columns)


def _text(name: str) -> exp.Expression:
    """An empty field is NULL, quoted or not."""
    return exp.Nullif(this=column(name), expression=exp.Literal.string(""))


def _typed(name: str, kind: str | None) -> exp.Expression:
    return _text(name) if kind is None else exp.Cast(this=_text(name), to=exp.DataType.build(kind, dialect="spark"))


def _types(engine: SparkBase, file: File, names: Sequence[str]) -> list[str | None]:
    """For each column the first type that all of its values have; None: text."""
    items = [
        named(_all_are(name, condition), f"c_{position}_{number}")
        for position, name in enumerate(names)
        for number, condition in enumerate(TYPES.values())
    ]
    [answers] = engine.query(Statement("describe", exp.select(*items).from_(table_expression(text_view_of(file)))))
    width = len(TYPES)
    rows = [answers[start : start + width] for start in range(0, len(answers), width)]
    return [next((kind for kind, holds in zip(TYPES, row, strict=True) if holds), None) for row in rows]


def _all_are(name: str, condition: str) -> exp.Expression:
    holds = with_holes_filled(parsed(condition, "spark"), text=_text(name))
    return with_holes_filled(parsed(_ALL_ARE, "spark"), condition=holds)


def write_file(engine: SparkBase, step: str, table: Table, target: File, inspect: Inspection | None) -> None:
    """Write the whole table as one file, have it inspected, then let it take the target's place."""
    path = Path(target.path)
    try:
        with private_folder(path) as folder:
            partial = folder / "release"
            sql = engine.traits.render(_as_written(engine, table, target))
            engine.on_spark(step, f"write {table} to a file", lambda spark: _write(spark.sql(sql), partial, target))
            part = next(iter(partial.glob("part-*")), None)
            if part is None:
                raise EngineError(
                    f"cannot write file '{path}': Spark writes on other machines; name a table as the target"
                )
            if inspect is not None:
                inspect(replace(target, path=str(part)))
            flush(part)
            part.replace(path)
        flush(path.parent)
    except OSError as error:
        raise EngineError(f"cannot write file '{path}': {error.strerror}") from None


def _as_written(engine: SparkBase, table: Table, target: File) -> exp.Select:
    """A csv file holds texts, spelled as they are everywhere."""
    if target.format == "parquet":
        return exp.select("*").from_(table_expression(table))
    everything = exp.select("*").from_(table_expression(table))
    infos = columns_of(table, engine.schema_of("describe", everything))
    items = [named(engine.traits.text(column(info.name), info.family), info.name) for info in infos]
    return exp.select(*items).from_(table_expression(table))


def _write(frame: Any, partial: Path, target: File) -> None:
    writer = frame.coalesce(1).write.mode("overwrite")
    place = location(str(partial))
    if target.format == "parquet":
        writer.parquet(place)
    else:
        writer.options(**WRITTEN, sep="\t" if target.format == "tsv" else ",").csv(place)


class SparkEngine(SparkBase):
    """One session of Spark."""

    name: ClassVar[str] = "spark"
    dialect: ClassVar[str] = "spark"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.FILE_SOURCES, Capability.FILE_TARGETS, Capability.SERVER}
    )
    traits = SPARK

    def transaction(self) -> AbstractContextManager[None]:
        return self._undone_on_failure()

    @contextmanager
    def _undone_on_failure(self) -> Iterator[None]:
        """Begin and commit are words in the trace; rolling back is dropping what was created since."""
        if self.in_transaction:
            raise RuntimeError("transactions do not nest")
        self.on_spark("begin", "what is created from here on is dropped on failure", lambda spark: None)
        self.in_transaction, self.made = True, []
        try:
            yield
            self.on_spark("commit", "what was created stays", lambda spark: None)
        except BaseException:
            self.undo()
            raise
        finally:
            self.in_transaction, self.made = False, None

    def columns(self, relation: Relation) -> tuple[ColumnInfo, ...]:
        if isinstance(relation, Table):
            if self.relation_kind(relation) is None:
                raise SourceError(f"there is no table or view {relation}")
            # Files that another program has written since Spark last looked.
            refresh = exp.Refresh(this=table_expression(relation), kind="TABLE")
            self.execute(Statement("refresh", refresh))
        elif isinstance(relation, File) and relation.format != "parquet":
            make_view(self, relation)
        select = exp.select("*").from_(self.traits.relation(relation, "source")).limit(0)
        try:
            return spark_catalog.columns_of(relation, self.schema_of("describe", select))
        except SparkError as error:
            if isinstance(relation, (File, Query)) or isinstance(error, NotThere):
                raise SourceError(f"cannot read {relation}: {error.told}") from None
            raise

    def relation_kind(self, table: Table) -> str | None:
        """A table that a dead run had moved away, and put nothing in its place, comes back first."""
        found = spark_catalog.locate(self, table)
        if found is None and spark_replace.comes_back(self, table):
            found = spark_catalog.locate(self, table)
        return None if found is None else found.kind

    def has_schema(self, schema: tuple[str, ...]) -> bool:
        return spark_catalog.has_schema(self, schema)

    def same_object(self, left: Table, right: Table) -> bool:
        return spark_catalog.identity(self, left) == spark_catalog.identity(self, right)

    def reads(self, relation: Relation, table: Table) -> bool:
        """Follows views too: Spark lets the tables under a view be replaced."""
        query = spark_catalog.view_query(self, relation) if isinstance(relation, Table) else None
        return super().reads(relation, table) or (query is not None and self.reads(Query(query), table))

    def view_query(self, view: Table) -> exp.Query | None:
        """A temporary view has no definition; what it reads is known by its files."""
        return spark_catalog.view_query(self, view)

    def files_under(self, relation: Relation) -> list[str]:
        return spark_catalog.files_under(self, relation)

    def shares_storage(self, relation: Relation, table: Table) -> bool:
        found = set(self.files_under(table))
        return bool(found) and not found.isdisjoint(self.files_under(relation))

    def replace(self, staging: Table, target: Table) -> None:
        spark_replace.replace(self, staging, target)

    def write_file(self, step: str, table: Table, target: File, inspect: Inspection | None = None) -> None:
        write_file(self, step, table, target, inspect)

    def leftovers(self, schema: tuple[str, ...]) -> list[Table]:
        return spark_replace.leftovers(self, schema)

    def alone_with(self, target: Table, seconds: float) -> AbstractContextManager[None]:
        """Keeps out other runs of this process, but no other program: docs/reference/engines.md says what follows."""
        return alone_in_process(self, ("spark", *spark_catalog.identity(self, target)), target, seconds)

    def hold(self, step: str, table: Table) -> bool:
        """Lazily: the statement that counts its rows fills it. What a dead executor held is read again."""
        self.execute(Statement(step, exp.Cache(this=table_expression(table), lazy=True)))
        return True

    def scan_bytes(self, relation: Relation) -> int | None:
        return spark_catalog.scan_bytes(self, relation)

    def version(self) -> str:
        return self.on_spark("session", "version", lambda spark: f"Spark {spark.version}")
