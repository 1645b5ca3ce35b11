"""Runs pycanon on a csv file, in an interpreter of its own: it pins other versions of pandas than we use.

Prints one JSON object: seconds of the measures alone, and what they say.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    """Arguments: a JSON file with source, the columns of the quasi-identifier, and the sensitive column."""
    import pandas
    from pycanon import anonymity

    task = json.loads(Path(sys.argv[1]).read_text())
    data = pandas.read_csv(task["source"])
    columns, sensitive = task["columns"], [task["sensitive"]]
    started = time.perf_counter()
    found = {
        "k": int(anonymity.k_anonymity(data, columns)),
        "l": int(anonymity.l_diversity(data, columns, sensitive)),
        "t": float(anonymity.t_closeness(data, columns, sensitive)),
    }
    print(json.dumps({"seconds": time.perf_counter() - started, **found}))


if __name__ == "__main__":
    main()
