"""Any other database that SQLAlchemy knows: what it can do is probed when the session begins."""
