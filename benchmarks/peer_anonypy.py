"""Runs anonypy's Mondrian on a csv file, in an interpreter of its own: it pins other versions than we use.

Prints one JSON object: seconds of the partitioning alone, and how many partitions there are.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    """Arguments: a JSON file with source, k, columns and which of them are numbers."""
    import pandas
    from anonypy.mondrian import Mondrian

    task = json.loads(Path(sys.argv[1]).read_text())
    data = pandas.read_csv(task["source"])
    for name in task["columns"]:
        if name not in task["numbers"]:
            data[name] = data[name].astype("category")
    started = time.perf_counter()
    partitions = Mondrian(data, task["columns"]).partition(task["k"])
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "partitions": len(partitions), "rows": len(data)}))


if __name__ == "__main__":
    main()
