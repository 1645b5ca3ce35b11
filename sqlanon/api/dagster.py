"""A release as an asset of Dagster, with its audit as the asset's check (extra `dagster`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dagster import AssetCheckResult, AssetCheckSpec, AssetsDefinition, MaterializeResult, asset

from sqlanon.api.outcome import counts, publish


def release_asset(
    release: str | Path, *, name: str, deps: Sequence[Any] = (), tags: Mapping[str, str] | None = None
) -> AssetsDefinition:
    """An asset that publishes a spec or a lock file when it is materialized; counts are its metadata.

    A requirement that is not met, or a search without an answer, fails the step, and the release of before stands.
    """

    decorated = asset(
        name=name, deps=deps, tags=tags, check_specs=[AssetCheckSpec(name="audit", asset=name)], kinds={"sqlanon"}
    )

    def released() -> MaterializeResult:
        result = publish(release)
        requirements = {check.name: check.asked for check in result.audit.checks}
        checked = AssetCheckResult(check_name="audit", passed=result.audit.satisfied, metadata=requirements)
        return MaterializeResult(metadata=counts(result), check_results=[checked])

    made: AssetsDefinition = decorated(released)
    return made
