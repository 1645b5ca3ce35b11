"""Recoders: what decides releases that are not full-domain. Each works on the combinations inside the database."""
