"""Privacy models, one a file: what a class is counted for, when it passes, and when a search may prune."""
