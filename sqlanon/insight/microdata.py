"""Measures of a release beside its microdata, whoever made the release: breach probabilities, workloads of queries.

Opens a run of the spec that names the microdata; publishes nothing.
"""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from sqlanon.auditor import AuditResult, Beside, Request, audit
from sqlanon.auditor.covering import link
from sqlanon.errors import UsageError
from sqlanon.insight.workload import Given, RandomQueries, WorkloadResult, measure_workload
from sqlanon.source.binding import bind_published, bind_relation
from sqlanon.source.run import Options, Run, running
from sqlanon.spec import Source, Spec
from sqlanon.sql.relations import Relation


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
