"""The risk of a spec's source and of its published target, or of any table.

Orchestrates; reads aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.attack import people_as_released
from sqlanon.errors import UsageError
from sqlanon.insight.options import PLAIN_RISK, RiskOptions
from sqlanon.insight.people import UNPUBLISHED, labels_of, population, published, renamed
from sqlanon.place import open_place
from sqlanon.risk import RiskRequest, RiskResult, measure_risk
from sqlanon.runs import DEFAULT, Options, running
from sqlanon.scratch import Scratch
from sqlanon.spec import Spec


def risk(spec: Spec, options: Options = DEFAULT, asked: RiskOptions = PLAIN_RISK) -> RiskResult:
    """The risk of a spec's source, and of its target where that stands."""
    with running(spec, options) as run:
        binding = run.binding
        request = RiskRequest(binding.names, asked.thresholds, binding.k, asked.subset_size, asked.unique_size)
        people = population(run)
        respondent = None if binding.respondent is None else binding.respondent.name
        with run.watch.phase("before"):
            before = measure_risk(
                run.engine,
                binding.source,
                request,
                run.scratch,
                population=None if people is None else renamed(run.engine, people),
                respondent=respondent,
            )
        target = published(run)
        if target is None:
            return RiskResult(before, None, (UNPUBLISHED.format(binding.target),), run.watch.seconds)
        notes = (
            []
            if respondent is None
            else ["the release does not hold the respondent column: its rows were counted, not persons"]
        )
        with run.watch.phase("after"):
            released = None
            if people is not None:
                try:
                    released = people_as_released(run.engine, people, target, labels_of(run, target, [people]))
                except UsageError as error:
                    notes.append(f"the population was not compared with the release: {error}")
            after = measure_risk(run.engine, target, request, run.scratch, population=released)
        return RiskResult(before, after, tuple(notes), run.watch.seconds)


def risk_of_table(
    name: str, connection: str | None, columns: Sequence[str], options: Options, asked: RiskOptions, k: int = 5
) -> RiskResult:
    """The risk of any table or file over the columns given."""
    request = RiskRequest(tuple(columns), asked.thresholds, k, asked.subset_size, asked.unique_size)
    with open_place(name, connection, options) as (engine, table), Scratch(engine, ()) as scratch:
        return RiskResult(measure_risk(engine, table, request, scratch))
