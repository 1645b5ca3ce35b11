"""Writing names and texts as YAML that reads back as the same text.

Pure.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})
"""Words that this or another reader of YAML takes for something else than text."""


def yaml_text(text: str) -> str:
    r"""A scalar, quoted unless it is a plain word.

    >>> yaml_text("zip"), yaml_text("no"), yaml_text("a: b"), yaml_text("2026"), yaml_text('say "x"\n')
    ('zip', '"no"', '"a: b"', '"2026"', '"say \\"x\\"\\n"')
    """
    if _PLAIN.fullmatch(text) and text.casefold() not in _WORDS:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def yaml_value(text: str) -> str:
    """A scalar in which nothing is taken for a variable of the environment.

    >>> yaml_value("a${B}")
    '"a$${B}"'
    """
    return yaml_text(text.replace("${", "$${"))


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if letter in named:
        return named[letter]
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
