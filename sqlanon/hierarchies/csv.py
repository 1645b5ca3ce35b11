"""The csv builder: one row per value, level 0 first.

Reads one file, and only when the rule is asked for. Paths are relative to the folder of the spec.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PrivateAttr, StrictBool, model_validator

from sqlanon.hierarchies.base import Family, Lookup
from sqlanon.hierarchies.definition import Definition, require_few_levels


def _known_encoding(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        known = False
    else:
        known = True
    if not known:
        raise ValueError("an encoding that Python knows is expected, like utf-8 or latin-1")
    return name


class Csv(Definition):
    """A csv file with one row per value: the value, then its label at each level."""

    path: str = Field(min_length=1, description="The file, relative to the folder of the spec.")
    delimiter: str | None = Field(
        None, min_length=1, max_length=1, description="Default: ; where the first line has one, else a comma."
    )
    header: StrictBool = Field(False, description="Whether the first line names the levels.")
    encoding: Annotated[str, AfterValidator(_known_encoding)] = Field("utf-8", description="Encoding of the file.")
    _folder: Path = PrivateAttr(default=Path())

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, value: object) -> object:
        return {"path": value} if isinstance(value, str) else value

    def model_post_init(self, context: Any) -> None:
        """Remember the folder of the spec, which the loader passes as context."""
        if isinstance(context, dict) and "folder" in context:
            self._folder = Path(context["folder"])

    @property
    def location(self) -> Path:
        """Where the file is."""
        return self._folder / self.path

    def rule(self, family: Family) -> Lookup:
        """The rows of the file; identical rows count once."""
        rows = dict.fromkeys(self._rows())
        if not rows:
            raise ValueError(f"hierarchy file {self.path} has no rows")
        return Lookup(tuple(rows))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        encoding = "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding
        try:
            text = self.location.read_bytes().decode(encoding)
        except FileNotFoundError:
            raise ValueError(f"hierarchy file {self.path} does not exist") from None
        except OSError:
            raise ValueError(f"hierarchy file {self.path} cannot be read") from None
        except UnicodeDecodeError:
            raise ValueError(f"hierarchy file {self.path} is not encoded in {self.encoding}; set encoding") from None
        lines = _lines(text)
        delimiter = self.delimiter or (";" if ";" in lines[0] else ",")
        return self._equally_long(csv.reader(lines, delimiter=delimiter, strict=True))

    def _equally_long(self, reader: Any) -> Iterator[tuple[str, ...]]:
        width = None
        for row in self._parsed(reader):
            if width is None:
                width = len(row)
                require_few_levels(width - 1, f"hierarchy file {self.path}")
                if self.header:
                    continue
            if len(row) != width:
                raise ValueError(
                    f"hierarchy file {self.path}, line {reader.line_num}: {len(row)} fields where {width} are expected"
                )
            yield tuple(row)

    def _parsed(self, reader: Any) -> Iterator[list[str]]:
        try:
            yield from (row for row in reader if row)
        except csv.Error:
            raise ValueError(f"hierarchy file {self.path}, line {reader.line_num}: not valid csv") from None


def _lines(text: str) -> list[str]:
    """Lines ended by newlines only: str.splitlines would also cut at characters that are part of values."""
    return [line + "\n" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
