"""The file of a dbt model: the part that `sqlanon dbt` writes, between two marks, and the user's config and comments.

Pure text. What stands outside the marks is kept to the byte; it may hold comments and calls of config(), nothing that
could add to the release. The dbt package holds the same rules when it builds a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import md5
from pathlib import Path

from sqlanon.dbt.manifest import MATERIALIZATION
from sqlanon.errors import UsageError

MARK = "-- Written by `sqlanon dbt`."
END = "-- End of what `sqlanon dbt` wrote."
UNSIGNED = "0" * 32
CONFIG = f"{{{{ config(materialized='{MATERIALIZATION}') }}}}"

_SIGNATURE = re.compile(r"^-- Signature: [0-9a-f]{32}\r?$", re.MULTILINE)
_PART = re.compile(rf"^{re.escape(MARK)}.*?^{re.escape(END)}(?=\r?$)", re.MULTILINE | re.DOTALL)

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_CALLED = rf"(?:[^()'\"]|{_QUOTED})*"
for _depth in range(3):
    _CALLED = rf"(?:[^()'\"]|{_QUOTED}|\({_CALLED}\))*"
_CONFIG_CALL = rf"\{{\{{-?\s*config\({_CALLED}\)\s*-?\}}\}}"
# dbt renders what looks like Jinja in a comment of SQL, so there it counts as SQL.
_NO_JINJA = r"(?!\{\{|\{%|\{#)"
_SILENT = re.compile(
    rf"\{{#.*?#\}}|{_CONFIG_CALL}|--(?:{_NO_JINJA}[^\n])*|/\*(?:(?!\*/){_NO_JINJA}.)*\*/",
    re.DOTALL,
)
"""What adds nothing to the SQL of a model: comments, and calls of config()."""
_SELECT_EVERYTHING = re.compile(r"select\s+\*\s+from\s+\{\{[^{}]*\}\}(?:\s*;)?", re.IGNORECASE)
_OLD_CONFIG = re.compile(rf"^{re.escape(CONFIG)}\n", re.MULTILINE)


@dataclass(frozen=True)
class ModelFile:
    """The user's text before and after the part that the command writes."""

    before: str
    after: str
    part: str = ""
    """What an earlier run wrote; empty in a model that still selects everything."""

    @classmethod
    def read(cls, path: Path) -> ModelFile:
        """The file as it stands; UsageError where it holds SQL that the command did not write."""
        try:
            text = path.read_bytes().decode("utf-8")
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageError(f"{path}: is not text in UTF-8") from None
        found = cls.of(text)
        if found is None:
            raise UsageError(
                f"{path}: holds SQL of your own; only config() and comments may stand around what the command writes, "
                f"and it takes the place of a plain select of everything"
            )
        return found

    @classmethod
    def of(cls, text: str) -> ModelFile | None:
        """The parts of a text; None where there is SQL beside what the command writes.

        >>> ModelFile.of("{{ config(tags=['a']) }}\\nselect * from {{ ref('b') }} -- all")
        ModelFile(before="{{ config(tags=['a']) }}\\n", after=' -- all', part='')
        >>> ModelFile.of("select a from {{ ref('b') }}") is None
        True
        """
        written = [*_PART.finditer(text)]
        if written:
            before, after = text[: written[0].start()], text[written[0].end() :]
            found = cls(before, after, written[0][0])
        elif text.startswith(MARK):
            return cls._without_end(text)
        else:
            # Comments and configs become blanks, so that places in the text stay what they are.
            bare = _SILENT.sub(lambda silent: " " * len(silent[0]), text)
            select = _SELECT_EVERYTHING.search(bare)
            if select is None or bare[slice(*select.span())] != text[slice(*select.span())]:
                return None
            found = cls(text[: select.start()], text[select.end() :])
        return found if found.is_silent else None

    @classmethod
    def _without_end(cls, text: str) -> ModelFile:
        """A file of a version that wrote the whole model, its config too."""
        return cls(f"{CONFIG}\n\n" if _OLD_CONFIG.search(text) else "", "\n", text)

    @property
    def is_silent(self) -> bool:
        """Whether the user's text adds nothing to the SQL; no comment may open on one side and end on the other."""
        return not any(_SILENT.sub("", side).strip() for side in (self.before, self.after))

    def with_part(self, part: str) -> str:
        """The file with what the command writes now."""
        before = self.before if not self.before or self.before.endswith("\n") else f"{self.before}\n"
        return f"{before}{part}{self.after or chr(10)}"


def signed(part: str) -> str:
    """What the command writes with its own digest, by which the materialization knows that nobody has changed it."""
    unsigned = _SIGNATURE.sub(f"-- Signature: {UNSIGNED}", part, count=1)
    digest = md5(unsigned.replace("\r\n", "\n").strip().encode(), usedforsecurity=False).hexdigest()
    return _SIGNATURE.sub(f"-- Signature: {digest}", unsigned, count=1)


def harmless(text: str) -> str:
    """Text in which dbt finds no Jinja.

    >>> harmless("a {{ b }}")
    "a {{ '{{' }} b }}"
    """
    parts = text.split("{{")
    return "{{ '{{' }}".join(part.replace("{%", "{{ '{%' }}").replace("{#", "{{ '{#' }}") for part in parts)
