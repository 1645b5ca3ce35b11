"""Databases: the contract (`base`), the registry of URL schemes, and one folder for each engine.

The only room that imports a database driver or knows an engine by name.
"""
