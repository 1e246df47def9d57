"""Alembic migrations of the Inferwatch database."""
