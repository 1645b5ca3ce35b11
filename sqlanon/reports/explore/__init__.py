"""The lattice of a spec to look at in a browser: nodes are evaluated by the database as somebody clicks them.

Served to this machine alone; no data values, and nothing is written but the lock file, when asked for.
"""
