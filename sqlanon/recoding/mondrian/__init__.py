"""Mondrian: regions of the space of values, cut while both sides satisfy the requirement."""
