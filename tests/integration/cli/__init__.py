"""Tests of the commands on a real database."""
