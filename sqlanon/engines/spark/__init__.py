"""Spark through pyspark: the session, its catalog, files, and the swap of tables without transactions."""
