"""The embedded Postgres server: our own supervisor on packaged binaries."""
