"""Drift methods: each compares a column's counts with a baseline's on the baseline's cells."""
