"""Runs scripts of Snowflake in fakesnow, by a Python that has it and nothing of ours.

Standard input is JSON: tables to make, statements to run, a query to answer. What the emulator lacks is taken out and
counted: the time zone of a session, and the collation that compares bytes, which it does anyhow.
"""

import json
import re
import sys
import warnings
from importlib import import_module

_COLLATED = re.compile(r"COLLATE\(((?:CAST\()+[^()]*(?:\)| AS VARCHAR)+), 'utf8'\)")


def main() -> None:
    asked = json.load(sys.stdin)
    left_out = 0
    with import_module("fakesnow").patch():
        cursor = import_module("snowflake.connector").connect(database="WAREHOUSE", schema="PUBLIC").cursor()
        for statement in asked["tables"]:
            cursor.execute(statement)
        answers = []
        for script in asked["scripts"]:
            failure = ""
            for statement in script:
                if "ALTER SESSION" in statement:
                    left_out += 1
                    continue
                bare, number = _COLLATED.subn(r"\1", statement)
                left_out += number
                try:
                    cursor.execute(bare)
                except Exception as error:
                    failure = str(error)
                    break
            cursor.execute(asked["query"])
            rows = [[None if value is None else str(value) for value in row] for row in cursor.fetchall()]
            answers.append({"failure": failure, "rows": rows})
    json.dump({"answers": answers, "left_out": left_out}, sys.stdout)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
