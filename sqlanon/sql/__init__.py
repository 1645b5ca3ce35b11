"""The kernel: relations, building blocks, templates, traits of dialects, classes and their values.

Only what several rooms share; the statements of one room stand in its own `statements.py`. Runs nothing.
"""
