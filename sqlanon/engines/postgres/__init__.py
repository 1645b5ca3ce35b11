"""PostgreSQL through SQLAlchemy and psycopg 3: connection, catalog, and the swap that keeps what hangs on a table."""
