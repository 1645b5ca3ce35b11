"""The schemes of Li and Li 2007 in a database: leaves, the evaluator of candidate partitions, and the recoder."""
