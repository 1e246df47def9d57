"""Unit tests of the drift methods."""
