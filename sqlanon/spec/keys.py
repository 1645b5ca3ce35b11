"""The keys of the release spec, and what they say together; recipients are keys of their own releases.

Pure. Nothing here is refused for more than its own form; what spans keys is checked in `spec.release`. A recipient has
its own target and its own view of columns and requirements; what it does not say, the spec says. Limits of a run and
its evidence do not change the release: a lock file stays good when they change.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import PydanticCustomError

from sqlanon.errors import SpecError
from sqlanon.hierarchies import HierarchySpec, Suppression
from sqlanon.hierarchies.base import TOP
from sqlanon.hierarchies.definition import Definition, KeyPath, NameParts, not_boolean
from sqlanon.spec.columns import Column, Role
from sqlanon.spec.places import IN_MEMORY, Connection, NamedSecret, Secret, Source, Target
from sqlanon.spec.privacy import Privacy
from sqlanon.spec.rules import ColumnName
from sqlanon.spec.search import LIFTED, Budget, Constraints, Positive, Search, Seconds

LOCK_SECONDS = 60.0
"""How long a run waits for another one on the same target, unless the spec says otherwise."""

STATEMENT_SECONDS = 1800.0
"""How long a statement runs at most, unless the spec says otherwise."""

_SIZE = re.compile(r"([0-9]{1,9}) ?([KMGT]?)(i?)B")
_UNITS = ("", "K", "M", "G", "T")


def _bytes(value: object) -> object:
    """
    >>> _bytes("20 GB"), _bytes("1MiB"), _bytes(5)
    (20000000000, 1048576, 5)
    """
    if not isinstance(value, str):
        return not_boolean(value)
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise ValueError("a number of bytes is expected, as 5000000, 500 MB or 20 GB")
    number, unit, binary = match.groups()
    return int(number) * (1024 if binary else 1000) ** _UNITS.index(unit)


ByteCount = Annotated[
    int,
    BeforeValidator(_bytes),
    Field(ge=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": f"^{_SIZE.pattern}$", "examples": ["20 GB"]},
            ]
        }
    ),
]
"""A number of bytes, bare or with a unit."""


class Limits(Definition):
    """What a run may take of the database."""

    statement_seconds: Seconds | None = Field(
        None,
        description=f"Longest time a single statement may run; none lifts the bound. Default: {STATEMENT_SECONDS:g}.",
    )
    max_scan_bytes: ByteCount | None = Field(
        None, description="Most bytes that one reading of the source may read, as 20 GB. Default: no bound."
    )
    memory: ByteCount | None = Field(
        None,
        description="Most memory that the engine works in, as 4 GB; what does not fit goes to a private spill folder. "
        "DuckDB only. Default: the engine's own bound.",
    )
    lock_seconds: Positive = Field(
        LOCK_SECONDS, description="Longest time to wait for another run that publishes to the same target."
    )

    @property
    def asked_seconds(self) -> float | None:
        """The longest time that a statement may run, where the spec itself sets a bound."""
        return None if self.statement_seconds in (None, LIFTED) else self.most_seconds

    @property
    def most_seconds(self) -> float | None:
        """The longest time that a statement may run, where there is a bound."""
        if self.statement_seconds == LIFTED:
            return None
        return STATEMENT_SECONDS if self.statement_seconds is None else float(self.statement_seconds)


class Evidence(Definition):
    """What is kept of each run."""

    files: bool = Field(
        True, description="Write a JSON file for each run; for one that fails, where there are earlier ones."
    )
    folder: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="Where the files go, relative to the spec. Default: <spec>.evidence beside the spec."
    )
    tables: bool = Field(False, description="Also write to tables of the scratch schema; they are made on first use.")


_DURATION = re.compile(r"([1-9][0-9]{0,3}) (day|week|month|year)s?")
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


def _duration(value: object) -> object:
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise ValueError("a time is expected, as 90 days, 6 months or 2 years")
    return value


Duration = Annotated[
    str, BeforeValidator(_duration), WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$"})
]
"""A time in days, weeks, months or years."""


def days_of(duration: str) -> int:
    """How many days a time has at most.

    >>> days_of("2 years"), days_of("1 month")
    (732, 31)
    """
    match = _DURATION.fullmatch(duration)
    if match is None:
        raise ValueError("no duration")
    return int(match[1]) * _DAYS[match[2]]


class KeptHistory(Definition):
    """What is remembered of the releases of a source, so that together they say no more of a person than each."""

    key: ColumnName = Field(description="Identifier column that names the person.")
    ledger: NameParts = Field(description="The table that remembers, under keyed hashes, who stood in which class.")
    secret: NamedSecret = Field(description="${NAME} of the environment variable that holds the key of the hashes.")
    keep: Duration | None = Field(
        None, description="How long people who are gone are remembered, as 2 years. Default: for ever."
    )
    left: ColumnName | None = Field(
        None,
        description="Identifier column that says who has left: true, or a date. Their rows stay until enough of them "
        "leave together.",
    )
    joiners: Literal["defer", "refuse"] = Field(
        "defer", description="Groups of newcomers that do not satisfy the requirement: hold them back, or stop."
    )
    leavers: Literal["cover", "refuse"] = Field(
        "cover", description="Groups that leave and do not satisfy it: let others leave with them, or stop."
    )


REQUIRED, KEPT = "required", "a ledger"
"""The two forms of history; none of them is a key, by which problems are located."""


def _history(value: object) -> object:
    if isinstance(value, dict) and "key" not in value:
        raise ValueError(
            "a ledger needs the column that names the person as key: without it nobody can be told apart from one "
            "release to the next; for a source that has none write required"
        )
    if isinstance(value, BaseModel | dict) or value == REQUIRED:
        return value
    raise ValueError("a mapping of key, ledger and secret is expected, or required")


def _kind_of_history(value: object) -> str:
    return REQUIRED if isinstance(value, str) else KEPT


History = Annotated[
    Annotated[KeptHistory, Tag(KEPT)] | Annotated[Literal["required"], Tag(REQUIRED)],
    Discriminator(_kind_of_history),
    BeforeValidator(_history),
]
"""How a release stands to those before it."""


NO_LIMITS = Limits(statement_seconds=None, max_scan_bytes=None, memory=None, lock_seconds=LOCK_SECONDS)
USUAL_EVIDENCE = Evidence(files=True, folder=None, tables=False)


_NAME = re.compile(r"[A-Za-z0-9_-]+")
_Part = TypeVar("_Part", Privacy, Search)


def _file_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("the name of a recipient has only letters, digits, _ and -; it becomes part of file names")
    return name


RecipientName = Annotated[str, AfterValidator(_file_name)]


class Recipient(Definition):
    """Somebody who gets a release of their own."""

    target: Target = Field(description="The table, view or file to write for this recipient.")
    columns: dict[ColumnName, Column] = Field(default={}, description="Columns that are defined anew for it.")
    privacy: Privacy | None = Field(None, description="Keys that replace those of privacy; null takes one away.")
    search: Search | None = Field(None, description="Keys that replace those of search.")

    def writes(self, path: KeyPath) -> bool:
        """Whether the recipient itself says something about a key of its spec."""
        if path[:1] == ("target",):
            return True
        if path[:1] == ("columns",):
            return path[1] in self.columns if path[1:] else bool(self.columns)
        part = {"privacy": self.privacy, "search": self.search}.get(str(path[0])) if path else None
        if part is None:
            return False
        return path[1] in part.model_fields_set if path[1:] else True


def replaced(part: _Part, keys: _Part | None) -> _Part:
    """A part of the spec with the keys that a recipient writes instead."""
    return part.model_copy(update={key: getattr(keys, key) for key in keys.model_fields_set}) if keys else part


class SpecKeys(Definition):
    """What to read, what to write, what it must satisfy: every key of the contract."""

    model_config = ConfigDict(
        serialize_by_alias=True, json_schema_extra={"oneOf": [{"required": ["target"]}, {"required": ["recipients"]}]}
    )

    version: Literal[1] = Field(1, description="Version of this format.")
    connection: Connection = Field(
        default=Secret(IN_MEMORY), description="Database URL; ${ENV} expands. Default: DuckDB in memory."
    )
    source: Source = Field(description="The table, view, file or query to anonymize.")
    recipients: dict[RecipientName, Recipient] = Field(
        default={}, description="Releases for several recipients, by name, instead of one target."
    )
    own_target: Target | None = Field(
        default=None,
        alias="target",
        validate_default=True,
        description="The table, view or file to write. With recipients, each of them has one instead.",
    )
    together: Literal["refuse", "warn"] = Field(
        "refuse",
        description="What to do when the releases of two recipients, joined, leave classes smaller than k.",
    )
    regions: NameParts | None = Field(
        None, description="A table of the classes of the release with their rows, published with it. Default: none."
    )
    scratch: NameParts | None = Field(
        None, description="Schema for hierarchy and staging tables. Default: the target's schema."
    )
    respondent: ColumnName | None = Field(
        None, description="Identifier column that names the person: classes count persons, not rows."
    )
    history: History | None = Field(
        None,
        description="Releases before this one: a ledger of who stood in which class, or required: refuse to replace a "
        "target where the difference of the two tables tells of fewer than k. Default: they are not looked at.",
    )
    columns: Annotated[dict[ColumnName, Column], Field(min_length=1)] = Field(description="Every column by name.")
    default_role: Literal["identifier", "insensitive"] | None = Field(
        None, description="Role of columns that are not listed. Default: an unlisted column is an error."
    )
    privacy: Privacy = Field(description="What the release must satisfy.")
    search: Search = Field(
        default=Search(
            algorithm="optimal",
            model=None,
            satisfies="counts",
            prefer=(),
            metric="loss",
            weights={},
            constraints=Constraints(before=(), forbidden=()),
            budget=Budget(nodes=None, seconds=None),
        ),
        description="How to look for the generalization.",
    )
    limits: Limits = Field(default=NO_LIMITS, description="What a run may take of the database.")
    evidence: Evidence = Field(default=USUAL_EVIDENCE, description="What is kept of each release.")
    _folder: Path = PrivateAttr(default=Path())
    _file: Path | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any) -> None:
        """Remember the folder of the spec, and its file if it has one, which the loader passes as context."""
        if isinstance(context, dict) and "folder" in context:
            self._folder = Path(context["folder"])
            self._file = context.get("file")

    @field_validator("own_target", mode="after")
    @classmethod
    def _require_target(cls, target: Target | None, info: ValidationInfo) -> Target | None:
        # Recipients that are wrong themselves are not among the data; they say what is the matter.
        if target is None and info.data.get("recipients", True) == {}:
            raise PydanticCustomError("missing", "{key} is required", {"key": "target"})
        return target

    @property
    def folder(self) -> Path:
        """The folder that relative paths of the spec, the connection's too, start from."""
        return self._folder

    @property
    def file(self) -> Path | None:
        """The file that the spec was read from, if it was."""
        return self._file

    @property
    def evidence_folder(self) -> Path | None:
        """Where evidence is written as files; None where none is: not wanted, or a spec that was read from no file."""
        if not self.evidence.files:
            return None
        if self.evidence.folder is not None:
            return self._folder / self.evidence.folder
        return None if self._file is None else self._file.with_name(f"{self._file.stem}.evidence")

    @property
    def target(self) -> Target:
        """What to write; a spec with recipients has no target of its own."""
        if self.own_target is None:
            names = ", ".join(self.recipients)
            raise SpecError(f"target: only the recipients of this spec have one; choose among {names}")
        return self.own_target

    @property
    def ledger(self) -> KeptHistory | None:
        """What is remembered of the releases before, where a ledger is kept."""
        return self.history if isinstance(self.history, KeptHistory) else None

    @property
    def recipient_names(self) -> tuple[str, ...]:
        """The recipients, in the order of the spec; none where the spec is of one release."""
        return tuple(self.recipients)

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
    def compared_sensitive(self) -> tuple[str, ...]:
        """Those of which the release shows values that the source has too: no averages of classes."""
        return tuple(name for name in self.sensitive if not self.columns[name].averaged)

    @property
    def measured_sensitive(self) -> tuple[str, ...]:
        """The sensitive columns that some model names, in the order of the spec."""
        named = {entry.column for entry in self.privacy.models()}
        return tuple(name for name in self.sensitive if name in named)

    @property
    def insensitive(self) -> tuple[str, ...]:
        """The listed columns that are released as they are."""
        return self._with_role("insensitive")

    def hierarchy(self, column: str) -> HierarchySpec:
        """The hierarchy of a column; suppression where the spec names none, or the model generalizes nothing."""
        named = self.columns[column].hierarchy
        if column in self.quasi_identifiers and (self.search.model or "").startswith("_"):
            named = None
        return named if named is not None else Suppression(label=TOP)

    def weight(self, column: str) -> float:
        """The weight of a quasi-identifier, wherever the spec gives it."""
        return self.search.weights.get(column, self.columns[column].weight)

    @property
    def profiled(self) -> bool:
        """Whether levels of anonymity and a recipient's profile say what is asked of which columns."""
        return bool(self.privacy.profile) or any(column.anonymity is not None for column in self.columns.values())

    @property
    def each_own_k(self) -> bool:
        """Whether several quasi-identifiers have each a k of their own."""
        return bool(self.privacy.quasi_identifiers) or self.profiled

    def known(self, column: str) -> Decimal:
        """How likely the recipient can link by a quasi-identifier; certain where the spec has no profile."""
        return self.privacy.profile.get(column, Decimal(0)) if self.privacy.profile else Decimal(1)

    def _with_role(self, role: Role) -> tuple[str, ...]:
        return tuple(name for name, column in self.columns.items() if column.role == role and not column.dropped)
