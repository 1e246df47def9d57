"""Postgres: the only package that writes SQL."""
