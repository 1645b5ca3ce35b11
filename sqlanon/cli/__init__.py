"""The command line: one command per file, loaded when it is called.

The only room that writes to the terminal and turns errors into exit codes.
"""

from __future__ import annotations

from sqlanon.cli.main import main

__all__ = ["main"]
