"""Releases in a dbt project: the requirement read from its manifest, the search, the model that dbt then builds alone.

Imports nothing of dbt: it reads the files that dbt writes, and calls its command.
"""
