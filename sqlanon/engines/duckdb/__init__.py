"""DuckDB through its own API: the embedded engine, its catalog and files, and dataframes as tables."""
