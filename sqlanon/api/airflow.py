"""A release as a task of Airflow 3 (extra `airflow`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator

from sqlanon.api.outcome import counts, publish


class ReleaseOperator(BaseOperator):  # type: ignore[misc]  # Airflow's class has no types here
    """Publishes a spec or a lock file; its counts are the task's XCom.

    A requirement that is not met, or a search without an answer, fails the task, and the release of before stands.
    """

    template_fields: Sequence[str] = ("release",)

    def __init__(self, *, release: str, **given: Any) -> None:
        super().__init__(**given)
        self.release = release

    def execute(self, context: Any) -> dict[str, Any]:
        found = counts(publish(self.release))
        self.log.info("%(released)s of %(rows)s rows in %(target)s, the smallest class has %(smallest_class)s", found)
        return found
