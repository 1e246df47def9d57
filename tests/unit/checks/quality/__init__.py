"""Unit tests of quality measures."""
