"""Python's own sqlglot where the compiled one is installed: checks its copies of trees, and releases a table with it.

Run as a program, because sqlglot is imported once: `python -m tests.kit.plain_sqlglot SPEC`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType


class PlainFinder(MetaPathFinder):
    """Finds modules of sqlglot as source, whatever lies beside them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "sqlglot":
            return None
        finders = (FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)) for folder in path or sys.path)
        return next((found for finder in finders if (found := finder.find_spec(fullname)) is not None), None)


def main(spec: str) -> int:
    sys.meta_path.insert(0, PlainFinder())
    from sqlanon.cli.main import run
    from tests.sql import test_copies

    test_copies.nodes_consist_of_what_is_copied()
    for test in test_copies.OF_TREES:
        test()
    return run(["run", spec])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
