"""The source, bound to the catalog, scanned once and coded: hierarchy tables, frequency set, combinations, scratch tables.

Everything that a run holds open lives here (`run.Run`). No row of the source enters Python.
"""
