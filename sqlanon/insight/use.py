"""What a published target keeps of its source, whoever made it: utility, workloads of queries, breach probabilities,
and what `privacy.adversary` asks of it.

Opens a run of the spec that names the source; reads aggregates, publishes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlglot import exp

from sqlanon.auditor import AuditResult, Beside, Request, audit
from sqlanon.auditor.covering import link
from sqlanon.auditor.downcoding import LabelLevels
from sqlanon.auditor.figures import PolicyCheck
from sqlanon.auditor.request import NUMBERS, Opened
from sqlanon.engines.base import Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.hierarchies.lattice import Node
from sqlanon.insight.adversary.algorithm import downcode, hierarchies_of, unmeasured
from sqlanon.insight.adversary.minimality import cells_beside_release, shown_levels
from sqlanon.insight.adversary.people import LinkedPeople, TableSide, shown_rows
from sqlanon.insight.options import PLAIN_UTILITY, UtilityOptions, labels_of, published, source_people
from sqlanon.insight.usefulness import (
    ColumnUtility,
    GroupMeans,
    Hierarchy,
    UtilityResult,
    associations,
    classify,
    count_tables,
    group_means,
    measure_column,
    table_figures,
)
from sqlanon.insight.workload import Given, RandomQueries, WorkloadResult, measure_workload
from sqlanon.source.binding import bind_published, bind_relation
from sqlanon.source.frequency import Base, scan, store_hierarchies
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import DEFAULT, Options, Run, running
from sqlanon.spec import Source, Spec
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.sql.build import equal, named, query, row_count, subquery
from sqlanon.sql.relations import Query, Relation, column, literal


def utility(spec: Spec, options: Options = DEFAULT, asked: UtilityOptions = PLAIN_UTILITY) -> UtilityResult:
    """Measure the target of a spec against its source."""
    with running(spec, options) as run:
        target = published(run)
        if target is None:
            raise UsageError(f"there is no release yet at {run.binding.target}: publish it first")
        base = scan(run.engine, run.binding, run.scratch)
        shown = _shown(run, target)
        blanked = 0
        if run.binding.blank:
            blanked = _rows(run, target) - _rows(run, shown)
        columns = tuple(_columns(run, base, shown))
        names, sensitive = run.binding.names, spec.sensitive
        before, after = count_tables(run.engine, [run.binding.source, target], names, sensitive, run.scratch)
        targets = (asked.predict,) if asked.predict else _predictable(run)
        for name in targets:
            if name not in sensitive:
                raise UsageError(f"--predict: '{name}' is no sensitive column of the spec")
        notes = [
            f"column '{item.column}': {item.unknown} released rows have labels that its hierarchy does not know; "
            f"nothing counts as kept of their values"
            for item in columns
            if item.unknown
        ]
        means = tuple(_means(run, target)) if not notes else ()
        queries = count_queries(run, target, asked.queries, notes)
        return UtilityResult(
            source=str(run.binding.source),
            target=str(target),
            table=table_figures(run.engine, after, columns, base.rows, blanked),
            columns=columns,
            associations=associations(run.engine, before, after),
            means=means,
            classifications=tuple(classify(run.engine, before, after, names, name) for name in targets),
            notes=tuple(notes),
            queries=queries,
        )


def count_queries(
    run: Run,
    target: Relation,
    asked: Given | RandomQueries | None,
    notes: list[str],
    stored: Sequence[StoredHierarchy] | None = None,
) -> dict[str, dict[str, float]] | None:
    """The errors of count queries by type; where random ones cannot be answered, a note says why.

    `stored`: the hierarchies of the source, where they stand.
    """
    if asked is None or not run.binding.spec.sensitive:
        return None
    try:
        with run.scratch.apart("w") as scratch:
            found = measure_workload(replace(run, scratch=scratch), target, asked, None, stored)
    except (SourceError, UsageError) as error:
        if not isinstance(asked, RandomQueries):
            raise
        notes.append(f"count queries were not asked: {error}")
        return None
    return found.figures() if found.answers else None


def _shown(run: Run, target: Relation) -> Relation:
    """The release without the rows that show nothing of their quasi-identifier."""
    if not run.binding.blank:
        return target
    opened = Opened.at(run.engine, target, "audited")
    keys = [opened.key(name, as_text=True) for name in run.binding.names]
    return Query(shown_rows(LinkedPeople(TableSide(opened.expression(), keys), blank=True)))


def _rows(run: Run, relation: Relation) -> int:
    query = row_count(run.engine.traits.relation(relation, "counted"))
    return int(run.engine.query(Statement("count rows", query))[0][0])


def _columns(run: Run, base: Base, target: Relation) -> Iterator[ColumnUtility]:
    stored = store_hierarchies(run.engine, run.binding, base, run.scratch)
    source = Opened.at(run.engine, run.binding.source, "source")
    released = Opened.at(run.engine, target, "audited")
    released.require(*run.binding.names)
    for position, (item, hierarchy) in enumerate(zip(run.binding.quasi_identifiers, stored, strict=True)):
        yield measure_column(
            run.engine,
            Hierarchy(item, hierarchy, base.nulls[position], position),
            TableSide(source.expression(), [source.key(item.name, as_text=True)]),
            TableSide(released.expression(), [released.key(item.name, as_text=True)]),
            base.rows,
            run.scratch,
        )


def _predictable(run: Run) -> tuple[str, ...]:
    """Sensitive columns of classes, not of measures."""
    kinds = {info.name: info.family for info in run.binding.columns}
    return tuple(name for name in run.binding.spec.sensitive if kinds[name] not in NUMBERS)


def _means(run: Run, target: Relation) -> Iterator[GroupMeans]:
    kinds = {info.name: info.family for info in run.engine.columns(target)}
    numbers = [name for name in run.binding.spec.sensitive if kinds.get(name) in NUMBERS]
    numbers = [name for name in numbers if _in_source(run, name)]
    if not numbers:
        return
    labels = labels_of(run, target, [source_people(run)], place="g")
    for sensitive in numbers:
        for by, pairs in zip(labels.columns, labels.pairs, strict=True):
            yield group_means(run.engine, run.binding.source, target, by, pairs, sensitive)


def _in_source(run: Run, name: str) -> bool:
    return any(info.name == name and info.family in NUMBERS for info in run.binding.columns)


def audit_personalized(
    spec: Spec, options: Options, *, table: str | None = None, external: str | None = None
) -> AuditResult:
    """The breach probability of every row of the microdata, given a release of it; by default the target.

    An external table has everybody who could be in the release: people are then counted there (n of Theorems 1 and 2).
    """
    if spec.privacy.personalized is None:
        raise UsageError("privacy.personalized: the spec says nothing of guarding nodes")
    with running(spec, options) as run:
        release = _relation(run, table, "TABLE")
        everybody = None if external is None else _relation(run, external, "--population")
        linked = link(run, release, everybody)
        request = Request(run.binding.names, spec.privacy, spec.respondent, ())
        return audit(run.engine, release, request, Beside(run.binding.source, linked=linked))


def workload(
    spec: Spec,
    asked: Given | RandomQueries,
    options: Options,
    *,
    table: str | None = None,
    sensitive: str | None = None,
) -> WorkloadResult:
    """How well a release, by default the target, answers count queries."""
    with running(spec, options) as run:
        return measure_workload(run, _relation(run, table, "--table"), asked, sensitive)


def _relation(run: Run, name: str | None, key: str) -> Relation:
    """A release by its name or path; by default the target of the spec."""
    spec = run.binding.spec
    if name is None:
        return bind_published(spec, run.engine)
    reader: TypeAdapter[Source] = TypeAdapter(Source)
    try:
        place = reader.validate_python(name, context={"folder": "."})
    except ValidationError:
        raise UsageError(f"{key}: a table or a path is expected") from None
    return bind_relation(place, run.engine, key)


# -- what is asked against an adversary --------------------------------------------------------------------------------

SLACK = "privacy.adversary.slack"
CROWD = "privacy.adversary.suppression"
_UNSEEN = "privacy.adversary.choice: a table does not show which vectors there were to draw from; the plan says it"
_UNREAD = "{}: {} have labels that mean several sets of values; their classes were not measured"

_CROWDS = """
select cast(coalesce(sum(n), 0) as bigint) as suppressed, cast(coalesce(min(n), 0) as bigint) as fewest
from crowds as c
"""


def audit_defences(
    run: Run, target: Relation, suppressed: int | None, levels: Mapping[str, int] | None
) -> tuple[tuple[PolicyCheck, ...], tuple[str, ...]]:
    """What is asked against an adversary, check by check; and what no table shows, in words. `slack` by downcoding,
    `suppression` by the cells of the source that the release lacks; a margin is in the k that was drawn.

    `suppressed` are the rows that the source has more, or that show nothing; `levels` those of a lock file that fits.
    """
    privacy = run.binding.spec.privacy
    row = ALGORITHMS[run.binding.spec.search.algorithm]
    checks: list[PolicyCheck] = []
    notes: list[str] = []
    known = hierarchies_of(run)
    if privacy.slack and "slack" in row.honours:
        reason = unmeasured(run.binding.spec)
        if reason is not None:
            notes.append(f"{SLACK} was not asked of the table: {reason}")
        else:
            check, unread = _slack(run, target, known, privacy.slack)
            checks.append(check)
            notes += [_UNREAD.format(SLACK, _counted(unread))] if unread else []
    if privacy.crowd:
        asked = f"none or at least {privacy.crowd} rows, and of each class one level further"
        checks.append(PolicyCheck("suppressed crowds", asked, _crowds(run, target, known, suppressed, levels)))
    if privacy.choice is not None:
        notes.append(_UNSEEN)
    return tuple(checks), tuple(notes)


def _counted(number: Any) -> str:
    return "1 row" if int(number) == 1 else f"{int(number)} rows"


def _slack(run: Run, target: Relation, known: Sequence[LabelLevels], least: int) -> tuple[PolicyCheck, int]:
    """Whether whoever knows the algorithm can place nobody, and how many rows have labels that cannot be read."""
    asked = f"at least {least}"
    try:
        found = downcode(run, target, known).after
    except UsageError as error:
        return PolicyCheck("slack", asked, f"{SLACK} was not measured: {error}"), 0
    figures: Mapping[str, Any] = {} if found is None else found.figures
    complaint = ""
    if figures["contradicting"]:
        number, algorithm = int(figures["contradicting"]), run.binding.spec.search.algorithm
        classes = "1 class" if number == 1 else f"{number} classes"
        complaint = f"{SLACK}: {classes} cannot have been made by {algorithm} from this spec; not measured"
    elif figures["pinned"]:
        complaint = f"{SLACK}: whoever knows the algorithm can tell the finer cells of {_counted(figures['pinned'])}"
    elif figures["slack"] is not None and int(figures["slack"]) < least:
        complaint = f"{SLACK}: a class has a slack of {figures['slack']}"
    return PolicyCheck("slack", asked, complaint), int(figures["unread"])


def _crowds(
    run: Run,
    target: Relation,
    known: Sequence[LabelLevels],
    suppressed: int | None,
    levels: Mapping[str, int] | None,
) -> str:
    """What is wrong with the suppressed rows; empty: nothing."""
    least = run.binding.spec.privacy.crowd
    if suppressed is None or suppressed < 0:
        return f"{CROWD} was not measured: the rows of the source do not tell how many are suppressed"
    if 0 < suppressed < least:
        return f"{CROWD}: {_counted(suppressed)} of the source are suppressed"
    heights = [item.height for item in known]
    shown = shown_levels(run, target, known)
    if levels is not None:
        nodes: list[Node] = [tuple(levels[name] for name in run.binding.names)]
    elif isinstance(shown, str):
        return f"{CROWD} was not measured: {shown}" if suppressed else ""
    else:
        nodes = list(dict.fromkeys([shown.lowest, shown.highest]))
    fewest = []
    for node in nodes:
        further = tuple(min(level + 1, height) for level, height in zip(node, heights, strict=True))
        number, least_of_class = _of_classes(run, target, known, node, further)
        if number != suppressed:
            return f"{CROWD} was not measured: {_counted(suppressed)} are suppressed, but cells of {number} are missing"
        fewest.append(least_of_class)
    if not suppressed:
        return ""
    if max(fewest) < least:
        return f"{CROWD}: of the suppressed rows some class one level further has {fewest[-1]}"
    if min(fewest) < least:
        return (
            f"{CROWD} was not measured: labels are the same at several levels; a lock file beside the spec tells them"
        )
    return ""


def _of_classes(run: Run, target: Relation, known: Sequence[LabelLevels], node: Node, further: Node) -> tuple[int, int]:
    """How many rows of the source have a cell that the release lacks, and the fewest of them in a class further up."""
    cells = cells_beside_release(run, target, known, [node, further])
    by = [column(f"c1_{place}") for place in range(len(node))]
    crowds = exp.select(named(exp.Sum(this=column("n")), "n")).from_(subquery(cells, "cells"))
    crowds = crowds.where(equal(column("released"), literal(0))).group_by(*by)
    [(number, fewest)] = run.engine.query(Statement("suppressed crowds", query(_CROWDS, {"crowds": crowds})))
    return int(number), int(fewest)
