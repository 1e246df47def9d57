"""Reports against a real Postgres."""
