"""Postgres: tables, connections, roles, and one file for each thing that is kept there."""
