"""Several recipients of one source: each gets a release of its own, and none is published that exposes with another.

Plans, checks together and publishes by the pipeline, which knows one release at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlanon import pipeline
from sqlanon.errors import UsageError
from sqlanon.insight.together import Together, about, check
from sqlanon.notebook import html_table
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult, RunResult
from sqlanon.source.run import DEFAULT, Options, require_target
from sqlanon.spec import Spec

__all__ = ["AppliedRelease", "RecipientsPlan", "RecipientsRun", "apply", "one_release", "plan", "publish", "run"]

NO_LOCKS: Mapping[str, Lock] = {}


@dataclass(frozen=True)
class RecipientsPlan:
    """What was decided for each recipient, and what the releases would say together."""

    plans: Mapping[str, PlanResult]
    together: Together
    kept: Mapping[str, Lock] = field(default_factory=dict)
    """Lock files whose recoding stays: with a ledger another one moves people from class to class."""

    def to_dict(self) -> dict[str, Any]:
        return _content({name: result.to_dict() for name, result in self.plans.items()}, self.together)

    def _repr_html_(self) -> str:
        rows = [
            (name, ", ".join(f"{column} {level}" for column, level in result.levels.items()))
            for name, result in self.plans.items()
        ]
        return html_table("sqlanon plan for recipients", [*rows, *_lines(self.together)])


@dataclass(frozen=True)
class RecipientsRun:
    """What was published for each recipient."""

    results: Mapping[str, RunResult]
    together: Together

    def to_dict(self) -> dict[str, Any]:
        return _content({name: result.to_dict() for name, result in self.results.items()}, self.together)

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{result.target}: {result.audit.rows} of {result.publication.rows} rows")
            for name, result in self.results.items()
        ]
        return html_table("sqlanon releases", [*rows, *_lines(self.together)])


@dataclass(frozen=True)
class AppliedRelease(RunResult):
    """What was published for one recipient, and what it says together with what was decided for the others."""

    recipient: str = ""
    together: Together = field(default_factory=Together)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "recipient": self.recipient, **self.together.to_dict()}


def _content(recipients: dict[str, dict[str, Any]], together: Together) -> dict[str, Any]:
    return {"recipients": recipients, **together.to_dict(), "seconds": {"together": together.seconds}}


def _lines(together: Together) -> list[tuple[str, str]]:
    return [("warning", line) for line in together.warnings()] + [("note", line) for line in together.notes()]


def one_release(spec: Spec, recipient: str | None, how: str) -> Spec:
    """The spec of the one release that is asked about; where it is not clear which, an error says `how` to say it."""
    if recipient is not None:
        return spec.for_recipient(recipient)
    if spec.recipients:
        raise UsageError(f"the spec has several recipients: {', '.join(spec.recipient_names)}; {how}")
    return spec


def plan(
    spec: Spec,
    options: Options = DEFAULT,
    known: Mapping[str, Lock] = NO_LOCKS,
    *,
    only: str | None = None,
    beside: Mapping[str, Lock] = NO_LOCKS,
) -> RecipientsPlan:
    """Search for the generalization of each recipient's release, or of one, and check them together.

    `known` are lock files of earlier plans, from which searches take what they know. A plan for one recipient is
    checked together with what lock files `beside` it decided for the others.
    """
    names = _names(spec) if only is None else (only,)
    plans: dict[str, PlanResult] = {}
    for name in names:
        own = spec.for_recipient(name)
        with about(name):
            plans[name] = pipeline.plan(own, options, known.get(name))
    kept = {name: known[name] for name, found in plans.items() if found.series is not None and found.series.keeps}
    if spec.ledger is not None:
        # Each release is one more step of everybody's track, which the ledger asks the requirement of.
        return RecipientsPlan(plans, Together(), kept)
    usable = {name: lock for name, lock in beside.items() if lock.fits(spec.for_recipient(name))}
    return RecipientsPlan(plans, check(spec, {**usable, **_decided(spec, plans)}, options, only))


def run(spec: Spec, options: Options = DEFAULT, known: Mapping[str, Lock] = NO_LOCKS) -> RecipientsRun:
    """Plan for all recipients, check the releases together, and publish each."""
    planned = plan(spec, options, known)
    return RecipientsRun(dict(publish(spec, planned, options)), planned.together)


def publish(spec: Spec, planned: RecipientsPlan, options: Options = DEFAULT) -> Iterator[tuple[str, RunResult]]:
    """Publish what was planned, one recipient after the other; each is yielded when it stands.

    Nothing is published when the releases together expose people and the spec does not allow it, or when a target
    cannot be written to. Each release is a
    transaction of its own: when one fails, those before it stand.
    """
    planned.together.refuse()
    specs = {name: spec.for_recipient(name) for name in planned.plans}
    for name, result in planned.plans.items():
        with about(name):
            result.require_satisfied()
            require_target(specs[name], {other: own for other, own in specs.items() if other != name}, options)
    for name, lock in {**_decided(spec, planned.plans), **planned.kept}.items():
        with about(name):
            published = pipeline.apply(spec.for_recipient(name), lock, options)
        result = planned.plans[name]
        yield name, replace(published, plan=result, seconds=_both(result.seconds, published.seconds))


def apply(spec: Spec, lock: Lock, beside: Mapping[str, Lock], options: Options = DEFAULT) -> AppliedRelease:
    """Publish exactly what was decided for one recipient, checked together with what `beside` says of the others."""
    name = lock.recipient
    if name is None:
        raise UsageError("the lock file names no recipient, but the spec has recipients: plan again")
    own = spec.for_recipient(name)
    together = Together() if own.ledger is not None else check(spec, {**beside, name: lock}, options, name)
    together.refuse()
    with about(name):
        result = pipeline.apply(own, lock, options)
    known = {item.name: getattr(result, item.name) for item in fields(result)}
    return AppliedRelease(**known, recipient=name, together=together)


def _names(spec: Spec) -> tuple[str, ...]:
    if not spec.recipients:
        raise UsageError("the spec has no recipients")
    return spec.recipient_names


def _decided(spec: Spec, plans: Mapping[str, PlanResult]) -> dict[str, Lock]:
    return {name: Lock.of(spec.for_recipient(name), result, "", name) for name, result in plans.items()}


def _both(planning: Mapping[str, float], publishing: Mapping[str, float]) -> dict[str, float]:
    """The seconds of each phase, in their order."""
    phases = dict.fromkeys((*planning, *publishing))
    return {phase: planning.get(phase, 0.0) + publishing.get(phase, 0.0) for phase in phases}
