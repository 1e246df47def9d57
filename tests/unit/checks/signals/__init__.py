"""Signals and human review."""
