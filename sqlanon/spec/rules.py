"""Rules by which columns are released, derived and named anew: what a spec writes under release, derive and pseudonym.

Pure. Each rule says in words what it does, for lock files, scripts, evidence and reports.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    WithJsonSchema,
    model_validator,
)

from sqlanon.hierarchies.definition import Definition, Exact, NameParts, Whole, exact
from sqlanon.spec.amounts import normal
from sqlanon.spec.places import NamedSecret

ColumnName = Annotated[str, Field(min_length=1)]
Unit = Literal["year", "quarter", "month", "day", "hour"]
MOST_DAYS = 3660
LARGEST_STEP = 10**12

_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%")


def moment(text: str) -> date | datetime:
    """The date or the date with a time that a text writes.

    >>> moment("1964-09-27")
    datetime.date(1964, 9, 27)
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a number or a date like 1964-09-27 is expected") from None


@dataclass(frozen=True)
class Edge:
    """Where a column is capped: at a value, or at a share of the people."""

    value: Decimal | date | datetime | None = None
    percent: Decimal | None = None

    @classmethod
    def parse(cls, written: object) -> Edge:
        """What a spec writes.

        >>> str(Edge.parse("99.50%")), str(Edge.parse(90)), str(Edge.parse("2020-01-01"))
        ('99.5%', '90', '2020-01-01')
        """
        if isinstance(written, Edge):
            return written
        if isinstance(written, str):
            if share := _PERCENT.fullmatch(written.strip()):
                percent = normal(Decimal(share[1]))
                if not 0 < percent < 100:
                    raise ValueError("a percentage between 0% and 100% is expected")
                return cls(percent=percent)
            found = moment(written)
            if isinstance(found, datetime):
                raise ValueError("a number, a date or a percentage like 99% is expected")
            return cls(value=found)
        number = exact(written)
        if not isinstance(number, int | Decimal):
            raise ValueError("a number, a date or a percentage like 99% is expected")
        return cls(value=normal(Decimal(number)))

    def __str__(self) -> str:
        if self.percent is not None:
            return f"{self.percent:f}%"
        return f"{self.value:f}" if isinstance(self.value, Decimal) else str(self.value)


WrittenEdge = Annotated[
    Edge,
    PlainValidator(Edge.parse),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "examples": ["99%", "2020-01-01"]}]}),
]


class Cap(Definition):
    """Values beyond an edge are released as the edge."""

    top: WrittenEdge | None = Field(None, description="Greater values become this one: 250000, or 99% of the people.")
    bottom: WrittenEdge | None = Field(None, description="Lesser values become this one: 0, or 1% of the people.")

    @model_validator(mode="after")
    def _check_edges(self) -> Self:
        if self.top is None and self.bottom is None:
            raise ValueError("top or bottom must stand")
        values = [edge.value for edge in (self.top, self.bottom) if edge is not None and edge.value is not None]
        if len({isinstance(value, Decimal) for value in values}) > 1:
            raise ValueError("top and bottom must both be numbers or both be dates")
        if len(values) == 2 and values[0] < values[1]:  # type: ignore[operator]  # both are of one kind
            raise ValueError("bottom must not exceed top")
        return self

    @property
    def edges(self) -> dict[str, Edge]:
        """The edges that stand."""
        given = {"top": self.top, "bottom": self.bottom}
        return {side: edge for side, edge in given.items() if edge is not None}

    def words(self) -> str:
        """What it does."""
        listed = " and ".join(f"at the {side} at {edge}" for side, edge in self.edges.items())
        return f"capped {listed}, each edge reached by at least k people"


class Shift(Definition):
    """All dates of one person are moved by one secret number of days."""

    days: Annotated[Whole, Field(ge=1, le=MOST_DAYS)] = Field(description="Days that a date moves at most.")
    secret: NamedSecret = Field(description="${NAME} of the environment variable that holds the key of the offsets.")

    def words(self) -> str:
        """What it does."""
        return f"all dates of a person moved by one secret number of days, up to {self.days}"


Step = Annotated[
    Exact,
    Field(gt=0, le=LARGEST_STEP),
    AfterValidator(normal),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_STEP}),
]
Cut = Annotated[Exact, AfterValidator(normal), WithJsonSchema({"type": "number"})]


class RowRule(Definition):
    """What becomes of the values of a column, each for itself; one of the keys."""

    round: Step | None = Field(None, description="Numbers to the nearest multiple of this one, halves up.")
    truncate: Unit | None = Field(None, description="Dates to the first moment of their year, quarter, month ...")
    cap: Cap | None = Field(None, description="Values beyond an edge become the edge.")
    bucket: Annotated[tuple[Cut, ...], Field(min_length=1, max_length=1000)] | None = Field(
        None, description="Numbers as the range between two of these: <0, [0, 100), >=100."
    )
    shift: Shift | None = Field(None, description="Dates, moved by one secret offset for each person.")

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError(f"exactly one of {', '.join(type(self).model_fields)} must stand")
        if self.bucket is not None and any(
            low >= high for low, high in zip(self.bucket, self.bucket[1:], strict=False)
        ):
            raise ValueError("the cuts of bucket must rise")
        return self

    @property
    def name(self) -> str:
        """The key that stands."""
        return next(iter(self.model_fields_set))

    def words(self) -> str:
        """What it does."""
        if self.round is not None:
            return f"rounded to multiples of {self.round:f}"
        if self.truncate is not None:
            return f"truncated to the {self.truncate}"
        if self.bucket is not None:
            return f"as the range between {', '.join(f'{cut:f}' for cut in self.bucket)}"
        rule = self.cap or self.shift
        return "" if rule is None else rule.words()


DROP = "drop"
AVERAGES = ("mean", "median")
_WORDS = {
    DROP: "not released",
    "mean": "the mean of the class, where at least k people have a value",
    "median": "the median of the class, where at least k people have a value",
}
A_RULE, A_WORD = "a rule", "a word"
"""The two forms of release; none of them is a key, by which problems are located."""


def _release(value: object) -> object:
    if isinstance(value, BaseModel | dict) or (isinstance(value, str) and value in _WORDS):
        return value
    raise ValueError("a rule is expected, as {round: 100} or {cap: {top: 99%}}, or one of drop, mean, median")


def _kind_of_release(value: object) -> str:
    return A_WORD if isinstance(value, str) else A_RULE


ReleaseRule = Annotated[
    Annotated[RowRule, Tag(A_RULE)] | Annotated[Literal["drop", "mean", "median"], Tag(A_WORD)],
    Discriminator(_kind_of_release),
    BeforeValidator(_release),
]
"""How a column is released, where not as it is."""


def release_words(rule: RowRule | str) -> str:
    """What a rule does, in words.

    >>> release_words("drop")
    'not released'
    """
    return _WORDS[rule] if isinstance(rule, str) else rule.words()


def _day(value: object) -> object:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    elif isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise ValueError("a date like 2026-01-01 is expected")


Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]


class Age(Definition):
    """Completed years from a date of birth to a day."""

    of: ColumnName = Field(description="The column of the date of birth.")
    at: Day = Field(description="The day at which people are that old; ages do not depend on the day of the run.")


class TableLookup(Definition):
    """The value that a table lists beside another."""

    of: ColumnName = Field(description="The column whose values are looked up.")
    table: NameParts = Field(description="The table that lists them, as schema.table.")
    key: ColumnName = Field(description="Its column of the values that are looked up.")
    value: ColumnName = Field(description="Its column of what is found.")


class Derive(Definition):
    """A column that the source does not have, made from one that it has; one of the keys."""

    age: Age | None = Field(None, description="Completed years at a day.")
    lookup: TableLookup | None = Field(None, description="What a table lists beside the value.")

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if (self.age is None) == (self.lookup is None):
            raise ValueError("exactly one of age, lookup must stand")
        return self

    @property
    def base(self) -> str:
        """The column of the source that it is made from."""
        made = self.age or self.lookup
        return "" if made is None else made.of

    def words(self) -> str:
        """What it does."""
        if self.age is not None:
            return f"completed years from {self.age.of} to {self.age.at.isoformat()}"
        table = ".".join(() if self.lookup is None else self.lookup.table)
        return f"looked up by {self.base} in {table}"


FORMS = {
    "hex": "64 hexadecimal digits",
    "base32": "32 letters and digits",
    "uuid": "a UUID of version 8",
    "integer": "a number from 1 on, in no order that tells anything",
}


class Pseudonym(Definition):
    """A key of the person that is released in the place of the person's own."""

    secret: NamedSecret = Field(description="${NAME} of the environment variable that holds the key of the pseudonyms.")
    scope: Literal["release", "recipient", "project"] = Field(
        "release",
        description="Which releases join by it. release: this one alone, others get other pseudonyms. recipient: those "
        "of one ledger to one target. project: all of one ledger.",
    )
    format: Literal["hex", "base32", "uuid", "integer"] = Field("hex", description="How it is written.")

    def words(self) -> str:
        """What it does."""
        joins = {
            "release": "joins with no other release",
            "recipient": "joins with the releases of its ledger to this target",
            "project": "joins with all releases of its ledger",
        }
        return f"a pseudonym, {FORMS[self.format]}, that {joins[self.scope]}"
