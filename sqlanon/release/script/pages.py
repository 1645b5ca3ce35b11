"""The pages that a script is written on: chapters of commented statements, and the scratch tables they make.

Knows how a dialect wants things written; knows nothing of releases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlanon.engines.neutral import resolved
from sqlanon.engines.scripting import Scripting
from sqlanon.sql.build import create_table_as, create_text_table, drop_table, insert_text
from sqlanon.sql.relations import Table

ROWS_PER_INSERT = 200


@dataclass(frozen=True)
class Part:
    """Statements with the sentence that explains them."""

    comment: str
    statements: tuple[exp.Expression, ...]


@dataclass(frozen=True)
class Chapter:
    """Parts that belong together: a file of their own where the script is written to files."""

    name: str
    sentence: str
    parts: list[Part] = field(default_factory=list)


class Pages:
    """Collects the parts of a script, and names its scratch tables."""

    def __init__(self, scripting: Scripting, schema: tuple[str, ...], mark: str) -> None:
        self.scripting = scripting
        self.chapters: list[Chapter] = []
        self._schema = () if scripting.traits.temporary_scratch else schema
        # Without transactions two scripts that run at once would see each other's tables.
        self._prefix = "sqlanon_script_" if scripting.transactional else f"sqlanon_script_{mark}_"
        self._drops: list[exp.Expression] = []

    def open(self, name: str, sentence: str) -> None:
        """Begin a chapter."""
        self.chapters.append(Chapter(name, sentence))

    def add(self, comment: str, *statements: exp.Expression) -> None:
        """Write a part of the chapter that is open."""
        self.chapters[-1].parts.append(Part(one_line(comment), statements))

    def name(self, name: str) -> Table:
        """What a scratch table of the script is called."""
        return Table((*self._schema, f"{self._prefix}{name}"))

    def stage(
        self, comment: str, target: Table, create: Callable[[Table], exp.Create], drop: Callable[[Table], exp.Drop]
    ) -> Table:
        """Make a table or view beside the target that is no scratch table: it may take the target's name."""
        staging = target.beside(f"{self._prefix}staging")
        self.add(comment, drop(staging), create(staging))
        if not self.scripting.transactional:
            self._drops.append(drop(staging))
        return staging

    def create(self, comment: str, name: str, query: exp.Query) -> Table:
        """Make a scratch table from a query."""
        table = self.name(name)
        create = create_table_as(table, query, self.scripting.traits, scratch=True)
        self._drops.append(drop_table(table))
        self.add(comment, *self.scripting.fresh(create, table))
        return table

    def create_text(
        self, comment: str, name: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]
    ) -> Table:
        """Make a scratch table of texts that are written out."""
        table = self.name(name)
        self._drops.append(drop_table(table))
        inserts = [
            insert_text(table, rows[start : start + ROWS_PER_INSERT]) for start in range(0, len(rows), ROWS_PER_INSERT)
        ]
        create = create_text_table(table, columns, self.scripting.traits)
        self.add(comment, *self.scripting.fresh(create, table), *inserts)
        return table

    def stop_unless(self, comment: str, condition: exp.Select, message: str) -> None:
        """An assertion: the script goes on only when the condition yields TRUE."""
        self.add(comment, self.scripting.assertion(condition, f"sqlanon: {message}"))

    def drop_made(self) -> None:
        """Drop every scratch table, the last one first."""
        if self._drops:
            self.add("Drop the scratch tables.", *reversed(self._drops))

    def file_name(self, chapter: Chapter) -> str:
        """What the file of a chapter is called: names sort in the order of the chapters."""
        return f"{self.chapters.index(chapter) + 1:02}_{chapter.name}.sql"

    def text(self, chapter: Chapter) -> str:
        """A chapter as text."""
        blocks = [f"-- {self.file_name(chapter)}: {chapter.sentence}", *(self._block(part) for part in chapter.parts)]
        return "\n\n".join(blocks) + "\n"

    def _block(self, part: Part) -> str:
        traits = self.scripting.traits
        lines = [f"{traits.render(resolved(statement, traits), pretty=True)};" for statement in part.statements]
        return "\n".join([f"-- {part.comment}", *lines])


def one_line(text: str) -> str:
    """For a comment that ends with its line."""
    return " ".join(text.split())
