"""Evidence as files: one JSON file for each run in the folder of its spec.

Touches the file system only. Other files of the folder are left alone.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from sqlanon.errors import UsageError
from sqlanon.release.evidence.document import Document, finished, finite, is_evidence

_NAME = re.compile(r"(?P<run>[0-9a-f]{12})\.json")


def require_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before any work is done; it is made when there is evidence."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise UsageError(f"evidence.folder: '{folder}' cannot be written to; name another folder, or switch files off")


def file_of(folder: Path, run: str) -> Path:
    return folder / f"{run}.json"


def write(folder: Path, document: Document) -> None:
    """Write the file of a run whole or not at all."""
    path = file_of(folder, document["run"])
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary.write_text(as_json(document), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise UsageError(
            f"the release stands, but its evidence cannot be written to '{path}': {error.strerror}"
        ) from None


def as_json(document: Document) -> str:
    """The document as text: indented, with a line for each statement; a figure without bound is null."""
    content = dict(finite(document))
    statements = [json.dumps(statement, ensure_ascii=False, allow_nan=False) for statement in content.pop("statements")]
    head = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    lines = ",\n    ".join(statements)
    return f'{head},\n  "statements": [\n    {lines}\n  ]\n}}\n'


def read(folder: Path) -> list[Document]:
    """The evidence in a folder, newest first."""
    found = (
        [_document(path) for path in sorted(folder.iterdir()) if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    )
    return sorted((item for item in found if item is not None), key=finished, reverse=True)


def remove(folder: Path, run: str) -> None:
    """Remove the file of a run; the folder too, when it was the last."""
    file_of(folder, run).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _document(path: Path) -> Document | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if is_evidence(content) and path.stem == content["run"] else None
