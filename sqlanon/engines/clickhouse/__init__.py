"""ClickHouse: in this process through chdb, or a server by its HTTP interface."""
