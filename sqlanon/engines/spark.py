"""Spark through pyspark: a session of this process or of a Spark Connect server; tables, views, csv and parquet files.

There are no transactions. What a block creates is dropped when the block fails, and a release takes its name as the
last step (`spark_replace`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar

from sqlglot import exp

from sqlanon.engines import spark_catalog, spark_files, spark_replace, spark_sizes
from sqlanon.engines.base import Capability, ColumnInfo, Statement
from sqlanon.engines.locks import alone_in_process
from sqlanon.engines.spark_base import SparkBase
from sqlanon.engines.spark_errors import NotThere, SparkError
from sqlanon.engines.spark_traits import SPARK
from sqlanon.errors import SourceError
from sqlanon.sqlgen.relations import File, Query, Relation, Table, table_expression


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
            spark_files.make_view(self, relation)
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

    def replace(self, staging: Table, target: Table) -> None:
        spark_replace.replace(self, staging, target)

    def write_file(self, step: str, table: Table, target: File) -> None:
        spark_files.write_file(self, step, table, target)

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
        return spark_sizes.scan_bytes(self, relation)

    def version(self) -> str:
        return self.on_spark("session", "version", lambda spark: f"Spark {spark.version}")
