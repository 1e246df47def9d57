"""Tests of replaying and judging, without a database."""
