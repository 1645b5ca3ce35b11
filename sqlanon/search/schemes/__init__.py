"""The six generalization schemes of Li and Li 2007 and the searches over them. Pure: costs come from an evaluator."""
