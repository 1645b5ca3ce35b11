"""The pages that a script is written on: its heading, chapters of commented statements, their scratch tables.

Knows how a dialect wants things written; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from sqlglot import exp

from sqlanon.engines.scripting import Scripting, resolved
from sqlanon.recoding.kinds import FullDomain
from sqlanon.release.steps import PublishStep
from sqlanon.source.binding import Binding
from sqlanon.spec import Limit, Privacy
from sqlanon.spec.columns import accepted_columns, rules_of
from sqlanon.spec.keys import NO_LIMITS
from sqlanon.sql.build import create_table_as, create_text_table, drop_table, insert_text
from sqlanon.sql.relations import File, Table, table_expression

ROWS_PER_INSERT = 200
COMMENT = 117
"""Characters of a line of a comment."""


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

    def staging(self, target: Table) -> Table:
        """What lies beside the target until it takes its name."""
        return target.beside(f"{self._prefix}staging")

    def stage(self, step: PublishStep, drop: exp.Drop) -> None:
        """Make what lies beside the target: no scratch table, for it may take the target's name."""
        if self.scripting.transactional:
            self.add(step.comment, step.statement)
        else:
            self.add(step.comment, drop, step.statement)
            self._drops.append(drop.copy())

    def create(self, comment: str, name: str, query: exp.Query, *, analyzed: bool = False) -> Table:
        """Make a scratch table from a query; `analyzed` where statements after it are planned by what it holds."""
        table = self.name(name)
        create = create_table_as(table, query, self.scripting.traits, scratch=True)
        self._drops.append(drop_table(table))
        planned = analyzed and self.scripting.traits.plans_by_statistics
        analyze = [exp.Analyze(tables=[table_expression(table)])] if planned else []
        self.add(comment, *self.scripting.fresh(create, table), *analyze)
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

    def stop_at(self, comment: str, found: exp.Select, before: str, after: str) -> None:
        """An assertion: the script goes on only where `wrong` is NULL, and tells it otherwise."""
        self.add(comment, self.scripting.refusal(found, f"sqlanon: {before}", after))

    def drop_made(self) -> None:
        """Drop every scratch table, the last one first."""
        if self._drops:
            self.add("Drop the scratch tables.", *reversed(self._drops))

    def file_name(self, chapter: Chapter) -> str:
        """What the file of a chapter is called: names sort in the order of the chapters."""
        return f"{self.chapters.index(chapter) + 1:02}_{chapter.name}.sql"

    def text(self, chapter: Chapter) -> str:
        """A chapter as text."""
        blocks = [
            commented(f"{self.file_name(chapter)}: {chapter.sentence}"),
            *(self._block(part) for part in chapter.parts),
        ]
        return "\n\n".join(blocks) + "\n"

    def _block(self, part: Part) -> str:
        traits = self.scripting.traits
        lines = [f"{traits.render(resolved(statement, traits), pretty=True)};" for statement in part.statements]
        return "\n".join([commented(part.comment), *lines])


def one_line(text: str) -> str:
    """For a comment that ends with its line."""
    return " ".join(text.split())


def commented(text: str) -> str:
    """A sentence as comments, no line of them longer than a person wants to read."""
    lines = wrap(one_line(text), COMMENT, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"-- {line}" for line in lines)


def heading(binding: Binding, recoding: FullDomain, scripting: Scripting) -> Iterator[str]:
    """The lines at the head of a script.

    What the script releases, at which levels, under which requirement, and how to run it.
    """
    yield f"Release of {binding.source} as {binding.target}, made by sqlanon for {scripting.name}."
    levels = ", ".join(f"{name} at level {level}" for name, level in recoding.levels().items())
    yield f"Generalization: {'class by class' if binding.personalized is not None else levels}."
    yield from _requirement(binding)
    most = rows_within(binding.spec.privacy.suppression.limit)
    suppressed = "blanked" if binding.blank else "left out"
    for name, words in rules_of(binding.spec.columns).items():
        yield f"Column {name}: {words}."
    for name, reason in accepted_columns(binding.spec.columns).items():
        yield f"Column {name} looks like an identifier and is released, accepted by the spec: {reason}"
    yield f"At most {most} are {suppressed}. Where this does not hold, the script stops and publishes nothing."
    yield from _running(binding, scripting)


def rows_within(limit: Limit) -> str:
    """A limit in words.

    >>> from decimal import Decimal
    >>> rows_within(Limit(count=8)), rows_within(Limit(percent=Decimal(2)))
    ('8 rows', '2% of the rows')
    """
    return f"{limit} rows" if limit.percent is None else f"{limit} of the rows"


def _requirement(binding: Binding) -> Iterator[str]:
    privacy = binding.spec.privacy
    unit = "persons" if binding.persons else "rows"
    for name, (columns, k) in privacy.groups(binding.names).items():
        quasi_identifier = f"the quasi-identifier {name} ({', '.join(columns)})" if name else "the quasi-identifier"
        demands = [] if k is None else [f"has at least {k} {unit}"]
        for demand in (*demands, *_population(privacy)):
            yield f"Every class of {quasi_identifier} {demand}."
    known = ", the other sensitive values being known" if privacy.other_sensitive == "known" else ""
    for entry in privacy.models():
        yield f"{entry.sentence()}{known}."
    if privacy.personalized is not None:
        asked = privacy.personalized
        yield f"Nobody's guarding node of {asked.column} is inferred with a probability above {asked.p_breach}."
    if binding.persons:
        yield f"Persons are told apart by {binding.spec.respondent}, which is not released."


def _population(privacy: Privacy) -> Iterator[str]:
    if privacy.k_map is not None:
        yield f"matches at least {privacy.k_map} rows of the population"
    if privacy.delta_presence is not None:
        bounds = privacy.delta_presence
        yield f"is a share from {bounds.min:f} to {bounds.max:f} of the rows of the population that it matches"


def _uncarried(binding: Binding, scripting: Scripting) -> Iterator[str]:
    """The keys of the spec that a run holds to and a script of the dialect cannot."""
    limits = binding.spec.limits
    if limits.asked_seconds is not None and not scripting.timeout:
        yield "limits.statement_seconds"
    for name in ("max_scan_bytes", "memory", "lock_seconds"):
        if getattr(limits, name) != getattr(NO_LIMITS, name):
            yield f"limits.{name}"
    if binding.spec.ledger is not None and binding.spec.ledger.keep is not None:
        yield "history.keep"
    if binding.spec.scratch is not None and scripting.traits.temporary_scratch:
        yield "scratch"


def _running(binding: Binding, scripting: Scripting) -> Iterator[str]:
    yield "Run everything in its order, in one session that stops at the first error:"
    yield scripting.client
    carried = [*_uncarried(binding, scripting)]
    if carried:
        yield f"The spec says {' and '.join(carried)}, which this script does not hold to: see to it where you run it."
    if not scripting.transactional:
        yield "Without a transaction: after a stop the target is as it was, and the last file drops what is left over."
    if not (scripting.keeps_grants or binding.as_view or isinstance(binding.target, File)):
        others = " `sqlanon apply` keeps them." if scripting.executed else ""
        yield f"Grants, comments and indexes of an existing target are not kept by this script.{others}"
    if not scripting.executed:
        yield "This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care."
