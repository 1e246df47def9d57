"""Worlds whose truth is known, for measuring how often printed 95 % intervals hold it."""
