"""Drafting a spec from a table: every column gets a role and a hierarchy, each with the reason for the guess.

Reads the catalog and aggregates: counts, lengths, ranges of numbers. No row and no text of the table enters Python.
"""
