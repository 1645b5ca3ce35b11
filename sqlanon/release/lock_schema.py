"""The schema of a lock file and of its cache: which keys they have, of what types and sizes; what else is refused.

Pure. A lock file may have been edited, cut off or written by another program: nothing of it is read before it is
found to be of this form. Imported where a lock file is read, for models take their time to build.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

_VECTOR = re.compile(r"[0-9]{1,4}( [0-9]{1,4})*")
_FACTS = re.compile(r"[0-9]{1,18} [0-9]{1,18}( [a-z_0-9]+=-?[0-9a-z.+-]{1,40})*")
_LONGEST = 80
"""Characters of a key that a message shows."""

Name = Annotated[str, Field(min_length=1, max_length=1000)]
Line = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]+$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{0,64}$")]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Level = Annotated[int, Field(ge=0, lt=10_000)]
Vector = list[Level]


class _Part(BaseModel):
    """A part of the file: no key beside those that are named, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=True)


class _Levels(_Part):
    kind: Literal["full_domain"]
    levels: dict[Name, Level]


class _LockedGroup(_Part):
    label: str
    values: Annotated[list[str], Field(min_length=1)]


class _Groups(_Part):
    kind: Literal["cuts"]
    columns: list[Name]
    groups: dict[Name, list[_LockedGroup]]
    least: list[Level] | None = None
    unchanged: list[Name] = Field(default_factory=list)

    @model_validator(mode="after")
    def _hold_every_value_once(self) -> _Groups:
        if len(set(self.columns)) != len(self.columns) or set(self.columns) != self.groups.keys():
            raise ValueError("the columns and their groups do not fit each other")
        if self.least is not None and len(self.least) != len(self.columns):
            raise ValueError("a least level for each column is expected")
        if len(set(self.unchanged)) != len(self.unchanged) or not set(self.unchanged) <= self.groups.keys():
            raise ValueError("the unchanged columns are not among those with groups")
        for name, groups in self.groups.items():
            if len(groups) > 1 if name in self.unchanged else not groups:
                raise ValueError(f"column '{name}' has groups, unless it is unchanged: then it has one value")
            values = [value for group in groups for value in group.values]
            if len(set(values)) != len(values):
                raise ValueError(f"column '{name}' has a value in two groups, or twice in one")
            if len({group.label for group in groups}) != len(groups):
                raise ValueError(f"column '{name}' has two groups of one label")
        return self


class _Assigned(_Part):
    kind: Literal["assigned"]
    algorithm: Line
    classes: Count
    fingerprint: Digest
    checksum: list[Annotated[int, Field(gt=-(2**127), lt=2**127)]]
    details: dict[str, JsonValue]


class _Hierarchy(_Part):
    definition: str
    height: Level
    top: str


class _Source(_Part):
    columns: dict[Name, Line]
    fingerprint: Digest


class _Result(_Part):
    classes: Count
    height: Annotated[int, Field(ge=0, lt=2**31)] | None
    limit: Count
    rows: Count
    satisfied: bool
    score: Annotated[dict[Line, float], Field(min_length=1)]
    suppressed: Count


class _Searched(_Part):
    algorithm: Line
    gap: float | None = None
    lattice: Annotated[int, Field(ge=0)]
    minimal_complete: bool
    proven: bool
    undecided: Annotated[int, Field(ge=0)]
    verified: bool


class Cache(_Part):
    """What stands in the cache of a lock file."""

    version: Literal[1]
    fingerprint: Digest
    requirement: dict[Line, JsonValue]
    verdicts: dict[str, str]
    minimal: list[Vector]
    ties: list[Vector]
    seal: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @model_validator(mode="after")
    def _are_vectors_and_figures(self) -> Cache:
        for vector, facts in self.verdicts.items():
            if not _VECTOR.fullmatch(vector) or not _FACTS.fullmatch(facts):
                raise ValueError("levels and figures are expected")
        return self


class LockFile(_Part):
    """What stands in a lock file."""

    version: Literal[2]
    spec: Line
    spec_hash: Digest
    spec_parts: dict[Line, Digest]
    source: _Source
    recoding: Annotated[_Levels | _Groups | _Assigned, Field(discriminator="kind")]
    hierarchies: Annotated[dict[Name, _Hierarchy], Field(min_length=1)]
    requirement: dict[Line, JsonValue]
    result: _Result
    search: _Searched
    seal: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    sensitive: str | None = None
    recipient: Line | None = None
    accepted: dict[Name, str] | None = None
    rules: dict[Name, str] | None = None

    @model_validator(mode="after")
    def _fit_each_other(self) -> LockFile:
        columns = set(self.hierarchies)
        if isinstance(self.recoding, _Levels):
            columns = set(self.recoding.levels)
        elif isinstance(self.recoding, _Groups):
            columns = set(self.recoding.groups)
        if columns != self.hierarchies.keys():
            raise ValueError("recoding and hierarchies name different columns")
        return self


def problem_of(content: Any) -> str | None:
    """What keeps plain data from being a lock file, in words without a value of it; None where nothing does."""
    try:
        LockFile.model_validate(content)
    except ValidationError as error:
        [first, *others] = error.errors(include_url=False, include_input=False, include_context=False)
        more = f", and {len(others)} more" if others else ""
        return f"{_place(first['loc'])}{_worded(first['type'], first['msg'])}{more}"
    return None


def _place(path: Sequence[str | int]) -> str:
    """The keys that lead to a part, without the names of the kinds of recodings, which are no keys."""
    kinds = ("full_domain", "cuts", "assigned")
    parts = [str(part) for place, part in enumerate(path) if not (place == 1 and part in kinds)]
    shown = ".".join(part for part in parts if part != "[key]")
    plain = "".join(character if character.isprintable() else "?" for character in shown)
    return f"{plain[:_LONGEST]}: " if plain else ""


_WORDS: Mapping[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "no such key",
    "union_tag_invalid": "no such kind of recoding",
    "union_tag_not_found": "the kind of the recoding is missing",
    "string_type": "a text is expected",
    "string_pattern_mismatch": "is malformed",
    "int_type": "a whole number is expected",
    "float_type": "a number is expected",
    "bool_type": "true or false is expected",
    "dict_type": "a mapping of keys is expected",
    "model_type": "a mapping of keys is expected",
    "model_attributes_type": "a mapping of keys is expected",
    "list_type": "a list is expected",
    "recursion_loop": "is nested too deeply",
}


def _worded(kind: str, message: str) -> str:
    """Words of our own for what is wrong; those of a check above stand behind a prefix."""
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    return _WORDS.get(kind, "is out of bounds")


def without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; refused where a key stands twice, of which one would be read and the other reviewed."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RepeatedKeyError
    return found


class RepeatedKeyError(ValueError):
    """A key stands twice in one object."""
