"""Lattice nodes answered by SQL: the evaluator, its roll-ups, their statements, the matrix of distance vectors.

The searches see none of it but the protocol `search.base.Evaluator`.
"""
