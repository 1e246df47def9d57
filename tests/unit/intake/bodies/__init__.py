"""Intake, without a database."""
