"""What a plan is: the decision of an algorithm, grids of what-if questions, comparisons of algorithms, and what operators ask.

Reads through `source` and `evaluation`, decides, and writes nothing.
"""
