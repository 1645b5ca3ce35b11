"""Search algorithms over the lattice and over schemes. Pure: they ask an evaluator and know no SQL."""
