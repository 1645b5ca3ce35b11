"""What a plan is: an algorithm's decision, what-if grids, comparisons of algorithms, operations.

Reads through `source` and `evaluation`, decides, and writes nothing.
"""
