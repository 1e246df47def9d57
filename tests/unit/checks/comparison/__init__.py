"""Tests of version comparison."""
