"""Unit tests of monitor.checks."""
