"""A dbt that starts at once: imports dbt, then runs each command that a line of stdin asks for in a fork of its own.

Run by the Python that has dbt, which has nothing of ours. A line is JSON: the arguments, and the file for the output.
"""

import gc
import importlib
import json
import os
import sys
from collections.abc import Callable


def main() -> None:
    # Every call ends soon, and takes what it left behind with it.
    gc.disable()
    command = importlib.import_module("dbt.cli.main").cli
    for adapter in ("duckdb", "postgres"):
        importlib.import_module(f"dbt.adapters.{adapter}")
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            run(command, asked["arguments"], asked["output"])
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def run(command: Callable[[list[str]], object], arguments: list[str], output: str) -> None:
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    code = 3
    try:
        command(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
