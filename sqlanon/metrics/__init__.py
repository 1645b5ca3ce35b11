"""Measures of a release, one a file: figures that the database sums for a node, the score, and lower bounds of it."""
