"""Man pages of all commands, made from their own help: `python -m sqlanon.cli.man FOLDER`.

Writes one page a command in the language of man.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from sqlanon import __version__
from sqlanon.cli.main import COMMANDS, group

MANUAL = "sqlanon manual"


def page(context: click.Context, command: click.Command) -> str:
    """One page."""
    name = context.command_path.replace(" ", "-")
    return "\n".join(_lines(context, command, name)) + "\n"


def _lines(context: click.Context, command: click.Command, name: str) -> Iterator[str]:
    yield f'.TH "{_escaped(name.upper())}" "1" "" "sqlanon {__version__}" "{MANUAL}"'
    yield ".SH NAME"
    short = command.short_help or command.get_short_help_str(limit=200)
    yield _escaped(f"{name} - {short.rstrip('.')}")
    yield ".SH SYNOPSIS"
    yield f".B {_escaped(context.command_path)}"
    yield _escaped(" ".join(command.collect_usage_pieces(context)))
    yield ".SH DESCRIPTION"
    for position, paragraph in enumerate((command.help or "").split("\n\n")):
        if position:
            yield ".PP"
        yield _escaped(" ".join(paragraph.split()))
    yield ".SH OPTIONS"
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            flags, text = record
            yield ".TP"
            yield f"\\fB{_escaped(flags)}\\fR"
            yield _escaped(text) or "\\&"
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for named in COMMANDS:
            found = command.get_command(context, named)
            assert found is not None
            yield ".TP"
            yield f"\\fBsqlanon\\-{_escaped(named)}\\fR(1)"
            yield _escaped(found.short_help or found.get_short_help_str(limit=200))


def _escaped(text: str) -> str:
    r"""A text as man takes it.

    >>> _escaped(".a \\ b-c")
    '\\&.a \\e b\\-c'
    """
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


def pages() -> dict[str, str]:
    """All pages by the names of their files."""
    root = click.Context(group, info_name="sqlanon")
    found = {"sqlanon.1": page(root, group)}
    for name in COMMANDS:
        command = group.get_command(root, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=root)
        found[f"sqlanon-{name}.1"] = page(context, command)
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                inner = command.get_command(context, below)
                assert inner is not None
                own = click.Context(inner, info_name=below, parent=context)
                found[f"sqlanon-{name}-{below}.1"] = page(own, inner)
    return found


def write(folder: Path) -> None:
    """Write all pages to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
