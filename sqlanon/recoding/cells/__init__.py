"""Cell recoding: groups of rows by forests or matchings, and labels widened until rows fit each other."""
