"""The kernel: names of relations, building blocks of statements, templates, traits of dialects, classes and their values.

Only what several rooms share. The statements of one room stand in its own `statements.py`. Knows no engine and runs nothing.
"""
