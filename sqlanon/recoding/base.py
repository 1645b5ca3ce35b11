"""What a recoder is: from the scan and the hierarchies to a recoding, its cost and how it was found.

Recoders are deterministic: the same combinations and settings give the same recoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from sqlanon.errors import UsageError
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.recoding import Assigned, Cuts
from sqlanon.recoding.assignment import Assignment, figures_of
from sqlanon.spec.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from sqlanon.privacy.base import Requirement
    from sqlanon.search.base import Step
    from sqlanon.source.combinations import Combinations
    from sqlanon.source.frequency import Base
    from sqlanon.source.hierarchies import StoredHierarchy
    from sqlanon.source.run import Run
    from sqlanon.spec import Spec


@dataclass(frozen=True)
class Recoded:
    """The answer of a recoder."""

    recoding: Cuts | Assigned
    suppressed: int
    classes: int
    scores: Mapping[str, float]
    """Cost by measure: at least `loss`, `dm`, `hdm` and `aecs`."""
    fingerprint: str
    """Fingerprint of the combinations that were recoded."""
    combinations: int
    assignment: Assignment | None = None
    """The tables of an `Assigned` recoding."""
    checks: int = 0
    """Candidates the database evaluated."""
    space: int | None = None
    """Candidates there are, where somebody counted them."""
    proven: bool = False
    """The answer is optimal for what the algorithm promises, and that was shown."""
    gap: float | None = None
    """How much better an answer could be at most, relative to this one; None: no bound is known."""
    metric: str | None = None
    """Which of the scores was minimized; None: the spec's metric, as far as it is among them."""
    trace: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = field(default=())


class Recoder(Protocol):
    """Decides a recoding; InfeasibleError when there is none within the limits or the budget."""

    def __call__(self, run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded: ...


def recoded_by(run: Run, assignment: Assignment, details: Mapping[str, object]) -> Recoded:
    """The answer of a class-wise recoder: what its tables say. `dataclasses.replace` adds how it was found."""
    _, suppressed, classes = assignment.totals(run.engine)
    made = assignment.combinations
    algorithm = run.binding.spec.search.algorithm
    recoding = Assigned(algorithm, classes, made.fingerprint, assignment.checksum(run.engine), dict(details))
    weights = {position: float(run.binding.spec.weight(name)) for position, name in enumerate(run.binding.names)}
    return Recoded(
        recoding=recoding,
        suppressed=suppressed,
        classes=classes,
        scores=figures_of(run.engine, assignment, weights),
        fingerprint=made.fingerprint,
        combinations=made.count,
        assignment=assignment,
        warnings=bounds_told(run, made),
    )


def bounds_told(run: Run, made: Combinations) -> tuple[str, ...]:
    """What ranges tell that end at values: one sentence for each column that search.bounds: values is asked for."""
    if run.binding.spec.search.bounds != "values":
        return ()
    columns = [domain.hierarchy.column for domain in made.domains if domain.least and domain.natural and domain.height]
    return tuple(
        f"search.bounds: values ends ranges of column '{name}' at the least and the greatest value under a label of "
        f"level {run.binding.spec.columns[name].levels.min}: exact values of people stand in the release"
        for name in columns
    )


def least_levels(run: Run, stored: Sequence[StoredHierarchy]) -> tuple[int, ...]:
    """For each quasi-identifier the level that recoders start from: columns.*.levels.min. UsageError for a level that
    does not exist, and for levels.max, which recoders without levels cannot keep to."""
    columns, algorithm = run.binding.spec.columns, run.binding.spec.search.algorithm
    for hierarchy in stored:
        name, bounds = hierarchy.column, columns[hierarchy.column].levels
        if bounds.min > hierarchy.height:
            raise UsageError(
                f"columns.{name}.levels: level {bounds.min} does not exist, "
                f"the hierarchy ends at level {hierarchy.height}"
            )
        if bounds.max is not None and bounds.max < hierarchy.height:
            raise UsageError(f"columns.{name}.levels.max: {algorithm} generalizes as far as it must; leave it out")
    return tuple(columns[hierarchy.column].levels.min for hierarchy in stored)


def groups_with_slack(spec: Spec) -> Spec:
    """The spec as a recoder of groups sees it, whose labels end at values of their rows: of two rows under a label of
    two values each has one, of more rows so many less two could have either."""
    privacy, row = spec.privacy, ALGORITHMS[spec.search.algorithm]
    ends_at_values = row.kind == "cells" or (row.kind == "mondrian" and spec.search.mondrian.bounds == "values")
    if not privacy.slack or not ends_at_values:
        return spec
    asked = privacy.model_copy(update={"k": max(privacy.k or 1, privacy.slack + 2)})
    return spec.model_copy(update={"privacy": asked})


def with_slack(run: Run) -> Run:
    """The run with the classes that `groups_with_slack` asks for."""
    return replace(run, binding=replace(run.binding, spec=groups_with_slack(run.binding.spec)))


def requirement_for(run: Run) -> Requirement:
    """The requirement of a spec whose release is not full-domain; UsageError for what only full-domain releases do."""
    binding = run.binding
    algorithm = binding.spec.search.algorithm
    if binding.population is not None:
        raise UsageError(f"search.algorithm: {algorithm} compares with no population; leave privacy.population out")
    requirement = requirement_of(binding)
    if requirement.whole is None:
        raise UsageError(
            f"search.algorithm: {algorithm} takes one quasi-identifier and no known sensitive columns; "
            f"choose a full-domain algorithm, as optimal"
        )
    if binding.as_view:
        raise UsageError(
            f"target: {algorithm} decides from the rows as they are now, which a view cannot; name a table"
        )
    return requirement
