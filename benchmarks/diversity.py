"""Audits and plans that look at a sensitive column too, on the generated census table and its `disease`."""

from __future__ import annotations

from benchmarks.generator import Attribute, hierarchies
from benchmarks.measure import SOURCE, opened
from sqlanon import pipeline
from sqlanon.auditor import AuditResult, Request, audit
from sqlanon.release.results import PlanResult
from sqlanon.spec import spec_from_dict
from sqlanon.spec.privacy import Privacy

SENSITIVE = "disease"


def audit_models(url: str, attributes: tuple[Attribute, ...]) -> AuditResult:
    """k, distinct and entropy l-diversity and t-closeness of the table as it stands."""
    privacy = Privacy.model_validate(
        {
            "k": 5,
            "l_diversity": [{"column": SENSITIVE, "l": 3}, {"column": SENSITIVE, "l": 3, "kind": "entropy"}],
            "t_closeness": [{"column": SENSITIVE, "t": 0.2}],
        }
    )
    engine = opened(url)
    try:
        return audit(engine, SOURCE, Request(tuple(attribute.name for attribute in attributes), privacy))
    finally:
        engine.close()


def plan_with_diversity(url: str, attributes: tuple[Attribute, ...], kind: str) -> PlanResult:
    """The best node under k and l-diversity."""
    spec = spec_from_dict(
        {
            "connection": url,
            "source": str(SOURCE),
            "target": "bench_release",
            "columns": {**hierarchies(attributes), SENSITIVE: {"role": "sensitive"}},
            "default_role": "identifier",
            "privacy": {
                "k": 5,
                "suppression": {"limit": "4%"},
                "l_diversity": [{"column": SENSITIVE, "l": 3, "kind": kind}],
            },
            "search": {"algorithm": "optimal", "metric": "loss"},
        }
    )
    return pipeline.plan(spec)
