"""The source, bound to the catalog, scanned once and coded: hierarchies, frequency set, combinations, scratch.

Everything that a run holds open lives here (`run.Run`). No row of the source enters Python.
"""
