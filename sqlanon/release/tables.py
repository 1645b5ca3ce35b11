"""Publishing several tables: read and judged anew in one transaction, staged, audited over their join, swapped as one.

Until the transaction ends no table is replaced: a reader sees all tables of the release before, or all of the new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sqlanon.auditor.figures import PolicyCheck
from sqlanon.auditor.policy import ColumnPolicy, audit_policy, policy_of
from sqlanon.auditor.rules import audit_rules
from sqlanon.auditor.tables import JoinedAudit, JoiningTable, audit_joined
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError, RequirementError, UsageError
from sqlanon.evaluation.persons import remaining
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.hierarchies.lattice import Node
from sqlanon.notebook import html_table
from sqlanon.recoding import FullDomain
from sqlanon.release import statements as release_sql
from sqlanon.release.results import PlanResult
from sqlanon.release.steps import Release, stage_table
from sqlanon.source.hierarchies import StoredHierarchy, describe_hierarchies
from sqlanon.source.scratch import Scratch
from sqlanon.source.tables import BoundTable, BoundTables, CodedTables, about_table, code_tables
from sqlanon.sql.build import equal, named, query
from sqlanon.sql.relations import Table, column, table_expression

FAILED = "the release failed its audit and was not published"


@dataclass(frozen=True)
class TablesPublication:
    """What was published."""

    persons: int
    """People of the source, in the snapshot that was published."""
    suppressed: int
    """People who are in no table."""
    rows: Mapping[str, int]
    """The rows of each source."""
    audit: JoinedAudit
    swap: str


@dataclass(frozen=True)
class TablesRun:
    """What was published of several tables; `plan` is None when a lock file had decided."""

    targets: Mapping[str, str]
    recoding: FullDomain
    publication: TablesPublication
    plan: PlanResult | None
    engine: str
    seconds: Mapping[str, float]
    run: str
    warnings: tuple[str, ...] = ()
    """What was found otherwise than a lock file says."""

    @property
    def levels(self) -> dict[str, int]:
        """The level of each column that has one of its own, as table.column."""
        return self.recoding.levels()

    @property
    def audit(self) -> JoinedAudit:
        return self.publication.audit

    def to_dict(self) -> dict[str, Any]:
        planned = {} if self.plan is None else self.plan.to_dict()
        found = self.publication
        return {
            **planned,
            "targets": dict(self.targets),
            "levels": self.levels,
            "recoding": self.recoding.outline(),
            "height": sum(self.levels.values()),
            "rows": found.persons,
            "suppressed": found.suppressed,
            "released": found.audit.persons,
            "classes": found.audit.classes,
            "audit": found.audit.to_dict(),
            "swap": found.swap,
            "run": self.run,
            **({"warnings": list(self.warnings)} if self.warnings else {}),
            "seconds": dict(self.seconds),
            "engine": self.engine,
        }

    def _repr_html_(self) -> str:
        rows = [(name, str(level)) for name, level in self.levels.items()]
        rows += [
            ("people", f"{self.audit.persons} of {self.publication.persons}"),
            ("smallest class", str(self.audit.k)),
            ("satisfied", "yes" if self.audit.satisfied else "no"),
        ]
        return html_table(f"sqlanon release of {', '.join(self.targets.values())}", rows)


def publish_again(
    engine: Engine, bound: BoundTables, node: Node, hierarchies: Mapping[str, Mapping[str, Any]], scratch: Scratch
) -> TablesPublication:
    """Read all tables anew and publish them at a node, or leave everything as it was; `hierarchies` are those that the
    node was chosen for."""
    with engine.transaction():
        coded = code_tables(engine, bound, scratch)
        if describe_hierarchies(coded.hierarchies) != hierarchies:
            raise UsageError("the source has changed since the plan, and a hierarchy with it: plan again")
        return publish_tables(engine, coded, node, scratch)


def publish_tables(engine: Engine, coded: CodedTables, node: Node, scratch: Scratch) -> TablesPublication:
    """Publish all tables at a node, within the transaction that they were read in."""
    bound = coded.bound
    limit = bound.spec.privacy.most_suppressed.rows(coded.persons)
    stay, left = remaining(engine, coded, node, limit, scratch)
    if left > limit or left >= coded.persons:
        raise InfeasibleError(
            f"the source no longer fits the plan: {left} of {coded.persons} people at least would be left out, the "
            f"limit is {limit}: plan again"
        )
    prepared = bound.prepared(engine, scratch)
    shown = _with_pseudonyms(engine, prepared.people, stay, scratch)
    staged = [
        _staged(engine, table, coded, (node, shown), scratch.name(f"staging_{place}").name)
        for place, table in enumerate(prepared.tables)
    ]
    audited = _audited(engine, prepared, coded, node, staged)
    _refuse_other_counts(engine, coded, audited, stay, left)
    for table, staging in zip(prepared.tables, staged, strict=True):
        engine.replace(staging, table.target)
    rows = {table.bound.name: table.rows for table in coded.tables}
    return TablesPublication(coded.persons, left, rows, audited, engine.swapped)


def joining(table: BoundTable, place: Table) -> JoiningTable:
    """A table as the audit of the join sees it."""
    return JoiningTable(table.name, place, table.shown, table.binding.names, table.known)


def _with_pseudonyms(engine: Engine, people: BoundTable, stay: Table, scratch: Scratch) -> Table:
    """Those who stay by their own key, with the pseudonym of each."""
    source = engine.traits.relation(people.binding.source, "source")
    pseudonym = named(column(people.shown, "source"), "pseudonym")
    select = exp.select(column("who", "stay"), pseudonym).from_(source)
    on = equal(people.key(engine, "source"), column("who", "stay"))
    select = select.join(table_expression(stay, "stay"), on=on, copy=False)
    shown = scratch.create("people who stay", "shown", select)
    engine.analyze("people who stay", shown)
    return shown


def _staged(engine: Engine, table: BoundTable, coded: CodedTables, decided: tuple[Node, Table], name: str) -> Table:
    """The rows of those who stay, generalized, beside the target."""
    binding, (node, stay) = table.binding, decided
    levels = FullDomain(binding.names, tuple(node[position] for position in table.positions))
    release = Release(binding, coded.hierarchies_of(table), levels, requirement_of(binding))
    source = engine.traits.relation(binding.source, "source")
    rows = release_sql.rows_of_people(
        source, release.columns(engine), binding.released, stay, (table.key(engine, "source"), table.shown)
    )
    staging = table.target.beside(name)
    step = stage_table(staging, rows, engine.traits)
    with about_table(table.name):
        engine.execute(Statement(step.title, step.statement))
    return staging


def _audited(
    engine: Engine, bound: BoundTables, coded: CodedTables, node: Node, staged: Sequence[Table]
) -> JoinedAudit:
    """The staged tables against what the spec asks of all of them together and of each."""
    people, *others = (joining(table, staging) for table, staging in zip(bound.tables, staged, strict=True))
    found = audit_joined(engine, people, others, bound.k)
    policies: dict[str, tuple[PolicyCheck, ...]] = {}
    for table, staging in zip(bound.tables, staged, strict=True):
        columns = [
            _column_policy(table, item, node[position])
            for item, position in zip(coded.hierarchies_of(table), table.positions, strict=True)
        ]
        policies[table.name] = audit_table(engine, table, staging, columns)
    names = {table.name: str(table.target) for table in bound.tables}
    found = found.with_policy(policies, coded.persons - found.persons, names)
    if not found.satisfied:
        raise RequirementError(f"{FAILED}: {next(iter(found.violations), 'nobody is in it')}")
    return found


def _column_policy(table: BoundTable, item: StoredHierarchy, level: int) -> ColumnPolicy:
    families = {info.name: info.family for info in table.binding.columns}
    return ColumnPolicy(item.column, families[item.column], item.table.table, item.families, item.top, (level,))


def audit_table(
    engine: Engine, table: BoundTable, published: Table, columns: Sequence[ColumnPolicy]
) -> tuple[PolicyCheck, ...]:
    """What the spec asks of one table by itself: its columns, its labels, its rules."""
    checks = audit_policy(engine, published, policy_of(table.binding, columns, None))
    if checks[0].satisfied:
        checks = (*checks, *audit_rules(engine, published, table.binding, alone=False))
    return checks


def _refuse_other_counts(engine: Engine, coded: CodedTables, audited: JoinedAudit, stay: Table, left: int) -> None:
    """Everybody who stays is in the tables with all rows."""
    if audited.persons != coded.persons - left:
        raise RequirementError(f"{FAILED}: it has {audited.persons} people, expected {coded.persons - left}")
    for table in coded.others:
        statement = query(
            "select coalesce(sum(said.n), 0) as n from said join stay on said.person = stay.person",
            {"said": table.said, "stay": stay},
        )
        [(expected,)] = engine.query(Statement("count staged rows", statement, fresh=True))
        found = audited.counts[table.bound.name]
        if found != int(expected):
            raise RequirementError(f"{FAILED}: {table.bound.name} has {found} rows, expected {expected}")
