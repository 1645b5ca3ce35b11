"""Runs anjana on a csv file, in an interpreter of its own: it pins other versions of pandas than we use.

Prints one JSON object: seconds of the anonymization alone, and the level it left each column at.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    """Arguments: a JSON file with source, delimiter, k, limit and hierarchies (column to rows, level 0 first)."""
    import pandas
    from anjana.anonymity import k_anonymity

    task = json.loads(Path(sys.argv[1]).read_text())
    data = pandas.read_csv(task["source"], sep=task["delimiter"], dtype=str)
    hierarchies: dict[str, dict[int, Any]] = {}
    for name, path in task["hierarchies"].items():
        with Path(path).open(newline="") as file:
            rows = list(csv.reader(file, delimiter=";"))
        hierarchies[name] = {level: [row[level] for row in rows] for level in range(len(rows[0]))}
    columns = list(hierarchies)
    started = time.perf_counter()
    result = k_anonymity(data, [], columns, task["k"], task["limit"], hierarchies)
    seconds = time.perf_counter() - started
    levels = {
        name: next(level for level, labels in hierarchies[name].items() if set(result[name].astype(str)) <= set(labels))
        for name in columns
    }
    print(json.dumps({"seconds": seconds, "levels": levels, "rows": len(result)}))


if __name__ == "__main__":
    main()
