"""Metrics of servers as readings."""
