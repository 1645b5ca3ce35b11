"""Speed, measured as a ratio to the engine's own GROUP BY scan or to a peer, in one run."""
