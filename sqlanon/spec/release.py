"""The release spec: the whole contract as one frozen model.

Pure. Checks that span keys live here; reading YAML and wording errors are the loader's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, field_validator, model_validator

from sqlanon.hierarchies import HierarchySpec, Sql, Suppression
from sqlanon.hierarchies.base import TOP
from sqlanon.hierarchies.definition import Definition
from sqlanon.hierarchies.names import NameParts
from sqlanon.spec.columns import Column, Role
from sqlanon.spec.places import Source, Target, same_place
from sqlanon.spec.privacy import ColumnName, Positive, Privacy
from sqlanon.spec.refusals import Finding, refuse, require_available
from sqlanon.spec.search import Budget, Constraints, Search
from sqlanon.spec.secret import IN_MEMORY, Connection, Secret


class Limits(Definition):
    """What a run may take of the database."""

    statement_seconds: Positive | None = Field(
        None, description="Longest time a single statement may run. Default: as long as it takes."
    )


class Spec(Definition):
    """A release: what to read, what to write, what it must satisfy."""

    version: Literal[1] = Field(1, description="Version of this format.")
    connection: Connection = Field(
        default=Secret(IN_MEMORY), description="Database URL; ${ENV} expands. Default: DuckDB in memory."
    )
    source: Source = Field(description="The table, view, file or query to anonymize.")
    target: Target = Field(description="The table, view or file to write.")
    scratch: NameParts | None = Field(
        None, description="Schema for hierarchy and staging tables. Default: the target's schema."
    )
    respondent: ColumnName | None = Field(None, description="Column that names the person: k counts persons, not rows.")
    columns: Annotated[dict[ColumnName, Column], Field(min_length=1)] = Field(description="Every column by name.")
    default_role: Literal["identifier", "insensitive"] | None = Field(
        None, description="Role of columns that are not listed. Default: an unlisted column is an error."
    )
    privacy: Privacy = Field(description="What the release must satisfy.")
    search: Search = Field(
        default=Search(
            algorithm="optimal",
            satisfies="counts",
            prefer=(),
            metric="loss",
            weights={},
            constraints=Constraints(before=(), forbidden=()),
            budget=Budget(nodes=None, seconds=None),
        ),
        description="How to look for the generalization.",
    )
    limits: Limits = Field(default=Limits(statement_seconds=None), description="What a run may take of the database.")
    _folder: Path = PrivateAttr(default=Path())

    def model_post_init(self, context: Any) -> None:
        """Remember the folder of the spec, which the loader passes as context."""
        if isinstance(context, dict) and "folder" in context:
            self._folder = Path(context["folder"])

    @property
    def folder(self) -> Path:
        """The folder that relative paths of the spec, the connection's too, start from."""
        return self._folder

    @field_validator("respondent", mode="after")
    @classmethod
    def _check_available(cls, value: str | None) -> str | None:
        require_available("respondent", value)
        return value

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        refuse([*self._place_findings(), *self._column_findings(), *self._search_findings()])
        return self

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns to generalize, in the order of the spec: the order of every distance vector."""
        return self._with_role("quasi_identifier")

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The listed columns that are never released."""
        return self._with_role("identifier")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns that models beyond k-anonymity protect."""
        return self._with_role("sensitive")

    @property
    def insensitive(self) -> tuple[str, ...]:
        """The listed columns that are released as they are."""
        return self._with_role("insensitive")

    def hierarchy(self, column: str) -> HierarchySpec:
        """The hierarchy of a column; suppression where the spec names none."""
        named = self.columns[column].hierarchy
        return named if named is not None else Suppression(label=TOP)

    def weight(self, column: str) -> float:
        """The weight of a quasi-identifier, wherever the spec gives it."""
        return self.search.weights.get(column, self.columns[column].weight)

    def hash(self) -> str:
        """A fingerprint of all that decides the release, but not of the connection it runs on."""
        content = self.model_dump(mode="json", exclude={"connection"})
        # Keys are not sorted: the order of the columns is the order of the distance vectors.
        return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()

    def _with_role(self, role: Role) -> tuple[str, ...]:
        return tuple(name for name, column in self.columns.items() if column.role == role)

    def _place_findings(self) -> Iterator[Finding]:
        if same_place(self.source, self.target):
            yield ("target",), "the target is the source; the source is only ever read, name another target"

    def _column_findings(self) -> Iterator[Finding]:
        if not self.quasi_identifiers:
            yield ("columns",), "at least one column needs the role quasi_identifier"
        for name, column in self.columns.items():
            if isinstance(column.hierarchy, Sql) and not column.hierarchy.starts_with(name):
                yield ("columns", name, "hierarchy", "sql", 0), f"the first level must be the bare column {name}"
        for model, position, name in self.privacy.sensitive_columns():
            if name not in self.sensitive:
                yield ("privacy", model, position, "column"), f"{name} is not a column of role sensitive"

    def _search_findings(self) -> Iterator[Finding]:
        named: list[tuple[tuple[str | int, ...], str]] = [
            *((("weights", name), name) for name in self.search.weights),
            *(
                (("constraints", "before", index, side), name)
                for index, pair in enumerate(self.search.constraints.before)
                for side, name in enumerate(pair)
            ),
            *(
                (("constraints", "forbidden", index, name), name)
                for index, node in enumerate(self.search.constraints.forbidden)
                for name in node
            ),
        ]
        for path, name in named:
            if name not in self.quasi_identifiers:
                yield ("search", *path), f"{name} is not a column of role quasi_identifier"
        for name in self.search.weights:
            if name in self.columns and "weight" in self.columns[name].model_fields_set:
                yield ("search", "weights", name), f"the weight of {name} stands at the column already"
