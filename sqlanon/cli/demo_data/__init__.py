"""The table that `sqlanon demo` anonymizes: invented patients (`patients.csv`) and the spec for them (`spec.yaml`).

Data only. `generate.py` made the table and makes the same one again.
"""
