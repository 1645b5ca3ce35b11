"""Everything that a spec reads, in one set: nothing of it is ever written.

Tables and files of the source, the population and the hierarchies, also under views, macros and queries; the spec file,
its lock files, the folder of its evidence, the files of the database itself. A target or a table of regions that is one
of these is refused before anything starts. So is one that exists and cannot be told apart from them, because a
definition cannot be read. Reads the catalog and the file system; no data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from glob import has_magic, iglob
from itertools import takewhile
from pathlib import Path

from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.engines.dialects import names_of_call
from sqlanon.engines.scratch import SCRATCH_NAME
from sqlanon.errors import SourceError, SpecError, UsageError
from sqlanon.hierarchies import Csv
from sqlanon.hierarchies import Table as ReferenceTable
from sqlanon.spec import FileSource, FileTarget, Spec
from sqlanon.spec.load import written_path
from sqlanon.spec.places import read_format
from sqlanon.sql.relations import File, Query, Relation, Table, named_tables

_SCHEME = re.compile(r"file:(//[^/]*)?(?=/)", re.IGNORECASE)
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_LONGEST = 4096
"""No path is longer."""
_READER = re.compile(r"read|scan|glob|sniff", re.IGNORECASE)
_ENDING = re.compile(r"\.(csv|tsv|json|jsonl|ndjson|parquet|xlsx)(\.gz|\.zst)?$", re.IGNORECASE)
_RUNS_TEXT = re.compile(r"query(_table)?", re.IGNORECASE)
_TABLES = ("regions", "history.ledger")
_KEPT = re.compile(r"sqlanon_(run(_\w+)?|differential)", re.IGNORECASE)
"""The tables of evidence, and the ledger of samples."""
LEDGER_ENDINGS = ("_releases", "_tracks", "")
"""How the tables of a series' ledger are named after it."""
LEDGER_MARKS = frozenset({"secret_mark", "contract", "state", "digest"})
"""Columns by which the releases of a ledger are known."""


@dataclass(frozen=True)
class Read:
    """One thing that a spec reads, and the key that names it."""

    key: str
    place: Relation | Path

    @property
    def words(self) -> str:
        if self.key == "the spec itself":
            return self.key
        named = ("source", "population", "target", "database of the connection")
        return f"the {self.key}" if self.key in named else f"what {self.key} reads"


@dataclass
class Reached:
    """What reading a relation comes to."""

    tables: list[Table] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    """Paths, patterns and folders."""
    texts: set[str] = field(default_factory=set)
    """Other texts of queries: each may be the path of a file."""
    functions: set[str] = field(default_factory=set)
    """Names of functions that were looked at."""
    unreadable: bool = False
    """A definition on the way cannot be read: it may read anything."""


def file_of(source: FileSource, key: str) -> File:
    """The files that a source names, of one form; SpecError for what would be read twice, or in part."""
    first, *more = source.locations
    remote = _REMOTE.match(first) is not None and not _SCHEME.match(first)
    if first.endswith("/") or (not remote and Path(first).is_dir()):
        return _folder_of(first.rstrip("/") + "/", key, remote=remote)
    form = read_format(first)
    assert form is not None
    paths = [str(_local(path)) for path in source.locations if not _REMOTE.match(path) or _SCHEME.match(path)]
    # What is no pattern to Python may be one to the engine: such a file stands for itself here.
    found = [name for path in paths for name in _globbed(path)]
    _refuse_twice(found, key)
    return File(first, form, also=tuple(more))


def _globbed(path: str) -> list[str]:
    return list(iglob(path, recursive=True, include_hidden=True)) if has_magic(path) else [path]  # noqa: PTH207  # Path.glob takes no pattern that begins at the root


def _refuse_twice(paths: Sequence[str], key: str) -> None:
    seen: dict[tuple[int, int], str] = {}
    for path in paths:
        with suppress(OSError):
            status = Path(path).stat()
            other = seen.setdefault((status.st_dev, status.st_ino), path)
            if other is not path:
                raise SpecError(
                    f"{key}: '{path}' and '{other}' are one file: its rows would be read twice; name it once"
                )


def _folder_of(folder: str, key: str, *, remote: bool) -> File:
    """The data files of a folder, which all end alike."""
    if remote:
        raise SpecError(
            f"{key}: a folder elsewhere cannot be listed; name its files by a pattern: {folder}**/*.parquet"
        )
    if has_magic(folder):
        raise SpecError(f"{key}: a folder with * ? or [ in its name means several to readers; name files by a pattern")
    if not Path(folder).is_dir():
        raise SourceError(f"{key}: there is no folder '{folder}'")
    found: list[str] = []
    for place, folders, names in os.walk(folder):
        hidden = any(part.startswith((".", "_")) for part in Path(place).relative_to(folder).parts)
        data = [name for name in names if read_format(name) is not None and not name.startswith((".", "_"))]
        if hidden and data:
            raise SpecError(
                f"{key}: '{place}' holds {len(data)} data files, which other readers leave out; "
                f"remove it, or name the files by a pattern"
            )
        found += [str(Path(place) / name) for name in data]
        folders.sort()
    endings = sorted({match[0] for path in found if (match := _ENDING.search(path))})
    if not endings:
        raise SourceError(f"{key}: the folder '{folder}' holds no csv, tsv, json or parquet file")
    if len(endings) > 1 or endings[0].lower() == ".xlsx":
        raise SpecError(
            f"{key}: the folder '{folder}' holds {', '.join(endings)} files; name the ones to read by a pattern, "
            f"as {folder}*{endings[0]}"
        )
    _refuse_twice(found, key)
    form = read_format(found[0])
    assert form is not None
    return File(folder, form, ending=endings[0])


def reads_of(spec: Spec, source: Relation, population: Relation | None) -> Iterator[Read]:
    """Everything that the spec names to be read."""
    yield Read("source", source)
    if population is not None:
        yield Read("population", population)
    yield from _named_files(spec)


def file_reads(spec: Spec) -> Iterator[Read]:
    """The files that the spec names, told without a database; its target is one that nothing else may replace."""
    population = spec.privacy.population
    for key, place in (("source", spec.source), ("population", None if population is None else population.source)):
        if isinstance(place, FileSource):
            yield from (Read(key, Path(path) if Path(path).is_dir() else File(path, "csv")) for path in place.locations)
    if isinstance(spec.target, FileTarget):
        yield Read("target", Path(spec.target.location))
    database = spec.folder / spec.connection.reveal().partition(":///")[2].partition("?")[0].removeprefix("file:")
    if database.is_file():
        yield Read("database of the connection", database)
    yield from _named_files(spec)


def _named_files(spec: Spec) -> Iterator[Read]:
    for name in spec.columns:
        definition = spec.columns[name].hierarchy
        yield from _of_hierarchy(definition, written_path(("columns", name, "hierarchy")))
        derive = spec.columns[name].derive
        if derive is not None and derive.lookup is not None:
            yield Read(written_path(("columns", name, "derive", "lookup")), Table(derive.lookup.table))
    personalized = spec.privacy.personalized
    if personalized is not None:
        yield from _of_hierarchy(personalized.taxonomy, "privacy.personalized.taxonomy")
    if spec.file is not None:
        yield Read("the spec itself", spec.file)
        for path in spec.file.parent.glob("*.lock.json"):
            if path.name.startswith(f"{spec.file.stem}."):
                yield Read("apply", path)
    if spec.evidence_folder is not None:
        yield Read("evidence", spec.evidence_folder)


def _of_hierarchy(definition: object, key: str) -> Iterator[Read]:
    if isinstance(definition, Csv):
        yield Read(key, definition.location)
    elif isinstance(definition, ReferenceTable):
        yield Read(key, Table(definition.name))


def refuse_header(target: Relation, released: Sequence[str]) -> None:
    """UsageError for a name that readers of a csv file do not give back."""
    if not isinstance(target, File) or not target.of_text:
        return
    for name in released:
        if name != name.strip():
            raise UsageError(
                f"target: the name of column '{name}' begins or ends with a blank, which readers of a {target.format} "
                f"file leave out; rename it in the source query, or write parquet or a table"
            )


def refuse_written(engine: Engine, reads: list[Read], key: str, written: Table | File) -> None:
    """SpecError when what is to be written under a key is read under another, or may be."""
    if isinstance(written, Table):
        _refuse_table(engine, reads, key, written)
    else:
        _refuse_file(engine, reads, key, written)


def refuse_file(engine: Engine | None, reads: list[Read], path: Path, *, lock: bool = False) -> None:
    """SpecError when a file that a command is told to write is read, or may be; a lock file may replace one.

    Without an engine no view is followed.
    """
    for read in reads:
        if lock and read.key == "apply":
            continue
        place = read.place
        if isinstance(place, Path):
            found = _same(path, place) or _within(path, place)
        elif engine is not None:
            found = _reads_file(engine, place, path)
        else:
            found = isinstance(place, File) and _is_read(path, place.path)
        if found:
            raise SpecError(f"{path}: is {read.words}, which is never written over; name another file")
    if engine is not None and any(_is_read(path, known) for known in engine.files()):
        raise SpecError(f"{path}: is the database of the connection; name another file")


def _reads_file(engine: Engine, relation: Relation, path: Path) -> bool:
    """Whether the file is read under a relation; one that exists may be, where a definition cannot be read."""
    below = reached(engine, relation)
    paths = (*below.paths, *engine.files_under(relation))
    found = any(_is_read(path, known) for known in paths) or any(_is_file(path, text) for text in below.texts)
    return found or (below.unreadable and path.exists())


def reached(engine: Engine, relation: Relation) -> Reached:
    """The tables and files under a relation, views and macros followed."""
    found = Reached()
    _follow(engine, relation, found)
    return found


def _refuse_table(engine: Engine, reads: list[Read], key: str, written: Table) -> None:
    if _KEPT.fullmatch(written.name) or SCRATCH_NAME.fullmatch(written.name):
        raise SpecError(
            f"{key}: names like {written.name} are kept for tables of sqlanon itself; name another {_noun(key)}"
        )
    if engine.is_reserved(written):
        raise SpecError(f"{key}: {written} belongs to the database itself; name another {_noun(key)}")
    exists = engine.relation_kind(written) == "table"
    if exists and key != "history.ledger" and _is_of_a_ledger(engine, written):
        raise SpecError(
            f"{key}: {written} is part of a ledger, which knows what was released; name another {_noun(key)}"
        )
    for read in reads:
        if isinstance(read.place, Path):
            continue
        below = reached(engine, read.place)
        direct = any(engine.same_object(table, written) for table in below.tables) or engine.reads(read.place, written)
        if direct or (exists and engine.shares_storage(read.place, written)):
            raise _refusal(key, read)
        if below.unreadable and exists:
            raise _doubt(key, read)


def _is_of_a_ledger(engine: Engine, table: Table) -> bool:
    """Whether a table is one of the three in which any spec's ledger lies, known by the table of its releases."""
    for ending in LEDGER_ENDINGS:
        if table.name.lower().endswith(ending):
            releases = table.beside(f"{table.name[: len(table.name) - len(ending)]}{LEDGER_ENDINGS[0]}")
            there = engine.relation_kind(releases) == "table"
            if there and {info.name for info in engine.columns(releases)} >= LEDGER_MARKS:
                return True
    return False


def _refuse_file(engine: Engine, reads: list[Read], key: str, written: File) -> None:
    if has_magic(written.path):
        raise SpecError(f"{key}: a path with * ? or [ means several files to readers; name another {key}")
    target = Path(written.path)
    for path in engine.files():
        if _is_read(target, path):
            raise SpecError(f"{key}: the {key} is the database of the connection; name another {key}")
    for read in reads:
        if isinstance(read.place, Path):
            if _same(target, read.place) or _within(target, read.place):
                raise _refusal(key, read)
            continue
        below = reached(engine, read.place)
        paths = (*below.paths, *engine.files_under(read.place))
        if any(_is_read(target, path) for path in paths) or any(_is_file(target, text) for text in below.texts):
            raise _refusal(key, read)
        if below.unreadable and target.exists():
            raise _doubt(key, read)


def _refusal(key: str, read: Read) -> SpecError:
    what = "the source" if read.key == "source" else "the population" if read.key == "population" else "it"
    named = "that" if key in _TABLES else f"the {key}"
    return SpecError(f"{key}: {named} is {read.words}; {what} is only ever read, name another {_noun(key)}")


def _noun(key: str) -> str:
    return "table" if key in _TABLES else key


def _doubt(key: str, read: Read) -> SpecError:
    return SpecError(
        f"{key}: it exists, and whether {read.key} reads it cannot be told from the definitions of its views; "
        f"name another {_noun(key)}, or drop it first"
    )


def _follow(engine: Engine, relation: Relation, found: Reached) -> None:
    match relation:
        case File():
            found.paths += relation.paths
        case Query(select=select):
            _follow_query(engine, select, found)
        case Table():
            if relation in found.tables:
                return
            found.tables.append(relation)
            try:
                query = engine.view_query(relation)
            except SourceError:
                found.unreadable = True
                return
            if query is not None:
                _follow_query(engine, query, found)


def _follow_query(engine: Engine, select: exp.Query, found: Reached) -> None:
    found.texts |= {node.name for node in select.find_all(exp.Literal) if node.is_string}
    for source in select.find_all(exp.Table):
        function = source.this
        if isinstance(function, exp.Func):
            _follow_function(engine, function, found)
        else:
            found.paths.append(source.name)
    for called in {name for node in select.find_all(exp.Func) for name in names_of_call(node, engine.dialect)}:
        _follow_macros(engine, called, found)
    for table in named_tables(select):
        _follow(engine, table, found)


def _follow_macros(engine: Engine, name: str, found: Reached) -> None:
    """What a function that somebody has made reads, wherever it is called."""
    if name.lower() in found.functions:
        return
    found.functions.add(name.lower())
    try:
        queries = engine.macro_queries(name)
    except SourceError:
        found.unreadable = True
        return
    for query in queries:
        _follow_query(engine, query, found)


def _follow_function(engine: Engine, function: exp.Func, found: Reached) -> None:
    """What a function of a FROM clause reads: the files that its texts name, the queries of a macro."""
    name = function.name if isinstance(function, exp.Anonymous) else function.sql_name()
    found.paths += [text.name for text in function.find_all(exp.Literal) if text.is_string]
    if _RUNS_TEXT.fullmatch(name) or (_READER.search(name) and _is_computed(function)):
        found.unreadable = True
    _follow_macros(engine, name, found)


def _is_computed(function: exp.Func) -> bool:
    """Whether what a function is asked to read is more than a text or a list of texts."""
    arguments = function.expressions if isinstance(function, exp.Anonymous) else [function.this]
    first = arguments[0] if arguments else None
    items = first.expressions if isinstance(first, exp.Array) else [first]
    return not all(isinstance(item, exp.Literal) for item in items)


def _is_file(target: Path, text: str) -> bool:
    """Whether a text is the path of the file."""
    return bool(text) and len(text) <= _LONGEST and _same(target, _local(text))


def _is_read(target: Path, given: str) -> bool:
    """Whether a path or pattern, as a reader understands it, is or may become the file."""
    if not given or len(given) > _LONGEST:
        return False
    read = _local(given)
    if _REMOTE.match(given) and not _SCHEME.match(given):
        return False
    path = str(read)
    if _same(target, read) or _within(target, read):
        return True
    if not has_magic(path) and "{" not in path:
        return False
    if _pattern(_resolved(read)).fullmatch(os.path.realpath(target)):
        return True
    return any(_same(target, Path(found)) for found in iglob(path, recursive=True))  # noqa: PTH207 (a pattern of the user's, which may be absolute)


def _local(given: str) -> Path:
    """A path as readers understand it: with or without the scheme of files, relative to the working directory."""
    path = Path(_SCHEME.sub("", given))
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _resolved(pattern: Path) -> str:
    """A pattern below the folder, links followed, that it begins with."""
    parts = pattern.absolute().parts
    fixed = list(takewhile(lambda part: not has_magic(part) and "{" not in part, parts))
    return str(Path(os.path.realpath(Path(*fixed)), *parts[len(fixed) :]))


def _pattern(path: str) -> re.Pattern[str]:
    """
    >>> bool(_pattern("/a/*.csv").fullmatch("/a/b.csv")), bool(_pattern("/a/*.csv").fullmatch("/a/b/c.csv"))
    (True, False)
    >>> bool(_pattern("/a/**/{x,y}.csv").fullmatch("/a/b/c/y.csv"))
    True
    """
    parts = re.split(r"(/\*\*/|\*\*|\*|\?|\[[^\]]*\]|\{[^}]*\})", path)
    return re.compile("".join(_piece(part) for part in parts), re.IGNORECASE | re.DOTALL)


def _piece(part: str) -> str:
    fixed = {"/**/": "/(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if part in fixed:
        return fixed[part]
    if part.startswith("[") and part.endswith("]"):
        # Which characters it means differs between readers: any one may be meant.
        return "[^/]"
    if part.startswith("{") and part.endswith("}"):
        return "(?:" + "|".join(re.escape(choice) for choice in part[1:-1].split(",")) + ")"
    return re.escape(part)


def _same(target: Path, read: Path) -> bool:
    """Whether two paths lead to one file: links and folded names included."""
    try:
        return os.path.realpath(target) == os.path.realpath(read) or target.samefile(read)
    except (OSError, ValueError):
        return False


def _within(target: Path, folder: Path) -> bool:
    """Whether the file lies in a folder that is read."""
    try:
        return folder.is_dir() and Path(os.path.realpath(folder)) in Path(os.path.realpath(target)).parents
    except (OSError, ValueError):
        return False
