"""Places of a release: the table, view, file or query that it reads, what it writes, and the connection URL.

Pure: names and paths only. Paths are relative to the folder of the spec.
"""

from __future__ import annotations

import os
import re
import typing
from collections.abc import Mapping
from glob import has_magic
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from sqlanon.hierarchies.definition import Definition, NameParts

FileFormat = Literal["csv", "tsv", "parquet", "json", "xlsx"]
"""How a file that is read is written; json holds a list of objects, or one object a line."""

_FILE = re.compile(r".+\.(csv|tsv|parquet)", re.IGNORECASE | re.DOTALL)
_READ = re.compile(
    r".+\.(?:(?P<text>csv|tsv|json|jsonl|ndjson)(?:\.(?:gz|zst))?|(?P<binary>parquet|xlsx))", re.IGNORECASE | re.DOTALL
)
_JSON_LINES = ("jsonl", "ndjson")
READ_ENDINGS = (
    "a path that ends in .csv, .tsv, .json, .jsonl (also with .gz or .zst), .parquet, .xlsx or, for a folder, /"
)
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class _TableName(Definition):
    table: NameParts = Field(description="The name, as schema.table.")

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the name, outermost first."""
        return self.table


class TableSource(_TableName):
    """A table or view to read."""


class TableTarget(_TableName):
    """A table to write."""


class ViewTarget(Definition):
    """A view to create."""

    view: NameParts = Field(description="The name, as schema.view.")

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the name, outermost first."""
        return self.view


class _FilePath(Definition):
    _folder: Path = PrivateAttr(default=Path())

    def model_post_init(self, context: Any) -> None:
        """Remember the folder of the spec, which the loader passes as context."""
        if isinstance(context, dict) and "folder" in context:
            self._folder = Path(context["folder"])

    def located(self, path: str) -> str:
        """The path to open: absolute or relative to the working directory; a URL stays as it is."""
        return path if _REMOTE.match(path) else str(self._folder / path) + ("/" if path.endswith("/") else "")


def read_format(path: str) -> FileFormat | None:
    """How a file that is read is written, by its ending; None for an ending that means nothing here.

    >>> read_format("people.csv.gz"), read_format("people.jsonl"), read_format("people.txt")
    ('csv', 'json', None)
    """
    found = _READ.fullmatch(path)
    if found is None:
        return None
    word = (found["text"] or found["binary"]).lower()
    return "json" if word in _JSON_LINES else typing.cast(FileFormat, word)


_FORMULAS_WORDS = "Texts of a csv file that spreadsheets run as formulas: keep, escape (a quote in front), or refuse."


class FileSource(_FilePath):
    """A file, a folder of files, or several, to read on engines that read files."""

    file: str | tuple[str, ...] = Field(min_length=1, description=f"{READ_ENDINGS[0].upper()}{READ_ENDINGS[1:]}.")

    @field_validator("file", mode="after")
    @classmethod
    def _known_endings(cls, file: str | tuple[str, ...]) -> str | tuple[str, ...]:
        paths = (file,) if isinstance(file, str) else file
        if any(read_format(path) is None and not path.endswith("/") for path in paths):
            raise ValueError(f"{READ_ENDINGS} is expected")
        if len(paths) > 1 and len({read_format(path) for path in paths}) > 1:
            raise ValueError("files of one format are expected, and no folder among them")
        if len(paths) > 1 and any(path.endswith("/") for path in paths):
            raise ValueError("one folder, or a list of files, is expected; write folder/*.csv to list what is in it")
        if read_format(paths[0]) == "xlsx" and (len(paths) > 1 or has_magic(paths[0])):
            raise ValueError("one Excel file is expected; save several as csv files")
        return file

    @property
    def locations(self) -> tuple[str, ...]:
        """The paths to open."""
        return tuple(self.located(path) for path in ((self.file,) if isinstance(self.file, str) else self.file))


class FileTarget(_FilePath):
    """A file to write, on engines that write files."""

    file: str = Field(min_length=1, description="A path that ends in .csv, .tsv or .parquet.")
    formulas: Literal["keep", "escape", "refuse"] = Field(
        default="keep",
        description=_FORMULAS_WORDS,
    )

    @field_validator("file", mode="after")
    @classmethod
    def _known_format(cls, file: str) -> str:
        if not _FILE.fullmatch(file):
            raise ValueError("a path that ends in .csv, .tsv or .parquet is expected")
        return file

    @property
    def location(self) -> str:
        """The path to open."""
        return self.located(self.file)

    @property
    def format(self) -> Literal["csv", "tsv", "parquet"]:
        """How the file is written, by its ending. A .tsv file is a csv file with tabs."""
        lowered = self.file.lower()
        if lowered.endswith(".parquet"):
            return "parquet"
        return "tsv" if lowered.endswith(".tsv") else "csv"

    @model_validator(mode="after")
    def _formulas_of_texts(self) -> Self:
        if self.formulas != "keep" and self.format == "parquet":
            raise ValueError("formulas is for csv and tsv files; spreadsheets do not open parquet files")
        return self


class QuerySource(Definition):
    """A query to read from."""

    query: str = Field(min_length=1, description="A SELECT statement in the engine's dialect.")


def _as_mapping(value: object) -> object:
    """A bare text is a path where it ends like one, else a name."""
    if isinstance(value, str):
        return {"file": value} if is_path(value) else {"table": value}
    return {"file": value} if isinstance(value, list | tuple) else value


def is_path(text: str) -> bool:
    """Whether a bare text means a file or a folder, not a table."""
    return read_format(text) is not None or text.endswith("/")


def _source(value: object) -> object:
    return _checked(_as_mapping(value), "a name, a path, or one of {table: ...}, {file: ...}, {query: ...}")


def _target(value: object) -> object:
    return _checked(_as_mapping(value), "a name, a path, or one of {table: ...}, {view: ...}, {file: ...}")


def _checked(value: object, expected: str) -> object:
    if isinstance(value, BaseModel):
        return value
    keys = re.findall(r"\{(\w+):", expected)
    options = {"formulas"} if isinstance(value, Mapping) and "file" in value and "view" in keys else set()
    named = [key for key in value if key not in options] if isinstance(value, Mapping) else []
    if len(named) != 1 or named[0] not in keys:
        raise ValueError(f"{expected} is expected")
    return value


def _key(value: object) -> str | None:
    keys = value if isinstance(value, Mapping) else type(value).model_fields if isinstance(value, BaseModel) else ()
    return next((str(key) for key in keys if key != "formulas"), None)


_FORMULAS = {
    "formulas": {
        "enum": ["keep", "escape", "refuse"],
        "default": "keep",
        "description": _FORMULAS_WORDS,
    }
}


def _described(
    keys: Mapping[str, str], of_files: Mapping[str, Any] = MappingProxyType({}), *, several: bool = False
) -> dict[str, Any]:
    paths = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
    choices: list[dict[str, Any]] = [{"type": "string", "description": "A name like schema.table, or a path."}]
    for key, description in keys.items():
        properties: dict[str, Any] = {key: {"type": "string", "minLength": 1, "description": description}}
        properties |= of_files if key == "file" else {}
        if several and key == "file":
            properties[key] = {"anyOf": [{"type": "string", "minLength": 1}, paths], "description": description}
        choices.append({"type": "object", "properties": properties, "required": [key], "additionalProperties": False})
    if several:
        choices.append({**paths, "description": "Paths of files that are read as one table."})
    return {"anyOf": choices}


Source = Annotated[
    Annotated[TableSource, Tag("table")] | Annotated[FileSource, Tag("file")] | Annotated[QuerySource, Tag("query")],
    Discriminator(_key),
    BeforeValidator(_source),
    WithJsonSchema(
        _described(
            {"table": "A table or view.", "file": "A file, a folder, or a list of files.", "query": "A SELECT."},
            several=True,
        )
    ),
]
"""What a release is made from."""

Target = Annotated[
    Annotated[TableTarget, Tag("table")] | Annotated[ViewTarget, Tag("view")] | Annotated[FileTarget, Tag("file")],
    Discriminator(_key),
    BeforeValidator(_target),
    WithJsonSchema(_described({"table": "A table.", "view": "A view.", "file": "A csv or parquet file."}, _FORMULAS)),
]
"""What a release becomes."""


def same_place(one: object, other: object) -> bool:
    """Whether two places are one, as far as names alone tell: a release must not overwrite what it reads."""
    place = _place(one)
    return place is not None and place == _place(other)


def _place(value: object) -> tuple[str, ...] | str | None:
    match value:
        case TableSource() | TableTarget() | ViewTarget():
            return value.parts
        case FileSource():
            return os.path.realpath(value.locations[0]) if len(value.locations) == 1 else None
        case FileTarget():
            return os.path.realpath(value.location)
        case _:
            return None


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+._-]*://")
_SECRET_OPTION = re.compile(r"([?&;][^=&;]*(?:pass|pwd|token|secret|key|credential)[^=&;]*=)([^&]*)", re.IGNORECASE)
HIDDEN = "***"


class Secret:
    """A connection URL. Printing shows `postgresql://user:***@host/db`.

    The password stays out of everything that is printed. Only `reveal()` gives the URL itself, to open an engine.
    """

    __slots__ = ("_url",)

    def __init__(self, url: str) -> None:
        self._url = url

    def reveal(self) -> str:
        """The URL with its password."""
        return self._url

    def __str__(self) -> str:
        if not _URL.match(self._url):
            return HIDDEN
        scheme, _, rest = _SECRET_OPTION.sub(rf"\1{HIDDEN}", self._url).partition("://")
        credentials, at, place = rest.rpartition("@")
        user, colon, _ = credentials.partition(":")
        return f"{scheme}://{user}:{HIDDEN}@{place}" if colon else f"{scheme}://{credentials}{at}{place}"

    def __repr__(self) -> str:
        return f"Secret('{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._url == self._url

    def __hash__(self) -> int:
        return hash(self._url)


def _secret(value: object) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str) or not _URL.match(value):
        raise ValueError("a URL is expected, like duckdb:///warehouse.duckdb or postgresql://user@host/database")
    return Secret(value)


Connection = Annotated[
    Secret,
    PlainValidator(_secret),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["duckdb:///warehouse.duckdb", "postgresql://user:${PW}@host/db"]}),
]
"""The connection of a spec."""

IN_MEMORY = "duckdb:///:memory:"
"""The connection of a spec that names none."""


_VARIABLE_ALONE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def _named_secret(text: str) -> str:
    if not _VARIABLE_ALONE.fullmatch(text):
        raise ValueError("a secret never stands in a spec: write ${NAME} for the environment variable that holds it")
    return text


NamedSecret = Annotated[
    str, AfterValidator(_named_secret), WithJsonSchema({"type": "string", "pattern": f"^{_VARIABLE_ALONE.pattern}$"})
]
"""A secret by the environment variable that holds it, as `${NAME}`: the spec never holds the secret itself."""


def variable_of(written: str) -> str:
    """The environment variable of a named secret.

    >>> variable_of("${SQLANON_KEY}")
    'SQLANON_KEY'
    """
    match = _VARIABLE_ALONE.fullmatch(written)
    if match is None:
        raise ValueError("no named secret")
    return match[1]


_SECRETS = (
    ("history", "secret"),
    ("privacy", "differential", "secret"),
    ("privacy", "adversary", "margin", "secret"),
    ("privacy", "adversary", "choice", "secret"),
)


def names_secret(path: tuple[str | int, ...]) -> bool:
    """Whether a secret is named at a path of the spec: it is not expanded there."""
    if path[:1] in (("recipients",), ("tables",)):
        path = path[2:]
    of_column = (("pseudonym", "secret"), ("release", "shift", "secret"))
    return path in _SECRETS or (path[:1] == ("columns",) and path[2:] in of_column)
