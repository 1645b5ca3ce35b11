"""Local recoding after the lattice: rows that the chosen node would suppress are recoded again, by a node of their own.

Iterated until nothing is left, or what is left may be suppressed. The rows that an earlier node kept lose nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.errors import InfeasibleError
from sqlanon.evaluation.problem import Problem, solve
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.evaluation.rollups import NodeCounts
from sqlanon.hierarchies.lattice import Node
from sqlanon.privacy.base import Requirement
from sqlanon.recoding import local_statements as local_sql
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.base import Recoded, recoded_by, requirement_for
from sqlanon.recoding.local_statements import LevelOf
from sqlanon.recoding.mondrian import regions as regions_sql
from sqlanon.recoding.mondrian.cuts import CutQuestion, satisfies
from sqlanon.search.base import SearchResult
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source.combinations import Combinations, combine
from sqlanon.source.frequency import LARGEST_INT, Base, FrequencySet
from sqlanon.source.frequency_statements import Shape
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table, cast, column


def local(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Search the lattice, recode what it keeps, and search again for the rest."""
    requirement_for(run)
    made = combine(run.engine, run.binding, base, stored, run.scratch)
    return Iterations(run, made, stored).recoded()


@dataclass(frozen=True)
class _Kept:
    """What a node keeps of the rows that an iteration began with."""

    node: Node
    keyed: Table
    found: Table
    """Its classes; those that fail have no number."""
    left: Table
    combinations: int
    rows: int
    """Rows that are left for later iterations."""


class Iterations:
    """Recodes rows node by node."""

    def __init__(self, run: Run, made: Combinations, stored: Sequence[StoredHierarchy]) -> None:
        self.run = run
        self.made = made
        self.stored = tuple(stored)
        self.requirement: Requirement = requirement_of(run.binding, rows=made.rows)
        grouping = self.requirement.groupings[0]
        self.asked = CutQuestion(grouping.measures(), grouping.satisfied(), made.value_tables, made.persons)
        self.allowed = run.binding.limit_rows(made.rows)
        self.steps: list[dict[str, object]] = []
        self.checks = 0
        self._classes = 0
        self._parts: tuple[Table, Table] | None = None

    @property
    def counts(self) -> list[str]:
        return ["n", *(["respondent", "lone_respondents"] if self.made.persons else [])]

    @property
    def carried(self) -> list[str]:
        return [*self.made.ordinals, *self.made.coded, *self.counts]

    def recoded(self) -> Recoded:
        """Iterate, then put the classes of all iterations together."""
        if not self._satisfied(self.made.table):
            raise InfeasibleError("all rows in one class do not satisfy the requirement: no release can satisfy it")
        rows, combinations, number = self.made.table, self.made.count, self.made.rows
        settings = self.run.binding.spec.search.local
        limit = self.allowed if settings.leave is None else settings.leave.rows(number)
        for iteration in range(1, settings.iterations + 1):
            last = iteration == settings.iterations
            kept = self._iterate(rows, combinations, number, self.allowed if last else limit, iteration)
            if kept.rows > self.allowed and not self._satisfied(kept.left):
                # What is left could never be released: this iteration may leave only what may be suppressed.
                self._drop(kept)
                kept = self._iterate(rows, combinations, number, self.allowed, iteration)
            self._put_away(kept, number - kept.rows)
            if rows != self.made.table:
                self.run.scratch.drop(rows)
            rows, combinations, number = kept.left, kept.combinations, kept.rows
            if not number or not self._satisfied(rows):
                break
            limit = number - 1
        return self._assigned(rows)

    def at(self, node: Node) -> Recoded:
        """The full-domain release of a node, put as classes: what it costs compares with any other recoding."""
        kept = self._kept_by(node, self.made.table, 1)
        self._put_away(kept, self.made.rows - kept.rows)
        return self._assigned(kept.left)

    def _satisfied(self, rows: Table) -> bool:
        found = self.run.engine.query(Statement("judge all rows", satisfies(rows, self.asked)))
        return bool(found and found[0][0])

    def _iterate(self, rows: Table, combinations: int, number: int, limit: int, iteration: int) -> _Kept:
        """Search the lattice for the rows that are left, and part them into classes and what is left of them."""
        found = self._search(rows, combinations, number, limit, iteration)
        self.checks += found.checks
        return self._kept_by(found.chosen.node, rows, iteration)

    def _kept_by(self, node: Node, rows: Table, iteration: int) -> _Kept:
        """The classes of rows at a node, and the rows of those that fail."""
        create, levels = self.run.scratch.create, self._levels(node)
        keyed = create("labels of rows", f"keyed{iteration}", local_sql.keyed(rows, levels, self.carried))
        query = local_sql.classes_of(keyed, levels, self.asked, self._classes + 1)
        classes = create("judge classes", f"found{iteration}", query)
        query = local_sql.left_over(keyed, classes, levels, self.carried)
        left = create("rows left", f"left{iteration}", query)
        [(remaining, remaining_rows)] = self.run.engine.query(Statement("count rows", local_sql.total_rows(left)))
        return _Kept(node, keyed, classes, left, int(remaining), int(remaining_rows))

    def _search(self, rows: Table, combinations: int, number: int, limit: int, iteration: int) -> SearchResult:
        run = self.run
        search = run.binding.spec.search
        settings = search.model_copy(update={"algorithm": search.local.algorithm})
        binding = replace(run.binding, spec=run.binding.spec.model_copy(update={"search": settings}))
        with Scratch(run.engine, run.binding.scratch) as scratch:
            frequency = self._frequency(rows, combinations, number, iteration, scratch)
            part = None if self.requirement.monotone(limit) else self.requirement.relaxed()
            asked = [self.requirement, *([] if part is None else [part])]
            counts = NodeCounts(run.engine, frequency, asked, scratch)
            own = replace(run, binding=binding, scratch=scratch)
            problem = Problem(own, frequency, counts, 0, limit, None if part is None else 1)
            return solve(problem, problem.evaluator())

    def _frequency(self, rows: Table, combinations: int, number: int, iteration: int, scratch: Scratch) -> FrequencySet:
        """The frequency set of the rows that are left. What models compare with is the whole source."""
        made = self.made
        domains = [domain.table for domain in made.domains]
        query = local_sql.as_base(rows, domains, made.codes, self.counts)
        base = scratch.create("rows left", f"base{iteration}", query)
        shape = Shape(
            tuple(hierarchy.table for hierarchy in self.stored),
            "int" if made.rows <= LARGEST_INT else "bigint",
            sensitive=len(made.codes),
            tables=tuple(item.tables for item in made.sensitive),
            persons=made.persons,
        )
        counted: dict[str, exp.Expression] = {"n": cast(column("n", "base"), shape.count_type)}
        if made.persons:
            counted["lone_respondents"] = column("lone_respondents", "base")
        more = ["respondent"] if made.persons else []
        query = frequency_sql.packed(base, shape.hierarchies, shape.layout, counted, made.codes, more)
        table = scratch.create("pack frequency set", f"frequency{iteration}", query)
        values = tuple(
            scratch.create("read domains", f"values{iteration}_{position}", local_sql.domain_of(rows, position, domain))
            for position, domain in enumerate(domains)
        )
        return FrequencySet(table, combinations, number, self.stored, values, shape, "", made.sensitive)

    def _levels(self, node: Node) -> list[LevelOf]:
        domains = self.made.domains
        return [LevelOf(position, domains[position].table, level) for position, level in enumerate(node)]

    def _put_away(self, kept: _Kept, rows: int) -> None:
        """Take the classes of an iteration into the assignment."""
        levels, engine, create = self._levels(kept.node), self.run.engine, self.run.scratch.create
        parts = local_sql.placed(kept.keyed, kept.found, levels, self.made.ordinals)
        labels = local_sql.labels_of(kept.found, levels)
        if self._parts is None:
            self._parts = create("classes", "parts", parts), create("labels", "named", labels)
        else:
            for table, query in zip(self._parts, (parts, labels), strict=True):
                engine.execute(Statement("classes", regions_sql.appended(table, query)))
        [(_, classes)] = engine.query(Statement("count classes", regions_sql.numbers(self._parts[1], "class")))
        self._classes = int(classes or 0)
        self.steps.append({"levels": dict(zip(self.run.binding.names, kept.node, strict=True)), "rows": rows})
        self.run.scratch.drop(kept.keyed, kept.found)

    def _drop(self, kept: _Kept) -> None:
        self.run.scratch.drop(kept.keyed, kept.found, kept.left)

    def _assigned(self, left: Table) -> Recoded:
        if self._parts is None:
            raise ValueError("there is at least one iteration")
        parts, named = self._parts
        engine, scratch, ordinals = self.run.engine, self.run.scratch, self.made.ordinals
        rest = local_sql.suppressed(left, ordinals)
        engine.execute(Statement("suppressed rows", regions_sql.appended(parts, rest)))
        merged = scratch.create("labels", "merged", local_sql.merged(named, len(ordinals)))
        labels = scratch.create("labels", "labels", local_sql.released_labels(merged))
        table = scratch.create("assignment", "assignment", local_sql.released_parts(parts, merged, ordinals))
        scratch.drop(left, parts, named, merged)
        assignment = Assignment(self.made, table, labels, whole=True)
        recoded = recoded_by(self.run, assignment, {"iterations": self.steps})
        return replace(recoded, checks=self.checks, trace=tuple(self.steps))
