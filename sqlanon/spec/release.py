"""The release spec: the whole contract as one frozen model, checked as a whole.

Pure. Reading YAML and wording errors are the loader's.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Self

from pydantic import model_validator

from sqlanon.errors import UsageError
from sqlanon.spec.checks import findings_across
from sqlanon.spec.keys import SpecKeys
from sqlanon.spec.parts import fingerprint, parts_of
from sqlanon.spec.personalized import with_algorithm
from sqlanon.spec.places import same_place
from sqlanon.spec.recipients import replaced
from sqlanon.spec.refusals import Finding, refuse


class Spec(SpecKeys):
    """A release: what to read, what to write, what it must satisfy."""

    @model_validator(mode="before")
    @classmethod
    def _choose_algorithm(cls, values: Any) -> Any:
        return with_algorithm(values)

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if self.recipients:
            refuse([*self._recipient_findings(), *self._effective_findings()])
        else:
            unused: list[Finding] = [(("together",), "only a spec with recipients has this")]
            refuse([*(unused if "together" in self.model_fields_set else ()), *findings_across(self)])
        return self

    def for_recipient(self, name: str) -> Spec:
        """The spec of one recipient's release, as if it had been written for that release alone."""
        if name not in self.recipients:
            listed = f"the recipients are {', '.join(self.recipients)}" if self.recipients else "the spec has none"
            raise UsageError(f"no recipient {name!r} in the spec; {listed}")
        recipient = self.recipients[name]
        return self.model_copy(
            update={
                "recipients": {},
                "together": "refuse",
                "own_target": recipient.target,
                "columns": {**self.columns, **recipient.columns},
                "privacy": replaced(self.privacy, recipient.privacy),
                "search": replaced(self.search, recipient.search),
            }
        )

    def hash(self) -> str:
        """A fingerprint of all that decides the release: not of the connection, nor of limits and evidence."""
        return fingerprint(self._deciding())

    def parts(self) -> dict[str, str]:
        """A fingerprint of each part that decides the release, by its key."""
        return parts_of(self._deciding())

    def _deciding(self) -> dict[str, Any]:
        # What stands at its default is left out: a key that later versions add does not make lock files stale.
        return self.model_dump(mode="json", exclude={"connection", "limits", "evidence"}, exclude_defaults=True)

    def _recipient_findings(self) -> Iterator[Finding]:
        if self.own_target is not None:
            yield ("target",), "with recipients each has a target of its own; remove this one"
        if self.regions is not None:
            yield ("regions",), "a table of classes belongs to one release; with recipients leave it out"
        for (one, first), (other, second) in combinations(self.recipients.items(), 2):
            if same_place(first.target, second.target):
                yield ("recipients", other, "target"), f"recipient {one} has the same target"
            if one.lower() == other.lower():
                yield ("recipients", other), f"the name differs from recipient {one} only in case"
        for name, recipient in self.recipients.items():
            for column in recipient.columns:
                if column not in self.columns and self.default_role is None:
                    path = ("recipients", name, "columns", column)
                    yield path, f"{column} is not among the columns of the spec"

    def _effective_findings(self) -> Iterator[Finding]:
        """What is wrong with each recipient's spec; what all of them inherit is said once, where it stands."""
        found = {name: list(findings_across(self.for_recipient(name))) for name in self.recipients}
        for name, findings in found.items():
            for path, message in findings:
                everywhere = all((path, message) in others for others in found.values())
                inherited = not any(recipient.writes(path) for recipient in self.recipients.values())
                yield (path, message) if everywhere and inherited else (("recipients", name, *path), message)
